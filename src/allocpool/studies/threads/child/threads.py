"""A trial on many threads: fill queues and stores, warm up, measure, then process what is left.

Between two parts all threads rest, and counters are read at rest. The parts are few: threads that share work by flows
end at slightly different times.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from allocpool.machine.perf import CREW_EVENTS, Counters
from allocpool.packets.child.workload import out_of_memory
from allocpool.studies.realtime.child.consumers import consumption_of, counted_delays, seen_by
from allocpool.studies.realtime.child.source import Source
from allocpool.studies.realtime.measurement import Consumption, Delays
from allocpool.studies.threads.child import ticks
from allocpool.studies.threads.measurement import ThreadsOutcome, Ticked
from allocpool.trial.child import jvm, native
from allocpool.trial.child.accounting import CpuWindow, monotonic_ns, peak_rss_mb
from allocpool.trial.child.counters import CppCounters, JavaCounters
from allocpool.trial.measurement import Iteration, OutOfMemory

_PARTS = 8
"""Of a measured window whose length is a number of packets."""
_LEAST_PART = 20_000
_TCP_ONE_IN = 16


class JavaWorkers(JavaCounters):
    """The Java workload, in this process through JPype."""

    def __init__(self, spec: dict[str, Any], launch: dict[str, Any]) -> None:
        jvm.start(launch)
        super().__init__(jvm.java_class("allocpool.threads.ThreadsTrial")(
            spec["topology"], spec["threads"], spec["layout"], spec["strategy"], spec["pool_size"],
            spec["queue_size"], spec["stored_count"], spec["seed"], spec["padded"],
        ))  # fmt: skip
        self._rings: Any = None

    def run(self, packets: int) -> Iteration:
        """Receive the next packets on all threads."""
        start_ns, end_ns = self._trial.run(packets)[:]
        return int(start_ns), int(end_ns), packets

    def consume(self, source: Source, yields: bool) -> list[tuple[Consumption, Delays]]:
        if self._rings is None:
            self._rings = jvm.java_class("java.util.ArrayList")()
            for ring in range(source.rings):
                self._rings.add(jvm.direct_buffer(source.memory(ring)))
        return [seen_by(consumer) for consumer in self._trial.consume(self._rings, yields)]

    def received_by_ring(self) -> list[int]:
        """Return the packets of each ring."""
        return [int(count) for count in self._trial.receivedByRing()]


class CppWorkers(CppCounters):
    """The C++ workload, in this process through cffi."""

    def __init__(self, spec: dict[str, Any], launch: dict[str, Any]) -> None:
        ffi, library = native.load(launch)
        self._rings = int(spec["threads"])
        names = {name: ffi.new("char[]", spec[name].encode()) for name in ("topology", "layout", "strategy")}
        sizes = {name: spec[name] for name in ("threads", "pool_size", "queue_size", "stored_count", "seed")}
        sizes["padded"] = int(spec["padded"])
        config = ffi.new("ap_threads_config*", names | sizes)
        error = ffi.new("char[]", native.MESSAGE_BYTES)
        handle = library.ap_threads_create(config, error, native.MESSAGE_BYTES)
        if handle == ffi.NULL:
            raise native.refusal(ffi.string(error).decode())
        super().__init__(ffi, library, "threads", handle)

    def run(self, packets: int) -> Iteration:
        part = self._ffi.new("ap_iteration*")
        self._call("run", packets, part)
        return part.start_ns, part.end_ns, packets

    def consume(self, source: Source, yields: bool) -> list[tuple[Consumption, Delays]]:
        seen = self._ffi.new("ap_consumption[]", source.rings)
        error = self._ffi.new("char[]", native.MESSAGE_BYTES)
        status = self._library.ap_threads_consume(
            self._handle, source.handle, yields, seen, source.rings, error, native.MESSAGE_BYTES
        )
        native.checked(self._library, status, self._ffi.string(error).decode(), out_of_memory="C++ new failed")
        delays = counted_delays(source)
        return [(consumption_of(source, seen[ring]), [] if ring else delays) for ring in range(source.rings)]

    def received_by_ring(self) -> list[int]:
        received = self._ffi.new("int64_t[]", self._rings)
        self._call("get_received", received, self._rings)
        return [int(count) for count in received]


Workers = JavaWorkers | CppWorkers


def workers_of(spec: dict[str, Any], launch: dict[str, Any]) -> Workers:
    """Return the threads of a trial, with what is prepared."""
    return JavaWorkers(spec, launch) if spec["language"] == "java" else CppWorkers(spec, launch)


def run(spec: dict[str, Any], launch: dict[str, Any], folder: Path) -> ThreadsOutcome | OutOfMemory:
    """Measure; an exhausted heap is an outcome and is returned as one."""
    try:
        # Before the threads, which it counts, too.
        with Counters(CREW_EVENTS if spec["counted"] else (), inherited=True) as counters:
            return _measure(spec, launch, folder, counters)
    except Exception as error:
        if outcome := out_of_memory(error, spec["language"]):
            return outcome
        raise


def _measure(spec: dict[str, Any], launch: dict[str, Any], folder: Path, counters: Counters) -> ThreadsOutcome:
    begun_ns = monotonic_ns()
    workers = workers_of(spec, launch)
    ready_ns = monotonic_ns()
    fill = _fill(spec)
    ticked: Ticked | None = None
    ring_fault = ""
    if spec["packets"] is not None:
        fill = min(fill, spec["packets"] // 2)
        filled = [workers.run(fill)] if fill else []
        warmup: list[Iteration] = []
        window = CpuWindow()
        counters.start()
        measured = [workers.run(part) for part in _parts(spec["packets"] - fill)]
    else:
        filled = [workers.run(fill)]
        warmup = _for_seconds(workers, spec["warmup_seconds"], filled)
        window = CpuWindow()
        counters.start()
        if spec["interval_ns"] is None:
            measured = _for_seconds(workers, spec["seconds"], [*filled, *warmup])
        else:
            interval_ns, seconds, warmup_s = spec["interval_ns"], spec["seconds"], spec["warmup_seconds"]
            source = ticks.WorkerWindows(spec, launch, folder, workers.consume, interval_ns, seconds + warmup_s)
            ticked, ring_fault = source.tick(interval_ns, seconds, warmup_s)
            figures = ticked["figures"]
            measured = [(figures["start_ns"], figures["end_ns"], figures["received"])]
    events = counters.stop()
    cpu = ticked["cpu"] if ticked else window.close()
    peak_mb = peak_rss_mb()
    at_end = workers.counts()
    workers.drain()
    fault = ring_fault or workers.audit()
    counts = workers.counts()
    if ticked:
        for name in ("generated", "lost", "left"):
            counts[name] += int(ticked["account"][name])
    outcome: ThreadsOutcome = {
        "status": "failed" if fault else "ok",
        "reason": f"audit: {fault}" if fault else None,
        "set_up_ns": ready_ns - begun_ns,
        "iterations": {"fill": filled, "warmup": warmup, "measured": measured},
        "cpu": cpu,
        "counts": counts,
        "checksum": f"{workers.checksum() & 0xFFFF_FFFF_FFFF_FFFF:016x}",
        "received_by_ring": workers.received_by_ring(),
        "live_at_end": at_end["live"],
        "held_at_end": at_end["live"] + at_end["pooled"] if at_end["pooled"] >= 0 else None,
        "peak_rss_mb": peak_mb,
        "ticked": ticked,
        "events": events,
    }
    workers.close()
    return outcome


def _fill(spec: dict[str, Any]) -> int:
    """As ``ThreadsSpec.fill_packets``."""
    stored = int(spec["stored_count"])
    return int(spec["queue_size"]) + _TCP_ONE_IN * (stored + math.ceil(4 * math.sqrt(stored)))


def _parts(packets: int) -> list[int]:
    """Return the packets of each part of a window: a few, none of them short."""
    count = max(1, min(_PARTS, packets // _LEAST_PART))
    return [packets * (i + 1) // count - packets * i // count for i in range(count)]


def _for_seconds(workers: Workers, seconds: float, before: list[Iteration]) -> list[Iteration]:
    """Parts of about an eighth of the time each, by the pace of the part before, until it has passed."""
    parts: list[Iteration] = []
    left_ns = round(seconds * 1e9)
    while left_ns > 0:
        start_ns, end_ns, packets = (parts or before)[-1]
        part_ns = min(left_ns, round(seconds * 1e9 / _PARTS))
        parts.append(workers.run(max(_LEAST_PART, round(packets * part_ns / max(1, end_ns - start_ns)))))
        left_ns -= parts[-1][1] - parts[-1][0]
    return parts
