"""The same question by bytes a message: as many bytes are alive in every trial, in fewer and larger messages.

Packets have 1,024 bytes in every language, so these trials are of mode messages, in which the life of a packet (queue,
store, bytes touched, temporaries) is a set of parameters.
"""

from __future__ import annotations

import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter

from allocpool.decisions import compare_together
from allocpool.evidence import style
from allocpool.evidence.tables import means
from allocpool.evidence.trials import counted, finished
from allocpool.packets.by_size import verdict_of
from allocpool.packets.style import BY_MARKER, COLOURS, strategy_looks
from allocpool.runtimes.collectors import collector_named
from allocpool.studies.your_workload.specs import Strategy

_SIDES: tuple[Strategy, Strategy] = ("alloc", "pool")


def compared(trials: pd.DataFrame) -> pd.DataFrame:
    """Return one row per configuration and bytes a message that was measured both ways, decided together.

    Columns: ``configuration``, ``bytes``, ``alive`` (messages), ``ratio`` of allocating over the pool with ``low`` and
    ``high``, ``n`` trials of the smaller side, ``verdict``.

    Args:
        trials: table ``messages`` of the batch study.
    """
    cells = dict(list(finished(counted(trials)).groupby(["configuration", "mean_bytes"], sort=False)))
    sides = [[rows.loc[rows["strategy"] == name, "ns_per_message"] for name in _SIDES] for rows in cells.values()]
    judged = compare_together([(alloc.astype(float), pool.astype(float)) for alloc, pool in sides])
    rows = [
        (_name(group.iloc[0]), int(group["mean_bytes"].iloc[0]), _alive(group.iloc[0]), of.ratio, of.low, of.high, of.n,
         verdict_of(of.n, found.direction, found.equivalent))
        for group, found in zip(cells.values(), judged, strict=True)
        for of in [found.decision]
    ]  # fmt: skip
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
    grid = sns.relplot(
        style.stated(cells, "ns"), x="bytes", y="ns", kind="line", hue="strategy", palette=COLOURS, **BY_MARKER,
        dashes=False, **style.BARS, legend=False, **style.panels("panel", list(dict.fromkeys(cells["panel"])), 2.4),
    )  # fmt: skip
    style.log_axes(grid, "x", cells["bytes"])
    for axis in grid.axes.flat:
        axis.xaxis.set_major_formatter(EngFormatter(sep=""))
    style.log_axes(grid, "y", [*cells["low"], *cells["high"]])
    handles = [style.mark(label, *look, line="-") for label, look in strategy_looks(cells).items()]
    return style.finish(
        grid, "ns a message by bytes a message.", 2, handles=handles, x="bytes a message", y="ns a message"
    )


def _alive(row: pd.Series) -> int:
    return int(row["messages_in_flight"] + row["kept_count"])


def _name(row: pd.Series) -> str:
    """``G1, JDK 25``; ``C++, glibc``."""
    if row["language"] == "cpp":
        return f"C++, {row['allocator']}"
    return f"{collector_named(row['collector']).label}, JDK {int(row['runtime'])}"
