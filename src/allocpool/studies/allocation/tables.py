"""Tidy tables of the allocation study: one row per trial of any mode, per window of a curve, per thread group."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pandas as pd
from pandera.pandas import Check, Column, DataFrameSchema

from allocpool.campaign.tidy import COUNT, GC_COLUMNS, POSITIVE, TRIAL_COLUMNS, frame, gc_row, text, trial_row
from allocpool.packets.columns import CPU, cpu_rows
from allocpool.runtimes.collectors import collector_named
from allocpool.runtimes.threads import GC, group_of
from allocpool.studies.allocation.specs import (
    CHURNED,
    DISTRIBUTIONS,
    MEMORIES,
    OPERATIONS,
    SOURCES,
    TECHNIQUES,
    TOUCHES,
)
from allocpool.trial.record import TrialRecord

MODES = ("allocation", "access", "fragmentation", "jmh")
_RECLAIMERS = re.compile(r"Reference Handl|Finalizer|Common-Cleaner")
"""HotSpot's threads that free what dead buffers held beside the heap."""


def _choice(valid: Sequence[str], description: str) -> Column:
    return Column("string", Check.isin(list(valid)), nullable=True, description=description)


def _number(description: str, check: Check = POSITIVE) -> Column:
    return Column("Float64", check, nullable=True, description=description)


TRIALS = DataFrameSchema(
    {
        **TRIAL_COLUMNS,
        "mode": Column("string", Check.isin(MODES), description="what was measured"),
        "language": text("java or cpp"),
        "runtime": Column("Int64", nullable=True, description="feature release of the JDK; empty for C++"),
        "collector": text("garbage collector; empty for C++", nullable=True),
        "allocator": text("what malloc is; empty for Java", nullable=True),
        "served_by": text("allocator, or collector and runtime, as figures print it"),
        "technique": _choice([*TECHNIQUES, *CHURNED], "how a buffer is come by; empty for access"),
        "strategy": _choice(SOURCES, "alloc: fresh each time; pool: from a stack"),
        "touch": _choice(TOUCHES, "what is done with a fresh buffer"),
        "memory": _choice(list(MEMORIES), "access: where the buffer lies"),
        "operation": _choice(OPERATIONS, "access: what a pass does"),
        "distribution": _choice(DISTRIBUTIONS, "fragmentation: of sizes"),
        "bytes": Column("Int64", POSITIVE, nullable=True, description="of a buffer; empty for fragmentation"),
        "slots": Column("Int64", POSITIVE, nullable=True, description="buffers of a round"),
        "live_mb": _number("alive at most, MiB"),
        "heap_mb": Column("Int64", nullable=True, description="-Xmx, MiB"),
        "direct_mb": Column("Int64", nullable=True, description="-XX:MaxDirectMemorySize, MiB"),
        "count": Column("Int64", COUNT, nullable=True, description="buffers, passes or operations measured"),
        "seconds": _number("length of the measured window, s"),
        "ns_per_alloc": _number("time to obtain and touch one buffer, ns; collections that strike meanwhile included"),
        "ns_per_free": _number("time to give one buffer back, ns; empty where the collector does it"),
        "ns_per_buffer": _number("both, with all that stands between, ns"),
        "buffers_per_second": _number("buffers obtained and given back per second"),
        "bytes_per_second": _number("bytes of these buffers, or written, per second"),
        "ns_per_pass": _number("access: one pass over the buffer, ns"),
        "ns_per_byte": _number("access: the same per byte, ns"),
        "p99_ns": _number("fragmentation: 99th percentile of obtaining and touching, over all windows, ns"),
        "resident_over_live": _number("fragmentation: resident growth over bytes alive, mean but the rest"),
        "resident_over_live_at_rest": _number("fragmentation: the same at the end of the rest"),
        "cpu_ns_per_buffer": _number("CPU of all threads per buffer, pass or operation, ns", COUNT),
        "reclaim_cpu_ns_per_buffer": _number("the collector's and reference handlers' part of it, ns", COUNT),
        "drift_percent": Column(
            "Float64", nullable=True, description="second half of the measured window against the first, percent"
        ),
        "held_bytes": Column(
            "Int64", nullable=True, description="C++: set aside by the allocator for one round, malloc_usable_size"
        ),
        "counted_bytes": Column("Int64", nullable=True, description="C++: what the allocator's own counter rose by"),
        "heap_bytes_per_buffer": _number("Java: counted by the JVM for the measuring thread", COUNT),
        "checksum": text("hex, over what was written or allocated", nullable=True),
        "peak_rss_mb": _number("peak resident memory, MiB"),
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
        "ns_per_operation": Column("Float64", POSITIVE, nullable=True, description="wall time per operation, ns"),
        "p50_ns": Column("Int64", COUNT, nullable=True, description="median cost of obtaining and touching, ns"),
        "p99_ns": Column("Int64", COUNT, nullable=True, description="99th percentile of it, ns"),
        "max_ns": Column("Int64", COUNT, nullable=True, description="largest of it, ns"),
        "resident_bytes": Column("Int64", nullable=True, description="resident growth of the process since set-up"),
        "resident_over_live": Column("Float64", nullable=True, description="the same over the bytes alive"),
        "kept_bytes": Column(
            "Int64",
            nullable=True,
            description="malloc: handed out, by its own books; slab: taken from the system",
        ),
        "heap_used_bytes": Column("Int64", nullable=True, description="used heap, Java"),
        "heap_committed_bytes": Column("Int64", nullable=True, description="committed heap, Java"),
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


def trial_columns(record: TrialRecord) -> dict[str, Any]:
    """The row of table ``trials``."""
    spec, told = record.spec, record.measurement or {}
    row: dict[str, Any] = {
        **trial_row(record),
        "study": "allocation",
        "mode": spec["mode"],
        **{name: spec.get(name) for name in _FROM_SPEC},
        "served_by": _served_by(spec),
        "peak_rss_mb": told.get("peak_rss_mb"),
        "allocator_version": told.get("allocator_version"),
        "checksum": told.get("checksum"),
    }
    if "jmh" in told:
        return row | _from_jmh(told["jmh"], spec["bytes"])
    if "windows" in told:
        return row | _from_windows(record)
    if told.get("iterations", {}).get("measured"):
        return row | _from_iterations(record)
    return row


def _from_iterations(record: TrialRecord) -> dict[str, Any]:
    spec, told = record.spec, record.measurement or {}
    measured = told["iterations"]["measured"]
    count = sum(item[2] for item in measured)
    start_ns, end_ns = measured[0][0], measured[-1][1]
    each_ns = (end_ns - start_ns) / count
    row = {
        "count": count,
        "seconds": (end_ns - start_ns) / 1e9,
        "bytes_per_second": spec["bytes"] / each_ns * 1e9,
        "cpu_ns_per_buffer": told["cpu"]["process_ns"] / count,
        "reclaim_cpu_ns_per_buffer": _reclaim_ns(told["cpu"]["threads"]) / count
        if spec["language"] == "java"
        else None,
        "drift_percent": _drift_percent(measured),
        **gc_row(record, start_ns, end_ns),
    }
    if spec["mode"] == "access":
        return row | {"ns_per_pass": each_ns, "ns_per_byte": each_ns / spec["bytes"]}
    is_an_act = spec["strategy"] == "pool" or TECHNIQUES[spec["technique"]].frees
    books = told["books"]
    return row | {
        "ns_per_alloc": sum(item[3] for item in measured) / count,
        "ns_per_free": sum(item[4] for item in measured) / count if is_an_act else None,
        "ns_per_buffer": each_ns,
        "buffers_per_second": 1e9 / each_ns,
        "held_bytes": books["held_bytes"],
        "counted_bytes": books["counted_bytes"],
        "heap_bytes_per_buffer": books["heap_bytes"] / count if "heap_bytes" in books else None,
    }


def _reclaim_ns(threads: Sequence[tuple[str, int]]) -> int:
    return sum(ns for name, ns in threads if group_of(name) == GC or _RECLAIMERS.match(name))


def _drift_percent(measured: Sequence[Sequence[int]]) -> float | None:
    half = len(measured) // 2
    first, second = (
        sum(i[1] - i[0] for i in part) / count if (count := sum(i[2] for i in part)) else None
        for part in (measured[:half], measured[half:])
    )
    return 100 * (second / first - 1) if first and second else None


def _from_jmh(told: dict[str, Any], size: int) -> dict[str, Any]:
    return {
        "ns_per_alloc": told["score_ns"],
        "ns_per_buffer": told["score_ns"],
        "buffers_per_second": 1e9 / told["score_ns"],
        "bytes_per_second": size / told["score_ns"] * 1e9,
        "heap_bytes_per_buffer": told["allocated_bytes"],
    }


def _from_windows(record: TrialRecord) -> dict[str, Any]:
    told = record.measurement or {}
    rows = window_rows(record)
    busy = [row for row in rows if row["operations"]]
    count = sum(row["operations"] for row in busy)
    busy_ns = sum(row["end_ns"] - row["start_ns"] for row in busy)
    residents = [row["resident_over_live"] for row in busy if row["resident_over_live"] is not None]
    allocated = told["windows"][-1]["allocated_bytes"]
    at_rest = rows[-1]["resident_over_live"] if rows[-1]["phase"] == "rest" else None
    return {
        "count": count,
        "seconds": busy_ns / 1e9,
        "ns_per_buffer": busy_ns / count,
        "buffers_per_second": count / busy_ns * 1e9,
        "bytes_per_second": allocated / busy_ns * 1e9,
        "p99_ns": float(pd.Series([row["p99_ns"] for row in busy]).median()),
        "resident_over_live": _positive(sum(residents) / len(residents)) if residents else None,
        "resident_over_live_at_rest": _positive(at_rest),
        "cpu_ns_per_buffer": told["cpu"]["process_ns"] / count,
        "reclaim_cpu_ns_per_buffer": (
            _reclaim_ns(told["cpu"]["threads"]) / count if record.spec["language"] == "java" else None
        ),
        **gc_row(record, busy[0]["start_ns"], busy[-1]["end_ns"]),
    }


def _positive(value: float | None) -> float | None:
    return value if value is not None and value > 0 else None


def window_rows(record: TrialRecord) -> list[dict[str, Any]]:
    """The rows of table ``windows``: the curve of one trial."""
    told = record.measurement or {}
    if "windows" not in told:
        return []
    most_alive = record.spec["live_mb"] * 2**20
    first_ns = told["windows"][0]["start_ns"]
    rows = []
    for number, window in enumerate(told["windows"]):
        known = (window["resident_bytes"] or -1) >= 0
        resident = window["resident_bytes"] - told["base_resident_bytes"] if known else None
        live = window["live_bytes"]
        operations = window["operations"]
        rows.append(
            {
                "trial_id": record.trial_id,
                "window": number,
                "phase": told["phases"][window["phase"]],
                "start_ns": window["start_ns"],
                "end_ns": window["end_ns"],
                "elapsed_s": (window["end_ns"] - first_ns) / 1e9,
                "turnover": window["allocated_bytes"] / most_alive,
                "operations": operations,
                "live_bytes": live,
                "ns_per_operation": (window["end_ns"] - window["start_ns"]) / operations if operations else None,
                **{name: window[name] for name in ("p50_ns", "p99_ns", "max_ns")},
                "resident_bytes": resident,
                "resident_over_live": resident / live if resident is not None and live else None,
                "kept_bytes": window["kept_bytes"] if (window["kept_bytes"] or -1) >= 0 else None,
                "heap_used_bytes": window["heap_used_bytes"],
                "heap_committed_bytes": window["heap_committed_bytes"],
            }
        )
    return rows


def tidy_allocation(records: Sequence[TrialRecord]) -> dict[str, pd.DataFrame]:
    """Tables ``trials``, ``windows`` and ``cpu`` of these trials, checked against their schemas."""
    return {
        "trials": frame([trial_columns(record) for record in records], TRIALS),
        "windows": frame([row for record in records for row in window_rows(record)], WINDOWS),
        "cpu": frame([row for record in records for row in cpu_rows(record)], CPU),
    }


def summarise_buffers(record: TrialRecord) -> dict[str, Any]:
    """One trial as plain data, for a reader of JSON: what its mode has, and ``gc_pause_ms``; curves as lists."""
    row = trial_columns(record)
    told = {key: value for key, value in row.items() if value is not None}
    told["gc_pause_ms"] = row.get("gc_pause_total_ms")
    for always in ("ns_per_alloc", "ns_per_free") if row["mode"] == "allocation" else ():
        told.setdefault(always, None)
    told |= {"status": row["status"], "reason": row["reason"], "peak_rss_mb": row["peak_rss_mb"]}
    if curve := window_rows(record):
        told["windows"] = curve
    return told
