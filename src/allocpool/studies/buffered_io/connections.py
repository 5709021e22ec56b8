"""What a connection costs: the slope of memory over the number of connections, and the parts that it is made of.

Each block gives a line through its trials, one trial a point, and each such line counts as one: noise grows with the
connections, so the residuals of one regression over all blocks would tell too narrow an interval. What a server costs
without a connection is the intercept, so the JVM and this package's own process are in no slope.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats as scipy_stats

from allocpool.decisions import ALPHA, FEWEST
from allocpool.evidence import reference
from allocpool.evidence.trials import finished, records
from allocpool.stats import CONFIDENCE, geometric_interval, significant
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
    fitted = lines(shown)
    rows = []
    for name, variant in by_variant(shown).items():
        if name in fitted:
            low, high = (math.nan if end is None else end / 1024 for end in fitted[name].interval)
            kib = fitted[name].bytes_per_connection / 1024
            rows.append({"way": variant.way, "served_by": server_of(variant), "kib": kib, "low": low, "high": high,
                         "n": fitted[name].blocks})  # fmt: skip
    source = {
        Variant("java", theirs.io, theirs.buffer or None).way: theirs.memory_mb for theirs in records(published())
    }
    source |= {
        Variant("cpp", "threads").way: theirs.memory_mb
        for theirs in records(published_baselines())
        if theirs.server == "cpp"
    }
    for way in dict.fromkeys(row["way"] for row in rows):
        if way in source:
            least = source[way] * 1e6 / 1024 / PUBLISHED_CONNECTIONS
            most = least * PUBLISHED_CONNECTIONS / PUBLISHED_LEAST
            rows.append({"way": way, "served_by": PUBLISHED, "kib": least, "low": least, "high": most, "n": pd.NA})
    return pd.DataFrame(rows, columns=["way", "served_by", "kib", "low", "high", "n"])


def slopes_table(trials: pd.DataFrame) -> pd.DataFrame:
    """Bytes of a connection by variant, as the load left memory and after a full collection.

    Columns: variant, bytes per connection, interval, after a full collection, its interval, fixed MiB, blocks.
    """
    loaded, collected = lines(trials), lines(trials, "collected_rss_mb")
    return pd.DataFrame(
        [
            {
                "variant": name,
                "bytes per connection": significant(loaded[name].bytes_per_connection),
                "interval": _range(loaded[name].interval),
                "after a full collection": significant(collected[name].bytes_per_connection),
                "its interval": _range(collected[name].interval),
                "fixed, MiB": significant(loaded[name].intercept_mb),
                "blocks": loaded[name].blocks,
            }
            for name in loaded
        ],
        columns=[
            "variant", "bytes per connection", "interval", "after a full collection", "its interval", "fixed, MiB",
            "blocks",
        ],
    )  # fmt: skip


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
    """Whether the parts add up to the slope of resident memory after a full collection.

    Columns: variant, parts (their sum, bytes per connection), slope, low, high, ratio, adds_up: ``yes`` where the slope
    of what is missing, trial by trial, is shown to be within the tolerance of the slope (two one-sided tests at 5%
    each), ``no`` where it is shown to be more, else ``cannot be told``.
    """
    total_mb = parts.groupby("trial_id")["bytes"].sum() / _MB
    done = finished(trials)
    rows = []
    for name, fitted in lines(trials, "collected_rss_mb").items():
        mine = done[done["variant"] == name]
        mine = mine.assign(sum_mb=mine["trial_id"].map(total_mb).astype(float))
        mine = mine.assign(missing_mb=mine["collected_rss_mb"].astype(float) - mine["sum_mb"])
        made_of, missing = line(mine, "sum_mb"), line(mine, "missing_mb")
        if made_of is None or missing is None:
            continue
        slope = fitted.bytes_per_connection
        rows.append(
            {
                "variant": name,
                "parts": made_of.bytes_per_connection,
                "slope": slope,
                "low": fitted.interval[0],
                "high": fitted.interval[1],
                "ratio": made_of.bytes_per_connection / slope if slope else math.nan,
                "adds_up": _adds_up(slope, missing),
            }
        )
    return pd.DataFrame(rows, columns=["variant", "parts", "slope", "low", "high", "ratio", "adds_up"])


def sums_table(added: pd.DataFrame) -> pd.DataFrame:
    """What ``sums`` makes, for readers: whole bytes, the interval in one column."""
    texts = added[["variant"]].copy()
    for name in ("parts", "slope"):
        texts[f"{name}, bytes"] = [f"{value:,.0f}" for value in added[name]]
    texts["interval of the slope"] = [
        "one block" if pd.isna(low) else f"{low:,.0f} to {high:,.0f}"
        for low, high in zip(added["low"], added["high"], strict=True)
    ]
    texts["parts over slope"] = [f"{value:.2f}" for value in added["ratio"]]
    texts["adds up"] = added["adds_up"]
    return texts


def _adds_up(slope: float, missing: Line) -> str:
    if missing.blocks < FEWEST:
        return "cannot be told"
    allowed, middle = TOLERANCE * abs(slope), missing.bytes_per_connection
    error = float(missing.slopes.std(ddof=1)) / math.sqrt(missing.blocks)
    reach = float(scipy_stats.t.ppf(1 - ALPHA, missing.blocks - 1)) * error
    if abs(middle) + reach <= allowed:
        return "yes"
    return "no" if abs(middle) - reach > allowed else "cannot be told"


def sums_sentence(added: pd.DataFrame) -> str:
    """How often the parts add up."""
    if added.empty:
        return "No variant ran at two numbers of connections, so no slope can be taken apart."
    counts = added["adds_up"].value_counts()
    parts = [f"the parts add up to the slope within {TOLERANCE:.0%} in {counts.get('yes', 0)} of {len(added)} variants"]
    if wide := counts.get("cannot be told", 0):
        names = ", ".join(added.loc[added["adds_up"] == "cannot be told", "variant"])
        parts.append(
            f"in {wide} memory beside the connections varies too much, or blocks are too few, to tell ({names})"
        )
    if wrong := counts.get("no", 0):
        names = ", ".join(added.loc[added["adds_up"] == "no", "variant"])
        parts.append(f"in {wrong} they do not ({names})")
    return "Measured one by one, " + "; ".join(parts) + "."


def published() -> pd.DataFrame:
    """The published table: io, buffer (0 for none) in the words of our variants, io_api, buffer_unit, memory_mb (of a
    server with 22,500 to 30,000 connections), median_cpu_percent and mean_cpu_percent."""
    table = reference.load("buffered_io_memory")
    return table.assign(io=table["io_api"].map(_IO_OF_API), buffer=table["buffer_size"])


def published_baselines() -> pd.DataFrame:
    """What the source sets beside its table: server (``cpp``, or ``idle_threads``: threads of Java that were started
    before any connection), connections, memory_mb."""
    return reference.load("buffered_io_baselines")


def published_table(trials: pd.DataFrame) -> pd.DataFrame:
    """The published rows beside ours: memory at 30,000 connections predicted from the slope, CPU at the most that ran.

    Ours are platform threads on the newest runtime that ran. Empty where a row was not measured, or at one number of
    connections only.
    """
    done = usual(finished(trials))
    done = done[(done["server"] == "java") & (done["threads"] == "platform")]
    fitted = lines(done)
    rows = []
    for theirs in records(published()):
        mine = done[(done["io"] == theirs.io) & (done["buffer"].fillna(0) == theirs.buffer)]
        newest = mine[mine["runtime"] == mine["runtime"].max()]
        own = fitted.get(newest["variant"].iloc[0]) if len(newest) else None
        memory, low, high = own.predict_mb(PUBLISHED_CONNECTIONS) if own else (None, None, None)
        most = newest[newest["connections"] == newest["connections"].max()]
        interval = None if low is None or high is None else f"{significant(low)} to {significant(high)}"
        cpu_us = most["cpu_us_per_message"].dropna().astype(float)
        rows.append(
            {
                "way": Variant("java", theirs.io, theirs.buffer or None).way,
                "published MB": f"{theirs.memory_mb:,.0f}",
                "ours at 30,000, MiB": None if memory is None else significant(memory),
                "prediction interval": interval,
                "published CPU median, %": theirs.median_cpu_percent,
                "ours, CPU us per message": geometric_interval(cpu_us).text() if len(cpu_us) else None,
                "connections, n": f"{most['connections'].iloc[0]:,}, {len(most)}" if len(most) else None,
            }
        )  # fmt: skip
    return pd.DataFrame(rows)


def baselines_table(trials: pd.DataFrame) -> pd.DataFrame:
    """The published baselines beside ours, predicted from the slope as in `published_table`."""
    done = usual(finished(trials))
    newest = done["runtime"].max()
    waiting = done[done["idle_rss_mb"].notna() & (done["io"] == "stream") & (done["runtime"] == newest)]
    ours = {
        "cpp": ("C++ with a thread per connection", lines(done[done["io"] == "threads"])),
        "idle_threads": ("Java threads that wait, no connection yet", lines(waiting, "idle_rss_mb")),
    }
    rows = []
    for theirs in records(published_baselines()):
        what, fitted = ours[theirs.server]
        own = next(iter(fitted.values()), None)
        memory, low, high = own.predict_mb(theirs.connections) if own else (None, None, None)
        rows.append(
            {
                "server": what,
                "connections": f"{theirs.connections:,}",
                "published MB": f"{theirs.memory_mb:,.0f}",
                "ours, MiB": None if memory is None else significant(memory),
                "prediction interval": (
                    None if low is None or high is None else f"{significant(low)} to {significant(high)}"
                ),
                "bytes of one": None if own is None else own.text,
            }
        )
    return pd.DataFrame(rows)


def chars_and_bytes(trials: pd.DataFrame, parts: pd.DataFrame, size: int = MESSAGE_BYTES) -> pd.DataFrame:
    """Of what chars cost beyond bytes, each with buffers of this size, part by part.

    Columns: part, chars, bytes, apart (bytes per connection; of parts that both have, their difference is exact to what
    a JVM keeps for itself). Platform threads, the newest runtime, the most connections that both held.
    """
    done = usual(finished(trials))
    done = done[(done["threads"] == "platform") & (done["buffer"] == size) & (done["runtime"] == done["runtime"].max())]
    sides = [done[done["io"] == io] for io in ("buffered_reader", "buffered_stream")]
    both = set(sides[0]["connections"]) & set(sides[1]["connections"])
    columns = ["part", "chars", "bytes", "apart"]
    if not both:
        return pd.DataFrame(columns=columns)
    each = [
        parts[parts["trial_id"].isin(rows.loc[rows["connections"] == max(both), "trial_id"])]
        .groupby("part")["bytes"]
        .mean()
        .astype(float)
        / max(both)
        for rows in sides
    ]
    table = pd.DataFrame({"chars": each[0], "bytes": each[1]}).reindex(list(PARTS)).fillna(0.0)
    return table.assign(apart=table["chars"] - table["bytes"]).rename_axis("part").reset_index()[columns]
