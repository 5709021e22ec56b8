"""What the buffer modes share: windows of records, in either language, and memory that is exhausted."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any, TypeVar

from allocpool.studies.allocation.measurement import BuffersMeasurement, Record
from allocpool.trial.child import jvm, memory, native
from allocpool.trial.child.accounting import CpuWindow, peak_rss_mb
from allocpool.trial.measurement import OutOfMemory

RECORD = 5
FOREIGN = "arena_"
"""How the techniques of foreign memory begin."""
_Returned = TypeVar("_Returned")
Measure = Callable[[dict[str, Any], dict[str, Any]], _Returned]
"""A trial of one language: its spec and its launch to its outcome."""


def measured(spec: dict[str, Any], run_for: Callable[[float], list[Record]]) -> BuffersMeasurement:
    """Warm up, then measure: both windows, the CPU spent in the second, the peak of memory."""
    warmup = run_for(spec["warmup_seconds"]) if spec["warmup_seconds"] else []
    window = CpuWindow()
    iterations = run_for(spec["seconds"])
    cpu = window.close()
    return {
        "iterations": {"warmup": warmup, "measured": iterations},
        "cpu": cpu,
        "peak_rss_mb": peak_rss_mb(),
        "allocator_version": version(spec),
    }


def version(spec: dict[str, Any]) -> str | None:
    """Return the version of the allocator of a C++ trial, as it reports it."""
    if spec["language"] == "java" or sys.platform != "linux":
        return None
    return memory.allocator_version(spec["allocator"])


def iterations_for(spec: dict[str, Any]) -> tuple[int, int]:
    """Return the length of an iteration, ns, and how many records the longer window can need."""
    iteration_ns = round(spec["iteration_ms"] * 1e6)
    longest_s = max(spec["seconds"], spec["warmup_seconds"])
    return iteration_ns, math.ceil(longest_s * 1e9 / iteration_ns) + 2


def records(flat: Any) -> list[Record]:
    """Return a Java array of numbers as records."""
    values = [int(value) for value in flat[:]]
    return list(zip(*(values[at::RECORD] for at in range(RECORD)), strict=True))


def native_records(out: Any, count: int) -> list[Record]:
    """Return the first so many records that the native library wrote."""
    return [(record.start_ns, record.end_ns, record.count, record.alloc_ns, record.free_ns) for record in out[0:count]]


def created(ffi: Any, create: Callable[[Any, int], Any]) -> Any:
    """Return the handle that a function of the native library makes; its refusal is raised."""
    error = ffi.new("char[]", native.MESSAGE_BYTES)
    handle = create(error, native.MESSAGE_BYTES)
    if handle == ffi.NULL:
        raise native.refusal(ffi.string(error).decode())
    return handle


def outcome(
    spec: dict[str, Any], launch: dict[str, Any], java: Measure[_Returned], cpp: Measure[_Returned]
) -> _Returned | OutOfMemory:
    """Measure in the language of the trial; exhausted memory is an outcome and is returned as one."""
    try:
        return (java if spec["language"] == "java" else cpp)(spec, launch)
    except Exception as error:
        if isinstance(error, MemoryError) or (spec["language"] == "java" and jvm.is_out_of_memory(error)):
            reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
            return {"status": "out_of_memory", "reason": reason, "peak_rss_mb": peak_rss_mb()}
        raise
