"""The judge of claims: outcomes from rows of evidence, what is missing with its reason, and what studies take home."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import synthetic

from allocpool import notebook, stats
from allocpool.campaign import campaign
from allocpool.campaign.registry import every_study, room
from allocpool.evidence import tables
from allocpool.evidence.claims import (
    AS_PUBLISHED,
    INCONCLUSIVE,
    NO_DIFFERENCE,
    NOT_MEASURED,
    OTHER_WAY,
    REFUTED,
    REPRODUCED,
    Claim,
    Evidence,
    Frequency,
    Missing,
    Ordering,
    Verdict,
    evaluate_apart,
    judge,
    of_orderings,
    published_says,
    verdict_table,
)
from allocpool.evidence.trials import gap_of
from allocpool.studies.allocation import claims as allocation
from allocpool.studies.batch import claims as batch
from allocpool.studies.buffered_io import claims as buffered_io
from allocpool.studies.pauses import claims as pauses
from allocpool.studies.pauses import gc_table
from allocpool.studies.realtime import claims as realtime
from allocpool.studies.realtime.cells import published_cells, published_sweeps
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
        ((AS_PUBLISHED, NO_DIFFERENCE), INCONCLUSIVE),
        ((AS_PUBLISHED, NOT_MEASURED), INCONCLUSIVE),
        ((AS_PUBLISHED, AS_PUBLISHED, OTHER_WAY), REFUTED),
        ((NOT_MEASURED, OTHER_WAY), REFUTED),
        ((NO_DIFFERENCE,), INCONCLUSIVE),
        ((), INCONCLUSIVE),
    ],
)
def test_one_row_refutes_and_only_all_reproduce(shown: tuple[str, ...], outcome: str) -> None:
    assert judge(claim(), evidence(*shown)).outcome == outcome


@pytest.mark.parametrize(
    ("shown", "outcome"),
    [
        ((OTHER_WAY, OTHER_WAY), REFUTED),
        ((OTHER_WAY, AS_PUBLISHED), INCONCLUSIVE),
        ((AS_PUBLISHED, AS_PUBLISHED), REPRODUCED),
        ((), INCONCLUSIVE),
    ],
)
def test_figures_that_only_refute_together_leave_open_what_they_disagree_on(
    shown: tuple[str, ...], outcome: str
) -> None:
    assert judge(claim(refuted_by="all"), evidence(*shown)).outcome == outcome


def test_what_is_missing_goes_with_the_verdict_and_keeps_open_what_needs_all() -> None:
    absent = Missing("CMS", "not part of this campaign")
    some = evidence(AS_PUBLISHED, missing=(absent,))
    assert judge(claim(), some).outcome == REPRODUCED
    assert judge(claim(needs_all=True), some).outcome == INCONCLUSIVE
    assert judge(claim(needs_all=True), some).missing == (absent,)
    assert judge(claim(needs_all=True), replace(some, missing=())).outcome == REPRODUCED
    assert judge(claim(needs_all=True), evidence(OTHER_WAY, missing=(absent,))).outcome == REFUTED


@pytest.mark.parametrize(
    ("asks", "outcomes"),
    [
        ("every", {10: REPRODUCED, 9: REFUTED, 6: REFUTED, 5: REFUTED, 0: REFUTED}),
        ("almost every", {10: REPRODUCED, 9: REPRODUCED, 8: REFUTED, 5: REFUTED, 0: REFUTED}),
        ("most", {10: REPRODUCED, 6: REPRODUCED, 5: REFUTED, 0: REFUTED}),
    ],
)
def test_a_claim_about_frequency_tests_frequency(asks: Frequency, outcomes: dict[int, str]) -> None:
    def shown(count: int, others: str) -> Evidence:
        return evidence(*[AS_PUBLISHED] * count, *[others] * (10 - count))

    some = claim(asks=asks)
    assert {count: judge(some, shown(count, OTHER_WAY)).outcome for count in outcomes} == outcomes
    undecided = {count: judge(some, shown(count, NO_DIFFERENCE)).outcome for count in outcomes}
    assert undecided == {
        count: REPRODUCED if outcome == REPRODUCED else INCONCLUSIVE for count, outcome in outcomes.items()
    }
    assert judge(some, evidence()).outcome == INCONCLUSIVE


def test_what_the_source_itself_says_is_counted_and_set_ups_are_judged_apart() -> None:
    one = claim(published=lambda: evidence(AS_PUBLISHED, OTHER_WAY), set_ups=("then", "now"))
    assert published_says(one) == "denied in 1 of 2"
    assert published_says(claim()) is None
    assert published_says(claim(published=evidence)) == "no figure"
    found = evaluate_apart([one], {"then": evidence(AS_PUBLISHED), "now": evidence(OTHER_WAY)}.__getitem__)
    assert [(verdict.set_up, verdict.outcome) for verdict in found] == [("then", REPRODUCED), ("now", REFUTED)]
    assert verdict_table(found)["published figures"].tolist() == ["denied in 1 of 2"] * 2
    assert list(verdict_table([judge(claim(), evidence())])) == ["claim", "verdict", "found"]


def test_published_ratios_stand_beside_what_was_found() -> None:
    published = claim(published_ratios=lambda: pd.Series([1.5, 3.0]))
    assert judge(published, evidence(AS_PUBLISHED)).sentence == "As found. The published ratios are 1.5 to 3.0."
    assert judge(published, evidence()).sentence == "As found."


def test_an_ordering_is_shown_by_its_direction_or_says_why_not() -> None:
    noise = stats.NoiseBand(1.05, 9)
    once, twice = pd.Series([100.0, 101.0]), pd.Series([200.0, 203.0])
    rows = of_orderings(
        [
            Ordering("twice", "once", stats.compare(twice, once, noise)),
            Ordering("once", "twice", stats.compare(once, twice, noise)),
            Ordering("once", "once", stats.compare(once, once, noise)),
            Ordering("none", "once", stats.compare(once[:0], once, noise), "it crashed"),
        ],
        [Missing("CMS", "not part of this campaign")],
    )
    assert rows.rows["shown"].to_list() == [AS_PUBLISHED, OTHER_WAY, NO_DIFFERENCE, NOT_MEASURED]
    assert rows.rows["ratio"].isna().to_list() == [False, False, False, True]
    assert rows.missing == (Missing("CMS", "not part of this campaign"), Missing("none over once", "it crashed"))
    assert len(rows.measured) == 3 and len(rows.against) == 1


def test_a_gap_is_the_commonest_failure() -> None:
    trials = pd.DataFrame({
        "status": ["ok", "crashed", "out_of_memory", "out_of_memory"],
        "reason": [None, "signal 11", None, "Java heap space"],
    })  # fmt: skip
    assert gap_of(trials) == ("out of memory", "Java heap space")
    assert gap_of(trials).text == "out of memory: Java heap space"
    assert gap_of(trials[:1]).text == "no figure"
    assert gap_of(trials[:0]).text == "not part of this campaign"


def every_verdict(of: str) -> list[Verdict]:
    """The verdicts of a study on data that it is known to judge: published figures, or a campaign with a hole."""
    empty = campaign.stored(of, "nonesuch")[0]
    made = synthetic.fail(synthetic.trials(), "heap / G1 / 25", "alloc", "C")
    if of == "batch":
        return batch.evaluate(made)
    if of == "pauses":
        collections = made[["trial_id"]].assign(
            window_s=2.0, collections=4, pause_total_ms=100.0, pause_mean_ms=20.0, pause_max_ms=50.0
        )
        table = gc_table.per_trial(made.assign(live_objects=10**6), collections)
        assert len(table)
        points = pd.DataFrame(
            columns=["solution", "language", "strategy", "collector", "measure", "live_objects", "cost_ns"]
        )
        fits = pd.DataFrame(columns=[*points.columns, "ns_per_object", "low", "high", "n"])
        return pauses.evaluate(made.assign(live_objects=10**6), collections, points, fits)
    if of == "realtime":
        return realtime.evaluate(published_cells(), published_sweeps())
    if of == "allocation":
        return allocation.evaluate(allocation.published_as_trials())
    if of == "buffered_io":
        return buffered_io.evaluate(empty["trials"])
    return stream.evaluate(empty, 10.0)


@pytest.mark.parametrize("study", ["batch", "pauses", "realtime", "allocation", "buffered_io", "stream"])
def test_every_study_is_judged_by_it_and_told_in_the_same_tables(study: str) -> None:
    verdicts = every_verdict(study)
    assert len({(verdict.claim.id, verdict.set_up) for verdict in verdicts}) == len(verdicts)
    assert all(verdict.sentence.endswith(".") for verdict in verdicts)
    assert len(tables.evidence_table(verdicts)) == sum(len(verdict.evidence) for verdict in verdicts)
    unmeasured = [verdict for verdict in verdicts if NOT_MEASURED in set(verdict.evidence["shown"])]
    nothing = [verdict for verdict in verdicts if verdict.evidence.empty and verdict.claim.published_ratios]
    for verdict in (*unmeasured, *nothing):
        assert verdict.outcome != REPRODUCED
        assert verdict.missing and all(item.what and item.why for item in verdict.missing), verdict.claim.id


@pytest.mark.parametrize("study", [study.name for study in every_study()])
def test_every_study_has_something_to_take_home_before_anything_is_measured(study: str, data: Path) -> None:
    told = room(study, "story").take_home("smoke")
    assert isinstance(told, str) and told.endswith(".")


def test_what_studies_say_stands_below_their_questions(data: Path) -> None:
    page = notebook.take_homes("smoke", apart_from=["batch"]).data
    for study in every_study():
        heading = f"### [{study.question}]({study.notebook}.ipynb)\n\n{room(study.name, 'story').take_home('smoke')}"
        assert (heading in page) == (study.name != "batch")
    contents = notebook.contents().data.splitlines()
    assert [line.split("]")[0] for line in contents] == [f"- [{study.notebook}" for study in every_study()]
