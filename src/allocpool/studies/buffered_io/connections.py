"""What a connection costs: the slope of memory over the number of connections, and the parts that it is made of.

The trial is the sampling unit: each is one point of a regression. What a server costs without a connection is the
intercept, so the JVM and this package's own process are in no slope.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats as scipy_stats

from allocpool.evidence import reference
from allocpool.evidence.trials import finished, records
from allocpool.stats import CONFIDENCE, significant
from allocpool.studies.buffered_io.specs import IO, MESSAGE_BYTES
from allocpool.studies.buffered_io.tables import PARTS

PUBLISHED_CONNECTIONS = 30_000
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
    """A line by least squares through (connections, MiB) points; ``None`` bounds where two points leave no residual.

    Bounds are those of Student's t at 95 % (Montgomery, Peck and Vining, *Introduction to Linear Regression Analysis*,
    sections 2.4 and 2.5).
    """

    bytes_per_connection: float
    low: float | None
    high: float | None
    intercept_mb: float
    trials: int
    _mean: float
    _spread: float
    _residual_mb: float | None

    def predict_mb(self, connections: int) -> tuple[float, float | None, float | None]:
        """Memory of one more trial at so many connections, MiB, with its prediction interval."""
        centre = self.intercept_mb + self.bytes_per_connection * connections / _MB
        if self._residual_mb is None:
            return centre, None, None
        error = self._residual_mb * math.sqrt(
            1 + 1 / self.trials + (connections - self._mean) ** 2 / self._spread
        )  # fmt: skip
        reach = float(_student(self.trials) * error)
        return centre, centre - reach, centre + reach


def _student(trials: int) -> float:
    return float(scipy_stats.t.ppf(0.5 + CONFIDENCE / 2, trials - 2))


def line(connections: Sequence[float] | pd.Series, memory_mb: Sequence[float] | pd.Series) -> Line | None:
    """The line through these trials, or None where all have the same number of connections."""
    x, y = np.asarray(connections, dtype=np.float64), np.asarray(memory_mb, dtype=np.float64)
    if len(set(x)) < 2:
        return None
    fitted = scipy_stats.linregress(x, y)
    n = len(x)
    slope, spread = float(fitted.slope), float(((x - x.mean()) ** 2).sum())
    low = high = residual = None
    if n > 2:
        residual = float(np.sqrt(((y - fitted.intercept - slope * x) ** 2).sum() / (n - 2)))
        reach = _student(n) * residual / math.sqrt(spread)
        low, high = (slope - reach) * _MB, (slope + reach) * _MB
    return Line(slope * _MB, low, high, float(fitted.intercept), n, float(x.mean()), spread, residual)


def usual(trials: pd.DataFrame) -> pd.DataFrame:
    """The trials whose messages are of the size that most have: those of another size are compared among themselves."""
    return trials[trials["message_bytes"].isin(trials["message_bytes"].mode().iloc[:1])]


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
        rows = done[done["variant"] == name]
        if (one := line(rows["connections"], rows[value].astype(float))) is not None:
            fitted[name] = one
    return fitted


def slopes_table(trials: pd.DataFrame) -> pd.DataFrame:
    """Bytes of a connection by variant, as the load left memory and after a full collection.

    Columns: variant, bytes per connection, interval, after a full collection, its interval, fixed MiB, n.
    """
    loaded, collected = lines(trials), lines(trials, "collected_rss_mb")
    return pd.DataFrame(
        [
            {
                "variant": name,
                "bytes per connection": significant(loaded[name].bytes_per_connection),
                "interval": _range(loaded[name]),
                "after a full collection": significant(collected[name].bytes_per_connection),
                "its interval": _range(collected[name]),
                "fixed, MiB": significant(loaded[name].intercept_mb),
                "n": loaded[name].trials,
            }
            for name in loaded
        ],
        columns=[
            "variant", "bytes per connection", "interval", "after a full collection", "its interval", "fixed, MiB", "n",
        ],
    )  # fmt: skip


def _range(slope: Line) -> str:
    if slope.low is None or slope.high is None:
        return "no spread from two trials"
    return f"{significant(slope.low)} to {significant(slope.high)}"


def decomposition(trials: pd.DataFrame, parts: pd.DataFrame) -> pd.DataFrame:
    """Where the bytes of a connection sit: columns variant, part, bytes_per_connection; each part its own slope."""
    done = finished(trials)[["trial_id", "variant", "connections"]]
    joined = parts.merge(done, on="trial_id")
    rows = []
    for name in lines(trials):
        for part in PARTS:
            points = joined[(joined["variant"] == name) & (joined["part"] == part)]
            if fitted := line(points["connections"], points["bytes"].astype(float) / _MB):
                rows.append({"variant": name, "part": part, "bytes_per_connection": fitted.bytes_per_connection})
    return pd.DataFrame(rows, columns=["variant", "part", "bytes_per_connection"])


def sums(trials: pd.DataFrame, parts: pd.DataFrame) -> pd.DataFrame:
    """Whether the parts add up to the slope of resident memory after a full collection.

    Columns: variant, parts (their sum, bytes per connection), slope, low, high, ratio, adds_up: ``yes``, ``no``, or
    ``cannot be told`` where the difference, trial by trial, is not known to be more than the tolerance.
    """
    total_mb = parts.groupby("trial_id")["bytes"].sum() / _MB
    done = finished(trials)
    rows = []
    for name, fitted in lines(trials, "collected_rss_mb").items():
        mine = done[done["variant"] == name]
        sum_mb = mine["trial_id"].map(total_mb).astype(float)
        made_of = line(mine["connections"], sum_mb)
        missing = line(mine["connections"], mine["collected_rss_mb"].astype(float) - sum_mb)
        if made_of is None or missing is None:
            continue
        slope = fitted.bytes_per_connection
        rows.append(
            {
                "variant": name,
                "parts": made_of.bytes_per_connection,
                "slope": slope,
                "low": fitted.low,
                "high": fitted.high,
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
        f"{low:,.0f} to {high:,.0f}" for low, high in zip(added["low"], added["high"], strict=True)
    ]
    texts["parts over slope"] = [f"{value:.2f}" for value in added["ratio"]]
    texts["adds up"] = added["adds_up"]
    return texts


def _adds_up(slope: float, missing: Line) -> str:
    allowed = TOLERANCE * abs(slope)
    if abs(missing.bytes_per_connection) <= allowed:
        return "yes"
    if missing.low is None or missing.high is None:
        return "cannot be told"
    return "no" if missing.low > allowed or missing.high < -allowed else "cannot be told"


def sums_sentence(added: pd.DataFrame) -> str:
    """How often the parts add up."""
    if added.empty:
        return "No variant ran at two numbers of connections, so no slope can be taken apart."
    counts = added["adds_up"].value_counts()
    parts = [f"the parts add up to the slope within {TOLERANCE:.0%} in {counts.get('yes', 0)} of {len(added)} variants"]
    if wide := counts.get("cannot be told", 0):
        names = ", ".join(added.loc[added["adds_up"] == "cannot be told", "variant"])
        parts.append(f"in {wide} memory beside the connections varies too much to tell ({names})")
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
        cpu_us = float(most["cpu_us_per_message"].mean()) if len(most) else None
        rows.append(
            {
                "I/O": theirs.io_api,
                "buffer": f"{theirs.buffer} {theirs.buffer_unit}" if theirs.buffer else "none",
                "published MB": f"{theirs.memory_mb:,.0f}",
                "ours at 30,000, MiB": None if memory is None else significant(memory),
                "prediction interval": interval,
                "published CPU median, %": theirs.median_cpu_percent,
                "ours, CPU us per message": None if cpu_us is None else significant(cpu_us),
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
                "bytes of one": None if own is None else significant(own.bytes_per_connection),
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


def block_slopes(trials: pd.DataFrame, value: str = "rss_mb") -> pd.DataFrame:
    """The slope of every variant in every block by itself: columns variant, block, bytes_per_connection."""
    rows = []
    for (name, block), group in finished(trials).groupby(["variant", "block"]):
        if fitted := line(group["connections"], group[value].astype(float)):
            rows.append({"variant": name, "block": block, "bytes_per_connection": fitted.bytes_per_connection})
    return pd.DataFrame(rows, columns=["variant", "block", "bytes_per_connection"])
