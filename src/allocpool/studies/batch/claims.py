"""The data that the batch conclusions of the article (``claims.yaml``) are put to, and two that no ordering of cells
expresses.

Each is judged on the collectors that the article ran and, apart from them, on today's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from allocpool.decisions import compare
from allocpool.evidence import claims, reference
from allocpool.evidence.claims import (
    AS_PUBLISHED,
    OTHER_WAY,
    Claim,
    Evidence,
    Missing,
    Ordering,
    Verdict,
    no_figures,
    of_orderings,
)
from allocpool.evidence.declared import Cells, claims_of
from allocpool.evidence.trials import NOT_PART, records
from allocpool.packets.comparisons import PUBLISHED, Batch, Cell
from allocpool.packets.published import published_as_trials, published_batch
from allocpool.packets.specs import Configuration
from allocpool.runtimes.collectors import collectors_on
from allocpool.studies.batch import published_sizes, today

_SAME_SHAPE = 1e-6  # below any measurement's rounding, so that ratios of distances stay defined


def shape_distance(batch: Batch, configuration: str) -> pd.Series:
    """Return how far one configuration's figures lie from the published "CMS" rows in shape, per block.

    The root mean square of log(measured / published) over strategies but ``dummy`` and cases, without its mean, which
    is the machine's speed. 0 is the same shape; 0.69 is typically a factor of two off. Blocks that miss a cell are left
    out. What trials of a cell differ by adds its square: with the usual tenth, a distance of a half reads a fiftieth
    too far.
    """
    table = published_batch()
    target = table[(table["family"] == "CMS") & (table["layout"] == "heap") & (table["strategy"] != "dummy")]
    columns = [
        np.log(batch.values(Cell(configuration, row.strategy, row.case)).groupby(level=0).mean() / row.published_ns)
        for row in records(target)
    ]
    logs = pd.concat(columns, axis=1).dropna()
    distance = np.sqrt(logs.sub(logs.mean(axis=1), axis=0).pow(2).mean(axis=1))
    return pd.Series(distance).clip(lower=_SAME_SHAPE)


def _distances(batch: Batch) -> dict[int, tuple[pd.Series, pd.Series]]:
    """Return, by release that has both, how far Parallel and CMS lie from the published "CMS" rows, per block."""
    releases = {}
    for runtime in map(int, sorted(batch.facts["runtime"].dropna().unique())):
        if {"parallel", "cms"} <= set(collectors_on(runtime)):
            keys = (f"java/heap/{name}/{runtime}" for name in ("parallel", "cms"))
            parallel, cms = (shape_distance(batch, Configuration.parse(key).label) for key in keys)
            if len(parallel) and len(cms):
                releases[runtime] = parallel, cms
    return releases


def _cms_is_nearer(batch: Batch) -> Evidence:
    """Return evidence that Parallel lies further from the published "CMS" rows than CMS does, for each release that has
    both."""
    expected = [
        Ordering(f"distance of Parallel {runtime}", f"that of CMS {runtime}", compare(parallel, cms))
        for runtime, (parallel, cms) in _distances(batch).items()
    ]
    if expected:
        return of_orderings(expected)
    on_heap = set(batch.facts.loc[batch.facts["layout"] == "heap", "collector"])
    why = "not every strategy and case has a figure in one block"
    return of_orderings([], [Missing(name, why if name in on_heap else NOT_PART.word) for name in ("cms", "parallel")])


def implied_case_a_size(gc: pd.DataFrame, cases: pd.DataFrame) -> pd.DataFrame:
    """Return the queue and store size that the published live-object counts of case A imply.

    A queued packet is 3 objects and a stored one 8 (5 of them its parse result), so with pool size P and n
    packets both queued and stored, live = 3 max(P, 2n) + 5 n + base. ``base``, the JVM's own objects, is
    the median remainder of case B, whose size is not in doubt; case A is then solved for n.

    Columns: collector, strategy, objects, implied_size. ``gc`` and ``cases`` are the published tables.
    """
    sizes = cases.set_index("parameter").astype(float)
    of_pool = {"alloc": 0.0, "mix": sizes["case_a"]["mix_pool_size"], "pool": sizes["case_a"]["pool_size"]}
    size_b = sizes["case_b"]["stored_count"]
    gc = gc.assign(objects=gc["live_objects_millions"] * 1e6, pool=gc["strategy"].map(of_pool))
    in_b, in_a = (gc[gc["case"] == case] for case in "BA")
    base = (in_b["objects"] - 3 * in_b["pool"].clip(lower=2 * size_b) - 5 * size_b).median()
    implied = (in_a["objects"] - base - 3 * in_a["pool"]) / (in_a["pool"] > 0).map({True: 5, False: 11})
    return in_a[["collector", "strategy", "objects"]].assign(implied_size=implied).reset_index(drop=True)


def case_a_evidence(gc: pd.DataFrame, cases: pd.DataFrame) -> Evidence:
    """Return which size case A had, by the published object counts: the table's, or the tenth of it that the published
    code has. Each implied size goes to the nearer of the two in log-ratio."""
    rows = implied_case_a_size(gc, cases)
    stated = float(cases.set_index("parameter")["case_a"]["stored_count"])
    is_stated = rows["implied_size"].clip(lower=1.0) >= stated / 10**0.5
    return Evidence(rows.assign(shown=is_stated.map({True: AS_PUBLISHED, False: OTHER_WAY})))


def _published_case_a(_batch: Batch | None = None) -> Evidence:
    return case_a_evidence(reference.load("allocate_or_pool_gc"), reference.load("allocate_or_pool_cases"))


@cache
def published_cells() -> Cells:
    """Return the article's own table, as one block."""
    return Batch(published_as_trials(), PUBLISHED).cells


BATCH_CLAIMS = claims_of(
    "batch",
    lambda batch: batch.cells,
    published_cells,
    {"cms_is_nearer": (_cms_is_nearer, no_figures), "case_a": (_published_case_a, _published_case_a)},
)
POOL_EVERYWHERE = BATCH_CLAIMS[0]


def evaluate(trials: pd.DataFrame, some: Iterable[Claim[Batch]] = BATCH_CLAIMS) -> list[Verdict]:
    """Put claims to a campaign's trials (one row per trial, failed ones included), each set-up apart."""
    return claims.evaluate_apart(some, lambda set_up: Batch(trials, set_up))


def of_campaign(tables: Mapping[str, pd.DataFrame], _settings: Mapping[str, Any]) -> list[Verdict]:
    """Return the verdicts of a campaign as its page and the first page show them: published claims on a campaign that
    has the published collectors, then our own."""
    trials = tables["trials"]
    return [*evaluate(published_sizes.judged_on(trials)), *today.evaluate(trials)]
