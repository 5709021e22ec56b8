"""The reader's workload, wherever it comes from: parameters, a capture, a recording, or a workload of the study."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from allocpool import home
from allocpool.campaign.campaign import SHOW_ONLY, Campaign
from allocpool.errors import UserError
from allocpool.studies.your_workload.advice import Advice, advise
from allocpool.studies.your_workload.jfr import read_recording
from allocpool.studies.your_workload.laboratory import Machine
from allocpool.studies.your_workload.replay import prepare
from allocpool.studies.your_workload.specs import MessagesSpec
from allocpool.studies.your_workload.workload import Workload, of_spec, understood

OWN = ("mine", "pcap", "jfr", "minutes")
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
        told = read_recording(recording)
        guessed, notes = told.guessed(), told.sentences()
    trace = None if pcap is None else prepare(_existing(pcap), home.build_dir() / "traces")
    return understood(given, guessed, trace), notes


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


def advice_for(own: Mapping[str, Any], campaign: Campaign) -> Advice:
    """The advice that the page shows: on the reader's own workload, or else on the study's first one.

    Raises:
        UserError: what can't be; one line.
    """
    if own["mine"] is None and own["pcap"] is None and own["jfr"] is None:
        told: tuple[Workload, tuple[str, ...]] = _first(campaign), ()
    else:
        told = workload_of(own["mine"] or {}, own["pcap"], own["jfr"])
    minutes = None if os.environ.get(SHOW_ONLY) else own["minutes"]
    return advise(told[0], minutes, Machine(starts=minutes is not None), told[1])


def _first(campaign: Campaign) -> Workload:
    """The first of the study's workloads: its trials are those that the advice would ask for."""
    specs = [item.spec for item in campaign.planned if not item.unavailable and isinstance(item.spec, MessagesSpec)]
    if not specs:
        raise UserError("no workload of this profile can run here: give your own in `mine`")
    return of_spec(specs[0])
