"""Every runtime and collector, read from a real log and held against Flight Recorder's account of the same run."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

from allocpool.gclog import GcLog, read_gc_log, self_check

GOLDEN = Path(__file__).parent / "golden"
_COLUMNS = {
    "pauses": ["gc_id", "start_ns", "duration_ns", "name"],  # jdk.GCPhasePause
    "heap": ["gc_id", "before_bytes", "after_bytes"],  # jdk.GCHeapSummary
    "stalls": ["start_ns", "duration_ns", "thread"],  # jdk.ZAllocationStall, from JDK 17
    "safepoints": ["start_ns", "duration_ns"],
}
RUNS = sorted(path.stem for path in (GOLDEN / "expected").glob("*.json"))
RUNTIME_COLLECTORS = {
    11: "serial parallel cms g1 zgc shenandoah epsilon",
    17: "serial parallel g1 zgc shenandoah epsilon",
    21: "serial parallel g1 zgc genzgc shenandoah epsilon",
    25: "serial parallel g1 genzgc shenandoah genshenandoah epsilon",
    26: "serial parallel g1 genzgc shenandoah genshenandoah epsilon",
    27: "serial parallel g1 genzgc shenandoah genshenandoah epsilon",
}
LEVELS = ("default-gc", "default-gc-star", "debug")
# How far the totals of the two may differ. The recorder's pauses of CMS are known to be low.
TOTAL_TOLERANCE = {"cms": 0.10, "shenandoah": 0.013, "genshenandoah": 0.013, "zgc": 0.06, "genzgc": 0.06}
STOP_THE_WORLD_TOLERANCE = 0.005
# What lies between the two points at which a pause is timed, the writing of log lines above all: on average ...
MEAN_APART_US = {"zgc": 1.0, "genzgc": 1.0, "shenandoah": 10.0, "genshenandoah": 10.0}
STOP_THE_WORLD_MEAN_APART_US = 100.0
# ... and for a single collection, which has up to five pauses.
APART_US = {"zgc": 2.0, "genzgc": 2.0, "shenandoah": 80.0, "genshenandoah": 80.0}
STOP_THE_WORLD_APART_US = 400.0
# The recorder has no event for a young collection of Serial that gave up before it copied anything.
ONLY_IN_LOG = {"serial", "cms"}


def read_recording(path: Path) -> SimpleNamespace:
    """Return what Flight Recorder reports of one run, as golden runs store it next to their log (JSON): ``runtime``,
    ``collector``, ``within_ns`` (the bounds of the recording), and tables of `_COLUMNS`, times on the clock of the log
    (CLOCK_MONOTONIC)."""
    record = json.loads(path.read_text())
    tables = {name: pd.DataFrame(record[name], columns=columns) for name, columns in _COLUMNS.items()}
    return SimpleNamespace(**record | tables)


def within(rows: pd.DataFrame, bounds_ns: tuple[int, int]) -> pd.DataFrame:
    """The rows (``start_ns``, ``duration_ns``) that lie wholly inside the bounds."""
    ends = rows["start_ns"] + rows["duration_ns"]
    return rows[(rows["start_ns"] >= bounds_ns[0]) & (ends <= bounds_ns[1])]


def golden(name: str) -> tuple[GcLog, SimpleNamespace]:
    return read_gc_log(GOLDEN / "logs" / f"{name}.log.gz"), read_recording(GOLDEN / "expected" / f"{name}.json")


def own_time_us(log: GcLog, recording: SimpleNamespace) -> pd.Series[float]:
    """Microseconds of each collection, without those of collections nested in it."""
    pauses = within(log.pauses, recording.within_ns)
    total = pauses.groupby("gc_id")["duration_ns"].sum()
    nested = pauses[pauses["nested"]].groupby("nested_in")["duration_ns"].sum()
    return total.sub(nested, fill_value=0).astype(float) / 1e3


def test_the_set_is_complete() -> None:
    for runtime, collectors in RUNTIME_COLLECTORS.items():
        for collector in collectors.split():
            assert f"{runtime}-{collector}-steady" in RUNS
        for trouble in ("g1-evacuation-failure", "serial-full", "serial-promotion-failure", "parallel-full"):
            assert f"{runtime}-{trouble}" in RUNS
        assert {f"{runtime}-shenandoah-degenerated", f"{runtime}-shenandoah-full"} <= set(RUNS)
    assert {"11-zgc-stalls", "17-zgc-stalls", "21-zgc-stalls", "21-genzgc-stalls", "25-genzgc-stalls"} <= set(RUNS)
    assert {"11-cms-promotion-failure", "11-cms-concurrent-mode-failure"} <= set(RUNS)
    for runtime in (25, 26, 27):
        assert {f"{runtime}-genshenandoah-degenerated", f"{runtime}-genshenandoah-full"} <= set(RUNS)
    for runtime in (26, 27):
        assert f"{runtime}-genzgc-stalls" in RUNS
        for collector in RUNTIME_COLLECTORS[runtime].split():
            assert f"{runtime}-{collector}-levels" in RUNS


@pytest.mark.parametrize("name", RUNS)
def test_every_stop_the_world_line_is_understood(name: str) -> None:
    log, recording = golden(name)
    assert log.collector == recording.collector
    assert log.unread_count == 0
    assert log.cut_tail is None
    assert log.clock == "monotonic"
    checked = self_check(log)
    assert checked.count == 0, checked.violations.to_string()
    # A JVM that exits says its last pause, but not always its last safepoint.
    assert checked.pauses_outside_safepoints is None or checked.pauses_outside_safepoints <= 2


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", [name for name in RUNS if name.endswith("-levels")])
def test_every_level_tells_the_same_pauses(name: str, level: str) -> None:
    reference, recording = golden(name)
    log = read_gc_log(GOLDEN / "logs" / f"{name}.{level}.log.gz")
    assert log.collector == recording.collector
    assert log.unread_count == 0
    assert self_check(log).count == 0
    if level == "default-gc" and recording.collector == "genzgc":
        assert log.pauses.empty  # its pauses are phases, which have tags of their own
        assert len(log.heap) == len(reference.heap)
    else:
        facts = ["gc_id", "kind", "generation", "trouble"]
        pd.testing.assert_frame_equal(log.pauses[facts], reference.pauses[facts])
        apart_ns = (log.pauses["duration_ns"] - reference.pauses["duration_ns"]).abs()
        assert (apart_ns <= 1000).all()


# Runs at several levels write four logs in a pause, of which the recorder's own times see a part.
@pytest.mark.parametrize("name", [name for name in RUNS if not name.endswith("-levels")])
def test_the_log_agrees_with_the_recorder(name: str) -> None:
    log, recording = golden(name)
    logged = own_time_us(log, recording)
    recorded = recording.pauses.groupby("gc_id")["duration_ns"].sum() / 1e3
    apart_us = APART_US.get(recording.collector, STOP_THE_WORLD_APART_US)
    tolerance = TOTAL_TOLERANCE.get(recording.collector, STOP_THE_WORLD_TOLERANCE)

    missed = recorded.index.difference(logged.index)
    assert missed.empty, f"collections {list(missed)} are in the recording only"
    only_logged = logged[logged.index.difference(recorded.index)]
    if recording.collector in ONLY_IN_LOG:
        assert (only_logged < apart_us).all()
    else:
        assert len(only_logged) <= 1  # at a bound of the recording

    pairs = pd.DataFrame({"log": logged[recorded.index], "recorder": recorded})
    apart = (pairs["log"] - pairs["recorder"]).abs()
    agree = apart <= apart_us + tolerance * pairs["recorder"]
    assert agree.mean() >= 0.8 or recorded.empty  # the rest: a thread that lost its core between the two clocks
    mean_apart_us = MEAN_APART_US.get(recording.collector, STOP_THE_WORLD_MEAN_APART_US)
    total_apart_us = abs(pairs["log"].sum() - pairs["recorder"].sum())
    assert total_apart_us <= tolerance * recorded.sum() + mean_apart_us * len(recording.pauses)


@pytest.mark.parametrize("name", RUNS)
def test_safepoints_agree_with_the_recorder(name: str) -> None:
    log, recording = golden(name)
    logged = within(log.safepoints, recording.within_ns)
    assert abs(len(logged) - len(recording.safepoints)) <= 1  # at a bound of the recording
    if recording.runtime >= 17 and len(logged) == len(recording.safepoints) > 0:
        apart = logged["duration_ns"].to_numpy(dtype=float) - recording.safepoints["duration_ns"].to_numpy(dtype=float)
        assert pd.Series(apart).abs().median() < 50_000


@pytest.mark.parametrize("name", [name for name in RUNS if "zgc" in name and not name.startswith("11-")])
def test_allocation_stalls_agree_with_the_recorder(name: str) -> None:
    log, recording = golden(name)
    logged = within(log.stalls[log.stalls["kind"] == "allocation"], recording.within_ns)
    assert abs(len(logged) - len(recording.stalls)) <= 1
    assert logged["duration_ns"].sum() == pytest.approx(recording.stalls["duration_ns"].sum(), rel=0.02)
    assert set(recording.stalls["thread"]) <= set(logged["thread"])


@pytest.mark.parametrize("name", [name for name in RUNS if "-serial-" in name or "-parallel-" in name])
def test_heap_sizes_agree_with_the_recorder(name: str) -> None:
    log, recording = golden(name)
    holders = set(log.pauses["nested_in"].dropna())  # their "after" is that of the collection inside
    sizes = log.pauses[~log.pauses["gc_id"].isin(holders)].set_index("gc_id")
    joined = sizes.join(recording.heap.set_index("gc_id"), how="inner")
    assert len(joined) >= 6
    assert ((joined["heap_before_mb"] - joined["before_bytes"] / 2**20).abs() <= 1.0).all()
    assert ((joined["heap_after_mb"] - joined["after_bytes"] / 2**20).abs() <= 1.0).all()


@pytest.mark.parametrize(
    ("variant", "trouble"),
    [
        ("evacuation-failure", "evacuation failure"),
        ("promotion-failure", "promotion failure"),
        ("concurrent-mode-failure", "concurrent mode failure"),
        ("degenerated", "degenerated"),
    ],
)
def test_every_trouble_is_told_of_its_pause(variant: str, trouble: str) -> None:
    found = [name for name in RUNS if name.endswith(f"-{variant}")]
    assert found
    for name in found:
        log, _ = golden(name)
        signs = json.loads((GOLDEN / "expected" / f"{name}.json").read_text())["signs"]["count"]
        upgraded = (log.pauses["trouble"] == "upgraded to full").sum() if trouble == "degenerated" else 0
        assert (log.pauses["trouble"] == trouble).sum() + upgraded == signs > 0, name


@pytest.mark.parametrize("name", [name for name in RUNS if name.endswith("-steady") and "epsilon" not in name])
def test_an_explicit_collection_is_told_with_its_cause(name: str) -> None:
    log, recording = golden(name)
    if "shenandoah" in recording.collector:  # runs it as a concurrent cycle, whose lines carry no cause
        assert "System.gc()" not in set(log.pauses["cause"])
    else:
        assert "System.gc()" in set(log.pauses["cause"]) | set(log.heap["cause"])


def test_full_collections_inside_young_ones_are_not_counted_twice() -> None:
    log, recording = golden("11-cms-concurrent-mode-failure")
    inner = log.pauses[log.pauses["nested"]]
    assert set(inner["kind"]) == {"Full"}
    assert (inner["gc_id"] == inner["nested_in"] + 1).all()
    naive = within(log.pauses, recording.within_ns)["duration_ns"].sum()
    safepoints = within(log.safepoints, recording.within_ns)["duration_ns"].sum()
    outermost = within(log.outermost, recording.within_ns)["duration_ns"].sum()
    assert outermost <= safepoints < naive


def test_generational_collections_are_told_apart() -> None:
    for name in ("21-genzgc-steady", "25-genzgc-steady"):
        log, _ = golden(name)
        assert set(log.pauses["generation"]) == {"young", "old"}
        assert {"Minor Collection", "Major Collection"} <= set(log.heap["event"])
    log, _ = golden("25-genshenandoah-steady")
    assert "young" in set(log.pauses["generation"])
