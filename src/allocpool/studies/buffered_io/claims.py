"""What the published conclusions on buffered I/O (``claims.yaml``) are put to: slopes of memory by block, CPU and a
neighbour's time by trial, of platform threads on the oldest Java here or on the newest, and of C++."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

import pandas as pd

from allocpool.evidence import claims
from allocpool.evidence.claims import Verdict
from allocpool.evidence.declared import Cell, Cells, claims_of
from allocpool.evidence.trials import finished, gap_of, newest_release, records
from allocpool.runtimes.collectors import FEATURES
from allocpool.studies.buffered_io import connections
from allocpool.studies.buffered_io.specs import MESSAGE_BYTES

THEN, NOW = f"Java {FEATURES[0]}", "newest Java"
"""The release that platform threads run on; C++ belongs to each."""
SECOND_BYTES = 2 * MESSAGE_BYTES
"""Of a reader's and a writer's buffer of as many chars as a message has: what chars take beyond as many bytes."""
_COLUMNS = {"cpu": "cpu_us_per_message", "neighbour": "neighbour_line_ns"}


class Way(NamedTuple):
    """A way of I/O with its buffer, 0 for none, and the bytes of a message."""

    io: str
    buffer: int = 0
    message: int = MESSAGE_BYTES

    def among(self, trials: pd.DataFrame) -> pd.DataFrame:
        """The trials of this way."""
        io, buffer = trials["io"] == self.io, trials["buffer"].fillna(0) == self.buffer
        return trials[io & buffer & (trials["message_bytes"] == self.message)]

    @property
    def label(self) -> str:
        """The name of a way in tables."""
        words = [self.io.replace("_", " "), *([str(self.buffer)] if self.buffer else [])]
        return " ".join(words) + (f", messages of {self.message}" if self.message != MESSAGE_BYTES else "")


_SIZED, _STREAM, _PLAIN, _IDLE = (
    Way("buffered_reader", 512), Way("buffered_stream", 512), Way("stream"), Way("idle_threads"),
)  # fmt: skip
_WAYS = (
    *(Way("buffered_reader", size) for size in (256, 512, 4096, 8192, 16384)),
    *(_STREAM, Way("buffered_stream", 8192), _PLAIN, Way("threads"), _IDLE),
    *(Way("buffered_reader", size, 2048) for size in (512, 2048, 8192)),
)
_Figures = dict[tuple[Way, str], pd.Series]


_OF_CHARS = {"second_bytes": "second bytes of the chars", "bytes_of_chars": "chars less bytes"}
"""Of `_SIZED` alone."""


def _cells(figures: _Figures, names: Mapping[Way, str], gaps: Mapping[Way, str]) -> Cells:
    every = [(way, metric) for way in _WAYS for metric in ("memory", *_COLUMNS)]
    every += [(_SIZED, metric) for metric in _OF_CHARS]
    return Cells(
        [
            Cell({**way._asdict(), "metric": metric}, _OF_CHARS.get(metric) or names.get(way, way.label),
                 figures.get((way, metric), pd.Series(dtype=float)), gaps.get(way, "no figure"))
            for way, metric in every
        ],
        (*Way._fields, "metric"),
    )  # fmt: skip


def cells_of(trials: pd.DataFrame, set_up: str) -> Cells:
    """Return the ways that claims speak of, on the release of a set-up."""
    release = FEATURES[0] if set_up == THEN else newest_release(trials, FEATURES[0], FEATURES[-1])
    java = (trials["threads"] == "platform") & (trials["runtime"] == release)
    started = trials[(trials["server"] == "cpp") | java]
    done = finished(started)
    # Of each language apart: C++ serves more than Java does.
    largest = done.groupby(["server", "message_bytes"], observed=True)["connections"].transform("max")
    most, slopes = done[done["connections"] == largest], connections.lines(done)
    figures: _Figures = {}
    names, gaps = {}, {}
    for way in _WAYS:
        gap = gap_of((_PLAIN if way == _IDLE else way).among(started)).text
        gaps[way] = gap if java.any() or way.io == "threads" else f"Java {release} is not part of this campaign"
        if (mine := way.among(done)).empty:
            continue
        names[way] = name = str(mine["variant"].iloc[0])
        for metric, column in _COLUMNS.items():
            figures[way, metric] = way.among(most).set_index("block")[column].astype(float).dropna()
        if name in slopes:
            figures[way, "memory"] = slopes[name].slopes
    if idle := connections.line(_PLAIN.among(done[done["idle_rss_mb"].notna()]), "idle_rss_mb"):
        figures[_IDLE, "memory"] = idle.slopes
    return _cells(_with_chars(figures, _apart(_SIZED.among(done), _STREAM.among(done))), names, gaps)


def _with_chars(figures: _Figures, apart: pd.Series) -> _Figures:
    second = pd.Series(float(SECOND_BYTES), index=apart.index)
    return {**figures, (_SIZED, "bytes_of_chars"): apart, (_SIZED, "second_bytes"): second}


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


def published_figures() -> Cells:
    """Return the source's own figures, as one block."""
    figures: _Figures = {}
    for row in records(connections.published()):
        way = Way(row.io, int(row.buffer))
        figures[way, "memory"] = pd.Series([row.memory_mb * 1e6 / connections.PUBLISHED_CONNECTIONS])
        figures[way, "cpu"] = pd.Series([float(row.median_cpu_percent)])
    for row in records(connections.published_baselines()):
        way = {"cpp": Way("threads"), "idle_threads": _IDLE}[row.server]
        figures[way, "memory"] = pd.Series([row.memory_mb * 1e6 / row.connections])
    return _cells(_with_chars(figures, figures[_SIZED, "memory"] - figures[_STREAM, "memory"]), {}, {})


ECHO_CLAIMS = claims_of("buffered_io", published=published_figures)


def evaluate(trials: pd.DataFrame) -> list[Verdict]:
    """Put every claim to a campaign's trials, failed ones included, set-up by set-up."""
    return claims.evaluate_apart(ECHO_CLAIMS, partial(cells_of, trials))


def of_campaign(tables: Mapping[str, pd.DataFrame], _settings: Mapping[str, Any]) -> list[Verdict]:
    """The verdicts of a campaign, on what it left, as its page and the first page show them."""
    return evaluate(tables["trials"])
