"""Tables of the page on batch about bytes a message, settings, flags and windows; and its answer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from allocpool.campaign import store
from allocpool.evidence.trials import counted, finished
from allocpool.packets import by_size
from allocpool.packets import cells as cell_data
from allocpool.packets.batch import BatchSpec
from allocpool.packets.specs import SETTINGS, Configuration
from allocpool.packets.tables import options_grid, options_table
from allocpool.runtimes.flags import Flag, explained_flags
from allocpool.studies.batch.plots import machine_of
from allocpool.studies.batch.study import STUDY, BatchProfile


def by_bytes(trials: pd.DataFrame) -> pd.DataFrame:
    """Return allocating over a pool by bytes a message: as many bytes are alive in fewer and larger messages.

    Packets have 1,024 bytes in every language. These trials are of mode messages, in which the life of a packet (queue,
    store, bytes touched, temporaries) is a set of parameters.

    Columns: ``configuration``, ``bytes``, ``alive`` (messages), and figures as of `by_size.ratios`.

    Args:
        trials: table ``messages`` of the batch study.
    """
    sides = {}
    for _, rows in finished(counted(trials)).groupby(["configuration", "mean_bytes"], sort=False):
        first = rows.iloc[0]
        alloc, pool = (rows.loc[rows["strategy"] == name, "ns_per_message"].astype(float) for name in ("alloc", "pool"))
        alive = int(first["messages_in_flight"] + first["kept_count"])
        sides[machine_of(first), int(first["mean_bytes"]), alive] = alloc, pool
    found = by_size.ratios(["configuration", "bytes", "alive"], sides).drop(columns=["direction", "equivalent"])
    return found.sort_values(["configuration", "bytes"], ignore_index=True)


def settings_table(trials: pd.DataFrame) -> pd.DataFrame:
    """Return what a cell costs without a setting of ours, or with the pause target of G1, over what it costs as set."""
    rows = options_table(trials, *SETTINGS)
    return options_grid(rows, "with", "without").assign(setting=rows["option"])


def flags_table(profile: BatchProfile) -> pd.DataFrame:
    """Return the flags of the profile's JVMs: flag, what needs it, why, and to how many configurations it is given."""
    given: list[Flag] = []
    for key in dict.fromkeys(key for part in (profile, *profile.groups.values()) for key in part.configurations):
        settings = Configuration.parse(key).model_dump(exclude_none=True)
        jvm = BatchSpec(**settings, strategy="pool", case="B", scale=profile.scale, packets=1).needs().jvm
        given += explained_flags(jvm, Path("gc.log"), Path("jit.log")) if jvm else ()
    rows = pd.DataFrame(given, columns=["flag", "whose", "why"])
    return rows.value_counts(sort=False).rename("configurations").reset_index().sort_values(["whose", "flag"])


def windows(trials: pd.DataFrame) -> pd.DataFrame:
    """Return, by configuration and strategy, how many trials ended their warm-up how, after how many messages and
    collections (medians), and what the first half minute costs over steady state (geometric mean)."""
    done = cell_data.with_cost(trials).fillna({"window": "no collector", "warm_up": "by time"})
    start = np.log((done["start_ns_per_packet"] / done["ns_per_packet"]).astype(float))
    cells = done.assign(start=start).groupby(["configuration", "strategy", "window", "warm_up"], observed=True)
    rows = cells.agg(
        trials=("trial_id", "size"),
        warmup_packets=("warmup_packets", "median"),
        warmup_collections=("warmup_collections", "median"),
        start_over_steady=("start", "mean"),
    ).reset_index()
    return rows.assign(start_over_steady=np.exp(rows["start_over_steady"]).round(2))


def summary(profile: str) -> str:
    """Return the answer of what a campaign of this profile left; runs nothing."""
    rungs = by_size.rungs(store.stored(STUDY.name, profile)[0]["trials"])
    return by_size.tally("All configurations and sizes", rungs).text
