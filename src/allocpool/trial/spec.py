"""What every trial of every study states: plain data, checked before anything starts."""

from __future__ import annotations

from typing import ClassVar

from pydantic import BaseModel, ConfigDict, Field


class TrialSpec(BaseModel):
    """What every trial of every study states. A spec is plain data: equal specs describe equal trials."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    processes: ClassVar[int] = 1
    """Processes of the trial that hold its whole memory at the same time."""

    CHILD: ClassVar[str]
    """The module whose ``run(spec, launch, folder)`` measures a trial, inside its process."""

    mode: str
    block: int = Field(default=0, ge=0, description="repetition: every configuration runs once per block")
    timeout_s: float = Field(default=120.0, gt=0, description="after which the trial is killed and recorded")

    def expected_seconds(self) -> float:
        """About how long the trial takes, for plans; no longer than its time-out."""
        return self.timeout_s

    def configuration(self) -> str:
        """What a trial runs, as plans print it; empty where the mode says it all."""
        return ""
