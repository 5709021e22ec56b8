"""The article's packets, told as messages: is what allocating costs over a pool the same as in the batch study?

Two programs have the same life cycle: that of the packets study, and the general one of this study with its parameters
(case B: sizes, queue, store, what is touched, heap). Each has its own ratio of allocating over pooling, in CPU of the
whole process; the one over the other, with its interval, says how far the general one is off.

A pool of messages grows to what is alive at once. Those of the packets study are made at the start: the article's small
one (`mix`) as large as case B needs, and the large one five times that. The small one is the like one, therefore; what
the large one costs beside it is told too.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import pandas as pd

from allocpool import stats
from allocpool.decisions import Comparison, compare, compare_products
from allocpool.evidence.trials import counted, finished
from allocpool.packets.specs import BUFFER_BYTES, TCP_ONE_IN
from allocpool.studies.your_workload.cells import Campaign, SetUp
from allocpool.studies.your_workload.workload import ALLOC, POOL

_CASE, _COST = "B", "cpu_ns_per_packet"
_AS_LARGE, _LARGER = "mix", "pool"
"""Pools of packets: just as large as what is alive, as that of messages; and larger than it need be."""
_LIKE = {
    "mean_bytes": BUFFER_BYTES, "filled_share": 0.1, "read_share": 0.1, "kept_share": 1 / TCP_ONE_IN, "temporaries": 5,
    "temporary_bytes": 32, "live_mb": 0, "garbage_mb_per_s": 0, "threads": 1,
}  # fmt: skip
"""Packets in the words of messages: 1 KB of which the header is touched, one in sixteen is stored."""


class Alike(NamedTuple):
    """One solution: allocation over a pool as large as what is alive, as packets and as messages, and the second ratio
    over the first; and what the article's larger pool costs over that."""

    solution: str
    packets: Comparison
    messages: Comparison
    apart: Comparison
    larger: Comparison


def alike(messages: pd.DataFrame, packets: pd.DataFrame) -> list[Alike]:
    """Every set-up of ``messages`` (table ``trials`` of this study) that ``packets`` (that of the batch study) has too,
    with the same heap, queue and store; both measured."""
    found = []
    for each in Campaign(messages).with_both(ALLOC, POOL):
        ours = {side: each.costs(side) for side in (ALLOC, POOL)}
        alloc, pool, larger = (_costs(packets, each, side) for side in (ALLOC, _AS_LARGE, _LARGER))
        if _is_like(each) and all(len(costs) for costs in (*ours.values(), alloc, pool)):
            found.append(Alike(
                str(each.facts["solution"]), compare(alloc, pool), compare(ours[ALLOC], ours[POOL]),
                compare_products((ours[ALLOC], pool), (ours[POOL], alloc)), compare(larger, pool),
            ))  # fmt: skip
    return found


def _is_like(each: SetUp) -> bool:
    facts = each.facts
    same = all(math.isclose(float(facts[name]), value) for name, value in _LIKE.items())
    return same and pd.isna(facts["rate_per_s"]) and facts["kept_count"] > 0


def _costs(packets: pd.DataFrame, each: SetUp, strategy: str) -> pd.Series:
    """CPU of the whole process, ns a packet, of the batch trials with the same solution, heap, queue and store."""
    facts = each.facts
    same = (
        (packets["mode"] == "batch") & (packets["case"] == _CASE) & (packets["strategy"] == strategy)
        & (packets["solution"] == facts["solution"]) & (packets["heap_mb"] == facts["heap_mb"])
        & (packets["queue_size"] == facts["messages_in_flight"]) & (packets["stored_count"] == facts["kept_count"])
    ).fillna(False)  # fmt: skip
    done = finished(counted(packets[same.astype(bool)])).sort_values("started_utc")
    return done[_COST].dropna().astype(float)


def table(found: list[Alike]) -> pd.DataFrame:
    """One row per solution: both ratios, the one over the other, what that shows, and what a larger pool costs."""
    return pd.DataFrame(
        [
            [each.solution, each.packets.text(), each.messages.text(), _ends(each.apart), _shown(each),
             each.larger.text()]
            for each in found
        ],
        columns=[
            "solution", "alloc / pool, packets", "alloc / pool, messages", "messages / packets", "the two",
            "larger pool / pool, packets",
        ],
    )  # fmt: skip


def sentence(found: list[Alike]) -> str:
    """Whether the general workload with the article's parameters gives what the packets study gives."""
    if not found:
        return (
            "The article's packets were not measured both as packets, in the batch study, and as messages, here: "
            "nothing says yet how far the two programs are apart."
        )
    told = "; ".join(f"{each.solution}: the two {_shown(each)}, {_ends(each.apart)}" for each in found)
    costs = "; ".join(f"{each.solution}: {each.larger.text()}" for each in found)
    return (
        "The article's packets as messages, over the same as packets, of what allocating costs over a pool that is as "
        f"large as what is alive: {told}. The article's pool is larger than that, which has its own price: {costs}."
    )


def _shown(each: Alike) -> str:
    if each.apart.equivalent:
        return "agree"
    if each.apart.direction:
        ratio = each.apart.decision.ratio
        return f"differ by {stats.significant(ratio if ratio > 1 else 1 / ratio)} times"
    return "are not shown to agree or to differ"


def _ends(told: Comparison) -> str:
    decision = told.decision
    spread = "" if math.isnan(decision.low) else f"{stats.ends(decision.low, decision.high)}, "
    return f"{stats.significant(decision.ratio)} ({spread}n = {decision.n})"
