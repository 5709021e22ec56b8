"""An echo trial: a server in this process, its load in another, memory and CPU of this one.

Connections are opened, kept active for the warm-up and the measured window, and then held open and idle while memory is
looked at: first as the load left it, then after a full collection, with what both heaps had free given back.
"""

from __future__ import annotations

import json
import os
import resource
import select
import subprocess
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, cast

from allocpool.studies.buffered_io.child import footprint
from allocpool.studies.buffered_io.measurement import EchoOutcome, Load, Samples
from allocpool.trial.child import jvm, native
from allocpool.trial.child.accounting import CpuWindow, monotonic_ns
from allocpool.trial.measurement import Failure

COUNTS = ("accepted", "closed", "messages", "oversize", "refused")
_SAMPLE_S = 0.1
_CLOSING_S = 10.0
_PER_CONNECTION_S = 0.004
_DRAIN_S = 5.0
"""For what was due and not sent in time; then as long again for what is on its way."""
_HOLD_S = 600
_GRACE_S = 10.0
_SPARE_DESCRIPTORS = 16
"""What a JVM opens for itself in that time."""
_OWN_DESCRIPTORS = 300
"""What a server has without a connection, at most."""


class LoadFailed(RuntimeError):
    """The generator ended, or fell silent, before it reported its result; one line."""


class Generator:
    """The load generator: another process, so that what it needs is not counted as the server's.

    It ends with this process, when its input ends, and by its own time limits.
    """

    def __init__(self, program: str, **options: float) -> None:
        words = [f"{name}={value}" for name, value in options.items()]
        self._process = subprocess.Popen([program, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._pending = b""

    def close(self) -> None:
        """End it at once."""
        self._process.kill()
        self._process.wait()

    def poll(self, timeout_s: float) -> dict[str, Any] | None:
        """Return the next event, or None when there is none within the time; LoadFailed where there will be none."""
        assert self._process.stdout is not None
        while b"\n" not in self._pending:  # a long line comes in parts
            if not select.select([self._process.stdout], [], [], timeout_s)[0]:
                return None
            read = os.read(self._process.stdout.fileno(), 1 << 16)
            if not read:
                status = self._process.wait()
                ended = f"signal {-status}" if status < 0 else f"exit status {status}"
                raise LoadFailed(f"the load generator died in the middle of the run ({ended})")
            self._pending += read
        line, _, self._pending = self._pending.partition(b"\n")
        return cast(dict[str, Any], json.loads(line))

    def expect(self, event: str, timeout_s: float) -> dict[str, Any]:
        """Return this event; LoadFailed where the generator died, reported something else, or nothing in time."""
        message = self.poll(timeout_s)
        if message is None:
            raise LoadFailed(f"the load generator did not report {event!r} within {timeout_s:g} s")
        if message["event"] == "closed" and message["connect_failed"]:
            raise LoadFailed(f"{message['connect_failed']} connections could not be opened: {message['first_failure']}")
        if message["event"] != event:
            raise LoadFailed(f"the load generator reported {message['event']!r} in place of {event!r}")
        return message

    def end(self) -> dict[str, Any]:
        """Let it close its connections, and return its last event."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        message = self.expect("closed", _GRACE_S)
        self._process.wait(_GRACE_S)
        return message


class JavaServer:
    """A Java server, in this process through JPype; it listens when it is made."""

    def __init__(self, spec: dict[str, Any], launch: dict[str, Any]) -> None:
        jvm.start(launch)
        self._io = spec["io"]
        self._server = jvm.java_class("allocpool.echo.EchoServer").start(
            spec["io"], spec["buffer"] or 0, spec["threads"] or "", spec["connections"],
            spec["message_bytes"], spec["port"],
        )  # fmt: skip
        self.port = int(self._server.port())

    def counts(self) -> dict[str, int]:
        """Return what happened since its start, by `COUNTS`."""
        return dict(zip(COUNTS, (int(count) for count in self._server.counts()), strict=True))

    def heap(self) -> dict[str, float]:
        """Return the Java heap as the load left it."""
        return footprint.java_heap()

    def parts(self) -> dict[str, int]:
        """Return bytes in use by what they are part of, after a full collection."""
        footprint.let_heap_shrink()
        # The only large byte arrays of readers and writers are those between socket and decoder, encoder and socket.
        byte_arrays = "codec" if self._io.endswith("_reader") else "byte_buffer"
        bytes_by_kind = footprint.heap_by_kind(jvm.class_histogram(), byte_arrays)
        bytes_by_kind["stack"] += self.stacks_bytes()
        bytes_by_kind["direct"] = int(self._server.directBytes())
        bytes_by_kind["native"] = (footprint.c_heap_bytes() or 0) - bytes_by_kind["direct"]
        bytes_by_kind["code"] = footprint.code_and_metadata_bytes()
        return bytes_by_kind

    def stacks_bytes(self) -> int:
        """Return resident bytes of the stacks of its threads."""
        return footprint.stacks_bytes(footprint.java_stack_bytes())

    def stop(self) -> None:
        """Close every connection and end every thread."""
        self._server.stop()


class CppServer:
    """A C++ server, in this process through cffi: as `JavaServer`, without a heap."""

    def __init__(self, spec: dict[str, Any], launch: dict[str, Any]) -> None:
        self._ffi, self._library = native.load(launch)
        error = self._ffi.new("char[]", native.MESSAGE_BYTES)
        self._handle = self._library.ap_echo_start(
            spec["io"].encode(), spec["port"], spec["message_bytes"], error, native.MESSAGE_BYTES
        )
        if self._handle == self._ffi.NULL:
            raise OSError(self._ffi.string(error).decode())
        self.port = int(self._library.ap_echo_port(self._handle))

    def counts(self) -> dict[str, int]:
        counts = self._ffi.new("ap_echo_counts*")
        if self._library.ap_echo_get_counts(self._handle, counts) != self._library.AP_ECHO_OK:
            raise OSError("the server does not report its counts")
        return {name: int(getattr(counts, name)) for name in COUNTS}

    def heap(self) -> dict[str, float]:
        return {}

    def parts(self) -> dict[str, int]:
        return {"stack": self.stacks_bytes(), "native": footprint.c_heap_bytes() or 0}

    def stacks_bytes(self) -> int:
        return footprint.stacks_bytes(footprint.native_stack_bytes())

    def stop(self) -> None:
        self._library.ap_echo_stop(self._handle)


Server = JavaServer | CppServer


def start(spec: dict[str, Any], launch: dict[str, Any]) -> Server:
    """Start the server that the spec names, in a process that may open as many descriptors as it is allowed to."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    if (needed := spec["connections"] + _OWN_DESCRIPTORS) > hard != resource.RLIM_INFINITY:
        with suppress(ValueError, OSError):  # not allowed: the trial would have been refused
            resource.setrlimit(resource.RLIMIT_NOFILE, (needed, needed))
    return JavaServer(spec, launch) if spec["server"] == "java" else CppServer(spec, launch)


def run(spec: dict[str, Any], launch: dict[str, Any], folder: Path) -> EchoOutcome | Failure:
    """Measure; a generator that dies and a port that is taken are outcomes and are returned as such."""
    try:
        server = start(spec, launch)
    except Exception as error:
        reason = str(error).strip().splitlines()[0].removeprefix("java.io.IOException: ")
        return {"status": "failed", "reason": reason}
    try:
        return _measure(spec, launch["native"]["programs"]["allocpool_load"], server, folder)
    except LoadFailed as failure:
        return {"status": "failed", "reason": str(failure)}
    finally:
        server.stop()


def _measure(spec: dict[str, Any], program: str, server: Server, folder: Path) -> EchoOutcome:
    descriptors = _descriptors()
    patience_s = _CLOSING_S + spec["connections"] * _PER_CONNECTION_S
    stated = ("connections", "rate", "message_bytes", "warmup_seconds", "seconds", "seed", "addresses")
    options = {name: spec[name] for name in stated} | {
        "port": server.port, "connect_seconds": patience_s, "drain_seconds": _DRAIN_S, "hold_seconds": _HOLD_S,
    }  # fmt: skip
    # Platform threads wait for their connections already: what they cost before there is any.
    idle = {"idle_rss_mb": footprint.settle(1, patience_s=2.0, steady_s=0.06)} if spec["threads"] == "platform" else {}
    profile = jvm.java_class("allocpool.echo.CpuProfile")() if spec["profiled"] else None
    with closing(Generator(program, **options)) as load:
        load.expect("connected", 2 * patience_s)
        load.expect("measuring", spec["warmup_seconds"] + patience_s)
        if profile:
            profile.start()
        window = CpuWindow()
        samples, result = _sampled(load, spec["seconds"] + 2 * _DRAIN_S + patience_s)
        cpu = window.close()
        sampled = _samples(profile, folder) if profile else None
        memory = footprint.rollup() | server.heap()
        stacks = server.stacks_bytes()
        parts = server.parts()
        footprint.trim_c_heap()
        footprint.settle(-1, patience_s=3.0, steady_s=0.2)
        collected = {f"collected_{name}": value for name, value in (footprint.rollup() | server.heap()).items()}
        threads = len(os.listdir("/proc/self/task"))
        last = load.end()
    counts = _settled(server, descriptors + _SPARE_DESCRIPTORS, patience_s)
    fault = _fault(spec, last, counts, _descriptors() - descriptors)
    return {
        "status": "failed" if fault else "ok",
        "reason": fault,
        "load": {**result, "dropped": last["dropped"], "errors": last["errors"]},
        "cpu": cpu,
        "cpu_percent": samples,
        "memory": {**idle, **memory, **collected},
        "parts": parts,
        "stacks_bytes": stacks,
        "threads": threads,
        "counts": counts,
        "samples": sampled,
    }


def _sampled(load: Generator, patience_s: float) -> tuple[list[float], Load]:
    """CPU of this process but for this thread, percent of one processor, by sample until the window is over."""
    samples: list[float] = []
    give_up_ns = monotonic_ns() + round(patience_s * 1e9)
    before = _server_cpu_ns(), monotonic_ns()
    while monotonic_ns() < give_up_ns:
        result = load.poll(_SAMPLE_S)
        now = _server_cpu_ns(), monotonic_ns()
        if now[1] - before[1] >= _SAMPLE_S * 0.9e9 or (result is not None and not samples):
            samples.append(100 * (now[0] - before[0]) / (now[1] - before[1]))
            before = now
        if result is not None:
            return samples, cast(Load, result)
    raise LoadFailed(f"the load generator did not report its result within {patience_s:g} s")


def _samples(profile: Any, folder: Path) -> Samples:
    """End a profile, whose recording stays in the folder."""
    counts = profile.stop(str(folder.absolute() / "cpu.jfr"), "java.io.BufferedReader", "read")
    return {"samples": int(counts[0]), "in_read": int(counts[1])}


def _server_cpu_ns() -> int:
    return time.process_time_ns() - time.thread_time_ns()


def _descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def _settled(server: Server, descriptors: int, patience_s: float) -> dict[str, int]:
    """The server's counts when it has closed every connection, or has had time enough for it.

    A selector gives descriptors back at its next selection, a moment after the connection was closed.
    """
    give_up_ns = monotonic_ns() + round(patience_s * 1e9)
    counts = server.counts()
    while monotonic_ns() < give_up_ns and (counts["closed"] < counts["accepted"] or _descriptors() > descriptors):
        time.sleep(0.01)
        counts = server.counts()
    return counts


def _fault(spec: dict[str, Any], load: dict[str, Any], counts: dict[str, int], more_descriptors: int) -> str | None:
    """What the counters of server and load generator disagree in, or what went wrong; None when nothing did."""
    faults = {
        "connections were dropped by the server": load["dropped"],
        "messages came back wrong": load["wrong"],
        "messages were not answered": load["unanswered"],
        "connections could not be opened": load["connect_failed"],
        "accepts failed": counts["refused"],
        "messages were called too long": counts["oversize"],
        "connections more or less at the server than at the client": abs(counts["accepted"] - spec["connections"]),
        "connections were never closed by the server": counts["accepted"] - counts["closed"],
        "messages more or less at the server than at the client": abs(counts["messages"] - load["echoed"]),
        "descriptors were not given back": more_descriptors if more_descriptors > _SPARE_DESCRIPTORS else 0,
    }
    reasons = [f"{count} {what}" for what, count in faults.items() if count]
    return "; ".join(reasons) or None
