"""The trials of a reader's workload, and what follows from them: costs, who keeps up, headroom, and the answer.

Costs are compared by `allocpool.decisions`. Losses come in bursts, so the sampling unit is a trial: it loses more than
is tolerated, or it does not. A strategy loses when more than one in five of its trials are shown to lose. It holds when
fewer than half are. Both are shown by a mixture of likelihood ratios that is valid at any stopping time (Robbins,
"Statistical methods related to the law of the iterated logarithm", Annals of Mathematical Statistics 41, 1970).

Headroom: up to which rate a strategy loses no more than is tolerated. Its trials are placed and judged as those of the
real-time study (`allocpool.studies.realtime.adaptive`).
"""

from __future__ import annotations

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import scipy

from allocpool.decisions import A_CHEAPER, ALPHA, B_CHEAPER, EQUIVALENT, Comparison, compare
from allocpool.errors import UserError
from allocpool.stats import geometric_mean
from allocpool.studies.realtime.adaptive import AdaptiveTrials, next_interval
from allocpool.studies.your_workload.specs import MOST_PER_S, MessagesSpec
from allocpool.studies.your_workload.workload import Cell, Workload

ALLOCATE, TAKE_FROM_POOL, EITHER, UNDECIDED, NEITHER = "allocate", "pool", "either", "inconclusive", "neither"
"""Answers; `NEITHER` only of a workload with one parameter changed."""
HOLDS, LOSES, UNKNOWN = "holds", "loses", "inconclusive"
NEITHER_HOLDS = (LOSES, LOSES)
_OUT_BEYOND, _IN_BELOW = 0.2, 0.5
"""Chances that a trial loses: beyond the first a strategy loses, below the second it holds."""
_OWN_NS = 1e3
"""The interval of the reader's rate in the adaptive trials, whose intervals are from 1 to 1,000,000 ns."""
_NARROW, _MOST_TRIALS = 1.5, 18
"""The ratio of the edge's ends that is narrow enough; the most trials at other rates than the reader's."""
_LOWEST, _HIGHEST, _FEWEST_MESSAGES = 1e-3, 2.0, 100
"""The lowest rate tried, of the reader's, and in messages a trial; the highest, of the capacity."""
_BUSY = 0.85
"""Of its capacity, what a strategy uses that is limited by CPU."""


@dataclass(frozen=True, kw_only=True)
class Figures:
    """What a trial measures, or medians of trials; ``_ns`` are per message, ``cpu_ns`` of the process."""

    cpu_ns: float | None = None
    wall_ns: float | None = None
    lost_ppm: float | None = None
    delay_p50_ms: float | None = None
    delay_p99_ms: float | None = None
    delay_p999_ms: float | None = None
    pause_max_ms: float | None = None
    collections: float | None = None
    idle_rss_mb: float | None = None
    peak_rss_mb: float | None = None
    pool_mb: float | None = None
    wasted_mb: float | None = None


@dataclass(frozen=True)
class Measured(Figures):
    """One trial; None where it measured nothing."""

    status: str
    reason: str | None = None
    wall_s: float = 0.0
    stall_max_ms: float | None = None
    humongous_share: float | None = None
    disturbed: bool = False


@dataclass(frozen=True)
class Headroom:
    """Of one strategy: ``rate_per_s``, where half of the trials lose, with its interval of 95% at any stopping time (0
    or infinite where it is not bounded). ``lost_per_s`` is the lowest rate tried at which half of them lose,
    ``held_per_s`` the highest tried below it. ``factor``: the edge, or else the middle of these two, over the reader's
    rate. None where trials do not show it."""

    rate_per_s: float | None
    low_per_s: float | None
    high_per_s: float | None
    held_per_s: float | None
    lost_per_s: float | None
    factor: float | None
    limited_by: str
    trials: int
    losing: int

    @property
    def width(self) -> float:
        """The upper end of the edge's interval over the lower one."""
        return self.high_per_s / self.low_per_s if self.low_per_s and self.high_per_s else math.inf


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
    below = float(scipy.special.betainc(events + 1, n - events + 1, chance))
    part, width = (1 - below, 1 - chance) if above else (below, chance)
    scale = float(scipy.special.beta(events + 1, n - events + 1))
    return part * scale / width / (chance**events * (1 - chance) ** (n - events))


class Place(NamedTuple):
    """A collector with the reader's workload, or with one parameter of `CHANGEABLE` changed to ``value``."""

    collector: str
    changed: str = ""
    value: float = 0.0


class Findings:
    """The trials of a reader's workload by cell, in order of time; ``refusal`` returns why this machine can't run one.
    A method's ``cell`` is the one as fast as it goes, unless it says otherwise."""

    def __init__(self, workload: Workload, refusal: Callable[[MessagesSpec], str | None] = lambda _spec: None) -> None:
        self.workload = workload
        self.trials: dict[Cell, list[Measured]] = defaultdict(list)
        self.refusal = refusal
        self._refused: dict[Cell, str | None] = {}
        self._sides: dict[tuple[str, float], tuple[str, str]] = {}

    def n(self, cell: Cell) -> int:
        return len(self.trials.get(cell, ()))

    def at(self, collector: str, name: str, value: float) -> Place:
        """Return the place with a parameter at a value, which may be the reader's own."""
        return Place(collector) if value == self.workload.value_of(name) else Place(collector, name, value)

    def cells(self, place: Place, paced: bool = False) -> tuple[Cell, ...]:
        """Return allocation and what is compared with it there. UserError where memory has no room for a place."""
        change = place.changed, place.value
        if change not in self._sides:
            self._sides[change] = self.workload.changed_to(*change).sides
        rate = self.workload.rate_per_s if paced else None
        return tuple(Cell(place.collector, side, rate, *change) for side in self._sides[change])

    def refused(self, cell: Cell) -> str | None:
        """Return why any cell can't be run, or None."""
        if cell not in self._refused:
            try:
                spec = self.workload.spec_of(cell, 0)
                self._refused[cell] = spec.impossible() or self.refusal(spec)
            except UserError as error:
                self._refused[cell] = str(error)
        return self._refused[cell]

    def refused_at(self, place: Place) -> str | None:
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
        """Return whether two trials of any cell ended without a result: it gets no more."""
        return self.n(cell) - len(self.ok(cell)) >= 2

    def _counted(self, cell: Cell) -> list[tuple[Measured, bool]]:
        """Return the trials of a paced cell that show whether they lost too much, with that; one without memory did."""
        return [
            (trial, trial.lost_ppm is None or trial.lost_ppm > self.workload.loss_ppm)
            for trial in self.trials.get(cell, ())
            if trial.status == "out_of_memory" or (trial.status == "ok" and trial.lost_ppm is not None)
        ]

    def lost(self, cell: Cell) -> list[bool]:
        """Return whether each trial of a paced cell lost more than is tolerated, as far as they show it."""
        return [lost for _, lost in self._counted(cell)]

    def paced(self, cell: Cell) -> Cell:
        return cell._replace(rate_per_s=self.workload.rate_per_s)

    def standing(self, cell: Cell) -> str:
        """Return whether a strategy keeps up with the reader's rate."""
        lost = self.lost(self.paced(cell))
        if self.given_up(cell) or (self.given_up(self.paced(cell)) and lost and all(lost)):
            return LOSES
        return standing(lost)

    def standings(self, place: Place) -> tuple[str, ...]:
        return tuple(map(self.standing, self.cells(place)))

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
            return NEITHER if place.changed and (alloc, pool) == NEITHER_HOLDS else UNDECIDED
        by_cost = {A_CHEAPER: ALLOCATE, B_CHEAPER: TAKE_FROM_POOL, EQUIVALENT: EITHER}
        return by_cost.get(self.comparison(place).verdict, UNDECIDED)

    def mostly_lost(self, cell: Cell) -> bool:
        """Return whether most trials at the reader's rate lose."""
        lost = self.lost(self.paced(cell))
        return self.given_up(cell) or 2 * sum(lost) > len(lost)

    def focus(self) -> Place:
        """Return the collector of the advice: where the cheaper side that keeps up costs least."""
        best = [
            (self.standing(cell) == LOSES, geometric_mean(costs), place)
            for place in map(Place, self.workload.collectors)
            for cell in self.cells(place) if (costs := self.costs(cell))
        ]  # fmt: skip
        return min(best)[2] if best else Place(self.workload.collectors[0])

    def headroom(self, cell: Cell) -> Headroom:
        rates = self._rates(cell)
        losing = {rate: 2 * sum(lost) >= len(lost) for rate, lost in rates.items() if lost}
        lost = min((rate for rate, loses in losing.items() if loses), default=None)
        held = max((rate for rate in losing if lost is None or rate < lost), default=None)
        own_ns, tried = _OWN_NS * self.workload.rate_per_s, self._intervals(cell)
        every, edge, low, high = [one for _, one in tried], None, None, None
        if 0 < sum(every) < len(every):
            ends_ns = AdaptiveTrials(tried, 0, max(tried)[0]).interval_ns()
            edge, high, low = (None if math.isnan(ns) else math.inf if ns == 0 else own_ns / ns for ns in ends_ns)
        middle = edge or (math.sqrt(held * lost) if held and lost else None)
        factor = middle / self.workload.rate_per_s if middle else None
        limit = self._limited_by(cell, middle or math.inf)
        return Headroom(edge, low, high, held, lost, factor, limit, len(every), sum(every))

    def next_rate(self, cell: Cell) -> float | None:
        """Return the rate at which a trial shows most of a strategy's headroom; None where enough is known."""
        capacity, own_ns = self._capacity_per_s(cell), _OWN_NS * self.workload.rate_per_s
        if capacity is None or self.more_at_most(cell) <= 0 or self.headroom(cell).width <= _NARROW:
            return None
        top = min(_HIGHEST * capacity, MOST_PER_S)
        bottom = min(top, max(_LOWEST * self.workload.rate_per_s, _FEWEST_MESSAGES / self.workload.trial_s))
        shown = tuple((math.log(interval_ns), lost) for interval_ns, lost in self._intervals(cell))
        return float(f"{own_ns / next_interval(own_ns / top, own_ns / bottom, shown):.4g}")

    def more_at_most(self, cell: Cell) -> int:
        """Return how many trials at other rates than the reader's may still be asked for."""
        others = self._rates(cell).keys() - {self.workload.rate_per_s}
        return _MOST_TRIALS - sum(self.n(cell._replace(rate_per_s=rate)) for rate in others)

    def _rates(self, cell: Cell) -> dict[float, list[bool]]:
        """Return `lost` by each rate tried, in the order of their first trials."""
        return {
            paced.rate_per_s: self.lost(paced)
            for paced in self.trials if paced.rate_per_s and paced._replace(rate_per_s=None) == cell
        }  # fmt: skip

    def _intervals(self, cell: Cell) -> tuple[tuple[float, bool], ...]:
        """(interval, whether it lost) of each trial; the unit is such that the reader's rate is at `_OWN_NS`."""
        own_ns = _OWN_NS * self.workload.rate_per_s
        return tuple((own_ns / rate, one) for rate, lost in self._rates(cell).items() for one in lost)

    def _capacity_per_s(self, cell: Cell) -> float | None:
        """Messages a second as fast as it goes, the median of trials."""
        walls = [trial.wall_ns for trial in self.ok(cell) if trial.wall_ns]
        return 1e9 / statistics.median(walls) if walls else None

    def _limited_by(self, cell: Cell, edge: float) -> str:
        """What most of the five trials that lost nearest to the edge show."""
        if self.given_up(cell):
            return "memory"
        capacity, late_ms = self._capacity_per_s(cell) or math.inf, self.workload.delay_ms / 2
        causes = Counter[str]()
        for rate in sorted(rate for rate in self._rates(cell) if rate < 2 * edge):
            for trial, lost in self._counted(cell._replace(rate_per_s=rate)):
                if lost and causes.total() < 5:
                    shown = {
                        "memory": trial.status == "out_of_memory", "stalls": (trial.stall_max_ms or 0.0) >= late_ms,
                        "pause": (trial.pause_max_ms or 0.0) >= late_ms, "CPU": rate / capacity >= _BUSY,
                    }  # fmt: skip
                    causes[next((cause for cause, is_it in shown.items() if is_it), "not seen")] += 1
        return causes.most_common(1)[0][0] if causes else "not seen"
