"""The sentences and small tables of the page on buffered I/O, computed from its trials."""

from __future__ import annotations

import pandas as pd

from allocpool import stats
from allocpool.campaign import campaign
from allocpool.evidence.trials import finished
from allocpool.stats import significant
from allocpool.studies.buffered_io import connections, limits
from allocpool.studies.buffered_io.connections import PUBLISHED_CONNECTIONS, Line
from allocpool.studies.buffered_io.specs import EchoSpec, Variant
from allocpool.studies.buffered_io.study import EVERY_KEY, STUDY, BufferedIoProfile


def design(profile: BufferedIoProfile) -> str:
    """What the campaign does, in a sentence or two."""
    numbers = sorted({number for group in profile.groups.values() for number in group.connections})
    variants = {key for group in profile.groups.values() for key in group.variants}
    return (
        f"{len(variants)} variants at {', '.join(f'{number:,}' for number in numbers)} connections (not every variant "
        f"at each), {profile.blocks} block{'s' if profile.blocks > 1 else ''} in random order. Every connection sends "
        f"a message of {profile.message_bytes} bytes {profile.rate_per_connection:g} times a second, for "
        f"{profile.warmup_seconds:g} s uncounted and {profile.seconds:g} s counted. The load generator checks every "
        "byte of every echo; a dropped connection, a wrong or missing echo, or books of client and server that differ "
        "fail the trial."
    )


def limits_table() -> pd.DataFrame:
    """What this machine allows now, by kind of server: the limit that bites first, and how to raise it."""
    kinds = {
        "java/buffered_reader/platform/25": "Java, platform threads",
        "java/stream/virtual/25": "Java, virtual threads",
        "java/nio_pooled/25": "Java, one selector",
        "cpp/threads": "C++, thread per connection",
        "cpp/epoll": "C++, epoll",
    }
    rows = []
    for key, name in kinds.items():
        tightest = limits.limits(EchoSpec(connections=1, seconds=1, **Variant.parse(key).settings()))[0]
        rows.append(
            {"server": name, "connections at most": f"{tightest.connections:,}", "limited by": tightest.name,
             "remedy": tightest.remedy}
        )  # fmt: skip
    return pd.DataFrame(rows)


def errors_sentence(trials: pd.DataFrame) -> str:
    """How many messages were checked, and what went wrong."""
    measured = trials[trials["errors"].notna()]
    if measured.empty:
        return "No trial has been measured."
    behind = int(measured["behind"].sum())
    late = f" {behind:,} messages were due and not sent in time, their server being behind." if behind else ""
    echoed = float((measured["messages_per_second"] * measured["seconds"]).sum())
    bad = int((measured["errors"] > 0).sum())
    return (
        f"About {significant(echoed, 2)} messages were echoed in the measured windows of {len(measured)} trials, each "
        f"of them checked byte by byte; {bad or 'no'} trial{'' if bad == 1 else 's'} had an error.{late}"
    )


def prediction_sentence(trials: pd.DataFrame) -> str:
    """What the default buffers, no buffers and C++ would take at the published number of connections."""
    fitted = connections.lines(trials)
    chosen = {
        "default BufferedReader and BufferedWriter": _newest(trials, "buffered_reader", 8192),
        "plain streams": _newest(trials, "stream", 0),
        "C++ with a thread per connection": _newest(trials, "threads", 0),
        "C++ with epoll": _newest(trials, "epoll", 0),
    }
    predicted = [f"{what} {_predicted(fitted[name])}" for what, name in chosen.items() if name in fitted]
    if not predicted:
        return "No variant ran at two numbers of connections, so nothing can be predicted."
    return f"At {PUBLISHED_CONNECTIONS:,} connections the slopes predict: {'; '.join(predicted)}."


def _newest(trials: pd.DataFrame, io: str, buffer: int) -> str:
    rows = finished(trials)
    rows = rows[(rows["io"] == io) & (rows["buffer"].fillna(0) == buffer) & (rows["threads"].fillna("") != "virtual")]
    return str(rows.sort_values("runtime")["variant"].iloc[-1]) if len(rows) else ""


def _predicted(line: Line) -> str:
    memory, low, high = line.predict_mb(PUBLISHED_CONNECTIONS)
    if low is None or high is None:
        return f"{significant(memory)} MiB"
    return f"{significant(memory)} MiB ({significant(max(low, 0.0))} to {significant(high)})"


_COUNTERPARTS = (
    ("buffered_reader", "buffer held for life, two chars arrays and a decoder", "stream", "no buffer"),
    ("nio_buffer_per_connection", "NIO with a buffer per connection", "nio_pooled", "NIO with buffers from a pool"),
    ("netty_unpooled", "Netty, unpooled", "netty_pooled", "Netty, pooled"),
    ("threads", "C++ with a thread per connection", "epoll", "C++ with epoll"),
)


def savings_table(trials: pd.DataFrame) -> pd.DataFrame:
    """What a connection costs with memory held for it, and with memory taken when needed, within the same technique."""
    fitted = connections.lines(trials)
    rows = []
    for io, held, other, taken in _COUNTERPARTS:
        names = [_newest(trials, io, 8192 if io == "buffered_reader" else 0), _newest(trials, other, 0)]
        if all(name in fitted for name in names):
            costs = [fitted[name].bytes_per_connection for name in names]
            rows.append(
                {"held": held, "bytes": significant(costs[0]), "taken when needed": taken,
                 "bytes ": significant(costs[1]), "saving, bytes": significant(costs[0] - costs[1])}
            )  # fmt: skip
    return pd.DataFrame(rows, columns=["held", "bytes", "taken when needed", "bytes ", "saving, bytes"])


def gaps_table(trials: pd.DataFrame, plan: pd.DataFrame) -> pd.DataFrame:
    """Trials that did not end well, and variants that the campaign leaves out: what and why."""
    bad = trials[trials["status"] != "ok"]
    rows = [
        {
            "variant": name,
            "connections": ", ".join(f"{n:,}" for n in sorted(set(group["connections"]))),
            "reason": reason,
        }
        for (name, reason), group in bad.groupby(["variant", "reason"], sort=False)
    ]
    left = plan[~plan["planned"].astype(bool) & ~plan["variant"].isin(bad["variant"])]
    for reason, group in left.groupby("left_out_because", sort=False):
        names = f"{len(group)} of {len(EVERY_KEY)}: {', '.join(group['variant'])}"
        rows.append({"variant": names, "connections": "all", "reason": str(reason)})
    return pd.DataFrame(rows, columns=["variant", "connections", "reason"])


def cpu_table(trials: pd.DataFrame) -> pd.DataFrame:
    """CPU as published, per message, garbage collections and latency at the most connections of each variant."""
    done = finished(trials)
    rows = []
    for name in connections.variants(done):
        group = done[done["variant"] == name]
        group = group[group["connections"] == group["connections"].max()]
        means = group[["cpu_percent_median", "cpu_percent_mean", "cpu_us_per_message", "messages_per_second",
                       "latency_p50_us", "latency_p99_us"]].astype(float).mean()  # fmt: skip
        pauses = group["gc_pauses"].dropna()
        rows.append(
            {"variant": name, "connections": f"{group['connections'].iloc[0]:,}",
             "messages/s": significant(means["messages_per_second"]),
             "CPU median, %": significant(means["cpu_percent_median"]),
             "CPU mean, %": significant(means["cpu_percent_mean"]),
             "CPU per message, us": significant(means["cpu_us_per_message"]),
             "GC pauses": f"{pauses.astype(float).mean():.1f}" if len(pauses) else "none: no collector",
             "p50, us": significant(means["latency_p50_us"]), "p99, us": significant(means["latency_p99_us"]),
             "n": len(group)}
        )  # fmt: skip
    return pd.DataFrame(rows)


def verdict(trials: pd.DataFrame) -> str:
    """The page's answer."""
    fitted = connections.lines(trials)
    default, plain = _newest(trials, "buffered_reader", 8192), _newest(trials, "stream", 0)
    if default not in fitted or plain not in fitted:
        return "No answer yet: default and plain streams must run at two numbers of connections."
    costs = fitted[default].bytes_per_connection, fitted[plain].bytes_per_connection
    with_and_without = (
        f"A connection with default buffers takes {significant(costs[0] / 1024)} KiB, without any "
        f"{significant(costs[1] / 1024)} KiB, most of it the thread's stack"
    )
    lean = {name: line.bytes_per_connection for name, line in fitted.items() if line.bytes_per_connection > 0}
    least = min(lean, key=lambda name: lean[name])
    return f"{with_and_without}; the leanest variant measured, {least}, takes {significant(lean[least] / 1024, 2)} KiB."


def take_home(profile: str) -> str:
    """The verdict on what a campaign of this profile left; runs nothing."""
    tables, _ = campaign.stored(STUDY.name, profile)
    return verdict(tables["trials"])


def certainty(trials: pd.DataFrame) -> str:
    """What the intervals rest on."""
    done = finished(trials)
    blocks = done["block"].nunique()
    noise = stats.noise_band(
        connections.block_slopes(done).query("bytes_per_connection > 0"), ["variant"], "bytes_per_connection"
    )
    if blocks < 2:
        return "There is one block, so a difference between two variants can be seen and not yet be told from noise."
    return (
        f"Slopes of one variant in two blocks lie within a factor of {significant(noise.factor)} of each other in 95% "
        f"of {noise.pairs} pairs."
    )
