"""Decorations of every kind, production logs that tell less, and files that are something else."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from click.testing import CliRunner

from allocpool.errors import UserError
from allocpool.gclog import GcLog, read_gc_log, self_check, summary_of
from allocpool.gclog.command import gclog_command
from allocpool.gclog.log import HEAP, PAUSES, SAFEPOINTS, STALLS

LOGS = Path(__file__).parent / "golden" / "logs"
SAME_RUN = "17-g1-decorations"
OUTPUTS = sorted(path.name.split(".")[1] for path in LOGS.glob(f"{SAME_RUN}.*.log.gz") if path.name.count(".") == 3)
CLOCKS = {
    "default-gc": "uptime",
    "default-gc-star": "uptime",
    "everything": "monotonic",
    "hostname": "uptime",
    "none": "none",
    "time": "wall",
    "timemillis": "wall",
    "timenanos": "monotonic",
    "uptime-only": "uptime",
    "uptimemillis-tags": "uptime",
    "uptimenanos": "uptime",
    "utctime-pid-tid": "wall",
}


def golden_bytes(name: str) -> bytes:
    return gzip.decompress((LOGS / f"{name}.log.gz").read_bytes())


def write(folder: Path, content: bytes, name: str = "gc.log") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("output", OUTPUTS)
def test_decorations_change_the_clock_and_nothing_else(output: str) -> None:
    reference = read_gc_log(LOGS / f"{SAME_RUN}.log.gz")
    log = read_gc_log(LOGS / f"{SAME_RUN}.{output}.log.gz")
    assert log.clock == CLOCKS[output]
    assert log.collector == "g1"
    same = ["gc_id", "kind", "cause", "duration_ns", "heap_before_mb", "heap_after_mb", "heap_capacity_mb", "nested"]
    assert log.pauses[same].equals(reference.pauses[same])
    assert log.unread_count == 0 and self_check(log).count == 0
    if log.clock == "none":
        assert log.pauses["start_ns"].isna().all() and log.span_ns is None
        return
    distances = log.pauses["start_ns"].diff().dropna() - reference.pauses["start_ns"].diff().dropna()
    assert (distances.abs() <= 2 * max(log.resolution_ns, 50_000)).all()  # each output is stamped on its own


@pytest.mark.parametrize("output", ["default-gc-star", "default-gc", "everything"])
def test_nested_pauses_are_found_without_start_lines_too(output: str) -> None:
    reference = read_gc_log(LOGS / "11-serial-decorations.log.gz")
    log = read_gc_log(LOGS / f"11-serial-decorations.{output}.log.gz")
    assert reference.pauses["nested"].sum() > 0
    assert log.pauses[["gc_id", "nested", "nested_in"]].equals(reference.pauses[["gc_id", "nested", "nested_in"]])


def test_a_zgc_log_without_its_pauses_says_so() -> None:
    summary = summary_of(read_gc_log(LOGS / "25-genzgc-decorations.default-gc.log.gz"))
    assert summary.collector == "genzgc"
    assert summary.pauses == 0
    assert any("-Xlog:gc*" in note for note in summary.notes)
    assert set(summary.mmu_pauses.values()) == {None}


@pytest.mark.parametrize(
    ("name", "collector"),
    [
        ("11-serial-full", "serial"),
        ("17-parallel-full", "parallel"),
        ("11-cms-steady", "cms"),
        ("25-g1-steady", "g1"),
        ("17-zgc-steady", "zgc"),
        ("25-genzgc-steady", "genzgc"),
        ("21-shenandoah-steady", "shenandoah"),
        ("25-genshenandoah-steady", "genshenandoah"),
    ],
)
def test_a_rotated_file_without_its_header_betrays_its_collector(name: str, collector: str, tmp_path: Path) -> None:
    lines = golden_bytes(name).splitlines(keepends=True)
    start = next(number for number, line in enumerate(lines) if b"GC(2)" in line)
    log = read_gc_log(write(tmp_path, b"".join(lines[start:])))
    assert log.collector == collector


def zstd(content: bytes) -> bytes:
    return pa.compress(content, "zstd", asbytes=True)  # type: ignore[no-any-return]


def as_json(content: bytes, field: str, end: str) -> bytes:
    lines = content.decode().splitlines()
    return b"".join(json.dumps({"time": "t", field: line + end}).encode() + b"\n" for line in lines)


@pytest.mark.parametrize(
    "wrap",
    [
        lambda text: text.decode().encode("utf-16"),
        lambda text: text.decode().encode("utf-16-le"),
        lambda text: text.decode().encode("utf-16-be"),
        lambda text: gzip.compress(text.decode().encode("utf-16"), mtime=0),
        bz2.compress,
        lambda text: lzma.compress(text[:20_000]) + lzma.compress(text[20_000:]),
        lambda text: zstd(text[:20_000]) + zstd(text[20_000:]),
        lambda text: as_json(text, "log", "\n"),
        lambda text: as_json(text, "message", ""),
        lambda text: b"{a program}\n{\"level\": 7}\n" + as_json(text, "log", "\r\n").replace(b"\n", b"\r\n"),
    ],
)  # fmt: skip
def test_what_a_log_is_wrapped_in_changes_nothing_and_is_said(
    wrap: Callable[[bytes], bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = golden_bytes("17-g1-steady")
    plain = read_gc_log(write(tmp_path, content, "plain.log"))
    assert not plain.stripped.utf_16 and plain.stripped.json_lines == 0
    monkeypatch.setattr("allocpool.gclog.lines.BLOCK_BYTES", 9_999)  # an odd number parts what is two bytes wide
    wrapped = wrap(content)
    log = read_gc_log(write(tmp_path, wrapped))
    assert log.pauses.equals(plain.pauses) and log.safepoints.equals(plain.safepoints)
    assert log.span_ns == plain.span_ns and log.unread_count == 0
    assert log.stripped.json_lines == (content.count(b"\n") if wrapped.startswith(b"{") else 0)
    said = len(summary_of(log).notes) - len(summary_of(plain).notes)
    assert said == (log.stripped.utf_16 or wrapped.startswith(b"{"))


@pytest.mark.parametrize("packing", ["bz2", "xz", "zst"])
def test_other_compressed_files_cut_short_yield_what_they_hold(packing: str, tmp_path: Path) -> None:
    content = b"".join(b"[%d.000s][info][gc] GC(%d) Pause Remark 1M->1M(9M) 0.%03dms\n" % (n, n, n * n % 997)
                       for n in range(20_000))  # fmt: skip
    pack = {"bz2": lambda text: bz2.compress(text, 1), "xz": lambda text: lzma.compress(text, preset=0), "zst": zstd}
    packed = pack[packing](content)
    log = read_gc_log(write(tmp_path, packed[: len(packed) // 2]))
    assert 0 < len(log.pauses) < 20_000 and log.stripped.cut_short
    with pytest.raises(UserError, match="cut short"):
        read_gc_log(write(tmp_path, packed[:20]))


# Lines of two runs: what the second begins with, on which clock.
RUN = b"""[0.010s][info][gc] Using G1
[1.000s][info][gc] GC(0) Pause Young (Normal) (G1 Evacuation Pause) 20M->4M(256M) 10.000ms
[5.000s][info][gc] GC(1) Pause Young (Normal) (G1 Evacuation Pause) 20M->4M(256M) 20.000ms
[9.000s][info][gc] GC(2) Pause Young (Normal) (G1 Evacuation Pause) 20M->4M(256M) 30.000ms
"""
HEADERLESS = RUN[RUN.index(b"\n") + 1 :]
STOPPED = (
    b'[0.500s][info][safepoint] Safepoint "G1", Time since last: 1 ns, Reaching safepoint: 1 ns, Total: 301000 ns\n'
)


@pytest.mark.parametrize(
    ("second", "block"),
    [
        (RUN, 50),
        (RUN, 1000),
        (HEADERLESS, 50),
        (HEADERLESS, 1000),
        (STOPPED + HEADERLESS, 1000),
        (RUN.replace(b"s]", b"s][7]"), 1000),
    ],
)
def test_two_runs_in_one_file_are_summed_apart(
    second: bytes, block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("allocpool.gclog.lines.BLOCK_BYTES", block)
    path = write(tmp_path, RUN + second)
    told = json.loads(CliRunner().invoke(gclog_command, [str(path), "--json"]).output)
    assert [(one["pauses"], one["pause_total_ms"]) for one in told] == [(3, 60.0), (3, 60.0)]
    assert [one["safepoints"] for one in told] == [0, second.count(b"Safepoint")]
    assert [one["span_ms"] for one in told] == [8990.0, pytest.approx(8500.0, abs=500)]
    assert all("run" in one["notes"][0] for one in told)
    with pytest.raises(UserError):
        read_gc_log(path)


def test_parts_of_a_rotated_log_are_summed_as_one_run(tmp_path: Path) -> None:
    content = golden_bytes("17-g1-decorations.default-gc-star")
    plain = summary_of(read_gc_log(write(tmp_path, content, "plain.log")))
    lines = content.splitlines(keepends=True)
    third = len(lines) // 3
    write(tmp_path, b"".join(lines[:third]), "gc.log.1")
    write(tmp_path, gzip.compress(b"".join(lines[third : 2 * third])), "gc.log.0.gz")
    write(tmp_path, b"".join(lines[2 * third :]))
    other = write(tmp_path, RUN, "other.log")
    files = [str(tmp_path / name) for name in ("gc.log.0.gz", "gc.log", "gc.log.1")]
    one, alone = json.loads(CliRunner().invoke(gclog_command, [*files, str(other), "--json"]).output)
    same = ["collector", "pauses", "pause_total_ms", "safepoints", "span_ms", "mmu_stopped", "unread", "violations"]
    assert {name: one[name] for name in same} == json.loads(json.dumps({name: getattr(plain, name) for name in same}))
    assert one["file"] == ", ".join([files[2], files[0], files[1]])
    assert alone["pauses"] == 3 and alone["file"] == str(other)


def test_lines_across_blocks_are_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = golden_bytes("25-g1-steady")
    whole = read_gc_log(write(tmp_path, content))
    monkeypatch.setattr("allocpool.gclog.lines.BLOCK_BYTES", 1000)
    pieces = read_gc_log(write(tmp_path, content))
    assert pieces.pauses.equals(whole.pauses) and pieces.safepoints.equals(whole.safepoints)
    assert pieces.span_ns == whole.span_ns


def test_a_log_cut_in_mid_line_is_read_and_said(tmp_path: Path) -> None:
    content = golden_bytes("17-g1-steady")
    at = content.rindex(b"Pause Young", 0, len(content) // 2) + 20
    log = read_gc_log(write(tmp_path, content[:at]))
    assert log.cut_tail is not None and log.cut_tail.encode() == content[:at].splitlines()[-1]
    assert log.unfinished_pauses <= 1
    whole = read_gc_log(write(tmp_path, content, "whole.log"))
    assert log.pauses.equals(whole.pauses.head(len(log.pauses)))
    assert any("cut in mid-line" in note for note in summary_of(read_gc_log(tmp_path / "gc.log")).notes)


def test_an_unfamiliar_pause_is_counted_and_reported(tmp_path: Path) -> None:
    content = b"[1.000s][info][gc] Using G1\n[2.000s][info][gc] GC(0) Pause Sideways (Why Not) 10M->5M(64M) 3.500ms\n"
    log = read_gc_log(write(tmp_path, content))
    assert log.pauses["duration_ns"].tolist() == [3_500_000]
    assert log.unread_count == 0 and log.unfamiliar == ("Sideways",)


@pytest.mark.parametrize(
    "line",
    [
        b"[2.000s][info][gc] GC(0) Pause Young (Normal) (G1 Evacuation Pause) 10M->5M",
        b"[2.000s][info][gc] GC(0) Pause Young (Normal) (G1 Evacuation Pause) took 0.0035s",
        b'[2.000s][info][safepoint] Safepoint "G1CollectForAllocation", Total: 3.5 ms',
    ],
)
def test_a_stop_the_world_line_in_a_form_of_its_own_is_reported(line: bytes, tmp_path: Path) -> None:
    log = read_gc_log(write(tmp_path, b"[1.000s][info][gc] Using G1\n" + line + b"\n"))
    assert log.pauses.empty and log.safepoints.empty
    assert [(one.number, one.text) for one in log.unread] == [(2, line.decode())]


FIRST = b"[0.010s][info][gc] Using G1\n"
SHORT = b"[0.100s][info][gc] GC(0) Pause Young (Normal) (G1 Evacuation Pause) 20M->4M(256M) 10.000ms\n"
LONG = b" GC(1) Pause Young (Normal) (G1 Evacuation Pause) 30M->4M(256M) 500.000ms"


@pytest.mark.parametrize(
    "decorations",
    [
        b"[0.520s]",
        b"[0.520s][info]",
        b"[0.520s][gc]",
        b"[0.520s][host][info][gc]",
        b"[2026-01-05T10:00:00.123+0000][0.520s][info][gc   ]",
        b"some text without newline[0.520s][info][gc]",
        b"some text without newline[0.520s]",
        b"array[3] = [a] [0.520s][info][gc]",
        b"[0.510s] some text[0.520s]",
        b"2026-01-05T10:00:00.123456789Z stdout F [0.520s][info][gc]",
        b"app-1  | [0.520s][info][gc]",
        b"\xef\xbb\xbf[0.520s][info][gc]",
    ],
)
def test_each_line_is_read_by_its_own_decorations(decorations: bytes, tmp_path: Path) -> None:
    log = read_gc_log(write(tmp_path, FIRST + SHORT + decorations + LONG + b"\n"))
    assert log.pauses["start_ns"].tolist() == [90_000_000, 20_000_000]
    assert log.pauses["duration_ns"].tolist() == [10_000_000, 500_000_000]
    assert log.span_ns == (10_000_000, 520_000_000)
    assert log.unread_count == 0 and log.repeated == 0
    assert log.text_before == (not decorations.startswith((b"[0.520s]", b"[2026")))


@pytest.mark.parametrize(
    "line",
    [
        b"[2026-01-05T10:00:00.123+0000][info][gc]" + LONG,
        b"[123456789012ns][info][gc]" + LONG,
        b"some text" + LONG,
        b"[info][gc][xs]" + LONG,
        b"[0.520s][info][gc,future]" + LONG,
        b"[0.5[0.520s" + LONG,
        b'{"msg":"[0.520s][info][gc]' + LONG + b'\\n","stream":"stdout"}',
        b"[0.510s][info][gc] GC(0) Pause Yo[0.520s][info][gc]" + LONG,
        SHORT.rstrip() + b"[0.520s][info][gc]" + LONG,
    ],
)
def test_a_pause_that_is_passed_over_is_reported(line: bytes, tmp_path: Path) -> None:
    log = read_gc_log(write(tmp_path, FIRST + SHORT + line + b"\n"))
    assert log.pauses["duration_ns"].tolist() == [10_000_000]
    assert [(one.number, one.text) for one in log.unread] == [(3, line.decode())]


def test_a_log_in_which_all_lines_have_a_prefix_is_read(tmp_path: Path) -> None:
    content = golden_bytes("17-g1-decorations.default-gc-star")
    plain = read_gc_log(write(tmp_path, content, "plain.log"))
    prefixed = b"".join(b"app-1  | " + line for line in content.splitlines(keepends=True))
    log = read_gc_log(write(tmp_path, prefixed))
    assert log.pauses.equals(plain.pauses) and log.collector == plain.collector
    assert log.text_before > 0 and log.unread_count == 0


def test_two_outputs_of_one_run_are_counted_once(tmp_path: Path) -> None:
    tagged = FIRST + SHORT + b"[0.520s][info][gc]" + LONG + b"\n"
    both = b"".join(line + line.replace(b"[info][gc]", b"") for line in tagged.splitlines(keepends=True))
    log = read_gc_log(write(tmp_path, both))
    assert log.pauses["duration_ns"].tolist() == [10_000_000, 500_000_000]
    assert log.repeated == 3 and log.unread_count == 0


@pytest.mark.parametrize("name", ["17-g1-decorations.default-gc-star", "25-genzgc-stalls", "11-shenandoah-steady"])
def test_two_outputs_of_one_run_with_the_same_decorations_are_counted_once(name: str, tmp_path: Path) -> None:
    content = golden_bytes(name)
    once = read_gc_log(write(tmp_path, content, "once.log"))
    log = read_gc_log(write(tmp_path, b"".join(line * 2 for line in content.splitlines(keepends=True))))
    for table in ("pauses", "safepoints", "stalls", "heap"):
        assert getattr(log, table).equals(getattr(once, table))
    assert once.repeated == 0 and log.repeated >= len(once.pauses) > 0
    assert log.unread_count == once.unread_count


def test_only_the_same_line_is_a_repeated_one(tmp_path: Path) -> None:
    other_number, other_time = SHORT.replace(b"GC(0)", b"GC(1)"), SHORT.replace(b"0.100s", b"0.101s")
    assert other_number != SHORT != other_time
    log = read_gc_log(write(tmp_path, FIRST + SHORT + other_number + other_time))
    assert len(log.pauses) == 3 and log.repeated == 0
    undecorated = SHORT.removeprefix(b"[0.100s][info][gc] ")
    assert len(read_gc_log(write(tmp_path, undecorated * 2)).pauses) == 2, "nothing says that it is the same moment"


def test_a_hole_in_a_log_is_found(tmp_path: Path) -> None:
    content = golden_bytes("17-g1-steady")
    hole = b"\n".join(line for line in content.splitlines() if b" GC(3) " not in line)
    log = read_gc_log(write(tmp_path, hole))
    assert log.missing_collections == (3,) and self_check(log).count == 0
    assert any("GC(3)" in note for note in summary_of(read_gc_log(tmp_path / "gc.log")).notes)
    assert not read_gc_log(write(tmp_path, content)).missing_collections


def test_a_heap_over_its_capacity_is_found(tmp_path: Path) -> None:
    content = b"[1.000s][info][gc] Using Serial\n[2.000s][info][gc] GC(0) Pause Young (X) 10M->70M(64M) 3.500ms\n"
    assert self_check(read_gc_log(write(tmp_path, content))).violations["check"].tolist() == ["heap over its capacity"]


def checked(log: GcLog) -> list[pd.DataFrame]:
    """The tables of a log, held against their schemas."""
    tables = (log.pauses, log.safepoints, log.stalls, log.heap)
    schemas = (PAUSES, SAFEPOINTS, STALLS, HEAP)
    return [schema.validate(table) for schema, table in zip(schemas, tables, strict=True)]


@pytest.mark.long
def test_tables_of_every_kind_of_log_keep_their_schema() -> None:
    rows = [sum(map(len, checked(read_gc_log(path)))) for path in sorted(LOGS.glob("*.log.gz"))]
    assert len(rows) > 50 and min(rows) > 0


JDK_8 = b"""OpenJDK 64-Bit Server VM (25.292-b10) for linux-amd64 JRE (1.8.0_292-b10), built on Apr 21 2021
CommandLine flags: -XX:+PrintGC -XX:+PrintGCDetails -XX:+UseParallelGC
0.123: [GC (Allocation Failure) [PSYoungGen: 33280K->5118K(38400K)] 33280K->5208K(125952K), 0.0051 secs]
"""
STOPPED_8 = b"""Total time for which application threads were stopped: 0.01 seconds, Stopping threads took: 0.0 seconds
[GC (Allocation Failure)  33280K->5208K(125952K), 0.0051234 secs]
"""
OPENJ9 = b"""<?xml version="1.0" encoding="UTF-8"?>

<verbosegc xmlns="http://www.ibm.com/j9/verbosegc" version="84cdc9b">
<exclusive-start id="2" timestamp="2021-03-05T12:05:08.121" intervalms="121.000">
  <response-info timems="0.004" idlems="0.004" threads="0" lastid="0000000000059C00" lastname="main" />
</exclusive-start>
"""
INCREMENTAL = b"[1.201s] GC(0) Pause Incremental GC (Collect on allocation) 8.25M->0.25M 1.234ms\n"
FULL = b"[9.301s] GC(55) Pause Full GC (Collect on allocation) 400.19M->214.69M 318.384ms\n"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (as_json(RUN, "msg", ""), "is JSON"),
        (OPENJ9, "OpenJ9"),
        (OPENJ9[OPENJ9.index(b"<excl") :], "OpenJ9"),
        (INCREMENTAL + FULL, "native image"),
        (b"hello\n" * 300_000 + FULL, "native image"),
        (b"[Incremental GC (CollectOnAllocation) 261116K->3200K, 0.0011 secs]\n", "native image"),
        (b"[[195665366158579 GC: before  epoch: 8  cause: CollectOnAllocationHeap:\n", "native image"),
        (b'{"log": "0.123: [GC (Allocation Failure)  33280K->5208K(125952K), 0.0051 secs]\\n"}\n', "is a log of JDK 8"),
        (b"\x28\xb5\x2f\xfd" + b"\xff" * 100, "can't unpack"),
        (b"", "is empty"),
        (b"hello\nworld\n", "is not a garbage collection log"),
        (JDK_8, "is a log of JDK 8"),
        (STOPPED_8, "is a log of JDK 8"),
        (b"\x7fELF" + b"\0" * 5000, "is a binary file"),
        (b"\x1f\x8b" + b"\0" * 100, "can't unpack"),
        (b"x" * (65 << 20), "is not a garbage collection log"),
    ],
)
def test_what_is_no_gc_log_gets_one_line(content: bytes, says: str, tmp_path: Path) -> None:
    path = write(tmp_path, content)
    with pytest.raises(UserError, match=says) as raised:
        read_gc_log(path)
    assert "\n" not in str(raised.value) and str(path) in str(raised.value)


def test_what_can_not_be_opened_gets_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="No such file"):
        read_gc_log(tmp_path / "missing.log")
    with pytest.raises(UserError, match="Is a directory"):
        read_gc_log(tmp_path)


def test_the_command_writes_json_that_programs_can_read() -> None:
    path = str(LOGS / "11-serial-full.log.gz")
    result = CliRunner().invoke(gclog_command, [path, "--json"])
    assert result.exit_code == 0
    told = json.loads(result.output)
    log = read_gc_log(path)
    assert told["collector"] == "serial"
    assert told["pauses"] == len(log.outermost) and told["nested"] == log.pauses["nested"].sum() > 0
    assert told["pause_total_ms"] == pytest.approx(log.outermost["duration_ns"].sum() / 1e6)
    assert told["pause_max_ms"] == pytest.approx(log.outermost["duration_ns"].max() / 1e6)
    assert told["safepoints"] == len(log.safepoints)
    assert told["safepoint_total_ms"] == pytest.approx(log.safepoints["duration_ns"].sum() / 1e6)
    assert told["stalls"] == 0 and told["stall_total_ms"] == 0.0 and told["unread"] == 0
    assert set(told["mmu_stopped"]) == {"1", "10", "100", "1000"}


def test_what_a_log_or_its_name_says_is_no_command_to_a_terminal(tmp_path: Path) -> None:
    log = tmp_path / "red\x1b[31m.log"
    with gzip.open(LOGS / "11-serial-full.log.gz", "rb") as golden:
        log.write_bytes(golden.read())
    foreign = tmp_path / "other\x1b[2J.log"
    foreign.write_text("no log", encoding="utf-8")
    told = CliRunner().invoke(gclog_command, [str(log), str(foreign)])
    assert "red?[31m.log" in told.output and "other?[2J.log" in told.output
    assert "\x1b" not in told.output
