"""Tidy tables of the allocation study."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pandas as pd
from pandera.pandas import Column, DataFrameSchema

from allocpool.campaign import tidy
from allocpool.campaign.tidy import COUNT, POSITIVE, Row, Rows, choice, number, read_trial, text, whole
from allocpool.runtimes.threads import GC, group_of
from allocpool.studies.allocation import measurement, specs
from allocpool.trial.record import TrialRecord

_RECLAIMERS = re.compile(r"Reference Handl|Finalizer|Common-Cleaner")
"""HotSpot's threads that free what dead buffers held off the heap."""
_STATED = {
    "language": text("java or cpp"),
    "runtime": whole("feature release of the JDK; empty for C++", None),
    "collector": text("garbage collector; empty for C++", nullable=True),
    "allocator": text("what malloc is; empty for Java", nullable=True),
    "served_by": text("allocator, or collector and runtime, as figures print it"),
    "technique": choice(specs.TECHNIQUES, "how a buffer is come by; empty for access", nullable=True),
    "strategy": choice(specs.SOURCES, "alloc: fresh each time; pool: from a stack", nullable=True),
    "touch": choice(specs.TOUCHES, "what is done with a fresh buffer", nullable=True),
    "memory": choice(specs.MEMORIES, "access: where the buffer lies", nullable=True),
    "operation": choice(specs.OPERATIONS, "access: what a pass does", nullable=True),
    "distribution": choice(specs.DISTRIBUTIONS, "fragmentation: of sizes", nullable=True),
    "bytes": whole("of a buffer; empty for fragmentation", POSITIVE),
    "slots": whole("buffers of a round", POSITIVE),
    "live_mb": number("alive at most, MiB", POSITIVE),
    "heap_mb": whole("-Xmx, MiB", None),
    "young_mb": whole("mode grow: -XX:NewSize and -XX:MaxNewSize, MiB", POSITIVE),
    "direct_mb": whole("-XX:MaxDirectMemorySize, MiB", None),
}
"""Columns of the settings of a trial, as far as its mode has them."""
_OF_FRAGMENTATION = {
    "p50_ns": "median of obtaining and touching, median over the windows, ns",
    "p99_ns": "99th percentile of it, median over the windows, ns",
    "empty_p50_ns": "the same of the empty interval, which is part of each cost",
    "empty_p99_ns": "99th percentile of the empty interval, ns",
    "resident_over_live": "resident growth over bytes alive, mean but the rest",
    "resident_over_live_before": "phases: the same at the end of the first phase, when sizes were of one distribution",
    "resident_over_live_after": "phases: the same at the end of the second, of other sizes, as many bytes alive",
    "kept_over_live": "by the counters not given back, over bytes alive, mean but the rest",
    "resident_over_live_at_rest": "the same at the end of the rest",
}
TRIALS = DataFrameSchema(
    {
        **tidy.TRIAL_COLUMNS,
        **_STATED,
        "count": whole("buffers, passes or operations measured"),
        "seconds": number("length of the measured window, s", POSITIVE),
        "ns_per_alloc": number("to obtain and touch one buffer, ns; collections in that time included", POSITIVE),
        "ns_per_free": number(
            "to give one buffer back, ns; empty where the collector does it, but in mode grow the full collection at "
            "the end over the buffers",
            POSITIVE,
        ),
        "ns_per_buffer": number("both, with all that stands between, ns", POSITIVE),
        "buffers_per_second": number("buffers obtained and given back per second", POSITIVE),
        "bytes_per_second": number("bytes of these buffers, or written, per second", POSITIVE),
        "faults_per_alloc": number("minor page faults of the process by buffer obtained"),
        "ns_per_pass": number("access: one pass over the buffer, ns", POSITIVE),
        "ns_per_byte": number("access: the same per byte, ns", POSITIVE),
        **{name: number(f"fragmentation: {what}", POSITIVE) for name, what in _OF_FRAGMENTATION.items()},
        "cpu_ns_per_buffer": number("CPU of all threads per buffer, pass or operation, ns"),
        "reclaim_cpu_ns_per_buffer": number("the collector's and reference handlers' part of it, ns"),
        "drift_percent": number("second half of the measured window against the first, percent", None),
        "held_bytes": whole("C++: set aside by the allocator for one round, malloc_usable_size", None),
        "counted_bytes": whole("C++: what the allocator's own counter rose by", None),
        "heap_bytes_per_buffer": number("Java: counted by the JVM for the measuring thread"),
        "checksum": text("hex, over what was written or allocated", nullable=True),
        "peak_rss_mb": number("peak resident memory, MiB", POSITIVE),
        "allocator_version": text("version of the allocator, as it reports it", nullable=True),
        **tidy.GC_COLUMNS,
    },
    strict=True,
    coerce=True,
)
WINDOWS = DataFrameSchema(
    {
        "trial_id": text("trial that the window belongs to"),
        "window": Column("int64", COUNT, description="number within the trial, from 0"),
        "phase": text("what happens in it"),
        "start_ns": Column("int64", COUNT, description="CLOCK_MONOTONIC at the start, ns"),
        "end_ns": Column("int64", COUNT, description="CLOCK_MONOTONIC at the end, ns"),
        "elapsed_s": Column("float64", COUNT, description="end of the window since the start of the first, s"),
        "turnover": Column("float64", COUNT, description="bytes allocated so far over the largest number alive"),
        "operations": Column("int64", COUNT, description="buffers obtained"),
        "live_bytes": Column("int64", COUNT, description="alive at the end"),
        "ns_per_operation": number("wall time per operation, ns", POSITIVE),
        "p50_ns": whole("median cost of obtaining and touching, ns"),
        "p99_ns": whole("99th percentile of it, ns"),
        "max_ns": whole("largest of it, ns"),
        "empty_p50_ns": whole("median interval between two readings of the clock with nothing between them, ns"),
        "empty_p99_ns": whole("99th percentile of it, ns"),
        "resident_bytes": whole("resident growth of the process since set-up", None),
        "resident_over_live": number("the same over the bytes alive", None),
        "kept_bytes": whole(
            "malloc: handed out, by its counters; slab: taken from the system; direct buffers and automatic arenas: "
            "not given back yet, by the counters of the JVM",
            None,
        ),
        "heap_used_bytes": whole("used heap, Java", None),
        "heap_committed_bytes": whole("committed heap, Java", None),
    },
    strict=True,
    coerce=True,
)
SCHEMAS = {"trials": TRIALS, "windows": WINDOWS, "cpu": tidy.CPU}
_MEASUREMENTS: dict[str, Any] = {
    **dict.fromkeys(specs.EXPERIMENTS, measurement.AllocationMeasurement),
    "access": measurement.AccessMeasurement,
    "fragmentation": measurement.FragmentationMeasurement,
    "jmh": measurement.JmhMeasurement,
}
_MEDIANS = ["p50_ns", "p99_ns", "empty_p50_ns", "empty_p99_ns"]


def _rows_of(record: TrialRecord) -> Rows:
    spec = record.spec
    trial = read_trial(record, _MEASUREMENTS[spec["mode"]])
    row = {**tidy.trial_row(record), **tidy.pick(_STATED, spec), "served_by": specs.served_by(spec)}
    row |= {"peak_rss_mb": trial.peak_rss_mb}
    if (measured := trial.measurement) is None:
        return {"trials": [row]}
    if spec["mode"] == "jmh":
        return {"trials": [row | _jmh(spec["bytes"], measured["jmh"])]}
    cpu = tidy.cpu_rows(record, measured["cpu"])
    if spec["mode"] == "fragmentation":
        windows = _windows(record, measured)
        return {"trials": [row | _from_windows(record, measured, windows)], "windows": windows, "cpu": cpu}
    if not measured["iterations"]["measured"]:
        return {"trials": [row]}
    return {"trials": [row | _timed(record, measured)], "cpu": cpu}


def _jmh(size: int, figures: measurement.JmhFigures) -> Row:
    return {
        "ns_per_alloc": figures["score_ns"],
        "ns_per_buffer": figures["score_ns"],
        "buffers_per_second": 1e9 / figures["score_ns"],
        "bytes_per_second": size / figures["score_ns"] * 1e9,
        "heap_bytes_per_buffer": figures["allocated_bytes"],
    }


def _timed(record: TrialRecord, measured: Any) -> Row:
    """Return the figures of rounds of allocation, or of passes."""
    records, size, each_ns = measured["iterations"]["measured"], record.spec["bytes"], _each_ns(measured)
    count, start_ns, end_ns = sum(item[2] for item in records), records[0][0], records[-1][1]
    row = {
        "count": count,
        "seconds": (end_ns - start_ns) / 1e9,
        "bytes_per_second": size / each_ns * 1e9,
        "drift_percent": tidy.drift_percent(records),
        **_spent(record, measured, count, start_ns, max(item[1] for item in records if item[2])),
    }
    if record.spec["mode"] == "access":
        return row | {"ns_per_pass": each_ns, "ns_per_byte": each_ns / size, "checksum": measured["checksum"]}
    counters = measured["counters"]
    technique, strategy = specs.TECHNIQUES[record.spec["technique"]], record.spec["strategy"]
    is_timed = technique.frees or strategy == "pool" or record.spec["mode"] == "grow"
    return row | {
        "ns_per_alloc": sum(item[3] for item in records) / count,
        "ns_per_free": sum(item[4] for item in records) / count if is_timed else None,
        "ns_per_buffer": each_ns,
        "faults_per_alloc": measured["minor_faults"] / count,
        "buffers_per_second": 1e9 / each_ns,
        **tidy.pick(("held_bytes", "counted_bytes"), counters),
        "heap_bytes_per_buffer": counters["heap_bytes"] / count if "heap_bytes" in counters else None,
    }


def _each_ns(measured: measurement.BuffersMeasurement) -> float:
    """Return wall time per buffer or pass of the measured window, gaps between iterations included."""
    records = measured["iterations"]["measured"]
    return (records[-1][1] - records[0][0]) / sum(item[2] for item in records)


def cost_of(record: TrialRecord) -> float | None:
    """Return what a buffer of a trial on obtaining buffers takes, ns; None for other trials."""
    if record.spec["mode"] not in specs.EXPERIMENTS:
        return None
    measured = read_trial(record, measurement.AllocationMeasurement).measurement
    return _each_ns(measured) if measured and measured["iterations"]["measured"] else None


def _spent(record: TrialRecord, measured: measurement.Spent, count: int, start_ns: int, end_ns: int) -> Row:
    """Return CPU by buffer and what the collector did."""
    cpu, java = measured["cpu"], record.spec["language"] == "java"
    reclaim_ns = sum(ns for name, ns in cpu["threads"] if group_of(name) == GC or _RECLAIMERS.match(name))
    return {
        "cpu_ns_per_buffer": cpu["process_ns"] / count,
        "reclaim_cpu_ns_per_buffer": reclaim_ns / count if java else None,
        "allocator_version": measured["allocator_version"],
        **tidy.gc_row(record, start_ns, end_ns),
    }


def _from_windows(record: TrialRecord, measured: measurement.FragmentationMeasurement, rows: Sequence[Row]) -> Row:
    windows = pd.DataFrame(rows).astype(dict.fromkeys([*_MEDIANS, "resident_over_live", "kept_bytes"], float))
    busy = windows[windows["operations"] > 0]
    count, busy_ns = int(busy["operations"].sum()), int((busy["end_ns"] - busy["start_ns"]).sum())
    at_the_end = busy.groupby("phase", sort=False)["resident_over_live"].agg(lambda values: values.iloc[-1]).tolist()
    before, after = at_the_end[:2] if len(at_the_end) > 1 else (None, None)
    figures = {
        **busy[_MEDIANS].median(),
        "resident_over_live": busy["resident_over_live"].mean(),
        "resident_over_live_before": before,
        "resident_over_live_after": after,
        "resident_over_live_at_rest": rows[-1]["resident_over_live"] if rows[-1]["phase"] == "rest" else None,
    }
    kept = (busy["kept_bytes"] / busy["live_bytes"]).mean()
    return {
        "count": count,
        "seconds": busy_ns / 1e9,
        "ns_per_buffer": busy_ns / count,
        "buffers_per_second": count / busy_ns * 1e9,
        "bytes_per_second": measured["windows"][-1]["allocated_bytes"] / busy_ns * 1e9,
        **{name: value if value is not None and value > 0 else None for name, value in figures.items()},
        "kept_over_live": None if pd.isna(kept) else kept,
        "checksum": measured["checksum"],
        **_spent(record, measured, count, int(busy["start_ns"].iloc[0]), int(busy["end_ns"].iloc[-1])),
    }


def _windows(record: TrialRecord, measured: measurement.FragmentationMeasurement) -> list[Row]:
    """Return the rows of table ``windows``: the curve of one trial. Bytes that are 0 or negative were not reported."""
    first_ns = measured["windows"][0]["start_ns"]
    rows = []
    for place, window in enumerate(measured["windows"]):
        resident, kept = window["resident_bytes"] or 0, window["kept_bytes"] or 0
        grown = resident - measured["base_resident_bytes"] if resident > 0 else None
        live, operations = window["live_bytes"], window["operations"]
        rows.append({
            **tidy.pick(WINDOWS.columns, window),
            "trial_id": record.trial_id,
            "window": place,
            "phase": measured["phases"][window["phase"]],
            "elapsed_s": (window["end_ns"] - first_ns) / 1e9,
            "turnover": window["allocated_bytes"] / (record.spec["live_mb"] * 2**20),
            "ns_per_operation": (window["end_ns"] - window["start_ns"]) / operations if operations else None,
            "resident_bytes": grown,
            "resident_over_live": grown / live if grown is not None and live else None,
            "kept_bytes": kept if kept > 0 else None,
        })  # fmt: skip
    return rows


def tidy_allocation(records: Sequence[TrialRecord]) -> dict[str, pd.DataFrame]:
    """Return tables ``trials``, ``windows`` and ``cpu`` of these trials."""
    return tidy.frames(records, _rows_of, SCHEMAS)


def summarise_buffers(record: TrialRecord) -> dict[str, Any]:
    """Return a trial as plain data: its row, and a curve as ``windows``."""
    rows = _rows_of(record)
    curve = {"windows": rows["windows"]} if "windows" in rows else {}
    return {**rows["trials"][0], **curve}
