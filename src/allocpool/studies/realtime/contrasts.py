"""What searches and trials show, as chances: whether a cell keeps up at all, from which interval on, and which of two
cells does from a smaller one.

The unit is the search, and the figure of a search the geometric middle of its bracket. Two cells are compared by their
searches and not by the points that `loss_boundary` fits: a fit takes trials of one search, made within minutes, for as
independent as those of another, and what a whole search has in common would be left out. A boundary lies anywhere in
its bracket, so the mean of half the brackets' widths (in logarithms) is added to the interval on both sides; the rest
is Student's t with the degrees of freedom of the side that has fewer searches. Where some search of a side found no
interval at all, it is by how many did (Barnard, "A new test for 2x2 tables", Nature 156, 1945).

Searches that decide something confirm each end of their bracket by `CONFIRMATIONS` trials, and a cell has
`ENOUGH_SEARCHES`. They are judged at the looks of `allocpool.decisions`, three or four as at its first one, so that
more may be added at any time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy

from allocpool.decisions import (
    A_CHEAPER,
    ALPHA,
    B_CHEAPER,
    EQUIVALENT,
    FEWEST_ESTIMATES,
    LOOKS,
    OPEN,
    Comparison,
    Decision,
    effect_that_matters,
    look_at,
    nominal_level,
    of_estimate,
)
from allocpool.studies.realtime.loss_boundary import EDGE, SAFE

ENOUGH_SEARCHES = FEWEST_ESTIMATES
"""A cell with fewer has no spread, and decides nothing."""
CONFIRMATIONS = 5
"""With fewer, two searches of one cell often do not even overlap where its edge is soft."""


@dataclass(frozen=True)
class Searches:
    """The searches of one cell for one goal, in order of time.

    Attributes:
        brackets: (largest interval that fails, smallest that passes), ns; infinite ends where no interval passes, and
            where none was shown to fail the lower one is NaN: the search's figure is then the passing end.
        confirmations: trials that each end stands for.
        tried: intervals that each search tried in trials of full length, at most.
        highest_ns: the longest interval tried.
        highest_trials, highest_losing: trials there of searches that found no interval, and how many of them lost.
    """

    brackets: Sequence[tuple[float, float]]
    confirmations: int
    highest_ns: float
    tried: int
    highest_trials: int = 0
    highest_losing: int = 0

    @property
    def n(self) -> int:
        return len(self.brackets)

    @property
    def passing(self) -> int:
        """Searches that found an interval."""
        return sum(math.isfinite(passes) for _, passes in self.brackets)

    @property
    def gap(self) -> str | None:
        """Why they decide nothing, or None."""
        if self.n < ENOUGH_SEARCHES:
            return f"fewer than {ENOUGH_SEARCHES} searches: no spread"
        if self.confirmations < CONFIRMATIONS:
            return f"fewer than {CONFIRMATIONS} trials confirm each end of its brackets"
        return None

    @property
    def decides(self) -> bool:
        """Whether there are enough of them, with confirmations enough."""
        return self.gap is None

    @property
    def middles(self) -> list[float]:
        """Logarithms of the figures of those that found an interval."""
        return [math.log(figure_ns(*one)) for one in self._found]

    @property
    def half_width(self) -> float:
        """Mean half width of their brackets, in logarithms."""
        return float(np.mean([0.0 if math.isnan(low) else math.log(high / low) / 2 for low, high in self._found]))

    @property
    def _found(self) -> list[tuple[float, float]]:
        return [(fails, passes) for fails, passes in self.brackets if math.isfinite(passes)]

    def p_reaches(self) -> float:
        """The chance that so many searches find an interval, were there none at which less than half of the trials
        lose: each would have to see all confirmations pass at one of those that it tried."""
        return float(scipy.stats.binom.sf(self.passing - 1, self.n, min(1.0, self.tried * EDGE**self.confirmations)))

    def p_loses(self) -> float:
        """The chance that so many find none, were there one at which at most one trial in twenty loses; where none
        finds any, that so many trials at the longest interval lose, did at most one in twenty there."""
        if self.passing == 0:
            return p_fails(self.highest_losing, self.highest_trials)
        return float(scipy.stats.binom.sf(self.n - self.passing - 1, self.n, 1 - (1 - SAFE) ** self.confirmations))

    def p_below(self, limit_ns: float) -> float:
        """The chance of so small intervals, were the cell's not below ``limit_ns``; 1 where a search found none."""
        return self._p_beyond(limit_ns, 1.0) if self.passing == self.n else 1.0

    def p_above(self, limit_ns: float) -> float:
        """As `p_below`, for an interval above it; where no search found any, the chance of that."""
        if self.passing == 0:
            return self.p_loses() if limit_ns <= self.highest_ns else 1.0
        return self._p_beyond(limit_ns, -1.0) if self.passing == self.n else 1.0

    def _p_beyond(self, limit_ns: float, sign: float) -> float:
        middles = self.middles[: look_at(self.n)]
        if len(middles) < ENOUGH_SEARCHES:
            return 1.0
        distance = sign * (math.log(limit_ns) - float(np.mean(middles)))
        error = float(np.std(middles, ddof=1)) / math.sqrt(len(middles))
        return of_estimate(distance, error, len(middles), self.half_width).p_above()

    def interval_ns(self) -> tuple[float, float, float]:
        """The geometric mean of the figures, and 95% around it, the brackets' half width included; NaN where none was
        found, and for the ends where there is but one."""
        middles = self.middles
        if not middles:
            return math.nan, math.nan, math.nan
        mean = float(np.mean(middles))
        if len(middles) == 1:
            return math.exp(mean), math.nan, math.nan
        error = float(np.std(middles, ddof=1)) / math.sqrt(len(middles))
        half = float(scipy.special.stdtrit(len(middles) - 1, 0.975)) * error + self.half_width
        return math.exp(mean), math.exp(mean - half), math.exp(mean + half)


def figure_ns(fails_ns: float, passes_ns: float) -> float:
    """The figure of one search: the geometric middle of its bracket, or its passing end where nothing fails."""
    return passes_ns if math.isnan(fails_ns) else math.sqrt(fails_ns * passes_ns)


def p_smaller(left: Searches, right: Searches, by: float = 1.0) -> float:
    """The chance of so much evidence that ``left`` keeps up with a smaller interval than ``right``, by a factor above
    ``by``, did it not."""
    if left.passing == left.n and right.passing == right.n:
        n = min(left.n, right.n)
        if n < ENOUGH_SEARCHES:
            return 1.0
        a, b = (side.middles[: look_at(n)] for side in (left, right))
        error = math.sqrt(float(np.var(a, ddof=1)) / len(a) + float(np.var(b, ddof=1)) / len(b))
        distance = float(np.mean(b)) - float(np.mean(a))
        return of_estimate(distance, error, min(len(a), len(b)), left.half_width + right.half_width).p_above(by)
    highest_ns = min(left.highest_ns, right.highest_ns) / by
    keeps_up = sum(figure_ns(*one) < highest_ns for one in left.brackets if math.isfinite(one[1]))
    table = [[keeps_up, left.n - keeps_up], [right.passing, right.n - right.passing]]
    if keeps_up * right.n <= right.passing * left.n:
        return 1.0
    return float(scipy.stats.barnard_exact(table, alternative="greater", n=8).pvalue)


def p_works(losing: int, trials: int) -> float:
    """The chance that so few of the trials lose, did at least every other one."""
    return float(scipy.stats.binom.cdf(losing, trials, EDGE)) if trials else 1.0


def p_fails(losing: int, trials: int) -> float:
    """The chance that so many of them lose, did at most one in twenty."""
    return float(scipy.stats.binom.sf(losing - 1, trials, SAFE)) if trials else 1.0


def most_loss_chance(trials: int, confidence: float = 0.95) -> float:
    """Trials that lost nothing bound the chance that one does: it is below this (exact binomial, over trials)."""
    return float(1 - (1 - confidence) ** (1 / trials))


class ShareLost(NamedTuple):
    """What is lost of all, over trials: the mean of their shares, with where it lies (95%); NaN where one trial knows
    no spread. Where no trial lost anything ``high`` is NaN too, and `most_loss_chance` is what they bound."""

    mean: float
    low: float
    high: float


def share_lost(shares: Sequence[float]) -> ShareLost:
    """Shares resampled over trials: the expanded percentile bootstrap of their mean (Hesterberg, "What teachers should
    know about the bootstrap", The American Statistician 69, 2015), which puts right that few trials are resampled too
    narrowly. Packets are no sample: they are lost in bursts."""
    values = np.asarray(shares, dtype=np.float64)
    n, mean = values.size, float(values.mean())
    if n == 1 or not values.any():
        return ShareLost(mean, math.nan, math.nan)
    drawn = np.random.default_rng(n).choice(values, (_RESAMPLES, n)).mean(axis=1)
    tail = float(scipy.special.ndtr(-math.sqrt(n / (n - 1)) * scipy.special.stdtrit(n - 1, 0.975)))
    low, high = np.quantile(drawn, [tail, 1 - tail])
    return ShareLost(mean, float(low), float(high))


_RESAMPLES = 9_999


def of_interval(
    middle: float, low: float, high: float, n: int, effect: float | None = None, alpha: float = ALPHA
) -> Comparison:
    """A comparison by an estimated logarithm of a ratio and the ends of its interval, made at the level of the look
    that ``n`` trials a side have reached (`allocpool.decisions.nominal_level`); infinite ends are open."""
    effect = effect or effect_that_matters()
    used, margin = look_at(n) or n, math.log(effect)
    verdict = (
        EQUIVALENT if -margin < low and high < margin
        else A_CHEAPER if high < 0 else B_CHEAPER if low > 0 else OPEN
    )  # fmt: skip
    reach = (high - low) / 2
    error = reach / -float(scipy.special.stdtrit(max(1, used - 1), nominal_level(alpha, used) / 2))
    needed: int | None = 0
    if verdict == OPEN:
        room = max(abs(middle), margin - abs(middle))
        later = [size for size in LOOKS if size > n]
        enough = [size for size in later if math.isinf(reach) or reach * math.sqrt(used / size) < room]
        needed = enough[0] - n if enough else None
    ratio, low, high = (math.exp(part) if part < _LONGEST else math.inf for part in (middle, low, high))
    decision = Decision(ratio, low, high, n, used, verdict, needed, alpha, math.exp(middle), "")
    return Comparison(decision, middle, error, max(1.0, used - 1.0), effect)


_LONGEST = 700.0
"""The logarithm of what counts as infinite."""
