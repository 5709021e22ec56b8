"""Warm-ups that end when the collector is trained and the cost level, and windows that hold an old cycle."""

from __future__ import annotations

from pathlib import Path

import pytest

from allocpool.packets.child.batch import LEVEL, _is_level
from allocpool.packets.columns import cost_since_start
from allocpool.packets.measurement import Phases
from allocpool.trial.child.gc_log import TRAINING, Collections, old_cycles

S = 10**9


def log(path: Path, *lines: tuple[float, int, str]) -> Path:
    """A log of lines at seconds, of collections by number."""
    text = "".join(f"[{round(at * S)}ns][{at}s][info][gc] GC({gc}) {words}\n" for at, gc, words in lines)
    path.write_text(text, encoding="utf-8")
    return path


START = "Pause Young (Concurrent Start) (G1 Evacuation Pause) 9M->5M(20M) 3.000ms"
REMARK, CLEANUP = "Pause Remark 9M->9M(20M) 1.000ms", "Pause Cleanup 9M->9M(20M) 0.100ms"
MIXED = "Pause Young (Mixed) (G1 Evacuation Pause) 9M->5M(20M) 3.000ms"
NORMAL = "Pause Young (Normal) (G1 Evacuation Pause) 9M->5M(20M) 3.000ms"
CYCLE = ((1, 1, START), (2, 2, REMARK), (3, 2, CLEANUP), (4, 3, MIXED), (5, 4, NORMAL))


@pytest.mark.parametrize(
    ("from_s", "to_s", "cycles"), [(0, 10, 1), (1.5, 10, 0), (0, 4.5, 0), (0, 3.5, 0), (5.5, 10, 0)]
)
def test_a_cycle_of_g1_goes_from_its_start_to_past_its_last_mixed_collection(
    tmp_path: Path, from_s: float, to_s: float, cycles: int
) -> None:
    assert old_cycles(log(tmp_path / "gc.log", *CYCLE), from_s * S, to_s * S) == cycles


@pytest.mark.parametrize(
    ("lines", "cycles"),
    [
        ([(1, 1, "Pause Full (Ergonomics)"), (2, 1, "Pause Full (Ergonomics) 9M->5M(20M) 900.000ms")], 1),
        ([(1, 1, NORMAL), (2, 2, NORMAL)], 0),
        ([(1, 7, "Major Collection (Proactive)"), (2, 7, "Major Collection (Proactive) 9M(45%)->5M(25%) 0.9s")], 1),
        ([(1, 7, "Minor Collection (Allocation Rate) 9M(45%)->5M(25%) 0.1s")], 0),
        ([(1, 3, "Pause Initial Mark 9M->9M(20M) 1.000ms"), (2, 3, REMARK)], 1),
        ([(1, 3, "Concurrent Mark Cycle"), (2, 3, REMARK)], 0),
        ([], 0),
    ],
)
def test_other_collectors_have_cycles_of_their_own(
    tmp_path: Path, lines: list[tuple[float, int, str]], cycles: int
) -> None:
    path = log(tmp_path / "gc.log", *lines)
    assert old_cycles(path, 0, 10 * S) == cycles
    assert old_cycles(path, 1.5 * S, 10 * S) == 0, "it began before"
    assert old_cycles(tmp_path / "none", 0, S) == 0


def test_markings_train_no_collector(tmp_path: Path) -> None:
    seen = Collections(log(tmp_path / "gc.log", *CYCLE), TRAINING, from_start=True)
    assert seen.since(0) == 3


def iterations(*costs_ns: int) -> list[tuple[int, int, int]]:
    """Iterations of a thousand packets, one after the other."""
    ends = [sum(costs_ns[: place + 1]) * 1000 for place in range(len(costs_ns))]
    return [(end - cost * 1000, end, 1000) for end, cost in zip(ends, costs_ns, strict=True)]


def test_a_cost_is_level_when_the_last_third_costs_what_the_one_before_does() -> None:
    assert _is_level(iterations(*[300] * 8, *[100] * 16))
    assert not _is_level(iterations(*[100] * 16, *[round(100 * LEVEL * 1.05)] * 8))
    assert not _is_level(iterations(*[300] * 12, *[100] * 12))
    assert not _is_level(iterations(*[100] * 23)), "too few"


def test_the_cost_since_the_start_goes_on_as_the_window_does() -> None:
    phases = Phases(fill=iterations(1000), warmup=iterations(1000), measured=iterations(100))
    half_dear = 2 * 1000 * 1000
    assert cost_since_start(phases, half_dear) == pytest.approx(1000)
    # Two thousand packets in two milliseconds, then twenty thousand in as long again.
    assert cost_since_start(phases, 2 * half_dear) == pytest.approx(2 * half_dear / 22_000, rel=1e-6)
    assert cost_since_start(phases, half_dear // 4) == pytest.approx(1000)
