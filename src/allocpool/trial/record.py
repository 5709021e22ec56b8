"""The record of one trial: what was asked, what happened, on which machine, with which code."""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
import sys
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from allocpool.errors import UserError
from allocpool.machine.host import Host
from allocpool.trial.noise import Noise
from allocpool.trial.spec import Frozen, TrialSpec

Status = Literal[
    "ok", "failed", "out_of_memory", "crashed", "timeout", "killed", "invalid", "unavailable", "disturbed"
]  # fmt: skip
"""Tables call a trial ``disturbed`` that another attempt stands in for, so that no figure counts both; its record keeps
how it ended."""

RESULT = "result.json"
SPEC = "spec.json"
MEASUREMENT = "measurement.json"
STDOUT = "stdout.txt"
STDERR = "stderr.txt"
GC_LOG = "gc.log"


_Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]
_ODD_NUMBER = re.compile(rb"NaN|Infinity|[\s\[:,][-0-9.]*(?:[0-9][eE]\+?[0-9]{3}|[0-9]{21})")
"""Text of a record that may be read as no finite number of 64 bits; so rare that few records are walked."""


class JvmLaunch(Frozen):
    """How the child starts its JVM."""

    libjvm: str
    version: str
    flags: tuple[str, ...]
    classpath: tuple[str, ...]
    compiler: str


class NativeLaunch(Frozen):
    """The native library that the child loads, the programs that it starts, and how they were compiled."""

    library: str
    header: str
    compiler: str
    compiler_flags: str
    programs: dict[str, str] = Field(default={})


class Launch(Frozen):
    """What a child needs in addition to its spec; depends on this machine, so it is no part of the spec.

    Attributes:
        child: the module that measures.
        larger_heap: the JVM of a search's second heap, or in one line why this machine can't run it.
    """

    code_hash: str
    child: str = ""
    jvm: JvmLaunch | None = None
    native: NativeLaunch | None = None
    larger_heap: JvmLaunch | str | None = None
    environment: dict[str, str] = Field(default={})


class TrialRecord(Frozen):
    """The content of ``result.json``, written last and atomically: a trial without it never took place.

    Attributes:
        attempt: 2 where the first attempt was disturbed; the trial id then ends in ``-2``.
        disturbed: what disturbed the trial beyond its campaign's limit, in words.
        gc_log_bytes: size of the JVM's log when the trial had ended; None without one.
    """

    format: Literal[2] = 2
    """A record with another one is of another version of this package, and is not read."""
    trial_id: str
    spec: dict[str, Any]
    status: Status
    reason: str | None = None
    log_tail: str | None = None
    measurement: dict[str, Any] | None = None
    launch: Launch
    command: tuple[str, ...]
    exit_code: int | None
    host: Host
    started_utc: str
    wall_s: _Amount
    cpu_s: _Amount
    load_before: _Amount
    attempt: int = 1
    noise: Noise | None = None
    disturbed: str | None = None
    gc_log_bytes: int | None = None
    directory: str = ""

    def __hash__(self) -> int:
        """Hash its name, so that what is computed of a record can be cached."""
        return hash(self.trial_id)


def trial_id(spec: TrialSpec, code_hash: str, host_id: str) -> str:
    """Return the name of a trial: 16 hex digits of SHA-256 over its spec, the code that it runs and the host; not over
    the time-out, which never changes what is measured."""
    stated = json.dumps(spec.model_dump(mode="json", exclude={"timeout_s"}), sort_keys=True)
    return hashlib.sha256(f"{stated}\n{code_hash}\n{host_id}".encode()).hexdigest()[:16]


def unavailable_record(spec: TrialSpec, reason: str, host: Host) -> TrialRecord:
    """Return the record of a planned trial that this machine can't run; it is never stored."""
    return TrialRecord(
        trial_id=trial_id(spec, "unavailable", host.fingerprint()), spec=spec.model_dump(mode="json"),
        status="unavailable", reason=reason, launch=Launch(code_hash=""), command=(), exit_code=None, host=host,
        started_utc="", wall_s=0.0, cpu_s=0.0, load_before=0.0,
    )  # fmt: skip


def read_record(directory: Path) -> TrialRecord | None:
    """Return the record in a trial's folder; None when the trial did not finish, or, with a line on stderr, when it
    can't be read."""
    try:
        return checked_record(directory)
    except UserError as error:
        return unreadable(directory / RESULT, str(error))


def checked_record(directory: Path) -> TrialRecord | None:
    """Return the record in a trial's folder, None when there is none; UserError where it can't be read."""
    path = f"{directory}/{RESULT}"  # of many records, making Path objects takes as long as reading them
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return None
    if not stat.S_ISREG(mode):  # a pipe would be waited for
        raise UserError("it is no file")
    try:
        with open(path, "rb") as file:
            content = file.read()
        record = TrialRecord.model_validate_json(content)
        if _ODD_NUMBER.search(content):
            _check_numbers(record.model_dump(include={"measurement", "noise"}), "record")
    except ValidationError as error:
        reason = error.errors()[0]
        raise UserError(": ".join(filter(None, [".".join(map(str, reason["loc"])), reason["msg"]]))) from None
    except (OSError, ValueError) as error:
        raise UserError(str(error)) from None
    if record.trial_id != directory.name:
        raise UserError(f"it is of trial {record.trial_id}")
    if record.gc_log_bytes is not None and size_of(directory / GC_LOG) != record.gc_log_bytes:
        raise UserError(f"its {GC_LOG} is not what the trial left")
    return record.model_copy(update={"directory": str(directory)})


def _check_numbers(value: Any, where: str) -> None:
    """Check that every number inside is finite and has 64 bits at most; UserError, which names its place, otherwise."""
    if isinstance(value, dict | list | tuple):
        for name, inner in value.items() if isinstance(value, dict) else enumerate(value):
            _check_numbers(inner, f"{where}.{name}")
    elif isinstance(value, float | int) and not -(2**63) <= value < 2**64:
        raise UserError(f"{where} is no number that can be measured")


def size_of(path: Path) -> int | None:
    """Return the size of a file in bytes; None where there is none."""
    try:
        return path.stat().st_size
    except OSError:
        return None


@cache
def unreadable(path: Path, reason: str) -> None:
    """Print once of each record that it counts as not run."""
    print(f"allocpool: {path} can't be read and counts as not run: {' '.join(reason.split())}", file=sys.stderr)
