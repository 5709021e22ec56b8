"""What a buffer costs by its size, and what mixed sizes do to memory over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from allocpool import stats
from allocpool.evidence.style import (
    BLACK,
    BLUE,
    GREEN,
    INK,
    ORANGE,
    PLUM,
    PURPLE,
    SILVER,
    SKY,
    VERMILION,
    decades_only,
    legend,
    log_axis,
    new_figure,
    nothing,
)
from allocpool.evidence.trials import finished
from allocpool.studies.allocation.claims import published_as_trials
from allocpool.studies.allocation.specs import OPERATIONS
from allocpool.studies.allocation.story import label

_COLOURS = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK, PLUM, SILVER)
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")
_PUBLISHED = {"malloc": "malloc", "byte_array": "byte[]", "direct_buffer": "direct ByteBuffer"}


def _styles(names: list[str]) -> dict[str, tuple[str, str]]:
    return {
        name: (_COLOURS[i % len(_COLOURS)], _MARKERS[(i + i // len(_COLOURS)) % len(_MARKERS)])
        for i, name in enumerate(names)
    }


def _of_several_sizes(rows: pd.DataFrame) -> pd.DataFrame:
    """Without what was measured at one size only, which the table tells; everything where nothing has more."""
    sizes = rows.groupby(["technique", "strategy", "served_by"], observed=True)["bytes"].transform("nunique")
    return rows[sizes > 1] if (sizes > 1).any() else rows


def _panels(rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Rows by what can be read in one panel: C++, byte[] by collector, the other ways of Java."""
    cpp, plain = rows["language"] == "cpp", (rows["technique"] == "byte_array") & (rows["strategy"] == "alloc")
    panels = {"C++": rows[cpp], "Java: byte[]": rows[~cpp & plain], "Java: other ways": rows[~cpp & ~plain]}
    return {title: part for title, part in panels.items() if len(part)}


def cost_by_size(trials: pd.DataFrame, column: str = "ns_per_alloc") -> Figure:
    """A column in ns against bytes, both logarithmic, one line per technique and what serves it; untouched buffers.

    Bars are the spread over trials; crosses are the published figures of 2012.
    """
    done = finished(trials[(trials["mode"] == "allocation") & (trials["touch"] == "none") & trials[column].notna()])
    if done.empty:
        return nothing("no trial has finished yet")
    panels = _panels(_of_several_sizes(done))
    published = published_as_trials()
    published = published[published[column].notna()] if column in published else published.iloc[:0]
    theirs = _panels(published)
    figure, axes = new_figure(1, len(panels), 4.2 * len(panels) + 1, 6.2, sharey=True)
    for axis, (title, rows) in zip(axes, panels.items(), strict=True):
        styles = _styles(sorted({_name(row) for row in rows.to_dict("records")}))
        for key, group in rows.groupby(["technique", "strategy", "served_by"], observed=True):
            name = _name(dict(zip(("technique", "strategy", "served_by"), key, strict=True)))
            _line(axis, group, column, styles[name])
        _published(axis, theirs.get(title, published.iloc[:0]), column)
        handles = [Line2D([], [], color=c, marker=m, linewidth=1.2, label=name) for name, (c, m) in styles.items()]
        axis.legend(handles=handles, loc="upper center", bbox_to_anchor=(0.5, -0.13), frameon=False, fontsize=8)
        axis.set_title(title, fontsize=11, color=INK)
        axis.set_xlabel("bytes per buffer (log scale)", fontsize=9)
        log_axis(axis, float(done["bytes"].min()), float(done["bytes"].max()))
        decades_only(axis)
    for axis in axes:
        log_axis(axis, float(done[column].min()), float(max(done[column].max(), 10)), "y", room=1.5)
    axes[0].set_ylabel(column.replace("_", " ") + " (log scale)", fontsize=9)
    return figure


def _published(axis: Axes, theirs: pd.DataFrame, column: str) -> None:
    axis.plot(theirs["bytes"], theirs[column], linestyle="", marker="x", color=INK, markersize=7, zorder=5)
    for row in theirs[theirs["bytes"] == theirs["bytes"].max()].to_dict("records"):
        axis.annotate(
            f"2012 {_PUBLISHED[row['technique']]}", (row["bytes"], row[column]), xytext=(-6, 5),
            textcoords="offset points", fontsize=7.5, ha="right", color=INK,
        )  # fmt: skip


def _name(row: Mapping[Any, Any]) -> str:
    return f"{label(row['technique'], row['strategy'])} on {row['served_by']}"


def _line(axis: Axes, group: pd.DataFrame, column: str, style: tuple[str, str]) -> None:
    points = [
        (int(str(size)), stats.geometric_interval(part[column].astype(float))) for size, part in group.groupby("bytes")
    ]
    colour, marker = style
    axis.plot(
        [size for size, _ in points],
        [cost.estimate for _, cost in points],
        color=colour,
        marker=marker,
        markersize=5,
        linewidth=1.2,
    )
    for size, cost in points:
        axis.plot([size, size], [cost.low, cost.high], color=colour, linewidth=2.5, alpha=0.5)


def access_cost(trials: pd.DataFrame) -> Figure:
    """Time per byte of a pass by memory, a panel per operation; bars: spread over trials, crosses: as published."""
    done = finished(trials[trials["mode"] == "access"])
    if done.empty:
        return nothing("no pass has been measured yet")
    published = published_as_trials()
    operations = [operation for operation in OPERATIONS if operation in set(done["operation"])]
    keys = sorted({(str(row["memory"]), str(row["served_by"])) for row in done.to_dict("records")})
    names = [f"{memory} on {served_by}" for memory, served_by in keys]
    figure, axes = new_figure(
        1, len(operations), 3.1 * len(operations) + 1.6, 1.4 + 0.32 * max(3, len(keys)), sharey=True
    )
    for axis, operation in zip(axes, operations, strict=True):
        shown: list[float] = []
        for place, (memory, served_by) in enumerate(keys):
            rows = done[
                (done["operation"] == operation) & (done["memory"] == memory) & (done["served_by"] == served_by)
            ]
            theirs = published[(published["memory"] == memory) & (published["operation"] == operation)]
            crosses = (theirs["ns_per_pass"] / theirs["bytes"]).astype(float).to_list()
            axis.plot(crosses, [place] * len(crosses), linestyle="", marker="x", color=INK, markersize=7)
            shown += crosses
            if rows.empty:
                continue
            cost = stats.geometric_interval(rows["ns_per_byte"].astype(float))
            axis.plot([cost.low, cost.high], [place, place], color=BLUE, linewidth=2.5, alpha=0.5)
            axis.plot([cost.estimate], [place], linestyle="", marker="o", color=BLUE, markersize=5)
            shown.append(cost.estimate)
        log_axis(axis, min(shown), max(shown), "x", 1.6)
        axis.set_title(operation.replace("_", " "), fontsize=11, color=INK)
        axis.set_xlabel("ns per byte (log)", fontsize=9)
    axes[0].set_yticks(range(len(names)), names, fontsize=9)
    axes[0].set_ylim(len(names) - 0.5, -0.5)
    return figure


def _first_block(trials: pd.DataFrame, distribution: str) -> pd.DataFrame:
    """The finished trials of mixed sizes in the first block."""
    first = trials["block"] == trials["block"].min()
    return finished(trials[(trials["mode"] == "fragmentation") & (trials["distribution"] == distribution) & first])


def fragmentation_curves(trials: pd.DataFrame, windows: pd.DataFrame, distribution: str = "phases") -> Figure:
    """Resident growth over bytes alive, 99th percentile of allocation, throughput: curves over the bytes allocated.

    One line per allocator or heap, of its first block; dashed lines part the phases, the dotted one is p99 of the empty
    interval.
    """
    measured = _first_block(trials, distribution)
    if measured.empty:
        return nothing(f"no curve over {distribution} sizes has been measured yet")
    languages = [language for language in ("cpp", "java") if language in set(measured["language"])]
    figure, axes = new_figure(3, len(languages), 4.9 * len(languages) + 1, 8.6)
    for column, language in enumerate(languages):
        mine = axes[column :: len(languages)]
        handles = _curves(mine, measured[measured["language"] == language], windows)
        mine[0].set_title("C++" if language == "cpp" else "Java", fontsize=11, color=INK, pad=16)
        mine[-1].set_xlabel("bytes allocated, as a multiple of the largest live set", fontsize=9)
        mine[-1].legend(handles=handles, loc="upper center", bbox_to_anchor=(0.5, -0.25), frameon=False, fontsize=8)
        empty_ns = float(measured.loc[measured["language"] == language, "empty_p99_ns"].astype(float).median())
        mine[1].axhline(empty_ns, color=INK, linewidth=0.9, linestyle=":")
    texts = ("resident / live", "p99 of obtaining, ns", "million operations / s")
    for row, text in enumerate(texts):
        same = axes[row * len(languages) : (row + 1) * len(languages)]
        limits = [axis.get_ylim() for axis in same]
        for axis in same:
            axis.set_ylim(min(low for low, _ in limits), max(high for _, high in limits))
        same[0].set_ylabel(f"{text} (log)", fontsize=9)
    return figure


def _curves(axes: Sequence[Axes], measured: pd.DataFrame, windows: pd.DataFrame) -> list[Line2D]:
    """Draw one column of panels; returns the handles of its lines."""
    styles = _styles(sorted(_name({**row, "strategy": "alloc"}) for row in measured.to_dict("records")))
    for row in measured.to_dict("records"):
        curve = windows[windows["trial_id"] == row["trial_id"]].sort_values("window")
        busy = curve[curve["operations"] > 0]
        colour, _ = styles[_name({**row, "strategy": "alloc"})]
        speed = busy["operations"] / (busy["end_ns"] - busy["start_ns"]) * 1e3
        for axis, values in zip(axes, (busy["resident_over_live"], busy["p99_ns"], speed), strict=True):
            axis.plot(busy["turnover"], values.astype(float), color=colour, linewidth=1.3)
    ends = busy.groupby("phase", sort=False)["turnover"].max()
    for axis in axes:
        for end in ends.iloc[:-1]:
            axis.axvline(end, color="#bbbbbb", linewidth=0.8, linestyle="--")
        axis.set_yscale("log")
        axis.set_xlim(0, float(ends.iloc[-1]))
    begin = 0.0
    for number, (phase, end) in enumerate(ends.items()):
        axes[0].text(
            (begin + end) / 2, 1.01 if number % 2 == 0 else 1.055, str(phase), ha="center", va="bottom", fontsize=7,
            color=INK, transform=axes[0].get_xaxis_transform(),
        )  # fmt: skip
        begin = float(end)
    return [Line2D([], [], color=colour, label=name) for name, (colour, _) in styles.items()]


def heap_curves(trials: pd.DataFrame, windows: pd.DataFrame, distribution: str = "phases") -> Figure:
    """Live, used, committed, kept and resident MiB over time, the rest included: one panel per heap or allocator."""
    measured = _first_block(trials, distribution)
    if measured.empty:
        return nothing(f"no curve over {distribution} sizes has been measured yet")
    rows = (len(measured) + 1) // 2
    figure, axes = new_figure(rows, 2, 9.5, 2.4 * rows + 0.6)
    lines = {
        "live": ("live_bytes", BLACK),
        "heap used": ("heap_used_bytes", ORANGE),
        "heap committed": ("heap_committed_bytes", PURPLE),
        "not given back, by the books": ("kept_bytes", VERMILION),
        "resident": ("resident_bytes", BLUE),
    }
    for axis, row in zip(axes, measured.sort_values(["technique", "served_by"]).to_dict("records"), strict=False):
        curve = windows[windows["trial_id"] == row["trial_id"]].sort_values("window")
        for column, colour in lines.values():
            if curve[column].notna().any():
                axis.plot(curve["elapsed_s"], curve[column].astype(float) / 2**20, color=colour, linewidth=1.3)
        axis.set_title(_name({**row, "strategy": "alloc"}), fontsize=9, color=INK)
        axis.set_xlabel("s", fontsize=8)
        axis.set_ylabel("MiB", fontsize=8)
        axis.set_ylim(bottom=0)
    for axis in axes[len(measured) :]:
        axis.set_axis_off()
    legend(figure, [Line2D([], [], color=colour, label=name) for name, (_, colour) in lines.items()])
    return figure
