"""What the trials of a stream campaign say: highest throughput within a latency, and comparisons over trials.

The published study says that a machine whose cooperative threads leave a processor to the collector answers within
10 ms at more throughput. So the throughput that holds the target is bracketed in every block, by the rates that were
run and by searches of its own, and latencies are compared at equal rates. Latencies are told to the first result of a
window, as published, and to the last.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pandas as pd

from allocpool import decisions, stats
from allocpool.campaign import store
from allocpool.evidence import reference, tables
from allocpool.evidence.claims import Verdict, published_says
from allocpool.evidence.trials import NOT_PART, finished
from allocpool.studies.stream.claims import (
    ALLOCATION_COSTS,
    CELL,
    CONFIGURATION,
    FIRST,
    FOR_THE_COLLECTOR,
    LAST,
    STREAM_CLAIMS,
    THEN,
    TODAY,
    Pair,
    allocated,
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
_FEW_CORES = 4


def published() -> pd.DataFrame:
    """The published chart: jdk, collector, machine, jet_threads, million_items_per_second and p9999_ms, both read off
    it."""
    return reference.load("jet_latency_p9999").rename(columns={"p9999_latency_ms_read_off_chart": "p9999_ms"})


def machine(trials: pd.DataFrame) -> str:
    """What can and can't be concluded from a machine with so many processors."""
    if trials.empty:
        return "Nothing was measured."
    count = int(trials["cores"].max())
    most = int(published()["jet_threads"].max())
    if count >= _FEW_CORES:
        return f"This machine has {count} processors; the published ones ran up to {most} threads."
    threads = trials.loc[trials["asked_concurrent_gc_threads"].isna(), "concurrent_gc_threads"].dropna()
    concurrent = (
        f", and concurrent collection had at most {stats.plural(int(threads.max()), 'thread')}" if len(threads) else ""
    )
    return (
        f"This machine has {count} processors; the published ones ran up to {most} threads. A processor left to the "
        f"collector is {1 / count:.0%} of this machine instead of a small part of it{concurrent}. "
        "So the direction of an effect can be compared; a verdict on its size is on this machine, not on the published "
        "one."
    )


def curves(trials: pd.DataFrame, axis: str) -> pd.DataFrame:
    """The curves along one of `AXES`: one row per configuration and rate, with its collector, items_per_second offered,
    trials, kept_up, the percentile, and the latency there to the first and the last result: median, low, high, ms.

    Only trials that differ in nothing else: no aggregate, number of the collector's threads or size of its young
    generation but the plain ones. Of inputs (or keys) at which nothing was varied on windows of a length there is no
    curve.
    """
    rows, fixed = only(trials), AXES[axis]
    same = [fixed, "window_ms", "slide_ms", "seconds"]
    varied = rows.groupby(same)[axis].transform("nunique") > 1 if len(rows) else pd.Series(dtype=bool)
    found = []
    for key, group in rows[varied].groupby(list(CELL), dropna=False, observed=True, sort=False):
        row = {
            **dict(zip(CELL, key, strict=True)), "collector": group["collector"].iloc[0],
            "runtime": group["runtime"].iloc[0], "n": len(group), "kept_up": int(group["kept_up"].sum()),
            "offered_items_per_second": group["offered_items_per_second"].iloc[0],
            "tail": group["tail"].dropna().min(),
        }  # fmt: skip
        for name, value in (("first", FIRST), ("last", LAST)):
            tails = group[value].dropna().astype(float)
            row |= {f"{name}_ms": tails.median(), f"{name}_low": tails.min(), f"{name}_high": tails.max()}
        found.append(row)
    return pd.DataFrame(found, columns=[*CELL, *_CURVE])


_CURVE = (
    "collector", "runtime", "n", "kept_up", "offered_items_per_second", "tail",
    *(f"{name}_{what}" for name in ("first", "last") for what in ("ms", "low", "high")),
)  # fmt: skip


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


_SEARCHED = "a search"
_BRACKETS = ("by", "holds_low", "holds_high", "fails", "n")


def brackets(trials: pd.DataFrame, searches: pd.DataFrame, target_ms: float) -> pd.DataFrame:
    """Per configuration: the throughput that holds ``target_ms`` at the tail, in every block, items per second, to the
    first result of each window.

    ``holds`` is the highest offered rate below which every rate held, as (smallest, largest) over blocks; ``fails`` the
    lowest that did not, None where all held: then the end of the rates was reached, not of the engine. Searches come
    first, then configurations of trials at two outputs, or inputs, or more.
    """
    rows = _searched(searches) + _run(trials, target_ms)
    return pd.DataFrame(rows, columns=[*CONFIGURATION, *_BRACKETS])


def _run(trials: pd.DataFrame, target_ms: float) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    done = finished(trials)
    for axis, fixed in AXES.items():
        grouped = done.groupby([*CONFIGURATION, fixed], dropna=False, observed=True, sort=False)
        for key, group in grouped:
            if group[axis].nunique() < 2 or (group["hiccup_ms"] > 0).any():
                continue
            holds, fails = [], []
            for _, block in group.groupby("block"):
                ordered = block.sort_values("offered_items_per_second")
                fine = within(ordered, target_ms).to_numpy(bool)
                first_bad = next((place for place, good in enumerate(fine) if not good), len(fine))
                offered = ordered["offered_items_per_second"].to_numpy()
                holds.append(float(offered[first_bad - 1]) if first_bad else 0.0)
                fails.append(float(offered[first_bad]) if first_bad < len(fine) else None)
            by = "more output" if axis == "keys" else "more input"
            rows.append(_bracket(key[:-1], f"{by}, {key[-1]:,} {fixed.split('_')[0]}", holds, fails))
    return rows


def _searched(searches: pd.DataFrame) -> list[dict[str, object]]:
    rows = []
    done = finished(searches).assign(hiccup_ms=0)
    for key, group in done.groupby(list(CONFIGURATION), dropna=False, observed=True, sort=False):
        holds = [float(value) for value in group["holds_items_per_second"].fillna(0.0)]
        fails = [None if pd.isna(value) else float(value) for value in group["fails_items_per_second"]]
        rows.append(_bracket(key, _SEARCHED, holds, fails))
    return rows


def _bracket(
    key: Sequence[object], by: str, holds: Sequence[float], fails: Sequence[float | None]
) -> dict[str, object]:
    failed = [value for value in fails if value is not None]
    return {
        **dict(zip(CONFIGURATION, key, strict=True)), "by": by, "holds_low": min(holds), "holds_high": max(holds),
        "fails": min(failed) if failed else None, "n": len(holds),
    }  # fmt: skip


def brackets_grid(trials: pd.DataFrame, searches: pd.DataFrame, target_ms: float) -> pd.DataFrame:
    """`brackets` for a reader, in millions of items per second."""
    rows = []
    for _, row in brackets(trials, searches, target_ms).iterrows():
        low, high = millions(row["holds_low"]), millions(row["holds_high"])
        rows.append({
            "configuration": name_of(row), "window": f"{row['window_ms']} ms by {row['slide_ms']} ms",
            "found by": row["by"], "holds, M items/s": low if low == high else f"{low} to {high}",
            "fails from": "not reached" if pd.isna(row["fails"]) else millions(row["fails"]), "n": row["n"],
        })  # fmt: skip
    return pd.DataFrame(rows, columns=["configuration", "window", "found by", "holds, M items/s", "fails from", "n"])


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


def allocation(trials: pd.DataFrame) -> list[Pair]:
    """The allocating aggregate over the garbage-free one: memory allocated."""
    return allocated(trials)


def gaps(trials: pd.DataFrame, searches: pd.DataFrame, plan: pd.DataFrame) -> pd.DataFrame:
    """What has no latency, and why: trials and searches that failed or fell behind, collectors that the profile leaves
    out."""
    rows = [
        (configuration, len(failed), f"search {failed['status'].iloc[0]}: {reason}")
        for (configuration, reason), failed in searches[searches["status"] != "ok"].groupby(["configuration", "reason"])
    ]
    for configuration, group in trials.groupby("configuration", sort=False):
        behind = group[(group["status"] == "ok") & ~keeping_up(group)]
        if len(behind):
            least = millions(behind["offered_items_per_second"].min())
            rows.append((configuration, len(behind), f"fell behind, at {least} million items a second or more"))
        for reason, failed in group[group["status"] != "ok"].groupby("reason", dropna=False):
            rows.append((configuration, len(failed), f"{failed['status'].iloc[0]}: {reason}"))
    rows += [(row["configuration"], 0, row["left_out_because"]) for _, row in plan[~plan["planned"]].iterrows()]
    return pd.DataFrame(rows, columns=["configuration", "trials", "reason"])


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
    """What the collectors did meanwhile, at the commonest rate: pauses, young collections, processors they kept busy,
    their threads; means of the trials that kept up, with intervals."""
    done = commonest_rate(trials)
    done = done[keeping_up(done)]
    rows = []
    for (configuration, threads), group in done.groupby(["configuration", "cooperative_threads"], sort=False):
        names = ["gc_pauses", "young_per_s", "gc_pause_max_ms", "cpu_gc", "cpu_application", "allocated_mb_per_s"]
        told = {name: _cell(group[name]) for name in names}
        rows.append({
            "configuration": configuration, "threads": threads, "n": len(group),
            "GC threads": f"{group['parallel_gc_threads'].max()} / {group['concurrent_gc_threads'].max()}",
            "pauses": told["gc_pauses"], "young, a second": told["young_per_s"],
            "longest, ms": told["gc_pause_max_ms"], "GC, processors": told["cpu_gc"],
            "engine, processors": told["cpu_application"], "allocated, MiB/s": told["allocated_mb_per_s"],
        })  # fmt: skip
    return pd.DataFrame(rows)


def _cell(values: pd.Series, digits: int = 2) -> str:
    """The geometric mean over trials with its interval; the mean alone where a trial has none of it."""
    known = values.dropna().astype(float)
    if known.empty:
        return "-"
    if (known > 0).all():
        return stats.geometric_interval(known).text(digits)
    return stats.significant(float(known.mean()), digits)


_WAYS = {
    "empty": "reading the clock twice", "tasklets": "tasklet to tasklet of the engine",
    "virtual": "virtual thread to virtual thread", "platform": "thread to thread",
}  # fmt: skip


def switch_table(switches: pd.DataFrame) -> pd.DataFrame:
    """What it takes to go from one party to the next, ns: means of trials' percentiles, with intervals."""
    done = finished(switches)
    rows = [
        {
            "configuration": configuration, "from turn to turn": _WAYS[str(way)], "n": len(group),
            **{
                f"{name}, ns": _cell(group[f"{name}_ns"])
                for name in ("p10", "p50", "p90")
            },
        }
        for (configuration, way), group in done.groupby(["configuration", "way"], sort=False)
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=["configuration", "from turn to turn", "n", "p10, ns", "p50, ns", "p90, ns"])


def claims_grid(every: Sequence[Verdict]) -> pd.DataFrame:
    """Of all verdicts of the page one row per conclusion: what the source's own figures say of it, and what was found
    on its collectors and on today's."""
    count = len(STREAM_CLAIMS)
    rows = [
        {
            "claim": claim.text,
            "its own figures": published_says(claim),
            THEN.text: tables.outcome_of(on_then), "found": _found(on_then),
            TODAY.text: tables.outcome_of(on_today), "found today": _found(on_today),
        }
        for claim, on_then, on_today in zip(STREAM_CLAIMS, every[:count], every[count:-1], strict=True)
    ]  # fmt: skip
    return pd.DataFrame(rows)


def _found(verdict: Verdict) -> str | None:
    """None where there is no more to say than that the campaign leaves it out."""
    left_out = tables.outcome_of(verdict) == tables.NOT_TESTED and {item.why for item in verdict.missing} == {
        NOT_PART.text
    }
    return None if left_out else verdict.sentence


def verdict(measured: Mapping[str, pd.DataFrame], target_ms: float) -> str:
    """The page's answer in a few computed sentences."""
    every = {item.claim.id: item for item in verdicts(measured, target_ms)}
    core, free = every[FOR_THE_COLLECTOR.id], every[ALLOCATION_COSTS.id]
    return (
        f"{_highest(held(measured['trials'], measured['searches'], target_ms), target_ms)} That a processor left to "
        f"the collector shortens latency ({TODAY.text}) is {_outcome(core)}. {core.sentence} That allocating at every "
        f"update lengthens it is {_outcome(free)}. {free.sentence} {machine(measured['trials'])}"
    )


def _outcome(verdict: Verdict) -> str:
    return tables.outcome_of(verdict).replace("mixed", "shown at some rates and the other way round at others")


def _highest(found: pd.DataFrame, target_ms: float) -> str:
    """Which configuration, on how many threads, held the target at the highest throughput, and whether that is
    shown."""
    brackets = {
        f"{configuration} with {stats.plural(int(str(threads)), 'thread')} at {tail}": rows
        for (configuration, threads, tail), rows in found.groupby(
            ["configuration", "cooperative_threads", "tail"], sort=False
        )
        if rows["holds_items_per_second"].notna().all()
    }
    if not brackets:
        return (
            f"**No configuration was shown to hold {target_ms:g} ms in every repetition, at the highest percentile "
            "that its windows allow.**"
        )
    best = max(brackets, key=lambda name: stats.geometric_mean(brackets[name]["holds_items_per_second"]))
    rivals = [rows for name, rows in brackets.items() if name != best]
    # The repetitions that chose the one also judge it: it is put to all others, and paid for as often as was chosen.
    p = len(brackets) * max((compare_brackets(brackets[best], rows).p_above() for rows in rivals), default=1.0)
    holds = brackets[best]["holds_items_per_second"] / 1e6
    told = f"{stats.geometric_interval(holds).text()} million items a second, n = {len(holds)}"
    reached = " (no higher rate was run)" if brackets[best]["fails_items_per_second"].isna().all() else ""
    if rivals and p <= decisions.ALPHA:
        return f"**{best} held {target_ms:g} ms at a higher throughput than all others: {told}{reached}.**"
    if rivals:
        shown = f"that it is above the other{f' {len(rivals)}' if len(rivals) > 1 else ''} is not shown"
        return (
            f"**Open which holds {target_ms:g} ms at the highest throughput.** So far {best}: {told}{reached}; {shown}."
        )
    return f"**Nothing to compare with {best}**, which held {target_ms:g} ms up to {told}{reached}."


def take_home(profile: str) -> str:
    """The verdict on what a campaign of this profile left; runs nothing."""
    stored, provenance = store.stored(STUDY.name, profile)
    if provenance is None:
        return "**Undecided.** The streaming engine was not measured under this profile."
    return verdict(stored, float(provenance["profile"]["target_ms"]))
