"""The theme of all figures: palette, sizes, axes, legends, intervals, and text alternatives.

Seaborn draws figures with the judge's intervals (`stated`). Every figure is `WIDTH` inches wide and its text `TEXT`
points high, legible on a telephone.
"""

from __future__ import annotations

import io
import math
import re
import textwrap
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib import ticker
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Text

from allocpool.evidence.trials import spelled_out
from allocpool.runtimes.collectors import collector_named

# Okabe and Ito's palette: distinct with any common colour vision.
ORANGE, SKY, GREEN, YELLOW = "#e69f00", "#56b4e9", "#009e73", "#f0e442"
BLUE, VERMILION, PURPLE = "#0072b2", "#d55e00", "#cc79a7"
INK = "#222222"
"""Black that `svg` turns into the colour of the page's text, which may be light."""
PLUM, SILVER, GREY = "#8f4a76", "#999999", "#777777"
PALETTE = (VERMILION, BLUE, GREEN, PURPLE, ORANGE, SKY, INK, PLUM, SILVER)
"""Allocating first, then pooling, so that a plot of both needs no palette."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")
CPP = "C++"
GRID = "#dddddd"
WARM_UP = "#9999993f"

WIDTH = 6.0
"""Inches."""
PHONE_PX, LEAST_PX = 350, 9
"""The width that a screen of 390 px leaves for a figure, and the smallest text on it."""
TEXT = 1.02 * LEAST_PX * 72 * WIDTH / PHONE_PX
"""Points."""
_LETTERS = 0.82 * WIDTH * 72 / (0.52 * TEXT)
"""So many stand side by side above the panels of a row, of whose width ticks take a part."""

STATED = {"estimator": "median", "errorbar": ("pi", 100)}
"""For seaborn: of rows by `stated` the value and its interval; of trials their median and range."""
BARS = {**STATED, "err_style": "bars"}

set_theme = partial(
    sns.set_theme,
    context="paper",
    style="whitegrid",
    palette=PALETTE,
    rc={
        **dict.fromkeys(
            ("font.size", "axes.labelsize", "xtick.labelsize", "ytick.labelsize", "legend.fontsize", "axes.titlesize",
             "legend.title_fontsize", "figure.titlesize", "figure.labelsize"), TEXT,
        ),
        **dict.fromkeys(("text.color", "axes.labelcolor", "xtick.color", "ytick.color", "axes.edgecolor"), INK),
        "grid.color": GRID, "grid.linewidth": 0.6, "axes.spines.top": False, "axes.spines.right": False,
        "axes.linewidth": 0.8, "lines.linewidth": 1.4, "lines.markersize": 6, "legend.frameon": False,
        "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial", "sans-serif"], "svg.fonttype": "none",
        "svg.hashsalt": "figure", "hatch.linewidth": 0.6, "figure.dpi": 100,
    },
)  # fmt: skip
set_theme()

# Seaborn lays a figure out anew at every step; `finish` does so once.
sns.axisgrid.Grid.tight_layout = lambda grid, *_args, **_kwargs: grid


def size(columns: int, height: float) -> dict[str, Any]:
    """Return seaborn's ``height`` (inches) and ``aspect`` for so many panels in a row."""
    return {"height": height, "aspect": WIDTH / columns / height}


def panels(col: str, order: Collection[str], height: float, most: int = 2) -> dict[str, Any]:
    """Return seaborn's arguments for a panel per value of ``col`` in this order, ``most`` in a row; inches."""
    columns = max(1, min(most, len(order)))
    return {"col": col, "col_order": list(order), "col_wrap": columns, **size(columns, height)}


def by_panel(grid: Any, rows: pd.DataFrame) -> Iterator[tuple[str, Any, pd.DataFrame]]:
    """Yield each panel's name, axis, and rows."""
    for name, axis in grid.axes_dict.items() if grid._col_var else [("", grid.ax)]:
        yield name, axis, rows[rows[grid._col_var] == name] if grid._col_var else rows


def describe(figure: Figure, text: str, rows: pd.DataFrame | None = None) -> Figure:
    """Give a figure its text alternative and its tidy rows; closes it in pyplot, which would show it twice."""
    figure.set_label(" ".join(text.split()))
    if rows is not None:
        _ROWS[figure] = rows[~rows[_END]].drop(columns=_END) if _END in rows else rows
    plt.close(figure)
    return figure


_ROWS: WeakKeyDictionary[Figure, pd.DataFrame] = WeakKeyDictionary()
_END = "is_end_of_interval"
"""Column of `stated`: rows that are there for seaborn alone."""


def rows_of(figure: Figure) -> pd.DataFrame | None:
    """Return the tidy rows that `describe` was given for a figure."""
    return _ROWS.get(figure)


def mark(label: str, colour: str = GREY, marker: str = "", line: Any = "", width: float = 1.4) -> Line2D:
    """Return a legend's entry: a marker, a line, or both."""
    return Line2D([], [], color=colour, marker=marker, linestyle=line, linewidth=width, label=label)


def marks(hue: Mapping[str, tuple[str, str]]) -> list[Line2D]:
    """Return legend entries of names with their colour and marker."""
    return [mark(name, *look) for name, look in hue.items()]


def looks(names: Iterable[str]) -> dict[str, dict[str, str]]:
    """Return ``palette`` and ``markers`` for seaborn by a name's place: no two names share both."""
    places = dict(enumerate(dict.fromkeys(names)))
    return {
        "palette": {name: PALETTE[i % len(PALETTE)] for i, name in places.items()},
        "markers": {name: MARKERS[(i + i // len(PALETTE)) % len(MARKERS)] for i, name in places.items()},
    }


def finish(
    grid: Any, text: str, columns: int = 3, title: str | Mapping[str, str] = "{col_name}",
    handles: Sequence[Artist] = (), x: str = "", y: str = "",
) -> Figure:  # fmt: skip
    """Return the figure of a ``FacetGrid``, described, with its legend above the panels.

    ``handles`` replace seaborn's legend, of which the names of variables are left out. ``title`` is a template of
    seaborn's, or the title of each panel; empty: panels keep theirs. ``x`` and ``y`` name all panels' axes.
    """
    figure: Figure = grid.figure
    if grid._legend is not None:
        old, grid._legend = grid._legend, None
        variables = set(grid.data.columns) if grid.data is not None else set()
        pairs = zip(old.legend_handles, (entry.get_text() for entry in old.get_texts()), strict=True)
        kept = []
        for handle, label in pairs:
            if label not in variables:
                handle.set(label=label, alpha=1)
                kept.append(handle)
        old.remove()
        handles = handles or kept
    if isinstance(title, Mapping):
        for name, axis in grid.axes_dict.items():
            axis.set_title(title[name])
    elif title and (grid._col_var is not None or grid._row_var is not None):
        grid.set_titles(title, row_template="{row_name}", col_template="{col_name}")
    for handle in handles:
        handle.set_label(_in_words(str(handle.get_label())))
    for which, label in (("x", x), ("y", y)):
        if label:
            grid.set(**{f"{which}label": ""})
            getattr(figure, f"sup{which}label")(label)
    columns = min(columns, len(handles)) or 1
    # Without the room that seaborn leaves for a legend aside.
    figure.set_size_inches(WIDTH, figure.get_figheight() + math.ceil(len(handles) / columns) * 1.6 * TEXT / 72)
    figure.set_layout_engine("constrained")
    _spell_out(figure, _LETTERS)
    if handles:
        _legend(figure, handles, columns)
    return describe(figure, text, grid.data)


def _in_words(text: str) -> str:
    """Return a text of a figure as a stranger reads it: configurations spelled out, no names of variables."""
    text = re.sub(r"(^|\| )(?!case)[\w ]+ = ", r"\1", text).replace("case = ", "case ")
    return re.sub(r"\b([A-Z]\w+) / (\d\d)\b", r"\1, JDK \2", str(spelled_out(text))).replace("_", " ")


def _spell_out(figure: Figure, letters: float) -> None:
    """Write texts of a figure `_in_words`, titles of panels in lines that fit."""
    columns = max((spec.get_gridspec().ncols for axis in figure.axes if (spec := axis.get_subplotspec())), default=1)
    for axis in figure.axes:
        for which in ("x", "y"):
            ticks = [label.get_text() for label in getattr(axis, f"get_{which}ticklabels")()]
            words = [_in_words(text) for text in ticks]
            if words != ticks:
                getattr(axis, f"set_{which}ticks")(getattr(axis, f"get_{which}ticks")(), words)
            label = getattr(axis, f"{which}axis").label  # set_ylabel would move it, too
            name = label.get_text().replace("\n", " ")
            if spelled_out(name) != name:
                label.set_text(textwrap.fill(spelled_out(name), 20, break_long_words=False))
        lines = _in_words(axis.get_title()).splitlines()
        widest = max(10, round(letters / columns))
        axis.set_title("\n".join(_fitting(line, widest) for line in lines))
    for text in figure.findobj(Text):
        if isinstance(text, Text):
            text.set_text(_in_words(text.get_text()))


def _fitting(line: str, widest: int) -> str:
    """Return a title in lines of at most so many letters, broken after a comma where that is enough."""
    parts = line.split(", ")
    held = "\N{NO-BREAK SPACE}" if max(len(part) + 1 for part in parts) <= widest else " "
    words = ", ".join(part.replace(" ", held) for part in parts)
    return textwrap.fill(words, widest, break_long_words=False).replace(held, " ")


def stated(table: pd.DataFrame, value: str, low: str = "low", high: str = "high") -> pd.DataFrame:
    """Return each row three times, so that seaborn with `STATED` draws ``value`` with the interval of the row.

    The median of the three is the value, their range the interval, left out where it is unknown or does not hold the
    value.
    """
    known = table.dropna(subset=[value])
    held = known[(known[low] <= known[value]) & (known[value] <= known[high])]
    ends = [held.assign(**{value: held[end]}) for end in (low, high)]
    parts = [part.assign(**{_END: place > 0}) for place, part in enumerate([known, *ends])]
    return pd.concat(parts, ignore_index=True).astype({value: float})


def stack(
    rows: pd.DataFrame, value: str, y: str, order: Sequence[str], part: str, styles: Mapping[str, tuple[str, str]],
    col: str | None = None, col_order: Sequence[str] | None = None,
) -> tuple[Any, list[Patch]]:  # fmt: skip
    """Draw a bar per ``y``, stacked of the parts that column ``part`` names; returns the ``FacetGrid`` and its legend.

    ``styles``: colour and hatch of each part, from the left.
    """
    shown = rows[rows[y].isin(order) & rows[part].isin(styles)]
    shown = shown.assign(**{y: pd.Categorical(shown[y], list(order))})
    height = 0.7 + 0.42 * max(len(order), 3) + 0.2 * math.ceil(len(styles) / 3)  # with the legend's lines
    grid = sns.displot(
        shown, kind="hist", y=y, weights=value, hue=part, hue_order=list(styles)[::-1], multiple="stack",
        palette={name: colour for name, (colour, _) in styles.items()}, alpha=1, shrink=0.75, legend=False, col=col,
        col_order=col_order, **size(len(col_order or [0]), height),
    )  # fmt: skip
    edge: dict[str, Any] = {"edgecolor": "#ffffff", "linewidth": 0.3}
    keys = [Patch(facecolor=colour, hatch=hatch, label=name, **edge) for name, (colour, hatch) in styles.items()]
    hatches = {key.get_facecolor(): key.get_hatch() for key in keys}
    for axis in grid.axes.flat:
        for patch in axis.patches:
            patch.set(hatch=hatches[patch.get_facecolor()], **edge)
        axis.set(xlabel="", ylabel="", ylim=(len(order) - 0.5, -0.5))
        axis.grid(False, axis="y")
    return grid, keys


def label_lines(axis: Axes, named: Sequence[tuple[float, str, str]]) -> None:
    """Write names (height, name, colour) at the ends of lines, moved apart; the axis has its final scale."""
    points, box, gap = axis.figure.dpi / 72, axis.get_window_extent(), 1.35 * TEXT
    heights = [float(axis.transData.transform((1, height))[1]) / points for height, _, _ in named]
    order = sorted(range(len(named)), key=lambda one: heights[one])
    placed = list(heights)
    for places, end, choose, step in ((order, box.y0, max, gap), (order[::-1], box.y1, min, -gap)):
        free = float(end) / points
        for place in places:
            placed[place] = choose(placed[place], free)
            free = placed[place] + step
    for place, (height, name, colour) in enumerate(named):
        axis.annotate(
            name, (1, height), xycoords=("axes fraction", "data"), xytext=(5, placed[place] - heights[place]),
            textcoords="offset points", color=colour, va="center", annotation_clip=False,
        )  # fmt: skip


def _plain(value: float, _position: int = 0) -> str:
    """Write a number at an axis: from 10,000 on in thousands (k) or millions (M)."""
    for unit, suffix in ((1e6, "M"), (1e3, "k")):
        if value >= unit and value >= 1e4:
            return f"{value / unit:,g}{suffix}"
    return f"{value:,.0f}" if value >= 10 else f"{value:g}"


_FEW = 0.6
"""Decades below which a logarithmic axis has figures like a linear one."""


def log_axes(on: Any, which: str, values: Iterable[float], room: float = 1.15, most: int = 4) -> None:
    """Make an axis of a grid's panels, or of one, logarithmic, from the smallest value above 0 to the largest.

    It has ``most`` figures at most: 1-2-5 steps, 1-3 over more, or decades.
    """
    known = [float(value) for value in values if pd.notna(value) and 0 < value < math.inf]
    if not known:
        return
    low, high = min(known) / room, max(known) * room
    decades = math.log10(high / low)
    # Over many decades of a small panel the locator leaves out some, and then all steps between: with them, everything.
    steps = [subs for subs in ((1.0, 2.0, 5.0), (1.0, 3.0)) if decades * len(subs) <= most]
    for axis in [on] if isinstance(on, Axes) else on.axes.flat:
        axis.set(**{f"{which}scale": "log", f"{which}lim": (low, high)})
        log = ticker.LogLocator(subs=steps[0] if steps else (1.0,), numticks=most + 1)
        target = getattr(axis, f"{which}axis")
        target.set_major_locator(ticker.MaxNLocator(most - 1) if decades < _FEW else log)
        target.set_major_formatter(ticker.FuncFormatter(_plain))
        target.set_minor_locator(ticker.NullLocator())
        target.set_minor_formatter(ticker.NullFormatter())


def rule(grid: Any, x: float | None = None, y: float | None = None, **line: Any) -> None:
    """Draw a line across every panel, at ``x`` or ``y``; seaborn's own leaves out panels without rows."""
    for axis in grid.axes.flat:
        for draw, place in ((axis.axvline, x), (axis.axhline, y)):
            if place is not None:
                draw(place, **{"color": INK, "linewidth": 0.8, "linestyle": "--", **line})


_NO_FIGURE = "No figure: "


def why_nothing(figure: Figure) -> str:
    """Return why a figure is empty, or an empty text."""
    words = str(figure.get_label())
    return words.removeprefix(_NO_FIGURE).removesuffix(".") if words.startswith(_NO_FIGURE) else ""


def nothing(message: str) -> Figure:
    """Return an empty figure with the reason."""
    figure, axis = plt.subplots(figsize=(WIDTH, 1.2))
    axis.set_axis_off()
    axis.text(0.5, 0.5, message, ha="center", va="center", wrap=True, transform=axis.transAxes)
    return describe(figure, f"{_NO_FIGURE}{message}.")


def _legend(figure: Figure, handles: Sequence[Artist], columns: int) -> None:
    """Put entries above all panels, in ``columns``, fewer where that is wider than the figure."""
    longest = max(len(str(handle.get_label())) for handle in handles)
    fit = int(figure.get_figwidth() / (0.62 + 0.52 * TEXT / 72 * longest))
    most = max(1, min(columns, fit))
    figure.legend(handles=list(handles), loc="outside upper center", ncols=most, handletextpad=0.5, columnspacing=1.2)


def readable(figure: Figure) -> None:
    """Write names of columns and configurations in a figure of seaborn as a stranger reads them. Of a figure without a
    layout, panels are named in lines that fit, axes are labelled once, and the legend stands above."""
    _spell_out(figure, _LETTERS * min(1, figure.get_figwidth() / WIDTH))
    for along in (along for axis in figure.axes for along in (axis.xaxis, axis.yaxis)):
        if isinstance(along.get_major_formatter(), ticker.LogFormatterSciNotation):
            along.set_major_formatter(ticker.FuncFormatter(_plain))
            if math.log10(abs(np.divide(*along.get_view_interval()))) < -1:
                along.set_minor_formatter(ticker.NullFormatter())
    if figure.get_layout_engine():
        return
    figure.set_size_inches(min(WIDTH, figure.get_figwidth()), figure.get_figheight())
    for axis in figure.axes:
        words = "  ".join(tick.get_text() for tick in axis.get_xticklabels())
        if axis.xaxis.get_scale() != "log" and len(words) > _LETTERS / len(figure.axes):
            axis.tick_params(axis="x", rotation=45)
    for which in "xy":
        labels = {getattr(axis, f"get_{which}label")() for axis in figure.axes} - {""}
        if len(labels) == 1 < len(figure.axes):
            getattr(figure, f"sup{which}label")(labels.pop())
            for axis in figure.axes:
                getattr(axis, f"set_{which}label")("")
    for drawn in figure.legends[:1]:
        handles = [*filter(None, drawn.legend_handles)]
        for handle, text in zip(handles, drawn.get_texts(), strict=True):
            handle.set_label(text.get_text())
        drawn.remove()
        _legend(figure, handles, 4)
    figure.set_layout_engine("constrained")


def svg(figure: Figure, key: str) -> str:
    """Return a figure as an ``svg`` element for a page: transparent, in the page's text colour, with its alternative.

    ``key`` begins each of its ids, so that two figures of a page share none.
    """
    drawn = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": key}):
        figure.savefig(drawn, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    text = re.sub(r"(?s)^.*?(?=<svg)|<metadata>.*?</metadata>", "", drawn.getvalue())
    text = re.sub(r' (d|x|y|points)="[^"]*"', lambda place: re.sub(r"(\.\d\d)\d+", r"\1", place[0]), text)
    text = re.sub(r'\bid="', f'id="{key}-', text)
    text = re.sub(r'(url\(#|href="#)', rf"\g<1>{key}-", text)
    text = re.sub(INK, "currentColor", text).replace(GRID, "rgba(128,128,128,.3)")
    text = text.replace("#ffffff", "var(--figure-paper, var(--jp-layout-color0, #ffffff))")
    words = str(figure.get_label()).replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
    shape = f'role="img" aria-label="{words}" style="max-width:100%;height:auto;color:inherit"'
    return text.replace("<svg ", f"<svg {shape} ", 1)


def collector_key(language: object, collector: object) -> str:
    """Return what the colour of a mark stands for: a collector, or C++; UserError for an unknown collector."""
    return collector_named(str(collector)).name if language == "java" else CPP


def colour_of(key: str) -> str:
    """Return the colour of what `collector_key` returns; same errors."""
    return INK if key == CPP else collector_named(key).colour
