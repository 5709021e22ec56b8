"""One log on one page: what stopped, how often, how long, and what was left to the application."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from os import PathLike

import numpy as np
import numpy.typing as npt
import pandas as pd

from allocpool.gclog.checks import self_check
from allocpool.gclog.log import GcLog, read_gc_log
from allocpool.gclog.utilisation import minimum_mutator_utilisation

WINDOWS_MS = (1.0, 10.0, 100.0, 1000.0)
_Stops = npt.NDArray[np.int64]


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
    ``nested`` ones. ``mmu_pauses`` and ``mmu_stopped`` hold the minimum mutator utilisation (0 to 1) by window
    length in milliseconds: of the pauses alone, and of everything that stops all threads (safepoints with the time
    to reach them, and pauses). ``unread`` counts lines about stopped threads that were not understood,
    ``violations`` lines that contradict each other. ``notes`` say what the reader of this summary must know about
    the log.
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

    def to_json(self) -> str:
        """The summary as one JSON object on one line."""
        return json.dumps(asdict(self))


def summarise(path: str | PathLike[str]) -> GcLogSummary:
    """Reads and summarises a log; raises what :func:`allocpool.gclog.read_gc_log` raises."""
    return summary_of(read_gc_log(path))


def summary_of(log: GcLog) -> GcLogSummary:
    """The summary of a log that was read already."""
    pauses, safepoints, stalls = log.outermost, log.safepoints, log.stalls[log.stalls["kind"] != "out of memory"]
    checked = self_check(log)
    pause_stops = _stops(pauses)
    return GcLogSummary(
        file=", ".join(map(str, log.parts)),
        collector=log.collector,
        jvm_version=log.jvm_version,
        clock=log.clock,
        span_ms=None if log.span_ns is None else (log.span_ns[1] - log.span_ns[0]) / 1e6,
        pauses=len(pauses),
        pause_total_ms=_total_ms(pauses["duration_ns"]),
        pause_mean_ms=_total_ms(pauses["duration_ns"]) / len(pauses) if len(pauses) else None,
        pause_p99_ms=float(pauses["duration_ns"].quantile(0.99)) / 1e6 if len(pauses) else None,
        pause_max_ms=_max_ms(pauses["duration_ns"]),
        pause_kinds=_kinds(log.pauses),
        nested=int(log.pauses["nested"].sum()),
        safepoints=len(safepoints),
        safepoint_total_ms=_total_ms(safepoints["duration_ns"]),
        safepoint_max_ms=_max_ms(safepoints["duration_ns"]),
        time_to_safepoint_total_ms=_total_ms(safepoints["reaching_ns"]),
        time_to_safepoint_max_ms=_max_ms(safepoints["reaching_ns"]),
        stalls=len(stalls),
        stall_total_ms=_total_ms(stalls["duration_ns"]),
        stall_max_ms=_max_ms(stalls["duration_ns"]),
        mmu_pauses=_mmu(log, pause_stops),
        mmu_stopped=_mmu(log, np.concatenate((pause_stops, _stops(safepoints)))),
        unread=log.unread_count,
        violations=checked.count,
        notes=tuple(_notes(log, checked.count)),
    )


def _kinds(pauses: pd.DataFrame) -> tuple[KindSummary, ...]:
    kinds = []
    for kind, rows in pauses.groupby("kind", sort=True):
        ms = rows["duration_ns"] / 1e6
        nested = int(rows["nested"].sum())
        p99 = float(ms.quantile(0.99))
        kinds.append(KindSummary(str(kind), len(rows), float(ms.sum()), float(ms.mean()), p99, float(ms.max()), nested))
    return tuple(kinds)


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
    notes = []
    if log.runs > 1:
        notes.append(f"run {log.run} of {log.runs} of a JVM, summed apart: the clock or the collections start again")
    if log.times_named > 1:
        notes.append(
            f"the collector is named {log.times_named} times: several JVMs may have written to this log at once"
        )
    if len(log.parts) > 1:
        notes.append(f"{len(log.parts)} parts of a rotated log were read as one, in the order of their time stamps")
    if log.apart:
        notes.append("read apart from the other files of its name: their time stamps or collections do not go on from "
                     "each other")  # fmt: skip
    if log.stripped.utf_16:
        notes.append("the text was UTF-16")
    if log.stripped.cut_short:
        notes.append("the compressed file was cut short, and read as far as it goes")
    if log.stripped.json_lines:
        notes.append(f"{log.stripped.json_lines} lines were JSON, of which the field log or message was read")
    if log.unread_count:
        notes.append(f"{log.unread_count} lines about stopped threads were not understood, the first is line "
                     f"{log.unread[0].number}: {log.unread[0].text}")  # fmt: skip
    if log.unfamiliar:
        notes.append(f"kinds of pauses that are not known here, counted all the same: {', '.join(log.unfamiliar)}")
    if log.text_before:
        notes.append(f"{log.text_before} lines have other text before their decorations, which was stripped")
    if log.repeated:
        notes.append(f"{log.repeated} lines stand a second time, as of a second output, and were counted once")
    if missing := log.missing_collections:
        notes.append(f"no line has {len(missing):,} numbers of collections, the first is GC({missing[0]}): the JVM "
                     "left them out, or lines were lost")  # fmt: skip
    if log.cut_tail is not None:
        notes.append(f"the log was cut in mid-line: {log.cut_tail}")
    if log.unfinished_pauses:
        notes.append(f"{log.unfinished_pauses} pauses start but do not end in this log")
    if violations:
        notes.append(f"{violations} lines contradict each other")
    if log.safepoints.empty:
        notes.append("no safepoints in this log, so the time to reach them is unknown: add safepoint to -Xlog")
    if log.pauses.empty and log.collector in ("zgc", "genzgc", "unknown"):
        notes.append("no pauses in this log: ZGC writes them with -Xlog:gc* only")
    if log.clock == "none":
        notes.append("the log has no time stamps: durations are known, times and utilisation are not")
    return notes


def _total_ms(durations_ns: pd.Series[int]) -> float:
    return float(durations_ns.sum()) / 1e6


def _max_ms(durations_ns: pd.Series[int]) -> float | None:
    return float(durations_ns.max()) / 1e6 if len(durations_ns) else None
