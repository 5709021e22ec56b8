"""The log against Flight Recorder: two independent records of the same run.

``jdk.GCPhasePause`` is one event per pause, timed by the JVM at other points of its code than the log line: for
stop-the-world collectors the totals agree within 0.5%, for Shenandoah within 1.3%, for ZGC within about 6%, as the
recorder misses a few pauses at start and exit. Writing the log costs time inside one of the two intervals but not
the other: microseconds for each line of a pause, which shows where pauses are short and their lines many.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from allocpool.gclog.checks import self_check
from allocpool.gclog.log import GcLog, read_gc_log


@dataclass(frozen=True)
class Recording:
    """What Flight Recorder says of one run, all times in nanoseconds on the clock of the log (CLOCK_MONOTONIC).

    ``within_ns``: the bounds of the recording. ``pauses``: ``gc_id, start_ns, duration_ns, name`` of each
    ``jdk.GCPhasePause``; ``heap``: ``gc_id, before_bytes, after_bytes`` (``jdk.GCHeapSummary``); ``stalls``:
    ``start_ns, duration_ns, thread`` (``jdk.ZAllocationStall``, from JDK 17); ``safepoints``: ``start_ns,
    duration_ns``.
    """

    name: str
    runtime: int
    collector: str
    variant: str
    within_ns: tuple[int, int]
    pauses: pd.DataFrame
    heap: pd.DataFrame
    stalls: pd.DataFrame
    safepoints: pd.DataFrame


def read_recording(path: Path) -> Recording:
    """A record as the golden runs store it next to their log (JSON)."""
    record = json.loads(path.read_text())
    return Recording(
        name=record["name"],
        runtime=record["runtime"],
        collector=record["collector"],
        variant=record["variant"],
        within_ns=(record["within_ns"][0], record["within_ns"][1]),
        pauses=pd.DataFrame(record["pauses"], columns=["gc_id", "start_ns", "duration_ns", "name"]),
        heap=pd.DataFrame(record["heap"], columns=["gc_id", "before_bytes", "after_bytes"]),
        stalls=pd.DataFrame(record["stalls"], columns=["start_ns", "duration_ns", "thread"]),
        safepoints=pd.DataFrame(record["safepoints"], columns=["start_ns", "duration_ns"]),
    )


def within(rows: pd.DataFrame, bounds_ns: tuple[int, int]) -> pd.DataFrame:
    """The rows (``start_ns``, ``duration_ns``) that lie wholly inside the bounds."""
    ends = rows["start_ns"] + rows["duration_ns"]
    return rows[(rows["start_ns"] >= bounds_ns[0]) & (ends <= bounds_ns[1])]


def comparison(log: GcLog, recording: Recording) -> dict[str, object]:
    """One row of the table of log against Flight Recorder, both cut to the bounds of the recording; totals in ms."""
    pauses = within(log.outermost, recording.within_ns)
    stalls = within(log.stalls[log.stalls["kind"] == "allocation"], recording.within_ns)
    log_total_ms = float(pauses["duration_ns"].sum()) / 1e6
    recorder_total_ms = float(recording.pauses["duration_ns"].sum()) / 1e6
    return {
        "run": recording.name,
        "runtime": recording.runtime,
        "collector": recording.collector,
        "log_pauses": len(pauses),
        "recorder_pauses": len(recording.pauses),
        "nested": int(within(log.pauses, recording.within_ns)["nested"].sum()),
        "log_total_ms": log_total_ms,
        "recorder_total_ms": recorder_total_ms,
        "log_to_recorder": log_total_ms / recorder_total_ms if recorder_total_ms else float("nan"),
        "log_safepoints": len(within(log.safepoints, recording.within_ns)),
        "recorder_safepoints": len(recording.safepoints),
        "log_stalls": len(stalls),
        "recorder_stalls": len(recording.stalls),
        "unread": log.unread_count,
        "violations": self_check(log).count,
    }


def comparison_table(golden: Path) -> pd.DataFrame:
    """Log against Flight Recorder for every golden run of a folder that holds ``logs`` and ``expected``."""
    records = sorted((golden / "expected").glob("*.json"))
    return pd.DataFrame(
        comparison(read_gc_log(golden / "logs" / f"{path.stem}.log.gz"), read_recording(path)) for path in records
    )
