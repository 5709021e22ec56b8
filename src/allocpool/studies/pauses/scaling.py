"""How a collection's cost grows with what is alive: nanoseconds per object, with an interval.

The model is ``cost = base + slope * objects``: tracing visits what is alive and nothing else. Errors grow with the cost
and live sets range over two to three orders of magnitude, so the logarithm of the cost is fitted. The line is given by
its heights at the smallest and at the largest live set, which are positive; it may fall. Intervals are Student's; the
number of trials is fixed beforehand and needs no allowance for looks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy

from allocpool.decisions import ALPHA, FEWEST
from allocpool.packets.cells import ORDERED_BY, with_cost
from allocpool.stats import significant

LEAST_POINTS = 3
FORCED = "forced full pause"
"""Of the full collection that counts the objects, after the measured part."""
MEASURES = (FORCED, "mean pause", "longest pause", "collector CPU")
FACTS = ["configuration", *ORDERED_BY, "strategy"]
Array = npt.NDArray[np.float64]


class Estimate(NamedTuple):
    """A figure with its standard error, out of so many trials, two of which are spent on the line."""

    value: float
    error: float
    trials: int

    @property
    def _spread(self) -> Any:
        return scipy.stats.t(self.trials - 2, self.value, max(self.error, 1e-300))

    @property
    def interval(self) -> tuple[float, float]:
        """At 95%."""
        low, high = self._spread.interval(1 - ALPHA)
        return float(low), float(high)

    def p_above(self, bound: float) -> float:
        """The chance of so much evidence for a larger figure, were it not; 1 below `FEWEST` trials."""
        return float(self._spread.cdf(bound)) if self.trials >= FEWEST else 1.0

    def p_below(self, bound: float) -> float:
        """As `p_above`, for a smaller one."""
        return float(self._spread.sf(bound)) if self.trials >= FEWEST else 1.0


@dataclass(frozen=True)
class Fit:
    """A line through costs of live sets.

    ``objects``: the smallest and the largest live set. ``logs``: logarithms of the fitted costs there, ns;
    ``covariance`` of both. ``bend``: the chance of so much curvature, were it a line (partial F test of a quadratic
    term in the logarithm of the live set: Draper and Smith, *Applied Regression Analysis*, 1998); NaN below `FEWEST`
    trials.
    """

    objects: tuple[float, float]
    logs: Array
    covariance: Array
    trials: int
    bend: float

    @property
    def ns_per_object(self) -> Estimate:
        """The slope."""
        span = self.objects[1] - self.objects[0]
        low, high = np.exp(self.logs)
        return self._estimate((high - low) / span, np.array([-low, high]) / span)

    def cost_ns(self, objects: Array) -> Array:
        """Return the fitted costs of so many objects."""
        first, last = self.objects
        share = (objects - first) / (last - first)
        low, high = np.exp(self.logs)
        return np.asarray((1 - share) * low + share * high)

    def growth(self, objects: float, over: float) -> Estimate:
        """Return the logarithm of the fitted cost of so many objects over that of other so many."""
        first, last = self.objects
        shares = (np.array([objects, over]) - first) / (last - first)
        parts = np.column_stack((1 - shares, shares)) * np.exp(self.logs)
        heights = np.maximum(parts.sum(axis=1), 1e-9)
        gradients = parts / heights[:, None]
        return self._estimate(math.log(heights[0] / heights[1]), gradients[0] - gradients[1])

    def _estimate(self, value: float, gradient: Array) -> Estimate:
        return Estimate(float(value), math.sqrt(max(0.0, float(gradient @ self.covariance @ gradient))), self.trials)

    def text(self) -> str:
        """``68 (60 to 75, n = 8)``, nanoseconds per object; a line that does not fit reports so."""
        slope = self.ns_per_object
        low, high = slope.interval
        bent = f"; bends, p = {self.bend:.1g}" if self.bend <= ALPHA else ""
        figures = [significant(figure, 2) for figure in (slope.value, low, high)]
        return f"{figures[0]} ({figures[1]} to {figures[2]}, n = {self.trials}{bent})"


def fit_live_set(live_objects: npt.ArrayLike, cost_ns: npt.ArrayLike) -> Fit | None:
    """Fit costs (ns, one per trial) against live objects; None below `LEAST_POINTS` trials with a positive cost or
    where the largest live set is less than twice the smallest, for then there is no slope to see."""
    objects, cost = np.asarray(live_objects, np.float64), np.asarray(cost_ns, np.float64)
    usable = np.isfinite(objects) & np.isfinite(cost) & (cost > 0) & (objects > 0)
    objects, logs = objects[usable], np.log(cost[usable])
    if len(logs) < LEAST_POINTS or objects.max() < 2 * objects.min():
        return None
    first, last = float(objects.min()), float(objects.max())
    share = (objects - first) / (last - first)

    def parts(low: float, high: float) -> Array:
        return np.column_stack(((1 - share) * np.exp(low), share * np.exp(high)))

    def heights(_share: Array, *ends: float) -> Array:
        return np.asarray(np.log(parts(*ends).sum(axis=1)))

    def derivatives(_share: Array, *ends: float) -> Array:
        of_both = parts(*ends)
        return np.asarray(of_both / of_both.sum(axis=1, keepdims=True))

    middle = np.median(objects)
    start = [logs[objects <= middle].mean(), logs[objects >= middle].mean()]
    curve_fit = scipy.optimize.curve_fit
    fitted, covariance = curve_fit(heights, share, logs, start, jac=derivatives, ftol=1e-12, maxfev=10_000)
    bend = _bend(logs - heights(share, *fitted), derivatives(share, *fitted), np.log(objects))
    return Fit((first, last), fitted, covariance, len(logs), bend)


def _bend(left: Array, tangent: Array, log_objects: Array) -> float:
    """The chance of what a quadratic term takes off the residuals of the line."""
    count = len(left)
    square = (log_objects - log_objects.mean()) ** 2
    wider = np.column_stack((tangent, square))
    if count < FEWEST or np.linalg.matrix_rank(wider) < wider.shape[1]:
        return math.nan
    _, (rest,), *_ = np.linalg.lstsq(wider, left, rcond=None)
    taken = float(left @ left) - rest
    return float(scipy.stats.f.sf(taken / (rest / (count - 3)), 1, count - 3)) if rest > 1e-15 else math.nan


def points(trials: pd.DataFrame, collections: pd.DataFrame, cpu: pd.DataFrame) -> pd.DataFrame:
    """Return one row per live-set trial with heap buffers and measure of `MEASURES` that it has: ``live_objects`` and
    ``cost_ns``.

    Forced full pauses of batch trials with heap buffers count as well: nothing runs during such a collection, so it
    knows nothing of the trial's load.
    """
    spent = cpu[cpu["thread_group"] == "gc"].set_index("trial_id")["cpu_ns"]
    rows = with_cost(trials).merge(collections, on="trial_id")
    is_live_set = (rows["mode"] == "live_set") & (rows["layout"] == "heap")
    is_batch = (rows["mode"] == "batch") & (rows["layout"] == "heap") & rows["strategy"].isin(["alloc", "pool"])
    rows = rows.assign(**{
        FORCED: 1e6 * rows["forced_full_ms"],
        "mean pause": (1e6 * rows["pause_mean_ms"]).where(is_live_set),
        "longest pause": (1e6 * rows["pause_max_ms"]).where(is_live_set & (rows["pauses"] > 0)),
        "collector CPU": (rows["trial_id"].map(spent).astype(float) / rows["collections"]).where(
            is_live_set & (rows["collections"] > 0)
        ),
    })[is_live_set | is_batch]  # fmt: skip
    long = rows.melt([*FACTS, "live_objects"], list(MEASURES), "measure", "cost_ns")
    return long.dropna(subset=["live_objects", "cost_ns"]).astype({"live_objects": float, "cost_ns": float})


def off_heap(trials: pd.DataFrame, collections: pd.DataFrame) -> pd.DataFrame:
    """Return the live-set trials with buffers off the heap, with their columns of both tables and ``cost_ns``, the
    forced full pause."""
    rows = with_cost(trials[(trials["mode"] == "live_set") & (trials["layout"] != "heap")])
    rows = rows.merge(collections, on="trial_id")
    return rows.assign(cost_ns=1e6 * rows["forced_full_ms"].astype(float)).dropna(subset=["cost_ns"])


def fits(rows: pd.DataFrame) -> pd.DataFrame:
    """Return one row per configuration, strategy and measure of `points`: the `Fit` as ``fit``, its ``text``, and
    ``n``, its trials."""
    groups: Any = rows.groupby([*FACTS, "measure"], observed=True, sort=False)
    fitted = [(*key, fit_live_set(group["live_objects"], group["cost_ns"])) for key, group in groups]
    table = pd.DataFrame(fitted, columns=[*FACTS, "measure", "fit"], dtype=object).dropna(subset=["fit"])
    return table.assign(text=[fit.text() for fit in table["fit"]], n=[fit.trials for fit in table["fit"]])
