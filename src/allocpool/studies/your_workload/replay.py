"""Replay: sizes, times and bytes of a capture file, prepared for trials.

Formats are read by dpkt, packet by packet: a capture may be larger than memory.
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
from allocpool.studies.your_workload.sizes import MOST_SIZES, Sizes, checked_sizes, within

RECORD = struct.Struct("<qqii")
"""Of a packet in a prepared file: nanoseconds since the first, fold of the bytes, length on the wire, nothing."""
MOST_PACKETS = (2**31 - 1) // RECORD.size
"""A trial reads all of it through one buffer of Java."""
_LONGEST_BLOCK = 2**26
_GRAIN_BYTES = 64
_PCAPNG = b"\x0a\x0d\x0d\x0a"
_SIMPLE_PACKET = 3
"""Type of a pcapng block that holds a packet without a time."""
_CLOCK_WAS_SET_NS = 10**9
"""Interfaces of one capture step back by less; beyond, the clock was set, and its time goes on from there."""
_GAP_NS = 86_400 * 10**9
_LATEST_NS = 2**63
_UNPACKED_BY = {
    b"\x1f\x8b": "gunzip", b"\x28\xb5\x2f\xfd": "zstd -d", b"\xfd7zXZ\0": "xz -d", b"\x04\x22\x4d\x18": "lz4 -d",
    b"BZh": "bunzip2", b"PK\x03\x04": "unzip",
}  # fmt: skip
"""What compressed files begin with."""


@dataclass(frozen=True)
class Trace:
    """A prepared file: its packets, the seconds from the first to the last, and what a reader must know of it."""

    path: Path
    sha256: str
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
    packets: int = 0
    offset: int = 0


def prepare(capture: Path, folder: Path) -> Trace:
    """Write the prepared file of a pcap or pcapng capture into a folder, under the hash of its content. A capture that
    is cut in its last record is read up to there. UserError for no capture, a damaged one, with how far it could be
    read, or one too long for one buffer."""
    place, clock = _Place(), _Clock()
    notes: list[str] = []
    folder.mkdir(parents=True, exist_ok=True)
    written = hashlib.sha256()
    scratch = folder / f".trace-{os.getpid()}"
    try:
        with scratch.open("wb") as into, capture.open("rb") as file:
            try:
                for time_ns, wire_bytes, data in _packets(file, place):
                    record = _record(clock.at(time_ns), wire_bytes, data, place.packets, capture)
                    written.update(record)
                    into.write(record)
            except _Cut as cut:
                if not place.packets:
                    raise
                notes.append(f"The capture is cut after packet {place.packets:,}, at byte {place.offset:,}: {cut}.")
        if not place.packets:
            raise UserError(f"the capture {capture} holds no packet")
        prepared = folder / f"{written.hexdigest()[:16]}.trace"
        scratch.replace(prepared)
    except OSError as error:
        raise UserError(f"the capture {capture} can't be read: {error.strerror or error}") from error
    except _Damaged as damage:
        where = f"after packet {place.packets}, at byte {place.offset}"
        raise UserError(f"the capture {capture} is damaged {where}: {damage}") from damage
    finally:
        scratch.unlink(missing_ok=True)
    return replace(read_trace(prepared), notes=(*notes, *clock.notes()))


def _record(due_ns: int, wire_bytes: int, data: bytes, packet: int, capture: Path) -> bytes:
    if packet > MOST_PACKETS:
        raise UserError(f"the capture {capture} has more than {MOST_PACKETS} packets: cut it")
    if due_ns >= _LATEST_NS:
        years = f"{due_ns / _GAP_NS / 365:,.0f} years after its first"
        raise UserError(f"the capture {capture} has packet {packet} {years}: the resolution of its times is wrong")
    fold = int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little", signed=True)
    return RECORD.pack(due_ns, fold, within(wire_bytes), 0)


def read_trace(path: Path) -> Trace:
    """Read a prepared file. UserError where it is none, or can't be read."""
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
    digest = hashlib.sha256(data).hexdigest()
    return Trace(path, digest, len(data) // RECORD.size, last_ns / 1e9, checked_sizes(counts.items()))


Packet = tuple[int | None, int, bytes]
"""(time in nanoseconds, bytes on the wire, bytes captured); time None where the file has none"""


def _packets(file: BinaryIO, place: _Place) -> Iterator[Packet]:
    """Every packet in the order of the file; ``place`` counts those that were read."""
    magic = file.read(16)
    file.seek(0)
    for begin, unpack in _UNPACKED_BY.items():
        if magic.startswith(begin):
            raise UserError(f"{file.name} is compressed, neither pcap nor pcapng: {unpack} {file.name}")
    for packet in _pcapng(file, place) if magic.startswith(_PCAPNG) else _pcap(file, place):
        place.packets += 1
        yield packet


def _exactly(file: BinaryIO, count: int) -> bytes:
    if not 0 <= count <= _LONGEST_BLOCK:
        raise _Damaged(f"a length of {count} bytes")
    data = file.read(count)
    if len(data) < count:
        raise _Cut(f"the file ends {count - len(data)} bytes too early")
    return data


def _pcap(file: BinaryIO, place: _Place) -> Iterator[Packet]:
    from dpkt import pcap

    start = _exactly(file, pcap.FileHdr.__hdr_len__)
    units_ns = {pcap.TCPDUMP_MAGIC: 1000, pcap.TCPDUMP_MAGIC_NANO: 1}
    little, big = (units_ns.get(struct.unpack(f"{order}I", start[:4])[0]) for order in "<>")
    header, unit_ns = (pcap.LEPktHdr, little) if little else (pcap.PktHdr, big)
    if unit_ns is None:
        raise UserError(f"{file.name} is neither pcap nor pcapng: try editcap -F pcap {file.name} capture.pcap")
    place.offset = file.tell()
    while more := file.read(1):
        packet = header(more + _exactly(file, header.__hdr_len__ - 1))
        data = _exactly(file, packet.caplen)
        yield packet.tv_sec * 1_000_000_000 + packet.tv_usec * unit_ns, packet.len, data
        place.offset = file.tell()


def _pcapng(file: BinaryIO, place: _Place) -> Iterator[Packet]:
    import dpkt
    from dpkt import pcapng

    read = {
        pcapng.PCAPNG_BT_IDB: (pcapng.InterfaceDescriptionBlock, pcapng.InterfaceDescriptionBlockLE),
        pcapng.PCAPNG_BT_EPB: (pcapng.EnhancedPacketBlock, pcapng.EnhancedPacketBlockLE),
        pcapng.PCAPNG_BT_PB: (pcapng.PacketBlock, pcapng.PacketBlockLE),
    }
    order = "<"
    clocks: list[tuple[int, int]] = []  # of each interface: units a second, seconds to add
    while more := file.read(1):
        head = more + _exactly(file, 11)
        if head[:4] == _PCAPNG:
            order = "<" if head[8:] == struct.pack("<I", pcapng.BYTE_ORDER_MAGIC) else ">"
            clocks = []
        kind, length = struct.unpack(f"{order}II", head[:8])
        if length < 12 or length % 4:
            raise _Damaged(f"a block of {length} bytes")
        block = head + _exactly(file, length - len(head))
        try:
            if kind == pcapng.PCAPNG_BT_IDB:
                clocks.append(_clock(read[kind][order == "<"](block), order))
            elif kind == _SIMPLE_PACKET:
                wire_bytes = struct.unpack(f"{order}I", block[8:12])[0]
                yield None, wire_bytes, block[12 : min(12 + wire_bytes, length - 4)]
            elif kind in read:
                packet = read[kind][order == "<"](block)
                units, added_s = clocks[packet.iface_id]
                ticks = packet.ts_high << 32 | packet.ts_low
                yield added_s * 1_000_000_000 + ticks * 1_000_000_000 // units, packet.pkt_len, packet.pkt_data
        except (dpkt.Error, IndexError, struct.error, ValueError) as error:
            raise _Damaged(f"a block that does not hold together: {error}") from error
        place.offset = file.tell()


def _clock(interface: object, order: str) -> tuple[int, int]:
    """Units a second and seconds to add of an interface (options if_tsresol and if_tsoffset of the pcapng draft)."""
    from dpkt import pcapng

    units, added_s = 1_000_000, 0
    for option in getattr(interface, "opts", ()):
        if option.code == pcapng.PCAPNG_OPT_IF_TSRESOL:
            units = (2 if option.data[0] & 0x80 else 10) ** (option.data[0] & 0x7F)
        elif option.code == pcapng.PCAPNG_OPT_IF_TSOFFSET:
            added_s = struct.unpack(f"{order}q", option.data[:8])[0]
    return units, added_s
