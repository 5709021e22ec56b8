"""Laps: how long a trial of the packets workload is by the packets that it goes through.

A pool and a queue show their cost only when the packets come round: a window of half a lap measures packets that lie
next to each other, or caches that have not been filled.
"""

from __future__ import annotations

LAPS = 2.0
"""A trial lasts at least so many, or says that it did not."""
COLLECTIONS = 3
"""And where collections are what is measured so many of them."""


def lap_packets(pool_size: int, queue_size: int, stored_count: int) -> int:
    """Packets of one lap: as many as the pool holds, or queue and store where they hold more."""
    return max(pool_size, queue_size + stored_count)
