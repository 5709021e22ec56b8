"""Campaigns on all machines of a Dask scheduler at once: what runs next is chosen per host; all records are kept here.

The client chooses for each host as it would on one machine; a Dask task is one trial. Workers carry the resource
`TRIAL`, one each, so that nothing else runs in that time. Nothing is known to Dask alone: a lost worker costs its
trial, a lost scheduler those that run, and the same command goes on.
"""

from __future__ import annotations

import logging
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from allocpool import home
from allocpool.campaign.campaign import Campaign, CampaignStatus, measure_together
from allocpool.campaign.study import Machine, Study, StudyProfile
from allocpool.errors import UserError
from allocpool.files import replacing
from allocpool.fleet import worker
from allocpool.machine.host import NAME, Host, read_host
from allocpool.trial.launch import Launcher, cell_of
from allocpool.trial.noise import PaceMeter
from allocpool.trial.record import RESULT, TrialRecord, read_record
from allocpool.trial.runner import Task
from allocpool.trial.spec import TrialSpec

if TYPE_CHECKING:
    from distributed import Client

TRIAL = "TRIAL"
"""The resource of a worker that a trial takes."""
START = f"dask worker SCHEDULER --nthreads 1 --resources {TRIAL}=1"
"""How a worker is started."""
LOST_AFTER_S = 180.0
"""A host without a worker for so long is given up."""
_LOOK_S = 0.5
_FIRST_S = 30.0
"""Within which a scheduler has to answer."""
_JOINED_S = 180.0
"""Within which a first machine has to take part: batch systems are slow to start workers."""


class Lost(UserError):
    """A host, or the scheduler, is gone."""


@contextmanager
def scheduler_at(address: str) -> Iterator[Client]:
    """Give a client of the scheduler at ``tcp://HOST:PORT``; UserError where there is none."""
    from distributed import Client

    for name in ("distributed", "distributed.client", "tornado.application", "asyncio"):
        logging.getLogger(name).setLevel(logging.CRITICAL)  # what is lost is reported here, in a line
    try:
        client = Client(address, timeout=f"{_FIRST_S:g}s", set_as_default=False)
    except (OSError, ValueError) as error:
        raise UserError(
            f"no scheduler answers at {address} ({' '.join(str(error).split())}): start one there with `dask "
            "scheduler` and name it as tcp://HOST:8786"
        ) from None
    with client:
        yield client


@contextmanager
def local_workers(count: int, settings: Sequence[Mapping[str, str]] = ()) -> Iterator[Client]:
    """Give a client of a scheduler on this machine with so many workers, each a host by name with its own data.

    They listen on loopback only, and measure in turns. ``settings`` are further environment variables of each.
    """
    import dask
    from distributed import Client, Nanny, Scheduler, SpecCluster

    folder, shared = home.build_dir() / "fleet", {"host": "127.0.0.1", "dashboard": False}
    of_worker = {"nthreads": 1, "resources": {TRIAL: 1}, "memory_limit": 0, "local_directory": str(folder)}
    workers: dict[str, Any] = {}
    for place in range(count):
        name = f"local-{place + 1}"
        own = {NAME: name, "ALLOCPOOL_DATA": str(folder / name), "DASK_LOGGING__DISTRIBUTED": "error"}
        environment = {**own, **settings[place]} if settings else own
        workers[name] = {"cls": Nanny, "options": {**shared, **of_worker, "env": environment}}
    scheduler = {"cls": Scheduler, "options": {**shared, "port": 0}}
    with (
        dask.config.set({"distributed.worker.profile.enabled": False}),  # it would look at the worker every 10 ms
        SpecCluster(workers=workers, scheduler=scheduler, silence_logs="ERROR") as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


@dataclass
class RemoteHost:
    """A machine of the fleet, with the addresses of its workers; ``machine`` identifies it among equal ones."""

    fleet: Fleet
    host: Host
    cores: int
    machine: str
    addresses: set[str] = field(default_factory=set)

    @property
    def name(self) -> str:
        return self.host.name or self.machine.split()[0]

    def ask(self, function: Callable[..., Any], *arguments: object) -> Any:
        """Return what a function returns on this host; a lost worker costs one more attempt.

        Raises:
            Lost: the host has had no worker for long, or the scheduler is lost.
            UserError: the function's own.
        """
        from distributed import KilledWorker

        while True:
            addresses = self.fleet.workers_of(self)
            try:
                future = self.fleet.client.submit(
                    function, *arguments, workers=sorted(addresses), resources={TRIAL: 1}, pure=False
                )
                while addresses & self.fleet.workers().keys():
                    with suppress(TimeoutError):
                        return future.result(timeout=_LOOK_S)
                future.cancel()
            # `distributed.utils.sync` has the last one where what it waits for is cancelled beneath it.
            except (OSError, CancelledError, KilledWorker, UnboundLocalError):
                self.fleet.require_scheduler()


class Fleet:
    """The machines behind a scheduler; ``hosts`` by their fingerprints, ``report`` prints a line."""

    def __init__(self, client: Client, report: Callable[[str], None]) -> None:
        self.client = client
        self.hosts: dict[str, RemoteHost] = {}
        self._report = report
        self._asked = worker.checkout(read_host())
        self._examining: dict[str, Any] = {}
        """The examination of each worker by its address, None when it has ended."""
        self._lock = threading.RLock()

    def require_scheduler(self) -> None:
        if self.client.status not in ("running", "newly-created"):
            raise Lost("the scheduler is lost: nothing finished is; start it again, and the same command goes on")

    def workers(self) -> dict[str, Any]:
        """Return what the scheduler knows of its workers, by address."""
        self.require_scheduler()
        try:
            # Not `scheduler_info()`: the client empties what that returns every other second, from another thread.
            found: dict[str, Any] = self.client.sync(self.client.scheduler.identity, n_workers=-1)
        except (OSError, CancelledError, TimeoutError):
            self.require_scheduler()
            return {}
        return cast(dict[str, Any], found["workers"])

    def workers_of(self, host: RemoteHost) -> set[str]:
        """Return the addresses of a host's workers, waited for where there is none just now."""
        ends_s = time.monotonic() + LOST_AFTER_S
        while not (living := host.addresses & self.workers().keys()):
            if time.monotonic() > ends_s:
                raise Lost(f"host {host.name} is lost: start its worker again, and the same command goes on")
            self.look()
            time.sleep(_LOOK_S)
        return living

    def look(self) -> None:
        """Have new workers examined, and accept those that have been; report once which take no part."""
        with self._lock:
            workers = self.workers()
            for address, found in workers.items():
                if address in self._examining:
                    continue
                self._examining[address] = None
                if found["resources"].get(TRIAL) == 1:
                    self._examining[address] = self.client.submit(
                        worker.examine, self._asked, workers=[address], resources={TRIAL: 1}, pure=False
                    )
                else:
                    self._report(f"worker {address} takes no part: it has no {TRIAL}=1; start it with `{START}`")
            for address, future in list(self._examining.items()):
                if future is not None and future.done():
                    self._examining[address] = None
                    self._take_in(address, future)
                elif address not in workers:
                    del self._examining[address]

    def _take_in(self, address: str, future: Any) -> None:
        try:
            examined: worker.Examined = future.result()
        except Exception as error:  # of any kind: what a worker of another version raises is not ours to know
            self.require_scheduler()
            self._report(f"worker {address} takes no part: {type(error).__name__}: {' '.join(str(error).split())}")
            return
        known = self.hosts.get(examined.host.fingerprint())
        where = examined.host.name or examined.machine.split()[0]
        if examined.refused:
            self._report(f"{where} ({address}) takes no part: {examined.refused}")
        elif known is None:
            host = RemoteHost(self, examined.host, examined.cores, examined.machine, {address})
            self.hosts[examined.host.fingerprint()] = host
            self._report(f"{host.name}: {examined.host.cpu_model}, host {examined.host.fingerprint()}")
        elif known.machine != examined.machine:
            self._report(f"{where} ({address}) takes no part: it is just like {known.name}; name each with {NAME}=NAME")
        else:
            known.addresses.add(address)


class _RemoteLauncher(Launcher):
    """What another machine answers to specs: why it can't run one, or None; and the hash of its code."""

    def __init__(self, remote: RemoteHost) -> None:
        self.answers: dict[TrialSpec, tuple[str | None, str]] = {}
        self._remote = remote

    def ask(self, specs: Iterable[TrialSpec], try_flags: bool = False) -> None:
        """Get the answers to these specs, all at once."""
        if cells := list(dict.fromkeys(map(cell_of, specs))):
            found = self._remote.ask(worker.answers, cells, try_flags)
            self.answers |= dict(zip(cells, found, strict=True))

    def prepare(self, specs: Iterable[TrialSpec]) -> None:
        self.ask(specs, try_flags=True)

    def build(self, specs: Iterable[TrialSpec]) -> None:
        if cells := list(dict.fromkeys(map(cell_of, specs))):
            self._remote.ask(worker.build, cells)

    def pace_meter(self) -> PaceMeter:
        return PaceMeter(None)  # the worker reads its own

    def _answer(self, spec: TrialSpec) -> tuple[str | None, str]:
        if cell_of(spec) not in self.answers:
            self.ask([spec])
        return self.answers[cell_of(spec)]

    def refusal(self, spec: TrialSpec) -> str | None:
        return self._answer(spec)[0]

    def code_hash(self, spec: TrialSpec) -> str:
        return self._answer(spec)[1]


class HostCampaign(Campaign):
    """One study under one profile on a machine of the fleet, whose records are kept here."""

    def __init__(self, study: Study[Any], profile: StudyProfile, remote: RemoteHost) -> None:
        launcher = _RemoteLauncher(remote)
        super().__init__(study, profile, launcher)
        self.remote, self.host = remote, remote.host
        self.where = f"{remote.name}: "
        launcher.ask(item.spec for item in self.plan() if not item.unavailable)

    def machine(self) -> Machine:
        return Machine(self.remote.cores, self.host.memory_mb)

    @property
    def tidy_folder(self) -> Path:
        return home.hosts_dir() / self.host.fingerprint() / self.profile.profile / self.study.name

    def alone(self) -> AbstractContextManager[None]:
        """Hold nothing here: the worker holds its machine for each trial."""
        return nullcontext()

    def _run(self, task: Task, meter: PaceMeter) -> TrialRecord:
        files = self.remote.ask(worker.trial, task.trial_id, task.spec, task.attempt, self.profile.disturbed_beyond)
        keep(files, task.folder)
        record = read_record(task.folder)
        if record is None:
            raise UserError(f"{self.remote.name} sent a record of trial {task.trial_id} that can't be read")
        return record


def keep(files: Mapping[str, bytes], folder: Path) -> None:
    """Write the files of a trial, its record last; UserError for a name that is none of a file in that folder."""
    if bad := [name for name in files if os.path.basename(name) != name or name in ("", ".", "..")]:
        raise UserError(f"a worker sent a file named {bad[0]!r}, which is none of a trial: start its worker anew")
    if folder.exists():
        shutil.rmtree(folder)
    for name, content in sorted(files.items(), key=lambda item: item[0] == RESULT):
        with replacing(folder / name) as scratch:
            scratch.write_bytes(content)


@dataclass
class HostResult:
    """How a host's campaigns ended: the state of each by its study, or in one line why they did not go on."""

    name: str
    states: dict[str, CampaignStatus] = field(default_factory=dict)
    problem: str | None = None


def run_on(
    client: Client,
    campaigns: Sequence[Campaign],
    minutes: float | None = None,
    report: Callable[[str], None] = print,
) -> list[HostResult]:
    """Run campaigns on every machine behind the client, each in its order and time, and make the tables of each.

    A host that joins later takes part; one that is lost, or refused, ends alone. UserError where none takes part.
    """
    fleet = Fleet(client, report)
    results: dict[str, HostResult] = {}
    threads: list[threading.Thread] = []
    begun_s = time.monotonic()
    if not fleet.workers():
        report(f"waiting for machines: start a worker on each with `{START}`, of this commit")
    while True:
        with suppress(Lost):  # each host reports it
            fleet.look()
        for fingerprint, host in list(fleet.hosts.items()):
            if fingerprint not in results:
                results[fingerprint] = HostResult(host.name)
                work = (host, campaigns, minutes, results[fingerprint])
                # Ctrl-C does not wait for trials elsewhere, which end there.
                threads.append(threading.Thread(target=_run_host, args=work, daemon=True))
                threads[-1].start()
        if threads and not any(thread.is_alive() for thread in threads):
            return list(results.values())
        if not threads and time.monotonic() - begun_s > _JOINED_S:
            raise UserError(f"no machine takes part: start a worker on each with `{START}`, of this commit")
        time.sleep(_LOOK_S)


def _run_host(host: RemoteHost, campaigns: Sequence[Campaign], minutes: float | None, result: HostResult) -> None:
    here: list[HostCampaign] = []
    took_s: dict[str, float] = {}
    try:
        for each in campaigns:
            here.append(HostCampaign(each.study, each.profile, host))
            here[-1].retries_failed = each.retries_failed
        took_s |= measure_together(here, minutes)
    except Lost as lost:
        result.problem = str(lost)
    except (UserError, OSError) as error:
        result.problem = f"{host.name}: {error}"
    except Exception as error:  # of any kind: that of a thread is reported by nobody else
        result.problem = f"{host.name}: {type(error).__name__}: {' '.join(str(error).split())}"
    for own in here:  # of what is finished, however it ended
        own.tables()
        result.states[own.study.name] = own.status(took_s.get(own.study.name, 0.0))
