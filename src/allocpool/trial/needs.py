"""What a trial needs to start: stated by its spec, resolved by the launcher. Nothing here looks at this machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from allocpool.runtimes.flags import Jvm as Jvm

NativeProject = Literal["packets", "packets-host", "echo", "sharing"]
"""The CMake projects of ``native/`` that children load through cffi. ``packets-host`` is ``packets``, compiled for the
CPU of this machine; ``sharing`` is the workload on many threads before a simulated cache."""


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
