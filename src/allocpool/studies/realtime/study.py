"""Study 3, real time: at what packet rate does each configuration stop losing packets?

A *cell* is a configuration with a strategy and a case. *Adaptive* trials find its minimum sustainable inter-arrival
time: single trials, each where it is least known (`adaptive`). *Changed* cells are some of these once more, with one
thing changed, to explain claims that fail. The *decision map* asks the same at several live sets (`decision_map`).
*Sweeps* are single trials at one interval whose input queue or heap is varied; *long* trials wait at that interval for
collections that are rare. *Batch* trials are those of the batch study, of cells that allocate in case A.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Annotated, Any, Self

import pandas as pd
from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from allocpool.campaign.schedule import GIVEN_UP_AFTER, Question
from allocpool.campaign.study import Machine, Mode, Planned, Study, StudyProfile
from allocpool.packets import specs as packets
from allocpool.packets.batch import Selection, Sizes, catalogue_of, every_configuration, plan_block
from allocpool.packets.labels import READABLE
from allocpool.packets.measurement import COLLECTIONS
from allocpool.packets.specs import Case, Configuration, ConfigurationKey
from allocpool.packets.strategies import StrategyName
from allocpool.runtimes.collectors import collector_named, never_frees
from allocpool.studies.realtime import decision_map as maps
from allocpool.studies.realtime import specs, tables
from allocpool.studies.realtime.adaptive import AdaptiveJudge, next_interval, shown_by
from allocpool.studies.realtime.measurement import RealtimeMeasurement
from allocpool.trial.record import TrialRecord
from allocpool.trial.spec import TrialSpec

_Interval = Annotated[float, Field(gt=0, le=specs.LONGEST_INTERVAL_NS)]
_Blocks = Annotated[int, Field(ge=1, le=1000)]
_Factors = tuple[Annotated[float, Field(gt=0)], ...]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    configurations: tuple[ConfigurationKey, ...] = ()


class Sweeps(_Part):
    """Cells at one interval, whose input queue or heap is varied."""

    blocks: _Blocks = 1
    strategies: tuple[StrategyName, ...] = ("alloc", "pool")
    cases: tuple[Case, ...] = ("B",)
    interval_ns: _Interval = specs.COMPARISON_INTERVAL_NS
    queue_factors: _Factors = Field(default=(), description="input queues over that of the profile")
    intermediate_factors: _Factors = Field(
        default=(), description="queues in C++ between the usual input queue and the consumer, over that queue"
    )
    heap_factors: _Factors = ()
    queues_of: tuple[ConfigurationKey, ...] | None = Field(
        default=None, description="the configurations whose queues are varied; None: all"
    )
    heaps_of: tuple[ConfigurationKey, ...] | None = Field(default=None, description="likewise of heaps")

    @model_validator(mode="after")
    def _of_its_own(self) -> Self:
        for name in ("queues_of", "heaps_of"):
            if unknown := sorted(set(getattr(self, name) or ()) - set(self.configurations)):
                raise ValueError(f"{name}: {unknown[0]} is none of configurations: {', '.join(self.configurations)}")
        return self


class LongTrials(_Part):
    """Cells at the interval of the sweeps, in trials that last until they saw major collections which come seldom."""

    blocks: _Blocks = 1
    strategies: tuple[StrategyName, ...] = ("pool",)
    major_collections: int = Field(default=3, ge=1, description="each trial lasts until it has seen so many")
    cap_seconds: dict[Case, Annotated[float, Field(gt=0, le=86_400)]] = Field(
        default_factory=dict, description="or so long, by case; cases that are not named have no such trial"
    )


class BatchPart(BaseModel):
    """Batch trials of allocating in case A, whose cost a source sets against intervals; those of the batch study where
    its settings are the same."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    blocks: _Blocks = 1
    seconds: float = Field(gt=0, le=3600)
    warmup_seconds: float = Field(ge=0, le=600)
    iteration_ms: float = Field(default=50.0, gt=0, le=10_000)
    timeout_s: float = Field(default=120.0, gt=0)
    min_collections: int = Field(default=COLLECTIONS, ge=0)


def _check_rises(low_ns: float, high_ns: float) -> None:
    if low_ns >= high_ns:
        raise ValueError(f"low_ns {low_ns:g} is not below high_ns {high_ns:g}")


class MapPart(_Part):
    """The decision map: for each configuration, allocating and pooling at several live sets, one heap and one
    length."""

    live_messages: tuple[int, ...] = (1_000, 10_000, 30_000, 100_000)
    heap_mb: int = Field(default=512, gt=0)
    deadline_ms: float = Field(
        default=specs.INPUT_QUEUE_MS, gt=0, description="the input queue's length; a tenth of it is judged too"
    )
    seconds: float = Field(default=1.0, gt=0, le=3600, description="of every trial, after its warm-up")
    warmup_seconds: float = Field(default=0.3, ge=0, le=600)
    prologue_seconds: float = Field(default=0.3, ge=0, le=600)
    low_ns: _Interval = 100.0
    high_ns: _Interval = 10_000.0
    trials: int = Field(default=15, ge=1, le=1000, description="of each boundary before questions ask for more")

    @model_validator(mode="after")
    def _holds_together(self) -> Self:
        live = self.live_messages
        if not live or list(live) != sorted(set(live)) or live[0] < 2:
            raise ValueError("live_messages: at least one value; they must rise, the first is at least 2")
        _check_rises(self.low_ns, self.high_ns)
        specs.check_queue_length(self.deadline_ms, self.seconds, "seconds", "deadline_ms")
        return self

    @property
    def design(self) -> maps.Design:
        return maps.Design(self.live_messages, self.low_ns, self.high_ns, maps.deadlines_of(self.deadline_ms))


_Side = tuple[str, StrategyName]
_AGAINST: dict[StrategyName, tuple[StrategyName, ...]] = {"alloc": ("pool", "mix"), "mix": ("pool",)}


class _Cells(_Part):
    configurations: tuple[ConfigurationKey, ...]
    strategies: tuple[StrategyName, ...]
    cases: tuple[Case, ...]


class ChangedCells(_Cells):
    """Adaptive cells once more with one thing changed: an option of their configuration, the heap or the input
    queue."""

    heap_factor: float = Field(default=1.0, gt=0, description="over the published heap")
    queue_factor: float = Field(
        default=1.0, gt=0, le=1e3 * specs.FULL_SECONDS / specs.INPUT_QUEUE_MS,
        description="over the published input queue",
    )  # fmt: skip

    @model_validator(mode="after")
    def _one_thing(self) -> Self:
        for configuration in map(Configuration.parse, self.configurations):
            words = list(packets.options_on(configuration))
            words += [name for name in ("heap_factor", "queue_factor") if not tables.is_about_one(getattr(self, name))]
            if len(words) != 1:
                raise ValueError(
                    f"{configuration.key} has {', '.join(words) or 'nothing'} changed: give one thing, an option of "
                    "the configuration, heap_factor or queue_factor"
                )
            if configuration.language == "cpp" and "heap_factor" in words:
                raise ValueError(f"{configuration.key}: heap_factor belongs to Java")
        return self


class Stated(_Cells):
    """Adaptive cells of which a source states the interval that they keep up with."""

    interval_ns: _Interval


AT_STATED = 5  # trials of such a cell at that interval: the last of its blocks


class RealtimeProfile(StudyProfile):
    """A real-time campaign: adaptive trials for every configuration x strategy x case, ``blocks`` of each before
    questions ask for more; sweeps; long and batch trials; and the decision map.

    Its times follow ``scale`` unless they are given; adaptive trials have those of their scale, whatever is given.
    """

    configurations: tuple[ConfigurationKey, ...] = ()
    strategies: tuple[StrategyName, ...] = ("alloc", "mix", "pool")
    cases: tuple[Case, ...] = packets.PUBLISHED_CASES
    scale: float = Field(gt=0, le=4)
    low_ns: _Interval = 20.0
    high_ns: _Interval = specs.HIGHEST_INTERVAL_NS
    changed: tuple[ChangedCells, ...] = Field(
        default=(), description="cells that are placed as they are, too; others of these groups are left out"
    )
    stated: tuple[Stated, ...] = Field(default=(), description=f"cells with {AT_STATED} trials at a stated interval")
    full_seconds: float = Field(
        default_factory=specs.scaled_time(specs.FULL_SECONDS), gt=0, le=86_400,
        description="of a single trial at one interval, at least",
    )  # fmt: skip
    cap_seconds: float = Field(
        default_factory=lambda spec: max(spec["full_seconds"], specs.CAP_SECONDS * spec["scale"]), gt=0, le=86_400,
        description="of such a trial, at most",
    )  # fmt: skip
    major_collections: int = Field(default=specs.FULL_LENGTH_MAJORS, ge=0, description="such a trial waits for")
    prologue_seconds: float = Field(default_factory=specs.scaled_time(specs.PROLOGUE_SECONDS), ge=0, le=600)
    warmup_seconds: float = Field(default_factory=specs.scaled_time(specs.WARMUP_SECONDS), ge=0, le=600)
    input_queue_ms: float = Field(default_factory=specs.scaled_time(specs.INPUT_QUEUE_MS), gt=0)
    sweeps: Sweeps = Sweeps()
    long_trials: LongTrials = LongTrials()
    batch: BatchPart | None = None
    decision_map: MapPart = MapPart()

    @field_validator("configurations")
    @classmethod
    def _without_options(cls, keys: tuple[str, ...]) -> tuple[str, ...]:
        if wrong := next((key for key in keys if packets.options_on(Configuration.parse(key))), None):
            raise ValueError(f"configurations: {wrong} has an option: name it under changed, and here without")
        return keys

    @model_validator(mode="after")
    def _holds_together(self) -> Self:
        _check_rises(self.low_ns, self.high_ns)
        paired = {side for pair in self.pairs() for side in pair}
        for text, strategies in self.offered().items():
            if alone := [strategy for strategy in strategies if (text, strategy) not in paired]:
                language = Configuration.parse(text).language
                raise ValueError(
                    f"{text} {', '.join(alone)} is compared with nothing, and trials are placed to compare two cells: "
                    f"name another strategy that it has, or another configuration in {language} that has this"
                )
        stated = {key for part in self.stated for key in part.configurations}
        if unknown := sorted(stated - set(self.configurations)):
            raise ValueError(
                f"stated: {unknown[0]} is none of configurations: {', '.join(self.configurations) or 'none'}"
            )
        return self

    @model_validator(mode="after")
    def _queues_end_before_trials(self) -> Self:
        longest = max((1.0, *self.sweeps.queue_factors, *self.sweeps.intermediate_factors))
        name = "input_queue_ms" if longest == 1 else "input_queue_ms times the largest factor of a queue in sweeps"
        specs.check_queue_length(longest * self.input_queue_ms, self.full_seconds, "full_seconds", name)
        if self.cap_seconds < self.full_seconds:
            raise ValueError(f"cap_seconds {self.cap_seconds:g} is below full_seconds {self.full_seconds:g}")
        if self.cap_seconds == self.full_seconds and self.major_collections == 0:
            raise ValueError(
                f"cap_seconds {self.cap_seconds:g} is full_seconds, as of adaptive trials: "
                "give a longer cap, or wait for major_collections"
            )
        for case, cap_s in self.long_trials.cap_seconds.items():
            if cap_s < self.full_seconds:
                below = f"is below full_seconds {self.full_seconds:g}: give at least that"
                raise ValueError(f"long_trials.cap_seconds.{case} {cap_s:g} {below}")
        return self

    def offered(self) -> dict[str, list[StrategyName]]:
        found: dict[str, list[StrategyName]] = {text: [] for text in self.configurations}
        for text, strategy in itertools.product(found, self.strategies):
            configuration = Configuration.parse(text)
            if configuration.offers(strategy) and not _impossible(configuration, strategy):
                found[text].append(strategy)
        return found

    def pairs(self) -> list[tuple[_Side, _Side]]:
        """Return what is set against what in each case: the strategies of one configuration, and a strategy without
        another one against the same one of the configuration in its language that is named before."""
        pairs: list[tuple[_Side, _Side]] = []
        before: dict[tuple[str, StrategyName], str] = {}
        for text, strategies in self.offered().items():
            own = [(one, other) for one in strategies for other in _AGAINST.get(one, ()) if other in strategies]
            pairs += [((text, one), (text, other)) for one, other in own]
            for strategy in strategies:
                place = Configuration.parse(text).language, strategy
                if place in before and not any(strategy in pair for pair in own):
                    pairs.append(((text, strategy), (before[place], strategy)))
                before[place] = text
        return pairs


def plan_realtime(profile: RealtimeProfile, _machine: Machine) -> list[Planned]:
    """Plan sweeps, long and batch trials, block after block; what two parts ask for runs once. Of adaptive cells and of
    the decision map the first trial of each boundary, which alone depends on nothing that is measured."""
    planned: dict[TrialSpec, Planned] = {}
    parts: list[tuple[Any, Callable[[RealtimeProfile, int], Iterable[Planned]]]] = [
        (profile.batch, _batch),
        (profile.sweeps, plan_sweeps),
        (profile.long_trials, _long_trials),
    ]
    for block in range(max(part.blocks for part, _ in parts if part)):
        items = [item for part, plan in parts if part and block < part.blocks for item in plan(profile, block)]
        if block == 0:
            changed = [Planned(spec) for _, spec in _first_changed(profile)]
            items += (*_first_adaptive(profile), *changed, *_first_of_map(profile.decision_map))
        planned |= {item.spec: item for item in items}
    return list(planned.values())


_Cell = tuple[Configuration, StrategyName, Case]


def _cells(
    configurations: Iterable[str], strategies: Iterable[StrategyName], cases: Iterable[Case]
) -> Iterator[tuple[_Cell, str | None]]:
    """Every cell whose configuration offers the strategy, and why it can't be had, if so."""
    for configuration, strategy, case in itertools.product(map(Configuration.parse, configurations), strategies, cases):
        if configuration.offers(strategy):
            yield (configuration, strategy, case), _impossible(configuration, strategy)


def _impossible(configuration: Configuration, strategy: str) -> str | None:
    """One line on why the configuration has no such strategy, or why a stream without an end has no place in its
    heap; None where neither is so."""
    if not never_frees(configuration.collector):
        return packets.no_such_pair(configuration, strategy)
    label = collector_named(configuration.collector or "").label
    return f"{label} never frees: a stream without an end has no place in any heap"


def _fields(cell: _Cell, block: int = 0) -> dict[str, Any]:
    configuration, strategy, case = cell
    return configuration.model_dump(exclude_none=True) | {"strategy": strategy, "case": case, "block": block}


def _single(profile: RealtimeProfile, cell: _Cell, block: int, **to: Any) -> specs.RealtimeSpec:
    """A trial at the interval of the sweeps, which is as long as the profile has it."""
    shared = ("scale", "cap_seconds", "major_collections", "prologue_seconds", "warmup_seconds", "input_queue_ms")
    settings = _fields(cell, block) | {name: getattr(profile, name) for name in shared} | to
    return specs.RealtimeSpec(**settings, interval_ns=profile.sweeps.interval_ns, seconds=profile.full_seconds)


def _heap_mb(configuration: Configuration, scale: float, factor: float) -> dict[str, int]:
    """A heap over the published one; as it is by default where the factor is one."""
    if factor == 1:
        return {}
    return {
        "heap_mb": round(packets.scaled_heap_mb(configuration.layout, configuration.collector or "", scale) * factor)
    }


def _batch(profile: RealtimeProfile, block: int) -> list[Planned]:
    part = profile.batch
    placed = tuple(text for text in profile.configurations if not never_frees(Configuration.parse(text).collector))
    if part is None or not placed or "alloc" not in profile.strategies or "A" not in profile.cases:
        return []
    sizes = Sizes(profile="batch", scale=profile.scale, **part.model_dump())
    selection = Selection(configurations=placed, strategies=("alloc",), cases=("A",))
    return plan_block(sizes, selection, block)


def _long_trials(profile: RealtimeProfile, block: int) -> Iterator[Planned]:
    part = profile.long_trials
    for cell, why_not in _cells(part.configurations, part.strategies, part.cap_seconds):
        lasts = {"cap_seconds": part.cap_seconds[cell[2]], "major_collections": part.major_collections}
        yield Planned(_single(profile, cell, block, **lasts), why_not)


def plan_sweeps(profile: RealtimeProfile, block: int) -> Iterator[Planned]:
    part = profile.sweeps
    usual_ms = profile.input_queue_ms
    points = {(factor * usual_ms, 0.0, 1.0): None for factor in part.queue_factors}
    points |= {(usual_ms, factor * usual_ms, 1.0): None for factor in part.intermediate_factors}
    points |= {(usual_ms, 0.0, factor): None for factor in part.heap_factors}
    cells = _cells(part.configurations, part.strategies, part.cases)
    every = set(part.configurations)
    queued, heaped = (every if some is None else set(some) for some in (part.queues_of, part.heaps_of))
    for (cell, why_not), (queue_ms, between_ms, factor) in itertools.product(cells, points):
        if cell[0].key not in (heaped if factor != 1 else queued if (queue_ms, between_ms) != (usual_ms, 0) else every):
            continue
        if cell[0].language == "java" or factor == 1.0:
            sizes = {"input_queue_ms": queue_ms, "intermediate_queue_ms": between_ms}
            yield Planned(_single(profile, cell, block, **sizes, **_heap_mb(cell[0], profile.scale, factor)), why_not)


def _first_adaptive(profile: RealtimeProfile) -> Iterator[Planned]:
    """The first trial of each cell, those that are changed apart."""
    for cell, why_not in _cells(profile.configurations, profile.strategies, profile.cases):
        yield Planned(_placed_trial(profile, cell), why_not)


def _first_changed(profile: RealtimeProfile) -> Iterator[tuple[specs.RealtimeSpec, specs.RealtimeSpec]]:
    """The first trial of each cell with one thing changed, after that of the cell as it is."""
    offered = profile.offered()
    for group in profile.changed:
        for configuration in map(Configuration.parse, group.configurations):
            plain = configuration.without(*packets.OPTIONS)
            to: dict[str, Any] = _heap_mb(configuration, profile.scale, group.heap_factor)
            if group.queue_factor != 1:
                to["input_queue_ms"] = specs.INPUT_QUEUE_MS * profile.scale * group.queue_factor
            for strategy, case in itertools.product(group.strategies, group.cases):
                if strategy in offered.get(plain.key, ()) and case in profile.cases:
                    as_it_is = _placed_trial(profile, (plain, strategy, case))
                    yield as_it_is, _placed_trial(profile, (configuration, strategy, case), **to)


def _placed_trial(profile: RealtimeProfile, cell: _Cell, **to: Any) -> specs.RealtimeSpec:
    seconds = specs.FULL_SECONDS * profile.scale
    return specs.RealtimeSpec(
        **_fields(cell), scale=profile.scale, seconds=seconds, cap_seconds=seconds,
        interval_ns=next_interval(profile.low_ns, profile.high_ns, ()), **to,
    )  # fmt: skip


def _map_trial(part: MapPart, cell: _Cell, block: int, place: tuple[int, float]) -> specs.RealtimeSpec:
    """A trial of the map. Half of the messages alive are in the queue, the others in the store, and a pool just holds
    them. Sizes, heap and times are absolute: scale and case only name what is left."""
    live, interval_ns = place
    queue = live // 2
    return specs.RealtimeSpec(
        **_fields(cell, block), scale=1.0,
        queue_size=queue, stored_count=live - queue, pool_size=live + 1 if cell[1] == "pool" else 0,
        slot_count=live + 1, fill_packets=packets.packets_to_fill(queue, live - queue), heap_mb=part.heap_mb,
        input_queue_ms=part.deadline_ms, prologue_seconds=part.prologue_seconds, warmup_seconds=part.warmup_seconds,
        interval_ns=float(f"{interval_ns:.4g}"), seconds=part.seconds, cap_seconds=part.seconds,
        major_collections=0, min_laps=0.0,
    )  # fmt: skip


def _first_of_map(part: MapPart) -> Iterator[Planned]:
    for cell, why_not in _cells(part.configurations, maps.STRATEGIES, ("A",)):
        yield Planned(_map_trial(part, cell, 0, maps.next_place(part.design, ())), why_not)


def _stated_ns(profile: RealtimeProfile, cell: specs.RealtimeSpec, block: int) -> float | None:
    if not max(1, profile.blocks - AT_STATED) <= block < profile.blocks:
        return None
    place = cell.configuration.key, cell.strategy, cell.case
    of = (e.interval_ns for e in profile.stated if place in itertools.product(e.configurations, e.strategies, e.cases))
    return next(of, None)


def place_trial(
    profile: RealtimeProfile, cell: TrialSpec, block: int, earlier: Sequence[TrialRecord]
) -> specs.RealtimeSpec | None:
    """Return the trial of a boundary in a block, placed by those before it; None for a cell whose first trials all
    failed."""
    if not isinstance(cell, specs.RealtimeSpec):
        raise ValueError("only cells with adaptive trials and boundaries of the decision map are placed")
    seen = [each for record in earlier if record.status == "ok" and (each := tables.seen_in(record)) is not None]
    if cell.min_laps > 0:
        if not seen and sum(record.status != "ok" for record in earlier) >= GIVEN_UP_AFTER:
            return None
        shown = tuple(shown_by(each, specs.PDR_LOSS_RATIO) for each in seen)
        interval_ns = _stated_ns(profile, cell, block) or next_interval(profile.low_ns, profile.high_ns, shown)
        return cell.model_copy(update={"block": block, "interval_ns": interval_ns})
    design = profile.decision_map.design
    without = {
        record.spec["queue_size"] + record.spec["stored_count"] for record in earlier
        if record.status == "out_of_memory"
    }  # fmt: skip
    place = maps.next_place(design, tuple(maps.shown_by(design, each) for each in seen), frozenset(without))
    return _map_trial(profile.decision_map, (cell.configuration, cell.strategy, "A"), block, place)


def questions(profile: RealtimeProfile, _machine: Machine) -> list[Question[TrialSpec]]:
    """Return those of adaptive cells, then of what changes them, which are decided apart, then of the decision map.

    Of two cells: which keeps up with a smaller interval? Allocating against the pool is what the study asks first. Of
    the map: at each live set, does allocating keep up with a smaller interval than pooling? These are secondary: the
    map's answer is where its lines are, and how far apart two are at one place takes more trials than their places.
    """
    judge = AdaptiveJudge(specs.PDR_LOSS_RATIO)
    cells = {
        (spec.configuration.key, spec.strategy, spec.case): spec
        for item in _first_adaptive(profile)
        if isinstance(spec := item.spec, specs.RealtimeSpec) and not item.unavailable
    }
    found: list[Question[TrialSpec]] = [
        Question(
            cells[*one, case], cells[*other, case],
            primary=(one[1], other[1]) == maps.STRATEGIES, judge=judge, fewest=profile.blocks,
        )
        for one, other in profile.pairs() for case in profile.cases
    ]  # fmt: skip
    found += [
        Question(as_it_is, spec, primary=False, family="changed", judge=judge, fewest=profile.blocks)
        for as_it_is, spec in _first_changed(profile)
    ]
    mapped = profile.decision_map
    singles = [item.spec for item in _first_of_map(mapped) if not item.unavailable]
    for one, other in itertools.pairwise(spec for spec in singles if isinstance(spec, specs.RealtimeSpec)):
        if one.configuration == other.configuration:
            found += [
                Question(
                    one, other, primary=False, judge=maps.BoundaryJudge(mapped.live_messages, live, deadline_ms),
                    about=f"{live:,} live, {deadline_ms:g} ms", fewest=mapped.trials,
                )
                for deadline_ms in mapped.design.deadlines_ms for live in mapped.live_messages
            ]  # fmt: skip
    return found


def catalogue(profile: RealtimeProfile, planned: Sequence[Planned]) -> pd.DataFrame:
    """Return one row per configuration of the study, with what the profile places of it and why the rest is left
    out."""
    known = (configuration.key for configuration in every_configuration())
    placed = {item.spec for item in _first_adaptive(profile)}
    of_cells = [item for item in planned if item.spec in placed]
    return catalogue_of(profile.profile, profile.configurations, known, of_cells, specs.LiveSpec)


STUDY = Study(
    name="realtime",
    notebook="04_realtime",
    question="At what rate does a configuration stop losing messages?",
    modes=(
        Mode(
            specs.RealtimeSpec,
            RealtimeMeasurement,
            tables.summarise_realtime,
            "mode=realtime layout=heap runtime=25 collector=g1 strategy=pool case=B scale=0.1 interval_ns=1000",
        ),
    ),
    profile_model=RealtimeProfile,
    plan=plan_realtime,
    tidy=tables.tidy_realtime,
    schemas=tables.SCHEMAS,
    catalogue=catalogue,
    questions=questions,
    cost=tables.seen_in,
    adaptive=place_trial,
    readable=replace(READABLE, cost="cpu_ns_per_message"),
)
