"""Cells of a batch campaign set against each other: looked up, ordered as a claim expects them, counted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pandas as pd

from allocpool import stats
from allocpool.evidence.claims import (
    AS_PUBLISHED,
    NO_DIFFERENCE,
    NOT_MEASURED,
    Claim,
    Evidence,
    Missing,
    Ordering,
    of_orderings,
)
from allocpool.evidence.trials import NOT_PART, gap_of
from allocpool.packets import cells as cell_data
from allocpool.packets.published import ARTICLE, family, published_as_trials

POOLING_STRATEGIES = ("alloc", "mix", "pool")
"""Those that the article sets against each other."""
POOL, ALLOCATE, DEPENDS, UNDECIDED = "Pool", "Allocate", "It depends", "Mostly undecided"
_EXCEPTIONS = 4  # so many times more often the one than the other: the other is an exception


class Cell(NamedTuple):
    """One configuration of a batch campaign."""

    solution: str
    strategy: str
    case: str

    def __str__(self) -> str:
        return f"{self.solution} {self.strategy} {self.case}"


class Batch:
    """The trials of a batch campaign, controls apart, looked up by cell and by published family."""

    def __init__(self, trials: pd.DataFrame) -> None:
        self._started = trials[~trials["collector"].isin(cell_data.CONTROLS)]
        self.trials = cell_data.with_cost(self._started)
        facts = self._started.drop_duplicates("solution").copy()
        facts["family"] = [
            family(str(language), collector)
            for language, collector in zip(facts["language"], facts["collector"], strict=True)
        ]
        self.facts = facts.set_index("solution")

    @cached_property
    def noise(self) -> stats.NoiseBand:
        """How far two trials of one configuration lie apart."""
        return stats.noise_band(self.trials, cell_data.CONFIGURATION)

    @cached_property
    def _values(self) -> dict[tuple[str, str, str], pd.Series]:
        return {
            (str(s), str(t), str(c)): group.set_index("block")["ns_per_packet"].astype(float)
            for (s, t, c), group in self.trials.groupby(list(cell_data.CONFIGURATION), observed=True)
        }

    def values(self, cell: Cell) -> pd.Series:
        """ns/packet indexed by block; empty when no trial of the cell finished."""
        return self._values.get((cell.solution, cell.strategy, cell.case), pd.Series(dtype=float))

    def cost(self, cell: Cell) -> float:
        """Geometric mean in ns/packet, infinite for an empty cell: it never is the cheapest."""
        values = self.values(cell)
        return stats.geometric_mean(values) if len(values) else float("inf")

    def compare(self, larger: Cell, smaller: Cell) -> stats.Comparison:
        """The ratio of two cells, paired within blocks."""
        return stats.compare(self.values(larger), self.values(smaller), self.noise)

    def why_not(self, *cells: Cell) -> str:
        """Why these cells can't be compared."""
        gaps = [f"{cell}: {self._gap(cell)}" for cell in dict.fromkeys(cells) if self.values(cell).empty]
        return "; ".join(gaps) or "no block has a figure for each"

    def _gap(self, cell: Cell) -> str:
        return self._gaps.get(cell) or gap_of(self._started.iloc[:0]).text

    @cached_property
    def _gaps(self) -> dict[Cell, str]:
        groups = self._started.groupby(list(cell_data.CONFIGURATION), observed=True)
        return {Cell(str(s), str(t), str(c)): gap_of(group).text for (s, t, c), group in groups}

    def solutions(
        self,
        language: str | None = None,
        layout: str | None = None,
        families: Sequence[str] = (),
        collector: str | None = None,
    ) -> list[str]:
        """The solutions of the campaign that match every given fact, in reading order."""
        facts = self.facts
        if language is not None:
            facts = facts[facts["language"] == language]
        if layout is not None:
            facts = facts[facts["layout"] == layout]
        if collector is not None:
            facts = facts[facts["collector"] == collector]
        if families:
            facts = facts[facts["family"].isin(families)]
        return cell_data.solution_order(facts.reset_index()) if len(facts) else []

    def families(self, *cells: Cell) -> frozenset[str]:
        """The published collectors among the solutions of ``cells``."""
        return frozenset(str(name) for name in self.facts.loc[[cell.solution for cell in cells], "family"].dropna())

    def cheapest(self, cells: Iterable[Cell]) -> Cell | None:
        """The cheapest cell that has a figure, or None."""
        ranked = sorted(cells, key=self.cost)
        return ranked[0] if ranked and np.isfinite(self.cost(ranked[0])) else None


@dataclass(frozen=True)
class CellOrdering(Ordering):
    """An expected ordering of cells; ``families`` are the published collectors on both sides."""

    families: frozenset[str] = field(default=frozenset(), kw_only=True)


OrderingRule = Callable[[Batch], list[CellOrdering]]


def ordering(batch: Batch, larger: Cell, smaller: Cell) -> CellOrdering:
    """The expected ordering of two cells."""
    return CellOrdering(
        str(larger),
        str(smaller),
        batch.compare(larger, smaller),
        batch.why_not(larger, smaller),
        families=batch.families(larger, smaller),
    )


def ratio_of_ratios(batch: Batch, larger: tuple[Cell, Cell], smaller: tuple[Cell, Cell]) -> CellOrdering:
    """The expected ordering of two ratios, each of one cell over another within blocks."""
    ratios = [stats.block_ratios(batch.values(top), batch.values(bottom)) for top, bottom in (larger, smaller)]
    names = [f"{top} / {bottom.strategy} {bottom.case}" for top, bottom in (larger, smaller)]
    return CellOrdering(
        names[0],
        names[1],
        stats.compare(ratios[0], ratios[1], batch.noise),
        batch.why_not(*larger, *smaller),
        families=batch.families(*larger, *smaller),
    )


def ordering_claim(id: str, text: str, rule: OrderingRule, families: Sequence[str] = ()) -> Claim[Batch]:
    """A claim of the article that ``rule`` makes expected orderings of; all ``families`` must have taken part.

    The published table goes through the same rule, as one block, so that what is expected is computed from it.
    """

    def evidence(batch: Batch) -> Evidence:
        expected = rule(batch)
        took_part = frozenset[str]().union(*(item.families for item in expected))
        return of_orderings(expected, [Missing(name, NOT_PART.word) for name in families if name not in took_part])

    def published_ratios() -> pd.Series:
        return of_orderings(rule(Batch(published_as_trials()))).rows["ratio"]

    return Claim(id, text, ARTICLE, evidence, _sentence, published_ratios, needs_all=True)


def _sentence(evidence: Evidence) -> str:
    total = len(evidence.rows)
    if not total:
        return "Nothing to compare: the solutions that it is about were not run."
    if len(against := evidence.against):
        worst = against.nsmallest(1, "ratio").iloc[0]
        return (
            f"Shown the other way round in {len(against)} of {total} comparisons, most of all "
            f"{worst['larger']} at {stats.significant(worst['ratio'], 2)} times {worst['smaller']}."
        )
    measured = evidence.measured
    parts = [
        f"Shown in {evidence.count(AS_PUBLISHED)} of {total} comparisons"
        + (f", ratios {stats.span(measured['ratio'])}" if len(measured) else "")
    ]
    parts += [f"{shown} in {count}" for shown in (NO_DIFFERENCE, NOT_MEASURED) if (count := evidence.count(shown))]
    absent = [item.what for item in evidence.missing if item.why == NOT_PART.word]
    parts += [f"{NOT_PART.word}: {', '.join(absent)}"] if absent else []
    return f"{'; '.join(parts)}."


def count(compared: pd.DataFrame, direction: int) -> int:
    """How many comparisons (`allocpool.packets.tables.comparison_table`) show this direction."""
    return int((compared["direction"] == direction).sum())


def headline(compared: pd.DataFrame) -> str:
    """The answer in a few words, from a table of alloc/pool comparisons (`allocpool.packets.tables.comparison_table`).

    Undecided unless differences are shown in at least half of the configurations; then the side that is cheaper, with
    exceptions where the other side is, too, but at least four times less often.
    """
    dearer, cheaper = count(compared, 1), count(compared, -1)
    if not compared.size or 2 * (dearer + cheaper) < len(compared):
        return UNDECIDED
    if dearer >= _EXCEPTIONS * cheaper:
        return f"{POOL}, with exceptions" if cheaper else POOL
    if cheaper >= _EXCEPTIONS * dearer:
        return f"{ALLOCATE}, with exceptions" if dearer else ALLOCATE
    return DEPENDS


def listed(names: Sequence[str]) -> str:
    """``a, b and c``."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
