"""What a packet costs, by solution, strategy and case, and how that compares with what was published."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from allocpool.evidence.style import (
    GRID,
    INK,
    SILVER,
    collector_handles,
    collector_key,
    colour_of,
    legend,
    log_axis,
    new_figure,
    nothing,
)
from allocpool.evidence.trials import records
from allocpool.packets import cells as cell_data
from allocpool.packets.cells import present
from allocpool.packets.layouts import LAYOUTS
from allocpool.packets.strategies import STRATEGIES, Language
from allocpool.packets.style import STRATEGY_STYLE, offsets, strategy_handles, strategy_shapes

_ROW_INCHES = 0.46


def strategy_costs(cells: pd.DataFrame, trials: pd.DataFrame) -> Figure:
    """Cost in ns/packet per solution (rows), case (panels) and strategy (marker): dot, interval and every
    trial.

    ``cells`` comes from `allocpool.packets.cells.cells`; ``trials`` gives the small dots. A cell without a figure
    says why, in a word or two, in place of the dot.
    """
    cases = sorted(cells["case"].dropna().unique())
    if cells["ns"].isna().all() or not cases:
        return nothing("no trial has finished yet")
    order = cell_data.solution_order(cells)
    height = 1.3 + _ROW_INCHES * max(len(order), 3)
    figure, axes = new_figure(1, len(cases), 2.6 + 2.25 * len(cases), height, sharey=True)
    drawn = present(STRATEGIES, cells["strategy"])
    off = offsets(drawn, 0.27)
    done = cell_data.with_cost(trials)
    for axis, case in zip(axes, cases, strict=True):
        for row in records(cells[cells["case"] == case]):
            y = order.index(row.solution) + off[row.strategy]
            colour, marker = STRATEGY_STYLE[row.strategy]
            if math.isnan(row.ns):
                continue
            axis.plot([row.low, row.high], [y, y], color=colour, linewidth=2, solid_capstyle="butt", zorder=2)
            axis.plot(
                row.ns,
                y,
                marker=marker,
                color=colour,
                markersize=6,
                markeredgecolor="white",
                markeredgewidth=0.6,
                zorder=4,
            )
            dots = done[
                (done["solution"] == row.solution) & (done["strategy"] == row.strategy) & (done["case"] == case)
            ]
            axis.plot(
                dots["ns_per_packet"],
                [y] * len(dots),
                linestyle="",
                marker="|",
                color=colour,
                markersize=7,
                alpha=0.7,
                zorder=3,
            )
        _note_gaps(axis, cells[cells["case"] == case], order, off)
        log_axis(axis, cells["low"].min(), cells["high"].max())
        axis.set_title(f"case {case}", fontsize=11, color=INK)
        axis.set_xlabel("ns per packet (log scale)", fontsize=9)
        for boundary in range(1, len(order)):
            axis.axhline(boundary - 0.5, color=GRID, linewidth=0.6)
        axis.grid(False, axis="y")
    axes[0].set_yticks(range(len(order)), order, fontsize=9)
    axes[0].set_ylim(len(order) - 0.5, -0.5)
    legend(figure, strategy_handles(set(drawn)))
    return figure


def _note_gaps(axis: Axes, rows: pd.DataFrame, order: list[str], off: dict[str, float]) -> None:
    """Say in the row itself, in a word or two, why a figure is missing: once if the whole row is, else per
    strategy."""
    for solution, group in rows[rows["gap"].notna()].groupby("solution"):
        words = group["gap_word"]
        y = order.index(str(solution))
        if len(group) == len(off) and words.nunique() == 1:
            notes = [(0.5, float(y), "center", words.iloc[0], "#8a1c1c")]
        else:
            notes = [
                (0.015, y + off[name], "left", f"{name}: {word}", STRATEGY_STYLE[name][0])
                for name, word in zip(group["strategy"], words, strict=True)
            ]
        for x, height, side, text, colour in notes:
            axis.text(
                x,
                height,
                text,
                fontsize=7.5,
                color=colour,
                ha=side,
                va="center",
                style="italic",
                transform=axis.get_yaxis_transform(),
                zorder=5,
            )


def published_against_measured(cells: pd.DataFrame) -> Figure:
    """Measured against published ns/packet on log axes, one panel per layout, with the line of the typical
    factor.

    On the dashed line a figure differs from the published one only by the machine's speed; off it, by its
    shape.
    """
    rows = cells[cells["published_ns"].notna() & cells["ns"].notna()]
    if rows.empty:
        return nothing("no measured configuration has a published figure")
    factor = float((rows["ns"] / rows["published_ns"]).median())
    groups = [(name, group) for name, group in _by_layout(rows)]
    columns = min(2, len(groups))
    figure, axes = new_figure(
        math.ceil(len(groups) / columns), columns, 4.65 * columns, 4.1 * math.ceil(len(groups) / columns)
    )
    low = min(rows["published_ns"].min(), rows["ns"].min())
    high = max(rows["published_ns"].max(), rows["ns"].max())
    ends = np.array([low / 2, high * 2])
    used: set[str] = set()
    for axis, (name, group) in zip(axes, groups, strict=False):
        axis.plot(ends, ends, color=SILVER, linewidth=1, zorder=1)
        axis.plot(ends, ends * factor, color=INK, linewidth=1, linestyle="--", zorder=1)
        for row in records(group):
            key = collector_key(row.language, row.collector)
            used.add(key)
            axis.plot([row.published_ns] * 2, [row.low, row.high], color=colour_of(key), linewidth=1.4, zorder=2)
            axis.plot(
                row.published_ns,
                row.ns,
                marker=STRATEGY_STYLE[row.strategy][1],
                color=colour_of(key),
                markersize=6,
                markeredgecolor="white",
                markeredgewidth=0.5,
                zorder=3,
            )
        log_axis(axis, low, high, "x", 1.3)
        log_axis(axis, low, high, "y", 1.3)
        axis.set_title(name, fontsize=11, color=INK)
        axis.set_xlabel("published, ns per packet", fontsize=9)
        axis.set_ylabel("measured here, ns per packet", fontsize=9)
    for axis in axes[len(groups) :]:
        axis.set_visible(False)
    shapes = strategy_shapes(set(rows["strategy"]))
    lines = [
        Line2D([], [], color=SILVER, linewidth=1, label="equal"),
        Line2D([], [], color=INK, linewidth=1, linestyle="--", label=f"{factor:.2g} times the published figure"),
    ]
    handles = [*collector_handles(used), *shapes, *lines]
    legend(figure, handles, min(len(handles), 6))
    return figure


def _by_layout(rows: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    prefixes: dict[Language, str] = {"java": "Java", "cpp": "C++"}
    for language, prefix in prefixes.items():
        for layout in LAYOUTS[language]:
            group = rows[(rows["language"] == language) & (rows["layout"] == layout)]
            if len(group):
                yield f"{prefix} {layout}", group
