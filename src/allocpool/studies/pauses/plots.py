"""What stops a program, in pictures: pauses over time, their distribution, utilisation, overhead, CPU, live sets."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from allocpool.evidence.style import (
    BLUE,
    GREEN,
    GREY,
    GRID,
    INK,
    ORANGE,
    PLUM,
    PURPLE,
    SILVER,
    SKY,
    VERMILION,
    collector_handles,
    colour_of,
    decades_only,
    legend,
    log_axis,
    new_figure,
    nothing,
)
from allocpool.evidence.trials import records
from allocpool.packets.cells import CONTROLS, ORDERED_BY, present, solution_order, with_cost, within_layout
from allocpool.packets.specs import CASES, OPTION_FIELDS
from allocpool.packets.strategies import CHOICES, STRATEGIES
from allocpool.packets.style import STRATEGY_STYLE, offsets, strategy_handles, strategy_shapes
from allocpool.runtimes.threads import GROUPS
from allocpool.studies.pauses.attribution import ALL_CAUSES

_FACTS = ["trial_id", "solution", *ORDERED_BY, *OPTION_FIELDS, "strategy", "case", "block"]
_NO_PAUSE = "no pause was measured"
_LEAST_PAUSE_MS = 1e-3
_THREADS = {"application": "application", "source": "source", "gc": "collector", "jit": "compiler", "other": "other"}
THREADS_STYLE = {
    "application": (BLUE, ""),
    "source": (SKY, "//"),
    "gc": (VERMILION, "xx"),
    "jit": (ORANGE, ".."),
    "other": (SILVER, "--"),
}
CAUSE_STYLE = {
    "stop on purpose": (GREEN, ".."),
    "full or degenerated collection": ("#b00020", "xx"),
    "other pause": (VERMILION, "//"),
    "other safepoint": (ORANGE, "--"),
    "time to safepoint": (PURPLE, "\\\\"),
    "allocation stall": (PLUM, "++"),
    "source slip": (SKY, "oo"),
    "nothing known": ("#cccccc", ""),
}


def _batch(trials: pd.DataFrame, layout: str = "heap") -> pd.DataFrame:
    done = with_cost(trials)
    return done[(done["mode"] == "batch") & (done["layout"] == layout) & ~done["collector"].isin(CONTROLS)]


def pause_timeline(pauses: pd.DataFrame, trials: pd.DataFrame, strategy: str, case: str) -> Figure:
    """Pauses over the measured window of the first block's trials, one row per solution; height is the length."""
    done = _batch(trials)
    done = done[(done["strategy"] == strategy) & (done["case"] == case) & (done["block"] == done["block"].min())]
    joined = pauses.merge(done[_FACTS], on="trial_id")
    if joined.empty:
        return nothing(_NO_PAUSE)
    order = solution_order(done)
    figure, axes = new_figure(len(order), 1, 9.3, 0.9 + 0.62 * len(order), sharey=True)
    low = max(_LEAST_PAUSE_MS, float(joined["duration_ms"].min()))
    high = float(joined["duration_ms"].max())
    end_s = float(done["seconds"].max())
    for axis, solution in zip(axes, order, strict=True):
        for row in records(joined[joined["solution"] == solution]):
            length_s = max(row.duration_ms / 1e3, end_s / 800)
            axis.bar(
                row.start_s, row.duration_ms, width=length_s, align="edge", color=colour_of(row.collector),
                bottom=low / 2, linewidth=0,
            )  # fmt: skip
        log_axis(axis, low, high, "y", 1.6)
        decades_only(axis, "y")
        axis.set_xlim(0, end_s)
        axis.tick_params(labelsize=7)
        axis.set_ylabel(solution, fontsize=8, rotation=0, ha="right", va="center")
        if axis is not axes[-1]:
            axis.set_xticklabels([])
    axes[-1].set_xlabel("seconds of the measured window", fontsize=9)
    figure.suptitle(f"pauses, ms (log scale), {strategy}, case {case}", fontsize=10, color=INK)
    return figure


def pause_distributions(pauses: pd.DataFrame, trials: pd.DataFrame) -> Figure:
    """Share of pauses longer than a length, log-log, one line per solution; panels by case, rows by strategy."""
    done = _batch(trials)
    joined = pauses.merge(done[_FACTS], on="trial_id")
    joined = joined[joined["strategy"].isin(["alloc", "pool"]) & (joined["duration_ms"] > 0)]
    if joined.empty:
        return nothing(_NO_PAUSE)
    cases = present(CASES, joined["case"])
    strategies = present(STRATEGIES, joined["strategy"])
    figure, axes = new_figure(len(strategies), len(cases), 0.9 + 3.0 * len(cases), 0.9 + 2.5 * len(strategies), True)
    order = solution_order(joined)
    facts = {str(row.solution): row for row in records(joined.drop_duplicates("solution"))}
    lines = {}
    for index, axis in enumerate(axes):
        strategy, case = strategies[index // len(cases)], cases[index % len(cases)]
        group = joined[(joined["strategy"] == strategy) & (joined["case"] == case)]
        for solution in order:
            lengths = np.sort(group.loc[group["solution"] == solution, "duration_ms"].to_numpy(dtype=float))
            if not len(lengths):
                continue
            colour, line = colour_of(facts[solution].collector), _RUNTIME_LINE[int(facts[solution].runtime)]
            longer = 1 - np.arange(len(lengths)) / len(lengths)
            axis.step(lengths, longer, where="post", linewidth=1.3, color=colour, linestyle=line)
            axis.plot(lengths[-1], longer[-1], marker="o", markersize=3.5, color=colour)
            lines[solution] = Line2D([], [], label=within_layout(facts[solution]), color=colour, linestyle=line)
        log_axis(axis, max(_LEAST_PAUSE_MS, float(joined["duration_ms"].min())), float(joined["duration_ms"].max()))
        decades_only(axis)
        axis.set_yscale("log")
        axis.set_ylim(1e-3, 1.3)
        axis.set_title(f"{strategy}, case {case}", fontsize=9, color=INK)
        axis.tick_params(labelsize=8)
    figure.supxlabel("length of a pause, ms (log scale)", fontsize=9)
    figure.supylabel("share of pauses at least as long (log scale)", fontsize=9)
    legend(figure, [lines[name] for name in order if name in lines], min(4, len(lines)))
    return figure


_RUNTIME_LINE: dict[int, Literal[":", "-.", "--", "-"]] = {11: ":", 17: "-.", 21: "--", 25: "-"}


def utilisation_curves(utilisation: pd.DataFrame, trials: pd.DataFrame, case: str) -> Figure:
    """Minimum mutator utilisation over the window's length; solid: pauses alone, dashed: all that stops the consumer.

    The mean over trials, with the range of the trials shaded; panels by strategy.
    """
    done = _batch(trials)
    done = done[(done["case"] == case) & done["strategy"].isin(["alloc", "pool"])]
    joined = utilisation.merge(done[_FACTS], on="trial_id")
    if joined.empty:
        return nothing("no utilisation was measured")
    solutions = solution_order(joined)
    columns = min(3, len(solutions))
    rows = math.ceil(len(solutions) / columns)
    figure, axes = new_figure(rows, columns, 0.8 + 3.0 * columns, 0.9 + 2.0 * rows, sharey=True)
    for axis, solution in zip(axes, solutions, strict=False):
        group = joined[joined["solution"] == solution]
        for (strategy, counted), part in group.groupby(["strategy", "counted"], observed=True):
            curve = part.groupby("window_ms")["utilisation"].agg(["mean", "min", "max"])
            at = curve.index.to_numpy(dtype=float)
            colour = STRATEGY_STYLE[str(strategy)][0]
            axis.plot(at, curve["mean"], color=colour, linestyle="-" if counted == "pauses" else "--", linewidth=1.4)
            axis.fill_between(at, curve["min"], curve["max"], color=colour, alpha=0.12, linewidth=0)
        log_axis(axis, float(joined["window_ms"].min()), float(joined["window_ms"].max()), room=1.0)
        axis.set_ylim(-0.02, 1.02)
        axis.set_title(solution, fontsize=9, color=INK)
        axis.tick_params(labelsize=8)
    for axis in axes[len(solutions) :]:
        axis.set_visible(False)
    figure.supxlabel("length of the window, ms (log scale)", fontsize=9)
    figure.supylabel("least share left to the program", fontsize=9)
    styles = [
        Line2D([], [], color=GREY, linestyle="-", label="pauses"),
        Line2D([], [], color=GREY, linestyle="--", label="pauses, safepoints, stalls"),
    ]
    colours = [
        Line2D([], [], color=STRATEGY_STYLE[name][0], label=name) for name in present(STRATEGIES, joined["strategy"])
    ]
    legend(figure, [*colours, *styles])
    return figure


def overhead_by_strategy(overheads: pd.DataFrame, layout: str = "heap") -> Figure:
    """Lower-bound overhead per solution (rows) and strategy (marker); panels by clock and case."""
    rows = overheads[overheads["layout"] == layout]
    rows = rows[~rows["collector"].isin(CONTROLS) & rows["strategy"].isin(CHOICES)]
    if rows.empty:
        return nothing("no overhead to show yet")
    order = solution_order(rows.assign(language="java"))
    cases = present(CASES, rows["case"])
    clocks = ["wall", "CPU"]
    width, height = 2.6 + 2.5 * len(cases), 1.0 + 2 * (0.6 + 0.3 * len(order))
    figure, axes = new_figure(2, len(cases), width, height, sharey=True)
    drawn = present(STRATEGIES, rows["strategy"])
    off = offsets(drawn, 0.22)
    for index, axis in enumerate(axes):
        clock, case = clocks[index // len(cases)], cases[index % len(cases)]
        group = rows[rows["clock"] == clock]
        for row in records(group[group["case"] == case]):
            colour, marker = STRATEGY_STYLE[row.strategy]
            y = order.index(row.solution) + off[row.strategy]
            axis.plot([row.low, row.high], [y, y], color=colour, linewidth=1.5)
            axis.plot(row.lbo, y, marker=marker, color=colour, markersize=5, markeredgecolor="white")
        log_axis(axis, 1.0, max(1.5, float(group["high"].max())), room=1.1)
        axis.axvline(1, color=INK, linewidth=0.8)
        axis.set_title(f"{clock}, case {case}", fontsize=9, color=INK)
        for boundary in range(1, len(order)):
            axis.axhline(boundary - 0.5, color=GRID, linewidth=0.6)
        axis.grid(False, axis="y")
        axis.set_yticks(range(len(order)), order, fontsize=8)
        axis.set_ylim(len(order) - 0.5, -0.5)
        axis.tick_params(axis="x", labelsize=8)
    figure.supxlabel("lower bound of total cost over that of the program alone (log scale)", fontsize=9)
    legend(figure, strategy_handles(set(drawn)))
    return figure


def cpu_split(cpu: pd.DataFrame, trials: pd.DataFrame, case: str) -> Figure:
    """CPU per packet by thread group, one bar per solution and strategy; means over trials."""
    done = _batch(trials)
    done = done[(done["case"] == case) & done["strategy"].isin(CHOICES)]
    joined = cpu.merge(done[[*_FACTS, "packets"]], on="trial_id")
    if joined.empty:
        return nothing("no CPU time was measured")
    joined = joined.assign(ns=joined["cpu_ns"] / joined["packets"].astype(float))
    order = solution_order(joined)
    strategies = present(STRATEGIES, joined["strategy"])
    figure, axes = new_figure(1, len(strategies), 2.4 + 2.7 * len(strategies), 1.2 + 0.3 * len(order), sharey=True)
    means = joined.groupby(["solution", "strategy", "thread_group"], observed=True)["ns"].mean()
    for axis, strategy in zip(axes, strategies, strict=True):
        left = np.zeros(len(order))
        for group in GROUPS:
            widths = np.array([means.get((solution, strategy, group), 0.0) for solution in order])
            colour, hatch = THREADS_STYLE[group]
            axis.barh(range(len(order)), widths, left=left, color=colour, hatch=hatch, edgecolor="white", linewidth=0.3)
            left += widths
        axis.set_title(f"{strategy}, case {case}", fontsize=9, color=INK)
        axis.set_xlabel("CPU, ns per packet", fontsize=9)
        axis.set_yticks(range(len(order)), order, fontsize=8)
        axis.set_ylim(len(order) - 0.5, -0.5)
        axis.grid(False, axis="y")
    used = [group for group in GROUPS if joined.loc[joined["thread_group"] == group, "ns"].sum() > 0]
    legend(figure, [_patch(_THREADS[group], *THREADS_STYLE[group]) for group in used])
    return figure


def _patch(label: str, colour: str, hatch: str) -> Patch:
    return Patch(facecolor=colour, hatch=hatch, edgecolor="white", label=label)


def live_set_scaling(points: pd.DataFrame, fits: pd.DataFrame) -> Figure:
    """Each measure against live objects, one mark per trial, with the fitted lines; both axes logarithmic."""
    if points.empty:
        return nothing("no live set was measured")
    measures = [name for name in points["measure"].unique() if (points["measure"] == name).any()]
    figure, axes = new_figure(math.ceil(len(measures) / 2), 2, 9.6, 0.9 + 3.2 * math.ceil(len(measures) / 2))
    low, high = float(points["live_objects"].min()) / 1e6, float(points["live_objects"].max()) / 1e6
    for axis, measure in zip(axes, measures, strict=False):
        group = points[points["measure"] == measure]
        for row in records(group):
            axis.plot(
                row.live_objects / 1e6, row.cost_ns / 1e6, marker=STRATEGY_STYLE[row.strategy][1], markersize=5,
                color=colour_of(row.collector), alpha=0.85, markeredgecolor="white", markeredgewidth=0.4,
            )  # fmt: skip
        at = np.geomspace(low, high, 60)
        for fit in records(fits[fits["measure"] == measure]):
            line = "-" if fit.strategy == "pool" else "--"
            axis.plot(at, fit.base_ms + fit.ns_per_object * at, color=colour_of(fit.collector), linewidth=1, ls=line)
        bottom, top = float(group["cost_ns"].min()) / 1e6, float(group["cost_ns"].max()) / 1e6
        axis.plot(at, 0.1e3 * at, color=INK, linewidth=0.8, linestyle=":", zorder=1)
        log_axis(axis, low, high)
        log_axis(axis, bottom, top, "y", 1.6)
        axis.set_title(measure, fontsize=10, color=INK)
        axis.set_ylabel("ms per collection" if measure == "collector CPU" else "ms", fontsize=9)
        axis.set_xlabel("live objects, million", fontsize=9)
    for axis in axes[len(measures) :]:
        axis.set_visible(False)
    grey = Line2D([], [], color=INK, linewidth=0.8, linestyle=":", label="100 ns per object")
    used, strategies = set(points["collector"]), set(points["strategy"])
    handles = [*collector_handles(used), *strategy_shapes(strategies), grey]
    legend(figure, handles, min(6, len(handles)))
    return figure


def lost_by_cause(attribution: pd.DataFrame, losses: pd.DataFrame) -> Figure:
    """Share of the packets lost by what stood beside, one bar per real-time trial of the first block that lost any."""
    named = losses[losses["block"] == losses["block"].min()].copy()
    named["name"] = [
        f"{row.solution} {row.strategy} {row.case}, queue {row.input_queue_ms:g} ms"
        + (f", {row.disturbance.replace('_', ' ')}" if pd.notna(row.disturbance) else f", heap {row.heap_mb} MB")
        for row in records(named)
    ]
    joined = attribution.merge(named[["trial_id", "name"]], on="trial_id")
    if joined.empty:
        return nothing("no packet was lost")
    shares = joined.groupby(["name", "cause"], observed=True)["lost"].sum().unstack(fill_value=0)
    totals = shares.sum(axis=1)
    figure, (axis,) = new_figure(1, 1, 9.8, 1.3 + 0.32 * max(3, len(shares)))
    left = np.zeros(len(shares))
    for cause in ALL_CAUSES:
        if cause not in shares:
            continue
        widths = (100 * shares[cause] / totals).to_numpy(dtype=float)
        colour, hatch = CAUSE_STYLE[cause]
        axis.barh(range(len(shares)), widths, left=left, color=colour, hatch=hatch, edgecolor="white", linewidth=0.3)
        left += widths
    _name_rows(axis, [f"{name} ({totals[name]:,.0f} lost)" for name in shares.index])
    axis.set_xlabel("share of the packets lost, %", fontsize=9)
    axis.set_xlim(0, 100)
    used = [cause for cause in ALL_CAUSES if cause in shares and shares[cause].sum() > 0]
    legend(figure, [_patch(cause, *CAUSE_STYLE[cause]) for cause in used], min(4, len(used)))
    return figure


def _name_rows(axis: Axes, names: list[str]) -> None:
    axis.set_yticks(range(len(names)), names, fontsize=8)
    axis.set_ylim(len(names) - 0.5, -0.5)
    axis.grid(False, axis="y")


def years(trials: pd.DataFrame, collections: pd.DataFrame) -> Figure:
    """The same workload on every runtime: cost per packet and longest pause, one line per collector and strategy.

    In the case that ran on most runtimes, of several the largest.

    Geometric means over trials, bars from the smallest to the largest trial.
    """
    done = _batch(trials).merge(collections[["trial_id", "pause_max_ms"]], on="trial_id")
    done = done[done["strategy"].isin(["alloc", "pool"])]
    runs = done.drop_duplicates(["case", "collector", "runtime"]).groupby("case").size()
    case = str(runs[runs == runs.max()].index.max())
    done = done[done["case"] == case]
    several = done.groupby("collector", observed=True)["runtime"].nunique()
    done = done[done["collector"].isin(several[several > 1].index)]
    if done.empty:
        return nothing("no collector was run on more than one runtime")
    runtimes = sorted(int(one) for one in done["runtime"].unique())
    figure, axes = new_figure(1, 2, 9.6, 4.0)
    labels = {"ns_per_packet": "ns per packet (log scale)", "pause_max_ms": "longest pause, ms (log scale)"}
    for axis, (value, label) in zip(axes, labels.items(), strict=True):
        shown = done[done[value] > 0]
        for (collector, strategy), part in shown.groupby(["collector", "strategy"], observed=True):
            logs = part[value].astype(float).map(math.log).groupby(part["runtime"].astype(int))
            marks = pd.DataFrame({"mid": logs.mean(), "low": logs.min(), "high": logs.max()}).map(math.exp)
            at = [runtimes.index(int(one)) for one in marks.index]
            colour, marker = colour_of(str(collector)), STRATEGY_STYLE[str(strategy)][1]
            axis.vlines(at, marks["low"], marks["high"], color=colour, linewidth=1)
            line = "-" if strategy == "pool" else "--"
            axis.plot(at, marks["mid"], color=colour, marker=marker, linestyle=line, markersize=5, linewidth=1.2)
        if len(shown):
            log_axis(axis, float(shown[value].min()), float(shown[value].max()), "y", 1.3)
        axis.set_xticks(range(len(runtimes)), [f"Java {one}" for one in runtimes], fontsize=9)
        axis.set_ylabel(label, fontsize=9)
        axis.set_title(f"case {case}", fontsize=9, color=INK)
    used = {str(one) for one in done["collector"]}
    legend(figure, [*collector_handles(used), *strategy_shapes({str(one) for one in done["strategy"]})])
    return figure
