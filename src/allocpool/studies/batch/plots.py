"""What a packet costs, by solution, strategy and case, and how that compares with what was published."""

from __future__ import annotations

import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from allocpool.evidence.style import (
    GREY,
    INK,
    SILVER,
    brackets,
    collector_handles,
    finish,
    log_axis,
    nothing,
    size,
)
from allocpool.packets import cells as cell_data
from allocpool.packets.cells import CONFIGURATION, present
from allocpool.packets.layouts import LAYOUTS
from allocpool.packets.specs import CASES
from allocpool.packets.strategies import STRATEGIES
from allocpool.packets.style import (
    CASE_WORDS,
    MARKS,
    STRATEGY_STYLE,
    by_collector,
    ends,
    foot,
    marks,
    points,
    strategy_shapes,
)


def strategy_costs(cells: pd.DataFrame, trials: pd.DataFrame) -> Figure:
    """Cost in ns/packet per solution (rows), case (panels) and strategy (marker): dot, interval and every
    trial.

    ``cells`` comes from `allocpool.packets.cells.cells`; ``trials`` gives the thin strokes. Where cells have no figure
    the row says why, in a word or two.
    """
    cases = present(CASES, cells["case"])
    if cells["ns"].isna().all() or not cases:
        return nothing("no trial has finished yet")
    order = cell_data.solution_order(cells)
    hue = {name: STRATEGY_STYLE[name] for name in present(STRATEGIES, cells["strategy"])}
    shown = cells[list(CONFIGURATION)].drop_duplicates().merge(cell_data.with_cost(trials)).rename(
        columns={"ns_per_packet": "ns"}
    )  # fmt: skip
    grid = points(cells, "ns", order, hue, col_order=cases, trials=shown)
    for case, axis in grid.axes_dict.items():
        log_axis(axis, float(cells["low"].min()), float(cells["high"].max()), most=3)
        axis.set(title=CASE_WORDS[case])
        gaps = cells[(cells["case"] == case) & cells["gap"].notna()]
        for solution, group in gaps.groupby("solution"):
            words = ", ".join(sorted(set(group["gap_word"])))
            axis.text(0.98, order.index(str(solution)) + 0.3, words, ha="right", va="center", style="italic",
                      color=STRATEGY_STYLE[group["strategy"].iloc[0]][0] if len(group) == 1 else GREY,
                      transform=axis.get_yaxis_transform(), in_layout=False)  # fmt: skip
    foot(grid, "ns per packet (log scale)", order)
    told = (f"case {case}, {ends(cells[cells['case'] == case], 'ns', CONFIGURATION[:2], 'ns')}" for case in cases)
    return finish(grid, f"Cost of a packet by solution and strategy: {'; '.join(told)}.", 4, "", marks(hue))


def published_against_measured(cells: pd.DataFrame) -> Figure:
    """Measured against published ns/packet on log axes, one panel per layout, with the line of the typical
    factor.

    On the dashed line a figure differs from the published one only by the machine's speed; off it, by its
    shape.
    """
    rows = cells[cells["published_ns"].notna() & cells["ns"].notna()]
    if rows.empty:
        return nothing("no measured configuration has a published figure")
    ratios = rows["ns"] / rows["published_ns"]
    factor = float(ratios.median())
    names = {"java": "Java", "cpp": "C++"}
    rows, colours = by_collector(
        rows.assign(panel=[f"{names[one]} {two}" for one, two in zip(rows["language"], rows["layout"], strict=True)])
    )
    order = present([f"{names[one]} {layout}" for one, every in LAYOUTS.items() for layout in every], rows["panel"])
    columns = min(2, len(order))
    grid = sns.relplot(
        rows, x="published_ns", y="ns", hue="key", palette=colours, style="strategy", markers=MARKS, s=45, zorder=3,
        col="panel", col_order=order, col_wrap=columns, legend=False, **size(columns, 2.7),
    )  # fmt: skip
    low, high = (
        float(end) for end in (rows[["published_ns", "ns"]].min().min(), rows[["published_ns", "ns"]].max().max())
    )
    for panel, axis in grid.axes_dict.items():
        mine = rows[rows["panel"] == panel]
        for key, part in mine.groupby("key"):
            brackets(part["published_ns"], part["low"], part["high"], axis, color=colours[str(key)])
        axis.axline((low, low), (high, high), color=SILVER, linewidth=1, zorder=1)
        axis.axline((low, factor * low), (high, factor * high), color=INK, linewidth=1, linestyle="--", zorder=1)
        for which in "xy":
            log_axis(axis, low, high, which, 1.3, most=4)
    grid.set_axis_labels("published, ns per packet", "measured, ns per packet")
    lines = [
        Line2D([], [], color=SILVER, linewidth=1, label="equal"),
        Line2D([], [], color=INK, linewidth=1, linestyle="--", label=f"{factor:.2g} times the published figure"),
    ]
    far = float((ratios / factor).map(lambda one: max(one, 1 / one)).quantile(0.9))
    text = f"Measured costs are {factor:.2g} times the published ones in the median of {len(rows)} cells"
    handles = [*collector_handles(set(colours)), *strategy_shapes(set(rows["strategy"])), *lines]
    return finish(grid, f"{text}; nine in ten lie within a factor of {far:.2g} of that.", 4, handles=handles)
