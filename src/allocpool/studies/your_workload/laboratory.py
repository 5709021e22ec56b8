"""Run a reader's trials on this machine, under the lock of campaigns, every outcome a record."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import fields, replace
from typing import Any

from allocpool import home
from allocpool.errors import UserError
from allocpool.machine.host import read_host
from allocpool.studies.your_workload.findings import Measured
from allocpool.studies.your_workload.specs import MessagesSpec
from allocpool.studies.your_workload.tables import summarise_messages
from allocpool.trial.launch import Launcher
from allocpool.trial.noise import DISTURBED_BEYOND
from allocpool.trial.record import TrialRecord, read_record
from allocpool.trial.runner import alone, run_trial, task_for


class Machine:
    """This machine; ``starts``: whether it may start anything, if only to try the flags of a JVM."""

    def __init__(self, starts: bool = True) -> None:
        self._starts = starts
        self._launcher = Launcher()
        self._host = read_host()
        self._held = ExitStack()
        self._measures = False
        self._tried: set[Any] = set()

    def refusal(self, spec: MessagesSpec) -> str | None:
        """Return `Launcher.refusal`, after the JVM's flags were tried."""
        jvm = spec.needs().jvm
        if self._starts and jvm not in self._tried and not self._launcher.refusal(spec):
            self._tried.add(jvm)
            self._launcher.prepare([spec])
        return self._launcher.refusal(spec)

    def recorded(self, spec: MessagesSpec) -> Measured | None:
        """Return what its record measured, or None."""
        record = read_record(task_for(spec, self._launcher, self._host, home.raw_dir()).folder)
        return None if record is None else measured_of(record)

    def measure(self, spec: MessagesSpec) -> Measured:
        """Run it to its record.

        Raises:
            UserError: a build failed, the JVM does not start with the reader's flags, or a campaign is measuring.
        """
        if refused := self.refusal(spec):
            raise UserError(refused)
        launch = self._launcher.launch_of(spec)
        if not self._measures:
            self._held.enter_context(alone(home.raw_dir()))
            self._measures = True
        task = task_for(spec, self._launcher, self._host, home.raw_dir())
        return measured_of(run_trial(task, launch, self._host, self._launcher.pace_meter(), DISTURBED_BEYOND))

    def close(self) -> None:
        """Let others measure."""
        self._held.close()
        self._measures = False


_COLUMNS = {
    "cpu_ns": "cpu_ns_per_message", "wall_ns": "ns_per_message", "pause_max_ms": "gc_pause_max_ms",
    "collections": "gc_collections",
}  # fmt: skip
"""Of table ``trials``, by the field that has another name."""
_OF_RECORD = ("status", "reason", "wall_s", "disturbed")


def measured_of(record: TrialRecord) -> Measured:
    """Return a record as the advice needs it."""
    found = Measured(record.status, record.reason, record.wall_s, disturbed=record.disturbed is not None)
    if record.status != "ok":
        return found
    row = summarise_messages(record)
    names = [each.name for each in fields(Measured) if each.name not in _OF_RECORD]
    values: dict[str, Any] = {name: row.get(_COLUMNS.get(name, name)) for name in names}
    return replace(found, **values)
