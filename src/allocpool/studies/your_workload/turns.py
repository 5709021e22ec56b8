"""How robust an answer is: which parameter turns it, and between which values.

One parameter at a time goes outwards by factors. At each value a few trials show where the answer leans. Where it leans
another way, more trials judge it as the reader's own workload is judged (`Findings.answer`). A turn lies between the
last value with the reader's answer and the first with another one, both shown.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from allocpool.decisions import FEWEST, effect_that_matters
from allocpool.studies.your_workload.findings import (
    ALLOCATE,
    EITHER,
    LOSES,
    NEITHER,
    TAKE_FROM_POOL,
    UNDECIDED,
    UNKNOWN,
    Findings,
    Place,
)
from allocpool.studies.your_workload.workload import Cell

COST, LOSSES = "cost", "losses"
ORDER = (
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
    """One parameter in one direction.

    Attributes:
        parameter, yours: its name and the reader's value.
        direction: 1 towards more, -1 towards less.
        answer: what the answer turns to; None where no value tried turns it.
        low, high: the two values between which it is shown to turn; ``at``: their middle.
        by: whether cost or losses turn it.
        up_to: the last value tried, or None.
        ended: why no further value was tried.
    """

    parameter: str
    yours: float
    direction: int
    answer: str | None = None
    at: float | None = None
    low: float | None = None
    high: float | None = None
    by: str | None = None
    up_to: float | None = None
    ended: str | None = None


def walks(of: Findings, collector: str) -> Iterator[Cell]:
    """Yield the trials to run, each chosen when those before it are known: one value of each parameter, then the next
    one outwards."""
    base = of.answer(Place(collector))
    if base == UNDECIDED:
        return
    for step in range(_STEPS):
        for name, way in ORDER:
            values = values_of(of, name, way)
            if step < len(values) and turn_of(of, collector, name, way).answer is None:
                yield from _value(of, collector, base, name, values, step)


def _value(of: Findings, collector: str, base: str, name: str, values: list[float], step: int) -> Iterator[Cell]:
    place = Place(collector, name, values[step])
    if of.refused_at(place):
        return
    yield from _screening(of, place)
    if leans(of, place, base) == base:
        return
    yield from _confirming(of, place)
    if not _turned(of, place, base):
        return
    before = values[step - 1] if step else of.workload.value_of(name)
    middle = _middle(name, before, place.value)
    if middle not in (before, place.value):
        yield from _screening(of, Place(collector, name, middle))
        yield from _confirming(of, Place(collector, name, middle))
    if step:
        yield from _confirming(of, Place(collector, name, before))


def values_of(of: Findings, name: str, way: int) -> list[float]:
    """Return what is tried of a parameter in a direction, outwards."""
    yours = of.workload.value_of(name)
    if yours == 0:
        return [_FIRST[name] * _FACTOR**step for step in range(_STEPS)] if way > 0 else []
    least = max(_LEAST[name], of.workload.threads if name == "in_flight" else 0)
    largest = _LARGEST.get(name, math.inf)
    values = [yours * _FACTOR ** (way * step) for step in range(1, _STEPS + 1)]
    if way > 0 and yours < largest:
        values = [min(value, largest) for value in values]
    # Not rounded further: sizes must stay what they are to size classes.
    rounded = [float(round(value)) if name in _WHOLE else value for value in values if least <= value <= largest]
    return [value for value in dict.fromkeys(rounded) if value != yours]


def _screening(of: Findings, place: Place) -> Iterator[Cell]:
    """Yield trials that show where a value leans."""
    for _ in range(_SCREEN):
        for cell in of.cells(place):
            if of.n(cell) < _SCREEN and not of.given_up(cell):
                yield cell
    for cell in of.cells(place, paced=True):
        while of.n(cell) < (_SCREEN if any(of.lost(cell)) else 1) and not of.given_up(cell):
            yield cell


def _confirming(of: Findings, place: Place) -> Iterator[Cell]:
    """Yield trials until the answer at a place is shown, `FEWEST` a side at least; costs only if both sides hold."""
    free, paced = of.cells(place), of.cells(place, paced=True)
    while not any(map(of.given_up, free)):
        unknown = [
            side for cell, side in zip(free, paced, strict=True)
            if of.n(side) < (_CONFIRM if of.standing(cell) == UNKNOWN else FEWEST) and not of.given_up(side)
        ]  # fmt: skip
        if not unknown:
            break
        yield min(unknown, key=of.n)
    while LOSES not in of.standings(place) and (
        min(map(of.n, free)) < (_CONFIRM if of.answer(place) == UNDECIDED else FEWEST)
    ):
        yield min(free, key=of.n)


def leans(of: Findings, place: Place, base: str) -> str:
    """Return where the answer leans at a place, by what trials there are."""
    out = [of.mostly_lost(cell) for cell in of.cells(place)]
    if any(out):
        return NEITHER if all(out) else TAKE_FROM_POOL if out[0] else ALLOCATE
    ratio = of.comparison(place).decision.ratio
    if math.isnan(ratio):
        return base
    if base == EITHER and 1 / effect_that_matters() <= ratio <= effect_that_matters():
        return EITHER
    return TAKE_FROM_POOL if ratio > 1 else ALLOCATE


def _turned(of: Findings, place: Place, base: str) -> bool:
    """Return whether another answer is shown at a place; a difference that no longer matters is no turn."""
    return of.answer(place) not in (base, EITHER, UNDECIDED)


def turn_of(of: Findings, collector: str, name: str, way: int) -> Turn:
    """Return what the trials so far show of one parameter in one direction."""
    base, yours = of.answer(Place(collector)), of.workload.value_of(name)
    values = values_of(of, name, way)
    tried = tried_values(of, collector, name, way)
    turning = [value for value in tried if _turned(of, Place(collector, name, value), base)]
    if base == UNDECIDED or not turning:
        following = [value for value in values if value not in tried]
        ended = of.refused_at(Place(collector, name, following[0])) if following else "no further value makes sense"
        return Turn(name, yours, way, up_to=tried[-1] if tried else None, ended=ended)
    place = Place(collector, name, turning[0])
    near = [value for value in (yours, *tried) if way * (value - place.value) < 0]
    near = [value for value in near if of.answer(of.at(collector, name, value)) == base]
    low, high = sorted((near[-1], place.value))
    by = LOSSES if any(map(of.mostly_lost, of.cells(place))) else COST
    return Turn(name, yours, way, of.answer(place), _middle(name, low, high), low, high, by, place.value)


def tried_values(of: Findings, collector: str, name: str, way: int) -> list[float]:
    """Return the values of one direction with enough trials to lean, outwards."""
    yours = of.workload.value_of(name)
    values = {cell.value for cell in of.trials if (cell.collector, cell.changed) == (collector, name)}
    return sorted(
        (value for value in values if way * (value - yours) > 0 and _screened(of, Place(collector, name, value))),
        key=lambda value: way * value,
    )


def _screened(of: Findings, place: Place) -> bool:
    free, paced = of.cells(place), of.cells(place, paced=True)
    return all(of.n(cell) >= _SCREEN or of.given_up(cell) for cell in free) and all(map(of.n, paced))


def _middle(name: str, before: float, value: float) -> float:
    """The geometric mean; half of the larger one where the other is 0."""
    middle = math.sqrt(before * value) or max(before, value) / 2
    return float(round(middle)) if name in _WHOLE else float(f"{middle:.6g}")
