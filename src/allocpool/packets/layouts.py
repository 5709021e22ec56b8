"""The layouts of Java and of C++: what holds them, what they need, which strategies make sense with them.

One row says all that specs, launches and plans must know of a layout; what it does is in ``workloads/`` and in
``native/src/packets``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from allocpool.packets.strategies import STRATEGIES, Language
from allocpool.runtimes.collectors import FEATURES

_FLAT = ("dummy", "mix", "pool")
_SMALL_HEAP_MB = 256
_DIRECT_MB = 2048
_RETAINED_DIRECT_MB = 8192
"""For an allocator that gives a chunk back only when all of its buffers are free (github.com/netty/netty/issues/15311):
one packet in sixteen goes to the store and stays long, so nearly every chunk outlives most of its buffers."""


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
        unsafe: whether its library reads memory through ``sun.misc.Unsafe``, which newer releases warn of (JEP 498).
    """

    heap_mb: int
    packet_bytes: int
    parse_bytes: int
    module: str = "packets"
    strategies: tuple[str, ...] | None = None
    direct_mb: int = 0
    slots: bool = False
    oldest: int = FEATURES[0]
    unsafe: bool = False

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
        steps: whether it is a ladder whose steps can be chosen.
        resources: whether memory resources can make its packets in place of ``new``.
    """

    strategies: tuple[str, ...] | None = None
    because: str = ""
    steps: bool = False
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


JAVA_LAYOUTS: Mapping[str, JavaLayout] = MappingProxyType(
    {
        "heap": JavaLayout(heap_mb=2048, packet_bytes=1152, parse_bytes=208),
        "native": JavaLayout(heap_mb=1024, packet_bytes=128, parse_bytes=208, direct_mb=_DIRECT_MB, slots=True),
        "flat": JavaLayout(
            heap_mb=_SMALL_HEAP_MB, packet_bytes=0, parse_bytes=0, strategies=_FLAT, direct_mb=_DIRECT_MB, slots=True
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
            heap_mb=2048, packet_bytes=1536, parse_bytes=448, module="pools", strategies=("mix", "pool")
        ),
        "agrona": JavaLayout(
            heap_mb=_SMALL_HEAP_MB,
            packet_bytes=0,
            parse_bytes=0,
            module="pools",
            strategies=_FLAT,
            direct_mb=_DIRECT_MB,
            slots=True,
            unsafe=True,
        ),
    }
)
"""Every Java layout by its name."""

CPP_LAYOUTS: Mapping[str, CppLayout] = MappingProxyType(
    {
        "allocating": CppLayout(),
        "flat": CppLayout(resources=True),
        "slab": CppLayout(
            strategies=("dummy", "pool"),
            because="a slab's memory is all there at the start: nothing is left to allocate",
            steps=True,
        ),
    }
)
"""Every C++ layout by its name."""

LAYOUTS: dict[Language, tuple[str, ...]] = {"java": tuple(JAVA_LAYOUTS), "cpp": tuple(CPP_LAYOUTS)}
LAYOUT_NAMES = tuple(dict.fromkeys(name for layouts in LAYOUTS.values() for name in layouts))
