"""Lower-bound overhead: what a collector costs at least, without knowing what a program without one would cost.

Z. Cai, S. M. Blackburn, M. D. Bond and M. Maas, "Distilling the Real Cost of Production Garbage Collectors", ISPASS
2022: take from each collector's total cost what surely is collection, here its stop-the-world pauses (wall) or the CPU
time of the collector's own threads (CPU). The least of these remainders over all collectors is still no less than the
program alone, so total / least is a lower bound of each collector's overhead. Costs beside the program, as barriers and
lost cache lines, stay in the remainder: true overheads are larger.

The least of several noisy remainders is too low, for luck helps to choose it. So the base is chosen by all blocks but
one and read in that one, each in turn: then it is not below the true least in expectation, and the bound stays a lower
one (van Hasselt, "Estimating the maximum expected value: an analysis of (nested) cross validation and the maximum
sample average", arXiv:1302.7175). Intervals hold whichever collector truly is the least (`Least`), and differences are
made of those of their parts (MOVER: Zou and Donner, "Construction of confidence limits about effect measures: a general
approach", Statistics in Medicine 27, 2008).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd

from allocpool import decisions, stats
from allocpool.decisions import ALPHA, FEWEST, Mean, effect_that_matters
from allocpool.evidence.trials import records
from allocpool.packets.cells import with_cost

SAME_PROGRAM = ("layout", "runtime", "strategy", "case", "scale")
"""Collectors are compared where the program is the same; another runtime compiles another program."""
COLUMNS = [
    "configuration", "layout", "runtime", "collector", "strategy", "case", "scale", "clock", "lbo", "low", "high",
    "n", "total_ns", "base_ns", "base_configuration", "collectors", "above_base_ns", "total", "base",
]  # fmt: skip
INTERVALS = (
    "Intervals: 95% over trials (Student), which hold whenever one looks, with the noise and the choice of the base in "
    "them; savings are decided together."
)
SAVES, COSTS, NO_MATTER, OPEN = "saves", "costs more", "no difference that matters", "inconclusive"
_OF_SAVED = ["configuration", "layout", "runtime", "collector", "case", "scale"]


@dataclass(frozen=True)
class Least:
    """The least of several costs, ns per packet; of one, that cost.

    ``estimate_ns`` is a geometric mean over trials; ``logs`` are those of each candidate. The least lies below a value
    as soon as one of them does, which is paid for by their number (Bonferroni), and above it where all of them do,
    which costs nothing (intersection-union: Berger, "Multiparameter hypothesis testing and acceptance sampling",
    Technometrics 24, 1982).
    """

    estimate_ns: float
    logs: tuple[Mean, ...]

    @property
    def n(self) -> int:
        """Trials of the smallest side."""
        return min(one.n for one in self.logs)

    def bounds(self, alpha: float = ALPHA) -> tuple[float, float]:
        """Where it lies, ns, the estimate within; NaN of one trial."""
        low = min(math.exp(one.bounds(alpha)[0]) for one in self.logs)
        high = min(math.exp(one.bounds(alpha / len(self.logs))[1]) for one in self.logs)
        return min(low, self.estimate_ns), max(high, self.estimate_ns)


@dataclass(frozen=True)
class Saving:
    """What pooling saves of the cost of collecting, in ns per packet, with its interval; negative where it costs more.

    ``n``: trials of the smallest side. ``matters_ns``: the least saving that matters.
    """

    saved_ns: float
    low: float
    high: float
    n: int
    matters_ns: float

    @property
    def verdict(self) -> str:
        """`SAVES`, `COSTS`, `NO_MATTER` or `OPEN`; inconclusive below `FEWEST` trials a side."""
        if self.n < FEWEST:
            return OPEN
        if -self.matters_ns < self.low and self.high < self.matters_ns:
            return NO_MATTER
        return SAVES if self.low > 0 else COSTS if self.high < 0 else OPEN

    def text(self) -> str:
        """``saves 12 (8 to 16)``, ``inconclusive (3, -2 to 8)``."""
        spread = "one trial" if math.isnan(self.low) else f"{_number(self.low)} to {_number(self.high)}"
        if self.verdict == SAVES:
            return f"saves {_number(self.saved_ns)} ({spread})"
        if self.verdict == COSTS:
            return f"costs {_number(-self.saved_ns)} more ({_number(-self.high)} to {_number(-self.low)})"
        return f"{self.verdict} ({_number(self.saved_ns)}, {spread})"


def _number(value: float) -> str:
    return f"-{stats.significant(-value)}" if value < 0 else stats.significant(value)


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
    """Lower-bound overhead of each configuration, strategy and case, by clock; 1 is no overhead shown.

    Columns: the configuration, ``lbo`` with ``low``, ``high`` and ``n`` over trials, ``total_ns``
    (geometric mean), ``base_ns`` (the least remainder, cross-validated; by all trials it is that of
    ``base_configuration``), ``collectors`` (how many took part: with one, the bound is its own), ``above_base_ns``:
    collection cost per packet, at least, and ``total`` and ``base`` as `Least`. The interval holds the noise of the
    base and of its choice. A configuration with fewer than `FEWEST` trials is no base where others have so many.
    """
    names = [*SAME_PROGRAM, "collector", "configuration", "block", "clock", "total_ns", "remainder_ns"]
    costs = per_packet_costs(trials, cpu)[names]  # a table of trials has some hundred more, which cost time to carry
    rows = []
    for _, group in costs.groupby([*SAME_PROGRAM, "clock"], observed=True):
        parts = {str(name): part.set_index("block").sort_index() for name, part in group.groupby("configuration")}
        enough = min(FEWEST, max(map(len, parts.values())))
        remainders = {name: part["remainder_ns"] for name, part in parts.items() if len(part) >= enough}
        base_configuration, base_ns = least_remainder(remainders)
        base = Least(base_ns, tuple(_log_mean(remainder) for remainder in remainders.values()))
        for configuration, part in parts.items():
            total = Least(stats.geometric_mean(part["total_ns"]), (_log_mean(part["total_ns"]),))
            lbo, low, high = _overhead(total, base)
            rows.append({
                **{name: part[name].iloc[0] for name in (*SAME_PROGRAM, "collector", "clock")},
                "configuration": configuration,
                "total": total, "base": base,
                "lbo": lbo, "low": low, "high": high,
                "n": len(part), "total_ns": total.estimate_ns, "base_ns": base_ns,
                "base_configuration": base_configuration,
                "collectors": len(parts), "above_base_ns": _above(total, base),
            })  # fmt: skip
    return pd.DataFrame(rows, columns=COLUMNS)


def _log_mean(values: pd.Series) -> Mean:
    return decisions.mean_of(np.log(values.to_numpy(dtype=np.float64)))


def _above(total: Least, base: Least) -> float:
    """The cost of collecting, ns per packet, at least; not below 0, for no total is below its own remainder."""
    return max(0.0, total.estimate_ns - base.estimate_ns)


def _overhead(total: Least, base: Least) -> tuple[float, float, float]:
    """The bound, and where it lies; not below 1."""
    log = math.log(total.estimate_ns / base.estimate_ns)
    low = high = log
    if total.n > 1:
        (down, up), (base_down, base_up) = (
            [math.log(cost.estimate_ns / low_ns), math.log(high_ns / cost.estimate_ns)]
            for cost in (total, base)
            for low_ns, high_ns in [cost.bounds()]
        )
        low, high = log - math.hypot(down, base_up), log + math.hypot(up, base_down)
    return math.exp(max(0.0, log)), math.exp(max(0.0, low)), math.exp(max(0.0, high))


def least_remainder(remainders: Mapping[str, pd.Series]) -> tuple[str, float]:
    """Whose remainder is the least by all trials, and the least in ns per packet (geometric mean), cross-validated: in
    each block that of the configuration which is least in all others. With one block, the one chooses and judges."""
    logs = pd.DataFrame({name: series.map(math.log).groupby(level=0).mean() for name, series in remainders.items()})
    values, least = logs.to_numpy(), str(logs.mean().idxmin())
    chosen = []
    for place in range(len(values)):
        there = ~np.isnan(values[place]) & (np.sum(~np.isnan(values), axis=0) > 1)
        if there.any():
            elsewhere = np.nanmean(np.delete(values, place, axis=0)[:, there], axis=0)
            chosen.append(float(values[place][there][elsewhere.argmin()]))
    return least, math.exp(np.mean(chosen) if chosen else float(logs[least].mean()))


def saved_by_pooling(overheads: pd.DataFrame, clock: str = "wall") -> pd.DataFrame:
    """How much collection cost pooling saves at least-bound: one row per configuration and case with both strategies.

    Columns: configuration, layout, runtime, collector, case, ``alloc_lbo``, ``pool_lbo``, ``alloc_ns``, ``pool_ns``
    (collection cost per packet above the strategy's own base), ``saved_ns``, negative where pooling costs more, with
    ``low``, ``high`` and ``n``, ``verdict`` and ``text`` (of `Saving`); all are decided together. What matters is a
    tenth of what a packet costs with the cheaper strategy. Where one collector ran alone, its bound says nothing: such
    rows are left out.
    """
    chosen = overheads[(overheads["clock"] == clock) & (overheads["collectors"] > 1)]
    sides = [
        chosen.loc[chosen["strategy"] == name, [*_OF_SAVED, "lbo", "above_base_ns", "total", "base"]].rename(
            columns={"lbo": f"{name}_lbo", "above_base_ns": f"{name}_ns"}
            | {of: f"{name}_{of}" for of in ("total", "base")}
        )
        for name in ("alloc", "pool")
    ]  # fmt: skip
    both = sides[0].merge(sides[1], on=_OF_SAVED)
    parts = [((row.alloc_total, row.alloc_base), (row.pool_total, row.pool_base)) for row in records(both)]
    savings = decisions.together([partial(_saving, alloc, pool) for alloc, pool in parts])
    names = ("saved_ns", "low", "high", "n", "verdict")
    found = pd.DataFrame(
        [[*(getattr(saving, name) for name in names), saving.text()] for saving in savings],
        columns=[*names, "text"],
    )
    lbos = ["alloc_lbo", "pool_lbo", "alloc_ns", "pool_ns"]
    return pd.concat([both[[*_OF_SAVED, *lbos]].reset_index(drop=True), found], axis=1)


def _saving(alloc: tuple[Least, Least], pool: tuple[Least, Least], alpha: float) -> Saving:
    """Of each strategy its total and its base. Where nothing is decided for want of trials, the interval is that of one
    saving alone."""
    n = min(cost.n for cost in (*alloc, *pool))
    saved_ns = _above(*alloc) - _above(*pool)
    level = ALPHA if n < FEWEST else alpha
    more, less = ([_away(cost, level) for cost in costs] for costs in ((alloc[0], pool[1]), (alloc[1], pool[0])))
    middle_ns = alloc[0].estimate_ns + pool[1].estimate_ns - alloc[1].estimate_ns - pool[0].estimate_ns
    low = middle_ns - math.hypot(*(down for down, _ in more), *(up for _, up in less))
    high = middle_ns + math.hypot(*(up for _, up in more), *(down for down, _ in less))
    matters_ns = (effect_that_matters() - 1) * min(alloc[0].estimate_ns, pool[0].estimate_ns)
    return Saving(saved_ns, min(low, saved_ns), max(high, saved_ns), n, matters_ns)


def _away(cost: Least, alpha: float) -> tuple[float, float]:
    """How far below and above its estimate a cost may lie, ns."""
    low_ns, high_ns = cost.bounds(alpha)
    return cost.estimate_ns - low_ns, high_ns - cost.estimate_ns
