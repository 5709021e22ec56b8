"""How often `decisions` would be wrong, and how much it would see, where the truth is known because it is made up.

Costs are drawn from kinds of noise as trials show them; a repetition is a whole comparison, looked at again and again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from allocpool import decisions

Array = npt.NDArray[np.float64]
Draw = Callable[[np.random.Generator, tuple[int, int]], tuple[Array, Array]]
"""Logarithmic noise of sides a and b: repetitions x trials, in order of time."""

SEED = 20_190_117


class Noise(NamedTuple):
    """A kind of noise: what is so about it, how it is drawn, and its mean, which the truth has on top."""

    means: str
    draw: Draw
    mean: float = 0.0


def _each(one: Callable[[np.random.Generator, tuple[int, int]], Array]) -> Draw:
    return lambda rng, shape: (one(rng, shape), one(rng, shape))


def _unequal(rng: np.random.Generator, shape: tuple[int, int]) -> tuple[Array, Array]:
    return 0.20 * rng.standard_normal(shape), 0.05 * rng.standard_normal(shape)


def _drifting(rng: np.random.Generator, shape: tuple[int, int]) -> tuple[Array, Array]:
    """Blocks drift as a random walk, both sides alike."""
    drift = np.cumsum(0.05 * rng.standard_normal(shape), axis=1)
    return drift + 0.05 * rng.standard_normal(shape), drift + 0.05 * rng.standard_normal(shape)


def _in_blocks(rng: np.random.Generator, shape: tuple[int, int]) -> tuple[Array, Array]:
    """What a block has in common, both sides share."""
    block = 0.10 * rng.standard_normal(shape)
    return block + 0.05 * rng.standard_normal(shape), block + 0.05 * rng.standard_normal(shape)


def _slowed(sigma: float, factor: float, share: float) -> Noise:
    """Lognormal, and a share of the trials takes some factor longer."""
    longer = math.log(factor)
    return Noise(
        f"lognormal, {sigma:.0%}, and {share:.0%} of the trials take {factor:g} times as long",
        _each(lambda rng, shape: sigma * rng.standard_normal(shape) + longer * (rng.random(shape) < share)),
        share * longer,
    )


NOISES: Mapping[str, Noise] = MappingProxyType(
    {
        "quiet": Noise("lognormal, 5%", _each(lambda rng, shape: 0.05 * rng.standard_normal(shape))),
        "usual": Noise("lognormal, 10%", _each(lambda rng, shape: 0.10 * rng.standard_normal(shape))),
        "noisy": Noise("lognormal, 22%", _each(lambda rng, shape: 0.22 * rng.standard_normal(shape))),
        "unequal": Noise("lognormal, one side 20%, the other 5%", _unequal),
        "outliers": _slowed(0.05, 2.0, 0.05),
        "two speeds": _slowed(0.05, 4.0, 0.30),
        "blocks": Noise("lognormal, 5%, on blocks that differ by 10%", _in_blocks),
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


def shift_seen(a: Array, b: Array, alpha: float = decisions.ALPHA, effect: float = decisions.EFFECT) -> Array:
    """By how much the logarithms of each repetition's side a would have to rise until it is found dearer."""
    if a.shape[-1] < decisions.FEWEST:
        return np.full(a.shape[:-1], math.inf)
    low, high = decisions.repeated_interval(a, b, alpha)
    # Beyond one, and no longer within what does not matter.
    return np.maximum(-low, math.log(effect) - high)
