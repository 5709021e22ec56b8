"""The trials of a reader's workload, and what follows from them: costs, who keeps up, and the answer.

Costs are compared by `allocpool.decisions`. Losses come in bursts, so the sampling unit is a trial: it loses more than
is tolerated, or it does not. A strategy loses when more than one in five of its trials are shown to lose. It holds when
fewer than half are. Both are shown by a mixture of likelihood ratios that is valid at any stopping time (Robbins,
"Statistical methods related to the law of the iterated logarithm", Annals of Mathematical Statistics 41, 1970).
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from scipy import special

from allocpool.decisions import A_CHEAPER, ALPHA, B_CHEAPER, EQUIVALENT, Comparison, compare
from allocpool.errors import UserError
from allocpool.stats import geometric_mean
from allocpool.studies.your_workload.specs import MessagesSpec
from allocpool.studies.your_workload.workload import Cell, Workload

ALLOCATE, TAKE_FROM_POOL, EITHER, UNDECIDED, NEITHER = "allocate", "pool", "either", "inconclusive", "neither"
"""Answers; `NEITHER` only of a workload with one parameter changed."""
HOLDS, LOSES, UNKNOWN = "holds", "loses", "inconclusive"
GIVEN_UP_AFTER = 2
"""Trials without a result after which a cell gets no more."""
_OUT_BEYOND, _IN_BELOW = 0.2, 0.5
"""Chances that a trial loses: beyond the first a strategy loses, below the second it holds."""


@dataclass(frozen=True)
class Measured:
    """One trial; None where it measured nothing. ``_ns`` are per message, ``cpu_ns`` of the process."""

    status: str
    reason: str | None = None
    wall_s: float = 0.0
    cpu_ns: float | None = None
    wall_ns: float | None = None
    lost_ppm: float | None = None
    delay_p50_ms: float | None = None
    delay_p99_ms: float | None = None
    delay_p999_ms: float | None = None
    pause_max_ms: float | None = None
    stall_max_ms: float | None = None
    collections: int | None = None
    idle_rss_mb: float | None = None
    peak_rss_mb: float | None = None
    pool_mb: float | None = None
    wasted_mb: float | None = None
    humongous_share: float | None = None
    disturbed: bool = False


def standing(lost: Sequence[bool]) -> str:
    """Return `HOLDS`, `LOSES` or `UNKNOWN`, by which trials of a strategy lost too much, in order of time."""
    losing = 0
    shown = UNKNOWN
    for n, one in enumerate(lost, 1):
        losing += one
        if _mixture(losing, n, _OUT_BEYOND, above=True) >= 1 / ALPHA:
            return LOSES
        if _mixture(losing, n, _IN_BELOW, above=False) >= 1 / ALPHA:
            shown = HOLDS
    return shown


def _mixture(events: int, n: int, chance: float, above: bool) -> float:
    """Return the likelihood of all chances above, or below, ``chance``, evenly weighted, over that of ``chance``."""
    below = float(special.betainc(events + 1, n - events + 1, chance))
    part, width = (1 - below, 1 - chance) if above else (below, chance)
    scale = float(special.beta(events + 1, n - events + 1))
    return part * scale / width / (chance**events * (1 - chance) ** (n - events))


class Place(NamedTuple):
    """A collector with the reader's workload, or with one parameter of `CHANGEABLE` changed to ``value``."""

    collector: str
    changed: str = ""
    value: float = 0.0


class Findings:
    """The trials of a reader's workload by cell, in order of time.

    Attributes:
        workload: the reader's.
        trials: by cell.
        refusal: returns why this machine can't run a trial, or None.
    """

    def __init__(self, workload: Workload, refusal: Callable[[MessagesSpec], str | None] = lambda _spec: None) -> None:
        self.workload = workload
        self.trials: dict[Cell, list[Measured]] = defaultdict(list)
        self.refusal = refusal
        self._refused: dict[Cell, str | None] = {}
        self._sides: dict[tuple[str, float], tuple[str, str]] = {}

    def add(self, cell: Cell, measured: Measured) -> None:
        self.trials[cell].append(measured)

    def n(self, cell: Cell) -> int:
        """Return the number of trials, however they ended."""
        return len(self.trials.get(cell, ()))

    def at(self, collector: str, name: str, value: float) -> Place:
        """Return the place with a parameter at a value, which may be the reader's own."""
        return Place(collector) if value == self.workload.value_of(name) else Place(collector, name, value)

    def cells(self, place: Place, paced: bool = False) -> tuple[Cell, Cell]:
        """Return allocation and what is compared with it, which depends on the workload of the place.

        Raises:
            UserError: memory has no room for the workload.
        """
        change = place.changed, place.value
        if change not in self._sides:
            self._sides[change] = self.workload.changed_to(*change).sides
        rate = self.workload.rate_per_s if paced else None
        alloc, pool = (Cell(place.collector, side, rate, *change) for side in self._sides[change])
        return alloc, pool

    def refused(self, cell: Cell) -> str | None:
        """Return why a cell can't be run, or None."""
        if cell not in self._refused:
            try:
                spec = self.workload.spec_of(cell, 0)
                self._refused[cell] = spec.impossible() or self.refusal(spec)
            except UserError as error:
                self._refused[cell] = str(error)
        return self._refused[cell]

    def refused_at(self, place: Place) -> str | None:
        """Return why a side of a place can't be run, or None."""
        try:
            return next(filter(None, map(self.refused, self.cells(place))), None)
        except UserError as error:
            return str(error)

    def ok(self, cell: Cell) -> list[Measured]:
        return [trial for trial in self.trials.get(cell, ()) if trial.status == "ok"]

    def costs(self, cell: Cell) -> list[float]:
        """Return CPU of the process, ns a message."""
        return [trial.cpu_ns for trial in self.ok(cell) if trial.cpu_ns]

    def given_up(self, cell: Cell) -> bool:
        """Return whether trials of a cell end without a result."""
        return self.n(cell) - len(self.ok(cell)) >= GIVEN_UP_AFTER

    def counted(self, cell: Cell) -> list[Measured]:
        """Return the paced trials that show whether they lose; one without memory does."""
        return [
            trial for trial in self.trials.get(cell, ())
            if trial.status == "out_of_memory" or (trial.status == "ok" and trial.lost_ppm is not None)
        ]  # fmt: skip

    def loses(self, trial: Measured) -> bool:
        """Return whether a counted trial lost more than is tolerated."""
        return trial.lost_ppm is None or trial.lost_ppm > self.workload.loss_ppm

    def lost(self, cell: Cell) -> list[bool]:
        """Return `loses` of each counted trial."""
        return [self.loses(trial) for trial in self.counted(cell)]

    def paced(self, cell: Cell) -> Cell:
        """Return a cell at the reader's rate."""
        return cell._replace(rate_per_s=self.workload.rate_per_s)

    def standing(self, cell: Cell) -> str:
        """Return whether a strategy keeps up with the reader's rate; ``cell`` is the one as fast as it goes."""
        lost = self.lost(self.paced(cell))
        if self.given_up(cell) or (self.given_up(self.paced(cell)) and lost and all(lost)):
            return LOSES
        return standing(lost)

    def standings(self, place: Place) -> tuple[str, str]:
        """Return `standing` of allocation and of what is compared with it."""
        alloc, pool = map(self.standing, self.cells(place))
        return alloc, pool

    def comparison(self, place: Place) -> Comparison:
        """Compare allocation's cost with the pool's, as fast as both go."""
        alloc, pool = map(self.costs, self.cells(place))
        return compare(alloc, pool)

    def answer(self, place: Place) -> str:
        """Return the answer: a side that does not keep up is ruled out, otherwise the cost decides."""
        alloc, pool = self.standings(place)
        if {alloc, pool} == {LOSES, HOLDS}:
            return ALLOCATE if alloc == HOLDS else TAKE_FROM_POOL
        if (alloc, pool) != (HOLDS, HOLDS):
            return NEITHER if place.changed and self.neither(place) else UNDECIDED
        by_cost = {A_CHEAPER: ALLOCATE, B_CHEAPER: TAKE_FROM_POOL, EQUIVALENT: EITHER}
        return by_cost.get(self.comparison(place).verdict, UNDECIDED)

    def neither(self, place: Place) -> bool:
        """Return whether both sides are shown not to keep up."""
        return self.standings(place) == (LOSES, LOSES)

    def mostly_lost(self, cell: Cell) -> bool:
        """Return whether most trials at the reader's rate lose; ``cell`` is the one as fast as it goes."""
        lost = self.lost(self.paced(cell))
        return self.given_up(cell) or 2 * sum(lost) > len(lost)

    def focus(self) -> Place:
        """Return the collector of the advice: where the cheaper side that keeps up costs least."""
        best = [
            (self.standing(cell) == LOSES, geometric_mean(costs), collector)
            for collector in self.workload.collectors
            for cell in self.cells(Place(collector))
            if (costs := self.costs(cell))
        ]
        return Place(min(best)[2] if best else self.workload.collectors[0])

    def capacity_per_s(self, cell: Cell) -> float | None:
        """Return messages a second as fast as it goes, the median of trials."""
        walls = [trial.wall_ns for trial in self.ok(cell) if trial.wall_ns]
        return 1e9 / statistics.median(walls) if walls else None
