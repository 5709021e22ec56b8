"""From a spec to a child process that can start: builds, runtimes, flags; and why a spec can't run here."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from allocpool import build
from allocpool.errors import UserError
from allocpool.packets import PacketsSpec, TrialSpec
from allocpool.record import GC_LOG, JvmLaunch, Launch, NativeLaunch
from allocpool.runtimes import Runtime, check, find_runtime, jvm_flags, verify_flags


@lru_cache(maxsize=8)
def _runtime(feature: int) -> Runtime:
    return find_runtime(feature)


@lru_cache(maxsize=256)
def why_not_here(feature: int, collector: str, heap_mb: int, direct_mb: int) -> str | None:
    """Why this machine can't run a trial on that runtime, collector and heap, or None when it can."""
    try:
        check(feature, collector, heap_mb=heap_mb, direct_mb=direct_mb)
    except UserError as error:
        return str(error)
    return None


def refusal(spec: TrialSpec) -> str | None:
    """One line that says why this machine can't run the spec, or None when it can. Starts nothing."""
    if isinstance(spec, PacketsSpec) and spec.language == "java":
        return why_not_here(spec.runtime or 0, spec.collector or "", spec.heap_mb or 0, spec.direct_mb or 0)
    return None


@lru_cache(maxsize=16)
def code_hash(language: str) -> str:
    """Hash of all code that a trial of that language runs, the child's own included."""
    return build.code_hash("child", "packets-java" if language == "java" else "native")


@lru_cache(maxsize=1)
def _native() -> NativeLaunch:
    built = build.native_library()
    return NativeLaunch(
        library=str(built.library),
        header=str(built.header),
        compiler=built.compiler_version,
        compiler_flags=built.flags,
    )


@lru_cache(maxsize=4)
def _java(module: str) -> build.JavaBuild:
    return build.java_classpath(module)


def launch_of(spec: PacketsSpec) -> Launch:
    """Everything the child of this spec needs, built where it is not built yet.

    Raises:
        UserError: a build failed, a runtime is missing, or the JVM refuses the flags.
    """
    if spec.language == "cpp":
        return Launch(code_hash=code_hash("cpp"), native=_native())
    runtime = _runtime(spec.runtime or 0)
    flags = jvm_flags(
        spec.collector or "",
        runtime.feature,
        heap_mb=spec.heap_mb or 0,
        direct_mb=spec.direct_mb,
        pause_target_ms=spec.pause_target_ms,
        gc_log=Path(GC_LOG),
        pre_touch=True,
    )
    verify_flags(runtime, flags)
    built = _java("packets")
    return Launch(
        code_hash=code_hash("java"),
        jvm=JvmLaunch(
            libjvm=str(runtime.libjvm),
            version=runtime.version,
            flags=flags,
            classpath=tuple(str(jar) for jar in built.classpath),
            compiler=f"javac {built.javac_version} --release {built.release}",
        ),
    )
