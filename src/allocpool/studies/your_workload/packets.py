"""The article's packets as messages: is what allocating costs over a pool the same as by their own code?

Two programs have the same life cycle: that of the packets study, and the general one of this study with its parameters
(case B: sizes, queue, store, what is touched, heap). Each has its own ratio of allocating over pooling, in CPU of the
process. The second ratio over the first, with its interval, shows how far the general program is off. Trials of both
are as long and come in the same blocks: a shorter one has fewer collections, and another hour is another machine.

A pool of messages is as large as what is alive at once. So is the small pool of packets (`mix`) in case B; the large
one has five times that. The small one is compared; what the large one costs over it is shown, too.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import pandas as pd

from allocpool.decisions import Comparison, compare, compare_products, effect_that_matters
from allocpool.packets.specs import BUFFER_BYTES, TCP_ONE_IN, Case
from allocpool.packets.strategies import StrategyName
from allocpool.studies.your_workload.claims import costs, pairs
from allocpool.studies.your_workload.workload import ALLOC, POOL

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


class Alike(NamedTuple):
    """One configuration: allocation over a pool as large as what is alive, as packets and as messages, the second ratio
    over the first, and what the larger pool of packets costs over that pool. ``costs``: the numerators and the
    denominators of ``apart``."""

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
    for facts, our_alloc, our_pool in pairs(messages, ALLOC, POOL):
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


def table(found: list[Alike]) -> pd.DataFrame:
    """Return a row per configuration, and one for their mean: allocation over the pool as packets and as messages, the
    second over the first with its verdict, and what a larger pool costs."""
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
