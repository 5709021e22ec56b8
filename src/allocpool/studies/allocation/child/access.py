"""An access trial: passes over one buffer, and the checksum after a fixed number of them, the same in all memories."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from allocpool.studies.allocation.child import buffers
from allocpool.studies.allocation.measurement import AccessOutcome, BuffersMeasurement, Record
from allocpool.trial.child import jvm, native
from allocpool.trial.measurement import OutOfMemory

CHECKED_PASSES = 3


def run(spec: dict[str, Any], launch: dict[str, Any], _folder: Path) -> AccessOutcome | OutOfMemory:
    return buffers.outcome(spec, launch, _java, _cpp)


def _ended(measured: BuffersMeasurement, checksum: int) -> AccessOutcome:
    return {"status": "ok", "reason": None, **measured, "checksum": f"{checksum & 0xFFFF_FFFF_FFFF_FFFF:016x}"}


def _cpp(spec: dict[str, Any], launch: dict[str, Any]) -> AccessOutcome:
    ffi, library = native.load(launch)
    operation = spec["operation"].encode()
    handle = buffers.created(ffi, lambda error, size: library.ap_access_create(operation, spec["bytes"], error, size))
    iteration_ns, capacity = buffers.iterations_for(spec)
    out = ffi.new("ap_buffers_iteration[]", capacity)

    def run_for(seconds: float) -> list[Record]:
        length_ns = round(seconds * 1e9)
        count = native.checked(library, library.ap_access_run(handle, length_ns, iteration_ns, out, capacity))
        return buffers.native_records(out, count)

    measured = buffers.measured(spec, run_for)
    checksum = ffi.new("uint64_t*")
    native.checked(library, library.ap_access_get_checksum(handle, CHECKED_PASSES, checksum))
    return _ended(measured, int(checksum[0]))


def _java(spec: dict[str, Any], launch: dict[str, Any]) -> AccessOutcome:
    jvm.start(launch)
    iteration_ns, capacity = buffers.iterations_for(spec)
    kind = jvm.java_class("allocpool.allocation.AccessTrial")
    if spec["memory"] == "segment":
        memory = jvm.java_class("allocpool.allocation.foreign.SegmentPair")(spec["bytes"])
    else:
        memory = kind.memory(spec["memory"], spec["bytes"])
    trial = kind(memory, spec["operation"], spec["bytes"], capacity)
    measured = buffers.measured(spec, lambda seconds: buffers.records(trial.runFor(round(seconds * 1e9), iteration_ns)))
    return _ended(measured, int(trial.checksumAfter(CHECKED_PASSES)))
