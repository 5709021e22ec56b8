"""What the conclusions of "Memory allocation speed check" (``claims.yaml``) are put to.

Each is put to what the source ran, CMS on the oldest release here, and to today's collectors.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import cache, partial
from typing import Any

import numpy as np
import pandas as pd

from allocpool.evidence import claims, reference
from allocpool.evidence.claims import Verdict
from allocpool.evidence.declared import Cell, Cells, claims_of
from allocpool.evidence.trials import finished, newest_release
from allocpool.runtimes.collectors import FEATURES, collectors_that
from allocpool.studies.allocation.specs import CHURNED, SOURCES

PUBLISHED_BYTES = (1024, 10_240, 102_400)
LEAST_COLLECTIONS = 3
"""So many collections a window must have seen, on average, before a claim about collections can rest on it."""
_CONTROLS = collectors_that(lambda row: row.is_control)
LARGE = PUBLISHED_BYTES[-1]
_OPERATIONS = {
    "malloc": ("malloc", "ns_per_alloc"),
    "free": ("malloc", "ns_per_free"),
    "java_heap": ("byte_array", "ns_per_alloc"),
    "java_direct": ("direct_buffer", "ns_per_alloc"),
}
_MEMORIES = {"c": "c", "java_heap": "heap", "java_direct": "direct"}
_NAMES = {"byte_array": "byte[]", "direct_buffer": "direct"}
THEN, NOW, IN_CPP, _PUBLISHED = f"Java {FEATURES[0]}, CMS", "newest Java", "C++", "published"
"""What the source ran, as near as can be; today's collectors; C++ alone; the source's own figures."""


def published_as_trials() -> pd.DataFrame:
    """The published tables in the form of measured trials, one block."""
    rows = []
    for row in reference.load("allocation_speed").to_dict("records"):
        technique, column = _OPERATIONS[row["operation"]]
        rows.append(
            {"mode": "allocation", "technique": technique, "bytes": row["object_bytes"], column: row["cost_us"] * 1000}
        )
    for row in reference.load("access_speed_100kb").to_dict("records"):
        rows.append(
            {
                "mode": "access",
                "memory": _MEMORIES[row["memory"]],
                "operation": row["operation"],
                "bytes": LARGE,
                "ns_per_pass": row["cost_us"] * 1000,
            }
        )
    unmeasured = dict.fromkeys(["distribution", "collector", "runtime"])
    frame = pd.DataFrame(rows).assign(
        status="ok", block=0, served_by="2012", strategy="alloc", touch="none", resident_over_live_before=np.nan,
        resident_over_live_after=np.nan, **unmeasured,
    )  # fmt: skip
    frame["language"] = frame["technique"].map({"malloc": "cpp"}).fillna("java")
    frame.loc[frame["memory"] == "c", "language"] = "cpp"
    return frame


def young_collections(setup: pd.DataFrame, object_bytes: int) -> float:
    """Young collections that the published run of a size must have had: bytes allocated over the eden space.

    ``setup`` is the published one, by name. Eden is what two survivor spaces leave of the new generation, each a share
    ``1 / (survivor_ratio + 2)`` of it (Java SE HotSpot tuning guide, "Survivor Space Sizing"); 16 bytes are the header
    of an array.
    """
    value = setup.set_index("setting")["value"].astype(float)
    eden_bytes = value["new_size_mb"] * 2**20 * value["survivor_ratio"] / (value["survivor_ratio"] + 2)
    buffers = value["allocations_100kb" if object_bytes == LARGE else "allocations"]
    return float(buffers * (object_bytes + 16) // eden_bytes)


def _of(set_up: str, trials: pd.DataFrame) -> pd.DataFrame:
    """The trials of a set-up: C++ belongs to each."""
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

    Columns: ``what`` (a technique, or memory that is written to), ``metric`` (alloc; collecting, the same where there
    were collections enough; free; an operation; resident_before and resident_after a shift), ``served_by``, ``bytes``.
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
            label = f"{CHURNED[technique].label} {on} {when} the shift"
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
    """What it costs to obtain a buffer and to free it."""
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
    """Put every claim to a campaign's trials, set-up by set-up."""
    return claims.evaluate_apart(ALLOCATION_CLAIMS, partial(cells_of, trials))


def of_campaign(tables: Mapping[str, pd.DataFrame], _settings: Mapping[str, Any]) -> list[Verdict]:
    """The verdicts of a campaign, on what it left, as its page and the first page show them."""
    return evaluate(tables["trials"])
