"""Replay: sizes, times and bytes of a capture file, prepared so that a trial can read them without a thought.

A prepared file is one record a packet: nanoseconds since the first, what the bytes fold to, and the length on the wire.
Formats are read by dpkt, packet by packet: a capture may be larger than memory.
"""

from __future__ import annotations

import hashlib
import os
import struct
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
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
_SIMPLE_PACKET = 3
"""Type of a pcapng block that holds a packet without a time."""
_PACKETS_A_WRITE = 4096


@dataclass(frozen=True)
class Trace:
    """A prepared file.

    Attributes:
        path: of the prepared file.
        messages: packets in it.
        seconds: from the first to the last.
        sizes: of its messages.
    """

    path: Path
    messages: int
    seconds: float
    sizes: Sizes

    @property
    def rate_per_s(self) -> float:
        """Messages a second as captured, in the mean."""
        return 1e9 / mean_interval_ns(self.path)


class _Damaged(Exception):
    """The capture can't be read further; the message says why."""


@dataclass
class _Place:
    """How far a capture was read."""

    packets: int = 0
    offset: int = 0


def prepare(capture: Path, folder: Path) -> Trace:
    """Write the prepared file of a pcap or pcapng capture into a folder, under the hash of its content.

    Raises:
        UserError: no capture, a damaged one, or one that is too long for one buffer; says how far it could be read.
    """
    place = _Place()
    folder.mkdir(parents=True, exist_ok=True)
    written = hashlib.sha256()
    scratch = folder / f".trace-{os.getpid()}"
    try:
        with scratch.open("wb") as into, capture.open("rb") as file:
            records: list[bytes] = []
            first_ns = last_ns = 0
            for time_ns, wire_bytes, data in _packets(file, place):
                if place.packets == 1:
                    first_ns = time_ns
                if place.packets > MOST_PACKETS:
                    raise UserError(f"the capture {capture} has more than {MOST_PACKETS} packets: cut it")
                # Captures of several interfaces step back now and then; a message is never due before the one before.
                last_ns = max(last_ns, time_ns - first_ns)
                fold = int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little", signed=True)
                length = min(LARGEST_BYTES, max(SMALLEST_BYTES, wire_bytes))
                records.append(RECORD.pack(last_ns, fold, length, 0))
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
    return read_trace(prepared)


def _write(file: BinaryIO, written: hashlib._Hash, records: list[bytes]) -> None:
    data = b"".join(records)
    written.update(data)
    file.write(data)
    records.clear()


def read_trace(path: Path) -> Trace:
    """What is in a prepared file.

    Raises:
        UserError: it is none, or can't be read.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UserError(f"the trace {path} can't be read: {error.strerror}") from error
    if not data or len(data) % RECORD.size:
        raise UserError(f"{path} is no trace: prepare one from a pcap or pcapng file")
    counts = Counter(memoryview(data).cast("i")[4 :: RECORD.size // 4].tolist())
    if len(counts) > MOST_SIZES:
        coarse: Counter[int] = Counter()
        for size, count in counts.items():
            coarse[-(-size // _GRAIN_BYTES) * _GRAIN_BYTES] += count
        counts = coarse
    last_ns = RECORD.unpack_from(data, len(data) - RECORD.size)[0]
    return Trace(path, len(data) // RECORD.size, last_ns / 1e9, checked_sizes(counts.items()))


def mean_interval_ns(path: Path) -> float:
    """Between two messages of a prepared file, as captured."""
    messages = path.stat().st_size // RECORD.size
    with path.open("rb") as file:
        file.seek(-RECORD.size, os.SEEK_END)
        last_ns = float(RECORD.unpack(file.read(RECORD.size))[0])
    return max(1.0, last_ns / max(1, messages - 1))


Packet = tuple[int, int, bytes]
"""(time in nanoseconds, bytes on the wire, bytes captured)"""


def _packets(file: BinaryIO, place: _Place) -> Iterator[Packet]:
    """Every packet in the order of the file; ``place`` says how many were read, and where the next begins."""
    magic = file.read(4)
    file.seek(0)
    if magic == b"\x0a\x0d\x0d\x0a":
        yield from _pcapng(file, place)
    else:
        yield from _pcap(file, place)


def _exactly(file: BinaryIO, count: int) -> bytes:
    if not 0 <= count <= _LONGEST_BLOCK:
        raise _Damaged(f"a length of {count} bytes")
    data = file.read(count)
    if len(data) < count:
        raise _Damaged(f"the file ends {count - len(data)} bytes too early")
    return data


def _pcap(file: BinaryIO, place: _Place) -> Iterator[Packet]:
    from dpkt import pcap

    kinds = {
        (pcap.TCPDUMP_MAGIC, ">"): (pcap.PktHdr, 1000), (pcap.TCPDUMP_MAGIC, "<"): (pcap.LEPktHdr, 1000),
        (pcap.TCPDUMP_MAGIC_NANO, ">"): (pcap.PktHdr, 1), (pcap.TCPDUMP_MAGIC_NANO, "<"): (pcap.LEPktHdr, 1),
    }  # fmt: skip
    start = _exactly(file, pcap.FileHdr.__hdr_len__)
    magics = [(struct.unpack(f"{order}I", start[:4])[0], order) for order in "<>"]
    known = [kinds[magic] for magic in magics if magic in kinds]
    if not known:
        raise _Damaged("it begins as neither pcap nor pcapng does")
    header, unit_ns = known[0]
    place.offset = file.tell()
    while more := file.read(1):
        packet = header(more + _exactly(file, header.__hdr_len__ - 1))
        data = _exactly(file, packet.caplen)
        place.packets += 1
        yield packet.tv_sec * 1_000_000_000 + packet.tv_usec * unit_ns, packet.len, data
        place.offset = file.tell()


def _pcapng(file: BinaryIO, place: _Place) -> Iterator[Packet]:
    import dpkt
    from dpkt import pcapng

    order = "<"
    clocks: list[tuple[int, int]] = []  # of each interface: units a second, seconds to add
    while more := file.read(1):
        head = more + _exactly(file, 11)
        if head[:4] == b"\x0a\x0d\x0d\x0a":
            order = "<" if head[8:] == struct.pack("<I", pcapng.BYTE_ORDER_MAGIC) else ">"
            clocks = []
        kind, length = struct.unpack(f"{order}II", head[:8])
        if length < 12 or length % 4:
            raise _Damaged(f"a block of {length} bytes")
        block = head + _exactly(file, length - len(head))
        little = order == "<"
        try:
            if kind == pcapng.PCAPNG_BT_IDB:
                clocks.append(_clock((pcapng.InterfaceDescriptionBlockLE if little else
                                      pcapng.InterfaceDescriptionBlock)(block), order))  # fmt: skip
            elif kind == _SIMPLE_PACKET:
                raise _Damaged("a packet without a time")
            elif kind in (pcapng.PCAPNG_BT_EPB, pcapng.PCAPNG_BT_PB):
                enhanced = (pcapng.EnhancedPacketBlock, pcapng.EnhancedPacketBlockLE)
                older = (pcapng.PacketBlock, pcapng.PacketBlockLE)
                packet = (enhanced if kind == pcapng.PCAPNG_BT_EPB else older)[little](block)
                units, added_s = clocks[packet.iface_id]
                place.packets += 1
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
