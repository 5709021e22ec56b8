"""Decide between two sides by their trials, at any stopping time, with a bounded chance of a wrong verdict.

Model. A trial is one positive value, a cost. Logarithms are compared, so sides differ by a ratio, and each side has its
own variance (Welch, "The generalization of Student's problem", Biometrika 34, 1947).

Looks. Intervals are made at the sample sizes `LOOKS` only, at levels that together miss the truth in 5%, however many
looks there are and whatever made one stop: repeated confidence intervals (Jennison and Turnbull, "Interim analyses: the
repeated confidence interval approach", JRSS B 51, 1989) with the boundaries of Wang and Tsiatis ("Approximately optimal
one-parameter boundaries for group sequential trials", Biometrics 43, 1987), which widen with n and need no last look.
Trials after the latest look wait for the next one. A plan whose number of trials is fixed beforehand has one look, at
its end, whose interval misses in 5% (`Rule.planned`).

Verdicts. Equivalent: the interval lies within the equivalence margin. Cheaper: it lies on one side of 1. Else open.

Many comparisons. Decided together, each has the level R q / m, with R decided of m: of all that is decided, at most the
share q is false in expectation (false coverage rate: Benjamini and Yekutieli, JASA 100, 2005; self-consistency:
Blanchard and Roquain, EJS 2, 2008).
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy

from allocpool.stats import Interval, ends, plural, significant

Array = npt.NDArray[np.float64]
Costs = Sequence[float] | pd.Series
"""The trials of one side: in order of time, or a series by block."""
_Decided = TypeVar("_Decided", bound=Any)
"""Has a ``verdict``."""

CONFIDENCE = 0.95
ALPHA = 0.05
EFFECT = 1.10
"""The usual equivalence margin."""
FEWEST = 5
"""Trials a side below which nothing is decided."""
A_CHEAPER, B_CHEAPER, EQUIVALENT, OPEN = "a_cheaper", "b_cheaper", "equivalent", "open"


@dataclass(frozen=True)
class Rule:
    """What comparisons that are given no rule of their own are judged by: that of their campaign.

    Attributes:
        effect: the equivalence margin, a ratio above 1.
        planned: trials a side of a fixed plan, whose end is the only look; None: there is a look at each of `LOOKS`.
    """

    effect: float = EFFECT
    planned: int | None = None

    def only_look(self, n: int) -> bool:
        """Return whether ``n`` trials a side are those of a fixed plan."""
        return self.planned is not None and n >= max(self.planned, FEWEST)


_in_force = [Rule()]


def effect_that_matters() -> float:
    """Return the equivalence margin in force, a ratio above 1."""
    return _in_force[-1].effect


def judge_by(rule: Rule) -> None:
    """Set the rule of comparisons that are given none: a page uses that of its campaign."""
    _in_force[-1] = rule


@contextmanager
def judged_by(rule: Rule) -> Iterator[None]:
    """Set it within a block."""
    _in_force.append(rule)
    try:
        yield
    finally:
        _in_force.pop()


_STEP = 1.25
_WIDENING = 0.1
"""Delta - 1/2 of Wang and Tsiatis: 0 is Pocock's boundary, which needs a last look; above 0 any number is covered."""
_MOST = 2_000


def _sizes_to(most: int) -> tuple[int, ...]:
    """Return sizes up to the first one that is ``most`` or more."""
    found = [FEWEST]
    while found[-1] < most:
        found.append(max(found[-1] + 1, round(found[-1] * _STEP)))
    return tuple(found)


LOOKS = _sizes_to(_MOST)
"""Trials of each side at which there is a look: 5, 6, 8, 10, 12, 15 and so on by a quarter. Looks go on beyond the last
of these; boundaries are so wide there that together they add less than a thousandth of `ALPHA`."""


def _boundary(first: float, n: int) -> float:
    """Return the standard deviations that a look at ``n`` trials allows, where the first look allows ``first``."""
    return float(first * (n / FEWEST) ** _WIDENING)


@functools.cache
def _crossing(first: float) -> float:
    """Return the chance that a Brownian motion crosses the boundary at any look, by numerical integration from look to
    look (Armitage, McPherson and Rowe, "Repeated significance tests on accumulating data", JRSS A 132, 1969)."""
    points = 241
    grid = np.linspace(-1.0, 1.0, points)
    weights = np.full(points, 2.0 / (points - 1))
    weights[[0, -1]] /= 2
    edge = _boundary(first, LOOKS[0]) * math.sqrt(LOOKS[0])
    sums = grid * edge
    density = np.exp(-(sums**2) / (2 * LOOKS[0])) / math.sqrt(2 * math.pi * LOOKS[0])
    for before, now in itertools.pairwise(LOOKS):
        variance = now - before
        next_edge = _boundary(first, now) * math.sqrt(now)
        next_sums = grid * next_edge
        kernel = np.exp(-((next_sums[:, None] - sums[None, :]) ** 2) / (2 * variance))
        density = kernel @ (density * weights * edge) / math.sqrt(2 * math.pi * variance)
        sums, edge = next_sums, next_edge
    return 1.0 - float(np.sum(density * weights) * edge)


@functools.cache
def _boundaries() -> tuple[Array, Array]:
    """Return first boundaries, and the logarithm of the chance of ever crossing them, rising."""
    firsts = np.arange(6.0, 1.5, -0.125)
    return firsts, np.log([_crossing(float(first)) for first in firsts])


@functools.lru_cache(maxsize=4096)
def nominal_level(alpha: float, n: int) -> float:
    """Return the level of the interval at a look at ``n`` trials, so that all looks together miss in ``alpha``."""
    firsts, chances = _boundaries()
    first = float(np.interp(math.log(alpha), chances, firsts))
    if math.log(alpha) < chances[0]:  # beyond the table: the first look's share of it, a union bound
        first = float(-scipy.special.ndtri(alpha / (4 * len(LOOKS))))
    return float(2.0 * scipy.special.ndtr(-_boundary(first, n)))


def look_at(n: int) -> int | None:
    """Return the latest look that ``n`` trials a side have reached; None before the first."""
    reached = [size for size in (LOOKS if n < LOOKS[-1] else _sizes_to(n)) if size <= n]
    return reached[-1] if reached else None


def repeated_p(nominal: float, n: int) -> float:
    """Return the one-sided p value over all looks of a look at ``n`` trials whose own is ``nominal``: at most
    ``alpha / 2`` just where the repeated interval of level ``1 - alpha`` excludes."""
    return float(_repeated(np.asarray(nominal), n))


def _repeated(nominal: Array, n: int) -> Array:
    firsts, chances = _boundaries()
    first = -np.asarray(scipy.special.ndtri(nominal)) / _boundary(1.0, n)
    inside = np.exp(np.interp(first, firsts[::-1], chances[::-1])) / 2
    beyond = np.minimum(1.0, 2 * len(LOOKS) * scipy.special.ndtr(-first))
    below = np.maximum(0.5, nominal)  # below the table: nothing is ever decided there
    return np.where(first > firsts[0], beyond, np.where(first < firsts[-1], below, inside))


def _contrast(tops: Sequence[Array], bottoms: Sequence[Array]) -> tuple[Array, Array, Array]:
    """Return the sum of the means of ``tops`` less that of ``bottoms``, its standard error and degrees of freedom.

    Trials are along the last axis, two at least. Source: Welch 1947 with Satterthwaite's degrees of freedom ("An
    approximate distribution of estimates of variance components", Biometrics Bulletin 2, 1946).
    """
    sides = [*tops, *bottoms]
    spreads = [side.var(axis=-1, ddof=1) / side.shape[-1] for side in sides]
    total = np.asarray(sum(spreads))
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = [spread**2 / (side.shape[-1] - 1) for spread, side in zip(spreads, sides, strict=True)]
        freedom = np.asarray(total**2 / sum(shares))
    freedom = np.where(np.isfinite(freedom), freedom, min(side.shape[-1] for side in sides) - 1.0)
    middle = sum(side.mean(axis=-1) for side in tops) - sum(side.mean(axis=-1) for side in bottoms)
    return np.asarray(middle), np.sqrt(total), freedom


def welch(a: Array, b: Array, alpha: float | Array) -> tuple[Array, Array]:
    """Return the difference of means and the half width of its interval; trials along the last axis."""
    middle, error, freedom = _contrast([a], [b])
    return middle, -scipy.special.stdtrit(freedom, np.asarray(alpha) / 2) * error


def early_interval(a: Array, b: Array, alpha: float) -> tuple[Array, Array]:
    """Return the same for two to four trials a side, with the degrees of freedom of the smaller side: Satterthwaite's
    are too many where two trials happen to be close. It assumes lognormal noise."""
    error = np.sqrt(a.var(axis=-1, ddof=1) / a.shape[-1] + b.var(axis=-1, ddof=1) / b.shape[-1])
    freedom = min(a.shape[-1], b.shape[-1]) - 1
    return a.mean(axis=-1) - b.mean(axis=-1), -scipy.special.stdtrit(freedom, alpha / 2) * error


def repeated_interval(a: Array, b: Array, alpha: float) -> tuple[Array, Array]:
    """Return the ends of the interval at the latest look; logarithms along the last axis, in order of time, `FEWEST` at
    least on each side. With those of all other looks it misses the truth in ``alpha``."""
    n = look_at(min(a.shape[-1], b.shape[-1])) or FEWEST
    middle, half = welch(a[..., :n], b[..., :n], nominal_level(alpha, n))
    return middle - half, middle + half


@dataclass(frozen=True)
class Decision:
    """The ratio a / b.

    Attributes:
        ratio: of the geometric means of the trials that the interval uses, below `FEWEST` a side of all; NaN where a
            side has none.
        low, high: its interval, at any look; below `FEWEST` trials a side `early_interval`, which decides nothing; NaN
            where a side has fewer than two.
        n: trials of the smaller side.
        used: trials of each side that the interval uses: those of the latest look, or of a fixed plan.
        verdict: ``a_cheaper``, ``b_cheaper``, ``equivalent`` or ``open``.
        blocks_needed: blocks of one trial a side until it is decided, at this spread; 0 when it is; None when 2,000, or
            four times as many as there are, are too few.
        level: share of such intervals that may miss: lower where many comparisons are decided together.
        trimmed_ratio: the ratio of means without the largest and the smallest fifth of each side; NaN as ``ratio``.
        remark: what an average would hide, two speeds or trials far off; else empty.
    """

    ratio: float
    low: float
    high: float
    n: int
    used: int
    verdict: str
    blocks_needed: int | None
    level: float
    trimmed_ratio: float
    remark: str


def decide(a: Costs, b: Costs, effect: float | None = None, alpha: float = ALPHA) -> Decision:
    """Decide one comparison by the costs of its trials.

    ``effect``: the equivalence margin, above 1; `effect_that_matters` where it is left out. ``alpha``: the chance of a
    wrong verdict, at any stopping time. Raises ValueError where a cost is not positive.
    """
    return compare(a, b, effect, alpha).decision


def _remark(named: Iterable[tuple[str, Array]]) -> str:
    return "; ".join(f"{name}: {what}" for name, side in named if (what := shape_of(side)))


@dataclass(frozen=True)
class Comparison:
    """A decision on a ratio of costs, or of products of costs, with p values for any other ratio.

    Attributes:
        middle, error, freedom: of the logarithm of the ratio at the latest look; NaN before the first.
        effect: the equivalence margin.
        only_look: whether there is no other look.
    """

    decision: Decision
    middle: float
    error: float
    freedom: float
    effect: float
    only_look: bool = False

    @property
    def verdict(self) -> str:
        """``a_cheaper``, ``b_cheaper``, ``equivalent`` or ``open``."""
        return self.decision.verdict

    @property
    def ratio(self) -> Interval | None:
        """The ratio with its interval; None where a side has no figure."""
        found = self.decision
        if found.n == 0:
            return None
        if math.isnan(found.low):
            return Interval(found.ratio, found.ratio, found.ratio, 1, "one trial")
        return Interval(found.ratio, found.low, found.high, found.n, "Student")

    @property
    def direction(self) -> int:
        """+1: the numerator is larger; -1: it is smaller; 0: neither is shown."""
        return {B_CHEAPER: 1, A_CHEAPER: -1}.get(self.decision.verdict, 0)

    @property
    def equivalent(self) -> bool:
        """Whether the ratio is shown to lie within the equivalence margin."""
        return self.decision.verdict == EQUIVALENT

    def p_above(self, ratio: float = 1.0) -> float:
        """Return the one-sided p value, at any look, of a ratio above ``ratio``; 1 below `FEWEST` trials a side."""
        return self._p(self.middle - math.log(ratio))

    def p_below(self, ratio: float = 1.0) -> float:
        """Return the same of a ratio below ``ratio``."""
        return self._p(math.log(ratio) - self.middle)

    @property
    def p_equal(self) -> float:
        """The p value of equivalence (Schuirmann, "A comparison of the two one-sided tests procedure", J.
        Pharmacokinetics and Biopharmaceutics 15, 1987)."""
        return max(self.p_above(1 / self.effect), self.p_below(self.effect))

    @property
    def p_unequal(self) -> float:
        """The p value of a ratio outside the equivalence margin, on either side."""
        return min(1.0, 2 * min(self.p_above(self.effect), self.p_below(1 / self.effect)))

    def _p(self, distance: float) -> float:
        if math.isnan(distance):
            return 1.0
        apart, error, freedom = (np.asarray(value) for value in (distance, self.error, self.freedom))
        return float(_p_of(apart, error, freedom, self.decision.used, self.only_look))

    def text(self) -> str:
        """Return the ratio in words: ``3.1 times (2.9 to 3.4)``, ``no difference that matters (1.02, 0.97 to 1.08)``,
        ``inconclusive (1.2, 0.9 to 1.6; about 3 more trials)``."""
        found, ratio = self.decision, self.ratio
        if ratio is None:
            return "not measured"
        if self.direction:
            return ratio.text(3, "times")
        spread = "one trial" if ratio.method == "one trial" else ends(found.low, found.high)
        figures = f"{significant(found.ratio)}, {spread}"
        if self.equivalent:
            return f"no difference that matters ({figures})"
        more = "too noisy" if found.blocks_needed is None else f"about {plural(found.blocks_needed, 'more trial')}"
        return f"inconclusive ({figures}; {more})"


def compare(numerator: Costs, denominator: Costs, effect: float | None = None, alpha: float = ALPHA) -> Comparison:
    """Compare two sides, as `decide`; NaN are left out, a series by block is taken in the order of its blocks."""
    return compare_products([numerator], [denominator], effect, alpha)


def compare_with(values: Costs, constant: float, effect: float | None = None, alpha: float = ALPHA) -> Comparison:
    """Compare one side with a constant above 0 (Student's t of one sample)."""
    return _of_logs([_logs(values) - math.log(constant)], [], effect, alpha)


def compare_products(
    numerators: Sequence[Costs], denominators: Sequence[Costs], effect: float | None = None, alpha: float = ALPHA
) -> Comparison:
    """Compare products of sides: of the ratio a / b over the ratio c / d, a and d are the numerators."""
    tops, bottoms = ([_logs(side) for side in sides] for sides in (numerators, denominators))
    return _of_logs(tops, bottoms, effect, alpha)


def _of_logs(tops: Sequence[Array], bottoms: Sequence[Array], effect: float | None, alpha: float) -> Comparison:
    effect, n = effect or effect_that_matters(), min(side.size for side in (*tops, *bottoms))
    if n == 0:
        nothing = Decision(math.nan, math.nan, math.nan, 0, 0, OPEN, FEWEST, alpha, math.nan, "")
        return Comparison(nothing, math.nan, math.nan, math.nan, effect)
    trimmed = _as_ratio(sum(map(trimmed_mean, tops)) - sum(map(trimmed_mean, bottoms)))
    remark = _remark([*(("a", side) for side in tops), *(("b", side) for side in bottoms)])
    only_look = _in_force[-1].only_look(n)
    used = n if only_look else look_at(n)
    if used is None:
        middle = float(sum(side.mean() for side in tops) - sum(side.mean() for side in bottoms))
        half = math.nan
        if n > 1:
            alpha = max(alpha, ALPHA)  # it decides nothing, so there is nothing to adjust for
            half = -float(scipy.special.stdtrit(n - 1, alpha / 2) * _contrast(tops, bottoms)[1])
        ratio, low, high = (_as_ratio(middle + part) for part in (0.0, -half, half))
        early = Decision(ratio, low, high, n, n, OPEN, FEWEST - n, alpha, trimmed, remark)
        return Comparison(early, math.nan, math.nan, math.nan, effect)
    sides = ([side[:used] for side in which] for which in (tops, bottoms))
    middle, error, freedom = (float(part) for part in _contrast(*sides))
    level = alpha if only_look else nominal_level(alpha, used)
    half = -float(scipy.special.stdtrit(freedom, level / 2)) * error
    verdict = _verdict(middle - half, middle + half, math.log(effect))
    needed = 0 if verdict != OPEN else _blocks_needed(tops, bottoms, math.log(effect), alpha)
    ratio, low, high = (_as_ratio(middle + part) for part in (0.0, -half, half))
    decision = Decision(ratio, low, high, n, used, verdict, needed, alpha, trimmed, remark)
    return Comparison(decision, middle, error, freedom, effect, only_look=only_look)


@dataclass(frozen=True)
class _Means(Comparison):
    """A ratio of means that may be zero or negative: ``top`` less so many times ``bottom`` is tested, and a ratio other
    than 1 counts only where the difference itself points there."""

    top: Array = field(kw_only=True)
    bottom: Array = field(kw_only=True)

    def p_above(self, ratio: float = 1.0) -> float:
        return self._chance(ratio, 1)

    def p_below(self, ratio: float = 1.0) -> float:
        return self._chance(ratio, -1)

    def _chance(self, ratio: float, side: int) -> float:
        used = self.decision.used
        if used < FEWEST:
            return 1.0
        asked = (1.0, ratio) if side * (ratio - 1) > 0 else (ratio,)
        contrasts = [_contrast([self.top], [factor * self.bottom]) for factor in asked]
        return max(
            float(_p_of(side * middle, error, freedom, used, self.only_look)) for middle, error, freedom in contrasts
        )


def compare_means(
    numerator: pd.Series, denominator: pd.Series, effect: float | None = None, alpha: float = ALPHA
) -> Comparison:
    """Compare figures that may be zero or negative, as slopes may: the ratio of arithmetic means.

    Its interval is Fieller's ("Some problems in interval estimation", JRSS B 16, 1954), unbounded where the denominator
    is not shown to differ from zero; the ratio is NaN where the denominator is not above zero.
    """
    top, bottom = (side.dropna().sort_index(kind="stable").to_numpy(np.float64) for side in (numerator, denominator))
    n, effect = min(top.size, bottom.size), effect or effect_that_matters()
    if n == 0:
        return _of_logs([np.empty(0)], [], effect, alpha)
    only_look = _in_force[-1].only_look(n)
    used = n if only_look else look_at(n) or n
    ratio, trimmed = _quotient(top.mean(), bottom.mean()), _quotient(trimmed_mean(top), trimmed_mean(bottom))
    remark = _remark((name, np.log(side)) for name, side in (("a", top), ("b", bottom)) if (side > 0).all())
    found = Decision(ratio, math.nan, math.nan, n, used, OPEN, FEWEST - n, alpha, trimmed, remark)
    if n == 1:
        return _Means(found, math.nan, math.nan, math.nan, effect, top=top, bottom=bottom)
    top, bottom = top[:used], bottom[:used]
    middle, error, freedom = (float(part) for part in _contrast([top], [bottom]))
    early = used < FEWEST
    level = alpha if early or only_look else nominal_level(alpha, used)
    freedom_of_reach = n - 1 if early else freedom
    reach = -float(scipy.special.stdtrit(freedom_of_reach, level / 2))
    low, high = _fieller(top, bottom, reach)
    found = replace(found, low=low, high=high)
    if not early:
        verdict = (
            EQUIVALENT if 1 / effect < low and high < effect
            else _verdict(middle - reach * error, middle + reach * error, 0.0)
        )  # fmt: skip
        margin = abs(float(bottom.mean())) * (effect - 1)
        needed = 0 if verdict != OPEN else _blocks_needed([top], [bottom], margin, alpha)
        found = replace(found, verdict=verdict, blocks_needed=needed)
    return _Means(found, middle, error, freedom, effect, only_look=only_look, top=top, bottom=bottom)


def _quotient(top: float, bottom: float) -> float:
    return float(top / bottom) if bottom > 0 else math.nan


def _fieller(top: Array, bottom: Array, reach: float) -> tuple[float, float]:
    """Return the ends of the interval of the ratio of two means, ``reach`` standard errors wide."""
    a, b = float(top.mean()), float(bottom.mean())
    var_a, var_b = (reach**2 * float(side.var(ddof=1)) / side.size for side in (top, bottom))
    known = b**2 - var_b
    if known <= 0 or b <= 0:
        return -math.inf, math.inf
    half = math.sqrt(max(0.0, a**2 * var_b + var_a * known))
    return (a * b - half) / known, (a * b + half) / known


def p_cheapest(costs: Mapping[str, Costs], rivals: Mapping[str, Costs], ratio: float = 1.0) -> float:
    """Return the p value that one of ``costs``, times ``ratio``, is below all ``rivals``.

    The same trials choose the one and judge it: each is compared with all rivals (intersection-union: Berger,
    "Multiparameter hypothesis testing and acceptance sampling", Technometrics 24, 1982), and the best is adjusted for
    the number of choices (Bonferroni).
    """
    against = [_logs(rival) for rival in rivals.values()]
    chances = [
        max((float(p_above(rival, cost, ratio)) for rival in against), default=1.0)
        for cost in map(_logs, costs.values())
    ]
    return min(1.0, len(chances) * min(chances)) if chances else 1.0


def p_above(top: Array, bottom: Array, ratio: float = 1.0) -> Array:
    """Return `Comparison.p_above` of many comparisons at once: logarithms along the last axis, in order of time."""
    n = min(top.shape[-1], bottom.shape[-1])
    only_look = _in_force[-1].only_look(n)
    used = n if only_look else look_at(n)
    if used is None:
        return np.ones(np.broadcast_shapes(top.shape[:-1], bottom.shape[:-1]))
    middle, error, freedom = _contrast([top[..., :used]], [bottom[..., :used]])
    return _p_of(middle - math.log(ratio), error, freedom, used, only_look)


def _p_of(distance: Array, error: Array, freedom: Array, used: int, only_look: bool) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        nominal = scipy.special.stdtr(freedom, -distance / error)
    p = nominal if only_look else _repeated(nominal, used)
    return np.where(error > 0, p, np.where(distance > 0, 0.0, 1.0))


def decide_together(
    comparisons: Sequence[tuple[Costs, Costs]], effect: float | None = None, alpha: float = ALPHA
) -> list[Decision]:
    """Decide several comparisons so that at most the share ``alpha`` of what is decided is false in expectation."""
    return [comparison.decision for comparison in compare_together(comparisons, effect, alpha)]


def compare_together(
    comparisons: Sequence[tuple[Costs, Costs]], effect: float | None = None, alpha: float = ALPHA
) -> list[Comparison]:
    """Compare each at the level at which all are decided together."""
    return together([functools.partial(compare, a, b, effect) for a, b in comparisons], alpha)


def together(comparisons: Sequence[Callable[[float], _Decided]], alpha: float = ALPHA) -> list[_Decided]:
    """Make comparisons of any kind, each a function of its level, at the level at which all are decided together."""
    decided = len(comparisons)
    while True:
        level = alpha * max(decided, 1) / max(len(comparisons), 1)
        compared = [compare_at(level) for compare_at in comparisons]
        still = sum(comparison.verdict != OPEN for comparison in compared)
        if still >= decided or decided <= 1:
            return compared
        decided = still


@dataclass(frozen=True)
class Combined:
    """One comparison combined over hosts.

    Attributes:
        ratio: the geometric mean over hosts of a / b; NaN without any.
        low, high: the interval of the mean over such hosts; NaN of one host.
        hosts: those with an interval.
        spread: standard deviation between hosts beyond their own noise, as a ratio: 1 where none is seen.
        next_low, next_high: the interval of one more such host; NaN of fewer than three.
        verdict: as of a `Decision`, of the mean over hosts.
    """

    ratio: float
    low: float
    high: float
    hosts: int
    spread: float
    next_low: float
    next_high: float
    verdict: str


def combine(within: Sequence[Decision], effect: float | None = None, alpha: float = ALPHA) -> Combined:
    """Combine the decisions of one comparison, a host each, as random effects.

    Hosts are the sample, and each counts the same, however sure it is of itself: the interval is Student's of their
    logarithms, which misses in at most 5% whatever variance each of them has (Bakirov and Szekely, "Student's t-test
    for Gaussian scale mixtures", J. Mathematical Sciences 139, 2006; Ibragimov and Mueller, "t-statistic based
    correlation and heterogeneity robust inference", J. Business and Economic Statistics 28, 2010). Weights that are
    estimated with the spread between hosts promise too much where errors differ much: Hartung and Knapp's interval of
    such a mean does, as modified too (Roever, Knapp and Friede, BMC Medical Research Methodology 15:99, 2015). The
    price: a host that is very unsure widens it for all. It is never narrower than the hosts' own noise asks for.

    The spread is Paule and Mandel's ("Consensus values and weighting factors", J. Research of the NBS 87, 1982), the
    interval of one more host Higgins, Thompson and Spiegelhalter's (JRSS A 172, 2009).
    """
    known = [each for each in within if 0 < each.low <= each.high < math.inf]
    if not known:
        ratio = math.exp(np.mean([math.log(each.ratio) for each in within])) if _all_told(within) else math.nan
        return Combined(ratio, math.nan, math.nan, 0, 1.0, math.nan, math.nan, OPEN)
    middles = np.log([each.ratio for each in known])
    low, high = np.log([each.low for each in known]), np.log([each.high for each in known])
    reach = -np.asarray(scipy.special.ndtri(np.array([each.level for each in known]) / 2))
    variances = np.maximum(np.maximum(high - middles, middles - low) / reach, 1e-9) ** 2
    between = _between(middles, variances)
    middle, k = float(middles.mean()), len(known)
    if k == 1:
        return Combined(math.exp(middle), math.nan, math.nan, 1, 1.0, math.nan, math.nan, OPEN)
    error = math.sqrt(max(float(middles.var(ddof=1)), float(variances.mean())) / k)
    half = -float(scipy.special.stdtrit(k - 1, alpha / 2)) * error
    scatter_of_mean = math.hypot(error, math.sqrt(between))
    more = -float(scipy.special.stdtrit(k - 2, alpha / 2)) * scatter_of_mean if k > 2 else math.nan
    ratio, *ends_ = (_as_ratio(middle + part) for part in (0.0, -half, half, -more, more))
    verdict = _verdict(middle - half, middle + half, math.log(effect or effect_that_matters()))
    return Combined(ratio, ends_[0], ends_[1], k, math.exp(math.sqrt(between)), ends_[2], ends_[3], verdict)


_FARTHEST = 700.0
"""A ratio whose logarithm lies beyond is no number of a machine; the interval of two hosts that differ much, at the
level of many comparisons, reaches further."""


def _as_ratio(log: float) -> float:
    return math.exp(min(max(log, -_FARTHEST), _FARTHEST))


def _all_told(within: Sequence[Decision]) -> bool:
    return bool(within) and all(each.ratio > 0 for each in within)


def _between(middles: Array, variances: Array) -> float:
    """The variance between hosts with which the weighted squares sum up to their degrees of freedom; 0 where less than
    that is seen. They fall as it rises, so it is bisected for."""

    def excess(between: float) -> float:
        weights = 1 / (variances + between)
        return float(weights @ (middles - np.average(middles, weights=weights)) ** 2) - (middles.size - 1)

    if middles.size < 2 or excess(0.0) <= 0:
        return 0.0
    high = float(np.ptp(middles)) ** 2 * middles.size + float(variances.max())
    return float(scipy.optimize.brentq(excess, 0.0, high))


def _verdict(low: float, high: float, margin: float) -> str:
    if -margin < low and high < margin:
        return EQUIVALENT
    if high < 0:
        return A_CHEAPER
    return B_CHEAPER if low > 0 else OPEN


def _blocks_needed(tops: Sequence[Array], bottoms: Sequence[Array], margin: float, alpha: float) -> int | None:
    """Blocks until an interval at a later look is narrow enough for the middle and the variances seen so far."""
    n = min(side.size for side in (*tops, *bottoms))
    middle = abs(float(sum(side.mean() for side in tops) - sum(side.mean() for side in bottoms)))
    variance = float(sum(side.var(ddof=1) for side in (*tops, *bottoms)))
    room = max(middle, margin - middle)
    sizes = LOOKS if n < LOOKS[-1] else _sizes_to(4 * n)
    narrow = _half_widths(alpha, sizes) * np.sqrt(variance / np.array(sizes)) < room
    enough = np.array(sizes)[narrow & (np.array(sizes) > n)]
    return int(enough[0]) - n if enough.size else None


@functools.lru_cache(maxsize=256)
def _half_widths(alpha: float, sizes: tuple[int, ...] = LOOKS) -> Array:
    """Standard errors that the interval of each look reaches to either side, with one and a half sides' freedom."""
    levels = np.array([nominal_level(alpha, size) for size in sizes])
    return -np.asarray(scipy.special.stdtrit(np.maximum(1.0, 1.5 * (np.array(sizes) - 1)), levels / 2))


def _logs(values: Costs) -> Array:
    array = np.asarray(values, dtype=np.float64)
    if isinstance(values, pd.Series):
        array = array[np.argsort(values.index.to_numpy(), kind="stable")]
    array = array[~np.isnan(array)]
    if not (array > 0).all() or not np.isfinite(array).all():
        raise ValueError("costs must be positive and finite: their logarithms are compared")
    return np.log(array)


def trimmed_mean(logs: Array, share: float = 0.2) -> float:
    """The mean without the largest and the smallest ``share`` (Tukey and McLaughlin, Sankhya A 25, 1963)."""
    cut = math.floor(share * logs.size)
    return float(np.sort(logs)[cut : logs.size - cut].mean())


_SPEEDS_APART = math.log(1.25)
_FAR = 3.0


def split_of_speeds(logs: Array) -> int | None:
    """How many of these logarithms, sorted, are of the faster of two speeds; None where they have one.

    Two speeds: they fall apart into two groups of two trials or more, at least a ratio of 1.25 and three times either
    group's own width apart.
    """
    ordered = np.sort(logs)
    if ordered.size < FEWEST:
        return None
    gaps = np.diff(ordered)
    split = int(np.argmax(gaps)) + 1
    widths = (float(np.ptp(ordered[:split])), float(np.ptp(ordered[split:])))
    apart = gaps[split - 1] > max(_SPEEDS_APART, _FAR * max(widths) / 2)
    return split if apart and 2 <= split <= ordered.size - 2 else None


def shape_of(logs: Array) -> str:
    """What an average of these logarithms would hide, in words; empty when nothing is seen.

    Two speeds: see `split_of_speeds`. Far off: beyond three interquartile ranges of the quartiles (Tukey, *Exploratory
    Data Analysis*, 1977), and 1.25 from the median.
    """
    ordered = np.sort(logs)
    if ordered.size >= FEWEST and ordered[-1] - ordered[0] > _SPEEDS_APART:
        if (split := split_of_speeds(ordered)) is not None:
            slow, fast = math.exp(ordered[split:].mean()), math.exp(ordered[:split].mean())
            sizes = f"{significant(fast)} in {split} and {significant(slow)} in {ordered.size - split}"
            return f"two speeds, {sizes} trials"
        first, median, third = np.quantile(ordered, [0.25, 0.5, 0.75])
        reach = max(_FAR * (third - first), 1e-12)
        far = (ordered < first - reach) | (ordered > third + reach)
        far &= np.abs(ordered - median) > _SPEEDS_APART
        if count := int(far.sum()):
            return f"{count} of {ordered.size} trials far off"
    return ""
