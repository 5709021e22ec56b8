"""What stream trials measure. Instants are CLOCK_MONOTONIC, ns."""

from __future__ import annotations

from typing_extensions import TypedDict

from allocpool.trial.measurement import CpuTime, Outcome

VM_OPTIONS = ("ParallelGCThreads", "ConcGCThreads")


class StreamMeasurement(TypedDict):
    """Of mode ``stream``."""

    gave_up: bool
    source_lag_ns: int | None
    """How late the last event left its source; None where the pipeline was given up."""
    latencies_ns: list[int]
    """To the last result of each measured window, in the order of the windows."""
    firsts_ns: list[int]
    """To the first result of each."""
    histogram: str
    events: int
    results: int
    measured_results: int
    allocated_bytes: int
    start_ns: int
    end_ns: int
    cpu: CpuTime
    vm_options: dict[str, int]
    """`VM_OPTIONS`, as they are in force."""
    peak_rss_mb: float


class StreamOutcome(Outcome, StreamMeasurement):
    """What the process of a stream trial returns; ``failed`` where its results were wrong."""


class Switch(TypedDict):
    """One way to go from one piece of work to the next."""

    way: str
    p10_ns: int
    p50_ns: int
    p90_ns: int


class StreamSwitchMeasurement(TypedDict):
    """Of mode ``stream_switch``."""

    switches: list[Switch]
    """``empty`` among them: two readings of the clock with nothing between."""
    processor: int
    """The one that they ran on."""
    peak_rss_mb: float


class StreamSwitchOutcome(Outcome, StreamSwitchMeasurement):
    """What the process of such a trial returns."""
