"""What the conclusions of "Memory allocation speed check" (``claims.yaml``) are put to: what the source ran, CMS on the
oldest release here, and today's collectors."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping
from functools import cache, partial
from typing import Any

import numpy as np
import pandas as pd

from allocpool.evidence import claims, reference
from allocpool.evidence.claims import Verdict
from allocpool.evidence.declared import Cell, Cells, claims_of
from allocpool.evidence.trials import finished, newest_release, records
from allocpool.runtimes.collectors import FEATURES, collectors_that
from allocpool.studies.allocation.specs import SOURCES, TECHNIQUES

PUBLISHED_BYTES = (1024, 10_240, 102_400)
LEAST_COLLECTIONS = 3
"""In a window, on average, for a claim about collections."""
_CONTROLS = collectors_that(lambda row: row.never_frees)
LARGE = PUBLISHED_BYTES[-1]
OPERATIONS = {
    "malloc": ("malloc", "ns_per_alloc"),
    "free": ("malloc", "ns_per_free"),
    "java_heap": ("byte_array", "ns_per_alloc"),
    "java_direct": ("direct_buffer", "ns_per_alloc"),
}
"""Published operations: technique and column."""
_MEMORIES = {"c": "c", "java_heap": "heap", "java_direct": "direct"}
_NAMES = {"byte_array": "byte[]", "direct_buffer": "direct"}
THEN, NOW, IN_CPP, _PUBLISHED = f"Java {FEATURES[0]}, CMS", "newest Java", "C++", "published"
"""What the source ran, as near as can be; today's collectors; C++ alone; the source's figures."""


def published_as_trials() -> pd.DataFrame:
    """Return the published tables in the form of measured trials, one block."""
    made, passes = reference.load("allocation_speed"), reference.load("access_speed_100kb")
    rows: list[dict[Hashable, Any]] = [
        {"mode": "allocation", "technique": technique, "bytes": row.object_bytes, column: row.cost_us * 1000}
        for row in records(made)
        for technique, column in [OPERATIONS[row.operation]]
    ]
    passes = passes.assign(
        mode="access", memory=passes["memory"].map(_MEMORIES), bytes=LARGE, ns_per_pass=passes["cost_us"] * 1000
    )
    rows += passes[["mode", "memory", "operation", "bytes", "ns_per_pass"]].to_dict("records")
    unmeasured = dict.fromkeys(["distribution", "collector", "runtime"])
    frame = pd.DataFrame(rows).assign(
        status="ok", block=0, served_by="2012", strategy="alloc", touch="none", resident_over_live_before=np.nan,
        resident_over_live_after=np.nan, **unmeasured,
    )  # fmt: skip
    in_c = (frame["technique"] == "malloc") | (frame["memory"] == "c")
    return frame.assign(language=in_c.map({True: "cpp", False: "java"}))


def young_collections(setup: pd.DataFrame, object_bytes: int) -> float:
    """Return the young collections of the published run of a size: bytes allocated over the eden space.

    ``setup`` is the published one, by name. Eden is what two survivor spaces leave of the new generation, each a share
    ``1 / (survivor_ratio + 2)`` of it (Java SE HotSpot tuning guide, "Survivor Space Sizing"); 16 bytes are the header
    of an array.
    """
    value = setup.set_index("setting")["value"].astype(float)
    eden_bytes = value["new_size_mb"] * 2**20 * value["survivor_ratio"] / (value["survivor_ratio"] + 2)
    buffers = value["allocations_100kb" if object_bytes == LARGE else "allocations"]
    return float(buffers * (object_bytes + 16) // eden_bytes)


def _of(set_up: str, trials: pd.DataFrame) -> pd.DataFrame:
    """Return the trials of a set-up: C++ belongs to each."""
    if set_up == _PUBLISHED or trials.empty:
        return trials
    cpp = trials["language"] == "cpp"
    java = ~cpp & ~trials["collector"].isin(_CONTROLS)
    if set_up == IN_CPP:
        return trials[cpp]
    if set_up == THEN:
        return trials[cpp | (java & (trials["collector"] == "cms") & (trials["runtime"] == FEATURES[0]))]
    return trials[cpp | (java & (trials["runtime"] == newest_release(trials, FEATURES[0], FEATURES[-1])))]


def cells_of(trials: pd.DataFrame, set_up: str, touch: str = "none") -> Cells:
    """Return what claims are put to, of a set-up; of buffers only fresh ones that are touched in this way.

    ``what``: a technique, or the memory of a pass. ``metric``: alloc; collecting, the same where there were collections
    enough; free; an operation; resident_before and resident_after a shift.
    """
    plain = _of(set_up, finished(trials))
    made = plain[(plain["mode"] == "allocation") & (plain["strategy"] == SOURCES[0]) & (plain["touch"] == touch)]
    shifted = plain[(plain["mode"] == "fragmentation") & (plain["distribution"] == "phases")]
    cells = [*_obtained(made, counted=set_up != _PUBLISHED)]
    accessed = plain[plain["mode"] == "access"]
    touched = _grouped(accessed, "memory", "operation", "served_by")
    # What is obtained is also to be copied to.
    direct = [("direct", "copy", on) for on in made.loc[made["technique"] == "direct_buffer", "served_by"].unique()]
    for memory, operation, on in dict.fromkeys([*touched, *direct]):
        rows = touched.get((memory, operation, on), accessed.iloc[:0])
        values = _by_block(rows[rows["bytes"] == LARGE], "ns_per_pass")
        cells.append(_cell(memory, operation, on, LARGE, f"{operation} {memory} {on}", values))
    for (technique, on), rows in _grouped(shifted, "technique", "served_by").items():
        for when in ("before", "after"):
            label = f"{TECHNIQUES[technique].label} {on} {when} the shift"
            values = _by_block(rows, f"resident_over_live_{when}")
            cells.append(_cell(technique, f"resident_{when}", on, None, label, values))
    return Cells(cells, ("what", "metric", "served_by", "bytes"))


def _grouped(rows: pd.DataFrame, *names: str) -> dict[Any, pd.DataFrame]:
    return dict(iter(rows.groupby(list(names), observed=True)))


def _cell(what: str, metric: str, on: str, size: int | None, label: str, values: pd.Series, gap: str = "") -> Cell:
    facts = {"what": what, "metric": metric, "served_by": on, "bytes": size}
    return Cell(facts, label, values, gap or "no figure")


def _by_block(rows: pd.DataFrame, column: str) -> pd.Series:
    return pd.Series(rows[column].to_numpy(float, na_value=np.nan), rows["block"]).dropna()


def _obtained(made: pd.DataFrame, counted: bool) -> Iterator[Cell]:
    """Yield what it costs to obtain a buffer and to free it."""
    for (technique, on), rows in _grouped(made, "technique", "served_by").items():
        name = _NAMES.get(technique, technique)
        on_heap = counted and technique == "byte_array"
        seen = _by_block(rows[rows["bytes"] == LARGE], "gc_pauses").mean() if on_heap else math.inf
        for size in PUBLISHED_BYTES:
            here = rows[rows["bytes"] == size]
            costs = _by_block(here, "ns_per_alloc")
            yield _cell(technique, "alloc", on, size, f"{name} {on} {size}", costs)
            if technique == "malloc":
                yield _cell(technique, "free", on, size, f"free {on} {size}", _by_block(here, "ns_per_free"))
            gap = ""
            if not seen >= LEAST_COLLECTIONS:
                costs = costs.iloc[:0]
                gap = f"{seen:.1f} collections in a window, where {LEAST_COLLECTIONS} are asked for"
            yield _cell(technique, "collecting", on, size, f"{name} {on} {size}", costs, gap)


@cache
def _published() -> Cells:
    return cells_of(published_as_trials(), _PUBLISHED)


ALLOCATION_CLAIMS = claims_of("allocation", published=_published)


def evaluate(trials: pd.DataFrame) -> list[Verdict]:
    """Judge every claim on each of its set-ups."""
    return claims.evaluate_apart(ALLOCATION_CLAIMS, partial(cells_of, trials))


def of_campaign(tables: Mapping[str, pd.DataFrame], _settings: Mapping[str, Any]) -> list[Verdict]:
    """Judge the claims on what a campaign left."""
    return evaluate(tables["trials"])
