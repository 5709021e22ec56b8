"""What the trials of a stream campaign show: highest throughput within a latency, and comparisons over trials.

The throughput that holds the target is bracketed in every block, by the rates that were run and by searches, and
latencies are compared at equal rates, to the first result of a window, as published, and to the last.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pandas as pd

from allocpool import decisions, stats
from allocpool.campaign import store
from allocpool.evidence import reference, tables
from allocpool.evidence.trials import finished
from allocpool.studies.stream.claims import (
    ALLOCATION_COSTS,
    CELL,
    CONFIGURATION,
    FIRST,
    FOR_THE_COLLECTOR,
    LAST,
    TODAY,
    Pair,
    compare_brackets,
    held,
    keeping_up,
    millions,
    only,
    verdicts,
    within,
)
from allocpool.studies.stream.study import STUDY

AXES = {"keys": "events_per_second", "events_per_second": "keys"}
"""What makes throughput larger, and what stays as it is: output at a million events a second is the published axis."""


def published() -> pd.DataFrame:
    """The published chart: jdk, collector, machine, jet_threads, million_items_per_second and p9999_ms, both read off
    it."""
    return reference.load("jet_latency_p9999").rename(columns={"p9999_latency_ms_read_off_chart": "p9999_ms"})


def curves(trials: pd.DataFrame, axis: str) -> pd.DataFrame:
    """Return the curves along one of `AXES`: one row per configuration and rate, with its collector,
    offered_items_per_second, n, kept_up, the percentile, and the latency there to the first and the last result:
    median, low, high, ms.

    Only trials that differ in nothing else: no aggregate, number of the collector's threads or size of its young
    generation but the plain ones. Of inputs (or keys) at which nothing was varied on windows of a length there is no
    curve.
    """
    rows, fixed = only(trials), AXES[axis]
    if rows.empty:
        return rows
    varied = rows.groupby([fixed, "window_ms", "slide_ms", "seconds"])[axis].transform("nunique") > 1
    ends = {
        f"{name}_{end}": (column, how)
        for name, column in (("first", FIRST), ("last", LAST))
        for end, how in (("ms", "median"), ("low", "min"), ("high", "max"))
    }
    rows = rows[varied].astype({FIRST: float, LAST: float})
    found = rows.groupby(list(CELL), dropna=False, observed=True, sort=False).agg(
        collector=("collector", "first"), runtime=("runtime", "first"), n=("block", "size"), kept_up=("kept_up", "sum"),
        offered_items_per_second=("offered_items_per_second", "first"),
        tail=("tail", lambda tails: tails.dropna().min()), **ends,
    )  # fmt: skip
    return found.reset_index()


def name_of(row: pd.Series) -> str:
    """A configuration for a reader."""
    parts = [str(row["configuration"]), f"{row['cooperative_threads']} {row['processors']}", str(row["aggregate"])]
    if row["sources"] == "single":
        parts.append("one source")
    settings = {
        "MaxNewSize": "new_size_mb", "ParallelGCThreads": "asked_parallel_gc_threads",
        "ConcGCThreads": "asked_concurrent_gc_threads",
    }  # fmt: skip
    return ", ".join(parts + [f"{name}={row[column]}" for name, column in settings.items() if pd.notna(row[column])])


def brackets(trials: pd.DataFrame, searches: pd.DataFrame, target_ms: float) -> pd.DataFrame:
    """Return the throughput that holds ``target_ms`` at the tail to the first result of each window, by configuration,
    items per second.

    Columns: `CONFIGURATION`, by, holds_low and holds_high (the highest offered rate below which every rate held, over
    blocks), fails (the lowest that did not; NaN where all held: then the end of the rates was reached, not of the
    engine), n. Searches come first, then configurations of trials at two outputs, or inputs, or more.
    """
    done = finished(searches)
    parts = [done.assign(by="a search", holds=done["holds_items_per_second"], fails=done["fails_items_per_second"])]
    parts += [_of_rates(finished(trials), target_ms, axis) for axis in AXES]
    names = [*CONFIGURATION, "by"]
    rows = pd.concat([part.reindex(columns=[*names, "holds", "fails"]) for part in parts])
    rows = rows.astype({"holds": float, "fails": float}).fillna({"holds": 0.0, "hiccup_ms": 0})
    return rows.groupby(names, dropna=False, observed=True, sort=False).agg(
        holds_low=("holds", "min"), holds_high=("holds", "max"), fails=("fails", "min"), n=("holds", "size")
    ).reset_index()  # fmt: skip


def _of_rates(done: pd.DataFrame, target_ms: float, axis: str) -> pd.DataFrame:
    """Of each configuration and block the rates along an axis that held, and the lowest that did not."""
    fixed = AXES[axis]
    keys = [*CONFIGURATION, fixed]
    groups = done.groupby(keys, dropna=False, observed=True)
    rows = done[(groups[axis].transform("nunique") > 1) & ~(done["hiccup_ms"] > 0)]
    rows = rows.sort_values("offered_items_per_second")
    offered, of_block = rows["offered_items_per_second"].astype(float), [rows[name] for name in [*keys, "block"]]
    held = within(rows, target_ms).astype(int).groupby(of_block, dropna=False, observed=True).cummin() == 1
    rows = rows.assign(holds=offered.where(held), fails=offered.where(~held))
    blocks = rows.groupby([*keys, "block"], dropna=False, observed=True, sort=False)
    found = blocks.agg(holds=("holds", "max"), fails=("fails", "min")).reset_index()
    more = "more output" if axis == "keys" else "more input"
    return found.assign(by=[f"{more}, {value:,} {fixed.split('_')[0]}" for value in found[fixed]])


def brackets_grid(trials: pd.DataFrame, searches: pd.DataFrame, target_ms: float) -> pd.DataFrame:
    """Return `brackets` for a reader, in millions of items per second."""
    found = brackets(trials, searches, target_ms)
    return pd.DataFrame({
        "configuration": [name_of(row) for _, row in found.iterrows()], "window, ms": found["window_ms"],
        "slide, ms": found["slide_ms"], "found by": found["by"],
        "holds, least, M items/s": found["holds_low"].map(millions), "most": found["holds_high"].map(millions),
        "fails from": found["fails"].map(millions, na_action="ignore"), "n": found["n"],
    })  # fmt: skip


def latency_grid(rule: Callable[[pd.DataFrame, str], list[Pair]], trials: pd.DataFrame) -> pd.DataFrame:
    """Comparisons of latencies for a reader, to the first result of a window and to the last."""
    last = pairs_grid(rule(trials, LAST))
    grid = pairs_grid(rule(trials, FIRST)).rename(columns={"ratio": "ratio, first result"})
    grid.insert(list(grid.columns).index("ratio, first result") + 1, "last result", last["ratio"])
    return grid


def pairs_grid(every: Sequence[Pair]) -> pd.DataFrame:
    """Comparisons for a reader, decided together."""
    names = [
        {
            "configuration": pair.configuration, "compared": pair.compared, "at": pair.at,
            "fell behind": f"{pair.not_kept_up[0]} / {pair.not_kept_up[1]}",
        }
        for pair in every
    ]  # fmt: skip
    return tables.comparisons(names, decisions.together([pair.again for pair in every]), "ratio")


def gaps(trials: pd.DataFrame, searches: pd.DataFrame, plan: pd.DataFrame) -> pd.DataFrame:
    """Return what has no latency, and why: trials and searches that failed or fell behind, collectors that the profile
    leaves out."""
    behind = trials[(trials["status"] == "ok") & ~keeping_up(trials)].assign(status="fell behind", reason=None)
    bad = pd.concat([each[each["status"] != "ok"] for each in (searches, behind, trials)])
    keys = ["configuration", "status", "reason"]
    counted = bad.groupby(keys, dropna=False, observed=True, sort=False).size().reset_index(name="trials")
    left_out = plan.loc[~plan["planned"].astype(bool), ["configuration", "left_out_because"]]
    left_out = left_out.rename(columns={"left_out_because": "reason"}).assign(status="left out", trials=0)
    return pd.concat([counted, left_out])[["configuration", "trials", "status", "reason"]]


_ONE_RATE = ("events_per_second", "keys", "window_ms", "slide_ms", "seconds")


def commonest_rate(trials: pd.DataFrame) -> pd.DataFrame:
    """Of the finished plain trials those at the rate, on the windows, that most of them had."""
    rows = only(trials)
    if rows.empty:
        return rows
    sizes = rows.groupby(list(_ONE_RATE))["trial_id"].transform("size")
    first = rows[sizes == sizes.max()].iloc[0]
    for name in _ONE_RATE:
        rows = rows[rows[name] == first[name]]
    return rows


def far_tail(trials: pd.DataFrame) -> pd.DataFrame:
    """The same of the finished plain trials that are longer than those of the `commonest_rate`: a higher percentile."""
    return commonest_rate(trials[trials["seconds"] > commonest_rate(trials)["seconds"].max()])


def rate_text(trials: pd.DataFrame) -> str:
    """The rate of these trials, which is one, and their windows."""
    if trials.empty:
        return "no rate"
    row = trials.iloc[0]
    return (
        f"{row['events_per_second']:,} events a second, {row['keys']:,} keys, windows of {row['window_ms']} ms by "
        f"{row['slide_ms']} ms"
    )


def collector_table(trials: pd.DataFrame) -> pd.DataFrame:
    """Return what the collectors did in that time, at the commonest rate: pauses, young collections, processors they
    kept busy, their threads; means of the trials that kept up, with intervals."""
    done = commonest_rate(trials)
    columns = {
        "gc_pauses": "pauses", "young_per_s": "young, a second", "gc_pause_max_ms": "longest, ms",
        "cpu_gc": "GC, processors", "cpu_application": "engine, processors", "allocated_mb_per_s": "allocated, MiB/s",
    }  # fmt: skip
    keys = ["configuration", "cooperative_threads", "parallel_gc_threads", "concurrent_gc_threads"]
    return tables.intervals(done[keeping_up(done)], keys, columns)


_TURNS = {
    "empty": "reading the clock twice", "tasklets": "tasklet to tasklet of the engine",
    "virtual": "virtual thread to virtual thread", "platform": "thread to thread",
}  # fmt: skip


def switch_table(switches: pd.DataFrame) -> pd.DataFrame:
    """Return what it takes to go from one party to the next, ns: means of trials' percentiles, with intervals."""
    done = finished(switches)
    named = done.assign(turn=done["way"].map(_TURNS)).rename(columns={"turn": "from turn to turn"})
    percentiles = {f"{name}_ns": f"{name}, ns" for name in ("p10", "p50", "p90")}
    return tables.intervals(named, ["configuration", "from turn to turn"], percentiles)


def verdict(measured: Mapping[str, pd.DataFrame], target_ms: float) -> str:
    """Return the page's answer: the highest throughput within the target, and two conclusions on today's collectors."""
    every = {item.claim.id: item for item in verdicts(measured, target_ms)}
    core, free = every[FOR_THE_COLLECTOR.id], every[ALLOCATION_COSTS.id]
    return (
        f"{_highest(held(measured['trials'], measured['searches'], target_ms), target_ms)} That a processor left to "
        f"the collector shortens latency ({TODAY.text}) is {tables.outcome_of(core)}. {core.sentence} That allocating "
        f"at every update lengthens it is {tables.outcome_of(free)}."
    )


def _highest(found: pd.DataFrame, target_ms: float) -> str:
    """Which configuration, on how many threads, held the target at the highest throughput, and whether that is
    shown."""
    brackets = {
        f"{configuration}, threads: {threads}, {tail}": rows
        for (configuration, threads, tail), rows in found.groupby(
            ["configuration", "cooperative_threads", "tail"], sort=False
        )
        if rows["holds_items_per_second"].notna().all()
    }
    if not brackets:
        return f"**No configuration held {target_ms:g} ms** in every repetition."
    best = max(brackets, key=lambda name: stats.geometric_mean(brackets[name]["holds_items_per_second"]))
    rivals = [rows for name, rows in brackets.items() if name != best]
    # The repetitions that chose the one also judge it: it is put to all others, and paid for as often as was chosen.
    p = len(brackets) * max((compare_brackets(brackets[best], rows).p_above() for rows in rivals), default=1.0)
    holds = brackets[best]["holds_items_per_second"] / 1e6
    return (
        f"**Highest throughput within {target_ms:g} ms:** {best}, {stats.geometric_interval(holds).text()} million "
        f"items a second, n = {len(holds)}, {'' if p <= decisions.ALPHA else 'not '}shown above all others."
    )


def take_home(profile: str) -> str:
    """Return the verdict on what a campaign of this profile left; runs nothing."""
    stored, provenance = store.stored(STUDY.name, profile)
    if provenance is None:
        return "The streaming engine was not measured under this profile."
    return verdict(stored, float(provenance["profile"]["target_ms"]))
