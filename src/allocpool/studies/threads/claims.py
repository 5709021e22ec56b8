"""What is said of pools between threads, as tests: CPU of the whole process per packet, at two threads.

The sentences are ours, after arguments in the trackers of those who pool: none of them publishes a comparison with a
collector in it. The article's is put to two threads, of which it did not speak. Each is judged apart on the collectors
of then, on those of today and in C++.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

import pandas as pd

from allocpool.decisions import FEWEST
from allocpool.evidence import claims
from allocpool.evidence.claims import AS_PUBLISHED, Claim, Evidence, Verdict, of_orderings
from allocpool.packets.comparisons import IN_CPP, NOW, THEN, set_up_of
from allocpool.packets.specs import DEFAULT_ALLOCATOR
from allocpool.stats import plural
from allocpool.studies.threads.cells import Campaign, Cell
from allocpool.studies.threads.strategies import STRATEGIES

THREADS = 2
SHARED = tuple(row.name for row in STRATEGIES.values() if row.shared == "all" and row.library is None)
"""Pools of ours that all threads share as one."""
_POOLS = tuple(row.name for row in STRATEGIES.values() if row.library is None and row.prepares)
_PLATFORM = ("sharded", "pipeline")


_Of = Callable[[Any], bool]
"""Of which configurations a claim speaks, by what a trial of one tells of it."""


def _every(_configuration: Any) -> bool:
    return True


def _generational_zgc(configuration: Any) -> bool:
    return bool(configuration.collector == "genzgc")


def _g1_on_the_heap(configuration: Any) -> bool:
    return bool(configuration.collector == "g1" and configuration.layout == "heap")


_Pairs = Callable[[Campaign], list[tuple[Cell, Cell]]]
"""The cells that a claim compares in a campaign, the one that it says is dearer first."""


def _pairs(
    campaign: Campaign, of: _Of, topologies: tuple[str, ...], larger: tuple[str, ...], smaller: str
) -> Iterator[tuple[Cell, Cell]]:
    """Each of ``larger`` over ``smaller`` on such configurations, where the campaign has both of them."""
    present = set(campaign.cells)
    for configuration in filter(lambda name: of(campaign.facts[name]), campaign.configurations):
        for topology, name in itertools.product(topologies, larger):
            dear, cheap = (Cell(configuration, topology, THREADS, strategy) for strategy in (name, smaller))
            if present.issuperset((dear, cheap)):
                yield dear, cheap


def _each(of: _Of, topologies: tuple[str, ...], larger: tuple[str, ...], smaller: str) -> _Pairs:
    return lambda campaign: list(_pairs(campaign, of, topologies, larger, smaller))


def _remote(campaign: Campaign) -> list[tuple[Cell, Cell]]:
    """glibc over each other allocator where every free is remote."""
    by_allocator = {
        row.allocator: Cell(name, "pipeline", THREADS, "alloc")
        for name, row in campaign.facts.items()
        if row.language == "cpp" and row.layout == "heap"
    }
    plain = by_allocator.pop(DEFAULT_ALLOCATOR, Cell("C++ heap", "pipeline", THREADS, "alloc"))
    return [(plain, other) for other in by_allocator.values()]


def _evidence(pairs: _Pairs) -> Callable[[Campaign], Evidence]:
    return lambda campaign: of_orderings([campaign.ordering(*pair) for pair in pairs(campaign)])


def _sentence(evidence: Evidence) -> str:
    if evidence.rows.empty:
        return "The campaign has no such comparison."
    shown, total, against = evidence.count(AS_PUBLISHED), len(evidence.rows), len(evidence.against)
    few = evidence.rows[evidence.rows["trials"] < FEWEST]
    parts = [f"Shown in {shown} of {plural(total, 'comparison')}, the other way round in {against}."]
    if len(few):
        had = plural(int(few["trials"].max()), "trial")
        which = plural(len(few), "comparison")
        parts.append(f"Nothing can be shown in {which}: a verdict takes {FEWEST} trials a side, here is at most {had}.")
    return " ".join(parts[1:] if len(few) == total else parts)


PAIRS: Mapping[str, _Pairs] = MappingProxyType(
    {
        "pool_everywhere": _each(_every, _PLATFORM, ("alloc",), "owner"),
        "zgc_shared": _each(_generational_zgc, _PLATFORM, SHARED, "alloc"),
        "g1_shared": _each(_g1_on_the_heap, _PLATFORM, SHARED, "alloc"),
        "lock_worst": _each(_every, _PLATFORM, ("locked",), "cached"),
        "copying": _each(_every, _PLATFORM, _POOLS, "copy_on_keep"),
        "thread_local_virtual": _each(_every, ("virtual",), ("thread_local",), "alloc"),
        "remote_glibc": _remote,
    }
)
"""By claim: what it compares."""
OURS = "this study"
EVERYWHERE = (THEN, NOW, IN_CPP)
CLAIMS: tuple[Claim[Campaign], ...] = (
    Claim(
        "pool_everywhere",
        "In every test pooling beats allocating, also at two threads: where messages go back to their owner.",
        "the article, of one thread",
        _evidence(PAIRS["pool_everywhere"]),
        _sentence,
        set_ups=EVERYWHERE,
    ),
    Claim(
        "zgc_shared",
        "Under generational ZGC no shared pool beats allocation at two threads.",
        OURS,
        _evidence(PAIRS["zgc_shared"]),
        _sentence,
        set_ups=(NOW,),
    ),
    Claim(
        "g1_shared",
        "Under G1 no shared pool beats allocation at two threads.",
        OURS,
        _evidence(PAIRS["g1_shared"]),
        _sentence,
        set_ups=(THEN, NOW),
    ),
    Claim(
        "lock_worst",
        "A pool under a lock costs more than one with a cache for each thread.",
        "DPDK Programmer's Guide, Mempool Library",
        _evidence(PAIRS["lock_worst"]),
        _sentence,
        set_ups=EVERYWHERE,
    ),
    Claim(
        "copying",
        "Where one message in sixteen is kept, copying it out costs less than any pool.",
        OURS,
        _evidence(PAIRS["copying"]),
        _sentence,
        asks="most",
        set_ups=EVERYWHERE,
    ),
    Claim(
        "thread_local_virtual",
        "On virtual threads a pool in a ThreadLocal costs more than allocation.",
        "netty pull request 14607; stormpot pull request 179",
        _evidence(PAIRS["thread_local_virtual"]),
        _sentence,
        set_ups=(NOW,),
    ),
    Claim(
        "remote_glibc",
        "Where every free is remote, glibc costs more than allocators that were made for it.",
        "Leijen, Zorn, de Moura, APLAS 2019",
        _evidence(PAIRS["remote_glibc"]),
        _sentence,
        set_ups=(IN_CPP,),
    ),
)


def evaluate(trials: pd.DataFrame) -> list[Verdict]:
    """Every claim, judged on each of its set-ups."""
    return claims.evaluate_apart(CLAIMS, partial(on_set_up, trials))


def on_set_up(trials: pd.DataFrame, set_up: str) -> Campaign:
    """The trials that a claim is put to on a set-up."""
    if set_up == IN_CPP:
        return Campaign(trials[trials["language"] == "cpp"])
    runtime = trials["runtime"].astype("Int64")
    return Campaign(trials[(runtime == set_up_of(set_up, trials).runtime).fillna(False).astype(bool)])


def of_campaign(tables: Mapping[str, pd.DataFrame], _settings: Mapping[str, Any]) -> list[Verdict]:
    """The verdicts of a campaign, on what it left, as its page and the first page show them."""
    return evaluate(tables["trials"])
