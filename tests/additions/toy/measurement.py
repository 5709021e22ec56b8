"""What a trial that sums measures."""

from __future__ import annotations

from typing_extensions import TypedDict

from allocpool.trial.measurement import Outcome


class ToyMeasurement(TypedDict):
    """Of mode ``toy``."""

    total: int
    sum_ns: int


class ToyOutcome(Outcome, ToyMeasurement):
    """What the process of such a trial returns."""
