"""Advice on a reader's own workload, within the minutes that there are: allocate, pool, or either.

Trials are ordinary records, under the lock of campaigns: the same workload with more minutes continues, and an
interruption answers with the trials that there are.
"""

from __future__ import annotations

import math
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

from pydantic_core import to_jsonable_python
from tqdm import tqdm

from allocpool import home
from allocpool.campaign.sequential import BETWEEN_TRIALS_S
from allocpool.decisions import Decision
from allocpool.errors import UserError
from allocpool.machine.host import read_host
from allocpool.stats import significant
from allocpool.studies.your_workload import course, findings
from allocpool.studies.your_workload.findings import Findings, Headroom, Measured, Place
from allocpool.studies.your_workload.specs import MessagesSpec
from allocpool.studies.your_workload.tables import summarise_messages
from allocpool.studies.your_workload.workload import Cell, Workload
from allocpool.trial import runner
from allocpool.trial.launch import Launcher
from allocpool.trial.noise import DISTURBED_BEYOND
from allocpool.trial.record import TrialRecord, read_record

ALL_DONE, OUT_OF_TIME, INTERRUPTED, ON_RECORD = "all done", "out of time", "interrupted", "what is on record"
"""Why no more was measured."""
EFFECT = ("ratio", "low", "high", "n")
_FREE = ("cpu_ns", "wall_ns")
_MEMORY = ("idle_rss_mb", "peak_rss_mb", "pool_mb", "wasted_mb")
_PACED = ("lost_ppm", "delay_p50_ms", "delay_p99_ms", "delay_p999_ms", "pause_max_ms", "collections")
_COLUMNS = {
    "cpu_ns": "cpu_ns_per_message", "wall_ns": "ns_per_message", "pause_max_ms": "gc_pause_max_ms",
    "collections": "gc_collections",
}  # fmt: skip
"""Of table ``trials``, by the field of `Measured` that has another name."""


class Machine:
    """This machine; ``starts``: whether it may start anything, if only to try the flags of a JVM."""

    def __init__(self, starts: bool = True) -> None:
        self._starts = starts
        self._launcher = Launcher()
        self._host = read_host()
        self._tried: set[Any] = set()

    def refusal(self, spec: MessagesSpec) -> str | None:
        """Return `Launcher.refusal`, after the JVM's flags were tried."""
        jvm = spec.needs().jvm
        if self._starts and jvm not in self._tried and not self._launcher.refusal(spec):
            self._tried.add(jvm)
            self._launcher.prepare([spec])
        return self._launcher.refusal(spec)

    def recorded(self, spec: MessagesSpec) -> Measured | None:
        record = read_record(self._task(spec).folder)
        return None if record is None else _measured(record)

    def alone(self) -> AbstractContextManager[None]:
        """Hold the machine for measuring; UserError where a campaign does."""
        return runner.alone(home.raw_dir())

    def measure(self, spec: MessagesSpec) -> Measured:
        """Run a trial to its record; UserError where a build failed, or the JVM does not start with these flags."""
        if refused := self.refusal(spec):
            raise UserError(refused)
        launch = self._launcher.launch_of(spec)
        pace = self._launcher.pace_meter()
        return _measured(runner.run_trial(self._task(spec), launch, self._host, pace, DISTURBED_BEYOND))

    def _task(self, spec: MessagesSpec) -> runner.Task:
        return runner.task_for(spec, self._launcher, self._host, home.raw_dir())


def _measured(record: TrialRecord) -> Measured:
    found = Measured(record.status, record.reason, record.wall_s, disturbed=record.disturbed is not None)
    if record.status != "ok":
        return found
    row = summarise_messages(record)
    others = {each.name for each in fields(Measured)} - {"status", "reason", "wall_s", "disturbed"}
    values: dict[str, Any] = {name: row.get(_COLUMNS.get(name, name)) for name in others}
    return replace(found, **values)


@dataclass(frozen=True)
class Figures(findings.Figures):
    """Medians of a strategy's trials; None where there is no trial. ``cores``: CPU at the reader's rate if a message
    costs what it costs as fast as it goes. ``lost_trials`` of ``paced`` ones lost more than is tolerated."""

    cores: float | None
    costs: tuple[float, ...]
    standing: str
    paced: int
    lost_trials: int
    failed: str | None


@dataclass(frozen=True)
class Advice:
    """What the trials ``of`` a workload show, judged when it is asked for. ``minutes`` is what they took, ``ended`` why
    there were no more, ``notes`` what a capture or a recording gave, ``machine`` where they ran (empty for this one);
    ``is_example``: the package's own, in place of the reader's."""

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
        return self.of.focus()

    @property
    def collector(self) -> str:
        """The one that the advice is for, of several the best; empty for C++."""
        return self.place.collector

    @cached_property
    def answer(self) -> str:
        """``allocate``, ``pool``, ``either`` or ``inconclusive``."""
        return self.of.answer(self.place)

    @property
    def by_losses(self) -> bool:
        return findings.LOSES in self.of.standings(self.place)

    @property
    def neither(self) -> bool:
        return self.of.standings(self.place) == findings.NEITHER_HOLDS

    @cached_property
    def decision(self) -> Decision:
        """Allocation's CPU a message compared with the pool's."""
        return self.of.comparison(self.place).decision

    @cached_property
    def figures(self) -> dict[str, Figures]:
        return {name: figures_of(self.of, Cell(self.collector, name)) for name in self.workload.strategies}

    @cached_property
    def headroom(self) -> dict[str, Headroom]:
        return {cell.strategy: self.of.headroom(cell) for cell in self.of.cells(self.place)}

    @cached_property
    def turns(self) -> tuple[course.Turn, ...]:
        tried = (course.turn_of(self.of, self.collector, name, way) for name, way in course.DIRECTIONS)
        return () if self.answer == findings.UNDECIDED else tuple(tried)

    @cached_property
    def explored(self) -> list[dict[str, Any]]:
        """The values tried for it, the reader's own among them: allocation's CPU a message over the pool's, and which
        sides mostly lose there."""
        rows = []
        for name in dict.fromkeys(name for name, _ in course.DIRECTIONS):
            tried = {cell.value for cell in self.of.trials if (cell.changed, cell.collector) == (name, self.collector)}
            for value in sorted({self.workload.value_of(name), *tried}) if tried else ():
                place = self.of.at(self.collector, name, value)
                found = self.of.comparison(place).decision
                loses = [cell.strategy for cell in self.of.cells(place) if self.of.mostly_lost(cell)]
                effect = {part: getattr(found, part) for part in EFFECT}
                rows += [{"parameter": name, "value": value, **effect, "loses": loses}] if found.n else []
        return rows

    @cached_property
    def collectors(self) -> dict[str, dict[str, Figures]]:
        """Of each collector that was compared, the figures by side."""
        places = list(map(Place, self.workload.collectors))
        return {
            place.collector: {cell.strategy: figures_of(self.of, cell) for cell in self.of.cells(place)}
            for place in places if len(places) > 1
        }  # fmt: skip

    @property
    def minutes_more(self) -> float | None:
        """Estimate the minutes that settle it, in tenths: 0 where it is settled, None where no time would."""
        lacking = course.trials_lacking(self.of, self.place) if self.answer == findings.UNDECIDED else {}
        if lacking is None:
            return None
        took_s = {cell: [trial.wall_s for trial in self.of.trials.get(cell, ())] for cell in lacking}
        seconds = sum(n * _expected_s(self.workload.spec_of(one, 0), took_s[one]) for one, n in lacking.items())
        return math.ceil(seconds / 6) / 10

    @cached_property
    def _every(self) -> list[Measured]:
        return [trial for trials in self.of.trials.values() for trial in trials]

    @property
    def trials(self) -> int:
        return len(self._every)

    @property
    def disturbed(self) -> int:
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
        same = (
            "answer", "by_losses", "neither", "minutes_more", "minutes", "trials", "disturbed", "ended", "refused",
            "humongous_share", "explored", "headroom", "collectors", "notes",
        )  # fmt: skip
        found = {name: getattr(self, name) for name in same} | {
            "effect": {name: getattr(self.decision, name) for name in EFFECT},
            "collector": self.collector or None, "turns_at": self.turns, "strategies": self.figures,
            "parameters": self.workload,
        }  # fmt: skip
        plain: dict[str, Any] = to_jsonable_python(found, inf_nan_mode="null")
        return plain


def figures_of(of: Findings, cell: Cell) -> Figures:
    paced = of.paced(cell)
    medians: dict[str, float] = {}
    for names, trials in ((_FREE, of.ok(cell)), (_PACED, of.ok(paced)), (_MEMORY, of.ok(paced) or of.ok(cell))):
        for name in names:
            if values := [value for trial in trials if (value := getattr(trial, name)) is not None]:
                medians[name] = float(statistics.median(values))
    failed = [trial for each in (cell, paced) for trial in of.trials.get(each, ()) if trial.status != "ok"]
    lost, cpu_ns = of.lost(paced), medians.get("cpu_ns")
    return Figures(
        cores=cpu_ns * of.workload.rate_per_s / 1e9 if cpu_ns else None, costs=tuple(of.costs(cell)),
        standing=of.standing(cell), paced=len(lost), lost_trials=sum(lost),
        failed=f"{failed[0].status.replace('_', ' ')}: {failed[0].reason}" if failed else None, **medians,
    )  # fmt: skip


def advise(
    workload: Workload,
    minutes: float | None,
    machine: Machine,
    notes: tuple[str, ...] = (),
    quiet: bool = False,
    clock: Callable[[], float] = time.monotonic,
    plan: Callable[[Findings], Iterator[Cell]] = course.course,
    first_block: int = 0,
) -> Advice:
    """Measure for at most so many minutes, those of trials on record included, and return what follows; None measures
    nothing. Ctrl-C answers with what there is. ``plan`` yields the cells to run; blocks count from ``first_block``.
    UserError where this machine can't run it, a build failed, or a campaign is measuring."""
    of = Findings(workload, machine.refusal)
    reasons = [of.refused_at(Place(collector)) for collector in workload.collectors]
    if reasons[0] and all(reasons):
        raise UserError(reasons[0])
    limit_s = 0.0 if minutes is None else 60 * minutes
    spent_s, ended = 0.0, ALL_DONE
    took_s: dict[bool, list[float]] = {True: [], False: []}
    began_s: float | None = None
    bar = tqdm(
        total=limit_s, disable=quiet or minutes is None, dynamic_ncols=True,
        mininterval=0.1 if sys.stderr.isatty() else 10.0,  # in a log, a line every ten seconds
        bar_format="{percentage:3.0f}%|{bar}| {n:.0f} of {total:.0f} s{postfix}",
    )  # fmt: skip
    try:
        with bar, ExitStack() as held:
            for cell in plan(of):
                spec = workload.spec_of(cell, first_block + of.n(cell))
                measured, alike_s = machine.recorded(spec), took_s[cell.rate_per_s is None]
                if measured is None:
                    if minutes is None:
                        ended = ON_RECORD
                        break
                    if began_s is not None:
                        spent_s = max(spent_s, clock() - began_s)
                    if spent_s + _expected_s(spec, alike_s) > limit_s:
                        ended = OUT_OF_TIME
                        break
                    if began_s is None:
                        held.enter_context(machine.alone())
                    measured = machine.measure(spec)
                    if began_s is None:  # what was built before the first trial is not counted
                        began_s = clock() - spent_s - measured.wall_s
                alike_s.append(measured.wall_s)
                of.trials[cell].append(measured)
                spent_s += measured.wall_s + BETWEEN_TRIALS_S
                bar.update(min(spent_s, limit_s) - bar.n)
                bar.set_postfix_str(_so_far(of), refresh=False)
    except KeyboardInterrupt:
        ended = INTERRUPTED
    return Advice(of, spent_s / 60, ended, notes)


def _expected_s(spec: MessagesSpec, took_s: list[float]) -> float:
    """The time of a trial by the latest ones of its kind."""
    return (statistics.median(took_s[-5:]) if took_s else spec.expected_seconds()) + BETWEEN_TRIALS_S


def _so_far(of: Findings) -> str:
    place = of.focus()
    found, stand = of.comparison(place).decision, ", ".join(of.standings(place))
    ratio = f"{significant(found.ratio)}, n = {found.n}" if found.n else "nothing known yet"
    return f"{of.answer(place)}: alloc/pool {ratio}; at your rate {stand}"
