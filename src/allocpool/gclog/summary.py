"""One log on one page: what stopped, how often, how long, what was left to the application, and whether it agrees.

What a log says in one line must agree with what it says in another. A pause happens inside a safepoint, so the pauses
of one safepoint can't last longer than the threads stood; if they do, either the log is damaged or the reader counts
something twice, or counts what is no pause.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from allocpool.gclog.decorations import NO_CLOCK
from allocpool.gclog.log import GcLog

WINDOWS_MS = (1.0, 10.0, 100.0, 1000.0)
_Stops = npt.NDArray[np.int64]
_Violation = tuple[str, int | None, str]
_PRINTED_NS = 1000  # pauses are printed in microseconds
_SHRINKS_ONLY_IN_PAUSES = ("serial", "parallel", "g1")


@dataclass(frozen=True)
class KindSummary:
    """Pauses of one kind; milliseconds. ``nested`` ones lie inside others and are in no total of the log."""

    kind: str
    count: int
    total_ms: float
    mean_ms: float
    p99_ms: float
    max_ms: float
    nested: int


@dataclass(frozen=True)
class GcLogSummary:
    """The summary of one log.

    All ``_ms`` are milliseconds, None where the log does not report it. ``pauses`` and its totals leave out the
    ``nested`` ones. ``mmu_pauses`` and ``mmu_stopped`` hold the minimum mutator utilisation (0 to 1) by window length
    in milliseconds: of the pauses alone, and of all that stops all threads (safepoints with the time to reach them, and
    pauses). ``unread`` counts lines about stopped threads that were not understood, ``violations`` contradictions.
    """

    file: str
    collector: str
    jvm_version: str | None
    clock: str
    span_ms: float | None
    pauses: int
    pause_total_ms: float
    pause_mean_ms: float | None
    pause_p99_ms: float | None
    pause_max_ms: float | None
    pause_kinds: tuple[KindSummary, ...]
    nested: int
    safepoints: int
    safepoint_total_ms: float
    safepoint_max_ms: float | None
    time_to_safepoint_total_ms: float
    time_to_safepoint_max_ms: float | None
    stalls: int
    stall_total_ms: float
    stall_max_ms: float | None
    mmu_pauses: dict[str, float | None]
    mmu_stopped: dict[str, float | None]
    unread: int
    violations: int
    notes: tuple[str, ...]


def summary_of(log: GcLog) -> GcLogSummary:
    """The summary of a log that was read already."""
    pauses, safepoints, stalls = log.outermost, log.safepoints, log.stalls[log.stalls["kind"] != "out of memory"]
    violations = self_check(log).count
    pause_stops = _stops(pauses)
    kinds = {str(kind): rows for kind, rows in log.pauses.groupby("kind", sort=True)}
    return GcLogSummary(
        file=", ".join(map(str, log.parts)),
        collector=log.collector,
        jvm_version=log.jvm_version,
        clock=log.clock,
        span_ms=None if log.span_ns is None else (log.span_ns[1] - log.span_ns[0]) / 1e6,
        pauses=len(pauses),
        **{f"pause_{name}": value for name, value in _times(pauses["duration_ns"]).items()},
        pause_kinds=tuple(
            KindSummary(kind, len(rows), **_times(rows["duration_ns"]), nested=int(rows["nested"].sum()))
            for kind, rows in kinds.items()
        ),
        nested=int(log.pauses["nested"].sum()),
        safepoints=len(safepoints),
        **_total_and_max("safepoint", safepoints["duration_ns"]),
        **_total_and_max("time_to_safepoint", safepoints["reaching_ns"]),
        stalls=len(stalls),
        **_total_and_max("stall", stalls["duration_ns"]),
        mmu_pauses=_mmu(log, pause_stops),
        mmu_stopped=_mmu(log, np.concatenate((pause_stops, _stops(safepoints)))),
        unread=log.unread_count,
        violations=violations,
        notes=tuple(_notes(log, violations)),
    )


def _times(durations_ns: pd.Series[int]) -> dict[str, Any]:
    ns = durations_ns
    found: dict[str, Any] = {
        "total_ms": ns.sum(),
        "mean_ms": ns.mean(),
        "p99_ms": ns.quantile(0.99),
        "max_ms": ns.max(),
    }
    return {name: None if math.isnan(value) else float(value) / 1e6 for name, value in found.items()}


def _total_and_max(what: str, durations_ns: pd.Series[int]) -> dict[str, Any]:
    times = _times(durations_ns)
    return {f"{what}_{name}": times[name] for name in ("total_ms", "max_ms")}


def _stops(rows: pd.DataFrame) -> _Stops:
    known = rows[rows["start_ns"].notna()]
    starts = known["start_ns"].to_numpy(dtype=np.int64)
    return np.column_stack((starts, starts + known["duration_ns"].to_numpy(dtype=np.int64)))


def _mmu(log: GcLog, stops: _Stops) -> dict[str, float | None]:
    names = [f"{window:g}" for window in WINDOWS_MS]
    silent = log.pauses.empty and log.safepoints.empty and log.collector != "epsilon"
    if silent or log.span_ns is None or log.span_ns[0] == log.span_ns[1]:
        return dict.fromkeys(names)
    values = minimum_mutator_utilisation(stops, WINDOWS_MS, log.span_ns)
    return {name: None if math.isnan(value) else float(value) for name, value in zip(names, values, strict=True)}


def _notes(log: GcLog, violations: int) -> list[str]:
    missing, silent = log.missing_collections, log.pauses.empty and log.collector in ("zgc", "genzgc", "unknown")
    first_unread = f"{log.unread[0].number}: {log.unread[0].text}" if log.unread else ""
    notes = {
        f"run {log.run} of {log.runs} of a JVM, summed apart: the clock or the collections start again": log.runs > 1,
        f"the collector is named {log.times_named} times: several JVMs may have written to this log at once":
            log.times_named > 1,
        f"{len(log.parts)} parts of a rotated log were read as one, in the order of their time stamps":
            len(log.parts) > 1,
        "read apart from the other files of its name: their time stamps or collections do not go on from each other":
            log.apart,
        "the text was UTF-16": log.stripped.utf_16,
        "the compressed file was cut short, and read as far as it goes": log.stripped.cut_short,
        f"{log.stripped.json_lines} lines were JSON, of which the field log or message was read":
            log.stripped.json_lines,
        f"{log.unread_count} lines about stopped threads were not understood, the first is line {first_unread}":
            log.unread_count,
        f"kinds of pauses that are not known here, counted all the same: {', '.join(log.unfamiliar)}": log.unfamiliar,
        f"{log.text_before} lines have other text before their decorations, which was stripped": log.text_before,
        f"{log.repeated} lines stand a second time, as of a second output, and were counted once": log.repeated,
        f"no line has {len(missing):,} numbers of collections, the first is GC({next(iter(missing), '')}): the JVM "
        "left them out, or lines were lost": missing,
        f"the log was cut in mid-line: {log.cut_tail}": log.cut_tail is not None,
        f"{log.unfinished_pauses} pauses start but do not end in this log": log.unfinished_pauses,
        f"{violations} lines contradict each other": violations,
        "no safepoints in this log, so the time to reach them is unknown: add safepoint to -Xlog": log.safepoints.empty,
        "no pauses in this log: ZGC writes them with -Xlog:gc* only": silent,
        "the log has no time stamps: durations are known, times and utilisation are not": log.clock == NO_CLOCK,
    }  # fmt: skip
    return [note for note, holds in notes.items() if holds]


@dataclass(frozen=True)
class SelfCheck:
    """What did not agree: one row per disagreement (``check``, ``at_ns``, ``detail``), and the pauses that no logged
    safepoint covers, None for a log without safepoint lines."""

    violations: pd.DataFrame
    pauses_outside_safepoints: int | None

    @property
    def count(self) -> int:
        return len(self.violations)


def self_check(log: GcLog) -> SelfCheck:
    """Compare pauses with the safepoints around them, and each heap size with its neighbours."""
    outside, exceeded = _pauses_in_safepoints(log)
    return SelfCheck(pd.DataFrame(exceeded + _heap_sizes(log), columns=["check", "at_ns", "detail"]), outside)


def _pauses_in_safepoints(log: GcLog) -> tuple[int | None, list[_Violation]]:
    if log.safepoints.empty or log.clock == NO_CLOCK:
        return None, []
    pauses = log.outermost
    durations = pauses["duration_ns"].to_numpy()
    ends = pauses["start_ns"].to_numpy(dtype=np.int64) + durations  # the one moment that the log itself stamped
    starts = log.safepoints["start_ns"].to_numpy(dtype=np.int64)
    totals = log.safepoints["duration_ns"].to_numpy()
    # The line of a safepoint follows those of its pauses; stamps of whole milliseconds would not tell neighbours apart.
    following = np.array(log.following_safepoint, np.int64)[pauses.index]
    safepoint = np.minimum(following, len(starts) - 1)
    covered = (following < len(starts)) & (starts[safepoint] <= ends + log.resolution_ns)
    covered &= ends <= starts[safepoint] + totals[safepoint] + log.resolution_ns
    inside = np.bincount(safepoint[covered], durations[covered], len(starts))
    count = np.bincount(safepoint[covered], minlength=len(starts))
    violations: list[_Violation] = []
    for index in np.flatnonzero(inside > totals + count * _PRINTED_NS):
        detail = f"{inside[index] / 1e6:.3f} ms of pauses in a safepoint of {totals[index] / 1e6:.3f} ms"
        violations.append(("pauses exceed their safepoint", int(starts[index]), detail))
    return int((~covered).sum()), violations


def _heap_sizes(log: GcLog) -> list[_Violation]:
    slack_mb = 1.0  # sizes are rounded to whole MiB
    violations: list[_Violation] = []
    capacity_before = after_before = 0.0
    stop_the_world = log.collector in _SHRINKS_ONLY_IN_PAUSES
    pauses = log.outermost
    pauses = pauses[pauses["heap_capacity_mb"].notna()]
    sizes = pauses[["heap_before_mb", "heap_after_mb", "heap_capacity_mb"]].to_numpy(dtype=np.float64)
    starts = pauses["start_ns"].to_numpy(dtype=object)
    for start, (before, after, capacity) in zip(starts, sizes.tolist(), strict=True):
        text = f"{before:g}M->{after:g}M({capacity:g}M) after {after_before:g}M({capacity_before:g}M)"
        at_ns = None if log.clock == NO_CLOCK else int(start)
        # a collection may resize the heap, and prints the capacity after it
        if after > capacity + slack_mb or before > max(capacity, capacity_before or before) + slack_mb:
            violations.append(("heap over its capacity", at_ns, text))
        if stop_the_world and before + slack_mb < after_before:
            violations.append(("heap shrank between collections", at_ns, text))
        capacity_before, after_before = capacity, after
    return violations


def minimum_mutator_utilisation(
    stops: npt.ArrayLike, windows_ms: Sequence[float], span: tuple[float, float]
) -> npt.NDArray[np.float64]:
    """The minimum mutator utilisation, 0 to 1, for each window length in milliseconds.

    For a window of length w, the minimum over all windows of that length inside the run of the share of time in which
    the mutator ran: a run of short pauses close together shows as bad as one long pause. Source: P. Cheng and
    G. E. Blelloch, "A parallel, real-time garbage collector", PLDI 2001.

    ``stops`` are intervals ``(start, end)`` in nanoseconds, shape (n, 2), of any kind (pauses, safepoints, stalls
    of a thread, or several kinds together), in any order; overlapping ones count once, parts outside ``span``
    (start and end of the run, nanoseconds) not at all. A window longer than the span has no value: NaN. Exact: the
    minimum is reached by a window that begins where a stop begins or ends where one ends. Raises ValueError for a
    stop that ends before it starts, a window that is not positive, and an empty span.
    """
    length = float(span[1] - span[0])
    # relative to the start of the span first, as nanoseconds since 1970 would not fit a float exactly
    intervals = (np.asarray(stops).reshape(-1, 2) - span[0]).astype(np.float64)
    windows = np.asarray(windows_ms, np.float64) * 1e6
    if length <= 0 or np.any(windows <= 0) or np.any(intervals[:, 1] < intervals[:, 0]):
        raise ValueError("the span, the windows and every stop need a positive length")
    starts, ends = _merged(np.clip(intervals, 0.0, length))
    points = np.concatenate(([0.0], np.column_stack((starts, ends)).ravel(), [length]))
    stopped_at = np.concatenate(([0.0], np.cumsum(np.column_stack((np.zeros_like(starts), ends - starts)).ravel())))
    stopped_at = np.append(stopped_at, stopped_at[-1])
    result = np.full(len(windows), np.nan)
    for index, window in enumerate(windows):
        if window > length:
            continue
        first = np.clip(np.concatenate(([0.0], starts, ends - window)), 0.0, length - window)
        stopped = np.interp(first + window, points, stopped_at) - np.interp(first, points, stopped_at)
        result[index] = max(0.0, 1.0 - float(stopped.max()) / window)
    return result


def _merged(intervals: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Starts and ends of the union of the intervals, sorted, those of no length left out."""
    intervals = intervals[intervals[:, 1] > intervals[:, 0]]
    if len(intervals) == 0:
        return np.empty(0), np.empty(0)
    intervals = intervals[np.argsort(intervals[:, 0])]
    reached = np.maximum.accumulate(intervals[:, 1])
    opens = np.concatenate(([True], intervals[1:, 0] > reached[:-1]))
    starts = intervals[opens, 0]
    ends = reached[np.append(np.flatnonzero(opens)[1:] - 1, len(intervals) - 1)]
    return starts, ends
