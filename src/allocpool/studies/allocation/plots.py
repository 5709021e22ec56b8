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

_FACTS = ["panel", "name", "technique", "strategy", "served_by"]
_PUBLISHED = {"malloc": "malloc", "byte_array": "byte[]", "direct_buffer": "direct ByteBuffer"}
_CPP, _ARRAYS, _OTHER = "C++", "Java: byte[]", "Java: other ways"


def _of_several_sizes(rows: pd.DataFrame) -> pd.DataFrame:
    """Without what was measured at one size only, which the table has; everything where nothing has more."""
    sizes = rows.groupby(["technique", "strategy", "served_by"], observed=True)["bytes"].transform("nunique")
    return rows[sizes > 1] if (sizes > 1).any() else rows


def _panels(rows: pd.DataFrame) -> pd.Series:
    """By what can be read in one panel: C++, byte[] by collector, the other ways of Java."""
    cpp, plain = rows["language"] == "cpp", (rows["technique"] == "byte_array") & (rows["strategy"] == "alloc")
    return cpp.map({True: _CPP, False: _OTHER}).mask(~cpp & plain, _ARRAYS)


def _names(rows: pd.DataFrame) -> list[str]:
    """Of each row, the technique and what serves it."""
    facts = zip(rows["technique"], rows["strategy"], rows["served_by"], strict=True)
    return [f"{label(technique, strategy)} on {served_by}" for technique, strategy, served_by in facts]


def _briefly(name: str, panel: str) -> str:
    """A name at its line, where half of the figure is names: without what the panel's title says."""
    of_panel = ("byte[] on ", "byte[]") if panel == _ARRAYS else (" ByteBuffer",)
    for words in of_panel:
        name = name.replace(words, "")
    return name.replace("generational", "gen.").strip()


def cost_by_size(trials: pd.DataFrame, column: str = "ns_per_alloc") -> Figure:
    """A column in ns against bytes, both logarithmic, one line per technique and what serves it, which its end names;
    untouched buffers.

    Bars are the spread over trials; crosses are the published figures of 2012.
    """
    done = finished(trials[(trials["mode"] == "allocation") & (trials["touch"] == "none") & trials[column].notna()])
    if done.empty:
        return nothing("no trial has finished yet")
    done = _of_several_sizes(done)
    cells = means(done.assign(panel=_panels(done), name=_names(done)), [*_FACTS, "bytes"], column)
    published = published_as_trials()
    published = published.assign(panel=_panels(published), ns=published.get(column)).dropna(subset=["ns"])
    shown = present((_CPP, _ARRAYS, _OTHER), cells["panel"])
    each = [looks(sorted(cells.loc[cells["panel"] == panel, "name"])) for panel in shown]
    # Colours are the two of all figures; what serves the memory is shown by markers and by the name at each line.
    sides = cells.drop_duplicates("name").set_index("name")["strategy"]
    palette = {str(name): COLOURS[str(side)] for name, side in sides.items()}
    markers = {name: look for one in each for name, look in one["markers"].items()}
    grid = sns.relplot(stated(cells, "ns"), kind="line", x="bytes", y="ns", hue="name", style="name", dashes=False,
                       palette=palette, markers=markers, **style.BARS, legend=False,
                       **panels("panel", shown, 3.6, 1))  # fmt: skip
    log_axes(grid, "x", cells["bytes"], most=3)
    log_axes(grid, "y", [*cells["ns"], 10], 1.5, most=5)
    for panel, axis, mine in by_panel(grid, cells):
        theirs = published[published["panel"] == panel].sort_values("bytes")
        axis.plot(theirs["bytes"], theirs["ns"], linestyle="", marker="x", color=style.INK, markersize=7, zorder=5)
        last = mine.sort_values("bytes").groupby("name")["ns"].last()
        old = theirs.groupby("technique", observed=True)["ns"].last()
        named = [(float(ns), _briefly(str(name), panel), palette[str(name)]) for name, ns in last.items()]
        theirs_named = [
            (float(ns), _briefly(f"2012 {_PUBLISHED[str(one)]}", panel), style.INK) for one, ns in old.items()
        ]
        label_lines(axis, named + theirs_named)
    grid.set_axis_labels("bytes per buffer (log scale)", column.replace("_", " ") + " (log)")
    what = "obtain" if column == "ns_per_alloc" else "give back"
    return finish(grid, f"Time to {what} a buffer against its size in bytes.")


def access_cost(trials: pd.DataFrame) -> Figure:
    """Time per byte of a pass by memory, a panel per operation; bars: spread over trials, crosses: as published."""
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


def _first_block(trials: pd.DataFrame, distribution: str) -> pd.DataFrame:
    """The finished trials of mixed sizes in the first block, named."""
    first = trials["block"] == trials["block"].min()
    rows = finished(trials[(trials["mode"] == "fragmentation") & (trials["distribution"] == distribution) & first])
    return rows.assign(name=_names(rows.assign(strategy="alloc")))


_MEASURES = {
    "resident_over_live": "resident / live",
    "p99_ns": "99th percentile,\nns",
    "speed": "million op / s",
}


def fragmentation_curves(trials: pd.DataFrame, windows: pd.DataFrame, distribution: str = "phases") -> Figure:
    """Resident growth over bytes alive, 99th percentile of allocation, throughput: curves over the bytes allocated.

    One line per allocator or heap, of its first block; dashed lines part phases, the dotted one is the percentile of
    the empty interval.
    """
    measured = _first_block(trials, distribution)
    if measured.empty:
        return nothing(f"no curve over {distribution} sizes has been measured yet")
    measured = measured.assign(side=measured["language"].map({"cpp": _CPP, "java": "Java"}))
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


_MEMORY = {
    "live_bytes": ("live", style.INK),
    "heap_used_bytes": ("heap used", style.ORANGE),
    "heap_committed_bytes": ("heap committed", style.PURPLE),
    "kept_bytes": ("not given back, by the counters", style.VERMILION),
    "resident_bytes": ("resident", style.BLUE),
}


def heap_curves(trials: pd.DataFrame, windows: pd.DataFrame, distribution: str = "phases") -> Figure:
    """Live, used, committed, kept and resident MiB over time, the rest included: one panel per heap or allocator."""
    measured = _first_block(trials, distribution)
    if measured.empty:
        return nothing(f"no curve over {distribution} sizes has been measured yet")
    curves = windows.merge(measured[["trial_id", "name"]], on="trial_id")
    long = curves.melt(["name", "elapsed_s"], list(_MEMORY), "kind", "bytes").dropna(subset=["bytes"])
    long["kind"] = long["kind"].map({column: name for column, (name, _) in _MEMORY.items()})
    long["mb"] = long["bytes"].astype(float) / 2**20
    colours = dict(_MEMORY.values())
    grid = sns.relplot(
        long, kind="line", x="elapsed_s", y="mb", hue="kind", hue_order=present(colours, long["kind"]),
        palette=colours, style="kind", estimator=None, facet_kws={"sharex": False, "sharey": False},
        **panels("name", sorted(long["name"].unique()), 1.7),
    )  # fmt: skip
    grid.set(ylim=(0, None)).set_axis_labels("s", "MiB")
    return finish(grid, "Memory over time, by heap or allocator.", 3)
