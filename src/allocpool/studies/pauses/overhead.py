"""Lower-bound overhead: what a collector costs at least, without knowing what a program without one would cost.

Z. Cai, S. M. Blackburn, M. D. Bond and M. Maas, "Distilling the Real Cost of Production Garbage Collectors", ISPASS
2022: take from each collector's total cost what surely is collection, its stop-the-world pauses (wall) or the CPU time
of its threads (CPU). The least of these remainders, the *base*, is no less than the program alone, so total / base is a
lower bound: barriers and lost cache lines stay in the base.

The least of several noisy remainders is too low, for luck helps to choose it. So the base is chosen by all blocks but
one and read in that one, each in turn (van Hasselt, "Estimating the maximum expected value: an analysis of (nested)
cross validation and the maximum sample average", arXiv:1302.7175). Every figure is a ratio within a block.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from allocpool import decisions, stats
from allocpool.decisions import FEWEST, Comparison
from allocpool.packets.cells import CONTROLS, with_cost

_PROGRAM = ["layout", "runtime", "strategy", "case", "scale", "clock"]
"""Collectors are compared where the program is the same; another runtime compiles another program."""
_FACTS = ["configuration", "collector", *_PROGRAM]
INTERVALS = "Intervals: 95% over blocks (Student), which hold whenever one looks; savings are decided together."


def by_block(trials: pd.DataFrame, cpu: pd.DataFrame) -> pd.DataFrame:
    """Return a row per finished Java batch trial and clock: its facts, block, ``total_ns`` and ``base_ns`` per packet,
    and ``collectors``, how many took part in the choice of the base: with one, the bound is its own.

    A configuration with fewer than `FEWEST` trials is no base where others have so many.
    """
    costs = _costs(trials, cpu)
    parts = []
    for _, group in costs.groupby(_PROGRAM, observed=True):
        remainders = group.pivot_table(index="block", columns="configuration", values="remainder_ns")
        trials_each = remainders.count()
        base = least_remainders(remainders.loc[:, trials_each >= min(FEWEST, trials_each.max())])
        parts.append(group.assign(base_ns=group["block"].map(base), collectors=len(trials_each)))
    rows = pd.concat(parts) if parts else costs.assign(base_ns=np.nan, collectors=0)
    return rows.dropna(subset=["base_ns"])


def _costs(trials: pd.DataFrame, cpu: pd.DataFrame) -> pd.DataFrame:
    """``total_ns`` and ``remainder_ns`` per packet of each trial by ``clock``: less pauses (wall), or less the
    collector's threads (CPU)."""
    done = with_cost(trials)
    done = done[(done["mode"] == "batch") & (done["language"] == "java") & done["gc_pause_total_ms"].notna()]
    packets = done["packets"].astype(float)
    spent = cpu[cpu["thread_group"] == "gc"].set_index("trial_id")["cpu_ns"]
    collecting = {
        "wall": 1e6 * done["gc_pause_total_ms"].astype(float),
        "CPU": done["trial_id"].map(spent).astype(float),
    }
    totals = {"wall": done["ns_per_packet"].astype(float), "CPU": done["cpu_ns_per_packet"].astype(float)}
    # A pause that began inside the window may end after it.
    both = pd.concat([
        done.assign(clock=clock, total_ns=total, remainder_ns=(total - collecting[clock] / packets).clip(lower=0.0))
        for clock, total in totals.items()
    ])  # fmt: skip
    return both.loc[both["remainder_ns"] > 0, [*_FACTS, "block", "total_ns", "remainder_ns"]]


def least_remainders(remainders: pd.DataFrame) -> pd.Series:
    """Return the least remainder by block, cross-validated: in each that of the configuration (column) which is least
    in all other blocks, geometric means. With one block, the one chooses and judges."""
    logs = remainders.apply(np.log)
    others = logs.notna().sum() - logs.notna()
    means = ((logs.sum() - logs.fillna(0.0)) / others).where(logs.notna() & (others > 0)) if len(logs) > 1 else logs
    chosen = means.dropna(how="all").idxmin(axis=1)
    return pd.Series({block: remainders.at[block, name] for block, name in chosen.items()}, dtype=float)


def lower_bound_overhead(costs: pd.DataFrame) -> pd.DataFrame:
    """Return the bound of each configuration, strategy, case and clock of `by_block`: ``lbo`` with ``low``, ``high``
    and ``n`` over blocks, and ``collectors``. 1 is no overhead shown; none is below it."""
    rows = []
    groups: Any = costs.set_index("block").groupby([*_FACTS, "collectors"], observed=True)
    for key, group in groups:
        ratio = decisions.compare_with(group["total_ns"] / group["base_ns"], 1.0).ratio
        if ratio is not None:
            rows.append((*key, *np.maximum(1.0, (ratio.estimate, ratio.low, ratio.high)), ratio.trials))
    return pd.DataFrame(rows, columns=[*_FACTS, "collectors", "lbo", "low", "high", "n"])


def saved_by_pooling(costs: pd.DataFrame) -> tuple[pd.DataFrame, list[Comparison]]:
    """Return the configurations and cases with both strategies and their least costs of collecting, ns per packet, and
    what pooling saves of it, wall time: the cost of an allocated packet over the same with the pool's collecting.

    All are decided together. Where one collector ran alone, its bound means nothing: such rows are left out.
    """
    chosen = costs[(costs["clock"] == "wall") & (costs["collectors"] > 1) & ~costs["collector"].isin(CONTROLS)]
    keys = ["layout", "case", "runtime", "configuration", "scale"]
    chosen = chosen[[*keys, "strategy", "block", "total_ns", "base_ns"]]
    sides = [chosen[chosen["strategy"] == name] for name in ("alloc", "pool")]
    both = sides[0].merge(sides[1], on=[*keys, "block"], suffixes=("", "_pool")).set_index("block")
    alloc_ns, pool_ns = both["total_ns"] - both["base_ns"], both["total_ns_pool"] - both["base_ns_pool"]
    as_pool = both["base_ns"] + pool_ns
    ratio = (both["total_ns"] / as_pool).where(as_pool > 0)  # noise can make the pool's less than nothing
    groups = both.assign(alloc=alloc_ns, pool=pool_ns, ratio=ratio).groupby(keys, observed=True)
    names = groups[["alloc", "pool"]].mean().clip(lower=0).map(stats.significant).add_suffix(", ns per packet")
    pairs = [partial(decisions.compare_with, group["ratio"], 1.0, None) for _, group in groups]
    return names.reset_index().drop(columns=["layout", "runtime", "scale"]), decisions.together(pairs)
