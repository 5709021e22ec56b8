"""Mode counters: what a packet costs in events, not in time, so that a figure in nanoseconds can be explained.

``hardware`` reads the processor's counters while packets are received. ``simulated`` runs the C++ workload twice under
Valgrind's cachegrind, with different numbers of packets: the difference is what the additional packets did. Its caches
are a model, the same on every machine, and it knows neither prefetching nor pages.
"""

from __future__ import annotations

import shutil
from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from allocpool.machine.perf import why_no_hardware_counters
from allocpool.packets.specs import PacketsSpec

Counter = Literal["hardware", "simulated"]
EVENTS = {
    "cycles": "processor cycles in user mode",
    "instructions": "instructions in user mode",
    "data_accesses": "reads and writes of memory",
    "l1d_misses": "reads and writes that missed the first-level data cache",
    "l2_misses": "reads and writes that missed the second-level cache too",
    "llc_misses": "reads that missed the last-level cache",
    "dtlb_misses": "reads whose page was in no table of the processor",
}
_SIMULATED_NS_PER_PACKET = 2_000.0


class CountersSpec(PacketsSpec):
    """One trial that counts ``packets`` packets, received after queue and store are full."""

    CHILD: ClassVar[str] = "allocpool.studies.native.child.counters"

    mode: Literal["counters"] = "counters"
    counter: Counter = Field(default="hardware", description="the processor's, or a simulated cache's")
    packets: int = Field(default=1_000_000, ge=1_000, le=10**9, description="packets that are counted")

    @model_validator(mode="after")
    def _simulated_is_for_cpp(self) -> Self:
        if self.counter == "simulated" and self.language != "cpp":
            raise ValueError("counter simulated runs C++ only: choose counter=hardware for Java")
        if self.counter == "simulated" and self.host_cpu:
            raise ValueError("counter simulated does not know every instruction of host_cpu: choose counter=hardware")
        return self

    def expected_seconds(self) -> float:
        if self.counter == "hardware":
            return self.set_up_seconds() + 2 * self.packets * 250e-9
        started = self.pool_size / 10 + self.fill_packets
        return (2 * started + 3 * self.packets) * _SIMULATED_NS_PER_PACKET / 1e9

    def refused_here(self) -> str | None:
        return super().refused_here() or why_not_counted(self.counter)


def why_not_counted(counter: Counter) -> str | None:
    """Return why this machine has no such counts, and the remedy, in one line; None when it has."""
    if counter == "hardware":
        return why_no_hardware_counters()
    if shutil.which("valgrind") is None:
        return "simulated counters: valgrind is missing: install valgrind (Debian) or valgrind (conda-forge)"
    return None
