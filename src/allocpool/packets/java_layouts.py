"""The Java layouts: which module has them, what they need, which strategies make sense with them.

One entry says all that specs, launches and plans must know of a layout; what it does is in ``workloads/``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from allocpool.runtimes.collectors import FEATURES

_ALL = ("dummy", "alloc", "mix", "pool")
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
        strategies: those that make sense with it.
        direct_mb: limit of direct memory at scale 1, MiB; 0: its buffers are on the heap.
        slots: whether it has one region with room for a fixed number of packets.
        oldest: first feature release that it runs on.
        unsafe: whether its library reads memory through ``sun.misc.Unsafe``, which newer releases warn of (JEP 498).
    """

    heap_mb: int
    packet_bytes: int
    parse_bytes: int
    module: str = "packets"
    strategies: tuple[str, ...] = _ALL
    direct_mb: int = 0
    slots: bool = False
    oldest: int = FEATURES[0]
    unsafe: bool = False

    def why_not(self, name: str, strategy: str) -> str | None:
        """One line that says why the layout can't go with the strategy, or None when it can."""
        if strategy in self.strategies:
            return None
        return f"layout {name} has no strategy {strategy!r}: choose one of {', '.join(self.strategies)}"


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
