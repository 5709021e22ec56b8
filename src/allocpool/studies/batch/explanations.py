"""Why claims on batch fail here: which one thing is changed about the cells of a comparison that is the other way
round. Most cells are those of the campaign itself; the group ``explanations`` of a profile adds the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import pandas as pd

from allocpool.evidence.ablation import Ablation, Asked, Changed, Sides, ablations, failed
from allocpool.evidence.claims import OTHER_WAY, Verdict
from allocpool.packets import cells as cell_data
from allocpool.packets.comparisons import Batch, Cell, OrderingRule
from allocpool.packets.specs import Solution
from allocpool.studies.batch.claims import (
    allocation_is_dear_in_cpp,
    pool_everywhere,
    zgc_is_best_java_when_overloaded,
)


class Change(NamedTuple):
    """One thing that is changed about both cells of a comparison, or about one of them.

    ``larger`` and ``smaller``: what becomes of the cells that the claim calls so, by field of `Solution` or
    ``strategy``. ``where``: facts of both solutions without which there is nothing to change.
    """

    words: str
    larger: Mapping[str, str | bool] = MappingProxyType({})
    smaller: Mapping[str, str | bool] = MappingProxyType({})
    where: Mapping[str, str] = MappingProxyType({})


def _on_both(words: str, where: Mapping[str, str] | None = None, **to: str | bool) -> Change:
    return Change(words, to, to, where or {})


EXPLANATIONS: Mapping[str, tuple[OrderingRule, tuple[Change, ...]]] = MappingProxyType(
    {
        "pool-everywhere-batch": (
            pool_everywhere,
            (
                Change("the pool is small", smaller={"strategy": "mix"}),
                Change("the pool lies in the order in which it was made", smaller={"pool_order": "fresh"}),
                _on_both("the collector has generations", {"collector": "shenandoah"}, collector="genshenandoah"),
                _on_both("the collector is Serial", {"collector": "g1"}, collector="serial"),
                _on_both("nothing is ever collected (Epsilon)", collector="epsilon"),
            ),
        ),
        "zgc-best-c": (
            zgc_is_best_java_when_overloaded,
            (_on_both("the buffers are on the heap, too", {"layout": "native"}, layout="heap"),),
        ),
        "cpp-alloc-dear": (
            allocation_is_dear_in_cpp,
            (
                _on_both("all of a packet is written and read", payload_touch=True),
                Change("the thread cache of glibc takes no buffer", larger={"allocator": "glibc_small_cache"}),
                Change("Java's memory is on huge pages", smaller={"large_pages": True}),
            ),
        ),
    }
)
"""By claim: the rule that makes its comparisons, and what is changed about those that are the other way round."""


def of_claims(trials: pd.DataFrame, verdicts: Sequence[Verdict]) -> list[Ablation]:
    """Every change of every comparison that is the other way round, of the claims that these verdicts refute."""
    costs = cell_data.costs_by_cell(trials)
    facts = {str(row["solution"]): row for row in trials.drop_duplicates("solution").to_dict("records")}
    asked: list[Asked] = []
    for verdict in failed(verdicts):
        if verdict.claim.id not in EXPLANATIONS:
            continue
        rule, changes = EXPLANATIONS[verdict.claim.id]
        expected = rule(Batch(trials, verdict.set_up))
        for item, shown in zip(expected, verdict.evidence["shown"], strict=True):
            if shown != OTHER_WAY or item.cells is None:
                continue
            words = (verdict.claim.text, verdict.set_up, f"{item.larger} over {item.smaller}")
            larger, smaller = (costs.get(cell, _NONE) for cell in item.cells)
            for change in changes:
                if (cells := _changed(change, item.cells, facts)) is None:
                    continue
                to = [None if new == old else costs.get(new, _NONE) for new, old in zip(cells, item.cells, strict=True)]
                after = Changed(to[0], None if to[1] is None else item.factor * to[1])
                asked.append(Asked(*words, change.words, Sides(larger, item.factor * smaller), after))
    return ablations(asked)


_NONE = pd.Series(dtype=float)


def _changed(change: Change, cells: tuple[Cell, Cell], facts: Mapping[str, Any]) -> tuple[Cell, Cell] | None:
    """The cells after the change, or None where there is nothing to change."""
    solutions = [Solution.of(facts[cell.solution]) for cell in cells]
    if any(getattr(solution, name) != value for solution in solutions for name, value in change.where.items()):
        return None
    larger, smaller = (
        _cell(cell, solution, to)
        for cell, solution, to in zip(cells, solutions, (change.larger, change.smaller), strict=True)
    )
    return None if (larger, smaller) == cells else (larger, smaller)


def _cell(cell: Cell, solution: Solution, to: Mapping[str, Any]) -> Cell:
    settings = {name: value for name, value in to.items() if name != "strategy"}
    return Cell(solution.model_copy(update=settings).label, str(to.get("strategy", cell.strategy)), cell.case)
