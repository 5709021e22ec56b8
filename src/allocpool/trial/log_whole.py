"""Whether the JVM's log of a trial is whole: one with a hole would report too few pauses.

Disks fill up and files have limits; the JVM goes on and loses lines. Collections are numbered from 0 without gaps, and
a trial's JVM stops its threads once more after the measured window (`allocpool.trial.child.jvm.mark_end`), so that a
whole log goes on beyond it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_ID = re.compile(rb"GC\((\d+)\)")
_STAMP = re.compile(rb"^\[(\d+)ns\]", re.MULTILINE)
_TAIL_BYTES = 1 << 16


def log_fault(log: Path, measurement: Mapping[str, Any] | None, needed: bool = True) -> str | None:
    """Return in a line what is missing in a log; None where nothing is, or where there is none and none is ``needed``.

    ``cpu`` of the ``measurement`` has the end of the window, in nanoseconds of CLOCK_MONOTONIC; a search in which no
    interval passed has none.
    """
    window = (measurement or {}).get("cpu")
    if not log.exists():
        return "its log is gone" if needed and window else None
    content = log.read_bytes()
    numbers = {int(number) for number in _ID.findall(content)}
    if numbers and (missing := max(numbers) + 1 - len(numbers)):
        return f"its log has a hole: {missing} of {max(numbers) + 1} collections are missing"
    stamps = _STAMP.findall(content[-_TAIL_BYTES:])
    if window and (not stamps or int(stamps[-1]) < window["end_ns"]):
        return "its log ends before the measured window does"
    return None
