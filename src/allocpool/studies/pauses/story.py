"""Tables of the page on pauses, and its summary."""

from __future__ import annotations

import pandas as pd

from allocpool import decisions
from allocpool.campaign import store
from allocpool.campaign.tidy import rows_of
from allocpool.decisions import Comparison
from allocpool.evidence import tables
from allocpool.packets import by_size
from allocpool.packets.cells import CONTROLS, configuration_order
from allocpool.studies.pauses import overhead
from allocpool.studies.pauses.gc_table import per_trial
from allocpool.studies.pauses.study import STUDY

_STOPS = {
    "pauses": "pause_total_ms", "safepoints": "safepoint_total_ms",
    "of it reaching them": "time_to_safepoint_total_ms", "stalls": "stall_total_ms",
}  # fmt: skip
"""Kinds of stops, and the columns that have their milliseconds."""


def unread(collections: pd.DataFrame, losses: pd.DataFrame) -> str:
    """Return how much of the logs was not understood: to be read before anything that rests on them."""
    logs = len(collections) + int(losses["unread_lines"].notna().sum())
    lines = int(collections["unread_lines"].sum()) + int(losses["unread_lines"].fillna(0).sum())
    return (
        f"**{lines} stop-the-world lines were not understood** in {logs} logs; "
        f"{int(collections['violations'].sum())} lines contradict another one."
    )


def what_stopped(trials: pd.DataFrame, collections: pd.DataFrame, case: str) -> pd.DataFrame:
    """Return milliseconds per second in which the program stood, by kind, configuration and strategy; means over
    trials."""
    rows = per_trial(trials, collections)
    rows = rows[(rows["case"] == case) & (rows["layout"] == "heap") & rows["strategy"].isin(["alloc", "pool"])]
    rows = rows[~rows["collector"].isin(CONTROLS)]
    stopped = rows.assign(**{name: rows[column] / rows["window_s"] for name, column in _STOPS.items()})
    groups = stopped.groupby(["configuration", "strategy"], observed=True)[list(_STOPS)]
    return groups.mean().assign(n=groups.size()).reindex(configuration_order(rows), level=0).reset_index()


def busiest_case(trials: pd.DataFrame) -> str:
    """Return the case in which most is alive, of those that were run."""
    return str(trials.loc[trials["mode"] == "batch", "case"].max())


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


def take_home(profile: str) -> str:
    """Return the verdict on what a campaign of this profile left; runs nothing."""
    left = store.stored(STUDY.name, profile)[0]
    return verdict(left["trials"], left["collections"], overhead.by_block(left["trials"], left["cpu"]))
