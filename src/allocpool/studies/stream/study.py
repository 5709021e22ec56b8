"""Study 7, stream: what does it buy, or cost, to leave a processor to the collector with green threads?

Trials of mode stream in named groups, searches for the highest rate within a latency, and what a switch takes. Rates
are per processor, or, as published, in all. Numbers of threads are given as processors left to the collector, so that
one profile fits a laptop and a server. What a selection can't mean here (more processors left than there are) is left
out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Annotated, Any, Literal, Self

import pandas as pd
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator, model_validator

from allocpool.campaign.schedule import Question
from allocpool.campaign.study import Machine, Mode, Planned, Readable, Study, StudyProfile
from allocpool.errors import UserError
from allocpool.runtimes.collectors import FEATURES, check_combination, collector_named, collectors_on, never_frees
from allocpool.studies.stream.measurement import (
    StreamMeasurement,
    StreamSearchMeasurement,
    StreamSwitchMeasurement,
)
from allocpool.studies.stream.specs import (
    FIRST_WITH_VIRTUAL_THREADS,
    HEAP_MB,
    OF_THE_ENGINE,
    OLDEST_RUNTIME,
    Aggregate,
    Answer,
    EngineSpec,
    Processors,
    Sources,
    StreamSearchSpec,
    StreamSpec,
    StreamSwitchSpec,
)
from allocpool.studies.stream.tables import (
    SCHEMAS,
    cost_of,
    label,
    summarise_stream,
    summarise_stream_search,
    summarise_stream_switch,
    tidy_stream,
)
from allocpool.trial.spec import TrialSpec

EVERY_ONE_UP_TO = 4
"""Processors left to the collector: every number up to this one, then in steps of half or a third of it."""


def parse_configuration(text: str) -> tuple[str, int]:
    """Read ``COLLECTOR/RUNTIME``.

    Raises:
        UserError: another form, an unknown word, or a runtime that is too old; names the valid ones.
    """
    collector, slash, runtime = text.partition("/")
    if not slash or not runtime.isdigit():
        raise UserError(f"configuration {text!r} is not COLLECTOR/RUNTIME, for example genzgc/25")
    check_combination(collector, int(runtime))
    if int(runtime) < OLDEST_RUNTIME:
        raise UserError(f"configuration {text!r}: Hazelcast 5.7 needs runtime {OLDEST_RUNTIME} or newer")
    return collector, int(runtime)


def _parsable(text: str) -> str:
    try:
        parse_configuration(text)
    except UserError as error:
        raise ValueError(str(error)) from error
    return text


ConfigurationName = Annotated[str, AfterValidator(_parsable)]


def sweep(processors: int) -> list[int]:
    """Return processors to leave to the collector, from none to all but one: 0 to 4, then 6, 8, 12, 16, 24, 32, ..."""
    left = list(range(EVERY_ONE_UP_TO + 1))
    while left[-1] < processors:
        left += [left[-1] // 2 * 3, left[-1] * 2]
    return [count for count in left if count < processors]


class _Selection(BaseModel):
    """Every configuration x number of threads x aggregate, on windows of one kind."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    configurations: tuple[ConfigurationName, ...] = Field(min_length=1)
    left_to_collector: tuple[int, ...] | Literal["sweep"] = Field(
        default="sweep", description="processors without a thread; a sweep over all that the machine allows"
    )
    aggregates: tuple[Aggregate, ...] = Field(default=("boxed",), min_length=1)
    window_ms: int = Field(default=1000, ge=1)
    slide_ms: int = Field(default=10, ge=1)

    @field_validator("left_to_collector")
    @classmethod
    def _left(cls, processors_left: tuple[int, ...] | Literal["sweep"]) -> tuple[int, ...] | Literal["sweep"]:
        if not processors_left or (processors_left != "sweep" and min(processors_left) < 0):
            raise ValueError("processors left to the collector are 0 or more, or sweep")
        return processors_left

    def threads(self, processors: int) -> list[int]:
        """Return cooperative threads on a machine of so many processors; at least one."""
        asked = sweep(processors) if self.left_to_collector == "sweep" else self.left_to_collector
        return list(dict.fromkeys(processors - left for left in asked if left < processors))


class StreamSelection(_Selection):
    """Also every rate x number of keys x kind of processors x setting of the collector, a trial each.

    Rates are stated per processor, or in all of them together. None of a setting is the JVM's own choice.
    """

    events_per_second_per_core: tuple[int, ...] = ()
    events_per_second: tuple[int, ...] = Field(default=(), description="in all, as published")
    keys: tuple[int, ...] = Field(default=(10_000,), min_length=1, description="which set the output: all, each slide")
    processors: tuple[Processors, ...] = Field(default=("cooperative",), min_length=1)
    sources: tuple[Sources, ...] = Field(default=("parallel",), min_length=1)
    hiccup_ms: int = Field(default=0, ge=0)
    new_size_mb: tuple[int | None, ...] = Field(default=(None,), min_length=1)
    concurrent_gc_threads: tuple[int | None, ...] = Field(default=(None,), min_length=1)
    parallel_gc_threads: tuple[int | None, ...] = Field(default=(None,), min_length=1)
    seconds: float | None = Field(default=None, gt=0, le=86_400, description="measured; the profile's")

    @model_validator(mode="after")
    def _rates(self) -> Self:
        rates = (*self.events_per_second_per_core, *self.events_per_second)
        if not rates:
            raise ValueError("no rate: give events_per_second_per_core or events_per_second")
        if min(rates) < 1:
            raise ValueError("a rate is 1 event per second or more")
        return self

    def rates(self, processors: int) -> list[int]:
        """Return events per second on a machine of so many processors."""
        per_core = (rate * processors for rate in self.events_per_second_per_core)
        return list(dict.fromkeys((*per_core, *self.events_per_second)))


class SearchSelection(_Selection):
    """A search for the highest rate that holds the profile's target, between two bounds."""

    keys: int = Field(default=10_000, ge=1, le=10**7)
    held: Answer = Field(default="first", description="whose latency is held; the first result's, as published")
    low_events_per_second_per_core: int = Field(ge=1)
    high_events_per_second_per_core: int = Field(ge=1)
    resolution: float = Field(default=0.1, ge=0.01, lt=1)
    confirmations: int = Field(default=2, ge=1, le=100)
    seconds: float = Field(gt=0, le=86_400, description="measured, per probe")
    warmup_seconds: float = Field(ge=0, le=600, description="of each probe")


class StreamProfile(StudyProfile):
    """A stream campaign: named selections, each planned in every block; a configuration of two groups runs once."""

    groups: dict[str, StreamSelection] = Field(min_length=1)
    searches: dict[str, SearchSelection] = Field(default={}, description="named selections of searches")
    switches: tuple[ConfigurationName, ...] = Field(
        default=(), description="configurations on which switches are timed"
    )
    seconds: float = Field(gt=0, le=86_400, description="measured, per trial")
    warmup_seconds: float = Field(ge=0, le=600)
    patience_seconds: float = Field(default=2.0, gt=0, le=600)
    heap_mb: int = Field(default=HEAP_MB, ge=256)
    target_ms: float = Field(default=10.0, gt=0, description="the latency that the highest throughput must hold")
    cores: int | None = Field(default=None, ge=1, description="processors to plan for; those of this machine")
    timeout_s: float = Field(default=600.0, gt=0)


def plan_stream(profile: StreamProfile, machine: Machine) -> list[Planned]:
    """Plan every configuration of every group, then the searches and the switches; block after block."""
    cores = profile.cores or machine.cores
    planned: list[Planned] = []
    for block in range(profile.blocks):
        specs: list[EngineSpec] = []
        for group in profile.groups.values():
            specs += _trials(profile, group, block, cores)
        for selection in profile.searches.values():
            specs += _searches(profile, selection, block, cores)
        for text in profile.switches:
            specs.append(StreamSwitchSpec(**_jvm(text), heap_mb=profile.heap_mb, block=block))
        planned += [Planned(spec) for spec in dict.fromkeys(specs)]
    return planned


def _jvm(configuration: str) -> dict[str, Any]:
    collector, runtime = parse_configuration(configuration)
    return {"collector": collector, "runtime": runtime}


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
    for text, *values in product(group.configurations, *axes.values()):
        asked, jvm = dict(zip(axes, values, strict=True)), _jvm(str(text))
        sized = asked["new_size_mb"] is None or collector_named(jvm["collector"]).has_sized_young
        virtual = asked["processors"] != "virtual" or jvm["runtime"] >= FIRST_WITH_VIRTUAL_THREADS
        plain = asked["sources"] == "parallel" and not group.hiccup_ms
        few = max(asked["concurrent_gc_threads"] or 1, asked["parallel_gc_threads"] or 1) <= cores
        if sized and virtual and few and (plain or asked["processors"] in OF_THE_ENGINE):
            yield StreamSpec(**jvm, **asked, **shared, seconds=group.seconds or profile.seconds, block=block)


def _searches(profile: StreamProfile, asked: SearchSelection, block: int, cores: int) -> Iterator[StreamSearchSpec]:
    shared = profile.model_dump(include={"heap_mb", "target_ms", "patience_seconds"}) | asked.model_dump(
        include={"keys", "window_ms", "slide_ms", "held", "resolution", "confirmations", "seconds", "warmup_seconds"}
    )
    for text, threads, aggregate in product(asked.configurations, asked.threads(cores), asked.aggregates):
        yield StreamSearchSpec(
            **_jvm(text), **shared, aggregate=aggregate, cooperative_threads=threads, block=block,
            low_events_per_second=asked.low_events_per_second_per_core * cores,
            high_events_per_second=asked.high_events_per_second_per_core * cores,
        )  # fmt: skip


def questions(profile: StreamProfile, machine: Machine) -> list[Question[TrialSpec]]:
    """Return as primary an object for every event, or none, at the same rate: the processor time of an event. Then each
    collector against the first that is planned for the same work."""
    specs = [item.spec for item in plan_stream(profile, machine) if isinstance(item.spec, StreamSpec)]
    cells = [spec for spec in specs if spec.block == 0]
    free = {_work(spec, "aggregate"): spec for spec in cells if spec.aggregate == "garbage_free"}
    first: dict[tuple[object, ...], StreamSpec] = {}
    primary: list[Question[TrialSpec]] = []
    others: list[Question[TrialSpec]] = []
    for spec in cells:
        if spec.aggregate == "boxed" and (work := _work(spec, "aggregate")) in free:
            primary.append(Question(spec, free[work]))
        if (other := first.setdefault(_work(spec, "collector", "runtime"), spec)) is not spec:
            others.append(Question(spec, other, primary=False))
    return [*primary, *others]


def _work(spec: StreamSpec, *apart_from: str) -> tuple[object, ...]:
    return tuple(spec.model_dump(exclude=set(apart_from)).values())


def catalogue(profile: StreamProfile, planned: Sequence[Planned]) -> pd.DataFrame:
    """Return the collectors and runtimes that can run the engine, with why one is left out."""
    selections = (*profile.groups.values(), *profile.searches.values())
    asked = {parse_configuration(text) for group in selections for text in group.configurations}
    refused = {
        (item.spec.collector, item.spec.runtime): item.unavailable
        for item in planned
        if isinstance(item.spec, EngineSpec) and item.unavailable
    }
    every = [
        (collector, feature)
        for feature in sorted({*FEATURES, *(runtime for _, runtime in asked)})
        if feature >= OLDEST_RUNTIME
        for collector in collectors_on(feature)
        if not never_frees(collector)  # an engine that runs on fills any heap
    ]
    left_out = f"profile {profile.profile} leaves it out"
    return pd.DataFrame({
        "configuration": [label(*key) for key in every],
        "planned": [key in asked and key not in refused for key in every],
        "left_out_because": [refused.get(key) if key in asked else left_out for key in every],
    })  # fmt: skip


STUDY = Study(
    name="stream",
    notebook="08_green_threads",
    question="What does a processor left to the collector buy with green threads?",
    modes=(
        Mode(
            StreamSpec, StreamMeasurement, summarise_stream,
            "mode=stream runtime=25 collector=genzgc events_per_second=100000 keys=10000 cooperative_threads=1 "
            "seconds=10",
        ),
        Mode(
            StreamSearchSpec, StreamSearchMeasurement, summarise_stream_search,
            "mode=stream_search runtime=25 collector=g1 low_events_per_second=100000 high_events_per_second=5000000 "
            "seconds=2",
        ),
        Mode(
            StreamSwitchSpec, StreamSwitchMeasurement, summarise_stream_switch,
            "mode=stream_switch runtime=25 collector=g1",
        ),
    ),
    profile_model=StreamProfile,
    plan=plan_stream,
    tidy=tidy_stream,
    schemas=SCHEMAS,
    catalogue=catalogue,
    questions=questions,
    cost=cost_of,
    readable=Readable(cost="p99_ms"),
)  # fmt: skip
