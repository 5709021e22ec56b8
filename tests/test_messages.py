"""The reader's own workload: one checksum whatever the strategy, layout, language and number of threads; sizes as a
shell says them; captures replayed, and damaged ones found; what makes no sense is refused in one line."""

from __future__ import annotations

import itertools
import struct
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from dpkt import pcap, pcapng
from shared_jvm import records_of

from allocpool.campaign import single
from allocpool.errors import UserError
from allocpool.studies.your_workload import replay
from allocpool.studies.your_workload import sizes as distribution
from allocpool.studies.your_workload.specs import LAYOUTS, MessagesSpec
from allocpool.studies.your_workload.study import STUDY
from allocpool.trial.record import TrialRecord

MESSAGES, HEAP_MB = 6_000, 256
WORKLOAD: dict[str, Any] = {
    "sizes": "64:0.7,1500:0.3", "in_flight": 300, "kept_share": 0.1, "kept_count": 200, "seed": 7,
}  # fmt: skip
PACKETS = tuple((1_600_000_000 * 10**9 + 250_000 * i, bytes([i % 251]) * (60 + 97 * i % 1400)) for i in range(50))
"""Of a capture: (nanoseconds, bytes)."""

JAVA: list[dict[str, Any]] = [
    *({"strategy": strategy, "layout": layout} for strategy, layout in itertools.product(
        ("alloc", "pool", "mix", "netty"), LAYOUTS["java"])),
    {"strategy": "pool", "threads": 2, "classes": "fitted", "zeroing": True},
    {"strategy": "mix", "threads": 3, "replacement": "oldest", "live_mb": 2, "changed_mb_per_s": 5,
     "garbage_mb_per_s": 20},
    {"strategy": "alloc", "temporaries": 3, "temporary_bytes": 48, "filled_share": 1.0},
    {"strategy": "netty", "threads": 2, "layout": "native", "zeroing": True},
    {"strategy": "reuse", **dict.fromkeys(("in_flight", "kept_count"), 0), "kept_share": 0},
]  # fmt: skip
CPP: list[dict[str, Any]] = [
    {"strategy": "pool", "threads": 2, "classes": "fitted"},
    {"strategy": "reuse", **dict.fromkeys(("in_flight", "kept_count"), 0), "kept_share": 0},
]


_BITS = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15


def draw(seed: int, ordinal: int) -> int:
    """SplitMix64, counter-based."""
    z = (seed + (ordinal + 1) * _GOLDEN) & _BITS
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _BITS
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _BITS
    return z ^ (z >> 31)


@cache
def known_checksum() -> str:
    """What the messages add up to, by the words of the workload and none of its code."""
    spec = spec_of({"strategy": "alloc"})
    thresholds, others = distribution.alias_table(spec.sizes)
    total = 0
    for number in range(MESSAGES):
        drawn = draw(spec.seed, number)
        place = (drawn >> 32) * len(others) >> 32
        length = spec.sizes[place if drawn & 0xFFFFFFFF < thresholds[place] else others[place]][0]
        count, key = length // 8 - 1, draw(drawn, 0)
        content = (count * key + _GOLDEN * (count * (count + 1) // 2)) & _BITS
        total += draw(content, number ^ length << 40)
    return f"{total & _BITS:016x}"


def spec_of(row: dict[str, Any]) -> MessagesSpec:
    return MessagesSpec(**(WORKLOAD | {"messages": MESSAGES} | row))


@cache
def java_records() -> tuple[list[TrialRecord], TrialRecord]:
    """Every row of Java, and one with times, run in one JVM."""
    timed = MessagesSpec(
        **WORKLOAD, strategy="pool", rate_per_s=20_000, arrivals="poisson", seconds=0.2, warmup_seconds=0.1
    )
    *rows, last = records_of([*(spec_of(row | {"language": "java"}) for row in JAVA), timed], HEAP_MB)
    return rows, last


@pytest.mark.parametrize("place", range(len(JAVA)), ids=lambda place: "-".join(map(str, JAVA[place].values())))
def test_java_does_the_same_work(place: int) -> None:
    rows, _ = java_records()
    assert (rows[place].status, rows[place].reason) == ("ok", None)
    summary = single.summary_of(rows[place])
    counts = summary["counts"]
    assert summary["checksum"] == known_checksum()
    assert counts["generated"] == counts["received"] == counts["read"] == MESSAGES
    assert counts["obtained"] == counts["freed"] + counts["in_store"]
    assert summary["lost_ppm"] == 0
    assert (summary["wasted_mb"] > 0) == (JAVA[place]["strategy"] in ("pool", "mix", "netty"))


@pytest.mark.parametrize("row", CPP, ids=lambda row: row["strategy"])
def test_cpp_does_the_same_work(data: Path, row: dict[str, Any]) -> None:
    record = single.run_single(spec_of(row | {"language": "cpp"}))
    assert (record.status, record.reason) == ("ok", None), record.log_tail
    summary = single.summary_of(record)
    assert summary["checksum"] == known_checksum()
    assert summary["counts"]["constructed"] == 0


def test_messages_with_times_have_delays_and_counters() -> None:
    record = java_records()[1]
    assert (record.status, record.reason) == ("ok", None)
    summary = single.summary_of(record)
    assert summary["counts"]["generated"] == summary["counts"]["received"] + summary["counts"]["lost"]
    assert 0 < summary["delay_p50_ms"] <= summary["delay_p99_ms"] <= summary["delay_max_ms"]
    assert summary["messages"] == pytest.approx(4_000, rel=0.1) or summary["lost_ppm"] > 0
    tables = STUDY.tidy([record, *java_records()[0]])
    assert len(tables["trials"]) == len(JAVA) + 1
    assert STUDY.cost(record) == summary["cpu_ns_per_message"]


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("512", ((512, 1.0),)),
        ("64:0.7,1500:0.3", ((64, 0.7), (1500, 0.3))),
        ("1500:3,64:1", ((64, 0.25), (1500, 0.75))),
        ("64,64,128", ((64, 2 / 3), (128, 1 / 3))),
        ("1m", ((2**20, 1.0),)),
        ("1.5k:1,2KiB:3", ((1536, 0.25), (2048, 0.75))),
    ],
)
def test_sizes_of_a_shell(text: str, sizes: distribution.Sizes) -> None:
    expected = pytest.approx(dict(sizes))
    assert dict(distribution.parse_sizes(text)) == expected
    assert dict(MessagesSpec.model_validate({"strategy": "alloc", "messages": 1, "sizes": text}).sizes) == expected


@pytest.mark.parametrize(
    "text", ["", "big", "64:-1", "8", "lognormal:5", "lognormal:0:1", "64:x", "12.5", "histogram:no"]
)
def test_sizes_that_are_none_are_refused_in_one_line(text: str) -> None:
    with pytest.raises(UserError) as found:
        distribution.parse_sizes(text)
    assert "\n" not in str(found.value)


def test_fitted_classes_waste_least() -> None:
    sizes = distribution.checked_sizes([(size, 1 + size % 5) for size in range(32, 400, 24)])
    bounds = sorted({-(-size // 16) * 16 for size, _ in sizes})

    def taken(classes: tuple[int, ...]) -> float:
        return sum(weight * min(bound for bound in classes if bound >= size) for size, weight in sizes)

    for most in (1, 2, 3):
        fitted = distribution.fitted_classes(sizes, most)
        every = (tuple(some) for some in itertools.combinations(bounds, most) if some[-1] == bounds[-1])
        assert taken(fitted) == pytest.approx(min(map(taken, every)))
    wide = distribution.parse_sizes("lognormal:2000:1.5")
    fitted, powers = distribution.fitted_classes(wide), distribution.classes_of("power_of_two", wide)
    assert len(fitted) <= distribution.FITTED_CLASSES and fitted[-1] >= wide[-1][0]
    assert sum(distribution.class_weights(powers, wide)) == pytest.approx(1)


def pcap_of(packets: tuple[tuple[int, bytes], ...], order: str = "<", nano: bool = True) -> bytes:
    magic, unit = (pcap.TCPDUMP_MAGIC_NANO, 1) if nano else (pcap.TCPDUMP_MAGIC, 1000)
    out = struct.pack(f"{order}IHHiIII", magic, 2, 4, 0, 0, 65_535, 1)
    for time_ns, data in packets:
        seconds, rest_ns = divmod(time_ns, 10**9)
        out += struct.pack(f"{order}IIII", seconds, rest_ns // unit, len(data), len(data)) + data
    return out


def pcapng_of(packets: tuple[tuple[int, bytes], ...], order: str = "<") -> bytes:
    def block(kind: int, body: bytes) -> bytes:
        body += bytes(-len(body) % 4)
        length = struct.pack(f"{order}I", len(body) + 12)
        return struct.pack(f"{order}I", kind) + length + body + length

    resolution = struct.pack(f"{order}HHB3x", pcapng.PCAPNG_OPT_IF_TSRESOL, 1, 9) + bytes(4)
    out = block(0x0A0D0D0A, struct.pack(f"{order}IHHq", pcapng.BYTE_ORDER_MAGIC, 1, 0, -1))
    out += block(1, struct.pack(f"{order}HHI", 1, 0, 65_535) + resolution)
    for time_ns, data in packets:
        head = struct.pack(f"{order}IIIII", 0, time_ns >> 32, time_ns & 0xFFFFFFFF, len(data), len(data))
        out += block(6, head + data)
    return out


@pytest.mark.parametrize(
    "capture",
    [
        pcap_of(PACKETS),
        pcap_of(PACKETS, ">"),
        pcap_of(PACKETS, nano=False),
        pcapng_of(PACKETS),
        pcapng_of(PACKETS, ">"),
    ],
    ids=["pcap", "pcap-big-endian", "pcap-us", "pcapng", "pcapng-big-endian"],
)
def test_a_capture_becomes_a_trace(tmp_path: Path, capture: bytes) -> None:
    file = tmp_path / "capture"
    file.write_bytes(capture)
    trace = replay.prepare(file, tmp_path / "traces")
    assert trace.messages == len(PACKETS)
    assert trace.seconds == pytest.approx(250e-6 * (len(PACKETS) - 1))
    assert trace.rate_per_s == pytest.approx(4_000)
    expected = Counter(len(data) for _, data in PACKETS)
    assert {size: round(weight * len(PACKETS)) for size, weight in trace.sizes} == dict(expected)
    assert replay.prepare(file, tmp_path / "traces").path == trace.path, "named by its content"
    records = list(replay.RECORD.iter_unpack(trace.path.read_bytes()))
    assert [record[2] for record in records] == [len(data) for _, data in PACKETS]
    assert len({record[1] for record in records}) == len({data for _, data in PACKETS})


@pytest.mark.parametrize("capture", [pcap_of(PACKETS), pcapng_of(PACKETS)], ids=["pcap", "pcapng"])
def test_a_capture_that_is_cut_is_read_up_to_there(tmp_path: Path, capture: bytes) -> None:
    file = tmp_path / "cut"
    whole = {pcap_of(PACKETS[:k]) for k in range(len(PACKETS))} | {pcapng_of(PACKETS[:k]) for k in range(len(PACKETS))}
    ends = {len(start) for start in whole if capture.startswith(start)}
    read = dict(zip(sorted(ends), range(len(ends)), strict=True))
    for length in (len(capture) - 1, len(capture) - 61, len(capture) // 2):
        file.write_bytes(capture[:length])
        reached = max(end for end in ends if end <= length)
        trace = replay.prepare(file, tmp_path)
        assert trace.messages == read[reached] and len(trace.notes) == 1
        assert f"packet {read[reached]}, at byte {reached:,}:" in trace.notes[0]
    assert not list(tmp_path.glob(".trace-*"))


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"", "too early"), (b"no capture at all, of any kind", "neither pcap nor pcapng.*editcap"),
     (pcap_of(()), "no packet"), (pcapng_of(PACKETS)[:28] + bytes(12), "a block of 0 bytes")],
)  # fmt: skip
def test_what_is_no_capture_is_refused(tmp_path: Path, content: bytes, said: str) -> None:
    file = tmp_path / "none"
    file.write_bytes(content)
    with pytest.raises(UserError, match=said):
        replay.prepare(file, tmp_path)


def seconds_of(*seconds: float) -> bytes:
    return pcapng_of(tuple((round(second * 1e9), bytes(100)) for second in seconds))


@pytest.mark.parametrize(
    ("times_s", "span_s", "notes"),
    [
        ((100, 101, 102, 103, 104), 4, 0),
        ((100, 101, 102, 92, 93, 94), 4, 1),  # the clock was set by 10 s
        ((100, 101, 102, 0, 1, 2), 4, 1),  # another capture after the first
        ((100, 100.5, 100.2, 101), 1, 1),  # two interfaces
        ((0, 1, 86_400 * 4_000), 86_400 * 4_000, 1),  # a gap of years
        ((100, 99, 100), 0, 1),
    ],
)
def test_time_that_goes_back_or_leaps_is_noted_and_keeps_the_rate(
    times_s: tuple[float, ...], span_s: float, notes: int, tmp_path: Path
) -> None:
    file = tmp_path / "capture"
    file.write_bytes(seconds_of(*times_s))
    trace = replay.prepare(file, tmp_path)
    assert trace.seconds == span_s and len(trace.notes) == notes
    assert trace.rate_per_s == (pytest.approx((len(times_s) - 1) / span_s) if span_s else None)


def test_a_replay_runs_as_captured_and_as_fast_as_it_goes(data: Path, tmp_path: Path) -> None:
    file = tmp_path / "capture"
    file.write_bytes(pcapng_of(PACKETS))
    trace = replay.prepare(file, tmp_path)
    captured = MessagesSpec(
        strategy="pool", language="cpp", trace=str(trace.path), arrivals="captured", seconds=0.1, warmup_seconds=0
    )
    assert captured.rate_per_s == pytest.approx(4_000) and captured.sizes == trace.sizes
    summary = single.summary_of(single.run_single(captured))
    assert summary["counts"]["generated"] == pytest.approx(401, abs=3)
    fast = MessagesSpec(strategy="alloc", trace=str(trace.path), messages=500)
    java = records_of([fast], HEAP_MB)[0]
    cpp = single.run_single(MessagesSpec(strategy="mix", language="cpp", trace=str(trace.path), messages=500))
    assert java.measurement and cpp.measurement
    assert java.measurement["checksum"] == cpp.measurement["checksum"]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"strategy": "reuse", "in_flight": 10}, "in_flight=0"),
        ({"strategy": "netty", "language": "cpp"}, "alloc, pool, mix, reuse"),
        ({"strategy": "alloc", "language": "cpp", "layout": "array"}, "malloc"),
        ({"strategy": "alloc", "kept_share": 0.1}, "go together"),
        ({"strategy": "alloc", "arrivals": "captured"}, "trace=FILE"),
        ({"strategy": "alloc", "rate_per_s": 10.0}, "seconds=S"),
        ({"strategy": "alloc", "changed_mb_per_s": 1}, "live_mb"),
        ({"strategy": "alloc", "trace": "nowhere"}, "can't be read"),
        ({"strategy": "alloc", "sizes": "8"}, "16 to"),
        ({"strategy": "alloc", "threads": 4, "in_flight": 3}, "4 threads"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(settings: dict[str, Any], said: str) -> None:
    words = ["mode=messages", "messages=10", *(f"{name}={value}" for name, value in settings.items())]
    with pytest.raises(UserError) as found:
        single.parse_spec(words)
    assert said in str(found.value) and "\n" not in str(found.value)
