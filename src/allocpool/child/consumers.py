"""The consumers of the ring, in C++ and in Java, behind one face."""

from __future__ import annotations

from typing import Any

from allocpool.child import native, packets
from allocpool.child.source import Consumer, Delays, Source


class CppConsumer:
    """Hands each tick to a C++ processor, or only reads."""

    def __init__(self, work: packets.CppPackets | None) -> None:
        self._work = work

    def consume(self, source: Source, stall_at_ns: int, stall_ns: int) -> tuple[dict[str, int], Delays]:
        """See ``Consumer``."""
        ffi, library = source.ffi, source.library
        config = ffi.new("ap_consumer_config*", {"max_ticks": 0, "stall_at_ns": stall_at_ns, "stall_ns": stall_ns})
        seen = ffi.new("ap_consumption*")
        error = ffi.new("char[]", native.MESSAGE_BYTES)
        handle = self._work.handle if self._work else ffi.NULL
        if library.ap_realtime_consume(source.handle, handle, config, seen, error, native.MESSAGE_BYTES):
            line = ffi.string(error).decode()
            raise MemoryError(line) if line.startswith("out of memory") else ValueError(line)
        length = ffi.new("int64_t*")
        counts = library.ap_realtime_delays(source.handle, length)
        delays = [(i, n) for i, n in enumerate(ffi.unpack(counts, length[0])) if n]
        return {name: int(getattr(seen, name)) for name, _ in ffi.typeof("ap_consumption").fields}, delays


def consumer_of(work: Any) -> Consumer:
    """The consumer that feeds this processor."""
    return CppConsumer(work)


def reader(language: str, launch: dict[str, Any]) -> Consumer:
    """A consumer that only reads."""
    return CppConsumer(None)
