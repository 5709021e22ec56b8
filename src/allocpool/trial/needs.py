"""What a trial needs to start: stated by its spec, resolved by the launcher. Nothing here looks at this machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

NativeProject = Literal["packets", "packets-host", "echo", "sharing"]
"""The CMake projects of ``native/``: what a child loads through cffi. The second is the first, compiled for the CPU of
this machine; the last is the workload on many threads before a simulated cache."""


@dataclass(frozen=True)
class Jvm:
    """A JVM with the code that it runs.

    Attributes:
        module: Maven module under ``workloads/`` whose jars are its class path.
        runtime: Java feature release.
        collector: name of the collector.
        heap_mb: largest heap, MiB.
        initial_heap_mb: heap at the start, MiB; the whole heap when None.
        pre_touch: commit the whole heap before the start, unless the heap starts smaller.
        direct_mb: limit of direct memory, MiB; the JVM's default when 0.
        pause_target_ms: ``-XX:MaxGCPauseMillis``; the JVM's default when None.
        options: words of `allocpool.runtimes.flags.JVM_OPTIONS`.
        unsafe: whether anything reads memory through ``sun.misc.Unsafe``, which newer releases warn of (JEP 498).
        explicit_gc: whether ``System.gc()`` may collect: reclaiming direct memory depends on it.
        flags: what else the JVM is started with; the last of two equal flags counts.
    """

    module: str
    runtime: int
    collector: str
    heap_mb: int
    initial_heap_mb: int | None = None
    pre_touch: bool = True
    direct_mb: int = 0
    pause_target_ms: int | None = None
    options: tuple[str, ...] = ()
    unsafe: bool = False
    explicit_gc: bool = False
    flags: tuple[str, ...] = ()

    def with_heap(self, heap_mb: int) -> Jvm:
        """Return the same with another largest heap, MiB."""
        return replace(self, heap_mb=heap_mb)


@dataclass(frozen=True)
class Needs:
    """Everything that a trial takes in addition to its spec.

    Attributes:
        jvm: the JVM of a Java trial.
        second_jvm: one that the trial starts where it can, and reports where it can't.
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
        """What heaps and buffers of all its processes come to, MiB; what a runtime takes in addition is not in it."""
        if self.jvm is None:
            return self.memory_mb
        heap_mb = max(jvm.heap_mb for jvm in (self.jvm, self.second_jvm) if jvm)
        return (heap_mb + self.jvm.direct_mb) * self.processes
