"""The packets workload in this process, in either language."""

from __future__ import annotations

import math
import sys
from typing import Any

from allocpool.machine.allocators import ALLOCATORS
from allocpool.packets.measurement import Memory
from allocpool.trial.child import jvm, memory, native
from allocpool.trial.child.accounting import peak_rss_mb
from allocpool.trial.measurement import Iteration, OutOfMemory


class JavaPackets:
    """The Java workload, through JPype."""

    def __init__(self, spec: dict[str, Any], launch: dict[str, Any], max_iterations: int) -> None:
        jvm.start(launch)
        sizes = jvm.java_class("allocpool.packets.Sizes")(
            spec["pool_size"], spec["slot_count"], spec["queue_size"], spec["stored_count"],
            *([spec["buffer_bytes"]] if "buffer_bytes" in spec else []),
        )  # fmt: skip
        options = jvm.java_class("allocpool.packets.Options")(
            spec["seed"], spec["steps"], spec["pool_order"] == "aged", spec["pool_reuse"] == "fifo",
            spec["payload_touch"], spec["lean_view"], spec["detached"],
        )  # fmt: skip
        self.trial = jvm.java_class("allocpool.packets.BatchTrial")(
            spec["layout"], spec["strategy"], sizes, options, max_iterations
        )

    def run_packets(self, packets: int, iteration_packets: int) -> list[Iteration]:
        return _triples(self.trial.runPackets(packets, iteration_packets))

    def run_for(self, duration_ns: int, iteration_ns: int) -> list[Iteration]:
        return _triples(self.trial.runFor(duration_ns, iteration_ns))

    def counts(self) -> dict[str, int]:
        """Return what happened since the start of the trial."""
        names = [str(name) for name in self.trial.countNames()]
        return dict(zip(names, (int(count) for count in self.trial.counts()), strict=True))

    def allocated_bytes(self) -> int | None:
        """Return what the latest run allocated on the Java heap, in this thread; None in C++."""
        return int(self.trial.allocatedBytes())

    def checksum(self) -> str:
        """Return sixteen hex digits over everything parsed and stored."""
        return f"{int(self.trial.checksum()) & 0xFFFF_FFFF_FFFF_FFFF:016x}"

    def disorder_bytes(self) -> float | None:
        """Return the mean distance in memory, bytes, of packets that the queue yields one after the other, of a sample
        of at most 10,000; None where there are no two or their addresses can't be had."""
        mean = float(self.trial.disorderBytes())
        return None if math.isnan(mean) else mean

    def audit(self) -> str:
        """Return one line on what is wrong with FIFO, store and pool; empty when nothing is."""
        return str(self.trial.audit())

    def live_objects(self) -> int | None:
        """Return the objects that a full collection leaves on the heap, the JVM's included; None without one."""
        return jvm.live_objects()

    def memory(self) -> Memory:
        return {"huge_pages_mb": memory.huge_pages_mb()}


class CppPackets:
    """The C++ workload, through cffi; methods as of `JavaPackets`."""

    def __init__(self, spec: dict[str, Any], launch: dict[str, Any], max_iterations: int) -> None:
        self._ffi, self._library = native.load(launch)
        self._records = self._ffi.new("ap_iteration[]", max_iterations)
        self._version: str | None = None
        if spec["allocator"] in ALLOCATORS:
            self._version = memory.allocator_version(spec["allocator"]) if sys.platform == "linux" else None
        elif spec["allocator"] == "boost_pool":
            self._version = self._ffi.string(self._library.ap_boost_version()).decode()
        names = {key: spec[key] for key in ("layout", "strategy", "steps")} | {"memory": library_memory(spec)}
        sizes = {key: spec[key] for key in ("pool_size", "queue_size", "stored_count", "seed", "payload_touch")}
        sizes |= {"aged": spec["pool_order"] == "aged", "fifo": spec["pool_reuse"] == "fifo"}
        # The library reads the names while it creates: until then they must be kept.
        texts = {key: self._ffi.new("char[]", name.encode()) if name else self._ffi.NULL for key, name in names.items()}
        config = self._ffi.new("ap_packets_config*", texts | sizes)
        error = self._ffi.new("char[]", native.MESSAGE_BYTES)
        self.handle = self._library.ap_packets_create(config, error, native.MESSAGE_BYTES)
        if self.handle == self._ffi.NULL:
            raise native.refusal(self._ffi.string(error).decode())

    def run_packets(self, packets: int, iteration_packets: int) -> list[Iteration]:
        return self._recorded(self._library.ap_packets_run_packets, packets, iteration_packets)

    def run_for(self, duration_ns: int, iteration_ns: int) -> list[Iteration]:
        return self._recorded(self._library.ap_packets_run_for, duration_ns, iteration_ns)

    def counts(self) -> dict[str, int]:
        counts = self._ffi.new("ap_packets_counts*")
        native.checked(self._library, self._library.ap_packets_get_counts(self.handle, counts))
        return {name: int(getattr(counts, name)) for name, _ in self._ffi.typeof("ap_packets_counts").fields}

    def allocated_bytes(self) -> int | None:
        return None

    def checksum(self) -> str:
        checksum = self._ffi.new("uint64_t*")
        native.checked(self._library, self._library.ap_packets_get_checksum(self.handle, checksum))
        return f"{int(checksum[0]):016x}"

    def disorder_bytes(self) -> float | None:
        mean = self._ffi.new("double*")
        native.checked(self._library, self._library.ap_packets_get_disorder(self.handle, mean))
        return float(mean[0]) if mean[0] >= 0 else None

    def audit(self) -> str:
        message = self._ffi.new("char[]", native.MESSAGE_BYTES)
        native.checked(self._library, self._library.ap_packets_audit(self.handle, message, native.MESSAGE_BYTES))
        return str(self._ffi.string(message).decode())

    def live_objects(self) -> int | None:
        return None

    def memory(self) -> Memory:
        region = self._ffi.new("ap_region*")
        native.checked(self._library, self._library.ap_packets_get_region(self.handle, region))
        return {
            "huge_pages_mb": memory.huge_pages_mb(),
            "region_mb": region.bytes / 2**20 if region.bytes else None,
            "allocator_version": self._version,
        }

    def _recorded(self, run: Any, length: int, iteration: int) -> list[Iteration]:
        written = run(self.handle, length, iteration, self._records, len(self._records))
        native.checked(self._library, written, out_of_memory="C++ new failed")
        records = self._records
        return [(records[i].start_ns, records[i].end_ns, records[i].packets) for i in range(written)]


Packets = JavaPackets | CppPackets


def library_memory(spec: dict[str, Any]) -> str | None:
    """Return the memory resource to ask the library for; None where ``new`` serves, preloaded or not."""
    return None if spec["allocator"] in ALLOCATORS else str(spec["allocator"])


def _triples(flat: Any) -> list[Iteration]:
    values = [int(value) for value in flat[:]]
    return list(zip(values[0::3], values[1::3], values[2::3], strict=True))


def make(spec: dict[str, Any], launch: dict[str, Any], max_iterations: int) -> Packets:
    """Return the workload that the spec names, set up in this process."""
    return (JavaPackets if spec["language"] == "java" else CppPackets)(spec, launch, max_iterations)


def out_of_memory(error: Exception, language: str) -> OutOfMemory | None:
    """Return the outcome of a trial that ended with an exhausted heap, or None when the error is another one."""
    if isinstance(error, MemoryError) or (language == "java" and jvm.is_out_of_memory(error)):
        reason = str(error).strip().splitlines()[0]
        return {"status": "out_of_memory", "reason": reason, "peak_rss_mb": peak_rss_mb()}
    return None
