"""The repository is found, and the folders below it can be moved by the environment."""

from __future__ import annotations

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
