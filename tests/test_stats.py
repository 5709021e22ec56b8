"""Known values, stated coverage, and the rule that a difference must be shown."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from allocpool import stats


def blocks(*values: float) -> pd.Series:
    return pd.Series(values, index=range(len(values)), dtype=float)


def test_geometric_mean_of_known_values() -> None:
    assert stats.geometric_mean([1.0, 100.0]) == pytest.approx(10.0)
    assert stats.geometric_mean([2.0, 8.0, math.nan]) == pytest.approx(4.0)


@pytest.mark.parametrize("values", [[], [math.nan], [1.0, 0.0], [1.0, -1.0]])
def test_geometric_mean_refuses_what_has_none(values: list[float]) -> None:
    with pytest.raises(ValueError, match=r"at least one trial|must be positive"):
        stats.geometric_mean(values)


@pytest.mark.parametrize(("count", "method"), [(1, "one trial"), (2, "range"), (4, "range"), (5, "bootstrap")])
def test_few_trials_are_told_as_few(count: int, method: str) -> None:
    values = np.linspace(10.0, 14.0, count)
    found = stats.geometric_interval(values)
    assert (found.method, found.trials) == (method, count)
    assert values.min() <= found.low <= found.estimate <= found.high <= values.max()
    if method != "bootstrap":
        assert (found.low, found.high) == (values.min(), values.max())


@pytest.mark.parametrize(("trials", "coverage"), [(2, 0.5), (3, 0.75), (4, 0.875), (5, 0.9375)])
def test_range_holds_the_median_as_often_as_stated(trials: int, coverage: float) -> None:
    assert stats.range_coverage(trials) == coverage
    draws = np.random.default_rng(7).lognormal(size=(20_000, trials))
    held = ((draws.min(axis=1) <= 1.0) & (draws.max(axis=1) >= 1.0)).mean()
    assert held == pytest.approx(coverage, abs=0.01)
    assert f"{coverage:.0%}" in stats.describe_method("range", trials)


@pytest.mark.parametrize("trials", [5, 8])
def test_bootstrap_interval_covers_about_as_often_as_it_says(trials: int) -> None:
    rng = np.random.default_rng(11)
    held = 0
    for _ in range(600):
        found = stats.geometric_interval(rng.lognormal(0.0, 0.1, trials))
        held += found.low <= 1.0 <= found.high
    # The plain percentile interval would hold the truth in about 83% of the cases at n = 5.
    assert 0.91 <= held / 600 <= 0.98


def test_bootstrap_interval_is_the_same_each_time() -> None:
    values = [10.0, 11.0, 9.5, 10.4, 10.1, 9.9]
    assert stats.geometric_interval(values) == stats.geometric_interval(values)


def test_ratios_are_paired_within_blocks() -> None:
    slow, fast = blocks(20.0, 200.0, 30.0), blocks(10.0, 100.0)
    assert stats.block_ratios(slow, fast).to_list() == pytest.approx([2.0, 2.0])


def test_trials_of_one_block_count_once() -> None:
    twice = pd.Series([10.0, 40.0, 5.0], index=[0, 0, 1])
    assert stats.block_ratios(twice, blocks(10.0, 10.0)).to_list() == pytest.approx([2.0, 0.5])


def a_and_a(spread: float) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "solution": ["x", "x", "y", "y"],
            "block": [0, 1, 0, 1],
            "ns_per_packet": [10.0, 10.0 * spread, 50.0, 50.0],
        }
    )


def test_noise_band_is_the_widest_of_few_pairs() -> None:
    noise = stats.noise_band(a_and_a(1.3), ["solution"])
    assert noise.pairs == 2
    assert noise.factor == pytest.approx(1.3)


def test_without_pairs_nothing_can_be_told_from_noise() -> None:
    noise = stats.noise_band(a_and_a(1.3).query("block == 0"), ["solution"])
    assert noise == stats.NoiseBand(math.inf, 0)
    assert stats.compare(blocks(100.0, 100.0), blocks(1.0, 1.0), noise).direction == 0


QUIET, NOISY = stats.NoiseBand(1.05, 30), stats.NoiseBand(3.0, 30)


@pytest.mark.parametrize(
    ("numerator", "denominator", "noise", "direction"),
    [
        (blocks(20, 21), blocks(10, 10), QUIET, 1),
        (blocks(10, 10), blocks(20, 21), QUIET, -1),
        (blocks(20, 21), blocks(10, 10), NOISY, 0),
        (blocks(10.2, 10.3), blocks(10, 10), QUIET, 0),
        (blocks(20, 9), blocks(10, 10), QUIET, 0),
        (blocks(50), blocks(10), QUIET, 0),
        (blocks(12, 12.1, 11.9, 12.2, 12), blocks(10, 10, 10, 10, 10), QUIET, 1),
        (blocks(8, 8.1, 7.9, 8.2, 8), blocks(10, 10, 10, 10, 10), QUIET, -1),
        (blocks(12, 12.1, 11.9, 12.2, 12), blocks(10, 10, 10, 10, 10), NOISY, 0),
        (blocks(12, 9, 10, 11, 9.5), blocks(10, 10, 10, 10, 10), QUIET, 0),
    ],
)
def test_a_difference_must_be_shown(
    numerator: pd.Series, denominator: pd.Series, noise: stats.NoiseBand, direction: int
) -> None:
    found = stats.compare(numerator, denominator, noise)
    assert found.direction == direction
    assert found.text().startswith("no difference shown") == (direction == 0)


def test_a_missing_side_is_not_measured() -> None:
    found = stats.compare(blocks(), blocks(1.0, 2.0), QUIET)
    assert (found.ratio, found.direction, found.text()) == (None, 0, "not measured")


def test_exact_binomial_bounds() -> None:
    low, high = stats.binomial_bounds(0, 100)
    assert low == 0.0
    assert high == pytest.approx(1 - 0.025 ** (1 / 100))
    assert stats.binomial_bounds(5, 10) == pytest.approx((0.1871, 0.8129), abs=1e-4)


@pytest.mark.parametrize(("events", "chances"), [(0, 0), (-1, 5), (6, 5)])
def test_binomial_bounds_refuse_nonsense(events: int, chances: int) -> None:
    with pytest.raises(ValueError, match="between 0 and chances"):
        stats.binomial_bounds(events, chances)


@pytest.mark.parametrize(
    ("values", "unstable"),
    [([100.0, 101.0, 99.0], False), ([100.0, 130.0, 80.0], True), ([100.0] * 60 + [152.0], True), ([100.0], False)],
)
def test_stability_follows_the_rules_of_pyperf(values: list[float], unstable: bool) -> None:
    assert stats.stability(values).unstable == unstable


def test_coefficient_of_variation_of_known_values() -> None:
    assert stats.stability([9.0, 10.0, 11.0]).coefficient_of_variation == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("value", "text"), [(4042.0, "4,040"), (45.04, "45.0"), (0.04512, "0.0451"), (0.0, "0"), (math.inf, "-")]
)
def test_significant_digits(value: float, text: str) -> None:
    assert stats.significant(value) == text
