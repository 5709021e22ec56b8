"""A trial on many threads: fill queues and stores, warm up, measure, then process what is left.

Between two parts all threads rest, so that what is counted is counted at rest. The parts are few: threads that share
work by flows end at slightly different times.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, Protocol

from allocpool.machine.perf import CREW_EVENTS, Counters
from allocpool.packets.child.workload import out_of_memory
from allocpool.studies.realtime.child.consumers import consumption_of, counted_delays, seen_by
from allocpool.studies.realtime.child.source import Source
from allocpool.studies.realtime.measurement import Prologue
from allocpool.studies.threads.child import ticks
from allocpool.studies.threads.measurement import ThreadsOutcome, ThreadsStretches, Ticked
from allocpool.trial.child import jvm, native
from allocpool.trial.child.accounting import CpuWindow, monotonic_ns, peak_rss_mb
from allocpool.trial.child.books import Books, CppBooks, JavaBooks
from allocpool.trial.measurement import Iteration, OutOfMemory

_PARTS = 8
"""Of a measured stretch whose length is a number of packets."""
_LEAST_PART = 20_000
_TCP_ONE_IN = 16


class Crew(ticks.Crew, Books, Protocol):
    """The workload on its threads, whichever language does the work."""

    def run(self, packets: int) -> Iteration:
        """Receive the next packets on all threads."""

    def received_by_ring(self) -> list[int]:
        """Packets of each ring."""


class JavaCrew(JavaBooks):
    """The Java workload, in this process through JPype."""

    def __init__(self, spec: dict[str, Any], launch: dict[str, Any]) -> None:
        jvm.start(launch)
        super().__init__(jvm.java_class("allocpool.threads.ThreadsTrial")(
            spec["topology"], spec["threads"], spec["layout"], spec["strategy"], spec["pool_size"],
            spec["queue_size"], spec["stored_count"], spec["seed"], spec["padded"],
        ))  # fmt: skip
        self._rings: Any = None

    def run(self, packets: int) -> Iteration:
        start_ns, end_ns = self._trial.run(packets)[:]
        return int(start_ns), int(end_ns), packets

    def consume(self, source: Source, yields: bool) -> ticks.Seen:
        if self._rings is None:
            self._rings = jvm.java_class("java.util.ArrayList")()
            for ring in range(source.rings):
                self._rings.add(jvm.direct_buffer(source.memory(ring)))
        return [seen_by(consumer) for consumer in self._trial.consume(self._rings, yields)]

    def received_by_ring(self) -> list[int]:
        return [int(count) for count in self._trial.receivedByRing()]


class CppCrew(CppBooks):
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

    def consume(self, source: Source, yields: bool) -> ticks.Seen:
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


def crew_of(spec: dict[str, Any], launch: dict[str, Any]) -> Crew:
    """The threads of a trial, with what is prepared."""
    return JavaCrew(spec, launch) if spec["language"] == "java" else CppCrew(spec, launch)


def prologue_of(crew: Crew, spec: dict[str, Any]) -> Prologue:
    """Fill queues and stores, then go on for the warm-up."""
    filled = [crew.run(_fill(spec))]
    return {"fill": filled, "warmup": _for_seconds(crew, spec["warmup_seconds"], filled)}


def checksum_of(crew: Crew) -> str:
    """Sixteen hex digits."""
    return f"{crew.checksum() & 0xFFFF_FFFF_FFFF_FFFF:016x}"


def run(spec: dict[str, Any], launch: dict[str, Any], folder: Path) -> ThreadsOutcome | OutOfMemory:
    """Measure; an exhausted heap is an outcome and is returned as one."""
    try:
        return _measure(spec, launch, folder)
    except Exception as error:
        if outcome := out_of_memory(error, spec["language"]):
            return outcome
        raise


def _measure(spec: dict[str, Any], launch: dict[str, Any], folder: Path) -> ThreadsOutcome:
    # Before the threads, which it counts, too.
    with Counters(CREW_EVENTS if spec["counted"] else (), inherited=True) as counters:
        return _measured(spec, launch, folder, counters)


def _measured(spec: dict[str, Any], launch: dict[str, Any], folder: Path, counters: Counters) -> ThreadsOutcome:
    begun_ns = monotonic_ns()
    crew = crew_of(spec, launch)
    ready_ns = monotonic_ns()
    fill = _fill(spec)
    ticked: Ticked | None = None
    ring_fault = ""
    if spec["packets"] is not None:
        fill = min(fill, spec["packets"] // 2)
        filled = [crew.run(fill)] if fill else []
        warmup: list[Iteration] = []
        window = CpuWindow()
        counters.start()
        measured = [crew.run(part) for part in _parts(spec["packets"] - fill)]
    else:
        prologue = prologue_of(crew, spec)
        filled, warmup = prologue["fill"], prologue["warmup"]
        window = CpuWindow()
        counters.start()
        if spec["interval_ns"] is None:
            measured = _for_seconds(crew, spec["seconds"], [*filled, *warmup])
        else:
            ticked, ring_fault = _tick(spec, launch, folder, crew)
            figures = ticked["figures"]
            measured = [(figures["start_ns"], figures["end_ns"], figures["received"])]
    events = counters.stop()
    cpu = ticked["cpu"] if ticked else window.close()
    peak_mb = peak_rss_mb()
    at_end = crew.counts()
    crew.drain()
    fault = ring_fault or crew.audit()
    counts = crew.counts()
    if ticked:
        for name in ("generated", "lost", "left"):
            counts[name] += int(ticked["account"][name])
    stretches: ThreadsStretches = {"fill": filled, "warmup": warmup, "measured": measured}
    outcome: ThreadsOutcome = {
        "status": "failed" if fault else "ok",
        "reason": f"audit: {fault}" if fault else None,
        "set_up_ns": ready_ns - begun_ns,
        "iterations": stretches,
        "cpu": cpu,
        "counts": counts,
        "checksum": checksum_of(crew),
        "received_by_ring": crew.received_by_ring(),
        "live_at_end": at_end["live"],
        "held_at_end": at_end["live"] + at_end["pooled"] if at_end["pooled"] >= 0 else None,
        "peak_rss_mb": peak_mb,
        "ticked": ticked,
        "events": events,
    }
    crew.close()
    return outcome


def _tick(spec: dict[str, Any], launch: dict[str, Any], folder: Path, crew: Crew) -> tuple[Ticked, str]:
    """The threads in real time, at the interval of the trial."""
    interval_ns, seconds, warmup_s = spec["interval_ns"], spec["seconds"], spec["warmup_seconds"]
    stretches = ticks.CrewStretches(spec, launch, folder, crew, interval_ns, seconds + warmup_s)
    return stretches.tick(interval_ns, seconds, warmup_s)


def _fill(spec: dict[str, Any]) -> int:
    """As ``ThreadsSpec.fill_packets``."""
    stored = int(spec["stored_count"])
    return int(spec["queue_size"]) + _TCP_ONE_IN * (stored + math.ceil(4 * math.sqrt(stored)))


def _parts(packets: int) -> list[int]:
    """Packets of each part of a stretch: a few, none of them short."""
    count = max(1, min(_PARTS, packets // _LEAST_PART))
    return [packets * (i + 1) // count - packets * i // count for i in range(count)]


def _for_seconds(crew: Crew, seconds: float, before: list[Iteration]) -> list[Iteration]:
    """Parts of about an eighth of the time each, by the pace of the part before, until it has passed."""
    parts: list[Iteration] = []
    left_ns = round(seconds * 1e9)
    while left_ns > 0:
        start_ns, end_ns, packets = (parts or before)[-1]
        part_ns = min(left_ns, round(seconds * 1e9 / _PARTS))
        parts.append(crew.run(max(_LEAST_PART, round(packets * part_ns / max(1, end_ns - start_ns)))))
        left_ns -= parts[-1][1] - parts[-1][0]
    return parts
