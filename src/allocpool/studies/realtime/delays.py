"""Delays from due time to consumption, as HdrHistograms (Tene, hdrhistogram.org).

The consumers count every tick into the same buckets, whichever language they are written in; only the buckets that are
not empty are kept in a record.
"""

from __future__ import annotations

from collections.abc import Sequence

from hdrh.histogram import HdrHistogram

LOWEST_NS, HIGHEST_NS, SIGNIFICANT_DIGITS = 1, 3_600_000_000_000, 3
PERCENTILES = (50.0, 90.0, 99.0, 99.9, 99.99, 99.999, 100.0)
SUMMARY = {"p50": 50.0, "p99": 99.0, "p99.9": 99.9, "p99.99": 99.99, "max": 100.0}


def histogram(buckets: Sequence[Sequence[int]]) -> HdrHistogram:
    """The histogram of these (index, count) pairs, in nanoseconds."""
    filled = HdrHistogram(LOWEST_NS, HIGHEST_NS, SIGNIFICANT_DIGITS)
    for index, count in buckets:
        filled.record_value(filled.get_value_from_index(index), count)
    return filled


def percentiles_us(buckets: Sequence[Sequence[int]], percentiles: Sequence[float]) -> list[float]:
    """Delays in microseconds at these percentiles; not-a-number where no delay was recorded."""
    filled = histogram(buckets)
    if not filled.get_total_count():
        return [float("nan")] * len(percentiles)
    found = filled.get_percentile_to_value_dict(sorted(percentiles))
    return [found[percentile] / 1e3 for percentile in percentiles]
