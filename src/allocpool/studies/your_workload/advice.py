"""Advice on a reader's own workload, within the minutes that there are: allocate, pool, or it does not matter.

>>> advice = advise(understood({"rate": "1e6", "bytes": "512"}), minutes=10, laboratory=Machine())   # doctest: +SKIP
>>> advice.answer, advice.effect                                              # doctest: +SKIP

Trials are ordinary records: the same workload with more minutes goes on from there, and an interruption answers with
what there is.
"""

from __future__ import annotations

import math
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from tqdm import tqdm

from allocpool.campaign.sequential import BETWEEN_TRIALS_S
from allocpool.decisions import Decision, compare
from allocpool.errors import UserError
from allocpool.stats import ends, significant
from allocpool.studies.your_workload.course import course, trials_lacking
from allocpool.studies.your_workload.findings import UNDECIDED, Findings, Measured
from allocpool.studies.your_workload.headroom import Headroom, headroom_of
from allocpool.studies.your_workload.specs import MessagesSpec
from allocpool.studies.your_workload.turns import ORDER, Turn, both_sides, turn_of
from allocpool.studies.your_workload.workload import ALLOC, POOL, Cell, Workload

ALL_DONE, OUT_OF_TIME, INTERRUPTED, ON_RECORD = "all done", "out of time", "interrupted", "what is on record"
"""Why the course ended."""
_LIKE = 5
"""Trials of a kind from which their time is known."""


class Laboratory(Protocol):
    """What runs trials."""

    def refusal(self, spec: MessagesSpec) -> str | None:
        """One line that says why it can't run the trial, or None."""

    def recorded(self, spec: MessagesSpec) -> Measured | None:
        """What a trial on record measured."""

    def measure(self, spec: MessagesSpec) -> Measured:
        """Run a trial now."""

    def close(self) -> None:
        """Nothing more is run."""


@dataclass(frozen=True)
class Effect:
    """Allocation's CPU a message over the pool's: ``ratio`` with its interval at any stopping time, None where there is
    none; ``n`` trials of the smaller side."""

    ratio: float | None
    low: float | None
    high: float | None
    n: int


@dataclass(frozen=True)
class Figures:
    """Medians of a strategy's trials: as fast as it goes, and at the reader's rate; None where there is no trial.

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


@dataclass(frozen=True)
class Explored:
    """One value of one parameter that was tried: allocation's CPU a message over the pool's, with an interval; whether
    most of either's trials at the reader's rate lose too much there."""

    parameter: str
    value: float
    ratio: float
    low: float | None
    high: float | None
    n: int
    loses: tuple[str, ...]


@dataclass(frozen=True)
class Advice:
    """What the trials say to a reader; `as_json` is what programs read.

    Attributes:
        workload: the parameters as understood.
        answer: ``allocate``, ``pool``, ``either`` or ``open``.
        by_losses: whether losses decide, not cost.
        neither: whether neither side keeps up with the reader's rate.
        collector: that it is for, of several the best; empty for C++.
        effect: how far the costs are apart.
        decision: the same as it is reported everywhere.
        figures, headroom: by strategy.
        turns: what would turn the answer, parameter by parameter.
        explored: the values that were tried for it, the reader's own among them.
        collectors: figures of each collector that was compared, by strategy.
        minutes_more: estimate of what settles it, 0 where it is settled, None where no time would or it can't be known.
        minutes: what the trials took.
        trials, disturbed: so many, and so many of them during which the machine was disturbed.
        ended: why there were no more.
        refused: collectors that this machine can't run, with the reason.
        humongous_share: of messages, those that G1 gives regions of their own.
        measured: the trials themselves, of each cell in order of time.
        machine: where they ran; empty for this machine.
        is_example: whether it is the package's own, shown in place of the reader's.
    """

    workload: Workload
    answer: str
    by_losses: bool
    neither: bool
    collector: str
    effect: Effect
    decision: Decision
    figures: dict[str, Figures]
    headroom: dict[str, Headroom]
    turns: tuple[Turn, ...]
    explored: tuple[Explored, ...]
    collectors: dict[str, dict[str, Figures]]
    minutes_more: float | None
    minutes: float
    trials: int
    disturbed: int
    ended: str
    refused: dict[str, str]
    humongous_share: float
    measured: Mapping[Cell, tuple[Measured, ...]]
    notes: tuple[str, ...] = ()
    machine: str = ""
    is_example: bool = False

    def as_json(self) -> dict[str, Any]:
        """Plain data; what is infinite or not a number is None."""
        found = {
            "answer": self.answer, "effect": asdict(self.effect), "collector": self.collector or None,
            "by_losses": self.by_losses, "neither": self.neither,
            "headroom": {name: asdict(room) for name, room in self.headroom.items()},
            "turns_at": [asdict(turn) for turn in self.turns],
            "explored": [asdict(value) for value in self.explored],
            "minutes_more": self.minutes_more, "minutes": self.minutes, "trials": self.trials,
            "disturbed": self.disturbed, "ended": self.ended,
            "strategies": {name: asdict(figures) for name, figures in self.figures.items()},
            "collectors": {
                name: {side: asdict(figures) for side, figures in sides.items()}
                for name, sides in self.collectors.items()
            },
            "refused": self.refused, "humongous_share": self.humongous_share, "notes": list(self.notes),
            "parameters": self.workload.model_dump(mode="json"),
        }  # fmt: skip
        plain: dict[str, Any] = _plain(found)
        return plain


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def advise(
    workload: Workload,
    minutes: float | None,
    laboratory: Laboratory,
    notes: tuple[str, ...] = (),
    quiet: bool = False,
    clock: Callable[[], float] = time.monotonic,
) -> Advice:
    """Measure for at most so many minutes, those of trials on record included, and say what follows; None measures
    nothing. Ctrl-C ends it with what there is.

    Raises:
        UserError: this machine can't run the workload, a build failed, or a campaign is measuring.
    """
    of = Findings(workload, laboratory.refusal)
    _refuse_the_impossible(of)
    limit_s = 0.0 if minutes is None else 60 * minutes
    spent_s, ended = 0.0, ALL_DONE
    took_s: dict[bool, list[float]] = {True: [], False: []}
    begun_s: float | None = None
    old_s = 0.0
    try:
        with progress("advise", limit_s, quiet or minutes is None) as bar:
            for cell in course(of):
                spec = of.next_spec(cell)
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
                bar.set_postfix_str(so_far(of), refresh=False)
    except KeyboardInterrupt:
        ended = INTERRUPTED
    finally:
        laboratory.close()
    return advice_of(of, spent_s / 60, ended, notes)


def _refuse_the_impossible(of: Findings) -> None:
    """That a collector at least can run both sides."""
    reasons = []
    for collector in of.workload.collectors:
        refused = [of.refused(Cell(collector, side, of.workload.rate_per_s)) for side in of.workload.sides]
        if not any(refused):
            return
        reasons += [reason for reason in refused if reason]
    raise UserError(reasons[0])


def _expected_s(spec: MessagesSpec, took_s: list[float]) -> float:
    return (statistics.median(took_s[-_LIKE:]) if took_s else spec.expected_seconds()) + BETWEEN_TRIALS_S


@contextmanager
def progress(what: str, limit_s: float, quiet: bool) -> Iterator[Any]:
    """A bar of seconds; in a log, a line every ten."""
    with tqdm(
        total=limit_s, disable=quiet, dynamic_ncols=True, mininterval=0.1 if sys.stderr.isatty() else 10.0,
        bar_format=f"{what}: {{percentage:3.0f}}%|{{bar}}| {{n:.0f}} of {{total:.0f}} s{{postfix}}",
    ) as bar:  # fmt: skip
        yield bar


def so_far(of: Findings) -> str:
    """The answer so far in a few words."""
    collector = of.focus()
    found = of.comparison(collector).decision
    if found.n == 0:
        return "nothing known yet"
    spread = "" if math.isnan(found.low) else f" ({ends(found.low, found.high)})"
    stand = ", ".join(f"{side} {of.standing(collector, side)}" for side in of.workload.sides)
    return f"{of.answer(collector)}: alloc/pool {significant(found.ratio)}{spread}, n = {found.n}; {stand}"


def advice_of(of: Findings, minutes: float, ended: str, notes: tuple[str, ...] = ()) -> Advice:
    """What trials say."""
    collector, workload = of.focus(), of.workload
    found = of.comparison(collector).decision
    answer = of.answer(collector)
    every = [trial for trials in of.trials.values() for trial in trials]
    refused = {
        name: reason for name in workload.collectors for side in workload.sides
        if (reason := of.refused(Cell(name, side)))
    }  # fmt: skip
    return Advice(
        workload=workload,
        answer=answer,
        by_losses=of.by_losses(collector),
        neither=of.neither(collector),
        collector=collector,
        effect=Effect(_finite(found.ratio), _finite(found.low), _finite(found.high), found.n),
        decision=found,
        figures={name: figures_of(of, collector, name) for name in workload.strategies},
        headroom={name: headroom_of(of, collector, name) for name in workload.sides},
        turns=tuple(turn_of(of, collector, name, way) for name, way in ORDER) if answer != UNDECIDED else (),
        explored=tuple(_explored(of, collector)),
        collectors={
            name: {side: figures_of(of, name, side) for side in workload.sides}
            for name in workload.collectors
            if len(workload.collectors) > 1
        },
        minutes_more=_minutes_more(of, collector, answer),
        minutes=minutes,
        trials=of.total,
        disturbed=sum(trial.disturbed for trial in every),
        ended=ended,
        refused=refused,
        humongous_share=max((trial.humongous_share or 0.0 for trial in every), default=0.0),
        measured={cell: tuple(trials) for cell, trials in of.trials.items()},
        notes=notes,
    )


def _explored(of: Findings, collector: str) -> Iterator[Explored]:
    rate = of.workload.rate_per_s
    for name in dict.fromkeys(name for name, _ in ORDER):
        tried = {cell.value for cell in of.trials if cell.changed == name and cell.collector == collector}
        for value in sorted({of.workload.value_of(name), *tried}) if tried else ():
            sides = both_sides(of, collector, name, value, None)
            found = compare(of.costs(sides[0]), of.costs(sides[1])).decision
            losing = [
                side for side, cell in zip((ALLOC, POOL), both_sides(of, collector, name, value, rate), strict=True)
                if 2 * sum(of.lost(cell)) > len(of.lost(cell))
            ]  # fmt: skip
            if found.n:
                yield Explored(
                    name, value, found.ratio, _finite(found.low), _finite(found.high), found.n, tuple(losing)
                )  # fmt: skip


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _minutes_more(of: Findings, collector: str, answer: str) -> float | None:
    """Minutes of trials that an open answer takes; whole tenths."""
    if answer != UNDECIDED:
        return 0.0
    lacking = trials_lacking(of, collector)
    if lacking is None:
        return None
    seconds = 0.0
    for cell, n in lacking.items():
        walls = [trial.wall_s for trial in of.trials.get(cell, ())]
        seconds += n * _expected_s(of.workload.spec_of(cell, 0), walls)
    return math.ceil(seconds / 6) / 10


def figures_of(of: Findings, collector: str, strategy: str) -> Figures:
    """A strategy's figures on a collector."""
    free, paced = Cell(collector, strategy), Cell(collector, strategy, of.workload.rate_per_s)
    cpu_ns = _median(of, free, "cpu_ns")
    failed = [trial for cell in (free, paced) for trial in of.trials.get(cell, ()) if trial.status != "ok"]
    return Figures(
        cpu_ns=cpu_ns,
        wall_ns=_median(of, free, "wall_ns"),
        cores=cpu_ns * of.workload.rate_per_s / 1e9 if cpu_ns else None,
        costs=tuple(of.costs(free)),
        standing=of.standing(collector, strategy),
        paced=len(of.lost(paced)),
        lost_trials=sum(of.lost(paced)),
        **{
            name: _median(of, paced, name)
            for name in ("lost_ppm", "delay_p50_ms", "delay_p99_ms", "delay_p999_ms", "pause_max_ms", "collections")
        },
        **{
            name: _median(of, paced if of.ok(paced) else free, name)
            for name in ("idle_rss_mb", "peak_rss_mb", "pool_mb", "wasted_mb")
        },
        failed=f"{failed[0].status.replace('_', ' ')}: {failed[0].reason}" if failed else None,
    )


def _median(of: Findings, cell: Cell, name: str) -> float | None:
    values = [value for trial in of.ok(cell) if (value := getattr(trial, name)) is not None]
    return float(statistics.median(values)) if values else None
