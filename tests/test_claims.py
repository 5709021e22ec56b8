"""Every claim can go either way, and is borne out by the published table that it was taken from."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd
import pytest
import synthetic

from allocpool.evidence import claims, reference, tables
from allocpool.evidence.claims import INCONCLUSIVE, REFUTED, REPRODUCED, Missing, Verdict
from allocpool.evidence.trials import failures
from allocpool.packets import cells
from allocpool.packets.comparisons import ALLOCATE, DEPENDS, POOL, UNDECIDED, Batch, headline
from allocpool.packets.published import published_as_trials
from allocpool.studies.batch import story
from allocpool.studies.batch.claims import BATCH_CLAIMS, case_a_evidence, evaluate, implied_case_a_size
from allocpool.studies.native.story import pooling_in_cpp

BY_ID = {claim.id: claim for claim in BATCH_CLAIMS}
NATIVE_CMS = ("java", "native", "parallel", 11, None, "native / Parallel / 11")
HEAP_CMS = ("java", "heap", "parallel", 11, None, "heap / Parallel / 11")
ALL = (*synthetic.SOLUTIONS, NATIVE_CMS)


def true_to_article(row: dict[str, object]) -> float:
    """The published shape, with CMS as the article has it."""
    return synthetic.published_centre(
        {**row, "collector": "parallel" if row["collector"] == "cms" else row["collector"]}
    )


def upside_down(row: dict[str, object]) -> float:
    """Every ratio of the published table inverted."""
    return 1e4 / true_to_article(row)


def verdicts(centre: synthetic.Centre, blocks: int = 2, **settings: Any) -> dict[str, Verdict]:
    trials = synthetic.trials(blocks=blocks, noise=0.004, centre=centre, solutions=ALL, **settings)
    return {found.claim.id: found for found in evaluate(trials)}


ORDERING_CLAIMS = [name for name in BY_ID if name not in ("cms-is-cms", "case-a-size")]


@pytest.fixture(scope="module")
def article() -> dict[str, Verdict]:
    return verdicts(true_to_article)


@pytest.fixture(scope="module")
def inverted() -> dict[str, Verdict]:
    return verdicts(upside_down)


@pytest.mark.parametrize("name", ORDERING_CLAIMS)
def test_the_published_table_bears_its_claims_out(name: str) -> None:
    (found,) = evaluate(published_as_trials(), [BY_ID[name]])
    assert len(found.evidence)
    assert (found.evidence["ratio"] > 1).all()


@pytest.mark.parametrize("name", ORDERING_CLAIMS)
def test_data_of_the_published_shape_reproduce_a_claim(name: str, article: dict[str, Verdict]) -> None:
    assert article[name].outcome == REPRODUCED, article[name].sentence


@pytest.mark.parametrize("name", ORDERING_CLAIMS)
def test_data_of_the_opposite_shape_refute_a_claim(name: str, inverted: dict[str, Verdict]) -> None:
    assert inverted[name].outcome == REFUTED, inverted[name].sentence
    assert "the other way round" in inverted[name].sentence


def test_one_block_decides_nothing() -> None:
    found = verdicts(true_to_article, blocks=1)
    assert {found[name].outcome for name in ORDERING_CLAIMS} == {INCONCLUSIVE}


def test_five_blocks_decide_by_their_interval() -> None:
    found = verdicts(true_to_article, blocks=5)
    assert {found[name].outcome for name in ORDERING_CLAIMS} == {REPRODUCED}


def test_noise_hides_a_difference() -> None:
    trials = synthetic.trials(blocks=2, noise=1.0, seed=3, centre=lambda _row: 100.0, solutions=ALL)
    found = evaluate(trials, [BY_ID[name] for name in ORDERING_CLAIMS])
    assert REPRODUCED not in {verdict.outcome for verdict in found}


def test_a_collector_that_took_no_part_leaves_a_claim_open() -> None:
    trials = synthetic.trials(
        centre=true_to_article, solutions=tuple(s for s in ALL if s[2] not in ("cms", "parallel"))
    )
    (found,) = evaluate(trials, [BY_ID["pool-beats-alloc-c"]])
    assert found.outcome == INCONCLUSIVE
    assert "not part of this campaign: CMS" in found.sentence
    assert found.missing == (Missing("CMS", "not part of this campaign"),)


def test_a_failed_cell_leaves_a_claim_open() -> None:
    trials = synthetic.fail(synthetic.trials(centre=true_to_article, solutions=ALL), "heap / G1 / 25", "alloc", "C")
    (found,) = evaluate(trials, [BY_ID["pool-beats-alloc-c"]])
    assert found.outcome == INCONCLUSIVE
    assert "not measured in 1" in found.sentence
    assert found.missing == (
        Missing(
            "heap / G1 / 25 alloc C over heap / G1 / 25 pool C",
            "heap / G1 / 25 alloc C: out of memory: Java heap space",
        ),
    )


def test_a_claim_about_solutions_that_did_not_run_has_nothing_to_compare() -> None:
    trials = synthetic.trials(solutions=tuple(s for s in ALL if s[0] == "java"))
    (found,) = evaluate(trials, [BY_ID["cpp-pool"]])
    assert (found.outcome, len(found.evidence)) == (INCONCLUSIVE, 0)


@pytest.mark.parametrize("blocks", [2, 5])
def test_the_published_cms_rows_are_told_apart_by_their_shape(blocks: int) -> None:
    def swapped(row: dict[str, object]) -> float:
        other = {"cms": "parallel", "parallel": "cms"}
        return synthetic.published_centre({**row, "collector": other.get(str(row["collector"]), row["collector"])})

    parallel_fits = synthetic.trials(blocks=blocks)
    cms_fits = synthetic.trials(blocks=blocks, centre=swapped)
    outcomes = [evaluate(trials, [BY_ID["cms-is-cms"]])[0] for trials in (parallel_fits, cms_fits)]
    assert [found.outcome for found in outcomes] == [REFUTED, REPRODUCED]
    assert "nearer: Parallel" in outcomes[0].sentence
    assert "nearer: CMS" in outcomes[1].sentence


def test_equal_shapes_do_not_decide_which_collector_it_was() -> None:
    trials = synthetic.trials(centre=true_to_article, noise=0.05, blocks=5)
    assert evaluate(trials, [BY_ID["cms-is-cms"]])[0].outcome == INCONCLUSIVE


def test_the_shape_needs_both_collectors() -> None:
    trials = synthetic.trials(solutions=(HEAP_CMS,))
    found = evaluate(trials, [BY_ID["cms-is-cms"]])[0]
    assert (found.outcome, "not both measured" in found.sentence) == (INCONCLUSIVE, True)


def test_published_object_counts_imply_the_size_of_case_a() -> None:
    gc, cases = reference.load("allocate_or_pool_gc"), reference.load("allocate_or_pool_cases")
    sizes = implied_case_a_size(gc, cases)["implied_size"]
    assert sizes.to_list() == pytest.approx([1000.0] * len(sizes), rel=0.01)
    found = judged_case_a(gc)
    assert found.outcome == REFUTED
    assert "of 1,000 packets" in found.sentence


def judged_case_a(gc: pd.DataFrame) -> Verdict:
    """The claim on the size of case A, put to these object counts; it asks nothing of a campaign."""
    cases = reference.load("allocate_or_pool_cases")
    claim = replace(BY_ID["case-a-size"], evidence=lambda _batch: case_a_evidence(gc, cases))
    return claims.judge(claim, Batch(synthetic.trials(blocks=1)))


def gc_with_case_a(size: float) -> pd.DataFrame:
    """The published object counts, had case A had that size."""
    gc = reference.load("allocate_or_pool_gc")
    in_a = gc["case"] == "A"
    per_packet = gc["strategy"].map({"alloc": 11, "mix": 5, "pool": 5})
    gc.loc[in_a, "live_objects_millions"] += (size - 1000) * per_packet[in_a] / 1e6
    return gc


@pytest.mark.parametrize(("size", "outcome"), [(10_000, REPRODUCED), (1_000, REFUTED)])
def test_the_size_of_case_a_goes_either_way(size: float, outcome: str) -> None:
    assert judged_case_a(gc_with_case_a(size)).outcome == outcome


def test_counts_that_disagree_leave_the_size_of_case_a_open() -> None:
    gc = gc_with_case_a(10_000)
    gc.loc[0, "live_objects_millions"] = 0.045
    assert judged_case_a(gc).outcome == INCONCLUSIVE


def test_verdicts_are_told_with_their_evidence(article: dict[str, Verdict]) -> None:
    found = list(article.values())
    assert len(claims.verdict_table(found)) == len(BATCH_CLAIMS)
    evidence = tables.evidence_table(found)
    assert set(evidence["claim"]) == set(BY_ID)
    assert claims.tally(found).startswith(f"Of {len(BATCH_CLAIMS)} published claims, ")


@pytest.mark.parametrize(
    ("dearer", "cheaper", "undecided", "words"),
    [
        (9, 0, 0, POOL),
        (0, 9, 0, ALLOCATE),
        (8, 1, 0, "Pool, with exceptions"),
        (1, 8, 0, "Allocate, with exceptions"),
        (5, 4, 0, DEPENDS),
        (1, 0, 9, UNDECIDED),
        (0, 0, 0, UNDECIDED),
    ],
)
def test_headline_says_no_more_than_was_shown(dearer: int, cheaper: int, undecided: int, words: str) -> None:
    directions = [1] * dearer + [-1] * cheaper + [0] * undecided
    assert headline(pd.DataFrame({"direction": directions})) == words


def test_answer_follows_the_data() -> None:
    pooled = synthetic.trials(noise=0.01, centre=lambda row: {"alloc": 300.0}.get(str(row["strategy"]), 100.0))
    allocated = synthetic.trials(noise=0.01, centre=lambda row: {"pool": 300.0}.get(str(row["strategy"]), 100.0))
    assert story.verdict(pooled).startswith("**Pool.**")
    assert story.verdict(allocated).startswith("**Allocate.**")
    assert pooling_in_cpp(pooled).startswith("**In C++: pool.**")
    assert "Allocating was cheaper on heap / Parallel / 11 in case A, B and C" in story.details(allocated)
    assert story.verdict(pooled[pooled["language"] == "cpp"]).startswith(f"**{UNDECIDED}.**")


def test_certainty_names_the_noise_of_the_instrument() -> None:
    assert "of each other in 95% of" in cells.certainty(synthetic.trials(blocks=2))
    assert "no difference can be told from noise" in cells.certainty(synthetic.trials(blocks=1))


def test_failures_and_processor_time_are_told_in_words() -> None:
    trials = synthetic.trials()
    assert failures(trials) == "Every trial that was started ended well."
    failed = synthetic.fail(trials, "heap / G1 / 25", "alloc", "C")
    assert failures(failed) == "Not ended well: 2 out of memory."
    assert "1.4 with alloc" in story.processor_cost(trials)
