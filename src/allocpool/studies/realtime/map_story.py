"""The decision map for a reader: what it shows, and how it is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from allocpool.campaign import hosts
from allocpool.decisions import A_CHEAPER, B_CHEAPER, EQUIVALENT, OPEN
from allocpool.evidence.trials import finished, records, spelled_out
from allocpool.packets.comparisons import UNDECIDED, listed
from allocpool.stats import plural, significant
from allocpool.studies.realtime import decision_map as maps
from allocpool.studies.realtime.cells import with_ends


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


def verdict(tables: Mapping[str, pd.DataFrame]) -> str:
    """What the decision map shows."""
    trials = tables["map"]
    found = maps.boundaries(trials)
    if not found["edge_ns"].notna().any():
        return "**Inconclusive.** No trials show yet where allocating or pooling begins to lose messages."
    result = maps.comparisons(trials)
    pool, alloc, equal = (int((result["verdict"] == way).sum()) for way in (B_CHEAPER, A_CHEAPER, EQUIVALENT))
    return (
        f"{_headline(pool, alloc, equal, len(result))} Highest rate without a loss within "
        f"{found['deadline_ms'].max():g} ms in a heap of {trials['heap_mb'].max():,} MB, "
        f"{plural(len(result), 'comparison')} decided together: pooling keeps up with a higher rate in {pool}, "
        f"allocating in {alloc}, no difference that matters in {equal}, inconclusive "
        f"{len(result) - pool - alloc - equal}."
    )


def _headline(pool: int, alloc: int, equal: int, asked: int) -> str:
    """Who keeps up with more, in a few words, from how many boundaries are shown to lie which way round."""
    decided = pool + alloc + equal
    if decided < _LEAST_DECIDED or 2 * decided < asked:
        return f"**{UNDECIDED}.**"
    word = (
        "no difference that matters" if 2 * equal > decided
        else "pool" if not alloc else "allocate" if not pool else "it depends"
    )  # fmt: skip
    return f"**With a deadline: {word}.**"


_LEAST_DECIDED = 2
"""Boundaries, and half of those that were asked: fewer have no answer in common."""


def caption(tables: Mapping[str, pd.DataFrame], elsewhere: str = "") -> str:
    """How the map is read, on how many trials it rests, and which boundaries are not known; before it, of a map from
    ``elsewhere``, what it shows and where."""
    trials = tables["map"]
    found = maps.boundaries(trials)
    known = found[found["edge_ns"].notna()]
    if known.empty:
        return "No boundary is known yet."
    place = ["configuration", "strategy", "deadline_ms", "gap"]
    unknown = found[found["edge_ns"].isna()].groupby(place, observed=True, sort=False)["live_messages"].agg(list)
    every = found["live_messages"].nunique()
    lacking = [
        f"{spelled_out(row.configuration)}, {row.strategy}, within {row.deadline_ms:g} ms"
        f"{'' if len(row.live_messages) == every else f', {listed([*map(str, row.live_messages)])} alive'} ({row.gap})"
        for row in records(unknown.reset_index())
    ]
    seconds = significant(finished(trials)["seconds"].astype(float).median(), 2)
    return (
        f"{f'{verdict(tables)} Measured on {elsewhere}. ' if elsewhere else ''}"
        f"Boundaries are where every other trial of {seconds} s loses, each fitted to "
        f"{plural(int(known['trials'].min()), 'trial')} or more; a longer trial sees more losses. Bands: 95%, whenever "
        f"one looks.{' Not known: ' * bool(lacking)}{'; '.join(lacking)}{'.' * bool(lacking)}"
    )


def table(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Both boundaries of each collector, live set and deadline in words, and whose is smaller."""
    found = maps.within_tried(tables["map"])
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
