"""From a spec to a child process that can start: builds, runtimes, flags; and why a spec can't run here."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from allocpool import build
from allocpool.errors import UserError
from allocpool.packets import PacketsSpec, TrialSpec
from allocpool.record import GC_LOG, JvmLaunch, Launch, NativeLaunch
from allocpool.runtimes import check, find_runtime, jvm_flags, verify_flags


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
        self._refused = cache(self._why_not_here)

    def refusal(self, spec: TrialSpec) -> str | None:
        """One line that says why this machine can't run the spec, or None when it can. Starts no trial."""
        if isinstance(spec, PacketsSpec) and spec.language == "java":
            memory_mb = (spec.heap_mb or 0, spec.direct_mb or 0)
            return self._refused(spec.runtime or 0, spec.collector or "", *memory_mb, spec.pause_target_ms)
        return None

    def _why_not_here(
        self, feature: int, collector: str, heap_mb: int, direct_mb: int, pause_target_ms: int | None
    ) -> str | None:
        try:
            check(feature, collector, heap_mb=heap_mb, direct_mb=direct_mb)
            verify_flags(self._runtime(feature), _flags(feature, collector, heap_mb, direct_mb, pause_target_ms))
        except UserError as error:
            return str(error)
        return None

    def launch_of(self, spec: TrialSpec) -> Launch:
        """Everything the child of this spec needs, built where it is not built yet.

        Raises:
            UserError: a build failed, or a runtime is missing.
        """
        if not isinstance(spec, PacketsSpec):
            raise TypeError(f"no launch for {type(spec).__name__}")
        return self._java_packets(spec) if spec.language == "java" else self._cpp_packets(spec)

    def _cpp_packets(self, spec: PacketsSpec) -> Launch:
        built = self._native()
        native = NativeLaunch(
            library=str(built.library),
            header=str(built.header),
            compiler=built.compiler_version,
            compiler_flags=built.flags,
        )
        return Launch(code_hash=self._code_hash(f"child/{spec.mode}", "native"), native=native)

    def _java_packets(self, spec: PacketsSpec) -> Launch:
        runtime = self._runtime(spec.runtime or 0)
        flags = _flags(
            runtime.feature, spec.collector or "", spec.heap_mb or 0, spec.direct_mb or 0, spec.pause_target_ms
        )
        built = self._java("packets")
        jvm = JvmLaunch(
            libjvm=str(runtime.libjvm),
            version=runtime.version,
            flags=flags,
            classpath=tuple(str(jar) for jar in built.classpath),
            compiler=f"javac {built.javac_version} --release {built.release}",
        )
        return Launch(code_hash=self._code_hash(f"child/{spec.mode}", "packets-java"), jvm=jvm)


def _flags(feature: int, collector: str, heap_mb: int, direct_mb: int, pause_target_ms: int | None) -> tuple[str, ...]:
    return jvm_flags(
        collector,
        feature,
        heap_mb=heap_mb,
        direct_mb=direct_mb or None,
        pause_target_ms=pause_target_ms,
        gc_log=Path(GC_LOG),
        pre_touch=True,
    )
