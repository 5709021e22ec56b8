"""Study 9, your workload: should a program like the reader's allocate or pool?

A few named workloads, as programs have them, on a few collectors; `advise` measures the reader's own. The article's
packets run by the packets study's code, too: the known answer that the general workload is compared with.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import pandas as pd
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from allocpool.campaign.schedule import Question
from allocpool.campaign.study import Machine, Mode, Planned, Study, StudyProfile
from allocpool.errors import from_validation
from allocpool.packets.batch import Selection, Sizes, plan_block
from allocpool.packets.labels import READABLE, labelled
from allocpool.packets.specs import ConfigurationKey
from allocpool.runtimes.collectors import collector_named
from allocpool.studies.your_workload import claims
from allocpool.studies.your_workload.design import MOST_POINTS, heap_mb_at, workload_at
from allocpool.studies.your_workload.measurement import MessagesMeasurement
from allocpool.studies.your_workload.specs import (
    LAYOUTS,
    STRATEGIES,
    MessagesSpec,
    Strategy,
    configuration_of,
    heap_live_mb,
)
from allocpool.studies.your_workload.tables import SCHEMAS, cost_of, summarise_messages, tidy_messages
from allocpool.trial.spec import TrialSpec

_OWN = ("strategy", "language", "layout", "runtime", "collector", "allocator", "block", "seconds", "messages",
        "warmup_seconds")  # fmt: skip
"""What a workload of a profile does not state: strategies and configurations do."""
_CONFIGURATIONS = ("java", "cpp")


class PacketsPart(BaseModel):
    """Batch trials of the article's packets, as long as those of messages."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    configurations: tuple[ConfigurationKey, ...] = Field(min_length=1)
    scale: float = Field(gt=0, le=4)
    blocks: int = Field(default=1, ge=1, le=1000)


class DesignPart(BaseModel):
    """A workload a point, each with every strategy on every configuration: see `design`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    points: int = Field(ge=1, le=MOST_POINTS)
    first: int = Field(default=0, ge=0, lt=MOST_POINTS, description="point to begin with, where those before are done")
    java: tuple[str, ...] = Field(default=(), description="LAYOUT/COLLECTOR/RUNTIME")
    cpp: tuple[str, ...] = Field(default=(), description="allocators")

    @model_validator(mode="after")
    def _has_points(self) -> DesignPart:
        if self.first >= self.points:
            raise ValueError(f"first is below points, from 0 to {self.points - 1}, not {self.first}")
        return self


class YourProfile(StudyProfile):
    """Named workloads, each with every strategy that goes with it, on every configuration."""

    workloads: dict[str, dict[str, Any]] = Field(description="settings of mode messages by a name")
    java: tuple[str, ...] = Field(default=(), description="LAYOUT/COLLECTOR/RUNTIME")
    cpp: tuple[str, ...] = Field(default=(), description="allocators")
    strategies: tuple[Strategy, ...] = Field(min_length=1)
    seconds: float = Field(gt=0, le=3600)
    warmup_seconds: float = Field(ge=0, le=600)
    as_packets: PacketsPart | None = Field(default=None, description="the article's packets by their own study's code")
    design: DesignPart | None = Field(default=None, description="workloads that fill the space of those that ask knows")

    @model_validator(mode="after")
    def _makes_trials(self) -> YourProfile:
        if not self.workloads and not self.design:
            raise ValueError("give workloads: {NAME: {KEY: VALUE}}, or design: {points: N, java: [...], cpp: [...]}")
        if self.workloads and not self.java and not self.cpp:
            raise ValueError("give java: [LAYOUT/COLLECTOR/RUNTIME, ...] or cpp: [ALLOCATOR, ...]")
        for name, workload in self.workloads.items():
            if stated := [key for key in workload if key in _OWN]:
                raise ValueError(f"workload {name} states {', '.join(stated)}: strategies and configurations do")
            if not (isinstance(blocks := self.blocks_of(name), int) and 1 <= blocks <= 1000):
                raise ValueError(f"workload {name}: blocks is a whole number from 1 to 1000, not {blocks!r}")
            try:
                list(_specs(self, name, 0))
            except ValidationError as error:
                raise ValueError(str(from_validation(f"workload {name}", error, MessagesSpec))) from None
        return self

    def blocks_of(self, name: str) -> int:
        """Return the repetitions of a workload: its own, or the profile's."""
        blocks: int = self.workloads[name].get("blocks", self.blocks)
        return blocks

    def configurations(self, workload: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield settings of a trial for each configuration: the workload's own, or the profile's."""
        has_own = any(key in workload for key in _CONFIGURATIONS)
        java, cpp = (workload.get(key, ()) for key in _CONFIGURATIONS) if has_own else (self.java, self.cpp)
        yield from _settings_of(java, cpp)


def _settings_of(java: Sequence[str], cpp: Sequence[str]) -> Iterator[dict[str, Any]]:
    for words in java:
        parts = words.split("/")
        if len(parts) != 3 or not parts[2].isdigit():
            raise ValueError(f"{words!r} is not LAYOUT/COLLECTOR/RUNTIME, for example array/g1/25")
        yield {"language": "java", "layout": parts[0], "collector": parts[1], "runtime": int(parts[2])}
    for allocator in cpp:
        yield {"language": "cpp", "allocator": allocator}


def _offered(strategy: Strategy, language: str, workload: dict[str, Any]) -> bool:
    if strategy == "netty":
        return language == "java"
    return strategy != "reuse" or not (workload.get("in_flight") or workload.get("kept_count"))


def _specs(profile: YourProfile, name: str, block: int) -> Iterator[MessagesSpec]:
    workload = profile.workloads[name]
    for configuration in profile.configurations(workload):
        of_java = ("heap_mb", "direct_mb", "jvm_flags") if configuration["language"] == "cpp" else ()
        apart = (*_CONFIGURATIONS, "blocks", *of_java)
        stated = {key: value for key, value in workload.items() if key not in apart}
        for strategy in profile.strategies:
            if _offered(strategy, configuration["language"], workload):
                yield MessagesSpec(
                    strategy=strategy, block=block, seconds=profile.seconds, warmup_seconds=profile.warmup_seconds,
                    **configuration, **stated,
                )  # fmt: skip


def _specs_of_design(profile: YourProfile, part: DesignPart, repetition: int, point: int) -> Iterator[MessagesSpec]:
    workload, over_live = workload_at(point, part.points)
    times = {"seconds": profile.seconds, "warmup_seconds": profile.warmup_seconds}
    times["block"] = repetition * MOST_POINTS + point
    for configuration in _settings_of(part.java, part.cpp):
        own = {**times, **configuration, **workload}
        if configuration["language"] == "java":  # one limit for both sides: that of the pool, which holds more
            pool = MessagesSpec(strategy="pool", **own).model_dump()
            smallest_mb = collector_named(configuration["collector"]).smallest_heap_mb
            own |= {"heap_mb": heap_mb_at(heap_live_mb(pool), over_live, smallest_mb), "direct_mb": pool["direct_mb"]}
        yield from (MessagesSpec(strategy=strategy, **own) for strategy in profile.strategies)


def plan_messages(profile: YourProfile, _machine: Machine) -> list[Planned]:
    """Return every workload with every strategy on every configuration, the article's packets, block by block, and the
    design, point by point."""
    planned, part = [], profile.as_packets
    of_packets = part.blocks if part else 0
    for block in range(max(of_packets, *map(profile.blocks_of, profile.workloads), 0)):
        names = [name for name in profile.workloads if block < profile.blocks_of(name)]
        specs = dict.fromkeys(spec for name in names for spec in _specs(profile, name, block))
        planned += [Planned(spec, spec.impossible()) for spec in specs]
        if part and block < part.blocks:
            same = {name: getattr(profile, name) for name in ("profile", "seconds", "warmup_seconds")}
            selection = {"configurations": part.configurations, "strategies": claims.STRATEGIES, "cases": [claims.CASE]}
            planned += plan_block(
                Sizes(blocks=part.blocks, scale=part.scale, **same), Selection.model_validate(selection), block
            )
    if design := profile.design:
        for repetition, point in product(range(profile.blocks), range(design.first, design.points)):
            of_point = _specs_of_design(profile, design, repetition, point)
            planned += [Planned(spec, spec.impossible()) for spec in of_point]
    return planned


def questions(profile: YourProfile, _machine: Machine) -> list[Question[TrialSpec]]:
    """Return allocation against each pool, by CPU; secondary: batch and real time ask the article's question."""
    asked: list[Question[TrialSpec]] = []
    for name in profile.workloads:
        cells: dict[str, dict[str, MessagesSpec]] = defaultdict(dict)
        for spec in _specs(profile, name, 0):
            if not spec.impossible():
                cells[configuration_of(spec.model_dump())][spec.strategy] = spec
        asked += [
            Question(by_strategy["alloc"], by_strategy[pool], primary=False)
            for by_strategy in cells.values() if "alloc" in by_strategy
            for pool in STRATEGIES if pool in by_strategy and pool != "alloc"
        ]  # fmt: skip
    return asked


def catalogue(profile: YourProfile, planned: Sequence[Planned]) -> pd.DataFrame:
    """Return one row per language and strategy, with how many configurations the profile runs of it."""
    gaps: dict[tuple[str, str], list[str | None]] = defaultdict(list)
    for item in planned:
        if isinstance(item.spec, MessagesSpec) and item.spec.block == 0:
            gaps[item.spec.language, item.spec.strategy].append(item.unavailable)
    rows = []
    for language, strategy in product(LAYOUTS, STRATEGIES):
        if _offered(strategy, language, {}):
            mine = gaps[language, strategy]
            runs, why = mine.count(None), "; ".join(sorted({gap for gap in mine if gap}))
            why = why or ("" if runs else f"not in profile {profile.profile}")
            rows.append((language, strategy, STRATEGIES[strategy], runs > 0, runs, why or None))
    columns = ["language", "strategy", "means", "planned", "configurations", "left_out_because"]
    return pd.DataFrame(rows, columns=columns)


STUDY = Study(
    name="your_workload",
    notebook="09_your_workload",
    question="Should a program like yours pool its messages?",
    modes=(
        Mode(
            MessagesSpec,
            MessagesMeasurement,
            summarise_messages,
            "mode=messages strategy=pool sizes=64:0.7,1500:0.3 in_flight=20000 kept_share=0.06 kept_count=20000 "
            "rate_per_s=200000 delay_ms=50 collector=g1 heap_mb=512 seconds=5",
        ),
    ),
    profile_model=YourProfile,
    plan=plan_messages,
    tidy=tidy_messages,
    schemas=SCHEMAS,
    catalogue=catalogue,
    questions=questions,
    cost=cost_of,
    paced={"trials": "cpu_ns_per_message"},
    readable=replace(
        READABLE, cost="cpu_ns_per_message", label=partial(labelled, held=("messages_in_flight", "kept_count"))
    ),
)
