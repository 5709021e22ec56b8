"""Laps of a trial, by the packets that circulate."""

from __future__ import annotations

import pandas as pd
import pytest
import synthetic

from allocpool.campaign import single
from allocpool.errors import UserError
from allocpool.packets.columns import as_now, in_todays_words
from allocpool.packets.laps import lap_packets
from allocpool.packets.specs import Solution, no_such_pair


@pytest.mark.parametrize(
    ("pool_size", "pool_reuse", "lap"), [(1000, "lifo", 161), (0, "lifo", 161), (1000, "fifo", 1000), (50, "fifo", 161)]
)
def test_a_lap_is_the_packets_that_circulate(pool_size: int, pool_reuse: str, lap: int) -> None:
    assert lap_packets(pool_size, 100, 60, pool_reuse) == lap


def test_the_row_of_a_trial_has_the_laps_of_its_pool() -> None:
    now = synthetic.trials(blocks=1, cases=("A",)).assign(packets=100_000)
    pool = now[now["strategy"] == "pool"]
    for reuse, too_short in (("lifo", False), ("fifo", True)):
        told = as_now({"trials": pool.assign(pool_reuse=reuse)})["trials"]
        row = told.iloc[0]
        assert row["laps"] == 100_000 / lap_packets(row["pool_size"], row["queue_size"], row["stored_count"], reuse)
        assert (told["too_short"] == too_short).all()


def test_a_stored_trial_is_too_short_by_todays_lap_or_for_want_of_collections() -> None:
    sizes = {"pool_size": 100_000, "queue_size": 1_000, "stored_count": 999, "pool_order": "aged"}
    then = pd.DataFrame([
        {**sizes, "laps": 1.0, "too_short": True, "gc_collections": 5},
        {**sizes, "laps": 1.0, "too_short": True, "gc_collections": 1},
        {**sizes, "laps": 0.02, "too_short": True, "gc_collections": pd.NA},
        {**sizes, "laps": 3.0, "too_short": False, "gc_collections": 0},
    ]).astype({"too_short": "boolean", "gc_collections": "Int64"})  # fmt: skip
    now = in_todays_words({"trials": then})["trials"]
    assert now["laps"].tolist() == [50.0, 50.0, 1.0, 150.0]
    assert now["too_short"].tolist() == [False, True, True, False]
    assert set(now["pool_reuse"]) == {"lifo"}
    again = in_todays_words({"trials": now})["trials"]
    assert again["laps"].tolist() == now["laps"].tolist(), "put right once"


@pytest.mark.parametrize("solution", ["cpp/flat/fifo", "java/heap/g1/25/fifo", "java/flat/g1/25/fifo"])
def test_a_ring_needs_a_pool(solution: str) -> None:
    assert no_such_pair(Solution.parse(solution), "pool") is None
    for strategy in ("alloc", "dummy"):
        assert no_such_pair(Solution.parse(solution), strategy)
    with pytest.raises(UserError, match="mix or pool"):
        single.run_single(
            single.parse_spec(["mode=batch", "layout=heap", "strategy=alloc", "pool_reuse=fifo", "packets=1000"])
        )
