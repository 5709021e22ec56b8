"""Tidy tables of the stream study: trials, searches and their probes; latencies of window ends in milliseconds.

A pipeline that fell behind has no latency: how late its results are says how long it ran, not how it answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any

import pandas as pd
from pandera.pandas import Column, DataFrameSchema

from allocpool import percentiles
from allocpool.campaign.tidy import (
    COUNT,
    GC_COLUMNS,
    POSITIVE,
    TRIAL_COLUMNS,
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
from allocpool.studies.stream.latency import kept_up
from allocpool.studies.stream.measurement import StreamMeasurement, StreamSearchMeasurement
from allocpool.studies.stream.specs import AGGREGATES, PROCESSORS, StreamSearchSpec, StreamSpec
from allocpool.trial.record import TrialRecord

_SEARCHED = ("target_ms", "resolution", "confirmations", "low_events_per_second", "high_events_per_second")
_GROUPS = (APPLICATION, GC, JIT, OTHER)
_ASKED = (
    "runtime", "collector", "heap_mb", "pause_target_ms", "new_size_mb", "keys", "window_ms", "slide_ms",
    "aggregate", "processors", "cooperative_threads", "seconds",
)  # fmt: skip


def column_of(percentile: str) -> str:
    """The column of a percentile, as ``p99_99_ms``."""
    return f"{percentile.replace('.', '_')}_ms"


_PIPELINE = {
    "solution": text("collector and runtime"),
    "runtime": Column("int64", POSITIVE, description="Java feature release"),
    "collector": text("garbage collector"),
    "heap_mb": Column("int64", POSITIVE, description="heap, MiB"),
    "pause_target_ms": whole("-XX:MaxGCPauseMillis", POSITIVE),
    "new_size_mb": whole("-XX:MaxNewSize, MiB", POSITIVE),
    "cores": Column("int64", POSITIVE, description="processors of the machine"),
    "keys": Column("int64", POSITIVE, description="keys"),
    "window_ms": Column("int64", POSITIVE, description="length of a window, ms"),
    "slide_ms": Column("int64", POSITIVE, description="from window to window, ms"),
    "aggregate": choice(AGGREGATES, "whether counting allocates (boxed) or not"),
    "processors": choice(PROCESSORS, "on shared threads, or one thread each"),
    "cooperative_threads": Column("int64", POSITIVE, description="threads shared by the processors"),
    "seconds": Column("float64", POSITIVE, description="measured, s"),
}
TRIALS = DataFrameSchema(
    {
        **TRIAL_COLUMNS,
        **_PIPELINE,
        "parallel_gc_threads": whole("-XX:ParallelGCThreads in force"),
        "concurrent_gc_threads": whole("-XX:ConcGCThreads in force"),
        "events_per_second": Column("int64", POSITIVE, description="events due each second"),
        "offered_items_per_second": Column("float64", POSITIVE, description="input and output asked for, items/s"),
        "items_per_second": number("input and output of the measured windows, items/s, where it kept up"),
        "kept_up": Column("boolean", nullable=True, description="whether the pipeline kept up with its events"),
        "source_lag_ms": number("how late the last event left its source, ms"),
        "windows": whole("measured windows: independent latencies"),
        **{column_of(name): number(f"{name} of the latencies of window ends, ms") for name in TAILS},
        "max_ms": number("the largest of them, ms"),
        "first_p50_ms": number("p50 to the first result of a window instead of the last, ms"),
        "tail": text("the highest percentile that so many windows allow", nullable=True),
        "tail_ms": number("the latency there, ms"),
        "allocated_mb_per_s": number("memory allocated by all Java threads, MiB/s"),
        **{f"cpu_{name}": number(f"processors kept busy by {name} threads") for name in _GROUPS},
        "peak_rss_mb": number("peak resident memory, MiB"),
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
        "tail_ms": number("latency at the tail where it kept up, ms"),
        "holds": Column("boolean", description="whether that is within the target"),
        "windows": Column("int64", COUNT, description="measured windows"),
        "probe_seconds": Column("float64", POSITIVE, description="with start and end of the engine, s"),
    },
    strict=True,
    coerce=True,
)
SCHEMAS = {"trials": TRIALS, "searches": SEARCHES, "probes": PROBES}


def label(collector: str, runtime: int) -> str:
    """Collector and runtime, as tables and plots print them."""
    return f"{collector_named(collector).label} / {runtime}"


def _pipeline_columns(record: TrialRecord) -> Row:
    spec = record.spec
    return {
        **trial_row(record), **{name: spec[name] for name in _ASKED},
        "solution": label(spec["collector"], spec["runtime"]), "cores": record.host.logical_cores,
    }  # fmt: skip


def trial_columns(trial: Trial[StreamMeasurement]) -> Row:
    """One row of table ``trials``."""
    record, measured = trial.record, trial.measurement
    spec = record.spec
    stated = StreamSpec(**spec)
    row = {
        **_pipeline_columns(record), "events_per_second": spec["events_per_second"],
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
        **gc_row(record, measured["start_ns"], measured["end_ns"]),
    }  # fmt: skip
    if not row["kept_up"]:
        return row
    latencies_ms = percentiles.nearest_rank_percentiles_ms(measured["latencies_ns"])
    tail, tail_ms = percentiles.tail_ms(measured["latencies_ns"])
    return {
        **row, **{column_of(name): value for name, value in latencies_ms.items()},
        "tail": tail, "tail_ms": tail_ms,
        "first_p50_ms": max(0.0, median(measured["firsts_ns"]) / 1e6),
        "items_per_second": spec["events_per_second"] + measured["measured_results"] / seconds,
    }  # fmt: skip


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
            "kept_up": probe["kept_up"], "tail_ms": probe["tail_ms"], "holds": probe["holds"],
            "windows": probe["windows"], "probe_seconds": probe["wall_s"],
        }
        for place, probe in enumerate(trial.measurement["probes"] if trial.measurement else ())
    ]  # fmt: skip


def _rows_of(record: TrialRecord) -> Rows:
    if record.spec["mode"] == "stream":
        return {"trials": [trial_columns(read_trial(record, StreamMeasurement))]}
    search = read_trial(record, StreamSearchMeasurement)
    return {"searches": [search_columns(search)], "probes": probe_rows(search)}


def tidy_stream(records: Sequence[TrialRecord]) -> dict[str, pd.DataFrame]:
    """Tables ``trials``, ``searches`` and ``probes``."""
    return frames(records, _rows_of, SCHEMAS)


def summarise_stream(record: TrialRecord) -> dict[str, Any]:
    """A stream trial: ``kept_up``, ``items_per_second``, ``windows``, ``latency_ms``, and the rest of its row."""
    trial = read_trial(record, StreamMeasurement)
    row = trial_columns(trial)
    for name in ("max_ms", *(column_of(name) for name in TAILS)):
        row.pop(name, None)
    spec, measured = StreamSpec(**record.spec), trial.measurement
    row["latency_ms"] = None
    if measured is not None and row["kept_up"]:
        row["latency_ms"] = percentiles.nearest_rank_percentiles_ms(measured["latencies_ns"])
    missing = [name for name, percentile in TAILS.items() if spec.windows < windows_needed(percentile)]
    row["too_few_windows_for"] = {name: f"seconds={spec.seconds_for(TAILS[name]):g}" for name in missing}
    return row


def summarise_stream_search(record: TrialRecord) -> dict[str, Any]:
    """A search: ``holds_events_per_second``, ``fails_events_per_second``, the rest of its row, and ``probes``."""
    search = read_trial(record, StreamSearchMeasurement)
    return {**search_columns(search), "probes": probe_rows(search)}
