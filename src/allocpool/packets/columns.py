"""Tidy tables of batch trials of any study: a row per trial, a row per iteration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import pandas as pd
from pandera.pandas import Check, Column, DataFrameSchema
from pydantic.fields import FieldInfo

from allocpool.campaign import tidy
from allocpool.campaign.tidy import COUNT, POSITIVE, Columns, Row, choice, number, text, whole
from allocpool.errors import choices_of
from allocpool.packets.measurement import BatchMeasurement, Phases, lap_packets
from allocpool.packets.specs import Configuration, Options
from allocpool.packets.strategies import STRATEGIES
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


def _option(field: FieldInfo) -> Column:
    """Return the column of a field of `Options`."""
    words, empty = str(field.description), field.default is None
    if choices := choices_of(field.annotation):
        return choice(choices, words, nullable=empty)
    if field.annotation in (bool, bool | None):
        return Column("boolean" if empty else "bool", nullable=empty, description=words)
    return text(words, nullable=empty)


PACKETS_COLUMNS: dict[str, Column] = {
    "language": text("language of the workload: java or cpp"),
    "layout": text("where buffers and parse results live"),
    "runtime": Column("Int64", nullable=True, description="feature release of the JDK; empty for C++"),
    "collector": text("garbage collector; empty for C++", nullable=True),
    "allocator": text("what C++ new reaches, or the memory resource in its place; empty for Java", nullable=True),
    **{name: _option(field) for name, field in Options.model_fields.items()},
    "configuration": text("label of the row: layout and runtime with collector, or layout and allocator"),
    "strategy": choice(STRATEGIES, "dummy, alloc, mix or pool"),
    "case": text("A light, A10k the same as the article's text has it, B realistic, C overload; else messages alive"),
    "scale": Column("float64", Check.gt(0), description="factor on pool, queue, store and heap"),
    "heap_mb": Column("Int64", nullable=True, description="-Xms and -Xmx, MiB"),
    "direct_mb": Column("Int64", nullable=True, description="-XX:MaxDirectMemorySize, MiB"),
    "pool_size": Column("int64", COUNT, description="packets made before the start"),
    "queue_size": Column("int64", COUNT, description="slots of the internal queue"),
    "stored_count": Column("int64", COUNT, description="slots of the store"),
    "seed": Column("int64", COUNT, description="seed of the packet generator"),
}

LAPS_COLUMNS: dict[str, Column] = {
    "laps": number("packets of the measured window, over those that circulate: in use at once, or all of a fifo pool"),
    "too_short": Column(
        "boolean", nullable=True, description="it ended before the laps, or the collections, that were asked for"
    ),
}

TRIALS = DataFrameSchema(
    {
        **tidy.TRIAL_COLUMNS,
        **PACKETS_COLUMNS,
        "packets": whole("packets of the measured window"),
        "seconds": number("length of the measured window, s", POSITIVE),
        "iterations": whole("iterations of the measured window"),
        **LAPS_COLUMNS,
        "ns_per_packet": number("wall time per packet, ns", POSITIVE),
        "cpu_ns_per_packet": number("CPU time of all threads per packet, ns", POSITIVE),
        "warmup_ns_per_packet": number("wall time per packet while warming up, ns", POSITIVE),
        "warm_up": choice(
            ("level", "cap"),
            "how the warm-up ended: collector trained and cost level, or at its most packets; empty: by time",
            nullable=True,
        ),
        "warmup_packets": whole("packets of a warm-up that ends by level or cap"),
        "warmup_collections": whole("young collections from the start to the measured window of such a trial"),
        "start_ns_per_packet": number(
            "wall time per packet in the first half minute from the first packet on, ns; what a shorter trial has not "
            "run of it counts as in its measured window",
            POSITIVE,
        ),
        "window": choice(
            ("whole", "young only"),
            "whether the measured window holds a complete cycle of the old generation; empty where nothing collects, "
            "and with option `plain`",
            nullable=True,
        ),
        "fill_packets": whole("packets that filled queue and store"),
        "disorder_bytes": number(
            "mean distance in memory of packets that the queue yields one after the other, at the start of the window, "
            "bytes: between packet objects, or headers where a packet is none; empty: no addresses"
        ),
        "drift_percent": number("second half of the measured window against the first, percent", None),
        **{name: whole(what) for name, what in COUNTS.items()},
        "checksum": text("hex, over what was parsed and stored", nullable=True),
        "allocated_bytes": whole(
            "bytes the measuring thread allocated on the Java heap in the measured window; empty for C++"
        ),
        "peak_rss_mb": number("peak resident memory, MiB", POSITIVE),
        "live_objects": whole("objects on the heap after a full collection; block 0 only", POSITIVE),
        "huge_pages_mb": number("memory on huge pages at the end, as granted by the kernel, MiB"),
        "region_mb": number("the one region of layout slab, MiB", POSITIVE),
        "allocator_version": text("version of the allocator, by its own account", nullable=True),
        **tidy.GC_COLUMNS,
    },
    strict=True,
    coerce=True,
)

ITERATIONS = DataFrameSchema(
    {
        "trial_id": text("trial that the iteration belongs to"),
        "iteration": Column("int64", COUNT, description="number within its phase, from 0"),
        "phase": choice(["fill", "warmup", "measured"], "part of the trial"),
        "start_ns": Column("int64", COUNT, description="CLOCK_MONOTONIC at the start, ns"),
        "end_ns": Column("int64", COUNT, description="CLOCK_MONOTONIC at the end, ns"),
        "packets": Column("int64", COUNT, description="packets received"),
        "ns_per_packet": Column("float64", POSITIVE, description="wall time per packet, ns"),
    },
    strict=True,
    coerce=True,
)

SCHEMAS = {"trials": TRIALS, "iterations": ITERATIONS, "cpu": tidy.CPU}


def packets_columns(record: TrialRecord) -> Row:
    """Return the columns that name the configuration of a trial."""
    spec = record.spec
    row = {key: spec[key] for key in PACKETS_COLUMNS if key != "configuration"}
    return {**row, "configuration": _label_of(tuple((key, spec[key]) for key in Configuration.model_fields))}


@cache
def _label_of(settings: tuple[tuple[str, Any], ...]) -> str:
    return Configuration(**dict(settings)).label


def laps_row(row: Mapping[str, Any], packets: int | None, asked: float) -> Row:
    """Return the columns on laps of a trial whose measured window held so many packets; ``row`` has its sizes."""
    if pd.isna(packets) or packets is None:
        return dict.fromkeys(LAPS_COLUMNS)
    laps = packets / lap_packets(row["pool_size"], row["queue_size"], row["stored_count"], row["pool_reuse"])
    return {"laps": laps, "too_short": bool(laps < asked)}


def batch_rows(record: TrialRecord) -> tidy.Tables:
    """Return the rows of one batch trial in tables ``trials``, ``iterations`` and ``cpu``."""
    trial = tidy.read_trial(record, BatchMeasurement)
    by_thread = record.spec["control"] != "plain"  # of a process of its own the collector's share is not known
    return {
        "trials": [batch_row(trial)],
        "iterations": _iteration_columns(trial),
        "cpu": tidy.cpu_rows(record, trial.measurement["cpu"]) if by_thread and trial.measurement else [],
    }


def batch_row(trial: tidy.Trial[BatchMeasurement]) -> Row:
    """Return the row of one batch trial in table ``trials``."""
    record, found = trial.record, trial.measurement
    row: Row = {**tidy.trial_row(record), **packets_columns(record), "peak_rss_mb": trial.peak_rss_mb}
    if found is None:
        return row
    windows, warm_up, cycles = found["iterations"], found.get("warm_up"), found.get("old_cycles")
    measured = windows["measured"]
    packets = sum([count for _, _, count in measured])
    start_ns, end_ns = measured[0][0], measured[-1][1]
    gc = tidy.gc_row(record, start_ns, end_ns)
    laps = laps_row(row, packets, record.spec["min_laps"])
    laps["too_short"] |= gc["gc_collections"] is not None and gc["gc_collections"] < record.spec["min_collections"]
    row |= tidy.pick(TRIALS.columns, found, found["counts"], found["memory"]) | laps | gc
    row |= {
        "packets": packets,
        "seconds": (end_ns - start_ns) / 1e9,
        "iterations": len(measured),
        "ns_per_packet": tidy.ns_per_item(measured),
        "cpu_ns_per_packet": found["cpu"]["process_ns"] / packets,
        "warmup_ns_per_packet": tidy.ns_per_item(windows["warmup"] or windows["fill"]),
        "drift_percent": tidy.drift_percent(measured),
        "warm_up": warm_up and warm_up["ended_by"],
        "window": None if cycles is None else "whole" if cycles else "young only",
    }
    if warm_up or record.spec["control"] == "plain":
        row["start_ns_per_packet"] = cost_since_start(windows, FIRST_NS)
    if warm_up:
        row |= {"warmup_packets": warm_up["packets"], "warmup_collections": warm_up["collections"]}
    return row


FIRST_NS = 30 * 10**9
"""Half a minute: long enough for G1's controllers to learn, short enough for a reader to notice."""


def cost_since_start(windows: Phases, first_ns: int) -> float | None:
    """Return the wall time per packet of the first ``first_ns`` since the first packet, ns; what a shorter trial has
    not run of it counts at the cost of its measured window."""
    steady = tidy.ns_per_item(windows["measured"])
    if steady is None:
        return None
    packets, spent_ns = 0.0, 0
    for start_ns, end_ns, count in [*windows["fill"], *windows["warmup"], *windows["measured"]]:
        share = min(1.0, (first_ns - spent_ns) / max(1, end_ns - start_ns))
        packets += share * count
        spent_ns += round(share * (end_ns - start_ns))
        if spent_ns >= first_ns:
            return first_ns / packets
    return first_ns / (packets + (first_ns - spent_ns) / steady)


def cost_of(record: TrialRecord) -> float | None:
    """Return the wall time of a packet of a batch trial, ns; None for other trials."""
    windows = (record.measurement or {}).get("iterations")
    return tidy.ns_per_item(windows["measured"]) if record.spec["mode"] == "batch" and windows else None


def _iteration_columns(trial: tidy.Trial[BatchMeasurement]) -> Columns:
    windows: Mapping[str, Any] = trial.measurement["iterations"] if trial.measurement else {}
    rows = [
        (trial.record.trial_id, place, phase, start_ns, end_ns, packets, (end_ns - start_ns) / packets)
        for phase in ("fill", "warmup", "measured")
        for place, (start_ns, end_ns, packets) in enumerate(windows.get(phase, ()))
        if packets
    ]
    return {name: [row[place] for row in rows] for place, name in enumerate(ITERATIONS.columns)}


def tidy_batch(records: Sequence[TrialRecord]) -> dict[str, pd.DataFrame]:
    """Return tables ``trials``, ``iterations`` and ``cpu`` of these trials, checked against their schemas."""
    return tidy.frames(records, batch_rows, SCHEMAS)


def summarise_batch(record: TrialRecord) -> dict[str, Any]:
    """Return one trial as plain data: the row of table ``trials`` with its counts in one place."""
    trial = tidy.read_trial(record, BatchMeasurement)
    row, measured = batch_row(trial), trial.measurement["iterations"]["measured"] if trial.measurement else []
    counts = {name: row.pop(name, None) for name in COUNTS}
    costs = [(end_ns - start_ns) / packets for start_ns, end_ns, packets in measured if packets]
    return {**row, "counts": counts, "iteration_ns_per_packet": costs}
