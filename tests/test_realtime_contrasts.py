"""How sure searches make one: false verdicts no more often than stated, bounds that hold, fits that find the edge."""

from __future__ import annotations

import math

import numpy as np
import pytest

from allocpool.studies.realtime.contrasts import (
    CONFIRMATIONS,
    ENOUGH_SEARCHES,
    Searches,
    most_loss_chance,
    p_fails,
    p_smaller,
    p_works,
)
from allocpool.studies.realtime.loss_boundary import EDGE, SAFE, LossBoundary

STEP = 0.95


def loses(rng: np.random.Generator, interval_ns: float, edge_ns: float, width: float) -> bool:
    """Whether a trial loses: a logistic edge, of which nine in ten of the change lie within ``width``."""
    odds = -math.log(interval_ns / edge_ns) / (width / (2 * math.log(19)))
    return bool(rng.random() < 1 / (1 + math.exp(-min(500.0, max(-500.0, odds)))))


def bracket(rng: np.random.Generator, edge_ns: float, width: float) -> tuple[float, float]:
    """What a search with five confirmations ends with: outwards in growing steps from near the edge, on a grid."""
    ends = []
    for outwards in (-1, 1):
        interval_ns, step = edge_ns * STEP ** rng.uniform(-0.5, 0.5), 1
        while any(loses(rng, interval_ns, edge_ns, width) == (outwards > 0) for _ in range(CONFIRMATIONS)):
            interval_ns *= STEP ** (-outwards * step)
            step *= 2
        ends.append(interval_ns)
    return min(ends), max(ends)


def searches(rng: np.random.Generator, edge_ns: float, width: float, count: int, between: float = 0.0) -> Searches:
    """Those of one cell, each on a machine whose pace differs by ``between`` (a standard deviation)."""
    brackets = [bracket(rng, edge_ns * math.exp(rng.normal(0, between)), width) for _ in range(count)]
    return Searches(brackets, CONFIRMATIONS, 10_000.0, tried=5)


@pytest.mark.parametrize("count", [ENOUGH_SEARCHES, 5])
@pytest.mark.parametrize("width", [0.05, 0.2, 0.4])
@pytest.mark.parametrize("between", [0.0, 0.1])
def test_two_identical_cells_are_hardly_ever_told_apart(count: int, width: float, between: float) -> None:
    rng = np.random.default_rng(7)
    rounds = 150
    false = 0
    for _ in range(rounds):
        one, other = (searches(rng, 600.0, width, count, between) for _ in range(2))
        false += min(p_smaller(one, other), p_smaller(other, one)) <= 0.025
    # 5% and three standard deviations of a share of so many
    assert false <= rounds * (0.05 + 3 * math.sqrt(0.05 * 0.95 / rounds))


@pytest.mark.parametrize("count", [ENOUGH_SEARCHES, 5])
def test_a_cell_that_needs_twice_the_interval_is_told_apart(count: int) -> None:
    rng = np.random.default_rng(8)
    shown = sum(
        p_smaller(searches(rng, 600.0, 0.1, count), searches(rng, 1200.0, 0.1, count)) <= 0.025 for _ in range(40)
    )
    assert shown >= 36


def without(count: int, losing: int = CONFIRMATIONS) -> Searches:
    """Searches none of which finds an interval."""
    nothing = [(10_000.0, math.inf)] * count
    return Searches(nothing, CONFIRMATIONS, 10_000.0, 5, count * CONFIRMATIONS, count * losing)


def found(count: int, at_ns: float = 300.0, missing: int = 0) -> Searches:
    """Searches that find an interval, but for some."""
    brackets = [(0.95 * at_ns, at_ns)] * count + [(10_000.0, math.inf)] * missing
    return Searches(brackets, CONFIRMATIONS, 10_000.0, 5, 0, 0)


def test_who_passes_at_all_is_set_against_who_never_does() -> None:
    assert p_smaller(found(3), without(3)) == pytest.approx(0.25**3)
    assert p_smaller(found(5), without(5)) == pytest.approx(0.25**5)
    assert p_smaller(without(5), found(5)) == p_smaller(without(5), without(5)) == 1.0
    assert 0.001 < p_smaller(found(5), found(1, missing=4)) < 0.05
    assert p_smaller(found(5, 9_900.0), without(5), by=1.1) == 1.0, "beyond what was tried it may lie just as well"


def test_reaching_real_time_takes_passing_searches_and_losing_it_trials_that_lose() -> None:
    assert found(3).p_reaches() == pytest.approx((5 / 32) ** 3)
    assert found(3).p_loses() == 1.0 == without(3).p_reaches()
    assert without(3).p_loses() < 1e-9
    assert without(3, losing=0).p_loses() == 1.0
    assert found(3).p_below(330.0) < 0.05 < found(3).p_below(290.0)
    assert found(3).p_above(200.0) < 0.05 and without(3).p_above(500.0) < 0.05
    assert found(1).p_below(1e4) == 1.0, "of one search the spread is not known"


def test_trials_without_a_loss_bound_its_chance() -> None:
    assert most_loss_chance(1) == pytest.approx(0.95)
    assert most_loss_chance(15) == pytest.approx(1 - 0.05 ** (1 / 15))
    assert p_works(0, 5) == pytest.approx(0.5**5) and p_works(2, 5) == 0.5
    assert p_fails(0, 5) == 1.0 and p_fails(5, 5) == pytest.approx(0.05**5)


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
