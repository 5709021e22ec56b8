"""Laps: how long a trial of the packets workload is by the packets that it goes through.

A pool and a queue show their cost only when the packets come round: a window of half a lap measures packets that lie
next to each other, or caches that have not been filled. Which packets come round depends on the order in which the pool
hands them out: last in, first out, those below the first few are never reached.
"""

from __future__ import annotations

LAPS = 2.0
"""A trial lasts at least so many, or says that it did not."""
COLLECTIONS = 3
"""And where collections are what is measured so many of them."""


def lap_packets(pool_size: int, queue_size: int, stored_count: int, pool_reuse: str) -> int:
    """Return the packets of one lap: as many as circulate.

    These are the most that are in use at once, since a packet is obtained before one is freed; a pool that hands out
    first what came back first (``fifo``) sweeps all that it holds.
    """
    in_use = queue_size + stored_count + 1
    return max(pool_size, in_use) if pool_reuse == "fifo" else in_use
