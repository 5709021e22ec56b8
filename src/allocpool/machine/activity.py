"""What the kernel has counted of the whole machine since it started; two readings give the time between them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import psutil

_VMSTAT = Path("/proc/vmstat")


@dataclass(frozen=True)
class Activity:
    """Totals over all processors, s, and of huge pages; None where the system does not report them.

    Attributes:
        total_s: time of all processors, idle or not.
        busy_s: time that they ran programs or the kernel.
        steal_s: time that they would have run, and the hypervisor ran somebody else (proc_stat(5)).
        huge_pages_granted: transparent huge pages given at a fault, or put together later.
        huge_pages_refused: faults that asked for one and got small pages.
    """

    total_s: float
    busy_s: float
    steal_s: float | None
    huge_pages_granted: int | None
    huge_pages_refused: int | None


def read_activity() -> Activity:
    """Return the totals as they are now; takes a fraction of a millisecond."""
    times = psutil.cpu_times()
    # A guest's time is part of "user" already.
    found = {name: float(getattr(times, name, 0.0)) for name in ("user", "nice", "system", "irq", "softirq")}
    busy_s = sum(found.values())
    steal_s = getattr(times, "steal", None)
    pages = _counters()
    return Activity(
        total_s=busy_s + times.idle + getattr(times, "iowait", 0.0) + (steal_s or 0.0),
        busy_s=busy_s,
        steal_s=steal_s,
        huge_pages_granted=_sum(pages, "thp_fault_alloc", "thp_collapse_alloc"),
        huge_pages_refused=_sum(pages, "thp_fault_fallback"),
    )


def frequency_mhz() -> float | None:
    """Return the mean clock frequency of the processors, as the system reports it; virtual ones may be constant."""
    try:
        frequency = psutil.cpu_freq()
    except (OSError, RuntimeError, NotImplementedError):  # psutil raises each of them somewhere
        return None
    return float(frequency.current) if frequency and frequency.current else None


def _counters() -> dict[str, int]:
    try:
        lines = _VMSTAT.read_text(encoding="utf-8").splitlines()
    except OSError:
        return {}
    return {name: int(value) for name, _, value in (line.partition(" ") for line in lines)}


def _sum(counters: dict[str, int], *names: str) -> int | None:
    return sum(counters[name] for name in names) if all(name in counters for name in names) else None
