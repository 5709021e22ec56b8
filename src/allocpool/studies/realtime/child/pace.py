"""Whether this machine runs at its full pace, asked of a fixed piece of work.

Two virtual processors of different owners may share one core, and then each runs at a part of its pace, for tenths of
seconds or for minutes, without a trace in the guest's steal time, load or clocks. What a program then loses is not its
fault. The work is ``ap_pace_ns`` of the native library.
"""

from __future__ import annotations

import contextlib
import json
import os
import statistics
from pathlib import Path
from typing import Any

from allocpool.trial.child import native
from allocpool.trial.child.accounting import monotonic_ns

SLOWED = 1.08
"""From this times the shortest on, the work is said to be slowed. At full pace its median strays by 0.03 here."""
RESTLESS = 0.2
"""Where a larger share of all looks found the machine slowed, two looks that did not say little of what was between."""
_SLICE_NS = 20_000_000
_SLICES = 3
_BEST = "full_pace.json"


def pace_ns(launch: dict[str, Any]) -> float:
    """One step of the work on this core now, nanoseconds: the median of three slices of 20 ms.

    Raises:
        MemoryError: not even the work's half megabyte is left.
    """
    _, library = native.load(launch)
    slices = [float(library.ap_pace_ns(_SLICE_NS)) for _ in range(_SLICES)]
    if min(slices) < 0:
        raise MemoryError("out of memory: the measurement of the machine's pace needs half a megabyte")
    return statistics.median(slices)


def await_full_pace(launch: dict[str, Any], full_ns: float, patience_s: float) -> tuple[float, float]:
    """Measure until the pace is full or patience ends, at least once; returns the last, ns, and what it took, s."""
    begun_ns = monotonic_ns()
    while True:
        now_ns = pace_ns(launch)
        waited_s = (monotonic_ns() - begun_ns) / 1e9
        if now_ns < SLOWED * full_ns or waited_s >= patience_s:
            return now_ns, waited_s


class FullPace:
    """The shortest time that the work ever took, kept next to the library that it is part of.

    A search that only ever saw the machine slowed would take that for its full pace.
    """

    def __init__(self, launch: dict[str, Any]) -> None:
        self._file = Path(launch["native"]["library"]).with_name(_BEST)
        self.ns = float("inf")
        self._seen: list[float] = []
        with contextlib.suppress(OSError, ValueError, KeyError):
            self.ns = float(json.loads(self._file.read_text(encoding="utf-8"))["step_ns"])

    def look(self, step_ns: float) -> None:
        """Take note of what the work took just now; kept where it is the shortest ever."""
        self._seen.append(step_ns)
        if step_ns >= self.ns:
            return
        self.ns = step_ns
        with contextlib.suppress(OSError):  # a library that somebody else installed: known to this search alone
            fresh = self._file.with_name(f"{_BEST}.{os.getpid()}")
            fresh.write_text(json.dumps({"step_ns": step_ns}), encoding="utf-8")
            fresh.replace(self._file)

    @property
    def is_restless(self) -> bool:
        """Whether the machine was slowed at more than a fifth of all looks."""
        slowed = sum(step_ns >= SLOWED * self.ns for step_ns in self._seen)
        return slowed > RESTLESS * len(self._seen)
