"""The ladder of both languages, what an option changes, and events per packet."""

from __future__ import annotations

import math

import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from allocpool import stats
from allocpool.evidence.style import BLUE, GRID, ORANGE, finish, log_axis, nothing, size
from allocpool.evidence.trials import records
from allocpool.packets.cells import present
from allocpool.packets.style import ROW_INCHES, STRATEGY_STYLE, ends, foot, marks, part_rows, points, short_names
from allocpool.studies.native.specs import EVENTS
from allocpool.studies.native.study import ladder

_WAYS = {"hardware": BLUE, "simulated": ORANGE}


def ladder_gains(table: pd.DataFrame) -> Figure:
    """Cost of each rung in ns/packet, a panel for each case and language, with what the rung gained.

    ``table`` comes from `allocpool.studies.native.story.ladder_table`.
    """
    if table.empty:
        return nothing("no rung of the ladder has been measured yet")
    rows = table.assign(panel=table["language"] + ", case " + table["case"], strategy="pool")
    order = [step.replace("_", " ") for step in ladder("cpp") if step.replace("_", " ") in set(table["rung"])]
    panels = list(dict.fromkeys(rows.sort_values(["case", "language"])["panel"]))
    columns = min(2, len(panels))
    grid = points(rows, "ns", order, {"pool": STRATEGY_STYLE["pool"]}, y="rung", col="panel", col_order=panels,
                  columns=columns)  # fmt: skip
    for panel, axis in grid.axes_dict.items():
        mine = rows[rows["panel"] == panel]
        axis.plot(mine["ns"], [order.index(rung) for rung in mine["rung"]], color=GRID, linewidth=1.2, zorder=1)
        for row in records(mine):
            gain = "" if math.isnan(row.gain) else f" \u00f7 {stats.significant(row.gain, 2)}"
            gain += " (open)" if row.gain_text.startswith("open") else ""
            axis.annotate(f"{stats.significant(row.ns)}{gain}", (1, order.index(row.rung)), xytext=(4, 0), va="center",
                          xycoords=axis.get_yaxis_transform(), textcoords="offset points")  # fmt: skip
        log_axis(axis, float(table["ns"].min()), float(table["ns"].max()), "x", 2, most=3)
        axis.set(title=panel)
    grid.figure.supxlabel("ns per packet (log scale); after the sign of division: gain of the step")
    told = (f"{panel}, {ends(rows[rows['panel'] == panel], 'ns', ['rung'], 'ns')}" for panel in panels)
    return finish(grid, f"Cost of a pooled packet on each rung of the ladder: {'; '.join(told)}.", title="")


def option_costs(table: pd.DataFrame, with_option: str, without: str) -> Figure:
    """Cost with and without an option in ns/packet: a row for each solution and strategy, a panel for each case.

    ``table`` comes from `allocpool.studies.native.story.options_table`; the words name the two sides in the legend.
    """
    both = table.dropna(subset=["with_ns", "without_ns"])
    if both.empty:
        return nothing("no solution has been measured on both sides yet")
    short, _ = short_names(list(both["solution"].unique()))
    both = both.assign(row=both["solution"].map(short) + " / " + both["strategy"])
    sides = {"without_ns": without, "with_ns": with_option}
    long = both.melt(["row", "case"], list(sides), "side", "ns").assign(low=math.nan, high=math.nan)
    long["side"] = long["side"].map(sides)
    cases, order = sorted(set(both["case"])), list(dict.fromkeys(both["row"]))
    hue = {without: (BLUE, "D"), with_option: (ORANGE, "o")}
    grid = points(long, "ns", order, hue, by="side", y="row", col_order=cases)
    for case, axis in grid.axes_dict.items():
        log_axis(axis, float(long["ns"].min()), float(long["ns"].max()), "x", 1.3, most=4)
        axis.set(title=f"case {case}")
    foot(grid, "ns per packet (log scale)", order)
    ratios = both.assign(ratio=both["with_ns"].astype(float) / both["without_ns"].astype(float))
    words = ends(ratios, "ratio", ["row", "case"], "times")
    return finish(grid, f"Cost with {with_option} over cost with {without}: {words}.", 2, "", marks(hue))


def events_per_packet(counters: pd.DataFrame) -> Figure:
    """Events per packet by solution (rows) and event (panels); bars of simulated counts have another colour.

    ``counters`` is table ``counters`` of the native study. The case is named with the solution.
    """
    counted = counters[counters["per_packet"].notna()]
    if counted.empty:
        return nothing("no event has been counted on this machine yet")
    short, _ = short_names(list(counted["solution"].astype(str).unique()))
    counted = counted.assign(row=counted["solution"].astype(str).map(short) + ", " + counted["case"].astype(str))
    counted = counted.astype({"per_packet": float})
    events, order = present(EVENTS, counted["event"]), list(dict.fromkeys(counted["row"]))
    ways, columns = present(_WAYS, counted["counter"]), min(2, len(events))
    grid = sns.catplot(
        counted, kind="bar", x="per_packet", y="row", order=order, hue="counter", hue_order=ways, palette=_WAYS,
        col="event", col_order=events, col_wrap=columns, sharex=False, estimator="mean", errorbar=None, saturation=1,
        legend_out=False, **size(columns, 0.7 + ROW_INCHES * max(3, len(order))),
    )  # fmt: skip
    for event, axis in grid.axes_dict.items():
        for bars in axis.containers:
            axis.bar_label(bars, [stats.significant(bar.get_width(), 2) if bar.get_width() else "" for bar in bars],
                           padding=3)  # fmt: skip
        axis.set(title=event.replace("_", " "), xlabel="per packet", ylabel="")
        axis.set_xlim(0, 1.4 * max(1e-9, float(counted.loc[counted["event"] == event, "per_packet"].max())))
        part_rows(axis, len(order))
        axis.set_xticks([])
    told = (
        f"{event}, {ends(counted[counted['event'] == event], 'per_packet', ['row'], 'a packet')}" for event in events
    )
    return finish(grid, f"Events per packet, {' and '.join(ways)}: {'; '.join(told)}.", 2, "")
