"""How noisy the machine was around a trial: its pace before and after, and what others took of it in between.

A trial that was disturbed beyond a limit is flagged, and run again once. Nothing but the machine flags a trial, never
its figure: so a repetition can't choose results.
"""

from __future__ import annotations

import math
import resource
import statistics
import time
from typing import Any, NamedTuple

import psutil
from pydantic import Field

from allocpool.machine.memory import kernel_counters
from allocpool.trial.child import native
from allocpool.trial.spec import Frozen

DISTURBED_BEYOND = 0.1
"""Share of the machine that others may take during a trial, and by which its pace may fall, before it is flagged.

A tenth is the smallest effect that studies look for, and pyperf's limit for unstable results (pyperf documentation,
"perf check").
"""
REASONS = {
    "the hypervisor took": "the hypervisor took CPU time",
    "other processes took": "other processes took of the machine",
    "the pace of computing changed": "the pace of computing changed",
    "computing took": "computing was slower than usual",
}
"""How the reasons of `disturbance` begin, with their labels."""
_STOLEN, _TAKEN, _CHANGED, _SLOWER = REASONS
_USUAL_FROM = 20
"""Readings whose median is called the usual pace."""


class Pace(Frozen):
    """How fast one core computes and reaches memory; see ``ap_machine_pace`` of the native library."""

    compute_ns: float
    latency_ns: float
    bandwidth_gbs: float


def _seen(description: str) -> Any:
    return Field(default=None, description=description)


class Noise(Frozen):
    """What went on around one trial; None where the system does not report it.

    Fields with a description are columns of tables; ``before`` and ``after`` are the machine's pace, and
    ``usual_compute_ns`` the median of the campaign's readings until then, once there are enough.
    """

    before: Pace | None = None
    after: Pace | None = None
    usual_compute_ns: float | None = None
    steal_share: float | None = _seen(
        "CPU time that the hypervisor gave to others, of what was wanted during the trial"
    )
    other_cpu_share: float | None = _seen("CPU time of processes that are not the trial's, of all processors' time")
    frequency_mhz: float | None = _seen(
        "clock frequency of the processors after the trial, as the system reports it, MHz"
    )
    minor_faults: int = Field(description="page faults of the trial's processes without I/O")
    major_faults: int = Field(description="page faults of the trial's processes with I/O")
    voluntary_switches: int = Field(description="context switches of the trial's processes by waiting")
    involuntary_switches: int = Field(description="context switches of the trial's processes by preemption")
    huge_pages_granted: int | None = _seen("transparent huge pages that the machine gave during the trial")
    huge_pages_refused: int | None = _seen("faults during the trial that asked for a huge page in vain")
    compilations: int | None = _seen(
        "methods that the JVM compiled in the measured window; empty without a JVM or a window"
    )
    recompilations: int | None = _seen("of these, compiled before at the same level; empty as compilations")
    deoptimizations: int | None = _seen(
        "compiled methods that the JVM gave up in the measured window, deoptimised or replaced; empty as compilations"
    )
    compiled_state: str | None = _seen(
        "hash of which of the workload's methods were compiled at which level when the measured window ended; equal: "
        "the same state; empty as compilations"
    )


class Activity(NamedTuple):
    """What the system has counted since it started, of all processors (s) and of huge pages; None where it does not.

    ``steal_s``: they would have run, and the hypervisor ran somebody else (proc_stat(5)). ``huge_pages_granted`` at a
    fault, or put together later; ``huge_pages_refused``: faults that asked for one and got small pages.
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
    busy_s = sum(float(getattr(times, name, 0.0)) for name in ("user", "nice", "system", "irq", "softirq"))
    steal_s = getattr(times, "steal", None)
    pages = kernel_counters()
    return Activity(
        total_s=busy_s + times.idle + getattr(times, "iowait", 0.0) + (steal_s or 0.0),
        busy_s=busy_s,
        steal_s=steal_s,
        huge_pages_granted=_sum(pages, "thp_fault_alloc", "thp_collapse_alloc"),
        huge_pages_refused=_sum(pages, "thp_fault_fallback"),
    )


def _frequency_mhz() -> float | None:
    """Return the mean clock frequency of the processors, as the system reports it; virtual ones may be constant."""
    try:
        frequency = psutil.cpu_freq()
    except (OSError, RuntimeError, NotImplementedError):  # psutil raises each of them somewhere
        return None
    return float(frequency.current) if frequency and frequency.current else None


def _sum(counters: dict[str, int], *names: str) -> int | None:
    return sum(counters[name] for name in names) if all(name in counters for name in names) else None


class PaceMeter:
    """Reads the machine's pace through the native library, in this process; reads nothing where there is none."""

    def __init__(self, launch: dict[str, Any] | None) -> None:
        self._launch = launch
        self._last: tuple[float, Pace | None] | None = None
        self._compute_ns: list[float] = []

    def read(self) -> Pace | None:
        """Return the pace just now; takes about 15 ms."""
        pace = None
        if self._launch is not None:
            ffi, library = native.load(self._launch)
            found = ffi.new("ap_machine_pace *")
            # Where no 32 MiB are left, a trial is not refused for that.
            if library.ap_read_machine_pace(found) == library.AP_OK:
                pace = Pace(**{name: getattr(found, name) for name in Pace.model_fields})
                self._compute_ns.append(pace.compute_ns)
        self._last = (time.monotonic(), pace)
        return pace

    def recent(self) -> Pace | None:
        """Return the last reading, such as that after a trial for the next one, if it is no older than 0.5 s, or a new
        one."""
        return self._last[1] if self._last and time.monotonic() - self._last[0] < 0.5 else self.read()

    @property
    def usual_compute_ns(self) -> float | None:
        """Median of the readings so far; None where they are too few."""
        return statistics.median(self._compute_ns) if len(self._compute_ns) >= _USUAL_FROM else None


class Watch:
    """Watches the machine from its making until ``close``, while one child of this process runs."""

    def __init__(self, meter: PaceMeter) -> None:
        self._meter = meter
        self._before = meter.recent()
        self._own_s = time.process_time()
        self._children = resource.getrusage(resource.RUSAGE_CHILDREN)
        self._activity = read_activity()

    def close(self) -> tuple[Noise, float]:
        """Return the noise since this object was made, and the CPU time of children that ended since, s."""
        begun, activity = self._activity, read_activity()
        began, children = self._children, resource.getrusage(resource.RUSAGE_CHILDREN)
        # Sums of times are rounded: of a child that took none the difference may be just below nothing.
        cpu_s = max(0.0, children.ru_utime + children.ru_stime - began.ru_utime - began.ru_stime)
        usual_ns = self._meter.usual_compute_ns
        own_s = cpu_s + time.process_time() - self._own_s
        noise = Noise(
            before=self._before,
            after=self._meter.read(),
            usual_compute_ns=usual_ns,
            steal_share=_steal_share(begun, activity),
            other_cpu_share=_other_share(begun, activity, own_s),
            frequency_mhz=_frequency_mhz(),
            minor_faults=children.ru_minflt - began.ru_minflt,
            major_faults=children.ru_majflt - began.ru_majflt,
            voluntary_switches=children.ru_nvcsw - began.ru_nvcsw,
            involuntary_switches=children.ru_nivcsw - began.ru_nivcsw,
            huge_pages_granted=_more(begun.huge_pages_granted, activity.huge_pages_granted),
            huge_pages_refused=_more(begun.huge_pages_refused, activity.huge_pages_refused),
        )
        return noise, cpu_s


def _steal_share(begin: Activity, end: Activity) -> float | None:
    if begin.steal_s is None or end.steal_s is None:
        return None
    stolen_s = max(end.steal_s - begin.steal_s, 0.0)
    wanted_s = stolen_s + max(end.busy_s - begin.busy_s, 0.0)
    return stolen_s / wanted_s if wanted_s else 0.0


def _other_share(begin: Activity, end: Activity, own_s: float) -> float | None:
    total_s = end.total_s - begin.total_s
    if total_s <= 0:
        return None  # less than a tick of the kernel's clock has passed
    return min(max(end.busy_s - begin.busy_s - own_s, 0.0) / total_s, 1.0)


def _more(begin: int | None, end: int | None) -> int | None:
    return None if begin is None or end is None else max(end - begin, 0)


def disturbance(noise: Noise, limit: float | None) -> str | None:
    """Return what disturbed a trial beyond the limit, in words; None where nothing did, or there is no limit.

    Of the pace only computing counts: on a shared machine, readings of memory stray by more from one to the next.
    """
    if limit is None:
        return None
    reasons = []
    if noise.steal_share is not None and noise.steal_share > limit:
        reasons.append(f"{_STOLEN} {noise.steal_share:.0%} of the CPU time that was wanted")
    if noise.other_cpu_share is not None and noise.other_cpu_share > limit:
        reasons.append(f"{_TAKEN} {noise.other_cpu_share:.0%} of the machine")
    if noise.before and noise.after:
        fast_ns, slow_ns = sorted((noise.before.compute_ns, noise.after.compute_ns))
        if slow_ns > (1 + 2 * limit) * fast_ns:  # on the way from one to the other a trial sees half of it
            reasons.append(f"{_CHANGED} by {slow_ns / fast_ns - 1:.0%}")
        elif noise.usual_compute_ns and fast_ns > (1 + limit) * noise.usual_compute_ns:
            reasons.append(f"{_SLOWER} {fast_ns / noise.usual_compute_ns - 1:.0%} longer than usual")
    return "; ".join(reasons) or None


class Calm(Frozen):
    """How noisy the machine is while nothing is measured, over so many seconds.

    ``spread``: standard deviations of the logarithms of the pace's readings, by name; empty where none was read.
    ``disturbed``: in words, what would flag a trial now. The others are as in `Noise`.
    """

    spread: dict[str, float]
    steal_share: float | None
    other_cpu_share: float | None
    disturbed: str | None
    seconds: float


def look(meter: PaceMeter, seconds: float) -> Calm:
    """Return how noisy the machine is in the next seconds: its pace, and what others take."""
    begun_s = time.monotonic()
    watch = Watch(meter)
    logs: dict[str, list[float]] = {name: [] for name in Pace.model_fields}
    while time.monotonic() - begun_s < seconds:
        for name, value in meter.read() or ():
            logs[name].append(math.log(value))
        time.sleep(0.05)  # so that looking does not keep the machine busy
    noise, _ = watch.close()
    spread = {name: statistics.stdev(values) for name, values in logs.items() if len(values) > 1}
    return Calm(
        spread=spread, steal_share=noise.steal_share, other_cpu_share=noise.other_cpu_share,
        disturbed=disturbance(noise, DISTURBED_BEYOND), seconds=time.monotonic() - begun_s,
    )  # fmt: skip
