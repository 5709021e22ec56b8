"""Logs damaged at random: no error but a UserError, and no loss outside the damage."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import random
import re
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from allocpool.errors import UserError
from allocpool.gclog import join_parts, read_gc_log, read_runs, self_check, summary_of

LOGS = Path(__file__).parent / "golden" / "logs"
NAMES = ["11-cms-promotion-failure", "11-shenandoah-steady", "17-g1-steady", "21-zgc-stalls", "25-genzgc-stalls"]
DECORATED = ["17-g1-decorations.time", "17-g1-decorations.everything", "17-g1-decorations.none"]
WORDS = [
    b"Pause ",
    b"GC(",
    b"ms",
    b"[info][gc] ",
    b'Safepoint "',
    b"\n",
    b"[",
    b"]",
    b"\0",
    b"\xff\xfe",
    b"->",
    b"(",
    b")",
]


def garbage(dice: random.Random) -> bytes:
    """Bytes at random, mixed with words that the reader looks for; sometimes whole lines."""
    parts = [dice.choice([dice.choice(WORDS), dice.randbytes(dice.randint(1, 40))]) for _ in range(dice.randint(1, 12))]
    return b"".join(parts)


def pause_lines(lines: list[bytes]) -> list[bytes]:
    return [line for line in lines if b"Pause " in line and line.endswith(b"ms\n") and b"debug" not in line[:60]]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 8))])
def test_inserted_lines_cost_no_pause(name: str, seed: int, tmp_path: Path) -> None:
    dice = random.Random(f"{name} {seed}")
    whole = read_gc_log(LOGS / f"{name}.log.gz")
    lines = gzip.decompress((LOGS / f"{name}.log.gz").read_bytes()).splitlines(keepends=True)
    damaged = []
    for line in lines:
        damaged.append(line)
        if dice.random() < 0.2:
            damaged.append(garbage(dice).replace(b"ms", b"") + b"\n")
    path = tmp_path / "damaged.log"
    path.write_bytes(b"".join(damaged))
    log = read_gc_log(path)
    compared = [
        "gc_id",
        "kind",
        "cause",
        "generation",
        "start_ns",
        "duration_ns",
        "heap_before_mb",
        "nested",
        "nested_in",
    ]
    assert log.pauses[compared].equals(whole.pauses[compared])
    assert log.safepoints.equals(whole.safepoints)
    assert log.stalls.equals(whole.stalls)
    assert self_check(log).count == 0


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 8))])
def test_damage_in_mid_line_costs_only_the_lines_it_hit(name: str, seed: int, tmp_path: Path) -> None:
    dice = random.Random(f"{seed} {name}")
    lines = gzip.decompress((LOGS / f"{name}.log.gz").read_bytes()).splitlines(keepends=True)
    hit = set(dice.sample(range(5, len(lines)), len(lines) // 20))
    damaged = []
    for number, line in enumerate(lines):
        if number not in hit:
            damaged.append(line)
            continue
        at, length = dice.randrange(len(line)), dice.randint(1, 60)
        cut = line[:at] + dice.choice([b"", garbage(dice)]) + line[at + length :]
        damaged.append(cut if cut.endswith(b"\n") else cut + b"\n")  # what follows begins on a line of its own
    path = tmp_path / "damaged.log"
    path.write_bytes(b"".join(damaged))
    intact = tmp_path / "intact.log"
    intact.write_bytes(b"".join(line for number, line in enumerate(lines) if number not in hit))
    log, expected = read_gc_log(path), read_gc_log(intact)
    found = set(zip(log.pauses["start_ns"], log.pauses["duration_ns"], log.pauses["gc_id"], strict=True))
    wanted = zip(expected.pauses["start_ns"], expected.pauses["duration_ns"], expected.pauses["gc_id"], strict=True)
    assert set(wanted) <= found
    assert set(expected.safepoints["start_ns"]) <= set(log.safepoints["start_ns"])
    summary_of(read_gc_log(path))


WRAPPED: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "gzip": lambda text: gzip.compress(text, 1, mtime=0),
    "bzip2": lambda text: bz2.compress(text, 1),
    "xz": lambda text: lzma.compress(text, preset=0),
    "zstd": lambda text: pa.compress(text, "zstd", asbytes=True),
    "UTF-16": lambda text: text.decode("latin-1").encode("utf-16-le"),
    "JSON": lambda text: b"".join(
        json.dumps({"log": line, "stream": "stdout"}).encode() + b"\n"
        for line in text.decode("latin-1").splitlines(True)
    ),
}


def mutate(content: bytearray, dice: random.Random) -> None:
    """Changes a log in one way of many: garbage, other numbers, lines lost, repeated, exchanged, joined."""
    at = dice.randint(0, len(content))
    how = dice.randrange(5)
    if how == 0:
        content[at : at + dice.randint(0, 80)] = garbage(dice)
    elif how == 1 and (number := re.compile(rb"\d+").search(content, at)):
        other = dice.choice([b"0", b"9" * dice.choice([1, 9, 15, 18, 5000]), str(dice.randrange(10**9)).encode(), b""])
        content[number.start() : number.end()] = other
    elif how == 2:
        other_at = dice.randint(0, len(content))
        content[at:at] = content[other_at : other_at + dice.randint(0, 5_000)]
    elif how == 3:
        del content[at : at + dice.randint(0, 5_000)]
    elif (end := content.find(b"\n", at)) >= 0:
        del content[end]


def damaged(seed: int) -> tuple[str, bytes]:
    """A part of one golden log, or of two after each other, mutated, wrapped, and mutated once more."""
    dice = random.Random(seed)
    content = bytearray()
    for _ in range(dice.randint(1, 2)):
        whole = gzip.decompress((LOGS / f"{dice.choice(NAMES + DECORATED)}.log.gz").read_bytes())
        start = dice.choice([0, dice.randrange(len(whole))])
        content += whole[start : start + dice.randint(0, 40_000)]
    for _ in range(dice.choice([0, 1, 10, 200])):
        mutate(content, dice)
    wrapping = dice.choice(sorted(WRAPPED))
    wrapped = bytearray(WRAPPED[wrapping](bytes(content)))
    for _ in range(dice.choice([0, 0, 1, 3])):
        mutate(wrapped, dice)
    return wrapping, bytes(wrapped)


def read_or_refuse(folder: Path, seed: int) -> bool:
    """Whether a damaged log is read; the only error is that of a user."""
    path = folder / "gc.log"
    path.write_bytes(damaged(seed)[1])
    try:
        runs = list(join_parts({path: read_runs(path)}))
    except UserError:
        return False
    return all(summary_of(log).pauses == len(log.outermost) for log in runs)


@pytest.mark.parametrize("seed", [*range(10), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(10, 100))])
def test_any_bytes_are_read_or_refused(seed: int, tmp_path: Path) -> None:
    read_or_refuse(tmp_path, seed)


@pytest.mark.long
def test_most_damaged_logs_are_read_in_every_wrapping(tmp_path: Path) -> None:
    seeds: dict[str, list[int]] = {}
    for seed in range(100):
        seeds.setdefault(damaged(seed)[0], []).append(seed)
    assert set(seeds) == set(WRAPPED)
    assert all(any(read_or_refuse(tmp_path, seed) for seed in some) for some in seeds.values())


def test_pause_lines_were_found_in_what_gets_damaged() -> None:
    for name in NAMES:
        lines = gzip.decompress((LOGS / f"{name}.log.gz").read_bytes()).splitlines(keepends=True)
        assert len(pause_lines(lines)) >= len(read_gc_log(LOGS / f"{name}.log.gz").pauses) > 0
