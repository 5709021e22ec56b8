"""From a configuration to a JVM command line, and whether it can work here before anything starts.

Logs follow HotSpot's unified logging (JEP 158). They are written synchronously: an asynchronous log loses its tail when
the process dies, which is when it is needed.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from allocpool import home
from allocpool.errors import UserError, unknown_choice
from allocpool.files import Remembered
from allocpool.machine.allocators import ALLOCATORS
from allocpool.machine.memory import available_memory_mb
from allocpool.runtimes import collectors
from allocpool.runtimes.collectors import Collector, collector_named
from allocpool.runtimes.discovery import Runtime, find_runtime, unobeyed_environment

OVERHEAD_MB = 300
"""Memory of a JVM and its host process in addition to heap and direct memory, MB: code, metaspace, stacks."""

_GC_TABLES_SHARE = 0.05
"""Card tables, remembered sets and mark bitmaps, as a share of the heap."""

_LOG_FILE = re.compile(r"(?<=:file=)(\"[^\"]*\"|[^:]*)")
_UNIFIED_LOGGING = 9
"""Since this release (JEP 158); trials on an older one have no log."""
_HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage")
"""The kernel's settings, of which the one in brackets is chosen (Documentation/admin-guide/mm/transhuge)."""

_SAYS_NOTHING = re.compile(r"warning|Error occurred during init|Could not create the Java|fatal exception", re.I)
"""Lines around the reason why a JVM does not start."""


@dataclass(frozen=True)
class Jvm:
    """A JVM with the code that it runs.

    Attributes:
        module: Maven module under ``workloads/`` whose jars are its class path.
        runtime: feature release.
        heap_mb: largest heap, MiB.
        initial_heap_mb: heap at the start, MiB; the largest when None, so that growing it is not part of a measurement.
        pre_touch: commit the heap before the start, unless it starts smaller.
        direct_mb: limit of direct memory, MiB; the JVM's default when 0.
        options: words of `JVM_OPTIONS`.
        unsafe: whether anything reads memory through ``sun.misc.Unsafe``, which newer releases warn of (JEP 498).
        explicit_gc: whether ``System.gc()`` may collect: reclaiming direct memory depends on it, but JPype calls it
            when Python collects.
        flags: further flags; the last of two equal flags counts.
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


class JvmOption(NamedTuple):
    """What a word changes about a JVM with one of some collectors; flags by the first feature release that takes
    them."""

    flags: Mapping[int, tuple[str, ...]]
    why: str
    collectors: Callable[[Collector], bool] = lambda row: True


def _compact_headers(sign: str) -> dict[int, tuple[str, ...]]:
    """Experimental in 24 (JEP 450), a product from 25 on (JEP 519), the default from 27 on."""
    flag = f"-XX:{sign}UseCompactObjectHeaders"
    return {24: ("-XX:+UnlockExperimentalVMOptions", flag), 25: (flag,)}


JVM_OPTIONS: Mapping[str, JvmOption] = MappingProxyType({
    "compact_headers": JvmOption(_compact_headers("+"), "compact object headers"),
    "no_compact_headers": JvmOption(_compact_headers("-"), "no compact object headers"),
    "large_pages": JvmOption({11: ("-XX:+UseTransparentHugePages",)}, "huge pages"),
    "foreground": JvmOption({11: ("-XX:-BackgroundCompilation",)}, "code is compiled before the program goes on"),
    "c1_only": JvmOption({11: ("-XX:TieredStopAtLevel=1",)}, "code is compiled by C1 alone"),
    "no_refinement": JvmOption(
        {
            # G1ConcRefinementThreads=0 alone moves the work to the program's threads: they refine what is above the
            # red zone. The tuning guide of these releases gives all three to leave it to the pauses.
            11: (
                "-XX:-G1UseAdaptiveConcRefinement", "-XX:G1ConcRefinementGreenZone=2G",
                "-XX:G1ConcRefinementThreads=0",
            ),
            20: ("-XX:+UnlockDiagnosticVMOptions", "-XX:-G1UseConcRefinement"),
        },
        "what the write barrier noted is worked off in pauses alone",
        lambda row: row.name == "g1",
    ),
    "large_young": JvmOption(
        {11: ("-XX:NewRatio=2",)},
        "a third of the heap is young, whatever the pauses: the default of Serial and Parallel",
        lambda row: row.has_sized_young,
    ),
})  # fmt: skip
"""Non-default options of the JVM that a trial may ask for, by their words."""


def option_flags(word: str, collector: str, feature: int) -> tuple[str, ...]:
    """Return the JVM flags that a word of ``JVM_OPTIONS`` stands for on this release; UserError, which names what has
    it, where neither this collector nor this release does."""
    if word not in JVM_OPTIONS:
        raise unknown_choice("JVM option", word, JVM_OPTIONS)
    option = JVM_OPTIONS[word]
    having = [first for first in option.flags if first <= feature]
    if not having:
        raise UserError(f"{word} needs runtime {min(option.flags)} or newer, not {feature}")
    if not option.collectors(collector_named(collector)):
        choices = collectors.collectors_that(lambda row: option.collectors(row) and row.is_on(feature))
        raise UserError(f"{word} means nothing to collector {collector}: choose one of {', '.join(choices)}")
    return option.flags[max(having)]


def log_flags(collector: str, gc_log: Path) -> tuple[str, ...]:
    """Return the flags that write the GC and safepoint log to ``gc_log``: each line with CLOCK_MONOTONIC nanoseconds
    (``timenanos``), uptime, level and tags."""
    words = ("gc*=info", *collector_named(collector).log_words)
    # Quotes keep a colon in the path from ending the file name.
    return (
        "-Xlog:disable",
        "-Xlog:all=warning:stderr",
        f'-Xlog:{",".join(words)},safepoint=info:file="{gc_log}":timenanos,uptimenanos,level,tags:filecount=0',
    )


PUBLISHED, OF_CONFIGURATION, OURS = "as published", "of the configuration", "ours"


class Flag(NamedTuple):
    """A flag of a JVM, whose choice it is, and why it is given."""

    text: str
    whose: str
    why: str


def explained_flags(jvm: Jvm, gc_log: Path | None = None, jit_log: Path | None = None) -> list[Flag]:
    """Return `jvm_flags` with their reasons; UserError where the combination does not exist."""
    chosen = collectors.collector_flags(jvm.collector, jvm.runtime)
    flags = [Flag(text, OF_CONFIGURATION, "chooses the collector") for text in chosen]
    if jvm.pause_target_ms is not None:
        why = "the soft pause target that the article gave to G1"
        flags.append(Flag(f"-XX:MaxGCPauseMillis={jvm.pause_target_ms}", PUBLISHED, why))
    why = "the heap has one size: growing it is no part of a measurement"
    flags.append(Flag(f"-Xms{jvm.initial_heap_mb or jvm.heap_mb}m", OURS, why))
    flags.append(Flag(f"-Xmx{jvm.heap_mb}m", PUBLISHED, "the published heap, times scale"))
    if jvm.direct_mb:
        why = "room for the buffers off the heap, and no more"
        flags.append(Flag(f"-XX:MaxDirectMemorySize={jvm.direct_mb}m", OURS, why))
    unified = jvm.runtime >= _UNIFIED_LOGGING
    logs = [*log_flags(jvm.collector, gc_log)] if gc_log and unified else []
    if jit_log and unified:
        logs.append(f'-Xlog:jit+compilation=debug:file="{jit_log}":timenanos:filecount=0')
    flags += [Flag(text, OURS, "logs with the clock that every other time is on") for text in logs]
    if not jvm.explicit_gc:
        flags.append(Flag("-XX:+DisableExplicitGC", OURS, "a call from outside must not collect"))
    if jvm.pre_touch and jvm.initial_heap_mb is None:
        why = "the kernel gives the heap's pages before, not while it is measured"
        flags.append(Flag("-XX:+AlwaysPreTouch", OURS, why))
    for word in jvm.options:
        given = option_flags(word, jvm.collector, jvm.runtime)
        flags += [Flag(text, OF_CONFIGURATION, JVM_OPTIONS[word].why) for text in given]
    # It is memory-mapped.
    flags.append(Flag("-XX:-UsePerfData", OURS, "writing back the file of performance counters can stall a safepoint"))
    if jvm.runtime >= 24:
        why = "no warning of JPype's native code (JEP 472)"
        flags.append(Flag("--enable-native-access=ALL-UNNAMED", OURS, why))
        if jvm.unsafe:
            why = "no warning of a library's memory access (JEP 498)"
            flags.append(Flag("--sun-misc-unsafe-memory-access=allow", OURS, why))
    return flags + [Flag(text, OF_CONFIGURATION, "asked for by the workload") for text in jvm.flags]


def jvm_flags(jvm: Jvm, gc_log: Path | None = None, jit_log: Path | None = None) -> tuple[str, ...]:
    """Return the flags of a JVM, without its class path; with a file for the GC and safepoint log, and one for the
    compilers' log of each method that is compiled or given up. UserError where the combination does not exist."""
    return tuple(flag.text for flag in explained_flags(jvm, gc_log, jit_log))


def needed_mb(heap_mb: int, direct_mb: int) -> int:
    """Return the most memory that a JVM of this size uses, MB."""
    return round(heap_mb * (1 + _GC_TABLES_SHARE)) + direct_mb + OVERHEAD_MB


def check(feature: int, collector: str, heap_mb: int, direct_mb: int = 0) -> Runtime:
    """Return the runtime to start for a JVM with this heap and direct memory, MB; UserError where there is no such
    combination or runtime here, or not enough memory now, which names what is possible."""
    collectors.check_combination(collector, feature)
    if heap_mb < 1 or direct_mb < 0:
        raise UserError(f"heap {heap_mb} MB, direct memory {direct_mb} MB: a heap of 1 MB or more is needed")
    available_mb = available_memory_mb()
    if needed_mb(heap_mb, direct_mb) > available_mb:
        largest_mb = int((available_mb - direct_mb - OVERHEAD_MB) / (1 + _GC_TABLES_SHARE))
        remedy = f"a heap of at most {largest_mb} MB or a smaller scale" if largest_mb > 0 else "a smaller scale"
        raise UserError(
            f"a heap of {heap_mb} MB with {direct_mb} MB of direct memory needs {needed_mb(heap_mb, direct_mb)} MB, "
            f"and this machine has {available_mb} MB available: choose {remedy}"
        )
    return find_runtime(feature)


def check_huge_pages(whose: str) -> None:
    """Check that the kernel grants transparent huge pages to the memory of a collector or an allocator; UserError,
    which names its setting, otherwise."""
    shared = whose not in ALLOCATORS and collector_named(whose).heap_is_shared_memory
    name = "shmem_enabled" if shared else "enabled"
    setting = _HUGE_PAGES / name
    try:
        chosen = re.search(r"\[(\w+)\]", setting.read_text(encoding="utf-8"))
    except OSError:
        raise UserError("large_pages: this machine's kernel offers no transparent huge pages") from None
    if chosen is None or chosen.group(1) in ("never", "deny"):
        remedy = "advise" if name == "shmem_enabled" else "madvise"
        raise UserError(f"large_pages: not granted to {whose} here, write {remedy} to {setting} as root")


def try_flags(runtime: Runtime, flags: tuple[str, ...]) -> None:
    """Try ``flags`` in a throw-away process with a temporary log: a JVM that refuses them would end the process that
    hosts it. Accepted flags are remembered on disk; refused ones are tried again, because the machine may have changed.
    """
    answers, key = _answers(runtime, flags)
    if answers.get(key) != "":
        answers.remember(key, _complaint(runtime.java, flags))


def remembered_refusal(runtime: Runtime, flags: tuple[str, ...]) -> str | None:
    """Return in one line why the runtime refused these flags when they were tried; None if it took them or was not
    asked."""
    answers, key = _answers(runtime, flags)
    if not (complaint := answers.get(key)):
        return None
    return f"Java {runtime.feature} ({runtime.version}) does not start with {' '.join(flags)}: {complaint}"


def verify_flags(runtime: Runtime, flags: tuple[str, ...]) -> None:
    """Try ``flags`` if they never were; UserError with what the runtime printed where it does not start."""
    try_flags(runtime, flags)
    if refusal := remembered_refusal(runtime, flags):
        raise UserError(refusal)


def _answers(runtime: Runtime, flags: tuple[str, ...]) -> tuple[Remembered, str]:
    """Return where answers are kept, and the key of this one."""
    changed_ns = runtime.java.stat().st_mtime_ns if runtime.java.exists() else 0
    key = " ".join([str(runtime.java), str(changed_ns), runtime.version, *_tried(flags)])
    return Remembered(home.build_dir() / "remembered" / "jvm-flags.json"), key


def _tried(flags: tuple[str, ...]) -> list[str]:
    return [flag for flag in flags if flag != "-XX:+AlwaysPreTouch"]


def _complaint(java: Path, flags: tuple[str, ...]) -> str:
    """Return what the JVM prints when it does not start with these flags; empty when it does."""
    with tempfile.TemporaryDirectory(prefix="allocpool-") as folder:
        log = str(Path(folder) / "gc.log")
        harmless = [_LOG_FILE.sub(lambda _: f'"{log}"', f) if f.startswith("-Xlog:") else f for f in _tried(flags)]
        try:
            done = subprocess.run(
                [java, *harmless, "-version"], check=False, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True,
                text=True, timeout=120, env=unobeyed_environment(),
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
    if done.returncode == 0:
        return ""
    said = [line.strip() for line in (done.stdout + "\n" + done.stderr).splitlines() if line.strip()]
    return next((line for line in said if not _SAYS_NOTHING.search(line)), f"exit status {done.returncode}")
