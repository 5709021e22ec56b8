"""Building tools, allocators and the host: found, or result missing with a remedy."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from allocpool import prerequisites
from allocpool.machine.host import read_host

ROOT = Path(__file__).resolve().parents[1]


def program(folder: Path, name: str, says: str, status: int = 0) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\necho '{says}'\nexit {status}\n")
    (folder / name).chmod(0o755)


def problems() -> dict[str, str | None]:
    return {tool.name: tool.problem for tool in prerequisites.tools()}


def test_everything_that_building_needs_is_here() -> None:
    assert problems() == {"javac": None, "Maven": None, "C++ compiler": None, "CMake": None}


def test_what_is_missing_is_reported_with_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    found = problems()
    assert found["Maven"] == "mvn is missing (3.6 or newer): install maven (Debian, conda-forge, Homebrew)"
    assert found["CMake"] == "cmake is missing (3.20 or newer): install cmake (Debian, conda-forge, Homebrew)"
    assert found["C++ compiler"] is not None
    assert "there is no C++ compiler: install g++ (Debian)" in found["C++ compiler"]


def test_what_is_too_old_or_broken_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path, "cmake", "cmake version 3.16.3")
    program(tmp_path, "mvn", "JAVA_HOME is not set", status=1)
    program(tmp_path, "c++", "c++ (Old) 4.8")
    (tmp_path / "c++").write_text('#!/bin/sh\ncase "$1" in --version) echo c++ 4.8;; *) echo no C++17; exit 1;; esac\n')
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.delenv("CXX", raising=False)
    found = problems()
    assert found["CMake"] is not None
    assert "is 3.16.3, 3.20 or newer is needed" in found["CMake"]
    assert found["Maven"] is not None
    assert "does not work: JAVA_HOME is not set" in found["Maven"]
    assert found["C++ compiler"] is not None
    assert "does not compile C++17: no C++17" in found["C++ compiler"]


def test_the_check_before_set_up_needs_only_the_standard_library() -> None:
    # -S leaves site-packages out, as in a Python that nothing was installed into.
    done = subprocess.run(
        [sys.executable, "-S", "-m", "allocpool.prerequisites"],
        env={"PYTHONPATH": str(ROOT / "src"), "PATH": "/nowhere"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert all(line.startswith("missing: ") for line in done.stderr.splitlines())
    assert "missing: mvn" in done.stderr


def test_the_fingerprint_is_of_the_machine_and_not_of_the_moment() -> None:
    host = read_host()
    print_now = host.fingerprint()
    assert re.fullmatch(r"[0-9a-f]{12}", print_now)
    busy = host.model_copy(
        update={
            "load_average": (9.0, 9.0, 9.0),
            "available_memory_mb": 1,
            "git_commit": "other",
            "boot": "other",
            "memory_mb": host.memory_mb - 9,
        }
    )
    assert busy.fingerprint() == print_now
    for change in (
        {"kernel": "1.0"},
        {"cpu_model": "other"},
        {"processor": "other"},
        {"logical_cores": 999},
        {"memory_mb": host.memory_mb + 9999},
    ):
        assert host.model_copy(update=change).fingerprint() != print_now
