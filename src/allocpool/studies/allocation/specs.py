"""Specs of the buffer modes: allocation, grow, access, fragmentation, and JMH's second opinion.

A technique is a way to come by a buffer, or the memory of one. The language follows from it, and in Java the Maven
module and whether memory off the heap is involved.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BaseModel, Field, model_validator

from allocpool.errors import OneOf
from allocpool.machine.allocators import ALLOCATORS
from allocpool.packets.specs import DEFAULT_ALLOCATOR, DEFAULT_SEED, SMALLEST_MB, ProgramSpec
from allocpool.packets.strategies import Language
from allocpool.runtimes.collectors import collector_named, collectors_that, never_frees
from allocpool.trial.spec import Jvm, Needs

FOREIGN_MODULE = "allocation-foreign"
FOREIGN_RUNTIME = 25
LARGEST_BYTES = 2**30
MIB = 2**20
SOURCE_HEAP_MB, SOURCE_YOUNG_MB, SOURCE_SURVIVOR_RATIO = 22_528, 2048, 2
SOURCE_BUFFERS, SOURCE_MB = 1_000_000, 1_000_000 * 10_240 / MIB
"""What the source held at the end: as many buffers, of 100 kB as many as make the same size, MiB."""
EXPERIMENTS = {"allocation": "recycle", "grow": "grow"}
"""By mode what readers call the two experiments on obtaining buffers."""
SOURCE_TECHNIQUES = ("malloc", "byte_array", "direct_buffer")
"""What the source obtained buffers by."""


@dataclass(frozen=True)
class Technique:
    """A way to come by a buffer, or a memory that access is measured on.

    ``frees``: giving a buffer back is an act of the program, and has a cost. ``direct``: the collector reclaims memory
    off the heap, which needs ``System.gc()`` allowed.
    """

    name: str
    label: str
    language: Language = "java"
    module: str = "allocation"
    frees: bool = False
    direct: bool = False
    can_be_pooled: bool = True


TECHNIQUES = {
    one.name: one
    for one in (
        Technique("malloc", "malloc", "cpp", frees=True),
        Technique("byte_array", "byte[]"),
        Technique("heap_buffer", "heap ByteBuffer"),
        Technique("direct_buffer", "direct ByteBuffer", direct=True),
        Technique("arena_confined", "confined arena", module=FOREIGN_MODULE, frees=True),
        Technique("arena_auto", "automatic arena", module=FOREIGN_MODULE, direct=True, can_be_pooled=False),
        Technique("arena_slicing", "slicing arena", module=FOREIGN_MODULE, frees=True, can_be_pooled=False),
        Technique("slab", "slab with size classes", "cpp", frees=True),
        Technique("c", "c", "cpp"),
        Technique("heap", "heap"),
        Technique("direct", "direct"),
        Technique("segment", "segment", module=FOREIGN_MODULE),
    )
}
SOURCES = ("alloc", "pool")
TOUCHES = ("none", "first", "page", "zero")
OBTAINED = (
    "malloc", "byte_array", "heap_buffer", "direct_buffer", "arena_confined", "arena_auto", "arena_slicing",
)  # fmt: skip
"""Techniques of rounds."""
CHURNED = ("malloc", "slab", "byte_array", "direct_buffer", "arena_confined", "arena_auto")
"""What mixed sizes come from."""
MEMORIES = ("c", "heap", "direct", "segment")
"""What access is measured on."""
JMH_TECHNIQUES = ("byte_array", "heap_buffer", "direct_buffer")
OPERATIONS = ("write", "random_write", "copy")
DISTRIBUTIONS = ("uniform", "lognormal", "phases")


def served_by(spec: dict[str, Any]) -> str:
    """Return what serves the memory: the allocator, or collector and runtime."""
    if spec["language"] == "cpp":
        return str(spec["allocator"])
    return f"{collector_named(spec['collector']).label} / {spec['runtime']}"


def _is_java(spec: dict[str, Any]) -> bool:
    return bool(spec["language"] == "java")


def _technique(spec: dict[str, Any]) -> Technique:
    return TECHNIQUES[spec["memory"] if "memory" in spec else spec["technique"]]


def _is_off_heap(technique: Technique) -> bool:
    return technique.direct or technique.module == FOREIGN_MODULE or technique.name == "direct"


def _buffers_mb(spec: dict[str, Any]) -> int:
    """Return the size of the buffers of a round, or of the source and target of a pass, MiB."""
    return math.ceil(int(spec.get("slots", 2)) * int(spec["bytes"]) / MIB)


def _room_mb(spec: dict[str, Any]) -> int:
    """Return room for what is alive, and for what is dead and not yet found dead, MiB."""
    if "scale" in spec:
        return _buffers_mb(spec) + 64
    if "slots" in spec:
        return max(256, 4 * _buffers_mb(spec))
    if "operation" in spec:
        return max(SMALLEST_MB, 2 * _buffers_mb(spec))
    return math.ceil(float(spec["heap_factor"]) * int(spec["live_mb"])) + 32


def _heap_mb(spec: dict[str, Any]) -> int | None:
    """Return the default of ``heap_mb``: without a collector, a heap that all that is allocated fits into, or that is
    used up and ends the trial."""
    if not _is_java(spec):
        return None
    smallest_mb = collector_named(spec["collector"]).smallest_heap_mb
    if "scale" in spec:
        return max(math.ceil(SOURCE_HEAP_MB * float(spec["scale"])), smallest_mb)
    wanted_mb = max(64, _room_mb(spec)) if "operation" in spec else _room_mb(spec)
    if never_frees(spec["collector"]) and "operation" not in spec:
        wanted_mb = 2048 if "slots" in spec else math.ceil(1.3 * spec["turnovers"] * spec["live_mb"]) + 64
    return max(wanted_mb, smallest_mb)


class BufferSpec(ProgramSpec):
    """What the buffer modes have in common: a C++ trial names its allocator, a Java trial its JVM.

    What is measured stands in a class that is named last among the bases, so that language, heap and direct memory can
    follow from it.
    """

    CHILD: ClassVar[str] = "allocpool.studies.allocation.child.buffers"
    MODULE: ClassVar[str] = ""
    """The Maven module of a Java trial; empty: its technique's."""
    GROWS: ClassVar[bool] = False
    """Whether the heap is small at the start."""

    language: Language = Field(default_factory=lambda spec: _technique(spec).language)
    allocator: Annotated[str, OneOf("allocator", ALLOCATORS)] | None = Field(
        default_factory=lambda spec: None if _is_java(spec) else DEFAULT_ALLOCATOR,
        description="what malloc reaches",
    )
    heap_mb: int | None = Field(gt=0, default_factory=_heap_mb, description="-Xmx; -Xms, too, but in fragmentation")
    direct_mb: int | None = Field(
        gt=0, description="-XX:MaxDirectMemorySize",
        default_factory=lambda spec: _room_mb(spec) if _is_java(spec) and _is_off_heap(_technique(spec)) else None,
    )  # fmt: skip

    @property
    def source(self) -> Technique:
        """The technique, or the memory."""
        return _technique(dict(self))

    def memory_mb(self) -> int:
        """Return the memory that the buffers of a C++ trial come to, MiB."""
        return _buffers_mb(dict(self))

    @property
    def label(self) -> str:
        return served_by(dict(self))

    def cell_name(self) -> str:
        return f"{self.source.name} on {self.label}"

    def needs(self) -> Needs:
        if self.language == "cpp":
            needed_mb = self.memory_mb()
            return Needs(native="packets", allocator=self.allocator, memory_mb=needed_mb, memory_setting="live_mb")
        collector = self.collector or ""
        jvm = Jvm(
            module=self.MODULE or self.source.module,
            runtime=self.runtime or 0,
            collector=collector,
            heap_mb=self.heap_mb or 0,
            initial_heap_mb=collector_named(collector).smallest_heap_mb if self.GROWS else None,
            direct_mb=self.direct_mb or 0,
            explicit_gc=self.source.direct,
        )
        return Needs(jvm=jvm)

    @model_validator(mode="after")
    def _holds_together(self) -> Self:
        if self.language != self.source.language:
            raise ValueError(f"language is {self.source.language} here, not {self.language}")
        if self.language == "cpp" and self.allocator is None:
            raise ValueError(f"C++ takes allocator ({', '.join(ALLOCATORS)})")
        if self.source.module == FOREIGN_MODULE and (self.runtime or 0) < FOREIGN_RUNTIME:
            raise ValueError(f"foreign memory needs runtime={FOREIGN_RUNTIME}, not {self.runtime}")
        return self


class _TimedSpec(BufferSpec):
    """What is done again and again."""

    seconds: float = Field(default=1.0, gt=0, le=3600, description="measured, after the warm-up")
    warmup_seconds: float = Field(default=0.5, ge=0, le=600, description="left out of the measured window")
    iteration_ms: float = Field(default=20.0, ge=0.01, le=10_000, description="of one iteration of the measured window")

    def expected_seconds(self) -> float:
        return (0.6 if self.language == "cpp" else 1.0) + self.warmup_seconds + self.seconds


class _Rounds(BaseModel):
    """What rounds of allocation are made of."""

    technique: Annotated[str, OneOf("technique", OBTAINED)]
    strategy: Literal["alloc", "pool"] = Field(default="alloc", description="fresh buffers, or those of a pool")
    bytes: int = Field(default=1024, gt=0, le=LARGEST_BYTES, description="of a buffer")
    touch: Literal["none", "first", "page", "zero"] = Field(default="none", description="what is written to a buffer")
    live_mb: float = Field(default=16.0, gt=0, description="alive at the end of a round, MiB")
    slots: int = Field(
        gt=0, le=2**24, description="buffers of a round",
        default_factory=lambda spec: min(2**24, max(1, round(spec["live_mb"] * MIB / spec["bytes"]))),
    )  # fmt: skip


def _buffers_that_fit(spec: dict[str, Any]) -> int | None:
    """Return the default of ``max_buffers``: where nothing is ever freed, warm-up and measurement together must fit,
    with what stands on the heap for each buffer."""
    if not never_frees(spec["collector"]) or spec["strategy"] != "alloc":
        return None
    on_heap_bytes = 160 if _is_off_heap(_technique(spec)) else spec["bytes"] + 80
    return max(1, int(0.4 * spec["heap_mb"] * MIB / on_heap_bytes))


class _RoundsSpec(_TimedSpec, _Rounds):
    """Obtain ``slots`` buffers, touch each, give all of them back; again and again."""

    max_buffers: int | None = Field(gt=0, default_factory=_buffers_that_fit, description="a window ends early after it")

    def memory_mb(self) -> int:
        return math.ceil(self.slots * (self.bytes + 64) / MIB)

    @model_validator(mode="after")
    def _technique_allows(self) -> Self:
        if self.strategy == "pool" and not self.source.can_be_pooled:
            same = "a pool of segments is the same whatever they came from, choose technique arena_confined"
            raise ValueError(f"technique {self.technique} has no strategy pool: {same}")
        return self


class AllocationSpec(_RoundsSpec):
    """Rounds whose two parts, obtaining and giving back, are timed apart."""

    mode: Literal["allocation"] = "allocation"


_SIZED_YOUNG = collectors_that(lambda row: row.has_sized_young)


class _Scaled(BaseModel):
    scale: float = Field(default=1.0, gt=0, le=1, description="factor on the source's buffers and heap")


class _Held(_Rounds, _Scaled):
    """What is held until the end."""

    strategy: Literal["alloc"] = Field(default="alloc", description="fresh buffers")
    live_mb: float = Field(
        gt=0, description="alive at the end, MiB",
        default_factory=lambda spec: min(SOURCE_BUFFERS * spec["bytes"] / MIB, SOURCE_MB) * spec["scale"],
    )  # fmt: skip


def _young_mb(spec: dict[str, Any]) -> int | None:
    return max(1, round(SOURCE_YOUNG_MB * spec["scale"])) if spec["collector"] in _SIZED_YOUNG else None


class GrowSpec(BufferSpec, _Held):
    """The source's experiment: obtain ``slots`` buffers in a fresh process, hold all, then give all of them back.

    As there the heap has one size and is touched by nothing before. A smaller machine holds fewer buffers, in a heap
    and a young generation that are smaller by the same ``scale``.
    """

    mode: Literal["grow"] = "grow"
    young_mb: int | None = Field(gt=0, default_factory=_young_mb, description="-XX:NewSize and -XX:MaxNewSize")

    @model_validator(mode="after")
    def _has_young(self) -> Self:
        if self.young_mb and self.collector not in _SIZED_YOUNG:
            raise ValueError(f"young_mb belongs to Java with collector {', '.join(_SIZED_YOUNG)}")
        return self

    def expected_seconds(self) -> float:
        return 1.5 + 2 * self.slots * (2e-6 + 1e-9 * self.bytes)  # twice: the second time it is verified

    def needs(self) -> Needs:
        needs = replace(super().needs(), memory_setting="scale")
        if needs.jvm is None:
            return needs
        sizes = f"NewSize={self.young_mb}m", f"MaxNewSize={self.young_mb}m", f"SurvivorRatio={SOURCE_SURVIVOR_RATIO}"
        flags = tuple(f"-XX:{size}" for size in sizes) if self.young_mb else ()
        return replace(needs, jvm=replace(needs.jvm, pre_touch=False, explicit_gc=True, flags=flags))


class JmhSpec(_RoundsSpec):
    """The same allocation measured by JMH in one fork."""

    CHILD: ClassVar[str] = "allocpool.studies.allocation.child.jmh"
    MODULE: ClassVar[str] = "allocation-jmh"

    mode: Literal["jmh"] = "jmh"

    @model_validator(mode="after")
    def _is_on_the_heap(self) -> Self:
        if self.technique not in JMH_TECHNIQUES or self.strategy != "alloc" or self.touch != "none":
            raise ValueError(
                f"mode jmh takes technique {' or '.join(JMH_TECHNIQUES)}, strategy alloc and touch none: "
                "it checks what mode allocation finds"
            )
        return self


class _Passes(BaseModel):
    """What is passed over."""

    memory: Annotated[str, OneOf("memory", MEMORIES)]
    operation: Annotated[str, OneOf("operation", OPERATIONS)]
    bytes: int = Field(default=102_400, gt=0, le=LARGEST_BYTES, description="of the buffer")


class AccessSpec(_TimedSpec, _Passes):
    """Passes over one buffer: write in order, write at random, copy."""

    mode: Literal["access"] = "access"


class _Churn(BaseModel):
    """What comes and goes."""

    technique: Annotated[str, OneOf("technique", CHURNED)]
    distribution: Annotated[str, OneOf("distribution", DISTRIBUTIONS)]
    live_mb: int = Field(default=64, gt=0, le=2**22, description="alive, MiB")
    turnovers: float = Field(default=20.0, gt=0, description="bytes allocated in all, over bytes alive")
    heap_factor: float = Field(default=3.0, ge=1.2, description="largest heap, or direct memory, over bytes alive")


class FragmentationSpec(BufferSpec, _Churn):
    """Buffers of mixed sizes come and go at a constant number of bytes alive."""

    CHILD: ClassVar[str] = "allocpool.studies.allocation.child.fragmentation"
    GROWS: ClassVar[bool] = True

    mode: Literal["fragmentation"] = "fragmentation"
    windows: int = Field(default=60, ge=6, le=10_000, description="samples along the curve")
    idle_seconds: float = Field(default=0.5, ge=0, le=600, description="with nothing running, at the end")
    seed: int = Field(default=DEFAULT_SEED, ge=0, lt=2**63, description="of sizes and order")

    def memory_mb(self) -> int:
        return 2 * self.live_mb

    def expected_seconds(self) -> float:
        return 1.0 + self.idle_seconds + self.turnovers * self.live_mb / 700
