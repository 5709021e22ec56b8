"""What a Flight Recorder file shows of the reader's program, through the JDK's own ``jfr print``.

Allocation rate, the sites that allocate most byte[] and their sizes, what lives after collections, collector, heap.
`Recording.missing` names what a recording can't give: no event knows of messages, how many are in flight or for how
long they are kept.
"""

from __future__ import annotations

import json
import math
import re
import struct
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, Any, BinaryIO

import pandas as pd

from allocpool.errors import UserError
from allocpool.runtimes.collectors import COLLECTORS, FEATURES
from allocpool.runtimes.discovery import find_javac, find_runtimes, known_releases
from allocpool.stats import significant
from allocpool.studies.your_workload.sizes import LARGEST_BYTES, SMALLEST_BYTES, Sizes, checked_sizes

_SAMPLE, _IN_TLAB, _OUTSIDE_TLAB = (
    "jdk.ObjectAllocationSample", "jdk.ObjectAllocationInNewTLAB", "jdk.ObjectAllocationOutsideTLAB",
)  # fmt: skip
_EVENTS = (
    _SAMPLE, _IN_TLAB, _OUTSIDE_TLAB, "jdk.GCHeapSummary", "jdk.GarbageCollection", "jdk.GCConfiguration",
    "jdk.GCHeapConfiguration", "jdk.JVMInformation",
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
"""Of what the largest site allocates: sites below give no sizes of messages, such as the text of log lines."""
_MOST_SIZES = 64
_CHUNK = 1 << 20
_BEGIN = '"events": ['
_BLANK = re.compile(r"[\s,]*")
_MB = 2.0**20
_CHUNK_HEADER = struct.Struct(">4sHHqqqqq")
"""Magic, version, size, where constants and metadata are, start and duration in nanoseconds."""
_NO_MESSAGES = (
    "how many messages come a second, are in flight or kept, and for how long: give --rate, --in-flight, --kept"
)
_NO_SIZES = (
    "sizes of byte[]: record with jdk.ObjectAllocationInNewTLAB#enabled=true,"
    "jdk.ObjectAllocationOutsideTLAB#enabled=true, or give --bytes"
)


@dataclass(frozen=True)
class Recording:
    """What a recording shows; None where it does not.

    Attributes:
        file, seconds: its name and its length.
        runtime: feature release of the JVM.
        collector: by its name here.
        heap_mb: largest heap, MiB.
        allocation_mb_per_s: of all classes and threads, MiB a second.
        byte_arrays_mb_per_s: of byte[] alone.
        sites: methods that allocate most byte[], the largest first, with MiB a second.
        sizes: bytes of these arrays, with weights that sum to 1.
        collections: their number.
        live_mb: what collections left at least, MiB.
        missing: what it can't give, and how it could.
    """

    file: str
    seconds: float
    runtime: int | None
    collector: str | None
    heap_mb: int | None
    allocation_mb_per_s: float | None
    byte_arrays_mb_per_s: float | None
    sites: dict[str, float]
    sizes: Sizes
    collections: int
    live_mb: float | None
    missing: tuple[str, ...]

    def guessed(self) -> dict[str, str]:
        """Return parameters as words, for `workload.understood`."""
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
        """Return what was taken from the recording, and what it lacks."""
        found = [
            f"{Path(self.file).name}, {self.seconds:.0f} s: Java {self.runtime or 'unknown'}, "
            f"{self.collector or 'collector not reported'}, heap {_mb(self.heap_mb)}, "
            f"live after collections {_mb(self.live_mb)}; it allocates {_mb(self.allocation_mb_per_s)} a second, "
            f"{_mb(self.byte_arrays_mb_per_s)} of it in byte arrays."
        ]
        found += [f"byte arrays at {site}: {_mb(mb_per_s)} a second." for site, mb_per_s in self.sites.items()]
        return (*found, *(f"The recording lacks {what}." for what in self.missing))


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
    reader, cut = _Reader(), ""
    command = [str(_tool()), "print", "--json", "--stack-depth", "3", "--events", ",".join(_EVENTS), str(path)]
    with tempfile.TemporaryFile() as complaints:
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=complaints, text=True) as printed:
            assert printed.stdout is not None
            try:
                for event in _events(printed.stdout):
                    reader.read(event)
            except ValueError:
                cut = "it ends in the middle"
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
    """How long a file was recorded, in seconds, by the headers of its chunks; 0 where they don't have it."""
    at, total_ns = 0, 0
    with suppress(OSError, OverflowError):  # a size that no file has
        while True:
            file.seek(at)
            header = file.read(_CHUNK_HEADER.size)
            if len(header) < _CHUNK_HEADER.size:
                break
            magic, _, _, size, _, _, _, duration_ns = _CHUNK_HEADER.unpack(header)
            if magic != b"FLR\0" or size <= 0:
                break
            at, total_ns = at + size, total_ns + max(0, duration_ns)
    return total_ns / 1e9


def _tool() -> Path:
    """``jfr`` of the newest JDK that has it."""
    homes = [runtime.home for _, runtime in sorted(find_runtimes().items(), reverse=True)]
    with suppress(UserError):
        homes.insert(0, find_javac().home)
    for home in homes:
        if (tool := home / "bin" / "jfr").is_file():
            return tool
    raise UserError("no JDK here has the tool jfr: install a JDK 17 or newer, or set JAVA_HOME to one")


def _events(printed: IO[str]) -> Iterator[Any]:
    """Each event as it is printed, without the whole file in memory; ValueError where the text ends in the middle."""
    decoder, text = json.JSONDecoder(), ""
    while _BEGIN not in text:
        text += _more(printed)
    text = text.partition(_BEGIN)[2]
    place = 0
    while True:
        found = _BLANK.match(text, place)
        place = found.end() if found else place
        if text.startswith("]", place):
            while printed.read(_CHUNK):
                pass
            return
        try:
            event, place = decoder.raw_decode(text, place)
        except ValueError:
            text, place = text[place:] + _more(printed), 0
        else:
            yield event


def _more(printed: IO[str]) -> str:
    if chunk := printed.read(_CHUNK):
        return chunk
    raise ValueError("the text ends in the middle")


def _in(values: object, *path: str | int) -> Any:
    """What lies at a path of keys and places; None where it is not there, or is of another type."""
    found: Any = values
    for key in path:
        try:
            found = found[key]
        except (IndexError, KeyError, TypeError):
            return None
    return found


def _number(value: object) -> float | None:
    """A number of an event; None of null, words, and what no counter holds."""
    return float(value) if isinstance(value, int | float) and abs(value) < 2**63 else None


def _site(values: object) -> str:
    """The method on top of a stack, with the line."""
    frame = _in(values, "stackTrace", "frames", 0)
    owner = str(_in(frame, "method", "type", "name") or "unknown").replace("/", ".")
    line = _number(_in(frame, "lineNumber")) or 0
    return f"{owner}.{_in(frame, 'method', 'name') or ''}" + (f":{line:.0f}" if line > 0 else "")


def _of_the_recorder(values: object) -> bool:
    """Whether Flight Recorder itself allocated: by the name of the thread, or in its own methods."""
    thread = _in(values, "eventThread", "javaName") or _in(values, "eventThread", "osName")
    frames = _in(values, "stackTrace", "frames")
    owners = [str(_in(frame, "method", "type", "name")) for frame in (frames if isinstance(frames, list) else ())]
    return str(thread).startswith("JFR ") or any(owner.replace("/", ".").startswith("jdk.jfr.") for owner in owners)


def _feature(text: str) -> int | None:
    """The feature release of a JVM by its version: HotSpot 25.292-b10 is Java 8; the Java in it decides, if named."""
    found = re.search(r"JRE \((?:1\.)?(\d+)()", text) or re.search(r"(?:^|\()(?:1\.)?(\d+)([^\s)]*)", text)
    if not found:
        return None
    return 8 if re.match(r"\.\d+-b\d", found.group(2)) and found.group(1) == "25" else int(found.group(1))


class _Reader:
    """Sums over events."""

    def __init__(self) -> None:
        self.events = 0
        self._times: list[datetime] = []
        """The first and the last."""
        self._allocated: dict[tuple[bool, str, str, float], float] = defaultdict(float)
        """Bytes by whether it is a sample, class, and of byte[] site and size; samples have no size."""
        self._collections: dict[float, str] = {}
        self._after: dict[float, float] = {}
        self._collector = ""
        self._heap_mb: int | None = None
        self._version: int | None = None
        self._arguments = ""

    def read(self, event: object) -> None:
        """Count one event."""
        self.events += 1
        kind, values = _in(event, "type"), _in(event, "values")
        with suppress(TypeError, ValueError):  # no time, or a year of six digits
            when = datetime.fromisoformat(_in(values, "startTime"))
            self._times = [min([when, *self._times]), max([when, *self._times])]
        collection = _number(_in(values, "gcId"))
        if kind in (_SAMPLE, _IN_TLAB, _OUTSIDE_TLAB):
            self._count(str(kind), values)
        elif kind == "jdk.GCHeapSummary" and collection is not None and _in(values, "when") == "After GC":
            self._after[collection] = _number(_in(values, "heapUsed")) or 0.0
        elif kind == "jdk.GarbageCollection" and collection is not None:
            self._collections[collection] = str(_in(values, "name"))
        elif kind == "jdk.GCConfiguration":
            self._collector = f"{_in(values, 'youngCollector')} {_in(values, 'oldCollector')}"
        elif kind == "jdk.GCHeapConfiguration":
            self._heap_mb = round((_number(_in(values, "maxSize")) or 0) / _MB) or None
        elif kind == "jdk.JVMInformation":
            self._version = _feature(str(_in(values, "jvmVersion")))
            self._arguments = str(_in(values, "jvmArguments"))

    def _count(self, kind: str, values: object) -> None:
        if _of_the_recorder(values):
            return
        size = 0.0 if kind == _SAMPLE else _number(_in(values, "allocationSize")) or 0.0
        # A new buffer of a thread stands for all that went into it; what lies outside is there in full.
        weight = _number(_in(values, {_SAMPLE: "weight", _IN_TLAB: "tlabSize"}.get(kind, ""))) or size
        name = str(_in(values, "objectClass", "name"))
        where = (_site(values), size) if name == "[B" else ("", 0.0)
        self._allocated[(kind == _SAMPLE, name, *where)] += weight

    def recording(self, file: str, seconds: float, cut: str) -> Recording:
        """Return what the events come to; ``seconds`` were recorded, 0 if unknown; ``cut``: why it ends too early."""
        if not seconds and self._times:
            seconds = (self._times[1] - self._times[0]).total_seconds()
        keys = [(*key, weight) for key, weight in self._allocated.items()]
        rows = pd.DataFrame(keys, columns=["sampled", "name", "site", "size", "bytes"])
        # Where both kinds of events are there, either alone is all that was allocated.
        rows = rows[rows["sampled"] == rows["sampled"].all()]
        known = len(rows) > 0 and seconds > 0
        arrays = rows[rows["name"] == "[B"]
        by_site = arrays.groupby("site")["bytes"].sum().sort_values(ascending=False).head(_SITES if known else 0)
        large = by_site.index[by_site >= _LARGE_SHARE * by_site.max()]
        sized = arrays[arrays["size"] > 0]
        sized = sized.assign(count=sized["bytes"] / sized["size"], size=(sized["size"] - _ARRAY_HEADER_BYTES).clip(1))
        all_of_it = [used for gc, used in self._after.items() if self._collections.get(gc, _YOUNG[0]) not in _YOUNG]
        left = all_of_it or list(self._after.values())
        sizes = _histogram(sized[sized["site"].isin(large)])
        releases = ", ".join(map(str, known_releases()))
        missing = {
            _NO_MESSAGES: True,
            f"what comes after {self.events} events: {cut}": bool(cut),
            f"what is allocated: it has no {_SAMPLE} event over time": not known,
            _NO_SIZES: not sizes,
            f"what is alive: {len(self._collections)} collections, no jdk.GCHeapSummary event": not left,
            "exactly what is alive: the value is the least that collections of young objects left":
                bool(left) and not all_of_it,
            f"a runtime that is here ({releases}): give --runtime": self._version not in known_releases(),
        }  # fmt: skip
        return Recording(
            file=file, seconds=seconds, runtime=self._version, collector=self._collector_name(), heap_mb=self._heap_mb,
            allocation_mb_per_s=float(rows["bytes"].sum()) / _MB / seconds if known else None,
            byte_arrays_mb_per_s=float(arrays["bytes"].sum()) / _MB / seconds if known else None,
            sites={str(site): float(total) / _MB / seconds for site, total in by_site.items()},
            sizes=sizes, collections=len(self._collections), live_mb=min(left) / _MB if left else None,
            missing=tuple(what for what, lacks in missing.items() if lacks),
        )  # fmt: skip

    def _collector_name(self) -> str | None:
        for pattern, name in _COLLECTORS:
            if re.search(pattern, self._collector):
                return "genshenandoah" if name == "shenandoah" and "generational" in self._arguments else name
        return None


def _histogram(sized: pd.DataFrame) -> Sizes:
    """Sizes with weights that sum to 1; where there are many, rounded to what keeps a hundredth."""
    for digits in (9, 2, 1):
        rounded = [int(float(f"{size:.{digits}g}")) for size in sized["size"]]
        counts = sized["count"].groupby(pd.Series(rounded, sized.index).clip(SMALLEST_BYTES, LARGEST_BYTES)).sum()
        if len(counts) <= _MOST_SIZES:
            break
    return checked_sizes(zip(counts.index, counts, strict=True)) if len(counts) else ()
