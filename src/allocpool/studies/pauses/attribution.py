"""What stood beside each burst of losses on the common clock.

A packet is lost when the input queue is full, so what filled the queue lies before the first loss: the *window* of a
burst begins one queue length before it and ends with the last loss. The window is divided among what overlapped it, and
each part takes its share of the packets lost. Parts do not overlap: a moment that several causes cover belongs to the
first of `CAUSES`. What no cause covers is ``nothing known``: the consumer ran and was too slow, or was held up by
something that no log reports. So shares add up to one, and overlap is all that is claimed: a cause that stood beside a
loss is not proven to have made it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

CAUSES = (
    "stop on purpose",
    "full or degenerated collection",
    "other pause",
    "other safepoint",
    "time to safepoint",
    "allocation stall",
    "source slip",
)
"""In order of precedence. A safepoint that holds no pause is an operation other than collecting."""
UNKNOWN = "nothing known"
ALL_CAUSES = (*CAUSES, UNKNOWN)


@dataclass(frozen=True)
class Attribution:
    """One burst: ``shares`` by cause sum to 1; ``cause`` is the one with the largest share."""

    window_ns: tuple[int, int]
    shares: dict[str, float]

    @property
    def cause(self) -> str:
        """The cause with the largest share; of equal ones the first of `ALL_CAUSES`."""
        return max(ALL_CAUSES, key=lambda name: self.shares[name])


def attribute(start_ns: int, end_ns: int, queue_ns: float, events: Mapping[str, npt.NDArray[np.int64]]) -> Attribution:
    """Divide one burst, from its first to its last loss, among the events that overlap its window.

    ``events`` maps names of `CAUSES` to intervals (start, end) of CLOCK_MONOTONIC in ns, shape (n, 2), in any order and
    overlapping as they like. ``queue_ns`` is how long the input queue lasts. Raises ValueError for an unknown cause, a
    queue of no length, or a burst that ends before it starts.
    """
    if unknown := set(events) - set(CAUSES):
        raise ValueError(f"unknown cause {', '.join(sorted(unknown))}: choose of {', '.join(CAUSES)}")
    if queue_ns <= 0 or end_ns < start_ns:
        raise ValueError("the queue needs a positive length, and a burst must not end before it starts")
    begin = round(start_ns - queue_ns)
    length = end_ns - begin
    taken = np.empty((0, 2), np.int64)
    covered_ns: dict[str, int] = {}
    before = 0
    for cause in CAUSES:
        # Covered by this cause or an earlier one, less what earlier ones cover: only the new part is this cause's.
        taken = _union(np.concatenate((taken, _clipped(events.get(cause), begin, end_ns))))
        total = int((taken[:, 1] - taken[:, 0]).sum())
        covered_ns[cause] = total - before
        before = total
    shares = {cause: covered_ns[cause] / length for cause in CAUSES}
    return Attribution((begin, end_ns), {**shares, UNKNOWN: (length - before) / length})


def _clipped(intervals: npt.NDArray[np.int64] | None, begin: int, end: int) -> npt.NDArray[np.int64]:
    if intervals is None or len(intervals) == 0:
        return np.empty((0, 2), np.int64)
    clipped = np.clip(intervals, begin, end)
    return clipped[clipped[:, 1] > clipped[:, 0]]


def _union(intervals: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The same moments as intervals that do not touch, sorted."""
    if len(intervals) == 0:
        return intervals
    ordered = intervals[np.argsort(intervals[:, 0], kind="stable")]
    reached = np.maximum.accumulate(ordered[:, 1])
    opens = np.concatenate(([True], ordered[1:, 0] > reached[:-1]))
    ends = reached[np.append(np.flatnonzero(opens)[1:] - 1, len(ordered) - 1)]
    return np.column_stack((ordered[opens, 0], ends))
