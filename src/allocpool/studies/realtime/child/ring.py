"""A ring trial: a consumer that only reads."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from allocpool.studies.realtime.child.consumers import reader
from allocpool.studies.realtime.child.source import SATURATED_CAPACITY, Plan, Source
from allocpool.studies.realtime.measurement import RingOutcome
from allocpool.trial.child.accounting import CpuWindow, peak_rss_mb


def run(spec: dict[str, Any], launch: dict[str, Any], _folder: Path) -> RingOutcome:
    """Measure."""
    interval_ns = spec["interval_ns"]
    capacity = round(spec["input_queue_ms"] * 1e6 / interval_ns) if interval_ns else SATURATED_CAPACITY
    warmup_s = spec["warmup_seconds"] if interval_ns else 0.0
    plan = Plan(interval_ns, capacity, spec["seconds"], spec["seconds"], warmup_s)
    source = Source(launch, capacity, spec["seconds"] + spec["warmup_seconds"])
    consumer = reader(spec["language"], launch)
    if not interval_ns and spec["warmup_seconds"]:
        source.run(replace(plan, seconds=spec["warmup_seconds"]), consumer)  # counts of a run of its own, not kept
    window = CpuWindow()
    measured, fault = source.run(plan, consumer)
    return {
        "status": "failed" if fault else "ok",
        "reason": f"audit of the ring: {fault}" if fault else None,
        **measured,
        "cpu": window.close(),
        "peak_rss_mb": peak_rss_mb(),
    }
