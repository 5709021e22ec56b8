"""Tidy tables of the native study: those of batch trials, and ``counters``: events per packet, a row per event."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
from pandera.pandas import Column, DataFrameSchema

from allocpool.campaign.tidy import (
    COUNT,
    TRIAL_COLUMNS,
    Row,
    Tables,
    choice,
    frames,
    number,
    read_trial,
    text,
    trial_row,
)
from allocpool.packets import columns
from allocpool.packets.columns import PACKETS_COLUMNS, batch_rows, packets_columns
from allocpool.studies.native.measurement import CountersMeasurement
from allocpool.studies.native.specs import COUNTERS, EVENTS
from allocpool.trial.record import TrialRecord

_EVENTS = "; ".join(f"{name}: {what}" for name, what in EVENTS.items())

COUNTERS_SCHEMA = DataFrameSchema(
    {
        **TRIAL_COLUMNS,
        "trial_id": text("hash of spec, code and host; a trial has a row for each event"),
        **PACKETS_COLUMNS,
        "counter": choice(COUNTERS, "hardware: the processor counted; simulated: cachegrind did"),
        "how": text("what counted, with its caches where they are simulated", nullable=True),
        "counted_packets": Column("int64", COUNT, description="packets that were counted"),
        "event": choice(EVENTS, f"what was counted. {_EVENTS}", nullable=True),
        "per_packet": number("events per packet"),
        "missing_because": text("why the processor does not count this event", nullable=True),
        "checksum": text("hex, over everything parsed and stored", nullable=True),
    },
    strict=True,
    coerce=True,
)

SCHEMAS = {**columns.SCHEMAS, "counters": COUNTERS_SCHEMA}


def counter_rows(record: TrialRecord) -> list[Row]:
    """Return the rows of one trial in table ``counters``; one that did not count has one row without an event."""
    spec, measured = record.spec, read_trial(record, CountersMeasurement).measurement
    shared = {
        **trial_row(record), **packets_columns(record), "counter": spec["counter"], "counted_packets": spec["packets"],
    }  # fmt: skip
    if measured is None:
        return [shared]
    shared |= {"how": measured["how"], "checksum": measured["checksum"]}
    counted = [
        {**shared, "event": event, "per_packet": total / spec["packets"]}
        for event, total in measured["counted"].items()
    ]
    missing = [{**shared, "event": event, "missing_because": why} for event, why in measured["missing"].items()]
    return [*counted, *missing] or [shared]


def _rows_of(record: TrialRecord) -> Tables:
    if record.spec["mode"] == "counters":
        return {"counters": counter_rows(record)}
    return batch_rows(record)


def tidy_native(records: Sequence[TrialRecord]) -> dict[str, pd.DataFrame]:
    """Return the batch study's tables of the timed trials, and the events of those that counted."""
    return frames(records, _rows_of, SCHEMAS)


def summarise_counters(record: TrialRecord) -> dict[str, Any]:
    """Return one trial as plain data: the shared columns, and events per packet by name."""
    rows = counter_rows(record)
    per_event = {f"{row['event']}_per_packet": row.get("per_packet") for row in rows if row.get("event")}
    shared = {key: value for key, value in rows[0].items() if key not in ("event", "per_packet", "missing_because")}
    return {**shared, **per_event}
