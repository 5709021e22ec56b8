"""How figures show strategies and cases, and the marks of cells in rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import EngFormatter

from allocpool import stats
from allocpool.evidence import style
from allocpool.evidence.style import GREY, STATED, by_panel, mark, size, stated
from allocpool.evidence.trials import records
from allocpool.packets.cells import configuration_of
from allocpool.packets.specs import no_such_pair
from allocpool.packets.strategies import STRATEGIES
from allocpool.runtimes.collectors import COLLECTORS

STRATEGY_STYLE = {name: (strategy.colour, strategy.marker) for name, strategy in STRATEGIES.items()}
"""Colour and marker."""
COLOURS = {name: strategy.colour for name, strategy in STRATEGIES.items()}
MARKS = {name: strategy.marker for name, strategy in STRATEGIES.items()}
BY_COLOUR = {"hue": "strategy", "palette": COLOURS}
BY_MARKER = {"style": "strategy", "markers": MARKS}
CASE_WORDS = {"A": "A: little alive", "A10k": "A, as its text", "B": "B: realistic", "C": "C: half alive"}
"""Titles of panels: how much of the heap is alive."""
ROW_INCHES = 0.42


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


def against(
    rows: pd.DataFrame, x: str, y: str, high: tuple[str, str], wide: tuple[str, str] | None = None, most: int = 4,
    **shape: Any,
) -> tuple[Any, list[Line2D]]:  # fmt: skip
    """Return a ``FacetGrid`` of ``y`` against ``x`` on logarithmic axes of the same range, with the line on which they
    are equal, and its legend; ``high`` and ``wide`` name the ends of the intervals of both."""
    shown, looks = by_collector(rows)
    grid = sns.relplot(shown, x=x, y=y, **looks, s=45, zorder=3, **shape)
    for _, axis, mine in by_panel(grid, shown):
        strokes: dict[str, Any] = {"colors": mine["key"].map(looks["palette"]), "linewidth": 1.6, "zorder": 2}
        axis.vlines(mine[x], mine[high[0]], mine[high[1]], **strokes)
        if wide:
            axis.hlines(mine[y], mine[wide[0]], mine[wide[1]], **strokes)
        axis.axline((1, 1), (2, 2), color=style.SILVER, linewidth=1, zorder=1)
    for which in "xy":
        style.log_axes(grid, which, shown[[x, y]].to_numpy(float).ravel(), 1.3, most)
    return grid, collector_and_strategy(shown)


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


def short_names(configurations: Sequence[str]) -> tuple[dict[str, str], str]:
    """Return each name without the options that all configurations of its language share, and these in words."""
    parts = pd.Series({name: name.split(" / ") for name in configurations})
    shared: dict[str, list[str]] = {}
    for is_cpp, mine in parts.groupby(parts.index.str.startswith("C++")):
        common = (
            [word for word in mine.iloc[0][1:] if all(word in words[1:] for words in mine)] if len(mine) > 1 else []
        )
        shared["C++" if is_cpp else "Java"] = [word for word in common if not word.isdigit()]
    short = {}
    for name, words in parts.items():
        kept = [word for word in words if word not in shared["C++" if str(name).startswith("C++") else "Java"]]
        short[str(name)] = " / ".join(kept).replace("generational", "gen.")
    if len(set(short.values())) < len(short):
        return {name: name for name in configurations}, ""
    return short, "; ".join(f"all {language}: {', '.join(words)}" for language, words in shared.items() if words)


def points(
    rows: pd.DataFrame, value: str, order: Sequence[str], hue: Mapping[str, tuple[str, str]], label: str, *,
    by: str = "strategy", y: str = "configuration", col: str | None = "case", col_order: Sequence[str] | None = None,
    columns: int | None = None, trials: pd.DataFrame | None = None, sharex: bool = True,
) -> Any:  # fmt: skip
    """Return a ``FacetGrid`` of marks with their intervals: rows ``order``, panels ``col_order``, and the marks of a
    row side by side by ``by``, whose colours and markers are ``hue``.

    Intervals are ``low`` and ``high``; rows without them are trials, and a mark is their median, its interval from the
    smallest to the largest. With ``trials``, which have the same columns, every trial is a thin stroke. Axes are
    linear; below them stand ``label`` and what the names of all configurations share.
    """
    names, height = list(hue), 0.7 + ROW_INCHES * max(len(order), 3)
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
        part_rows(axis, len(order))
        axis.set(xlabel="", ylabel="")
    if below := name_rows(grid, label, order, y in ("configuration", "row")):
        grid.figure.supxlabel(below)
    return grid


def name_rows(grid: Any, label: str, order: Sequence[str], configurations: bool = True) -> str:
    """Write names at the rows, of configurations as `short_names` has them; return the label for the axis below, with
    what these share."""
    short, found = short_names(order) if configurations else ({name: name for name in order}, "")
    for axis in grid.axes.flat:
        if axis.get_subplotspec().is_first_col():
            axis.set_yticks(range(len(order)), [two_lines(short[name]) for name in order])
    return f"{label}\n{found}" if found else label


def name_gaps(grid: Any, gaps: pd.DataFrame, order: Sequence[str]) -> None:
    """Write in the panels by case of `points`, in the row of each configuration, the ``gap_word`` of what has no mark
    there; pairs that a layout lacks on every machine are no gap of a measurement."""
    there = [no_such_pair(configuration_of(row), str(row.strategy)) is None for row in records(gaps)]
    gaps = gaps[pd.Series(there, index=gaps.index, dtype=bool)]
    for (case, configuration), group in gaps.groupby(["case", "configuration"], observed=True):
        axis = grid.axes_dict[case]
        axis.text(0.98, order.index(str(configuration)) + 0.3, ", ".join(sorted(set(group["gap_word"]))), ha="right",
                  va="center", style="italic", color=COLOURS[group["strategy"].iloc[0]] if len(group) == 1 else GREY,
                  transform=axis.get_yaxis_transform(), in_layout=False)  # fmt: skip


def panel_names(configurations: Sequence[str], most: int = 19) -> dict[str, str]:
    """Return titles of panels by configuration: short, in two lines."""
    return {name: two_lines(short, most) for name, short in short_names(configurations)[0].items()}


def two_lines(name: str, most: int = 24) -> str:
    """Return a name in two lines where it has more than so many characters."""
    places = [at for at in range(len(name)) if name.startswith(" / ", at)]
    if len(name) <= most or not places or "\n" in name:
        return name
    at = min(places, key=lambda place: max(place + 2, len(name) - place - 3))  # the longer line is as short as can be
    return f"{name[: at + 2]}\n{name[at + 3 :]}"


def part_rows(axis: Axes, count: int) -> None:
    """Draw thin lines between the rows, of which the first is on top."""
    for place in range(1, count):
        axis.axhline(place - 0.5, color=GREY, linewidth=0.3)
    axis.set_ylim(count - 0.5, -0.5)


def ends(rows: pd.DataFrame, value: str, names: Sequence[str], unit: str) -> str:
    """Return the least and the greatest row, by name, for readers who can't see the figure."""
    known = rows.dropna(subset=[value]).astype({value: float}).sort_values(value, kind="stable")
    found = [
        f"{stats.significant(row[value])} {unit} ({', '.join(str(row[name]) for name in names)})"
        for _, row in (known if len(known) < 2 else known.iloc[[0, -1]]).iterrows()
    ]
    return f"from {' to '.join(found)}" if len(found) > 1 else "".join(found) or "nothing measured"
