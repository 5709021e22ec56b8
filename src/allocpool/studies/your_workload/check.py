"""Is the advice right? Ten varied workloads, each advised in a few minutes and then measured at length, apart.

The long plan knows nothing of the short one: its trials are others, their number is fixed by time alone, and half of
them go as fast as they can, half at the reader's rate.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from allocpool.studies.your_workload.advice import Advice, Laboratory, advise
from allocpool.studies.your_workload.findings import UNDECIDED, Findings
from allocpool.studies.your_workload.workload import Cell, Workload, understood

WORKLOADS: Mapping[str, Mapping[str, str]] = MappingProxyType({
    "ticks": {"bytes": "64", "in_flight": "10", "rate": "1e6"},
    "quotes": {"bytes": "64", "in_flight": "1m", "rate": "5e5", "heap": "1g"},
    "datagrams": {"bytes": "64:0.7,1500:0.3", "in_flight": "1000", "rate": "3e5"},
    "requests": {"bytes": "lognormal:2048:1", "in_flight": "100", "rate": "5e4", "temporaries": "10", "live": "200m"},
    "packets": {"bytes": "1024", "in_flight": "10k", "kept": "6%", "for": "2s", "rate": "1e5", "heap": "1g"},
    "records": {"bytes": "512", "in_flight": "300k", "rate": "2e5", "heap": "1g", "garbage": "50m"},
    "direct": {"bytes": "4096", "in_flight": "1000", "rate": "5e4", "layout": "native"},
    "pages": {"bytes": "65536", "in_flight": "1000", "rate": "1e4", "collector": "genzgc"},
    "images": {"bytes": "1048576", "in_flight": "10", "rate": "500", "heap": "2g"},
    "tiles": {"bytes": "262144", "in_flight": "500", "rate": "1000", "heap": "2g", "collector": "parallel"},
})  # fmt: skip
"""From 64 bytes to a MiB, from ten to a million in flight."""
_APART = 100_000
"""The first block of the long plan."""


class Checked(NamedTuple):
    """One workload: what the advice says, and what the long plan does, with its ratio of costs and trials a side."""

    name: str
    advice: Advice
    answer: str
    ratio: float
    low: float
    high: float
    n: int

    @property
    def outcome(self) -> str:
        """``agree``, ``DISAGREE`` where both are decided and say different things, or ``open`` where one is."""
        if self.advice.answer == self.answer:
            return "agree"
        return "open" if UNDECIDED in (self.advice.answer, self.answer) else "DISAGREE"


def check(name: str, minutes: float, long_minutes: float, laboratory: Laboratory) -> Checked:
    """Advise on a workload of `WORKLOADS`, and measure it at length."""
    workload = understood(WORKLOADS[name])
    advice = advise(workload, minutes, laboratory)
    found = at_length(workload, long_minutes, laboratory)
    told = found.comparison(found.focus()).decision
    return Checked(name, advice, found.answer(found.focus()), told.ratio, told.low, told.high, told.n)


def at_length(
    workload: Workload, minutes: float, laboratory: Laboratory, clock: Callable[[], float] = time.monotonic
) -> Findings:
    """Both sides in turns, as fast as they go and at the reader's rate, for so many minutes."""
    of = Findings(workload, laboratory.refusal)
    sides = [
        Cell(collector, side, rate)
        for collector in workload.collectors
        for rate in (None, workload.rate_per_s)
        for side in workload.sides
    ]
    ends_s = clock() + 60 * minutes
    try:
        for cell in itertools.cycle(sides):
            spec = workload.spec_of(cell, _APART + of.n(cell))
            measured = laboratory.recorded(spec)
            if measured is None:
                if clock() >= ends_s:
                    break
                measured = laboratory.measure(spec)
            of.add(cell, measured)
    finally:
        laboratory.close()
    return of
