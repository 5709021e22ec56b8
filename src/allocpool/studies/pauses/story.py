"""The study on pauses for a reader: small tables and computed sentences."""

from __future__ import annotations

import pandas as pd

from allocpool import decisions, stats
from allocpool.campaign import store
from allocpool.evidence.trials import records
from allocpool.packets.cells import CONFIGURATION, CONTROLS, ORDERED_BY, configuration_order, with_cost
from allocpool.runtimes.threads import GROUPS
from allocpool.studies.pauses.gc_table import per_trial
from allocpool.studies.pauses.overhead import (
    COSTS,
    NO_MATTER,
    OPEN,
    SAVES,
    lower_bound_overhead,
    saved_by_pooling,
)
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
    """Milliseconds per second in which the program stood, by kind and by configuration and strategy; means over
    trials."""
    done = with_cost(trials)
    done = done[(done["mode"] == "batch") & (done["case"] == case) & (done["layout"] == "heap")]
    done = done[done["strategy"].isin(["alloc", "pool"]) & ~done["collector"].isin(CONTROLS)]
    joined = done.merge(collections, on="trial_id")
    rows = []
    for configuration in configuration_order(joined) if len(joined) else []:
        for strategy, group in joined[joined["configuration"] == configuration].groupby("strategy", observed=True):
            shares = {name: float((group[column] / group["window_s"]).mean()) for name, column in _STOPS.items()}
            rows.append({"configuration": configuration, "strategy": strategy, "n": len(group), **shares})
    return pd.DataFrame(rows, columns=["configuration", "strategy", "n", *_STOPS])


def stopped_grid(stopped: pd.DataFrame) -> pd.DataFrame:
    """`what_stopped` for a reader."""
    return stopped.assign(**{name: stopped[name].map(stats.significant) for name in _STOPS})


def flattered(stopped: pd.DataFrame) -> str:
    """Where pauses hide most of what stood, of the rows of `what_stopped`."""
    if stopped.empty:
        return ""
    hidden = stopped["stalls"] + stopped["safepoints"] - stopped["pauses"]
    row = stopped.to_dict("records")[int(hidden.to_numpy().argmax())]
    pauses, safepoints, stalls = (stats.significant(row[name]) for name in ("pauses", "safepoints", "stalls"))
    return (
        f"Pauses hide most on {row['configuration']} with {row['strategy']}: {pauses} ms in pauses, "
        f"{safepoints} at safepoints, {stalls} in stalls of the consumer, per second. "
        "Shenandoah slows threads down in place of stalling them, and its log does not say for how long."
    )


def busiest_case(trials: pd.DataFrame) -> str:
    """The case in which most is alive, of those that were run."""
    return str(trials.loc[trials["mode"] == "batch", "case"].max())


def longest_pauses(trials: pd.DataFrame, collections: pd.DataFrame) -> pd.DataFrame:
    """Longest pause of alloc over that of pool, per configuration and case; all are decided together.

    Columns: configuration, case, direction, equivalent, remark (what an average would hide), text.
    """
    rows = per_trial(trials, collections)
    rows = rows[(rows["max_pause_ms"] > 0) & ~rows["collector"].isin(CONTROLS)]
    names, pairs = [], []
    for key, group in rows.groupby(["configuration", "case"], observed=True):
        sides = {name: part.set_index("block")["max_pause_ms"] for name, part in group.groupby("strategy")}
        if {"alloc", "pool"} <= set(sides):
            names.append(key)
            pairs.append((sides["alloc"], sides["pool"]))
    compared = [
        [*key, item.direction, item.equivalent, item.decision.remark, item.text()]
        for key, item in zip(names, decisions.compare_together(pairs), strict=True)
    ]
    return pd.DataFrame(compared, columns=["configuration", "case", "direction", "equivalent", "remark", "text"])


def longest_grid(compared: pd.DataFrame) -> pd.DataFrame:
    """`longest_pauses` for a reader: one row per configuration and case, with what an average would hide."""
    hides = ["remark"] if compared["remark"].any() else []
    shown = compared[["configuration", "case", "text", *hides]]
    return shown.rename(columns={"text": "alloc over pool", "remark": "beware (a: alloc, b: pool)"})


def saved_table(overheads: pd.DataFrame, clock: str = "wall") -> pd.DataFrame:
    """What pooling saves of collecting, in words: one row per configuration and case."""
    rows = saved_by_pooling(overheads[~overheads["collector"].isin(CONTROLS)], clock)
    return pd.DataFrame(
        [
            {
                "configuration": row.configuration, "case": row.case,
                "alloc, times": stats.significant(row.alloc_lbo, 3), "pool, times": stats.significant(row.pool_lbo, 3),
                "alloc, ns per packet": stats.significant(row.alloc_ns, 3),
                "pool, ns per packet": stats.significant(row.pool_ns, 3),
                "pooling, ns per packet": row.text, "n": row.n,
            }
            for row in records(rows.sort_values(["layout", "case", "runtime", "configuration"]))
        ]
    )  # fmt: skip


def saved_sentence(overheads: pd.DataFrame) -> str:
    """Where pooling is shown to save collection cost, by case."""
    rows = saved_by_pooling(overheads[~overheads["collector"].isin(CONTROLS)])
    if rows.empty:
        return "No configuration was measured both ways."
    shown = set(rows["verdict"])
    head = (
        "Pooling is shown to save collection cost" if SAVES in shown
        else "Pooling is shown to add to the cost of collecting" if COSTS in shown
        else "Pooling is not shown to change the cost of collecting"
    )  # fmt: skip
    parts = []
    for case, group in rows.groupby("case", observed=True):
        saves = group[group["verdict"] == SAVES]["saved_ns"]
        span = f" ({stats.span(saves)} ns per packet)" if len(saves) else ""
        others = [
            f"{verdict} in {count}"
            for verdict in (COSTS, NO_MATTER, OPEN)
            if (count := int((group["verdict"] == verdict).sum()))
        ]
        parts.append(
            f"case {case}, {SAVES} in {len(saves)} of {len(group)} configurations{span}"
            f"{''.join(f', {one}' for one in others)}"
        )
    return f"{head}: {'; '.join(parts)}."


def realtime_cpu(cpu: pd.DataFrame, losses: pd.DataFrame) -> pd.DataFrame:
    """Whose CPU time it was in real time: percent of a trial's, by thread group, means over trials."""
    ordinary = losses[losses["disturbance"].isna() & losses["seconds"].notna()]
    joined = cpu.merge(ordinary[["trial_id", *ORDERED_BY, *CONFIGURATION]], on="trial_id")
    if joined.empty:
        return pd.DataFrame(columns=["configuration", "strategy", "case", "n", *GROUPS])
    shares = joined.assign(percent=100 * joined["cpu_ns"] / joined.groupby("trial_id")["cpu_ns"].transform("sum"))
    order = {name: number for number, name in enumerate(configuration_order(joined))}
    grid = shares.groupby([*CONFIGURATION, "thread_group"], observed=True)["percent"].mean().unstack()
    counts = joined.groupby(list(CONFIGURATION), observed=True)["trial_id"].nunique()
    texts = grid.reindex(columns=list(GROUPS)).fillna(0.0).map(lambda value: stats.significant(float(value), 2))
    texts.insert(0, "n", counts)
    return texts.reset_index().sort_values(
        "configuration", key=lambda names: names.map(order), kind="stable", ignore_index=True
    )


def beside_disturbances(losses: pd.DataFrame, bursts: pd.DataFrame, attribution: pd.DataFrame) -> pd.DataFrame:
    """Each trial that was stopped on purpose: what was done, and the shares of what was lost beside it, in percent."""
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
            "for, ms": stats.significant(trial.disturbed_ms, 3), "lost beside it": f"{whole:,.0f}",
            "found": ", ".join(f"{name} {share:.0%}" for name, share in by_cause.items() if share >= 0.005),
        })  # fmt: skip
    return pd.DataFrame(rows, columns=["configuration", "what was done", "for, ms", "lost beside it", "found"])


def verdict(trials: pd.DataFrame, collections: pd.DataFrame, overheads: pd.DataFrame) -> str:
    """What pooling does to pauses and to the cost of collecting, counted over configurations and cases."""
    compared = longest_pauses(trials, collections)
    if compared.empty:
        return "**Undecided.** No configuration has pauses both with alloc and with pool yet."
    shorter, longer = (int((compared["direction"] == side).sum()) for side in (1, -1))
    alike = int(compared["equivalent"].sum())
    undecided = len(compared) - shorter - longer - alike
    if 2 * undecided > len(compared):
        headline = "Mostly open which has the longer pauses."
    elif 2 * alike > len(compared):
        headline = "Mostly no difference that matters in the longest pause."
    elif shorter > 2 * longer:
        headline = "Pooling shortens the longest pause."
    elif longer > 2 * shorter:
        headline = "Pooling lengthens the longest pause."
    else:
        headline = "Pooling shortens the longest pause here, and lengthens it there."
    return (
        f"**{headline}** Of {len(compared)} configurations and cases, the longest pause is shown to "
        f"be shorter with a pool in {shorter}, longer in {longer}, without a difference that matters in {alike}; "
        f"{undecided} are open. {saved_sentence(overheads)}"
    )


def take_home(profile: str) -> str:
    """The verdict on what a campaign of this profile left; runs nothing."""
    tables, provenance = store.stored(STUDY.name, profile)
    if provenance is None:
        return "**Undecided.** Pauses were not measured under this profile."
    trials, collections = tables["trials"], tables["collections"]
    overheads = lower_bound_overhead(trials[trials["mode"] == "batch"], tables["cpu"])
    stopped = what_stopped(trials, collections, busiest_case(trials))
    return f"{verdict(trials, collections, overheads)} {flattered(stopped)}"
