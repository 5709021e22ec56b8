"""Means, intervals and ratios over trials, which are the sampling unit, and numbers in words.

Times are positive and vary by factors, so centres are geometric means. `allocpool.decisions` compares two sides.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy  # loads its slow parts when they are first used

CONFIDENCE = 0.95
SPREAD_UNKNOWN = "spread unknown"
TOO_WIDE = 1_000.0
"""An interval whose ends differ by this factor is not worth reporting."""

Values = Sequence[float] | npt.NDArray[np.float64] | pd.Series


@dataclass(frozen=True)
class Interval:
    """An estimate with its interval, in the unit of its values.

    ``method``: ``Student`` (confidence interval of the mean logarithm) or ``one trial`` (``low == estimate == high``).
    """

    estimate: float
    low: float
    high: float
    trials: int
    method: str

    def text(self, digits: int = 3, unit: str = "") -> str:
        """Return ``estimate unit (low to high)``; of one trial the estimate alone."""
        tail = f" {unit}" if unit else ""
        if self.method == "one trial":
            return f"{significant(self.estimate, digits)}{tail}"
        return f"{significant(self.estimate, digits)}{tail} ({ends(self.low, self.high, digits)})"


def significant(value: float, digits: int = 3) -> str:
    """Return a number with ``digits`` significant digits: ``4042`` is ``4,040``."""
    if not math.isfinite(value):
        return "-"
    if value == 0:
        return "0"
    if not 1e-15 < abs(value) < 1e15:
        return f"{value:.{digits - 1}e}"
    decimals = digits - 1 - math.floor(math.log10(abs(value)))
    return f"{round(value, decimals):,.{max(0, decimals)}f}"


def ends(low: float, high: float, digits: int = 3) -> str:
    """Return ``low to high``, or ``spread unknown`` of a very wide interval."""
    if high > TOO_WIDE * low:
        return SPREAD_UNKNOWN
    return f"{significant(low, digits)} to {significant(high, digits)}"


def span(values: pd.Series, digits: int = 2) -> str:
    """Return ``smallest to largest``, or the one figure where both print the same."""
    low, high = significant(float(values.min()), digits), significant(float(values.max()), digits)
    return low if low == high else f"{low} to {high}"


def plural(count: int, noun: str) -> str:
    """Return a count with its noun: ``1 trial``, ``2,000 trials``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def matters_from(effect: float) -> str:
    """Return ``Equivalence margin: 10%.`` of the ratio 1.1."""
    return f"Equivalence margin: {100 * (effect - 1):.3g}%."


def ratios(values: pd.Series) -> str:
    """Return ``ratio 4.5`` or ``ratios 1.3 to 5.4``."""
    found = span(values)
    return f"ratio{'s' if ' to ' in found else ''} {found}"


def trials_each(fewest: int, most: int) -> str:
    """Return how many trials each figure has: ``n = 5 to 15 trials each``."""
    if most == 1:
        return "n = 1 trial each, so the spread is unknown"
    return f"n = {fewest if fewest == most else f'{fewest} to {most}'} trials each"


def _positive(values: Values) -> npt.NDArray[np.float64]:
    array = np.asarray(values, dtype=np.float64)
    array = array[~np.isnan(array)]
    if array.size == 0:
        raise ValueError("no values: an interval needs at least one trial")
    if (array <= 0).any():
        raise ValueError("values must be positive: their geometric mean is taken")
    return array


def geometric_mean(values: Values) -> float:
    """Return the geometric mean, the mean for ratios of times; NaN are left out, no or other than positive values are a
    ValueError.

    Source: Fleming and Wallace, "How not to lie with statistics", CACM 29(3), 1986.
    """
    return float(np.exp(np.log(_positive(values)).mean()))


def geometric_interval(values: Values, confidence: float = CONFIDENCE) -> Interval:
    """Return the geometric mean of one value per trial with Student's interval of its logarithm, from two trials on.

    Source: Student, "The probable error of a mean", Biometrika 6, 1908. It assumes lognormal noise; few trials may all
    come from one of two speeds (`allocpool.decisions.shape_of`).
    """
    array = _positive(values)
    centre, n = geometric_mean(array), array.size
    if n == 1:
        return Interval(centre, centre, centre, 1, "one trial")
    half = float(scipy.special.stdtrit(n - 1, 0.5 + confidence / 2) * np.log(array).std(ddof=1) / math.sqrt(n))
    return Interval(centre, centre * math.exp(-half), centre * math.exp(half), n, "Student")


def block_ratios(numerator: pd.Series, denominator: pd.Series) -> pd.Series:
    """Return the ratio per block of two series indexed by block; blocks missing on either side are left out.

    Pairing removes what affects a block (heat, neighbours). Several trials in one block count once, as their geometric
    mean.
    """
    if numerator.empty or denominator.empty:
        return pd.Series(dtype=float)
    top, bottom = (
        side.dropna().astype(float).map(math.log).groupby(level=0).mean() for side in (numerator, denominator)
    )
    return (top - bottom).dropna().map(math.exp)


def binomial_bounds(events: int, chances: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Return exact two-sided bounds of a probability after ``events`` in ``chances`` (Clopper and Pearson, Biometrika
    26(4), 1934); ValueError unless ``0 <= events <= chances > 0``."""
    if not 0 <= events <= chances or not chances:
        raise ValueError(f"{events} events in {chances} chances: there must be chances, and no more events than these")
    bounds = scipy.stats.binomtest(events, chances).proportion_ci(confidence_level=confidence, method="exact")
    return float(bounds.low), float(bounds.high)
