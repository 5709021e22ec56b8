"""Real time: the same work as in batch, exact counters, and losses that arithmetic predicts."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from test_contract import SAME_IN_ALL, vectors

from allocpool.campaign import campaign, profiles, single
from allocpool.campaign.study import Machine
from allocpool.decisions import FEWEST
from allocpool.errors import UserError
from allocpool.packets.specs import CASES
from allocpool.packets.strategies import LAYOUTS
from allocpool.studies.realtime.child import placement, realtime
from allocpool.studies.realtime.child.consumers import CppConsumer
from allocpool.studies.realtime.child.placement import Watched, own_cores, siblings
from allocpool.studies.realtime.study import RealtimeProfile, plan_realtime
from allocpool.studies.realtime.tables import tidy_realtime
from allocpool.trial.child.gc_log import MAJOR, PAUSING, Collections
from allocpool.trial.launch import Launcher
from allocpool.trial.record import TrialRecord

pytestmark = pytest.mark.usefixtures("first_compiler_only")
SCALE = 0.01
KNOWN_CASES = ("A10k", "B", "C")
"""Those whose sizes have a known answer."""
SEED = "2024"
INTERVAL_NS = 100
POOLING = ("alloc", "mix", "pool")


def run(*settings: str) -> TrialRecord:
    """One trial as a user would run it; it must end well."""
    record = single.run_single(single.parse_spec(settings))
    assert record.status == "ok", f"{record.status}: {record.reason}\n{record.log_tail}"
    return record


def known_answer(case: str) -> dict[str, str]:
    """The vector whose sizes are those of the case at the scale of these tests."""
    size = next(str(round(count * SCALE)) for name, count in CASES.items() if name == case)
    fitting = [row for row in vectors() if (row["seed"], row["queue_size"], row["stored_count"]) == (SEED, size, size)]
    return max(fitting, key=lambda row: int(row["packets"]))


def realtime_settings(case: str) -> list[str]:
    """As many ticks as the vector has packets, into a queue that holds them all: whatever happens, none can be lost.
    So they come faster than a consumer takes them, and neither it nor the source spins."""
    length_ns = int(known_answer(case)["packets"]) * INTERVAL_NS
    return [
        "mode=realtime", f"case={case}", f"scale={SCALE}", f"seed={SEED}", f"interval_ns={INTERVAL_NS}",
        f"seconds={length_ns / 1e9}", f"input_queue_ms={length_ns / 1e6}", "fill_packets=0", "prologue_seconds=0",
        "warmup_seconds=0",
    ]  # fmt: skip


def assert_is_the_known_realtime_answer(case: str, summary: dict[str, Any]) -> None:
    """Counters, counts and checksum of a trial with `realtime_settings`."""
    vector = known_answer(case)
    ticks = int(vector["packets"])
    assert (summary["generated"], summary["received"], summary["lost"], summary["left"]) == (ticks, ticks, 0, 0)
    counts = summary["counts"]
    assert {name: counts[name] for name in SAME_IN_ALL} == {name: int(vector[name]) for name in SAME_IN_ALL}
    assert summary["checksum"] == vector["checksum_hex"]
    assert 0 < summary["delay_us"]["p50"] <= summary["delay_us"]["p99.99"] <= summary["delay_us"]["max"]


@pytest.mark.parametrize(
    ("layout", "strategy", "case"),
    [
        (layout, strategy, case)
        for layout in LAYOUTS["cpp"]
        for strategy, case in zip(POOLING, KNOWN_CASES, strict=True)
        if layout != "slab" or strategy == "pool"  # a slab has nothing left to allocate
    ],
)
def test_cpp_does_in_real_time_what_it_does_in_batch(data: Path, layout: str, strategy: str, case: str) -> None:
    record = run(*realtime_settings(case), f"layout={layout}", "language=cpp", f"strategy={strategy}")
    assert_is_the_known_realtime_answer(case, single.summary_of(record))


CONFIGURATIONS = {
    "cpp": ("layout=flat", "language=cpp"),
    "java": ("layout=heap", "runtime=25", "collector=parallel"),
}


@pytest.mark.parametrize("language", CONFIGURATIONS)
def test_the_counters_are_exact_however_much_is_lost(data: Path, language: str) -> None:
    record = run(
        "mode=realtime", *CONFIGURATIONS[language], "strategy=alloc", "scale=0.01", "interval_ns=4", "seconds=0.2",
        "warmup_seconds=0.05", "input_queue_ms=1", "prologue_seconds=0.1",
    )  # fmt: skip
    found = single.summary_of(record)
    assert found["lost"] > 0, "no processor takes a packet in 4 ns"
    assert found["generated"] == 50_000_000 == found["received"] + found["lost"] + found["left"]
    assert found["lost_ppm"] == pytest.approx(1e6 * found["lost"] / found["generated"])
    tables = tidy_realtime([record])
    bursts, samples = tables["bursts"], tables["samples"]
    assert len(bursts) == found["bursts"] > 0
    assert bursts["lost"].sum() == found["lost"]
    assert (bursts["start_ns"] <= bursts["end_ns"]).all()
    measurement = record.measurement
    assert measurement is not None
    assert samples["lost"].sum() == measurement["account"]["lost"]
    assert samples["generated"].sum() == measurement["account"]["generated"]
    assert sum(count for _, count in measurement["delays"]) == found["received"]
    start_ns = measurement["figures"]["start_ns"]
    measurement["slips"] = [[start_ns - 1, 1_000_000], [start_ns, 2_000_000]]
    measurement["figures"]["slips"], measurement["slips_left_out"] = 1, 3
    measurement["account"]["slip_total_ns"] = 9_000_000
    (row,) = tidy_realtime([record])["trials"].to_dict("records")
    assert (row["source_stalls"], row["source_stall_total_ms"]) == (4, 8.0), (
        "the counters have those that the log had no room for"
    )


@pytest.mark.parametrize("language", CONFIGURATIONS)
def test_a_consumer_stopped_on_purpose_loses_what_arithmetic_predicts(data: Path, language: str) -> None:
    record = run(
        "mode=realtime", *CONFIGURATIONS[language], "strategy=pool", "scale=0.01", "interval_ns=1000", "seconds=1.2",
        "warmup_seconds=0.3", "stall_at_s=0.4", "stall_ms=250", "input_queue_ms=100",
    )  # fmt: skip
    measurement = record.measurement
    assert measurement is not None
    stalled_ns = measurement["consumption"]["stalled_ns"]
    assert stalled_ns >= 250_000_000
    found = single.summary_of(record)
    # The tick that was due as the consumer stopped waited longest: for the stall, and for as long as the system then
    # kept the consumer from going on.
    away_ns = max(stalled_ns, found["delay_us"]["max"] * 1e3)
    stopped_ns = measurement["account"]["t0_ns"] + 700_000_000 - measurement["figures"]["start_ns"]
    bursts = tidy_realtime([record])["bursts"]
    during = bursts[(bursts["end_ns"] >= stopped_ns) & (bursts["start_ns"] <= stopped_ns + away_ns)]
    lost = during["lost"].sum()
    # No tick is skipped: what is due while the source itself does not run comes at once when it does again, late by up
    # to all of its slips.
    late = measurement["account"]["slip_total_ns"] / 1000
    shown = (stopped_ns, stalled_ns, away_ns, late, during[["start_ns", "end_ns", "lost"]].to_dict("split"))
    # However busy the machine, what the queue can't hold of the stop is lost, and no more than comes between the first
    # and the last of those losses.
    assert lost >= 0.99 * (stalled_ns - 100e6) / 1000 - late, shown
    if lost:  # a source that slept through the stop came back to a queue that has room
        assert lost <= (during["end_ns"].max() - during["start_ns"].min()) / 1000 + late + 1, shown
    # A consumer that was kept away at no other time lost no more than that.
    if len(bursts) == 1 and not measurement["placement"]["consumer_preempted"] and late < 5000:
        assert lost <= 1.01 * (away_ns - 100e6) / 1000 + 2 * late, shown


def test_a_trial_lasts_its_laps_or_says_that_it_did_not_and_tells_where_it_ran(data: Path) -> None:
    """With 5,000 and 4,999 packets in queue and store a lap is 10,000 packets: two of them are 20 ms."""
    sizes = ("scale=0.01", "queue_size=5000", "stored_count=4999")
    cpp = ("layout=flat", "language=cpp", "strategy=pool", "interval_ns=1000", "warmup_seconds=0.01", *sizes)
    asked = run("mode=realtime", *cpp, "seconds=0.002", "cap_seconds=1", "input_queue_ms=1", "prologue_seconds=0")
    capped = run("mode=realtime", *cpp, "seconds=0.002", "cap_seconds=0.01", "input_queue_ms=1", "prologue_seconds=0")
    first, second = tidy_realtime([asked, capped])["trials"].to_dict("records")
    assert first["generated"] == 20_000 and first["too_short"] == (first["received"] < 20_000)
    assert (second["generated"], second["too_short"]) == (10_000, True)
    assert first["source_processor"] >= 0 and first["consumer_processor"] >= 0
    assert first["pinned"] == (own_cores() is not None)
    assert first["shared_core"] == (first["source_processor"] in siblings(first["consumer_processor"]))


def test_a_consumer_is_tied_to_its_core_only_while_it_consumes() -> None:
    usable = os.sched_getaffinity(0)
    tied = max(usable)
    account: Any = {"processor": tied, "moves": 0, "pinned": 1}
    with Watched(tied, lambda: tied) as watched:
        assert os.sched_getaffinity(0) == {tied}
    assert os.sched_getaffinity(0) == usable
    seen = watched.placement(account)
    assert seen["pinned"] and seen["shared_core"] and not seen["consumer_moved"] and seen["consumer_preempted"] >= 0
    with Watched(None, lambda: -1) as free:
        assert os.sched_getaffinity(0) == usable
    assert free.placement(account)["pinned"] is False and free.placement(account)["shared_core"] is None


@pytest.mark.parametrize(
    ("usable", "threads_of_a_core", "cores"),
    [
        ({0, 1}, 1, None),
        ({0, 1, 2, 3}, 2, None),
        ({0, 1, 2}, 1, (2, 1)),
        (set(range(8)), 2, (6, 4)),
        ({5, 7, 9}, 1, (9, 7)),
    ],
)
def test_cores_are_given_away_only_where_one_is_to_spare(
    usable: set[int], threads_of_a_core: int, cores: tuple[int, int] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: usable)
    first = {one: one - one % threads_of_a_core for one in usable}
    monkeypatch.setattr(placement, "siblings", lambda one: frozenset(range(first[one], first[one] + threads_of_a_core)))
    assert own_cores() == cores


@pytest.mark.parametrize("language", CONFIGURATIONS)
def test_a_queue_in_between_has_counters_too_and_holds_what_a_stopped_consumer_cannot_take(
    data: Path, language: str
) -> None:
    """It holds the whole trial, so that only the input queue's own length may be too short for the thread between."""
    record = run(
        "mode=realtime", *CONFIGURATIONS[language], "strategy=pool", "scale=0.01", "interval_ns=2000", "seconds=0.6",
        "warmup_seconds=0.1", "stall_at_s=0.1", "stall_ms=300", "input_queue_ms=100", "intermediate_queue_ms=600",
    )  # fmt: skip
    found = single.summary_of(record)
    assert found["generated"] == 300_000 == found["received"] + found["lost"] + found["left"]
    assert found["intermediate_queue_ms"] == 600
    measurement = record.measurement
    assert measurement is not None
    assert measurement["consumption"]["stalled_ns"] >= 300_000_000
    without_ms = measurement["consumption"]["stalled_ns"] / 1e6 - 100
    assert found["lost"] < without_ms * 500, "what an input queue of 100 ms alone loses"


REALTIME = "mode=realtime layout=flat language=cpp strategy=pool scale=0.01"


@pytest.mark.parametrize(("more", "status"), [(0, "ok"), (1, "failed")])
def test_a_consumer_that_counts_a_tick_more_than_it_took_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: int, status: str
) -> None:
    """In this process, where it can be replaced."""
    honest = CppConsumer.consume

    def consume(*asked: Any) -> Any:
        seen, delays = honest(*asked)
        return {**seen, "received": seen["received"] + more}, delays

    monkeypatch.setattr(CppConsumer, "consume", consume)
    spec = single.parse_spec(f"{REALTIME} interval_ns=1000 seconds=0.02 input_queue_ms=20 min_laps=0".split())
    asked, launch = (each.model_dump(mode="json") for each in (spec, Launcher().launch_of(spec)))
    found: Any = realtime.run(asked, launch, tmp_path)
    ticks = found["figures"]
    assert ticks["generated"] == 20_000 == ticks["received"] + ticks["lost"] + ticks["left"] - more
    assert found["status"] == status and ("ring" in str(found["reason"])) == bool(more)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (f"{REALTIME} interval_ns=1000 seconds=1 input_queue_ms=0.0001", "a queue of 0 ticks: it must hold 1 to"),
        (
            f"{REALTIME} interval_ns=1000 seconds=0.5 input_queue_ms=1000",
            "input_queue_ms 1000 is longer than its trial of 0.5 s: give at most 500, or seconds of at least 1",
        ),
        (
            f"{REALTIME} interval_ns=1000 seconds=0.5 intermediate_queue_ms=1000",
            "intermediate_queue_ms 1000 is longer than its trial of 0.5 s",
        ),
        (f"{REALTIME} interval_ns=1000 seconds=2 cap_seconds=1", "cap_seconds 1 is below seconds 2"),
        (REALTIME, "interval_ns is missing"),
        (f"{REALTIME} interval_ns=9e8 input_queue_ms=500 seconds=0.5", "shorter than one interval"),
    ],
)
def test_a_mistake_is_refused_in_one_line(text: str, names: str) -> None:
    with pytest.raises(UserError) as caught:
        single.parse_spec(text.split())
    assert names in str(caught.value)
    assert "\n" not in str(caught.value)


GC_LINES = {
    "Pause Young (Allocation Failure) 10M->2M(20M) 1.2ms": 0,
    "Pause Full (Ergonomics)": 0,
    "Pause Full (Ergonomics) 10M->2M(20M) 12.1ms": 1,
    "Pause Remark 10M->2M(20M) 1.2ms": 1,
    "Garbage Collection (Proactive) 10M(1%)->2M(0%)": 1,
    "Garbage Collection (Proactive)": 0,
    "Minor Collection (Allocation Rate) 10M(1%)->2M(0%) 0.01s": 0,
    "Major Collection (Proactive) 10M(1%)->2M(0%) 0.01s": 1,
    "Pause Final Mark (unload classes) 0.2ms": 1,
    "Pause Final Mark (Young) 0.2ms": 0,
    "Pause Degenerated GC (Mark) 10M->2M(20M) 4.0ms": 1,
}


@pytest.mark.parametrize(("message", "majors"), GC_LINES.items())
def test_major_collections_are_told_from_others_as_the_log_grows(tmp_path: Path, message: str, majors: int) -> None:
    log = tmp_path / "gc.log"
    log.write_text("[50ns][1ns][info][gc] GC(0) Pause Full (Ergonomics) 10M->2M(20M) 12.1ms\n")
    seen = Collections(log, MAJOR)
    with log.open("a") as file:
        file.write(f"[90ns][1ns][info][gc] GC(1) {message}\n[150ns][1ns][info][gc] GC(2) {message}\n")
        file.write(f"[160ns][1ns][info][gc] GC(2) {message}\n[170ns][1ns][info][gc] GC(3) {message}")
        file.flush()
        assert seen.since(0) == 2 * majors
        assert seen.since(100) == majors
        file.write("\n")
        file.flush()
        assert seen.since(100) == 2 * majors
    assert Collections(log, MAJOR, from_start=True).since(0) == 1 + 3 * majors
    pausing = " Pause " in f" {message}" and message.endswith("ms")
    assert Collections(log, PAUSING, from_start=True).since(0) == 1 + 3 * pausing


@pytest.mark.parametrize("profile", profiles.names())
def test_every_profile_is_valid_and_estimated_before_it_runs(profile: str) -> None:
    opened = campaign.open_study("realtime", profile)
    settings = opened.profile
    assert isinstance(settings, RealtimeProfile)
    planned = plan_realtime(settings, Machine(cores=2))
    assert len({item.spec for item in planned}) == len(planned)
    assert planned == plan_realtime(settings, Machine(cores=2))
    limit_s = {"smoke": 90, "quick": 480, "standard": 150 * 60}.get(profile, 72 * 3600)
    assert 0 < sum(item.spec.expected_seconds() for item in planned if not item.unavailable) <= limit_s
    assert profile == "smoke" or not settings.configurations or settings.blocks > FEWEST
    others = plan_realtime(settings.model_copy(update={"cases": ("C",)}), Machine(cores=2))
    assert not [item for item in others if item.spec.mode == "batch"]
