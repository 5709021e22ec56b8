"""Sizes of the fragmentation study: tables out of which each language draws with ten bits, so that all see the same."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import NamedTuple

SMALLEST, LARGEST = 64, 128 * 1024
TABLE = 1024


class Phase(NamedTuple):
    """A part of a trial."""

    name: str
    work: float
    """Its share of the bytes allocated in all."""
    live: float
    """The bytes alive in it, as a share of the largest."""
    sizes: tuple[int, ...]
    """In bytes, each equally likely; as many as a power of two."""


def uniform(low: int, high: int) -> tuple[int, ...]:
    """Return sizes from ``low`` to ``high`` bytes, each equally likely."""
    return tuple(round(low + (high - low) * (i + 0.5) / TABLE) for i in range(TABLE))


def lognormal(median: int, sigma: float) -> tuple[int, ...]:
    """Return quantiles of a lognormal distribution in bytes, cut to SMALLEST and LARGEST; many are small (Downey,
    "Lognormal and Pareto distributions in the Internet", Computer Communications 28(7), 2005)."""
    normal = NormalDist(math.log(median), sigma)
    sizes = (math.exp(normal.inv_cdf((i + 0.5) / TABLE)) for i in range(TABLE))
    return tuple(min(LARGEST, max(SMALLEST, round(size))) for size in sizes)


def phases(distribution: str) -> tuple[Phase, ...]:
    """Return the parts of a distribution by its name; their shares of work add up to one."""
    if distribution == "uniform":
        return (Phase("steady", 1.0, 1.0, uniform(SMALLEST, 16 * 1024)),)
    if distribution == "lognormal":
        return (Phase("steady", 1.0, 1.0, lognormal(1024, 1.2)),)
    small, large = lognormal(256, 0.8), lognormal(12 * 1024, 0.8)
    return (
        Phase("small", 0.2, 1.0, small),
        Phase("shift to large", 0.3, 1.0, large),
        Phase("shrink", 0.1, 0.25, large),
        Phase("grow", 0.2, 1.0, lognormal(2048, 1.0)),
        Phase("shift to small", 0.15, 1.0, small),
        Phase("shrink again", 0.05, 0.25, small),
    )


def max_buffers(distribution: str, live_bytes: int) -> int:
    """Return how many buffers the table of a trial must hold: those alive at once, and half as many again."""
    smallest_mean = min(sum(phase.sizes) / len(phase.sizes) for phase in phases(distribution))
    return int(1.5 * live_bytes / smallest_mean) + 1000
