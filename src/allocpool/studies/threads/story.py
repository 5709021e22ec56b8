"""Tables and verdict of the page on many threads, computed from its trials."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from allocpool import stats
from allocpool.campaign import store
from allocpool.decisions import FEWEST, compare, compare_together
from allocpool.evidence.trials import finished
from allocpool.packets import by_size
from allocpool.studies.threads.claims import CPU, KEYS, batch, ended
from allocpool.studies.threads.strategies import LABELS, STRATEGIES

_TOPOLOGIES = {
    "sharded": "Where each thread frees what it obtained",
    "pipeline": "Where another thread frees it",
    "virtual": "On virtual threads",
}
_NO_POOL = "copy_on_keep"
"""Uses its messages again, and has no pool: the verdict keeps it apart."""
_FAMILY = ["topology", "buffers"]
_JUDGED = [*_FAMILY, "configuration", "strategy", "threads", "verdict", "ratio", "low", "high", "n"]


def at_most_threads(trials: pd.DataFrame) -> pd.DataFrame:
    """Return the batch trials that ended well at the most threads of their configuration and topology, padded ones."""
    done = ended(batch(trials[trials["padded"]]))
    most = done.groupby(["configuration", "topology"], observed=True)["threads"].transform("max")
    return done[done["threads"] == most]


def over(trials: pd.DataFrame, column: str, one: object, other: object, value: str = CPU) -> pd.DataFrame:
    """Return ``value`` where ``column`` is ``one`` over that where it is ``other``, all else equal: a row for each that
    was measured both ways in batch."""
    keys = [name for name in KEYS if name != column]
    trials = trials if column == "padded" else trials[trials["padded"]]
    rows = []
    for key, group in ended(batch(trials)).groupby(keys, observed=True):
        a, b = (group.loc[group[column] == side, value].dropna().astype(float) for side in (one, other))
        if len(a) and len(b):
            rows.append((*key, compare(a, b).text()))
    return pd.DataFrame(rows, columns=[*keys, "ratio"]).replace({"strategy": LABELS})


def medians(trials: pd.DataFrame, columns: Sequence[str], by: Sequence[str] = ()) -> pd.DataFrame:
    """Return the median of each of ``columns`` over the trials of a cell that ended well; ``by``: further keys."""
    values = finished(trials).astype(dict.fromkeys(columns, float))
    table = values.groupby([*KEYS, *by], sort=False, observed=True)[list(columns)].median()
    return table.map(stats.significant, na_action="ignore").reset_index().replace({"strategy": LABELS})


def judged(trials: pd.DataFrame, value: str = CPU) -> pd.DataFrame:
    """Return every strategy that uses messages again against allocating them, at the most threads: ``ratio`` of its CPU
    over allocation's, the interval, and the verdict as of `by_size.verdict_of`.

    All of a topology and a kind of buffers are decided together, so that one that is named was not chosen by the trials
    that speak for it alone. What has too few trials for a verdict is left out.
    """
    done = at_most_threads(trials).dropna(subset=[value])
    done["buffers"] = (
        done["layout"]
        .eq("heap")
        .map({True: "on the Java heap", False: "off it"})
        .mask(done["language"] == "cpp", "in C++")
    )
    costs = {
        key: group[value].astype(float)
        for key, group in done.groupby([*_FAMILY, "configuration", "threads", "strategy"], observed=True)
        if len(group) >= FEWEST
    }
    rows = []
    pools = [key for key in costs if STRATEGIES[str(key[-1])].is_pool and (*key[:-1], "alloc") in costs]
    for family in dict.fromkeys(key[:2] for key in pools):
        mine = [key for key in pools if key[:2] == family]
        compared = compare_together([(costs[key], costs[(*key[:-1], "alloc")]) for key in mine])
        for (*_, configuration, threads, strategy), comparison in zip(mine, compared, strict=True):
            found = comparison.decision
            verdict = by_size.verdict_of(found.n, -comparison.direction, comparison.equivalent)
            figures = (found.ratio, found.low, found.high, found.n)
            rows.append((*family, configuration, strategy, threads, verdict, *figures))
    return pd.DataFrame(rows, columns=_JUDGED)


_STRENGTH = ["allocate", by_size.INCONCLUSIVE, by_size.NO_DIFFERENCE, "pool"]
"""Of the pools of a configuration the strongest speaks for it: whatever is inconclusive is no reason to allocate."""


def _best_of_each(pools: pd.DataFrame) -> pd.DataFrame:
    """Return the pool that speaks for each configuration."""
    ranked = pools[pools["strategy"] != _NO_POOL].assign(strength=lambda rows: rows["verdict"].map(_STRENGTH.index))
    ranked = ranked.sort_values(["strength", "ratio"], ascending=[False, True])
    return ranked.groupby([*_FAMILY, "configuration"], sort=False).head(1)


def verdict(trials: pd.DataFrame) -> str:
    """Return the answer of the page, as Markdown: a line per topology, and two strategies that readers ask for."""
    rows = judged(trials)
    best = _best_of_each(rows)
    asked = {where: best[best["topology"] == topology] for topology, where in _TOPOLOGIES.items()}
    asked["One stack under a lock"] = rows[rows["strategy"] == "locked"]
    asked["No pool, copies of what is kept"] = rows[rows["strategy"] == _NO_POOL]
    return "  \n".join(by_size.tally(name, mine).text for name, mine in asked.items())


def summary(profile: str) -> str:
    """Return the verdict on what is stored under a profile."""
    return verdict(store.stored("threads", profile)[0]["trials"])
