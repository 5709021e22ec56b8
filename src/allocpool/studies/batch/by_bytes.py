"""Allocate or pool by bytes a message: as many bytes are alive in every trial, in fewer and larger messages.

Packets have 1,024 bytes in every language. These trials are of mode messages, in which the life of a packet (queue,
store, bytes touched, temporaries) is a set of parameters.
"""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from allocpool.decisions import compare_together
from allocpool.evidence import style
from allocpool.evidence.tables import means
from allocpool.evidence.trials import counted, finished
from allocpool.packets.by_size import verdict_of
from allocpool.packets.style import lines
from allocpool.runtimes.collectors import collector_named


def compared(trials: pd.DataFrame) -> pd.DataFrame:
    """Return one row per configuration and bytes a message that was measured both ways, decided together.

    Columns: ``configuration``, ``bytes``, ``alive`` (messages), ``ratio`` of allocating over the pool with ``low`` and
    ``high``, ``n`` trials of the smaller side, ``verdict``.

    Args:
        trials: table ``messages`` of the batch study.
    """
    cells = dict(list(finished(counted(trials)).groupby(["configuration", "mean_bytes"], sort=False)))
    sides = [
        [rows.loc[rows["strategy"] == name, "ns_per_message"].astype(float) for name in ("alloc", "pool")]
        for rows in cells.values()
    ]
    rows = []
    for group, found in zip(cells.values(), compare_together([(a, b) for a, b in sides]), strict=True):
        row, of = group.iloc[0], found.decision
        alive = int(row["messages_in_flight"] + row["kept_count"])
        verdict = verdict_of(of.n, found.direction, found.equivalent)
        rows.append((_name(row), int(row["mean_bytes"]), alive, of.ratio, of.low, of.high, of.n, verdict))
    columns = ["configuration", "bytes", "alive", "ratio", "low", "high", "n", "verdict"]
    return pd.DataFrame(rows, columns=columns).sort_values(["configuration", "bytes"], ignore_index=True)


def curve(trials: pd.DataFrame) -> Figure:
    """Draw ns a message against bytes a message, a panel per configuration and a line per strategy; intervals are of
    the mean over trials.

    Args:
        trials: table ``messages`` of the batch study.
    """
    done = finished(counted(trials))
    if done.empty:
        return style.nothing("bytes a message were not varied in this campaign")
    done = done.assign(panel=[_name(row) for _, row in done.iterrows()], bytes=done["mean_bytes"])
    cells = means(done, ["panel", "bytes", "strategy"], "ns_per_message")
    grid, handles = lines(cells, "bytes", list(cells["panel"].unique()))
    text = "ns a message by bytes a message."
    return style.finish(grid, text, 2, handles=handles, x="bytes a message", y="ns a message")


def _name(row: pd.Series) -> str:
    """Return ``G1, JDK 25``; ``C++, glibc``."""
    if row["language"] == "cpp":
        return f"C++, {row['allocator']}"
    return f"{collector_named(row['collector']).label}, JDK {int(row['runtime'])}"
