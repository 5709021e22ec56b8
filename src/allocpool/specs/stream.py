"""Mode stream: keyed sliding windows over simulated events, on the real engine (Hazelcast with Jet, one member).

The model is that of "Sub-10 ms Latency in Java: Concurrent GC with Green Threads" (Hazelcast, 2020): sources that
simulate a rate, windows over many keys, and the latency of each window's results from the window's end.
"""

from __future__ import annotations

import math
import os
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from allocpool.errors import UserError, unknown_choice
from allocpool.runtimes.collectors import FEATURES, check_combination
from allocpool.specs.packets import DEFAULT_RUNTIME, TrialSpec

Aggregate = Literal["boxed", "garbage_free"]
Processors = Literal["cooperative", "native", "platform", "virtual"]
AGGREGATES: tuple[Aggregate, ...] = ("boxed", "garbage_free")
PROCESSORS: tuple[Processors, ...] = ("cooperative", "native", "platform", "virtual")
"""Of Jet: on shared threads, or each on a native thread; and the window step alone, on threads of this kind."""
OLDEST_RUNTIME = 17
FIRST_WITH_VIRTUAL_THREADS = 21
HEAP_MB = 1024
G1_PAUSE_TARGET_MS = 5
"""As published: ``-XX:MaxGCPauseMillis=5``."""
PERCENTILES = {"p50": 50.0, "p99": 99.0, "p99.9": 99.9, "p99.99": 99.99}
"""A percentile is told from as many windows as leave one above it, and from no fewer."""
SIZED_YOUNG = ("g1", "parallel", "serial")
"""Collectors whose young generation ``-XX:MaxNewSize`` limits."""
_SET_UP_S = 4.0
_GRACE_S = 60.0


def windows_needed(percentile: float) -> int:
    """Windows that a percentile takes: one of them lies above it."""
    return math.ceil(round(100 / (100 - percentile), 6))


def cores() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class StreamSpec(TrialSpec):
    """One member, one job, one rate of events."""

    mode: Literal["stream"] = "stream"
    runtime: int = DEFAULT_RUNTIME
    collector: str = "g1"
    heap_mb: int = Field(default=HEAP_MB, ge=256)
    pause_target_ms: int | None = Field(default=None, gt=0, description="-XX:MaxGCPauseMillis; 5 of g1")
    new_size_mb: int | None = Field(default=None, gt=0, description="-XX:MaxNewSize")
    concurrent_gc_threads: int | None = Field(default=None, gt=0, description="-XX:ConcGCThreads")
    parallel_gc_threads: int | None = Field(default=None, gt=0, description="-XX:ParallelGCThreads")
    events_per_second: int = Field(ge=1, le=10**9)
    keys: int = Field(default=10_000, ge=1, le=10**7)
    window_ms: int = Field(default=1000, ge=1, le=3_600_000)
    slide_ms: int = Field(default=10, ge=1, le=3_600_000, description="from window to window")
    aggregate: Aggregate = "boxed"
    processors: Processors = "cooperative"
    cooperative_threads: int = Field(default=1, ge=1, description="and processors of each kind")
    port: int = Field(default=0, ge=0, le=65_535, description="of 127.0.0.1; 0: any free one")
    seconds: float = Field(gt=0, le=86_400, description="measured, after the warm-up")
    warmup_seconds: float = Field(default=3.0, ge=0, le=600, description="windows that are checked and not counted")
    percentile: float | None = Field(default=None, gt=0, lt=100, description="that the trial must be long enough for")
    late_ms: float = Field(default=200.0, gt=0, description="behind by more at the end: has not kept up")
    patience_seconds: float = Field(default=2.0, gt=0, le=600, description="that a late pipeline may go on for")

    @model_validator(mode="before")
    @classmethod
    def _fill_in(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        spec = dict(given)
        for key, valid in (("aggregate", AGGREGATES), ("processors", PROCESSORS)):
            if key in spec and spec[key] not in valid:
                raise ValueError(str(unknown_choice(key, spec[key], valid)))
        if spec.get("collector", "g1") == "g1":
            spec.setdefault("pause_target_ms", G1_PAUSE_TARGET_MS)
        _allow_time(spec)
        return spec

    @model_validator(mode="after")
    def _holds_together(self) -> Self:
        if self.runtime in FEATURES and self.runtime < OLDEST_RUNTIME:
            newer = ", ".join(str(feature) for feature in FEATURES if feature >= OLDEST_RUNTIME)
            raise ValueError(f"runtime {self.runtime} can't run Hazelcast 5.7: choose one of {newer}")
        try:
            check_combination(self.collector, self.runtime)
        except UserError as error:
            raise ValueError(str(error)) from error
        if self.processors == "virtual" and self.runtime < FIRST_WITH_VIRTUAL_THREADS:
            raise ValueError(
                f"runtime {self.runtime} has no virtual threads: choose runtime 21 or 25, or processors=platform"
            )
        if self.new_size_mb is not None and self.collector not in SIZED_YOUNG:
            raise ValueError(
                f"new_size_mb means nothing to collector {self.collector}: choose one of {', '.join(SIZED_YOUNG)}"
            )
        if self.window_ms % self.slide_ms:
            raise ValueError(
                f"window_ms {self.window_ms} is no multiple of slide_ms {self.slide_ms}: "
                f"give {self.slide_ms * max(1, round(self.window_ms / self.slide_ms))}"
            )
        if self.windows < 1:
            raise ValueError(f"seconds {self.seconds:g} hold no window: give at least {self.slide_ms / 1000:g}")
        if self.percentile is not None and self.windows < windows_needed(self.percentile):
            needed = windows_needed(self.percentile)
            raise ValueError(
                f"p{self.percentile:g} takes {needed:,} windows, and {self.seconds:g} s have {self.windows:,}: give "
                f"seconds={self.seconds_for(self.percentile):g} at slide_ms={self.slide_ms}"
            )
        return self

    @property
    def warmup_ms(self) -> int:
        """Windows that end after it are measured; whole slides."""
        return math.ceil(self.warmup_seconds * 1000 / self.slide_ms) * self.slide_ms

    @property
    def windows(self) -> int:
        """Measured windows, each with one latency."""
        return int(self.seconds * 1000 + 1e-6) // self.slide_ms

    def seconds_for(self, percentile: float) -> float:
        """Measured seconds that a percentile takes."""
        return windows_needed(percentile) * self.slide_ms / 1000

    @property
    def results_per_second(self) -> float:
        """Results that come out once windows are full: one per key that has events, each slide."""
        return min(self.keys, self.events_per_second * self.window_ms / 1000) * 1000 / self.slide_ms

    @property
    def offered_items_per_second(self) -> float:
        """Input and output together, as on the published axis."""
        return self.events_per_second + self.results_per_second

    def configuration(self) -> str:
        return (
            f"{self.collector} {self.runtime}, {self.cooperative_threads} {self.processors} threads, {self.aggregate}, "
            f"{self.events_per_second:,} events/s"
        )

    def expected_seconds(self) -> float:
        return _SET_UP_S + self.warmup_seconds + self.seconds


def too_many_threads(spec: StreamSpec) -> str | None:
    """One line that says why this machine has too few processors for the spec, or None."""
    if spec.cooperative_threads <= cores():
        return None
    return (
        f"cooperative_threads {spec.cooperative_threads} are more than the {cores()} processors of this machine: "
        f"choose 1 to {cores()}"
    )


def _allow_time(spec: dict[str, Any]) -> None:
    """A time-out that the stated length can't reach, where none is given."""
    if "timeout_s" in spec:
        return
    try:
        stated = sum(float(spec.get(name, 3.0)) for name in ("seconds", "warmup_seconds", "patience_seconds"))
    except (TypeError, ValueError):
        return  # refused field by field
    spec["timeout_s"] = 2 * stated + _GRACE_S
