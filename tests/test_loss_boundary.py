"""The chance of a loss, fitted: bounds that hold, an edge that is found."""

from __future__ import annotations

import math

import numpy as np
import pytest

from allocpool.studies.your_workload.loss_boundary import EDGE, SAFE, LossBoundary


def loses(rng: np.random.Generator, interval_ns: float, edge_ns: float, width: float) -> bool:
    """Whether a trial loses: a logistic edge, of which nine in ten of the change lie within ``width``."""
    odds = -math.log(interval_ns / edge_ns) / (width / (2 * math.log(19)))
    return bool(rng.random() < 1 / (1 + math.exp(-min(500.0, max(-500.0, odds)))))


@pytest.mark.parametrize("width", [0.1, 0.4])
def test_the_fitted_boundary_holds_the_truth_as_often_as_it_says(width: float) -> None:
    rng = np.random.default_rng(9)
    slope = 2 * math.log(19) / width
    rounds = 80
    held = {EDGE: 0, SAFE: 0}
    for _ in range(rounds):
        intervals = 600 * np.exp(rng.uniform(-1.2, 1.2, 30) * max(width, 0.2))
        fitted = LossBoundary(intervals, [loses(rng, ns, 600.0, width) for ns in intervals])
        for chance in held:
            point = fitted.point(chance)
            assert point is not None and point.low < point.estimate < point.high
            truth = 600 * math.exp(-math.log(chance / (1 - chance)) / slope)
            held[chance] += point.low <= truth <= point.high
    assert all(count >= rounds * (0.95 - 3 * math.sqrt(0.05 * 0.95 / rounds)) for count in held.values()), held


def test_more_trials_narrow_the_boundary_and_a_separated_edge_has_one() -> None:
    few, many = (LossBoundary([500.0, 550.0, 600.0, 650.0] * n, [True, True, False, False] * n) for n in (2, 20))
    points = [fitted.point(EDGE) for fitted in (few, many)]
    assert points[0] is not None and points[1] is not None
    assert points[0].high / points[0].low > points[1].high / points[1].low
    assert all(point and point.estimate == pytest.approx(574, rel=0.01) for point in points)
    assert many.chance(500.0) > 0.9 > 0.1 > many.chance(650.0)


def test_other_covariates_move_the_boundary() -> None:
    rng = np.random.default_rng(10)
    live = rng.choice([0.0, 1.0], 120)
    intervals = 600 * np.exp(rng.uniform(-0.6, 1.2, 120))
    lost = [loses(rng, ns, 600 * math.exp(0.7 * one), 0.3) for ns, one in zip(intervals, live, strict=True)]
    fitted = LossBoundary(np.column_stack([intervals, live]), lost)
    small, large = (fitted.point(EDGE, [one]) for one in (0.0, 1.0))
    assert small is not None and large is not None
    assert small.high < large.low and large.estimate / small.estimate == pytest.approx(math.exp(0.7), rel=0.15)


def test_without_an_edge_there_is_no_boundary() -> None:
    assert LossBoundary([500.0, 600.0, 700.0], [True, False, False]).point() is None
    assert LossBoundary([500.0] * 4, [True, True, False, False]).point() is None
    assert LossBoundary([500.0, 550.0, 600.0, 650.0], [False, False, True, True]).point() is None
    with pytest.raises(ValueError, match="above 0"):
        LossBoundary([0.0, 1.0], [True, False])
