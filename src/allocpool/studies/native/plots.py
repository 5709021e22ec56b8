"""Optimisation steps of both languages."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from allocpool import stats
from allocpool.evidence.style import GREY, GRID, INK, by_panel, finish, log_axes, nothing
from allocpool.evidence.trials import records
from allocpool.packets.cells import present
from allocpool.packets.style import STRATEGY_STYLE, points
from allocpool.studies.native.study import optimisation_steps


def step_gains(table: pd.DataFrame) -> Figure:
    """Draw the cost of each optimisation step in ns/packet, a panel for each case and language, with its gain; of
    `allocpool.studies.native.story.steps_table`."""
    if table.empty:
        return nothing("no optimisation step has been measured yet")
    rows = table.assign(panel=table["language"] + ", case " + table["case"], strategy="pool")
    order = present((name.replace("_", " ") for name in optimisation_steps("cpp")), table["step"])
    shown = list(rows.sort_values(["case", "language"])["panel"].unique())
    grid = points(
        rows, "ns", order, {"pool": STRATEGY_STYLE["pool"]},
        "ns per packet (log scale); after ÷ the gain of the step (grey: inconclusive)", y="step", col="panel",
        col_order=shown, columns=2,
    )  # fmt: skip
    for _, axis, mine in by_panel(grid, rows):
        axis.plot(mine["ns"], mine["step"].map(order.index), color=GRID, linewidth=1.2, zorder=1)
        for row in records(mine):
            gain = "" if pd.isna(row.gain) else f" \u00f7 {stats.significant(row.gain, 2)}"
            colour = GREY if str(row.gain_text).startswith("inconclusive") else INK
            axis.annotate(f"{stats.significant(row.ns)}{gain}", (1, order.index(row.step)), xytext=(4, 0), va="center",
                          color=colour, xycoords=axis.get_yaxis_transform(), textcoords="offset points")  # fmt: skip
    log_axes(grid, "x", table["ns"], 2, most=1)
    return finish(grid, f"Cost of a pooled packet by optimisation step: {'; '.join(shown)}.")
