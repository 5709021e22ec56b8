"""Memory of servers: against the number of connections, and by where the bytes of one connection sit."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from allocpool.evidence.style import (
    BLACK,
    BLUE,
    GREEN,
    INK,
    ORANGE,
    PURPLE,
    SILVER,
    SKY,
    VERMILION,
    YELLOW,
    legend,
    log_axis,
    new_figure,
    nothing,
)
from allocpool.evidence.trials import finished, records
from allocpool.studies.buffered_io import connections
from allocpool.studies.buffered_io.tables import PARTS

# Okabe and Ito's palette again, hatched from the second round on.
_PART_STYLE = {
    "stack": (SILVER, ""),
    "char_buffer": (VERMILION, ""),
    "byte_buffer": (ORANGE, ""),
    "codec": (YELLOW, ""),
    "direct": (BLUE, ""),
    "socket": (GREEN, ""),
    "thread": (PURPLE, ""),
    "native": (SKY, "//"),
    "code": ("#ffffff", "xx"),
    "other": ("#ffffff", ".."),
}
_MARKERS = "osD^v<>PX*hp"
_COLOURS = (VERMILION, BLUE, GREEN, PURPLE, ORANGE, SKY, BLACK, SILVER)


def memory_against_connections(trials: pd.DataFrame) -> Figure:
    """Resident memory of every trial as the load left it, and the line of each variant."""
    fitted = connections.lines(trials)
    if not fitted:
        return nothing("no variant ran at two numbers of connections")
    done = finished(trials)
    figure, (axis,) = new_figure(1, 1, 9.3, 4.6)
    most = float(done["connections"].max())
    for place, (name, line) in enumerate(fitted.items()):
        rows = done[done["variant"] == name]
        colour, marker = _COLOURS[place % len(_COLOURS)], _MARKERS[place % len(_MARKERS)]
        axis.plot(rows["connections"], rows["rss_mb"], linestyle="", marker=marker, color=colour, markersize=5)
        ends = np.array([0.0, most])
        axis.plot(ends, line.intercept_mb + line.bytes_per_connection * ends / 2**20, color=colour, linewidth=1)
        axis.plot([], [], color=colour, marker=marker, markersize=5, linewidth=1, label=name)
    axis.set_xlim(0, most * 1.03)
    axis.set_ylim(0)
    axis.set_xlabel("connections", fontsize=9)
    axis.set_ylabel("resident memory, MiB", fontsize=9)
    figure.legend(loc="outside right upper", frameon=False, fontsize=8)
    return figure


def connection_parts(trials: pd.DataFrame, parts: pd.DataFrame) -> Figure:
    """Bytes of one connection by where they sit, one bar per variant; the black mark is the measured slope."""
    made_of = connections.decomposition(trials, parts)
    if made_of.empty:
        return nothing("no variant ran at two numbers of connections")
    names = list(dict.fromkeys(made_of["variant"]))
    wide = made_of.pivot(index="variant", columns="part", values="bytes_per_connection").loc[names] / 1024
    wide = wide.reindex(columns=list(PARTS), fill_value=0.0)
    measured = connections.lines(trials, "collected_rss_mb")
    figure, (axis,) = new_figure(1, 1, 9.3, 1.4 + 0.36 * max(3, len(names)))
    # What was measured as less than nothing is noise of the fixed part: such pieces lie to the left of zero.
    ends = {sign: np.zeros(len(names)) for sign in (1, -1)}
    for part in PARTS:
        colour, hatch = _PART_STYLE[part]
        for sign in (1, -1):
            width = sign * (sign * wide[part]).clip(lower=0).to_numpy()
            axis.barh(
                range(len(names)), width, left=ends[sign], color=colour, hatch=hatch, edgecolor=INK, linewidth=0.4
            )
            ends[sign] = ends[sign] + width
    for place, name in enumerate(names):
        slope, (low, high) = measured[name].bytes_per_connection / 1024, measured[name].interval
        axis.plot([slope] * 2, [place - 0.42, place + 0.42], color=BLACK, linewidth=2)
        if low is not None and high is not None:
            axis.plot([low / 1024, high / 1024], [place] * 2, color=BLACK, linewidth=1)
    axis.set_yticks(range(len(names)), names, fontsize=9)
    axis.set_ylim(len(names) - 0.5, -0.5)
    axis.set_xlabel(
        "KiB per connection after a full collection (black: slope of resident memory, its interval)", fontsize=9
    )
    handles = [
        Patch(facecolor=colour, hatch=hatch, edgecolor=INK, linewidth=0.4, label=part.replace("_", " "))
        for part, (colour, hatch) in _PART_STYLE.items()
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=len(handles), frameon=False, fontsize=8,
                  handlelength=1.4, columnspacing=1.0)  # fmt: skip
    return figure


def cpu_against_buffer(trials: pd.DataFrame) -> Figure:
    """CPU per message against the size of the buffer on platform threads of the newest Java; the published median."""
    done = connections.usual(finished(trials))
    done = done[(done["threads"] == "platform") & done["buffer"].notna()]
    if done.empty:
        return nothing("no variant with a buffer has run")
    done = done[done["runtime"] == done["runtime"].max()]
    done = done[done["connections"] == done["connections"].max()]
    published = connections.published()
    figure, (ours, theirs) = new_figure(1, 2, 9.3, 3.6)
    colours = {"buffered_reader": (VERMILION, "o"), "buffered_stream": (BLUE, "s")}
    for io, (colour, marker) in colours.items():
        rows = done[done["io"] == io].sort_values("buffer")
        mean = rows.groupby("buffer")["cpu_us_per_message"].mean().astype(float)
        ours.plot(
            rows["buffer"].astype(float),
            rows["cpu_us_per_message"].astype(float),
            linestyle="",
            marker=marker,
            color=colour,
        )
        ours.plot(mean.index.astype(float), mean, color=colour, linewidth=1)
        rows = published[published["io"] == io]
        theirs.plot(rows["buffer"], rows["median_cpu_percent"], marker=marker, color=colour, linewidth=1)
        ours.plot([], [], marker=marker, color=colour, linewidth=1, label=io.replace("_", " "))
    for axis, sizes in (
        (ours, done["buffer"].astype(float)),
        (theirs, published.loc[published["buffer"] > 0, "buffer"]),
    ):
        log_axis(axis, float(sizes.min()), float(sizes.max()), "x", 1.3)
        axis.set_ylim(0, axis.dataLim.ymax * 1.1)
        axis.axvline(float(done["message_bytes"].iloc[0]), color="#888888", linewidth=0.8, linestyle=":")
        axis.set_xlabel("buffer, chars or bytes (dotted: the message)", fontsize=9)
    ours.set_ylabel("CPU per message, us", fontsize=9)
    theirs.set_ylabel("published: median CPU, %", fontsize=9)
    legend(figure, ours.get_legend_handles_labels()[0])
    return figure


def neighbour(trials: pd.DataFrame) -> Figure:
    """What a cache line costs a thread outside the server against the server's memory, at the most connections."""
    done = finished(trials[trials["neighbour_line_ns"].notna()])
    if done.empty:
        return nothing("no trial has finished yet")
    done = done[done["connections"] == done["connections"].max()]
    figure, (axis,) = new_figure(1, 1, 9.3, 3.8)
    for place, name in enumerate(connections.variants(done)):
        rows = done[done["variant"] == name]
        colour, marker = _COLOURS[place % len(_COLOURS)], _MARKERS[place % len(_MARKERS)]
        axis.plot(
            rows["rss_mb"].astype(float), rows["neighbour_line_ns"].astype(float), linestyle="", marker=marker,
            color=colour, markersize=6, label=name,
        )  # fmt: skip
    axis.set_xlim(left=0)
    axis.set_ylim(bottom=0)
    axis.set_xlabel("resident memory of the server, MiB", fontsize=9)
    axis.set_ylabel("neighbour: ns per cache line", fontsize=9)
    figure.legend(loc="outside right upper", frameon=False, fontsize=8)
    return figure


def echo_latency(trials: pd.DataFrame) -> Figure:
    """Time from when a message was due to its whole echo at the most connections: median, 99th percentile, largest."""
    done = finished(trials)
    done = done[done["latency_p99_us"].notna()]
    if done.empty:
        return nothing("no trial has finished yet, or each left messages behind")
    done = done[done["connections"] == done["connections"].max()]
    names = connections.variants(done)
    figure, (axis,) = new_figure(1, 1, 9.3, 1.2 + 0.3 * max(3, len(names)))
    shapes = {
        "latency_p50_us": ("o", "median"),
        "latency_p99_us": ("D", "99th percentile"),
        "latency_max_us": ("|", "largest"),
    }
    for row in records(done):
        place = names.index(row.variant)
        for column, (marker, _) in shapes.items():
            axis.plot(getattr(row, column), place, marker=marker, color=BLUE, markersize=5)
    figures = done[list(shapes)].astype(float)
    log_axis(axis, float(figures.min().min()), float(figures.max().max()), "x", 1.3)
    axis.set_yticks(range(len(names)), names, fontsize=9)
    axis.set_ylim(len(names) - 0.5, -0.5)
    axis.set_xlabel("due time to whole echo, us", fontsize=9)
    for marker, label in shapes.values():
        axis.plot([], [], marker=marker, linestyle="", color=BLUE, label=label)
    legend(figure, axis.get_legend_handles_labels()[0])
    return figure
