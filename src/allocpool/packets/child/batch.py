"""A batch trial: fill queue and store, warm up, measure, without a pause."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from allocpool.packets.child import plain
from allocpool.packets.child import workload as packets
from allocpool.packets.measurement import BatchOutcome, WarmUp, lap_packets
from allocpool.runtimes.collectors import never_frees
from allocpool.trial.child.accounting import CpuWindow, monotonic_ns, peak_rss_mb
from allocpool.trial.child.gc_log import PAUSING, TRAINING, Collections, old_cycles
from allocpool.trial.measurement import Iteration, OutOfMemory

_PARTS = 20
"""Iterations of a part whose length is a number of packets."""
_AT_ONCE = 8
"""Iterations between two looks at what a steady trial still lacks."""
_FEWEST_ITERATIONS = 20
"""Of a steady trial's window: what `allocpool.campaign.steady` needs."""
TRAINED_COLLECTIONS = 12
"""Young collections since the start after which a collector counts as trained."""
LEVEL = 1.1
"""Two thirds of a warm-up whose costs are no further apart are level."""
_FEWEST_IN_A_THIRD = 8


def run(spec: dict[str, Any], launch: dict[str, Any], folder: Path) -> BatchOutcome | OutOfMemory:
    """Measure; an exhausted heap is an outcome and is returned as one."""
    try:
        return plain.run(spec, launch) if spec["control"] == "plain" else _measure(spec, launch, folder)
    except Exception as error:
        if outcome := packets.out_of_memory(error, spec["language"]):
            return outcome
        raise


def _window(work: packets.Packets, spec: dict[str, Any], folder: Path) -> tuple[list[Iteration], int | None]:
    """Measure until the window holds what was asked for, or is at its longest; return its iterations, and the bytes
    that this thread allocated on the Java heap (None in C++)."""
    log = folder / "gc.log"
    seen = Collections(log, PAUSING, from_start=True)
    lap = lap_packets(spec["pool_size"], spec["queue_size"], spec["stored_count"], spec["pool_reuse"])
    iterations: list[Iteration] = []
    allocated_bytes: int | None = 0

    def lacks_something() -> bool:
        start_ns, end_ns = iterations[0][0], iterations[-1][1]
        return (
            sum(count for _, _, count in iterations) < spec["min_laps"] * lap
            or (spec["steady"] and len(iterations) < _FEWEST_ITERATIONS)
            or seen.begun_within(start_ns, end_ns) < spec["min_collections"]
            or (spec["min_old_cycles"] > 0 and old_cycles(log, start_ns, end_ns) < spec["min_old_cycles"])
        )

    first_ns = part_ns = round(spec["seconds"] * 1e9)
    while True:
        begun, done = len(iterations), False
        while not done:
            if spec["steady"]:
                iterations += _pieces(work, spec)
            else:
                iterations += work.run_for(part_ns, round(spec["iteration_ms"] * 1e6))
            more = work.allocated_bytes()
            allocated_bytes = None if more is None else (allocated_bytes or 0) + more
            done = iterations[-1][1] - iterations[begun][0] >= part_ns
        left_ns = spec["longest_factor"] * first_ns - (iterations[-1][1] - iterations[0][0])
        if left_ns <= 0 or not lacks_something():
            return iterations, allocated_bytes
        part_ns = max(1, round(min(left_ns, first_ns / 2)))


def _pieces(work: packets.Packets, spec: dict[str, Any]) -> list[Iteration]:
    """Run a few iterations of equal numbers of packets."""
    return work.run_packets(_AT_ONCE * spec["iteration_packets"], spec["iteration_packets"])


def _until_steady(work: packets.Packets, spec: dict[str, Any], folder: Path) -> tuple[list[Iteration], WarmUp]:
    """Warm up until the collector has seen its young collections and the cost is level, or to the cap."""
    collects = spec["language"] == "java" and not never_frees(spec["collector"])
    seen = Collections(folder / "gc.log", TRAINING, from_start=True)
    iterations: list[Iteration] = []
    while True:
        iterations += _pieces(work, spec)
        collections = seen.since(0) if collects else 0
        done = sum(count for _, _, count in iterations)
        warm = iterations[-1][1] - iterations[0][0] >= spec["warmup_seconds"] * 1e9
        trained = not collects or collections >= TRAINED_COLLECTIONS
        if warm and trained and _is_level(iterations):
            return iterations, {"ended_by": "level", "packets": done, "collections": collections}
        if warm and done + _AT_ONCE * spec["iteration_packets"] > spec["warmup_packets"]:
            return iterations, {"ended_by": "cap", "packets": done, "collections": collections}


def _is_level(iterations: list[Iteration]) -> bool:
    """Return whether the last third of the iterations costs what the third before it does."""
    third = len(iterations) // 3
    if third < _FEWEST_IN_A_THIRD:
        return False
    before, last = iterations[-2 * third : -third], iterations[-third:]
    costs = [sum(end - start for start, end, _ in part) for part in (before, last)]
    return max(costs) <= LEVEL * min(costs)


def _measure(spec: dict[str, Any], launch: dict[str, Any], folder: Path) -> BatchOutcome:
    iteration_ns = round(spec["iteration_ms"] * 1e6)
    longest_s = max(spec["warmup_seconds"], spec["seconds"] or 0.0)
    begun_ns = monotonic_ns()
    work = packets.make(spec, launch, max(_PARTS + 1, math.ceil(longest_s * 1e9 / iteration_ns) + 1))
    ready_ns = monotonic_ns()
    exactly = spec["packets"]
    fill = spec["fill_packets"] if exactly is None else min(spec["fill_packets"], exactly // 2)
    filling = work.run_packets(fill, math.ceil(fill / _PARTS))
    warmup: list[Iteration] = []
    warmed_up: WarmUp | None = None
    if exactly is None and spec["steady"]:
        warmup, warmed_up = _until_steady(work, spec, folder)
    elif exactly is None and spec["warmup_seconds"]:
        warmup = work.run_for(round(spec["warmup_seconds"] * 1e9), iteration_ns)
    disorder_bytes = work.disorder_bytes()
    window = CpuWindow()
    if exactly is None:
        measured, allocated_bytes = _window(work, spec, folder)
    else:
        measured = work.run_packets(exactly - fill, math.ceil((exactly - fill) / _PARTS))
        allocated_bytes = work.allocated_bytes()
    cpu = window.close()
    cycles = None
    if exactly is None and spec["language"] == "java" and not never_frees(spec["collector"]):
        cycles = old_cycles(folder / "gc.log", measured[0][0], measured[-1][1])
    peak_mb = peak_rss_mb()  # before anything is looked at that is not the workload
    fault = work.audit()
    counted = spec["block"] == 0 or spec["mode"] == "live_set"
    return {
        "status": "failed" if fault else "ok",
        "reason": f"audit: {fault}" if fault else None,
        "set_up_ns": ready_ns - begun_ns,
        "fill_packets": fill,
        "iterations": {"fill": filling, "warmup": warmup, "measured": measured},
        "warm_up": warmed_up,
        "old_cycles": cycles,
        "cpu": cpu,
        "counts": work.counts(),
        "checksum": work.checksum(),
        "allocated_bytes": allocated_bytes,
        "peak_rss_mb": peak_mb,
        # Every block has the same objects alive, and what never collects can't separate the living from the dead.
        "live_objects": work.live_objects() if counted and not never_frees(spec["collector"]) else None,
        "disorder_bytes": disorder_bytes,
        "memory": work.memory(),
    }
