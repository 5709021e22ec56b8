"""How readers see the packets workload: names of configurations, and how many messages are alive."""

from __future__ import annotations

import pandas as pd

from allocpool.campaign.study import Readable
from allocpool.packets.specs import Solution
from allocpool.runtimes.collectors import collector_named


def name_of(solution: Solution) -> str:
    """Return a configuration as a stranger reads it: ``G1, JDK 25``, ``C++ flat``."""
    if solution.language == "cpp":
        words = [f"C++ {solution.layout.replace('_', ' ')}"]
    else:
        layout = [] if solution.layout == "heap" else [f"{solution.layout.replace('_', ' ')} buffers"]
        words = [collector_named(solution.collector or "").label, f"JDK {solution.runtime}", *layout]
    return ", ".join([*words, *([solution.beside_layout] if solution.beside_layout else [])])


def labelled(table: pd.DataFrame, held: tuple[str, str] = ("queue_size", "stored_count")) -> pd.DataFrame:
    """Return rows of trials with ``configuration`` in place of ``solution``, and with ``alive``, the sum of the columns
    ``held``: messages that the program holds at once. Other tables are returned as they are."""
    if not {"solution", "language", "layout"} <= set(table):
        return table
    first = table.drop_duplicates("solution").astype(object).reindex(columns=[*Solution.model_fields, "solution"])
    names = {row["solution"]: name_of(Solution.of(row)) for _, row in first.iterrows()}
    table = table.assign(configuration=table["solution"].map(names).astype(object)).drop(columns="solution")
    return table.assign(alive=table[held[0]] + table[held[1]]) if set(held) <= set(table) else table


READABLE = Readable(
    cost="ns_per_message",
    columns={
        "ns_per_packet": "ns_per_message",
        "cpu_ns_per_packet": "cpu_ns_per_message",
        "warmup_ns_per_packet": "warmup_ns_per_message",
        "start_ns_per_packet": "start_ns_per_message",
        "prologue_ns_per_packet": "prologue_ns_per_message",
    },
    label=labelled,
)
"""Of studies whose trials run packets."""
