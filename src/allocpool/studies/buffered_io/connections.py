"""What a connection costs: the slope of memory over the number of connections, and the parts that it is made of.

Each block gives a line through its trials, and counts as one: noise grows with the connections, so the residuals of one
regression over all blocks would give too narrow an interval. What a server costs without a connection is the intercept,
so the JVM and this package's own process are in no slope.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
import scipy

from allocpool.decisions import ALPHA, FEWEST
from allocpool.evidence import reference
from allocpool.evidence.trials import finished
from allocpool.stats import CONFIDENCE, SPREAD_UNKNOWN, significant
from allocpool.studies.buffered_io.specs import DEFAULT_BUFFER, EVERY_IO, Variant

PUBLISHED_CONNECTIONS = 30_000
PUBLISHED_LEAST = 22_500
"""The source holds so many to 30,000 connections, and does not state which row has how many."""
PUBLISHED = "published"
PUBLISHED_IN_READ_PERCENT = 82.0
"""Of the processor time of the source's server, in ``BufferedReader.read``."""
_IO_OF_API = {
    "BufferedReader/BufferedWriter": "buffered_reader",
    "BufferedInputStream/BufferedOutputStream": "buffered_stream",
    "InputStream/OutputStream": "stream",
}
_IO_OF_SERVER = {"cpp": "threads", "idle_threads": "idle_threads"}
IDLE_THREADS = "waiting threads, no connection yet"
TOLERANCE = 0.1
"""How near the sum of the parts must come to the slope."""
_MB = 2**20


def done(trials: pd.DataFrame) -> pd.DataFrame:
    """Return the trials that ended well in reading order, with columns ``way`` (of I/O, with its buffer) and
    ``served_by`` (kind of threads and release, or C++)."""
    found = finished(trials)
    order = found.assign(
        io=found["io"].map(EVERY_IO.index), threads=found["threads"] == "virtual", runtime=-found["runtime"].fillna(0),
        buffer=found["buffer"].fillna(0),
    ).sort_values(["io", "threads", "runtime", "buffer", "message_bytes"], kind="stable")  # fmt: skip
    found = found.loc[order.index]
    threads = (found["threads"] + " threads").fillna("selectors")
    served_by = (threads + ", Java " + found["runtime"].astype(str)).where(found["server"] == "java", "C++")
    return found.assign(way=found["variant"].str.split(" / ").str[0], served_by=served_by)


def usual(trials: pd.DataFrame) -> pd.DataFrame:
    """Return the trials whose messages are of the size that most have: those of another size compare among
    themselves."""
    return trials[trials["message_bytes"].isin(trials["message_bytes"].mode().iloc[:1])]


def common_buffers(trials: pd.DataFrame) -> pd.DataFrame:
    """Return the trials without a buffer of selectable size, with the default one, or with one of the message's
    size."""
    size = trials["buffer"]
    return trials[size.isna() | size.eq(DEFAULT_BUFFER).fillna(False) | size.eq(trials["message_bytes"]).fillna(False)]


def newest(trials: pd.DataFrame) -> pd.DataFrame:
    """Return the trials of C++, and of each way of I/O and its threads those on the newest release that ran."""
    latest = trials.groupby(["io", "threads"], dropna=False)["runtime"].transform("max")
    return trials[trials["runtime"].isna() | trials["runtime"].eq(latest).fillna(False)]


def slopes(points: pd.DataFrame, value: str = "rss_mb", by: Sequence[str] = ("variant",)) -> pd.DataFrame:
    """Return a line by least squares for each block of each group: ``by``, block, ``each`` (bytes per connection) and
    ``fixed_mb``; none where a block has one number of connections.

    Args:
        points: trials with columns ``by``, block, connections and ``value``, MiB.
    """
    lines = []
    for key, group in points.dropna(subset=[value]).groupby([*by, "block"], sort=False, observed=True):
        if group["connections"].nunique() > 1:
            slope, fixed_mb = np.polyfit(group["connections"], group[value].astype(float), 1)
            lines.append((*key, slope * _MB, fixed_mb))
    return pd.DataFrame(lines, columns=[*by, "block", "each", "fixed_mb"])


def over_blocks(
    lines: pd.DataFrame, by: Sequence[str] = ("variant",), value: str = "each", level: float = CONFIDENCE,
    next_block: bool = False,
) -> pd.DataFrame:  # fmt: skip
    """Return the mean of a column of `slopes` over blocks, by group: mean, low and high (Student; NaN of one block), n.

    ``next_block``: the interval is that in which one more block is expected.
    """
    groups = lines.groupby(list(by), sort=False)[value]
    mean, n = groups.mean(), groups.size()
    half = scipy.stats.t.ppf(0.5 + level / 2, n - 1) * groups.std() * np.sqrt(1 / n + next_block)
    return pd.DataFrame({"mean": mean, "low": mean - half, "high": mean + half, "n": n})


def costs(trials: pd.DataFrame) -> pd.DataFrame:
    """Return what a connection takes by way of I/O and what serves it, common buffers, with the published figures.

    Columns: way, served_by, mean (KiB of resident memory), low, high, n (blocks; none of what is published). Published
    are the memory of a server, the JVM's own with it, over 30,000 connections; high: over the fewest it may have had.
    """
    by = ["way", "served_by"]
    ours = over_blocks(slopes(common_buffers(usual(done(trials))), by=by), by)
    ours = ours.assign(**{name: ours[name] / 1024 for name in ("mean", "low", "high")}).reset_index()
    source = published()
    least = source["memory_mb"] * 1e6 / 1024 / PUBLISHED_CONNECTIONS
    most = least * np.where(source["io"] == "threads", 1, PUBLISHED_CONNECTIONS / PUBLISHED_LEAST)
    theirs = source[["way"]].assign(served_by=PUBLISHED, mean=least, low=least, high=most)
    return pd.concat([ours, theirs[theirs["way"].isin(ours["way"])]], ignore_index=True)


def with_shares(profiles: pd.DataFrame) -> pd.DataFrame:
    """Return the profiled trials that ended well and have samples, with ``in_read_percent`` and
    ``elsewhere_percent`` of these."""
    found = finished(profiles)
    share = 100 * found["in_read"] / found["samples"].replace(0, pd.NA)
    return found.assign(in_read_percent=share, elsewhere_percent=100 - share).dropna(subset=["in_read_percent"])


def memory_table(trials: pd.DataFrame, parts: pd.DataFrame) -> pd.DataFrame:
    """Return bytes of a connection by variant, and whether its parts add up to them.

    Columns: as the load left memory, after a full collection (each with its interval), fixed MiB, blocks, the sum of
    the ``parts``, and ``adds up``: ``yes`` where the slope of what is missing, trial by trial, is shown to be within
    the tolerance of the slope (two one-sided tests at 5% each), ``no`` where it is shown to be more, else
    ``inconclusive``.
    """
    ended = done(trials)
    ended["sum_mb"] = ended["trial_id"].map(parts.groupby("trial_id")["bytes"].sum() / _MB).astype(float)
    ended["missing_mb"] = ended["collected_rss_mb"].astype(float) - ended["sum_mb"]
    loaded = slopes(ended)
    collected, made_of = (over_blocks(slopes(ended, value)) for value in ("collected_rss_mb", "sum_mb"))
    missing = over_blocks(slopes(ended, "missing_mb"), level=1 - 2 * ALPHA)
    allowed = TOLERANCE * collected["mean"].abs()
    few, within = missing["n"] < FEWEST, missing[["low", "high"]].abs().max(axis=1) <= allowed
    beyond = (missing["low"] > allowed) | (missing["high"] < -allowed)
    table = over_blocks(loaded)
    return pd.DataFrame({
        "bytes per connection": table.apply(spread, axis=1),
        "after a full collection": collected.apply(spread, axis=1),
        "fixed, MiB": over_blocks(loaded, value="fixed_mb")["mean"].map(significant),
        "blocks": table["n"],
        "parts": made_of["mean"].round().astype("Int64"),
        "adds up": pd.Series(np.select([few, within, beyond], ["inconclusive", "yes", "no"], "inconclusive"),
                             missing.index),
    }, index=table.index).reset_index()  # fmt: skip


def spread(row: pd.Series) -> str:
    """Return a row of `over_blocks` in words: ``72,400 (67,800 to 77,000)``."""
    ends = SPREAD_UNKNOWN if math.isnan(row["low"]) else f"{significant(row['low'])} to {significant(row['high'])}"
    return f"{significant(row['mean'])} ({ends})"


def published() -> pd.DataFrame:
    """Return the published figures: io, buffer (0 for none) and way as our variants have them, connections, memory_mb,
    median_cpu_percent (NaN where the source gives none)."""
    table = reference.load("buffered_io_memory").assign(connections=PUBLISHED_CONNECTIONS)
    table = table.assign(io=table["io_api"].map(_IO_OF_API), buffer=table["buffer_size"])
    ways = [Variant("java", io, buffer or None).way for io, buffer in zip(table["io"], table["buffer"], strict=True)]
    baselines = reference.load("buffered_io_baselines").assign(buffer=0)
    baselines["io"] = baselines["server"].map(_IO_OF_SERVER)
    both = pd.concat([table.assign(way=ways), baselines.assign(way=[Variant("cpp", "threads").way, IDLE_THREADS])])
    return both[["io", "buffer", "way", "connections", "memory_mb", "median_cpu_percent"]].reset_index(drop=True)


def published_table(trials: pd.DataFrame) -> pd.DataFrame:
    """Return the published memory with ours, predicted from the slope with the interval of one more block.

    Ours are platform threads on the newest release, and C++. Empty where a row was not measured, or at one number of
    connections only.
    """
    by = ["io", "buffer"]
    ours = newest(usual(done(trials)))
    ours = ours[ours["threads"].fillna("") != "virtual"].assign(buffer=ours["buffer"].fillna(0))
    idle = slopes(ours[ours["io"] == "stream"].assign(io="idle_threads"), "idle_rss_mb", by)
    table = published()
    lines = pd.concat([slopes(ours, by=by), idle]).merge(table, "inner", by)
    lines = lines.assign(mib=lines["fixed_mb"] + lines["each"] * lines["connections"] / _MB)
    predicted = over_blocks(lines, by, "mib", next_block=True).apply(spread, axis=1, result_type="reduce")
    table = table.merge(predicted.rename("ours, MiB").reset_index(), "left", by)
    return table.rename(columns={"memory_mb": "published MB"})[["way", "connections", "published MB", "ours, MiB"]]
