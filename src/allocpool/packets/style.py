"""How figures tell strategies and cases apart, and cells of one row from each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from allocpool import stats
from allocpool.evidence.style import GREY, STATED, collector_handles, mark, size, stated
from allocpool.packets.strategies import STRATEGIES

STRATEGY_STYLE = {name: (strategy.colour, strategy.marker) for name, strategy in STRATEGIES.items()}
"""Colour and marker."""
COLOURS = {name: strategy.colour for name, strategy in STRATEGIES.items()}
MARKS = {name: strategy.marker for name, strategy in STRATEGIES.items()}
CASE_WORDS = {"A": "A: little alive", "A10k": "A, as its text", "B": "B: realistic", "C": "C: half alive"}
"""Titles of panels: how much of the heap is alive."""
ROW_INCHES = 0.42


def collector_and_strategy(rows: pd.DataFrame) -> list[Line2D]:
    """Legend entries where colours mean collectors, and strategies are told by marker alone."""
    shapes = [mark(name, GREY, MARKS[name]) for name in STRATEGIES if name in set(rows["strategy"])]
    return [*collector_handles(set(rows["key"])), *shapes]


def strategy_looks(rows: pd.DataFrame) -> dict[str, tuple[str, str]]:
    """Colour and marker of the strategies that these rows have, in their order."""
    among = set(rows["strategy"])
    return {name: look for name, look in STRATEGY_STYLE.items() if name in among}


def short_names(solutions: Sequence[str]) -> tuple[dict[str, str], str]:
    """Each name without the options that all solutions of its language share, and these in words."""
    parts = {name: name.split(" / ") for name in solutions}
    shared: dict[str, list[str]] = {}
    for language in ("Java", "C++"):
        mine = [words[1:] for name, words in parts.items() if name.startswith("C++") == (language == "C++")]
        common = [word for word in (mine[0] if mine else []) if all(word in words for words in mine)]
        shared[language] = [word for word in common if len(mine) > 1 and not word.isdigit()]
    short = {
        name: " / ".join(
            word.replace("generational", "gen.")
            for word in words
            if word not in shared["C++" if name.startswith("C++") else "Java"]
        )
        for name, words in parts.items()
    }
    told = "; ".join(f"all {language}: {', '.join(words)}" for language, words in shared.items() if words)
    return (short, told) if len(set(short.values())) == len(short) else ({name: name for name in solutions}, "")


def points(
    rows: pd.DataFrame, value: str, order: Sequence[str], hue: Mapping[str, tuple[str, str]], label: str, *,
    by: str = "strategy", y: str = "solution", col: str | None = "case", col_order: Sequence[str] | None = None,
    columns: int | None = None, trials: pd.DataFrame | None = None, sharex: bool = True,
) -> Any:  # fmt: skip
    """A ``FacetGrid`` of marks with their intervals: rows ``order``, panels ``col_order``, and the marks of a row
    beside each other by ``by``, whose colours and markers are ``hue``.

    Intervals are ``low`` and ``high``; where the rows have none they are trials, and a mark is their median, its
    interval from the smallest to the largest. With ``trials``, which have the same columns, every trial is a thin
    stroke. Axes are linear; below them stand ``label`` and what the names of all solutions share.
    """
    names, columns = list(hue), columns or len(col_order or [0])
    apart = y != by and 0.8 * (1 - 1 / len(names))
    colours = {name: colour for name, (colour, _) in hue.items()}
    shared = {"x": value, "y": y, "hue": by, "hue_order": names, "palette": colours, "order": list(order)}
    grid = sns.catplot(
        stated(rows, value) if "low" in rows else rows.astype({value: float}), kind="point", **shared, **STATED,
        dodge=apart or False, markers=[marker for _, marker in hue.values()], linestyle="none",
        linewidth=1.6, markersize=5, legend=False, col=col, col_order=col_order, col_wrap=columns if col else None,
        sharex=sharex, **size(columns, 0.7 + ROW_INCHES * max(len(order), 3)),
    )  # fmt: skip
    for name, axis in grid.axes_dict.items():
        if trials is not None:
            mine = trials[trials[col] == name].astype({value: float})
            sns.stripplot(mine, **shared, dodge=bool(apart), jitter=False, marker="|", size=7, linewidth=0.8,
                          alpha=0.6, legend=False, ax=axis)  # fmt: skip
    for axis in grid.axes.flat:
        part_rows(axis, len(order))
        axis.set(xlabel="", ylabel="")
    if below := name_rows(grid, label, order, y in ("solution", "row")):
        grid.figure.supxlabel(below)
    return grid


def name_rows(grid: Any, label: str, order: Sequence[str], solutions: bool = True) -> str:
    """Writes names beside rows, in two lines where they are long; of solutions without the options that all share,
    which the label for the axis below tells that this returns."""
    short, told = short_names(order) if solutions else ({name: name for name in order}, "")
    for axis in grid.axes.flat:
        if axis.get_subplotspec().is_first_col():
            axis.set_yticks(range(len(order)), [two_lines(short[name]) for name in order])
    return f"{label}\n{told}" if told else label


def gaps_beside(grid: Any, gaps: pd.DataFrame, order: Sequence[str]) -> None:
    """In the panels by case of `points`, in the row of each solution, column ``word`` of what has no mark there."""
    for (case, solution), group in gaps.groupby(["case", "solution"], observed=True):
        axis = grid.axes_dict[case]
        axis.text(0.98, order.index(str(solution)) + 0.3, ", ".join(sorted(set(group["word"]))), ha="right",
                  va="center", style="italic", color=COLOURS[group["strategy"].iloc[0]] if len(group) == 1 else GREY,
                  transform=axis.get_yaxis_transform(), in_layout=False)  # fmt: skip


def panel_names(solutions: Sequence[str], most: int = 19) -> dict[str, str]:
    """Titles of panels by solution: short, in two lines."""
    return {name: two_lines(short, most) for name, short in short_names(solutions)[0].items()}


def two_lines(name: str, most: int = 24) -> str:
    """A name in two lines where it has more than so many characters."""
    places = [at for at in range(len(name)) if name.startswith(" / ", at)]
    if len(name) <= most or not places or "\n" in name:
        return name
    at = min(places, key=lambda place: max(place, len(name) - place))
    return f"{name[: at + 2]}\n{name[at + 3 :]}"


def part_rows(axis: Axes, count: int) -> None:
    """Thin lines between the rows, of which the first is on top."""
    for place in range(1, count):
        axis.axhline(place - 0.5, color=GREY, linewidth=0.3)
    axis.set_ylim(count - 0.5, -0.5)


def ends(rows: pd.DataFrame, value: str, names: Sequence[str], unit: str, of: str = "") -> str:
    """From the least row to the greatest, by name, for readers who can't see the figure; of several rows of a name,
    where ``of`` says so, their ``median``, ``mean`` or ``max``."""
    known = rows.dropna(subset=[value]).astype({value: float}).reset_index(drop=True)
    if known.empty:
        return "nothing measured"
    known = known.groupby(list(names), observed=True)[value].agg(of).reset_index() if of else known
    least, most = (known.iloc[int(place)] for place in (known[value].argmin(), known[value].argmax()))
    told = [
        f"{stats.significant(row[value])} {unit} ({', '.join(str(row[name]) for name in names)})"
        for row in (least, most)
    ]
    return f"from {told[0]} to {told[1]}" if len(known) > 1 else told[0]
