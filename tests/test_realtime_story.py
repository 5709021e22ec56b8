"""What is told of a real-time campaign: cells, claims, sentences and figures, from made-up and published figures."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from allocpool.campaign import campaign, hosts
from allocpool.evidence import hosts as by_host
from allocpool.evidence.style import log_axis, new_figure
from allocpool.packets.specs import SETTINGS
from allocpool.percentiles import histogram_percentiles_us
from allocpool.studies.realtime import cells as realtime_cells
from allocpool.studies.realtime import plots, sections
from allocpool.studies.realtime import story as realtime_report
from allocpool.studies.realtime.study import RealtimeProfile
from allocpool.studies.realtime.tables import SCHEMAS

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


def test_a_cell_is_as_weak_as_the_weakest_of_its_searches() -> None:
    weak = {"majors_seen": 0, "hit_cap": True, "decides_long_pauses": False}
    rows = cells(search(block=0), search(block=1, **weak), search(block=2))
    (row,) = rows.to_dict("records")
    assert (row["majors_seen"], row["hit_cap"], row["decides_long_pauses"]) == (0, True, False)
    table = realtime_report.summary_table(rows, "t", "s").as_raw_html()
    assert "cap" in table
    assert realtime_report.marks(cells(search()), NO_TRIALS) == "", "nothing is weak, so nothing is said"


def older(table: pd.DataFrame, name: str) -> pd.DataFrame:
    """A table as it was stored before the columns that follow from others."""
    return table.drop(columns=[column for column in NEWER if column in table and column in SCHEMAS[name].columns])


NEWER = ("queue_factor", "pdr_loss_ratio", "majors_seen", "hit_cap", "decides_long_pauses", "laps", "too_short")


def test_an_older_search_is_marked_by_its_probes() -> None:
    searches = older(pd.DataFrame([search(trial_id="a", input_queue_ms=100.0), losing(trial_id="b")]), "searches")
    probe = {"majors": 3, "cap_reached": False, "seconds": 1.0}
    probes = pd.DataFrame([
        {**probe, "trial_id": "a", "kind": "full", "interval_ns": 300.0, "majors": 0, "cap_reached": True},
        {**probe, "trial_id": "a", "kind": "full", "interval_ns": 285.0},
        {**probe, "trial_id": "a", "kind": "probe", "interval_ns": 300.0},
        {**probe, "trial_id": "b", "kind": "compared", "interval_ns": 1000.0},
    ])  # fmt: skip
    tables = {"searches": searches, "probes": probes, "trials": older(NO_TRIALS, "trials")}
    first, second = as_now(tables)["searches"].to_dict("records")
    assert first["queue_factor"] == pytest.approx(10.0) and first["pdr_loss_ratio"] == 200e-6
    assert (first["majors_seen"], first["hit_cap"], first["decides_long_pauses"]) == (0, True, False)
    assert (second["majors_seen"], second["hit_cap"], second["decides_long_pauses"]) == (3, False, True)


@pytest.mark.parametrize(
    ("changes", "decides"),
    [
        ({}, True),
        ({"majors": 0}, False),
        ({"cap_reached": True}, False),
        ({"input_queue_ms": 1001.0}, False),
        ({"majors": 0, **CPP}, True),
    ],
)
def test_an_older_trial_decides_only_what_it_saw(changes: dict[str, Any], decides: bool) -> None:
    row = sweep(0.0) | {"majors": 3, "cap_reached": False, "received": 150_000} | changes
    row |= {"pool_size": 100_000, "queue_size": 10_000, "stored_count": 10_000}
    trials = older(pd.DataFrame([row]), "trials")
    tables = {"searches": pd.DataFrame([search()]), "probes": pd.DataFrame(), "trials": trials}
    (found,) = as_now(tables)["trials"].to_dict("records")
    assert found["decides_long_pauses"] == decides
    assert (found["laps"], found["too_short"]) == (150_000 / 20_001, False)


def test_older_events_keep_their_times_after_the_warm_up() -> None:
    slips = pd.DataFrame({
        "trial_id": ["a", "a"], "start_s": [0.25, 3599.123456789], "start_ns": [7_000_250_000_000, 10_599_123_456_789],
        "length_ns": [LISTED_SLIP_NS, 2 * LISTED_SLIP_NS],
    })  # fmt: skip
    bursts = slips.assign(end_s=slips["start_s"] + 0.5, end_ns=slips["start_ns"] + 500_000_000)
    shorter = slips.assign(length_ns=LISTED_SLIP_NS - 1)
    tables = {"searches": pd.DataFrame([search()]), "trials": NO_TRIALS, "slips": pd.concat([shorter, slips]),
              "bursts": bursts}  # fmt: skip
    now = as_now(tables)
    assert now["slips"]["start_ns"].tolist() == [250_000_000, 3_599_123_456_789]
    assert now["bursts"]["end_ns"].tolist() == [750_000_000, 3_599_623_456_789]
    assert not {"start_s", "end_s"} & {*now["slips"], *now["bursts"]}
    assert as_now(now)["slips"].equals(now["slips"])


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


@pytest.mark.parametrize(("cores", "left"), [(2, "0 are left"), (8, "6 are left")])
def test_what_is_left_for_concurrent_collectors_is_computed(cores: int, left: str) -> None:
    provenance = {"host": {"logical_cores": 2 * cores, "physical_cores": cores}}
    where: dict[str, Any] = {
        "pinned": True,
        "shared_core": False,
        "source_moves": 0,
        "consumer_moved": False,
        "consumer_preempted": 3,
    }
    text = realtime_report.cores(provenance, pd.DataFrame([sweep(0.0, **where)]))
    assert left in text


def test_few_lost_is_told_apart_from_none_and_a_failure_has_its_reason() -> None:
    few = search(ndr_ns=None, ndr_fails_ns=5000.0)
    failed = search(case="B", status="out_of_memory", reason="Java heap space", ndr_ns=None, pdr_ns=None)
    found = cells(few, failed).set_index("case")
    assert found.loc["A", "answer"] == "pdr"
    assert found.loc["B", "gap"] == "out of memory: Java heap space"


def test_where_no_interval_passes_both_heaps_are_told() -> None:
    larger = {"larger_heap_factor": 5.0, "larger_heap_lost_ppm": 5e3}
    rows = cells(losing(**larger), losing(**larger | {"larger_heap_lost_ppm": 4e3}, block=1))
    assert rows["larger_heap_lost_percent"].tolist() == pytest.approx([(0.5 * 0.4) ** 0.5])
    (_row,) = cells(losing(larger_heap_gap="no memory")).to_dict("records")


def test_a_search_with_another_heap_is_another_cell() -> None:
    assert len(cells(search(), search(heap_factor=5.0, ndr_ns=100.0))) == 1
    assert cells(search(), search(heap_factor=5.0, ndr_ns=100.0))["ndr_ns"].tolist() == pytest.approx(
        [(300 * 285) ** 0.5]
    )


def three(*searches: dict[str, Any]) -> pd.DataFrame:
    """Cells of three searches each."""
    return cells(*(one | {"block": block} for one in searches for block in range(3)))


@pytest.mark.parametrize(("pool", "alloc"), [("pool", "alloc"), ("alloc", "pool")])
def test_the_verdict_turns_with_the_data(pool: str, alloc: str) -> None:
    dear = {"ndr_ns": 700.0, "ndr_fails_ns": 660.0, "pdr_ns": 700.0, "pdr_fails_ns": 660.0}
    once = realtime_report.verdict(three(search(strategy=pool), search(strategy=alloc, **dear, confirmations=1)))
    assert "**Open.**" in once


def test_what_searches_do_not_tell_apart_stays_open() -> None:
    close = {"ndr_ns": 310.0, "ndr_fails_ns": 295.0, "pdr_ns": 310.0, "pdr_fails_ns": 295.0}
    text = realtime_report.verdict(three(search(), search(strategy="alloc", **close)))
    assert "The one Java configuration and case that was tried both ways is not decided. The trials" in text
    elsewhere = search(case="B"), search(strategy="alloc", case="B", **close)
    both = realtime_report.verdict(three(search(), search(strategy="alloc", **close), *elsewhere))
    assert "Of 2 Java configurations and cases that were tried both ways none is decided. The trials" in both
    neither = realtime_report.pool_or_allocate(three(losing(), losing(strategy="alloc")))
    assert neither["decided"].tolist() == ["neither passes"]


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


def test_the_cost_of_searching_is_set_against_a_grid() -> None:
    rows = pd.DataFrame([search(), search(block=1)])
    assert realtime_report.cost_table(rows)["searches"].tolist() == [2]


def test_a_design_and_its_length_are_told_from_the_profile() -> None:
    profile = campaign.open_study("realtime", "article").profile
    assert isinstance(profile, RealtimeProfile)


def test_percentiles_come_from_the_buckets() -> None:
    median, most = histogram_percentiles_us([(1000, 90), (2047, 10)], [50.0, 100.0])
    assert (median, most) == (1.0, 2.047)
    assert all(np.isnan(histogram_percentiles_us([], [50.0])))


def test_a_rate_is_drawn_for_every_interval_that_passes() -> None:
    sharp = {"ndr_fails_ns": None}
    rows = cells(search(**sharp), search(case="B", ndr_ns=600.0, **sharp), losing(case="C"), search(**CPP, **sharp))
    figure = plots.rates(rows)
    marks = [line for axis in figure.axes for line in axis.get_lines() if line.get_marker() == "D"]
    xs = [x for line in marks for x in np.asarray(line.get_xdata(), float)]
    drawn = sorted(x for x in xs if not math.isnan(x))
    assert drawn == pytest.approx([1e3 / 600, 1e3 / 300, 1e3 / 300])


def test_a_strategy_that_a_layout_lacks_is_no_gap_of_its_row() -> None:
    slab = CPP | {"layout": "slab", "configuration": "C++ slab"}
    none = {"ndr_ns": None, "pdr_ns": None, "strategy": "alloc"}
    rows = cells(search(**slab), search(**slab, **none, status="unavailable", reason="layout slab has pool alone"),
                 search(**JAVA), search(**none, status="out_of_memory", reason="Java heap space"))  # fmt: skip
    assert sorted(rows["gap_word"].dropna()) == ["out of memory", "unavailable"]


def test_sweeps_are_lines_where_there_are_points_enough_and_a_table_otherwise() -> None:
    few = [sweep(5e4), sweep(10.0, 1000.0), sweep(3e4, factor=5.0)]
    table = realtime_report.sweep_table(pd.DataFrame(few))
    assert table["queue, times"].tolist() == ["1", "1", "10"] and table["heap, times"].tolist() == ["1", "5", "1"]
    enough = [*few, sweep(100.0, 500.0), sweep(2e4, factor=2.0)]
    queue, heap = plots.sweeps(pd.DataFrame(enough)).axes
    assert sorted(np.asarray(queue.get_lines()[0].get_xdata())) == [1.0, 5.0, 10.0]
    assert sorted(np.asarray(heap.get_lines()[0].get_xdata())) == [1.0, 2.0, 5.0]


def test_what_the_articles_sizes_lose_is_told_beside_what_it_published(monkeypatch: pytest.MonkeyPatch) -> None:
    left: dict[str, pd.DataFrame] = {}
    monkeypatch.setattr(hosts, "tables_of_hosts", lambda _study, profile: left if profile == "article" else {})
    assert realtime_report.lost_at_published_sizes("article", "here") == ""
    zgc: dict[str, Any] = {"configuration": "heap / ZGC / 11", "collector": "zgc"}
    rows = [
        sweep(lost, strategy=strategy, block=block, **facts)
        for block in (0, 1)
        for facts in (dict[str, Any](), zgc, {**CPP, "heap_factor": None})
        for strategy, lost in (("alloc", 6e5 + 2e4 * block), ("pool", 5e4))
    ]
    others = [sweep(1e6, factor=5.0), sweep(1e6, 10.0), sweep(1e6, interval_ns=500.0), sweep(1e6, scale=0.1)]
    left["trials"] = pd.DataFrame([*rows, *others]).assign(host_id="there")
    told = realtime_report.lost_at_published_sizes("article", "here")
    _lead, blank, *table = told.splitlines()
    assert not blank, "a table begins after a blank line"
    assert table == [
        "| case | configuration | allocating | with a pool |",
        "|---|---|---|---|",
        "| C | C++ flat | 61% (60 to 62; published: 0%) | 5.0% (published: 0%) |",
        "| C | heap / Parallel / 11 | 61% (60 to 62; published: 75%) | 5.0% (published: 9%) |",
        "| C | heap / ZGC / 11 | 61% (60 to 62; published: 44%) | 5.0% (published: 0%) |",
    ]
    fewer = pd.DataFrame([sweep(1e6, strategy=strategy) for strategy in ("alloc", "pool")]).assign(host_id="another")
    left["trials"] = pd.concat([fewer, left["trials"]], ignore_index=True)
    assert realtime_report.lost_at_published_sizes("article", "here") == told, "of the other host that has most trials"
    left["trials"] = left["trials"][left["trials"]["strategy"] == "alloc"]
    assert realtime_report.lost_at_published_sizes("article", "there") == "", "one side says nothing of the other"


@pytest.mark.parametrize("decades", range(1, 10))
@pytest.mark.parametrize("panels", [1, 4, 8])
def test_a_logarithmic_axis_of_any_panel_has_figures(decades: int, panels: int) -> None:
    figure, axes = new_figure(panels, 1, 4.6, 0.8 + 2.0 * panels, sharey=True)
    for axis in axes:
        log_axis(axis, 0.3, 0.3 * 10**decades, "y", 1.6)
    figure.canvas.draw()
    low, high = axes[0].get_ylim()
    told = [label.get_text() for label in axes[0].get_yticklabels() if low <= label.get_position()[1] <= high]
    assert 3 <= len(told) <= 9 and all(told)


def test_searches_of_another_host_stand_beside_these_cell_by_cell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also those that only one of the hosts has; those of another scale are another experiment."""

    def of_host(host: str, *made: dict[str, Any]) -> pd.DataFrame:
        return pd.DataFrame(list(made)).assign(host_id=host, started_utc="2026-11-01T10:00:00+00:00")

    def at(ns: float, **changes: Any) -> dict[str, Any]:
        return search(pdr_ns=ns, pdr_fails_ns=ns * 0.99, ndr_ns=ns, ndr_fails_ns=ns * 0.99, **changes)

    ours = of_host("here", *(
        at(ns, strategy=strategy, case=case, block=block)
        for block in range(3)
        for strategy, case, ns in (("alloc", "A", 200), ("pool", "A", 100), ("alloc", "B", 200), ("pool", "B", 100))
    ))  # fmt: skip
    theirs = of_host(
        "there", at(400, strategy="alloc", case="A"), at(200, strategy="pool", case="A"),
        at(100, strategy="alloc", case="B"), at(400, strategy="pool", case="B"),
        {**at(50, strategy="alloc", case="C"), **CPP}, at(7, strategy="mix", case="C", scale=1.0),
    ).assign(queue_factor=10.0, pool_order="fresh",
    configuration=lambda rows: rows["configuration"] + " / fresh")  # fmt: skip
    found = [hosts.OfHost("here", "this one", tmp_path), hosts.OfHost("there", "a Xeon (0123)", tmp_path / "there")]
    monkeypatch.setattr(hosts, "of_hosts", lambda _study, _profile: iter(found))
    monkeypatch.setattr(hosts, "read_folder", lambda *_which: ({"searches": theirs}, {}))
    table, told = realtime_report.elsewhere("standard", ours, realtime_cells.realtime_cells(ours))
    assert list(table["configuration"]) == ["heap / Parallel / 11"] * 4 + ["C++ flat"]
    _first, last = table.iloc[0], table.iloc[-1]
    assert pd.isna(last["here"])
    elsewhere = theirs[theirs["scale"] == 1.0]
    monkeypatch.setattr(hosts, "read_folder", lambda *_which: ({"searches": elsewhere}, {}))
    table, told = realtime_report.elsewhere("standard", ours, realtime_cells.realtime_cells(ours))
    assert table.empty
    found.pop()
    table, told = realtime_report.elsewhere("standard", ours, realtime_cells.realtime_cells(ours))
    assert table.empty and told == by_host.ONE_HOST


def test_a_section_that_a_campaign_lacks_is_of_the_newest_other_host_that_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whole and by name; one whose settings are not of today is left out, and so is what this host left elsewhere."""
    taken = campaign.open_study("realtime", "standard").profile
    assert isinstance(taken, RealtimeProfile)
    scales = [at_scale(scale, 1.0, 1e4) for scale in (0.1, 0.2)]
    swept = [sweep(9.0, 10.0 * queue, scale=0.1, queue_factor=queue, trial_id=f"{queue}") for queue in (1.0, 3.0, 10.0)]

    def left(host: str, day: int, trials: list[dict[str, Any]], **settings: Any) -> None:
        told = taken.model_dump(mode="json") | settings
        tables = {"searches": pd.DataFrame([search()]).iloc[:0], "trials": pd.DataFrame(trials)}
        stored[tmp_path / host] = tables, {"profile": told, "last_trial_utc": f"2026-11-0{day}T10:00:00+00:00"}

    stored: dict[Path, tuple[dict[str, pd.DataFrame], dict[str, Any]]] = {}
    left("here", 9, scales)
    left("older", 1, scales)
    left("newer", 2, scales, scale=0.2)
    left("newest", 3, swept)
    left("of other settings", 4, scales, no_such_setting=1)
    found = [hosts.OfHost(folder.name, f"a Xeon ({folder.name})", folder) for folder in stored]
    monkeypatch.setattr(hosts, "of_hosts", lambda _study, _profile: iter(found))
    monkeypatch.setattr(hosts, "read_folder", lambda _study, folder, _remake: stored[folder])
    nothing = {"searches": pd.DataFrame([search()]).iloc[:0], "trials": pd.DataFrame([sweep(0.0)])}
    here = sections.Section({name: table.assign(host_id="here") for name, table in nothing.items()}, taken)

    at_scales = sections.with_any("standard", here, sections.similar)
    assert set(at_scales.tables["trials"]["host_id"]) == {"newer"} and len(sections.similar(at_scales)) == 2
    varied = sections.with_any("standard", here, sections.curves)
    assert sorted(sections.curves(varied)["factor"]) == [1.0, 3.0, 10.0]
    assert len(plots.sweeps(sections.sweeps(varied)).axes) == 1
    assert sections.with_any("standard", here, sections.searches) is here, "nobody has searched"
    own = sections.Section({**here.tables, "trials": pd.DataFrame(scales)}, taken)
    assert sections.with_any("standard", own, sections.similar) is own and own.led("Losses.") == "Losses."
