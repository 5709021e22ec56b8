"""Stream trials: exact windows on the real engine, settings refused in one line, no member left behind."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import psutil
import pytest

from allocpool import home
from allocpool.campaign import campaign, single, store
from allocpool.campaign.schedule import GIVEN_UP_AFTER
from allocpool.campaign.study import Machine
from allocpool.errors import UserError
from allocpool.evidence import claims as evidence
from allocpool.evidence.claims import published_says
from allocpool.percentiles import samples_needed
from allocpool.runtimes.threads import APPLICATION, group_of
from allocpool.studies.stream import claims
from allocpool.studies.stream.child import stream as child
from allocpool.studies.stream.specs import EngineSpec, StreamSpec, StreamSwitchSpec
from allocpool.studies.stream.study import PLACED, StreamProfile, place_trial
from allocpool.studies.stream.study import STUDY as STREAM
from allocpool.studies.stream.tables import TRIALS, catch_up_ms, kept_up, tidy_stream
from allocpool.trial.record import TrialRecord

pytestmark = pytest.mark.usefixtures("first_compiler_only")
SHORT: dict[str, Any] = {
    "events_per_second": 5000, "keys": 100, "window_ms": 100, "slide_ms": 10, "seconds": 0.4, "warmup_seconds": 0.2,
    "heap_mb": 256, "patience_seconds": 20, "late_ms": 10_000,
}  # fmt: skip


def run(**settings: Any) -> tuple[TrialRecord, dict[str, Any]]:
    record = single.run_single(StreamSpec(**{**SHORT, **settings}))
    return record, single.summary_of(record)


@pytest.mark.parametrize(
    ("runtime", "collector", "aggregate", "processors"),
    [
        (17, "g1", "boxed", "cooperative"),
        (21, "genzgc", "garbage_free", "native"),
        (25, "parallel", "garbage_free", "cooperative"),
        (17, "shenandoah", "garbage_free", "platform"),
        (25, "g1", "boxed", "virtual"),
    ],
)
def test_every_window_comes_out_exact(
    runtime: int, collector: str, aggregate: str, processors: str, data: Path
) -> None:
    record, summary = run(runtime=runtime, collector=collector, aggregate=aggregate, processors=processors)
    assert (record.status, record.reason) == ("ok", None), record.log_tail
    assert summary["kept_up"]
    assert summary["windows"] == 40
    # 20 windows at the start are not full, but each has all of the keys from the second on.
    assert record.measurement is not None
    assert record.measurement["measured_results"] == 40 * 100
    assert record.measurement["events"] == 3000
    assert summary["items_per_second"] == 5000 + 10_000
    assert 0 <= summary["first_p50_ms"] <= summary["p50_ms"]
    assert summary["p99_99_ms"] is None
    assert summary["concurrent_gc_threads"] is not None
    (row,) = tidy_stream([record])["trials"].to_dict("records")
    assert row["trial_id"] == record.trial_id
    assert (row["first_p50_ms"], row["p50_ms"]) == (summary["first_p50_ms"], summary["p50_ms"])
    assert 0 < float(row["first_tail_ms"]) <= float(row["tail_ms"])
    assert pd.isna(row["asked_concurrent_gc_threads"]) and pd.isna(row["catch_up_ms"])


@pytest.mark.parametrize(
    ("late", "expected"),
    [([], 1.0), ([25, 15], 21.0), ([25, 35, 45], 31.0)],
)
def test_catching_up_ends_with_the_first_window_that_is_as_soon_out_as_before(late: list[int], expected: float) -> None:
    """A hiccup of 20 ms from window 4 on: window 5 ends with it."""
    latencies_ms = [1, 1, 2, 1, 21, *late, *([1] * (6 - len(late)))]
    assert catch_up_ms([ms * 10**6 for ms in latencies_ms], 10, 4, 20) == expected
    assert catch_up_ms([10**6] * 4 + [50 * 10**6] * 6, 10, 4, 20) is None
    assert catch_up_ms([10**6] * 4, 10, 0, 20) is None


def test_switches_are_timed_on_one_processor(data: Path) -> None:
    record = single.run_single(StreamSwitchSpec(runtime=25, heap_mb=256, parties=3, turns=2000))
    assert (record.status, record.reason) == ("ok", None), record.log_tail
    rows = tidy_stream([record])["switches"].set_index("way")
    assert list(rows.index) == ["empty", "tasklets", "virtual", "platform"]
    assert (rows["p10_ns"] <= rows["p50_ns"]).all() and (rows["p50_ns"] <= rows["p90_ns"]).all()
    medians = rows["p50_ns"].astype(float).to_dict()
    assert medians["platform"] > medians["empty"]
    assert StreamSwitchSpec(runtime=17).ways == ("tasklets", "platform")
    with pytest.raises(ValueError, match="runtime 17 has no virtual threads: choose runtime 21 or newer"):
        StreamSwitchSpec(runtime=17, ways=("virtual",))


def test_a_taken_port_is_one_line(data: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        record, _ = run(port=port)
    assert record.status == "failed"
    assert record.reason is not None
    assert "did not start" in record.reason and str(port) in record.reason
    assert "\n" not in record.reason


@pytest.mark.long
def test_the_member_listens_on_loopback_only_and_dies_with_the_trial(data: Path) -> None:
    settings = [f"{name}={value}" for name, value in {**SHORT, "mode": "stream", "seconds": 30}.items()]
    command = subprocess.Popen(
        [sys.executable, "-m", "allocpool.cli", "trial", *settings],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(home.home() / "src")},
    )  # fmt: skip
    try:
        member, listening = awaited_member(command.pid)
        assert {connection.laddr.ip for connection in listening} <= set(child._LOOPBACK)
        command.send_signal(signal.SIGKILL)
        command.wait()
        assert member.wait(timeout=300) is None or not member.is_running()
    finally:
        command.kill()
        command.wait()


def awaited_member(parent: int) -> tuple[psutil.Process, list[Any]]:
    for _ in range(1200):
        for process in psutil.Process(parent).children(recursive=True):
            try:
                found = [c for c in process.net_connections("inet") if c.status == psutil.CONN_LISTEN]
            except psutil.Error:
                continue
            if found:
                return process, found
        time.sleep(0.1)
    raise AssertionError("no member ever listened")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"runtime": 11}, "runtime 11 can't run Hazelcast 5.7: choose 17 or newer"),
        ({"window_ms": 105}, "window_ms 105 is no multiple of slide_ms 10: give 100"),
        ({"target_ms": 10, "seconds": 0.01}, "seconds 0.01 hold 1 window(s), too few for any percentile"),
        ({"collector": "genzgc", "new_size_mb": 64}, "choose one of serial, parallel, g1"),
        (
            {"processors": "virtual", "runtime": 17, "collector": "g1"},
            "choose runtime 21 or newer, or processors=platform",
        ),
        ({"sources": "single", "processors": "platform"}, "choose processors cooperative or native"),
        ({"hiccup_ms": 300}, "hiccup_ms 300 leaves no time to catch up: give at most 100"),
    ],
)
def test_wrong_settings_are_one_line(settings: dict[str, Any], words: str) -> None:
    given = [f"{name}={value}" for name, value in {**SHORT, "mode": "stream", **settings}.items()]
    with pytest.raises(UserError) as refused:
        single.parse_spec(given)
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)


def test_flags_reach_the_jvm_and_sources_that_are_held_lose_nothing(data: Path) -> None:
    record, summary = run(
        runtime=25, new_size_mb=32, concurrent_gc_threads=1, parallel_gc_threads=2, sources="single", hiccup_ms=100,
        seconds=1.0,
    )  # fmt: skip
    assert (record.status, record.reason) == ("ok", None), record.log_tail
    assert record.measurement is not None
    # The windows that end within the hiccup come out when it is over.
    held = record.measurement["latencies_ns"][50:59]
    assert all(latency_ns >= (90 - 10 * place) * 10**6 for place, latency_ns in enumerate(held))
    assert summary["kept_up"] and summary["catch_up_ms"] >= 0
    assert record.launch.jvm is not None
    assert "-XX:MaxNewSize=32m" in record.launch.jvm.flags
    assert "-XX:MaxGCPauseMillis=5" in record.launch.jvm.flags
    assert (summary["parallel_gc_threads"], summary["concurrent_gc_threads"]) == (2, 1)
    assert (summary["asked_parallel_gc_threads"], summary["asked_concurrent_gc_threads"]) == (2, 1)
    assert summary["young_per_s"] is not None


def test_virtual_threads_share_as_many_native_ones_as_asked(data: Path) -> None:
    # Long enough that a start which a busy machine delays leaves some of the window.
    record, summary = run(runtime=25, processors="virtual", cooperative_threads=1, seconds=2.0, warmup_seconds=1.0)
    assert record.launch.jvm is not None
    assert "-Djdk.virtualThreadScheduler.parallelism=1" in record.launch.jvm.flags
    assert "-Djdk.virtualThreadScheduler.maxPoolSize=1" in record.launch.jvm.flags
    assert record.measurement is not None
    # What the first thread took to start the JVM may be more than the work on a busy machine.
    works = {name: ns for name, ns in record.measurement["cpu"]["threads"] if name != "python"}
    busiest = max((name for name in works if group_of(name) == APPLICATION), key=works.__getitem__)
    assert busiest.startswith("ForkJoinPool")
    assert summary["cpu_application"] > 0


@pytest.mark.parametrize(
    ("lag_ns", "last_ms", "gave_up", "expected"),
    [(0, 1, False, True), (300_000_000, 1, False, False), (0, 900, False, False), (None, 1, True, False)],
)
def test_keeping_up(lag_ns: int | None, last_ms: int, gave_up: bool, expected: bool) -> None:
    latencies_ns = [1_000_000] * 90 + [last_ms * 10**6] * 10
    measured: Any = {
        "gave_up": gave_up, "source_lag_ns": lag_ns, "latencies_ns": latencies_ns, "firsts_ns": latencies_ns,
    }  # fmt: skip
    assert kept_up(measured, late_ms=200.0) is expected


def profile(**changes: Any) -> StreamProfile:
    group = {"configurations": ["g1/25"], "events_per_second_per_core": [1000], "left_to_collector": [0, 1, 3]}
    given = {"profile": "test", "blocks": 2, "groups": {"cores": group}, "seconds": 1, "warmup_seconds": 0, "cores": 4}
    return StreamProfile(**{**given, **changes})


def planned(asked: Any) -> list[StreamSpec]:
    return [item.spec for item in STREAM.plan(asked, Machine(cores=2)) if isinstance(item.spec, StreamSpec)]


def test_the_plan_scales_with_the_processors() -> None:
    specs = planned(profile())
    assert [(spec.block, spec.cooperative_threads) for spec in specs] == [(b, t) for b in (0, 1) for t in (4, 3, 1)]
    assert {spec.events_per_second for spec in specs} == {4000}
    few = planned(profile(cores=1, blocks=1))
    assert [spec.cooperative_threads for spec in few] == [1]


def test_a_group_without_a_rate_is_refused() -> None:
    with pytest.raises(UserError, match="give one of events_per_second_per_core and events_per_second"):
        campaign.open_study("stream", "smoke", {"groups": {"one": {"configurations": ["g1/25"]}}})


@pytest.mark.parametrize("name", ["smoke", "quick", "standard", "article"])
def test_profiles_plan_and_their_expected_length(name: str) -> None:
    opened = campaign.open_study("stream", name).profile
    specs = planned(opened)
    assert len(specs) == len(set(specs))
    assert any(spec.target_ms for spec in specs) == (name in ("standard", "article"))
    assert all(
        isinstance(item.spec, EngineSpec) and item.spec.expected_seconds() > 0
        for item in campaign.open_study("stream", name).plan()
    )
    published = [spec for spec in specs if spec.events_per_second == (10_000 if name == "smoke" else 1_000_000)]
    assert len({spec.keys for spec in published if not spec.hiccup_ms}) > 1
    if name == "article":
        assert all(spec.windows >= samples_needed(99.99) for spec in specs if not (spec.hiccup_ms or spec.target_ms))


def test_the_source_s_own_figures_go_through_the_same_tests() -> None:
    says = {claim.id: published_says(claim) for claim in claims.STREAM_CLAIMS}
    # ZGC at five million items a second took 5 ms on 16 threads and 9 on 13.
    assert {id for id, said in says.items() if str(said).startswith("borne out")} == {
        "g1-latency-40", "zgc-throughput-25", "g1-throughput-250", "g1-within-target", "g1-theory-is-best",
    }  # fmt: skip
    assert says[claims.ALLOCATION_COSTS] is None, "it is none of the source's"


@pytest.mark.parametrize(
    ("thread_ns", "outcome"), [(5_000, evidence.REPRODUCED), (50_000, evidence.REFUTED), (2_000, evidence.OPEN)]
)
def test_a_switch_is_judged_by_the_published_range(thread_ns: int, outcome: str) -> None:
    medians_ns = {"empty": 20, "tasklets": 100, "platform": thread_ns + 20}
    rows = [
        {"configuration": "G1 / 25", "collector": "g1", "runtime": 25, "status": "ok", "block": block, "way": way,
         "p50_ns": ns * (1 + 0.01 * (block - 2))}
        for block in range(5)
        for way, ns in medians_ns.items()
    ]  # fmt: skip
    tables = store.stored("stream", "nonesuch")[0] | {"switches": pd.DataFrame(rows)}
    found = {
        item.claim.id: item.outcome for item in claims.of_campaign(tables, {"target_ms": 10.0}) if "25" in item.set_up
    }
    assert found["thread-switch-2-to-10-us"] == outcome
    assert found["tasklets-switch-cheaper"] == evidence.REPRODUCED
    assert found["g1-within-target"] == evidence.NOT_TESTED


def shown_at(cell: StreamSpec, holds: bool) -> Any:
    """The record of an adaptive trial; of one that does not hold its rate the pipeline was given up."""
    latencies_ns = [10**6] * 40
    measured = {
        "gave_up": not holds, "source_lag_ns": 0 if holds else None, "latencies_ns": latencies_ns,
        "firsts_ns": latencies_ns, "histogram": "", "events": 1, "results": 1, "measured_results": 1,
        "allocated_bytes": 0, "start_ns": 0, "end_ns": 1, "peak_rss_mb": 1.0,
        "cpu": {"start_ns": 0, "end_ns": 1, "process_ns": 1, "threads": []},
        "vm_options": {"ParallelGCThreads": 1, "ConcGCThreads": 1},
    }  # fmt: skip
    return SimpleNamespace(spec=cell.model_dump(), measurement=measured, status="ok")


def test_adaptive_trials_close_in_on_the_highest_rate_that_holds_the_target() -> None:
    group = {"configurations": ["g1/25"], "adaptive": True, "left_to_collector": [0, 1], "seconds": 0.4}
    opened = profile(groups={"highest": group})
    cell, other = planned(opened)
    assert (cell.block, cell.cooperative_threads, other.cooperative_threads) == (0, 4, 3)
    (question,) = STREAM.questions(opened, Machine(cores=2))
    assert (question.cells, question.fewest) == ((other, cell), PLACED)
    earlier: list[Any] = []
    for block in range(PLACED):
        placed = place_trial(opened, cell, block, earlier)
        assert isinstance(placed, StreamSpec) and placed.block == block
        rate = placed.events_per_second
        earlier.append(shown_at(placed, rate <= 300_000))
    assert 200_000 < rate < 450_000
    assert {STREAM.cost(record).lost_more_than(0.0) for record in earlier} == {True, False}
    failed: list[Any] = [SimpleNamespace(spec=cell.model_dump(), measurement=None, status="failed")] * GIVEN_UP_AFTER
    assert place_trial(opened, cell, PLACED, failed) is None


def rates(holds_up_to: int, threads: int) -> list[dict[str, Any]]:
    return [
        {"configuration": "G1 / 25", "cooperative_threads": threads, "block": place, "status": "ok", "mode": "stream",
         "events_per_second": rate, "offered_items_per_second": float(rate + 10_000), "target_ms": 10.0, "keys": 100,
         "kept_up": True, "tail": "p50", claims.FIRST: 5.0 if rate <= holds_up_to else 50.0, "aggregate": "boxed",
         "processors": "cooperative", "sources": "parallel", "hiccup_ms": 0, "heap_mb": 256, "window_ms": 100,
         "slide_ms": 10, "seconds": 0.4}
        for place, rate in enumerate([50_000, 100_000, 200_000, 400_000, 800_000] * 4)
    ]  # fmt: skip


def test_the_highest_throughput_lies_between_the_rates_that_hold_and_those_that_do_not() -> None:
    trials = pd.DataFrame(rates(100_000, 1) + rates(400_000, 2)).reindex(columns=list(TRIALS.columns))
    found = claims.highest(trials, 10.0).sort_values("cooperative_threads")
    assert (found["n"] == 20).all()
    one, two = found["throughput"]
    assert 110_000 < one < 210_000 < 410_000 < two < 810_000
    assert (found["low"] < found["throughput"]).all() and (found["throughput"] < found["high"]).all()
    few, many = found["every"]
    assert claims.compare_highest(many, few).p_above() < 0.05 < claims.compare_highest(few, many).p_above()
    assert claims.compare_highest(many, few, 16.0).p_above() > 0.05
    probes = claims.highest(trials.assign(mode="stream_search"), 10.0)
    assert probes["throughput"].notna().all() and probes["low"].isna().all()
