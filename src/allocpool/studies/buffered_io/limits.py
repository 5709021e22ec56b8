"""How many connections this machine allows a server, by each of its limits, and how each is raised.

Everything is read, nothing is tried: a machine whose threads or descriptors were used up to find the limit would be of
no use to anyone in that time.
"""

from __future__ import annotations

import resource
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from allocpool.machine.memory import available_memory_mb

if TYPE_CHECKING:
    from allocpool.studies.buffered_io.specs import EchoSpec

_OTHER_DESCRIPTORS = 300
"""Of the server's process: libraries, jars, logs, epoll. The load generator has fewer."""
_OTHER_THREADS = 200
_OTHER_MAPS = 3000
_MAPS_PER_THREAD = {"java": 3, "cpp": 2}
"""A stack, its guard pages, and HotSpot's zones inside it."""
_KERNEL_BYTES_PER_CONNECTION = 24 * 1024
"""Two sockets in the kernel, a kernel stack where there is a thread: outside the process, and needed all the same."""
_STACK_BYTES = {"java": 128 * 1024, "cpp": 32 * 1024}
"""Resident memory of a thread at most, with what its connection keeps beside the buffers."""
_NO_LIMIT = 1 << 30


@dataclass(frozen=True)
class Limit:
    """One limit of the machine: so many ``connections`` fit, and ``remedy`` says how to raise it."""

    name: str
    connections: int
    remedy: str


def limits(spec: EchoSpec) -> list[Limit]:
    """What bounds the connections of a trial like this one, the tightest first."""
    bounds = [_descriptors(), _ports(spec), _memory(spec)]
    if spec.thread_per_connection:
        bounds += [*_threads(), *_maps(spec)]
    return sorted(bounds, key=lambda limit: limit.connections)


def refusal(spec: EchoSpec) -> str | None:
    """One line that says why this machine can't hold the connections of a trial, or None when it can."""
    tightest = limits(spec)[0]
    if spec.connections > tightest.connections:
        return (
            f"connections {spec.connections}: choose 1 to {tightest.connections} "
            f"(limited by {tightest.name}; {tightest.remedy})"
        )
    if spec.port and _taken(spec.port):
        return f"port {spec.port} of 127.0.0.1 is taken: choose another, or 0 for any free one"
    return None


def _descriptors() -> Limit:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = _NO_LIMIT if hard == resource.RLIM_INFINITY else max(soft, hard)
    return Limit(
        f"{allowed} file descriptors a process",
        allowed - _OTHER_DESCRIPTORS,
        "raise with `ulimit -Hn`, or nofile in /etc/security/limits.conf",
    )


def _threads() -> list[Limit]:
    soft, _ = resource.getrlimit(resource.RLIMIT_NPROC)
    ceilings = {
        "pid_max": (_number("/proc/sys/kernel/pid_max"), "raise with `sysctl kernel.pid_max=4194304`"),
        "threads-max": (_number("/proc/sys/kernel/threads-max"), "raise with `sysctl kernel.threads-max=200000`"),
        "threads of this user": (
            None if soft == resource.RLIM_INFINITY else soft,
            "raise with `ulimit -u`, or nproc in /etc/security/limits.conf",
        ),
        "pids of this control group": (_control_group_pids(), "raise with `docker run --pids-limit`, or pids.max"),
    }
    running = _running_threads()
    return [
        Limit(f"{value} {name}", value - running - _OTHER_THREADS, remedy)
        for name, (value, remedy) in ceilings.items()
        if value is not None
    ]


def _maps(spec: EchoSpec) -> list[Limit]:
    most = _number("/proc/sys/vm/max_map_count")
    if most is None:
        return []
    connections = (most - _OTHER_MAPS) // _MAPS_PER_THREAD[spec.server]
    return [Limit(f"{most} memory maps a process", connections, "raise with `sysctl vm.max_map_count=1048576`")]


def _ports(spec: EchoSpec) -> Limit:
    path = Path("/proc/sys/net/ipv4/ip_local_port_range")
    low, high = (int(word) for word in path.read_text().split()) if path.exists() else (32_768, 60_999)
    ports = (high - low + 1) // 2  # those of an earlier trial may still be in TIME_WAIT
    return Limit(
        f"{ports} free ports on each of {spec.addresses} addresses",
        ports * spec.addresses,
        "raise with addresses=250, or `sysctl net.ipv4.ip_local_port_range='1024 65535'`",
    )


def _memory(spec: EchoSpec) -> Limit:
    available_mb = available_memory_mb()
    each = _KERNEL_BYTES_PER_CONNECTION + (_STACK_BYTES[spec.server] if spec.thread_per_connection else 8 * 1024)
    if spec.io == "buffered_reader":
        each += 2 * 2 * (spec.buffer or 0) + 2 * 8192
    elif spec.io == "buffered_stream":
        each += 2 * (spec.buffer or 0)
    spare_mb = max(0, available_mb - 512)
    return Limit(f"{available_mb} MB of available memory", spare_mb * 2**20 // each, "use a machine with more memory")


def _number(path: str) -> int | None:
    try:
        return int(Path(path).read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return None


def _control_group_pids() -> int | None:
    for path in ("/sys/fs/cgroup/pids.max", "/sys/fs/cgroup/pids/pids.max"):
        if (pids_max := _number(path)) is not None:
            return pids_max
    return None


def _running_threads() -> int:
    """Threads of the whole machine now: the fourth field of /proc/loadavg ends in their number (proc(5))."""
    try:
        return int(Path("/proc/loadavg").read_text().split()[3].partition("/")[2])
    except (OSError, ValueError, IndexError):
        return 0


def _taken(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return True
    return False
