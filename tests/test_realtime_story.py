"""What is told of a real-time campaign: cells, claims, sentences and figures, from made-up and published figures."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest

from allocpool.packets.specs import SETTINGS
from allocpool.studies.realtime import cells as realtime_cells
from allocpool.studies.realtime import plots
from allocpool.studies.realtime import story as realtime_report

_PLAIN: dict[str, Any] = {
    **dict.fromkeys(("allocator", "steps", "compact_headers", "large_pages", *SETTINGS)),
    "no_refinement": None, "large_young": None, "detached": False,
    "lean_view": False, "host_cpu": False, "pool_order": "aged", "pool_reuse": "lifo",
    "payload_touch": False, "control": None,
}  # fmt: skip
JAVA: dict[str, Any] = {
    **_PLAIN, "language": "java", "layout": "heap", "runtime": 11, "configuration": "heap / Parallel / 11",
    "collector": "parallel",
}  # fmt: skip
CPP: dict[str, Any] = {
    **_PLAIN, "language": "cpp", "layout": "flat", "runtime": None, "configuration": "C++ flat", "collector": None,
    "allocator": "glibc",
}  # fmt: skip


def search(**changes: Any) -> dict[str, Any]:
    """One finished search that brackets 285 to 300 ns."""
    return {
        **JAVA, "trial_id": str(sorted(changes.items())), "strategy": "pool", "case": "A", "block": 0, "status": "ok",
        "reason": None, "heap_factor": 1.0, "low_ns": 20.0, "ndr_ns": 300.0, "ndr_fails_ns": 285.0, "pdr_ns": 300.0,
        "pdr_fails_ns": 285.0, "compared_ns": None, "compared_lost_ppm": None, "larger_heap_factor": None,
        "larger_heap_lost_ppm": None, "larger_heap_gap": None,
        "confirmations": 5, "intervals_tried": 4, "highest_trials": 0, "highest_losing": 0, "high_ns": 10_000.0,
        "probes": 12, "full_trials": 4, "caps_reached": 1, "search_seconds": 20.0, "grid_trials": 110,
        "grid_seconds": 300.0, "queue_factor": 1.0, "input_queue_ms": 10.0, "scale": 0.1, "pdr_loss_ratio": 200e-6,
        "majors_seen": 3, "hit_cap": False, "decides_long_pauses": True, "larger_heap_majors_seen": None,
        "larger_heap_hit_cap": None, "larger_heap_decides": None, **changes,
    }  # fmt: skip


def losing(**changes: Any) -> dict[str, Any]:
    """A search that found no interval, and a loss of 2% instead."""
    none = {"ndr_ns": None, "pdr_ns": None, "ndr_fails_ns": 5000.0, "pdr_fails_ns": 5000.0}
    return search(**{**none, "compared_lost_ppm": 2e4, "compared_ns": 1000.0, **changes})


def cells(*searches: dict[str, Any]) -> pd.DataFrame:
    return realtime_cells.realtime_cells(pd.DataFrame(list(searches)))


def sweep(lost_ppm: float, queue_ms: float = 100.0, factor: float = 1.0, **changes: Any) -> dict[str, Any]:
    return {
        **JAVA, "trial_id": f"{queue_ms}/{factor}", "strategy": "pool", "case": "C", "block": 0, "status": "ok",
        "heap_factor": factor, "input_queue_ms": queue_ms, "interval_ns": 1000.0, "lost_ppm": lost_ppm,
        "slip_total_ms": 10.0, "slip_max_ms": 2.0, "seconds": 1.0, "scale": 1.0, "queue_factor": queue_ms / 100,
        "intermediate_queue_ms": 0.0,
        "stall_ms": 0.0, "decides_long_pauses": True, "too_short": False, "prologue_ns_per_packet": 200.0, **changes,
    }  # fmt: skip


NO_TRIALS = pd.DataFrame([sweep(0.0)]).iloc[:0]


def test_a_cell_passes_where_most_searches_pass() -> None:
    spread = [search(block=0), search(block=1, ndr_ns=330.0, ndr_fails_ns=310.0)]
    (row,) = cells(*spread).to_dict("records")
    assert (row["answer"], row["n"], row["n_ndr"]) == ("ndr", 2, 2)
    assert row["ndr_ns"] == pytest.approx((300 * 285 * 330 * 310) ** 0.25)
    (row,) = cells(*spread, losing(block=2)).to_dict("records")
    assert (row["answer"], row["n_ndr"]) == ("ndr", 2)
    (row,) = cells(search(block=0), losing(block=1), losing(block=2, compared_lost_ppm=4e4)).to_dict("records")
    assert row["answer"] == "loses" and np.isnan(row["ndr_ns"])
    assert row["lost_percent"] == pytest.approx((2.0 * 4.0) ** 0.5), "a geometric mean over trials"
    assert row["lost_low_percent"] < 2.0 and row["lost_high_percent"] > 4.0


def test_repeated_searches_narrow_what_is_known_of_a_cell() -> None:
    def widths(count: int) -> float:
        answers = itertools.islice(itertools.cycle((300.0, 330.0, 310.0, 290.0)), count)
        (row,) = cells(
            *(search(block=block, ndr_ns=ns, ndr_fails_ns=0.95 * ns) for block, ns in enumerate(answers))
        ).to_dict("records")
        assert row["every_ndr"].passing == count
        return float(row["ndr_high_ns"] / row["ndr_low_ns"])

    assert widths(3) > widths(6) > widths(12) > 1 / 0.95
    (alone,) = cells(search()).to_dict("records")
    assert np.isnan(alone["ndr_low_ns"]) and not alone["repeated"]
    table = realtime_report.summary_table(cells(*(search(block=b) for b in range(3))), "t", "s").as_raw_html()
    assert "285\u2013300" in table


def at_scale(scale: float, factor: float, lost_ppm: float, **changes: Any) -> dict[str, Any]:
    trial_id = f"{scale}/{factor}/{lost_ppm}"
    return (
        sweep(lost_ppm, 100 * scale * factor) | {"scale": scale, "queue_factor": factor, "trial_id": trial_id} | changes
    )


def test_the_same_cell_at_several_scales_is_compared_by_both_rules_for_the_queue() -> None:
    rows = [at_scale(scale, 1.0, 1e4 + block, block=block) for scale in (0.1, 0.2, 1.0) for block in (0, 1)]
    rows += [at_scale(scale, 1 / scale, 1e4 * scale, block=block) for scale in (0.1, 0.2) for block in (0, 1)]
    table = realtime_cells.similar(pd.DataFrame(rows))
    assert table.groupby("queue")["scale"].apply(sorted).to_dict() == {
        realtime_cells.FOLLOWS: [0.1, 0.2, 1.0],
        realtime_cells.UNSCALED: [0.1, 0.2, 1.0],
    }
    assert set(table["over_cost"]) == {5.0} and set(table["n"]) == {2}
    assert len(plots.similarity(table).axes) == 2


def test_the_smallest_interval_is_set_beside_the_cost_in_batch() -> None:
    batch = pd.DataFrame([
        {**JAVA, "strategy": "pool", "case": "A", "block": block, "status": "ok", "reason": None, "ns_per_packet": cost}
        for block, cost in enumerate((100.0, 100.0))
    ])  # fmt: skip
    rows = cells(search(), losing(case="B"))
    both = realtime_cells.against_batch(rows, batch)
    assert both["ratio"].tolist() == pytest.approx([(300 * 285) ** 0.5 / 100])
    plots.batch_and_realtime(both)


def test_a_placed_cell_is_set_beside_what_its_own_trials_cost_before_the_source_starts() -> None:
    searched = pd.DataFrame([search(strategy="alloc"), search(strategy="alloc", block=1)])
    intervals_ns = (100.0, 400.0, 200.0, 300.0, 250.0, 220.0, 270.0, 240.0)
    placed = pd.DataFrame([
        sweep(1e6 * lost / 1000) | {
            "trial_id": f"placed{block}", "block": block, "interval_ns": interval_ns, "lost": lost,
            "delay_max_us": 20.0, "prologue_ns_per_packet": 50.0, "queue_size": 500, "stored_count": 500,
            "reason": None,
        }
        for block, interval_ns in enumerate(intervals_ns)
        for lost in [0 if interval_ns > 245 else 100]
    ])  # fmt: skip
    batch = pd.DataFrame([
        {**JAVA, "strategy": strategy, "case": case, "block": 0, "status": "ok", "reason": None, "ns_per_packet": 100.0}
        for strategy, case in (("alloc", "A"), ("pool", "C"))
    ])  # fmt: skip
    rows = realtime_cells.realtime_cells(searched, placed)
    both = realtime_cells.against_batch(rows, batch, placed).set_index("strategy")
    assert both["ns"].to_dict() == pytest.approx({"alloc": 100.0, "pool": 50.0})
    assert 4 < both["ratio"]["pool"] < 6


def test_a_search_with_another_heap_is_another_cell() -> None:
    assert len(cells(search(), search(heap_factor=5.0, ndr_ns=100.0))) == 1
    assert cells(search(), search(heap_factor=5.0, ndr_ns=100.0))["ndr_ns"].tolist() == pytest.approx(
        [(300 * 285) ** 0.5]
    )


def three(*searches: dict[str, Any]) -> pd.DataFrame:
    """Cells of three searches each."""
    return cells(*(one | {"block": block} for one in searches for block in range(3)))


def test_a_side_without_an_interval_wins_by_no_number_of_times() -> None:
    found = three(search(case="B"), losing(strategy="alloc", case="B"))
    both = realtime_report.pool_or_allocate(found)
    assert both["decided"].tolist() == ["pooling"] and both["ratio"].isna().all()


def probes_of(
    trial_id: str, *measured: tuple[float, float], kind: str = "full", **changes: Any
) -> list[dict[str, Any]]:
    """Measurements at an interval, each with what it lost of a million."""
    return [
        {
            "trial_id": trial_id, "kind": kind, "interval_ns": ns, "lost_ppm": lost, "slip_max_ms": 0.0,
            "generated": 1000, **changes,
        }
        for ns, lost in measured
    ]  # fmt: skip


def test_where_losses_begin_is_fitted_to_trials_of_full_length_beside_the_searches() -> None:
    searches = [search(block=block, trial_id=str(block)) for block in range(3)]
    trials = [(ns, lost) for ns, lost in ((270.0, 9e3), (285.0, 9e3), (300.0, 0.0), (315.0, 0.0)) for _ in range(5)]
    rows = [row for block in range(3) for row in probes_of(str(block), *trials)]
    left_out = [
        *probes_of("0", (300.0, 5e5), kind="probe"), *probes_of("0", (900.0, 5e5), slip_max_ms=9.0),
        *probes_of("0", (900.0, 5e5), kind="larger heap"),
    ]  # fmt: skip
    tables = pd.DataFrame(searches), pd.DataFrame([*rows, *left_out])
    found = realtime_cells.realtime_cells(tables[0])
    fitted = realtime_cells.boundaries(found, *tables)
    (row,) = fitted.to_dict("records")
    assert (row["trials"], row["losing"], row["agrees"]) == (60, 30, True)
    assert 280 < row["edge_low_ns"] < row["edge_ns"] < row["safe_ns"] < 315
    assert realtime_report.boundary_table(fitted)["losing"].tolist() == [30]
    elsewhere = tables[1].assign(interval_ns=2 * tables[1]["interval_ns"])
    apart = realtime_cells.boundaries(found, tables[0], elsewhere)
    assert apart["agrees"].tolist() == [False]
