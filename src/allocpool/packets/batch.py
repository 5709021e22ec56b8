"""Mode batch: packets without end. The spec of one trial, and plans of every configuration x strategy x case.

Several studies plan such trials; a configuration that two of them ask for is measured once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Any, ClassVar, Literal, Self

import pandas as pd
from pydantic import BaseModel, ConfigDict, Field, model_validator

from allocpool.campaign.schedule import Question
from allocpool.campaign.study import Planned, StudyProfile
from allocpool.packets import specs
from allocpool.packets.measurement import COLLECTIONS, LAPS
from allocpool.packets.specs import Case, Configuration, ConfigurationKey, PacketsSpec, scaled
from allocpool.packets.strategies import STRATEGIES, Language, StrategyName
from allocpool.runtimes.collectors import FEATURES, collector_named, collectors_on, never_frees
from allocpool.trial.spec import TrialSpec

PUBLISHED_LAYOUTS: dict[Language, tuple[str, ...]] = {"java": ("heap", "native"), "cpp": ("allocating", "flat")}
"""Those of "To allocate or to pool?"; a profile may name others."""
USABLE_HEAP = 0.85
NEVER_FREES = "pmr_monotonic"
NEVER_FREED_BYTES = 1064
"""A packet of layout ``flat`` with its buffer: the resource adds nothing."""
_EXPECTED_NS_PER_PACKET = 250.0
_PLAIN_PACKETS = 30_000_000
"""G1 25 needs the first half of it before a pool's cost is level."""
PlainPackets = Annotated[
    int, Field(gt=1, le=10**10, description="packets of a trial with option plain, whose second half is measured")
]


class Lengths(BaseModel):
    """What a measured window must hold to be long enough, beyond its seconds."""

    min_laps: float = Field(default=LAPS, ge=0, description="the measured window lasts at least so many laps")
    longest_factor: float = Field(default=2.0, ge=1, le=1000, description="but at most so many times its seconds")
    min_old_cycles: int = Field(default=0, ge=0, description="and as many complete cycles of the old generation")


class WindowSpec(PacketsSpec, Lengths):
    """A trial with a measured window."""

    min_collections: int = Field(default=0, ge=0, description="as many collections that pause")

    @model_validator(mode="after")
    def _can_collect(self) -> Self:
        if self.language != "java" or never_frees(self.collector):
            for name in ("min_collections", "min_old_cycles"):
                if asked := getattr(self, name):
                    raise ValueError(f"{name} {asked}: nothing is ever collected there, leave it out")
        return self


class Iterations(BaseModel):
    """How batch trials warm up and measure."""

    steady: bool = Field(
        default=False,
        description="warm up until a dozen young collections have trained the collector and the cost is level; "
        "iterations are then of equal numbers of packets",
    )
    iteration_ms: float = Field(default=50.0, ge=0.01, le=10_000, description="of trials that are not steady")


class BatchSpec(WindowSpec, Iterations):
    """One batch trial: ``seconds`` of measured iterations, or exactly ``packets`` from the first to the last."""

    CHILD: ClassVar[str] = "allocpool.packets.child.batch"

    mode: Literal["batch"] = "batch"
    seconds: float | None = Field(default=None, gt=0, le=3600, description="measured, after the warm-up")
    packets: int | None = Field(default=None, gt=0, le=10**12, description="exactly, from the first to the last")
    warmup_seconds: float = Field(default=0.5, ge=0, le=600, description="at least, before the measured window")
    warmup_packets: int = Field(
        # G1 25 needs 15 million before a pool's cost is level, and 45 million for a dozen young collections.
        default_factory=lambda spec: scaled(60_000_000, spec["scale"]),
        gt=0, le=10**12, description="of a steady trial: the most packets of its warm-up",
    )  # fmt: skip
    iteration_packets: int = Field(
        default_factory=lambda spec: scaled(100_000, spec["scale"], smallest=256),
        gt=0, le=10**9, description="of a steady trial: packets of one iteration",
    )  # fmt: skip

    def expected_seconds(self) -> float:
        measured_s = self.seconds if self.seconds is not None else (self.packets or 0) * _EXPECTED_NS_PER_PACKET / 1e9
        training_s = self.warmup_packets * _EXPECTED_NS_PER_PACKET / 2e9 if self.steady else 0.0
        return self.set_up_seconds() + max(self.warmup_seconds, training_s) + measured_s

    @model_validator(mode="after")
    def _one_length(self) -> Self:
        if (self.seconds is None) == (self.packets is None):
            raise ValueError("give seconds=S or packets=N, one of them")
        if self.control == "plain" and (self.packets or 0) < 2 * self.fill_packets:
            first = f"the first half fills queue and store, {2 * self.fill_packets} or more"
            raise ValueError(f"plain measures the second half of its packets: give packets=N, {first}")
        if self.allocator == NEVER_FREES and self.seconds is not None:
            takes = f"each takes {NEVER_FREED_BYTES} bytes"
            raise ValueError(f"allocator {NEVER_FREES} never frees: give packets=N, {takes}")
        return self


class Sizes(StudyProfile, Lengths, Iterations):
    """Sizes and durations of batch trials."""

    scale: float = Field(gt=0, le=4)
    seconds: float = Field(gt=0, le=3600)
    warmup_seconds: float = Field(ge=0, le=600)
    warmup_packets: int | None = Field(default=None, gt=0, le=10**12, description="of a steady trial, at most")
    iteration_packets: int | None = Field(default=None, gt=0, le=10**9, description="of an iteration of such a trial")
    epsilon_heap_mb: int = Field(default=4096, gt=0, description="Epsilon never collects: its trials end by memory")
    min_collections: int = Field(default=COLLECTIONS, ge=0, description="in a window, where there are any")
    monotonic_mb: int = Field(default=4096, gt=0, description="nor does a monotonic resource ever free")
    plain_packets: PlainPackets | None = None
    timeout_s: float = Field(default=120.0, gt=0)


class Window(BaseModel):
    """The length of a measured window."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    seconds: float = Field(gt=0, le=3600)
    longest_factor: float = Field(ge=1, le=1000)


class Selection(BaseModel):
    """Every configuration x strategy x case; ``window`` and ``plain_packets`` replace those of the profile."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    configurations: tuple[ConfigurationKey, ...] = Field(min_length=1)
    strategies: tuple[StrategyName, ...] = Field(default=tuple(STRATEGIES), min_length=1)
    cases: tuple[Case, ...] = Field(default=specs.PUBLISHED_CASES, min_length=1)
    window: Window | None = Field(default=None, description="in place of the profile's")
    plain_packets: PlainPackets | None = None


def plan_block(sizes: Sizes, selection: Selection, block: int) -> list[Planned]:
    """Return every configuration of a selection once."""
    window = selection.window.model_dump() if selection.window else {}
    plain = {"plain_packets": selection.plain_packets} if selection.plain_packets else {}
    sizes = sizes.model_copy(update=window | plain)
    return [
        _planned(sizes, configuration, strategy, case, block)
        for configuration in map(Configuration.parse, selection.configurations)
        for strategy in selection.strategies
        if configuration.offers(strategy)
        for case in selection.cases
    ]


def plan_groups(sizes: Sizes, selections: Iterable[Selection]) -> list[Planned]:
    """Return every configuration of the selections, block after block; one of two selections runs once."""
    once = {item.spec: item for selection in selections for item in plan_block(sizes, selection, 0)}
    return [
        Planned(item.spec.model_copy(update={"block": block}), item.unavailable)
        for block in range(sizes.blocks)
        for item in once.values()
    ]


def _planned(profile: Sizes, configuration: Configuration, strategy: StrategyName, case: Case, block: int) -> Planned:
    stated = profile.model_dump(include=set(BatchSpec.model_fields) - {"block", "strategy", "case"}, exclude_none=True)
    of_timed = {"seconds", "steady", "warmup_packets", "iteration_packets"} & set(stated)
    timed = {name: stated.pop(name) for name in of_timed}
    if configuration.language != "java" or never_frees(configuration.collector):
        del stated["min_collections"], stated["min_old_cycles"]
    settings = configuration.model_dump(exclude_none=True) | stated
    settings |= {"strategy": strategy, "case": case, "block": block}
    if impossible := specs.no_such_pair(configuration, strategy):
        return Planned(BatchSpec(**settings, fill_packets=1, packets=2), impossible)
    if configuration.control == "plain":
        return Planned(BatchSpec(**settings, packets=profile.plain_packets or _PLAIN_PACKETS))
    if never_frees(configuration.collector) or configuration.allocator == NEVER_FREES:
        return _bounded_by_memory(profile, settings, timed)
    return Planned(BatchSpec(**settings, **timed))


def _bounded_by_memory(profile: Sizes, settings: dict[str, Any], timed: dict[str, Any]) -> Planned:
    """Where nothing is ever freed a trial is as long as its memory: derive the packets that fit."""
    spec = BatchSpec(**settings, packets=1)
    if spec.language == "cpp":
        who, takes, given_mb = NEVER_FREES, "", profile.monotonic_mb
        pooled_bytes, per_packet = 0, NEVER_FREED_BYTES
    else:
        who, takes, given_mb = collector_named(spec.collector or "").label, "a heap of ", profile.epsilon_heap_mb
        pooled_bytes = spec.pool_size * spec.row.packet_bytes
        per_packet = spec.row.parse_bytes + (spec.row.packet_bytes if spec.strategy in ("alloc", "mix") else 0)
        if per_packet == 0:
            return Planned(BatchSpec(**settings, **timed))
        settings = {**settings, "heap_mb": given_mb}
    packets = math.floor((USABLE_HEAP * given_mb * 2**20 - pooled_bytes) / per_packet)
    if packets < 1.5 * spec.fill_packets:
        needed_mb = math.ceil((1.5 * spec.fill_packets * per_packet + pooled_bytes) / USABLE_HEAP / 2**20)
        why = f"{who} never frees: filling this case takes {takes}{needed_mb} MB, {given_mb} MB are given"
        return Planned(spec, why)
    return Planned(BatchSpec(**settings, packets=packets))


def rivals(
    planned: Iterable[PacketsSpec], a: StrategyName, b: StrategyName, primary: bool = True
) -> list[Question[TrialSpec]]:
    """Return whether strategy ``a`` costs less than ``b``, for each configuration, case and scale of block 0 that has
    both."""
    cells: dict[tuple[str, ...], dict[str, PacketsSpec]] = {}
    for spec in planned:
        if spec.block == 0:
            key = (spec.mode, spec.configuration.key, spec.case, f"{spec.scale:g}", f"{spec.heap_mb}")
            cells.setdefault(key, {})[spec.strategy] = spec
    return [Question(both[a], both[b], primary) for both in cells.values() if a in both and b in both]


def timed(planned: Iterable[Planned]) -> list[BatchSpec]:
    """Return the batch trials of a plan that are measured for a time, or after as long a warm-up."""
    found = (item.spec for item in planned if not item.unavailable)
    batch = (spec for spec in found if isinstance(spec, BatchSpec))
    return [spec for spec in batch if spec.seconds is not None or spec.control == "plain"]


def every_configuration() -> Iterator[Configuration]:
    """Yield both published Java layouts on every collector of every runtime, then C++."""
    for layout in PUBLISHED_LAYOUTS["java"]:
        for feature in FEATURES:
            for collector in collectors_on(feature):
                yield Configuration(language="java", layout=layout, collector=collector, runtime=feature)
    for layout in PUBLISHED_LAYOUTS["cpp"]:
        yield Configuration.parse(f"cpp/{layout}")


def catalogue_of(
    profile: str, asked: Sequence[str], known: Iterable[str], planned: Sequence[Planned],
    spec_type: type[PacketsSpec] = BatchSpec,
) -> pd.DataFrame:  # fmt: skip
    """Return one row per configuration key, the known ones first, then others; reasons are of ``spec_type``."""
    reasons: dict[str, set[str]] = {}
    for item in planned:
        if item.unavailable and isinstance(item.spec, spec_type):
            reasons.setdefault(item.spec.configuration.key, set()).add(item.unavailable)
    rows = [
        {
            "configuration": Configuration.parse(key).label, "key": key, "planned": key in asked,
            "left_out_because": None if key in asked else f"profile {profile} leaves it out",
            "unavailable_because": "; ".join(sorted(reasons.get(key, ()))) or None,
        }
        for key in dict.fromkeys([*known, *asked])
    ]  # fmt: skip
    return pd.DataFrame(rows)
