"""Known values and stated coverage."""

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


@pytest.mark.parametrize(("count", "method"), [(1, "one trial"), (2, "Student"), (5, "Student")])
def test_an_interval_is_the_mean_logarithms_from_two_trials_on(count: int, method: str) -> None:
    found = stats.geometric_interval(np.linspace(10.0, 14.0, count))
    assert (found.method, found.trials) == (method, count)
    assert (found.low < found.estimate < found.high) == (count > 1)


def test_an_interval_of_known_values() -> None:
    found = stats.geometric_interval([math.e, math.e**2, math.e**3])
    half = 4.303 / math.sqrt(3)  # Student's quantile for two degrees of freedom, standard deviation 1
    assert (found.estimate, found.low, found.high) == pytest.approx(
        (math.e**2, math.exp(2 - half), math.exp(2 + half)), rel=1e-3
    )


@pytest.mark.parametrize("trials", [2, 5])
def test_an_interval_holds_the_truth_as_often_as_it_says(trials: int) -> None:
    draws = np.random.default_rng(11).lognormal(0.0, 0.1, (1000, trials))
    found = [stats.geometric_interval(draw) for draw in draws]
    assert 0.93 <= np.mean([one.low <= 1.0 <= one.high for one in found]) <= 0.97


def test_ratios_are_paired_within_blocks() -> None:
    slow, fast = blocks(20.0, 200.0, 30.0), blocks(10.0, 100.0)
    assert stats.block_ratios(slow, fast).to_list() == pytest.approx([2.0, 2.0])


def test_trials_of_one_block_count_once() -> None:
    twice = pd.Series([10.0, 40.0, 5.0], index=[0, 0, 1])
    assert stats.block_ratios(twice, blocks(10.0, 10.0)).to_list() == pytest.approx([2.0, 0.5])


def test_exact_binomial_bounds() -> None:
    low, high = stats.binomial_bounds(0, 100)
    assert low == 0.0
    assert high == pytest.approx(1 - 0.025 ** (1 / 100))
    assert stats.binomial_bounds(5, 10) == pytest.approx((0.1871, 0.8129), abs=1e-4)


@pytest.mark.parametrize(("events", "chances"), [(0, 0), (-1, 5), (6, 5)])
def test_binomial_bounds_refuse_nonsense(events: int, chances: int) -> None:
    with pytest.raises(ValueError, match="must"):
        stats.binomial_bounds(events, chances)


@pytest.mark.parametrize(
    ("value", "text"),
    [(4042.0, "4,040"), (45.04, "45.0"), (0.04512, "0.0451"), (0.0, "0"), (math.inf, "-"), (1e308, "1.00e+308")],
)
def test_significant_digits(value: float, text: str) -> None:
    assert stats.significant(value) == text
