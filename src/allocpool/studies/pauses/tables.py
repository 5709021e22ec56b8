"""Tidy tables of the study on pauses: what stopped each trial, and what stood beside each burst of losses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from pandera.pandas import Check, Column, DataFrameSchema

from allocpool.campaign.tidy import (
    COUNT,
    CPU,
    POSITIVE,
    TRIAL_COLUMNS,
    TRIAL_ID,
    Row,
    Rows,
    choice,
    cpu_rows,
    frames,
    number,
    read_trial,
    text,
    trial_row,
    whole,
)
from allocpool.gclog import minimum_mutator_utilisation
from allocpool.packets.columns import PACKETS_COLUMNS, TRIALS, batch_row, packets_columns
from allocpool.packets.measurement import BatchMeasurement
from allocpool.studies.pauses.attribution import ALL_CAUSES, attribute
from allocpool.studies.pauses.measurement import DisturbedMeasurement
from allocpool.studies.pauses.specs import DISTURBANCES
from allocpool.studies.realtime.measurement import LiveMeasurement, RealtimeMeasurement
from allocpool.studies.realtime.tables import INPUT_QUEUE, TICKS, measured_bursts, seconds_of
from allocpool.trial.record import TrialRecord
from allocpool.trial.stops import CONSUMER, Intervals, Pause, Stops, stops_of

WINDOWS_MS = tuple(float(f"{value:.3g}") for value in np.geomspace(0.1, 10_000.0, 41))
"""Lengths of the windows of a utilisation curve."""
COUNTED = ("pauses", "all stops")
FORCED = "Heap Inspection Initiated GC"
"""Cause of the collection that counts the living objects after the measured part."""
_LOST = ("realtime", "disturbed")
"""Modes of trials that can lose packets; all others are batch trials."""

COLLECTIONS = DataFrameSchema(
    {
        "trial_id": Column("string", unique=True, description="trial that the row belongs to"),
        "window_s": Column("float64", POSITIVE, description="length of the measured window, s"),
        "collections": Column("int64", COUNT, description="collections that paused in the measured window"),
        "pauses": Column("int64", COUNT, description="stop-the-world pauses in the measured window"),
        "pause_total_ms": Column("float64", COUNT, description="their total, ms"),
        "pause_mean_ms": number("their mean, ms; empty without any"),
        "pause_max_ms": Column("float64", COUNT, description="the longest of them, ms"),
        "safepoints": Column("int64", COUNT, description="safepoints in the measured window, collections or not"),
        "safepoint_total_ms": Column("float64", COUNT, description="their total with the time to reach them, ms"),
        "time_to_safepoint_total_ms": Column("float64", COUNT, description="of it, until the last thread stood, ms"),
        "time_to_safepoint_max_ms": Column("float64", COUNT, description="the longest of these, ms"),
        "stalls": Column("int64", COUNT, description="waits of the consumer's thread for memory"),
        "stall_total_ms": Column("float64", COUNT, description="their total, ms"),
        "left_mb": number(
            "what young collections of the window leave on the heap beside what the one before left, MB, mean; empty "
            "below two, and of an older version",
            None,
        ),
        "forced_full_ms": number("full pause that counted the objects after the measured part, ms", POSITIVE),
        "unread_lines": Column("int64", COUNT, description="lines about stopped threads that were not understood"),
        "violations": Column("int64", COUNT, description="lines of the log that contradict each other"),
    },
    strict=True,
    coerce=True,
)  # fmt: skip

PAUSES = DataFrameSchema(
    {
        "trial_id": TRIAL_ID,
        "start_s": Column("float64", description="start of a pause, after that of the measured window, s"),
        "duration_ms": Column("float64", COUNT, description="its length, ms"),
        "kind": text("kind of pause, in the collector's words"),
        "cause": text("cause, in the collector's words; empty where it gives none"),
    },
    strict=True,
    coerce=True,
)

UTILISATION = DataFrameSchema(
    {
        "trial_id": TRIAL_ID,
        "counted": choice(
            COUNTED, "pauses alone, or also safepoints, the time to reach them, and stalls of the consumer"
        ),
        "window_ms": Column("float64", POSITIVE, description="length of the window, ms"),
        "utilisation": Column(
            "float64", Check.in_range(0, 1), description="least share of any such window left to the program"
        ),
    },
    strict=True,
    coerce=True,
)  # fmt: skip

LOSSES = DataFrameSchema(
    {
        **TRIAL_COLUMNS,
        **PACKETS_COLUMNS,
        "interval_ns": Column("float64", POSITIVE, description="time between ticks, ns"),
        "input_queue_ms": INPUT_QUEUE,
        "disturbance": choice(DISTURBANCES, "what stopped it on purpose", nullable=True),
        "disturbed_at_s": number("when that began, after the warm-up's end, s", None),
        "disturbed_ms": number("how long that took, ms"),
        "seconds": number("length after the warm-up, s"),
        **{name: TICKS[name] for name in ("generated", "lost", "bursts")},
        "unread_lines": whole("lines of its log that were not understood"),
    },
    strict=True,
    coerce=True,
)

BURSTS = DataFrameSchema(
    {
        "trial_id": TRIAL_ID,
        "burst": Column("int64", COUNT, description="number within the trial, from 0"),
        "start_s": Column("float64", description="first loss after the warm-up's end, s"),
        "end_s": Column("float64", description="last loss after the warm-up's end, s"),
        "lost": Column("int64", COUNT, description="ticks lost"),
        "cause": choice(ALL_CAUSES, "what has the largest share of its window"),
    },
    strict=True,
    coerce=True,
)

ATTRIBUTION = DataFrameSchema(
    {
        "trial_id": TRIAL_ID,
        "burst": Column("int64", COUNT, description="number within the trial, from 0"),
        "cause": choice(ALL_CAUSES, "what overlapped the burst's window"),
        "share": Column("float64", Check.in_range(0, 1 + 1e-9), description="its share of that window"),
        "lost": Column("float64", COUNT, description="the same share of the ticks lost"),
    },
    strict=True,
    coerce=True,
)

SCHEMAS = {
    "trials": TRIALS, "collections": COLLECTIONS, "pauses": PAUSES, "utilisation": UTILISATION, "cpu": CPU,
    "losses": LOSSES, "bursts": BURSTS, "attribution": ATTRIBUTION,
}  # fmt: skip


def _ms(durations_ns: Sequence[int]) -> tuple[float, float]:
    """Total and largest, ms."""
    return sum(durations_ns) / 1e6, max(durations_ns, default=0) / 1e6


def left_mb(pauses: Sequence[Pause]) -> float | None:
    """What young collections leave on the heap beside what the one before left, mean, MB; a full one between two starts
    anew. None below two of them, or where the log does not tell."""
    left: list[float] = []
    before: float | None = None
    for pause in pauses:
        after = pause.heap_after_mb if pause.kind.startswith("Young") else None
        if after is not None and before is not None:
            left.append(after - before)
        before = after
    return sum(left) / len(left) if left else None


class _Measured:
    """One batch trial with a log: its measured window and what stopped it there."""

    def __init__(self, trial_id: str, measurement: BatchMeasurement, stops: Stops) -> None:
        measured = measurement["iterations"]["measured"]
        self.trial_id, self.stops = trial_id, stops
        self.start_ns, self.end_ns = measured[0][0], measured[-1][1]
        self.pauses = [pause for pause in stops.pauses if self._holds(pause.start_ns)]

    def _holds(self, at_ns: int) -> bool:
        return self.start_ns <= at_ns < self.end_ns

    def collections(self) -> Row:
        safepoints = [stop for stop in self.stops.safepoints if self._holds(stop.start_ns)]
        stalls = [stop for stop in self.stops.stalls if self._holds(stop.start_ns) and stop.thread == CONSUMER]
        total_ms, max_ms = _ms([pause.duration_ns for pause in self.pauses])
        reaching_ms, reaching_max_ms = _ms([stop.reaching_ns for stop in safepoints])
        forced = [
            pause.duration_ns for pause in self.stops.pauses
            if pause.start_ns >= self.end_ns and pause.cause == FORCED and pause.kind.startswith("Full")
        ]  # fmt: skip
        return {
            "trial_id": self.trial_id,
            "window_s": (self.end_ns - self.start_ns) / 1e9,
            "collections": len({pause.gc_id for pause in self.pauses} - {None}),
            "pauses": len(self.pauses),
            "pause_total_ms": total_ms,
            "pause_mean_ms": total_ms / len(self.pauses) if self.pauses else None,
            "pause_max_ms": max_ms,
            "safepoints": len(safepoints),
            "safepoint_total_ms": _ms([stop.duration_ns for stop in safepoints])[0],
            "time_to_safepoint_total_ms": reaching_ms,
            "time_to_safepoint_max_ms": reaching_max_ms,
            "stalls": len(stalls),
            "stall_total_ms": _ms([stall.duration_ns for stall in stalls])[0],
            "left_mb": left_mb(self.pauses),
            "forced_full_ms": forced[-1] / 1e6 if forced else None,
            "unread_lines": self.stops.unread,
            "violations": self.stops.violations,
        }

    def pause_rows(self) -> list[Row]:
        return [
            {
                "trial_id": self.trial_id, "start_s": (pause.start_ns - self.start_ns) / 1e9,
                "duration_ms": pause.duration_ns / 1e6, "kind": pause.kind, "cause": pause.cause,
            }
            for pause in self.pauses
        ]  # fmt: skip

    def utilisation(self) -> list[Row]:
        span = (self.start_ns, self.end_ns)
        windows = [window for window in WINDOWS_MS if window * 1e6 <= self.end_ns - self.start_ns]
        pauses = self.stops.pause_intervals()
        every = np.concatenate((pauses, self.stops.safepoint_intervals(), self.stops.stall_intervals()))
        return [
            {"trial_id": self.trial_id, "counted": counted, "window_ms": window, "utilisation": float(value)}
            for counted, stops in zip(COUNTED, (pauses, every), strict=True)
            for window, value in zip(windows, minimum_mutator_utilisation(stops, windows, span), strict=True)
        ]


def _batch_rows(record: TrialRecord) -> Rows:
    """The rows of one batch or live-set trial."""
    trial = read_trial(record, BatchMeasurement)
    rows = {"trials": [batch_row(trial)]}
    if trial.measurement is None:
        return rows
    rows["cpu"] = cpu_rows(record, trial.measurement["cpu"])
    if (stops := stops_of(record)) is not None:
        measured = _Measured(record.trial_id, trial.measurement, stops)
        rows["collections"] = [measured.collections()]
        rows["pauses"] = measured.pause_rows()
        rows["utilisation"] = measured.utilisation()
    return rows


def _known_events(spec: Mapping[str, Any], measured: LiveMeasurement, stops: Stops | None) -> dict[str, Intervals]:
    """What is known of a real-time trial, as `attribute` takes it."""
    slips = np.array(measured["slips"], np.int64).reshape(-1, 2)
    events: dict[str, Intervals] = {"source slip": np.column_stack((slips[:, 0], slips[:, 0] + slips[:, 1]))}
    if stalled_ns := measured["consumption"]["stalled_ns"]:
        at_s = spec.get("stall_at_s") or spec.get("disturb_at_s") or 0.0
        begin = measured["account"]["t0_ns"] + round((spec["warmup_seconds"] + at_s) * 1e9)
        events["stop on purpose"] = np.array([[begin, begin + stalled_ns]], np.int64)
    if stops is not None:
        events |= {
            "full or degenerated collection": stops.full_intervals(),
            "other pause": stops.pause_intervals(),
            "time to safepoint": stops.reaching_intervals(),
            "other safepoint": stops.standing_intervals(),
            "allocation stall": stops.stall_intervals(),
        }
    return events


def _loss_rows(record: TrialRecord) -> Rows:
    """The rows of one real-time or disturbed trial."""
    spec, stops = record.spec, stops_of(record)
    measured: LiveMeasurement | None
    disturbed: list[tuple[int, int]] = []
    if spec["mode"] == "disturbed":
        measured = disturbance = read_trial(record, DisturbedMeasurement).measurement
        disturbed = disturbance["disturbed"] if disturbance else []
    else:
        measured = read_trial(record, RealtimeMeasurement).measurement
    row = {
        **trial_row(record), **packets_columns(record), "interval_ns": spec["interval_ns"],
        "input_queue_ms": spec["input_queue_ms"], "disturbance": spec.get("disturbance"),
        "unread_lines": stops.unread if stops else None,
    }  # fmt: skip
    if measured is None:
        return {"losses": [row]}
    figures = measured["figures"]
    row |= {
        "seconds": seconds_of(figures),
        "generated": figures["generated"],
        "lost": figures["lost"],
        "bursts": figures["bursts"],
    }
    for begin_ns, end_ns in disturbed:
        row |= {"disturbed_at_s": (begin_ns - figures["start_ns"]) / 1e9, "disturbed_ms": (end_ns - begin_ns) / 1e6}
    # The source's thread ended before the window did, and told its own time.
    source = ("ap-source", measured["account"]["cpu_ns"])
    bursts, shares = _burst_rows(record, measured, stops)
    return {
        "losses": [row],
        "cpu": cpu_rows(record, measured["cpu"], source),
        "bursts": bursts,
        "attribution": shares,
    }


def _burst_rows(record: TrialRecord, measured: LiveMeasurement, stops: Stops | None) -> tuple[list[Row], list[Row]]:
    """The rows of one real-time trial in tables ``bursts`` and ``attribution``."""
    events = _known_events(record.spec, measured, stops)
    queue_ns, origin_ns = record.spec["input_queue_ms"] * 1e6, measured["figures"]["start_ns"]
    bursts, shares = [], []
    for place, burst in enumerate(measured_bursts(measured)):
        attribution = attribute(burst.start_ns, burst.end_ns, queue_ns, events)
        name = {"trial_id": record.trial_id, "burst": place}
        seconds = {"start_s": (burst.start_ns - origin_ns) / 1e9, "end_s": (burst.end_ns - origin_ns) / 1e9}
        bursts.append({**name, **seconds, "lost": burst.lost, "cause": attribution.cause})
        shares += [
            {**name, "cause": cause, "share": share, "lost": share * burst.lost}
            for cause, share in attribution.shares.items()
            if share > 0
        ]
    return bursts, shares


def _rows_of(record: TrialRecord) -> Rows:
    return _loss_rows(record) if record.spec["mode"] in _LOST else _batch_rows(record)


def tidy_pauses(records: Sequence[TrialRecord]) -> dict[str, pd.DataFrame]:
    """The tables of these trials, those of batch trials first, checked against their schemas."""
    ordered = sorted(records, key=lambda record: record.spec["mode"] in _LOST)
    return frames(ordered, _rows_of, SCHEMAS)


def summarise_disturbed(record: TrialRecord) -> dict[str, Any]:
    """One disturbed trial as plain data: its losses, and their shares by what stood beside them."""
    rows = _loss_rows(record)
    (row,) = rows["losses"]
    shares = rows.get("attribution", ())
    lost_by_cause = {cause: sum(share["lost"] for share in shares if share["cause"] == cause) for cause in ALL_CAUSES}
    whole_lost = sum(lost_by_cause.values())
    return {**row, "lost_by_cause": {cause: part / whole_lost for cause, part in lost_by_cause.items() if part}}
