"""What the trials of a stream campaign say: highest throughput within a latency, and paired comparisons.

The published study says that a machine whose cooperative threads leave a processor to the collector answers within
10 ms at more throughput. So the throughput that holds the target is bracketed in every block, by the rates that were
run and by searches of its own, and latencies are compared within blocks, at equal rates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from allocpool import stats
from allocpool.campaign import campaign
from allocpool.campaign.tidy import frame
from allocpool.errors import UserError
from allocpool.evidence import reference
from allocpool.evidence.claims import INCONCLUSIVE, REFUTED, REPRODUCED, Claim, Verdict
from allocpool.percentiles import samples_needed as windows_needed
from allocpool.runtimes.collectors import collector_named
from allocpool.studies.stream.study import StreamProfile
from allocpool.studies.stream.tables import SEARCHES

SOURCE = "Sub-10 ms Latency in Java: Concurrent GC with Green Threads, Hazelcast, 2020-08-05"
CONFIGURATION = (
    "solution", "cooperative_threads", "aggregate", "processors", "new_size_mb", "keys", "window_ms", "slide_ms",
)  # fmt: skip
"""What a curve of latency against throughput is drawn for."""
_CELL = (*CONFIGURATION, "events_per_second")
_SHOWN = {1: "as published", 0: "no difference shown", -1: "the other way round"}
_FEW_CORES = 4
_BOXED = "boxed over garbage-free, latency at the tail"


def finished(trials: pd.DataFrame) -> pd.DataFrame:
    """Trials that ended well, whether or not the pipeline kept up."""
    return trials[trials["status"] == "ok"]


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
    told = "; ".join(
        f"windows that slide by {slide} ms give {count:,} latencies per trial, and p99.99 would take "
        f"{windows_needed(99.99) * slide / 1000:g} s"
        for slide, count in zip(slides, counts, strict=True)
    )
    return (
        f"Groups of trials: {groups}. {profile.blocks} repetition(s), {profile.seconds:g} s measured after "
        f"{profile.warmup_seconds:g} s of warm-up; {told}.{searched}"
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
    """One row per configuration and rate: items_per_second offered, trials, kept_up, and median tail latency, ms."""
    rows = []
    for key, group in finished(trials).groupby(list(_CELL), dropna=False, observed=True, sort=False):
        tails = group["tail_ms"].dropna().astype(float)
        rows.append({
            **dict(zip(_CELL, key, strict=True)), "offered_items_per_second": group["offered_items_per_second"].iloc[0],
            "n": len(group), "kept_up": int(group["kept_up"].sum()), "tail": group["tail"].dropna().min(),
            "tail_ms": tails.median() if len(tails) else float("nan"),
            "low": tails.min() if len(tails) else float("nan"), "high": tails.max() if len(tails) else float("nan"),
        })  # fmt: skip
    columns = [*_CELL, "offered_items_per_second", "n", "kept_up", "tail", "tail_ms", "low", "high"]
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
            good = (ordered["kept_up"].fillna(False) & (ordered["tail_ms"] <= target_ms).fillna(False)).to_numpy(bool)
            first_bad = next((place for place, fine in enumerate(good) if not fine), len(good))
            offered = ordered["offered_items_per_second"].to_numpy()
            holds.append(float(offered[first_bad - 1]) if first_bad else 0.0)
            fails.append(float(offered[first_bad]) if first_bad < len(good) else None)
        rows.append(_bracket(key, _RUN, holds, fails))
    return rows


def _searched(searches: pd.DataFrame) -> list[dict[str, object]]:
    rows = []
    good = finished(searches)
    for key, group in good.groupby(list(CONFIGURATION), dropna=False, observed=True, sort=False):
        holds = [float(value) for value in group["holds_items_per_second"].fillna(0.0)]
        fails = [None if pd.isna(value) else float(value) for value in group["fails_items_per_second"]]
        rows.append(_bracket(key, _SEARCHED, holds, fails))
    return rows


def _bracket(
    key: Sequence[object], by: str, holds: Sequence[float], fails: Sequence[float | None]
) -> dict[str, object]:
    found = [value for value in fails if value is not None]
    return {
        **dict(zip(CONFIGURATION, key, strict=True)), "by": by, "holds_low": min(holds), "holds_high": max(holds),
        "fails": min(found) if found else None, "n": len(holds),
    }  # fmt: skip


def _millions(value: float) -> str:
    return stats.significant(value / 1e6)


def brackets_grid(trials: pd.DataFrame, searches: pd.DataFrame, target_ms: float) -> pd.DataFrame:
    """`brackets` for a reader, in millions of items per second."""
    rows = []
    for _, row in brackets(trials, searches, target_ms).iterrows():
        low, high = _millions(row["holds_low"]), _millions(row["holds_high"])
        rows.append({
            "configuration": name_of(row), "window": f"{row['window_ms']} ms by {row['slide_ms']} ms",
            "found by": row["by"], "holds, M items/s": low if low == high else f"{low} to {high}",
            "fails from": "not reached" if pd.isna(row["fails"]) else _millions(row["fails"]), "n": row["n"],
        })  # fmt: skip
    return pd.DataFrame(rows, columns=["configuration", "window", "found by", "holds, M items/s", "fails from", "n"])


@dataclass(frozen=True)
class Pair:
    """One value of two configurations that differ in one thing, at one rate: ratio of the first to the second."""

    solution: str
    collector: str
    what: str
    at: str
    """The rate at which they are compared, or what took its place."""
    comparison: stats.Comparison
    not_kept_up: tuple[int, int]
    """Trials on either side in which the pipeline fell behind, so that they have no value."""


def pairs(
    trials: pd.DataFrame, axis: str, larger: object, smaller: object, value: str = "tail_ms", what: str = ""
) -> list[Pair]:
    """Compare ``larger`` with ``smaller`` on one axis, everything else and the block being equal."""
    good = finished(trials)
    noise = stats.noise_band(good.assign(**{value: good[value].astype(float)}), list(_CELL), value)
    others = [name for name in _CELL if name != axis]
    found = []
    for key, group in good.groupby(others, dropna=False, observed=True, sort=False):
        sides = [group[group[axis] == wanted] for wanted in (larger, smaller)]
        if any(side.empty for side in sides):
            continue
        named = dict(zip(others, key, strict=True))
        values = [side.set_index("block")[value].dropna().astype(float) for side in sides]
        behind = tuple(int((~side["kept_up"].fillna(False).astype(bool)).sum()) for side in sides)
        found.append(
            Pair(
                str(named["solution"]),
                str(group["collector"].iloc[0]),
                what or f"{larger} over {smaller}",
                f"{named['events_per_second']:,} events/s" if named["events_per_second"] else "highest rate",
                stats.compare(values[0], values[1], noise),
                (behind[0], behind[1]),
            )
        )
    return found


def pairs_grid(found: Sequence[Pair]) -> pd.DataFrame:
    """Comparisons for a reader."""
    return pd.DataFrame(
        [
            {
                "solution": pair.solution, "compared": pair.what, "at": pair.at,
                "ratio": pair.comparison.text(), "fell behind": f"{pair.not_kept_up[0]} / {pair.not_kept_up[1]}",
            }
            for pair in found
        ],
        columns=["solution", "compared", "at", "ratio", "fell behind"],
    )  # fmt: skip


def left_to_collector(trials: pd.DataFrame) -> list[Pair]:
    """All processors over all but one for cooperative threads, latency at the tail: above one, leaving one pays."""
    if trials.empty:
        return []
    count = int(trials["cores"].max())
    return pairs(
        trials, "cooperative_threads", count, count - 1, what=f"{count} threads over {count - 1}, latency at the tail"
    )


def highest_with_one_left(searches: pd.DataFrame) -> list[Pair]:
    """All processors but one for cooperative threads over all, highest throughput within the target by search: above
    one, leaving one pays."""
    if searches.empty:
        return []
    count = int(searches["cores"].max())
    held = searches.assign(events_per_second=0, kept_up=searches["holds_items_per_second"].notna())
    return pairs(
        held, "cooperative_threads", count - 1, count, "holds_items_per_second",
        f"{count - 1} threads over {count}, highest throughput",
    )  # fmt: skip


def allocation(trials: pd.DataFrame) -> list[Pair]:
    """The allocating aggregate over the garbage-free one: memory allocated, latency at the tail."""
    memory = pairs(trials, "aggregate", "boxed", "garbage_free", "allocated_mb_per_s", "boxed over garbage-free, MiB/s")
    return memory + pairs(trials, "aggregate", "boxed", "garbage_free", what=_BOXED)


def native_threads(trials: pd.DataFrame) -> list[Pair]:
    """A native thread for each processor over cooperative ones, latency at the tail."""
    return pairs(trials, "processors", "native", "cooperative", what="native over cooperative, latency at the tail")


def virtual_threads(trials: pd.DataFrame) -> list[Pair]:
    """The window step without an engine, on platform threads over virtual ones, latency at the tail."""
    return pairs(trials, "processors", "platform", "virtual", what="platform over virtual, latency at the tail")


def _judged(claim: Claim, found: Sequence[Pair]) -> Verdict:
    """Reproduced when every comparison shows it, refuted when one shows the opposite."""
    measured = [(pair, pair.comparison.ratio) for pair in found if pair.comparison.ratio is not None]
    evidence = pd.DataFrame(
        [
            {"larger": f"{pair.solution} {pair.what}", "smaller": pair.at,
             "ratio": ratio.estimate, "low": ratio.low, "high": ratio.high, "blocks": ratio.trials,
             "shown": _SHOWN[pair.comparison.direction]}
            for pair, ratio in measured if ratio
        ],
        columns=["larger", "smaller", "ratio", "low", "high", "blocks", "shown"],
    )  # fmt: skip
    if evidence.empty:
        return Verdict(claim, INCONCLUSIVE, "Nothing to compare: no pair of trials that both kept up.", evidence)
    shown = evidence["shown"].value_counts()
    told = ", ".join(f"{name} in {count}" for name, count in shown.items())
    sentence = f"Of {len(found)} comparisons: {told}; ratios {stats.span(evidence['ratio'])}."
    if shown.get(_SHOWN[-1], 0):
        return Verdict(claim, REFUTED, sentence, evidence)
    every = shown.get(_SHOWN[1], 0) == len(found)
    return Verdict(claim, REPRODUCED if every else INCONCLUSIVE, sentence, evidence)


def _concurrent(found: Sequence[Pair]) -> list[Pair]:
    return [pair for pair in found if collector_named(pair.collector).concurrent]


def _within_target(claim: Claim, trials: pd.DataFrame, target_ms: float) -> Verdict:
    """Whether G1 holds the target at every rate at which its pipeline kept up, with a processor left to it."""
    good = finished(trials)
    count = int(good["cores"].max()) if len(good) else 0
    rows = good[
        (good["collector"] == "g1") & (good["cooperative_threads"] == count - 1) & good["kept_up"].fillna(False)
    ]
    evidence = rows[["solution", "events_per_second", "tail", "tail_ms"]].astype({"tail_ms": float})
    if rows.empty:
        return Verdict(claim, INCONCLUSIVE, "No trial of G1 with a processor left to it kept up.", evidence)
    tails = sorted(set(rows["tail"].dropna()))
    within = int((rows["tail_ms"] <= target_ms).sum())
    most = rows["items_per_second"].astype(float).max()
    sentence = (
        f"{within} of {len(rows)} trials of G1 that kept up, up to {_millions(most)} million items a second, held "
        f"{target_ms:g} ms at {', '.join(tails)}."
    )
    if tails != ["p99.99"]:
        return Verdict(claim, INCONCLUSIVE, f"{sentence} Too few windows for p99.99.", evidence)
    return Verdict(claim, REPRODUCED if within == len(rows) else REFUTED, sentence, evidence)


def evaluate(trials: pd.DataFrame, searches: pd.DataFrame, target_ms: float) -> list[Verdict]:
    """The published conclusions, put to this campaign's trials and searches."""
    return [claim.test(claim, (trials, searches, target_ms)) for claim in STREAM_CLAIMS]


STREAM_CLAIMS: tuple[Claim, ...] = (
    Claim(
        "processor-for-the-collector",
        "Cooperative threads that leave a processor to a concurrent collector answer sooner at the tail.",
        SOURCE,
        lambda claim, given: _judged(claim, _concurrent(left_to_collector(given[0]))),
    ),
    Claim(
        "g1-within-target",
        "G1 with a 5 ms pause target and a processor of its own holds 99.99% of results within 10 ms.",
        SOURCE,
        lambda claim, given: _within_target(claim, given[0], given[2]),
    ),
    Claim(
        "more-throughput-within-target",
        "A processor left to a concurrent collector lets the engine hold the latency at more throughput.",
        SOURCE,
        lambda claim, given: _judged(claim, _concurrent(highest_with_one_left(given[1]))),
    ),
    Claim(
        "green-threads-answer-sooner",
        "Cooperative threads answer sooner at the tail than a native thread for each processor.",
        SOURCE,
        lambda claim, given: _judged(claim, native_threads(given[0])),
    ),
)

_ALLOCATION = Claim(
    "allocation-costs-latency",
    "An aggregate that allocates at every update answers later at the tail than one that does not.",
    "this project",
    lambda claim, given: _judged(claim, pairs(given[0], "aggregate", "boxed", "garbage_free", what=_BOXED)),
)


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
            least = _millions(behind["offered_items_per_second"].min())
            rows.append((solution, len(behind), f"fell behind, at {least} million items a second or more"))
        for reason, failed in group[group["status"] != "ok"].groupby("reason", dropna=False):
            rows.append((solution, len(failed), f"{failed['status'].iloc[0]}: {reason}"))
    rows += [(row["solution"], 0, row["left_out_because"]) for _, row in plan[~plan["planned"]].iterrows()]
    return pd.DataFrame(rows, columns=["solution", "trials", "reason"])


def collector_table(trials: pd.DataFrame) -> pd.DataFrame:
    """What the collectors did meanwhile: pauses, processors they kept busy, their threads; medians of the trials that
    kept up with the allocating aggregate on cooperative threads, over all rates."""
    good = finished(trials)
    good = good[good["kept_up"].fillna(False) & (good["aggregate"] == "boxed") & (good["processors"] == "cooperative")]
    rows = []
    for (solution, threads), group in good.groupby(["solution", "cooperative_threads"], sort=False):
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
    verdicts = {item.claim.id: item for item in evaluate(trials, searches, target_ms)}
    found = brackets(trials, searches, target_ms)
    if found.empty or not found["holds_low"].max():
        head = f"**No configuration was shown to hold {target_ms:g} ms at the tail in every repetition.**"
    else:
        best = found.nlargest(1, ["holds_low", "holds_high"]).iloc[0]
        head = (
            f"**{name_of(best)} held {target_ms:g} ms at the tail in every repetition at the highest throughput, "
            f"{_millions(best['holds_low'])} million items a second"
            f"{' (no higher rate was run)' if pd.isna(best['fails']) else ''}.**"
        )
    core, free = verdicts["processor-for-the-collector"], _ALLOCATION.test(_ALLOCATION, (trials,))
    return (
        f"{head} A processor left to the collector: {core.outcome}. {core.sentence} Allocating at every update: "
        f"{free.outcome}. {free.sentence} {machine(trials)}"
    )


def stored_verdict(profile: str) -> str:
    """The verdict on what a campaign of this profile left; runs nothing."""
    try:
        tables, _ = campaign.read_tables("stream", profile)
    except UserError:
        return "**Undecided.** The streaming engine was not measured under this profile."
    opened = campaign.open_study("stream", profile).profile
    assert isinstance(opened, StreamProfile)
    return verdict(tables["trials"], tables.get("searches", frame([], SEARCHES)), opened.target_ms)
