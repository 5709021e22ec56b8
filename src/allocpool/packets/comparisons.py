"""Cells of a batch campaign set against each other: looked up, ordered as a claim expects them, counted."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from types import MappingProxyType
from typing import Any, NamedTuple

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
from allocpool.evidence.trials import NOT_PART, gap_of, newest_release, records
from allocpool.packets import cells as cell_data
from allocpool.packets.batch import PUBLISHED_LAYOUTS
from allocpool.packets.published import ARTICLE, family, published_as_trials
from allocpool.packets.specs import Configuration
from allocpool.runtimes.collectors import FEATURES

POOLING_STRATEGIES = ("alloc", "mix", "pool")
"""Those that the article sets against each other."""
POOL, ALLOCATE, DEPENDS, NO_MATTER = "Pool", "Allocate", "It depends", "No difference that matters"
UNDECIDED, AS_FAR = "Open", ", as far as it is decided"
_EXCEPTIONS = 4  # so many times more often the one than the other: the other is an exception


class Cell(NamedTuple):
    """One configuration of a batch campaign."""

    configuration: str
    strategy: str
    case: str

    def __str__(self) -> str:
        return f"{self.configuration} {self.strategy} {self.case}"


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
        """The configuration of a Java layout on a collector, as tables name it."""
        return Configuration(language="java", layout=layout, collector=collector, runtime=self.runtime).label

    @property
    def labels(self) -> dict[str, str]:
        """Configurations that take part, as published but for the collector, each with its family."""
        return {
            self.label(layout, collector): name
            for layout in PUBLISHED_LAYOUTS["java"]
            for collector, name in self.families.items()
        }

    def among(self, rows: pd.DataFrame) -> pd.DataFrame:
        """The rows that belong to it, with column ``family``; one with options, steps or another allocator does not."""
        labels = self.labels
        controls = [self.label(layout, name) for layout in PUBLISHED_LAYOUTS["java"] for name in cell_data.CONTROLS]
        keep = rows["configuration"].isin([*labels, *controls, *CPP_LABELS])
        return rows[keep].assign(family=rows.loc[keep, "configuration"].map(labels))


CPP_LABELS = tuple(Configuration.parse(f"cpp/{layout}").label for layout in PUBLISHED_LAYOUTS["cpp"])
_OF_11 = {"parallel": "CMS", "cms": "CMS", "g1": "G1", "zgc": "ZGC"}
_PUBLISHED_ON = 11
_SET_UPS = (
    SetUp("Java 11", _PUBLISHED_ON, _OF_11),
    SetUp('Java 11, "CMS" is Parallel', _PUBLISHED_ON, {name: of for name, of in _OF_11.items() if name != "cms"}),
    SetUp('Java 11, "CMS" is CMS', _PUBLISHED_ON, {name: of for name, of in _OF_11.items() if name != "parallel"}),
    SetUp(
        "newest Java",
        FEATURES[-1],  # where the data have no newer one: `set_up_of`
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


def set_up_of(name: str, trials: pd.DataFrame) -> SetUp:
    """Return the set-up of a name; today's is on the newest release that ``trials`` ran on."""
    found = SET_UPS[name]
    if name != NOW:
        return found
    return replace(found, runtime=newest_release(trials, _PUBLISHED_ON, found.runtime))


def with_families(rows: pd.DataFrame, set_up: str, of: pd.DataFrame | None = None) -> pd.DataFrame:
    """The rows of a set-up with their published collector in ``family``; all rows of the published tables.

    ``of``: the trials that the rows come from, which tell what is today's release; the rows themselves by default.
    """
    if set_up != PUBLISHED:
        return set_up_of(set_up, rows if of is None else of).among(rows)
    families = [
        family(str(language), collector)
        for language, collector in zip(rows["language"], rows["collector"], strict=True)
    ]
    return rows.assign(family=pd.Series(families, index=rows.index, dtype="object"))


_NO_COSTS = pd.Series(dtype=float)


class Batch:
    """The trials of a batch campaign that belong to a set-up, looked up by cell and by published family.

    Controls count nowhere but where they are asked for by name.
    """

    def __init__(self, trials: pd.DataFrame, set_up: str) -> None:
        self.set_up = set_up
        self._compared: dict[tuple[Cell, Cell, float, float], Comparison] = {}
        self._costs: dict[Cell, float] = {}
        self.runs_on = None if set_up == PUBLISHED else set_up_of(set_up, trials)
        self._started = with_families(trials, set_up)
        self._done = cell_data.with_cost(self._started)
        self.trials = self._done[~self._done["collector"].isin(cell_data.CONTROLS)]
        self.facts = self._started.drop_duplicates("configuration").set_index("configuration")

    @cached_property
    def _values(self) -> dict[tuple[str, str, str], pd.Series]:
        return cell_data.costs_by_cell(self._done)

    def values(self, cell: Cell) -> pd.Series:
        """ns/packet indexed by block; empty when no trial of the cell finished."""
        return self._values.get((cell.configuration, cell.strategy, cell.case), _NO_COSTS)

    def cost(self, cell: Cell) -> float:
        """Geometric mean in ns/packet, infinite for an empty cell: it never is the cheapest."""
        if cell not in self._costs:
            values = self.values(cell)
            self._costs[cell] = stats.geometric_mean(values) if len(values) else float("inf")
        return self._costs[cell]

    def compare(self, larger: Cell, smaller: Cell, factor: float = 1.0, alpha: float = decisions.ALPHA) -> Comparison:
        """The ratio of two cells over ``factor``; several claims ask for the same one."""
        key = (larger, smaller, factor, alpha)
        if key not in self._compared:
            costs = self.values(larger), factor * self.values(smaller)
            self._compared[key] = decisions.compare(*costs, alpha=alpha)
        return self._compared[key]

    def gaps(self, *cells: Cell) -> tuple[Missing, ...]:
        """Those of the cells that have no figure, each with its reason."""
        return tuple(Missing(str(cell), self._gap(cell)) for cell in dict.fromkeys(cells) if self.values(cell).empty)

    def _gap(self, cell: Cell) -> str:
        return self._gaps.get(cell) or gap_of(self._started.iloc[:0]).text

    @cached_property
    def _gaps(self) -> dict[Cell, str]:
        told = self._started[[*cell_data.CONFIGURATION, "status", "reason"]]
        groups = told.groupby(list(cell_data.CONFIGURATION), observed=True)
        return {Cell(str(s), str(t), str(c)): gap_of(group).text for (s, t, c), group in groups}

    def configurations(
        self,
        language: str | None = None,
        layout: str | None = None,
        families: Sequence[str] = (),
        collector: str | None = None,
    ) -> list[str]:
        """The configurations of the campaign that match every given fact, in reading order."""
        return [
            row.Index
            for row in self._in_order
            if language in (None, row.language)
            and layout in (None, row.layout)
            and (row.collector == collector if collector else row.collector not in cell_data.CONTROLS)
            and (not families or row.family in families)
        ]

    @cached_property
    def _in_order(self) -> list[Any]:
        """The configurations with their facts, in reading order."""
        return records(self.facts.loc[cell_data.configuration_order(self.facts.reset_index())])

    def families(self, *cells: Cell) -> frozenset[str]:
        """The published collectors among the configurations of ``cells``."""
        return frozenset(name for cell in cells if (name := self._family_of.get(cell.configuration)))

    @cached_property
    def _family_of(self) -> dict[str, str]:
        return {str(configuration): str(name) for configuration, name in self.facts["family"].dropna().items()}

    def cheapest(self, cells: Iterable[Cell]) -> Cell | None:
        """The cheapest cell that has a figure, or None."""
        ranked = sorted(cells, key=self.cost)
        return ranked[0] if ranked and np.isfinite(self.cost(ranked[0])) else None


@dataclass(frozen=True)
class CellOrdering(Ordering):
    """An expected ordering of cells; ``families`` are the published collectors on both sides. ``cells``: larger and
    smaller, where there is one of each, and ``factor``, what the costs of the smaller one are multiplied with."""

    families: frozenset[str] = field(default=frozenset(), kw_only=True)
    cells: tuple[Cell, Cell] | None = field(default=None, kw_only=True)
    factor: float = field(default=1.0, kw_only=True)


@dataclass(frozen=True, eq=False)
class BestOrdering(CellOrdering):
    """An expected ordering of the cheapest of some cells and the cheapest of others, which the same trials choose.

    So every one of the ones is put to every one of the others, and the choice is paid for (`decisions.p_cheapest`). The
    ratio is that of the two which look cheapest; its interval holds for all pairs at once (Bonferroni).
    """

    larger_costs: Mapping[str, pd.Series] = field(kw_only=True)
    smaller_costs: Mapping[str, pd.Series] = field(kw_only=True)

    @cached_property
    def _chances(self) -> tuple[float, float, float]:
        larger, smaller, effect = self.larger_costs, self.smaller_costs, self.comparison.effect
        reverse = decisions.p_cheapest(larger, smaller, effect)
        within = (decisions.p_cheapest(smaller, larger, 1 / effect), decisions.p_cheapest(larger, smaller, 1 / effect))
        return decisions.p_cheapest(smaller, larger), reverse, max(within)

    @property
    def p(self) -> float:
        """Of so much evidence that the cheapest of the larger ones is more than that of the smaller ones."""
        return math.nan if self.comparison.ratio is None else self._chances[0]

    @property
    def p_against(self) -> float:
        """Of so much evidence that it is less, by more than what does not matter."""
        return math.nan if self.comparison.ratio is None else self._chances[1]

    @property
    def equivalent(self) -> bool:
        """Whether it is shown that the two do not differ by what matters."""
        return self.comparison.ratio is not None and self._chances[2] <= decisions.ALPHA


OrderingRule = Callable[[Batch], list[CellOrdering]]


def ordering(batch: Batch, larger: Cell, smaller: Cell, factor: float = 1.0) -> CellOrdering:
    """The expected ordering of two cells: ``larger`` is more than ``factor`` times ``smaller``."""
    return CellOrdering(
        str(larger),
        f"{_times(factor)}{smaller}",
        batch.compare(larger, smaller, factor),
        gaps=batch.gaps(larger, smaller),
        families=batch.families(larger, smaller),
        cells=(larger, smaller),
        factor=factor,
    )


def _times(factor: float) -> str:
    return "" if factor == 1.0 else f"{factor:g} times "


def best_ordering(
    batch: Batch, larger: Sequence[Cell], smaller: Sequence[Cell], factor: float = 1.0
) -> CellOrdering | None:
    """The expected ordering of the cheapest cells: that of ``larger`` is more than ``factor`` times that of
    ``smaller``. Of several, those without a figure take no part; None where a side is empty."""
    if not larger or not smaller:
        return None
    best = [batch.cheapest(side) or side[0] for side in (larger, smaller)]
    known = [[cell for cell in side if not batch.values(cell).empty] for side in (larger, smaller)]
    pairs = max(1, len(known[0]) * len(known[1]))
    return BestOrdering(
        str(best[0]),
        f"{_times(factor)}{best[1]}",
        batch.compare(best[0], best[1], factor, decisions.ALPHA / pairs),
        gaps=batch.gaps(*best),
        families=batch.families(*best, *known[0], *known[1]),
        larger_costs={str(cell): batch.values(cell) for cell in known[0]},
        smaller_costs={str(cell): factor * batch.values(cell) for cell in known[1]},
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
    """The cell's name beside another: without the configuration where it is the same."""
    return f"{cell.strategy} {cell.case}" if cell.configuration == other.configuration else str(cell)


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

    @cache
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
        return "Nothing to compare: the configurations that it is about were not run."
    compared = stats.plural(total, "comparison")
    parts = []
    if len(against := evidence.against):
        worst = against.nsmallest(1, "ratio").iloc[0]
        parts.append(
            f"Shown the other way round in {len(against)} of {compared}, most of all "
            f"{worst['larger']} over {worst['smaller']} with {stats.significant(worst['ratio'], 2)}"
        )
    measured = evidence.measured
    shown = f"shown in {evidence.count(AS_PUBLISHED)} of {compared}"
    parts.append(shown if parts else shown.capitalize())
    if not len(against) and len(measured):
        parts[-1] += f", {stats.ratios(measured['ratio'])}"
    parts += [f"{shown} in {count}" for shown in (EQUIVALENT, OPEN, NOT_MEASURED) if (count := evidence.count(shown))]
    return f"{'; '.join(parts)}."


def count(compared: pd.DataFrame, direction: int) -> int:
    """How many comparisons (`allocpool.packets.tables.comparison_table`) show this direction."""
    return int((compared["direction"] == direction).sum())


def headline(compared: pd.DataFrame) -> str:
    """The answer in a few words, from a table of alloc/pool comparisons (`allocpool.packets.tables.comparison_table`).

    The side that is cheaper in what is decided, with exceptions where the other side is, too, but at least four times
    less often; that no difference matters where this is so in more than half of it. Less than half decided is said.
    """
    dearer, cheaper, same = count(compared, 1), count(compared, -1), int(compared["equivalent"].sum())
    decided = dearer + cheaper + same
    if not decided:
        return UNDECIDED
    if 2 * same > decided:
        answer, exceptions = NO_MATTER, dearer + cheaper
    elif dearer >= _EXCEPTIONS * cheaper:
        answer, exceptions = POOL, cheaper
    elif cheaper >= _EXCEPTIONS * dearer:
        answer, exceptions = ALLOCATE, dearer
    else:
        answer, exceptions = DEPENDS, 0
    so_far = AS_FAR if 2 * decided < len(compared) else ""
    return f"{answer}{', with exceptions' if exceptions else ''}{so_far}"


def decided_in_words(compared: pd.DataFrame) -> str:
    """How many of these comparisons are decided, and what the open ones would take: ``of 24 comparisons of allocating
    with a pool, 15 are decided: ...``."""
    if compared.empty:
        return "nothing was tried both allocating and with a pool."
    decided = count(compared, 1) + count(compared, -1) + int(compared["equivalent"].sum())
    how_many = "none is" if not decided else f"{decided} are" if decided > 1 else "1 is"
    asked = stats.plural(len(compared), "comparison")
    return f"of {asked} of allocating with a pool, {how_many} decided: {verdicts_in_words(compared)}."


def verdicts_in_words(compared: pd.DataFrame) -> str:
    """The counts of each verdict: ``a pool is cheaper in 12 (by 1.2 to 8.1 times), allocating in none, ...; 5 open
    (...)``."""
    measured = compared[compared["n"] > 0]
    left = measured[(measured["direction"] == 0) & ~measured["equivalent"].astype(bool)]
    dearer, cheaper, same = count(measured, 1), count(measured, -1), int(measured["equivalent"].sum())
    parts = [
        f"a pool is cheaper in {dearer or 'none'}{_by(measured, 1)}, allocating in {cheaper or 'none'}"
        f"{_by(measured, -1)}" + (f", no difference matters in {same}" if same else "")
    ] * bool(dearer or cheaper or same)
    parts += [f"{len(left)} open{_more(left)}"] * (len(left) > 0)
    if unmeasured := len(compared) - len(measured):
        parts.append(f"{unmeasured} without a figure on both sides")
    return "; ".join(parts)


def _by(compared: pd.DataFrame, direction: int) -> str:
    ratios = compared.loc[compared["direction"] == direction, "ratio"].astype(float) ** direction
    return f" (by {stats.span(ratios)} times)" if len(ratios) else ""


def _more(left: pd.DataFrame) -> str:
    """What open comparisons would take, as noisy as they are."""
    if left.empty:
        return ""
    more = left[left["more_trials"].notna()]
    told = [f"{len(left) - len(more)} of them too noisy to say when"] if len(more) < len(left) else []
    if len(more):
        whose = "the others" if len(more) < len(left) else "they" if len(left) > 1 else "it"
        low, high = int(more["more_trials"].min()), int(more["more_trials"].max())
        trials = f"{low:,}" if low == high else f"{low:,} to {high:,}"
        seconds = more["more_minutes"].sum(min_count=len(more))
        minutes = "" if pd.isna(seconds) else f", in all about {in_minutes(float(seconds))}"
        least = "at least" if (more["n"] < decisions.FEWEST).any() else "about"
        told.append(f"{whose} would take {least} {trials} more {'trial' if high == 1 else 'trials'} a side{minutes}")
    return f" ({'; '.join(told)})"


def in_minutes(minutes: float) -> str:
    """A duration as a reader plans with it: ``a minute``, ``12 minutes``, ``3 hours``."""
    if minutes < 1.5:
        return "a minute"
    return f"{minutes / 60:.0f} hours" if minutes >= 120 else f"{minutes:.0f} minutes"


def sentence(words: str) -> str:
    """Words as a sentence of their own: with a capital."""
    return words[:1].upper() + words[1:]


def listed(names: Sequence[str]) -> str:
    """``a, b and c``."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
