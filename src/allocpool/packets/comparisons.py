"""The set-ups that published claims are judged on, the cells of a batch campaign that take part, and one thing changed
about the cells of a comparison."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product
from types import MappingProxyType
from typing import Any, NamedTuple

import pandas as pd

from allocpool.evidence import declared
from allocpool.evidence.trials import NOT_PART, gap_of, newest_release
from allocpool.packets import cells as cell_data
from allocpool.packets.batch import PUBLISHED_LAYOUTS
from allocpool.packets.cells import CONFIGURATION, CONTROLS
from allocpool.packets.published import families_of
from allocpool.packets.specs import PUBLISHED_CASES, Configuration
from allocpool.runtimes.collectors import FEATURES, OLDEST

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
    """The collectors that stand for the published ones on one release of Java: by collector, the published one, or its
    own name where it stands for none. C++ and the collectors that never free belong to each set-up.

    ``plain``: its trials have that option, without which there are none.
    """

    runtime: int
    families: Mapping[str, str]
    plain: bool = False

    def label(self, layout: str, collector: str) -> str:
        """Return the stored name of the configuration of a Java layout on a collector."""
        java: dict[str, Any] = {"language": "java", "layout": layout, "runtime": self.runtime}
        return Configuration(**java, collector=collector, control="plain" if self.plain else None).label

    def among(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Return the rows that belong to it, with column ``family``; non-default options do not."""
        every = {**self.families, **dict.fromkeys(CONTROLS)}
        labels = {self.label(layout, name): family
                  for layout in PUBLISHED_LAYOUTS["java"] for name, family in every.items()}  # fmt: skip
        cpp = [Configuration.parse(f"cpp/{layout}").label for layout in PUBLISHED_LAYOUTS["cpp"]]
        keep = rows["configuration"].isin([*labels, *cpp])
        return rows[keep].assign(family=rows.loc[keep, "configuration"].map(labels))


_PUBLISHED_ON = 11
_PUBLISHED_FAMILIES = {"cms": "CMS", "g1": "G1", "zgc": "ZGC"}
_AS_PARALLEL = {"parallel": "CMS", "g1": "G1", "zgc": "ZGC"}
_OF_JAVA_8 = {"g1": "G1"}
SET_UPS: Mapping[str, SetUp] = MappingProxyType(
    {
        "Java 8": SetUp(OLDEST, _OF_JAVA_8 | {"parallel": "CMS", "cms": "CMS"}, plain=True),
        'Java 8, "CMS" is Parallel': SetUp(OLDEST, _OF_JAVA_8 | {"parallel": "CMS"}, plain=True),
        'Java 8, "CMS" is CMS': SetUp(OLDEST, _OF_JAVA_8 | {"cms": "CMS"}, plain=True),
        "Java 11": SetUp(_PUBLISHED_ON, _AS_PARALLEL | _PUBLISHED_FAMILIES),
        'Java 11, "CMS" is Parallel': SetUp(_PUBLISHED_ON, _AS_PARALLEL),
        'Java 11, "CMS" is CMS': SetUp(_PUBLISHED_ON, _PUBLISHED_FAMILIES),
        # Its release is that of `set_up_of` where the data have no newer one.
        "newest Java": SetUp(
            FEATURES[-1], {"parallel": "CMS", "g1": "G1", "genzgc": "ZGC", "shenandoah": "Shenandoah"}
        ),
        "C++": SetUp(0, {}),
    }
)
"""By name. What the article ran, on its release as far as that was run here, and on the nearest release that has all
of it; the same with either reading of its "CMS"; the
collectors of today, of which Parallel stands for "CMS" and the generational ZGC, another collector, for ZGC; and C++
alone."""
*_, THEN, AS_PARALLEL, AS_CMS, NOW, IN_CPP = SET_UPS
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


def batch_cells(trials: pd.DataFrame, set_up: str) -> declared.Cells:
    """Return what claims are put to: every configuration of a set-up in reading order, with every strategy, in every
    published case; ns/packet by block.

    Collectors that never free have ``control``: they count only where a claim asks for them.
    """
    started = with_families(trials, set_up)
    costs, none = cell_data.costs_by_cell(started), pd.Series(dtype=float)
    groups = started[[*CONFIGURATION, "status", "reason"]].groupby(list(CONFIGURATION), observed=True)
    gaps = {key: gap_of(group).text for key, group in groups}
    known = started.drop_duplicates("configuration").set_index("configuration").astype(object)
    known = known.loc[cell_data.configuration_order(started), ["language", "layout", "family", "collector"]]
    facts: dict[Any, Any] = known.where(known.notna(), None).to_dict("index")
    if set_up != PUBLISHED:
        for layout in PUBLISHED_LAYOUTS["java"]:
            control = {"language": "java", "layout": layout, "family": None, "collector": "epsilon"}
            facts.setdefault(set_up_of(set_up, trials).label(layout, "epsilon"), control)
    found = []
    for configuration, strategy, case in product(facts, POOLING_STRATEGIES, PUBLISHED_CASES):
        cell, of = Cell(configuration, strategy, case), facts[configuration]
        columns = {**of, **cell._asdict(), "control": of["collector"] in CONTROLS}
        found.append(declared.Cell(columns, str(cell), costs.get(cell, none), gaps.get(cell, NOT_PART.word)))
    return declared.Cells(found, ("layout", "collector", "strategy", "case"))


class Change(NamedTuple):
    """One change of both cells of a comparison, or of one of them.

    ``larger`` and ``smaller``: new values for the cells that the claim calls so, by field of `Configuration`,
    ``strategy`` or ``case``. ``where``: facts of both configurations without which there is nothing to change.
    """

    words: str
    larger: Mapping[str, str | bool] = MappingProxyType({})
    smaller: Mapping[str, str | bool] = MappingProxyType({})
    where: Mapping[str, str] = MappingProxyType({})

    def cells(self, cells: tuple[Cell, Cell], facts: Mapping[str, Any]) -> tuple[Cell, Cell] | None:
        """Return the cells after the change, or None where there is nothing to change; ``facts``: see `facts_of`."""
        larger, smaller = (Configuration.of(facts[cell.configuration]) for cell in cells)
        if any(getattr(one, name) != value for one in (larger, smaller) for name, value in self.where.items()):
            return None
        changed = _changed(cells[0], larger, self.larger), _changed(cells[1], smaller, self.smaller)
        return None if changed == cells else changed


def on_both(words: str, where: Mapping[str, str] | None = None, **to: str | bool) -> Change:
    """Return the same change of both cells."""
    return Change(words, to, to, where or {})


def facts_of(trials: pd.DataFrame) -> dict[str, Any]:
    """Return the first trial of each configuration, by its name."""
    return {str(row["configuration"]): row for row in trials.drop_duplicates("configuration").to_dict("records")}


def _changed(cell: Cell, configuration: Configuration, to: Mapping[str, Any]) -> Cell:
    of_cell = {name: str(value) for name, value in to.items() if name in ("strategy", "case")}
    others = {name: value for name, value in to.items() if name not in of_cell}
    return cell._replace(configuration=configuration.model_copy(update=others).label, **of_cell)
