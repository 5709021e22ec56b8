"""Tables of the page on batch about bytes a message, heaps, settings, flags and runs of a minute; and its answer.

Runs of a minute hold cycles of the old generation: does a longer measured window change the answer?
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from allocpool import decisions
from allocpool.campaign import store
from allocpool.evidence.trials import counted, finished, records, spelled_out
from allocpool.packets import by_size
from allocpool.packets import cells as cell_data
from allocpool.packets.batch import BatchSpec
from allocpool.packets.labels import names_in
from allocpool.packets.published import published_as_trials
from allocpool.packets.specs import SETTINGS, Configuration, case_size
from allocpool.packets.tables import options_grid, options_table
from allocpool.runtimes.collectors import OLDEST
from allocpool.runtimes.flags import Flag, explained_flags
from allocpool.studies.batch.study import STUDY, BatchProfile
from allocpool.studies.your_workload.sizes import parse_sizes
from allocpool.studies.your_workload.specs import heap_live_mb


def by_what(trials: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the trials of table ``messages`` that vary the bytes of a message, and those that vary the heap or its
    collector's flags, with ``heap_over_live``: the heap over all that lives on it."""
    program = trials.groupby(["configuration", "heap_mb", "jvm_flags"], dropna=False)
    heaps = trials[trials.groupby(["configuration", "mean_bytes"])["heap_mb"].transform("nunique") > 1]
    live_mb = [
        heap_live_mb({**row._asdict(), "sizes": parse_sizes(row.sizes), "in_flight": row.messages_in_flight})
        for row in records(heaps)
    ]
    over = (heaps["heap_mb"].astype(float) / np.array(live_mb, dtype=float)).round(1)
    return trials[program["mean_bytes"].transform("nunique") > 1], heaps.assign(heap_over_live=over)


def by_bytes(trials: pd.DataFrame) -> pd.DataFrame:
    """Return allocating over a pool by bytes a message, of table ``messages``: as many bytes are alive in fewer and
    larger messages. In these trials the life of a packet (queue, store, bytes touched, temporaries) is parameters.

    Columns: ``configuration``, ``bytes``, ``alive`` (messages), and figures as of `by_size.ratios`.
    """
    alive = trials["messages_in_flight"] + trials["kept_count"]
    return _alloc_over_pool(trials.assign(bytes=trials["mean_bytes"].astype(int), alive=alive), ["bytes", "alive"])


def by_heap(trials: pd.DataFrame) -> pd.DataFrame:
    """Return the same by ``heap_over_live`` and ``jvm_flags``, of the second table of `by_what`."""
    return _alloc_over_pool(trials, ["jvm_flags", "heap_over_live"])


def _alloc_over_pool(trials: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    sides: dict[Any, Any] = {}
    for (name, *rest), rows in finished(counted(trials)).groupby(["configuration", *by], sort=False):
        costs = rows.set_index("strategy")["ns_per_message"].astype(float)
        sides[spelled_out(name), *rest] = costs[costs.index == "alloc"], costs[costs.index == "pool"]
    found = by_size.ratios(["configuration", *by], sides).drop(columns=["direction", "equivalent"])
    return found.sort_values(["configuration", *by], ignore_index=True)


def beyond_epsilon(trials: pd.DataFrame) -> pd.DataFrame:
    """Return what each cell of Java costs beyond the same one with Epsilon, which collects nothing and has no barriers.

    Columns: ``configuration``, ``alive``, ``strategy``, ``n``, ``ns`` (mean), ``beyond_epsilon_ns`` (difference of the
    means) with ``low`` and ``high`` (95%, Welch): NaN where Epsilon has fewer than two trials. Below zero, its fresh
    memory costs more than collecting does.
    """
    java = cell_data.without_options(cell_data.with_cost(trials[trials["language"] == "java"]))
    names, rows = names_in(java), []
    for _, same in java.groupby(["layout", "runtime", "strategy", "case"], observed=True):
        least = same.loc[same["collector"] == "epsilon", "ns_per_packet"].to_numpy(float)
        for configuration, own in same[same["collector"] != "epsilon"].groupby("configuration", observed=True):
            costs, first = own["ns_per_packet"].to_numpy(float), own.iloc[0]
            known = min(costs.size, least.size) > 1
            middle, half = decisions.welch(costs, least, decisions.ALPHA) if known else (np.nan, np.nan)
            alive = first["queue_size"] + first["stored_count"]
            rows.append([names[str(configuration)], alive, first["strategy"], costs.size, costs.mean(),
                         *map(float, (middle, middle - half, middle + half))])  # fmt: skip
    columns = ["configuration", "alive", "strategy", "n", "ns", "beyond_epsilon_ns", "low", "high"]
    return pd.DataFrame(rows, columns=columns).sort_values(columns[:3], ignore_index=True)


def published_sides() -> pd.DataFrame:
    """Return the published ratios of allocating over the full pool on the heap, which came without a spread: columns
    ``collector`` (the published name), ``release``, ``alive``, ``ratio``, ``verdict``, and ``n``, which is 1."""
    heap = published_as_trials().query("layout == 'heap'")
    costs = heap.pivot(index=["family", "runtime", "case"], columns="strategy", values="ns_per_packet").reset_index()
    found = costs.rename(columns={"family": "collector", "runtime": "release"})
    found = found.assign(alive=2 * found["case"].map(case_size), ratio=found["alloc"] / found["pool"], n=1)
    side = (found["ratio"] > 1).map({True: "pool", False: "allocate"})
    return found.assign(verdict=side)[["collector", "release", "alive", "ratio", "verdict", "n"]]


def on_java_8(trials: pd.DataFrame) -> pd.DataFrame:
    """Return which side is cheaper on JDK 8 by messages alive, as published and in these trials; empty without any."""
    here = by_size.rungs(trials[trials["runtime"] == OLDEST])
    then = published_sides().query("release == @OLDEST")
    then = then.assign(configuration=then["collector"] + ", published")
    return by_size.table(pd.concat([then, here])) if len(here) else here


def settings_table(trials: pd.DataFrame) -> pd.DataFrame:
    """Return what a cell costs without a setting of ours, or with the pause target of G1, over what it costs as set."""
    rows = options_table(trials, *SETTINGS)
    return options_grid(rows, "with", "without").assign(setting=rows["option"])


def flags_table(profile: BatchProfile) -> pd.DataFrame:
    """Return the flags of the profile's JVMs: flag, what needs it, why, and to how many configurations it is given."""
    given: list[Flag] = []
    for key in dict.fromkeys(key for part in (profile, *profile.groups.values()) for key in part.configurations):
        settings = Configuration.parse(key).model_dump(exclude_none=True)
        shortest = {"fill_packets": 1, "packets": 2}
        jvm = BatchSpec(**settings, **shortest, strategy="pool", case="B", scale=profile.scale).needs().jvm
        given += explained_flags(jvm, Path("gc.log"), Path("jit.log")) if jvm else ()
    rows = pd.DataFrame(given, columns=["flag", "whose", "why"])
    return rows.value_counts(sort=False).rename("configurations").reset_index().sort_values(["whose", "flag"])


_CELL = ["configuration", "case"]


def _ratios(trials: pd.DataFrame) -> pd.DataFrame:
    """Return ``ratio`` of the geometric means of allocating over the pool, and ``n`` of the smaller side."""
    done = cell_data.with_cost(trials[trials["strategy"].isin(["alloc", "pool"])])
    done = done.assign(log=np.log(done["ns_per_packet"].astype(float)))
    every = done.groupby([*_CELL, "strategy"], observed=True)["log"].agg(["mean", "size"])
    both = pd.MultiIndex.from_product([["mean", "size"], ["alloc", "pool"]])
    cells = pd.DataFrame(every.unstack("strategy")).reindex(columns=both).dropna()
    ratio = np.exp(cells["mean", "alloc"] - cells["mean", "pool"])
    return pd.DataFrame({"ratio": ratio, "n": np.minimum(cells["size", "alloc"], cells["size", "pool"]).astype(int)})


def compared_with_minutes(short: pd.DataFrame, long: pd.DataFrame) -> pd.DataFrame:
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
    """Return where runs of a minute (`compared_with_minutes`) put the other side ahead than the one that
    `by_size.rungs` of the same machine show, in a sentence; empty without such runs."""
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


def summary(profile: str) -> str:
    """Return the answer of what a campaign of this profile left; runs nothing."""
    rungs = by_size.rungs(store.stored(STUDY.name, profile)[0]["trials"])
    return by_size.tally("All configurations and sizes", rungs).text
