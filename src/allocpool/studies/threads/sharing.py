"""What a trial before a simulated cache returns. Apart from the measurement of trials that take time, which must stay
valid when this one changes."""

from __future__ import annotations

from typing_extensions import TypedDict

from allocpool.trial.measurement import Outcome


class Misses(TypedDict):
    """Of all threads; see ``allocpool_sharing.h``."""

    accesses: int
    cold_misses: int
    true_sharing: int
    false_sharing: int


class SharingMeasurement(TypedDict):
    """Of mode ``threads_sharing``."""

    misses: dict[str, Misses]
    """By what the code was doing, one of ``PLACES`` in ``tables``."""
    received: int
    freed: int
    remote_frees: int
    checksum: str
    """As of mode ``threads``, over all packets."""


class SharingOutcome(Outcome, SharingMeasurement):
    """What the process of such a trial returns."""
