"""Tidy tables of the stream study: trials, searches and their probes, switches; latencies in milliseconds.

A latency is reported twice: from the end of a window to the first of its results, as published, and to the last. A
pipeline that fell behind has none: how late its results are depends on how long it ran.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
from pandera.pandas import Column, DataFrameSchema

from allocpool import percentiles
from allocpool.campaign.tidy import (
    COUNT,
    GC_COLUMNS,
    POSITIVE,
    TRIAL_COLUMNS,
    TRIAL_ID,
    Row,
    Rows,
    Trial,
    choice,
    frames,
    gc_row,
    number,
    read_trial,
    text,
    trial_row,
    whole,
)
from allocpool.percentiles import TAILS
from allocpool.percentiles import samples_needed as windows_needed
from allocpool.runtimes.collectors import collector_named
from allocpool.runtimes.threads import APPLICATION, GC, JIT, OTHER, cpu_ns_by_group
from allocpool.studies.stream.latency import catch_up_ms, kept_up
from allocpool.studies.stream.measurement import (
    StreamMeasurement,
    StreamSearchMeasurement,
    StreamSwitchMeasurement,
)
from allocpool.studies.stream.specs import (
    AGGREGATES,
    ANSWERS,
    PROCESSORS,
    SOURCES,
    SWITCHES,
    StreamSearchSpec,
    StreamSpec,
)
from allocpool.trial.record import TrialRecord
from allocpool.trial.stops import stops_of

_GROUPS = (APPLICATION, GC, JIT, OTHER)
_GC_THREADS = ("parallel_gc_threads", "concurrent_gc_threads")
"""As asked for; what is in force has columns of these names."""
_YOUNG = "Young"
"""How the kinds of young collections begin, in the logs of those that stop for them."""


def column_of(percentile: str) -> str:
    """Return the column of a percentile, as ``p99_99_ms``."""
    return f"{percentile.replace('.', '_')}_ms"


_PIPELINE = {
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
    "aggregate": choice(AGGREGATES, "whether counting allocates (boxed) or not"),
    "processors": choice(PROCESSORS, "on shared threads, or one thread each"),
    "cooperative_threads": Column("int64", POSITIVE, description="threads shared by the processors"),
    "sources": choice(SOURCES, "as many as threads, or one"),
    "seconds": Column("float64", POSITIVE, description="measured, s"),
}
TRIALS = DataFrameSchema(
    {
        **TRIAL_COLUMNS,
        **_PIPELINE,
        "parallel_gc_threads": whole("-XX:ParallelGCThreads in force"),
        "concurrent_gc_threads": whole("-XX:ConcGCThreads in force"),
        "hiccup_ms": Column("int64", COUNT, description="so long all sources were held once, ms"),
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
        **GC_COLUMNS,
    },
    strict=True,
    coerce=True,
)
_RATE = "events each second"
SEARCHES = DataFrameSchema(
    {
        **TRIAL_COLUMNS,
        **_PIPELINE,
        "target_ms": Column("float64", POSITIVE, description="latency to hold at the tail, ms"),
        "held": choice(ANSWERS, "the latency to which result of a window"),
        "resolution": Column("float64", POSITIVE, description="width of the bracket over its lower end"),
        "confirmations": Column("int64", POSITIVE, description="probes that a rate must hold in"),
        "low_events_per_second": Column("int64", POSITIVE, description=f"the lowest rate tried, {_RATE}"),
        "high_events_per_second": Column("int64", POSITIVE, description=f"the highest rate tried, {_RATE}"),
        "tail": text("the percentile that was held: the highest that a probe's windows allow", nullable=True),
        "holds_events_per_second": whole(f"highest rate that held, {_RATE}; none: none did", POSITIVE),
        "fails_events_per_second": whole(f"lowest rate that did not, {_RATE}; none: all held", POSITIVE),
        "holds_items_per_second": number("the same, input and output, items/s", POSITIVE),
        "fails_items_per_second": number("the same, input and output, items/s", POSITIVE),
        "probes": whole("jobs that the search took"),
        "search_seconds": number("the search, s", POSITIVE),
        "peak_rss_mb": number("peak resident memory, MiB"),
    },
    strict=True,
    coerce=True,
)
PROBES = DataFrameSchema(
    {
        "trial_id": text("search that the probe belongs to"),
        "number": Column("int64", COUNT, description="its place in the search, from 0"),
        "events_per_second": Column("int64", POSITIVE, description=_RATE),
        "kept_up": Column("boolean", description="whether the pipeline kept up"),
        "tail_ms": number("latency to the last result at the tail where it kept up, ms"),
        "first_tail_ms": number("latency to the first result there, ms"),
        "holds": Column("boolean", description="whether that is within the target"),
        "windows": Column("int64", COUNT, description="measured windows"),
        "probe_seconds": Column("float64", POSITIVE, description="with start and end of the engine, s"),
    },
    strict=True,
    coerce=True,
)
SWITCH_ROWS = DataFrameSchema(
    {
        **TRIAL_COLUMNS,
        "trial_id": TRIAL_ID,
        "configuration": text("collector and runtime"),
        "runtime": Column("int64", POSITIVE, description="Java feature release"),
        "collector": text("garbage collector"),
        "parties": Column("int64", POSITIVE, description="that took turns on one processor"),
        "way": choice(("empty", *SWITCHES), "what took turns; empty: two readings of the clock", nullable=True),
        "p10_ns": number("10th percentile of the time from one turn to the next, ns"),
        "p50_ns": number("their median, ns"),
        "p90_ns": number("their 90th percentile, ns"),
    },
    strict=True,
    coerce=True,
)
SCHEMAS = {"trials": TRIALS, "searches": SEARCHES, "probes": PROBES, "switches": SWITCH_ROWS}


def label(collector: str, runtime: int) -> str:
    """Return collector and runtime, as tables and plots print them."""
    return f"{collector_named(collector).label} / {runtime}"


def _stated(record: TrialRecord, schema: DataFrameSchema) -> Row:
    """The columns that follow from a trial's spec."""
    spec = record.spec
    return {
        **{name: spec[name] for name in schema.columns if name in spec}, **trial_row(record),
        **dict.fromkeys(_GC_THREADS), **{f"asked_{name}": spec.get(name) for name in _GC_THREADS},
        "configuration": label(spec["collector"], spec["runtime"]), "cores": record.host.logical_cores,
    }  # fmt: skip


def trial_columns(trial: Trial[StreamMeasurement]) -> Row:
    """Return the row of one trial in table ``trials``."""
    record, measured = trial.record, trial.measurement
    stated = StreamSpec(**record.spec)
    row = {
        **_stated(record, TRIALS), "offered_items_per_second": stated.offered_items(stated.events_per_second),
    }  # fmt: skip
    if measured is None:
        return row
    window_ns = (measured["start_ns"], measured["end_ns"])
    seconds = (window_ns[1] - window_ns[0]) / 1e9
    cpu, lag_ns, latencies_ns = measured["cpu"], measured["source_lag_ns"], measured["latencies_ns"]
    groups = cpu_ns_by_group(cpu["threads"], cpu["process_ns"])
    row |= {
        "kept_up": kept_up(measured, stated.late_ms), "windows": len(latencies_ns),
        "parallel_gc_threads": measured["vm_options"]["ParallelGCThreads"],
        "concurrent_gc_threads": measured["vm_options"]["ConcGCThreads"],
        "allocated_mb_per_s": max(0, measured["allocated_bytes"]) / 2**20 / seconds,
        "peak_rss_mb": measured["peak_rss_mb"], "source_lag_ms": None if lag_ns is None else lag_ns / 1e6,
        **{f"cpu_{name}": groups[name] / (cpu["end_ns"] - cpu["start_ns"]) for name in _GROUPS},
        "young_per_s": _young_per_s(record, *window_ns), **gc_row(record, *window_ns),
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


def cost_of(record: TrialRecord) -> float | None:
    """Return the processor time of an event, ns, whatever thread took it; None where the pipeline did not keep up, or
    there is no one rate."""
    if record.spec["mode"] != "stream":
        return None
    measured = read_trial(record, StreamMeasurement).measurement
    if measured is None or not kept_up(measured, record.spec["late_ms"]):
        return None
    cpu = measured["cpu"]
    events = (cpu["end_ns"] - cpu["start_ns"]) / 1e9 * record.spec["events_per_second"]
    return float(cpu["process_ns"] / events)


def _young_per_s(record: TrialRecord, start_ns: int, end_ns: int) -> float | None:
    stops = stops_of(record)
    if stops is None:
        return None
    young = [stop for stop in stops.pauses if stop.kind.startswith(_YOUNG) and start_ns <= stop.start_ns < end_ns]
    return len(young) / (end_ns - start_ns) * 1e9


def search_columns(trial: Trial[StreamSearchMeasurement]) -> Row:
    """Return the row of one search in table ``searches``."""
    measured, stated = trial.measurement, StreamSearchSpec(**trial.record.spec)
    row = _stated(trial.record, SEARCHES)
    if measured is None:
        return row
    ends = {"holds": measured["holds_events_per_second"], "fails": measured["fails_events_per_second"]}
    return {
        **row, **{f"{end}_events_per_second": rate for end, rate in ends.items()},
        **{f"{end}_items_per_second": rate and stated.offered_items(rate) for end, rate in ends.items()},
        "tail": max((probe["tail"] for probe in measured["probes"] if probe["tail"]), default=None),
        "probes": len(measured["probes"]), "search_seconds": (measured["end_ns"] - measured["start_ns"]) / 1e9,
        "peak_rss_mb": measured["peak_rss_mb"],
    }  # fmt: skip


def probe_rows(trial: Trial[StreamSearchMeasurement]) -> list[Row]:
    """Return the rows of one search in table ``probes``."""
    probes = trial.measurement["probes"] if trial.measurement else ()
    return [
        {**probe, "trial_id": trial.record.trial_id, "number": place, "probe_seconds": probe["wall_s"]}
        for place, probe in enumerate(probes)
    ]


def switch_rows(trial: Trial[StreamSwitchMeasurement]) -> list[Row]:
    """Return the rows of one trial in table ``switches``; one without a way where it measured nothing."""
    shared = _stated(trial.record, SWITCH_ROWS)
    return [{**shared, **switch} for switch in trial.measurement["switches"]] if trial.measurement else [shared]


def _rows_of(record: TrialRecord) -> Rows:
    if record.spec["mode"] == "stream":
        return {"trials": [trial_columns(read_trial(record, StreamMeasurement))]}
    if record.spec["mode"] == "stream_switch":
        return {"switches": switch_rows(read_trial(record, StreamSwitchMeasurement))}
    search = read_trial(record, StreamSearchMeasurement)
    return {"searches": [search_columns(search)], "probes": probe_rows(search)}


def tidy_stream(records: Sequence[TrialRecord]) -> dict[str, pd.DataFrame]:
    """Return tables ``trials``, ``searches``, ``probes`` and ``switches``."""
    return frames(records, _rows_of, SCHEMAS)


def summarise_stream(record: TrialRecord) -> dict[str, Any]:
    """Return the row of a trial, with its percentiles as ``first_latency_ms`` (to the first result of a window) and
    ``latency_ms`` (to its last)."""
    trial = read_trial(record, StreamMeasurement)
    row = trial_columns(trial)
    spec = StreamSpec(**record.spec)
    for name, prefix in {"first_latency_ms": "first_", "latency_ms": ""}.items():
        columns = {percentile: f"{prefix}{column_of(percentile)}" for percentile in (*TAILS, "max")}
        values = {percentile: row.pop(column, None) for percentile, column in columns.items()}
        row[name] = values if row.get("kept_up") else None
    missing = [name for name, percentile in TAILS.items() if spec.windows < windows_needed(percentile)]
    row["too_few_windows_for"] = {name: f"seconds={spec.seconds_for(TAILS[name]):g}" for name in missing}
    return row


def summarise_stream_search(record: TrialRecord) -> dict[str, Any]:
    """Return the row of a search, and its ``probes``."""
    search = read_trial(record, StreamSearchMeasurement)
    return {**search_columns(search), "probes": probe_rows(search)}


def summarise_stream_switch(record: TrialRecord) -> dict[str, Any]:
    """Return what a switch takes: a row for each way, and ``empty``, the clock's own."""
    return {"switches": switch_rows(read_trial(record, StreamSwitchMeasurement))}
