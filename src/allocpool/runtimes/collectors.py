"""One row for each collector: where it exists, what chooses it, how it behaves, how it is drawn.

History: CMS was removed in 14 (JEP 363). ZGC is experimental on 11 (JEP 333), a product since 15 (JEP 377),
generational by flag since 21 (JEP 439), by default since 23 (JEP 474), and only generational since 24 (JEP 490).
Shenandoah is experimental since 12 (JEP 189), a product since 15 (JEP 379) and in OpenJDK's 11 updates; its
generational mode is experimental on 24 (JEP 404) and a product since 25 (JEP 521). Epsilon (JEP 318) is experimental
everywhere. G1 writes with a shorter barrier since 26 (JEP 522), and is the default on every machine since 27 (JEP 523):
trials name their collector.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from allocpool.errors import UserError, unknown_choice

FEATURES: tuple[int, ...] = (11, 17, 21, 25)
"""The Java feature releases that set-up fetches, oldest first. Any other from the first of them on runs too, where the
machine has it (`allocpool.runtimes.discovery`)."""
OLDEST = 8
"""The oldest that trials with option ``plain`` take, which the article's figures are of."""

ARTICLE_PAUSE_TARGET_MS = 80
"""``-XX:MaxGCPauseMillis`` that the article "To allocate or to pool?" gave to G1, and to G1 alone, milliseconds."""
_EXPERIMENTAL = "-XX:+UnlockExperimentalVMOptions"


@dataclass(frozen=True)
class Collector:
    """One garbage collector.

    Attributes:
        flags: those that choose it, by the feature release from which on they do; older ones do not have it.
        last: newest feature release that has it; None: no release has dropped it.
        colour: of its marks in figures; of Okabe and Ito's palette and shades of it.
        thread_names: beginnings of the names of the threads that it alone has, at most 15 characters (Linux cuts
            there); from HotSpot's sources, ``set_name`` and ``initialize_threads`` below ``gc/``. Those that several
            collectors have are in `allocpool.runtimes.threads`.
        log_words: what its log needs in addition to ``gc*=info`` (``-Xlog``, JEP 158).
        roomy_heap_mb: smallest heap in which it also places several large arrays at a time, MiB.
        heap_is_shared_memory: its heap is a file in memory (ZGC: ``zPhysicalMemoryBacking_linux.cpp``), for which the
            kernel has another setting of transparent huge pages.
        has_sized_young: ``-XX:MaxNewSize`` limits its young generation (the ``java`` manual).
        stop_the_world: only full collections, which stop the program, move old objects. G1 also moves them in mixed
            collections, ZGC and Shenandoah while the program runs.
        concurrent: does part of its work on threads while the program runs.
        never_frees: never collects (JEP 318), so that its trials are as long as its heap: no choice for a program that
            goes on, but a control that shows what a packet costs without collecting.
        exhausted_exit_status: of a JVM that ends when its heap is used up. Epsilon turns on
            ``ExitOnOutOfMemoryError`` (``epsilonArguments.cpp``), which ends with status 3 (``debug.cpp``).
        published_family: the published collector that it is, or may have been (see `allocpool.evidence.reference`);
            None for generational ZGC, which is another collector than the one published under that name.
        published_pause_target_ms: what the article gave it as ``-XX:MaxGCPauseMillis``, by feature release.
    """

    name: str
    label: str
    flags: Mapping[int, tuple[str, ...]]
    colour: str
    last: int | None = None
    thread_names: tuple[str, ...] = ()
    log_words: tuple[str, ...] = ()
    smallest_heap_mb: int = 16
    roomy_heap_mb: int = 16
    heap_is_shared_memory: bool = False
    has_sized_young: bool = False
    stop_the_world: bool = False
    concurrent: bool = False
    never_frees: bool = False
    exhausted_exit_status: int | None = None
    published_family: str | None = None
    published_pause_target_ms: Mapping[int, int] = field(default_factory=dict)

    def is_on(self, feature: int) -> bool:
        """Return whether the feature release has it."""
        return min(self.flags) <= feature <= (self.last or feature)

    def flags_on(self, feature: int) -> tuple[str, ...]:
        """Return the flags that choose it on a feature release that has it."""
        return self.flags[max(since for since in self.flags if since <= feature)]


_ZGC_THREADS = ("Director", "Driver", "Stat", "Uncommitter", "Unmapper", "Worker")
_ROWS = (
    Collector(
        "serial", "Serial", {OLDEST: ("-XX:+UseSerialGC",)},
        colour="#999999", has_sized_young=True, stop_the_world=True,
    ),
    Collector(
        "parallel", "Parallel", {OLDEST: ("-XX:+UseParallelGC",)},
        colour="#d55e00", thread_names=("ParGC Thread",), has_sized_young=True, stop_the_world=True,
        published_family="CMS",
    ),
    Collector(
        "cms", "CMS", {OLDEST: ("-XX:+UseConcMarkSweepGC",)}, last=13,
        colour="#e69f00", thread_names=("CMS ",), has_sized_young=True, stop_the_world=True, concurrent=True,
        # A concurrent mode failure has level debug only; on the others that level floods the log.
        log_words=("gc=debug",),
        published_family="CMS",
    ),
    Collector(
        "g1", "G1", {OLDEST: ("-XX:+UseG1GC",)},
        colour="#0072b2", thread_names=("G1 ",), has_sized_young=True, concurrent=True,
        published_family="G1", published_pause_target_ms=dict.fromkeys((OLDEST, 11), ARTICLE_PAUSE_TARGET_MS),
    ),
    Collector(
        "zgc", "ZGC",
        {11: (_EXPERIMENTAL, "-XX:+UseZGC"), 15: ("-XX:+UseZGC",), 21: ("-XX:+UseZGC", "-XX:-ZGenerational")}, last=23,
        colour="#56b4e9",
        # On 21, where the generational one is ZGC too, its names begin with X (src/hotspot/share/gc/x).
        thread_names=("RuntimeWorker", *(first + rest for first in "ZX" for rest in _ZGC_THREADS)),
        smallest_heap_mb=48,  # on 11 it does not start below 40
        # On 11 an array of 256 KiB or more takes a page of 32 MiB (zGlobals.hpp: ZPageSizeMedium), whatever the
        # heap, and 36 MiB are kept for relocation: in 103 MiB there is no second such page, however little lives.
        roomy_heap_mb=160,
        heap_is_shared_memory=True, concurrent=True, published_family="ZGC",
    ),
    Collector(
        "genzgc", "generational ZGC", {21: ("-XX:+UseZGC", "-XX:+ZGenerational"), 23: ("-XX:+UseZGC",)},
        colour="#009e73", thread_names=("RuntimeWorker", *("Z" + rest for rest in _ZGC_THREADS)),
        heap_is_shared_memory=True, concurrent=True,
    ),
    Collector(
        "shenandoah", "Shenandoah",
        {
            11: ("-XX:+UseShenandoahGC",),
            12: (_EXPERIMENTAL, "-XX:+UseShenandoahGC"),
            15: ("-XX:+UseShenandoahGC",),
        },
        colour="#cc79a7", thread_names=("Shenandoah",), concurrent=True,
    ),
    Collector(
        "genshenandoah", "generational Shenandoah",
        {
            24: (_EXPERIMENTAL, "-XX:+UseShenandoahGC", "-XX:ShenandoahGCMode=generational"),
            25: ("-XX:+UseShenandoahGC", "-XX:ShenandoahGCMode=generational"),
        },
        colour="#8f4a76", thread_names=("Shenandoah",), concurrent=True,
    ),
    Collector(
        "epsilon", "Epsilon", {11: (_EXPERIMENTAL, "-XX:+UseEpsilonGC")},
        colour="#666666", never_frees=True, exhausted_exit_status=3,
    ),
)  # fmt: skip
COLLECTORS: Mapping[str, Collector] = MappingProxyType({row.name: row for row in _ROWS})
"""Every collector by its name, in the order of tables and legends."""


def collector_named(name: str) -> Collector:
    """Return the row of a collector; UserError for an unknown one."""
    if name not in COLLECTORS:
        raise unknown_choice("collector", name, COLLECTORS)
    return COLLECTORS[name]


def collector_labelled(label: str) -> Collector:
    """Return the row of a collector by its label; UserError for an unknown one."""
    by_label = {row.label: row for row in COLLECTORS.values()}
    if label not in by_label:
        raise unknown_choice("collector", label, by_label)
    return by_label[label]


def collectors_that(has: Callable[[Collector], bool]) -> tuple[str, ...]:
    """Return the names of the collectors with a trait, in table order."""
    return tuple(row.name for row in COLLECTORS.values() if has(row))


def never_frees(name: str | None) -> bool:
    """Return whether a trial is bounded by this collector's heap; not where there is none, as in C++. UserError for an
    unknown collector."""
    return name is not None and collector_named(name).never_frees


def collectors_on(feature: int) -> tuple[str, ...]:
    """Return the names of the collectors that the feature release has, in table order."""
    return collectors_that(lambda row: row.is_on(feature))


def check_release(feature: int, oldest: int = OLDEST) -> int:
    """Return the feature release; UserError where it is older than ``oldest``."""
    if feature < oldest:
        raise UserError(f"runtime {feature} is too old: choose {oldest} or a newer release of Java")
    return feature


def check_combination(collector: str, feature: int) -> None:
    """Check that the feature release has the collector; UserError, which names what is possible, otherwise."""
    check_release(feature)
    row = collector_named(collector)
    if not row.is_on(feature):
        raise UserError(
            f"{collector} does not run on {feature}: on {feature} choose {', '.join(collectors_on(feature))}; "
            f"{collector} runs on {min(row.flags)} {'and newer' if row.last is None else f'to {row.last}'}"
        )


def require_combination(collector: str | None, feature: int | None) -> None:
    """Check the same of fields that may be empty."""
    check_combination(collector or "", feature or 0)


def collector_flags(collector: str, feature: int) -> tuple[str, ...]:
    """Return the JVM flags that choose a collector on a feature release; UserError where there is no such
    combination."""
    check_combination(collector, feature)
    return COLLECTORS[collector].flags_on(feature)
