"""What trials of the buffer modes measure. Instants are CLOCK_MONOTONIC, ns."""

from __future__ import annotations

from typing import NotRequired

from typing_extensions import TypedDict

from allocpool.trial.measurement import CpuTime, Outcome

Record = tuple[int, int, int, int, int]
"""(start_ns, end_ns, count, alloc_ns, free_ns) of an iteration: the fields of ``ap_buffers_iteration``."""


class Spent(TypedDict):
    """What all but JMH's trials report."""

    cpu: CpuTime
    peak_rss_mb: float
    allocator_version: str | None


class Iterations(TypedDict):
    warmup: list[Record]
    measured: list[Record]


class BuffersMeasurement(Spent):
    """What modes ``allocation``, ``grow`` and ``access`` share."""

    iterations: Iterations
    minor_faults: int
    """Of the process, in the measured window; in mode ``grow`` without the collection at its end."""


class Counters(TypedDict):
    """The allocator's counters of one round, or the JVM's of the measured window; None: not reported."""

    held_bytes: int | None
    counted_bytes: int | None
    heap_bytes: NotRequired[int]


class AllocationMeasurement(BuffersMeasurement):
    counters: Counters


class AllocationOutcome(Outcome, AllocationMeasurement): ...


class AccessMeasurement(BuffersMeasurement):
    checksum: str


class AccessOutcome(Outcome, AccessMeasurement): ...


class Window(TypedDict):
    """One window of a fragmentation trial; None where the language or the system reports none, or nothing ran."""

    phase: int
    start_ns: int
    end_ns: int
    operations: int
    allocated_bytes: int
    live_bytes: int
    live_buffers: int
    p50_ns: int | None
    p99_ns: int | None
    max_ns: int | None
    resident_bytes: int | None
    kept_bytes: int | None
    empty_p50_ns: int | None
    empty_p99_ns: int | None
    heap_used_bytes: int | None
    heap_committed_bytes: int | None


class FragmentationMeasurement(Spent):
    base_resident_bytes: int
    phases: list[str]
    """Names, by the number that a window gives."""
    windows: list[Window]
    checksum: str


class FragmentationOutcome(Outcome, FragmentationMeasurement): ...


class JmhFigures(TypedDict):
    """An entry of JMH's JSON."""

    score_ns: float
    iterations_ns: list[float]
    allocated_bytes: float | None
    jmh_version: str
    vm_version: str


class JmhMeasurement(TypedDict):
    jmh: JmhFigures


class JmhOutcome(Outcome, JmhMeasurement): ...
