"""Advice on a reader's workload: its answers where the truth is known, its budget, its errors, and what it reads."""

from __future__ import annotations

import gzip
import json
import math
import random
import re
import struct
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner

from allocpool.cli import main
from allocpool.decisions import Rule, judged_by
from allocpool.errors import UserError
from allocpool.machine.host import read_host
from allocpool.runtimes.discovery import find_javac, find_runtimes
from allocpool.studies.your_workload import check, claims, reader, story
from allocpool.studies.your_workload.advice import INTERRUPTED, ON_RECORD, OUT_OF_TIME, Advice, Machine, advise
from allocpool.studies.your_workload.course import more_to_stand
from allocpool.studies.your_workload.findings import HOLDS, LOSES, UNKNOWN, Measured, standing
from allocpool.studies.your_workload.jfr import Recording, read_recording
from allocpool.studies.your_workload.reader import OWN, advice_for, workload_of
from allocpool.studies.your_workload.specs import MessagesSpec
from allocpool.studies.your_workload.workload import CHOOSE, Workload, understood

GIVEN = {"rate": "1e6", "bytes": "512", "in_flight": "20000", "heap": "4g", "delay": "50ms", "loss_ppm": "200"}
POOL_NS = 200.0
NOTHING_GIVEN: dict[str, Any] = dict.fromkeys(OWN)
KEYS = {"answer", "effect", "headroom", "turns_at", "minutes_more", "parameters"}


class Laboratory(Machine):
    """Trials with a known truth: ``ratio`` of allocation's cost, the rate at which half of the trials lose."""

    def __init__(
        self,
        ratio: Callable[[MessagesSpec], float] = lambda _: 0.7,
        edge: Callable[[MessagesSpec], float] = lambda _: 3e6,
        noise: float = 0.03,
        seconds: float = 4.0,
        stops_after: int | None = None,
    ) -> None:
        self.ratio, self.edge, self.noise, self.seconds, self.stops_after = ratio, edge, noise, seconds, stops_after
        self.records: dict[MessagesSpec, Measured] = {}
        self.now = 0.0
        self.closed = False

    def refusal(self, _spec: MessagesSpec) -> str | None:
        return None

    def recorded(self, spec: MessagesSpec) -> Measured | None:
        return self.records.get(spec)

    def measure(self, spec: MessagesSpec) -> Measured:
        if len(self.records) == self.stops_after:
            raise KeyboardInterrupt
        chance = random.Random(spec.model_dump_json())
        cost = POOL_NS * (self.ratio(spec) if spec.strategy == "alloc" else 1.0) * math.exp(chance.gauss(0, self.noise))
        late = 0.0
        if spec.rate_per_s is not None:
            odds = math.exp(10 * math.log(spec.rate_per_s / self.edge(spec)))
            late = 5000.0 if chance.random() < odds / (1 + odds) else 0.0
        paced = None if spec.rate_per_s is None else 1.0
        self.now += self.seconds
        self.records[spec] = Measured(
            "ok", None, self.seconds, cpu_ns=cost, wall_ns=cost, lost_ppm=late, delay_p50_ms=paced, delay_p99_ms=paced,
            delay_p999_ms=paced, pause_max_ms=60.0, collections=3, idle_rss_mb=90.0, peak_rss_mb=120.0, pool_mb=10.0,
            wasted_mb=1.0,
        )  # fmt: skip
        return self.records[spec]

    @contextmanager
    def alone(self) -> Iterator[None]:
        try:
            yield
        finally:
            self.closed = True


def ask(laboratory: Laboratory, minutes: float | None = 10.0, **given: str) -> Advice:
    laboratory.now = 0.0
    workload = understood(GIVEN | given)
    return advise(workload, minutes, laboratory, quiet=True, clock=lambda: laboratory.now)


def loses_from(alloc: float, pool: float) -> Callable[[MessagesSpec], float]:
    return lambda spec: alloc if spec.strategy == "alloc" else pool


@pytest.mark.parametrize(
    ("laboratory", "answer", "by_losses"),
    [
        (Laboratory(lambda _: 0.7), "allocate", False),
        (Laboratory(lambda _: 1.4), "pool", False),
        (Laboratory(lambda _: 1.01, noise=0.02), "either", False),
        (Laboratory(lambda _: 1.06, noise=0.3), "inconclusive", False),
        (Laboratory(lambda _: 0.7, edge=loses_from(2e5, 4e6)), "pool", True),
        (Laboratory(lambda _: 1.4, edge=loses_from(4e6, 2e5)), "allocate", True),
        (Laboratory(lambda _: 0.7, edge=loses_from(2e5, 2e5)), "inconclusive", True),
    ],
)
def test_the_answer_is_the_truth(laboratory: Laboratory, answer: str, by_losses: bool) -> None:
    found = ask(laboratory, minutes=4.0)
    assert (found.answer, found.by_losses) == (answer, by_losses)
    assert story.report(found).startswith(story.answer(found).replace("**", ""))


def test_trials_at_the_readers_rate_are_taken_to_go_on_as_they_are() -> None:
    assert standing([False] * more_to_stand([])) == HOLDS
    assert more_to_stand([False, True, False]) > 50, "one in three shows neither for long"
    assert 0 < more_to_stand([False] * 4) < more_to_stand([])


def test_nothing_is_decided_by_fewer_than_five_trials_a_side() -> None:
    found = ask(Laboratory(lambda _: 3.0, noise=0.001), minutes=0.4)
    assert found.decision.n < 5
    assert found.answer == "inconclusive"
    assert found.minutes_more
    assert found.minutes_more > 0


def test_the_answer_turns_with_the_effect_that_matters() -> None:
    """Of the same trials, either where only a quarter matters, and open where a tenth does."""
    laboratory = Laboratory(lambda _: 1.0, noise=0.09)
    with judged_by(Rule(1.25)):
        found = ask(laboratory, minutes=4.0)
        assert found.answer == "either"
    assert ask(laboratory, None).answer == "inconclusive"


def test_the_edge_is_found_within_its_interval() -> None:
    found = ask(Laboratory(edge=loses_from(2e6, 3e6)), minutes=6.0)
    for name, edge in (("alloc", 2e6), ("pool", 3e6)):
        room = found.headroom[name]
        assert room.low_per_s is not None
        assert room.high_per_s is not None
        assert room.held_per_s is not None
        assert room.lost_per_s is not None
        assert room.low_per_s < edge < room.high_per_s
        assert room.held_per_s < room.lost_per_s
        assert room.factor == pytest.approx(edge / 1e6, rel=0.3)
        assert room.limited_by == "pause"


@pytest.mark.parametrize("by", ["cost", "losses"])
def test_both_ends_of_a_turn_are_shown_by_five_trials_a_side(by: str) -> None:
    def is_far(spec: MessagesSpec) -> bool:
        return spec.in_flight > 150_000

    laboratory = (
        Laboratory(lambda spec: 0.6 if is_far(spec) else 1.4)
        if by == "cost"
        else Laboratory(lambda _: 0.7, edge=lambda spec: 1e5 if is_far(spec) and spec.strategy == "alloc" else 1e9)
    )
    found = ask(laboratory, minutes=20.0)
    (turn,) = [turn for turn in found.turns if (turn.parameter, turn.direction) == ("in_flight", 1)]
    assert turn.by == by
    assert turn.low is not None
    assert turn.high is not None
    assert turn.at is not None
    assert found.workload.in_flight <= turn.low <= 150_000 < turn.high
    assert turn.low <= turn.at <= turn.high
    for end in {turn.low, turn.high} - {20_000}:
        for side in found.workload.sides:
            there = [spec for spec in laboratory.records if (spec.in_flight, spec.strategy) == (end, side)]
            assert sum(spec.rate_per_s is not None for spec in there) >= 5
            assert by == "losses" or sum(spec.rate_per_s is None for spec in there) >= 5


@pytest.mark.parametrize("minutes", [0.5, 1.0, 3.0])
def test_the_budget_is_kept(minutes: float) -> None:
    laboratory = Laboratory()
    found = ask(laboratory, minutes)
    assert laboratory.now <= 60 * minutes
    assert found.ended == OUT_OF_TIME
    assert found.minutes <= minutes
    assert laboratory.closed


def test_ctrl_c_answers_with_what_there_is() -> None:
    laboratory = Laboratory(stops_after=11)
    found = ask(laboratory)
    assert found.ended == INTERRUPTED
    assert found.trials == 11
    assert found.decision.n == 5
    assert laboratory.closed


def test_more_minutes_go_on_from_there() -> None:
    twice, once = Laboratory(), Laboratory()
    short = ask(twice, 1.0)
    before = dict(twice.records)
    long = ask(twice, 4.0)
    assert list(twice.records)[: len(before)] == list(before)
    assert long.trials > short.trials
    at_once = ask(once, 4.0)
    assert set(before) < set(once.records)
    assert at_once.decision == long.decision


def test_without_minutes_nothing_is_measured() -> None:
    laboratory = Laboratory()
    assert ask(laboratory, None).ended == ON_RECORD
    assert not laboratory.records
    ask(laboratory, 1.0)
    before = dict(laboratory.records)
    found = ask(laboratory, None)
    assert laboratory.records == before
    assert found.trials == len(before)


def test_what_can_not_run_at_all_is_out() -> None:
    class NoMemory(Laboratory):
        def measure(self, spec: MessagesSpec) -> Measured:
            found = super().measure(spec)
            if spec.strategy == "alloc":
                found = self.records[spec] = Measured("out_of_memory", "direct memory is used up", self.seconds)
            return found

    found = ask(NoMemory(), minutes=3.0)
    assert found.answer == "pool"
    assert found.by_losses
    assert found.headroom["alloc"].limited_by == "memory"


def test_collectors_are_compared_and_the_cheapest_is_advised() -> None:
    laboratory = Laboratory(lambda spec: {"parallel": 0.5, "g1": 1.5}.get(spec.collector or "", 2.0))
    found = ask(laboratory, minutes=12.0, collector=CHOOSE)
    assert found.collector == "parallel"
    assert found.answer == "allocate"
    assert set(found.collectors) == {"serial", "parallel", "g1", "genzgc", "shenandoah", "genshenandoah"}
    assert len(story.collectors(found)) == 2 * len(found.collectors)
    assert "By collector" in story.report(found)


def test_json_has_what_programs_read() -> None:
    found = ask(Laboratory(), minutes=3.0, also="mix,fitted").as_json()
    assert set(found) >= KEYS
    assert set(found["effect"]) == {"ratio", "low", "high", "n"}
    assert set(found["headroom"]) == {"alloc", "pool"}
    assert found["minutes_more"] == 0.0
    assert found["parameters"]["in_flight"] == 20_000
    assert json.loads(json.dumps(found, allow_nan=False)) == found


@pytest.mark.parametrize("stops_after", [0, 11])
def test_ctrl_c_at_the_shell_leaves_json(data: Path, monkeypatch: pytest.MonkeyPatch, stops_after: int) -> None:
    monkeypatch.setattr("allocpool.advise.Machine", lambda starts: Laboratory(stops_after=stops_after))
    words = ["--rate", "1e5", "--in-flight", "2000", "--heap", "128m", "--json"]
    done = CliRunner().invoke(main, ["advise", *words])
    assert done.exit_code == 0
    found = json.loads(done.stdout)
    assert set(found) >= KEYS
    assert (found["ended"], found["trials"], found["answer"]) == (INTERRUPTED, stops_after, "inconclusive")
    assert (found["minutes_more"] or 0) > 0 if stops_after else found["minutes_more"] is None


PACKETS = {
    "case": "B", "configuration": "heap / G1 / 25", "heap_mb": 205, "queue_size": 10_000,
    "stored_count": 10_000, "status": "ok",
}  # fmt: skip
MESSAGES = {
    "configuration": "heap / G1 / 25", "sizes": "1024:1", "mean_bytes": 1024.0, "filled_share": 0.1, "read_share": 0.1,
    "rate_per_s": None, "arrivals": "steady", "burst_length": 1, "delay_ms": 50.0, "messages_in_flight": 10_000,
    "kept_share": 0.0625, "kept_count": 10_000, "replacement": "random", "temporaries": 5, "temporary_bytes": 32,
    "live_mb": 0.0, "changed_mb_per_s": 0.0, "garbage_mb_per_s": 0.0, "threads": 1, "heap_mb": 205, "direct_mb": None,
    "jvm_flags": "", "trace": None, "classes": "power_of_two", "zeroing": False, "status": "ok",
}  # fmt: skip
POOLS = {"cpu_ns_per_message": [("pool", 200.0)], "cpu_ns_per_packet": [("mix", 200.0), ("pool", 500.0)]}


def trials_of(facts: dict[str, object], column: str, alloc_ns: float, noise: float = 0.02, n: int = 8) -> pd.DataFrame:
    """Trials of every strategy, a pool at 200 ns, in packets the larger one at 500."""
    chance = random.Random(column)
    return pd.DataFrame([
        {**facts, "strategy": strategy, "started_utc": str(block), column: cost * math.exp(chance.gauss(0, noise))}
        for block in range(n)
        for strategy, cost in (("alloc", alloc_ns), *POOLS[column])
    ])  # fmt: skip


@pytest.mark.parametrize(
    ("alloc_ns", "noise", "says"),
    [
        (300.0, 0.02, "agree"),
        (640.0, 0.02, "differ"),
        (330.0, 0.3, "inconclusive"),
    ],
)
def test_the_articles_packets_are_set_against_the_same_as_messages(alloc_ns: float, noise: float, says: str) -> None:
    messages = trials_of(MESSAGES, "cpu_ns_per_message", alloc_ns, noise)
    batch = trials_of(PACKETS, "cpu_ns_per_packet", 300.0, noise)
    found = claims.alike(messages, batch)
    assert found["the two"].tolist() == [says]
    assert float(found["larger pool / pool, packets"][0].split()[0]) == pytest.approx(2.5, rel=noise)


@pytest.mark.parametrize("apart", [{"heap_mb": 410}, {"queue_size": 5}, {"case": "C"}, {"status": "failed"}])
def test_packets_of_another_set_up_are_not_the_same(apart: dict[str, object]) -> None:
    messages = trials_of(MESSAGES, "cpu_ns_per_message", 300.0)
    found = claims.alike(messages, trials_of(PACKETS | apart, "cpu_ns_per_packet", 300.0))
    assert found.empty


@pytest.mark.parametrize(
    ("lost", "found"),
    [
        ([], UNKNOWN),
        ([False] * 6, UNKNOWN),
        ([False] * 7, HOLDS),
        ([True] * 2, UNKNOWN),
        ([True] * 3, LOSES),
        ([True, False, False, False, False], UNKNOWN),
        ([False] * 7 + [True] * 9, LOSES),
    ],
)
def test_who_keeps_up_is_shown_by_trials(lost: list[bool], found: str) -> None:
    assert standing(lost) == found


@pytest.mark.parametrize(("chance", "wrong"), [(0.2, LOSES), (0.5, HOLDS)])
def test_looking_again_and_again_is_paid_for(chance: float, wrong: str) -> None:
    draws = random.Random(7)
    found = 0
    for _ in range(400):
        lost = [draws.random() < chance for _ in range(16)]
        found += any(standing(lost[:n]) == wrong for n in range(1, 17))
    assert found / 400 < 0.07


BAD: list[tuple[dict[str, str], str]] = [
    ({"rate": "fast"}, "--rate 'fast'"),
    ({"bytes": "64:0.7,1500:-1"}, "weight"),
    ({"bytes": "histogram:/nope.csv"}, "can't be read"),
    ({"in_flight": "100m"}, "at most --in-flight [0-9]+, or --heap [0-9]+m"),
    ({"kept": "6%", "for": "30"}, "with its unit"),
    ({"for": "30s"}, "needs --kept"),
    ({"kept": "6%", "for": "30s", "kept_count": "5"}, "exclude each other"),
    ({"kept": "6%", "for": "0s"}, "leave out --kept"),
    ({"kept": "50%", "for": "60s"}, "at most --for [0-9]+ms"),
    ({"arrivals": "on_off"}, "--burst"),
    ({"live": "9g"}, "at most --live [0-9]+m"),
    ({"changed": "5m"}, "needs --live"),
    ({"threads": "8", "in_flight": "4"}, "at least one for each"),
    ({"collector": "g2"}, "serial, parallel"),
    ({"heap": "4000g"}, "at most --heap [0-9]+m"),
    ({"layout": "native", "direct": "1m"}, "--direct [0-9]+m"),
    ({"layout": "malloc", "collector": CHOOSE}, "C\\+\\+"),
    ({"layout": "malloc", "also": "netty"}, "Java"),
    ({"jvm_flag": "-Xmx1g"}, "--heap"),
    ({"rate": "10", "trial": "1s"}, "at least --trial 10s"),
    ({"rat": "1e6"}, "did you mean rate"),
]


@pytest.mark.parametrize(("given", "says"), BAD)
def test_what_can_not_be_is_one_line_that_names_what_can(given: dict[str, str], says: str) -> None:
    with pytest.raises(UserError, match=says) as caught:
        understood(GIVEN | given)
    assert "\n" not in str(caught.value)


def test_parameters_are_understood_in_the_units_of_their_names() -> None:
    workload = understood(
        GIVEN
        | {"kept": "6%", "for": "5s", "live": "500m", "garbage": "0.1g", "bytes": "64:0.5,1500:0.5", "burst": "2k"}
    )
    assert (workload.rate_per_s, workload.delay_ms, workload.loss_ppm) == (1e6, 50.0, 200.0)
    assert (workload.kept_share, workload.kept_count, workload.live_mb) == (0.06, 300_000, 500)
    assert workload.garbage_mb_per_s == pytest.approx(102.4)
    assert (workload.mean_bytes, workload.burst_length) == (782.0, 2000)
    assert Workload.model_validate_json(workload.model_dump_json()) == workload


def test_an_advice_in_a_file_is_the_same_and_says_where_it_was_measured(tmp_path: Path) -> None:
    found, file = ask(Laboratory(lambda _: 1.4), minutes=6.0, kept="1%"), tmp_path / "advice.json"
    reader.save(found, file)
    again = advice_for(NOTHING_GIVEN | {"saved": str(file)})
    assert again.as_json() | {"ended": found.ended} == found.as_json()
    assert again.of.trials == found.of.trials and again.turns
    host = read_host()
    place = f"{host.name or host.cpu_model} ({host.fingerprint()[:4]})"
    assert (again.machine, again.answer) == (place, "pool")
    assert place in story.opening(again) and story.answer(found) in story.opening(again)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "can't be read"), (b"\xff", "can't be read"), (b"hello", "is no advice"), (b"{}", "is no advice"),
        (b'{"kind": "allocpool advice", "rows": 3}', "unknown key 'rows'"),
    ],
)  # fmt: skip
def test_a_file_that_holds_no_advice_is_a_line(tmp_path: Path, content: bytes | None, says: str) -> None:
    file = tmp_path / "advice.json"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(UserError, match=says) as caught:
        reader.read(file)
    assert str(file) in str(caught.value) and "\n" not in str(caught.value)


def test_where_an_advice_can_not_be_saved_is_known_before_it_is_measured(data: Path, tmp_path: Path) -> None:
    for word, says in (("/nope/advice.json", "no folder /nope"), (str(tmp_path), "is a folder")):
        found = CliRunner().invoke(main, ["advise", "--save", word])
        assert found.exit_code == 2 and says in found.output and len(found.output.splitlines()) == 1
    file = tmp_path / "advice.json"
    found = CliRunner().invoke(main, ["advise", "--minutes", "0", "--save", str(file)])
    assert found.exit_code == 2 and not file.exists()
    assert not (data / "raw").exists()


@pytest.mark.parametrize("stops_after", [3, 40])
def test_a_check_that_is_interrupted_is_none_and_goes_on_from_its_records(stops_after: int) -> None:
    """In its advice, which would answer, or in the long plan."""
    laboratory = Laboratory(stops_after=stops_after)
    with pytest.raises(KeyboardInterrupt):
        check.check("ticks", 2.0, 2.0, laboratory)
    assert len(laboratory.records) == stops_after
    laboratory.stops_after = None
    undisturbed = Laboratory()
    assert (
        check.check("ticks", 2.0, 2.0, laboratory)[1].decision
        == check.check("ticks", 2.0, 2.0, undisturbed)[1].decision
    )


PROGRAM = """
public class Program {
    static final Object[] KEPT = new Object[5000];
    public static void main(String[] words) {
        java.util.Random random = new java.util.Random(1);  // sizes in turn would meet the ends of TLABs in turn
        for (int i = 0; i < 600_000; i++) KEPT[i % KEPT.length] = new byte[random.nextBoolean() ? 1000 : 3000];
        System.gc();
    }
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a small program that allocates 600,000 arrays of two sizes."""
    folder = tmp_path_factory.mktemp("jfr")
    (folder / "Program.java").write_text(PROGRAM, encoding="utf-8")
    subprocess.run([find_javac().home / "bin" / "javac", "--release", "11", "Program.java"], cwd=folder, check=True)
    return folder


def record(folder: Path, release: int, settings: str) -> Path:
    """Run the program under Flight Recorder of a release."""
    flags = ["-Xmx64m", "-XX:+UseG1GC", "-XX:TLABSize=512k", "-XX:-ResizeTLAB"]
    start = f"-XX:StartFlightRecording:filename={release}.jfr,{settings}"
    subprocess.run(
        [find_runtimes()[release].java, *flags, start, "Program"], cwd=folder, check=True, capture_output=True
    )
    return folder / f"{release}.jfr"


@pytest.fixture(scope="module")
def recording(program: Path) -> Path:
    events = ",".join(f"jdk.ObjectAllocation{where}TLAB#enabled=true" for where in ("InNew", "Outside"))
    return record(program, max(find_runtimes()), events)


def summary_of(recording: Path) -> dict[str, float]:
    """Numbers of the JDK's own ``jfr summary``: events by name, and ``Duration`` in whole seconds."""
    text = subprocess.run(
        [find_javac().home / "bin" / "jfr", "summary", recording], check=True, capture_output=True, text=True
    ).stdout
    return {name: float(number) for name, number in re.findall(r"^ (\S+?):? +(\d+)(?: +\d+| s)$", text, re.MULTILINE)}


@pytest.mark.parametrize("release", find_runtimes())
def test_recordings_of_each_release(release: int, program: Path) -> None:
    recording = record(program, release, "settings=profile")
    found, summary = read_recording(recording), summary_of(recording)
    assert (found.runtime, found.collector, found.heap_mb) == (release, "g1", 64)
    assert found.seconds == pytest.approx(summary["Duration"], abs=1.0)
    allocated_mb = (found.allocation_mb_per_s or 0.0) * found.seconds
    assert 0 < allocated_mb < 1.1 * 600_000 * 2016 / 2**20, "what follows the last sample is in none"
    assert summary["jdk.GarbageCollection"] == found.collections > 10


@pytest.mark.parametrize(
    ("name", "runtime", "collector", "heap_mb", "collections", "allocated_mb"),
    [
        ("26", 26, "g1", 64, 47, 155.45),
        ("27", 27, "g1", 64, 41, 60.38),
        ("async-profiler-17", 17, None, None, 0, 198.0),
    ],
)
def test_kept_recordings(
    name: str, runtime: int, collector: str | None, heap_mb: int | None, collections: int, allocated_mb: float,
    tmp_path: Path,
) -> None:  # fmt: skip
    """Collections and sums of weights are those that the JDK's own tool prints."""
    path = tmp_path / f"{name}.jfr"
    path.write_bytes(gzip.decompress((Path(__file__).parent / "recordings" / f"{path.name}.gz").read_bytes()))
    found = read_recording(path)
    assert (found.runtime, found.collector, found.heap_mb, found.collections) == (
        runtime,
        collector,
        heap_mb,
        collections,
    )
    assert (found.allocation_mb_per_s or 0.0) * found.seconds == pytest.approx(allocated_mb, rel=1e-4)
    assert next(iter(found.sites)).startswith("Program.main")
    assert {size for size, _ in found.sizes} == (set() if collections else {1000, 3000})
    assert (found.live_mb is None) == (collections == 0)


def test_a_recording_of_the_program_gives_what_it_can(recording: Path) -> None:
    found = read_recording(recording)
    assert (found.collector, found.heap_mb, found.runtime) == ("g1", 64, max(find_runtimes()))
    assert next(iter(found.sites)).startswith("Program.main")
    shares = dict(found.sizes)
    assert set(shares) == {1000, 3000}
    assert shares[1000] == pytest.approx(0.5, abs=0.2)
    assert found.live_mb == pytest.approx(10.0, abs=4.0)
    assert found.allocation_mb_per_s
    assert found.allocation_mb_per_s >= (found.byte_arrays_mb_per_s or 0.0) > 0
    assert any("--in-flight" in line for line in found.missing)
    workload, notes = workload_of({"rate": "1e5", "in_flight": "100"}, recording=str(recording))
    assert (workload.heap_mb, workload.collector) == (64, "g1")
    assert workload.mean_bytes == pytest.approx(2000, rel=0.3)
    assert any("Program.main" in note for note in notes)
    given = understood({"heap": "128m", "bytes": "64", "live": "0"}, found.guessed())
    assert (given.heap_mb, given.mean_bytes, given.live_mb) == (128, 64.0, 0.0)


CHUNK_NS = 20 * 10**9
SIZE_OF_A_CHUNK = 100


def recording_of(
    events: list[tuple[str, dict[str, object]]], folder: Path, monkeypatch: pytest.MonkeyPatch, cut: int = 0
) -> Recording:
    """What is read of a file of two chunks of 20 s whose events the tool prints so."""
    chunk = struct.pack(">4sHHqqqqq", b"FLR\0", 2, 1, SIZE_OF_A_CHUNK, 0, 0, 0, CHUNK_NS).ljust(SIZE_OF_A_CHUNK, b"\0")
    (folder / "some.jfr").write_bytes(chunk * 2)
    text = json.dumps({"recording": {"events": [{"type": kind, "values": values} for kind, values in events]}})
    (folder / "events.json").write_text(text[: len(text) - cut], encoding="utf-8")
    (folder / "jfr").write_text(f"#!/bin/sh\ncat '{folder}/events.json'\nexit {1 if cut else 0}\n", encoding="utf-8")
    (folder / "jfr").chmod(0o755)
    monkeypatch.setattr("allocpool.studies.your_workload.jfr._tool", lambda: folder / "jfr")
    return read_recording(folder / "some.jfr")


def allocated(thread: str, owner: str, size: int, second: int) -> tuple[str, dict[str, object]]:
    frames = [{"method": {"type": {"name": owner}, "name": "call"}, "lineNumber": 1}]
    return "jdk.ObjectAllocationOutsideTLAB", {
        "startTime": f"2026-01-05T10:00:{second:02}.000Z", "objectClass": {"name": "[B"}, "allocationSize": size,
        "eventThread": {"javaName": thread}, "stackTrace": {"frames": frames},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("version", "runtime"),
    [
        ("OpenJDK 64-Bit Server VM (25.292-b10) for linux-amd64 JRE (1.8.0_292-b10), built on Apr 21 2021", 8),
        ("25.292-b10", 8),
        ("17.0.7+7-LTS", 17),
        ("OpenJDK 64-Bit Server VM (17.0.7+7-LTS) for linux-amd64 JRE (17.0.7+7-LTS), built on", 17),
        ("OpenJDK 64-Bit Server VM (25+36-LTS) for linux-amd64 JRE (25+36-LTS), built on", 25),
        ("27-ea+3", 27),
        ("OpenJDK 64-Bit Server VM (Zulu 11.2) for linux-amd64 JRE (Zulu11.56+19-CA) (11.0.15+10-LTS)", 11),
        ("unknown", None),
    ],
)
def test_the_runtime_of_a_recording(
    version: str, runtime: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[tuple[str, dict[str, object]]] = [("jdk.JVMInformation", {"jvmVersion": version})]
    assert recording_of(events, tmp_path, monkeypatch).runtime == runtime


def test_rates_are_over_the_whole_recording_without_the_recorders_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = [allocated("main", "Program", 10 << 20, second) for second in (5, 6)]
    events += [
        allocated("JFR Recorder Thread", "java/io/ByteArrayOutputStream", 900 << 20, 7),
        allocated("Attach Listener", "jdk/jfr/internal/ChunkWriter", 900 << 20, 8),
    ]
    found = recording_of(events, tmp_path, monkeypatch)
    assert found.seconds == 40
    assert found.allocation_mb_per_s == found.byte_arrays_mb_per_s == 0.5
    assert list(found.sites) == ["Program.call:1"]
    assert [size for size, _ in found.sizes] == [(10 << 20) - 16]


def test_a_recording_that_ends_too_early_is_read_up_to_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events = [allocated("main", "Program", 10 << 20, second) for second in (5, 6)]
    found = recording_of(events, tmp_path, monkeypatch, cut=20)
    assert found.allocation_mb_per_s == 0.25
    assert any("after 1 events" in line for line in found.missing)


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda data: data[: len(data) // 2], "damaged"),
        (lambda data: data[:40], "damaged"),
        (lambda data: b"hello" + data, "no Flight Recorder file"),
        (lambda _: b"", "no Flight Recorder file"),
    ],
)
def test_a_broken_recording_is_a_line(
    recording: Path, tmp_path: Path, damage: Callable[[bytes], bytes], says: str
) -> None:
    broken = tmp_path / "broken.jfr"
    broken.write_bytes(damage(recording.read_bytes()))
    with pytest.raises(UserError, match=says) as caught:
        read_recording(broken)
    assert "\n" not in str(caught.value)


def test_a_check_of_what_is_on_record_measures_nothing(data: Path) -> None:
    found = CliRunner().invoke(main, ["bench", "advice", "--on-record", "--workload", "ticks"])
    assert found.exit_code == 0 and not (data / "raw").exists()


def test_checks_are_kept_a_row_for_each_workload(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "_path", lambda: tmp_path / "checked" / check.FILE)
    assert check.load().empty
    for name in ("tiles", "ticks", "tiles"):
        found = check.check(name, 2.0, 2.0, Laboratory(edge=lambda _: 1e9))
        check.keep(check.row_of(name, *found, read_host()))
    rows = check.table(check.load())
    assert rows["workload"].to_list() == ["ticks", "tiles"] and set(rows["outcome"]) == {check.AGREE}
