"""The ladder of both languages, what an option changes, and events per packet."""

from __future__ import annotations

import math

import pandas as pd
from matplotlib.figure import Figure

from allocpool import stats
from allocpool.evidence.style import BLUE, GRID, INK, ORANGE, legend, log_axis, new_figure, nothing
from allocpool.evidence.trials import records
from allocpool.packets.style import STRATEGY_STYLE
from allocpool.studies.native.specs import EVENTS
from allocpool.studies.native.study import ladder

_SIMULATED, _COUNTED = ORANGE, BLUE


def ladder_gains(table: pd.DataFrame) -> Figure:
    """Cost of each rung in ns/packet, a panel for each case and language, with what the rung gained.

    ``table`` comes from `allocpool.studies.native.story.ladder_table`.
    """
    if table.empty:
        return nothing("no rung of the ladder has been measured yet")
    panels = [(case, language) for (case, language), _ in table.groupby(["case", "language"])]
    order = [step.replace("_", " ") for step in ladder("cpp") if step.replace("_", " ") in set(table["rung"])]
    figure, axes = new_figure(1, len(panels), 2.4 + 2.7 * len(panels), 1.2 + 0.45 * len(order), sharey=True)
    colour = STRATEGY_STYLE["pool"][0]
    for axis, (case, language) in zip(axes, panels, strict=True):
        rows = table[(table["case"] == case) & (table["language"] == language)]
        places = [order.index(rung) for rung in rows["rung"]]
        axis.plot(rows["ns"], places, color=GRID, linewidth=1.2, zorder=1)
        for row, place in zip(records(rows), places, strict=True):
            axis.plot([row.low, row.high], [place] * 2, color=colour, linewidth=2.2, solid_capstyle="butt", zorder=2)
            axis.plot(row.ns, place, marker="D", color=colour, markersize=6, markeredgecolor="white", zorder=3)
            gain = "" if math.isnan(row.gain) else f"  \u00f7 {stats.significant(row.gain, 2)}"
            gain += " (open)" if row.gain_text.startswith("open") else ""
            axis.annotate(
                f"{stats.significant(row.ns)} ns{gain}", (row.high, place), xytext=(7, 0),
                textcoords="offset points", fontsize=8, color=INK, va="center",
            )  # fmt: skip
        log_axis(axis, table["low"].min(), table["high"].max(), "x", 1.2)
        low, high = axis.get_xlim()
        axis.set_xlim(low, high * (high / low) ** 0.45)  # room for the words beside the rightmost dot
        axis.set_title(f"{language}, case {case}", fontsize=11, color=INK)
        axis.set_xlabel("ns per packet (log scale)", fontsize=9)
        axis.grid(False, axis="y")
    axes[0].set_yticks(range(len(order)), order, fontsize=9)
    axes[0].set_ylim(len(order) - 0.5, -0.5)
    return figure


def option_costs(table: pd.DataFrame, with_option: str, without: str) -> Figure:
    """Cost with and without an option in ns/packet: a row for each solution and strategy, a panel for each case.

    ``table`` comes from `allocpool.studies.native.story.options_table`; the words name the two sides in the legend.
    """
    both = table.dropna(subset=["with_ns", "without_ns"])
    if both.empty:
        return nothing("no solution has been measured on both sides yet")
    both = both.assign(row=both["solution"] + ", " + both["strategy"])
    cases, order = sorted(set(both["case"])), list(dict.fromkeys(both["row"]))
    figure, axes = new_figure(1, len(cases), 3.6 + 2.6 * len(cases), 1.3 + 0.4 * len(order), sharey=True)
    for axis, case in zip(axes, cases, strict=True):
        for row in records(both[both["case"] == case]):
            place = order.index(row.row)
            axis.plot([row.without_ns, row.with_ns], [place] * 2, color=GRID, linewidth=1.6, zorder=1)
            axis.plot(row.without_ns, place, marker="D", color=BLUE, markersize=6, label=without, zorder=3)
            axis.plot(row.with_ns, place, marker="o", color=ORANGE, markersize=6, label=with_option, zorder=2)
        values = both[["without_ns", "with_ns"]]
        log_axis(axis, float(values.min().min()), float(values.max().max()), "x", 1.3)
        axis.set_title(f"case {case}", fontsize=11, color=INK)
        axis.set_xlabel("ns per packet (log scale)", fontsize=9)
        axis.grid(False, axis="y")
    axes[0].set_yticks(range(len(order)), order, fontsize=8)
    axes[0].set_ylim(len(order) - 0.5, -0.5)
    handles, labels = axes[0].get_legend_handles_labels()
    legend(figure, list(dict(zip(labels, handles, strict=True)).values()))
    return figure


def events_per_packet(counters: pd.DataFrame) -> Figure:
    """Events per packet by solution (rows) and event (panels); bars of simulated counts have another colour.

    ``counters`` is table ``counters`` of the native study. The case is named with the solution.
    """
    counted = counters[counters["per_packet"].notna()]
    if counted.empty:
        return nothing("no event has been counted on this machine yet")
    counted = counted.assign(row=counted["solution"].astype(str) + ", " + counted["case"].astype(str))
    events = [name for name in EVENTS if name in set(counted["event"])]
    order = list(dict.fromkeys(counted["row"]))
    ways = [way for way in ("hardware", "simulated") if way in set(counted["counter"])]
    height = 1.2 + 0.42 * max(3, len(order))
    figure, axes = new_figure(1, len(events), 3.2 + 1.9 * len(events), height, sharey=True)
    thick = 0.7 / len(ways)
    for axis, event in zip(axes, events, strict=True):
        for number, way in enumerate(ways):
            rows = counted[(counted["event"] == event) & (counted["counter"] == way)]
            places = [order.index(row) + (number - (len(ways) - 1) / 2) * thick for row in rows["row"]]
            values = rows["per_packet"].astype(float)
            axis.barh(places, values, height=thick, color=_SIMULATED if way == "simulated" else _COUNTED, label=way)
            for place, value in zip(places, values, strict=True):
                axis.annotate(
                    stats.significant(value, 2), (value, place), xytext=(3, 0), textcoords="offset points",
                    fontsize=7.5, color=INK, va="center",
                )  # fmt: skip
        axis.set_xlim(0, 1.35 * max(1e-9, float(counted.loc[counted["event"] == event, "per_packet"].max())))
        axis.set_title(event.replace("_", " "), fontsize=9, color=INK)
        axis.set_xlabel("per packet", fontsize=8)
        axis.tick_params(axis="x", labelsize=7)
        axis.grid(False, axis="y")
    axes[0].set_yticks(range(len(order)), order, fontsize=8)
    axes[0].set_ylim(len(order) - 0.5, -0.5)
    legend(figure, axes[0].get_legend_handles_labels()[0])
    return figure
