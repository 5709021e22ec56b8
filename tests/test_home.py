"""The repository is found, and the folders below it can be moved by the environment."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from allocpool import home
from allocpool.errors import UserError

ROOT = Path(__file__).resolve().parents[1]


def test_home_is_the_checkout_of_this_package_wherever_one_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ALLOCPOOL_HOME", raising=False)
    monkeypatch.chdir(tmp_path)
    assert home.home() == ROOT


def test_home_follows_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "allocpool"\n')
    monkeypatch.setenv("ALLOCPOOL_HOME", str(tmp_path))
    assert home.workloads_dir() == tmp_path / "workloads"


def test_home_that_is_no_checkout_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALLOCPOOL_HOME", str(tmp_path))
    with pytest.raises(UserError, match=r"ALLOCPOOL_HOME=.* is not a checkout"):
        home.home()


def test_measured_data_moves_and_published_figures_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALLOCPOOL_DATA", str(tmp_path))
    assert home.raw_dir() == tmp_path / "raw"
    assert home.tidy_dir() == tmp_path / "tidy"
    assert home.reference_dir() == home.home() / "data" / "reference"


@pytest.mark.parametrize("variable", ["ALLOCPOOL_DATA", "ALLOCPOOL_BUILD", "ALLOCPOOL_RUNTIMES", "ALLOCPOOL_HOME"])
def test_a_folder_whose_name_is_not_utf_8_is_refused_in_a_line(tmp_path: Path, variable: str) -> None:
    words = [sys.executable, "-m", "allocpool.cli", "export", "some.tar.gz", "--profile", "smoke"]
    given = {**os.environb, os.fsencode(variable): os.fsencode(tmp_path) + b"/\xff"}
    done = subprocess.run(words, env=given, capture_output=True, check=False)
    assert done.returncode == 2 and done.stderr.count(b"\n") == 1 and b"Traceback" not in done.stderr, done.stderr


def test_a_working_folder_that_was_deleted_is_no_matter(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    program = f"import os; os.rmdir({str(gone)!r}); from allocpool import home; print(home.data_dir())"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=gone, env={**os.environ, "ALLOCPOOL_DATA": ""}, capture_output=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_an_error_that_repeats_what_was_given_does_not_move_the_cursor() -> None:
    words = [sys.executable, "-m", "allocpool.cli", "plan", "batch", "--profile", "\x1b[2J\nmore"]
    done = subprocess.run(words, env={**os.environ, "LC_ALL": "C"}, capture_output=True, check=False)
    assert done.returncode == 2 and done.stderr.count(b"\n") == 1 and b"\x1b" not in done.stderr
