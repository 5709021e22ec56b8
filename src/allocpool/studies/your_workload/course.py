"""What is measured next for a reader's workload: what decides most comes first, and it goes on where it is undecided.

The course is a function of the trials so far alone, never of the time that there is: so more time continues it, and
trials on record are run through again without a new one. Costs of both sides come first, then who keeps up with the
reader's rate; then more of either as long as a decision is near; then head-room, then robustness; the rest of the time
goes to a cost that is still open.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from allocpool.decisions import FEWEST, LOOKS, OPEN
from allocpool.studies.your_workload import headroom, turns
from allocpool.studies.your_workload.findings import LOSES, UNKNOWN, Findings, standing
from allocpool.studies.your_workload.workload import Cell

_PACED_FIRST = 3
"""Trials of each side at the reader's rate that come before the others: as many as show that one does not keep up."""
_PACED_MOST = 16
"""Trials at the reader's rate after which it stays open whether a side keeps up."""
_NEAR_BLOCKS = 7
"""A decision on cost that takes no more blocks comes before head-room."""


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
        told = of.comparison(collector).decision
        if told.verdict != OPEN or told.blocks_needed is None or any(map(of.given_up, cells)):
            return
        if near is not None and told.blocks_needed > near:
            return
        look = next((size for size in LOOKS if size > told.n), None)
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
    """The trials that an open answer still takes, if they go on as they are; empty where it is not open, None where no
    number would do."""
    lacking = _lacking_of_rounds(of)
    standings = {side: of.standing(collector, side) for side in of.workload.sides}
    if of.neither(collector):
        return None
    for cell in _sides(of, collector, paced=True):
        if standings[cell.strategy] == UNKNOWN:
            left = _PACED_MOST - of.n(cell)
            if left <= 0:
                return None
            lacking[cell] = max(lacking.get(cell, 0), min(left, more_to_stand(of.lost(cell))))
    if LOSES not in standings.values():
        told = of.comparison(collector).decision
        if told.verdict == OPEN:
            if told.blocks_needed is None:
                return None
            for cell in _sides(of, collector):
                lacking[cell] = max(lacking.get(cell, 0), told.blocks_needed)
    return lacking


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
    """About how many more trials like most so far show whether a strategy keeps up."""
    told, like = list(lost), 2 * sum(lost) > len(lost)
    while standing(told) == UNKNOWN and len(told) < len(lost) + 100:
        told.append(like)
    return len(told) - len(lost)
