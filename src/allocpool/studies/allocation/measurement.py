"""What trials of the buffer modes measure. Instants are CLOCK_MONOTONIC, ns."""

from __future__ import annotations

from typing import NotRequired

from typing_extensions import TypedDict

from allocpool.trial.measurement import CpuTime, Outcome

Record = tuple[int, int, int, int, int]
"""(start_ns, end_ns, count, alloc_ns, free_ns) of an iteration: the fields of ``ap_buffers_iteration``."""


class Stretches(TypedDict):
    """The records of each stretch."""

    warmup: list[Record]
    measured: list[Record]


class BuffersMeasurement(TypedDict):
    """What modes ``allocation`` and ``access`` share."""

    iterations: Stretches
    cpu: CpuTime
    peak_rss_mb: float
    allocator_version: str | None


class Books(TypedDict):
    """What the allocator's own counters say of one round, or the JVM's of the measured window; None: they don't
    tell."""

    held_bytes: int | None
    counted_bytes: int | None
    heap_bytes: NotRequired[int]


class AllocationMeasurement(BuffersMeasurement):
    """Of mode ``allocation``."""

    books: Books


class AllocationOutcome(Outcome, AllocationMeasurement):
    """What the process of an allocation trial returns."""


class AccessMeasurement(BuffersMeasurement):
    """Of mode ``access``."""

    checksum: str


class AccessOutcome(Outcome, AccessMeasurement):
    """What the process of an access trial returns."""


class Window(TypedDict):
    """One window of a fragmentation trial; None where the language or the system does not tell, or nothing ran."""

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


class WindowsMeasurement(TypedDict):
    """All windows of a fragmentation trial, and what was spent on them."""

    base_resident_bytes: int
    phases: list[str]
    """Names, by the number that a window gives."""
    windows: list[Window]
    cpu: CpuTime
    peak_rss_mb: float
    allocator_version: str | None


class FragmentationMeasurement(WindowsMeasurement):
    """Of mode ``fragmentation``."""

    checksum: str


class FragmentationOutcome(Outcome, FragmentationMeasurement):
    """What the process of a fragmentation trial returns."""


class JmhFigures(TypedDict):
    """What JMH's JSON says of one benchmark."""

    score_ns: float
    iterations_ns: list[float]
    allocated_bytes: float | None
    jmh_version: str
    vm_version: str


class JmhMeasurement(TypedDict):
    """Of mode ``jmh``."""

    jmh: JmhFigures


class JmhOutcome(Outcome, JmhMeasurement):
    """What the process of a JMH trial returns."""
