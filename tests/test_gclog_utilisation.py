"""Minimum mutator utilisation against hand-made cases and against a search of every window."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from allocpool.gclog import minimum_mutator_utilisation

MS = 1_000_000


def searched(stops: npt.NDArray[np.int64], window_ns: int, length_ns: int) -> float:
    """The same by brute force: time in steps of a microsecond, every window looked at."""
    step = 1000
    stopped = np.zeros(length_ns // step)
    for start, end in stops:
        stopped[start // step : end // step] = 1
    total = np.concatenate(([0.0], np.cumsum(stopped)))
    width = window_ns // step
    return float(1 - (total[width:] - total[:-width]).max() / width)


def test_a_single_stop() -> None:
    values = minimum_mutator_utilisation([[40 * MS, 50 * MS]], [5, 10, 20, 100], (0, 100 * MS))
    assert values.tolist() == pytest.approx([0.0, 0.0, 0.5, 0.9])


def test_short_stops_close_together_are_as_bad_as_a_long_one() -> None:
    stops = [[10 * MS, 14 * MS], [15 * MS, 19 * MS], [80 * MS, 84 * MS]]
    assert minimum_mutator_utilisation(stops, [9], (0, 100 * MS)).tolist() == pytest.approx([1 / 9])


def test_overlapping_stops_of_several_kinds_count_once() -> None:
    one = minimum_mutator_utilisation([[10 * MS, 30 * MS]], [40], (0, 100 * MS))
    many = minimum_mutator_utilisation(
        [[10 * MS, 20 * MS], [15 * MS, 30 * MS], [12 * MS, 13 * MS], [20 * MS, 20 * MS]], [40], (0, 100 * MS)
    )
    assert many.tolist() == one.tolist() == [0.5]


def test_no_stop_leaves_everything_and_a_window_over_the_span_has_no_value() -> None:
    values = minimum_mutator_utilisation(np.empty((0, 2)), [1, 1000], (0, 100 * MS))
    assert values[0] == 1.0 and np.isnan(values[1])


def test_stops_outside_the_span_do_not_count() -> None:
    values = minimum_mutator_utilisation([[-50 * MS, 5 * MS], [95 * MS, 200 * MS]], [10, 100], (0, 100 * MS))
    assert values.tolist() == pytest.approx([0.5, 0.9])


def test_nanoseconds_since_1970_stay_exact() -> None:
    epoch = 1_700_000_000_000_000_000
    near = minimum_mutator_utilisation([[10, 20], [25, 35]], [100e-6], (0, 1000))
    far = minimum_mutator_utilisation(
        [[epoch + 10, epoch + 20], [epoch + 25, epoch + 35]], [100e-6], (epoch, epoch + 1000)
    )
    assert far.tolist() == near.tolist() == pytest.approx([0.8])


@pytest.mark.parametrize("seed", range(20))
def test_agrees_with_a_search_of_every_window(seed: int) -> None:
    dice = np.random.default_rng(seed)
    length = 100 * MS
    starts = dice.integers(0, length // 1000, 12) * 1000
    stops = np.column_stack((starts, np.minimum(length, starts + dice.integers(0, 8000, 12) * 1000)))
    for window_ms in (1, 3, 10, 50, 100):
        exact = minimum_mutator_utilisation(stops, [window_ms], (0, length))[0]
        assert exact == pytest.approx(max(0.0, searched(stops, window_ms * MS, length)), abs=1e-9)


@pytest.mark.parametrize(
    ("stops", "windows", "span"), [([[5, 3]], [1.0], (0, 10)), ([], [0.0], (0, 10)), ([], [1.0], (10, 10))]
)
def test_lengths_that_make_no_sense_are_refused(
    stops: list[list[int]], windows: list[float], span: tuple[int, int]
) -> None:
    with pytest.raises(ValueError, match="positive length"):
        minimum_mutator_utilisation(stops, windows, span)
