"""Every claim can go either way; what the published tables say of each is pinned, and none is asked to be right."""

from __future__ import annotations

import itertools
from typing import Any

import pandas as pd
import pytest
import synthetic
from test_adaptive import cell as adaptive_cell

from allocpool import findings
from allocpool.errors import UserError
from allocpool.evidence import claims, tables
from allocpool.evidence.claims import (
    AS_PUBLISHED,
    EQUIVALENT,
    MIXED,
    NOT_MEASURED,
    NOT_TESTED,
    OPEN,
    OTHER_WAY,
    REFUTED,
    REPRODUCED,
    Claim,
    Evidence,
    Verdict,
    published_says,
)
from allocpool.packets.comparisons import (
    NOW,
    SET_UPS,
    THEN,
    batch_cells,
)
from allocpool.studies.batch.claims import BATCH_CLAIMS, evaluate
from allocpool.studies.native.claims import NATIVE_CLAIMS
from allocpool.studies.pauses.claims import PAUSES_CLAIMS
from allocpool.studies.realtime.adaptive import Costs, over
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


JAVA_8 = next(iter(SET_UPS))
ALL = (*java(JAVA_8), *java(THEN, "epsilon"), *java(NOW, "epsilon"), *CPP)


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
    "mix-just-worse-c": "denied in 2 of 12",
    "g1-zgc-batch-at-most": "borne out, 36 of 36",
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
    "digest-no-pool-cpp": None,  # a digest has no figures of its own
    "digest-pool-batch": None,
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
    "native-better-realtime": "inconclusive, 23 of 27",
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
    "low-latency-collectors": "borne out, 8 of 8",
    "kernel-bypass-driver": None,  # no driver, no figure of its own
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
EVERY = [
    (claim.id, set_up) for claim in ORDERINGS for set_up in claim.set_ups if claim.asks == "every" and SAYS[claim.id]
]


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


def test_then_and_now_are_judged_apart() -> None:
    def since_then(row: dict[str, object]) -> float:
        return upside_down(row) if row["runtime"] == SET_UPS[NOW].runtime else true_to_article(row)

    found = verdicts(since_then, "others-collapse-c")
    outcomes = {found["others-collapse-c", name].outcome for name in (THEN, NOW)}
    assert (found["others-collapse-c", THEN].outcome, len(outcomes)) == (REPRODUCED, 2)


@pytest.mark.parametrize("blocks", [1, 4])
def test_fewer_than_five_blocks_decide_nothing(blocks: int) -> None:
    found = verdicts(true_to_article, blocks=blocks, configurations=(*java(THEN, "epsilon"), *CPP))
    assert {found[claim.id, name].outcome for claim in ORDERINGS for name in claim.set_ups} <= {OPEN, NOT_TESTED}


def test_the_best_is_judged_against_every_rival() -> None:
    """Which of the rivals is the cheapest is chosen by the same trials, so it is paid for."""

    def among(rivals: int, flat: float, noise: float = 0.1) -> Evidence:
        configurations = (*CPP, *java(THEN)[:rivals])
        centre = {"C++ flat": flat}
        trials = synthetic.trials(
            blocks=5, noise=noise, configurations=configurations, cases=("B",),
            centre=lambda row: centre.get(str(row["configuration"]), 100.0),
        )  # fmt: skip
        return BY_ID["cpp-flat-best"].evidence(batch_cells(trials, THEN))

    cheap, dear = among(8, 50.0).rows, among(8, 200.0).rows
    in_b = cheap["smaller"].str.endswith(" B")
    assert (cheap.loc[in_b, "shown"] == AS_PUBLISHED).all() and (dear.loc[in_b, "shown"] == OTHER_WAY).all()
    alone, many = among(0, 100.0).rows, among(8, 100.0).rows
    assert (many["p_against"].dropna() >= alone["p_against"].min()).all()
    widths = [(rows["high"] / rows["low"]).median() for rows in (alone, many)]
    assert widths[1] > widths[0], "an interval for all pairs at once"
    same = among(3, 100.0, noise=0.005).rows
    assert (same.loc[in_b, "shown"] == EQUIVALENT).all()


def test_the_published_cms_rows_are_distinguished_by_their_shape() -> None:
    def swapped(row: dict[str, object]) -> float:
        other = {"cms": "parallel", "parallel": "cms"}
        return synthetic.published_centre({**row, "collector": other.get(str(row["collector"]), row["collector"])})

    def outcomes(trials: pd.DataFrame) -> list[str]:
        return [found.outcome for found in evaluate(trials, [BY_ID["cms-is-cms"]])]

    assert BY_ID["cms-is-cms"].set_ups == (JAVA_8, THEN)
    both = (*java(JAVA_8), *java(THEN))
    parallel_fits = synthetic.trials(blocks=5, configurations=both)
    assert outcomes(parallel_fits) == [REFUTED, REFUTED]
    assert outcomes(synthetic.trials(blocks=5, configurations=both, centre=swapped)) == [REPRODUCED, REPRODUCED]
    assert outcomes(parallel_fits[parallel_fits["block"] < 4]) == [OPEN, OPEN]
    assert outcomes(parallel_fits[parallel_fits["runtime"] == 11]) == [NOT_TESTED, REFUTED]


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


@pytest.mark.parametrize(
    ("trials", "cost_ns", "shown"),
    [
        (30, 100.0, "as published"),
        (10, 150.0, "the other way round"),
        (10, 100.0, OPEN),
        (4, 150.0, NOT_MEASURED),
    ],
)
def test_an_interval_matches_a_cost_by_adaptive_trials(trials: int, cost_ns: float, shown: str) -> None:
    costs = Costs(tuple(cost_ns * by for by in itertools.islice(itertools.cycle((1.0, 1.01, 0.99)), trials)))
    compared = over([(adaptive_cell(100.0, trials), costs)], effect=findings.MATCHES)
    assert claims.of_orderings([claims.Equality("interval", "cost", compared)]).rows["shown"].to_list() == [shown]
