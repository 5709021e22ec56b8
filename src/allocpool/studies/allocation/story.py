"""Tables and verdict of the allocation notebook, computed from its trials."""

from __future__ import annotations

import pandas as pd

from allocpool import decisions, stats
from allocpool.campaign import store
from allocpool.decisions import Comparison
from allocpool.evidence import reference, tables
from allocpool.evidence.tables import intervals
from allocpool.evidence.trials import finished
from allocpool.packets import by_size
from allocpool.studies.allocation.claims import PUBLISHED_BYTES, published_as_trials, young_collections
from allocpool.studies.allocation.specs import CHURNED, TECHNIQUES
from allocpool.studies.allocation.study import STUDY

_LABELS = {name: technique.label for name, technique in {**TECHNIQUES, **CHURNED}.items()}


def label(technique: object, strategy: object = "alloc") -> str:
    """Return a technique as figures print it."""
    name = _LABELS.get(str(technique), str(technique))
    return f"pool of {name}" if strategy == "pool" else name


def _named(trials: pd.DataFrame) -> pd.DataFrame:
    """Trials with techniques as readers see them, and MB/s."""
    names = [label(*both) for both in zip(trials["technique"], trials["strategy"], strict=True)]
    return trials.assign(technique=names, mb_per_second=trials["bytes_per_second"] / 1e6)


def costs(trials: pd.DataFrame) -> pd.DataFrame:
    """Return every allocation configuration that has a figure, with its costs."""
    done = _named(finished(trials[trials["mode"] == "allocation"]))
    reclaiming = done["reclaim_cpu_ns_per_buffer"]
    # Of a buffer that nobody touches no byte moves.
    done = done.assign(
        reclaim_cpu_ns_per_buffer=reclaiming.where(reclaiming > 0),
        mb_per_second=done["mb_per_second"].where(done["touch"] != "none"),
    )
    columns = {
        "ns_per_alloc": "ns per alloc", "ns_per_free": "ns per free", "mb_per_second": "MB per s",
        "gc_pauses": "collections", "gc_pause_total_ms": "pauses, ms", "cpu_ns_per_buffer": "CPU ns",
        "reclaim_cpu_ns_per_buffer": "of it reclaiming", "peak_rss_mb": "peak MiB",
    }  # fmt: skip
    return intervals(done.sort_values(["touch", "bytes"]), ["technique", "served_by", "bytes", "touch"], columns)


def _plain(trials: pd.DataFrame, mode: str) -> pd.DataFrame:
    """Finished trials of a mode whose buffers are fresh and untouched."""
    return finished(trials[(trials["mode"] == mode) & (trials["strategy"] == "alloc") & (trials["touch"] == "none")])


_OPERATIONS = {
    "malloc": ("malloc", "ns_per_alloc"),
    "free": ("malloc", "ns_per_free"),
    "Java heap": ("byte_array", "ns_per_alloc"),
    "Java direct": ("direct_buffer", "ns_per_alloc"),
}


def with_published(trials: pd.DataFrame) -> pd.DataFrame:
    """Return the published table with our untouched figures: one row per operation, size and what serves it."""
    published, setup = published_as_trials(), reference.load("allocation_speed_setup")
    done, parts = _plain(trials, "allocation"), []
    for operation, (technique, column) in _OPERATIONS.items():
        theirs = published[published["technique"] == technique].dropna(subset=[column]).set_index("bytes")[column]
        ours = done[(done["technique"] == technique) & done["bytes"].isin(PUBLISHED_BYTES)].sort_values("bytes")
        found = intervals(ours, ["bytes", "served_by"], {column: "measured ns", "gc_pauses": "collections"})
        found.insert(0, "operation", operation)
        found["published ns"] = found["bytes"].map(theirs).map(stats.significant, na_action="ignore")
        if technique == "byte_array":
            found["published collections"] = [f"{young_collections(setup, size):.0f}" for size in found["bytes"]]
        parts.append(found)
    return pd.concat(parts, ignore_index=True)


def access(trials: pd.DataFrame) -> pd.DataFrame:
    """Return one row per memory, operation and what serves it, with the published figure where there is one."""
    measured = finished(trials[trials["mode"] == "access"])
    measured = measured.assign(us_per_pass=measured["ns_per_pass"] / 1000)
    keys = ["operation", "memory", "served_by", "bytes"]
    found = intervals(measured, keys, {"us_per_pass": "us per pass", "ns_per_byte": "ns per byte"})
    theirs = published_as_trials().dropna(subset=["ns_per_pass"]).assign(bytes=PUBLISHED_BYTES[-1])
    theirs["published us"] = (theirs["ns_per_pass"] / 1000).map(stats.significant)
    return found.merge(
        theirs[["operation", "memory", "bytes", "published us"]], "left", ["operation", "memory", "bytes"]
    )


def contents(trials: pd.DataFrame) -> pd.DataFrame:
    """Return the kinds of work whose trials ended with different contents in memory; none where all agree."""
    done = finished(trials[trials["checksum"].notna()])
    keys = ["mode", "operation", "distribution", "bytes", "live_mb"]
    kinds = done.groupby(keys, dropna=False, observed=True)["checksum"].nunique().reset_index(name="checksums")
    return kinds[kinds["checksums"] > 1]


def _savings(trials: pd.DataFrame) -> tuple[pd.DataFrame, list[Comparison]]:
    """Every buffer that was measured both ways, and fresh over pooled; all are decided together."""
    done = finished(trials[trials["mode"] == "allocation"])
    keys = ["technique", "served_by", "touch", "bytes"]
    names, sides = [], []
    for key, group in done.groupby(keys, observed=True):
        fresh, pooled = (
            group[group["strategy"] == strategy].set_index("block")["ns_per_buffer"].astype(float).dropna()
            for strategy in ("alloc", "pool")
        )
        if len(fresh) and len(pooled):
            names.append((*key, stats.geometric_mean(fresh) - stats.geometric_mean(pooled)))
            sides.append((fresh, pooled))
    return pd.DataFrame(names, columns=[*keys, "ns saved per buffer"]), decisions.compare_together(sides)


def pooling_saves(trials: pd.DataFrame) -> pd.DataFrame:
    """Return what a pool saves by size: alloc plus free, fresh over pooled; all are decided together."""
    names, compared = _savings(trials)
    names["technique"] = names["technique"].map(label)
    names["ns saved per buffer"] = names["ns saved per buffer"].map(stats.significant)
    return tables.comparisons([{str(k): v for k, v in row.items()} for row in names.to_dict("records")], compared,
                              "fresh over pooled")  # fmt: skip


def fragmentation(trials: pd.DataFrame) -> pd.DataFrame:
    """Return one row per allocator or heap and distribution: throughput, p99 and memory over live bytes."""
    columns = {
        "mb_per_second": "MB per s", "p50_ns": "p50 ns", "empty_p50_ns": "empty p50", "p99_ns": "p99 ns",
        "empty_p99_ns": "empty p99", "resident_over_live": "resident over live",
        "resident_over_live_before": "before the shift", "resident_over_live_after": "after it",
        "kept_over_live": "kept over live", "resident_over_live_at_rest": "at rest",
    }  # fmt: skip
    measured = _named(finished(trials[trials["mode"] == "fragmentation"]))
    return intervals(measured, ["distribution", "technique", "served_by"], columns)


def against_jmh(trials: pd.DataFrame) -> pd.DataFrame:
    """Return JMH's figures and ours of the same configurations."""
    keys = ["technique", "served_by", "bytes"]
    theirs, ours = (
        intervals(_named(_plain(trials, mode)), keys, {cost: f"{whose} ns", "heap_bytes_per_buffer": f"{whose} bytes"})
        for mode, cost, whose in (("jmh", "ns_per_alloc", "JMH"), ("allocation", "ns_per_buffer", "our"))
    )
    return theirs.merge(ours, "left", keys, suffixes=(", JMH", ", ours"))


def gaps(trials: pd.DataFrame, plan: pd.DataFrame) -> pd.DataFrame:
    """Return what has no figure and why: failed and impossible trials, then what the profile leaves out, counted."""
    bad = trials[trials["status"] != "ok"]
    bad = bad.assign(why=bad["status"].astype(str) + ": " + bad["reason"].astype(str))
    left_out = plan[~plan["planned"].astype(bool)].rename(columns={"left_out_because": "why"}).assign(served_by="all")
    both = pd.concat([bad, left_out])
    return (
        both.groupby(["mode", "served_by", "why"], observed=True, sort=False).size().reset_index(name="configurations")
    )


def verdict(trials: pd.DataFrame) -> str:
    """Return for how many buffers that the program touches a pool is shown to be cheaper, or a fresh buffer.

    Untouched buffers are no part of it: no program does nothing with a buffer.
    """
    names, compared = _savings(trials)
    touched = [one for one, touch in zip(compared, names["touch"], strict=True) if touch != "none"]
    return by_size.tally_of("Buffers that are touched", touched)


def take_home(profile: str) -> str:
    """Return the verdict on what a campaign of this profile left; runs nothing."""
    return verdict(store.stored(STUDY.name, profile)[0]["trials"])
