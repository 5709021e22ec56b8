"""A disturbed trial: a real-time trial that one known cause stops, once.

The consumer has the main thread and is inside Java; disturbances come from other threads. What they did is recorded on
CLOCK_MONOTONIC, independently of the collector's log.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from allocpool.packets.child import workload as packets
from allocpool.studies.pauses.measurement import DisturbedOutcome
from allocpool.studies.realtime.child.realtime import Windows, reason_of
from allocpool.trial.child import jvm
from allocpool.trial.child.accounting import monotonic_ns
from allocpool.trial.measurement import OutOfMemory


class _Later(threading.Thread):
    """Does one thing after a while, and records when and its error."""

    def __init__(self, delay_s: float, act: Callable[[], object]) -> None:
        super().__init__(name="disturber", daemon=True)
        self._delay_s, self._act = delay_s, act
        self.start_ns = self.end_ns = 0
        self.error: Exception | None = None

    def run(self) -> None:
        time.sleep(self._delay_s)
        self.start_ns = monotonic_ns()
        try:
            self._act()
        except Exception as error:
            self.error = error
        self.end_ns = monotonic_ns()


def run(spec: dict[str, Any], launch: dict[str, Any], folder: Path) -> DisturbedOutcome | OutOfMemory:
    """Measure; an exhausted heap is an outcome and is returned as one."""
    try:
        return _measure(spec, launch, folder)
    except Exception as error:
        if outcome := packets.out_of_memory(error, spec["language"]):
            return outcome
        raise


def _measure(spec: dict[str, Any], launch: dict[str, Any], folder: Path) -> DisturbedOutcome:
    seconds, warmup_s, at_s = spec["seconds"], spec["warmup_seconds"], spec["disturb_at_s"]
    windows = Windows(spec, launch, folder, spec["interval_ns"], warmup_s + seconds)
    prologue = windows.prologue()
    stops = spec["disturbance"] == "stop"
    disturbers = [] if stops else _disturbers(spec, 0.05 + warmup_s + at_s)  # the source calibrates its clock first
    for thread in disturbers:
        thread.start()
    window, ring_fault = windows.measure(
        interval_ns=spec["interval_ns"],
        seconds=seconds,
        cap_seconds=seconds,
        warmup_seconds=warmup_s,
        majors=0,
        stall_at_s=at_s if stops else 0.0,
        stall_ms=spec["disturb_ms"] if stops else 0.0,
    )
    for thread in disturbers:
        thread.join()
        if thread.error is not None:
            raise thread.error
    stopped_ns = window["account"]["t0_ns"] + round((warmup_s + at_s) * 1e9)
    disturbed = [(thread.start_ns, thread.end_ns) for thread in disturbers[:1]] or [
        (stopped_ns, stopped_ns + window["consumption"]["stalled_ns"])
    ]
    processed, packets_fault = windows.close()
    reason = reason_of(ring_fault, packets_fault)
    return {
        "status": "failed" if reason else "ok",
        "reason": reason,
        "prologue": prologue,
        "disturbed": disturbed,
        **window,
        **processed,
    }


def _disturbers(spec: dict[str, Any], delay_s: float) -> list[_Later]:
    """The threads of a disturbance; the first is the one that lasts as long as the disturbance does."""
    if spec["disturbance"] == "full_collection":
        jvm.live_objects()  # what it takes to ask is loaded once, and takes longer than the collection
        return [_Later(delay_s, jvm.live_objects)]
    array, length = jvm.java_class("byte[]"), spec["native_call_mb"] * 2**20
    source, target = array(length), array(length)
    system, thread = jvm.java_class("java.lang.System"), jvm.java_class("java.lang.Thread")

    copying, looking = threading.Event(), threading.Event()

    def copy() -> None:
        # A thread inside one call of native code stands at no safepoint until it returns.
        left = 3  # calls in which a safepoint is waited for
        while left:
            copying.set()
            asked_for = looking.is_set()
            system.arraycopy(source, 0, target, 0, length)
            left -= asked_for

    def look_at_all_stacks() -> None:
        # That takes a safepoint: the consumer stands at once, and waits for the copier.
        copying.wait()
        time.sleep(0.005)
        looking.set()
        while not copier.end_ns:
            thread.getAllStackTraces()

    system.arraycopy(source, 0, target, 0, length)  # touches the memory of both
    jvm.live_objects()  # both are old now: no young collection copies them during the disturbance
    copier = _Later(delay_s, copy)
    return [copier, _Later(delay_s, look_at_all_stacks)]
