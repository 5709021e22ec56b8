"""How robust an answer is: which parameter would turn it, and at what value.

One parameter at a time goes outwards by factors, until the answer turns or there is no more room. A value turns the
answer where that there is another one, by the rules of the reader's own (`findings.answer_of`); so it gets as many
trials as they ask for, `FEWEST` a side at least. Between the last value that leans as the reader's and the first that
leans the other way the logarithm of the ratio of costs is taken to be a line, and its crossing is reported, never
beyond values that were tried. Nothing is said of the shape in between: the interval goes from the last value at which
the answer is shown to be the reader's to the first at which it is shown to be the other one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from allocpool.decisions import FEWEST, compare, effect_that_matters
from allocpool.errors import UserError
from allocpool.stats import geometric_mean
from allocpool.studies.your_workload.findings import (
    ALLOCATE,
    EITHER,
    LOSES,
    NEITHER,
    TAKE_FROM_POOL,
    UNDECIDED,
    UNKNOWN,
    Findings,
    answer_of,
    standing,
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
"""Trials a side that say where a value leans; the most that a value that leans the other way gets, of each kind."""


@dataclass(frozen=True)
class Turn:
    """One parameter in one direction.

    Attributes:
        parameter, yours: its name and the reader's value.
        direction: 1 towards more, -1 towards less.
        answer: what the answer turns to; None where no value tried turns it.
        at, low, high: where it turns, and the two values tried between which that is shown to lie: of the reader's
            answer at one, of the other answer at the other.
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
    for value in values_of(of, name, way):
        if room_for(of, collector, name, value):
            return
        yield from _screening(of, collector, name, value)
        if leans(of, collector, base, name, value) != base:
            yield from _confirming(of, collector, name, value)
            if turned(of, collector, base, name, value):
                yield from _narrowing(of, collector, base, name, way)
                return
        yield None


def _narrowing(of: Findings, collector: str, base: str, name: str, way: int) -> Iterator[Cell]:
    """Trials on either side of where the answer turns: in the middle, and until it is shown what it is there."""
    before, value, shown = _bracket(of, collector, base, name, way)
    middle = _between(of, name, before, value)
    if middle is not None:
        yield from _screening(of, collector, name, middle)
    for each in (before, middle, value):
        if each is not None and each not in (shown, of.workload.value_of(name)):
            yield from _confirming(of, collector, name, each)


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


def _confirming(of: Findings, collector: str, name: str, value: float) -> Iterator[Cell]:
    """Trials until it is shown what the answer is with this value, by `FEWEST` a side; costs only if both keep up."""
    paced = both_sides(of, collector, name, value, of.workload.rate_per_s)
    free = both_sides(of, collector, name, value, None)
    while not any(map(of.given_up, free)):
        unknown = [
            cell for cell in paced
            if not of.given_up(cell) and of.n(cell) < _CONFIRM
            and (standing(of.lost(cell)) == UNKNOWN or of.n(cell) < FEWEST)
        ]  # fmt: skip
        if not unknown:
            break
        yield min(unknown, key=of.n)
    if LOSES in _standings(of, collector, name, value):
        return
    while not any(map(of.given_up, free)) and (
        min(map(of.n, free)) < FEWEST
        or (min(map(of.n, free)) < _CONFIRM and shown_at(of, collector, name, value) == UNDECIDED)
    ):
        yield min(free, key=of.n)


def _paced_and_free(of: Findings, collector: str, name: str, value: float) -> Iterator[tuple[Cell, Cell]]:
    """Of allocation, then of the pool, the cell at the reader's rate and the one that goes as fast as it can."""
    rate = of.workload.rate_per_s
    yield from zip(
        both_sides(of, collector, name, value, rate), both_sides(of, collector, name, value, None), strict=True
    )


def _standings(of: Findings, collector: str, name: str, value: float) -> tuple[str, str]:
    """Whether allocation, and the pool, keep up with another value, as `Findings.standing`; by `FEWEST` trials."""
    found = []
    for cell, free in _paced_and_free(of, collector, name, value):
        lost = of.lost(cell)
        known = standing(lost) if len(lost) >= FEWEST else UNKNOWN
        out = of.given_up(free) or (of.given_up(cell) and bool(lost) and all(lost))
        found.append(LOSES if out else known)
    return found[0], found[1]


def shown_at(of: Findings, collector: str, name: str, value: float) -> str:
    """The answer with another value, as far as it is shown; `NEITHER` where both are shown not to keep up."""
    if value == of.workload.value_of(name):
        return of.answer(collector)
    standings = _standings(of, collector, name, value)
    if standings == (LOSES, LOSES):
        return NEITHER
    alloc, pool = (of.costs(cell) for cell in both_sides(of, collector, name, value, None))
    return answer_of(standings, compare(alloc, pool).verdict)


def _out(of: Findings, collector: str, name: str, value: float) -> tuple[bool, bool]:
    """Whether most paced trials of allocation, and of the pool, lose too much there."""
    found = []
    for cell, free in _paced_and_free(of, collector, name, value):
        lost = of.lost(cell)
        found.append(of.given_up(free) or 2 * sum(lost) > len(lost))
    return found[0], found[1]


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
    if base == EITHER and abs(ratio) <= math.log(effect_that_matters()):
        return EITHER
    return TAKE_FROM_POOL if ratio > 0 else ALLOCATE


def turned(of: Findings, collector: str, base: str, name: str, value: float) -> bool:
    """Whether it is shown that the answer is another one there; one that no longer matters has not turned."""
    return shown_at(of, collector, name, value) not in (base, EITHER, UNDECIDED)


def turn_of(of: Findings, collector: str, name: str, way: int) -> Turn:
    """What the trials so far say of one parameter in one direction."""
    base, yours = of.answer(collector), of.workload.value_of(name)
    tried = _tried(of, collector, name, way)
    if base == UNDECIDED or not tried:
        why = None
        for value in values_of(of, name, way)[:1]:
            why = room_for(of, collector, name, value)
        return Turn(name, yours, way, ended=why)
    if any(turned(of, collector, base, name, value) for value in tried):
        return _turn_between(of, collector, base, name, way)
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


def _tried(of: Findings, collector: str, name: str, way: int) -> list[float]:
    """The values of one direction that say where they lean, outwards."""
    return [value for value in values_of(of, name, way) if _screened(of, collector, name, value)]


def _bracket(of: Findings, collector: str, base: str, name: str, way: int) -> tuple[float, float, float]:
    """The last value that leans as the reader's own before the first that is shown to turn the answer; the first after
    it, which leans as that one; and that one."""
    tried = [of.workload.value_of(name), *_tried(of, collector, name, way)]
    shown = next(place for place, value in enumerate(tried) if place and turned(of, collector, base, name, value))
    answer = shown_at(of, collector, name, tried[shown])
    first = shown
    while first > 1 and leans(of, collector, base, name, tried[first - 1]) == answer:
        first -= 1
    return tried[first - 1], tried[first], tried[shown]


def _turn_between(of: Findings, collector: str, base: str, name: str, way: int) -> Turn:
    yours = of.workload.value_of(name)
    before, value, shown = _bracket(of, collector, base, name, way)
    answer = shown_at(of, collector, name, shown)
    middle = _between(of, name, before, value)
    known = [yours, *_tried(of, collector, name, way)]
    if middle is not None and _screened(of, collector, name, middle):
        known.append(middle)
        if leans(of, collector, base, name, middle) == answer:
            value = middle
        else:
            before = middle
    inside = [each for each in known if way * (each - shown) <= 0]
    far = min((each for each in inside if shown_at(of, collector, name, each) == answer), key=lambda each: way * each)
    near = max(
        (each for each in inside if way * (each - far) < 0 and shown_at(of, collector, name, each) == base),
        key=lambda each: way * each,
    )
    by_cost = not any(_by_losses(of, collector, name, each) for each in (before, value, shown))
    at = _crossing(of, collector, base, name, before, value) if by_cost else _middle(of, name, before, value)
    # What is shown goes before what a line between two values says.
    at = min(max(at, min(near, far)), max(near, far))
    return Turn(name, yours, way, answer, at, min(near, far), max(near, far), COST if by_cost else LOSSES, shown)


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


def _crossing(of: Findings, collector: str, base: str, name: str, before: float, value: float) -> float:
    """Where a line between two values tried crosses the ratio of costs that turns the answer; one of them where it
    crosses beyond."""
    ratios = []
    for each in (before, value):
        alloc, pool = (of.costs(cell) for cell in both_sides(of, collector, name, each, None))
        ratios.append(compare(alloc, pool).decision.ratio)
    low, high = map(math.log, ratios)
    if math.isnan(low + high) or low == high:
        return _middle(of, name, before, value)
    target = math.copysign(math.log(effect_that_matters()), high) if base == EITHER else 0.0
    share = min(1.0, max(0.0, (target - low) / (high - low)))
    ends = _place(of, name, before), _place(of, name, value)
    return _value_at(of, name, ends[0] + share * (ends[1] - ends[0]))
