"""Specs of the packets workload split between a receiver and workers.

A receiver obtains a message and fills it; a worker keeps it in its queue, parses it, stores it or frees it. Queue and
store of the case are divided between the workers, so that the live set is that of one.
"""

from __future__ import annotations

import math
import sys
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from allocpool.errors import OneOf
from allocpool.machine.host import usable_cores
from allocpool.machine.perf import why_no_hardware_counters
from allocpool.packets import specs as workload
from allocpool.packets.specs import DEFAULT_ALLOCATOR
from allocpool.packets.strategies import JAVA_LAYOUTS, Language
from allocpool.runtimes.collectors import collector_named
from allocpool.studies.realtime import specs as realtime
from allocpool.studies.threads.strategies import LAYOUTS, STRATEGIES, StrategyName, Topology, why_not
from allocpool.trial.spec import Jvm, Needs

MOST_THREADS = 256
FIRST_WITH_VIRTUAL_THREADS = 21
_TRAIN = 32
"""Packets of one flow that come one after the other; and messages that are returned to their owner together."""
_BETWEEN = {"sharded": 2, "pipeline": 1024 + 4, "virtual": 2 * _TRAIN}
"""Messages between a receiver and a worker by topology: a pipeline's queue has room for 1024."""
_IDLE = {"cached": 384, "owner": _TRAIN}
"""Messages that a thread's cache or batch holds at most, by strategy."""
_BESIDE_WORKERS = 2
"""Processors that real time takes in addition: the source's, and one for receiver or collector."""
UNPADDED = ("mpmc", "owner")
"""Strategies that have a form whose cells lie side by side."""
_MOST_SIMULATED = 15
"""Workers before a simulated cache, which remembers sixteen threads of a line."""
_MESSAGE_BYTES = 1536
"""At most, with parse results and what an allocator adds."""
_SMALLEST_DIRECT_MB = 64
_LAYOUT_NAMES = tuple(dict.fromkeys(name for names in LAYOUTS.values() for name in names))


def _java(spec: dict[str, Any]) -> bool:
    return bool(spec["language"] == "java")


def _out_at_once(spec: dict[str, Any]) -> int:
    """Return the messages that can be in use: in queues and stores, and between threads."""
    return int(spec["queue_size"] + spec["stored_count"] + spec["threads"] * _BETWEEN[spec["topology"]])


def _prepared(spec: dict[str, Any]) -> int:
    """Return all that can be in use, and what lies idle in that time in caches and batches."""
    strategy = STRATEGIES[spec["strategy"]]
    if not strategy.prepares or (strategy.name == "thread_local" and spec["topology"] == "virtual"):
        return 0
    return _out_at_once(spec) + (int(spec["threads"]) + 1) * _IDLE.get(strategy.name, 0)


def _heap_mb(spec: dict[str, Any]) -> int | None:
    """Return the published heap, or that of which the live set with its pool takes a third."""
    if not _java(spec):
        return None
    live = max(int(spec["queue_size"] + spec["stored_count"]), int(spec["pool_size"]))
    published_mb = workload.scaled_heap_mb("heap", spec["collector"], spec["scale"])
    return max(published_mb, math.ceil(3 * live * _MESSAGE_BYTES / 2**20))


def _direct_mb(spec: dict[str, Any]) -> int | None:
    if not _java(spec) or spec["layout"] == "heap":
        return None
    out = max(_out_at_once(spec), int(spec["pool_size"]))
    factor = 8 if spec["strategy"].startswith("netty") else 2
    # It keeps a whole chunk while one of its buffers lives, and one message in sixteen lives long.
    retained_mb = JAVA_LAYOUTS["netty_adaptive"].direct_mb if spec["strategy"] == "netty_adaptive" else 0
    most_mb = max(factor * out * _MESSAGE_BYTES / 2**20, retained_mb * float(spec["scale"]))
    return max(_SMALLEST_DIRECT_MB, math.ceil(most_mb))


def _case_size(spec: dict[str, Any]) -> int:
    return workload.scaled(workload.case_size(spec["case"]), spec["scale"])


class WorkersSpec(workload.ProgramSpec):
    """Packets without end on many threads: ``packets`` of them in all, or ``seconds`` of them measured."""

    CHILD: ClassVar[str] = "allocpool.studies.threads.child.threads"

    topology: Topology = Field(description="who receives and who works")
    threads: int = Field(ge=1, le=MOST_THREADS, description="workers; a pipeline has its receiver in addition")
    language: Language = "java"
    layout: Annotated[str, OneOf("layout", _LAYOUT_NAMES)] = "heap"
    strategy: StrategyName
    case: workload.Case = "B"
    scale: float = Field(default=1.0, gt=0, le=4, description="factor on queue, store and heap")
    queue_size: int = Field(gt=0, default_factory=_case_size, description="of all workers together")
    stored_count: int = Field(gt=0, default_factory=_case_size, description="of all workers together")
    fill: int = Field(
        ge=1, description="packets after which queues and stores are full; what is measured comes later",
        default_factory=lambda spec: workload.packets_to_fill(spec["queue_size"], spec["stored_count"]),
    )  # fmt: skip
    pool_size: int = Field(ge=0, default_factory=_prepared, description="messages made before the start")
    packets: int | None = Field(default=None, gt=0, le=10**11, description="in all, from the first to the last")
    seconds: float | None = Field(default=None, gt=0, le=3600, description="measured, after warm-up")
    warmup_seconds: float = Field(default=0.5, ge=0, le=600, description="of trials by seconds")
    interval_ns: float | None = Field(
        default=None, gt=0, le=realtime.LONGEST_INTERVAL_NS, description="real time: a source's ticks so far apart"
    )
    input_queue_ms: float | None = Field(
        default_factory=lambda spec: (
            realtime.scaled_time(realtime.INPUT_QUEUE_MS)(spec) if spec["interval_ns"] else None
        ),
        gt=0,
        description="real time: ticks that wait between source and receivers at most, over all rings",
    )
    source_yields: bool = Field(default=False, description="real time: all sleep while nothing is due; no finding")
    padded: bool = Field(default=True, description="mpmc and owner: what threads exchange lies two cache lines apart")
    counted: bool = Field(default=False, description="hardware counters are read in that time, which takes time")
    heap_mb: int | None = Field(gt=0, default_factory=_heap_mb, description="-Xms and -Xmx")
    direct_mb: int | None = Field(ge=0, default_factory=_direct_mb, description="-XX:MaxDirectMemorySize")
    pause_target_ms: int | None = Field(
        gt=0, description="-XX:MaxGCPauseMillis",
        default_factory=lambda spec: workload.published_pause_target_ms(spec["collector"], spec["runtime"]),
    )  # fmt: skip
    seed: int = Field(default=workload.DEFAULT_SEED, ge=0, lt=2**63, description="of contents, flows and stores")

    @model_validator(mode="after")
    def _goes_together(self) -> Self:
        if reason := why_not(self.language, self.topology, self.layout, self.strategy):
            raise ValueError(reason)
        if self.topology == "virtual" and (self.runtime or FIRST_WITH_VIRTUAL_THREADS) < FIRST_WITH_VIRTUAL_THREADS:
            raise ValueError(
                f"runtime {self.runtime} has no virtual threads: choose runtime 21 or newer, or topology sharded "
                "or pipeline"
            )
        if not self.padded and self.strategy not in UNPADDED:
            raise ValueError(f"padded=false is of strategy {' or '.join(UNPADDED)}, not {self.strategy}")
        return self

    @model_validator(mode="after")
    def _sizes(self) -> Self:
        if (self.seconds is None) == (self.packets is None):
            raise ValueError("give packets=N or seconds=S, one of them")
        if min(self.queue_size, self.stored_count) < self.threads:
            raise ValueError(
                f"threads {self.threads} are more than queue_size {self.queue_size} or stored_count "
                f"{self.stored_count} can be divided by: choose a larger case or scale"
            )
        least = self.queue_size + self.stored_count + self.threads
        if self.pool_size and self.pool_size < least and self.strategy != "thread_local":
            raise ValueError(f"pool_size {self.pool_size} is too small: what is out at once needs {least}")
        return self

    @model_validator(mode="after")
    def _real_time(self) -> Self:
        if self.interval_ns is None:
            if self.input_queue_ms is not None or self.source_yields:
                raise ValueError("input_queue_ms and source_yields belong to real time: give interval_ns, too")
            return self
        if self.counted:
            raise ValueError("counted=true is of batch: who waits for ticks counts its waiting")
        if self.topology == "virtual":
            raise ValueError("real time has threads that stay: choose topology sharded or pipeline")
        if self.seconds is None:
            raise ValueError("real time lasts seconds=S, not packets")
        if self.seconds * 1e9 < self.interval_ns:
            raise ValueError(f"seconds {self.seconds:g} is shorter than one interval of {self.interval_ns:g} ns")
        queue_ms, rings = self.input_queue_ms or 0.0, self.threads if self.topology == "sharded" else 1
        realtime.check_queue_length(queue_ms, self.seconds, "seconds")
        if realtime.queue_ticks(queue_ms, self.interval_ns) < rings:
            raise ValueError(f"input_queue_ms {queue_ms:g} holds less than one tick for each of {rings} rings")
        return self

    def cell_name(self) -> str:
        unpadded = ("" if self.padded else " unpadded") + (" counted" if self.counted else "")
        configuration = configuration_of(self.model_dump())
        return f"{self.topology} x {self.threads}, {configuration}, {self.strategy}{unpadded}"

    def longest_seconds(self) -> float:
        return 60.0 + 20 * self.expected_seconds()


class ThreadsSpec(WorkersSpec):
    mode: Literal["threads"] = "threads"

    @property
    def processors(self) -> int:
        """Threads that want a processor at the same time; in real time all, whatever they wait for."""
        tied = self.interval_ns is not None and not self.source_yields
        return self.threads + (_BESIDE_WORKERS if tied else int(self.topology == "pipeline"))

    def refused_here(self) -> str | None:
        if self.counted and (reason := why_no_hardware_counters()):
            return reason
        cores = usable_cores()
        if self.interval_ns is None or self.source_yields or self.processors <= cores:
            return None
        most = cores - _BESIDE_WORKERS
        instead = f"threads at most {most}, or " if most > 0 else ""
        return (
            f"real time with {self.threads} threads takes {self.processors} processors, one for each and "
            f"{_BESIDE_WORKERS} for source and receiver or collector, this machine has {cores}: choose {instead}leave "
            "interval_ns out, or source_yields=true at a low rate"
        )

    def cell_name(self) -> str:
        return super().cell_name() + (f", every {self.interval_ns:g} ns" if self.interval_ns else "")

    def expected_seconds(self) -> float:
        packets_s = ((self.packets or self.fill) + self.pool_size) * 400 / self.threads / 1e9
        warmups = 2 if self.interval_ns else 1  # before the source, and of its ticks
        lasts_s = warmups * self.warmup_seconds + self.seconds if self.seconds else 0.0
        return workload.SET_UP_S[self.language] + packets_s + lasts_s

    def needs(self) -> Needs:
        if self.language == "cpp":
            out = max(self.pool_size, self.queue_size + self.stored_count)
            return Needs(native="packets", allocator=self.allocator, memory_mb=out * _MESSAGE_BYTES // 2**20)
        carriers = [f"-Djdk.virtualThreadScheduler.{name}={self.threads}" for name in ("parallelism", "maxPoolSize")]
        jvm = Jvm(
            module="threads",
            runtime=self.runtime or 0,
            collector=self.collector or "",
            heap_mb=self.heap_mb or 0,
            direct_mb=self.direct_mb or 0,
            pause_target_ms=self.pause_target_ms,
            unsafe=STRATEGIES[self.strategy].library in ("Agrona", "JCTools", "Netty"),
            flags=tuple(carriers) if self.topology == "virtual" else (),
        )
        return Needs(jvm=jvm, native="packets" if self.interval_ns else None)


class SharingSpec(WorkersSpec):
    """The C++ workload before a simulated cache. Sizes are small, for every access is simulated; no time is a cost."""

    mode: Literal["threads_sharing"] = "threads_sharing"
    language: Literal["cpp"] = "cpp"
    queue_size: int = Field(default=128, gt=0, description="of all workers together")
    stored_count: int = Field(default=64, gt=0, description="of all workers together")
    packets: int | None = Field(default=6000, gt=0, le=10**6, description="in all")
    turn: int = Field(default=16, ge=1, le=10**6, description="accesses of a thread before another's turn, in the mean")
    processors: ClassVar[int] = 1
    """Its threads take turns."""

    @model_validator(mode="after")
    def _simulated(self) -> Self:
        if self.threads > _MOST_SIMULATED:
            raise ValueError(f"threads before a simulated cache are 1 to {_MOST_SIMULATED}, not {self.threads}")
        if self.seconds is not None or self.interval_ns is not None or self.counted:
            raise ValueError("a simulated cache has no time: leave out seconds, interval_ns and counted, give packets")
        if self.fill >= (self.packets or 0):
            raise ValueError(f"packets {self.packets} are no more than the {self.fill} that fill queues and stores")
        return self

    def refused_here(self) -> str | None:
        if sys.platform != "linux":
            return "a simulated cache needs a linker that wraps functions, as Linux has: choose mode=threads"
        return None

    def cell_name(self) -> str:
        return f"{super().cell_name()}, before a simulated cache"

    def expected_seconds(self) -> float:
        return 2.0

    def needs(self) -> Needs:
        return Needs(native="sharing", allocator=self.allocator)


def configuration_of(spec: dict[str, Any]) -> str:
    """Return a row's name in tables: layout with collector and runtime, or with allocator."""
    if spec["language"] == "cpp":
        allocator = "" if spec["allocator"] == DEFAULT_ALLOCATOR else f" / {spec['allocator']}"
        return f"C++ {spec['layout']}{allocator}"
    return f"{spec['layout']} / {collector_named(spec['collector']).label} / {spec['runtime']}"
