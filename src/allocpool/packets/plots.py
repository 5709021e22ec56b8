"""Whether the figures can be trusted: warm-up, agreement between trials."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from allocpool.decisions import effect_that_matters
from allocpool.evidence.style import WARM_UP, by_panel, finish, log_axes, mark, nothing, panels, rule, size
from allocpool.packets import cells as cell_data
from allocpool.packets.cells import CONFIGURATION
from allocpool.packets.style import BY_COLOUR, strategy_looks, two_lines


def warm_up_curves(iterations: pd.DataFrame, trials: pd.DataFrame, case: str) -> Figure:
    """Draw the cost of each iteration over the trial's measured mean: thin lines are trials, thick ones their median.
    Filling and warm-up are shaded: a line that has not settled at 1 where they end shows a too short warm-up."""
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
    text = f"Cost of iterations over time in case {case}, {joined['trial_id'].nunique()} trials."
    handles = [mark(name, colour, line="-", width=2) for name, (colour, _) in hue.items()]
    return finish(
        grid, text, 4, {name: two_lines(name, 19) for name in order}, handles, "seconds", "cost over the mean"
    )


def stability(trials: pd.DataFrame) -> Figure:
    """Draw how far two trials of one configuration lie apart: share of pairs within a ratio, by strategy, and the
    equivalence margin."""
    cells, effect = cell_data.with_cost(trials).groupby(list(CONFIGURATION), observed=True), effect_that_matters()
    both = [(key, two) for key, cell in cells["ns_per_packet"] for two in combinations(cell.astype(float), 2)]
    pairs = pd.DataFrame([(*key, max(two) / min(two)) for key, two in both], columns=[*CONFIGURATION, "ratio"])
    if pairs.empty:
        return nothing("no two trials of one configuration have finished yet")
    hue = strategy_looks(pairs)
    grid = sns.displot(pairs, kind="ecdf", x="ratio", **BY_COLOUR, hue_order=list(hue), legend=False, **size(1, 3))
    rule(grid, x=effect)
    grid.ax.annotate(f" {effect:g}: equivalence margin", (effect, 0.04))
    grid.set(xlim=(1, max(1.5 * effect - 0.5, float(np.quantile(pairs["ratio"], 0.99)))))
    grid.set_axis_labels("two trials of one configuration: dearer over cheaper", "share of pairs within")
    text = f"Of {len(pairs)} pairs of trials, {(pairs['ratio'] <= effect).mean():.0%} lie within the margin."
    return finish(grid, text, 4, handles=[mark(name, colour, line="-") for name, (colour, _) in hue.items()])
