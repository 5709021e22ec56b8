"""Whether the iterations of one trial had reached a steady state, by change points.

After Barrett, Bolz-Tereick, Killick, Mount and Tratt, "Virtual Machine Warmup Blows Hot and Cold", OOPSLA 2017:
outliers are left out, the rest is cut into segments of one mean and variance each, and these are compared with the last
one. Theirs are 2000 iterations, of which the last 500 must be one segment; here it is the last quarter. Change points
minimise the penalised likelihood of Killick, Fearnhead and Eckley, "Optimal detection of changepoints with a linear
computational cost", Journal of the American Statistical Association 107, 2012, by dynamic programming.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
import pandas as pd
from numpy.typing import NDArray

STEADY_STATES = ("steady", "warming", "slowing", "never")
"""One level from first to last; one that was reached after dearer, or after cheaper, iterations; none was reached."""
FEWEST_ITERATIONS = 20
"""Below, only a change of many standard deviations would get over the penalty: no state is given."""
_PENALTY = 15.0
"""In units of log n, as in the paper: a change point has to be worth so much likelihood."""
_SHORTEST = 4
"""Iterations of a segment: fewer have a variance by chance that looks like a change."""
_SAME_SHARE = 0.01
"""Means so close are one level; in the paper it is a millisecond of iterations of about a second."""
_WINDOW = 200
_FAR = 3.0

_AT_ONCE = 1 << 15
"""Iterations of series of one length that are cut together: what is computed of them stays in the cache."""

Floats = NDArray[np.float64]


def steady_states(series: Sequence[Sequence[float]]) -> list[str | None]:
    """Return one of `STEADY_STATES` for each series of what an item cost in an iteration; None of too few."""
    found: list[str | None] = [None] * len(series)
    enough = [place for place, costs in enumerate(series) if len(costs) >= FEWEST_ITERATIONS]
    logs = _without_far_ones([np.log(np.asarray(series[place], dtype=np.float64)) for place in enough])
    for places in _of_one_length(logs):
        together = np.stack([logs[place] for place in places])
        for place, values, points in zip(places, together, change_points(together), strict=True):
            found[enough[place]] = _state(values, points)
    return found


def _of_one_length(series: Sequence[Floats]) -> Iterator[list[int]]:
    """Yield the places of series of one length, at most `_AT_ONCE` iterations at a time."""
    places: dict[int, list[int]] = {}
    for place, values in enumerate(series):
        places.setdefault(len(values), []).append(place)
    for length, each in places.items():
        step = max(1, _AT_ONCE // length)
        yield from (each[begin : begin + step] for begin in range(0, len(each), step))


def _state(logs: Floats, points: Sequence[int]) -> str:
    if not points:
        return "steady"
    bounds = [0, *points, len(logs)]
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


def change_points(values: Floats) -> list[list[int]]:
    """Return where mean or variance of each row change: the first index of each segment but the first."""
    rows, n = np.arange(len(values)), values.shape[1]
    apart = values - values.mean(axis=1, keepdims=True)
    sums, squares = (np.pad(np.cumsum(each, axis=1), ((0, 0), (1, 0))) for each in (apart, apart**2))
    # Whole nanoseconds can be equal; no segment is called more exact than a thousandth of all.
    floors = np.maximum(1e-6 * squares[:, -1:] / n, 1e-12)
    best = np.full(sums.shape, np.inf)
    best[:, 0] = -_PENALTY * math.log(n)
    before = np.zeros(sums.shape, dtype=np.int64)
    """Where the last segment of the first so many values starts."""
    for end in range(_SHORTEST, n + 1):
        starts = np.arange(end - _SHORTEST + 1)
        lengths = end - starts
        inside, inside_squares = (of[:, end, np.newaxis] - of[:, starts] for of in (sums, squares))
        variances = np.maximum(inside_squares / lengths - (inside / lengths) ** 2, floors)
        each = best[:, starts] + lengths * (np.log(2 * math.pi * variances) + 1)  # twice the negative log likelihood
        before[:, end] = cheapest = each.argmin(axis=1)
        best[:, end] = each[rows, cheapest] + _PENALTY * math.log(n)
    found = []
    for row in before:
        points = [int(row[-1])]
        while points[-1] > 0:
            points.append(int(row[points[-1]]))
        found.append(points[-2::-1])
    return found


def _without_far_ones(series: Sequence[Floats]) -> list[Floats]:
    """Return the series without the paper's outliers: what lies further from the median around it than three times the
    span from the 10th to the 90th percentile."""
    near = list(series)
    for places in _of_one_length(series):
        logs = np.stack([series[place] for place in places])
        if logs.shape[1] <= _WINDOW // 2:  # the window holds all of them, wherever it stands
            low, median, high = np.quantile(logs, [0.1, 0.5, 0.9], axis=1, keepdims=True)
        else:
            window = pd.DataFrame(logs.T).rolling(_WINDOW, center=True, min_periods=1)
            low, median, high = (window.quantile(share).to_numpy().T for share in (0.1, 0.5, 0.9))
        for place, keeps in zip(places, np.abs(logs - median) <= _FAR * (high - low), strict=True):
            near[place] = series[place][keeps]
    return near
