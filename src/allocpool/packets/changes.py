"""One thing changed about the cells of a comparison, for the explanations of claims that fail."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import pandas as pd

from allocpool.packets.comparisons import Cell
from allocpool.packets.specs import Solution

_OF_CELL = ("strategy", "case")


class Change(NamedTuple):
    """One thing that is changed about both cells of a comparison, or about one of them.

    ``larger`` and ``smaller``: what becomes of the cells that the claim calls so, by field of `Solution`, ``strategy``
    or ``case``. ``where``: facts of both solutions without which there is nothing to change.
    """

    words: str
    larger: Mapping[str, str | bool] = MappingProxyType({})
    smaller: Mapping[str, str | bool] = MappingProxyType({})
    where: Mapping[str, str] = MappingProxyType({})

    def cells(self, cells: tuple[Cell, Cell], facts: Mapping[str, Any]) -> tuple[Cell, Cell] | None:
        """The cells after the change, or None where there is nothing to change; ``facts``: columns by solution."""
        solutions = [Solution.of(facts[cell.solution]) for cell in cells]
        if any(getattr(solution, name) != value for solution in solutions for name, value in self.where.items()):
            return None
        larger, smaller = (
            _changed(cell, solution, to)
            for cell, solution, to in zip(cells, solutions, (self.larger, self.smaller), strict=True)
        )
        return None if (larger, smaller) == cells else (larger, smaller)


def on_both(words: str, where: Mapping[str, str] | None = None, **to: str | bool) -> Change:
    """The same change about both cells."""
    return Change(words, to, to, where or {})


def facts_of(trials: pd.DataFrame) -> dict[str, Any]:
    """What the trials of each solution tell of it, by solution."""
    return {str(row["solution"]): row for row in trials.drop_duplicates("solution").to_dict("records")}


def _changed(cell: Cell, solution: Solution, to: Mapping[str, Any]) -> Cell:
    of_solution = {name: value for name, value in to.items() if name not in _OF_CELL}
    of_cell = {name: str(value) for name, value in to.items() if name in _OF_CELL}
    return cell._replace(solution=solution.model_copy(update=of_solution).label, **of_cell)
