"""The reader's workload, wherever it comes from: parameters, a capture, a recording, or an advice in a file."""

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

OWN = ("mine", "pcap", "jfr", "minutes", "saved")
"""Parameters of the notebook that are no settings of the study's profile."""


def workload_of(
    given: Mapping[str, object], pcap: str | None = None, recording: str | None = None
) -> tuple[Workload, tuple[str, ...]]:
    """The workload that parameters, a capture and a recording say together, and what the recording told.

    Raises:
        UserError: what can't be; one line.
    """
    guessed: dict[str, str] = {}
    notes: tuple[str, ...] = ()
    if recording is not None:
        found = read_recording(recording)
        guessed, notes = found.guessed(), tuple(map(inert, found.sentences()))
    trace = None if pcap is None else prepare(_existing(pcap), home.build_dir() / "traces")
    return understood(given, guessed, trace), (*notes, *(() if trace is None else trace.notes))


def _existing(file: str) -> Path:
    path = Path(file).expanduser()
    if not path.is_file():
        raise UserError(f"--pcap {file!r}: there is no such file")
    return path.resolve()


def apart(parameters: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The notebook's parameters, in the form of `allocpool.notebook.parameters`: those of `OWN`, and the study's."""
    overrides = dict(parameters["overrides"])
    own = {name: overrides.pop(name, None) for name in OWN}
    return own, {**parameters, "overrides": overrides}


def advice_for(own: Mapping[str, Any]) -> Advice:
    """The advice that the page shows: on the reader's own workload, as a file has it, or else the last one,
    or the package's example.

    Raises:
        UserError: what can't be; one line.
    """
    given = [name for name in OWN if own[name] is not None]
    if not given:
        return saved.last() or saved.example()
    if own["saved"] is not None:
        if len(given) > 1:
            others = ", ".join(name for name in given if name != "saved")
            raise UserError(f"saved shows what a file says, and measures nothing: leave out {others}")
        return saved.read(Path(own["saved"]).expanduser())
    workload, notes = workload_of(own["mine"] or {}, own["pcap"], own["jfr"])
    minutes = None if os.environ.get(SHOW_ONLY) else own["minutes"]
    advice = advise(workload, minutes, Machine(starts=minutes is not None), notes)
    saved.keep(advice)
    return advice
