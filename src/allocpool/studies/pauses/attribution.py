"""What overlapped each burst of losses on the common clock.

A packet is lost when the input queue is full, so what filled the queue lies before the first loss: the *window* of a
burst begins one queue length before it and ends with the last loss. The window is divided among what overlapped it, and
each part takes its share of the packets lost. A moment that several causes cover belongs to the first of `CAUSES`. What
no cause covers is ``nothing known``: the consumer ran and was too slow, or was held up by something that no log
reports. Overlap is all that is claimed: a cause that overlaps a loss is not proven to have made it.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from allocpool.trial.stops import Intervals

CAUSES = (
    "stop on purpose",
    "full or degenerated collection",
    "other pause",
    "other safepoint",
    "time to safepoint",
    "allocation stall",
    "source stall",
)
"""In order of precedence. A safepoint that holds no pause is an operation other than collecting."""
UNKNOWN = "nothing known"
ALL_CAUSES = (*CAUSES, UNKNOWN)


def attribute(start_ns: int, end_ns: int, queue_ns: float, events: Mapping[str, Intervals]) -> dict[str, float]:
    """Return the share of each of `ALL_CAUSES` in the window of one burst, from its first to its last loss; their sum
    is 1.

    ``events`` maps names of `CAUSES` to intervals (start, end) of CLOCK_MONOTONIC in ns, shape (n, 2), in any order and
    overlapping as they like. ``queue_ns`` is how long the input queue lasts. Raises ValueError for an unknown cause, a
    queue of no length, or a burst that ends before it starts.
    """
    if unknown := set(events) - set(CAUSES):
        raise ValueError(f"unknown cause {', '.join(sorted(unknown))}: choose of {', '.join(CAUSES)}")
    if queue_ns <= 0 or end_ns < start_ns:
        raise ValueError("the queue needs a positive length, and a burst must not end before it starts")
    begin = round(start_ns - queue_ns)
    covered = np.empty((0, 2), np.int64)
    before, shares = 0, {}
    for cause in CAUSES:
        if cause in events:
            covered = np.concatenate((covered, np.clip(events[cause], begin, end_ns)))
        total = _length(covered)  # of this cause and all before it: only the new part is this one's
        shares[cause], before = (total - before) / (end_ns - begin), total
    return {**shares, UNKNOWN: 1 - before / (end_ns - begin)}


def _length(intervals: Intervals) -> int:
    """The length of what any of these intervals covers."""
    ordered = intervals[np.argsort(intervals[:, 0])]
    ends = np.maximum.accumulate(ordered[:, 1])
    starts = np.maximum(ordered[1:, 0], ends[:-1])
    return int((ends[1:] - starts).clip(0).sum() + (ends[:1] - ordered[:1, 0]).sum())
