"""What a message costs by its size, by release, and by one change at a time; and as published."""

from __future__ import annotations

import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from allocpool.evidence import style
from allocpool.evidence.style import INK, SILVER, finish, log_axes, mark, marks, nothing, panels, stated
from allocpool.evidence.tables import means
from allocpool.evidence.trials import counted, finished, records, spelled_out
from allocpool.packets import cells as cell_data
from allocpool.packets.cells import CONFIGURATION, present
from allocpool.packets.specs import Configuration, in_case_order
from allocpool.packets.strategies import LAYOUTS
from allocpool.packets.style import CASE_WORDS, COLOURS, by_collector, collector_and_strategy, points, strategy_looks
from allocpool.packets.style import lines as lines_by_strategy
from allocpool.runtimes.collectors import ARTICLE_PAUSE_TARGET_MS

_LANGUAGES = {"java": "Java", "cpp": "C++"}
STEADY, START = "steady state", "first half minute"
_LOOKS = {STEADY: (INK, "o"), START: (SILVER, "X")}
_FAMILIES = {"g1": "G1", "zgc": "ZGC", "genzgc": "ZGC"}
_TARGET = f"pause target of {ARTICLE_PAUSE_TARGET_MS} ms"


def by_bytes(trials: pd.DataFrame) -> Figure:
    """Draw ns a message against bytes a message, a panel per configuration and a line per strategy; intervals are of
    the mean over trials of table ``messages``."""
    done = finished(counted(trials))
    if done.empty:
        return nothing("bytes a message were not varied in this campaign")
    done = done.assign(panel=done["configuration"].map(spelled_out), bytes=done["mean_bytes"])
    cells = means(done, ["panel", "bytes", "strategy"], "ns_per_message")
    grid, handles = lines_by_strategy(cells, "bytes", list(cells["panel"].unique()))
    return finish(grid, "ns a message by bytes a message.", 2, handles=handles, x="bytes a message", y="ns a message")


def in_both_phases(trials: pd.DataFrame) -> pd.DataFrame:
    """Return the cells of `allocpool.packets.cells.cells` twice, by column ``phase``: in steady state, and in the first
    half minute from the first message on."""
    early = trials[trials["start_ns_per_packet"].notna()]
    early = early.assign(ns_per_packet=early["start_ns_per_packet"])
    parts = [cell_data.cells(rows).assign(phase=phase) for phase, rows in ((STEADY, trials), (START, early))]
    return pd.concat([part for part in parts if len(part)] or parts[:1], ignore_index=True)


def releases(trials: pd.DataFrame) -> Figure:
    """Draw ns a message by release of the JDK: a panel per collector and messages alive, a line per strategy and phase;
    crosses are published, diamonds in steady state with the article's pause target, which G1 has by default on 8 and
    11."""
    heap = trials[(trials["layout"] == "heap") & trials["collector"].isin(_FAMILIES)]
    heap = heap[heap["strategy"].isin(["alloc", "pool"])]
    java = heap.loc[cell_data.without_options(heap.assign(pause_target=None)).index]
    alive = {row.case: row.queue_size + row.stored_count for row in records(java.drop_duplicates("case"))}
    both = in_both_phases(java).dropna(subset=["ns"])
    both["family"] = both["collector"].map(_FAMILIES)
    both["panel"] = [f"{row.family}, {alive[row.case]:,} alive" for row in records(both)]
    both = both[both.groupby("panel")["runtime"].transform("nunique") > 2].astype({"runtime": int})
    with_target = both["pause_target"].notna()
    both, target = both[~with_target], both[with_target & (both["phase"] == STEADY)]
    if both.empty:
        return nothing("fewer than three releases were measured")
    order = sorted(both["panel"].unique(), key=lambda panel: (panel[:2], len(panel), panel))
    places = {release: place for place, release in enumerate(sorted({8, *both["runtime"]}))}
    grid = sns.relplot(
        stated(both.assign(place=both["runtime"].map(places)), "ns"), x="place", y="ns", kind="line", hue="strategy",
        palette=COLOURS, style="phase", dashes={STEADY: "", START: (3, 2)}, markers={STEADY: "o", START: "X"},
        **style.BARS, legend=False, **panels("panel", order, 3),
    )  # fmt: skip
    published = both[both["published_ns"].notna()].drop_duplicates(["panel", "strategy"])
    published = published.assign(place=published["family"].map({"G1": places[8], "ZGC": places.get(11, 0)}))
    target = target.assign(place=target["runtime"].map(places))
    for name, axis in grid.axes_dict.items():
        for rows, figure, marker in ((published, "published_ns", "x"), (target, "ns", "D")):
            mine = rows[rows["panel"] == name]
            axis.scatter(mine["place"], mine[figure], marker=marker, c=mine["strategy"].map(COLOURS), zorder=3)
        axis.set_xticks(list(places.values()), [str(release) for release in places])
    log_axes(grid, "y", [*both["low"], *both["high"], *published["published_ns"], *target["ns"]])
    handles = [mark(name, COLOURS[name], line="-") for name in strategy_looks(both)]
    handles += [mark(STEADY, INK, "o", "-"), mark(START, INK, "X", "--"), mark("published (JDK 8; ZGC: 11)", INK, "x")]
    handles += [mark(_TARGET, INK, "D")] if len(target) else []
    text = f"ns a message by release: {', '.join(order)}."
    return finish(grid, text, 3, handles=handles, x="release of the JDK", y="ns a message")


_CHANGES = {
    "no_refinement": "no concurrent refinement", "fresh": "sequential free list", "large_pages": "huge pages",
    "large_young": "large young generation", "detached": "parse results not stored on it",
    "fifo": "first in, first out", "compact_headers": "compact headers", "pause_target": _TARGET,
}  # fmt: skip


def one_change(trials: pd.DataFrame) -> pd.DataFrame:
    """Return the cells of one change at a time, by column ``change``, in both phases: allocating and the pool of plain
    G1, and either with one thing changed; on the release of Java that has most changes, and empty where plain G1 was
    not measured. Trials are those of one machine and one number of messages alive."""
    java = trials[trials["language"] == "java"]
    plain = cell_data.without_options(java[(java["collector"] == "g1") & (java["layout"] == "heap")])
    rows = in_both_phases(java[java["runtime"].isin(plain["runtime"])])
    if plain.empty:
        return rows.iloc[:0].assign(change="")
    counts = rows.groupby("runtime")["configuration"].nunique()
    rows = rows[rows["runtime"] == counts[counts == counts.max()].index.max()]

    def words(row: pd.Series) -> str:
        options = " ".join(Configuration.of(row).non_default)
        who = "pool" if row["strategy"] == "pool" else "allocate"
        if row["layout"] == "flat":
            return "pool of plain memory, read ahead (flat: several changes)"
        if row["collector"] == "epsilon" and not options:
            return f"{who}, no collector (Epsilon)"
        if row["collector"] != "g1" or row["layout"] != "heap":
            return ""
        return f"{who}, {_CHANGES.get(options, options)}" if options else "pool as it is" if who == "pool" else who

    rows["change"] = [words(row) for _, row in rows.iterrows()]
    return pd.DataFrame(rows[(rows["change"] != "") & rows["ns"].notna()])


def why(changes: pd.DataFrame) -> Figure:
    """Draw `one_change`: a row per change, dearest first, a mark per phase with its interval."""
    if changes.empty:
        return nothing("no change was measured")
    order = changes[changes["phase"] == STEADY].sort_values("ns", ascending=False)["change"].tolist()
    grid = points(changes, "ns", order, _LOOKS, "", by="phase", y="change", col=None)
    log_axes(grid, "x", [*changes["low"], *changes["high"]])
    text = f"ns a message, the dearest first: {', '.join(order)}."
    return finish(grid, text, 2, handles=marks(_LOOKS), x="ns a message")


def strategy_costs(cells: pd.DataFrame, trials: pd.DataFrame) -> Figure:
    """Draw ns/packet per configuration (rows), case (panels) and strategy (marker): dot, interval and every trial.

    ``cells`` comes from `allocpool.packets.cells.cells`; ``trials`` gives the thin strokes.
    """
    cases = in_case_order(cells["case"])
    if cells["ns"].isna().all() or not cases:
        return nothing("no trial has finished yet")
    order, hue = cell_data.configuration_order(cells), strategy_looks(cells)
    every = cells[list(CONFIGURATION)].drop_duplicates().merge(cell_data.with_cost(trials))
    every = every.rename(columns={"ns_per_packet": "ns"})
    grid = points(cells, "ns", order, hue, "ns per packet (log scale)", col_order=cases, trials=every)
    log_axes(grid, "x", [*cells["low"], *cells["high"]], most=3)
    titles = {case: CASE_WORDS.get(case, f"{case} alive") for case in cases}
    text = f"Cost of a packet by configuration and strategy, cases {', '.join(cases)}."
    return finish(grid, text, 4, titles, marks(hue))


def published_against_measured(cells: pd.DataFrame) -> Figure:
    """Draw measured against published ns a message on log axes, one panel per layout, with the line of the median
    factor: points on it have the published pattern on a faster or slower machine."""
    rows = cells[cells["published_ns"].notna() & cells["ns"].notna()]
    if rows.empty:
        return nothing("no measured configuration has a published figure")
    factor = float((rows["ns"] / rows["published_ns"]).median())
    rows = rows.assign(panel=rows["language"].map(_LANGUAGES) + " " + rows["layout"].astype(str))
    names = (f"{_LANGUAGES[language]} {layout}" for language, every in LAYOUTS.items() for layout in every)
    shown, looks = by_collector(rows)
    shape = panels("panel", present(names, rows["panel"]), 2.7)
    grid = sns.relplot(shown, x="published_ns", y="ns", **looks, s=45, zorder=3, **shape)
    for _, axis, mine in style.by_panel(grid, shown):
        axis.vlines(mine["published_ns"], mine["low"], mine["high"], mine["key"].map(looks["palette"]), linewidth=1.6)
        axis.axline((1, 1), (2, 2), color=SILVER, linewidth=1, zorder=1)
        axis.axline((1, factor), (2, 2 * factor), color=INK, linewidth=1, linestyle="--", zorder=1)
    for which in "xy":
        log_axes(grid, which, [*rows["published_ns"], *rows["ns"]], 1.3)
    handles = collector_and_strategy(shown)
    handles += [mark("equal", SILVER, line="-"), mark(f"{factor:.2g} \u00d7 published", INK, line="--")]
    text = f"Measured costs are {factor:.2g} times the published ones in the median of {len(rows)} cells."
    return finish(grid, text, 4, handles=handles, x="published, ns a message", y="measured, ns a message")
