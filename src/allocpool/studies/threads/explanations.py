"""Why claims on many threads fail here: one thing is changed about a comparison that is the other way round, or about
what counts of it. All trials are those of the campaign."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from allocpool.evidence.ablation import Ablation, Asked, Changed, Sides, ablations, failed
from allocpool.evidence.claims import OTHER_WAY, Verdict
from allocpool.runtimes.collectors import collector_named
from allocpool.studies.threads.cells import CPU, KEYS, PROGRAM, Campaign, Cell
from allocpool.studies.threads.claims import CLAIMS, THREADS, cells_of, on_set_up


def of_claims(trials: pd.DataFrame, verdicts: Sequence[Verdict]) -> list[Ablation]:
    """Judge every change of every comparison that is the other way round, of the claims that these verdicts refute."""
    asked: list[Asked] = []
    for verdict in failed(verdicts):
        campaign = on_set_up(trials, verdict.set_up)
        expected = CLAIMS.orderings(verdict.claim.id, cells_of(campaign))
        for item, shown in zip(expected, verdict.evidence["shown"], strict=True):
            if shown == OTHER_WAY:
                larger, smaller = (Cell(*side[0].at(KEYS)) for side in item.cells)
                before = Sides(campaign.costs(larger), campaign.costs(smaller))
                comparison = f"{larger.label} over {smaller.label}"
                asked += [
                    Asked(verdict.claim.text, verdict.set_up, comparison, words, before, after)
                    for words, after in _changed(campaign, larger, smaller)
                ]
    return ablations(asked)


def _changed(campaign: Campaign, larger: Cell, smaller: Cell) -> Iterator[tuple[str, Changed]]:
    """Yield what is changed on both sides, in words, and their costs after it; empty where it was not measured."""

    def changed(words: str, value: str = CPU, **to: Any) -> tuple[str, Changed]:
        return words, Changed(*(campaign.costs(cell._replace(**to), value) for cell in (larger, smaller)))

    one, other = (campaign.facts[cell.configuration] for cell in (larger, smaller))
    if one.language == other.language == "java":
        # What it makes the program's threads do or wait for stays in.
        yield changed("the CPU of the collector's own threads is left out", PROGRAM)
    if larger.threads == smaller.threads == THREADS:
        yield changed("one thread works", threads=1)
    if one is other and one.language == "java":
        for name, row in campaign.facts.items():
            alike = all(getattr(one, fact) == getattr(row, fact) for fact in ("language", "layout", "runtime"))
            if alike and one.collector != row.collector:
                yield changed(f"the collector is {collector_named(row.collector).label}", configuration=name)
