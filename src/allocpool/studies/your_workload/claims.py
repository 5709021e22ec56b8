"""The study's own workloads: its claims (``claims.yaml``), and the article's packets as messages.

A set-up is all that is equal but the strategy.

The article's packets (case B) are measured by two programs: that of the packets study, and the general one of this
study with their parameters. Each has its ratio of allocating over pooling, in CPU of the process. The second ratio over
the first shows how far the general program is off. Trials of both are as long and come in the same blocks: a shorter
one has fewer collections, and another hour is another machine. A pool of messages is as large as what is alive at once.
So is the small pool of packets (`mix`) in case B, and it is compared; the large one has five times that.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import pandas as pd

from allocpool.decisions import Comparison, compare, compare_products, effect_that_matters
from allocpool.evidence import claims
from allocpool.evidence.claims import Verdict
from allocpool.evidence.declared import Cell, Cells, claims_of
from allocpool.evidence.trials import counted, finished, gap_of
from allocpool.packets.specs import BUFFER_BYTES, TCP_ONE_IN, Case
from allocpool.packets.strategies import StrategyName
from allocpool.runtimes.collectors import collector_named

CLAIMS = claims_of("your_workload")
CASE: Case = "B"
STRATEGIES: tuple[StrategyName, ...] = ("alloc", "mix", "pool")
"""Of packets; the first pool is as large as what is alive, the second larger than it need be."""
_LIKE = {
    "mean_bytes": BUFFER_BYTES, "filled_share": 0.1, "read_share": 0.1, "kept_share": 1 / TCP_ONE_IN, "temporaries": 5,
    "temporary_bytes": 32, "live_mb": 0, "garbage_mb_per_s": 0, "threads": 1,
}  # fmt: skip
"""Packets in the words of messages: 1 KB of which the header is touched, one in sixteen is stored."""
_SAME = {"heap_mb": "heap_mb", "queue_size": "messages_in_flight", "stored_count": "kept_count"}
"""Columns of packets with those of messages."""
_SET_UP = [
    "configuration", "sizes", "filled_share", "read_share", "rate_per_s", "arrivals", "burst_length", "delay_ms",
    "messages_in_flight", "kept_share", "kept_count", "replacement", "temporaries", "temporary_bytes", "live_mb",
    "changed_mb_per_s", "garbage_mb_per_s", "threads", "heap_mb", "direct_mb", "jvm_flags", "trace",
]  # fmt: skip
_WITH_LIVE = ("live_mb", "heap_mb", "changed_mb_per_s")
"""Live data may need a larger heap, or change at a rate: these go with it."""


def set_ups(trials: pd.DataFrame) -> Iterator[tuple[pd.Series, dict[str, pd.DataFrame]]]:
    """Yield each set-up by one of its rows, with its trials by strategy; pools have power-of-two classes, uncleared."""
    plain = trials[(trials["classes"] == "power_of_two") & ~trials["zeroing"].astype(bool)]
    for _, group in plain.groupby(_SET_UP, sort=False, observed=True, dropna=False):
        yield group.iloc[0], {str(name): rows for name, rows in group.groupby("strategy", sort=False, observed=True)}


def costs(trials: pd.DataFrame) -> pd.Series:
    """Return CPU of the process, ns a message, in order of time."""
    done = finished(counted(trials)).sort_values("started_utc")
    return done["cpu_ns_per_message"].dropna().astype(float)


def pairs(trials: pd.DataFrame, one: str, other: str) -> Iterator[tuple[pd.Series, pd.Series, pd.Series]]:
    """Yield the set-ups in which two strategies have costs, with the costs of both."""
    for facts, by_strategy in set_ups(trials):
        if {one, other} <= set(by_strategy):
            sides = costs(by_strategy[one]), costs(by_strategy[other])
            if all(map(len, sides)):
                yield facts, *sides


def label_of(facts: pd.Series) -> str:
    """Return a set-up as readers see it."""
    shown = [
        str(facts["configuration"]),
        f"{facts['mean_bytes']:,.0f} bytes{' in the mean' if ',' in str(facts['sizes']) else ''}",
        f"{facts['messages_in_flight']:,} in flight",
        f"{facts['kept_count']:,} kept" if facts["kept_count"] else "",
        f"{facts['live_mb']:,.0f} MiB of other live data" if facts["live_mb"] else "",
        f"{facts['garbage_mb_per_s']:,.0f} MiB/s of other garbage" if facts["garbage_mb_per_s"] else "",
        f"{facts['rate_per_s']:,.0f}/s" if pd.notna(facts["rate_per_s"]) else "",
    ]
    return ", ".join(filter(None, shown))


def cells_of(trials: pd.DataFrame) -> Cells:
    """Return what ``claims.yaml`` is put to: a cell per set-up and strategy."""
    found = []
    for facts, by_strategy in set_ups(trials):
        java = facts["language"] == "java"
        frees = java and not collector_named(str(facts["collector"])).never_frees
        own: dict[str, Any] = {name: facts[name] for name in _WITH_LIVE} | {
            "rest": "|".join(str(facts[name]) for name in _SET_UP if name not in _WITH_LIVE),
            "memory": "collected" if frees else "never freed" if java else "freed",
            "in_flight": bool(facts["messages_in_flight"]), "kept": bool(facts["kept_count"]),
            "live": bool(facts["live_mb"]), "large": bool(facts["mean_bytes"] >= 65_536),
        }  # fmt: skip
        found += [
            Cell({**own, "strategy": name}, f"{name} ({label_of(facts)})", costs(rows), gap_of(rows).text)
            for name, rows in by_strategy.items()
        ]
    return Cells(found, ("rest", *_WITH_LIVE, "strategy"))


def of_campaign(tables: Mapping[str, pd.DataFrame], _settings: Mapping[str, Any] | None = None) -> list[Verdict]:
    """Judge every claim by a campaign's tables."""
    return claims.evaluate(CLAIMS, cells_of(tables["trials"]))


class Alike(NamedTuple):
    """One configuration: allocation over the pool, as packets and as messages, the second over the first, and a larger
    pool of packets over the pool. ``costs``: the numerators and the denominators of ``apart``."""

    configuration: str
    packets: Comparison
    messages: Comparison
    apart: Comparison
    larger: Comparison
    costs: tuple[tuple[pd.Series, ...], tuple[pd.Series, ...]]


def alike(messages: pd.DataFrame, packets: pd.DataFrame) -> list[Alike]:
    """Return every set-up of ``messages`` (table ``trials``) that ``packets`` (batch trials) has too, both measured."""
    found = []
    batch = packets[packets["case"] == CASE].assign(cpu_ns_per_message=packets["cpu_ns_per_packet"])
    for facts, our_alloc, our_pool in pairs(messages, "alloc", "pool"):
        is_like = all(math.isclose(float(facts[name]), value) for name, value in _LIKE.items())
        if not is_like or pd.notna(facts["rate_per_s"]) or not facts["kept_count"]:
            continue
        same = batch[batch["configuration"] == facts["configuration"]]
        for column, ours in _SAME.items():
            same = same[(same[column] == facts[ours]).fillna(False).astype(bool)]
        alloc, pool, larger = (costs(same[same["strategy"] == name]) for name in STRATEGIES)
        if len(alloc) and len(pool):
            sides = (our_alloc, pool), (our_pool, alloc)
            ours_and_theirs = compare(alloc, pool), compare(our_alloc, our_pool), compare_products(*sides)
            found.append(Alike(str(facts["configuration"]), *ours_and_theirs, compare(larger, pool), sides))
    return found


def alike_table(found: list[Alike]) -> pd.DataFrame:
    """Return a row per configuration, and one for their mean, with the verdict whether the two programs agree."""
    if not found:
        return pd.DataFrame()
    rows = pd.DataFrame({
        "configuration": [each.configuration for each in found],
        "alloc / pool, packets": [each.packets.text() for each in found],
        "alloc / pool, messages": [each.messages.text() for each in found],
        "larger pool / pool, packets": [each.larger.text() for each in found],
    })  # fmt: skip
    apart = [*(each.apart for each in found), _together(found)]
    return pd.concat([rows, pd.DataFrame({"configuration": ["mean"]})], ignore_index=True).assign(**{
        "messages / packets": [one.text() for one in apart],
        "the two": ["agree" if one.equivalent else "differ" if one.direction else "inconclusive" for one in apart],
    })  # fmt: skip


def _together(found: list[Alike]) -> Comparison:
    """The geometric mean over configurations of messages over packets, judged as one comparison."""
    tops, bottoms = (sum((each.costs[k] for each in found), ()) for k in (0, 1))
    effect, root = effect_that_matters(), 1 / len(found)
    product = compare_products(tops, bottoms, effect ** len(found))
    result = product.decision
    ratio, low, high, trimmed = (part**root for part in (result.ratio, result.low, result.high, result.trimmed_ratio))
    mean = replace(result, ratio=ratio, low=low, high=high, trimmed_ratio=trimmed)
    return replace(product, decision=mean, middle=root * product.middle, error=root * product.error, effect=effect)
