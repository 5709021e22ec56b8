"""Tidy tables of the native study: those of batch trials, and ``counters``: events per packet, a row per event."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

import pandas as pd
from pandera.pandas import Column, DataFrameSchema

from allocpool.campaign import tidy
from allocpool.campaign.tidy import choice, text
from allocpool.packets import columns
from allocpool.studies.native.measurement import CountersMeasurement
from allocpool.studies.native.specs import EVENTS, Counter
from allocpool.trial.record import TrialRecord

COUNTERS_SCHEMA = DataFrameSchema(
    {
        **tidy.TRIAL_COLUMNS,
        "trial_id": text("hash of spec, code and host; a trial has a row for each event"),
        **columns.PACKETS_COLUMNS,
        "counter": choice(get_args(Counter), "hardware: the processor counted; simulated: cachegrind did"),
        "how": text("what counted, with its caches where they are simulated", nullable=True),
        "counted_packets": Column("int64", tidy.COUNT, description="packets that were counted"),
        "event": choice(
            EVENTS,
            f"what was counted. {'; '.join(f'{name}: {what}' for name, what in EVENTS.items())}",
            nullable=True,
        ),
        "per_packet": tidy.number("events per packet"),
        "missing_because": text("why the processor does not count this event", nullable=True),
        "checksum": text("hex, over everything parsed and stored", nullable=True),
    },
    strict=True,
    coerce=True,
)

SCHEMAS = {**columns.SCHEMAS, "counters": COUNTERS_SCHEMA}


def counter_rows(record: TrialRecord) -> list[tidy.Row]:
    """Return the rows of one trial in table ``counters``; one that did not count has one row without an event."""
    packets, found = record.spec["packets"], tidy.read_trial(record, CountersMeasurement).measurement
    shared = {**tidy.trial_row(record), **columns.packets_columns(record), "counter": record.spec["counter"]}
    shared["counted_packets"] = packets
    if found is None:
        return [shared]
    shared |= {"how": found["how"], "checksum": found["checksum"]}
    rows = [{**shared, "event": event, "per_packet": total / packets} for event, total in found["counted"].items()]
    rows += [{**shared, "event": event, "missing_because": why} for event, why in found["missing"].items()]
    return rows or [shared]


def tidy_native(records: Sequence[TrialRecord]) -> dict[str, pd.DataFrame]:
    """Return the batch study's tables of the timed trials, and the events of those that counted."""

    def rows_of(record: TrialRecord) -> tidy.Tables:
        counts = record.spec["mode"] == "counters"
        return {"counters": counter_rows(record)} if counts else columns.batch_rows(record)

    return tidy.frames(records, rows_of, SCHEMAS)


def summarise_counters(record: TrialRecord) -> dict[str, Any]:
    """Return one trial as plain data: the shared columns, and events per packet by name."""
    rows = counter_rows(record)
    per_event = {f"{row['event']}_per_packet": row.get("per_packet") for row in rows if row.get("event")}
    shared = {key: value for key, value in rows[0].items() if key not in ("event", "per_packet", "missing_because")}
    return {**shared, **per_event}
