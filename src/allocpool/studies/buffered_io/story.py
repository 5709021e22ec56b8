"""The sentences and small tables of the page on buffered I/O, computed from its trials."""

from __future__ import annotations

from functools import partial

import pandas as pd

from allocpool import decisions, stats
from allocpool.campaign import store
from allocpool.evidence import tables
from allocpool.evidence.trials import counted, finished
from allocpool.stats import significant
from allocpool.studies.buffered_io import connections, limits
from allocpool.studies.buffered_io.connections import Line
from allocpool.studies.buffered_io.specs import DEFAULT_BUFFER, EchoSpec, Variant
from allocpool.studies.buffered_io.study import EVERY_KEY, STUDY


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
    late = (
        f" {behind:,} messages were due and never sent, their connections waiting for an echo to the end: their trials "
        "have no percentile."
        if behind
        else ""
    )
    echoed = float((measured["messages_per_second"] * measured["seconds"]).sum())
    bad = int((measured["errors"] > 0).sum())
    return (
        f"About {significant(echoed, 2)} messages were echoed in the measured windows of {len(measured)} trials, each "
        f"of them checked byte by byte; {bad or 'no'} trial{'' if bad == 1 else 's'} had an error.{late}"
    )


def chars_table(trials: pd.DataFrame, parts: pd.DataFrame) -> pd.DataFrame:
    """Bytes per connection with char and with byte buffers of the message's size, part by part."""
    table = connections.chars_and_bytes(trials, parts)
    total = table[["chars", "bytes", "apart"]].sum()
    table = pd.concat([table, pd.DataFrame([{"part": "all parts", **total}])], ignore_index=True)
    shown = {name: [f"{value:,.0f}" for value in table[name]] for name in ("chars", "bytes", "apart")}
    return table.assign(part=table["part"].map(lambda part: part.replace("_", " ")), **shown)


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


def _savings(trials: pd.DataFrame) -> list[tuple[str, str, Line, Line, decisions.Comparison]]:
    """What is held for a connection, its counterpart, both lines and their ratio, for each counterpart that ran."""
    fitted = connections.lines(trials)
    ran = []
    for io, held, other, taken in _COUNTERPARTS:
        names = _newest(trials, io, DEFAULT_BUFFER if io == "buffered_reader" else 0), _newest(trials, other, 0)
        if all(name in fitted for name in names):
            ran.append((held, taken, fitted[names[0]], fitted[names[1]]))
    effect = decisions.effect_that_matters()
    pairs = [partial(decisions.compare_means, costs.slopes, less.slopes, effect) for _, _, costs, less in ran]
    return [(*one, compared) for one, compared in zip(ran, decisions.together(pairs), strict=True)]


def savings_table(trials: pd.DataFrame) -> pd.DataFrame:
    """What a connection costs with memory held for it, and with memory taken when needed, within the same technique."""
    savings = _savings(trials)
    names = [
        {"held": held, "taken when needed": taken,
         "saving, bytes": significant(costs.bytes_per_connection - less.bytes_per_connection)}
        for held, taken, costs, less, _ in savings
    ]  # fmt: skip
    return tables.comparisons(names, [compared for *_, compared in savings], "held over taken")


_NAMED = 3
"""So many variants of a long list are named."""


def gaps_table(trials: pd.DataFrame, plan: pd.DataFrame) -> pd.DataFrame:
    """Trials that did not end well, and variants that the campaign leaves out: what and why."""
    bad = counted(trials)
    bad = bad[bad["status"] != "ok"]
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
        named = list(group["variant"])
        more = f" and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
        names = f"{len(named)} of {len(EVERY_KEY)}: {', '.join(named[:_NAMED])}{more}"
        rows.append({"variant": names, "connections": "all", "reason": str(reason)})
    return pd.DataFrame(rows, columns=["variant", "connections", "reason"])


def cpu_table(trials: pd.DataFrame) -> pd.DataFrame:
    """CPU as published, per message, garbage collections and latency at the most connections of each variant."""
    done = finished(trials)
    rows = []
    for name in connections.variants(done):
        group = done[done["variant"] == name]
        group = group[group["connections"] == group["connections"].max()]
        pauses = group["gc_pauses"].dropna()
        left_behind = bool((group["behind"] > 0).any())
        rows.append(
            {"variant": name, "connections": f"{group['connections'].iloc[0]:,}",
             "CPU per message, us": _cell(group["cpu_us_per_message"]),
             "p50, us": "left behind" if left_behind else _cell(group["latency_p50_us"]),
             "p99, us": "left behind" if left_behind else _cell(group["latency_p99_us"]),
             "GC pauses": f"{pauses.astype(float).mean():.1f}" if len(pauses) else "none: no collector",
             "CPU median, %": _cell(group["cpu_percent_median"]),
             "CPU mean, %": _cell(group["cpu_percent_mean"]),
             "messages/s": _cell(group["messages_per_second"]),
             "n": len(group)}
        )  # fmt: skip
    return pd.DataFrame(rows)


def _cell(values: pd.Series) -> str:
    """The geometric mean over trials with its interval."""
    known = values.dropna().astype(float)
    if known.empty:
        return "-"
    return stats.geometric_interval(known).text() if (known > 0).all() else significant(float(known.mean()))


def verdict(trials: pd.DataFrame) -> str:
    """The page's answer."""
    fitted = connections.lines(trials)
    default, plain = _newest(trials, "buffered_reader", DEFAULT_BUFFER), _newest(trials, "stream", 0)
    if default not in fitted or plain not in fitted:
        return "No answer yet: default and plain streams must run at two numbers of connections."
    compared = decisions.compare_means(fitted[default].slopes, fitted[plain].slopes)
    least = min(fitted, key=lambda name: fitted[name].bytes_per_connection)
    chances = [
        decisions.compare_means(other.slopes, fitted[least].slopes).p_above()
        for name, other in fitted.items()
        if name != least
    ]
    # The slopes that chose the one also judge it: it is put to all others, and paid for as often as there was a choice.
    sure = len(fitted) * max(chances, default=1.0) <= decisions.ALPHA
    head = (
        "Default buffers cost more than none" if compared.direction > 0
        else "Default buffers cost less than none" if compared.direction < 0
        else "Default buffers or none: no difference that matters" if compared.equivalent
        else "Open whether default buffers cost more than none"
    )  # fmt: skip
    return (
        f"**{head}.** A connection with default buffers takes {fitted[default].kib_text} KiB, without any "
        f"{fitted[plain].kib_text} KiB; with over without: {compared.text()}. Of {len(fitted)} variants {least} "
        f"{'takes the least, shown against all others' if sure else 'took the least, not shown against all others'}: "
        f"{fitted[least].kib_text} KiB."
    )


def take_home(profile: str) -> str:
    """The verdict on what a campaign of this profile left; runs nothing."""
    stored, _ = store.stored(STUDY.name, profile)
    return verdict(stored["trials"])


def certainty(trials: pd.DataFrame) -> str:
    """What the intervals rest on."""
    slopes = [line.slopes for line in connections.lines(trials).values() if line.blocks > 1]
    if not slopes:
        return "No variant has slopes from two blocks, so a difference can be seen and not yet be told from noise."
    apart = pd.Series([float(values.std(ddof=1) / abs(values.mean())) for values in slopes])
    blocks = min(len(values) for values in slopes)
    few = "" if blocks >= decisions.FEWEST else f" Below {decisions.FEWEST} blocks nothing is decided."
    return (
        f"Slopes of one variant differ from block to block by {apart.median():.1%} in the median of {len(slopes)} "
        f"variants, by {apart.max():.1%} at most (standard deviation over mean), in {blocks} blocks or more.{few}"
    )
