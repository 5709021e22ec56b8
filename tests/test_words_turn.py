"""Sentences follow the data: of the same tables the other way round, every one of them says the opposite."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import pytest
import synthetic

from allocpool.evidence.style import alt
from allocpool.packets.plots import stability, wall_against_cpu
from allocpool.packets.strategies import STRATEGIES
from allocpool.studies.batch import story as batch_story
from allocpool.studies.native import story as native_story
from allocpool.studies.pauses import story as pauses_story
from allocpool.studies.pauses.overhead import lower_bound_overhead

BLOCKS = 6
DEARER = 3.0


def campaign(dear: str, least: float = 100.0, factor: float = DEARER) -> pd.DataFrame:
    """Trials of every solution, those with the strategy ``dear`` so many times dearer."""
    return synthetic.trials(
        blocks=BLOCKS, noise=0.01, centre=lambda row: least * (factor if row["strategy"] == dear else 1.0)
    )


@pytest.fixture(scope="module")
def campaigns() -> Mapping[str, pd.DataFrame]:
    """By the strategy that is dear; under ``mix`` allocating and the pool cost the same."""
    return {dear: campaign(dear) for dear in ("alloc", "pool", "mix")}


def test_the_answer_of_batch_turns(campaigns: Mapping[str, pd.DataFrame]) -> None:
    told = {dear: batch_story.verdict(trials) for dear, trials in campaigns.items()}
    heads = {dear: text.partition(".")[0] for dear, text in told.items()}
    assert len(set(heads.values())) == 3, heads
    assert "pool" in heads["alloc"].lower() and "allocate" in heads["pool"].lower()
    assert "matter" in heads["mix"].lower()


def test_cases_and_the_smaller_pool_turn(campaigns: Mapping[str, pd.DataFrame]) -> None:
    told = {dear: batch_story.details(trials) for dear, trials in campaigns.items()}
    assert "Allocating was cheaper on" in told["pool"] and "Allocating was cheaper on" not in told["alloc"]
    assert "that one is cheaper in 18, allocating in 0" in told["alloc"]
    assert "that one is cheaper in 0, allocating in 18" in told["mix"]


def test_the_answer_in_cpp_turns(campaigns: Mapping[str, pd.DataFrame]) -> None:
    told = {dear: native_story.pooling_in_cpp(trials).partition(".")[0] for dear, trials in campaigns.items()}
    assert "pool" in told["alloc"] and "allocate" in told["pool"] and "matter" in told["mix"]


def collecting(trials: pd.DataFrame, dear: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Collections and CPU time of trials of which those with one strategy pause longer and collect dearer."""
    java = trials[trials["language"] == "java"]
    longer = java["strategy"].map(lambda name: DEARER if name == dear else 1.0) * (1 + 0.01 * java["block"])
    collections = java[["trial_id"]].assign(
        pause_max_ms=10 * longer, pause_mean_ms=longer, pause_total_ms=50 * longer, collections=50, window_s=2.0
    )
    cpu = pd.concat([
        java[["trial_id"]].assign(thread_group=group, cpu_ns=share * java["ns_per_packet"] * java["packets"])
        for group, share in (("application", 1.0), ("gc", 0.2))
    ])  # fmt: skip
    return collections, cpu


@pytest.mark.parametrize(("dear", "words"), [("alloc", "shortens"), ("pool", "lengthens")])
def test_what_pooling_does_to_pauses_turns(campaigns: Mapping[str, pd.DataFrame], dear: str, words: str) -> None:
    trials = campaigns[dear].assign(live_objects=100_000)
    collections, cpu = collecting(trials, dear)
    told = pauses_story.verdict(trials, collections, lower_bound_overhead(trials, cpu))
    assert f"Pooling {words} the longest pause." in told


def test_what_pooling_saves_of_collecting_turns() -> None:
    """One collector costs the same whatever a strategy does, so it is the base; the others collect dearer with one."""
    heads = {}
    for dear in ("alloc", "pool"):

        def centre(row: Mapping[str, Any], dear: str = dear) -> float:
            return 100.0 if row["collector"] == "parallel" else 400.0 if row["strategy"] == dear else 110.0

        trials = synthetic.trials(blocks=BLOCKS, noise=0.005, centre=centre)
        heads[dear] = pauses_story.saved_sentence(lower_bound_overhead(trials, collecting(trials, dear)[1]))
    assert heads["alloc"].startswith("Pooling is shown to save collection cost")
    assert heads["pool"].startswith("Pooling is shown to add to the cost of collecting")


def test_the_words_of_figures_turn() -> None:
    """The alternative text names who costs most, and tells quiet campaigns from noisy ones."""
    busy = {
        dear: alt(wall_against_cpu(trials.assign(cpu_ns_per_packet=trials["ns_per_packet"] * beside), 4))
        for dear, trials in ((name, campaign(name)) for name in ("alloc", "pool"))
        for beside in [trials["strategy"].map({name: 3.0 if name == dear else 1.0 for name in STRATEGIES})]
    }
    assert all(text.rpartition(" to ")[2].count(f", {dear},") == 1 for dear, text in busy.items()), busy
    noisy = synthetic.trials(blocks=3, noise=0.5)
    assert "100% lie within a factor of 1.1" in alt(stability(campaign("alloc")))
    assert "100% lie within" not in alt(stability(noisy))
