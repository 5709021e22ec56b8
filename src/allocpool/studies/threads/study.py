"""Study 10, many threads: who frees what another one allocated?

A receiver obtains a message, a worker frees it; strategies differ in what threads share for that. Threads are an axis;
a plan that asks for more of them than the machine has processors says so, for then threads take turns, and a lock's
holder may be the one that waits.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd
from pydantic import BaseModel, ConfigDict, Field, model_validator

from allocpool.campaign.schedule import Question
from allocpool.campaign.study import Machine, Mode, Planned, Study, StudyProfile
from allocpool.packets.labels import READABLE
from allocpool.packets.specs import Case
from allocpool.studies.realtime.measurement import SearchMeasurement
from allocpool.studies.threads.measurement import ThreadsMeasurement
from allocpool.studies.threads.sharing import SharingMeasurement
from allocpool.studies.threads.specs import (
    FIRST_WITH_VIRTUAL_THREADS,
    MOST_THREADS,
    SIMULATED_TURN,
    UNPADDED,
    CrewSpec,
    SharingSpec,
    ThreadsSearchSpec,
    ThreadsSpec,
)
from allocpool.studies.threads.strategies import BEST_KNOWN, LAYOUTS, STRATEGIES, StrategyName, Topology, why_not
from allocpool.studies.threads.tables import (
    SCHEMAS,
    cost_of,
    summarise_search,
    summarise_sharing,
    summarise_threads,
    tidy_threads,
)
from allocpool.trial.spec import TrialSpec

FIRST_ASKED = 2
"""Threads of the primary questions: as few as share anything, and as many as most machines have."""


class Group(BaseModel):
    """Every strategy that makes sense, on every one of these."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    topologies: tuple[Topology, ...] = Field(min_length=1)
    threads: tuple[int, ...] = Field(min_length=1, description="workers; more than there are processors only if stated")
    java: tuple[str, ...] = Field(default=(), description="LAYOUT/COLLECTOR/RUNTIME")
    cpp: tuple[str, ...] = Field(default=(), description="LAYOUT/ALLOCATOR")
    strategies: tuple[StrategyName, ...] = Field(min_length=1)
    case: Case = "B"
    intervals_ns: tuple[float, ...] = Field(default=(), description="real time at these intervals; none: batch")
    search: bool = Field(
        default=False,
        description="in real time the minimum sustainable inter-arrival time without loss is searched for",
    )
    unpadded: bool = Field(
        default=False,
        description="beside each strategy that has it also the form whose cells lie side by side",
    )
    counted: bool = Field(
        default=False, description="beside each also one whose events the processor counts, where it can"
    )
    simulated: bool = Field(
        default=False,
        description="before a simulated cache in place of real time and batch: C++, once, for it has no time",
    )
    turns: tuple[int, ...] = Field(
        default=(SIMULATED_TURN,), min_length=1, description="simulated: accesses of a thread before another one's turn"
    )
    crowded: bool = Field(default=False, description="also where threads are more than processors")

    @model_validator(mode="after")
    def _makes_trials(self) -> Group:
        if not self.java and not self.cpp:
            raise ValueError("give java: [LAYOUT/COLLECTOR/RUNTIME, ...] or cpp: [LAYOUT/ALLOCATOR, ...]")
        if self.simulated and self.java:
            raise ValueError("a simulated cache sees C++ alone: give cpp: [LAYOUT/ALLOCATOR, ...] without java")
        if wrong := [count for count in self.threads if not 1 <= count <= MOST_THREADS]:
            raise ValueError(f"threads are 1 to {MOST_THREADS}, not {', '.join(map(str, wrong))}")
        for settings in self.configurations():
            if settings["layout"] not in LAYOUTS[settings["language"]]:
                raise ValueError(why_not(settings["language"], "sharded", settings["layout"], "alloc"))
            for topology in self.topologies:
                names = [name for name in self.strategies if _offered(settings, topology, name)]
                if names:
                    ThreadsSpec(topology=topology, threads=1, strategy=names[0], packets=1, **settings)
        return self

    def configurations(self) -> Iterator[dict[str, Any]]:
        """Settings of a trial for each configuration."""
        for text in self.java:
            layout, collector, runtime = _words(text, "LAYOUT/COLLECTOR/RUNTIME")
            if not runtime.isdigit():
                raise ValueError(f"{text!r} is not LAYOUT/COLLECTOR/RUNTIME, for example heap/g1/25")
            yield {"language": "java", "layout": layout, "collector": collector, "runtime": int(runtime)}
        for text in self.cpp:
            layout, allocator = _words(text, "LAYOUT/ALLOCATOR")
            yield {"language": "cpp", "layout": layout, "allocator": allocator}


def _words(text: str, form: str) -> list[str]:
    words = text.split("/")
    if len(words) != len(form.split("/")):
        raise ValueError(f"{text!r} is not {form}")
    return words


def _offered(settings: dict[str, Any], topology: Topology, strategy: str) -> bool:
    if topology == "virtual" and settings.get("runtime", 0) < FIRST_WITH_VIRTUAL_THREADS:
        return False
    return why_not(settings["language"], topology, settings["layout"], strategy) is None


class ThreadsProfile(StudyProfile):
    """Named groups, all planned in every block; a configuration of two groups runs once."""

    groups: dict[str, Group] = Field(min_length=1)
    scale: float = Field(gt=0, le=4)
    seconds: float = Field(gt=0, le=3600)
    warmup_seconds: float = Field(ge=0, le=600)
    cores: int | None = Field(default=None, ge=1, le=MOST_THREADS, description="processors to plan for; those here")


def plan_threads(profile: ThreadsProfile, machine: Machine) -> list[Planned]:
    """Every configuration in every block; those with more threads than processors say so."""
    cores = profile.cores or machine.cores
    planned = []
    for block in range(profile.blocks):
        specs = dict.fromkeys(spec for group in profile.groups.values() for spec in _specs(profile, group, block))
        crowded = _crowded(profile)
        planned += [Planned(spec, _too_many(spec, cores, crowded)) for spec in specs]
    return planned


def _crowded(profile: ThreadsProfile) -> set[tuple[str, int]]:
    return {
        (topology, threads)
        for group in profile.groups.values()
        if group.crowded
        for topology in group.topologies
        for threads in group.threads
    }


def _too_many(spec: CrewSpec, cores: int, crowded: set[tuple[str, int]]) -> str | None:
    if spec.processors <= cores:
        return None
    if spec.interval_ns is not None:
        return f"real time with {spec.threads} threads takes {spec.processors} processors, this machine has {cores}"
    if (spec.topology, spec.threads) in crowded:
        return None
    beside = " and a receiver" if spec.processors > spec.threads else ""
    return f"{spec.threads} threads{beside} are more than the {cores} processors of this machine"


def _searches(profile: ThreadsProfile, group: Group, block: int) -> Iterator[ThreadsSearchSpec]:
    for settings in group.configurations():
        for topology, strategy, threads in itertools.product(group.topologies, group.strategies, group.threads):
            if topology != "virtual" and _offered(settings, topology, strategy):
                yield ThreadsSearchSpec(
                    block=block, topology=topology, threads=threads, strategy=strategy, case=group.case,
                    scale=profile.scale, seconds=profile.seconds, warmup_seconds=profile.warmup_seconds, **settings,
                )  # fmt: skip


def _spacings(group: Group, strategy: str) -> tuple[bool, ...]:
    """Whether cells are padded."""
    return (True, False) if group.unpadded and strategy in UNPADDED else (True,)


def _simulations(group: Group) -> Iterator[SharingSpec]:
    """Sizes of their own: what is shared does not hang on them, and every access takes its time."""
    for settings in group.configurations():
        for topology, strategy, threads in itertools.product(group.topologies, group.strategies, group.threads):
            if _offered(settings, topology, strategy):
                for padded, turn in itertools.product(_spacings(group, strategy), group.turns):
                    yield SharingSpec(
                        topology=topology, threads=threads, strategy=strategy, padded=padded, turn=turn, **settings
                    )  # fmt: skip


def _specs(profile: ThreadsProfile, group: Group, block: int) -> Iterator[CrewSpec]:
    if group.simulated:
        yield from _simulations(group) if block == 0 else ()
        return
    if group.search:
        yield from _searches(profile, group, block)
        return
    for settings in group.configurations():
        for topology in group.topologies:
            for strategy in group.strategies:
                if not _offered(settings, topology, strategy):
                    continue
                for threads, interval_ns, padded, counted in itertools.product(
                    group.threads,
                    group.intervals_ns or (None,),
                    _spacings(group, strategy),
                    (False, True) if group.counted else (False,),
                ):
                    yield ThreadsSpec(
                        block=block, topology=topology, threads=threads, strategy=strategy, case=group.case,
                        scale=profile.scale, seconds=profile.seconds, warmup_seconds=profile.warmup_seconds,
                        interval_ns=interval_ns, padded=padded, counted=counted, **settings,
                    )  # fmt: skip


def questions(profile: ThreadsProfile, machine: Machine) -> list[Question[TrialSpec]]:
    """Allocation against each pool, by the CPU of a packet, where both are planned for the same threads. Primary
    against the best-known pool at two threads, which no other study asks; of one thread the batch study asks it first.
    """
    cells: dict[tuple[object, ...], dict[str, ThreadsSpec]] = {}
    for item in plan_threads(profile, machine):
        spec = item.spec
        if not isinstance(spec, ThreadsSpec) or spec.block or item.unavailable:
            continue
        if spec.interval_ns is None and spec.padded and not spec.counted:
            key = (
                spec.topology,
                spec.threads,
                spec.language,
                spec.layout,
                spec.collector,
                spec.runtime,
                spec.allocator,
            )
            cells.setdefault((*key, spec.case), {})[spec.strategy] = spec
    return [
        Question(by_strategy["alloc"], pool, primary=pool.threads == FIRST_ASKED and name == best)
        for by_strategy in cells.values()
        if "alloc" in by_strategy
        for best in [next((name for name in BEST_KNOWN if name in by_strategy), None)]
        for name, pool in by_strategy.items()
        if STRATEGIES[name].is_pool
    ]


def catalogue(profile: ThreadsProfile, planned: Sequence[Planned]) -> pd.DataFrame:
    """One row per topology and strategy of each language, with the threads that the profile runs of it."""
    rows = []
    for row in STRATEGIES.values():
        for topology in row.topologies:
            for language in row.languages:
                if why_not(language, topology, (row.layouts or LAYOUTS[language])[0], row.name) is not None:
                    continue
                mine = [
                    (item.spec, item.unavailable)
                    for item in planned
                    if isinstance(item.spec, ThreadsSpec)
                    and (item.spec.language, item.spec.topology, item.spec.strategy) == (language, topology, row.name)
                ]
                gaps = sorted({unavailable for _, unavailable in mine if unavailable})
                runs = sorted({spec.threads for spec, unavailable in mine if not unavailable})
                rows.append({
                    "language": language, "topology": topology, "strategy": row.name, "means": row.means,
                    "planned": bool(runs), "threads": ", ".join(map(str, runs)),
                    "left_out_because": "; ".join(gaps) or (None if runs else f"not in profile {profile.profile}"),
                })  # fmt: skip
    return pd.DataFrame(rows)


STUDY = Study(
    name="threads",
    notebook="10_threads",
    question="With many threads, who frees what another one allocated, and what does that cost?",
    modes=(
        Mode(
            ThreadsSpec,
            ThreadsMeasurement,
            summarise_threads,
            "mode=threads topology=sharded threads=2 language=java layout=heap strategy=alloc runtime=25 collector=g1 "
            "case=B scale=0.1 packets=2000000",
        ),
        Mode(
            ThreadsSearchSpec,
            SearchMeasurement,
            summarise_search,
            "mode=threads_search topology=sharded threads=2 language=java strategy=owner scale=0.1 seconds=1",
        ),
        Mode(
            SharingSpec,
            SharingMeasurement,
            summarise_sharing,
            "mode=threads_sharing topology=pipeline threads=2 strategy=mpmc padded=false",
        ),
    ),
    profile_model=ThreadsProfile,
    plan=plan_threads,
    tidy=tidy_threads,
    schemas=SCHEMAS,
    catalogue=catalogue,
    questions=questions,
    cost=cost_of,
    readable=replace(READABLE, cost="cpu_ns_per_message"),
)
