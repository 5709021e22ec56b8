"""The decision map: at which live set and message rate does allocating keep up, and pooling?

For a collector, with one heap and one deadline, each strategy has a boundary: the minimum sustainable inter-arrival
time between messages at which no message waits longer than the deadline, over the number of messages alive. To all
trials of a boundary one chance of a loss is fitted, with the edge and the lapses of `adaptive`, around a boundary whose
logarithm is a parabola over that of the live set. Boundaries that bend or rise by factors beyond ten are penalised.
Intervals are those of the profile of this likelihood over a grid, at the looks of `allocpool.decisions`; how often they
hold is simulated (`proof`). Two boundaries are compared by the ends of their intervals (Zou and Donner, "Construction
of confidence limits about effect measures", Statistics in Medicine 27, 2008).

One trial serves every deadline up to its own queue's: a queue of d milliseconds loses its first message just when some
message waits longer than d, and up to then a longer queue makes no difference. A trial is one process of one fixed
length, since whoever waits longer sees more losses.

The next trial goes to the live set at which the boundaries that are still likely lie farthest apart, to their mean
there (Kontsevich and Tyler, "Bayesian adaptive estimation of psychometric slope and threshold", Vision Research 39,
1999).
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy

from allocpool.decisions import ALPHA, Comparison, look_at, nominal_level, together
from allocpool.evidence.trials import records
from allocpool.stats import plural
from allocpool.studies.realtime import adaptive
from allocpool.studies.realtime.adaptive import SOFTNESS, Point, Seen, live_in, log_chances, on_steps, seen_of

Array = npt.NDArray[np.float64]

STRATEGIES = ("alloc", "pool")
EITHER, POOL_ONLY, ALLOCATE_ONLY, NEITHER = "either", "pool only", "allocate only", "neither"
FEWEST_TRIALS = 8
"""Of a boundary, two for each of its coefficients: with fewer nothing is reported of it."""


@functools.lru_cache(maxsize=4096)
def boundary_at(
    trials: tuple[Seen, ...], lives: tuple[int, ...], live: int, deadline_ms: float, alpha: float = ALPHA
) -> Point | None:
    """Return the minimum sustainable inter-arrival time at a live set for a deadline, with an interval that holds
    whenever one looks, ``alpha`` missed in all looks together; None where the trials show no edge. ``lives``: those of
    the map, which it is fitted over; trials in order of time."""
    found = tuple((trial.live, trial.interval_ns, lost) for trial in trials
                 if (lost := trial.lost(deadline_ms)) is not None)  # fmt: skip
    if len(found) < FEWEST_TRIALS:
        return None
    used = look_at(len(found)) or len(found)
    found = found[:used]
    if sum(lost for _, _, lost in found) in (0, used):
        return None
    fitted = _fitted(found, lives)
    likely = fitted.likely - fitted.likely.max()
    here = fitted.at[lives.index(live)]
    inside = here[likely >= -scipy.stats.chi2.ppf(1 - nominal_level(alpha, used), 1) / 2]
    low, high = float(inside.min()) - fitted.grain, float(inside.max()) + fitted.grain
    beyond = (fitted.ends[0] + 2 * fitted.grain, fitted.ends[1] - 2 * fitted.grain)
    return Point(
        math.exp(float(here[likely.argmax()])), 0.0 if low < beyond[0] else math.exp(low),
        math.inf if high > beyond[1] else math.exp(high),
    )  # fmt: skip


class _Fit(NamedTuple):
    """Boundaries and how likely they are: logarithms at each live set (rows), of the penalised likelihood with the
    softness that suits each best; the grid's half step, and the ends beyond which nothing was thought of."""

    at: Array
    likely: Array
    grain: float
    ends: tuple[float, float]


@functools.lru_cache(maxsize=256)
def _fitted(outcomes: tuple[tuple[int, float, bool], ...], lives: tuple[int, ...]) -> _Fit:
    """All boundaries over a grid, then over a finer one around those that are not out of the question."""
    logs = [math.log(interval_ns) for _, interval_ns, _ in outcomes]
    ends = (min(logs) - _BEYOND, max(logs) + _BEYOND)
    box = [ends] * 3
    for _ in range(_FINER):
        nodes, at, likely = _grid(tuple(box), lives, _GRID)
        likely = np.stack([likely] * len(SOFTNESS))
        for (live, _, lost), log_ns in zip(outcomes, logs, strict=True):
            likely = likely + log_chances(at[lives.index(live)], log_ns)[0 if lost else 1]
        best = likely.max(axis=0)
        near = best > best.max() - _OUT_OF_THE_QUESTION
        steps = [(high - low) / (_GRID - 1) for low, high in box]
        found = _Fit(at, best, max(steps) / 2, ends)
        box = [
            (max(ends[0], float(axis[near].min()) - step), min(ends[1], float(axis[near].max()) + step))
            for axis, step in zip(nodes, steps, strict=True)
        ]
    return found


_BEYOND = math.log(10.0)
"""How far beyond all trials a boundary may lie."""
_FINER = 3
_OUT_OF_THE_QUESTION = 12.0
"""By so much less likely than the best, in logarithms."""


def _place(live: float, lives: Sequence[int]) -> float:
    low, high = math.log(min(lives)), math.log(max(lives))
    return 0.0 if high == low else 2 * (math.log(live) - low) / (high - low) - 1


@dataclass(frozen=True)
class BoundaryJudge:
    """Compares two boundaries at one live set and deadline: the smaller interval is the cheaper side."""

    lives: tuple[int, ...]
    live: int
    deadline_ms: float

    def __call__(
        self, a: Sequence[Any], b: Sequence[Any], effect: float | None = None, alpha: float = ALPHA
    ) -> Comparison:
        """``a`` and ``b``: what the trials of each side have shown, in order of time."""
        n = min(sum(trial.lost(self.deadline_ms) is not None for trial in side) for side in (a, b))
        one, other = (boundary_at(tuple(side), self.lives, self.live, self.deadline_ms, alpha) for side in (a, b))
        if one is None or other is None:
            return adaptive.too_few(n, effect, alpha, max(1, FEWEST_TRIALS - n))
        (left, left_low, left_high), (right, right_low, right_high) = (
            [math.log(part) if part > 0 else -math.inf for part in point] for point in (one, other)
        )
        middle = left - right
        low = middle - math.hypot(left - left_low, right_high - right)
        high = middle + math.hypot(left_high - left, right - right_low)
        return adaptive.of_interval(middle, low, high, n, effect, alpha)


@dataclass(frozen=True)
class Design:
    """Where trials of a boundary may be placed, and for which deadlines."""

    lives: tuple[int, ...]
    """Messages alive, rising."""
    low_ns: float
    high_ns: float
    deadlines_ms: tuple[float, ...]
    """The last one counts most."""

    @property
    def box(self) -> tuple[tuple[float, float], ...]:
        """Where boundaries are looked for: logarithms at the smallest live set, in the middle and at the largest."""
        return ((math.log(self.low_ns), math.log(self.high_ns)),) * 3


_GRID, _PLACES = 25, 19
"""Values of each of the three that give a boundary, for a fit and for placing the next trial."""
_BEND, _LEAN = 1.5, 3.0
"""How far a boundary bends and rises from the smallest to the largest live set, in standard deviations (logarithms)."""
_SEED = 20_190_117
_OTHER_DEADLINE = 0.5
"""What is unknown at a deadline that is not the last counts so much."""

Shown = tuple[int, float, tuple[bool | None, ...]]
"""Number of the live set, logarithm of the interval, and whether the trial lost, for each deadline."""


@functools.lru_cache(maxsize=32)
def _grid(box: tuple[tuple[float, float], ...], lives: tuple[int, ...], points: int) -> tuple[Array, Array, Array]:
    """Boundaries that are thought of, given by their logarithms at the smallest live set, in the middle and at the
    largest: these three, those at each live set, and how likely they are beforehand."""
    axes = np.meshgrid(*(np.linspace(low, high, points) for low, high in box), indexing="ij")
    first, middle, last = (axis.ravel() for axis in axes)
    places = [_place(live, lives) for live in lives]
    at = [z * (z - 1) / 2 * first + (1 - z * z) * middle + z * (z + 1) / 2 * last for z in places]
    likely = -0.5 * (((first - 2 * middle + last) / _BEND) ** 2 + ((last - first) / _LEAN) ** 2)
    return np.stack([first, middle, last]), np.stack(at), likely


@functools.lru_cache(maxsize=32)
def _belief(design: Design, shown: tuple[Shown, ...]) -> tuple[Array, ...]:
    """For each deadline the logarithm of how likely each boundary is, for each softness, after these trials."""
    _, at, beforehand = _grid(design.box, design.lives, _PLACES)
    if not shown:
        return (np.stack([beforehand] * len(SOFTNESS)),) * len(design.deadlines_ms)
    number, log_ns, losses = shown[-1]
    losing, passing = log_chances(at[number], log_ns)
    before = _belief(design, shown[:-1])
    return tuple(
        belief if lost is None else belief + (losing if lost else passing)
        for belief, lost in zip(before, losses, strict=True)
    )


@functools.lru_cache(maxsize=4096)
def next_place(design: Design, shown: tuple[Shown, ...], without: frozenset[int] = frozenset()) -> tuple[int, float]:
    """Return the live set and the interval (ns) at which a boundary is least known after these trials, but for live
    sets that can't be had. Every live set gets one trial before any gets two, or a parabola alone would vouch for it;
    where several are unknown alike, a fixed seed and the number of trials choose."""
    _, at, _ = _grid(design.box, design.lives, _PLACES)
    order = np.random.default_rng([_SEED, len(shown), len(without)]).permutation(len(design.lives))
    can_be_had = [int(number) for number in order if design.lives[number] not in without]
    tried = {number for number, _, _ in shown}
    candidates = [number for number in can_be_had if number not in tried] or can_be_had
    best, found = -1.0, (design.lives[int(order[0])], sum(design.box[0]) / 2)
    for which, belief in enumerate(_belief(design, shown)):
        likely = np.exp(belief - belief.max()).sum(axis=0)
        likely /= likely.sum()
        # A deadline of which trials show little, because the source stalls for half of it, is asked for less.
        shows = sum(losses[which] is not None for _, _, losses in shown)
        counts = (shows + 1) / (len(shown) + 1) * (1.0 if which == len(design.deadlines_ms) - 1 else _OTHER_DEADLINE)
        for number in candidates:
            mean = float(likely @ at[number])
            spread = counts * math.sqrt(max(0.0, float(likely @ (at[number] - mean) ** 2)))
            if spread > best * (1 + 1e-9):
                best, found = spread, (design.lives[number], mean)
    live, log_ns = found
    return live, on_steps(log_ns)


def shown_by(design: Design, trial: Seen) -> Shown:
    """Return what a trial shows of each deadline, in the form that places the next one. One that loses a large share
    would lose at longer intervals, too, at least up to that at which what it has handled would be all."""
    losses = tuple(trial.lost(deadline_ms) for deadline_ms in design.deadlines_ms)
    return design.lives.index(trial.live), trial.keeps_up_from, losses


def deadlines_of(queue_ms: float) -> tuple[float, float]:
    """Return the deadlines that trials with such a queue report, ms: a tenth of it, and its own."""
    return queue_ms / 10, queue_ms


class _Side(NamedTuple):
    """All trials of one boundary, in order; ``gaps``, by live set: why it has no trial with a figure."""

    seen: tuple[Seen, ...]
    gaps: dict[int, str]


def _sides(trials: pd.DataFrame) -> dict[tuple[str, str], _Side]:
    sides = {}
    for (configuration, strategy), group in trials.groupby(["configuration", "strategy"], observed=True, sort=False):
        rows = records(group.sort_values("block", kind="stable"))
        seen = tuple(seen_of(row) for row in rows if row.status == "ok")
        there = {trial.live for trial in seen}
        gaps = {
            live_in(row): str(row.status if pd.isna(row.reason) else row.reason)
            for row in rows
            if row.status != "ok" and live_in(row) not in there
        }
        sides[str(configuration), str(strategy)] = _Side(seen, gaps)
    return sides


def _deadlines(trials: pd.DataFrame) -> list[float]:
    return sorted({deadline_ms for queue_ms in trials["input_queue_ms"] for deadline_ms in deadlines_of(queue_ms)})


def boundaries(trials: pd.DataFrame) -> pd.DataFrame:
    """Return where losses begin, per configuration, strategy, deadline and live set of table ``map``.

    Columns: ``edge_ns`` with ``edge_low_ns`` and ``edge_high_ns`` (minimum sustainable inter-arrival time, 95% whenever
    one looks; 0 and infinite: not bounded); ``at_least``: the fit puts it below the shortest interval tried there,
    which stands for it; ``gap``: why there is no figure.
    """
    rows = []
    lives = lives_of(trials)
    for ((configuration, strategy), side), deadline_ms in itertools.product(_sides(trials).items(), _deadlines(trials)):
        found = [lost for trial in side.seen if (lost := trial.lost(deadline_ms)) is not None]
        for live in lives:
            point = None if live in side.gaps else boundary_at(side.seen, lives, live, deadline_ms)
            edge_ns, low_ns, high_ns = point or (math.nan,) * 3
            tried_ns = min((trial.interval_ns for trial in side.seen if trial.live == live), default=math.nan)
            rows.append([
                configuration, strategy, deadline_ms, live, tried_ns if edge_ns < tried_ns else edge_ns, low_ns,
                high_ns, edge_ns < tried_ns, side.gaps.get(live) or (None if point else _no_boundary(found)),
            ])  # fmt: skip
    columns = [
        "configuration", "strategy", "deadline_ms", "live_messages", "edge_ns", "edge_low_ns", "edge_high_ns",
        "at_least", "gap",
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=columns)


def lives_of(trials: pd.DataFrame) -> tuple[int, ...]:
    return tuple(sorted({live_in(row) for row in records(trials)}))


def _no_boundary(lost: Sequence[bool]) -> str:
    if len(lost) < FEWEST_TRIALS:
        return f"{plural(len(lost), 'trial')} of at least {FEWEST_TRIALS}"
    if all(lost):
        return "every trial loses"
    return "losses do not begin anywhere" if any(lost) else "no trial loses"


def judged_together(
    asked: Sequence[tuple[Sequence[Seen], Sequence[Seen], int]], lives: tuple[int, ...], deadline_ms: float
) -> list[Comparison]:
    """Return allocating against pooling, each with a live set, all decided together."""
    judges = [(BoundaryJudge(lives, live, deadline_ms), alloc, pool) for alloc, pool, live in asked]
    return together([functools.partial(judge, alloc, pool, None) for judge, alloc, pool in judges])


def comparisons(trials: pd.DataFrame, deadline_ms: float | None = None) -> pd.DataFrame:
    """Return whose boundary is smaller at each live set, all of one deadline decided together (the longest one, unless
    given). Columns: configuration, live_messages, ratio (interval of allocating over that of pooling), low, high, n,
    verdict."""
    lives, sides, of = lives_of(trials), _sides(trials), ("ratio", "low", "high", "n", "verdict")
    both = [
        (name, sides[name, "alloc"], sides[name, "pool"])
        for name in dict.fromkeys(name for name, _ in sides)
        if (name, "alloc") in sides and (name, "pool") in sides
    ]
    asked = [(name, live, alloc, pool) for name, alloc, pool in both for live in lives
             if live not in alloc.gaps and live not in pool.gaps]  # fmt: skip
    at_ms = max(_deadlines(trials), default=0.0) if deadline_ms is None else deadline_ms
    judged = judged_together([(alloc.seen, pool.seen, live) for _, live, alloc, pool in asked], lives, at_ms)
    rows = [
        [name, live, *(getattr(found.decision, column) for column in of)]
        for (name, live, _, _), found in zip(asked, judged, strict=True)
    ]
    return pd.DataFrame(rows, columns=["configuration", "live_messages", *of])
