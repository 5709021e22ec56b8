"""Laps of a trial, by the packets that circulate."""

from __future__ import annotations

import pytest
import synthetic

from allocpool.campaign import single
from allocpool.campaign.tidy import rows_of
from allocpool.errors import UserError
from allocpool.packets.columns import laps_row
from allocpool.packets.measurement import LAPS, lap_packets
from allocpool.packets.specs import Configuration, no_such_pair


@pytest.mark.parametrize(
    ("pool_size", "pool_reuse", "lap"), [(1000, "lifo", 161), (0, "lifo", 161), (1000, "fifo", 1000), (50, "fifo", 161)]
)
def test_a_lap_is_the_packets_that_circulate(pool_size: int, pool_reuse: str, lap: int) -> None:
    assert lap_packets(pool_size, 100, 60, pool_reuse) == lap


def test_the_row_of_a_trial_has_the_laps_of_its_pool() -> None:
    now = synthetic.trials(blocks=1, cases=("A",)).assign(packets=100_000)
    pool = now[now["strategy"] == "pool"]
    for reuse, too_short in (("lifo", False), ("fifo", True)):
        (row,) = rows_of(pool.assign(pool_reuse=reuse).head(1))
        found = laps_row(row, row["packets"], LAPS)
        laps = 100_000 / lap_packets(row["pool_size"], row["queue_size"], row["stored_count"], reuse)
        assert found == {"laps": laps, "too_short": too_short}


@pytest.mark.parametrize("configuration", ["cpp/flat/fifo", "java/heap/g1/25/fifo", "java/flat/g1/25/fifo"])
def test_a_ring_needs_a_pool(configuration: str) -> None:
    assert no_such_pair(Configuration.parse(configuration), "pool") is None
    for strategy in ("alloc", "dummy"):
        assert no_such_pair(Configuration.parse(configuration), strategy)
    with pytest.raises(UserError, match="mix or pool"):
        single.run_single(
            single.parse_spec(["mode=batch", "layout=heap", "strategy=alloc", "pool_reuse=fifo", "packets=1000"])
        )
