"""An allocation trial: verify one round, warm up, measure rounds; the JVM's counters are checked at the end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from allocpool.studies.allocation.child import accounting, buffers
from allocpool.studies.allocation.measurement import AllocationOutcome, Counters, Record
from allocpool.trial.child import jvm, native
from allocpool.trial.measurement import Failure, OutOfMemory

_NO_LIMIT = 2**62


def run(spec: dict[str, Any], launch: dict[str, Any], _folder: Path) -> AllocationOutcome | Failure | OutOfMemory:
    return buffers.outcome(spec, launch, _java, _cpp)


def _cpp(spec: dict[str, Any], launch: dict[str, Any]) -> AllocationOutcome | Failure:
    ffi, library = native.load(launch)
    strategy, touch = spec["strategy"].encode(), spec["touch"].encode()
    handle = buffers.created(
        ffi,
        lambda error, size: library.ap_allocation_create(strategy, touch, spec["bytes"], spec["slots"], error, size),
    )
    native_counters = ffi.new("ap_allocation_counters*")
    message = ffi.new("char[]", native.MESSAGE_BYTES)
    if native.checked(library, library.ap_allocation_verify(handle, native_counters, message, native.MESSAGE_BYTES)):
        return {"status": "invalid", "reason": ffi.string(message).decode()}
    iteration_ns, capacity = buffers.iterations_for(spec)
    out = ffi.new("ap_buffers_iteration[]", capacity)

    def run_for(seconds: float) -> list[Record]:
        length_ns = round(seconds * 1e9)
        count = native.checked(library, library.ap_allocation_run(handle, length_ns, iteration_ns, out, capacity))
        return buffers.native_records(out, count)

    measured = buffers.measured(spec, run_for)
    counted: Counters = {
        "held_bytes": native_counters.held_bytes,
        "counted_bytes": native_counters.counted_bytes if native_counters.counted_bytes >= 0 else None,
    }
    return {"status": "ok", "reason": None, **measured, "counters": counted}


def _java(spec: dict[str, Any], launch: dict[str, Any]) -> AllocationOutcome | Failure:
    jvm.start(launch)
    iteration_ns, capacity = buffers.iterations_for(spec)
    trial = jvm.java_class("allocpool.allocation.AllocationTrial")(
        _buffers(spec), spec["touch"], spec["bytes"], spec["slots"], capacity
    )
    fault = str(trial.verify())
    if not fault and spec["technique"] == "direct_buffer":
        held = int(trial.directBuffersHeld()), int(trial.directBytesHeld())
        fault = accounting.direct_fault(spec["bytes"], spec["slots"], *held) or ""
    if fault:
        return {"status": "invalid", "reason": fault}
    most = spec["max_buffers"] or _NO_LIMIT
    measured = buffers.measured(
        spec, lambda seconds: buffers.records(trial.runFor(round(seconds * 1e9), iteration_ns, most))
    )
    obtained = sum(record[2] for record in measured["iterations"]["measured"])
    allocated = int(trial.allocatedBytes())
    wrong = accounting.heap_fault(spec["technique"], spec["strategy"], spec["bytes"], obtained, allocated)
    counted: Counters = {"held_bytes": None, "counted_bytes": None, "heap_bytes": allocated}
    return {"status": "invalid" if wrong else "ok", "reason": wrong, **measured, "counters": counted}


def _buffers(spec: dict[str, Any]) -> Any:
    name, size, slots = spec["technique"], spec["bytes"], spec["slots"]
    if name.startswith(buffers.FOREIGN):
        fresh = jvm.java_class("allocpool.allocation.foreign.Segments").named(name, size, slots)
    else:
        fresh = jvm.java_class("allocpool.allocation.Techniques").named(name, size)
    return jvm.java_class("allocpool.allocation.Pool")(fresh, slots) if spec["strategy"] == "pool" else fresh
