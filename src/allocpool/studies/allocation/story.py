"""Tables and verdict of the allocation notebook, computed from its trials."""

from __future__ import annotations

import pandas as pd

from allocpool import stats
from allocpool.campaign import store
from allocpool.decisions import compare_together
from allocpool.evidence import reference
from allocpool.evidence.tables import intervals
from allocpool.evidence.trials import finished
from allocpool.packets import by_size
from allocpool.studies.allocation.claims import OPERATIONS, PUBLISHED_BYTES, published_as_trials, young_collections
from allocpool.studies.allocation.specs import TECHNIQUES

_BUFFER = ["technique", "served_by", "touch", "bytes"]


def label(technique: object, strategy: object = "alloc") -> str:
    """Return a technique as figures print it."""
    name = TECHNIQUES[str(technique)].label if technique in TECHNIQUES else str(technique)
    return f"pool of {name}" if str(strategy) == "pool" else name


def named(trials: pd.DataFrame) -> pd.DataFrame:
    """Return the trials that ended well, with techniques as readers see them."""
    done = finished(trials)
    return done.assign(technique=[label(*both) for both in zip(done["technique"], done["strategy"], strict=True)])


def with_published(trials: pd.DataFrame) -> pd.DataFrame:
    """Return the published table with our untouched figures: one row per operation, size and what serves it."""
    published, setup = published_as_trials(), reference.load("allocation_speed_setup")
    fresh = (trials["mode"] == "allocation") & (trials["strategy"] == "alloc") & (trials["touch"] == "none")
    done = finished(trials[fresh & trials["bytes"].isin(PUBLISHED_BYTES)]).sort_values("bytes")
    parts = []
    for operation, (technique, column) in OPERATIONS.items():
        theirs = published[published["technique"] == technique].dropna(subset=[column]).set_index("bytes")[column]
        columns = {column: "measured ns", "gc_pauses": "collections"}
        found = intervals(done[done["technique"] == technique], ["bytes", "served_by"], columns)
        found.insert(0, "operation", operation.replace("_", " "))
        found["published ns"] = found["bytes"].map(theirs).map(stats.significant, na_action="ignore")
        if technique == "byte_array":
            found["published collections"] = [f"{young_collections(setup, size):.0f}" for size in found["bytes"]]
        parts.append(found)
    return pd.concat(parts, ignore_index=True)


def pooling_saves(trials: pd.DataFrame) -> pd.DataFrame:
    """Return what obtaining and giving back a fresh buffer cost over a pooled one: ``ratio``, its interval, ``n``, the
    verdict, and ns saved. All buffers that were measured both ways are decided together."""
    names, sides = [], []
    for key, group in finished(trials[trials["mode"] == "allocation"]).groupby(_BUFFER, observed=True):
        fresh, pooled = (
            group[group["strategy"] == strategy].set_index("block")["ns_per_buffer"].astype(float).dropna()
            for strategy in ("alloc", "pool")
        )
        if len(fresh) and len(pooled):
            names.append((*key, stats.geometric_mean(fresh) - stats.geometric_mean(pooled)))
            sides.append((fresh, pooled))
    figures = []
    for one in compare_together(sides):
        found = one.decision
        verdict = by_size.verdict_of(found.n, one.direction, one.equivalent)
        figures.append((found.ratio, found.low, found.high, found.n, verdict, found.remark or None))
    saved = pd.DataFrame(names, columns=[*_BUFFER, "ns_saved"])
    return saved.join(pd.DataFrame(figures, columns=["ratio", "low", "high", "n", "verdict", "remark"]))


def verdict(trials: pd.DataFrame) -> str:
    """Return for how many buffers that the program touches a pool is shown to be cheaper, or a fresh buffer.

    Untouched buffers are no part of it: no program does nothing with a buffer.
    """
    saved = pooling_saves(trials)
    return by_size.tally("Buffers that are touched", saved[saved["touch"] != "none"]).text


def summary(profile: str) -> str:
    """Return the verdict on what is stored under a profile."""
    return verdict(store.stored("allocation", profile)[0]["trials"])
