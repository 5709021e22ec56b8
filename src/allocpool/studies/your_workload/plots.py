"""Figures of the advice (cost, headroom, delays, what turns the answer), and of the study."""

from __future__ import annotations

import math
import textwrap
from typing import Any

import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from allocpool import stats
from allocpool.decisions import compare, effect_that_matters
from allocpool.evidence import style
from allocpool.evidence.style import by_panel, finish, log_axes, mark, marks, nothing, panels, stated
from allocpool.packets.cells import present
from allocpool.packets.style import STRATEGY_STYLE, points
from allocpool.studies.your_workload.advice import Advice
from allocpool.studies.your_workload.claims import label_of, pairs
from allocpool.studies.your_workload.story import PARAMETERS
from allocpool.studies.your_workload.workload import ALLOC, MIX, NETTY, POOL, REUSE

_LOOKS = {
    **{name: STRATEGY_STYLE[name] for name in (ALLOC, POOL, MIX)}, NETTY: (style.GREEN, "s"),
    REUSE: (style.SKY, "v"), "fitted": (style.PURPLE, "P"), "zeroed": (style.SILVER, "X"),
}  # fmt: skip
_NOTHING = "Nothing was measured yet"
_COST, _ROOM, _DELAY = "CPU, ns a message", "begins to lose at, messages a second", "delay at your rate, ms"
_PERCENTILES = {"delay_p50_ms": "p50", "delay_p99_ms": "p99", "delay_p999_ms": "p99.9"}
_MARKS = dict(zip(_PERCENTILES.values(), "os^", strict=True))
_RATIO = "CPU a message, allocation / pool"
_LEAST, _MOST = 0.05, 20.0
"""What an axis of ratios shows at most."""


def overview(advice: Advice) -> Figure:
    """Draw cost, headroom and delays one below the other, as far as they were measured."""
    names = [name for name in advice.workload.strategies if advice.figures[name].costs or advice.figures[name].paced]
    rooms = [(_ROOM, name, room.rate_per_s, room.low_per_s, room.high_per_s)
             for name, room in advice.headroom.items() if room.rate_per_s]  # fmt: skip
    costs = [(_COST, name, cost) for name in names for cost in advice.figures[name].costs]
    means = [
        (_COST, name, mean.estimate, mean.low, mean.high) for name in names if (every := advice.figures[name].costs)
        for mean in [stats.geometric_interval(every)]
    ]  # fmt: skip
    medians = [{"strategy": name} | vars(advice.figures[name]) for name in names]
    delays = pd.DataFrame(medians, columns=["strategy", *_PERCENTILES]).rename(columns=_PERCENTILES)
    delays = delays.melt("strategy", var_name="percentile", value_name="ms").astype({"ms": float}).query("ms > 0")
    shown = [panel for panel, some in {_COST: costs, _ROOM: rooms, _DELAY: len(delays)}.items() if some]
    if not shown:
        return nothing(_NOTHING)
    table = pd.DataFrame([*means, *rooms], columns=["panel", "strategy", "value", "low", "high"])
    table = table.astype(dict.fromkeys(("value", "low", "high"), float)).replace(math.inf, math.nan)
    grid = points(
        table, "value", names, {name: _LOOKS[name] for name in names}, "", y="strategy", col="panel", col_order=shown,
        columns=1, trials=pd.DataFrame(costs, columns=["panel", "strategy", "value"]), sharex=False,
    )  # fmt: skip
    yours: dict[str, Any] = {"color": style.GREY, "linestyle": "--", "linewidth": 1.2}
    for panel, axis, mine in by_panel(grid, table):
        if panel == _COST:
            axis.set_xlim(left=0)
        if panel == _ROOM:
            axis.axvline(advice.workload.rate_per_s, **yours)
            known = mine[["value", "low", "high"]].to_numpy().ravel()
            log_axes(axis, "x", [advice.workload.rate_per_s, *known], 1.6, most=5)
        if panel == _DELAY:
            sns.scatterplot(delays, x="ms", y="strategy", hue="strategy", style="percentile", markers=_MARKS, s=70,
                            legend=False, palette={name: _LOOKS[name][0] for name in names}, ax=axis)  # fmt: skip
            axis.axvline(advice.workload.delay_ms, **yours)
            log_axes(axis, "x", [advice.workload.delay_ms, *delays["ms"]], 1.6, most=5)
            axis.set(xlabel="", ylabel="")
    handles = [mark(name, marker=look) for name, look in _MARKS.items()] if _DELAY in shown else []
    return finish(grid, f"Your workload: {'; '.join(shown)}.", handles=handles)


def robustness(advice: Advice) -> Figure:
    """Draw allocation over the pool against each parameter that was tried, one at a time."""
    tried = pd.DataFrame(advice.explored).replace(math.inf, math.nan)
    if tried.empty:
        return nothing("what turns the answer was not measured yet")
    # A value of 0 has no place on a logarithmic axis: it stands one step below the smallest other.
    zeros = {name: float(mine[mine > 0].min()) / 4 for name, mine in tried.groupby("parameter")["value"]}
    tried["place"] = tried["value"].mask(tried["value"] == 0, tried["parameter"].map(zeros).fillna(0.25))
    grid = sns.relplot(
        stated(tried, "ratio"), kind="line", x="place", y="ratio", color=style.INK, marker="o", **style.BARS,
        facet_kws={"sharex": False}, **panels("parameter", present(PARAMETERS, tried["parameter"]), 2.4),
    )  # fmt: skip
    for name, axis, mine in by_panel(grid, tried):
        losing = mine[mine["loses"].map(bool)]
        axis.plot(losing["place"], losing["ratio"], marker="o", linestyle="", color=style.VERMILION, zorder=4)
        axis.axhspan(1 / effect_that_matters(), effect_that_matters(), color=style.SILVER, alpha=0.25, linewidth=0)
        axis.axvline(advice.workload.value_of(name) or zeros[name], color=style.GREY, linestyle="--", linewidth=1.2)
        log_axes(axis, "x", mine["place"], 2.0, most=3)
        axis.set_xlabel("")
    log_axes(grid, "y", tried[["low", "ratio", "high"]].clip(_LEAST, _MOST).to_numpy().ravel())
    handles = [mark("tried, with its interval", style.INK, "o", "-"), mark("yours", style.GREY, line="--"),
               mark("loses too much at your rate", style.VERMILION, "o")]  # fmt: skip
    return finish(grid, "CPU of allocation over the pool, one parameter changed.", 3, PARAMETERS, handles, y=_RATIO)


def set_ups(trials: pd.DataFrame) -> Figure:
    """Draw allocation over the pool in every workload of the study, with its interval."""
    found = [
        (textwrap.fill(label_of(facts), 30), name, ratio.estimate, ratio.low, ratio.high)
        for name in (POOL, REUSE)
        for facts, alloc, pool in pairs(trials, ALLOC, name)
        if (ratio := compare(alloc, pool).ratio) is not None
    ]
    if not found:
        return nothing(_NOTHING)
    table = pd.DataFrame(found, columns=["set-up", "pool", "ratio", "low", "high"]).replace(math.inf, math.nan)
    hue = {name: _LOOKS[name] for name in (POOL, REUSE) if name in set(table["pool"])}
    grid = points(table, "ratio", list(table["set-up"].unique()), hue, _RATIO, by="pool", y="set-up", col=None)
    grid.figure.set_figheight(1.2 + 0.9 * table["set-up"].nunique())
    grid.ax.axvspan(1 / effect_that_matters(), effect_that_matters(), color=style.SILVER, alpha=0.25, linewidth=0)
    log_axes(grid, "x", table[["ratio", "low", "high"]].clip(_LEAST, _MOST).to_numpy().ravel(), most=5)
    return finish(grid, "CPU a message of allocation over the pool, by workload.", handles=marks(hue))
