"""Claims as data: the ``claims.yaml`` of a study, tested on a table of cells.

A test expects every cell of ``larger`` to cost more than ``factor`` times each cell of ``smaller`` that agrees with it
in all keys but those that ``smaller`` or ``differ`` names. Published figures are cells of one block.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
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
    of_orderings,
)
from allocpool.evidence.claims import sentence as sentence
from allocpool.evidence.figures import no_figures
from allocpool.evidence.trials import NOT_PART

Value = str | int | float | bool | None
Selection = dict[str, Value | list[Value]]
"""Columns of cells with the value, or one of the values, that each must have."""


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Test(_Model):
    """One expected ordering of cells, for every two that it selects."""

    larger: Selection
    smaller: Selection = Field(default={}, description="without any: the next smaller one by `rising`")
    differ: list[str] = Field(default=[], description="keys that may differ besides those that `smaller` names")
    rising: str | None = None
    value: float | None = Field(default=None, description="a published figure in place of a smaller cell")
    over: Selection | None = Field(default=None, description="each side over its own cell that differs in this")
    factor: float = Field(default=1.0, gt=0)
    measured: bool = Field(default=False, description="only cells that have a figure take part")
    cheapest: list[str] = Field(default=[], description="of each side the cheapest over these keys")
    compare: Literal["costs", "means", "within", "equal"] = Field(
        default="costs", description="means may be negative; within: ratios of the same trials; equal: within `factor`"
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
    needs_all: bool | None = None


class ClaimsFile(_Model):
    """A ``claims.yaml``: what all its claims have unless they say otherwise, and the claims."""

    source: str
    set_ups: list[str] = [""]
    needs_all: bool = False
    usual: Selection = Field(default={}, description="what cells have where a selection does not name the column")
    claims: list[Declared]


@dataclass(frozen=True, eq=False)
class Cell:
    """One thing that was measured: its columns, its name, its figures by block, and why it has none.

    ``weak``: why it compares nothing beside another one that is so.
    """

    facts: Mapping[str, Any]
    label: str
    values: pd.Series
    gap: str = NOT_PART.word
    weak: str = ""

    def has(self, selection: Selection) -> bool:
        """Whether its columns have these values."""
        return all(self.facts[name] in (value if isinstance(value, list) else [value])
                   for name, value in selection.items())  # fmt: skip

    def at(self, names: Sequence[str]) -> tuple[Any, ...]:
        """Its values of these columns."""
        return tuple(self.facts[name] for name in names)


@dataclass(frozen=True)
class Cells:
    """What claims are put to: cells in reading order, and the columns ``keys`` that tell them apart."""

    cells: Sequence[Cell]
    keys: tuple[str, ...]

    @cached_property
    def by_key(self) -> dict[tuple[Any, ...], Cell]:
        """Each cell by its keys."""
        return {cell.at(self.keys): cell for cell in self.cells}

    def other(self, cell: Cell, differs: Selection) -> Cell | None:
        """The cell that differs from this one only so."""
        return self.by_key.get(tuple({**cell.facts, **differs}[name] for name in self.keys))


CellOrdering = Ordering


@dataclass(frozen=True, eq=False)
class Cheapest(Ordering):
    """An expected ordering of the cheapest cell of either side, which the same trials choose.

    Every one is put to every one of the other side, and the choice is paid for (`decisions.p_cheapest`). The ratio is
    that of the two which look cheapest; its interval holds for all pairs at once (Bonferroni).
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
    def equivalent(self) -> bool:
        return self.comparison.ratio is not None and self._chances[2] <= decisions.ALPHA


def orderings(tests: Sequence[Test], cells: Cells, usual: Selection) -> list[Ordering]:
    """Everything that the tests of a claim expect of these cells."""
    return [found for test in tests for found in _orderings(test, cells, usual)]


def _orderings(test: Test, cells: Cells, usual: Selection) -> Iterator[Ordering]:
    # Of a ratio, only cells that have another side to be over.
    known = [cell for cell in cells.cells if test.over is None or cells.other(cell, test.over)]
    known = [cell for cell in known if len(cell.values)] if test.measured else known
    larger = [cell for cell in known if cell.has({**usual, **test.larger})]
    if test.value is not None:
        for cell in larger:
            compared = decisions.compare_with(cell.values, test.value, test.factor)
            yield Equality(cell.label, f"the published {test.value:g}", compared, gaps=_gaps(cell), cells=((cell,), ()),
                         factor=test.factor)  # fmt: skip
        return
    if test.rising:
        rest = [name for name in cells.keys if name != test.rising]
        by_size = sorted(larger, key=lambda cell: cell.facts[test.rising or ""])
        for _, sizes in _grouped(by_size, rest).items():
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
                    yield _ordering(test, cells, one, other)
        return
    rest = [name for name in cells.keys if name not in test.cheapest]
    for side in _grouped(larger, rest).values():
        for others in _grouped(smaller_of.get(side[0].at(same), []), rest).values():
            if side != others:
                yield _cheapest(test, side, others)


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
    kind, times = (Equality, "") if test.compare == "equal" else (Ordering, _times(test.factor))
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
    return decisions.compare_means(top, bottom) if test.compare == "means" else decisions.compare(top, bottom)


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
    """Single published figures, of which there is one each: as said where they lie so, whatever the margin."""
    rows = of_orderings(expected).rows
    shown = []
    for item, ratio in zip(expected, rows["ratio"].astype(float), strict=True):
        if isinstance(item, Equality):
            alike = 1 / item.factor <= ratio <= item.factor
            shown.append(NOT_MEASURED if math.isnan(ratio) else AS_PUBLISHED if alike else OTHER_WAY)
        else:
            shown.append(SHOWN.get(np.sign(round(math.log(ratio), 9)), NOT_MEASURED))
    rows = rows.assign(shown=shown)
    return Evidence(rows[rows["shown"] != NOT_MEASURED].reset_index(drop=True))


Odd = tuple[Callable[[Any], Evidence], Callable[[], Evidence]]
"""What no test can say: evidence of a campaign's data, and that of the published figures."""


class Claims(tuple[Claim[Any], ...]):
    """The claims of a study, with the tests behind them."""

    file: ClaimsFile

    def orderings(self, id: str, cells: Cells) -> list[Ordering]:
        """What one claim expects of these cells, in the order of its rows of evidence."""
        tests = next(item.tests for item in self.file.claims if item.id == id)
        return orderings(tests, cells, self.file.usual)


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
            expected = orderings(item.tests, cells_of(data), result.usual)
            return of_orderings(expected, _missing(item.speaks_of, expected))

        @cache
        def of_source() -> Evidence:
            return as_published(orderings(item.tests, published(), result.usual)) if published else no_figures()

        of_data, of_figures = (functions or {})[item.function] if item.function else (evidence, of_source)
        needs_all = result.needs_all if item.needs_all is None else item.needs_all
        return Claim(
            item.id, item.words, item.source or result.source, of_data, needs_all=needs_all,
            refuted_by=item.refuted_by, published=of_figures if published else None, asks=item.asks,
            set_ups=tuple(item.set_ups or result.set_ups),
        )  # fmt: skip

    found = Claims(map(claim, result.claims))
    found.file = result
    return found
