"""What is said of pooling in programs, as tests on the study's own workloads: CPU of the whole process per message."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd

from allocpool.decisions import compare, compare_products
from allocpool.evidence import claims
from allocpool.evidence.claims import Claim, Evidence, Ordering, Verdict, of_orderings
from allocpool.evidence.declared import sentence
from allocpool.runtimes import collector_named
from allocpool.studies.your_workload.cells import Campaign, SetUp
from allocpool.studies.your_workload.workload import ALLOC, POOL, REUSE

OURS = "this study"
_LARGE_BYTES = 65_536.0


def _ordering(each: SetUp, larger: str, smaller: str) -> Ordering:
    lacking = next((name for name in (larger, smaller) if each.costs(name).empty), larger)
    return Ordering(
        f"{larger} ({each.label})", smaller, compare(each.costs(larger), each.costs(smaller)), each.why_not(lacking)
    )


def _where(larger: str, smaller: str, applies: Callable[[dict[str, Any]], bool]) -> Callable[[Campaign], Evidence]:
    """One strategy over another in every set-up that has both and that the claim is of."""
    return lambda campaign: of_orderings([
        _ordering(each, larger, smaller) for each in campaign.with_both(larger, smaller) if applies(each.facts)
    ])  # fmt: skip


def _live(campaign: Campaign) -> Evidence:
    """Allocation's cost over the pool's with live data besides, over the same without."""
    rows = []
    for plain, full in campaign.alike_apart_from("live_mb"):
        tops: Sequence[pd.Series] = (full.costs(ALLOC), plain.costs(POOL))
        bottoms: Sequence[pd.Series] = (full.costs(POOL), plain.costs(ALLOC))
        if {ALLOC, POOL} <= set(plain.strategies) & set(full.strategies):
            compared = compare_products(tops, bottoms)
            rows.append(Ordering(f"alloc over pool ({full.label})", "the same without", compared))
    return of_orderings(rows)


def _is_java(facts: dict[str, Any]) -> bool:
    return bool(facts["language"] == "java")


def _collects(facts: dict[str, Any]) -> bool:
    return _is_java(facts) and not collector_named(str(facts["collector"])).never_frees


CLAIMS: tuple[Claim[Campaign], ...] = (
    Claim(
        "nothing_in_flight",
        "Where nothing is in flight or kept, one buffer per thread that is used again costs less than allocation.",
        OURS,
        _where(ALLOC, REUSE, lambda facts: not facts["messages_in_flight"] and not facts["kept_count"]),
        sentence,
    ),
    Claim(
        "pool_in_flight",
        "Where messages are in flight, a pool costs less than allocation.",
        OURS,
        _where(ALLOC, POOL, lambda facts: _collects(facts) and bool(facts["messages_in_flight"])),
        sentence,
    ),
    Claim(
        "live_besides",
        "Live data besides make allocation dearer against a pool than it is without them.",
        OURS,
        _live,
        sentence,
    ),
    Claim(
        "large_messages",
        "Messages that are large cost less from a pool.",
        OURS,
        _where(ALLOC, POOL, lambda facts: _collects(facts) and facts["mean_bytes"] >= _LARGE_BYTES),
        sentence,
    ),
    Claim(
        "no_collector",
        "Where nothing is ever collected, allocation still costs more than a pool.",
        OURS,
        _where(ALLOC, POOL, lambda facts: _is_java(facts) and not _collects(facts)),
        sentence,
    ),
)


def evaluate(trials: pd.DataFrame) -> list[Verdict]:
    """Every claim, judged."""
    return claims.evaluate(CLAIMS, Campaign(trials))


def of_campaign(tables: Mapping[str, pd.DataFrame], _settings: Mapping[str, Any]) -> list[Verdict]:
    """The verdicts of a campaign, on what it left, as its page and the first page show them."""
    return evaluate(tables["trials"])
