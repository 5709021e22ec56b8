"""The simulated error rates: made with the judge itself, within what is stated, and as the page has them."""

from __future__ import annotations

import numpy as np

from allocpool import decisions
from allocpool.evidence import claims
from allocpool.pace import paces
from allocpool.studies.instrument import proof, story


def test_many_campaigns_at_once_are_judged_as_one_by_one() -> None:
    a, b = proof.campaign_of_controls(np.random.default_rng(1), "lognormal", 4, 8)
    a[:, ::2] += np.log(1.5)
    judged = proof.together(a, b)
    for campaign in range(4):
        pairs = [(list(np.exp(one)), list(np.exp(other))) for one, other in zip(a[campaign], b[campaign], strict=True)]
        verdicts = [decision.verdict for decision in decisions.decide_together(pairs)]
        assert [verdict != decisions.OPEN for verdict in verdicts] == judged.decided[campaign].tolist()
        found = [verdict in (decisions.A_CHEAPER, decisions.B_CHEAPER) for verdict in verdicts]
        assert found == judged.different[campaign].tolist()
    assert judged.different.any()
    assert not judged.decided.all()


def test_controls_differ_no_more_often_than_stated_whenever_one_stops() -> None:
    rates = proof.false_verdicts(300)
    assert set(rates["n"]) == set(range(2, 16))
    assert rates[list(proof.THIRDS)].max().max() <= proof.highest_allowed(300 * proof.OF_EACH)
    assert rates["page"].max() <= proof.highest_allowed(300)
    stored = proof.load("false_verdicts")
    assert stored[list(proof.THIRDS)].max().max() <= proof.highest_allowed(stored["repetitions"][0] * proof.OF_EACH)
    assert stored["page"].max() <= proof.highest_allowed(stored["repetitions"][0])


def test_intervals_that_verdicts_rest_on_hold_the_truth_and_the_others_are_marked() -> None:
    stored, again = proof.load("coverage"), proof.coverage(500)
    lowest = 1 - proof.highest_allowed(500)
    for rates in (stored, again):
        assert rates.loc[rates["interval"].isin([proof.REPEATED, proof.ONLY]), "holds"].min() >= lowest
    keys = ["interval", "noise", "n"]
    both = stored.merge(again, on=keys, suffixes=("", "_again")).dropna(subset=["repetitions"])
    assert len(both) == len(again.dropna(subset=["repetitions"]))
    spread = np.sqrt((both["holds"] * (1 - both["holds"])).clip(lower=0.002) / 500)
    assert ((both["holds"] - both["holds_again"]).abs() < 5 * spread).all()
    assert story.coverage_table().map(lambda cell: "*" in str(cell)).to_numpy().any()


def test_quiet_cells_are_seen_sharper_than_noisy_ones() -> None:
    seen = proof.power(100)
    five = seen[seen["n"] == 5].set_index("third")["ours"]
    assert five["quiet"] < five["usual"] < five["noisy"]
    assert np.isinf(seen.loc[seen["n"] == 3, "ours"].to_numpy(dtype=np.float64)).all()
    assert "none" in story.power_table().to_numpy()


def test_a_campaign_finds_what_differs() -> None:
    rates = proof.found(1, (1.5,))
    assert set(rates["rule"]) == {proof.OURS, proof.OURS_FIXED}
    (ours,) = rates[rates["rule"] == proof.OURS].to_dict("records")
    assert ours["found"] > 0.8
    assert ours["trials"] * proof.TRIAL_S <= proof.MINUTES * 60
    stored = proof.load("found")
    assert stored.loc[stored["rule"] == proof.OURS, "of_verdicts"].max() <= decisions.ALPHA


def test_claims_are_judged_wrongly_no_more_often_than_stated() -> None:
    again = proof.claim_errors(40, (5,), (1, 3))
    for rates in (again, proof.load("claim_errors")):
        allowed = proof.highest_allowed(rates["repetitions"].iloc[0])
        so = rates["truth"] == proof.AS_CLAIMED
        assert rates.loc[~so, claims.REPRODUCED].max() <= allowed
        turned = rates["truth"] == proof.REVERSED
        assert rates.loc[~turned, [claims.REFUTED, claims.MIXED]].to_numpy().max() <= allowed
        assert rates.loc[so | turned, claims.NO_DIFFERENCE].max() <= allowed
        assert rates.loc[so, claims.REPRODUCED].max() > 0.7


def test_costs_over_the_machines_pace_miss_no_more_often_and_are_narrower() -> None:
    again = proof.paces(200)
    for rates in (again, proof.load("paces")):
        assert rates["missed"].max() <= proof.highest_allowed(rates["repetitions"].iloc[0])
        moving = ~rates["machine"].isin(["steady", "outliers"])
        assert rates.loc[moving, "width"].max() < 1 and rates.loc[~moving, "width"].max() < 1.01


def test_the_pace_is_that_of_the_neighbours_and_none_where_they_share_nothing() -> None:
    rng = np.random.default_rng(4)
    cells = np.concatenate([rng.permutation(20) for _ in range(10)])
    pace, own = np.exp(np.sin(np.arange(200) / 15)), np.exp(0.05 * rng.standard_normal(200))
    found = paces(pace * own * (1.0 + cells), cells.tolist())
    assert np.corrcoef(np.log(found), np.log(pace))[0, 1] > 0.95
    assert np.log(paces(own, cells.tolist())).std() < 0.2 * np.log(own).std()
    assert (paces([1.0, 2.0], ["a", "b"]) == 1).all() and paces([], []).size == 0


def test_what_the_page_shows_is_of_this_judge() -> None:
    assert proof.of_this_judge(), "the judge has changed: python -m allocpool.studies.instrument.proof"
