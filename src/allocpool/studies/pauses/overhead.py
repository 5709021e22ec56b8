"""Lower-bound overhead: what a collector costs at least, without knowing what a program without one would cost.

Z. Cai, S. M. Blackburn, M. D. Bond and M. Maas, "Distilling the Real Cost of Production Garbage Collectors", ISPASS
2022: take from each collector's total cost what surely is collection, here its stop-the-world pauses (wall) or the CPU
time of the collector's own threads (CPU). The least of these remainders over all collectors is still no less than the
program alone, so total / least is a lower bound of each collector's overhead. Costs beside the program, as barriers and
lost cache lines, stay in the remainder: true overheads are larger.
"""

from __future__ import annotations

import pandas as pd

from allocpool import stats
from allocpool.packets.cells import CONTROLS, with_cost
from allocpool.packets.strategies import CHOICES

SAME_PROGRAM = ("layout", "runtime", "strategy", "case", "scale")
"""Collectors are compared where the program is the same; another runtime compiles another program."""
COLUMNS = [
    "solution", "layout", "runtime", "collector", "strategy", "case", "scale", "clock", "lbo", "low", "high", "method",
    "n", "total_ns", "base_ns", "base_solution", "collectors", "above_base_ns",
]  # fmt: skip


def per_packet_costs(trials: pd.DataFrame, cpu: pd.DataFrame) -> pd.DataFrame:
    """Total and remainder of each finished Java trial by clock, in ns per packet.

    ``trials`` and ``cpu`` are the batch study's tables. Adds columns ``clock`` (wall, CPU), ``total_ns``,
    ``remainder_ns``: the total less pauses (wall) or less the collector's threads (CPU).
    """
    done = with_cost(trials)
    done = done[(done["language"] == "java") & done["gc_pause_total_ms"].notna()]
    pauses_ns = done["gc_pause_total_ms"].astype(float) * 1e6 / done["packets"].astype(float)
    wall = done.assign(clock="wall", total_ns=done["ns_per_packet"].astype(float))
    # A pause that began inside the window may end after it.
    wall = wall.assign(remainder_ns=(wall["total_ns"] - pauses_ns).clip(lower=0.0))
    spent = cpu[cpu["thread_group"] == "gc"].set_index("trial_id")["cpu_ns"]
    gc_ns = done["trial_id"].map(spent).astype(float) / done["packets"].astype(float)
    busy = done.assign(clock="CPU", total_ns=done["cpu_ns_per_packet"].astype(float))
    busy = busy.assign(remainder_ns=(busy["total_ns"] - gc_ns).clip(lower=0.0))
    both = pd.concat([wall, busy], ignore_index=True)
    return both[(both["remainder_ns"] > 0) & both["total_ns"].notna()]


def lower_bound_overhead(trials: pd.DataFrame, cpu: pd.DataFrame) -> pd.DataFrame:
    """Lower-bound overhead of each solution, strategy and case, by clock; 1 is no overhead shown.

    Columns: the configuration, ``lbo`` with ``low``, ``high``, ``method`` and ``n`` over trials, ``total_ns``
    (geometric mean), ``base_ns`` (the least remainder, a geometric mean over trials, of ``base_solution``),
    ``collectors`` (how many took part: with one, the bound is its own) and ``above_base_ns``: collection cost per
    packet, at least. The interval is over the trials of the cell, its base held fixed.
    """
    costs = per_packet_costs(trials, cpu)
    rows = []
    for _, group in costs.groupby([*SAME_PROGRAM, "clock"], observed=True):
        remainders = {str(name): stats.geometric_mean(part["remainder_ns"]) for name, part in group.groupby("solution")}
        base_solution = min(remainders, key=lambda name: remainders[name])
        base_ns = remainders[base_solution]
        for solution, part in group.groupby("solution"):
            first = part.iloc[0]
            bound = stats.geometric_interval(part["total_ns"] / base_ns)
            total_ns = stats.geometric_mean(part["total_ns"])
            rows.append({
                **{name: first[name] for name in (*SAME_PROGRAM, "collector", "clock")},
                "solution": solution, "lbo": bound.estimate, "low": bound.low, "high": bound.high,
                "method": bound.method, "n": bound.trials, "total_ns": total_ns, "base_ns": base_ns,
                "base_solution": base_solution, "collectors": len(remainders), "above_base_ns": total_ns - base_ns,
            })  # fmt: skip
    return pd.DataFrame(rows, columns=COLUMNS)


def saved_by_pooling(overheads: pd.DataFrame, clock: str = "wall") -> pd.DataFrame:
    """How much collection cost pooling saves at least-bound: one row per solution and case with both strategies.

    Columns: solution, layout, runtime, collector, case, ``alloc_lbo``, ``pool_lbo``, ``alloc_ns``, ``pool_ns``
    (collection cost per packet above the strategy's own base) and ``saved_ns``, negative where pooling costs more.
    Where one collector ran alone, its bound says nothing: such rows are left out.
    """
    keys = ["solution", "layout", "runtime", "collector", "case", "scale"]
    chosen = overheads[(overheads["clock"] == clock) & (overheads["collectors"] > 1)]
    sides = [
        chosen.loc[chosen["strategy"] == name, [*keys, "lbo", "above_base_ns"]].rename(
            columns={"lbo": f"{name}_lbo", "above_base_ns": f"{name}_ns"}
        )
        for name in ("alloc", "pool")
    ]
    both = sides[0].merge(sides[1], on=keys)
    return both.assign(saved_ns=both["alloc_ns"] - both["pool_ns"]).reset_index(drop=True)


def sentence(overheads: pd.DataFrame) -> str:
    """Who pays most and least for collecting, per strategy, by the wall."""
    chosen = overheads[(overheads["clock"] == "wall") & (overheads["collectors"] > 1)]
    chosen = chosen[~chosen["collector"].isin(CONTROLS) & chosen["strategy"].isin(CHOICES)]
    lines = []
    for strategy, group in chosen.groupby("strategy", sort=False):
        worst, best = group.nlargest(1, "lbo").iloc[0], group.nsmallest(1, "lbo").iloc[0]
        lines.append(f"with {strategy}, at least {_times(best)} and at most {_times(worst)}" if len(group) > 1 else "")
    extremes = "; ".join(line for line in lines if line)
    return (
        f"Lower bounds of the cost of collecting, times the program: {extremes}."
        if extremes
        else "Nothing to compare yet."
    )


def _times(row: pd.Series) -> str:
    return f"{stats.significant(float(row['lbo']))} ({row['solution']}, case {row['case']})"
