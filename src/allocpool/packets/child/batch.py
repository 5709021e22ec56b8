"""A batch trial: fill queue and store, warm up, measure.

The stretches follow each other without a pause in the same process; only their records are kept apart.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from allocpool.packets.child import workload as packets
from allocpool.packets.measurement import BatchOutcome
from allocpool.runtimes.collectors import never_frees
from allocpool.trial.child.accounting import CpuWindow, monotonic_ns, peak_rss_mb
from allocpool.trial.measurement import Iteration, OutOfMemory

_PARTS = 20
"""Iterations of a stretch whose length is a number of packets."""


def run(spec: dict[str, Any], launch: dict[str, Any], _folder: Path) -> BatchOutcome | OutOfMemory:
    """Measure; an exhausted heap is an outcome and is returned as one."""
    try:
        return _measure(spec, launch)
    except Exception as error:
        if outcome := packets.out_of_memory(error, spec["language"]):
            return outcome
        raise


def _measure(spec: dict[str, Any], launch: dict[str, Any]) -> BatchOutcome:
    iteration_ns = round(spec["iteration_ms"] * 1e6)
    longest_s = max(spec["warmup_seconds"], spec["seconds"] or 0.0)
    begun_ns = monotonic_ns()
    work = packets.make(spec, launch, max(_PARTS + 1, math.ceil(longest_s * 1e9 / iteration_ns) + 1))
    ready_ns = monotonic_ns()
    fill = spec["fill_packets"]
    if spec["packets"] is not None:
        fill = min(fill, spec["packets"] // 2)
        measured_packets = spec["packets"] - fill
        filling = work.run_packets(fill, max(1, fill // _PARTS))
        warmup: list[Iteration] = []
        window = CpuWindow()
        measured = work.run_packets(measured_packets, math.ceil(measured_packets / _PARTS))
    else:
        filling = work.run_packets(fill, math.ceil(fill / _PARTS))
        warmup = work.run_for(round(spec["warmup_seconds"] * 1e9), iteration_ns) if spec["warmup_seconds"] else []
        window = CpuWindow()
        measured = work.run_for(round(spec["seconds"] * 1e9), iteration_ns)
    cpu = window.close()
    allocated_bytes = work.allocated_bytes()
    peak_mb = peak_rss_mb()  # before anything is looked at that is not the workload
    fault = work.audit()
    return {
        "status": "failed" if fault else "ok",
        "reason": f"audit: {fault}" if fault else None,
        "set_up_ns": ready_ns - begun_ns,
        "fill_packets": fill,
        "iterations": {"fill": filling, "warmup": warmup, "measured": measured},
        "cpu": cpu,
        "counts": work.counts(),
        "checksum": work.checksum(),
        "allocated_bytes": allocated_bytes,
        "peak_rss_mb": peak_mb,
        # Every block has the same objects alive, and what never collects can't tell the living from the dead.
        "live_objects": work.live_objects() if spec["block"] == 0 and not never_frees(spec["collector"]) else None,
        "memory": work.memory(),
    }
