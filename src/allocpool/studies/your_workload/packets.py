"""The article's packets as messages: is what allocating costs over a pool the same as by their own code?

Two programs have the same life cycle: that of the packets study, and the general one of this study with its parameters
(case B: sizes, queue, store, what is touched, heap). Each has its own ratio of allocating over pooling, in CPU of the
whole process; the one over the other, with its interval, says how far the general one is off. Trials of both are as
long and come in the same blocks: one that ends sooner pays for fewer collections, and another hour is another machine.

A pool of messages grows to what is alive at once. Those of the packets study are made at the start: the article's small
one (`mix`) as large as case B needs, and the large one five times that. The small one is the like one, therefore; what
the large one costs over it is shown too.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import pandas as pd

from allocpool.decisions import Comparison, compare, compare_products, effect_that_matters
from allocpool.evidence.trials import counted, finished
from allocpool.packets.specs import BUFFER_BYTES, TCP_ONE_IN, Case
from allocpool.packets.strategies import StrategyName
from allocpool.studies.your_workload.cells import Campaign, SetUp
from allocpool.studies.your_workload.workload import ALLOC, POOL

CASE: Case = "B"
_COST = "cpu_ns_per_packet"
_AS_LARGE, _LARGER = "mix", "pool"
"""Pools of packets: just as large as what is alive, as that of messages; and larger than it need be."""
STRATEGIES: tuple[StrategyName, ...] = ("alloc", _AS_LARGE, _LARGER)
"""Of packets, those that are compared."""
_LIKE = {
    "mean_bytes": BUFFER_BYTES, "filled_share": 0.1, "read_share": 0.1, "kept_share": 1 / TCP_ONE_IN, "temporaries": 5,
    "temporary_bytes": 32, "live_mb": 0, "garbage_mb_per_s": 0, "threads": 1,
}  # fmt: skip
"""Packets in the words of messages: 1 KB of which the header is touched, one in sixteen is stored."""


class Alike(NamedTuple):
    """One configuration: allocation over a pool as large as what is alive, as packets and as messages, and the second
    ratio over the first; and what the article's larger pool costs over that. ``costs``: of the second ratio over the
    first, the numerators and the denominators."""

    configuration: str
    packets: Comparison
    messages: Comparison
    apart: Comparison
    larger: Comparison
    costs: tuple[tuple[pd.Series, pd.Series], tuple[pd.Series, pd.Series]]


def alike(messages: pd.DataFrame, packets: pd.DataFrame) -> list[Alike]:
    """Every set-up of ``messages`` (table ``trials`` of this study) that ``packets`` (its table of batch trials) has
    too, with the same heap, queue and store; both measured."""
    found = []
    for each in Campaign(messages).with_both(ALLOC, POOL):
        ours = {side: each.costs(side) for side in (ALLOC, POOL)}
        alloc, pool, larger = (_costs(packets, each, side) for side in (ALLOC, _AS_LARGE, _LARGER))
        if _is_like(each) and all(len(costs) for costs in (*ours.values(), alloc, pool)):
            sides = (ours[ALLOC], pool), (ours[POOL], alloc)
            found.append(Alike(
                str(each.facts["configuration"]), compare(alloc, pool), compare(ours[ALLOC], ours[POOL]),
                compare_products(*sides), compare(larger, pool), sides,
            ))  # fmt: skip
    return found


def _is_like(each: SetUp) -> bool:
    facts = each.facts
    same = all(math.isclose(float(facts[name]), value) for name, value in _LIKE.items())
    return same and pd.isna(facts["rate_per_s"]) and facts["kept_count"] > 0


def _costs(packets: pd.DataFrame, each: SetUp, strategy: str) -> pd.Series:
    """CPU of the whole process, ns a packet, of the batch trials with the same configuration, heap, queue and store."""
    facts = each.facts
    same = (
        (packets["case"] == CASE) & (packets["strategy"] == strategy)
        & (packets["configuration"] == facts["configuration"]) & (packets["heap_mb"] == facts["heap_mb"])
        & (packets["queue_size"] == facts["messages_in_flight"]) & (packets["stored_count"] == facts["kept_count"])
    ).fillna(False)  # fmt: skip
    done = finished(counted(packets[same.astype(bool)])).sort_values("started_utc")
    return done[_COST].dropna().astype(float)


def table(found: list[Alike]) -> pd.DataFrame:
    """Return a row per configuration, and one for their mean: allocation over the pool as packets and as messages, the
    second over the first, what that shows, and what a larger pool costs."""
    if not found:
        return pd.DataFrame()
    rows = pd.DataFrame({
        "configuration": [each.configuration for each in found],
        "alloc / pool, packets": [each.packets.text() for each in found],
        "alloc / pool, messages": [each.messages.text() for each in found],
        "larger pool / pool, packets": [each.larger.text() for each in found],
    })  # fmt: skip
    mean = pd.DataFrame({"configuration": ["mean"]})
    apart = [*(each.apart for each in found), together(found)]
    return pd.concat([rows, mean], ignore_index=True).assign(
        **{"messages / packets": [one.text() for one in apart], "the two": [_shown(one) for one in apart]}
    )


def _shown(apart: Comparison) -> str:
    return "agree" if apart.equivalent else "differ" if apart.direction else "inconclusive"


def together(found: list[Alike]) -> Comparison:
    """The geometric mean over configurations of messages over packets, judged as one comparison."""
    tops, bottoms = (sum((each.costs[k] for each in found), ()) for k in (0, 1))
    effect, root = effect_that_matters(), 1 / len(found)
    product = compare_products(tops, bottoms, effect ** len(found))
    result = product.decision
    ratio, low, high, trimmed = (part**root for part in (result.ratio, result.low, result.high, result.trimmed_ratio))
    mean = replace(result, ratio=ratio, low=low, high=high, trimmed_ratio=trimmed)
    return replace(product, decision=mean, middle=root * product.middle, error=root * product.error, effect=effect)
