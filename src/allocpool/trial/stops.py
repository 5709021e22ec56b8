"""Everything that stopped a trial's threads, by its collector's log, on CLOCK_MONOTONIC.

A log is parsed once: the result is kept in a file next to it until the log or the reader changes.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from allocpool import gclog
from allocpool.errors import UserError
from allocpool.files import write_atomically
from allocpool.trial.record import GC_LOG, TrialRecord
from allocpool.trial.spec import Frozen

Intervals = npt.NDArray[np.int64]
"""Shape (n, 2): start and end, nanoseconds of CLOCK_MONOTONIC."""

CONSUMER = "main"
"""The thread that does the work: HotSpot's name of the one that JPype starts the JVM on."""
KEPT = "stops.json"


class Pause(NamedTuple):
    """A stop-the-world pause that no other one holds, with what it left on the heap where the log reports it."""

    start_ns: int
    duration_ns: int
    gc_id: int | None
    kind: str
    cause: str
    heap_after_mb: float | None = None


class Safepoint(NamedTuple):
    """A stop of all threads, from the request to the release; ``reaching_ns`` until the last thread stood."""

    start_ns: int
    duration_ns: int
    reaching_ns: int


class Stall(NamedTuple):
    """A wait of one thread for memory."""

    start_ns: int
    duration_ns: int
    kind: str
    thread: str


class Stops(Frozen):
    """The stops of one log, each kind in the log's order.

    ``unread`` counts lines about stopped threads that the reader did not understand, ``violations`` lines that
    contradict each other.
    """

    pauses: tuple[Pause, ...]
    safepoints: tuple[Safepoint, ...]
    stalls: tuple[Stall, ...]
    unread: int
    violations: int

    def pause_intervals(self) -> Intervals:
        return _intervals(self.pauses)

    def safepoint_intervals(self) -> Intervals:
        return _intervals(self.safepoints)

    def reaching_intervals(self) -> Intervals:
        """Return the part of each safepoint until the last thread stood."""
        return _intervals(stop._replace(duration_ns=stop.reaching_ns) for stop in self.safepoints)

    def standing_intervals(self) -> Intervals:
        """Return the rest of each safepoint."""
        reached = self.reaching_intervals()[:, 1]
        return np.column_stack((reached, self.safepoint_intervals()[:, 1]))

    def stall_intervals(self, thread: str = CONSUMER) -> Intervals:
        """Return the times that a thread waited for memory."""
        return _intervals(stall for stall in self.stalls if stall.thread == thread)

    def full_intervals(self) -> Intervals:
        """Return pauses that collected the whole heap, or brought a concurrent collection to its end."""
        return _intervals(pause for pause in self.pauses if pause.kind.startswith(("Full", "Degenerated")))


class _Kept(Frozen):
    """The content of the file next to a log, valid for ``of``: this reader, and a log of this size and time."""

    of: str
    stops: Stops


def _intervals(stops: Iterable[Pause | Safepoint | Stall]) -> Intervals:
    pairs = [(stop.start_ns, stop.start_ns + stop.duration_ns) for stop in stops]
    return np.array(pairs, np.int64).reshape(-1, 2)


def read_stops(log: Path) -> Stops:
    """Return the stops of one log; UserError where `gclog` can't read it, or it reports stops without a time."""
    parsed = gclog.read_gc_log(log)
    stalls = parsed.stalls[parsed.stalls["kind"] != "out of memory"]
    if any(table["start_ns"].isna().any() for table in (parsed.outermost, parsed.safepoints, stalls)):
        raise UserError(f"{log} reports stops without a time: its decorations must have timenanos")
    return Stops(
        pauses=_rows(parsed.outermost, Pause),
        safepoints=_rows(parsed.safepoints, Safepoint),
        stalls=_rows(stalls, Stall),
        unread=parsed.unread_count,
        violations=gclog.self_check(parsed).count,
    )


def _rows(table: pd.DataFrame, kind: type[Pause] | type[Safepoint] | type[Stall]) -> Any:
    return json.loads(table[list(kind._fields)].to_json(orient="values"))


def stops_of(record: TrialRecord) -> Stops | None:
    """Return the stops of a trial; None where it wrote no log. Errors as of `read_stops`."""
    try:
        seen = os.stat(f"{record.directory}/{GC_LOG}") if record.directory else None
    except OSError:
        seen = None
    if seen is None or not seen.st_size:
        return None
    log = Path(record.directory) / GC_LOG
    cache, of = log.with_name(KEPT), f"{_reader_hash()} {seen.st_size} {seen.st_mtime_ns}"
    # A file that is missing, cut or of another version is made anew.
    with suppress(OSError, ValueError):
        kept = _Kept.model_validate_json(cache.read_bytes())
        if kept.of == of:
            return kept.stops
    kept = _Kept(of=of, stops=read_stops(log))
    with suppress(OSError):  # raw data that nobody may write to is read each time
        write_atomically(cache, kept.model_dump_json())
    return kept.stops


@lru_cache(maxsize=1)
def _reader_hash() -> str:
    """Return a hash of the log reader and this module, whose change makes a log be read again."""
    digest = hashlib.sha256()
    for source in (*sorted(Path(gclog.__file__).parent.glob("*.py")), Path(__file__)):
        digest.update(source.read_bytes())
    return digest.hexdigest()[:12]
