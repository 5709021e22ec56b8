"""Study 7, stream: what does it buy, or cost, to leave a processor to the collector beside green threads?

Trials of mode stream in named groups, and searches for the highest rate within a latency. Rates are stated per
processor and numbers of threads as processors left to the collector, so that one profile fits a laptop and a server.
What a selection can't mean here (more processors left than there are) is left out of the plan.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import pandas as pd
from pydantic import BaseModel, ConfigDict, Field, field_validator

from allocpool.campaign.study import Machine, Mode, Planned, Study, StudyProfile
from allocpool.errors import UserError
from allocpool.runtimes.collectors import FEATURES, check_combination, collector_named, collectors_on, never_frees
from allocpool.studies.stream.measurement import StreamMeasurement, StreamSearchMeasurement
from allocpool.studies.stream.specs import (
    FIRST_WITH_VIRTUAL_THREADS,
    HEAP_MB,
    OLDEST_RUNTIME,
    Aggregate,
    PipelineSpec,
    Processors,
    StreamSearchSpec,
    StreamSpec,
)
from allocpool.studies.stream.tables import SCHEMAS, label, summarise_stream, summarise_stream_search, tidy_stream


def parse_solution(text: str) -> tuple[str, int]:
    """Read ``COLLECTOR/RUNTIME``.

    Raises:
        UserError: another form, an unknown word, or a runtime that is too old; names the valid ones.
    """
    collector, slash, runtime = text.partition("/")
    if not slash or not runtime.isdigit():
        raise UserError(f"solution {text!r} is not COLLECTOR/RUNTIME, for example genzgc/25")
    check_combination(collector, int(runtime))
    if int(runtime) < OLDEST_RUNTIME:
        raise UserError(f"solution {text!r}: Hazelcast 5.7 needs runtime {OLDEST_RUNTIME} or newer")
    return collector, int(runtime)


class _Selection(BaseModel):
    """Every solution x number of threads x aggregate, on windows of one kind."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    solutions: tuple[str, ...] = Field(min_length=1)
    left_to_collector: tuple[int, ...] = Field(default=(0,), min_length=1, description="processors without a thread")
    aggregates: tuple[Aggregate, ...] = Field(default=("boxed",), min_length=1)
    keys: int = Field(default=10_000, ge=1, le=10**7)
    window_ms: int = Field(default=1000, ge=1)
    slide_ms: int = Field(default=10, ge=1)

    @field_validator("solutions")
    @classmethod
    def _parsable(cls, solutions: tuple[str, ...]) -> tuple[str, ...]:
        for text in solutions:
            try:
                parse_solution(text)
            except UserError as error:
                raise ValueError(str(error)) from error
        return solutions

    @field_validator("left_to_collector")
    @classmethod
    def _left(cls, processors_left: tuple[int, ...]) -> tuple[int, ...]:
        if any(left < 0 for left in processors_left):
            raise ValueError("processors left to the collector are 0 or more")
        return processors_left

    def threads(self, processors: int) -> list[int]:
        """Cooperative threads on a machine of so many processors; at least one."""
        return list(dict.fromkeys(processors - left for left in self.left_to_collector if left < processors))

    def pipeline(self) -> dict[str, int]:
        """The windows, as specs name them."""
        return {"keys": self.keys, "window_ms": self.window_ms, "slide_ms": self.slide_ms}


class StreamSelection(_Selection):
    """Also every rate x kind of processors x size of the young generation, a trial each."""

    events_per_second_per_core: tuple[int, ...] = Field(min_length=1)
    processors: tuple[Processors, ...] = Field(default=("cooperative",), min_length=1)
    new_size_mb: tuple[int | None, ...] = Field(default=(None,), min_length=1)

    @field_validator("events_per_second_per_core")
    @classmethod
    def _rates(cls, rates: tuple[int, ...]) -> tuple[int, ...]:
        if any(rate < 1 for rate in rates):
            raise ValueError("a rate is 1 event per second or more")
        return rates


class SearchSelection(_Selection):
    """A search for the highest rate that holds the profile's target, between two bounds."""

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
        specs: list[PipelineSpec] = []
        for group in profile.groups.values():
            specs += _trials(profile, group, block, count)
        for selection in profile.searches.values():
            specs += _searches(profile, selection, block, count)
        planned += [Planned(spec) for spec in dict.fromkeys(specs)]
    return planned


def _trials(profile: StreamProfile, group: StreamSelection, block: int, count: int) -> Iterator[StreamSpec]:
    axes = (
        group.solutions, group.events_per_second_per_core, group.threads(count), group.aggregates, group.processors,
    )  # fmt: skip
    for text, rate, threads, aggregate, processors in product(*axes):
        collector, runtime = parse_solution(text)
        for new_size_mb in group.new_size_mb:
            if new_size_mb is not None and not collector_named(collector).has_sized_young:
                continue
            if processors == "virtual" and runtime < FIRST_WITH_VIRTUAL_THREADS:
                continue
            yield StreamSpec(
                collector=collector, runtime=runtime, heap_mb=profile.heap_mb, new_size_mb=new_size_mb,
                events_per_second=rate * count, **group.pipeline(), aggregate=aggregate, processors=processors,
                cooperative_threads=threads, seconds=profile.seconds, warmup_seconds=profile.warmup_seconds,
                patience_seconds=profile.patience_seconds, block=block, timeout_s=profile.timeout_s,
            )  # fmt: skip


def _searches(profile: StreamProfile, asked: SearchSelection, block: int, count: int) -> Iterator[StreamSearchSpec]:
    for text, threads, aggregate in product(asked.solutions, asked.threads(count), asked.aggregates):
        collector, runtime = parse_solution(text)
        yield StreamSearchSpec(
            collector=collector, runtime=runtime, heap_mb=profile.heap_mb, **asked.pipeline(), aggregate=aggregate,
            low_events_per_second=asked.low_events_per_second_per_core * count,
            high_events_per_second=asked.high_events_per_second_per_core * count, resolution=asked.resolution,
            confirmations=asked.confirmations, target_ms=profile.target_ms, cooperative_threads=threads,
            seconds=asked.seconds, warmup_seconds=asked.warmup_seconds, patience_seconds=profile.patience_seconds,
            block=block,
        )  # fmt: skip


def catalogue(profile: StreamProfile, planned: Sequence[Planned]) -> pd.DataFrame:
    """One row per collector and runtime that can run the engine, with why it is left out."""
    selections = (*profile.groups.values(), *profile.searches.values())
    asked = {parse_solution(text) for group in selections for text in group.solutions}
    refused = {
        (item.spec.collector, item.spec.runtime): item.unavailable
        for item in planned
        if isinstance(item.spec, PipelineSpec) and item.unavailable
    }
    rows = []
    for feature in FEATURES:
        if feature < OLDEST_RUNTIME:
            continue
        for collector in collectors_on(feature):
            if never_frees(collector):
                continue  # an engine that runs on fills any heap
            key = (collector, feature)
            why = None if key in asked else f"profile {profile.profile} leaves it out"
            rows.append({
                "solution": label(*key), "planned": key in asked and key not in refused,
                "left_out_because": why or refused.get(key),
            })  # fmt: skip
    return pd.DataFrame(rows, columns=["solution", "planned", "left_out_because"])


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
    ),
    profile_model=StreamProfile,
    plan=plan_stream,
    tidy=tidy_stream,
    schemas=SCHEMAS,
    catalogue=catalogue,
)
