"""Cells by adaptive trials: where the next one goes, and what they and a page show, on made-up truth."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import pandas as pd
import pytest
from great_tables import GT
from test_decision_map import Runner, runner

from allocpool import home
from allocpool.campaign import campaign, sequential, store, tidy
from allocpool.campaign.registry import study_named
from allocpool.decisions import B_CHEAPER, FEWEST, OPEN
from allocpool.errors import UserError
from allocpool.evidence.claims import AS_PUBLISHED, REPRODUCED
from allocpool.packets.cells import CONFIGURATION
from allocpool.packets.comparisons import NOW
from allocpool.studies.realtime import adaptive, claims, explanations, proof, story
from allocpool.studies.realtime.adaptive import AdaptiveTrials, Seen
from allocpool.studies.realtime.cells import realtime_cells
from allocpool.studies.realtime.specs import COMPARISON_INTERVAL_NS, PDR_LOSS_RATIO
from allocpool.studies.realtime.study import RealtimeProfile, plan_sweeps

__all__ = ["runner"]
LOW_NS, HIGH_NS = 20.0, 10_000.0


def seen(interval_ns: float, edge_ns: float, source_stall_ms: float = 0.0) -> Seen:
    """A trial of a boundary without any softness, with a queue of 30 ms."""
    lost = interval_ns < edge_ns
    return Seen(
        2, interval_ns, 30.0, math.inf if lost else 1.0, source_stall_ms, 1 - interval_ns / edge_ns if lost else 0.0
    )


def series(edge_ns: float, count: int, silent: Sequence[int] = ()) -> list[Seen]:
    """Trials placed one after the other; the source stalls in the silent ones."""
    trials: list[Seen] = []
    for number in range(count):
        shown = tuple(adaptive.shown_by(each, PDR_LOSS_RATIO) for each in trials)
        trials.append(seen(adaptive.next_interval(LOW_NS, HIGH_NS, shown), edge_ns, 20.0 if number in silent else 0.0))
    return trials


def cell(edge_ns: float, count: int = 10) -> AdaptiveTrials:
    trials = series(edge_ns, count)
    outcomes = adaptive.outcomes_of(trials, PDR_LOSS_RATIO)
    return AdaptiveTrials(outcomes, 0, max(each.interval_ns for each in trials))


@pytest.mark.parametrize("edge_ns", [30.0, 140.0, 900.0, 7_000.0])
def test_trials_gather_where_losses_begin(edge_ns: float) -> None:
    trials = series(edge_ns, 10)
    assert trials[0].interval_ns == COMPARISON_INTERVAL_NS, "the published losses are of this interval"
    assert all(LOW_NS <= each.interval_ns <= HIGH_NS for each in trials)
    assert all(abs(math.log(each.interval_ns / edge_ns)) < 0.5 for each in trials[-4:])
    middle, low, high = cell(edge_ns).interval_ns()
    assert low < edge_ns < high < 2 * low, "ten trials know it within a factor of two"
    assert abs(math.log(middle / edge_ns)) < 0.3


def test_a_silent_trial_is_asked_again_and_tells_nothing() -> None:
    trials = series(140.0, 11, silent=(0,))
    assert trials[1].interval_ns != trials[2].interval_ns
    assert len(adaptive.outcomes_of(trials, PDR_LOSS_RATIO)) == 10
    few = AdaptiveTrials(adaptive.outcomes_of(series(140.0, 8, silent=range(4)), PDR_LOSS_RATIO), 4, HIGH_NS)
    assert few.gap == "fewer than 5 trials with an outcome, besides 4 in which the source stalled"
    assert (few.p_below(1e5), few.p_above(20.0), few.p_below(few.highest_ns)) == (1.0, 1.0, 1.0)


def test_a_boundary_is_shown_to_lie_on_a_side_of_a_limit_and_no_further() -> None:
    known = cell(140.0)
    assert known.p_below(300.0) < 0.01 < 0.5 <= known.p_above(300.0)
    assert known.p_above(70.0) < 0.01 < 0.5 <= known.p_below(70.0)
    assert min(known.p_below(140.0), known.p_above(140.0)) > 0.05
    assert known.p_below(known.highest_ns) < 0.01 and known.p_above(known.highest_ns) >= 0.5
    assert known.p_above(2 * known.highest_ns) == 1.0, "nothing so long was tried"


def test_where_no_interval_passes_the_longest_is_tried_until_that_is_shown() -> None:
    lost = cell(1e6)
    assert lost.highest_ns == HIGH_NS and not lost.passes and lost.p_above(HIGH_NS) < 0.01
    assert all(map(math.isnan, lost.interval_ns()))
    works = cell(140.0)
    assert adaptive.p_smaller(works, lost) < 0.01 and adaptive.p_smaller(lost, works) >= 0.5


def test_two_cells_are_told_apart_by_their_trials_and_more_only_help() -> None:
    left, right = cell(140.0), cell(420.0)
    assert adaptive.p_smaller(left, right) < 0.01 and adaptive.p_smaller(left, right, by=4.0) > 0.05
    assert adaptive.p_smaller(left, left) > 0.05
    assert adaptive.p_smaller(cell(140.0, 15), cell(420.0, 15)) < adaptive.p_smaller(left, right)
    judge = adaptive.AdaptiveJudge(PDR_LOSS_RATIO)
    compared = judge(series(420.0, 10), series(140.0, 10))
    assert compared.verdict == B_CHEAPER and compared.decision.low < 3 < compared.decision.high
    few = judge(series(420.0, 4), series(140.0, 10))
    assert few.verdict == OPEN and few.decision.blocks_needed == 1


@pytest.mark.long
def test_errors_are_within_what_is_stated_as_stored_and_again() -> None:
    stored, again = proof.load(proof.CELLS_FILE), proof.cell_errors(60, (10,))
    for rates in (stored, again):
        room = 3 * math.sqrt(0.05 / rates["repetitions"].iloc[0])
        assert rates["holds"].min() > 0.95 - room
        assert rates[["false", "false_claims", "false_loses"]].max().max() < 0.05 + room
        assert rates.loc[(rates["ratio"] == 3) & (rates["n"] == 10), "decided"].min() > 0.9


def test_cells_of_the_published_sizes_stand_on_the_pages_of_other_profiles() -> None:
    summary, decided, why = story.published_sizes_tables("standard")
    assert isinstance(summary, GT) and isinstance(decided, GT) and isinstance(why, GT)
    trials = [int(n) for n in re.findall(r"n = (\d+) trials", summary.as_raw_html())]
    assert len(trials) == 108 and min(trials) >= 7  # of 8; a trial whose source stalled does not count
    assert decided.as_raw_html().count("<tr>") == 30
    assert story.published_sizes_tables("article") == []


def test_a_full_pool_under_parallel_fails_by_full_collections() -> None:
    """What pages 03 and 04 say in prose, of the shipped results."""
    measured, about = store.stored("realtime", "article")
    assert about is not None
    verdicts = claims.of_campaign(measured, about["profile"])
    found = explanations.of_claims(measured, realtime_cells(measured), verdicts)
    in_a = [each for each in found if "Parallel" in each.asked.comparison and each.asked.comparison.endswith("pool A")]
    for change in (explanations.SMALL, explanations.ROOMY, explanations.PATIENT):
        helps = [each.effect.direction > 0 for each in in_a if each.asked.changed == change.words]
        assert helps == [True, True], change.words
    of_pauses, _ = store.stored("pauses", "standard")
    pauses = of_pauses["pauses"].merge(of_pauses["trials"], on="trial_id")
    pauses = pauses[(pauses["mode"] == "batch") & (pauses["layout"] == "heap") & (pauses["strategy"] == "pool")]
    full = (pauses["kind"] == "Full").groupby([pauses["collector"], pauses["case"]]).all()
    assert full.loc[["parallel", "serial"]].all() and full.loc[["parallel", "serial"]].size == 6
    assert not full.loc[["g1"]].any()


KEY = "java/heap/g1/25"
CASES = ["B", "C"]


def opened(trials: int = 10, schedule: str = "fixed") -> campaign.Campaign:
    part = {"configurations": [KEY], "strategies": ["alloc", "mix", "pool"], "cases": CASES, "scale": 0.01}
    times = {"full_seconds": 0.1, "cap_seconds": 0.3, "warmup_seconds": 0.03, "prologue_seconds": 0.03}
    settings = {"sweeps": {}, "decision_map": {}, "schedule": schedule, "blocks": trials, **part, **times}
    return campaign.open_study("realtime", "quick", settings)


def test_adaptive_cells_are_measured_stopped_resumed_and_told(runner: Runner) -> None:
    runner.ends_after = 25
    assert len(opened().first_round_specs()) == 60 and "60 trials in all" in sequential.plan_in_words(opened())
    assert len(opened(FEWEST).first_round_specs()) == 6 * FEWEST  # as a question's own number, secondary ones too
    with pytest.raises(KeyboardInterrupt):
        sequential.measure([opened()])
    status = opened().status()
    assert (status.planned, status.finished, status.missing) == (60, 25, 35)
    runner.ends_after = 10_000
    chosen = opened()
    sequential.measure([chosen])
    assert len(runner.order) == 60 == len({task.trial_id for task in runner.order}), "three strategies, two cases"
    sequential.measure([chosen])
    assert len(runner.order) == 60 == chosen.status().finished and chosen.status().complete
    questions = chosen.questions_table()
    assert len(questions) == 6 and questions["primary"].sum() == 2
    assert set(questions.loc[questions["primary"], "verdict"]) == {B_CHEAPER}

    tables = tidy.tables_of(chosen.study, chosen.records())
    assert len(tables["adaptive"]) == 60 and tables["trials"].empty and tables["map"].empty
    plan = chosen.plan_summary()
    pairs = [(strategy, case) for strategy in ("alloc", "mix", "pool") for case in CASES]
    cells = realtime_cells(tables, plan, pairs)
    assert len(cells) == 6 and all(each.decides for each in cells["every_pdr"])
    both = story.pool_or_allocate(cells)
    assert both["decided"].tolist() == [story.POOLING] * 2 and (both["ratio"].between(3, 5)).all()
    assert story.verdict(cells).startswith("**In real time: pool.**")
    assert "n = 10 trials" in story.summary_table(cells, "t", "s").as_raw_html()
    assert isinstance(chosen.profile, RealtimeProfile)
    found = claims.POOL_EVERYWHERE.evidence(claims.Realtime.of(cells, tables["trials"], NOW))
    assert found.rows["shown"].tolist() == [AS_PUBLISHED] * 2
    verdicts = claims.evaluate(cells, tables["trials"])
    assert all(verdict.outcome != REPRODUCED for verdict in verdicts), (
        "of one configuration in two cases no claim is whole"
    )


ZGC = "java/heap/genzgc/25"
CHANGED: list[dict[str, Any]] = [
    {"configurations": [ZGC], "strategies": ["pool"], "cases": ["C"], "heap_factor": 5},
    {"configurations": [ZGC], "strategies": ["pool"], "cases": ["C"], "queue_factor": 10},
    {"configurations": [f"{ZGC}/fresh"], "strategies": ["pool"], "cases": ["C"]},
]


def test_the_last_trials_of_a_cell_are_at_the_interval_that_its_source_states() -> None:
    cells = {"configurations": ["cpp/flat"], "cases": ["C"]}
    asked = {
        **cells,
        "strategies": ["alloc", "pool"],
        "stated": [{**cells, "strategies": ["pool"], "interval_ns": 250}],
    }
    opened = campaign.open_study("realtime", "smoke", {**asked, "blocks": 10})
    place: Any = study_named("realtime").adaptive
    sides: Any = opened.questions[0].cells
    placed = {(cell.strategy, block): place(opened.profile, cell, block, ()).interval_ns
              for cell in sides for block in (4, 5, 9, 10)}  # fmt: skip
    assert {key for key, ns in placed.items() if ns == 250} == {("pool", 5), ("pool", 9)}


def test_queues_and_heaps_are_varied_of_those_that_are_named() -> None:
    factors = {"queue_factors": [1, 10], "intermediate_factors": [10], "heap_factors": [1, 5]}
    both = {"configurations": [KEY, "java/heap/zgc/11"], "strategies": ["pool"], **factors}
    for named, varied in (({}, 8), ({"queues_of": [KEY]}, 6), ({"queues_of": [], "heaps_of": [KEY]}, 3)):
        opened = campaign.open_study("realtime", "smoke", {"configurations": [], "sweeps": {**both, **named}})
        profile: Any = opened.profile
        trials: Any = [item.spec for item in plan_sweeps(profile, 0)]
        assert len(trials) == varied
        assert sum(trial.configuration.key == KEY for trial in trials) == (2 if "heaps_of" in named else 4)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"low_ns": 500.0, "high_ns": 100.0}, "low_ns 500 is not below high_ns 100"),
        ({"cap_seconds": 1.0}, "cap_seconds 1 is below full_seconds 4"),
        ({"configurations": ["cpp/slab"]}, "cpp/slab/glibc pool is compared with nothing"),
        ({"configurations": ["cpp/flat", "java/flat/g1/25"], "strategies": ["pool"]}, "another configuration in cpp"),
        ({"configurations": [f"{KEY}/fresh"]}, "name it under changed"),
        ({"changed": [{**CHANGED[0], "queue_factor": 10}]}, "heap_factor, queue_factor changed: give one"),
        ({"changed": [{**CHANGED[0], "heap_factor": 1}]}, "has nothing changed: give one thing"),
        ({"changed": [{**CHANGED[0], "configurations": ["cpp/flat"]}]}, "heap_factor belongs to Java"),
        ({"changed": [{**CHANGED[1], "queue_factor": 1e3}]}, "queue_factor"),
        ({"stated": [{**CHANGED[2], "interval_ns": 9}]}, "is none of configurations"),
        ({"sweeps": {"configurations": [KEY], "queues_of": ["cpp/flat"]}}, "queues_of: cpp/flat/glibc is none of"),
        ({"sweeps": {"configurations": [KEY], "heaps_of": ["cpp/flat"]}}, "heaps_of: cpp/flat/glibc is none of"),
        ({"cap_seconds": 0.3, "full_seconds": 0.3, "major_collections": 0}, "give a longer cap"),
    ],
)
def test_a_wrong_setting_is_one_clear_line(settings: dict[str, object], said: str) -> None:
    with pytest.raises(UserError) as error:
        campaign.open_study("realtime", "quick", settings)
    assert said in str(error.value) and "\n" not in str(error.value).strip()


def test_boundaries_and_the_searches_of_mlrsearch_agree() -> None:
    """The brackets that MLRsearch made of its trials, and the boundary fitted to those of full length."""
    checked = pd.read_csv(home.home() / "data" / "checked" / "searches.csv")
    assert checked["agrees"].notna().sum() > 100 and checked["agrees"].dropna().all()
    for name, stored in checked.groupby("campaign"):
        tables, _ = store.read_folder(study_named("realtime"), home.shipped_dir() / str(name) / "realtime", "")
        fitted = stored[list(CONFIGURATION)].merge(realtime_cells(tables))
        assert not any(each.decides for each in fitted["every_pdr"]), "its trials lie minutes apart"
        edges_ns = fitted["ndr_ns"].fillna(math.inf).tolist()
        assert edges_ns == pytest.approx(stored["edge_ns"].tolist(), rel=1e-3)
        known = stored[stored["agrees"].notna()]
        assert ((known["low_ns"] <= known["passes_ns"]) & ~(known["fails_ns"] > known["high_ns"])).all()
