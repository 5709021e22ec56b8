"""Where source and consumer run: tied to cores of their own where the machine has one to spare for the collector.

The source spins: it takes a core. With fewer than three cores, what is tied to one only takes the scheduler's
choice away, so nothing is tied, and where the two ran is recorded.
"""

from __future__ import annotations

import contextlib
import os
import resource
from collections.abc import Callable
from pathlib import Path
from typing import Self

from allocpool.studies.realtime.measurement import Placement, SourceAccount


def siblings(processor: int) -> frozenset[int]:
    """The hardware threads of the core that this one belongs to; it alone where the system does not report it."""
    try:
        topology = Path(f"/sys/devices/system/cpu/cpu{processor}/topology")
        text = (topology / "thread_siblings_list").read_text(encoding="ascii")
    except OSError:
        return frozenset({processor})
    found = set()
    for part in text.strip().split(","):
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return frozenset(found)


def own_cores() -> tuple[int, int] | None:
    """Processors of two cores, for source and consumer, out of those that this process may use; None where the machine
    has no core to spare, or can't tie a thread to one."""
    if not hasattr(os, "sched_getaffinity"):
        return None
    cores = sorted({min(siblings(one) & os.sched_getaffinity(0)) for one in os.sched_getaffinity(0)})
    # One for the source, one for the consumer, and the first, where most systems handle interrupts, for all else.
    return (cores[-1], cores[-2]) if len(cores) >= 3 else None


class Watched:
    """The calling thread while it consumes: tied to its processor where it has one, looked at before and after."""

    def __init__(self, processor: int | None, current: Callable[[], int]) -> None:
        self._processor, self._current = processor, current
        self._usable: set[int] = set()

    def __enter__(self) -> Self:
        if self._processor is not None:
            self._usable = os.sched_getaffinity(0)
            with contextlib.suppress(OSError):
                os.sched_setaffinity(0, {self._processor})
        self._pinned = self._processor is not None and os.sched_getaffinity(0) == {self._processor}
        self._first, self._preempted = self._current(), _preempted()
        return self

    def __exit__(self, *_: object) -> None:
        self._preempted = _preempted() - self._preempted
        self._last = self._current()
        if self._usable:
            os.sched_setaffinity(0, self._usable)

    def placement(self, source: SourceAccount) -> Placement:
        known = source["processor"] >= 0 and self._last >= 0
        return {
            "source_processor": source["processor"] if known else None,
            "source_moves": source["moves"],
            "consumer_processor": self._last if known else None,
            "consumer_moved": self._first != self._last,
            "consumer_preempted": self._preempted,
            "pinned": self._pinned and bool(source["pinned"]),
            "shared_core": source["processor"] in siblings(self._last) if known else None,
        }


def _preempted() -> int:
    """Times that the system took its processor away from this thread."""
    return resource.getrusage(getattr(resource, "RUSAGE_THREAD", resource.RUSAGE_SELF)).ru_nivcsw
