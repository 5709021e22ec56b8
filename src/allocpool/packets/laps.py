"""Laps: the length of a trial by the packets that it goes through.

A pool and a queue show their cost only when the packets come round. A window of half a lap measures packets that lie
next to each other, or caches that have not been filled.
"""

from __future__ import annotations

LAPS = 2.0
"""A trial lasts at least so many, or is flagged as too short."""
COLLECTIONS = 3
"""Where collections are what is measured, so many of them, too."""


def lap_packets(pool_size: int, queue_size: int, stored_count: int, pool_reuse: str) -> int:
    """Return the packets of one lap: as many as circulate.

    These are the most that are in use at once, since a packet is obtained before one is freed. A pool that hands out
    first what came back first (``fifo``) sweeps all that it holds.
    """
    in_use = queue_size + stored_count + 1
    return max(pool_size, in_use) if pool_reuse == "fifo" else in_use
