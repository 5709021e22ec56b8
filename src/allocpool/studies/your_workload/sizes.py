"""Sizes of messages: from the words of a shell or a file to (bytes, weight) pairs, and size classes that fit them.

Imported inside trials too: nothing here may import more than the standard library.
"""

from __future__ import annotations

import csv
import math
import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import accumulate
from pathlib import Path
from statistics import NormalDist
from typing import Any

from allocpool.errors import UserError

Sizes = tuple[tuple[int, float], ...]
"""(bytes, weight): bytes ascend, weights sum to 1."""

SMALLEST_BYTES = 16
LARGEST_BYTES = 2**28
MOST_SIZES = 4096
FITTED_CLASSES = 16
MIX_SHARE = 0.2
"""Of the messages out at once, those that the small pool of ``mix`` holds."""
_SPREADS = 4
"""Standard deviations by which a size class is prepared for more messages than it has in the mean."""
_LOGNORMAL_PARTS = 64
FORMS = "512, 4k, 64:0.7,1500:0.3, lognormal:MEDIAN:SIGMA or histogram:FILE.csv"


def parse_sizes(text: str) -> Sizes:
    """Read one of `FORMS`. A lognormal distribution becomes the middles of equally likely parts; SIGMA is of the
    logarithm. A file has two columns, bytes and count, and may have a line of names. UserError for another form, an
    invalid size or weight, or a file that can't be read."""
    kind, _, rest = text.strip().partition(":")
    if kind == "histogram":
        return _histogram(Path(rest))
    try:
        if kind == "lognormal":
            median, sigma = map(float, rest.split(":"))
            return _lognormal(median, sigma)
        words = [word.partition(":") for word in text.split(",")]
        pairs = [(_bytes(size), float(weight or 1)) for size, _, weight in words]
    except ValueError:
        raise UserError(f"sizes {text!r} is not {FORMS}") from None
    return checked_sizes(pairs)


def checked_sizes(pairs: Iterable[tuple[float, float]]) -> Sizes:
    """Return the pairs in order, equal sizes joined, weights summing to 1. UserError for none, or an invalid one."""
    joined: dict[int, float] = {}
    for size, weight in pairs:
        if size != int(size) or not SMALLEST_BYTES <= size <= LARGEST_BYTES:
            raise UserError(f"sizes are {SMALLEST_BYTES} to {LARGEST_BYTES} whole bytes, not {size:g}")
        if not (math.isfinite(weight) and weight > 0):
            raise UserError(f"the weight of a size is above 0, not {weight:g}")
        joined[int(size)] = joined.get(int(size), 0.0) + weight
    if not joined:
        raise UserError(f"sizes are empty: give {FORMS}")
    if len(joined) > MOST_SIZES:
        raise UserError(f"sizes have {len(joined)} different ones, {MOST_SIZES} at most: round them")
    total = math.fsum(joined.values())
    return tuple((size, joined[size] / total) for size in sorted(joined))


def _bytes(word: str) -> float:
    """Bytes of a word, with or without a unit; ``1k`` is 1,024."""
    number = re.sub("(i?b)?$", "", word.strip().lower(), count=1)
    power = "kmg".find(number[-1:]) + 1 if number else 0
    return float(number[:-1] if power else number) * 2.0 ** (10 * power)


def _lognormal(median: float, sigma: float) -> Sizes:
    if not (median > 0 and sigma > 0):
        raise UserError(f"lognormal:MEDIAN:SIGMA takes numbers above 0, not {median:g} and {sigma:g}")
    normal = NormalDist(math.log(median), sigma)
    middles = (normal.inv_cdf((part + 0.5) / _LOGNORMAL_PARTS) for part in range(_LOGNORMAL_PARTS))
    return checked_sizes((within(math.exp(middle)), 1.0) for middle in middles)


def within(size: float) -> int:
    """Return the size of a message that is nearest, whole bytes."""
    return min(LARGEST_BYTES, max(SMALLEST_BYTES, round(size)))


def _histogram(file: Path) -> Sizes:
    try:
        rows = [row for row in csv.reader(file.read_text(encoding="utf-8").splitlines()) if row]
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"the histogram {file} can't be read: {error}") from error
    pairs = []
    for line, row in enumerate(rows, start=1):
        try:
            size, count = map(float, row)
        except ValueError:
            if line == 1:
                continue  # names of columns
            raise UserError(f"the histogram {file} has no bytes,count in line {line}: {','.join(row)!r}") from None
        if count > 0:
            pairs.append((size, count))
    try:
        return checked_sizes(pairs)
    except UserError as error:
        raise UserError(f"the histogram {file}: {error}") from error


def mean_bytes(sizes: Sequence[tuple[int, float]]) -> float:
    return math.fsum(size * weight for size, weight in sizes)


def fitted_classes(sizes: Sequence[tuple[int, float]], most: int = FITTED_CLASSES) -> tuple[int, ...]:
    """Return at most ``most`` classes, multiples of 16 bytes, that waste least on these sizes; bytes, ascending. Exact,
    by dynamic programming: the best classes of the first i sizes."""
    grain, most_candidates = 16, 256
    while len(bounds := sorted({-(-size // grain) * grain for size, _ in sizes})) > most_candidates:
        grain *= 2
    if len(bounds) <= most:
        return tuple(bounds)
    below = [0.0, *accumulate(class_weights(bounds, sizes))]
    # taken[i]: bytes that classes take for the sizes up to the i-th bound; what is wasted differs by a constant.
    taken = [0.0] + [bounds[i - 1] * below[i] for i in range(1, len(bounds) + 1)]
    chosen: list[tuple[int, ...]] = [(), *((bound,) for bound in bounds)]
    for _ in range(1, most):
        best, better = taken[:], chosen[:]
        for i in range(1, len(bounds) + 1):
            for j in range(1, i):
                cost = taken[j] + bounds[i - 1] * (below[i] - below[j])
                if cost < best[i]:
                    best[i], better[i] = cost, (*chosen[j], bounds[i - 1])
        taken, chosen = best, better
    return chosen[-1]


def classes_of(classes: str, sizes: Sequence[tuple[int, float]]) -> tuple[int, ...]:
    """Return the size classes ``power_of_two`` or ``fitted``, bytes, ascending."""
    powers = {1 << (size - 1).bit_length() for size, _ in sizes}
    return fitted_classes(sizes) if classes == "fitted" else tuple(sorted(powers))


def class_weights(classes: Sequence[int], sizes: Sequence[tuple[int, float]]) -> tuple[float, ...]:
    """Return the share of messages that each class serves."""
    weights = [0.0] * len(classes)
    for size, weight in sizes:
        weights[bisect_left(classes, size)] += weight
    return tuple(weights)


def out_at_once(spec: Mapping[str, Any]) -> int:
    """Return the messages in flight, kept, and in the hands of the threads."""
    return int(spec["in_flight"] + spec["kept_count"] + spec["threads"])


def prepared(out: int, weights: Sequence[float]) -> list[int]:
    """Return how many messages of each size class a pool makes before the start, so that ``out`` of random classes can
    be out at once."""
    return [min(out, math.ceil(out * w + _SPREADS * math.sqrt(out * w * max(0.0, 1 - w)))) for w in weights]


def alias_table(sizes: Sequence[tuple[int, float]]) -> tuple[list[int], list[int]]:
    """Return Walker's table of the sizes (Vose 1991), in whole numbers, so that every language draws the same: for each
    size the threshold, of 2**32, below which it is taken, and the index of the one taken otherwise."""
    count, whole = len(sizes), 1 << 32
    total = sum(Fraction(weight) for _, weight in sizes)
    shares = [Fraction(weight) * count / total for _, weight in sizes]
    thresholds, others = [whole] * count, list(range(count))
    small = [place for place, share in enumerate(shares) if share < 1]
    large = [place for place, share in enumerate(shares) if share >= 1]
    while small and large:
        less, more = small.pop(), large[-1]
        thresholds[less], others[less] = int(shares[less] * whole), more
        shares[more] -= 1 - shares[less]
        if shares[more] < 1:
            small.append(large.pop())
    return thresholds, others
