"""The log of HotSpot's compilers: what they compiled and gave up in a window of time."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

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


@dataclass(frozen=True)
class Compilations:
    """Compilations between two instants.

    Attributes:
        recompilations: those of code that had been compiled before at the same level.
        deoptimizations: code that was given up, deoptimised or replaced by that of another level.
        compiled_state: at the second instant, eight hex digits over which methods of the workload were compiled at
            which levels: trials that have them in common ran the same methods at the same levels, if not the same
            instructions.
    """

    compilations: int = 0
    recompilations: int = 0
    deoptimizations: int = 0
    compiled_state: str | None = None


def read_jit_log(log: Path, start_ns: int, end_ns: int) -> Compilations | None:
    """Return the compilations between two instants of CLOCK_MONOTONIC; None where there is no log."""
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
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
    return Compilations(compiled, again, given_up, hashlib.sha256(state.encode()).hexdigest()[:8] if state else None)
