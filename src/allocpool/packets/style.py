"""How figures tell strategies and cases apart, and cells of one row from each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from allocpool import stats
from allocpool.evidence.style import GREY, STATED, collector_key, colour_of, size, stated
from allocpool.packets.strategies import STRATEGIES

STRATEGY_STYLE = {name: (strategy.colour, strategy.marker) for name, strategy in STRATEGIES.items()}
"""Colour and marker."""
COLOURS = {name: strategy.colour for name, strategy in STRATEGIES.items()}
MARKS = {name: strategy.marker for name, strategy in STRATEGIES.items()}
CASE_WORDS = {"A": "A: little alive", "A10k": "A, as its text", "B": "B: realistic", "C": "C: half alive"}
"""Titles of panels: how much of the heap is alive."""
ROW_INCHES = 0.42


def strategy_shapes(present: set[str]) -> list[Line2D]:
    """Legend entries that tell strategies by marker alone, for figures whose colours mean collectors."""
    return [
        Line2D([], [], linestyle="", marker=MARKS[name], color=GREY, label=name)
        for name in STRATEGIES
        if name in present
    ]


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


def by_collector(rows: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, str]]:
    """Rows with ``key``, what their colour stands for, and the colours of the keys."""
    keyed = rows.assign(key=[collector_key(*pair) for pair in zip(rows["language"], rows["collector"], strict=True)])
    return keyed, {key: colour_of(key) for key in keyed["key"].unique()}


def points(
    rows: pd.DataFrame,
    value: str,
    order: Sequence[str],
    hue: Mapping[str, tuple[str, str]],
    *,
    by: str = "strategy",
    y: str = "solution",
    col: str = "case",
    col_order: Sequence[str],
    columns: int | None = None,
    trials: pd.DataFrame | None = None,
) -> Any:
    """A ``FacetGrid`` of marks with their intervals (``low``, ``high``): rows ``order``, panels ``col_order``, and the
    marks of a row beside each other by ``by``, whose colours and markers are ``hue``.

    With ``trials``, which have the same columns, every trial is a thin stroke. Axes are linear.
    """
    names, columns = list(hue), columns or len(col_order)
    colours = {name: colour for name, (colour, _) in hue.items()}
    shared = {"x": value, "y": y, "hue": by, "hue_order": names, "palette": colours, "order": list(order)}
    grid = sns.catplot(
        stated(rows, value), kind="point", **shared, **STATED, dodge=0.8 * (1 - 1 / len(names)) or False,
        markers=[marker for _, marker in hue.values()], linestyle="none", linewidth=1.6, markersize=5, legend=False,
        col=col, col_order=list(col_order), col_wrap=columns, **size(columns, 0.7 + ROW_INCHES * max(len(order), 3)),
    )  # fmt: skip
    for name, axis in grid.axes_dict.items():
        if trials is not None:
            mine = trials[trials[col] == name].astype({value: float})
            sns.stripplot(mine, **shared, dodge=len(names) > 1, jitter=False, marker="|", size=7, linewidth=0.8,
                          alpha=0.6, legend=False, ax=axis)  # fmt: skip
        part_rows(axis, len(order))
        axis.set(xlabel="", ylabel="")
    return grid


def foot(grid: Any, label: str, solutions: Sequence[str]) -> None:
    """One label below all panels, and names of solutions without the options that all share, which it tells."""
    short, shared = short_names(solutions)
    for axis in grid.axes.flat:
        if axis.get_subplotspec().is_first_col():
            axis.set_yticks(range(len(solutions)), [two_lines(short[name]) for name in solutions])
    grid.figure.supxlabel(f"{label}\n{shared}" if shared else label)


def two_lines(name: str, most: int = 24) -> str:
    """A name in two lines where it has more than so many characters."""
    places = [at for at in range(len(name)) if name.startswith(" / ", at)]
    if len(name) <= most or not places:
        return name
    at = min(places, key=lambda place: max(place, len(name) - place))
    return f"{name[: at + 2]}\n{name[at + 3 :]}"


def marks(hue: Mapping[str, tuple[str, str]]) -> list[Line2D]:
    """Legend entries of `points`."""
    return [Line2D([], [], linestyle="", marker=mark, color=colour, label=name) for name, (colour, mark) in hue.items()]


def part_rows(axis: Axes, count: int) -> None:
    """Thin lines between the rows, of which the first is on top."""
    for place in range(1, count):
        axis.axhline(place - 0.5, color=GREY, linewidth=0.3)
    axis.set_ylim(count - 0.5, -0.5)


def ends(rows: pd.DataFrame, value: str, names: Sequence[str], unit: str) -> str:
    """From the least row to the greatest, by name, for readers who can't see the figure."""
    known = rows.dropna(subset=[value]).astype({value: float}).reset_index(drop=True)
    if known.empty:
        return "nothing measured"
    least, most = (known.iloc[int(place)] for place in (known[value].argmin(), known[value].argmax()))
    told = [
        f"{stats.significant(row[value])} {unit} ({', '.join(str(row[name]) for name in names)})"
        for row in (least, most)
    ]
    return f"from {told[0]} to {told[1]}" if len(known) > 1 else told[0]
