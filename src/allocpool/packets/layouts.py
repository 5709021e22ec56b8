"""The layouts of Java and of C++: what holds them, what they need, which strategies make sense with them,
and which steps of the ladder they have.

One row says all that specs, launches and plans must know of a layout; what it does is in ``workloads/`` and in
``native/src/packets``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from allocpool.errors import UserError, unknown_choice
from allocpool.packets.strategies import STRATEGIES, Language
from allocpool.runtimes.collectors import FEATURES

STEPS = ("inline", "contiguous", "one_line", "stride", "huge_pages", "prefetch")
"""The ladder of both languages, in order. Without any the buffer is an allocation of its own (``separate``).

- ``inline``: the buffer is a part of its packet.
- ``contiguous``: all packets lie in one region.
- ``one_line``: header and parse result share one cache line.
- ``stride``: headers are spread over all sets of the cache, not a power of two apart.
- ``huge_pages``: the region is on huge pages. Java's option ``large_pages`` asks for the same.
- ``prefetch``: what will be touched soon is fetched before.
"""
_FLAT = ("dummy", "mix", "pool")
_SMALL_HEAP_MB = 256
_DIRECT_MB = 2048
_RETAINED_DIRECT_MB = 8192
"""For an allocator that gives a chunk back only when all of its buffers are free (github.com/netty/netty/issues/15311):
one packet in sixteen goes to the store and stays long, so nearly every chunk outlives most of its buffers."""


@dataclass(frozen=True)
class Ladder:
    """The steps that a layout has.

    Attributes:
        always: those it can't be without.
        choice: those that are switches.
        all_on: whether the switches are on unless some are named.
        rests_on: pairs of a switch and what it can't be on without.
    """

    always: tuple[str, ...] = ()
    choice: tuple[str, ...] = ()
    all_on: bool = False
    rests_on: tuple[tuple[str, str], ...] = ()

    @property
    def default(self) -> str | None:
        """The steps unless some are named, comma-separated; None where there are none."""
        return _in_order((*self.always, *self.choice) if self.all_on else self.always)

    def checked(self, layout: str, asked: str | None) -> str | None:
        """The steps asked for, comma-separated, with those that are always there, in the order of the ladder.

        Raises:
            UserError: a step that the layout does not have, or one without what it rests on.
        """
        if asked is None:
            return self.default
        if not self.choice:
            raise UserError(f"layout {layout} has no steps to choose: leave steps out")
        steps = {*self.always, *asked.split(",")}
        for step in asked.split(","):
            if step not in (*self.always, *self.choice):
                raise unknown_choice(f"step of layout {layout}", step, (*self.always, *self.choice))
            if (needed := dict(self.rests_on).get(step)) and needed not in steps:
                raise UserError(f"step {step} of layout {layout} rests on {needed}: add {needed}")
        return _in_order(steps)


def _in_order(steps: Collection[str]) -> str | None:
    return ",".join(step for step in STEPS if step in steps) or None


@dataclass(frozen=True)
class JavaLayout:
    """Where buffers and parse results of a Java processor live.

    Attributes:
        heap_mb: heap at scale 1, MiB.
        packet_bytes: upper bound of one packet on the Java heap, for sizing runs without a collector.
        parse_bytes: upper bound of what else one packet leaves behind there: what a parse makes, what a library does.
        module: Maven module under ``workloads/`` that holds it.
        strategies: those that make sense with it; None: all of Java.
        direct_mb: limit of direct memory at scale 1, MiB; 0: its buffers are on the heap.
        slots: whether it has one region with room for a fixed number of packets.
        oldest: first feature release that it runs on.
        ladder: its steps.
        byte_buffers: whether a packet is an object with a ``ByteBuffer``, which options ``lean_view`` and ``detached``
            are about.
    """

    heap_mb: int
    packet_bytes: int
    parse_bytes: int
    module: str = "packets"
    strategies: tuple[str, ...] | None = None
    direct_mb: int = 0
    slots: bool = False
    oldest: int = FEATURES[0]
    ladder: Ladder = Ladder()
    byte_buffers: bool = False

    @property
    def offered(self) -> tuple[str, ...]:
        """Strategies that it goes with."""
        return _implemented("java", self.strategies)

    def why_not(self, name: str, strategy: str) -> str | None:
        """One line that says why the layout can't go with the strategy, or None when it can."""
        offered = self.offered
        if strategy in offered:
            return None
        return f"layout {name} has no strategy {strategy!r}: choose one of {', '.join(offered)}"


@dataclass(frozen=True)
class CppLayout:
    """Where buffers and parse results of a C++ processor live.

    Attributes:
        strategies: those that make sense with it; None: all of C++.
        because: why no others do.
        ladder: its steps.
        resources: whether memory resources can make its packets in place of ``new``.
    """

    strategies: tuple[str, ...] | None = None
    because: str = ""
    ladder: Ladder = Ladder()
    resources: bool = False

    @property
    def offered(self) -> tuple[str, ...]:
        """Strategies that it goes with."""
        return _implemented("cpp", self.strategies)

    def why_not(self, name: str, strategy: str) -> str | None:
        """One line that says why the layout can't go with the strategy, or None when it can."""
        offered = self.offered
        if strategy in offered:
            return None
        because = f" ({self.because})" if self.because else ""
        return f"layout {name} has no strategy {strategy}: choose one of {', '.join(offered)}{because}"


def _implemented(language: Language, some: tuple[str, ...] | None) -> tuple[str, ...]:
    """The strategies of a language, or those of some that it implements."""
    return tuple(
        name
        for name, strategy in STRATEGIES.items()
        if language in strategy.languages and (some is None or name in some)
    )


_JAVA_FLAT = Ladder(always=("contiguous",), choice=("one_line", "stride", "prefetch"), all_on=True)
_CPP_OBJECTS = (("one_line", "inline"), ("stride", "one_line"), ("prefetch", "inline"))
"""An object can be aligned, padded and fetched as a whole only where it is one."""

JAVA_LAYOUTS: Mapping[str, JavaLayout] = MappingProxyType(
    {
        "heap": JavaLayout(heap_mb=2048, packet_bytes=1152, parse_bytes=256, byte_buffers=True),
        "native": JavaLayout(
            heap_mb=1024, packet_bytes=128, parse_bytes=256, direct_mb=_DIRECT_MB, slots=True, byte_buffers=True
        ),
        "flat": JavaLayout(
            heap_mb=_SMALL_HEAP_MB,
            packet_bytes=0,
            parse_bytes=0,
            strategies=_FLAT,
            direct_mb=_DIRECT_MB,
            slots=True,
            ladder=_JAVA_FLAT,
        ),
        "flat_ffm": JavaLayout(
            heap_mb=_SMALL_HEAP_MB,
            packet_bytes=0,
            parse_bytes=0,
            module="foreign",
            strategies=_FLAT,
            direct_mb=_DIRECT_MB,
            slots=True,
            oldest=25,
            ladder=_JAVA_FLAT,
        ),
        **{
            name: JavaLayout(
                heap_mb=2048,
                packet_bytes=512,
                parse_bytes=256,
                module="pools",
                strategies=("dummy", "alloc"),
                direct_mb=direct_mb,
            )
            for name, direct_mb in (
                ("netty_pooled", _DIRECT_MB),
                ("netty_unpooled", _DIRECT_MB),
                ("netty_adaptive", _RETAINED_DIRECT_MB),
            )
        },
        "commons_pool": JavaLayout(
            heap_mb=2048,
            packet_bytes=1536,
            parse_bytes=496,
            module="pools",
            strategies=("mix", "pool"),
            byte_buffers=True,
        ),
        "agrona": JavaLayout(
            heap_mb=_SMALL_HEAP_MB,
            packet_bytes=0,
            parse_bytes=0,
            module="pools",
            strategies=_FLAT,
            direct_mb=_DIRECT_MB,
            slots=True,
            ladder=_JAVA_FLAT,
        ),
    }
)
"""Every Java layout by its name."""

CPP_LAYOUTS: Mapping[str, CppLayout] = MappingProxyType(
    {
        "allocating": CppLayout(ladder=Ladder(choice=("inline",))),
        "flat": CppLayout(
            ladder=Ladder(choice=("inline", "one_line", "stride", "prefetch"), rests_on=_CPP_OBJECTS), resources=True
        ),
        "slab": CppLayout(
            strategies=("dummy", "pool"),
            because="a slab's memory is all there at the start: nothing is left to allocate",
            ladder=Ladder(always=("contiguous",), choice=("one_line", "stride", "huge_pages", "prefetch"), all_on=True),
        ),
    }
)
"""Every C++ layout by its name."""

LAYOUTS: dict[Language, tuple[str, ...]] = {"java": tuple(JAVA_LAYOUTS), "cpp": tuple(CPP_LAYOUTS)}
LAYOUT_NAMES = tuple(dict.fromkeys(name for layouts in LAYOUTS.values() for name in layouts))


def ladder_of(language: Language, layout: str) -> Ladder:
    """The steps of a layout; none where there is no such layout."""
    row = JAVA_LAYOUTS.get(layout) if language == "java" else CPP_LAYOUTS.get(layout)
    return row.ladder if row else Ladder()
