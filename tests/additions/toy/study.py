"""Study toy: how long does a sum take?"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from allocpool.studies.toy.measurement import ToyMeasurement
from allocpool.studies.toy.specs import ToySpec
from allocpool.studies.toy.tables import SCHEMAS, summarise_toy, tidy_toy
from pydantic import Field

from allocpool.campaign.study import Machine, Mode, Planned, Study, StudyProfile


class ToyProfile(StudyProfile):
    """Every number of terms in every block."""

    terms: tuple[int, ...] = Field(min_length=1)


def plan_toy(profile: ToyProfile, _machine: Machine) -> list[Planned]:
    """Block after block."""
    return [Planned(ToySpec(terms=terms, block=block)) for block in range(profile.blocks) for terms in profile.terms]


def catalogue(profile: ToyProfile, planned: Sequence[Planned]) -> pd.DataFrame:
    """One row per configuration."""
    rows = [{"configuration": item.spec.cell_name(), "planned": True, "left_out_because": None} for item in planned]
    return pd.DataFrame(rows).drop_duplicates()


STUDY = Study(
    name="toy",
    notebook="99_toy",
    question="How long does a sum take?",
    modes=(Mode(ToySpec, ToyMeasurement, summarise_toy, "mode=toy terms=1000"),),
    profile_model=ToyProfile,
    plan=plan_toy,
    tidy=tidy_toy,
    schemas=SCHEMAS,
    catalogue=catalogue,
)
