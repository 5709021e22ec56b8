"""What the conclusions of "Memory allocation speed check" (``claims.yaml``) are put to: what the source ran, CMS on the
oldest release here, and today's collectors; and why some fail here. Those on obtaining buffers are put to the source's
experiment, mode ``grow``, where it was measured, else to recycled rounds."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Any

import numpy as np
import pandas as pd

from allocpool.evidence import claims, reference
from allocpool.evidence.ablation import Ablation, Asked, Changed, Sides, ablations, failed
from allocpool.evidence.claims import OTHER_WAY, Verdict
from allocpool.evidence.declared import Cell, Cells, claims_of
from allocpool.evidence.trials import finished, newest_release
from allocpool.runtimes.collectors import FEATURES, collectors_that
from allocpool.studies.allocation.specs import EXPERIMENTS, SOURCE_TECHNIQUES, SOURCES, TECHNIQUES

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
    named = made["operation"].map(OPERATIONS)
    made = made.assign(mode="grow", technique=named.str[0], bytes=made["object_bytes"])
    made = made.join(made.assign(ns=made["cost_us"] * 1000, column=named.str[1]).pivot(columns="column", values="ns"))
    passes = passes.assign(
        mode="access", memory=passes["memory"].map(_MEMORIES), bytes=LARGE, ns_per_pass=passes["cost_us"] * 1000
    )
    frame = pd.concat([made, passes], ignore_index=True).assign(
        status="ok", block=0, served_by="2012", strategy="alloc", touch="none", resident_over_live_before=np.nan,
        resident_over_live_after=np.nan, distribution=None, collector=None, runtime=None,
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
    if set_up == IN_CPP:
        return trials[cpp]
    runtime = FEATURES[0] if set_up == THEN else newest_release(trials, FEATURES[0], FEATURES[-1])
    collector = trials["collector"] == "cms" if set_up == THEN else ~trials["collector"].isin(_CONTROLS)
    return trials[cpp | (collector & (trials["runtime"] == runtime))]


def experiment_of(trials: pd.DataFrame) -> str:
    """Return the mode that shows what it costs to obtain a buffer: ``grow``, unless a technique and size of the source
    was measured in recycled rounds alone."""
    rows = trials[
        (trials["strategy"] == SOURCES[0]) & (trials["touch"] == "none")
        & trials["technique"].isin(SOURCE_TECHNIQUES) & trials["bytes"].isin(PUBLISHED_BYTES)
    ]  # fmt: skip
    grow, recycle = ({*rows.loc[rows["mode"] == mode, ["technique", "bytes"]].itertuples(index=False, name=None)}
                     for mode in ("grow", "allocation"))  # fmt: skip
    return "grow" if grow and grow >= recycle else "allocation"


def cells_of(trials: pd.DataFrame, set_up: str, touch: str = "none") -> Cells:
    """Return what claims are put to, of a set-up; of buffers only fresh ones that are touched in this way.

    ``what``: a technique, or the memory of a pass. ``metric``: alloc; collecting, the same where there were collections
    enough; free; an operation; resident_before and resident_after a shift.
    """
    plain = _of(set_up, finished(trials))
    experiment = experiment_of(plain)
    made = plain[(plain["mode"] == experiment) & (plain["strategy"] == SOURCES[0]) & (plain["touch"] == touch)]
    shifted = plain[(plain["mode"] == "fragmentation") & (plain["distribution"] == "phases")]
    cells = [*_obtained(made, EXPERIMENTS[experiment], counted=set_up != _PUBLISHED)]
    accessed = plain[plain["mode"] == "access"]
    touched = _grouped(accessed, "memory", "operation", "served_by")
    # What is obtained is also to be copied to.
    direct = [("direct", "copy", on) for on in made.loc[made["technique"] == "direct_buffer", "served_by"].unique()]
    for memory, operation, on in dict.fromkeys([*touched, *direct]):
        rows = touched.get((memory, operation, on), accessed.iloc[:0])
        label = f"{operation} {memory} {on}"
        cells.append(_cell(rows[rows["bytes"] == LARGE], "ns_per_pass", memory, operation, on, LARGE, label))
    for (technique, on), rows in _grouped(shifted, "technique", "served_by").items():
        for when in ("before", "after"):
            label = f"{TECHNIQUES[technique].label} {on} {when} the shift"
            column = f"resident_over_live_{when}"
            cells.append(_cell(rows, column, technique, f"resident_{when}", on, None, label))
    return Cells(cells, ("what", "metric", "served_by", "bytes"))


def _grouped(rows: pd.DataFrame, *names: str) -> dict[Any, pd.DataFrame]:
    return dict(iter(rows.groupby(list(names), observed=True)))


def _cell(
    rows: pd.DataFrame, column: str, what: str, metric: str, on: str, size: int | None, label: str,
    gap: str = "no figure",
) -> Cell:  # fmt: skip
    facts = {"what": what, "metric": metric, "served_by": on, "bytes": size}
    return Cell(facts, label, pd.Series(rows[column].to_numpy(float, na_value=np.nan), rows["block"]).dropna(), gap)


def _obtained(made: pd.DataFrame, experiment: str, counted: bool) -> Iterator[Cell]:
    """Yield what it costs to obtain a buffer and to free it; labels name the experiment."""
    for (technique, on), rows in _grouped(made, "technique", "served_by").items():
        name = _NAMES.get(technique, technique)
        on_heap = counted and technique == "byte_array"
        seen = rows.loc[rows["bytes"] == LARGE, "gc_pauses"].astype(float).mean() if on_heap else math.inf
        enough = seen >= LEAST_COLLECTIONS
        gap = f"{seen:.1f} collections in a window, where {LEAST_COLLECTIONS} are asked for"
        for size in PUBLISHED_BYTES:
            here, label = rows[rows["bytes"] == size], f"{name} {on} {size}, {experiment}"
            yield _cell(here, "ns_per_alloc", technique, "alloc", on, size, label)
            if technique == "malloc":
                yield _cell(here, "ns_per_free", technique, "free", on, size, f"free {on} {size}, {experiment}")
            among, why = (here, "no figure") if enough else (here.iloc[:0], gap)
            yield _cell(among, "ns_per_alloc", technique, "collecting", on, size, label, why)


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


def explained(trials: pd.DataFrame, verdicts: Sequence[Verdict]) -> list[Ablation]:
    """Judge, of each allocator against which Java's small blocks are dearer, the same with zeroed blocks, and of glibc
    that keeps its memory one that does not."""
    asked = []
    for verdict in failed(verdicts):
        if verdict.claim.id != "small-java":
            continue
        cells, zeroed = (cells_of(trials, verdict.set_up, touch) for touch in ("none", "zero"))
        expected = ALLOCATION_CLAIMS.orderings(verdict.claim.id, cells)
        for item, shown in zip(expected, verdict.evidence["shown"], strict=True):
            if shown != OTHER_WAY:
                continue
            malloc, java = (side[0] for side in item.cells)
            words = (verdict.claim.text, verdict.set_up, f"{item.larger} over {item.smaller}")
            before = Sides(malloc.values, java.values)
            changes = {"the block is zeroed in C, too": zeroed.other(malloc, {})}
            if malloc.facts["served_by"] == "glibc_keeping":
                glibc = cells.other(malloc, {"served_by": "glibc"})
                changes["glibc gives free memory back to the kernel"] = glibc
            for what, cell in changes.items():
                after = cell.values if cell else pd.Series(dtype=float)
                asked.append(Asked(*words, what, before, Changed(after, None)))
    return ablations(asked)
