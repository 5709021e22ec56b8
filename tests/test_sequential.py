"""Campaigns whose questions decide what is run: within their time, no trial twice, and never wrong more often than
stated."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from allocpool.campaign import campaign, sequential
from allocpool.campaign.campaign import Campaign
from allocpool.campaign.registry import STUDY_NAMES
from allocpool.campaign.schedule import Progress, Question, decisions_of, next_round
from allocpool.campaign.study import Machine
from allocpool.decisions import ALPHA, FEWEST, OPEN
from allocpool.errors import UserError
from allocpool.files import write_atomically
from allocpool.trial.noise import PaceMeter
from allocpool.trial.record import RESULT, Launch, TrialRecord
from allocpool.trial.runner import Task

SETTINGS: dict[str, Any] = {
    "schedule": "sequential",
    "blocks": 1,
    "configurations": ["cpp/allocating", "cpp/flat"],
    "strategies": ["alloc", "mix", "pool"],
    "cases": ["A", "B"],
    "groups": {},
}
WALL_S = 1.0
COST_S = WALL_S + sequential.BETWEEN_TRIALS_S
UP_TO_A_LOOK_S = 10 * COST_S
"""What is left where the trials up to the next look of no question fit."""


class Runner:
    """In place of the trials: allocating costs ``ratio`` times as much, with lognormal noise; a second each."""

    def __init__(self, ratio: float = 2.0, spread: float = 0.05) -> None:
        self.ratio, self.spread = ratio, spread
        self.order: list[Task] = []
        self.ends_after: int | None = None
        self.disturbs: Callable[[Task], bool] = lambda _task: False
        self.takes_s: Callable[[Any], float] = lambda _spec: WALL_S

    def __call__(self, task: Task, launch: Launch, host: Any, meter: PaceMeter, limit: float | None) -> TrialRecord:
        if self.ends_after is not None and len(self.order) >= self.ends_after:
            raise KeyboardInterrupt
        self.order.append(task)
        rng = np.random.default_rng(int(task.trial_id[:8], 16) + task.attempt)
        spec = task.spec.model_dump(mode="json")
        mean = 100.0 * (self.ratio if spec["strategy"] == "alloc" else 1.0)
        record = TrialRecord(
            trial_id=task.trial_id, spec=spec, status="ok", launch=launch, command=(), exit_code=0, host=host,
            started_utc="2026-01-01T00:00:00", wall_s=self.takes_s(task.spec), cpu_s=1.0, load_before=0.0,
            attempt=task.attempt,
            measurement=measurement(mean * float(np.exp(self.spread * rng.standard_normal()))),
            disturbed="steal" if self.disturbs(task) else None,
        )  # fmt: skip
        task.folder.mkdir(parents=True)
        write_atomically(task.folder / RESULT, record.model_dump_json())
        return record


def measurement(cost_ns: float) -> dict[str, Any]:
    window = [[0, int(1e6 * cost_ns), 1_000_000]]
    return {
        "set_up_ns": 1, "fill_packets": 1, "iterations": {"fill": [], "warmup": [], "measured": window},
        "cpu": {"start_ns": 0, "end_ns": 1, "process_ns": 1, "threads": []}, "counts": {}, "checksum": "0" * 16,
        "allocated_bytes": None, "peak_rss_mb": 1.0, "live_objects": None, "disorder_bytes": None,
        "memory": {"huge_pages_mb": None},
    }  # fmt: skip


@pytest.fixture
def runner(data: Path, monkeypatch: pytest.MonkeyPatch) -> Runner:
    runner = Runner()
    monkeypatch.setattr(campaign, "run_trial", runner)
    monkeypatch.setattr("allocpool.trial.launch.Launcher.launch_of", lambda _self, _spec: Launch(code_hash=""))
    monkeypatch.setattr("allocpool.trial.launch.Launcher.pace_meter", lambda _self: PaceMeter(None))
    return runner


def opened(**changes: Any) -> Campaign:
    return campaign.open_study("batch", "smoke", {**SETTINGS, **changes})


def run(minutes: float | None, **changes: Any) -> Campaign:
    """Without its tables: those of trials that were not run are no concern here."""
    chosen = opened(**changes)
    sequential.measure([chosen], None if minutes is None else 60 * minutes)
    return chosen


def records(data: Path) -> dict[str, int]:
    return {path.parent.name: path.stat().st_mtime_ns for path in (data / "raw").glob(f"*/{RESULT}")}


def test_the_first_round_gives_primary_cells_enough_and_runs_the_rest_of_the_plan_once(runner: Runner) -> None:
    done = run(None)
    trials = Counter(task.spec.model_copy(update={"block": 0}) for task in runner.order)
    primary = {cell for question in done.questions if question.primary for cell in question.cells}
    assert len(primary) == 8 and len(trials) == 12
    assert all(n == (FEWEST if cell in primary else 1) for cell, n in trials.items())
    # In whole rounds, and what no primary question asks for comes after them.
    assert [task.spec.block for task in runner.order] == [0] * 8 + [1] * 8 + [2] * 8 + [3] * 8 + [4] * 8 + [0] * 4
    assert done.status().complete and done.status().planned == 44
    assert (done.status().primary.decided, done.status().primary.open) == (4, 0)


def test_it_stops_when_all_is_decided(runner: Runner) -> None:
    done = run(60)
    assert all(decision.verdict != OPEN for decision in done.decisions())
    assert len(runner.order) * COST_S < 1800
    before = len(runner.order)
    run(120)
    assert len(runner.order) == before


@pytest.mark.parametrize("minutes", [0.1, 0.5, 2.0])
def test_the_time_is_kept_and_primary_cells_come_first(runner: Runner, minutes: float) -> None:
    runner.ratio, runner.spread = 1.05, 0.3
    run(minutes)
    assert 60 * minutes - UP_TO_A_LOOK_S < len(runner.order) * COST_S <= 60 * minutes
    if minutes < 0.6:
        assert {getattr(task.spec, "strategy", "") for task in runner.order} == {"alloc", "pool"}


def test_more_minutes_go_on_from_there_and_as_many_change_nothing(runner: Runner, data: Path) -> None:
    runner.ratio, runner.spread = 1.05, 0.3
    run(2)
    first = records(data)
    run(2)
    assert records(data) == first
    run(3)
    after = records(data)
    assert len(after) > len(first) and {name: after[name] for name in first} == first
    assert 120 < len(after) * COST_S <= 180


@pytest.mark.parametrize("ends_after", [3, 30, 60, 90])
def test_killed_half_way_and_resumed_it_repeats_nothing_and_leaves_no_hole(
    runner: Runner, data: Path, ends_after: int
) -> None:
    runner.ratio, runner.spread, runner.ends_after = 1.05, 0.3, ends_after
    with pytest.raises(KeyboardInterrupt):
        run(3)
    runner.ends_after = None
    done = run(3)
    assert len(runner.order) == len({task.trial_id for task in runner.order}) == len(records(data))
    for cell in done.cells:
        assert [task.spec.block for task in done.trials_of(cell)] == list(range(len(done.trials_of(cell))))
    assert 180 - UP_TO_A_LOOK_S < len(runner.order) * COST_S <= 180


def test_several_campaigns_share_the_time_and_trials_that_both_ask_for(runner: Runner) -> None:
    runner.ratio, runner.spread = 1.05, 0.3
    both = [opened(cases=["A"]), opened(order_seed=3)]
    sequential.measure(both, 120)
    assert len(runner.order) == len({task.trial_id for task in runner.order})
    assert 120 - UP_TO_A_LOOK_S < len(runner.order) * COST_S <= 120
    assert all(
        len(each.trials_of(cell)) >= FEWEST
        for each in both
        for cell in each.cells
        if cell.block == 0 and _asked(each, cell)
    )


def _asked(chosen: Campaign, cell: Any) -> bool:
    return any(question.primary and cell in question.cells for question in chosen.questions)


def test_a_record_that_cannot_be_read_is_not_run_for_ever(runner: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(task: Task, *rest: Any) -> TrialRecord:
        record = Runner.__call__(runner, task, *rest)
        if getattr(task.spec, "layout", "") == "flat":
            (task.folder / RESULT).write_text("{", encoding="utf-8")
        return record

    monkeypatch.setattr(campaign, "run_trial", broken)
    run(None)
    assert len(runner.order) < 60


def test_notebooks_that_only_show_measure_nothing(runner: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(campaign.SHOW_ONLY, "1")
    assert opened().run().missing == 12
    assert not runner.order


def test_a_fixed_plan_takes_no_minutes(data: Path) -> None:
    with pytest.raises(UserError, match=r"profile .* runs a fixed plan: leave the minutes out"):
        opened(schedule="fixed").run(20)


@pytest.mark.parametrize("text", ["0", "-1", "nan", "inf", "soon"])
def test_minutes_are_a_number_above_0(text: str) -> None:
    with pytest.raises(UserError, match="minutes are a number above 0, for example 20"):
        sequential.minutes_from(text)


@pytest.mark.parametrize("study", STUDY_NAMES)
@pytest.mark.parametrize("profile", ["quick", "standard"])
def test_cells_are_planned_in_block_0_and_further_blocks_are_those_of_a_longer_plan(study: str, profile: str) -> None:
    chosen = campaign.open_study(study, profile)
    machine = Machine(cores=2)
    questions = chosen.study.questions(chosen.profile, machine)
    assert len(set(questions)) == len(questions)
    planned = {item.spec for item in chosen.study.plan(chosen.profile, machine)}
    cells = {cell for question in questions for cell in question.cells}
    assert cells <= planned and {cell.block for cell in cells} <= {0}
    longer = chosen.profile.model_copy(update={"blocks": chosen.profile.blocks + 1})
    more = {json.dumps(item.spec.model_dump(mode="json")) for item in chosen.study.plan(longer, machine)}
    if chosen.study.adaptive:  # by what earlier blocks show; the first one by nothing
        assert cells == {chosen.study.adaptive(chosen.profile, cell, 0, ()) for cell in cells}
        return
    for cell in cells:
        further = type(cell)(**{**cell.model_dump(), "block": longer.blocks - 1})
        assert json.dumps(further.model_dump(mode="json")) in more


def false_decisions(seed: int, spread: float, rounds: int) -> int:
    """Verdicts of a difference, in a campaign of 10 questions that are all A/A, at the moment when most are wrong."""
    rng = np.random.default_rng(seed)
    questions = [Question(f"a{k}", f"b{k}", primary=k < 7) for k in range(10)]
    spreads = {cell: spread * (1 + 2 * (k % 3 == 0)) for k, q in enumerate(questions) for cell in q.cells}
    costs: dict[str, list[float]] = {cell: [] for cell in spreads}
    most = 0
    for _ in range(rounds):
        wanted = next_round(questions, Progress(costs, {}), lambda _cell: 1.0, 1e9)
        for cell, n in wanted.items():
            costs[cell] += list(np.exp(spreads[cell] * rng.standard_normal(n)))
        verdicts = [found.verdict for found in decisions_of(questions, Progress(costs, {}))]
        most = max(most, sum(verdict.endswith("cheaper") for verdict in verdicts))
    return most


def test_what_the_schedule_chooses_is_false_no_more_often_than_stated() -> None:
    """Where nothing differs, any decision is false: a campaign has one, at any time, in 5% at most of each of its two
    families (false discovery rate under the complete null is the chance of any)."""
    campaigns = 24
    wrong = sum(false_decisions(seed, 0.1, FEWEST + 7) > 0 for seed in range(campaigns))
    expected = 2 * ALPHA * campaigns
    assert wrong <= expected + 2.6 * np.sqrt(expected), wrong
