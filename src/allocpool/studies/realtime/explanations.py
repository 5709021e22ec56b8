"""Why claims on real time fail here: which one thing is changed about a cell of a comparison that is the other way
round. Some changed cells are those of the campaign itself; the group ``adaptive.changed`` of a profile adds the
rest."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

import pandas as pd

from allocpool.decisions import effect_that_matters
from allocpool.evidence.ablation import Ablation, Judged, Told, failed, judge
from allocpool.evidence.claims import OTHER_WAY, Verdict
from allocpool.evidence.trials import finished, records
from allocpool.packets.cells import CONFIGURATION
from allocpool.packets.comparisons import Cell
from allocpool.packets.specs import CASES, Configuration
from allocpool.studies.realtime.adaptive import AdaptiveTrials, Boundary, Costs, Side, over
from allocpool.studies.realtime.cells import PDR, placed_of
from allocpool.studies.realtime.claims import (
    G1_NATIVE_IN_C_NS,
    G1_NATIVE_POOL_IN_C,
    LARGER_HEAP,
    LONGER_QUEUE,
    ZGC_IN_C_NS,
    ZGC_POOLS_IN_C,
    Pairs,
    Realtime,
    Wanted,
    native_zgc_beside_flat,
    pools_beside_allocating,
)

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
    large;
    ``work``: the boundary is what the work takes, by the batch path of the same trials, before the source starts.
    """

    words: str
    configuration: Mapping[str, Any] = MappingProxyType({})
    cell: Mapping[str, str] = MappingProxyType({})
    heap: float = 1.0
    queue: float = 1.0
    strategies: Sequence[str] = ("alloc", "mix", "pool")
    work: bool = False

    def of(self, place: _Place, configuration: Configuration) -> _Place:
        """The cell after the change; the same where it has nothing to change."""
        if place.cell.strategy not in self.strategies:
            return place
        heap = place.heap if configuration.language == "cpp" else place.heap * self.heap
        label = configuration.model_copy(update=dict(self.configuration)).label
        return _Place(place.cell._replace(configuration=label, **self.cell), heap, place.queue * self.queue, self.work)


_POOLS = ("mix", "pool")
SMALL = Change("the pool is small (mix)", cell={"strategy": "mix"}, strategies=("pool",))
FRESH = Change(
    "the pool lies in the order in which it was made", configuration={"pool_order": "fresh"}, strategies=_POOLS
)
ROOMY = Change(f"the heap is {LARGER_HEAP:g} times as large", heap=LARGER_HEAP)
PATIENT = Change(f"the input queue is {LONGER_QUEUE:g} times as long", queue=LONGER_QUEUE)
FEW_ALIVE = Change(f"{CASES['B'] / CASES['C']:.0%} as much is alive (case B)", cell={"case": "B"})
WORK_ALONE = Change("nothing but the work takes time", work=True)

_Sides = tuple[_Place | float, _Place]
"""The cell that is said to need the larger interval, or a limit, ns, and the one that is said to need less."""


def _of_pairs(pairs: Callable[[Realtime], Pairs]) -> Callable[[Realtime], list[_Sides]]:
    return lambda data: [(_place(right), _place(left)) for left, right in pairs(data)]


def _of_limit(wanted: Wanted, limit_ns: float) -> Callable[[Realtime], list[_Sides]]:
    return lambda data: [(limit_ns, _place(row)) for row in records(wanted.among(data.cells))]


def _place(row: Any) -> _Place:
    return _Place(Cell(str(row.configuration), str(row.strategy), str(row.case)))


EXPLANATIONS: dict[str, tuple[Callable[[Realtime], list[_Sides]], tuple[Change, ...]]] = {
    "pool-everywhere-realtime": (_of_pairs(pools_beside_allocating), (SMALL, FRESH, ROOMY, PATIENT, WORK_ALONE)),
    "zgc-c-2m": (_of_limit(ZGC_POOLS_IN_C, ZGC_IN_C_NS), (FRESH, ROOMY, PATIENT, FEW_ALIVE, WORK_ALONE)),
    "g1-native-c": (
        _of_limit(G1_NATIVE_POOL_IN_C, G1_NATIVE_IN_C_NS), (FRESH, ROOMY, PATIENT, FEW_ALIVE, WORK_ALONE),
    ),
    "zgc-beats-flat-alloc-c": (_of_pairs(native_zgc_beside_flat), (ROOMY, PATIENT, FEW_ALIVE, WORK_ALONE)),
}  # fmt: skip
"""By claim: what it compares, and what is changed about those that are the other way round."""


def of_claims(tables: Mapping[str, pd.DataFrame], cells: pd.DataFrame, verdicts: Sequence[Verdict]) -> list[Ablation]:
    """Every change of every comparison of adaptive cells that is the other way round, of the claims that these verdicts
    refute. ``cells`` come from `realtime_cells`."""
    every = pd.concat([finished(tables[name]) for name in ("adaptive", "changed")], ignore_index=True)
    found = _by_place(every)
    configurations = {
        row.configuration: Configuration.of(row._asdict()) for row in records(every.drop_duplicates("configuration"))
    }
    return judge([
        change
        for verdict in failed(verdicts)
        if verdict.claim.id in EXPLANATIONS
        for change in _changes(verdict, Realtime.of(cells, every.iloc[:0], verdict.set_up), found, configurations)
    ])  # fmt: skip


def _by_place(trials: pd.DataFrame) -> dict[_Place, Boundary]:
    heap, queue = trials["heap_factor"].astype(float).fillna(1.0), trials["queue_factor"].astype(float)
    factors = trials.assign(heap=heap.round(1), queue=queue.round(1))
    found: dict[_Place, Boundary] = {}
    for _, group in factors.groupby([*CONFIGURATION, "heap", "queue"], observed=True):
        of = group.iloc[0]
        place = _Place(Cell(*(str(of[name]) for name in CONFIGURATION)), float(of["heap"]), float(of["queue"]))
        in_order = group.sort_values("block", kind="stable")
        found[place] = placed_of(in_order, PDR)
        found[place._replace(work=True)] = Costs(tuple(in_order["prologue_ns_per_packet"].astype(float).dropna()))
    return found


def _changes(
    verdict: Verdict, data: Realtime, found: Mapping[_Place, Boundary], configurations: Mapping[str, Configuration]
) -> Iterator[tuple[Told, Judged]]:
    compared, changes = EXPLANATIONS[verdict.claim.id]
    for before, shown in zip(compared(data), verdict.evidence["shown"], strict=True):
        one, other = before
        # What searches decide is no matter of adaptive trials.
        if shown != OTHER_WAY or other not in found or not (isinstance(one, float) or one in found):
            continue
        words = f"{f'{one:g} ns' if isinstance(one, float) else one.cell} over {other.cell}"
        for change in changes:
            to_one = one if isinstance(one, float) else change.of(one, configurations[one.cell.configuration])
            after = to_one, change.of(other, configurations[other.cell.configuration])
            if after != before:
                result = Told(verdict.claim.text, verdict.set_up, words, change.words)
                yield result, _judged(before, after, found)


_Pairs = list[tuple[Side, Boundary]]


def _judged(before: _Sides, after: _Sides, found: Mapping[_Place, Boundary]) -> Judged:
    def trials(place: _Place) -> Boundary:
        return found.get(place, AdaptiveTrials((), 0, math.nan))

    def ratio(one: _Place | float, other: _Place) -> _Pairs:
        # At about a limit is what claims allow, too.
        return [(effect_that_matters() * one if isinstance(one, float) else trials(one), trials(other))]

    moved: _Pairs = []
    if isinstance(before[0], _Place) and isinstance(after[0], _Place) and after[0] != before[0]:
        moved.append((trials(after[0]), trials(before[0])))
    if after[1] != before[1]:
        moved.append((trials(before[1]), trials(after[1])))
    return Judged(*(partial(over, pairs) for pairs in (ratio(*before), ratio(*after), moved)))
