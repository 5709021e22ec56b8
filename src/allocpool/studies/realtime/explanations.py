"""Why claims on real time fail here: which one thing is changed about a cell of a comparison that is the other way
round. Some changed cells are those of the campaign; the group ``adaptive.changed`` of a profile adds the rest."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import pandas as pd

from allocpool.campaign import tidy
from allocpool.decisions import effect_that_matters
from allocpool.evidence.ablation import Ablation, ChangedComparison, Judged, failed, judge
from allocpool.evidence.claims import OTHER_WAY, Verdict
from allocpool.evidence.trials import finished, records
from allocpool.packets.cells import CONFIGURATION
from allocpool.packets.comparisons import Cell
from allocpool.packets.specs import CASES, Configuration
from allocpool.studies.realtime.adaptive import AdaptiveTrials, Boundary, Costs, Side, over
from allocpool.studies.realtime.cells import PDR, placed_of
from allocpool.studies.realtime.claims import LARGER_HEAP, LONGER_QUEUE, REALTIME_CLAIMS, Realtime

BY_LIKELIHOOD = "intervals by the likelihood of adaptive trials"


class _Place(NamedTuple):
    """A cell, and its heap and input queue over the published ones; or ``work``: what a packet of it takes alone."""

    cell: Cell
    heap: float = 1.0
    queue: float = 1.0
    work: bool = False


class Change(NamedTuple):
    """One thing that is changed about the cells of a comparison that have one of these strategies: fields of
    `Configuration`, of `Cell` or of `_Place`. ``work``: the boundary is what the work takes, by the batch path."""

    words: str
    to: dict[str, Any]
    strategies: Sequence[str] = ("alloc", "mix", "pool")

    def of(self, place: _Place | float, configurations: Mapping[str, Configuration]) -> _Place | float:
        """Return the cell after the change; the same where it has nothing to change, as a limit has not."""
        if isinstance(place, float) or place.cell.strategy not in self.strategies:
            return place
        configuration = configurations[place.cell.configuration]
        to = {name: value for name, value in self.to.items() if name != "heap" or configuration.language == "java"}
        label = configuration.model_copy(update=tidy.pick(to.keys() & Configuration.model_fields.keys(), to)).label
        cell = place.cell._replace(configuration=label, **tidy.pick(to.keys() & {"strategy", "case"}, to))
        return place._replace(cell=cell, **tidy.pick(to.keys() & {"heap", "queue", "work"}, to))


SMALL = Change("the pool is small (mix)", {"strategy": "mix"}, ("pool",))
SEQUENTIAL = Change("the pool lies in the order in which it was made", {"pool_order": "fresh"}, ("mix", "pool"))
ROOMY = Change(f"the heap is {LARGER_HEAP:g} times as large", {"heap": LARGER_HEAP})
PATIENT = Change(f"the input queue is {LONGER_QUEUE:g} times as long", {"queue": LONGER_QUEUE})
FEW_ALIVE = Change(f"{CASES['B'] / CASES['C']:.0%} as much is alive (case B)", {"case": "B"})
WORK_ALONE = Change("nothing but the work takes time", {"work": True})

EXPLANATIONS = {
    "pool-everywhere-realtime": (SMALL, SEQUENTIAL, ROOMY, PATIENT, WORK_ALONE),
    "zgc-c-2m": (SEQUENTIAL, ROOMY, PATIENT, FEW_ALIVE, WORK_ALONE),
    "g1-native-c": (SEQUENTIAL, ROOMY, PATIENT, FEW_ALIVE, WORK_ALONE),
    "zgc-beats-flat-alloc-c": (ROOMY, PATIENT, FEW_ALIVE, WORK_ALONE),
}
"""By claim: what is changed about comparisons that are the other way round."""


def of_claims(tables: Mapping[str, pd.DataFrame], cells: pd.DataFrame, verdicts: Sequence[Verdict]) -> list[Ablation]:
    """Return every change of every comparison of adaptive cells that is the other way round, of the claims that these
    verdicts refute. ``cells`` come from `realtime_cells`."""
    every = pd.concat([finished(tables[name]) for name in ("adaptive", "changed")], ignore_index=True)
    found = _by_place(every)
    configurations = {
        row.configuration: Configuration.of(row._asdict()) for row in records(every.drop_duplicates("configuration"))
    }
    asked = []
    for verdict in failed(verdicts):
        changes = EXPLANATIONS.get(verdict.claim.id, ())
        for pair in _reversed(verdict, Realtime.of(cells, every.iloc[:0], verdict.set_up)) if changes else ():
            words = f"{f'{pair[0]:g} ns' if isinstance(pair[0], float) else pair[0].cell} over {pair[1].cell}"
            for change in changes:
                after = change.of(pair[0], configurations), change.of(pair[1], configurations)
                if after != pair:
                    result = ChangedComparison(verdict.claim.text, verdict.set_up, words, change.words)
                    asked.append((result, _judged(pair, after, found)))
    return judge(asked)


def _reversed(verdict: Verdict, data: Realtime) -> Iterator[tuple[_Place | float, _Place]]:
    """Yield the cell that is said to need the larger interval, or a limit, ns, and the one that is said to need less,
    where it is the other way round."""
    (claim,) = (item for item in REALTIME_CLAIMS.file.claims if item.id == verdict.claim.id)
    expected = REALTIME_CLAIMS.orderings(claim.id, data.declared)
    for item, shown in zip(expected, verdict.evidence["shown"], strict=True):
        if shown == OTHER_WAY:
            *larger, smaller = (_Place(Cell(*cell.at(CONFIGURATION))) for side in item.cells for cell in side)
            yield larger[0] if larger else float(claim.tests[0].value or 0.0), smaller


def _by_place(trials: pd.DataFrame) -> dict[_Place, Boundary]:
    factors = trials[["heap_factor", "queue_factor"]].astype(float).fillna(1.0).round(1)
    found: dict[_Place, Boundary] = {}
    groups: Any = trials.assign(**factors).groupby([*CONFIGURATION, *factors], observed=True)
    for (*cell, heap, queue), group in groups:
        place, in_order = _Place(Cell(*map(str, cell)), heap, queue), group.sort_values("block", kind="stable")
        found[place] = placed_of(in_order, PDR)
        found[place._replace(work=True)] = Costs(tuple(in_order["prologue_ns_per_packet"].astype(float).dropna()))
    return found


def _judged(before: Sequence[_Place | float], after: Sequence[_Place | float], found: Mapping[_Place, Side]) -> Judged:
    def side(place: _Place | float) -> Side:
        if isinstance(place, float):
            return effect_that_matters() * place  # at about a limit is what claims allow, too
        return found.get(place, AdaptiveTrials((), 0, math.nan))

    (larger, smaller), (then_larger, then_smaller) = (map(side, places) for places in (before, after))
    moved = [(then_larger, larger)] * (before[0] != after[0]) + [(smaller, then_smaller)] * (before[1] != after[1])
    return Judged(*(partial(over, pairs) for pairs in ([(larger, smaller)], [(then_larger, then_smaller)], moved)))
