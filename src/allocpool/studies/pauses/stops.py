"""Everything that stopped a trial's threads, as its collector's log tells it, on CLOCK_MONOTONIC.

A log is read once: what was found is kept beside it, under a name that changes with the reader.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from allocpool import gclog
from allocpool.campaign.tidy import reader_hash
from allocpool.files import write_atomically
from allocpool.trial.record import GC_LOG, TrialRecord

Intervals = npt.NDArray[np.int64]
"""Shape (n, 2): start and end, nanoseconds of CLOCK_MONOTONIC."""

CONSUMER = "main"
"""The thread that does the work: HotSpot calls the one that JPype starts the JVM on so."""
FORCED = "Heap Inspection Initiated GC"
"""Cause of the collection that counts the living objects after the measured part."""

_PAUSES = ("start_ns", "duration_ns", "gc_id", "kind", "cause")
_SAFEPOINTS = ("start_ns", "duration_ns", "reaching_ns")
_STALLS = ("start_ns", "duration_ns", "kind", "thread")


@dataclass(frozen=True)
class Stops:
    """What one log tells of stops.

    ``pauses``: outermost ones (``start_ns, duration_ns, gc_id, kind, cause``); ``safepoints``: ``start_ns,
    duration_ns, reaching_ns``; ``stalls`` of single threads: ``start_ns, duration_ns, kind, thread``. ``unread`` counts
    lines about stopped threads that the reader did not understand, ``violations`` lines that contradict each other.
    """

    pauses: pd.DataFrame
    safepoints: pd.DataFrame
    stalls: pd.DataFrame
    unread: int
    violations: int

    def pause_intervals(self) -> Intervals:
        """Stop-the-world pauses."""
        return _intervals(self.pauses)

    def safepoint_intervals(self) -> Intervals:
        """Safepoints, from the request to the release."""
        return _intervals(self.safepoints)

    def reaching_intervals(self) -> Intervals:
        """Of each safepoint, the time until the last thread stood."""
        starts = self.safepoints["start_ns"].to_numpy(dtype=np.int64)
        return np.column_stack((starts, starts + self.safepoints["reaching_ns"].to_numpy(dtype=np.int64)))

    def stall_intervals(self, thread: str = CONSUMER) -> Intervals:
        """Stalls of one thread that waited for memory."""
        return _intervals(self.stalls[self.stalls["thread"] == thread])

    def full_intervals(self) -> Intervals:
        """Pauses in which the whole heap was collected, or a concurrent collection was brought to its end."""
        return _intervals(self.pauses[self.pauses["kind"].str.startswith(("Full", "Degenerated"))])


def _intervals(rows: pd.DataFrame) -> Intervals:
    starts = rows["start_ns"].to_numpy(dtype=np.int64)
    return np.column_stack((starts, starts + rows["duration_ns"].to_numpy(dtype=np.int64)))


def read_stops(log: Path) -> Stops:
    """The stops of one log; raises what `gclog.read_gc_log` raises."""
    told = gclog.read_gc_log(log)
    return Stops(
        pauses=told.outermost[list(_PAUSES)].reset_index(drop=True),
        safepoints=told.safepoints[list(_SAFEPOINTS)].reset_index(drop=True),
        stalls=told.stalls.loc[told.stalls["kind"] != "out of memory", list(_STALLS)].reset_index(drop=True),
        unread=told.unread_count,
        violations=gclog.self_check(told).count,
    )


def stops_of(record: TrialRecord) -> Stops | None:
    """The stops of a trial, from its log or from what was kept of it; None where it wrote none."""
    log = Path(record.directory) / GC_LOG
    if not record.directory or not log.exists() or not log.stat().st_size:
        return None
    kept = log.with_name(f"stops-{reader_hash()}.json")
    if kept.exists():
        told = json.loads(kept.read_text(encoding="utf-8"))
        return Stops(
            _frame(told["pauses"], _PAUSES), _frame(told["safepoints"], _SAFEPOINTS), _frame(told["stalls"], _STALLS),
            told["unread"], told["violations"],
        )  # fmt: skip
    stops = read_stops(log)
    tables = {name: json.loads(getattr(stops, name).to_json(orient="values")) for name in _TABLES}
    write_atomically(kept, json.dumps({**tables, "unread": stops.unread, "violations": stops.violations}))
    return stops


_TABLES = ("pauses", "safepoints", "stalls")


def _frame(rows: Sequence[Sequence[object]], columns: tuple[str, ...]) -> pd.DataFrame:
    table = pd.DataFrame(rows, columns=list(columns))
    words = {name: "str" for name in columns if name in ("kind", "cause", "thread")}
    numbers = {name: "int64" for name in columns if name.endswith("_ns")}
    gc_id = {"gc_id": "Int64"} if "gc_id" in columns else {}
    return table.astype({**words, **numbers, **gc_id})
