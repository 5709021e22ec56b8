"""What is measured next for a reader's workload.

The course depends on the trials so far, never on the time that there is. So more time continues it, and a second run
goes through the trials on record without a new one. First come costs of both sides, then who keeps up with the
reader's rate, then more of either while a decision is near, then headroom, then robustness. The rest of the time goes
to a cost that is still inconclusive.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import cycle, islice

from allocpool.decisions import FEWEST, LOOKS, OPEN
from allocpool.studies.your_workload import headroom, turns
from allocpool.studies.your_workload.findings import LOSES, UNKNOWN, Findings, Place, standing
from allocpool.studies.your_workload.workload import Cell

_PACED_FIRST = 3
"""Trials of each side at the reader's rate that come first: as many as show that one does not keep up."""
_PACED_MOST = 16
"""Trials at the reader's rate after which it stays inconclusive whether a side keeps up."""
_NEAR_BLOCKS = 7
"""A decision on cost that takes no more blocks comes before headroom."""


def course(of: Findings) -> Iterator[Cell]:
    """Yield the cells of the trials to run; add each trial to ``of`` before the next one is asked for."""
    places = [place for place in map(Place, of.workload.collectors) if not of.refused_at(place)]
    for paced, most in ((False, FEWEST), (True, _PACED_FIRST)):
        yield from _rounds(of, [cell for place in places for cell in of.cells(place, paced)], most)
    place = of.focus()
    yield from _standing(of, place)
    yield from _deciding(of, place, _NEAR_BLOCKS)
    yield from _rounds(of, [Cell(place.collector, name) for name in of.workload.strategies[2:]], FEWEST)
    yield from _edges(of, place)
    yield from turns.walks(of, place.collector)
    yield from _deciding(of, place, None)


def _rounds(of: Findings, cells: Sequence[Cell], most: int) -> Iterator[Cell]:
    """Rounds in random order, until each cell has so many trials."""
    for number in range(most):
        order = [cell for cell in cells if of.n(cell) <= number and not of.given_up(cell) and not of.refused(cell)]
        random.Random(number).shuffle(order)
        yield from order


def _standing(of: Findings, place: Place) -> Iterator[Cell]:
    """Trials at the reader's rate, until it is known of each side whether it keeps up."""
    while unknown := [
        cell for side, cell in zip(of.standings(place), of.cells(place, paced=True), strict=True)
        if side == UNKNOWN and of.n(cell) < _PACED_MOST and not of.given_up(cell)
    ]:  # fmt: skip
        yield min(unknown, key=of.n)


def _deciding(of: Findings, place: Place, near: int | None) -> Iterator[Cell]:
    """Trials up to the next looks, as long as the cost decides and is inconclusive, and takes ``near`` blocks at
    most."""
    cells = of.cells(place)
    while LOSES not in of.standings(place) and not any(map(of.given_up, cells)):
        found = of.comparison(place).decision
        look = next((size for size in LOOKS if size > found.n), None)
        if found.verdict != OPEN or found.blocks_needed is None or look is None:
            return
        if near is not None and found.blocks_needed > near:
            return
        while min(len(of.costs(cell)) for cell in cells) < look and not any(map(of.given_up, cells)):
            yield min(cells, key=lambda cell: len(of.costs(cell)))


def _edges(of: Findings, place: Place) -> Iterator[Cell]:
    """Trials at the rates that show most, of the side whose edge is known least."""
    while wanted := [
        (-headroom.headroom_of(of, cell).width, -headroom.more_at_most(of, cell), cell._replace(rate_per_s=rate))
        for cell in of.cells(place)
        if not of.given_up(cell)
        and (rate := headroom.next_rate(of, cell)) is not None
        and not of.given_up(cell._replace(rate_per_s=rate))
    ]:
        yield min(wanted, key=lambda item: item[:2])[2]


def trials_lacking(of: Findings, place: Place) -> dict[Cell, int] | None:
    """Estimate the trials that an inconclusive answer still takes if they go on as they are, those for headroom before
    them included; None where no number would do or there are too few trials to estimate."""
    if of.neither(place):
        return None
    lacking: dict[Cell, int] = {}
    cells, found = of.cells(place), of.comparison(place).decision
    for cell in cells:
        paced = of.paced(cell)
        if of.standing(cell) == UNKNOWN:
            lacking[paced] = more_to_stand(of.lost(paced))
            if lacking[paced] > _PACED_MOST - of.n(paced):
                return None
    if LOSES not in of.standings(place) and found.verdict == OPEN:
        if found.blocks_needed is None or found.n == 0:
            return None
        for cell in cells:
            lacking[cell] = found.blocks_needed
            if found.blocks_needed > _NEAR_BLOCKS and headroom.next_rate(of, cell) is not None:
                lacking[of.paced(cell)] = lacking.get(of.paced(cell), 0) + headroom.more_at_most(of, cell)
    return lacking


def more_to_stand(lost: Sequence[bool]) -> int:
    """Estimate how many more trials show whether a strategy keeps up, if they go on as those so far; 100 is never."""
    found = list(lost)
    for losing in islice(cycle(lost or [False]), 100):
        if standing(found) != UNKNOWN:
            break
        found.append(losing)
    return len(found) - len(lost)
