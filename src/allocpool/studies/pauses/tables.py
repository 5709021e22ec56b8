"""Tidy tables of the study on pauses: what stopped each trial, and what stood beside each burst of losses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from pandera.pandas import Check, Column, DataFrameSchema

from allocpool.campaign.tidy import COUNT, POSITIVE, TRIAL_COLUMNS, frame, text, trial_row
from allocpool.gclog import minimum_mutator_utilisation
from allocpool.packets.columns import CPU, PACKETS_COLUMNS, TRIALS, batch_row, cpu_rows, packets_columns
from allocpool.runtimes.threads import cpu_ns_by_group
from allocpool.studies.pauses.attribution import ALL_CAUSES, attribute
from allocpool.studies.pauses.specs import DISTURBANCES
from allocpool.studies.pauses.stops import CONSUMER, FORCED, Intervals, Stops, stops_of
from allocpool.studies.realtime.tables import seconds_of
from allocpool.trial.record import TrialRecord

WINDOWS_MS = tuple(float(f"{value:.3g}") for value in np.geomspace(0.1, 10_000.0, 41))
"""Lengths of the windows of a utilisation curve."""
COUNTED = ("pauses", "all stops")

_TRIAL_ID = text("trial that the row belongs to")

COLLECTIONS = DataFrameSchema(
    {
        "trial_id": Column("string", unique=True, description="trial that the row belongs to"),
        "window_s": Column("float64", POSITIVE, description="length of the measured window, s"),
        "collections": Column("int64", COUNT, description="collections that paused in the measured window"),
        "pauses": Column("int64", COUNT, description="stop-the-world pauses in the measured window"),
        "pause_total_ms": Column("float64", COUNT, description="their total, ms"),
        "pause_mean_ms": Column("Float64", COUNT, nullable=True, description="their mean, ms; empty without any"),
        "pause_max_ms": Column("float64", COUNT, description="the longest of them, ms"),
        "safepoints": Column("int64", COUNT, description="safepoints in the measured window, collections or not"),
        "safepoint_total_ms": Column("float64", COUNT, description="their total with the time to reach them, ms"),
        "time_to_safepoint_total_ms": Column("float64", COUNT, description="of it, until the last thread stood, ms"),
        "time_to_safepoint_max_ms": Column("float64", COUNT, description="the longest of these, ms"),
        "stalls": Column("int64", COUNT, description="waits of the consumer's thread for memory"),
        "stall_total_ms": Column("float64", COUNT, description="their total, ms"),
        "forced_full_ms": Column(
            "Float64", POSITIVE, nullable=True,
            description="full pause that counted the objects after the measured part, ms",
        ),
        "unread_lines": Column("int64", COUNT, description="lines about stopped threads that were not understood"),
        "violations": Column("int64", COUNT, description="lines of the log that contradict each other"),
    },
    strict=True,
    coerce=True,
)  # fmt: skip

PAUSES = DataFrameSchema(
    {
        "trial_id": _TRIAL_ID,
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
        "trial_id": _TRIAL_ID,
        "counted": Column(
            "string", Check.isin(COUNTED),
            description="pauses alone, or also safepoints, the time to reach them, and stalls of the consumer",
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
        "input_queue_ms": Column("float64", POSITIVE, description="ticks that the input queue holds, as time, ms"),
        "disturbance": Column(
            "string", Check.isin(list(DISTURBANCES)), nullable=True, description="what stopped it on purpose"
        ),
        "disturbed_at_s": Column("Float64", nullable=True, description="when that began, after the warm-up's end, s"),
        "disturbed_ms": Column("Float64", COUNT, nullable=True, description="how long that took, ms"),
        "seconds": Column("Float64", COUNT, nullable=True, description="length after the warm-up, s"),
        "generated": Column("Int64", COUNT, nullable=True, description="ticks of the source after the warm-up"),
        "lost": Column("Int64", COUNT, nullable=True, description="of these, lost to a full input queue"),
        "bursts": Column("Int64", COUNT, nullable=True, description="runs of losses at most 1 ms apart"),
        "unread_lines": Column("Int64", COUNT, nullable=True, description="lines of its log that were not understood"),
    },
    strict=True,
    coerce=True,
)

BURSTS = DataFrameSchema(
    {
        "trial_id": _TRIAL_ID,
        "burst": Column("int64", COUNT, description="number within the trial, from 0"),
        "start_s": Column("float64", description="first loss after the warm-up's end, s"),
        "end_s": Column("float64", description="last loss after the warm-up's end, s"),
        "lost": Column("int64", COUNT, description="ticks lost"),
        "cause": Column("string", Check.isin(ALL_CAUSES), description="what has the largest share of its window"),
    },
    strict=True,
    coerce=True,
)

ATTRIBUTION = DataFrameSchema(
    {
        "trial_id": _TRIAL_ID,
        "burst": Column("int64", COUNT, description="number within the trial, from 0"),
        "cause": Column("string", Check.isin(ALL_CAUSES), description="what overlapped the burst's window"),
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


def _within(rows: pd.DataFrame, start_ns: int, end_ns: int) -> pd.DataFrame:
    return rows[(rows["start_ns"] >= start_ns) & (rows["start_ns"] < end_ns)]


def _ms(durations_ns: pd.Series) -> tuple[float, float]:
    """Total and largest, ms."""
    return float(durations_ns.sum()) / 1e6, float(durations_ns.max()) / 1e6 if len(durations_ns) else 0.0


class _Measured:
    """One batch trial with a log: its measured window and what stopped it there."""

    def __init__(self, record: TrialRecord, stops: Stops) -> None:
        measured = (record.measurement or {})["iterations"]["measured"]
        self.record, self.stops = record, stops
        self.start_ns, self.end_ns = int(measured[0][0]), int(measured[-1][1])
        self.pauses = _within(stops.pauses, self.start_ns, self.end_ns)

    def collections(self) -> dict[str, Any]:
        safepoints = _within(self.stops.safepoints, self.start_ns, self.end_ns)
        stalls = _within(self.stops.stalls, self.start_ns, self.end_ns)
        stalls = stalls[stalls["thread"] == CONSUMER]
        total_ms, max_ms = _ms(self.pauses["duration_ns"])
        reaching_ms, reaching_max_ms = _ms(safepoints["reaching_ns"])
        after = self.stops.pauses[self.stops.pauses["start_ns"] >= self.end_ns]
        forced = after[(after["cause"] == FORCED) & after["kind"].str.startswith("Full")]
        return {
            "trial_id": self.record.trial_id,
            "window_s": (self.end_ns - self.start_ns) / 1e9,
            "collections": int(self.pauses["gc_id"].nunique()),
            "pauses": len(self.pauses),
            "pause_total_ms": total_ms,
            "pause_mean_ms": total_ms / len(self.pauses) if len(self.pauses) else None,
            "pause_max_ms": max_ms,
            "safepoints": len(safepoints),
            "safepoint_total_ms": _ms(safepoints["duration_ns"])[0],
            "time_to_safepoint_total_ms": reaching_ms,
            "time_to_safepoint_max_ms": reaching_max_ms,
            "stalls": len(stalls),
            "stall_total_ms": _ms(stalls["duration_ns"])[0],
            "forced_full_ms": float(forced["duration_ns"].iloc[-1]) / 1e6 if len(forced) else None,
            "unread_lines": self.stops.unread,
            "violations": self.stops.violations,
        }

    def pause_rows(self) -> list[dict[str, Any]]:
        columns = (self.pauses[name] for name in ("start_ns", "duration_ns", "kind", "cause"))
        return [
            {
                "trial_id": self.record.trial_id, "start_s": (start_ns - self.start_ns) / 1e9,
                "duration_ms": duration_ns / 1e6, "kind": kind, "cause": cause,
            }
            for start_ns, duration_ns, kind, cause in zip(*columns, strict=True)
        ]  # fmt: skip

    def utilisation(self) -> list[dict[str, Any]]:
        span = (self.start_ns, self.end_ns)
        windows = [window for window in WINDOWS_MS if window * 1e6 <= self.end_ns - self.start_ns]
        pauses = self.stops.pause_intervals()
        every = np.concatenate((pauses, self.stops.safepoint_intervals(), self.stops.stall_intervals()))
        return [
            {"trial_id": self.record.trial_id, "counted": counted, "window_ms": window, "utilisation": float(value)}
            for counted, stops in zip(COUNTED, (pauses, every), strict=True)
            for window, value in zip(windows, minimum_mutator_utilisation(stops, windows, span), strict=True)
        ]


def known_events(record: TrialRecord, stops: Stops | None) -> dict[str, Intervals]:
    """What is known of a real-time trial, as `attribute` takes it."""
    measured = record.measurement or {}
    slips = np.array(measured["slips"], np.int64).reshape(-1, 2)
    events: dict[str, Intervals] = {"source slip": np.column_stack((slips[:, 0], slips[:, 0] + slips[:, 1]))}
    if stalled_ns := measured["consumption"]["stalled_ns"]:
        at_s = record.spec.get("stall_at_s") or record.spec.get("disturb_at_s") or 0.0
        begin = measured["account"]["t0_ns"] + round((record.spec["warmup_seconds"] + at_s) * 1e9)
        events["stop on purpose"] = np.array([[begin, begin + stalled_ns]], np.int64)
    if stops is not None:
        events |= {
            "full or degenerated collection": stops.full_intervals(),
            "other pause": stops.pause_intervals(),
            "time to safepoint": stops.reaching_intervals(),
            "other safepoint": _stood(stops),
            "allocation stall": stops.stall_intervals(),
        }
    return events


def _stood(stops: Stops) -> Intervals:
    """Safepoints without the time to reach them."""
    whole = stops.safepoint_intervals()
    return np.column_stack((stops.reaching_intervals()[:, 1], whole[:, 1]))


def _loss_row(record: TrialRecord, stops: Stops | None) -> dict[str, Any]:
    spec, measured = record.spec, record.measurement or {}
    row = {
        **trial_row(record), **packets_columns(record), "interval_ns": spec["interval_ns"],
        "input_queue_ms": spec["input_queue_ms"], "disturbance": spec.get("disturbance"),
        "unread_lines": stops.unread if stops else None,
    }  # fmt: skip
    if "figures" not in measured:
        return row
    figures = measured["figures"]
    begin_ns, end_ns = measured["disturbed"][0] if "disturbed" in measured else (None, None)
    return {
        **row,
        "disturbed_at_s": (begin_ns - figures["start_ns"]) / 1e9 if begin_ns else None,
        "disturbed_ms": (end_ns - begin_ns) / 1e6 if begin_ns else None,
        "seconds": seconds_of(figures),
        **{name: figures[name] for name in ("generated", "lost", "bursts")},
    }


def _burst_rows(record: TrialRecord, stops: Stops | None) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The rows of one real-time trial in tables ``bursts`` and ``attribution``."""
    measured = record.measurement or {}
    if "figures" not in measured:
        return [], []
    events = known_events(record, stops)
    queue_ns, origin_ns = record.spec["input_queue_ms"] * 1e6, measured["figures"]["start_ns"]
    bursts, shares = [], []
    counted = [burst for burst in measured["bursts"] if burst[0] >= measured["warmup_ticks"]]
    for number, (_, _, start_ns, end_ns, lost) in enumerate(counted):
        found = attribute(start_ns, end_ns, queue_ns, events)
        name = {"trial_id": record.trial_id, "burst": number}
        seconds = {"start_s": (start_ns - origin_ns) / 1e9, "end_s": (end_ns - origin_ns) / 1e9}
        bursts.append({**name, **seconds, "lost": lost, "cause": found.cause})
        shares += [
            {**name, "cause": cause, "share": share, "lost": share * lost}
            for cause, share in found.shares.items()
            if share > 0
        ]
    return bursts, shares


def realtime_cpu_rows(record: TrialRecord) -> list[dict[str, Any]]:
    """CPU time by thread group of a real-time trial; the source's thread, which ended before the window, told its
    own."""
    measured: Mapping[str, Any] = record.measurement or {}
    if "cpu" not in measured or "account" not in measured:
        return []
    threads = [*measured["cpu"]["threads"], ("ap-source", measured["account"]["cpu_ns"])]
    spent = cpu_ns_by_group(threads, measured["cpu"]["process_ns"])
    return [{"trial_id": record.trial_id, "thread_group": group, "cpu_ns": ns} for group, ns in spent.items()]


def tidy_pauses(records: Sequence[TrialRecord]) -> dict[str, pd.DataFrame]:
    """The tables of these trials, checked against their schemas."""
    batch = [record for record in records if record.spec["mode"] in ("batch", "live_set")]
    losses = [(record, stops_of(record)) for record in records if record.spec["mode"] in ("realtime", "disturbed")]
    measured = [
        _Measured(record, stops)
        for record in batch
        if "iterations" in (record.measurement or {}) and (stops := stops_of(record)) is not None
    ]
    found = [_burst_rows(*item) for item in losses]
    rows: dict[str, list[dict[str, Any]]] = {
        "trials": [batch_row(record) for record in batch],
        "collections": [one.collections() for one in measured],
        "pauses": [row for one in measured for row in one.pause_rows()],
        "utilisation": [row for one in measured for row in one.utilisation()],
        "cpu": [
            *(row for record in batch for row in cpu_rows(record)),
            *(row for record, _ in losses for row in realtime_cpu_rows(record)),
        ],
        "losses": [_loss_row(*item) for item in losses],
        "bursts": [row for bursts, _ in found for row in bursts],
        "attribution": [row for _, shares in found for row in shares],
    }
    return {name: frame(rows[name], schema) for name, schema in SCHEMAS.items()}


def summarise_disturbed(record: TrialRecord) -> dict[str, Any]:
    """One disturbed trial as plain data: its losses, and their shares by what stood beside them."""
    tables = tidy_pauses([record])
    (row,) = tables["losses"].to_dict("records")
    lost = tables["attribution"].groupby("cause")["lost"].sum()
    whole = float(lost.sum())
    plain: dict[str, Any] = {str(key): None if pd.isna(value) else value for key, value in row.items()}
    return {**plain, "lost_by_cause": {str(cause): float(part) / whole for cause, part in lost.items() if whole}}
