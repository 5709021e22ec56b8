"""What stops a program, in pictures: pauses over time, their distribution, utilisation, overhead, CPU, live sets."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from allocpool.evidence import style
from allocpool.evidence.style import by_panel, colour_of, finish, log_axes, mark, marks, nothing, panels, rule
from allocpool.evidence.trials import records, spelled_out
from allocpool.packets import style as packets
from allocpool.packets.cells import CONTROLS, ORDERED_BY, configuration_order, present, with_cost
from allocpool.packets.specs import CASES, OPTION_FIELDS
from allocpool.packets.strategies import CHOICES, STRATEGIES
from allocpool.packets.style import CASE_WORDS, short_names, strategy_looks, two_lines
from allocpool.runtimes.threads import GROUPS
from allocpool.studies.pauses.attribution import ALL_CAUSES

_FACTS = ["trial_id", "configuration", *ORDERED_BY, *OPTION_FIELDS, "strategy", "case", "block"]
_NO_PAUSE = "no pause was measured"
_LEAST_PAUSE_MS = 1e-3
_CHOSEN = ["alloc", "pool"]
_THREADS = {"application": "application", "source": "source", "gc": "collector", "jit": "compiler", "other": "other"}
THREADS_STYLE = {
    "application": (style.BLUE, ""),
    "source": (style.SKY, "//"),
    "gc": (style.VERMILION, "xx"),
    "jit": (style.ORANGE, ".."),
    "other": (style.SILVER, "--"),
}
CAUSE_STYLE = {
    "stop on purpose": (style.GREEN, ".."),
    "full or degenerated collection": ("#b00020", "xx"),
    "other pause": (style.VERMILION, "//"),
    "other safepoint": (style.ORANGE, "--"),
    "time to safepoint": (style.PURPLE, "\\\\"),
    "allocation stall": (style.PLUM, "++"),
    "source slip": (style.SKY, "oo"),
    "nothing known": ("#cccccc", ""),
}


def _batch(trials: pd.DataFrame, case: str | None = None, strategies: Collection[str] = STRATEGIES) -> pd.DataFrame:
    done = with_cost(trials)
    done = done[(done["mode"] == "batch") & (done["layout"] == "heap") & ~done["collector"].isin(CONTROLS)]
    return done[done["strategy"].isin(strategies) & (True if case is None else done["case"] == case)]


def pause_timeline(pauses: pd.DataFrame, trials: pd.DataFrame, strategy: str, case: str) -> Figure:
    """Pauses over the measured window of the first block's trials, a row per configuration, a stroke per pause: its
    place is when it began, its height how long it lasted (log scale); every row has the same axes."""
    done = _batch(trials, case, [strategy])
    done = done[done["block"] == done["block"].min()]
    joined = pauses.merge(done[_FACTS], on="trial_id").astype({"duration_ms": float, "start_s": float})
    if joined.empty:
        return nothing(_NO_PAUSE)
    order = configuration_order(done)
    short, shared = short_names(order)
    lengths = joined["duration_ms"].clip(lower=_LEAST_PAUSE_MS)
    colours = done.drop_duplicates("configuration").set_index("configuration")["collector"].map(colour_of)
    grid = sns.FacetGrid(joined, row="configuration", row_order=order, height=1.2, aspect=style.WIDTH / 1.2)
    grid.figure.set_figheight(0.9 + 0.62 * len(order))  # rows this low are more than seaborn's own layout can do
    for configuration, axis in grid.axes_dict.items():
        mine = joined[joined["configuration"] == configuration]
        axis.vlines(
            mine["start_s"], lengths.min() / 2, mine["duration_ms"], linewidth=1.2, color=colours[configuration]
        )
        axis.set_ylabel(two_lines(short[configuration]), rotation=0, ha="right", va="center")
    log_axes(grid, "y", lengths, 2, most=2)
    grid.set(xlim=(0, float(done["seconds"].max())), title="")
    grid.figure.suptitle(f"length of each pause, ms (log scale): {strategy}, case {case}")
    words = f"Pauses over time, {strategy}, case {case}, ms."
    below = "seconds of the measured window"
    return finish(grid, f"{words} {len(joined)} pauses.", title="", x=f"{below}\n{shared}" if shared else below)


def pause_distributions(pauses: pd.DataFrame, trials: pd.DataFrame) -> Figure:
    """Share of pauses at least as long as a length, log-log, one line per configuration; panels by case and
    strategy."""
    joined = pauses.merge(_batch(trials, strategies=_CHOSEN)[_FACTS], on="trial_id").astype({"duration_ms": float})
    joined = joined[joined["duration_ms"] > 0]
    if joined.empty:
        return nothing(_NO_PAUSE)
    joined["panel"] = joined["case"].map(CASE_WORDS) + ", " + joined["strategy"]
    shown = present((f"{CASE_WORDS[case]}, {one}" for case in CASES for one in STRATEGIES), joined["panel"])
    order = configuration_order(joined)
    short, _ = short_names(order)
    facts = joined.drop_duplicates("configuration").set_index("configuration").loc[order]
    colours = facts["collector"].map(colour_of).to_dict()
    strokes = facts["runtime"].astype(int).map(lambda feature: _RUNTIME_LINE.get(feature, _OTHER_LINE)).to_dict()
    grid = sns.displot(
        joined, kind="ecdf", x="duration_ms", complementary=True, hue="configuration", hue_order=order, palette=colours,
        legend=False, **panels("panel", shown, 2.3),
    )  # fmt: skip
    for _, axis, mine in by_panel(grid, joined):
        for line, name in zip(axis.lines, reversed(present(order, mine["configuration"])), strict=True):
            line.set_linestyle(strokes[name])
    log_axes(grid, "x", joined["duration_ms"].clip(lower=_LEAST_PAUSE_MS))
    log_axes(grid, "y", [0.5 / joined.groupby(["panel", "configuration"], observed=True).size().max(), 1])
    grid.set_axis_labels("length of a pause, ms (log)", "share at least as long")
    handles = [mark(short[name], colours[name], line=strokes[name]) for name in order]
    return finish(grid, "How long pauses last, by case and strategy.", 2, handles=handles)


_RUNTIME_LINE: dict[int, Any] = {11: ":", 17: "-.", 21: "--", 25: "-", 26: (0, (8, 1, 1, 1)), 27: (0, (8, 1))}
_OTHER_LINE = (0, (4, 1))


def utilisation_curves(utilisation: pd.DataFrame, trials: pd.DataFrame, case: str) -> Figure:
    """Minimum mutator utilisation over the window's length; solid: pauses alone, dashed: all that stops the consumer.

    The mean over trials, with the range of the trials shaded; panels by configuration.
    """
    joined = utilisation.merge(_batch(trials, case, _CHOSEN)[_FACTS], on="trial_id")
    if joined.empty:
        return nothing("no utilisation was measured")
    joined["counted"] = joined["counted"].where(joined["counted"] == "pauses", _ALL_STOPS)
    order = configuration_order(joined)
    grid = sns.relplot(
        joined, kind="line", x="window_ms", y="utilisation", **packets.BY_COLOUR,
        hue_order=present(STRATEGIES, joined["strategy"]), style="counted", style_order=["pauses", _ALL_STOPS],
        estimator="mean", errorbar=style.STATED["errorbar"], **panels("configuration", order, 2.4, 3),
    )  # fmt: skip
    log_axes(grid, "x", joined["window_ms"], 1.0)
    grid.set(ylim=(-0.02, 1.02))
    text = f"Least share of a window left to the program, by its length, in case {case}."
    return finish(grid, text, 4, packets.panel_names(order), x="length of the window, ms (log scale)",
                  y="least share left")  # fmt: skip


_ALL_STOPS = "pauses, safepoints, stalls"


def overhead_by_strategy(overheads: pd.DataFrame) -> Figure:
    """Lower-bound overhead per configuration (rows) and strategy (marker) of heap buffers; panels by clock and case."""
    rows = overheads[(overheads["layout"] == "heap") & overheads["strategy"].isin(CHOICES)]
    rows = rows[~rows["collector"].isin(CONTROLS)]
    if rows.empty:
        return nothing("no overhead to show yet")
    rows = rows.assign(panel=rows["clock"] + ", case " + rows["case"].astype(str), language="java")
    cases, hue = present(CASES, rows["case"]), strategy_looks(rows)
    grid = packets.points(
        rows, "lbo", configuration_order(rows), hue, "least total cost over that of the program alone (log scale)",
        col="panel", col_order=[f"{clock}, case {case}" for clock in ("wall", "CPU") for case in cases],
        columns=len(cases),
    )  # fmt: skip
    log_axes(grid, "x", [1, 1.5, rows["high"].max()], 1.1)
    rule(grid, x=1, linestyle="-")
    return finish(grid, "Lower bound of the total cost over the cost of the program alone.", 3, handles=marks(hue))


def cpu_split(cpu: pd.DataFrame, trials: pd.DataFrame, case: str) -> Figure:
    """CPU per packet by thread group, one bar per configuration and strategy; means over trials."""
    joined = cpu.merge(_batch(trials, case, CHOICES)[[*_FACTS, "packets"]], on="trial_id")
    if joined.empty:
        return nothing("no CPU time was measured")
    joined = joined.assign(ns=(joined["cpu_ns"] / joined["packets"]).astype(float))
    order, strategies = configuration_order(joined), present(STRATEGIES, joined["strategy"])
    means = joined.groupby(["configuration", "strategy", "thread_group"], observed=True)["ns"].mean().reset_index()
    styles = {_THREADS[group]: THREADS_STYLE[group]
              for group in present(GROUPS, means.loc[means["ns"] > 0, "thread_group"])}  # fmt: skip
    means["thread"] = means["thread_group"].map(_THREADS)
    grid, handles = style.stack(means, "ns", "configuration", order, "thread", styles, "strategy", strategies)
    below = packets.name_rows(grid, f"CPU, ns per packet, case {case}", order)
    return finish(grid, f"CPU time by group of threads in case {case}.", 5, handles=handles, x=below)


def live_set_scaling(points: pd.DataFrame, fits: pd.DataFrame) -> Figure:
    """Each measure against live objects, one mark per trial, with the fitted lines; both axes logarithmic."""
    if points.empty:
        return nothing("no live set was measured")
    shown, looks = packets.by_collector(points)
    shown = shown.assign(millions=shown["live_objects"] / 1e6, ms=shown["cost_ns"].astype(float) / 1e6)
    measures = list(shown["measure"].unique())
    grid = sns.relplot(shown, x="millions", y="ms", **looks, s=40, facet_kws={"sharey": False},
                       **panels("measure", measures, 2.6))  # fmt: skip
    at = np.geomspace(float(shown["millions"].min()), float(shown["millions"].max()), 60)
    for measure, axis, mine in by_panel(grid, shown):
        for fit in records(fits[fits["measure"] == measure]):
            line = "-" if fit.strategy == "pool" else "--"
            axis.plot(at, fit.base_ms + fit.ns_per_object * at, color=colour_of(fit.collector), linewidth=1, ls=line)
        axis.plot(at, 0.1e3 * at, color=style.INK, linewidth=0.8, linestyle=":", zorder=1)
        log_axes(axis, "y", mine["ms"], 1.6)
        axis.set_ylabel("ms per collection" if measure == "collector CPU" else "ms")
    log_axes(grid, "x", at)
    grid.set_xlabels("live objects, million")
    handles = [*packets.collector_and_strategy(shown), mark("100 ns per object", style.INK, line=":", width=0.8)]
    return finish(grid, "What a collection takes against live objects.", 4, handles=handles)


def lost_by_cause(attribution: pd.DataFrame, losses: pd.DataFrame) -> Figure:
    """Share of the packets lost by what overlapped it, one bar per real-time trial of the first block that lost any."""
    named = losses[losses["block"] == losses["block"].min()].copy()
    named["name"] = [
        f"{spelled_out(row.configuration)}, {row.strategy} {row.case} / queue {row.input_queue_ms:g} ms"
        + (f", {row.disturbance.replace('_', ' ')}" if pd.notna(row.disturbance) else f", heap {row.heap_mb} MB")
        for row in records(named)
    ]
    joined = attribution.merge(named[["trial_id", "name"]], on="trial_id")
    if joined.empty:
        return nothing("no packet was lost")
    lost = joined.groupby(["name", "cause"], observed=True)["lost"].sum().astype(float).reset_index()
    totals = lost.groupby("name")["lost"].transform("sum")
    found = lost["name"] + totals.map(", {:,.0f} lost".format)
    lost = lost.assign(share=100 * lost["lost"] / totals, name=found.map(two_lines))
    order = sorted(lost["name"].unique())
    styles = {cause: CAUSE_STYLE[cause] for cause in present(ALL_CAUSES, lost.loc[lost["lost"] > 0, "cause"])}
    grid, handles = style.stack(lost, "share", "name", order, "cause", styles)
    grid.set(xlim=(0, 100), xlabel="share of the packets lost, %")
    return finish(grid, f"What overlapped losses, over {len(order)} trials that lost any.", 2, "", handles)


def years(trials: pd.DataFrame, collections: pd.DataFrame) -> Figure:
    """The same workload on every runtime: cost per packet and longest pause, one line per collector and strategy.

    In the case that ran on most runtimes, of several the largest. Medians over trials, bars from the smallest to the
    largest trial; a line joins a release only with the next one in the figure.
    """
    done = _batch(trials, strategies=_CHOSEN).merge(collections[["trial_id", "pause_max_ms"]], on="trial_id")
    runs = done.drop_duplicates(["case", "collector", "runtime"]).groupby("case").size()
    case = str(runs[runs == runs.max()].index.max())
    done = done[done["case"] == case]
    done = done[done.groupby("collector", observed=True)["runtime"].transform("nunique") > 1]
    if done.empty:
        return nothing("no collector was run on more than one runtime")
    runtimes = sorted(int(one) for one in done["runtime"].unique())
    done, looks = packets.by_collector(done)
    facts = ["key", "collector", "strategy", "runtime"]
    long = done.melt(facts, list(_YEARS), "measure", "value").dropna().astype({"value": float})
    long = long[long["value"] > 0].assign(place=long["runtime"].astype(int).map(runtimes.index))
    # Where one lacks a release that another has, another line begins.
    line = long.sort_values("place").groupby(["key", "strategy", "measure"], observed=True)["place"]
    long["stretch"] = line.transform(lambda places: (places.diff() > 1).cumsum()).astype(int)
    grid = sns.FacetGrid(long, sharey=False, **panels("measure", _YEARS, 2.8))
    for measure, axis, mine in by_panel(grid, long):
        for _, part in mine.groupby("stretch"):
            sns.lineplot(part, x="place", y="value", **looks, style_order=_CHOSEN, **style.BARS, markersize=6,
                         dashes={"alloc": (3, 2), "pool": ""}, ax=axis)  # fmt: skip
        log_axes(axis, "y", mine["value"], 1.3)
        axis.set(title="", xlabel="Java", ylabel=_YEARS[measure], xlim=(-0.3, len(runtimes) - 0.7))
        axis.set_xticks(range(len(runtimes)), [str(one) for one in runtimes])
    text = f"Cost and longest pause by release of Java, case {case}."
    return finish(grid, text, 4, "", packets.collector_and_strategy(long))


_YEARS = {"ns_per_packet": "ns per packet (log scale)", "pause_max_ms": "longest pause, ms (log scale)"}
