"""Write an advice into a file and read it, on any machine: the workload and its trials, judged again when read.

The reader's last advice is kept, for page 09. The package ships an example, which the page shows before that.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from allocpool import home
from allocpool.campaign.hosts import called
from allocpool.errors import UserError, from_validation
from allocpool.files import replaceable, write_atomically
from allocpool.machine.host import Host, read_host
from allocpool.strangers import inert
from allocpool.studies.your_workload.advice import ON_RECORD, Advice
from allocpool.studies.your_workload.findings import Findings, Measured
from allocpool.studies.your_workload.workload import ALLOC, Cell, Workload
from allocpool.trial.launch import Launcher


class _OfCell(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    collector: str
    strategy: str
    rate_per_s: float | None
    changed: str
    value: float
    trials: tuple[Measured, ...]


class _Saved(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal["allocpool advice"] = "allocpool advice"
    format: Literal[1] = 1
    host: Host
    code_hash: str
    minutes: float
    notes: tuple[str, ...]
    refused: dict[str, str]
    workload: Workload
    cells: tuple[_OfCell, ...]


def checked_path(word: str) -> Path:
    """Return the file that an advice can be saved in.

    Raises:
        UserError: it can't; before anything is measured.
    """
    path = Path(word).expanduser().absolute()
    if path.is_dir() or not path.parent.is_dir():
        what = "is a folder" if path.is_dir() else f"there is no folder {path.parent}"
        raise UserError(f"--save {word!r}: {what}; give a file in a folder that exists, for example advice.json")
    try:
        replaceable(path)
    except OSError as error:
        raise UserError(f"--save {word!r}: {error.strerror}: give another file") from None
    return path


def save(advice: Advice, path: Path) -> None:
    """Write an advice that this machine measured.

    Raises:
        UserError: nothing was measured, or the file can't be written.
    """
    if not advice.trials:
        raise UserError("--save: nothing was measured of this workload yet, so nothing was written")
    saved = _Saved(
        host=read_host(), code_hash=Launcher().code_hash(advice.workload.spec_of(Cell(advice.collector, ALLOC), 0)),
        minutes=advice.minutes, notes=advice.notes, refused=advice.refused, workload=advice.workload,
        cells=tuple(_OfCell(**cell._asdict(), trials=tuple(trials)) for cell, trials in advice.of.trials.items()),
    )  # fmt: skip
    try:
        write_atomically(path, saved.model_dump_json(indent=1) + "\n")
    except OSError as error:
        raise UserError(f"--save: {path} can't be written ({error.strerror}): give another file") from None


def read(path: Path) -> Advice:
    """Return the advice of a file, judged now.

    Raises:
        UserError: there is no file, it holds no advice, or it can't be judged on this machine; one line.
    """
    try:
        saved = _Saved.model_validate_json(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise UserError(f"{path} can't be read ({why}): `allocpool advise --save FILE` writes one") from None
    except ValidationError as error:
        raise from_validation(f"{path} is no advice that `allocpool advise --save` wrote", error, _Saved) from None
    of = Findings(saved.workload, lambda spec: inert(saved.refused.get(spec.collector or "")))
    for one in saved.cells:
        of.trials[Cell(**one.model_dump(exclude={"trials"}))] = list(one.trials)
    host, notes = saved.host, tuple(map(inert, saved.notes))
    advice = Advice(of, saved.minutes, ON_RECORD, notes, called(host.name or host.cpu_model, host.fingerprint()))
    try:
        advice.as_json()
    except (UserError, ValueError) as error:  # less memory than where it was measured, or its capture is not here
        raise UserError(f"{path} can't be judged on this machine: {error}") from None
    return advice


def _last() -> Path:
    return home.data_dir() / "advice.json"


def keep(advice: Advice) -> None:
    """Keep an advice as the reader's last one; do nothing where nothing was measured."""
    if advice.trials:
        save(advice, _last())


def last() -> Advice | None:
    """Return the reader's last advice on this machine; None where none can be read."""
    with suppress(UserError):
        return read(_last())
    return None


def example() -> Advice:
    """Return the advice that the package ships."""
    return replace(read(home.home() / "data" / "checked" / "example.json"), is_example=True)
