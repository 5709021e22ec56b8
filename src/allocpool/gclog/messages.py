"""What HotSpot's messages mean, collector by collector and release by release: the knowledge of this reader.

Every expression here works on the message alone: decorations and ``GC(n)`` are already off. Sizes are HotSpot's, so
``M`` is 2**20 bytes, and every column named ``_mb`` holds those.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

# Digits are bounded, so that a damaged number is a line not understood rather than an overflow.
_NUMBER = rb"(\d{1,9}[.,]\d{1,9})"
_SIZES = rb"(?: (\d\S*)->(\d[^(\s]*)(?:\((\d\S*)\))?)?"

# y: the young collection of a minor cycle, Y: that of a major cycle, O: its old collection (generational ZGC)
PHASE_END = re.compile(rb"(?:([yYO]): )?(Pause|Concurrent) ([^[]+?)" + _SIZES + rb" " + _NUMBER + rb"ms")
PHASE_START = re.compile(rb"(?:[yYO]: )?Pause ")
COLLECTION_END = re.compile(
    rb"((?:Garbage|Minor|Major) Collection) \((.*)\) (\d[^(\s]*)\(\d+%\)->(\d[^(\s]*)\(\d+%\)(?: " + _NUMBER + rb"s)?"
)
GENERATION_END = re.compile(rb"([yYO]): (?:Young|Old) Generation \S+->\S+ " + _NUMBER + rb"s")
EPSILON_HEAP = re.compile(rb"Heap: \S+ reserved, (\d\S*) \(\S+\) committed, (\d\S*) \(\S+\) used")
STALL = re.compile(rb"(Allocation|Relocation) Stall \((.*)\) " + _NUMBER + rb"ms")
OUT_OF_MEMORY = re.compile(rb"Out Of Memory \((.*)\)")
COLLECTOR = re.compile(rb"Using (Serial|Parallel|Concurrent Mark Sweep|G1|The Z Garbage Collector|Shenandoah|Epsilon)")
VERSION = re.compile(rb"Version: (\S+)")
MAX_CAPACITY = re.compile(rb"Max Capacity: (\S+)")
UPGRADED = re.compile(rb"[Uu]pgrad(?:e|ing) [Tt]o Full GC")

# JDK 11 spreads a safepoint over several lines, later releases put it on one and change its parts
SAFEPOINT_REGION = re.compile(rb"Entering safepoint region: (.*)")
SAFEPOINT_STOPPED = re.compile(
    rb"Total time for which application threads were stopped: " + _NUMBER + rb" seconds, "
    rb"Stopping threads took: " + _NUMBER + rb" seconds"
)
_PART = rb"[A-Z][A-Za-z ]*: *\d{1,15} ns"
SAFEPOINT = re.compile(rb'Safepoint "([^"]*)", (' + _PART + rb"(?:, " + _PART + rb")*)(?:, Threads: .*)?")
SAFEPOINT_PART = re.compile(rb"([A-Z][A-Za-z ]*): *(\d+) ns")

TROUBLES = {
    b"To-space exhausted": "evacuation failure",
    b"Promotion failed": "promotion failure",
    b"Concurrent mode failure": "concurrent mode failure",
}
UPGRADED_TO_FULL = "upgraded to full"

COLLECTORS = {
    b"Serial": "serial",
    b"Parallel": "parallel",
    b"Concurrent Mark Sweep": "cms",
    b"G1": "g1",
    b"The Z Garbage Collector": "zgc",
    b"Shenandoah": "shenandoah",
    b"Epsilon": "epsilon",
}

_YOUNG_KINDS = ("Normal", "Concurrent Start", "Initial Mark", "Prepare Mixed", "Mixed")
_GENERATIONS = {"Young": "young", "Old": "old", "Global": "global"}
_ANNOTATIONS = ("unload classes", "process weakrefs", "update refs", "Major", "Minor")
_TIMES = re.compile(r"[\d.,s ]+")  # Concurrent Mark (0.123s, 0.145s)
_PREFIXES = {b"y": "young", b"Y": "young", b"O": "old"}

FAMILIAR_PAUSES = frozenset(
    (
        "Young", "Full", "Initial Mark", "Remark", "Cleanup", *(f"Young ({kind})" for kind in _YOUNG_KINDS),
        "Mark Start", "Mark End", "Relocate Start",  # ZGC, the others Shenandoah
        "Init Mark", "Final Mark", "Final Evac", "Init Update Refs", "Final Update Refs", "Final Roots",
        "Verify Final Roots", "Init Traversal", "Final Traversal", "Degenerated GC",
    )
)  # fmt: skip


@dataclass(frozen=True)
class PhaseName:
    """The words of a pause or concurrent phase, taken apart.

    ``kind`` is what it does, ``cause`` why it was started (for a degenerated collection: the point it degenerated
    at), ``generation`` is ``young``, ``old``, ``global`` or empty, ``trouble`` what went wrong, if the line itself
    says so.
    """

    kind: str
    cause: str
    generation: str
    trouble: str


@lru_cache(maxsize=4096)
def phase_name(words: bytes, prefix: bytes | None) -> PhaseName:
    """Takes apart for example ``Young (Mixed) (G1 Evacuation Pause) (Evacuation Failure: Allocation)``."""
    text = words.decode("utf-8", "replace")
    base, groups = _groups(text)
    kind, cause, trouble = base, "", ""
    generation = _PREFIXES.get(prefix or b"", "")
    for group in groups:
        if base == "Young" and kind == base and group in _YOUNG_KINDS:
            kind = f"{base} ({group})"
        elif group.startswith("Evacuation Failure"):  # or regions that native code had pinned (JDK 22)
            trouble = "pinned regions" if group.endswith(": Pinned") else "evacuation failure"
        elif group in _GENERATIONS:
            generation = _GENERATIONS[group]
        elif group not in _ANNOTATIONS and not _TIMES.fullmatch(group):
            cause = group
    if kind == "Degenerated GC":
        trouble = "degenerated"
    return PhaseName(kind, cause, generation, trouble)


@lru_cache(maxsize=4096)
def megabytes(size: bytes) -> float:
    """``512K``, ``64M``, ``1.5G`` or ``64M(50%)`` in MiB; NaN for what is no size."""
    match = re.match(rb"(\d{1,15}(?:[.,]\d+)?)([BKMGT])", size)
    if match is None:
        return float("nan")
    return float(match[1].replace(b",", b".")) * 2.0 ** (10 * (b"BKMGT".index(match[2]) - 2))


def milliseconds_to_ns(text: bytes) -> int:
    """``12.345`` milliseconds in whole nanoseconds."""
    return round(float(text.replace(b",", b".")) * 1e6)


def _groups(text: str) -> tuple[str, list[str]]:
    """The words before the first parenthesis and what is in each outermost pair: causes may hold pairs themselves."""
    base, groups, depth, start = "", [], 0, 0
    for position, letter in enumerate(text):
        if letter == "(":
            if depth == 0:
                base = base or text[:position].strip()
                start = position + 1
            depth += 1
        elif letter == ")" and depth:
            depth -= 1
            if depth == 0:
                groups.append(text[start:position])
    return base or text.strip(), groups
