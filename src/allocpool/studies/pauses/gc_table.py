"""The article's table of collections, for every configuration: pauses, collections per second, share of time, live
objects.

Published as "GC time per live object" is the mean pause over the objects alive, whatever the pause collected.
"""

from __future__ import annotations

import pandas as pd

from allocpool import stats
from allocpool.evidence import reference
from allocpool.packets.cells import CONFIGURATION, CONTROLS, ORDERED_BY, configuration_order, with_cost
from allocpool.packets.published import family
from allocpool.packets.strategies import CHOICES

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
