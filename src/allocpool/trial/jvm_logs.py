"""The logs of a trial's JVM: what its compilers did in a window of time, and whether the collector's log is whole.

One with a hole would report too few pauses: disks fill up and files have limits, and the JVM goes on and loses lines.
Collections are numbered from 0 without gaps, and a trial's JVM stops its threads once more after the measured window
(`allocpool.trial.child.jvm.mark_end`), so that a whole log goes on beyond it.
"""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

JIT_LOG = "jit.log"
_LINE = re.compile(
    r"\[(?P<at_ns>\d+)ns\] +\d+ [ %sb!n]+(?P<level>[1-4]) +(?P<method>\S+(?: @ -?\d+)?) \(\d+ bytes\)"
    r"(?P<given_up> +made not entrant)?"
)
"""A line of ``-Xlog:jit+compilation=debug``, JDK 11 to 25: number, properties, level, method, and the bytecode at which
code replaces a running loop."""
_OURS = "allocpool."
_ADDRESS = re.compile(r"0x[0-9a-f]+")
"""Of a hidden class: another one in every process."""
_ID = re.compile(rb"GC\((\d+)\)")
_STAMP = re.compile(rb"^\[(\d+)ns\]", re.MULTILINE)
_TAIL_BYTES = 1 << 16


def read_jit_log(log: Path, start_ns: int, end_ns: int) -> dict[str, Any]:
    """Return the compilations between two instants of CLOCK_MONOTONIC, by their names in `allocpool.trial.noise.Noise`;
    nothing where there is no log.

    ``compiled_state`` is of the second instant: trials that have it in common ran the same methods of the workload at
    the same levels, if not the same instructions.
    """
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return {}
    seen: set[tuple[str, str]] = set()
    compiled = again = given_up = 0
    live: dict[str, set[str]] = defaultdict(set)
    for line in lines:
        found = _LINE.match(line)
        if found is None:
            continue
        inside = start_ns <= int(found["at_ns"]) < end_ns
        if found["method"].startswith(_OURS) and int(found["at_ns"]) < end_ns:
            levels = live[_ADDRESS.sub("", found["method"])]
            (levels.discard if found["given_up"] else levels.add)(found["level"])
        if found["given_up"]:
            given_up += inside
            continue
        code = (found["level"], found["method"])
        compiled += inside
        again += inside and code in seen
        seen.add(code)
    state = "\n".join(f"{method} {' '.join(sorted(levels))}" for method, levels in sorted(live.items()) if levels)
    return {
        "compilations": compiled, "recompilations": again, "deoptimizations": given_up,
        "compiled_state": hashlib.sha256(state.encode()).hexdigest()[:8] if state else None,
    }  # fmt: skip


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
