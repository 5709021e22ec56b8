"""Tidy tables of the study on pauses: what stopped each trial, and what overlapped each burst of losses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from pandera.pandas import Check, Column, DataFrameSchema

from allocpool.campaign import tidy
from allocpool.campaign.tidy import COUNT, POSITIVE, TRIAL_ID, Row, Rows, choice, number, read_trial, text, whole
from allocpool.gclog import minimum_mutator_utilisation
from allocpool.packets.columns import PACKETS_COLUMNS, TRIALS, batch_row, packets_columns
from allocpool.packets.measurement import BatchMeasurement
from allocpool.packets.specs import BUFFER_BYTES
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

CAUSES = (
    "stop on purpose", "full or degenerated collection", "other pause", "other safepoint", "time to safepoint",
    "allocation stall", "source stall",
)  # fmt: skip
"""Of losses, in order of precedence. A safepoint that holds no pause is an operation other than collecting."""
UNKNOWN = "nothing known"
ALL_CAUSES = (*CAUSES, UNKNOWN)

_table = partial(DataFrameSchema, strict=True, coerce=True)
_amount = partial(Column, "float64", COUNT)
_count = partial(Column, "int64", COUNT)

COLLECTIONS = _table({
    "trial_id": Column("string", unique=True, description="trial that the row belongs to"),
    "window_s": Column("float64", POSITIVE, description="length of the measured window, s"),
    "collections": _count(description="collections that paused in the measured window"),
    "pauses": _count(description="stop-the-world pauses in the measured window"),
    "pause_total_ms": _amount(description="their total, ms"),
    "pause_mean_ms": number("their mean, ms; empty without any"),
    "pause_max_ms": _amount(description="the longest of them, ms"),
    "safepoints": _count(description="safepoints in the measured window, collections or not"),
    "safepoint_total_ms": _amount(description="their total with the time to reach them, ms"),
    "time_to_safepoint_total_ms": _amount(description="of it, until the last thread stood, ms"),
    "time_to_safepoint_max_ms": _amount(description="the longest of these, ms"),
    "stalls": _count(description="waits of the consumer's thread for memory"),
    "stall_total_ms": _amount(description="their total, ms"),
    "left_mb": number(
        "what young collections of the window leave on the heap above what the one before left, MB, mean; empty "
        "below two",
        None,
    ),
    "buffer_bytes": _count(description="bytes of a packet's buffer"),
    "forced_full_ms": number("full pause that counted the objects after the measured part, ms", POSITIVE),
    "unread_lines": _count(description="lines about stopped threads that were not understood"),
    "violations": _count(description="lines of the log that contradict each other"),
})  # fmt: skip

PAUSES = _table({
    "trial_id": TRIAL_ID,
    "start_s": Column("float64", description="start of a pause, after that of the measured window, s"),
    "duration_ms": _amount(description="its length, ms"),
    "kind": text("kind of pause, in the collector's words"),
    "cause": text("cause, in the collector's words; empty where it gives none"),
})  # fmt: skip

UTILISATION = _table({
    "trial_id": TRIAL_ID,
    "counted": choice(
        COUNTED, "pauses alone, or also safepoints, the time to reach them, and stalls of the consumer"
    ),
    "window_ms": Column("float64", POSITIVE, description="length of the window, ms"),
    "utilisation": Column(
        "float64", Check.in_range(0, 1), description="least share of any such window left to the program"
    ),
})  # fmt: skip

LOSSES = _table({
    **tidy.TRIAL_COLUMNS,
    **PACKETS_COLUMNS,
    "interval_ns": Column("float64", POSITIVE, description="time between ticks, ns"),
    "input_queue_ms": INPUT_QUEUE,
    "disturbance": choice(DISTURBANCES, "what stopped it on purpose", nullable=True),
    "disturbed_at_s": number("when that began, after the warm-up's end, s", None),
    "disturbed_ms": number("how long that took, ms"),
    "seconds": number("length after the warm-up, s"),
    **{name: TICKS[name] for name in ("generated", "lost", "bursts")},
    "unread_lines": whole("lines of its log that were not understood"),
})  # fmt: skip

BURSTS = _table({
    "trial_id": TRIAL_ID,
    "burst": _count(description="number within the trial, from 0"),
    "start_s": Column("float64", description="first loss after the warm-up's end, s"),
    "end_s": Column("float64", description="last loss after the warm-up's end, s"),
    "lost": _count(description="ticks lost"),
    "cause": choice(ALL_CAUSES, "what has the largest share of its window"),
})  # fmt: skip

ATTRIBUTION = _table({
    "trial_id": TRIAL_ID,
    "burst": _count(description="number within the trial, from 0"),
    "cause": choice(ALL_CAUSES, "what overlapped the burst's window"),
    "share": Column("float64", Check.in_range(0, 1 + 1e-9), description="its share of that window"),
    "lost": _amount(description="the same share of the ticks lost"),
})  # fmt: skip

SCHEMAS = {
    "trials": TRIALS, "collections": COLLECTIONS, "pauses": PAUSES, "utilisation": UTILISATION, "cpu": tidy.CPU,
    "losses": LOSSES, "bursts": BURSTS, "attribution": ATTRIBUTION,
}  # fmt: skip


def left_mb(pauses: Sequence[Pause]) -> float | None:
    """Return what young collections leave on the heap above what the one before left, mean, MB; a full one between two
    starts anew. None below two of them, or where the log does not report it."""
    after_mb = [pause.heap_after_mb if pause.kind.startswith("Young") else None for pause in pauses]
    left = [after - before for before, after in pairwise(after_mb) if before is not None and after is not None]
    return sum(left) / len(left) if left else None


def _batch_rows(record: TrialRecord) -> Rows:
    trial = read_trial(record, BatchMeasurement)
    rows: dict[str, Sequence[Row]] = {"trials": [batch_row(trial)]}
    if trial.measurement is None:
        return rows
    rows["cpu"] = tidy.cpu_rows(record, trial.measurement["cpu"])
    if (stops := stops_of(record)) is not None:
        measured = trial.measurement["iterations"]["measured"]
        rows |= _stop_rows(record.trial_id, (measured[0][0], measured[-1][1]), stops)
        rows["collections"][0]["buffer_bytes"] = record.spec.get("buffer_bytes", BUFFER_BYTES)
    return rows


def _stop_rows(trial_id: str, span: tuple[int, int], stops: Stops) -> Rows:
    """What stopped one trial in its measured window, CLOCK_MONOTONIC, ns."""
    start_ns, end_ns = span

    def within(stops: Iterable[Any]) -> list[Any]:
        return [stop for stop in stops if start_ns <= stop.start_ns < end_ns]

    pauses, safepoints = within(stops.pauses), within(stops.safepoints)
    stalls = within(stall for stall in stops.stalls if stall.thread == CONSUMER)
    paused_ms = [pause.duration_ns / 1e6 for pause in pauses]
    reaching_ms = [stop.reaching_ns / 1e6 for stop in safepoints]
    forced_ms = [
        pause.duration_ns / 1e6 for pause in stops.pauses
        if pause.start_ns >= end_ns and pause.cause == FORCED and pause.kind.startswith("Full")
    ]  # fmt: skip
    row = {
        "trial_id": trial_id, "window_s": (end_ns - start_ns) / 1e9,
        "collections": len({pause.gc_id for pause in pauses} - {None}),
        "pauses": len(pauses), "pause_total_ms": sum(paused_ms),
        "pause_mean_ms": sum(paused_ms) / len(pauses) if pauses else None, "pause_max_ms": max(paused_ms, default=0.0),
        "safepoints": len(safepoints), "safepoint_total_ms": sum(stop.duration_ns for stop in safepoints) / 1e6,
        "time_to_safepoint_total_ms": sum(reaching_ms), "time_to_safepoint_max_ms": max(reaching_ms, default=0.0),
        "stalls": len(stalls), "stall_total_ms": sum(stall.duration_ns for stall in stalls) / 1e6,
        "left_mb": left_mb(pauses), "forced_full_ms": forced_ms[-1] if forced_ms else None,
        "unread_lines": stops.unread, "violations": stops.violations,
    }  # fmt: skip
    return {
        "collections": [row],
        "pauses": [
            {
                "trial_id": trial_id, "start_s": (pause.start_ns - start_ns) / 1e9,
                "duration_ms": pause.duration_ns / 1e6, "kind": pause.kind, "cause": pause.cause,
            }
            for pause in pauses
        ],
        "utilisation": _utilisation_rows(trial_id, span, stops),
    }  # fmt: skip


def _utilisation_rows(trial_id: str, span: tuple[int, int], stops: Stops) -> list[Row]:
    windows = [window for window in WINDOWS_MS if window * 1e6 <= span[1] - span[0]]
    pauses = stops.pause_intervals()
    every = np.concatenate((pauses, stops.safepoint_intervals(), stops.stall_intervals()))
    return [
        {"trial_id": trial_id, "counted": counted, "window_ms": window, "utilisation": float(value)}
        for counted, intervals in zip(COUNTED, (pauses, every), strict=True)
        for window, value in zip(windows, minimum_mutator_utilisation(intervals, windows, span), strict=True)
    ]


def attribute(start_ns: int, end_ns: int, queue_ns: float, events: Mapping[str, Intervals]) -> dict[str, float]:
    """Return the share of each of `ALL_CAUSES` in the window of one burst, from its first to its last loss; their sum
    is 1.

    A packet is lost when the input queue is full, so the window begins one queue length, ``queue_ns``, before the first
    loss. A moment that several causes cover belongs to the first of `CAUSES`; what none covers is `UNKNOWN`: the
    consumer ran and was too slow, or was held up by what no log reports. Overlap is all that is claimed.

    ``events`` maps causes to intervals of CLOCK_MONOTONIC in ns, in any order and overlapping as they like. Raises
    ValueError for an unknown cause, a queue of no length, or a burst that ends before it starts.
    """
    if unknown := set(events) - set(CAUSES):
        raise ValueError(f"unknown cause {', '.join(sorted(unknown))}: choose of {', '.join(CAUSES)}")
    if queue_ns <= 0 or end_ns < start_ns:
        raise ValueError("the queue needs a positive length, and a burst must not end before it starts")
    begin = round(start_ns - queue_ns)
    covered = np.empty((0, 2), np.int64)
    before, shares = 0, {}
    for cause in CAUSES:
        if cause in events:
            covered = np.concatenate((covered, np.clip(events[cause], begin, end_ns)))
        total = _length(covered)  # of this cause and all before it: only the new part is this one's
        shares[cause], before = (total - before) / (end_ns - begin), total
    return {**shares, UNKNOWN: 1 - before / (end_ns - begin)}


def _length(intervals: Intervals) -> int:
    """The length of what any of these intervals covers."""
    ordered = intervals[np.argsort(intervals[:, 0])]
    ends = np.maximum.accumulate(ordered[:, 1])
    starts = np.maximum(ordered[1:, 0], ends[:-1])
    return int((ends[1:] - starts).clip(0).sum() + (ends[:1] - ordered[:1, 0]).sum())


def _known_events(spec: Mapping[str, Any], measured: LiveMeasurement, stops: Stops | None) -> dict[str, Intervals]:
    """What is known of a real-time trial, as `attribute` takes it."""
    slips = np.array(measured["slips"], np.int64).reshape(-1, 2)
    events: dict[str, Intervals] = {"source stall": slips.cumsum(axis=1)}
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
    spec, stops = record.spec, stops_of(record)
    kind = DisturbedMeasurement if spec["mode"] == "disturbed" else RealtimeMeasurement
    measured: Any = read_trial(record, kind).measurement
    row = {
        **tidy.trial_row(record), **packets_columns(record), "interval_ns": spec["interval_ns"],
        "input_queue_ms": spec["input_queue_ms"], "disturbance": spec.get("disturbance"),
        "unread_lines": stops.unread if stops else None,
    }  # fmt: skip
    if measured is None:
        return {"losses": [row]}
    figures = measured["figures"]
    row |= {"seconds": seconds_of(figures)} | {name: figures[name] for name in ("generated", "lost", "bursts")}
    for begin_ns, end_ns in measured.get("disturbed", ()):
        row |= {"disturbed_at_s": (begin_ns - figures["start_ns"]) / 1e9, "disturbed_ms": (end_ns - begin_ns) / 1e6}
    # The source's thread ended before the window did, and recorded its own time.
    source = ("ap-source", measured["account"]["cpu_ns"])
    return {
        "losses": [row],
        "cpu": tidy.cpu_rows(record, measured["cpu"], source),
        **_burst_rows(record, measured, stops),
    }


def _burst_rows(record: TrialRecord, measured: LiveMeasurement, stops: Stops | None) -> Rows:
    events = _known_events(record.spec, measured, stops)
    queue_ns, origin_ns = record.spec["input_queue_ms"] * 1e6, measured["figures"]["start_ns"]
    bursts, parts = [], []
    for place, burst in enumerate(measured_bursts(measured)):
        shares = attribute(burst.start_ns, burst.end_ns, queue_ns, events)
        name = {"trial_id": record.trial_id, "burst": place}
        seconds = {"start_s": (burst.start_ns - origin_ns) / 1e9, "end_s": (burst.end_ns - origin_ns) / 1e9}
        bursts.append({**name, **seconds, "lost": burst.lost, "cause": max(shares, key=lambda cause: shares[cause])})
        parts += [
            {**name, "cause": cause, "share": share, "lost": share * burst.lost}
            for cause, share in shares.items()
            if share > 0
        ]
    return {"bursts": bursts, "attribution": parts}


def tidy_pauses(records: Sequence[TrialRecord]) -> dict[str, pd.DataFrame]:
    """Return the tables of these trials, those of batch trials first."""
    rows_of = {"realtime": _loss_rows, "disturbed": _loss_rows}
    ordered = sorted(records, key=lambda record: record.spec["mode"] in rows_of)
    return tidy.frames(ordered, lambda record: rows_of.get(record.spec["mode"], _batch_rows)(record), SCHEMAS)


def summarise_disturbed(record: TrialRecord) -> dict[str, Any]:
    """Return one disturbed trial as plain data: its losses, and their shares by what overlapped them."""
    rows = _loss_rows(record)
    (row,) = rows["losses"]
    lost: dict[str, float] = {}
    for part in rows.get("attribution", ()):
        lost[part["cause"]] = lost.get(part["cause"], 0.0) + part["lost"]
    return {
        **row,
        "lost_by_cause": {cause: lost[cause] / sum(lost.values()) for cause in ALL_CAUSES if lost.get(cause)},
    }
