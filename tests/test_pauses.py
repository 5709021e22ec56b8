"""The study on pauses: whose trials it takes over, and whether attribution finds causes that are known beforehand."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from allocpool.campaign import campaign, single
from allocpool.campaign.study import Machine, Planned
from allocpool.errors import UserError
from allocpool.studies.pauses import scaling
from allocpool.studies.pauses.specs import LiveSetSpec
from allocpool.studies.pauses.tables import tidy_pauses
from allocpool.trial.child.gc_log import PAUSING, Collections
from allocpool.trial.record import TrialRecord
from allocpool.trial.stops import stops_of

pytestmark = pytest.mark.usefixtures("first_compiler_only")


def run(*settings: str) -> TrialRecord:
    """One trial as a user would run it; it must end well."""
    record = single.run_single(single.parse_spec(settings))
    assert record.status == "ok", f"{record.status}: {record.reason}\n{record.log_tail}"
    return record


@cache
def planned(study: str, profile: str) -> tuple[Planned, ...]:
    opened = campaign.open_study(study, profile)
    return tuple(opened.plan())


def own(profile: str) -> list[Planned]:
    """The trials that no other study of the profile has."""
    others = {item.spec for study in ("batch", "realtime") for item in planned(study, profile)}
    return [item for item in planned("pauses", profile) if item.spec not in others]


DISTURBED = "mode=disturbed layout=heap strategy=pool interval_ns=1000 seconds=1 disturbance=stop"
LIVE_SET = "mode=live_set layout=heap strategy=pool seconds=1"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (f"{DISTURBED} disturb_at_s=1", "disturb_at_s 1 is not below seconds 1"),
        (DISTURBED.replace("heap", "allocating"), "a disturbance is one of a JVM: choose language java"),
        (f"{LIVE_SET} collector=epsilon", "and a collector other than epsilon"),
        (LIVE_SET.replace("heap", "commons_pool"), "choose layout heap, native, flat, flat_ffm, agrona, and a coll"),
        (f"{LIVE_SET} buffer_bytes=136", "buffer_bytes 136 is off the heap: choose layout native or flat or"),
    ],
)
def test_a_mistake_is_refused_in_one_line(text: str, names: str) -> None:
    with pytest.raises(UserError) as caught:
        single.parse_spec(text.split())
    assert names in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("part", "names"),
    [
        ({"live_set": {"configurations": ["java/heap/g1/25"], "live_millions": [50]}}, "live_millions.0"),
        ({"known_causes": {"disturbances": ["nap"]}}, "choose one of stop, full_collection, native_call"),
        ({"losses": {"queue_ms": [1.0]}}, "queue_ms"),
    ],
)
def test_a_mistake_in_a_profile_is_refused_in_one_line(part: dict[str, object], names: str) -> None:
    with pytest.raises(UserError) as caught:
        campaign.open_study("pauses", "smoke", part)
    assert names in str(caught.value)
    assert "\n" not in str(caught.value)


SMALL = "queue_size=1000 stored_count=1000 strategy=pool"


@pytest.mark.parametrize(
    "sizes",
    [
        "layout=heap strategy=alloc queue_size=9091 stored_count=9091 pool_size=0",
        f"layout=heap pool_size=31667 {SMALL}", f"layout=native pool_size=50000 buffer_bytes=136 {SMALL}",
    ],
)  # fmt: skip
def test_a_live_set_has_the_objects_asked_for(data: Path, sizes: str) -> None:
    record = run(
        "mode=live_set", *sizes.split(), "runtime=25", "collector=parallel", "heap_mb=256", "block=1", "seconds=0.1",
        "warmup_seconds=0.1", "min_collections=1", "longest_factor=1000",
    )  # fmt: skip
    tables = tidy_pauses([record])
    assert len(scaling.off_heap(tables["trials"], tables["collections"])) == ("native" in sizes)
    (trial,) = tables["trials"].to_dict("records")
    assert 100_000 < trial["live_objects"] < 180_000, "the JVM itself has about 65,000, with its archive of classes"
    (row,) = tables["collections"].to_dict("records")
    assert row["forced_full_ms"] > 0, "counting collects the heap"
    assert row["unread_lines"] == 0 and row["buffer_bytes"] == (136 if "native" in sizes else 1024)
    assert (tables["pauses"]["duration_ms"] > 0).all()
    assert len(tables["pauses"]) == row["pauses"] > 0
    assert tables["pauses"]["duration_ms"].sum() == pytest.approx(row["pause_total_ms"])
    curves = tables["utilisation"].pivot(index="window_ms", columns="counted", values="utilisation")
    assert (curves["all stops"] <= curves["pauses"] + 1e-9).all()


def test_buffers_off_the_heap_are_as_large_as_the_memory_allows() -> None:
    opened = campaign.open_study("pauses", "standard")
    for memory_mb, buffer_bytes in ((8_000, 136), (24_000, 1024)):
        planned = [item.spec for item in opened.study.plan(opened.profile, Machine(2, memory_mb))]
        off_heap = [spec for spec in planned if isinstance(spec, LiveSetSpec) and spec.layout != "heap"]
        assert {spec.buffer_bytes for spec in off_heap if spec.needs().most_mb < 0.7 * memory_mb} == {buffer_bytes}
        assert max(spec.pool_size for spec in off_heap) == 10_000_000


def test_a_batch_trial_goes_on_until_it_holds_its_laps_and_collections_or_says_that_it_does_not(data: Path) -> None:
    short = ("mode=batch", "case=C", "scale=0.05", "strategy=pool", "seconds=0.01", "warmup_seconds=0")
    java = ("layout=heap", "runtime=25", "collector=parallel")
    asked = run(*short, *java, "min_collections=2", "longest_factor=1000")
    cut = run(*short, "layout=flat", "language=cpp", "min_laps=1000")
    first, second = tidy_pauses([asked, cut])["trials"].to_dict("records")
    assert first["laps"] >= 2 and first["gc_collections"] >= 2 and not first["too_short"]
    assert second["laps"] < 1000 and second["too_short"] and second["seconds"] >= 0.02
    with pytest.raises(UserError, match="nothing is ever collected there"):
        single.parse_spec([*short, "layout=flat", "language=cpp", "min_collections=1"])


def test_a_collection_that_began_before_the_window_is_not_one_of_it(tmp_path: Path) -> None:
    log = tmp_path / "gc.log"
    lines = ((900, 1, 0.0002), (1_100, 2, 0.0002), (1_900, 3, 0.0003), (2_100, 4, 0.0002))
    log.write_text("".join(f"[{end}ns] GC({n}) Pause Young (Normal) 9M->1M(40M) {ms:.4f}ms\n" for end, n, ms in lines))
    seen = Collections(log, PAUSING, from_start=True)
    assert seen.since(1_000) == 3
    assert seen.begun_within(1_000, 2_000) == 2, "the third, and the fourth, which ended later"
    assert seen.begun_within(1_000, 1_900) == 1


EXPECTED = {
    "stop": "stop on purpose",
    "full_collection": "full or degenerated collection",
    "native_call": "time to safepoint",
}
QUEUE_MS = 4
OF_THE_MACHINE = ("source stall", "nothing known")
"""What a busy machine does to a trial besides what is done to it here."""
BY_THE_SAME_ACT: dict[str, tuple[str, ...]] = {
    "stop": (),
    # It is waited for, long on a busy machine, and the objects are counted in the same stop, after the collection.
    "full_collection": ("time to safepoint", "other safepoint"),
    "native_call": (),
}


@pytest.mark.parametrize(("runtime", "collector"), [(25, "g1"), pytest.param(11, "parallel", marks=pytest.mark.long)])
@pytest.mark.parametrize("disturbance", EXPECTED)
def test_attribution_finds_a_cause_that_is_known(data: Path, runtime: int, collector: str, disturbance: str) -> None:
    record = run(
        "mode=disturbed", "layout=heap", f"runtime={runtime}", f"collector={collector}", "strategy=pool", "scale=0.1",
        "interval_ns=4000", "seconds=0.8", "warmup_seconds=0.2", "disturb_at_s=0.3", f"disturbance={disturbance}",
        f"input_queue_ms={QUEUE_MS}", "prologue_seconds=0.1", "heap_mb=2000",
    )  # fmt: skip
    # Far from either end of the window: on a busy machine its begin and the disturbance may both be late.
    # So large a heap collects seldom of itself: a pause close to the disturbance would share its burst.
    measurement = record.measurement
    assert measurement is not None
    ((begin_ns, end_ns),) = measurement["disturbed"]
    origin_ns = measurement["figures"]["start_ns"]
    tables = tidy_pauses([record])
    bursts, shares = tables["bursts"], tables["attribution"]
    assert shares.groupby("burst")["share"].sum().to_list() == pytest.approx([1.0] * len(bursts))
    assert shares["lost"].sum() == pytest.approx(bursts["lost"].sum())
    overlaps = (bursts["end_s"] * 1e9 + origin_ns >= begin_ns) & (bursts["start_s"] * 1e9 + origin_ns <= end_ns)
    lost = shares[shares["burst"].isin(bursts.loc[overlaps, "burst"])].groupby("cause")["lost"].sum()
    known = lost.drop([*OF_THE_MACHINE, *BY_THE_SAME_ACT[disturbance]], errors="ignore")
    slips = np.array(measurement["slips"], np.int64).reshape(-1, 2)
    slipped_ns = (np.minimum(slips.sum(axis=1), end_ns) - np.maximum(slips[:, 0], begin_ns)).clip(0).sum()
    # On a busy machine the source may stand still all the while, too: what it does not offer is not lost.
    if end_ns - begin_ns - slipped_ns > QUEUE_MS * 1e6:
        assert overlaps.any(), f"a queue of {QUEUE_MS} ms does not outlast what was done"
        facts = f"disturbed {measurement['disturbed']}, from {origin_ns}, {bursts.to_dict()}"
        assert len(known), f"{lost.to_dict()}, {facts}"
        assert known.idxmax() == EXPECTED[disturbance], lost.to_dict()
    stops = stops_of(record)
    assert stops is not None
    full = stops.full_intervals()
    inside = ((full[:, 0] >= begin_ns) & (full[:, 1] <= end_ns)).any()
    assert inside == (disturbance == "full_collection"), "what was done and the log are on one clock"
    source_ns = tables["cpu"].set_index("thread_group")["cpu_ns"]["source"]
    assert source_ns > 0.1 * 0.6e9, "the source ticks all the time, on another thread"
