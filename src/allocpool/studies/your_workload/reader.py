"""The reader's workload, from parameters, a capture, a recording, or an advice in a file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from allocpool import home
from allocpool.campaign.campaign import SHOW_ONLY
from allocpool.errors import UserError
from allocpool.strangers import inert
from allocpool.studies.your_workload import saved
from allocpool.studies.your_workload.advice import Advice, advise
from allocpool.studies.your_workload.jfr import read_recording
from allocpool.studies.your_workload.laboratory import Machine
from allocpool.studies.your_workload.replay import prepare
from allocpool.studies.your_workload.workload import Workload, understood

_SETTINGS = {
    "rate": "rate", "message_bytes": "bytes", "in_flight": "in_flight", "kept": "kept", "collector": "collector",
    "heap": "heap",
}  # fmt: skip
"""Parameters of the notebook that are options of ``allocpool advise``."""
OWN = (*_SETTINGS, "minutes", "saved")
"""Parameters of the notebook that are no settings of the study's profile."""


def workload_of(
    given: Mapping[str, object], pcap: str | None = None, recording: str | None = None
) -> tuple[Workload, tuple[str, ...]]:
    """Return the workload of parameters, a capture and a recording, and what the last two gave, a sentence each.

    Raises:
        UserError: what can't be; one line.
    """
    guessed: dict[str, str] = {}
    notes: tuple[str, ...] = ()
    if recording is not None:
        found = read_recording(recording)
        guessed, notes = found.guessed(), tuple(map(inert, found.sentences()))
    trace = None
    if pcap is not None:
        path = Path(pcap).expanduser()
        if not path.is_file():
            raise UserError(f"--pcap {pcap!r}: there is no such file")
        trace = prepare(path.resolve(), home.build_dir() / "traces")
    return understood(given, guessed, trace), (*notes, *(trace.notes if trace else ()))


def apart(parameters: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the notebook's parameters of `OWN`, and the others in the form of `allocpool.notebook.parameters`."""
    overrides = dict(parameters["overrides"])
    own = {name: overrides.pop(name, None) for name in OWN}
    return own, {**parameters, "overrides": overrides}


def advice_for(own: Mapping[str, Any]) -> Advice:
    """Return the advice that the page shows: on the reader's own workload, of a file, the last one, or the example.

    Raises:
        UserError: what can't be; one line.
    """
    given = [name for name in OWN if own[name] is not None]
    if not given:
        return saved.last() or saved.example()
    if own["saved"] is not None:
        if len(given) > 1:
            others = ", ".join(name for name in given if name != "saved")
            raise UserError(f"saved shows what a file holds, and measures nothing: leave out {others}")
        return saved.read(Path(own["saved"]).expanduser())
    workload, notes = workload_of({option: own[name] for name, option in _SETTINGS.items()})
    minutes = None if os.environ.get(SHOW_ONLY) else own["minutes"]
    advice = advise(workload, minutes, Machine(starts=minutes is not None), notes)
    saved.keep(advice)
    return advice
