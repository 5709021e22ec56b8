"""Study 8, stream: what does it buy, or cost, to leave a processor to the collector with green threads?

Trials of mode stream in named groups, some of them adaptive: each at the rate where the highest one within a latency is
least known. Then what a switch takes. Rates are per processor, or, as published, in all. Threads are given as
processors left to the collector, so that one profile fits a laptop and a server; what a selection can't mean here is
left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Annotated, Any, Literal, Self

import pandas as pd
from pydantic import AfterValidator, Field, NonNegativeInt, PositiveInt, model_validator

from allocpool.campaign.schedule import GIVEN_UP_AFTER, Question
from allocpool.campaign.study import Machine, Mode, Planned, Readable, Study, StudyProfile
from allocpool.errors import UserError
from allocpool.runtimes.collectors import FEATURES, check_combination, collector_named, collectors_on, never_frees
from allocpool.studies.realtime.adaptive import AdaptiveJudge, Seen, next_interval
from allocpool.studies.stream import specs, tables
from allocpool.studies.stream.measurement import StreamMeasurement, StreamSwitchMeasurement
from allocpool.studies.stream.specs import EngineSpec, StreamSpec, StreamSwitchSpec
from allocpool.trial.record import TrialRecord
from allocpool.trial.spec import Frozen, TrialSpec

PLACED = 15
"""Adaptive trials of a cell."""
_LOWEST_RATE, _HIGHEST_RATE = 1e3, 1e8
"""Of adaptive trials, events per second."""


def parse_configuration(text: str) -> dict[str, Any]:
    """Return the collector and the runtime of ``COLLECTOR/RUNTIME``, as specs take them.

    Raises:
        UserError: another form, an unknown word, or a runtime that is too old; names the valid ones.
    """
    collector, slash, runtime = text.partition("/")
    if not slash or not runtime.isdigit():
        raise UserError(f"configuration {text!r} is not COLLECTOR/RUNTIME, for example genzgc/25")
    check_combination(collector, int(runtime))
    if int(runtime) < specs.OLDEST_RUNTIME:
        raise UserError(f"configuration {text!r}: Hazelcast 5.7 needs runtime {specs.OLDEST_RUNTIME} or newer")
    return {"collector": collector, "runtime": int(runtime)}


def _parsable(text: str) -> str:
    try:
        parse_configuration(text)
    except UserError as error:
        raise ValueError(str(error)) from error
    return text


ConfigurationName = Annotated[str, AfterValidator(_parsable)]


def sweep(processors: int) -> list[int]:
    """Return processors to leave to the collector, from none to all but one: 0 to 4, then 6, 8, 12, 16, 24, 32, ..."""
    left = list(range(5))
    while left[-1] < processors:
        left += [left[-1] // 2 * 3, left[-1] * 2]
    return [count for count in left if count < processors]


class StreamSelection(Frozen):
    """Every configuration x rate x number of threads, keys, aggregate, processors and setting of the collector.

    Rates are stated per processor, or in all of them together. None of a setting is the JVM's own choice.
    """

    configurations: tuple[ConfigurationName, ...] = Field(min_length=1)
    left_to_collector: Annotated[tuple[NonNegativeInt, ...], Field(min_length=1)] | Literal["sweep"] = Field(
        default="sweep", description="processors without a thread; a sweep over all that the machine allows"
    )
    aggregates: tuple[specs.Aggregate, ...] = Field(default=("boxed",), min_length=1)
    window_ms: int = Field(default=1000, ge=1)
    slide_ms: int = Field(default=10, ge=1)
    events_per_second_per_core: tuple[PositiveInt, ...] = ()
    events_per_second: tuple[PositiveInt, ...] = Field(default=(), description="in all, as published")
    adaptive: bool = Field(default=False, description="no rate: each trial near the highest that holds the target")
    keys: tuple[int, ...] = Field(default=(10_000,), min_length=1, description="which set the output: all, each slide")
    processors: tuple[specs.Processors, ...] = Field(default=("cooperative",), min_length=1)
    sources: tuple[specs.Sources, ...] = Field(default=("parallel",), min_length=1)
    hiccup_ms: int = Field(default=0, ge=0)
    new_size_mb: tuple[int | None, ...] = Field(default=(None,), min_length=1)
    concurrent_gc_threads: tuple[int | None, ...] = Field(default=(None,), min_length=1)
    parallel_gc_threads: tuple[int | None, ...] = Field(default=(None,), min_length=1)
    seconds: float | None = Field(default=None, gt=0, le=86_400, description="measured; the profile's")

    @model_validator(mode="after")
    def _rates(self) -> Self:
        if bool(self.events_per_second_per_core or self.events_per_second) == self.adaptive:
            raise ValueError("give one of events_per_second_per_core and events_per_second, or adaptive: true")
        return self

    def threads(self, processors: int) -> list[int]:
        """Return cooperative threads on a machine of so many processors; at least one."""
        asked = sweep(processors) if self.left_to_collector == "sweep" else self.left_to_collector
        return list(dict.fromkeys(processors - left for left in asked if left < processors))

    def rates(self, processors: int) -> list[int]:
        """Return events per second on a machine of so many processors; of adaptive trials that of the first."""
        if self.adaptive:
            return [_rate_after(())]
        per_core = (rate * processors for rate in self.events_per_second_per_core)
        return list(dict.fromkeys((*per_core, *self.events_per_second)))


class StreamProfile(StudyProfile):
    """A stream campaign: named selections, each planned in every block; a configuration of two groups runs once."""

    groups: dict[str, StreamSelection] = Field(min_length=1)
    switches: tuple[ConfigurationName, ...] = Field(
        default=(), description="configurations on which switches are timed"
    )
    seconds: float = Field(gt=0, le=86_400, description="measured, per trial")
    warmup_seconds: float = Field(ge=0, le=600)
    patience_seconds: float = Field(default=2.0, gt=0, le=600)
    heap_mb: int = Field(default=specs.HEAP_MB, ge=256)
    target_ms: float = Field(default=10.0, gt=0, description="the latency that the highest throughput must hold")
    cores: int | None = Field(default=None, ge=1, description="processors to plan for; those of this machine")
    timeout_s: float = Field(default=600.0, gt=0)


def plan_stream(profile: StreamProfile, machine: Machine) -> list[Planned]:
    """Plan every configuration of every group, then the switches, block after block; of adaptive ones the first."""
    cores = profile.cores or machine.cores
    planned: list[Planned] = []
    for block in range(profile.blocks):
        trials: list[EngineSpec] = []
        for group in profile.groups.values():
            trials += _trials(profile, group, block, cores) if block == 0 or not group.adaptive else ()
        for text in profile.switches:
            trials.append(StreamSwitchSpec(**parse_configuration(text), heap_mb=profile.heap_mb, block=block))
        planned += [Planned(spec) for spec in dict.fromkeys(trials)]
    return planned


def _trials(profile: StreamProfile, group: StreamSelection, block: int, cores: int) -> Iterator[StreamSpec]:
    axes: dict[str, Sequence[Any]] = {
        "events_per_second": group.rates(cores), "keys": group.keys, "cooperative_threads": group.threads(cores),
        "aggregate": group.aggregates, "processors": group.processors, "sources": group.sources,
        "new_size_mb": group.new_size_mb, "concurrent_gc_threads": group.concurrent_gc_threads,
        "parallel_gc_threads": group.parallel_gc_threads,
    }  # fmt: skip
    shared = group.model_dump(include={"window_ms", "slide_ms", "hiccup_ms"}) | profile.model_dump(
        include={"heap_mb", "warmup_seconds", "patience_seconds", "timeout_s"}
    )
    shared["target_ms"] = profile.target_ms if group.adaptive else None
    for text, *values in product(group.configurations, *axes.values()):
        asked, jvm = dict(zip(axes, values, strict=True)), parse_configuration(str(text))
        sized = asked["new_size_mb"] is None or collector_named(jvm["collector"]).has_sized_young
        virtual = asked["processors"] != "virtual" or jvm["runtime"] >= specs.FIRST_WITH_VIRTUAL_THREADS
        plain = asked["sources"] == "parallel" and not group.hiccup_ms
        few = max(asked["concurrent_gc_threads"] or 1, asked["parallel_gc_threads"] or 1) <= cores
        if sized and virtual and few and (plain or asked["processors"] in specs.OF_THE_ENGINE):
            yield StreamSpec(**jvm, **asked, **shared, seconds=group.seconds or profile.seconds, block=block)


def _rate_after(seen: Sequence[Seen]) -> int:
    shown = tuple((math.log(each.interval_ns), each.lost_more_than(0.0)) for each in seen)
    return round(1e9 / next_interval(1e9 / _HIGHEST_RATE, 1e9 / _LOWEST_RATE, shown))


def place_trial(
    profile: StreamProfile, cell: TrialSpec, block: int, earlier: Sequence[TrialRecord]
) -> TrialSpec | None:
    """Return the trial of a cell in a block: of an adaptive one at the rate that those before leave most open, none
    once its first ones all failed; of any other as planned."""
    if not isinstance(cell, StreamSpec) or cell.target_ms is None:
        goes_on = block < profile.blocks or profile.schedule == "sequential"
        return cell.model_copy(update={"block": block}) if goes_on else None
    seen = [each for record in earlier if record.status == "ok" and (each := tables.seen_in(record))]
    if not seen and sum(record.status != "ok" for record in earlier) >= GIVEN_UP_AFTER:
        return None
    return cell.model_copy(update={"block": block, "events_per_second": _rate_after(seen)})


def questions(profile: StreamProfile, machine: Machine) -> list[Question[TrialSpec]]:
    """Return as primary an object for every event, or none, at the same rate: the processor time of an event. Then each
    collector against the first that is planned for the same work; of adaptive trials also each number of threads."""
    planned = [item.spec for item in plan_stream(profile, machine) if isinstance(item.spec, StreamSpec)]
    cells = [spec for spec in planned if spec.block == 0]
    free = {_work(spec, "aggregate"): spec for spec in cells if spec.aggregate == "garbage_free"}
    first: dict[tuple[object, ...], StreamSpec] = {}
    primary: list[Question[TrialSpec]] = []
    others: list[Question[TrialSpec]] = []
    for spec in cells:
        apart_from = ["collector", "runtime"]
        how: dict[str, Any] = {}
        if spec.target_ms is not None:
            apart_from += ["pause_target_ms", "cooperative_threads"]
            how = {"judge": AdaptiveJudge(0.0), "about": "highest rate", "fewest": PLACED}
        elif spec.aggregate == "boxed" and (work := _work(spec, "aggregate")) in free:
            primary.append(Question(spec, free[work]))
        if (other := first.setdefault(_work(spec, *apart_from), spec)) is not spec:
            others.append(Question(spec, other, primary=False, **how))
    return [*primary, *others]


def _work(spec: StreamSpec, *apart_from: str) -> tuple[object, ...]:
    return tuple(spec.model_dump(exclude=set(apart_from)).values())


def catalogue(profile: StreamProfile, planned: Sequence[Planned]) -> pd.DataFrame:
    """Return the collectors and runtimes that can run the engine, with why one is left out."""
    texts = [text for group in profile.groups.values() for text in group.configurations]
    asked = {tuple(parse_configuration(text).values()) for text in texts}
    refused = {
        (item.spec.collector, item.spec.runtime): item.unavailable
        for item in planned
        if isinstance(item.spec, EngineSpec) and item.unavailable
    }
    every = [
        (collector, feature)
        for feature in sorted({*FEATURES, *(runtime for _, runtime in asked)})
        if feature >= specs.OLDEST_RUNTIME
        for collector in collectors_on(feature)
        if not never_frees(collector)  # an engine that runs on fills any heap
    ]
    left_out = f"profile {profile.profile} leaves it out"
    return pd.DataFrame({
        "configuration": [tables.label(*key) for key in every],
        "planned": [key in asked and key not in refused for key in every],
        "left_out_because": [refused.get(key) if key in asked else left_out for key in every],
    })  # fmt: skip


STUDY = Study(
    name="stream",
    notebook="08_green_threads",
    question="What does a processor left to the collector buy?",
    modes=(
        Mode(
            StreamSpec, StreamMeasurement, tables.summarise_stream,
            "mode=stream runtime=25 collector=genzgc events_per_second=100000 keys=10000 cooperative_threads=1 "
            "seconds=10",
        ),
        Mode(
            StreamSwitchSpec, StreamSwitchMeasurement, tables.summarise_stream_switch,
            "mode=stream_switch runtime=25 collector=g1",
        ),
    ),
    profile_model=StreamProfile,
    plan=plan_stream,
    tidy=tables.tidy_stream,
    schemas=tables.SCHEMAS,
    catalogue=catalogue,
    questions=questions,
    cost=tables.cost_of,
    adaptive=place_trial,
    readable=Readable(cost="p99_ms"),
)  # fmt: skip
