"""Why G1 does not answer in time here: one thing is changed about its trials, or about what counts of them. All trials
are those of the campaign itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from allocpool.evidence.ablation import Ablation, Asked, Changed, Sides, ablations, failed
from allocpool.evidence.claims import OTHER_WAY, Verdict
from allocpool.evidence.declared import Selection
from allocpool.studies.stream.claims import SET_UPS, STREAM_CLAIMS, WITHIN_TARGET, cells_of, name_of
from allocpool.studies.stream.tables import label


def of_claims(tables: Mapping[str, pd.DataFrame], target_ms: float, verdicts: Sequence[Verdict]) -> list[Ablation]:
    """Return every change of every rate at which G1 misses the target, of the verdicts that refute that it holds it."""
    every = cells_of(tables, target_ms)
    sizes_mb = sorted(tables["trials"]["new_size_mb"].dropna().unique())
    asked: list[Asked] = []
    for verdict in failed(verdicts):
        if verdict.claim.id != WITHIN_TARGET:
            continue
        expected = STREAM_CLAIMS.orderings(WITHIN_TARGET, cells_of(tables, target_ms, verdict.set_up))
        for item, shown in zip(expected, verdict.evidence["shown"], strict=True):
            if shown != OTHER_WAY:
                continue
            ((cell,), _) = item.cells
            about = (verdict.claim.text, verdict.set_up, f"{target_ms:g} ms over {name_of(cell.facts)}")
            for words, to in _changes(cell.facts, label(*SET_UPS[verdict.set_up]["ZGC"]), sizes_mb):
                other = every.other(cell, to)
                after = Changed(1 / other.values if other else pd.Series(dtype=float), None)
                asked.append(Asked(*about, words, Sides(1 / cell.values, 1.0), after))
    return ablations(asked)


def _changes(facts: Mapping[str, Any], zgc: str, sizes_mb: Sequence[int]) -> Iterator[tuple[str, Selection]]:
    # Left out are the engine, the machine, and what a collector takes while it runs concurrently.
    yield "nothing delays but the longest pause", {"measure": "longest pause over target"}
    # A target for pauses is G1's alone.
    yield f"the collector is {zgc}", {"configuration": zgc, "pause_target_ms": None}
    if facts["cores"] > facts["cooperative_threads"]:
        yield "every processor has a thread", {"cooperative_threads": facts["cores"]}
    yield "the aggregate makes no garbage", {"aggregate": "garbage_free"}
    for size_mb in sizes_mb:
        yield f"MaxNewSize is {size_mb} MB", {"new_size_mb": size_mb}
