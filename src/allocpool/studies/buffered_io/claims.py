"""What the published conclusions on buffered I/O (``claims.yaml``) are put to: slopes of memory by block, CPU and a
neighbour's time by trial, of platform threads on the oldest Java here or on the newest, and of C++."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from itertools import product
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
_OF_CHARS = {"second_bytes": "second bytes of the chars", "bytes_of_chars": "chars less bytes"}
"""Of `_SIZED` alone."""
_OF_SAMPLES = {
    "in_read_percent": "processor time in BufferedReader.read", "elsewhere_percent": "processor time elsewhere",
}  # fmt: skip
"""Of `_DEFAULT` alone."""
_SAMPLES = "samples"


class Way(NamedTuple):
    """A way of I/O with its buffer, 0 for none, and the bytes of a message."""

    io: str
    buffer: int = 0
    message: int = MESSAGE_BYTES

    @property
    def label(self) -> str:
        """The name of a way in tables."""
        words = [self.io.replace("_", " "), *([str(self.buffer)] if self.buffer else [])]
        return " ".join(words) + (f", messages of {self.message}" if self.message != MESSAGE_BYTES else "")


_SIZED, _DEFAULT, _STREAM, _PLAIN, _IDLE = (
    Way("buffered_reader", 512), Way("buffered_reader", 8192), Way("buffered_stream", 512), Way("stream"),
    Way("idle_threads"),
)  # fmt: skip
_WAYS = (
    *(Way("buffered_reader", size) for size in (256, 512, 4096, 8192, 16384)),
    *(_STREAM, Way("buffered_stream", 8192), _PLAIN, Way("threads"), _IDLE),
    *(Way("buffered_reader", size, 2048) for size in (512, 2048, 8192)),
    *(Way("observed_reader", message=message) for message in (MESSAGE_BYTES, 2048)),
)
_Figures = dict[tuple[Way, str], pd.Series]


def _cells(figures: _Figures, names: Mapping[Way, str], gaps: Mapping[Way | str, str]) -> Cells:
    every = [*product(_WAYS, ("memory", *_COLUMNS)), *product([_SIZED], _OF_CHARS), *product([_DEFAULT], _OF_SAMPLES)]
    parts = {**_OF_CHARS, **_OF_SAMPLES}
    return Cells(
        [
            Cell({**way._asdict(), "metric": metric}, parts.get(metric) or names.get(way, way.label),
                 figures.get((way, metric), pd.Series(dtype=float)),
                 gaps.get(_SAMPLES if metric in _OF_SAMPLES else way, "no figure"))
            for way, metric in every
        ],
        (*Way._fields, "metric"),
    )  # fmt: skip


def _by_way(rows: pd.DataFrame, column: str, metric: str) -> _Figures:
    known = rows.dropna(subset=[column]).set_index("block").astype({column: float})
    groups: Any = known.groupby(list(Way._fields))[column]
    return {(Way(*way), metric): values for way, values in groups}


def _at(rows: pd.DataFrame, way: Way) -> pd.DataFrame:
    return rows[(rows["io"] == way.io) & (rows["buffer"] == way.buffer) & (rows["message"] == way.message)]


def _of_release(trials: pd.DataFrame, release: int) -> pd.DataFrame:
    java = (trials["threads"] == "platform") & (trials["runtime"] == release)
    chosen = trials[(trials["server"] == "cpp") | java]
    return chosen.assign(buffer=chosen["buffer"].fillna(0), message=chosen["message_bytes"])


def _fullest(done: pd.DataFrame) -> pd.DataFrame:
    """The trials with as many connections as most variants held, the largest such number; of each language apart, as
    C++ serves more than Java does."""
    sides = ["server", "message"]
    held = done.groupby([*sides, "connections"], observed=True)["variant"].nunique().reset_index(name="variants")
    chosen = held.sort_values(["variants", "connections"]).drop_duplicates(sides, keep="last")
    return done.merge(chosen[[*sides, "connections"]])


def cells_of(tables: Mapping[str, pd.DataFrame], set_up: str) -> Cells:
    """Return the ways that claims speak of, on the release of a set-up."""
    trials = tables["trials"]
    release = FEATURES[0] if set_up == THEN else newest_release(trials, FEATURES[0], FEATURES[-1])
    started = _of_release(trials, release)
    done = finished(started)
    figures = _by_way(connections.slopes(done, by=Way._fields), "each", "memory")
    fullest = _fullest(done)
    for metric, column in _COLUMNS.items():
        figures |= _by_way(fullest, column, metric)
    profiled = _of_release(tables["profiles"], release)
    for name in _OF_SAMPLES:
        figures |= _by_way(connections.with_shares(profiled), name, name)
    idle = done[done["io"] == _PLAIN.io].assign(io=_IDLE.io)
    figures |= _by_way(connections.slopes(idle, "idle_rss_mb", Way._fields), "each", "memory")
    figures |= _of_chars(_apart(done))
    variants: Any = done.groupby(list(Way._fields))["variant"].first().to_dict()
    names = {Way(*way): variant for way, variant in variants.items()}
    gaps: dict[Way | str, str] = {_SAMPLES: gap_of(_at(profiled, _DEFAULT)).text}
    for way in _WAYS:
        measurable = (started["server"] == "java").any() or way.io == "threads"
        gap = gap_of(_at(started, _PLAIN if way == _IDLE else way)).text
        gaps[way] = gap if measurable else f"Java {release} is not part of this campaign"
    return _cells(figures, names, gaps)


def _of_chars(apart: pd.Series) -> _Figures:
    second = pd.Series(float(SECOND_BYTES), index=apart.index)
    return {(_SIZED, "bytes_of_chars"): apart, (_SIZED, "second_bytes"): second}


def _apart(done: pd.DataFrame) -> pd.Series:
    """Bytes per connection that chars have more resident than bytes after a full collection, by block, at the most
    connections that both held."""
    sides = done[(done["buffer"] == _SIZED.buffer) & (done["message"] == _SIZED.message)]
    resident = sides.set_index(["connections", "block", "io"])["collected_rss_mb"].astype(float).unstack("io")
    both = resident.reindex(columns=[_SIZED.io, _STREAM.io]).dropna()
    apart: pd.Series = both[_SIZED.io] - both[_STREAM.io]
    if apart.empty:
        return apart
    most = apart.index.get_level_values("connections").max()
    bytes_each: pd.Series = apart.xs(most, level="connections") * 2**20 / most
    return bytes_each


def published_figures() -> Cells:
    """Return the source's own figures, as one block."""
    figures: _Figures = {}
    for row in records(connections.published()):
        way = Way(row.io, int(row.buffer))
        figures[way, "memory"] = pd.Series([row.memory_mb * 1e6 / row.connections])
        figures[way, "cpu"] = pd.Series([float(row.median_cpu_percent)]).dropna()
    in_read = pd.Series([connections.PUBLISHED_IN_READ_PERCENT])
    figures |= {(_DEFAULT, "in_read_percent"): in_read, (_DEFAULT, "elsewhere_percent"): 100 - in_read}
    return _cells(figures | _of_chars(figures[_SIZED, "memory"] - figures[_STREAM, "memory"]), {}, {})


ECHO_CLAIMS = claims_of("buffered_io", published=published_figures)


def of_campaign(tables: Mapping[str, pd.DataFrame], _settings: Mapping[str, Any] | None = None) -> list[Verdict]:
    """Return the verdicts of a campaign, set-up by set-up, as its page and the first page show them."""
    return claims.evaluate_apart(ECHO_CLAIMS, partial(cells_of, tables))
