"""pip, conda and the lock name the same packages; make says what it can do and what it lacks."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
CONDA_NAMES = {"great-tables": "great_tables", "matplotlib": "matplotlib-base"}
"""conda-forge's name of a package, where it is not PyPI's."""
CONDA_TOOLS = {
    *("cmake", "cxx-compiler", "gperftools", "gtest", "jemalloc", "libboost-headers", "make", "maven"),
    *("mimalloc", "openjdk", "pip", "python"),
}
"""What PyPI does not have, or what is there before it."""


def from_pyproject() -> dict[str, Requirement]:
    loaded = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    found = [Requirement(line) for line in (*loaded["dependencies"], *loaded["optional-dependencies"]["dev"])]
    return {canonicalize_name(requirement.name): requirement for requirement in found}


def lock() -> str:
    return (ROOT / "requirements.lock").read_text()


def locked() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, version in re.findall(r"^([A-Za-z0-9._-]+)==([^\s;]+)", lock(), re.MULTILINE):
        found.setdefault(canonicalize_name(name), []).append(version)
    return found


def test_conda_names_the_packages_of_pyproject_with_the_same_bounds() -> None:
    entries = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]
    by_pip = [line for entry in entries if isinstance(entry, dict) for line in entry["pip"] if line[0] != "-"]
    conda = [line for line in entries if isinstance(line, str)]
    given = {line for line in (*conda, *by_pip) if Requirement(line).name not in CONDA_TOOLS}
    wanted = {f"{CONDA_NAMES.get(name, name)}{requirement.specifier}" for name, requirement in from_pyproject().items()}
    assert given == wanted


def test_the_lock_pins_every_package_of_pyproject_within_its_bounds() -> None:
    versions = locked()
    for name, requirement in from_pyproject().items():
        assert versions.get(name), f"{name} is not locked"
        assert all(requirement.specifier.contains(version) for version in versions[name]), name


def test_the_lock_hashes_everything_and_names_no_index() -> None:
    for entry in re.split(r"^(?=[A-Za-z0-9])", lock(), flags=re.MULTILINE)[1:]:
        assert "--hash=sha256:" in entry, entry.splitlines()[0]
    assert "://" not in lock()
    assert not re.search(r"^\s*--(index|extra-index|find-links)", lock(), re.MULTILINE)


def test_the_build_backend_is_locked_too() -> None:
    required = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    assert {canonicalize_name(Requirement(line).name) for line in required} <= set(locked())


@pytest.mark.parametrize("file", ["Makefile", ".binder/postBuild"])
def test_whoever_installs_the_lock_does_not_ask_for_what_it_leaves_out(file: str) -> None:
    commands = (ROOT / file).read_text().replace("\\\n", " ").splitlines()
    installing = [line for line in commands if "pip install" in line and "requirements.lock" in line]
    assert installing
    assert all("--no-deps" in line for line in installing)


class TestMake:
    def make(self, *words: str, path: str | None = None) -> subprocess.CompletedProcess[str]:
        environment = {"PATH": path} if path else None
        return subprocess.run(
            [str(shutil.which("make")), "-C", str(ROOT), *words],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    def test_bare_make_explains_itself(self) -> None:
        done = self.make()
        assert done.returncode == 0
        assert all(f"make {goal}" in done.stdout for goal in ("findings", "test", "lab", "setup", "clean"))

    def test_what_is_missing_is_told_before_anything_is_installed(self, tmp_path: Path) -> None:
        (tmp_path / "python3").symlink_to(sys.executable)
        (tmp_path / "sh").symlink_to(str(shutil.which("sh")))
        done = self.make("prerequisites", path=str(tmp_path))
        assert done.returncode != 0
        assert "missing: mvn" in done.stderr
        assert "missing: cmake" in done.stderr

    def test_a_missing_or_old_python_is_told(self, tmp_path: Path) -> None:
        done = self.make("prerequisites", f"PYTHON={tmp_path}/python3")
        assert done.returncode != 0
        assert "missing: Python 3.11 or newer" in done.stderr
