"""Tables and verdict of the page on many threads, computed from its trials."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import pandas as pd

from allocpool import stats
from allocpool.campaign import store
from allocpool.decisions import FEWEST, Comparison, compare, effect_that_matters, together
from allocpool.evidence.trials import finished, records
from allocpool.packets import by_size
from allocpool.studies.threads.cells import WALL, Campaign, Cell
from allocpool.studies.threads.specs import SIMULATED_TURN
from allocpool.studies.threads.strategies import LABELS, STRATEGIES
from allocpool.studies.threads.tables import EVENTS, PLACES

_CELL = list(Cell._fields)
_SLEPT = {True: "source slept: no finding", False: ""}
_SPACED = {True: "apart", False: "side by side"}


def _rows(cells: Sequence[Cell], columns: Mapping[str, Callable[[Cell], object]]) -> pd.DataFrame:
    """Return a row per cell: its names as readers see them, and each of ``columns`` of the cell."""
    table = pd.DataFrame(cells, columns=_CELL).replace({"strategy": LABELS})
    for name, value in columns.items():
        table[name] = pd.Series([value(cell) for cell in cells], dtype=object)
    return table


def _for_reader(table: pd.DataFrame, figures: Sequence[str]) -> pd.DataFrame:
    """Return a table with names as readers see them and ``figures`` rounded."""
    found = table.assign(**{name: table[name].map(stats.significant, na_action="ignore") for name in figures})
    words: dict[str, Mapping[Any, str]] = {"strategy": LABELS, "source_yields": _SLEPT, "padded": _SPACED}
    for name in words.keys() & set(found):
        found[name] = found[name].map(words[name])
    return found.rename(columns={"source_yields": "remark", "padded": "cells"})


def _mean(costs: pd.Series) -> str | None:
    return stats.significant(stats.geometric_mean(costs)) if len(costs) else None


def ladder(trials: pd.DataFrame, topology: str) -> pd.DataFrame:
    """Return each strategy at the most threads, the cheapest first: CPU and wall time a packet, its CPU over
    allocation's."""
    campaign = Campaign(trials)
    cells = [cell for cell in campaign.at_most_threads() if cell.topology == topology]
    order = {cell: campaign.costs(cell) for cell in cells}
    cells.sort(key=lambda cell: (campaign.configurations.index(cell.configuration), order[cell].map(math.log).mean()))
    return _rows(
        cells,
        {
            "CPU, ns a packet": lambda cell: _mean(campaign.costs(cell)),
            "wall, ns a packet": lambda cell: _mean(campaign.costs(cell, WALL)),
            "CPU over alloc's": lambda cell: (
                "" if cell.strategy == "alloc" else campaign.compared(cell, cell._replace(strategy="alloc")).text()
            ),
        },
    ).drop(columns="topology")


def remote(trials: pd.DataFrame) -> pd.DataFrame:
    """Return allocation where every free is remote over allocation where none is, and the share of remote frees."""
    campaign = Campaign(trials)
    cells = [cell for cell in campaign.cells if (cell.topology, cell.strategy) == ("pipeline", "alloc")]
    return _rows(
        cells,
        {
            "remote frees": lambda cell: f"{campaign.done(cell)['remote_share'].astype(float).mean():.0%}",
            "CPU over no remote frees": lambda cell: campaign.compared(cell, cell._replace(topology="sharded")).text(),
        },
    )


def scaling(trials: pd.DataFrame) -> pd.DataFrame:
    """Return wall time a packet with one thread over that with the most: how many times as fast."""
    campaign = Campaign(trials)
    many = [cell for cell in campaign.at_most_threads() if cell.threads > 1]
    cells = [cell for cell in many if len(campaign.started(cell._replace(threads=1)))]
    return _rows(
        cells,
        {"times as fast as one": lambda cell: campaign.compared(cell._replace(threads=1), cell, WALL).text()},
    )


def spacing(trials: pd.DataFrame) -> pd.DataFrame:
    """Return CPU of pools whose shared cells lie side by side over that of the same two cache lines apart."""
    batch = trials[trials["interval_ns"].isna() & ~trials["counted"]]
    apart = Campaign(batch)
    close = Campaign(batch[~batch["padded"]].assign(padded=True))
    return _rows(
        close.cells,
        {"side by side over apart": lambda cell: compare(close.costs(cell), apart.costs(cell)).text()},
    )


def _medians(trials: pd.DataFrame, keys: Sequence[str], columns: Mapping[str, str]) -> pd.DataFrame:
    """Return medians of trials by ``keys``, each of ``columns`` under its new name."""
    values = trials.astype(dict.fromkeys(columns, float)).groupby(list(keys), sort=False, observed=True)[list(columns)]
    return values.median().rename(columns=columns).reset_index()


def events(trials: pd.DataFrame) -> pd.DataFrame:
    """Return what the processor counted of a packet, cells apart and side by side: medians of trials."""
    done = finished(trials[trials["counted"]])
    return _for_reader(
        _medians(done, [*_CELL, "padded"], {f"{event}_per_packet": event for event in EVENTS}), list(EVENTS)
    )


_MISSES = {
    "coherence_misses_per_packet": "misses a packet",
    "true_sharing_per_packet": "true sharing",
    "false_sharing_per_packet": "false sharing",
}


def sharing(table: pd.DataFrame) -> pd.DataFrame:
    """Return misses that sharing caused before the simulated cache, and where most false sharing is."""
    usual = finished(table[table["turn"] == SIMULATED_TURN])
    places = {f"{place}_false_sharing_per_packet": place for place in PLACES}
    found = _medians(usual, [*_CELL, "padded"], _MISSES | places)
    found["most false sharing in"] = found[list(PLACES)].idxmax(axis=1) if len(found) else None
    return _for_reader(found.drop(columns=list(PLACES)), list(_MISSES.values()))


def realtime(trials: pd.DataFrame) -> pd.DataFrame:
    """Return, of each cell and interval in real time, in how many trials nothing was lost, most lost, and the delay."""
    paced = finished(trials[trials["interval_ns"].notna()])
    columns: dict[str, tuple[str, object]] = {
        "trials": ("loss_ratio", "size"),
        "without loss": ("loss_ratio", lambda lost: int((lost == 0).sum())),
        "most lost, %": ("loss_ratio", lambda lost: 100 * lost.max()),
        "p99 of the delay, µs": ("delay_p99_us", "median"),
    }
    groups = paced.groupby([*_CELL, "interval_ns", "source_yields"], sort=False, observed=True)
    return _for_reader(groups.agg(**columns).reset_index(), ["interval_ns", "most lost, %", "p99 of the delay, µs"])


_ENDS = {"ndr_fails_ns": "loses at, ns", "ndr_passes_ns": "loses nothing at, ns"}


def searched(searches: pd.DataFrame) -> pd.DataFrame:
    """Return the largest interval of each cell that loses something and the smallest that loses nothing."""
    found = _medians(finished(searches), [*_CELL, "source_yields"], _ENDS)
    return _for_reader(found, list(_ENDS.values()))


_COUNTERS = {
    "remote_share": "remote share", "imbalance": "imbalance", "blow_up": "blow-up",
    "gc_pause_max_ms": "longest pause, ms", "reaching_max_ms": "time to safepoint, ms",
    "gc_cpu_share": "GC's share of CPU",
}  # fmt: skip


def counters(trials: pd.DataFrame) -> pd.DataFrame:
    """Return remote frees, imbalance of rings, blow-up of pools, pauses, times to safepoint: medians, at the most
    threads."""
    campaign = Campaign(trials)
    done = [campaign.done(cell) for cell in campaign.at_most_threads()]
    return _for_reader(_medians(pd.concat([trials.iloc[:0], *done]), _CELL, _COUNTERS), list(_COUNTERS.values()))


_BUFFERS = ("on the Java heap", "off it", "in C++")
_TOPOLOGIES = {
    "sharded": "Where each thread frees what it obtained",
    "pipeline": "Where another thread frees it",
    "virtual": "On virtual threads",
}
_NO_POOL = "copy_on_keep"
"""Uses its messages again, and has no pool: the verdict keeps it apart."""
_WRITTEN_FIRST = "locked"
_JUDGED = ["topology", "buffers", "configuration", "strategy", "threads", "verdict", "ratio", "low", "high", "n"]


def _verdict(pool_over_alloc: Comparison) -> str:
    return by_size.verdict_of(pool_over_alloc.decision.n, -pool_over_alloc.direction, pool_over_alloc.equivalent)


def judged(trials: pd.DataFrame) -> pd.DataFrame:
    """Return every strategy that uses messages again against allocating them, at the most threads: ``ratio`` of its CPU
    over allocation's, the interval, and the verdict as of `by_size.verdict_of`.

    All of a topology and a kind of buffers are decided together, so that one that is named was not chosen by the trials
    that speak for it alone. What has too few trials for a verdict is left out.
    """
    campaign = Campaign(trials)
    enough = [cell for cell in campaign.at_most_threads() if len(campaign.costs(cell)) >= FEWEST]
    families: dict[tuple[str, str], list[tuple[Cell, Cell]]] = {}
    for cell in enough:
        alloc, facts = cell._replace(strategy="alloc"), campaign.facts[cell.configuration]
        buffers = _BUFFERS[2 if facts.language == "cpp" else 0 if facts.layout == "heap" else 1]
        if STRATEGIES[cell.strategy].is_pool and alloc in enough:
            families.setdefault((cell.topology, buffers), []).append((cell, alloc))
    effect = effect_that_matters()
    rows = []
    for (topology, buffers), pairs in families.items():
        compared = together([
            partial(compare, campaign.costs(cell), campaign.costs(alloc), effect) for cell, alloc in pairs
        ])  # fmt: skip
        for (cell, _), comparison in zip(pairs, compared, strict=True):
            of = comparison.decision
            rows.append((topology, buffers, cell.configuration, cell.strategy, cell.threads, _verdict(comparison),
            of.ratio,
                         of.low, of.high, of.n))  # fmt: skip
    return pd.DataFrame(rows, columns=_JUDGED)


_STRENGTH = {"allocate": 0, by_size.INCONCLUSIVE: 1, by_size.NO_DIFFERENCE: 2, "pool": 3}
"""Of the pools of a configuration the strongest speaks for it: whatever is inconclusive is no reason to allocate."""


def _best_of_each(pools: pd.DataFrame) -> pd.DataFrame:
    """The pool that speaks for each configuration, in the order of the campaign."""
    keys = ["topology", "buffers", "configuration"]
    order = pools.groupby(keys, sort=False).ngroup()
    ranked = pools[pools["strategy"] != _NO_POOL].assign(order=order, strength=pools["verdict"].map(_STRENGTH))
    ranked = ranked.sort_values(["order", "strength", "ratio"], ascending=[True, False, True])
    return ranked.groupby("order").head(1).drop(columns=["order", "strength"])


def of_collectors(trials: pd.DataFrame) -> pd.DataFrame:
    """Return, for the pool that speaks for each Java configuration, what it and allocating cost, the share of the
    collector's own threads, and the verdict on the rest."""
    campaign = Campaign(trials)
    best = _best_of_each(judged(trials))
    best = best[best["buffers"] != _BUFFERS[2]].reset_index(drop=True)
    pools = [Cell(*(getattr(row, name) for name in _CELL)) for row in records(best)]
    pairs = [(pool, pool._replace(strategy="alloc")) for pool in pools]
    effect = effect_that_matters()
    rests = together([
        partial(compare, campaign.without_collector(pool), campaign.without_collector(alloc), effect)
        for pool, alloc in pairs
    ])  # fmt: skip
    table = best[["configuration", "topology", "strategy", "verdict"]].replace({"strategy": LABELS})
    for name, side in (("pool", 0), ("allocating", 1)):
        table[f"{name}, ns a packet"] = [_mean(campaign.costs(pair[side])) for pair in pairs]
        shares = [campaign.done(pair[side])["gc_cpu_share"].astype(float).mean() for pair in pairs]
        table[f"the collector's, {name}"] = [f"{share:.0%}" for share in shares]
    return table.assign(
        **{"the rest, pool over allocating": [one.text() for one in rests], "verdict on it": list(map(_verdict, rests))}
    )


def verdict(trials: pd.DataFrame) -> str:
    """Return the answer of the page, as Markdown: a line per topology, and two strategies that readers ask for."""
    rows = judged(trials)
    best = _best_of_each(rows)
    asked = {where: best[best["topology"] == topology] for topology, where in _TOPOLOGIES.items()}
    asked |= {
        "One stack under a lock": rows[rows["strategy"] == _WRITTEN_FIRST],
        "No pool, copies of what is kept": rows[rows["strategy"] == _NO_POOL],
    }
    return "  \n".join(by_size.tally(name, mine).text for name, mine in asked.items())


def take_home(profile: str) -> str:
    """Return the verdict on what is stored under a profile."""
    return verdict(store.stored("threads", profile)[0]["trials"])
