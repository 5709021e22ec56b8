"""The published conclusions on buffered I/O as tests: ratios of slopes and of CPU, paired within blocks.

Source: "Java buffered IO memory" of the realcomp echo-server study, as transcribed in data/reference.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pandas as pd

from allocpool import stats
from allocpool.evidence.claims import INCONCLUSIVE, REFUTED, REPRODUCED, Claim, Verdict
from allocpool.studies.buffered_io import connections

SOURCE = "Java buffered IO memory, realcomp"


@dataclass(frozen=True)
class Pair:
    """One expected ordering: ``larger`` costs more than ``smaller``; ratio over blocks, against the A/A noise."""

    larger: str
    smaller: str
    comparison: stats.Comparison


class Campaign:
    """The finished trials of a study of buffered I/O, on platform threads, the newest runtime of each way."""

    def __init__(self, trials: pd.DataFrame) -> None:
        good = connections.finished(trials)
        good = good[(good["server"] == "cpp") | (good["threads"].isin(["platform"]))]
        newest = good["runtime"].isna() | (good["runtime"] == good["runtime"].max())
        self.trials = good[newest]
        self.memory = connections.block_slopes(self.trials)
        # An I/O way whose slope drowns in the fixed part's noise has no ratio: it may even be negative.
        self.memory = self.memory[self.memory["bytes_per_connection"] > 0]
        most = self.trials["connections"].max()
        self.cpu = self.trials[self.trials["connections"] == most][["variant", "block", "cpu_us_per_message"]]

    def named(self, io: str, buffer: int = 0) -> str | None:
        """Label of the variant, or None when it was not measured."""
        rows = self.trials[(self.trials["io"] == io) & (self.trials["buffer"].fillna(0) == buffer)]
        return str(rows["variant"].iloc[0]) if len(rows) else None

    def pair(self, larger: str, smaller: str, value: str) -> Pair:
        """Compare two variants in ``bytes_per_connection`` or ``cpu_us_per_message``."""
        table = self.memory if value == "bytes_per_connection" else self.cpu
        noise = stats.noise_band(table, ["variant"], value)
        sides = [table[table["variant"] == name].set_index("block")[value].astype(float) for name in (larger, smaller)]
        return Pair(larger, smaller, stats.compare(sides[0], sides[1], noise))


Way = tuple[str, int]
_READERS: tuple[Way, ...] = tuple(("buffered_reader", size) for size in (256, 512, 4096, 8192, 16384))
_STREAMS: tuple[Way, ...] = (("buffered_stream", 512), ("buffered_stream", 8192))
_PLAIN: Way = ("stream", 0)


def _orderings(expected: Sequence[tuple[Way, Way]], value: str) -> Callable[[Claim, Campaign], Verdict]:
    """A test that every first way costs more than its second."""

    def test(claim: Claim, campaign: Campaign) -> Verdict:
        pairs, missing = [], 0
        for larger, smaller in expected:
            names = campaign.named(*larger), campaign.named(*smaller)
            if names[0] is None or names[1] is None:
                missing += 1
            else:
                pairs.append(campaign.pair(names[0], names[1], value))
        return _verdict(claim, pairs, missing)

    return test


def _verdict(claim: Claim, pairs: Sequence[Pair], missing: int) -> Verdict:
    measured = [pair for pair in pairs if pair.comparison.ratio is not None]
    evidence = pd.DataFrame(
        [
            {"larger": pair.larger, "smaller": pair.smaller, "ratio": ratio.estimate, "low": ratio.low,
             "high": ratio.high, "blocks": ratio.trials, "shown": _SHOWN[pair.comparison.direction]}
            for pair in measured if (ratio := pair.comparison.ratio)
        ],
        columns=["larger", "smaller", "ratio", "low", "high", "blocks", "shown"],
    )  # fmt: skip
    total = len(pairs) + missing
    shown = int((evidence["shown"] == _SHOWN[1]).sum())
    against = evidence[evidence["shown"] == _SHOWN[-1]]
    absent = total - len(measured)
    if len(against):
        names = "; ".join(f"{row['smaller']} costs more than {row['larger']}" for _, row in against.iterrows())
        return Verdict(
            claim, REFUTED, f"The other way round in {len(against)} of {total} comparisons: {names}.", evidence
        )
    told = f"Shown in {shown} of {total} comparisons"
    told += f", ratios {stats.span(evidence['ratio'])}" if len(evidence) else ""
    told += f"; no difference shown in {len(measured) - shown}" if len(measured) > shown else ""
    told += f"; {absent} not measured" if absent else ""
    return Verdict(claim, REPRODUCED if shown == total else INCONCLUSIVE, f"{told}.", evidence)


_SHOWN = {1: "as published", 0: "no difference shown", -1: "the other way round"}

_MEMORY, _CPU = "bytes_per_connection", "cpu_us_per_message"

ECHO_CLAIMS: tuple[Claim, ...] = (
    Claim(
        "default-buffers-cost-memory",
        "Buffers of the default size cost memory: a connection takes more than without them.",
        SOURCE,
        _orderings([(("buffered_reader", 8192), _PLAIN), (("buffered_stream", 8192), _PLAIN)], _MEMORY),
    ),
    Claim(
        "larger-buffers-cost-memory",
        "The larger the buffer, the more memory a connection takes.",
        SOURCE,
        _orderings(
            [*zip(_READERS[1:], _READERS[:-1], strict=True), (_STREAMS[1], _STREAMS[0])],
            _MEMORY,
        ),
    ),
    Claim(
        "readers-cost-more-than-streams",
        "Chars cost more than bytes: readers and writers take more than streams with buffers of the same size.",
        SOURCE,
        _orderings([(_READERS[1], _STREAMS[0]), (_READERS[3], _STREAMS[1])], _MEMORY),
    ),
    Claim(
        "message-sized-buffer-cheapest-in-cpu",
        "Among readers, a buffer of the message's size takes the least CPU.",
        SOURCE,
        _orderings([(way, _READERS[1]) for way in _READERS if way != _READERS[1]], _CPU),
    ),
    Claim(
        "unbuffered-costs-cpu",
        "Streams without a buffer take more CPU than buffered ones.",
        SOURCE,
        _orderings([(_PLAIN, way) for way in _STREAMS], _CPU),
    ),
    Claim(
        "cpp-takes-least-memory",
        "C++ with a thread per connection takes less memory than Java without buffers.",
        SOURCE,
        _orderings([(_PLAIN, ("threads", 0))], _MEMORY),
    ),
)


def evaluate(trials: pd.DataFrame) -> list[Verdict]:
    """Put every claim to a campaign's trials, failed ones included."""
    campaign = Campaign(trials)
    return [claim.test(claim, campaign) for claim in ECHO_CLAIMS]
