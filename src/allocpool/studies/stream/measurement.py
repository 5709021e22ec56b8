"""What stream trials and searches measure. Instants are CLOCK_MONOTONIC, ns."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from allocpool.trial.measurement import CpuTime, Outcome


class VmOptions(TypedDict):
    """Options of the JVM that are in force."""

    ParallelGCThreads: int
    ConcGCThreads: int


class Timeliness(TypedDict):
    """What reports whether a pipeline kept up with its events."""

    gave_up: bool
    source_lag_ns: int | None
    """How late the last event left its source; None where the pipeline was given up."""
    latencies_ns: list[int]
    """To the last result of each measured window, in the order of the windows."""
    firsts_ns: list[int]
    """To the first result of each."""


class StreamMeasurement(Timeliness):
    """Of mode ``stream``."""

    histogram: str
    events: int
    results: int
    measured_results: int
    allocated_bytes: int
    start_ns: int
    end_ns: int
    cpu: CpuTime
    vm_options: VmOptions
    peak_rss_mb: float


class StreamOutcome(Outcome, StreamMeasurement):
    """What the process of a stream trial returns; ``failed`` where its results were wrong."""


class Probe(TypedDict):
    """One job of a search, judged."""

    events_per_second: int
    kept_up: bool
    tail: str | None
    """The highest percentile that its windows allow; None where it did not keep up."""
    tail_ms: float | None
    """The latency to the last result there."""
    first_tail_ms: float | None
    """The latency to the first result there."""
    holds: bool
    windows: int
    wall_s: float


class StreamSearchMeasurement(TypedDict):
    """Of mode ``stream_search``."""

    holds_events_per_second: int | None
    fails_events_per_second: int | None
    probes: list[Probe]
    start_ns: int
    end_ns: int
    peak_rss_mb: float


class StreamSearchOutcome(StreamSearchMeasurement):
    """What the process of a search returns; one that a probe ended has what it came to know until then."""

    status: Literal["ok", "failed", "out_of_memory", "invalid", "crashed"]
    reason: str | None


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
