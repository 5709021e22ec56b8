"""Tidy tables of the real-time study: searches and their probes; trials with bursts, slips, samples and delays."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from pandera.pandas import Check, Column, DataFrameSchema

from allocpool import stats
from allocpool.campaign.tidy import (
    COUNT,
    GC_COLUMNS,
    POSITIVE,
    TRIAL_COLUMNS,
    frame,
    gc_row,
    text,
    top_level_pauses,
    trial_row,
)
from allocpool.packets.columns import COUNTS, PACKETS_COLUMNS, packets_columns
from allocpool.packets.specs import scaled_heap_mb
from allocpool.studies.realtime import delays
from allocpool.trial.record import GC_LOG, TrialRecord

_TRIAL_ID = text("trial that the row belongs to")
_HEAP_FACTOR = Column("Float64", POSITIVE, nullable=True, description="heap over the published one at this scale")
_INPUT_QUEUE = Column("float64", POSITIVE, description="ticks that the input queue holds, as time, ms")
_TICKS = {
    "generated": Column("Int64", COUNT, nullable=True, description="ticks of the source after the warm-up"),
    "received": Column("Int64", COUNT, nullable=True, description="of these, taken by the consumer"),
    "lost": Column("Int64", COUNT, nullable=True, description="of these, lost to a full input queue"),
    "left": Column("Int64", COUNT, nullable=True, description="of these, still queued at the end"),
    "lost_ppm": Column("Float64", COUNT, nullable=True, description="lost of a million generated"),
    "lost_low_ppm": Column(
        "Float64", COUNT, nullable=True, description="exact binomial (Clopper-Pearson) interval of 95 %: low end"
    ),
    "lost_high_ppm": Column("Float64", COUNT, nullable=True, description="its high end"),
    "bursts": Column("Int64", COUNT, nullable=True, description="runs of losses at most 1 ms apart"),
    "slips": Column("Int64", COUNT, nullable=True, description="times that the source itself did not run for 20 us"),
    "slip_total_ms": Column("Float64", COUNT, nullable=True, description="their total, ms"),
    "slip_max_ms": Column("Float64", COUNT, nullable=True, description="the longest of them, ms"),
    "majors": Column("Int64", COUNT, nullable=True, description="major collections after the warm-up"),
    "cap_reached": Column(
        "boolean", nullable=True, description="the longest length ended the trial before three major collections"
    ),
}

_DELAYS = {
    f"delay_{name.replace('.', '_')}_us": Column(
        "Float64", COUNT, nullable=True, description=f"delay from due time to consumption, {name}, us"
    )
    for name in delays.SUMMARY
}

TRIALS = DataFrameSchema(
    {
        **TRIAL_COLUMNS,
        **PACKETS_COLUMNS,
        "heap_factor": _HEAP_FACTOR,
        "interval_ns": Column("float64", POSITIVE, description="time between ticks, ns"),
        "input_queue_ms": _INPUT_QUEUE,
        "stall_ms": Column("float64", COUNT, description="stop of the consumer on purpose, ms"),
        "seconds": Column("Float64", COUNT, nullable=True, description="length after the warm-up, s"),
        **_TICKS,
        **_DELAYS,
        "cpu_ns_per_packet": Column(
            "Float64",
            POSITIVE,
            nullable=True,
            description="CPU time of all threads per tick received, source included, ns",
        ),
        "clock_is_tsc": Column("boolean", nullable=True, description="the source read the time-stamp counter"),
        "clock_drift_ppm": Column("Float64", nullable=True, description="its rate against its calibration"),
        **{
            f"packets_{name}": Column("Int64", COUNT, nullable=True, description=f"{what}, with prologue and warm-up")
            for name, what in COUNTS.items()
        },
        "checksum": Column("string", nullable=True, description="hex, over what was parsed and stored"),
        "peak_rss_mb": Column("Float64", POSITIVE, nullable=True, description="peak resident memory, MiB"),
        **GC_COLUMNS,
    },
    strict=True,
    coerce=True,
)

SEARCHES = DataFrameSchema(
    {
        **TRIAL_COLUMNS,
        **PACKETS_COLUMNS,
        "heap_factor": _HEAP_FACTOR,
        "input_queue_ms": _INPUT_QUEUE,
        "low_ns": Column("float64", POSITIVE, description="smallest interval tried, ns"),
        "high_ns": Column("float64", POSITIVE, description="largest interval tried, ns"),
        "resolution": Column("float64", POSITIVE, description="width of a bracket over its larger end"),
        "ndr_ns": Column("Float64", POSITIVE, nullable=True, description="smallest interval without a loss, ns"),
        "ndr_fails_ns": Column("Float64", POSITIVE, nullable=True, description="largest interval that fails, ns"),
        "pdr_ns": Column(
            "Float64", POSITIVE, nullable=True, description="smallest interval that loses 200 ppm at most, ns"
        ),
        "pdr_fails_ns": Column("Float64", POSITIVE, nullable=True, description="largest interval that loses more, ns"),
        "compared_ns": Column(
            "Float64", POSITIVE, nullable=True, description="where none passes: another interval, ns"
        ),
        "compared_lost_ppm": Column("Float64", COUNT, nullable=True, description="lost of a million at that one"),
        "compared_lost_low_ppm": Column(
            "Float64", COUNT, nullable=True, description="exact binomial interval: low end"
        ),
        "compared_lost_high_ppm": Column(
            "Float64", COUNT, nullable=True, description="exact binomial interval: high end"
        ),
        "larger_heap_factor": Column(
            "Float64", POSITIVE, nullable=True, description="where none passes: a second heap, over the published one"
        ),
        "larger_heap_lost_ppm": Column(
            "Float64", COUNT, nullable=True, description="lost of a million at compared_ns with the second heap"
        ),
        "larger_heap_lost_low_ppm": Column(
            "Float64", COUNT, nullable=True, description="exact binomial interval: low end"
        ),
        "larger_heap_lost_high_ppm": Column(
            "Float64", COUNT, nullable=True, description="exact binomial interval: high end"
        ),
        "larger_heap_gap": Column("string", nullable=True, description="why the second heap could not be had"),
        "probes": Column("Int64", COUNT, nullable=True, description="measurements of all kinds"),
        "full_trials": Column("Int64", COUNT, nullable=True, description="of these, of full length in a fresh process"),
        "caps_reached": Column(
            "Int64", COUNT, nullable=True, description="of these, ended before three major collections"
        ),
        "slowed_trials": Column(
            "Int64", COUNT, nullable=True, required=False, description="of these, lost while the machine was slowed"
        ),
        "search_seconds": Column("Float64", POSITIVE, nullable=True, description="the whole search, s"),
        "grid_trials": Column(
            "Int64", COUNT, nullable=True, description="points of a fixed grid of the same resolution"
        ),
        "grid_seconds": Column(
            "Float64", POSITIVE, nullable=True, description="what the grid would take in trials of full length, s"
        ),
        "peak_rss_mb": Column("Float64", POSITIVE, nullable=True, description="peak resident memory of a worker, MiB"),
    },
    strict=True,
    coerce=True,
)

PROBES = DataFrameSchema(
    {
        "trial_id": _TRIAL_ID,
        "probe": Column("int64", COUNT, description="number within the search, from 0"),
        "kind": Column(
            "string",
            Check.isin(["probe", "full", "compared", "larger heap"]),
            description="bracketing probe in the one warm process, or full length in a fresh one; the last two: loss "
            "at another interval where none passes, with both heaps",
        ),
        "interval_ns": Column("float64", POSITIVE, description="time between ticks, ns"),
        "seconds": Column("float64", COUNT, description="length after the warm-up, s"),
        "wall_s": Column("float64", COUNT, description="with all that it took around, s"),
        "pace": Column(
            "Float64",
            POSITIVE,
            nullable=True,
            required=False,
            description="time of a fixed piece of work just before or after, the longer, over the shortest ever here",
        ),
        **_TICKS,
    },
    strict=True,
    coerce=True,
)

BURSTS = DataFrameSchema(
    {
        "trial_id": _TRIAL_ID,
        "burst": Column("int64", COUNT, description="number within the trial, from 0"),
        "start_ns": Column("int64", COUNT, description="first loss, CLOCK_MONOTONIC, ns"),
        "end_ns": Column("int64", COUNT, description="last loss, CLOCK_MONOTONIC, ns"),
        "start_s": Column("float64", description="first loss after the warm-up's end, s"),
        "end_s": Column("float64", description="last loss after the warm-up's end, s"),
        "lost": Column("int64", COUNT, description="ticks lost"),
        "beside": Column(
            "string",
            Check.isin(["pause", "slip", "none"]),
            description="what took at least half of the input queue's time just before and during the burst",
        ),
    },
    strict=True,
    coerce=True,
)

SLIPS = DataFrameSchema(
    {
        "trial_id": _TRIAL_ID,
        "start_s": Column("float64", description="last clock reading before, after the warm-up's end, s"),
        "start_ns": Column("int64", COUNT, description="the same, CLOCK_MONOTONIC, ns"),
        "length_ns": Column("int64", COUNT, description="how long the source did not run, ns"),
    },
    strict=True,
    coerce=True,
)

SAMPLES = DataFrameSchema(
    {
        "trial_id": _TRIAL_ID,
        "end_s": Column("float64", description="end of the stretch, after the warm-up's end, s"),
        "seconds": Column("float64", POSITIVE, description="length of the stretch, s"),
        "generated": Column("int64", COUNT, description="ticks generated in it"),
        "lost": Column("int64", COUNT, description="of these, lost"),
    },
    strict=True,
    coerce=True,
)

DELAYS = DataFrameSchema(
    {
        "trial_id": _TRIAL_ID,
        "percentile": Column("float64", Check.in_range(0, 100), description="of all ticks received after the warm-up"),
        "delay_us": Column("float64", COUNT, description="delay from due time to consumption, us"),
    },
    strict=True,
    coerce=True,
)

PAUSES = DataFrameSchema(
    {
        "trial_id": _TRIAL_ID,
        "start_s": Column("float64", description="start of a stop-the-world pause, after the warm-up's end, s"),
        "start_ns": Column("int64", COUNT, description="the same, CLOCK_MONOTONIC, ns"),
        "length_ns": Column("int64", COUNT, description="its length, ns"),
    },
    strict=True,
    coerce=True,
)

SCHEMAS = {
    "searches": SEARCHES, "probes": PROBES, "trials": TRIALS, "bursts": BURSTS, "slips": SLIPS, "samples": SAMPLES,
    "delays": DELAYS, "pauses": PAUSES,
}  # fmt: skip


def exact_ppm(lost: int, generated: int) -> tuple[float, float]:
    """Exact binomial interval of 95 % of the share of losses, in parts per million.

    It is exact for ticks that are lost independently. Losses come in bursts, so it says how finely a trial could see,
    not how far the next trial may lie.
    """
    low, high = stats.binomial_bounds(lost, generated)
    return low * 1e6, high * 1e6


def tick_columns(figures: dict[str, Any], told: dict[str, Any]) -> dict[str, Any]:
    """The columns on ticks of one measured stretch; ``told`` holds what was seen of the collector."""
    generated, lost = figures["generated"], figures["lost"]
    low, high = exact_ppm(lost, generated) if generated else (None, None)
    return {
        **{name: figures[name] for name in ("generated", "received", "lost", "left", "bursts", "slips")},
        "lost_ppm": 1e6 * lost / generated if generated else None,
        "lost_low_ppm": low,
        "lost_high_ppm": high,
        "slip_total_ms": figures["slip_total_ns"] / 1e6,
        "slip_max_ms": figures["slip_max_ns"] / 1e6,
        "majors": told["majors"],
        "cap_reached": told["cap_reached"],
    }


def seconds_of(figures: dict[str, Any]) -> float:
    """Length of a measured stretch; 0 when the source was stopped inside the warm-up."""
    return max(0.0, float(figures["end_ns"] - figures["start_ns"]) / 1e9)


def _heap_factor(spec: dict[str, Any], heap_mb: int | None) -> float | None:
    return heap_mb / scaled_heap_mb(spec["layout"], spec["collector"], spec["scale"]) if heap_mb else None


def _live_columns(record: TrialRecord) -> dict[str, Any]:
    spec = record.spec
    return {
        **trial_row(record),
        **packets_columns(record),
        "heap_factor": _heap_factor(spec, spec["heap_mb"]),
        "input_queue_ms": spec["input_queue_ms"],
    }


def trial_columns(record: TrialRecord) -> dict[str, Any]:
    """The row of one real-time trial in table ``trials``."""
    row = {**_live_columns(record), "interval_ns": record.spec["interval_ns"], "stall_ms": record.spec["stall_ms"]}
    measured = record.measurement or {}
    row["peak_rss_mb"] = measured.get("peak_rss_mb")
    if "figures" not in measured:
        return row
    figures = measured["figures"]
    found = delays.percentiles_us(measured["delays"], list(delays.SUMMARY.values()))
    return {
        **row,
        "seconds": seconds_of(figures),
        **tick_columns(figures, measured),
        **dict(zip(_DELAYS, found, strict=True)),
        "cpu_ns_per_packet": measured["cpu"]["process_ns"] / max(1, measured["consumption"]["received"]),
        "clock_is_tsc": bool(measured["account"]["clock_is_tsc"]),
        "clock_drift_ppm": measured["account"]["clock_drift_ppm"],
        **{f"packets_{name}": count for name, count in measured["counts"].items()},
        "checksum": measured["checksum"],
        **gc_row(record, figures["start_ns"], figures["end_ns"]),
    }


def _lost(name: str, figures: dict[str, Any]) -> dict[str, float]:
    low, high = exact_ppm(figures["lost"], figures["generated"])
    lost_ppm = 1e6 * figures["lost"] / figures["generated"]
    return {f"{name}_lost_ppm": lost_ppm, f"{name}_lost_low_ppm": low, f"{name}_lost_high_ppm": high}


def search_columns(record: TrialRecord) -> dict[str, Any]:
    """The row of one search in table ``searches``."""
    spec = record.spec
    row = {**_live_columns(record), **{name: spec[name] for name in ("low_ns", "high_ns", "resolution")}}
    measured = record.measurement or {}
    row["peak_rss_mb"] = measured.get("peak_rss_mb")
    if "probes" not in measured:
        return row
    probes = measured["probes"]
    for goal in ("ndr", "pdr"):
        row[f"{goal}_fails_ns"], row[f"{goal}_ns"] = measured[f"{goal}_bracket"]
    for probe in probes:
        if probe["kind"] == "compared":
            row |= {"compared_ns": probe["interval_ns"], **_lost("compared", probe["figures"])}
        elif probe["kind"] == "larger heap":
            row |= {"larger_heap_factor": _heap_factor(spec, spec["larger_heap_mb"])}
            row |= _lost("larger_heap", probe["figures"])
    row["larger_heap_gap"] = measured["larger_heap_gap"]
    full = [probe for probe in probes if probe["kind"] != "probe"]
    return {
        **row,
        "probes": len(probes),
        "full_trials": len(full),
        "caps_reached": sum(probe["cap_reached"] for probe in full),
        "slowed_trials": measured.get("slowed_trials"),
        "search_seconds": measured["seconds"],
        "grid_trials": measured["grid_trials"],
        "grid_seconds": measured["grid_seconds"],
    }


def probe_rows(record: TrialRecord) -> list[dict[str, Any]]:
    """The rows of one search in table ``probes``."""
    return [
        {
            "trial_id": record.trial_id, "probe": number, "kind": probe["kind"], "interval_ns": probe["interval_ns"],
            "seconds": seconds_of(probe["figures"]), "wall_s": probe["wall_s"], "pace": probe.get("pace"),
            **tick_columns(probe["figures"], probe),
        }
        for number, probe in enumerate((record.measurement or {}).get("probes", []))
    ]  # fmt: skip


def _overlap_ns(events: Sequence[Sequence[int]], start_ns: int, end_ns: int) -> int:
    return sum(max(0, min(at + length, end_ns) - max(at, start_ns)) for at, length in events)


class _Timeline:
    """The events of one trial, on an axis that starts where the warm-up ends."""

    def __init__(self, record: TrialRecord) -> None:
        self.record = record
        self.measured = record.measurement or {}
        self.figures = self.measured["figures"]
        log = Path(record.directory) / GC_LOG
        self.pauses = top_level_pauses(log) if log.exists() and log.stat().st_size else []

    def at_s(self, at_ns: int) -> float:
        return float(at_ns - self.figures["start_ns"]) / 1e9

    def bursts(self) -> list[dict[str, Any]]:
        queue_ns = self.record.spec["input_queue_ms"] * 1e6
        measured = [burst for burst in self.measured["bursts"] if burst[0] >= self.measured["warmup_ticks"]]
        rows = []
        for number, (_, _, start_ns, end_ns, lost) in enumerate(measured):
            # What filled the queue began about as long before the first loss as the queue lasts.
            window = (round(start_ns - 1.5 * queue_ns), end_ns)
            beside = "none"
            for name, events in (("pause", self.pauses), ("slip", self.measured["slips"])):
                if beside == "none" and _overlap_ns(events, *window) >= queue_ns / 2:
                    beside = name
            rows.append({
                "trial_id": self.record.trial_id, "burst": number, "start_ns": start_ns, "end_ns": end_ns,
                "start_s": self.at_s(start_ns), "end_s": self.at_s(end_ns), "lost": lost, "beside": beside,
            })  # fmt: skip
        return rows

    def events(self, events: Sequence[Sequence[int]]) -> list[dict[str, Any]]:
        return [
            {"trial_id": self.record.trial_id, "start_s": self.at_s(at), "start_ns": at, "length_ns": length}
            for at, length in events
            if self.figures["start_ns"] <= at < self.figures["end_ns"]
        ]

    def samples(self) -> list[dict[str, Any]]:
        rows = []
        before = [self.measured["account"]["t0_ns"], 0, 0]
        for sample in self.measured["samples"]:
            if sample[0] > before[0]:
                rows.append({
                    "trial_id": self.record.trial_id, "end_s": self.at_s(sample[0]),
                    "seconds": (sample[0] - before[0]) / 1e9, "generated": sample[1] - before[1],
                    "lost": sample[2] - before[2],
                })  # fmt: skip
                before = sample
        return rows

    def delays(self) -> list[dict[str, Any]]:
        if not self.measured["delays"]:
            return []
        found = delays.percentiles_us(self.measured["delays"], delays.PERCENTILES)
        return [
            {"trial_id": self.record.trial_id, "percentile": percentile, "delay_us": delay_us}
            for percentile, delay_us in zip(delays.PERCENTILES, found, strict=True)
        ]


def tidy_realtime(records: Sequence[TrialRecord]) -> dict[str, pd.DataFrame]:
    """The tables of these trials, checked against their schemas."""
    searches = [record for record in records if record.spec["mode"] == "search"]
    trials = [record for record in records if record.spec["mode"] == "realtime"]
    lines = [_Timeline(record) for record in trials if "figures" in (record.measurement or {})]
    rows: dict[str, list[dict[str, Any]]] = {
        "searches": [search_columns(record) for record in searches],
        "probes": [row for record in searches for row in probe_rows(record)],
        "trials": [trial_columns(record) for record in trials],
        "bursts": [row for line in lines for row in line.bursts()],
        "slips": [row for line in lines for row in line.events(line.measured["slips"])],
        "samples": [row for line in lines for row in line.samples()],
        "delays": [row for line in lines for row in line.delays()],
        "pauses": [row for line in lines for row in line.events(line.pauses)],
    }
    return {name: frame(rows[name], schema) for name, schema in SCHEMAS.items()}
