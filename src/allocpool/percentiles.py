"""Percentiles: of HdrHistogram buckets, and by nearest rank. Imported inside trials, too."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate

from hdrh.histogram import HdrHistogram

TAILS = {"p50": 50.0, "p99": 99.0, "p99.9": 99.9, "p99.99": 99.99}
SUMMARY = {**TAILS, "max": 100.0}

LOWEST_NS, HIGHEST_NS, SIGNIFICANT_DIGITS = 1, 3_600_000_000_000, 3
"""The range of every HdrHistogram, whichever language filled it (Tene, hdrhistogram.org)."""


_SCALE = HdrHistogram(LOWEST_NS, HIGHEST_NS, SIGNIFICANT_DIGITS)


def histogram_percentiles_us(buckets: Sequence[tuple[int, int]], percentiles: Sequence[float]) -> list[float]:
    """Return microseconds at these percentiles of (index, count) pairs; NaN where nothing was counted.

    Ranks and values are HdrHistogram's, whose Python would walk through every possible bucket.
    """
    ordered = sorted(buckets)
    reached = list(accumulate(count for _, count in ordered))
    if not reached or not reached[-1]:
        return [float("nan")] * len(percentiles)
    ranks = [max(1, int(percentile * reached[-1] / 100 + 0.5)) for percentile in percentiles]
    indices = [ordered[bisect_left(reached, rank)][0] for rank in ranks]
    return [_SCALE.get_highest_equivalent_value(_SCALE.get_value_from_index(index)) / 1e3 for index in indices]


def samples_needed(percentile: float) -> int:
    """Return the samples that a percentile needs: one of them lies above it."""
    return math.ceil(round(100 / (100 - percentile), 6))


def nearest_rank_percentiles_ms(samples_ns: Sequence[int]) -> dict[str, float | None]:
    """Return `TAILS` by nearest rank, and the maximum, ms; None where samples are too few."""
    ordered = sorted(samples_ns)
    ranked: dict[str, float | None] = {
        name: ordered[math.ceil(round(len(ordered) * percentile / 100, 6)) - 1] / 1e6
        if len(ordered) >= samples_needed(percentile)
        else None
        for name, percentile in TAILS.items()
    }
    return {**ranked, "max": ordered[-1] / 1e6 if ordered else None}


def tail_ms(samples_ns: Sequence[int]) -> tuple[str, float] | tuple[None, None]:
    """Return the highest of `TAILS` that so many samples allow, and the value there, ms."""
    ranked = nearest_rank_percentiles_ms(samples_ns)
    allowed = [(name, value) for name in TAILS if (value := ranked[name]) is not None]
    return allowed[-1] if allowed else (None, None)
