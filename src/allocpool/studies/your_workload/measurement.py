"""What a trial of mode messages measures: the contract between its child and the tables."""

from __future__ import annotations

from typing_extensions import TypedDict

from allocpool.packets.measurement import Phases
from allocpool.trial.measurement import CpuTime, Outcome


class MessagesMeasurement(TypedDict):
    set_up_ns: int
    iterations: Phases
    """The last number of a part counts messages that were handled."""
    cpu: CpuTime
    counts: dict[str, int]
    """By the names of ``COUNTS`` in ``tables``, when every message had been processed."""
    due: int
    """Messages whose time came in the measured window; those received where nothing was due."""
    lost: int
    """Of these, those lost."""
    delays: list[tuple[int, int]]
    """(nanoseconds, messages) in the buckets of an HdrHistogram: from when a message was due until it had been handled,
    in the measured window; empty of a trial that goes as fast as it can."""
    checksum: str
    """Sixteen hex digits: a sum, the same in every layout, strategy, language and number of threads."""
    memory: dict[str, float]
    rest: dict[str, float]
    """Columns of table ``trials``, MiB; the second what the rest of the program did in the measured window."""
    humongous_from_bytes: int | None
    """From this length on G1 gives an array separate regions; None of another collector."""


class MessagesOutcome(Outcome, MessagesMeasurement):
    """What the child returns."""
