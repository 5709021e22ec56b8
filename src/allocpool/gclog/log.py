"""A garbage collection log as four tidy tables, and what must hold in each.

Times are whole nanoseconds on the log's own clock (see :attr:`GcLog.clock`); ``start_ns`` is missing where a log
carries no time stamps. Sizes are MiB, as HotSpot prints them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import islice, pairwise
from os import PathLike
from pathlib import Path
from typing import Any

import pandas as pd
import pandera.pandas as pa

from allocpool.errors import UserError
from allocpool.gclog.decorations import MONOTONIC_OR_UPTIME, UPTIME
from allocpool.gclog.reader import Facts, Records, UnreadLine, read_records

_PART = re.compile(r"(\.\d+)?(\.(gz|bz2|xz|zst))?$")
_OVERLAP_NS = 10**6
_MISSING_KEPT = 100_000  # a damaged number may be any

_CONCURRENT_KINDS = {
    "g1": {"Cleanup"},
    "cms": {"Initial Mark"},
    "zgc": {"Mark Start", "Mark End", "Relocate Start"},
    "shenandoah": {"Init Mark", "Final Mark", "Init Update Refs", "Final Update Refs", "Final Roots", "Degenerated GC"},
}

_TIMES = {
    "start_ns": pa.Column("Int64", nullable=True),
    "duration_ns": pa.Column("int64", pa.Check.ge(0)),
}
_SIZES = {
    f"heap_{which}_mb": pa.Column("float64", pa.Check.ge(0), nullable=True) for which in ("before", "after", "capacity")
}
_GC_ID = {"gc_id": pa.Column("Int64", pa.Check.ge(0), nullable=True)}
_TEXT = pa.Column("str")


def _schema(name: str, columns: dict[str, pa.Column]) -> pa.DataFrameSchema:
    return pa.DataFrameSchema(
        {"collector": _TEXT, **columns}, name=name, strict=True, ordered=True, index=pa.Index("int64")
    )


PAUSES = _schema(
    "pauses",
    {
        **_GC_ID,
        "kind": _TEXT,
        "cause": _TEXT,
        "generation": pa.Column("str", pa.Check.isin(["", "young", "old", "global"])),
        "trouble": _TEXT,
        **_TIMES,
        **_SIZES,
        "nested": pa.Column("bool"),
        "nested_in": pa.Column("Int64", nullable=True),
    },
)
SAFEPOINTS = _schema(
    "safepoints",
    {
        "operation": _TEXT,
        **_TIMES,
        "reaching_ns": pa.Column("int64", pa.Check.ge(0)),
        "cleanup_ns": pa.Column("Int64", nullable=True),
        "at_safepoint_ns": pa.Column("int64", pa.Check.ge(0)),
        "leaving_ns": pa.Column("Int64", nullable=True),
    },
)
STALLS = _schema(
    "stalls",
    {
        **_GC_ID,
        "kind": pa.Column("str", pa.Check.isin(["allocation", "relocation", "out of memory"])),
        "thread": _TEXT,
        **_TIMES,
    },
)
HEAP = _schema(
    "heap",
    {**_GC_ID, "event": _TEXT, "cause": _TEXT, "at_ns": pa.Column("Int64", nullable=True), **_SIZES},
)


@dataclass(kw_only=True)
class GcLog(Facts):
    """What one log reports.

    ``collector``: ``serial parallel cms g1 zgc genzgc shenandoah genshenandoah epsilon``, or ``unknown`` where
    neither the header nor the kinds of pauses say.

    ``pauses``: one row per stop-the-world pause; those with ``nested`` lie inside another one and must be left out
    of sums (:attr:`outermost`). ``safepoints``: every stop of the threads, collection or not: ``duration_ns`` from
    the request to the release, of it ``reaching_ns`` until the last thread stood. ``stalls``: single threads that
    waited for memory. ``heap``: the heap before and after.

    ``unread`` holds the first 100 lines that were not understood. ``unfamiliar``: kinds of pauses, counted, that are
    not known here. ``following_safepoint``: for each pause the row of the safepoint whose line comes next.
    ``missing_collections``: numbers between the first and the last that no line has, at most 100,000: left out by the
    JVM, or lines were lost. ``parts``: the files that were read as one, the oldest first; ``run`` of ``runs``: which of
    the runs of a JVM that they hold; ``apart``: given together with files that are named as parts of the same log, but
    are of another run.
    """

    path: Path
    collector: str
    pauses: pd.DataFrame
    safepoints: pd.DataFrame
    stalls: pd.DataFrame
    heap: pd.DataFrame
    unread: tuple[UnreadLine, ...]
    unfamiliar: tuple[str, ...]
    following_safepoint: tuple[int, ...]
    missing_collections: tuple[int, ...]
    parts: tuple[Path, ...]
    run: int
    runs: int
    apart: bool = False

    @property
    def outermost(self) -> pd.DataFrame:
        """The pauses that are not inside another: those that may be summed."""
        return self.pauses[~self.pauses["nested"]]


def read_gc_log(path: str | PathLike[str]) -> GcLog:
    """Reads a unified garbage collection log of JDK 11 to 27 of any collector and with any decorations.

    Compressed (gzip, bzip2, xz, zstd), UTF-16 and lines of JSON are unwrapped.

    Raises :class:`allocpool.errors.UserError` for a file that can't be read, is empty, is binary, comes from JDK 8,
    OpenJ9 or a native image, has nothing of a garbage collection log in it, or has several runs of a JVM.
    """
    first, *others = read_runs(path)
    if others:
        raise UserError(f"{path} holds {first.runs} runs of a JVM: sum them apart, as `allocpool gclog` does")
    return first


def read_runs(*paths: str | PathLike[str]) -> tuple[GcLog, ...]:
    """Reads each run of a JVM that a log holds, as :func:`read_gc_log`; ``paths`` are its parts, the oldest first."""
    parts = tuple(map(Path, paths))
    runs = read_records(*parts)
    return tuple(_log(records, parts, number, len(runs)) for number, records in enumerate(runs, start=1))


def join_parts(read: Mapping[Path, tuple[GcLog, ...]]) -> Iterator[GcLog]:
    """The runs of several files, those that are named as parts of one rotated log read as one where their times fit."""
    groups: dict[tuple[Path, str], list[Path]] = {}
    for file in read:  # ``gc.log.0.gz``, ``gc.log.1`` and ``gc.log`` are parts of one
        groups.setdefault((file.parent, _PART.sub("", file.name)), []).append(file)
    for group in groups.values():
        files = sorted(group, key=lambda file: read[file][0].span_ns or (0, 0))
        alone = [log for file in files for log in read[file]]
        if len(files) == 1:
            yield from alone
        elif len(files) == len(alone) and all(_follows(*pair) for pair in pairwise(alone)):
            yield from read_runs(*files)
        else:
            yield from (replace(log, apart=True) for log in alone)


def _follows(earlier: GcLog, later: GcLog) -> bool:
    """Whether a file can go on where another ends; an uptime is that of one run, so collections number on."""
    same_clock = earlier.clock == later.clock or MONOTONIC_OR_UPTIME in (earlier.clock, later.clock)
    if earlier.span_ns is None or later.span_ns is None or not same_clock:
        return False
    numbers = [log.pauses["gc_id"].max() for log in (earlier, later) if log.pauses["gc_id"].notna().any()]
    restarts = later.clock in (UPTIME, MONOTONIC_OR_UPTIME) and len(numbers) == 2 and numbers[1] <= numbers[0]
    return later.span_ns[0] >= earlier.span_ns[1] - _OVERLAP_NS and not restarts


def _log(records: Records, parts: tuple[Path, ...], run: int, runs: int) -> GcLog:
    collector = _collector(records)
    facts = {each.name: getattr(records, each.name) for each in fields(Facts)} | {"span_ns": _span(records)}
    rows: dict[str, Any] = {
        schema.name: _table(schema, getattr(records, str(schema.name)), collector)
        for schema in (PAUSES, SAFEPOINTS, STALLS, HEAP)
    }
    numbers = pairwise(sorted(records.collection_ids))
    gaps = (number for before, after in numbers for number in range(before + 1, after))
    return GcLog(
        path=parts[0], collector=collector, parts=parts, run=run, runs=runs, unread=tuple(records.unread),
        unfamiliar=tuple(sorted(records.unfamiliar)), following_safepoint=tuple(records.following_safepoint),
        missing_collections=tuple(islice(gaps, _MISSING_KEPT)), **facts, **rows,
    )  # fmt: skip


def _table(schema: pa.DataFrameSchema, rows: Sequence[tuple[object, ...]], collector: str) -> pd.DataFrame:
    """The rows (every column of the schema but ``collector``, in its order) as a table of the schema's dtypes.

    It is not validated: that takes several times as long as reading a log, and campaigns have hundreds. The reader's
    patterns let nothing else through, and tests hold the schemas against every kind of log.
    """
    names = list(schema.columns)[1:]
    values = list(zip(*rows, strict=True)) if rows else [()] * len(names)
    columns = {"collector": pd.Series([collector] * len(rows), dtype="str")}
    for name, column in zip(names, values, strict=True):
        columns[name] = pd.Series(list(column), dtype=str(schema.columns[name].dtype))
    return pd.DataFrame(columns)


def _collector(records: Records) -> str:
    """The collector the header names; for a log without its beginning, the one its pauses betray."""
    name = records.collector_named or records.young_collector
    if name is None:
        kinds = {str(row[1]) for row in records.pauses}
        events = {str(row[1]) for row in records.heap}
        name = next((one for one, signs in _CONCURRENT_KINDS.items() if kinds & signs), None)
        if any(kind.startswith("Young (") for kind in kinds):
            name = "g1"
        elif name is None and any(event.endswith(" Collection") for event in events):
            name = "zgc"
    if name in ("zgc", "shenandoah") and records.generational:
        return f"gen{name}"
    return name or "unknown"


def _span(records: Records) -> tuple[int, int] | None:
    """From the first to the last time stamp, and to the start of a pause that began before the first line."""
    if records.span_ns is None:
        return None
    begin_ns, end_ns = records.span_ns
    starts = [row[5] for row in records.pauses[:1]] + [row[1] for row in records.safepoints[:1]]
    return min([begin_ns, *(start for start in starts if isinstance(start, int))]), end_ns
