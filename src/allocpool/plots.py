"""Every figure of the notebooks, in one style: colour-blind safe colours with a second cue, units, spread
and n.

Each function takes tidy data and returns a `matplotlib.figure.Figure` made without pyplot's global state,
so a notebook shows exactly the figures it asked for. The captions that go with them are computed
(`allocpool.cells.spread_caption`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from allocpool import cells as cell_data
from allocpool.cells import STRATEGIES, records

# Okabe and Ito's palette: told apart with any common colour vision; the markers tell them apart in grey as well.
STRATEGY_STYLE = {
    "dummy": ("#8c8c8c", "s"),
    "alloc": ("#d55e00", "o"),
    "mix": ("#e69f00", "^"),
    "pool": ("#0072b2", "D"),
}
GROUP_STYLE = {
    "serial": "#999999",
    "parallel": "#d55e00",
    "cms": "#e69f00",
    "g1": "#0072b2",
    "zgc": "#56b4e9",
    "genzgc": "#009e73",
    "shenandoah": "#cc79a7",
    "genshenandoah": "#8f4a76",
    "epsilon": "#666666",
    "C++": "#000000",
}
_INK = "#222222"
_GRID = "#dddddd"
_ROW_INCHES = 0.46


def _figure(
    rows: int, columns: int, width: float, height: float, **shared: bool
) -> tuple[Figure, list[Axes]]:
    figure = Figure(figsize=(width, height), dpi=110, layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, **shared)
    flat = list(axes.flat)
    for axis in flat:
        axis.set_axisbelow(True)
        axis.grid(True, color=_GRID, linewidth=0.6)
        axis.tick_params(colors=_INK, labelsize=9)
        for side in ("top", "right"):
            axis.spines[side].set_visible(False)
    return figure, flat


def _plain(value: float, _position: int = 0) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:g}"


def _log_axis(axis: Axes, low: float, high: float, which: str = "x", room: float = 1.15) -> None:
    """A logarithmic axis whose ticks are readable figures: 1-2-5 steps over few decades, 1-3 over many."""
    target = axis.xaxis if which == "x" else axis.yaxis
    getattr(axis, f"set_{which}scale")("log")
    getattr(axis, f"set_{which}lim")(low / room, high * room)
    decades = math.log10(high * room * room / low)
    target.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if decades < 2.2 else (1.0, 3.0)))
    target.set_major_formatter(FuncFormatter(_plain))
    target.set_minor_formatter(NullFormatter())


def _nothing(message: str) -> Figure:
    figure, (axis,) = _figure(1, 1, 8, 1.4)
    axis.set_axis_off()
    axis.text(0.5, 0.5, message, ha="center", va="center", fontsize=12, color=_INK, transform=axis.transAxes)
    return figure


def _strategy_handles(present: set[str], hollow: bool = False) -> list[Line2D]:
    return [
        Line2D(
            [],
            [],
            linestyle="",
            marker=STRATEGY_STYLE[name][1],
            color=STRATEGY_STYLE[name][0],
            label=name,
            markerfacecolor="none" if hollow else STRATEGY_STYLE[name][0],
        )
        for name in STRATEGIES
        if name in present
    ]


def _legend(figure: Figure, handles: list[Line2D], columns: int | None = None) -> None:
    figure.legend(
        handles=handles, loc="outside upper center", ncols=columns or len(handles), frameon=False, fontsize=9
    )


def strategy_costs(cells: pd.DataFrame, trials: pd.DataFrame) -> Figure:
    """Cost in ns/packet per solution (rows), case (panels) and strategy (marker): dot, interval and every
    trial.

    ``cells`` comes from `allocpool.cells.cells`; ``trials`` gives the small dots. A cell without a figure
    shows its reason's first word in place of the dot.
    """
    cases = sorted(cells["case"].dropna().unique())
    if cells["ns"].isna().all() or not cases:
        return _nothing("no trial has finished yet")
    order = cell_data.solution_order(cells)
    height = 1.3 + _ROW_INCHES * max(len(order), 3)
    figure, axes = _figure(1, len(cases), 3.3 + 2.9 * len(cases), height, sharey=True)
    drawn = [name for name in STRATEGIES if name in set(cells["strategy"])]
    offsets = dict(zip(drawn, np.linspace(-0.27, 0.27, len(drawn)) if len(drawn) > 1 else [0.0], strict=True))
    good = cell_data.finished(trials)
    for axis, case in zip(axes, cases, strict=True):
        for row in records(cells[cells["case"] == case]):
            y = order.index(row.solution) + offsets[row.strategy]
            colour, marker = STRATEGY_STYLE[row.strategy]
            if math.isnan(row.ns):
                continue
            axis.plot([row.low, row.high], [y, y], color=colour, linewidth=2, solid_capstyle="butt", zorder=2)
            axis.plot(
                row.ns,
                y,
                marker=marker,
                color=colour,
                markersize=6,
                markeredgecolor="white",
                markeredgewidth=0.6,
                zorder=4,
            )
            dots = good[
                (good["solution"] == row.solution)
                & (good["strategy"] == row.strategy)
                & (good["case"] == case)
            ]
            axis.plot(
                dots["ns_per_packet"],
                [y] * len(dots),
                linestyle="",
                marker="|",
                color=colour,
                markersize=7,
                alpha=0.7,
                zorder=3,
            )
        _note_gaps(axis, cells[cells["case"] == case], order, offsets)
        _log_axis(axis, cells["low"].min(), cells["high"].max())
        axis.set_title(f"case {case}", fontsize=11, color=_INK)
        axis.set_xlabel("ns per packet (log scale)", fontsize=9)
        for boundary in range(1, len(order)):
            axis.axhline(boundary - 0.5, color=_GRID, linewidth=0.6)
        axis.grid(False, axis="y")
    axes[0].set_yticks(range(len(order)), order, fontsize=9)
    axes[0].set_ylim(len(order) - 0.5, -0.5)
    _legend(figure, _strategy_handles(set(drawn)))
    return figure


def _note_gaps(axis: Axes, rows: pd.DataFrame, order: list[str], offsets: dict[str, float]) -> None:
    """Say in the row itself, in a word or two, why a figure is missing: once if the whole row is, else per
    strategy."""
    for solution, group in rows[rows["gap"].notna()].groupby("solution"):
        reasons = group["gap"].astype(str).str.split(":").str[0]
        y = order.index(str(solution))
        if len(group) == len(offsets) and reasons.nunique() == 1:
            notes = [(0.5, y, "center", reasons.iloc[0], "#8a1c1c")]
        else:
            notes = [
                (0.015, y + offsets[name], "left", f"{name}: {reason}", STRATEGY_STYLE[name][0])
                for name, reason in zip(group["strategy"], reasons, strict=True)
            ]
        for x, height, side, text, colour in notes:
            axis.text(
                x,
                height,
                text,
                fontsize=7.5,
                color=colour,
                ha=side,
                va="center",
                style="italic",
                transform=axis.get_yaxis_transform(),
                zorder=5,
            )


def published_against_measured(cells: pd.DataFrame) -> Figure:
    """Measured against published ns/packet on log axes, one panel per layout, with the line of the typical
    factor.

    On the dashed line a figure differs from the published one only by the machine's speed; off it, by its
    shape.
    """
    rows = cells[cells["published_ns"].notna() & cells["ns"].notna()]
    if rows.empty:
        return _nothing("no measured configuration has a published figure")
    factor = float(np.exp(np.log(rows["ns"] / rows["published_ns"]).median()))
    groups = [(name, group) for name, group in _by_layout(rows)]
    columns = min(2, len(groups))
    figure, axes = _figure(
        math.ceil(len(groups) / columns), columns, 4.8 * columns, 4.1 * math.ceil(len(groups) / columns)
    )
    low = min(rows["published_ns"].min(), rows["ns"].min())
    high = max(rows["published_ns"].max(), rows["ns"].max())
    ends = np.array([low / 2, high * 2])
    used: set[str] = set()
    for axis, (name, group) in zip(axes, groups, strict=False):
        axis.plot(ends, ends, color="#999999", linewidth=1, zorder=1)
        axis.plot(ends, ends * factor, color=_INK, linewidth=1, linestyle="--", zorder=1)
        for row in records(group):
            key = _collector_key(row.language, row.collector)
            used.add(key)
            axis.plot(
                [row.published_ns] * 2, [row.low, row.high], color=GROUP_STYLE[key], linewidth=1.4, zorder=2
            )
            axis.plot(
                row.published_ns,
                row.ns,
                marker=STRATEGY_STYLE[row.strategy][1],
                color=GROUP_STYLE[key],
                markersize=6,
                markeredgecolor="white",
                markeredgewidth=0.5,
                zorder=3,
            )
        _log_axis(axis, low, high, "x", 1.3)
        _log_axis(axis, low, high, "y", 1.3)
        axis.set_title(name, fontsize=11, color=_INK)
        axis.set_xlabel("published, ns per packet", fontsize=9)
        axis.set_ylabel("measured here, ns per packet", fontsize=9)
    for axis in axes[len(groups) :]:
        axis.set_visible(False)
    shapes = [
        Line2D([], [], linestyle="", marker=STRATEGY_STYLE[name][1], color="#777777", label=name)
        for name in STRATEGIES
        if name in set(rows["strategy"])
    ]
    lines = [
        Line2D([], [], color="#999999", linewidth=1, label="equal"),
        Line2D(
            [], [], color=_INK, linewidth=1, linestyle="--", label=f"{factor:.2g} times the published figure"
        ),
    ]
    handles = [*_collector_handles(used), *shapes, *lines]
    _legend(figure, handles, min(len(handles), 6))
    return figure


def _by_layout(rows: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    for language, prefix in (("java", "Java"), ("cpp", "C++")):
        for layout in cell_data.LAYOUT_ORDER:
            group = rows[(rows["language"] == language) & (rows["layout"] == layout)]
            if len(group):
                yield f"{prefix} {layout}", group


def _collector_key(language: object, collector: object) -> str:
    return str(collector) if language == "java" and str(collector) in GROUP_STYLE else "C++"


COLLECTOR_NAMES = {
    "serial": "Serial",
    "parallel": "Parallel",
    "cms": "CMS",
    "g1": "G1",
    "zgc": "ZGC",
    "genzgc": "gen. ZGC",
    "shenandoah": "Shenandoah",
    "genshenandoah": "gen. Shenandoah",
    "epsilon": "Epsilon",
    "C++": "C++",
}


def _collector_handles(used: set[str]) -> list[Line2D]:
    return [
        Line2D([], [], linestyle="", marker="o", color=colour, label=COLLECTOR_NAMES[key])
        for key, colour in GROUP_STYLE.items()
        if key in used
    ]


def wall_against_cpu(trials: pd.DataFrame) -> Figure:
    """CPU against wall cost per packet, one dot per trial: above the lower line, collector threads work
    beside."""
    good = cell_data.finished(trials)
    good = good[good["cpu_ns_per_packet"] > 0]
    if good.empty:
        return _nothing("no trial has finished yet")
    cases = sorted(good["case"].unique())
    figure, axes = _figure(1, len(cases), 1.0 + 3.6 * len(cases), 4.4, sharey=True)
    both = good[["ns_per_packet", "cpu_ns_per_packet"]]
    low, high = float(both.min().min()), float(both.max().max())
    ends = np.array([low / 2, high * 2])
    used = set()
    for axis, case in zip(axes, cases, strict=True):
        for cores in (1, 2, 4):
            axis.plot(ends, ends * cores, color="#aaaaaa", linewidth=0.8, zorder=1)
            axis.text(
                low / 1.1,
                cores * low / 1.1,
                f" {cores} core{'s' if cores > 1 else ''}",
                fontsize=7.5,
                color="#666666",
                rotation=45,
                rotation_mode="anchor",
                transform_rotates_text=True,
                va="bottom",
            )
        for row in records(good[good["case"] == case]):
            key = _collector_key(row.language, row.collector)
            used.add(key)
            axis.plot(
                row.ns_per_packet,
                row.cpu_ns_per_packet,
                marker=STRATEGY_STYLE[row.strategy][1],
                color=GROUP_STYLE[key],
                markersize=5,
                alpha=0.8,
                markeredgecolor="white",
                markeredgewidth=0.4,
                zorder=3,
            )
        _log_axis(axis, low, high, "x", 1.3)
        _log_axis(axis, low, high, "y", 1.3)
        axis.set_title(f"case {case}", fontsize=11, color=_INK)
        axis.set_xlabel("wall time, ns per packet", fontsize=9)
    axes[0].set_ylabel("CPU time of the process, ns per packet", fontsize=9)
    shapes = [
        Line2D([], [], linestyle="", marker=STRATEGY_STYLE[name][1], color="#777777", label=name)
        for name in STRATEGIES
        if name in set(good["strategy"])
    ]
    handles = [*_collector_handles(used), *shapes]
    _legend(figure, handles, min(len(handles), 6))
    return figure


def warm_up_curves(iterations: pd.DataFrame, trials: pd.DataFrame, case: str) -> Figure:
    """Cost of each iteration over the trial's measured mean, one line per trial; the warm-up is shaded.

    A line that has not settled at 1 when the shading ends says that the warm-up was too short.
    """
    good = cell_data.finished(trials)
    good = good[good["case"] == case]
    joined = iterations.merge(
        good[["trial_id", "solution", "strategy", "ns_per_packet"]], on="trial_id", suffixes=("", "_trial")
    )
    if joined.empty:
        return _nothing(f"no iterations were recorded in case {case}")
    joined["relative"] = joined["ns_per_packet"] / joined["ns_per_packet_trial"]
    joined["time_s"] = (joined["end_ns"] - joined.groupby("trial_id")["start_ns"].transform("min")) / 1e9
    order = [name for name in cell_data.solution_order(good) if name in set(joined["solution"])]
    columns = min(4, len(order))
    rows = math.ceil(len(order) / columns)
    figure, axes = _figure(rows, columns, 2.9 * columns + 0.6, 2.2 * rows + 0.7, sharey=True)
    high = float(min(joined["relative"].max(), 20))
    low = float(max(joined["relative"].min(), 0.05))
    for axis, solution in zip(axes, order, strict=False):
        group = joined[joined["solution"] == solution]
        warm = group.loc[group["phase"] == "warmup", "time_s"]
        if len(warm):
            axis.axvspan(0, float(warm.max()), color="#f2ead8", zorder=0)
        for (_, strategy), lines in group.groupby(["trial_id", "strategy"]):
            colour, marker = STRATEGY_STYLE[strategy]
            ordered = lines.sort_values("iteration")
            axis.plot(
                ordered["time_s"],
                ordered["relative"],
                color=colour,
                linewidth=1,
                marker=marker,
                markersize=2.5,
            )
        axis.axhline(1, color=_INK, linewidth=0.7)
        axis.set_title(solution, fontsize=9, color=_INK)
        axis.set_xlabel("seconds", fontsize=8)
    for axis in axes:
        _log_axis(axis, low, high, "y")
        axis.xaxis.set_major_locator(MaxNLocator(4))
        axis.tick_params(labelsize=8)
    for axis in axes[len(order) :]:
        axis.set_visible(False)
    figure.supylabel("iteration's cost / trial's measured mean", fontsize=9)
    _legend(figure, _strategy_handles(set(joined["strategy"])))
    return figure


def stability_strip(cells: pd.DataFrame, trials: pd.DataFrame) -> Figure:
    """Every trial's deviation from its cell's mean in percent, per solution; flagged cells ringed and
    named."""
    good = cell_data.finished(trials).merge(
        cells[["solution", "strategy", "case", "ns", "unstable"]], on=["solution", "strategy", "case"]
    )
    if good.empty:
        return _nothing("no trial has finished yet")
    good["deviation"] = (good["ns_per_packet"] / good["ns"] - 1) * 100
    order = cell_data.solution_order(good)
    figure, (axis,) = _figure(1, 1, 9.5, 1.3 + 0.36 * max(len(order), 3))
    drawn = [name for name in STRATEGIES if name in set(good["strategy"])]
    offsets = dict(zip(drawn, np.linspace(-0.25, 0.25, len(drawn)) if len(drawn) > 1 else [0.0], strict=True))
    for row in records(good):
        colour, marker = STRATEGY_STYLE[row.strategy]
        axis.plot(
            row.deviation,
            order.index(row.solution) + offsets[row.strategy],
            marker=marker,
            markersize=5,
            linestyle="",
            color=colour,
            alpha=0.8,
            markeredgewidth=1.2 if pd.notna(row.unstable) else 0,
            markeredgecolor="#000000",
        )
    axis.axvline(0, color=_INK, linewidth=0.8)
    axis.set_yticks(range(len(order)), order, fontsize=9)
    axis.set_ylim(len(order) - 0.5, -0.5)
    axis.set_xlabel(
        "trial's deviation from the mean of its configuration, % (black ring: flagged unstable)", fontsize=9
    )
    _legend(figure, _strategy_handles(set(drawn)))
    return figure
