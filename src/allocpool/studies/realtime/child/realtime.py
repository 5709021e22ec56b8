"""A real-time trial: prologue by the batch path, then the source at one interval."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from allocpool.packets.child import workload as packets
from allocpool.studies.realtime.child.windows import Windows, reason_of
from allocpool.studies.realtime.measurement import RealtimeOutcome
from allocpool.trial.child.accounting import monotonic_ns
from allocpool.trial.measurement import OutOfMemory


def run(spec: dict[str, Any], launch: dict[str, Any], folder: Path) -> RealtimeOutcome | OutOfMemory:
    """Measure; an exhausted heap is an outcome and is returned as one."""
    try:
        return _measure(spec, launch, folder)
    except Exception as error:
        if outcome := packets.out_of_memory(error, spec["language"]):
            return outcome
        raise


def _measure(spec: dict[str, Any], launch: dict[str, Any], folder: Path) -> RealtimeOutcome:
    begun_ns = monotonic_ns()
    longest_s = spec["warmup_seconds"] + spec["cap_seconds"]
    windows = Windows(spec, launch, folder, spec["interval_ns"], longest_s)
    ready_ns = monotonic_ns()
    prologue = windows.prologue()
    asked = ("interval_ns", "seconds", "cap_seconds", "warmup_seconds", "stall_at_s", "stall_ms")
    window, ring_fault = windows.measure(majors=spec["major_collections"], **{name: spec[name] for name in asked})
    processed, packets_fault = windows.close()
    reason = reason_of(ring_fault, packets_fault)
    return {
        "status": "failed" if reason else "ok", "reason": reason, "set_up_ns": ready_ns - begun_ns,
        "prologue": prologue, **window, **processed,
    }  # fmt: skip
