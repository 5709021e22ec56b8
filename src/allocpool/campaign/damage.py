"""Find what is broken in a store, and what to do about it; nothing is deleted or mended."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pandera.errors import SchemaError, SchemaErrors
from pydantic import ValidationError

from allocpool import home
from allocpool.campaign import tidy
from allocpool.campaign.registry import STUDY_NAMES, every_study, mode_named, study_named
from allocpool.campaign.store import QUESTIONS, read_folder
from allocpool.errors import UserError
from allocpool.trial.record import RESULT, TrialRecord, checked_record, trial_id

_LITTLE_MB = 500
"""Of free space, below which a campaign is likely to end for want of it."""


@dataclass(frozen=True)
class Damage:
    """One broken thing."""

    path: Path
    what: str
    remedy: str

    def text(self) -> str:
        return f"{self.path}: {' '.join(self.what.split())}: {self.remedy}"


def damages() -> Iterator[Damage]:
    """Yield everything that is broken in the store of this user."""
    yield from _of_place(home.data_dir())
    for folder in _folders(home.raw_dir()):
        if folder.name != "single":
            yield from _of_trial(folder)
    for profile in _folders(home.tidy_dir()):
        yield from _of_tables(profile, "`allocpool run {study} --profile {profile}` makes it anew")
    for host in _folders(home.hosts_dir()):
        for profile in _folders(host):
            yield from _of_tables(profile, "import it again, or run that host again")


def _folders(root: Path) -> list[Path]:
    try:
        return sorted(path for path in root.iterdir() if path.is_dir())
    except OSError:
        return []


def _of_place(data: Path) -> Iterator[Damage]:
    place = next(folder for folder in (data, *data.parents) if folder.exists())
    if not place.is_dir():
        yield Damage(place, "it is no folder", "set ALLOCPOOL_DATA to one")
        return
    if not os.access(place, os.W_OK) or os.statvfs(place).f_flag & os.ST_RDONLY:
        yield Damage(place, "it takes no files", "measure with ALLOCPOOL_DATA set elsewhere; what is here can be shown")
    free_mb = shutil.disk_usage(place).free >> 20
    if free_mb < _LITTLE_MB:
        yield Damage(place, f"{free_mb} MB are free", "make room there, or set ALLOCPOOL_DATA to another place")


def _of_trial(folder: Path) -> Iterator[Damage]:
    again = "the campaign that plans it runs it again; the folder may be removed"
    try:
        record = checked_record(folder)
        if record is None:
            yield Damage(folder, "the trial did not end", again)
            return
        _check_identity(record)
    except (UserError, ValidationError) as error:
        yield Damage(folder / RESULT, str(error), again)
    for scratch in sorted(folder.glob(".*")):
        yield Damage(scratch, "it is what an interrupted write left", "it may be removed")


def _check_identity(record: TrialRecord) -> None:
    """Check that the record is of the trial that its name stands for, and holds what its mode measures."""
    mode = mode_named(record.spec.get("mode"))
    spec = mode.spec(**record.spec)
    named = trial_id(spec, record.launch.code_hash, record.host.fingerprint())
    if record.trial_id.removesuffix("-2") != named:
        raise UserError(f"what it ran is trial {named}")
    tidy.read_trial(record, mode.measurement)
    for study in every_study():
        if mode in study.modes:
            tidy.check_cost(record, study)
            tidy.check_rows(record, study)


def _of_tables(profile: Path, remedy: str) -> Iterator[Damage]:
    for folder in _folders(profile):
        if folder.name not in STUDY_NAMES:
            yield Damage(folder, "there is no such study", "it may be removed")
            continue
        if not any(folder.iterdir()):  # of a campaign that has begun
            continue
        anew = remedy.format(study=folder.name, profile=profile.name)
        known = study_named(folder.name)
        if not (folder / "provenance.json").is_file():
            yield Damage(folder, "provenance.json is missing: its tables are not shown", anew)
            continue
        try:
            for name, table in read_folder(known, folder, "")[0].items():
                schema = {**known.schemas, "questions": QUESTIONS}.get(name)
                if schema is None:
                    yield Damage(folder / f"{name}.parquet", "the study has no such table", "it may be removed")
                else:
                    schema.validate(table)
        except (UserError, SchemaError, SchemaErrors, LookupError, ValueError) as error:
            yield Damage(folder, str(error).removesuffix(": ")[:300], anew)
