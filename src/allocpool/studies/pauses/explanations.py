"""Why claims on pauses fail here: which one thing is changed about the cells of a comparison that is the other way
round, or about which of their pauses count. All cells are those of the campaign itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import pandas as pd

from allocpool.evidence.ablation import Ablation, Asked, Changed, Sides, ablations, failed
from allocpool.evidence.claims import OTHER_WAY, Verdict
from allocpool.packets.changes import Change, facts_of, on_both
from allocpool.packets.comparisons import Cell
from allocpool.studies.pauses.claims import (
    ABOUT_FACTOR,
    Expected,
    by_cell,
    case_a_is_worst,
    collected,
    heap_of,
    overloaded,
    rare_and_long,
    share_of_time,
    sides_of,
    told_percent,
)
from allocpool.studies.pauses.gc_table import per_trial

YOUNG = "only young collections count"
"""Full ones, and the pauses of a concurrent marking, are of another length; so a mean hangs on how many there were."""
_LENGTHS = ("mean_pause_ms", "max_pause_ms")

EXPLANATIONS: Mapping[str, tuple[Callable[[pd.DataFrame], list[Expected]], tuple[Change, ...]]] = MappingProxyType(
    {
        "pool-rare-long": (
            rare_and_long,
            (
                on_both("as few packets are alive as in case A", case="A"),
                on_both("the collector is Parallel", collector="parallel"),
            ),
        ),
        "pool-a-worst-pauses": (
            case_a_is_worst,
            (
                on_both("the collector is Serial", collector="serial"),
                on_both("the pool is small", strategy="mix"),
            ),
        ),
    }
)
"""By claim: the rule that makes its comparisons, and what is changed about those that are the other way round."""
OVERLOAD = "alloc-overload"
OVERLOAD_CHANGES = (
    on_both("as few packets are alive as in case B", case="B"),
    on_both("the buffers are off the heap", layout="native"),
)
"""The claim that compares shares of time with published ones, and what is changed about their cells."""

_Cells = Mapping[Cell, pd.DataFrame]
_NONE = pd.Series(dtype=float)


def of_claims(
    trials: pd.DataFrame, collections: pd.DataFrame, pauses: pd.DataFrame, verdicts: Sequence[Verdict]
) -> list[Ablation]:
    """Every change of every comparison that is the other way round, of the claims that these verdicts refute."""
    facts, cells = facts_of(trials), by_cell(per_trial(trials, collections))
    young = by_cell(per_trial(trials, only_young(collections, pauses)))
    asked: list[Asked] = []
    for verdict in failed(verdicts):
        if verdict.claim.id not in (OVERLOAD, *EXPLANATIONS):
            continue
        heap = heap_of(collected(trials, verdict.set_up), collections)
        if verdict.claim.id == OVERLOAD:
            asked += _of_overload(verdict, overloaded(heap), facts, cells, young)
        else:
            rule, changes = EXPLANATIONS[verdict.claim.id]
            asked += _of_orderings(verdict, rule(heap), changes, facts, cells, young)
    return ablations(asked)


def _of_orderings(
    verdict: Verdict, expected: Sequence[Expected], changes: Sequence[Change], facts: Mapping[str, Any],
    cells: _Cells, young: _Cells,
) -> Iterator[Asked]:  # fmt: skip
    for item, shown in zip(expected, verdict.evidence["shown"], strict=True):
        if shown != OTHER_WAY:
            continue
        words = (verdict.claim.text, verdict.set_up, " over ".join(item.names))
        before = Sides(*_sides(item.measure, item.cells, cells))
        if item.measure in _LENGTHS:
            yield Asked(*words, YOUNG, before, Changed(*_sides(item.measure, item.cells, young)))
        for change in changes:
            if (to := change.cells(item.cells, facts)) is None:
                continue
            larger, smaller = _sides(item.measure, to, cells)
            after = Changed(*(None if to[at] == item.cells[at] else side for at, side in enumerate((larger, smaller))))
            yield Asked(*words, change.words, before, after)


def _sides(measure: str, pair: tuple[Cell, Cell], cells: _Cells) -> tuple[pd.Series, pd.Series]:
    if any(cell not in cells for cell in pair):
        return _NONE, _NONE
    return sides_of(measure, *(cells[cell] for cell in pair))


def _of_overload(
    verdict: Verdict, expected: Sequence[tuple[Cell, float]], facts: Mapping[str, Any], cells: _Cells, young: _Cells
) -> Iterator[Asked]:
    for (cell, published), shown in zip(expected, verdict.evidence["shown"], strict=True):
        if shown != OTHER_WAY:
            continue
        words = (verdict.claim.text, verdict.set_up, f"{cell} over {told_percent(published)}")
        before = Sides(share_of_time(cells[cell]), published)
        changed = [(YOUNG, share_of_time(young[cell]))]
        for change in OVERLOAD_CHANGES:
            if (to := change.cells((cell, cell), facts)) is not None:
                changed.append((change.words, share_of_time(cells[to[0]]) if to[0] in cells else _NONE))
        for what, share in changed:
            yield Asked(*words, what, before, Changed(share, None), within=ABOUT_FACTOR)


def only_young(collections: pd.DataFrame, pauses: pd.DataFrame) -> pd.DataFrame:
    """Both tables of the study as ``collections`` would be, had only its young collections paused."""
    young = pauses[pauses["kind"].str.startswith("Young")].groupby("trial_id", observed=True)["duration_ms"]
    figures = collections[["trial_id"]].join(young.agg(["size", "sum", "mean", "max"]), on="trial_id")
    figures = figures.drop(columns="trial_id").astype("float64")
    counts = figures["size"].fillna(0.0).astype("int64")
    return collections.assign(
        collections=counts, pauses=counts, pause_total_ms=figures["sum"].fillna(0.0), pause_mean_ms=figures["mean"],
        pause_max_ms=figures["max"].fillna(0.0),
    )  # fmt: skip
