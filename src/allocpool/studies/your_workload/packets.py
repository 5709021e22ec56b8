"""The article's packets, told as messages: is what allocating costs over a pool the same as by their own code?

Two programs have the same life cycle: that of the packets study, and the general one of this study with its parameters
(case B: sizes, queue, store, what is touched, heap). Each has its own ratio of allocating over pooling, in CPU of the
whole process; the one over the other, with its interval, says how far the general one is off. Trials of both are as
long and come in the same blocks: one that ends sooner pays for fewer collections, and another hour is another machine.

A pool of messages grows to what is alive at once. Those of the packets study are made at the start: the article's small
one (`mix`) as large as case B needs, and the large one five times that. The small one is the like one, therefore; what
the large one costs beside it is told too.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import pandas as pd

from allocpool import stats
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
    """One row per configuration: both ratios, the one over the other, what that shows, and what a larger pool costs."""
    return pd.DataFrame(
        [
            [each.configuration, each.packets.text(), each.messages.text(), _ends(each.apart), _shown(each.apart),
             each.larger.text()]
            for each in found
        ],
        columns=[
            "configuration", "alloc / pool, packets", "alloc / pool, messages", "messages / packets", "the two",
            "larger pool / pool, packets",
        ],
    )  # fmt: skip


def sentence(found: list[Alike]) -> str:
    """Whether the general workload with the article's parameters gives what the packets study gives."""
    if not found:
        return (
            "The article's packets were not measured both by their own code and as messages here: nothing says yet how "
            "far the two programs are apart."
        )
    told = "; ".join(f"{each.configuration}: the two {_shown(each.apart)}, {_ends(each.apart)}" for each in found)
    costs = "; ".join(f"{each.configuration}: {each.larger.text()}" for each in found)
    return (
        f"{_in_the_mean(found)}The article's packets as messages, over the same as packets, of what allocating costs "
        f"over a pool that is as large as what is alive: {told}. The article's pool is larger than that, which has its "
        f"own price: {costs}."
    )


def _in_the_mean(found: list[Alike]) -> str:
    """What all configurations say together; empty where there is one."""
    if len(found) == 1:
        return ""
    mean = together(found)
    return (
        f"**In the mean of {len(found)} configurations the two {_shown(mean)}**: "
        f"what allocating costs over a pool is, as messages, {_ends(mean)} times what it is as packets. "
    )


def together(found: list[Alike]) -> Comparison:
    """The geometric mean over configurations of messages over packets, judged as one comparison."""
    tops, bottoms = (sum((each.costs[k] for each in found), ()) for k in (0, 1))
    effect, root = effect_that_matters(), 1 / len(found)
    product = compare_products(tops, bottoms, effect ** len(found))
    told = product.decision
    ratio, low, high, trimmed = (part**root for part in (told.ratio, told.low, told.high, told.trimmed_ratio))
    mean = replace(told, ratio=ratio, low=low, high=high, trimmed_ratio=trimmed)
    return replace(product, decision=mean, middle=root * product.middle, error=root * product.error, effect=effect)


def _shown(told: Comparison) -> str:
    if told.equivalent:
        return "agree"
    if told.direction:
        ratio = told.decision.ratio
        return f"differ by {stats.significant(ratio if ratio > 1 else 1 / ratio)} times"
    return "are not shown to agree or to differ"


def _ends(told: Comparison) -> str:
    decision = told.decision
    spread = "" if math.isnan(decision.low) else f"{stats.ends(decision.low, decision.high)}, "
    return f"{stats.significant(decision.ratio)} ({spread}n = {decision.n})"
