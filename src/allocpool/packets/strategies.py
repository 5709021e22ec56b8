"""Strategies, which are where a packet comes from, and layouts, which are where its memory lies.

One row says what specs, launches, plans, tables and figures must know of each. The code of a layout is in
``workloads/`` or in ``native/src/packets``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Annotated, Literal

from allocpool.errors import OneOf, UserError, unknown_choice
from allocpool.runtimes.collectors import FEATURES

Language = Literal["java", "cpp"]
POOL_SIZE = 1_000_000


@dataclass(frozen=True)
class Strategy:
    """Where a packet comes from: out of a pool of so many, made before the start at scale 1, or not.

    The colour of figures is out of Okabe and Ito's palette, distinct with any common colour vision; markers are
    distinct in grey, too. A control is the cost of the test and no choice for a program.
    """

    name: str
    means: str
    pool_size: int
    colour: str
    marker: str
    is_control: bool = False


_STRATEGIES = (
    Strategy("dummy", "one packet used again and again", 0, "#8c8c8c", "s", is_control=True),
    Strategy("alloc", "a fresh packet each time", 0, "#d55e00", "o"),
    Strategy("mix", "a small pool, allocating beyond it", 200_000, "#e69f00", "^"),
    Strategy("pool", "a pool that always suffices", POOL_SIZE, "#0072b2", "D"),
)
STRATEGIES: Mapping[str, Strategy] = MappingProxyType({strategy.name: strategy for strategy in _STRATEGIES})
"""Every strategy by its name, in the order of tables."""
CHOICES = tuple(strategy.name for strategy in _STRATEGIES if not strategy.is_control)
StrategyName = Annotated[str, OneOf("strategy", STRATEGIES)]

STEPS = ("inline", "contiguous", "one_line", "stride", "huge_pages", "prefetch")
"""The optimisation steps of both languages, in order. Without any the buffer is a separate allocation (``separate``).

- ``inline``: the buffer is a part of its packet.
- ``contiguous``: all packets lie in one region.
- ``one_line``: header and parse result share one cache line.
- ``stride``: headers are spread over all sets of the cache, not a power of two apart.
- ``huge_pages``: the region is on huge pages. Java's option ``large_pages`` asks for the same.
- ``prefetch``: what will be touched soon is fetched before.
"""


@dataclass(frozen=True)
class OptimisationSteps:
    """The steps that a layout always has, and those that are switches: whether all are on unless some are named, and
    what one rests on."""

    always: tuple[str, ...] = ()
    choice: tuple[str, ...] = ()
    all_on: bool = False
    rests_on: tuple[tuple[str, str], ...] = ()

    @property
    def default(self) -> str | None:
        """The steps unless some are named, comma-separated; None where there are none."""
        return _in_order((*self.always, *self.choice) if self.all_on else self.always)

    def checked(self, layout: str, asked: str | None) -> str | None:
        """Return the steps asked for and those that are always there, comma-separated, in the order of `STEPS`.
        UserError for one that the layout does not have, or without what it rests on."""
        if asked is None:
            return self.default
        if not self.choice:
            raise UserError(f"layout {layout} has no steps to choose: leave steps out")
        steps, known = {*self.always, *asked.split(",")}, (*self.always, *self.choice)
        for step in asked.split(","):
            if step not in known:
                raise unknown_choice(f"step of layout {layout}", step, known)
            if (needed := dict(self.rests_on).get(step)) and needed not in steps:
                raise UserError(f"step {step} of layout {layout} rests on {needed}: add {needed}")
        return _in_order(steps)


def _in_order(steps: Collection[str]) -> str | None:
    return ",".join(step for step in STEPS if step in steps) or None


@dataclass(frozen=True)
class Layout:
    """Where buffers and parse results live.

    Attributes:
        strategies: those that make sense with it, in table order, ``because`` others do not.
        heap_mb: Java: heap at scale 1, MiB.
        packet_bytes: upper bound of one packet on the Java heap, for sizing runs without a collector.
        parse_bytes: upper bound of what else one packet leaves behind there: what a parse makes, what a library does.
        module: Maven module under ``workloads/`` that holds it.
        direct_mb: limit of direct memory at scale 1, MiB; 0: its buffers are on the heap.
        slots: whether it has one region with room for a fixed number of packets.
        oldest: first feature release that it runs on.
        byte_buffers: whether a packet is an object with a ``ByteBuffer``, which options ``lean_view`` and ``detached``
            are about.
        resources: C++: whether memory resources can make its packets in place of ``new``.
    """

    strategies: tuple[str, ...] = tuple(STRATEGIES)
    because: str = ""
    steps: OptimisationSteps = OptimisationSteps()
    heap_mb: int = 2048
    packet_bytes: int = 0
    parse_bytes: int = 0
    module: str = "packets"
    direct_mb: int = 0
    slots: bool = False
    oldest: int = FEATURES[0]
    byte_buffers: bool = False
    resources: bool = False

    def refusal(self, name: str, strategy: str) -> str | None:
        """Return why the layout, called ``name``, can't go with the strategy, in one line; None when it can."""
        if strategy in self.strategies:
            return None
        because = f" ({self.because})" if self.because else ""
        return f"layout {name} has no strategy {strategy}: choose one of {', '.join(self.strategies)}{because}"


_OBJECTS = Layout(byte_buffers=True)
_CONTIGUOUS = OptimisationSteps(("contiguous",), ("one_line", "stride", "prefetch"), all_on=True)
_REGION = Layout(("dummy", "mix", "pool"), heap_mb=256, direct_mb=2048, slots=True, steps=_CONTIGUOUS)
_NETTY = Layout(("dummy", "alloc"), packet_bytes=512, parse_bytes=256, module="pools", direct_mb=2048)

JAVA_LAYOUTS: Mapping[str, Layout] = MappingProxyType(
    {
        "heap": replace(_OBJECTS, packet_bytes=1152, parse_bytes=256),
        "native": replace(_OBJECTS, packet_bytes=128, parse_bytes=256, heap_mb=1024, direct_mb=2048, slots=True),
        "flat": _REGION,
        "flat_ffm": replace(_REGION, module="foreign", oldest=25),
        "netty_pooled": _NETTY,
        "netty_unpooled": _NETTY,
        # It gives a chunk back only when all of its buffers are free (github.com/netty/netty/issues/15311). One packet
        # in sixteen stays in the store for long, so nearly every chunk outlives most of its buffers.
        "netty_adaptive": replace(_NETTY, direct_mb=8192),
        "commons_pool": replace(
            _OBJECTS, packet_bytes=1536, parse_bytes=496, strategies=("mix", "pool"), module="pools"
        ),
        "agrona": replace(_REGION, module="pools"),
    }
)

_CPP_STEPS = OptimisationSteps(
    choice=("inline", "one_line", "stride", "prefetch"),
    # An object can be aligned, padded and prefetched only where it is one.
    rests_on=(("one_line", "inline"), ("stride", "one_line"), ("prefetch", "inline")),
)
CPP_LAYOUTS: Mapping[str, Layout] = MappingProxyType(
    {
        "allocating": Layout(steps=OptimisationSteps(choice=("inline",))),
        "flat": Layout(steps=_CPP_STEPS, resources=True),
        "slab": Layout(
            ("dummy", "pool"),
            because="a slab's memory is all there at the start: nothing is left to allocate",
            steps=replace(_CONTIGUOUS, choice=("one_line", "stride", "huge_pages", "prefetch")),
        ),
    }
)

LAYOUTS: dict[Language, tuple[str, ...]] = {"java": tuple(JAVA_LAYOUTS), "cpp": tuple(CPP_LAYOUTS)}
LAYOUT_NAMES = tuple(dict.fromkeys(name for layouts in LAYOUTS.values() for name in layouts))


def layout_of(language: Language, name: str) -> Layout:
    """Return the row of a layout; an empty one where the language has no such layout."""
    return (JAVA_LAYOUTS if language == "java" else CPP_LAYOUTS).get(name, Layout())
