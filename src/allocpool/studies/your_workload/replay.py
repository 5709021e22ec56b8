"""Replay: sizes, times and bytes of a capture file, prepared for trials.

A prepared file has one record a packet: nanoseconds since the first, what the bytes fold to, and the length on the
wire. Captures are read packet by packet: one may be larger than memory.
"""

from __future__ import annotations

import hashlib
import os
import struct
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from allocpool.errors import UserError
from allocpool.studies.your_workload.sizes import LARGEST_BYTES, MOST_SIZES, SMALLEST_BYTES, Sizes, checked_sizes

RECORD = struct.Struct("<qqii")
"""Time in nanoseconds since the first, fold of the bytes, length, nothing."""
MOST_PACKETS = (2**31 - 1) // RECORD.size
"""A trial reads all of it through one buffer of Java."""
_LONGEST_BLOCK = 2**26
_GRAIN_BYTES = 64
_PCAP_HEADER_BYTES = 24
_PCAP_UNITS_NS = {0xA1B2C3D4: 1_000, 0xA1B23C4D: 1}
"""Unit of the times in a pcap file, by its magic number."""
_SECTION, _INTERFACE, _SIMPLE_PACKET = b"\x0a\x0d\x0d\x0a", 1, 3
"""Types of pcapng blocks."""
_PACKET_HEADERS = {6: "5I", 2: "H2x4I"}
"""Of enhanced and of obsolete packet blocks: interface, time (high, low), bytes captured, bytes on the wire."""
_TIME_RESOLUTION, _TIME_OFFSET = 9, 14
_CLOCK_WAS_SET_NS = 10**9
"""Interfaces of one capture step back by less; beyond, the clock was set, and its time goes on from there."""
_GAP_NS = 86_400 * 10**9
_LATEST_NS = 2**63
_FOREIGN = {
    b"\x1f\x8b": ("gzip", "gunzip"), b"\x28\xb5\x2f\xfd": ("zstd", "zstd -d"), b"\xfd7zXZ\0": ("xz", "xz -d"),
    b"\x04\x22\x4d\x18": ("lz4", "lz4 -d"), b"BZh": ("bzip2", "bunzip2"), b"PK\x03\x04": ("zip", "unzip"),
    b"snoop\0\0\0": ("snoop", ""), b"GMBU": ("Network Monitor", ""), b"RTSS": ("Network Monitor", ""),
    b"TRSNIFF data": ("Sniffer", ""), b"\xaa\xaa\xaa\xaa": ("5View", ""), b"\xa1\xb2\xcd\x34": ("modified pcap", ""),
    b"\x34\xcd\xb2\xa1": ("modified pcap", ""),
}  # fmt: skip
"""What other files begin with: their kind, and the command that unpacks them; without one, editcap converts."""
_PACKETS_A_WRITE = 4096


@dataclass(frozen=True)
class Trace:
    """A prepared file: its packets, the seconds from the first to the last, and what a reader must know of it."""

    path: Path
    messages: int
    seconds: float
    sizes: Sizes
    notes: tuple[str, ...] = ()

    @property
    def rate_per_s(self) -> float | None:
        """Return the mean messages a second as captured; None where no time passes."""
        return (self.messages - 1) / self.seconds if self.seconds else None


class _Damaged(Exception):
    """Why the capture can't be read further."""


class _Cut(_Damaged):
    """The capture ends within a record."""


@dataclass
class _Clock:
    """Time since the first packet, which never goes back, and how far the capture's own time went back or leapt."""

    now_ns: int = 0
    zero_ns: int | None = None
    back: int = 0
    farthest_ns: int = 0
    gap_ns: int = 0

    def at(self, time_ns: int | None) -> int:
        """Return nanoseconds since the first packet; of one without a time, those of the packet before."""
        if time_ns is None:
            return self.now_ns
        if self.zero_ns is None:
            self.zero_ns = time_ns - self.now_ns
        ahead_ns = time_ns - self.zero_ns - self.now_ns
        if ahead_ns < 0:
            self.back, self.farthest_ns = self.back + 1, max(self.farthest_ns, -ahead_ns)
            if -ahead_ns > _CLOCK_WAS_SET_NS:
                self.zero_ns = time_ns - self.now_ns
        self.gap_ns = max(self.gap_ns, ahead_ns)
        self.now_ns += max(0, ahead_ns)
        return self.now_ns

    def notes(self) -> Iterator[str]:
        if self.back:
            yield (f"The time of the capture goes back {self.back:,} times, at most {self.farthest_ns / 1e9:,.6f} s: "
                   "such packets count at the time of the one before.")  # fmt: skip
        if self.gap_ns > _GAP_NS:
            yield f"The capture has a gap of {self.gap_ns / _GAP_NS:,.0f} days without a packet: --rate may fit better."


@dataclass
class _Place:
    """How far a capture was read."""

    packets: int = 0
    offset: int = 0


def prepare(capture: Path, folder: Path) -> Trace:
    """Write the prepared file of a pcap or pcapng capture into a folder, under the hash of its content. A capture that
    is cut in its last record is read up to there.

    Raises:
        UserError: no capture, a damaged one, with how far it could be read, or one that is too long for one buffer.
    """
    place, clock = _Place(), _Clock()
    notes: list[str] = []
    folder.mkdir(parents=True, exist_ok=True)
    written = hashlib.sha256()
    scratch = folder / f".trace-{os.getpid()}"
    try:
        with scratch.open("wb") as into, capture.open("rb") as file:
            records: list[bytes] = []
            for time_ns, wire_bytes, data in _up_to_a_cut(_packets(file, place), place, notes):
                if place.packets > MOST_PACKETS:
                    raise UserError(f"the capture {capture} has more than {MOST_PACKETS} packets: cut it")
                due_ns = clock.at(time_ns)
                if due_ns >= _LATEST_NS:
                    raise UserError(
                        f"the capture {capture} has packet {place.packets} {due_ns / _GAP_NS / 365:,.0f} years "
                        "after its first: the resolution of its times is wrong"
                    )
                fold = int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little", signed=True)
                length = min(LARGEST_BYTES, max(SMALLEST_BYTES, wire_bytes))
                records.append(RECORD.pack(due_ns, fold, length, 0))
                if len(records) == _PACKETS_A_WRITE:
                    _write(into, written, records)
            _write(into, written, records)
        if not place.packets:
            raise UserError(f"the capture {capture} holds no packet")
        prepared = folder / f"{written.hexdigest()[:16]}.trace"
        scratch.replace(prepared)
    except OSError as error:
        raise UserError(f"the capture {capture} can't be read: {error.strerror or error}") from error
    except _Damaged as damage:
        raise UserError(
            f"the capture {capture} is damaged after packet {place.packets}, at byte {place.offset}: {damage}"
        ) from damage
    finally:
        scratch.unlink(missing_ok=True)
    return replace(read_trace(prepared), notes=(*notes, *clock.notes()))


def _write(file: BinaryIO, written: hashlib._Hash, records: list[bytes]) -> None:
    data = b"".join(records)
    written.update(data)
    file.write(data)
    records.clear()


def read_trace(path: Path) -> Trace:
    """Read a prepared file.

    Raises:
        UserError: it is none, or can't be read.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UserError(f"the trace {path} can't be read: {error.strerror}") from error
    if not data or len(data) % RECORD.size:
        raise UserError(f"{path} is no trace: prepare one from a pcap or pcapng file")
    lengths = memoryview(data).cast("i")[4 :: RECORD.size // 4].tolist()
    counts = Counter(lengths)
    if len(counts) > MOST_SIZES:
        counts = Counter(-(-length // _GRAIN_BYTES) * _GRAIN_BYTES for length in lengths)
    last_ns = RECORD.unpack_from(data, len(data) - RECORD.size)[0]
    return Trace(path, len(data) // RECORD.size, last_ns / 1e9, checked_sizes(counts.items()))


def mean_interval_ns(path: Path) -> float:
    """Return the mean interval between two messages of a prepared file, as captured."""
    messages = path.stat().st_size // RECORD.size
    with path.open("rb") as file:
        file.seek(-RECORD.size, os.SEEK_END)
        last_ns = float(RECORD.unpack(file.read(RECORD.size))[0])
    return max(1.0, last_ns / max(1, messages - 1))


Packet = tuple[int | None, int, bytes]
"""(time in nanoseconds, bytes on the wire, bytes captured); time None where the file has none"""


def _up_to_a_cut(packets: Iterator[Packet], place: _Place, notes: list[str]) -> Iterator[Packet]:
    """The packets; where the last one is cut, that is noted."""
    try:
        yield from packets
    except _Cut as cut:
        if not place.packets:
            raise
        notes.append(f"The capture is cut after packet {place.packets:,}, at byte {place.offset:,}: {cut}.")


def _packets(file: BinaryIO, place: _Place) -> Iterator[Packet]:
    """Every packet in the order of the file; ``place`` counts those that were read."""
    magic = file.read(16)
    file.seek(0)
    for begin, (kind, unpack) in _FOREIGN.items():
        if magic.startswith(begin):
            command = f"{unpack} {file.name}" if unpack else f"editcap -F pcap {file.name} capture.pcap"
            raise UserError(f"{file.name} is a file of {kind}, neither pcap nor pcapng: {command}")
    if magic.startswith(_SECTION):
        yield from _pcapng(file, place)
    else:
        yield from _pcap(file, place)


def _exactly(file: BinaryIO, count: int) -> bytes:
    if not 0 <= count <= _LONGEST_BLOCK:
        raise _Damaged(f"a length of {count} bytes")
    data = file.read(count)
    if len(data) < count:
        raise _Cut(f"the file ends {count - len(data)} bytes too early")
    return data


def _pcap(file: BinaryIO, place: _Place) -> Iterator[Packet]:
    start = _exactly(file, _PCAP_HEADER_BYTES)
    known = [(order, _PCAP_UNITS_NS[magic]) for order in "<>"
             if (magic := struct.unpack(f"{order}I", start[:4])[0]) in _PCAP_UNITS_NS]  # fmt: skip
    if not known:
        raise UserError(
            f"{file.name} begins as neither pcap nor pcapng does: editcap -F pcap {file.name} capture.pcap converts "
            "what Wireshark can read"
        )
    order, unit_ns = known[0]
    place.offset = file.tell()
    while more := file.read(1):
        seconds, rest, captured, wire_bytes = struct.unpack(f"{order}4I", more + _exactly(file, 15))
        data = _exactly(file, captured)
        place.packets += 1
        yield seconds * 1_000_000_000 + rest * unit_ns, wire_bytes, data
        place.offset = file.tell()


def _pcapng(file: BinaryIO, place: _Place) -> Iterator[Packet]:
    order = "<"
    clocks: list[tuple[int, int]] = []  # of each interface: units a second, seconds to add
    while more := file.read(1):
        head = more + _exactly(file, 11)
        if head[:4] == _SECTION:
            order = "<" if head[8:] == b"\x4d\x3c\x2b\x1a" else ">"
            clocks = []
        kind, length = struct.unpack(f"{order}II", head[:8])
        if length < 12 or length % 4:
            raise _Damaged(f"a block of {length} bytes")
        body = (head + _exactly(file, length - len(head)))[8:-4]
        try:
            if kind == _INTERFACE:
                clocks.append(_clock(body[8:], order))
            elif kind == _SIMPLE_PACKET:
                (wire_bytes,) = struct.unpack_from(f"{order}I", body)
                place.packets += 1
                yield None, wire_bytes, body[4 : 4 + wire_bytes]
            elif kind in _PACKET_HEADERS:
                header = struct.Struct(order + _PACKET_HEADERS[kind])
                interface, high, low, captured, wire_bytes = header.unpack_from(body)
                if header.size + captured > len(body):
                    raise _Damaged(f"a packet of {captured} bytes in a block of {length}")
                units, added_s = clocks[interface]
                place.packets += 1
                time_ns = added_s * 1_000_000_000 + (high << 32 | low) * 1_000_000_000 // units
                yield time_ns, wire_bytes, body[header.size : header.size + captured]
        except (IndexError, struct.error) as error:
            raise _Damaged(f"a block that does not hold together: {error}") from error
        place.offset = file.tell()


def _clock(options: bytes, order: str) -> tuple[int, int]:
    """Units a second and seconds to add of an interface (options if_tsresol and if_tsoffset of the pcapng draft)."""
    units, added_s, at = 1_000_000, 0, 0
    while at + 4 <= len(options):
        code, length = struct.unpack_from(f"{order}HH", options, at)
        value = options[at + 4 : at + 4 + length]
        if code == _TIME_RESOLUTION:
            units = (2 if value[0] & 0x80 else 10) ** (value[0] & 0x7F)
        elif code == _TIME_OFFSET:
            (added_s,) = struct.unpack(f"{order}q", value)
        at += 4 + length + -length % 4
    return units, added_s
