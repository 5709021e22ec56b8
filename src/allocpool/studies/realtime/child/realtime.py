"""A real-time trial: prologue by the batch path, then the source at one interval."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from allocpool.packets.child import workload as packets
from allocpool.studies.realtime.child.stretch import Stretches
from allocpool.trial.child.accounting import monotonic_ns


def run(spec: dict[str, Any], launch: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Measure; an exhausted heap is an outcome and is returned as one."""
    try:
        return _measure(spec, launch, folder)
    except Exception as error:
        if outcome := packets.out_of_memory(error, spec["language"]):
            return outcome
        raise


def _measure(spec: dict[str, Any], launch: dict[str, Any], folder: Path) -> dict[str, Any]:
    begun_ns = monotonic_ns()
    longest_s = spec["warmup_seconds"] + spec["cap_seconds"]
    stretches = Stretches(spec, launch, folder, spec["interval_ns"], longest_s)
    ready_ns = monotonic_ns()
    prologue = stretches.prologue()
    told = stretches.measure(
        interval_ns=spec["interval_ns"],
        seconds=spec["seconds"],
        cap_seconds=spec["cap_seconds"],
        warmup_seconds=spec["warmup_seconds"],
        majors=spec["major_collections"],
        stall_at_s=spec["stall_at_s"],
        stall_ms=spec["stall_ms"],
    )
    end = stretches.close()
    faults = [f"{what}: {line}" for what, line in (("ring", told.pop("fault")), ("packets", end.pop("fault"))) if line]
    return {
        "status": "failed" if faults else "ok",
        "reason": "audit of the " + "; ".join(faults) if faults else None,
        "set_up_ns": ready_ns - begun_ns,
        "prologue": prologue,
        **told,
        **end,
    }
