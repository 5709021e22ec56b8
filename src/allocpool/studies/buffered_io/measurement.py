"""What an echo trial measures. Instants are CLOCK_MONOTONIC, ns."""

from __future__ import annotations

from typing_extensions import TypedDict

from allocpool.trial.measurement import CpuTime, Outcome


class Parts(TypedDict):
    """Bytes in use by what they are part of; in Java after a full collection."""

    stack: int
    char_buffer: int
    byte_buffer: int
    codec: int
    direct: int
    socket: int
    thread: int
    native: int
    """The C library's heap without direct buffers."""
    code: int
    other: int


class Load(TypedDict):
    """What the load generator says of the measured window."""

    measured: int
    """Messages echoed in it."""
    start_ns: int
    end_ns: int
    behind: int
    dropped: int
    errors: int
    delays: list[tuple[int, int]]
    """(index, count) of every bucket of the latencies' HdrHistogram that is not empty."""


class EchoMeasurement(TypedDict):
    """Of mode ``echo``."""

    load: Load
    cpu: CpuTime
    cpu_percent: list[float]
    cpu_percent_median: float
    cpu_percent_mean: float
    memory: dict[str, float]
    """MiB by the names of columns of table ``trials``; a heap there is in Java only."""
    parts: Parts
    stacks_bytes: int
    threads: int
    counts: dict[str, int]


class EchoOutcome(Outcome, EchoMeasurement):
    """What the process of an echo trial returns."""
