"""Builds follow the sources: built once, kept side by side, never stale, and a failure is one line."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from allocpool.compile import (
    code_hash,
    java_classpath,
    native_library,
    sources,
)
from allocpool.errors import UserError
from allocpool.runtimes.discovery import find_javac

ROOT = Path(__file__).resolve().parents[1]
CMAKE = """cmake_minimum_required(VERSION 3.20)
project(tiny LANGUAGES CXX)
if(ALLOCPOOL_HOST_CPU)
  add_compile_options(-march=native)
endif()
add_library(allocpool_native SHARED src/answer.cpp)
add_library(allocpool_objects STATIC src/answer.cpp)
file(WRITE ${CMAKE_BINARY_DIR}/driver.cpp "int main() {}\\n")
add_executable(packets_driver ${CMAKE_BINARY_DIR}/driver.cpp)
"""
ANSWER = 'extern "C" int answer() { return %d; }\n'


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with a native library of one line and the real workloads."""
    (tmp_path / "pyproject.toml").write_text('name = "allocpool"\n')
    for name in ("src", "include", "tests"):
        (tmp_path / "native" / name).mkdir(parents=True)
    (tmp_path / "native" / "CMakeLists.txt").write_text(CMAKE)
    (tmp_path / "native" / "include" / "allocpool.h").write_text("int answer(void);\n")
    write_answer(tmp_path, 1)
    shutil.copytree(ROOT / "workloads", tmp_path / "workloads", ignore=shutil.ignore_patterns("target"))
    monkeypatch.setenv("ALLOCPOOL_HOME", str(tmp_path))
    return tmp_path


def write_answer(checkout: Path, value: int) -> None:
    (checkout / "native" / "src" / "answer.cpp").write_text(ANSWER % value)


def answer(library: Path) -> int:
    return int(ctypes.CDLL(str(library)).answer())


def java_file(checkout: Path) -> Path:
    return next((checkout / "workloads" / "packets" / "src" / "main").rglob("Checksum.java"))


def test_the_hash_follows_content_and_nothing_else(checkout: Path) -> None:
    before = code_hash("native", "packets-java")
    assert before == code_hash("packets-java", "native", "native")
    os.utime(checkout / "native" / "src" / "answer.cpp", (1, 1))
    (checkout / "native" / "tests" / "new_test.cpp").write_text("// tests do not change what a trial runs\n")
    assert code_hash("native", "packets-java") == before
    write_answer(checkout, 2)
    assert code_hash("native", "packets-java") != before


def test_the_child_s_sources_are_what_it_imports() -> None:
    package = ROOT / "src" / "allocpool"
    files = {file.relative_to(package).as_posix() for file in sources.child_sources("allocpool.packets.child.batch")}
    assert {"__init__.py", "trial/child/__init__.py", "trial/child/__main__.py", "packets/child/batch.py"} <= files
    assert not files & {"cli.py", "doctor.py", "trial/runner.py", "packets/specs.py"}


def test_a_changed_source_gets_its_own_library_and_the_old_one_stays(checkout: Path) -> None:
    first = native_library()
    assert answer(first.library) == 1
    assert first.code_hash == code_hash("native")
    assert first.compiler_version
    assert "-O3" in first.flags
    assert str(checkout) not in first.flags
    assert first.header.read_text() == "int answer(void);\n"
    write_answer(checkout, 2)
    second = native_library()
    assert second.library != first.library
    assert (answer(first.library), answer(second.library)) == (1, 2)


def test_an_unchanged_source_is_not_built_again(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = native_library()

    def build_again(*arguments: object) -> None:
        raise AssertionError("built twice")

    monkeypatch.setattr("allocpool.compile.native._build", build_again)
    assert native_library() == first


def test_other_compiler_flags_are_another_build(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = native_library()
    monkeypatch.setenv("CXXFLAGS", "-DNOTHING=1 -fno-inline")
    second = native_library()
    assert second.library != first.library
    assert second.code_hash == first.code_hash
    assert "-fno-inline" in second.flags
    ways = ("packets", "packets-host", "packets-slp", "packets-host-slp")
    assert len({native_library(way).library for way in ways}) == len(ways)


def test_a_moved_checkout_finds_its_builds(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    native_library()
    moved = checkout.with_name("moved")
    checkout.rename(moved)
    monkeypatch.setenv("ALLOCPOOL_HOME", str(moved))
    library = native_library().library
    assert library.is_relative_to(moved)
    assert answer(library) == 1


def test_callers_at_once_share_one_build(checkout: Path) -> None:
    code = "from allocpool.compile import native_library; print(native_library().library)"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    callers = [
        subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    libraries = {caller.communicate()[0] for caller in callers}
    assert [caller.returncode for caller in callers] == [0, 0, 0]
    assert len(libraries) == 1
    log = (checkout / "build" / "native" / "build.log").read_text()
    assert sum(line.startswith("$ ") for line in log.splitlines()) == 2, "one configuration and one build"


def test_a_failed_native_build_is_one_line_that_names_the_compiler_s_error_and_the_log(checkout: Path) -> None:
    (checkout / "native" / "src" / "answer.cpp").write_text("int answer() { return nothing; }\n")
    with pytest.raises(UserError, match=r"could not be built: .*nothing.* \(log: .*build\.log\)") as failed:
        native_library()
    assert "\n" not in str(failed.value)
    assert not list((checkout / "build" / "native").glob("*/build.json"))
    write_answer(checkout, 3)
    assert answer(native_library().library) == 3


def test_a_jar_is_built_from_a_copy_and_holds_what_java_11_loads(checkout: Path) -> None:
    build = java_classpath("packets")
    assert build.release == 11
    assert build.code_hash == code_hash("packets-java")
    assert build.javac_version == find_javac().version
    assert not list((checkout / "workloads").rglob("target")), "the checkout stays as it was"
    with zipfile.ZipFile(build.classpath[0]) as jar:
        checksum = jar.read("allocpool/packets/Checksum.class")
    # Bytes 6 and 7 of a class file are its major version; 55 is Java 11 (JVMS table 4.1-A).
    assert checksum[:4] == bytes.fromhex("CAFEBABE")
    assert int.from_bytes(checksum[6:8], "big") == 55
    assert java_classpath("packets") == build


def test_a_failed_java_build_is_one_line_that_names_the_error_and_the_log(checkout: Path) -> None:
    file = java_file(checkout)
    file.write_text(file.read_text() + "class {\n")
    with pytest.raises(UserError, match=r"packets could not be built: .*Checksum\.java.* \(log: .*\)") as failed:
        java_classpath("packets")
    assert "\n" not in str(failed.value)
