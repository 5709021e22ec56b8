"""Specs of the packets workload: sizes, configurations and their options.

The model is that of "To allocate or to pool?" (pzemtsov.github.io, 2019): a generator obtains packets from a
strategy, an internal queue delays them, parsing makes objects or none, a store keeps the TCP packets. Sizes are the
article's at ``scale`` 1, which multiplies pool, queue, store and heap and so keeps the ratio of live set to heap.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self, cast

import pandas as pd
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from allocpool.errors import OneOf, UserError, unknown_choice
from allocpool.machine.allocators import ALLOCATORS as PRELOADED
from allocpool.machine.allocators import HUGE_PAGES
from allocpool.machine.personality import FIXED_ADDRESSES, addresses_can_be_fixed
from allocpool.packets import strategies
from allocpool.packets.strategies import JAVA_LAYOUTS, LAYOUTS, STRATEGIES, Language, Layout, StrategyName, layout_of
from allocpool.runtimes import collectors
from allocpool.runtimes.collectors import ARTICLE_PAUSE_TARGET_MS, FEATURES, OLDEST, collector_named
from allocpool.runtimes.flags import JVM_OPTIONS, option_flags
from allocpool.trial.spec import CollectorName, Jvm, NativeProject, Needs, RuntimeNumber, TrialSpec

CASES: dict[str, int] = {"A": 1_000, "A10k": 10_000, "B": 100_000, "C": 495_000}
"""Size of the internal queue and of the store at scale 1: case A as in the code that made the published figures, A10k
as the article's text has it."""
PUBLISHED_CASES = ("A", "B", "C")


def case_size(case: str) -> int:
    """Return the size of the internal queue and of the store of a case at scale 1: each half of the messages alive."""
    return CASES[case] if case in CASES else int(case) // 2


def case_of(value: object) -> str:
    """Return the name of a case: a published one, or its number of messages alive at scale 1 as text; ValueError for
    neither a published case nor an even number."""
    text = str(value)
    if text in CASES:
        return text
    if isinstance(value, bool) or not text.isdecimal() or int(text) < 2 or int(text) % 2:
        raise ValueError(f"case {text!r}: choose one of {', '.join(CASES)}, or an even number of messages alive")
    return next((name for name, size in CASES.items() if 2 * size == int(text)), str(int(text)))


Case = Annotated[str, BeforeValidator(case_of)]


def in_case_order(cases: Iterable[str]) -> list[str]:
    """Return the distinct cases by how much is alive, least first."""
    return sorted(set(cases), key=case_size)


BUFFER_BYTES = 1024
PLAIN_LAYOUTS = ("heap", "native")
PLAIN_MODULE = "packets-8"
BOOST_POOL = "boost_pool"
RESOURCES = ("pmr_pool", "pmr_monotonic", BOOST_POOL)
"""Of ``std::pmr`` and of Boost: each gives a packet of layout ``flat`` its memory in place of ``new``."""
ALLOCATORS = (*PRELOADED, *RESOURCES)
SETTINGS = ("lazy_heap", "explicit_gc", "pause_target")
"""Options that show whether a setting matters; no program would choose them."""
SMALLEST_MB = 16
TCP_ONE_IN = 16
MOST_PACKETS = 2**30
"""In a pool, a queue or a store: Java counts them in ints, and C++ is to hold the same."""
SET_UP_S: dict[Language, float] = {"java": 1.2, "cpp": 0.6}
"""From the start of a trial's process to its first packet, without what grows with sizes."""
DEFAULT_SEED = 20_190_117
DEFAULT_RUNTIME = FEATURES[-1]
DEFAULT_COLLECTOR = "g1"
DEFAULT_ALLOCATOR = "glibc"
_CPP_PACKET_BYTES = 1280
"""A packet of C++ at most: object with buffer, parse results, what ``new`` adds."""


class Option(NamedTuple):
    """A word of a configuration for one non-default value of a field, of one language or (None) of both."""

    field: str
    value: object
    language: Language | None = None


_OF_JAVA = (
    "compact_headers", "large_pages", "lean_view", "lazy_heap", "explicit_gc", "pause_target", "no_compact_headers",
    "no_refinement", "large_young", "detached",
)  # fmt: skip
OPTIONS: Mapping[str, Option] = MappingProxyType(
    {word: Option(word, True, "java") for word in _OF_JAVA}
    | {
        "no_compact_headers": Option("compact_headers", False, "java"),
        "host_cpu": Option("host_cpu", True, "cpp"),
        "fresh": Option("pool_order", "fresh"),
        "fifo": Option("pool_reuse", "fifo"),
        "payload": Option("payload_touch", True),
        "twin": Option("control", "twin"),
        "fixed_addresses": Option("control", "fixed_addresses"),
        "foreground": Option("control", "foreground", "java"),
        "c1_only": Option("control", "c1_only", "java"),
        "plain": Option("control", "plain", "java"),
        "slp": Option("control", "slp", "cpp"),
    }
)
"""By the word in keys and labels, in their order."""
OPTION_FIELDS = tuple(dict.fromkeys(option.field for option in OPTIONS.values()))


def options_of(language: str) -> tuple[str, ...]:
    """Return the words of the options that a language has."""
    return tuple(word for word, option in OPTIONS.items() if option.language in (None, language))


def options_on(row: object) -> tuple[str, ...]:
    """Return the words of the options that are on, of a spec, a configuration or a row of a table."""
    # As texts: what pandas has for a missing value compares to a missing value again.
    return tuple(word for word, option in OPTIONS.items() if str(getattr(row, option.field, None)) == str(option.value))


def jvm_options(row: object) -> tuple[str, ...]:
    """Return the words of the options that are on and change the JVM."""
    return tuple(word for word in options_on(row) if word in JVM_OPTIONS)


class Options(BaseModel):
    """What configurations and specs share beyond layout, runtime and allocator; each field is a column of tables, too.

    Defaults are as published.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    steps: str | None = Field(
        default=None, description="optimisation steps that are on; empty: none, each buffer is an allocation"
    )
    compact_headers: bool | None = Field(default=None, description="compact object headers; empty: as the JVM has it")
    large_pages: bool | None = Field(default=None, description="transparent huge pages; empty: as the JVM has it")
    lean_view: bool = Field(
        default=False, description="Java: parsing makes a view of 24 bytes, not a read-only duplicate"
    )
    detached: bool = Field(
        default=False, description="Java: packets keep what a parse found as numbers, its objects die young"
    )
    host_cpu: bool = Field(default=False, description="C++: compiled for this machine's CPU, not for any of its family")
    pool_order: Literal["aged", "fresh"] = Field(
        default="aged", description="of free packets at the start: shuffled, or sequential (`fresh`)"
    )
    pool_reuse: Literal["lifo", "fifo"] = Field(
        default="lifo", description="which free packet comes next: the last that came back, or the first"
    )
    payload_touch: bool = Field(
        default=False, description="whether the payload is written and read, not only the header"
    )
    control: Literal["twin", "fixed_addresses", "foreground", "c1_only", "plain", "slp"] | None = Field(
        default=None,
        description="held fixed: nothing (A/A control, `twin`), memory's addresses, when or by which compiler; "
        "`plain`: a java process of its own with classes that Java 8 can load, whatever the release; "
        "`slp`: C++ with neighbouring fields joined into vectors (-ftree-slp-vectorize); empty: as usual",
    )
    lazy_heap: bool | None = Field(default=None, description="without -XX:+AlwaysPreTouch")
    explicit_gc: bool | None = Field(default=None, description="without -XX:+DisableExplicitGC")
    pause_target: bool | None = Field(default=None, description="G1's published pause target, where it has none")
    no_refinement: bool | None = Field(default=None, description=f"G1: {JVM_OPTIONS['no_refinement'].why}")
    large_young: bool | None = Field(default=None, description=JVM_OPTIONS["large_young"].why)


class Configuration(Options):
    """One row of a results table: layout with runtime and collector, or layout with allocator, and options."""

    language: Language
    layout: str
    runtime: int | None = None
    collector: str | None = None
    allocator: str | None = None

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read ``java/LAYOUT/COLLECTOR/RUNTIME[/STEPS][/OPTION...]`` or
        ``cpp/LAYOUT[/ALLOCATOR[/STEPS]][/OPTION...]``.

        Steps are joined by ``+``; a layout without any has its own: none, or all of a contiguous one. UserError for
        another form or an unknown word, which names the valid ones.
        """
        language, *words = text.split("/")
        settings: dict[str, Any]
        if language == "java" and len(words) >= 3 and words[2].isdigit():
            settings = {"language": language, "collector": words[1], "runtime": int(words[2])}
            rest = words[3:]
        elif language == "cpp" and words:
            named = len(words) > 1 and words[1] not in options_of("cpp")
            settings = {"language": language, "allocator": words[1] if named else DEFAULT_ALLOCATOR}
            rest = words[2 if named else 1 :]
        else:
            forms = "java/LAYOUT/COLLECTOR/RUNTIME[/STEPS][/OPTION...] or cpp/LAYOUT[/ALLOCATOR[/STEPS]][/OPTION...]"
            raise UserError(f"configuration {text!r} is not {forms}")
        if words[0] not in LAYOUTS[settings["language"]]:
            raise unknown_choice(f"{language} layout", words[0], LAYOUTS[settings["language"]])
        allowed = layout_of(settings["language"], words[0]).steps
        steps = None
        if rest and not set(rest[0].split("+")).isdisjoint(strategies.STEPS):
            steps = rest.pop(0).replace("+", ",")
        for word in rest:
            if word not in options_of(language):
                what = "option or step" if allowed.choice else "option"
                raise unknown_choice(what, word, (*options_of(language), *allowed.choice))
        on = {OPTIONS[word].field: OPTIONS[word].value for word in rest}
        if len(on) < len(set(rest)):
            raise UserError(f"configuration {text!r} has two options of one kind: leave one of {', '.join(rest)} out")
        settings |= {"layout": words[0], "steps": allowed.checked(words[0], steps), **on}
        configuration = cls(**settings)
        configuration.require_known_words()
        return configuration

    @classmethod
    def of(cls, row: Mapping[Any, Any] | pd.Series) -> Self:
        """Return the configuration of a row of a table, by its columns."""
        values = {name: row[name] for name in cls.model_fields if not pd.isna(row[name])}
        return cls.model_validate(values | ({"runtime": int(values["runtime"])} if "runtime" in values else {}))

    def without(self, *words: str) -> Self:
        """Return the same with these options off."""
        defaults = type(self).model_fields
        fields = (OPTIONS[word].field for word in words)
        return self.model_copy(update={field: defaults[field].default for field in fields})

    def require_known_words(self) -> None:
        """Check that every word exists and goes with the others; UserError, which names the valid ones, otherwise."""
        if self.layout not in LAYOUTS[self.language]:
            raise unknown_choice(f"{self.language} layout", self.layout, LAYOUTS[self.language])
        for word in options_on(self):
            if word not in options_of(self.language):
                raise unknown_choice(f"option of {self.language}", word, options_of(self.language))
        if self.language == "java":
            collectors.check_combination(self.collector or "", self.runtime or 0)
            for word in jvm_options(self):
                option_flags(word, self.collector or "", self.runtime or 0)
            layout, plain = JAVA_LAYOUTS[self.layout], self.control == "plain"
            if plain and self.layout not in PLAIN_LAYOUTS:
                raise UserError(f"plain belongs to layout {' or '.join(PLAIN_LAYOUTS)}, not to layout {self.layout}")
            if (self.runtime or 0) < (OLDEST if plain else layout.oldest):
                needed = f"layout {self.layout} needs runtime {layout.oldest} or newer, not {self.runtime}"
                older = f"; a batch trial with control=plain (in a profile /plain) takes {OLDEST}"
                raise UserError(needed + older * (self.layout in PLAIN_LAYOUTS))
            if plain and collectors.never_frees(self.collector):
                raise UserError("plain needs a collector that collects: choose another one, or leave plain out")
            if wrong := [word for word in ("lean_view", "detached") if getattr(self, word) and not layout.byte_buffers]:
                having = " or ".join(name for name, row in JAVA_LAYOUTS.items() if row.byte_buffers)
                raise UserError(f"{wrong[0]} belongs to layout {having}, not to layout {self.layout}")
        elif self.allocator not in ALLOCATORS:
            raise unknown_choice("allocator", self.allocator, ALLOCATORS)

    def offers(self, strategy: str) -> bool:
        """Return whether plans include the strategy; of C++ they do, with the reason where it makes no sense."""
        return self.language == "cpp" or strategy in self.row.strategies

    @property
    def row(self) -> Layout:
        """Its layout."""
        return layout_of(self.language, self.layout)

    @property
    def key(self) -> str:
        """The text that ``parse`` reads."""
        own = (self.collector or "", str(self.runtime)) if self.language == "java" else (self.allocator or "",)
        steps = (self.steps or "").replace(",", "+") if self.steps != self.row.steps.default else ""
        return "/".join((self.language, self.layout, *own, *([steps] if steps else []), *options_on(self)))

    @property
    def label(self) -> str:
        """The name of the row in stored tables."""
        if self.language == "java" and self.collector is not None:
            words = [self.layout, collector_named(self.collector).label, str(self.runtime)]
        else:
            words = [f"C++ {self.layout}"]
        return " / ".join(word.replace("_", " ") for word in (*words, *self._beyond_layout))

    @property
    def beyond_layout(self) -> str:
        """Another allocator than that of the system, and what is `non_default`; empty where there is neither."""
        return " ".join(word.replace("_", " ") for word in self._beyond_layout)

    @property
    def _beyond_layout(self) -> tuple[str, ...]:
        other = [self.allocator] if self.allocator and self.allocator != DEFAULT_ALLOCATOR else []
        return (*other, *self.non_default)

    @property
    def non_default(self) -> tuple[str, ...]:
        """Its steps other than its layout's, in words, then its options."""
        on, allowed = (self.steps or "").split(","), self.row.steps
        if allowed.all_on:
            off = [step for step in allowed.choice if step not in on]
            steps = f"without {', '.join(off)}" if off else ""
        else:
            steps = " + ".join(step for step in on if step not in allowed.always)
        return (steps, *options_on(self)) if steps else options_on(self)


ConfigurationKey = Annotated[str, AfterValidator(lambda text: Configuration.parse(text).key)]


def _is_java(spec: dict[str, Any]) -> bool:
    return bool(spec["language"] == "java")


def scaled(size: int, scale: float, smallest: int = 1) -> int:
    """Return a published size at this scale."""
    return max(smallest, round(size * scale))


def scaled_heap_mb(layout: str, collector: str, scale: float) -> int:
    """Return the heap of a Java layout at this scale, MiB, or the smallest in which any array is placed."""
    return max(collector_named(collector).roomy_heap_mb, math.ceil(layout_of("java", layout).heap_mb * scale))


def _default_direct_mb(spec: dict[str, Any]) -> int | None:
    layout = layout_of(spec["language"], spec["layout"])
    return max(SMALLEST_MB, math.ceil(layout.direct_mb * float(spec["scale"]))) if layout.direct_mb else None


def packets_to_fill(queue_size: int, stored_count: int) -> int:
    """Return after how many packets queue and store are full, but for a chance below one in ten thousand.

    The store takes one packet in sixteen; four standard deviations of that binomial are added.
    """
    return queue_size + TCP_ONE_IN * (stored_count + math.ceil(4 * math.sqrt(max(0, stored_count))))


def _case_size(spec: dict[str, Any]) -> int:
    return scaled(case_size(spec["case"]), spec["scale"])


_OF_JAVA_TRIALS = ("runtime", "collector", "heap_mb", "direct_mb", "pause_target_ms")


class ProgramSpec(TrialSpec):
    """A trial of a program: in Java with a runtime and a collector, or in C++ with an allocator."""

    language: Language
    runtime: RuntimeNumber | None = Field(default_factory=lambda spec: DEFAULT_RUNTIME if _is_java(spec) else None)
    collector: CollectorName | None = Field(default_factory=lambda spec: DEFAULT_COLLECTOR if _is_java(spec) else None)
    allocator: Annotated[str, OneOf("allocator", ALLOCATORS)] | None = Field(
        default_factory=lambda spec: None if _is_java(spec) else DEFAULT_ALLOCATOR, description="what C++ new reaches"
    )

    @model_validator(mode="after")
    def _of_one_language(self) -> Self:
        if self.language == "java":
            collectors.require_combination(self.collector, self.runtime)
            if self.allocator is not None:
                raise ValueError("allocator belongs to C++; Java takes runtime, collector and heap_mb")
        elif wrong := [key for key in _OF_JAVA_TRIALS if getattr(self, key, None) is not None]:
            raise ValueError(f"{', '.join(wrong)} belong to Java; C++ takes allocator ({', '.join(ALLOCATORS)})")
        return self


class PacketsSpec(ProgramSpec, Options):
    """A trial of the packets workload; sizes left out follow from layout, strategy, case and scale."""

    processes: ClassVar[int] = 1
    """Processes of the trial that each hold all of its memory at the same time."""

    layout: Annotated[str, OneOf("layout", strategies.LAYOUT_NAMES)]
    pause_target_ms: int | None = Field(
        default_factory=lambda spec: (
            ARTICLE_PAUSE_TARGET_MS
            if spec["pause_target"]
            else published_pause_target_ms(spec["collector"], spec["runtime"])
        ),
        gt=0, description="-XX:MaxGCPauseMillis",
    )  # fmt: skip
    strategy: StrategyName
    case: Case = "A"
    scale: float = Field(default=1.0, gt=0, le=4, description="factor on pool, queue, store and heap")
    queue_size: int = Field(gt=0, le=MOST_PACKETS, default_factory=_case_size)
    stored_count: int = Field(gt=0, le=MOST_PACKETS, default_factory=_case_size)
    pool_size: int = Field(
        ge=0, le=MOST_PACKETS, description="packets made before the start",
        default_factory=lambda spec: scaled(STRATEGIES[spec["strategy"]].pool_size, spec["scale"], smallest=0),
    )  # fmt: skip
    slot_count: int = Field(
        gt=0, le=MOST_PACKETS, default_factory=lambda spec: scaled(strategies.POOL_SIZE, spec["scale"]),
        description="layouts with one region of memory: packets it has room for",
    )  # fmt: skip
    fill_packets: int = Field(
        gt=0, le=10**12, description="packets after which queue and store are full",
        default_factory=lambda spec: packets_to_fill(spec["queue_size"], spec["stored_count"]),
    )  # fmt: skip
    heap_mb: int | None = Field(
        gt=0, description="-Xms and -Xmx",
        default_factory=lambda of: scaled_heap_mb(of["layout"], of["collector"], of["scale"]) if _is_java(of) else None,
    )  # fmt: skip
    direct_mb: int | None = Field(ge=0, default_factory=_default_direct_mb, description="-XX:MaxDirectMemorySize")
    seed: int = Field(default=DEFAULT_SEED, ge=0, lt=2**63, description="of the packet generator")

    @model_validator(mode="before")
    @classmethod
    def _language_of_layout(cls, settings: Any) -> Any:
        """Derive the language from a layout that only one language has; put steps in the order of `STEPS`."""
        if not isinstance(settings, dict) or "layout" not in settings:
            return settings
        layout = settings["layout"]
        owners = [language for language, layouts in LAYOUTS.items() if layout in layouts]
        if "language" not in settings and len(owners) > 1:
            raise ValueError(f"layout {layout} is of {' and of '.join(owners)}: add language={'|'.join(owners)}")
        language = settings.get("language", owners[0] if owners else "java")
        steps = layout_of(language, str(layout)).steps.checked(str(layout), settings.get("steps"))
        return {**settings, "language": language, "steps": steps}

    @model_validator(mode="after")
    def _holds_together(self) -> Self:
        self.configuration.require_known_words()
        if self.control == "plain" and self.mode != "batch":
            raise ValueError(f"plain is an option of mode batch, not of {self.mode}: leave it out")
        if self.strategy == "pool" and self.pool_size < self.out_at_once:
            small = f"pool_size {self.pool_size} is too small"
            raise ValueError(f"{small}: queue, store and one more need {self.out_at_once}")
        if self.language == "java" and (refusal := self.row.refusal(self.layout, self.strategy)):
            raise ValueError(refusal)
        needed = max(self.out_at_once, self.pool_size)
        if self.row.slots and self.strategy != "dummy" and self.slot_count < needed:
            raise ValueError(f"slot_count {self.slot_count} is too small: the packets out at once need {needed}")
        return self

    def cell_name(self) -> str:
        return self.configuration.label

    def set_up_seconds(self) -> float:
        """Return about how long it takes until queue and store are full: process, JVM, pool, packets."""
        cost_ns = {"java": 400.0, "cpp": 150.0}[self.language] * (self.pool_size + self.fill_packets)
        return SET_UP_S[self.language] + cost_ns / 1e9

    @property
    def out_at_once(self) -> int:
        return self.queue_size + self.stored_count + 1

    @property
    def row(self) -> Layout:
        """Its layout."""
        return layout_of(self.language, self.layout)

    @property
    def configuration(self) -> Configuration:
        return Configuration(**{name: getattr(self, name) for name in Configuration.model_fields})

    def impossible(self) -> str | None:
        return no_such_pair(self.configuration, self.strategy)

    def refused_here(self) -> str | None:
        if self.control != "fixed_addresses" or addresses_can_be_fixed():
            return None
        return "fixed_addresses: this system does not let a process go without random addresses (personality(2))"

    def needs(self) -> Needs:
        environment = {FIXED_ADDRESSES: "1"} if self.control == "fixed_addresses" else {}
        if self.language == "cpp":
            build = "packets" + "-host" * self.host_cpu + "-slp" * (self.control == "slp")
            packets = max(self.pool_size, self.out_at_once) * self.processes
            return Needs(
                native=cast("NativeProject", build), allocator=self.allocator,
                boost=self.allocator == BOOST_POOL, memory_mb=packets * _CPP_PACKET_BYTES // 2**20,
                processes=self.processes, environment=environment,
            )  # fmt: skip
        jvm = Jvm(
            module=PLAIN_MODULE if self.control == "plain" else self.row.module,
            runtime=self.runtime or 0, collector=self.collector or "",
            heap_mb=self.heap_mb or 0, direct_mb=self.direct_mb or 0, pause_target_ms=self.pause_target_ms,
            options=jvm_options(self), pre_touch=not self.lazy_heap, explicit_gc=bool(self.explicit_gc), unsafe=True,
        )  # fmt: skip
        # Direct memory comes from malloc, where the JVM's own flag does not reach.
        huge = dict(HUGE_PAGES) if self.large_pages else {}
        return Needs(jvm=jvm, processes=self.processes, environment={**huge, **environment})


def no_such_pair(configuration: Configuration, strategy: str) -> str | None:
    """Return in one line why a configuration has no such strategy, on any machine; None when it has."""
    if configuration.pool_reuse == "fifo" and not STRATEGIES[strategy].pool_size:
        having = " or ".join(name for name, row in STRATEGIES.items() if row.pool_size)
        return f"strategy {strategy} has no pool to hand out in another order: leave fifo out, or choose {having}"
    if configuration.language == "java":
        return None
    layout = configuration.row
    if reason := layout.refusal(configuration.layout, strategy):
        return reason
    if configuration.allocator in RESOURCES and not (layout.resources and strategy == "alloc"):
        having = " or ".join(name for name, row in strategies.CPP_LAYOUTS.items() if row.resources)
        made = f"allocator {configuration.allocator} makes each packet alone"
        return f"{made}: choose layout {having} and strategy alloc"
    if strategy == "dummy" and configuration.steps != layout.steps.default:
        return "strategy dummy has one packet, always in the nearest cache: leave steps out"
    if configuration.allocator in RESOURCES and configuration.steps not in (None, "inline"):
        return f"allocator {configuration.allocator} does not align packets: choose steps inline, or none"
    return None


def published_pause_target_ms(collector: str | None, runtime: int | None) -> int | None:
    """Return the soft pause target of the article's settings, milliseconds; None where they have none."""
    return collector_named(collector).published_pause_target_ms.get(runtime or 0) if collector else None
