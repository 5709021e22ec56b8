"""A fragmentation trial: the phases of a distribution one after the other, then a rest with nothing running."""

from __future__ import annotations

import ctypes
import resource
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

from allocpool.studies.allocation import sizes
from allocpool.studies.allocation.child import buffers
from allocpool.studies.allocation.measurement import FragmentationOutcome, Window, WindowsMeasurement
from allocpool.trial.child import jvm, native
from allocpool.trial.child.accounting import CpuWindow, monotonic_ns, peak_rss_mb
from allocpool.trial.measurement import OutOfMemory

_MIB = 2**20
_RESTS = 10
_SLAB_RESERVE = 8
"""Address space for slabs, as a multiple of the bytes alive; only what is touched becomes memory."""
_FIELDS = tuple(Window.__annotations__)
_NATIVE_FIELDS = _FIELDS[:14]
"""Those of ``ap_fragment_sample``; the heap's are Java's alone."""


def run(spec: dict[str, Any], launch: dict[str, Any], _folder: Path) -> FragmentationOutcome | OutOfMemory:
    return buffers.outcome(spec, launch, _java, _cpp)


def _resident_bytes() -> int:
    statm = Path("/proc/self/statm")
    return int(statm.read_text().split()[1]) * resource.getpagesize() if statm.exists() else -1


def _trim() -> None:
    """Give back what set-up freed, where glibc serves: reused, it would look like memory that costs nothing."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def _measure(
    spec: dict[str, Any], run_phase: Callable[[int, sizes.Phase, int, int, int], list[Window]],
    now: Callable[[], tuple[int | None, int | None]],
) -> WindowsMeasurement:  # fmt: skip
    """Run all phases and the rest; ``now`` returns used and committed bytes of the heap, if there is one."""
    live_bytes = spec["live_mb"] * _MIB
    _trim()
    base_bytes = _resident_bytes()
    window = CpuWindow()
    measured: list[Window] = []
    phases = sizes.phases(spec["distribution"])
    for number, phase in enumerate(phases):
        windows = max(2, round(spec["windows"] * phase.work))
        work_bytes = round(spec["turnovers"] * live_bytes * phase.work)
        measured += run_phase(number, phase, round(live_bytes * phase.live), work_bytes, windows)
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
    return {
        "base_resident_bytes": base_bytes,
        "phases": [phase.name for phase in phases] + ["rest"],
        "windows": measured,
        "cpu": cpu,
        "peak_rss_mb": peak_rss_mb(),
        "allocator_version": buffers.version(spec),
    }


def _ended(measured: WindowsMeasurement, checksum: int, fault: str) -> FragmentationOutcome:
    return {
        "status": "failed" if fault else "ok",
        "reason": f"audit: {fault}" if fault else None,
        **measured,
        "checksum": f"{checksum & 0xFFFF_FFFF_FFFF_FFFF:016x}",
    }


def _cpp(spec: dict[str, Any], launch: dict[str, Any]) -> FragmentationOutcome:
    ffi, library = native.load(launch)
    live_bytes = spec["live_mb"] * _MIB
    most = sizes.max_buffers(spec["distribution"], live_bytes)
    technique = spec["technique"].encode()
    handle = buffers.created(
        ffi,
        lambda error, size: library.ap_fragmentation_create(
            technique, most, _SLAB_RESERVE * live_bytes + 128 * _MIB, spec["seed"], error, size
        ),
    )

    def run_phase(number: int, phase: sizes.Phase, live: int, work_bytes: int, windows: int) -> list[Window]:
        table = ffi.new("int32_t[]", list(phase.sizes))
        asked = {"sizes": table, "size_count": len(phase.sizes), "live_bytes": live, "allocate_bytes": work_bytes}
        out = ffi.new("ap_fragment_sample[]", windows)
        described = ffi.new("ap_phase*", asked)
        count = native.checked(library, library.ap_fragmentation_run(handle, described, number, out, windows))
        return [_window([*(int(getattr(out[i], name)) for name in _NATIVE_FIELDS), None, None]) for i in range(count)]

    measured = _measure(spec, run_phase, lambda: (None, None))
    message = ffi.new("char[]", native.MESSAGE_BYTES)
    native.checked(library, library.ap_fragmentation_audit(handle, message, native.MESSAGE_BYTES))
    checksum = ffi.new("uint64_t*")
    native.checked(library, library.ap_fragmentation_get_checksum(handle, checksum))
    return _ended(measured, int(checksum[0]), ffi.string(message).decode())


def _window(values: Sequence[int | None]) -> Window:
    return cast(Window, dict(zip(_FIELDS, values, strict=True)))


def _java(spec: dict[str, Any], launch: dict[str, Any]) -> FragmentationOutcome:
    jvm.start(launch)
    most = sizes.max_buffers(spec["distribution"], spec["live_mb"] * _MIB)
    home = "foreign.SizedSegments" if spec["technique"].startswith(buffers.FOREIGN) else "SizedBuffers"
    memory = jvm.java_class(f"allocpool.allocation.{home}").named(spec["technique"])
    trial = jvm.java_class("allocpool.allocation.FragmentationTrial")(memory, most, spec["seed"])
    width = int(trial.RECORD)
    ints = jvm.java_class("int[]")

    def run_phase(number: int, phase: sizes.Phase, live: int, work_bytes: int, windows: int) -> list[Window]:
        flat = trial.run(ints(list(phase.sizes)), live, work_bytes, number, windows)
        values = [int(value) for value in flat[:]]
        rows = (values[at : at + width] for at in range(0, len(values), width))
        return [_window(row) for row in rows]

    def now() -> tuple[int, int]:
        _resident, used, committed = (int(value) for value in trial.memoryNow())
        return used, committed

    measured = _measure(spec, run_phase, now)
    return _ended(measured, int(trial.checksum()), str(trial.audit()))
