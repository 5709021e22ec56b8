"""The decision map for a reader: what it shows, and how it is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from allocpool.campaign import hosts
from allocpool.decisions import A_CHEAPER, B_CHEAPER, EQUIVALENT, OPEN
from allocpool.evidence.trials import records
from allocpool.packets.comparisons import UNDECIDED
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
