"""What a worker does on its machine: it is examined, reports what it can run, and runs one trial after the other.

Trials run in children, into the worker's data folder. So a trial that ends while nobody waits for it is found there,
and handed over when it is asked for again.
"""

from __future__ import annotations

import hashlib
import socket
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from allocpool import doctor, home
from allocpool.compile import code_hash, source_sets
from allocpool.errors import UserError
from allocpool.machine.host import Host, read_host, usable_cores
from allocpool.runtimes.embedded import provision
from allocpool.trial.launch import Launcher
from allocpool.trial.noise import PaceMeter
from allocpool.trial.record import read_record
from allocpool.trial.runner import alone, run_trial, task_for
from allocpool.trial.spec import TrialSpec

_PATIENCE_S = 600.0
"""For which a trial waits where another one runs on its machine."""


@dataclass(frozen=True)
class Examined:
    """A machine that was examined: ``machine`` identifies it among equal ones, ``refused`` is why it takes no part."""

    host: Host
    cores: int
    machine: str
    refused: str | None


def checkout(host: Host) -> str:
    """Return what this machine measures with: the commit of its checkout and a hash of its code."""
    package = Path(__file__).resolve().parents[1]
    digest = hashlib.sha256(code_hash(*source_sets()).encode())
    for file in sorted(package.rglob("*.py")):
        digest.update(file.relative_to(package).as_posix().encode() + file.read_bytes())
    return f"commit {host.git_commit} with code {digest.hexdigest()[:16]}"


@cache
def _checkout_at_start() -> str:
    """Return the checkout whose modules this process has."""
    return checkout(read_host())


_host, _launcher = cache(read_host), cache(Launcher)
"""This machine and what starts trials on it, kept between trials."""


@cache
def _meter() -> PaceMeter:
    """Return what reads the usual pace; before the first trial, the library that it reads with may not be built."""
    return _launcher().pace_meter()


def examine(asked: str) -> Examined:
    """Set this machine up and return whether it can take part in a campaign of this checkout."""
    for known in (_host, _launcher, _meter):
        known.cache_clear()
    host = _host()
    machine = f"{socket.gethostname()} {host.boot or ''}"
    return Examined(host, usable_cores(), machine, _why_not(asked, checkout(host)))


def _why_not(asked: str, own: str) -> str | None:
    if own != asked:
        return (
            f"it has {own}, asked is {asked}: check out that commit there, run `make setup`, and start its worker anew"
        )
    if own != _checkout_at_start():
        return "its checkout has changed since its worker was started: start it anew"
    with suppress(UserError):  # a runtime that can't be had is among what the doctor misses
        provision()
    diagnosis = doctor.diagnose()
    return None if diagnosis.ready else "; ".join(diagnosis.missing())


def answers(specs: Sequence[TrialSpec], try_flags: bool) -> list[tuple[str | None, str]]:
    """Return for each spec why this machine can't run it (None if it can), and its code hash."""
    launcher = _launcher()
    if try_flags:
        launcher.prepare(specs)
    found = [(launcher.refusal(spec), spec) for spec in specs]
    return [(refused, "" if refused else launcher.code_hash(spec)) for refused, spec in found]


def build(specs: Sequence[TrialSpec]) -> None:
    _launcher().build(specs)


def trial(trial_id: str, spec: TrialSpec, attempt: int, disturbed_beyond: float | None) -> dict[str, bytes]:
    """Run a trial, unless it has run here; return the files that it left, by name.

    Raises:
        UserError: here it is another trial, because the code is another one; or something else was measured too long.
    """
    first = task_for(spec, _launcher(), _host(), home.raw_dir())
    task = first if attempt == 1 else first.again()
    if task.trial_id != trial_id:
        raise UserError(f"trial {trial_id} is {task.trial_id} here: code or machine have changed, start again")
    if read_record(task.folder) is None:
        launch = _launcher().launch_of(spec)
        with alone(home.raw_dir(), patience_s=_PATIENCE_S):
            if read_record(task.folder) is None:
                run_trial(task, launch, _host(), _meter(), disturbed_beyond)
    return {file.name: file.read_bytes() for file in task.folder.iterdir() if file.is_file()}
