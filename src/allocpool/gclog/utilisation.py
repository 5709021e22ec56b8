"""Minimum mutator utilisation: how little of any window of a given length was left to the application.

P. Cheng and G. E. Blelloch, "A parallel, real-time garbage collector", PLDI 2001: for a window of length w, the
minimum over all windows of that length inside the run of the share of time in which the mutator ran. A run of short
pauses close together shows here as bad as one long pause, which no maximum pause reports.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt


def minimum_mutator_utilisation(
    stops: npt.ArrayLike, windows_ms: Sequence[float], span: tuple[float, float]
) -> npt.NDArray[np.float64]:
    """The minimum mutator utilisation, 0 to 1, for each window length in milliseconds.

    ``stops`` are intervals ``(start, end)`` in nanoseconds, shape (n, 2), of any kind (pauses, safepoints, stalls
    of a thread, or several kinds together), in any order; overlapping ones count once, parts outside ``span``
    (start and end of the run, nanoseconds) not at all. A window longer than the span has no value: NaN. Exact: the
    minimum is reached by a window that begins where a stop begins or ends where one ends. Raises ValueError for a
    stop that ends before it starts, a window that is not positive, and an empty span.
    """
    length = float(span[1] - span[0])
    # relative to the start of the span first, as nanoseconds since 1970 would not fit a float exactly
    intervals = (np.asarray(stops).reshape(-1, 2) - span[0]).astype(np.float64)
    windows = np.asarray(windows_ms, np.float64) * 1e6
    if length <= 0 or np.any(windows <= 0) or np.any(intervals[:, 1] < intervals[:, 0]):
        raise ValueError("the span, the windows and every stop need a positive length")
    starts, ends = _merged(np.clip(intervals, 0.0, length))
    points = np.concatenate(([0.0], np.column_stack((starts, ends)).ravel(), [length]))
    stopped_at = np.concatenate(([0.0], np.cumsum(np.column_stack((np.zeros_like(starts), ends - starts)).ravel())))
    stopped_at = np.append(stopped_at, stopped_at[-1])
    result = np.full(len(windows), np.nan)
    for index, window in enumerate(windows):
        if window > length:
            continue
        first = np.clip(np.concatenate(([0.0], starts, ends - window)), 0.0, length - window)
        stopped = np.interp(first + window, points, stopped_at) - np.interp(first, points, stopped_at)
        result[index] = max(0.0, 1.0 - float(stopped.max()) / window)
    return result


def _merged(intervals: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Starts and ends of the union of the intervals, sorted, those of no length left out."""
    intervals = intervals[intervals[:, 1] > intervals[:, 0]]
    if len(intervals) == 0:
        return np.empty(0), np.empty(0)
    intervals = intervals[np.argsort(intervals[:, 0])]
    reached = np.maximum.accumulate(intervals[:, 1])
    opens = np.concatenate(([True], intervals[1:, 0] > reached[:-1]))
    starts = intervals[opens, 0]
    ends = reached[np.append(np.flatnonzero(opens)[1:] - 1, len(intervals) - 1)]
    return starts, ends
