"""Figures of what stops a program: pauses, overhead, live sets, causes of losses."""

from __future__ import annotations

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from allocpool.evidence import style
from allocpool.evidence.style import by_panel, colour_of, finish, log_axes, mark, marks, nothing, panels, rule
from allocpool.evidence.trials import records, spelled_out
from allocpool.packets import style as packets
from allocpool.packets.cells import CONTROLS, ORDERED_BY, configuration_order, present, with_cost
from allocpool.packets.specs import CASES
from allocpool.packets.strategies import CHOICES, STRATEGIES
from allocpool.packets.style import CASE_WORDS, strategy_looks, two_lines
from allocpool.runtimes.collectors import collector_named
from allocpool.studies.pauses.tables import ALL_CAUSES

_FACTS = ["trial_id", "configuration", *ORDERED_BY, "strategy", "case"]
_CAUSES = {
    "stop on purpose": (style.GREEN, ".."),
    "full or degenerated collection": ("#b00020", "xx"),
    "other pause": (style.VERMILION, "//"),
    "other safepoint": (style.ORANGE, "--"),
    "time to safepoint": (style.PURPLE, "\\\\"),
    "allocation stall": (style.PLUM, "++"),
    "source stall": (style.SKY, "oo"),
    "nothing known": ("#cccccc", ""),
}


def pause_distributions(pauses: pd.DataFrame, trials: pd.DataFrame) -> Figure:
    """Return the share of pauses at least as long as a length, log-log, one line per configuration; panels by case and
    strategy."""
    done = with_cost(trials)
    done = done[(done["mode"] == "batch") & (done["layout"] == "heap") & ~done["collector"].isin(CONTROLS)]
    done = done[done["strategy"].isin(["alloc", "pool"])]
    joined = pauses.merge(done[_FACTS], on="trial_id").astype({"duration_ms": float})
    joined = joined[joined["duration_ms"] > 0]
    if joined.empty:
        return nothing("no pause was measured")
    groups = joined.groupby(["case", "strategy", "configuration"], observed=True)["duration_ms"]
    collectors = {name: collector_named(name) for name in joined["collector"].unique()}
    joined = joined.assign(
        share=groups.rank(ascending=False, method="max", pct=True),
        release=["JDK " + " ".join(each.split(" / ")[2:]) for each in joined["configuration"]],
        panel=joined["case"].map(CASE_WORDS) + ", " + joined["strategy"],
        label=joined["collector"].map({name: collector.label for name, collector in collectors.items()}),
    )
    shown = present((f"{CASE_WORDS[case]}, {one}" for case in CASES for one in STRATEGIES), joined["panel"])
    palette = {collector.label: collector.colour for collector in collectors.values()}
    grid = sns.relplot(
        joined, kind="line", x="duration_ms", y="share", hue="label", palette=palette, style="release",
        style_order=sorted(joined["release"].unique()), units="configuration", estimator=None, drawstyle="steps-pre",
        **panels("panel", shown, 2.3),
    )  # fmt: skip
    log_axes(grid, "x", joined["duration_ms"].clip(lower=1e-3))
    log_axes(grid, "y", joined["share"])
    grid.set_axis_labels("length of a pause, ms (log)", "share at least as long")
    return finish(grid, "How long pauses last, by case and strategy.", 4)


def overhead_by_strategy(overheads: pd.DataFrame) -> Figure:
    """Return the lower-bound overhead per configuration (rows) and strategy (marker) of heap buffers; panels by clock
    and case."""
    rows = overheads[(overheads["layout"] == "heap") & overheads["strategy"].isin(CHOICES)]
    rows = rows[~rows["collector"].isin(CONTROLS)]
    if rows.empty:
        return nothing("no overhead to show yet")
    rows = rows.assign(panel=rows["clock"] + ", case " + rows["case"].astype(str), language="java")
    cases, hue = present(CASES, rows["case"]), strategy_looks(rows)
    grid = packets.points(
        rows, "lbo", configuration_order(rows), hue, "least total cost over that of the program alone (log scale)",
        col="panel", col_order=[f"{clock}, case {case}" for clock in ("wall", "CPU") for case in cases],
        columns=len(cases),
    )  # fmt: skip
    log_axes(grid, "x", [1, 1.5, rows["high"].max()], 1.1)
    rule(grid, x=1, linestyle="-")
    return finish(grid, "Lower bound of the total cost over the cost of the program alone.", 3, handles=marks(hue))


def live_set_scaling(points: pd.DataFrame, fits: pd.DataFrame) -> Figure:
    """Return each measure against live objects, one mark per trial, with the fitted lines; both axes logarithmic."""
    if points.empty:
        return nothing("no live set was measured")
    shown, looks = packets.by_collector(points)
    shown = shown.assign(millions=shown["live_objects"] / 1e6, ms=shown["cost_ns"] / 1e6)
    grid = sns.relplot(shown, x="millions", y="ms", **looks, s=40, facet_kws={"sharey": False},
                       **panels("measure", list(shown["measure"].unique()), 2.6))  # fmt: skip
    at = np.geomspace(shown["millions"].min(), shown["millions"].max(), 60)
    for measure, axis, mine in by_panel(grid, shown):
        for row in records(fits[fits["measure"] == measure]):
            axis.plot(at, row.fit.cost_ns(1e6 * at) / 1e6, color=colour_of(row.collector), linewidth=1,
                      ls="-" if row.strategy == "pool" else "--")  # fmt: skip
        axis.plot(at, 0.1e3 * at, color=style.INK, linewidth=0.8, linestyle=":", zorder=1)
        log_axes(axis, "y", mine["ms"], 1.6)
        axis.set_ylabel("ms per collection" if measure == "collector CPU" else "ms")
    log_axes(grid, "x", at)
    grid.set_xlabels("live objects, million")
    handles = [*packets.collector_and_strategy(shown), mark("100 ns per object", style.INK, line=":", width=0.8)]
    return finish(grid, "What a collection takes against live objects.", 4, handles=handles)


def lost_by_cause(attribution: pd.DataFrame, losses: pd.DataFrame) -> Figure:
    """Return the share of the packets lost by what overlapped it, one bar per real-time trial of the first block that
    lost any; those that were stopped on purpose by what was done."""
    named = losses[losses["block"] == losses["block"].min()].copy()
    named["name"] = [
        f"{spelled_out(row.configuration)}, {row.strategy} {row.case} / queue {row.input_queue_ms:g} ms"
        + (f", {row.disturbance.replace('_', ' ')}" if pd.notna(row.disturbance) else f", heap {row.heap_mb} MB")
        for row in records(named)
    ]
    lost = attribution.merge(named[["trial_id", "name"]], on="trial_id").astype({"lost": float})
    if lost.empty:
        return nothing("no packet was lost")
    lost = lost.groupby(["name", "cause"], observed=True)["lost"].sum().reset_index()
    totals = lost.groupby("name")["lost"].transform("sum")
    names = lost["name"] + totals.map(", {:,.0f} lost".format)
    lost = lost.assign(share=100 * lost["lost"] / totals, name=names.map(two_lines))
    order = sorted(lost["name"].unique())
    styles = {cause: _CAUSES[cause] for cause in present(ALL_CAUSES, lost.loc[lost["lost"] > 0, "cause"])}
    grid, handles = style.stack(lost, "share", "name", order, "cause", styles)
    grid.set(xlim=(0, 100), xlabel="share of the packets lost, %")
    return finish(grid, f"What overlapped losses, over {len(order)} trials that lost any.", 2, "", handles)
