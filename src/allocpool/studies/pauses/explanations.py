"""Why claims on pauses fail here: which one thing is changed about the cells of a comparison that is the other way
round, or about which of their pauses count. All cells are those of the campaign itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from allocpool.evidence.ablation import Ablation, Asked, Changed, Sides, ablations, failed
from allocpool.evidence.claims import OTHER_WAY, Verdict
from allocpool.evidence.declared import CellOrdering, Cells
from allocpool.packets.cells import CONFIGURATION
from allocpool.packets.comparisons import Cell, Change, facts_of, on_both
from allocpool.studies.pauses.claims import PAUSES_CLAIMS, cells_of, collected
from allocpool.studies.pauses.story import per_trial

YOUNG = "only young collections count"
"""Full ones, and the pauses of a concurrent marking, are of another length; so a mean hangs on how many there were."""
_OF_YOUNG = ("mean_pause_ms", "max_pause_ms")
EXPLANATIONS: Mapping[str, tuple[Change, ...]] = {
    "pool-rare-long": (
        on_both("as few packets are alive as in case A", case="A"),
        on_both("the collector is Parallel", collector="parallel"),
    ),
    "pool-a-worst-pauses": (
        on_both("the collector is Serial", collector="serial"),
        on_both("the pool is small", strategy="mix"),
    ),
    "alloc-overload": (
        on_both("as few packets are alive as in case B", case="B"),
        on_both("the buffers are off the heap", layout="native"),
    ),
}
"""By claim: what is changed about its comparisons that are the other way round."""
_NONE = pd.Series(dtype=float)


def of_claims(
    trials: pd.DataFrame, collections: pd.DataFrame, pauses: pd.DataFrame, verdicts: Sequence[Verdict]
) -> list[Ablation]:
    """Return every change of every comparison that is the other way round, of the claims that these verdicts refute."""
    facts, every = facts_of(trials), cells_of(per_trial(trials, collections))
    young = cells_of(per_trial(trials, only_young(collections, pauses)))
    asked: list[Asked] = []
    for verdict in failed(verdicts):
        if verdict.claim.id not in EXPLANATIONS:
            continue
        cells = cells_of(per_trial(collected(trials, verdict.set_up), collections))
        expected = PAUSES_CLAIMS.orderings(verdict.claim.id, cells)
        for item, shown in zip(expected, verdict.evidence["shown"], strict=True):
            if shown == OTHER_WAY:
                asked += _of_ordering(verdict, item, facts, every, young)
    return ablations(asked)


def _of_ordering(
    verdict: Verdict, item: CellOrdering, facts: Mapping[str, Any], every: Cells, young: Cells
) -> Iterator[Asked]:
    words = (verdict.claim.text, verdict.set_up, f"{item.larger} over {item.smaller}")
    cells = [Cell(*cell.at(CONFIGURATION)) for side in item.cells for cell in side]
    pair, metric = (cells[0], cells[-1]), str(item.cells[0][0].facts["metric"])
    published = None if item.cells[1] else float(item.smaller.rpartition(" ")[2])
    larger, smaller = _sides(metric, pair, every)
    before, within = Sides(larger, published or smaller), item.factor if published else None
    if published or metric in _OF_YOUNG:
        larger, smaller = _sides(metric, pair, young)
        yield Asked(*words, YOUNG, before, Changed(larger, None if published else smaller), within=within)
    for change in EXPLANATIONS[verdict.claim.id]:
        if (to := change.cells(pair, facts)) is not None:
            larger, smaller = _sides(metric, to, every)
            same = None if published or to[1] == pair[1] else smaller
            after = Changed(None if to[0] == pair[0] else larger, same)
            yield Asked(*words, change.words, before, after, within=within)


def _sides(metric: str, pair: tuple[Cell, Cell], cells: Cells) -> tuple[pd.Series, pd.Series]:
    """A measure of two cells by block; nothing of the first where neither always collects: that compares nothing."""
    top, bottom = (cells.by_key.get((*cell, metric)) for cell in pair)
    if top is None or bottom is None:
        return _NONE, _NONE
    return _NONE if top is not bottom and top.weak and bottom.weak else top.values, bottom.values


def only_young(collections: pd.DataFrame, pauses: pd.DataFrame) -> pd.DataFrame:
    """Return both tables of the study as ``collections`` would be, had only its young collections paused."""
    young = pauses[pauses["kind"].str.startswith("Young")].groupby("trial_id", observed=True)["duration_ms"]
    found = collections["trial_id"].to_frame().join(young.agg(["size", "sum", "mean", "max"]), on="trial_id")
    counts = found["size"].fillna(0.0).astype("int64")
    return collections.assign(
        collections=counts, pauses=counts, pause_total_ms=found["sum"].fillna(0.0), pause_mean_ms=found["mean"],
        pause_max_ms=found["max"].fillna(0.0),
    )  # fmt: skip
