"""What real-time trials measure. Instants are CLOCK_MONOTONIC, ns."""

from __future__ import annotations

from typing import Any, NamedTuple

from typing_extensions import TypedDict

from allocpool.trial.measurement import CpuTime, Iteration, Outcome

Delays = list[tuple[int, int]]
"""(index, count) of every bucket of the delays' HdrHistogram that is not empty."""
SourceAccount = dict[str, Any]
Consumption = dict[str, Any]
"""Counters of source and consumer, the warm-up included: the fields of ``ap_source_account`` and ``ap_consumption``."""


class Burst(NamedTuple):
    """A run of losses, from the first tick lost to the last: the fields of ``ap_burst``."""

    start_sequence: int
    end_sequence: int
    start_ns: int
    end_ns: int
    lost: int


class Slip(NamedTuple):
    """A source stall, from the last clock reading before: the fields of ``ap_slip``."""

    start_ns: int
    length_ns: int


class Sample(NamedTuple):
    """The source's counts so far: the fields of ``ap_sample``."""

    time_ns: int
    generated: int
    lost: int


class RingCounters(TypedDict):
    """The ticks of one of several rings between source and consumers, its warm-up taken out."""

    generated: int
    received: int
    lost: int
    left: int


class Figures(RingCounters):
    """The measured window of a run, its warm-up taken out."""

    start_ns: int
    end_ns: int
    bursts: int
    slips: int
    slip_total_ns: int
    slip_max_ns: int


class Placement(TypedDict):
    """Where source and consumer ran; None where the system does not report it.

    The source is looked at every 100 ms: where it was last, and how often it was elsewhere than before. The consumer:
    where it ended, whether it began there, and how often the system took its processor away. ``pinned``: both were tied
    to cores of their own; ``shared_core``: both were on hardware threads of one core.
    """

    source_processor: int | None
    source_moves: int
    consumer_processor: int | None
    consumer_moved: bool
    consumer_preempted: int
    pinned: bool
    shared_core: bool | None


class SourceRun(TypedDict):
    interval_ns: float
    capacity: int
    warmup_ticks: int
    account: SourceAccount
    placement: Placement
    consumption: Consumption
    delays: Delays
    bursts: list[Burst]
    bursts_left_out: int
    slips: list[Slip]
    slips_left_out: int
    samples: list[Sample]
    samples_left_out: int
    figures: Figures


class Window(SourceRun):
    """A run of the source against a processor that is set up."""

    cpu: CpuTime
    majors: int
    """Major collections during the window."""
    cap_reached: bool
    """The longest length ended it before as many major collections as were asked for."""


class Processed(TypedDict):
    counts: dict[str, int]
    checksum: str
    peak_rss_mb: float


class LiveMeasurement(Window, Processed):
    """A window with all that is around it in its process."""

    prologue: dict[str, list[Iteration]]
    """``fill`` and ``warmup``: iterations by the batch path before the source starts."""


class RealtimeMeasurement(LiveMeasurement):
    """Of mode ``realtime``."""

    set_up_ns: int


class RealtimeOutcome(Outcome, RealtimeMeasurement):
    """What the process of a real-time trial returns."""
