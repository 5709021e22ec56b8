"""Shared fixtures: measured data of a test never lands in the checkout's data folder."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty data folder that this test's trials write into."""
    folder = tmp_path / "data"
    monkeypatch.setenv("ALLOCPOOL_DATA", str(folder))
    return folder
