"""A campaign: one study under one profile on this machine. Notebooks and the command line use it."""

from __future__ import annotations

import errno
import hashlib
import itertools
import json
import math
import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd
from pydantic import ValidationError

from allocpool import home
from allocpool.campaign import profiles, sequential, store, tidy
from allocpool.campaign.registry import mode_named, study_named
from allocpool.campaign.schedule import Progress, Question, Verdicts, decisions_of, verdicts_of
from allocpool.campaign.study import Machine, Planned, Study, StudyProfile
from allocpool.decisions import Decision, Rule, judged_by
from allocpool.errors import UserError, in_one_line
from allocpool.files import write_atomically
from allocpool.machine.host import NAME, Host, read_host, usable_cores
from allocpool.machine.memory import usable_memory_mb
from allocpool.trial.launch import Launcher, cell_of
from allocpool.trial.noise import PaceMeter
from allocpool.trial.record import RESULT, TrialRecord, read_record, unavailable_record, unreadable
from allocpool.trial.runner import Task, alone, run_trial, task_for
from allocpool.trial.spec import TrialSpec

SHOW_ONLY = "ALLOCPOOL_SHOW_ONLY"
"""Set in the environment of notebooks that show what there is and measure nothing."""
_FACTS = ("strategy", "case", "bytes", "touch")
"""Fields of a spec that name a cell in addition to its configuration."""


@dataclass(frozen=True)
class CampaignStatus:
    """How far a campaign is.

    Attributes:
        planned: trials of the plan, and those that a schedule has added.
        finished: trials with a record, whatever their outcome; ``failed`` of these are not ok.
        unavailable: planned trials that can't run on this machine; each has its reason in the tables.
        missing: trials that can run and have no record yet.
        repeated: trials that were run again because they had been disturbed.
        seconds: what trials took in this call.
        primary, secondary: verdicts on the study's primary, and other questions.
    """

    planned: int
    finished: int
    failed: int
    unavailable: int
    missing: int
    repeated: int
    seconds: float
    primary: Verdicts
    secondary: Verdicts

    @property
    def complete(self) -> bool:
        return self.missing == 0


class Campaign:
    """One study under one profile.

    Attributes:
        retries_failed: whether trials that did not end well get a second attempt, as disturbed ones do.
        where: what precedes a bar's title where several machines measure.
    """

    where = ""

    def __init__(self, study: Study[Any], profile: StudyProfile, launcher: Launcher | None = None) -> None:
        self.study = study
        self.profile = profile
        self.retries_failed = False
        self._launcher = launcher or Launcher()
        self._records: dict[str, tuple[tuple[int, int], TrialRecord | None]] = {}
        self._made: tuple[list[TrialRecord], dict[str, pd.DataFrame]] | None = None
        """The latest tables, and of which records: a page asks for what its run has just made."""

    @cached_property
    def planned(self) -> list[Planned]:
        """The plan, with the trials that this machine can't run marked."""
        return self._marked(self.plan())

    def _marked(self, plan: Iterable[Planned]) -> list[Planned]:
        return [item if item.unavailable else Planned(item.spec, self._launcher.refusal(item.spec)) for item in plan]

    def plan(self) -> list[Planned]:
        """Return the plan for a machine like this one; UserError, which names the key, where no trial fits."""
        try:
            planned: list[Planned] = self.study.plan(self.profile, self.machine())
        except ValidationError as error:
            named = f"study {self.study.name}, profile {self.profile.profile}"
            raise UserError(f"{named}: no trial fits: {in_one_line(error)}") from None
        return planned

    def machine(self) -> Machine:
        """Return what plans may depend on of the machine that measures."""
        return Machine(usable_cores(), usable_memory_mb())

    @cached_property
    def host(self) -> Host:
        return read_host()

    @cached_property
    def tasks(self) -> list[Task]:
        """The trials that can run here, in plan order, named; starts and builds nothing."""
        raw = home.raw_dir()
        return [task_for(item.spec, self._launcher, self.host, raw) for item in self.planned if not item.unavailable]

    @cached_property
    def _in_block(self) -> dict[tuple[TrialSpec, int], Task]:
        """The trials of the plan, and of cells that were asked for, by cell and block; see `_blocks`."""
        return {} if self.study.adaptive else {(cell_of(task.spec), task.spec.block): task for task in self.tasks}

    @cached_property
    def questions(self) -> list[Question[TrialSpec]]:
        """The study's questions whose cells can run here."""
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
        return self.profile.schedule == "sequential"

    @property
    def _adds(self) -> bool:
        """Whether records may be of trials that the plan does not name."""
        return self.is_sequential or self.study.adaptive is not None

    def run(self, minutes: float | None = None) -> CampaignStatus:
        """Measure what has no record yet; see `run_together`."""
        return run_together([self], minutes)[0]

    def check_conditions(self) -> None:
        """Check that what moves figures and is in no trial's id is as when the records of this campaign were taken;
        UserError, with what to set, where it is not."""
        remedies = {
            "transparent_huge_pages": "set /sys/kernel/mm/transparent_hugepage/enabled as it was",
            "processor": f"name this machine with {NAME}",
        }
        for field, remedy in remedies.items():
            now = getattr(self.host, field)
            for then in {getattr(record.host, field) for _, record in self.measured()} - {None, now}:
                if now is not None:
                    raise UserError(
                        f"study {self.study.name}: {field} of its trials so far is {then!r}, and now it is {now!r}: "
                        f"{remedy}, or set ALLOCPOOL_DATA to a folder for trials of their own"
                    )

    def _to_place(self) -> list[TrialSpec]:
        if self.is_sequential or self.study.adaptive is None:
            return []
        there = {task.spec for task in self.all_tasks()}
        return [spec for spec in self.first_round_specs() if spec not in there]

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
        """Hold the machine that measures; see `allocpool.trial.runner.alone`."""
        return alone(home.raw_dir())

    def pace_meter(self) -> PaceMeter:
        return self._launcher.pace_meter()

    def trials_of(self, cell: TrialSpec) -> list[Task]:
        """Return the trials of a question's cell: planned ones, and those that a schedule has added, by the records."""

        def counts(task: Task) -> bool:
            return task.trial_id in self._planned_ids or (self._adds and self.has_run(task))

        return list(itertools.takewhile(counts, self._blocks(cell)))

    def next_trial_of(self, cell: TrialSpec) -> Task | None:
        """Return the first trial of a question's cell that has no record; None where its study gives the cell up."""
        return next((task for task in self._blocks(cell) if not self.has_run(task)), None)

    def _blocks(self, cell: TrialSpec) -> Iterator[Task]:
        """Yield the cell's trial in one block after the other: as a plan with more blocks would have it, without an
        end, or where the study places it by the blocks before, until it gives the cell up."""
        earlier: list[TrialRecord] = []
        for block in itertools.count():
            task = self._in_block.get((cell, block))
            if task is None:
                spec: TrialSpec | None = cell.model_copy(update={"block": block})
                if self.study.adaptive is not None:
                    spec = self.study.adaptive(self.profile, cell, block, earlier)
                if spec is None:
                    return
                task = task_for(spec, self._launcher, self.host, home.raw_dir())
                if self.study.adaptive is None or len(earlier) == block:
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
        paces = tidy.paces_of(self.study, self.records())
        for cell in self.cells:
            ended = [attempts[-1] for task in self.trials_of(cell) if (attempts := self._attempts(task))]
            figures = [self._cost(record, paces) for record in ended]
            costs[cell] = [figure for figure in figures if figure is not None]
            failures[cell] = len(ended) - len(costs[cell])
        return Progress(costs, failures)

    def _cost(self, record: TrialRecord, paces: Mapping[str, float]) -> Any:
        """Return what a trial cost, over the machine's pace around it; None where it did not end well."""
        cost: Any = self.study.cost(record) if record.status == "ok" else None
        return cost / paces[record.trial_id] if record.trial_id in paces else cost

    def decisions(self) -> list[Decision]:
        with judged_by(self.rule):
            return decisions_of(self.questions, self.progress())

    def verdicts(self) -> tuple[Verdicts, Verdicts]:
        """Return how many of its primary, and of its other questions ended how."""
        return verdicts_of(self.questions, self.decisions())

    def questions_table(self) -> pd.DataFrame:
        """Return one row per question, with the columns of `store.QUESTIONS`."""
        rows = []
        for question, found in zip(self.questions, self.decisions(), strict=True):
            a, b = _sides_of(question)
            sides = [side.model_dump(mode="json", exclude={"timeout_s"}) for side in question.cells]
            digest = hashlib.sha256(json.dumps([*sides, question.about], sort_keys=True).encode()).hexdigest()
            own = {"a": a, "b": b, "question": digest[:16]}
            rows.append(tidy.pick(store.QUESTIONS.columns, vars(found), vars(question), own))
        return tidy.frame(rows, store.QUESTIONS)

    def first_round_specs(self) -> list[TrialSpec]:
        """Return the planned trials that can run here; of a sequential campaign, or adaptive study, also the first
        trials of its questions."""
        specs = [item.spec for item in self.planned if not item.unavailable]
        asked = [question for question in self.questions if question.comes_first or not self.is_sequential]
        fewest = {cell: question.fewest for question in asked for cell in question.cells}
        if self._adds:
            specs += [task.spec for cell, n in fewest.items() for task in itertools.islice(self._blocks(cell), n)]
        return list(dict.fromkeys(specs))

    def repeats(self) -> list[Task]:
        """Return the second attempts that are due, disturbed trials up to the profile's share of all: what disturbs
        most trials of a machine won't spare their second attempts."""
        tasks = self.all_tasks()
        left = math.ceil(self.profile.repeated_share * len(tasks)) - sum(self.has_run(task.again()) for task in tasks)
        due = []
        for task in tasks:
            first = self._record(task)
            if first is None or self.has_run(task.again()):
                continue
            if self.retries_failed and first.status != "ok":
                due.append(task.again())
            elif first.disturbed is not None and self.profile.disturbed_beyond is not None and left > 0:
                due.append(task.again())
                left -= 1
        return due

    def prepare(self) -> None:
        """Try the flags of the trials that have not run; what a runtime refuses is then planned as impossible here."""
        self._launcher.prepare(task.spec for task in self.tasks if not self.has_run(task))
        for name in ("planned", "tasks", "questions", "_planned_ids", "_in_block"):
            self.__dict__.pop(name, None)
        new = [task for task in self.tasks if not self.has_run(task)]
        self._launcher.build(task.spec for task in (*new, *self.repeats()))

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

    def missing_specs(self) -> list[TrialSpec]:
        """Return the trials that can run and have no record yet."""
        return [*(task.spec for task in self.all_tasks() if not self._attempts(task)), *self._to_place()]

    def records(self) -> list[TrialRecord]:
        """Return the records of the trials that took place, in plan order: of two attempts the one that counts."""
        return [attempts[-1] for task in self.all_tasks() if (attempts := self._attempts(task))]

    def _stood_in_for(self) -> list[TrialRecord]:
        """Return the attempts that another one stands in for, with a status that no figure counts."""
        found = []
        for task in self.all_tasks():
            if len(attempts := self._attempts(task)) == 2:
                record, by = attempts
                outcome = record.status if record.reason is None else f"{record.status}: {record.reason}"
                why = f"{record.disturbed or outcome}; trial {by.trial_id} stands in for it"
                found.append(record.model_copy(update={"status": "disturbed", "reason": why}))
        return found

    def _attempts(self, task: Task) -> list[TrialRecord]:
        """Return the attempts at a trial, last the one that counts: the second, unless only the first ended well."""
        attempts = [record for each in (task, task.again()) if (record := self._record(each)) is not None]
        return sorted(attempts, key=lambda record: (record.status == "ok", record.attempt))

    def measured(self) -> list[tuple[TrialSpec, TrialRecord]]:
        """Return every attempt that took place, with what it ran."""
        attempts = ((task.spec, each) for task in self.all_tasks() for each in (task, task.again()))
        return [(spec, record) for spec, each in attempts if (record := self._record(each)) is not None]

    def has_run(self, task: Task) -> bool:
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
        """Return the tidy tables of what was measured so far, checked and written to ``data/tidy/<profile>/<study>/``;
        the stored ones of a campaign that is only shown and has no record here."""
        if self._shown is not None:
            return self._shown[0]
        unavailable = [
            unavailable_record(item.spec, item.unavailable, self.host) for item in self.planned if item.unavailable
        ]
        found = [*self.records(), *self._stood_in_for(), *unavailable]
        if self._made is not None and self._made[0] == found and (self.tidy_folder / "provenance.json").exists():
            return self._made[1]
        tables = tidy.tables_of(self.study, found)
        if os.environ.get(SHOW_ONLY) and not self.records():  # a page leaves no tables of what nobody measured
            return tidy.at_one_pace(self.study, tables)
        try:
            tidy.write_tables(self.tidy_folder, {**tables, "questions": self.questions_table()})
            facts = json.dumps(self.provenance(), indent=1, default=str)
            write_atomically(self.tidy_folder / "provenance.json", facts)
        except OSError as error:
            if error.errno not in (errno.EROFS, errno.EACCES):
                raise
            print(f"allocpool: {self.tidy_folder} takes no files: tables are shown, not kept", file=sys.stderr)
        self._made = (found, tidy.at_one_pace(self.study, tables))
        return self._made[1]

    @cached_property
    def _shown(self) -> tuple[dict[str, pd.DataFrame], dict[str, Any]] | None:
        """Stored tables and provenance that are shown where a campaign that is only shown has no record here."""
        if not os.environ.get(SHOW_ONLY) or self.records():
            return None
        tables, provenance = store.stored(self.study.name, self.profile.profile)
        return None if provenance is None else (tables, provenance)

    @cached_property
    def taken_under(self) -> StudyProfile:
        """The settings of what is shown: those of stored tables, where they are valid today, else the profile."""
        if self._shown is not None:
            with suppress(ValidationError, LookupError, TypeError):
                taken: StudyProfile = self.study.profile_model(**self._shown[1]["profile"])
                return taken
        return self.profile

    @property
    def effect(self) -> float:
        """The smallest ratio that matters, by the settings of what is shown."""
        return self.rule.effect

    @property
    def rule(self) -> Rule:
        """What comparisons are judged by, by the settings of what is shown."""
        return store.rule_told_by({"profile": self.profile.model_dump()} if self._shown is None else self._shown[1])

    @property
    def tidy_folder(self) -> Path:
        return home.tidy_dir() / self.profile.profile / self.study.name

    def plan_summary(self) -> pd.DataFrame:
        """Return one row per configuration of the study: planned or not, and why not, by `taken_under`."""
        taken = self.taken_under
        planned = self.planned if taken is self.profile else self._marked(self.study.plan(taken, self.machine()))
        return self.study.catalogue(taken, planned)

    def planned_cells(self) -> pd.DataFrame:
        """Return one row per planned configuration: trials and their expected seconds, memory, and why it can't run."""
        rows = []
        for item in self.planned:
            spec, runs = item.spec, item.unavailable is None
            counter = getattr(spec, "counter", None)
            rows.append({
                "mode": f"{spec.mode} {counter}" if counter else spec.mode, "configuration": spec.cell_name(),
                "strategy": getattr(spec, "strategy", ""), "case": getattr(spec, "case", ""), "trials": int(runs),
                "expected_s": spec.expected_seconds() if runs else 0.0,
                "memory_mb": spec.needs().most_mb if runs else 0, "unavailable": item.unavailable,
            })  # fmt: skip
        cell, sums = ["mode", "configuration", "strategy", "case"], {"trials": "sum", "expected_s": "sum"}
        cells = pd.DataFrame(rows, columns=[*cell, *sums, "memory_mb", "unavailable"])
        return cells.groupby(cell, sort=False, as_index=False).agg({**sums, "memory_mb": "max", "unavailable": "last"})

    def provenance(self) -> dict[str, Any]:
        """Return where the numbers come from as plain data: machine, code, profile, outcomes; with stored ones in words
        the settings that differ from the profile's."""
        if self._shown is not None:
            taken, asked = (each.model_dump(mode="json") for each in (self.taken_under, self.profile))
            return {**self._shown[1], "other_settings": profiles.other_settings(taken, asked)}
        tasks, records, replaced = self.all_tasks(), self.records(), self._stood_in_for()
        started = sorted(record.started_utc for record in records)
        return {
            "study": self.study.name,
            "profile": self.profile.model_dump(mode="json"),
            "host": self.host.model_dump(mode="json"),
            "host_id": self.host.fingerprint(),
            "boots": len({record.host.boot for record in records} - {None}),
            "git_commits": sorted({record.host.git_commit or "unknown" for record in records}),
            "code_hashes": sorted({record.launch.code_hash for record in records}),
            "runtimes": sorted({record.launch.jvm.version for record in records if record.launch.jvm}),
            "compilers": sorted(
                {built.compiler for record in records for built in (record.launch.native, record.launch.jvm) if built}
            ),
            "first_trial_utc": started[0] if started else None,
            "last_trial_utc": started[-1] if started else None,
            "planned": len(tasks) + sum(item.unavailable is not None for item in self.planned),
            "unavailable": dict(Counter(item.unavailable for item in self.planned if item.unavailable)),
            "missing": len(tasks) - len(records),
            "statuses": dict(Counter(record.status for record in records)),
            "repeated": len(replaced),
            "measured_seconds": sum(record.wall_s for record in (*records, *replaced)),
        }


def _sides_of(question: Question[TrialSpec]) -> list[str]:
    """Return the names of both sides; where they are equal, the second one with what is changed."""
    sides = []
    for spec in question.cells:
        name = spec.cell_name()
        facts = (str(value) for fact in _FACTS if (value := getattr(spec, fact, None)) not in (None, "none"))
        sides.append(" ".join((name, *(fact for fact in facts if fact not in name.replace(",", "").split()))))
    if sides[0] == sides[1]:
        one, other = (side.model_dump(mode="json") for side in question.cells)
        changed = [f"{key} {other[key]}, not {one.get(key)}" for key in other if other[key] != one.get(key)]
        sides[1] = f"{sides[1]} with {'; '.join(changed)}"
    return [" ".join(filter(None, (side, question.about))) for side in sides]


def _read_whole_record(task: Task, study: Study[Any], host: Host) -> TrialRecord | None:
    """Return a trial's record; None, and a line on stderr, where it is of another trial or host, or incomplete."""
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


def open_study(
    name: str, profile: str = "quick", overrides: Mapping[str, Any] | None = None, launcher: Launcher | None = None
) -> Campaign:
    """Return a study under a profile, with overrides for single settings; starts nothing. Campaigns that are opened
    together may share a launcher, which keeps what it finds out of this machine.

    Raises:
        UserError: an unknown study, profile, key or value; names the valid ones.
    """
    study = study_named(name)
    return Campaign(study, profiles.read(study, profile, overrides or {}), launcher)


def all_of_profile(profile: str, begun: bool = False) -> list[Campaign]:
    """Return every study of the profile's findings that it has settings for, in the order of the studies; with
    ``begun`` those that were started on this machine. UserError for an unknown profile."""
    settings, tables = home.home() / "papermill-configs" / profile, home.tidy_dir() / profile
    launcher = Launcher()
    return [
        open_study(name, profile, launcher=launcher)
        for name in profiles.studies_of(profile)
        if not begun or (tables / name).is_dir()  # importing and planning all of them takes seconds
        if (settings / f"{study_named(name).notebook}.yaml").exists()
    ]


def run_together(campaigns: Sequence[Campaign], minutes: float | None = None) -> list[CampaignStatus]:
    """Measure what has no record yet, with a progress bar, then what was disturbed once more: fixed plans one after the
    other; then sequential ones as one pool of questions that shares the rest of the minutes.

    Args:
        campaigns: of different studies.
        minutes: total budget of sequential campaigns, earlier runs included; without it the first round.

    Raises:
        UserError: a build failed, another campaign is measuring, or fixed plans only were given minutes.
    """
    took_s = measure_together(campaigns, minutes)
    for each in campaigns:
        each.tables()
    return [each.status(took_s.get(each.study.name, 0.0)) for each in campaigns]


def measure_together(campaigns: Sequence[Campaign], minutes: float | None = None) -> dict[str, float]:
    """Measure as `run_together` does, and make no tables; return what the trials of each study took now, seconds."""
    if minutes is not None:
        sequential.require_sequential(campaigns)
    took_s: dict[str, float] = {}
    if os.environ.get(SHOW_ONLY):
        return took_s
    for each in campaigns:
        each.check_conditions()
    fixed = [each for each in campaigns if not each.is_sequential]
    for each in fixed:
        took_s |= sequential.measure([each])
    left_s = None if minutes is None else 60 * minutes - sum(map(sequential.seconds_on_record, fixed))
    return took_s | sequential.measure([each for each in campaigns if each.is_sequential], left_s)
