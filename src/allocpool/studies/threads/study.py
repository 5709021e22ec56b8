"""Study 10, many threads: who frees what another one allocated?

A receiver obtains a message, a worker frees it; strategies differ in what threads share for that. A plan reports where
it asks for more threads than the machine has processors: then they take turns.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Annotated, Any

import pandas as pd
from pydantic import BaseModel, ConfigDict, Field, model_validator

from allocpool.campaign.schedule import GIVEN_UP_AFTER, Question
from allocpool.campaign.study import Machine, Mode, Planned, Study, StudyProfile
from allocpool.packets.labels import READABLE
from allocpool.packets.specs import Case
from allocpool.studies.realtime.adaptive import AdaptiveJudge, Seen, next_interval, shown_by
from allocpool.studies.realtime.specs import HIGHEST_INTERVAL_NS, LOWEST_INTERVAL_NS
from allocpool.studies.threads import tables
from allocpool.studies.threads.measurement import SharingMeasurement, ThreadsMeasurement
from allocpool.studies.threads.specs import (
    FIRST_WITH_VIRTUAL_THREADS,
    MOST_THREADS,
    UNPADDED,
    SharingSpec,
    ThreadsSpec,
)
from allocpool.studies.threads.strategies import BEST_KNOWN, LAYOUTS, STRATEGIES, StrategyName, Topology, why_not
from allocpool.trial.record import TrialRecord
from allocpool.trial.spec import TrialSpec

FIRST_ASKED = 2
"""Threads of the primary questions: as few as share anything, and as many as most machines have."""
PLACED = 15
"""Adaptive trials of a cell before a question asks for more."""
_FORMS = {"java": ("layout", "collector", "runtime"), "cpp": ("layout", "allocator")}


class Group(BaseModel):
    """Every strategy that makes sense, on every one of these."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    topologies: tuple[Topology, ...] = Field(min_length=1)
    threads: tuple[Annotated[int, Field(ge=1, le=MOST_THREADS)], ...] = Field(min_length=1, description="workers")
    java: tuple[str, ...] = Field(default=(), description="LAYOUT/COLLECTOR/RUNTIME")
    cpp: tuple[str, ...] = Field(default=(), description="LAYOUT/ALLOCATOR")
    strategies: tuple[StrategyName, ...] = Field(min_length=1)
    case: Case = "B"
    intervals_ns: tuple[float, ...] = Field(default=(), description="real time at these intervals; none: batch")
    adaptive: bool = Field(default=False, description="real time, each trial near the minimum sustainable interval")
    unpadded: bool = Field(default=False, description="each also with its cells side by side, where it has that form")
    counted: bool = Field(default=False, description="each also with hardware counters, where they can be read")
    simulated: bool = Field(default=False, description="C++ before a simulated cache, once, for it has no time")
    turns: tuple[int, ...] = Field(
        default=(16,), min_length=1, description="simulated: accesses of a thread before another one's turn"
    )
    crowded: bool = Field(default=False, description="also where threads are more than processors")

    @model_validator(mode="after")
    def _makes_trials(self) -> Group:
        if not self.java and not self.cpp:
            raise ValueError("give java: [LAYOUT/COLLECTOR/RUNTIME, ...] or cpp: [LAYOUT/ALLOCATOR, ...]")
        if self.simulated and self.java:
            raise ValueError("a simulated cache sees C++ alone: give cpp: [LAYOUT/ALLOCATOR, ...] without java")
        for settings in self.configurations():
            if settings["layout"] not in LAYOUTS[settings["language"]]:
                raise ValueError(why_not(settings["language"], "sharded", settings["layout"], "alloc"))
        for settings in self.cells():
            ThreadsSpec(**{**settings, "threads": 1}, packets=1)
        return self

    def configurations(self) -> Iterator[dict[str, Any]]:
        """Yield the settings of each configuration."""
        for language, form in _FORMS.items():
            for text in getattr(self, language):
                words: list[Any] = text.split("/")
                if len(words) != len(form) or (language == "java" and not words[-1].isdigit()):
                    raise ValueError(f"{text!r} is not {'/'.join(form).upper()}, for example heap/g1/25 or heap/glibc")
                if language == "java":
                    words[-1] = int(words[-1])
                yield {"language": language, **dict(zip(form, words, strict=True))}

    def cells(self) -> Iterator[dict[str, Any]]:
        """Yield the settings of each configuration with each topology, strategy and number of threads that it has."""
        each = itertools.product(self.configurations(), self.topologies, self.strategies, self.threads)
        for settings, topology, strategy, threads in each:
            too_old = topology == "virtual" and settings.get("runtime", 0) < FIRST_WITH_VIRTUAL_THREADS
            if not too_old and why_not(settings["language"], topology, settings["layout"], strategy) is None:
                yield {**settings, "topology": topology, "strategy": strategy, "threads": threads}


class ThreadsProfile(StudyProfile):
    """Named groups, all planned in every block; a configuration of two groups runs once."""

    groups: dict[str, Group] = Field(min_length=1)
    scale: float = Field(gt=0, le=4)
    seconds: float = Field(gt=0, le=3600)
    warmup_seconds: float = Field(ge=0, le=600)
    cores: int | None = Field(default=None, ge=1, le=MOST_THREADS, description="processors to plan for; those here")


def plan_threads(profile: ThreadsProfile, machine: Machine) -> list[Planned]:
    """Return every configuration in every block; those with more threads than processors say so."""
    cores = profile.cores or machine.cores
    crowded = {
        pair
        for group in profile.groups.values()
        if group.crowded
        for pair in itertools.product(group.topologies, group.threads)
    }
    planned = []
    for block in range(profile.blocks):
        specs = dict.fromkeys(spec for group in profile.groups.values() for spec in _specs(profile, group, block))
        planned += [Planned(spec, _too_many(spec, cores, crowded)) for spec in specs]
    return planned


def _too_many(spec: ThreadsSpec | SharingSpec, cores: int, crowded: Collection[tuple[str, int]]) -> str | None:
    if spec.processors <= cores:
        return None
    if spec.interval_ns is not None:
        return f"real time with {spec.threads} threads takes {spec.processors} processors, this machine has {cores}"
    if (spec.topology, spec.threads) in crowded:
        return None
    receiver = " and a receiver" if spec.processors > spec.threads else ""
    return f"{spec.threads} threads{receiver} are more than the {cores} processors of this machine"


def _specs(profile: ThreadsProfile, group: Group, block: int) -> Iterator[ThreadsSpec | SharingSpec]:
    shared: dict[str, Any] = {name: getattr(profile, name) for name in ("scale", "seconds", "warmup_seconds")}
    shared |= {"block": block, "case": group.case}
    for cell in group.cells():
        spacings = (True, False) if group.unpadded and cell["strategy"] in UNPADDED else (True,)
        if group.simulated:
            for padded, turn in itertools.product(spacings, group.turns if block == 0 else ()):
                yield SharingSpec(**cell, padded=padded, turn=turn)
        elif group.adaptive:
            if cell["topology"] != "virtual" and block == 0:
                yield ThreadsSpec(**cell, **shared, interval_ns=_next_interval(()))
        else:
            counted = (False, True) if group.counted else (False,)
            for interval_ns, padded, counts in itertools.product(group.intervals_ns or (None,), spacings, counted):
                yield ThreadsSpec(**cell, **shared, interval_ns=interval_ns, padded=padded, counted=counts)


def _next_interval(seen: Sequence[Seen]) -> float:
    return next_interval(LOWEST_INTERVAL_NS, HIGHEST_INTERVAL_NS, tuple(shown_by(each, 0.0) for each in seen))


def place_trial(
    profile: ThreadsProfile, cell: TrialSpec, block: int, earlier: Sequence[TrialRecord]
) -> TrialSpec | None:
    """Return the trial of a cell in a block: in real time at the interval where those before leave most open, none once
    its first ones all failed; in batch as planned."""
    if not isinstance(cell, ThreadsSpec) or cell.interval_ns is None:
        goes_on = block < profile.blocks or profile.schedule == "sequential"
        return cell.model_copy(update={"block": block}) if goes_on else None
    seen = [each for record in earlier if record.status == "ok" and (each := tables.seen_in(record))]
    if not seen and sum(record.status != "ok" for record in earlier) >= GIVEN_UP_AFTER:
        return None
    return cell.model_copy(update={"block": block, "interval_ns": _next_interval(seen)})


def questions(profile: ThreadsProfile, machine: Machine) -> list[Question[TrialSpec]]:
    """Return allocation against each pool, by the CPU of a packet, where both are planned for the same threads. Primary
    against the best-known pool at two threads, which no other study asks; of one thread the batch study asks it first.
    Then, of adaptive trials, whether allocating keeps up with a smaller interval.
    """
    cells: dict[ThreadsSpec, dict[str, ThreadsSpec]] = {}
    placed = {spec for group in profile.groups.values() if group.adaptive for spec in _specs(profile, group, 0)}
    for item in plan_threads(profile, machine):
        spec = item.spec
        if not isinstance(spec, ThreadsSpec) or spec.block or item.unavailable:
            continue
        if spec in placed or (spec.interval_ns is None and spec.padded and not spec.counted):
            alike = spec.model_copy(update={"strategy": "", "pool_size": 0, "direct_mb": 0, "heap_mb": 0})
            cells.setdefault(alike, {})[spec.strategy] = spec
    asked: list[Question[TrialSpec]] = []
    about, judge = "minimum sustainable inter-arrival time", AdaptiveJudge(0.0)
    for by_strategy in cells.values():
        alloc = by_strategy.get("alloc")
        best = next((name for name in BEST_KNOWN if name in by_strategy), None)
        for name, pool in by_strategy.items():
            if alloc is None or not STRATEGIES[name].is_pool:
                continue
            if pool.interval_ns is None:
                asked.append(Question(alloc, pool, primary=name == best and pool.threads == FIRST_ASKED))
            else:
                asked.append(Question(alloc, pool, primary=False, judge=judge, fewest=PLACED, about=about))
    return asked


def catalogue(profile: ThreadsProfile, planned: Sequence[Planned]) -> pd.DataFrame:
    """Return a row per topology and strategy of each language, with the threads that the profile runs of it."""
    threads: dict[tuple[str, str, str], list[tuple[int, str | None]]] = {}
    for item in planned:
        if isinstance(spec := item.spec, ThreadsSpec):
            key = (spec.language, spec.topology, spec.strategy)
            threads.setdefault(key, []).append((spec.threads, item.unavailable))
    rows = []
    for row in STRATEGIES.values():
        for topology, language in itertools.product(row.topologies, row.languages):
            if why_not(language, topology, (row.layouts or LAYOUTS[language])[0], row.name) is not None:
                continue
            mine = threads.get((language, topology, row.name), [])
            runs = sorted({count for count, unavailable in mine if not unavailable})
            gaps = sorted({unavailable for _, unavailable in mine if unavailable})
            rows.append({
                "language": language, "topology": topology, "strategy": row.name, "means": row.means,
                "planned": bool(runs), "threads": ", ".join(map(str, runs)),
                "left_out_because": "; ".join(gaps) or (None if runs else f"not in profile {profile.profile}"),
            })  # fmt: skip
    return pd.DataFrame(rows)


STUDY = Study(
    name="threads",
    notebook="10_threads",
    question="With many threads, who frees what another one allocated?",
    modes=(
        Mode(
            ThreadsSpec, ThreadsMeasurement, tables.summarise_threads,
            "mode=threads topology=sharded threads=2 language=java layout=heap strategy=alloc runtime=25 collector=g1 "
            "case=B scale=0.1 packets=2000000",
        ),
        Mode(
            SharingSpec, SharingMeasurement, tables.sharing_row,
            "mode=threads_sharing topology=pipeline threads=2 strategy=mpmc padded=false",
        ),
    ),
    profile_model=ThreadsProfile,
    plan=plan_threads,
    tidy=tables.tidy_threads,
    schemas=tables.SCHEMAS,
    catalogue=catalogue,
    questions=questions,
    cost=tables.cost_of,
    paced={"trials": "cpu_ns_per_packet"},
    adaptive=place_trial,
    readable=replace(READABLE, cost="cpu_ns_per_message"),
)  # fmt: skip
