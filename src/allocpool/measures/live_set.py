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
_SEED = 20190117


@dataclass(frozen=True)
class Fit:
    """``ns_per_object`` with its 95% bootstrap interval over trials, ``base_ns``, and the number of ``trials``.

    ``worst_factor``: the largest of measured / fitted and fitted / measured, 1 for a perfect line.
    """

    ns_per_object: float
    low: float
    high: float
    base_ns: float
    trials: int
    worst_factor: float

    def text(self) -> str:
        """``68 ns per object (60 to 75, n = 8)``."""
        return (
            f"{stats.significant(self.ns_per_object, 2)} ns per object "
            f"({stats.significant(self.low, 2)} to {stats.significant(self.high, 2)}, n = {self.trials})"
        )


def fit_live_set(live_objects: npt.ArrayLike, cost_ns: npt.ArrayLike) -> Fit | None:
    """Fit costs (ns, one per trial) against live objects; None below `LEAST_POINTS` trials with a positive cost or
    where all have the same live set, for then no slope is there to see."""
    objects = np.asarray(live_objects, np.float64)
    cost = np.asarray(cost_ns, np.float64)
    usable = np.isfinite(objects) & np.isfinite(cost) & (cost > 0) & (objects > 0)
    objects, cost = objects[usable], cost[usable]
    if len(cost) < LEAST_POINTS or objects.max() < 2 * objects.min():
        return None
    base_ns, slope = _line(objects, cost)
    rng = np.random.default_rng(_SEED)
    slopes = []
    for _ in range(_RESAMPLES):
        drawn = rng.integers(0, len(cost), len(cost))
        if objects[drawn].max() >= 2 * objects[drawn].min():
            slopes.append(_line(objects[drawn], cost[drawn])[1])
    low, high = np.quantile(slopes, [0.025, 0.975])
    fitted = base_ns + slope * objects
    worst = float(np.exp(np.abs(np.log(np.maximum(fitted, 1e-9) / cost)).max()))
    return Fit(slope, min(float(low), slope), max(float(high), slope), base_ns, len(cost), worst)


def _line(objects: npt.NDArray[np.float64], cost: npt.NDArray[np.float64]) -> tuple[float, float]:
    """(base, slope), neither negative, that leave the least relative residuals."""
    scale = float(objects.max())
    design = np.column_stack((np.ones_like(objects), objects / scale)) / cost[:, None]
    (base, slope), _ = nnls(design, np.ones_like(cost))
    return float(base), float(slope) / scale
