"""The space-filling design behind `ask`: a workload a point of a Sobol sequence, any start of which fills the space.

Sobol 1967, scrambled as Owen 1995, by scipy. What is drawn is what a reader states; the heap follows from what lives.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

MOST_POINTS = 2**12
"""Of a design; the block of its trials is that many times the repetition, plus the point."""
SMALLEST_BYTES, LARGEST_BYTES = 64, 2**20
MOST_ALIVE, MOST_ALIVE_MB = 1_000_000, 512
"""Messages alive at once, in flight and kept, and what their buffers take, MiB."""
KEPT_SHARES = (0.005, 0.5)
TOUCHED_SHARES = (0.05, 1.0)
TEMPORARY_BYTES = (64, 4096)
LIVE_MB = (4.0, 256.0)
HEAP_OVER_LIVE = (1.3, 8.0)
LARGEST_HEAP_MB = 4096
OBJECT_BYTES = 64
BASE_MB = 24.0
"""Of a JVM without messages: its heap is a multiple of that and of what is alive."""
_SEED = 55


@cache
def _draws(points: int) -> list[list[float]]:
    from scipy.stats import qmc

    drawn: list[list[float]] = qmc.Sobol(8, seed=_SEED).random_base2(math.ceil(math.log2(points))).tolist()
    return drawn


def _between(low: float, high: float, u: float) -> float:
    """Return the value at ``u`` of a range whose logarithm is uniform."""
    return float(low * (high / low) ** u)


def _or_none(part_without: float, u: float) -> float | None:
    """Return None for the first part of the range of ``u``, else where it is in what is left, 0 to 1."""
    return None if u < part_without else (u - part_without) / (1 - part_without)


def workload_at(point: int, points: int) -> tuple[dict[str, Any], float]:
    """Return the settings of mode messages at a point of the design, and its heap over what is alive."""
    of_bytes, of_alive, of_store, of_kept, of_touched, of_temporaries, of_live, of_heap = _draws(points)[point]
    size = round(_between(SMALLEST_BYTES, LARGEST_BYTES, of_bytes))
    most = min(MOST_ALIVE, MOST_ALIVE_MB * 2**20 // size)
    alive = round(_between(1, most, of_alive**0.75))  # more of those where much lives: there the sides differ
    in_store = _or_none(1 / 3, of_store)
    kept_count = 0 if in_store is None else max(1, round(alive * in_store))
    temporaries, live = _or_none(1 / 4, of_temporaries), _or_none(1 / 3, of_live)
    touched = round(_between(*TOUCHED_SHARES, of_touched), 4)
    settings = {
        "sizes": str(size), "in_flight": alive - kept_count, "kept_count": kept_count,
        "kept_share": round(_between(*KEPT_SHARES, of_kept), 4) if kept_count else 0.0,
        "filled_share": touched, "read_share": touched,
        "temporaries": 0 if temporaries is None else round(_between(*TEMPORARY_BYTES, temporaries) / OBJECT_BYTES),
        "temporary_bytes": OBJECT_BYTES, "live_mb": 0.0 if live is None else round(_between(*LIVE_MB, live), 1),
    }  # fmt: skip
    return settings, _between(*HEAP_OVER_LIVE, of_heap)


def heap_mb_at(live_mb: float, over_live: float, smallest_mb: int) -> int:
    """Return the heap, MiB, of so much that is alive at a time with the pool."""
    return min(LARGEST_HEAP_MB, max(smallest_mb, math.ceil(over_live * (live_mb + BASE_MB))))
