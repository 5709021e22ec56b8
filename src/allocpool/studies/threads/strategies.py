"""Where a message comes from when many threads ask: a row is all that specs, plans, tables and figures need. The code
is in ``workloads/threads`` and ``native/src/threads``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from allocpool.errors import OneOf
from allocpool.packets import strategies as packets
from allocpool.packets.strategies import Language

Topology = Literal["sharded", "pipeline", "virtual"]
TOPOLOGIES: tuple[Topology, ...] = ("sharded", "pipeline", "virtual")
"""Each thread for itself; one receiver before workers; and a virtual thread for each train of messages."""
PLATFORM: tuple[Topology, ...] = ("sharded", "pipeline")
LAYOUTS: dict[Language, tuple[str, ...]] = {"java": ("heap", "native", "flat"), "cpp": ("heap", "flat")}
"""Buffers and parse results as objects; buffers off the Java heap; and nothing made by parsing."""
Shared = Literal["nothing", "all", "depot", "returns", "rings"]


@dataclass(frozen=True)
class Strategy:
    """Where a message comes from.

    Attributes:
        shared: what threads have in common of it.
        layouts: those that it goes with; None: all of the language that are no contradiction to it.
        library: that provides it; None: our own code.
    """

    name: str
    means: str
    shared: Shared
    colour: str
    languages: tuple[Language, ...] = ("java", "cpp")
    topologies: tuple[Topology, ...] = TOPOLOGIES
    layouts: tuple[str, ...] | None = None
    library: str | None = None

    @property
    def label(self) -> str:
        """Its name in figures and tables: in words, a library's as that spells itself."""
        words = self.name.replace("_", " ")
        return words if self.library is None else f"{self.library}{words[len(self.library) :]}"

    @property
    def is_pool(self) -> bool:
        """Whether messages are used again."""
        return self.name not in ("alloc", "netty_unpooled")

    @property
    def prepares(self) -> bool:
        """Whether its messages are made before the start."""
        return self.is_pool and not self.name.startswith("netty") and self.name != "copy_on_keep"


def _library(name: str, means: str, shared: Shared, colour: str, library: str, layouts: tuple[str, ...]) -> Strategy:
    return Strategy(name, means, shared, colour, ("java",), layouts=layouts, library=library)


STRATEGIES: Mapping[str, Strategy] = {
    row.name: row
    for row in (
        Strategy("alloc", "a fresh message each time", "nothing", packets.STRATEGIES["alloc"].colour),
        Strategy("locked", "one stack under a lock", "all", "#4d4dff"),
        Strategy("stack", "one lock-free stack, tagged", "all", "#0072b2"),
        Strategy("mpmc", "one ring for many producers and consumers", "all", "#56b4e9"),
        Strategy("cached", "a cache for each thread over a shared depot", "depot", "#009e73", topologies=PLATFORM),
        Strategy("owner", "back to the owner, in batches", "returns", "#cc79a7", topologies=PLATFORM),
        Strategy("recycle", "a ring of free messages between two threads", "rings", "#8f4a76", topologies=PLATFORM),
        Strategy("copy_on_keep", "the ring is the memory; what is kept is copied", "nothing", "#e69f00",
                 topologies=PLATFORM),
        Strategy("thread_local", "a pool for each thread that frees", "nothing", "#8c6d31"),
        _library("netty_pooled", "Netty's pooled allocator", "depot", "#66a61e", "Netty", ("native",)),
        _library("netty_unpooled", "Netty's allocator without a pool", "nothing", "#e7298a", "Netty", ("native",)),
        _library("netty_adaptive", "Netty's adaptive allocator", "depot", "#a6761d", "Netty", ("native",)),
        _library("netty_recycler", "Netty's recycler of objects", "returns", "#1b9e77", "Netty", ("heap",)),
        _library("agrona", "Agrona's queue as a pool", "all", "#7570b3", "Agrona", LAYOUTS["java"]),
        _library("jctools", "JCTools' queue as a pool", "all", "#e6ab02", "JCTools", LAYOUTS["java"]),
        _library("commons_pool", "Commons Pool", "all", "#666666", "Commons Pool", LAYOUTS["java"]),
        _library("stormpot", "Stormpot", "depot", "#999999", "Stormpot", LAYOUTS["java"]),
    )
}  # fmt: skip
"""Every strategy by its name, in the order of tables."""
LABELS = {row.name: row.label for row in STRATEGIES.values()}
BEST_KNOWN = ("owner", "netty_pooled", "locked")
"""The pool that allocation is first compared with, the first of these that there is: what mimalloc's design gives, what
users of Netty have, and for virtual threads, which own nothing, one for all."""
StrategyName = Annotated[str, OneOf("strategy", STRATEGIES)]


def offered(language: Language, topology: str, layout: str) -> tuple[str, ...]:
    """Return the strategies that make sense together with these."""
    return tuple(
        row.name
        for row in STRATEGIES.values()
        if language in row.languages
        and topology in row.topologies
        and (row.layouts is None or layout in row.layouts)
        and not (row.name == "alloc" and layout == "flat" and language == "java")
    )


def why_not(language: Language, topology: str, layout: str, strategy: str) -> str | None:
    """Return in one line why these don't go together, or None when they do."""
    if language == "cpp" and topology == "virtual":
        return "topology virtual is of Java: choose topology sharded or pipeline, or language java"
    if layout not in LAYOUTS[language]:
        return f"layout {layout} is not of language {language}: choose one of {', '.join(LAYOUTS[language])}"
    names = offered(language, topology, layout)
    if strategy in names:
        return None
    if topology not in STRATEGIES[strategy].topologies:
        return (
            f"strategy {strategy} is of threads that stay, which own or cache messages, and virtual ones come and go: "
            f"choose topology sharded or pipeline, or one of {', '.join(names)}"
        )
    return (
        f"strategy {strategy} makes no sense with language {language}, topology {topology}, layout {layout}: "
        f"choose one of {', '.join(names)}"
    )
