"""Figures of the stream study: latency at the tail against throughput, measured and published."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from allocpool.evidence.style import GREY, INK, colour_of, legend, log_axis, new_figure, nothing
from allocpool.runtimes.collectors import collector_labelled
from allocpool.studies.stream.story import curves, published

_MARKERS = "osD^vP"


def latency_against_throughput(trials: pd.DataFrame, target_ms: float) -> Figure:
    """Measured curves (left) beside the published chart (right), both logarithmic, with the target as a line.

    One line per collector and number of cooperative threads; an open mark at the top is a rate that was not kept up.
    """
    rows = curves(trials)
    rows = rows[(rows["aggregate"] == "boxed") & (rows["processors"] == "cooperative") & rows["new_size_mb"].isna()]
    if rows.empty or rows["tail_ms"].isna().all():
        return nothing("No trial that kept up")
    figure, (left, right) = new_figure(1, 2, 10, 4.6, sharey=True)
    top = max(100.0, float(rows["high"].max()))
    threads = sorted(rows["cooperative_threads"].unique())
    for (_, some, *_), line in rows.groupby(
        ["solution", "cooperative_threads", "keys", "window_ms", "slide_ms"], sort=False
    ):
        ordered = line.sort_values("offered_items_per_second")
        x, colour = ordered["offered_items_per_second"] / 1e6, colour_of(ordered["collector"].iloc[0])
        marker = _MARKERS[threads.index(some) % len(_MARKERS)]
        y = ordered["tail_ms"]
        spread = [(y - ordered["low"]).fillna(0), (ordered["high"] - y).fillna(0)]
        left.errorbar(x, y, yerr=spread, color=colour, marker=marker, markersize=5, linewidth=1.2, capsize=2)
        behind = ordered["kept_up"] < ordered["n"]
        left.scatter(x[behind], [top] * int(behind.sum()), marker=marker, facecolors="none", edgecolors=colour)
    _published(right)
    log_axis(
        left, float(rows["offered_items_per_second"].min()) / 1e6, float(rows["offered_items_per_second"].max()) / 1e6
    )
    for axis, title in ((left, "this machine"), (right, "published, read off the chart (p99.99)")):
        axis.axhline(target_ms, color=INK, linewidth=0.8, linestyle="--")
        axis.set_xlabel("million items per second, input and output")
        axis.set_title(title, fontsize=10)
    log_axis(left, 0.2, top, "y")
    left.set_ylabel("latency of a window's results at the tail, ms")
    shown = rows.drop_duplicates("solution")
    handles = [
        Line2D([], [], color=colour_of(collector), label=name)
        for name, collector in zip(shown["solution"], shown["collector"], strict=True)
    ]
    handles += [
        Line2D([], [], linestyle="", marker=_MARKERS[place % len(_MARKERS)], color=GREY, label=f"threads: {some}")
        for place, some in enumerate(threads)
    ]
    legend(figure, handles, min(len(handles), 5))
    return figure


def _published(axis: Axes) -> None:
    rows = published()
    for number, ((jdk, collector, threads), line) in enumerate(rows.groupby(["jdk", "collector", "jet_threads"])):
        ordered = line.sort_values("million_items_per_second")
        axis.plot(
            ordered["million_items_per_second"], ordered["p9999_ms"], color=collector_labelled(str(collector)).colour,
            marker=_MARKERS[number % len(_MARKERS)], markersize=4, linewidth=1,
            label=f"{collector}, JDK {jdk}, {threads} threads",
        )  # fmt: skip
    log_axis(axis, 1.5, 60)
    axis.legend(fontsize=7, frameon=False)
