"""Whether a pipeline kept up with its events, and how soon it caught up after a hiccup.

Used inside a trial, where a search judges its probes, and by the tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from allocpool.studies.stream.measurement import Timeliness


def kept_up(measured: Timeliness, late_ms: float) -> bool:
    """Return whether the last event left its source in time, and the windows at the end came out in time."""
    latencies_ns, lag_ns = measured["latencies_ns"], measured["source_lag_ns"]
    if measured["gave_up"] or lag_ns is None or not latencies_ns:
        return False
    at_the_end = latencies_ns[-max(1, len(latencies_ns) // 10) :]
    return max(float(lag_ns), float(median(at_the_end))) <= late_ms * 1e6


def catch_up_ms(latencies_ns: Sequence[int], slide_ms: int, from_window: int, hiccup_ms: int) -> float | None:
    """Return how long after the end of a hiccup the first window came out within a slide of the median before it, ms;
    None where no window did. ``from_window``: the place of the first window whose events the hiccup held."""
    before_ns = latencies_ns[:from_window]
    if not before_ns:
        return None
    usual_ns = median(before_ns) + slide_ms * 1e6
    over = from_window + -(-hiccup_ms // slide_ms) - 1
    for place in range(over, len(latencies_ns)):
        if latencies_ns[place] <= usual_ns:
            came_ms = (place - from_window + 1) * slide_ms + latencies_ns[place] / 1e6
            return max(0.0, came_ms - hiccup_ms)
    return None
