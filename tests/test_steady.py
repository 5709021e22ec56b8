"""Steady states: what change points find in series whose truth is known."""

from __future__ import annotations

import numpy as np
import pytest

from allocpool.campaign.steady import FEWEST_ITERATIONS, change_points, steady_states


def series(*levels: tuple[float, int], noise: float = 0.02, seed: int = 1) -> list[float]:
    """Costs that lie around each of the levels for so many iterations."""
    rng = np.random.default_rng(seed)
    return [level * float(np.exp(rng.normal(0, noise))) for level, count in levels for _ in range(count)]


@pytest.mark.parametrize(
    ("costs", "expected"),
    [
        (series((100, 60)), "steady"),
        (series((150, 20), (100, 60)), "warming"),
        (series((200, 10), (150, 10), (100, 60)), "warming"),
        (series((100, 30), (150, 50)), "slowing"),
        (series((100, 70), (150, 10)), "never"),
        (series((150, 70), (100, 10)), "never"),
        (series((100, 20), (150, 20), (100, 40)), "warming"),
        (series((100, FEWEST_ITERATIONS - 1)), None),
        ([100.0] * 50, "steady"),
    ],
)
def test_a_series_is_called_what_it_is(costs: list[float], expected: str | None) -> None:
    assert steady_states([costs]) == [expected]


def test_single_iterations_that_lie_far_off_are_no_change() -> None:
    costs = series((100, 80))
    costs[17] = costs[60] = 900.0
    assert steady_states([costs]) == ["steady"]


def test_change_points_are_where_the_level_or_the_spread_changes() -> None:
    levels = np.log(series((100, 50), (130, 70)))
    assert change_points(levels[np.newaxis]) == [[pytest.approx(50, abs=2)]]
    spreads = np.concatenate([np.log(series((100, 60), noise=0.01)), np.log(series((100, 60), noise=0.2))])
    assert change_points(spreads[np.newaxis]) == [[pytest.approx(60, abs=4)]]


def test_noise_alone_is_seldom_called_a_change() -> None:
    called = steady_states([series((100, 60), noise=0.1, seed=seed) for seed in range(200)])
    assert called.count("steady") >= 190
