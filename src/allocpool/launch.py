"""From a spec to a child process that can start: builds, runtimes, flags; and why a spec can't run here."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from allocpool import build
from allocpool.errors import UserError
from allocpool.packets import PacketsSpec, TrialSpec
from allocpool.record import GC_LOG, JvmLaunch, Launch, NativeLaunch
from allocpool.runtimes import check, find_runtime, jvm_flags, verify_flags
from allocpool.runtimes.flags import available_memory_mb
from allocpool.realtime import LiveSpec, RingSpec

_CPP_PACKET_BYTES = 1280
"""A packet of C++ at most: object with buffer, parse results, what ``new`` adds."""


class Launcher:
    """Resolves specs against this machine as it is now.

    Its answers are kept for its own lifetime only: a notebook's kernel lives for days, and a source that was edited
    meanwhile must be built and named anew by the next campaign.
    """

    def __init__(self) -> None:
        self._native = cache(build.native_library)
        self._java = cache(build.java_classpath)
        self._runtime = cache(find_runtime)
        self._code_hash = cache(build.code_hash)
        self._refused = cache(_why_not_here)

    def refusal(self, spec: TrialSpec) -> str | None:
        """One line that says why this machine can't run the spec, or None when it can. Starts no trial."""
        if not isinstance(spec, PacketsSpec | RingSpec):
            return None
        if spec.language == "java":
            direct_mb = spec.direct_mb or 0 if isinstance(spec, PacketsSpec) else 0
            return self._refused(
                spec.runtime or 0, spec.collector or "", spec.heap_mb or 0, direct_mb, spec.processes
            )
        return _too_large(spec) if isinstance(spec, PacketsSpec) else None

    def launch_of(self, spec: TrialSpec) -> Launch:
        """Everything the child of this spec needs, built where it is not built yet.

        Raises:
            UserError: a build failed, a runtime is missing, or the JVM refuses the flags.
        """
        if not isinstance(spec, PacketsSpec | RingSpec):
            raise TypeError(f"no launch for {type(spec).__name__}")
        parts = [f"child/{spec.mode}"]
        jvm: JvmLaunch | None = None
        native: NativeLaunch | None = None
        if spec.language == "java":
            module = "packets" if isinstance(spec, PacketsSpec) else "ring"
            jvm = self._jvm(spec, module)
            parts.append(f"{module}-java")
        if spec.language == "cpp" or isinstance(spec, LiveSpec | RingSpec):
            native = self._library()
            parts.append("native")
        return Launch(code_hash=self._code_hash(*parts), jvm=jvm, native=native)

    def _library(self) -> NativeLaunch:
        built = self._native()
        return NativeLaunch(
            library=str(built.library),
            header=str(built.header),
            compiler=built.compiler_version,
            compiler_flags=built.flags,
        )

    def _jvm(self, spec: PacketsSpec | RingSpec, module: str) -> JvmLaunch:
        runtime = self._runtime(spec.runtime or 0)
        flags = jvm_flags(
            spec.collector or "",
            runtime.feature,
            heap_mb=spec.heap_mb or 0,
            direct_mb=spec.direct_mb if isinstance(spec, PacketsSpec) else None,
            pause_target_ms=spec.pause_target_ms if isinstance(spec, PacketsSpec) else None,
            gc_log=Path(GC_LOG),
            pre_touch=True,
        )
        verify_flags(runtime, flags)
        built = self._java(module)
        return JvmLaunch(
            libjvm=str(runtime.libjvm),
            version=runtime.version,
            flags=flags,
            classpath=tuple(str(jar) for jar in built.classpath),
            compiler=f"javac {built.javac_version} --release {built.release}",
        )


def _why_not_here(feature: int, collector: str, heap_mb: int, direct_mb: int, processes: int) -> str | None:
    try:
        check(feature, collector, heap_mb=heap_mb * processes, direct_mb=direct_mb * processes)
    except UserError as error:
        several = f"{processes} processes at once: " if processes > 1 else ""
        return f"{several}{error}"
    return None


def _too_large(spec: PacketsSpec) -> str | None:
    """Why the packets of a C++ trial don't fit into this machine's memory, or None."""
    out_at_once = spec.queue_size + spec.stored_count + 1
    needed_mb = max(spec.pool_size, out_at_once) * _CPP_PACKET_BYTES * spec.processes // 2**20
    available_mb = available_memory_mb()
    if needed_mb <= available_mb:
        return None
    return (
        f"pool, queue and store need {needed_mb} MB, and this machine has {available_mb} MB available: "
        "choose a smaller scale"
    )
