"""Every claim can go either way; what the published tables say of each is pinned, and none is asked to be right."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd
import pytest
import synthetic

from allocpool import findings
from allocpool.errors import UserError
from allocpool.evidence import claims, reference, tables
from allocpool.evidence.claims import (
    AS_PUBLISHED,
    EQUIVALENT,
    MIXED,
    NOT_MEASURED,
    OPEN,
    OTHER_WAY,
    REFUTED,
    REPRODUCED,
    Claim,
    Evidence,
    Verdict,
    published_says,
)
from allocpool.evidence.tables import NOT_TESTED
from allocpool.packets.comparisons import (
    AS_PARALLEL,
    NOW,
    PUBLISHED,
    SET_UPS,
    THEN,
    Batch,
)
from allocpool.studies.batch.claims import BATCH_CLAIMS, case_a_evidence, evaluate, implied_case_a_size
from allocpool.studies.native.claims import NATIVE_CLAIMS
from allocpool.studies.pauses.claims import PAUSES_CLAIMS
from allocpool.studies.realtime.claims import REALTIME_CLAIMS

BY_ID = {claim.id: claim for claim in BATCH_CLAIMS}
STANDS_FOR = {"cms": "parallel", "genzgc": "zgc", "shenandoah": "g1", "epsilon": "zgc"}
CMS = ("java", "heap", "cms", 11, None, "heap / CMS / 11")
CPP = synthetic.CONFIGURATIONS[-2:]


def java(set_up: str, *more: str) -> tuple[tuple[object, ...], ...]:
    """The Java configurations of a set-up, and those of more collectors on its release."""
    chosen = SET_UPS[set_up]
    return tuple(
        ("java", layout, collector, chosen.runtime, None, chosen.label(layout, collector))
        for layout in ("heap", "native")
        for collector in (*chosen.families, *more)
    )


ALL = (*java(THEN, "epsilon"), *java(NOW, "epsilon"), *CPP)


def true_to_article(row: dict[str, object]) -> float:
    """The published shape; without a collector, Java allocates for next to nothing."""
    if row["collector"] == "epsilon":
        return 20.0
    collector = str(row["collector"])
    return synthetic.published_centre({**row, "collector": STANDS_FOR.get(collector, row["collector"])})


def upside_down(row: dict[str, object]) -> float:
    """Every ratio of the published table inverted."""
    return 1e4 / true_to_article(row)


Verdicts = dict[tuple[str, str], Verdict]


def verdicts(centre: synthetic.Centre, *some: str, blocks: int = 5, **settings: Any) -> Verdicts:
    """Of all claims on batch, or of some."""
    trials = synthetic.trials(
        **{"blocks": blocks, "noise": 0.0005, "centre": centre, "configurations": ALL, **settings}
    )
    asked = [BY_ID[id] for id in some] or BATCH_CLAIMS
    return {(found.claim.id, found.set_up): found for found in evaluate(trials, asked)}


@pytest.fixture(scope="module")
def article() -> Verdicts:
    return verdicts(true_to_article)


@pytest.fixture(scope="module")
def inverted() -> Verdicts:
    return verdicts(upside_down)


SAYS = {
    "pool-everywhere": "denied in 7 of 48",
    "pool-everywhere-batch": "denied in 3 of 24",
    "pool-everywhere-realtime": "denied in 4 of 24",
    "alloc-awful-batch": "denied in 9 of 18",
    "mix-low-use": "borne out, 4 of 4",
    "mix-high-use": "denied in 2 of 6",
    "big-pool-a": "borne out, 2 of 2",
    "g1-zgc-batch-worse": "borne out, 23 of 36",
    "g1-pool-exception": "borne out, 2 of 2",
    "native-better": "borne out, 26 of 27",
    "native-alloc-most": "borne out, 18 of 18",
    "native-cms-best-batch": "borne out, 15 of 15",
    "zgc-best-c": "borne out, 4 of 4",
    "others-collapse-c": "borne out, 2 of 2",
    "cpp-alloc-dear": "no figure",
    "cpp-no-better": "borne out, 9 of 9",
    "cpp-flat-best": "denied in 2 of 9",
    "cpp-pool": "borne out, 6 of 6",
    "cpp-flat": "borne out, 9 of 9",
    "cms-is-cms": "no figure",
    "case-a-size": "denied in 6 of 6",
    "alloc-no-realtime": "denied in 11 of 18",
    "realtime-mix-parallel": "borne out, 2 of 2",
    "realtime-pool-zgc": "borne out, 6 of 6",
    "realtime-alloc-overload": "borne out, 3 of 3",
    "g1-zgc-realtime-better": "borne out, 24 of 36",
    "zgc-c-2m": "borne out, 2 of 2",
    "zgc-all-native": "borne out, 14 of 14",
    "g1-native-c": "borne out, 1 of 1",
    "native-better-realtime": "left open, 23 of 27",
    "native-zgc-best-realtime": "denied in 1 of 15",
    "native-cms-rare-full": "no figure",
    "larger-heap": "borne out, 20 of 20",
    "longer-interval": "borne out, 3 of 3",
    "longer-queue": "no figure",
    "realtime-cpp-pool": "borne out, 6 of 6",
    "cpp-flat-best-realtime": "denied in 3 of 9",
    "zgc-beats-flat-alloc-c": "borne out, 1 of 1",
    "cpp-flat-rates": "borne out, 3 of 3",
    "avoid-allocation-cpp": "borne out, 6 of 6",
    "batch-predicts-realtime": "denied in 5 of 6",
    "pool-rare-long": "denied in 5 of 18",
    "alloc-overload": "borne out, 2 of 2",
    "pool-a-worst-pauses": "borne out, 6 of 6",
    "native-cms-leaves": "no figure",
    "cost-per-object": "denied in 12 of 18",
    "ten-million": "no figure",
    "cache-only": "no figure",
}
EVERY_CLAIM: tuple[Claim[Any], ...] = (
    *BATCH_CLAIMS,
    *REALTIME_CLAIMS,
    *PAUSES_CLAIMS,
    *NATIVE_CLAIMS,
    *findings.FINDINGS_CLAIMS,
)
ORDERINGS = [claim for claim in BATCH_CLAIMS if claim.needs_all]
BORNE_OUT = [
    (claim.id, set_up)
    for claim in ORDERINGS
    for set_up in claim.set_ups
    if str(SAYS[claim.id]).startswith("borne out") or claim.id == "cpp-alloc-dear"
]
EVERY = [(claim.id, set_up) for claim in ORDERINGS for set_up in claim.set_ups if claim.asks == "every"]


def test_what_the_published_figures_say_of_each_claim() -> None:
    assert {claim.id: published_says(claim) for claim in EVERY_CLAIM} == SAYS
    assert len(EVERY_CLAIM) == len(SAYS), "every claim has its own name"


@pytest.mark.parametrize("key", BORNE_OUT, ids=" ".join)
def test_data_of_the_published_shape_reproduce_what_it_bears_out(key: tuple[str, str], article: Verdicts) -> None:
    assert article[key].outcome == REPRODUCED, article[key].sentence


@pytest.mark.parametrize("name", ["mix-high-use", "cpp-flat-best"])
@pytest.mark.parametrize("set_up", [THEN, NOW])
def test_data_of_the_published_shape_refute_what_it_denies(name: str, set_up: str, article: Verdicts) -> None:
    assert article[name, set_up].outcome == MIXED, "it bears out others"


@pytest.mark.parametrize("key", EVERY, ids=" ".join)
def test_data_of_the_opposite_shape_refute_a_claim(key: tuple[str, str], inverted: Verdicts) -> None:
    assert inverted[key].outcome in (REFUTED, MIXED), inverted[key].sentence


def test_what_is_often_so_is_not_refuted_by_an_exception() -> None:
    def mostly(share: int) -> Verdict:
        dear = {
            (row["layout"], strategy, case)
            for row in ({"layout": layout} for layout in ("heap", "native"))
            for strategy in ("alloc", "mix", "pool")
            for case in synthetic.CASES
        }
        worse = sorted(dear)[:share]

        def centre(row: dict[str, object]) -> float:
            of_others = row["collector"] in ("g1", "zgc")
            return (300.0 if (row["layout"], row["strategy"], row["case"]) in worse else 90.0) if of_others else 100.0

        return verdicts(centre, "g1-zgc-batch-worse", configurations=java(AS_PARALLEL))[
            "g1-zgc-batch-worse", AS_PARALLEL
        ]

    assert [mostly(share).outcome for share in (17, 10, 9, 2)] == [REPRODUCED, REPRODUCED, MIXED, MIXED]


def test_then_and_now_are_judged_apart() -> None:
    def since_then(row: dict[str, object]) -> float:
        return upside_down(row) if row["runtime"] == SET_UPS[NOW].runtime else true_to_article(row)

    found = verdicts(since_then, "others-collapse-c")
    outcomes = {found["others-collapse-c", name].outcome for name in (THEN, NOW)}
    assert (found["others-collapse-c", THEN].outcome, len(outcomes)) == (REPRODUCED, 2)


def test_the_generational_zgc_is_not_the_published_one() -> None:
    found = verdicts(true_to_article, "zgc-best-c", configurations=java(NOW))
    assert found["zgc-best-c", THEN].missing == tuple(
        Missing(name, "not part of this campaign") for name in ("CMS", "G1", "ZGC")
    )
    assert "generational ZGC" in found["zgc-best-c", NOW].evidence["smaller"].iloc[0]


def test_each_reading_of_what_the_article_calls_cms_is_judged_apart() -> None:
    def parallel_is_another(row: dict[str, object]) -> float:
        return upside_down(row) if row["collector"] == "parallel" else true_to_article(row)

    found = verdicts(parallel_is_another, "mix-low-use")
    assert (found["mix-low-use", AS_CMS].outcome, found["mix-low-use", AS_PARALLEL].outcome) == (REPRODUCED, REFUTED)


def test_a_configuration_that_departs_from_the_published_one_takes_no_part() -> None:
    departs = Configuration.parse("java/heap/g1/11/lazy_heap")
    row = ("java", "heap", "g1", 11, None, departs.label)
    trials = synthetic.trials(noise=0.0005, centre=true_to_article, configurations=(*ALL, row))
    then, published = (
        {cell.facts["configuration"] for cell in Batch(trials, name).cells.cells} for name in (THEN, PUBLISHED)
    )
    assert departs.label in published - then


@pytest.mark.parametrize("blocks", [1, 4])
def test_fewer_than_five_blocks_decide_nothing(blocks: int) -> None:
    found = verdicts(true_to_article, blocks=blocks, configurations=(*java(THEN, "epsilon"), *CPP))
    assert {found[claim.id, name].outcome for claim in ORDERINGS for name in claim.set_ups} == {OPEN}


def test_the_best_is_judged_against_every_rival() -> None:
    """Which of the rivals is the cheapest is chosen by the same trials, so it is paid for."""

    def among(rivals: int, flat: float, noise: float = 0.1) -> Evidence:
        configurations = (*CPP, *java(THEN)[:rivals])
        centre = {"C++ flat": flat}
        trials = synthetic.trials(
            blocks=5, noise=noise, configurations=configurations, cases=("B",),
            centre=lambda row: centre.get(str(row["configuration"]), 100.0),
        )  # fmt: skip
        return BY_ID["cpp-flat-best"].evidence(Batch(trials, THEN))

    cheap, dear = among(8, 50.0).rows, among(8, 200.0).rows
    in_b = cheap["smaller"].str.endswith(" B")
    assert (cheap.loc[in_b, "shown"] == AS_PUBLISHED).all() and (dear.loc[in_b, "shown"] == OTHER_WAY).all()
    alone, many = among(0, 100.0).rows, among(8, 100.0).rows
    assert (many["p_against"].dropna() >= alone["p_against"].min()).all()
    widths = [(rows["high"] / rows["low"]).median() for rows in (alone, many)]
    assert widths[1] > widths[0], "an interval for all pairs at once"
    same = among(3, 100.0, noise=0.005).rows
    assert (same.loc[in_b, "shown"] == EQUIVALENT).all()


@pytest.mark.parametrize("name", ["cpp-flat-best", "cpp-no-better"])
def test_each_strategy_is_each_strategy(name: str) -> None:
    """Where the small pool was not measured at all, what is said of every strategy is not shown by two of them."""
    of = {"C++ flat": 10.0, "C++ allocating": 300.0}
    trials = synthetic.trials(
        blocks=5, noise=0.0005, configurations=ALL, centre=lambda row: of.get(str(row["configuration"]), 100.0)
    )
    assert {found.outcome for found in evaluate(trials, [BY_ID[name]])} == {REPRODUCED}
    judged = evaluate(trials[trials["strategy"] != "mix"], [BY_ID[name]])
    found = next(verdict for verdict in judged if verdict.set_up == NOW)
    assert found.outcome == OPEN
    assert {item.what.split()[-2] for item in found.missing} == {"mix"}


def test_a_collector_that_took_no_part_leaves_a_claim_open() -> None:
    found = verdicts(
        true_to_article, "mix-low-use", configurations=tuple(s for s in ALL if s[2] not in ("cms", "parallel"))
    )
    assert found["mix-low-use", AS_CMS].outcome == OPEN
    assert found["mix-low-use", AS_CMS].missing == (Missing("CMS", "not part of this campaign"),)


def test_a_failed_cell_leaves_a_claim_open() -> None:
    trials = synthetic.fail(
        synthetic.trials(centre=true_to_article, configurations=ALL), "heap / G1 / 11", "alloc", "C"
    )
    found = {verdict.set_up: verdict for verdict in evaluate(trials, [BY_ID["others-collapse-c"]])}[THEN]
    assert found.outcome == OPEN
    assert found.evidence["shown"].to_list().count(NOT_MEASURED) == 1
    assert found.missing == (Missing("heap / G1 / 11 alloc C", "out of memory: Java heap space"),)


def test_a_claim_about_configurations_that_did_not_run_has_nothing_to_compare() -> None:
    trials = synthetic.trials(configurations=tuple(s for s in ALL if s[0] == "java"), centre=true_to_article)
    (found,) = evaluate(trials, [BY_ID["cpp-pool"]])
    assert (found.outcome, len(found.evidence)) == (OPEN, 0)


def test_the_published_cms_rows_are_told_apart_by_their_shape() -> None:
    def swapped(row: dict[str, object]) -> float:
        other = {"cms": "parallel", "parallel": "cms"}
        return synthetic.published_centre({**row, "collector": other.get(str(row["collector"]), row["collector"])})

    parallel_fits = synthetic.trials(blocks=5)
    cms_fits = synthetic.trials(blocks=5, centre=swapped)
    outcomes = [evaluate(trials, [BY_ID["cms-is-cms"]])[0] for trials in (parallel_fits, cms_fits)]
    assert [found.outcome for found in outcomes] == [REFUTED, REPRODUCED]
    assert story.which_cms(parallel_fits).startswith("Distance in shape")
    few = evaluate(parallel_fits[parallel_fits["block"] < 4], [BY_ID["cms-is-cms"]])[0]
    assert few.outcome == OPEN


def test_each_release_has_its_own_distance() -> None:
    of_25 = ("java", "heap", "parallel", 25, None, "heap / Parallel / 25")

    def far_off(row: dict[str, object]) -> float:
        shape = 30.0 if row["case"] == "B" else 1.0
        return synthetic.published_centre(row) * (shape if row["runtime"] == 25 else 1.0)

    one, both = (
        synthetic.trials(blocks=5, centre=far_off, configurations=(HEAP_CMS, CMS, *more)) for more in ((), (of_25,))
    )
    found = [evaluate(trials, [BY_ID["cms-is-cms"]])[0] for trials in (one, both)]
    assert [verdict.outcome for verdict in found] == [REFUTED, REFUTED]
    assert found[1].evidence["larger"].to_list() == ["distance of Parallel 11"]


def test_equal_shapes_do_not_decide_which_collector_it_was() -> None:
    trials = synthetic.trials(centre=true_to_article, noise=0.05, blocks=5)
    assert evaluate(trials, [BY_ID["cms-is-cms"]])[0].outcome == OPEN


def test_the_shape_needs_both_collectors() -> None:
    found = evaluate(synthetic.trials(configurations=(HEAP_CMS,)), [BY_ID["cms-is-cms"]])[0]
    assert (found.outcome, len(found.evidence)) == (OPEN, 0)


def test_published_object_counts_imply_the_size_of_case_a() -> None:
    gc, cases = reference.load("allocate_or_pool_gc"), reference.load("allocate_or_pool_cases")
    sizes = implied_case_a_size(gc, cases)["implied_size"]
    assert sizes.to_list() == pytest.approx([1000.0] * len(sizes), rel=0.01)
    found = judged_case_a(gc)
    assert found.outcome == REFUTED


def judged_case_a(gc: pd.DataFrame) -> Verdict:
    """The claim on the size of case A, put to these object counts; it asks nothing of a campaign."""
    cases = reference.load("allocate_or_pool_cases")
    claim = replace(BY_ID["case-a-size"], evidence=lambda _batch: case_a_evidence(gc, cases))
    return claims.judge(claim, Batch(synthetic.trials(blocks=1), PUBLISHED))


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
    assert judged_case_a(gc).outcome == OPEN


def test_stored_tables_of_an_older_version_say_what_they_are() -> None:
    now = synthetic.trials(blocks=1, cases=("A", "B"))
    then = now.drop(columns=["lazy_heap", "explicit_gc", "pause_target", "pool_order", "pool_reuse"])
    then.loc[then["case"] == "A", ["queue_size", "stored_count"]] = 1_000
    told = in_todays_words({"trials": then})["trials"]
    assert set(told["case"]) == {"A10k", "B"}
    cms, g1 = (set(told.loc[told["collector"] == name, "configuration"]) for name in ("cms", "g1"))
    assert cms == {"heap / CMS / 11 / lean view / pause target / fresh"}
    assert g1 == {"heap / G1 / 25 / lean view / fresh", "native / G1 / 25 / lean view / fresh"}
    assert told.loc[told["collector"] != "cms", "explicit_gc"].isna().all()
    pd.testing.assert_frame_equal(in_todays_words({"trials": now})["trials"], now)


def test_both_sizes_of_case_a_stand_side_by_side() -> None:
    def centre(row: dict[str, object]) -> float:
        return 150.0 if row["case"] == "A10k" else 100.0

    trials = synthetic.trials(cases=("A", "A10k"), centre=centre, noise=0.001, configurations=(HEAP_CMS,))
    rows = story.case_a_table(trials)
    assert set(rows["strategy"]) == set(synthetic.STRATEGIES)
    assert {row[:3] for row in rows["A10k over A"]} == {"1.5"}
    assert rows.set_index("strategy").loc["pool", "published, ns"] == "346"


def test_a_setting_is_set_beside_the_same_cell_as_set() -> None:
    lazy = Configuration.parse("java/heap/parallel/11/lazy_heap")
    rows = (HEAP_CMS, (*HEAP_CMS[:5], lazy.label))
    trials = synthetic.trials(
        blocks=5, cases=("B",), noise=0.001, configurations=rows,
        centre=lambda row: 200.0 if row["configuration"] == lazy.label else 100.0,
    )  # fmt: skip
    trials["huge_pages_mb"] = 0.0
    trials["lazy_heap"] = (trials["configuration"] == lazy.label).astype("boolean")
    (row,) = story.settings_table(trials[trials["strategy"] == "pool"]).to_dict("records")
    assert (row["configuration"], row["setting"]) == (HEAP_CMS[5], "lazy_heap")
    assert row["cost with over without"].startswith("2.")


def test_verdicts_are_told_with_their_set_up_what_was_published_and_what_is_missing(article: Verdicts) -> None:
    found = list(article.values())
    rows = claims.verdict_table(found)
    assert len(rows) == len(found)
    assert list(rows) == ["claim", "set-up", "verdict", "found", "published figures", "missing"][: rows.shape[1]]
    evidence = tables.evidence_table(found)
    assert set(evidence["claim"]) == {claim.text for claim in BATCH_CLAIMS}
    assert 0 < evidence["found"].str.endswith(OTHER_WAY).sum() < len(evidence)
    assert claims.tally(found).startswith(f"Of {len(found)} verdicts on {len(BATCH_CLAIMS)} claims, ")


def test_a_tally_names_only_the_outcomes_that_there_are() -> None:
    def told(claim: str, outcome: str) -> Verdict:
        return Verdict(replace(BATCH_CLAIMS[0], id=claim), outcome, "", pd.DataFrame(), ())

    verdicts = [told("one", REPRODUCED), told("two", REPRODUCED), told("three", OPEN)]
    assert claims.tally(verdicts) == "Of 3 published claims, 2 reproduced, 1 open."
    assert claims.tally(verdicts[2:]) == "Of 1 published claim, none is decided."


def test_what_is_missing_is_told_in_short() -> None:
    cells_missing = [Missing(f"cell {number}", "not run") for number in range(5)]
    assert (
        claims.told_missing([*cells_missing, Missing("CMS", "absent")])
        == "cell 0; cell 1; 3 more: not run. CMS: absent"
    )
    assert claims.told_missing([]) == ""


def test_findings_have_every_claim_of_every_study_before_anything_is_measured() -> None:
    measured = findings.Measured("nonesuch")
    judged = findings.judged(measured)
    every = [verdict for part in judged for verdict in part.verdicts]
    assert {verdict.claim.id for verdict in every} >= {claim.id for claim in EVERY_CLAIM}
    rows = tables.claim_rows(judged).set_index("id")
    assert set(rows.loc[[claim.id for claim in EVERY_CLAIM if claim.id != "case-a-size"], "verdict"]) == {NOT_TESTED}
    assert findings.headlines(measured) == []
    with pytest.raises(UserError, match="allocpool findings --profile nonesuch"):
        findings.provenance(measured)


def searches(ns: list[float | None], width: float = 1.02) -> pd.DataFrame:
    return pd.DataFrame({"pdr_ns": ns, "pdr_fails_ns": [one and one / width for one in ns]})


@pytest.mark.parametrize(
    ("ns", "width", "shown"),
    [
        ([101.0, 100.0, 101.5, 100.5, 101.0], 1.02, "as published"),
        ([150.0, 152.0, 149.0, 151.0, 150.0], 1.02, "the other way round"),
        ([101.0, 100.0, 101.5, 100.5, 101.0], 1.3, OPEN),
        ([80.0, 120.0, 105.0], 1.02, OPEN),
        ([150.0, 151.0], 1.02, OPEN),
    ],
)
def test_an_interval_matches_a_cost_by_its_searches(ns: list[float | None], width: float, shown: str) -> None:
    costs = pd.Series([100.0, 101.0, 99.5, 100.0, 100.5])
    compared = findings.interval_over_cost(searches(ns, width), costs)
    assert claims.of_orderings([claims.Equality("interval", "cost", compared)]).rows["shown"].to_list() == [shown]
