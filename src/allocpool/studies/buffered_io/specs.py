"""What an echo trial states: a server, its way of doing I/O, and the load on it; and what this machine allows.

A connection costs whatever a server keeps for it: a stack, buffers held for life or taken when needed, encoders,
sockets. The published study ("Java buffered IO memory", realcomp) held up to 30,000 of them.
"""

from __future__ import annotations

import resource
import socket
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from allocpool.errors import OneOf, UserError, unknown_choice
from allocpool.machine.memory import available_memory_mb
from allocpool.packets.specs import DEFAULT_COLLECTOR, DEFAULT_RUNTIME, SET_UP_S
from allocpool.runtimes.collectors import require_combination
from allocpool.trial.spec import CollectorName, Jvm, Needs, RuntimeNumber, TrialSpec

Server = Literal["java", "cpp"]
Threads = Literal["platform", "virtual"]

READERS = ("buffered_reader", "observed_reader")
BLOCKING = (*READERS, "buffered_stream", "stream")
"""Java's ways of one thread per connection."""
IO: dict[str, tuple[str, ...]] = {
    "java": (*BLOCKING, "nio_buffer_per_connection", "nio_pooled", "netty_pooled", "netty_unpooled"),
    "cpp": ("threads", "epoll"),
}
EVERY_IO = tuple(name for names in IO.values() for name in names)
_LABELS = {
    "buffered_reader": "BufferedReader",
    "observed_reader": "BufferedReader, size observed",
    "buffered_stream": "BufferedStream",
    "stream": "plain stream",
    "nio_buffer_per_connection": "NIO, own buffer",
    "nio_pooled": "NIO, pooled",
    "netty_pooled": "Netty, pooled",
    "netty_unpooled": "Netty, unpooled",
}
"""Ways of doing I/O in words."""
BUFFERED = {"buffered_reader": "char", "buffered_stream": "byte"}
"""The ways that have a buffer of selectable size, and what its size counts."""
THREADS: tuple[Threads, ...] = ("platform", "virtual")
FIRST_WITH_VIRTUAL_THREADS = 21
FIRST_WITH_CPU_SAMPLES = 25
DEFAULT_BUFFER = 8192
MESSAGE_BYTES = 512
MOST_CONNECTIONS = 60_000
HEAP_MB = 1024
_GRACE_S = 60.0
_SMALL_HEAP_MB = 4
"""Where a heap starts that may grow and shrink: about what a JVM itself keeps alive, or it would hide small slopes."""

_THREADS = (
    ("pid_max", "/proc/sys/kernel/pid_max", "raise with `sysctl kernel.pid_max=4194304`"),
    ("threads-max", "/proc/sys/kernel/threads-max", "raise with `sysctl kernel.threads-max=200000`"),
    ("pids of this control group", "/sys/fs/cgroup/pids.max", "raise with `docker run --pids-limit`, or pids.max"),
    ("pids of this control group", "/sys/fs/cgroup/pids/pids.max", "raise with `docker run --pids-limit`, or pids.max"),
)
"""Ceilings of threads: name, file, remedy."""


def _of_java(default: int | str) -> Any:
    """A field whose default is this one for Java and None for C++."""
    return lambda spec: default if spec["server"] == "java" else None


class EchoSpec(TrialSpec):
    """One server, so many connections, one message rate over all of them."""

    CHILD: ClassVar[str] = "allocpool.studies.buffered_io.child.echo"

    mode: Literal["echo"] = "echo"
    server: Server = "java"
    io: Annotated[str, OneOf("io", EVERY_IO)]
    buffer: int | None = Field(
        default_factory=lambda spec: DEFAULT_BUFFER if spec["io"] in BUFFERED else None,
        ge=1,
        le=1 << 20,
        description="chars or bytes, where io has one",
    )
    threads: Threads | None = Field(
        default_factory=lambda spec: "platform" if spec["io"] in BLOCKING else None,
        description="of the blocking ways of Java",
    )
    runtime: RuntimeNumber | None = Field(default_factory=_of_java(DEFAULT_RUNTIME))
    collector: CollectorName | None = Field(default_factory=_of_java(DEFAULT_COLLECTOR))
    heap_mb: int | None = Field(
        default_factory=_of_java(HEAP_MB), ge=64, description="-Xmx; the heap starts small and grows"
    )
    connections: int = Field(ge=1, le=MOST_CONNECTIONS, description="open at once")
    rate: float = Field(
        default_factory=lambda spec: float(spec["connections"]),
        gt=0,
        le=1e6,
        description="messages per second in all; left out: one a second on each connection",
    )
    message_bytes: int = Field(default=MESSAGE_BYTES, ge=2, le=65_536, description="newline included")
    seconds: float = Field(gt=0, le=3600, description="measured, after the warm-up")
    warmup_seconds: float = Field(default=1.0, ge=0, le=600, description="messages that are checked and not counted")
    addresses: int = Field(default=16, ge=1, le=250, description="loopback addresses that the connections come from")
    port: int = Field(default=0, ge=0, le=65_535, description="of 127.0.0.1; 0: any free one")
    seed: int = Field(default=1, ge=0, lt=2**53, description="of the messages")
    profiled: bool = Field(
        default=False, description="sample the processor time of a reader's server; no cost of such a trial counts"
    )

    @model_validator(mode="after")
    def _holds_together(self) -> Self:
        if self.io not in IO[self.server]:
            raise ValueError(str(unknown_choice(f"io of server {self.server}", self.io, IO[self.server])))
        if self.buffer is not None and self.io not in BUFFERED:
            ways = ", ".join(BUFFERED)
            raise ValueError(f"io {self.io} has no buffer of a size to choose: leave buffer out, or choose io {ways}")
        if self.threads is not None and self.io not in BLOCKING:
            ways = ", ".join(BLOCKING)
            raise ValueError(f"io {self.io} has its own threads: leave threads out, or choose io {ways}")
        if self.profiled and not (self.io in READERS and (self.runtime or 0) >= FIRST_WITH_CPU_SAMPLES):
            raise ValueError(
                "profiled trials sample processor time in BufferedReader.read: choose profiled=false, or io "
                f"{', '.join(READERS)} and runtime {FIRST_WITH_CPU_SAMPLES} or newer"
            )
        if self.server == "cpp":
            java_only = {"runtime": self.runtime, "collector": self.collector, "heap_mb": self.heap_mb}
            if wrong := [key for key, value in java_only.items() if value is not None]:
                raise ValueError(f"{', '.join(wrong)} belong to server java")
            return self
        require_combination(self.collector, self.runtime)
        if self.threads == "virtual" and (self.runtime or 0) < FIRST_WITH_VIRTUAL_THREADS:
            raise ValueError(
                f"runtime {self.runtime} has no virtual threads: choose runtime 21 or newer, or threads=platform"
            )
        return self

    @property
    def variant(self) -> Variant:
        """The way of doing I/O."""
        return Variant(self.server, self.io, self.buffer, self.threads, self.runtime)

    @property
    def thread_per_connection(self) -> bool:
        """Whether each connection has a thread of the operating system."""
        return self.threads == "platform" or self.io == "threads"

    def needs(self) -> Needs:
        """The load generator is native whatever the server is."""
        if self.server == "cpp":
            return Needs(native="echo")
        jvm = Jvm(
            module="echo", runtime=self.runtime or 0, collector=self.collector or "", heap_mb=self.heap_mb or 0,
            initial_heap_mb=_SMALL_HEAP_MB, unsafe=self.io.startswith("netty"),
        )  # fmt: skip
        return Needs(jvm=jvm, native="echo")

    def refused_here(self) -> str | None:
        most, name, remedy = min(_limits(self))
        if self.connections > most:
            return f"connections {self.connections}: choose 1 to {most} (limited by {name}; {remedy})"
        if self.port and _taken(self.port):
            return f"port {self.port} of 127.0.0.1 is taken: choose another, or 0 for any free one"
        return None

    def longest_seconds(self) -> float:
        return _GRACE_S + 3 * (self.seconds + self.warmup_seconds) + 4 * self.connections / 1000

    def cell_name(self) -> str:
        return f"{self.variant.label} ({self.connections} connections{', profiled' if self.profiled else ''})"

    def expected_seconds(self) -> float:
        opening_s = self.connections / 5000
        return SET_UP_S[self.server] + 0.5 + 2 * opening_s + self.warmup_seconds + self.seconds


@dataclass(frozen=True)
class Variant:
    """A way of doing I/O."""

    server: str
    io: str
    buffer: int | None = None
    threads: str | None = None
    runtime: int | None = None

    @classmethod
    def parse(cls, text: str) -> Variant:
        """Read ``java/IO[:BUFFER]/[THREADS/]RUNTIME`` or ``cpp/IO``, as the profiles write them.

        Raises:
            UserError: another form, or an unknown word; names the valid ones. Threads are `EchoSpec`'s to check.
        """
        server, _, rest = text.partition("/")
        way, *options = rest.split("/")
        io, colon, buffer = way.partition(":")
        if server not in IO:
            raise unknown_choice("server", server, IO)
        if io not in IO[server]:
            raise unknown_choice(f"io of server {server}", io, IO[server])
        wanted = 0 if server == "cpp" else 2 if io in BLOCKING else 1
        numbers = [*options[-1:], *([buffer] if colon else [])]
        if len(options) != wanted or (colon and io not in BUFFERED) or not all(map(str.isdigit, numbers)):
            size = "[:BUFFER]" if io in BUFFERED else ""
            form = ("", "/RUNTIME", "/THREADS/RUNTIME")[wanted]
            raise UserError(f"variant {text!r} is not {server}/{io}{size}{form}")
        size_or_none = int(buffer) if colon else DEFAULT_BUFFER if io in BUFFERED else None
        threads = options[0] if wanted == 2 else None
        return cls(server, io, size_or_none, threads, int(options[-1]) if options else None)

    def settings(self) -> dict[str, Any]:
        """The keys of a spec that this variant sets."""
        return {key: value for key, value in asdict(self).items() if value is not None}

    @property
    def label(self) -> str:
        """The name of the row, as tables and plots print it."""
        if self.server == "cpp":
            return self.way
        return " / ".join([self.way, *([self.threads] if self.threads else []), str(self.runtime)])

    @property
    def way(self) -> str:
        """The way of doing I/O in words, with the size of its buffer."""
        if self.server == "cpp":
            return f"C++ {'thread per connection' if self.io == 'threads' else self.io}"
        return _LABELS[self.io] + (f" {self.buffer}" if self.buffer else "")


def _limits(spec: EchoSpec) -> Iterator[tuple[int, str, str]]:
    """So many connections fit, by which limit, and how it is raised. Nothing is used up to find out: that would
    disturb everyone on the machine."""
    # The server itself has up to 300: libraries, jars, logs, epoll. The load generator has fewer.
    descriptors = _descriptors()
    remedy = "raise with `ulimit -Hn`, or nofile in /etc/security/limits.conf"
    yield descriptors - 300, f"{descriptors} file descriptors a process", remedy
    low, high = _numbers("/proc/sys/net/ipv4/ip_local_port_range") or (32_768, 60_999)
    ports = (high - low + 1) // 2  # those of an earlier trial may still be in TIME_WAIT
    remedy = "raise with addresses=250, or `sysctl net.ipv4.ip_local_port_range='1024 65535'`"
    yield ports * spec.addresses, f"{ports} free ports on each of {spec.addresses} addresses", remedy
    # In the kernel two sockets and a thread's stack; a thread at most, with what its connection keeps; then buffers.
    stack_kib = {"java": 128, "cpp": 32}[spec.server] if spec.thread_per_connection else 8
    buffer = spec.message_bytes if spec.io == "observed_reader" else spec.buffer or 0
    each = (24 + stack_kib) * 1024 + (4 * buffer + 2 * 8192 if spec.io in READERS else 2 * buffer)
    available_mb, remedy = available_memory_mb(), "use a machine with more memory"
    yield max(0, available_mb - 512) * 2**20 // each, f"{available_mb} MB of available memory", remedy
    if not spec.thread_per_connection:
        return
    # The fourth field of /proc/loadavg ends in the number of threads of the machine (proc(5)).
    others = 200 + int(Path("/proc/loadavg").read_text().split()[3].partition("/")[2])
    user = _allowed(resource.RLIMIT_NPROC)
    yield user - others, f"{user} threads of this user", "raise with `ulimit -u`, or nproc in /etc/security/limits.conf"
    for name, path, remedy in _THREADS:
        for most in _numbers(path)[:1]:
            yield most - others, f"{most} {name}", remedy
    for most in _numbers("/proc/sys/vm/max_map_count"):
        # A stack, and its guard pages, which are HotSpot's own in Java.
        remedy = "raise with `sysctl vm.max_map_count=1048576`"
        yield (most - 3000) // 2, f"{most} memory maps a process", remedy


def _allowed(kind: int, hard: bool = False) -> int:
    """The limit of this process; the server raises its soft one where it may."""
    limit = resource.getrlimit(kind)[hard]
    return 1 << 30 if limit == resource.RLIM_INFINITY else limit


def _descriptors() -> int:
    """File descriptors that a process may have: the hard limit, or the kernel's own where the limit may be raised."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):
        for most in _numbers("/proc/sys/fs/nr_open"):
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, most))
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
            return most
    return _allowed(resource.RLIMIT_NOFILE, hard=True)


def _numbers(path: str) -> list[int]:
    """The numbers that a file of the kernel holds; none where it is missing or has no limit."""
    try:
        return [int(word) for word in Path(path).read_text().split()]
    except (OSError, ValueError):
        return []


def _taken(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return True
    return False
