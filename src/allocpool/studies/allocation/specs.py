"""Specs of the buffer modes: allocation, access, fragmentation, and JMH's second opinion.

A technique is a way to come by a buffer. Everything that a trial needs follows from it: the language, and in Java the
Maven module and whether memory beside the heap is involved.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BaseModel, Field, model_validator

from allocpool.errors import OneOf, unknown_choice
from allocpool.machine.allocators import ALLOCATORS
from allocpool.packets.specs import (
    DEFAULT_ALLOCATOR,
    DEFAULT_COLLECTOR,
    DEFAULT_RUNTIME,
    DEFAULT_SEED,
    SMALLEST_MB,
)
from allocpool.packets.strategies import Language
from allocpool.runtimes.collectors import collector_named, never_frees, require_combination
from allocpool.trial.needs import Jvm, Needs
from allocpool.trial.spec import CollectorName, RuntimeNumber, TrialSpec

MODULE, FOREIGN_MODULE, JMH_MODULE = "allocation", "allocation-foreign", "allocation-jmh"
FOREIGN_RUNTIME = 25
LARGEST_BYTES = 2**30
MIB = 2**20


@dataclass(frozen=True)
class Technique:
    """A way to come by a buffer.

    ``frees``: whether giving one buffer back is an act of the program, and so has a cost of its own. ``direct``: the
    memory is beside the heap and reclaimed by the collector, which needs ``System.gc()`` allowed.
    """

    name: str
    label: str
    language: Language
    module: str = ""
    frees: bool = False
    direct: bool = False
    can_be_pooled: bool = True


TECHNIQUES: Mapping[str, Technique] = MappingProxyType(
    {
        t.name: t
        for t in (
            Technique("malloc", "malloc", "cpp", frees=True),
            Technique("byte_array", "byte[]", "java", MODULE),
            Technique("heap_buffer", "heap ByteBuffer", "java", MODULE),
            Technique("direct_buffer", "direct ByteBuffer", "java", MODULE, direct=True),
            Technique("arena_confined", "confined arena", "java", FOREIGN_MODULE, frees=True),
            Technique("arena_auto", "automatic arena", "java", FOREIGN_MODULE, direct=True, can_be_pooled=False),
            Technique("arena_slicing", "slicing arena", "java", FOREIGN_MODULE, frees=True, can_be_pooled=False),
        )
    }
)
SOURCES = ("alloc", "pool")
TOUCHES = ("none", "first", "page", "zero")
MEMORIES: Mapping[str, tuple[Language, str]] = MappingProxyType(
    {"c": ("cpp", ""), "heap": ("java", MODULE), "direct": ("java", MODULE), "segment": ("java", FOREIGN_MODULE)}
)
"""Memories that access is measured on: language and Maven module."""
JMH_TECHNIQUES = ("byte_array", "heap_buffer", "direct_buffer")
OPERATIONS = ("write", "random_write", "copy")
CHURNED: Mapping[str, Technique] = MappingProxyType(
    {
        "malloc": TECHNIQUES["malloc"],
        "slab": Technique("slab", "slab with size classes", "cpp", frees=True),
        **{name: TECHNIQUES[name] for name in ("byte_array", "direct_buffer", "arena_confined", "arena_auto")},
    }
)
"""What mixed sizes come from."""
DISTRIBUTIONS = ("uniform", "lognormal", "phases")


class BufferSpec(TrialSpec):
    """What the buffer modes have in common: a C++ trial names its allocator, a Java trial its JVM.

    What is measured is stated by a class of its own that is named last among the bases, so that language, heap and
    direct memory can follow from it.
    """

    language: Language
    runtime: RuntimeNumber | None = Field(default_factory=lambda spec: DEFAULT_RUNTIME if _is_java(spec) else None)
    collector: CollectorName | None = Field(default_factory=lambda spec: DEFAULT_COLLECTOR if _is_java(spec) else None)
    allocator: Annotated[str, OneOf("allocator", ALLOCATORS)] | None = Field(
        default_factory=lambda spec: None if _is_java(spec) else DEFAULT_ALLOCATOR,
        description="what malloc reaches",
    )
    heap_mb: int | None = Field(default=None, gt=0, description="-Xmx")
    direct_mb: int | None = Field(default=None, gt=0, description="-XX:MaxDirectMemorySize")
    seconds: float = Field(default=1.0, gt=0, le=3600, description="measured, after the warm-up")
    warmup_seconds: float = Field(default=0.5, ge=0, le=600, description="left out of the measured window")
    iteration_ms: float = Field(default=20.0, ge=0.01, le=10_000, description="of one iteration of the measured window")

    @property
    @abstractmethod
    def java_module(self) -> str:
        """The Maven module that a Java trial of this spec runs."""

    @property
    def needs_explicit_gc(self) -> bool:
        """Whether the JVM must be allowed to collect on request: reclaiming direct memory depends on it."""
        return False

    @property
    def initial_heap_mb(self) -> int | None:
        """Heap at the start, MiB; the whole heap when None."""
        return None

    @property
    @abstractmethod
    def what(self) -> str:
        """What is measured, as plans print it."""

    @abstractmethod
    def memory_mb(self) -> int:
        """Memory that the buffers of a C++ trial come to, MiB."""

    @property
    def label(self) -> str:
        """What serves the memory: the allocator, or collector and runtime."""
        if self.language == "cpp":
            return str(self.allocator)
        return f"{collector_named(str(self.collector)).label} / {self.runtime}"

    def cell_name(self) -> str:
        return f"{self.what} on {self.label}"

    def expected_seconds(self) -> float:
        return (0.6 if self.language == "cpp" else 1.0) + self.warmup_seconds + self.seconds

    def needs(self) -> Needs:
        if self.language == "cpp":
            return Needs(
                native="packets", allocator=self.allocator, memory_mb=self.memory_mb(), memory_setting="live_mb"
            )
        jvm = Jvm(
            module=self.java_module,
            runtime=self.runtime or 0,
            collector=self.collector or "",
            heap_mb=self.heap_mb or 0,
            initial_heap_mb=self.initial_heap_mb,
            direct_mb=self.direct_mb or 0,
            explicit_gc=self.needs_explicit_gc,
        )
        return Needs(jvm=jvm)

    @model_validator(mode="after")
    def _holds_together(self) -> Self:
        java_only = {name: getattr(self, name) for name in ("runtime", "collector", "heap_mb", "direct_mb")}
        if self.language == "cpp":
            if wrong := [name for name, value in java_only.items() if value is not None]:
                raise ValueError(f"{', '.join(wrong)} belong to Java; C++ takes allocator ({', '.join(ALLOCATORS)})")
            if self.allocator not in ALLOCATORS:
                raise ValueError(str(unknown_choice("allocator", self.allocator, ALLOCATORS)))
            return self
        if self.allocator is not None:
            raise ValueError("allocator belongs to C++; Java takes runtime, collector and heap_mb")
        require_combination(self.collector, self.runtime)
        if self.java_module == FOREIGN_MODULE and (self.runtime or 0) < FOREIGN_RUNTIME:
            raise ValueError(f"foreign memory needs runtime={FOREIGN_RUNTIME}, not {self.runtime}")
        return self


def _is_java(spec: dict[str, Any]) -> bool:
    return bool(spec["language"] == "java")


def _heap_mb(spec: dict[str, Any], wanted_mb: int) -> int | None:
    """The heap that is wanted, MiB, or the smallest that the collector starts with; None in C++."""
    if not _is_java(spec):
        return None
    return max(wanted_mb, collector_named(spec["collector"]).smallest_heap_mb)


class _Rounds(BaseModel):
    """What rounds of allocation are made of."""

    technique: Annotated[str, OneOf("technique", TECHNIQUES)]
    strategy: Literal["alloc", "pool"] = Field(default="alloc", description="fresh buffers, or those of a pool")
    bytes: int = Field(default=1024, gt=0, le=LARGEST_BYTES, description="of a buffer")
    touch: Literal["none", "first", "page", "zero"] = Field(default="none", description="what is written to a buffer")
    live_mb: float = Field(default=16.0, gt=0, description="alive at the end of a round, MiB")
    slots: int = Field(
        gt=0,
        le=2**24,
        default_factory=lambda spec: min(2**24, max(1, round(spec["live_mb"] * MIB / spec["bytes"]))),
        description="buffers of a round",
    )


def _rounds_mb(spec: dict[str, Any]) -> int:
    return math.ceil(int(spec["slots"]) * int(spec["bytes"]) / MIB)


def _is_beside_the_heap(spec: dict[str, Any]) -> bool:
    technique = CHURNED.get(spec["technique"]) or TECHNIQUES[spec["technique"]]
    return technique.direct or technique.module == FOREIGN_MODULE


def _heap_of_rounds_mb(spec: dict[str, Any]) -> int | None:
    """Four times what lives; without a collector, a heap that is used up and ends the trial."""
    return _heap_mb(spec, 2048 if never_frees(spec["collector"]) else max(256, 4 * _rounds_mb(spec)))


def _direct_of_rounds_mb(spec: dict[str, Any]) -> int | None:
    return max(256, 4 * _rounds_mb(spec)) if _is_java(spec) and _is_beside_the_heap(spec) else None


def _buffers_that_fit(spec: dict[str, Any]) -> int | None:
    """Where nothing is ever freed, warm-up and measurement together must fit, with what stands beside a buffer."""
    if not never_frees(spec["collector"]) or spec["strategy"] != "alloc":
        return None
    on_heap_bytes = 160 if _is_beside_the_heap(spec) else spec["bytes"] + 80
    return max(1, int(0.4 * spec["heap_mb"] * MIB / on_heap_bytes))


class _RoundsSpec(BufferSpec, _Rounds):
    """Obtain ``slots`` buffers, touch each, give all of them back; again and again."""

    language: Language = Field(default_factory=lambda spec: TECHNIQUES[spec["technique"]].language)
    heap_mb: int | None = Field(gt=0, default_factory=_heap_of_rounds_mb, description="-Xms and -Xmx")
    direct_mb: int | None = Field(gt=0, default_factory=_direct_of_rounds_mb, description="-XX:MaxDirectMemorySize")
    max_buffers: int | None = Field(
        default_factory=_buffers_that_fit, gt=0, description="after which a stretch ends early"
    )

    @property
    def way(self) -> Technique:
        """The technique."""
        return TECHNIQUES[self.technique]

    @property
    def what(self) -> str:
        return self.technique

    @property
    def java_module(self) -> str:
        return self.way.module

    @property
    def needs_explicit_gc(self) -> bool:
        return self.way.direct

    def memory_mb(self) -> int:
        return math.ceil(self.slots * (self.bytes + 64) / MIB)

    @model_validator(mode="after")
    def _technique_allows(self) -> Self:
        if self.language != self.way.language:
            raise ValueError(f"language is {self.way.language} here, not {self.language}")
        if self.strategy == "pool" and not self.way.can_be_pooled:
            raise ValueError(
                f"technique {self.technique} has no strategy pool: "
                "a pool of segments is the same whatever they came from, choose technique arena_confined"
            )
        return self


class AllocationSpec(_RoundsSpec):
    """Obtain ``slots`` buffers, touch each, give all of them back; again and again, both parts timed apart."""

    CHILD: ClassVar[str] = "allocpool.studies.allocation.child.allocation"

    mode: Literal["allocation"] = "allocation"


class JmhSpec(_RoundsSpec):
    """The same allocation measured by JMH in one fork: a second opinion from another harness."""

    CHILD: ClassVar[str] = "allocpool.studies.allocation.child.jmh"

    mode: Literal["jmh"] = "jmh"

    @property
    def java_module(self) -> str:
        return JMH_MODULE

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


def _passes_mb(spec: dict[str, Any]) -> int:
    """Source and target, MiB."""
    return math.ceil(2 * int(spec["bytes"]) / MIB)


def _direct_of_passes_mb(spec: dict[str, Any]) -> int | None:
    return max(SMALLEST_MB, 2 * _passes_mb(spec)) if spec["memory"] in ("direct", "segment") else None


class AccessSpec(BufferSpec, _Passes):
    """Passes over one buffer: write in order, write at random, copy."""

    CHILD: ClassVar[str] = "allocpool.studies.allocation.child.access"

    mode: Literal["access"] = "access"
    language: Language = Field(default_factory=lambda spec: MEMORIES[spec["memory"]][0])
    heap_mb: int | None = Field(
        gt=0, default_factory=lambda spec: _heap_mb(spec, max(64, 2 * _passes_mb(spec))), description="-Xms and -Xmx"
    )
    direct_mb: int | None = Field(gt=0, default_factory=_direct_of_passes_mb, description="-XX:MaxDirectMemorySize")

    @property
    def what(self) -> str:
        return self.memory

    @property
    def java_module(self) -> str:
        return MEMORIES[self.memory][1]

    def memory_mb(self) -> int:
        return math.ceil(2 * self.bytes / MIB)

    @model_validator(mode="after")
    def _memory_has_one_language(self) -> Self:
        if self.language != MEMORIES[self.memory][0]:
            raise ValueError(f"language is {MEMORIES[self.memory][0]} here, not {self.language}")
        return self


class _Churn(BaseModel):
    """What comes and goes."""

    technique: Annotated[str, OneOf("technique", CHURNED)]
    distribution: Annotated[str, OneOf("distribution", DISTRIBUTIONS)]
    live_mb: int = Field(default=64, gt=0, le=2**22, description="alive, MiB")
    turnovers: float = Field(default=20.0, gt=0, description="bytes allocated in all, over bytes alive")
    heap_factor: float = Field(default=3.0, ge=1.2, description="largest heap, or direct memory, over bytes alive")


def _heap_of_churn_mb(spec: dict[str, Any]) -> int | None:
    if never_frees(spec["collector"]):
        return _heap_mb(spec, math.ceil(1.3 * spec["turnovers"] * spec["live_mb"]) + 64)
    return _heap_mb(spec, _room_of_churn_mb(spec))


def _room_of_churn_mb(spec: dict[str, Any]) -> int:
    return math.ceil(float(spec["heap_factor"]) * int(spec["live_mb"])) + 32


def _direct_of_churn_mb(spec: dict[str, Any]) -> int | None:
    """As much as a heap would get: what is dead and not yet found dead needs room here too."""
    return _room_of_churn_mb(spec) if _is_java(spec) and _is_beside_the_heap(spec) else None


class FragmentationSpec(BufferSpec, _Churn):
    """Buffers of mixed sizes come and go at a constant number of bytes alive."""

    CHILD: ClassVar[str] = "allocpool.studies.allocation.child.fragmentation"

    mode: Literal["fragmentation"] = "fragmentation"
    language: Language = Field(default_factory=lambda spec: CHURNED[spec["technique"]].language)
    heap_mb: int | None = Field(gt=0, default_factory=_heap_of_churn_mb, description="-Xmx; the heap starts small")
    direct_mb: int | None = Field(gt=0, default_factory=_direct_of_churn_mb, description="-XX:MaxDirectMemorySize")
    windows: int = Field(default=60, ge=6, le=10_000, description="samples along the curve")
    idle_seconds: float = Field(default=0.5, ge=0, le=600, description="with nothing running, at the end")
    seed: int = Field(default=DEFAULT_SEED, ge=0, lt=2**63, description="of sizes and order")

    @property
    def what(self) -> str:
        return self.technique

    @property
    def java_module(self) -> str:
        return CHURNED[self.technique].module

    @property
    def needs_explicit_gc(self) -> bool:
        return CHURNED[self.technique].direct

    @property
    def initial_heap_mb(self) -> int | None:
        return collector_named(self.collector).smallest_heap_mb if self.collector else None

    def memory_mb(self) -> int:
        return 2 * self.live_mb

    def expected_seconds(self) -> float:
        return 1.0 + self.idle_seconds + self.turnovers * self.live_mb / 700

    @model_validator(mode="after")
    def _technique_has_one_language(self) -> Self:
        if self.language != CHURNED[self.technique].language:
            raise ValueError(f"language is {CHURNED[self.technique].language} here, not {self.language}")
        return self
