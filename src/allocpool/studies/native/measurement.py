"""What a trial that counts events measures."""

from __future__ import annotations

from typing_extensions import TypedDict

from allocpool.trial.measurement import Outcome


class CountersMeasurement(TypedDict):
    """Of mode ``counters``."""

    counted: dict[str, float]
    """Events of all packets counted, by name."""
    missing: dict[str, str]
    """Why an event was not counted, by name."""
    how: str
    checksum: str


class CountersOutcome(Outcome, CountersMeasurement):
    """What the process of such a trial returns."""
