"""Figures of the stream study: latency against throughput, threads of the engine.

Bars reach from the smallest to the largest trial, the dashed line is the target.
"""

from __future__ import annotations

import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from allocpool.evidence import reference, style
from allocpool.evidence.style import by_panel, finish, log_axes, nothing, panels, rule
from allocpool.studies.stream.claims import FIRST, highest, only
from allocpool.studies.stream.story import commonest_rate, rate_text


def latency_against_throughput(trials: pd.DataFrame, target_ms: float, axis: str = "keys") -> Figure:
    """Measured curves, both axes logarithmic; ``axis`` (``keys``, as published and with the published charts, or
    ``events_per_second``) makes throughput larger.

    A row of panels for each kind of windows and each input (or number of keys) that stays: left the latency to the
    first result of a window, as published, right to the last. A cross at the top is a trial that fell behind.
    """
    rows, fixed = only(trials), "events_per_second" if axis == "keys" else "keys"
    panel = [fixed, "window_ms", "slide_ms", "seconds"]
    rows = rows[rows.groupby([*panel, "configuration"])[axis].transform("nunique") > 1]
    if rows.empty or rows[FIRST].isna().all():
        return nothing("no trial that kept up" if len(rows) else "no rate was varied")
    rows = rows.assign(millions=rows["offered_items_per_second"] / 1e6)
    answers = {FIRST: "first result", "tail_ms": "last result"}
    long = rows.melt([*panel, "configuration", "cooperative_threads", "millions", "tail"], [*answers], "answer", "ms")
    tails = long.groupby(panel)["tail"].transform("min")
    what = "events a second" if fixed == "events_per_second" else "keys"
    long["panel"] = [
        f"{window_ms:,} ms by {slide_ms} ms, {seconds:g} s\n{kept:,} {what}\n{tail}, {answers[answer]}"
        for kept, window_ms, slide_ms, seconds, tail, answer in zip(
            *(long[name] for name in panel), tails, long["answer"], strict=True
        )
    ]
    long = long.astype({"ms": float}).sort_values([*panel, "answer"])
    long = pd.concat([long, _published()]) if axis == "keys" else long
    long = long.assign(threads=long["cooperative_threads"].map("threads: {}".format))
    order = long.sort_values("cooperative_threads")["threads"].unique()
    names = sorted(long["configuration"].unique())
    palette, top = style.looks(names)["palette"], max(100.0, long["ms"].max())
    grid = sns.relplot(
        long, kind="line", x="millions", y="ms", hue="configuration", hue_order=names, palette=palette,
        style="threads", style_order=list(order), markers=True, dashes=False, facet_kws={"sharex": False},
        **style.BARS, **panels("panel", long["panel"].unique(), 2.6),
    )  # fmt: skip
    rule(grid, y=target_ms)
    log_axes(grid, "y", [0.2, top], most=5)
    for _, place, mine in by_panel(grid, long):
        behind = mine[mine["ms"].isna()]
        place.scatter(behind["millions"], [top] * len(behind), marker="x", c=behind["configuration"].map(palette))
        log_axes(place, "x", mine["millions"])
    text = f"Latency against throughput, {long['tail'].dropna().min()}."
    return finish(grid, text, 3, x="million items a second", y="latency, ms (log)")


def _published() -> pd.DataFrame:
    rows = reference.load("jet_latency_p9999")
    return pd.DataFrame({
        "configuration": rows["collector"] + ", published", "cooperative_threads": rows["jet_threads"],
        "millions": rows["million_items_per_second"], "ms": rows["p9999_latency_ms_read_off_chart"], "tail": "p99.99",
        "panel": "published, " + rows["machine"] + "\np99.99, first result",
    })  # fmt: skip


def threads_of_the_engine(trials: pd.DataFrame, target_ms: float) -> Figure:
    """By cooperative threads, from one to all processors: latency to the first result at the commonest rate and in the
    longest trials; the highest throughput within the target with its interval, 0 where no rate held."""
    common = commonest_rate(trials)
    if common.empty or common[FIRST].isna().all():
        return nothing("no trial that kept up")
    longest = commonest_rate(trials[trials["seconds"] > common["seconds"].max()])
    found = highest(trials, target_ms)
    parts = []
    for rows in filter(len, (common, longest)):
        title = f"{rows['tail'].dropna().min()}, first result, ms\n{rate_text(rows.iloc[0])}"
        parts.append(rows.assign(panel=title, value=rows[FIRST]))
    title = f"million items a second\nwithin {target_ms:g} ms, {', '.join(sorted(found['tail'].dropna().unique()))}"
    ends = found.fillna({"throughput": 0.0})[["throughput", "low", "high"]] / 1e6
    parts += [found.assign(panel=title, value=ends[name]) for name in ends]
    names = ["panel", "configuration", "cooperative_threads", "value"]
    long = pd.concat([part[names] for part in parts]).dropna(subset=["value"]).astype({"value": float})
    shown = sorted(long["configuration"].unique())
    grid = sns.relplot(
        long, kind="line", x="cooperative_threads", y="value", hue="configuration", hue_order=shown, marker="o",
        palette=style.looks(shown)["palette"], facet_kws={"sharey": False}, **style.BARS,
        **panels("panel", long["panel"].unique(), 2.6),
    )  # fmt: skip
    threads = sorted(long["cooperative_threads"].unique())
    grid.set(xticks=threads, xlim=(threads[0] - 0.4, threads[-1] + 0.4), ylim=(0, None), ylabel="")
    for title, panel in grid.axes_dict.items():
        if title != parts[-1]["panel"].iloc[0]:
            panel.axhline(target_ms, color=style.INK, linewidth=0.8, linestyle="--")
    return finish(grid, "Latency to the first result and throughput, by threads of the engine.", 3,
                  x="cooperative threads of the engine")  # fmt: skip
