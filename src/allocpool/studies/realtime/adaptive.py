"""The minimum sustainable inter-arrival time of one cell by adaptive trials: each where it is least known.

A cell has one series of trials, in blocks that hold every cell once: each is its own process, of one fixed length, at
the interval that those before it leave most open (Kontsevich and Tyler, "Bayesian adaptive estimation of psychometric
slope and threshold", Vision Research 39, 1999). So its trials are as far apart in time as those of any comparison.

To them one chance of a loss is fitted: logistic in the logarithm of the interval, around a boundary where it is a half,
with an edge from 6 to 140% wide between one trial in twenty that loses and nineteen, and with one trial in twenty that
loses, or does not, for other reasons (Wichmann and Hill, "The psychometric function: I. Fitting, sampling, and goodness
of fit", Perception and Psychophysics 63, 2001). Chances are those of the ratio of likelihoods, each the largest over
all edges; two cells are compared by the likelihood of both together, the largest over all pairs of boundaries that lie
so far apart. They hold at the looks of `allocpool.decisions`, so that more trials may be added at any time; how often
they are wrong is simulated (`allocpool.studies.realtime.proof`).

A trial whose source stalled for half of the input queue reports nothing, whether it lost or not.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy

from allocpool import decisions
from allocpool.decisions import ALPHA, FEWEST, OPEN, Comparison, Decision, effect_that_matters, look_at
from allocpool.studies.realtime.specs import COMPARISON_INTERVAL_NS

Array = npt.NDArray[np.float64]

SOFTNESS = (0.01, 0.04, 0.15)
"""Of the logistic edge, over the logarithm of the interval: from a twentieth to nineteen twentieths 6, 27 and 140%."""
LAPSE = 0.05
"""Trials that lose, or don't, whatever their interval."""
STEP = 0.05
"""Of the intervals that trials are placed at, in logarithms."""
_NEARLY, _MOST_LOST = 0.8, 0.99


class Point(NamedTuple):
    """A boundary, ns, and 95% around it; an end that trials do not bound is 0 or infinite."""

    estimate: float
    low: float
    high: float


class Seen(NamedTuple):
    """What one trial shows of its boundary."""

    live: int
    """Messages alive."""
    interval_ns: float
    queue_ms: float
    """The longest deadline that it reports."""
    latest_ms: float
    """The longest that a message waited; infinite where one was lost."""
    source_stall_ms: float
    """The longest source stall."""
    lost_share: float = 0.0

    def lost(self, deadline_ms: float) -> bool | None:
        """Return whether a queue of this length would have lost a message; None where that is not known: the source
        stalled for half of it, or its own queue is shorter."""
        if self.source_stall_ms >= deadline_ms / 2 or deadline_ms > self.queue_ms * (1 + 1e-9):
            return None
        # A queue that lost nothing kept its own deadline, whatever the coarse buckets of delays say.
        return math.isinf(self.latest_ms) or (deadline_ms < self.queue_ms * (1 - 1e-9) and self.latest_ms > deadline_ms)

    def lost_more_than(self, share: float) -> bool | None:
        """Return whether its own queue lost more than this share; None where that is not known."""
        lost = self.lost(self.queue_ms)
        return None if lost is None else lost and self.lost_share > share

    @property
    def keeps_up_from(self) -> float:
        """The logarithm of an interval up to which it would lose, too: one that loses a large share would at least up
        to that at which what it has handled would be all."""
        return math.log(self.interval_ns) - _NEARLY * math.log1p(-min(self.lost_share, _MOST_LOST))


READS = [
    "queue_size", "stored_count", "interval_ns", "input_queue_ms", "source_stall_max_ms", "lost", "lost_ppm",
    "delay_max_us",
]  # fmt: skip
"""Columns that `seen_of` reads; rows of all columns are slow to make."""


def seen_of(row: Any) -> Seen:
    """Return what a row of table ``map`` or ``adaptive`` shows."""
    latest_ms = math.inf if row.lost > 0 else math.nan  # the trials of a search kept no delays
    if row.lost == 0 and pd.notna(row.delay_max_us):
        latest_ms = float(row.delay_max_us) / 1e3
    return Seen(
        live_in(row), float(row.interval_ns), float(row.input_queue_ms), latest_ms, float(row.source_stall_max_ms),
        float(row.lost_ppm) / 1e6,
    )  # fmt: skip


def live_in(row: Any) -> int:
    return int(row.queue_size + row.stored_count)


def log_chances(boundary: Array, log_ns: float) -> tuple[Array, Array]:
    """Return logarithms of the chances that a trial at this interval loses, and that it does not: a row for each
    softness."""
    chances = LAPSE + (1 - 2 * LAPSE) * scipy.special.expit((boundary - log_ns) / np.array(SOFTNESS)[:, None])
    return np.log(chances), np.log1p(-chances)


def on_steps(log_ns: float) -> float:
    """Return the interval, ns, on a grid, so that the last digits of a mean change no trial."""
    return float(f"{math.exp(STEP * round(log_ns / STEP)):.4g}")


_GRAIN = 0.02
_AXIS = np.arange(0.0, math.log(1e6), _GRAIN)
"""Logarithms of all boundaries that are thought of, from 1 ns to a thousand packets a second."""

Outcome = tuple[float, bool]
"""An interval, ns, and whether the trial at it lost."""


def outcomes_of(seen: Sequence[Seen], more_than: float) -> tuple[Outcome, ...]:
    """Return the outcomes of the trials that have one, in order; losing is to lose more than a share."""
    lost = ((each.interval_ns, each.lost_more_than(more_than)) for each in seen)
    return tuple((interval_ns, how) for interval_ns, how in lost if how is not None)


@functools.lru_cache(maxsize=1024)
def _likely(outcomes: tuple[Outcome, ...]) -> Array:
    """The logarithm of the likelihood of each boundary of the axis, with the edge that suits it best, less its
    largest."""
    likely = np.zeros((len(SOFTNESS), len(_AXIS)))
    for interval_ns, lost in outcomes:
        likely += log_chances(_AXIS, math.log(interval_ns))[0 if lost else 1]
    best: Array = likely.max(axis=0)
    return best - float(best.max())


@dataclass(frozen=True)
class AdaptiveTrials:
    """The trials of one cell for one goal, in order of time."""

    outcomes: tuple[Outcome, ...]
    silent: int
    """Trials without an outcome."""
    highest_ns: float
    """The longest interval tried."""
    clustered: bool = False
    """They are of searches, minutes apart: they have a boundary, but decide nothing."""

    @property
    def n(self) -> int:
        return len(self.outcomes)

    @property
    def gap(self) -> str | None:
        if self.clustered:
            return "trials of searches, minutes apart"
        silent = f", besides {self.silent} in which the source stalled" if self.silent else ""
        return None if self.n >= FEWEST else f"fewer than {FEWEST} trials with an outcome{silent}"

    @property
    def decides(self) -> bool:
        return self.gap is None

    @property
    def used(self) -> tuple[Outcome, ...]:
        return self.outcomes[: look_at(self.n) or self.n]

    @property
    def edge_ns(self) -> float:
        """The likeliest boundary, in the middle of those that are equally likely; the shortest interval tried where
        none lost, infinite where it lies beyond all that were tried."""
        best = _AXIS[_likely(self.used) > -_ALIKE]
        low, high = float(best[0]), float(best[-1])
        if high >= _AXIS[-1]:
            return math.inf
        if low <= _AXIS[0]:
            return min(interval_ns for interval_ns, _ in self.used)
        return math.exp((low + high) / 2)

    @property
    def passes(self) -> bool:
        """Whether the boundary is more likely among the intervals tried than beyond."""
        return bool(self.outcomes) and self.edge_ns <= self.highest_ns

    def interval_ns(self) -> tuple[float, float, float]:
        """Return the boundary, and 95% around it, whenever one looks; ends are 0 and infinite where it is not bounded,
        all NaN where it lies beyond the intervals tried."""
        if not self.passes:
            return math.nan, math.nan, math.nan
        if not self.decides:
            return self.edge_ns, math.nan, math.nan
        low, high = _ends(_likely(self.used), _AXIS, len(self.used), ALPHA)
        return self.edge_ns, math.exp(low), math.exp(high)

    def p_below(self, limit_ns: float) -> float:
        """Return the chance of so much evidence that the boundary is below ``limit_ns``, were it not. Below
        `highest_ns`: some interval passes; above it: none does."""
        return self._p(math.log(limit_ns) <= _AXIS)

    def p_above(self, limit_ns: float) -> float:
        """As `p_below`, above it; 1 where no interval so long was tried."""
        return self._p(math.log(limit_ns) >= _AXIS) if limit_ns <= self.highest_ns * (1 + 1e-9) else 1.0

    def _p(self, otherwise: npt.NDArray[Any]) -> float:
        return _chance(_likely(self.used), otherwise, len(self.used)) if self.decides else 1.0


_ALIKE = 1e-6
"""Likelihoods that differ by less are alike."""


def _chance(likely: Array, otherwise: npt.NDArray[Any], used: int) -> float:
    """The one-sided chance, over all looks, of so much less likelihood where things are ``otherwise``."""
    deviance = -2 * float(likely[otherwise].max(initial=-math.inf))
    nominal = 0.5 if deviance <= 0 else float(scipy.stats.chi2.sf(deviance, 1)) / 2
    return decisions.repeated_p(max(nominal, _SMALLEST), used)


_SMALLEST = 1e-300


def _ends(likely: Array, axis: Array, used: int, alpha: float) -> tuple[float, float]:
    """The ends of what is likely enough, of an axis of logarithms; infinite where its own end is."""
    inside = axis[likely >= -float(scipy.stats.chi2.ppf(1 - decisions.nominal_level(alpha, used), 1)) / 2]
    low, high = float(inside[0]) - _GRAIN, float(inside[-1]) + _GRAIN
    return -math.inf if low <= axis[0] else low, math.inf if high >= axis[-1] else high


@dataclass(frozen=True)
class Costs:
    """What a packet takes in the trials of one cell, ns, in order of time: the boundary were there nothing but the
    work."""

    every_ns: tuple[float, ...]

    @property
    def decides(self) -> bool:
        return len(self.every_ns) >= FEWEST

    @property
    def used(self) -> tuple[float, ...]:
        return self.every_ns[: look_at(len(self.every_ns)) or len(self.every_ns)]


@functools.lru_cache(maxsize=1024)
def _likely_cost(every_ns: tuple[float, ...]) -> Array:
    """As `_likely`, of the geometric mean of costs: such that its intervals are Student's."""
    logs = np.log(every_ns)
    error = max(float(logs.std(ddof=1)) / math.sqrt(len(logs)), _GRAIN)
    p = 2 * scipy.stats.t.sf(np.abs(_AXIS - logs.mean()) / error, len(logs) - 1)
    likely: Array = -scipy.stats.chi2.isf(np.maximum(p, _SMALLEST), 1) / 2
    return likely - float(likely.max())


Boundary = AdaptiveTrials | Costs
Side = Boundary | float
"""The boundary of a cell, or a limit, ns."""
_APART = np.arange(1 - len(_AXIS), len(_AXIS), dtype=np.float64) * _GRAIN


@functools.lru_cache(maxsize=1024)
def _ratio(left: Side, right: Side, used: int) -> Array:
    """The logarithm of the likelihood of each ratio of two boundaries, left over right, less its largest."""
    if isinstance(right, float):
        return _ratio(right, left, used)[::-1]
    other = _likely_of(right, used)
    if isinstance(left, float):  # beyond the ends of the axis a boundary is as likely as at them
        limit: Array = np.interp(math.log(left) - _APART, _AXIS, other)
        return limit
    one, size = _likely_of(left, used), len(_AXIS)
    padded = np.pad(other, size - 1, constant_values=-math.inf)
    likely: Array = (np.lib.stride_tricks.sliding_window_view(padded, size)[::-1] + one).max(axis=1)
    return likely - float(likely.max())


def _likely_of(side: Boundary, used: int) -> Array:
    return _likely(side.used[:used]) if isinstance(side, AdaptiveTrials) else _likely_cost(side.used[:used])


def p_smaller(left: AdaptiveTrials, right: AdaptiveTrials, by: float = 1.0) -> float:
    """Return the chance of so much evidence that ``left`` keeps up with a smaller interval by a factor above ``by``,
    did it not; by the trials of the latest look of both."""
    if not (left.decides and right.decides):
        return 1.0
    used = min(len(left.used), len(right.used))
    return _chance(_ratio(left, right, used), -math.log(by) - 1e-9 <= _APART, used)


def over(pairs: Sequence[tuple[Side, Side]], alpha: float = ALPHA, effect: float | None = None) -> Comparison:
    """Return the product of the ratios of these boundaries, left over right, by the likelihood of all trials together;
    of no trials where one side has too few."""
    cells = [side for pair in pairs for side in pair if not isinstance(side, float)]
    if not all(cell.decides for cell in cells):
        return too_few(0, effect, alpha, FEWEST)
    used = min(len(cell.used) for cell in cells)
    likely = functools.reduce(_of_product, (_ratio(left, right, used) for left, right in pairs))
    return _compared(likely - float(likely.max()), used, used, effect, alpha)


def _of_product(one: Array, other: Array) -> Array:
    """The logarithm of the likelihood of each product of two ratios, the largest over all pairs that make it."""
    size, middle = len(_APART), len(_AXIS) - 1
    padded = np.pad(other[::-1], middle, constant_values=-math.inf)
    return np.array([float((one + padded[size - 1 - k : 2 * size - 1 - k]).max()) for k in range(size)])


def _compared(likely: Array, n: int, used: int, effect: float | None, alpha: float) -> Comparison:
    """By how likely each ratio is; of ``n`` trials a side, and those used up to the latest look."""
    best = _APART[likely > -_ALIKE]
    return of_interval(float(best.mean()), *_ends(likely, _APART, used, alpha), n, effect, alpha)


def too_few(n: int, effect: float | None, alpha: float, needed: int) -> Comparison:
    """Return the comparison of so few trials a side that ``needed`` more could decide."""
    found = Decision(math.nan, math.nan, math.nan, n, n, OPEN, needed, alpha, math.nan, "")
    return Comparison(found, math.nan, math.nan, math.nan, effect or effect_that_matters())


@dataclass(frozen=True)
class AdaptiveJudge:
    """Compares two cells by what their trials have shown (`Seen`, in order of time): the smaller interval is the
    cheaper side. A trial loses where it loses more than ``more_than`` of its packets."""

    more_than: float

    def __call__(
        self, a: Sequence[Any], b: Sequence[Any], effect: float | None = None, alpha: float = ALPHA
    ) -> Comparison:
        """``a`` and ``b``: what the trials of each side have shown."""
        one, other = (AdaptiveTrials(outcomes_of(side, self.more_than), 0, math.nan) for side in (a, b))
        n = min(one.n, other.n)
        used = look_at(n)
        if used is None:
            return too_few(n, effect, alpha, FEWEST - n)
        return _compared(_ratio(one, other, used), n, used, effect, alpha)


def of_interval(
    middle: float, low: float, high: float, n: int, effect: float | None = None, alpha: float = ALPHA
) -> Comparison:
    """Return a comparison by an estimated logarithm of a ratio and the ends of its interval, made at the level of the
    look that ``n`` trials a side have reached (`allocpool.decisions.nominal_level`); infinite ends are open."""
    effect = effect or effect_that_matters()
    used, margin = look_at(n) or n, math.log(effect)
    verdict = (
        decisions.EQUIVALENT if -margin < low and high < margin
        else decisions.A_CHEAPER if high < 0 else decisions.B_CHEAPER if low > 0 else OPEN
    )  # fmt: skip
    reach = (high - low) / 2
    error = reach / -float(scipy.special.stdtrit(max(1, used - 1), decisions.nominal_level(alpha, used) / 2))
    needed: int | None = 0
    if verdict == OPEN:
        room = max(abs(middle), margin - abs(middle))
        later = [size for size in decisions.LOOKS if size > n]
        enough = [size for size in later if math.isinf(reach) or reach * math.sqrt(used / size) < room]
        needed = enough[0] - n if enough else None
    ratio, low, high = (math.exp(part) if part < _LONGEST else math.inf for part in (middle, low, high))
    decision = Decision(ratio, low, high, n, used, verdict, needed, alpha, math.exp(middle), "")
    return Comparison(decision, middle, error, max(1.0, used - 1.0), effect)


_LONGEST = 700.0
"""The logarithm of what counts as infinite."""


@functools.lru_cache(maxsize=4096)
def next_interval(low_ns: float, high_ns: float, shown: tuple[tuple[float, bool | None], ...]) -> float:
    """Return the interval, ns, of the next trial of a cell, between the shortest and the longest: the first at that of
    the published losses, the next ones at the mean of where its boundary may lie after these. ``shown``: logarithms of
    intervals (`Seen.keeps_up_from` where a trial lost), and whether each lost."""
    if not shown:
        return min(max(COMPARISON_INTERVAL_NS, low_ns), high_ns)
    # Beyond the ends, or no mean would ever come near them.
    axis = np.arange(math.log(low_ns) - _BEYOND, math.log(high_ns) + _BEYOND, _GRAIN)
    belief = np.zeros((len(SOFTNESS), len(axis)))
    for log_ns, lost in shown:
        if lost is not None:
            belief += log_chances(axis, min(log_ns, math.log(high_ns)))[0 if lost else 1]
    likely = np.exp(belief - belief.max()).sum(axis=0)
    return min(max(on_steps(float(likely @ axis / likely.sum())), low_ns), high_ns)


_BEYOND = math.log(3.0)


def shown_by(seen: Seen, more_than: float) -> tuple[float, bool | None]:
    """Return what a trial shows, in the form that places the next one."""
    lost = seen.lost_more_than(more_than)
    return (seen.keeps_up_from if lost else math.log(seen.interval_ns)), lost
