"""The judge of claims: outcomes from rows of evidence, what is missing with its reason, and what studies take home."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import synthetic
from scipy import stats as scipy_stats

from allocpool import decisions
from allocpool.campaign import store
from allocpool.decisions import compare
from allocpool.evidence import tables
from allocpool.evidence.claims import (
    AS_PUBLISHED,
    EQUIVALENT,
    MIXED,
    NO_DIFFERENCE,
    NOT_MEASURED,
    NOT_TESTED,
    OPEN,
    OTHER_WAY,
    REFUTED,
    REPRODUCED,
    Claim,
    Equality,
    Evidence,
    Frequency,
    Missing,
    Ordering,
    Verdict,
    adjusted,
    chances_of,
    evaluate_apart,
    judge,
    judged_together,
    of_orderings,
    outcome_of,
    partial_conjunction,
    published_says,
    shown_by,
)
from allocpool.studies.allocation import claims as allocation
from allocpool.studies.batch import claims as batch
from allocpool.studies.buffered_io import claims as buffered_io
from allocpool.studies.pauses import claims as pauses
from allocpool.studies.pauses import story as pauses_story
from allocpool.studies.realtime import claims as realtime
from allocpool.studies.realtime.cells import published_cells
from allocpool.studies.stream import claims as stream


def claim(**settings: Any) -> Claim[Evidence]:
    """A claim whose data are its evidence."""
    return Claim("id", "text", "source", lambda evidence: evidence, lambda _evidence: "As found.", **settings)


def evidence(*shown: str, missing: tuple[Missing, ...] = ()) -> Evidence:
    return Evidence(pd.DataFrame({"ratio": [2.0] * len(shown), "shown": list(shown)}), missing)


@pytest.mark.parametrize(
    ("shown", "outcome"),
    [
        ((AS_PUBLISHED, AS_PUBLISHED), REPRODUCED),
        ((AS_PUBLISHED, EQUIVALENT), OPEN),
        ((AS_PUBLISHED, OPEN), OPEN),
        ((AS_PUBLISHED, NOT_MEASURED), OPEN),
        ((AS_PUBLISHED, AS_PUBLISHED, OTHER_WAY), MIXED),
        ((NOT_MEASURED, OTHER_WAY), REFUTED),
        ((OPEN, OTHER_WAY), REFUTED),
        ((EQUIVALENT,), OPEN),
        ((), NOT_TESTED),
        ((NOT_MEASURED,), NOT_TESTED),
    ],
)
def test_one_row_refutes_and_only_all_reproduce(shown: tuple[str, ...], outcome: str) -> None:
    assert judge(claim(), evidence(*shown)).outcome == outcome


def test_what_is_missing_goes_with_the_verdict_and_keeps_open_what_needs_all() -> None:
    absent = Missing("CMS", "not part of this campaign")
    some = evidence(AS_PUBLISHED, missing=(absent,))
    assert judge(claim(), some).outcome == REPRODUCED
    assert judge(claim(needs_all=True), some).outcome == OPEN
    assert judge(claim(needs_all=True), some).missing == (absent,)
    assert judge(claim(needs_all=True), replace(some, missing=())).outcome == REPRODUCED
    assert judge(claim(needs_all=True), evidence(OTHER_WAY, missing=(absent,))).outcome == REFUTED


@pytest.mark.parametrize(
    ("asks", "outcomes"),
    [
        ("every", {10: REPRODUCED, 9: MIXED, 6: MIXED, 5: MIXED, 0: REFUTED}),
        ("almost every", {10: REPRODUCED, 9: REPRODUCED, 8: MIXED, 5: MIXED, 0: REFUTED}),
        ("most", {10: REPRODUCED, 6: REPRODUCED, 5: MIXED, 0: REFUTED}),
    ],
)
def test_a_claim_about_frequency_tests_frequency(asks: Frequency, outcomes: dict[int, str]) -> None:
    def shown(count: int, others: str) -> Evidence:
        return evidence(*[AS_PUBLISHED] * count, *[others] * (10 - count))

    some = claim(asks=asks)
    assert {count: judge(some, shown(count, OTHER_WAY)).outcome for count in outcomes} == outcomes
    undecided = {count: judge(some, shown(count, EQUIVALENT)).outcome for count in outcomes}
    assert undecided == {count: REPRODUCED if outcome == REPRODUCED else OPEN for count, outcome in outcomes.items()}
    assert judge(some, evidence()).outcome == NOT_TESTED


def test_what_the_source_itself_says_is_counted_and_set_ups_are_judged_apart() -> None:
    one = claim(published=lambda: evidence(AS_PUBLISHED, OTHER_WAY), set_ups=("then", "now"))
    assert published_says(one) == "denied in 1 of 2"
    assert published_says(claim()) is None
    assert published_says(claim(published=evidence)) == "no figure"
    found = evaluate_apart([one], {"then": evidence(AS_PUBLISHED), "now": evidence(OTHER_WAY)}.__getitem__)
    assert [(verdict.set_up, verdict.outcome) for verdict in found] == [("then", REPRODUCED), ("now", REFUTED)]


def costs(centre: float, n: int = 5) -> list[float]:
    return [centre * (1 + 0.01 * (k % 3)) for k in range(n)]


def test_an_ordering_is_shown_by_its_direction_or_says_why_not() -> None:
    once, twice = costs(100), costs(200)
    wide = [70.0, 140.0, 90.0, 120.0, 100.0]
    rows = of_orderings(
        [
            Ordering("twice", "once", compare(twice, once)),
            Ordering("once", "twice", compare(once, twice)),
            Ordering("once", "once", compare(once, once)),
            Ordering("wide", "once", compare(wide, once)),
            Ordering("four times", "once", compare(costs(400, 4), once)),
            Ordering("none", "once", compare(once[:0], once), "it crashed"),
        ],
        [Missing("CMS", "not part of this campaign")],
    )
    assert rows.rows["shown"].to_list() == [AS_PUBLISHED, OTHER_WAY, EQUIVALENT, OPEN, OPEN, NOT_MEASURED]
    assert rows.rows["ratio"].isna().to_list() == [False] * 5 + [True]
    assert rows.rows["p"].isna().to_list() == [False] * 5 + [True]
    assert rows.missing == (Missing("CMS", "not part of this campaign"), Missing("none over once", "it crashed"))
    assert len(rows.measured) == 5 and len(rows.against) == 1


@pytest.mark.parametrize(
    ("centre", "shown"),
    [(100.0, AS_PUBLISHED), (102.0, AS_PUBLISHED), (110.0, OPEN), (130.0, OTHER_WAY), (70.0, OTHER_WAY)],
)
def test_an_equality_is_shown_within_what_matters_and_denied_beyond(centre: float, shown: str) -> None:
    rows = of_orderings([Equality("one", "other", compare(costs(centre), costs(100)))]).rows
    assert rows["shown"].to_list() == [shown]


def test_the_reverse_must_pay_for_the_number_of_rows() -> None:
    assert shown_by([0.5, 0.5], [0.03, 0.5]) == [OPEN, OPEN]
    assert shown_by([0.5], [0.03]) == [OTHER_WAY]
    assert shown_by([0.04] * 20, [0.9] * 20) == [AS_PUBLISHED] * 20
    nan = float("nan")
    assert shown_by([nan, 0.5], [nan, 0.02]) == [NOT_MEASURED, OTHER_WAY]
    assert shown_by([nan, 0.5], [nan, 0.04]) == [NOT_MEASURED, OPEN], "what was not measured was asked, too"


def test_a_partial_conjunction_of_known_chances() -> None:
    chances = [0.01, 0.02, 0.3]
    assert partial_conjunction(chances, 3) == 0.3, "all: intersection-union"
    assert partial_conjunction(chances, 1) == pytest.approx(0.03), "one: Bonferroni"
    assert partial_conjunction(chances, 2) == pytest.approx(0.04)
    assert partial_conjunction(chances, 4) == partial_conjunction([], 1) == 1.0


def test_verdicts_of_a_page_pay_for_each_other() -> None:
    def row(p: float) -> Evidence:
        return Evidence(pd.DataFrame({"p": [p], "p_against": [1.0], "shown": [AS_PUBLISHED]}))

    alone = [judge(claim(), row(p)) for p in (0.04, 0.9, 0.8, 0.7)]
    assert alone[0].outcome == OPEN, "a claim is a page of two questions"
    sure = [judge(claim(), row(p)) for p in (0.02, 0.9, 0.8, 0.7)]
    assert [verdict.outcome for verdict in sure] == [REPRODUCED, OPEN, OPEN, OPEN]
    assert {verdict.outcome for verdict in judged_together(sure)} == {OPEN}


CLAIMS = 20
"""On a page."""
STATED = 0.05


def campaigns(
    n: int, rows: int, ratios: Sequence[float], many: int, spread: float = 0.1
) -> Iterator[tuple[list[str], int]]:
    """The outcomes of a page of `CLAIMS` claims that each expect ``rows`` orderings, of which each has the true ratio
    that ``ratios`` has at its place, and how many rows are as published; ``many`` campaigns of ``n`` trials a cell."""
    rng = np.random.default_rng(1000 * n + rows)
    centres = np.log([ratios[k % len(ratios)] for k in range(rows)])
    for _ in range(many):
        smaller, larger = spread * rng.standard_normal((2, CLAIMS, rows, n))
        larger += centres[:, None]
        p, p_against = decisions.p_above(larger, smaller), decisions.p_above(smaller, larger, decisions.EFFECT)
        page = adjusted([chances_of(list(p[k]), list(p_against[k])) for k in range(CLAIMS)])
        outcomes, shown = [], 0
        for k, pair in enumerate(page):
            as_published = shown_by(list(p[k]), list(p_against[k])).count(AS_PUBLISHED)
            outcomes.append(outcome_of(pair, as_published))
            shown += as_published
        yield outcomes, shown


def at_most(many: int) -> float:
    """So many campaigns may be wrong at the stated rate; more are, once in ten thousand."""
    return float(scipy_stats.binom.ppf(1 - 1e-4, many, STATED))


@pytest.mark.parametrize("rows", [1, 5, 20])
@pytest.mark.parametrize("n", [2, 3, 5, 10])
def test_where_all_cells_are_equal_hardly_any_page_decides_anything(n: int, rows: int) -> None:
    many = 200 if rows == 1 else 60
    wrong = sum(set(outcomes) != {OPEN} for outcomes, _ in campaigns(n, rows, [1.0], many))
    assert wrong <= (at_most(many) if n >= decisions.FEWEST else 0)


@pytest.mark.parametrize("rows", [1, 5, 20])
@pytest.mark.parametrize("ratio", [1 / decisions.EFFECT, 1.0])
def test_a_reverse_that_does_not_matter_refutes_nothing(rows: int, ratio: float) -> None:
    many = 60
    refuted = sum(REFUTED in outcomes or MIXED in outcomes for outcomes, _ in campaigns(10, rows, [ratio], many))
    assert refuted <= at_most(many)


@pytest.mark.parametrize("rows", [1, 5, 20])
def test_what_is_true_is_reproduced_and_its_reverse_refuted(rows: int) -> None:
    for ratio, outcome in ((1.5, REPRODUCED), (1 / 1.5, REFUTED)):
        result = [name for outcomes, _ in campaigns(10, rows, [ratio], 10) for name in outcomes]
        assert result.count(outcome) > 0.9 * len(result)
        assert set(result) <= {outcome, OPEN}


@pytest.mark.parametrize(("asks", "rows", "equal", "outcome"), [
    ("every", 4, 4, NO_DIFFERENCE), ("every", 4, 3, OPEN), ("most", 6, 4, NO_DIFFERENCE), ("most", 6, 2, REPRODUCED),
])  # fmt: skip
def test_a_claim_of_a_difference_ends_where_there_is_none_that_matters(
    asks: Frequency, rows: int, equal: int, outcome: str
) -> None:
    rng = np.random.default_rng(3)

    def costs(true: float) -> list[float]:
        return [float(cost) for cost in true * np.exp(0.01 * rng.standard_normal(10))]

    orderings = [
        Ordering("a", "b", decisions.compare(costs(true), costs(1.0)))
        for true in [0.999] * equal + [2.0] * (rows - equal)
    ]
    found = judge(replace(claim(asks=asks), evidence=lambda _data: of_orderings(orderings)), evidence())
    assert (found.outcome, found.p_equal <= STATED) == (outcome, outcome == NO_DIFFERENCE)
    assert (found.evidence["shown"] == EQUIVALENT).sum() == equal


def test_four_trials_decide_nothing_whatever_the_ratio() -> None:
    assert {name for outcomes, _ in campaigns(4, 3, [9.0], 5) for name in outcomes} == {OPEN}


def every_verdict(of: str) -> list[Verdict]:
    """The verdicts of a study on data that it is known to judge: published figures, or a campaign with a hole."""
    empty = store.stored(of, "nonesuch")[0]
    made = synthetic.fail(synthetic.trials(), "heap / G1 / 25", "alloc", "C")
    if of == "batch":
        return batch.evaluate(made)
    if of == "pauses":
        collections = made[["trial_id"]].assign(
            window_s=2.0, collections=4, pauses=4, pause_total_ms=100.0, pause_mean_ms=20.0, pause_max_ms=50.0,
            left_mb=np.nan, forced_full_ms=np.nan,
        )  # fmt: skip
        made = made.assign(live_objects=10**6)
        assert len(pauses_story.per_trial(made, collections))
        return pauses.of_campaign({"trials": made, "collections": collections, "cpu": empty["cpu"]})
    if of == "realtime":
        return realtime.evaluate(published_cells(), published_cells().iloc[:0].assign(status=""))
    if of == "allocation":
        return allocation.evaluate(allocation.published_as_trials())
    if of == "buffered_io":
        return buffered_io.of_campaign(empty)
    return stream.of_campaign(empty, {"target_ms": 10.0})


@pytest.mark.parametrize("study", ["batch", "pauses", "realtime", "allocation", "buffered_io", "stream"])
def test_every_study_is_judged_by_it_and_reported_in_the_same_tables(study: str) -> None:
    verdicts = every_verdict(study)
    assert len({(verdict.claim.id, verdict.set_up) for verdict in verdicts}) == len(verdicts)
    assert all(len(tables.evidence_texts(verdict)) == len(verdict.evidence) for verdict in verdicts)
    unmeasured = [verdict for verdict in verdicts if NOT_MEASURED in set(verdict.evidence["shown"])]
    for verdict in unmeasured:
        assert verdict.outcome != REPRODUCED
        assert verdict.missing and all(item.what and item.why for item in verdict.missing), verdict.claim.id


def test_our_own_claims_are_judged_on_the_first_page_by_what_their_page_has() -> None:
    found = batch.of_campaign(store.read_tables("batch", "standard")[0], {})
    assert {v.outcome for v in found[-len(batch.TODAY) :]} <= {REPRODUCED, REFUTED, MIXED, OPEN}
