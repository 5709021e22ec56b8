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
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from allocpool.errors import UserError, unknown_choice
from allocpool.machine.allocators import ALLOCATORS
from allocpool.packets.specs import DEFAULT_RUNTIME, DEFAULT_SEED, SMALLEST_HEAP_MB, SMALLEST_MB, Language
from allocpool.runtimes.collectors import COLLECTORS, check_combination
from allocpool.trial.spec import TrialSpec

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
CHURNED: Mapping[str, Language] = MappingProxyType({"malloc": "cpp", "slab": "cpp", "byte_array": "java"})
DISTRIBUTIONS = ("uniform", "lognormal", "phases")


class BufferSpec(TrialSpec):
    """What the buffer modes have in common: a C++ trial names its allocator, a Java trial its JVM."""

    language: Language
    runtime: int | None = None
    collector: str | None = None
    allocator: str | None = None
    heap_mb: int | None = Field(default=None, gt=0)
    direct_mb: int | None = Field(default=None, gt=0)
    seconds: float = Field(default=1.0, gt=0, le=3600)
    warmup_seconds: float = Field(default=0.5, ge=0, le=600)
    iteration_ms: float = Field(default=20.0, gt=0, le=10_000)

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
        return f"{COLLECTORS[str(self.collector)].label} / {self.runtime}"

    def configuration(self) -> str:
        return f"{self.what} on {self.label}"

    def expected_seconds(self) -> float:
        return (0.6 if self.language == "cpp" else 1.0) + self.warmup_seconds + self.seconds

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
        try:
            check_combination(self.collector or "", self.runtime or 0)
        except UserError as error:
            raise ValueError(str(error)) from error
        if self.java_module == FOREIGN_MODULE and (self.runtime or 0) < FOREIGN_RUNTIME:
            raise ValueError(f"foreign memory needs runtime={FOREIGN_RUNTIME}, not {self.runtime}")
        return self


def _known(given: dict[str, Any], key: str, valid: Any) -> str:
    """The value of a key out of a closed list; ValueError in one line that names the list."""
    if key not in given:
        raise ValueError(f"{key} is missing: choose one of {', '.join(valid)}")
    if given[key] not in valid:
        raise ValueError(str(unknown_choice(key, given[key], valid)))
    return str(given[key])


def _whole(given: dict[str, Any], key: str, default: int, most: int = LARGEST_BYTES) -> int:
    try:
        value = int(given.get(key, default))
    except (TypeError, ValueError):
        raise ValueError(f"{key}: a whole number, not {given[key]!r}") from None
    if not 1 <= value <= most:
        raise ValueError(f"{key}: from 1 to {most}, not {value}")
    return value


def _fill_in_machine(spec: dict[str, Any], language: Language, heap_mb: int) -> None:
    """The JVM or the allocator, where the spec does not name it."""
    if spec.setdefault("language", language) != language:
        raise ValueError(f"language is {language} here, not {spec['language']}")
    if language == "cpp":
        spec["allocator"] = spec.get("allocator") or "glibc"
        return
    spec["runtime"] = spec.get("runtime") or DEFAULT_RUNTIME
    spec["collector"] = spec.get("collector") or "g1"
    if spec.get("heap_mb") is None:
        spec["heap_mb"] = max(heap_mb, SMALLEST_HEAP_MB.get(str(spec["collector"]), SMALLEST_MB))


class AllocationSpec(BufferSpec):
    """Obtain ``slots`` buffers, touch each, give all of them back; again and again, both parts timed apart."""

    CHILD: ClassVar[str] = "allocpool.studies.allocation.child.allocation"

    mode: Literal["allocation"] = "allocation"
    technique: str
    strategy: Literal["alloc", "pool"] = "alloc"
    bytes: int = Field(gt=0, le=LARGEST_BYTES)
    touch: Literal["none", "first", "page", "zero"] = "none"
    live_mb: float = Field(default=16.0, gt=0, description="alive at the end of a round, MiB")
    slots: int = Field(gt=0, le=2**24, description="buffers of a round")
    max_buffers: int | None = Field(default=None, gt=0, description="after which a stretch ends early")

    HEAP_MB: ClassVar[int] = 256
    EPSILON_HEAP_MB: ClassVar[int] = 2048

    @model_validator(mode="before")
    @classmethod
    def _fill_in(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        spec = dict(given)
        technique = TECHNIQUES[_known(spec, "technique", TECHNIQUES)]
        for key, valid in (("strategy", SOURCES), ("touch", TOUCHES)):
            if key in spec:
                _known(spec, key, valid)
        if spec.get("strategy") == "pool" and not technique.can_be_pooled:
            raise ValueError(
                f"technique {technique.name} has no strategy pool: "
                "a pool of segments is the same whatever they came from, choose technique arena_confined"
            )
        size = _whole(spec, "bytes", 1024)
        spec["bytes"] = size
        try:
            live_mb = float(spec.get("live_mb", 16.0))
        except (TypeError, ValueError):
            raise ValueError(f"live_mb: a number above 0, not {spec['live_mb']!r}") from None
        spec.setdefault("slots", min(2**24, max(1, round(live_mb * MIB / size))))
        slots = _whole(spec, "slots", 1, 2**24)
        live = math.ceil(slots * size / MIB)
        epsilon = spec.get("collector") == "epsilon"
        _fill_in_machine(spec, technique.language, cls.EPSILON_HEAP_MB if epsilon else max(cls.HEAP_MB, 4 * live))
        if technique.language == "java" and (technique.direct or technique.module == FOREIGN_MODULE):
            spec.setdefault("direct_mb", max(256, 4 * live))
        if epsilon and spec.get("strategy", "alloc") == "alloc":
            # Nothing is ever freed: warm-up and measurement together must fit, with what stands beside a buffer.
            beside = 160 if technique.direct or technique.module == FOREIGN_MODULE else 80
            on_heap = beside if technique.direct or technique.module == FOREIGN_MODULE else size + beside
            spec.setdefault("max_buffers", max(1, int(0.4 * float(spec["heap_mb"]) * MIB / on_heap)))
        return spec

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


class AccessSpec(BufferSpec):
    """Passes over one buffer: write in order, write at random, copy."""

    CHILD: ClassVar[str] = "allocpool.studies.allocation.child.access"

    mode: Literal["access"] = "access"
    memory: str
    operation: str
    bytes: int = Field(gt=0, le=LARGEST_BYTES)

    HEAP_MB: ClassVar[int] = 64

    @model_validator(mode="before")
    @classmethod
    def _fill_in(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        spec = dict(given)
        memory = _known(spec, "memory", MEMORIES)
        _known(spec, "operation", OPERATIONS)
        spec["bytes"] = _whole(spec, "bytes", 102_400)
        room = math.ceil(2 * spec["bytes"] / MIB)
        language, _ = MEMORIES[memory]
        _fill_in_machine(spec, language, max(cls.HEAP_MB, 2 * room))
        if memory in ("direct", "segment"):
            spec.setdefault("direct_mb", max(SMALLEST_MB, 2 * room))
        return spec

    @property
    def what(self) -> str:
        return self.memory

    @property
    def java_module(self) -> str:
        return MEMORIES[self.memory][1]

    def memory_mb(self) -> int:
        return math.ceil(2 * self.bytes / MIB)


class FragmentationSpec(BufferSpec):
    """Buffers of mixed sizes come and go at a constant number of bytes alive."""

    CHILD: ClassVar[str] = "allocpool.studies.allocation.child.fragmentation"

    mode: Literal["fragmentation"] = "fragmentation"
    technique: str
    distribution: str
    live_mb: int = Field(default=64, gt=0, description="alive, MiB")
    turnovers: float = Field(default=20.0, gt=0, description="bytes allocated in all, over bytes alive")
    windows: int = Field(default=60, ge=6, le=10_000, description="samples along the curve")
    idle_seconds: float = Field(default=0.5, ge=0, le=600, description="with nothing running, at the end")
    heap_factor: float = Field(default=3.0, ge=1.2, description="largest heap over bytes alive")
    seed: int = Field(default=DEFAULT_SEED, ge=0, lt=2**63)

    @model_validator(mode="before")
    @classmethod
    def _fill_in(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        spec = dict(given)
        technique = _known(spec, "technique", CHURNED)
        _known(spec, "distribution", DISTRIBUTIONS)
        live_mb = _whole(spec, "live_mb", 64, 2**22)
        try:
            factor = float(spec.get("heap_factor", 3.0))
            turnovers = float(spec.get("turnovers", 20.0))
        except (TypeError, ValueError):
            raise ValueError("heap_factor and turnovers: numbers above 0") from None
        heap_mb = math.ceil(factor * live_mb) + 32
        if spec.get("collector") == "epsilon":
            heap_mb = math.ceil(1.3 * turnovers * live_mb) + 64
        _fill_in_machine(spec, CHURNED[technique], heap_mb)
        return spec

    @property
    def what(self) -> str:
        return self.technique

    @property
    def java_module(self) -> str:
        return MODULE

    @property
    def initial_heap_mb(self) -> int | None:
        return max(SMALLEST_MB, SMALLEST_HEAP_MB.get(str(self.collector), 0))

    def memory_mb(self) -> int:
        return 2 * self.live_mb

    def expected_seconds(self) -> float:
        return 1.0 + self.idle_seconds + self.turnovers * self.live_mb / 700


class JmhSpec(AllocationSpec):
    """The same allocation measured by JMH in one fork: a second opinion from another harness."""

    CHILD: ClassVar[str] = "allocpool.studies.allocation.child.jmh"

    mode: Literal["jmh"] = "jmh"  # type: ignore[assignment]

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
