"""What a connection costs: the slope of memory over the number of connections, and the parts that it is made of.

Each block gives a line through its trials, one trial a point, and each such line counts as one: noise grows with the
connections, so the residuals of one regression over all blocks would tell too narrow an interval. What a server costs
without a connection is the intercept, so the JVM and this package's own process are in no slope.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats as scipy_stats

from allocpool.decisions import ALPHA, FEWEST
from allocpool.evidence import reference
from allocpool.evidence.tables import intervals
from allocpool.evidence.trials import finished, records
from allocpool.stats import CONFIDENCE, significant
from allocpool.studies.buffered_io.specs import DEFAULT_BUFFER, IO, MESSAGE_BYTES, Variant
from allocpool.studies.buffered_io.tables import PARTS

PUBLISHED_CONNECTIONS = 30_000
PUBLISHED_LEAST = 22_500
"""The source holds so many to 30,000 connections, and does not say which row which."""
PUBLISHED = "published"
_IO_OF_API = {
    "BufferedReader/BufferedWriter": "buffered_reader",
    "BufferedInputStream/BufferedOutputStream": "buffered_stream",
    "InputStream/OutputStream": "stream",
}
TOLERANCE = 0.1
"""How near the sum of the parts must come to the slope."""
_MB = 2**20


@dataclass(frozen=True)
class Line:
    """A line by least squares through the (connections, MiB) points of each block by itself.

    ``slopes`` in bytes per connection and ``intercepts_mb``, indexed by block. Intervals are Student's t over blocks at
    95 %, with bounds of ``None`` for one block.
    """

    slopes: pd.Series
    intercepts_mb: pd.Series

    @property
    def bytes_per_connection(self) -> float:
        return float(self.slopes.mean())

    @property
    def interval(self) -> tuple[float | None, float | None]:
        """Of ``bytes_per_connection``."""
        return _reach(self.slopes, 1 / len(self.slopes))

    @property
    def intercept_mb(self) -> float:
        return float(self.intercepts_mb.mean())

    @property
    def blocks(self) -> int:
        return len(self.slopes)

    @property
    def text(self) -> str:
        """Bytes per connection with the number of blocks, and the interval where there are several."""
        spread = f"{_range(self.interval)}, " if self.blocks > 1 else ""
        return f"{significant(self.bytes_per_connection)} ({spread}n = {self.blocks})"

    @property
    def kib_text(self) -> str:
        """The same in KiB."""
        return Line(self.slopes / 1024, self.intercepts_mb).text

    def predict_mb(self, connections: int) -> tuple[float, float | None, float | None]:
        """Memory at so many connections by the line of one more block, MiB, with its prediction interval."""
        predicted = self.intercepts_mb + self.slopes * connections / _MB
        return float(predicted.mean()), *_reach(predicted, 1 + 1 / self.blocks)


def _reach(values: pd.Series, share: float) -> tuple[float | None, float | None]:
    """The mean of values by block, less and plus Student's t times the root of this share of their variance."""
    n = len(values)
    if n < 2:
        return None, None
    half = float(scipy_stats.t.ppf(0.5 + CONFIDENCE / 2, n - 1)) * math.sqrt(share) * float(values.std(ddof=1))
    return float(values.mean()) - half, float(values.mean()) + half


def line(points: pd.DataFrame, value: str = "rss_mb") -> Line | None:
    """The line through trials with columns block, connections and ``value``, MiB; None where no block has two numbers
    of connections."""
    fits = {}
    for block, group in points.dropna(subset=[value]).groupby("block"):
        x, y = group["connections"].to_numpy(np.float64), group[value].to_numpy(np.float64)
        if np.unique(x).size > 1:
            fits[block] = np.polyfit(x, y, 1)
    if not fits:
        return None
    found = pd.DataFrame.from_dict(fits, orient="index", columns=["slope", "intercept"])
    return Line(found["slope"] * _MB, found["intercept"])


def usual(trials: pd.DataFrame) -> pd.DataFrame:
    """The trials whose messages are of the size that most have: those of another size are compared among themselves."""
    return trials[trials["message_bytes"].isin(trials["message_bytes"].mode().iloc[:1])]


def fullest(trials: pd.DataFrame) -> pd.DataFrame:
    """The trials at the number of connections where most variants ran, the largest of such numbers: a few lean servers
    go further than all others, and are not compared alone there."""
    counts = trials.groupby("connections")["variant"].nunique()
    return trials[trials["connections"].isin(counts[counts == counts.max()].index[-1:])]


def common_buffers(trials: pd.DataFrame) -> pd.DataFrame:
    """The trials without a buffer of selectable size, with the default one, or with one of the message's size."""
    size = trials["buffer"]
    return trials[size.isna() | size.eq(DEFAULT_BUFFER).fillna(False) | size.eq(trials["message_bytes"]).fillna(False)]


def representative(trials: pd.DataFrame) -> pd.DataFrame:
    """The finished trials of the variants that stand for all where all would not be legible: usual messages, common
    buffers, of each way of I/O and its threads the newest release that ran."""
    shown = common_buffers(usual(finished(trials)))
    newest = shown.groupby(["io", "threads"], dropna=False)["runtime"].transform("max")
    return shown[shown["runtime"].isna() | shown["runtime"].eq(newest).fillna(False)]


def variants(trials: pd.DataFrame) -> list[str]:
    """The variants in reading order: Java before C++, ways of I/O as the study lists them, small buffers first."""
    order = [name for names in IO.values() for name in names]
    rows = trials.drop_duplicates("variant")
    keys = {
        row.variant: (
            order.index(row.io), row.threads == "virtual", 0 if pd.isna(row.runtime) else -row.runtime,
            0 if pd.isna(row.buffer) else row.buffer, row.message_bytes,
        )
        for row in records(rows)
    }  # fmt: skip
    return sorted(keys, key=lambda name: keys[name])


def lines(trials: pd.DataFrame, value: str = "rss_mb") -> dict[str, Line]:
    """The line of every variant that ran at two numbers of connections or more; ``value`` is a column in MiB."""
    done = finished(trials)
    fitted = {}
    for name in variants(done):
        if (one := line(done[done["variant"] == name], value)) is not None:
            fitted[name] = one
    return fitted


def server_of(variant: Variant) -> str:
    """What serves the connections: kind of threads and release, or C++."""
    if variant.server == "cpp":
        return "C++"
    return f"{f'{variant.threads} threads' if variant.threads else 'selectors'}, Java {variant.runtime}"


def by_variant(trials: pd.DataFrame) -> dict[str, Variant]:
    """The variants of these trials by their names, in reading order."""
    first = trials.drop_duplicates("variant").set_index("variant")
    kept = first[["server", "io", "buffer", "threads", "runtime"]].astype(object)
    kept = kept.where(kept.notna(), None)
    return {name: Variant(**kept.loc[name]) for name in variants(trials)}


def costs(trials: pd.DataFrame) -> pd.DataFrame:
    """What a connection takes by way of I/O and what serves it, common buffers, and the published figures of such ways.

    Columns: way, served_by, kib (of resident memory), low, high, n (blocks; none of what is published). Published are
    the whole memory of a server, the JVM's own with it, over 30,000 connections; high: over the fewest it may have had.
    """
    shown = common_buffers(usual(finished(trials)))
    fitted, kib = lines(shown), 1 / 1024
    ours = pd.DataFrame(
        [
            (variant.way, server_of(variant), kib * fitted[name].bytes_per_connection,
             *(math.nan if end is None else kib * end for end in fitted[name].interval), fitted[name].blocks)
            for name, variant in by_variant(shown).items()
            if name in fitted
        ],
        columns=["way", "served_by", "kib", "low", "high", "n"],
    )  # fmt: skip
    baselines = published_baselines()
    cpp = baselines[baselines["server"] == "cpp"].assign(way=Variant("cpp", "threads").way)
    source = pd.concat([published(), cpp])
    least = source["memory_mb"] * 1e6 * kib / PUBLISHED_CONNECTIONS
    most = least * PUBLISHED_CONNECTIONS / PUBLISHED_LEAST
    theirs = source[["way"]].assign(served_by=PUBLISHED, kib=least, low=least, high=most)
    return pd.concat([ours, theirs[theirs["way"].isin(ours["way"])]], ignore_index=True)


def slopes_table(trials: pd.DataFrame) -> pd.DataFrame:
    """Return bytes of a connection by variant, as the load left memory and after a full collection, with intervals over
    blocks; fixed MiB; blocks."""
    loaded, collected = lines(trials), lines(trials, "collected_rss_mb")
    return pd.DataFrame({
        "variant": list(loaded),
        "bytes per connection": [significant(one.bytes_per_connection) for one in loaded.values()],
        "interval": [_range(one.interval) for one in loaded.values()],
        "after a full collection": [significant(collected[name].bytes_per_connection) for name in loaded],
        "its interval": [_range(collected[name].interval) for name in loaded],
        "fixed, MiB": [significant(one.intercept_mb) for one in loaded.values()],
        "blocks": [one.blocks for one in loaded.values()],
    })  # fmt: skip


def _range(interval: tuple[float | None, float | None]) -> str:
    low, high = interval
    if low is None or high is None:
        return "one block, spread unknown"
    return f"{significant(low)} to {significant(high)}"


def decomposition(trials: pd.DataFrame, parts: pd.DataFrame) -> pd.DataFrame:
    """Where the bytes of a connection sit: columns variant, part, bytes_per_connection; each part its own slope."""
    done = finished(trials)[["trial_id", "variant", "block", "connections"]]
    joined = parts.merge(done, on="trial_id")
    joined["part_mb"] = joined["bytes"].astype(float) / _MB
    rows = []
    for name in lines(trials):
        for part in PARTS:
            points = joined[(joined["variant"] == name) & (joined["part"] == part)]
            if fitted := line(points, "part_mb"):
                rows.append({"variant": name, "part": part, "bytes_per_connection": fitted.bytes_per_connection})
    return pd.DataFrame(rows, columns=["variant", "part", "bytes_per_connection"])


def sums(trials: pd.DataFrame, parts: pd.DataFrame) -> pd.DataFrame:
    """Return whether the parts add up to the slope of resident memory after a full collection.

    Columns: variant, parts (their sum) and slope, bytes per connection, its interval, ratio, adds up: ``yes`` where the
    slope of what is missing, trial by trial, is shown to be within the tolerance of the slope (two one-sided tests at
    5% each), ``no`` where it is shown to be more, else ``inconclusive``.
    """
    total_mb = parts.groupby("trial_id")["bytes"].sum() / _MB
    done = finished(trials)
    done = done.assign(sum_mb=done["trial_id"].map(total_mb).astype(float))
    done = done.assign(missing_mb=done["collected_rss_mb"].astype(float) - done["sum_mb"])
    fitted, made_of, missing = (lines(done, value) for value in ("collected_rss_mb", "sum_mb", "missing_mb"))
    rows = [
        (name, round(made_of[name].bytes_per_connection), round(slope), _range(fitted[name].interval),
         round(made_of[name].bytes_per_connection / slope, 2), _adds_up(slope, missing[name]))
        for name in made_of
        if (slope := fitted[name].bytes_per_connection)
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=["variant", "parts", "slope", "interval of the slope", "ratio", "adds up"])


def _adds_up(slope: float, missing: Line) -> str:
    if missing.blocks < FEWEST:
        return "inconclusive"
    allowed, middle = TOLERANCE * abs(slope), missing.bytes_per_connection
    error = float(missing.slopes.std(ddof=1)) / math.sqrt(missing.blocks)
    reach = float(scipy_stats.t.ppf(1 - ALPHA, missing.blocks - 1)) * error
    if abs(middle) + reach <= allowed:
        return "yes"
    return "no" if abs(middle) - reach > allowed else "inconclusive"


def published() -> pd.DataFrame:
    """Return the published table: io, buffer (0 for none) and way as our variants have them, io_api, buffer_unit,
    memory_mb (of a server with 22,500 to 30,000 connections), median_cpu_percent and mean_cpu_percent."""
    table = reference.load("buffered_io_memory")
    table = table.assign(io=table["io_api"].map(_IO_OF_API), buffer=table["buffer_size"])
    return table.assign(way=[Variant("java", row.io, row.buffer or None).way for row in records(table)])


def published_baselines() -> pd.DataFrame:
    """What the source sets beside its table: server (``cpp``, or ``idle_threads``: threads of Java that were started
    before any connection), connections, memory_mb."""
    return reference.load("buffered_io_baselines")


def published_table(trials: pd.DataFrame) -> pd.DataFrame:
    """Return the published rows with ours: memory at 30,000 connections predicted from the slope, CPU at the most that
    ran.

    Ours are platform threads on the newest runtime that ran. Empty where a row was not measured, or at one number of
    connections only.
    """
    done = usual(finished(trials))
    done = done[(done["server"] == "java") & (done["threads"] == "platform")]
    newest = done[done["runtime"] == done.groupby(["io", "buffer"], dropna=False)["runtime"].transform("max")]
    newest = newest.assign(buffer=newest["buffer"].fillna(0))
    fitted, names = lines(newest), newest.drop_duplicates(["io", "buffer"]).set_index(["io", "buffer"])["variant"]
    most = newest[newest["connections"] == newest.groupby("variant")["connections"].transform("max")]
    cpu = intervals(most, ["io", "buffer", "connections"], {"cpu_us_per_message": "ours, CPU us per message"})
    table = published().merge(cpu, "left", ["io", "buffer"])
    own = [fitted.get(str(names.get(key))) for key in zip(table["io"], table["buffer"], strict=True)]
    return _predicted(
        pd.DataFrame({
            "way": table["way"],
            "published MB": table["memory_mb"].map("{:,.0f}".format),
            "published CPU median, %": table["median_cpu_percent"],
            **{name: table[name] for name in ("ours, CPU us per message", "connections", "n")},
        }),
        own, [PUBLISHED_CONNECTIONS] * len(own), "ours at 30,000, MiB",
    )  # fmt: skip


def _predicted(table: pd.DataFrame, own: Sequence[Line | None], connections: Sequence[int], name: str) -> pd.DataFrame:
    """A table of published figures with the memory that our lines predict at so many connections, MiB."""
    found = [one.predict_mb(number) if one else None for one, number in zip(own, connections, strict=True)]
    return table.assign(**{  # type: ignore[arg-type]
        name: [significant(one[0]) if one else None for one in found],
        "prediction interval": [_range(one[1:]) if one else None for one in found],
    })  # fmt: skip


def baselines_table(trials: pd.DataFrame) -> pd.DataFrame:
    """Return the published baselines with ours, predicted from the slope as in `published_table`."""
    done = usual(finished(trials))
    waiting = done[(done["io"] == "stream") & (done["runtime"] == done["runtime"].max())]
    ours = {
        "cpp": ("C++ with a thread per connection", lines(done[done["io"] == "threads"])),
        "idle_threads": ("Java threads that wait, no connection yet", lines(waiting, "idle_rss_mb")),
    }
    table = published_baselines()
    own = [next(iter(ours[server][1].values()), None) for server in table["server"]]
    named = pd.DataFrame({
        "server": [ours[server][0] for server in table["server"]], "connections": table["connections"],
        "published MB": table["memory_mb"].map("{:,.0f}".format), "bytes of one": [one and one.text for one in own],
    })  # fmt: skip
    return _predicted(named, own, list(table["connections"]), "ours, MiB")


def chars_and_bytes(trials: pd.DataFrame, parts: pd.DataFrame, size: int = MESSAGE_BYTES) -> pd.DataFrame:
    """Return what chars cost beyond bytes, each with buffers of this size, part by part.

    Columns: part, chars, bytes, apart (bytes per connection; of parts that both have, their difference is exact to what
    a JVM keeps for itself). Platform threads, the newest runtime, the most connections that both held.
    """
    done = usual(finished(trials))
    done = done[(done["threads"] == "platform") & (done["buffer"] == size) & (done["runtime"] == done["runtime"].max())]
    sides = done[done["io"].isin(["buffered_reader", "buffered_stream"])]
    both = sides.groupby("connections")["io"].nunique()
    most = max(both[both == 2].index, default=0)
    joined = parts.merge(sides.loc[sides["connections"] == most, ["trial_id", "io"]], on="trial_id")
    each = joined.astype({"bytes": float}).pivot_table(index="part", columns="io", values="bytes") / max(most, 1)
    table = each.reindex(list(PARTS) if len(each) else [], columns=["buffered_reader", "buffered_stream"]).fillna(0.0)
    table.columns = pd.Index(["chars", "bytes"])
    return table.assign(apart=table["chars"] - table["bytes"]).rename_axis("part").reset_index()
