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

PUBLISHED = ("max_pause_ms", "mean_pause_ms", "gc_per_second", "gc_fraction_percent", "live_objects_millions",
             "gc_ns_per_object")  # fmt: skip
"""Columns of the published table, and of ours."""


def live_objects_of(trials: pd.DataFrame) -> pd.Series:
    """Live objects of each trial, by its index; counted in block 0 and the same in every block of a configuration."""
    counted = trials.groupby([*CONFIGURATION, "scale"], observed=True)["live_objects"].transform("first")
    return trials["live_objects"].fillna(counted).astype("Float64")


def per_trial(trials: pd.DataFrame, collections: pd.DataFrame) -> pd.DataFrame:
    """The published measures of each finished batch trial that has a collector's log.

    ``trials`` and ``collections`` are tables of the study on pauses. A trial without a pause has 0 for the longest, and
    no mean.
    """
    done = with_cost(trials[trials["mode"] == "batch"])
    done = done.assign(live=live_objects_of(done)).merge(collections, on="trial_id")
    window_s = done["window_s"]
    return done.assign(
        max_pause_ms=done["pause_max_ms"].astype(float),
        mean_pause_ms=done["pause_mean_ms"].astype(float),
        gc_per_second=done["collections"] / window_s,
        gc_fraction_percent=100 * done["pause_total_ms"] / (1e3 * window_s),
        live_objects_millions=done["live"].astype(float) / 1e6,
        gc_ns_per_object=1e6 * done["pause_mean_ms"].astype(float) / done["live"].astype(float),
    )


def gc_table(trials: pd.DataFrame, collections: pd.DataFrame) -> pd.DataFrame:
    """Return one row per configuration, strategy and case but controls: the means of the published measures over trials
    (of ``max_pause_ms`` the largest), ``n``, and ``published_<measure>`` where the article gives the collector."""
    measured = per_trial(trials, collections)
    measured = measured[measured["strategy"].isin(CHOICES) & ~measured["collector"].isin(CONTROLS)]
    keys = [*CONFIGURATION, *ORDERED_BY]
    how = dict.fromkeys(PUBLISHED, "mean") | {"max_pause_ms": "max"}
    groups = measured.groupby(keys, observed=True, dropna=False)
    table = groups.agg(how).assign(n=groups.size()).reset_index()
    table["family"] = [family("java", collector) for collector in table["collector"]]
    published = reference.load("allocate_or_pool_gc").rename(columns={name: f"published_{name}" for name in PUBLISHED})
    published = published.rename(columns={"collector": "family"}).assign(layout="heap")
    on = ["family", "layout", "case", "strategy"]
    table = table.merge(published[[*on, *(f"published_{name}" for name in PUBLISHED)]], "left", on)
    order = {name: number for number, name in enumerate(configuration_order(table))}
    ranked = table.assign(rank=table["configuration"].map(order)).sort_values(["rank", "case", "strategy"])
    return ranked.drop(columns=["rank", "family"]).reset_index(drop=True)


_TITLES = {
    "max_pause_ms": "max pause, ms", "mean_pause_ms": "mean pause, ms", "gc_per_second": "collections per s",
    "gc_fraction_percent": "in pauses, %", "live_objects_millions": "live objects, million",
    "gc_ns_per_object": "mean pause per live object, ns",
}  # fmt: skip


def for_reader(table: pd.DataFrame, layout: str = "heap") -> pd.DataFrame:
    """Return the table in words, one row per configuration, case and strategy, the published figure in brackets."""
    shown = table[table["layout"] == layout]
    return shown[["configuration", "case", "strategy", "n"]].assign(
        **{
            title: [_with_published(*both) for both in zip(shown[name], shown[f"published_{name}"], strict=True)]
            for name, title in _TITLES.items()
        }
    )


def _with_published(value: float, published: float) -> str:
    measured = stats.significant(float(value), 3) if pd.notna(value) else "-"
    return measured if pd.isna(published) else f"{measured} [{stats.significant(published, 3)}]"
