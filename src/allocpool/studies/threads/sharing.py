"""What a trial before a simulated cache returns. Apart from the measurement of trials that take time, which must stay
valid when this one changes."""

from __future__ import annotations

from typing_extensions import TypedDict

from allocpool.trial.measurement import Outcome


class SharingMeasurement(TypedDict):
    """Of mode ``threads_sharing``."""

    misses: dict[str, dict[str, int]]
    """Of all threads by what the code was doing (``PLACES`` in ``tables``), and by kind (``allocpool_sharing.h``)."""
    received: int
    freed: int
    remote_frees: int
    checksum: str
    """As of mode ``threads``, over all packets."""


class SharingOutcome(Outcome, SharingMeasurement):
    """What the process of such a trial returns."""
