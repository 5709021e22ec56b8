"""What is measured next for a reader's workload.

The course depends on the trials so far, never on the time that there is. So more time continues it, and a second run
goes through the trials on record without a new one.

Robustness: which parameter turns the answer, and between which values. One parameter at a time goes outwards by
factors. Where a few trials show that the answer leans another way, more trials judge it (`Findings.answer`). A turn
lies between the last value with the reader's answer and the first with another one, both shown.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle, islice

from allocpool.decisions import FEWEST, LOOKS, OPEN, effect_that_matters
from allocpool.studies.your_workload import findings
from allocpool.studies.your_workload.findings import EITHER, LOSES, UNDECIDED, UNKNOWN, Findings, Place
from allocpool.studies.your_workload.workload import Cell

_PACED_FIRST, _PACED_MOST = 3, 16
"""Trials of a side at the reader's rate: the first ones show that it does not keep up; the most that are tried."""
_NEAR_BLOCKS = 7
"""A decision on cost that takes no more blocks comes before headroom."""
DIRECTIONS = (
    ("in_flight", 1), ("live", 1), ("bytes", 1), ("in_flight", -1), ("kept", 1), ("bytes", -1), ("garbage", 1),
    ("kept", -1), ("live", -1), ("garbage", -1),
)  # fmt: skip
"""Parameters with their direction; what turns answers most often comes first."""
_FIRST = {"in_flight": 256.0, "bytes": 64.0, "kept": 0.01, "live": 64.0, "garbage": 64.0}
"""The first value where the reader's is 0."""
_LEAST = {"in_flight": 1.0, "bytes": 16.0, "kept": 0.001, "live": 4.0, "garbage": 4.0}
_LARGEST = {"kept": 1.0, "bytes": 2.0**26}
_WHOLE = ("in_flight", "live")
_FACTOR, _STEPS = 4.0, 6
_SCREEN, _CONFIRM = 3, 8
"""Trials a side that show where a value leans; the most of each kind where it leans another way."""


@dataclass(frozen=True)
class Turn:
    """One parameter from the reader's value, ``yours``, in one direction: 1 is more, -1 is less. ``answer`` is what the
    answer turns to between ``low`` and ``high`` (``at``: their middle) because of ``by``, cost or losses; None where no
    value tried, ``up_to`` the last one, turns it."""

    parameter: str
    yours: float
    direction: int
    answer: str | None = None
    at: float | None = None
    low: float | None = None
    high: float | None = None
    by: str | None = None
    up_to: float | None = None


def course(of: Findings) -> Iterator[Cell]:
    """Yield the cells of the trials to run; add each trial to ``of`` before the next one is asked for."""
    places = [place for place in map(Place, of.workload.collectors) if not of.refused_at(place)]
    for paced, most in ((False, FEWEST), (True, _PACED_FIRST)):
        yield from _rounds(of, [cell for place in places for cell in of.cells(place, paced)], most)
    place = of.focus()
    # At the reader's rate, until it is known of each side whether it keeps up.
    yield from _unknown(of, place, lambda standing: _PACED_MOST if standing == UNKNOWN else 0)
    yield from _deciding(of, place, _NEAR_BLOCKS)
    yield from _rounds(of, [Cell(place.collector, name) for name in of.workload.strategies[2:]], FEWEST)
    yield from _edges(of, place)
    yield from _robustness(of, place.collector)
    yield from _deciding(of, place, math.inf)


def _rounds(of: Findings, cells: Sequence[Cell], most: int) -> Iterator[Cell]:
    """Rounds in random order, until each cell has so many trials."""
    for number in range(most):
        order = [cell for cell in cells if of.n(cell) <= number and not of.given_up(cell) and not of.refused(cell)]
        random.Random(number).shuffle(order)
        yield from order


def _unknown(of: Findings, place: Place, most: Callable[[str], int]) -> Iterator[Cell]:
    """Trials at the reader's rate, at most so many of a side by its standing."""
    while unknown := [
        cell for side, cell in zip(of.standings(place), of.cells(place, paced=True), strict=True)
        if of.n(cell) < most(side) and not of.given_up(cell)
    ]:  # fmt: skip
        yield min(unknown, key=of.n)


def _deciding(of: Findings, place: Place, near: float) -> Iterator[Cell]:
    """Trials up to the next looks, while the cost decides, is inconclusive, and takes ``near`` blocks at most."""
    cells = of.cells(place)
    while LOSES not in of.standings(place) and not any(map(of.given_up, cells)):
        found = of.comparison(place).decision
        look = next((size for size in LOOKS if size > found.n), None)
        if found.verdict != OPEN or found.blocks_needed is None or look is None or found.blocks_needed > near:
            return
        while min(len(of.costs(cell)) for cell in cells) < look and not any(map(of.given_up, cells)):
            yield min(cells, key=lambda cell: len(of.costs(cell)))


def _edges(of: Findings, place: Place) -> Iterator[Cell]:
    """Trials at the rates that show most, of the side whose edge is known least."""
    while wanted := [
        (-of.headroom(cell).width, -of.more_at_most(cell), cell._replace(rate_per_s=rate))
        for cell in of.cells(place)
        if not of.given_up(cell)
        and (rate := of.next_rate(cell)) is not None
        and not of.given_up(cell._replace(rate_per_s=rate))
    ]:
        yield min(wanted, key=lambda item: item[:2])[2]


def trials_lacking(of: Findings, place: Place) -> dict[Cell, int] | None:
    """Estimate the trials that an inconclusive answer still takes if they go on as they are, those for headroom before
    them included; None where no number would do or there are too few trials to estimate."""
    if of.standings(place) == findings.NEITHER_HOLDS:
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
            if found.blocks_needed > _NEAR_BLOCKS and of.next_rate(cell) is not None:
                lacking[of.paced(cell)] = lacking.get(of.paced(cell), 0) + of.more_at_most(cell)
    return lacking


def more_to_stand(lost: Sequence[bool]) -> int:
    """Estimate how many more trials show whether a strategy keeps up, if they go on as those so far; 100 is never."""
    found = list(lost)
    for losing in islice(cycle(lost or [False]), 100):
        if findings.standing(found) != UNKNOWN:
            break
        found.append(losing)
    return len(found) - len(lost)


def _robustness(of: Findings, collector: str) -> Iterator[Cell]:
    base = of.answer(Place(collector))
    for step in range(_STEPS if base != UNDECIDED else 0):
        for name, way in DIRECTIONS:
            values = _values(of, name, way)
            if step < len(values) and turn_of(of, collector, name, way).answer is None:
                before = values[step - 1] if step else of.workload.value_of(name)
                yield from _value(of, base, Place(collector, name, values[step]), before, step > 0)


def _value(of: Findings, base: str, place: Place, before: float, was_changed: bool) -> Iterator[Cell]:
    """Trials of one value: more where it leans another way, and of what lies between it and the value before."""
    if of.refused_at(place):
        return
    yield from _screening(of, place)
    if _leans(of, place, base) == base:
        return
    yield from _confirming(of, place)
    if not _turned(of, place, base):
        return
    middle = place._replace(value=_middle(place.changed, before, place.value))
    if middle.value not in (before, place.value):
        yield from _screening(of, middle)
        yield from _confirming(of, middle)
    if was_changed:
        yield from _confirming(of, place._replace(value=before))


def _values(of: Findings, name: str, way: int) -> list[float]:
    yours = of.workload.value_of(name)
    if yours == 0:
        return [_FIRST[name] * _FACTOR**step for step in range(_STEPS)] if way > 0 else []
    least = max(_LEAST[name], of.workload.threads if name == "in_flight" else 0)
    largest = _LARGEST.get(name, math.inf)
    values = [min(yours * _FACTOR ** (way * step), largest) for step in range(1, _STEPS + 1)]
    # Not rounded further: sizes must stay what they are to size classes.
    rounded = [float(round(value)) if name in _WHOLE else value for value in values if value >= least]
    return [value for value in dict.fromkeys(rounded) if way * (value - yours) > 0]


def _screening(of: Findings, place: Place) -> Iterator[Cell]:
    for _ in range(_SCREEN):
        for cell in of.cells(place):
            if of.n(cell) < _SCREEN and not of.given_up(cell):
                yield cell
    for cell in of.cells(place, paced=True):
        while of.n(cell) < (_SCREEN if any(of.lost(cell)) else 1) and not of.given_up(cell):
            yield cell


def _confirming(of: Findings, place: Place) -> Iterator[Cell]:
    """Trials until the answer at a place is shown, `FEWEST` a side at least; costs only if both sides hold."""
    free = of.cells(place)
    if not any(map(of.given_up, free)):
        yield from _unknown(of, place, lambda standing: _CONFIRM if standing == UNKNOWN else FEWEST)
    while LOSES not in of.standings(place) and (
        min(map(of.n, free)) < (_CONFIRM if of.answer(place) == UNDECIDED else FEWEST)
    ):
        yield min(free, key=of.n)


def _leans(of: Findings, place: Place, base: str) -> str:
    out = [of.mostly_lost(cell) for cell in of.cells(place)]
    if any(out):
        return findings.NEITHER if all(out) else findings.TAKE_FROM_POOL if out[0] else findings.ALLOCATE
    ratio = of.comparison(place).decision.ratio
    if math.isnan(ratio):
        return base
    if base == EITHER and 1 / effect_that_matters() <= ratio <= effect_that_matters():
        return EITHER
    return findings.TAKE_FROM_POOL if ratio > 1 else findings.ALLOCATE


def _turned(of: Findings, place: Place, base: str) -> bool:
    """Whether another answer is shown at a place; a difference that no longer matters is no turn."""
    return of.answer(place) not in (base, EITHER, UNDECIDED)


def turn_of(of: Findings, collector: str, name: str, way: int) -> Turn:
    """Return what the trials so far show of one parameter in one direction."""
    base, yours = of.answer(Place(collector)), of.workload.value_of(name)
    tried = _tried(of, collector, name, way)
    turning = [value for value in tried if _turned(of, Place(collector, name, value), base)]
    if base == UNDECIDED or not turning:
        return Turn(name, yours, way, up_to=tried[-1] if tried else None)
    place = Place(collector, name, turning[0])
    near = [value for value in (yours, *tried) if way * (value - place.value) < 0]
    near = [value for value in near if of.answer(of.at(collector, name, value)) == base]
    low, high = sorted((near[-1], place.value))
    by = "losses" if any(map(of.mostly_lost, of.cells(place))) else "cost"
    return Turn(name, yours, way, of.answer(place), _middle(name, low, high), low, high, by, place.value)


def _tried(of: Findings, collector: str, name: str, way: int) -> list[float]:
    """The values of one direction with enough trials to lean, outwards."""
    found, yours = set(), of.workload.value_of(name)
    for place in {Place(collector, name, c.value) for c in of.trials if (c.collector, c.changed) == (collector, name)}:
        screened = all(of.n(cell) >= _SCREEN or of.given_up(cell) for cell in of.cells(place))
        if way * (place.value - yours) > 0 and screened and all(map(of.n, of.cells(place, paced=True))):
            found.add(place.value)
    return sorted(found, reverse=way < 0)


def _middle(name: str, before: float, value: float) -> float:
    """The geometric mean; half of the larger one where the other is 0."""
    middle = math.sqrt(before * value) or max(before, value) / 2
    return float(round(middle)) if name in _WHOLE else float(f"{middle:.6g}")
