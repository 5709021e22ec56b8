"""The sentences and small tables of the page on buffered I/O, computed from its trials."""

from __future__ import annotations

from functools import partial

import pandas as pd

from allocpool import decisions, stats
from allocpool.campaign import store
from allocpool.evidence import tables
from allocpool.evidence.trials import counted, finished, records
from allocpool.stats import significant
from allocpool.studies.buffered_io import claims, connections, limits
from allocpool.studies.buffered_io.claims import Way
from allocpool.studies.buffered_io.connections import PUBLISHED_CONNECTIONS, Line
from allocpool.studies.buffered_io.specs import DEFAULT_BUFFER, MESSAGE_BYTES, EchoSpec, Variant
from allocpool.studies.buffered_io.study import EVERY_KEY, STUDY, BufferedIoProfile
from allocpool.studies.buffered_io.tables import PARTS


def _often(rate: float) -> str:
    return "once" if rate == 1 else f"{rate:g} times"


def design(profile: BufferedIoProfile) -> str:
    """What the campaign does, in a sentence or two."""
    numbers = sorted({number for group in profile.groups.values() for number in group.connections})
    variants = {key for group in profile.groups.values() for key in group.variants}
    sizes = sorted({group.message_bytes or profile.message_bytes for group in profile.groups.values()})
    return (
        f"{len(variants)} variants at {', '.join(f'{number:,}' for number in numbers)} connections (not every variant "
        f"at each), {profile.blocks} block{'s' if profile.blocks > 1 else ''} in random order. Every connection sends "
        f"a message of {' or '.join(map(str, sizes))} bytes {_often(profile.rate_per_connection)} a second, for "
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


def arrival_sentence(trials: pd.DataFrame) -> str:
    """What choosing echoes by their arrival in the window would have told of the same trials."""
    done = finished(trials)
    done = done[done["arrived_p99_us"].notna()]
    if done.empty:
        return "No trial has finished yet."
    by_due, by_arrival = done["latency_p99_us"].astype(float), done["arrived_p99_us"].astype(float)
    lower = int((by_arrival < by_due).sum())
    without = int(by_due.isna().sum())
    told = (
        f"Messages are chosen by when they were due, and those that a server still owed at the end of the window have "
        f"their delays from the time after it. Chosen by their arrival, as many tools do, p99 would have been lower in "
        f"{lower} of {len(done)} trials"
    )
    if lower:
        worst = (by_due / by_arrival).max()
        told += f", the largest by a factor of {significant(float(worst), 2)}"
    return told + (f", and there would have been one in {without} that left messages behind." if without else ".")


def chars_sentence(trials: pd.DataFrame, parts: pd.DataFrame) -> str:
    """Whether two-byte chars explain what char buffers cost beyond byte buffers of the message's size."""
    apart = claims.published_figures().values(Way("buffered_reader", MESSAGE_BYTES), claims.CHARS)
    second = claims.SECOND_BYTES
    published = float(apart.iloc[0])
    text = (
        f"The source explains by two-byte chars what {MESSAGE_BYTES} chars cost beyond {MESSAGE_BYTES} bytes. In its "
        f"own figures that is {significant(published)} bytes per connection; the second bytes of a reader's and a "
        f"writer's buffer are {second:,} of them, {second / published:.1%}."
    )
    table = connections.chars_and_bytes(trials, parts)
    if table.empty:
        return text
    ours = float(table["apart"].sum())
    largest = records(table.sort_values("apart", key=abs))[-1]
    return (
        f"{text} Here {significant(ours)} bytes lie between the two, the largest part of them "
        f"{largest.part.replace('_', ' ')} ({PARTS[largest.part]}) with {significant(largest.apart)}."
    )


def chars_table(trials: pd.DataFrame, parts: pd.DataFrame) -> pd.DataFrame:
    """Bytes per connection with char and with byte buffers of the message's size, part by part."""
    table = connections.chars_and_bytes(trials, parts)
    total = table[["chars", "bytes", "apart"]].sum()
    table = pd.concat([table, pd.DataFrame([{"part": "all parts", **total}])], ignore_index=True)
    shown = {name: [f"{value:,.0f}" for value in table[name]] for name in ("chars", "bytes", "apart")}
    return table.assign(part=table["part"].map(lambda part: part.replace("_", " ")), **shown)


def eviction_sentence(trials: pd.DataFrame) -> str:
    """What the neighbour paid beside the servers that refer to the least and to the most memory."""
    done = connections.usual(finished(trials[trials["neighbour_line_ns"].notna()]))
    done = connections.fullest(done[done["threads"] == "platform"])
    figures = ["rss_mb", "neighbour_line_ns", "neighbour_again_ns"]
    costs = done.groupby("variant")[figures].mean().astype(float).sort_values("rss_mb")
    lines_ns = done.set_index("block").groupby("variant")["neighbour_line_ns"]
    if len(costs) < 2:
        return "A neighbour has not walked beside two servers on platform threads yet."
    told = [
        f"{significant(row.neighbour_line_ns)} ns beside {row.Index} with {significant(row.rss_mb)} MiB"
        for row in records(costs.iloc[[0, -1]])
    ]
    least, most = (lines_ns.get_group(name).astype(float) for name in costs.index[[0, -1]])
    beside = decisions.compare(most, least)
    return (
        "A thread outside the server walks over memory of its own, rests for a moment, and takes the time by its own "
        f"processor clock. A cache line cost it {told[0]} and {told[1]}, the second over the first "
        f"{beside.text()}; walked over again at once, when nobody could evict it, "
        f"{stats.span(costs['neighbour_again_ns'])} ns."
    )


def prediction_sentence(trials: pd.DataFrame) -> str:
    """What the default buffers, no buffers and C++ would take at the published number of connections."""
    fitted = connections.lines(trials)
    chosen = {
        "default BufferedReader and BufferedWriter": _newest(trials, "buffered_reader", DEFAULT_BUFFER),
        "plain streams": _newest(trials, "stream", 0),
        "C++ with a thread per connection": _newest(trials, "threads", 0),
        "C++ with epoll": _newest(trials, "epoll", 0),
    }
    predicted = [f"{what} {_predicted(fitted[name])}" for what, name in chosen.items() if name in fitted]
    if not predicted:
        return "No variant ran at two numbers of connections, so nothing can be predicted."
    return f"At {PUBLISHED_CONNECTIONS:,} connections the slopes predict: {'; '.join(predicted)}."


def _newest(trials: pd.DataFrame, io: str, buffer: int) -> str:
    rows = connections.usual(finished(trials))
    rows = rows[(rows["io"] == io) & (rows["buffer"].fillna(0) == buffer) & (rows["threads"].fillna("") != "virtual")]
    return str(rows.sort_values("runtime")["variant"].iloc[-1]) if len(rows) else ""


def _predicted(line: Line) -> str:
    memory, low, high = line.predict_mb(PUBLISHED_CONNECTIONS)
    if low is None or high is None:
        return f"{significant(memory)} MiB"
    return f"{significant(memory)} MiB ({significant(low)} to {significant(high)})"


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


def pool_sentence(trials: pd.DataFrame) -> str:
    """What a pool of buffers saves a connection beside buffers of its own."""
    told = [
        f"{held} over {taken}: {costs.kib_text} over {less.kib_text} KiB, {compared.text()}"
        for held, taken, costs, less, compared in _savings(trials)
        if "pool" in taken
    ]
    if not told:
        return "Buffers of its own and buffers from a pool have not run beside each other yet."
    return f"What a pool saves a connection: {'; '.join(told)}."


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
