"""The log against Flight Recorder: two independent records of the same run.

``jdk.GCPhasePause`` is one event per pause, timed by the JVM at other points of its code than the log line. Writing the
log costs time inside one of the two intervals but not the other: microseconds for each line of a pause.
"""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pandas as pd

_COLUMNS = {
    "pauses": ["gc_id", "start_ns", "duration_ns", "name"],  # jdk.GCPhasePause
    "heap": ["gc_id", "before_bytes", "after_bytes"],  # jdk.GCHeapSummary
    "stalls": ["start_ns", "duration_ns", "thread"],  # jdk.ZAllocationStall, from JDK 17
    "safepoints": ["start_ns", "duration_ns"],
}


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
