"""Tidy tables of the stream study: trials and switches; latencies in milliseconds.

A latency is reported twice: from the end of a window to the first of its results, as published, and to the last. A
pipeline that fell behind has none: how late its results are depends on how long it ran.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from statistics import median
from typing import get_args

import pandas as pd
from pandera.pandas import Column, DataFrameSchema

from allocpool import percentiles
from allocpool.campaign import tidy
from allocpool.campaign.tidy import COUNT, POSITIVE, Row, choice, number, read_trial, text, whole
from allocpool.percentiles import TAILS
from allocpool.runtimes.collectors import collector_named
from allocpool.runtimes.threads import APPLICATION, GC, JIT, OTHER, cpu_ns_by_group
from allocpool.studies.realtime.adaptive import Seen
from allocpool.studies.stream import specs
from allocpool.studies.stream.measurement import StreamMeasurement, StreamSwitchMeasurement
from allocpool.trial.record import TrialRecord
from allocpool.trial.stops import stops_of

_GROUPS = (APPLICATION, GC, JIT, OTHER)
_GC_THREADS = ("parallel_gc_threads", "concurrent_gc_threads")
"""As asked for; what is in force has columns of these names."""


def column_of(percentile: str) -> str:
    """Return the column of a percentile, as ``p99_99_ms``."""
    return f"{percentile.replace('.', '_')}_ms"


_table = partial(DataFrameSchema, strict=True, coerce=True)

TRIALS = _table({
    **tidy.TRIAL_COLUMNS,
    "configuration": text("collector and runtime"),
    "runtime": Column("int64", POSITIVE, description="Java feature release"),
    "collector": text("garbage collector"),
    "heap_mb": Column("int64", POSITIVE, description="heap, MiB"),
    "pause_target_ms": whole("-XX:MaxGCPauseMillis", POSITIVE),
    "new_size_mb": whole("-XX:MaxNewSize, MiB; none: the JVM's choice", POSITIVE),
    "asked_parallel_gc_threads": whole("-XX:ParallelGCThreads asked for; none: the JVM's choice", POSITIVE),
    "asked_concurrent_gc_threads": whole("-XX:ConcGCThreads asked for; none: the JVM's choice", POSITIVE),
    "cores": Column("int64", POSITIVE, description="processors of the machine"),
    "keys": Column("int64", POSITIVE, description="keys"),
    "window_ms": Column("int64", POSITIVE, description="length of a window, ms"),
    "slide_ms": Column("int64", POSITIVE, description="from window to window, ms"),
    "aggregate": choice(get_args(specs.Aggregate), "whether counting allocates (boxed) or not"),
    "processors": choice(get_args(specs.Processors), "on shared threads, or one thread each"),
    "cooperative_threads": Column("int64", POSITIVE, description="threads shared by the processors"),
    "sources": choice(get_args(specs.Sources), "as many as threads, or one"),
    "seconds": Column("float64", POSITIVE, description="measured, s"),
    "parallel_gc_threads": whole("-XX:ParallelGCThreads in force"),
    "concurrent_gc_threads": whole("-XX:ConcGCThreads in force"),
    "hiccup_ms": Column("int64", COUNT, description="so long all sources were held once, ms"),
    "target_ms": number("of adaptive trials the latency to hold at the tail, ms", POSITIVE),
    "events_per_second": Column("int64", POSITIVE, description="events due each second"),
    "offered_items_per_second": Column("float64", POSITIVE, description="input and output asked for, items/s"),
    "items_per_second": number("input and output of the measured windows, items/s, where it kept up"),
    "kept_up": Column("boolean", nullable=True, description="whether the pipeline kept up with its events"),
    "source_lag_ms": number("how late the last event left its source, ms"),
    "windows": whole("measured windows: independent latencies"),
    **{column_of(name): number(f"{name} of the latencies to the last result of a window, ms") for name in TAILS},
    "max_ms": number("the largest of them, ms"),
    **{f"first_{column_of(name)}": number(f"{name} of those to the first result, ms") for name in TAILS},
    "first_max_ms": number("the largest of them, ms"),
    "tail": text("the highest percentile that so many windows allow", nullable=True),
    "tail_ms": number("the latency to the last result there, ms"),
    "first_tail_ms": number("the latency to the first result there, ms"),
    "catch_up_ms": number("from the end of the hiccup to a window as soon out as before, ms"),
    "allocated_mb_per_s": number("memory allocated by all Java threads, MiB/s"),
    **{f"cpu_{name}": number(f"processors kept busy by {name} threads") for name in _GROUPS},
    "peak_rss_mb": number("peak resident memory, MiB"),
    "young_per_s": number("young collections that stop the program, in a second"),
    **tidy.GC_COLUMNS,
})  # fmt: skip
SWITCH_ROWS = _table({
    **tidy.TRIAL_COLUMNS,
    "trial_id": tidy.TRIAL_ID,
    "configuration": text("collector and runtime"),
    "runtime": Column("int64", POSITIVE, description="Java feature release"),
    "collector": text("garbage collector"),
    "parties": Column("int64", POSITIVE, description="that took turns on one processor"),
    "way": choice(
        ("empty", *get_args(specs.Switching)), "what took turns; empty: two readings of the clock", nullable=True
    ),
    "p10_ns": number("10th percentile of the time from one turn to the next, ns"),
    "p50_ns": number("their median, ns"),
    "p90_ns": number("their 90th percentile, ns"),
})  # fmt: skip
SCHEMAS = {"trials": TRIALS, "switches": SWITCH_ROWS}


def label(collector: str, runtime: int) -> str:
    """Return collector and runtime, as tables and plots print them."""
    return f"{collector_named(collector).label} / {runtime}"


def _stated(record: TrialRecord, schema: DataFrameSchema) -> Row:
    spec = record.spec
    return {
        **tidy.pick(schema.columns, spec), **tidy.trial_row(record),
        **dict.fromkeys(_GC_THREADS), **{f"asked_{name}": spec.get(name) for name in _GC_THREADS},
        "configuration": label(spec["collector"], spec["runtime"]), "cores": record.host.logical_cores,
    }  # fmt: skip


def kept_up(measured: StreamMeasurement, late_ms: float) -> bool:
    """Return whether the last event left its source in time, and the windows at the end came out in time."""
    latencies_ns, lag_ns = measured["latencies_ns"], measured["source_lag_ns"]
    if measured["gave_up"] or lag_ns is None or not latencies_ns:
        return False
    at_the_end = latencies_ns[-max(1, len(latencies_ns) // 10) :]
    return max(float(lag_ns), float(median(at_the_end))) <= late_ms * 1e6


def catch_up_ms(latencies_ns: Sequence[int], slide_ms: int, from_window: int, hiccup_ms: int) -> float | None:
    """Return how long after the end of a hiccup the first window came out within a slide of the median before it, ms;
    None where no window did. ``from_window``: the place of the first window whose events the hiccup held."""
    before_ns = latencies_ns[:from_window]
    if not before_ns:
        return None
    usual_ns = median(before_ns) + slide_ms * 1e6
    over = from_window + -(-hiccup_ms // slide_ms) - 1
    for place in range(over, len(latencies_ns)):
        if latencies_ns[place] <= usual_ns:
            came_ms = (place - from_window + 1) * slide_ms + latencies_ns[place] / 1e6
            return max(0.0, came_ms - hiccup_ms)
    return None


def summarise_stream(record: TrialRecord) -> Row:
    """Return the row of one trial in table ``trials``."""
    measured = read_trial(record, StreamMeasurement).measurement
    stated = specs.StreamSpec(**record.spec)
    row = {**_stated(record, TRIALS), "offered_items_per_second": stated.offered_items}
    if measured is None:
        return row
    window_ns = (measured["start_ns"], measured["end_ns"])
    seconds = (window_ns[1] - window_ns[0]) / 1e9
    cpu, lag_ns, latencies_ns = measured["cpu"], measured["source_lag_ns"], measured["latencies_ns"]
    stops = stops_of(record)
    young = [stop for stop in stops.pauses if stop.kind.startswith("Young")] if stops else None
    inside = [stop for stop in young or () if window_ns[0] <= stop.start_ns < window_ns[1]]
    groups = cpu_ns_by_group(cpu["threads"], cpu["process_ns"])
    row |= {
        "kept_up": kept_up(measured, stated.late_ms), "windows": len(latencies_ns),
        "parallel_gc_threads": measured["vm_options"]["ParallelGCThreads"],
        "concurrent_gc_threads": measured["vm_options"]["ConcGCThreads"],
        "allocated_mb_per_s": max(0, measured["allocated_bytes"]) / 2**20 / seconds,
        "peak_rss_mb": measured["peak_rss_mb"], "source_lag_ms": None if lag_ns is None else lag_ns / 1e6,
        **{f"cpu_{name}": groups[name] / (cpu["end_ns"] - cpu["start_ns"]) for name in _GROUPS},
        "young_per_s": None if young is None else len(inside) / seconds, **tidy.gc_row(record, *window_ns),
    }  # fmt: skip
    if not row["kept_up"]:
        return row
    firsts_ns = [max(1, ns) for ns in measured["firsts_ns"]]
    for prefix, of in (("", latencies_ns), ("first_", firsts_ns)):
        found = percentiles.nearest_rank_percentiles_ms(of)
        row |= {f"{prefix}{column_of(name)}": value for name, value in found.items()}
        row["tail"], row[f"{prefix}tail_ms"] = percentiles.tail_ms(of)
    if stated.hiccup_ms:
        place = (stated.hiccup_from_ms - stated.warmup_ms) // stated.slide_ms
        row["catch_up_ms"] = catch_up_ms(latencies_ns, stated.slide_ms, place, stated.hiccup_ms)
    return {**row, "items_per_second": stated.events_per_second + measured["measured_results"] / seconds}


def cost_of(record: TrialRecord) -> float | Seen | None:
    """Return the processor time of an event, ns, whatever thread took it, or what an adaptive trial shows; None where
    the pipeline did not keep up, or there is no rate."""
    if record.spec["mode"] != "stream":
        return None
    if record.spec["target_ms"] is not None:
        return seen_in(record)
    measured = read_trial(record, StreamMeasurement).measurement
    if measured is None or not kept_up(measured, record.spec["late_ms"]):
        return None
    cpu = measured["cpu"]
    events = (cpu["end_ns"] - cpu["start_ns"]) / 1e9 * record.spec["events_per_second"]
    return float(cpu["process_ns"] / events)


def seen_in(record: TrialRecord) -> Seen | None:
    """Return what an adaptive trial shows of the smallest time between events: whether its windows missed the
    target."""
    measured, spec = read_trial(record, StreamMeasurement).measurement, record.spec
    if measured is None:
        return None
    first_ms = percentiles.tail_ms(measured["firsts_ns"])[1] if kept_up(measured, spec["late_ms"]) else None
    missed = first_ms is None or first_ms > spec["target_ms"]
    latest_ms = math.inf if missed else math.nan
    return Seen(0, 1e9 / spec["events_per_second"], spec["target_ms"], latest_ms, 0.0, float(missed))


def summarise_stream_switch(record: TrialRecord) -> dict[str, list[Row]]:
    """Return ``switches``, what a switch takes: a row for each way, and ``empty``, the clock's own; one without a way
    where the trial measured nothing."""
    shared, measured = _stated(record, SWITCH_ROWS), read_trial(record, StreamSwitchMeasurement).measurement
    return {"switches": [{**shared, **switch} for switch in measured["switches"]] if measured else [shared]}


def tidy_stream(records: Sequence[TrialRecord]) -> dict[str, pd.DataFrame]:
    """Return tables ``trials`` and ``switches``."""

    def rows_of(record: TrialRecord) -> tidy.Rows:
        if record.spec["mode"] == "stream":
            return {"trials": [summarise_stream(record)]}
        return summarise_stream_switch(record)

    return tidy.frames(records, rows_of, SCHEMAS)
