"""CPU by thread and memory of this process, by the operating system; the clock of all measurements."""

from __future__ import annotations

import os
import resource
import sys
import time
from pathlib import Path

from allocpool.trial.measurement import CpuTime

_TASKS = Path("/proc/self/task")


def monotonic_ns() -> int:
    """Return CLOCK_MONOTONIC, nanoseconds: the axis of source, pauses and iterations."""
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def thread_cpu_ns() -> dict[int, tuple[str, int]]:
    """Return the CPU time of every thread of this process, as {thread id: (name, nanoseconds)}; empty without /proc.

    From the first field of ``/proc/self/task/*/schedstat`` (Linux Documentation/scheduler/sched-stats).
    """
    threads: dict[int, tuple[str, int]] = {}
    if not _TASKS.exists():
        return threads
    for name in os.listdir(_TASKS):
        task = _TASKS / name
        try:
            on_cpu_ns = int((task / "schedstat").read_text().split()[0])
            threads[int(name)] = ((task / "comm").read_text().strip(), on_cpu_ns)
        except (OSError, IndexError, ValueError):
            continue  # the thread ended between the listing and the reading
    return threads


class CpuWindow:
    """CPU spent between ``open`` and ``close``: by the process, and by each thread that saw both ends."""

    def __init__(self) -> None:
        self._threads = thread_cpu_ns()
        self._process_ns = time.process_time_ns()
        self._start_ns = monotonic_ns()

    def close(self) -> CpuTime:
        """Return what was spent since this object was made."""
        end_ns = monotonic_ns()
        process_ns = time.process_time_ns() - self._process_ns
        spent: list[tuple[str, int]] = []
        for thread, (name, now_ns) in thread_cpu_ns().items():
            before_ns = self._threads.get(thread, (name, 0))[1]
            if now_ns > before_ns:
                spent.append((name, now_ns - before_ns))
        spent.sort(key=lambda pair: -pair[1])
        return {"start_ns": self._start_ns, "end_ns": end_ns, "process_ns": process_ns, "threads": spent}


def rss_mb() -> float:
    """Return the resident memory of this process, MiB; its peak where the system reports only that."""
    return _status_mb("VmRSS:") or peak_rss_mb()


def peak_rss_mb() -> float:
    """Return the peak resident memory of this process, MiB.

    VmHWM where there is one: ``ru_maxrss`` of a child also counts what its parent was before exec.
    """
    if peak_mb := _status_mb("VmHWM:"):
        return peak_mb
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 1024)


def _status_mb(field: str) -> float | None:
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith(field)), None)
