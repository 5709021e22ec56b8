"""Tidy tables of the allocation study: one row per trial of any mode, per window of a curve, per thread group."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pandas as pd
from pandera.pandas import Column, DataFrameSchema

from allocpool.campaign.tidy import (
    COUNT,
    CPU,
    GC_COLUMNS,
    POSITIVE,
    TRIAL_COLUMNS,
    Row,
    Rows,
    Trial,
    choice,
    cpu_rows,
    drift_percent,
    frames,
    gc_row,
    number,
    read_trial,
    text,
    trial_row,
    whole,
)
from allocpool.runtimes.collectors import collector_named
from allocpool.runtimes.threads import GC, group_of
from allocpool.studies.allocation.measurement import (
    AccessMeasurement,
    AllocationMeasurement,
    BuffersMeasurement,
    FragmentationMeasurement,
    JmhMeasurement,
)
from allocpool.studies.allocation.specs import (
    CHURNED,
    DISTRIBUTIONS,
    MEMORIES,
    OPERATIONS,
    SOURCES,
    TECHNIQUES,
    TOUCHES,
)
from allocpool.trial.measurement import CpuTime
from allocpool.trial.record import TrialRecord

_RECLAIMERS = re.compile(r"Reference Handl|Finalizer|Common-Cleaner")
"""HotSpot's threads that free what dead buffers held beside the heap."""


TRIALS = DataFrameSchema(
    {
        **TRIAL_COLUMNS,
        "language": text("java or cpp"),
        "runtime": whole("feature release of the JDK; empty for C++", None),
        "collector": text("garbage collector; empty for C++", nullable=True),
        "allocator": text("what malloc is; empty for Java", nullable=True),
        "served_by": text("allocator, or collector and runtime, as figures print it"),
        "technique": choice([*TECHNIQUES, *CHURNED], "how a buffer is come by; empty for access", nullable=True),
        "strategy": choice(SOURCES, "alloc: fresh each time; pool: from a stack", nullable=True),
        "touch": choice(TOUCHES, "what is done with a fresh buffer", nullable=True),
        "memory": choice(MEMORIES, "access: where the buffer lies", nullable=True),
        "operation": choice(OPERATIONS, "access: what a pass does", nullable=True),
        "distribution": choice(DISTRIBUTIONS, "fragmentation: of sizes", nullable=True),
        "bytes": whole("of a buffer; empty for fragmentation", POSITIVE),
        "slots": whole("buffers of a round", POSITIVE),
        "live_mb": number("alive at most, MiB", POSITIVE),
        "heap_mb": whole("-Xmx, MiB", None),
        "direct_mb": whole("-XX:MaxDirectMemorySize, MiB", None),
        "count": whole("buffers, passes or operations measured"),
        "seconds": number("length of the measured window, s", POSITIVE),
        "ns_per_alloc": number(
            "time to obtain and touch one buffer, ns; collections that strike in that time included", POSITIVE
        ),
        "ns_per_free": number("time to give one buffer back, ns; empty where the collector does it", POSITIVE),
        "ns_per_buffer": number("both, with all that stands between, ns", POSITIVE),
        "buffers_per_second": number("buffers obtained and given back per second", POSITIVE),
        "bytes_per_second": number("bytes of these buffers, or written, per second", POSITIVE),
        "ns_per_pass": number("access: one pass over the buffer, ns", POSITIVE),
        "ns_per_byte": number("access: the same per byte, ns", POSITIVE),
        "p50_ns": number("fragmentation: median of obtaining and touching, median over the windows, ns", POSITIVE),
        "p99_ns": number("fragmentation: 99th percentile of it, median over the windows, ns", POSITIVE),
        "empty_p50_ns": number("fragmentation: the same of the empty interval, which is part of each cost", POSITIVE),
        "empty_p99_ns": number("fragmentation: 99th percentile of the empty interval, ns", POSITIVE),
        "resident_over_live": number("fragmentation: resident growth over bytes alive, mean but the rest", POSITIVE),
        "resident_over_live_before": number(
            "fragmentation, phases: the same at the end of the first phase, when memory has served one distribution of "
            "sizes only",
            POSITIVE,
        ),
        "resident_over_live_after": number(
            "fragmentation, phases: the same at the end of the second, whose sizes are others, as many bytes alive",
            POSITIVE,
        ),
        "kept_over_live": number(
            "fragmentation: what the counters say was not given back over bytes alive, mean but the rest", POSITIVE
        ),
        "resident_over_live_at_rest": number("fragmentation: the same at the end of the rest", POSITIVE),
        "cpu_ns_per_buffer": number("CPU of all threads per buffer, pass or operation, ns"),
        "reclaim_cpu_ns_per_buffer": number("the collector's and reference handlers' part of it, ns"),
        "drift_percent": number("second half of the measured window against the first, percent", None),
        "held_bytes": whole("C++: set aside by the allocator for one round, malloc_usable_size", None),
        "counted_bytes": whole("C++: what the allocator's own counter rose by", None),
        "heap_bytes_per_buffer": number("Java: counted by the JVM for the measuring thread"),
        "checksum": text("hex, over what was written or allocated", nullable=True),
        "peak_rss_mb": number("peak resident memory, MiB", POSITIVE),
        "allocator_version": text("version of the allocator, by its own account", nullable=True),
        **GC_COLUMNS,
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

SCHEMAS = {"trials": TRIALS, "windows": WINDOWS, "cpu": CPU}
_FROM_SPEC = (
    "language",
    "runtime",
    "collector",
    "allocator",
    "technique",
    "strategy",
    "touch",
    "memory",
    "operation",
    "distribution",
    "bytes",
    "slots",
    "live_mb",
    "heap_mb",
    "direct_mb",
)


def _served_by(spec: dict[str, Any]) -> str:
    if spec["language"] == "cpp":
        return str(spec["allocator"])
    return f"{collector_named(spec['collector']).label} / {spec['runtime']}"


def _stated(trial: Trial[Any]) -> Row:
    """The columns that a trial of any mode has, measured or not."""
    spec = trial.record.spec
    return {
        **trial_row(trial.record),
        **{name: spec.get(name) for name in _FROM_SPEC},
        "served_by": _served_by(spec),
        "peak_rss_mb": trial.peak_rss_mb,
    }


def _allocation_rows(record: TrialRecord) -> Rows:
    trial = read_trial(record, AllocationMeasurement)
    row, measured = _stated(trial), trial.measurement
    if measured is None or not measured["iterations"]["measured"]:
        return {"trials": [row]}
    spec, records, books = record.spec, measured["iterations"]["measured"], measured["books"]
    row |= _timed(record, measured)
    is_an_act = spec["strategy"] == "pool" or TECHNIQUES[spec["technique"]].frees
    row |= {
        "ns_per_alloc": sum(item[3] for item in records) / row["count"],
        "ns_per_free": sum(item[4] for item in records) / row["count"] if is_an_act else None,
        "ns_per_buffer": _each_ns(measured),
        "buffers_per_second": 1e9 / _each_ns(measured),
        "held_bytes": books["held_bytes"],
        "counted_bytes": books["counted_bytes"],
        "heap_bytes_per_buffer": books["heap_bytes"] / row["count"] if "heap_bytes" in books else None,
    }
    return {"trials": [row], "cpu": cpu_rows(record, measured["cpu"])}


def _access_rows(record: TrialRecord) -> Rows:
    trial = read_trial(record, AccessMeasurement)
    row, measured = _stated(trial), trial.measurement
    if measured is None or not measured["iterations"]["measured"]:
        return {"trials": [row]}
    each_ns = _each_ns(measured)
    row |= _timed(record, measured)
    row |= {
        "ns_per_pass": each_ns,
        "ns_per_byte": each_ns / record.spec["bytes"],
        "checksum": measured["checksum"],
    }
    return {"trials": [row], "cpu": cpu_rows(record, measured["cpu"])}


def cost_of(record: TrialRecord) -> float | None:
    """What a buffer of a trial of allocation takes, ns; None for other trials."""
    measured = read_trial(record, AllocationMeasurement).measurement if record.spec["mode"] == "allocation" else None
    return _each_ns(measured) if measured and measured["iterations"]["measured"] else None


def _each_ns(measured: BuffersMeasurement) -> float:
    """Wall time per buffer or pass of the measured window, gaps between iterations included."""
    records = measured["iterations"]["measured"]
    return (records[-1][1] - records[0][0]) / sum(item[2] for item in records)


def _timed(record: TrialRecord, measured: BuffersMeasurement) -> Row:
    """The columns that modes ``allocation`` and ``access`` share."""
    records, cpu = measured["iterations"]["measured"], measured["cpu"]
    count, start_ns, end_ns = sum(item[2] for item in records), records[0][0], records[-1][1]
    return {
        "count": count,
        "seconds": (end_ns - start_ns) / 1e9,
        "bytes_per_second": record.spec["bytes"] / _each_ns(measured) * 1e9,
        "cpu_ns_per_buffer": cpu["process_ns"] / count,
        "reclaim_cpu_ns_per_buffer": _reclaim_ns(cpu) / count if record.spec["language"] == "java" else None,
        "drift_percent": drift_percent(records),
        "allocator_version": measured["allocator_version"],
        **gc_row(record, start_ns, end_ns),
    }


def _reclaim_ns(cpu: CpuTime) -> int:
    return sum(ns for name, ns in cpu["threads"] if group_of(name) == GC or _RECLAIMERS.match(name))


def _jmh_rows(record: TrialRecord) -> Rows:
    trial = read_trial(record, JmhMeasurement)
    row = _stated(trial)
    if trial.measurement is None:
        return {"trials": [row]}
    figures = trial.measurement["jmh"]
    row |= {
        "ns_per_alloc": figures["score_ns"],
        "ns_per_buffer": figures["score_ns"],
        "buffers_per_second": 1e9 / figures["score_ns"],
        "bytes_per_second": record.spec["bytes"] / figures["score_ns"] * 1e9,
        "heap_bytes_per_buffer": figures["allocated_bytes"],
    }
    return {"trials": [row]}


def _fragmentation_rows(record: TrialRecord) -> Rows:
    trial = read_trial(record, FragmentationMeasurement)
    row, measured = _stated(trial), trial.measurement
    if measured is None:
        return {"trials": [row]}
    windows = _window_rows(record, measured)
    row |= _from_windows(record, measured, windows)
    return {"trials": [row], "windows": windows, "cpu": cpu_rows(record, measured["cpu"])}


def _from_windows(record: TrialRecord, measured: FragmentationMeasurement, rows: Sequence[Row]) -> Row:
    busy = [row for row in rows if row["operations"]]
    count = sum(row["operations"] for row in busy)
    busy_ns = sum(row["end_ns"] - row["start_ns"] for row in busy)
    residents = [row["resident_over_live"] for row in busy if row["resident_over_live"] is not None]
    allocated = measured["windows"][-1]["allocated_bytes"]
    phases = list(dict.fromkeys(row["phase"] for row in busy))
    kept = [row["kept_bytes"] / row["live_bytes"] for row in busy if row["kept_bytes"] is not None]
    at_rest = rows[-1]["resident_over_live"] if rows[-1]["phase"] == "rest" else None
    return {
        "count": count,
        "seconds": busy_ns / 1e9,
        "ns_per_buffer": busy_ns / count,
        "buffers_per_second": count / busy_ns * 1e9,
        "bytes_per_second": allocated / busy_ns * 1e9,
        **{name: _median(busy, name) for name in ("p50_ns", "p99_ns", "empty_p50_ns", "empty_p99_ns")},
        "resident_over_live_before": _at_the_end_of(busy, phases[0]) if len(phases) > 1 else None,
        "resident_over_live_after": _at_the_end_of(busy, phases[1]) if len(phases) > 1 else None,
        "resident_over_live": _positive(sum(residents) / len(residents)) if residents else None,
        "kept_over_live": sum(kept) / len(kept) if kept else None,
        "resident_over_live_at_rest": _positive(at_rest),
        "cpu_ns_per_buffer": measured["cpu"]["process_ns"] / count,
        "reclaim_cpu_ns_per_buffer": (
            _reclaim_ns(measured["cpu"]) / count if record.spec["language"] == "java" else None
        ),
        "checksum": measured["checksum"],
        "allocator_version": measured["allocator_version"],
        **gc_row(record, busy[0]["start_ns"], busy[-1]["end_ns"]),
    }


def _median(rows: Sequence[Row], name: str) -> float | None:
    return _positive(float(pd.Series([row[name] for row in rows], dtype=float).median()))


def _at_the_end_of(rows: Sequence[Row], phase: str) -> float | None:
    return _positive([row["resident_over_live"] for row in rows if row["phase"] == phase][-1])


def _positive(value: float | None) -> float | None:
    return value if value is not None and value > 0 else None


def _told(count_bytes: int | None) -> int | None:
    """What the system told; it told nothing where that is 0 or negative."""
    return count_bytes if count_bytes and count_bytes > 0 else None


def _window_rows(record: TrialRecord, measured: FragmentationMeasurement) -> list[Row]:
    """The rows of table ``windows``: the curve of one trial."""
    most_alive = record.spec["live_mb"] * 2**20
    first_ns = measured["windows"][0]["start_ns"]
    rows = []
    for place, window in enumerate(measured["windows"]):
        resident = _told(window["resident_bytes"])
        grown = None if resident is None else resident - measured["base_resident_bytes"]
        live, operations = window["live_bytes"], window["operations"]
        rows.append(
            {
                "trial_id": record.trial_id,
                "window": place,
                "phase": measured["phases"][window["phase"]],
                "start_ns": window["start_ns"],
                "end_ns": window["end_ns"],
                "elapsed_s": (window["end_ns"] - first_ns) / 1e9,
                "turnover": window["allocated_bytes"] / most_alive,
                "operations": operations,
                "live_bytes": live,
                "ns_per_operation": (window["end_ns"] - window["start_ns"]) / operations if operations else None,
                "p50_ns": window["p50_ns"],
                "p99_ns": window["p99_ns"],
                "max_ns": window["max_ns"],
                "empty_p50_ns": window["empty_p50_ns"],
                "empty_p99_ns": window["empty_p99_ns"],
                "resident_bytes": grown,
                "resident_over_live": grown / live if grown is not None and live else None,
                "kept_bytes": _told(window["kept_bytes"]),
                "heap_used_bytes": window["heap_used_bytes"],
                "heap_committed_bytes": window["heap_committed_bytes"],
            }
        )
    return rows


_ROWS = {
    "allocation": _allocation_rows,
    "access": _access_rows,
    "fragmentation": _fragmentation_rows,
    "jmh": _jmh_rows,
}


def _rows_of(record: TrialRecord) -> Rows:
    return _ROWS[record.spec["mode"]](record)


def tidy_allocation(records: Sequence[TrialRecord]) -> dict[str, pd.DataFrame]:
    """Tables ``trials``, ``windows`` and ``cpu`` of these trials, checked against their schemas."""
    return frames(records, _rows_of, SCHEMAS)


def summarise_buffers(record: TrialRecord) -> dict[str, Any]:
    """One trial as plain data, for a reader of JSON: what its mode has, and ``gc_pause_ms``; curves as lists."""
    rows = _rows_of(record)
    (row,) = rows["trials"]
    summary = {key: value for key, value in row.items() if value is not None}
    summary["gc_pause_ms"] = row.get("gc_pause_total_ms")
    for always in ("ns_per_alloc", "ns_per_free") if row["mode"] == "allocation" else ():
        summary.setdefault(always, None)
    summary |= {"status": row["status"], "reason": row["reason"], "peak_rss_mb": row["peak_rss_mb"]}
    if curve := rows.get("windows"):
        summary["windows"] = curve
    return summary
