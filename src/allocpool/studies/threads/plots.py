"""Figures of many threads: cost against threads by strategy, the ladder from a locked pool to none, losses by ring."""

from __future__ import annotations

import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from allocpool import stats
from allocpool.evidence.style import INK, TEXT, describe, legend, new_figure, nothing
from allocpool.evidence.trials import counted, finished, records
from allocpool.studies.threads.cells import CPU, WALL
from allocpool.studies.threads.strategies import LABELS, STRATEGIES

_WIDTH = 3.0
"""Inches of a panel, two of them beside each other at most: to be read on a telephone."""
_COLOURS = {row.label: row.colour for row in STRATEGIES.values()}
_TITLES = {CPU: "CPU of the process, ns a packet", WALL: "wall time, ns a packet"}


def _done(trials: pd.DataFrame, topology: str) -> pd.DataFrame:
    done = finished(counted(trials))
    done = done[done["topology"] == topology].dropna(subset=[CPU, WALL])
    return done.assign(strategy=done["strategy"].map(LABELS)).astype({CPU: float, WALL: float, "threads": int})


def _present(done: pd.DataFrame) -> list[str]:
    names = set(done["strategy"])
    return [name for name in _COLOURS if name in names]


def cost_by_threads(trials: pd.DataFrame, topology: str, value: str = CPU) -> Figure:
    """Cost against the number of threads, a panel for each solution; marks are trials, lines their medians."""
    done = _done(trials, topology)
    if done.empty:
        return nothing(f"topology {topology} is not part of this campaign")
    solutions = list(dict.fromkeys(done["solution"]))
    columns = min(2, len(solutions))
    rows = -(-len(solutions) // columns)
    figure, axes = new_figure(rows, columns, 2 * _WIDTH, 2.7 * rows + 1.0)
    strategies = _present(done)
    palette = {name: _COLOURS[name] for name in strategies}
    for axis, solution in zip(axes, solutions, strict=False):
        mine = done[done["solution"] == solution]
        shared = {"x": "threads", "y": value, "hue": "strategy", "hue_order": strategies, "palette": palette}
        # Beside each other at a number of workers, or they hide each other.
        apart = 0.8 - 0.8 / len(strategies) if len(strategies) > 1 else False
        sns.pointplot(
            mine, estimator="median", errorbar=("pi", 100), dodge=apart, markersize=0, linewidth=1.2, legend=False,
            ax=axis, **shared,
        )  # fmt: skip
        sns.stripplot(mine, dodge=len(strategies) > 1, size=4, jitter=False, legend=False, ax=axis, **shared)
        axis.set_title(solution, color=INK)
        axis.set_xlabel("workers")
        axis.set_ylabel("")
        axis.set_ylim(bottom=0)
    for axis in axes[len(solutions) :]:
        axis.set_axis_off()
    handles = [Line2D([], [], color=palette[name], marker="o", markersize=4, label=name) for name in strategies]
    legend(figure, handles, min(3, len(handles)))
    figure.supylabel(_TITLES[value], fontsize=TEXT)
    return describe(figure, f"{_TITLES[value]}, {topology}, by workers. {_cheapest_and_dearest(done, value)}")


def ladder(trials: pd.DataFrame, topology: str) -> Figure:
    """Every strategy at the most threads, the dearest first; marks are trials, bars their medians."""
    done = _done(trials, topology)
    if done.empty:
        return nothing(f"topology {topology} is not part of this campaign")
    solutions = list(dict.fromkeys(done["solution"]))
    columns = min(2, len(solutions))
    rows = -(-len(solutions) // columns)
    tallest = int(done.groupby("solution")["strategy"].nunique().max())
    figure, axes = new_figure(rows, columns, 2 * _WIDTH, (1.0 + 0.27 * tallest) * rows)
    for axis, solution in zip(axes, solutions, strict=False):
        mine = done[(done["solution"] == solution)]
        mine = mine[mine["threads"] == mine["threads"].max()]
        order = list(mine.groupby("strategy")[CPU].median().sort_values(ascending=False).index)
        palette = {name: _COLOURS[str(name)] for name in order}
        shared = {"x": CPU, "y": "strategy", "order": order, "hue": "strategy", "palette": palette, "legend": False}
        sns.barplot(mine, estimator="median", errorbar=None, alpha=0.35, ax=axis, **shared)
        sns.stripplot(mine, size=4, jitter=False, ax=axis, **shared)
        axis.set_title(f"{solution}, {int(mine['threads'].iloc[0])} workers", color=INK)
        axis.set_xlabel("")
        axis.set_ylabel("")
    for axis in axes[len(solutions) :]:
        axis.set_axis_off()
    figure.supxlabel(_TITLES[CPU], fontsize=TEXT)
    return describe(figure, f"{_TITLES[CPU]}, {topology}, at the most workers. {_cheapest_and_dearest(done, CPU)}")


def _cheapest_and_dearest(done: pd.DataFrame, value: str) -> str:
    """Of each solution at the most workers, the strategies with the smallest and the largest median, ns, in words."""
    told = []
    for solution, group in done.groupby("solution", sort=False):
        most = int(group["threads"].max())
        medians = group[group["threads"] == most].groupby("strategy")[value].median()
        named = sorted((float(ns), str(name)) for name, ns in medians.items())
        ends = [f"{name} {stats.significant(ns)}" for ns, name in (named[0], named[-1])]
        between = f"from {ends[0]} to {ends[1]}" if len(medians) > 1 else f"{ends[0]} alone"
        told.append(f"{solution} with {stats.plural(most, 'worker')}: medians go {between}")
    return "; ".join(told) + "."


def losses_by_ring(trials: pd.DataFrame, rings: pd.DataFrame) -> Figure:
    """Of the ticks that led to each ring, the share that found it full, by interval; a mark is a ring of a trial."""
    paced = finished(counted(trials[trials["interval_ns"].notna()]))
    shown = rings.merge(paced[["trial_id", "solution", "topology", "strategy", "interval_ns"]], on="trial_id")
    shown = shown[shown["generated"] > 0].assign(strategy=shown["strategy"].map(LABELS))
    if shown.empty:
        return nothing("no trial of this campaign ran in real time")
    shown = shown.assign(
        lost_percent=100 * shown["lost"] / shown["generated"], interval_us=shown["interval_ns"].astype(float) / 1e3
    )
    panels = list(dict.fromkeys(zip(shown["solution"], shown["topology"], strict=True)))
    columns = min(2, len(panels))
    rows = -(-len(panels) // columns)
    figure, axes = new_figure(rows, columns, 2 * _WIDTH, 2.7 * rows + 1.0)
    names = _present(shown)
    palette = {name: _COLOURS[name] for name in names}
    for axis, (solution, topology) in zip(axes, panels, strict=False):
        mine = shown[(shown["solution"] == solution) & (shown["topology"] == topology)]
        sns.scatterplot(
            mine, x="interval_us", y="lost_percent", hue="strategy", hue_order=names, palette=palette, style="ring",
            ax=axis, legend=False,
        )  # fmt: skip
        axis.set_title(f"{solution}, {topology}", color=INK)
        axis.set_xlabel("interval between packets, µs")
        axis.set_ylabel("lost of each ring, %")
        axis.set_ylim(bottom=0)
    for axis in axes[len(panels) :]:
        axis.set_axis_off()
    legend(figure, [Line2D([], [], color=palette[name], marker="o", linestyle="", label=name) for name in names], 3)
    (most,) = records(shown.nlargest(1, "lost_percent"))
    return describe(
        figure,
        f"Lost of the ticks of each ring by the interval between packets: "
        f"{int((shown['lost'] == 0).sum())} of {stats.plural(len(shown), 'ring')} lost nothing; most lost "
        f"{stats.significant(most.lost_percent)}%, with {most.strategy} on {most.solution} at "
        f"{stats.significant(most.interval_us)} µs.",
    )
