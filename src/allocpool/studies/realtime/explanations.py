"""Why claims on real time fail here: which one thing is changed about a cell of a comparison that is the other way
round. Some changed cells are those of the campaign; the group ``adaptive.changed`` of a profile adds the rest."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

import pandas as pd

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
    """One thing that is changed about the cells of a comparison that have one of these strategies.

    ``configuration``: fields of `Configuration`; ``cell``: strategy or case; ``heap`` (of Java) and ``queue``: times as
    large; ``work``: the boundary is what the work takes, by the batch path of the same trials.
    """

    words: str
    configuration: Mapping[str, Any] = MappingProxyType({})
    cell: Mapping[str, str] = MappingProxyType({})
    heap: float = 1.0
    queue: float = 1.0
    strategies: Sequence[str] = ("alloc", "mix", "pool")
    work: bool = False

    def of(self, place: _Place | float, configurations: Mapping[str, Configuration]) -> _Place | float:
        """Return the cell after the change; the same where it has nothing to change, as a limit has not."""
        if isinstance(place, float) or place.cell.strategy not in self.strategies:
            return place
        configuration = configurations[place.cell.configuration]
        heap = place.heap if configuration.language == "cpp" else place.heap * self.heap
        label = configuration.model_copy(update=dict(self.configuration)).label
        return _Place(place.cell._replace(configuration=label, **self.cell), heap, place.queue * self.queue, self.work)


_POOLS = ("mix", "pool")
SMALL = Change("the pool is small (mix)", cell={"strategy": "mix"}, strategies=("pool",))
SEQUENTIAL = Change("the pool lies in the order in which it was made", {"pool_order": "fresh"}, strategies=_POOLS)
ROOMY = Change(f"the heap is {LARGER_HEAP:g} times as large", heap=LARGER_HEAP)
PATIENT = Change(f"the input queue is {LONGER_QUEUE:g} times as long", queue=LONGER_QUEUE)
FEW_ALIVE = Change(f"{CASES['B'] / CASES['C']:.0%} as much is alive (case B)", cell={"case": "B"})
WORK_ALONE = Change("nothing but the work takes time", work=True)

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
        data = Realtime.of(cells, every.iloc[:0], verdict.set_up)
        for one, other in _reversed(verdict, data) if verdict.claim.id in EXPLANATIONS else ():
            words = f"{f'{one:g} ns' if isinstance(one, float) else one.cell} over {other.cell}"
            for change in EXPLANATIONS[verdict.claim.id]:
                after = change.of(one, configurations), change.of(other, configurations)
                if after != (one, other):
                    result = ChangedComparison(verdict.claim.text, verdict.set_up, words, change.words)
                    asked.append((result, _judged((one, other), after, found)))
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
    heap, queue = trials["heap_factor"].astype(float).fillna(1.0), trials["queue_factor"].astype(float)
    factors = trials.assign(heap=heap.round(1), queue=queue.round(1))
    found: dict[_Place, Boundary] = {}
    groups: Any = factors.groupby([*CONFIGURATION, "heap", "queue"], observed=True)
    for (*cell, heap_factor, queue_factor), group in groups:
        place = _Place(Cell(*map(str, cell)), float(heap_factor), float(queue_factor))
        in_order = group.sort_values("block", kind="stable")
        found[place] = placed_of(in_order, PDR)
        found[place._replace(work=True)] = Costs(tuple(in_order["prologue_ns_per_packet"].astype(float).dropna()))
    return found


def _judged(
    before: tuple[_Place | float, _Place | float],
    after: tuple[_Place | float, _Place | float],
    found: Mapping[_Place, Boundary],
) -> Judged:
    def side(place: _Place | float) -> Side:
        # At about a limit is what claims allow, too.
        return effect_that_matters() * place if isinstance(place, float) else found.get(place, _NONE)

    ratios = [[(side(one), side(other))] for one, other in (before, after)]
    larger, smaller = zip(before, after, strict=True)
    moved = [(side(now), side(was)) for was, now in (larger, smaller[::-1]) if was != now]
    return Judged(*(partial(over, pairs) for pairs in (*ratios, moved)))


_NONE = AdaptiveTrials((), 0, math.nan)
