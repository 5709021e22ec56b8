"""Whether the iterations of one trial had reached a steady state, told by change points.

After Barrett, Bolz-Tereick, Killick, Mount and Tratt, "Virtual Machine Warmup Blows Hot and Cold", OOPSLA 2017:
iterations that lie far off are left out, the rest is cut into segments of one mean and one variance each, and these
are compared with the last one. Theirs are 2000 iterations, of which the last 500 must be of one piece; here it is the
last quarter. Change points are those of PELT: Killick, Fearnhead and Eckley, "Optimal detection of changepoints with a
linear computational cost", Journal of the American Statistical Association 107, 2012.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
import pandas as pd
from numpy.typing import NDArray

STEADY_STATES = ("steady", "warming", "slowing", "never")
"""One level from first to last; one that was reached after dearer, or after cheaper, iterations; none was reached."""
FEWEST_ITERATIONS = 20
"""Below, only a change of many standard deviations would get over the penalty: nothing is said."""
_PENALTY = 15.0
"""In units of log n, as in the paper: a change point has to be worth so much likelihood."""
_SHORTEST = 4
"""Iterations of a segment: fewer have a variance by chance that looks like a change."""
_SAME_SHARE = 0.01
"""Means so close are one level; in the paper it is a millisecond of iterations of about a second."""
_WINDOW = 200
_FAR = 3.0

_FEW = 128
_PAIRS = np.tril_indices(_FEW + 1, -1)[::-1]
"""Every start with every end after it, by their ends."""

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def steady_state(costs: Sequence[float]) -> str | None:
    """One of `STEADY_STATES`; None where the iterations, given by what an item cost in each, are too few to tell."""
    if len(costs) < FEWEST_ITERATIONS:
        return None
    logs = _without_far_ones(np.log(np.asarray(costs, dtype=np.float64)))
    bounds = [0, *change_points(logs), len(logs)]
    segments = [logs[begin:end] for begin, end in pairwise(bounds)]
    means = [float(segment.mean()) for segment in segments]
    same = max(_SAME_SHARE, float(segments[-1].var()))
    above = [mean - means[-1] for mean in means]
    if all(abs(difference) <= same for difference in above):
        return "steady"
    last_other = max(place for place, difference in enumerate(above) if abs(difference) > same)
    if bounds[last_other + 1] > 0.75 * len(logs):
        return "never"
    return "slowing" if min(above) < -same else "warming"


def change_points(values: Floats) -> list[int]:
    """Where mean or variance change: the first index of each segment but the first (PELT, normal likelihood)."""
    n = len(values)
    sums = np.concatenate([[0.0], np.cumsum(values - values.mean())])
    squares = np.concatenate([[0.0], np.cumsum((values - values.mean()) ** 2)])
    # Values told in whole nanoseconds can be equal; no segment is called more exact than a thousandth of all.
    floor = max(1e-6 * squares[-1] / n, 1e-12)

    def costs(starts: Integers, ends: int | Integers) -> Floats:
        """Twice the negative log likelihood of segments."""
        lengths = ends - starts
        means = (sums[ends] - sums[starts]) / lengths
        variances = np.maximum((squares[ends] - squares[starts]) / lengths - means**2, floor)
        return np.asarray(lengths * (np.log(2 * math.pi * variances) + 1))

    last_start_before = (_all_at_once if n <= _FEW else _pruned)(n, _PENALTY * math.log(n), costs)
    points = []
    place = int(last_start_before[n])
    while place > 0:
        points.append(place)
        place = int(last_start_before[place])
    return points[::-1]


def _pruned(n: int, penalty: float, costs: Callable[[Integers, int | Integers], Floats]) -> Integers:
    """Where the last segment of the first so many values starts."""
    best = np.full(n + 1, np.inf)
    best[0] = -penalty
    before = np.zeros(n + 1, dtype=np.int64)
    starts = np.array([0])
    for end in range(_SHORTEST, n + 1):
        each = best[starts] + costs(starts, end)
        cheapest = int(each.argmin())
        best[end] = each[cheapest] + penalty
        before[end] = starts[cheapest]
        # Pruned is what can't begin the last segment of any longer series either.
        starts = np.append(starts[each <= best[end]], end - _SHORTEST + 1)
        starts = starts[np.isfinite(best[starts])]
    return before


def _all_at_once(n: int, penalty: float, costs: Callable[[Integers, int | Integers], Floats]) -> Integers:
    """As `_pruned`: of few values, as most trials have, the costs of all segments take less than those of each end."""
    starts, ends = _PAIRS[0][: n * (n + 1) // 2], _PAIRS[1][: n * (n + 1) // 2]
    table = np.empty((n + 1, n + 1))
    table[ends, starts] = costs(starts, ends)
    best = np.full(n + 1, np.inf)
    best[0] = -penalty
    before = np.zeros(n + 1, dtype=np.int64)
    for end in range(_SHORTEST, n + 1):
        each = best[: end - _SHORTEST + 1] + table[end, : end - _SHORTEST + 1]
        before[end] = cheapest = each.argmin()
        best[end] = each[cheapest] + penalty
    return before


def _without_far_ones(logs: Floats) -> Floats:
    """Without what lies further from the median around it than three times the span from the 10th to the 90th percent:
    the paper's outliers, single iterations that something interrupted."""
    if len(logs) <= _WINDOW // 2:  # the window holds all of them, wherever it stands
        last = len(logs) - 1
        low, median, high = np.interp([0.1 * last, 0.5 * last, 0.9 * last], np.arange(len(logs)), np.sort(logs))
        return logs[np.abs(logs - median) <= _FAR * (high - low)]
    window = pd.Series(logs).rolling(_WINDOW, center=True, min_periods=1)
    span = window.quantile(0.9) - window.quantile(0.1)
    near = (pd.Series(logs) - window.median()).abs() <= _FAR * span
    return logs[near.to_numpy()]
