"""Study 6, allocation: what does a buffer cost, to obtain, to write to, and to live with many of mixed sizes?

A profile lists groups; each is a product of what its keys name. ``served_by`` says what serves the memory: an allocator
for C++ (``jemalloc``), collector and runtime for Java (``g1/25``).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Self

import pandas as pd
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from allocpool.campaign.schedule import Question
from allocpool.campaign.study import Machine, Mode, Planned, Readable, Study, StudyProfile, spelled
from allocpool.errors import from_validation, unknown_choice
from allocpool.machine.allocators import ALLOCATORS
from allocpool.runtimes.collectors import FEATURES, collectors_on, require_combination
from allocpool.runtimes.discovery import known_releases
from allocpool.studies.allocation.measurement import (
    AccessMeasurement,
    AllocationMeasurement,
    FragmentationMeasurement,
    JmhMeasurement,
)
from allocpool.studies.allocation.specs import (
    CHURNED,
    DISTRIBUTIONS,
    FOREIGN_MODULE,
    JMH_TECHNIQUES,
    MEMORIES,
    OBTAINED,
    OPERATIONS,
    TECHNIQUES,
    AccessSpec,
    AllocationSpec,
    BufferSpec,
    FragmentationSpec,
    JmhSpec,
    Technique,
)
from allocpool.studies.allocation.tables import SCHEMAS, cost_of, summarise_buffers, tidy_allocation
from allocpool.trial.spec import TrialSpec

SIZES = (64, 1024, 10_240, 102_400, 2**20)
"""From smallest to largest; the published three among them."""
_SETTINGS = {
    "techniques": "technique", "strategies": "strategy", "bytes": "bytes", "touches": "touch", "memories": "memory",
    "operations": "operation", "distributions": "distribution",
}  # fmt: skip
"""What each list of a group names, as a setting of a spec."""


def _machine(on: str) -> dict[str, Any]:
    """Return what serves the memory, as settings of a spec.

    Raises:
        ValueError: another form, or an unknown word; one line.
    """
    collector, slash, feature = on.partition("/")
    if not slash:
        if on not in ALLOCATORS:
            raise ValueError(f"{unknown_choice('allocator', on, ALLOCATORS)}, or COLLECTOR/RUNTIME for Java")
        return {"allocator": on}
    if not feature.isdigit():
        raise ValueError(f"{on!r} is not COLLECTOR/RUNTIME, for example g1/25")
    require_combination(collector, int(feature))
    return {"collector": collector, "runtime": int(feature)}


class _Group(BaseModel):
    """Lists of settings; ``settings`` multiplies them out."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    SPEC: ClassVar[type[BufferSpec]]
    served_by: tuple[str, ...] = Field(min_length=1)

    def settings(self) -> Iterator[dict[str, Any]]:
        """Yield every combination, as settings of a spec."""
        lists = {_SETTINGS[name]: getattr(self, name) for name in type(self).model_fields if name in _SETTINGS}
        for on, *values in itertools.product(self.served_by, *lists.values()):
            yield {**_machine(on), **dict(zip(lists, values, strict=True))}

    @model_validator(mode="after")
    def _holds_together(self) -> Self:
        for settings in self.settings():
            try:
                self.SPEC(**settings)
            except ValidationError as error:
                raise ValueError(str(from_validation("group", error, self.SPEC))) from None
        return self


class AllocationGroup(_Group):
    SPEC: ClassVar[type[BufferSpec]] = AllocationSpec
    techniques: tuple[str, ...] = Field(min_length=1)
    strategies: tuple[str, ...] = ("alloc",)
    bytes: tuple[int, ...] = SIZES
    touches: tuple[str, ...] = ("none",)


class AccessGroup(_Group):
    SPEC = AccessSpec
    memories: tuple[str, ...] = Field(min_length=1)
    operations: tuple[str, ...] = OPERATIONS
    bytes: tuple[int, ...] = (102_400,)


class FragmentationGroup(_Group):
    SPEC = FragmentationSpec
    techniques: tuple[str, ...] = Field(min_length=1)
    distributions: tuple[str, ...] = DISTRIBUTIONS


class JmhGroup(AllocationGroup):
    SPEC = JmhSpec
    techniques: tuple[str, ...] = JMH_TECHNIQUES


class AllocationProfile(StudyProfile):
    """An allocation campaign: groups of each kind, planned in every block; what two groups share runs once."""

    seconds: float = Field(gt=0, le=3600)
    warmup_seconds: float = Field(ge=0, le=600)
    iteration_ms: float = Field(default=20.0, gt=0, le=10_000)
    live_mb: float = Field(default=16.0, gt=0, description="alive at the end of a round of allocation, MiB")
    churn_live_mb: int = Field(default=64, gt=0, description="alive in a trial of fragmentation, MiB")
    turnovers: float = Field(default=20.0, gt=0, description="bytes allocated over bytes alive, in fragmentation")
    windows: int = Field(default=60, ge=6, le=10_000)
    idle_seconds: float = Field(default=0.5, ge=0, le=600)
    timeout_s: float = Field(default=120.0, gt=0)
    allocation: tuple[AllocationGroup, ...] = ()
    access: tuple[AccessGroup, ...] = ()
    fragmentation: tuple[FragmentationGroup, ...] = ()
    jmh: tuple[JmhGroup, ...] = ()


def plan_allocation(profile: AllocationProfile, _machine: Machine) -> list[Planned]:
    """Return every configuration of every group, block after block."""
    planned: list[Planned] = []
    for block in range(profile.blocks):
        planned += [Planned(spec) for spec in dict.fromkeys(_block(profile, block))]
    return planned


def _block(profile: AllocationProfile, block: int) -> Iterator[BufferSpec]:
    def of(names: Sequence[str], **settings: Any) -> dict[str, Any]:
        return {name: getattr(profile, name) for name in ("timeout_s", *names)} | {"block": block, **settings}

    timed = of(("seconds", "warmup_seconds", "iteration_ms"))
    rounds = {**timed, "live_mb": profile.live_mb}
    churn = of(("turnovers", "windows", "idle_seconds"), live_mb=profile.churn_live_mb)
    kinds: list[tuple[Sequence[_Group], dict[str, Any]]] = [
        (profile.allocation, rounds), (profile.access, timed), (profile.fragmentation, churn), (profile.jmh, rounds),
    ]  # fmt: skip
    for groups, shared in kinds:
        for group in groups:
            yield from (group.SPEC(**shared, **settings) for settings in group.settings())


def questions(profile: AllocationProfile, machine: Machine) -> list[Question[TrialSpec]]:
    """Return first fresh buffers or those of a pool, for each technique, size and what serves it. Then each way to come
    by a fresh buffer against the first that is planned for the size."""
    specs = [item.spec for item in plan_allocation(profile, machine) if item.spec.block == 0]
    rounds = [spec for spec in specs if isinstance(spec, AllocationSpec)]
    pools = {(s.technique, s.label, s.bytes, s.touch): s for s in rounds if s.strategy == "pool"}
    fresh = {(s.technique, s.label, s.bytes, s.touch): s for s in rounds if s.strategy == "alloc"}
    first: dict[tuple[int, str], AllocationSpec] = {}
    for spec in fresh.values():
        first.setdefault((spec.bytes, spec.touch), spec)
    primary: list[Question[TrialSpec]] = [Question(spec, pools[key]) for key, spec in fresh.items() if key in pools]
    others: list[Question[TrialSpec]] = [
        Question(spec, other, primary=False)
        for spec in fresh.values()
        if (other := first[spec.bytes, spec.touch]) is not spec
    ]
    return [*primary, *others]


def every_key() -> Iterator[tuple[str, str]]:
    """Yield (mode, what and on what) of the study: each technique with every allocator or collector that it runs on."""
    for mode, names in (("allocation", OBTAINED), ("access", MEMORIES), ("fragmentation", CHURNED)):
        for name in names:
            for on in _machines(TECHNIQUES[name]):
                yield mode, f"{name} on {on}"


def _machines(technique: Technique) -> Iterator[str]:
    if technique.language == "cpp":
        yield from ALLOCATORS
        return
    for feature in known_releases()[-1:] if technique.module == FOREIGN_MODULE else FEATURES:
        yield from (f"{collector}/{feature}" for collector in collectors_on(feature))


def catalogue(profile: AllocationProfile, planned: Sequence[Planned]) -> pd.DataFrame:
    """Return a row per mode, technique or memory, and what serves it; ``left_out_because`` where the profile has
    none."""
    asked: dict[tuple[str, str], str | None] = {}
    for item in planned:
        if isinstance(spec := item.spec, BufferSpec):
            on = spec.allocator or f"{spec.collector}/{spec.runtime}"
            asked[spec.mode, f"{spec.source.name} on {on}"] = item.unavailable
    rows = []
    for mode, key in dict.fromkeys([*every_key(), *asked]):
        left_out = None if (mode, key) in asked else f"profile {profile.profile} leaves it out"
        rows.append({
            "configuration": key, "key": f"{mode}: {key}", "mode": mode, "planned": (mode, key) in asked,
            "left_out_because": left_out, "unavailable_because": asked.get((mode, key)),
        })  # fmt: skip
    return pd.DataFrame(rows)


def labelled(table: pd.DataFrame) -> pd.DataFrame:
    """Return rows of trials with labels that a stranger reads."""
    return table.assign(served_by=table["served_by"].map(spelled)) if "served_by" in table else table


STUDY = Study(
    name="allocation",
    notebook="06_allocation_speed",
    question="What does a buffer cost: to obtain, to write to, and to live with many of mixed sizes?",
    modes=(
        Mode(
            AllocationSpec,
            AllocationMeasurement,
            summarise_buffers,
            "mode=allocation technique=malloc allocator=glibc bytes=1024 touch=none seconds=1",
        ),
        Mode(
            AccessSpec,
            AccessMeasurement,
            summarise_buffers,
            "mode=access memory=heap runtime=25 collector=g1 operation=write bytes=102400 seconds=1",
        ),
        Mode(
            FragmentationSpec,
            FragmentationMeasurement,
            summarise_buffers,
            "mode=fragmentation technique=malloc allocator=jemalloc distribution=phases live_mb=64",
        ),
        Mode(
            JmhSpec,
            JmhMeasurement,
            summarise_buffers,
            "mode=jmh technique=byte_array runtime=25 collector=g1 bytes=1024 seconds=1",
        ),
    ),
    profile_model=AllocationProfile,
    plan=plan_allocation,
    tidy=tidy_allocation,
    schemas=SCHEMAS,
    catalogue=catalogue,
    questions=questions,
    cost=cost_of,
    paced={"trials": "ns_per_buffer"},
    readable=Readable(cost="ns_per_buffer", columns={"served_by": "configuration"}, label=labelled),
)
