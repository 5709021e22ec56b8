"""A trial of mode ``allocation``, ``grow`` or ``access``: warm up, then measure rounds, one round in a process that has
not allocated yet, or passes over one buffer.

Whether rounds took place is checked, one alone and all at the end, by what the JVM or the allocator counted: an
allocation that escape analysis removed is missing there. Passes end with the checksum after a fixed number of them, the
same in all memories.
"""

from __future__ import annotations

import math
import resource
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from allocpool.packets.child.workload import out_of_memory
from allocpool.studies.allocation.measurement import (
    AccessOutcome,
    AllocationOutcome,
    BuffersMeasurement,
    Counters,
    Record,
)
from allocpool.trial.child import jvm, memory, native
from allocpool.trial.child.accounting import CpuWindow, monotonic_ns, peak_rss_mb
from allocpool.trial.measurement import Failure, OutOfMemory

FOREIGN = "arena_"
"""How the techniques of foreign memory begin."""
_CHECKED_PASSES = 3
_NO_LIMIT = 2**62
_ONE_ROUND = {"seconds": 1e-9, "warmup_seconds": 0.0, "iteration_ms": 1e-6, "max_buffers": None}
"""Lengths of a window that ends with its first round."""
_COMPILED = (32, 64_000)
"""Buffers of a round, and in all, after which HotSpot has compiled the code of a round (``Tier4CompileThreshold``)."""
_RECORD = 5
_HEADER = (12, 40)
"""Least and most bytes of an array in addition to its content: header, length, alignment."""
_BUFFER = (32, 120)
"""The same of the object in front of a heap array."""
_NATIVE = (40, 1024)
"""What stands on the heap for memory off it: the buffer or segment, its cleaner, its arena."""
_SLICE = (16, 200)
_Returned = TypeVar("_Returned")


def run(
    spec: dict[str, Any], launch: dict[str, Any], _folder: Path
) -> AllocationOutcome | AccessOutcome | Failure | OutOfMemory:
    if spec["mode"] == "grow":
        spec = {**spec, **_ONE_ROUND}
    java, cpp = (_java_passes, _cpp_passes) if spec["mode"] == "access" else (_java_rounds, _cpp_rounds)
    return in_language(spec, launch, java, cpp)


def in_language(
    spec: dict[str, Any], launch: dict[str, Any],
    java: Callable[[dict[str, Any], dict[str, Any]], _Returned],
    cpp: Callable[[dict[str, Any], dict[str, Any]], _Returned],
) -> _Returned | OutOfMemory:  # fmt: skip
    """Measure in the language of the trial; exhausted memory is an outcome and is returned as one."""
    try:
        return (java if spec["language"] == "java" else cpp)(spec, launch)
    except Exception as error:
        if outcome := out_of_memory(error, spec["language"]):
            return outcome
        raise


def version(spec: dict[str, Any]) -> str | None:
    """Return the version of the allocator of a C++ trial, as it reports it."""
    on_linux = spec["language"] == "cpp" and sys.platform == "linux"
    return memory.allocator_version(spec["allocator"]) if on_linux else None


def created(ffi: Any, create: Callable[..., Any], *arguments: Any) -> Any:
    """Return the handle that a function of the native library makes; its refusal is raised."""
    error = ffi.new("char[]", native.MESSAGE_BYTES)
    handle = create(*arguments, error, native.MESSAGE_BYTES)
    if handle == ffi.NULL:
        raise native.refusal(ffi.string(error).decode())
    return handle


def hex_digits(checksum: int) -> str:
    return f"{checksum & 0xFFFF_FFFF_FFFF_FFFF:016x}"


def _iterations(spec: dict[str, Any]) -> tuple[int, int]:
    """Return the length of an iteration, ns, and how many records the longer window can need."""
    iteration_ns = round(spec["iteration_ms"] * 1e6)
    longest_s = max(spec["seconds"], spec["warmup_seconds"])
    return iteration_ns, math.ceil(longest_s * 1e9 / iteration_ns) + 2


def _measured(
    spec: dict[str, Any], run_for: Callable[[int], list[Record]], at_end: Callable[[], list[Record]] = list
) -> BuffersMeasurement:
    """Warm up, then measure; ``run_for`` takes the length of a window, ns, and ``at_end`` is part of the last one."""
    warmup = run_for(round(spec["warmup_seconds"] * 1e9)) if spec["warmup_seconds"] else []
    window, before = CpuWindow(), resource.getrusage(resource.RUSAGE_SELF)
    iterations = run_for(round(spec["seconds"] * 1e9))
    faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before.ru_minflt
    iterations += at_end()
    return {
        "iterations": {"warmup": warmup, "measured": iterations},
        "minor_faults": faults,
        "cpu": window.close(),
        "peak_rss_mb": peak_rss_mb(),
        "allocator_version": version(spec),
    }


def _measured_in_cpp(
    spec: dict[str, Any], ffi: Any, library: Any, run: Callable[..., int], handle: Any
) -> BuffersMeasurement:
    iteration_ns, capacity = _iterations(spec)
    out = ffi.new("ap_buffers_iteration[]", capacity)

    def run_for(length_ns: int) -> list[Record]:
        count = native.checked(library, run(handle, length_ns, iteration_ns, out, capacity))
        return [(item.start_ns, item.end_ns, item.count, item.alloc_ns, item.free_ns) for item in out[0:count]]

    return _measured(spec, run_for)


def _measured_in_java(
    spec: dict[str, Any], run_for: Callable[[int], Any], at_end: Callable[[], list[Record]] = list
) -> BuffersMeasurement:
    def records(length_ns: int) -> list[Record]:
        values = [int(value) for value in run_for(length_ns)[:]]
        return list(zip(*(values[at::_RECORD] for at in range(_RECORD)), strict=True))

    return _measured(spec, records, at_end)


def _full_collection() -> list[Record]:
    """Collect all that is dead; return what it took as the giving back of no further buffer."""
    start_ns = monotonic_ns()
    jvm.java_class("java.lang.System").gc()
    end_ns = monotonic_ns()
    return [(start_ns, end_ns, 0, 0, end_ns - start_ns)]


def _cpp_rounds(spec: dict[str, Any], launch: dict[str, Any]) -> AllocationOutcome | Failure:
    ffi, library = native.load(launch)
    strategy, touch = spec["strategy"].encode(), spec["touch"].encode()
    handle = created(ffi, library.ap_allocation_create, strategy, touch, spec["bytes"], spec["slots"])
    seen = ffi.new("ap_allocation_counters*")
    message = ffi.new("char[]", native.MESSAGE_BYTES)
    measure = partial(_measured_in_cpp, spec, ffi, library, library.ap_allocation_run, handle)
    # A round that is looked at would leave its memory with the allocator.
    measured = measure() if spec["mode"] == "grow" else None
    if native.checked(library, library.ap_allocation_verify(handle, seen, message, native.MESSAGE_BYTES)):
        return {"status": "invalid", "reason": ffi.string(message).decode()}
    measured = measured or measure()
    counted_bytes = seen.counted_bytes if seen.counted_bytes >= 0 else None
    counters: Counters = {"held_bytes": seen.held_bytes, "counted_bytes": counted_bytes}
    return {"status": "ok", "reason": None, **measured, "counters": counters}


def _java_rounds(spec: dict[str, Any], launch: dict[str, Any]) -> AllocationOutcome | Failure:
    jvm.start(launch)
    technique, size, slots, grow = spec["technique"], spec["bytes"], spec["slots"], spec["mode"] == "grow"
    iteration_ns, capacity = _iterations(spec)
    most = spec["max_buffers"] or _NO_LIMIT

    def trial_of(size: int, slots: int) -> Any:
        if technique.startswith(FOREIGN):
            source = jvm.java_class("allocpool.allocation.foreign.Segments").named(technique, size, slots)
        else:
            source = jvm.java_class("allocpool.allocation.Techniques").named(technique, size)
        if spec["strategy"] == "pool":
            source = jvm.java_class("allocpool.allocation.Pool")(source, slots)
        return jvm.java_class("allocpool.allocation.AllocationTrial")(source, spec["touch"], size, slots, capacity)

    if grow:
        # Buffers of one byte compile the code and leave the heap as it was, but for what a collection then takes back.
        trial_of(1, _COMPILED[0]).runFor(_NO_LIMIT, _NO_LIMIT, _COMPILED[1])
        _full_collection()
    trial = trial_of(size, slots)
    at_end = _full_collection if grow else list
    measure = partial(_measured_in_java, spec, lambda length_ns: trial.runFor(length_ns, iteration_ns, most), at_end)
    measured = measure() if grow else None
    fault = str(trial.verify())
    if not fault and technique == "direct_buffer":
        fault = direct_fault(size, slots, int(trial.directBuffersHeld()), int(trial.directBytesHeld())) or ""
    if fault:
        return {"status": "invalid", "reason": fault}
    measured = measured or measure()
    obtained = sum(record[2] for record in measured["iterations"]["measured"])
    allocated = int(trial.allocatedBytes())
    wrong = heap_fault(technique, spec["strategy"], size, obtained, allocated)
    counters: Counters = {"held_bytes": None, "counted_bytes": None, "heap_bytes": allocated}
    return {"status": "invalid" if wrong else "ok", "reason": wrong, **measured, "counters": counters}


def _cpp_passes(spec: dict[str, Any], launch: dict[str, Any]) -> AccessOutcome:
    ffi, library = native.load(launch)
    handle = created(ffi, library.ap_access_create, spec["operation"].encode(), spec["bytes"])
    measured = _measured_in_cpp(spec, ffi, library, library.ap_access_run, handle)
    checksum = ffi.new("uint64_t*")
    native.checked(library, library.ap_access_get_checksum(handle, _CHECKED_PASSES, checksum))
    return {"status": "ok", "reason": None, **measured, "checksum": hex_digits(int(checksum[0]))}


def _java_passes(spec: dict[str, Any], launch: dict[str, Any]) -> AccessOutcome:
    jvm.start(launch)
    kind = jvm.java_class("allocpool.allocation.AccessTrial")
    if spec["memory"] == "segment":
        pair = jvm.java_class("allocpool.allocation.foreign.SegmentPair")(spec["bytes"])
    else:
        pair = kind.memory(spec["memory"], spec["bytes"])
    iteration_ns, capacity = _iterations(spec)
    trial = kind(pair, spec["operation"], spec["bytes"], capacity)
    measured = _measured_in_java(spec, lambda length_ns: trial.runFor(length_ns, iteration_ns))
    return {
        "status": "ok",
        "reason": None,
        **measured,
        "checksum": hex_digits(int(trial.checksumAfter(_CHECKED_PASSES))),
    }


def bytes_per_buffer(technique: str, strategy: str, size: int) -> tuple[float, float]:
    """Return the least and most bytes that one buffer of ``size`` bytes can take on the Java heap."""
    if strategy == "pool":
        return 0, 1
    if technique == "byte_array":
        return size + _HEADER[0], size + _HEADER[1]
    if technique == "heap_buffer":
        return size + _HEADER[0] + _BUFFER[0], size + _HEADER[1] + _BUFFER[1]
    return _SLICE if technique == "arena_slicing" else _NATIVE


def heap_fault(technique: str, strategy: str, size: int, buffers: int, allocated_bytes: int) -> str | None:
    """Return one line where the JVM's counter contradicts the arithmetic; None where both agree."""
    low, high = bytes_per_buffer(technique, strategy, size)
    mean_bytes = allocated_bytes / buffers
    if low <= mean_bytes <= high:
        return None
    return (
        f"{mean_bytes:.1f} bytes of heap per buffer were counted by the JVM, where {low} to {high} are possible: "
        "the allocation was skipped, or something else allocates"
    )


def direct_fault(size: int, buffers: int, direct_buffers: int, direct_bytes: int) -> str | None:
    """Return one line where the JVM's counters of direct memory contradict a round that is alive, or None."""
    if direct_buffers >= buffers and direct_bytes >= buffers * size:
        return None
    return (
        f"{direct_buffers} direct buffers of {direct_bytes} bytes in all were counted by the JVM, "
        f"where {buffers} of {size} bytes are alive: the allocation was skipped"
    )
