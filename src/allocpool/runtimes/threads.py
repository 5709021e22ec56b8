"""Groups of threads, by name, that CPU time is reported by.

Names are those of Linux, cut to 15 characters, from HotSpot's sources (``set_name``, ``initialize_threads``). Serial
collects on the VM thread, and the VM thread of the others does little but collect, so it counts as the collector's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from allocpool.runtimes.collectors import COLLECTORS

APPLICATION, SOURCE, GC, JIT, OTHER = "application", "source", "gc", "jit", "other"
GROUPS = (APPLICATION, SOURCE, GC, JIT, OTHER)

_ANY_COLLECTORS = ("VM Thread", "GC ", "StrDedup", "StringDedup")
"""Beginnings of the names that threads of several collectors have; those of deduplication are of 11, and of 17 on."""
_PATTERNS = (
    (JIT, re.compile(r"C[12] Comp|Sweeper|JVMCI")),
    (SOURCE, re.compile(r"ap-source|allocpool-sourc")),
    (APPLICATION, re.compile(r"python|allocpool|main$|Thread-\d|hz\.|ForkJoinPool")),
)


def group_of(name: str) -> str:
    """Return the group of a thread: one of ``GROUPS``."""
    if name.startswith(_ANY_COLLECTORS) or any(name.startswith(row.thread_names) for row in COLLECTORS.values()):
        return GC
    return next((group for group, pattern in _PATTERNS if pattern.match(name)), OTHER)


def cpu_ns_by_group(threads: Iterable[tuple[str, int]], process_ns: int) -> dict[str, int]:
    """Return nanoseconds of CPU by group; what the process (``process_ns``) spent beyond its threads is of threads that
    ended in between: ``other``. Read one after the other, they may sum to a little more: nothing is then added."""
    spent = dict.fromkeys(GROUPS, 0)
    for name, nanoseconds in threads:
        spent[group_of(name)] += nanoseconds
    spent[OTHER] += max(0, process_ns - sum(spent.values()))
    return spent
