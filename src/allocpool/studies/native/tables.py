"""Table ``counters``: events per packet, one row per trial and event."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
from pandera.pandas import Check, Column, DataFrameSchema

from allocpool.campaign.tidy import COUNT, TRIAL_COLUMNS, frame, text, trial_row
from allocpool.packets.columns import PACKETS_COLUMNS, packets_columns
from allocpool.studies.native.specs import COUNTERS, EVENTS
from allocpool.trial.record import TrialRecord

_EVENTS_TOLD = "; ".join(f"{name}: {what}" for name, what in EVENTS.items())

COUNTERS_SCHEMA = DataFrameSchema(
    {
        **TRIAL_COLUMNS,
        "trial_id": text("hash of spec, code and host; a trial has a row for each event"),
        **PACKETS_COLUMNS,
        "counter": Column(
            "string", Check.isin(COUNTERS), description="hardware: the processor counted; simulated: cachegrind did"
        ),
        "how": text("what counted, with its caches where they are simulated", nullable=True),
        "counted_packets": Column("int64", COUNT, description="packets that were counted"),
        "event": Column(
            "string", Check.isin(list(EVENTS)), nullable=True, description=f"what was counted. {_EVENTS_TOLD}"
        ),
        "per_packet": Column("Float64", COUNT, nullable=True, description="events per packet"),
        "missing_because": text("why the processor does not count this event", nullable=True),
        "checksum": text("hex, over everything parsed and stored", nullable=True),
    },
    strict=True,
    coerce=True,
)


def _rows(record: TrialRecord) -> list[dict[str, Any]]:
    spec, measurement = record.spec, record.measurement or {}
    shared = {
        **trial_row(record), **packets_columns(record), "counter": spec["counter"], "counted_packets": spec["packets"],
        "how": measurement.get("how"), "checksum": measurement.get("checksum"),
    }  # fmt: skip
    counted = [
        {**shared, "event": event, "per_packet": total / spec["packets"]}
        for event, total in measurement.get("counted", {}).items()
    ]
    missing = [
        {**shared, "event": event, "missing_because": why} for event, why in measurement.get("missing", {}).items()
    ]
    return [*counted, *missing] or [shared]


def tidy_counters(records: Sequence[TrialRecord]) -> pd.DataFrame:
    """The table of these trials; one that did not count has one row without an event."""
    return frame([row for record in records for row in _rows(record)], COUNTERS_SCHEMA)


def summarise_counters(record: TrialRecord) -> dict[str, Any]:
    """One trial as plain data: the shared columns, and events per packet by name."""
    rows = _rows(record)
    per_event = {f"{row['event']}_per_packet": row.get("per_packet") for row in rows if row.get("event")}
    shared = {key: value for key, value in rows[0].items() if key not in ("event", "per_packet", "missing_because")}
    return {**shared, **per_event}
