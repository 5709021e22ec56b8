"""What a packet costs, by solution, strategy and case, and how that compares with what was published."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from allocpool.evidence.style import INK, SILVER, finish, log_axes, mark, marks, nothing, panels
from allocpool.packets import cells as cell_data
from allocpool.packets.cells import CONFIGURATION, present
from allocpool.packets.layouts import LAYOUTS
from allocpool.packets.specs import CASES
from allocpool.packets.style import CASE_WORDS, against, ends, gaps_beside, points, strategy_looks

_LANGUAGES = {"java": "Java", "cpp": "C++"}


def strategy_costs(cells: pd.DataFrame, trials: pd.DataFrame) -> Figure:
    """Cost in ns/packet per solution (rows), case (panels) and strategy (marker): dot, interval and every trial.

    ``cells`` comes from `allocpool.packets.cells.cells`; ``trials`` gives the thin strokes. Where cells have no figure
    the row says why, in a word or two.
    """
    cases = present(CASES, cells["case"])
    if cells["ns"].isna().all() or not cases:
        return nothing("no trial has finished yet")
    order, hue = cell_data.solution_order(cells), strategy_looks(cells)
    every = cells[list(CONFIGURATION)].drop_duplicates().merge(cell_data.with_cost(trials))
    every = every.rename(columns={"ns_per_packet": "ns"})
    grid = points(cells, "ns", order, hue, "ns per packet (log scale)", col_order=cases, trials=every)
    log_axes(grid, "x", [*cells["low"], *cells["high"]], most=3)
    gaps_beside(grid, cells[cells["gap"].notna()].rename(columns={"gap_word": "word"}), order)
    told = (f"case {case}, {ends(cells[cells['case'] == case], 'ns', CONFIGURATION[:2], 'ns')}" for case in cases)
    return finish(grid, f"Cost of a packet by solution and strategy: {'; '.join(told)}.", 4, CASE_WORDS, marks(hue))


def published_against_measured(cells: pd.DataFrame) -> Figure:
    """Measured against published ns/packet on log axes, one panel per layout, with the line of the typical factor.

    On the dashed line a figure differs from the published one only by the machine's speed; off it, by its shape.
    """
    rows = cells[cells["published_ns"].notna() & cells["ns"].notna()]
    if rows.empty:
        return nothing("no measured configuration has a published figure")
    ratios = rows["ns"] / rows["published_ns"]
    factor = float(ratios.median())
    rows = rows.assign(panel=rows["language"].map(_LANGUAGES) + " " + rows["layout"].astype(str))
    names = (f"{_LANGUAGES[language]} {layout}" for language, every in LAYOUTS.items() for layout in every)
    shape = panels("panel", present(names, rows["panel"]), 2.7)
    grid, handles = against(rows, "published_ns", "ns", ("low", "high"), **shape)
    for axis in grid.axes.flat:
        axis.axline((1, factor), (2, 2 * factor), color=INK, linewidth=1, linestyle="--", zorder=1)
    handles += [mark("equal", SILVER, line="-"), mark(f"{factor:.2g} \u00d7 published", INK, line="--")]
    far = float((ratios / factor).map(lambda one: max(one, 1 / one)).quantile(0.9))
    text = f"Measured costs are {factor:.2g} times the published ones in the median of {len(rows)} cells"
    return finish(grid, f"{text}; nine in ten lie within a factor of {far:.2g} of that.", 4, handles=handles,
                  x="published, ns per packet", y="measured, ns per packet")  # fmt: skip
