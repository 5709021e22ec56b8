"""The echo study as its specification sees it: servers, their ways of doing I/O, and the load on them.

A connection costs whatever a server keeps for it: a stack, buffers held for life or taken when needed, encoders,
sockets. The published study ("Java buffered IO memory", realcomp) held up to 30,000 of them.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from allocpool.errors import OneOf, UserError, unknown_choice
from allocpool.packets.specs import DEFAULT_COLLECTOR, DEFAULT_RUNTIME, SET_UP_S
from allocpool.runtimes.collectors import require_combination
from allocpool.studies.buffered_io import limits
from allocpool.trial.spec import CollectorName, Jvm, Needs, RuntimeNumber, TrialSpec

Server = Literal["java", "cpp"]
Threads = Literal["platform", "virtual"]

BLOCKING = ("buffered_reader", "buffered_stream", "stream")
"""Java's ways of one thread per connection."""
IO: dict[str, tuple[str, ...]] = {
    "java": (*BLOCKING, "nio_buffer_per_connection", "nio_pooled", "netty_pooled", "netty_unpooled"),
    "cpp": ("threads", "epoll"),
}
EVERY_IO = tuple(name for names in IO.values() for name in names)
BUFFERED = {"buffered_reader": "char", "buffered_stream": "byte"}
"""The ways that have a buffer of selectable size, and what its size counts."""
THREADS: tuple[Threads, ...] = ("platform", "virtual")
FIRST_WITH_VIRTUAL_THREADS = 21
DEFAULT_BUFFER = 8192
MESSAGE_BYTES = 512
MOST_CONNECTIONS = 60_000
LARGEST_BUFFER = 1 << 20
HEAP_MB = 1024
_CONNECTIONS_PER_S = 5000.0
_GRACE_S = 60.0
_SMALL_HEAP_MB = 4
"""Where a heap starts that may grow and shrink: about what a JVM itself keeps alive, or it would hide small slopes."""


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
        le=LARGEST_BUFFER,
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
        return limits.refusal(self)

    def longest_seconds(self) -> float:
        return _GRACE_S + 3 * (self.seconds + self.warmup_seconds) + 4 * self.connections / 1000

    def cell_name(self) -> str:
        return f"{self.variant.label} ({self.connections} connections)"

    def expected_seconds(self) -> float:
        opening_s = self.connections / _CONNECTIONS_PER_S
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
        return LABELS[self.io] + (f" {self.buffer}" if self.buffer else "")


LABELS = {
    "buffered_reader": "BufferedReader",
    "buffered_stream": "BufferedStream",
    "stream": "plain stream",
    "nio_buffer_per_connection": "NIO, own buffer",
    "nio_pooled": "NIO, pooled",
    "netty_pooled": "Netty, pooled",
    "netty_unpooled": "Netty, unpooled",
}
"""Ways of doing I/O in words."""
