"""What stops a program, in pictures: pauses over time, their distribution, utilisation, overhead, CPU, live sets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from allocpool import stats
from allocpool.evidence.style import (
    BLUE,
    GREEN,
    INK,
    ORANGE,
    PLUM,
    PURPLE,
    SILVER,
    SKY,
    STATED,
    VERMILION,
    WIDTH,
    collector_handles,
    colour_of,
    finish,
    log_axis,
    nothing,
    size,
    stack,
)
from allocpool.evidence.trials import records
from allocpool.packets.cells import CONTROLS, ORDERED_BY, present, solution_order, with_cost
from allocpool.packets.specs import CASES, OPTION_FIELDS
from allocpool.packets.strategies import CHOICES, STRATEGIES
from allocpool.packets.style import (
    CASE_WORDS,
    COLOURS,
    MARKS,
    STRATEGY_STYLE,
    ends,
    foot,
    marks,
    points,
    short_names,
    strategy_shapes,
    two_lines,
)
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
    """Pauses over the measured window of the first block's trials, a row per solution, a stroke per pause: its place is
    when it began, its height how long it lasted (log scale); every row has the same axes."""
    done = _batch(trials)
    done = done[(done["strategy"] == strategy) & (done["case"] == case) & (done["block"] == done["block"].min())]
    joined = pauses.merge(done[_FACTS], on="trial_id").astype({"duration_ms": float, "start_s": float})
    if joined.empty:
        return nothing(_NO_PAUSE)
    order = solution_order(done)
    short, shared = short_names(order)
    low = max(_LEAST_PAUSE_MS, float(joined["duration_ms"].min()))
    grid = sns.FacetGrid(joined, row="solution", row_order=order, height=1.2, aspect=WIDTH / 1.2)
    grid.figure.set_figheight(0.9 + 0.62 * len(order))  # rows this low are more than seaborn's own layout can do
    for solution, axis in grid.axes_dict.items():
        mine = joined[joined["solution"] == solution]
        axis.vlines(mine["start_s"], low / 2, mine["duration_ms"], linewidth=1.2,
                    color=colour_of(str(done.loc[done["solution"] == solution, "collector"].iloc[0])))  # fmt: skip
        log_axis(axis, low, float(joined["duration_ms"].max()), "y", 2, most=2)
        axis.set(xlim=(0, float(done["seconds"].max())), title="")
        axis.set_ylabel(two_lines(short[solution]), rotation=0, ha="right", va="center")
    grid.figure.supxlabel(f"seconds of the measured window\n{shared}" if shared else "seconds of the measured window")
    grid.figure.suptitle(f"length of each pause, ms (log scale): {strategy}, case {case}")
    words = f"Pauses over time, {strategy}, case {case}, ms: {ends(joined, 'duration_ms', ['solution'], 'ms')}."
    return finish(grid, f"{words} {len(joined)} pauses.", title="")


def pause_distributions(pauses: pd.DataFrame, trials: pd.DataFrame) -> Figure:
    """Share of pauses at least as long as a length, log-log, one line per solution; panels by case and strategy."""
    done = _batch(trials)
    joined = pauses.merge(done[_FACTS], on="trial_id")
    joined = joined[joined["strategy"].isin(["alloc", "pool"]) & (joined["duration_ms"] > 0)]
    if joined.empty:
        return nothing(_NO_PAUSE)
    joined = joined.astype({"duration_ms": float})
    joined["panel"] = joined["case"].map(CASE_WORDS) + ", " + joined["strategy"]
    order, cases = solution_order(joined), present(CASES, joined["case"])
    panels = present((f"{CASE_WORDS[case]}, {one}" for case in cases for one in STRATEGIES), joined["panel"])
    short, _ = short_names(order)
    facts = {str(row.solution): row for row in records(joined.drop_duplicates("solution"))}
    look = {name: (colour_of(fact.collector), _RUNTIME_LINE[int(fact.runtime)]) for name, fact in facts.items()}
    grid = sns.displot(
        joined, kind="ecdf", x="duration_ms", complementary=True, hue="solution", hue_order=order,
        palette={name: colour for name, (colour, _) in look.items()}, col="panel", col_order=panels, col_wrap=2,
        legend=False, **size(2, 2.3),
    )  # fmt: skip
    least = 0.5 / joined.groupby(["panel", "solution"], observed=True).size().max()
    for panel, axis in grid.axes_dict.items():
        here = [name for name in order if ((joined["panel"] == panel) & (joined["solution"] == name)).any()]
        for line, name in zip(axis.lines, reversed(here), strict=True):
            line.set_linestyle(look[name][1])
        low = max(_LEAST_PAUSE_MS, float(joined["duration_ms"].min()))
        log_axis(axis, low, float(joined["duration_ms"].max()), most=4)
        log_axis(axis, least, 1.0, "y", most=4)
    grid.set_axis_labels("length of a pause, ms (log)", "share at least as long")
    handles = [Line2D([], [], label=short[name], color=look[name][0], linestyle=look[name][1]) for name in order]
    tails = joined.groupby(["solution", "strategy", "case"], observed=True)["duration_ms"].quantile(0.99).reset_index()
    words = ends(tails, "duration_ms", ["solution", "strategy", "case"], "ms")
    return finish(grid, f"How long pauses last. The ninety-ninth percentile goes {words}.", 2, handles=handles)


_RUNTIME_LINE: dict[int, Any] = {11: ":", 17: "-.", 21: "--", 25: "-"}


def utilisation_curves(utilisation: pd.DataFrame, trials: pd.DataFrame, case: str) -> Figure:
    """Minimum mutator utilisation over the window's length; solid: pauses alone, dashed: all that stops the consumer.

    The mean over trials, with the range of the trials shaded; panels by solution.
    """
    done = _batch(trials)
    done = done[(done["case"] == case) & done["strategy"].isin(["alloc", "pool"])]
    joined = utilisation.merge(done[_FACTS], on="trial_id")
    if joined.empty:
        return nothing("no utilisation was measured")
    solutions = solution_order(joined)
    short, _ = short_names(solutions)
    columns = min(3, len(solutions))
    strategies = present(STRATEGIES, joined["strategy"])
    counted = joined["counted"].map(lambda one: one if one == "pauses" else _ALL_STOPS)
    grid = sns.relplot(
        joined.assign(counted=counted), kind="line", x="window_ms", y="utilisation", hue="strategy",
        hue_order=strategies, palette=COLOURS, style="counted", style_order=["pauses", _ALL_STOPS], col="solution",
        col_order=solutions, col_wrap=columns, estimator="mean", errorbar=STATED["errorbar"],
        facet_kws={"legend_out": False}, **size(columns, 1.7),
    )  # fmt: skip
    for solution, axis in grid.axes_dict.items():
        log_axis(axis, float(joined["window_ms"].min()), float(joined["window_ms"].max()), room=1.0, most=4)
        axis.set(ylim=(-0.02, 1.02), title=two_lines(short[solution], 19), xlabel="", ylabel="")
    grid.figure.supxlabel("length of the window, ms (log scale)")
    grid.figure.supylabel("least share left to the program")
    shortest = joined[joined["window_ms"] == joined["window_ms"].min()]
    least = shortest.groupby(["solution", "strategy"], observed=True)["utilisation"].mean().reset_index()
    words = ends(least, "utilisation", ["solution", "strategy"], "of a window")
    length = f"{stats.significant(float(joined['window_ms'].min()), 2)} ms"
    return finish(grid, f"Least share left to the program in case {case}: of the shortest windows, {length}, {words}.",
                  4, "")  # fmt: skip


_ALL_STOPS = "pauses, safepoints, stalls"


def overhead_by_strategy(overheads: pd.DataFrame, layout: str = "heap") -> Figure:
    """Lower-bound overhead per solution (rows) and strategy (marker); panels by clock and case."""
    rows = overheads[overheads["layout"] == layout]
    rows = rows[~rows["collector"].isin(CONTROLS) & rows["strategy"].isin(CHOICES)]
    if rows.empty:
        return nothing("no overhead to show yet")
    order = solution_order(rows.assign(language="java"))
    cases = present(CASES, rows["case"])
    rows = rows.assign(panel=rows["clock"] + ", case " + rows["case"].astype(str))
    panels = [f"{clock}, case {case}" for clock in ("wall", "CPU") for case in cases]
    hue = {name: STRATEGY_STYLE[name] for name in present(STRATEGIES, rows["strategy"])}
    grid = points(rows, "lbo", order, hue, col="panel", col_order=panels, columns=len(cases))
    for panel, axis in grid.axes_dict.items():
        log_axis(axis, 1.0, max(1.5, float(rows["high"].max())), room=1.1, most=4)
        axis.axvline(1, color=INK, linewidth=0.8)
        axis.set(title=panel)
    foot(grid, "least total cost over that of the program alone (log scale)", order)
    words = ends(rows, "lbo", ["solution", "strategy", "panel"], "times")
    return finish(
        grid, f"Lower bound of the total cost over the cost of the program alone: {words}.", 3, "", marks(hue)
    )


def cpu_split(cpu: pd.DataFrame, trials: pd.DataFrame, case: str) -> Figure:
    """CPU per packet by thread group, one bar per solution and strategy; means over trials."""
    done = _batch(trials)
    done = done[(done["case"] == case) & done["strategy"].isin(CHOICES)]
    joined = cpu.merge(done[[*_FACTS, "packets"]], on="trial_id")
    if joined.empty:
        return nothing("no CPU time was measured")
    joined = joined.assign(ns=(joined["cpu_ns"] / joined["packets"]).astype(float))
    order, strategies = solution_order(joined), present(STRATEGIES, joined["strategy"])
    means = joined.groupby(["solution", "strategy", "thread_group"], observed=True)["ns"].mean().reset_index()
    used = [group for group in GROUPS if means.loc[means["thread_group"] == group, "ns"].sum() > 0]
    means["thread"] = means["thread_group"].map(_THREADS)
    styles = {_THREADS[group]: THREADS_STYLE[group] for group in used}
    grid, handles = stack(means, "ns", "solution", order, "thread", styles, "strategy", strategies)
    for strategy, axis in grid.axes_dict.items():
        axis.set(title=strategy)
    foot(grid, f"CPU, ns per packet, case {case}", order)
    theirs = means[means["thread_group"] == "gc"].rename(columns={"ns": "collector"})
    words = ends(theirs, "collector", ["solution", "strategy"], "ns per packet")
    return finish(grid, f"CPU time by group of threads in case {case}; the collector's goes {words}.", 5, "", handles)


def live_set_scaling(points: pd.DataFrame, fits: pd.DataFrame) -> Figure:
    """Each measure against live objects, one mark per trial, with the fitted lines; both axes logarithmic."""
    if points.empty:
        return nothing("no live set was measured")
    shown = points.assign(millions=points["live_objects"] / 1e6, ms=points["cost_ns"].astype(float) / 1e6)
    measures = list(shown["measure"].unique())
    columns = min(2, len(measures))
    colours = {name: colour_of(str(name)) for name in shown["collector"].unique()}
    grid = sns.relplot(
        shown, x="millions", y="ms", hue="collector", palette=colours, style="strategy", markers=MARKS, s=40,
        col="measure", col_order=measures, col_wrap=columns, legend=False, facet_kws={"sharey": False},
        **size(columns, 2.6),
    )  # fmt: skip
    at = np.geomspace(float(shown["millions"].min()), float(shown["millions"].max()), 60)
    for measure, axis in grid.axes_dict.items():
        group = shown[shown["measure"] == measure]
        for fit in records(fits[fits["measure"] == measure]):
            line = "-" if fit.strategy == "pool" else "--"
            axis.plot(at, fit.base_ms + fit.ns_per_object * at, color=colour_of(fit.collector), linewidth=1, ls=line)
        axis.plot(at, 0.1e3 * at, color=INK, linewidth=0.8, linestyle=":", zorder=1)
        log_axis(axis, float(at[0]), float(at[-1]), most=4)
        log_axis(axis, float(group["ms"].min()), float(group["ms"].max()), "y", 1.6, most=4)
        axis.set_ylabel("ms per collection" if measure == "collector CPU" else "ms")
    grid.set_xlabels("live objects, million")
    dotted = Line2D([], [], color=INK, linewidth=0.8, linestyle=":", label="100 ns per object")
    handles = [*collector_handles(set(colours)), *strategy_shapes(set(points["strategy"])), dotted]
    words = ends(fits[fits["measure"] == measures[0]], "ns_per_object", ["collector", "strategy"], "ns per live object")
    return finish(
        grid,
        f"What a collection takes against live objects; slopes of the {measures[0]} go {words}.",
        4,
        handles=handles,
    )


def lost_by_cause(attribution: pd.DataFrame, losses: pd.DataFrame) -> Figure:
    """Share of the packets lost by what stood beside, one bar per real-time trial of the first block that lost any."""
    named = losses[losses["block"] == losses["block"].min()].copy()
    short, _ = short_names(list(named["solution"].unique()))
    named["name"] = [
        f"{short[row.solution]} {row.strategy} {row.case} / queue {row.input_queue_ms:g} ms"
        + (f", {row.disturbance.replace('_', ' ')}" if pd.notna(row.disturbance) else f", heap {row.heap_mb} MB")
        for row in records(named)
    ]
    joined = attribution.merge(named[["trial_id", "name"]], on="trial_id")
    if joined.empty:
        return nothing("no packet was lost")
    lost = joined.groupby(["name", "cause"], observed=True)["lost"].sum().astype(float).reset_index()
    totals = lost.groupby("name")["lost"].sum()
    lost["name"] = [two_lines(f"{name}, {totals[name]:,.0f} lost") for name in lost["name"]]
    totals = lost.groupby("name")["lost"].sum()
    lost["share"] = 100 * lost["lost"] / lost["name"].map(totals)
    order = sorted(totals.index)
    used = [cause for cause in ALL_CAUSES if lost.loc[lost["cause"] == cause, "lost"].sum() > 0]
    grid, handles = stack(lost, "share", "name", order, "cause", {cause: CAUSE_STYLE[cause] for cause in used})
    grid.set(xlim=(0, 100), xlabel="share of the packets lost, %", ylabel="")
    shares = lost.groupby("cause", observed=True)["lost"].sum() / lost["lost"].sum()
    words = ", ".join(f"{cause} {shares[cause]:.0%}" for cause in used)
    return finish(grid, f"What stood beside losses, over {len(order)} trials that lost any: {words}.", 2, "", handles)


def years(trials: pd.DataFrame, collections: pd.DataFrame) -> Figure:
    """The same workload on every runtime: cost per packet and longest pause, one line per collector and strategy.

    In the case that ran on most runtimes, of several the largest. Medians over trials, bars from the smallest to the
    largest trial; a line joins a release only with the next one of the study, never across one that was not measured.
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
    long = done.melt(["collector", "strategy", "runtime"], list(_YEARS), "measure", "value").dropna()
    long = long[long["value"].astype(float) > 0].astype({"value": float})
    long["place"] = long["runtime"].astype(int).map(runtimes.index)
    line = long["collector"].astype(str) + long["strategy"].astype(str) + long["measure"]
    # Where a release between two others was not measured, another line begins.
    stretch = {
        name: dict(zip(places, np.cumsum(np.diff(places, prepend=places[0]) > 1), strict=True))
        for name, places in ((name, sorted(set(long.loc[line == name, "place"]))) for name in set(line))
    }
    long["stretch"] = [stretch[name][place] for name, place in zip(line, long["place"], strict=True)]
    colours = {str(name): colour_of(str(name)) for name in long["collector"].unique()}
    strategies = present(STRATEGIES, long["strategy"])
    grid = sns.FacetGrid(long, col="measure", col_order=list(_YEARS), sharey=False, **size(2, 2.8))
    for measure, axis in grid.axes_dict.items():
        for _, part in long[long["measure"] == measure].groupby("stretch"):
            sns.lineplot(part, x="place", y="value", hue="collector", palette=colours, style="strategy", markers=MARKS,
                         dashes={"alloc": (3, 2), "pool": ""}, style_order=strategies, **STATED, err_style="bars",
                         markersize=6, legend=False, ax=axis)  # fmt: skip
        mine = long[long["measure"] == measure]
        if len(mine):
            log_axis(axis, float(mine["value"].min()), float(mine["value"].max()), "y", 1.3, most=4)
        axis.set(title="", xlabel="Java", ylabel=_YEARS[measure], xlim=(-0.3, len(runtimes) - 0.7))
        axis.set_xticks(range(len(runtimes)), [str(one) for one in runtimes])
    handles = [*collector_handles(set(colours)), *strategy_shapes(set(strategies))]
    costs = long[long["measure"] == "ns_per_packet"]
    middle = costs.groupby(["collector", "strategy", "runtime"], observed=True)["value"].median().reset_index()
    words = ends(middle, "value", ["collector", "strategy", "runtime"], "ns per packet")
    return finish(
        grid, f"Cost and longest pause by release of Java, case {case}; the cost goes {words}.", 4, "", handles
    )


_YEARS = {"ns_per_packet": "ns per packet (log scale)", "pause_max_ms": "longest pause, ms (log scale)"}
