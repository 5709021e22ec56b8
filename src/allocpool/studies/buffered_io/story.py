"""The sentences and small tables of the page on buffered I/O, computed from its trials."""

from __future__ import annotations

from functools import partial

import pandas as pd

from allocpool import decisions
from allocpool.campaign import store
from allocpool.evidence import tables
from allocpool.evidence.trials import counted, finished
from allocpool.stats import significant
from allocpool.studies.buffered_io import connections, limits
from allocpool.studies.buffered_io.specs import DEFAULT_BUFFER, EchoSpec, Variant
from allocpool.studies.buffered_io.study import STUDY


def limits_table() -> pd.DataFrame:
    """What this machine allows now, by kind of server: the limit that bites first, and how to raise it."""
    kinds = {
        "java/buffered_reader/platform/25": "Java, platform threads",
        "java/stream/virtual/25": "Java, virtual threads",
        "java/nio_pooled/25": "Java, one selector",
        "cpp/threads": "C++, thread per connection",
        "cpp/epoll": "C++, epoll",
    }
    specs = {name: EchoSpec(connections=1, seconds=1, **Variant.parse(key).settings()) for key, name in kinds.items()}
    tightest = {name: limits.limits(spec)[0] for name, spec in specs.items()}
    rows = [(name, one.connections, one.name, one.remedy) for name, one in tightest.items()]
    return pd.DataFrame(rows, columns=["server", "connections at most", "limited by", "remedy"])


def _newest(trials: pd.DataFrame, io: str, buffer: int) -> str:
    rows = connections.usual(finished(trials))
    rows = rows[(rows["io"] == io) & (rows["buffer"].fillna(0) == buffer) & (rows["threads"].fillna("") != "virtual")]
    return str(rows.sort_values("runtime")["variant"].iloc[-1]) if len(rows) else ""


_COUNTERPARTS = (
    ("buffered_reader", "buffer held for life, two chars arrays and a decoder", "stream", "no buffer"),
    ("nio_buffer_per_connection", "NIO with a buffer per connection", "nio_pooled", "NIO with buffers from a pool"),
    ("netty_unpooled", "Netty, unpooled", "netty_pooled", "Netty, pooled"),
    ("threads", "C++ with a thread per connection", "epoll", "C++ with epoll"),
)


def savings_table(trials: pd.DataFrame) -> pd.DataFrame:
    """Return what a connection costs with memory held for it over memory taken when needed, within the same
    technique."""
    fitted = connections.lines(trials)
    names, pairs = [], []
    for io, held, other, taken in _COUNTERPARTS:
        costs = fitted.get(_newest(trials, io, DEFAULT_BUFFER if io == "buffered_reader" else 0))
        less = fitted.get(_newest(trials, other, 0))
        if costs and less:
            saved = significant(costs.bytes_per_connection - less.bytes_per_connection)
            names.append({"held": held, "taken when needed": taken, "saving, bytes": saved})
            pairs.append(partial(decisions.compare_means, costs.slopes, less.slopes, decisions.effect_that_matters()))
    return tables.comparisons(names, decisions.together(pairs), "held over taken")


def gaps_table(trials: pd.DataFrame, plan: pd.DataFrame) -> pd.DataFrame:
    """Return trials that did not end well, and how many variants the campaign leaves out: what and why."""
    bad = counted(trials)
    bad = bad[bad["status"] != "ok"]
    failed = bad.groupby(["variant", "reason"], sort=False, as_index=False).agg(connections=("connections", set))
    left = plan[~plan["planned"].astype(bool) & ~plan["variant"].isin(bad["variant"])]
    rest = left.groupby("left_out_because", sort=False, as_index=False).agg(variant=("variant", "; ".join))
    rest = rest.rename(columns={"left_out_because": "reason"}).assign(connections="all")
    return pd.concat([failed.astype({"connections": str}), rest])[["variant", "connections", "reason"]]


def cpu_table(trials: pd.DataFrame) -> pd.DataFrame:
    """Return CPU as published and per message, collections, latency and errors at the most connections of each variant;
    no latency of variants that left messages behind."""
    done = finished(trials)
    done = done[done["connections"] == done.groupby("variant")["connections"].transform("max")]
    behind = done.groupby("variant")["behind"].transform("max") > 0
    percentiles = {name: done[name].mask(behind) for name in ("latency_p50_us", "latency_p99_us")}
    columns = {
        "cpu_us_per_message": "CPU per message, us", "latency_p50_us": "p50, us", "latency_p99_us": "p99, us",
        "gc_pauses": "GC pauses", "cpu_percent_median": "CPU median, %", "cpu_percent_mean": "CPU mean, %",
        "messages_per_second": "messages/s",
    }  # fmt: skip
    table = tables.intervals(done.assign(**percentiles), ["variant", "connections"], columns)
    counts = done.groupby("variant")[["errors", "behind"]].sum()
    return table.join(counts, on="variant").set_index("variant").loc[connections.variants(done)].reset_index()


def verdict(trials: pd.DataFrame) -> str:
    """Return what a connection costs with default buffers and without any, and the variant that takes least."""
    fitted = connections.lines(trials)
    default, plain = _newest(trials, "buffered_reader", DEFAULT_BUFFER), _newest(trials, "stream", 0)
    if default not in fitted or plain not in fitted:
        return "**Not measured:** default and plain streams must run at two numbers of connections."
    compared = decisions.compare_means(fitted[default].slopes, fitted[plain].slopes)
    least = min(fitted, key=lambda name: fitted[name].bytes_per_connection)
    others = [one.slopes for name, one in fitted.items() if name != least]
    # The slopes that chose the one also judge it: it is put to all others, and paid for as often as there was a choice.
    chances = [decisions.compare_means(slopes, fitted[least].slopes).p_above() for slopes in others]
    sure = len(fitted) * max(chances, default=1.0) <= decisions.ALPHA
    return (
        f"**Memory of a connection, default buffers over none: {compared.text()}**, {fitted[default].kib_text} KiB "
        f"against {fitted[plain].kib_text} KiB. Least of {len(fitted)} variants: {least}, {fitted[least].kib_text} "
        f"KiB{'' if sure else ', not shown against all others'}."
    )


def take_home(profile: str) -> str:
    """Return the verdict on what a campaign of this profile left; runs nothing."""
    return verdict(store.stored(STUDY.name, profile)[0]["trials"])
