"""Tables and sentences of the allocation notebook, computed from its trials."""

from __future__ import annotations

from collections.abc import Hashable
from statistics import median_low
from typing import Any, NamedTuple

import pandas as pd

from allocpool import decisions, stats
from allocpool.campaign import store
from allocpool.decisions import Comparison
from allocpool.evidence import reference, tables
from allocpool.evidence.trials import finished, gap_of
from allocpool.studies.allocation.claims import (
    PUBLISHED_BYTES,
    published_as_trials,
    young_collections,
)
from allocpool.studies.allocation.specs import CHURNED, TECHNIQUES
from allocpool.studies.allocation.study import STUDY

_LABELS = {name: technique.label for name, technique in {**TECHNIQUES, **CHURNED}.items()}


def label(technique: object, strategy: object = "alloc") -> str:
    """A technique as figures print it."""
    name = _LABELS.get(str(technique), str(technique))
    return f"pool of {name}" if strategy == "pool" else name


def caption(trials: pd.DataFrame) -> str:
    """n and the kind of spread behind a figure of these trials."""
    done = finished(trials)
    if done.empty:
        return "No trial has finished."
    n = int(done["block"].nunique())
    if n == 1:
        return stats.trials_each(1, 1)
    method = stats.describe_method("Student", n)
    return f"{stats.trials_each(n, n)}; spread: {method}."


def _cell(values: pd.Series) -> str:
    known = values.dropna().astype(float)
    return stats.geometric_interval(known).text() if len(known) else "-"


def costs(trials: pd.DataFrame) -> pd.DataFrame:
    """Every allocation configuration with its costs: one row each."""
    rows = []
    keys = ["technique", "strategy", "touch", "bytes", "served_by"]
    for key, group in trials[trials["mode"] == "allocation"].groupby(keys, sort=True, observed=True):
        technique, strategy, touch, size, served_by = key
        done = finished(group)
        reclaiming = done["reclaim_cpu_ns_per_buffer"]
        why = gap_of(group).text if done.empty else ""
        rows.append(
            {
                "technique": label(technique, strategy),
                "served by": served_by,
                "bytes": int(str(size)),
                "touch": touch,
                "ns per alloc": why or _cell(done["ns_per_alloc"]),
                "ns per free": _cell(done["ns_per_free"]),
                # Of a buffer that nobody touches no byte moves.
                "MB per s": "-" if touch == "none" else _cell(done["bytes_per_second"] / 1e6),
                "collections": "-" if done["gc_pauses"].isna().all() else f"{done['gc_pauses'].mean():.0f}",
                "pauses, ms": "-" if done["gc_pauses"].isna().all() else f"{done['gc_pause_total_ms'].mean():.1f}",
                "CPU ns": _cell(done["cpu_ns_per_buffer"]),
                "of it reclaiming": _cell(reclaiming[reclaiming > 0]),
                "peak MiB": _cell(done["peak_rss_mb"]),
            }
        )
    return pd.DataFrame(rows)


def _plain(trials: pd.DataFrame) -> pd.DataFrame:
    """Finished trials whose buffers are fresh and untouched."""
    return finished(trials[(trials["strategy"] == "alloc") & (trials["touch"] == "none")])


def beside_published(trials: pd.DataFrame) -> pd.DataFrame:
    """The published table with our untouched figures beside it: one row per operation, size and what serves it."""
    published, setup = published_as_trials(), reference.load("allocation_speed_setup")
    done = _plain(trials)
    rows = []
    for name, technique, column in (
        ("malloc", "malloc", "ns_per_alloc"),
        ("free", "malloc", "ns_per_free"),
        ("Java heap", "byte_array", "ns_per_alloc"),
        ("Java direct", "direct_buffer", "ns_per_alloc"),
    ):
        for size in PUBLISHED_BYTES:
            theirs = published[(published["technique"] == technique) & (published["bytes"] == size)][column].dropna()
            collections = f"{young_collections(setup, size):.0f}" if technique == "byte_array" else None
            ours = done[(done["mode"] == "allocation") & (done["technique"] == technique) & (done["bytes"] == size)]
            for served_by, group in ours.groupby("served_by"):
                rows.append(
                    {
                        "operation": name,
                        "bytes": size,
                        "published ns": stats.significant(float(theirs.iloc[0])),
                        "published collections": collections,
                        "served by": served_by,
                        "measured ns": _cell(group[column]),
                        "collections": "-" if group["gc_pauses"].isna().all() else f"{group['gc_pauses'].mean():.0f}",
                    }
                )
    return pd.DataFrame(
        rows,
        columns=[
            "operation", "bytes", "published ns", "published collections", "served by", "measured ns", "collections",
        ],
    )  # fmt: skip


def access(trials: pd.DataFrame) -> pd.DataFrame:
    """One row per memory, operation and what serves it, with the published figure where there is one."""
    published = published_as_trials()
    rows = []
    measured = finished(trials[trials["mode"] == "access"])
    for key, group in measured.groupby(["operation", "memory", "served_by", "bytes"], observed=True):
        operation, memory, served_by, size = key
        theirs = published[(published["memory"] == memory) & (published["operation"] == operation)]["ns_per_pass"]
        is_theirs = len(theirs) > 0 and int(str(size)) == PUBLISHED_BYTES[-1]
        rows.append(
            {
                "operation": operation,
                "memory": memory,
                "served by": served_by,
                "bytes": int(str(size)),
                "us per pass": _cell(group["ns_per_pass"] / 1000),
                "ns per byte": _cell(group["ns_per_byte"]),
                "published us": stats.significant(float(theirs.iloc[0]) / 1000) if is_theirs else "-",
            }
        )
    return pd.DataFrame(rows)


def same_content(trials: pd.DataFrame) -> str:
    """Whether all memories and languages ended with the same content, in a sentence."""
    done = finished(trials[trials["checksum"].notna()])
    keys = ["mode", "operation", "distribution", "bytes", "live_mb"]
    kinds = done.groupby(keys, dropna=False, observed=True)["checksum"].nunique()
    broken = int((kinds > 1).sum())
    if broken:
        return f"**The contract is broken**: {broken} of {len(kinds)} kinds of work ended with different checksums."
    return f"All {len(done)} trials with a checksum agree, over {len(kinds)} kinds of work: C++ and Java did the same."


class _Saving(NamedTuple):
    """Fresh buffers beside pooled ones: ``saved_ns`` per buffer, and the ratio of their costs."""

    technique: str
    served_by: str
    touch: str
    size: int
    saved_ns: float
    compared: Comparison

    @property
    def name(self) -> str:
        return f"{label(self.technique)} on {self.served_by} at {self.size:,} bytes"


def _savings(trials: pd.DataFrame) -> list[_Saving]:
    """Of every buffer that was measured both ways; all are decided together."""
    done = finished(trials[trials["mode"] == "allocation"])
    keys, sides = [], []
    for key, group in done.groupby(["technique", "served_by", "touch", "bytes"], observed=True):
        fresh, pooled = (
            group[group["strategy"] == strategy].set_index("block")["ns_per_buffer"].astype(float).dropna()
            for strategy in ("alloc", "pool")
        )
        if len(fresh) and len(pooled):
            technique, served_by, touch, size = key
            saved_ns = stats.geometric_mean(fresh) - stats.geometric_mean(pooled)
            keys.append((str(technique), str(served_by), str(touch), int(str(size)), saved_ns))
            sides.append((fresh, pooled))
    return [_Saving(*key, item) for key, item in zip(keys, decisions.compare_together(sides), strict=True)]


def pooling_saves(trials: pd.DataFrame) -> pd.DataFrame:
    """What a pool saves by size: alloc plus free, fresh over pooled; all are decided together."""
    savings = _savings(trials)
    names = [
        {
            "technique": label(item.technique), "served by": item.served_by, "touch": item.touch, "bytes": item.size,
            "ns saved per buffer": stats.significant(item.saved_ns),
        }
        for item in savings
    ]  # fmt: skip
    return tables.comparisons(names, [item.compared for item in savings], "fresh over pooled")


def fragmentation(trials: pd.DataFrame) -> pd.DataFrame:
    """One row per allocator or heap and distribution: throughput, p99 and memory over live bytes."""
    rows = []
    measured = finished(trials[trials["mode"] == "fragmentation"])
    for key, group in measured.groupby(["distribution", "technique", "served_by"], observed=True):
        distribution, technique, served_by = key
        rows.append(
            {
                "sizes": distribution,
                "technique": label(technique),
                "served by": served_by,
                "MB per s": _cell(group["bytes_per_second"] / 1e6),
                "p50 ns": _cell(group["p50_ns"]),
                "empty p50": _cell(group["empty_p50_ns"]),
                "p99 ns": _cell(group["p99_ns"]),
                "empty p99": _cell(group["empty_p99_ns"]),
                "resident over live": _cell(group["resident_over_live"]),
                "before the shift": _cell(group["resident_over_live_before"]),
                "after it": _cell(group["resident_over_live_after"]),
                "kept over live": _cell(group["kept_over_live"]),
                "at rest, a quarter alive" if distribution == "phases" else "at rest": _cell(
                    group["resident_over_live_at_rest"]
                ),
            }
        )
    return pd.DataFrame(rows)


def jmh_beside_ours(trials: pd.DataFrame) -> pd.DataFrame:
    """JMH's figures beside ours for the same configurations."""
    rows = []
    done = _plain(trials)
    keys = ["technique", "served_by", "bytes"]
    for key, group in done[done["mode"] == "jmh"].groupby(keys, observed=True):
        ours = done[done["mode"] == "allocation"]
        for name, value in zip(keys, key, strict=True):
            ours = ours[ours[name] == value]
        rows.append(
            {
                "technique": label(key[0]),
                "served by": key[1],
                "bytes": int(str(key[2])),
                "JMH ns": _cell(group["ns_per_alloc"]),
                "our ns": _cell(ours["ns_per_buffer"]),
                "JMH heap bytes": _cell(group["heap_bytes_per_buffer"]),
                "our heap bytes": _cell(ours["heap_bytes_per_buffer"]),
            }
        )
    return pd.DataFrame(
        rows, columns=["technique", "served by", "bytes", "JMH ns", "our ns", "JMH heap bytes", "our heap bytes"]
    )


def _configuration(row: dict[Hashable, Any]) -> str:
    what = row["memory"] if row["mode"] == "access" else row["technique"]
    detail = row["distribution"] if row["mode"] == "fragmentation" else f"{row['bytes']} bytes"
    return f"{row['mode']} {what} {detail} on {row['served_by']}"


def gaps(trials: pd.DataFrame, plan: pd.DataFrame) -> pd.DataFrame:
    """What has no figure and why: failed and impossible trials first, then what the profile leaves out, folded."""
    bad = trials[trials["status"] != "ok"]
    rows = [{"what": _configuration(row), "why": f"{row['status']}: {row['reason']}"} for row in bad.to_dict("records")]
    for mode, group in plan[~plan["planned"].astype(bool)].groupby("mode"):
        rows.append({"what": f"{mode}: {len(group)} combinations", "why": str(group["left_out_because"].iloc[0])})
    return pd.DataFrame(rows, columns=["what", "why"])


def verdict(trials: pd.DataFrame) -> str:
    """The answer in a sentence or two: for how many buffers a pool is shown to be cheaper, and where it saves most.

    It is about buffers that the program touches; where none was measured both ways, how many of the untouched ones are
    cheaper which way, and not by how much: no program does nothing with a buffer.
    """
    every = _savings(trials)
    touched = [item for item in every if item.touch != "none"]
    savings = touched or every
    if not savings:
        return "No pair of fresh and pooled buffers has been measured yet."
    pool = [item for item in savings if item.compared.direction > 0]
    fresh = [item for item in savings if item.compared.direction < 0]
    same = sum(item.compared.equivalent for item in savings)
    needed = [
        item.compared.decision.blocks_needed for item in savings if item.compared.decision.verdict == decisions.OPEN
    ]
    more = [count for count in needed if count is not None]
    wait = f" (half of them for at most {median_low(more)} more trials each)" if more else " (too noisy)"
    counts = [
        f"{count} {what}"
        for count, what in (
            (len(pool), "where the pool is cheaper"),
            (len(fresh), "where the fresh buffer is"),
            (same, "with no difference that matters"),
            (len(needed), f"still open{wait}"),
        )
        if count
    ]
    what = "touched" if touched else "untouched"
    text = f"Fresh against pooled buffers, {what}, {stats.plural(len(savings), 'comparison')}: {', '.join(counts)}."
    for side, name in ((pool, "a pool"), (fresh, "a fresh buffer")):
        if side and touched:
            most = max(side, key=lambda item: abs(item.saved_ns))
            told = f"{most.compared.text()}, n = {most.compared.decision.n}"
            text += f" The most that {name} saves is {stats.significant(abs(most.saved_ns))} ns each, {most.name}"
            text += f" (fresh over pooled: {told})."
    return text


def take_home(profile: str) -> str:
    """The verdict on what a campaign of this profile left; runs nothing."""
    stored, _ = store.stored(STUDY.name, profile)
    return verdict(stored["trials"])
