"""What a Flight Recorder file shows of the reader's program, through the JDK's own ``jfr print``.

No event knows of messages, how many are in flight or for how long they are kept: `Recording.missing` names that.
"""

from __future__ import annotations

import json
import math
import re
import struct
import subprocess
import tempfile
from collections import defaultdict, deque
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
_SITES, _MOST_SIZES = 5, 64
_LARGE_SHARE = 0.25
"""Of what the largest site allocates: sites below give no sizes of messages, such as the text of log lines."""
_CHUNK = 1 << 20
_BEGIN, _BETWEEN = '"events": [', tuple(" \t\r\n,")
_MB = 2.0**20
_MAGIC = b"FLR\0"
_CHUNK_HEADER = struct.Struct(">4sHHqqqqq")
"""Magic, version, size, where constants and metadata are, start and duration in nanoseconds."""


@dataclass(frozen=True)
class Recording:
    """What a recording shows, None where it does not: ``heap_mb``, the largest; ``live_mb``, what collections left at
    least; ``sites``, the methods that allocate most byte[], the largest first, with MiB a second, and the ``sizes`` of
    these arrays; ``missing``, what it can't give, and how it could."""

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
        is_on = self.collector and COLLECTORS[self.collector].is_on(self.runtime or max(FEATURES))
        others_mb_per_s = (self.allocation_mb_per_s or 0.0) - (self.byte_arrays_mb_per_s or 0.0)
        words = {
            "runtime": str(self.runtime) if self.runtime in known_releases() else None,
            "collector": self.collector if is_on else None,
            "heap": f"{self.heap_mb}m" if self.heap_mb else None,
            "live": None if self.live_mb is None else f"{math.floor(self.live_mb)}m",
            "bytes": ",".join(f"{size}:{weight:.4g}" for size, weight in self.sizes) or None,
            "garbage": None if self.allocation_mb_per_s is None else f"{max(0.0, others_mb_per_s):.3g}m",
        }
        return {name: word for name, word in words.items() if word is not None}

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
    """Read a recording. UserError, one line, where there is none, it is damaged, or no JDK here has the tool."""
    path = Path(file)
    try:
        with path.open("rb") as opened:
            magic = opened.read(4)
            seconds = _recorded_s(opened)
    except OSError as error:
        raise UserError(f"the recording {path} can't be read: {error.strerror}") from None
    if magic != _MAGIC:
        raise UserError(f"{path} is no Flight Recorder file, which begins with FLR: record one with jcmd JFR.dump")
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
    at, total_ns, magic, size = 0, 0, _MAGIC, 1
    with suppress(OSError, OverflowError, struct.error):  # a size that no file has, or the end
        while magic == _MAGIC and size > 0:
            file.seek(at)
            magic, _, _, size, _, _, _, duration_ns = _CHUNK_HEADER.unpack(file.read(_CHUNK_HEADER.size))
            at, total_ns = at + size, total_ns + (max(0, duration_ns) if magic == _MAGIC and size > 0 else 0)
    return total_ns / 1e9


def _tool() -> Path:
    """``jfr`` of the newest JDK that has it."""
    homes = [runtime.home for _, runtime in sorted(find_runtimes().items(), reverse=True)]
    with suppress(UserError):
        homes.insert(0, find_javac().home)
    for tool in (home / "bin" / "jfr" for home in homes):
        if tool.is_file():
            return tool
    raise UserError("no JDK here has the tool jfr: install a JDK 17 or newer, or set JAVA_HOME to one")


def _events(printed: IO[str]) -> Iterator[Any]:
    """Each event as it is printed, without the whole file in memory; ValueError where the text ends in the middle."""
    decoder, text, place, begun = json.JSONDecoder(), "", 0, False
    while chunk := printed.read(_CHUNK):
        text, place = text[place:] + chunk, 0
        if not begun and _BEGIN in text:
            begun, text = True, text.partition(_BEGIN)[2]
        while begun:
            while text[place : place + 1] in _BETWEEN:
                place += 1
            if text.startswith("]", place):
                deque(iter(lambda: printed.read(_CHUNK), ""), maxlen=0)
                return
            try:
                event, place = decoder.raw_decode(text, place)
            except ValueError:
                break
            yield event
    raise ValueError("the text ends in the middle")


def _in(values: object, *path: str | int) -> Any:
    """What lies at a path of keys and places; None where it is not there, or is of another type."""
    found: Any = values
    with suppress(IndexError, KeyError, TypeError):
        for key in path:
            found = found[key]
        return found
    return None


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
        self._latest: dict[str, Any] = {}
        """Values of events that describe the JVM, by their type."""

    def read(self, event: object) -> None:
        """Count one event."""
        self.events += 1
        kind, values = str(_in(event, "type")), _in(event, "values")
        with suppress(TypeError, ValueError):  # no time, or a year of six digits
            when = datetime.fromisoformat(_in(values, "startTime"))
            self._times = [min([when, *self._times]), max([when, *self._times])]
        collection = _number(_in(values, "gcId"))
        if kind in (_SAMPLE, _IN_TLAB, _OUTSIDE_TLAB) and not _of_the_recorder(values):
            size = 0.0 if kind == _SAMPLE else _number(_in(values, "allocationSize")) or 0.0
            # A new buffer of a thread stands for all that went into it; what lies outside is there in full.
            weight = _number(_in(values, {_SAMPLE: "weight", _IN_TLAB: "tlabSize"}.get(kind, ""))) or size
            name = str(_in(values, "objectClass", "name"))
            where = (_site(values), size) if name == "[B" else ("", 0.0)
            self._allocated[(kind == _SAMPLE, name, *where)] += weight
        elif kind == "jdk.GCHeapSummary" and collection is not None and _in(values, "when") == "After GC":
            self._after[collection] = _number(_in(values, "heapUsed")) or 0.0
        elif kind == "jdk.GarbageCollection" and collection is not None:
            self._collections[collection] = str(_in(values, "name"))
        else:
            self._latest[kind] = values

    def recording(self, file: str, seconds: float, cut: str) -> Recording:
        """Return what the events come to; ``seconds`` were recorded, 0 if unknown; ``cut``: why it ends too early."""
        if not seconds and self._times:
            seconds = (self._times[1] - self._times[0]).total_seconds()
        keys = [(*key, weight / _MB) for key, weight in self._allocated.items()]
        rows = pd.DataFrame(keys, columns=["sampled", "name", "site", "size", "mb"])
        # Where both kinds of events are there, either alone is all that was allocated.
        rows = rows[rows["sampled"] == rows["sampled"].all()]
        known = len(rows) > 0 and seconds > 0
        arrays = rows[rows["name"] == "[B"]
        by_site = arrays.groupby("site")["mb"].sum().sort_values(ascending=False).head(_SITES if known else 0)
        large = by_site.index[by_site >= _LARGE_SHARE * by_site.max()]
        sizes = _histogram(arrays[(arrays["size"] > 0) & arrays["site"].isin(large)])
        all_of_it = [used for gc, used in self._after.items() if self._collections.get(gc, _YOUNG[0]) not in _YOUNG]
        left = all_of_it or list(self._after.values())
        jvm, gc = self._latest.get("jdk.JVMInformation"), self._latest.get("jdk.GCConfiguration")
        runtime, releases = _feature(str(_in(jvm, "jvmVersion"))), known_releases()
        collector = _collector(f"{_in(gc, 'youngCollector')} {_in(gc, 'oldCollector')}", str(_in(jvm, "jvmArguments")))
        most_bytes = _number(_in(self._latest.get("jdk.GCHeapConfiguration"), "maxSize")) or 0
        missing = {
            "messages a second, in flight and kept, and for how long: give --rate, --in-flight, --kept": True,
            f"what comes after {self.events} events: {cut}": bool(cut),
            f"what is allocated: it has no {_SAMPLE} event over time": not known,
            f"sizes of byte[]: record with {_IN_TLAB}#enabled=true,{_OUTSIDE_TLAB}#enabled=true, or give --bytes":
                not sizes,
            f"what is alive: {len(self._collections)} collections, no jdk.GCHeapSummary event": not left,
            "exactly what is alive: the value is the least that collections of young objects left":
                bool(left) and not all_of_it,
            f"a runtime that is here ({', '.join(map(str, releases))}): give --runtime": runtime not in releases,
        }  # fmt: skip
        return Recording(
            file=file, seconds=seconds, runtime=runtime, collector=collector, heap_mb=round(most_bytes / _MB) or None,
            allocation_mb_per_s=float(rows["mb"].sum()) / seconds if known else None,
            byte_arrays_mb_per_s=float(arrays["mb"].sum()) / seconds if known else None,
            sites={str(site): float(total) / seconds for site, total in by_site.items()},
            sizes=sizes, collections=len(self._collections), live_mb=min(left) / _MB if left else None,
            missing=tuple(what for what, lacks in missing.items() if lacks),
        )  # fmt: skip


def _collector(words: str, arguments: str) -> str | None:
    found = next((name for pattern, name in _COLLECTORS if re.search(pattern, words)), None)
    return "genshenandoah" if found == "shenandoah" and "generational" in arguments else found


def _histogram(arrays: pd.DataFrame) -> Sizes:
    """Sizes with weights that sum to 1; where there are many, rounded to what keeps a hundredth."""
    sizes = (arrays["size"] - _ARRAY_HEADER_BYTES).clip(1)
    for digits in (9, 2, 1):
        rounded = sizes.map(lambda size, digits=digits: int(float(f"{size:.{digits}g}")))
        counts = (arrays["mb"] / arrays["size"]).groupby(rounded.clip(SMALLEST_BYTES, LARGEST_BYTES)).sum()
        if len(counts) <= _MOST_SIZES:
            break
    return checked_sizes(zip(counts.index, counts, strict=True)) if len(counts) else ()
