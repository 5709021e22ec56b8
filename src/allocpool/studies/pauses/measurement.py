"""What a disturbed trial measures; those of mode ``live_set`` are batch trials."""

from __future__ import annotations

from allocpool.studies.realtime.measurement import LiveMeasurement
from allocpool.trial.measurement import Outcome


class DisturbedMeasurement(LiveMeasurement):
    """Of mode ``disturbed``."""

    disturbed: list[tuple[int, int]]
    """One pair: start and end of what was done to it, CLOCK_MONOTONIC, ns."""


class DisturbedOutcome(Outcome, DisturbedMeasurement):
    """What the process of a disturbed trial returns."""
