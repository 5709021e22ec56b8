"""One host's campaign as an archive: its tables and where they come from, with a hash of every file.

Archives come from strangers: nothing of one is written before all of it was checked, and only under names made here.
"""

from __future__ import annotations

import hashlib
import io
import lzma
import os
import re
import shutil
import tarfile
import tempfile
import zlib
from contextlib import suppress
from pathlib import Path

import pyarrow
import pyarrow.compute as compute
import pyarrow.parquet as parquet
from pydantic import BaseModel, ConfigDict, ValidationError

from allocpool import home
from allocpool.campaign import profiles
from allocpool.campaign.campaign import all_of_profile
from allocpool.campaign.registry import STUDY_NAMES, study_named
from allocpool.campaign.store import check_folder
from allocpool.campaign.study import PROFILE_NAME
from allocpool.errors import UserError
from allocpool.files import replaceable, replacing, require_regular
from allocpool.machine.host import read_host
from allocpool.runtimes.collectors import COLLECTORS
from allocpool.strangers import printable
from allocpool.trial.record import RESULT

_MANIFEST = "manifest.json"
_KIND = "allocpool campaign"
_MOST_BYTES = 512 << 20
"""Of all unpacked files. A campaign leaves a few megabytes, and tens of kilobytes for each raw trial."""
_MOST_CELLS, _MOST_TEXT_BYTES = 20_000_000, 512 << 20
"""Of one table in memory; the largest that this package has shipped has a million cells."""
_WORDS = {"language": ("java", "cpp"), "collector": COLLECTORS}
"""What columns of any table may hold: pages know no other words."""
_OURS = re.compile(rf"({'|'.join(STUDY_NAMES)})/[\w-]+\.(parquet|json)|raw/[\w-]+\.json")


class _Member(tarfile.TarInfo):
    """The header of a file; any other kind is refused before what it describes is read: `tarfile` has no bounds."""

    def _proc_member(self, archive: tarfile.TarFile) -> tarfile.TarInfo:
        # Of every release: from Python 3.14 on headers no longer come through the public `frombuf`.
        if self.type not in (tarfile.REGTYPE, tarfile.AREGTYPE) or self.size > _MOST_BYTES:
            raise UserError("it holds something else than files, or more than a campaign leaves")
        return super()._proc_member(archive)  # type: ignore[misc,no-any-return]


class _Manifest(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: str
    format: int
    host_id: str
    profile: str
    files: dict[str, str]
    """SHA-256 by name: STUDY/TABLE.parquet, STUDY/provenance.json, raw/TRIAL.json."""


def export(archive: Path, profile: str, raw: bool = False) -> tuple[str, list[str]]:
    """Write the tables of this host under a profile, and with ``raw`` the record of every trial; return host and
    studies.

    Raises:
        UserError: an unknown profile, nothing is measured under it, or ``archive`` can't be written.
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
    try:
        with replacing(archive) as scratch, tarfile.open(scratch, "w:gz") as packed:
            for name, content in {_MANIFEST: manifest.model_dump_json(indent=1).encode(), **files}.items():
                member = tarfile.TarInfo(name)
                member.size = len(content)
                packed.addfile(member, io.BytesIO(content))
    except OSError as error:
        raise UserError(f"{archive} can't be written ({error.strerror}): give a file in another folder") from None
    return host_id, studies


def take_in(archive: Path) -> tuple[str, str, list[str]]:
    """Import an archive, in place of an older one of the same host and profile; return host, profile and studies.

    Raises:
        UserError: it is no archive of a campaign, it is damaged, or it is of this host.
    """
    manifest, files = _read(archive)
    if manifest.host_id == read_host().fingerprint():
        raise UserError(f"{archive} is of this host: what it has measured is here already")
    target = home.hosts_dir() / manifest.host_id / manifest.profile
    studies = sorted({name.partition("/")[0] for name in files} - {"raw"}, key=STUDY_NAMES.index)
    if lacking := [study for study in studies or ("any study",) if f"{study}/trials.parquet" not in files]:
        raise UserError(f"{archive} has no table of the trials of {lacking[0]}: nothing of it was taken")
    target.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(dir=target.parent, prefix=".import-"))
    try:
        for name, content in files.items():
            path = scratch / name
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(content)
        for study in studies:
            _check(archive, study, scratch / study, manifest)
        os.chmod(scratch, 0o755)
        _replace(target, scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return manifest.host_id, manifest.profile, studies


def _replace(target: Path, scratch: Path) -> None:
    """Put a folder in the place of another one, which stays if that fails."""
    old = scratch.with_name(f"{scratch.name}.old")
    with suppress(FileNotFoundError):
        target.rename(old)
    try:
        scratch.rename(target)
    except BaseException:
        with suppress(FileNotFoundError):
            old.rename(target)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _read(archive: Path) -> tuple[_Manifest, dict[str, bytes]]:
    try:
        require_regular(archive, archive.stat())
        with tarfile.open(archive, "r:*", tarinfo=_Member) as packed:
            members = []
            for member in packed:  # its header, before what it describes is passed over
                members.append(member)
                if sum(each.size + tarfile.BLOCKSIZE for each in members) > _MOST_BYTES:
                    raise UserError("it holds more than a campaign leaves")
            found = {member.name: _content(packed, member) for member in members}
        manifest = _Manifest.model_validate_json(found.pop(_MANIFEST))
    except UserError as error:
        raise UserError(f"{archive} is not an archive of a campaign ({error}): `allocpool export` makes one") from None
    except (tarfile.TarError, EOFError, KeyError, ValidationError, ValueError, zlib.error, lzma.LZMAError) as error:
        why = type(error).__name__ if isinstance(error, (ValidationError, KeyError)) else " ".join(str(error).split())
        raise UserError(f"{archive} is damaged, or not an archive of a campaign ({why}): ask for it again") from None
    except OSError as error:
        raise UserError(f"{archive} can't be read ({error.strerror or error}): `allocpool export` makes one") from None
    if manifest.kind != _KIND or manifest.format != 1:
        raise UserError(f"{archive} is of another version of this package: bring both to one version")
    # Two parts that this package writes, which lead out of no folder.
    if bad := [name for name in manifest.files if not _OURS.fullmatch(name)]:
        raise UserError(f"{archive} holds {bad[0]!r}, which is no file of a campaign: nothing of it was taken")
    if not (PROFILE_NAME.fullmatch(manifest.profile) and re.fullmatch("[0-9a-f]+", manifest.host_id)):
        raise UserError(f"{archive} names no host and profile: nothing of it was taken")
    hashes = {name: hashlib.sha256(content).hexdigest() for name, content in found.items()}
    if wrong := sorted(name for name in hashes.keys() | manifest.files if hashes.get(name) != manifest.files.get(name)):
        raise UserError(f"{archive} is damaged: {wrong[0]!r} is not what was packed: ask for it again")
    return manifest, found


def _content(packed: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = packed.extractfile(member)
    return file.read() if file is not None else b""


def _check_size(path: Path) -> None:
    """Check the size of a table in memory before it is read: a few bytes may stand for any number of equal values."""
    with parquet.ParquetFile(path) as file:
        about = file.metadata
        columns = [about.schema.column(place) for place in range(about.num_columns)]
        packed = sum(about.row_group(place).total_byte_size for place in range(about.num_row_groups))
        if about.num_rows * max(about.num_columns, 1) > _MOST_CELLS or packed > _MOST_BYTES:
            raise UserError(f"{path.name} is larger than what a campaign leaves")
        if any(column.max_repetition_level for column in columns):
            raise UserError(f"{path.name} has lists in its cells")
    texts = [column.name for column in columns if column.physical_type == "BYTE_ARRAY"]
    size = 0
    for column in parquet.read_table(path, columns=texts, read_dictionary=texts).columns:
        for chunk in column.chunks:
            if pyarrow.types.is_dictionary(chunk.type):
                lengths = compute.binary_length(chunk.dictionary)
                size += compute.sum(lengths.take(chunk.indices)).as_py() or 0
            else:
                size += chunk.nbytes
    if size > _MOST_TEXT_BYTES:
        raise UserError(f"the texts of {path.name} are longer than what a campaign leaves")


def _check(archive: Path, study: str, folder: Path, manifest: _Manifest) -> None:
    """Check that a study's tables can be read, fit their schemas and are of that host."""
    try:
        for path in sorted(folder.glob("*.parquet")):
            _check_size(path)
        tables, provenance = check_folder(study_named(study), folder, "ask for it again")
        for table in tables.values():
            for column, words in _WORDS.items():
                if column in table and (other := set(table[column].dropna()) - set(words)):
                    raise UserError(f"it has {column} {min(other)!r}, and this package knows {', '.join(words)}")
        hosts = {provenance["host_id"], *tables["trials"]["host_id"].dropna()}
        if others := sorted(hosts - {manifest.host_id}):
            raise UserError(f"it is of host {others[0]}")
    except Exception as error:  # whatever a foreign table breaks: pandera's, Arrow's, a study's own
        why = printable(" ".join(str(error).split())[:200])
        raise UserError(f"{archive}: study {study} can't be shown ({why}): nothing of it was taken") from None
