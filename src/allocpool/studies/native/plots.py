"""Optimisation steps of both languages, what an option changes, and events per packet."""

from __future__ import annotations

import textwrap

import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from allocpool import stats
from allocpool.evidence.style import BLUE, GRID, ORANGE, by_panel, finish, log_axes, marks, nothing, panels
from allocpool.evidence.trials import records
from allocpool.packets.cells import present
from allocpool.packets.style import ROW_INCHES, STRATEGY_STYLE, part_rows, points, short_names
from allocpool.studies.native.specs import EVENTS
from allocpool.studies.native.study import ladder

_WAYS = {"hardware": BLUE, "simulated": ORANGE}
_ROW_LETTERS = 24
"""A row's name breaks after so many."""


def ladder_gains(table: pd.DataFrame) -> Figure:
    """Cost of each optimisation step in ns/packet, a panel for each case and language, with its gain.

    ``table`` comes from `allocpool.studies.native.story.ladder_table`.
    """
    if table.empty:
        return nothing("no optimisation step has been measured yet")
    rows = table.assign(panel=table["language"] + ", case " + table["case"], strategy="pool")
    order = present((name.replace("_", " ") for name in ladder("cpp")), table["step"])
    shown = list(rows.sort_values(["case", "language"])["panel"].unique())
    grid = points(
        rows, "ns", order, {"pool": STRATEGY_STYLE["pool"]},
        "ns per packet (log scale); after the sign of division: gain of the step", y="step", col="panel",
        col_order=shown, columns=2,
    )  # fmt: skip
    for _, axis, mine in by_panel(grid, rows):
        axis.plot(mine["ns"], mine["step"].map(order.index), color=GRID, linewidth=1.2, zorder=1)
        for row in records(mine):
            gain = "" if pd.isna(row.gain) else f" \u00f7 {stats.significant(row.gain, 2)}"
            gain += " (open)" if str(row.gain_text).startswith("open") else ""
            axis.annotate(f"{stats.significant(row.ns)}{gain}", (1, order.index(row.step)), xytext=(4, 0), va="center",
                          xycoords=axis.get_yaxis_transform(), textcoords="offset points")  # fmt: skip
    log_axes(grid, "x", table["ns"], 2, most=1)
    return finish(grid, f"Cost of a pooled packet by optimisation step: {'; '.join(shown)}.")


def option_costs(table: pd.DataFrame, with_option: str, without: str) -> Figure:
    """Cost with and without an option in ns/packet: a row for each configuration and strategy, a panel for each case.

    ``table`` comes from `allocpool.packets.tables.options_table`; the words name the two sides in the legend.
    """
    both = table.dropna(subset=["with_ns", "without_ns"])
    if both.empty:
        return nothing("no configuration has been measured on both sides yet")
    short, _ = short_names(list(both["configuration"].unique()))
    both = both.assign(row=both["configuration"].map(short) + " / " + both["strategy"])
    sides = {"without_ns": without, "with_ns": with_option}
    long = both.rename(columns=sides).melt(["row", "case"], list(sides.values()), "side", "ns")
    hue = {without: (BLUE, "D"), with_option: (ORANGE, "o")}
    grid = points(long, "ns", list(both["row"].unique()), hue, "ns per packet (log scale)", by="side", y="row",
                  col_order=sorted(set(both["case"])))  # fmt: skip
    log_axes(grid, "x", long["ns"], 1.3)
    return finish(grid, f"Cost, {with_option} against {without}.", 2, "case {col_name}", marks(hue))


def events_per_packet(counters: pd.DataFrame) -> Figure:
    """Events per packet by configuration (rows) and event (panels); bars of simulated counts have another colour.

    ``counters`` is table ``counters`` of the native study. The case is named with the configuration.
    """
    counted = counters[counters["per_packet"].notna()].astype({"per_packet": float})
    if counted.empty:
        return nothing("no event has been counted on this machine yet")
    short, _ = short_names(list(counted["configuration"].astype(str).unique()))
    rows = counted["configuration"].astype(str).map(short) + ", " + counted["case"].astype(str)
    counted = counted.assign(row=rows.map(lambda name: textwrap.fill(name, _ROW_LETTERS)))
    events, order = present(EVENTS, counted["event"]), list(counted["row"].unique())
    ways = present(_WAYS, counted["counter"])
    grid = sns.catplot(
        counted, kind="bar", x="per_packet", y="row", order=order, hue="counter", hue_order=ways, palette=_WAYS,
        sharex=False, estimator="mean", errorbar=None, saturation=1,
        **panels("event", events, 0.7 + ROW_INCHES * max(3, sum(1 + name.count("\n") / 2 for name in order))),
    )  # fmt: skip
    grid.set(xlabel="per packet", ylabel="", xticks=[])
    for _, axis, mine in by_panel(grid, counted):
        for bars in axis.containers:
            axis.bar_label(bars, [stats.significant(bar.get_width(), 2) if bar.get_width() else "" for bar in bars],
                           padding=3)  # fmt: skip
        axis.set_xlim(0, 1.4 * max(1e-9, float(mine["per_packet"].max())))
        part_rows(axis, len(order))
    titles = {event: event.replace("_", " ") for event in events}
    return finish(grid, f"Events per packet, {' and '.join(ways)}.", 2, titles)
