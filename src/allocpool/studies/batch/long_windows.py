"""Does a longer measured window change the answer? Runs of a minute hold cycles of the old generation."""

from __future__ import annotations

import numpy as np
import pandas as pd

from allocpool.campaign import hosts
from allocpool.evidence.trials import counted
from allocpool.packets import by_size
from allocpool.packets import cells as cell_data
from allocpool.packets.labels import names_in
from allocpool.studies.batch.claims import PROFILE

_CELL = ["configuration", "case"]


def of_host(trials: pd.DataFrame) -> pd.DataFrame:
    """Return the steady trials of profile ``article`` at the published sizes, of the machine of ``trials``."""
    found = counted(hosts.tables_of_hosts("batch", PROFILE).get("trials", trials.iloc[:0]))
    return found[found["host_id"].isin(set(trials["host_id"])) & found["warm_up"].notna() & (found["scale"] == 1)]


def _ratios(trials: pd.DataFrame) -> pd.DataFrame:
    """Return ``ratio`` of the geometric means of allocating over the pool, and ``n`` of the smaller side."""
    done = cell_data.with_cost(trials[trials["strategy"].isin(["alloc", "pool"])])
    done = done.assign(log=np.log(done["ns_per_packet"].astype(float)))
    cells = done.groupby([*_CELL, "strategy"], observed=True)["log"].agg(["mean", "size"]).unstack("strategy").dropna()
    ratio = np.exp(cells[("mean", "alloc")] - cells[("mean", "pool")])
    return pd.DataFrame({"ratio": ratio, "n": cells["size"].min(axis=1).astype(int)})


def compared(short: pd.DataFrame, long: pd.DataFrame) -> pd.DataFrame:
    """Return allocating over the pool in windows of both lengths, one row per configuration and messages alive.

    Columns: ``configuration``, ``alive``, ``ratio`` (of the long trials' geometric means), ``n`` (long trials of the
    smaller side), ``windows`` of the long trials, ``short_ratio``, ``same_side`` (of 1 as in short windows).
    """
    columns = ["configuration", "alive", "ratio", "n", "windows", "short_ratio", "same_side"]
    if long.empty or short.empty:
        return pd.DataFrame(columns=columns)
    cells = long.assign(alive=long["queue_size"] + long["stored_count"]).groupby(_CELL, observed=True)
    windows = cells["window"].agg(lambda each: " and ".join(sorted(set(each.dropna().astype(str)))))
    found = _ratios(long).assign(alive=cells["alive"].first(), windows=windows)
    found = found.join(_ratios(short)["ratio"].rename("short_ratio"), how="inner").reset_index()
    found["configuration"] = found["configuration"].map(names_in(long))
    found["same_side"] = (found["ratio"] > 1) == (found["short_ratio"] > 1)
    return found.sort_values(["configuration", "alive"])[columns].reset_index(drop=True)


def doubts(rungs: pd.DataFrame, long: pd.DataFrame) -> str:
    """Return where runs of a minute put the other side ahead than the one that is shown, in a sentence; empty without
    such runs.

    Args:
        rungs: `allocpool.packets.by_size.rungs` of one machine.
        long: `compared` of the same machine.
    """
    shown = rungs[rungs["verdict"].isin(by_size.SIDES)]
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
