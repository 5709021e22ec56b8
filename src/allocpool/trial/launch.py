"""From a spec to a child process that can start: builds, runtimes, flags; and why a spec can't run here."""

from __future__ import annotations

import hashlib
import sys
from functools import cache
from pathlib import Path
from typing import NamedTuple

from allocpool import compile as build
from allocpool.errors import UserError
from allocpool.machine.allocators import ALLOCATORS as PRELOADED
from allocpool.machine.allocators import check_boost, environment_of, find_allocator, find_boost
from allocpool.packets.specs import BOOST_POOL, PacketsSpec, no_such_pair
from allocpool.runtimes import check, find_javac, find_runtime, jvm_flags, verify_flags
from allocpool.runtimes.flags import available_memory_mb, check_huge_pages
from allocpool.studies.allocation.specs import BufferSpec
from allocpool.studies.buffered_io import limits
from allocpool.studies.buffered_io.specs import EchoSpec
from allocpool.studies.native.specs import CountersSpec, why_not_counted
from allocpool.studies.realtime.specs import LiveSpec, RingSpec, SearchSpec
from allocpool.studies.stream.specs import PipelineSpec, too_many_threads
from allocpool.trial.record import GC_LOG, JvmLaunch, Launch, NativeLaunch
from allocpool.trial.spec import TrialSpec

_HUGE_PAGES_OF_MALLOC = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
"""Makes glibc 2.35 and later ask for transparent huge pages: direct memory comes from malloc, where the JVM's own flag
does not reach."""

_CPP_PACKET_BYTES = 1280
"""A packet of C++ at most: object with buffer, parse results, what ``new`` adds."""
_SMALL_HEAP_MB = 4
"""Where a heap starts that may grow and shrink: about what a JVM itself keeps alive, or it would hide small slopes."""
_HAZELCAST = (
    "--add-modules=java.se",
    "--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED",
    "--add-opens=java.base/java.lang=ALL-UNNAMED",
    "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
    "--add-opens=java.management/sun.management=ALL-UNNAMED",
    "--add-opens=jdk.management/com.sun.management.internal=ALL-UNNAMED",
)
"""What Hazelcast asks for on modular Java (its manual, "Running in Modular Java")."""


class _Jvm(NamedTuple):
    """The JVM that a spec asks for."""

    feature: int
    collector: str
    heap_mb: int
    direct_mb: int
    pause_target_ms: int | None
    compact_headers: bool | None = None
    large_pages: bool | None = None
    unsafe: bool = False
    explicit_gc: bool = False
    initial_heap_mb: int | None = None
    more_flags: tuple[str, ...] = ()

    def flags(self) -> tuple[str, ...]:
        # The last of two equal flags counts.
        smaller = () if self.initial_heap_mb is None else (f"-Xms{self.initial_heap_mb}m",)
        return self._flags() + smaller + self.more_flags

    def _flags(self) -> tuple[str, ...]:
        return jvm_flags(
            self.collector,
            self.feature,
            heap_mb=self.heap_mb,
            direct_mb=self.direct_mb or None,
            pause_target_ms=self.pause_target_ms,
            gc_log=Path(GC_LOG),
            pre_touch=self.initial_heap_mb is None,
            explicit_gc=self.explicit_gc,
            compact_headers=self.compact_headers,
            large_pages=self.large_pages,
            unsafe=self.unsafe,
        )


class Launcher:
    """Resolves specs against this machine as it is now.

    Its answers are kept for its own lifetime only: a notebook's kernel lives for days, and a source that was edited
    meanwhile must be built and named anew by the next campaign.
    """

    def __init__(self) -> None:
        self._native = cache(build.native_library)
        self._echo = cache(build.echo_library)
        self._java = cache(build.java_classpath)
        self._runtime = cache(find_runtime)
        self._code_hash = cache(build.code_hash)
        self._refused = cache(self._why_not_here)

    def refusal(self, spec: TrialSpec) -> str | None:
        """One line that says why this machine can't run the spec, or None when it can. Starts no trial."""
        if isinstance(spec, BufferSpec):
            return self._no_buffers(spec)
        if isinstance(spec, PacketsSpec) and (reason := no_such_pair(spec.solution, spec.strategy)):
            return reason
        if isinstance(spec, EchoSpec):
            refused = self._refused(_echo_jvm(spec), "echo", 1) if spec.server == "java" else None
            return refused or limits.refusal(spec)
        if isinstance(spec, PipelineSpec):
            return too_many_threads(spec) or self._refused(_stream_jvm(spec), "stream", 1)
        if isinstance(spec, CountersSpec) and (reason := why_not_counted(spec.counter)):
            return reason
        if isinstance(spec, PacketsSpec | RingSpec) and spec.language == "java":
            return self._refused(_jvm_of(spec), _module_of(spec), spec.processes)
        return _no_allocator(spec.allocator) or _too_large(spec) if isinstance(spec, PacketsSpec) else None

    def _no_buffers(self, spec: BufferSpec) -> str | None:
        if spec.language == "cpp":
            return _no_allocator(spec.allocator) or _live_set_too_large(spec)
        return self._refused(_jvm_of_buffers(spec), spec.java_module, spec.processes)

    def _why_not_here(self, jvm: _Jvm, module: str, processes: int) -> str | None:
        several = f"{processes} processes at once: " if processes > 1 else ""
        try:
            if jvm.large_pages:
                check_huge_pages(jvm.collector)
            build.check_module(module, find_javac())
            check(jvm.feature, jvm.collector, heap_mb=jvm.heap_mb * processes, direct_mb=jvm.direct_mb * processes)
            verify_flags(self._runtime(jvm.feature), jvm.flags())
        except UserError as error:
            return f"{several}{error}"
        return None

    def launch_of(self, spec: TrialSpec) -> Launch:
        """Everything the child of this spec needs, built where it is not built yet.

        Raises:
            UserError: a build failed, or a runtime is missing.
        """
        if isinstance(spec, BufferSpec):
            return self._launch_of_buffers(spec)
        if isinstance(spec, EchoSpec):
            return self._echo_launch(spec)
        if isinstance(spec, PipelineSpec):
            code_hash = self._code_hash(spec.CHILD, "stream-java")
            return Launch(child=spec.CHILD, code_hash=code_hash, jvm=self._jvm(_stream_jvm(spec), "stream"))
        if not isinstance(spec, PacketsSpec | RingSpec):
            raise TypeError(f"no launch for {type(spec).__name__}")
        parts = [spec.CHILD]
        jvm: JvmLaunch | None = None
        native: NativeLaunch | None = None
        larger_heap: JvmLaunch | str | None = None
        if spec.language == "java":
            module = _module_of(spec)
            jvm = self._jvm(_jvm_of(spec), module)
            if isinstance(spec, SearchSpec) and spec.larger_heap_mb:
                larger = _jvm_of(spec)._replace(heap_mb=spec.larger_heap_mb)
                larger_heap = self._refused(larger, module, 1) or self._jvm(larger, module)
            parts.append(f"{module}-java")
        if spec.language == "cpp" or isinstance(spec, LiveSpec | RingSpec):
            native = _native_launch(self._native())
            parts.append("native")
        allocator = _preload(spec.allocator) if isinstance(spec, PacketsSpec) else None
        code_hash = _with_library(self._code_hash(*parts), allocator)
        boost = find_boost() if isinstance(spec, PacketsSpec) and spec.allocator == BOOST_POOL else None
        if boost:
            code_hash = hashlib.sha256(f"{code_hash} {boost.version}".encode()).hexdigest()[:16]
        named = spec.allocator if isinstance(spec, PacketsSpec) else None
        environment = environment_of(named) if spec.language == "cpp" else {}
        if isinstance(spec, PacketsSpec) and spec.large_pages:
            environment = {**environment, **_HUGE_PAGES_OF_MALLOC}
        return Launch(
            child=spec.CHILD,
            code_hash=code_hash,
            jvm=jvm,
            native=native,
            larger_heap=larger_heap,
            environment=environment,
        )

    def _launch_of_buffers(self, spec: BufferSpec) -> Launch:
        child = spec.CHILD
        if spec.language == "java":
            jvm = self._jvm(_jvm_of_buffers(spec), spec.java_module)
            return Launch(child=spec.CHILD, code_hash=self._code_hash(child, f"{spec.java_module}-java"), jvm=jvm)
        allocator = _preload(spec.allocator)
        code_hash = _with_library(self._code_hash(child, "native"), allocator)
        return Launch(
            child=spec.CHILD,
            code_hash=code_hash,
            native=_native_launch(self._native()),
            environment=environment_of(spec.allocator),
        )

    def _echo_launch(self, spec: EchoSpec) -> Launch:
        """The load generator is native whatever the server is."""
        java = spec.server == "java"
        parts = [spec.CHILD, "echo-native", *(["echo-java"] if java else [])]
        return Launch(
            child=spec.CHILD,
            code_hash=self._code_hash(*parts),
            jvm=self._jvm(_echo_jvm(spec), "echo") if java else None,
            native=_native_launch(self._echo()),
        )

    def _jvm(self, jvm: _Jvm, module: str) -> JvmLaunch:
        runtime = self._runtime(jvm.feature)
        built = self._java(module)
        return JvmLaunch(
            libjvm=str(runtime.libjvm),
            version=runtime.version,
            flags=jvm.flags(),
            classpath=tuple(str(jar) for jar in built.classpath),
            compiler=f"javac {built.javac_version} --release {built.release}",
        )


def _native_launch(built: build.NativeBuild) -> NativeLaunch:
    return NativeLaunch(
        library=str(built.library),
        header=str(built.header),
        compiler=built.compiler_version,
        compiler_flags=built.flags,
        programs={name: str(path) for name, path in built.programs.items()},
    )


def _echo_jvm(spec: EchoSpec) -> _Jvm:
    unsafe = spec.io.startswith("netty")
    return _Jvm(
        spec.runtime or 0,
        spec.collector or "",
        spec.heap_mb or 0,
        0,
        None,
        unsafe=unsafe,
        initial_heap_mb=_SMALL_HEAP_MB,
    )


def _stream_jvm(spec: PipelineSpec) -> _Jvm:
    asked = {
        "MaxNewSize": spec.new_size_mb and f"{spec.new_size_mb}m",
        "ConcGCThreads": spec.concurrent_gc_threads,
        "ParallelGCThreads": spec.parallel_gc_threads,
    }
    more = tuple(f"-XX:{name}={value}" for name, value in asked.items() if value is not None)
    if spec.processors == "virtual":
        # Virtual threads get as many native ones as the engine's cooperative processors do.
        scheduler = "-Djdk.virtualThreadScheduler"
        more += tuple(f"{scheduler}.{name}={spec.cooperative_threads}" for name in ("parallelism", "maxPoolSize"))
    return _Jvm(
        spec.runtime,
        spec.collector,
        spec.heap_mb,
        0,
        spec.pause_target_ms,
        unsafe=True,
        more_flags=_HAZELCAST + more,
    )


def _module_of(spec: PacketsSpec | RingSpec) -> str:
    """The Maven module that a Java trial of this spec runs."""
    layout = spec.java_layout if isinstance(spec, PacketsSpec) else None
    return layout.module if layout else "ring"


def _jvm_of(spec: PacketsSpec | RingSpec) -> _Jvm:
    if not isinstance(spec, PacketsSpec):
        return _Jvm(spec.runtime or 0, spec.collector or "", spec.heap_mb or 0, 0, None)
    return _Jvm(
        spec.runtime or 0,
        spec.collector or "",
        spec.heap_mb or 0,
        spec.direct_mb or 0,
        spec.pause_target_ms,
        spec.compact_headers,
        spec.large_pages,
        spec.java_layout is not None and spec.java_layout.unsafe,
    )


def _jvm_of_buffers(spec: BufferSpec) -> _Jvm:
    return _Jvm(
        spec.runtime or 0,
        spec.collector or "",
        spec.heap_mb or 0,
        spec.direct_mb or 0,
        None,
        explicit_gc=spec.needs_explicit_gc,
        initial_heap_mb=spec.initial_heap_mb,
    )


def _preload(allocator: str | None) -> Path | None:
    return find_allocator(allocator) if allocator and allocator in PRELOADED else None


def _with_library(code_hash: str, allocator: Path | None) -> str:
    """The hash of the code and the allocator: another version of the library is another program."""
    if allocator is None:
        return code_hash
    return hashlib.sha256(code_hash.encode() + allocator.read_bytes()).hexdigest()[:16]


def _no_allocator(allocator: str | None) -> str | None:
    """Why the allocator of a C++ trial can't be preloaded here, or None."""
    try:
        if allocator == BOOST_POOL:
            check_boost()
        if _preload(allocator) and sys.platform != "linux":
            return f"the allocator {allocator} can be preloaded and confirmed on Linux only"
    except UserError as error:
        return str(error)
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


def _live_set_too_large(spec: BufferSpec) -> str | None:
    """Why the live set of a C++ trial doesn't fit into this machine's memory, or None."""
    available_mb = available_memory_mb()
    if spec.memory_mb() <= available_mb:
        return None
    return (
        f"the live set needs {spec.memory_mb()} MB, and this machine has {available_mb} MB available: "
        "choose a smaller live_mb"
    )
