"""Decisions are wrong no more often than they say, at any look, and see what they should."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from scipy import stats as scipy_stats

from allocpool import decisions
from allocpool.decisions import A_CHEAPER, B_CHEAPER, EQUIVALENT, LOOKS, OPEN, decide, decide_together
from allocpool.studies.instrument.simulation import NOISES, rates

REPETITIONS = 4_000
HIGHEST = scipy_stats.binom.ppf(1 - 1e-4, REPETITIONS, decisions.ALPHA) / REPETITIONS
"""A share that a rate of 5% exceeds once in ten thousand."""


def costs(n: int, centre: float = 100.0, spread: float = 0.05, seed: int = 1) -> list[float]:
    return list(centre * np.exp(spread * np.random.default_rng(seed).standard_normal(n)))


@pytest.mark.parametrize("noise", NOISES)
def test_equal_sides_are_distinguished_no_more_often_than_stated_at_any_look(noise: str) -> None:
    for n in range(2, 16):
        assert rates(noise, 1.0, n, REPETITIONS).wrong <= HIGHEST


@pytest.mark.parametrize("noise", NOISES)
def test_a_difference_that_matters_is_not_called_equivalent_or_turned_round(noise: str) -> None:
    for n in (5, 8, 12, 30, 60):
        assert rates(noise, decisions.EFFECT, n, REPETITIONS).wrong <= HIGHEST


@pytest.mark.parametrize("noise", NOISES)
def test_intervals_hold_the_truth_at_their_rate_however_often_one_looked(noise: str) -> None:
    for n in (5, 10, 30):
        assert rates(noise, 1.3, n, REPETITIONS).holds >= 1 - HIGHEST


@pytest.mark.parametrize("noise", ["quiet", "noisy", "unequal", "drift"])
def test_an_early_interval_holds_the_truth_where_noise_is_lognormal(noise: str) -> None:
    for n in (2, 3, 4):
        assert rates(noise, 1.3, n, REPETITIONS).holds >= 1 - HIGHEST


def test_boundaries_spend_what_they_may_and_no_less() -> None:
    walks = np.cumsum(np.random.default_rng(3).standard_normal((20_000, 200)), axis=1)
    looks = [n for n in LOOKS if n <= 200]
    allowed = [-scipy_stats.norm.ppf(decisions.nominal_level(0.05, n) / 2) for n in looks]
    crossed = (np.abs(walks[:, [n - 1 for n in looks]]) / np.sqrt(looks) > allowed).any(axis=1).mean()
    assert 0.035 < crossed < 0.05


def test_nothing_is_decided_below_five_trials() -> None:
    for n in range(5):
        decision = decide(costs(n), costs(n, 500.0, seed=2))
        assert (decision.verdict, decision.blocks_needed, decision.n) == (OPEN, 5 - n, n)


def test_verdicts_follow_the_ratio() -> None:
    a, b = costs(12), costs(12, 130.0, seed=2)
    assert decide(a, b).verdict == A_CHEAPER
    assert decide(b, a).verdict == B_CHEAPER
    same = decide(costs(40, spread=0.03), costs(40, spread=0.03, seed=2))
    assert same.verdict == EQUIVALENT
    assert 1 / 1.1 < same.low < same.ratio < same.high < 1.1
    assert decide(a, b).low < 100 / 130 < decide(a, b).high


def test_trials_after_a_look_wait_for_the_next() -> None:
    a, b = costs(7), costs(7, 120.0, seed=2)
    six, seven = decide(a[:6], b[:6]), decide(a, b)
    assert (six.low, six.high, six.used) == (seven.low, seven.high, seven.used)
    assert seven.n == 7


def test_an_open_comparison_says_about_how_many_more_blocks_it_takes() -> None:
    a, b = costs(200, spread=0.2), costs(200, 115.0, spread=0.2, seed=2)
    needed = decide(a[:10], b[:10]).blocks_needed
    assert needed is not None
    decided = next(n for n in range(10, 200) if decide(a[:n], b[:n]).verdict != OPEN)
    assert decided / 3 < 10 + needed < 3 * decided


def test_many_decided_together_are_decided_more_carefully() -> None:
    rng = np.random.default_rng(5)
    pairs = [
        (list(np.exp(0.1 * rng.standard_normal(6))), list(np.exp(0.1 * rng.standard_normal(6)))) for _ in range(30)
    ]
    clear = (costs(6, 100.0), costs(6, 400.0, seed=2))
    together = decide_together([clear, *pairs])
    assert together[0].verdict == A_CHEAPER
    assert together[0].level < decisions.ALPHA / 10
    assert together[0].high > decide(*clear).high
    # Where all are clear, none needs more care than alone.
    assert decide_together([clear] * 20)[0] == decide(*clear)


def test_of_what_is_decided_together_the_stated_share_is_false() -> None:
    rng = np.random.default_rng(6)
    shares = []
    for _ in range(60):
        truths = np.where(np.arange(20) < 14, 1.0, 1.6)
        pairs = [
            (list(t * np.exp(0.1 * rng.standard_normal(6))), list(np.exp(0.1 * rng.standard_normal(6)))) for t in truths
        ]
        found = [decision.verdict for decision in decide_together(pairs)]
        false = sum(v in (A_CHEAPER, B_CHEAPER) for v, t in zip(found, truths, strict=True) if t == 1.0)
        shares.append(false / max(1, sum(v != OPEN for v in found)))
    assert np.mean(shares) <= 0.05


def test_two_speeds_and_trials_far_off_are_named_with_a_trimmed_ratio_beside() -> None:
    _fast, _slow = costs(6, 105.0, 0.02), costs(4, 470.0, 0.02, seed=2)
    one_off = costs(9, 100.0, 0.02)
    decision = decide([*one_off, 900.0], costs(10, spread=0.02, seed=2))
    assert decision.trimmed_ratio == pytest.approx(1.0, abs=0.03)
    assert decision.ratio > 1.2
    assert decide(costs(10), costs(10, seed=2)).remark == ""


def test_the_estimate_is_of_the_trials_of_its_interval() -> None:
    # 12 trials are a look, 13 are not: the 13th waits, in the estimate too.
    top, bottom = [200.0] * 6 + [202.0] * 6, [100.0] * 6 + [101.0] * 6
    result = decide([*top, 2.0], [*bottom, 100.0])
    assert (result.n, result.used, result.verdict) == (13, 12, B_CHEAPER)
    assert result.ratio == pytest.approx(decide(top, bottom).ratio)
    assert result.low < result.ratio < result.high


@pytest.mark.parametrize("n", [2_687, 3_000, 100_000])
def test_looks_go_on_beyond_two_thousand_trials(n: int) -> None:
    used = decisions.look_at(n)
    assert used is not None and n / 1.25 <= used + 1 <= n + 1
    rng = np.random.default_rng(3)
    few, many = (np.exp(0.3 * rng.standard_normal((2, size))) * [[1.05], [1.0]] for size in (2_000, n))
    assert decide(*many).used == used
    width = {size: np.log(result.high / result.low) for size, result in ((2_000, decide(*few)), (n, decide(*many)))}
    assert width[n] < width[2_000]


def test_looks_beyond_the_last_of_the_table_cost_less_than_a_thousandth() -> None:
    size, spent = LOOKS[-1], 0.0
    while size < 10**12:
        size = round(1.25 * size)
        spent += decisions.nominal_level(decisions.ALPHA, size)
    assert spent < decisions.ALPHA / 1000


def test_costs_at_the_ends_of_what_a_number_holds_are_decided() -> None:
    result = decide([1e308] * 6, [1e-308] * 6)
    assert result.verdict == B_CHEAPER
    assert 1e300 < result.low <= result.ratio <= result.high < math.inf
    assert decide([1e308, 1e307], [1e-308, 1e-307]).high < math.inf


def test_a_cost_that_is_not_positive_is_refused() -> None:
    with pytest.raises(ValueError, match="positive"):
        decide([1.0, 0.0], [1.0, 2.0])


def logs(rng: np.random.Generator, *shape: int, centre: float = 0.0) -> npt.NDArray[np.float64]:
    return centre + 0.1 * rng.standard_normal(shape)


@pytest.mark.parametrize("n", [5, 8, 15])
def test_a_chance_is_below_a_level_no_more_often_than_that(n: int) -> None:
    rng = np.random.default_rng(n)
    chances = decisions.p_above(logs(rng, REPETITIONS, n), logs(rng, REPETITIONS, n))
    for level in (0.05, 0.01):
        assert (chances <= level).mean() <= scipy_stats.binom.ppf(1 - 1e-4, REPETITIONS, level) / REPETITIONS


def test_chances_say_what_the_verdict_says() -> None:
    rng = np.random.default_rng(2)
    for centre in (-0.4, -0.1, 0.0, 0.1, 0.4):
        a, b = logs(rng, 7, centre=centre), logs(rng, 7)
        compared = decisions.compare(list(np.exp(a)), list(np.exp(b)))
        assert compared.p_above() == pytest.approx(float(decisions.p_above(a, b)))
        assert compared.p_below(1.1) == pytest.approx(float(decisions.p_above(b, a, 1 / 1.1)))
        assert (compared.p_above() <= decisions.ALPHA / 2) == (compared.decision.low > 1)
        assert (compared.p_below() <= decisions.ALPHA / 2) == (compared.decision.high < 1)
    assert decisions.compare([1.0] * 4, [9.0] * 4).p_below() == 1.0, "nothing is shown by four"


def test_the_cheapest_of_equals_is_hardly_ever_shown_to_be_it() -> None:
    rng = np.random.default_rng(4)
    shown = 0
    for draws in np.exp(logs(rng, 300, 6, 5)):
        sides = {str(k): list(costs) for k, costs in enumerate(draws)}
        ones, others = dict(list(sides.items())[:3]), dict(list(sides.items())[3:])
        shown += decisions.p_cheapest(ones, others) <= decisions.ALPHA
    assert shown <= scipy_stats.binom.ppf(1 - 1e-4, 300, decisions.ALPHA)
    cheap = {"a": costs(5), "b": costs(5, seed=2)}
    dear = {name: [2 * cost for cost in of] for name, of in cheap.items()}
    assert decisions.p_cheapest(cheap, dear) < 0.01 < 0.5 < decisions.p_cheapest(dear, cheap)
    assert decisions.p_cheapest(cheap, dear, 1.9) > decisions.p_cheapest(cheap, dear, 1.1)
    assert decisions.p_cheapest({}, dear) == 1.0


def test_one_side_over_a_constant_is_students_test_of_one_sample() -> None:
    values = costs(5, 9.0)
    found = decisions.compare_with(values, 10.0)
    own = scipy_stats.ttest_1samp(np.log(values), math.log(10.0), alternative="less").pvalue
    assert found.decision.verdict == A_CHEAPER and found.ratio is not None
    assert found.p_below() == pytest.approx(decisions.repeated_p(own, 5)) and found.p_above() > 0.5
    assert decisions.compare_with(values[:4], 10.0).p_below() == 1.0
    assert decisions.compare_with(costs(12, 10.0, 0.01), 10.0).equivalent


def by_block(values: list[float]) -> pd.Series:
    return pd.Series(values, dtype=float)


def test_means_may_be_negative_and_are_compared_all_the_same() -> None:
    random = np.random.default_rng(2)
    high, low = (by_block(list(centre + 2 * random.standard_normal(6))) for centre in (30.0, -4.0))
    found = decisions.compare_means(high, low)
    assert found.direction == 1 and found.p_above() < 0.001 and math.isnan(found.decision.ratio)
    assert decisions.compare_means(low, high).direction == -1
    assert decisions.compare_means(high[:4], low[:4]).p_above() == 1.0
    double = decisions.compare_means(2 * high, high)
    assert double.ratio is not None and double.ratio.low < 2 < double.ratio.high
    assert double.p_above(1.2) < 0.05 and double.p_above(2.0) > 0.3 and double.p_below(2.5) < 0.05
    assert decisions.compare_means(high, high.sample(frac=1, random_state=1)).ratio is not None


@pytest.mark.parametrize("n", [5, 12])
def test_equal_means_are_distinguished_no_more_often_than_stated(n: int) -> None:
    random, wrong = np.random.default_rng(n), 0
    for _ in range(600):
        sides = [by_block(list(10 + spread * random.standard_normal(n))) for spread in (1.0, 4.0)]
        wrong += decisions.compare_means(sides[0], sides[1]).direction != 0
    assert wrong <= scipy_stats.binom.ppf(1 - 1e-4, 600, decisions.ALPHA)
