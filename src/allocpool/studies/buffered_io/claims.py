"""The published conclusions on buffered I/O as tests: slopes of memory by block, CPU and a neighbour's time by trial.

Source: "Java buffered IO memory" of the realcomp echo-server study, as transcribed in data/reference. Each is put to
platform threads on the oldest Java here, which is nearest to what the source ran, and on the newest; the published
figures go through the same tests.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import pandas as pd

from allocpool import decisions, stats
from allocpool.decisions import Comparison
from allocpool.evidence import claims
from allocpool.evidence.claims import (
    AS_PUBLISHED,
    EQUIVALENT,
    NOT_MEASURED,
    OPEN,
    Claim,
    Evidence,
    Ordering,
    Verdict,
    of_orderings,
)
from allocpool.evidence.figures import as_figures
from allocpool.evidence.trials import finished, gap_of, newest_release, records
from allocpool.runtimes.collectors import FEATURES
from allocpool.studies.buffered_io import connections
from allocpool.studies.buffered_io.specs import MESSAGE_BYTES

SOURCE = "Java buffered IO memory, realcomp"
THEN, NOW = f"Java {FEATURES[0]}", "newest Java"
"""The release that platform threads run on; C++ belongs to each."""
MEMORY, CPU, NEIGHBOUR, CHARS = (
    "bytes_per_connection", "cpu_us_per_message", "neighbour_line_ns", "bytes_of_chars",
)  # fmt: skip
SECOND_BYTES = 2 * MESSAGE_BYTES
"""Of a reader's and a writer's buffer of as many chars as a message has: what chars take beyond as many bytes."""


class Way(NamedTuple):
    """A way of I/O with its buffer, 0 for none, and the bytes of a message."""

    io: str
    buffer: int = 0
    message: int = MESSAGE_BYTES

    def among(self, trials: pd.DataFrame) -> pd.DataFrame:
        """The trials of this way."""
        io, buffer = trials["io"] == self.io, trials["buffer"].fillna(0) == self.buffer
        return trials[io & buffer & (trials["message_bytes"] == self.message)]


_READERS = tuple(Way("buffered_reader", size) for size in (256, 512, 4096, 8192, 16384))
_STREAMS = (Way("buffered_stream", 512), Way("buffered_stream", 8192))
_PLAIN, _CPP, _IDLE = Way("stream"), Way("threads"), Way("idle_threads")
_SIZED, _DEFAULT = _READERS[1], _READERS[3]
_OTHER_MESSAGE = 2048
_OF_OTHERS = tuple(Way("buffered_reader", size, _OTHER_MESSAGE) for size in (512, _OTHER_MESSAGE, 8192))


def compare(larger: pd.Series, smaller: pd.Series, value: str) -> Comparison:
    """Two series of a figure by block: memory by its means, as a slope may be negative, all else by its logarithms."""
    if value in (MEMORY, CHARS):
        return decisions.compare_means(larger, smaller)
    return decisions.compare(larger, smaller)


class Figures:
    """What is known of each way, by block."""

    def __init__(self, figures: dict[tuple[Way, str], pd.Series]) -> None:
        self._figures = figures

    def values(self, way: Way, value: str) -> pd.Series:
        """A figure of a way, indexed by block; empty where there is none."""
        return self._figures.get((way, value), pd.Series(dtype=float))

    def ordering(self, larger: Way, smaller: Way, value: str, factor: float = 1.0) -> Ordering:
        """That one way has more than ``factor`` times the figure of another."""
        times = "" if factor == 1.0 else f"{factor:g} times "
        sides = self.values(larger, value), factor * self.values(smaller, value)
        return Ordering(
            self.label(larger), f"{times}{self.label(smaller)}", compare(*sides, value),
            self.why_not(larger, smaller),
        )  # fmt: skip

    def label(self, way: Way) -> str:
        """How a way is told."""
        words = [way.io.replace("_", " "), *([str(way.buffer)] if way.buffer else [])]
        return " ".join(words) + (f", messages of {way.message}" if way.message != MESSAGE_BYTES else "")

    def why_not(self, *_ways: Way) -> str:
        """Why these ways can't be compared."""
        return "no figure"


class Campaign(Figures):
    """The trials of a set-up: platform threads on its release of Java, and C++."""

    def __init__(self, trials: pd.DataFrame, set_up: str) -> None:
        newest = newest_release(trials, FEATURES[0], FEATURES[-1])
        release = FEATURES[0] if set_up == THEN else newest
        java = trials["threads"].isin(["platform"]) & (trials["runtime"] == release)
        self._started = trials[(trials["server"] == "cpp") | java]
        self.trials = finished(self._started)
        ends = self._started[["variant", "status", "reason"]]
        ways = self._started[["io", "message_bytes"]].assign(buffer=self._started["buffer"].fillna(0))
        groups: Any = ways.groupby(["io", "buffer", "message_bytes"], observed=True).indices
        self._ends_by_way: dict[Way, pd.DataFrame] = {
            Way(str(io), int(size), int(message)): ends.iloc[rows] for (io, size, message), rows in groups.items()
        }
        self._no_ends = ends.iloc[:0]
        self._without = None if java.any() else f"Java {release} is not part of this campaign"
        largest = self.trials.groupby("message_bytes")["connections"].transform("max")
        most = self.trials[self.trials["connections"] == largest]
        figures = {
            (way, value): most[most["variant"] == name].set_index("block")[value].astype(float).dropna()
            for way, name in self._names().items()
            for value in (CPU, NEIGHBOUR)
        }
        slopes = connections.lines(self.trials)
        figures |= {(way, MEMORY): slopes[name].slopes for way, name in self._names().items() if name in slopes}
        waiting = _PLAIN.among(self.trials[self.trials["idle_rss_mb"].notna()])
        if idle := connections.line(waiting, "idle_rss_mb"):
            figures[_IDLE, MEMORY] = idle.slopes
        figures[_SIZED, CHARS] = _apart(_SIZED.among(self.trials), _STREAMS[0].among(self.trials))
        super().__init__(figures)

    def _names(self) -> dict[Way, str]:
        """The variant of each way that ran."""
        return {
            Way(row.io, int(row.buffer) if pd.notna(row.buffer) else 0, row.message_bytes): row.variant
            for row in records(self.trials.drop_duplicates("variant"))
        }

    def _ends_of(self, way: Way) -> pd.DataFrame:
        """How the trials of a way ended."""
        return self._ends_by_way.get(way, self._no_ends)

    def label(self, way: Way) -> str:
        rows = finished(self._ends_of(way))
        return str(rows["variant"].iloc[0]) if len(rows) else super().label(way)

    def why_not(self, *ways: Way) -> str:
        gaps = [
            f"{super(Campaign, self).label(way)}: {gap_of(self._ends_of(way)).text}"
            for way in (_PLAIN if way == _IDLE else way for way in ways)
            if finished(self._ends_of(way)).empty
        ]
        if self._without and any(way != _CPP for way in ways):
            return self._without
        return "; ".join(dict.fromkeys(gaps)) or "no block has a figure of both"


def _apart(one: pd.DataFrame, other: pd.DataFrame) -> pd.Series:
    """Bytes per connection that one way has more resident than another after a full collection, by block, at the most
    connections that both held."""
    both = set(one["connections"]) & set(other["connections"])
    if not both:
        return pd.Series(dtype=float)
    sides = [
        rows[rows["connections"] == max(both)].set_index("block")["collected_rss_mb"].astype(float)
        for rows in (one, other)
    ]
    bytes_each: pd.Series = (sides[0] - sides[1]) * 2**20 / max(both)
    return bytes_each.dropna()


@cache
def published_figures() -> Figures:
    """The source's own figures, as one block."""
    figures: dict[tuple[Way, str], pd.Series] = {}
    for row in records(connections.published()):
        way = Way(row.io, int(row.buffer))
        figures[way, MEMORY] = _one(row.memory_mb * 1e6 / connections.PUBLISHED_CONNECTIONS)
        figures[way, CPU] = _one(row.median_cpu_percent)
    for row in records(connections.published_baselines()):
        figures[{"cpp": _CPP, "idle_threads": _IDLE}[row.server], MEMORY] = _one(row.memory_mb * 1e6 / row.connections)
    figures[_SIZED, CHARS] = figures[_SIZED, MEMORY] - figures[_STREAMS[0], MEMORY]
    return Figures(figures)


def _one(value: float) -> pd.Series:
    return pd.Series([float(value)], index=[0])


def _claim(id: str, text: str, orderings: Callable[[Figures], Sequence[Ordering]]) -> Claim[Figures]:
    """A claim made of expected orderings."""

    @cache
    def published() -> Evidence:
        evidence = as_figures(of_orderings(orderings(published_figures())))
        return Evidence(evidence.measured.reset_index(drop=True))

    return Claim(
        id, text, SOURCE, lambda figures: of_orderings(orderings(figures)), _sentence, published=published,
        set_ups=(THEN, NOW),
    )  # fmt: skip


def _more(value: str, pairs: Sequence[tuple[Way, Way]], factor: float = 1.0) -> Callable[[Figures], list[Ordering]]:
    """That every first way has more of a figure than ``factor`` times its second."""
    return lambda figures: [figures.ordering(larger, smaller, value, factor) for larger, smaller in pairs]


def _chars_explain(figures: Figures) -> list[Ordering]:
    """Twice what the chars' second bytes are, which is more than all that is to be explained if they are half of it."""
    apart = figures.values(_SIZED, CHARS)
    twice = pd.Series(2.0 * SECOND_BYTES, index=apart.index)
    return [
        Ordering(
            "twice the second bytes of the chars",
            f"{figures.label(_SIZED)} less {figures.label(_STREAMS[0])}",
            compare(twice, apart, CHARS),
            figures.why_not(_SIZED, _STREAMS[0]),
        )
    ]


def _sentence(evidence: Evidence) -> str:
    total, measured = len(evidence.rows), evidence.measured
    if len(against := evidence.against):
        names = "; ".join(f"{row['smaller']} comes to more than {row['larger']}" for _, row in against.iterrows())
        return f"The other way round in {len(against)} of {stats.plural(total, 'comparison')}: {names}."
    parts = [
        f"Shown in {evidence.count(AS_PUBLISHED)} of {stats.plural(total, 'comparison')}"
        + (f", {stats.ratios(measured['ratio'])}" if measured["ratio"].notna().any() else "")
    ]
    parts += [f"{shown} in {count}" for shown in (EQUIVALENT, OPEN, NOT_MEASURED) if (count := evidence.count(shown))]
    return "; ".join(parts) + "."


ECHO_CLAIMS: tuple[Claim[Figures], ...] = (
    _claim(
        "default-buffers-cost-memory",
        "Readers and writers of the default size cost memory: more than no buffers, and those more than C++.",
        _more(MEMORY, [(_DEFAULT, _PLAIN), (_DEFAULT, _CPP), (_PLAIN, _CPP)]),
    ),
    _claim(
        "default-is-the-dearest",
        "Readers and writers of the default size cost the most memory of all.",
        _more(MEMORY, [(_DEFAULT, way) for way in (*_READERS, *_STREAMS, _PLAIN, _CPP) if way != _DEFAULT]),
    ),
    _claim(
        "larger-buffers-cost-memory",
        "The larger the buffer, the more memory a connection takes.",
        _more(MEMORY, [*zip(_READERS[1:], _READERS[:-1], strict=True), (_STREAMS[1], _STREAMS[0])]),
    ),
    _claim(
        "threads-are-not-the-cause",
        "Threads are not the cause: those that wait for a connection are less than half of what default readers cost.",
        _more(MEMORY, [(_DEFAULT, _IDLE)], 2.0),
    ),
    _claim(
        "bytes-less-than-half",
        f"Byte buffers of {MESSAGE_BYTES} cost less than half of what char buffers of {MESSAGE_BYTES} do.",
        _more(MEMORY, [(_SIZED, _STREAMS[0])], 2.0),
    ),
    _claim(
        "two-byte-chars",
        f"Two-byte chars are why: they explain (here: at least half of) what {MESSAGE_BYTES} chars cost beyond "
        f"{MESSAGE_BYTES} bytes.",
        _chars_explain,
    ),
    _claim(
        "message-sized-buffer-cheapest-in-cpu",
        "A reader's buffer of the message's size takes the least CPU: a smaller one costs more, a larger one too.",
        _more(CPU, [(way, _SIZED) for way in _READERS if way != _SIZED]),
    ),
    _claim(
        "best-size-is-the-messages",
        f"The best size is that of the messages, and messages differ: for those of {_OTHER_MESSAGE} bytes a reader's "
        "buffer of their size takes the least CPU.",
        _more(CPU, [(way, _OF_OTHERS[1]) for way in _OF_OTHERS if way != _OF_OTHERS[1]]),
    ),
    _claim(
        "plain-streams-cost-cpu",
        "Plain streams cost more CPU than buffered readers.",
        _more(CPU, [(_PLAIN, way) for way in _READERS]),
    ),
    _claim(
        "buffered-streams-cost-cpu",
        "Buffered streams cost more CPU than buffered readers of the same size.",
        _more(CPU, [(_STREAMS[0], _SIZED), (_STREAMS[1], _DEFAULT)]),
    ),
    _claim(
        "memory-evicts",
        "More memory referenced means more evictions, and so more CPU for everything on the machine.",
        _more(NEIGHBOUR, [(_DEFAULT, _PLAIN), (_READERS[-1], _READERS[0]), (_STREAMS[1], _PLAIN)]),
    ),
)


def evaluate(trials: pd.DataFrame) -> list[Verdict]:
    """Put every claim to a campaign's trials, failed ones included, set-up by set-up."""
    return claims.evaluate_apart(ECHO_CLAIMS, lambda set_up: Campaign(trials, set_up))


def of_campaign(tables: Mapping[str, pd.DataFrame], _settings: Mapping[str, Any]) -> list[Verdict]:
    """The verdicts of a campaign, on what it left, as its page and the first page show them."""
    return evaluate(tables["trials"])
