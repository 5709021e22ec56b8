"""What the trials of a reader's workload say so far: costs, who keeps up, and what follows for the answer.

Costs are compared as everywhere (`allocpool.decisions`). Whether a strategy keeps up is a matter of trials, never of
messages, since losses come in bursts: a trial loses more than is tolerated or it does not. A strategy is out when more
than one in five of its trials are shown to lose, and keeps up when fewer than half are; both by a mixture of likelihood
ratios that holds whenever one looks (Robbins, "Statistical methods related to the law of the iterated logarithm",
Annals of Mathematical Statistics 41, 1970; Ville's inequality).
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from scipy import special

from allocpool.decisions import A_CHEAPER, ALPHA, B_CHEAPER, EQUIVALENT, Comparison, compare
from allocpool.errors import UserError
from allocpool.stats import geometric_mean
from allocpool.studies.your_workload.specs import MessagesSpec
from allocpool.studies.your_workload.workload import Cell, Workload

ALLOCATE, TAKE_FROM_POOL, EITHER, UNDECIDED, NEITHER = "allocate", "pool", "either", "inconclusive", "neither"
"""Answers; the last one only of a workload that differs from the reader's."""
HOLDS, LOSES, UNKNOWN = "holds", "loses", "inconclusive"
GIVEN_UP_AFTER = 2
"""Trials without a figure after which a cell gets no more."""
_OUT_BEYOND, _IN_BELOW = 0.2, 0.5
"""Chances that a trial loses: shown to be beyond the first, a strategy is out; below the second, it keeps up."""


@dataclass(frozen=True)
class Measured:
    """One trial: how it ended, and its figures; None where it has none. ``_ns`` are per message, CPU of the whole
    process."""

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
    """Whether a strategy holds, loses or is not known yet, by which of its trials lost too much, in order of time."""
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
    """Likelihood of ``events`` of ``n`` over all chances above, or below, ``chance``, evenly weighted, against it."""
    below = float(special.betainc(events + 1, n - events + 1, chance))
    part, width = (1 - below, 1 - chance) if above else (below, chance)
    whole = float(special.beta(events + 1, n - events + 1))
    return part * whole / width / (chance**events * (1 - chance) ** (n - events))


def answer_of(standings: tuple[str, str], verdict: str) -> str:
    """The answer by how allocation and the pool stand and by their costs' verdict; `UNDECIDED` where both lose."""
    alloc, pool = standings
    if {alloc, pool} == {LOSES, HOLDS}:
        return ALLOCATE if alloc == HOLDS else TAKE_FROM_POOL
    if (alloc, pool) != (HOLDS, HOLDS):
        return UNDECIDED
    return {A_CHEAPER: ALLOCATE, B_CHEAPER: TAKE_FROM_POOL, EQUIVALENT: EITHER}.get(verdict, UNDECIDED)


class Findings:
    """The trials of a reader's workload by cell, in order of time.

    Attributes:
        workload: the reader's.
        trials: by cell.
        refusal: one line that says why this machine can't run a trial, or None.
    """

    def __init__(self, workload: Workload, refusal: Callable[[MessagesSpec], str | None] = lambda _spec: None) -> None:
        self.workload = workload
        self.trials: dict[Cell, list[Measured]] = defaultdict(list)
        self.refusal = refusal
        self._refused: dict[Cell, str | None] = {}

    def add(self, cell: Cell, measured: Measured) -> None:
        """Count a trial."""
        self.trials[cell].append(measured)

    def n(self, cell: Cell) -> int:
        """Trials of a cell, however they ended."""
        return len(self.trials.get(cell, ()))

    @property
    def total(self) -> int:
        """All trials."""
        return sum(map(len, self.trials.values()))

    def next_spec(self, cell: Cell) -> MessagesSpec:
        """The trial of a cell that comes next."""
        return self.workload.spec_of(cell, self.n(cell))

    def refused(self, cell: Cell) -> str | None:
        """Why a cell can't be run, or None."""
        if cell not in self._refused:
            try:
                spec = self.workload.spec_of(cell, 0)
                self._refused[cell] = spec.impossible() or self.refusal(spec)
            except UserError as error:
                self._refused[cell] = str(error)
        return self._refused[cell]

    def ok(self, cell: Cell) -> list[Measured]:
        """Trials that ended well."""
        return [trial for trial in self.trials.get(cell, ()) if trial.status == "ok"]

    def costs(self, cell: Cell) -> list[float]:
        """CPU of the whole process, ns a message."""
        return [trial.cpu_ns for trial in self.ok(cell) if trial.cpu_ns]

    def given_up(self, cell: Cell) -> bool:
        """Whether trials of a cell end without a figure."""
        return self.n(cell) - len(self.ok(cell)) >= GIVEN_UP_AFTER

    def counted(self, cell: Cell) -> list[Measured]:
        """Trials of a paced cell that say whether it loses: those that ended well, and those without memory."""
        return [
            trial for trial in self.trials.get(cell, ())
            if trial.status == "out_of_memory" or (trial.status == "ok" and trial.lost_ppm is not None)
        ]  # fmt: skip

    def loses(self, trial: Measured) -> bool:
        """Whether a counted trial lost more than is tolerated; one without memory lost all."""
        return trial.lost_ppm is None or trial.lost_ppm > self.workload.loss_ppm

    def lost(self, cell: Cell) -> list[bool]:
        """`loses`, of each counted trial of a cell."""
        return [self.loses(trial) for trial in self.counted(cell)]

    def standing(self, collector: str, strategy: str) -> str:
        """Whether a strategy keeps up with the reader's rate; one that can't even go as fast as it goes does not."""
        if self.given_up(Cell(collector, strategy)):
            return LOSES
        return standing(self.lost(Cell(collector, strategy, self.workload.rate_per_s)))

    def comparison(self, collector: str, effect: float | None = None) -> Comparison:
        """Allocation's cost over the pool's, as fast as both go."""
        alloc, pool = (self.costs(Cell(collector, side)) for side in self.workload.sides)
        return compare(alloc, pool, effect)

    def answer(self, collector: str) -> str:
        """`ALLOCATE`, `TAKE_FROM_POOL`, `EITHER` or `UNDECIDED`: who does not keep up is out, else the cost decides."""
        alloc, pool = (self.standing(collector, side) for side in self.workload.sides)
        return answer_of((alloc, pool), self.comparison(collector).verdict)

    def by_losses(self, collector: str) -> bool:
        """Whether losses at the reader's rate alone decide."""
        return LOSES in (self.standing(collector, side) for side in self.workload.sides)

    def neither(self, collector: str) -> bool:
        """Whether both sides are shown not to keep up."""
        return all(self.standing(collector, side) == LOSES for side in self.workload.sides)

    def focus(self) -> str:
        """The collector that the advice is for: of several, the one on which the cheaper side that is not out costs
        least."""
        best: list[tuple[bool, float, str]] = []
        for collector in self.workload.collectors:
            for side in self.workload.sides:
                if costs := self.costs(Cell(collector, side)):
                    out = self.standing(collector, side) == LOSES
                    best.append((out, geometric_mean(costs), collector))
        return min(best)[2] if best else self.workload.collectors[0]

    def capacity_per_s(self, collector: str, strategy: str) -> float | None:
        """Messages a second as fast as it goes: the median of trials."""
        walls = [trial.wall_ns for trial in self.ok(Cell(collector, strategy)) if trial.wall_ns]
        return 1e9 / statistics.median(walls) if walls else None

    def rates(self, collector: str, strategy: str) -> list[float]:
        """The rates that trials paced at, ascending."""
        return sorted(
            cell.rate_per_s for cell in self.trials
            if cell[:2] == (collector, strategy) and cell.rate_per_s is not None and not cell.changed
        )  # fmt: skip
