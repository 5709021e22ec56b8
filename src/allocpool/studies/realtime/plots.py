"""Real time in pictures: smallest intervals, losses against interval and over time, bursts, delays, sweeps; the same
cells at several scales, and beside their cost in batch."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from allocpool.evidence.style import (
    GREY,
    GRID,
    INK,
    SILVER,
    SKY,
    collector_handles,
    collector_key,
    colour_of,
    decades_only,
    legend,
    log_axis,
    new_figure,
    nothing,
)
from allocpool.evidence.trials import finished, records
from allocpool.packets.cells import present, solution_order
from allocpool.packets.strategies import STRATEGIES
from allocpool.packets.style import STRATEGY_STYLE, offsets, strategy_handles, strategy_shapes
from allocpool.studies.realtime import decision_map as maps
from allocpool.studies.realtime.cells import FOLLOWS, LOSES, UNSCALED

_NOTHING_LOST_PPM = 0.3
"""Where a logarithmic axis shows that nothing was lost."""
_PAUSE, _SLIP, _BURST = SKY, SILVER, "#b00020"


def rates(cells: pd.DataFrame) -> Figure:
    """Packets per second without a loss, per solution (rows), case (panels) and strategy (marker): the mean of a
    cell's searches, each search, and its interval."""
    cases = sorted(cells["case"].dropna().unique())
    done = cells[cells["ndr_ns"].notna()]
    if done.empty:
        return nothing("no interval passes without a loss yet")
    order = solution_order(cells)
    figure, axes = new_figure(1, len(cases), 3.3 + 2.9 * len(cases), 1.3 + 0.46 * max(len(order), 3), sharey=True)
    drawn = present(STRATEGIES, cells["strategy"])
    off = offsets(drawn, 0.25)
    rate = 1e3 / done["ndr_ns"]
    for axis, case in zip(axes, cases, strict=True):
        for row in records(cells[cells["case"] == case]):
            colour, marker = STRATEGY_STYLE[row.strategy]
            y = order.index(row.solution) + off[row.strategy]
            if pd.isna(row.ndr_ns):
                word = "loses" if row.answer == LOSES else row.gap_word if pd.notna(row.gap_word) else "few lost"
                axis.text(
                    0.015, y, f"{row.strategy}: {word}", fontsize=7.5, color=colour, va="center", style="italic",
                    transform=axis.get_yaxis_transform(),
                )  # fmt: skip
                continue
            if pd.notna(row.ndr_low_ns):
                axis.plot([1e3 / row.ndr_low_ns, 1e3 / row.ndr_high_ns], [y, y], color=colour, linewidth=2)
            each = [1e3 / math.exp(middle) for middle in row.every_ndr.middles]
            axis.plot(each, [y] * len(each), linestyle="", marker="|", color=colour, markersize=8, alpha=0.7)
            axis.plot(1e3 / row.ndr_ns, y, marker=marker, color=colour, markersize=6, markeredgecolor="white")
        log_axis(axis, float(rate.min()), float(rate.max()), room=1.6)
        axis.set_title(f"case {case}", fontsize=11, color=INK)
        axis.set_xlabel("million packets per second (log scale)", fontsize=9)
        for boundary in range(1, len(order)):
            axis.axhline(boundary - 0.5, color=GRID, linewidth=0.6)
        axis.grid(False, axis="y")
    axes[0].set_yticks(range(len(order)), order, fontsize=9)
    axes[0].set_ylim(len(order) - 0.5, -0.5)
    legend(figure, strategy_handles(set(drawn)))
    return figure


def loss_curves(probes: pd.DataFrame, searches: pd.DataFrame) -> Figure:
    """Loss against interval, every measurement of every search with its own heap: filled marks are of full length,
    hollow ones probes."""
    joined = probes[probes["kind"] != "larger heap"].merge(
        searches[["trial_id", "solution", "strategy", "case", "pdr_loss_ratio", *_FACTS]], on="trial_id"
    )
    if joined.empty:
        return nothing("no search has finished yet")
    order = solution_order(joined)
    cases = sorted(joined["case"].unique())
    figure, axes = new_figure(len(order), len(cases), 1.2 + 3.4 * len(cases), 0.8 + 2.0 * len(order), sharey=True)
    for index, axis in enumerate(axes):
        solution, case = order[index // len(cases)], cases[index % len(cases)]
        group = joined[(joined["solution"] == solution) & (joined["case"] == case)]
        for row in records(group):
            colour, marker = STRATEGY_STYLE[row.strategy]
            axis.plot(
                row.interval_ns, max(row.lost_ppm, _NOTHING_LOST_PPM), marker=marker, color=colour, markersize=5,
                markerfacecolor="none" if row.kind == "probe" else colour, linestyle="",
            )  # fmt: skip
        log_axis(axis, float(joined["interval_ns"].min()), float(joined["interval_ns"].max()))
        log_axis(axis, _NOTHING_LOST_PPM, 1e6, "y", 1.6)
        for loss_ratio in joined["pdr_loss_ratio"].dropna().unique():
            axis.axhline(1e6 * loss_ratio, color=INK, linewidth=0.7, linestyle="--")
        axis.set_title(f"{solution}, case {case}", fontsize=9, color=INK)
    figure.supxlabel("interval, ns", fontsize=9)
    figure.supylabel("lost of a million (lowest: none)", fontsize=9)
    legend(figure, strategy_handles(set(joined["strategy"])))
    return figure


_FACTS = ["language", "layout", "collector", "runtime"]


def _named(rows: pd.DataFrame, trials: pd.DataFrame) -> pd.DataFrame:
    """Rows of a per-trial table with a name that tells what the trial was."""
    facts = finished(trials)[
        ["trial_id", "solution", "strategy", "case", "input_queue_ms", "heap_factor", "block"]
    ].copy()
    facts["name"] = [
        f"{row.solution} {row.strategy} {row.case}, queue {row.input_queue_ms:g} ms"
        + (f", heap x{row.heap_factor:g}" if pd.notna(row.heap_factor) and row.heap_factor != 1 else "")
        for row in records(facts)
    ]
    return rows.merge(facts[facts["block"] == facts["block"].min()], on="trial_id")


def loss_over_time(samples: pd.DataFrame, trials: pd.DataFrame) -> Figure:
    """Share of ticks lost in each tenth of a second, one panel per trial of the first repetition; warm-up shaded."""
    joined = _named(samples, trials)
    joined = joined[joined["generated"] > 0]
    if joined.empty:
        return nothing("no single trial has finished yet")
    names = sorted(joined["name"].unique())
    columns = min(2, len(names))
    rows = math.ceil(len(names) / columns)
    figure, axes = new_figure(rows, columns, 4.8 * columns, 0.8 + 1.5 * rows, sharey=True)
    for axis, name in zip(axes, names, strict=False):
        group = joined[joined["name"] == name].sort_values("end_s")
        axis.step(group["end_s"], 100 * group["lost"] / group["generated"], where="pre", color=_BURST, linewidth=1.2)
        axis.axvspan(min(0.0, float(group["end_s"].min())), 0, color="#f2ead8", zorder=0)
        axis.set_ylim(-3, 103)
        axis.set_title(name, fontsize=8.5, color=INK)
    for axis in axes[len(names) :]:
        axis.set_visible(False)
    figure.supxlabel("seconds after the warm-up", fontsize=9)
    figure.supylabel("lost, %", fontsize=9)
    return figure


def burst_timeline(bursts: pd.DataFrame, pauses: pd.DataFrame, slips: pd.DataFrame, trials: pd.DataFrame) -> Figure:
    """Bursts of losses, pauses of the collector and slips of the source on one axis, one row per trial."""
    tables = [_named(rows, trials) for rows in (bursts, pauses, slips[slips["length_ns"] >= 1e6])]
    names = sorted(set(_named(finished(trials)[["trial_id"]], trials)["name"]))
    if not names:
        return nothing("no single trial has finished yet")
    figure, (axis,) = new_figure(1, 1, 9.5, 1.3 + 0.42 * max(len(names), 3))
    for rows, colour, shift in zip(tables, (_BURST, _PAUSE, _SLIP), (-0.25, 0.0, 0.25), strict=True):
        for row in records(rows):
            length_s = (row.end_s - row.start_s) if colour == _BURST else row.length_ns / 1e9
            y = names.index(row.name) + shift
            axis.plot([row.start_s, row.start_s + length_s], [y, y], color=colour, linewidth=5, solid_capstyle="butt")
            axis.plot(row.start_s, y, marker="|", color=colour, markersize=6)
    axis.set_yticks(range(len(names)), names, fontsize=8)
    axis.set_ylim(len(names) - 0.5, -0.5)
    axis.set_xlabel("seconds after the warm-up", fontsize=9)
    words = {"losses": _BURST, "pauses": _PAUSE, "slips of the source, 1 ms or longer": _SLIP}
    legend(figure, [Line2D([], [], color=colour, linewidth=5, label=word) for word, colour in words.items()])
    return figure


def delay_distributions(delays: pd.DataFrame, trials: pd.DataFrame) -> Figure:
    """Delay from due time to consumption at percentiles, one line per trial of the first repetition."""
    joined = _named(delays, trials)
    if joined.empty:
        return nothing("no single trial has finished yet")
    figure, (axis,) = new_figure(1, 1, 9.5, 4.6)
    shares = sorted(joined["percentile"].unique())
    names = sorted(joined["name"].unique())
    for number, name in enumerate(names):
        group = joined[joined["name"] == name].sort_values("percentile")
        at = [shares.index(value) for value in group["percentile"]]
        axis.plot(
            at,
            group["delay_us"].clip(lower=0.1),
            marker="osD^v<>ph*"[number % 10],
            markersize=4,
            linewidth=1.2,
            label=name,
        )
    log_axis(axis, max(0.1, float(joined["delay_us"].min())), float(joined["delay_us"].max()), "y", 1.5)
    axis.set_xticks(range(len(shares)), ["max" if share == 100 else f"{share:g}%" for share in shares], fontsize=9)
    axis.set_xlabel("percentile of the ticks received", fontsize=9)
    axis.set_ylabel("delay, us (log scale)", fontsize=9)
    figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=8)
    return figure


def similarity(rows: pd.DataFrame) -> Figure:
    """Loss of the same cells at several scales (`allocpool.studies.realtime.cells.similar`) against the interval, in
    units of the cell's own cost: with a queue that follows the scale, and with that of scale 1."""
    if rows.empty:
        return nothing("no cell was tried at several scales yet")
    figure, axes = new_figure(1, 2, 10.5, 4.6, sharey=True)
    drawn = rows.assign(
        lost=rows["lost_percent"].clip(lower=_NOTHING_LOST_PPM / 1e4), scale=rows["scale"].map("{:g}".format)
    )
    shared = {"x": "over_cost", "y": "lost", "hue": "scale", "style": "cell", "markers": True, "palette": "viridis"}
    for axis, rule in zip(axes, (FOLLOWS, UNSCALED), strict=True):
        group = drawn[drawn["queue"] == rule]
        sns.lineplot(
            group,
            **shared,
            hue_order=sorted(drawn["scale"].unique(), key=float),
            ax=axis,
            errorbar=None,
            legend=axis is axes[0],
        )
        for row in records(group):
            ends = [max(value, _NOTHING_LOST_PPM / 1e4) for value in (row.lost_low_percent, row.lost_high_percent)]
            axis.plot([row.over_cost] * 2, ends, color=GRID, linewidth=3, zorder=1)
        log_axis(axis, float(drawn["over_cost"].min()), float(drawn["over_cost"].max()), room=1.3)
        log_axis(axis, _NOTHING_LOST_PPM / 1e4, 100, "y", 1.6)
        axis.set_title(rule, fontsize=10, color=INK)
        axis.set_xlabel("interval, over the cell's cost by the batch path", fontsize=9)
        axis.set_ylabel("lost, % (lowest: none)", fontsize=9)
    axes[0].legend(fontsize=8, frameon=False)
    return figure


def batch_and_realtime(both: pd.DataFrame) -> Figure:
    """Smallest interval against cost in batch (`allocpool.studies.realtime.cells.against_batch`), with the line on
    which they are the same: bars are their intervals."""
    if both.empty:
        return nothing("no cell has both a smallest interval and a cost in batch yet")
    figure, (axis,) = new_figure(1, 1, 8.5, 6.0)
    drawn = both.assign(collector=[collector_key(row.language, row.collector) for row in records(both)])
    used = list(dict.fromkeys(drawn["collector"]))
    for row in records(drawn):
        colour = colour_of(row.collector)
        axis.plot([row.ns] * 2, [row.pdr_low_ns, row.pdr_high_ns], color=colour, linewidth=1.4, zorder=2)
        axis.plot([row.low, row.high], [row.pdr_ns] * 2, color=colour, linewidth=1.4, zorder=2)
    sns.scatterplot(
        drawn, x="ns", y="pdr_ns", hue="collector", palette={key: colour_of(key) for key in used},
        style="strategy", markers={name: marker for name, (_, marker) in STRATEGY_STYLE.items()}, s=55, ax=axis,
        legend=False, zorder=3,
    )  # fmt: skip
    without_objects = drawn["layout"].str.startswith(("flat", "slab")) & (drawn["strategy"] == "pool")
    for row in records(drawn[without_objects]):
        axis.annotate(
            f"{row.solution} {row.case}", (row.ns, row.pdr_ns), xytext=(5, -9), textcoords="offset points",
            fontsize=7, color=INK,
        )  # fmt: skip
    low, high = (float(fold(drawn[["ns", "pdr_ns"]].to_numpy().ravel())) for fold in (min, max))
    axis.plot([low / 2, high * 2], [low / 2, high * 2], color=SILVER, linewidth=1, zorder=1)
    log_axis(axis, low, high, room=1.4)
    log_axis(axis, low, high, "y", 1.4)
    axis.set_xlabel("cost in batch, ns per packet (log scale)", fontsize=9)
    axis.set_ylabel("smallest interval, ns (log scale)", fontsize=9)
    handles = [*collector_handles(set(used)), *strategy_shapes(set(drawn["strategy"]))]
    legend(figure, handles, min(len(handles), 6))
    return figure


def sweeps(trials: pd.DataFrame) -> Figure:
    """Loss at one interval against the length of the input queue, and against the heap."""
    done = finished(trials)
    if done.empty:
        return nothing("no single trial has finished yet")
    figure, axes = new_figure(1, 2, 10.5, 4.4, sharey=True)
    done = done[done["intermediate_queue_ms"] == 0]
    usual_heap = done["heap_factor"].isna() | (done["heap_factor"] == 1)
    _sweep(axes[0], done[usual_heap], "queue_factor", "input queue, times the published one at this scale (log scale)")
    by_heap = done[done["heap_factor"].notna() & (done["queue_factor"] == _usual_queue(done))]
    _sweep(axes[1], by_heap, "heap_factor", "heap, times the published one (log scale)")
    axes[0].set_ylabel("lost of a million (lowest: none)", fontsize=9)
    handles = {str(line.get_label()): line for axis in axes for line in axis.get_lines()}
    figure.legend(handles=list(handles.values()), loc="outside lower center", ncols=3, frameon=False, fontsize=8)
    return figure


def _usual_queue(trials: pd.DataFrame) -> float:
    """The queue with which heaps were varied: that of the trials with a larger heap, or the most common."""
    larger = trials[trials["heap_factor"].astype(float) > 1.05]
    return float((larger if len(larger) else trials)["queue_factor"].astype(float).mode().iloc[0])


def _sweep(axis: Axes, rows: pd.DataFrame, column: str, label: str) -> None:
    lines = ["-", "--", ":", "-."]
    solutions = solution_order(rows) if len(rows) else []
    for (solution, strategy, case), group in rows.groupby(["solution", "strategy", "case"], observed=True):
        colour, marker = STRATEGY_STYLE[str(strategy)]
        means = group.groupby(column)["lost_ppm"].mean().clip(lower=_NOTHING_LOST_PPM)
        axis.plot(
            means.index.to_numpy(dtype=float), means.to_numpy(dtype=float), color=colour, marker=marker, markersize=5,
            linestyle=lines[solutions.index(str(solution)) % len(lines)], label=f"{solution} {strategy} {case}",
        )  # fmt: skip
    if len(rows):
        log_axis(axis, float(rows[column].min()), float(rows[column].max()), room=1.3)
    log_axis(axis, _NOTHING_LOST_PPM, 1e6, "y", 1.6)
    axis.set_xlabel(label, fontsize=9)


_REGION_STYLE = {
    maps.EITHER: ("#ffffff", ""),
    maps.POOL_ONLY: ("#dcebf5", "///"),
    maps.ALLOCATE_ONLY: ("#fbe8cf", "..."),
    maps.NEITHER: ("#c9c9c9", ""),
}
"""Colour and hatch: without colours they differ by the hatch and by how dark they are."""
_LINES: Mapping[str, Literal["-", "--"]] = {"alloc": "-", "pool": "--"}
_LANDSCAPE = 60


def decision_map(tables: Mapping[str, pd.DataFrame], point: tuple[float, float] | None = None) -> Figure:
    """Which strategy keeps up, by messages alive (across) and messages a second (up), a panel for each collector and
    deadline of table ``map`` (`allocpool.studies.realtime.decision_map.boundaries`).

    Lines: the highest rate without a loss; bands: 95%, whenever one looks; between them the regions. ``point`` is the
    reader's own: messages alive, messages a second. Grey: no figure there.
    """
    found = maps.boundaries(tables["map"])
    known = found[found["edge_ns"].notna()]
    if known.empty:
        return nothing("no boundary is known yet")
    rates = [1e9 / tables["map"]["interval_ns"].astype(float).max(), 1e9 / tables["map"]["interval_ns"].min()]
    lives = [float(found["live_messages"].min()), float(found["live_messages"].max())]
    if point:
        rates, lives = (
            [min(*ends, own), max(*ends, own)] for ends, own in zip((rates, lives), point[::-1], strict=True)
        )
    grid = sns.FacetGrid(found, row="solution", col="deadline_ms", height=2.6, aspect=1.15, despine=True)
    for (solution, deadline_ms), axis in grid.axes_dict.items():
        panel = found[(found["solution"] == solution) & (found["deadline_ms"] == deadline_ms)]
        _map_panel(axis, panel, (rates[0] / 2, rates[1] * 2))
        log_axis(axis, lives[0], lives[1], room=1.5)
        decades_only(axis)
        log_axis(axis, rates[0], rates[1], "y", 1.5)
        axis.tick_params(labelsize=10)
        axis.set_title(f"{solution}\nwithin {deadline_ms:g} ms", fontsize=10, color=INK)
        if point:
            axis.plot(*point, marker="*", markersize=15, color=INK, markeredgecolor="white", zorder=6)
    grid.set_axis_labels("messages alive", "messages a second", fontsize=11)
    figure: Figure = grid.figure
    figure.set_dpi(110)
    figure.set_layout_engine("constrained")
    handles = [
        Line2D([], [], color=STRATEGY_STYLE[name][0], marker=STRATEGY_STYLE[name][1], linestyle=line, label=name)
        for name, line in _LINES.items()
    ] + [
        Patch(facecolor=colour, hatch=hatch, edgecolor=GREY, label=name)
        for name, (colour, hatch) in _REGION_STYLE.items()
    ]  # fmt: skip
    if point:
        handles.append(Line2D([], [], color=INK, marker="*", markersize=11, linestyle="", label="yours"))
    figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False, fontsize=10)
    return figure


def _map_panel(axis: Axes, panel: pd.DataFrame, rates: tuple[float, float]) -> None:
    """Both boundaries with their bands, and the regions between them, where both are known."""
    lines = {}
    for strategy, line in _LINES.items():
        rows = panel[(panel["strategy"] == strategy) & panel["edge_ns"].notna()].sort_values("live_messages")
        colour, marker = STRATEGY_STYLE[strategy]
        lives, edges = (rows[name].to_numpy(float) for name in ("live_messages", "edge_ns"))
        low, high = (
            np.clip(1e9 / np.clip(rows[name].to_numpy(float), 1e-9, None), *rates)
            for name in ("edge_high_ns", "edge_low_ns")
        )
        axis.fill_between(lives, low, high, color=colour, alpha=0.3, linewidth=0, zorder=3)
        axis.plot(lives, 1e9 / edges, color=colour, linestyle=line, marker=marker, markeredgecolor="white", zorder=4)
        lines[strategy] = (lives, 1e9 / edges)
    shared = sorted(set(lines["alloc"][0]) & set(lines["pool"][0]))
    for row in records(panel[panel["gap"].notna()].drop_duplicates("live_messages")):
        axis.axvspan(row.live_messages / 1.3, row.live_messages * 1.3, color=GRID, zorder=0.5)
        axis.text(
            row.live_messages, math.sqrt(rates[0] * rates[1]), f"{row.strategy}: {row.gap}", fontsize=8, color=INK,
            rotation=90, ha="center", va="center", wrap=True, zorder=5,
        )  # fmt: skip
    if len(shared) < 2:
        return
    across = np.geomspace(shared[0], shared[-1], _LANDSCAPE)
    alloc, pool = (np.exp(np.interp(np.log(across), np.log(lines[name][0]), np.log(lines[name][1]))) for name in _LINES)
    both, one = np.minimum(alloc, pool), np.maximum(alloc, pool)
    for name, low, high, where in (
        (maps.EITHER, rates[0], both, None),
        (maps.POOL_ONLY, both, one, pool >= alloc),
        (maps.ALLOCATE_ONLY, both, one, alloc >= pool),
        (maps.NEITHER, one, rates[1], None),
    ):
        colour, hatch = _REGION_STYLE[name]
        axis.fill_between(
            across, low, high, where=where, facecolor=colour, hatch=hatch, edgecolor="#bbbbbb", linewidth=0, zorder=1
        )
