"""How far apart packets lie that are processed one after the other, measured at the start of the measured window."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from allocpool.campaign import single

SMALL = ("mode=batch", "strategy=pool", "packets=20000", "queue_size=1000", "stored_count=100", "pool_size=6000")


def disorder(*settings: str) -> Any:
    """Return the column of one trial of a small queue and pool."""
    record = single.run_single(single.parse_spec([*SMALL, *settings]))
    assert record.status == "ok", f"{record.reason}\n{record.log_tail}"
    return single.summary_of(record)["disorder_bytes"]


@pytest.mark.parametrize("steps", ["contiguous", "contiguous,one_line,stride"])
def test_slots_of_a_ring_in_order_follow_each_other_and_a_shuffled_pool_is_spread(data: Path, steps: str) -> None:
    slab = ("layout=slab", f"steps={steps}")
    slot_bytes = 1024 if steps == "contiguous" else 64
    in_order = disorder(*slab, "pool_order=fresh", "pool_reuse=fifo", "fill_packets=1000")
    assert slot_bytes <= in_order < 3 * slot_bytes, "one slot, but where the store kept a packet or gave one back"
    assert disorder(*slab, "pool_reuse=fifo", "fill_packets=1000") > 1000 * slot_bytes


@pytest.mark.parametrize(
    ("collector", "runtime"),
    [("g1", 11), ("g1", 25), ("parallel", 25), ("zgc", 17), ("genzgc", 25), ("shenandoah", 21)],
)
def test_objects_on_the_java_heap_lie_within_it(
    data: Path, first_compiler_only: None, collector: str, runtime: int
) -> None:
    heap = ("layout=heap", f"collector={collector}", f"runtime={runtime}", "heap_mb=256", "block=1")
    shuffled = disorder(*heap)
    assert 1024 <= shuffled < 256 * 2**20


def test_one_packet_is_where_it_is(data: Path) -> None:
    one = [word for word in SMALL if not word.startswith(("strategy", "pool_size"))]
    record = single.run_single(single.parse_spec([*one, "layout=flat", "language=cpp", "strategy=dummy"]))
    assert single.summary_of(record)["disorder_bytes"] == 0.0
