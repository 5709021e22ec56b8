"""What the page on the reader's own workload says, and the shell: every figure of it computed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import pandas as pd

from allocpool import stats
from allocpool.campaign import store
from allocpool.campaign.hosts import called
from allocpool.decisions import ALPHA, FEWEST, compare, effect_that_matters
from allocpool.evidence.trials import records
from allocpool.packets import by_size
from allocpool.runtimes import collector_named
from allocpool.stats import significant
from allocpool.studies.realtime import decision_map as maps
from allocpool.studies.your_workload.advice import INTERRUPTED, ON_RECORD, OUT_OF_TIME, Advice, Figures
from allocpool.studies.your_workload.cells import Campaign
from allocpool.studies.your_workload.findings import ALLOCATE, EITHER, HOLDS, LOSES, TAKE_FROM_POOL
from allocpool.studies.your_workload.headroom import CPU, MEMORY, NOT_SEEN, PAUSE, STALLS
from allocpool.studies.your_workload.workload import ALLOC, MIX, NETTY, POOL, REUSE, Workload

_NOTHING = "Nothing was measured yet."
NAMES = {
    ALLOC: "allocation", POOL: "the pool", MIX: "a small pool with allocation beyond it", NETTY: "Netty's pool",
    REUSE: "one buffer used again", "fitted": "the pool with fitted classes", "zeroed": "the pool that clears",
}  # fmt: skip
"""Strategies as sentences call them."""
_LIMITS = {
    PAUSE: "pauses of the collector", CPU: "CPU", MEMORY: "memory", STALLS: "waits for memory",
    NOT_SEEN: "nothing that was seen",
}  # fmt: skip
_PARAMETERS = {
    "in_flight": "in flight", "bytes": "bytes a message", "kept": "of the messages kept",
    "live": "MiB of live data besides", "garbage": "MiB/s of garbage besides",
}  # fmt: skip
_USEFUL = 10
"""An upper bound beyond so many times the rate itself says nothing."""
_FEWEST_TO_FORECAST = 2
_ENDED = {
    OUT_OF_TIME: "The minutes are spent; the same command with more goes on from here.",
    INTERRUPTED: "Interrupted: this is what there is; the same command goes on from here.",
    ON_RECORD: "Nothing was measured now: this is what is on record.",
}


def answer(advice: Advice) -> str:
    """Allocate, pool, or it does not matter: one sentence with its effect, its interval and n."""
    pool = advice.workload.pooled
    effect = _effect(advice)
    if advice.neither:
        return (
            f"**Neither keeps up** with {_rate(advice.workload.rate_per_s)}: both lose more than "
            f"{advice.workload.loss_ppm:g} ppm. A lower rate, more heap, a longer delay or another collector may help."
        )
    if advice.answer == ALLOCATE:
        why = _by_losses(advice, pool) if advice.by_losses else effect
        return f"**Allocate{_on(advice)}.** {why}"
    if advice.answer == TAKE_FROM_POOL:
        what = "Use one buffer again" if pool == REUSE else "Pool"
        why = _by_losses(advice, ALLOC) if advice.by_losses else effect
        return f"**{what}{_on(advice)}.** {why}"
    if advice.answer == EITHER:
        return f"**It does not matter{_on(advice)}: take the simpler.** {effect}"
    more = (
        f"if trials go on as they are, about {significant(advice.minutes_more, 2)} more minutes settle it"
        if advice.minutes_more is not None
        else "too few trials to tell how long it takes"
        if advice.effect.n < _FEWEST_TO_FORECAST
        else "no time would settle it"
    )
    return f"**Inconclusive{_on(advice)}**; {more}. {effect}"


def opening(advice: Advice, trials: pd.DataFrame) -> str:
    """Return the first words of the page: the answer for the reader's own program; before that was measured how to ask,
    what the study's own programs show, and what the example below is."""
    if advice.trials and not advice.is_example:
        return f"Measured on {advice.machine}. {answer(advice)}" if advice.machine else answer(advice)
    below = f"Below is an example, measured on {advice.machine}: {understood(advice.workload)}"
    return (
        "**Your own program was not measured yet.** Ask for your numbers: `mine` in this notebook, or `allocpool "
        f"advise` at the shell. {take_home_of(trials)}" + (f"\n\n{below}" if advice.trials else "")
    )


def _on(advice: Advice) -> str:
    if not advice.collector:
        return " in C++"
    return f" on {collector_named(advice.collector).label}" if advice.collectors else ""


def _effect(advice: Advice) -> str:
    found = advice.effect
    if found.ratio is None:
        return _NOTHING
    costs = [stats.geometric_mean(advice.figures[side].costs) for side in advice.workload.sides]
    names = [
        "a fresh buffer",
        "the buffer that is used again" if advice.workload.pooled == REUSE else "a pooled buffer",
    ]
    ratio, low, high = found.ratio, found.low, found.high
    if ratio < 1:
        ratio, low, high = 1 / ratio, high and 1 / high, low and 1 / low
        costs, names = costs[::-1], names[::-1]
    spread = "spread unknown" if low is None or high is None else stats.ends(low, high)
    within = f"; within {effect_that_matters() - 1:.0%} nothing matters" if advice.answer == EITHER else ""
    interval = "interval at any stopping time" if found.n >= FEWEST else "first interval, from which nothing is decided"
    return (
        f"A message in {names[0]} costs {significant(ratio)} times as much CPU as in {names[1]} "
        f"({' against '.join(map(significant, costs))} ns; 95% {interval}, {spread}; n = {found.n} a side{within})."
    )


def _by_losses(advice: Advice, out: str) -> str:
    figures = advice.figures[out]
    if figures.failed and not figures.paced:
        return f"{_name(out)} does not run: {figures.failed}."
    return (
        f"{_name(out)} loses more than {advice.workload.loss_ppm:g} ppm at {_rate(advice.workload.rate_per_s)} in "
        f"{figures.lost_trials} of {figures.paced} trials; the other keeps up. As fast as both go: {_effect(advice)}"
    )


def _name(strategy: str) -> str:
    name = NAMES[strategy]
    return name[0].upper() + name[1:]


def _rate(per_s: float) -> str:
    return f"{significant(per_s)} messages a second"


def headroom(advice: Advice) -> pd.DataFrame:
    """Return how far each strategy is from trouble, messages a second, and what limits it."""
    rooms = [advice.headroom[name] for name in advice.workload.sides]
    return pd.DataFrame({
        "strategy": [NAMES[name] for name in advice.workload.sides],
        "begins to lose at": [_figure(room.rate_per_s) for room in rooms],
        "from": [_figure(room.low_per_s) for room in rooms], "to": [_figure(room.high_per_s) for room in rooms],
        "times your rate": [_figure(room.factor, 2) for room in rooms],
        "held": [_figure(room.held_per_s) for room in rooms], "lost": [_figure(room.lost_per_s) for room in rooms],
        "limited by": [_LIMITS[room.limited_by] for room in rooms], "n": [room.trials for room in rooms],
    })  # fmt: skip


def own_point(advice: Advice) -> tuple[float, float]:
    """Where the workload lies in the decision map: messages alive, messages a second."""
    return float(max(1, advice.workload.held)), advice.workload.rate_per_s


def on_the_map(advice: Advice, tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return in which region of the decision map (table ``map`` of the real-time study) the workload lies, by
    configuration and deadline; no rows where this machine has no map."""
    found = maps.boundaries(tables["map"])
    found = found if found["edge_ns"].notna().any() else found.iloc[:0]
    rows = found[["configuration", "deadline_ms"]].drop_duplicates().reset_index(drop=True)
    point = own_point(advice)
    regions = [maps.region_of_point(found, row.configuration, row.deadline_ms, point) for row in records(rows)]
    return rows.assign(**{"your workload": regions})


def robustness(advice: Advice) -> pd.DataFrame:
    """Return which parameter would turn the answer and between which two values, or up to which none did; one row per
    parameter and direction that was tried."""
    tried = [turn for turn in advice.turns if turn.answer is not None or turn.up_to is not None]
    return pd.DataFrame({
        "parameter": [_PARAMETERS[turn.parameter] for turn in tried], "yours": [turn.yours for turn in tried],
        "direction": ["up" if turn.direction > 0 else "down" for turn in tried],
        "turns to": [turn.answer for turn in tried], "about": [_figure(turn.at) for turn in tried],
        "from": [_figure(turn.low) for turn in tried], "to": [_figure(turn.high) for turn in tried],
        "because of": [turn.by if turn.answer else None for turn in tried],
        "none seen as far as": [_figure(turn.up_to) for turn in tried],
    })  # fmt: skip


def ended(advice: Advice) -> str:
    """How long it took, and why there was no more."""
    where = f"on {advice.machine}" if advice.machine else "on this machine"
    disturbed = f", {advice.disturbed} of them disturbed by others {where}" if advice.disturbed else ""
    why = "It was read from a file." if advice.machine else _ENDED.get(advice.ended, "")
    return f"{advice.trials} trials in {advice.minutes:.1f} minutes{disturbed}. {why}".strip()


def beware(advice: Advice) -> str:
    """Return what limits the answer: sizes that G1 treats apart, trials without a collection, failures, refusals."""
    found = []
    if advice.humongous_share:
        found.append(
            f"{advice.humongous_share:.0%} of the messages are at least half a region of G1 (humongous objects): each "
            "gets regions of its own, outside the young generation."
        )
    quiet = [name for name in advice.workload.sides if advice.figures[name].collections == 0]
    if quiet:
        found.append(
            f"No collection fell into most trials of {' and '.join(NAMES[name] for name in quiet)} at your rate: rarer "
            "pauses than a trial is long are not in these delays; `--trial` makes trials longer."
        )
    found += [
        f"{_name(name)}: {figures.failed}." for name, figures in advice.figures.items() if figures.failed
    ]  # fmt: skip
    found += [f"{collector_named(name).label} can't run here: {reason}." for name, reason in advice.refused.items()]
    return " ".join(found)


def strategies(advice: Advice) -> pd.DataFrame:
    """Cost, delay at the reader's rate, and memory, one row per strategy; none before a trial."""
    if not advice.trials:
        return pd.DataFrame()
    return pd.DataFrame([_row(name, advice.figures[name]) for name in advice.workload.strategies])


def collectors(advice: Advice) -> pd.DataFrame:
    """Return the same, one row per collector and side, the cheapest first; of the reader's alone where none were
    compared."""
    if not advice.trials:
        return pd.DataFrame()
    own = {advice.collector: {side: advice.figures[side] for side in advice.workload.sides}}
    every = [(name, side, one) for name, sides in (advice.collectors or own).items() for side, one in sides.items()]
    every.sort(key=lambda each: each[2].cpu_ns or math.inf)
    labels = [collector_named(name).label if name else "none (C++)" for name, *_ in every]
    rows = pd.DataFrame([_row(side, figures) for _, side, figures in every])
    rows.insert(0, "collector", labels)
    return rows


def chosen(advice: Advice) -> str:
    """Whether the collector that was chosen is shown to cost less than the next; empty where none were compared."""
    costs = {
        name: min(kept, key=stats.geometric_mean)
        for name, sides in advice.collectors.items()
        if (kept := [side.costs for side in sides.values() if side.costs and side.standing != LOSES])
    }
    rivals = [name for name in costs if name != advice.collector]
    if advice.collector not in costs or not rivals:
        return ""
    following = min(rivals, key=lambda name: stats.geometric_mean(costs[name]))
    # The next one is the best of all others: each of them might have been.
    found = compare(costs[advice.collector], costs[following], alpha=ALPHA / len(rivals))
    first, second = (collector_named(name).label for name in (advice.collector, following))
    return f"{first} was cheapest, at its better side; what it costs over the next, {second}: {found.text()}."


_STANDINGS = {HOLDS: "keeps up", LOSES: "does not keep up"}


def _row(name: str, figures: Figures) -> dict[str, str]:
    delays = [figures.delay_p50_ms, figures.delay_p99_ms, figures.delay_p999_ms]
    return {
        "strategy": NAMES[name],
        "CPU, ns a message": _interval(figures.costs),
        "n": str(len(figures.costs)),
        "at your rate": _STANDINGS.get(figures.standing, "inconclusive"),
        "processors at your rate": _figure(figures.cores, 2),
        "loses too much": f"{figures.lost_trials} of {figures.paced}" if figures.paced else "-",
        "delay p50, p99, p99.9, ms": ", ".join(_figure(delay, 2) for delay in delays),
        "when ready, heap included, MiB": _figure(figures.idle_rss_mb),
        "at most, heap included, MiB": _figure(figures.peak_rss_mb),
        "in the pool, MiB": _figure(figures.pool_mb),
        "wasted in classes, MiB": _figure(figures.wasted_mb),
    }


def _figure(value: float | None, digits: int = 3) -> str:
    return "-" if value is None else significant(value, digits)


def _interval(costs: Sequence[float]) -> str:
    return stats.geometric_interval(costs).text() if costs else "-"


def understood(workload: Workload) -> str:
    """Return the parameters as understood, in one line."""
    one = workload
    java = f"Java {one.runtime}, {one.collector}, heap {one.heap_mb:,} MiB, layout {one.layout}"
    parts = [
        f"{_rate(one.rate_per_s)} of {round(one.mean_bytes, 1):,.10g} bytes ({one.arrivals})",
        f"{one.in_flight:,} in flight",
        f"{one.kept_share:.2%} kept for {significant(one.kept_for_s)} s" if one.kept_count else "",
        f"at most {one.delay_ms:g} ms late, {one.loss_ppm:g} ppm lost",
        f"{one.live_mb:,.0f} MiB of other data alive" if one.live_mb else "",
        f"{one.changed_mb_per_s:g} MiB/s of it changed" if one.changed_mb_per_s else "",
        f"{one.garbage_mb_per_s:g} MiB/s of other garbage" if one.garbage_mb_per_s else "",
        stats.plural(one.threads, "thread"),
        f"C++, {one.allocator}" if one.layout == "malloc" else java,
    ]
    return f"{'; '.join(filter(None, parts))}."


def report(advice: Advice) -> str:
    """Return the whole advice as plain text for a shell."""
    tables = {
        "": strategies(advice).set_index("strategy").T.reset_index(names="") if advice.trials else pd.DataFrame(),
        "Headroom, messages a second": headroom(advice) if advice.trials else pd.DataFrame(),
        "What turns the answer": robustness(advice),
        "By collector": collectors(advice) if advice.collectors else pd.DataFrame(),
    }
    shown = [f"{title}\n{table.to_string(index=False)}".strip() for title, table in tables.items() if len(table)]
    notes = [chosen(advice), beware(advice), *advice.notes, f"Understood: {understood(advice.workload)}", ended(advice)]
    return "\n".join(filter(None, [answer(advice).replace("**", ""), *shown, *notes]))


def checks(rows: pd.DataFrame) -> pd.DataFrame:
    """Return short advice and the long plan of the same workloads, a row per workload and machine."""
    if rows.empty:
        return rows
    return pd.DataFrame({
        "workload": rows["workload"], "outcome": rows["outcome"],
        "advice": rows["advice"], "alloc over pool": _ratios(rows, ""),
        "at length": rows["at_length"], "at length, alloc over pool": _ratios(rows, "long_"),
        "minutes": rows["minutes"].round(1), "long minutes": rows["long_minutes"].round(1),
        "machine": [called(row.processor, row.host_id) for row in records(rows)],
    })  # fmt: skip


def _ratios(rows: pd.DataFrame, prefix: str) -> list[str]:
    columns = [rows[f"{prefix}{name}"] for name in ("ratio", "low", "high", "n")]
    return [
        f"{significant(ratio)}{f' ({stats.ends(low, high)})' if math.isfinite(low * high) else ''}; n = {n}"
        for ratio, low, high, n in zip(*columns, strict=True)
    ]


def verdict(advice: Advice) -> str:
    """Return the answer of the page."""
    if not advice.trials or advice.is_example:
        return "Your own program was not measured yet."
    return f"On {advice.machine}: {answer(advice)}" if advice.machine else answer(advice)


def take_home(profile: str) -> str:
    """Return what the study's own workloads show, on what is stored under a profile."""
    return take_home_of(store.stored("your_workload", profile)[0]["trials"])


def take_home_of(trials: pd.DataFrame) -> str:
    """Return in how many workloads allocating costs less, more, or as much as the pool."""
    return by_size.tally_of(
        "Workloads on their collectors", [compare(*one) for one in Campaign(trials).pairs(ALLOC, POOL)]
    )
