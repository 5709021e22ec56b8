"""How a cost grows with what is alive: nanoseconds per object, with an interval.

The model is ``cost = base + slope * objects``, both at least 0: tracing visits what is alive and nothing else. Live
sets range over two to three orders of magnitude and errors grow with the cost, so residuals are weighted relative to
the cost; unweighted, the largest live set alone would decide.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import nnls

from allocpool import stats

LEAST_POINTS = 3
_RESAMPLES = 999
_REWEIGHTINGS = 12
_SEED = 20190117


@dataclass(frozen=True)
class Fit:
    """``ns_per_object`` with its interval ``low`` to ``high``, ``base_ns``, and the number of ``trials``.

    ``method`` is ``bootstrap`` (95%, over trials) or, below `stats.BOOTSTRAP_MIN_TRIALS`, ``each left out`` in turn,
    which is no confidence interval. ``worst_factor``: the largest of measured / fitted and fitted / measured; 1 is a
    perfect line.
    """

    ns_per_object: float
    low: float
    high: float
    base_ns: float
    trials: int
    method: str
    worst_factor: float

    def text(self) -> str:
        """``68 (60 to 75, n = 8)``, nanoseconds per object; a range that is no confidence interval says so."""
        kind = "" if self.method == "bootstrap" else f", {self.method}"
        return (
            f"{stats.significant(self.ns_per_object, 2)} "
            f"({stats.significant(self.low, 2)} to {stats.significant(self.high, 2)}, n = {self.trials}{kind})"
        )


def fit_live_set(live_objects: npt.ArrayLike, cost_ns: npt.ArrayLike) -> Fit | None:
    """Fit costs (ns, one per trial) against live objects; None below `LEAST_POINTS` trials with a positive cost or
    where the largest live set is less than twice the smallest, for then there is no slope to see."""
    objects = np.asarray(live_objects, np.float64)
    cost = np.asarray(cost_ns, np.float64)
    usable = np.isfinite(objects) & np.isfinite(cost) & (cost > 0) & (objects > 0)
    objects, cost = objects[usable], cost[usable]
    count = len(cost)
    if count < LEAST_POINTS or objects.max() < 2 * objects.min():
        return None
    base_ns, slope = _line(objects, cost)
    if count < stats.BOOTSTRAP_MIN_TRIALS:
        method = "each left out"
        drawings = [np.delete(np.arange(count), left_out) for left_out in range(count)]
    else:
        method = "bootstrap"
        rng = np.random.default_rng(_SEED)
        drawings = list(rng.integers(0, count, (_RESAMPLES, count)))
    slopes = [_line(objects[drawn], cost[drawn])[1] for drawn in drawings if np.ptp(objects[drawn]) > 0]
    low, high = np.quantile(slopes, [0.025, 0.975]) if method == "bootstrap" else (min(slopes), max(slopes))
    fitted = np.maximum(base_ns + slope * objects, 1e-9)
    worst = float(np.exp(np.abs(np.log(fitted / cost)).max()))
    return Fit(slope, min(float(low), slope), max(float(high), slope), base_ns, count, method, worst)


def _line(objects: npt.NDArray[np.float64], cost: npt.NDArray[np.float64]) -> tuple[float, float]:
    """(base, slope), neither negative, by least squares of residuals relative to the fitted cost.

    Weights relative to the measured cost would favour what is too small, so they come from the fit, which is done again
    with them (iteratively reweighted least squares; McCullagh and Nelder, *Generalized Linear Models*, chapter 8).
    """
    scale = float(objects.max())
    design = np.column_stack((np.ones_like(objects), objects / scale))
    fitted = cost
    for _ in range(_REWEIGHTINGS):
        coefficients, _ = nnls(design / fitted[:, None], cost / fitted)
        fitted = np.maximum(design @ coefficients, 1e-3 * cost)
    return float(coefficients[0]), float(coefficients[1]) / scale
