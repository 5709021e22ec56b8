"""Verdict, tables and figure of the page on many threads, computed from its trials."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from allocpool import stats
from allocpool.campaign import store
from allocpool.decisions import FEWEST, compare, compare_together
from allocpool.evidence import style
from allocpool.evidence.trials import finished
from allocpool.packets import by_size
from allocpool.packets.cells import present
from allocpool.studies.threads.claims import CPU, KEYS, batch, ended
from allocpool.studies.threads.strategies import LABELS, STRATEGIES, TOPOLOGIES

_TOPOLOGIES = {
    "sharded": "Where each thread frees what it obtained",
    "pipeline": "Where another thread frees it",
    "virtual": "On virtual threads",
}
_NO_POOL = "copy_on_keep"
"""Uses its messages again, and has no pool: the verdict keeps it apart."""
_FAMILY = ["topology", "buffers"]


def at_most_threads(trials: pd.DataFrame) -> pd.DataFrame:
    """Return the batch trials that ended well at the most threads of their configuration and topology, padded ones."""
    done = ended(batch(trials[trials["padded"]]))
    most = done.groupby(["configuration", "topology"], observed=True)["threads"].transform("max")
    return done[done["threads"] == most]


def over(trials: pd.DataFrame, column: str, one: object, other: object, value: str = CPU) -> pd.DataFrame:
    """Return ``value`` where ``column`` is ``one`` over that where it is ``other``, all else equal: a row for each that
    was measured both ways in batch."""
    keys = [name for name in KEYS if name != column]
    trials = trials if column == "padded" else trials[trials["padded"]]
    rows = []
    for key, group in ended(batch(trials)).groupby(keys, observed=True):
        a, b = (group.loc[group[column] == side, value].dropna().astype(float) for side in (one, other))
        if len(a) and len(b):
            rows.append((*key, compare(a, b).text()))
    return pd.DataFrame(rows, columns=[*keys, "ratio"]).replace({"strategy": LABELS})


def medians(trials: pd.DataFrame, columns: Sequence[str], by: Sequence[str] = ()) -> pd.DataFrame:
    """Return the median of each of ``columns`` over the trials of a cell that ended well; ``by``: further keys."""
    values = finished(trials).astype(dict.fromkeys(columns, float))
    table = values.groupby([*KEYS, *by], sort=False, observed=True)[list(columns)].median()
    return table.map(stats.significant, na_action="ignore").reset_index().replace({"strategy": LABELS})


def judged(trials: pd.DataFrame, value: str = CPU) -> pd.DataFrame:
    """Return every strategy that uses messages again against allocating them, at the most threads: ``ratio`` of its CPU
    over allocation's, the interval, and the verdict as of `by_size.verdict_of`.

    All of a topology and a kind of buffers are decided together, so that one that is named was not chosen by the trials
    that speak for it alone. What has too few trials for a verdict is left out.
    """
    done = at_most_threads(trials).dropna(subset=[value])
    on_heap = done["layout"].eq("heap").map({True: "on the Java heap", False: "off it"})
    done["buffers"] = on_heap.mask(done["language"] == "cpp", "in C++")
    keys = [*_FAMILY, "configuration", "threads", "strategy"]
    groups = done.groupby(keys, observed=True)[value]
    costs = {key: group.astype(float) for key, group in groups if len(group) >= FEWEST}
    rows = []
    pools = [key for key in costs if STRATEGIES[str(key[-1])].is_pool and (*key[:-1], "alloc") in costs]
    for family in dict.fromkeys(key[:2] for key in pools):
        mine = [key for key in pools if key[:2] == family]
        compared = compare_together([(costs[key], costs[(*key[:-1], "alloc")]) for key in mine])
        for key, comparison in zip(mine, compared, strict=True):
            found = comparison.decision
            verdict = by_size.verdict_of(found.n, -comparison.direction, comparison.equivalent)
            rows.append((*key, verdict, found.ratio, found.low, found.high, found.n))
    return pd.DataFrame(rows, columns=[*keys, "verdict", "ratio", "low", "high", "n"])


_STRENGTH = ["allocate", by_size.INCONCLUSIVE, by_size.NO_DIFFERENCE, "pool"]
"""Of the pools of a configuration the strongest speaks for it: whatever is inconclusive is no reason to allocate."""


def verdict(trials: pd.DataFrame) -> str:
    """Return the answer of the page, as Markdown: a line per topology, and two strategies that readers ask for."""
    rows = judged(trials)
    pools = rows[rows["strategy"] != _NO_POOL].assign(strength=rows["verdict"].map(_STRENGTH.index))
    ranked = pools.sort_values(["strength", "ratio"], ascending=[False, True])
    best = ranked.groupby([*_FAMILY, "configuration"], sort=False).head(1)
    asked = {where: best[best["topology"] == topology] for topology, where in _TOPOLOGIES.items()}
    asked["One stack under a lock"] = rows[rows["strategy"] == "locked"]
    asked["No pool, copies of what is kept"] = rows[rows["strategy"] == _NO_POOL]
    return "  \n".join(by_size.tally(name, mine).text for name, mine in asked.items())


def summary(profile: str) -> str:
    """Return the verdict on what is stored under a profile."""
    return verdict(store.stored("threads", profile)[0]["trials"])


COLOURS = {row.name: row.colour for row in STRATEGIES.values()}
_LOCK, _ALL, _EACH, _RING, _LIBRARY = (
    "one pool under a lock", "one pool without a lock", "a part for each thread", "no pool: copies", "a library's",
)  # fmt: skip
_KINDS = {_LOCK: style.BLUE, _ALL: style.SKY, _EACH: style.GREEN, _RING: style.ORANGE, _LIBRARY: style.PURPLE}
_DECIDED = "decided"


def _kind(name: str) -> str:
    """Return what threads share of a pool: more than that an overview can't show."""
    strategy = STRATEGIES[name]
    if strategy.library is not None:
        return _LIBRARY
    return {"locked": _LOCK, "copy_on_keep": _RING}.get(name, _ALL if strategy.shared == "all" else _EACH)


def overview(judged: pd.DataFrame) -> Figure:
    """Draw CPU over allocation's of every strategy by configuration, a panel for each topology: `judged`."""
    if judged.empty:
        return style.nothing("no pool has the trials that a verdict takes")
    shown = judged.assign(
        kind=judged["strategy"].map(_kind),
        shown=judged["verdict"].where(judged["verdict"] == by_size.INCONCLUSIVE, _DECIDED),
        line=judged.groupby("topology")["configuration"].transform(lambda names: pd.factorize(names)[0]),
    )
    kinds = present(_KINDS, shown["kind"])
    shown["at"] = shown["line"] + (shown["kind"].map(kinds.index) - (len(kinds) - 1) / 2) * 0.8 / len(kinds)
    topologies = present(TOPOLOGIES, shown["topology"])
    lines = [int(shown.loc[shown["topology"] == name, "line"].max()) + 1 for name in topologies]
    markers = {_DECIDED: "o", by_size.INCONCLUSIVE: "X"}
    grid = sns.relplot(
        shown, x="ratio", y="at", row="topology", row_order=topologies, hue="kind", hue_order=kinds, palette=_KINDS,
        style="shown", markers=markers, legend=False, height=1, aspect=style.WIDTH,
        facet_kws={"sharey": False, "gridspec_kws": {"height_ratios": lines}},
    )  # fmt: skip
    grid.figure.set_size_inches(style.WIDTH, 0.3 * sum(lines) + 0.45 * len(lines))
    for topology, axis in grid.axes_dict.items():
        mine = shown[shown["topology"] == topology]
        axis.hlines(mine["at"], mine["low"], mine["high"], colors=mine["kind"].map(_KINDS), linewidth=0.8, alpha=0.7)
        names = mine["configuration"].unique()
        axis.set_yticks(range(len(names)), names)
        axis.set(title=topology, ylabel="", ylim=(len(names) - 0.5, -0.5))
        axis.grid(False, axis="y")
    style.log_axes(grid, "x", [*shown[["ratio", "low", "high"]].to_numpy(float).ravel(), 1.0], 1.3, most=6)
    style.rule(grid, x=1.0)
    text = f"CPU over that of allocating: {shown['verdict'].value_counts().to_dict()}."
    handles = [*(style.mark(name, _KINDS[name], "o") for name in kinds), style.mark(by_size.INCONCLUSIVE, marker="X")]
    return style.finish(grid, text, title="", x="CPU over allocation's, below 1 cheaper (log scale)", handles=handles)
