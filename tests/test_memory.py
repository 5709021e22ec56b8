"""Memory that a new process can get: the tightest control group counts, on whatever level it stands."""

from __future__ import annotations

from pathlib import Path

import pytest

from allocpool.machine import memory


def group(root: Path, path: str, limit: str, used: int) -> None:
    folder = root / path
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "memory.max").write_text(f"{limit}\n", encoding="utf-8")
    (folder / "memory.current").write_text(f"{used}\n", encoding="utf-8")


@pytest.mark.parametrize("tight", ["job", "job/step", "job/step/task"])
def test_a_limit_on_any_level_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tight: str) -> None:
    root, own = tmp_path / "cgroup", tmp_path / "own"
    own.write_text("0::/job/step/task\n", encoding="utf-8")
    for path in ("job", "job/step", "job/step/task"):
        group(root, path, str(64 << 20) if path == tight else "max", 4 << 20)
    limits = list(memory._limits(root, own))
    monkeypatch.setattr(memory, "_limits", lambda: iter(limits))
    assert memory.available_memory_mb() == 60


def test_the_groups_of_the_first_version_count_too(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.write_text("4:cpu,cpuacct:/job\n3:memory:/job/step\n", encoding="utf-8")
    folders = [limit.parent for limit, _ in memory._limits(tmp_path, own)]
    assert folders[:3] == [tmp_path / "memory/job/step", tmp_path / "memory/job", tmp_path / "memory"]
