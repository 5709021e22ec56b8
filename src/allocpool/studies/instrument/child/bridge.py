"""The same Java trial behind the bridge and in a plain ``java`` process, whose lines are read."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from allocpool.packets.child.plain import audited, run_java
from allocpool.packets.child.workload import JavaPackets
from allocpool.studies.instrument.measurement import BridgeOutcome
from allocpool.trial.child import jvm
from allocpool.trial.child.accounting import monotonic_ns


def run(spec: dict[str, Any], launch: dict[str, Any], folder: Path) -> BridgeOutcome:
    """Measure on the side that the spec names."""
    if spec["side"] == "bridge":
        return _behind_the_bridge(spec, launch)
    return _plain(spec, launch, folder / "recording.jfr" if spec["side"] == "recorded" else None)


def _behind_the_bridge(spec: dict[str, Any], launch: dict[str, Any]) -> BridgeOutcome:
    """As batch trials are measured: one call for the warm-up, one for the measured half."""
    work = JavaPackets(spec, launch, spec["iterations"])
    counters = jvm.java_class("allocpool.packets.CpuCounters")
    warm_up = spec["packets"] // 2
    measured_packets = spec["packets"] - warm_up
    counters.threadNs(), counters.processNs()  # loads what they need
    begin_ns = monotonic_ns()
    work.run_packets(warm_up, _parts(warm_up, spec["iterations"]))
    kernel_process_ns, kernel_thread_ns = time.process_time_ns(), _on_cpu_ns()
    thread_ns, process_ns = int(counters.threadNs()), int(counters.processNs())
    measured = work.run_packets(measured_packets, _parts(measured_packets, spec["iterations"]))
    thread_ns, process_ns = int(counters.threadNs()) - thread_ns, int(counters.processNs()) - process_ns
    now_ns, kernel_process_ns = _on_cpu_ns(), time.process_time_ns() - kernel_process_ns
    return {
        **audited(work.audit()),
        "window": (begin_ns, monotonic_ns()),
        "measured": measured,
        "counts": list(work.counts().values()),
        "checksum": work.checksum(),
        "allocated_bytes": work.allocated_bytes() or 0,
        "jvm_thread_ns": thread_ns,
        "jvm_process_ns": process_ns,
        "kernel_thread_ns": None if kernel_thread_ns is None or now_ns is None else now_ns - kernel_thread_ns,
        "kernel_process_ns": kernel_process_ns,
        "recorder": None,
    }


def _plain(spec: dict[str, Any], launch: dict[str, Any], recording: Path | None) -> BridgeOutcome:
    """The program is of the same class path and has the same flags, and writes its logs to the same place."""
    ran = run_java(spec, launch, spec["iterations"], recording)
    return {
        **ran.outcome,
        "window": ran.window,
        "measured": ran.measured,
        "counts": list(ran.counts.values()),
        "checksum": ran.checksum,
        "allocated_bytes": ran.allocated_bytes,
        "jvm_thread_ns": ran.thread_ns,
        "jvm_process_ns": ran.process_ns,
        "kernel_thread_ns": None,
        "kernel_process_ns": None,
        "recorder": ran.recorder,
    }


def _parts(packets: int, iterations: int) -> int:
    return -(-packets // iterations)


def _on_cpu_ns() -> int | None:
    """Return this thread's time on CPU by the scheduler's account, which lags by at most a tick; None without one."""
    try:
        return int(Path("/proc/thread-self/schedstat").read_text().split()[0])
    except OSError:
        return None
