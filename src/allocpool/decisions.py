"""Decide between two sides by their trials: at any time, as often as one likes, and never wrong more often than stated.

Model. A trial is one value of its side, a cost; its logarithm is taken, so sides differ by a ratio. Each comparison has
its own two variances (Welch, "The generalization of Student's problem", Biometrika 34, 1947): noise differs too much
between cells for one that all of them share.

Looks. Whoever looks again and again, and stops when he likes what he sees, is wrong more often than one interval
says. So intervals are made at the sizes `LOOKS` only, at levels that together miss the truth in 5%, however many looks
there are and whatever made one stop: repeated confidence intervals (Jennison and Turnbull, "Interim analyses: the
repeated confidence interval approach", JRSS B 51, 1989) with the boundaries of Wang and Tsiatis ("Approximately optimal
one-parameter boundaries for group sequential trials", Biometrics 43, 1987), which widen with n and need no last look.
Trials after the latest look wait for the next one.

Verdicts. Cheaper: the interval lies on one side of 1. Equivalent: it lies within what does not matter, ``effect``
either way; this goes first, since a difference that is sure and too small to matter is of no use. Else open.

Many comparisons. Where several are decided together, each has its level lowered until what is decided is decided at the
level R q / m, with R decided of m: of all that is decided, at most the share q is false in expectation (false coverage
rate: Benjamini and Yekutieli, JASA 100, 2005; self-consistency: Blanchard and Roquain, EJS 2, 2008).
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy import special

Array = npt.NDArray[np.float64]

CONFIDENCE = 0.95
ALPHA = 0.05
EFFECT = 1.10
"""A ratio that matters, unless who asks says otherwise."""
FEWEST = 5
"""Trials a side below which nothing is decided."""
A_CHEAPER, B_CHEAPER, EQUIVALENT, OPEN = "a_cheaper", "b_cheaper", "equivalent", "open"

_STEP = 1.25
_WIDENING = 0.1
"""Delta - 1/2 of Wang and Tsiatis: 0 is Pocock's boundary, which suits decisions by few trials but ends; above 0 any
number of looks is paid for."""
_MOST = 2_000


def _looks() -> tuple[int, ...]:
    sizes = [FEWEST]
    while sizes[-1] < _MOST:
        sizes.append(max(sizes[-1] + 1, round(sizes[-1] * _STEP)))
    return tuple(sizes)


LOOKS = _looks()
"""Trials of each side at which there is a look: 5, 6, 8, 10, 12, 15 and so on by a quarter."""


def _boundary(first: float, n: int) -> float:
    """Standard deviations that a look at ``n`` trials allows, where the first one allows ``first``."""
    return float(first * (n / FEWEST) ** _WIDENING)


@functools.cache
def _crossing(first: float) -> float:
    """The chance that a Brownian motion crosses the boundary at any look.

    Its density inside the boundaries is carried from look to look by numerical integration. Source: Armitage,
    McPherson and Rowe, "Repeated significance tests on accumulating data", JRSS A 132, 1969.
    """
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
    """First boundaries, and the logarithm of the chance that anything is ever crossed with them, rising."""
    firsts = np.arange(6.0, 1.5, -0.125)
    return firsts, np.log([_crossing(float(first)) for first in firsts])


@functools.lru_cache(maxsize=4096)
def nominal_level(alpha: float, n: int) -> float:
    """The level of the interval at a look at ``n`` trials, of which all looks together miss in ``alpha`` (0 to 1)."""
    firsts, chances = _boundaries()
    first = float(np.interp(math.log(alpha), chances, firsts))
    if math.log(alpha) < chances[0]:  # beyond the table: the first look's share of it, a union bound
        first = float(-special.ndtri(alpha / (4 * len(LOOKS))))
    return float(2.0 * special.ndtr(-_boundary(first, n)))


def look_at(n: int) -> int | None:
    """The latest look that ``n`` trials a side have reached; None before the first."""
    reached = [size for size in LOOKS if size <= n]
    return reached[-1] if reached else None


def welch(a: Array, b: Array, alpha: float | Array) -> tuple[Array, Array]:
    """Difference of means and half width of its interval at ``1 - alpha``; trials along the last axis, two at least.

    Source: Welch 1947 with Satterthwaite's degrees of freedom.
    """
    spread_a = a.var(axis=-1, ddof=1) / a.shape[-1]
    spread_b = b.var(axis=-1, ddof=1) / b.shape[-1]
    total = spread_a + spread_b
    with np.errstate(divide="ignore", invalid="ignore"):
        freedom = total**2 / (spread_a**2 / (a.shape[-1] - 1) + spread_b**2 / (b.shape[-1] - 1))
    freedom = np.where(np.isfinite(freedom), freedom, min(a.shape[-1], b.shape[-1]) - 1.0)
    return a.mean(axis=-1) - b.mean(axis=-1), -special.stdtrit(freedom, np.asarray(alpha) / 2) * np.sqrt(total)


def early_interval(a: Array, b: Array, alpha: float) -> tuple[Array, Array]:
    """As `welch`, for two to four trials a side, with the degrees of freedom of the smaller side: Satterthwaite's are
    too many where two trials happen to be close. It holds for lognormal noise; of two speeds so few may see one."""
    error = np.sqrt(a.var(axis=-1, ddof=1) / a.shape[-1] + b.var(axis=-1, ddof=1) / b.shape[-1])
    freedom = min(a.shape[-1], b.shape[-1]) - 1
    return a.mean(axis=-1) - b.mean(axis=-1), -special.stdtrit(freedom, alpha / 2) * error


def repeated_interval(a: Array, b: Array, alpha: float) -> tuple[Array, Array]:
    """Ends of the interval at the latest look; logarithms along the last axis, in order of time, `FEWEST` at least on
    each side. With those of all other looks it misses the truth in ``alpha``."""
    n = look_at(min(a.shape[-1], b.shape[-1])) or FEWEST
    middle, half = welch(a[..., :n], b[..., :n], nominal_level(alpha, n))
    return middle - half, middle + half


@dataclass(frozen=True)
class Decision:
    """What trials say of the ratio a / b.

    Attributes:
        ratio: of the geometric means of all trials; NaN where a side has none.
        low, high: where the ratio lies, whenever one looks; below `FEWEST` trials a side see `early_interval`, from
            which nothing is decided; NaN where a side has fewer than two.
        n: trials of the smaller side.
        used: trials of each side that the interval is made of: those of the latest look.
        verdict: ``a_cheaper``, ``b_cheaper``, ``equivalent`` or ``open``.
        blocks_needed: blocks of one trial a side until it is decided, if trials go on as they are; 0 when it is; None
            when 2,000 would not do.
        level: share of such intervals that may miss: lower where many comparisons are decided together.
        trimmed_ratio: the ratio of means without the largest and the smallest fifth of each side; NaN as ``ratio``.
        remark: what an average would hide: two speeds, trials far off; empty when there is nothing.
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


def decide(a: Sequence[float], b: Sequence[float], effect: float = EFFECT, alpha: float = ALPHA) -> Decision:
    """Decide one comparison by the costs of its trials, in order of time.

    ``effect`` above 1 is the smallest ratio that matters; ``alpha`` the chance of a wrong verdict, at any stopping
    time. Raises ValueError where a cost is not positive.
    """
    logs_a, logs_b = _logs(a), _logs(b)
    n = min(logs_a.size, logs_b.size)
    if n == 0:
        return Decision(math.nan, math.nan, math.nan, 0, 0, OPEN, FEWEST, alpha, math.nan, "")
    ratio = math.exp(logs_a.mean() - logs_b.mean())
    trimmed = math.exp(trimmed_mean(logs_a) - trimmed_mean(logs_b))
    remark = "; ".join(f"{name}: {what}" for name, side in (("a", logs_a), ("b", logs_b)) if (what := shape_of(side)))
    used = look_at(n)
    if used is None:
        low = high = math.nan
        if n > 1:
            middle, half = (float(part) for part in early_interval(logs_a, logs_b, alpha))
            low, high = math.exp(middle - half), math.exp(middle + half)
        return Decision(ratio, low, high, n, n, OPEN, FEWEST - n, alpha, trimmed, remark)
    low_log, high_log = (float(end) for end in repeated_interval(logs_a, logs_b, alpha))
    verdict = _verdict(low_log, high_log, math.log(effect))
    needed = 0 if verdict != OPEN else _blocks_needed(logs_a, logs_b, math.log(effect), alpha)
    return Decision(ratio, math.exp(low_log), math.exp(high_log), n, used, verdict, needed, alpha, trimmed, remark)


def decide_together(
    comparisons: Sequence[tuple[Sequence[float], Sequence[float]]],
    effect: float = EFFECT,
    alpha: float = ALPHA,
) -> list[Decision]:
    """Decide several comparisons so that at most the share ``alpha`` of what is decided is false in expectation."""
    decided = len(comparisons)
    while True:
        level = alpha * max(decided, 1) / max(len(comparisons), 1)
        decisions = [decide(a, b, effect, level) for a, b in comparisons]
        still = sum(decision.verdict != OPEN for decision in decisions)
        if still >= decided or decided <= 1:
            return decisions
        decided = still


def _verdict(low: float, high: float, margin: float) -> str:
    if -margin < low and high < margin:
        return EQUIVALENT
    if high < 0:
        return A_CHEAPER
    return B_CHEAPER if low > 0 else OPEN


def _blocks_needed(a: Array, b: Array, margin: float, alpha: float) -> int | None:
    """Blocks until an interval at a later look is narrow enough for the middle and the variances seen so far."""
    n = min(a.size, b.size)
    middle = abs(float(a.mean() - b.mean()))
    variance = float(a.var(ddof=1) + b.var(ddof=1))
    room = max(middle, margin - middle)
    for size in LOOKS:
        level = nominal_level(alpha, size)
        half = -float(special.stdtrit(max(1.0, 1.5 * (size - 1)), level / 2)) * math.sqrt(variance / size)
        if size > n and half < room:
            return size - n
    return None


def _logs(values: Sequence[float]) -> Array:
    array = np.asarray(values, dtype=np.float64)
    if not (array > 0).all() or not np.isfinite(array).all():
        raise ValueError("costs must be positive and finite: their logarithms are compared")
    return np.log(array)


def trimmed_mean(logs: Array, share: float = 0.2) -> float:
    """The mean without the largest and the smallest ``share`` (Tukey and McLaughlin, Sankhya A 25, 1963)."""
    cut = math.floor(share * logs.size)
    return float(np.sort(logs)[cut : logs.size - cut].mean())


_SPEEDS_APART = math.log(1.25)
_FAR = 3.0


def shape_of(logs: Array) -> str:
    """What an average of these logarithms would hide, in words; empty when nothing is seen.

    Two speeds: sorted, they fall apart into two groups of two trials or more, at least a ratio of 1.25 and three times
    either group's own width apart. Far off: beyond three interquartile ranges of the quartiles (Tukey, *Exploratory
    Data Analysis*, 1977), and 1.25 from the median.
    """
    ordered = np.sort(logs)
    if ordered.size >= FEWEST:
        gaps = np.diff(ordered)
        split = int(np.argmax(gaps)) + 1
        widths = (float(np.ptp(ordered[:split])), float(np.ptp(ordered[split:])))
        if 2 <= split <= ordered.size - 2 and gaps[split - 1] > max(_SPEEDS_APART, _FAR * max(widths) / 2):
            slow, fast = math.exp(ordered[split:].mean()), math.exp(ordered[:split].mean())
            return f"two speeds, {fast:.3g} in {split} and {slow:.3g} in {ordered.size - split} trials"
        first, median, third = np.quantile(ordered, [0.25, 0.5, 0.75])
        reach = max(_FAR * (third - first), 1e-12)
        far = (ordered < first - reach) | (ordered > third + reach)
        far &= np.abs(ordered - median) > _SPEEDS_APART
        if count := int(far.sum()):
            return f"{count} of {ordered.size} trials far off"
    return ""


def in_words(decision: Decision, a: str, b: str) -> str:
    """The verdict as a sentence about two names; ``open`` says about how much more it would take."""
    if math.isnan(decision.low):
        return f"open: {a} / {b} is {_number(decision.ratio)}, spread unknown, {decision.blocks_needed} more blocks"
    span = f"{_number(decision.low)} to {_number(decision.high)}"
    if decision.verdict == OPEN:
        if decision.blocks_needed is None:
            return f"open: {a} / {b} is {_number(decision.ratio)} ({span}), too noisy to decide"
        return f"open: {a} / {b} is {_number(decision.ratio)} ({span}), about {decision.blocks_needed} more blocks"
    if decision.verdict == EQUIVALENT:
        return f"no difference that matters between {a} and {b}: {_number(decision.ratio)} ({span})"
    cheap, dear = (a, b) if decision.verdict == A_CHEAPER else (b, a)
    turned = replace(decision, ratio=1 / decision.ratio, low=1 / decision.high, high=1 / decision.low)
    shown = turned if decision.verdict == A_CHEAPER else decision
    return f"{cheap} is cheaper than {dear} by {_number(shown.ratio)} ({_number(shown.low)} to {_number(shown.high)})"


def _number(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.3g}"
