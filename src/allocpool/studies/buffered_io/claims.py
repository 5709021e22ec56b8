"""The published conclusions on buffered I/O as tests: ratios of slopes and of CPU, paired within blocks.

Source: "Java buffered IO memory" of the realcomp echo-server study, as transcribed in data/reference.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import pandas as pd

from allocpool import stats
from allocpool.evidence import claims
from allocpool.evidence.claims import (
    AS_PUBLISHED,
    NO_DIFFERENCE,
    NOT_MEASURED,
    Claim,
    Evidence,
    Ordering,
    Verdict,
    of_orderings,
)
from allocpool.evidence.trials import finished, gap_of
from allocpool.studies.buffered_io import connections

SOURCE = "Java buffered IO memory, realcomp"


class Way(NamedTuple):
    """A way of I/O with its buffer, 0 for none."""

    io: str
    buffer: int = 0

    def among(self, trials: pd.DataFrame) -> pd.DataFrame:
        """The trials of this way."""
        return trials[(trials["io"] == self.io) & (trials["buffer"].fillna(0) == self.buffer)]


class Campaign:
    """The trials of a study of buffered I/O on platform threads, the newest runtime of each way."""

    def __init__(self, trials: pd.DataFrame) -> None:
        self._started = _newest(trials)
        self.trials = _newest(finished(trials))
        self.memory = connections.block_slopes(self.trials)
        # An I/O way whose slope drowns in the fixed part's noise has no ratio: it may even be negative.
        self.memory = self.memory[self.memory["bytes_per_connection"] > 0]
        most = self.trials["connections"].max()
        self.cpu = self.trials[self.trials["connections"] == most][["variant", "block", "cpu_us_per_message"]]

    def named(self, way: Way) -> str | None:
        """Label of the variant, or None when it was not measured."""
        rows = way.among(self.trials)
        return str(rows["variant"].iloc[0]) if len(rows) else None

    def ordering(self, larger: Way, smaller: Way, value: str) -> Ordering:
        """Compare two ways in ``bytes_per_connection`` or ``cpu_us_per_message``, against the A/A noise."""
        table = self.memory if value == _MEMORY else self.cpu
        noise = stats.noise_band(table, ["variant"], value)
        names = [self.named(way) for way in (larger, smaller)]
        sides = [table[table["variant"] == name].set_index("block")[value].astype(float) for name in names]
        labels = [name or f"{way.io} {way.buffer}" for name, way in zip(names, (larger, smaller), strict=True)]
        return Ordering(labels[0], labels[1], stats.compare(sides[0], sides[1], noise), self._why_not(larger, smaller))

    def _why_not(self, *ways: Way) -> str:
        """Why these ways can't be compared."""
        gaps = [
            f"{way.io} {way.buffer}: {gap_of(way.among(self._started)).text}"
            for way in ways
            if way.among(self.trials).empty
        ]
        return "; ".join(gaps) or "no block has a figure above noise for both"


def _newest(trials: pd.DataFrame) -> pd.DataFrame:
    """Those on platform threads or in C++, of the newest runtime."""
    rows: pd.DataFrame = trials[(trials["server"] == "cpp") | trials["threads"].isin(["platform"])]
    newest: pd.DataFrame = rows[rows["runtime"].isna() | (rows["runtime"] == rows["runtime"].max())]
    return newest


_READERS = tuple(Way("buffered_reader", size) for size in (256, 512, 4096, 8192, 16384))
_STREAMS = (Way("buffered_stream", 512), Way("buffered_stream", 8192))
_PLAIN = Way("stream")
_MEMORY, _CPU = "bytes_per_connection", "cpu_us_per_message"


def _claim(id: str, text: str, value: str, expected: Sequence[tuple[Way, Way]]) -> Claim[Campaign]:
    """A claim that every first way costs more than its second."""

    def evidence(campaign: Campaign) -> Evidence:
        return of_orderings([campaign.ordering(larger, smaller, value) for larger, smaller in expected])

    return Claim(id, text, SOURCE, evidence, _sentence)


def _sentence(evidence: Evidence) -> str:
    total, measured = len(evidence.rows), evidence.measured
    if len(against := evidence.against):
        names = "; ".join(f"{row['smaller']} costs more than {row['larger']}" for _, row in against.iterrows())
        return f"The other way round in {len(against)} of {total} comparisons: {names}."
    parts = [
        f"Shown in {evidence.count(AS_PUBLISHED)} of {total} comparisons"
        + (f", ratios {stats.span(measured['ratio'])}" if len(measured) else "")
    ]
    parts += [f"{NO_DIFFERENCE} in {same}"] if (same := evidence.count(NO_DIFFERENCE)) else []
    parts += [f"{absent} {NOT_MEASURED}"] if (absent := evidence.count(NOT_MEASURED)) else []
    return "; ".join(parts) + "."


ECHO_CLAIMS: tuple[Claim[Campaign], ...] = (
    _claim(
        "default-buffers-cost-memory",
        "Buffers of the default size cost memory: a connection takes more than without them.",
        _MEMORY,
        [(_READERS[3], _PLAIN), (_STREAMS[1], _PLAIN)],
    ),
    _claim(
        "larger-buffers-cost-memory",
        "The larger the buffer, the more memory a connection takes.",
        _MEMORY,
        [*zip(_READERS[1:], _READERS[:-1], strict=True), (_STREAMS[1], _STREAMS[0])],
    ),
    _claim(
        "readers-cost-more-than-streams",
        "Chars cost more than bytes: readers and writers take more than streams with buffers of the same size.",
        _MEMORY,
        [(_READERS[1], _STREAMS[0]), (_READERS[3], _STREAMS[1])],
    ),
    _claim(
        "message-sized-buffer-cheapest-in-cpu",
        "Among readers, a buffer of the message's size takes the least CPU.",
        _CPU,
        [(way, _READERS[1]) for way in _READERS if way != _READERS[1]],
    ),
    _claim(
        "unbuffered-costs-cpu",
        "Streams without a buffer take more CPU than buffered ones.",
        _CPU,
        [(_PLAIN, way) for way in _STREAMS],
    ),
    _claim(
        "cpp-takes-least-memory",
        "C++ with a thread per connection takes less memory than Java without buffers.",
        _MEMORY,
        [(_PLAIN, Way("threads"))],
    ),
)


def evaluate(trials: pd.DataFrame) -> list[Verdict]:
    """Put every claim to a campaign's trials, failed ones included."""
    return claims.evaluate(ECHO_CLAIMS, Campaign(trials))
