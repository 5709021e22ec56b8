"""What is measured next for a reader's workload: what decides most comes first, and it goes on where it is undecided.

The course is a function of the trials so far alone, never of the time that there is: so more time continues it, and
trials on record are run through again without a new one. Costs of both sides come first, then who keeps up with the
reader's rate; then more of either as long as a decision is near; then head-room, then robustness; the rest of the time
goes to a cost that is still open.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import cycle, islice

import numpy as np

from allocpool.decisions import ALPHA, FEWEST, LOOKS, OPEN, effect_that_matters, repeated_interval
from allocpool.studies.your_workload import headroom, turns
from allocpool.studies.your_workload.findings import LOSES, UNKNOWN, Findings, standing
from allocpool.studies.your_workload.workload import Cell

_PACED_FIRST = 3
"""Trials of each side at the reader's rate that come before the others: as many as show that one does not keep up."""
_PACED_MOST = 16
"""Trials at the reader's rate after which it stays open whether a side keeps up."""
_NEAR_BLOCKS = 7
"""A decision on cost that takes no more blocks comes before head-room."""
_FORECASTS = 200


def course(of: Findings) -> Iterator[Cell]:
    """The cells of the trials to run; each trial must be added to ``of`` before the next one is asked for."""
    collectors = _runnable(of)
    yield from _rounds(of, [cell for name in collectors for cell in _sides(of, name)], FEWEST)
    yield from _rounds(of, [cell for name in collectors for cell in _sides(of, name, paced=True)], _PACED_FIRST)
    collector = of.focus()
    yield from _standing(of, collector)
    yield from _deciding(of, collector, _NEAR_BLOCKS)
    yield from _rounds(of, [Cell(collector, name) for name in of.workload.strategies[2:]], FEWEST)
    yield from _edges(of, collector)
    yield from turns.walks(of, collector)
    yield from _deciding(of, collector, None)


def _sides(of: Findings, collector: str, paced: bool = False) -> list[Cell]:
    rate = of.workload.rate_per_s if paced else None
    return [Cell(collector, side, rate) for side in of.workload.sides]


def _rounds(of: Findings, cells: Sequence[Cell], most: int) -> Iterator[Cell]:
    """Rounds in random order, until each cell has so many trials."""
    for number in range(most):
        order = [cell for cell in cells if of.n(cell) <= number and not of.given_up(cell) and not of.refused(cell)]
        random.Random(number).shuffle(order)
        for cell in order:
            if not of.given_up(cell):
                yield cell


def _standing(of: Findings, collector: str) -> Iterator[Cell]:
    """Trials at the reader's rate, until it is known of each side whether it keeps up."""
    while True:
        unknown = [
            cell for cell in _sides(of, collector, paced=True)
            if of.standing(collector, cell.strategy) == UNKNOWN and of.n(cell) < _PACED_MOST and not of.given_up(cell)
        ]  # fmt: skip
        if not unknown:
            return
        yield min(unknown, key=of.n)


def _deciding(of: Findings, collector: str, near: int | None) -> Iterator[Cell]:
    """Trials as fast as it goes up to the next looks, as long as the cost decides and is open; only ``near`` ones where
    that is given."""
    cells = _sides(of, collector)
    if any(of.standing(collector, side) == LOSES for side in of.workload.sides):
        return
    while True:
        found = of.comparison(collector).decision
        if found.verdict != OPEN or found.blocks_needed is None or any(map(of.given_up, cells)):
            return
        if near is not None and found.blocks_needed > near:
            return
        look = next((size for size in LOOKS if size > found.n), None)
        if look is None:
            return
        while min(len(of.costs(cell)) for cell in cells) < look and not any(map(of.given_up, cells)):
            yield min(cells, key=lambda cell: len(of.costs(cell)))


def _edges(of: Findings, collector: str) -> Iterator[Cell]:
    """Trials at the rates that tell most, of the side whose edge is known least."""
    while True:
        wanted: list[tuple[float, int, Cell]] = []
        for side in of.workload.sides:
            rate = headroom.next_rate(of, collector, side)
            cell = Cell(collector, side, rate)
            if rate is not None and not of.given_up(cell) and not of.given_up(Cell(collector, side)):
                width = headroom.headroom_of(of, collector, side).width
                wanted.append(
                    (-width, sum(of.n(Cell(collector, side, each)) for each in of.rates(collector, side)), cell)
                )
        if not wanted:
            return
        yield min(wanted, key=lambda item: item[:2])[2]


def trials_lacking(of: Findings, collector: str) -> dict[Cell, int] | None:
    """Estimate the trials that an open answer still takes, those before them in the course included, if they go on as
    they are; empty where it is not open, None where it can't be known or no number would do."""
    lacking = _lacking_of_rounds(of)
    standings = {side: of.standing(collector, side) for side in of.workload.sides}
    if of.neither(collector):
        return None
    for cell in _sides(of, collector, paced=True):
        if standings[cell.strategy] == UNKNOWN:
            more = more_to_stand(of.lost(cell))
            if more > _PACED_MOST - of.n(cell):
                return None
            lacking[cell] = max(lacking.get(cell, 0), more)
    found = of.comparison(collector).decision
    if LOSES not in standings.values() and found.verdict == OPEN:
        cells = _sides(of, collector)
        blocks = blocks_to_decide(*(of.costs(cell) for cell in cells))
        if blocks is None:
            return None
        for cell in cells:
            lacking[cell] = max(lacking.get(cell, 0), blocks)
            paced = Cell(collector, cell.strategy, of.workload.rate_per_s)
            if found.n + blocks > max(found.n, FEWEST) + _NEAR_BLOCKS:
                lacking[paced] = lacking.get(paced, 0) + headroom.most_more(of, collector, cell.strategy)
    return lacking


def blocks_to_decide(a: Sequence[float], b: Sequence[float]) -> int | None:
    """Estimate how many more trials a side decide two costs: the median of forecasts, each from a spread and means that
    the trials so far allow; None below two trials a side, or where half of the forecasts are open at the last look.

    Source: predictive power, Spiegelhalter, Freedman and Blackburn, "Monitoring clinical trials: conditional or
    predictive power?", Controlled Clinical Trials 7, 1986.
    """
    n = min(len(a), len(b))
    if n < 2:
        return None
    random_ = np.random.default_rng(n)
    sides = []
    for side in (np.log(a), np.log(b)):
        shape = (_FORECASTS, 1)
        spread = side.std(ddof=1) * np.sqrt((side.size - 1) / random_.chisquare(side.size - 1, shape))
        mean = side.mean() + spread * random_.standard_normal(shape) / np.sqrt(side.size)
        later = mean + spread * random_.standard_normal((_FORECASTS, LOOKS[-1]))
        sides.append(np.hstack([np.broadcast_to(side, (_FORECASTS, side.size)), later]))
    margin, settled = np.log(effect_that_matters()), np.zeros(_FORECASTS, dtype=bool)
    for look in (size for size in LOOKS if size > n):
        low, high = repeated_interval(sides[0][:, :look], sides[1][:, :look], ALPHA)
        settled |= (low > 0) | (high < 0) | ((low > -margin) & (high < margin))
        if 2 * settled.sum() >= _FORECASTS:
            return look - n
    return None


def _lacking_of_rounds(of: Findings) -> dict[Cell, int]:
    """Of the rounds that come before one of several collectors is chosen."""
    wanted = {
        cell: most
        for name in (_runnable(of) if len(of.workload.collectors) > 1 else ())
        for paced, most in ((False, FEWEST), (True, _PACED_FIRST))
        for cell in _sides(of, name, paced)
        if not of.given_up(cell)
    }
    return {cell: most - of.n(cell) for cell, most in wanted.items() if of.n(cell) < most}


def _runnable(of: Findings) -> list[str]:
    """The collectors that can run both sides."""
    return [name for name in of.workload.collectors if not any(map(of.refused, _sides(of, name)))]


def more_to_stand(lost: Sequence[bool]) -> int:
    """Estimate how many more trials show whether a strategy keeps up, if they go on as those so far; 100 is never."""
    found = list(lost)
    for losing in islice(cycle(lost or [False]), 100):
        if standing(found) != UNKNOWN:
            break
        found.append(losing)
    return len(found) - len(lost)
