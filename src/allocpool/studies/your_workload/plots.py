"""Figures of the advice (cost, head-room, delays, memory, what would turn the answer), and of the study."""

from __future__ import annotations

import math
import textwrap

import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from allocpool import stats
from allocpool.decisions import compare, effect_that_matters
from allocpool.evidence.style import (
    BLUE,
    GREEN,
    GREY,
    INK,
    ORANGE,
    PURPLE,
    SILVER,
    SKY,
    VERMILION,
    WIDTH,
    describe,
    legend,
    log_axis,
    new_figure,
    nothing,
)
from allocpool.studies.your_workload.advice import Advice, Explored
from allocpool.studies.your_workload.cells import Campaign
from allocpool.studies.your_workload.headroom import Headroom
from allocpool.studies.your_workload.workload import ALLOC, MIX, NETTY, POOL, REUSE

COLOURS = {
    ALLOC: VERMILION, POOL: BLUE, MIX: PURPLE, NETTY: GREEN, REUSE: SKY, "fitted": ORANGE, "zeroed": SILVER,
}  # fmt: skip
_MARKS = {ALLOC: "o", POOL: "s", MIX: "D", NETTY: "^", REUSE: "v", "fitted": "P", "zeroed": "X"}
_NOTHING = "Nothing was measured yet"
_AXES = {
    "in_flight": "in flight", "bytes": "bytes a message", "kept": "share kept", "live": "live besides, MiB",
    "garbage": "garbage besides, MiB/s",
}  # fmt: skip


def _strategies(advice: Advice) -> list[str]:
    return [name for name in advice.workload.strategies if advice.figures[name].costs or advice.figures[name].paced]


def overview(advice: Advice) -> Figure:
    """Cost, head-room and delays side by side: the picture of the answer."""
    names = _strategies(advice)
    if not names:
        return nothing(_NOTHING)
    figure, axes = new_figure(3, 1, WIDTH, 3 * (0.9 + 0.4 * len(names)))
    _cost(axes[0], advice, names)
    _headroom(axes[1], advice, names)
    _delays(axes[2], advice, names)
    return describe(figure, overview_alt(advice))


def overview_alt(advice: Advice) -> str:
    """What `overview` shows, in words."""
    told = []
    for name in _strategies(advice):
        figures = advice.figures[name]
        cost = stats.geometric_interval(figures.costs).text(3, "ns") if figures.costs else "not measured"
        delay = figures.delay_p999_ms
        told.append(f"{name} {cost} of CPU a message" + (f", p99.9 {_told(delay)} ms" if delay is not None else ""))
    return (
        f"Top: {'; '.join(told)}. Middle: rates that each holds and loses at, with the interval of the edge; the line "
        "is your rate. Bottom: delays at your rate; the line is what you tolerate. Bars are 95%."
    )


def _told(value: float | None) -> str:
    return "unknown" if value is None else stats.significant(value, 2)


def _names(axis: Axes, names: list[str]) -> None:
    axis.set_yticks(range(len(names)), names)
    axis.set_ylim(len(names) - 0.5, -0.5)
    axis.grid(visible=False, axis="y")


def _cost(axis: Axes, advice: Advice, names: list[str]) -> None:
    rows = pd.DataFrame(
        [(name, cost) for name in names for cost in advice.figures[name].costs], columns=["strategy", "ns"]
    )
    if rows.empty:
        axis.set_axis_off()
        return
    sns.stripplot(
        rows, x="ns", y="strategy", order=names, hue="strategy", hue_order=names,
        palette=[COLOURS[name] for name in names], alpha=0.45, size=5, jitter=0.12, ax=axis, legend=False,
    )  # fmt: skip
    for place, name in enumerate(names):
        if costs := advice.figures[name].costs:
            told = stats.geometric_interval(costs)
            axis.plot([told.low, told.high], [place, place], color=INK, linewidth=2)
            axis.plot(told.estimate, place, marker=_MARKS[name], color=INK, markersize=6)
    _names(axis, names)
    axis.set_xlim(left=0)
    axis.set_xlabel("CPU of the process, ns a message")
    axis.set_ylabel("")


def _headroom(axis: Axes, advice: Advice, names: list[str]) -> None:
    rate = advice.workload.rate_per_s
    seen = [rate]
    for place, name in enumerate(names):
        if name in advice.headroom:
            seen += _draw_room(axis, advice.headroom[name], place, name)
    axis.axvline(rate, color=GREY, linestyle="--", linewidth=1.2)
    log_axis(axis, min(seen), max(seen), room=1.6)
    _names(axis, names)
    axis.set_xlabel("messages a second: held | lost")


def _draw_room(axis: Axes, room: Headroom, place: int, name: str) -> list[float]:
    """Held as a bar from the left, lost as an open mark, the edge with its interval; the rates that are drawn."""
    drawn = []
    colour = COLOURS[name]
    if room.held_per_s:
        axis.plot(room.held_per_s, place, marker="|", markersize=16, color=colour, markeredgewidth=3)
        drawn.append(room.held_per_s)
    if room.lost_per_s:
        axis.plot(room.lost_per_s, place, marker="x", markersize=8, color=colour, markeredgewidth=2)
        drawn.append(room.lost_per_s)
    if room.held_per_s and room.lost_per_s:
        axis.plot([room.held_per_s, room.lost_per_s], [place, place], color=colour, linewidth=1)
    if room.rate_per_s:
        low = room.low_per_s or room.held_per_s or room.rate_per_s
        high = room.high_per_s if room.high_per_s and math.isfinite(room.high_per_s) else room.lost_per_s
        axis.plot([low, high or room.rate_per_s], [place + 0.18, place + 0.18], color=INK, linewidth=2)
        axis.plot(room.rate_per_s, place + 0.18, marker=_MARKS[name], color=INK, markersize=5)
        drawn += [low, high or room.rate_per_s]
    return drawn


def _delays(axis: Axes, advice: Advice, names: list[str]) -> None:
    rows = [
        (name, percentile, value)
        for name in names
        for percentile, value in (
            ("p50", advice.figures[name].delay_p50_ms),
            ("p99", advice.figures[name].delay_p99_ms),
            ("p99.9", advice.figures[name].delay_p999_ms),
        )
        if value
    ]
    if not rows:
        axis.set_axis_off()
        return
    table = pd.DataFrame(rows, columns=["strategy", "percentile", "ms"])
    sns.scatterplot(
        table, x="ms", y="strategy", hue="strategy", hue_order=names, palette=[COLOURS[name] for name in names],
        style="percentile", s=70, ax=axis, legend=False,
    )  # fmt: skip
    for place, name in enumerate(names):
        mine = table[table["strategy"] == name]
        for each in mine.itertuples():
            axis.annotate(str(each.percentile), (float(str(each.ms)), place), xytext=(0, 7),
                          textcoords="offset points", ha="center", color=INK)  # fmt: skip
    axis.axvline(advice.workload.delay_ms, color=GREY, linestyle="--", linewidth=1.2)
    log_axis(axis, float(table["ms"].min()), max(float(table["ms"].max()), advice.workload.delay_ms), room=1.6)
    _names(axis, names)
    axis.set_ylabel("")
    axis.set_xlabel("delay at your rate, ms")


def robustness(advice: Advice) -> Figure:
    """Allocation over the pool against each parameter that was tried, one at a time."""
    shown = [name for name in _AXES if any(each.parameter == name for each in advice.explored)]
    if not shown:
        return nothing("What would turn the answer was not measured yet")
    figure, axes = new_figure(1, len(shown), 2.4 + 2.1 * len(shown), 3.2, sharey=True)
    for axis, name in zip(axes, shown, strict=True):
        mine = [each for each in advice.explored if each.parameter == name]
        _one_parameter(axis, mine, advice.workload.value_of(name))
        axis.set_xlabel(_AXES[name])
    axes[0].set_ylabel("CPU, allocation / pool")
    ratios = [end for each in advice.explored for end in (each.low, each.ratio, each.high) if end]
    log_axis(axes[0], max(0.05, min(ratios)), min(20.0, max(ratios)), which="y")
    legend(figure, [
        Line2D([], [], marker="o", color=INK, label="tried, with its interval"),
        Line2D([], [], marker="o", color=VERMILION, linestyle="", label="loses too much at your rate"),
        Line2D([], [], color=GREY, linestyle="--", label="yours"),
    ])  # fmt: skip
    return describe(figure, robustness_alt(advice))


def _one_parameter(axis: Axes, tried: list[Explored], yours: float) -> None:
    # A value of 0 has no place on a logarithmic axis: it stands one step below the smallest other.
    positive = [each.value for each in tried if each.value > 0]
    zero = min(positive, default=1.0) / 4
    table = pd.DataFrame({"value": [each.value or zero for each in tried], "ratio": [each.ratio for each in tried]})
    sns.lineplot(table, x="value", y="ratio", color=INK, linewidth=1, ax=axis, errorbar=None)
    for each in tried:
        place = each.value or zero
        if each.low and each.high:
            axis.plot([place, place], [each.low, each.high], color=INK, linewidth=1.6)
        axis.plot(place, each.ratio, marker="o", markersize=6, color=VERMILION if each.loses else INK)
    axis.axhspan(1 / effect_that_matters(), effect_that_matters(), color=SILVER, alpha=0.25, linewidth=0)
    axis.axvline(yours or zero, color=GREY, linestyle="--", linewidth=1.2)
    log_axis(axis, float(table["value"].min()), float(table["value"].max()), room=2.0, most=3)


def robustness_alt(advice: Advice) -> str:
    """What `robustness` shows, in words."""
    told = [
        f"{_AXES[name]} {', '.join(f'{stats.significant(e.value)}: {stats.significant(e.ratio)}' for e in mine)}"
        for name in _AXES
        if (mine := [each for each in advice.explored if each.parameter == name])
    ]
    return (
        "CPU a message of allocation over the pool's, one parameter changed at a time; the band does not matter. "
        + ("; ".join(told) or "Nothing was tried")
        + "."
    )


def memory(advice: Advice) -> Figure:
    """Resident memory at idle and at the peak, and what the pool holds and wastes."""
    names = _strategies(advice)
    parts = {"idle": "idle_rss_mb", "peak": "peak_rss_mb", "in the pool": "pool_mb", "wasted": "wasted_mb"}
    rows = [
        (name, part, value)
        for name in names
        for part, column in parts.items()
        if (value := getattr(advice.figures[name], column)) is not None
    ]
    if not rows:
        return nothing(_NOTHING)
    table = pd.DataFrame(rows, columns=["strategy", "part", "MiB"])
    figure, (axis,) = new_figure(1, 1, WIDTH, 1.6 + 0.5 * len(names))
    sns.barplot(
        table, x="MiB", y="strategy", hue="part", order=names, hue_order=list(parts), errorbar=None,
        palette=[SILVER, INK, BLUE, ORANGE], ax=axis,
    )  # fmt: skip
    axis.set_ylabel("")
    axis.legend(title="", frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return describe(figure, memory_alt(advice))


def memory_alt(advice: Advice) -> str:
    """What `memory` shows, in words."""
    told = [
        f"{name}: idle {_told(figures.idle_rss_mb)}, peak {_told(figures.peak_rss_mb)}, in the pool "
        f"{_told(figures.pool_mb)}, of it wasted {_told(figures.wasted_mb)} MiB"
        for name in _strategies(advice)
        if (figures := advice.figures[name])
    ]
    return f"Memory, medians of trials. {'; '.join(told) or 'Nothing'}."


def set_ups(trials: pd.DataFrame) -> Figure:
    """Allocation over the pool in every workload of the study, with its interval."""
    campaign = Campaign(trials)
    rows = []
    for pool in (POOL, REUSE):
        for each in campaign.with_both(ALLOC, pool):
            told = compare(each.costs(ALLOC), each.costs(pool)).ratio
            if told is not None:
                rows.append((each.label, pool, told))
    if not rows:
        return nothing(_NOTHING)
    figure, (axis,) = new_figure(1, 1, 10.0, 1.4 + 0.5 * len(rows))
    table = pd.DataFrame({
        "set-up": [textwrap.fill(f"{label} ({pool})", 62) for label, pool, _ in rows],
        "pool": [pool for _, pool, _ in rows],
        "ratio": [told.estimate for _, _, told in rows],
    })  # fmt: skip
    sns.scatterplot(
        table, x="ratio", y="set-up", hue="pool", palette=COLOURS, style="pool", markers=_MARKS, s=60, ax=axis,
        legend=False,
    )  # fmt: skip
    for place, (_, _, told) in enumerate(rows):
        axis.plot([told.low, told.high], [place, place], color=INK, linewidth=1.6, zorder=1)
    axis.axvspan(1 / effect_that_matters(), effect_that_matters(), color=SILVER, alpha=0.25, linewidth=0)
    ends = [
        end for _, _, told in rows for end in (told.low, told.high, told.estimate) if math.isfinite(end) and end > 0
    ]
    log_axis(axis, max(0.05, min(ends)), min(20.0, max(ends)))
    axis.set_xlabel("CPU a message, allocation / pool")
    axis.set_ylabel("")
    return describe(figure, set_ups_alt(trials))


def set_ups_alt(trials: pd.DataFrame) -> str:
    """What `set_ups` shows, in words."""
    told = [
        f"{each.label}: {compare(each.costs(ALLOC), each.costs(pool)).text()}"
        for pool in (POOL, REUSE)
        for each in Campaign(trials).with_both(ALLOC, pool)
    ]
    return (
        f"CPU a message of allocation over the pool's; bars 95%, the band is what does not matter. {'; '.join(told)}."
    )
