"""What a buffer costs by its size, and what mixed sizes do to memory over time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from allocpool import stats
from allocpool.evidence.style import (
    BLACK,
    BLUE,
    INK,
    MARKERS,
    ORANGE,
    PALETTE,
    PURPLE,
    STATED,
    VERMILION,
    finish,
    label_lines,
    log_axis,
    nothing,
    size,
    stated,
)
from allocpool.evidence.trials import finished
from allocpool.packets.cells import present
from allocpool.packets.style import ends, points
from allocpool.studies.allocation.claims import published_as_trials
from allocpool.studies.allocation.specs import OPERATIONS
from allocpool.studies.allocation.story import label

_PUBLISHED = {"malloc": "malloc", "byte_array": "byte[]", "direct_buffer": "direct ByteBuffer"}


def _looks(names: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Colour and marker of each name, fixed by its place in the alphabet."""
    return {
        name: (PALETTE[i % len(PALETTE)], MARKERS[(i + i // len(PALETTE)) % len(MARKERS)])
        for i, name in enumerate(sorted(set(names)))
    }


def _of_several_sizes(rows: pd.DataFrame) -> pd.DataFrame:
    """Without what was measured at one size only, which the table tells; everything where nothing has more."""
    sizes = rows.groupby(["technique", "strategy", "served_by"], observed=True)["bytes"].transform("nunique")
    return rows[sizes > 1] if (sizes > 1).any() else rows


def _panels(rows: pd.DataFrame) -> pd.Series:
    """By what can be read in one panel: C++, byte[] by collector, the other ways of Java."""
    cpp, plain = rows["language"] == "cpp", (rows["technique"] == "byte_array") & (rows["strategy"] == "alloc")
    return cpp.map({True: "C++", False: _OTHER}).mask(~cpp & plain, _ARRAYS)


_ARRAYS, _OTHER = "Java: byte[]", "Java: other ways"


def cost_by_size(trials: pd.DataFrame, column: str = "ns_per_alloc") -> Figure:
    """A column in ns against bytes, both logarithmic, one line per technique and what serves it, which its end names;
    untouched buffers.

    Bars are the spread over trials; crosses are the published figures of 2012.
    """
    done = finished(trials[(trials["mode"] == "allocation") & (trials["touch"] == "none") & trials[column].notna()])
    if done.empty:
        return nothing("no trial has finished yet")
    done = _of_several_sizes(done)
    done = done.assign(panel=_panels(done), name=[_name(row) for row in done.to_dict("records")])
    cells = pd.DataFrame(
        [
            {"panel": panel, "name": name, "bytes": at, "ns": cost.estimate, "low": cost.low, "high": cost.high}
            for (panel, name, at), group in done.groupby(["panel", "name", "bytes"], observed=True)
            for cost in [stats.geometric_interval(group[column].astype(float))]
        ]
    )
    published = published_as_trials()
    published = published[published[column].notna()] if column in published else published.iloc[:0]
    published = published.assign(panel=_panels(published))
    panels = present(("C++", _ARRAYS, _OTHER), cells["panel"])
    looks = {
        name: look for panel in panels for name, look in _looks(cells.loc[cells["panel"] == panel, "name"]).items()
    }
    grid = sns.relplot(
        stated(cells, "ns"), kind="line", x="bytes", y="ns", hue="name", style="name", dashes=False,
        palette={name: colour for name, (colour, _) in looks.items()}, **STATED, err_style="bars",
        markers={name: marker for name, (_, marker) in looks.items()}, col="panel", col_order=panels, col_wrap=1,
        legend=False, **size(1, 3.2),
    )  # fmt: skip
    for panel, axis in grid.axes_dict.items():
        theirs = published[published["panel"] == panel]
        axis.plot(theirs["bytes"], theirs[column], linestyle="", marker="x", color=INK, markersize=7, zorder=5)
        mine = cells[cells["panel"] == panel]
        log_axis(axis, float(cells["bytes"].min()), float(cells["bytes"].max()), most=4)
        log_axis(axis, float(cells["ns"].min()), float(max(cells["ns"].max(), 10)), "y", room=1.5, most=5)
        last = mine.sort_values("bytes").groupby("name").last()
        named = [(float(row["ns"]), str(name), looks[str(name)][0]) for name, row in last.iterrows()]
        old = theirs.sort_values("bytes").groupby("technique", observed=True).last()
        named += [(float(row[column]), f"2012 {_PUBLISHED[str(one)]}", INK) for one, row in old.iterrows()]
        label_lines(axis, named)
    grid.set_axis_labels("bytes per buffer (log scale)", column.replace("_", " ") + " (log)")
    words = ends(cells, "ns", ["name", "bytes"], "ns")
    what = "obtain" if column == "ns_per_alloc" else "give back"
    return finish(grid, f"Time to {what} a buffer against its size in bytes: {words}.")


def _name(row: Mapping[Any, Any]) -> str:
    return f"{label(row['technique'], row['strategy'])} on {row['served_by']}"


def access_cost(trials: pd.DataFrame) -> Figure:
    """Time per byte of a pass by memory, a panel per operation; bars: spread over trials, crosses: as published."""
    done = finished(trials[trials["mode"] == "access"])
    if done.empty:
        return nothing("no pass has been measured yet")
    published = published_as_trials()
    operations = present(OPERATIONS, done["operation"])
    done = done.assign(name=done["memory"].astype(str) + " / " + done["served_by"].astype(str))
    order = sorted(done["name"].unique())
    cells = pd.DataFrame(
        [
            {
                "operation": operation,
                "name": name,
                "by": "here",
                "ns": cost.estimate,
                "low": cost.low,
                "high": cost.high,
            }
            for (operation, name), group in done.groupby(["operation", "name"], observed=True)
            for cost in [stats.geometric_interval(group["ns_per_byte"].astype(float))]
        ]
    )
    grid = points(cells, "ns", order, {"here": (BLUE, "o")}, by="by", y="name", col="operation", col_order=operations)
    memories = done.drop_duplicates("name").set_index("name")["memory"]
    for operation, axis in grid.axes_dict.items():
        theirs = published[published["operation"] == operation]
        crosses = [
            (row["ns_per_pass"] / row["bytes"], place)
            for place, name in enumerate(order)
            for row in theirs[theirs["memory"] == memories[name]].to_dict("records")
        ]
        axis.plot(*zip(*crosses, strict=True) if crosses else ([], []), linestyle="", marker="x", color=INK)
        shown = [*cells.loc[cells["operation"] == operation, "ns"], *(cost for cost, _ in crosses)]
        log_axis(axis, float(min(shown)), float(max(shown)), "x", 1.6, most=4)
        axis.set(title=operation.replace("_", " "))
    grid.figure.supxlabel("ns per byte (log scale); crosses: as published")
    return finish(grid, f"Time per byte of a pass: {ends(cells, 'ns', ['operation', 'name'], 'ns a byte')}.", title="")


def _first_block(trials: pd.DataFrame, distribution: str) -> pd.DataFrame:
    """The finished trials of mixed sizes in the first block, named."""
    first = trials["block"] == trials["block"].min()
    rows = finished(trials[(trials["mode"] == "fragmentation") & (trials["distribution"] == distribution) & first])
    return rows.assign(name=[_name({**row, "strategy": "alloc"}) for row in rows.to_dict("records")])


_MEASURES = {
    "resident_over_live": "resident / live",
    "p99_ns": "99th percentile, ns",
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
    curves = windows[windows["operations"] > 0].merge(measured[["trial_id", "name", "language"]], on="trial_id")
    curves["speed"] = curves["operations"] / (curves["end_ns"] - curves["start_ns"]) * 1e3
    curves["side"] = curves["language"].map({"cpp": "C++", "java": "Java"})
    long = curves.melt(["name", "side", "turnover"], list(_MEASURES), "measure", "value").astype({"value": float})
    sides, looks = present(("C++", "Java"), long["side"]), _looks(long["name"])
    dashes = {name: "" if place < len(PALETTE) else (2, 1) for place, name in enumerate(looks)}
    grid = sns.relplot(
        long.dropna(), kind="line", x="turnover", y="value", hue="name", style="name", dashes=dashes, estimator=None,
        palette={name: colour for name, (colour, _) in looks.items()}, row="measure", row_order=list(_MEASURES),
        col="side", col_order=sides, facet_kws={"sharey": "row", "legend_out": False, "margin_titles": False},
        **size(len(sides), 2.0),
    )  # fmt: skip
    ends_of = curves.groupby(["side", "phase"], sort=False, observed=True)["turnover"].max()
    for (measure, side), axis in grid.axes_dict.items():
        for end in ends_of[side].iloc[:-1]:
            axis.axvline(end, color="#bbbbbb", linewidth=0.8, linestyle="--")
        if measure == "p99_ns":
            here = measured["language"] == ("cpp" if side == "C++" else "java")
            axis.axhline(float(measured.loc[here, "empty_p99_ns"].astype(float).median()), color=INK, linestyle=":")
        shown = long.loc[(long["measure"] == measure) & (long["value"] > 0), "value"]
        log_axis(axis, float(shown.min()), float(shown.max()), "y", most=4)
        axis.set(title=side, xlabel="", ylabel=f"{_MEASURES[measure]} (log)" if side == sides[0] else "")
        axis.set_xlim(0, float(ends_of[side].iloc[-1]))
    grid.figure.supxlabel("bytes allocated, as a multiple of the largest live set")
    last = curves.sort_values("turnover").groupby("name").last().reset_index()
    words = ends(last, "resident_over_live", ["name"], "times what is alive")
    phases = ", ".join(str(phase) for phase in ends_of[sides[0]].index)
    return finish(grid, f"Memory under mixed sizes over the phases {phases}: in the end resident {words}.", 2, "")


_MEMORY = {
    "live": ("live_bytes", BLACK),
    "heap used": ("heap_used_bytes", ORANGE),
    "heap committed": ("heap_committed_bytes", PURPLE),
    "not given back, by the books": ("kept_bytes", VERMILION),
    "resident": ("resident_bytes", BLUE),
}


def heap_curves(trials: pd.DataFrame, windows: pd.DataFrame, distribution: str = "phases") -> Figure:
    """Live, used, committed, kept and resident MiB over time, the rest included: one panel per heap or allocator."""
    measured = _first_block(trials, distribution)
    if measured.empty:
        return nothing(f"no curve over {distribution} sizes has been measured yet")
    columns = {column: name for name, (column, _) in _MEMORY.items()}
    curves = windows.merge(measured[["trial_id", "name"]], on="trial_id")
    long = curves.melt(["name", "elapsed_s"], list(columns), "kind", "bytes").dropna(subset=["bytes"])
    long = long.assign(kind=long["kind"].map(columns), mb=long["bytes"].astype(float) / 2**20)
    order = sorted(long["name"].unique())
    grid = sns.relplot(
        long, kind="line", x="elapsed_s", y="mb", hue="kind", hue_order=present(_MEMORY, long["kind"]),
        palette={name: colour for name, (_, colour) in _MEMORY.items()}, style="kind", estimator=None, col="name",
        col_order=order, col_wrap=2, facet_kws={"sharex": False, "sharey": False, "legend_out": False}, **size(2, 1.7),
    )  # fmt: skip
    grid.set(ylim=(0, None)).set_axis_labels("s", "MiB")
    peak = long[long["kind"] == "resident"].groupby("name")["mb"].max().reset_index()
    return finish(grid, f"Memory over time: resident at most {ends(peak, 'mb', ['name'], 'MiB')}.", 3)
