"""Why claims on many threads fail here: which one thing is changed about a comparison that is the other way round, or
about what counts of it. All trials are those of the campaign itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from allocpool.evidence.ablation import Ablation, Asked, Changed, Sides, ablations, failed
from allocpool.evidence.claims import OTHER_WAY, Verdict
from allocpool.runtimes.collectors import collector_named
from allocpool.studies.threads.cells import Campaign, Cell
from allocpool.studies.threads.claims import CLAIMS, THREADS, cells_of, on_set_up

COLLECTING = "the CPU of the collector's own threads is left out"
"""What it makes the program's threads do or wait for stays in."""
ALONE = "one thread works"


def of_claims(trials: pd.DataFrame, verdicts: Sequence[Verdict]) -> list[Ablation]:
    """Every change of every comparison that is the other way round, of the claims that these verdicts refute."""
    asked: list[Asked] = []
    for verdict in failed(verdicts):
        campaign = on_set_up(trials, verdict.set_up)
        expected = CLAIMS.orderings(verdict.claim.id, cells_of(campaign))
        for item, shown in zip(expected, verdict.evidence["shown"], strict=True):
            if shown == OTHER_WAY:
                larger, smaller = (Cell(*side[0].at(Cell._fields)) for side in item.cells)
                before = Sides(campaign.costs(larger), campaign.costs(smaller))
                comparison = f"{larger.label} over {smaller.label}"
                asked += [
                    Asked(verdict.claim.text, verdict.set_up, comparison, words, before, Changed(*after))
                    for words, after in _changed(campaign, larger, smaller)
                ]
    return ablations(asked)


def _changed(campaign: Campaign, larger: Cell, smaller: Cell) -> Iterator[tuple[str, tuple[pd.Series, pd.Series]]]:
    """What is changed on both sides, in words, and what they cost after it; none where it was not measured."""
    facts = {
        configuration: campaign.facts[configuration] for configuration in (larger.configuration, smaller.configuration)
    }
    if all(row.language == "java" for row in facts.values()):
        yield COLLECTING, (campaign.without_collector(larger), campaign.without_collector(smaller))
    if larger.threads == smaller.threads == THREADS:
        yield ALONE, (campaign.costs(larger._replace(threads=1)), campaign.costs(smaller._replace(threads=1)))
    if larger.configuration == smaller.configuration:
        mine = facts[larger.configuration]
        for name, row in campaign.facts.items():
            if row.language == "java" and _but_for_the_collector(mine, row):
                words = f"the collector is {collector_named(row.collector).label}"
                yield words, (campaign.costs(larger._replace(configuration=name)),
                              campaign.costs(smaller._replace(configuration=name)))  # fmt: skip


def _but_for_the_collector(one: Any, other: Any) -> bool:
    """Whether two configurations differ in nothing else."""
    same = all(getattr(one, name) == getattr(other, name) for name in ("language", "layout", "runtime"))
    return same and one.collector != other.collector
