"""Study 6, allocation: what does a buffer cost, to obtain, to write to, and to live with many of mixed sizes?

A profile lists groups; each is a product of what its keys name. ``served_by`` says what serves the memory: an allocator
for C++ (``jemalloc``), collector and runtime for Java (``g1/25``).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, Self

import pandas as pd
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from allocpool.campaign.schedule import Question
from allocpool.campaign.study import Machine, Mode, Planned, Readable, Study, StudyProfile, spelled
from allocpool.errors import from_validation, unknown_choice
from allocpool.machine.allocators import ALLOCATORS
from allocpool.runtimes.collectors import FEATURES, collectors_on, require_combination
from allocpool.runtimes.discovery import known_releases
from allocpool.studies.allocation import measurement, specs, tables
from allocpool.studies.allocation.specs import AccessSpec, AllocationSpec, BufferSpec, FragmentationSpec, JmhSpec
from allocpool.trial.spec import TrialSpec

_TIMED = ("seconds", "warmup_seconds", "iteration_ms")
_KINDS: dict[str, tuple[type[BufferSpec], tuple[str, ...]]] = {
    "allocation": (AllocationSpec, (*_TIMED, "live_mb")),
    "grow": (specs.GrowSpec, ()),
    "access": (AccessSpec, _TIMED),
    "fragmentation": (FragmentationSpec, ("turnovers", "windows", "idle_seconds")),
    "jmh": (JmhSpec, (*_TIMED, "live_mb")),
}
"""By kind of group: what it plans, and what all groups of the kind take from the profile."""
_SETTINGS = {
    "techniques": "technique", "memories": "memory", "operations": "operation", "distributions": "distribution",
    "strategies": "strategy", "bytes": "bytes", "touches": "touch",
}  # fmt: skip
"""What each list of a group names, as a setting of a spec."""
_EVERY = {"operation": specs.OPERATIONS, "distribution": specs.DISTRIBUTIONS}
"""What a group without a list has of a setting; of others the spec's default."""


def _machine(on: str) -> dict[str, Any]:
    """Return what serves the memory, as settings of a spec; ValueError, in one line, where it is not known."""
    collector, slash, feature = on.partition("/")
    if not slash:
        if on not in ALLOCATORS:
            raise ValueError(f"{unknown_choice('allocator', on, ALLOCATORS)}, or COLLECTOR/RUNTIME for Java")
        return {"allocator": on}
    if not feature.isdigit():
        raise ValueError(f"{on!r} is not COLLECTOR/RUNTIME, for example g1/25")
    require_combination(collector, int(feature))
    return {"collector": collector, "runtime": int(feature)}


class Group(BaseModel):
    """Lists of settings to multiply out: those that the specs of its kind have."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    served_by: tuple[str, ...] = Field(min_length=1)
    techniques: tuple[str, ...] = ()
    memories: tuple[str, ...] = ()
    operations: tuple[str, ...] = ()
    distributions: tuple[str, ...] = ()
    strategies: tuple[str, ...] = ()
    bytes: tuple[int, ...] = ()
    touches: tuple[str, ...] = ()

    def specs(self, kind: str, shared: dict[str, Any]) -> Iterator[BufferSpec]:
        """Yield every combination; ValueError, in one line, where a kind has no such setting or value."""
        model, _ = _KINDS[kind]
        lists = {setting: getattr(self, name) for name, setting in _SETTINGS.items()}
        every = {name: value for name, value in _EVERY.items() if name in model.model_fields}
        lists = {name: values or every.get(name) for name, values in lists.items() if values or name in every}
        try:
            for on, *values in itertools.product(self.served_by, *lists.values()):
                yield model(**shared, **_machine(on), **dict(zip(lists, values, strict=True)))
        except ValidationError as error:
            raise ValueError(str(from_validation(f"group of {kind}", error, model))) from None


class AllocationProfile(StudyProfile):
    """An allocation campaign: groups of each kind, planned in every block; what two groups share runs once."""

    seconds: float = Field(gt=0, le=3600)
    warmup_seconds: float = Field(ge=0, le=600)
    iteration_ms: float = Field(default=20.0, gt=0, le=10_000)
    live_mb: float = Field(default=16.0, gt=0, description="alive at the end of a round of allocation, MiB")
    grow_scale: float = Field(
        default=1.0, gt=0, le=1, description="of mode grow: factor on the source's sizes, or what half the memory takes"
    )
    churn_live_mb: int = Field(default=64, gt=0, description="alive in a trial of fragmentation, MiB")
    turnovers: float = Field(default=20.0, gt=0, description="bytes allocated over bytes alive, in fragmentation")
    windows: int = Field(default=60, ge=6, le=10_000)
    idle_seconds: float = Field(default=0.5, ge=0, le=600)
    timeout_s: float = Field(default=120.0, gt=0)
    allocation: tuple[Group, ...] = ()
    grow: tuple[Group, ...] = ()
    access: tuple[Group, ...] = ()
    fragmentation: tuple[Group, ...] = ()
    jmh: tuple[Group, ...] = ()

    @model_validator(mode="after")
    def _groups_hold_together(self) -> Self:
        for kind in _KINDS:
            for group in getattr(self, kind):
                list(group.specs(kind, {}))
        return self


def plan_allocation(profile: AllocationProfile, machine: Machine) -> list[Planned]:
    """Return every configuration of every group, block after block."""
    planned: list[Planned] = []
    for block in range(profile.blocks):
        planned += [Planned(spec) for spec in dict.fromkeys(_block(profile, machine, block))]
    return planned


def _block(profile: AllocationProfile, machine: Machine, block: int) -> Iterator[BufferSpec]:
    for kind, (_, names) in _KINDS.items():
        shared = {name: getattr(profile, name) for name in ("timeout_s", *names)} | {"block": block}
        if kind == "fragmentation":
            shared["live_mb"] = profile.churn_live_mb
        if kind == "grow":
            # Two digits, so that memory which the kernel keeps for itself is another plan on another machine only.
            fits = 0.5 * machine.memory_mb / (specs.SOURCE_HEAP_MB + specs.SOURCE_MB)
            shared["scale"] = min(profile.grow_scale, float(f"{fits:.2g}"))
        for group in getattr(profile, kind):
            yield from group.specs(kind, shared)


def questions(profile: AllocationProfile, machine: Machine) -> list[Question[TrialSpec]]:
    """Return first fresh buffers or those of a pool, for each technique, size and what serves it. Then each way to come
    by a fresh buffer against the first that is planned for the size."""
    rounds = [spec for spec in dict.fromkeys(_block(profile, machine, 0)) if isinstance(spec, AllocationSpec)]
    pools = {(s.technique, s.label, s.bytes, s.touch): s for s in rounds if s.strategy == "pool"}
    fresh = {(s.technique, s.label, s.bytes, s.touch): s for s in rounds if s.strategy == "alloc"}
    first: dict[tuple[int, str], AllocationSpec] = {}
    for spec in fresh.values():
        first.setdefault((spec.bytes, spec.touch), spec)
    primary = [Question[TrialSpec](spec, pools[key]) for key, spec in fresh.items() if key in pools]
    others = ((spec, first[spec.bytes, spec.touch]) for spec in fresh.values())
    return primary + [Question(spec, other, primary=False) for spec, other in others if other is not spec]


def _every_key() -> Iterator[tuple[str, str]]:
    """Yield (mode, what and on what) of the study: each technique with every allocator or collector that it runs on."""
    named = {
        "allocation": specs.OBTAINED, "grow": specs.SOURCE_TECHNIQUES, "access": specs.MEMORIES,
        "fragmentation": specs.CHURNED,
    }  # fmt: skip
    for mode, names in named.items():
        for technique in map(specs.TECHNIQUES.__getitem__, names):
            features = known_releases()[-1:] if technique.module == specs.FOREIGN_MODULE else FEATURES
            on_java = (f"{collector}/{feature}" for feature in features for collector in collectors_on(feature))
            for on in ALLOCATORS if technique.language == "cpp" else on_java:
                yield mode, f"{technique.name} on {on}"


def catalogue(profile: AllocationProfile, planned: Sequence[Planned]) -> pd.DataFrame:
    """Return a row per mode, technique or memory, and what serves it; ``left_out_because`` where the profile has
    none."""
    asked: dict[tuple[str, str], str | None] = {}
    for item in planned:
        if isinstance(spec := item.spec, BufferSpec):
            on = spec.allocator or f"{spec.collector}/{spec.runtime}"
            asked[spec.mode, f"{spec.source.name} on {on}"] = item.unavailable
    rows = []
    for mode, key in dict.fromkeys([*_every_key(), *asked]):
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
    question="What does a buffer cost: to obtain, to write to, and to live with?",
    modes=(
        Mode(AllocationSpec, measurement.AllocationMeasurement, tables.summarise_buffers,
             "mode=allocation technique=malloc allocator=glibc bytes=1024 touch=none seconds=1"),
        Mode(specs.GrowSpec, measurement.AllocationMeasurement, tables.summarise_buffers,
             "mode=grow technique=malloc allocator=glibc bytes=1024 scale=0.1"),
        Mode(AccessSpec, measurement.AccessMeasurement, tables.summarise_buffers,
             "mode=access memory=heap runtime=25 collector=g1 operation=write bytes=102400 seconds=1"),
        Mode(FragmentationSpec, measurement.FragmentationMeasurement, tables.summarise_buffers,
             "mode=fragmentation technique=malloc allocator=jemalloc distribution=phases live_mb=64"),
        Mode(JmhSpec, measurement.JmhMeasurement, tables.summarise_buffers,
             "mode=jmh technique=byte_array runtime=25 collector=g1 bytes=1024 seconds=1"),
    ),
    profile_model=AllocationProfile,
    plan=plan_allocation,
    tidy=tables.tidy_allocation,
    schemas=tables.SCHEMAS,
    catalogue=catalogue,
    questions=questions,
    cost=tables.cost_of,
    paced={"trials": "ns_per_buffer"},
    readable=Readable(cost="ns_per_buffer", columns={"served_by": "configuration"}, label=labelled),
)  # fmt: skip
