"""How often `decisions` would be wrong, and how much it would see, where the truth is known because it is made up.

Costs are drawn from kinds of noise as trials show them; a repetition is a whole comparison, looked at again and again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from allocpool import decisions

Array = npt.NDArray[np.float64]
Draw = Callable[[np.random.Generator, tuple[int, int]], tuple[Array, Array]]
"""Logarithmic noise of sides a and b: repetitions x trials, in order of time."""

SEED = 20_190_117


class Noise(NamedTuple):
    """A kind of noise: what is so about it, and how it is drawn."""

    means: str
    draw: Draw


def _each(one: Callable[[np.random.Generator, tuple[int, int]], Array]) -> Draw:
    return lambda rng, shape: (one(rng, shape), one(rng, shape))


def _unequal(rng: np.random.Generator, shape: tuple[int, int]) -> tuple[Array, Array]:
    return 0.20 * rng.standard_normal(shape), 0.05 * rng.standard_normal(shape)


def _drifting(rng: np.random.Generator, shape: tuple[int, int]) -> tuple[Array, Array]:
    """Blocks drift as a random walk, both sides alike."""
    drift = np.cumsum(0.05 * rng.standard_normal(shape), axis=1)
    return drift + 0.05 * rng.standard_normal(shape), drift + 0.05 * rng.standard_normal(shape)


NOISES: Mapping[str, Noise] = MappingProxyType(
    {
        "quiet": Noise("lognormal, 5%", _each(lambda rng, shape: 0.05 * rng.standard_normal(shape))),
        "usual": Noise("lognormal, 10%", _each(lambda rng, shape: 0.10 * rng.standard_normal(shape))),
        "noisy": Noise("lognormal, 22%", _each(lambda rng, shape: 0.22 * rng.standard_normal(shape))),
        "unequal": Noise("lognormal, one side 20%, the other 5%", _unequal),
        "outliers": Noise(
            "lognormal, 5%, and one trial in twenty takes twice as long",
            _each(lambda rng, shape: 0.05 * rng.standard_normal(shape) + math.log(2) * (rng.random(shape) < 0.05)),
        ),
        "two speeds": Noise(
            "lognormal, 5%, and three trials in ten take four times as long",
            _each(lambda rng, shape: 0.05 * rng.standard_normal(shape) + math.log(4) * (rng.random(shape) < 0.30)),
        ),
        "drift": Noise("lognormal, 5%, on blocks that wander by 5% a step", _drifting),
    }
)
"""Every kind of noise by its name. The widths are those of cells of campaigns on quiet and on noisy days."""


class Rates(NamedTuple):
    """Shares of repetitions after ``n`` trials a side.

    ``wrong``: the verdict contradicts the truth at any look so far. ``holds``: the interval of the latest look holds
    the truth. ``decided``: cheaper or equivalent.
    """

    wrong: float
    holds: float
    decided: float
    equivalent: float


def rates(
    noise: str, ratio: float, n: int, repetitions: int = 4_000, effect: float = decisions.EFFECT, seed: int = SEED
) -> Rates:
    """What verdicts come out where side a truly costs ``ratio`` times side b, after ``n`` trials a side."""
    rng = np.random.default_rng([seed, n])
    a, b = NOISES[noise].draw(rng, (repetitions, n))
    truth, margin = math.log(ratio), math.log(effect)
    if n < decisions.FEWEST:
        middle, half = decisions.early_interval(a + truth, b, decisions.ALPHA)
        return Rates(0.0, float((np.abs(middle - truth) <= half).mean()), 0.0, 0.0)
    wrong = np.zeros(repetitions, dtype=bool)
    for look in (size for size in decisions.LOOKS if size <= n):
        low, high = decisions.repeated_interval(a[:, :look] + truth, b[:, :look], decisions.ALPHA)
        equivalent = (-margin < low) & (high < margin)
        cheaper = ~equivalent & ((high < 0) | (low > 0))
        wrong |= (equivalent & (abs(truth) >= margin)) | (cheaper & (np.sign(low + high) != np.sign(truth)))
    shares = (wrong, (low <= truth) & (truth <= high), equivalent | cheaper, equivalent)
    return Rates(*(float(share.mean()) for share in shares))


def error_table(sizes: Sequence[int], repetitions: int = 4_000) -> pd.DataFrame:
    """Where both sides are the same, and where they differ by just what matters: noise, n, share of wrong verdicts at
    any look so far (``wrong_when_same``, ``wrong_at_effect``) and of intervals that hold the truth (``holds``)."""
    rows = []
    for name in NOISES:
        for n in sizes:
            same, at_effect = (rates(name, ratio, n, repetitions) for ratio in (1.0, decisions.EFFECT))
            rows.append(
                {"noise": name, "n": n, "wrong_when_same": same.wrong, "wrong_at_effect": at_effect.wrong,
                 "holds": min(same.holds, at_effect.holds)}
            )  # fmt: skip
    return pd.DataFrame(rows)


def smallest_seen(noise: str, n: int, power: float = 0.8, repetitions: int = 2_000) -> float:
    """The smallest true ratio above 1 that is found cheaper with this chance after ``n`` trials a side; infinite where
    one of 8 is not."""
    low, high = 0.0, math.log(8)
    if n < decisions.FEWEST or _found(noise, high, n, repetitions) < power:
        return math.inf
    while high - low > 0.002:
        middle = (low + high) / 2
        low, high = (low, middle) if _found(noise, middle, n, repetitions) >= power else (middle, high)
    return math.exp(high)


def _found(noise: str, log_ratio: float, n: int, repetitions: int) -> float:
    reached = rates(noise, math.exp(log_ratio), n, repetitions)
    return reached.decided - reached.equivalent
