"""Logs damaged at random: no error but a UserError, and no loss outside the damage."""

from __future__ import annotations

import gzip
import random
from contextlib import suppress
from pathlib import Path

import pytest

from allocpool.errors import UserError
from allocpool.gclog import read_gc_log, self_check, summarise

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
@pytest.mark.parametrize("seed", range(8))
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
@pytest.mark.parametrize("seed", range(8))
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
    summarise(path)


@pytest.mark.parametrize("seed", range(100))
def test_any_bytes_are_read_or_refused(seed: int, tmp_path: Path) -> None:
    dice = random.Random(seed)
    content = bytearray(
        gzip.decompress((LOGS / f"{dice.choice(NAMES + DECORATED)}.log.gz").read_bytes())[: dice.randint(0, 40_000)]
    )
    for _ in range(dice.randint(0, 200)):
        at = dice.randint(0, len(content))
        content[at : at + dice.randint(0, 80)] = garbage(dice)
    path = tmp_path / "any.log"
    path.write_bytes(gzip.compress(bytes(content)) if dice.random() < 0.3 else bytes(content))
    with suppress(UserError):  # and nothing but that
        assert summarise(path).pauses >= 0


def test_pause_lines_were_found_in_what_gets_damaged() -> None:
    for name in NAMES:
        lines = gzip.decompress((LOGS / f"{name}.log.gz").read_bytes()).splitlines(keepends=True)
        assert len(pause_lines(lines)) >= len(read_gc_log(LOGS / f"{name}.log.gz").pauses) > 0
