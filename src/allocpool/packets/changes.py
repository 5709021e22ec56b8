"""One thing changed about the cells of a comparison, for the explanations of claims that fail."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import pandas as pd

from allocpool.packets.comparisons import Cell
from allocpool.packets.specs import Configuration

_OF_CELL = ("strategy", "case")


class Change(NamedTuple):
    """One thing that is changed about both cells of a comparison, or about one of them.

    ``larger`` and ``smaller``: what becomes of the cells that the claim calls so, by field of `Configuration`,
    ``strategy`` or ``case``. ``where``: facts of both configurations without which there is nothing to change.
    """

    words: str
    larger: Mapping[str, str | bool] = MappingProxyType({})
    smaller: Mapping[str, str | bool] = MappingProxyType({})
    where: Mapping[str, str] = MappingProxyType({})

    def cells(self, cells: tuple[Cell, Cell], facts: Mapping[str, Any]) -> tuple[Cell, Cell] | None:
        """The cells after the change, or None where there is nothing to change; ``facts``: columns by configuration."""
        configurations = [Configuration.of(facts[cell.configuration]) for cell in cells]
        if any(
            getattr(configuration, name) != value
            for configuration in configurations
            for name, value in self.where.items()
        ):
            return None
        larger, smaller = (
            _changed(cell, configuration, to)
            for cell, configuration, to in zip(cells, configurations, (self.larger, self.smaller), strict=True)
        )
        return None if (larger, smaller) == cells else (larger, smaller)


def on_both(words: str, where: Mapping[str, str] | None = None, **to: str | bool) -> Change:
    """The same change about both cells."""
    return Change(words, to, to, where or {})


def facts_of(trials: pd.DataFrame) -> dict[str, Any]:
    """What the trials of each configuration tell of it, by configuration."""
    return {str(row["configuration"]): row for row in trials.drop_duplicates("configuration").to_dict("records")}


def _changed(cell: Cell, configuration: Configuration, to: Mapping[str, Any]) -> Cell:
    of_configuration = {name: value for name, value in to.items() if name not in _OF_CELL}
    of_cell = {name: str(value) for name, value in to.items() if name in _OF_CELL}
    return cell._replace(configuration=configuration.model_copy(update=of_configuration).label, **of_cell)
