"""Study 4, native: how far is pooling from what the hardware allows, and what does each step of the way buy?

Trials of mode batch, in named groups: the *ladder* from layout ``flat`` to ``slab`` step by step, *allocators* that
serve ``new``, memory *resources* in its place; Java's flat layouts on every kind of collector, what *options* of the
JVM change, what no collection at all costs, and the pools of *libraries*. Trials of mode counters say in events per
packet why. What this machine can't run is a row that says how to get there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import pandas as pd
from pydantic import BaseModel, ConfigDict, Field

from allocpool.campaign.study import Machine, Mode, Planned, Study
from allocpool.packets.batch import Selection, Sizes, catalogue_of, plan_block
from allocpool.packets.columns import as_now
from allocpool.packets.layouts import JAVA_LAYOUTS, LAYOUTS
from allocpool.packets.specs import ALLOCATORS, RESOURCES, SLAB_STEPS, Case, Solution, SolutionKey
from allocpool.packets.strategies import StrategyName
from allocpool.runtimes.collectors import collectors_on
from allocpool.studies.native.measurement import CountersMeasurement
from allocpool.studies.native.specs import Counter, CountersSpec
from allocpool.studies.native.tables import SCHEMAS, summarise_counters, tidy_native


class CountersSelection(BaseModel):
    """What is counted, once: every solution x strategy x case, in the first block."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    hardware: tuple[SolutionKey, ...] = ()
    simulated: tuple[SolutionKey, ...] = ()
    strategies: tuple[StrategyName, ...] = ("pool",)
    cases: tuple[Case, ...] = ("B",)
    packets: int = Field(ge=1_000, le=10**9)


class NativeProfile(Sizes):
    """A native campaign: named selections, each planned in every block; a configuration of two groups runs once."""

    groups: dict[str, Selection] = Field(min_length=1)
    counters: CountersSelection | None = None


def ladder() -> tuple[str, ...]:
    """Keys of the rungs from ``flat`` to the whole ``slab``: each is the one before with one step more."""
    rungs = ("+".join(SLAB_STEPS[: count + 1]) for count in range(len(SLAB_STEPS) - 1))
    return ("cpp/flat/glibc", *(f"cpp/slab/glibc/{steps}" for steps in rungs), "cpp/slab/glibc")


def plan_native(profile: NativeProfile, _machine: Machine) -> list[Planned]:
    """What is counted, then every configuration of every group, block after block."""
    planned = [*_counted(profile)]
    for block in range(profile.blocks):
        once = {item.spec: item for group in profile.groups.values() for item in plan_block(profile, group, block)}
        planned += list(once.values())
    return planned


def _counted(profile: NativeProfile) -> Iterator[Planned]:
    asked = profile.counters
    if asked is None:
        return
    counters: dict[Counter, tuple[str, ...]] = {"hardware": asked.hardware, "simulated": asked.simulated}
    for counter, keys in counters.items():
        for key, strategy, case in product(keys, asked.strategies, asked.cases):
            settings = Solution.parse(key).model_dump(exclude_none=True)
            yield Planned(
                CountersSpec(
                    **settings, counter=counter, packets=asked.packets, strategy=strategy, case=case,
                    scale=profile.scale, timeout_s=profile.timeout_s,
                )
            )  # fmt: skip


def _every_key() -> Iterator[str]:
    yield from ladder()
    for layout in LAYOUTS["cpp"]:
        if layout != "slab":
            yield from (f"cpp/{layout}/{name}" for name in ALLOCATORS if layout == "flat" or name not in RESOURCES)
    for name, java in JAVA_LAYOUTS.items():
        yield f"java/{name}/g1/25"
        if not java.parse_bytes:
            yield from (f"java/{name}/{collector}/25" for collector in collectors_on(25) if collector != "g1")


def catalogue(profile: NativeProfile, planned: Sequence[Planned]) -> pd.DataFrame:
    """One row per solution of the study, with what the profile runs of it and why the rest is left out."""
    asked = [key for group in profile.groups.values() for key in group.solutions]
    return catalogue_of(profile.profile, asked, _every_key(), planned)


STUDY = Study(
    name="native",
    notebook="05_native",
    question="How far is pooling from what the hardware allows?",
    modes=(
        Mode(
            CountersSpec,
            CountersMeasurement,
            summarise_counters,
            "mode=counters counter=simulated layout=slab strategy=pool case=B scale=0.1 packets=1000000",
        ),
    ),
    profile_model=NativeProfile,
    plan=plan_native,
    tidy=tidy_native,
    schemas=SCHEMAS,
    catalogue=catalogue,
    as_now=as_now,
)
