"""Specs of trials, plain data that is checked before anything starts, and what they need on any machine."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from allocpool.errors import OneOf
from allocpool.runtimes.collectors import COLLECTORS, check_release
from allocpool.runtimes.flags import Jvm as Jvm

RuntimeNumber = Annotated[int, AfterValidator(check_release)]
"""A feature release of Java, whether the machine has it or not."""
CollectorName = Annotated[str, OneOf("collector", COLLECTORS)]

DEFAULT_TIMEOUT_S = 120.0
NativeProject = Literal["packets", "packets-host", "packets-slp", "packets-host-slp", "echo", "sharing"]
"""The CMake projects of ``native/`` that children load through cffi. ``packets-host`` is ``packets``, compiled for the
CPU of this machine, ``packets-slp`` with neighbouring fields joined into vectors; ``sharing`` is the workload on many
threads before a simulated cache."""


@dataclass(frozen=True)
class Needs:
    """Everything that a trial takes in addition to its spec.

    Attributes:
        jvm: the JVM of a Java trial.
        second_jvm: one that the trial starts where this machine can.
        native: the C++ project whose library the child loads.
        allocator: what serves C++ ``new``, by its name; None where the language is Java.
        boost: whether boost::pool takes part.
        memory_mb: what a C++ trial's buffers come to, MiB; a JVM's memory follows from its sizes.
        memory_setting: the setting that makes it less.
        processes: those that hold the whole memory at the same time.
        environment: variables that the child is started with.
    """

    jvm: Jvm | None = None
    second_jvm: Jvm | None = None
    native: NativeProject | None = None
    allocator: str | None = None
    boost: bool = False
    memory_mb: int = 0
    memory_setting: str = "scale"
    processes: int = 1
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def most_mb(self) -> int:
        """Heaps and buffers of all its processes, MiB, without what a runtime takes in addition."""
        if self.jvm is None:
            return self.memory_mb
        heap_mb = max(jvm.heap_mb for jvm in (self.jvm, self.second_jvm) if jvm)
        return (heap_mb + self.jvm.direct_mb) * self.processes


class Frozen(BaseModel):
    """Plain data, checked when it is made and the same from then on."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class TrialSpec(Frozen):
    """One trial: equal specs describe equal trials."""

    CHILD: ClassVar[str]
    """The module whose ``run(spec, launch, folder)`` measures a trial, inside its process."""

    mode: str
    block: int = Field(default=0, ge=0, description="repetition: every configuration runs once per block")
    timeout_s: float | None = Field(
        default=None, gt=0, description="after which the trial is killed; follows from its lengths when left out"
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
