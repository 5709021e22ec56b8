"""Run trials: one child process each, one at a time, every outcome a record.

The child writes ``measurement.json``; the runner adds what only a parent can know (exit status, signals, time-outs)
and writes ``result.json`` last. So a campaign that was killed continues where it stopped.
"""

from __future__ import annotations

import fcntl
import json
import os
import random
import re
import select
import shutil
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from allocpool import home
from allocpool.errors import UserError
from allocpool.files import open_lock, write_atomically
from allocpool.machine.guard import guarded, start_guard
from allocpool.machine.host import Host
from allocpool.machine.memory import memory_kills
from allocpool.runtimes.collectors import collector_named
from allocpool.strangers import printable
from allocpool.trial import record
from allocpool.trial.jvm_logs import JIT_LOG, log_fault, read_jit_log
from allocpool.trial.launch import Launcher
from allocpool.trial.noise import PaceMeter, Watch, disturbance
from allocpool.trial.spec import TrialSpec

_TAIL_LINES = 20
_LOOK_S = 0.5
_NO_MEMORY = re.compile(
    "cannot allocate memory|could not reserve enough space|could not allocate|insufficient memory|std::bad_alloc"
    "|MemoryError", re.IGNORECASE,
)  # fmt: skip
"""Last words of the C library, HotSpot, C++ and Python where memory ends outside of what is measured."""
_INHERITED = frozenset(
    ["PATH", "HOME", "USER", "TMPDIR", "TZ", "LANG", "LANGUAGE", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "PYTHONPATH"]
)
"""What a child inherits of this process's environment, after pyperf's list: nothing that changes how memory is
allocated or how a JVM runs. Some Python interpreters don't start without the library paths."""
_INHERITED_PREFIXES = ("LC_", "ALLOCPOOL_")
_T = TypeVar("_T")


@dataclass(frozen=True)
class Task:
    """A trial with its name and its folder."""

    trial_id: str
    spec: TrialSpec
    folder: Path
    attempt: int = 1

    def again(self) -> Task:
        """Return the second attempt, with another name and folder, so that both are kept."""
        name = f"{self.trial_id}-2"
        return Task(name, self.spec, self.folder.with_name(name), attempt=2)


def task_for(spec: TrialSpec, launcher: Launcher, host: Host, raw: Path) -> Task:
    """Name the trial; starts and builds nothing."""
    name = record.trial_id(spec, launcher.code_hash(spec), host.fingerprint())
    return Task(name, spec, raw / name)


def shuffled_in_blocks(items: Iterable[tuple[int, _T]], order_seed: int) -> list[_T]:
    """Return blocks in their order, the items of each in a random order that ``order_seed`` fixes."""
    blocks: dict[int, list[_T]] = defaultdict(list)
    for block, item in items:
        blocks[block].append(item)
    ordered: list[_T] = []
    for block in sorted(blocks):
        random.Random(f"{order_seed}/{block}").shuffle(blocks[block])
        ordered += blocks[block]
    return ordered


@contextmanager
def alone(folder: Path, patience_s: float = 0.0) -> Iterator[None]:
    """Hold the machine for measuring into ``folder``: a second campaign at the same time would spoil both. It is waited
    for ``patience_s`` seconds at most; then a UserError names its process and folder.

    The lock is one file for all users of the machine, ``ALLOCPOOL_LOCK`` or a name in ``/tmp`` that does not depend on
    the environment. It is free as soon as its process has died. UserError where it can't be opened, too.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = Path(os.environ.get("ALLOCPOOL_LOCK") or "/tmp/allocpool.lock")
    try:
        descriptor = open_lock(path)
    except OSError as error:
        raise UserError(f"the machine's lock {path} can't be opened ({error}): set ALLOCPOOL_LOCK to another") from None
    with os.fdopen(descriptor, "r+", encoding="utf-8", errors="replace") as lock:
        ends_s = time.monotonic() + patience_s
        while True:
            with suppress(OSError):
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            if time.monotonic() >= ends_s:
                holder = printable(lock.read(300)).strip() or "unknown"
                raise UserError(f"another campaign is measuring on this machine ({holder}): wait for it or stop it")
            time.sleep(0.1)
        lock.truncate(0)
        lock.write(f"process {os.getpid()}, into {folder}")
        lock.flush()
        yield


def run_trial(
    task: Task, launch: record.Launch, host: Host, meter: PaceMeter, disturbed_beyond: float | None = None
) -> record.TrialRecord:
    """Run one trial to its record; ``disturbed_beyond`` is the limit of `disturbance`. KeyboardInterrupt kills the
    child, leaves no record and is raised again."""
    if task.folder.exists():  # of an interrupted attempt
        shutil.rmtree(task.folder)
    task.folder.mkdir(parents=True)
    asked = {"spec": task.spec.model_dump(mode="json"), "launch": launch.model_dump(mode="json")}
    write_atomically(task.folder / record.SPEC, json.dumps(asked, indent=1))
    command = (sys.executable, "-m", "allocpool.trial.child", str(task.folder))
    load_before = os.getloadavg()[0]
    started = datetime.now(UTC).isoformat(timespec="milliseconds")
    watch = Watch(meter)
    begun_s = time.monotonic()
    kills_before = memory_kills()
    exit_code, interrupted = _run_child(command, task, launch)
    wall_s = time.monotonic() - begun_s
    noise, cpu_s = watch.close()
    status, reason, measurement = _outcome(task.folder, exit_code, task.spec)
    if status in ("killed", "crashed") and memory_kills() > kills_before:
        status, reason = "out_of_memory", "the kernel ended it: there was no memory left"
    logs = launch.jvm is not None and any(record.GC_LOG in flag for flag in launch.jvm.flags)
    if status == "ok" and (fault := interrupted or log_fault(task.folder / record.GC_LOG, measurement, logs)):
        status, reason = "invalid", fault
    noise = noise.model_copy(update=_compilations(task.folder, measurement))
    ended = record.TrialRecord(
        trial_id=task.trial_id, spec=asked["spec"], status=status, reason=reason,
        log_tail=None if status == "ok" else _tail(task.folder), measurement=measurement, launch=launch,
        command=command, exit_code=exit_code, host=host, started_utc=started, wall_s=wall_s, cpu_s=cpu_s,
        load_before=load_before, attempt=task.attempt, noise=noise, disturbed=disturbance(noise, disturbed_beyond),
        gc_log_bytes=record.size_of(task.folder / record.GC_LOG),
    )  # fmt: skip
    with suppress(FileNotFoundError), (task.folder / record.GC_LOG).open("rb") as log:
        os.fsync(log.fileno())  # a record vouches for its log, so it is not to be on disk before it
    write_atomically(task.folder / record.RESULT, ended.model_dump_json(indent=1))
    return ended.model_copy(update={"directory": str(task.folder)})


def _compilations(folder: Path, measurement: dict[str, Any] | None) -> dict[str, Any]:
    """Return what the JVM compiled in the measured window; nothing where a full disk swallowed lines of its log, which
    only stderr reports."""
    window = (measurement or {}).get("cpu")
    if window is None or f"file={JIT_LOG}" in _tail(folder):
        return {}
    return read_jit_log(folder / JIT_LOG, window["start_ns"], window["end_ns"])


def _run_child(command: Sequence[str], task: Task, launch: record.Launch) -> tuple[int | None, str | None]:
    """Return the exit status of the child (negative: the signal), None when it was given up on; and in words whether a
    signal interrupted it."""
    environment = child_environment(launch)
    with (task.folder / record.STDOUT).open("wb") as out, (task.folder / record.STDERR).open("wb") as err:
        start_guard()
        child = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
            cwd=task.folder, env=environment, start_new_session=True,
        )  # fmt: skip
        interrupted = None
        deadline_s = time.monotonic() + task.spec.allowed_seconds
        with guarded(child):
            while (left_s := deadline_s - time.monotonic()) > 0:
                if (status := _ended(child, min(_LOOK_S, left_s))) is not None:
                    return status, interrupted
                interrupted = interrupted or _stood_still(child.pid)
        return None, interrupted


def _ended(child: subprocess.Popen[bytes], seconds: float) -> int | None:
    """Return the exit status of the child, None when it has not ended after so many seconds.

    `Popen.wait` with a limit wakes up every 50 ms, within measured windows too. A process descriptor (Linux 5.3) lets
    this process sleep until the child ends.
    """
    try:
        descriptor = os.pidfd_open(child.pid)
    except (AttributeError, OSError):
        with suppress(subprocess.TimeoutExpired):
            child.wait(timeout=seconds)
    else:
        try:
            ends = select.poll()
            ends.register(descriptor, select.POLLIN)
            ends.poll(1000 * seconds)
        finally:
            os.close(descriptor)
    return child.poll()


def _stood_still(child: int) -> str | None:
    """Return in words whether a job-control signal has stopped the child, or continued it, since the last call."""
    with suppress(ChildProcessError):
        if os.waitid(os.P_PID, child, os.WSTOPPED | os.WCONTINUED | os.WNOHANG):
            return "a signal stopped it for a while"
    return None


def child_environment(launch: record.Launch) -> dict[str, str]:
    """Return the environment of a trial's process: what is inherited, and what the launch sets."""
    inherited = {
        name: value for name, value in os.environ.items() if name in _INHERITED or name.startswith(_INHERITED_PREFIXES)
    }
    search_path = os.pathsep.join([str(home.home() / "src"), *filter(None, [inherited.get("PYTHONPATH")])])
    return {**inherited, "ALLOCPOOL_PARENT": str(os.getpid()), "PYTHONPATH": search_path, **launch.environment}


def _outcome(
    folder: Path, exit_code: int | None, spec: TrialSpec
) -> tuple[record.Status, str | None, dict[str, Any] | None]:
    path = folder / record.MEASUREMENT
    if path.exists():
        measurement = json.loads(path.read_text(encoding="utf-8"))
        return measurement.pop("status"), measurement.pop("reason"), measurement
    if exit_code is None:
        return "timeout", f"did not end within {spec.allowed_seconds:g} s", None
    said = _tail(folder).strip().splitlines()
    collector = getattr(spec, "collector", None)
    if collector and collector_named(collector).exhausted_exit_status == exit_code:
        return "out_of_memory", f"{collector_named(collector).label} used up its heap", None
    if exit_code != -signal.SIGKILL and (last := next((line for line in said if _NO_MEMORY.search(line)), None)):
        return "out_of_memory", last, None
    if exit_code < 0:
        known = -exit_code in set(signal.Signals)  # a real-time signal has no name
        name = signal.Signals(-exit_code).name if known else f"signal {-exit_code}"
        if -exit_code in (signal.SIGKILL, signal.SIGTERM):
            return "killed", f"ended by {name}, not by this package", None
        return "crashed", f"ended by {name}", None
    return "failed", said[-1] if said else f"exit status {exit_code} without a word", None


def _tail(folder: Path) -> str:
    """Return the last lines of what the child printed, errors last."""
    paths = [path for name in (record.STDOUT, record.STDERR) if (path := folder / name).exists()]
    lines = [line for path in paths for line in path.read_text("utf-8", "replace").splitlines()[-_TAIL_LINES:]]
    return "\n".join(lines[-_TAIL_LINES:])
