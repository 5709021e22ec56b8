"""Why G1 does not answer in time here: which one thing is changed about its trials, or about what counts of them. All
trials are those of the campaign itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pandas as pd

from allocpool.evidence.ablation import Ablation, Asked, Changed, Sides, ablations, failed
from allocpool.evidence.claims import OTHER_WAY, Verdict
from allocpool.evidence.trials import finished
from allocpool.studies.stream.claims import (
    CELL,
    PLAIN,
    THEN,
    TODAY,
    WITHIN_TARGET,
    Stream,
    answered_ms,
    keeping_up,
    within_target,
)
from allocpool.studies.stream.tables import label

PAUSES = "nothing delays but the longest pause"
"""All else is left out: the engine, the machine, and what a collector takes while it runs concurrently."""
EVERY_PROCESSOR = "every processor has a thread"
NO_GARBAGE = "the aggregate makes no garbage"


def of_claims(tables: Mapping[str, pd.DataFrame], target_ms: float, verdicts: Sequence[Verdict]) -> list[Ablation]:
    """Every change of every rate at which G1 misses the target, of the verdicts that refute that it holds it."""
    asked: list[Asked] = []
    for verdict in failed(verdicts):
        if verdict.claim.id != WITHIN_TARGET:
            continue
        era = next(era for era in (THEN, TODAY) if era.text == verdict.set_up)
        data = Stream(tables["trials"], tables["searches"], tables["switches"], target_ms, era)
        for pair, shown in zip(within_target(data), verdict.evidence["shown"], strict=True):
            if shown != OTHER_WAY or pair.trials is None:
                continue
            before = Sides(1 / answered_ms(pair.trials), 1 / target_ms)
            asked += [
                Asked(verdict.claim.text, verdict.set_up, f"{pair.larger} over {pair.smaller}", words, before,
                      Changed(1 / latencies_ms, None))
                for words, latencies_ms in _changed(data, pair.trials)
            ]  # fmt: skip
    return ablations(asked)


def _changed(data: Stream, trials: pd.DataFrame) -> Iterator[tuple[str, pd.Series]]:
    """What is changed, in words, and the latencies by block after it, ms; none where it was not measured."""
    kept = trials[keeping_up(trials)]
    yield PAUSES, kept.set_index("block")["gc_pause_max_ms"].astype(float).dropna()
    every = finished(data.trials)
    collector, runtime = data.era.configurations["ZGC"]
    configuration = label(collector, runtime)
    # A target for pauses is G1's alone.
    other = _like(every, trials, configuration=configuration, pause_target_ms=None)
    yield f"the collector is {configuration}", answered_ms(other)
    cores = int(trials["cores"].max())
    if cores > trials["cooperative_threads"].max():
        yield EVERY_PROCESSOR, answered_ms(_like(every, trials, cooperative_threads=cores))
    yield NO_GARBAGE, answered_ms(_like(every, trials, aggregate="garbage_free"))
    for size_mb in sorted(every["new_size_mb"].dropna().unique()):
        yield f"MaxNewSize is {size_mb} MB", answered_ms(_like(every, trials, new_size_mb=size_mb))


def _like(every: pd.DataFrame, trials: pd.DataFrame, **changed: object) -> pd.DataFrame:
    """The trials that are as these in all that a trial can differ in, but for what is changed."""
    wanted = {**PLAIN, **{name: trials[name].iloc[0] for name in CELL if name not in PLAIN}, **changed}
    same = pd.Series(True, index=every.index)
    for name, value in wanted.items():
        column = every[name]
        same &= column.isna() if pd.isna(value) else (column == value).fillna(False).astype(bool)
    return every[same]
