"""From a configuration to a JVM command line, refused before anything starts when it cannot work here.

The log flags follow HotSpot's unified logging (JEP 158). Logs are written synchronously: an asynchronous log
loses its tail when the process dies, which is when it is needed.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from allocpool import home
from allocpool.errors import UserError, unknown_choice
from allocpool.files import Remembered
from allocpool.machine.memory import available_memory_mb
from allocpool.runtimes.collectors import (
    FEATURES,
    Collector,
    check_combination,
    collector_flags,
    collector_named,
    collectors_that,
)
from allocpool.runtimes.discovery import Runtime, find_runtime, unobeyed_environment

OVERHEAD_MB = 300
"""Memory of a JVM and its host process beside heap and direct memory, megabytes: code, metaspace, stacks."""

_GC_TABLES_SHARE = 0.05
"""What collectors keep beside the heap (card tables, remembered sets, mark bitmaps), as a share of it."""

_LOG_FILE = re.compile(r"(?<=:file=)(\"[^\"]*\"|[^:]*)")
_VERIFY_TIMEOUT_S = 120
_HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage")
"""The kernel's settings, of which the one in brackets is chosen (Documentation/admin-guide/mm/transhuge)."""

_SAYS_NOTHING = re.compile(r"warning|Error occurred during init|Could not create the Java|fatal exception", re.I)
"""Lines around the reason why a JVM does not start."""


class JvmOption(NamedTuple):
    """What a word changes about a JVM."""

    flags: Mapping[int, tuple[str, ...]]
    """By the first feature release that takes them, up to that of the next entry."""
    why: str
    """What they do, for tables of flags."""
    collectors: Callable[[Collector], bool] = lambda row: True
    """Which it means something to."""


def _compact_headers(sign: str) -> dict[int, tuple[str, ...]]:
    """Experimental in 24 (JEP 450), a product from 25 on (JEP 519), the default from 27 on."""
    flag = f"-XX:{sign}UseCompactObjectHeaders"
    return {24: ("-XX:+UnlockExperimentalVMOptions", flag), 25: (flag,)}


JVM_OPTIONS: Mapping[str, JvmOption] = MappingProxyType(
    {
        "compact_headers": JvmOption(_compact_headers("+"), "compact object headers"),
        "no_compact_headers": JvmOption(_compact_headers("-"), "no compact object headers"),
        "large_pages": JvmOption({FEATURES[0]: ("-XX:+UseTransparentHugePages",)}, "huge pages"),
        "foreground": JvmOption(
            {FEATURES[0]: ("-XX:-BackgroundCompilation",)}, "code is compiled before the program goes on"
        ),
        "c1_only": JvmOption({FEATURES[0]: ("-XX:TieredStopAtLevel=1",)}, "code is compiled by C1 alone"),
        "no_refinement": JvmOption(
            {
                # G1ConcRefinementThreads=0 alone moves the work to the program's threads: they refine what is above the
                # red zone. The tuning guide of these releases gives all three to leave it to the pauses.
                FEATURES[0]: (
                    "-XX:-G1UseAdaptiveConcRefinement",
                    "-XX:G1ConcRefinementGreenZone=2G",
                    "-XX:G1ConcRefinementThreads=0",
                ),
                20: ("-XX:+UnlockDiagnosticVMOptions", "-XX:-G1UseConcRefinement"),
            },
            "what the write barrier noted is worked off in pauses alone",
            lambda row: row.name == "g1",
        ),
        "large_young": JvmOption(
            {FEATURES[0]: ("-XX:NewRatio=2",)},
            "a third of the heap is young, whatever the pauses: the default of Serial and Parallel",
            lambda row: row.has_sized_young,
        ),
    }
)
"""Every change of the JVM that a trial may ask for, by its word."""


def option_flags(word: str, collector: str, feature: int) -> tuple[str, ...]:
    """Return the JVM flags that a word of ``JVM_OPTIONS`` stands for on this release.

    Raises:
        UserError: no such word, or neither this collector nor this release has it; names what does.
    """
    if word not in JVM_OPTIONS:
        raise unknown_choice("JVM option", word, JVM_OPTIONS)
    option = JVM_OPTIONS[word]
    having = [first for first in option.flags if first <= feature]
    if not having:
        raise UserError(f"{word} needs runtime {min(option.flags)} or newer, not {feature}")
    if not option.collectors(collector_named(collector)):
        choices = collectors_that(lambda row: option.collectors(row) and row.is_on(feature))
        raise UserError(f"{word} means nothing to collector {collector}: choose one of {', '.join(choices)}")
    return option.flags[max(having)]


def log_flags(collector: str, gc_log: Path, *, phases: bool = False) -> tuple[str, ...]:
    """The flags that write the GC and safepoint log of ``collector`` to ``gc_log``.

    Every line carries CLOCK_MONOTONIC nanoseconds (``timenanos``), uptime, level and tags.

    Args:
        phases: also the parts of each pause; 4 to 10 times more output with G1.
    """
    words = ("gc*=info", *collector_named(collector).log_words, *(("gc+phases=debug",) if phases else ()))
    # Quotes keep a colon in the path from ending the file name.
    return (
        "-Xlog:disable",
        "-Xlog:all=warning:stderr",
        f'-Xlog:{",".join(words)},safepoint=info:file="{gc_log}":timenanos,uptimenanos,level,tags:filecount=0',
    )


def jvm_flags(
    collector: str,
    feature: int,
    *,
    heap_mb: int,
    direct_mb: int | None = None,
    pause_target_ms: int | None = None,
    gc_log: Path | None = None,
    phases: bool = False,
    jit_log: Path | None = None,
    explicit_gc: bool = False,
    pre_touch: bool = False,
    options: Iterable[str] = (),
    unsafe: bool = False,
) -> tuple[str, ...]:
    """The complete flags of a trial's JVM, apart from its class path.

    Args:
        collector: a name of ``COLLECTORS``.
        feature: feature release.
        heap_mb: heap, megabytes; initial and maximal size, so that growing it is not part of a measurement.
        direct_mb: limit of direct buffers, megabytes; the JVM's default when None.
        pause_target_ms: soft pause target, milliseconds; the JVM's default when None.
        gc_log: file of the GC and safepoint log; none is written when None.
        jit_log: file of the compilers' log, one line per method that is compiled or given up; none when None.
        phases: also log the parts of each pause.
        explicit_gc: let ``System.gc()`` collect; off unless asked, as JPype calls it when Python collects.
        pre_touch: commit the whole heap at start.
        options: words of ``JVM_OPTIONS``.
        unsafe: this trial or a library of it uses ``sun.misc.Unsafe``.

    Raises:
        UserError: the combination does not exist.
    """
    flags = [*collector_flags(collector, feature, pause_target_ms=pause_target_ms)]
    flags += [f"-Xms{heap_mb}m", f"-Xmx{heap_mb}m"]
    if direct_mb is not None:
        flags.append(f"-XX:MaxDirectMemorySize={direct_mb}m")
    if gc_log is not None:
        flags += log_flags(collector, gc_log, phases=phases)
    if jit_log is not None:
        flags.append(f'-Xlog:jit+compilation=debug:file="{jit_log}":timenanos:filecount=0')
    if not explicit_gc:
        flags.append("-XX:+DisableExplicitGC")
    if pre_touch:
        flags.append("-XX:+AlwaysPreTouch")
    for word in options:
        flags += option_flags(word, collector, feature)
    # The file of performance counters is memory-mapped: writing it back to disk can stall a safepoint.
    flags.append("-XX:-UsePerfData")
    if feature >= 24:
        # JEP 472: loading native code from JPype would print a warning into the trial's output.
        flags.append("--enable-native-access=ALL-UNNAMED")
        if unsafe:
            # JEP 498: the same for memory access by libraries that are not over it yet.
            flags.append("--sun-misc-unsafe-memory-access=allow")
    return tuple(flags)


class FlagReason(NamedTuple):
    """Why a JVM is started with a flag, and who says so."""

    whose: str
    why: str


PUBLISHED, OF_CONFIGURATION, OURS = "as published", "of the configuration", "ours"
_REASONS: Mapping[str, FlagReason] = MappingProxyType(
    {
        "-Xmx": FlagReason(PUBLISHED, "the published heap, times scale"),
        "-Xms": FlagReason(OURS, "the heap has one size: growing it is no part of a measurement"),
        "-XX:MaxDirectMemorySize": FlagReason(OURS, "room for the buffers off the heap, and no more"),
        "-XX:MaxGCPauseMillis": FlagReason(PUBLISHED, "the soft pause target that the article gave to G1"),
        "-XX:+DisableExplicitGC": FlagReason(OURS, "a call from outside must not collect"),
        "-XX:+AlwaysPreTouch": FlagReason(OURS, "the kernel gives the heap's pages before, not while it is measured"),
        "-XX:-UsePerfData": FlagReason(OURS, "writing back the file of performance counters can stall a safepoint"),
        "-XX:+UnlockExperimentalVMOptions": FlagReason(OF_CONFIGURATION, "chooses the collector"),
        **{
            flag: FlagReason(OF_CONFIGURATION, option.why)
            for option in JVM_OPTIONS.values()
            for flags in option.flags.values()
            for flag in flags
        },
        "-Xlog": FlagReason(OURS, "the collector's log, with the clock that every other time is on"),
        "--enable-native-access": FlagReason(OURS, "no warning of JPype's native code (JEP 472)"),
        "--sun-misc-unsafe-memory-access": FlagReason(OURS, "no warning of a library's memory access (JEP 498)"),
    }
)
"""By how a flag begins; the longest beginning counts, and any other flag chooses the collector."""
_CHOOSES = FlagReason(OF_CONFIGURATION, "chooses the collector")


def reason_of(flag: str) -> FlagReason:
    """Why `jvm_flags` gives a flag: as the article had it, to make the configuration what it is, or added by us."""
    known = [beginning for beginning in _REASONS if flag.startswith(beginning)]
    return _REASONS[max(known, key=len)] if known else _CHOOSES


def needed_mb(heap_mb: int, direct_mb: int) -> int:
    """Memory that a JVM of this size can come to use, megabytes."""
    return round(heap_mb * (1 + _GC_TABLES_SHARE)) + direct_mb + OVERHEAD_MB


def check(feature: int, collector: str, heap_mb: int, direct_mb: int = 0) -> Runtime:
    """Refuses what cannot run here, before anything starts.

    Args:
        feature: feature release.
        collector: a name of ``COLLECTORS``.
        heap_mb: heap, megabytes.
        direct_mb: direct memory, megabytes.

    Returns:
        the runtime to start.

    Raises:
        UserError: no such combination, no such runtime here, or not enough memory available now;
            names what is possible.
    """
    check_combination(collector, feature)
    if heap_mb < 1 or direct_mb < 0:
        raise UserError(f"heap {heap_mb} MB, direct memory {direct_mb} MB: a heap of 1 MB or more is needed")
    available_mb = available_memory_mb()
    if needed_mb(heap_mb, direct_mb) > available_mb:
        largest_mb = int((available_mb - direct_mb - OVERHEAD_MB) / (1 + _GC_TABLES_SHARE))
        remedy = (
            f"choose a heap of at most {largest_mb} MB or a smaller scale"
            if largest_mb > 0
            else "choose a smaller scale"
        )
        raise UserError(
            f"a heap of {heap_mb} MB with {direct_mb} MB of direct memory "
            f"needs {needed_mb(heap_mb, direct_mb)} MB, "
            f"and this machine has {available_mb} MB available: {remedy}"
        )
    return find_runtime(feature)


def check_huge_pages(collector: str) -> None:
    """Refuses transparent huge pages where the kernel grants none to memory of this kind.

    Raises:
        UserError: names the kernel's setting that stands in the way.
    """
    name = "shmem_enabled" if collector_named(collector).heap_is_shared_memory else "enabled"
    setting = _HUGE_PAGES / name
    try:
        chosen = re.search(r"\[(\w+)\]", setting.read_text(encoding="utf-8"))
    except OSError:
        raise UserError("large_pages: this machine's kernel offers no transparent huge pages") from None
    if chosen is None or chosen.group(1) in ("never", "deny"):
        remedy = "advise" if name == "shmem_enabled" else "madvise"
        raise UserError(f"large_pages: not granted to {collector} here, write {remedy} to {setting} as root")


def try_flags(runtime: Runtime, flags: tuple[str, ...]) -> None:
    """Try ``flags`` in a throw-away process, once: a JVM that refuses them would end the process that hosts it.

    A log file named in ``flags`` is replaced by a temporary one. What was accepted is remembered on disk and not tried
    again; what was refused is tried again each time, because the machine may have changed.
    """
    answers = _answers()
    key = _key(runtime, flags)
    if answers.get(key) != "":
        answers.remember(key, _complaint(runtime.java, flags))


def remembered_refusal(runtime: Runtime, flags: tuple[str, ...]) -> str | None:
    """What the runtime said to these flags when they were tried, in one line; None if it took them or was not tried."""
    complaint = _answers().get(_key(runtime, flags))
    if not complaint:
        return None
    return f"Java {runtime.feature} ({runtime.version}) does not start with {' '.join(flags)}: {complaint}"


def verify_flags(runtime: Runtime, flags: tuple[str, ...]) -> None:
    """Try ``flags`` if they never were.

    Raises:
        UserError: the runtime does not start with them; holds what it said.
    """
    try_flags(runtime, flags)
    refusal = remembered_refusal(runtime, flags)
    if refusal:
        raise UserError(refusal)


def _answers() -> Remembered:
    return Remembered(home.build_dir() / "remembered" / "jvm-flags.json")


def _key(runtime: Runtime, flags: tuple[str, ...]) -> str:
    """The runtime as it lies on disk now, and its flags."""
    changed_ns = runtime.java.stat().st_mtime_ns if runtime.java.exists() else 0
    return " ".join([str(runtime.java), str(changed_ns), runtime.version, *_tried(flags)])


def _tried(flags: tuple[str, ...]) -> list[str]:
    return [flag for flag in flags if flag != "-XX:+AlwaysPreTouch"]


def _complaint(java: Path, flags: tuple[str, ...]) -> str:
    """What the JVM says when it does not start with these flags; empty when it does."""
    with tempfile.TemporaryDirectory(prefix="allocpool-") as folder:
        log = str(Path(folder) / "gc.log")
        harmless = [_LOG_FILE.sub(lambda _: f'"{log}"', f) if f.startswith("-Xlog:") else f for f in _tried(flags)]
        try:
            done = subprocess.run(
                [java, *harmless, "-version"],
                check=False,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=_VERIFY_TIMEOUT_S,
                env=unobeyed_environment(),
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
    if done.returncode == 0:
        return ""
    said = [line.strip() for line in (done.stdout + "\n" + done.stderr).splitlines() if line.strip()]
    return next((line for line in said if not _SAYS_NOTHING.search(line)), f"exit status {done.returncode}")
