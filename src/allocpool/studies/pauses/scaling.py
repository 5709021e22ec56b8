"""Pauses and CPU against live objects, per collector and strategy, with the fitted nanoseconds per object."""

from __future__ import annotations

import pandas as pd

from allocpool.packets.cells import ORDERED_BY, configuration_order, with_cost
from allocpool.studies.pauses.live_set import fit_live_set

MEASURES = {
    "forced full pause": "the full collection that counts the objects, after the measured part",
    "mean pause": "pauses while the program runs",
    "longest pause": "the longest pause while the program runs",
    "collector CPU": "CPU time of the collector's threads over its collections, while the program runs",
}
INTERVALS = (
    "In brackets: 95% interval (Student) over n trials, live sets of several sizes; a slope below nothing falls. "
    "Bends: the trials do not lie on a line, as one in twenty seems to by chance."
)
FACTS = ["configuration", *ORDERED_BY]


def points(trials: pd.DataFrame, collections: pd.DataFrame, cpu: pd.DataFrame) -> pd.DataFrame:
    """One row per live-set trial and measure: ``live_objects`` and ``cost_ns``; what a trial lacks has no row.

    ``trials``, ``collections`` and ``cpu`` are tables of the study on pauses. Forced full pauses of its batch trials
    with heap buffers count as well: a collection that nobody runs beside knows nothing of the trial's load.
    """
    live = with_cost(trials[trials["mode"] == "live_set"]).merge(collections, on="trial_id")
    spent = cpu[cpu["thread_group"] == "gc"].set_index("trial_id")["cpu_ns"]
    gc_ns = live["trial_id"].map(spent).astype(float)
    costs = {
        "forced full pause": 1e6 * live["forced_full_ms"].astype(float),
        "mean pause": 1e6 * live["pause_mean_ms"].astype(float),
        "longest pause": (1e6 * live["pause_max_ms"].astype(float)).where(live["pauses"] > 0),
        "collector CPU": (gc_ns / live["collections"]).where(live["collections"] > 0),
    }
    base = live[["trial_id", *FACTS, "strategy", "live_objects"]]
    batch = with_cost(trials[(trials["mode"] == "batch") & (trials["layout"] == "heap")])
    batch = batch[batch["strategy"].isin(["alloc", "pool"])].merge(collections, on="trial_id")
    forced = batch[["trial_id", *FACTS, "strategy", "live_objects"]].assign(
        measure="forced full pause", cost_ns=1e6 * batch["forced_full_ms"].astype(float)
    )
    measured = [base.assign(measure=name, cost_ns=cost) for name, cost in costs.items()]
    long = pd.concat([*measured, forced], ignore_index=True)
    return long[long["cost_ns"].notna() & long["live_objects"].notna()].astype({"live_objects": float})


def fits(rows: pd.DataFrame) -> pd.DataFrame:
    """One row per configuration, strategy and measure: ``ns_per_object``, ``low``, ``high``, ``base_ms``, ``n``,
    ``worst_factor``, ``text``, and the `Fit` itself as ``fit``."""
    fitted = []
    for (configuration, strategy, measure), group in rows.groupby(
        ["configuration", "strategy", "measure"], observed=True
    ):
        fit = fit_live_set(group["live_objects"], group["cost_ns"])
        if fit is None:
            continue
        first = group.iloc[0]
        fitted.append({
            **{name: first[name] for name in FACTS}, "configuration": configuration, "strategy": strategy,
            "measure": measure,
            "ns_per_object": fit.ns_per_object, "low": fit.low, "high": fit.high, "base_ms": fit.base_ns / 1e6,
            "n": fit.trials, "worst_factor": fit.worst_factor, "text": fit.text(), "fit": fit,
        })  # fmt: skip
    figures = ["ns_per_object", "low", "high", "base_ms", "n", "worst_factor", "text", "fit"]
    return pd.DataFrame(fitted, columns=[*FACTS, "strategy", "measure", *figures])


def for_reader(fitted: pd.DataFrame) -> pd.DataFrame:
    """The fits as a grid: one row per configuration and strategy, one column per measure."""
    if fitted.empty:
        return pd.DataFrame(columns=["configuration", "strategy", *MEASURES])
    grid = fitted.pivot(index=["configuration", "strategy"], columns="measure", values="text")
    grid = grid.reindex(columns=[name for name in MEASURES if name in grid])
    return grid.reindex(configuration_order(fitted), level=0).rename_axis(columns=None).reset_index()
