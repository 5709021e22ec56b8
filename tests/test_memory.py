"""What a new process can get: the tightest control group counts, on whatever level it stands; and what is another
machine or other code by that."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from allocpool.campaign import single
from allocpool.machine import memory
from allocpool.machine.host import cpu_quota, read_host
from allocpool.runtimes.discovery import find_runtime
from allocpool.trial import launch
from allocpool.trial.launch import Launcher


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
    assert (memory.available_memory_mb(), memory.usable_memory_mb()) == (60, 64)


def test_the_groups_of_the_first_version_count_too(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.write_text("4:cpu,cpuacct:/job\n3:memory:/job/step\n", encoding="utf-8")
    folders = [limit.parent for limit, _ in memory._limits(tmp_path, own)]
    assert folders[:3] == [tmp_path / "memory/job/step", tmp_path / "memory/job", tmp_path / "memory"]


@pytest.mark.parametrize(
    ("files", "quota"),
    [
        ({"cpu.max": "max 100000"}, None),
        ({"job/cpu.max": "40000 100000", "cpu.max": "max 100000"}, 0.4),
        ({"job/cpu.max": "max 100000", "cpu.max": "50000 100000"}, 0.5),
        ({"job/cpu.max": "99900000 100000"}, None),
        ({"cpu/job/cpu.cfs_quota_us": "40000", "cpu/job/cpu.cfs_period_us": "100000"}, 0.4),
        ({"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, None),
        ({}, None),
    ],
)
def test_the_tightest_quota_of_processor_time_counts(
    tmp_path: Path, files: dict[str, str], quota: float | None
) -> None:
    for name, content in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{content}\n", encoding="utf-8")
    own = tmp_path / "own"
    own.write_text("0::/job\n3:cpu,cpuacct:/job\n", encoding="utf-8")
    assert cpu_quota(tmp_path, own) == quota


def test_a_machine_of_which_less_may_be_used_is_another_host() -> None:
    whole = read_host().model_copy(update={"logical_cores": 4, "usable_cores": 4, "cpu_quota": None})
    others: list[dict[str, Any]] = [{"usable_cores": 1}, {"usable_cores": 2}, {"cpu_quota": 0.4}, {"cpu_quota": 2.0}]
    ids = {whole.model_copy(update=other).fingerprint() for other in others}
    assert len(ids) == len(others) and whole.fingerprint() not in ids
    older = whole.model_copy(update={"usable_cores": None})
    assert older.fingerprint() == whole.fingerprint()


def test_affinity_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _process: {3}, raising=False)
    assert read_host().usable_cores == 1


def test_other_flags_of_the_compiler_and_another_build_of_a_runtime_are_other_code(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    native = single.parse_spec(["mode=batch", "language=cpp", "layout=flat", "strategy=pool", "packets=1"])
    java = single.parse_spec(["mode=batch", "layout=heap", "strategy=pool", "packets=1"])
    before = [Launcher().code_hash(spec) for spec in (native, java)]
    monkeypatch.setenv("CXXFLAGS", "-O1")
    assert Launcher().code_hash(native) != before[0]
    monkeypatch.delenv("CXXFLAGS")
    found = find_runtime(25)
    monkeypatch.setattr(launch, "find_runtime", lambda _feature: replace(found, version=f"{found.version}.1"))
    after = [Launcher().code_hash(spec) for spec in (native, java)]
    assert after[0] == before[0] and after[1] != before[1]
