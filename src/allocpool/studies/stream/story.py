"""What the trials of a stream campaign say: highest throughput within a latency, and paired comparisons.

The published study says that a machine whose cooperative threads leave a processor to the collector answers within
10 ms at more throughput. So the throughput that holds the target is bracketed in every block, by the rates that were
run and by searches of its own, and latencies are compared within blocks, at equal rates.
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from allocpool import stats
from allocpool.campaign import campaign
from allocpool.evidence import reference
from allocpool.evidence.claims import judge
from allocpool.evidence.trials import finished
from allocpool.percentiles import samples_needed as windows_needed
from allocpool.studies.stream.claims import (
    ALLOCATION_COSTS,
    CELL,
    CONFIGURATION,
    FOR_THE_COLLECTOR,
    Pair,
    Stream,
    allocated,
    allocating,
    millions,
)
from allocpool.studies.stream.study import STUDY, StreamProfile

_FEW_CORES = 4


def published() -> pd.DataFrame:
    """The published chart: jdk, collector, machine, jet_threads, million_items_per_second and p9999_ms, both read off
    it."""
    return reference.load("jet_latency_p9999").rename(columns={"p9999_latency_ms_read_off_chart": "p9999_ms"})


def design(profile: StreamProfile) -> str:
    """What the campaign consists of, from its profile."""
    groups = ", ".join(profile.groups)
    searched = f" Searches: {', '.join(profile.searches)}." if profile.searches else ""
    slides = sorted({group.slide_ms for group in profile.groups.values()})
    counts = [int(profile.seconds * 1000) // slide for slide in slides]
    windows = "; ".join(
        f"windows that slide by {slide} ms give {count:,} latencies per trial, and p99.99 would take "
        f"{windows_needed(99.99) * slide / 1000:g} s"
        for slide, count in zip(slides, counts, strict=True)
    )
    return (
        f"Groups of trials: {groups}. {profile.blocks} repetition(s), {profile.seconds:g} s measured after "
        f"{profile.warmup_seconds:g} s of warm-up; {windows}.{searched}"
    )


def machine(trials: pd.DataFrame) -> str:
    """What can and can't be concluded from a machine with so many processors."""
    if trials.empty:
        return "Nothing was measured."
    count = int(trials["cores"].max())
    most = int(published()["jet_threads"].max())
    if count >= _FEW_CORES:
        return f"This machine has {count} processors; the published ones ran up to {most} threads."
    threads = trials["concurrent_gc_threads"].dropna()
    concurrent = f", and concurrent collection had {int(threads.max())} thread(s)" if len(threads) else ""
    return (
        f"This machine has {count} processors; the published ones ran up to {most} threads. A processor left to the "
        f"collector is {1 / count:.0%} of this machine instead of a small part of it{concurrent}. "
        "So the direction of an effect can be compared here, its size can not."
    )


def curves(trials: pd.DataFrame) -> pd.DataFrame:
    """One row per configuration and rate: its collector, items_per_second offered, trials, kept_up, and median tail
    latency, ms."""
    rows = []
    for key, group in finished(trials).groupby(list(CELL), dropna=False, observed=True, sort=False):
        tails = group["tail_ms"].dropna().astype(float)
        rows.append({
            **dict(zip(CELL, key, strict=True)), "collector": group["collector"].iloc[0],
            "offered_items_per_second": group["offered_items_per_second"].iloc[0],
            "n": len(group), "kept_up": int(group["kept_up"].sum()), "tail": group["tail"].dropna().min(),
            "tail_ms": tails.median() if len(tails) else float("nan"),
            "low": tails.min() if len(tails) else float("nan"), "high": tails.max() if len(tails) else float("nan"),
        })  # fmt: skip
    columns = [*CELL, "collector", "offered_items_per_second", "n", "kept_up", "tail", "tail_ms", "low", "high"]
    return pd.DataFrame(rows, columns=columns)


def name_of(row: pd.Series) -> str:
    """A configuration for a reader."""
    parts = [str(row["solution"]), f"{row['cooperative_threads']} {row['processors']}", str(row["aggregate"])]
    if pd.notna(row["new_size_mb"]):
        parts.append(f"young {row['new_size_mb']} MiB")
    return ", ".join(parts)


_RUN, _SEARCHED = "rates that were run", "a search"
_BRACKETS = ("by", "holds_low", "holds_high", "fails", "n")


def brackets(trials: pd.DataFrame, searches: pd.DataFrame, target_ms: float) -> pd.DataFrame:
    """Per configuration: the throughput that holds ``target_ms`` at the tail, in every block, items per second.

    ``holds`` is the highest offered rate below which every rate held, as (smallest, largest) over blocks; ``fails`` the
    lowest that did not, None where all held: then the end of the rates was reached, not of the engine. Searches come
    first, then configurations of trials at two rates or more.
    """
    rows = _searched(searches) + _run(trials, target_ms)
    return pd.DataFrame(rows, columns=[*CONFIGURATION, *_BRACKETS])


def _run(trials: pd.DataFrame, target_ms: float) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for key, group in finished(trials).groupby(list(CONFIGURATION), dropna=False, observed=True, sort=False):
        if group["events_per_second"].nunique() < 2:
            continue
        holds, fails = [], []
        for _, block in group.groupby("block"):
            ordered = block.sort_values("offered_items_per_second")
            done = (ordered["kept_up"].fillna(False) & (ordered["tail_ms"] <= target_ms).fillna(False)).to_numpy(bool)
            first_bad = next((place for place, fine in enumerate(done) if not fine), len(done))
            offered = ordered["offered_items_per_second"].to_numpy()
            holds.append(float(offered[first_bad - 1]) if first_bad else 0.0)
            fails.append(float(offered[first_bad]) if first_bad < len(done) else None)
        rows.append(_bracket(key, _RUN, holds, fails))
    return rows


def _searched(searches: pd.DataFrame) -> list[dict[str, object]]:
    rows = []
    done = finished(searches)
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


def pairs_grid(every: Sequence[Pair]) -> pd.DataFrame:
    """Comparisons for a reader."""
    return pd.DataFrame(
        [
            {
                "solution": pair.solution, "compared": pair.compared, "at": pair.at,
                "ratio": pair.comparison.text(), "fell behind": f"{pair.not_kept_up[0]} / {pair.not_kept_up[1]}",
            }
            for pair in every
        ],
        columns=["solution", "compared", "at", "ratio", "fell behind"],
    )  # fmt: skip


def allocation(trials: pd.DataFrame) -> list[Pair]:
    """The allocating aggregate over the garbage-free one: memory allocated, latency at the tail."""
    return allocated(trials) + allocating(trials)


def gaps(trials: pd.DataFrame, searches: pd.DataFrame, plan: pd.DataFrame) -> pd.DataFrame:
    """What has no latency, and why: trials and searches that failed or fell behind, collectors that the profile leaves
    out."""
    rows = [
        (solution, len(failed), f"search {failed['status'].iloc[0]}: {reason}")
        for (solution, reason), failed in searches[searches["status"] != "ok"].groupby(["solution", "reason"])
    ]
    for solution, group in trials.groupby("solution", sort=False):
        behind = group[(group["status"] == "ok") & ~group["kept_up"].fillna(False).astype(bool)]
        if len(behind):
            least = millions(behind["offered_items_per_second"].min())
            rows.append((solution, len(behind), f"fell behind, at {least} million items a second or more"))
        for reason, failed in group[group["status"] != "ok"].groupby("reason", dropna=False):
            rows.append((solution, len(failed), f"{failed['status'].iloc[0]}: {reason}"))
    rows += [(row["solution"], 0, row["left_out_because"]) for _, row in plan[~plan["planned"]].iterrows()]
    return pd.DataFrame(rows, columns=["solution", "trials", "reason"])


def collector_table(trials: pd.DataFrame) -> pd.DataFrame:
    """What the collectors did meanwhile: pauses, processors they kept busy, their threads; medians of the trials that
    kept up with the allocating aggregate on cooperative threads, over all rates."""
    done = finished(trials)
    done = done[done["kept_up"].fillna(False) & (done["aggregate"] == "boxed") & (done["processors"] == "cooperative")]
    rows = []
    for (solution, threads), group in done.groupby(["solution", "cooperative_threads"], sort=False):
        medians = group[["gc_pauses", "gc_pause_max_ms", "cpu_gc", "cpu_application", "allocated_mb_per_s"]].median()
        rows.append({
            "solution": solution, "threads": threads, "n": len(group),
            "GC threads": f"{group['parallel_gc_threads'].max()} / {group['concurrent_gc_threads'].max()}",
            "pauses": stats.significant(float(medians["gc_pauses"])),
            "longest, ms": stats.significant(float(medians["gc_pause_max_ms"])),
            "GC, processors": stats.significant(float(medians["cpu_gc"]), 2),
            "engine, processors": stats.significant(float(medians["cpu_application"]), 2),
            "allocated, MiB/s": stats.significant(float(medians["allocated_mb_per_s"])),
        })  # fmt: skip
    return pd.DataFrame(rows)


def verdict(trials: pd.DataFrame, searches: pd.DataFrame, target_ms: float) -> str:
    """The page's answer in a few computed sentences."""
    data = Stream(trials, searches, target_ms)
    core, free = judge(FOR_THE_COLLECTOR, data), judge(ALLOCATION_COSTS, data)
    bracketed = brackets(trials, searches, target_ms)
    if bracketed.empty or not bracketed["holds_low"].max():
        head = f"**No configuration was shown to hold {target_ms:g} ms at the tail in every repetition.**"
    else:
        best = bracketed.nlargest(1, ["holds_low", "holds_high"]).iloc[0]
        head = (
            f"**{name_of(best)} held {target_ms:g} ms at the tail in every repetition at the highest throughput, "
            f"{millions(best['holds_low'])} million items a second"
            f"{' (no higher rate was run)' if pd.isna(best['fails']) else ''}.**"
        )
    return (
        f"{head} A processor left to the collector: {core.outcome}. {core.sentence} Allocating at every update: "
        f"{free.outcome}. {free.sentence} {machine(trials)}"
    )


def take_home(profile: str) -> str:
    """The verdict on what a campaign of this profile left; runs nothing."""
    tables, provenance = campaign.stored(STUDY.name, profile)
    if provenance is None:
        return "**Undecided.** The streaming engine was not measured under this profile."
    return verdict(tables["trials"], tables["searches"], float(provenance["profile"]["target_ms"]))
