"""The allocation study: specs in one clear line, work that can't be skipped, the same work everywhere, its claims."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from allocpool.api import trial
from allocpool.campaign import campaign, single
from allocpool.campaign.study import Machine
from allocpool.errors import UserError
from allocpool.evidence import reference
from allocpool.evidence.claims import MIXED, NOT_TESTED, OPEN, REFUTED, REPRODUCED
from allocpool.studies.allocation import claims as allocation_claims
from allocpool.studies.allocation.child import buffers, fragmentation, jmh
from allocpool.studies.allocation.specs import GrowSpec
from allocpool.studies.allocation.study import AllocationProfile, plan_allocation
from allocpool.trial.launch import Launcher

SHORT = "seconds=0.05 warmup_seconds=0.02 iteration_ms=5"


def record(text: str) -> Any:
    return single.run_single(single.parse_spec(text.split()))


def summary(text: str) -> dict[str, Any]:
    spec = single.parse_spec(text.split())
    found = trial(spec)
    read_back: dict[str, Any] = json.loads(json.dumps(found))
    return read_back


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("mode=allocation bytes=8", "technique is missing: choose one of malloc"),
        ("mode=allocation technique=malloc bytes=8 touch=lick", "choose one of none, first, page, zero"),
        ("mode=allocation technique=malloc bytes=8 allocator=hoard", "choose one of glibc, glibc_keeping, jemalloc"),
        ("mode=allocation technique=arena_auto bytes=8 runtime=21", "foreign memory needs runtime=25, not 21"),
        ("mode=allocation technique=arena_auto bytes=8 strategy=pool", "choose technique arena_confined"),
        ("mode=access memory=c operation=read", "choose one of write, random_write, copy"),
        ("mode=fragmentation technique=arena_auto distribution=uniform runtime=21", "foreign memory needs runtime=25"),
        ("mode=grow technique=malloc bytes=8 strategy=pool", "choose one of alloc"),
        ("mode=grow technique=malloc bytes=8 young_mb=2", "young_mb belongs to Java with collector serial, parallel"),
        ("mode=jmh technique=malloc bytes=8", "mode jmh takes technique byte_array or heap_buffer or direct_buffer"),
    ],
)
def test_a_wrong_setting_is_refused_in_one_line_that_names_the_choices(text: str, names: str) -> None:
    with pytest.raises(UserError) as caught:
        single.parse_spec(text.split())
    assert names in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("allocator", ["glibc_huge_pages", "jemalloc_background", "mimalloc", "mimalloc3", "tcmalloc"])
def test_malloc_and_free_are_timed_apart_and_agree_with_the_allocators_counters(data: Path, allocator: str) -> None:
    text = f"mode=allocation technique=malloc allocator={allocator} bytes=1024 {SHORT}"
    if reason := Launcher().refusal(single.parse_spec(text.split())):
        assert "install" in reason or "not granted to" in reason
        return
    found = summary(text)
    assert found["status"] == "ok"
    assert found["ns_per_alloc"] > 0 and found["ns_per_free"] > 0 and found["peak_rss_mb"] > 0
    assert found["gc_pause_total_ms"] is None
    assert found["held_bytes"] >= found["slots"] * 1024
    assert found["counted_bytes"] >= 0.98 * found["slots"] * 1024


def test_a_java_trial_reports_its_pauses_and_the_bytes_that_the_jvm_counted(data: Path) -> None:
    found = summary(f"mode=allocation technique=byte_array bytes=10240 {SHORT}")
    assert found["ns_per_alloc"] > 0 and found["ns_per_free"] is None
    assert found["gc_pause_total_ms"] is not None and found["gc_pauses"] >= 0
    assert 10_240 + 12 <= found["heap_bytes_per_buffer"] <= 10_240 + 40


def test_memory_that_grows_takes_more_page_faults_than_memory_that_is_recycled(data: Path) -> None:
    grown = summary("mode=grow technique=malloc bytes=1024 scale=0.02")
    recycled = summary(f"mode=allocation technique=malloc allocator=glibc_keeping bytes=1024 {SHORT}")
    assert (grown["count"], grown["status"]) == (20_000, "ok") and grown["ns_per_free"] > 0
    assert grown["faults_per_alloc"] > 10 * recycled["faults_per_alloc"]
    java = summary("mode=grow technique=byte_array bytes=10240 scale=0.005")
    assert (java["count"], java["status"], java["live_mb"]) == (5000, "ok", pytest.approx(48.8, abs=0.1))
    assert java["gc_pauses"] >= 1 and java["ns_per_buffer"] >= java["ns_per_alloc"] + java["ns_per_free"] > 0


def test_growing_is_as_in_the_source_and_on_a_smaller_machine_has_fewer_buffers_of_the_same_size() -> None:
    source = reference.load("allocation_speed_setup").set_index("setting")["value"]
    jvm = GrowSpec(technique="byte_array", collector="cms", runtime=11, bytes=102_400).needs().jvm
    assert jvm is not None and jvm.heap_mb == source["heap_mb"] and not jvm.pre_touch
    assert f"-XX:NewSize={source['new_size_mb']:.0f}m" in jvm.flags
    profile: Any = campaign.open_study("allocation", "standard").profile
    for memory_mb, scale in ((2**20, 1.0), (8192, 0.13)):
        plan = plan_allocation(profile, Machine(2, memory_mb))
        planned = [item.spec for item in plan if isinstance(item.spec, GrowSpec)]
        counts = {1024: source["allocations"], 10_240: source["allocations"], 102_400: source["allocations_100kb"]}
        assert {(spec.bytes, spec.slots) for spec in planned} == {(size, scale * n) for size, n in counts.items()}
        assert max(spec.needs().most_mb for spec in planned) <= 0.55 * memory_mb


@pytest.mark.parametrize("technique", ["byte_array", "heap_buffer", "direct_buffer", "arena_confined"])
def test_an_allocation_that_was_deleted_contradicts_the_counters(technique: str) -> None:
    low, high = buffers.bytes_per_buffer(technique, "alloc", 1024)
    assert buffers.heap_fault(technique, "alloc", 1024, 1000, round(1000 * (low + high) / 2)) is None
    assert "skipped" in str(buffers.heap_fault(technique, "alloc", 1024, 1000, 0))
    assert "skipped" in str(buffers.heap_fault(technique, "alloc", 1024, 1000, round(500 * low)))
    assert buffers.heap_fault(technique, "alloc", 1024, 1000, round(2000 * high)) is not None


def test_access_ends_with_the_same_content_in_every_memory(data: Path) -> None:
    for operation in ("write", "random_write", "copy"):
        sums = {
            summary(f"mode=access memory={memory} operation={operation} bytes=5000 {SHORT}")["checksum"]
            for memory in ("c", "heap")
        }
        assert len(sums) == 1


def test_fragmentation_is_the_same_work_in_java_and_cpp_and_a_curve(data: Path) -> None:
    short = "distribution=phases live_mb=4 turnovers=3 windows=12 idle_seconds=0.05"
    techniques = ("malloc", "slab", "byte_array", "direct_buffer", "arena_confined")
    found = [summary(f"mode=fragmentation technique={t} {short}") for t in techniques]
    assert len({item["checksum"] for item in found}) == 1
    for item in found:
        assert 0 < item["empty_p50_ns"] <= item["empty_p99_ns"] and item["empty_p50_ns"] <= item["p50_ns"]
        assert item["resident_over_live_before"] > 0 and item["resident_over_live_after"] > 0
        assert [row["phase"] for row in item["windows"]][-1] == "rest"
        assert {row["operations"] for row in item["windows"] if row["phase"] == "rest"} == {0}
        assert item["p99_ns"] > 0
    assert found[2]["windows"][0]["heap_committed_bytes"] > 0
    assert found[3]["kept_over_live"] >= 1 and found[3]["direct_mb"] > 0


@pytest.mark.parametrize("distribution", ["uniform", "lognormal", "phases"])
def test_phases_are_whole_and_their_tables_can_be_drawn_from_with_ten_bits(distribution: str) -> None:
    phases = fragmentation.phases_of(distribution)
    assert sum(phase.work for phase in phases) == pytest.approx(1)
    for phase in phases:
        assert len(phase.sizes) == 1024
        assert min(phase.sizes) >= fragmentation.SMALLEST and max(phase.sizes) <= fragmentation.LARGEST


@pytest.mark.parametrize("profile", ["smoke", "quick", "standard", "article"])
def test_every_profile_is_a_plan_of_distinct_trials(profile: str) -> None:
    opened = campaign.open_study("allocation", profile)
    assert isinstance(opened.profile, AllocationProfile)
    planned = plan_allocation(opened.profile, Machine(cores=2))
    assert planned and len({item.spec for item in planned}) == len(planned)


def test_jmhs_own_json_is_read() -> None:
    result = {
        "jmhVersion": "1.37",
        "vmVersion": "25",
        "primaryMetric": {"score": 66.5, "scoreUnit": "ns/op", "rawData": [[66.0, 67.0]]},
        "secondaryMetrics": {"gc.alloc.rate.norm": {"score": 1040.0}},
    }
    assert jmh.read(result)["score_ns"] == 66.5
    assert jmh.read(result)["allocated_bytes"] == 1040.0
    with pytest.raises(ValueError, match="ops/s"):
        jmh.read({**result, "primaryMetric": {"scoreUnit": "ops/s"}})


def several_blocks(change: dict[str, float]) -> pd.DataFrame:
    """The published figures as five blocks with a little noise, some of them multiplied."""
    rows = allocation_claims.published_as_trials()
    for column in ("ns_per_alloc", "ns_per_free", "ns_per_pass"):
        for name, factor in change.items():
            where = (rows["technique"] == name) | (rows["memory"] == name)
            rows.loc[where, column] *= factor
    blocks = []
    rows = pd.concat([rows, churned({"direct_buffer": 1.3, "malloc": 1.2, "arena_confined": 1.1})])
    for block in range(5):
        part = rows.assign(block=block, gc_pauses=5.0)
        for column in ("ns_per_alloc", "ns_per_free", "ns_per_pass"):
            part[column] *= 1 + 0.005 * block
        for served_by, collector, runtime in (("CMS / 11", "cms", 11), ("G1 / 25", "g1", 25)):
            java = part[part["language"] == "java"]
            blocks.append(java.assign(served_by=served_by, collector=collector, runtime=runtime))
        blocks.append(part[part["language"] == "cpp"].assign(served_by="glibc", collector=None, runtime=None))
    return pd.concat(blocks, ignore_index=True)


def churned(growth: dict[str, float]) -> pd.DataFrame:
    """A trial of mixed sizes by technique, resident memory over live bytes growing so when the sizes shift."""
    return pd.DataFrame(
        {
            "mode": "fragmentation", "technique": technique, "distribution": "phases", "status": "ok",
            "language": "cpp" if technique == "malloc" else "java", "resident_over_live_before": 1.1,
            "resident_over_live_after": 1.1 * factor,
        }
        for technique, factor in growth.items()
    )  # fmt: skip


def verdicts(trials: pd.DataFrame) -> dict[tuple[str, str], str]:
    return {(found.claim.id, found.set_up): found.outcome for found in allocation_claims.evaluate(trials)}


def outcomes(trials: pd.DataFrame) -> dict[str, str]:
    """The outcome of each claim on its last set-up: today's, or C++."""
    return {name: outcome for (name, _), outcome in verdicts(trials).items()}


def test_the_published_figures_bear_out_their_own_claims() -> None:
    assert set(verdicts(several_blocks({})).values()) == {REPRODUCED}


def test_a_claim_is_put_to_the_collectors_of_its_set_up_only() -> None:
    trials = several_blocks({})
    now = (trials["collector"] == "g1") & (trials["technique"] == "byte_array")
    trials.loc[now, "ns_per_alloc"] *= 10.0
    found = verdicts(trials)
    assert found["small-java", allocation_claims.THEN] == REPRODUCED
    assert found["small-java", allocation_claims.NOW] == REFUTED


def test_the_sources_experiment_judges_its_claims_once_all_of_it_is_measured() -> None:
    grown = several_blocks({})
    both = pd.concat([grown, several_blocks({"byte_array": 10.0}).assign(mode="allocation")])
    assert outcomes(both)["small-java"] == REPRODUCED
    lacking = both[(both["mode"] != "grow") | (both["technique"] != "direct_buffer")]
    assert outcomes(lacking)["small-java"] == REFUTED


@pytest.mark.parametrize(
    ("claim", "left_out"),
    [
        ("direct-slower", {"technique": "direct_buffer", "bytes": 10_240}),
        ("direct-slower", {"technique": "byte_array", "bytes": 1024}),
        ("single-bytes", {"memory": "direct", "operation": "write"}),
        ("copies-alike", {"memory": "direct", "operation": "copy"}),
        ("fragmentation", {"technique": "arena_confined"}),
    ],
)
def test_what_a_claim_speaks_of_and_was_not_measured_keeps_it_open(claim: str, left_out: dict[str, object]) -> None:
    trials = several_blocks({})
    inside = pd.concat([trials[name] == value for name, value in left_out.items()], axis=1).all(axis=1)
    assert outcomes(trials)[claim] == REPRODUCED
    assert outcomes(trials[~inside])[claim] in (OPEN, NOT_TESTED)


@pytest.mark.parametrize(
    ("factors", "outcome"),
    [
        ((1.3, 1.2, 1.3, 1.25, 1.2), REPRODUCED),
        ((0.9, 1.5, 2.4, 0.7, 1.9), OPEN),
        ((3.3, 3.31, 3.32, 3.2, 3.4), REFUTED),
    ],
)
def test_alike_is_an_equality_shown_by_its_trials(factors: tuple[float, ...], outcome: str) -> None:
    trials = several_blocks({})
    for block, factor in enumerate(factors):
        trials.loc[(trials["memory"] == "direct") & (trials["block"] == block), "ns_per_pass"] *= factor
    assert outcomes(trials)["copies-alike"] == outcome
    assert outcomes(trials[trials["block"] < 4])["copies-alike"] == OPEN


def test_each_claim_can_fail() -> None:
    slow_heap = outcomes(several_blocks({"byte_array": 10.0}))
    assert (slow_heap["small-java"], slow_heap["direct-slower"]) == (REFUTED, MIXED)
    assert outcomes(several_blocks({"c": 3.0}))["single-bytes"] == MIXED
    assert outcomes(several_blocks({"heap": 3.0}))["single-bytes"] == MIXED
    slow_copies = outcomes(several_blocks({"direct": 3.0}))
    assert (slow_copies["copies-alike"], slow_copies["direct-bottleneck"]) == (REFUTED, MIXED)
    flat = several_blocks({})
    flat.loc[flat["technique"].isin(["byte_array", "direct_buffer"]), "ns_per_alloc"] = 1300.0
    flat["ns_per_alloc"] *= 1 + 0.005 * flat["block"]
    assert outcomes(flat)["heap-slows-down"] == REFUTED
    assert outcomes(flat)["costs-rise"] != REPRODUCED
    fallen = several_blocks({})
    fallen.loc[fallen["bytes"] == 102_400, "ns_per_alloc"] /= 1000
    assert outcomes(fallen)["costs-rise"] == MIXED
    flat_memory = several_blocks({})
    flat_memory["resident_over_live_after"] /= 2
    assert outcomes(flat_memory)["fragmentation"] == REFUTED
    turned = several_blocks({})
    turned["ns_per_free"] *= 100
    assert outcomes(turned)["free-cheaper"] == REFUTED
