"""Claims as data: the ``claims.yaml`` of a study, tested on a table of cells.

A test expects every cell of ``larger`` to cost more than ``factor`` times each cell of ``smaller`` that agrees with it
in all keys but those that ``smaller`` or ``differ`` names. Published figures are cells of one block.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import yaml
from pydantic import BaseModel, ConfigDict, Field

from allocpool import decisions, stats
from allocpool.decisions import Comparison
from allocpool.evidence.claims import (
    AS_PUBLISHED,
    NOT_MEASURED,
    OTHER_WAY,
    SHOWN,
    Claim,
    Equality,
    Evidence,
    Frequency,
    Missing,
    Ordering,
    RefutedBy,
    no_figures,
    of_orderings,
)
from allocpool.evidence.claims import sentence as sentence
from allocpool.evidence.trials import NOT_PART

Value = str | int | float | bool | None
Selection = dict[str, Value | list[Value]]
"""Columns of cells, each with the value or the list of values that it may have."""


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Test(_Model):
    """One expected ordering of cells, for every two that it selects."""

    larger: Selection
    smaller: Selection = Field(default={}, description="without any: the next smaller one by `rising`")
    differ: list[str] = Field(default=[], description="keys that may differ besides those that `smaller` names")
    rising: str | None = None
    value: float | None = Field(default=None, description="a published figure in place of a smaller cell")
    between: tuple[float, float] | None = Field(default=None, description="a published range in its place")
    at_most: float | None = Field(default=None, description="a published limit in its place")
    strong: bool = Field(default=False, description="where any comparison is not of weak cells, only such take part")
    over: Selection | None = Field(default=None, description="each side over its own cell that differs in this")
    factor: float = Field(default=1.0, gt=0)
    measured: bool = Field(default=False, description="only cells that have a figure take part")
    cheapest: list[str] = Field(default=[], description="of each side the cheapest over these keys")
    compare: Literal["costs", "means", "within", "equal", "not_less", "keeps_up", "loses"] = Field(
        default="costs",
        description="means may be negative; within: ratios of the same trials; equal: within `factor`; "
        "not_less: not smaller by more than the equivalence margin; keeps_up and loses: of `larger` alone, by the "
        "study's own judge",
    )


class Declared(_Model):
    """One claim of a ``claims.yaml``; see `allocpool.evidence.claims.Claim`."""

    id: str
    words: str
    source: str | None = None
    tests: list[Test] = []
    function: str | None = Field(default=None, description="what no test can say: a function of the study")
    set_ups: list[str] | None = None
    asks: Frequency = "every"
    refuted_by: RefutedBy = "one"
    speaks_of: list[Selection] = Field(default=[], description="missing where no such cell is compared")
    lacks: str | None = Field(default=None, description="what is missing where nothing is compared")
    best: bool = Field(default=False, description="of all comparisons the one with the largest ratio")
    needs_all: bool | None = None


class ClaimsFile(_Model):
    """A ``claims.yaml``: defaults of its claims, and the claims."""

    source: str
    set_ups: list[str] = [""]
    needs_all: bool = False
    usual: Selection = Field(default={}, description="what cells have where a selection does not name the column")
    claims: list[Declared]


@dataclass(frozen=True, eq=False)
class Cell:
    """One thing that was measured: its columns, its name, its figures by block, and why it has none.

    ``weak``: why two such cells are not compared.
    """

    facts: Mapping[str, Any]
    label: str
    values: pd.Series
    gap: str = NOT_PART.word
    weak: str = ""

    def has(self, selection: Selection) -> bool:
        """Return whether its columns have these values."""
        return all(self.facts[name] in (value if isinstance(value, list) else [value])
                   for name, value in selection.items())  # fmt: skip

    def at(self, names: Sequence[str]) -> tuple[Any, ...]:
        """Return its values of these columns."""
        return tuple(self.facts[name] for name in names)

    def over(self, other: Cell, factor: float) -> Comparison:
        """Return its comparison with ``factor`` times another one."""
        return decisions.compare(self.values, factor * other.values)


@dataclass(frozen=True)
class Cells:
    """What claims are tested on: cells in reading order, and the columns ``keys`` that tell them apart.

    ``why``: by claim, why it has nothing to compare, where the campaign is not the reason. ``judge``: compares the
    larger side of a test with the smaller one where cells have no costs; of a test that has no smaller side, that is
    empty.
    """

    cells: Sequence[Cell]
    keys: tuple[str, ...]
    why: Mapping[str, str] = field(default_factory=dict)
    judge: Callable[[Test, Sequence[Cell], Sequence[Cell]], Ordering] | None = None

    @cached_property
    def by_key(self) -> dict[tuple[Any, ...], Cell]:
        """Each cell by its keys."""
        return {cell.at(self.keys): cell for cell in self.cells}

    def other(self, cell: Cell, differs: Selection) -> Cell | None:
        """Return the cell that differs from this one only in these columns."""
        return self.by_key.get(tuple({**cell.facts, **differs}[name] for name in self.keys))


CellOrdering = Ordering


@dataclass(frozen=True)
class _NotLess(Ordering):
    """An expected ordering in which ``larger`` may be smaller within the equivalence margin."""

    @property
    def p(self) -> float:
        return math.nan if self.comparison.ratio is None else self.comparison.p_above(1 / self.comparison.effect)

    @property
    def p_equal(self) -> float:
        return math.nan

    @property
    def equivalent(self) -> bool:
        return False


@dataclass(frozen=True)
class Judged(Ordering):
    """An expected ordering whose p values the study computes; NaN where a side has no figure."""

    chances: tuple[float, float] | None = field(default=(math.nan, math.nan), kw_only=True)

    @property
    def equivalent(self) -> bool:
        return False


@dataclass(frozen=True, eq=False)
class Cheapest(Ordering):
    """An expected ordering of the cheapest cell of either side, which the same trials choose.

    Each is compared with all of the other side, adjusted for the choice (`decisions.p_cheapest`). The ratio is that of
    the two which look cheapest; its interval holds for all pairs at once (Bonferroni).
    """

    @cached_property
    def _chances(self) -> tuple[float, float, float]:
        larger, smaller = (
            {cell.label: factor * cell.values for cell in side if len(cell.values)}
            for factor, side in zip((1.0, self.factor), self.cells, strict=True)
        )
        effect = self.comparison.effect
        reverse = decisions.p_cheapest(larger, smaller, effect)
        within = (decisions.p_cheapest(smaller, larger, 1 / effect), decisions.p_cheapest(larger, smaller, 1 / effect))
        return decisions.p_cheapest(smaller, larger), reverse, max(within)

    @property
    def p(self) -> float:
        return math.nan if self.comparison.ratio is None else self._chances[0]

    @property
    def p_against(self) -> float:
        return math.nan if self.comparison.ratio is None else self._chances[1]

    @property
    def p_equal(self) -> float:
        return math.nan if self.comparison.ratio is None or self.factor != 1.0 else self._chances[2]

    @property
    def equivalent(self) -> bool:
        return self.comparison.ratio is not None and self._chances[2] <= decisions.ALPHA


def orderings(tests: Sequence[Test], cells: Cells, usual: Selection) -> list[Ordering]:
    """Return the orderings that the tests of a claim expect of these cells."""
    found = []
    for test in tests:
        every = list(_orderings(test, cells, usual))
        strong = [item for item in every if not all(cell.weak for side in item.cells for cell in side)]
        found += (strong or every) if test.strong else every
    return found


def _best(expected: list[Ordering]) -> list[Ordering]:
    """Return the ordering with the largest ratio, adjusted for the choice (Bonferroni); all must be reversed to refute
    it."""
    known = [item for item in expected if item.comparison.ratio is not None]
    if not known:
        return expected[:1]
    best = max(known, key=lambda item: item.comparison.decision.ratio)
    chances = min(1.0, len(known) * min(item.p for item in known)), max(item.p_against for item in known)
    return [Ordering(best.larger, best.smaller, best.comparison, cells=best.cells, factor=best.factor, chances=chances)]


def _orderings(test: Test, cells: Cells, usual: Selection) -> Iterator[Ordering]:
    # Of a ratio, only cells that have another side to be over.
    known = [cell for cell in cells.cells if test.over is None or cells.other(cell, test.over)]
    known = [cell for cell in known if len(cell.values)] if test.measured else known
    larger = [cell for cell in known if cell.has({**usual, **test.larger})]
    rest = [name for name in cells.keys if name not in test.cheapest]
    if cells.judge and not test.smaller:
        yield from (cells.judge(test, side, ()) for side in _grouped(larger, rest).values())
        return
    stated = test.between or (test.value and (test.value, test.value))
    if stated:
        low, high = stated
        middle, factor = math.sqrt(low * high), test.factor * math.sqrt(high / low)
        published = f"the published {low:g}" + (f" to {high:g}" if test.between else "")
        for cell in larger:
            compared = decisions.compare_with(cell.values, middle, factor)
            yield Equality(cell.label, published, compared, gaps=_gaps(cell), cells=((cell,), ()), factor=factor)
        return
    if test.at_most is not None:
        for cell in larger:
            values = cell.values.iloc[:0] if cell.weak else cell.values
            yield Ordering(f"at most {test.at_most:g}", cell.label,
                               decisions.compare_with(1 / values, 1 / test.at_most), cell.weak or cell.gap,
                               cells=((cell,), ()))  # fmt: skip
        return
    if test.rising:
        fixed = [name for name in cells.keys if name != test.rising]
        by_size = sorted(larger, key=lambda cell: cell.facts[test.rising or ""])
        for _, sizes in _grouped(by_size, fixed).items():
            for smaller, more in itertools.pairwise(sizes):
                yield _ordering(test, cells, more, smaller)
        return
    same = [name for name in cells.keys if name not in {*test.smaller, *test.differ}]
    smaller_of: dict[tuple[Any, ...], list[Cell]] = _grouped(
        [cell for cell in known if cell.has({**usual, **test.smaller})], same
    )
    if not test.cheapest:
        for one in larger:
            for other in smaller_of.get(one.at(same), []):
                if one is not other:
                    yield cells.judge(test, [one], [other]) if cells.judge else _ordering(test, cells, one, other)
        return
    for side in _grouped(larger, rest).values():
        for rivals in _grouped(smaller_of.get(side[0].at(same), []), rest).values():
            if side != rivals:
                yield (cells.judge or _cheapest)(test, side, rivals)


def _grouped(cells: Sequence[Cell], names: Sequence[str]) -> dict[tuple[Any, ...], list[Cell]]:
    groups: dict[tuple[Any, ...], list[Cell]] = {}
    for cell in cells:
        groups.setdefault(cell.at(names), []).append(cell)
    return groups


def _gaps(*cells: Cell) -> tuple[Missing, ...]:
    return tuple(Missing(cell.label, cell.gap) for cell in dict.fromkeys(cells) if cell.values.empty)


def _times(factor: float) -> str:
    return "" if factor == 1.0 else f"{factor:g} times "


def _ordering(test: Test, cells: Cells, larger: Cell, smaller: Cell) -> Ordering:
    sides: list[tuple[Cell, ...]] = [(larger,), (smaller,)]
    if test.over is not None:
        sides = [tuple(filter(None, (cell, cells.other(cell, test.over)))) for cell in (larger, smaller)]
    names = [" / ".join(cell.label for cell in side) for side in sides]
    kinds: dict[str, type[Ordering]] = {"equal": Equality, "not_less": _NotLess}
    kind, times = kinds.get(test.compare, Ordering), "" if test.compare == "equal" else _times(test.factor)
    weak = larger.weak and smaller.weak
    return kind(
        names[0], f"{times}{names[1]}", decisions.compare([], []) if weak else _comparison(test, *sides),
        weak or "no block has a figure of both",
        gaps=_gaps(*sides[0], *sides[1]), cells=(sides[0], sides[1]), factor=test.factor,
    )  # fmt: skip


def _comparison(test: Test, larger: Sequence[Cell], smaller: Sequence[Cell]) -> Comparison:
    top, bottom = larger[0].values, smaller[0].values
    if test.compare == "equal":
        return decisions.compare(top, bottom, test.factor)
    bottom = test.factor * bottom
    if test.over is not None:
        return decisions.compare_products([top, smaller[1].values], [larger[1].values, bottom])
    if test.compare == "within":
        return decisions.compare_with(stats.block_ratios(top, bottom), 1.0)
    return decisions.compare_means(top, bottom) if test.compare == "means" else larger[0].over(smaller[0], test.factor)


def _cheapest(test: Test, larger: Sequence[Cell], smaller: Sequence[Cell]) -> Ordering:
    known = [[cell for cell in side if len(cell.values)] for side in (larger, smaller)]
    best = [min(some, key=lambda cell: stats.geometric_mean(cell.values), default=side[0])
            for some, side in zip(known, (larger, smaller), strict=True)]  # fmt: skip
    alpha = decisions.ALPHA / max(1, len(known[0]) * len(known[1]))
    return Cheapest(
        best[0].label, f"{_times(test.factor)}{best[1].label}",
        decisions.compare(best[0].values, test.factor * best[1].values, alpha=alpha),
        gaps=_gaps(*best), factor=test.factor,
        cells=(tuple(known[0] or best[:1]), tuple(known[1] or best[1:])),
    )  # fmt: skip


def _missing(speaks_of: Sequence[Selection], expected: Sequence[Ordering]) -> Iterator[Missing]:
    compared = [cell for item in expected for side in item.cells for cell in side]
    for selection in speaks_of:
        lists = [value if isinstance(value, list) else [value] for value in selection.values()]
        for values in itertools.product(*lists):
            if not any(cell.has(dict(zip(selection, values, strict=True))) for cell in compared):
                yield Missing(" ".join(map(str, values)), NOT_PART.word)


def as_published(expected: Sequence[Ordering]) -> Evidence:
    """Return single published figures as evidence: as published where they lie so, whatever the margin."""
    rows = of_orderings(expected).rows
    shown = []
    for item, ratio, found in zip(expected, rows["ratio"].astype(float), rows["shown"], strict=True):
        if isinstance(item, Judged):
            shown.append(found)
        elif isinstance(item, Equality):
            alike = 1 / item.factor <= ratio <= item.factor
            shown.append(NOT_MEASURED if math.isnan(ratio) else AS_PUBLISHED if alike else OTHER_WAY)
        else:
            # A factor that is just reached is reached.
            sign = np.sign(round(math.log(ratio), 9)) or item.factor != 1
            shown.append(SHOWN.get(sign, NOT_MEASURED))
    rows = rows.assign(shown=shown)
    return Evidence(rows[rows["shown"] != NOT_MEASURED].reset_index(drop=True))


Odd = tuple[Callable[[Any], Evidence], Callable[[], Evidence]]
"""What no test can express: functions for the evidence of a campaign's data, and of the published figures."""


class Claims(tuple[Claim[Any], ...]):
    """The claims of a study with their tests."""

    file: ClaimsFile

    def orderings(self, id: str, cells: Cells) -> list[Ordering]:
        """Return what one claim expects of these cells, in the order of its rows of evidence."""
        return _expected(next(item for item in self.file.claims if item.id == id), cells, self.file.usual)


def _expected(item: Declared, cells: Cells, usual: Selection) -> list[Ordering]:
    found = orderings(item.tests, cells, usual)
    return _best(found) if item.best else found


def claims_of(
    study: str,
    cells_of: Callable[[Any], Cells] = lambda data: data,
    published: Callable[[], Cells] | None = None,
    functions: Mapping[str, Odd] | None = None,
    file: str = "claims.yaml",
) -> Claims:
    """Return the claims of a study's ``claims.yaml``.

    Args:
        study: the folder's name.
        cells_of: makes cells of what claims are put to.
        published: the source's own figures, as cells of one block.
        functions: by name, those that claims of the file name.
        file: another one of the folder.
    """
    path = Path(__file__).parents[1] / "studies" / study / file
    result = ClaimsFile.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))

    def claim(item: Declared) -> Claim[Any]:
        def evidence(data: Any) -> Evidence:
            cells = cells_of(data)
            expected = _expected(item, cells, result.usual)
            missing = [*_missing(item.speaks_of, expected)]
            if item.lacks and not expected:
                missing.append(Missing(item.lacks, cells.why.get(item.id, NOT_PART.word)))
            return of_orderings(expected, missing)

        @cache
        def of_source() -> Evidence:
            return as_published(_expected(item, published(), result.usual)) if published else no_figures()

        of_data, of_figures = (functions or {})[item.function] if item.function else (evidence, of_source)
        needs_all = result.needs_all if item.needs_all is None else item.needs_all
        return Claim(
            item.id, item.words, item.source or result.source, of_data, needs_all=needs_all,
            refuted_by=item.refuted_by, asks=item.asks, set_ups=tuple(item.set_ups or result.set_ups),
            published=of_figures if published and (item.function or not item.source) else None,
        )  # fmt: skip

    found = Claims(map(claim, result.claims))
    found.file = result
    return found
