"""What a trial on many threads measures: the contract between its child and the tables."""

from __future__ import annotations

from typing_extensions import TypedDict

from allocpool.studies.realtime.measurement import RingCounters, Window
from allocpool.trial.measurement import CpuTime, Iteration, Outcome


class ThreadsIterations(TypedDict):
    """Parts that follow each other; between two of them all threads rest."""

    fill: list[Iteration]
    warmup: list[Iteration]
    measured: list[Iteration]


class Ticked(Window):
    """A run of the source against the threads."""

    rings: list[RingCounters]
    """In their order: one for each worker, or the one of the receiver."""


class ThreadsMeasurement(TypedDict):
    """Of mode ``threads``."""

    set_up_ns: int
    iterations: ThreadsIterations
    cpu: CpuTime
    counts: dict[str, int]
    """By the names of ``COUNTS`` in ``tables``, when every packet had been processed."""
    checksum: str
    """Sixteen hex digits: a sum, the same in every topology, strategy and language."""
    received_by_ring: list[int]
    live_at_end: int
    """Messages in queues and stores when the measured window ended."""
    held_at_end: int | None
    """Messages that existed then, used or free; None where a library does not report it."""
    peak_rss_mb: float
    ticked: Ticked | None
    """Of a trial in real time."""
    events: dict[str, float]
    """Of the processor's counters, over all threads of the measured window; empty where they were not read."""


class ThreadsOutcome(Outcome, ThreadsMeasurement):
    """What the process of such a trial returns."""


class SharingMeasurement(TypedDict):
    """Of mode ``threads_sharing``; the checksum is over all packets."""

    misses: dict[str, dict[str, int]]
    """Of all threads by what the code was doing (``PLACES`` in ``tables``), and by kind (``allocpool_sharing.h``)."""
    received: int
    freed: int
    remote_frees: int
    checksum: str


class SharingOutcome(Outcome, SharingMeasurement): ...
