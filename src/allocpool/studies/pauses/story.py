"""Tables of the page on pauses, and its summary.

The article's "GC time per live object" is the mean pause over the objects alive, whatever the pause collected.
"""

from __future__ import annotations

import pandas as pd

from allocpool import decisions, stats
from allocpool.campaign import store
from allocpool.campaign.tidy import rows_of
from allocpool.decisions import Comparison
from allocpool.evidence import reference, tables
from allocpool.packets import by_size
from allocpool.packets.cells import CONFIGURATION, CONTROLS, ORDERED_BY, configuration_order, with_cost
from allocpool.packets.published import family
from allocpool.packets.strategies import CHOICES
from allocpool.studies.pauses import overhead

_TITLES = {
    "max_pause_ms": "max pause, ms", "mean_pause_ms": "mean pause, ms", "gc_per_second": "collections per s",
    "gc_fraction_percent": "in pauses, %", "live_objects_millions": "live objects, million",
    "gc_ns_per_object": "mean pause per live object, ns",
}  # fmt: skip
"""Columns of the published table and of `per_trial`, and what readers see."""


def per_trial(trials: pd.DataFrame, collections: pd.DataFrame) -> pd.DataFrame:
    """Return the published measures of each finished batch trial that has a collector's log.

    ``trials`` and ``collections`` are tables of the study on pauses. A trial without a pause has 0 for the longest, and
    no mean. Objects were counted in block 0, and are the same in every block of a configuration.
    """
    done = with_cost(trials[trials["mode"] == "batch"])
    counted = done.groupby([*CONFIGURATION, "scale"], observed=True)["live_objects"].transform("first")
    done = done.assign(live=done["live_objects"].fillna(counted).astype("Float64").astype(float))
    done = done.merge(collections, on="trial_id")
    return done.assign(
        max_pause_ms=done["pause_max_ms"].astype(float),
        mean_pause_ms=done["pause_mean_ms"].astype(float),
        gc_per_second=done["collections"] / done["window_s"],
        gc_fraction_percent=100 * done["pause_total_ms"] / (1e3 * done["window_s"]),
        live_objects_millions=done["live"] / 1e6,
        gc_ns_per_object=1e6 * done["pause_mean_ms"].astype(float) / done["live"],
    )


def gc_table(trials: pd.DataFrame, collections: pd.DataFrame) -> pd.DataFrame:
    """Return one row per configuration with heap buffers, case and strategy but controls, for a reader: ``n`` and the
    means of the published measures over trials (of the longest pause the maximum), in brackets the published figure
    where the article gives the collector."""
    measured = per_trial(trials, collections)
    measured = measured[measured["strategy"].isin(CHOICES) & ~measured["collector"].isin(CONTROLS)]
    groups = measured[measured["layout"] == "heap"].groupby([*CONFIGURATION, *ORDERED_BY], observed=True, dropna=False)
    table = groups.agg(dict.fromkeys(_TITLES, "mean") | {"max_pause_ms": "max"}).assign(n=groups.size()).reset_index()
    published = reference.load("allocate_or_pool_gc").set_index(["collector", "strategy", "case"])
    families = [family("java", collector) for collector in table["collector"]]
    theirs = published.reindex(pd.MultiIndex.from_arrays([families, table["strategy"], table["case"]]))
    shown = table[["configuration", "case", "strategy", "n"]].assign(
        **{
            title: [_with_published(*both) for both in zip(table[name], theirs[name], strict=True)]
            for name, title in _TITLES.items()
        }
    )
    order = {name: number for number, name in enumerate(configuration_order(table))}
    return shown.sort_values(["configuration", "case", "strategy"], key=lambda column: column.map(order).fillna(column))


def _with_published(value: float, published: float) -> str:
    measured = stats.significant(float(value), 3) if pd.notna(value) else "-"
    return measured if pd.isna(published) else f"{measured} [{stats.significant(published, 3)}]"


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
    left = store.stored("pauses", profile)[0]
    return verdict(left["trials"], left["collections"], overhead.by_block(left["trials"], left["cpu"]))
