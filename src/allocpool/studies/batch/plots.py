"""What a message costs by release, since the start, and by one change at a time; and as it was published."""

from __future__ import annotations

import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from allocpool.evidence.style import (
    BARS,
    INK,
    SILVER,
    STATED,
    finish,
    log_axes,
    mark,
    marks,
    nothing,
    panels,
    size,
    stated,
)
from allocpool.evidence.trials import records
from allocpool.packets import cells as cell_data
from allocpool.packets.cells import CONFIGURATION, present
from allocpool.packets.labels import name_of
from allocpool.packets.layouts import LAYOUTS
from allocpool.packets.specs import in_case_order
from allocpool.packets.style import CASE_WORDS, COLOURS, against, gaps_beside, points, strategy_looks

_LANGUAGES = {"java": "Java", "cpp": "C++"}
STEADY, START = "steady state", "first half minute"
_DASHES = {STEADY: "", START: (3, 2)}
_PUBLISHED_ON = {"G1": 8, "ZG": 11}
"""The release that the published figures of a collector are of, by how its name begins."""


def in_both_phases(trials: pd.DataFrame) -> pd.DataFrame:
    """Return the cells of `allocpool.packets.cells.cells` twice, by column ``phase``: in steady state, and in the first
    half minute from the first message on."""
    early = trials[trials["start_ns_per_packet"].notna()]
    early = early.assign(ns_per_packet=early["start_ns_per_packet"])
    parts = [cell_data.cells(rows).assign(phase=phase) for phase, rows in ((STEADY, trials), (START, early))]
    return pd.concat([part for part in parts if len(part)] or parts[:1], ignore_index=True)


def releases(trials: pd.DataFrame) -> Figure:
    """Draw ns a message by release of the JDK: a panel per collector and messages alive, a line per strategy and phase;
    published figures are crosses at 8."""
    java = trials[(trials["language"] == "java") & (trials["layout"] == "heap")]
    java = cell_data.without_options(java)
    family = java["collector"].replace("genzgc", "zgc").map({"g1": "G1", "zgc": "ZGC"})
    java = java[family.notna()]
    alive = {row.case: row.queue_size + row.stored_count for row in records(java.drop_duplicates("case"))}
    both = in_both_phases(java)
    both["family"] = both["collector"].replace("genzgc", "zgc").map({"g1": "G1", "zgc": "ZGC"})
    both["panel"] = [f"{row.family}, {alive[row.case]:,} alive" for row in records(both)]
    several = both[both["ns"].notna()].groupby("panel")["runtime"].nunique()
    both = both[both["panel"].isin(several[several > 2].index) & both["ns"].notna()]
    if both.empty:
        return nothing("fewer than three releases were measured")
    order = sorted(set(both["panel"]), key=lambda panel: (panel[:2], len(panel), panel))
    ranks = {release: place for place, release in enumerate(sorted({8, *both["runtime"].astype(int)}))}
    both["place"] = both["runtime"].astype(int).map(ranks)
    grid = sns.relplot(
        stated(both, "ns"), x="place", y="ns", kind="line", hue="strategy", palette=COLOURS, style="phase",
        dashes=_DASHES, markers={STEADY: "o", START: "X"}, **BARS, legend=False, **panels("panel", order, 2.4),
    )  # fmt: skip
    published = both[both["published_ns"].notna()].drop_duplicates(["panel", "strategy"])
    for name, axis in grid.axes_dict.items():
        mine = published[published["panel"] == name]
        place = ranks.get(_PUBLISHED_ON[name[:2]], 0)
        axis.scatter([place] * len(mine), mine["published_ns"], marker="x", c=mine["strategy"].map(COLOURS), zorder=3)
        axis.set_xticks(list(ranks.values()), [str(release) for release in ranks])
    log_axes(grid, "y", [*both["low"], *both["high"], *published["published_ns"]])
    handles = [mark(name, COLOURS[name], line="-") for name in strategy_looks(both)]
    handles += [mark(STEADY, INK, "o", "-"), mark(START, INK, "X", "--"), mark("published (JDK 8; ZGC: 11)", INK, "x")]
    return finish(
        grid,
        f"ns a message by release: {', '.join(order)}.",
        3,
        handles=handles,
        x="release of the JDK",
        y="ns a message",
    )


def one_change(trials: pd.DataFrame) -> pd.DataFrame:
    """Return the cells of one change at a time: the pool of plain G1 as it is, the same with one thing changed, and
    allocating, by column ``change``, in both phases; on the release of Java that has most changes, and empty where
    plain G1 was not measured.

    Args:
        trials: of one machine and one number of messages alive.
    """
    java = trials[trials["language"] == "java"]
    plain = cell_data.without_options(java[(java["collector"] == "g1") & (java["layout"] == "heap")])
    rows = in_both_phases(java[java["runtime"].isin(plain["runtime"])])
    if plain.empty:
        return rows.iloc[:0].assign(change="")
    per_release = rows.groupby("runtime")["configuration"].nunique()
    release = int(per_release[per_release == per_release.max()].index.max())
    rows, base = rows[rows["runtime"] == release], plain[plain["runtime"] == release]["configuration"].iloc[0]
    words = []
    for row in records(rows):
        configuration = cell_data.configuration_of(row)
        if row.configuration == base:
            words.append("pool as it is" if row.strategy == "pool" else "allocate")
        elif row.collector == "epsilon" and configuration.non_default == ():
            words.append(f"{'pool' if row.strategy == 'pool' else 'allocate'}, no collector (Epsilon)")
        elif row.layout == "flat":
            words.append("pool of plain memory, no references (flat)")
        elif row.collector == "g1" and row.layout == "heap" and row.strategy == "pool":
            words.append(
                f"pool, {_CHANGES.get(' '.join(configuration.non_default), ' '.join(configuration.non_default))}"
            )
        else:
            words.append("")
    found = rows.assign(change=words)
    return found[(found["change"] != "") & found["ns"].notna()]


_CHANGES = {
    "no_refinement": "no concurrent refinement",
    "fresh": "sequential free list",
    "large_pages": "huge pages",
    "large_young": "large young generation",
    "detached": "parse results not stored on it",
    "fifo": "first in, first out",
}


def why(changes: pd.DataFrame) -> Figure:
    """Draw `one_change`: a row per change, dearest first, a mark per phase with its interval."""
    if changes.empty:
        return nothing("no change was measured")
    steady = changes[changes["phase"] == STEADY].sort_values("ns", ascending=False)
    order = list(steady["change"])
    looks = {STEADY: (INK, "o"), START: (SILVER, "X")}
    grid = sns.catplot(
        stated(changes, "ns"), x="ns", y="change", order=order, hue="phase", hue_order=list(looks), kind="point",
        palette={name: colour for name, (colour, _) in looks.items()}, markers=["o", "X"], linestyle="none", dodge=0.4,
        linewidth=1.6, markersize=5, legend=False, **STATED, **size(1, 0.9 + 0.36 * len(order)),
    )  # fmt: skip
    log_axes(grid, "x", [*changes["low"], *changes["high"]])
    grid.set(ylabel="")
    handles = [mark(name, *look) for name, look in looks.items()]
    return finish(grid, f"ns a message, the dearest first: {', '.join(order)}.", 2, handles=handles, x="ns a message")


def since_start(iterations: pd.DataFrame, trials: pd.DataFrame, case: str = "B") -> Figure:
    """Draw ns a message against seconds since the first message: a panel per release with G1 and per collector of the
    newest, a thin line per trial."""
    here = trials[(trials["case"] == case) & trials["warm_up"].notna() & (trials["status"] == "ok")]
    here = cell_data.without_options(here[here["strategy"].isin(["alloc", "pool"])])
    newest = here["runtime"] == here["runtime"].max()
    here = here[(here["layout"] == "heap") & ((here["collector"] == "g1") | newest)]
    if here.empty:
        return nothing("no trial with a warm-up to steady state")
    facts = here[["trial_id", "configuration", "strategy"]]
    rows = iterations.merge(facts, on="trial_id")
    begun = rows.groupby("trial_id")["start_ns"].transform("min")
    rows = rows.assign(since_s=(rows["end_ns"] - begun) / 1e9)
    # A quarter of a second each: single collections are no part of the story.
    rows["since_s"] = (rows["since_s"] * 4).round() / 4
    each = rows.groupby(["configuration", "strategy", "trial_id", "since_s"], as_index=False)
    rows = each.agg({"packets": "sum", "start_ns": "min", "end_ns": "max"})
    rows["ns"] = (rows["end_ns"] - rows["start_ns"]) / rows["packets"]
    names = {
        row.configuration: name_of(cell_data.configuration_of(row))
        for row in records(here.drop_duplicates("configuration"))
    }
    order = [names[configuration] for configuration in cell_data.configuration_order(here)]
    rows = rows[rows["since_s"] > 0].assign(panel=rows["configuration"].map(names))
    grid = sns.relplot(
        rows, x="since_s", y="ns", kind="line", hue="strategy", palette=COLOURS, units="trial_id", estimator=None,
        linewidth=0.8, legend=False, **panels("panel", order, 2.0),
    )  # fmt: skip
    log_axes(grid, "y", rows["ns"])
    handles = [mark(name, COLOURS[name], line="-") for name in strategy_looks(rows)]
    text = f"ns a message by seconds since the first message, {len(here)} trials of {len(order)} configurations."
    return finish(grid, text, 3, handles=handles, x="seconds since the first message", y="ns a message")


def strategy_costs(cells: pd.DataFrame, trials: pd.DataFrame) -> Figure:
    """Cost in ns/packet per configuration (rows), case (panels) and strategy (marker): dot, interval and every trial.

    ``cells`` comes from `allocpool.packets.cells.cells`; ``trials`` gives the thin strokes. Where cells have no figure
    the row says why, in a word or two.
    """
    cases = in_case_order(cells["case"])
    if cells["ns"].isna().all() or not cases:
        return nothing("no trial has finished yet")
    order, hue = cell_data.configuration_order(cells), strategy_looks(cells)
    every = cells[list(CONFIGURATION)].drop_duplicates().merge(cell_data.with_cost(trials))
    every = every.rename(columns={"ns_per_packet": "ns"})
    grid = points(cells, "ns", order, hue, "ns per packet (log scale)", col_order=cases, trials=every)
    log_axes(grid, "x", [*cells["low"], *cells["high"]], most=3)
    gaps_beside(grid, cells[cells["gap"].notna()].rename(columns={"gap_word": "word"}), order)
    return finish(
        grid, f"Cost of a packet by configuration and strategy, cases {', '.join(cases)}.", 4,
        {case: CASE_WORDS.get(case, f"{case} alive") for case in cases}, marks(hue),
    )  # fmt: skip


def published_against_measured(cells: pd.DataFrame) -> Figure:
    """Draw measured against published ns a message on log axes, one panel per layout, with the line of the median
    factor: points on it have the published pattern on a faster or slower machine."""
    rows = cells[cells["published_ns"].notna() & cells["ns"].notna()]
    if rows.empty:
        return nothing("no measured configuration has a published figure")
    ratios = rows["ns"] / rows["published_ns"]
    factor = float(ratios.median())
    rows = rows.assign(panel=rows["language"].map(_LANGUAGES) + " " + rows["layout"].astype(str))
    names = (f"{_LANGUAGES[language]} {layout}" for language, every in LAYOUTS.items() for layout in every)
    shape = panels("panel", present(names, rows["panel"]), 2.7)
    grid, handles = against(rows, "published_ns", "ns", ("low", "high"), **shape)
    for axis in grid.axes.flat:
        axis.axline((1, factor), (2, 2 * factor), color=INK, linewidth=1, linestyle="--", zorder=1)
    handles += [mark("equal", SILVER, line="-"), mark(f"{factor:.2g} \u00d7 published", INK, line="--")]
    text = f"Measured costs are {factor:.2g} times the published ones in the median of {len(rows)} cells."
    return finish(grid, text, 4, handles=handles,
                  x="published, ns a message", y="measured, ns a message")  # fmt: skip
