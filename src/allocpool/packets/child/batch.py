"""A batch trial: fill queue and store, warm up, measure.

The stretches follow each other without a pause in the same process; only their records are kept apart.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from allocpool.packets.child import workload as packets
from allocpool.packets.laps import lap_packets
from allocpool.packets.measurement import BatchOutcome
from allocpool.runtimes.collectors import never_frees
from allocpool.trial.child.accounting import CpuWindow, monotonic_ns, peak_rss_mb
from allocpool.trial.child.gc_log import PAUSING, Collections
from allocpool.trial.measurement import Iteration, OutOfMemory

_PARTS = 20
"""Iterations of a stretch whose length is a number of packets."""


def run(spec: dict[str, Any], launch: dict[str, Any], folder: Path) -> BatchOutcome | OutOfMemory:
    """Measure; an exhausted heap is an outcome and is returned as one."""
    try:
        return _measure(spec, launch, folder)
    except Exception as error:
        if outcome := packets.out_of_memory(error, spec["language"]):
            return outcome
        raise


def _go_on(
    work: packets.Packets, spec: dict[str, Any], folder: Path, measured: list[Iteration], allocated_bytes: int | None
) -> int | None:
    """Measure on, after the seconds asked for, until the window holds its laps and collections or is at its longest;
    returns what it allocated in all."""
    seen = Collections(folder / "gc.log", PAUSING, from_start=True)
    start_ns, longest_ns = measured[0][0], spec["longest_factor"] * spec["seconds"] * 1e9
    lap = lap_packets(spec["pool_size"], spec["queue_size"], spec["stored_count"], spec["pool_reuse"])
    wanted = spec["min_laps"] * lap
    while (
        sum(packets for _, _, packets in measured) < wanted
        or seen.begun_within(start_ns, measured[-1][1]) < spec["min_collections"]
    ):
        left_ns = start_ns + longest_ns - measured[-1][1]
        if left_ns <= 0:
            break
        more_ns = round(min(left_ns, spec["seconds"] * 1e9 / 2))
        measured += work.run_for(max(1, more_ns), round(spec["iteration_ms"] * 1e6))
        more_bytes = work.allocated_bytes()
        allocated_bytes = None if allocated_bytes is None or more_bytes is None else allocated_bytes + more_bytes
    return allocated_bytes


def _measure(spec: dict[str, Any], launch: dict[str, Any], folder: Path) -> BatchOutcome:
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
        disorder_bytes = work.disorder_bytes()
        window = CpuWindow()
        measured = work.run_packets(measured_packets, math.ceil(measured_packets / _PARTS))
    else:
        filling = work.run_packets(fill, math.ceil(fill / _PARTS))
        warmup = work.run_for(round(spec["warmup_seconds"] * 1e9), iteration_ns) if spec["warmup_seconds"] else []
        disorder_bytes = work.disorder_bytes()
        window = CpuWindow()
        measured = work.run_for(round(spec["seconds"] * 1e9), iteration_ns)
    allocated_bytes = work.allocated_bytes()
    if spec["packets"] is None:
        allocated_bytes = _go_on(work, spec, folder, measured, allocated_bytes)
    cpu = window.close()
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
        "disorder_bytes": disorder_bytes,
        "memory": work.memory(),
    }
