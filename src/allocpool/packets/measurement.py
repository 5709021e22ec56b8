"""What the child of a trial of packets measures, for the tables, and how long it does.

A pool and a queue show their cost only when the packets come round (a lap). A window of half a lap measures packets
that lie next to each other, or caches that have not been filled.
"""

from __future__ import annotations

from typing import Literal, NotRequired

from typing_extensions import TypedDict

from allocpool.trial.measurement import CpuTime, Iteration, Outcome

LAPS = 2.0
"""A trial lasts at least so many, or is flagged as too short."""
COLLECTIONS = 3
"""Where collections are what is measured, so many of them, too."""


def lap_packets(pool_size: int, queue_size: int, stored_count: int, pool_reuse: str) -> int:
    """Return the packets of one lap, as many as circulate: the most that are in use at once, since a packet is obtained
    before one is freed. A pool that hands out first what came back first (``fifo``) sweeps all that it holds."""
    in_use = queue_size + stored_count + 1
    return max(pool_size, in_use) if pool_reuse == "fifo" else in_use


class Phases(TypedDict):
    """The iterations of each part of a batch trial; the parts follow each other without a pause."""

    fill: list[Iteration]
    warmup: list[Iteration]
    measured: list[Iteration]


class Memory(TypedDict):
    """Columns of table ``trials``."""

    huge_pages_mb: float | None
    region_mb: NotRequired[float | None]
    allocator_version: NotRequired[str | None]


class WarmUp(TypedDict):
    """How the warm-up of a steady trial ended."""

    ended_by: Literal["level", "cap"]
    packets: int
    collections: int
    """Young collections since the start of the trial; 0 where nothing collects."""


class BatchMeasurement(TypedDict):
    """Of modes ``batch`` and ``live_set``."""

    set_up_ns: int
    fill_packets: int
    iterations: Phases
    warm_up: NotRequired[WarmUp | None]
    old_cycles: NotRequired[int | None]
    """Complete cycles of the old generation within the measured window; None where nothing collects."""
    cpu: CpuTime
    counts: dict[str, int]
    """By the names of ``COUNTS`` in ``packets.columns``, since the start of the trial."""
    checksum: str
    allocated_bytes: int | None
    peak_rss_mb: float
    live_objects: int | None
    disorder_bytes: float | None
    """At the start of the measured window."""
    memory: Memory


class BatchOutcome(Outcome, BatchMeasurement):
    """What the process of a batch trial returns."""
