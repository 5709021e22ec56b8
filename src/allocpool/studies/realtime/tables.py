"""Tidy tables of the real-time study: trials with bursts and samples; adaptive trials; the decision map; and the
batch trials of the same cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import pandas as pd
from pandera.pandas import Check, Column, DataFrameSchema

from allocpool import percentiles
from allocpool.campaign import tidy
from allocpool.campaign.tidy import COUNT, POSITIVE, Row, number, text, whole
from allocpool.packets.columns import COUNTS, LAPS_COLUMNS, PACKETS_COLUMNS, batch_row, laps_row, packets_columns
from allocpool.packets.columns import TRIALS as BATCH
from allocpool.packets.measurement import BatchMeasurement
from allocpool.packets.specs import options_on, scaled_heap_mb
from allocpool.runtimes.collectors import never_frees
from allocpool.studies.realtime.adaptive import Seen, seen_of
from allocpool.studies.realtime.measurement import Burst, Figures, LiveMeasurement, RealtimeMeasurement, Sample
from allocpool.studies.realtime.specs import INPUT_QUEUE_MS
from allocpool.trial.record import TrialRecord


def _flag(description: str) -> Column:
    """Return a column of truths that a trial without a measurement leaves empty."""
    return Column("boolean", nullable=True, description=description)


def _count(description: str) -> Column:
    return Column("int64", COUNT, description=description)


def _size(description: str, check: Check = POSITIVE) -> Column:
    return Column("float64", check, description=description)


def _schema(**columns: Column) -> DataFrameSchema:
    return DataFrameSchema(columns, strict=True, coerce=True)


INPUT_QUEUE = _size("ticks that the input queue holds, as time, ms")
TICKS = {
    "generated": whole("ticks of the source after the warm-up"),
    "received": whole("of these, taken by the consumer"),
    "lost": whole("of these, lost to a full input queue"),
    "left": whole("of these, still queued at the end"),
    "lost_ppm": number("lost of a million generated"),
    "bursts": whole("runs of losses at most 1 ms apart"),
    "source_stalls": whole("source stalls: times that the source did not run for 20 us"),
    "source_stall_total_ms": number("their total, ms"),
    "source_stall_max_ms": number("the longest of those that the trial had room to list, ms"),
    "majors": whole("major collections after the warm-up"),
    "cap_reached": _flag("the longest length ended the trial before three major collections"),
}

_DELAYS = {
    f"delay_{name.replace('.', '_')}_us": number(f"delay from due time to consumption, {name}, us")
    for name in percentiles.SUMMARY
}

TRIALS = _schema(
    **tidy.TRIAL_COLUMNS,
    **PACKETS_COLUMNS,
    heap_factor=number("heap over the published one at this scale", POSITIVE),
    interval_ns=_size("time between ticks, ns"),
    input_queue_ms=INPUT_QUEUE,
    queue_factor=number(
        "input queue over the published one at this scale; 1: the experiment is similar to it", POSITIVE
    ),
    intermediate_queue_ms=_size(
        "ticks that a queue in C++ between input queue and consumer holds, as time, ms; 0: none", COUNT
    ),
    stall_ms=_size("stop of the consumer on purpose, ms", COUNT),
    seconds=number("length after the warm-up, s"),
    **TICKS,
    **LAPS_COLUMNS,
    decides_long_pauses=_flag(
        "whether it can decide a claim about long queues or large heaps: its queue is no longer than itself and, where "
        "the collector has major collections, it saw one and ended before its cap"
    ),
    **_DELAYS,
    source_processor=whole("processor that the source was last seen on; empty: not known"),
    source_moves=whole("looks, one every 100 ms, that found it elsewhere than the one before"),
    consumer_processor=whole("processor that the consumer ended on"),
    consumer_moved=_flag("it began elsewhere"),
    consumer_preempted=whole("times that the system took the consumer's processor away"),
    pinned=_flag("both were tied to cores of their own"),
    shared_core=_flag("both were on hardware threads of one core"),
    prologue_ns_per_packet=number("wall time per packet by the batch path, before the source starts, ns", POSITIVE),
    cpu_ns_per_packet=number("CPU time of all threads per tick received, source included, ns", POSITIVE),
    clock_is_tsc=_flag("the source read the time-stamp counter"),
    clock_drift_ppm=number("its rate against its calibration", None),
    **{f"packets_{name}": whole(f"{what}, with prologue and warm-up") for name, what in COUNTS.items()},
    checksum=text("hex, over what was parsed and stored", nullable=True),
    peak_rss_mb=number("peak resident memory, MiB", POSITIVE),
    **tidy.GC_COLUMNS,
)

BURSTS = _schema(
    trial_id=tidy.TRIAL_ID,
    burst=_count("number within the trial, from 0"),
    start_ns=_count("first loss, after the warm-up's end, ns"),
    end_ns=_count("last loss, after the warm-up's end, ns"),
    lost=_count("ticks lost"),
)

SAMPLES = _schema(
    trial_id=tidy.TRIAL_ID,
    end_s=Column("float64", description="end of the window, after the warm-up's end, s"),
    seconds=_size("length of the window, s"),
    generated=_count("ticks generated in it"),
    lost=_count("of these, lost"),
)

SCHEMAS = {
    "trials": TRIALS, "bursts": BURSTS, "samples": SAMPLES, "batch": BATCH, "map": TRIALS, "adaptive": TRIALS,
    "changed": TRIALS,
}  # fmt: skip


def tick_columns(measured: LiveMeasurement) -> Row:
    """Return the columns on ticks of a measured window. Where a trial was too long to list all source stalls, they are
    counted by the source's counters; those of the warm-up came first, so they are listed."""
    figures, count = measured["figures"], measured["figures"]["slips"] + measured["slips_left_out"]
    total_ns = figures["slip_total_ns"]
    if measured["slips_left_out"]:
        before_ns = sum(length_ns for at_ns, length_ns in measured["slips"] if at_ns < figures["start_ns"])
        total_ns = measured["account"]["slip_total_ns"] - before_ns
    return {
        **tidy.pick(TICKS, measured, figures),
        "lost_ppm": 1e6 * figures["lost"] / figures["generated"] if figures["generated"] else None,
        "source_stalls": count, "source_stall_total_ms": total_ns / 1e6,
        "source_stall_max_ms": figures["slip_max_ns"] / 1e6,
    }  # fmt: skip


def seconds_of(figures: Figures) -> float:
    """Return the length of a measured window; 0 when the source was stopped inside the warm-up."""
    return max(0.0, float(figures["end_ns"] - figures["start_ns"]) / 1e9)


def measured_bursts(run: LiveMeasurement) -> list[Burst]:
    return [burst for burst in run["bursts"] if burst.start_sequence >= run["warmup_ticks"]]


def _queue_factor(row: Mapping[str, Any]) -> float:
    return float(row["input_queue_ms"]) / (INPUT_QUEUE_MS * float(row["scale"]))


def _decides_long_pauses(row: Mapping[str, Any]) -> bool:
    longest_ms = max(row["input_queue_ms"], row["intermediate_queue_ms"])
    lasts = longest_ms <= 1e3 * row["seconds"] * (1 + 1e-3)
    without_majors = row["language"] != "java" or never_frees(str(row["collector"]))
    return bool(lasts and (without_majors or (row["majors"] > 0 and not row["cap_reached"])))


def trial_columns(trial: tidy.Trial[RealtimeMeasurement]) -> Row:
    record, spec, measured = trial.record, trial.record.spec, trial.measurement
    usual_mb = scaled_heap_mb(spec["layout"], spec["collector"], spec["scale"]) if spec["heap_mb"] else None
    row = {
        **tidy.trial_row(record), **packets_columns(record),
        **tidy.pick(("interval_ns", "input_queue_ms", "intermediate_queue_ms", "stall_ms"), spec),
        "heap_factor": spec["heap_mb"] / usual_mb if usual_mb else None, "peak_rss_mb": trial.peak_rss_mb,
    }  # fmt: skip
    if measured is None:
        return row
    figures = measured["figures"]
    delays_us = percentiles.histogram_percentiles_us(measured["delays"], list(percentiles.SUMMARY.values()))
    row |= {
        "seconds": seconds_of(figures), **tick_columns(measured),
        **laps_row(row, figures["received"], spec["min_laps"]),
    }  # fmt: skip
    return {
        **row,
        "queue_factor": _queue_factor(row),
        "decides_long_pauses": _decides_long_pauses(row),
        **dict(zip(_DELAYS, delays_us, strict=True)),
        **measured["placement"],
        "prologue_ns_per_packet": tidy.ns_per_item(measured["prologue"]["warmup"]),
        "cpu_ns_per_packet": measured["cpu"]["process_ns"] / max(1, measured["consumption"]["received"]),
        "clock_is_tsc": bool(measured["account"]["clock_is_tsc"]),
        "clock_drift_ppm": measured["account"]["clock_drift_ppm"],
        **{f"packets_{name}": count for name, count in measured["counts"].items()},
        "checksum": measured["checksum"],
        **tidy.gc_row(record, figures["start_ns"], figures["end_ns"]),
    }


def is_of_map(record: TrialRecord) -> bool:
    """Return whether it is a trial of the decision map: these alone have one length, however many laps it holds."""
    return bool(record.spec["min_laps"] == 0)


def is_placed(record: TrialRecord) -> bool:
    """Return whether it is an adaptive trial of a cell: these alone have one length and wait for nothing, at the sizes
    of a case; and no consumer is stopped on purpose in them."""
    spec = record.spec
    if spec["mode"] != "realtime" or is_of_map(record) or spec["stall_ms"]:
        return False
    return bool(spec["cap_seconds"] == spec["seconds"] and spec["major_collections"] == 0)


ABOUT_ONE = 0.95, 1.05
"""Between these factors a heap or a queue is as published but for rounding."""


def is_about_one(factor: float) -> bool:
    return ABOUT_ONE[0] <= factor <= ABOUT_ONE[1]


@lru_cache(maxsize=1024)
def seen_in(record: TrialRecord) -> Seen | None:
    """Return what a trial of the decision map, or an adaptive one, shows of its boundary; None of any other trial."""
    if record.spec["mode"] != "realtime" or not (is_of_map(record) or is_placed(record)):
        return None
    measured = tidy.read_trial(record, RealtimeMeasurement).measurement
    if measured is None:
        return None
    latest_us = percentiles.histogram_percentiles_us(measured["delays"], [100.0])[0]
    sizes = tidy.pick(("queue_size", "stored_count", "interval_ns", "input_queue_ms"), record.spec)
    return seen_of(SimpleNamespace(**sizes, **tick_columns(measured), delay_max_us=latest_us))


def _event_rows(record: TrialRecord, measured: LiveMeasurement) -> tidy.Rows:
    """The bursts and samples of one trial, on an axis that starts where the warm-up ends."""
    name, start_ns = {"trial_id": record.trial_id}, measured["figures"]["start_ns"]
    bursts = [
        {**name, "burst": place, "start_ns": first - start_ns, "end_ns": last - start_ns, "lost": lost}
        for place, (_, _, first, last, lost) in enumerate(measured_bursts(measured))
    ]
    samples, before = [], Sample(measured["account"]["t0_ns"], 0, 0)
    for sample in measured["samples"]:
        if sample.time_ns > before.time_ns:
            samples.append({
                **name, "end_s": (sample.time_ns - start_ns) / 1e9, "seconds": (sample.time_ns - before.time_ns) / 1e9,
                "generated": sample.generated - before.generated, "lost": sample.lost - before.lost,
            })  # fmt: skip
            before = sample
    return {"bursts": bursts, "samples": samples}


def _rows_of(record: TrialRecord) -> tidy.Rows:
    if record.spec["mode"] == "batch":
        return {"batch": [batch_row(tidy.read_trial(record, BatchMeasurement))]}
    trial = tidy.read_trial(record, RealtimeMeasurement)
    row = trial_columns(trial)
    if is_of_map(record):
        return {"map": [row]}
    if is_placed(record):
        is_usual = is_about_one(row["heap_factor"] or 1.0) and is_about_one(_queue_factor(row))
        return {"adaptive" if is_usual and not options_on(SimpleNamespace(**row)) else "changed": [row]}
    return {"trials": [row], **(_event_rows(record, trial.measurement) if trial.measurement else {})}


def tidy_realtime(records: Sequence[TrialRecord]) -> dict[str, pd.DataFrame]:
    return tidy.frames(records, _rows_of, SCHEMAS)


def summarise_realtime(record: TrialRecord) -> dict[str, Any]:
    """Return a real-time trial as the row of table ``trials``, with delays and counts of packets each in one place."""
    trial = tidy.read_trial(record, RealtimeMeasurement)
    row = trial_columns(trial)
    counts = {name: row.pop(f"packets_{name}", None) for name in COUNTS}
    delay_us = {name: row.pop(column, None) for name, column in zip(percentiles.SUMMARY, _DELAYS, strict=True)}
    return {**row, "delay_us": delay_us if trial.measurement else None, "counts": counts}
