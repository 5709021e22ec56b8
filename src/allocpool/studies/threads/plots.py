"""All comparisons of many threads at a glance."""

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
    WIDTH,
    finish,
    log_axes,
    mark,
    nothing,
    rule,
)
from allocpool.packets.by_size import INCONCLUSIVE
from allocpool.packets.cells import present
from allocpool.studies.threads.strategies import STRATEGIES, TOPOLOGIES

COLOURS = {row.name: row.colour for row in STRATEGIES.values()}
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
