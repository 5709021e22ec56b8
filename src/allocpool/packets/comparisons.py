"""Cells of a batch campaign set against each other: looked up, ordered as a claim expects them, counted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import pandas as pd

from allocpool import decisions, stats
from allocpool.decisions import Comparison
from allocpool.evidence.claims import (
    AS_PUBLISHED,
    EQUIVALENT,
    NOT_MEASURED,
    OPEN,
    Claim,
    Evidence,
    Frequency,
    Missing,
    Ordering,
    of_orderings,
)
from allocpool.evidence.figures import as_figures
from allocpool.evidence.trials import NOT_PART, gap_of
from allocpool.packets import cells as cell_data
from allocpool.packets.batch import PUBLISHED_LAYOUTS
from allocpool.packets.published import ARTICLE, family, published_as_trials
from allocpool.packets.specs import Solution
from allocpool.runtimes.collectors import FEATURES

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


@dataclass(frozen=True)
class SetUp:
    """The collectors that stand for the published ones, then or now, on one release of Java; to each belong C++ and the
    collectors of that release that never free.

    Attributes:
        name: in tables of verdicts.
        runtime: feature release.
        families: by collector, the published one that it stands for, or its own name where it stands for none.
    """

    name: str
    runtime: int
    families: Mapping[str, str]

    def label(self, layout: str, collector: str) -> str:
        """The solution of a Java layout on a collector, as tables name it."""
        return Solution(language="java", layout=layout, collector=collector, runtime=self.runtime).label

    @property
    def labels(self) -> dict[str, str]:
        """Solutions that take part, as published but for the collector, each with its family."""
        return {
            self.label(layout, collector): name
            for layout in PUBLISHED_LAYOUTS["java"]
            for collector, name in self.families.items()
        }

    def among(self, rows: pd.DataFrame) -> pd.DataFrame:
        """The rows that belong to it, with column ``family``; one with options, steps or another allocator does not."""
        labels = self.labels
        controls = [self.label(layout, name) for layout in PUBLISHED_LAYOUTS["java"] for name in cell_data.CONTROLS]
        keep = rows["solution"].isin([*labels, *controls, *CPP_LABELS])
        return rows[keep].assign(family=rows.loc[keep, "solution"].map(labels))


CPP_LABELS = tuple(Solution.parse(f"cpp/{layout}").label for layout in PUBLISHED_LAYOUTS["cpp"])
_OF_11 = {"parallel": "CMS", "cms": "CMS", "g1": "G1", "zgc": "ZGC"}
_PUBLISHED_ON = 11
_SET_UPS = (
    SetUp("Java 11", _PUBLISHED_ON, _OF_11),
    SetUp('Java 11, "CMS" is Parallel', _PUBLISHED_ON, {name: of for name, of in _OF_11.items() if name != "cms"}),
    SetUp('Java 11, "CMS" is CMS', _PUBLISHED_ON, {name: of for name, of in _OF_11.items() if name != "parallel"}),
    SetUp(
        f"Java {FEATURES[-1]}",
        FEATURES[-1],
        {"parallel": "CMS", "g1": "G1", "genzgc": "ZGC", "shenandoah": "Shenandoah"},
    ),
    SetUp("C++", 0, {}),
)
SET_UPS: Mapping[str, SetUp] = MappingProxyType({set_up.name: set_up for set_up in _SET_UPS})
"""By name. What the article ran, on the nearest release that has it; the same with either reading of its "CMS"; the
collectors of today, of which Parallel stands for "CMS" and the generational ZGC, another collector, for ZGC; and C++
alone."""
THEN, AS_PARALLEL, AS_CMS, NOW, IN_CPP = SET_UPS
THEN_AND_NOW = (THEN, NOW)
ON_CMS = (AS_PARALLEL, AS_CMS, NOW)
"""Of claims about what the article calls CMS."""
PUBLISHED = "published"


def with_families(rows: pd.DataFrame, set_up: str) -> pd.DataFrame:
    """The rows of a set-up with their published collector in ``family``; all rows of the published tables."""
    if set_up != PUBLISHED:
        return SET_UPS[set_up].among(rows)
    families = [
        family(str(language), collector)
        for language, collector in zip(rows["language"], rows["collector"], strict=True)
    ]
    return rows.assign(family=pd.Series(families, index=rows.index, dtype="object"))


class Batch:
    """The trials of a batch campaign that belong to a set-up, looked up by cell and by published family.

    Controls count nowhere but where they are asked for by name.
    """

    def __init__(self, trials: pd.DataFrame, set_up: str) -> None:
        self.set_up = set_up
        self._compared: dict[tuple[Cell, Cell, float], Comparison] = {}
        self._started = with_families(trials, set_up)
        self._done = cell_data.with_cost(self._started)
        self.trials = self._done[~self._done["collector"].isin(cell_data.CONTROLS)]
        self.facts = self._started.drop_duplicates("solution").set_index("solution")

    @cached_property
    def _values(self) -> dict[tuple[str, str, str], pd.Series]:
        return {
            (str(s), str(t), str(c)): group.set_index("block")["ns_per_packet"].astype(float)
            for (s, t, c), group in self._done.groupby(list(cell_data.CONFIGURATION), observed=True)
        }

    def values(self, cell: Cell) -> pd.Series:
        """ns/packet indexed by block; empty when no trial of the cell finished."""
        return self._values.get((cell.solution, cell.strategy, cell.case), pd.Series(dtype=float))

    def cost(self, cell: Cell) -> float:
        """Geometric mean in ns/packet, infinite for an empty cell: it never is the cheapest."""
        values = self.values(cell)
        return stats.geometric_mean(values) if len(values) else float("inf")

    def compare(self, larger: Cell, smaller: Cell, factor: float = 1.0) -> Comparison:
        """The ratio of two cells over ``factor``; several claims ask for the same one."""
        key = (larger, smaller, factor)
        if key not in self._compared:
            self._compared[key] = decisions.compare(self.values(larger), factor * self.values(smaller))
        return self._compared[key]

    def gaps(self, *cells: Cell) -> tuple[Missing, ...]:
        """Those of the cells that have no figure, each with its reason."""
        return tuple(Missing(str(cell), self._gap(cell)) for cell in dict.fromkeys(cells) if self.values(cell).empty)

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
        else:
            facts = facts[~facts["collector"].isin(cell_data.CONTROLS)]
        if families:
            facts = facts[facts["family"].isin(families)]
        return cell_data.solution_order(facts.reset_index()) if len(facts) else []

    def families(self, *cells: Cell) -> frozenset[str]:
        """The published collectors among the solutions of ``cells``."""
        names = self.facts["family"].reindex([cell.solution for cell in cells])
        return frozenset(str(name) for name in names.dropna())

    def cheapest(self, cells: Iterable[Cell]) -> Cell | None:
        """The cheapest cell that has a figure, or None."""
        ranked = sorted(cells, key=self.cost)
        return ranked[0] if ranked and np.isfinite(self.cost(ranked[0])) else None


@dataclass(frozen=True)
class CellOrdering(Ordering):
    """An expected ordering of cells; ``families`` are the published collectors on both sides."""

    families: frozenset[str] = field(default=frozenset(), kw_only=True)


OrderingRule = Callable[[Batch], list[CellOrdering]]


def ordering(
    batch: Batch, larger: Cell, smaller: Cell, factor: float = 1.0, rivals: Iterable[Cell] = ()
) -> CellOrdering:
    """The expected ordering of two cells: ``larger`` is more than ``factor`` times ``smaller``. ``rivals``: those that
    one of the two was chosen from, which so took part."""
    times = "" if factor == 1.0 else f"{factor:g} times "
    return CellOrdering(
        str(larger),
        f"{times}{smaller}",
        batch.compare(larger, smaller, factor),
        gaps=batch.gaps(larger, smaller),
        families=batch.families(larger, smaller, *(cell for cell in rivals if not batch.values(cell).empty)),
    )


def ratio_of_ratios(batch: Batch, larger: tuple[Cell, Cell], smaller: tuple[Cell, Cell]) -> CellOrdering:
    """The expected ordering of two ratios, each of one cell over another."""
    (a, b), (c, d) = (tuple(map(batch.values, pair)) for pair in (larger, smaller))
    names = [f"{top} / {_apart(bottom, top)}" for top, bottom in (larger, smaller)]
    return CellOrdering(
        names[0],
        names[1],
        decisions.compare_products([a, d], [b, c]),
        gaps=batch.gaps(*larger, *smaller),
        families=batch.families(*larger, *smaller),
    )


def _apart(cell: Cell, other: Cell) -> str:
    """The cell's name beside another: without the solution where it is the same."""
    return f"{cell.strategy} {cell.case}" if cell.solution == other.solution else str(cell)


@cache
def _published() -> Batch:
    return Batch(published_as_trials(), PUBLISHED)


def ordering_claim(
    id: str,
    text: str,
    rule: OrderingRule,
    families: Sequence[str] = (),
    set_ups: Sequence[str] = THEN_AND_NOW,
    asks: Frequency = "every",
) -> Claim[Batch]:
    """A claim of the article that ``rule`` makes expected orderings of; all ``families`` must have taken part.

    The published table goes through the same rule, as one block.
    """

    def evidence(batch: Batch) -> Evidence:
        expected = rule(batch)
        took_part = frozenset[str]().union(*(item.families for item in expected))
        return of_orderings(expected, [Missing(name, NOT_PART.word) for name in families if name not in took_part])

    def published() -> Evidence:
        return as_figures(of_orderings(rule(_published())))

    def published_ratios() -> pd.Series:
        return published().rows["ratio"].dropna()

    return Claim(
        id, text, ARTICLE, evidence, _sentence, published_ratios, needs_all=True,
        published=published, asks=asks, set_ups=tuple(set_ups),
    )  # fmt: skip


def _sentence(evidence: Evidence) -> str:
    total = len(evidence.rows)
    if not total:
        return "Nothing to compare: the solutions that it is about were not run."
    parts = []
    if len(against := evidence.against):
        worst = against.nsmallest(1, "ratio").iloc[0]
        parts.append(
            f"Shown the other way round in {len(against)} of {total} comparisons, most of all "
            f"{worst['larger']} at {stats.significant(worst['ratio'], 2)} times {worst['smaller']}"
        )
    measured = evidence.measured
    shown = f"shown in {evidence.count(AS_PUBLISHED)} of {total} comparisons"
    parts.append(shown if parts else shown.capitalize())
    if not len(against) and len(measured):
        parts[-1] += f", ratios {stats.span(measured['ratio'])}"
    parts += [f"{shown} in {count}" for shown in (EQUIVALENT, OPEN, NOT_MEASURED) if (count := evidence.count(shown))]
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
