"""Latencies of windows: the percentiles that so many of them allow, and whether a pipeline kept up at all.

Used inside a trial, where a search judges its probes, and by the tables.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

PERCENTILES = {"p50": 50.0, "p99": 99.0, "p99.9": 99.9, "p99.99": 99.99}
"""A percentile is told from as many windows as leave one above it, and from no fewer."""


def windows_needed(percentile: float) -> int:
    """Windows that a percentile takes: one of them lies above it."""
    return math.ceil(round(100 / (100 - percentile), 6))


def percentiles_ms(latencies_ns: Sequence[int]) -> dict[str, float | None]:
    """Percentiles (nearest rank) and maximum, ms; None where the windows are too few for one."""
    ordered = sorted(latencies_ns)
    found: dict[str, float | None] = {
        name: ordered[math.ceil(round(len(ordered) * percentile / 100, 6)) - 1] / 1e6
        if len(ordered) >= windows_needed(percentile)
        else None
        for name, percentile in PERCENTILES.items()
    }
    return {**found, "max": ordered[-1] / 1e6 if ordered else None}


def tail(latencies_ns: Sequence[int]) -> tuple[str, float] | tuple[None, None]:
    """The highest percentile that so many windows allow, and the latency there, ms."""
    found = percentiles_ms(latencies_ns)
    allowed = [(name, value) for name in PERCENTILES if (value := found[name]) is not None]
    return allowed[-1] if allowed else (None, None)


def kept_up(measured: Mapping[str, Any], late_ms: float) -> bool:
    """Whether the last event left its source in time, and the windows at the end came out in time.

    ``measured`` holds ``gave_up``, ``latencies_ns`` and ``source_lag_ns`` of a trial.
    """
    latencies_ns = measured["latencies_ns"]
    if measured["gave_up"] or not latencies_ns:
        return False
    at_the_end = latencies_ns[-max(1, len(latencies_ns) // 10) :]
    return max(float(measured["source_lag_ns"]), float(median(at_the_end))) <= late_ms * 1e6
