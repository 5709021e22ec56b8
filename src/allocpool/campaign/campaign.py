"""A campaign: one study under one profile on this machine. The face that notebooks and the command line use.

>>> study = open_study("batch", profile="smoke")   # doctest: +SKIP
>>> study.run()                                    # doctest: +SKIP
>>> study.tables()["trials"]                       # doctest: +SKIP
"""

from __future__ import annotations

import hashlib
import json
import math
import sys
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd
import yaml
from pydantic import ValidationError
from tqdm import tqdm

from allocpool import home
from allocpool.campaign import tidy
from allocpool.campaign.registry import every_study, mode_named, study_named
from allocpool.campaign.study import PROFILE_NAME, Machine, Planned, Study, StudyProfile
from allocpool.errors import UserError, from_validation, unknown_choice
from allocpool.files import write_atomically
from allocpool.machine.host import Host, read_host, usable_cores
from allocpool.trial.launch import Launcher
from allocpool.trial.record import RESULT, TrialRecord, read_record, unavailable_record, unreadable
from allocpool.trial.runner import Task, alone, run_trial, shuffled_in_blocks, task_for


def profiles() -> tuple[str, ...]:
    """Names of the profiles, one per folder of ``papermill-configs/``, the smallest first."""
    order = ("smoke", "quick", "standard", "article")
    folders = {path.name for path in (home.home() / "papermill-configs").iterdir() if path.is_dir()}
    return (*(name for name in order if name in folders), *sorted(folders - set(order)))


def check_profile(profile: str) -> None:
    """That there is such a profile.

    Raises:
        UserError: there is none; names those that there are.
    """
    if profile not in profiles():
        raise unknown_choice("profile", profile, profiles())


def read_profile(study: Study[Any], profile: str, overrides: Mapping[str, Any]) -> StudyProfile:
    """The profile's YAML with the overrides laid over it, validated.

    An override of None means: as the profile has it. A campaign with other overrides gets a name of its own.

    Raises:
        UserError: no such profile, or a key or a value that is not valid; names the valid ones.
    """
    folder, file = home.home() / "papermill-configs", f"{study.notebook}.yaml"
    valid = [name for name in profiles() if (folder / name / file).exists()]
    if profile not in valid:
        raise unknown_choice(f"profile of study {study.name}", profile, valid)
    if "profile" in overrides:
        keys = sorted(set(study.profile_model.model_fields) - {"profile"})
        raise UserError(f"unknown key 'profile': a profile is named with --profile (valid keys: {', '.join(keys)})")
    settings = _read_settings(folder / profile / file)
    changes = {
        key: value for key, value in overrides.items()
        if value is not None and _plain(value) != _plain(settings.get(key))
    }  # fmt: skip
    if changes:
        digest = hashlib.sha256(json.dumps(changes, sort_keys=True, default=str).encode()).hexdigest()[:6]
        changes["profile"] = f"{profile}-{digest}"
    try:
        profile_settings: StudyProfile = study.profile_model(**{**settings, **changes})
        return profile_settings
    except ValidationError as error:
        raise from_validation(f"study {study.name}, profile {profile}", error, study.profile_model) from None


class _UniqueKeys(yaml.SafeLoader):
    """YAML as it is meant: a key that is given twice is an error, where PyYAML takes the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """PyYAML's hook: the keys of a mapping, each once."""
        seen = set()
        for key, _ in node.value:
            if key.value in seen:
                raise yaml.constructor.ConstructorError(None, None, f"{key.value} is given twice", key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)


def _read_settings(path: Path) -> dict[str, Any]:
    """The settings of a profile's file.

    Raises:
        UserError: it can't be read, or holds no settings; says where.
    """
    try:
        settings = yaml.load(path.read_text(encoding="utf-8"), _UniqueKeys)
    except yaml.MarkedYAMLError as error:
        line = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise UserError(f"{path}{line}: {error.problem}") from None
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise UserError(f"{path} can't be read: {' '.join(str(error).split())}") from None
    if not isinstance(settings, dict) or not all(isinstance(key, str) for key in settings):
        raise UserError(f"{path} holds no settings: write KEY: VALUE, a line each, first profile: {path.parent.name}")
    return settings


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


@dataclass(frozen=True)
class CampaignStatus:
    """How far a campaign is."""

    planned: int
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

    @property
    def complete(self) -> bool:
        """Whether nothing is left to run."""
        return self.missing == 0


class Campaign:
    """One study under one profile."""

    def __init__(self, study: Study[Any], profile: StudyProfile) -> None:
        self.study = study
        self.profile = profile
        self._launcher = Launcher()
        self._records: dict[str, tuple[tuple[int, int], TrialRecord | None]] = {}

    @cached_property
    def planned(self) -> list[Planned]:
        """The plan, with the trials that this machine can't run marked."""
        return [
            item if item.unavailable else Planned(item.spec, self._launcher.refusal(item.spec)) for item in self.plan()
        ]

    def plan(self) -> list[Planned]:
        """The plan for a machine with so many processors as this one, whatever else this one has."""
        planned: list[Planned] = self.study.plan(self.profile, Machine(cores=usable_cores()))
        return planned

    @cached_property
    def host(self) -> Host:
        """This machine."""
        return read_host()

    @cached_property
    def tasks(self) -> list[Task]:
        """The trials that can run here, in plan order, named; starts and builds nothing."""
        raw = home.raw_dir()
        return [task_for(item.spec, self._launcher, self.host, raw) for item in self.planned if not item.unavailable]

    def run(self) -> CampaignStatus:
        """Run what has no record yet, in random order inside blocks, with a progress bar; then again, once and in the
        same order, what was disturbed, up to the profile's share of all trials.

        Only then, because what disturbs a trial mostly goes on for longer than it; and not all, because a machine that
        disturbs most trials is no quieter in another attempt.

        Raises:
            UserError: a build failed, or another campaign is measuring.
        """
        begun_s = time.monotonic()
        self._prepare()
        due = {task.trial_id: task for task in self._waiting()}
        if due:
            launches = {name: self._launcher.launch_of(task.spec) for name, task in due.items()}
            order = shuffled_in_blocks(((task.spec.block, task) for task in self.tasks), self.profile.order_seed)
            meter, limit = self._launcher.pace_meter(), self.profile.disturbed_beyond
            done = sum(self._record(task) is not None for task in self.tasks)
            with alone(home.raw_dir()), self._bar(len(order), done) as bar:
                for which in (1, 2):
                    for task in order:
                        attempt = self._due(task) if task.trial_id in due else None
                        if attempt is None or attempt.attempt != which or (which == 2 and not self._repeats_left()):
                            continue
                        record = run_trial(attempt, launches[task.trial_id], self.host, meter, limit)
                        if which == 1:
                            bar.update()
                        if record.status != "ok":
                            bar.write(f"{record.trial_id} {record.status}: {record.reason}")
                        if record.disturbed:
                            bar.write(f"{record.trial_id} disturbed: {record.disturbed}")
        self.tables()
        return self.status(time.monotonic() - begun_s)

    def _waiting(self) -> list[Task]:
        """The trials that wait for an attempt. Any of them may be disturbed, and wait for another then."""
        waiting = [task for task in self.tasks if self._due(task)]
        return waiting if self._repeats_left() else [task for task in waiting if self._record(task) is None]

    def _repeats_left(self) -> int:
        """How many more second attempts the profile's share of all trials allows."""
        allowed = math.ceil(self.profile.repeated_share * len(self.tasks))
        return max(0, allowed - sum(self._record(task.again()) is not None for task in self.tasks))

    def _due(self, task: Task) -> Task | None:
        """The attempt that the trial waits for; None where it has had all that it gets."""
        first = self._record(task)
        if first is None:
            return task
        again = first.disturbed is not None and self.profile.disturbed_beyond is not None
        return task.again() if again and self._record(task.again()) is None else None

    def _prepare(self) -> None:
        """Try the flags of the trials that have not run; what a runtime refuses is then planned as impossible here."""
        self._launcher.prepare(task.spec for task in self.tasks if self._record(task) is None)
        for name in ("planned", "tasks"):
            self.__dict__.pop(name, None)

    def _bar(self, total: int, done: int) -> Any:
        title = f"{self.study.name} ({self.profile.profile})"
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
        """How far the campaign is, without running anything."""
        records = self.records()
        return CampaignStatus(
            planned=len(self.planned),
            finished=len(records),
            failed=sum(record.status != "ok" for record in records),
            unavailable=sum(item.unavailable is not None for item in self.planned),
            missing=len(self.tasks) - len(records),
            repeated=len(self._stood_in_for()),
            seconds=seconds,
        )

    def records(self) -> list[TrialRecord]:
        """The records of the trials that took place, in plan order: of two attempts the one that counts."""
        return [attempts[-1] for task in self.tasks if (attempts := self._attempts(task))]

    def _stood_in_for(self) -> list[TrialRecord]:
        """The attempts that another one stands in for, as tables are to see them."""
        return [stood_in_for(*attempts) for task in self.tasks if len(attempts := self._attempts(task)) == 2]

    def _attempts(self, task: Task) -> list[TrialRecord]:
        """The attempts at a trial, last the one that counts: the second, unless only the first ended well."""
        attempts = [record for each in (task, task.again()) if (record := self._record(each)) is not None]
        return sorted(attempts, key=lambda record: (record.status == "ok", record.attempt))

    def _record(self, task: Task) -> TrialRecord | None:
        """The record of a trial, read again only when its file has changed."""
        try:
            about = (task.folder / RESULT).stat()
        except OSError:
            return None
        version = (about.st_mtime_ns, about.st_size)
        kept = self._records.get(task.trial_id)
        if kept is None or kept[0] != version:
            kept = self._records[task.trial_id] = (version, _read_whole_record(task.folder))
        return kept[1]

    def tables(self) -> dict[str, pd.DataFrame]:
        """The tidy tables of what was measured so far, checked and written to ``data/tidy/<profile>/<study>/``."""
        unavailable = [
            unavailable_record(item.spec, item.unavailable, self.host) for item in self.planned if item.unavailable
        ]
        tables = tidy.tables_of(self.study, [*self.records(), *self._stood_in_for(), *unavailable])
        tidy.write_tables(self.tidy_folder, tables)
        write_provenance(self.tidy_folder, self.provenance())
        return tables

    @property
    def tidy_folder(self) -> Path:
        """Where the tables of this campaign are written."""
        return home.tidy_dir() / self.profile.profile / self.study.name

    def plan_summary(self) -> pd.DataFrame:
        """One row per configuration of the whole study: planned or not, and why not."""
        return self.study.catalogue(self.profile, self.planned)

    def planned_cells(self) -> pd.DataFrame:
        """One row per planned configuration: its trials over all blocks, their expected seconds, why it can't run."""
        rows: dict[tuple[str, ...], dict[str, Any]] = {}
        for item in self.planned:
            solution = item.spec.configuration()
            counter = getattr(item.spec, "counter", None)
            cell = {"mode": f"{item.spec.mode} {counter}" if counter else item.spec.mode, "solution": solution}
            cell |= {name: getattr(item.spec, name, "") for name in ("strategy", "case")}
            row = rows.setdefault(tuple(cell.values()), {**cell, "trials": 0, "expected_s": 0.0, "unavailable": None})
            if item.unavailable:
                row["unavailable"] = item.unavailable
            else:
                row["trials"] += 1
                row["expected_s"] += item.spec.expected_seconds()
        return pd.DataFrame(list(rows.values()))

    def provenance(self) -> dict[str, Any]:
        """Where the numbers come from: machine, code, profile, outcomes. Plain data."""
        records = self.records()
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
            "planned": len(self.planned),
            "unavailable": dict(Counter(item.unavailable for item in self.planned if item.unavailable)),
            "missing": len(self.tasks) - len(records),
            "statuses": dict(Counter(record.status for record in records)),
            "repeated": len(self._stood_in_for()),
            "measured_seconds": sum(record.wall_s for record in (*records, *self._stood_in_for())),
        }


def _read_whole_record(folder: Path) -> TrialRecord | None:
    """The record in a trial's folder; None, and a line on stderr, where it is not what its mode leaves."""
    record = read_record(folder)
    if record is None:
        return None
    try:
        tidy.read_trial(record, mode_named(record.spec.get("mode")).measurement)
    except UserError as error:
        unreadable(folder / RESULT, str(error))
        return None
    return record


def stood_in_for(record: TrialRecord, by: TrialRecord) -> TrialRecord:
    """The record of an attempt that another one stands in for: whatever its outcome was, no figure is to count it."""
    outcome = record.status if record.reason is None else f"{record.status}: {record.reason}"
    why = f"{record.disturbed or outcome}; trial {by.trial_id} stands in for it"
    return record.model_copy(update={"status": "disturbed", "reason": why})


def write_provenance(folder: Path, provenance: Mapping[str, Any]) -> None:
    """Write the provenance beside the tables that it belongs to."""
    write_atomically(folder / "provenance.json", json.dumps(provenance, indent=1, default=str))


def open_study(name: str, profile: str = "quick", overrides: Mapping[str, Any] | None = None) -> Campaign:
    """A study under a profile, with overrides for single settings; starts nothing.

    Raises:
        UserError: an unknown study, profile, key or value; names the valid ones.
    """
    study = study_named(name)
    return Campaign(study, read_profile(study, profile, overrides or {}))


def all_of_profile(profile: str) -> list[Campaign]:
    """Every study that the profile has settings for, in the order of the studies.

    Raises:
        UserError: no such profile; names those that there are.
    """
    check_profile(profile)
    folder = home.home() / "papermill-configs" / profile
    return [open_study(study.name, profile) for study in every_study() if (folder / f"{study.notebook}.yaml").exists()]


class NoTables(UserError):
    """A campaign that nothing is stored of."""


def _read_table(path: Path, remake: str) -> pd.DataFrame:
    try:
        return pd.read_parquet(path)
    except (OSError, ValueError) as error:  # of Arrow's, too
        raise UserError(f"{path} can't be read ({' '.join(str(error).split())}): {remake}") from None


def read_tables(study: str, profile: str) -> tuple[dict[str, pd.DataFrame], dict[str, Any]]:
    """The stored tables and provenance of a campaign, the reader's own before the shipped ones.

    Raises:
        NoTables: neither is there; names the command that makes them.
        UserError: a file of theirs can't be read.
    """
    known = study_named(study)
    if not PROFILE_NAME.fullmatch(profile):
        raise unknown_choice("profile", profile, profiles())
    for root in (home.tidy_dir(), home.shipped_dir()):
        folder = root / profile / study
        if (folder / "provenance.json").exists():
            remake = f"`allocpool run {study} --profile {profile}` makes it anew"
            stored = {path.stem: _read_table(path, remake) for path in sorted(folder.glob("*.parquet"))}
            tables = {
                name: tidy.completed(table, known.schemas[name]) if name in known.schemas else table
                for name, table in known.as_now(stored).items()
            }
            try:
                return tables, json.loads((folder / "provenance.json").read_text(encoding="utf-8"))
            except (OSError, ValueError) as error:
                raise UserError(f"{folder / 'provenance.json'} can't be read ({error}): {remake}") from None
    raise NoTables(
        f"no tables of study {study}, profile {profile}: `allocpool run {study} --profile {profile}` makes them"
    )


def stored(study: str, profile: str) -> tuple[dict[str, pd.DataFrame], dict[str, Any] | None]:
    """Like `read_tables`, but where nothing is stored every table of the study without rows, and None."""
    empty = {name: tidy.frame([], schema) for name, schema in study_named(study).schemas.items()}
    try:
        tables, provenance = read_tables(study, profile)
    except NoTables:
        return empty, None
    return empty | tables, provenance
