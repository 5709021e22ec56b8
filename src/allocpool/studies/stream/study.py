"""Study 7, stream: what does it buy, or cost, to leave a processor to the collector beside green threads?

Trials of mode stream in named groups, searches for the highest rate within a latency, and what a switch takes. Rates
are stated per processor, or, as published, in all, with the number of keys and so the output as what varies. Numbers of
threads are stated as processors left to the collector, from none to all but one where nothing is said, so that one
profile fits a laptop and a server. What a selection can't mean here (more processors left than there are) is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Annotated, Literal, Self

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
    """Processors to leave to the collector, from none to all but one: 0 to 4, then 6, 8, 12, 16, 24, 32, ..."""
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
        """Cooperative threads on a machine of so many processors; at least one."""
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
        """Events per second on a machine of so many processors."""
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
    """Every configuration of every group, then the searches; block after block."""
    count = profile.cores or machine.cores
    planned: list[Planned] = []
    for block in range(profile.blocks):
        specs: list[EngineSpec] = []
        for group in profile.groups.values():
            specs += _trials(profile, group, block, count)
        for selection in profile.searches.values():
            specs += _searches(profile, selection, block, count)
        specs += _switches(profile, block)
        planned += [Planned(spec) for spec in dict.fromkeys(specs)]
    return planned


def _trials(profile: StreamProfile, group: StreamSelection, block: int, count: int) -> Iterator[StreamSpec]:
    axes = (
        group.configurations, group.rates(count), group.keys, group.threads(count), group.aggregates, group.processors,
        group.sources, group.new_size_mb, group.concurrent_gc_threads, group.parallel_gc_threads,
    )  # fmt: skip
    for text, rate, keys, threads, aggregate, processors, sources, new_size_mb, concurrent, parallel in product(*axes):
        collector, runtime = parse_configuration(text)
        if new_size_mb is not None and not collector_named(collector).has_sized_young:
            continue
        if processors == "virtual" and runtime < FIRST_WITH_VIRTUAL_THREADS:
            continue
        if processors not in OF_THE_ENGINE and (sources == "single" or group.hiccup_ms):
            continue
        if max(concurrent or 1, parallel or 1) > count:
            continue
        yield StreamSpec(
            collector=collector, runtime=runtime, heap_mb=profile.heap_mb, new_size_mb=new_size_mb,
            concurrent_gc_threads=concurrent, parallel_gc_threads=parallel, events_per_second=rate, keys=keys,
            window_ms=group.window_ms, slide_ms=group.slide_ms, aggregate=aggregate, processors=processors,
            cooperative_threads=threads, sources=sources, hiccup_ms=group.hiccup_ms,
            seconds=group.seconds or profile.seconds, warmup_seconds=profile.warmup_seconds,
            patience_seconds=profile.patience_seconds, block=block, timeout_s=profile.timeout_s,
        )  # fmt: skip


def _searches(profile: StreamProfile, asked: SearchSelection, block: int, count: int) -> Iterator[StreamSearchSpec]:
    for text, threads, aggregate in product(asked.configurations, asked.threads(count), asked.aggregates):
        collector, runtime = parse_configuration(text)
        yield StreamSearchSpec(
            collector=collector, runtime=runtime, heap_mb=profile.heap_mb, keys=asked.keys, window_ms=asked.window_ms,
            slide_ms=asked.slide_ms, aggregate=aggregate, held=asked.held,
            low_events_per_second=asked.low_events_per_second_per_core * count,
            high_events_per_second=asked.high_events_per_second_per_core * count, resolution=asked.resolution,
            confirmations=asked.confirmations, target_ms=profile.target_ms, cooperative_threads=threads,
            seconds=asked.seconds, warmup_seconds=asked.warmup_seconds, patience_seconds=profile.patience_seconds,
            block=block,
        )  # fmt: skip


def _switches(profile: StreamProfile, block: int) -> Iterator[StreamSwitchSpec]:
    for text in profile.switches:
        collector, runtime = parse_configuration(text)
        yield StreamSwitchSpec(collector=collector, runtime=runtime, heap_mb=profile.heap_mb, block=block)


def questions(profile: StreamProfile, machine: Machine) -> list[Question[TrialSpec]]:
    """Primary: an object for every event, or none, at the same rate: the processor time of an event. Then each
    collector against the first that is planned for the same work."""
    specs = [item.spec for item in plan_stream(profile, machine) if isinstance(item.spec, StreamSpec)]
    cells = {_work(spec, "block"): spec for spec in specs if spec.block == 0}
    first: dict[tuple[object, ...], StreamSpec] = {}
    for spec in cells.values():
        first.setdefault(_work(spec, "collector", "runtime"), spec)
    free = {_work(spec, "aggregate"): spec for spec in cells.values() if spec.aggregate == "garbage_free"}
    primary: list[Question[TrialSpec]] = [
        Question(spec, free[work])
        for spec in cells.values()
        if spec.aggregate == "boxed" and (work := _work(spec, "aggregate")) in free
    ]
    others: list[Question[TrialSpec]] = [
        Question(spec, other, primary=False)
        for spec in cells.values()
        if (other := first[_work(spec, "collector", "runtime")]) is not spec
    ]
    return [*primary, *others]


def _work(spec: StreamSpec, *apart_from: str) -> tuple[object, ...]:
    return tuple(spec.model_dump(exclude=set(apart_from)).values())


def catalogue(profile: StreamProfile, planned: Sequence[Planned]) -> pd.DataFrame:
    """One row per collector and runtime that can run the engine, with why it is left out."""
    selections = (*profile.groups.values(), *profile.searches.values())
    asked = {parse_configuration(text) for group in selections for text in group.configurations}
    refused = {
        (item.spec.collector, item.spec.runtime): item.unavailable
        for item in planned
        if isinstance(item.spec, EngineSpec) and item.unavailable
    }
    rows = []
    for feature in sorted({*FEATURES, *(runtime for _, runtime in asked)}):
        if feature < OLDEST_RUNTIME:
            continue
        for collector in collectors_on(feature):
            if never_frees(collector):
                continue  # an engine that runs on fills any heap
            key = (collector, feature)
            why = None if key in asked else f"profile {profile.profile} leaves it out"
            rows.append({
                "configuration": label(*key), "planned": key in asked and key not in refused,
                "left_out_because": why or refused.get(key),
            })  # fmt: skip
    return pd.DataFrame(rows, columns=["configuration", "planned", "left_out_because"])


STUDY = Study(
    name="stream",
    notebook="08_green_threads",
    question="What does a processor left to the collector buy beside green threads?",
    modes=(
        Mode(
            StreamSpec,
            StreamMeasurement,
            summarise_stream,
            "mode=stream runtime=25 collector=genzgc events_per_second=100000 keys=10000 "
            "cooperative_threads=1 seconds=10",
        ),
        Mode(
            StreamSearchSpec,
            StreamSearchMeasurement,
            summarise_stream_search,
            "mode=stream_search runtime=25 collector=g1 low_events_per_second=100000 "
            "high_events_per_second=5000000 seconds=2",
        ),
        Mode(
            StreamSwitchSpec,
            StreamSwitchMeasurement,
            summarise_stream_switch,
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
)
