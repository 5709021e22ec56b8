"""Figures of many threads: all comparisons at a glance, cost against threads by strategy, losses by ring."""

from __future__ import annotations

import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from allocpool.evidence.style import (
    BLUE,
    GREEN,
    ORANGE,
    PURPLE,
    SKY,
    STATED,
    WIDTH,
    finish,
    log_axes,
    mark,
    nothing,
    panels,
    rule,
)
from allocpool.evidence.trials import counted, finished
from allocpool.packets.by_size import INCONCLUSIVE
from allocpool.packets.cells import present
from allocpool.studies.threads.cells import CPU
from allocpool.studies.threads.strategies import LABELS, STRATEGIES, TOPOLOGIES

_COLOURS = {row.label: row.colour for row in STRATEGIES.values()}
_LOCK, _ALL, _EACH, _RING, _LIBRARY = (
    "one pool under a lock", "one pool without a lock", "a part for each thread", "no pool: copies", "a library's",
)  # fmt: skip
_KINDS = {_LOCK: BLUE, _ALL: SKY, _EACH: GREEN, _RING: ORANGE, _LIBRARY: PURPLE}
_DECIDED = "decided"


def _kind(name: str) -> str:
    """Return what threads share of a pool: more than that an overview can't show."""
    strategy = STRATEGIES[name]
    if strategy.library is not None:
        return _LIBRARY
    return {"locked": _LOCK, "copy_on_keep": _RING}.get(name, _ALL if strategy.shared == "all" else _EACH)


def overview(judged: pd.DataFrame) -> Figure:
    """Draw CPU over allocation's of every strategy by configuration, a panel for each topology: `story.judged`."""
    if judged.empty:
        return nothing("no pool has the trials that a verdict takes")
    shown = judged.assign(
        kind=judged["strategy"].map(_kind),
        shown=judged["verdict"].where(judged["verdict"] == INCONCLUSIVE, _DECIDED),
        line=judged.groupby("topology")["configuration"].transform(lambda names: pd.factorize(names)[0]),
    )
    kinds = present(_KINDS, shown["kind"])
    shown["at"] = shown["line"] + (shown["kind"].map(kinds.index) - (len(kinds) - 1) / 2) * 0.8 / len(kinds)
    topologies = present(TOPOLOGIES, shown["topology"])
    lines = [int(shown.loc[shown["topology"] == name, "line"].max()) + 1 for name in topologies]
    markers = {_DECIDED: "o", INCONCLUSIVE: "X"}
    grid = sns.relplot(
        shown, x="ratio", y="at", row="topology", row_order=topologies, hue="kind", hue_order=kinds, palette=_KINDS,
        style="shown", markers=markers, legend=False, height=1, aspect=WIDTH,
        facet_kws={"sharey": False, "gridspec_kws": {"height_ratios": lines}},
    )  # fmt: skip
    grid.figure.set_size_inches(WIDTH, 0.3 * sum(lines) + 0.45 * len(lines))
    for topology, axis in grid.axes_dict.items():
        mine = shown[shown["topology"] == topology]
        axis.hlines(mine["at"], mine["low"], mine["high"], colors=mine["kind"].map(_KINDS), linewidth=0.8, alpha=0.7)
        names = mine["configuration"].unique()
        axis.set_yticks(range(len(names)), names)
        axis.set(title=topology, ylabel="", ylim=(len(names) - 0.5, -0.5))
        axis.grid(False, axis="y")
    log_axes(grid, "x", [*shown[["ratio", "low", "high"]].to_numpy(float).ravel(), 1.0], 1.3, most=6)
    rule(grid, x=1.0)
    text = f"CPU over that of allocating: {shown['verdict'].value_counts().to_dict()}."
    handles = [*(mark(name, _KINDS[name], "o") for name in kinds), mark(INCONCLUSIVE, marker="X")]
    return finish(grid, text, title="", x="CPU over allocation's, below 1 cheaper (log scale)", handles=handles)


def cost_by_threads(trials: pd.DataFrame, topology: str) -> Figure:
    """Draw CPU a packet against workers, a panel for each configuration: trials, and a line through their medians."""
    done = finished(counted(trials))
    done = done[done["topology"] == topology].dropna(subset=[CPU])
    done = done.assign(strategy=done["strategy"].map(LABELS)).astype({CPU: float, "threads": int})
    if done.empty:
        return nothing(f"topology {topology} is not part of this campaign")
    names = present(_COLOURS, done["strategy"])
    shared = {"x": "threads", "y": CPU, "hue": "strategy", "hue_order": names, "palette": _COLOURS, "legend": False}
    # Side by side at a number of workers, or they hide each other.
    grid = sns.catplot(done, kind="point", **shared, **STATED, dodge=0.8 - 0.8 / len(names) or False, markersize=0,
                       linewidth=1.2, sharey=False, sharex=False,
                       **panels("configuration", done["configuration"].unique(), 3.0))  # fmt: skip
    grid.map_dataframe(sns.stripplot, **shared, dodge=len(names) > 1, size=4, jitter=False)
    grid.set(ylim=(0, None)).set_axis_labels("workers", "")
    handles = [mark(name, _COLOURS[name], "o", "-") for name in names]
    return finish(grid, f"CPU a packet, {topology}, by workers.", handles=handles, y="CPU of the process, ns a packet")


def losses_by_ring(trials: pd.DataFrame, rings: pd.DataFrame) -> Figure:
    """Draw the share of ticks that found their ring full, by interval; a mark is a ring of a trial."""
    paced = finished(counted(trials[trials["interval_ns"].notna()]))
    shown = rings.merge(paced[["trial_id", "configuration", "topology", "strategy", "interval_ns"]], on="trial_id")
    shown = shown[shown["generated"] > 0].assign(strategy=shown["strategy"].map(LABELS))
    if shown.empty:
        return nothing("no trial of this campaign ran in real time")
    shown = shown.assign(
        lost_percent=100 * shown["lost"] / shown["generated"], interval_us=shown["interval_ns"].astype(float) / 1e3,
        panel=shown["configuration"] + ", " + shown["topology"],
    )  # fmt: skip
    names = present(_COLOURS, shown["strategy"])
    grid = sns.relplot(
        shown, x="interval_us", y="lost_percent", hue="strategy", hue_order=names, palette=_COLOURS, style="ring",
        legend=False, facet_kws={"sharex": False, "sharey": False}, **panels("panel", shown["panel"].unique(), 2.7),
    )  # fmt: skip
    grid.set(ylim=(0, None)).set_axis_labels("interval between packets, µs", "lost of each ring, %")
    text = f"Lost of the ticks of {len(shown)} rings, by interval: {int((shown['lost'] > 0).sum())} lost any."
    return finish(grid, text, handles=[mark(name, _COLOURS[name], "o") for name in names])
