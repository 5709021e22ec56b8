"""Figures of servers: what a connection costs, and where its bytes sit."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from allocpool.evidence import style
from allocpool.evidence.style import finish, log_axes, looks, marks, nothing
from allocpool.evidence.trials import records
from allocpool.packets.cells import present
from allocpool.packets.style import name_rows, points
from allocpool.studies.buffered_io import connections
from allocpool.studies.buffered_io.connections import PUBLISHED
from allocpool.studies.buffered_io.tables import PARTS

# Okabe and Ito's palette again, hatched from the second round on.
_PART_STYLE = {
    "stack": (style.SILVER, ""),
    "char_buffer": (style.VERMILION, ""),
    "byte_buffer": (style.ORANGE, "\\\\"),
    "codec": (style.YELLOW, "--"),
    "direct": (style.BLUE, ""),
    "socket": (style.GREEN, "||"),
    "thread": (style.PURPLE, "++"),
    "native": (style.SKY, "//"),
    "code": ("#e8e8e8", "xx"),
    "other": ("#d0d0d0", ".."),
}
_ONE_NUMBER = "no variant ran at two numbers of connections"


def cost_of_a_connection(trials: pd.DataFrame) -> Figure:
    """Return resident memory of a connection by way of I/O, with the published figures; marks by what serves it."""
    costs = connections.costs(trials)
    if costs.empty:
        return nothing(_ONE_NUMBER)
    palette, markers = looks(costs.loc[costs["served_by"] != PUBLISHED, "served_by"]).values()
    hue = {name: (palette[name], markers[name]) for name in palette}
    if PUBLISHED in set(costs["served_by"]):
        hue[PUBLISHED] = style.GREY, "*"
    grid = points(costs, "mean", list(costs["way"].unique()), hue, "KiB per connection (log scale)", by="served_by",
                  y="way", col=None)  # fmt: skip
    log_axes(grid, "x", costs[["mean", "low", "high"]].to_numpy(float).ravel(), 1.3)
    return finish(grid, "What a connection costs, by way of I/O.", 2, handles=marks(hue))


def connection_parts(trials: pd.DataFrame, parts: pd.DataFrame) -> Figure:
    """Return bytes of one connection by where they sit, one bar per variant; the black mark is the measured slope.

    Variants are the newest with common buffers. What was measured as less than nothing is noise of the fixed part and
    is no piece of a bar.
    """
    shown = connections.newest(connections.common_buffers(connections.usual(connections.done(trials))))
    sized = shown.merge(parts.assign(part_mb=parts["bytes"] / 2**20), on="trial_id")
    by = ["variant", "part"]
    made_of = connections.over_blocks(connections.slopes(sized, "part_mb", by), by)["mean"].clip(lower=0) / 1024
    if made_of.empty:
        return nothing(_ONE_NUMBER)
    bars = made_of.rename("kib").reset_index()
    order = list(bars["variant"].unique())
    styles = {part.replace("_", " "): _PART_STYLE[part] for part in present(PARTS, bars["part"])}
    grid, handles = style.stack(bars.assign(part=bars["part"].str.replace("_", " ")), "kib", "variant", order, "part",
                                styles)  # fmt: skip
    lines = connections.over_blocks(connections.slopes(shown, "collected_rss_mb")).loc[order] / 1024
    for place, slope in enumerate(records(lines)):
        grid.ax.plot([slope.mean] * 2, [place - 0.42, place + 0.42], color=style.INK, linewidth=2)
        grid.ax.plot([max(0.0, slope.low), max(0.0, slope.high)], [place] * 2, color=style.INK, linewidth=1)
    longest = float(bars.groupby("variant")["kib"].sum().max())
    grid.set(xlim=(0, 1.15 * max(longest, float(lines["mean"].max()))))
    below = "KiB per connection after a full collection\nblack: slope of resident memory, its interval"
    text = f"Where the bytes of a connection sit: {', '.join(styles)}."
    return finish(grid, text, 5, "", handles, name_rows(grid, below, order))
