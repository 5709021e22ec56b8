"""Collections that the JVM's log tells of while a trial runs; read from the file, so that the JVM is left alone."""

from __future__ import annotations

import re
from pathlib import Path

MAJOR = re.compile(
    rb"\[(\d+)ns\].*GC\((\d+)\) (?:Pause (?:Full|Remark)\b.*ms$"
    rb"|(?:Garbage|Major) Collection \(.*->"
    rb"|Pause (?:Final Mark|Degenerated GC)(?!.*\(Young\)).*ms$)"
)
"""Lines of HotSpot's log that only a collection of the whole heap, or of its old part, writes: full pauses of every
collector, the remark of CMS and G1, the cycles of ZGC, the marking of Shenandoah but that of the young part alone."""
PAUSING = re.compile(rb"\[(\d+)ns\].*GC\((\d+)\) (?:[yYoO]: )?Pause .*ms$")
"""Lines that end a pause of any collection."""


class Collections:
    """How many collections a growing log tells of: those to come, or from its start on."""

    def __init__(self, log: Path, pattern: re.Pattern[bytes], from_start: bool = False) -> None:
        self._log, self._pattern = log, pattern
        self._offset = log.stat().st_size if log.exists() and not from_start else 0
        self._ended_ns: dict[bytes, int] = {}

    def since(self, start_ns: float) -> int:
        """Collections that ended at or after this instant of CLOCK_MONOTONIC."""
        if self._log.exists():
            with self._log.open("rb") as file:
                file.seek(self._offset)
                complete = file.read().rpartition(b"\n")[0]
            self._offset += len(complete)
            for line in complete.splitlines():
                if told := self._pattern.match(line):
                    self._ended_ns[told.group(2)] = int(told.group(1))
        return sum(1 for ended_ns in self._ended_ns.values() if ended_ns >= start_ns)
