"""From the lines of a log to its records: every line is judged by its tags and level first, then by its words.

A stop-the-world line has level info and the tags ``gc`` or ``gc,phases``, nothing else: ZGC writes parts of a pause
as ``Pause Roots ...`` at level debug, and Shenandoah repeats its pauses in ``gc,stats``. What looks like such a
line and can't be read is kept as unread, because a pause that was missed in silence is worse than one that is
reported.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from allocpool.gclog import decorations
from allocpool.gclog import lines as of_file
from allocpool.gclog import messages as m
from allocpool.gclog.decorations import NO_CLOCK, Layout, layout_of, seconds_to_ns
from allocpool.gclog.lines import Stripped, refuse
from allocpool.gclog.nesting import Nesting

_PAUSE_TAGS = (b"gc", b"gc,phases")
_START_TAGS = (b"gc,start", b"gc,phases,start")
_CONCURRENT_TAGS = (b"gc", b"gc,phases", b"gc,marking")
_ENDS_BYTES = 65536  # how much of either end is searched for a time stamp
_UNREAD_KEPT = 100
_NAN = float("nan")
_COLLECTION = re.compile(rb"GC\((\d{1,15})\)")
_STOP = re.compile(rb'GC\(\d+\) (?:[yYO]: )?Pause .{0,300}\dms|Safepoint ".{0,500}Total: *\d|were stopped: \d')
_REPEATED_WITHIN_NS = 10**9
_GOES_BACK_NS = 10**9  # lines of one run are out of order by less
_LOOKED_AHEAD = 20
_REMEMBERED = 10_000

Row = tuple[object, ...]


@dataclass(frozen=True)
class UnreadLine:
    """A line about stopped threads that was not, or not wholly, understood."""

    number: int
    text: str
    reason: str


@dataclass(kw_only=True)
class Facts:
    """What is known of a log apart from its rows.

    ``clock``: ``monotonic`` (CLOCK_MONOTONIC), ``uptime``, ``wall`` (since 1970), ``monotonic or uptime`` (a lone
    nanosecond stamp that nothing distinguishes) or ``none``; every ``start_ns`` is on it, in steps of
    ``resolution_ns``. ``span_ns``: first and last moment the log speaks of. ``unread_count`` counts lines about stopped
    threads that were not understood. ``repeated``: lines that stand a second time, counted once. ``text_before``: lines
    read with other text before their decorations. ``unfinished_pauses`` were seen to start but not to end; ``cut_tail``
    is the last line if it was cut. ``times_named``: how often the run names its collector. ``stripped``: what was taken
    off all parts.
    """

    jvm_version: str | None = None
    clock: str = NO_CLOCK
    resolution_ns: int = 0
    span_ns: tuple[int, int] | None = None
    unread_count: int = 0
    repeated: int = 0
    text_before: int = 0
    unfinished_pauses: int = 0
    cut_tail: str | None = None
    times_named: int = 0
    stripped: Stripped = field(default_factory=Stripped)


@dataclass(kw_only=True)
class Records(Facts):
    """What was read, in the order of the file; the rows follow the schemas of :mod:`allocpool.gclog.log`."""

    pauses: list[Row] = field(default_factory=list)
    safepoints: list[Row] = field(default_factory=list)
    stalls: list[Row] = field(default_factory=list)
    heap: list[Row] = field(default_factory=list)
    unread: list[UnreadLine] = field(default_factory=list)
    unfamiliar: set[str] = field(default_factory=set)
    following_safepoint: list[int] = field(default_factory=list)
    collector_named: str | None = None
    header_ns: int | None = None
    concurrent: int = 0
    generational: bool = False
    young_collector: str | None = None
    collection_ids: set[int] = field(default_factory=set)

    def has_rows(self) -> bool:
        """Whether anything was read but who writes."""
        return any((self.pauses, self.safepoints, self.stalls, self.concurrent, self.heap))


_YOUNG_GENERATION_OF = {b"PSYoungGen: ": "parallel", b"ParNew: ": "cms", b"DefNew: ": "serial"}


def read_records(*paths: Path) -> list[Records]:
    """Everything that a log reports, for each run of a JVM in it; ``paths`` are its parts, the oldest first.

    Raises :class:`allocpool.errors.UserError` for what is no unified log.
    """
    stripped = Stripped()
    runs: list[Records] = []
    reader: _Reader | None = None
    first = last = b""
    lines_before = 0
    for block in chain.from_iterable(of_file.blocks(path, stripped) for path in paths):
        first, last = first or block, block
        layout = None if reader else decorations.layout_in(block)
        if layout is not None:
            reader = _Reader(layout, block)
        if reader is None:
            lines_before += block.count(b"\n")
            of_file.refuse_binary(paths[0], first)
            continue
        indices, lines, count = of_file.interesting_lines(block)
        begins = 0
        for position, (index, line) in enumerate(zip(indices, lines, strict=True)):
            number = lines_before + index + 1
            if not reader.line(line, number, lines[position + 1 : position + _LOOKED_AHEAD]):
                *before, last = last.split(b"\n", index - begins)
                reader.collections_in(b"\n".join(before))
                runs.append(reader.finish(b""))
                begins = index
                reader = _Reader(decorations.layout_in(last) or layout_of(line), last)
                reader.line(line, number, [])
        reader.collections_in(last)
        lines_before += count
    if reader is None:
        refuse(paths[0], first)
    runs.append(reader.finish(last))
    undecorated = all(run.clock == NO_CLOCK for run in runs)  # JDK 8 can write safepoints in the words of JDK 11
    unnamed = [run for run in runs if run.collector_named is None]
    if not any(run.has_rows() or run.collector_named for run in runs) or (
        undecorated and of_file.looks_like_jdk_8(first)
    ):
        refuse(paths[0], first)
    # GraalVM's own serial collector never names itself.
    if any(row[1] in ("Full GC", "Incremental GC") for run in unnamed for row in run.pauses):
        of_file.refuse_native_image(paths[0])
    for run in runs:
        run.stripped = stripped
    return runs


class _Reader:
    def __init__(self, layout: Layout, first: bytes) -> None:
        self.records = Records()
        self._layout = layout
        self._nesting = Nesting(layout.resolution_ns)
        self._operation = ""
        self._trouble: dict[int | None, str] = {}
        self._capacity_mb = _NAN
        self._read: tuple[dict[bytes, tuple[int, bytes]], dict[bytes, tuple[int, bytes]]] = ({}, {})
        self._first = first
        self._first_ns = next(self._stamps(first[:_ENDS_BYTES].split(b"\n")), None)
        self._last_ns = 0
        self._latest_ns = [0, 0]
        self._highest_id = -1

    def line(self, line: bytes, number: int, later: list[bytes]) -> bool:
        """Reads one line that may matter; False, and nothing is read, where another run begins with it.

        ``later`` are lines that follow.
        """
        match = self._layout.expression.fullmatch(line)
        layout, text_before = self._layout, False
        if match is None:
            decorated = decorations.decorated_part(line)
            layout = layout_of(decorated)
            match = layout.expression.fullmatch(decorated)
            if match and self.records.has_rows() and m.COLLECTOR.fullmatch(match[5]):
                return False
            if match is None or layout.clock != self._layout.clock:
                self._unreadable(line, number, "a stop-the-world line behind damaged decorations, or on another clock")
                return True
            text_before = len(decorated) < len(line)
        stamp, level, tags, collection, message = match.groups()
        try:
            at_ns = layout.stamp_ns(stamp)
        except ValueError:  # a 31st of February
            self._unreadable(line, number, "a stop-the-world line with a time that does not exist")
            return True
        gc_id = int(collection) if collection else None
        if self._begins_a_run(message, at_ns, gc_id, later):
            return False
        if self._is_repeated((collection or b"") + message, at_ns, tags, layout is not self._layout):
            self.records.repeated += 1
            return True
        self._first_ns = at_ns if self._first_ns is None else self._first_ns
        self._last_ns = at_ns
        self._highest_id = max(self._highest_id, gc_id or 0)
        self.records.text_before += text_before
        if tags == b"safepoint":
            self._safepoint(message, at_ns, line, number)
        elif not tags.startswith(b"gc"):
            if not tags:
                self._untagged(message, at_ns, gc_id, line, number)
        elif level in (b"info", b""):
            if b"Pause " in message and tags in _PAUSE_TAGS:
                self._pause(message, at_ns, gc_id, level, line, number)
            elif tags in _START_TAGS:
                if m.PHASE_START.match(message):
                    self._nesting.starts(gc_id, number)
            elif tags in _CONCURRENT_TAGS and message.endswith(b"ms") and b"Concurrent " in message:
                self._concurrent(message, at_ns, gc_id)
            else:
                self._other(message, at_ns, gc_id)
                if b"Pause " in message:
                    self._unreadable(line, number, "a stop-the-world line behind other tags")
        elif message in m.TROUBLES:
            self._trouble[gc_id] = m.TROUBLES[message]
        return True

    def _begins_a_run(self, message: bytes, at_ns: int, gc_id: int | None, later: list[bytes]) -> bool:
        """Whether a JVM names its collector anew, or its clock went back and its numbers of collections start again.

        One damaged line looks so too: the line before the last and the next one have to agree.
        """
        if message.startswith(b"Using "):
            return self.records.has_rows() and m.COLLECTOR.fullmatch(message) is not None
        if at_ns < min(self._latest_ns) - _GOES_BACK_NS:
            still_back_ns = max(self._latest_ns) - _GOES_BACK_NS
            if all(stamp < still_back_ns for stamp in self._stamps(later[:1])):
                numbers = [gc_id] if gc_id is not None else map(int, _COLLECTION.findall(b"\n".join(later)))
                number = next(iter(numbers), None)
                if number is None or number <= self._highest_id:
                    return number is not None
        self._latest_ns = [self._latest_ns[1], at_ns]
        return False

    def _is_repeated(self, text: bytes, at_ns: int, tags: bytes, otherwise: bool) -> bool:
        """Whether the same words stood, shortly before, behind decorations of the other kind, or behind the same time
        and tags."""
        mine, others = self._read[otherwise], self._read[not otherwise]
        if others and abs(others.get(text, (-_REPEATED_WITHIN_NS,))[0] - at_ns) < _REPEATED_WITHIN_NS:
            return True
        named_anew = text.startswith(b"Using ")  # by a JVM that collected nothing, and the next one
        if self._layout.clock != NO_CLOCK and mine.get(text) == (at_ns, tags) and not named_anew:
            return True
        if len(mine) > _REMEMBERED:
            for old in [*mine][: _REMEMBERED // 2]:
                del mine[old]
        mine[text] = at_ns, tags
        return False

    def collections_in(self, lines: bytes) -> None:
        """Remembers the numbers of collections, also in lines that do not matter otherwise."""
        self.records.collection_ids.update(map(int, _COLLECTION.findall(lines)))

    def finish(self, last: bytes) -> Records:
        """Settles what only the end of the run shows, whose last lines are ``last``."""
        records, layout = self.records, self._layout
        inside = self._nesting.inside
        records.pauses = [(*row, index in inside, inside.get(index)) for index, row in enumerate(records.pauses)]
        records.unfinished_pauses = len(self._nesting.unfinished)
        records.clock = decorations.clock_of(layout, records.header_ns)
        records.resolution_ns = layout.resolution_ns
        if layout.clock != NO_CLOCK and self._first_ns is not None:
            end_ns = next(self._stamps(reversed(last[-_ENDS_BYTES:].split(b"\n"))), self._last_ns)
            records.span_ns = (self._first_ns, max(self._first_ns, end_ns, self._last_ns))
        tail = last[last.rfind(b"\n") + 1 :]
        if tail and not tail.rstrip(b"\r").endswith((b"ms", b" ns", b" total", b" seconds")):
            records.cut_tail = tail.decode("utf-8", "replace")
        for name, collector in _YOUNG_GENERATION_OF.items():
            if name in self._first or name in last:
                records.young_collector = collector
        return records

    def _stamps(self, lines: Iterable[bytes]) -> Iterator[int]:
        for line in lines:
            if match := self._layout.expression.fullmatch(line.rstrip(b"\r")):
                with suppress(ValueError):
                    yield self._layout.stamp_ns(match[1])

    def _untagged(self, message: bytes, at_ns: int, gc_id: int | None, line: bytes, number: int) -> None:
        if message.startswith((b"Safepoint", b"Total time", b"Entering safe")):
            self._safepoint(message, at_ns, line, number)
        elif m.PHASE_START.match(message) and gc_id is not None:
            if message.endswith(b"ms"):
                self._pause(message, at_ns, gc_id, b"", line, number)
            else:
                self._nesting.starts(gc_id, number)
        elif message.endswith(b"ms") and b"Concurrent " in message and gc_id is not None:
            self._concurrent(message, at_ns, gc_id)
        else:
            self._other(message, at_ns, gc_id)
            self._unreadable(line, number, "a stop-the-world line within another")

    def _pause(self, message: bytes, at_ns: int, gc_id: int | None, level: bytes, line: bytes, number: int) -> None:
        match = m.PHASE_END.fullmatch(message)
        if match is None or match[2] != b"Pause":
            if m.PHASE_START.match(message) or message.endswith(b"ms"):
                self._unread(line, number, "a stop-the-world line in an unknown form")
            return
        prefix, _, words, before, after, capacity, milliseconds = match.groups()
        if not level and words.endswith(b")") and (b"(ZWorker#" in words or words.endswith(b"(VM Thread)")):
            return  # a part of a pause of ZGC, which only its level would tell apart
        name = m.phase_name(words, prefix)
        if name.kind not in m.FAMILIAR_PAUSES:
            self.records.unfamiliar.add(name.kind)
        duration_ns = m.milliseconds_to_ns(milliseconds)
        trouble = self._trouble.pop(gc_id, "")
        if None in self._trouble and name.kind.startswith("Young"):
            trouble = self._trouble.pop(None)
        sizes = self._sizes(before, after, capacity)
        self._nesting.ends(len(self.records.pauses), gc_id, name.kind, at_ns, duration_ns)
        start_ns, trouble = self._known(at_ns - duration_ns), trouble or name.trouble
        self.records.following_safepoint.append(len(self.records.safepoints))
        row = (gc_id, name.kind, name.cause, name.generation, trouble, start_ns, duration_ns, *sizes)
        self.records.pauses.append(row)
        if prefix or (name.generation and name.kind != "Full"):
            self.records.generational = True
        if before is not None:
            self.records.heap.append((gc_id, f"Pause {name.kind}", name.cause, self._known(at_ns), *sizes))

    def _concurrent(self, message: bytes, at_ns: int, gc_id: int | None) -> None:
        match = m.PHASE_END.fullmatch(message)
        if match is None or match[2] != b"Concurrent":
            return
        self.records.concurrent += 1
        prefix, _, words, before, after, capacity, _ = match.groups()
        if before is not None:
            name, sizes = m.phase_name(words, prefix), self._sizes(before, after, capacity)
            self.records.heap.append((gc_id, f"Concurrent {name.kind}", name.cause, self._known(at_ns), *sizes))

    def _safepoint(self, message: bytes, at_ns: int, line: bytes, number: int) -> None:
        if match := m.SAFEPOINT.fullmatch(message):
            parts = {name.decode(): int(value) for name, value in m.SAFEPOINT_PART.findall(match[2])}
            if "Total" not in parts:
                self._unread(line, number, "a safepoint line without its total")
                return
            total_ns = parts["Total"]
            operation = match[1].decode("utf-8", "replace")
            reaching_ns, at_safepoint_ns = parts.get("Reaching safepoint", 0), parts.get("At safepoint", total_ns)
            cleanup_ns, leaving_ns = parts.get("Cleanup"), parts.get("Leaving safepoint")
        elif match := m.SAFEPOINT_STOPPED.fullmatch(message):
            total_ns, reaching_ns = seconds_to_ns(match[1]), seconds_to_ns(match[2])
            operation, self._operation = self._operation, ""
            at_safepoint_ns, cleanup_ns, leaving_ns = max(0, total_ns - reaching_ns), None, None
        else:
            if match := m.SAFEPOINT_REGION.fullmatch(message):
                self._operation = match[1].decode("utf-8", "replace")
            elif message.startswith((b"Safepoint ", b"Total time for which")):
                self._unread(line, number, "a safepoint line in an unknown form")
            return
        start_ns = self._known(at_ns - total_ns)
        row = (operation, start_ns, total_ns, reaching_ns, cleanup_ns, at_safepoint_ns, leaving_ns)
        self.records.safepoints.append(row)

    def _other(self, message: bytes, at_ns: int, gc_id: int | None) -> None:
        records = self.records
        if match := m.COLLECTION_END.fullmatch(message):
            name, sizes = match[1].decode(), (*map(m.megabytes, match.groups()[2:4]), self._capacity_mb)
            records.heap.append((gc_id, name, match[2].decode("utf-8", "replace"), self._known(at_ns), *sizes))
            records.generational |= name != "Garbage Collection"
        elif m.GENERATION_END.fullmatch(message):
            records.concurrent += 1
            records.generational = True
        elif match := m.STALL.fullmatch(message):
            duration_ns = m.milliseconds_to_ns(match[3])
            kind, thread = match[1].decode().lower(), match[2].decode("utf-8", "replace")
            records.stalls.append((gc_id, kind, thread, self._known(at_ns - duration_ns), duration_ns))
        elif match := m.OUT_OF_MEMORY.fullmatch(message):
            records.stalls.append((gc_id, "out of memory", match[1].decode("utf-8", "replace"), self._known(at_ns), 0))
        elif match := m.EPSILON_HEAP.fullmatch(message):
            sizes = (_NAN, m.megabytes(match[2]), m.megabytes(match[1]))
            records.heap.append((gc_id, "Heap in use", "", self._known(at_ns), *sizes))
        elif message in m.TROUBLES:
            self._trouble[gc_id] = m.TROUBLES[message]
        elif m.UPGRADED.search(message):
            self._trouble[gc_id] = m.UPGRADED_TO_FULL
        elif match := m.COLLECTOR.fullmatch(message):
            records.times_named += 1
            records.collector_named = m.COLLECTORS[match[1]]
            records.header_ns = self._known(at_ns)
        elif match := m.VERSION.match(message):
            records.jvm_version = match[1].decode("ascii", "replace")
        elif match := m.MAX_CAPACITY.match(message):
            self._capacity_mb = m.megabytes(match[1])

    def _sizes(self, before: bytes | None, after: bytes | None, capacity: bytes | None) -> tuple[float, float, float]:
        return m.megabytes(before or b""), m.megabytes(after or b""), m.megabytes(capacity or b"")

    def _known(self, ns: int) -> int | None:
        return None if self._layout.clock == NO_CLOCK else ns

    def _unreadable(self, line: bytes, number: int, reason: str) -> None:
        """Keeps a line that was passed over, where it has the words of one that stops the world."""
        if _STOP.search(line):
            self._unread(line, number, reason)

    def _unread(self, line: bytes, number: int, reason: str) -> None:
        self.records.unread_count += 1
        if len(self.records.unread) < _UNREAD_KEPT:
            self.records.unread.append(UnreadLine(number, line.decode("utf-8", "replace"), reason))
