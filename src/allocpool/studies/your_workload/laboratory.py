"""Where a reader's trials run: this machine, under the lock of campaigns, every outcome a record."""

from __future__ import annotations

from contextlib import ExitStack
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
    """This machine: trials are records below ``data/raw``, run alone under the campaigns' lock.

    ``starts``: whether it may start anything, if only to try the flags of a JVM.
    """

    def __init__(self, starts: bool = True) -> None:
        self._starts = starts
        self._launcher = Launcher()
        self._host = read_host()
        self._held = ExitStack()
        self._measures = False
        self._tried: set[Any] = set()

    def refusal(self, spec: MessagesSpec) -> str | None:
        """As `Launcher.refusal`, after the JVM's flags were tried."""
        jvm = spec.needs().jvm
        if self._starts and jvm not in self._tried and not self._launcher.refusal(spec):
            self._tried.add(jvm)
            self._launcher.prepare([spec])
        return self._launcher.refusal(spec)

    def recorded(self, spec: MessagesSpec) -> Measured | None:
        """What its record says."""
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


def measured_of(record: TrialRecord) -> Measured:
    """A record as the advice needs it."""
    if record.status != "ok":
        return Measured(record.status, record.reason, record.wall_s, disturbed=record.disturbed is not None)
    row = summarise_messages(record)
    return Measured(
        record.status, None, record.wall_s, cpu_ns=row["cpu_ns_per_message"], wall_ns=row["ns_per_message"],
        lost_ppm=row["lost_ppm"], delay_p50_ms=row["delay_p50_ms"], delay_p99_ms=row["delay_p99_ms"],
        delay_p999_ms=row["delay_p999_ms"], pause_max_ms=row.get("gc_pause_max_ms"),
        stall_max_ms=row.get("stall_max_ms"), collections=row.get("gc_collections"),
        idle_rss_mb=row["idle_rss_mb"], peak_rss_mb=row["peak_rss_mb"], pool_mb=row["pool_mb"],
        wasted_mb=row["wasted_mb"], humongous_share=row.get("humongous_share"),
        disturbed=record.disturbed is not None,
    )  # fmt: skip
