"""What a study is: a profile model, a pure plan, and the tidy tables its trials become."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from pandera.pandas import DataFrameSchema
from pydantic import BaseModel, ConfigDict, Field, field_validator

from allocpool.trial.record import TrialRecord
from allocpool.trial.spec import TrialSpec

_PROFILE_NAME = re.compile(r"[a-z][a-z0-9_-]*")


class StudyProfile(BaseModel):
    """Sizes and durations of one campaign. Keys are the parameters of the study's notebook."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    profile: str
    blocks: int = Field(ge=1, le=1000, description="repetitions; a block holds every configuration once")
    order_seed: int = Field(default=1, ge=0, description="seeds the random order inside each block")

    @field_validator("profile")
    @classmethod
    def _is_a_name(cls, name: str) -> str:
        if not _PROFILE_NAME.fullmatch(name):
            raise ValueError(f"a profile name is lower-case letters, digits, - and _, not {name!r}")
        return name


@dataclass(frozen=True)
class Planned:
    """A spec of a plan; ``unavailable`` says why it can't run anywhere, or here, and is None where it can."""

    spec: TrialSpec
    unavailable: str | None = None


@dataclass(frozen=True)
class Study:
    """One question with one notebook."""

    name: str
    notebook: str
    question: str
    profile_model: type[StudyProfile]
    plan: Callable[[Any], list[Planned]]
    """Profile to planned trials: a pure function, no I/O, in the order of the blocks."""
    tidy: Callable[[Sequence[TrialRecord]], dict[str, pd.DataFrame]]
    schemas: dict[str, DataFrameSchema]
    catalogue: Callable[[Any, Sequence[Planned]], pd.DataFrame]
    """One row per configuration of the whole study with ``planned`` and ``left_out_because``."""
