"""The reader's workload and its advice: from parameters, a capture, a recording, or a file.

An advice in a file is the workload and its trials, judged when it is read. Page 09 shows the last one, or the example.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from allocpool import home
from allocpool.campaign.campaign import SHOW_ONLY
from allocpool.campaign.hosts import called
from allocpool.errors import UserError, from_validation
from allocpool.files import replaceable, write_atomically
from allocpool.machine.host import Host, read_host
from allocpool.strangers import inert
from allocpool.studies.your_workload.advice import ON_RECORD, Advice, Machine, advise
from allocpool.studies.your_workload.findings import Findings, Measured
from allocpool.studies.your_workload.jfr import read_recording
from allocpool.studies.your_workload.replay import prepare
from allocpool.studies.your_workload.workload import ALLOC, Cell, Workload, understood
from allocpool.trial.launch import Launcher

_SETTINGS = {"message_bytes": "bytes"} | {name: name for name in ("rate", "in_flight", "kept", "collector", "heap")}
"""Parameters of the notebook that are options of ``allocpool advise``."""
OWN = (*_SETTINGS, "minutes", "saved")
"""Parameters of the notebook that are no settings of the study's profile."""
_LAST = "advice.json"


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
    trials: tuple[tuple[Cell, tuple[Measured, ...]], ...]


def workload_of(
    given: Mapping[str, object], pcap: str | None = None, recording: str | None = None
) -> tuple[Workload, tuple[str, ...]]:
    """Return the workload, and what a capture and a recording gave, a sentence each. UserError for what can't be."""
    trace, found = None, None if recording is None else read_recording(recording)
    if pcap is not None:
        path = Path(pcap).expanduser()
        if not path.is_file():
            raise UserError(f"--pcap {pcap!r}: there is no such file")
        trace = prepare(path.resolve(), home.build_dir() / "traces")
    notes = (*(map(inert, found.sentences()) if found else ()), *(trace.notes if trace else ()))
    return understood(given, found.guessed() if found else None, trace), notes


def apart(parameters: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the notebook's parameters of `OWN`, and the others in the form of `allocpool.notebook.parameters`."""
    overrides = dict(parameters["overrides"])
    own = {name: overrides.pop(name, None) for name in OWN}
    return own, {**parameters, "overrides": overrides}


def advice_for(own: Mapping[str, Any]) -> Advice:
    """Return what page 09 shows: advice on the reader's workload, of a file, the last one, or the example."""
    given = [name for name in OWN if own[name] is not None]
    if not given:
        with suppress(UserError):
            return read(home.data_dir() / _LAST)
        return replace(read(home.home() / "data" / "checked" / "example.json"), is_example=True)
    if own["saved"] is not None:
        if len(given) > 1:
            others = ", ".join(name for name in given if name != "saved")
            raise UserError(f"saved shows what a file holds, and measures nothing: leave out {others}")
        return read(Path(own["saved"]).expanduser())
    workload, notes = workload_of({option: own[name] for name, option in _SETTINGS.items()})
    minutes = None if os.environ.get(SHOW_ONLY) else own["minutes"]
    advice = advise(workload, minutes, Machine(starts=minutes is not None), notes)
    keep(advice)
    return advice


def checked_path(word: str) -> Path:
    """Return the file that an advice can be saved in. UserError where it can't, before anything is measured."""
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
    """Write an advice. UserError where nothing was measured, or the file can't be written."""
    if not advice.trials:
        raise UserError("--save: nothing was measured of this workload yet, so nothing was written")
    saved = _Saved(
        host=read_host(), code_hash=Launcher().code_hash(advice.workload.spec_of(Cell(advice.collector, ALLOC), 0)),
        minutes=advice.minutes, notes=advice.notes, refused=advice.refused, workload=advice.workload,
        trials=tuple((cell, tuple(trials)) for cell, trials in advice.of.trials.items()),
    )  # fmt: skip
    try:
        write_atomically(path, saved.model_dump_json(indent=1) + "\n")
    except OSError as error:
        raise UserError(f"--save: {path} can't be written ({error.strerror}): give another file") from None


def read(path: Path) -> Advice:
    """Return the advice of a file, judged now. UserError where it holds none, or none that can be judged here."""
    try:
        saved = _Saved.model_validate_json(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise UserError(f"{path} can't be read ({why}): `allocpool advise --save FILE` writes one") from None
    except ValidationError as error:
        raise from_validation(f"{path} is no advice that `allocpool advise --save` wrote", error, _Saved) from None
    of = Findings(saved.workload, lambda spec: inert(saved.refused.get(spec.collector or "")))
    of.trials |= {cell: list(trials) for cell, trials in saved.trials}
    host, notes = saved.host, tuple(map(inert, saved.notes))
    advice = Advice(of, saved.minutes, ON_RECORD, notes, called(host.name or host.cpu_model, host.fingerprint()))
    try:
        advice.as_json()
    except (UserError, ValueError) as error:  # less memory than where it was measured, or its capture is not here
        raise UserError(f"{path} can't be judged on this machine: {error}") from None
    return advice


def keep(advice: Advice) -> None:
    """Keep an advice as the reader's last one; do nothing where nothing was measured."""
    if advice.trials:
        save(advice, home.data_dir() / _LAST)
