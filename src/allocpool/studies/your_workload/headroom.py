"""Headroom: up to which rate a strategy loses no more than is tolerated, and what limits it.

Trials are placed and judged as the adaptive trials of the real-time study (`allocpool.studies.realtime.adaptive`).
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

from allocpool.studies.realtime.adaptive import AdaptiveTrials, next_interval
from allocpool.studies.your_workload.findings import Findings, Measured
from allocpool.studies.your_workload.specs import MOST_PER_S
from allocpool.studies.your_workload.workload import Cell

_OWN_NS = 1e3
"""The interval of the reader's own rate in the adaptive trials, which bound intervals from 1 to 1,000,000 ns."""
_NARROW = 1.5
"""An interval of the edge that is no wider, as a ratio of its ends, is narrow enough."""
_MOST_TRIALS = 18
"""At other rates than the reader's."""
_LOWEST, _HIGHEST = 1e-3, 2.0
"""The lowest rate tried, of the reader's; the highest, of the capacity."""
_BUSY = 0.85
"""Of its capacity, what a strategy uses that is limited by CPU."""
_FEWEST_MESSAGES = 100
PAUSE, CPU, MEMORY, STALLS, NOT_SEEN = "pause", "CPU", "memory", "stalls", "not seen"


@dataclass(frozen=True)
class Headroom:
    """Of one strategy; rates are messages a second.

    Attributes:
        rate_per_s: where half of the trials lose; None where trials do not show it.
        low_per_s, high_per_s: its interval of 95% at any stopping time; 0 or infinite where it is not bounded.
        held_per_s: the highest rate tried below `lost_per_s`, or None.
        lost_per_s: the lowest rate tried at which half of the trials lose, or None.
        factor: the edge, or else the middle of the two rates, over the reader's rate.
        limited_by: what made trials near the edge lose.
        trials, losing: counts.
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
        """The upper end of the edge's interval over the lower one."""
        return self.high_per_s / self.low_per_s if self.low_per_s and self.high_per_s else math.inf


def headroom_of(of: Findings, cell: Cell) -> Headroom:
    """Return the headroom of a strategy; ``cell`` is the one as fast as it goes."""
    tried = {paced.rate_per_s: of.lost(paced) for paced in _paced(of, cell)}
    losing = {rate: 2 * sum(lost) >= len(lost) for rate, lost in tried.items() if lost and rate}
    lost = min((rate for rate, loses in losing.items() if loses), default=None)
    held = max((rate for rate in losing if lost is None or rate < lost), default=None)
    every = [one for lost_ones in tried.values() for one in lost_ones]
    rate, low, high = _edge(of, cell) if 0 < sum(every) < len(every) else (None, None, None)
    middle = rate or (math.sqrt(held * lost) if held and lost else None)
    factor = middle / of.workload.rate_per_s if middle else None
    return Headroom(
        rate, low, high, held, lost, factor, _limited_by(of, cell, middle or math.inf), len(every), sum(every)
    )  # fmt: skip


def next_rate(of: Findings, cell: Cell) -> float | None:
    """Return the rate at which a trial shows most; None where enough is known."""
    capacity, own = of.capacity_per_s(cell), of.workload.rate_per_s
    if capacity is None or more_at_most(of, cell) <= 0 or headroom_of(of, cell).width <= _NARROW:
        return None
    top = min(_HIGHEST * capacity, MOST_PER_S)
    bottom = min(top, max(_LOWEST * own, _FEWEST_MESSAGES / of.workload.trial_s))
    shown = tuple((math.log(interval_ns), lost) for interval_ns, lost in _trials(of, cell))
    interval_ns = next_interval(_OWN_NS * own / top, _OWN_NS * own / bottom, shown)
    return float(f"{_OWN_NS * own / interval_ns:.4g}")


def more_at_most(of: Findings, cell: Cell) -> int:
    """Return how many trials at other rates than the reader's may still be asked for."""
    return _MOST_TRIALS - sum(of.n(paced) for paced in _paced(of, cell) if paced != of.paced(cell))


def _paced(of: Findings, cell: Cell) -> list[Cell]:
    """The cells of a strategy at each rate tried, in the order of their first trials."""
    return [each for each in of.trials if each.rate_per_s and each._replace(rate_per_s=None) == cell]


def _trials(of: Findings, cell: Cell) -> tuple[tuple[float, bool], ...]:
    """(interval, whether it lost) of each trial; the unit is such that the reader's rate is at `_OWN_NS`."""
    own = of.workload.rate_per_s
    return tuple(
        (_OWN_NS * own / paced.rate_per_s, lost)
        for paced in _paced(of, cell) if paced.rate_per_s
        for lost in of.lost(paced)
    )  # fmt: skip


def _edge(of: Findings, cell: Cell) -> tuple[float | None, float | None, float | None]:
    """The rate at which half of the trials lose, and the ends of its interval; None where they are unknown."""
    tried = _trials(of, cell)
    edge, low, high = AdaptiveTrials(tried, 0, max(interval_ns for interval_ns, _ in tried)).interval_ns()
    scale = _OWN_NS * of.workload.rate_per_s
    rates = [None if math.isnan(ns) else math.inf if ns == 0 else scale / ns for ns in (edge, high, low)]
    return rates[0], rates[1], rates[2]


def _limited_by(of: Findings, cell: Cell, edge: float) -> str:
    """What most of the trials that lost nearest to the edge show."""
    if of.given_up(cell):
        return MEMORY
    capacity = of.capacity_per_s(cell) or math.inf
    near = sorted((paced.rate_per_s, paced) for paced in _paced(of, cell) if (paced.rate_per_s or 0.0) < 2 * edge)
    causes = [
        _cause(trial, (rate or 0.0) / capacity, of.workload.delay_ms)
        for rate, paced in near for trial in of.counted(paced) if of.loses(trial)
    ]  # fmt: skip
    return Counter(causes[:5]).most_common(1)[0][0] if causes else NOT_SEEN


def _cause(trial: Measured, busy: float, delay_ms: float) -> str:
    if trial.status == "out_of_memory":
        return MEMORY
    if (trial.stall_max_ms or 0.0) >= delay_ms / 2:
        return STALLS
    if (trial.pause_max_ms or 0.0) >= delay_ms / 2:
        return PAUSE
    return CPU if busy >= _BUSY else NOT_SEEN
