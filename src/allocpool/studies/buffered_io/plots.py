"""Memory of servers: against the number of connections, and by where the bytes of one connection sit."""

from __future__ import annotations

import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from allocpool.evidence.style import (
    BLACK,
    BLUE,
    GREEN,
    INK,
    MARKERS,
    ORANGE,
    PALETTE,
    PURPLE,
    SILVER,
    SKY,
    STATED,
    VERMILION,
    YELLOW,
    finish,
    label_lines,
    log_axis,
    nothing,
    size,
    stack,
)
from allocpool.evidence.trials import finished
from allocpool.packets.cells import present
from allocpool.packets.style import ends, marks, points, two_lines
from allocpool.studies.buffered_io import connections
from allocpool.studies.buffered_io.specs import LABELS
from allocpool.studies.buffered_io.tables import PARTS

# Okabe and Ito's palette again, hatched from the second round on.
_PART_STYLE = {
    "stack": (SILVER, ""),
    "char_buffer": (VERMILION, ""),
    "byte_buffer": (ORANGE, "\\\\"),
    "codec": (YELLOW, "--"),
    "direct": (BLUE, ""),
    "socket": (GREEN, "||"),
    "thread": (PURPLE, "++"),
    "native": (SKY, "//"),
    "code": ("#e8e8e8", "xx"),
    "other": ("#d0d0d0", ".."),
}


def _looks(names: list[str]) -> dict[str, tuple[str, str]]:
    """Colour and marker of each variant."""
    return {
        name: (PALETTE[place % len(PALETTE)], MARKERS[(place + place // len(PALETTE)) % len(MARKERS)])
        for place, name in enumerate(names)
    }


def memory_against_connections(trials: pd.DataFrame) -> Figure:
    """Resident memory of every trial as the load left it, and the line of each variant, which its end names."""
    fitted = connections.lines(trials)
    if not fitted:
        return nothing("no variant ran at two numbers of connections")
    done = finished(trials)
    done = done[done["variant"].isin(fitted)].astype({"rss_mb": float, "connections": float})
    looks, most = _looks(list(fitted)), float(done["connections"].max())
    grid = sns.relplot(
        done, x="connections", y="rss_mb", hue="variant", palette={name: colour for name, (colour, _) in looks.items()},
        style="variant", markers={name: marker for name, (_, marker) in looks.items()}, s=40, legend=False,
        **size(1, 2.6 + 0.16 * len(fitted)),
    )  # fmt: skip
    grid.set(xlim=(0, most * 1.03), ylim=(0, None))
    named = []
    for name, line in fitted.items():
        top = line.intercept_mb + line.bytes_per_connection * most / 2**20
        grid.ax.plot([0, most], [line.intercept_mb, top], color=looks[name][0], linewidth=1)
        named.append((top, name, looks[name][0]))
    label_lines(grid.ax, named)
    grid.set_axis_labels("connections", "resident memory, MiB")
    slopes = pd.DataFrame({"variant": list(fitted), "slope": [line.bytes_per_connection for line in fitted.values()]})
    words = ends(slopes, "slope", ["variant"], "bytes per connection")
    return finish(grid, f"Resident memory against connections; a line's slope goes {words}.")


def connection_parts(trials: pd.DataFrame, parts: pd.DataFrame) -> Figure:
    """Bytes of one connection by where they sit, one bar per variant; the black mark is the measured slope.

    What was measured as less than nothing is noise of the fixed part and is no piece of a bar.
    """
    made_of = connections.decomposition(trials, parts)
    if made_of.empty:
        return nothing("no variant ran at two numbers of connections")
    order = list(dict.fromkeys(made_of["variant"]))
    shown = made_of.assign(kib=made_of["bytes_per_connection"].astype(float).clip(lower=0) / 1024)
    shown["part"] = shown["part"].str.replace("_", " ")
    styles = {part.replace("_", " "): _PART_STYLE[part] for part in present(PARTS, made_of["part"])}
    grid, handles = stack(shown, "kib", "variant", order, "part", styles)
    measured = connections.lines(trials, "collected_rss_mb")
    for place, name in enumerate(order):
        slope, (low, high) = measured[name].bytes_per_connection / 1024, measured[name].interval
        grid.ax.plot([slope] * 2, [place - 0.42, place + 0.42], color=BLACK, linewidth=2)
        if low is not None and high is not None:
            grid.ax.plot([max(0.0, low / 1024), max(0.0, high / 1024)], [place] * 2, color=BLACK, linewidth=1)
    grid.ax.set_yticks(range(len(order)), [two_lines(name) for name in order])
    most = max(float(shown.groupby("variant")["kib"].sum().max()),
               *(measured[name].bytes_per_connection / 1024 for name in order))  # fmt: skip
    grid.set(xlim=(0, 1.15 * most), ylabel="")
    grid.figure.supxlabel("KiB per connection after a full collection\nblack: slope of resident memory, its interval")
    slopes = pd.DataFrame({"variant": order, "kib": [measured[name].bytes_per_connection / 1024 for name in order]})
    words = ends(slopes, "kib", ["variant"], "KiB per connection")
    return finish(grid, f"Where the bytes of a connection sit, {', '.join(styles)}: {words}.", 5, "", handles)


_IO = {"buffered_reader": (VERMILION, "o"), "buffered_stream": (BLUE, "s")}


def cpu_against_buffer(trials: pd.DataFrame) -> Figure:
    """CPU per message against the size of the buffer on platform threads of the newest Java; the published median."""
    done = connections.usual(finished(trials))
    done = done[(done["threads"] == "platform") & done["buffer"].notna()]
    if done.empty:
        return nothing("no variant with a buffer has run")
    done = done[done["runtime"] == done["runtime"].max()]
    done = done[done["connections"] == done["connections"].max()]
    theirs = connections.published()
    theirs = theirs[theirs["io"].isin(_IO) & (theirs["buffer"] > 0)]
    long = pd.concat([
        done[["io", "buffer"]].assign(value=done["cpu_us_per_message"], panel=_OURS),
        theirs[["io", "buffer"]].assign(value=theirs["median_cpu_percent"], panel=_THEIRS),
    ]).astype({"buffer": float, "value": float})  # fmt: skip
    long = long[long["io"].isin(_IO)]
    grid = sns.relplot(
        long, kind="line", x="buffer", y="value", hue="io", palette={io: colour for io, (colour, _) in _IO.items()},
        style="io", markers={io: marker for io, (_, marker) in _IO.items()}, dashes=False, **STATED, err_style="bars",
        col="panel", col_order=[_OURS, _THEIRS], legend=False, facet_kws={"sharex": False, "sharey": False},
        **size(2, 2.8),
    )  # fmt: skip
    for panel, axis in grid.axes_dict.items():
        mine = long[long["panel"] == panel]
        log_axis(axis, float(mine["buffer"].min()), float(mine["buffer"].max()), "x", 1.3, most=4)
        axis.set(ylim=(0, 1.1 * float(mine["value"].max())), xlabel="", ylabel=panel)
        axis.axvline(float(done["message_bytes"].iloc[0]), color=INK, linewidth=0.8, linestyle=":")
    grid.figure.supxlabel("buffer, chars or bytes (dotted: the message)")
    handles = marks({LABELS[io]: look for io, look in _IO.items()})
    middle = long[long["panel"] == _OURS].groupby(["io", "buffer"])["value"].median().reset_index()
    middle = middle.assign(io=middle["io"].map(LABELS), buffer=middle["buffer"].map("{:g}".format))
    text = f"CPU per message against the size of the buffer: {ends(middle, 'value', ['io', 'buffer'], 'us')}."
    grid.set_titles("")
    return finish(grid, text, 2, "", handles)


_OURS, _THEIRS = "CPU per message, us", "published: median CPU, %"


def neighbour(trials: pd.DataFrame) -> Figure:
    """What a cache line costs a thread outside the server, one row per variant, the server with the most memory on top,
    at the most connections: medians, bars from the smallest to the largest trial."""
    done = finished(trials[trials["neighbour_line_ns"].notna()])
    if done.empty:
        return nothing("no trial has finished yet")
    done = done[done["connections"] == done["connections"].max()].astype({"rss_mb": float, "neighbour_line_ns": float})
    told = done.groupby("variant", observed=True)["neighbour_line_ns"].agg(["median", "min", "max"]).reset_index()
    told = told.set_axis(["variant", "ns", "low", "high"], axis=1).assign(panel="", by="")
    memory = done.groupby("variant", observed=True)["rss_mb"].median().sort_values(ascending=False)
    order = [str(name) for name in memory.index]
    grid = points(told, "ns", order, {"": (BLUE, "o")}, by="by", y="variant", col="panel", col_order=[""])
    (axis,) = grid.axes.flat
    axis.set_yticks(range(len(order)), [two_lines(f"{name} / {memory[name]:,.0f} MiB") for name in order])
    axis.set(title="", xlim=(0, None), xlabel="neighbour: ns per cache line")
    words = ends(told, "ns", ["variant"], "ns per cache line")
    return finish(grid, f"What a neighbour of the server pays, by the server's memory: {words}.", title="")


_DELAYS = {
    "latency_p50_us": ("median", (BLUE, "o")),
    "latency_p99_us": ("99th percentile", (VERMILION, "D")),
    "latency_max_us": ("largest", (BLACK, "X")),
}


def echo_latency(trials: pd.DataFrame) -> Figure:
    """Time from when a message was due to its whole echo at the most connections: median, 99th percentile, largest.

    Marks are medians of trials, bars from the smallest to the largest.
    """
    done = finished(trials)
    done = done[done["latency_p99_us"].notna()]
    if done.empty:
        return nothing("no trial has finished yet, or each left messages behind")
    done = done[done["connections"] == done["connections"].max()]
    order = connections.variants(done)
    names = {column: name for column, (name, _) in _DELAYS.items()}
    long = done.melt("variant", list(names), "which", "us").dropna(subset=["us"]).astype({"us": float})
    long["which"] = long["which"].map(names)
    told = long.groupby(["variant", "which"], observed=True)["us"].agg(["median", "min", "max"]).reset_index()
    told = told.set_axis(["variant", "which", "us", "low", "high"], axis=1).assign(panel="")
    hue = dict(_DELAYS.values())
    grid = points(told, "us", order, hue, by="which", y="variant", col="panel", col_order=[""])
    for axis in grid.axes.flat:
        log_axis(axis, float(long["us"].min()), float(long["us"].max()), "x", 1.3)
        axis.set(title="", xlabel="due time to whole echo, us (log scale)")
        axis.set_yticks(range(len(order)), [two_lines(name) for name in order])
    slow = told[told["which"] == "99th percentile"]
    text = f"Delay of echoes; the ninety-ninth percentile goes {ends(slow, 'us', ['variant'], 'us')}."
    return finish(grid, text, 3, "", marks(hue))
