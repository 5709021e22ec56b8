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
    """One row per configuration, strategy and case but controls: the means of the published measures over trials (of
    ``max_pause_ms`` the largest), each with ``<measure>_low`` and ``_high`` (range of the trials), ``n``, and
    ``published_<measure>`` where the article gives the collector."""
    measured = per_trial(trials, collections)
    measured = measured[measured["strategy"].isin(CHOICES) & ~measured["collector"].isin(CONTROLS)]
    published = {
        (row["collector"], row["case"], row["strategy"]): row
        for row in reference.load("allocate_or_pool_gc").to_dict("records")
    }
    rows = []
    for keys, group in measured.groupby(list(CONFIGURATION), observed=True):
        first = group.iloc[0]
        row = dict(zip(CONFIGURATION, keys, strict=True)) | {"n": len(group)}
        row |= {name: first[name] for name in ORDERED_BY}
        for name in PUBLISHED:
            values = group[name]
            row |= {
                name: values.max() if name == "max_pause_ms" else values.mean(),
                f"{name}_low": values.min(), f"{name}_high": values.max(),
            }  # fmt: skip
        where = (family("java", first["collector"]), str(first["case"]), str(first["strategy"]))
        beside = published.get(where, {}) if first["layout"] == "heap" else {}
        row |= {f"published_{name}": float(beside.get(name, "nan")) for name in PUBLISHED}
        rows.append(row)
    table = pd.DataFrame(rows)
    if table.empty:
        return table
    order = {name: number for number, name in enumerate(configuration_order(table))}
    ranked = table.assign(rank=table["configuration"].map(order)).sort_values(["rank", "case", "strategy"])
    return ranked.drop(columns="rank").reset_index(drop=True)


def for_reader(table: pd.DataFrame, layout: str = "heap") -> pd.DataFrame:
    """The table in words, one row per configuration, case and strategy, the published figure in brackets."""
    titles = {
        "max_pause_ms": "max pause, ms", "mean_pause_ms": "mean pause, ms", "gc_per_second": "collections per s",
        "gc_fraction_percent": "in pauses, %", "live_objects_millions": "live objects, million",
        "gc_ns_per_object": "mean pause per live object, ns",
    }  # fmt: skip
    rows = []
    for item in table[table["layout"] == layout].to_dict("records") if len(table) else []:
        row = {name: item[name] for name in ("configuration", "case", "strategy", "n")}
        for name, title in titles.items():
            row[title] = _with_published(item[name], item[f"published_{name}"])
        rows.append(row)
    return pd.DataFrame(rows, columns=["configuration", "case", "strategy", "n", *titles.values()])


def _with_published(value: float, published: float) -> str:
    measured = stats.significant(float(value), 3) if pd.notna(value) else "-"
    return measured if pd.isna(published) else f"{measured} [{stats.significant(published, 3)}]"
