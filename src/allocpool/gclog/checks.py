"""The reader's checks of itself: what a log says in one line must agree with what it says in another.

A pause happens inside a safepoint, so the pauses of one safepoint can't last longer than the threads stood; if they
do, either the log is damaged or the reader counts something twice, or counts what is no pause.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from allocpool.gclog.decorations import NO_CLOCK
from allocpool.gclog.log import GcLog

_PRINTED_NS = 1000  # pauses are printed in microseconds
_SHRINKS_ONLY_IN_PAUSES = ("serial", "parallel", "g1")


@dataclass(frozen=True)
class SelfCheck:
    """What did not agree.

    ``violations``: one row per disagreement (``check``, ``at_ns``, ``detail``). ``pauses_outside_safepoints``:
    pauses that no logged safepoint covers, None for a log without safepoint lines.
    """

    violations: pd.DataFrame
    pauses_outside_safepoints: int | None

    @property
    def count(self) -> int:
        """How many disagreements were found."""
        return len(self.violations)


def self_check(log: GcLog) -> SelfCheck:
    """Compare pauses with the safepoints around them, and each heap size with its neighbours."""
    violations: list[tuple[str, int | None, str]] = []
    outside = _pauses_in_safepoints(log, violations)
    _heap_sizes(log, violations)
    return SelfCheck(pd.DataFrame(violations, columns=["check", "at_ns", "detail"]), outside)


def _pauses_in_safepoints(log: GcLog, violations: list[tuple[str, int | None, str]]) -> int | None:
    if log.safepoints.empty or log.clock == NO_CLOCK:
        return None
    pauses = log.outermost
    durations = pauses["duration_ns"].to_numpy()
    ends = pauses["start_ns"].to_numpy(dtype=np.int64) + durations  # the one moment that the log itself stamped
    starts = log.safepoints["start_ns"].to_numpy(dtype=np.int64)
    totals = log.safepoints["duration_ns"].to_numpy()
    # The line of a safepoint follows those of its pauses; stamps of whole milliseconds would not tell neighbours apart.
    following = np.array(log.following_safepoint, np.int64)[pauses.index]
    safepoint = np.minimum(following, len(starts) - 1)
    covered = (following < len(starts)) & (starts[safepoint] <= ends + log.resolution_ns)
    covered &= ends <= starts[safepoint] + totals[safepoint] + log.resolution_ns
    inside = np.bincount(safepoint[covered], durations[covered], len(starts))
    count = np.bincount(safepoint[covered], minlength=len(starts))
    for index in np.flatnonzero(inside > totals + count * _PRINTED_NS):
        detail = f"{inside[index] / 1e6:.3f} ms of pauses in a safepoint of {totals[index] / 1e6:.3f} ms"
        violations.append(("pauses exceed their safepoint", int(starts[index]), detail))
    return int((~covered).sum())


def _heap_sizes(log: GcLog, violations: list[tuple[str, int | None, str]]) -> None:
    slack_mb = 1.0  # sizes are rounded to whole MiB
    capacity_before = after_before = 0.0
    stop_the_world = log.collector in _SHRINKS_ONLY_IN_PAUSES
    pauses = log.outermost
    pauses = pauses[pauses["heap_capacity_mb"].notna()]
    sizes = pauses[["heap_before_mb", "heap_after_mb", "heap_capacity_mb"]].to_numpy(dtype=np.float64)
    starts = pauses["start_ns"].to_numpy(dtype=object)
    for start, (before, after, capacity) in zip(starts, sizes.tolist(), strict=True):
        text = f"{before:g}M->{after:g}M({capacity:g}M) after {after_before:g}M({capacity_before:g}M)"
        at_ns = None if log.clock == NO_CLOCK else int(start)
        # a collection may resize the heap, and prints the capacity after it
        if after > capacity + slack_mb or before > max(capacity, capacity_before or before) + slack_mb:
            violations.append(("heap over its capacity", at_ns, text))
        if stop_the_world and before + slack_mb < after_before:
            violations.append(("heap shrank between collections", at_ns, text))
        capacity_before, after_before = capacity, after
