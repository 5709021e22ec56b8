"""Sentences follow the data: of the same tables the other way round, every one of them says the opposite."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import synthetic
import test_connections
import test_realtime_story
import test_stream
import test_threads

from allocpool import home
from allocpool.campaign.campaign import open_study
from allocpool.decisions import EFFECT, FEWEST, compare, judged_by
from allocpool.evidence.claims import OPEN, REFUTED, REPRODUCED, Claim, Ordering, judge, of_orderings
from allocpool.evidence.style import alt
from allocpool.evidence.tables import Judged, claim_rows, evidence_table, verdicts_table
from allocpool.packets.plots import stability
from allocpool.studies.batch import story as batch_story
from allocpool.studies.batch.study import BatchProfile
from allocpool.studies.buffered_io import story as buffered_io_story
from allocpool.studies.native import story as native_story
from allocpool.studies.pauses import story as pauses_story
from allocpool.studies.pauses.overhead import COSTS, SAVES, lower_bound_overhead
from allocpool.studies.realtime import map_story
from allocpool.studies.realtime import story as realtime_story
from allocpool.studies.stream import story as stream_story
from allocpool.studies.threads import story as threads_story

BLOCKS = 6
DEARER = 3.0


def campaign(dear: str, least: float = 100.0, factor: float = DEARER) -> pd.DataFrame:
    """Trials of every configuration, those with the strategy ``dear`` so many times dearer."""
    return synthetic.trials(
        blocks=BLOCKS, noise=0.01, centre=lambda row: least * (factor if row["strategy"] == dear else 1.0)
    )


@pytest.fixture(scope="module")
def campaigns() -> Mapping[str, pd.DataFrame]:
    """By the strategy that is dear; under ``mix`` allocating and the pool cost the same."""
    return {dear: campaign(dear) for dear in ("alloc", "pool", "mix")}


def test_the_answer_in_cpp_turns(campaigns: Mapping[str, pd.DataFrame]) -> None:
    told = {dear: native_story.verdict(trials).splitlines()[0] for dear, trials in campaigns.items()}
    assert "**pool**" in told["alloc"] and "**allocate**" in told["pool"] and "matter" in told["mix"]


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


@pytest.mark.parametrize(("dear", "words"), [("alloc", "pool"), ("pool", "allocate")])
def test_what_pooling_does_to_pauses_turns(campaigns: Mapping[str, pd.DataFrame], dear: str, words: str) -> None:
    trials = campaigns[dear].assign(live_objects=100_000)
    collections, cpu = collecting(trials, dear)
    told = pauses_story.verdict(trials, collections, lower_bound_overhead(trials, cpu))
    assert f"**{words}**" in told.splitlines()[0]


def test_what_pooling_saves_of_collecting_turns() -> None:
    """One collector costs the same whatever a strategy does, so it is the base; the others collect dearer with one."""
    heads = {}
    for dear in ("alloc", "pool"):

        def centre(row: Mapping[str, Any], dear: str = dear) -> float:
            return 100.0 if row["collector"] == "parallel" else 400.0 if row["strategy"] == dear else 110.0

        trials = synthetic.trials(blocks=BLOCKS, noise=0.005, centre=centre)
        found = pauses_story.saved(lower_bound_overhead(trials, collecting(trials, dear)[1]))
        heads[dear] = set(found["verdict"]) & {SAVES, COSTS}
    assert heads == {"alloc": {SAVES}, "pool": {COSTS}}


def test_the_words_of_figures_turn() -> None:
    """The alternative text tells quiet campaigns from noisy ones."""
    noisy = synthetic.trials(blocks=3, noise=0.5)
    assert "100% lie within a factor of 1.1" in alt(stability(campaign("alloc")))
    assert "100% lie within" not in alt(stability(noisy))


@pytest.mark.parametrize(
    ("default", "plain", "noise", "said"),
    [
        (90_000.0, 30_000.0, 0.001, "times"),
        (30_000.0, 90_000.0, 0.001, "times"),
        (60_000.0, 60_000.0, 0.001, "no difference that matters"),
        (60_000.0, 55_000.0, 0.3, "open"),
    ],
)
def test_what_a_connection_costs_turns(default: float, plain: float, noise: float, said: str) -> None:
    keys = ("java/buffered_reader:8192/platform/25", "java/stream/platform/25")
    trials = test_connections.trials_of({keys[0]: (default, 20.0), keys[1]: (plain, 20.0)}, noise=noise)
    told = buffered_io_story.verdict(trials)
    head, _, least = told.partition("variants: ")
    assert said in head
    assert ("not shown against all" in least) == (default == plain or noise > 0.1)
    if default != plain and noise < 0.1:
        assert least.startswith("plain stream" if plain < default else "BufferedReader")


@pytest.mark.parametrize(
    ("factor", "noise", "said"),
    [(3.0, 0.01, REPRODUCED), (1 / 3, 0.01, REFUTED), (1.0, 0.01, REFUTED), (1.3, 0.3, OPEN)],
)
def test_what_a_processor_left_to_the_collector_buys_turns(factor: float, noise: float, said: str) -> None:
    """The latency with all processors over that with one left, alike in every block but for the noise."""
    tails: dict[tuple[int, int, int], float | None] = {
        (block, threads, 1000): 5 * (factor * (1 + noise * (block % 3)) if threads == 2 else 1 - noise * (block % 3))
        for block in range(6)
        for threads in (1, 2)
    }
    measured = {
        "trials": test_stream.table(tails), "searches": test_stream.NO_SEARCHES, "switches": test_stream.NO_SWITCHES,
    }  # fmt: skip
    told = stream_story.verdict(measured, 10)
    if factor != 1.0:
        assert f"shortens latency (G1 / 25, generational ZGC / 25) is {said}." in told
    else:
        assert "shortens latency (G1 / 25, generational ZGC / 25) is reproduced" not in told
    assert "lengthens it is not tested." in told, "nothing allocated at every update beside what does not"


def searched(alloc_ns: float, pool_ns: float, blocks: int, apart: float = 0.0) -> pd.DataFrame:
    """Searches of one configuration with both strategies, each its own distance from the middle."""
    return test_realtime_story.cells(*(
        test_realtime_story.search(
            strategy=strategy, block=block, **{name: ns * (1 + apart * (-1) ** block) * (1 + 0.01 * block) * end
            for name, end in (("ndr_ns", 1.0), ("pdr_ns", 1.0), ("ndr_fails_ns", 0.95), ("pdr_fails_ns", 0.95))},
        )
        for block in range(blocks)
        for strategy, ns in (("alloc", alloc_ns), ("pool", pool_ns))
    ))  # fmt: skip


def test_who_keeps_up_in_real_time_turns() -> None:
    heads = {
        word: realtime_story.verdict(searched(*sides, blocks)).partition("\n")[0]
        for word, sides, blocks in (
            ("pool", (900.0, 300.0), 6), ("allocate", (300.0, 900.0), 6), ("equal", (300.0, 300.0), 6),
            ("few", (900.0, 300.0), 1),
        )
    }  # fmt: skip
    assert heads["pool"].startswith("**In real time: pool.**")
    assert heads["allocate"].startswith("**In real time: allocate.**")
    assert heads["equal"].startswith("**Open.**") and "The trials so far do not decide." in heads["equal"]
    assert heads["few"].startswith("**Open.**") and "A verdict takes" in heads["few"]


@pytest.mark.parametrize(
    ("pool", "alloc", "equal", "asked", "said"),
    [
        (3, 0, 0, 3, "**With a deadline: pool.**"),
        (0, 3, 0, 3, "**With a deadline: allocate.**"),
        (2, 2, 0, 4, "**With a deadline: it depends.**"),
        (1, 0, 2, 3, "**With a deadline: no difference that matters.**"),
        (3, 0, 0, 6, "**With a deadline: pool.**"),
        (2, 0, 0, 6, "**Open.**"),
        (1, 0, 0, 8, "**Open.**"),
        (1, 0, 0, 1, "**Open.**"),
        (0, 0, 0, 6, "**Open.**"),
    ],
)
def test_the_answer_of_the_decision_map_turns(pool: int, alloc: int, equal: int, asked: int, said: str) -> None:
    assert map_story._headline(pool, alloc, equal, asked) == said


def test_what_many_threads_should_do_turns() -> None:
    def verdicts(costs: dict[str, float], blocks: int = FEWEST) -> set[str]:
        rows = threads_story.judged(test_threads.made_up(costs, blocks))
        return set(rows.loc[rows["topology"] == "sharded", "verdict"])

    assert verdicts({"alloc": 900.0, "owner": 300.0}) == {"pool"}
    assert verdicts({"alloc": 300.0, "owner": 900.0}) == {"allocate"}
    assert verdicts({"alloc": 300.0, "owner": 300.0}, 12) == {"no difference"}
    assert verdicts({"alloc": 900.0, "owner": 300.0}, FEWEST - 1) == set()


LARGER_EFFECT = 1.25


def test_what_many_threads_should_do_turns_with_the_effect_that_matters() -> None:
    trials = test_threads.made_up({"alloc": 300.0, "owner": 300.0}, 6)
    noisier = trials.assign(cpu_ns_per_packet=300 * (trials["cpu_ns_per_packet"] / 300) ** 4)
    told = {}
    for effect in (EFFECT, LARGER_EFFECT):
        with judged_by(effect):
            rows = threads_story.judged(noisier)
            told[effect] = set(rows.loc[(rows["topology"] == "sharded") & (rows["buffers"] != "in C++"), "verdict"])
    assert told == {EFFECT: {"inconclusive"}, LARGER_EFFECT: {"no difference"}}


def test_one_trial_has_no_interval_in_words() -> None:
    """Neither in the evidence nor in the table of claims; and of one thing there is one."""
    costs = pd.Series([300.0] * 6) * [1.0, 1.01, 0.99, 1.0, 1.01, 0.99]
    pairs = [(costs, costs / 3), (costs.iloc[:1], costs.iloc[:1] / 3), (costs.iloc[:0], costs)]
    rows = of_orderings([Ordering("one", "other", compare(*pair)) for pair in pairs])
    claim: Claim[None] = Claim("id", "One costs more.", "a source", lambda _: rows, lambda _: "Told.")
    judged = judge(claim, None)
    found = evidence_table([judged])["found"].to_list()
    assert found[0].startswith("3.00 (2.9") and found[0].endswith("), n = 6: as published")
    assert found[1:] == ["3.00, one trial: open", "not measured"]
    shown = verdicts_table([judged]).html
    assert "<summary>3 comparisons</summary>" in shown and "Of 1 published claim, " in shown
    (row,) = claim_rows([Judged([judged])]).to_dict("records")
    assert (row["n"], pd.isna(row["from"]), pd.isna(row["to"])) == (1, True, True)
    assert '<td class="number">1</td>' in shown


WITH_WORDS = {"describe", "finish", "nothing"}


@pytest.mark.parametrize("path", sorted((home.home() / "src" / "allocpool").rglob("*plots.py")), ids=str)
def test_every_figure_carries_its_words(path: Path) -> None:
    """Who returns a figure gives it the sentence that stands for it, or takes it from a function that does."""
    made = {
        function.name: [
            found.value for found in ast.walk(function) if isinstance(found, ast.Return) and found.value is not None
        ]
        for function in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(function, ast.FunctionDef) and function.returns and ast.unparse(function.returns) == "Figure"
    }
    assert made
    silent = {
        name
        for name, returned in made.items()
        for value in returned
        if not isinstance(value, ast.Call) or ast.unparse(value.func).rpartition(".")[2] not in WITH_WORDS | set(made)
    }
    assert not silent


def test_a_flag_says_whom_it_is_given_to_in_the_shorter_list() -> None:
    changes = {
        "configurations": ["java/heap/g1/11", "java/heap/g1/25", "java/heap/serial/25", "cpp/flat"],
        "beside": {},
    }
    profile = open_study("batch", "standard", changes).profile
    assert isinstance(profile, BatchProfile)
    whom = batch_story.flags_table(profile).set_index("flag")["given to"]
    assert whom["-XX:-UsePerfData"] == "all"
    assert whom["-XX:+UseG1GC"] == "all but heap / Serial / 25"
    assert whom["-XX:+UseSerialGC"] == "heap / Serial / 25"
