"""Why G1 does not answer in time here: one thing is changed about its trials, or about what counts of them. All trials
are those of the campaign itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from allocpool.evidence.ablation import Ablation, Asked, Changed, Sides, ablations, failed
from allocpool.evidence.claims import OTHER_WAY, Verdict
from allocpool.evidence.trials import finished
from allocpool.studies.stream.claims import (
    CELL,
    PLAIN,
    STREAM_CLAIMS,
    WITHIN_TARGET,
    Stream,
    answered_ms,
    keeping_up,
    name_of,
    on_set_up,
)
from allocpool.studies.stream.tables import label

PAUSES = "nothing delays but the longest pause"
"""All else is left out: the engine, the machine, and what a collector takes while it runs concurrently."""
EVERY_PROCESSOR = "every processor has a thread"
NO_GARBAGE = "the aggregate makes no garbage"


def of_claims(tables: Mapping[str, pd.DataFrame], target_ms: float, verdicts: Sequence[Verdict]) -> list[Ablation]:
    """Return every change of every rate at which G1 misses the target, of the verdicts that refute that it holds it."""
    asked: list[Asked] = []
    for verdict in failed(verdicts):
        if verdict.claim.id != WITHIN_TARGET:
            continue
        data = on_set_up(tables, target_ms, verdict.set_up)
        expected = STREAM_CLAIMS.orderings(WITHIN_TARGET, data.cells)
        for item, shown in zip(expected, verdict.evidence["shown"], strict=True):
            if shown != OTHER_WAY:
                continue
            ((cell,), _) = item.cells
            about = (verdict.claim.text, verdict.set_up, f"{target_ms:g} ms over {name_of(cell.facts)}")
            before = Sides(1 / cell.values, 1.0)
            asked += [
                Asked(*about, words, before, Changed(target_ms / latencies_ms, None))
                for words, latencies_ms in _changed(data, cell.facts)
            ]
    return ablations(asked)


def _changed(data: Stream, facts: Mapping[str, Any]) -> Iterator[tuple[str, pd.Series]]:
    """What is changed, in words, and the latencies by block after it, ms; none where it was not measured."""
    every = finished(data.trials)
    kept = _like(every, facts)
    yield PAUSES, kept[keeping_up(kept)].set_index("block")["gc_pause_max_ms"].astype(float).dropna()
    configuration = label(*data.collectors["ZGC"])
    # A target for pauses is G1's alone.
    other = _like(every, facts, configuration=configuration, pause_target_ms=None)
    yield f"the collector is {configuration}", answered_ms(other)
    if facts["cores"] > facts["cooperative_threads"]:
        yield EVERY_PROCESSOR, answered_ms(_like(every, facts, cooperative_threads=facts["cores"]))
    yield NO_GARBAGE, answered_ms(_like(every, facts, aggregate="garbage_free"))
    for size_mb in sorted(every["new_size_mb"].dropna().unique()):
        yield f"MaxNewSize is {size_mb} MB", answered_ms(_like(every, facts, new_size_mb=size_mb))


def _like(every: pd.DataFrame, facts: Mapping[str, Any], **changed: object) -> pd.DataFrame:
    """The trials with these facts of `CELL`, but for what is changed."""
    same = pd.Series(True, index=every.index)
    for name, value in ({name: facts[name] for name in CELL} | PLAIN | changed).items():
        column = every[name]
        same &= column.isna() if pd.isna(value) else (column == value).fillna(False).astype(bool)
    return every[same]
