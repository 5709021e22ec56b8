"""Study 4, native: how far is pooling from what the hardware allows, and what does each optimisation step buy?

Trials of mode batch, in named groups: steps from layout ``flat`` to ``slab``, allocators, Java's flat layouts, options
of the JVM, the pools of libraries. Trials of mode counters count events per packet.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise, product

import pandas as pd
from pydantic import BaseModel, ConfigDict, Field

from allocpool.campaign.schedule import Question
from allocpool.campaign.study import Machine, Mode, Planned, Study
from allocpool.packets.batch import Selection, Sizes, catalogue_of, plan_groups, rivals, timed
from allocpool.packets.columns import cost_of
from allocpool.packets.labels import READABLE
from allocpool.packets.specs import ALLOCATORS, RESOURCES, Case, Configuration, ConfigurationKey
from allocpool.packets.strategies import JAVA_LAYOUTS, LAYOUTS, STEPS, Language, StrategyName
from allocpool.runtimes.collectors import collectors_on
from allocpool.studies.native.measurement import CountersMeasurement
from allocpool.studies.native.specs import Counter, CountersSpec
from allocpool.studies.native.tables import SCHEMAS, summarise_counters, tidy_native
from allocpool.trial.spec import TrialSpec


class CountersSelection(BaseModel):
    """Every configuration x strategy x case that is counted: by simulation once, which is exact, by the processor in
    every block."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    hardware: tuple[ConfigurationKey, ...] = ()
    simulated: tuple[ConfigurationKey, ...] = ()
    strategies: tuple[StrategyName, ...] = ("pool",)
    cases: tuple[Case, ...] = ("B",)
    packets: int = Field(ge=1_000, le=10**9)


class NativeProfile(Sizes):
    """A native campaign: named selections, each planned in every block; a configuration of two groups runs once."""

    groups: dict[str, Selection] = Field(min_length=1)
    counters: CountersSelection | None = None


def optimisation_steps(language: Language) -> dict[str, str]:
    """Return configuration keys by the step that each adds to the one before, from separate buffers to one region with
    all steps.

    Java has no ``inline``: its buffers are slices of one direct buffer. Its huge pages are an option of the JVM.
    """
    cpp = language == "cpp"
    keys = {"separate": "cpp/flat/glibc" if cpp else "java/native/g1/25"}
    keys |= {STEPS[0]: "cpp/flat/glibc/inline"} if cpp else {}
    base = "cpp/slab/glibc" if cpp else "java/flat/g1/25"
    for count in range(1, len(STEPS)):
        on = [step for step in STEPS[1 : count + 1] if cpp or step != "huge_pages"]
        pages = "" if cpp or count < STEPS.index("huge_pages") else "/large_pages"
        keys[STEPS[count]] = Configuration.parse(f"{base}/{'+'.join(on)}{pages}").key
    return keys


def plan_native(profile: NativeProfile, _machine: Machine) -> list[Planned]:
    """Plan what is counted, then every configuration of every group, block after block."""
    return [*_counted(profile), *plan_groups(profile, profile.groups.values())]


def _counted(profile: NativeProfile) -> Iterator[Planned]:
    if (asked := profile.counters) is None:
        return
    counters: dict[Counter, tuple[str, ...]] = {"hardware": asked.hardware, "simulated": asked.simulated}
    for counter, keys in counters.items():
        blocks = range(profile.blocks if counter == "hardware" else 1)
        for block, key, strategy, case in product(blocks, keys, asked.strategies, asked.cases):
            settings = Configuration.parse(key).model_dump(exclude_none=True)
            yield Planned(
                CountersSpec(
                    **settings, counter=counter, packets=asked.packets, strategy=strategy, case=case,
                    scale=profile.scale, timeout_s=profile.timeout_s, block=block,
                )
            )  # fmt: skip


def _every_key() -> Iterator[str]:
    yield from optimisation_steps("cpp").values()
    yield from optimisation_steps("java").values()
    for layout in LAYOUTS["cpp"]:
        if layout != "slab":
            yield from (f"cpp/{layout}/{name}" for name in ALLOCATORS if layout == "flat" or name not in RESOURCES)
    for name, java in JAVA_LAYOUTS.items():
        yield f"java/{name}/g1/25"
        if not java.parse_bytes:
            yield from (f"java/{name}/{collector}/25" for collector in collectors_on(25) if collector != "g1")


def questions(profile: NativeProfile, machine: Machine) -> list[Question[TrialSpec]]:
    """Return as primary: allocate or pool, where both are planned. Then each optimisation step against the one
    before."""
    specs = timed(plan_native(profile, machine))
    cells = {(spec.configuration.key, spec.strategy, spec.case): spec for spec in specs if spec.block == 0}
    languages: tuple[Language, ...] = ("cpp", "java")
    steps: list[Question[TrialSpec]] = [
        Question(cells[after, strategy, case], cells[before, strategy, case], primary=False)
        for language in languages
        for before, after in pairwise(Configuration.parse(key).key for key in optimisation_steps(language).values())
        for key, strategy, case in cells
        if key == after and (before, strategy, case) in cells
    ]
    return [*rivals(specs, "alloc", "pool"), *steps]


def catalogue(profile: NativeProfile, planned: Sequence[Planned]) -> pd.DataFrame:
    """Return the configurations of the study, with what the profile runs of it and why the rest is left out."""
    asked = [key for group in profile.groups.values() for key in group.configurations]
    return catalogue_of(profile.profile, asked, _every_key(), planned)


STUDY = Study(
    name="native",
    notebook="05_native",
    question="How far is pooling from what the hardware allows?",
    modes=(
        Mode(
            CountersSpec, CountersMeasurement, summarise_counters,
            "mode=counters counter=simulated layout=slab strategy=pool case=B scale=0.1 packets=1000000",
        ),
    ),
    profile_model=NativeProfile,
    plan=plan_native,
    tidy=tidy_native,
    schemas=SCHEMAS,
    catalogue=catalogue,
    questions=questions,
    cost=cost_of,
    paced={"trials": "ns_per_packet"},
    readable=READABLE,
)  # fmt: skip
