"""Memory of servers: against the number of connections, and by where the bytes of one connection sit."""

from __future__ import annotations

import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from allocpool.evidence import style
from allocpool.evidence.style import by_panel, finish, label_lines, log_axes, looks, marks, nothing, panels, rule, size
from allocpool.evidence.trials import finished
from allocpool.packets.cells import present
from allocpool.packets.style import name_rows, points
from allocpool.studies.buffered_io import connections
from allocpool.studies.buffered_io.specs import LABELS
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
    """Resident memory of a connection by way of I/O, and the published figures; marks by what serves it."""
    costs = connections.costs(trials)
    if costs.empty:
        return nothing(_ONE_NUMBER)
    ours = costs["served_by"] != connections.PUBLISHED
    names = costs.loc[ours, "served_by"].unique()
    palette, markers = looks(names).values()
    hue = {name: (palette[name], markers[name]) for name in names}
    if not ours.all():
        hue[connections.PUBLISHED] = style.GREY, "*"
    grid = points(costs, "kib", list(costs["way"].unique()), hue, "KiB per connection (log scale)", by="served_by",
                  y="way", col=None)  # fmt: skip
    log_axes(grid, "x", costs[["kib", "low", "high"]].to_numpy(float).ravel(), 1.3)
    return finish(grid, "What a connection costs, by way of I/O.", 2, handles=marks(hue))


def memory_against_connections(trials: pd.DataFrame) -> Figure:
    """Resident memory of every trial as the load left it, and the line of each variant, which its end names."""
    shown = connections.representative(trials)
    fitted = connections.lines(shown)
    if not fitted:
        return nothing(_ONE_NUMBER)
    done = shown[shown["variant"].isin(fitted)].astype({"rss_mb": float, "connections": float})
    styles, most = looks(fitted), float(done["connections"].max())
    grid = sns.relplot(done, x="connections", y="rss_mb", hue="variant", style="variant", **styles, s=40,
                       legend=False, **size(1, 2.6 + 0.16 * len(fitted)))  # fmt: skip
    grid.set(xlim=(0, most * 1.03), ylim=(0, None))
    named = []
    for name, line in fitted.items():
        reach = float(done.loc[done["variant"] == name, "connections"].max())
        top, colour = line.intercept_mb + line.bytes_per_connection * reach / 2**20, styles["palette"][name]
        grid.ax.plot([0, reach], [line.intercept_mb, top], color=colour, linewidth=1)
        named.append((top, name, colour))
    label_lines(grid.ax, named)
    grid.set_axis_labels("connections", "resident memory, MiB")
    return finish(grid, "Resident memory against connections, a line for each variant.")


def connection_parts(trials: pd.DataFrame, parts: pd.DataFrame) -> Figure:
    """Bytes of one connection by where they sit, one bar per variant; the black mark is the measured slope.

    What was measured as less than nothing is noise of the fixed part and is no piece of a bar.
    """
    made_of = connections.decomposition(connections.representative(trials), parts)
    if made_of.empty:
        return nothing(_ONE_NUMBER)
    order = list(made_of["variant"].unique())
    shown = made_of.assign(kib=made_of["bytes_per_connection"].astype(float).clip(lower=0) / 1024)
    shown["part"] = shown["part"].str.replace("_", " ")
    styles = {part.replace("_", " "): _PART_STYLE[part] for part in present(PARTS, made_of["part"])}
    grid, handles = style.stack(shown, "kib", "variant", order, "part", styles)
    lines = connections.lines(trials, "collected_rss_mb")
    slopes = pd.DataFrame({"variant": order, "kib": [lines[name].bytes_per_connection / 1024 for name in order]})
    for place, slope in enumerate(slopes["kib"]):
        low, high = lines[order[place]].interval
        grid.ax.plot([slope] * 2, [place - 0.42, place + 0.42], color=style.INK, linewidth=2)
        if low is not None and high is not None:
            grid.ax.plot([max(0.0, low / 1024), max(0.0, high / 1024)], [place] * 2, color=style.INK, linewidth=1)
    grid.set(xlim=(0, 1.15 * max(float(shown.groupby("variant")["kib"].sum().max()), *slopes["kib"])))
    below = "KiB per connection after a full collection\nblack: slope of resident memory, its interval"
    text = f"Where the bytes of a connection sit: {', '.join(styles)}."
    return finish(grid, text, 5, "", handles, name_rows(grid, below, order, configurations=False))


_IO = {"buffered_reader": (style.VERMILION, "o"), "buffered_stream": (style.BLUE, "s")}
_OURS, _THEIRS = "CPU per message, us", "published: median CPU, %"


def cpu_against_buffer(trials: pd.DataFrame) -> Figure:
    """CPU per message against the size of the buffer on platform threads of the newest Java; the published median."""
    done = connections.usual(finished(trials))
    done = done[(done["threads"] == "platform") & done["buffer"].notna()]
    if done.empty:
        return nothing("no variant with a buffer has run")
    done = done[done["runtime"] == done["runtime"].max()]
    done = done[done["connections"] == done["connections"].max()]
    theirs = connections.published()
    long = pd.concat([
        done.assign(value=done["cpu_us_per_message"], panel=_OURS),
        theirs[theirs["buffer"] > 0].assign(value=theirs["median_cpu_percent"], panel=_THEIRS),
    ])[["io", "buffer", "value", "panel"]].reset_index(drop=True).astype({"buffer": float, "value": float})  # fmt: skip
    long = long[long["io"].isin(_IO)]
    hue = {LABELS[io]: look for io, look in _IO.items()}
    long["io"] = long["io"].map(LABELS)
    palette, markers = ({io: look[place] for io, look in hue.items()} for place in (0, 1))
    grid = sns.relplot(
        long, kind="line", x="buffer", y="value", hue="io", palette=palette, style="io", markers=markers, dashes=False,
        **style.BARS, legend=False, facet_kws={"sharex": False, "sharey": False},
        **panels("panel", (_OURS, _THEIRS), 2.8),
    )  # fmt: skip
    for panel, axis, mine in by_panel(grid, long):
        log_axes(axis, "x", mine["buffer"], 1.3)
        axis.set(title="", ylim=(0, 1.1 * float(mine["value"].max())), ylabel=panel)
    rule(grid, x=float(done["message_bytes"].iloc[0]), linestyle=":")
    return finish(grid, "CPU per message against the size of the buffer.", 2, "", marks(hue),
                  "buffer, chars or bytes (dotted: the message)")  # fmt: skip


def neighbour(trials: pd.DataFrame) -> Figure:
    """What a cache line costs a thread outside the server against the server's memory, one mark per variant, all at
    one number of connections: medians, bars from the smallest to the largest trial."""
    done = finished(trials[trials["neighbour_line_ns"].notna()])
    if done.empty:
        return nothing("no trial has finished yet")
    done = connections.fullest(connections.usual(done)).astype({"rss_mb": float, "neighbour_line_ns": float})
    found = done.groupby("variant", observed=True).agg(
        rss_mb=("rss_mb", "median"), ns=("neighbour_line_ns", "median"), low=("neighbour_line_ns", "min"),
        high=("neighbour_line_ns", "max"),
    )  # fmt: skip
    served = connections.by_variant(done)
    found = found.loc[list(served)].reset_index()
    found["served_by"] = [connections.server_of(variant) for variant in served.values()]
    names = found["served_by"].unique()
    palette, markers = looks(names).values()
    grid = sns.relplot(found, x="rss_mb", y="ns", hue="served_by", style="served_by", palette=palette, markers=markers,
                       s=45, zorder=3, legend=False, **size(1, 3.4))  # fmt: skip
    grid.ax.vlines(found["rss_mb"], found["low"], found["high"], colors=found["served_by"].map(palette), linewidth=1.4)
    log_axes(grid, "x", found["rss_mb"], 1.3)
    grid.set(ylim=(0, None), ylabel="neighbour: ns per cache line")
    number = int(done["connections"].iloc[0])
    text = "What a neighbour of the server pays, against the server's memory."
    return finish(grid, text, 2, "", marks({name: (palette[name], markers[name]) for name in names}),
                  f"resident memory of the server with {number:,} connections, MiB (log scale)")  # fmt: skip
