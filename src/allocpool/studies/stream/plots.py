"""Figures of the stream study: latency against throughput, threads and settings of the collector.

A panel holds windows of one length and slide, and one percentile, which it names: in no panel does a colour stand for
two.
"""

from __future__ import annotations

import itertools
from typing import Any

import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from allocpool.evidence import style
from allocpool.evidence.style import GREY, by_panel, colour_of, finish, log_axes, mark, nothing, panels, rule, stated
from allocpool.evidence.trials import records
from allocpool.runtimes.collectors import collector_labelled
from allocpool.studies.stream.claims import CELL, FIRST, held, only
from allocpool.studies.stream.story import AXES, commonest_rate, curves, far_tail, published, rate_text

_MARKERS = "osD^vP"
_DASHES: tuple[Any, ...] = ("", (4, 2), (4, 1, 1, 1), (1, 1))
_LINES: tuple[Any, ...] = ("-", "--", "-.", ":")
_ANSWERS = {"first": "first result", "last": "last result"}
_SETTINGS = {
    "new_size_mb": "MaxNewSize, MiB",
    "asked_concurrent_gc_threads": "ConcGCThreads",
    "asked_parallel_gc_threads": "ParallelGCThreads",
}
_DEFAULT = "JVM's choice"
_PUBLISHED = {
    "c5.4xlarge": "10,000 ms by 10 ms\n1,000,000 events a second",
    "c5.metal": "1,000 ms by 10 ms\n10,000,000 events a second",
}
"""The two charts of the source, each with its windows."""


class _Looks:
    """How lines differ: colour is the collector, stroke the runtime, marker the number of threads.

    ``drawn`` makes seaborn do so with rows that are `_styled`; ``lines`` and ``threads`` are the legend.
    """

    def __init__(self, rows: pd.DataFrame) -> None:
        runtimes, threads = (sorted(rows[name].astype(int).unique()) for name in ("runtime", "cooperative_threads"))
        strokes = {feature: place % len(_LINES) for place, feature in enumerate(reversed(runtimes))}
        self.markers = dict(zip(threads, itertools.cycle(_MARKERS), strict=False))
        configurations = rows.drop_duplicates("configuration").set_index("configuration")
        self.colours = configurations["collector"].map(colour_of).to_dict()
        looks = {f"{runtime} {some}": (runtime, some) for runtime in runtimes for some in threads}
        self.drawn: dict[str, Any] = {
            "hue": "configuration", "palette": self.colours, "style": "look", "legend": False, "markersize": 6,
            **style.BARS,
            "markers": {look: self.markers[some] for look, (_, some) in looks.items()},
            "dashes": {look: _DASHES[strokes[runtime]] for look, (runtime, _) in looks.items()},
        }  # fmt: skip
        self.lines = [mark(row.Index, colour_of(row.collector), line=_LINES[strokes[row.runtime]])
                      for row in records(configurations)]  # fmt: skip
        self.threads = [mark(f"threads: {some}", GREY, shape) for some, shape in self.markers.items()]


def _styled(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.assign(look=rows["runtime"].astype(str) + " " + rows["cooperative_threads"].astype(str))


def latency_against_throughput(trials: pd.DataFrame, target_ms: float, axis: str = "keys") -> Figure:
    """Measured curves along one of `story.AXES`, both axes logarithmic, with the target as a line; along the published
    one the published charts below them.

    Left the latency to the first result of a window, as published, right to the last. A row of panels for each kind of
    windows and each input (or number of keys) that stays. One line per configuration and number of cooperative threads;
    an open mark at the top is a rate that was not kept up.
    """
    rows = curves(trials, axis)
    if rows.empty or rows["first_ms"].isna().all():
        return nothing("no trial that kept up" if len(rows) else "no rate was varied")
    fixed = AXES[axis]
    what = "events a second" if fixed == "events_per_second" else "keys"
    looks, top = _Looks(rows), max(100.0, float(rows[["first_high", "last_high"]].max().max()))
    parts, shown = [], []
    for (window_ms, slide_ms, seconds, kept), inside in rows.groupby(["window_ms", "slide_ms", "seconds", fixed]):
        for answer, answered in _ANSWERS.items():
            title = f"{window_ms:,} ms by {slide_ms} ms\n{kept:,} {what}\n"
            title += f"{inside['tail'].dropna().min()}, {answered}, {seconds:g} s"
            shown.append(title)
            found = {f"{answer}_{name}": name for name in ("ms", "low", "high")}
            parts.append(
                inside.drop(columns=["low", "high"], errors="ignore").rename(columns=found).assign(panel=title)
            )
    long = _styled(pd.concat(parts, ignore_index=True)).assign(millions=lambda of: of["offered_items_per_second"] / 1e6)
    charts = [f"published, {machine}\n{windows}\np99.99, first result" for machine, windows in _PUBLISHED.items()]
    beside = dict(zip(charts if axis == "keys" else (), _PUBLISHED, strict=False))
    grid = sns.relplot(
        stated(long, "ms"), kind="line", x="millions", y="ms", **looks.drawn, facet_kws={"sharex": False},
        **panels("panel", [*shown, *beside], 2.6 + 0.5 * bool(beside)),
    )  # fmt: skip
    rule(grid, y=target_ms)
    log_axes(grid, "y", [0.2, top], most=5)
    for panel, place, mine in by_panel(grid, long):
        for row in records(mine[mine["kept_up"] < mine["n"]]):
            place.scatter([row.millions], [top], marker=looks.markers[row.cooperative_threads], facecolors="none",
                          edgecolors=looks.colours[row.configuration])  # fmt: skip
        log_axes(place, "x", mine["millions"])
        if panel in beside:
            _published(place, beside[panel])
    text = f"Latency against throughput, {rows['tail'].dropna().min()}."
    return finish(grid, text, 3, handles=[*looks.lines, *looks.threads], x="million items a second",
                  y="latency, ms (log)")  # fmt: skip


def _published(panel: Axes, machine: str) -> None:
    rows = published()
    rows = rows[rows["machine"] == machine]
    for number, ((jdk, collector, threads), line) in enumerate(rows.groupby(["jdk", "collector", "jet_threads"])):
        ordered = line.sort_values("million_items_per_second")
        panel.plot(
            ordered["million_items_per_second"], ordered["p9999_ms"], color=collector_labelled(str(collector)).colour,
            marker=_MARKERS[number % len(_MARKERS)], markersize=4, linewidth=1,
            label=f"{collector}, JDK {jdk}, {threads}",
        )  # fmt: skip
    log_axes(panel, "x", rows["million_items_per_second"])
    panel.legend(loc="upper left", bbox_to_anchor=(-0.1, -0.2), title="collector, JDK, threads")


def collector_settings(trials: pd.DataFrame, target_ms: float) -> Figure:
    """Latency at the highest percentile to the first result against ``MaxNewSize``, ``ConcGCThreads`` and
    ``ParallelGCThreads``, the JVM's own choice first: medians, bars from the smallest to the largest trial.

    Only trials that differ in nothing else share a line; young collections a second stand at the sizes of the young
    generation. A setting that was not varied has no panel.
    """
    found = {axis: rows for axis in _SETTINGS if len(rows := _asked(trials, axis))}
    every = pd.concat(found.values()) if found else pd.DataFrame({FIRST: []})
    if every.empty or every[FIRST].isna().all():
        return nothing("no setting of the collector was varied")
    looks = _Looks(every)
    grid = sns.FacetGrid(every.assign(panel=""), sharex=False, **panels("panel", found, 2.5, 1))
    for axis, panel in grid.axes_dict.items():
        rows = _styled(found[axis].astype({FIRST: float}))
        asked = sorted(rows[axis].dropna().unique())
        rows["place"] = rows[axis].map({value: place for place, value in enumerate(asked, 1)}).fillna(0).astype(int)
        others = [name for name in CELL if name != axis]
        for number, (_, line) in enumerate(rows.groupby(others, sort=False, dropna=False)):
            sns.lineplot(line, x="place", y=FIRST, **looks.drawn, ax=panel)
            result = line.groupby("place")[[FIRST, "young_per_s"]].median().dropna()
            for place, point in result.iterrows() if axis == "new_size_mb" else ():
                beside = (5, -14 if number % 2 else 5)  # of every other line below it: mostly as many
                panel.annotate(f"{point['young_per_s']:.0f}/s", (float(str(place)), point[FIRST]), xytext=beside,
                               textcoords="offset points")  # fmt: skip
        panel.set(title="", xlabel=_SETTINGS[axis], ylabel="first result, ms (log)")
        panel.set_xticks(range(len(asked) + 1), [_DEFAULT, *(f"{value}" for value in asked)])
    rule(grid, y=target_ms)
    log_axes(grid, "y", [target_ms, *every[FIRST]], most=5)
    text = f"Latency to the first result by setting of the collector ({', '.join(_SETTINGS[name] for name in found)})."
    return finish(grid, text, 3, "", [*looks.lines, *looks.threads])


def _asked(trials: pd.DataFrame, axis: str) -> pd.DataFrame:
    """The trials that are plain but for this setting, where it was varied and all else was not."""
    rows = only(trials, axis)
    others = [name for name in CELL if name != axis]
    if rows.empty:
        return rows
    settings = rows.assign(asked=rows[axis].astype("Float64").fillna(0)).groupby(others, dropna=False)["asked"]
    return rows[settings.transform("nunique") > 1]


def threads_of_the_engine(trials: pd.DataFrame, searches: pd.DataFrame, target_ms: float) -> Figure:
    """Cooperative threads, from one to all processors: latency at the highest percentile at the commonest rate (above)
    and, where it is of a higher one, in the longest trials; the highest throughput within the target (below), 0
    where not even the lowest rate held. Medians, bars from the smallest to the largest."""
    rows, longest, highest = commonest_rate(trials), far_tail(trials), held(trials, searches, target_ms)
    if rows.empty or rows[FIRST].isna().all():
        return nothing("no trial that kept up")
    throughput = highest.assign(millions=highest["holds_items_per_second"].fillna(0.0) / 1e6)
    shown = {"common": (rows, FIRST), "longest": (longest, FIRST), "held": (throughput, "millions")}
    if longest[FIRST].isna().all():
        del shown["longest"]
    looks = _Looks(pd.concat([table for table, _ in shown.values()]))
    grid = sns.FacetGrid(rows.assign(panel=""), sharey=False, **panels("panel", shown, 2.6, 1))
    threads = sorted(rows["cooperative_threads"].unique())
    for name, panel in grid.axes_dict.items():
        table, value = shown[name]
        known = table.dropna(subset=[value]).astype({value: float})
        for place, (_, line) in enumerate(known.groupby(["configuration", "tail"], sort=False)):
            drawn = _styled(line.assign(cooperative_threads=min(looks.markers)))
            drawn["at"] = line["cooperative_threads"].astype(int) + 0.02 * place
            sns.lineplot(drawn, x="at", y=value, **looks.drawn, ax=panel)
        panel.set(xticks=threads, xlim=(threads[0] - 0.4, threads[-1] + 0.4), ylim=(0, None))
        if value == FIRST:
            tail = ", ".join(sorted(known["tail"].dropna().unique()))
            panel.axhline(target_ms, color=style.INK, linewidth=0.8, linestyle="--")
            panel.set(title=rate_text(table).replace(", ", ",\n", 1), ylabel=f"{tail}, first result, ms", xlabel="")
        else:
            panel.set(title="", xlabel="cooperative threads of the engine",
                      ylabel=f"million items/s within {target_ms:g} ms")  # fmt: skip
    text = "Latency to the first result and throughput, by threads of the engine."
    return finish(grid, text, 2, "", looks.lines)
