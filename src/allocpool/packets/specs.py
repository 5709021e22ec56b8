"""The packets workload as its specification sees it: sizes, strategies, layouts and solutions.

The model is that of "To allocate or to pool?" (pzemtsov.github.io, 2019): a generator obtains packets from a
strategy, an internal queue delays them, parsing makes objects or none, a store keeps the TCP packets. The sizes are
the article's at ``scale`` 1; ``scale`` multiplies pool, queue, store and heap together, so that a small profile keeps
the ratio of live set to heap.
"""

from __future__ import annotations

import math
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from allocpool.errors import UserError, unknown_choice
from allocpool.machine.allocators import ALLOCATORS as PRELOADED
from allocpool.packets.java_layouts import JAVA_LAYOUTS, JavaLayout
from allocpool.runtimes.collectors import COLLECTORS, FEATURES, check_combination, check_options
from allocpool.trial.spec import TrialSpec

Strategy = Literal["dummy", "alloc", "mix", "pool"]
Case = Literal["A", "B", "C"]
Language = Literal["java", "cpp"]

STRATEGIES: tuple[Strategy, ...] = ("dummy", "alloc", "mix", "pool")
CASES: dict[Case, int] = {"A": 10_000, "B": 100_000, "C": 495_000}
"""Size of the internal queue and of the store at scale 1 (the article's table; its code used 1,000 for A)."""
LAYOUTS: dict[Language, tuple[str, ...]] = {"java": tuple(JAVA_LAYOUTS), "cpp": ("allocating", "flat", "slab")}
SLAB_STEPS = ("contiguous", "one_line", "stride", "huge_pages", "prefetch")
"""The ladder from ``flat`` to ``slab``, in order; a slab is contiguous, the others are switches."""
BOOST_POOL = "boost_pool"
RESOURCES = ("pmr_pool", "pmr_monotonic", BOOST_POOL)
"""Of ``std::pmr`` and of Boost: each gives a packet of layout ``flat`` its memory in place of ``new``."""
ALLOCATORS = (*PRELOADED, *RESOURCES)
JAVA_OPTIONS = ("compact_headers", "large_pages")
POOL_SIZE = 1_000_000
MIX_POOL_SIZE = 200_000
HEAP_MB = {name: layout.heap_mb for name, layout in JAVA_LAYOUTS.items()}
SMALLEST_MB = 16
SMALLEST_HEAP_MB = {"zgc": 48}
"""ZGC of 11 does not start below 40 MB."""
TCP_ONE_IN = 16
SET_UP_S: dict[Language, float] = {"java": 1.2, "cpp": 0.6}
"""From the start of a trial's process to its first packet, without what grows with sizes."""
_SET_UP_NS_PER_PACKET: dict[Language, float] = {"java": 400.0, "cpp": 150.0}
DEFAULT_SEED = 20_190_117
DEFAULT_RUNTIME = FEATURES[-1]


class Solution(BaseModel):
    """One row of a results table: layout with runtime and collector, or layout with allocator."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    language: Language
    layout: str
    runtime: int | None = None
    collector: str | None = None
    allocator: str | None = None
    steps: str | None = None
    compact_headers: bool | None = None
    large_pages: bool | None = None

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read ``java/<layout>/<collector>/<runtime>[/<option>...]`` or ``cpp/<layout>[/<allocator>[/<steps>]]``.

        Steps are joined by ``+``; a slab without any has all.

        Raises:
            UserError: another form, or an unknown word; names the valid ones.
        """
        parts = text.split("/")
        if parts[0] == "java" and len(parts) >= 4 and parts[3].isdigit():
            for option in parts[4:]:
                if option not in JAVA_OPTIONS:
                    raise unknown_choice("option", option, JAVA_OPTIONS)
            options = dict.fromkeys(parts[4:], True)
            found = cls(language="java", layout=parts[1], collector=parts[2], runtime=int(parts[3]), **options)
        elif parts[0] == "cpp" and len(parts) in (2, 3, 4):
            allocator = parts[2] if len(parts) > 2 else "glibc"
            steps = checked_steps(parts[1], parts[3].replace("+", ",") if len(parts) > 3 else None)
            found = cls(language="cpp", layout=parts[1], allocator=allocator, steps=steps)
        else:
            raise UserError(
                f"solution {text!r} is not java/LAYOUT/COLLECTOR/RUNTIME[/OPTION...] or cpp/LAYOUT[/ALLOCATOR[/STEPS]]"
            )
        found.require_known_words()
        return found

    def require_known_words(self) -> None:
        """UserError that names the valid choices where a word is outside the vocabulary."""
        if self.layout not in LAYOUTS[self.language]:
            raise unknown_choice(f"{self.language} layout", self.layout, LAYOUTS[self.language])
        if self.language == "java":
            check_combination(self.collector or "", self.runtime or 0)
            check_options(self.runtime or 0, compact_headers=self.compact_headers)
            oldest = JAVA_LAYOUTS[self.layout].oldest
            if (self.runtime or 0) < oldest:
                raise UserError(f"layout {self.layout} needs runtime {oldest} or newer, not {self.runtime}")
        elif self.allocator not in ALLOCATORS:
            raise unknown_choice("allocator", self.allocator, ALLOCATORS)

    def offers(self, strategy: str) -> bool:
        """Whether the strategy makes sense with the layout; a plan leaves out what does not."""
        return self.language == "cpp" or strategy in JAVA_LAYOUTS[self.layout].strategies

    @property
    def _options(self) -> tuple[str, ...]:
        return tuple(option for option in JAVA_OPTIONS if getattr(self, option))

    @property
    def key(self) -> str:
        """The text that ``parse`` reads."""
        if self.language == "java":
            return "/".join(("java", self.layout, self.collector or "", str(self.runtime), *self._options))
        some_steps = self.steps is not None and self.steps != ",".join(SLAB_STEPS)
        steps = f"/{self.steps.replace(',', '+')}" if self.steps and some_steps else ""
        return f"cpp/{self.layout}/{self.allocator}{steps}"

    @property
    def label(self) -> str:
        """The name of the row, as tables and plots print it."""
        if self.language == "java" and self.collector is not None:
            words = (self.layout, COLLECTORS[self.collector].label, str(self.runtime), *self._options)
            return " / ".join(word.replace("_", " ") for word in words)
        allocator = "" if self.allocator == "glibc" else f" / {self.allocator}"
        off = [step for step in SLAB_STEPS if self.steps and step not in self.steps.split(",")]
        steps = f" / without {', '.join(off)}" if off else ""
        return f"C++ {self.layout}{allocator}{steps}"


class PacketsSpec(TrialSpec):
    """A trial of the packets workload; sizes left out follow from strategy, case and scale."""

    language: Language
    layout: str
    runtime: int | None = None
    collector: str | None = None
    pause_target_ms: int | None = Field(default=None, gt=0, description="-XX:MaxGCPauseMillis")
    compact_headers: bool | None = Field(default=None, description="-XX:UseCompactObjectHeaders, from 25 on")
    large_pages: bool | None = Field(default=None, description="transparent huge pages for heap and direct memory")
    allocator: str | None = None
    steps: str | None = Field(default=None, description="of layout slab; all when left out")
    strategy: Strategy
    case: Case = "A"
    scale: float = Field(default=1.0, gt=0, le=4)
    queue_size: int = Field(gt=0)
    stored_count: int = Field(gt=0)
    pool_size: int = Field(ge=0, description="packets made before the start")
    slot_count: int = Field(gt=0, description="layouts with one region of memory: packets it has room for")
    fill_packets: int = Field(gt=0, description="packets after which queue and store are full")
    heap_mb: int | None = Field(default=None, gt=0)
    direct_mb: int | None = Field(default=None, ge=0)
    seed: int = Field(default=DEFAULT_SEED, ge=0, lt=2**63)

    @model_validator(mode="before")
    @classmethod
    def _fill_in(cls, given: Any) -> Any:
        """Complete what follows from layout, case and scale; what is given explicitly stays."""
        if not isinstance(given, dict):
            return given
        spec = dict(given)
        for key, valid in (("strategy", STRATEGIES), ("case", CASES), ("language", LAYOUTS)):
            if key in spec and spec[key] not in valid:
                raise ValueError(str(unknown_choice(key, spec[key], valid)))
        if "layout" not in spec:
            raise ValueError(
                "layout is missing: choose " + "; ".join(f"{k}: {', '.join(v)}" for k, v in LAYOUTS.items())
            )
        if "language" not in spec:
            spec["language"] = _language_of(spec["layout"])
        _fill_in_sizes(spec)
        if spec["language"] == "java":
            spec["runtime"] = _whole(spec, "runtime", DEFAULT_RUNTIME)
            spec["collector"] = spec.get("collector") or "g1"
            if spec["collector"] in ("cms", "parallel", "g1") and spec["runtime"] == FEATURES[0]:
                spec.setdefault("pause_target_ms", 80)
        else:
            spec["allocator"] = spec.get("allocator") or "glibc"
        spec["steps"] = _steps_of(spec)
        return spec

    @model_validator(mode="after")
    def _holds_together(self) -> Self:
        try:
            self.solution.require_known_words()
        except UserError as error:
            raise ValueError(str(error)) from error
        java_only = {
            "runtime": self.runtime, "collector": self.collector, "heap_mb": self.heap_mb,
            "direct_mb": self.direct_mb, "pause_target_ms": self.pause_target_ms,
            **{option: getattr(self, option) for option in JAVA_OPTIONS},
        }  # fmt: skip
        if self.language == "cpp" and (wrong := [key for key, value in java_only.items() if value is not None]):
            raise ValueError(f"{', '.join(wrong)} belong to Java; C++ takes allocator ({', '.join(ALLOCATORS)})")
        if self.language == "java" and self.allocator is not None:
            raise ValueError("allocator belongs to C++; Java takes runtime, collector and heap_mb")
        out_at_once = self.queue_size + self.stored_count + 1
        if self.strategy == "pool" and self.pool_size < out_at_once:
            raise ValueError(f"pool_size {self.pool_size} is too small: queue, store and one more need {out_at_once}")
        needed = max(out_at_once, self.pool_size)
        if self.java_layout and (wrong_strategy := self.java_layout.why_not(self.layout, self.strategy)):
            raise ValueError(wrong_strategy)
        has_slots = self.java_layout is not None and self.java_layout.slots
        if has_slots and self.strategy != "dummy" and self.slot_count < needed:
            raise ValueError(f"slot_count {self.slot_count} is too small: the packets out at once need {needed}")
        return self

    def configuration(self) -> str:
        return self.solution.label

    def set_up_seconds(self) -> float:
        """About how long it takes until queue and store are full: process, JVM, pool, packets."""
        cost_ns = _SET_UP_NS_PER_PACKET[self.language]
        return SET_UP_S[self.language] + cost_ns * (self.pool_size + self.fill_packets) / 1e9

    @property
    def java_layout(self) -> JavaLayout | None:
        """What there is to know of the layout, or None if it is one of C++."""
        return JAVA_LAYOUTS[self.layout] if self.language == "java" else None

    @property
    def solution(self) -> Solution:
        """The row of a results table that this trial belongs to."""
        return Solution(
            language=self.language, layout=self.layout, runtime=self.runtime,
            collector=self.collector, allocator=self.allocator, steps=self.steps,
            compact_headers=self.compact_headers, large_pages=self.large_pages,
        )  # fmt: skip


def no_such_pair(solution: Solution, strategy: Strategy) -> str | None:
    """One line that says why a solution has no such strategy, on any machine; None when it has."""
    if solution.layout == "slab" and strategy in ("alloc", "mix"):
        return (
            f"layout slab has no strategy {strategy}: choose one of dummy, pool "
            "(a slab's memory is all there at the start: nothing is left to allocate)"
        )
    if solution.allocator in RESOURCES and (solution.layout, strategy) != ("flat", "alloc"):
        return f"allocator {solution.allocator} makes each packet by itself: choose layout flat and strategy alloc"
    return None


def checked_steps(layout: str, given: str | None) -> str | None:
    """Steps of layout ``slab``, comma-separated, in the order of the ladder; None for other layouts.

    Raises:
        UserError: an unknown step, or steps of a layout that has none.
    """
    if layout != "slab":
        if given is not None:
            raise UserError(f"steps belong to layout slab, not to layout {layout}")
        return None
    asked = SLAB_STEPS if given is None else (SLAB_STEPS[0], *given.split(","))
    for step in asked:
        if step not in SLAB_STEPS:
            raise unknown_choice("step", step, SLAB_STEPS)
    return ",".join(step for step in SLAB_STEPS if step in asked)


def _steps_of(spec: dict[str, Any]) -> str | None:
    try:
        return checked_steps(str(spec["layout"]), spec.get("steps"))
    except UserError as error:
        raise ValueError(str(error)) from error


def _language_of(layout: object) -> Language:
    owners: list[Language] = [language for language, layouts in LAYOUTS.items() if layout in layouts]
    if len(owners) > 1:
        raise ValueError(f"layout {layout} is of {' and of '.join(owners)}: add language={'|'.join(owners)}")
    if not owners:
        every = dict.fromkeys(name for layouts in LAYOUTS.values() for name in layouts)
        raise ValueError(str(unknown_choice("layout", layout, every)))
    return owners[0]


def _whole(spec: dict[str, Any], key: str, default: int) -> int:
    value = spec.get(key)
    try:
        return default if value is None else int(value)
    except (TypeError, ValueError):
        raise ValueError(f"{key}: a whole number, not {value!r}") from None


def _fill_in_sizes(spec: dict[str, Any]) -> None:
    try:
        scale = float(spec.get("scale", 1.0))
    except (TypeError, ValueError):
        raise ValueError(f"scale: a number above 0, not {spec['scale']!r}") from None
    if not 0 < scale <= 4:
        raise ValueError(f"scale: above 0 and at most 4, not {scale:g}")

    def scaled(size: int) -> int:
        return max(1, round(size * scale))

    packets = scaled(CASES[spec.get("case", "A")])
    spec.setdefault("queue_size", packets)
    spec.setdefault("stored_count", packets)
    pool_sizes = {"dummy": 0, "alloc": 0, "mix": scaled(MIX_POOL_SIZE), "pool": scaled(POOL_SIZE)}
    spec.setdefault("pool_size", pool_sizes.get(spec.get("strategy", ""), 0))
    spec.setdefault("slot_count", scaled(POOL_SIZE))
    if "fill_packets" not in spec:
        spec["fill_packets"] = _fill_packets(_whole(spec, "queue_size", 1), _whole(spec, "stored_count", 1))
    if spec["language"] == "java":
        spec.setdefault("heap_mb", scaled_heap_mb(spec["layout"], str(spec.get("collector")), scale))
        layout = JAVA_LAYOUTS.get(spec["layout"])
        if layout and layout.direct_mb:
            spec.setdefault("direct_mb", max(SMALLEST_MB, math.ceil(layout.direct_mb * scale)))


def scaled_heap_mb(layout: str, collector: str, scale: float) -> int:
    """The published heap of a Java layout at this scale, MiB, or the smallest that the collector starts with."""
    smallest_mb = SMALLEST_HEAP_MB.get(collector, SMALLEST_MB)
    return max(smallest_mb, math.ceil(HEAP_MB.get(layout, HEAP_MB["heap"]) * scale))


def _fill_packets(queue_size: int, stored_count: int) -> int:
    """Packets after which queue and store are full but for a chance below one in ten thousand.

    The store takes one packet in sixteen; four standard deviations of that binomial are added.
    """
    return queue_size + TCP_ONE_IN * (stored_count + math.ceil(4 * math.sqrt(max(0, stored_count))))
