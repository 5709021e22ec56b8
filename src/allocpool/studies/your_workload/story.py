"""What the page on the reader's own workload says, and the shell: every figure of it computed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import pandas as pd

from allocpool import stats
from allocpool.campaign.hosts import called
from allocpool.campaign.store import read_tables
from allocpool.decisions import ALPHA, FEWEST, compare, effect_that_matters
from allocpool.errors import UserError
from allocpool.evidence.claims import Verdict
from allocpool.evidence.trials import records
from allocpool.runtimes import collector_named
from allocpool.stats import significant
from allocpool.studies.realtime import decision_map as maps
from allocpool.studies.your_workload.advice import INTERRUPTED, ON_RECORD, OUT_OF_TIME, Advice, Figures
from allocpool.studies.your_workload.cells import Campaign
from allocpool.studies.your_workload.check import AGREE, DISAGREE, LONG_MINUTES, MINUTES, OPEN, WORKLOADS
from allocpool.studies.your_workload.findings import ALLOCATE, EITHER, HOLDS, LOSES, TAKE_FROM_POOL, UNDECIDED
from allocpool.studies.your_workload.headroom import CPU, MEMORY, NOT_SEEN, PAUSE, STALLS, Headroom
from allocpool.studies.your_workload.turns import COST, Turn
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
        "no time would settle it"
        if advice.minutes_more is None
        else f"it takes about {significant(advice.minutes_more, 2)} more minutes at least"
    )
    return f"**Open{_on(advice)}**; {more}. {effect}"


def opening(advice: Advice, trials: pd.DataFrame) -> str:
    """The first words of the page: the answer for the reader's own program, and who keeps up; before that was measured
    how to ask, what the example below is, and what the study's own programs show."""
    if not advice.trials:
        return f"**Your own program was not measured yet.** {take_home_of(trials)}"
    if advice.is_example:
        return (
            "**Your own program was not measured yet.** Ask for your numbers: `mine` in this notebook, or "
            f"`allocpool advise` at the shell. {take_home_of(trials)}\n\nBelow is an example, measured on "
            f"{advice.machine}; *you* are the one who runs it. {understood(advice.workload)}"
        )
    told = f"{answer(advice)} {keeping_up(advice)}"
    return f"Measured on {advice.machine}. {told}" if advice.machine else told


def _on(advice: Advice) -> str:
    if not advice.collector:
        return " in C++"
    return f" on {collector_named(advice.collector).label}" if advice.collectors else ""


def _effect(advice: Advice) -> str:
    told = advice.effect
    if told.ratio is None:
        return _NOTHING
    allocated, pooled = (advice.figures[side].costs for side in advice.workload.sides)
    costs = [stats.geometric_mean(side) for side in (allocated, pooled)]
    names = ["a fresh buffer", _of(advice.workload.pooled)]
    ratio, low, high = told.ratio, told.low, told.high
    if ratio < 1:
        ratio, low, high = 1 / ratio, high and 1 / high, low and 1 / low
        costs, names = costs[::-1], names[::-1]
    spread = ", spread unknown" if low is None or high is None else f", {stats.ends(low, high)}"
    within = f"; within {effect_that_matters() - 1:.0%} nothing matters" if advice.answer == EITHER else ""
    interval = "interval at any stopping time" if told.n >= FEWEST else "first interval, from which nothing is decided"
    return (
        f"A message in {names[0]} costs {significant(ratio)} times as much CPU as in {names[1]} "
        f"({' against '.join(map(significant, costs))} ns; 95% {interval}{spread}; n = {told.n} trials a side{within})."
    )


def _of(strategy: str) -> str:
    return "the buffer that is used again" if strategy == REUSE else "a buffer from the pool"


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


def keeping_up(advice: Advice) -> str:
    """Who keeps up with the reader's rate, and what that takes of the machine."""
    sentences = []
    for name in advice.workload.sides:
        figures = advice.figures[name]
        if not figures.paced:
            continue
        holds = "keeps up in most trials" if figures.lost_trials else "keeps up"
        word = {HOLDS: holds, LOSES: "does not keep up"}.get(figures.standing, "is not known to keep up")
        cores = f", {significant(figures.cores, 2)} processors' worth of CPU" if figures.cores else ""
        sentences.append(
            f"{_name(name)} {word} with {_rate(advice.workload.rate_per_s)} ({figures.lost_trials} of {figures.paced} "
            f"trials lose more than {advice.workload.loss_ppm:g} ppm){cores}."
        )
    return " ".join(sentences) or "Nobody was tried at your rate yet."


def headroom(advice: Advice) -> str:
    """How far each strategy is from trouble, and what limits it."""
    return " ".join(_headroom(name, advice.headroom[name], advice.workload) for name in advice.workload.sides)


def _headroom(name: str, room: Headroom, workload: Workload) -> str:
    limit = "" if room.limited_by == NOT_SEEN else f", limited by {_LIMITS[room.limited_by]}"
    n = f"n = {room.trials} trials"
    if room.rate_per_s is not None and room.factor is not None:
        low = significant(room.low_per_s) if room.low_per_s else "unknown"
        high = room.high_per_s or math.inf
        bounded = high <= _USEFUL * room.rate_per_s
        span = f"{low} to {significant(high)}" if bounded else f"from {low}, no useful upper bound"
        return (
            f"{_name(name)} begins to lose at {_rate(room.rate_per_s)} ({span}; {n}), "
            f"{significant(room.factor, 2)} times your rate{limit}."
        )
    if room.factor is not None and room.held_per_s and room.lost_per_s:
        return (
            f"{_name(name)} held {significant(room.held_per_s)} and lost at {_rate(room.lost_per_s)}, about "
            f"{significant(room.factor, 2)} times your rate{limit} ({n}; no edge is fitted yet)."
        )
    if room.held_per_s:
        return f"{_name(name)} held {_rate(room.held_per_s)} ({n}); no rate was tried that it loses at."
    if room.lost_per_s:
        return f"{_name(name)} lost at {_rate(room.lost_per_s)} already{limit} ({n}); no rate was tried that it holds."
    return f"The head-room of {NAMES[name]} is not known yet."


def own_point(advice: Advice) -> tuple[float, float]:
    """Where the workload lies in the decision map: messages alive, messages a second."""
    return float(max(1, advice.workload.held)), advice.workload.rate_per_s


def on_the_map(advice: Advice, tables: Mapping[str, pd.DataFrame]) -> str:
    """In which region of the decision map (table ``map`` of the real-time study) the workload lies, by collector and
    deadline, and what the map has that is not the reader's; one line where this machine has none."""
    found = maps.boundaries(tables["map"])
    if not found["edge_ns"].notna().any():
        return "No decision map is stored for this machine and profile: `allocpool run realtime` measures one."
    live, rate = own_point(advice)
    told = [
        f"{name} within {deadline_ms:g} ms: {maps.region_of_point(found, name, deadline_ms, (live, rate))}"
        for name, deadline_ms in found[["configuration", "deadline_ms"]].drop_duplicates().itertuples(index=False)
    ]
    beyond = not found["live_messages"].min() <= live <= found["live_messages"].max()
    why = " The map has no such live set, and nothing is told beyond it." if beyond else ""
    heaps = " or ".join(f"{heap_mb:,.0f}" for heap_mb in sorted(tables["map"]["heap_mb"].dropna().unique()))
    return (
        f"With {live:,.0f} messages alive and {_rate(rate)} the map says, {'; '.join(told)}.{why} "
        f"*{maps.UNKNOWN.capitalize()}*: a boundary that is not known well enough, or not at all. The map is of the "
        f"article's packets in a heap of {heaps} MiB; yours are "
        f"{round(advice.workload.mean_bytes, 1):,.10g} bytes"
        + (f" in a heap of {advice.workload.heap_mb:,} MiB" if advice.workload.layout != "malloc" else "")
        + f", with {advice.workload.delay_ms:g} ms to spare: what was measured of your own goes before it."
    )


def robustness(advice: Advice) -> str:
    """Which parameter would turn the answer, and at what value."""
    told = [sentence for turn in advice.turns if (sentence := turn_in_words(turn, advice.workload))]
    if told:
        return " ".join(told)
    if advice.answer == UNDECIDED:
        return "What would turn the answer is measured once there is one."
    return "What would turn the answer was not measured yet: `--minutes` with more goes on to it."


def turn_in_words(turn: Turn, workload: Workload) -> str:
    """``Pool from about 310,000 in flight (160,000 to 640,000); you have 20,000.``; empty where nothing was tried."""
    what, yours = _PARAMETERS[turn.parameter], _exactly(turn.parameter, turn.yours)
    if turn.answer is not None and turn.at is not None and turn.low is not None and turn.high is not None:
        pooling = "use one buffer again" if workload.pooled == REUSE else "pool"
        word = {ALLOCATE: "Allocate", TAKE_FROM_POOL: pooling.capitalize()}.get(turn.answer, "Neither keeps up")
        way = "from" if turn.direction > 0 else "below"
        why = "" if turn.by == COST else ", because of losses"
        low, high = _exactly(turn.parameter, turn.low), _exactly(turn.parameter, turn.high)
        at = _value(turn.parameter, turn.at)
        return f"{word} {way} about {at} {what} (between {low} and {high}{why}); you have {yours}."
    if turn.up_to is None:
        return ""
    way = "up" if turn.direction > 0 else "down"
    return f"No value {way} to {_exactly(turn.parameter, turn.up_to)} {what} was seen to turn it; you have {yours}."


def _value(name: str, value: float) -> str:
    return f"{value:.2%}" if name == "kept" else f"{float(f'{value:.3g}'):,.10g}"


def _exactly(name: str, value: float) -> str:
    return f"{value:.2%}" if name == "kept" else f"{round(value, 1):,.10g}"


def ended(advice: Advice) -> str:
    """How long it took, and why there was no more."""
    where = f"on {advice.machine}" if advice.machine else "on this machine"
    disturbed = f", {advice.disturbed} of them disturbed by others {where}" if advice.disturbed else ""
    why = "It was read from a file." if advice.machine else _ENDED.get(advice.ended, "")
    return f"{advice.trials} trials in {advice.minutes:.1f} minutes{disturbed}. {why}".strip()


def beware(advice: Advice) -> str:
    """What stands beside the answer: sizes that G1 treats apart, trials without a collection, failures, refusals."""
    told = []
    if advice.humongous_share:
        told.append(
            f"{advice.humongous_share:.0%} of the messages are at least half a region of G1 (humongous objects): each "
            "gets regions of its own, outside the young generation."
        )
    quiet = [name for name in advice.workload.sides if advice.figures[name].collections == 0]
    if quiet:
        told.append(
            f"No collection fell into most trials of {' and '.join(NAMES[name] for name in quiet)} at your rate: rarer "
            "pauses than a trial is long are not in these delays; `--trial` makes trials longer."
        )
    told += [
        f"{_name(name)}: {figures.failed}." for name, figures in advice.figures.items() if figures.failed
    ]  # fmt: skip
    told += [f"{collector_named(name).label} can't run here: {reason}." for name, reason in advice.refused.items()]
    return " ".join(told)


ACCIDENTS = (
    "A buffer that is never given back (a leak) makes a pool allocate a new one each time, and grow; one that is given "
    "back twice is handed to two messages at once, which overwrite each other. Allocation knows neither accident; the "
    "workload's audited books find both."
)


def strategies(advice: Advice) -> pd.DataFrame:
    """Cost, delay at the reader's rate, and memory, one row per strategy; none before a trial."""
    if not advice.trials:
        return pd.DataFrame()
    return pd.DataFrame([_row(name, advice.figures[name]) for name in advice.workload.strategies])


def collectors(advice: Advice) -> pd.DataFrame:
    """The same, one row per collector and side, the cheapest first; of the reader's alone where none were compared."""
    if not advice.trials:
        return pd.DataFrame()
    own = {advice.collector: {side: advice.figures[side] for side in advice.workload.sides}}
    rows = [
        (
            figures.cpu_ns or math.inf,
            {"collector": collector_named(name).label if name else "none (C++)", **_row(side, figures)},
        )
        for name, sides in (advice.collectors or own).items()
        for side, figures in sides.items()
    ]
    return pd.DataFrame([row for _, row in sorted(rows, key=lambda item: item[0])])


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
    told = compare(costs[advice.collector], costs[following], alpha=ALPHA / len(rivals))
    first, second = (collector_named(name).label for name in (advice.collector, following))
    return f"{first} was cheapest, at its better side; what it costs over the next, {second}: {told.text()}."


def _row(name: str, figures: Figures) -> dict[str, str]:
    delays = [figures.delay_p50_ms, figures.delay_p99_ms, figures.delay_p999_ms]
    return {
        "strategy": NAMES[name],
        "CPU, ns a message": _interval(figures.costs),
        "n": str(len(figures.costs)),
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
    """The parameters as understood, in one sentence."""
    kept = f", {workload.kept_share:.2%} kept for {significant(workload.kept_for_s)} s" if workload.kept_count else ""
    besides = [
        f"{workload.live_mb:,.0f} MiB alive" if workload.live_mb else "",
        f"{workload.changed_mb_per_s:g} MiB/s of it changed" if workload.changed_mb_per_s else "",
        f"{workload.garbage_mb_per_s:g} MiB/s of garbage" if workload.garbage_mb_per_s else "",
    ]
    rest = "; besides " + ", ".join(filter(None, besides)) if any(besides) else ""
    where = (
        f"C++, {workload.allocator}"
        if workload.layout == "malloc"
        else f"Java {workload.runtime}, {workload.collector}, heap {workload.heap_mb:,} MiB, layout {workload.layout}"
    )
    return (
        f"{_rate(workload.rate_per_s)} of {round(workload.mean_bytes, 1):,.10g} bytes ({workload.arrivals}), "
        f"{workload.in_flight:,} in flight{kept}; later than {workload.delay_ms:g} ms is lost, {workload.loss_ppm:g} "
        f"ppm are tolerated{rest}; {workload.threads} thread{'s' * (workload.threads > 1)}; {where}."
    )


def as_understood(advice: Advice) -> str:
    """`understood` as page 09 says it below its answer; empty for an example, whose `opening` has said it."""
    return "" if advice.is_example else f"Understood: {understood(advice.workload)}"


def report(advice: Advice) -> str:
    """The whole advice as plain text for a shell."""
    if not advice.trials:
        parts = [answer(advice).replace("**", ""), *advice.notes, f"Understood: {understood(advice.workload)}"]
        return "\n".join([*parts, ended(advice)])
    table = strategies(advice)
    parts = [
        answer(advice).replace("**", ""),
        keeping_up(advice),
        f"Head-room: {headroom(advice)}",
        f"Robustness: {robustness(advice)}",
        "\n".join(f"{column:28} {'   '.join(f'{value:>26}' for value in table[column])}" for column in table),
    ]
    if advice.collectors:
        parts += [collectors(advice).to_string(index=False), chosen(advice)]
    parts += [beware(advice), *advice.notes, f"Understood: {understood(advice.workload)}", ended(advice)]
    return "\n".join(part for part in parts if part)


def checked(rows: pd.DataFrame) -> str:
    """How often short advice and a long plan of the same workload agreed, on the rows of `check.load`."""
    if rows.empty:
        return "No advice was checked yet: `allocpool bench advice --keep` does that."
    counts = {word: int((rows["outcome"] == word).sum()) for word in (AGREE, DISAGREE, OPEN)}
    of, missing = rows["workload"].nunique(), len(WORKLOADS) - rows["workload"].nunique()
    hosts = rows["host_id"].nunique()
    where = f" on {hosts} machines" if hosts > 1 else ""
    said = (
        f"**Of {stats.plural(len(rows), 'check')}{where} of {stats.plural(of, 'workload')}, short advice "
        f"({stats.span(rows['minutes'])} minutes) and the long plan ({stats.span(rows['long_minutes'])} minutes) say "
        f"the same in {counts[AGREE]} and different things in {counts[DISAGREE]}**; in {counts[OPEN]} one of them, or "
        "both, had decided nothing by then."
    )
    whole = rows[rows["long_minutes"] >= 0.9 * LONG_MINUTES]
    if len(whole) < len(rows):
        ends = [f"{int((whole['outcome'] == word).sum())} {word.lower()}" for word in counts]
        said += (
            f" `allocpool bench advice` takes up to {MINUTES:g} minutes and {LONG_MINUTES:g} unless it is told to be "
            f"shorter; {len(whole)} of the long plans took {LONG_MINUTES:g}"
            + (f" ({', '.join(ends)})." if len(whole) else ".")
        )
    apart = rows[(rows["low"] > rows["long_high"]) | (rows["high"] < rows["long_low"])]
    both = rows[["low", "long_low"]].notna().all(axis=1).sum()
    said += f" Their intervals for the costs lie apart in {len(apart)} of {both}."
    return said + (f" {missing} of the {len(WORKLOADS)} were not checked." if missing else "")


def checks(rows: pd.DataFrame) -> pd.DataFrame:
    """The same, a row per workload and machine."""
    several = rows["host_id"].nunique() > 1
    rows_told = [
        {
            "workload": row.workload,
            "outcome": row.outcome,
            "advice; alloc over pool": f"{row.advice}; {_ratio(row.ratio, row.low, row.high, row.n)}",
            "at length": f"{row.at_length}; {_ratio(row.long_ratio, row.long_low, row.long_high, row.long_n)}",
            "what it is": ", ".join(f"{key.replace('_', ' ')} {word}" for key, word in WORKLOADS[row.workload].items()),
            "minutes": f"{significant(row.minutes, 2)} and {significant(row.long_minutes, 2)}",
            **({"machine": called(row.processor, row.host_id)} if several else {}),
        }
        for row in records(rows)
    ]
    return pd.DataFrame(rows_told)


def _ratio(ratio: float, low: float, high: float, n: int) -> str:
    interval = f" ({stats.ends(low, high)})" if math.isfinite(low) and math.isfinite(high) else ""
    return f"{significant(ratio)}{interval}; n = {n}"


def verdict(advice: Advice | None, verdicts: Sequence[Verdict]) -> str:
    """The answer of the page."""
    outcomes = ", ".join(
        f"{sum(v.outcome == word for v in verdicts)} {word}" for word in dict.fromkeys(v.outcome for v in verdicts)
    )
    said = "Your own program was not measured yet."
    if advice is not None and advice.trials and not advice.is_example:
        said = f"{_whose(advice)}{answer(advice)}"
    return f"{said} Of {len(verdicts)} claims: {outcomes}."


def _whose(advice: Advice) -> str:
    return f"On {advice.machine}: " if advice.machine else ""


def take_home(profile: str) -> str:
    """What the study's own workloads say, on what is stored under a profile."""
    try:
        trials = read_tables("your_workload", profile)[0]["trials"]
    except UserError:
        return _NOTHING
    return take_home_of(trials)


def take_home_of(trials: pd.DataFrame) -> str:
    """Of how many set-ups allocation costs less, more, or as much as the pool; in one sentence."""
    campaign = Campaign(trials)
    verdicts = [compare(*sides).verdict for sides in campaign.pairs(ALLOC, POOL)]
    if not verdicts:
        return _NOTHING
    words = {
        "a_cheaper": "allocation costs less",
        "b_cheaper": "the pool costs less",
        "equivalent": "it does not matter",
    }
    counted = [f"in {verdicts.count(word)} {said}" for word, said in words.items() if word in verdicts]
    still = f"; {verdicts.count('open')} are open" if "open" in verdicts else ""
    told = ", ".join(counted) or "none is decided yet"
    return f"Of {len(verdicts)} workloads on their collectors, {told}{still}. `allocpool advise` asks it of your own."
