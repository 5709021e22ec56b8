"""Tidy tables of the stream study: one row per trial, latencies of window ends in milliseconds.

A pipeline that fell behind has no latency: how late its results are says how long it ran, not how it answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from pandera.pandas import Check, Column, DataFrameSchema

from allocpool.machine.threads import APPLICATION, GC, JIT, OTHER, cpu_ns_by_group
from allocpool.record import TrialRecord
from allocpool.runtimes.collectors import COLLECTORS
from allocpool.specs.stream import AGGREGATES, PERCENTILES, PROCESSORS, StreamSpec, windows_needed
from allocpool.tidy import COUNT, GC_COLUMNS, POSITIVE, TRIAL_COLUMNS, frame, gc_row, text, trial_row

_GROUPS = (APPLICATION, GC, JIT, OTHER)
_ASKED = (
    "runtime", "collector", "heap_mb", "pause_target_ms", "new_size_mb", "events_per_second", "keys", "window_ms",
    "slide_ms", "aggregate", "processors", "cooperative_threads", "seconds",
)  # fmt: skip


def _maybe(check: Check, description: str, whole: bool = False) -> Column:
    return Column("Int64" if whole else "Float64", check, nullable=True, description=description)


def column_of(percentile: str) -> str:
    """The column of a percentile, as ``p99_99_ms``."""
    return f"{percentile.replace('.', '_')}_ms"


SCHEMA = DataFrameSchema(
    {
        **TRIAL_COLUMNS,
        "solution": text("collector and runtime"),
        "runtime": Column("int64", POSITIVE, description="Java feature release"),
        "collector": text("garbage collector"),
        "heap_mb": Column("int64", POSITIVE, description="heap, MiB"),
        "pause_target_ms": _maybe(POSITIVE, "-XX:MaxGCPauseMillis", whole=True),
        "new_size_mb": _maybe(POSITIVE, "-XX:MaxNewSize, MiB", whole=True),
        "parallel_gc_threads": _maybe(COUNT, "-XX:ParallelGCThreads in force", whole=True),
        "concurrent_gc_threads": _maybe(COUNT, "-XX:ConcGCThreads in force", whole=True),
        "cores": Column("int64", POSITIVE, description="processors of the machine"),
        "events_per_second": Column("int64", POSITIVE, description="events due each second"),
        "keys": Column("int64", POSITIVE, description="keys"),
        "window_ms": Column("int64", POSITIVE, description="length of a window, ms"),
        "slide_ms": Column("int64", POSITIVE, description="from window to window, ms"),
        "aggregate": Column("string", Check.isin(AGGREGATES), description="whether counting allocates (boxed) or not"),
        "processors": Column("string", Check.isin(PROCESSORS), description="on shared threads, or one thread each"),
        "cooperative_threads": Column("int64", POSITIVE, description="threads shared by the processors"),
        "seconds": Column("float64", POSITIVE, description="measured, s"),
        "offered_items_per_second": Column("float64", POSITIVE, description="input and output asked for, items/s"),
        "items_per_second": _maybe(COUNT, "input and output of the measured windows, items/s, where it kept up"),
        "kept_up": Column("boolean", nullable=True, description="whether the pipeline kept up with its events"),
        "source_lag_ms": _maybe(COUNT, "how late the last event left its source, ms"),
        "windows": _maybe(COUNT, "measured windows: independent latencies", whole=True),
        **{column_of(name): _maybe(COUNT, f"{name} of the latencies of window ends, ms") for name in PERCENTILES},
        "max_ms": _maybe(COUNT, "the largest of them, ms"),
        "first_p50_ms": _maybe(COUNT, "p50 to the first result of a window instead of the last, ms"),
        "tail": text("the highest percentile that so many windows allow", nullable=True),
        "tail_ms": _maybe(COUNT, "the latency there, ms"),
        "allocated_mb_per_s": _maybe(COUNT, "memory allocated by all Java threads, MiB/s"),
        **{f"cpu_{name}": _maybe(COUNT, f"processors kept busy by {name} threads") for name in _GROUPS},
        "peak_rss_mb": _maybe(COUNT, "peak resident memory, MiB"),
        **GC_COLUMNS,
    },
    strict=True,
)
SCHEMAS = {"trials": SCHEMA}


def label(collector: str, runtime: int) -> str:
    """Collector and runtime, as tables and plots print them."""
    return f"{COLLECTORS[collector].label} / {runtime}"


def latencies_ms(measured: dict[str, Any]) -> dict[str, float | None]:
    """Percentiles of the latencies of complete result sets; None where the windows are too few for one."""
    values = np.sort(np.asarray(measured["latencies_ns"], dtype=float)) / 1e6
    found: dict[str, float | None] = {
        name: float(values[min(len(values) - 1, int(np.ceil(len(values) * percentile / 100)) - 1)])
        if len(values) >= windows_needed(percentile)
        else None
        for name, percentile in PERCENTILES.items()
    }
    return {**found, "max": float(values[-1]) if len(values) else None}


def kept_up(spec: dict[str, Any], measured: dict[str, Any]) -> bool:
    """Whether the last event left its source in time, and the windows at the end came out in time."""
    if measured["gave_up"] or not measured["latencies_ns"]:
        return False
    last = measured["latencies_ns"][-max(1, len(measured["latencies_ns"]) // 10) :]
    return max(float(measured["source_lag_ns"]), float(np.median(last))) <= float(spec["late_ms"]) * 1e6


def trial_columns(record: TrialRecord) -> dict[str, Any]:
    """One row of table ``trials``."""
    spec, measured = record.spec, record.measurement
    stated = StreamSpec(**spec)
    row = {
        **trial_row(record), **{name: spec[name] for name in _ASKED},
        "solution": label(spec["collector"], spec["runtime"]), "cores": record.host.logical_cores,
        "offered_items_per_second": stated.offered_items_per_second,
    }  # fmt: skip
    if not measured or "latencies_ns" not in measured:
        return row
    seconds = (measured["end_ns"] - measured["start_ns"]) / 1e9
    groups = cpu_ns_by_group(measured["cpu"]["threads"], measured["cpu"]["process_ns"])
    cpu_s = (measured["cpu"]["end_ns"] - measured["cpu"]["start_ns"]) / 1e9
    row |= {
        "kept_up": kept_up(spec, measured), "parallel_gc_threads": measured["vm_options"]["ParallelGCThreads"],
        "concurrent_gc_threads": measured["vm_options"]["ConcGCThreads"],
        "allocated_mb_per_s": max(0, measured["allocated_bytes"]) / 2**20 / seconds,
        "peak_rss_mb": measured["peak_rss_mb"], "windows": len(measured["latencies_ns"]),
        "source_lag_ms": None if measured["source_lag_ns"] is None else measured["source_lag_ns"] / 1e6,
        **{f"cpu_{name}": groups[name] / 1e9 / cpu_s for name in _GROUPS},
        **gc_row(record, measured["start_ns"], measured["end_ns"]),
    }  # fmt: skip
    if not row["kept_up"]:
        return row
    found = latencies_ms(measured)
    tail = [name for name in PERCENTILES if found[name] is not None]
    return {
        **row, **{column_of(name): value for name, value in found.items()},
        "tail": tail[-1] if tail else None, "tail_ms": found[tail[-1]] if tail else None,
        "first_p50_ms": max(0.0, float(np.median(measured["firsts_ns"])) / 1e6),
        "items_per_second": spec["events_per_second"] + measured["measured_results"] / seconds,
    }  # fmt: skip


def tidy_stream(records: Sequence[TrialRecord]) -> dict[str, pd.DataFrame]:
    """Table ``trials``."""
    return {"trials": frame([trial_columns(record) for record in records], SCHEMA)}


def summarise_stream(record: TrialRecord) -> dict[str, Any]:
    """A stream trial: ``kept_up``, ``items_per_second``, ``windows``, ``latency_ms``, and the rest of its row."""
    row = trial_columns(record)
    for name in ("max_ms", *(column_of(name) for name in PERCENTILES)):
        row.pop(name, None)
    spec, measured = StreamSpec(**record.spec), record.measurement or {}
    row["latency_ms"] = latencies_ms(measured) if row.get("kept_up") else None
    missing = [name for name, percentile in PERCENTILES.items() if spec.windows < windows_needed(percentile)]
    row["too_few_windows_for"] = {name: f"seconds={spec.seconds_for(PERCENTILES[name]):g}" for name in missing}
    return row
