"""A trial that counts events: by the processor while this thread works, or by a simulation of another process."""

from __future__ import annotations

import math
import os
import subprocess
from pathlib import Path
from typing import Any

from allocpool.machine.perf import HARDWARE_EVENTS, Counters
from allocpool.packets.child import workload as packets
from allocpool.studies.native.measurement import CountersOutcome
from allocpool.trial.measurement import OutOfMemory

DRIVER = "packets_driver"
_CACHES = {"I1": "32768,8,64", "D1": "32768,8,64", "LL": "2097152,16,64"}
"""Bytes, ways and line of the simulated caches: a usual core with a second level of its own, the same everywhere. What
lies behind is shared with others, and a virtual machine is given arbitrary figures of its size."""
_EVENTS = {
    "instructions": ("Ir",),
    "data_accesses": ("Dr", "Dw"),
    "l1d_misses": ("D1mr", "D1mw"),
    "l2_misses": ("DLmr", "DLmw"),
}


def run(spec: dict[str, Any], launch: dict[str, Any], folder: Path) -> CountersOutcome | OutOfMemory:
    """Count; an exhausted heap is an outcome and is returned as one."""
    try:
        return _simulated(spec, launch, folder) if spec["counter"] == "simulated" else _hardware(spec, launch)
    except Exception as error:
        if outcome := packets.out_of_memory(error, spec["language"]):
            return outcome
        raise


def _hardware(spec: dict[str, Any], launch: dict[str, Any]) -> CountersOutcome:
    work = packets.make(spec, launch, 2)
    work.run_packets(spec["fill_packets"], spec["fill_packets"])
    work.run_packets(spec["packets"], spec["packets"])  # compiled and settled when it counts
    with Counters(HARDWARE_EVENTS) as counters:
        counters.start()
        work.run_packets(spec["packets"], spec["packets"])
        counted = counters.stop()
        missing = counters.missing
    fault = work.audit()
    return {
        "status": "failed" if fault else "ok",
        "reason": f"audit: {fault}" if fault else None,
        "counted": counted,
        "missing": missing,
        "how": "perf_event_open, the working thread in user mode",
        "checksum": work.checksum(),
    }


def _simulated(spec: dict[str, Any], launch: dict[str, Any], folder: Path) -> CountersOutcome:
    driver = Path(launch["native"]["library"]).with_name(DRIVER)
    settled = spec["fill_packets"] + math.ceil(spec["packets"] / 10)
    before, _ = _cachegrind(driver, spec, settled, folder / "cachegrind.before")
    after, checksum = _cachegrind(driver, spec, settled + spec["packets"], folder / "cachegrind.after")
    version = subprocess.run(["valgrind", "--version"], check=True, capture_output=True, text=True).stdout.strip()
    caches = ", ".join(f"{name} {size}" for name, size in _CACHES.items())
    return {
        "status": "ok",
        "reason": None,
        "counted": {
            event: float(sum(after[part] - before[part] for part in parts)) for event, parts in _EVENTS.items()
        },
        "missing": {},
        "how": f"cachegrind of {version}, {caches} (bytes, ways, line)",
        "checksum": checksum,
    }


def _cachegrind(driver: Path, spec: dict[str, Any], count: int, out: Path) -> tuple[dict[str, int], str]:
    """Cachegrind's totals over one process by event, and the checksum that the process printed."""
    switches = [int(spec["pool_order"] == "aged"), int(spec["pool_reuse"] == "fifo"), int(spec["payload_touch"])]
    sizes = [spec["pool_size"], spec["queue_size"], spec["stored_count"], spec["seed"], *switches, count]
    command = [
        "valgrind", "--tool=cachegrind", "--cache-sim=yes", "--quiet", f"--cachegrind-out-file={out}",
        *(f"--{name}={size}" for name, size in _CACHES.items()),
        str(driver), spec["layout"], spec["strategy"], packets.library_memory(spec) or "-", spec["steps"] or "-",
        *map(str, sizes),
    ]  # fmt: skip
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=os.environ)
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip()).splitlines()
        raise RuntimeError(f"{DRIVER} under valgrind ended with {done.returncode}: {said[-1] if said else 'no word'}")
    lines = dict(
        line.split(": ", 1) for line in out.read_text(encoding="utf-8").splitlines()
        if line.startswith(("events: ", "summary: "))
    )  # fmt: skip
    totals = dict(zip(lines["events"].split(), map(int, lines["summary"].split()), strict=True))
    return totals, done.stdout.strip()
