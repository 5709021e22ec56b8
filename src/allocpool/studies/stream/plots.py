"""Figures of the stream study: latency at the tail against throughput, threads and settings of the collector.

A panel holds windows of one length and slide, and one percentile: in no panel does a colour stand for two.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from allocpool.evidence.style import GREY, INK, colour_of, legend, log_axis, new_figure, nothing
from allocpool.runtimes.collectors import collector_labelled
from allocpool.studies.stream.claims import CELL, FIRST, held, only
from allocpool.studies.stream.story import AXES, commonest_rate, curves, published, rate_text

_MARKERS = "osD^vP"
_Line = Literal["-", "--", "-.", ":"]
_LINES: tuple[_Line, ...] = ("-", "--", "-.", ":")
_ANSWERS = {"first": "first result of a window", "last": "last result of a window"}
_SETTINGS = {
    "new_size_mb": "MaxNewSize, MiB",
    "asked_concurrent_gc_threads": "ConcGCThreads",
    "asked_parallel_gc_threads": "ParallelGCThreads",
}
_DEFAULT = "JVM's choice"
_PUBLISHED = {
    "c5.4xlarge": "10,000 ms by 10 ms, 1,000,000 events a second",
    "c5.metal": "1,000 ms by 10 ms, 10,000,000 events a second",
}
"""The two charts of the source, each with its windows."""


def latency_against_throughput(trials: pd.DataFrame, target_ms: float, axis: str = "keys") -> Figure:
    """Measured curves along one of `story.AXES`, both axes logarithmic, with the target as a line; along the published
    one the published chart beside them.

    Above, the latency to the first result of a window, as published, below to the last. A panel for each kind of
    windows and each input (or number of keys) that stays. One line per solution and number of cooperative threads; an
    open mark at the top is a rate that was not kept up.
    """
    rows = curves(trials, axis)
    if rows.empty or rows["first_ms"].isna().all():
        return nothing("No trial that kept up" if len(rows) else "No rate was varied")
    fixed = AXES[axis]
    panels = list(rows.groupby(["window_ms", "slide_ms", "seconds", fixed], sort=True))
    shown = len(panels) + (axis == "keys")
    figure, axes = new_figure(2, shown, max(8.0, 4.2 * shown), 7.4, sharey=True)
    top = max(100.0, float(rows[["first_high", "last_high"]].max().max()))
    threads, runtimes = sorted(rows["cooperative_threads"].unique()), _newest_first(rows)
    for row, (answer, answered) in enumerate(_ANSWERS.items()):
        for place, ((window_ms, slide_ms, seconds, kept), inside) in enumerate(panels):
            panel = axes[row * shown + place]
            for _, line in inside.groupby(["solution", "cooperative_threads"], sort=False):
                _line(panel, line, answer, top, threads, runtimes)
            what = "events a second" if fixed == "events_per_second" else "keys"
            tail = inside["tail"].dropna().min()
            title = f"{window_ms:,} ms by {slide_ms} ms, {kept:,} {what}"
            _dress(panel, target_ms, f"{title}\n{tail}, {seconds:g} s, {answered}")
            _log_items(panel, inside["offered_items_per_second"] / 1e6)
            log_axis(panel, 0.2, top, "y")
        axes[row * shown].set_ylabel("latency at the tail, ms")
    if axis == "keys":
        for row, (machine, windows) in enumerate(_PUBLISHED.items()):
            panel = axes[(row + 1) * shown - 1]
            _published(panel, machine)
            _dress(
                panel, target_ms, f"published, {machine}: {windows}\np99.99, first result of a window, off the chart"
            )
    handles = _solutions(rows, runtimes) + _threads(threads)
    legend(figure, handles, min(len(handles), 5))
    return figure


def _newest_first(rows: pd.DataFrame) -> list[int]:
    return sorted((int(feature) for feature in rows["runtime"].unique()), reverse=True)


def _style(runtime: object, runtimes: Sequence[int]) -> _Line:
    return _LINES[runtimes.index(int(str(runtime))) % len(_LINES)]


def _solutions(rows: pd.DataFrame, runtimes: Sequence[int]) -> list[Line2D]:
    once = rows.drop_duplicates("solution")
    return [
        Line2D([], [], color=colour_of(str(collector)), linestyle=_style(runtime, runtimes), label=str(name))
        for name, collector, runtime in zip(once["solution"], once["collector"], once["runtime"], strict=True)
    ]


def _threads(threads: Sequence[int]) -> list[Line2D]:
    return [
        Line2D([], [], linestyle="", marker=_MARKERS[place % len(_MARKERS)], color=GREY, label=f"threads: {some}")
        for place, some in enumerate(threads)
    ]


def _line(
    panel: Axes, line: pd.DataFrame, answer: str, top: float, threads: Sequence[int], runtimes: Sequence[int]
) -> None:
    ordered = line.sort_values("offered_items_per_second")
    first = ordered.iloc[0]
    colour, marker = (
        colour_of(first["collector"]),
        _MARKERS[threads.index(first["cooperative_threads"]) % len(_MARKERS)],
    )
    x, y = ordered["offered_items_per_second"] / 1e6, ordered[f"{answer}_ms"]
    spread = [(y - ordered[f"{answer}_low"]).fillna(0), (ordered[f"{answer}_high"] - y).fillna(0)]
    style = _style(first["runtime"], runtimes)
    panel.errorbar(
        x, y, yerr=spread, color=colour, marker=marker, markersize=5, linewidth=1.2, linestyle=style, capsize=2
    )
    behind = ordered["kept_up"] < ordered["n"]
    panel.scatter(x[behind], [top] * int(behind.sum()), marker=marker, facecolors="none", edgecolors=colour)


def _dress(panel: Axes, target_ms: float, title: str) -> None:
    panel.axhline(target_ms, color=INK, linewidth=0.8, linestyle="--")
    panel.set_xlabel("million items per second, input and output")
    panel.set_title(title, fontsize=9)


def _log_items(panel: Axes, millions: pd.Series) -> None:
    log_axis(panel, float(millions.min()), float(millions.max()))


def _published(panel: Axes, machine: str) -> None:
    rows = published()
    rows = rows[rows["machine"] == machine]
    for number, ((jdk, collector, threads), line) in enumerate(rows.groupby(["jdk", "collector", "jet_threads"])):
        ordered = line.sort_values("million_items_per_second")
        panel.plot(
            ordered["million_items_per_second"], ordered["p9999_ms"], color=collector_labelled(str(collector)).colour,
            marker=_MARKERS[number % len(_MARKERS)], markersize=4, linewidth=1,
            label=f"{collector}, JDK {jdk}, {threads} threads",
        )  # fmt: skip
    log_axis(panel, float(rows["million_items_per_second"].min()), float(rows["million_items_per_second"].max()))
    panel.legend(fontsize=7, frameon=False)


def collector_settings(trials: pd.DataFrame, target_ms: float) -> Figure:
    """Latency at the tail to the first result against ``MaxNewSize``, ``ConcGCThreads`` and ``ParallelGCThreads``, the
    JVM's own choice first: medians, bars from the smallest to the largest trial.

    Only trials that differ in nothing else share a line; young collections a second stand beside the sizes of the young
    generation.
    """
    found = {axis: _asked(trials, axis) for axis in _SETTINGS}
    every = pd.concat(list(found.values()))
    if every.empty or every[FIRST].isna().all():
        return nothing("No setting of the collector was varied")
    figure, axes = new_figure(1, len(found), 12, 4.4, sharey=True)
    threads, runtimes = sorted(every["cooperative_threads"].unique()), _newest_first(every)
    for panel, (axis, rows) in zip(axes, found.items(), strict=True):
        asked = sorted(rows[axis].dropna().unique())
        panel.set_xticks(range(len(asked) + 1), [_DEFAULT, *(f"{value}" for value in asked)])
        panel.set_xlabel(_SETTINGS[axis])
        panel.axhline(target_ms, color=INK, linewidth=0.8, linestyle="--")
        panel.set_title("" if len(rows) else "not varied", fontsize=9)
        for _, line in rows.groupby([name for name in CELL if name != axis], dropna=False, sort=False):
            places = line[axis].map({value: place for place, value in enumerate(asked, 1)}).fillna(0).astype(int)
            tails = line.assign(**{FIRST: line[FIRST].astype(float)}).groupby(places)
            told = tails[FIRST].agg(["median", "min", "max"]).assign(young=tails["young_per_s"].median())
            first = line.iloc[0]
            panel.errorbar(
                told.index, told["median"],
                yerr=[told["median"] - told["min"], told["max"] - told["median"]],
                color=colour_of(first["collector"]), linestyle=_style(first["runtime"], runtimes),
                marker=_MARKERS[threads.index(first["cooperative_threads"]) % len(_MARKERS)], markersize=5,
                linewidth=1.2, capsize=2,
            )  # fmt: skip
            if axis == "new_size_mb":
                for place, point in told[told["young"].notna() & told["median"].notna()].iterrows():
                    panel.annotate(
                        f"{point['young']:.0f}/s", (float(str(place)), point["median"]), xytext=(4, 4),
                        textcoords="offset points", fontsize=7,
                    )  # fmt: skip
    log_axis(axes[0], float(every[FIRST].min()), max(target_ms, float(every[FIRST].max())), "y")
    axes[0].set_ylabel("latency to the first result at the tail, ms")
    handles = _solutions(every, runtimes) + _threads(threads)
    legend(figure, handles, min(len(handles), 5))
    return figure


def _asked(trials: pd.DataFrame, axis: str) -> pd.DataFrame:
    """The trials that are plain but for this setting, where it was varied and all else was not."""
    rows = only(trials, axis)
    others = [name for name in CELL if name != axis]
    if rows.empty:
        return rows
    settings = rows.assign(asked=rows[axis].astype("Float64").fillna(0)).groupby(others, dropna=False)["asked"]
    return rows[settings.transform("nunique") > 1]


def threads_of_the_engine(
    trials: pd.DataFrame, searches: pd.DataFrame, target_ms: float, answer: str = FIRST
) -> Figure:
    """Cooperative threads, from one to all processors: latency at the tail at the commonest rate (left), the highest
    throughput within the target (right); medians, bars from the smallest to the largest."""
    rows, highest = commonest_rate(trials), held(trials, searches, target_ms)
    if rows.empty or rows[answer].isna().all():
        return nothing("No trial that kept up")
    figure, axes = new_figure(1, 2, 10, 4.2)
    runtimes = _newest_first(pd.concat([rows, highest]))
    for panel, table, value in ((axes[0], rows, answer), (axes[1], highest, "held_items_per_second")):
        scaled = table.assign(**{value: table[value].astype(float) / (1 if value == answer else 1e6)})
        for (_, tail), line in scaled.groupby(["solution", "tail"], sort=False):
            told = line.groupby("cooperative_threads")[value].agg(["median", "min", "max"])
            first = line.iloc[0]
            panel.errorbar(
                told.index, told["median"], yerr=[told["median"] - told["min"], told["max"] - told["median"]],
                color=colour_of(first["collector"]), linestyle=_style(first["runtime"], runtimes), marker="o",
                markersize=5, linewidth=1.2, capsize=2, label=f"{first['solution']}, {tail}",
            )  # fmt: skip
        panel.set_xlabel("cooperative threads of the engine")
        panel.set_xticks(sorted(table["cooperative_threads"].unique()))
        if len(scaled):
            panel.legend(fontsize=7, frameon=False)
    axes[0].axhline(target_ms, color=INK, linewidth=0.8, linestyle="--")
    axes[0].set_ylabel("latency to the first result at the tail, ms")
    axes[0].set_title(rate_text(rows), fontsize=8)
    axes[1].set_ylabel(f"million items a second within {target_ms:g} ms")
    return figure
