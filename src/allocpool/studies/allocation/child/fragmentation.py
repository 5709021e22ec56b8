"""A fragmentation trial: the phases of a distribution one after the other, then a rest with nothing running."""

from __future__ import annotations

import ctypes
import resource
import time
from collections.abc import Callable
from itertools import zip_longest
from pathlib import Path
from typing import Any, cast

from allocpool.studies.allocation import sizes
from allocpool.studies.allocation.child import buffers
from allocpool.studies.allocation.measurement import FragmentationOutcome, Window
from allocpool.trial.child import jvm, native
from allocpool.trial.child.accounting import CpuWindow, monotonic_ns, peak_rss_mb
from allocpool.trial.measurement import OutOfMemory

_MIB = 2**20
_RESTS = 10
_SLAB_RESERVE = 8
"""Address space for slabs, as a multiple of the bytes alive; only what is touched becomes memory."""
_Run = Callable[[int, sizes.Phase, int, int, int], list[list[int]]]
"""Runs a phase by its number, for so many bytes alive, bytes of work and windows: the fields of each `Window` in their
order, in C++ those of ``ap_fragment_sample`` alone, which lack the heap's."""


def run(spec: dict[str, Any], launch: dict[str, Any], _folder: Path) -> FragmentationOutcome | OutOfMemory:
    return buffers.in_language(spec, launch, _java, _cpp)


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
    phases = sizes.phases(spec["distribution"])
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
    live_bytes = spec["live_mb"] * _MIB
    most = sizes.max_buffers(spec["distribution"], live_bytes)
    reserve = _SLAB_RESERVE * live_bytes + 128 * _MIB
    technique = spec["technique"].encode()
    handle = buffers.created(ffi, library.ap_fragmentation_create, technique, most, reserve, spec["seed"])

    fields = [name for name, _ in ffi.typeof("ap_fragment_sample").fields]

    def run_phase(number: int, phase: sizes.Phase, live: int, work_bytes: int, windows: int) -> list[list[int]]:
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
    most = sizes.max_buffers(spec["distribution"], spec["live_mb"] * _MIB)
    home = "foreign.SizedSegments" if spec["technique"].startswith(buffers.FOREIGN) else "SizedBuffers"
    memory = jvm.java_class(f"allocpool.allocation.{home}").named(spec["technique"])
    trial = jvm.java_class("allocpool.allocation.FragmentationTrial")(memory, most, spec["seed"])
    width = int(trial.RECORD)
    ints = jvm.java_class("int[]")

    def run_phase(number: int, phase: sizes.Phase, live: int, work_bytes: int, windows: int) -> list[list[int]]:
        flat = trial.run(ints(list(phase.sizes)), live, work_bytes, number, windows)
        values = [int(value) for value in flat[:]]
        return [values[at : at + width] for at in range(0, len(values), width)]

    def now() -> tuple[int, int]:
        _resident, used, committed = (int(value) for value in trial.memoryNow())
        return used, committed

    return _measure(spec, run_phase, now, lambda: (int(trial.checksum()), str(trial.audit())))
