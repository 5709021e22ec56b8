"""The decision map for a reader: what it shows, as a figure and in words, and how it is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from allocpool.campaign import hosts
from allocpool.decisions import A_CHEAPER, B_CHEAPER, EQUIVALENT, OPEN
from allocpool.evidence import style
from allocpool.evidence.style import GREY, GRID, INK, by_panel, finish, log_axes, mark, nothing, panels
from allocpool.evidence.trials import records, spelled_out
from allocpool.packets.comparisons import UNDECIDED
from allocpool.packets.style import STRATEGY_STYLE
from allocpool.stats import plural, significant
from allocpool.studies.realtime import decision_map as maps
from allocpool.studies.realtime.cells import with_ends

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


def verdict(tables: Mapping[str, pd.DataFrame]) -> str:
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


def caption(tables: Mapping[str, pd.DataFrame], elsewhere: str = "") -> str:
    """Return what the map shows, where it was measured if ``elsewhere``, and how it is read."""
    return f"{verdict(tables)}{f' Measured on {elsewhere}.' if elsewhere else ''} {READING}"


def table(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
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
_LANDSCAPE = 60


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
    across = np.linspace(shared[0], shared[-1], _LANDSCAPE)
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
