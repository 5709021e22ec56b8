"""Collections in the JVM's log while a trial runs; read from the file, so that the JVM is left alone."""

from __future__ import annotations

import re
from pathlib import Path

MAJOR = re.compile(
    rb"\[(\d+)ns\].*GC\((\d+)\) (?:Pause (?:Full|Remark)\b.*ms$"
    rb"|(?:Garbage|Major) Collection \(.*->"
    rb"|Pause (?:Final Mark|Degenerated GC)(?!.*\(Young\)).*ms$)"
)
"""Lines that only a collection of the whole heap, or of its old part, writes: full pauses of every collector, the
remark of CMS and G1, the cycles of ZGC, the marking of Shenandoah except that of the young part."""
PAUSING = re.compile(rb"\[(\d+)ns\].*GC\((\d+)\) (?:[yYoO]: )?Pause .*ms$")
TRAINING = re.compile(rb"\[(\d+)ns\].*GC\((\d+)\) (?:[yYoO]: )?Pause (?!Remark|Cleanup|Initial Mark).*ms$")
"""Lines that end a pause of a collection from which a collector learns: young ones of G1, Serial, Parallel and CMS, and
the cycles of the others, without the pauses of a concurrent marking alone."""
_TOOK_MS = re.compile(rb"([\d.]+)ms$")


class Collections:
    """Counts the collections in a growing log: new ones, or from its start on."""

    def __init__(self, log: Path, pattern: re.Pattern[bytes], from_start: bool = False) -> None:
        self._log, self._pattern = log, pattern
        self._offset = log.stat().st_size if log.exists() and not from_start else 0
        self._spans: list[tuple[bytes, int, int]] = []

    def since(self, start_ns: float) -> int:
        """Return how many collections ended at or after this instant of CLOCK_MONOTONIC."""
        return len({gc_id for gc_id, _, ended_ns in self._read() if ended_ns >= start_ns})

    def begun_within(self, start_ns: float, end_ns: float) -> int:
        """Return how many collections began to pause in this window of CLOCK_MONOTONIC, as tables count them."""
        return len({gc_id for gc_id, begun_ns, _ in self._read() if start_ns <= begun_ns < end_ns})

    def _read(self) -> list[tuple[bytes, int, int]]:
        """Return number, begin and end of each pause so far; the end for both where a line gives no length."""
        if self._log.exists():
            with self._log.open("rb") as file:
                file.seek(self._offset)
                complete = file.read().rpartition(b"\n")[0]
            self._offset += len(complete)
            for line in complete.splitlines():
                if found := self._pattern.match(line):
                    ended_ns, took = int(found.group(1)), _TOOK_MS.search(line)
                    begun_ns = ended_ns - (round(float(took.group(1)) * 1e6) if took else 0)
                    self._spans.append((found.group(2), begun_ns, ended_ns))
        return self._spans


_LINE = re.compile(rb"\[(\d+)ns\].*GC\((\d+)\) (.*)$")


def old_cycles(log: Path, start_ns: float, end_ns: float) -> int:
    """Return how many cycles of the old generation began and ended in a window of CLOCK_MONOTONIC.

    G1: from a concurrent start to the first young collection after its last mixed one. Others: a full collection, the
    marking of CMS, a major cycle of ZGC, a cycle of Shenandoah that is not of the young generation alone.
    """
    if not log.exists():
        return 0
    first_ns: dict[bytes, int] = {}
    of_cms: set[bytes] = set()
    complete, state = 0, ""
    for line in log.read_bytes().splitlines():
        found = _LINE.match(line)
        if not found:
            continue
        at_ns, gc_id, text = int(found[1]), found[2], found[3]
        begun_ns = first_ns.setdefault(gc_id, at_ns)
        if at_ns >= end_ns:
            break
        if text.startswith(b"Pause Young (") and text.endswith(b"ms"):
            if state == "marked" and text.startswith((b"Pause Young (Normal)", b"Pause Young (Concurrent Start)")):
                complete, state = complete + 1, ""
            if text.startswith(b"Pause Young (Concurrent Start)") and begun_ns >= start_ns:
                state = "marking"
        elif text.startswith(b"Pause Cleanup"):
            state = "marked" if state else ""
        elif text.startswith(b"Pause Initial Mark"):
            of_cms.add(gc_id)
        elif MAJOR.match(line) and begun_ns >= start_ns:
            # G1's remark is the middle of a cycle that the states above follow.
            complete += not text.startswith(b"Pause Remark") or gc_id in of_cms
    return complete
