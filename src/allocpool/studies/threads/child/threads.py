"""A trial on many threads: fill queues and stores, warm up, measure, then process what is left. Or the same before a
simulated cache.

Between two parts all threads rest, and counters are read at rest. The parts are few: threads that share work by flows
end at slightly different times. In real time one source sends its ticks, by the hash of their flow, into a ring for
each worker, or into the one ring of the receiver.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from allocpool.machine.perf import CREW_EVENTS, Counters
from allocpool.packets.child.workload import out_of_memory
from allocpool.studies.realtime.child import consumers
from allocpool.studies.realtime.child.realtime import Windows
from allocpool.studies.realtime.child.source import Flows, Source
from allocpool.studies.realtime.measurement import Consumption, Delays
from allocpool.studies.threads.measurement import SharingOutcome, ThreadsOutcome, Ticked
from allocpool.trial.child import jvm, native
from allocpool.trial.child.accounting import CpuWindow, monotonic_ns, peak_rss_mb
from allocpool.trial.child.counters import CppCounters, JavaCounters
from allocpool.trial.measurement import Iteration, OutOfMemory

_PARTS = 8
"""Of a measured window whose length is a number of packets."""
_LEAST_PART = 20_000


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
        """Take ticks out of the rings until the source has finished; return what the consumer of each ring saw."""
        if self._rings is None:
            self._rings = jvm.java_class("java.util.ArrayList")()
            for ring in range(source.rings):
                self._rings.add(jvm.direct_buffer(source.memory(ring)))
        return [consumers.seen_by(consumer) for consumer in self._trial.consume(self._rings, yields)]

    def received_by_ring(self) -> list[int]:
        """Return the packets of each ring."""
        return [int(count) for count in self._trial.receivedByRing()]


class CppWorkers(CppCounters):
    """The C++ workload, in this process through cffi."""

    def __init__(self, spec: dict[str, Any], launch: dict[str, Any]) -> None:
        ffi, library = native.load(launch)
        self._rings = int(spec["threads"])
        settings = _settings(ffi, spec)
        config = ffi.new("ap_threads_config*", settings)
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
        delays = consumers.counted_delays(source)
        return [(consumers.consumption_of(source, seen[ring]), [] if ring else delays) for ring in range(source.rings)]

    def received_by_ring(self) -> list[int]:
        received = self._ffi.new("int64_t[]", self._rings)
        self._call("get_received", received, self._rings)
        return [int(count) for count in received]


Workers = JavaWorkers | CppWorkers


def _settings(ffi: Any, spec: dict[str, Any]) -> dict[str, Any]:
    """Return what both C++ configurations have; its texts must be kept for as long as they are read."""
    names = {name: ffi.new("char[]", spec[name].encode()) for name in ("topology", "layout", "strategy")}
    sizes = {name: spec[name] for name in ("threads", "pool_size", "queue_size", "stored_count", "seed")}
    return names | sizes | {"padded": int(spec["padded"])}


class WorkerWindows(Windows):
    """Workers with their source; all threads are the one consumer that a run of the source has."""

    def __init__(self, spec: dict[str, Any], launch: dict[str, Any], folder: Path, workers: Workers) -> None:
        self._watch(spec, folder)
        self._packets_at_least = 0.0
        self._rings = spec["threads"] if spec["topology"] == "sharded" else 1
        self._workers, self._yields = workers, spec["source_yields"]
        flows = Flows(rings=self._rings, seed=spec["seed"], yields=self._yields)
        longest_s = spec["seconds"] + spec["warmup_seconds"]
        self._source = Source(launch, self._capacity(spec["interval_ns"]), longest_s, flows=flows)
        self._consumer = self

    def _capacity(self, interval_ns: float) -> int:
        """Of each ring: the input queue is divided between them."""
        return max(1, super()._capacity(interval_ns) // self._rings)

    def consume(self, source: Source, stall_at_ns: int, stall_ns: int) -> tuple[Consumption, Delays]:
        """Return the sum over the rings."""
        assert not stall_ns, "threads don't stop on purpose"
        accounts, histograms = zip(*self._workers.consume(source, self._yields), strict=True)
        delays: Counter[int] = Counter()
        for buckets in histograms:
            delays.update(dict(buckets))
        ends = {"last_sequence": max, "start_ns": min, "measured_start_ns": max, "end_ns": max}
        summed: Any = {name: ends.get(name, sum)(one[name] for one in accounts) for name in accounts[0]}
        summed["stalled_ns"] = 0
        return summed, sorted(delays.items())

    def tick(self) -> tuple[Ticked, str]:
        """Run the source; with one line on what is wrong, empty when nothing is."""
        seconds = self._spec["seconds"]
        window, fault = self.measure(
            self._spec["interval_ns"], seconds, seconds, self._spec["warmup_seconds"], majors=0
        )
        rings = self._source.ring_counters()
        received = sum(ring["received"] for ring in rings)
        if not fault and received != window["figures"]["received"]:
            fault = f"rings gave {received} ticks, and {window['figures']['received']} were received"
        return {**window, "rings": rings}, fault


def run(spec: dict[str, Any], launch: dict[str, Any], folder: Path) -> ThreadsOutcome | SharingOutcome | OutOfMemory:
    """Measure; an exhausted heap is an outcome and is returned as one."""
    if spec["mode"] == "threads_sharing":
        return _simulate(spec, launch)
    try:
        # Before the threads, which it counts, too.
        with Counters(CREW_EVENTS if spec["counted"] else (), inherited=True) as counters:
            return _measure(spec, launch, folder, counters)
    except Exception as error:
        if outcome := out_of_memory(error, spec["language"]):
            return outcome
        raise


def _simulate(spec: dict[str, Any], launch: dict[str, Any]) -> SharingOutcome:
    """Fill queues and stores, then count the misses that sharing causes, by what the code was doing."""
    ffi, library = native.load(launch)
    settings = _settings(ffi, spec) | {"turn": spec["turn"], "fill": spec["fill"]}
    config = ffi.new("ap_sharing_config*", settings | {"packets": spec["packets"] - spec["fill"]})
    outcome, error = ffi.new("ap_sharing_outcome*"), ffi.new("char[]", native.MESSAGE_BYTES)
    if library.ap_sharing_run(config, outcome, error, native.MESSAGE_BYTES) != 0:
        raise ValueError(ffi.string(error).decode() or "the native library refused the run")
    kinds = [name for name, _ in ffi.typeof("ap_sharing_misses").fields]
    misses = {
        place: {kind: int(getattr(getattr(outcome, place), kind)) for kind in kinds}
        for place, field in ffi.typeof("ap_sharing_outcome").fields
        if field.type.kind == "struct"
    }
    return {
        "status": "ok", "reason": None, "misses": misses, "received": outcome.received, "freed": outcome.freed,
        "remote_frees": outcome.remote_frees, "checksum": f"{outcome.checksum:016x}",
    }  # fmt: skip


def _measure(spec: dict[str, Any], launch: dict[str, Any], folder: Path, counters: Counters) -> ThreadsOutcome:
    begun_ns = monotonic_ns()
    workers = (JavaWorkers if spec["language"] == "java" else CppWorkers)(spec, launch)
    ready_ns = monotonic_ns()
    by_packets = spec["packets"] is not None
    fill = min(spec["fill"], spec["packets"] // 2) if by_packets else spec["fill"]
    filled = [workers.run(fill)] if fill else []
    warmup = [] if by_packets else _for_seconds(workers, spec["warmup_seconds"], filled)
    window = CpuWindow()
    counters.start()
    ticked: Ticked | None = None
    ring_fault = ""
    if by_packets:
        measured = [workers.run(part) for part in _parts(spec["packets"] - fill)]
    elif spec["interval_ns"] is None:
        measured = _for_seconds(workers, spec["seconds"], [*filled, *warmup])
    else:
        ticked, ring_fault = WorkerWindows(spec, launch, folder, workers).tick()
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
        counts |= {name: counts[name] + int(ticked["account"][name]) for name in ("generated", "lost", "left")}
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
