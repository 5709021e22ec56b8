"""Names of configurations as readers see them, and how many messages are alive."""

from __future__ import annotations

import pandas as pd

from allocpool.campaign.study import Readable
from allocpool.packets.specs import Configuration
from allocpool.runtimes.collectors import collector_named


def name_of(configuration: Configuration) -> str:
    """Return a configuration as a stranger reads it: ``G1, JDK 25``, ``C++ flat``."""
    layout = configuration.layout.replace("_", " ")
    if configuration.language == "cpp":
        words = [f"C++ {layout}"]
    else:
        words = [collector_named(configuration.collector or "").label, f"JDK {configuration.runtime}"]
        words += [] if layout == "heap" else [f"{layout} buffers"]
    return ", ".join(filter(None, [*words, configuration.beyond_layout]))


def names_in(trials: pd.DataFrame) -> dict[str, str]:
    """Return `name_of` each configuration of a table, by how it is stored."""
    first = trials.drop_duplicates("configuration").astype(object)
    rows = first.reindex(columns=[*Configuration.model_fields, "configuration"]).iterrows()
    return {row["configuration"]: name_of(Configuration.of(row)) for _, row in rows}


def labelled(table: pd.DataFrame, held: tuple[str, str] = ("queue_size", "stored_count")) -> pd.DataFrame:
    """Return rows of trials with the reader's name of each ``configuration``, and with ``alive``, the sum of the
    columns ``held``: messages that the program holds at once. Other tables are returned as they are."""
    if not {"configuration", "language", "layout"} <= set(table):
        return table
    table = table.assign(configuration=table["configuration"].map(names_in(table)).astype(object))
    return table.assign(alive=table[held[0]] + table[held[1]]) if set(held) <= set(table) else table


_COSTS = {f"{which}ns_per_packet": f"{which}ns_per_message" for which in ("", "cpu_", "warmup_", "start_", "prologue_")}
READABLE = Readable(cost="ns_per_message", columns=_COSTS, label=labelled)
"""Of studies whose trials run packets."""
