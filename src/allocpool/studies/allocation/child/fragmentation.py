"""A fragmentation trial: the phases of a distribution one after the other, then a rest with nothing running.

Out of tables of sizes each language draws with ten bits, so that all see the same.
"""

from __future__ import annotations

import ctypes
import math
import resource
import time
from collections.abc import Callable
from itertools import zip_longest
from pathlib import Path
from statistics import NormalDist
from typing import Any, NamedTuple, cast

from allocpool.studies.allocation.child import buffers
from allocpool.studies.allocation.measurement import FragmentationOutcome, Window
from allocpool.trial.child import jvm, native
from allocpool.trial.child.accounting import CpuWindow, monotonic_ns, peak_rss_mb
from allocpool.trial.measurement import OutOfMemory

SMALLEST, LARGEST = 64, 128 * 1024
TABLE = 1024
_MIB = 2**20
_RESTS = 10
_SLAB_RESERVE = 8
"""Address space for slabs, as a multiple of the bytes alive; only what is touched becomes memory."""


class Phase(NamedTuple):
    """A part of a trial."""

    name: str
    work: float
    """Its share of the bytes allocated in all."""
    live: float
    """The bytes alive in it, as a share of the largest."""
    sizes: tuple[int, ...]
    """In bytes, each equally likely; as many as a power of two."""


_Run = Callable[[int, Phase, int, int, int], list[list[int]]]
"""Runs a phase by its number, for so many bytes alive, bytes of work and windows: the fields of each `Window` in their
order, in C++ those of ``ap_fragment_sample`` alone, which lack the heap's."""


def _uniform(low: int, high: int) -> tuple[int, ...]:
    return tuple(round(low + (high - low) * (i + 0.5) / TABLE) for i in range(TABLE))


def _lognormal(median: int, sigma: float) -> tuple[int, ...]:
    """Return quantiles of a lognormal distribution in bytes, cut to SMALLEST and LARGEST; many are small (Downey,
    "Lognormal and Pareto distributions in the Internet", Computer Communications 28(7), 2005)."""
    normal = NormalDist(math.log(median), sigma)
    sizes = (math.exp(normal.inv_cdf((i + 0.5) / TABLE)) for i in range(TABLE))
    return tuple(min(LARGEST, max(SMALLEST, round(size))) for size in sizes)


def phases_of(distribution: str) -> tuple[Phase, ...]:
    """Return the parts of a distribution by its name; their shares of work add up to one."""
    if distribution == "uniform":
        return (Phase("steady", 1.0, 1.0, _uniform(SMALLEST, 16 * 1024)),)
    if distribution == "lognormal":
        return (Phase("steady", 1.0, 1.0, _lognormal(1024, 1.2)),)
    small, large = _lognormal(256, 0.8), _lognormal(12 * 1024, 0.8)
    return (
        Phase("small", 0.2, 1.0, small),
        Phase("shift to large", 0.3, 1.0, large),
        Phase("shrink", 0.1, 0.25, large),
        Phase("grow", 0.2, 1.0, _lognormal(2048, 1.0)),
        Phase("shift to small", 0.15, 1.0, small),
        Phase("shrink again", 0.05, 0.25, small),
    )


def run(spec: dict[str, Any], launch: dict[str, Any], _folder: Path) -> FragmentationOutcome | OutOfMemory:
    return buffers.in_language(spec, launch, _java, _cpp)


def _most_buffers(spec: dict[str, Any]) -> int:
    """Return how many buffers the table of a trial must hold: those alive at once, and half as many again."""
    smallest_mean = min(sum(phase.sizes) / len(phase.sizes) for phase in phases_of(spec["distribution"]))
    return int(1.5 * spec["live_mb"] * _MIB / smallest_mean) + 1000


def _resident_bytes() -> int:
    statm = Path("/proc/self/statm")
    return int(statm.read_text().split()[1]) * resource.getpagesize() if statm.exists() else -1


def _measure(
    spec: dict[str, Any], run_phase: _Run, now: Callable[[], tuple[int | None, int | None]],
    end: Callable[[], tuple[int, str]],
) -> FragmentationOutcome:  # fmt: skip
    """Run all phases and the rest; ``now`` returns used and committed bytes of the heap, if there is one, and ``end``
    the checksum and what is wrong, empty when nothing is."""
    live_bytes = spec["live_mb"] * _MIB
    # What set-up freed, if used again, would look like memory that costs nothing; glibc can give it back.
    getattr(ctypes.CDLL(None), "malloc_trim", lambda _: 0)(0)
    base_bytes = _resident_bytes()
    window = CpuWindow()
    measured: list[Window] = []
    phases = phases_of(spec["distribution"])
    for number, phase in enumerate(phases):
        windows = max(2, round(spec["windows"] * phase.work))
        work_bytes = round(spec["turnovers"] * live_bytes * phase.work)
        for row in run_phase(number, phase, round(live_bytes * phase.live), work_bytes, windows):
            measured.append(cast(Window, dict(zip_longest(Window.__annotations__, row))))
    cpu = window.close()
    for _ in range(_RESTS if spec["idle_seconds"] else 0):
        start_ns = monotonic_ns()
        time.sleep(spec["idle_seconds"] / _RESTS)
        used, committed = now()
        measured.append({
            **measured[-1], "phase": len(phases), "start_ns": start_ns, "end_ns": monotonic_ns(), "operations": 0,
            "p50_ns": None, "p99_ns": None, "max_ns": None, "resident_bytes": _resident_bytes(), "kept_bytes": None,
            "empty_p50_ns": None, "empty_p99_ns": None, "heap_used_bytes": used, "heap_committed_bytes": committed,
        })  # fmt: skip
    peak_mb = peak_rss_mb()
    checksum, fault = end()
    return {
        "status": "failed" if fault else "ok",
        "reason": f"audit: {fault}" if fault else None,
        "base_resident_bytes": base_bytes,
        "phases": [phase.name for phase in phases] + ["rest"],
        "windows": measured,
        "cpu": cpu,
        "peak_rss_mb": peak_mb,
        "allocator_version": buffers.version(spec),
        "checksum": buffers.hex_digits(checksum),
    }


def _cpp(spec: dict[str, Any], launch: dict[str, Any]) -> FragmentationOutcome:
    ffi, library = native.load(launch)
    reserve = (_SLAB_RESERVE * spec["live_mb"] + 128) * _MIB
    arguments = (spec["technique"].encode(), _most_buffers(spec), reserve, spec["seed"])
    handle = buffers.created(ffi, library.ap_fragmentation_create, *arguments)
    fields = [name for name, _ in ffi.typeof("ap_fragment_sample").fields]

    def run_phase(number: int, phase: Phase, live: int, work_bytes: int, windows: int) -> list[list[int]]:
        table = ffi.new("int32_t[]", list(phase.sizes))
        asked = {"sizes": table, "size_count": len(phase.sizes), "live_bytes": live, "allocate_bytes": work_bytes}
        out = ffi.new("ap_fragment_sample[]", windows)
        described = ffi.new("ap_phase*", asked)
        count = native.checked(library, library.ap_fragmentation_run(handle, described, number, out, windows))
        return [[int(getattr(item, name)) for name in fields] for item in out[0:count]]

    def end() -> tuple[int, str]:
        message, checksum = ffi.new("char[]", native.MESSAGE_BYTES), ffi.new("uint64_t*")
        native.checked(library, library.ap_fragmentation_audit(handle, message, native.MESSAGE_BYTES))
        native.checked(library, library.ap_fragmentation_get_checksum(handle, checksum))
        return int(checksum[0]), ffi.string(message).decode()

    return _measure(spec, run_phase, lambda: (None, None), end)


def _java(spec: dict[str, Any], launch: dict[str, Any]) -> FragmentationOutcome:
    jvm.start(launch)
    home = "foreign.SizedSegments" if spec["technique"].startswith(buffers.FOREIGN) else "SizedBuffers"
    memory = jvm.java_class(f"allocpool.allocation.{home}").named(spec["technique"])
    trial = jvm.java_class("allocpool.allocation.FragmentationTrial")(memory, _most_buffers(spec), spec["seed"])
    width, ints = int(trial.RECORD), jvm.java_class("int[]")

    def run_phase(number: int, phase: Phase, live: int, work_bytes: int, windows: int) -> list[list[int]]:
        flat = trial.run(ints(list(phase.sizes)), live, work_bytes, number, windows)
        values = [int(value) for value in flat[:]]
        return [values[at : at + width] for at in range(0, len(values), width)]

    def now() -> tuple[int, int]:
        _resident, used, committed = (int(value) for value in trial.memoryNow())
        return used, committed

    return _measure(spec, run_phase, now, lambda: (int(trial.checksum()), str(trial.audit())))
