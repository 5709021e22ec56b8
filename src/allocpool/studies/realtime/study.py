"""Study 3, real time: at what packet rate does each solution stop losing packets?

A *cell* is a solution with a strategy and a case; each is one search for its smallest interval. *Sweeps* are single
trials at one interval whose input queue or heap is varied: would a longer queue, or a larger heap, have helped?
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd
from pydantic import Field, field_validator

from allocpool.campaign.study import Machine, Mode, Planned, Study, StudyProfile
from allocpool.packets.batch import catalogue_of, every_solution
from allocpool.packets.specs import CASES, Case, Solution, SolutionKey, scaled_heap_mb
from allocpool.packets.strategies import StrategyName
from allocpool.runtimes.collectors import collector_named, never_frees
from allocpool.studies.realtime.measurement import RealtimeMeasurement, RingMeasurement, SearchMeasurement
from allocpool.studies.realtime.specs import (
    COMPARISON_INTERVAL_NS,
    FULL_LENGTH_MAJORS,
    INPUT_QUEUE_MS,
    LONGEST_INTERVAL_NS,
    RealtimeSpec,
    RingSpec,
    SearchSpec,
)
from allocpool.studies.realtime.tables import (
    SCHEMAS,
    summarise_realtime,
    summarise_ring,
    summarise_search,
    tidy_realtime,
    with_newer_columns,
)


class RealtimeProfile(StudyProfile):
    """A real-time campaign: searches for every solution x strategy x case x heap, and sweeps."""

    solutions: tuple[SolutionKey, ...] = Field(min_length=1)
    strategies: tuple[StrategyName, ...] = ("alloc", "mix", "pool")
    cases: tuple[Case, ...] = tuple(CASES)
    scale: float = Field(gt=0, le=4)
    heap_factors: tuple[float, ...] = Field(default=(1.0,), description="of the searches, over the published heap")
    larger_heap_factor: float | None = Field(
        default=5.0, gt=1, description="second heap, over the first, where no interval passes"
    )
    low_ns: float = Field(gt=0, le=LONGEST_INTERVAL_NS)
    high_ns: float = Field(gt=0, le=LONGEST_INTERVAL_NS)
    resolution: float = Field(default=0.05, gt=0, lt=0.5)
    probe_seconds: float = Field(gt=0, le=600)
    probe_warmup_seconds: float = Field(default=0.2, ge=0, le=600)
    full_seconds: float = Field(gt=0, le=86_400)
    cap_seconds: float = Field(gt=0, le=86_400)
    confirmations: int = Field(default=1, ge=1, le=100)
    major_collections: int = Field(default=FULL_LENGTH_MAJORS, ge=0)
    prologue_seconds: float = Field(default=0.5, ge=0, le=600)
    warmup_seconds: float = Field(default=0.5, ge=0, le=600)
    input_queue_ms: float = Field(default=INPUT_QUEUE_MS, gt=0)
    sweep_solutions: tuple[SolutionKey, ...] = Field(default=(), description="varied at one interval")
    sweep_strategies: tuple[StrategyName, ...] = ("alloc", "pool")
    sweep_cases: tuple[Case, ...] = ("B",)
    sweep_interval_ns: float = Field(default=COMPARISON_INTERVAL_NS, gt=0, le=LONGEST_INTERVAL_NS)
    sweep_queues_ms: tuple[float, ...] = ()
    sweep_heap_factors: tuple[float, ...] = ()

    @field_validator("heap_factors", "sweep_heap_factors", "sweep_queues_ms")
    @classmethod
    def _positive(cls, values: tuple[float, ...], info: Any) -> tuple[float, ...]:
        if any(not value > 0 for value in values):
            raise ValueError(f"{info.field_name}: every value must be above 0")
        return values


def plan_realtime(profile: RealtimeProfile, _machine: Machine) -> list[Planned]:
    """Searches and sweeps, block after block."""
    planned: list[Planned] = []
    for block in range(profile.blocks):
        planned += _searches(profile, block)
        planned += plan_sweeps(profile, block)
    return planned


def estimate_seconds(profile: RealtimeProfile) -> float:
    """About how long the whole campaign takes, seconds; from lengths and sizes alone."""
    return sum(
        item.spec.expected_seconds() for item in plan_realtime(profile, Machine(cores=1)) if not item.unavailable
    )


def _searches(profile: RealtimeProfile, block: int) -> Iterator[Planned]:
    for factor in profile.heap_factors:
        for text in profile.solutions:
            solution = Solution.parse(text)
            if solution.language == "cpp" and factor != profile.heap_factors[0]:
                continue
            for strategy in filter(solution.offers, profile.strategies):
                for case in profile.cases:
                    spec = SearchSpec(
                        **_common(profile, solution, strategy, case, block, factor),
                        larger_heap_mb=_larger_heap_mb(profile, solution, factor),
                        low_ns=profile.low_ns,
                        high_ns=profile.high_ns,
                        resolution=profile.resolution,
                        probe_seconds=profile.probe_seconds,
                        probe_warmup_seconds=profile.probe_warmup_seconds,
                        full_seconds=profile.full_seconds,
                        confirmations=profile.confirmations,
                        input_queue_ms=profile.input_queue_ms,
                    )
                    yield Planned(spec, _never_ends_in(solution))


def _never_ends_in(solution: Solution) -> str | None:
    """One line that says why a stream without an end has no place in the solution's heap; None where it has."""
    if not never_frees(solution.collector):
        return None
    label = collector_named(solution.collector or "").label
    return f"{label} never frees: a stream without an end has no place in any heap"


def plan_sweeps(profile: RealtimeProfile, block: int) -> Iterator[Planned]:
    """The single trials at one interval of one block."""
    points = {(queue_ms, 1.0): None for queue_ms in profile.sweep_queues_ms}
    points |= {(profile.input_queue_ms, factor): None for factor in profile.sweep_heap_factors}
    for text in profile.sweep_solutions:
        solution = Solution.parse(text)
        for strategy in filter(solution.offers, profile.sweep_strategies):
            for case in profile.sweep_cases:
                for queue_ms, factor in points:
                    if solution.language == "cpp" and factor != 1.0:
                        continue
                    spec = RealtimeSpec(
                        **_common(profile, solution, strategy, case, block, factor),
                        interval_ns=profile.sweep_interval_ns,
                        seconds=profile.full_seconds,
                        input_queue_ms=queue_ms,
                    )
                    yield Planned(spec, _never_ends_in(solution))


def _heap_mb(profile: RealtimeProfile, solution: Solution, factor: float) -> int:
    return round(scaled_heap_mb(solution.layout, solution.collector or "", profile.scale) * factor)


def _larger_heap_mb(profile: RealtimeProfile, solution: Solution, factor: float) -> int | None:
    if solution.language == "cpp" or profile.larger_heap_factor is None:
        return None
    return _heap_mb(profile, solution, factor * profile.larger_heap_factor)


def _common(
    profile: RealtimeProfile, solution: Solution, strategy: StrategyName, case: Case, block: int, heap_factor: float
) -> dict[str, Any]:
    settings: dict[str, Any] = {
        **solution.model_dump(exclude_none=True),
        "strategy": strategy, "case": case, "scale": profile.scale, "block": block,
        "cap_seconds": profile.cap_seconds, "major_collections": profile.major_collections,
        "prologue_seconds": profile.prologue_seconds, "warmup_seconds": profile.warmup_seconds,
    }  # fmt: skip
    if solution.language == "java" and heap_factor != 1.0:
        settings["heap_mb"] = _heap_mb(profile, solution, heap_factor)
    return settings


def catalogue(profile: RealtimeProfile, planned: Sequence[Planned]) -> pd.DataFrame:
    """One row per solution of the study, with what the profile searches of it and why the rest is left out."""
    known = (solution.key for solution in every_solution())
    return catalogue_of(profile.profile, profile.solutions, known, planned, SearchSpec)


STUDY = Study(
    name="realtime",
    notebook="04_realtime",
    question="At what packet rate does each solution stop losing packets?",
    modes=(
        Mode(
            RealtimeSpec,
            RealtimeMeasurement,
            summarise_realtime,
            "mode=realtime layout=heap runtime=25 collector=g1 strategy=pool case=B scale=0.1 "
            "interval_ns=1000 seconds=10",
        ),
        Mode(
            SearchSpec,
            SearchMeasurement,
            summarise_search,
            "mode=search layout=allocating strategy=pool scale=0.1 low_ns=10 high_ns=2000 probe_seconds=0.3 "
            "full_seconds=2",
        ),
        Mode(RingSpec, RingMeasurement, summarise_ring, "mode=ring language=java runtime=25 interval_ns=10 seconds=60"),
    ),
    profile_model=RealtimeProfile,
    plan=plan_realtime,
    tidy=tidy_realtime,
    schemas=SCHEMAS,
    catalogue=catalogue,
    with_newer_columns=with_newer_columns,
)
