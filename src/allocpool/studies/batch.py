"""Study 1, batch: what one packet costs when packets never stop coming.

One configuration is a solution with a strategy and a case. A trial fills queue and store, warms up, then measures
iterations for ``seconds``; or runs an exact number of packets, which makes counts and checksums comparable.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, Literal, Self

import pandas as pd
from pydantic import Field, field_validator, model_validator

from allocpool.errors import UserError, unknown_choice
from allocpool.java_layouts import JAVA_LAYOUTS
from allocpool.packets import CASES, STRATEGIES, Case, Language, PacketsSpec, Solution, Strategy
from allocpool.runtimes.collectors import FEATURES, collectors_on
from allocpool.studies.base import Planned, Study, StudyProfile
from allocpool.studies.batch_tables import SCHEMAS, tidy_batch

PUBLISHED_LAYOUTS: dict[Language, tuple[str, ...]] = {"java": ("heap", "native"), "cpp": ("allocating", "flat")}
"""Those of "To allocate or to pool?"; the others take part where a profile names them."""
USABLE_HEAP = 0.85
_EXPECTED_NS_PER_PACKET = 250.0


class BatchSpec(PacketsSpec):
    """One batch trial: ``seconds`` of measured iterations, or exactly ``packets`` from the first to the last."""

    mode: Literal["batch"] = "batch"
    seconds: float | None = Field(default=None, gt=0, le=3600)
    packets: int | None = Field(default=None, gt=0, le=10**12)
    warmup_seconds: float = Field(default=0.5, ge=0, le=600)
    iteration_ms: float = Field(default=50.0, gt=0, le=10_000)

    def expected_seconds(self) -> float:
        measured_s = self.seconds if self.seconds is not None else (self.packets or 0) * _EXPECTED_NS_PER_PACKET / 1e9
        return self.set_up_seconds() + self.warmup_seconds + measured_s

    @model_validator(mode="after")
    def _one_length(self) -> Self:
        if (self.seconds is None) == (self.packets is None):
            raise ValueError("give seconds=S or packets=N, one of them")
        return self


class BatchProfile(StudyProfile):
    """A batch campaign: every solution x strategy x case, ``blocks`` times."""

    solutions: tuple[str, ...] = Field(min_length=1)
    strategies: tuple[Strategy, ...] = STRATEGIES
    cases: tuple[Case, ...] = tuple(CASES)
    scale: float = Field(gt=0, le=4)
    seconds: float = Field(gt=0, le=3600)
    warmup_seconds: float = Field(ge=0, le=600)
    iteration_ms: float = Field(default=50.0, gt=0, le=10_000)
    epsilon_heap_mb: int = Field(default=4096, gt=0, description="Epsilon never collects: its trials end by memory")
    timeout_s: float = Field(default=120.0, gt=0)

    @field_validator("strategies", "cases", mode="before")
    @classmethod
    def _known(cls, given: Any, info: Any) -> Any:
        valid = STRATEGIES if info.field_name == "strategies" else tuple(CASES)
        for value in given if isinstance(given, (list, tuple)) else [given]:
            if value not in valid:
                raise ValueError(str(unknown_choice(info.field_name, value, valid)))
        return given

    @field_validator("solutions")
    @classmethod
    def _parsable(cls, given: tuple[str, ...]) -> tuple[str, ...]:
        try:
            return tuple(Solution.parse(text).key for text in given)
        except UserError as error:
            raise ValueError(str(error)) from error


def plan_batch(profile: BatchProfile) -> list[Planned]:
    """Every configuration of the profile, block after block; rows that can't exist anywhere say why."""
    return [
        _planned(profile, Solution.parse(solution), strategy, case, block)
        for block in range(profile.blocks)
        for solution in profile.solutions
        for strategy in profile.strategies
        if Solution.parse(solution).offers(strategy)
        for case in profile.cases
    ]


def _planned(profile: BatchProfile, solution: Solution, strategy: Strategy, case: Case, block: int) -> Planned:
    settings: dict[str, Any] = {
        **solution.model_dump(exclude_none=True),
        "strategy": strategy, "case": case, "scale": profile.scale, "block": block,
        "warmup_seconds": profile.warmup_seconds, "iteration_ms": profile.iteration_ms,
        "timeout_s": profile.timeout_s,
    }  # fmt: skip
    timed = BatchSpec(**settings, seconds=profile.seconds)
    if solution.collector == "epsilon":
        bounded, reason = _bounded_by_memory(timed, settings, profile.epsilon_heap_mb)
        return Planned(bounded, reason)
    return Planned(timed)


def _bounded_by_memory(timed: BatchSpec, settings: dict[str, Any], heap_mb: int) -> tuple[BatchSpec, str | None]:
    """Without a collector a trial is as long as its heap: derive the packets that fit."""
    layout = JAVA_LAYOUTS[timed.layout]
    packet_bytes = layout.packet_bytes
    per_packet = layout.parse_bytes + (packet_bytes if timed.strategy in ("alloc", "mix") else 0)
    if per_packet == 0:
        return timed, None
    usable = USABLE_HEAP * heap_mb * 2**20 - timed.pool_size * packet_bytes
    packets = math.floor(usable / per_packet)
    if packets < 1.5 * timed.fill_packets:
        needed_mb = math.ceil(
            (1.5 * timed.fill_packets * per_packet + timed.pool_size * packet_bytes) / USABLE_HEAP / 2**20
        )
        return timed, f"Epsilon never frees: filling this case takes a heap of {needed_mb} MB, {heap_mb} MB are given"
    return BatchSpec(**{**settings, "heap_mb": heap_mb}, packets=packets), None


def every_solution() -> Iterator[Solution]:
    """The rows of the whole study: both published Java layouts on every collector of every runtime, then C++."""
    for layout in PUBLISHED_LAYOUTS["java"]:
        for feature in FEATURES:
            for collector in collectors_on(feature):
                yield Solution(language="java", layout=layout, collector=collector, runtime=feature)
    for layout in PUBLISHED_LAYOUTS["cpp"]:
        yield Solution(language="cpp", layout=layout, allocator="glibc")


def catalogue(profile: BatchProfile, planned: Sequence[Planned]) -> pd.DataFrame:
    """One row per solution of the study, with what the profile runs of it and why the rest is left out."""
    asked = set(profile.solutions)
    reasons: dict[str, set[str]] = {}
    for item in planned:
        if item.unavailable and isinstance(item.spec, BatchSpec):
            reasons.setdefault(item.spec.solution.key, set()).add(item.unavailable)
    rows = []
    keys = {solution.key: solution for solution in every_solution()}
    keys.update({text: Solution.parse(text) for text in profile.solutions})
    for key, solution in keys.items():
        left_out = None if key in asked else f"profile {profile.profile} leaves it out"
        rows.append({
            "solution": solution.label, "key": key, "planned": key in asked, "left_out_because": left_out,
            "unavailable_because": "; ".join(sorted(reasons.get(key, ()))) or None,
        })  # fmt: skip
    return pd.DataFrame(rows)


BATCH = Study(
    name="batch",
    notebook="02_batch",
    question="What does one packet cost when packets never stop coming?",
    profile_model=BatchProfile,
    plan=plan_batch,
    tidy=tidy_batch,
    schemas=SCHEMAS,
    catalogue=catalogue,
)
