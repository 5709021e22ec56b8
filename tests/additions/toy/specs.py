"""What a trial that sums states."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from allocpool.trial.needs import Needs
from allocpool.trial.spec import TrialSpec


class ToySpec(TrialSpec):
    """A sum of so many terms."""

    CHILD: ClassVar[str] = "allocpool.studies.toy.child.toy"

    mode: Literal["toy"] = "toy"
    terms: int = Field(ge=1, le=10**7, description="numbers that are added")

    def needs(self) -> Needs:
        """Nothing but Python."""
        return Needs()

    def cell_name(self) -> str:
        return f"{self.terms} terms"
