"""A search for the highest rate of events whose windows hold a latency at the tail: one JVM, one job after the other.

A job at the lowest rate comes before all others and is not judged: in it the JVM compiles what it will run. Then the
lowest and the highest rate, and then the geometric middle of what is left, until the bracket is as narrow as was
asked for. A rate holds when each of its probes does, and fails with the first that does not: none is called held by
luck. The tail of a probe is the highest percentile that its windows allow.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from allocpool.percentiles import tail_ms
from allocpool.studies.stream.child import stream
from allocpool.studies.stream.latency import kept_up
from allocpool.studies.stream.measurement import Probe, StreamSearchOutcome
from allocpool.trial.child import jvm
from allocpool.trial.child.accounting import monotonic_ns, peak_rss_mb
from allocpool.trial.measurement import Failure, Outcome


class Ended(Exception):
    """A probe came to no end; holds the outcome of the search."""

    def __init__(self, outcome: Failure) -> None:
        super().__init__(outcome["reason"])
        self.outcome = outcome


def run(spec: dict[str, Any], launch: dict[str, Any], _folder: Path) -> StreamSearchOutcome:
    """Search; a probe that fails outright ends it, with what was found so far."""
    jvm.start(launch)
    begun_ns = monotonic_ns()
    probes: list[Probe] = []

    def holds(events_per_second: int) -> bool:
        for _ in range(spec["confirmations"]):
            probes.append(probe(spec, events_per_second))
            if not probes[-1]["holds"]:
                return False
        return True

    outcome: Outcome | Failure = {"status": "ok", "reason": None}
    held, failed = None, None
    try:
        probe(spec, spec["low_events_per_second"])
        held, failed = bracket(spec["low_events_per_second"], spec["high_events_per_second"], spec["resolution"], holds)
    except Ended as ended:
        outcome = ended.outcome
    return {
        "status": outcome["status"],
        "reason": outcome["reason"],
        "holds_events_per_second": held,
        "fails_events_per_second": failed,
        "probes": probes,
        "start_ns": begun_ns,
        "end_ns": monotonic_ns(),
        "peak_rss_mb": peak_rss_mb(),
    }


def bracket(low: int, high: int, resolution: float, holds: Callable[[int], bool]) -> tuple[int | None, int | None]:
    """The highest rate found to hold and the lowest found to fail, no further apart than the resolution.

    The first is None where the lowest rate fails, the second where the highest one holds.
    """
    if not holds(low):
        return None, low
    if holds(high):
        return high, None
    while high > math.ceil(low * (1 + resolution)):
        middle = round(math.sqrt(low * high))
        if holds(middle):
            low = middle
        else:
            high = middle
    return low, high


def probe(spec: dict[str, Any], events_per_second: int) -> Probe:
    """One job at this rate, judged.

    Raises:
        Ended: the engine did not start, the pipeline failed, or its results were wrong.
    """
    begun_ns = monotonic_ns()
    measured = stream.measure_rate({**spec, "events_per_second": events_per_second})
    if measured["status"] != "ok":
        reason = f"at {events_per_second:,} events/s: {measured['reason']}"
        raise Ended({"status": measured["status"], "reason": reason})
    keeps_up = kept_up(measured, spec["late_ms"])
    last, first = ((tail_ms(measured[of]) if keeps_up else (None, None)) for of in ("latencies_ns", "firsts_ns"))
    held_ms = first[1] if spec["held"] == "first" else last[1]
    return {
        "events_per_second": events_per_second,
        "kept_up": keeps_up,
        "tail": last[0],
        "tail_ms": last[1],
        "first_tail_ms": first[1],
        "holds": held_ms is not None and held_ms <= spec["target_ms"],
        "windows": len(measured["latencies_ns"]),
        "wall_s": (monotonic_ns() - begun_ns) / 1e9,
    }
