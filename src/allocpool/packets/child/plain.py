"""A trial in a plain ``java`` process, whose printed lines are read: costs and counts. It needs no bridge, which JPype
has for Java 9 and newer, and no unified log, which these have, too."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

from allocpool.packets.measurement import BatchOutcome
from allocpool.trial.child.accounting import monotonic_ns
from allocpool.trial.measurement import Iteration, Outcome, OutOfMemory

_ITERATIONS = 20
_MAIN = "allocpool.packets.BatchMain"


class Ran(NamedTuple):
    """What ``BatchMain`` printed; times are CLOCK_MONOTONIC, ns.

    ``window`` is from before the warm-up to after the measured half; CPU times are of that half, by the JVM's counters;
    ``recorder``: pauses by Flight Recorder, and their total in ns.
    """

    window: tuple[int, int]
    warmup: list[Iteration]
    measured: list[Iteration]
    counts: dict[str, int]
    checksum: str
    allocated_bytes: int
    thread_ns: int
    process_ns: int
    recorder: tuple[int, int] | None
    outcome: Outcome


def run_java(spec: dict[str, Any], launch: dict[str, Any], iterations: int, recording: Path | None = None) -> Ran:
    """Run ``spec["packets"]``, the first half of which warms up. MemoryError where the heap is exhausted, RuntimeError
    where the program fails otherwise, with its last words."""
    jvm = launch["jvm"]
    places = (folder / "bin" / "java" for folder in Path(jvm["libjvm"]).parents)
    java = next(place for place in places if place.is_file())
    program = [*_settings(spec), str(iterations), str(recording or "-")]
    ran = subprocess.run(
        [str(java), *jvm["flags"], "-cp", ":".join(jvm["classpath"]), _MAIN, *program],
        check=False, stdin=subprocess.DEVNULL, capture_output=True, text=True,
    )  # fmt: skip
    sys.stderr.write(ran.stderr)  # the runner looks for words of the JVM there
    if ran.returncode < 0:
        os.kill(os.getpid(), -ran.returncode)  # ended as the JVM was
    if ran.returncode:
        said = ran.stderr.strip().splitlines() or [f"exit status {ran.returncode} without a word"]
        if full := next((line for line in said if "java.lang.OutOfMemoryError" in line), None):
            raise MemoryError(full.partition("java.lang.")[2])
        raise RuntimeError(next((line for line in said if not line.lstrip().startswith("at ")), said[0]))
    lines = {word: rest for word, _, rest in (line.partition(" ") for line in ran.stdout.splitlines())}
    fault, names = lines.pop("audit"), lines.pop("names").split()
    numbers = {word: [int(number) for number in rest.split()] for word, rest in lines.items()}
    recorder = numbers.get("recorder")
    return Ran(
        window=(numbers["window"][0], numbers["window"][1]),
        warmup=_triples(numbers["warmup"]),
        measured=_triples(numbers["measured"]),
        counts=dict(zip(names, numbers["counts"], strict=True)),
        checksum=f"{numbers['checksum'][0] & 0xFFFF_FFFF_FFFF_FFFF:016x}",
        allocated_bytes=numbers["allocated"][0],
        thread_ns=numbers["cpu"][0],
        process_ns=numbers["cpu"][1],
        recorder=(recorder[0], recorder[1]) if recorder else None,
        outcome=audited(fault),
    )


def run(spec: dict[str, Any], launch: dict[str, Any]) -> BatchOutcome | OutOfMemory:
    """Measure a batch trial with option ``plain``; an exhausted heap is an outcome and is returned as one."""
    begun_ns = monotonic_ns()
    try:
        ran = run_java(spec, launch, _ITERATIONS)
    except MemoryError as error:
        return {"status": "out_of_memory", "reason": str(error), "peak_rss_mb": _peak_rss_mb()}
    start_ns, end_ns = ran.measured[0][0], ran.measured[-1][1]
    threads = [("main", ran.thread_ns)]
    return {
        **ran.outcome,
        "set_up_ns": ran.window[0] - begun_ns,
        "fill_packets": min(spec["fill_packets"], spec["packets"] // 2),
        "iterations": {"fill": [], "warmup": ran.warmup, "measured": ran.measured},
        "warm_up": None,
        "old_cycles": None,
        "cpu": {"start_ns": start_ns, "end_ns": end_ns, "process_ns": ran.process_ns, "threads": threads},
        "counts": ran.counts,
        "checksum": ran.checksum,
        "allocated_bytes": ran.allocated_bytes,
        "peak_rss_mb": _peak_rss_mb(),
        "live_objects": None,
        "disorder_bytes": None,
        "memory": {"huge_pages_mb": None},
    }


def _peak_rss_mb() -> float:
    """Return the peak resident memory of the largest process that this one started, MiB."""
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 1024)


def audited(fault: str) -> Outcome:
    """Return how a trial ended whose audit found this, or nothing."""
    return {"status": "failed" if fault else "ok", "reason": f"audit: {fault}" if fault else None}


def _settings(spec: dict[str, Any]) -> list[str]:
    """Return what ``BatchMain`` takes, in its order, but for the number of iterations and the file of a recording."""
    words = ("layout", "strategy", "steps", "pool_size", "slot_count", "queue_size", "stored_count", "seed")
    flags = [spec["pool_order"] == "aged", spec["pool_reuse"] == "fifo"]
    flags += [spec["payload_touch"], spec["lean_view"], spec["detached"]]
    warm_up = spec["packets"] // 2
    return [
        *("-" if spec[word] is None else str(spec[word]) for word in words),
        *(str(bool(flag)).lower() for flag in flags),
        *(str(number) for number in (warm_up, spec["packets"] - warm_up)),
    ]


def _triples(flat: list[int]) -> list[Iteration]:
    return list(zip(flat[0::3], flat[1::3], flat[2::3], strict=True))
