"""The answer, its tables and what limits it: what page 09 and ``allocpool advise`` show of an advice."""

from __future__ import annotations

import math

import pandas as pd

from allocpool import stats
from allocpool.campaign import store
from allocpool.decisions import ALPHA, compare
from allocpool.packets import by_size
from allocpool.runtimes.collectors import collector_named
from allocpool.stats import significant
from allocpool.studies.your_workload.advice import INTERRUPTED, ON_RECORD, OUT_OF_TIME, Advice, Figures
from allocpool.studies.your_workload.claims import pairs
from allocpool.studies.your_workload.findings import ALLOCATE, EITHER, HOLDS, LOSES, TAKE_FROM_POOL
from allocpool.studies.your_workload.workload import ALLOC, MIX, NETTY, POOL, REUSE, Workload

NAMES = {
    ALLOC: "allocation", POOL: "the pool", MIX: "a small pool with overflow", NETTY: "Netty's pool",
    REUSE: "one buffer used again", "fitted": "the pool with fitted classes", "zeroed": "the pool that clears",
}  # fmt: skip
_LIMITS = {"pause": "pauses of the collector", "stalls": "waits for memory"}
PARAMETERS = {
    "in_flight": "in flight", "bytes": "bytes a message", "kept": "share kept", "live": "other live data, MiB",
    "garbage": "other garbage, MiB/s",
}  # fmt: skip
_ENDED = {
    OUT_OF_TIME: "The minutes are spent. The same command with more minutes continues.",
    INTERRUPTED: "Interrupted. The same command continues.",
    ON_RECORD: "Nothing was measured now.",
}


def answer(advice: Advice) -> str:
    """Return the headline: allocate, pool or no difference that matters, with the effect, its interval and n."""
    one, found, (_, pooled) = advice.workload, advice.decision, advice.workload.sides
    label = collector_named(advice.collector).label if advice.collector else "C++"
    if advice.neither:
        return f"**Neither keeps up on {label}**: both lose more than {one.loss_ppm:g} ppm at your rate."
    spread = "spread unknown" if math.isnan(found.low) else stats.ends(found.low, found.high)
    ratio = f"CPU of allocation over {NAMES[pooled]} {significant(found.ratio)} ({spread}, n = {found.n})."
    if advice.answer in (ALLOCATE, TAKE_FROM_POOL):
        allocates = advice.answer == ALLOCATE
        word = "allocate" if allocates else "use one buffer again" if pooled == REUSE else "pool"
        if not advice.by_losses:
            low, high = (1 / found.high, 1 / found.low) if allocates else (found.low, found.high)
            times = significant(1 / found.ratio if allocates else found.ratio)
            return f"**On {label}: {word}, {times} times cheaper** in CPU ({stats.ends(low, high)}, n = {found.n})."
        out = advice.figures[pooled if allocates else ALLOC]
        why = f"loses too much at your rate in {out.lost_trials} of {out.paced} trials" if out.paced else out.failed
        return f"**On {label}: {word}.** The other side: {why}. {ratio}"
    if advice.answer == EITHER:
        return f"**On {label}: no difference that matters, take the simpler.** {ratio}"
    if not found.n:
        return "**Inconclusive**: nothing was measured yet."
    more = advice.minutes_more
    when = "no time is known that decides it" if more is None else f"about {significant(more, 2)} more minutes"
    return f"**On {label}: inconclusive**, {when}. {ratio}"


def verdict(advice: Advice) -> str:
    """Return the answer with the machine that it is from; that there is none where the advice is the example."""
    if not advice.trials or advice.is_example:
        return "Your own program was not measured yet."
    return f"Measured on {advice.machine}. {answer(advice)}" if advice.machine else answer(advice)


def opening(advice: Advice) -> str:
    """Return the first words of the page: `verdict`; of the example, how to ask and the example's answer."""
    example = (
        f"**{verdict(advice)}** Change the parameters above, or run `allocpool advise`. Below is an example from "
        f"another machine, {advice.machine}: {understood(advice.workload)}\n\nExample: {answer(advice)}"
    )
    return example if advice.is_example else verdict(advice)


def headroom(advice: Advice) -> pd.DataFrame:
    """Return the rates at which each side begins to lose messages, messages a second, and what limits it."""
    return pd.DataFrame([
        {
            "strategy": NAMES[name], "begins to lose at": _figure(room.rate_per_s), "from": _figure(room.low_per_s),
            "to": _figure(room.high_per_s), "times your rate": _figure(room.factor, 2),
            "held": _figure(room.held_per_s), "lost": _figure(room.lost_per_s),
            "limited by": _LIMITS.get(room.limited_by, room.limited_by), "n": room.trials,
        }
        for name, room in advice.headroom.items() if room.trials
    ])  # fmt: skip


def robustness(advice: Advice) -> pd.DataFrame:
    """Return which parameter turns the answer and between which two values; a row per parameter and direction tried."""
    return pd.DataFrame([
        {
            "parameter": PARAMETERS[turn.parameter], "yours": turn.yours,
            "direction": "up" if turn.direction > 0 else "down", "turns to": turn.answer, "from": _figure(turn.low),
            "to": _figure(turn.high), "because of": turn.by, "tried as far as": _figure(turn.up_to),
        }
        for turn in advice.turns if turn.up_to is not None
    ])  # fmt: skip


def strategies(advice: Advice) -> pd.DataFrame:
    """Return cost, delay at the reader's rate, and memory, a row per strategy; none before a trial."""
    return pd.DataFrame([_row(name, figures) for name, figures in advice.figures.items() if advice.trials])


def collectors(advice: Advice) -> pd.DataFrame:
    """Return the same by collector and side, the cheapest first; no rows where none were compared."""
    every = [(name, side, one) for name, sides in advice.collectors.items() for side, one in sides.items()]
    every.sort(key=lambda each: each[2].cpu_ns or math.inf)
    rows = [{"collector": collector_named(name).label} | _row(side, one) for name, side, one in every]
    return pd.DataFrame(rows if advice.trials else [])


def _row(name: str, figures: Figures) -> dict[str, str]:
    delays = [figures.delay_p50_ms, figures.delay_p99_ms, figures.delay_p999_ms]
    return {
        "strategy": NAMES[name],
        "CPU, ns a message": stats.geometric_interval(figures.costs).text() if figures.costs else "-",
        "n": str(len(figures.costs)),
        "at your rate": {HOLDS: "keeps up", LOSES: "does not keep up"}.get(figures.standing, "inconclusive"),
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


def chosen(advice: Advice) -> str:
    """Return whether the collector that was chosen is shown to cost less than the next; empty without a choice."""
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
    return f"Cheapest: {first}. Its CPU over that of the next, {second}: {found.text()}."


def limits(advice: Advice) -> list[str]:
    """Return what limits the answer, a sentence each, and how it was measured."""
    quiet = [NAMES[name] for name in advice.workload.sides if advice.figures[name].collections == 0]
    found = [
        f"{advice.humongous_share:.0%} of the messages are humongous objects of G1, outside the young generation."
        if advice.humongous_share else "",
        f"Most trials of {' and '.join(quiet)} had no collection at your rate; longer ones (`--trial`) may have."
        if quiet else "",
        *(f"{NAMES[name]}: {figures.failed}." for name, figures in advice.figures.items() if figures.failed),
        *(f"{collector_named(name).label} can't run here: {reason}." for name, reason in advice.refused.items()),
    ]  # fmt: skip
    disturbed = f" ({advice.disturbed} disturbed)" if advice.disturbed else ""
    why = "" if advice.machine else _ENDED.get(advice.ended, "")
    return [*filter(None, found), f"{advice.trials} trials{disturbed} in {advice.minutes:.1f} minutes. {why}".strip()]


def understood(workload: Workload) -> str:
    """Return the parameters as understood, in one line."""
    one = workload
    parts = [
        f"{significant(one.rate_per_s)} messages a second of {round(one.mean_bytes, 1):,.10g} bytes ({one.arrivals})",
        f"{one.in_flight:,} in flight",
        f"{one.kept_share:.2%} kept for {significant(one.kept_for_s)} s" if one.kept_count else "",
        f"at most {one.delay_ms:g} ms late, {one.loss_ppm:g} ppm lost",
        f"{one.live_mb:,.0f} MiB of other data alive" if one.live_mb else "",
        f"{one.changed_mb_per_s:g} MiB/s of it changed" if one.changed_mb_per_s else "",
        f"{one.garbage_mb_per_s:g} MiB/s of other garbage" if one.garbage_mb_per_s else "",
        stats.plural(one.threads, "thread"),
        f"C++, {one.allocator}" if one.layout == "malloc"
        else f"Java {one.runtime}, {one.collector}, heap {one.heap_mb:,} MiB, layout {one.layout}",
    ]  # fmt: skip
    return f"{'; '.join(filter(None, parts))}."


def report(advice: Advice) -> str:
    """Return the advice as plain text for a shell."""
    wide = strategies(advice)
    tables = {
        "": wide.set_index("strategy").T.reset_index(names="") if len(wide) else wide,
        "Headroom, messages a second": headroom(advice),
        "What turns the answer": robustness(advice),
        "By collector": collectors(advice),
    }
    shown = [f"{title}\n{table.to_string(index=False)}".strip() for title, table in tables.items() if len(table)]
    notes = [chosen(advice), *advice.notes, f"Understood: {understood(advice.workload)}", *limits(advice)]
    return "\n".join(filter(None, [answer(advice).replace("**", ""), *shown, *notes]))


def summary(profile: str) -> str:
    """Return `summary_of` what is stored under a profile."""
    return summary_of(store.stored("your_workload", profile)[0]["trials"])


def summary_of(trials: pd.DataFrame) -> str:
    """Return in how many of the study's own workloads allocating costs less, more, or as much as the pool."""
    compared = [compare(alloc, pool) for _, alloc, pool in pairs(trials, ALLOC, POOL)]
    return by_size.tally_of("Workloads on their collectors", compared)
