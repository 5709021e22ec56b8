"""A study is added by one object: a made-up one, registered in process, is planned, run, tabled and found by name."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar, Literal

import pandas as pd
import pytest
from pandera.pandas import Column, DataFrameSchema
from pydantic import Field
from typing_extensions import TypedDict

from allocpool.campaign import campaign, registry, single
from allocpool.campaign.study import Machine, Mode, Planned, Study, StudyProfile
from allocpool.campaign.tidy import POSITIVE, TRIAL_COLUMNS, Rows, frames, read_trial, trial_row, whole
from allocpool.errors import UserError
from allocpool.trial import runner
from allocpool.trial.record import MEASUREMENT, TrialRecord
from allocpool.trial.spec import Needs, TrialSpec


class ToySpec(TrialSpec):
    """A sum of so many terms."""

    CHILD: ClassVar[str] = "allocpool.trial.child.accounting"

    mode: Literal["toy"] = "toy"
    terms: int = Field(ge=1, le=10**7, description="numbers that are added")

    def needs(self) -> Needs:
        return Needs()

    def cell_name(self) -> str:
        return f"{self.terms} terms"


class ToyMeasurement(TypedDict):
    """Of mode ``toy``."""

    total: int


class ToyProfile(StudyProfile):
    """Every number of terms in every block."""

    terms: tuple[int, ...] = Field(min_length=1)


TRIALS = DataFrameSchema(
    {**TRIAL_COLUMNS, "terms": Column("int64", POSITIVE, description="numbers added"), "total": whole("their sum")},
    strict=True,
    coerce=True,
)


def plan(profile: ToyProfile, _machine: Machine) -> list[Planned]:
    return [Planned(ToySpec(terms=terms, block=block)) for block in range(profile.blocks) for terms in profile.terms]


def rows_of(record: TrialRecord) -> Rows:
    measured = read_trial(record, ToyMeasurement).measurement
    row = {**trial_row(record), "terms": record.spec["terms"], "total": measured["total"] if measured else None}
    return {"trials": [row]}


def tidy(records: Sequence[TrialRecord]) -> dict[str, pd.DataFrame]:
    return frames(records, rows_of, {"trials": TRIALS})


def summarise(record: TrialRecord) -> dict[str, Any]:
    return dict(rows_of(record)["trials"][0])


TOY = Study(
    name="toy", notebook="99_toy", question="How long does a sum take?", plan=plan, tidy=tidy,
    modes=(Mode(ToySpec, ToyMeasurement, summarise, "mode=toy terms=1000"),), profile_model=ToyProfile,
    schemas={"trials": TRIALS}, catalogue=lambda _profile, planned: pd.DataFrame({"planned": [len(planned)]}),
)  # fmt: skip


@pytest.fixture
def toy(data: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[campaign.Campaign]:
    """The campaign of the made-up study: its name in the registry, its trials summed in this process."""
    module: Any = ModuleType("allocpool.studies.toy.study")
    module.STUDY = TOY
    for name in ("allocpool.studies.toy", module.__name__):
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(registry, "STUDY_NAMES", (*registry.STUDY_NAMES, "toy"))

    def run_child(_command: object, task: runner.Task, _launch: object) -> tuple[int, None]:
        total = sum(range(task.spec.model_dump()["terms"]))
        told = {"status": "ok", "reason": None, "total": total}
        (task.folder / MEASUREMENT).write_text(json.dumps(told), encoding="utf-8")
        return 0, None

    monkeypatch.setattr(runner, "_run_child", run_child)
    registry.modes.cache_clear()
    profile = ToyProfile(profile="smoke", blocks=2, terms=(10, 1000), disturbed_beyond=None)
    yield campaign.Campaign(registry.study_named("toy"), profile)
    registry.modes.cache_clear()
    registry.study_named.cache_clear()


def test_an_added_study_is_planned_run_and_tabled(toy: campaign.Campaign) -> None:
    assert [item.spec.cell_name() for item in toy.plan()] == ["10 terms", "1000 terms"] * 2
    assert toy.run().complete
    trials = toy.tables()["trials"]
    assert set(trials["study"]) == set(trials["mode"]) == {"toy"} and len(trials) == 4
    assert trials.groupby("terms")["total"].unique().map(list).to_dict() == {10: [45], 1000: [499_500]}


def test_a_mode_of_an_added_study_is_run_alone_and_refuses_what_it_does_not_know(toy: campaign.Campaign) -> None:
    record = single.run_single(single.parse_spec(["mode=toy", "terms=10"]))
    assert single.summary_of(record)["total"] == 45
    with pytest.raises(UserError, match=r"unknown key 'term'.*terms"):
        single.parse_spec(["mode=toy", "term=10"])
