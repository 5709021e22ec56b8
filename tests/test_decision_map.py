"""The decision map: where its trials are placed, what they show, and what regions are called, on made-up truth."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from test_realtime_story import cells
from test_realtime_story import placed as adaptive

from allocpool.campaign import campaign, hosts, sequential, tidy
from allocpool.decisions import A_CHEAPER, B_CHEAPER, EQUIVALENT, LOOKS, OPEN
from allocpool.files import write_atomically
from allocpool.studies.realtime import decision_map as maps
from allocpool.studies.realtime import proof, story
from allocpool.studies.realtime.adaptive import Seen, of_interval
from allocpool.trial.noise import PaceMeter
from allocpool.trial.record import RESULT, Launch, TrialRecord
from allocpool.trial.runner import Task

LIVES = (100, 1_000, 10_000)
DESIGN = maps.Design(LIVES, 100.0, 10_000.0, (10.0, 100.0))
FASTER = {"alloc": 4.0, "mix": 1.0, "pool": 1.0}


def seen(live: int, interval_ns: float, edge_ns: float, source_stall_ms: float = 0.0) -> Seen:
    """A trial of a boundary without any softness."""
    lost = interval_ns < edge_ns
    share = 1 - interval_ns / edge_ns if lost else 0.0
    return Seen(live, interval_ns, 100.0, math.inf if lost else 1.0, source_stall_ms, share)


def placed(edge_ns: float, count: int) -> tuple[Seen, ...]:
    trials: list[Seen] = []
    for _ in range(count):
        shown = tuple(maps.shown_by(DESIGN, each) for each in trials)
        trials.append(seen(*maps.next_place(DESIGN, shown), edge_ns))
    return tuple(trials)


@pytest.mark.parametrize(
    ("latest_ms", "source_stall_ms", "short", "long"),
    [
        (1.0, 0.0, False, False), (11.0, 0.0, True, False), (101.0, 0.0, True, False), (math.inf, 0.0, True, True),
        (1.0, 5.0, None, False), (math.inf, 50.0, None, None),
    ],
)  # fmt: skip
def test_one_trial_tells_of_both_deadlines(
    latest_ms: float, source_stall_ms: float, short: bool | None, long: bool | None
) -> None:
    trial = Seen(100, 500.0, 100.0, latest_ms, source_stall_ms)
    assert (trial.lost(10.0), trial.lost(100.0)) == (short, long)
    assert trial.lost(1_000.0) is None, "its own queue was shorter"


def test_trials_are_placed_where_least_is_known_and_always_alike() -> None:
    first = maps.next_place(DESIGN, ())
    assert first == maps.next_place(DESIGN, ()) and 500 < first[1] < 2_000
    lost = maps.shown_by(DESIGN, seen(first[0], first[1], 5_000.0))
    kept = maps.shown_by(DESIGN, seen(first[0], first[1], 200.0))
    assert {maps.next_place(DESIGN, (each,))[0] for each in (lost, kept)}.isdisjoint({first[0]})
    assert maps.next_place(DESIGN, (lost,))[1] > first[1] > maps.next_place(DESIGN, (kept,))[1]
    elsewhere = maps.next_place(DESIGN, (), frozenset({first[0]}))[0]
    assert elsewhere != first[0]
    trials = placed(700.0, 12)
    assert {trial.live for trial in trials[: len(LIVES)]} == set(LIVES)
    assert all(abs(math.log(trial.interval_ns / 700.0)) < 0.7 for trial in trials[-4:])


def test_a_boundary_is_found_and_wants_trials_on_both_sides() -> None:
    trials = placed(700.0, 15)
    for live in LIVES:
        point = maps.boundary_at(trials, LIVES, live, 100.0)
        assert point and point.low < 700.0 < point.high < 4 * point.low
    few, lost = trials[: maps.FEWEST_TRIALS - 1], tuple(seen(100, 500.0, 5_000.0) for _ in range(15))
    assert maps.boundary_at(few, LIVES, 100, 100.0) is None and maps.boundary_at(lost, LIVES, 100, 100.0) is None
    between = max(size for size in LOOKS if size < 15) + 1
    at_look = maps.boundary_at(trials[: between - 1], LIVES, 100, 100.0)
    assert maps.boundary_at(trials[:between], LIVES, 100, 100.0) == at_look, "trials wait for the next look"


def test_two_boundaries_are_compared_and_the_same_is_never_told_apart() -> None:
    lives = (LIVES[0], LIVES[-1])
    asked = [(placed(3_000.0, 15), placed(500.0, 15), live) for live in lives]
    assert {compared.verdict for compared in maps.judged_together(asked, LIVES, 100.0)} == {B_CHEAPER}
    turned = [(b, a, live) for a, b, live in asked]
    assert {compared.verdict for compared in maps.judged_together(turned, LIVES, 100.0)} == {A_CHEAPER}
    same = maps.judged_together([(asked[0][1], asked[0][1], LIVES[0])], LIVES, 100.0)[0]
    assert same.verdict == OPEN and same.decision.blocks_needed
    nothing = maps.judged_together([((), (), LIVES[0])], LIVES, 100.0)[0].decision
    assert (nothing.verdict, nothing.blocks_needed) == (OPEN, maps.FEWEST_TRIALS)


def test_bands_hold_and_nothing_is_decided_wrongly_where_the_truth_is_known() -> None:
    found = proof.errors(2, sizes=(12,), widths=(0.2,)).set_index("truth")
    assert (found["holds"] >= 0.85).all() and (found["false"] == 0).all()
    assert found["decided"]["straight"] > 0
    shipped = proof.load()
    assert set(shipped["truth"]) == set(proof.TRUTHS) and set(shipped["n"]) == set(proof.SIZES)
    assert (shipped["false"] <= 0.05).all()


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [(-0.5, -0.1, A_CHEAPER), (0.1, 0.5, B_CHEAPER), (-0.05, 0.05, EQUIVALENT), (-0.3, 0.3, OPEN),
     (-math.inf, math.inf, OPEN)],
)  # fmt: skip
def test_the_ends_of_an_interval_decide(low: float, high: float, verdict: str) -> None:
    compared = of_interval((low + high) / 2 if math.isfinite(low) else 0.0, low, high, 10)
    assert compared.verdict == verdict and (compared.decision.blocks_needed == 0) == (verdict != OPEN)


def measurement(spec: dict[str, Any], edge_ns: float) -> dict[str, Any]:
    """Of a trial that loses below ``edge_ns``, and keeps 1 ms otherwise."""
    lost = round(1_000 * max(0.0, 1 - spec["interval_ns"] / edge_ns))
    account = dict.fromkeys((
        "generated", "lost", "left", "warmup_generated", "warmup_lost", "warmup_left", "pushed", "last_pushed", "t0_ns",
        "end_ns", "slip_total_ns", "cpu_ns", "clock_is_tsc", "pinned", "processor", "moves",
    ), 0)  # fmt: skip
    consumption = dict.fromkeys((
        "received", "warmup_received", "missing", "warmup_missing", "last_sequence", "start_ns", "measured_start_ns",
        "end_ns", "stalled_ns",
    ), 0)  # fmt: skip
    figures = dict.fromkeys(("left", "start_ns", "bursts", "slips", "slip_total_ns", "slip_max_ns"), 0)
    return {
        "interval_ns": spec["interval_ns"], "capacity": 1, "warmup_ticks": 0,
        "account": {**account, "clock_drift_ppm": 0.0, "clock_max_error_ns": 0.0},
        "placement": {**dict.fromkeys(("source_processor", "consumer_processor", "shared_core")), "source_moves": 0,
                      "consumer_moved": False, "consumer_preempted": 0, "pinned": False},
        "consumption": consumption, "delays": [[20_000, 1]], "bursts": [], "bursts_left_out": 0, "slips": [],
        "slips_left_out": 0, "samples": [], "samples_left_out": 0, "majors": 0, "cap_reached": True,
        "figures": {**figures, "generated": 1_000, "received": 1_000 - lost, "lost": lost, "end_ns": 10**8},
        "cpu": {"start_ns": 0, "end_ns": 1, "process_ns": 1, "threads": []}, "counts": {}, "checksum": "0" * 16,
        "peak_rss_mb": 1.0, "prologue": {"fill": [], "warmup": []}, "set_up_ns": 1,
    }  # fmt: skip


class Runner:
    """In place of the trials: pooling keeps up at a quarter of the interval; the heap can't hold some live sets."""

    def __init__(self) -> None:
        self.order: list[Task] = []
        self.ends_after = 10_000
        self.too_many = 10**9
        self.edge_ns: Callable[[Mapping[str, Any]], float] = lambda spec: 600.0 * FASTER[spec["strategy"]]

    def __call__(self, task: Task, launch: Launch, host: Any, meter: PaceMeter, limit: float | None) -> TrialRecord:
        if len(self.order) >= self.ends_after:
            raise KeyboardInterrupt
        self.order.append(task)
        spec = task.spec.model_dump(mode="json")
        held = spec["queue_size"] + spec["stored_count"] < self.too_many
        record = TrialRecord(
            trial_id=task.trial_id, spec=spec, launch=launch, command=(), exit_code=0, host=host, wall_s=1.0, cpu_s=1.0,
            started_utc="2026-01-01T00:00:00", load_before=0.0, attempt=task.attempt, disturbed=None,
            status="ok" if held else "out_of_memory", reason=None if held else "Java heap space",
            measurement=measurement(spec, self.edge_ns(spec)) if held else None,
        )  # fmt: skip
        task.folder.mkdir(parents=True)
        write_atomically(task.folder / RESULT, record.model_dump_json())
        return record


@pytest.fixture
def runner(data: Path, monkeypatch: pytest.MonkeyPatch) -> Runner:
    runner = Runner()
    monkeypatch.setattr(campaign, "run_trial", runner)
    monkeypatch.setattr("allocpool.trial.launch.Launcher.launch_of", lambda _self, _spec: Launch(code_hash=""))
    monkeypatch.setattr("allocpool.trial.launch.Launcher.pace_meter", lambda _self: PaceMeter(None))
    return runner


def opened(trials: int, schedule: str = "sequential") -> campaign.Campaign:
    part = {
        "configurations": ["java/heap/g1/25"], "live_messages": list(LIVES), "heap_mb": 256, "seconds": 0.5,
        "trials": trials,
    }  # fmt: skip
    return campaign.open_study("realtime", "quick", {"sweeps": {}, "schedule": schedule, "decision_map": part})


@pytest.mark.parametrize("schedule", ["sequential", "fixed"])
def test_a_map_is_measured_stopped_and_resumed_by_what_its_trials_showed(runner: Runner, schedule: str) -> None:
    def run() -> campaign.Campaign:
        chosen = opened(12, schedule)
        if schedule == "fixed":
            sequential.measure([chosen])
        else:
            sequential.measure([chosen], None)
        return chosen

    runner.ends_after = 7
    with pytest.raises(KeyboardInterrupt):
        run()
    runner.ends_after = 10_000
    chosen = run()
    assert len(runner.order) == 24 == len({task.trial_id for task in runner.order})
    assert {task.spec.block for task in runner.order} == set(range(12))
    run()
    assert len(runner.order) == 24, "a second run measures nothing"
    questions = chosen.questions_table()
    decided = questions[questions["a"].str.contains("live, 100 ms")]
    assert set(decided["verdict"]) == {B_CHEAPER} and not questions["primary"].any()
    assert len(chosen.records()) == 24 == chosen.status().finished

    tables = tidy.tables_of(chosen.study, chosen.records())
    assert len(tables["map"]) == 24 and tables["trials"].empty
    assert set(maps.comparisons(tables["map"])["verdict"]) == {B_CHEAPER}
    assert "pooling keeps up with a higher rate in 3, allocating in 0" in story.map_verdict(tables)
    figure = story.decision_map(tables, (1_000.0, 1e6))
    titles = [axis.get_title() for axis in figure.axes]
    assert titles == ["G1, JDK 25\nwithin 100 ms"], "within 10 ms no trial shows anything"
    lines = [line for line in figure.axes[0].get_lines() if len(np.asarray(line.get_xdata())) == len(LIVES)]
    assert [line.get_linestyle() for line in lines] == ["-", "--"]
    alloc, pool = (np.asarray(line.get_ydata(), dtype=float) for line in lines)
    assert (pool > 2 * alloc).all()
    assert len(story.map_table(tables)) == 6
    faster = tables["map"].assign(interval_ns=2 * tables["map"]["interval_ns"].min())
    for trials in (tables["map"], faster):
        bounded = maps.boundaries(trials)
        assert (bounded["edge_ns"].dropna() >= trials["interval_ns"].min()).all()
        assert bounded.loc[bounded["at_least"], "edge_ns"].isin(trials["interval_ns"]).all()

    # What is decided comes first.
    undecided = cells(adaptive(), adaptive(strategy="alloc"))
    of_cells, mapped = story.verdict(undecided), story.map_verdict(tables)
    assert of_cells.startswith("**Inconclusive.**") and not mapped.startswith("**Inconclusive.**")
    largest = {**tables, "map": tables["map"].assign(heap_mb=4096)}
    assert story.conclusion(largest, undecided) == f"{story.map_verdict(largest)}\n\n{of_cells}"
    assert story.conclusion(tables, undecided) == of_cells, "the caption of a larger heap's map has its own verdict"


@pytest.mark.parametrize(("own_mb", "elsewhere"), [(None, True), (512, True), (2048, False), (4096, False)])
def test_the_map_of_the_largest_heap_is_shown_and_its_host_named(
    monkeypatch: pytest.MonkeyPatch, own_mb: int | None, elsewhere: bool
) -> None:
    stored = pd.DataFrame({"host_id": ["other", "other", "third"], "heap_mb": [2048, 2048, 512]})
    monkeypatch.setattr(hosts, "tables_of_hosts", lambda *_: {"map": stored})
    own = pd.DataFrame({"heap_mb": [own_mb] if own_mb else []}, dtype="int64")
    found, host = story.of_largest_heap({"map": own})
    assert bool(host) == elsewhere
    assert list(found["map"]["heap_mb"]) == ([2048, 2048] if elsewhere else [own_mb])
