"""Advice on a reader's own workload, within the minutes that there are: allocate, pool, or either.

>>> advice = advise(understood({"rate": "1e6", "bytes": "512"}), minutes=10, laboratory=Machine())   # doctest: +SKIP
>>> advice.answer, advice.decision.ratio                                      # doctest: +SKIP

Trials are ordinary records: the same workload with more minutes continues, and an interruption answers with the trials
that there are.
"""

from __future__ import annotations

import math
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Protocol

from tqdm import tqdm

from allocpool.campaign.sequential import BETWEEN_TRIALS_S
from allocpool.decisions import Decision
from allocpool.errors import UserError
from allocpool.stats import ends, significant
from allocpool.studies.your_workload import turns
from allocpool.studies.your_workload.course import course, trials_lacking
from allocpool.studies.your_workload.findings import LOSES, UNDECIDED, Findings, Measured, Place
from allocpool.studies.your_workload.headroom import Headroom, headroom_of
from allocpool.studies.your_workload.specs import MessagesSpec
from allocpool.studies.your_workload.workload import Cell, Workload

ALL_DONE, OUT_OF_TIME, INTERRUPTED, ON_RECORD = "all done", "out of time", "interrupted", "what is on record"
"""Why no more was measured."""
_LIKE = 5
"""The latest trials of a kind from which the time of the next one is expected."""


class Laboratory(Protocol):
    """What runs trials."""

    def refusal(self, spec: MessagesSpec) -> str | None:
        """Return why it can't run the trial, in one line, or None."""

    def recorded(self, spec: MessagesSpec) -> Measured | None:
        """Return what a trial on record measured."""

    def measure(self, spec: MessagesSpec) -> Measured:
        """Run a trial now."""

    def close(self) -> None:
        """Let others measure."""


@dataclass(frozen=True)
class Figures:
    """Medians of a strategy's trials, as fast as it goes and at the reader's rate; None where there is no trial.

    ``cores``: CPU at the reader's rate if a message costs what it costs as fast as it goes. ``lost_trials`` of
    ``paced`` ones lost more than is tolerated.
    """

    cpu_ns: float | None
    wall_ns: float | None
    cores: float | None
    costs: tuple[float, ...]
    standing: str
    paced: int
    lost_trials: int
    lost_ppm: float | None
    delay_p50_ms: float | None
    delay_p99_ms: float | None
    delay_p999_ms: float | None
    pause_max_ms: float | None
    collections: float | None
    idle_rss_mb: float | None
    peak_rss_mb: float | None
    pool_mb: float | None
    wasted_mb: float | None
    failed: str | None


_FREE = ("cpu_ns", "wall_ns")
_PACED = ("lost_ppm", "delay_p50_ms", "delay_p99_ms", "delay_p999_ms", "pause_max_ms", "collections")
_MEMORY = ("idle_rss_mb", "peak_rss_mb", "pool_mb", "wasted_mb")


@dataclass(frozen=True)
class Advice:
    """What trials show a reader, judged when it is asked for.

    Attributes:
        of: the trials.
        minutes: what they took.
        ended: why there were no more.
        notes: what a capture or a recording gave.
        machine: where they ran; empty for this machine.
        is_example: whether it is the package's own, shown in place of the reader's.
    """

    of: Findings
    minutes: float
    ended: str
    notes: tuple[str, ...] = ()
    machine: str = ""
    is_example: bool = False

    @property
    def workload(self) -> Workload:
        return self.of.workload

    @cached_property
    def place(self) -> Place:
        """The collector that the advice is for, of several the best."""
        return self.of.focus()

    @property
    def collector(self) -> str:
        """Its name; empty for C++."""
        return self.place.collector

    @cached_property
    def answer(self) -> str:
        """``allocate``, ``pool``, ``either`` or ``inconclusive``."""
        return self.of.answer(self.place)

    @property
    def by_losses(self) -> bool:
        """Whether losses decide, not cost."""
        return LOSES in self.of.standings(self.place)

    @property
    def neither(self) -> bool:
        """Whether neither side keeps up with the reader's rate."""
        return self.of.neither(self.place)

    @cached_property
    def decision(self) -> Decision:
        """Allocation's CPU a message compared with the pool's."""
        return self.of.comparison(self.place).decision

    @cached_property
    def figures(self) -> dict[str, Figures]:
        """By strategy."""
        return {name: figures_of(self.of, Cell(self.collector, name)) for name in self.workload.strategies}

    @cached_property
    def headroom(self) -> dict[str, Headroom]:
        """By side."""
        return {cell.strategy: headroom_of(self.of, cell) for cell in self.of.cells(self.place)}

    @cached_property
    def turns(self) -> tuple[turns.Turn, ...]:
        """What turns the answer, by parameter and direction."""
        tried = (turns.turn_of(self.of, self.collector, name, way) for name, way in turns.ORDER)
        return () if self.answer == UNDECIDED else tuple(tried)

    @cached_property
    def explored(self) -> list[dict[str, Any]]:
        """The values tried for it, the reader's own among them: allocation's CPU a message over the pool's, and which
        sides mostly lose there."""
        rows = []
        for name in dict.fromkeys(name for name, _ in turns.ORDER):
            tried = {cell.value for cell in self.of.trials if (cell.changed, cell.collector) == (name, self.collector)}
            for value in sorted({self.workload.value_of(name), *tried}) if tried else ():
                place = self.of.at(self.collector, name, value)
                found = self.of.comparison(place).decision
                loses = [cell.strategy for cell in self.of.cells(place) if self.of.mostly_lost(cell)]
                rows.append({"parameter": name, "value": value, "ratio": found.ratio, "low": found.low,
                             "high": found.high, "n": found.n, "loses": loses})  # fmt: skip
        return [row for row in rows if row["n"]]

    @cached_property
    def collectors(self) -> dict[str, dict[str, Figures]]:
        """Of each collector that was compared, the figures by side."""
        names = self.workload.collectors if len(self.workload.collectors) > 1 else ()
        return {
            name: {cell.strategy: figures_of(self.of, cell) for cell in self.of.cells(Place(name))} for name in names
        }

    @property
    def minutes_more(self) -> float | None:
        """Estimate the minutes that settle it, in tenths: 0 where it is settled, None where no time would."""
        lacking = trials_lacking(self.of, self.place) if self.answer == UNDECIDED else {}
        if lacking is None:
            return None
        seconds = sum(
            n * _expected_s(self.workload.spec_of(cell, 0), [trial.wall_s for trial in self.of.trials.get(cell, ())])
            for cell, n in lacking.items()
        )
        return math.ceil(seconds / 6) / 10

    @property
    def _every(self) -> list[Measured]:
        return [trial for trials in self.of.trials.values() for trial in trials]

    @property
    def trials(self) -> int:
        return len(self._every)

    @property
    def disturbed(self) -> int:
        """How many trials ran while the machine was disturbed."""
        return sum(trial.disturbed for trial in self._every)

    @property
    def humongous_share(self) -> float:
        """Of messages, those that G1 gives regions of their own."""
        return max((trial.humongous_share or 0.0 for trial in self._every), default=0.0)

    @cached_property
    def refused(self) -> dict[str, str]:
        """Collectors that this machine can't run, with the reason."""
        reasons = {name: self.of.refused_at(Place(name)) for name in self.workload.collectors}
        return {name: reason for name, reason in reasons.items() if reason}

    def as_json(self) -> dict[str, Any]:
        """Return what programs read, as plain data; what is infinite or not a number is None."""
        effect = {name: getattr(self.decision, name) for name in ("ratio", "low", "high", "n")}
        same = (
            "answer", "by_losses", "neither", "minutes_more", "minutes", "trials", "disturbed", "ended", "refused",
            "humongous_share", "explored",
        )  # fmt: skip
        found = {name: getattr(self, name) for name in same} | {
            "effect": effect, "collector": self.collector or None,
            "headroom": {name: asdict(room) for name, room in self.headroom.items()},
            "turns_at": [asdict(turn) for turn in self.turns],
            "strategies": {name: asdict(figures) for name, figures in self.figures.items()},
            "collectors": {
                name: {side: asdict(figures) for side, figures in sides.items()}
                for name, sides in self.collectors.items()
            },
            "notes": list(self.notes), "parameters": self.workload.model_dump(mode="json"),
        }  # fmt: skip
        plain: dict[str, Any] = _plain(found)
        return plain


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def figures_of(of: Findings, cell: Cell) -> Figures:
    """Return the figures of a strategy; ``cell`` is the one as fast as it goes."""
    paced = of.paced(cell)

    def medians(trials: list[Measured], names: tuple[str, ...]) -> dict[str, Any]:
        values = {name: [v for trial in trials if (v := getattr(trial, name)) is not None] for name in names}
        return {name: float(statistics.median(found)) if found else None for name, found in values.items()}

    free = medians(of.ok(cell), _FREE)
    failed = [trial for each in (cell, paced) for trial in of.trials.get(each, ()) if trial.status != "ok"]
    return Figures(
        **free, **medians(of.ok(paced), _PACED), **medians(of.ok(paced) or of.ok(cell), _MEMORY),
        cores=free["cpu_ns"] * of.workload.rate_per_s / 1e9 if free["cpu_ns"] else None,
        costs=tuple(of.costs(cell)), standing=of.standing(cell), paced=len(of.lost(paced)),
        lost_trials=sum(of.lost(paced)),
        failed=f"{failed[0].status.replace('_', ' ')}: {failed[0].reason}" if failed else None,
    )  # fmt: skip


def advise(
    workload: Workload,
    minutes: float | None,
    laboratory: Laboratory,
    notes: tuple[str, ...] = (),
    quiet: bool = False,
    clock: Callable[[], float] = time.monotonic,
    plan: Callable[[Findings], Iterator[Cell]] = course,
    first_block: int = 0,
) -> Advice:
    """Measure for at most so many minutes, those of trials on record included, and return what follows; None measures
    nothing. Ctrl-C answers with what there is. ``plan`` yields the cells to run; blocks count from ``first_block``.

    Raises:
        UserError: this machine can't run the workload, a build failed, or a campaign is measuring.
    """
    of = Findings(workload, laboratory.refusal)
    reasons = [of.refused_at(Place(collector)) for collector in workload.collectors]
    if reasons[0] and all(reasons):
        raise UserError(reasons[0])
    limit_s = 0.0 if minutes is None else 60 * minutes
    spent_s, ended = 0.0, ALL_DONE
    took_s: dict[bool, list[float]] = {True: [], False: []}
    begun_s: float | None = None
    old_s = 0.0
    try:
        with _progress(limit_s, quiet or minutes is None) as bar:
            for cell in plan(of):
                spec = workload.spec_of(cell, first_block + of.n(cell))
                measured = laboratory.recorded(spec)
                if measured is None:
                    if minutes is None:
                        ended = ON_RECORD
                        break
                    if begun_s is not None:
                        spent_s = max(spent_s, old_s + clock() - begun_s)
                    if spent_s + _expected_s(spec, took_s[cell.rate_per_s is None]) > limit_s:
                        ended = OUT_OF_TIME
                        break
                    measured = laboratory.measure(spec)
                    if begun_s is None:  # what was built before the first trial is not counted
                        begun_s, old_s = clock(), spent_s + measured.wall_s
                took_s[cell.rate_per_s is None].append(measured.wall_s)
                of.add(cell, measured)
                spent_s += measured.wall_s + BETWEEN_TRIALS_S
                bar.update(min(spent_s, limit_s) - bar.n)
                bar.set_postfix_str(_so_far(of), refresh=False)
    except KeyboardInterrupt:
        ended = INTERRUPTED
    finally:
        laboratory.close()
    return Advice(of, spent_s / 60, ended, notes)


def _expected_s(spec: MessagesSpec, took_s: list[float]) -> float:
    return (statistics.median(took_s[-_LIKE:]) if took_s else spec.expected_seconds()) + BETWEEN_TRIALS_S


@contextmanager
def _progress(limit_s: float, quiet: bool) -> Iterator[Any]:
    """Show a bar of seconds; in a log, a line every ten."""
    with tqdm(
        total=limit_s, disable=quiet, dynamic_ncols=True, mininterval=0.1 if sys.stderr.isatty() else 10.0,
        bar_format="{percentage:3.0f}%|{bar}| {n:.0f} of {total:.0f} s{postfix}",
    ) as bar:  # fmt: skip
        yield bar


def _so_far(of: Findings) -> str:
    place = of.focus()
    found = of.comparison(place).decision
    if found.n == 0:
        return "nothing known yet"
    spread = "" if math.isnan(found.low) else f" ({ends(found.low, found.high)})"
    stand = ", ".join(f"{cell.strategy} {of.standing(cell)}" for cell in of.cells(place))
    return f"{of.answer(place)}: alloc/pool {significant(found.ratio)}{spread}, n = {found.n}; {stand}"
