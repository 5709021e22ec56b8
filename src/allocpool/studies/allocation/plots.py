"""What a buffer costs by its size, and what mixed sizes do to memory over time."""

from __future__ import annotations

import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from allocpool.evidence import style
from allocpool.evidence.style import by_panel, finish, label_lines, log_axes, looks, nothing, panels, size, stated
from allocpool.evidence.tables import means
from allocpool.evidence.trials import finished
from allocpool.packets.cells import present
from allocpool.packets.style import COLOURS, points
from allocpool.studies.allocation.claims import published_as_trials
from allocpool.studies.allocation.specs import OPERATIONS
from allocpool.studies.allocation.story import label

_CPP, _ARRAYS, _OTHER = "C++", "Java: byte[]", "Java: other ways"


def _names(rows: pd.DataFrame) -> list[str]:
    """Return the technique and what serves it, of each row."""
    facts = zip(rows["technique"], rows["strategy"], rows["served_by"], strict=True)
    return [f"{label(technique, strategy)} on {served_by}" for technique, strategy, served_by in facts]


def _panels(rows: pd.DataFrame) -> pd.Series:
    """Sort rows into what can be read in one panel: C++, byte[] by collector, the other ways of Java."""
    cpp, plain = rows["language"] == "cpp", (rows["technique"] == "byte_array") & (rows["strategy"] == "alloc")
    return cpp.map({True: _CPP, False: _OTHER}).mask(~cpp & plain, _ARRAYS)


def cost_by_size(trials: pd.DataFrame, column: str = "ns_per_alloc") -> Figure:
    """Draw a column in ns against bytes, one line per technique and what serves it, untouched buffers; bars are the
    spread over trials, crosses the published figures."""
    done = finished(trials[(trials["mode"] == "allocation") & (trials["touch"] == "none") & trials[column].notna()])
    if done.empty:
        return nothing("no trial has finished yet")
    done = done.assign(panel=_panels(done), name=_names(done))
    several = done.groupby("name")["bytes"].transform("nunique") > 1
    cells = means(done[several] if several.any() else done, ["panel", "name", "strategy", "bytes"], column)
    theirs = published_as_trials().dropna(subset=[column])
    theirs = theirs.assign(panel=_panels(theirs), ns=theirs[column], name="2012 " + theirs["technique"].map(label))
    shown = present((_CPP, _ARRAYS, _OTHER), cells["panel"])
    # Colours are the two of all figures; what serves the memory is shown by markers and by the name at each line.
    palette = dict(zip(cells["name"], cells["strategy"].map(COLOURS), strict=True))
    markers = {
        name: look for _, part in cells.groupby("panel") for name, look in looks(part["name"])["markers"].items()
    }
    grid = sns.relplot(stated(cells, "ns"), kind="line", x="bytes", y="ns", hue="name", style="name", dashes=False,
                       palette=palette, markers=markers, **style.BARS, legend=False,
                       **panels("panel", shown, 3.6, 1))  # fmt: skip
    log_axes(grid, "x", cells["bytes"], most=3)
    log_axes(grid, "y", [*cells["ns"], 10], 1.5, most=5)
    for panel, axis, mine in by_panel(grid, cells):
        crosses = theirs[theirs["panel"] == panel]
        axis.plot(crosses["bytes"], crosses["ns"], linestyle="", marker="x", color=style.INK, markersize=7, zorder=5)
        ends = pd.concat([mine, crosses]).sort_values("bytes").groupby("name")["ns"].last()
        label_lines(axis, [(float(ns), _briefly(str(name), panel), palette.get(str(name), style.INK))
                           for name, ns in ends.items()])  # fmt: skip
    grid.set_axis_labels("bytes per buffer (log scale)", column.replace("_", " ") + " (log)")
    return finish(grid, f"{column.replace('_', ' ')} of a buffer against its size in bytes.")


def _briefly(name: str, panel: str) -> str:
    """Return a name as it stands at its line, without what the title of the panel says."""
    name = name.replace("byte[] on ", "").replace("byte[]", "") if panel == _ARRAYS else name
    return name.replace(" ByteBuffer", "").replace("generational", "gen.").strip()


def access_cost(trials: pd.DataFrame) -> Figure:
    """Draw time per byte of a pass by memory, a panel per operation; bars: spread over trials, crosses: published."""
    done = finished(trials[trials["mode"] == "access"])
    if done.empty:
        return nothing("no pass has been measured yet")
    done = done.assign(name=done["memory"].astype(str) + " / " + done["served_by"].astype(str))
    order, operations = sorted(done["name"].unique()), present(OPERATIONS, done["operation"])
    cells = means(done, ["operation", "name"], "ns_per_byte").assign(by="here")
    grid = points(cells, "ns", order, {"here": (style.BLUE, "o")}, "ns per byte (log scale); crosses: as published",
                  by="by", y="name", col="operation", col_order=operations)  # fmt: skip
    theirs = published_as_trials().merge(done[["name", "memory"]].drop_duplicates(), on="memory")
    theirs = theirs.assign(ns=theirs["ns_per_pass"] / theirs["bytes"])
    for _operation, axis, crosses in by_panel(grid, theirs):
        axis.plot(crosses["ns"], crosses["name"].map(order.index), linestyle="", marker="x", color=style.INK)
    log_axes(grid, "x", [*cells["low"], *cells["high"], *theirs["ns"]], most=3)  # panels share it
    titles = {operation: operation.replace("_", " ") for operation in operations}
    return finish(grid, "Time per byte of a pass, by memory.", title=titles)


_MEASURES = {
    "resident_over_live": "resident / live",
    "p99_ns": "99th percentile,\nns",
    "speed": "million op / s",
}


def fragmentation_curves(trials: pd.DataFrame, windows: pd.DataFrame, distribution: str = "phases") -> Figure:
    """Draw resident growth over bytes alive, 99th percentile of allocation and throughput over the bytes allocated.

    One line per allocator or heap, of its first block; dashed lines part phases, the dotted one is the percentile of
    the empty interval.
    """
    measured = finished(trials[(trials["distribution"] == distribution) & (trials["block"] == trials["block"].min())])
    if measured.empty:
        return nothing(f"no curve over {distribution} sizes has been measured yet")
    measured = measured.assign(name=_names(measured), side=measured["language"].map({"cpp": _CPP, "java": "Java"}))
    curves = windows[windows["operations"] > 0].merge(measured[["trial_id", "name", "side"]], on="trial_id")
    curves["speed"] = curves["operations"] / (curves["end_ns"] - curves["start_ns"]) * 1e3
    long = curves.melt(["name", "side", "turnover"], list(_MEASURES), "measure", "value").astype({"value": float})
    sides, colours = present((_CPP, "Java"), long["side"]), looks(sorted(long["name"]))["palette"]
    dashes = {name: "" if place < len(style.PALETTE) else (2, 1) for place, name in enumerate(colours)}
    grid = sns.relplot(
        long.dropna(), kind="line", x="turnover", y="value", hue="name", style="name", dashes=dashes, estimator=None,
        palette=colours, row="measure", row_order=list(_MEASURES), col="side", col_order=sides,
        facet_kws={"sharey": "row"}, **size(len(sides), 2.0),
    )  # fmt: skip
    ends_of = curves.groupby(["side", "phase"], sort=False, observed=True)["turnover"].max()
    for (measure, side), axis in grid.axes_dict.items():
        for end in ends_of[side].iloc[:-1]:
            axis.axvline(end, color="#bbbbbb", linewidth=0.8, linestyle="--")
        if measure == "p99_ns":
            empty = measured.loc[measured["side"] == side, "empty_p99_ns"].astype(float).median()
            axis.axhline(float(empty), color=style.INK, linestyle=":")
        log_axes(axis, "y", long.loc[long["measure"] == measure, "value"])
        axis.set(title=side, xlim=(0, float(ends_of[side].iloc[-1])))
        axis.set_ylabel(f"{_MEASURES[measure]} (log)" if side == sides[0] else "")
    text = f"Memory under mixed sizes over the phases {', '.join(map(str, ends_of[sides[0]].index))}."
    return finish(grid, text, 1, "", x="bytes allocated, as a multiple of the largest live set")
