"""How a cost grows with what is alive: nanoseconds per object, with an interval.

The model is ``cost = base + slope * objects``: tracing visits what is alive and nothing else. Errors grow with the cost
and live sets range over two to three orders of magnitude, so the logarithm of the cost is fitted, of which errors are
alike. The line is given by its heights at the smallest and at the largest live set, which are positive; it may fall.

The interval is Student's, with as many degrees of freedom as there are trials but two; trials whose number was fixed
beforehand, as that of live sets is, need no allowance for looks. That a line does not fit is looked for: see `Fit`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import optimize
from scipy import stats as scipy_stats

from allocpool import stats
from allocpool.decisions import ALPHA, FEWEST

LEAST_POINTS = 3
Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Fit:
    """``ns_per_object`` with its 95% interval ``low`` to ``high`` and its standard ``error``, ``base_ns``, and the
    number of ``trials``.

    ``worst_factor``: the largest of measured / fitted and fitted / measured; 1 is a perfect line. ``bend``: the chance
    of so much curvature, were it a line (partial t test of a quadratic term in the logarithm of the live set: Draper
    and Smith, *Applied Regression Analysis*, 1998); NaN below `FEWEST` trials. ``ends``: (objects, logarithm of the
    fitted cost) at the smallest and the largest live set; ``covariance`` of these two logarithms.
    """

    ns_per_object: float
    low: float
    high: float
    error: float
    base_ns: float
    trials: int
    worst_factor: float
    bend: float
    ends: tuple[tuple[float, float], tuple[float, float]]
    covariance: Array

    def p_above(self, ns_per_object: float) -> float:
        """The chance of so much evidence for a larger slope, were it not; 1 below `FEWEST` trials."""
        return _chance(self.ns_per_object - ns_per_object, self.error, self.trials)

    def p_below(self, ns_per_object: float) -> float:
        """As `p_above`, for a smaller slope."""
        return _chance(ns_per_object - self.ns_per_object, self.error, self.trials)

    def growth(self, objects: float, over: float) -> Growth:
        """The fitted cost of so many objects over that of other so many."""
        heights, slopes = zip(*(self._height(at) for at in (objects, over)), strict=True)
        gradient = slopes[0] - slopes[1]
        error = math.sqrt(max(0.0, float(gradient @ self.covariance @ gradient)))
        return Growth(heights[0] - heights[1], error, self.trials)

    def _height(self, objects: float) -> tuple[float, Array]:
        """The logarithm of the fitted cost and its derivatives by those at both ends."""
        (first, low), (last, high) = self.ends
        share = (objects - first) / (last - first)
        parts = np.array([(1 - share) * math.exp(low), share * math.exp(high)])
        cost = max(float(parts.sum()), 1e-9)
        return math.log(cost), parts / cost

    def text(self) -> str:
        """``68 (60 to 75, n = 8)``, nanoseconds per object; a line that does not fit says so."""
        bent = f"; bends, p = {self.bend:.1g}" if self.bend <= ALPHA else ""
        return f"{_number(self.ns_per_object)} ({_number(self.low)} to {_number(self.high)}, n = {self.trials}{bent})"


@dataclass(frozen=True)
class Growth:
    """How many times a cost grows from one live set to another: ``log`` of the ratio with its standard ``error``."""

    log: float
    error: float
    trials: int

    @property
    def ratio(self) -> stats.Interval:
        """With its 95% interval."""
        half = _reach(self.trials) * self.error
        low, middle, high = (math.exp(self.log + by) for by in (-half, 0.0, half))
        return stats.Interval(middle, low, high, self.trials, "Student")

    def p_above(self, ratio: float) -> float:
        """The chance of so much evidence for a larger ratio, were it not; 1 below `FEWEST` trials."""
        return _chance(self.log - math.log(ratio), self.error, self.trials)

    def p_below(self, ratio: float) -> float:
        """As `p_above`, for a smaller ratio."""
        return _chance(math.log(ratio) - self.log, self.error, self.trials)


def _chance(distance: float, error: float, trials: int) -> float:
    if trials < FEWEST:
        return 1.0
    if error == 0:
        return 0.0 if distance > 0 else 1.0
    return float(scipy_stats.t.sf(distance / error, trials - 2))


def _reach(trials: int) -> float:
    return float(scipy_stats.t.ppf(1 - ALPHA / 2, trials - 2))


def _number(value: float) -> str:
    return f"-{stats.significant(-value, 2)}" if value < 0 else stats.significant(value, 2)


def fit_live_set(live_objects: npt.ArrayLike, cost_ns: npt.ArrayLike) -> Fit | None:
    """Fit costs (ns, one per trial) against live objects; None below `LEAST_POINTS` trials with a positive cost or
    where the largest live set is less than twice the smallest, for then there is no slope to see."""
    objects = np.asarray(live_objects, np.float64)
    cost = np.asarray(cost_ns, np.float64)
    usable = np.isfinite(objects) & np.isfinite(cost) & (cost > 0) & (objects > 0)
    objects, logs = objects[usable], np.log(cost[usable])
    count = len(logs)
    if count < LEAST_POINTS or objects.max() < 2 * objects.min():
        return None
    first, last = float(objects.min()), float(objects.max())
    share = (objects - first) / (last - first)
    sides = np.column_stack((1 - share, share))

    def residuals(ends: Array) -> Array:
        return np.asarray(np.log(sides @ np.exp(ends)) - logs)

    def derivatives(ends: Array) -> Array:
        parts = sides * np.exp(ends)
        return np.asarray(parts / parts.sum(axis=1, keepdims=True))

    start = np.array([logs[objects <= np.median(objects)].mean(), logs[objects >= np.median(objects)].mean()])
    found = optimize.least_squares(residuals, start, derivatives, method="lm")
    left, tangent = found.fun, derivatives(found.x)
    covariance = np.asarray(np.linalg.pinv(tangent.T @ tangent) * float(left @ left) / (count - 2))
    low_ns, high_ns = np.exp(found.x)
    slope = float(high_ns - low_ns) / (last - first)
    gradient = np.array([-low_ns, high_ns]) / (last - first)
    error = math.sqrt(float(gradient @ covariance @ gradient))
    half = _reach(count) * error
    return Fit(
        slope, slope - half, slope + half, error, float(low_ns) - slope * first, count,
        math.exp(float(np.abs(left).max())), _bend(left, tangent, np.log(objects)),
        ((first, float(found.x[0])), (last, float(found.x[1]))), covariance,
    )  # fmt: skip


def _bend(left: Array, tangent: Array, log_objects: Array) -> float:
    """The chance of what a quadratic term takes off the residuals, beside the line."""
    count = len(left)
    if count < FEWEST:
        return math.nan
    square = (log_objects - log_objects.mean()) ** 2
    own = square - tangent @ np.linalg.lstsq(tangent, square, rcond=None)[0]
    length = float(own @ own)
    if length <= 1e-9 * float(square @ square):
        return math.nan
    taken = float(own @ left) ** 2 / length
    rest = float(left @ left) - taken
    return float(scipy_stats.f.sf(taken / (rest / (count - 3)), 1, count - 3)) if rest > 1e-15 else math.nan
