"""What to measure next, so that as many questions as possible are decided in the time there is.

A question asks which of two cells costs less. First every cell of a question gets `FEWEST` trials, in whole rounds, so
that none is early and none late; questions that would take many times what others take for that wait for them.
Then the time goes to the open questions that are nearest to a decision, by their own variances, up to the next look of
each. Primary questions that are decided follow until their interval is `NARROW`: an estimate that stops at its first
look is too large on average. Then come the other questions, and last what the time left can't decide. Verdicts stay
valid under that: they are made to be looked at whenever one likes (`allocpool.decisions`).
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

from allocpool.decisions import (
    A_CHEAPER,
    B_CHEAPER,
    EFFECT,
    EQUIVALENT,
    FEWEST,
    LOOKS,
    OPEN,
    Comparison,
    Decision,
    compare,
    together,
)

Cell = TypeVar("Cell", bound=Hashable)
_AT_ONCE = 2
"""Questions that a round is shared by, so that what disturbs a minute disturbs no question alone; with many at once a
short time ends with most of them half way."""
GIVEN_UP_AFTER = 2
"""Trials of a cell without a figure after which it gets no more."""
NARROW = 1.2
"""A ratio is known well enough where its interval reaches no further than so many times either way."""
_DEAR = 4.0
"""A primary question whose first trials take more than so many times what they take in the median waits for others."""


Judge = Callable[[Sequence[Any], Sequence[Any], float, float], Comparison]
"""Compares the figures of two sides in order of time, with the effect that matters, at a level."""


@dataclass(frozen=True)
class Question(Generic[Cell]):
    """Does cell ``a`` cost less than cell ``b``?

    Primary questions come before all others. Those of one ``family`` are decided together, primary ones apart from the
    others; ``effect`` is the smallest ratio that matters. ``judge`` compares the sides where a trial's figure is no
    cost by itself; it is equal to that of an equal question. ``about`` says what the sides are compared in, if that is
    only a part of them; ``fewest`` trials a side come before any open question gets more, for a question that is not
    primary only where it states how many.
    """

    a: Cell
    b: Cell
    primary: bool = True
    family: str = ""
    effect: float = EFFECT
    judge: Judge = compare
    about: str = ""
    fewest: int = FEWEST

    @property
    def comes_first(self) -> bool:
        """Whether its first trials come before any open question gets more."""
        return self.primary or self.fewest != FEWEST

    @property
    def cells(self) -> tuple[Cell, Cell]:
        return self.a, self.b


@dataclass(frozen=True)
class Progress(Generic[Cell]):
    """What has been measured: ``costs`` of each cell in order of time, or whatever the judge of its questions takes;
    trials without a figure (``failures``)."""

    costs: Mapping[Cell, Sequence[Any]]
    failures: Mapping[Cell, int]

    def n(self, cell: Cell) -> int:
        """Trials with a figure."""
        return len(self.costs.get(cell, ()))

    def given_up(self, question: Question[Cell]) -> bool:
        """Whether a side can't be measured."""
        return any(self.failures.get(cell, 0) >= GIVEN_UP_AFTER for cell in question.cells)


def decisions_of(questions: Sequence[Question[Cell]], progress: Progress[Cell]) -> list[Decision]:
    """The verdict on each question, each family's primary ones and its others decided together."""
    families: dict[tuple[str, bool, float], list[int]] = {}
    for k, question in enumerate(questions):
        families.setdefault((question.family, question.primary, question.effect), []).append(k)
    verdicts: dict[int, Decision] = {}
    for (_, _, effect), asked in families.items():
        judges = []
        for k in asked:
            a, b = (list(progress.costs.get(cell, ())) for cell in questions[k].cells)
            judges.append(partial(questions[k].judge, a, b, effect))
        verdicts |= {k: told.decision for k, told in zip(asked, together(judges), strict=True)}
    return [verdicts[k] for k in range(len(questions))]


@dataclass(frozen=True)
class Verdicts:
    """How many questions have ended how."""

    decided: int = 0
    """One side is cheaper."""
    equivalent: int = 0
    """No difference that matters."""
    open: int = 0

    def __add__(self, other: Verdicts) -> Verdicts:
        return Verdicts(self.decided + other.decided, self.equivalent + other.equivalent, self.open + other.open)


def verdicts_of(questions: Sequence[Question[Cell]], decisions: Sequence[Decision]) -> tuple[Verdicts, Verdicts]:
    """The numbers of primary questions and of the others."""
    counts = {
        primary: Counter(told.verdict for q, told in zip(questions, decisions, strict=True) if q.primary == primary)
        for primary in (True, False)
    }
    primary, secondary = (
        Verdicts(told[A_CHEAPER] + told[B_CHEAPER], told[EQUIVALENT], told[OPEN])
        for told in (counts[True], counts[False])
    )
    return primary, secondary


def first_round(
    questions: Sequence[Question[Cell]],
    progress: Progress[Cell],
    seconds: Callable[[Cell], float],
    left_s: float,
    dear: bool = False,
) -> dict[Cell, int]:
    """One more trial of each cell that has the fewest of those of first questions that have fewer than these ask for.

    Where the time left does not suffice for the first trials of all, questions come in their order as far as it does,
    and the others after them: half of the trials of everything decide nothing. Empty where none has too few, or none
    fits; dear questions take part only where asked for, or where time has no end. Other arguments as `next_round`.
    """
    asked = [question for question in questions if question.comes_first and not progress.given_up(question)]
    takes_s = [sum(map(seconds, question.cells)) for question in asked]
    limit_s = math.inf if dear or math.isinf(left_s) or not asked else _DEAR * statistics.median(takes_s)
    within = [question for question, each_s in zip(asked, takes_s, strict=True) if each_s <= limit_s]
    for part in (_affordable(within, progress, seconds, left_s), within):
        few = {cell: progress.n(cell) for q in part for cell in q.cells if progress.n(cell) < q.fewest}
        least = min(few.values(), default=0)
        if fitting := _fitting([{cell: 1} for cell, n in few.items() if n == least], seconds, left_s):
            return fitting
    return {}


def _affordable(
    asked: Sequence[Question[Cell]], progress: Progress[Cell], seconds: Callable[[Cell], float], left_s: float
) -> list[Question[Cell]]:
    """The questions whose first trials fit into the time left, in their order."""
    chosen, counted = [], set[Cell]()
    for question in asked:
        new = [cell for cell in question.cells if cell not in counted]
        needs_s = sum(max(0, question.fewest - progress.n(cell)) * seconds(cell) for cell in new)
        if needs_s <= left_s:
            chosen.append(question)
            counted.update(new)
            left_s -= needs_s
    return chosen


def next_round(
    questions: Sequence[Question[Cell]], progress: Progress[Cell], seconds: Callable[[Cell], float], left_s: float
) -> dict[Cell, int]:
    """How many more trials of which cells to run now; empty where all is decided or no time is left.

    ``seconds``: what a trial of a cell takes. The caller runs a round in random order and asks again.
    """
    if begun := first_round(questions, progress, seconds, left_s):
        return begun
    decided = list(zip(questions, decisions_of(questions, progress), strict=True))
    primary, others = ([each for each in decided if each[0].primary == so] for so in (True, False))
    for asked, needed, most_s in (
        (primary, _until_decided, left_s), (primary, _until_narrow, left_s), (others, _until_decided, left_s),
        (primary, _until_decided, math.inf), (others, _until_decided, math.inf),
    ):  # fmt: skip
        if fitting := _fitting(_nearest(asked, needed, progress, seconds, most_s), seconds, left_s):
            return fitting
    return {}


def _until_decided(decision: Decision) -> int | None:
    """Return how many more blocks an open question takes; None where it is decided, or too noisy."""
    return decision.blocks_needed if decision.verdict == OPEN else None


def _until_narrow(decision: Decision) -> int | None:
    """Return about how many more blocks it takes until the interval of a decided question is `NARROW`; None where it
    is."""
    if decision.verdict not in (A_CHEAPER, B_CHEAPER) or not 0 < decision.low <= decision.high < math.inf:
        return None
    width = math.log(decision.high / decision.low) / (2 * math.log(NARROW))
    return math.ceil(decision.used * (width**2 - 1)) if width > 1 else None


def _nearest(
    asked: Sequence[tuple[Question[Cell], Decision]],
    needed: Callable[[Decision], int | None],
    progress: Progress[Cell],
    seconds: Callable[[Cell], float],
    most_s: float,
) -> list[dict[Cell, int]]:
    """Return, for each of the questions that need least time, at most ``most_s``, the trials up to its next look."""
    nearest: list[tuple[float, int, dict[Cell, int]]] = []
    for question, decision in asked:
        blocks = needed(decision)
        if blocks is None or progress.given_up(question):
            continue
        look = next(size for size in LOOKS if size > decision.used)
        trials = {cell: max(0, look - progress.n(cell)) for cell in question.cells}
        cost_s = blocks * sum(seconds(cell) for cell in question.cells)
        if cost_s <= most_s:
            nearest.append((cost_s, len(nearest), trials))
    return [trials for _, _, trials in sorted(nearest, key=lambda item: item[:2])[:_AT_ONCE]]


def _fitting(wanted: Sequence[Mapping[Cell, int]], seconds: Callable[[Cell], float], left_s: float) -> dict[Cell, int]:
    """Those that fit into the time left, one after the other; a cell that several ask for is measured once."""
    taken: dict[Cell, int] = {}
    for trials in wanted:
        together = {**taken, **{cell: max(n, taken.get(cell, 0)) for cell, n in trials.items()}}
        if sum(n * seconds(cell) for cell, n in together.items()) <= left_s:
            taken = together
    return {cell: n for cell, n in taken.items() if n > 0}
