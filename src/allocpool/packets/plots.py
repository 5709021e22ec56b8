"""Whether the figures can be trusted: processor time against wall time, warm-up, agreement between trials."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from allocpool import stats
from allocpool.decisions import effect_that_matters
from allocpool.evidence.style import INK, WARM_UP, by_panel, finish, log_axes, mark, marks, nothing, panels, rule, size
from allocpool.packets import cells as cell_data
from allocpool.packets.cells import CONFIGURATION, present
from allocpool.packets.specs import BUFFER_BYTES, CASES
from allocpool.packets.strategies import STRATEGIES
from allocpool.packets.style import BY_COLOUR, CASE_WORDS, COLOURS, panel_names, points, strategy_looks

_NOTHING = "no trial has finished yet"
_DASHES: dict[str, Any] = dict(zip(STRATEGIES, ("-", "--", "-.", ":"), strict=False))


def wall_against_cpu(trials: pd.DataFrame, cores: int | None = None) -> Figure:
    """Processors that a trial keeps busy: CPU time over wall time, the median with the least and the greatest trial.

    Above one, threads of the collector work while the program runs. ``cores``, of the machine, are the end of the axis.
    """
    done = cell_data.with_cost(trials)
    done = done[done["cpu_ns_per_packet"] > 0]
    if done.empty:
        return nothing(_NOTHING)
    done = done.assign(busy=done["cpu_ns_per_packet"].astype(float) / done["ns_per_packet"].astype(float))
    order, hue = cell_data.configuration_order(done), strategy_looks(done)
    label = "processors kept busy: CPU time over wall time"
    grid = points(done, "busy", order, hue, label, col_order=present(CASES, done["case"]))
    rule(grid, x=1, linestyle="-")
    rule(grid, x=cores)
    grid.set(xlim=(0, 1.08 * max(float(cores or 0), float(done["busy"].max()))))
    return finish(
        grid, f"Processors kept busy by each configuration; the machine has {cores}.", 4, CASE_WORDS, marks(hue)
    )


def warm_up_curves(iterations: pd.DataFrame, trials: pd.DataFrame, case: str) -> Figure:
    """Cost of each iteration over the trial's measured mean: thin lines are trials, thick ones their median;
    filling and warm-up are shaded.

    A line that has not settled at 1 when the shading ends says that the warm-up was too short.
    """
    done = cell_data.with_cost(trials)
    done = done[done["case"] == case]
    facts = done[["trial_id", "configuration", "strategy", "ns_per_packet"]]
    joined = iterations.merge(facts, on="trial_id", suffixes=("", "_trial"))
    if joined.empty:
        return nothing(f"no iterations were recorded in case {case}")
    joined["relative"] = (joined["ns_per_packet"] / joined["ns_per_packet_trial"]).astype(float).clip(0.05, 20)
    joined["time_s"] = (joined["end_ns"] - joined.groupby("trial_id")["start_ns"].transform("min")) / 1e9
    joined["number"] = joined.groupby("trial_id")["end_ns"].rank(method="first")
    order, hue = cell_data.configuration_order(done[done["trial_id"].isin(joined["trial_id"])]), strategy_looks(joined)
    lines = {"x": "time_s", "y": "relative", **BY_COLOUR, "legend": False}
    grid = sns.relplot(
        joined, kind="line", **lines, units="trial_id", estimator=None, hue_order=list(hue), linewidth=0.5, alpha=0.5,
        rasterized=True, facet_kws={"sharex": False}, **panels("configuration", order, 1.9, 3),
    )  # fmt: skip
    for _, axis, mine in by_panel(grid, joined):
        middle = mine.groupby(["strategy", "number"], observed=True)[["time_s", "relative"]].median().reset_index()
        sns.lineplot(middle, **lines, linewidth=2, ax=axis)
        axis.axvspan(0, float(mine.loc[mine["phase"] != "measured", "time_s"].max()), color=WARM_UP, zorder=0)
        axis.xaxis.set_major_locator(MaxNLocator(3))
    rule(grid, y=1, linewidth=0.7, linestyle="-")
    log_axes(grid, "y", joined["relative"])
    words = f"Cost of iterations over time in case {case}, {joined['trial_id'].nunique()} trials."
    handles = [mark(name, colour, line="-", width=2) for name, (colour, _) in hue.items()]
    return finish(grid, words, 4, panel_names(order), handles, "seconds", "cost over the mean")


def stability(trials: pd.DataFrame) -> Figure:
    """How far two trials of one and the same configuration lie apart: share of pairs within a ratio, by strategy, and
    the effect that matters, beyond which a pair differs by more than what is asked."""
    cells, effect = cell_data.with_cost(trials).groupby(list(CONFIGURATION), observed=True), effect_that_matters()
    both = [(key, two) for key, cell in cells["ns_per_packet"] for two in combinations(cell.astype(float), 2)]
    pairs = pd.DataFrame([(*key, max(two) / min(two)) for key, two in both], columns=[*CONFIGURATION, "ratio"])
    if pairs.empty:
        return nothing("no two trials of one configuration have finished yet")
    hue = strategy_looks(pairs)
    grid = sns.displot(pairs, kind="ecdf", x="ratio", **BY_COLOUR, hue_order=list(hue), linewidth=1.8,
                       **size(1, 3))  # fmt: skip
    for line, name in zip(grid.ax.lines, reversed(hue), strict=True):
        line.set_linestyle(_DASHES[name])
    rule(grid, x=effect)
    grid.ax.annotate(f" {effect:g}: equivalence margin", (effect, 0.04))
    grid.set(xlim=(1, max(1.5 * effect - 0.5, float(np.quantile(pairs["ratio"], 0.99)))))
    grid.set_axis_labels("two trials of one configuration: dearer over cheaper", "share of pairs within")
    within = float((pairs["ratio"] <= effect).mean())
    words = f"Of {len(pairs)} pairs of trials of one configuration, {within:.0%} lie within a factor of {effect:g}"
    handles = [mark(name, colour, line=_DASHES[name], width=2) for name, (colour, _) in hue.items()]
    return finish(grid, f"{words}; half of them within {pairs['ratio'].median():.3g}.", 4, handles=handles)


def memory_price(trials: pd.DataFrame) -> Figure:
    """What a strategy holds in memory, MiB, by configuration and case: the process's peak, the median with the least
    and the greatest trial, and as a cross what the buffers of its full pool take at least while nothing is in
    flight."""
    done = cell_data.with_cost(trials).dropna(subset=["peak_rss_mb"])
    done = done[done["case"].isin(CASES)].astype({"peak_rss_mb": float})
    if done.empty:
        return nothing(_NOTHING)
    order, hue = cell_data.configuration_order(done), strategy_looks(done)
    label = "resident memory, MiB (log scale)"
    grid = points(done, "peak_rss_mb", order, hue, label, col_order=present(CASES, done["case"]))
    idle_mb = done.groupby("strategy")["pool_size"].max().astype(float) * BUFFER_BYTES / 2**20
    held = {name: float(idle_mb[name]) for name in hue if STRATEGIES[name].pool_size and idle_mb[name] > 0}
    for place, name in enumerate(hue):
        rows = np.arange(len(order)) + 0.8 * place / len(hue) - 0.4 * (1 - 1 / len(hue))
        for axis in grid.axes.flat if name in held else ():
            axis.plot([held[name]] * len(order), rows, linestyle="", marker="x", markersize=4, color=COLOURS[name])
    log_axes(grid, "x", [*done["peak_rss_mb"], *held.values()], most=3)
    idle = "".join(f"; an idle {name} holds at least {stats.significant(mb)} MiB" for name, mb in held.items())
    text = f"Peak resident memory by configuration and case{idle}."
    return finish(grid, text, 5, CASE_WORDS, [*marks(hue), mark("idle pool, at least", INK, "x")])
