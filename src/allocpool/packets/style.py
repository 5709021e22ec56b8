"""How figures show strategies and cases, and the marks of cells in rows."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import seaborn as sns
from matplotlib.lines import Line2D
from matplotlib.ticker import EngFormatter

from allocpool.evidence import style
from allocpool.evidence.style import GREY, STATED, by_panel, mark, size, stated
from allocpool.evidence.trials import spelled_out
from allocpool.packets.strategies import STRATEGIES
from allocpool.runtimes.collectors import COLLECTORS

STRATEGY_STYLE = {name: (strategy.colour, strategy.marker) for name, strategy in STRATEGIES.items()}
COLOURS = {name: strategy.colour for name, strategy in STRATEGIES.items()}
MARKS = {name: strategy.marker for name, strategy in STRATEGIES.items()}
BY_COLOUR = {"hue": "strategy", "palette": COLOURS}
BY_MARKER = {"style": "strategy", "markers": MARKS}
CASE_WORDS = {"A": "A: little alive", "A10k": "A, as its text", "B": "B: realistic", "C": "C: half alive"}
"""Titles of panels: how much of the heap is alive."""


def by_collector(rows: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Return rows with ``key``, a collector or C++, and seaborn's arguments for it: colours are collectors, markers
    strategies."""
    language = rows["language"] if "language" in rows else ["java"] * len(rows)
    keyed = rows.assign(key=[style.collector_key(*pair) for pair in zip(language, rows["collector"], strict=True)])
    palette = {key: style.colour_of(key) for key in keyed["key"].unique()}
    return keyed, {"hue": "key", "palette": palette, **BY_MARKER, "legend": False}


def collector_and_strategy(rows: pd.DataFrame) -> list[Line2D]:
    """Return the legend entries of rows by `by_collector`: collectors in table order, C++, strategies."""
    labels = {**{row.name: row.label for row in COLLECTORS.values()}, style.CPP: style.CPP}
    keys, strategies = set(rows["key"]), set(rows["strategy"])
    colours = [mark(label, style.colour_of(key), "o") for key, label in labels.items() if key in keys]
    return [*colours, *(mark(name, GREY, marker) for name, marker in MARKS.items() if name in strategies)]


def lines(cells: pd.DataFrame, x: str, order: Sequence[str]) -> tuple[Any, list[Line2D]]:
    """Return a ``FacetGrid`` of ``ns`` with its interval over ``x``, both logarithmic, a panel for each of ``order`` in
    column ``panel``, a line per strategy; and its legend."""
    grid = sns.relplot(
        stated(cells, "ns"), x=x, y="ns", kind="line", **BY_COLOUR, **BY_MARKER, dashes=False, **style.BARS,
        legend=False, **style.panels("panel", order, 2.4),
    )  # fmt: skip
    style.log_axes(grid, "x", cells[x])
    for axis in grid.axes.flat:
        axis.xaxis.set_major_formatter(EngFormatter(sep=""))
    style.log_axes(grid, "y", [*cells["low"], *cells["high"]])
    return grid, [mark(label, *look, line="-") for label, look in strategy_looks(cells).items()]


def strategy_looks(rows: pd.DataFrame) -> dict[str, tuple[str, str]]:
    """Return colour and marker of the strategies that these rows have, in their order."""
    among = set(rows["strategy"])
    return {name: look for name, look in STRATEGY_STYLE.items() if name in among}


def points(
    rows: pd.DataFrame, value: str, order: Sequence[str], hue: Mapping[str, tuple[str, str]], label: str, *,
    by: str = "strategy", y: str = "configuration", col: str | None = "case", col_order: Sequence[str] | None = None,
    columns: int | None = None, trials: pd.DataFrame | None = None, sharex: bool = True,
) -> Any:  # fmt: skip
    """Return a ``FacetGrid`` of marks with their intervals: rows ``order``, panels ``col_order``, and the marks of a
    row side by side by ``by``, whose colours and markers are ``hue``.

    Intervals are ``low`` and ``high``; rows without them are trials, and a mark is their median, its interval from the
    smallest to the largest. With ``trials``, which have the same columns, every trial is a thin stroke. Axes are
    linear; ``label`` stands below them.
    """
    names, height = list(hue), 0.7 + 0.42 * max(len(order), 3)
    apart = y != by and 0.8 * (1 - 1 / len(names))
    colours = {name: colour for name, (colour, _) in hue.items()}
    shared = {"x": value, "y": y, "hue": by, "hue_order": names, "palette": colours, "order": list(order)}
    shape = style.panels(col, col_order or (), height, columns or len(col_order or ())) if col else size(1, height)
    grid = sns.catplot(
        stated(rows, value) if "low" in rows else rows.astype({value: float}), kind="point", **shared, **STATED,
        dodge=apart or False, markers=[marker for _, marker in hue.values()], linestyle="none",
        linewidth=1.6, markersize=5, legend=False, sharex=sharex, **shape,
    )  # fmt: skip
    for _, axis, mine in by_panel(grid, trials.astype({value: float})) if trials is not None else ():
        sns.stripplot(mine, **shared, dodge=bool(apart), jitter=False, marker="|", size=7, linewidth=0.8, alpha=0.6,
                      legend=False, ax=axis)  # fmt: skip
    for axis in grid.axes.flat:
        for place in range(1, len(order)):
            axis.axhline(place - 0.5, color=GREY, linewidth=0.3)
        axis.set(xlabel="", ylabel="", ylim=(len(order) - 0.5, -0.5))
    if below := name_rows(grid, label, order):
        grid.figure.supxlabel(below)
    return grid


def name_rows(grid: Any, label: str, order: Sequence[str]) -> str:
    """Write names at the rows, in two lines where they are long; return ``label``."""
    for axis in grid.axes.flat:
        if axis.get_subplotspec().is_first_col():
            axis.set_yticks(range(len(order)), [two_lines(name) for name in order])
    return label


def two_lines(name: str, most: int = 24) -> str:
    """Return a name as a stranger reads it, in two lines where it has more than so many characters, or in several of
    34."""
    name = re.sub(r" / (\d\d)\b", r", JDK \1", str(spelled_out(name)).replace("generational", "gen."))
    name = name.replace(" / ", ", ")
    return textwrap.fill(name, min(34, max(most, len(name) // 2 + 5)), break_long_words=False)
