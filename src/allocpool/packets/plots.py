"""Whether the figures can be trusted: processor time beside wall time, warm-up, agreement between trials."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from allocpool import stats
from allocpool.decisions import effect_that_matters
from allocpool.evidence.style import INK, WARM_UP, finish, log_axis, nothing, size
from allocpool.packets import cells as cell_data
from allocpool.packets.cells import CONFIGURATION, present
from allocpool.packets.specs import BUFFER_BYTES, CASES
from allocpool.packets.strategies import STRATEGIES
from allocpool.packets.style import (
    CASE_WORDS,
    COLOURS,
    STRATEGY_STYLE,
    ends,
    foot,
    marks,
    points,
    short_names,
    two_lines,
)

_NOTHING = "no trial has finished yet"


_DASHES: dict[str, Any] = dict(zip(STRATEGIES, ("-", "--", "-.", ":"), strict=False))


def _strokes(strategies: list[str], dashes: Mapping[str, Any] = MappingProxyType({})) -> list[Line2D]:
    return [
        Line2D([], [], color=COLOURS[name], linewidth=2, linestyle=dashes.get(name, "-"), label=name)
        for name in strategies
    ]


def wall_against_cpu(trials: pd.DataFrame, cores: int | None = None) -> Figure:
    """Processors that a trial keeps busy: CPU time over wall time, the median with the least and the greatest trial.

    Above one, threads of the collector work beside the program. ``cores``, of the machine, are the end of the axis.
    """
    done = cell_data.with_cost(trials)
    done = done[done["cpu_ns_per_packet"] > 0]
    if done.empty:
        return nothing(_NOTHING)
    done = done.assign(busy=done["cpu_ns_per_packet"].astype(float) / done["ns_per_packet"].astype(float))
    told = done.groupby(list(CONFIGURATION), observed=True)["busy"].agg(["median", "min", "max"]).reset_index()
    told = told.rename(columns={"median": "busy", "min": "low", "max": "high"})
    cases, drawn = present(CASES, done["case"]), present(STRATEGIES, done["strategy"])
    hue = {name: STRATEGY_STYLE[name] for name in drawn}
    order = cell_data.solution_order(done)
    grid = points(told, "busy", order, hue, col_order=cases)
    most = max(float(cores or 0), float(done["busy"].max()))
    for case, axis in grid.axes_dict.items():
        for line in (1, cores) if cores else (1,):
            axis.axvline(line, color=INK, linewidth=0.9, linestyle="-" if line == 1 else "--")
        axis.set(title=CASE_WORDS[case], xlim=(0, 1.08 * most))
    foot(grid, "processors kept busy: CPU time over wall time", order)
    words = f"Processors kept busy by each solution: {ends(told, 'busy', CONFIGURATION, 'processors')}."
    return finish(grid, f"{words} The machine has {cores}." if cores else words, 4, "", marks(hue))


def warm_up_curves(iterations: pd.DataFrame, trials: pd.DataFrame, case: str) -> Figure:
    """Cost of each iteration over the trial's measured mean: thin lines are trials, thick ones their median;
    filling and warm-up are shaded.

    A line that has not settled at 1 when the shading ends says that the warm-up was too short.
    """
    done = cell_data.with_cost(trials)
    done = done[done["case"] == case]
    joined = iterations.merge(
        done[["trial_id", "solution", "strategy", "ns_per_packet"]], on="trial_id", suffixes=("", "_trial")
    )
    if joined.empty:
        return nothing(f"no iterations were recorded in case {case}")
    joined["relative"] = (joined["ns_per_packet"] / joined["ns_per_packet_trial"]).astype(float).clip(0.05, 20)
    joined["time_s"] = (joined["end_ns"] - joined.groupby("trial_id")["start_ns"].transform("min")) / 1e9
    joined["number"] = joined.groupby("trial_id")["end_ns"].rank(method="first")
    strategies = present(STRATEGIES, joined["strategy"])
    order = [name for name in cell_data.solution_order(done) if name in set(joined["solution"])]
    grid = sns.relplot(
        joined, kind="line", x="time_s", y="relative", units="trial_id", estimator=None, hue="strategy",
        hue_order=strategies, palette=COLOURS, col="solution", col_order=order, col_wrap=min(3, len(order)),
        linewidth=0.5, alpha=0.5, rasterized=True, legend=False, facet_kws={"sharex": False},
        **size(min(3, len(order)), 1.6),
    )  # fmt: skip
    short, _ = short_names(order)
    for solution, axis in grid.axes_dict.items():
        group = joined[joined["solution"] == solution]
        middle = group.groupby(["strategy", "number"], observed=True)[["time_s", "relative"]].median().reset_index()
        sns.lineplot(middle, x="time_s", y="relative", hue="strategy", palette=COLOURS, linewidth=2, ax=axis,
                     legend=False)  # fmt: skip
        axis.axvspan(0, float(group.loc[group["phase"] != "measured", "time_s"].max()), color=WARM_UP, zorder=0)
        axis.axhline(1, color=INK, linewidth=0.7)
        axis.set(xlabel="", ylabel="", title=two_lines(short[solution], 19))
        log_axis(axis, float(joined["relative"].min()), float(joined["relative"].max()), "y", most=4)
        axis.xaxis.set_major_locator(MaxNLocator(3))
    grid.figure.supxlabel("seconds")
    grid.figure.supylabel("iteration's cost over the trial's mean")
    last = joined[joined["phase"] != "measured"].sort_values("end_ns").groupby("trial_id").last()["relative"]
    apart = abs(float(last.median()) - 1) if len(last) else 0.0
    settled = f" The last iteration before measuring differs from the mean by {apart:.0%}, in the median."
    words = (
        f"Cost of iterations over time in case {case}, {joined['trial_id'].nunique()} trials of {len(order)} solutions."
    )
    return finish(grid, words + (settled if len(last) else ""), 4, "", _strokes(strategies))


def pair_ratios(trials: pd.DataFrame) -> pd.DataFrame:
    """The dearer over the cheaper of each two trials of one cell: its names, and ``ratio``."""
    done = cell_data.with_cost(trials)
    return pd.DataFrame(
        [
            (*key, max(two) / min(two))
            for key, group in done.groupby(list(CONFIGURATION), observed=True)
            for two in combinations(group["ns_per_packet"].astype(float), 2)
        ],
        columns=[*CONFIGURATION, "ratio"],
    )


def stability(trials: pd.DataFrame) -> Figure:
    """How far two trials of one and the same configuration lie apart: share of pairs within a ratio, by strategy, and
    the effect that matters, beyond which a pair differs by more than what is asked."""
    pairs, effect = pair_ratios(trials), effect_that_matters()
    if pairs.empty:
        return nothing("no two trials of one configuration have finished yet")
    strategies = present(STRATEGIES, pairs["strategy"])
    grid = sns.displot(
        pairs,
        kind="ecdf",
        x="ratio",
        hue="strategy",
        hue_order=strategies,
        palette=COLOURS,
        linewidth=1.8,
        **size(1, 3),
    )
    for line, name in zip(grid.ax.lines, reversed(strategies), strict=True):
        line.set_linestyle(_DASHES[name])
    grid.ax.axvline(effect, color=INK, linewidth=0.9, linestyle="--")
    grid.ax.annotate(f" {effect:g}: what matters", (effect, 0.04))
    grid.set(xlim=(1, max(1.5 * effect - 0.5, float(np.quantile(pairs["ratio"], 0.99)))))
    grid.set_axis_labels("two trials of one configuration: dearer over cheaper", "share of pairs within")
    within = float((pairs["ratio"] <= effect).mean())
    words = f"Of {len(pairs)} pairs of trials of one configuration, {within:.0%} lie within a factor of {effect:g}"
    return finish(
        grid, f"{words}; half of them within {pairs['ratio'].median():.3g}.", 4, handles=_strokes(strategies, _DASHES)
    )


def memory_price(trials: pd.DataFrame) -> Figure:
    """What a strategy holds in memory, MiB, by solution and case: the process's peak, the median with the least and the
    greatest trial, and as a cross what the buffers of its full pool take at least while nothing is in flight."""
    done = cell_data.with_cost(trials).dropna(subset=["peak_rss_mb"])
    if done.empty:
        return nothing(_NOTHING)
    done = done[done["case"].isin(CASES)].astype({"peak_rss_mb": float})
    told = done.groupby(list(CONFIGURATION), observed=True)["peak_rss_mb"].agg(["median", "min", "max"]).reset_index()
    told = told.rename(columns={"median": "mb", "min": "low", "max": "high"})
    idle_mb = done.groupby("strategy")["pool_size"].max().astype(float) * BUFFER_BYTES / 2**20
    drawn, cases = present(STRATEGIES, told["strategy"]), present(CASES, told["case"])
    hue = {name: STRATEGY_STYLE[name] for name in drawn}
    order = cell_data.solution_order(done)
    grid = points(told, "mb", order, hue, col_order=cases)
    held = {name: float(idle_mb[name]) for name in drawn if STRATEGIES[name].pool_size and idle_mb[name] > 0}
    for case, axis in grid.axes_dict.items():
        for name, mb in held.items():
            rows = np.arange(len(order)) + 0.8 * drawn.index(name) / len(drawn) - 0.4 * (1 - 1 / len(drawn))
            axis.plot([mb] * len(order), rows, linestyle="", marker="x", markersize=4, color=COLOURS[name])
        log_axis(axis, min([*told["low"], *held.values()]), float(told["high"].max()), most=3)
        axis.set(title=CASE_WORDS[case])
    foot(grid, "resident memory, MiB (log scale)", order)
    cross = Line2D([], [], linestyle="", marker="x", color=INK, label="idle pool, at least")
    idle = "; ".join(f"an idle {name} holds at least {stats.significant(mb)} MiB" for name, mb in held.items())
    text = f"Peak resident memory: {ends(told, 'mb', CONFIGURATION, 'MiB')}{'; ' if idle else ''}{idle}."
    return finish(grid, text, 5, "", [*marks(hue), cross])
