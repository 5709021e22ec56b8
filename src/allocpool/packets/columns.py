"""Tidy tables of the batch study: one row per trial, one row per iteration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
from pandera.pandas import Check, Column, DataFrameSchema

from allocpool.campaign.tidy import COUNT, GC_COLUMNS, POSITIVE, TRIAL_COLUMNS, frame, gc_row, text, trial_row
from allocpool.packets.specs import CASES, Solution
from allocpool.packets.strategies import STRATEGIES
from allocpool.runtimes.threads import GROUPS, cpu_ns_by_group
from allocpool.trial.record import TrialRecord

COUNTS = {
    "received": "packets obtained, filled and queued",
    "parsed": "packets that left the internal queue and were parsed",
    "tcp": "parsed packets that were TCP, and so stored",
    "evicted": "stored packets replaced by a later one",
    "allocated": "packets obtained from the strategy",
    "freed": "packets given back to the strategy",
    "live": "packets counted in queue and store at the end",
    "constructed": "packet objects made after the start",
    "discarded": "packet objects dropped, not pooled, after the start",
}


PACKETS_COLUMNS: dict[str, Column] = {
    "language": text("language of the workload: java or cpp"),
    "layout": text("where buffers and parse results live"),
    "runtime": Column("Int64", nullable=True, description="feature release of the JDK; empty for C++"),
    "collector": text("garbage collector; empty for C++", nullable=True),
    "allocator": text("what C++ new reaches, or the memory resource in its place; empty for Java", nullable=True),
    "steps": text("steps that are on, of layout slab; empty for the others", nullable=True),
    "compact_headers": Column("boolean", nullable=True, description="compact object headers; empty: as the JVM has it"),
    "large_pages": Column("boolean", nullable=True, description="transparent huge pages; empty: as the JVM has it"),
    "solution": text("label of the row: layout and runtime with collector, or layout and allocator"),
    "strategy": Column("string", Check.isin(list(STRATEGIES)), description="dummy, alloc, mix or pool"),
    "case": Column("string", Check.isin(list(CASES)), description="A light, B realistic, C overload"),
    "scale": Column("float64", Check.gt(0), description="factor on pool, queue, store and heap"),
    "heap_mb": Column("Int64", nullable=True, description="-Xms and -Xmx, MiB"),
    "direct_mb": Column("Int64", nullable=True, description="-XX:MaxDirectMemorySize, MiB"),
    "pool_size": Column("int64", COUNT, description="packets made before the start"),
    "queue_size": Column("int64", COUNT, description="slots of the internal queue"),
    "stored_count": Column("int64", COUNT, description="slots of the store"),
    "seed": Column("int64", COUNT, description="seed of the packet generator"),
}

TRIALS = DataFrameSchema(
    {
        **TRIAL_COLUMNS,
        **PACKETS_COLUMNS,
        "packets": Column("Int64", COUNT, nullable=True, description="packets of the measured window"),
        "seconds": Column("Float64", POSITIVE, nullable=True, description="length of the measured window, s"),
        "iterations": Column("Int64", COUNT, nullable=True, description="iterations of the measured window"),
        "ns_per_packet": Column("Float64", POSITIVE, nullable=True, description="wall time per packet, ns"),
        "cpu_ns_per_packet": Column(
            "Float64", POSITIVE, nullable=True, description="CPU time of all threads per packet, ns"
        ),
        "warmup_ns_per_packet": Column(
            "Float64", POSITIVE, nullable=True, description="wall time per packet while warming up, ns"
        ),
        "fill_packets": Column("Int64", COUNT, nullable=True, description="packets that filled queue and store"),
        "drift_percent": Column(
            "Float64", nullable=True, description="second half of the measured window against the first, percent"
        ),
        **{name: Column("Int64", COUNT, nullable=True, description=what) for name, what in COUNTS.items()},
        "checksum": Column("string", nullable=True, description="hex, over what was parsed and stored"),
        "allocated_bytes": Column(
            "Int64",
            COUNT,
            nullable=True,
            description="bytes the measuring thread allocated on the Java heap in the measured window; empty for C++",
        ),
        "peak_rss_mb": Column("Float64", POSITIVE, nullable=True, description="peak resident memory, MiB"),
        "live_objects": Column(
            "Int64", POSITIVE, nullable=True, description="objects on the heap after a full collection; block 0 only"
        ),
        "huge_pages_mb": Column(
            "Float64",
            COUNT,
            nullable=True,
            description="memory on huge pages at the end, as granted by the kernel, MiB",
        ),
        "region_mb": Column("Float64", POSITIVE, nullable=True, description="the one region of layout slab, MiB"),
        "allocator_version": text("version of the allocator, by its own account", nullable=True),
        **GC_COLUMNS,
    },
    strict=True,
    coerce=True,
)

ITERATIONS = DataFrameSchema(
    {
        "trial_id": text("trial that the iteration belongs to"),
        "iteration": Column("int64", COUNT, description="number within its phase, from 0"),
        "phase": Column("string", Check.isin(["fill", "warmup", "measured"]), description="stretch of the trial"),
        "start_ns": Column("int64", COUNT, description="CLOCK_MONOTONIC at the start, ns"),
        "end_ns": Column("int64", COUNT, description="CLOCK_MONOTONIC at the end, ns"),
        "packets": Column("int64", COUNT, description="packets received"),
        "ns_per_packet": Column("float64", POSITIVE, description="wall time per packet, ns"),
    },
    strict=True,
    coerce=True,
)

CPU = DataFrameSchema(
    {
        "trial_id": text("trial that the CPU time belongs to"),
        "thread_group": Column("string", Check.isin(GROUPS), description="whose threads: application, gc, ..."),
        "cpu_ns": Column("int64", COUNT, description="CPU time in the measured window, ns"),
    },
    strict=True,
    coerce=True,
)

SCHEMAS = {"trials": TRIALS, "iterations": ITERATIONS, "cpu": CPU}


def _cost(iterations: Sequence[Sequence[int]]) -> float | None:
    packets = sum(count for _, _, count in iterations)
    return sum(end - start for start, end, _ in iterations) / packets if packets else None


def _drift_percent(iterations: Sequence[Sequence[int]]) -> float | None:
    half = len(iterations) // 2
    first, second = _cost(iterations[:half]), _cost(iterations[half:])
    return 100 * (second / first - 1) if first and second else None


def packets_columns(record: TrialRecord) -> dict[str, Any]:
    """The columns that say which packets configuration a trial ran."""
    spec = record.spec
    solution = Solution(**{key: spec[key] for key in Solution.model_fields})
    row = {key: spec[key] for key in PACKETS_COLUMNS if key != "solution"}
    return {**row, "solution": solution.label}


def batch_row(record: TrialRecord) -> dict[str, Any]:
    """The row of one batch trial in table ``trials``."""
    row: dict[str, Any] = {**trial_row(record), **packets_columns(record)}
    measurement = record.measurement or {}
    row["peak_rss_mb"] = measurement.get("peak_rss_mb")
    if "iterations" not in measurement:
        return row
    measured = measurement["iterations"]["measured"]
    packets = sum(count for _, _, count in measured)
    window_ns = measured[-1][1] - measured[0][0]
    warmup = measurement["iterations"]["warmup"] or measurement["iterations"]["fill"]
    row |= {
        "packets": packets,
        "seconds": window_ns / 1e9,
        "iterations": len(measured),
        "ns_per_packet": _cost(measured),
        "cpu_ns_per_packet": measurement["cpu"]["process_ns"] / packets,
        "warmup_ns_per_packet": _cost(warmup),
        "fill_packets": measurement["fill_packets"],
        "drift_percent": _drift_percent(measured),
        "checksum": measurement["checksum"],
        "allocated_bytes": measurement["allocated_bytes"],
        "live_objects": measurement["live_objects"],
        **measurement["counts"],
        **measurement["memory"],
        **gc_row(record, measured[0][0], measured[-1][1]),
    }
    return row


def _iteration_rows(record: TrialRecord) -> list[dict[str, Any]]:
    phases = (record.measurement or {}).get("iterations", {})
    return [
        {
            "trial_id": record.trial_id, "iteration": number, "phase": phase, "start_ns": start_ns,
            "end_ns": end_ns, "packets": packets, "ns_per_packet": (end_ns - start_ns) / packets,
        }
        for phase, iterations in phases.items()
        for number, (start_ns, end_ns, packets) in enumerate(iterations)
        if packets
    ]  # fmt: skip


def cpu_rows(record: TrialRecord) -> list[dict[str, Any]]:
    """CPU time of the trial's measured window by thread group."""
    cpu = (record.measurement or {}).get("cpu")
    if cpu is None:
        return []
    spent = cpu_ns_by_group(cpu["threads"], cpu["process_ns"])
    return [{"trial_id": record.trial_id, "thread_group": group, "cpu_ns": ns} for group, ns in spent.items()]


def tidy_batch(records: Sequence[TrialRecord]) -> dict[str, pd.DataFrame]:
    """Tables ``trials``, ``iterations`` and ``cpu`` of these trials, checked against their schemas."""
    return {
        "trials": frame([batch_row(record) for record in records], TRIALS),
        "iterations": frame([row for record in records for row in _iteration_rows(record)], ITERATIONS),
        "cpu": frame([row for record in records for row in cpu_rows(record)], CPU),
    }


def summarise_batch(record: TrialRecord) -> dict[str, Any]:
    """One trial as plain data, for a reader of JSON: the row of table ``trials`` with its counts in one place."""
    row = batch_row(record)
    counts = {name: row.pop(name, None) for name in COUNTS}
    iterations = [item["ns_per_packet"] for item in _iteration_rows(record) if item["phase"] == "measured"]
    return {**row, "counts": counts, "iteration_ns_per_packet": iterations}
