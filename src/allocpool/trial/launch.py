"""From what a trial needs to a child process that can start: builds, runtimes, flags; and why it can't run here.

Naming a trial and refusing it start no JVM, Maven or CMake. What a runtime accepts is tried by :meth:`Launcher.prepare`
and remembered on disk.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from functools import cache, lru_cache
from pathlib import Path

from allocpool import compile as compiled
from allocpool.errors import UserError
from allocpool.machine.allocators import ALLOCATORS, HUGE_PAGES, check_boost, environment_of, find_allocator, find_boost
from allocpool.machine.memory import available_memory_mb
from allocpool.runtimes.discovery import find_javac, find_runtime
from allocpool.runtimes.flags import check, check_huge_pages, jvm_flags, remembered_refusal, try_flags
from allocpool.trial.jvm_logs import JIT_LOG
from allocpool.trial.noise import PaceMeter
from allocpool.trial.record import GC_LOG, JvmLaunch, Launch, NativeLaunch
from allocpool.trial.spec import Jvm, Needs, TrialSpec


class Launcher:
    """Resolves specs against this machine as it is now; answers are kept for its lifetime alone, as a source that was
    edited since must be built and named anew by the next campaign."""

    def __init__(self) -> None:
        self._library = cache(compiled.native_library)
        self._classpath = cache(compiled.java_classpath)
        self._runtime = cache(find_runtime)
        self._sources_hash = cache(compiled.code_hash)
        self._check_module = cache(lambda module: compiled.check_module(module, find_javac()))
        self._jvm_refused = cache(self._why_no_jvm)
        self._refusal = cache(self._why_not)
        self._code_hash = cache(self._hash_of_code)
        self._native_refused = cache(_why_no_native)

    def refusal(self, spec: TrialSpec) -> str | None:
        """Return in one line why this machine can't run the spec; None when it can. Start nothing."""
        return self._refusal(cell_of(spec))

    def _why_not(self, spec: TrialSpec) -> str | None:
        reason = spec.impossible() or spec.refused_here()
        if reason:
            return reason
        needs = spec.needs()
        if needs.jvm:
            return self._jvm_refused(needs.jvm, needs.processes)
        return self._native_refused(needs.allocator, needs.boost, needs.memory_mb, needs.memory_setting)

    def prepare(self, specs: Iterable[TrialSpec]) -> None:
        """Try, once each, the flags that these specs start a JVM with; what is refused is then in :meth:`refusal`."""
        every = [spec.needs() for spec in specs]
        for jvm in dict.fromkeys(jvm for needs in every for jvm in (needs.jvm, needs.second_jvm) if jvm):
            try:
                try_flags(self._runtime(jvm.runtime), flags_of(jvm))
            except UserError:
                continue  # no such runtime: reported where the trial is refused
        self._jvm_refused.cache_clear()
        self._refusal.cache_clear()

    def code_hash(self, spec: TrialSpec) -> str:
        """Return the hash of all that the trial of this spec runs; builds nothing."""
        return self._code_hash(cell_of(spec))

    def _hash_of_code(self, spec: TrialSpec) -> str:
        needs = spec.needs()
        parts = [spec.CHILD]
        parts += [f"{needs.jvm.module}-java"] if needs.jvm else []
        parts += [compiled.source_set_of(needs.native)] if needs.native else []
        # Another preloaded library, foreign header, runtime or flag of the compiler makes another program.
        sources = self._sources_hash(*parts)
        if allocator := _preloaded(needs.allocator):
            sources = hashlib.sha256(sources.encode() + allocator.read_bytes()).hexdigest()[:16]
        boost = find_boost() if needs.boost else None
        others = [boost.version] if boost else []
        if needs.native and (flags := os.environ.get("CXXFLAGS")):
            others.append(f"CXXFLAGS={flags}")
        if needs.jvm:
            with suppress(UserError):  # no such runtime: reported where the trial is refused
                others.append(self._runtime(needs.jvm.runtime).version)
        return hashlib.sha256(" ".join((sources, *others)).encode()).hexdigest()[:16] if others else sources

    def launch_of(self, spec: TrialSpec) -> Launch:
        """Return everything that the child of this spec needs, built where it is not built yet; UserError where a build
        failed or a runtime is missing."""
        needs = spec.needs()
        second = needs.second_jvm
        return Launch(
            child=spec.CHILD,
            code_hash=self.code_hash(spec),
            jvm=self._jvm(needs.jvm) if needs.jvm else None,
            native=_native_launch(self._library(needs.native)) if needs.native else None,
            larger_heap=(self._jvm_refused(second, 1) or self._jvm(second)) if second else None,
            environment=environment_for(needs),
        )

    def build(self, specs: Iterable[TrialSpec]) -> None:
        """Build what these specs need and is not built yet; errors as of `launch_of`."""
        for spec in specs:
            self.launch_of(spec)

    def pace_meter(self) -> PaceMeter:
        """Return what reads the machine's pace between trials; nothing where the native library is not built yet."""
        built = compiled.native_library_if_built()
        return PaceMeter({"native": _native_launch(built).model_dump(mode="json")} if built else None)

    def _why_no_jvm(self, jvm: Jvm, processes: int) -> str | None:
        try:
            if "large_pages" in jvm.options:
                check_huge_pages(jvm.collector)
            self._check_module(jvm.module)
            if (release := compiled.module_release(jvm.module)) > jvm.runtime:
                raise UserError(f"module {jvm.module} needs runtime {release} or newer, not {jvm.runtime}")
            check(jvm.runtime, jvm.collector, heap_mb=jvm.heap_mb * processes, direct_mb=jvm.direct_mb * processes)
            return remembered_refusal(self._runtime(jvm.runtime), flags_of(jvm))
        except UserError as error:
            several = f"{processes} processes at once: " if processes > 1 else ""
            return f"{several}{error}"

    def _jvm(self, jvm: Jvm) -> JvmLaunch:
        runtime = self._runtime(jvm.runtime)
        built = self._classpath(jvm.module)
        return JvmLaunch(
            libjvm=str(runtime.libjvm),
            version=runtime.version,
            flags=flags_of(jvm),
            classpath=tuple(str(jar) for jar in built.classpath),
            compiler=f"javac {built.javac_version} --release {built.release}",
        )


@lru_cache(maxsize=4096)
def cell_of(spec: TrialSpec) -> TrialSpec:
    """Return what the repetitions of a trial have in common."""
    return spec if spec.block == 0 else spec.model_copy(update={"block": 0})


def environment_for(needs: Needs) -> dict[str, str]:
    """Return the variables that a trial's process is given; UserError where this machine lacks the allocator."""
    return {**(environment_of(needs.allocator) if needs.jvm is None else {}), **needs.environment}


def flags_of(jvm: Jvm) -> tuple[str, ...]:
    """Return the flags of a trial's JVM, without its class path."""
    return jvm_flags(jvm, Path(GC_LOG), Path(JIT_LOG))


def _native_launch(built: compiled.NativeBuild) -> NativeLaunch:
    return NativeLaunch(
        library=str(built.library),
        header=str(built.header),
        compiler=built.compiler_version,
        compiler_flags=built.flags,
        programs={name: str(path) for name, path in built.programs.items()},
    )


def _preloaded(allocator: str | None) -> Path | None:
    return find_allocator(allocator) if allocator and allocator in ALLOCATORS else None


def _why_no_native(allocator: str | None, boost: bool, memory_mb: int, memory_setting: str) -> str | None:
    """Return why this machine lacks the allocator of a C++ trial, or the memory of its buffers; or None."""
    try:
        if boost:
            check_boost()
        preloaded = _preloaded(allocator)
        if allocator in ALLOCATORS and ALLOCATORS[allocator].settings == HUGE_PAGES:
            check_huge_pages(allocator)
    except UserError as error:
        return str(error)
    if preloaded and sys.platform != "linux":
        return f"the allocator {allocator} can be preloaded and confirmed on Linux only"
    if memory_mb <= (available_mb := available_memory_mb()):
        return None
    needed = f"the trial needs {memory_mb} MB, and this machine has {available_mb} MB available"
    return f"{needed}: choose a smaller {memory_setting}"
