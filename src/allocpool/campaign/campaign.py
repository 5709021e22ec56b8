"""A campaign: one study under one profile on this machine. Notebooks and the command line use it.

>>> study = open_study("batch", profile="smoke")   # doctest: +SKIP
>>> study.run()                                    # doctest: +SKIP
>>> study.tables()["trials"]                       # doctest: +SKIP
"""

from __future__ import annotations

import errno
import hashlib
import itertools
import json
import math
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd
from pydantic import ValidationError
from tqdm.auto import tqdm

from allocpool import home
from allocpool.campaign import profiles, sequential, store, tidy
from allocpool.campaign.registry import mode_named, study_named
from allocpool.campaign.schedule import Progress, Question, Verdicts, decisions_of, verdicts_of
from allocpool.campaign.study import Machine, Planned, Study, StudyProfile
from allocpool.decisions import Decision
from allocpool.errors import UserError, in_one_line
from allocpool.machine.host import NAME, Host, read_host, usable_cores
from allocpool.trial.launch import Launcher, cell_of
from allocpool.trial.noise import PaceMeter
from allocpool.trial.record import RESULT, SPEC, TrialRecord, read_record, unavailable_record, unreadable
from allocpool.trial.runner import Task, alone, run_trial, shuffled_in_blocks, task_for
from allocpool.trial.spec import TrialSpec

SHOW_ONLY = "ALLOCPOOL_SHOW_ONLY"
"""Set in the environment of notebooks that are to show what there is, and to measure nothing."""
_FACTS = ("strategy", "case", "bytes", "touch")
"""Of a spec, in addition to its configuration, as far as it has them."""


@dataclass(frozen=True)
class CampaignStatus:
    """How far a campaign is."""

    planned: int
    """Those that a schedule has added are among them."""
    finished: int
    """Trials with a record, whatever their outcome."""
    failed: int
    """Of these, the ones whose status is not ok."""
    unavailable: int
    """Planned trials that can't run on this machine; each has its reason in the tables."""
    missing: int
    """Trials that can run and have no record yet."""
    repeated: int
    """Trials that were run again because they had been disturbed."""
    seconds: float
    """How long this call measured."""
    primary: Verdicts
    """On the study's primary questions."""
    secondary: Verdicts
    """On its others."""

    @property
    def complete(self) -> bool:
        """Whether nothing is left to run."""
        return self.missing == 0


class Campaign:
    """One study under one profile."""

    def __init__(self, study: Study[Any], profile: StudyProfile, launcher: Launcher | None = None) -> None:
        self.study = study
        self.profile = profile
        self._launcher = launcher or Launcher()
        self._records: dict[str, tuple[tuple[int, int], TrialRecord | None]] = {}
        self._looked: dict[str, list[TrialRecord]] | None = None
        self._made: tuple[list[TrialRecord], dict[str, pd.DataFrame]] | None = None
        """The latest tables, and of which records: a page asks for what its run has just made."""
        self.retries_failed = False
        """Whether trials that did not end well get a second attempt, as those that were disturbed do."""

    @cached_property
    def planned(self) -> list[Planned]:
        """The plan, with the trials that this machine can't run marked."""
        return self._marked(self.plan())

    def _marked(self, plan: Iterable[Planned]) -> list[Planned]:
        return [item if item.unavailable else Planned(item.spec, self._launcher.refusal(item.spec)) for item in plan]

    def plan(self, machine: Machine | None = None) -> list[Planned]:
        """Return the plan for a machine with so many processors as this one, unless given, whatever else this one has.

        Raises:
            UserError: a setting allows no trial; names the trial's key that does not fit.
        """
        try:
            planned: list[Planned] = self.study.plan(self.profile, machine or self.machine())
        except ValidationError as error:
            named = f"study {self.study.name}, profile {self.profile.profile}"
            raise UserError(f"{named}: no trial fits: {in_one_line(error)}") from None
        return planned

    def machine(self) -> Machine:
        """Return what plans may depend on of the machine that measures."""
        return Machine(cores=usable_cores())

    @property
    def where(self) -> str:
        """What goes before a bar's title where several machines measure."""
        return ""

    @cached_property
    def host(self) -> Host:
        """This machine."""
        return read_host()

    @cached_property
    def tasks(self) -> list[Task]:
        """The trials that can run here, in plan order, named; starts and builds nothing."""
        raw = home.raw_dir()
        return [task_for(item.spec, self._launcher, self.host, raw) for item in self.planned if not item.unavailable]

    @cached_property
    def _in_block(self) -> dict[tuple[TrialSpec, int], Task]:
        """The trials of cells that were asked for, by their blocks, and those of the plan; see `_blocks`."""
        if self.study.adaptive is not None:
            return {}
        return {(cell_of(task.spec), task.spec.block): task for task in self.tasks}

    @cached_property
    def questions(self) -> list[Question[TrialSpec]]:
        """What the study decides, of what can run here."""
        possible = {item.spec for item in self.planned if not item.unavailable}
        return [
            replace(question, family=self.study.name, effect=self.profile.effect_that_matters)
            for question in dict.fromkeys(self.study.questions(self.profile, self.machine()))
            if possible.issuperset(question.cells)
        ]

    @property
    def cells(self) -> list[TrialSpec]:
        """The cells of its questions, each once."""
        return list(dict.fromkeys(cell for question in self.questions for cell in question.cells))

    @property
    def is_sequential(self) -> bool:
        """Whether open questions get further blocks."""
        return self.profile.schedule == "sequential"

    @property
    def _adds(self) -> bool:
        """Whether records may be of trials that the plan does not name."""
        return self.is_sequential or self.study.adaptive is not None

    def run(self, minutes: float | None = None) -> CampaignStatus:
        """Measure what has no record yet, with a progress bar.

        A fixed plan is run as a whole: in random order inside blocks; then again, once and in the same order, what was
        disturbed, up to the profile's share of all trials. Only then, because what disturbs a trial mostly goes on for
        longer than it; and not all, because a machine that disturbs most trials is no quieter in another attempt.

        A sequential one is run by `sequential.measure`, ``minutes`` in all with what earlier runs have measured;
        where none are given, up to the end of the first round.

        Raises:
            UserError: a build failed, another campaign is measuring, or a fixed plan was given minutes.
        """
        return run_together([self], minutes)[0]

    def run_plan(self) -> None:
        """Run a fixed plan."""
        self.prepare()
        due = {task.trial_id: task for task in self._waiting()}
        if not due and next(self._placed(), None) is None:
            return
        order = shuffled_in_blocks(((task.spec.block, task) for task in self.tasks), self.profile.order_seed)
        meter = self.pace_meter()
        done = sum(self._record(task) is not None for task in self.all_tasks())
        with self.alone(), self._bar(len(self.first_round_specs()), done) as bar:
            for which in (1, 2):
                block = None
                for task in order:
                    attempt = self._due(task) if task.trial_id in due else None
                    if attempt is None or attempt.attempt != which:
                        continue
                    if self._is_repeat(task) and not self._repeats_left():
                        continue
                    if self.questions and task.spec.block != block:
                        block = task.spec.block
                        bar.set_postfix_str(sequential.counts_in_words(*self.verdicts()))
                    self.measure(attempt, meter, bar)
                    if which == 1:
                        bar.update()
            block = None
            for task in self._placed():
                if task.spec.block != block:
                    block = task.spec.block
                    bar.set_postfix_str(sequential.counts_in_words(*self.verdicts()))
                self.measure(task, meter, bar)
                bar.update()

    def check_conditions(self) -> None:
        """Check that this machine is set up as when the records of this campaign were taken, in what is in no trial's
        id and moves its figures.

        Raises:
            UserError: it is not; names what to set.
        """
        for _, record in self.measured():
            for what, then, now, remedy in (
                (
                    "with transparent huge pages on",
                    record.host.transparent_huge_pages,
                    self.host.transparent_huge_pages,
                    "set /sys/kernel/mm/transparent_hugepage/enabled as it was",
                ),
                (
                    "on the processor",
                    record.host.processor,
                    self.host.processor,
                    f"name this machine with {NAME}",
                ),
            ):
                if None not in (then, now) and then != now:
                    raise UserError(
                        f"study {self.study.name}: its trials so far ran {what} {then!r}, and now it is {now!r}: "
                        f"{remedy}, or set ALLOCPOOL_DATA to a folder for trials of their own"
                    )

    def _to_place(self) -> list[TrialSpec]:
        """Of a fixed plan, the trials that its study has yet to place: how many there are is known, and about where."""
        if self.is_sequential or self.study.adaptive is None:
            return []
        there = {task.spec for task in self.all_tasks()}
        return [spec for spec in self.first_round_specs() if spec not in there]

    def _placed(self) -> Iterator[Task]:
        """Yield the trials without a record that the study places, up to those that its questions ask for first, a
        block of all cells in random order after the other; which they are is found when their turn comes."""
        if self.study.adaptive is None:
            return
        fewest = {cell: question.fewest for question in self.questions for cell in question.cells}
        for block in range(1, max(fewest.values(), default=0)):
            cells = [cell for cell in fewest if block < fewest[cell]]
            random.Random(f"{self.profile.order_seed}/{block}").shuffle(cells)
            for cell in cells:
                task = next(itertools.islice(self._blocks(cell), block, None), None)
                if task is not None and self._record(task) is None:
                    yield task

    def measure(self, task: Task, meter: PaceMeter, bar: Any) -> TrialRecord:
        """Run one trial now; print what went wrong above the bar."""
        record = self._run(task, meter)
        if record.status != "ok":
            bar.write(f"{record.trial_id} {record.status}: {record.reason}")
        if record.disturbed:
            bar.write(f"{record.trial_id} disturbed: {record.disturbed}")
        return record

    def _run(self, task: Task, meter: PaceMeter) -> TrialRecord:
        launch = self._launcher.launch_of(task.spec)
        return run_trial(task, launch, self.host, meter, self.profile.disturbed_beyond)

    def alone(self) -> AbstractContextManager[None]:
        """Hold the machine that measures, as `allocpool.trial.runner.alone` does."""
        return alone(home.raw_dir())

    def pace_meter(self) -> PaceMeter:
        """Return what reads the machine's pace between trials."""
        return self._launcher.pace_meter()

    def trials_of(self, cell: TrialSpec) -> list[Task]:
        """Return the trials of a question's cell: what is planned, and what a schedule has added to it, as records
        show."""
        return list(itertools.takewhile(self._is_part, self._blocks(cell)))

    def next_trial_of(self, cell: TrialSpec) -> Task | None:
        """Return the first trial of a question's cell that has no record; None where its study gives the cell up."""
        return next((task for task in self._blocks(cell) if self._record(task) is None), None)

    def _is_part(self, task: Task) -> bool:
        return task.trial_id in self._planned_ids or (self._adds and self._record(task) is not None)

    def _blocks(self, cell: TrialSpec) -> Iterator[Task]:
        """Yield the cell's trial in one block after the other: as a plan with more blocks would have it, without an
        end, or where the study places it by what the blocks before have found, until it gives the cell up."""
        earlier: list[TrialRecord] = []
        raw = home.raw_dir()
        for block in itertools.count():
            known = len(earlier) == block
            task = self._in_block.get((cell, block))
            if task is None:
                if self.study.adaptive is None:
                    spec = cell.model_copy(update={"block": block})
                else:
                    placed = self.study.adaptive(self.profile, cell, block, earlier)
                    if placed is None:
                        return
                    spec = placed
                task = task_for(spec, self._launcher, self.host, raw)
                if self.study.adaptive is None or known:
                    self._in_block[cell, block] = task
            yield task
            if self.study.adaptive and (record := self._record(task)) is not None:
                earlier.append(record)

    @cached_property
    def _planned_ids(self) -> set[str]:
        return {task.trial_id for task in self.tasks}

    def all_tasks(self) -> list[Task]:
        """Return what is planned, and what a schedule has added to it."""
        added = (task for cell in self.cells for task in self.trials_of(cell)) if self._adds else ()
        return [*self.tasks, *(task for task in added if task.trial_id not in self._planned_ids)]

    def progress(self) -> Progress[TrialSpec]:
        """Return the costs of the trials of its questions' cells, and how many have none."""
        costs: dict[TrialSpec, list[Any]] = {}
        failures: dict[TrialSpec, int] = {}
        for cell in self.cells:
            ended = [attempts[-1] for task in self.trials_of(cell) if (attempts := self._attempts(task))]
            figures = [self.study.cost(record) if record.status == "ok" else None for record in ended]
            costs[cell] = [figure for figure in figures if figure is not None]
            failures[cell] = len(ended) - len(costs[cell])
        return Progress(costs, failures)

    def decisions(self) -> list[Decision]:
        """Return the verdict on each question so far."""
        return decisions_of(self.questions, self.progress())

    def verdicts(self) -> tuple[Verdicts, Verdicts]:
        """Return how many of its primary, and of its other questions ended how."""
        return verdicts_of(self.questions, self.decisions())

    def questions_table(self) -> pd.DataFrame:
        """Return one row per question: its sides, whether it is primary, the verdict so far, a's cost over b's with its
        interval, trials of the smaller side, about how many more it takes; the interval's level, the smallest ratio
        that matters, and a name that the question has on every host."""
        rows = [
            {
                **dict(zip("ab", _sides_of(question), strict=True)),
                "primary": question.primary,
                "verdict": found.verdict, "ratio": found.ratio, "low": found.low, "high": found.high, "n": found.n,
                "blocks_needed": found.blocks_needed, "level": found.level, "effect": question.effect,
                "question": _name_of(question),
            }
            for question, found in zip(self.questions, self.decisions(), strict=True)
        ]  # fmt: skip
        return tidy.frame(rows, store.QUESTIONS)

    def first_round_specs(self) -> list[TrialSpec]:
        """Return all that is planned and can run here; where a campaign is sequential, or its study places trials, also
        the first trials of its questions."""
        specs = [item.spec for item in self.planned if not item.unavailable]
        asked = [question for question in self.questions if question.comes_first]
        fewest = {cell: question.fewest for question in asked for cell in question.cells}
        if self._adds:
            specs += [task.spec for cell, n in fewest.items() for task in itertools.islice(self._blocks(cell), n)]
        return list(dict.fromkeys(specs))

    def repeats(self) -> list[Task]:
        """Return the second attempts that are due and that the profile allows."""
        due = [task for task in self.all_tasks() if (attempt := self._due(task)) and attempt.attempt == 2]
        repeats = [task for task in due if self._is_repeat(task)]
        allowed = repeats[: self._repeats_left()] if repeats else []
        return [task.again() for task in due if task in allowed or not self._is_repeat(task)]

    def _waiting(self) -> list[Task]:
        """Return the trials that wait for an attempt. Any of them may be disturbed, and wait for another then."""
        waiting = [task for task in self.tasks if self._due(task)]
        return waiting if self._repeats_left() else [task for task in waiting if not self._is_repeat(task)]

    def _is_repeat(self, task: Task) -> bool:
        """Return whether the trial has ended well and waits for another attempt only because it was disturbed."""
        first = self._record(task)
        return first is not None and not self._is_retried(first)

    def _repeats_left(self) -> int:
        """Return how many more second attempts the profile's share of all trials allows."""
        tasks = self.all_tasks()
        allowed = math.ceil(self.profile.repeated_share * len(tasks))
        return max(0, allowed - sum(self._record(task.again()) is not None for task in tasks))

    def _due(self, task: Task) -> Task | None:
        """Return the attempt that the trial waits for; None where it has had all that it gets."""
        first = self._record(task)
        if first is None:
            return task
        again = first.disturbed is not None and self.profile.disturbed_beyond is not None
        again |= self._is_retried(first)
        return task.again() if again and self._record(task.again()) is None else None

    def _is_retried(self, first: TrialRecord) -> bool:
        return self.retries_failed and first.status != "ok"

    def prepare(self) -> None:
        """Try the flags of the trials that have not run; what a runtime refuses is then planned as impossible here."""
        self._launcher.prepare(task.spec for task in self.tasks if self._record(task) is None)
        for name in ("planned", "tasks", "questions", "_planned_ids", "_in_block"):
            self.__dict__.pop(name, None)
        self._launcher.build(task.spec for task in self.tasks if self._due(task))

    def _bar(self, total: int, done: int) -> Any:
        title = f"{self.where}{self.study.name} ({self.profile.profile})"
        # A terminal is redrawn; a log file gets a line's worth of progress now and then.
        seldom_s = 0.1 if sys.stderr.isatty() else 10.0
        return tqdm(
            total=total,
            initial=done,
            desc=title,
            unit="trial",
            dynamic_ncols=True,
            smoothing=0.05,
            mininterval=seldom_s,
        )

    def status(self, seconds: float = 0.0) -> CampaignStatus:
        """Return how far the campaign is, without running anything."""
        tasks, records, to_place = self.all_tasks(), self.records(), len(self._to_place())
        unavailable = sum(item.unavailable is not None for item in self.planned)
        primary, secondary = self.verdicts()
        return CampaignStatus(
            planned=len(tasks) + to_place + unavailable,
            finished=len(records),
            failed=sum(record.status != "ok" for record in records),
            unavailable=unavailable,
            missing=len(tasks) + to_place - len(records),
            repeated=len(self._stood_in_for()),
            seconds=seconds,
            primary=primary,
            secondary=secondary,
        )

    def plans_any_of(self, specs: Set[str]) -> bool:
        """Return whether a trial of the first block is one of ``specs``, `specs_on_record`; names no trial, so it is
        quicker than `status`."""
        first = (item.spec for item in self.plan() if item.spec.block == 0 and not item.unavailable)
        return any(_in_json(spec.model_dump(mode="json")) in specs for spec in first)

    def missing_specs(self) -> list[TrialSpec]:
        """Return the trials that can run and have no record yet."""
        return [*(task.spec for task in self.all_tasks() if not self._attempts(task)), *self._to_place()]

    def records(self) -> list[TrialRecord]:
        """Return the records of the trials that took place, in plan order: of two attempts the one that counts."""
        return [attempts[-1] for task in self.all_tasks() if (attempts := self._attempts(task))]

    def _stood_in_for(self) -> list[TrialRecord]:
        """Return the attempts that another one stands in for, as tables are to see them."""
        return [stood_in_for(*attempts) for task in self.all_tasks() if len(attempts := self._attempts(task)) == 2]

    def _attempts(self, task: Task) -> list[TrialRecord]:
        """Return the attempts at a trial, last the one that counts: the second, unless only the first ended well."""
        if self._looked is None:
            return self._attempts_now(task)
        if task.trial_id not in self._looked:
            self._looked[task.trial_id] = self._attempts_now(task)
        return self._looked[task.trial_id]

    @contextmanager
    def one_look(self) -> Iterator[None]:
        """Meanwhile the store is as it was when a trial was first asked for: each is looked at once."""
        outer, self._looked = self._looked, {} if self._looked is None else self._looked
        try:
            yield
        finally:
            self._looked = outer

    def _attempts_now(self, task: Task) -> list[TrialRecord]:
        attempts = [record for each in (task, task.again()) if (record := self._record(each)) is not None]
        return sorted(attempts, key=lambda record: (record.status == "ok", record.attempt))

    def measured(self) -> list[tuple[TrialSpec, TrialRecord]]:
        """Return every attempt that took place, with what it ran."""
        attempts = ((task.spec, each) for task in self.all_tasks() for each in (task, task.again()))
        return [(spec, record) for spec, each in attempts if (record := self._record(each)) is not None]

    def has_run(self, task: Task) -> bool:
        """Return whether the trial has a record."""
        return self._record(task) is not None

    def _record(self, task: Task) -> TrialRecord | None:
        """Return the record of a trial, read again only when its file has changed."""
        try:
            about = os.stat(f"{task.folder}/{RESULT}")
        except OSError:
            return None
        version = (about.st_mtime_ns, about.st_size)
        kept = self._records.get(task.trial_id)
        if kept is None or kept[0] != version:
            kept = self._records[task.trial_id] = (version, _read_whole_record(task, self.study, self.host))
        return kept[1]

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return the tidy tables of what was measured so far, checked and written to ``data/tidy/<profile>/<study>/``.

        Of a campaign that is only shown, and that nothing was measured of here, those that are stored: the shipped
        ones.
        """
        if self._shown is not None:
            return self._shown[0]
        unavailable = [
            unavailable_record(item.spec, item.unavailable, self.host) for item in self.planned if item.unavailable
        ]
        with self.one_look():
            found = [*self.records(), *self._stood_in_for(), *unavailable]
            if self._made is not None and self._made[0] == found and (self.tidy_folder / "provenance.json").exists():
                return self._made[1]
            tables = tidy.tables_of(self.study, found)
            if os.environ.get(SHOW_ONLY) and not self.records():  # a page leaves no tables of what nobody measured
                return tables
            try:
                tidy.write_tables(self.tidy_folder, {**tables, "questions": self.questions_table()})
                store.write_provenance(self.tidy_folder, self.provenance())
            except OSError as error:
                if error.errno not in (errno.EROFS, errno.EACCES):
                    raise
                print(f"allocpool: {self.tidy_folder} takes no files: tables are shown, not kept", file=sys.stderr)
        self._made = (found, tables)
        return tables

    @cached_property
    def _shown(self) -> tuple[dict[str, pd.DataFrame], dict[str, Any]] | None:
        """What is shown instead of a measurement: stored tables and provenance of a campaign without a record here."""
        if not os.environ.get(SHOW_ONLY) or self.records():
            return None
        tables, provenance = store.stored(self.study.name, self.profile.profile)
        return None if provenance is None else (tables, provenance)

    @cached_property
    def taken_under(self) -> StudyProfile:
        """The settings with which what is shown was measured: those told beside stored tables that are shown instead,
        where they are settings of today, else the profile's."""
        if self._shown is None:
            return self.profile
        return profiles.told_by(self.study, self._shown[1]) or self.profile

    @property
    def effect(self) -> float:
        """The smallest ratio that matters to what is shown: by the profile, or by that of the stored tables which are
        shown instead."""
        shown = self._shown
        return self.profile.effect_that_matters if shown is None else store.effect_told_by(shown[1])

    @property
    def tidy_folder(self) -> Path:
        """Where the tables of this campaign are written."""
        return home.tidy_dir() / self.profile.profile / self.study.name

    def plan_summary(self) -> pd.DataFrame:
        """Return one row per configuration of the whole study: planned or not, and why not; by the settings with which
        what is shown was taken."""
        taken = self.taken_under
        same = taken is self.profile
        planned = self.planned if same else self._marked(self.study.plan(taken, self.machine()))
        return self.study.catalogue(taken, planned)

    def planned_cells(self) -> pd.DataFrame:
        """Return one row per planned configuration: its trials over all blocks, their expected seconds, the memory of
        one, and why it can't run."""
        rows: dict[tuple[str, ...], dict[str, Any]] = {}
        for item in self.planned:
            configuration = item.spec.cell_name()
            counter = getattr(item.spec, "counter", None)
            cell = {
                "mode": f"{item.spec.mode} {counter}" if counter else item.spec.mode,
                "configuration": configuration,
            }
            cell |= {name: getattr(item.spec, name, "") for name in ("strategy", "case")}
            nothing = {"trials": 0, "expected_s": 0.0, "memory_mb": 0, "unavailable": None}
            row = rows.setdefault(tuple(cell.values()), {**cell, **nothing})
            if item.unavailable:
                row["unavailable"] = item.unavailable
            else:
                row["trials"] += 1
                row["expected_s"] += item.spec.expected_seconds()
                row["memory_mb"] = max(row["memory_mb"], item.spec.needs().most_mb)
        return pd.DataFrame(list(rows.values()))

    def provenance(self) -> dict[str, Any]:
        """Where the numbers come from: machine, code, profile, outcomes; and of stored ones the settings that are
        others than the profile's, in words. Plain data."""
        if self._shown is not None:
            taken, asked = (each.model_dump(mode="json") for each in (self.taken_under, self.profile))
            return {**self._shown[1], "other_settings": profiles.other_settings(taken, asked)}
        tasks, records = self.all_tasks(), self.records()
        started = sorted(record.started_utc for record in records)
        return {
            "study": self.study.name,
            "profile": self.profile.model_dump(mode="json"),
            "host": self.host.model_dump(mode="json"),
            "host_id": self.host.fingerprint(),
            "git_commits": sorted({record.host.git_commit or "unknown" for record in records}),
            "code_hashes": sorted({record.launch.code_hash for record in records}),
            "runtimes": sorted({record.launch.jvm.version for record in records if record.launch.jvm}),
            "compilers": sorted(
                {record.launch.native.compiler for record in records if record.launch.native}
                | {record.launch.jvm.compiler for record in records if record.launch.jvm}
            ),
            "first_trial_utc": started[0] if started else None,
            "last_trial_utc": started[-1] if started else None,
            "planned": len(tasks) + sum(item.unavailable is not None for item in self.planned),
            "unavailable": dict(Counter(item.unavailable for item in self.planned if item.unavailable)),
            "missing": len(tasks) - len(records),
            "statuses": dict(Counter(record.status for record in records)),
            "repeated": len(self._stood_in_for()),
            "measured_seconds": sum(record.wall_s for record in (*records, *self._stood_in_for())),
        }


def _name_of(question: Question[TrialSpec]) -> str:
    sides = [side.model_dump(mode="json", exclude={"timeout_s"}) for side in question.cells]
    return hashlib.sha256(json.dumps([*sides, question.about], sort_keys=True).encode()).hexdigest()[:16]


def _sides_of(question: Question[TrialSpec]) -> list[str]:
    """Return what its sides run, each by another name: the second one with what is changed about it, where that is no
    part of its name."""
    sides = [_cell_name(side) for side in question.cells]
    if sides[0] == sides[1]:
        one, other = (side.model_dump(mode="json") for side in question.cells)
        changed = [f"{key} {other[key]}, not {one.get(key)}" for key in other if other[key] != one.get(key)]
        sides[1] = f"{sides[1]} with {'; '.join(changed)}"
    return [" ".join(filter(None, (side, question.about))) for side in sides]


def _cell_name(spec: TrialSpec) -> str:
    found = spec.cell_name()
    facts = (str(value) for name in _FACTS if (value := getattr(spec, name, None)) not in (None, "none"))
    unsaid = (fact for fact in facts if fact not in found.replace(",", "").split())
    return " ".join((found, *unsaid))


def _read_whole_record(task: Task, study: Study[Any], host: Host) -> TrialRecord | None:
    """Return a trial's record; None, and a line on stderr, where it is of another trial or host, or not what its mode
    leaves."""
    folder = task.folder
    record = read_record(folder)
    if record is None:
        return None
    try:
        if {**record.spec, "timeout_s": None} != {**task.spec.model_dump(mode="json"), "timeout_s": None}:
            raise UserError("what it ran is another trial")
        if record.host.fingerprint() != host.fingerprint():
            raise UserError(f"it was measured on host {record.host.fingerprint()}, and this is {host.fingerprint()}")
        tidy.read_trial(record, mode_named(record.spec.get("mode")).measurement)
        tidy.check_cost(record, study)
    except UserError as error:
        unreadable(folder / RESULT, str(error))
        return None
    return record


def stood_in_for(record: TrialRecord, by: TrialRecord) -> TrialRecord:
    """Return the record of an attempt that another one stands in for: whatever its outcome was, no figure is to count
    it."""
    outcome = record.status if record.reason is None else f"{record.status}: {record.reason}"
    why = f"{record.disturbed or outcome}; trial {by.trial_id} stands in for it"
    return record.model_copy(update={"status": "disturbed", "reason": why})


def open_study(
    name: str, profile: str = "quick", overrides: Mapping[str, Any] | None = None, launcher: Launcher | None = None
) -> Campaign:
    """Return a study under a profile, with overrides for single settings; starts nothing. Campaigns that are opened
    together may share what a launcher finds out of this machine.

    Raises:
        UserError: an unknown study, profile, key or value; names the valid ones.
    """
    study = study_named(name)
    return Campaign(study, profiles.read(study, profile, overrides or {}), launcher)


def specs_on_record() -> Set[str]:
    """Return what was ever run here, whatever its code was: the specs of all folders of trials, as JSON."""
    found = set()
    for path in home.raw_dir().glob(f"*/{SPEC}"):
        with suppress(OSError, ValueError, LookupError, TypeError):  # damage is `allocpool doctor --data`'s
            found.add(_in_json(json.loads(path.read_bytes())["spec"]))
    return found


def _in_json(spec: Mapping[str, Any]) -> str:
    return json.dumps(spec, sort_keys=True)


def all_of_profile(profile: str) -> list[Campaign]:
    """Return every study of the profile's findings that it has settings for, in the order of the studies.

    Raises:
        UserError: no such profile; names those that there are.
    """
    folder = home.home() / "papermill-configs" / profile
    launcher = Launcher()
    return [
        open_study(name, profile, launcher=launcher)
        for name in profiles.studies_of(profile)
        if (folder / f"{study_named(name).notebook}.yaml").exists()
    ]


def run_together(campaigns: Sequence[Campaign], minutes: float | None = None) -> list[CampaignStatus]:
    """Run several campaigns, as `Campaign.run` runs one: fixed plans one after the other, whatever they take; then
    sequential ones together, as one pool of questions that shares what fixed plans leave of the minutes."""
    took_s = measure_together(campaigns, minutes)
    for each in campaigns:
        each.tables()
    return [each.status(took_s.get(each.study.name, 0.0)) for each in campaigns]


def measure_together(campaigns: Sequence[Campaign], minutes: float | None = None) -> dict[str, float]:
    """Measure as `run_together` does, and make no tables; what the trials of each study took now, seconds."""
    if minutes is not None:
        sequential.require_sequential(campaigns)
    took_s: dict[str, float] = {}
    if not os.environ.get(SHOW_ONLY):
        for each in campaigns:
            each.check_conditions()
        fixed = [each for each in campaigns if not each.is_sequential]
        for each in fixed:
            begun_s = time.monotonic()
            each.run_plan()
            took_s[each.study.name] = time.monotonic() - begun_s
        pooled = [each for each in campaigns if each.is_sequential]
        left_s = None if minutes is None else 60 * minutes - sum(map(sequential.seconds_on_record, fixed))
        measured_s = sequential.measure(pooled, left_s)
        took_s |= dict(zip((each.study.name for each in pooled), measured_s, strict=True))
    return took_s
