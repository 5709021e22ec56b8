"""What a Flight Recorder file reports the reader's program, through the JDK's own ``jfr print``.

Allocation rate, the sites that allocate most byte[] and their sizes, what lives after collections, collector, heap.
What a recording can't give is said: no event knows of messages, of how many are in flight or how long they are kept.
"""

from __future__ import annotations

import json
import math
import re
import struct
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, Any, BinaryIO

from allocpool.errors import UserError
from allocpool.runtimes import COLLECTORS, FEATURES, find_javac, find_runtimes, known_releases
from allocpool.stats import significant
from allocpool.studies.your_workload.sizes import LARGEST_BYTES, SMALLEST_BYTES

_SAMPLE, _IN_TLAB, _OUTSIDE_TLAB = (
    "jdk.ObjectAllocationSample", "jdk.ObjectAllocationInNewTLAB", "jdk.ObjectAllocationOutsideTLAB",
)  # fmt: skip
_EVENTS = (
    _SAMPLE, _IN_TLAB, _OUTSIDE_TLAB, "jdk.GCHeapSummary", "jdk.GarbageCollection", "jdk.GCConfiguration",
    "jdk.GCHeapConfiguration", "jdk.JVMInformation", "jdk.DirectBufferStatistics",
)  # fmt: skip
_YOUNG = ("G1New", "ParallelScavenge", "DefNew", "ParNew", "ZGC Minor", "Z Minor")
"""Collections of young objects alone: what they leave is not all alive."""
_COLLECTORS = (
    (r"G1New", "g1"), (r"ParNew|ConcurrentMarkSweep", "cms"), (r"ParallelScavenge", "parallel"), (r"DefNew", "serial"),
    (r"ZGC|Z Minor", "genzgc"), (r"\bZ\b", "zgc"), (r"Shenandoah", "shenandoah"), (r"Epsilon", "epsilon"),
)  # fmt: skip
_ARRAY_HEADER_BYTES = 16
_SITES = 5
_LARGE_SHARE = 0.25
"""Of what the largest site allocates: sites below give no sizes of messages."""
_MOST_SIZES = 64
_CHUNK = 1 << 20
_BEGIN = '"events": ['
_BETWEEN = tuple(" ,\r\n\t")
_MB = 2.0**20
_CHUNK_HEADER = struct.Struct(">4sHHqqqqq")
"""Magic, version, size, where constants and metadata are, start and duration in nanoseconds."""
NEVER_TOLD = (
    "how many messages come a second, are in flight or kept, and for how long: give --rate, --in-flight, --kept"
)
_WITH_SIZES = (
    "sizes of byte[]: record with jdk.ObjectAllocationInNewTLAB#enabled=true,"
    "jdk.ObjectAllocationOutsideTLAB#enabled=true, or give --bytes"
)


@dataclass(frozen=True)
class Site:
    """Where byte[] are allocated: the method, MB a second, and the mean size where events tell it."""

    method: str
    mb_per_s: float
    mean_bytes: float | None


@dataclass(frozen=True)
class Recording:
    """What a recording reports; None where it does not.

    Attributes:
        file, seconds: its name and its length.
        runtime: feature release of the JVM.
        collector: by its name here.
        heap_mb, direct_mb: largest heap; limit or use of direct memory, MiB.
        allocation_mb_per_s: of all classes and threads.
        byte_arrays_mb_per_s: of byte[] alone.
        sites: those that allocate most byte[], the largest first.
        sizes: bytes of these arrays, with weights that sum to 1.
        collections: so many.
        live_mb: what collections left at least, MiB.
        missing: what it can't give, and how it could.
    """

    file: str
    seconds: float
    runtime: int | None
    collector: str | None
    heap_mb: int | None
    direct_mb: int | None
    allocation_mb_per_s: float | None
    byte_arrays_mb_per_s: float | None
    sites: tuple[Site, ...]
    sizes: tuple[tuple[int, float], ...]
    collections: int
    live_mb: float | None
    missing: tuple[str, ...]

    def guessed(self) -> dict[str, str]:
        """Parameters as words, for `workload.understood`; only what the recording reports."""
        words: dict[str, str] = {}
        if self.runtime in known_releases():
            words["runtime"] = str(self.runtime)
        if self.collector and COLLECTORS[self.collector].is_on(self.runtime or max(FEATURES)):
            words["collector"] = self.collector
        if self.heap_mb:
            words["heap"] = f"{self.heap_mb}m"
        if self.live_mb is not None:
            words["live"] = f"{math.floor(self.live_mb)}m"
        if self.sizes:
            words["bytes"] = ",".join(f"{size}:{weight:.4g}" for size, weight in self.sizes)
        if self.allocation_mb_per_s is not None and self.byte_arrays_mb_per_s is not None:
            words["garbage"] = f"{max(0.0, self.allocation_mb_per_s - self.byte_arrays_mb_per_s):.3g}m"
        return words

    def sentences(self) -> tuple[str, ...]:
        """What was taken from the recording, and what was not there."""
        heap = "not reported" if self.heap_mb is None else f"{self.heap_mb:,} MiB"
        found = [
            f"{Path(self.file).name}, {self.seconds:.0f} s: Java {self.runtime or 'unknown'}, "
            f"{self.collector or 'collector not reported'}, heap {heap}, "
            f"live after collections {_mb(self.live_mb)}; it allocates {_mb(self.allocation_mb_per_s)} a second, "
            f"{_mb(self.byte_arrays_mb_per_s)} of it in byte arrays."
        ]
        found += [
            f"byte arrays at {site.method}: {_mb(site.mb_per_s)} a second"
            + (f", {site.mean_bytes:,.0f} bytes each in the mean." if site.mean_bytes else ".")
            for site in self.sites
        ]
        return (*found, *(f"It can't tell {what}." for what in self.missing))


def _mb(value: float | None) -> str:
    return "not reported" if value is None else f"{significant(value)} MiB"


def read_recording(file: str | Path) -> Recording:
    """Read a recording.

    Raises:
        UserError: there is no such file, it is no recording, it is damaged, or no JDK here has the tool; one line.
    """
    path = Path(file)
    try:
        with path.open("rb") as opened:
            magic = opened.read(4)
            seconds = _recorded_s(opened)
    except OSError as error:
        raise UserError(f"the recording {path} can't be read: {error.strerror}") from None
    if magic != b"FLR\0":
        raise UserError(
            f"{path} is no Flight Recorder file (it does not begin with FLR): record one with jcmd JFR.dump"
        )
    reader = _Reader()
    command = [str(_tool()), "print", "--json", "--stack-depth", "3", "--events", ",".join(_EVENTS), str(path)]
    with tempfile.TemporaryFile() as complaints:
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=complaints, text=True) as printed:
            assert printed.stdout is not None
            cut = None
            try:
                for event in _events(printed.stdout):
                    reader.read(event["type"], event["values"])
            except ValueError:
                cut = "it ends in the middle"
                printed.kill()
            except (AttributeError, KeyError, OverflowError, TypeError):  # a damaged recording that the tool takes
                cut = "the next event has fields of other types"
                printed.kill()
        if printed.returncode or cut:
            complaints.seek(0)
            cut = " ".join(complaints.read().decode(errors="replace").split())[:200] or cut or "jfr print failed"
            if not reader.events:
                raise UserError(f"the recording {path} is damaged before the first event: {cut}")
    if not reader.events:
        raise UserError(f"the recording {path} holds none of the events that are asked for: {', '.join(_EVENTS)}")
    return reader.recording(str(path), seconds, cut)


def _recorded_s(file: BinaryIO) -> float:
    """How long a file was recorded, in seconds, by the headers of its chunks; 0 where they don't say."""
    at, total_ns = 0, 0
    while len(header := _at(file, at)) == _CHUNK_HEADER.size:
        magic, _, _, size, _, _, _, duration_ns = _CHUNK_HEADER.unpack(header)
        if magic != b"FLR\0" or size <= 0:
            break
        at, total_ns = at + size, total_ns + max(0, duration_ns)
    return total_ns / 1e9


def _at(file: BinaryIO, place: int) -> bytes:
    try:
        file.seek(place)
    except (OSError, OverflowError):  # a size that no file has
        return b""
    return file.read(_CHUNK_HEADER.size)


def _feature(text: str) -> int | None:
    """The feature release of a JVM by its version: HotSpot 25.292-b10 is Java 8; the Java in it decides, if named."""
    found = re.search(r"JRE \((?:1\.)?(\d+)()", text) or re.search(r"(?:^|\()(?:1\.)?(\d+)([^\s)]*)", text)
    if not found:
        return None
    return 8 if re.match(r"\.\d+-b\d", found.group(2)) and found.group(1) == "25" else int(found.group(1))


def _number(value: object) -> float | None:
    """A number of an event; None for null and words."""
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


def _of_the_recorder(values: Mapping[str, Any]) -> bool:
    """Whether Flight Recorder itself allocated: by the name of the thread, or in its own methods."""
    thread = values.get("eventThread") or {}
    frames = (values.get("stackTrace") or {}).get("frames") or ()
    owners = [str((((frame or {}).get("method") or {}).get("type") or {}).get("name")) for frame in frames]
    return str(thread.get("javaName") or thread.get("osName")).startswith("JFR ") or any(
        owner.replace("/", ".").startswith("jdk.jfr.") for owner in owners
    )


def _tool() -> Path:
    """``jfr`` of the newest JDK that has it."""
    homes = [runtime.home for _, runtime in sorted(find_runtimes().items(), reverse=True)]
    with suppress(UserError):
        homes.insert(0, find_javac().home)
    for home in homes:
        if (tool := home / "bin" / "jfr").is_file():
            return tool
    raise UserError("no JDK here has the tool jfr: install a JDK 17 or newer, or set JAVA_HOME to one")


def _events(printed: IO[str]) -> Iterator[dict[str, Any]]:
    """Each event as it is printed, without the whole file in memory; ValueError where the text ends in the middle."""
    decoder, text = json.JSONDecoder(), ""
    while _BEGIN not in text:
        chunk = printed.read(_CHUNK)
        if not chunk:
            raise ValueError("no events")
        text += chunk
    place = text.index(_BEGIN) + len(_BEGIN)
    while True:
        while text[place : place + 1] in _BETWEEN:
            place += 1
        if text.startswith("]", place):
            while printed.read(_CHUNK):
                pass
            return
        try:
            event, place = decoder.raw_decode(text, place)
        except ValueError:
            chunk = printed.read(_CHUNK)
            if not chunk:
                raise
            text, place = text[place:] + chunk, 0
            continue
        yield event


class _Reader:
    """Sums over events."""

    def __init__(self) -> None:
        self.events = 0
        self._first: datetime | None = None
        self._last: datetime | None = None
        self._sampled: dict[str, float] = defaultdict(float)
        """Bytes by class, of samples."""
        self._tlab: dict[str, float] = defaultdict(float)
        """The same, of events that know the size."""
        self._sites: dict[str, float] = defaultdict(float)
        self._site_sizes: dict[str, list[tuple[int, float]]] = defaultdict(list)
        self._collections: dict[int, str] = {}
        self._after: dict[int, float] = {}
        self._configuration: dict[str, str] = {}
        self._heap: int | None = None
        self._direct: int | None = None
        self._version: int | None = None
        self._arguments = ""

    def read(self, kind: str, values: Mapping[str, Any]) -> None:
        """Count one event."""
        self.events += 1
        when = _time(values.get("startTime"))
        if when is not None:
            self._first = min(self._first or when, when)
            self._last = max(self._last or when, when)
        if kind in (_SAMPLE, _IN_TLAB, _OUTSIDE_TLAB):
            self._allocation(kind, values)
        elif kind == "jdk.GCHeapSummary":
            collection, used = _number(values.get("gcId")), _number(values.get("heapUsed"))
            if values.get("when") == "After GC" and collection is not None and used is not None:
                self._after[int(collection)] = used
        elif kind == "jdk.GarbageCollection":
            self._collections[int(_number(values.get("gcId")) or 0)] = str(values.get("name"))
        elif kind == "jdk.GCConfiguration":
            self._configuration = {name: str(values.get(name)) for name in ("youngCollector", "oldCollector")}
        elif kind == "jdk.GCHeapConfiguration":
            self._heap = int(_number(values.get("maxSize")) or 0) or None
        elif kind == "jdk.DirectBufferStatistics":
            self._direct = max(self._direct or 0, int(_number(values.get("memoryUsed")) or 0))
        elif kind == "jdk.JVMInformation":
            self._version = _feature(str(values.get("jvmVersion")))
            self._arguments = str(values.get("jvmArguments"))

    def _allocation(self, kind: str, values: Mapping[str, Any]) -> None:
        if _of_the_recorder(values):
            return
        name = str((values.get("objectClass") or {}).get("name"))
        if kind == _SAMPLE:
            weight, size = _number(values.get("weight")) or 0.0, None
            self._sampled[name] += weight
        else:
            size = int(_number(values.get("allocationSize")) or 0)
            # A new buffer of a thread stands for all that went into it; what lies outside is there as a whole.
            weight = (_number(values.get("tlabSize")) if kind == _IN_TLAB else None) or float(size)
            self._tlab[name] += weight
        if name == "[B":
            site = _site(values.get("stackTrace"))
            # Where both kinds of events are there, either alone is all that was allocated.
            self._sites[f"{'sample' if size is None else 'tlab'} {site}"] += weight
            if size:
                self._site_sizes[site].append((max(1, size - _ARRAY_HEADER_BYTES), weight / size))

    def recording(self, file: str, seconds: float, cut: str | None) -> Recording:
        """What the events come to; ``seconds`` were recorded, 0 if unknown; ``cut`` says why it ends too early."""
        if not seconds and self._first and self._last:
            seconds = (self._last - self._first).total_seconds()
        by_class, kind = (self._tlab, "tlab") if self._tlab else (self._sampled, "sample")
        known = bool(by_class) and seconds > 0
        sites = [
            (name.partition(" ")[2], weight) for name, weight in sorted(self._sites.items(), key=lambda item: -item[1])
            if name.startswith(f"{kind} ")
        ][:_SITES]  # fmt: skip
        # Messages are what most bytes go into: not the text of log lines.
        large = [site for site, weight in sites if weight >= _LARGE_SHARE * sites[0][1]]
        sized = [pair for site in large for pair in self._site_sizes.get(site, ())]
        live_mb, exact = self._live_mb()
        missing = [NEVER_TOLD]
        if cut:
            missing.append(f"what comes after {self.events} events: {cut}")
        if not known:
            missing.append(f"what is allocated: it has no {_SAMPLE} event over time")
        if not sized:
            missing.append(_WITH_SIZES)
        if live_mb is None and self._collections:
            missing.append(f"what is alive: of {len(self._collections)} collections it has no jdk.GCHeapSummary event")
        elif live_mb is None:
            missing.append("what is alive: it has no event of a collection")
        elif not exact:
            missing.append(
                "exactly what is alive: it saw collections of young objects only; told is the least they left"
            )
        if self._direct is None:
            missing.append("direct memory in use: it has no jdk.DirectBufferStatistics event")
        if self._version not in known_releases():
            missing.append(f"a runtime that is here ({', '.join(map(str, known_releases()))}): give --runtime")
        return Recording(
            file=file, seconds=seconds, runtime=self._version, collector=self._collector(),
            heap_mb=None if self._heap is None else round(self._heap / _MB),
            direct_mb=None if self._direct is None else math.ceil(self._direct / _MB),
            allocation_mb_per_s=sum(by_class.values()) / _MB / seconds if known else None,
            byte_arrays_mb_per_s=by_class["[B"] / _MB / seconds if known else None,
            sites=tuple(
                Site(site, weight / _MB / seconds, _mean(self._site_sizes.get(site, ()))) for site, weight in sites
            ) if known else (),
            sizes=_histogram(sized), collections=len(self._collections), live_mb=live_mb, missing=tuple(missing),
        )  # fmt: skip

    def _collector(self) -> str | None:
        found = " ".join(self._configuration.values())
        for pattern, name in _COLLECTORS:
            if re.search(pattern, found):
                return "genshenandoah" if name == "shenandoah" and "generational" in self._arguments else name
        return None

    def _live_mb(self) -> tuple[float | None, bool]:
        """What collections left at least, MiB; whether they were collections of everything."""
        whole = [used for gc, used in self._after.items() if self._collections.get(gc, _YOUNG[0]) not in _YOUNG]
        left = whole or list(self._after.values())
        return (min(left) / _MB if left else None), bool(whole)


def _time(text: object) -> datetime | None:
    """A time as ``jfr`` prints it, to microseconds."""
    found = re.fullmatch(r"(.*?:\d\d)(\.\d{1,6})?\d*(Z|[-+].*)", str(text))
    if not found:
        return None
    zone = found.group(3).replace("Z", "+00:00")
    with suppress(ValueError):  # a year of six digits
        return datetime.fromisoformat(f"{found.group(1)}{(found.group(2) or '.0').ljust(7, '0')}{zone}")
    return None


def _site(stack: Mapping[str, Any] | None) -> str:
    """The method on top of a stack, with the line."""
    frames = (stack or {}).get("frames") or [{}]
    frame = frames[0] or {}
    method = frame.get("method") or {}
    owner = str((method.get("type") or {}).get("name", "unknown")).replace("/", ".")
    line = frame.get("lineNumber", -1)
    return f"{owner}.{method.get('name', '')}" + (f":{line}" if isinstance(line, int) and line > 0 else "")


def _mean(sized: Any) -> float | None:
    total = math.fsum(weight for _, weight in sized)
    return math.fsum(size * weight for size, weight in sized) / total if total else None


def _histogram(sized: list[tuple[int, float]]) -> tuple[tuple[int, float], ...]:
    """Sizes with weights that sum to 1; where there are many, rounded to what keeps a hundredth."""
    for digits in (9, 2, 1):
        counts: dict[int, float] = defaultdict(float)
        for size, weight in sized:
            rounded = int(float(f"{size:.{digits}g}"))
            counts[min(LARGEST_BYTES, max(SMALLEST_BYTES, rounded))] += weight
        if len(counts) <= _MOST_SIZES:
            break
    total = math.fsum(counts.values())
    return tuple((size, counts[size] / total) for size in sorted(counts)) if total else ()
