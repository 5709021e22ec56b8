"""The packets workload as a plain reference model: what every implementation must compute.

The measured implementations, in Java and C++, differ in where a packet lives and who owns it. What they
receive, parse, store, evict and free must not differ, so it is written down here once more, in the
simplest form there is: Python integers, a deque and a list, no buffers reused and no regard for speed
(some microseconds per packet). Nothing here is shared with the implementations it checks.

The generator is SplitMix64 (Steele, Lea, Flood: "Fast Splittable Pseudorandom Number Generators",
OOPSLA 2014, https://doi.org/10.1145/2660193.2660195) used counter-based: the n-th output depends on the
seed and n alone, so a receiver that lost packets draws the same contents as one that did not.

Run as a script with the word ``packets`` or ``ageing``, it writes the shared test vectors of that name as CSV to
standard output.
"""

from __future__ import annotations

import csv
import struct
import sys
from collections import deque
from collections.abc import Iterable
from dataclasses import asdict, dataclass

MASK_64 = (1 << 64) - 1
GOLDEN_GAMMA = 0x9E3779B97F4A7C15
STORE_SEED_FLIP = 0x5DEECE66D1CE4E5B
PAYLOAD_SEED_FLIP = 0x5061796C6F616421
AGEING_SEED_FLIP = 0x9E6D1CE4AA570B3D

# Protocol marker, payload length, source address, destination address, source port, destination port,
# transport protocol: network byte order, at the start of the buffer.
HEADER = struct.Struct(">HHIIHHB")
PROTOCOL_MARKER = 0x0800
TRANSPORT_TCP = 6
TRANSPORT_UDP = 17


def splitmix(z: int) -> int:
    """Return the SplitMix64 output function of the 64-bit state z, as an unsigned 64-bit number."""
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK_64
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK_64
    return z ^ (z >> 31)


def draw(seed: int, ordinal: int) -> int:
    """Return the ordinal-th (from 0) 64-bit output of the SplitMix64 stream that starts at seed."""
    return splitmix((seed + (ordinal + 1) * GOLDEN_GAMMA) & MASK_64)


@dataclass(frozen=True)
class Packet:
    """What a packet's header says; addresses are unsigned 32-bit numbers, payload_length is in bytes."""

    payload_length: int
    source: int
    destination: int
    source_port: int
    destination_port: int
    transport: int


def generate(seed: int, sequence: int) -> bytes:
    """Return the 17 header bytes of the packet with that sequence number (from 0)."""
    bits = draw(seed, sequence)

    def take(count: int) -> int:
        nonlocal bits
        field = bits & ((1 << count) - 1)
        bits >>= count
        return field

    source = 0x0A000000 + take(10)
    destination = 0x0A010000 + take(10)
    source_port = 1024 + take(10)
    destination_port = 1024 + take(10)
    transport = TRANSPORT_TCP if take(4) == 0 else TRANSPORT_UDP
    payload_length = 50 + take(6)
    return HEADER.pack(PROTOCOL_MARKER, payload_length, source, destination, source_port, destination_port, transport)


def parse(header: bytes) -> Packet:
    """Return the fields of a packet's header; ValueError if its protocol marker is not 0x0800."""
    marker, *fields = HEADER.unpack(header)
    if marker != PROTOCOL_MARKER:
        raise ValueError(f"protocol marker {marker:#06x}, expected {PROTOCOL_MARKER:#06x}")
    return Packet(*fields)


def payload(seed: int, sequence: int) -> bytes:
    """Return the payload of the packet with that sequence number: one word over and over."""
    length = parse(generate(seed, sequence)).payload_length
    word = draw(seed ^ PAYLOAD_SEED_FLIP, sequence).to_bytes(8, "little")
    return (word * (length // 8 + 1))[:length]


def payload_sum(content: bytes) -> int:
    """Return the sum modulo 2**64 of the payload's little-endian words of 8 bytes, the last one extended by zeros."""
    words = (int.from_bytes(content[at : at + 8], "little") for at in range(0, len(content), 8))
    return sum(words) & MASK_64


def aged(seed: int, count: int) -> list[int]:
    """Return the order of long use of count things whose first order is 0, 1, 2 ...: Fisher and Yates, from the end."""
    order = list(range(count))
    for i in range(count - 1, 0, -1):
        j = ((draw((seed & MASK_64) ^ AGEING_SEED_FLIP, i) >> 32) * (i + 1)) >> 32
        order[i], order[j] = order[j], order[i]
    return order


def fold(checksum: int, packet: Packet) -> int:
    """Return the 64-bit checksum after one more packet."""
    addresses = packet.source << 32 | packet.destination
    ports = packet.source_port << 48 | packet.destination_port << 32
    return fold_words(checksum, addresses, ports | packet.transport << 16 | packet.payload_length)


def fold_words(checksum: int, a: int, b: int) -> int:
    """Return the 64-bit checksum after two words more."""
    a = (a * GOLDEN_GAMMA) & MASK_64
    b = (b * 0xC2B2AE3D27D4EB4F) & MASK_64
    b = (b << 32 | b >> 32) & MASK_64
    return (checksum * 0xD1342543DE82EF95 + (a ^ b)) & MASK_64


@dataclass(frozen=True)
class Outcome:
    """Counts of packets and the checksum (unsigned 64 bits) at the end of a trial."""

    received: int
    parsed: int
    tcp: int
    evicted: int
    freed: int
    live: int
    checksum: int


def run(seed: int, queue_size: int, stored_count: int, packets: int, payload_touch: bool = False) -> Outcome:
    """Return what a trial that receives the sequence numbers 0 to packets - 1 ends with."""
    return receive(seed, queue_size, stored_count, range(packets), payload_touch)


def receive(
    seed: int, queue_size: int, stored_count: int, sequences: Iterable[int], payload_touch: bool = False
) -> Outcome:
    """Return what a trial that receives just these sequence numbers, in this order, ends with.

    seed is any integer and counts modulo 2**64; queue_size and stored_count are positive numbers of packets. With
    payload_touch payloads are written and read, and what was read is part of the checksum.
    """
    seed &= MASK_64
    store_seed = seed ^ STORE_SEED_FLIP
    queue: deque[tuple[bytes, bytes]] = deque()
    store: list[Packet] = []
    received = parsed = tcp = evicted = freed = checksum = 0
    for sequence in sequences:
        received += 1
        queue.append((generate(seed, sequence), payload(seed, sequence) if payload_touch else b""))
        if len(queue) <= queue_size:
            continue
        header, content = queue.popleft()
        packet = parse(header)
        parsed += 1
        checksum = fold(checksum, packet)
        if payload_touch:
            checksum = fold_words(checksum, payload_sum(content), len(content))
        if packet.transport != TRANSPORT_TCP:
            freed += 1
        elif len(store) < stored_count:
            store.append(packet)
            tcp += 1
        else:
            slot = ((draw(store_seed, tcp) >> 32) * stored_count) >> 32
            store[slot] = packet
            tcp += 1
            evicted += 1
            freed += 1
    for packet in store:
        checksum = fold(checksum, packet)
    return Outcome(received, parsed, tcp, evicted, freed, len(queue) + len(store), checksum)


VECTOR_CASES = (
    # (seed, queue_size, stored_count, packets)
    (1, 10, 10, 0),  # nothing happened: checksum 0
    (1, 10, 10, 5),  # queue not full: nothing parsed
    (1, 10, 10, 10),  # queue just full
    (1, 10, 10, 11),  # the first packet is parsed
    (42, 1, 1, 1_000),  # the smallest sizes
    (42, 100, 100, 1_000),  # store not full
    (42, 100, 100, 5_000),  # store full, evictions
    (7, 100, 1_000, 20_000),  # store bigger than queue
    (7, 1_000, 10, 20_000),  # store much smaller than queue
    (-1, 37, 53, 10_000),  # a seed with all bits set, odd sizes
    (-9_223_372_036_854_775_808, 64, 64, 10_000),  # a seed with only the sign bit set
    (2_024, 100, 100, 50_000),  # case A10k at scale 0.01
    (2_024, 1_000, 1_000, 50_000),  # case B at scale 0.01
    (2_024, 4_950, 4_950, 200_000),  # case C at scale 0.01, store full
    (2_024, 4_950, 4_950, 50_000),  # case C at scale 0.01, store not yet full
)


AGEING_CASES = ((1, 1), (1, 2), (42, 3), (7, 10), (-1, 1_000), (2_024, 100_000))
"""Seed and number of things."""
AGEING_SHOWN = 8


def write_packets() -> None:
    """Write what trials end with: one row per case, seeds as signed decimal numbers."""
    columns = ["received", "parsed", "tcp", "evicted", "freed", "live"]
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(["seed", "queue_size", "stored_count", "packets", *columns, "checksum_hex", "payload_checksum_hex"])
    for case in VECTOR_CASES:
        outcome = asdict(run(*case))
        touched = run(*case, payload_touch=True)
        checksums = (f"{checksum:016x}" for checksum in (outcome["checksum"], touched.checksum))
        writer.writerow([*case, *(outcome[name] for name in columns), *checksums])


def write_ageing() -> None:
    """Write orders of long use: the first things, and a checksum over all, each folded with its place."""
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(["seed", "count", "first", "checksum_hex"])
    for seed, count in AGEING_CASES:
        order, checksum = aged(seed, count), 0
        for place, thing in enumerate(order):
            checksum = fold_words(checksum, thing, place)
        writer.writerow([seed, count, " ".join(map(str, order[:AGEING_SHOWN])), f"{checksum:016x}"])


if __name__ == "__main__":
    {"packets": write_packets, "ageing": write_ageing}[sys.argv[1]]()
