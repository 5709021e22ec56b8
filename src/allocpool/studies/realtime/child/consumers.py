"""The consumers of the ring, in C++ and in Java."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

from hdrh.histogram import HdrHistogram

from allocpool.packets.child import workload as packets
from allocpool.studies.realtime.child.source import Source
from allocpool.studies.realtime.measurement import Consumption, Delays
from allocpool.trial.child import jvm, native


class CppConsumer:
    def __init__(self, work: packets.CppPackets) -> None:
        self._work = work

    def consume(self, source: Source, stall_at_ns: int, stall_ns: int) -> tuple[Consumption, Delays]:
        ffi, library = source.ffi, source.library
        config = ffi.new("ap_consumer_config*", {"max_ticks": 0, "stall_at_ns": stall_at_ns, "stall_ns": stall_ns})
        seen = ffi.new("ap_consumption*")
        error = ffi.new("char[]", native.MESSAGE_BYTES)
        status = library.ap_realtime_consume(
            source.handle, self._work.handle, config, seen, error, native.MESSAGE_BYTES
        )
        native.checked(library, status, ffi.string(error).decode())
        return consumption_of(source, seen), counted_delays(source)


class JavaConsumer:
    def __init__(self, work: packets.JavaPackets) -> None:
        self._trial = work.trial
        self._consumer: Any = None

    def consume(self, source: Source, stall_at_ns: int, stall_ns: int) -> tuple[Consumption, Delays]:
        if self._consumer is None:
            memory = jvm.direct_buffer(source.memory())
            self._consumer = jvm.java_class("allocpool.packets.RealtimeConsumer")(memory, self._trial)
        consumer = self._consumer
        consumer.consume(0, stall_at_ns, stall_ns)
        return seen_by(consumer)


def seen_by(consumer: Any) -> tuple[Consumption, Delays]:
    """What a ``RingConsumer`` of Java saw in its last run."""
    names = [str(name) for name in consumer.accountNames()]
    account = dict(zip(names, (int(value) for value in consumer.account()), strict=True))
    if not int(consumer.delayCount()):
        return account, []
    # Only with base64 around it does the port read the header of HdrHistogram's compressed interchange format.
    decoded = HdrHistogram.decode(b64encode(bytes(consumer.encodedDelays())))
    return account, [(i, int(decoded.counts[i])) for i in range(decoded.counts_len) if decoded.counts[i]]


def consumption_of(source: Source, seen: Any) -> Consumption:
    """An ``ap_consumption`` as plain data."""
    names = [name for name, _ in source.ffi.typeof("ap_consumption").fields]
    return {name: int(getattr(seen, name)) for name in names}


def counted_delays(source: Source) -> Delays:
    """What consumers in C++ recorded in the last run."""
    length = source.ffi.new("int64_t*")
    counts = source.library.ap_realtime_delays(source.handle, length)
    return [(i, n) for i, n in enumerate(source.ffi.unpack(counts, length[0])) if n]
