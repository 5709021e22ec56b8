"""Does a longer measured window change the answer? Runs of a minute hold cycles of the old generation."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from allocpool.campaign import hosts
from allocpool.evidence import style
from allocpool.evidence.trials import counted
from allocpool.packets import by_size
from allocpool.packets import cells as cell_data
from allocpool.packets.labels import names_in
from allocpool.studies.batch.published_sizes import PROFILE

LENGTHS_S = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 40.0)
"""From the start of a measured window on."""
WHOLE = "whole"
_CELL = ["configuration", "case"]


class Long(NamedTuple):
    """The trials with long windows of one machine, and their iterations."""

    trials: pd.DataFrame
    iterations: pd.DataFrame


def of_host(trials: pd.DataFrame) -> Long:
    """Return the steady trials of profile ``article`` at the published sizes, of the machine of ``trials``."""
    tables = hosts.tables_of_hosts("batch", PROFILE)
    found = tables.get("trials", trials.iloc[:0])
    found = counted(found)
    found = found[found["host_id"].isin(set(trials["host_id"])) & found["warm_up"].notna() & (found["scale"] == 1)]
    iterations = tables.get("iterations", pd.DataFrame(columns=["trial_id"]))
    return Long(found, iterations[iterations["trial_id"].isin(found["trial_id"])])


def in_whole_windows(trials: pd.DataFrame) -> pd.DataFrame:
    """Return the trials whose window pays for all that it causes: it holds a complete cycle of the old generation, or
    the program allocates nothing."""
    nothing = trials["allocated_bytes"] < trials["packets"]
    return trials[((trials["window"] == WHOLE) | nothing).fillna(False)]


def compared(short: pd.DataFrame, long: pd.DataFrame) -> pd.DataFrame:
    """Return allocating over the pool in windows of both lengths, one row per configuration and messages alive.

    Columns: ``configuration``, ``alive``, ``ratio`` (of the long trials' geometric means), ``n`` (long trials of the
    smaller side), ``windows`` of the long trials, ``short_ratio``, ``same_side`` (of 1 as in short windows).
    """
    columns = ["configuration", "alive", "ratio", "n", "windows", "short_ratio", "same_side"]
    if long.empty or short.empty:
        return pd.DataFrame(columns=columns)
    costs = {name: _costs(rows) for name, rows in (("long", long), ("short", short))}
    both = costs["long"].merge(costs["short"], left_index=True, right_index=True, suffixes=("", "_short"))
    both = both.dropna(subset=["ratio"])
    found = both.reset_index()
    found["configuration"] = found["configuration"].map(names_in(long))
    found["same_side"] = (found["ratio"] > 1) == (found["ratio_short"] > 1)
    found = found.rename(columns={"ratio_short": "short_ratio"}).sort_values(["configuration", "alive"])
    return found[columns].reset_index(drop=True)


def doubts(rungs: pd.DataFrame, long: pd.DataFrame) -> str:
    """Return where runs of a minute put the other side ahead than the one that is shown, in a sentence; empty without
    such runs.

    Args:
        rungs: `allocpool.packets.by_size.rungs` of one machine.
        long: `compared` of the same machine.
    """
    shown = rungs[rungs["verdict"].isin(by_size.SIDES)]
    if shown.empty or long.empty:
        return ""
    both = shown.merge(long, on=["configuration", "alive"], suffixes=("", "_long"))
    if both.empty:
        return ""
    other = both[(both["ratio_long"] > 1) != (both["verdict"] == "pool")]
    where = "; ".join(
        f"{name} at {', '.join(f'{alive:,}' for alive in rows['alive'])}"
        for name, rows in other.groupby("configuration", sort=False)
    )
    found = f"the other side is ahead: {where}" if where else "the same side is ahead at each of these sizes"
    return f"In runs of a minute {found} (n = {int(both['n_long'].min())})."


def _costs(trials: pd.DataFrame) -> pd.DataFrame:
    """Ratio, n and windows by configuration and case."""
    done = cell_data.with_cost(trials[trials["strategy"].isin(["alloc", "pool"])])
    done = done.assign(log=np.log(done["ns_per_packet"].astype(float)), alive=done["queue_size"] + done["stored_count"])
    wide = done.pivot_table(index=_CELL, columns="strategy", values="log", aggfunc=["mean", "size"], observed=True)
    wide = wide.reindex(columns=pd.MultiIndex.from_product([["mean", "size"], ["alloc", "pool"]]))
    cells = done.groupby(_CELL, observed=True)
    return pd.DataFrame({
        "ratio": np.exp(wide["mean"]["alloc"] - wide["mean"]["pool"]),
        "n": np.minimum(wide["size"]["alloc"], wide["size"]["pool"]),
        "alive": cells["alive"].first(),
        "windows": cells["window"].agg(lambda each: " and ".join(sorted(set(each.dropna().astype(str))))),
    })  # fmt: skip


def by_length(long: Long) -> pd.DataFrame:
    """Return allocating over the pool by length of the window: ``configuration``, ``alive``, ``window_s``, ``ratio``.

    The window of ``window_s`` seconds is the first part of a trial's measured window; `LENGTHS_S` are looked at.
    """
    columns = ["configuration", "alive", "window_s", "ratio"]
    if long.trials.empty or long.iterations.empty:
        return pd.DataFrame(columns=columns)
    facts = long.trials[["trial_id", "configuration", "case", "strategy", "queue_size", "stored_count"]]
    facts = facts[facts["strategy"].isin(["alloc", "pool"])]
    parts = long.iterations[long.iterations["phase"] == "measured"].merge(facts, on="trial_id")
    parts = parts.sort_values(["trial_id", "start_ns"])
    begun = parts.groupby("trial_id")["start_ns"].transform("min")
    parts = parts.assign(since_s=(parts["end_ns"] - begun) / 1e9, packets=parts.groupby("trial_id")["packets"].cumsum())
    rows = []
    for length_s in LENGTHS_S:
        ends = parts[parts["since_s"] <= length_s * 1.05].groupby("trial_id").tail(1)
        ends = ends[ends["since_s"] >= length_s * 0.6]
        ends = ends.assign(log=np.log(ends["since_s"] * 1e9 / ends["packets"]))
        wide = ends.pivot_table(index=_CELL, columns="strategy", values="log", observed=True)
        wide = wide.reindex(columns=["alloc", "pool"]).dropna()
        rows.append(pd.DataFrame({"ratio": np.exp(wide["alloc"] - wide["pool"]), "window_s": length_s}))
    found = pd.concat(rows).reset_index()
    alive = facts.assign(alive=facts["queue_size"] + facts["stored_count"]).drop_duplicates(_CELL)
    found = found.merge(alive[[*_CELL, "alive"]], on=_CELL).assign(
        configuration=found["configuration"].map(names_in(long.trials))
    )
    return found[columns].sort_values(columns[:3])


def figure(lengths: pd.DataFrame) -> Figure:
    """Draw `by_length`: a panel per configuration, a line per number of messages alive; above 1 the pool is cheaper."""
    if lengths.empty:
        return style.nothing("no trial with a long window on this machine")
    order = sorted(lengths["alive"].unique())
    palette = dict(zip(order, sns.color_palette("viridis", len(order)).as_hex(), strict=True))
    grid = sns.relplot(
        lengths, x="window_s", y="ratio", hue="alive", hue_order=order, palette=palette, kind="line", marker="o",
        legend=False, **style.panels("configuration", list(dict.fromkeys(lengths["configuration"])), 2.4),
    )  # fmt: skip
    style.log_axes(grid, "x", lengths["window_s"])
    style.log_axes(grid, "y", lengths["ratio"])
    style.rule(grid, y=1)
    handles = [style.mark(f"{alive:,} alive", colour, line="-") for alive, colour in palette.items()]
    turned = lengths.groupby(["configuration", "alive"])["ratio"].agg(lambda each: (each > 1).nunique() > 1)
    text = f"The side changes with the length of the window in {int(turned.sum())} of {len(turned)} cells."
    return style.finish(grid, text, 4, handles=handles, x="length of the window, s", y="allocating over the pool")
