"""Mode messages: a message workload whose parameters are a program's, in whole numbers and shares.

A loop takes a message when it is due, obtains a buffer, fills it, and puts it in flight. The message that has been
longest in flight is read and then kept or freed. A thread runs the rest of the program: linked objects, and garbage.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, field_validator, model_validator

from allocpool.errors import UserError
from allocpool.packets.specs import DEFAULT_ALLOCATOR, DEFAULT_SEED, SET_UP_S, ProgramSpec
from allocpool.packets.strategies import Language
from allocpool.runtimes.collectors import collector_named
from allocpool.studies.your_workload import sizes as distribution
from allocpool.studies.your_workload.replay import read_trace
from allocpool.trial.spec import Jvm, Needs

Layout = Literal["array", "heap", "native", "malloc"]
Strategy = Literal["alloc", "pool", "mix", "netty", "reuse"]
Classes = Literal["power_of_two", "fitted"]
Arrivals = Literal["steady", "poisson", "on_off", "captured"]
Replacement = Literal["random", "oldest"]

STRATEGIES: dict[Strategy, str] = {
    "alloc": "a fresh message each time",
    "pool": "size classes, as many messages as are out at once",
    "mix": "a small pool, allocation beyond it",
    "netty": "Netty's pooled allocator",
    "reuse": "one message per thread, used again at once",
}
"""In the order of tables."""
LAYOUTS: dict[Language, tuple[Layout, ...]] = {"java": ("array", "heap", "native"), "cpp": ("malloc",)}
MOST_THREADS = 64
MOST_PER_S = 1e8
MOST_MESSAGES = 2**28
"""In flight, or kept: Java counts them in ints."""
MESSAGE_OBJECT_BYTES = 64
"""Of a message without its buffer, at most: its object and what describes the buffer."""


def buffer_mb(spec: Mapping[str, Any]) -> float:
    """Return the size of the buffers of all messages out at once with this strategy, MiB."""
    sizes, out = spec["sizes"], distribution.out_at_once(spec)
    if spec["strategy"] == "alloc":
        return out * distribution.mean_bytes(sizes) / 2**20
    classes = distribution.classes_of(spec["classes"], sizes)
    if spec["strategy"] == "reuse":
        return int(spec["threads"]) * classes[-1] / 2**20
    weights = distribution.class_weights(classes, sizes)
    counts = distribution.prepared(out, weights) if spec["strategy"] == "pool" else [out * one for one in weights]
    return math.fsum(count * size for count, size in zip(counts, classes, strict=True)) / 2**20


def heap_live_mb(spec: Mapping[str, Any]) -> float:
    """Return what lives on the Java heap at any time, MiB."""
    # Those in flight were not read yet, and have no temporaries.
    results = int((spec["kept_count"] + spec["threads"]) * spec["temporaries"] * spec["temporary_bytes"])
    objects_mb: float = (distribution.out_at_once(spec) * MESSAGE_OBJECT_BYTES + results) / 2**20
    buffers_mb = 0.0 if spec["layout"] == "native" else buffer_mb(spec)
    return float(spec["live_mb"]) + objects_mb + buffers_mb


def _default_heap_mb(spec: dict[str, Any]) -> int | None:
    if spec["language"] == "cpp":
        return None
    return max(collector_named(spec["collector"]).smallest_heap_mb, 64, math.ceil(3 * heap_live_mb(spec)))


class MessagesSpec(ProgramSpec):
    """A reader's own workload: ``messages`` of it as fast as it goes, or ``seconds`` of it measured."""

    CHILD: ClassVar[str] = "allocpool.studies.your_workload.child.messages"

    mode: Literal["messages"] = "messages"
    language: Language = Field("java", description="language of the workload")
    layout: Layout = Field(
        default_factory=lambda spec: LAYOUTS[spec["language"]][0], description="where a message lives"
    )
    strategy: Strategy = Field(description="where a message comes from")
    classes: Classes = Field("power_of_two", description="size classes of pools")
    zeroing: bool = Field(False, description="a pool clears what it hands out")
    sizes: tuple[tuple[int, float], ...] = Field(((512, 1.0),), description=f"{distribution.FORMS}; bytes")
    filled_share: float = Field(1.0, ge=0, le=1, description="of a message, what is written")
    read_share: float = Field(1.0, ge=0, le=1, description="of a message, what is read when it leaves")
    rate_per_s: float | None = Field(None, gt=0, le=MOST_PER_S, description="messages a second; empty: as fast as can")
    arrivals: Arrivals = Field("steady", description="how messages come; captured: as in the trace, scaled to the rate")
    burst_length: int = Field(1, ge=1, le=10**7, description="messages of a burst, where they come on and off")
    delay_ms: float = Field(50.0, gt=0, le=60_000, description="a message that waits longer is lost, ms")
    in_flight: int = Field(0, ge=0, le=MOST_MESSAGES, description="messages in flight at once, of all threads")
    kept_share: float = Field(0.0, ge=0, le=1, description="of messages, those kept when they leave")
    kept_count: int = Field(0, ge=0, le=MOST_MESSAGES, description="messages kept at once, of all threads")
    replacement: Replacement = Field("random", description="which kept message makes room")
    temporaries: int = Field(0, ge=0, le=1024, description="objects that reading a message makes, dropped with it")
    temporary_bytes: int = Field(32, ge=24, le=2**20, description="of each, bytes")
    live_mb: float = Field(0.0, ge=0, le=2**20, description="linked objects of the rest of the program, MiB")
    changed_mb_per_s: float = Field(0.0, ge=0, le=1e5, description="of these, replaced, MiB a second")
    garbage_mb_per_s: float = Field(0.0, ge=0, le=1e5, description="garbage of the rest of the program, MiB a second")
    threads: int = Field(1, ge=1, le=MOST_THREADS, description="loops, each with its own queue and store")
    heap_mb: int | None = Field(gt=0, default_factory=_default_heap_mb, description="-Xms and -Xmx, MiB")
    direct_mb: int | None = Field(
        default_factory=lambda spec: max(64, math.ceil(3 * buffer_mb(spec))) if spec["layout"] == "native" else None,
        gt=0,
        description="-XX:MaxDirectMemorySize, MiB; empty where it is the JVM's",
    )
    jvm_flags: tuple[str, ...] = Field((), description="the reader's own flags, after all others")
    trace: str | None = Field(None, description="prepared replay file of a capture; empty: messages are drawn")
    trace_sha256: str | None = Field(None, description="of the trace; follows from the file")
    messages: int | None = Field(None, gt=0, le=10**11, description="in all, in place of seconds")
    seconds: float | None = Field(None, gt=0, le=3600, description="measured, after warm-up")
    warmup_seconds: float = Field(1.0, ge=0, le=600, description="of trials by seconds")
    seed: int = Field(DEFAULT_SEED, ge=0, lt=2**63, description="of sizes, contents, times and stores")

    @model_validator(mode="before")
    @classmethod
    def _as_captured(cls, settings: Any) -> Any:
        """A trace has its own sizes and hash, and its own rate where times are as captured."""
        if not isinstance(settings, dict) or not settings.get("trace"):
            return settings
        try:
            found = read_trace(Path(settings["trace"]))
        except UserError as error:
            raise ValueError(str(error)) from error
        own: dict[str, Any] = {"sizes": found.sizes, "trace_sha256": found.sha256}
        if settings.get("arrivals") == "captured":
            if found.rate_per_s is None:
                raise ValueError("arrivals captured: no time passes in the trace; choose steady, poisson or on_off")
            own["rate_per_s"] = found.rate_per_s
        return own | settings

    @field_validator("sizes", mode="before")
    @classmethod
    def _words_of_a_shell(cls, value: Any) -> Any:
        try:
            if isinstance(value, (str, int)):
                return distribution.parse_sizes(str(value))
            return distribution.checked_sizes(value)
        except UserError as error:
            raise ValueError(str(error)) from error

    @field_validator("jvm_flags", mode="before")
    @classmethod
    def _flags_of_a_shell(cls, value: Any) -> Any:
        return tuple(value.split()) if isinstance(value, str) else value

    @model_validator(mode="after")
    def _goes_together(self) -> Self:
        java, held = self.language == "java", (self.in_flight, self.kept_count)
        others = ", ".join(name for name in STRATEGIES if name != "netty")
        wrong = {
            f"layout {self.layout} is not of language {self.language}: choose {', '.join(LAYOUTS[self.language])}":
                self.layout not in LAYOUTS[self.language],
            "jvm_flags belong to Java": not java and bool(self.jvm_flags),
            f"strategy netty is of Java: choose one of {others}": not java and self.strategy == "netty",
            "strategy reuse has one message per thread: choose in_flight=0 and kept_count=0, or pool":
                self.strategy == "reuse" and any(held),
            "give messages=N or seconds=S, one of them": (self.seconds is None) == (self.messages is None),
            "messages=N is as fast as it goes: give seconds=S with rate_per_s":
                self.rate_per_s is not None and self.seconds is None,
            "kept_share and kept_count go together: both above 0, or neither":
                (self.kept_share > 0) != (self.kept_count > 0),
            f"in_flight and kept_count are 0 or at least one for each of {self.threads} threads":
                any(0 < count < self.threads for count in held),
            "arrivals captured come from a trace: give trace=FILE, or steady, poisson or on_off":
                self.arrivals == "captured" and self.trace is None,
            "changed_mb_per_s changes live_mb: give live_mb above 0": self.changed_mb_per_s > 0 and self.live_mb == 0,
        }  # fmt: skip
        for why, applies in wrong.items():
            if applies:
                raise ValueError(why)
        return self

    def impossible(self) -> str | None:
        """Return why what lives at any time does not fit into the heap or into direct memory, or None."""
        stated = self.model_dump()
        lives_mb = {"heap_mb": heap_live_mb(stated) if self.language == "java" else 0.0,
                    "direct_mb": buffer_mb(stated) if self.layout == "native" else 0.0}  # fmt: skip
        for name, live_mb in lives_mb.items():
            if live_mb > (stated[name] or 0):
                return (
                    f"messages out at once and the rest of the program take {live_mb:.0f} MB of {name} {stated[name]}: "
                    f"choose {name} {math.ceil(live_mb * 1.25)} or more, or fewer in_flight and kept"
                )
        return None

    def cell_name(self) -> str:
        mean_bytes = distribution.mean_bytes(self.sizes)
        return f"{configuration_of(self.model_dump())}, {self.strategy}, {mean_bytes:,.0f} bytes"

    def expected_seconds(self) -> float:
        per_message_ns = 300 + 0.15 * distribution.mean_bytes(self.sizes)
        out = distribution.out_at_once(self.model_dump())
        messages = (self.messages or out) + out
        set_up_s = SET_UP_S[self.language] + messages * per_message_ns / self.threads / 1e9 + self.live_mb / 500
        return set_up_s + (self.warmup_seconds + self.seconds if self.seconds else 0.0)

    def longest_seconds(self) -> float:
        return 60.0 + 10 * self.expected_seconds()

    def needs(self) -> Needs:
        if self.language == "cpp":
            mb = math.ceil(1.3 * (buffer_mb(self.model_dump()) + self.live_mb)) + 16
            where = "in_flight or kept_count"
            return Needs(native="packets", allocator=self.allocator, memory_mb=mb, memory_setting=where)
        # What unreachable direct buffers hold is given back by a collection that the JVM itself asks for.
        return Needs(jvm=Jvm(
            module="messages", runtime=self.runtime or 0, collector=self.collector or "", heap_mb=self.heap_mb or 0,
            direct_mb=self.direct_mb or 0, unsafe=self.strategy == "netty", explicit_gc=self.layout == "native",
            flags=self.jvm_flags,
        ))  # fmt: skip


def configuration_of(spec: Mapping[str, Any]) -> str:
    """Return layout with collector and runtime, or with allocator."""
    if spec["language"] == "cpp":
        allocator = "" if spec["allocator"] == DEFAULT_ALLOCATOR else f" / {spec['allocator']}"
        return f"C++ {spec['layout']}{allocator}"
    return f"{spec['layout']} / {collector_named(spec['collector']).label} / {spec['runtime']}"
