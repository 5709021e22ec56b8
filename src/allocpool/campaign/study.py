"""A study: a profile model, a pure plan, the modes of its trials, and the tidy tables that they become."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

import pandas as pd
from pandera.pandas import DataFrameSchema
from pydantic import BaseModel, ConfigDict, Field

from allocpool.campaign.schedule import Question
from allocpool.decisions import EFFECT
from allocpool.trial.noise import DISTURBED_BEYOND
from allocpool.trial.record import TrialRecord
from allocpool.trial.spec import TrialSpec

PROFILE_NAME = re.compile(r"[a-z][a-z0-9_-]*")


class StudyProfile(BaseModel):
    """Sizes and durations of one campaign: the parameters of the study's notebook."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    profile: str = Field(pattern=f"^{PROFILE_NAME.pattern}$")
    blocks: int = Field(ge=1, le=1000, description="repetitions; a block holds every configuration once")
    schedule: Literal["fixed", "sequential"] = Field(
        default="fixed",
        description="fixed: all blocks; sequential: further blocks where questions are open, as time allows",
    )
    effect_that_matters: float = Field(
        default=EFFECT, gt=1, le=10, description="the smallest ratio of costs that its questions ask for"
    )
    order_seed: int = Field(default=1, ge=0, description="seeds the random order inside each block")
    disturbed_beyond: float | None = Field(
        default=DISTURBED_BEYOND,
        gt=0,
        description="share of the machine taken by others, or change of its pace, beyond which a trial is marked and "
        "run again once; null: none is",
    )
    repeated_share: float = Field(
        default=0.1, ge=0, le=1, description="of all trials, the most that are run again because they were disturbed"
    )


@dataclass(frozen=True)
class Planned:
    """A spec of a plan; ``unavailable`` is why it can't run, None where it can."""

    spec: TrialSpec
    unavailable: str | None = None


@dataclass(frozen=True)
class Machine:
    """What plans may depend on of a machine: the number of processors that trials may use, and its memory, MiB (0: not
    known)."""

    cores: int
    memory_mb: int = 0


@dataclass(frozen=True)
class Mode:
    """One kind of trial.

    Attributes:
        spec: what it states.
        measurement: the TypedDict that a trial which ended well has measured.
        summarise: its record as plain data, for a reader of JSON.
        example: settings of a whole trial, as the command line takes them.
    """

    spec: type[TrialSpec]
    measurement: type[Mapping[str, object]]
    summarise: Callable[[TrialRecord], dict[str, Any]]
    example: str

    @property
    def name(self) -> str:
        return str(self.spec.model_fields["mode"].default)


Profile = TypeVar("Profile", bound=StudyProfile)


def spelled(label: str) -> str:
    """Return a stored label as a stranger reads it: ``G1 / 25`` is ``G1, JDK 25``."""
    return re.sub(r" / (\d+)$", r", JDK \1", label).replace(" / ", ", ")


def _spell_configurations(table: pd.DataFrame) -> pd.DataFrame:
    if "configuration" not in table:
        return table
    return table.assign(configuration=table["configuration"].map(spelled))


@dataclass(frozen=True)
class Readable:
    """How the frames that `allocpool.load` returns differ from the stored tables of a study.

    Attributes:
        cost: the new name of the column that `allocpool.compare` compares by default; empty: none.
        columns: new names of columns by their stored ones, in any table that has them.
        label: adds column ``configuration`` to a stored table, as far as its rows are of configurations.
    """

    cost: str = ""
    columns: Mapping[str, str] = field(default_factory=dict)
    label: Callable[[pd.DataFrame], pd.DataFrame] = _spell_configurations


@dataclass(frozen=True, eq=False)
class Study(Generic[Profile]):
    """One question with one notebook.

    Attributes:
        name: the folder under ``allocpool.studies``.
        notebook: stem of its notebook, and of its YAML in each profile.
        question: in one sentence.
        modes: the kinds of trials that are this study's own; it may plan those of others, too.
        profile_model: the keys of its YAML.
        plan: profile and machine to planned trials: a pure function, in the order of the blocks.
        tidy: records to tables.
        schemas: of these tables.
        catalogue: one row per configuration of the study with ``planned`` and ``left_out_because``.
        questions: what it decides, declared before anything runs; cells are specs of block 0 that it plans.
        cost: what its questions compare, of a trial that ended well: above 0, less is better, in one unit for both
            sides of a question, or what their judges take; None where the trial has no such figure.
        paced: by table the column that holds ``cost``: it is adjusted for the machine's pace when it is read.
        adaptive: the trial of a question's cell in a block, by the first attempts of its earlier blocks, or None where
            the cell is given up: a pure function, so that records alone show what was run. None where blocks differ in
            their number only.
        readable: names and labels of the frames that `allocpool.load` returns.
    """

    name: str
    notebook: str
    question: str
    modes: tuple[Mode, ...]
    profile_model: type[Profile]
    plan: Callable[[Profile, Machine], list[Planned]]
    tidy: Callable[[Sequence[TrialRecord]], dict[str, pd.DataFrame]]
    schemas: dict[str, DataFrameSchema]
    catalogue: Callable[[Profile, Sequence[Planned]], pd.DataFrame]
    questions: Callable[[Profile, Machine], list[Question[TrialSpec]]] = lambda profile, machine: []
    cost: Callable[[TrialRecord], Any] = lambda record: None
    paced: Mapping[str, str] = field(default_factory=dict)
    adaptive: Callable[[Profile, TrialSpec, int, Sequence[TrialRecord]], TrialSpec | None] | None = None
    readable: Readable = Readable()
