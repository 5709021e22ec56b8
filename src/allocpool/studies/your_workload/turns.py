"""How robust an answer is: which parameter would turn it, and at what value.

One parameter at a time goes outwards by factors, until the answer turns or there is no more room. A value that seems to
turn it gets as many trials as a decision asks for. Between the last value that does not and the first that does, the
logarithm of the ratio of costs is taken to be a line, and its crossing is told; but nothing is said of the shape in
between, so its interval goes from the last value that is shown not to turn the answer to the first that is shown to
(Student's t, with the spread that all of these trials share).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import special

from allocpool.decisions import ALPHA, EFFECT, EQUIVALENT, FEWEST, OPEN, compare
from allocpool.errors import UserError
from allocpool.stats import geometric_mean
from allocpool.studies.your_workload.findings import (
    ALLOCATE,
    EITHER,
    NEITHER,
    TAKE_FROM_POOL,
    UNDECIDED,
    Findings,
)
from allocpool.studies.your_workload.headroom import FACTOR
from allocpool.studies.your_workload.workload import Cell

COST, LOSSES = "cost", "losses"
ORDER = (
    ("in_flight", 1), ("live", 1), ("bytes", 1), ("in_flight", -1), ("kept", 1), ("bytes", -1), ("garbage", 1),
    ("kept", -1), ("live", -1), ("garbage", -1),
)  # fmt: skip
"""Parameters with the direction that they go, in the order of what turns answers most often."""
_FIRST = {"in_flight": 256.0, "bytes": 64.0, "kept": 0.01, "live": 64.0, "garbage": 64.0}
"""The first value where the reader's is 0."""
_LEAST = {"in_flight": 1.0, "bytes": 16.0, "kept": 0.001, "live": 4.0, "garbage": 4.0}
_LARGEST = {"kept": 1.0, "bytes": 2.0**26}
_STEPS = 6
_SCREEN, _CONFIRM = 3, 8
"""Trials a side that say where a value leans; the most that a value that leans the other way gets."""


@dataclass(frozen=True)
class Turn:
    """One parameter in one direction.

    Attributes:
        parameter, yours: its name and the reader's value.
        direction: 1 towards more, -1 towards less.
        answer: what the answer turns to; None where no value tried turns it.
        at, low, high: where it turns, and the two values tried between which that is shown to lie.
        by: whether cost or losses turn it.
        up_to: the last value tried; None where none was.
        ended: why no further one was.
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
    """The trials to run, each chosen when those before it are known: one value of each parameter, then the next."""
    base = of.answer(collector)
    if base == UNDECIDED:
        return
    open_walks = [_walk(of, collector, base, name, way) for name, way in ORDER if values_of(of, name, way)]
    while open_walks:
        still = []
        for walk in open_walks:
            more = False
            for cell in walk:
                if cell is None:  # a value is done
                    more = True
                    break
                yield cell
            if more:
                still.append(walk)
        open_walks = still


def _walk(of: Findings, collector: str, base: str, name: str, way: int) -> Iterator[Cell | None]:
    """The trials of one parameter; None after each value."""
    before = of.workload.value_of(name)
    for value in values_of(of, name, way):
        if room_for(of, collector, name, value):
            return
        yield from _screening(of, collector, name, value)
        leaning = leans(of, collector, base, name, value)
        if leaning == base:
            before = value
            yield None
            continue
        yield from _confirming(of, collector, base, name, value)
        if turned(of, collector, base, name, value):
            middle = _between(of, name, before, value)
            if middle is not None:
                yield from _screening(of, collector, name, middle)
            return
        before = value
        yield None


def values_of(of: Findings, name: str, way: int) -> list[float]:
    """What is tried of a parameter, outwards."""
    yours = of.workload.value_of(name)
    if yours == 0:
        return [_FIRST[name] * FACTOR**step for step in range(_STEPS)] if way > 0 else []
    values = [yours * FACTOR ** (way * step) for step in range(1, _STEPS + 1)]
    least, largest = max(_LEAST[name], of.workload.threads if name == "in_flight" else 0), _LARGEST.get(name, math.inf)
    if way > 0 and yours < largest:
        values = [*(value for value in values if value < largest), *([largest] if values[-1] >= largest else [])]
    # Not rounded further: sizes must stay what they are to size classes.
    kept = [
        float(round(value)) if name in ("in_flight", "live") else value for value in values if least <= value <= largest
    ]
    return [value for value in dict.fromkeys(kept) if value != yours]


def room_for(of: Findings, collector: str, name: str, value: float) -> str | None:
    """Why a value can't be tried, or None."""
    for cell in _cells(of, collector, name, value, None) or ():
        if refused := of.refused(cell):
            return refused
    return None if _cells(of, collector, name, value, None) else _why_not(of, name, value)


def _why_not(of: Findings, name: str, value: float) -> str | None:
    try:
        of.workload.changed_to(name, value)
    except UserError as error:
        return str(error)
    return None


def _cells(of: Findings, collector: str, name: str, value: float, rate: float | None) -> tuple[Cell, Cell] | None:
    """Both sides with one parameter changed; the pool may be another one there. None where there is no room."""
    if value == of.workload.value_of(name):
        alloc, pool = of.workload.sides
        return Cell(collector, alloc, rate), Cell(collector, pool, rate)
    try:
        alloc, pool = of.workload.changed_to(name, value).sides
    except UserError:
        return None
    return Cell(collector, alloc, rate, name, value), Cell(collector, pool, rate, name, value)


def both_sides(of: Findings, collector: str, name: str, value: float, rate: float | None) -> tuple[Cell, Cell]:
    """Allocation and the pool with one parameter changed, at a rate or as fast as it goes."""
    cells = _cells(of, collector, name, value, rate)
    if cells is None:
        raise ValueError(f"there is no room for {name} {value}")
    return cells


def _screening(of: Findings, collector: str, name: str, value: float) -> Iterator[Cell]:
    rate = of.workload.rate_per_s
    costs, paced = both_sides(of, collector, name, value, None), both_sides(of, collector, name, value, rate)
    for _ in range(_SCREEN):
        for cell in costs:
            if of.n(cell) < _SCREEN and not of.given_up(cell):
                yield cell
    for cell in paced:
        while of.n(cell) < (_SCREEN if any(of.lost(cell)) else 1) and not of.given_up(cell):
            yield cell


def _confirming(of: Findings, collector: str, base: str, name: str, value: float) -> Iterator[Cell]:
    rate = of.workload.rate_per_s
    for cell in both_sides(of, collector, name, value, rate):
        while of.n(cell) < _SCREEN and not of.given_up(cell):
            yield cell
    if _by_losses(of, collector, name, value):
        return
    cells = both_sides(of, collector, name, value, None)
    while min(map(of.n, cells)) < FEWEST or (
        not turned(of, collector, base, name, value)
        and leans(of, collector, base, name, value) != base
        and min(map(of.n, cells)) < _CONFIRM
    ):
        if any(map(of.given_up, cells)):
            return
        yield min(cells, key=of.n)


def _out(of: Findings, collector: str, name: str, value: float) -> tuple[bool, bool]:
    """Whether most paced trials of allocation, and of the pool, lose too much there."""
    told = []
    for cell, free in zip(
        both_sides(of, collector, name, value, of.workload.rate_per_s),
        both_sides(of, collector, name, value, None),
        strict=True,
    ):
        lost = of.lost(cell)
        told.append(of.given_up(free) or 2 * sum(lost) > len(lost))
    return told[0], told[1]


def _by_losses(of: Findings, collector: str, name: str, value: float) -> bool:
    return any(_out(of, collector, name, value))


def leans(of: Findings, collector: str, base: str, name: str, value: float) -> str:
    """Where the answer leans with another value, by what trials there are."""
    out = _out(of, collector, name, value)
    if all(out):
        return NEITHER
    if any(out):
        return TAKE_FROM_POOL if out[0] else ALLOCATE
    alloc, pool = (of.costs(cell) for cell in both_sides(of, collector, name, value, None))
    if not alloc or not pool:
        return base
    ratio = math.log(geometric_mean(alloc) / geometric_mean(pool))
    if base == EITHER and abs(ratio) <= math.log(EFFECT):
        return EITHER
    return TAKE_FROM_POOL if ratio > 0 else ALLOCATE


def turned(of: Findings, collector: str, base: str, name: str, value: float) -> bool:
    """Whether it is shown that the answer is another one there."""
    leaning = leans(of, collector, base, name, value)
    if leaning == base:
        return False
    if _by_losses(of, collector, name, value):
        return min(of.n(cell) for cell in both_sides(of, collector, name, value, of.workload.rate_per_s)) >= _SCREEN
    alloc, pool = (of.costs(cell) for cell in both_sides(of, collector, name, value, None))
    return compare(alloc, pool).verdict not in (OPEN, EQUIVALENT)


def turn_of(of: Findings, collector: str, name: str, way: int) -> Turn:
    """What the trials so far say of one parameter in one direction."""
    base, yours = of.answer(collector), of.workload.value_of(name)
    tried = [value for value in values_of(of, name, way) if _screened(of, collector, name, value)]
    if base == UNDECIDED or not tried:
        why = None
        for value in values_of(of, name, way)[:1]:
            why = room_for(of, collector, name, value)
        return Turn(name, yours, way, ended=why)
    before = yours
    for value in tried:
        if turned(of, collector, base, name, value):
            return _turn_between(of, collector, base, name, way, before, value)
        before = value
    following = [value for value in values_of(of, name, way) if value not in tried]
    ended = room_for(of, collector, name, following[0]) if following else "no further value makes sense"
    if leaning := [value for value in tried if leans(of, collector, base, name, value) != base]:
        ended = f"{leaning[0]:,.10g} leans the other way, which is not shown"
        tried = tried[: tried.index(leaning[0])]
    return Turn(name, yours, way, up_to=tried[-1] if tried else None, ended=ended)


def _screened(of: Findings, collector: str, name: str, value: float) -> bool:
    cells = _cells(of, collector, name, value, None)
    paced = _cells(of, collector, name, value, of.workload.rate_per_s)
    if cells is None or paced is None:
        return False
    return all(of.n(cell) >= _SCREEN or of.given_up(cell) for cell in cells) and all(map(of.n, paced))


def _turn_between(
    of: Findings, collector: str, base: str, name: str, way: int, before: float, value: float
) -> Turn:  # fmt: skip
    yours = of.workload.value_of(name)
    answer = leans(of, collector, base, name, value)
    by = LOSSES if _by_losses(of, collector, name, value) or _by_losses(of, collector, name, before) else COST
    shown = value
    middle = _between(of, name, before, value)
    if middle is not None and _screened(of, collector, name, middle):
        if leans(of, collector, base, name, middle) == base:
            before = middle
        else:
            value = middle
    if by == LOSSES:
        low, high = sorted((before, shown))
        return Turn(name, yours, way, answer, _middle(of, name, before, value), low, high, by, shown)
    at, low, high = _crossing(of, collector, base, name, (before, value, shown))
    return Turn(name, yours, way, answer, at, low, high, by, shown)


def _between(of: Findings, name: str, before: float, value: float) -> float | None:
    """The value that halves a step; None where there is none between."""
    middle = _middle(of, name, before, value)
    middle = float(round(middle)) if name in ("in_flight", "live") else float(f"{middle:.6g}")
    return middle if middle not in (before, value) and middle > 0 else None


def _place(of: Findings, name: str, value: float) -> float:
    """Where a value lies on the axis on which steps are even: logarithmic, and shifted where the reader's is 0."""
    return math.log(value) if of.workload.value_of(name) else math.log1p(value / _FIRST[name])


def _value_at(of: Findings, name: str, place: float) -> float:
    return math.exp(place) if of.workload.value_of(name) else _FIRST[name] * math.expm1(place)


def _middle(of: Findings, name: str, before: float, value: float) -> float:
    return _value_at(of, name, (_place(of, name, before) + _place(of, name, value)) / 2)


def _crossing(
    of: Findings, collector: str, base: str, name: str, values: tuple[float, float, float]
) -> tuple[float, float, float]:
    """Where the ratio crosses what turns the answer, and the two values tried between which that is shown to lie.

    ``values``: the last that does not turn it, the first that seems to, the first that is decided to.
    """
    before, value, shown = values
    yours = of.workload.value_of(name)
    tried = [place for place in (yours, *values_of(of, name, 1), *values_of(of, name, -1)) if place != value]
    between = {place for place in (*tried, before) if min(yours, before) <= place <= max(yours, before)}
    inside = sorted(between, key=lambda place: abs(place - yours))
    sides = {
        place: [np.log(of.costs(cell)) for cell in both_sides(of, collector, name, place, None)]
        for place in (*inside, value)
        if _screened(of, collector, name, place) or place == yours
    }
    sides = {place: both for place, both in sides.items() if all(side.size for side in both)}
    every = [side for both in sides.values() for side in both]
    freedom = max(1, sum(side.size - 1 for side in every))
    spread = math.sqrt(sum(float(((side - side.mean()) ** 2).sum()) for side in every) / freedom)
    reach = -float(special.stdtrit(freedom, ALPHA / 2)) * spread
    middles = {place: float(alloc.mean() - pool.mean()) for place, (alloc, pool) in sides.items()}
    halves = {place: reach * math.sqrt(1 / alloc.size + 1 / pool.size) for place, (alloc, pool) in sides.items()}
    target = math.copysign(math.log(EFFECT), middles[value]) if base == EITHER else 0.0
    sign = math.copysign(1.0, middles[value] - target)
    near, far = yours, value if sign * (middles[value] - target) > halves[value] else shown
    for place in inside:
        if place in sides and sign * (middles[place] - target) + halves[place] < 0:
            near = place
    share = (target - middles[before]) / (middles[value] - middles[before])
    ends = _place(of, name, before), _place(of, name, value)
    at = _value_at(of, name, ends[0] + min(1.0, max(0.0, share)) * (ends[1] - ends[0]))
    return at, min(near, far), max(near, far)
