"""The one style of all figures: colours, axes and legends."""

from __future__ import annotations

import math
from collections.abc import Sequence

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from allocpool.runtimes.collectors import COLLECTORS, collector_named

# Okabe and Ito's palette: told apart with any common colour vision.
ORANGE, SKY, GREEN, YELLOW = "#e69f00", "#56b4e9", "#009e73", "#f0e442"
BLUE, VERMILION, PURPLE, BLACK = "#0072b2", "#d55e00", "#cc79a7", "#000000"
PLUM, SILVER, GREY = "#8f4a76", "#999999", "#777777"
"""Beside it: a ninth colour, and greys for what is no subject of its figure."""
CPP = "C++"
"""What stands where Java has a collector."""
INK = "#222222"
GRID = "#dddddd"


def new_figure(rows: int, columns: int, width: float, height: float, sharey: bool = False) -> tuple[Figure, list[Axes]]:
    figure = Figure(figsize=(width, height), dpi=110, layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, sharey=sharey)
    flat = list(axes.flat)
    for axis in flat:
        axis.set_axisbelow(True)
        axis.grid(True, color=GRID, linewidth=0.6)
        axis.tick_params(colors=INK, labelsize=9)
        for side in ("top", "right"):
            axis.spines[side].set_visible(False)
    return figure, flat


def _plain(value: float, _position: int = 0) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:g}"


def log_axis(axis: Axes, low: float, high: float, which: str = "x", room: float = 1.15) -> None:
    """A logarithmic axis whose ticks are readable figures: 1-2-5 steps over few decades, 1-3 over more, or decades."""
    target = axis.xaxis if which == "x" else axis.yaxis
    getattr(axis, f"set_{which}scale")("log")
    getattr(axis, f"set_{which}lim")(low / room, high * room)
    decades = math.log10(high * room * room / low)
    # Over many decades of a small panel the locator leaves out some, and then all steps between: with them, everything.
    subs = (1.0, 2.0, 5.0) if decades < 2.2 else (1.0, 3.0) if decades < 4.5 else (1.0,)
    target.set_major_locator(LogLocator(subs=subs))
    target.set_major_formatter(FuncFormatter(_plain))
    target.set_minor_formatter(NullFormatter())


def decades_only(axis: Axes, which: str = "x") -> None:
    """Fewer figures on a logarithmic axis of a small panel: one per decade, or per two where there are many."""
    target = axis.xaxis if which == "x" else axis.yaxis
    target.set_major_locator(LogLocator(numticks=5))


def nothing(message: str) -> Figure:
    figure, (axis,) = new_figure(1, 1, 8, 1.4)
    axis.set_axis_off()
    axis.text(0.5, 0.5, message, ha="center", va="center", fontsize=12, color=INK, transform=axis.transAxes)
    return figure


def legend(figure: Figure, handles: Sequence[Artist], columns: int | None = None) -> None:
    figure.legend(
        handles=list(handles), loc="outside upper center", ncols=columns or len(handles), frameon=False, fontsize=9
    )


def collector_key(language: object, collector: object) -> str:
    """What the colour of a mark stands for: the collector of a Java solution, or C++.

    Raises:
        UserError: an unknown collector; names the known ones.
    """
    return collector_named(str(collector)).name if language == "java" else CPP


def colour_of(key: str) -> str:
    """The colour of what `collector_key` returns; same errors."""
    return BLACK if key == CPP else collector_named(key).colour


def collector_handles(used: set[str]) -> list[Line2D]:
    """Legend entries of these keys, in table order, C++ last."""
    labels = {**{row.name: row.label for row in COLLECTORS.values()}, CPP: CPP}
    return [
        Line2D([], [], linestyle="", marker="o", color=colour_of(key), label=label)
        for key, label in labels.items()
        if key in used
    ]
