"""Whether the figures can be trusted: processor time beside wall time, warm-up, agreement between trials."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from allocpool.evidence.style import (
    INK,
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
from allocpool.packets.strategies import STRATEGIES
from allocpool.packets.style import STRATEGY_STYLE, offsets, strategy_handles, strategy_shapes


def wall_against_cpu(trials: pd.DataFrame) -> Figure:
    """CPU against wall cost per packet, one dot per trial: above the lower line, collector threads work
    beside."""
    done = cell_data.with_cost(trials)
    done = done[done["cpu_ns_per_packet"] > 0]
    if done.empty:
        return nothing("no trial has finished yet")
    cases = sorted(done["case"].unique())
    figure, axes = new_figure(1, len(cases), 0.8 + 2.85 * len(cases), 3.9, sharey=True)
    both = done[["ns_per_packet", "cpu_ns_per_packet"]]
    low, high = float(both.min().min()), float(both.max().max())
    ends = np.array([low / 2, high * 2])
    used = set()
    for axis, case in zip(axes, cases, strict=True):
        for cores in (1, 2, 4):
            axis.plot(ends, ends * cores, color="#aaaaaa", linewidth=0.8, zorder=1)
            axis.text(
                low / 1.1,
                cores * low / 1.1,
                f" {cores} core{'s' if cores > 1 else ''}",
                fontsize=7.5,
                color="#666666",
                rotation=45,
                rotation_mode="anchor",
                transform_rotates_text=True,
                va="bottom",
            )
        for row in records(done[done["case"] == case]):
            key = collector_key(row.language, row.collector)
            used.add(key)
            axis.plot(
                row.ns_per_packet,
                row.cpu_ns_per_packet,
                marker=STRATEGY_STYLE[row.strategy][1],
                color=colour_of(key),
                markersize=5,
                alpha=0.8,
                markeredgecolor="white",
                markeredgewidth=0.4,
                zorder=3,
            )
        log_axis(axis, low, high, "x", 1.3)
        log_axis(axis, low, high, "y", 1.3)
        axis.set_title(f"case {case}", fontsize=11, color=INK)
        axis.set_xlabel("wall time, ns per packet", fontsize=9)
    axes[0].set_ylabel("CPU time of the process, ns per packet", fontsize=9)
    shapes = strategy_shapes(set(done["strategy"]))
    handles = [*collector_handles(used), *shapes]
    legend(figure, handles, min(len(handles), 6))
    return figure


def warm_up_curves(iterations: pd.DataFrame, trials: pd.DataFrame, case: str) -> Figure:
    """Cost of each iteration over the trial's measured mean, one line per trial; filling and warm-up are
    shaded.

    A line that has not settled at 1 when the shading ends says that the warm-up was too short.
    """
    done = cell_data.with_cost(trials)
    done = done[done["case"] == case]
    joined = iterations.merge(
        done[["trial_id", "solution", "strategy", "ns_per_packet"]], on="trial_id", suffixes=("", "_trial")
    )
    if joined.empty:
        return nothing(f"no iterations were recorded in case {case}")
    joined["relative"] = joined["ns_per_packet"] / joined["ns_per_packet_trial"]
    joined["time_s"] = (joined["end_ns"] - joined.groupby("trial_id")["start_ns"].transform("min")) / 1e9
    order = [name for name in cell_data.solution_order(done) if name in set(joined["solution"])]
    columns = min(4, len(order))
    rows = math.ceil(len(order) / columns)
    figure, axes = new_figure(rows, columns, 2.2 * columns + 0.5, 2.2 * rows + 0.7, sharey=True)
    high = float(min(joined["relative"].max(), 20))
    low = float(max(joined["relative"].min(), 0.05))
    for axis, solution in zip(axes, order, strict=False):
        group = joined[joined["solution"] == solution]
        warm = group.loc[group["phase"] != "measured", "time_s"]
        if len(warm):
            axis.axvspan(0, float(warm.max()), color="#f2ead8", zorder=0)
        for (_, strategy), lines in group.groupby(["trial_id", "strategy"]):
            colour, marker = STRATEGY_STYLE[str(strategy)]
            ordered = lines.sort_values("end_ns")
            axis.plot(
                ordered["time_s"],
                ordered["relative"],
                color=colour,
                linewidth=1,
                marker=marker,
                markersize=2.5,
            )
        axis.axhline(1, color=INK, linewidth=0.7)
        axis.set_title(solution, fontsize=9, color=INK)
        axis.set_xlabel("seconds", fontsize=8)
    for axis in axes:
        log_axis(axis, low, high, "y")
        axis.xaxis.set_major_locator(MaxNLocator(4))
        axis.tick_params(labelsize=8)
    for axis in axes[len(order) :]:
        axis.set_visible(False)
    figure.supylabel("iteration's cost / trial's measured mean", fontsize=9)
    legend(figure, strategy_handles(set(joined["strategy"])))
    return figure


def stability_strip(cells: pd.DataFrame, trials: pd.DataFrame) -> Figure:
    """Every trial's deviation from its cell's mean in percent, per solution; ringed where that mean hides two speeds or
    trials far off."""
    done = cell_data.with_cost(trials).merge(
        cells[["solution", "strategy", "case", "ns", "remark"]], on=["solution", "strategy", "case"]
    )
    if done.empty:
        return nothing("no trial has finished yet")
    done["deviation"] = (done["ns_per_packet"] / done["ns"] - 1) * 100
    order = cell_data.solution_order(done)
    figure, (axis,) = new_figure(1, 1, 9.3, 1.3 + 0.36 * max(len(order), 3))
    drawn = present(STRATEGIES, done["strategy"])
    off = offsets(drawn, 0.25)
    for row in records(done):
        colour, marker = STRATEGY_STYLE[row.strategy]
        axis.plot(
            row.deviation,
            order.index(row.solution) + off[row.strategy],
            marker=marker,
            markersize=5,
            linestyle="",
            color=colour,
            alpha=0.8,
            markeredgewidth=1.2 if pd.notna(row.remark) else 0,
            markeredgecolor="#000000",
        )
    axis.axvline(0, color=INK, linewidth=0.8)
    axis.set_yticks(range(len(order)), order, fontsize=9)
    axis.set_ylim(len(order) - 0.5, -0.5)
    axis.set_xlabel(
        "trial's deviation from the mean of its configuration, % (black ring: the mean hides something)",
        fontsize=9,
    )
    legend(figure, strategy_handles(set(drawn)))
    return figure
