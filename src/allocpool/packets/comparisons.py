"""Cells of a batch campaign set against each other: looked up, and counted."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple

import pandas as pd

from allocpool import decisions, stats
from allocpool.evidence import declared
from allocpool.evidence.declared import Cells
from allocpool.evidence.trials import NOT_PART, gap_of, newest_release
from allocpool.packets import cells as cell_data
from allocpool.packets.batch import PUBLISHED_LAYOUTS
from allocpool.packets.cells import CONTROLS
from allocpool.packets.published import family
from allocpool.packets.specs import PUBLISHED_CASES, Configuration
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
    """The trials of a batch campaign that belong to a set-up, looked up by cell."""

    def __init__(self, trials: pd.DataFrame, set_up: str) -> None:
        self._set_up = None if set_up == PUBLISHED else set_up_of(set_up, trials)
        self._started = with_families(trials, set_up)
        self.facts = self._started.drop_duplicates("configuration").set_index("configuration")

    @cached_property
    def _values(self) -> dict[tuple[str, str, str], pd.Series]:
        return cell_data.costs_by_cell(self._started)

    def values(self, cell: Cell) -> pd.Series:
        """ns/packet indexed by block; empty when no trial of the cell finished."""
        return self._values.get((cell.configuration, cell.strategy, cell.case), _NO_COSTS)

    @cached_property
    def cells(self) -> Cells:
        """What claims are put to: every configuration in reading order, with every strategy, in every published case.

        Collectors that never free have ``control``: they count nowhere but where they are asked for.
        """
        groups = self._started[[*cell_data.CONFIGURATION, "status", "reason"]].groupby(
            list(cell_data.CONFIGURATION), observed=True
        )
        gaps = {key: gap_of(group).text for key, group in groups}
        names = ["language", "layout", "family", "collector"]
        known: Any = self.facts[names].astype(object).where(self.facts[names].notna(), None).to_dict("index")
        facts = {name: known[name] for name in cell_data.configuration_order(self.facts.reset_index())}
        if self._set_up:
            for layout in PUBLISHED_LAYOUTS["java"]:
                control = {"language": "java", "layout": layout, "family": None, "collector": "epsilon"}
                facts.setdefault(self._set_up.label(layout, "epsilon"), control)
        every = itertools.starmap(Cell, itertools.product(facts, POOLING_STRATEGIES, PUBLISHED_CASES))
        return Cells(
            [
                declared.Cell(
                    {**(of := facts[cell.configuration]), **cell._asdict(), "control": of["collector"] in CONTROLS},
                    str(cell), self.values(cell), gaps.get(cell, NOT_PART.word),
                )
                for cell in every
            ],
            ("layout", "collector", "strategy", "case"),
        )  # fmt: skip


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
    found = [f"{len(left) - len(more)} of them too noisy to say when"] if len(more) < len(left) else []
    if len(more):
        whose = "the others" if len(more) < len(left) else "they" if len(left) > 1 else "it"
        low, high = int(more["more_trials"].min()), int(more["more_trials"].max())
        trials = f"{low:,}" if low == high else f"{low:,} to {high:,}"
        seconds = more["more_minutes"].sum(min_count=len(more))
        minutes = "" if pd.isna(seconds) else f", in all about {in_minutes(float(seconds))}"
        least = "at least" if (more["n"] < decisions.FEWEST).any() else "about"
        found.append(f"{whose} would take {least} {trials} more {'trial' if high == 1 else 'trials'} a side{minutes}")
    return f" ({'; '.join(found)})"


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
