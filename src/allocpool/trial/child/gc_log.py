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
_TOOK_MS = re.compile(rb"([\d.]+)ms$")


class Collections:
    """How many collections a growing log tells of: those to come, or from its start on."""

    def __init__(self, log: Path, pattern: re.Pattern[bytes], from_start: bool = False) -> None:
        self._log, self._pattern = log, pattern
        self._offset = log.stat().st_size if log.exists() and not from_start else 0
        self._spans: list[tuple[bytes, int, int]] = []

    def since(self, start_ns: float) -> int:
        """Collections that ended at or after this instant of CLOCK_MONOTONIC."""
        return len({gc_id for gc_id, _, ended_ns in self._read() if ended_ns >= start_ns})

    def begun_within(self, start_ns: float, end_ns: float) -> int:
        """Collections that began to pause in this window of CLOCK_MONOTONIC, as tables count them."""
        return len({gc_id for gc_id, begun_ns, _ in self._read() if start_ns <= begun_ns < end_ns})

    def _read(self) -> list[tuple[bytes, int, int]]:
        """Number, begin and end of what the log tells of so far; the end alone, where a line gives no length."""
        if self._log.exists():
            with self._log.open("rb") as file:
                file.seek(self._offset)
                complete = file.read().rpartition(b"\n")[0]
            self._offset += len(complete)
            for line in complete.splitlines():
                if told := self._pattern.match(line):
                    ended_ns, took = int(told.group(1)), _TOOK_MS.search(line)
                    begun_ns = ended_ns - (round(float(took.group(1)) * 1e6) if took else 0)
                    self._spans.append((told.group(2), begun_ns, ended_ns))
        return self._spans
