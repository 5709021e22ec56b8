"""One thing changed about the cells of a comparison, for the explanations of claims that fail."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import pandas as pd

from allocpool.packets.comparisons import Cell
from allocpool.packets.specs import Configuration


class Change(NamedTuple):
    """One change of both cells of a comparison, or of one of them.

    ``larger`` and ``smaller``: new values for the cells that the claim calls so, by field of `Configuration`,
    ``strategy`` or ``case``. ``where``: facts of both configurations without which there is nothing to change.
    """

    words: str
    larger: Mapping[str, str | bool] = MappingProxyType({})
    smaller: Mapping[str, str | bool] = MappingProxyType({})
    where: Mapping[str, str] = MappingProxyType({})

    def cells(self, cells: tuple[Cell, Cell], facts: Mapping[str, Any]) -> tuple[Cell, Cell] | None:
        """Return the cells after the change, or None where there is nothing to change; ``facts``: see `facts_of`."""
        larger, smaller = (Configuration.of(facts[cell.configuration]) for cell in cells)
        if any(getattr(one, name) != value for one in (larger, smaller) for name, value in self.where.items()):
            return None
        changed = _changed(cells[0], larger, self.larger), _changed(cells[1], smaller, self.smaller)
        return None if changed == cells else changed


def on_both(words: str, where: Mapping[str, str] | None = None, **to: str | bool) -> Change:
    """Return the same change of both cells."""
    return Change(words, to, to, where or {})


def facts_of(trials: pd.DataFrame) -> dict[str, Any]:
    """Return the first trial of each configuration, by its name."""
    return {str(row["configuration"]): row for row in trials.drop_duplicates("configuration").to_dict("records")}


def _changed(cell: Cell, configuration: Configuration, to: Mapping[str, Any]) -> Cell:
    of_cell = {name: str(value) for name, value in to.items() if name in ("strategy", "case")}
    others = {name: value for name, value in to.items() if name not in of_cell}
    return cell._replace(configuration=configuration.model_copy(update=others).label, **of_cell)
