"""Real time in pictures: minimum sustainable inter-arrival times, losses against interval and over time, and the
decision map."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from allocpool.evidence import style
from allocpool.evidence.style import GREY, GRID, INK, by_panel, finish, log_axes, mark, marks, nothing, panels, rule
from allocpool.evidence.trials import finished, records, spelled_out
from allocpool.packets import style as packets
from allocpool.packets.cells import CONFIGURATION, configuration_order, present
from allocpool.packets.specs import CASES
from allocpool.packets.style import BY_COLOUR, STRATEGY_STYLE, ends, strategy_looks
from allocpool.stats import significant
from allocpool.studies.realtime import decision_map as maps
from allocpool.studies.realtime.cells import cell_trials
from allocpool.studies.realtime.specs import PDR_LOSS_RATIO

_NOTHING_LOST_PPM = 0.3
"""Where a logarithmic axis shows that nothing was lost, if all losses are larger."""
_LOSSES = "#b00020"
_NO_TRIAL = "no single trial has finished yet"


def _floored(lost_ppm: pd.Series) -> tuple[pd.Series, float]:
    """Losses of a million for a logarithmic axis, and its foot, where none are: no empty decades below the smallest."""
    some = lost_ppm[lost_ppm > 0]
    foot = max(_NOTHING_LOST_PPM, float(some.min()) / 5) if len(some) else _NOTHING_LOST_PPM
    return lost_ppm.astype(float).clip(lower=foot), foot


def loss_curves(tables: Mapping[str, pd.DataFrame], case: str = "B") -> Figure:
    """Loss against interval, every trial that cells are fitted to; a panel for each configuration that was tried in
    this case, or where none was in the lightest."""
    joined = finished(cell_trials(tables))
    if joined.empty:
        return nothing("no adaptive trial and no search has finished yet")
    cases = present(CASES, joined["case"])
    case = case if case in cases else cases[0]
    joined = joined[joined["case"] == case].astype({"interval_ns": float})
    order, hue = configuration_order(joined), strategy_looks(joined)
    joined["lost"], lowest = _floored(joined["lost_ppm"])
    grid = sns.relplot(
        joined, x="interval_ns", y="lost", **BY_COLOUR, **packets.BY_MARKER, legend=False, alpha=0.75, s=40,
        rasterized=True, **panels("configuration", order, 1.6, 3),
    )  # fmt: skip
    narrow = len(order) > 2  # three figures of many digits would touch
    log_axes(grid, "x", joined["interval_ns"], most=1 if narrow else 4)
    log_axes(grid, "y", [lowest, *joined["lost"]], 1.6)
    rule(grid, y=1e6 * PDR_LOSS_RATIO, linewidth=0.7)
    words = ends(joined[joined["lost_ppm"] == 0], "interval_ns", CONFIGURATION[:2], "ns")
    text = f"Losses against interval in case {case}, {len(joined)} trials; intervals without a loss go {words}."
    return finish(grid, text, 4, packets.panel_names(order), marks(hue), f"interval, ns (log scale), case {case}",
                  "lost of a million (lowest: none)")  # fmt: skip


def loss_over_time(samples: pd.DataFrame, trials: pd.DataFrame) -> Figure:
    """Share of ticks lost in each tenth of a second, one panel per trial of the first repetition that lost any; warm-up
    shaded."""
    facts = finished(trials)
    facts = facts[facts["block"] == facts["block"].min()]
    facts = facts.astype({"input_queue_ms": float}).fillna({"heap_factor": 1.0})
    varied = {"case": "case {}", "input_queue_ms": "queue {:g} ms", "heap_factor": "heap x{:g}"}
    varied = {name: words for name, words in varied.items() if facts[name].nunique() > 1}
    named = facts.assign(
        name=[
            f"{spelled_out(row.configuration)}, {row.strategy}\n"
            + ", ".join(words.format(getattr(row, name)) for name, words in varied.items())
            for row in records(facts)
        ]
    )
    joined = samples.merge(named[["trial_id", *CONFIGURATION, "name"]], on="trial_id")
    joined = joined[joined["generated"] > 0]
    if joined.empty:
        return nothing(_NO_TRIAL)
    joined["percent"] = (100 * joined["lost"] / joined["generated"]).astype(float)
    every = joined["name"].nunique()
    joined = joined[joined.groupby("name")["lost"].transform("sum") > 0]
    if joined.empty:
        return nothing("no single trial lost anything")
    names = sorted(joined["name"].unique())
    grid = sns.relplot(
        joined.sort_values("end_s"), kind="line", x="end_s", y="percent", drawstyle="steps-pre",
        color=_LOSSES, estimator=None, **panels("name", names, 1.6),
    )  # fmt: skip
    for axis in grid.axes.flat:
        axis.axvspan(min(0.0, float(joined["end_s"].min())), 0, color=style.WARM_UP, zorder=0)
    grid.set(ylim=(-3, 103))
    totals = joined.groupby("name")[["lost", "generated"]].sum().astype(float).reset_index()
    words = ends(totals.assign(percent=100 * totals["lost"] / totals["generated"]), "percent", ["name"], "%")
    rest = f"{every - len(names)} of {every} trials lost nothing and have no panel." if every > len(names) else ""
    return finish(grid, f"Losses over time; a trial loses {words}. {rest}", x="seconds after the warm-up", y="lost, %")


_REGION_STYLE = {
    maps.EITHER: ("#ffffff", ""),
    maps.POOL_ONLY: (f"{style.BLUE}26", "///"),
    maps.ALLOCATE_ONLY: (f"{style.VERMILION}26", "..."),
    maps.NEITHER: (f"{style.GREY}66", ""),
}
"""Colour, through which the page shows, light or dark, and hatch: without colours they differ by the hatch and by how
dark they are."""
_LINES: Mapping[str, Literal["-", "--"]] = {"alloc": "-", "pool": "--"}
_LANDSCAPE = 60


def decision_map(tables: Mapping[str, pd.DataFrame], point: tuple[float, float] | None = None) -> Figure:
    """Which strategy keeps up, by messages alive (across) and messages a second (up), a panel for each collector and
    deadline of table ``map`` (`allocpool.studies.realtime.decision_map.boundaries`).

    Lines: the highest rate without a loss; bands: 95%, whenever one looks; between them the regions. ``point`` is the
    reader's own: messages alive, messages a second. Grey: a live set without a figure. A panel has one boundary at
    least; `map_story.caption` lists those that are not known.
    """
    found = maps.within_tried(tables["map"])
    known = found[found["edge_ns"].notna()]
    if known.empty:
        return nothing("no boundary is known yet")
    lives = [*found["live_messages"], *(point[:1] if point else ())]
    rates = [*1e9 / tables["map"]["interval_ns"].astype(float), *(point[1:] if point else ())]
    found = found.assign(
        panel=found["configuration"].map(spelled_out) + found["deadline_ms"].map("\nwithin {:g} ms".format)
    )
    found = found[found["panel"].isin(found.loc[found["edge_ns"].notna(), "panel"])]
    names = (
        found.sort_values("deadline_ms", kind="stable").groupby("configuration", sort=False)["panel"].unique().explode()
    )
    grid = sns.FacetGrid(found, **panels("panel", names, 3, max(2, found["deadline_ms"].nunique())))
    limits = min(rates) / 2, max(rates) * 2
    for _, axis, mine in by_panel(grid, found):
        _map_panel(axis, mine, limits)
        if point:
            axis.plot(*point, marker="*", markersize=15, color=INK, markeredgecolor="white", zorder=6)
    log_axes(grid, "x", lives, 2.5, most=3)
    log_axes(grid, "y", rates, 1.5, most=5)
    handles = [mark(name, *STRATEGY_STYLE[name], line) for name, line in _LINES.items()]
    regions = [Patch(facecolor=colour, hatch=hatch, edgecolor=GREY, label=name)
               for name, (colour, hatch) in _REGION_STYLE.items()]  # fmt: skip
    own = [mark("yours", INK, "*")] if point else []
    text = f"Highest rates without a loss, messages a second. {_map_in_words(known)}"
    return finish(grid, text, 3, handles=[*handles, *regions, *own], x="messages alive", y="messages a second")


def _map_in_words(known: pd.DataFrame) -> str:
    """Of each panel and strategy the boundary from the smallest to the largest live set."""
    found = []
    for (configuration, deadline_ms), panel in known.groupby(
        ["configuration", "deadline_ms"], sort=False, observed=True
    ):
        sides = []
        for strategy, side in panel.sort_values("live_messages").groupby("strategy", observed=True):
            ends = side.drop_duplicates("live_messages").iloc[[0, -1] if len(side) > 1 else [0]]
            rates = [
                f"{'at least ' * row.at_least}{significant(1e9 / row.edge_ns)} with {row.live_messages:,} alive"
                for row in records(ends)
            ]
            sides.append(f"{strategy} keeps up to {' and to '.join(rates)}")
        found.append(f"{configuration} within {deadline_ms:g} ms: {'; '.join(sides)}.")
    return " ".join(found)


def _map_panel(axis: Axes, panel: pd.DataFrame, rates: tuple[float, float]) -> None:
    """Both boundaries with their bands, and the regions between them, where both are known."""
    lines = {}
    for strategy, line in _LINES.items():
        rows = panel[(panel["strategy"] == strategy) & panel["edge_ns"].notna()].sort_values("live_messages")
        colour, marker = STRATEGY_STYLE[strategy]
        edges = 1e9 / rows[["edge_ns", "edge_high_ns", "edge_low_ns"]].astype(float).clip(lower=1e-9)
        lives = rows["live_messages"].to_numpy(float)
        low, high = (edges[end].clip(*rates) for end in ("edge_high_ns", "edge_low_ns"))
        axis.fill_between(lives, low, high, color=colour, alpha=0.3, linewidth=0, zorder=3)
        axis.plot(lives, edges["edge_ns"], color=colour, linestyle=line, marker=marker, markeredgecolor="white",
                  zorder=4)  # fmt: skip
        lines[strategy] = np.log([lives, edges["edge_ns"].to_numpy()])
    for live in panel.groupby("live_messages")["edge_ns"].count().loc[lambda known: known == 0].index:
        axis.axvspan(live / 1.3, live * 1.3, color=GRID, zorder=0.5)
    shared = sorted(set(lines["alloc"][0]) & set(lines["pool"][0]))
    if len(shared) < 2:
        return
    across = np.linspace(shared[0], shared[-1], _LANDSCAPE)
    alloc, pool = (np.exp(np.interp(across, *lines[name])) for name in _LINES)
    both, one = np.minimum(alloc, pool), np.maximum(alloc, pool)
    for name, least, most, where in (
        (maps.EITHER, rates[0], both, None),
        (maps.POOL_ONLY, both, one, pool >= alloc),
        (maps.ALLOCATE_ONLY, both, one, alloc >= pool),
        (maps.NEITHER, one, rates[1], None),
    ):
        colour, hatch = _REGION_STYLE[name]
        axis.fill_between(np.exp(across), least, most, where=where, facecolor=colour, hatch=hatch, edgecolor="#bbbbbb",
                          linewidth=0, zorder=1)  # fmt: skip
