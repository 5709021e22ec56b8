"""What stands in brackets before a unified log message, whichever of its decorations were asked for.

HotSpot writes decorations in a fixed order (JEP 158): time, utctime, uptime, timemillis, uptimemillis, timenanos,
uptimenanos, hostname, pid, tid, level, tags. So one look at a line reports the layout of its file, and a single
expression made for that layout reads all others.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

_WALL = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.,]\d+(?:Z|[+-]\d{4})")
_SECONDS = re.compile(rb"\d{1,9}[.,]\d{1,9}s")
_MILLIS = re.compile(rb"\d{1,14}ms")
_NANOS = re.compile(rb"\d{1,18}ns")
_TIMES = {"wall": _WALL, "seconds": _SECONDS, "millis": _MILLIS, "nanos": _NANOS}
_LEVEL = re.compile(rb"(?:error|warning|info|debug|trace) *")
_TAGS = re.compile(rb"(?:gc|safepoint)(?:,[a-z0-9,]+)? *")
_TAGGED = re.compile(rb"^(?:\[[^\]\n]*\])*\[(?:gc|safepoint)[a-z0-9,]* *\] .*$", re.MULTILINE)
_UNTAGGED = re.compile(rb'^(?:\[[^\]\n]*\])* ?(?:GC\(\d+\) |Using [A-Z]|Safepoint "|Total time for).*$', re.MULTILINE)
_INSIDE = re.compile(
    rb"(?:\[[^][\n]*\]){0,15}(?:\[(?:gc|safepoint)[a-z0-9,]* *\] |\[[^][\n]*\] ?"
    rb'(?=GC\(\d+\) |Safepoint "|Total time for|Entering safepoint)).*'
)
_BRACKETS = re.compile(rb"(?:\[[^\]\n]*\])+")

MONOTONIC = "monotonic"
UPTIME = "uptime"
MONOTONIC_OR_UPTIME = "monotonic or uptime"
WALL = "wall"
NO_CLOCK = "none"

_HEADER_WITHIN_NS = 10 * 10**9  # a JVM says which collector it uses well within its first ten seconds
_EPOCH_MILLIS = 10**11  # an uptime of this many milliseconds would be three years


@dataclass(frozen=True)
class Layout:
    """How the lines of one file begin.

    ``expression`` matches a whole line and captures (time stamp, level, tags, collection id, message), each ``b""``
    or None where the layout has none. ``stamp_ns`` turns the time stamp into nanoseconds on ``clock``; its grain is
    ``resolution_ns``.
    """

    expression: re.Pattern[bytes]
    clock: str
    resolution_ns: int
    stamp_ns: Callable[[bytes], int]


def layout_in(block: bytes) -> Layout | None:
    """The layout of the first line of a block that is one of a collection or a safepoint, if there is any."""
    first_line = _TAGGED.search(block) or _UNTAGGED.search(block) or _INSIDE.search(block)
    return layout_of(first_line.group().rstrip(b"\r")) if first_line else None


def decorated_part(line: bytes) -> bytes:
    """A line from its decorations on, without the text of a program or of a container that stands before them."""
    inside = _INSIDE.search(line)
    return inside.group() if inside else line


def layout_of(line: bytes) -> Layout:
    """The layout of a line's decorations; a line without any has the layout of an undecorated log."""
    brackets = _BRACKETS.match(line)
    tokens = brackets.group()[1:-1].split(b"][") if brackets else []
    return _layout(tuple(_token_kinds(tokens)), _only_nanos_is_monotonic(tokens))


def _token_kinds(tokens: list[bytes]) -> list[str]:
    kinds: list[str] = []
    for position, token in enumerate(tokens):
        kind = next((kind for kind, pattern in _TIMES.items() if pattern.fullmatch(token)), "other")
        if kind == "millis" and int(token[:-2]) > _EPOCH_MILLIS:
            kind = "epoch_millis"
        elif kind == "other" and _LEVEL.fullmatch(token) and "level" not in kinds:
            kind = "level"
        elif kind == "other" and position == len(tokens) - 1 and _TAGS.fullmatch(token):
            kind = "tags"
        kinds.append(kind)
    return kinds


def _only_nanos_is_monotonic(tokens: list[bytes]) -> bool | None:
    """Whether a lone nanosecond stamp is ``timenanos``, if an uptime next to it shows it; None if not."""
    nanos = [int(token[:-2]) for token in tokens if _NANOS.fullmatch(token)]
    uptimes = [seconds_to_ns(token[:-1]) for token in tokens if _SECONDS.fullmatch(token)]
    uptimes += [
        int(token[:-2]) * 10**6 for token in tokens if _MILLIS.fullmatch(token) and int(token[:-2]) <= _EPOCH_MILLIS
    ]
    if len(nanos) != 1 or not uptimes:
        return None
    return abs(nanos[0] - uptimes[0]) > 10 * 10**6


@lru_cache(maxsize=64)
def _layout(kinds: tuple[str, ...], lone_nanos_is_monotonic: bool | None) -> Layout:
    chosen = next((k for k in ("nanos", "seconds", "millis", "epoch_millis", "wall") if k in kinds), None)
    patterns = {name: pattern.pattern for name, pattern in _TIMES.items()}
    patterns |= {"epoch_millis": _MILLIS.pattern, "level": rb"([a-z]+) *", "tags": rb"([a-z0-9,_]+) *"}
    parts = [] if chosen else [b"()"]
    stamped = False
    for kind in kinds:
        pattern = patterns.get(kind, rb"[^\]]*")
        if kind == chosen and not stamped:  # of two nanosecond stamps the first is timenanos, the better one
            pattern, stamped = b"(" + pattern + b")", True
        if kind == "tags" and "level" not in kinds:
            parts.append(b"()")
        parts.append(rb"\[" + pattern + rb"\]")
    parts += [b"()"] * (0 if "tags" in kinds else 1 if "level" in kinds else 2)
    parts.append((rb" ?" if kinds else b"") + rb"(?!\[)(?:GC\((\d{1,15})\) )?(.*)")
    expression = re.compile(b"".join(parts), re.DOTALL)
    if chosen is None:
        return Layout(expression, NO_CLOCK, 0, lambda _: 0)
    clock, resolution_ns, stamp_ns = _CLOCKS[chosen]
    if chosen == "nanos" and kinds.count("nanos") == 1:
        clock = {None: MONOTONIC_OR_UPTIME, True: MONOTONIC, False: UPTIME}[lone_nanos_is_monotonic]
    return Layout(expression, clock, resolution_ns, stamp_ns)


def clock_of(layout: Layout, header_ns: int | None) -> str:
    """The clock of a file whose line that names the collector, if it has one, was stamped ``header_ns``."""
    if layout.clock == MONOTONIC_OR_UPTIME and header_ns is not None:
        return UPTIME if header_ns < _HEADER_WITHIN_NS else MONOTONIC
    return layout.clock


def seconds_to_ns(text: bytes) -> int:
    """Decimal seconds, with point or comma, in whole nanoseconds."""
    whole, _, fraction = text.replace(b",", b".").partition(b".")
    return int(whole) * 10**9 + int(fraction[:9].ljust(9, b"0"))


@lru_cache(maxsize=8)
def _epoch_second(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp())


def _wall_ns(token: bytes) -> int:
    text = token.decode("ascii")
    fraction = re.sub(r"\D", "", text[20:23])
    return _epoch_second(text[:19] + text[23:]) * 10**9 + int(fraction.ljust(9, "0"))


_CLOCKS: dict[str, tuple[str, int, Callable[[bytes], int]]] = {
    "nanos": (MONOTONIC, 1, lambda token: int(token[:-2])),
    "seconds": (UPTIME, 10**6, lambda token: seconds_to_ns(token[:-1])),
    "millis": (UPTIME, 10**6, lambda token: int(token[:-2]) * 10**6),
    "epoch_millis": (WALL, 10**6, lambda token: int(token[:-2]) * 10**6),
    "wall": (WALL, 10**6, _wall_ns),
}
