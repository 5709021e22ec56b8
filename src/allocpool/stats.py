"""The trial is the sampling unit: every interval and every ratio here is over trials, never over packets or
pauses.

Times are positive and vary by factors, so centres are geometric means and comparisons are ratios. Few
trials are told as few: below ``BOOTSTRAP_MIN_TRIALS`` the range of the trials is shown and called a range,
because no resampling of two or three numbers reaches beyond the largest of them.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats as scipy_stats

CONFIDENCE = 0.95
BOOTSTRAP_MIN_TRIALS = 5
RESAMPLES = 9_999
_SEED = 20190117

Values = Sequence[float] | npt.NDArray[np.float64] | pd.Series


@dataclass(frozen=True)
class Interval:
    """An estimate with its spread, in the unit of the values it came from.

    ``method`` is ``bootstrap`` (a confidence interval), ``range`` (smallest and largest of the trials) or
    ``one trial`` (``low == estimate == high``: nothing is known of the spread). ``trials`` is the number of
    values behind it.
    """

    estimate: float
    low: float
    high: float
    trials: int
    method: str

    def describe(self) -> str:
        """How the spread was found, for a caption: ``range of 2 trials``, ``95 % bootstrap interval of 5
        trials``."""
        return describe_method(self.method, self.trials)

    def text(self, digits: int = 3, unit: str = "") -> str:
        """``estimate unit (low to high)`` with ``digits`` significant digits; no spread is claimed for one
        trial."""
        tail = f" {unit}" if unit else ""
        if self.method == "one trial":
            return f"{significant(self.estimate, digits)}{tail}"
        return (
            f"{significant(self.estimate, digits)}{tail} "
            f"({significant(self.low, digits)} to {significant(self.high, digits)})"
        )


def significant(value: float, digits: int = 3) -> str:
    """A number in plain notation with ``digits`` significant digits (``4042`` -> ``4,040``, ``0.0451`` ->
    ``0.0451``)."""
    if not math.isfinite(value):
        return "-"
    if value == 0:
        return "0"
    decimals = digits - 1 - math.floor(math.log10(abs(value)))
    return f"{round(value, decimals):,.{max(0, decimals)}f}"


def span(values: pd.Series, digits: int = 2) -> str:
    """``smallest to largest`` of some figures, or the one figure if they print the same."""
    low, high = significant(float(values.min()), digits), significant(float(values.max()), digits)
    return low if low == high else f"{low} to {high}"


def describe_method(method: str, trials: int) -> str:
    """A spread's name for captions; a range also says how surely it holds the true median (see
    `range_coverage`)."""
    if method == "bootstrap":
        return f"{CONFIDENCE:.0%} bootstrap interval of {trials} trials"
    if method == "range":
        return f"range of {trials} trials (holds the true median in {range_coverage(trials):.0%} of cases)"
    return "one trial, spread unknown"


def range_coverage(trials: int) -> float:
    """The chance that the range of ``trials`` independent values holds the true median: 1 - 2^(1-n), exactly.

    Each value falls on either side of the median with probability 1/2, so all on one side has 2 * 2^-n.
    Source: the order-statistics interval for a quantile, e.g. David and Nagaraja, *Order Statistics*, 3rd
    ed., section 7.1.
    """
    return 1.0 - 2.0 ** (1 - trials)


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


@functools.cache
def _resamples(n: int) -> npt.NDArray[np.intp]:
    """Which of ``n`` trials each resample holds: the same whenever it is asked for, so that a figure never changes."""
    return np.random.default_rng(_SEED).integers(0, n, (RESAMPLES, n))


def geometric_interval(values: Values, confidence: float = CONFIDENCE) -> Interval:
    """The geometric mean of one value per trial with its spread.

    From `BOOTSTRAP_MIN_TRIALS` on this is the *expanded* percentile bootstrap over trials: the plain
    percentile interval is too narrow for few values (about 83 % at n = 5 where 95 % is asked), so its level
    is widened to make up for the missing n/(n-1) and for the normal quantile used in place of Student's.
    Source: Hesterberg, "What teachers should know about the bootstrap", The American Statistician 69(4),
    2015, section 4.3. Below that number of trials, the widened interval is the range itself, so the range
    is what is shown and named.
    """
    array = _positive(values)
    # Rounding must not put the mean of equal values outside them.
    centre = min(max(geometric_mean(array), float(array.min())), float(array.max()))
    n = array.size
    if n == 1:
        return Interval(centre, centre, centre, 1, "one trial")
    if n < BOOTSTRAP_MIN_TRIALS or array.min() == array.max():
        return Interval(centre, float(array.min()), float(array.max()), n, "range")
    student = scipy_stats.t.ppf(0.5 + confidence / 2, n - 1)
    expanded = 1.0 - 2.0 * float(scipy_stats.norm.cdf(-math.sqrt(n / (n - 1)) * student))
    means = np.log(array)[_resamples(n)].mean(axis=1)
    low, high = np.exp(np.quantile(means, [(1.0 - expanded) / 2.0, (1.0 + expanded) / 2.0]))
    return Interval(centre, float(low), float(high), n, "bootstrap")


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


@dataclass(frozen=True)
class NoiseBand:
    """How far two trials of one and the same configuration lie apart: ``factor`` >= 1, from ``pairs`` A/A
    pairs.

    With no pair at all the factor is infinite: then nothing can be told from noise.
    """

    factor: float
    pairs: int


def noise_band(trials: pd.DataFrame, configuration: Sequence[str], value: str = "ns_per_packet") -> NoiseBand:
    """The factor that 95 % of A/A pairs (same configuration, different block) stay within; the largest if
    under 20.

    ``trials`` holds one row per trial with the columns of ``configuration``, ``block`` and ``value``. This
    is the instrument tested on itself: Georges, Buytaert and Eeckhout, "Statistically rigorous Java
    performance evaluation", OOPSLA 2007, show that JVM invocations of one configuration differ by more than
    iterations within one do.
    """
    differences: list[float] = []
    for _, group in trials.dropna(subset=[value]).groupby(list(configuration), dropna=False, observed=True):
        logs = np.log(group.groupby("block")[value].mean().to_numpy(dtype=np.float64))
        upper = np.triu_indices(logs.size, k=1)
        differences.extend(np.abs(logs[upper[0]] - logs[upper[1]]))
    if not differences:
        return NoiseBand(math.inf, 0)
    return NoiseBand(float(np.exp(np.quantile(differences, 0.95, method="higher"))), len(differences))


@dataclass(frozen=True)
class Comparison:
    """A ratio of two configurations, paired within blocks, against the noise of the instrument.

    ``ratio`` is None when no block holds both. A difference is shown only when two things agree. The spread of the
    ratio lies wholly on one side of one; and it is more than A/A noise: a range (fewer than `BOOTSTRAP_MIN_TRIALS`
    blocks), which is no confidence interval, must lie wholly outside the noise of a single pair of trials, and the
    estimate of a bootstrap interval outside that noise over the root of n, which is what it is for a mean over n
    blocks. One block shows nothing.
    """

    ratio: Interval | None
    noise: NoiseBand

    @property
    def direction(self) -> int:
        """+1: the numerator is shown to be larger; -1: smaller; 0: no difference shown."""
        ratio = self.ratio
        if ratio is None or ratio.method == "one trial":
            return 0
        if ratio.method == "range":
            low, high, margin = ratio.low, ratio.high, self.noise.factor
        else:
            low, high, margin = ratio.estimate, ratio.estimate, self.noise.factor ** (ratio.trials**-0.5)
        if ratio.low > 1.0 and low > margin:
            return 1
        if ratio.high < 1.0 and high < 1.0 / margin:
            return -1
        return 0

    def text(self) -> str:
        """The ratio in words: ``3.1 times (2.9 to 3.4)`` or ``no difference shown (1.02, 0.97 to 1.08)``."""
        if self.ratio is None:
            return "not measured"
        if self.direction:
            return self.ratio.text(3, "times")
        spread = (
            "one block"
            if self.ratio.method == "one trial"
            else (f"{significant(self.ratio.low)} to {significant(self.ratio.high)}")
        )
        return f"no difference shown ({significant(self.ratio.estimate)}, {spread})"


def compare(numerator: pd.Series, denominator: pd.Series, noise: NoiseBand) -> Comparison:
    """Compare two configurations given as series indexed by block (any positive unit, the same on both
    sides)."""
    ratios = block_ratios(numerator, denominator)
    return Comparison(geometric_interval(ratios) if len(ratios) else None, noise)


def binomial_bounds(events: int, chances: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Exact two-sided bounds of a probability after ``events`` in ``chances``; with none seen the lower
    bound is 0.

    Source: Clopper and Pearson, Biometrika 26(4), 1934. Raises ValueError unless ``0 <= events <= chances >
    0``.
    """
    if chances <= 0 or not 0 <= events <= chances:
        raise ValueError(f"events must lie between 0 and chances, chances above 0: got {events} of {chances}")
    bounds = scipy_stats.binomtest(events, chances).proportion_ci(confidence_level=confidence, method="exact")
    return float(bounds.low), float(bounds.high)


@dataclass(frozen=True)
class Stability:
    """Whether the trials of one configuration agree: ``coefficient_of_variation`` (NaN for one trial) and
    ``reason``."""

    coefficient_of_variation: float
    reason: str | None

    @property
    def unstable(self) -> bool:
        return self.reason is not None


def stability(values: Values) -> Stability:
    """Flag results that vary too much to be leaned on, by pyperf's rules over trials.

    Unstable when the standard deviation is 10 % of the mean or more, or when a trial lies 50 % off the
    mean. Source: pyperf documentation, "perf check command" (Stinner). The coefficient of variation is
    sd/mean with n - 1.
    """
    array = _positive(values)
    if array.size == 1:
        return Stability(math.nan, None)
    mean = float(array.mean())
    variation = float(array.std(ddof=1)) / mean
    if variation >= 0.10:
        return Stability(variation, f"standard deviation is {variation:.0%} of the mean")
    if array.max() >= 1.5 * mean or array.min() <= 0.5 * mean:
        return Stability(variation, "a trial lies 50% or more off the mean")
    return Stability(variation, None)
