"""Specs of trials: plain data, checked before anything starts."""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated, ClassVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from allocpool.errors import OneOf
from allocpool.runtimes.collectors import COLLECTORS, check_release
from allocpool.trial.needs import Needs

RuntimeNumber = Annotated[int, AfterValidator(check_release)]
"""A feature release of Java, whether the machine has it or not."""
CollectorName = Annotated[str, OneOf("collector", COLLECTORS)]

DEFAULT_TIMEOUT_S = 120.0


class TrialSpec(BaseModel):
    """One trial. A spec is plain data: equal specs describe equal trials."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    CHILD: ClassVar[str]
    """The module whose ``run(spec, launch, folder)`` measures a trial, inside its process."""

    mode: str
    block: int = Field(default=0, ge=0, description="repetition: every configuration runs once per block")
    timeout_s: float | None = Field(
        default=None,
        gt=0,
        description="after which the trial is killed; follows from its lengths when left out",
    )

    @abstractmethod
    def needs(self) -> Needs:
        """Return what the trial takes to start. Pure: the same on every machine."""

    def impossible(self) -> str | None:
        """Return in one line why the trial makes no sense on any machine, or None."""
        return None

    def refused_here(self) -> str | None:
        """Return in one line why this machine can't run the trial, apart from `needs`; starts nothing."""
        return None

    def longest_seconds(self) -> float:
        """Return the seconds after which a trial without a ``timeout_s`` is given up."""
        return DEFAULT_TIMEOUT_S

    @property
    def allowed_seconds(self) -> float:
        """Seconds after which the trial is killed."""
        return self.timeout_s if self.timeout_s is not None else self.longest_seconds()

    def expected_seconds(self) -> float:
        """Return about how long the trial takes, seconds, for plans."""
        return self.allowed_seconds

    def cell_name(self) -> str:
        """Return what a trial runs, as plans print it; empty where the mode is all of it."""
        return ""
