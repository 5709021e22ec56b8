"""How many connections this machine allows a server, by each of its limits, and how each is raised.

Everything is read, nothing is tried: to use up threads or descriptors would disturb everyone on the machine.
"""

from __future__ import annotations

import resource
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

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
"""Resident memory of a thread at most, with what its connection keeps besides the buffers."""
_NO_LIMIT = 1 << 30
_THREADS = (
    ("pid_max", "/proc/sys/kernel/pid_max", "raise with `sysctl kernel.pid_max=4194304`"),
    ("threads-max", "/proc/sys/kernel/threads-max", "raise with `sysctl kernel.threads-max=200000`"),
    ("pids of this control group", "/sys/fs/cgroup/pids.max", "raise with `docker run --pids-limit`, or pids.max"),
    ("pids of this control group", "/sys/fs/cgroup/pids/pids.max", "raise with `docker run --pids-limit`, or pids.max"),
)
"""Ceilings of threads: name, file, remedy."""


class Limit(NamedTuple):
    """One limit of the machine: so many connections fit; how to raise it."""

    connections: int
    name: str
    remedy: str


def refusal(spec: EchoSpec) -> str | None:
    """Return one line on why this machine can't hold the connections of a trial, or None when it can."""
    tightest = min(_limits(spec))
    if spec.connections > tightest.connections:
        return (
            f"connections {spec.connections}: choose 1 to {tightest.connections} "
            f"(limited by {tightest.name}; {tightest.remedy})"
        )
    if spec.port and _taken(spec.port):
        return f"port {spec.port} of 127.0.0.1 is taken: choose another, or 0 for any free one"
    return None


def _limits(spec: EchoSpec) -> Iterator[Limit]:
    descriptors = _allowed(resource.RLIMIT_NOFILE, hard=True)
    yield Limit(descriptors - _OTHER_DESCRIPTORS, f"{descriptors} file descriptors a process",
                "raise with `ulimit -Hn`, or nofile in /etc/security/limits.conf")  # fmt: skip
    low, high = _numbers("/proc/sys/net/ipv4/ip_local_port_range") or (32_768, 60_999)
    ports = (high - low + 1) // 2  # those of an earlier trial may still be in TIME_WAIT
    yield Limit(ports * spec.addresses, f"{ports} free ports on each of {spec.addresses} addresses",
                "raise with addresses=250, or `sysctl net.ipv4.ip_local_port_range='1024 65535'`")  # fmt: skip
    available_mb = available_memory_mb()
    yield Limit(max(0, available_mb - 512) * 2**20 // _bytes_each(spec), f"{available_mb} MB of available memory",
                "use a machine with more memory")  # fmt: skip
    if not spec.thread_per_connection:
        return
    others = _running_threads() + _OTHER_THREADS
    user = _allowed(resource.RLIMIT_NPROC)
    yield Limit(user - others, f"{user} threads of this user",
                "raise with `ulimit -u`, or nproc in /etc/security/limits.conf")  # fmt: skip
    for name, path, remedy in _THREADS:
        for most in _numbers(path)[:1]:
            yield Limit(most - others, f"{most} {name}", remedy)
    for most in _numbers("/proc/sys/vm/max_map_count"):
        yield Limit((most - _OTHER_MAPS) // _MAPS_PER_THREAD[spec.server], f"{most} memory maps a process",
                    "raise with `sysctl vm.max_map_count=1048576`")  # fmt: skip


def _bytes_each(spec: EchoSpec) -> int:
    each = _KERNEL_BYTES_PER_CONNECTION + (_STACK_BYTES[spec.server] if spec.thread_per_connection else 8 * 1024)
    if spec.io == "buffered_reader":
        return each + 2 * 2 * (spec.buffer or 0) + 2 * 8192
    return each + 2 * (spec.buffer or 0)


def _allowed(kind: int, hard: bool = False) -> int:
    """The limit of this process; the server raises its soft one where it may."""
    limit = resource.getrlimit(kind)[hard]
    return _NO_LIMIT if limit == resource.RLIM_INFINITY else limit


def _numbers(path: str) -> list[int]:
    """The numbers that a file of the kernel holds; none where it is missing or has no limit."""
    try:
        return [int(word) for word in Path(path).read_text().split()]
    except (OSError, ValueError):
        return []


def _running_threads() -> int:
    """Threads of the machine now: the fourth field of /proc/loadavg ends in their number (proc(5))."""
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
