"""The set-ups that published claims are judged on, and the cells of a batch campaign that take part."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple

import pandas as pd

from allocpool.evidence import declared
from allocpool.evidence.declared import Cells
from allocpool.evidence.trials import NOT_PART, gap_of, newest_release
from allocpool.packets import cells as cell_data
from allocpool.packets.batch import PUBLISHED_LAYOUTS
from allocpool.packets.cells import CONFIGURATION, CONTROLS
from allocpool.packets.published import families_of
from allocpool.packets.specs import PUBLISHED_CASES, Configuration
from allocpool.runtimes.collectors import FEATURES

POOLING_STRATEGIES = ("alloc", "mix", "pool")
"""Those that the article compares."""
UNDECIDED = "Inconclusive"


class Cell(NamedTuple):
    """The key of a cell of a batch campaign."""

    configuration: str
    strategy: str
    case: str

    def __str__(self) -> str:
        return f"{self.configuration} {self.strategy} {self.case}"


@dataclass(frozen=True)
class SetUp:
    """The collectors that stand for the published ones on one release of Java.

    C++ and the collectors of that release that never free belong to each set-up.

    Attributes:
        name: in tables of verdicts.
        runtime: feature release.
        families: by collector, the published one that it stands for, or its own name where it stands for none.
    """

    name: str
    runtime: int
    families: Mapping[str, str]

    def label(self, layout: str, collector: str) -> str:
        """Return the stored name of the configuration of a Java layout on a collector."""
        return Configuration(language="java", layout=layout, collector=collector, runtime=self.runtime).label

    def among(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Return the rows that belong to it, with column ``family``; non-default options do not."""
        every = {**self.families, **dict.fromkeys(CONTROLS)}
        labels = {self.label(layout, name): family
                  for layout in PUBLISHED_LAYOUTS["java"] for name, family in every.items()}  # fmt: skip
        keep = rows["configuration"].isin([*labels, *CPP_LABELS])
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
PUBLISHED = "published"


def set_up_of(name: str, trials: pd.DataFrame) -> SetUp:
    """Return the set-up of a name; today's is on the newest release that ``trials`` ran on."""
    found = SET_UPS[name]
    return replace(found, runtime=newest_release(trials, _PUBLISHED_ON, found.runtime)) if name == NOW else found


def with_families(rows: pd.DataFrame, set_up: str, of: pd.DataFrame | None = None) -> pd.DataFrame:
    """Return the rows of a set-up with their published collector in ``family``; all rows of the published tables.

    ``of``: the trials that the rows come from, whose newest release is today's; the rows by default.
    """
    if set_up != PUBLISHED:
        return set_up_of(set_up, rows if of is None else of).among(rows)
    return rows.assign(family=families_of(rows))


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
        """Return ns/packet indexed by block; empty when no trial of the cell finished."""
        return self._values.get(cell, _NO_COSTS)

    @cached_property
    def cells(self) -> Cells:
        """What claims are put to: every configuration in reading order, with every strategy, in every published case.

        Collectors that never free have ``control``: they count only where a claim asks for them.
        """
        groups = self._started[[*CONFIGURATION, "status", "reason"]].groupby(list(CONFIGURATION), observed=True)
        gaps = {key: gap_of(group).text for key, group in groups}
        known = self.facts[["language", "layout", "family", "collector"]].astype(object)
        known = known.loc[cell_data.configuration_order(self.facts.reset_index())]
        facts: dict[Any, Any] = known.where(known.notna(), None).to_dict("index")
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
