"""The real-time study for a reader: verdicts, the summary in the article's form, published losses, the decision map."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import pandas as pd
import scipy
import seaborn as sns
from great_tables import GT
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from allocpool import stats
from allocpool.campaign import hosts, store
from allocpool.decisions import A_CHEAPER, ALPHA, B_CHEAPER, EQUIVALENT, OPEN
from allocpool.evidence import ablation, style
from allocpool.evidence.style import GREY, GRID, INK, by_panel, finish, log_axes, mark, nothing, panels
from allocpool.evidence.tables import TableOrWords, plain_table
from allocpool.evidence.trials import finished, records, spelled_out
from allocpool.packets.comparisons import UNDECIDED
from allocpool.packets.published import ARTICLE, with_published
from allocpool.packets.style import STRATEGY_STYLE
from allocpool.packets.tables import BEST_JAVA, BEST_OVERALL, GAP, configuration_grid, key_of
from allocpool.stats import plural, significant
from allocpool.studies.realtime import claims, explanations
from allocpool.studies.realtime import decision_map as maps
from allocpool.studies.realtime.adaptive import over, p_smaller
from allocpool.studies.realtime.cells import (
    LOSES,
    PDR,
    at_published_sizes,
    bound,
    published_realtime,
    realtime_cells,
    usual_heap,
    with_ends,
)
from allocpool.studies.realtime.specs import COMPARISON_INTERVAL_NS

_SMALL = "font-size:0.78em;color:#555"


def _published(row: pd.Series) -> str:
    words = {
        "published_interval_ns": "{} ns", "published_lost_percent": "lost {}%",
        "published_lost_percent_large_heap": "10 GB: {}%",
    }  # fmt: skip
    parts = [text.format(significant(row[name])) for name, text in words.items() if pd.notna(row[name])]
    return f"pub. {', '.join(parts)}" if parts else ""


def _measured(row: pd.Series) -> tuple[str, list[str]]:
    if row["answer"] == LOSES:
        if pd.isna(row["lost_percent"]):
            return "loses", []
        notes = [f"at {significant(row['compared_ns'])} ns"]
        if pd.notna(low := row["lost_low_percent"]):
            notes.append(f"{significant(low)}\u2013{significant(row['lost_high_percent'])}%")
        return f"lost {significant(row['lost_percent'])}%", notes
    goal = str(row["answer"])
    low, high = row[f"{goal}_low_ns"], row[f"{goal}_high_ns"]
    notes = ["too few trials" if pd.isna(low) else f"{bound(low)}\u2013{bound(high)}"]
    if goal == PDR:
        notes.append("few lost")
    elif row["pdr_ns"] < row["ndr_ns"]:
        notes.append(f"few lost at {significant(row['pdr_ns'])}")
    return significant(row[f"{goal}_ns"]), notes


def _cell_html(row: pd.Series) -> str:
    if pd.notna(row["gap"]):
        head, notes = f"<em>{html.escape(str(row['gap']))}</em>", list[str]()
    else:
        figure, notes = _measured(row)
        head, notes = f"<strong>{figure}</strong>", [*notes, f"n = {row['n']} trials"]
    small = "<br>".join(filter(None, [*notes, _published(row)]))
    return f'{head}<br><span style="{_SMALL}">{small}</span>'


def summary_table(cells: pd.DataFrame, title: str, subtitle: str) -> GT:
    """Return the article's real-time summary of `realtime_cells`: minimum sustainable inter-arrival time in ns, or what
    is lost where no interval passes."""
    coloured = [(GAP, cells[cells["gap"].notna()]), ("#f7dcd9", cells[cells["answer"] == LOSES])]
    done = cells[cells["ndr_ns"].notna()]
    for colour, rows in ((BEST_JAVA, done[done["language"] == "java"]), (BEST_OVERALL, done)):
        coloured.append((colour, rows.sort_values("ndr_ns", kind="stable").drop_duplicates("case")))
    table = configuration_grid(
        cells,
        {key_of(row): _cell_html(row) for _, row in cells.iterrows()},
        {key_of(row): colour for colour, rows in coloured for _, row in rows.iterrows()}.items(),
        (title, subtitle),
        "minimum sustainable inter-arrival time, ns",
    ).tab_options(table_font_size="13px", data_row_padding="4px")
    return table.tab_source_note(
        "The interval at which every other trial loses, with 95% whenever one looks; few lost: at most 200 of a "
        "million. Where none passes: loss at another interval, geometric mean over trials with 95% (Student). Green: "
        f"smallest overall, amber: of Java; red: loses at any rate tried. pub.: {ARTICLE}, another machine, Java 8 "
        "(ZGC: 11)."
    )


def summary(profile: str) -> str:
    """Return the verdict on what a campaign of this profile left; run nothing."""
    tables, provenance = store.stored("realtime", profile)
    if provenance is None:
        return "**Inconclusive.** Real time was not measured under this profile."
    return conclusion(tables, realtime_cells(tables))


def conclusion(tables: Mapping[str, pd.DataFrame], cells: pd.DataFrame) -> str:
    """Return the verdict of the cells and of the decision map, as far as there are any; what is decided first. Of a
    map from elsewhere its caption has the verdict."""
    has_map = len(tables["map"]) > 0 and not of_largest_heap(tables)[1]
    found = [verdict(cells)] if (cells["n"] > 0).any() or not has_map else []
    found += [map_verdict(tables)] if has_map else []
    return "\n\n".join(sorted(found, key=lambda words: words.startswith("**Inconclusive.**")))


def published_sizes_tables(profile: str) -> list[TableOrWords]:
    """Return the summary of what profile ``article`` left, whose cells have the published sizes, which strategy keeps
    up there, and why its claims fail; none of that profile itself, which shows them anyway, or where it has no adaptive
    trials."""
    tables, about = store.stored("realtime", "article")
    if about is None or profile == "article" or tables["adaptive"].empty:
        return []
    cells, where = realtime_cells(tables), f"profile article, {hosts.label(about['host_id'], 'article')}"
    changed = explanations.of_claims(tables, cells, claims.evaluate(cells, tables["trials"]))
    return [
        summary_table(cells, "At the published sizes", where),
        plain_table(pool_or_allocate(cells), f"Allocate or pool at the published sizes: {where}"),
        ablation.for_reader(changed, explanations.BY_LIKELIHOOD, "at the published sizes"),
    ]


_DECIDED = POOLING, ALLOCATING, NEITHER, UNSHOWN = "pooling", "allocating", "neither passes", "inconclusive"


def pool_or_allocate(cells: pd.DataFrame) -> pd.DataFrame:
    """Return, per Java configuration and case with figures of both, which keeps up with a smaller interval; all decided
    together, so that of what is decided one in twenty is false in expectation (Benjamini and Hochberg, JRSS B 57,
    1995).

    Columns: configuration, case, decided (`POOLING`, `ALLOCATING`, `NEITHER` or `UNSHOWN`), alloc and pool (minimum
    sustainable inter-arrival times in words), ratio (alloc over pool; NaN where one of them has none), low and high
    (between which it lies, 95%), n (trials of the smaller side).
    """
    java = cells[(cells["language"] == "java") & (cells["n"] > 0)]
    of = {(row.configuration, row.case, row.strategy): row for row in records(java)}
    pairs = [(row, of[(*key[:2], "alloc")]) for key, row in of.items()
             if key[2] == "pool" and (*key[:2], "alloc") in of]  # fmt: skip
    chances = [p_smaller(one.every_pdr, other.every_pdr) for pair in pairs for one, other in (pair, reversed(pair))]
    adjusted = iter(scipy.stats.false_discovery_control(chances) if chances else [])
    rows = []
    for (pool, alloc), for_pool, for_alloc in zip(pairs, adjusted, adjusted, strict=True):
        none = pool.answer == alloc.answer == LOSES
        decided = POOLING if for_pool <= ALPHA else ALLOCATING if for_alloc <= ALPHA else NEITHER if none else UNSHOWN
        ratio = over([(alloc.every_pdr, pool.every_pdr)]).decision
        rows.append([
            pool.configuration, pool.case, decided, _interval(alloc), _interval(pool),
            float(f"{alloc.pdr_ns / pool.pdr_ns:.3g}"), ratio.low, ratio.high, min(pool.n, alloc.n),
        ])  # fmt: skip
    columns = ["configuration", "case", "decided", "alloc", "pool", "ratio", "low", "high", "n"]
    return pd.DataFrame(rows, columns=columns)


def _interval(row: Any) -> str:
    if row.answer == LOSES:
        return "none passes"
    return with_ends(row.pdr_ns, row.pdr_low_ns, row.pdr_high_ns, " ns")


def verdict(cells: pd.DataFrame) -> str:
    """Return pool or allocate, over the Java cells that have both."""
    both = pool_or_allocate(cells)
    if both.empty:
        return "**Inconclusive.** No Java configuration was measured both ways."
    pool, alloc, neither, unshown = (int((both["decided"] == word).sum()) for word in _DECIDED)
    headline = f"In real time: {word(pool, alloc)}" if pool + alloc else "Inconclusive"
    return (
        f"**{headline}.** Of {len(both)} Java configurations and cases, pooling keeps up with a smaller interval in "
        f"{pool}, allocating in {alloc}; none passes either way in {neither}; {unshown} inconclusive."
    )


_SIDES = {"alloc": "allocating", "pool": "with a pool"}


def lost_at_published_sizes(profile: str, host_id: str | None) -> str:
    """Return, as Markdown, what single trials of the article's sizes, heap, queue and interval lost: allocating and
    with a pool, with the published losses. Of this profile where it has such trials, else of profile ``article``; of
    this host where there are such, else of the other one that has most; empty where there are none."""
    tried = (_both_sides(name) for name in dict.fromkeys((profile, "article")))
    done = next((rows for rows in tried if len(rows)), None)
    if done is None:
        return ""
    is_here = (done["host_id"] == host_id).any()
    one = done[done["host_id"] == (host_id if is_here else done["host_id"].mode().iloc[0])]
    one = with_published(one, published_realtime()).astype({"lost_ppm": float})
    # A published interval is one that lost next to nothing.
    lost = one["published_lost_percent"].where(one["published_interval_ns"].isna())
    one["published"] = lost.mask(one["published_interval_ns"] <= COMPARISON_INTERVAL_NS, 0.0)
    one["configuration"] = one["configuration"].map(spelled_out)
    cells = one.groupby(["case", "configuration", "strategy"], observed=True).agg(
        least=("lost_ppm", "min"), middle=("lost_ppm", "median"), most=("lost_ppm", "max"), n=("lost_ppm", "size"),
        published=("published", "first"),
    )  # fmt: skip
    both = pd.Series([_lost(row) for row in records(cells)], cells.index).unstack().reindex(columns=[*_SIDES]).dropna()
    if both.empty:
        return ""
    other = "" if is_here else f" Measured on another machine, {hosts.label(str(one['host_id'].iloc[0]), 'article')}."
    return (
        f"**Real time at the published sizes, a packet each {COMPARISON_INTERVAL_NS:,.0f} ns: share lost** (medians, "
        f"least to greatest; {stats.trials_each(int(cells['n'].min()), int(cells['n'].max()))}; published figures are "
        f"of collectors up to Java 11).{other}\n\n{both.rename(columns=_SIDES).reset_index().to_markdown(index=False)}"
    )


def _both_sides(profile: str) -> pd.DataFrame:
    every = at_published_sizes(profile)
    if every.empty:
        return every
    as_there = usual_heap(every) & (every["queue_factor"] == 1) & (every["intermediate_queue_ms"] == 0)
    done = finished(every[as_there & every["strategy"].isin(list(_SIDES))])
    return done[done.groupby("host_id")["strategy"].transform("nunique") == len(_SIDES)]  # a host that has both


def _lost(row: Any) -> str:
    """Return ``75% (72 to 78; published: 76%)``."""
    least, middle, most = (significant(ppm / 1e4, 2) for ppm in (row.least, row.middle, row.most))
    notes = [f"{least} to {most}"] if least != most else []
    notes += [] if pd.isna(row.published) else [f"published: {row.published:g}%"]
    return f"{middle}% ({'; '.join(notes)})" if notes else f"{middle}%"


READING = (
    "Boundaries are where every other trial loses; a longer trial sees more losses. Bands: 95%, whenever one looks. "
    "Grey: no boundary is known."
)


def of_largest_heap(tables: Mapping[str, pd.DataFrame]) -> tuple[dict[str, pd.DataFrame], str]:
    """Return tables of a campaign with the map of the largest heap that is stored: its own or, where profile
    ``standard`` has one of a larger heap, that; and which host that was, empty where it is the campaign's own.

    In a heap that is not the published one a live set fills another share of it, and no strategy is tried with as many
    messages alive.
    """
    stored = hosts.tables_of_hosts("realtime", "standard").get("map", tables["map"])
    heap_mb = max(tables["map"]["heap_mb"].max() if len(tables["map"]) else 0, stored["heap_mb"].max())
    if stored.empty or (tables["map"]["heap_mb"] == heap_mb).any():
        return dict(tables), ""
    largest = stored[stored["heap_mb"] == heap_mb]
    host_id = str(largest["host_id"].iloc[0])
    return {**tables, "map": largest[largest["host_id"] == host_id]}, hosts.label(host_id, "standard")


def word(pool: int, alloc: int) -> str:
    """Return which to take, by how many comparisons each has won."""
    return "it depends" if pool and alloc else "pool" if pool else "allocate"


def map_verdict(tables: Mapping[str, pd.DataFrame]) -> str:
    """Return what the decision map shows; fewer than two boundaries, or than half of those asked, have no answer in
    common."""
    trials = tables["map"]
    found = maps.boundaries(trials)
    if not found["edge_ns"].notna().any():
        return "**Inconclusive.** No trials show yet where allocating or pooling begins to lose messages."
    counts = maps.comparisons(trials)["verdict"].value_counts()
    pool, alloc, equal, undecided = (int(counts.get(way, 0)) for way in (B_CHEAPER, A_CHEAPER, EQUIVALENT, OPEN))
    decided = pool + alloc + equal
    if decided < max(2, undecided):
        headline = f"**{UNDECIDED}.**"
    else:
        headline = f"**With a deadline: {_WORDS[EQUIVALENT] if 2 * equal > decided else word(pool, alloc)}.**"
    return (
        f"{headline} Highest rate without a loss within {found['deadline_ms'].max():g} ms in a heap of "
        f"{trials['heap_mb'].max():,} MB, {plural(decided + undecided, 'comparison')} decided together: pooling keeps "
        f"up with a higher rate in {pool}, allocating in {alloc}, {_WORDS[EQUIVALENT]} in {equal}, inconclusive "
        f"{undecided}."
    )


def map_caption(tables: Mapping[str, pd.DataFrame], elsewhere: str = "") -> str:
    """Return what the map shows, where it was measured if ``elsewhere``, and how it is read."""
    return f"{map_verdict(tables)}{f' Measured on {elsewhere}.' if elsewhere else ''} {READING}"


def map_table(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return both boundaries of each collector, live set and deadline in words, and whose is smaller."""
    found = maps.boundaries(tables["map"])
    result = [maps.comparisons(tables["map"], ms).assign(deadline_ms=ms) for ms in found["deadline_ms"].unique()]
    if not result:
        return pd.DataFrame()
    place = ["deadline_ms", "configuration", "live_messages"]
    words = found.assign(words=[_boundary(row) for row in records(found)])
    sides = words.pivot(index=place, columns="strategy", values="words").add_suffix(", ns")
    both = sides.join(pd.concat(result).set_index(place)).reset_index()
    ratios = ["-" if pd.isna(row.verdict) else with_ends(row.ratio, row.low, row.high) for row in records(both)]
    both["alloc / pool"], both["verdict"] = ratios, both["verdict"].map(_WORDS)
    both = both.rename(columns={"deadline_ms": "deadline, ms", "live_messages": "messages alive"})
    return both.drop(columns=["ratio", "low", "high", "n"])


_WORDS = {A_CHEAPER: "allocate", B_CHEAPER: "pool", EQUIVALENT: "no difference that matters", OPEN: "inconclusive"}


def _boundary(row: Any) -> str:
    if row.at_least:
        rate = significant(1e9 / row.edge_ns)
        return f"at most {significant(row.edge_ns)}, none shorter was tried: at least {rate} a second"
    return str(row.gap) if pd.isna(row.edge_ns) else with_ends(row.edge_ns, row.edge_low_ns, row.edge_high_ns)


_REGION_STYLE = {
    maps.EITHER: ("#ffffff", ""),
    maps.POOL_ONLY: (f"{style.BLUE}26", "///"),
    maps.ALLOCATE_ONLY: (f"{style.VERMILION}26", "..."),
    maps.NEITHER: (f"{style.GREY}66", ""),
}
"""Colour, through which the page shows, light or dark, and hatch: without colours they differ by the hatch and by how
dark they are."""
_LINES: Mapping[str, Literal["-", "--"]] = {"alloc": "-", "pool": "--"}


def decision_map(tables: Mapping[str, pd.DataFrame], point: tuple[float, float] | None = None) -> Figure:
    """Return which strategy keeps up, by messages alive (across) and messages a second (up), a panel for each collector
    and deadline of table ``map`` that has a boundary.

    Lines: the highest rate without a loss; bands: 95%, whenever one looks; between them the regions. ``point`` is the
    reader's own: messages alive, messages a second. Grey: a live set without a figure.
    """
    found = maps.boundaries(tables["map"])
    if found["edge_ns"].isna().all():
        return nothing("no boundary is known yet")
    lives = [*found["live_messages"], *(point[:1] if point else ())]
    rates = [*1e9 / tables["map"]["interval_ns"].astype(float), *(point[1:] if point else ())]
    found = found.assign(
        panel=found["configuration"].map(spelled_out) + found["deadline_ms"].map("\nwithin {:g} ms".format)
    )
    found = found[found["panel"].isin(found.loc[found["edge_ns"].notna(), "panel"])]
    names = (
        found.sort_values("deadline_ms", kind="stable").groupby("configuration", sort=False)["panel"].unique().explode()
    )
    grid = sns.FacetGrid(found, **panels("panel", names, 3, max(2, found["deadline_ms"].nunique())))
    limits = min(rates) / 2, max(rates) * 2
    for _, axis, mine in by_panel(grid, found):
        _map_panel(axis, mine, limits)
        if point:
            axis.plot(*point, marker="*", markersize=15, color=INK, markeredgecolor="white", zorder=6)
    log_axes(grid, "x", lives, 2.5, most=3)
    log_axes(grid, "y", rates, 1.5, most=5)
    handles = [mark(name, *STRATEGY_STYLE[name], line) for name, line in _LINES.items()]
    regions = [Patch(facecolor=colour, hatch=hatch, edgecolor=GREY, label=name)
               for name, (colour, hatch) in _REGION_STYLE.items()]  # fmt: skip
    own = [mark("yours", INK, "*")] if point else []
    text = "Highest rates without a loss, messages a second, by messages alive."
    return finish(grid, text, 3, handles=[*handles, *regions, *own], x="messages alive", y="messages a second")


def _map_panel(axis: Axes, panel: pd.DataFrame, rates: tuple[float, float]) -> None:
    """Draw both boundaries with their bands, and the regions between them, where both are known."""
    lines = {}
    for strategy, line in _LINES.items():
        rows = panel[(panel["strategy"] == strategy) & panel["edge_ns"].notna()].sort_values("live_messages")
        colour, marker = STRATEGY_STYLE[strategy]
        edges = 1e9 / rows[["edge_ns", "edge_high_ns", "edge_low_ns"]].astype(float).clip(lower=1e-9)
        lives = rows["live_messages"].to_numpy(float)
        low, high = (edges[end].clip(*rates) for end in ("edge_high_ns", "edge_low_ns"))
        axis.fill_between(lives, low, high, color=colour, alpha=0.3, linewidth=0, zorder=3)
        axis.plot(lives, edges["edge_ns"], color=colour, linestyle=line, marker=marker, markeredgecolor="white",
                  zorder=4)  # fmt: skip
        lines[strategy] = np.log([lives, edges["edge_ns"].to_numpy()])
    for live in panel.groupby("live_messages")["edge_ns"].count().loc[lambda known: known == 0].index:
        axis.axvspan(live / 1.3, live * 1.3, color=GRID, zorder=0.5)
    shared = sorted(set(lines["alloc"][0]) & set(lines["pool"][0]))
    if len(shared) < 2:
        return
    across = np.linspace(shared[0], shared[-1], 60)
    alloc, pool = (np.exp(np.interp(across, *lines[name])) for name in _LINES)
    both, one = np.minimum(alloc, pool), np.maximum(alloc, pool)
    for name, least, most, where in (
        (maps.EITHER, rates[0], both, None),
        (maps.POOL_ONLY, both, one, pool >= alloc),
        (maps.ALLOCATE_ONLY, both, one, alloc >= pool),
        (maps.NEITHER, one, rates[1], None),
    ):
        colour, hatch = _REGION_STYLE[name]
        axis.fill_between(np.exp(across), least, most, where=where, facecolor=colour, hatch=hatch, edgecolor="#bbbbbb",
                          linewidth=0, zorder=1)  # fmt: skip
