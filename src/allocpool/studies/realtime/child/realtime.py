"""A real-time trial: set-up, a prologue by the batch path, and a window, which is warm-up ticks and measured ticks at
one interval with nothing restarted in between."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from allocpool.packets.child import workload as packets
from allocpool.packets.measurement import lap_packets
from allocpool.runtimes.collectors import never_frees
from allocpool.studies.realtime.child.consumers import consumer_of
from allocpool.studies.realtime.child.source import Consumer, Plan, Source
from allocpool.studies.realtime.measurement import Processed, Prologue, RealtimeOutcome, Window
from allocpool.trial.child.accounting import CpuWindow, monotonic_ns, peak_rss_mb
from allocpool.trial.child.gc_log import MAJOR, Collections
from allocpool.trial.measurement import OutOfMemory

_PARTS = 20
_PROLOGUE_ITERATION_NS = 50_000_000


class Windows:
    """One processor with its source."""

    def __init__(
        self, spec: dict[str, Any], launch: dict[str, Any], folder: Path, smallest_ns: float, longest_s: float
    ) -> None:
        """``smallest_ns`` and ``longest_s`` are the bounds of what will be asked for."""
        self._watch(spec, folder)
        lap = lap_packets(spec["pool_size"], spec["queue_size"], spec["stored_count"], spec["pool_reuse"])
        self._packets_at_least = spec["min_laps"] * lap
        iterations = math.ceil(spec["prologue_seconds"] * 1e9 / _PROLOGUE_ITERATION_NS)
        self.work = packets.make(spec, launch, max(_PARTS, iterations) + 1)
        between = round(spec.get("intermediate_queue_ms", 0.0) * 1e6 / smallest_ns)
        self._source = Source(launch, self._capacity(smallest_ns), longest_s, between)
        self._consumer: Consumer = consumer_of(self.work)

    def _watch(self, spec: dict[str, Any], folder: Path) -> None:
        """What `measure` asks of the collector is read from its log."""
        self._spec = spec
        self._log = folder / "gc.log"
        self._has_majors = spec["language"] == "java" and not never_frees(spec["collector"])

    def _capacity(self, interval_ns: float) -> int:
        return round(float(self._spec["input_queue_ms"]) * 1e6 / interval_ns)

    def prologue(self) -> Prologue:
        """Fill queue and store, then compile and settle, by the batch path."""
        fill = self._spec["fill_packets"]
        length_ns = round(self._spec["prologue_seconds"] * 1e9)
        return {
            "fill": self.work.run_packets(fill, math.ceil(fill / _PARTS)) if fill else [],
            "warmup": self.work.run_for(length_ns, _PROLOGUE_ITERATION_NS) if length_ns else [],
        }

    def measure(
        self, interval_ns: float, seconds: float, cap_seconds: float, warmup_seconds: float, majors: int, **stall: float
    ) -> tuple[Window, str]:
        """One run of the source, see ``Source.run``, for the laps asked for or up to its cap; with the CPU that it took
        and its major collections. ``stall``: as of `Plan`."""
        wanted = majors if self._has_majors else 0
        seconds = min(cap_seconds, max(seconds, self._packets_at_least * interval_ns / 1e9))
        longest_s = cap_seconds if wanted else seconds
        plan = Plan(interval_ns, self._capacity(interval_ns), seconds, longest_s, warmup_seconds, **stall)
        seen = Collections(self._log, MAJOR)
        measured_ns = monotonic_ns() + round(warmup_seconds * 1e9)
        window = CpuWindow()
        run, fault = self._source.run(plan, self._consumer, lambda: seen.since(measured_ns) >= wanted)
        cpu = window.close()
        majors = seen.since(run["figures"]["start_ns"])
        return {**run, "cpu": cpu, "majors": majors, "cap_reached": majors < wanted}, fault

    def close(self) -> tuple[Processed, str]:
        """Return what the processor reports at the end, and what is wrong with it, empty when nothing is."""
        fault = self.work.audit()
        processed: Processed = {
            "counts": self.work.counts(), "checksum": self.work.checksum(), "peak_rss_mb": peak_rss_mb(),
        }  # fmt: skip
        return processed, fault


def reason_of(ring_fault: str, packets_fault: str) -> str | None:
    """What the audits of a trial found, on one line; None when nothing is wrong."""
    faults = [f"{what}: {line}" for what, line in (("ring", ring_fault), ("packets", packets_fault)) if line]
    return "audit of the " + "; ".join(faults) if faults else None


def run(spec: dict[str, Any], launch: dict[str, Any], folder: Path) -> RealtimeOutcome | OutOfMemory:
    """Measure; an exhausted heap is an outcome and is returned as one."""
    try:
        return _measure(spec, launch, folder)
    except Exception as error:
        if outcome := packets.out_of_memory(error, spec["language"]):
            return outcome
        raise


def _measure(spec: dict[str, Any], launch: dict[str, Any], folder: Path) -> RealtimeOutcome:
    begun_ns = monotonic_ns()
    longest_s = spec["warmup_seconds"] + spec["cap_seconds"]
    windows = Windows(spec, launch, folder, spec["interval_ns"], longest_s)
    ready_ns = monotonic_ns()
    prologue = windows.prologue()
    asked = ("interval_ns", "seconds", "cap_seconds", "warmup_seconds", "stall_at_s", "stall_ms")
    window, ring_fault = windows.measure(majors=spec["major_collections"], **{name: spec[name] for name in asked})
    processed, packets_fault = windows.close()
    reason = reason_of(ring_fault, packets_fault)
    return {
        "status": "failed" if reason else "ok", "reason": reason, "set_up_ns": ready_ns - begun_ns,
        "prologue": prologue, **window, **processed,
    }  # fmt: skip
