"""Head-room: up to which rate a strategy loses no more than is tolerated, and what limits it.

The chance that a trial loses is fitted to all paced trials of the strategy, against the logarithm of the rate
(`loss_boundary`). First the edge is bracketed, then trials go where the fit says that they tell most.
"""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from scipy import special

from allocpool.studies.your_workload.findings import Findings, Measured
from allocpool.studies.your_workload.loss_boundary import EDGE, LossBoundary, Point
from allocpool.studies.your_workload.workload import MOST_PER_S, Cell

FACTOR = 4.0
"""Between two rates as long as no edge is seen."""
_SHARP = 1.2
"""A bracket no wider is not halved."""
_KNOWN = 1.35
"""An interval of the edge from one end to the other no wider is narrow enough."""
_MOST_TRIALS = 18
_FARTHEST = 4096.0
"""Below the reader's rate by so much nothing is looked for."""
_BUSY = 0.85
"""Of its capacity, what a strategy uses that is limited by CPU."""
_CHANCES = (EDGE, 0.2, 0.8)
PAUSE, CPU, MEMORY, STALLS, NOT_SEEN = "pause", "CPU", "memory", "stalls", "not seen"


@dataclass(frozen=True)
class Headroom:
    """Of one strategy; rates are messages a second.

    Attributes:
        rate_per_s: where half of the trials lose; None where there are too few to say.
        low_per_s, high_per_s: its interval of 95%; 0 or infinite where trials do not bound it.
        held_per_s: the highest rate tried that holds, below all that lose; None where none does.
        lost_per_s: the lowest rate tried at which half of the trials or more lose; None where none does.
        factor: the edge, or else the middle of the bracket, over the reader's rate; None where neither is known.
        limited_by: what made trials at and above the edge lose.
        trials, losing: so many, and so many of them.
    """

    rate_per_s: float | None
    low_per_s: float | None
    high_per_s: float | None
    held_per_s: float | None
    lost_per_s: float | None
    factor: float | None
    limited_by: str
    trials: int
    losing: int

    @property
    def width(self) -> float:
        """From one end of what is known of the edge to the other, as a ratio."""
        if self.low_per_s and self.high_per_s and math.isfinite(self.high_per_s):
            return self.high_per_s / self.low_per_s
        return math.inf


def headroom_of(of: Findings, collector: str, strategy: str) -> Headroom:
    """What the trials so far say."""
    tried = _tried(of, collector, strategy)
    held, lost = _bracket(tried)
    point = _edge(tried)
    rate, low, high = (None, None, None) if point is None else _as_rates(point)
    middle = rate or (math.sqrt(held * lost) if held and lost else None)
    return Headroom(
        rate, low, high, held, lost, middle / of.workload.rate_per_s if middle else None,
        _limited_by(of, collector, strategy, middle), len(tried), sum(losing for _, losing in tried),
    )  # fmt: skip


def next_rate(of: Findings, collector: str, strategy: str) -> float | None:
    """The rate of the trial that would tell most; None where enough is known."""
    tried = _tried(of, collector, strategy)
    capacity = of.capacity_per_s(collector, strategy)
    if len(tried) >= _MOST_TRIALS + _at_own_rate(of, collector, strategy) or capacity is None:
        return None
    held, lost = _bracket(tried)
    if lost is None:
        top = max((rate for rate, _ in tried), default=of.workload.rate_per_s / FACTOR)
        rate = min(top * FACTOR, capacity) if top < 0.9 * capacity else 1.5 * top
        return rounded(rate) if rate <= min(4 * capacity, MOST_PER_S) else None
    if held is None:
        rate = min(min(rate for rate, _ in tried) / FACTOR, capacity)
        return (
            rounded(rate) if rate * _FARTHEST >= of.workload.rate_per_s and rate >= 100 / of.workload.trial_s else None
        )
    if lost / held > _SHARP:
        return rounded(math.sqrt(held * lost))
    room = headroom_of(of, collector, strategy)
    if room.width <= _KNOWN:
        return None
    point = _edge(tried)
    if point is None or not math.isfinite(point.estimate):
        return held if of.n(Cell(collector, strategy, held)) <= of.n(Cell(collector, strategy, lost)) else lost
    wanted = _rate_at(tried, _CHANCES[len(tried) % len(_CHANCES)], point.estimate)
    return rounded(min(max(wanted, held / 1.5), 1.5 * lost))


def most_more(of: Findings, collector: str, strategy: str) -> int:
    """The most trials that are still asked for; 0 where enough is known."""
    if next_rate(of, collector, strategy) is None:
        return 0
    return _MOST_TRIALS + _at_own_rate(of, collector, strategy) - len(_tried(of, collector, strategy))


def rounded(value: float, digits: int = 3) -> float:
    """To so many significant digits, so that a rate that is asked for twice is one cell."""
    return float(f"{value:.{digits}g}")


def _tried(of: Findings, collector: str, strategy: str) -> tuple[tuple[float, bool], ...]:
    return tuple(
        (rate, losing)
        for rate in of.rates(collector, strategy)
        for losing in of.lost(Cell(collector, strategy, rate))
    )  # fmt: skip


def _at_own_rate(of: Findings, collector: str, strategy: str) -> int:
    return of.n(Cell(collector, strategy, of.workload.rate_per_s))


def _bracket(tried: Sequence[tuple[float, bool]]) -> tuple[float | None, float | None]:
    """The highest rate that holds below the lowest at which half of the trials lose, and that one."""
    counts: dict[float, list[bool]] = {}
    for rate, losing in tried:
        counts.setdefault(rate, []).append(losing)
    lost = min((rate for rate, found in counts.items() if 2 * sum(found) >= len(found)), default=None)
    held = max((rate for rate in counts if lost is None or rate < lost), default=None)
    return held, lost


@functools.lru_cache(maxsize=64)
def _edge(tried: tuple[tuple[float, bool], ...]) -> Point | None:
    """Where half of the trials lose, as an interval between messages, ns: losses grow rarer along it."""
    return _fitted(tried).point(EDGE) if tried else None


@functools.lru_cache(maxsize=64)
def _fitted(tried: tuple[tuple[float, bool], ...]) -> LossBoundary:
    return LossBoundary([1e9 / rate for rate, _ in tried], [losing for _, losing in tried])


def _rate_at(tried: tuple[tuple[float, bool], ...], chance: float, edge_ns: float) -> float:
    """The rate at which so many trials lose; the log odds are a line, of which the edge is one point."""
    step = 1.5
    slope = float(special.logit(_fitted(tried).chance(step * edge_ns))) / math.log(step)
    return 1e9 / edge_ns / math.exp(float(special.logit(chance)) / slope)


def _as_rates(point: Point) -> tuple[float, float, float]:
    low = 0.0 if math.isinf(point.high) else 1e9 / point.high
    high = math.inf if point.low == 0 else 1e9 / point.low
    return 1e9 / point.estimate, low, high


def _limited_by(of: Findings, collector: str, strategy: str, edge: float | None) -> str:
    """What most of the trials that lost nearest to the edge show."""
    capacity = of.capacity_per_s(collector, strategy) or math.inf
    near = [
        (rate, trial)
        for rate in of.rates(collector, strategy)
        if edge is None or rate < 2 * edge
        for trial in of.counted(Cell(collector, strategy, rate))
        if of.loses(trial)
    ]
    if of.given_up(Cell(collector, strategy)):
        return MEMORY
    causes = Counter(_cause(trial, rate / capacity, of.workload.delay_ms) for rate, trial in near[:5])
    return causes.most_common(1)[0][0] if causes else NOT_SEEN


def _cause(trial: Measured, busy: float, delay_ms: float) -> str:
    if trial.status == "out_of_memory":
        return MEMORY
    if (trial.stall_max_ms or 0.0) >= delay_ms / 2:
        return STALLS
    if (trial.pause_max_ms or 0.0) >= delay_ms / 2:
        return PAUSE
    return CPU if busy >= _BUSY else NOT_SEEN
