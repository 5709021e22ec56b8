"""The study on pauses for a reader: small tables and computed sentences."""

from __future__ import annotations

import pandas as pd

from allocpool import decisions, stats
from allocpool.campaign import store
from allocpool.decisions import Comparison
from allocpool.evidence import tables
from allocpool.evidence.trials import records
from allocpool.packets import by_size
from allocpool.packets.cells import CONFIGURATION, CONTROLS, ORDERED_BY, configuration_order, with_cost
from allocpool.runtimes.threads import GROUPS
from allocpool.studies.pauses.gc_table import per_trial
from allocpool.studies.pauses.overhead import lower_bound_overhead, saved_by_pooling
from allocpool.studies.pauses.specs import DISTURBANCES
from allocpool.studies.pauses.study import STUDY


def unread(collections: pd.DataFrame, losses: pd.DataFrame) -> str:
    """How much of the logs was not understood: to be read before anything that rests on them."""
    logs = len(collections) + int(losses["unread_lines"].notna().sum())
    lines = int(collections["unread_lines"].sum()) + int(losses["unread_lines"].fillna(0).sum())
    return (
        f"**{lines} stop-the-world lines were not understood** in {logs} logs; "
        f"{int(collections['violations'].sum())} lines contradict another one."
    )


_STOPS = {
    "pauses": "pause_total_ms", "safepoints": "safepoint_total_ms",
    "of it reaching them": "time_to_safepoint_total_ms", "stalls": "stall_total_ms",
}  # fmt: skip
"""Kinds of stops, and the columns that have their milliseconds."""


def what_stopped(trials: pd.DataFrame, collections: pd.DataFrame, case: str) -> pd.DataFrame:
    """Return milliseconds per second in which the program stood, by kind, configuration and strategy; means over
    trials."""
    done = with_cost(trials)
    done = done[(done["mode"] == "batch") & (done["case"] == case) & (done["layout"] == "heap")]
    done = done[done["strategy"].isin(["alloc", "pool"]) & ~done["collector"].isin(CONTROLS)]
    joined = done.merge(collections, on="trial_id")
    joined = joined.assign(**{name: joined[column] / joined["window_s"] for name, column in _STOPS.items()})
    groups = joined.groupby(["configuration", "strategy"], observed=True)[list(_STOPS)]
    return groups.mean().assign(n=groups.size()).reindex(configuration_order(joined), level=0).reset_index()


def busiest_case(trials: pd.DataFrame) -> str:
    """The case in which most is alive, of those that were run."""
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


def longest_table(trials: pd.DataFrame, collections: pd.DataFrame) -> pd.DataFrame:
    """Return `longest_pauses` for a reader: one row per configuration and case."""
    names, compared = longest_pauses(trials, collections)
    rows = [{"configuration": row.configuration, "case": row.case} for row in records(names)]
    return tables.comparisons(rows, compared, "alloc over pool")


def saved(overheads: pd.DataFrame) -> pd.DataFrame:
    """Return what pooling saves of collecting, wall time: one row per configuration and case, verdict and words
    included."""
    rows = saved_by_pooling(overheads[~overheads["collector"].isin(CONTROLS)])
    columns = {
        "configuration": "configuration", "case": "case", "alloc_lbo": "alloc, times", "pool_lbo": "pool, times",
        "alloc_ns": "alloc, ns per packet", "pool_ns": "pool, ns per packet", "text": "pooling, ns per packet",
        "verdict": "verdict", "n": "n",
    }  # fmt: skip
    rows = rows.sort_values(["layout", "case", "runtime", "configuration"])
    rounded = {name: rows[name].map(stats.significant) for name in ("alloc_lbo", "pool_lbo", "alloc_ns", "pool_ns")}
    return rows.assign(**rounded)[list(columns)].rename(columns=columns)


def realtime_cpu(cpu: pd.DataFrame, losses: pd.DataFrame) -> pd.DataFrame:
    """Whose CPU time it was in real time: percent of a trial's, by thread group, means over trials."""
    ordinary = losses[losses["disturbance"].isna() & losses["seconds"].notna()]
    joined = cpu.merge(ordinary[["trial_id", *ORDERED_BY, *CONFIGURATION]], on="trial_id")
    if joined.empty:
        return pd.DataFrame(columns=["configuration", "strategy", "case", "n", *GROUPS])
    shares = joined.assign(percent=100 * joined["cpu_ns"] / joined.groupby("trial_id")["cpu_ns"].transform("sum"))
    keys = list(CONFIGURATION)
    grid = shares.pivot_table(index=keys, columns="thread_group", values="percent", observed=True)
    texts = grid.reindex(columns=list(GROUPS)).fillna(0.0).map(lambda value: stats.significant(float(value), 2))
    texts.insert(0, "n", joined.groupby(keys, observed=True)["trial_id"].nunique())
    return texts.reindex(configuration_order(joined), level=0).rename_axis(columns=None).reset_index()


def at_disturbances(losses: pd.DataFrame, bursts: pd.DataFrame, attribution: pd.DataFrame) -> pd.DataFrame:
    """Each trial that was stopped on purpose: what was done, and the shares of what was lost in that time, in
    percent."""
    rows = []
    for trial in records(losses[losses["disturbance"].notna() & losses["disturbed_at_s"].notna()]):
        own = bursts[bursts["trial_id"] == trial.trial_id]
        end_s = trial.disturbed_at_s + trial.disturbed_ms / 1e3
        near = own.loc[(own["end_s"] >= trial.disturbed_at_s) & (own["start_s"] <= end_s), "burst"]
        shares = attribution[(attribution["trial_id"] == trial.trial_id) & attribution["burst"].isin(near)]
        whole = float(shares["lost"].sum())
        by_cause = (shares.groupby("cause", observed=True)["lost"].sum() / whole).sort_values(ascending=False)
        rows.append({
            "configuration": trial.configuration, "what was done": DISTURBANCES[trial.disturbance],
            "for, ms": stats.significant(trial.disturbed_ms, 3), "lost in that time": f"{whole:,.0f}",
            "found": ", ".join(f"{name} {share:.0%}" for name, share in by_cause.items() if share >= 0.005),
        })  # fmt: skip
    return pd.DataFrame(rows, columns=["configuration", "what was done", "for, ms", "lost in that time", "found"])


def verdict(trials: pd.DataFrame, collections: pd.DataFrame, overheads: pd.DataFrame) -> str:
    """Return which strategy has the shorter longest pause, and whether pooling saves collecting, counted over
    configurations and cases."""
    _, compared = longest_pauses(trials, collections)
    pauses = by_size.tally_of("Longest pause", compared).replace("cheaper", "shorter")
    counts = saved(overheads)["verdict"].value_counts()
    found = ", ".join(f"{what} in {count}" for what, count in counts.items()) or by_size.NOT_MEASURED
    return f"{pauses}  \n**Cost of collecting:** pooling {found}."


def take_home(profile: str) -> str:
    """Return the verdict on what a campaign of this profile left; runs nothing."""
    left = store.stored(STUDY.name, profile)[0]
    trials = left["trials"]
    overheads = lower_bound_overhead(trials[trials["mode"] == "batch"], left["cpu"])
    return verdict(trials, left["collections"], overheads)
