"""The modes stream and stream_switch: keyed sliding windows over simulated events, on one member of Hazelcast with Jet.

The model is that of "Sub-10 ms Latency in Java: Concurrent GC with Green Threads" (Hazelcast, 2020): sources that
simulate a rate, windows over many keys, and the latency of each window's results from the window's end.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import ClassVar, Literal, Self, get_args

from pydantic import Field, model_validator

from allocpool.machine.host import usable_cores
from allocpool.packets.specs import DEFAULT_RUNTIME
from allocpool.percentiles import samples_needed as windows_needed
from allocpool.runtimes.collectors import collector_named, collectors_that, require_combination
from allocpool.trial.spec import CollectorName, Jvm, Needs, RuntimeNumber, TrialSpec

Aggregate = Literal["boxed", "garbage_free"]
Processors = Literal["cooperative", "native", "platform", "virtual"]
"""Of Jet: on shared threads, or each on a native thread; and the window step alone, on threads of this kind."""
Sources = Literal["parallel", "single"]
Switching = Literal["tasklets", "virtual", "platform"]
"""What takes turns on one processor: tasklets of Jet, and threads of Java that wake each other."""
OF_THE_ENGINE: tuple[Processors, ...] = ("cooperative", "native")
OLDEST_RUNTIME = 17
FIRST_WITH_VIRTUAL_THREADS = 21
HEAP_MB = 1024
G1_PAUSE_TARGET_MS = 5
"""As published: ``-XX:MaxGCPauseMillis=5``."""
HIGHEST_RATE = 10**9
_SET_UP_S = 4.0
_SWITCHES_S = {"tasklets": 1e-6, "virtual": 1e-6, "platform": 1e-5}
_GRACE_S = 60.0
_HAZELCAST = (
    "--add-modules=java.se",
    "--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED",
    "--add-opens=java.base/java.lang=ALL-UNNAMED",
    "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
    "--add-opens=java.management/sun.management=ALL-UNNAMED",
    "--add-opens=jdk.management/com.sun.management.internal=ALL-UNNAMED",
)
"""What Hazelcast asks for on modular Java (its manual, "Running in Modular Java")."""


class EngineSpec(TrialSpec):
    """A JVM that the engine can run on."""

    CHILD: ClassVar[str] = "allocpool.studies.stream.child.stream"

    runtime: RuntimeNumber = DEFAULT_RUNTIME
    collector: CollectorName = "g1"
    heap_mb: int = Field(default=HEAP_MB, ge=256)

    @model_validator(mode="after")
    def _runs(self) -> Self:
        if self.runtime < OLDEST_RUNTIME:
            raise ValueError(f"runtime {self.runtime} can't run Hazelcast 5.7: choose {OLDEST_RUNTIME} or newer")
        require_combination(self.collector, self.runtime)
        return self

    def _jvm(self, flags: Iterable[str] = (), pause_target_ms: int | None = None) -> Jvm:
        return Jvm(
            module="stream", runtime=self.runtime, collector=self.collector, heap_mb=self.heap_mb,
            pause_target_ms=pause_target_ms, unsafe=True, flags=(*_HAZELCAST, *flags),
        )  # fmt: skip


def _scheduler(threads: int) -> list[str]:
    return [f"-Djdk.virtualThreadScheduler.{name}={threads}" for name in ("parallelism", "maxPoolSize")]


class StreamSpec(EngineSpec):
    """One job at one rate."""

    mode: Literal["stream"] = "stream"
    events_per_second: int = Field(ge=1, le=HIGHEST_RATE)
    pause_target_ms: int | None = Field(
        default_factory=lambda spec: G1_PAUSE_TARGET_MS if spec["collector"] == "g1" else None,
        gt=0,
        description="-XX:MaxGCPauseMillis; 5 of g1",
    )
    new_size_mb: int | None = Field(default=None, gt=0, description="-XX:MaxNewSize")
    concurrent_gc_threads: int | None = Field(default=None, gt=0, description="-XX:ConcGCThreads")
    parallel_gc_threads: int | None = Field(default=None, gt=0, description="-XX:ParallelGCThreads")
    keys: int = Field(default=10_000, ge=1, le=10**7)
    window_ms: int = Field(default=1000, ge=1, le=3_600_000)
    slide_ms: int = Field(default=10, ge=1, le=3_600_000, description="from window to window")
    aggregate: Aggregate = "boxed"
    processors: Processors = "cooperative"
    cooperative_threads: int = Field(default=1, ge=1, description="and processors of each kind")
    sources: Sources = Field(default="parallel", description="as many as cooperative threads, or one")
    port: int = Field(default=0, ge=0, le=65_535, description="of 127.0.0.1; 0: any free one")
    seconds: float = Field(gt=0, le=86_400, description="measured, after the warm-up")
    warmup_seconds: float = Field(default=3.0, ge=0, le=600, description="windows that are checked and not counted")
    late_ms: float = Field(default=200.0, gt=0, description="behind by more at the end: has not kept up")
    patience_seconds: float = Field(default=2.0, gt=0, le=600, description="that a late pipeline may go on for")
    hiccup_ms: int = Field(default=0, ge=0, description="all sources are held once for so long, half-way; 0: never")
    target_ms: float | None = Field(default=None, gt=0, description="latency to hold at the tail; adaptive trials")

    @model_validator(mode="after")
    def _holds_together(self) -> Self:
        if self.processors == "virtual" and self.runtime < FIRST_WITH_VIRTUAL_THREADS:
            raise ValueError(
                f"runtime {self.runtime} has no virtual threads: choose runtime 21 or newer, or processors=platform"
            )
        if self.new_size_mb is not None and not collector_named(self.collector).has_sized_young:
            sized = ", ".join(collectors_that(lambda row: row.has_sized_young and row.is_on(self.runtime)))
            raise ValueError(f"new_size_mb means nothing to collector {self.collector}: choose one of {sized}")
        if self.sources == "single" and self.processors not in OF_THE_ENGINE:
            raise ValueError(f"sources=single is of the engine: choose processors {' or '.join(OF_THE_ENGINE)}")
        if self.window_ms % self.slide_ms:
            raise ValueError(
                f"window_ms {self.window_ms} is no multiple of slide_ms {self.slide_ms}: "
                f"give {self.slide_ms * max(1, round(self.window_ms / self.slide_ms))}"
            )
        if self.windows < 1:
            raise ValueError(f"seconds {self.seconds:g} hold no window: give at least {self.slide_ms / 1000:g}")
        if self.target_ms is not None and self.windows < windows_needed(50):
            raise ValueError(f"seconds {self.seconds:g} hold {self.windows} window(s), too few for any percentile")
        if self.hiccup_ms and self.processors not in OF_THE_ENGINE:
            raise ValueError(f"hiccup_ms is of the engine: choose processors {' or '.join(OF_THE_ENGINE)}")
        if self.hiccup_ms * 4 > self.seconds * 1000:
            raise ValueError(
                f"hiccup_ms {self.hiccup_ms} leaves no time to catch up: give at most {int(self.seconds * 250)}"
            )
        return self

    def _settings(self) -> list[str]:
        asked = {
            "MaxNewSize": self.new_size_mb and f"{self.new_size_mb}m", "ConcGCThreads": self.concurrent_gc_threads,
            "ParallelGCThreads": self.parallel_gc_threads,
        }  # fmt: skip
        return [f"{name}={value}" for name, value in asked.items() if value is not None]

    def needs(self) -> Needs:
        flags = [f"-XX:{option}" for option in self._settings()]
        if self.processors == "virtual":
            # Virtual threads get as many native ones as the engine's cooperative processors do.
            flags += _scheduler(self.cooperative_threads)
        return Needs(jvm=self._jvm(flags, self.pause_target_ms))

    def refused_here(self) -> str | None:
        cores = usable_cores()
        if self.cooperative_threads <= cores:
            return None
        return (
            f"cooperative_threads {self.cooperative_threads} are more than the {cores} processors of this machine: "
            f"choose 1 to {cores}"
        )

    def longest_seconds(self) -> float:
        return 2 * (self.seconds + self.warmup_seconds + self.patience_seconds) + _GRACE_S

    def expected_seconds(self) -> float:
        return _SET_UP_S + self.warmup_seconds + self.seconds

    @property
    def warmup_ms(self) -> int:
        """Windows that end after it are measured; a multiple of the slide."""
        return math.ceil(self.warmup_seconds * 1000 / self.slide_ms) * self.slide_ms

    @property
    def windows(self) -> int:
        """Measured windows, each with one latency."""
        return int(self.seconds * 1000 + 1e-6) // self.slide_ms

    @property
    def hiccup_from_ms(self) -> int:
        """When sources are held, ms after event 0: half-way, at the end of a slide."""
        return self.warmup_ms + self.windows // 2 * self.slide_ms

    @property
    def offered_items(self) -> float:
        """Input and output together, items/s, once windows are full: each slide brings a result per key with events."""
        results = min(self.keys, self.events_per_second * self.window_ms / 1000) * 1000 / self.slide_ms
        return self.events_per_second + results

    def cell_name(self) -> str:
        words = [
            f"{self.collector} {self.runtime}, {self.cooperative_threads} {self.processors} threads, {self.aggregate}",
            f"windows of {self.window_ms} by {self.slide_ms} ms",
        ]
        words += ["one source"] if self.sources == "single" else []
        rate = f"{self.events_per_second:,} events/s" if self.target_ms is None else "highest rate"
        held = [f"held for {self.hiccup_ms} ms"] if self.hiccup_ms else []
        return ", ".join([*words, *self._settings(), rate, f"{self.keys:,} keys", *held])


def _has(runtime: int, way: Switching) -> bool:
    return way != "virtual" or runtime >= FIRST_WITH_VIRTUAL_THREADS


class StreamSwitchSpec(EngineSpec):
    """Parties that take turns on one processor: what it takes to go from one to the next."""

    mode: Literal["stream_switch"] = "stream_switch"
    parties: int = Field(default=64, ge=2, le=1000, description="that take turns")
    turns: int = Field(default=100_000, ge=100, le=10**8, description="of them all; the first quarter is not measured")
    ways: tuple[Switching, ...] = Field(
        default_factory=lambda spec: tuple(way for way in get_args(Switching) if _has(spec["runtime"], way)),
        min_length=1,
        description="all that the runtime has",
    )

    @model_validator(mode="after")
    def _has_them(self) -> Self:
        if not all(_has(self.runtime, way) for way in self.ways):
            raise ValueError(f"runtime {self.runtime} has no virtual threads: choose runtime 21 or newer")
        return self

    def needs(self) -> Needs:
        return Needs(jvm=self._jvm(_scheduler(1)))

    def longest_seconds(self) -> float:
        return _GRACE_S + 3 * self.turns * 1e-4

    def expected_seconds(self) -> float:
        return _SET_UP_S + self.turns * sum(_SWITCHES_S[way] for way in self.ways)

    def cell_name(self) -> str:
        return f"{self.collector} {self.runtime}, {self.parties} parties"
