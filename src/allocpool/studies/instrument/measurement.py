"""What a trial of mode ``bridge`` measures."""

from __future__ import annotations

from typing_extensions import TypedDict

from allocpool.trial.measurement import Iteration, Outcome


class BridgeMeasurement(TypedDict):
    """Times are CLOCK_MONOTONIC, ns; CPU times are of the measured half, ns."""

    window: tuple[int, int]
    """From before the warm-up to the end of the measured half."""
    measured: list[Iteration]
    counts: list[int]
    """In the order of the Java program's names."""
    checksum: str
    allocated_bytes: int
    jvm_thread_ns: int
    """CPU of the measuring thread, by the counters of the JVM."""
    jvm_process_ns: int
    """CPU of the process, by the counters of the JVM, which are in clock ticks."""
    kernel_thread_ns: int | None
    """The same by the kernel's; behind the bridge only."""
    kernel_process_ns: int | None
    recorder: tuple[int, int] | None
    """Pauses by Flight Recorder, and their total in ns; of side ``recorded`` only."""


class BridgeOutcome(Outcome, BridgeMeasurement):
    """What the process of such a trial returns."""
