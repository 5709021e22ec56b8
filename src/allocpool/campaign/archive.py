"""One host's campaign as an archive: its tables and where they come from, with a hash of every file.

An archive is somebody else's: nothing of it is written before all of it was read and checked, and only under the names
that are made here.
"""

from __future__ import annotations

import hashlib
import io
import lzma
import os
import shutil
import tarfile
import tempfile
import zlib
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from allocpool import home
from allocpool.campaign import profiles
from allocpool.campaign.campaign import all_of_profile
from allocpool.campaign.registry import STUDY_NAMES, study_named
from allocpool.campaign.store import QUESTIONS, read_folder
from allocpool.campaign.study import PROFILE_NAME
from allocpool.errors import UserError
from allocpool.files import replaceable, replacing
from allocpool.machine.host import read_host
from allocpool.trial.record import RESULT

_MANIFEST = "manifest.json"
_KIND = "allocpool campaign"
_MOST_BYTES = 4 << 30
"""Unpacked; more is not what this package writes."""
_HEX = set("0123456789abcdef")


class _Manifest(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: str
    format: int
    host_id: str
    profile: str
    files: dict[str, str]
    """SHA-256 by name: STUDY/TABLE.parquet, STUDY/provenance.json, raw/TRIAL.json."""


def export(archive: Path, profile: str, raw: bool = False) -> tuple[str, list[str]]:
    """Write the tables of this host under a profile, and with ``raw`` the record of every trial; host and studies.

    Raises:
        UserError: nothing is measured here under that profile, no such profile, or ``archive`` is no regular file.
    """
    replaceable(archive)
    profiles.check(profile)
    host_id = read_host().fingerprint()
    files: dict[str, bytes] = {}
    studies = []
    for campaign in all_of_profile(profile):
        records = campaign.records()
        if not records:
            continue
        campaign.tables()
        studies.append(campaign.study.name)
        for path in sorted(campaign.tidy_folder.iterdir()):
            if path.suffix in (".parquet", ".json") and not path.name.startswith("."):
                files[f"{campaign.study.name}/{path.name}"] = path.read_bytes()
        for record in records if raw else ():
            files[f"raw/{record.trial_id}.json"] = (Path(record.directory) / RESULT).read_bytes()
    if not studies:
        raise UserError(f"nothing is measured here under profile {profile}: `allocpool findings --profile {profile}`")
    manifest = _Manifest(
        kind=_KIND, format=1, host_id=host_id, profile=profile,
        files={name: hashlib.sha256(content).hexdigest() for name, content in files.items()},
    )  # fmt: skip
    with replacing(archive) as scratch, tarfile.open(scratch, "w:gz") as packed:
        for name, content in {_MANIFEST: manifest.model_dump_json(indent=1).encode(), **files}.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            packed.addfile(member, io.BytesIO(content))
    return host_id, studies


def take_in(archive: Path) -> tuple[str, str, list[str]]:
    """Take in an archive beside what is there; an older one of the same host and profile makes room. Host, profile and
    studies.

    Raises:
        UserError: it is no archive of a campaign, it is damaged, or it is of this host.
    """
    manifest, files = _read(archive)
    if manifest.host_id == read_host().fingerprint():
        raise UserError(f"{archive} is of this host: what it has measured is here already")
    target = home.hosts_dir() / manifest.host_id / manifest.profile
    target.parent.mkdir(parents=True, exist_ok=True)
    studies = sorted({name.partition("/")[0] for name in files} - {"raw"}, key=STUDY_NAMES.index)
    scratch = Path(tempfile.mkdtemp(dir=target.parent, prefix=".import-"))
    try:
        for name, content in files.items():
            path = scratch / name
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(content)
        for study in studies:
            _check(archive, study, scratch / study, manifest)
        if target.exists():
            shutil.rmtree(target)
        os.chmod(scratch, 0o755)
        scratch.rename(target)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return manifest.host_id, manifest.profile, studies


def _read(archive: Path) -> tuple[_Manifest, dict[str, bytes]]:
    """The manifest, and the files that it names, whole as they were packed."""
    try:
        with tarfile.open(archive, "r:*") as packed:
            members = packed.getmembers()
            if sum(member.size for member in members) > _MOST_BYTES or not all(m.isreg() for m in members):
                raise UserError(f"{archive} is not an archive of a campaign: `allocpool export` makes one")
            found = {member.name: _content(packed, member) for member in members}
        manifest = _Manifest.model_validate_json(found.pop(_MANIFEST))
    except (tarfile.TarError, EOFError, KeyError, ValidationError, ValueError, zlib.error, lzma.LZMAError) as error:
        why = type(error).__name__ if isinstance(error, (ValidationError, KeyError)) else " ".join(str(error).split())
        raise UserError(f"{archive} is damaged, or not an archive of a campaign ({why}): ask for it again") from None
    except OSError as error:
        raise UserError(f"{archive} can't be read ({error.strerror or error}): `allocpool export` makes one") from None
    if manifest.kind != _KIND or manifest.format != 1:
        raise UserError(f"{archive} is of another version of this package: bring both to one version")
    if bad := [name for name in manifest.files if not _is_ours(name)]:
        raise UserError(f"{archive} holds {bad[0]!r}, which is no file of a campaign: nothing of it was taken")
    if not (PROFILE_NAME.fullmatch(manifest.profile) and manifest.host_id and set(manifest.host_id) <= _HEX):
        raise UserError(f"{archive} names no host and profile: nothing of it was taken")
    hashes = {name: hashlib.sha256(content).hexdigest() for name, content in found.items()}
    if wrong := sorted(name for name in hashes.keys() | manifest.files if hashes.get(name) != manifest.files.get(name)):
        raise UserError(f"{archive} is damaged: {wrong[0]!r} is not what was packed: ask for it again")
    return manifest, found


def _content(packed: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = packed.extractfile(member)
    return file.read() if file is not None else b""


def _is_ours(name: str) -> bool:
    """A name of two parts that this package writes: no way out of its folder."""
    folder, _, file = name.partition("/")
    stem, _, suffix = file.rpartition(".")
    known = (folder in STUDY_NAMES and suffix in ("parquet", "json")) or (folder == "raw" and suffix == "json")
    return known and bool(stem) and all(letter.isalnum() or letter in "_-" for letter in stem)


def _check(archive: Path, study: str, folder: Path, manifest: _Manifest) -> None:
    """That a study's tables can be read, fit their schemas and are of that host."""
    known = study_named(study)
    try:
        tables, provenance = read_folder(known, folder, "ask for it again")
        for name, table in tables.items():
            schema = {**known.schemas, "questions": QUESTIONS}.get(name)
            if schema is None:
                raise UserError(f"there is no table {name}")
            schema.validate(table)
        told: Any = provenance["host_id"]
        if told != manifest.host_id:
            raise UserError(f"its tables are of host {told}")
        hosts = set(tables["trials"]["host_id"].dropna()) if "trials" in tables else set()
        if hosts - {manifest.host_id}:
            raise UserError(f"its trials are of host {sorted(hosts)[0]}")
    except Exception as error:  # whatever a foreign table breaks: pandera's, Arrow's, a study's own
        why = " ".join(str(error).split())[:200]
        raise UserError(f"{archive}: study {study} can't be shown ({why}): nothing of it was taken") from None
