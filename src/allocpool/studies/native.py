"""Study 4, native: how far is pooling in C++ from what the hardware allows, and what does each step of the way buy?

Trials of mode batch, in named groups: the *ladder* from layout ``flat`` to ``slab`` step by step, *allocators* that
serve ``new``, memory *resources* of ``std::pmr``. What this machine can't run is a row that says how to get there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd
from pydantic import Field

from allocpool.packets import ALLOCATORS, LAYOUTS, RESOURCES, SLAB_STEPS
from allocpool.record import TrialRecord
from allocpool.studies.base import Planned, Study
from allocpool.studies.batch import Selection, Sizes, catalogue_of, plan_block
from allocpool.studies.batch_tables import SCHEMAS, tidy_batch


class NativeProfile(Sizes):
    """A native campaign: named selections, each planned in every block; a configuration of two groups runs once."""

    groups: dict[str, Selection] = Field(min_length=1)


def ladder() -> tuple[str, ...]:
    """Keys of the rungs from ``flat`` to the whole ``slab``: each is the one before with one step more."""
    rungs = ("+".join(SLAB_STEPS[: count + 1]) for count in range(len(SLAB_STEPS) - 1))
    return ("cpp/flat/glibc", *(f"cpp/slab/glibc/{steps}" for steps in rungs), "cpp/slab/glibc")


def plan_native(profile: NativeProfile) -> list[Planned]:
    """Every configuration of every group, block after block."""
    planned = []
    for block in range(profile.blocks):
        once = {item.spec: item for group in profile.groups.values() for item in plan_block(profile, group, block)}
        planned += list(once.values())
    return planned


def tidy_native(records: Sequence[TrialRecord]) -> dict[str, pd.DataFrame]:
    """The batch study's tables of these trials."""
    tables = tidy_batch(records)
    return {**tables, "trials": tables["trials"].assign(study=NATIVE.name).astype(tables["trials"].dtypes)}


def _every_key() -> Iterator[str]:
    yield from ladder()
    for layout in LAYOUTS["cpp"]:
        if layout != "slab":
            yield from (f"cpp/{layout}/{name}" for name in ALLOCATORS if layout == "flat" or name not in RESOURCES)


def catalogue(profile: NativeProfile, planned: Sequence[Planned]) -> pd.DataFrame:
    """One row per solution of the study, with what the profile runs of it and why the rest is left out."""
    asked = [key for group in profile.groups.values() for key in group.solutions]
    return catalogue_of(profile.profile, asked, _every_key(), planned)


NATIVE = Study(
    name="native",
    notebook="05_native",
    question="How far is pooling from what the hardware allows?",
    profile_model=NativeProfile,
    plan=plan_native,
    tidy=tidy_native,
    schemas=SCHEMAS,
    catalogue=catalogue,
)
