"""The log against Flight Recorder: two independent records of the same run.

``jdk.GCPhasePause`` is one event per pause, timed by the JVM at other points of its code than the log line. Writing the
log costs time inside one of the two intervals but not the other: microseconds for each line of a pause.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

_COLUMNS = {
    "pauses": ["gc_id", "start_ns", "duration_ns", "name"],  # jdk.GCPhasePause
    "heap": ["gc_id", "before_bytes", "after_bytes"],  # jdk.GCHeapSummary
    "stalls": ["start_ns", "duration_ns", "thread"],  # jdk.ZAllocationStall, from JDK 17
    "safepoints": ["start_ns", "duration_ns"],
}


@dataclass(frozen=True)
class Recording:
    """What Flight Recorder reports of one run: tables of `_COLUMNS`, times on the clock of the log (CLOCK_MONOTONIC).

    ``within_ns``: the bounds of the recording.
    """

    runtime: int
    collector: str
    within_ns: tuple[int, int]
    pauses: pd.DataFrame
    heap: pd.DataFrame
    stalls: pd.DataFrame
    safepoints: pd.DataFrame


def read_recording(path: Path) -> Recording:
    """Return a record as the golden runs store it next to their log (JSON)."""
    record = json.loads(path.read_text())
    tables = {name: pd.DataFrame(record[name], columns=columns) for name, columns in _COLUMNS.items()}
    return Recording(record["runtime"], record["collector"], tuple(record["within_ns"]), **tables)


def within(rows: pd.DataFrame, bounds_ns: tuple[int, int]) -> pd.DataFrame:
    """The rows (``start_ns``, ``duration_ns``) that lie wholly inside the bounds."""
    ends = rows["start_ns"] + rows["duration_ns"]
    return rows[(rows["start_ns"] >= bounds_ns[0]) & (ends <= bounds_ns[1])]
