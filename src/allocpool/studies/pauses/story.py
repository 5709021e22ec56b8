"""Tables of the page on pauses, and its summary."""

from __future__ import annotations

import pandas as pd

from allocpool import decisions
from allocpool.campaign import store
from allocpool.campaign.tidy import rows_of
from allocpool.decisions import Comparison
from allocpool.evidence import tables
from allocpool.packets import by_size
from allocpool.packets.cells import CONTROLS
from allocpool.studies.pauses import overhead
from allocpool.studies.pauses.gc_table import per_trial
from allocpool.studies.pauses.study import STUDY


def longest_pauses(trials: pd.DataFrame, collections: pd.DataFrame) -> tuple[pd.DataFrame, list[Comparison]]:
    """Return the configurations and cases with pauses both ways, and the longest pause of alloc over that of pool; all
    are decided together."""
    rows = per_trial(trials, collections)
    rows = rows[(rows["max_pause_ms"] > 0) & ~rows["collector"].isin(CONTROLS)]
    names, pairs = [], []
    for key, group in rows.groupby(["configuration", "case"], observed=True):
        sides = {name: part.set_index("block")["max_pause_ms"] for name, part in group.groupby("strategy")}
        if {"alloc", "pool"} <= set(sides):
            names.append(key)
            pairs.append((sides["alloc"], sides["pool"]))
    return pd.DataFrame(names, columns=["configuration", "case"]), decisions.compare_together(pairs)


def for_reader(compared: tuple[pd.DataFrame, list[Comparison]]) -> pd.DataFrame:
    """Return comparisons for a reader, one row each."""
    names, comparisons = compared
    return tables.comparisons(rows_of(names), comparisons, "alloc over pool")


def verdict(trials: pd.DataFrame, collections: pd.DataFrame, costs: pd.DataFrame) -> str:
    """Return which strategy has the shorter longest pause, and which makes collecting cheaper, counted over
    configurations and cases; ``costs`` are those of `overhead.by_block`."""
    pauses = by_size.tally_of("Longest pause", longest_pauses(trials, collections)[1]).replace("cheaper", "shorter")
    return f"{pauses}  \n{by_size.tally_of('Cost of collecting', overhead.saved_by_pooling(costs)[1])}"


def summary(profile: str) -> str:
    """Return the verdict on what a campaign of this profile left; runs nothing."""
    left = store.stored(STUDY.name, profile)[0]
    return verdict(left["trials"], left["collections"], overhead.by_block(left["trials"], left["cpu"]))
