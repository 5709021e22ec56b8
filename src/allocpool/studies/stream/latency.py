"""Whether a pipeline kept up: only then do its windows have latencies.

Used inside a trial, where a search judges its probes, and by the tables.
"""

from __future__ import annotations

from statistics import median

from allocpool.studies.stream.measurement import Timeliness


def kept_up(measured: Timeliness, late_ms: float) -> bool:
    """Whether the last event left its source in time, and the windows at the end came out in time."""
    latencies_ns, lag_ns = measured["latencies_ns"], measured["source_lag_ns"]
    if measured["gave_up"] or lag_ns is None or not latencies_ns:
        return False
    at_the_end = latencies_ns[-max(1, len(latencies_ns) // 10) :]
    return max(float(lag_ns), float(median(at_the_end))) <= late_ms * 1e6
