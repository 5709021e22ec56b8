"""What the process of a trial returns, as far as the modes share it: the contract between measuring and the tables.

Every mode has its TypedDict. A trial returns it together with an `Outcome`, which the runner takes out; the rest is the
record's ``measurement``. Imported inside trials: nothing here may import more than types.
"""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict  # pydantic reads those of `typing` from Python 3.12 on only

Iteration = tuple[int, int, int]
"""(start_ns, end_ns, packets), on CLOCK_MONOTONIC."""


class Outcome(TypedDict):
    """How a trial that measured ended: ``failed`` where its audit did, ``invalid`` where its work was skipped."""

    status: Literal["ok", "failed", "invalid"]
    reason: str | None


class Failure(TypedDict):
    """A trial that came to no measurement, and the reason in one line."""

    status: Literal["failed", "invalid", "crashed", "out_of_memory"]
    reason: str


class OutOfMemory(TypedDict):
    """A trial whose memory was exhausted before it had measured."""

    status: Literal["out_of_memory"]
    reason: str
    peak_rss_mb: float


class CpuTime(TypedDict):
    """CPU that was spent between two instants of CLOCK_MONOTONIC."""

    start_ns: int
    end_ns: int
    process_ns: int
    """Of all threads, ended ones included."""
    threads: list[tuple[str, int]]
    """(name, nanoseconds) of every thread that saw both ends, the most first."""
