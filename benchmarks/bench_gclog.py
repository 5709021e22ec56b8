"""How fast a G1 log with its phases is read, on one core.

    python benchmarks/bench_gclog.py [--log LOG.gz] [--megabytes 200] [--runs 7]

Repeats a golden log until it has the size asked for, ids and time stamps of the copies moved on, so that every line is
one that a long run could have written. Then reads it several times, pinned to one core where the system allows, and
prints each run, the median and the spread: by the clock on the wall, and by CPU time, which on a busy machine is the
one that says what reading costs. Times are no part of the tests.
"""

from __future__ import annotations

import argparse
import gzip
import os
import re
import statistics
import tempfile
import time
from pathlib import Path

from allocpool.gclog import read_gc_log

GOLDEN = Path(__file__).parent.parent / "tests" / "golden" / "logs" / "25-g1-evacuation-failure.log.gz"
_GC_ID = re.compile(rb"GC\((\d+)\)")
_NANOS = re.compile(rb"\[(\d+)ns\]")


def moved_on(log: bytes, ids: int, ns: int) -> bytes:
    """A log whose collection ids and time stamps are larger by so much."""
    log = _GC_ID.sub(lambda found: b"GC(%d)" % (int(found[1]) + ids), log)
    return _NANOS.sub(lambda found: b"[%dns]" % (int(found[1]) + ns), log)


def synthesise(golden: Path, megabytes: int, target: Path) -> int:
    """Writes copies of a golden log, one after the other in time, until the size is reached; returns it."""
    lines = [line for line in gzip.decompress(golden.read_bytes()).splitlines(keepends=True) if _NANOS.match(line)]
    template = b"".join(lines)
    ids = 1 + max(int(one) for one in _GC_ID.findall(template))
    first, last = (int(_NANOS.findall(line)[0]) for line in (lines[0], lines[-1]))
    length = last - first + 1_000_000
    written = copy = 0
    with target.open("wb") as file:
        while written < megabytes * 1_000_000:
            written += file.write(moved_on(template, copy * ids, copy * length))
            copy += 1
    return written


def main() -> None:
    parser = argparse.ArgumentParser(description="Measures how fast a log of G1 with its phases is read.")
    parser.add_argument("--log", type=Path, default=GOLDEN, help="gzip log to repeat (default: a golden one)")
    parser.add_argument("--megabytes", type=int, default=200, help="size of the log to read (default: 200)")
    parser.add_argument("--runs", type=int, default=7, help="how often to read it (default: 7)")
    options = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "gc.log"
        megabytes = synthesise(options.log, options.megabytes, log) / 1e6
        print(f"{megabytes:.0f} MB, {len(read_gc_log(log).pauses)} pauses, {options.runs} runs")
        speeds: dict[str, list[float]] = {"wall": [], "CPU": []}
        for run in range(options.runs):
            wall, cpu = time.perf_counter(), time.process_time()
            read_gc_log(log)
            speeds["wall"].append(megabytes / (time.perf_counter() - wall))
            speeds["CPU"].append(megabytes / (time.process_time() - cpu))
            print(f"run {run + 1}: {speeds['wall'][-1]:.0f} MB/s by the wall, {speeds['CPU'][-1]:.0f} MB/s by CPU time")
    for clock, values in speeds.items():
        print(f"{clock}: median {statistics.median(values):.0f} MB/s, {min(values):.0f} to {max(values):.0f}")


if __name__ == "__main__":
    main()
