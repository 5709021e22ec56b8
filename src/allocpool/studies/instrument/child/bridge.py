"""The same Java trial behind the bridge and in a plain ``java`` process, whose lines are read."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path
from typing import Any

from allocpool.packets.child.workload import JavaPackets
from allocpool.studies.instrument.measurement import BridgeOutcome
from allocpool.trial.child import jvm
from allocpool.trial.child.accounting import monotonic_ns
from allocpool.trial.measurement import Outcome


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
        **_audited(work.audit()),
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
    java = Path(launch["jvm"]["libjvm"]).parents[2] / "bin" / "java"
    classpath = ":".join(launch["jvm"]["classpath"])
    program = [*_settings(spec), str(recording or "-")]
    ran = subprocess.run(
        [str(java), *launch["jvm"]["flags"], "-cp", classpath, "allocpool.packets.BatchMain", *program],
        check=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    lines = {word: rest for word, _, rest in (line.partition(" ") for line in ran.stdout.splitlines())}
    fault = lines.pop("audit")
    numbers = {word: [int(number) for number in rest.split()] for word, rest in lines.items()}
    flat = numbers["iterations"]
    begin_ns, end_ns = numbers["window"]
    recorder = numbers.get("recorder")
    return {
        **_audited(fault),
        "window": (begin_ns, end_ns),
        "measured": list(zip(flat[0::3], flat[1::3], flat[2::3], strict=True)),
        "counts": numbers["counts"],
        "checksum": f"{numbers['checksum'][0] & 0xFFFF_FFFF_FFFF_FFFF:016x}",
        "allocated_bytes": numbers["allocated"][0],
        "jvm_thread_ns": numbers["cpu"][0],
        "jvm_process_ns": numbers["cpu"][1],
        "kernel_thread_ns": None,
        "kernel_process_ns": None,
        "recorder": (recorder[0], recorder[1]) if recorder else None,
    }


def _audited(fault: str) -> Outcome:
    return {"status": "failed" if fault else "ok", "reason": f"audit: {fault}" if fault else None}


def _settings(spec: dict[str, Any]) -> list[str]:
    """What the Java program ``BatchMain`` takes, in its order, but for the file of a recording."""
    words = ("layout", "strategy", "steps", "pool_size", "slot_count", "queue_size", "stored_count", "seed")
    flags = [spec["pool_order"] == "aged", spec["pool_reuse"] == "fifo"]
    flags += [spec["payload_touch"], spec["lean_view"], spec["detached"]]
    warm_up = spec["packets"] // 2
    return [
        *("-" if spec[word] is None else str(spec[word]) for word in words),
        *(str(bool(flag)).lower() for flag in flags),
        *(str(number) for number in (warm_up, spec["packets"] - warm_up, spec["iterations"])),
    ]


def _parts(packets: int, iterations: int) -> int:
    return -(-packets // iterations)


def _on_cpu_ns() -> int | None:
    """Return this thread's time on CPU by the scheduler's account, which lags by at most a tick; None without one."""
    try:
        return int(Path("/proc/thread-self/schedstat").read_text().split()[0])
    except OSError:
        return None
