"""Which collector exists on which runtime, and the flags that choose it.

History behind the gaps: CMS was removed in 14 (JEP 363). ZGC is experimental on 11 (JEP 333), a product
since 15 (JEP 377), generational by flag since 21 (JEP 439) and only generational since 24 (JEP 490).
Shenandoah (JEP 379) is in OpenJDK's 11 updates too; its generational mode is a product since 25 (JEP 521).
Epsilon (JEP 318) is experimental everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from allocpool.errors import UserError, unknown_choice

FEATURES: tuple[int, ...] = (11, 17, 21, 25)
"""The Java feature releases measured, oldest first."""

_EXPERIMENTAL = "-XX:+UnlockExperimentalVMOptions"


@dataclass(frozen=True)
class Collector:
    """One garbage collector: its name in specs, its name in prose, and its flags by feature release."""

    name: str
    label: str
    flags: Mapping[int, tuple[str, ...]]

    @property
    def features(self) -> tuple[int, ...]:
        """The feature releases that have it, oldest first."""
        return tuple(sorted(self.flags))


def _collector(name: str, label: str, flags: Mapping[int, tuple[str, ...]]) -> Collector:
    return Collector(name, label, MappingProxyType(dict(flags)))


def _everywhere(*flags: str) -> dict[int, tuple[str, ...]]:
    return dict.fromkeys(FEATURES, flags)


COLLECTORS: Mapping[str, Collector] = MappingProxyType(
    {
        c.name: c
        for c in (
            _collector("serial", "Serial", _everywhere("-XX:+UseSerialGC")),
            _collector("parallel", "Parallel", _everywhere("-XX:+UseParallelGC")),
            _collector("cms", "CMS", {11: ("-XX:+UseConcMarkSweepGC",)}),
            _collector("g1", "G1", _everywhere("-XX:+UseG1GC")),
            _collector(
                "zgc",
                "ZGC",
                {
                    11: (_EXPERIMENTAL, "-XX:+UseZGC"),
                    17: ("-XX:+UseZGC",),
                    21: ("-XX:+UseZGC", "-XX:-ZGenerational"),
                },
            ),
            _collector(
                "genzgc",
                "generational ZGC",
                {21: ("-XX:+UseZGC", "-XX:+ZGenerational"), 25: ("-XX:+UseZGC",)},
            ),
            _collector("shenandoah", "Shenandoah", _everywhere("-XX:+UseShenandoahGC")),
            _collector(
                "genshenandoah",
                "generational Shenandoah",
                {25: ("-XX:+UseShenandoahGC", "-XX:ShenandoahGCMode=generational")},
            ),
            _collector("epsilon", "Epsilon", _everywhere(_EXPERIMENTAL, "-XX:+UseEpsilonGC")),
        )
    }
)
"""Every collector by its name; ``COLLECTORS[name].flags[feature]`` are the flags that choose it."""


@dataclass(frozen=True)
class Preset:
    """A published setting of a Java solution."""

    name: str
    feature: int
    collector: str
    heap_mb: int
    pause_target_ms: int | None


PRESETS: Mapping[str, Preset] = MappingProxyType(
    {
        p.name: p
        for p in (
            Preset("article-cms", 11, "cms", 2048, 80),
            Preset("article-parallel", 11, "parallel", 2048, 80),
            Preset("article-g1", 11, "g1", 2048, 80),
            Preset("article-zgc", 11, "zgc", 2048, None),
        )
    }
)
"""The settings of the article "To allocate or to pool?": Java 11 with a heap of 2 GB."""


def collectors_on(feature: int) -> tuple[str, ...]:
    """Names of the collectors that the feature release has, in table order."""
    return tuple(name for name, collector in COLLECTORS.items() if feature in collector.flags)


def _numbers(features: tuple[int, ...]) -> str:
    *head, last = (str(f) for f in features)
    return f"{', '.join(head)} and {last}" if head else last


def check_combination(collector: str, feature: int) -> None:
    """Refuses a collector that the feature release does not have.

    Raises:
        UserError: unknown name, unknown feature release, or no such combination; names what is possible.
    """
    if feature not in FEATURES:
        raise unknown_choice("runtime", feature, FEATURES)
    if collector not in COLLECTORS:
        raise unknown_choice("collector", collector, COLLECTORS)
    if feature not in COLLECTORS[collector].flags:
        raise UserError(
            f"{collector} does not run on {feature}: "
            f"on {feature} choose {', '.join(collectors_on(feature))}; "
            f"{collector} runs on {_numbers(COLLECTORS[collector].features)}"
        )


def require_combination(collector: str | None, feature: int | None) -> None:
    """`check_combination` for validators of models: the same in a ValueError."""
    try:
        check_combination(collector or "", feature or 0)
    except UserError as error:
        raise ValueError(str(error)) from error


def collector_flags(collector: str, feature: int, *, pause_target_ms: int | None = None) -> tuple[str, ...]:
    """The JVM flags that choose ``collector`` on Java ``feature``.

    Args:
        collector: a name of ``COLLECTORS``.
        feature: one of ``FEATURES``.
        pause_target_ms: soft pause target (``MaxGCPauseMillis``), milliseconds; the JVM's default when None.

    Raises:
        UserError: the combination does not exist, or the target is not positive.
    """
    check_combination(collector, feature)
    flags = COLLECTORS[collector].flags[feature]
    if pause_target_ms is None:
        return flags
    if pause_target_ms <= 0:
        raise UserError(f"pause target {pause_target_ms} ms: give a whole number of milliseconds, 1 or more")
    return (*flags, f"-XX:MaxGCPauseMillis={pause_target_ms}")


COMPACT_HEADERS_FEATURE = 25
"""First feature release with compact object headers as a product (JEP 519)."""


def check_options(feature: int, *, compact_headers: bool | None = None) -> None:
    """Refuses JVM options that the feature release does not have.

    Raises:
        UserError: names the releases that have it.
    """
    if compact_headers is not None and feature < COMPACT_HEADERS_FEATURE:
        having = [str(known) for known in FEATURES if known >= COMPACT_HEADERS_FEATURE]
        raise UserError(f"compact_headers: runtime {feature} has no compact object headers, choose {', '.join(having)}")
