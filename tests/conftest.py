"""Shared fixtures and order: measured data of a test never lands in the checkout's data folder."""

from __future__ import annotations

import gc
import os
import tempfile
from pathlib import Path

import pytest
from compilers import leave_out_the_second

# Hundreds of megabytes of modules live as long as the process: going through them every few hundred objects is a tenth
# of what tests of tables take.
gc.set_threshold(50_000, 20, 100)
# Tests measure nothing that anybody reads, so several processes of them may run at once.
os.environ["ALLOCPOOL_LOCK"] = str(Path(tempfile.gettempdir()) / f"allocpool-tests-{os.getpid()}.lock")

LONGEST = ("test_story.py", "test_fleet.py", "test_survival.py", "test_same_work.py", "test_realtime.py")
"""Files that go first, so that none of several processes is left alone with one at the end."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files first, the others as they were."""
    items.sort(key=lambda item: LONGEST.index(item.path.name) if item.path.name in LONGEST else len(LONGEST))


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty data folder that this test's trials write into."""
    folder = tmp_path / "data"
    monkeypatch.setenv("ALLOCPOOL_DATA", str(folder))
    return folder


@pytest.fixture
def first_compiler_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trials that only show that they do what they say. With both compilers, each kind of trial is part of the smoke
    campaign."""
    leave_out_the_second(monkeypatch)
