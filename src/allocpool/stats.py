"""The trial is the sampling unit: every interval and every ratio here is over trials, never over packets or pauses.

Times are positive and vary by factors, so centres are geometric means and comparisons are ratios; what is decided by
them is `allocpool.decisions`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy  # as a whole: its parts take longer to import than all else here, and come when they are first asked for

CONFIDENCE = 0.95
SPREAD_UNKNOWN = "spread unknown"
TOO_WIDE = 1_000.0
"""An interval from one end to the other so many times as large says nothing."""

Values = Sequence[float] | npt.NDArray[np.float64] | pd.Series


@dataclass(frozen=True)
class Interval:
    """An estimate with its spread, in the unit of the values it came from.

    ``method`` is ``Student`` (a confidence interval of the mean logarithm) or ``one trial`` (``low == estimate ==
    high``: nothing is known of the spread). ``trials`` is the number of values behind it.
    """

    estimate: float
    low: float
    high: float
    trials: int
    method: str

    def text(self, digits: int = 3, unit: str = "") -> str:
        """``estimate unit (low to high)`` with ``digits`` significant digits; no spread is claimed for one
        trial."""
        tail = f" {unit}" if unit else ""
        if self.method == "one trial":
            return f"{significant(self.estimate, digits)}{tail}"
        return f"{significant(self.estimate, digits)}{tail} ({ends(self.low, self.high, digits)})"


def significant(value: float, digits: int = 3) -> str:
    """A number in plain notation with ``digits`` significant digits (``4042`` -> ``4,040``, ``0.0451`` ->
    ``0.0451``); one that would take more than fifteen digits, with its power of ten."""
    if not math.isfinite(value):
        return "-"
    if value == 0:
        return "0"
    if not 1e-15 < abs(value) < 1e15:
        return f"{value:.{digits - 1}e}"
    decimals = digits - 1 - math.floor(math.log10(abs(value)))
    return f"{round(value, decimals):,.{max(0, decimals)}f}"


def ends(low: float, high: float, digits: int = 3) -> str:
    """``low to high``; an interval of few trials that is wider than a thousandfold is reported as unknown."""
    if high > TOO_WIDE * low:
        return SPREAD_UNKNOWN
    return f"{significant(low, digits)} to {significant(high, digits)}"


def span(values: pd.Series, digits: int = 2) -> str:
    """``smallest to largest`` of some figures, or the one figure if they print the same."""
    low, high = significant(float(values.min()), digits), significant(float(values.max()), digits)
    return low if low == high else f"{low} to {high}"


def plural(count: int, noun: str) -> str:
    """A count with its noun: ``1 trial``, ``2,000 trials``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def matters_from(effect: float) -> str:
    """``Equivalence margin: 10%.``, of the smallest ratio that matters, 1.1."""
    return f"Equivalence margin: {100 * (effect - 1):.3g}%."


def times(count: int) -> str:
    """How often: ``once``, ``3 times``."""
    return "once" if count == 1 else f"{count:,} times"


def ratios(values: pd.Series) -> str:
    """Some ratios in words: ``ratio 4.5``, ``ratios 1.3 to 5.4``."""
    told = span(values)
    return f"ratio{'s' if ' to ' in told else ''} {told}"


def trials_each(fewest: int, most: int) -> str:
    """How many trials are behind each figure: ``n = 5 to 15 trials each, every trial a fresh process``."""
    if most == 1:
        return "n = 1: one trial each, a fresh process, so the spread is unknown"
    told = f"{fewest}" if fewest == most else f"{fewest} to {most}"
    return f"n = {told} trials each, every trial a fresh process"


def _positive(values: Values) -> npt.NDArray[np.float64]:
    array = np.asarray(values, dtype=np.float64)
    array = array[~np.isnan(array)]
    if array.size == 0:
        raise ValueError("no values: an interval needs at least one trial")
    if (array <= 0).any():
        raise ValueError("values must be positive: their geometric mean is taken")
    return array


def geometric_mean(values: Values) -> float:
    """The geometric mean of positive values; NaN are left out, an empty or non-positive input is a
    ValueError.

    Source: Fleming and Wallace, "How not to lie with statistics", CACM 29(3), 1986: the mean for ratios of
    times.
    """
    return float(np.exp(np.log(_positive(values)).mean()))


def geometric_interval(values: Values, confidence: float = CONFIDENCE) -> Interval:
    """The geometric mean of one value per trial with Student's interval of its logarithm, from two trials on.

    Source: Student, "The probable error of a mean", Biometrika 6, 1908. It holds the truth as often as it says where
    noise is lognormal; few trials may all come from one of two speeds (`allocpool.decisions.shape_of`).
    """
    array = _positive(values)
    centre, n = geometric_mean(array), array.size
    if n == 1:
        return Interval(centre, centre, centre, 1, "one trial")
    half = float(scipy.special.stdtrit(n - 1, 0.5 + confidence / 2) * np.log(array).std(ddof=1) / math.sqrt(n))
    return Interval(centre, centre * math.exp(-half), centre * math.exp(half), n, "Student")


def block_ratios(numerator: pd.Series, denominator: pd.Series) -> pd.Series:
    """Ratio per block of two series indexed by block; blocks missing on either side are left out.

    Pairing within blocks removes what the machine did to a whole block (heat, neighbours). Several trials
    of a configuration in one block count once, as their geometric mean, because they share that block.
    """
    if numerator.empty or denominator.empty:
        return pd.Series(dtype=float)
    top, bottom = (
        side.dropna().astype(float).map(math.log).groupby(level=0).mean() for side in (numerator, denominator)
    )
    return (top - bottom).dropna().map(math.exp)


def binomial_bounds(events: int, chances: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Exact two-sided bounds of a probability after ``events`` in ``chances``; with none seen the lower
    bound is 0.

    Source: Clopper and Pearson, Biometrika 26(4), 1934. Raises ValueError unless ``0 <= events <= chances >
    0``.
    """
    if chances <= 0 or not 0 <= events <= chances:
        raise ValueError(f"events must lie between 0 and chances, chances above 0: got {events} of {chances}")
    bounds = scipy.stats.binomtest(events, chances).proportion_ci(confidence_level=confidence, method="exact")
    return float(bounds.low), float(bounds.high)
