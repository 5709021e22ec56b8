"""Many threads: one checksum whatever the topology, strategy, number of threads and language; what makes no sense is
refused in one line; a plan knows the machine's processors."""

from __future__ import annotations

import copy
import itertools
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from shared_jvm import records_of

from allocpool.campaign import single
from allocpool.campaign.study import Machine
from allocpool.campaign.tidy import frame
from allocpool.compile import native_library
from allocpool.errors import UserError
from allocpool.evidence.claims import NOT_TESTED, OPEN, REFUTED, REPRODUCED
from allocpool.packets.comparisons import IN_CPP, NOW, THEN
from allocpool.studies.threads import claims, tables
from allocpool.studies.threads.specs import SharingSpec, ThreadsSpec
from allocpool.studies.threads.strategies import LAYOUTS, TOPOLOGIES, offered
from allocpool.studies.threads.study import STUDY, ThreadsProfile, place_trial
from allocpool.studies.threads.tables import COUNTS, TRIALS
from allocpool.trial.child import native
from allocpool.trial.record import TrialRecord

PACKETS, SEED = 12_000, 7
SIZES: dict[str, Any] = {
    "packets": PACKETS, "seed": SEED, "queue_size": 600, "stored_count": 300, "case": "A", "scale": 0.05,
}  # fmt: skip
COLLECTORS = ((25, "g1"), (11, "cms"))
"""The newest runtime runs everything, the oldest what does not need newer ones."""
HEAP_MB = 256
Row = tuple[int, str, str, int, str, str]
"""Runtime (0: C++), collector, topology, threads, layout, strategy."""


def _threads_of(place: int) -> int:
    return (1, 2, 3)[place % 3]


def java_rows(runtime: int, collector: str) -> list[Row]:
    """Every topology, layout and strategy that go together; the number of threads goes round."""
    triples = [
        (topology, layout, strategy)
        for topology in TOPOLOGIES
        if topology != "virtual" or runtime >= 21
        for layout in LAYOUTS["java"]
        for strategy in offered("java", topology, layout)
        if runtime == 25 or layout == "heap"
    ]
    return [
        (runtime, collector, topology, _threads_of(place), layout, strategy)
        for place, (topology, layout, strategy) in enumerate(triples)
    ]


JAVA = [row for pair in COLLECTORS for row in java_rows(*pair)]
CPP: list[Row] = [
    (0, "", topology, 2, layout, strategy)
    for topology, layout, strategy in (
        ("sharded", "heap", "alloc"), ("pipeline", "flat", "owner"), ("pipeline", "heap", "alloc"),
    )
]  # fmt: skip
"""One process each: the tests of C++ itself go through all of them."""


def spec_of(row: Row) -> ThreadsSpec:
    runtime, collector, topology, threads, layout, strategy = row
    java = {"runtime": runtime, "collector": collector, "heap_mb": HEAP_MB, "language": "java"}
    return ThreadsSpec(
        topology=topology, threads=threads, layout=layout, strategy=strategy, **SIZES,
        **(java if runtime else {"language": "cpp"}),
    )  # fmt: skip


@cache
def records(runtime: int, collector: str) -> dict[Row, TrialRecord]:
    """Every row of a runtime, run in one JVM."""
    rows = [row for row in JAVA if row[:2] == (runtime, collector)]
    return dict(zip(rows, records_of([spec_of(row) for row in rows], HEAP_MB), strict=True))


@cache
def known() -> str:
    """The checksum of allocating on one thread."""
    summary = single.summary_of(records(25, "g1")[25, "g1", "sharded", 1, "heap", "alloc"])
    return str(summary["checksum"])


def assert_same_work(row: Row, summary: dict[str, Any]) -> None:
    counts = summary["counts"]
    assert summary["checksum"] == known()
    assert counts["generated"] == counts["parsed"] == PACKETS
    assert counts["generated"] == counts["received"] + counts["lost"] + counts["left"]
    assert counts["allocated"] == counts["freed"] + counts["live"]
    assert sum(summary["received_by_ring"]) == PACKETS
    assert len(summary["received_by_ring"]) == row[3]
    if row[2] == "sharded":
        assert counts["remote_frees"] == 0
    elif row[2] == "pipeline" and row[5] != "copy_on_keep":
        assert counts["remote_frees"] == counts["freed"]


@pytest.mark.parametrize("row", JAVA, ids=lambda row: "-".join(map(str, row)))
def test_java_does_the_same_work(row: Row) -> None:
    record = records(*row[:2])[row]
    assert (record.status, record.reason) == ("ok", None)
    assert_same_work(row, single.summary_of(record))


@pytest.mark.parametrize("row", CPP, ids=lambda row: "-".join(map(str, row)))
def test_cpp_does_the_same_work(data: Path, row: Row) -> None:
    record = single.run_single(spec_of(row))
    assert (record.status, record.reason) == ("ok", None), record.log_tail
    assert_same_work(row, single.summary_of(record))


PACED = {"interval_ns": 1000, "seconds": 1, "packets": None}
SIMULATED = {"mode": "threads_sharing", "packets": None}
EXAMPLE = {
    "mode": "threads", "topology": "sharded", "threads": 2, "strategy": "alloc", "packets": 1000, "case": "B",
    "scale": 0.1,
}  # fmt: skip


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ({"strategy": "hoard"}, "copy_on_keep"),
        ({"layout": "slab"}, "heap"),
        ({"topology": "virtual", "runtime": 17}, "choose runtime 21 or newer, or topology sharded or pipeline"),
        ({"topology": "virtual", "language": "cpp"}, "topology virtual is of Java"),
        ({"topology": "virtual", "strategy": "owner"}, "is of threads that stay, which own or cache messages"),
        ({"language": "cpp", "layout": "native"}, "choose one of heap, flat"),
        ({"layout": "flat"}, "makes no sense"),
        ({"strategy": "netty_pooled"}, "makes no sense"),
        ({"threads": 200, "queue_size": 100}, "more than queue_size 100"),
        ({"strategy": "locked", "pool_size": 10}, "what is out at once needs"),
        ({"interval_ns": 1000}, "real time lasts seconds=S"),
        ({"input_queue_ms": 5}, "give interval_ns, too"),
        ({**PACED, "topology": "virtual"}, "choose topology sharded or pipeline"),
        ({**PACED, "input_queue_ms": 2000}, "longer than its trial of 1 s"),
        ({**PACED, "interval_ns": 1e8, "input_queue_ms": 1}, "a queue of 0 ticks"),
        ({**PACED, "interval_ns": 1e6, "input_queue_ms": 1}, "less than one tick for each of 2 rings"),
        ({**PACED, "interval_ns": 2e9}, "1000000000"),
        ({**PACED, "interval_ns": 1e9, "seconds": 0.5}, "shorter than one interval"),
        ({"padded": False}, "padded=false is of strategy mpmc or owner, not alloc"),
        ({**PACED, "counted": True}, "counted=true is of batch"),
        ({**SIMULATED, "seconds": 1}, "give packets=N or seconds=S, one of them"),
        ({**SIMULATED, "counted": True}, "a simulated cache has no time"),
        ({**SIMULATED, "threads": 16}, "threads before a simulated cache are 1 to 15, not 16"),
        ({**SIMULATED, "packets": 100}, "packets 100 are no more than the"),
        ({**SIMULATED, "language": "java"}, "language"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused_in_one_line(settings: dict[str, Any], line: str) -> None:
    words = {name: value for name, value in {**EXAMPLE, **settings}.items() if value is not None}
    with pytest.raises(UserError) as refused:
        single.parse_spec([f"{name}={value}" for name, value in words.items()])
    assert line in str(refused.value)
    assert "\n" not in str(refused.value)


def profile(**settings: Any) -> ThreadsProfile:
    group = {
        "topologies": ["sharded", "pipeline", "virtual"], "threads": [1, 2, 4], "java": ["heap/g1/25", "heap/g1/17"],
        "cpp": ["flat/glibc"], "strategies": ["alloc", "owner", "jctools"],
    }  # fmt: skip
    return ThreadsProfile(
        profile="test", blocks=1, scale=0.1, seconds=1, warmup_seconds=0.1, groups={"all": {**group, **settings}}
    )


def test_a_plan_says_which_threads_are_more_than_processors() -> None:
    planned = STUDY.plan(profile(), Machine(cores=2))
    assert all(isinstance(item.spec, ThreadsSpec) for item in planned)
    for item in planned:
        assert isinstance(item.spec, ThreadsSpec)
        assert (item.unavailable is None) == (item.spec.processors <= 2)
    assert not [item for item in STUDY.plan(profile(crowded=True), Machine(cores=2)) if item.unavailable]
    assert not [item for item in STUDY.plan(profile(), Machine(cores=64)) if item.unavailable]
    # Virtual threads are of newer Java alone, and owners of threads that stay.
    virtual = [item.spec for item in planned if isinstance(item.spec, ThreadsSpec) and item.spec.topology == "virtual"]
    assert {(spec.runtime, spec.strategy) for spec in virtual} == {(25, "alloc"), (25, "jctools")}


CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "heap / G1 / 25": {"language": "java", "layout": "heap", "collector": "g1", "runtime": 25},
    "heap / generational ZGC / 25": {"language": "java", "layout": "heap", "collector": "genzgc", "runtime": 25},
    "C++ heap": {"language": "cpp", "layout": "heap", "allocator": "glibc"},
    "C++ heap / mimalloc": {"language": "cpp", "layout": "heap", "allocator": "mimalloc"},
}
CENTRES_NS = {"alloc": 100.0, "locked": 300.0, "stack": 250.0, "cached": 150.0, "owner": 90.0,
              "copy_on_keep": 80.0, "thread_local": 200.0}  # fmt: skip


def made_up(centres_ns: dict[str, float], blocks: int, threads_in: tuple[int, ...] = (2,)) -> pd.DataFrame:
    """A finished campaign around these costs; glibc pays half as much again for remote frees."""
    rng = np.random.default_rng(1)
    rows: list[dict[str, Any]] = []
    for block, (configuration, stated), topology, threads, strategy in itertools.product(
        range(blocks), CONFIGURATIONS.items(), TOPOLOGIES, threads_in, centres_ns
    ):
        if stated["language"] == "cpp" and topology == "virtual":
            continue
        dearer = 1.5 if (configuration, topology, strategy) == ("C++ heap", "pipeline", "alloc") else 1.0
        cost_ns = centres_ns[strategy] * dearer * float(np.exp(0.02 * rng.standard_normal()))
        rows.append({
            "trial_id": str(len(rows)), "mode": "threads", "block": block, "status": "ok", "wall_s": 1.0, "cpu_s": 1.0,
            "load_before": 0.0, "started_utc": f"{block:03}", "code_hash": "", "host_id": "", "attempt": 1, **stated,
            "configuration": configuration, "topology": topology, "threads": threads, "strategy": strategy, "case": "B",
            "scale": 0.1, "queue_size": 1000, "stored_count": 1000, "pool_size": 0, "seed": "7",
            "cpu_ns_per_packet": cost_ns, "ns_per_packet": cost_ns / threads, "remote_share": 0.5, "imbalance": 1.01,
            "blow_up": 1.5, "gc_pause_max_ms": 1.0, "reaching_max_ms": 0.1, "gc_cpu_share": 0.2,
            "source_yields": False, "padded": True, "counted": False, "other_cpu_share": 0.0,
            **dict.fromkeys(COUNTS, 1),
        })  # fmt: skip
    return frame(rows, TRIALS)


def outcomes(trials: pd.DataFrame) -> dict[tuple[str, str], str]:
    return {(verdict.claim.id, verdict.set_up): verdict.outcome for verdict in claims.evaluate(trials)}


def outcomes_on(found: dict[tuple[str, str], str], *set_ups: str) -> set[str]:
    return {outcome for (_, set_up), outcome in found.items() if set_up in set_ups}


def test_claims_follow_the_trials() -> None:
    trials = made_up(CENTRES_NS, 5)
    of_today = outcomes(trials)
    assert outcomes_on(of_today, NOW, IN_CPP) == {REPRODUCED}
    assert outcomes_on(of_today, THEN) == {NOT_TESTED}, "no published collector was measured"
    of_then = outcomes(
        trials.assign(configuration=trials["configuration"].str.replace(" 25", " 11"), runtime=trials["runtime"] - 14)
    )
    assert (outcomes_on(of_then, THEN), outcomes_on(of_then, NOW)) == ({REPRODUCED}, {NOT_TESTED})
    turned = outcomes(
        made_up({**CENTRES_NS, "alloc": 1000.0, "owner": 1500.0, "cached": 400.0, "copy_on_keep": 5000.0}, 5)
    )
    assert {turned[name, up] for name, up in turned if name != "remote_glibc" and up != THEN} == {REFUTED}
    assert outcomes_on(outcomes(made_up(CENTRES_NS, 1)), NOW, IN_CPP) == {OPEN}, "one trial a side decides nothing"
    assert set(outcomes(trials.iloc[:0]).values()) == {NOT_TESTED}


def paced(language: str, topology: str) -> ThreadsSpec:
    """In real time at a low rate, with fewer processors than it takes."""
    java = {"runtime": 25, "collector": "g1", "heap_mb": HEAP_MB} if language == "java" else {}
    return ThreadsSpec(
        topology=topology, threads=2, language=language, strategy="owner", seconds=0.2, warmup_seconds=0.05, case="A",
        scale=0.05, queue_size=600, stored_count=300, interval_ns=20_000, source_yields=True, **java,
    )  # fmt: skip


@cache
def ticked(language: str) -> dict[str, TrialRecord]:
    specs = [paced(language, topology) for topology in ("sharded", "pipeline")]
    found = records_of(specs, HEAP_MB) if language == "java" else [single.run_single(spec) for spec in specs]
    return dict(zip(("sharded", "pipeline"), found, strict=True))


@pytest.mark.parametrize("topology", ["sharded", "pipeline"])
@pytest.mark.parametrize("language", ["java", "cpp"])
def test_real_time_accounts_for_every_ring_and_for_all(data: Path, language: str, topology: str) -> None:
    record = ticked(language)[topology]
    assert (record.status, record.reason) == ("ok", None), record.log_tail
    summary = single.summary_of(record)
    counts, rings = summary["counts"], summary["rings"]
    assert len(rings) == (2 if topology == "sharded" else 1)
    assert all(ring["generated"] == ring["received"] + ring["lost"] + ring["left"] for ring in rings)
    assert sum(ring["generated"] for ring in rings) == 10_000, "a tick every 20 us for 0.2 s"
    assert counts["generated"] == counts["received"] + counts["lost"] + counts["left"]
    assert counts["parsed"] == counts["received"] == sum(summary["received_by_ring"])
    assert counts["allocated"] == counts["freed"] + counts["live"]
    lost = sum(ring["lost"] for ring in rings)
    assert (summary["loss_ratio"], summary["packets"]) == (lost / 10_000, 10_000 - lost)
    assert summary["cpu_ns_per_packet"] is None, "who waits for ticks has no cost"


def test_adaptive_trials_go_to_where_losses_begin_and_batch_stays_as_planned(data: Path) -> None:
    asked = profile(adaptive=True, topologies=["sharded"], threads=[2], java=[], strategies=["alloc", "owner"])
    (question,) = STUDY.questions(asked, Machine(cores=8))
    cell, record = question.a, ticked("cpp")["sharded"]
    assert isinstance(cell, ThreadsSpec) and cell.interval_ns is not None
    assert [item.spec for item in STUDY.plan(asked, Machine(cores=8))] == [question.a, question.b]
    measured: Any = copy.deepcopy(record.measurement)
    for lost in (0, 500):
        measured["ticked"]["figures"] |= {"lost": lost, "generated": 1000, "slip_max_ns": 0}
        earlier = record.model_copy(update={"spec": cell.model_dump(), "measurement": measured})
        placed = place_trial(asked, cell, 1, [earlier])
        assert isinstance(placed, ThreadsSpec) and placed.interval_ns is not None and placed.block == 1
        assert (placed.interval_ns > cell.interval_ns) == bool(lost)
    assert place_trial(asked, cell, 2, [record.model_copy(update={"status": "crashed"})] * 2) is None
    batch = cell.model_copy(update={"interval_ns": None, "input_queue_ms": None})
    assert [place_trial(asked, batch, block, ()) is None for block in (0, 1)] == [False, True]
    assert place_trial(asked.model_copy(update={"schedule": "sequential"}), batch, 1, ()) is not None


@pytest.mark.parametrize(("apart", "kind"), [(0, "true_sharing"), (8, "false_sharing"), (64, None), (128, None)])
def test_the_simulated_cache_knows_what_two_counters_share(apart: int, kind: str | None) -> None:
    """Of one counter every miss but the first ones brings a value; of two in a line none does; apart there is none."""
    built = native_library("sharing")
    ffi, library = native.load({"native": {"header": str(built.header), "library": str(built.library)}})
    rounds, misses, error = 1000, ffi.new("ap_sharing_misses*"), ffi.new("char[]", native.MESSAGE_BYTES)
    assert library.ap_sharing_counters(apart, rounds, misses, error, native.MESSAGE_BYTES) == 0, ffi.string(error)
    found = {name: getattr(misses, name) for name in ("true_sharing", "false_sharing")}
    expected = 2 * (rounds - 1)
    assert found == {name: expected if name == kind else 0 for name in found}
    assert library.ap_sharing_counters(12, rounds, misses, error, native.MESSAGE_BYTES) < 0


def simulated(strategy: str, padded: bool = True, topology: str = "pipeline") -> SharingSpec:
    return SharingSpec(topology=topology, threads=2, strategy=strategy, padded=padded, packets=PACKETS, seed=SEED)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    """Trials before the simulated cache."""
    specs = [simulated("mpmc"), simulated("mpmc", padded=False), simulated("alloc", topology="sharded")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ALLOCPOOL_DATA", str(tmp_path_factory.mktemp("sharing")))
        records_here = [single.run_single(spec) for spec in specs]
    assert [(record.status, record.reason) for record in records_here] == [("ok", None)] * len(specs)
    return tables.tidy_threads(records_here)["sharing"]


def test_a_trial_before_the_simulated_cache_does_the_same_work_and_finds_what_is_shared(shared: pd.DataFrame) -> None:
    assert set(shared["checksum"]) == {known()}
    padded, close, alone = (row for _, row in shared.iterrows())
    assert padded["ring_true_sharing_per_packet"] > 0.1, "a pipeline hands messages on"
    assert close["pool_false_sharing_per_packet"] > 1.2 * padded["pool_false_sharing_per_packet"]
    assert alone["coherence_misses_per_packet"] < 0.05, "who shares nothing loses nothing"
    for _, row in shared.iterrows():
        parts = row["true_sharing_per_packet"] + row["false_sharing_per_packet"]
        assert row["coherence_misses_per_packet"] == pytest.approx(parts)
