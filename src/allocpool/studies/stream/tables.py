"""Tidy tables of the stream study: trials, searches and their probes, switches; latencies in milliseconds.

A latency is reported twice: from the end of a window to the first of its results, as published, and to the last.

A pipeline that fell behind has no latency: how late its results are says how long it ran, not how it answers.
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

_SEARCHED = ("target_ms", "held", "resolution", "confirmations", "low_events_per_second", "high_events_per_second")
_GROUPS = (APPLICATION, GC, JIT, OTHER)
_ASKED = (
    "runtime", "collector", "heap_mb", "pause_target_ms", "new_size_mb", "keys", "window_ms", "slide_ms",
    "aggregate", "processors", "cooperative_threads", "sources", "seconds",
)  # fmt: skip
_GC_THREADS = ("parallel_gc_threads", "concurrent_gc_threads")
"""As asked for; what is in force has columns of these names."""
_YOUNG = "Young"
"""How the kinds of young collections begin, in the logs of those that stop for them."""


def column_of(percentile: str) -> str:
    """The column of a percentile, as ``p99_99_ms``."""
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
        "search_seconds": number("the whole search, s", POSITIVE),
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
    """Collector and runtime, as tables and plots print them."""
    return f"{collector_named(collector).label} / {runtime}"


def _pipeline_columns(record: TrialRecord) -> Row:
    spec = record.spec
    return {
        **trial_row(record), **{name: spec[name] for name in _ASKED},
        **{f"asked_{name}": spec[name] for name in _GC_THREADS},
        "configuration": label(spec["collector"], spec["runtime"]), "cores": record.host.logical_cores,
    }  # fmt: skip


def trial_columns(trial: Trial[StreamMeasurement]) -> Row:
    """One row of table ``trials``."""
    record, measured = trial.record, trial.measurement
    spec = record.spec
    stated = StreamSpec(**spec)
    row = {
        **_pipeline_columns(record), "events_per_second": spec["events_per_second"], "hiccup_ms": spec["hiccup_ms"],
        "offered_items_per_second": stated.offered_items(stated.events_per_second),
    }  # fmt: skip
    if measured is None:
        return row
    seconds = (measured["end_ns"] - measured["start_ns"]) / 1e9
    groups = cpu_ns_by_group(measured["cpu"]["threads"], measured["cpu"]["process_ns"])
    cpu_s = (measured["cpu"]["end_ns"] - measured["cpu"]["start_ns"]) / 1e9
    row |= {
        "kept_up": kept_up(measured, spec["late_ms"]),
        "parallel_gc_threads": measured["vm_options"]["ParallelGCThreads"],
        "concurrent_gc_threads": measured["vm_options"]["ConcGCThreads"],
        "allocated_mb_per_s": max(0, measured["allocated_bytes"]) / 2**20 / seconds,
        "peak_rss_mb": measured["peak_rss_mb"], "windows": len(measured["latencies_ns"]),
        "source_lag_ms": None if measured["source_lag_ns"] is None else measured["source_lag_ns"] / 1e6,
        **{f"cpu_{name}": groups[name] / 1e9 / cpu_s for name in _GROUPS},
        "young_per_s": _young_per_s(record, measured["start_ns"], measured["end_ns"]),
        **gc_row(record, measured["start_ns"], measured["end_ns"]),
    }  # fmt: skip
    if not row["kept_up"]:
        return row
    firsts_ns = [max(1, ns) for ns in measured["firsts_ns"]]
    lasts_ms, firsts_ms = (percentiles.nearest_rank_percentiles_ms(of) for of in (measured["latencies_ns"], firsts_ns))
    tail, tail_ms = percentiles.tail_ms(measured["latencies_ns"])
    if stated.hiccup_ms:
        place = (stated.hiccup_from_ms - stated.warmup_ms) // stated.slide_ms
        row["catch_up_ms"] = catch_up_ms(measured["latencies_ns"], stated.slide_ms, place, stated.hiccup_ms)
    return {
        **row, **{column_of(name): value for name, value in lasts_ms.items()},
        **{f"first_{column_of(name)}": value for name, value in firsts_ms.items()},
        "tail": tail, "tail_ms": tail_ms, "first_tail_ms": percentiles.tail_ms(firsts_ns)[1],
        "items_per_second": spec["events_per_second"] + measured["measured_results"] / seconds,
    }  # fmt: skip


def cost_of(record: TrialRecord) -> float | None:
    """Processor time of an event, ns, whatever thread took it; None where the pipeline did not keep up, or there is no
    one rate."""
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
    """One row of table ``searches``."""
    spec, measured = trial.record.spec, trial.measurement
    row = {**_pipeline_columns(trial.record), **{name: spec[name] for name in _SEARCHED}}
    if measured is None:
        return row
    ends = {"holds": measured["holds_events_per_second"], "fails": measured["fails_events_per_second"]}
    stated = StreamSearchSpec(**spec)
    return {
        **row, **{f"{end}_events_per_second": rate for end, rate in ends.items()},
        **{f"{end}_items_per_second": rate and stated.offered_items(rate) for end, rate in ends.items()},
        "tail": max((probe["tail"] for probe in measured["probes"] if probe["tail"]), default=None),
        "probes": len(measured["probes"]), "search_seconds": (measured["end_ns"] - measured["start_ns"]) / 1e9,
        "peak_rss_mb": measured["peak_rss_mb"],
    }  # fmt: skip


def probe_rows(trial: Trial[StreamSearchMeasurement]) -> list[Row]:
    """The rows of table ``probes`` of one search."""
    return [
        {
            "trial_id": trial.record.trial_id, "number": place, "events_per_second": probe["events_per_second"],
            "kept_up": probe["kept_up"], "tail_ms": probe["tail_ms"], "first_tail_ms": probe["first_tail_ms"],
            "holds": probe["holds"], "windows": probe["windows"], "probe_seconds": probe["wall_s"],
        }
        for place, probe in enumerate(trial.measurement["probes"] if trial.measurement else ())
    ]  # fmt: skip


def switch_rows(trial: Trial[StreamSwitchMeasurement]) -> list[Row]:
    """The rows of table ``switches`` of one trial; one without a way where it measured nothing."""
    record, measured = trial.record, trial.measurement
    shared = {
        **trial_row(record), **{name: record.spec[name] for name in ("runtime", "collector", "parties")},
        "configuration": label(record.spec["collector"], record.spec["runtime"]),
    }  # fmt: skip
    return [{**shared, **switch} for switch in measured["switches"]] if measured else [shared]


def _rows_of(record: TrialRecord) -> Rows:
    if record.spec["mode"] == "stream":
        return {"trials": [trial_columns(read_trial(record, StreamMeasurement))]}
    if record.spec["mode"] == "stream_switch":
        return {"switches": switch_rows(read_trial(record, StreamSwitchMeasurement))}
    search = read_trial(record, StreamSearchMeasurement)
    return {"searches": [search_columns(search)], "probes": probe_rows(search)}


def tidy_stream(records: Sequence[TrialRecord]) -> dict[str, pd.DataFrame]:
    """Tables ``trials``, ``searches``, ``probes`` and ``switches``."""
    return frames(records, _rows_of, SCHEMAS)


def summarise_stream(record: TrialRecord) -> dict[str, Any]:
    """A stream trial: ``kept_up``, ``items_per_second``, ``windows``, ``first_latency_ms`` (to the first result of a
    window), ``latency_ms`` (to its last), and the rest of its row."""
    trial = read_trial(record, StreamMeasurement)
    row = trial_columns(trial)
    spec = StreamSpec(**record.spec)
    shown = {"first_latency_ms": "first_", "latency_ms": ""}
    for name, prefix in shown.items():
        columns = {percentile: f"{prefix}{column_of(percentile)}" for percentile in (*TAILS, "max")}
        values = {percentile: row.pop(column, None) for percentile, column in columns.items()}
        row[name] = values if row.get("kept_up") else None
    missing = [name for name, percentile in TAILS.items() if spec.windows < windows_needed(percentile)]
    row["too_few_windows_for"] = {name: f"seconds={spec.seconds_for(TAILS[name]):g}" for name in missing}
    return row


def summarise_stream_search(record: TrialRecord) -> dict[str, Any]:
    """A search: ``holds_events_per_second``, ``fails_events_per_second``, the rest of its row, and ``probes``."""
    search = read_trial(record, StreamSearchMeasurement)
    return {**search_columns(search), "probes": probe_rows(search)}


def summarise_stream_switch(record: TrialRecord) -> dict[str, Any]:
    """What a switch takes: a row for each way, and ``empty``, the clock's own."""
    return {"switches": switch_rows(read_trial(record, StreamSwitchMeasurement))}
