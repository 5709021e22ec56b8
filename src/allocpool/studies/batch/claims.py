"""The batch conclusions of "To allocate or to pool?", each as a test that fresh data can fail.

What a claim expects was read off the published tables (``data/reference``); the tests in ``tests/`` put
every claim to those tables as well, so a claim that its own source does not bear out cannot stay here
unnoticed.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from allocpool import stats
from allocpool.evidence import claims, reference
from allocpool.evidence.claims import AS_PUBLISHED, NOT_MEASURED, OTHER_WAY, SHOWN, Claim, Evidence, Missing, Verdict
from allocpool.evidence.trials import NOT_PART, records
from allocpool.packets.comparisons import (
    POOLING_STRATEGIES,
    Batch,
    Cell,
    CellOrdering,
    ordering,
    ordering_claim,
    ratio_of_ratios,
)
from allocpool.packets.published import ARTICLE, published_batch
from allocpool.packets.specs import CASES

FAMILIES = ("CMS", "G1", "ZGC")
_OBJECTS_PER_QUEUED = 3
_SAME_SHAPE = 1e-6  # below any measurement's rounding, so that ratios of distances stay defined
_OBJECTS_PER_STORED = 8


def _pool_beats_alloc_in_overload(batch: Batch) -> list[CellOrdering]:
    return [
        ordering(batch, Cell(name, "alloc", "C"), Cell(name, "pool", "C"))
        for name in batch.solutions("java", "heap", FAMILIES)
    ]


def _mix_is_cheapest_in_light_load(batch: Batch, collector: str) -> list[CellOrdering]:
    return [
        ordering(batch, Cell(name, other, "A"), Cell(name, "mix", "A"))
        for name in batch.solutions("java", "heap", collector=collector)
        for other in ("alloc", "pool")
    ]


def _a_large_pool_is_scanned(batch: Batch, collector: str) -> list[CellOrdering]:
    def penalty(name: str) -> tuple[Cell, Cell]:
        return Cell(name, "pool", "A"), Cell(name, "mix", "A")

    return [
        ratio_of_ratios(batch, penalty(scanning), penalty(other))
        for scanning in batch.solutions("java", "heap", collector=collector)
        for other in batch.solutions("java", "heap", ["G1", "ZGC"])
    ]


def _native_beats_heap(batch: Batch) -> list[CellOrdering]:
    expected = []
    for heap in batch.solutions("java", "heap", FAMILIES):
        fact = batch.facts.loc[heap]
        for native in batch.solutions("java", "native", FAMILIES):
            other = batch.facts.loc[native]
            if fact["collector"] == other["collector"] and fact["runtime"] == other["runtime"]:
                expected += [ordering(batch, Cell(heap, "alloc", case), Cell(native, "alloc", case)) for case in CASES]
    return expected


def _flat_pool_beats_all_java(batch: Batch) -> list[CellOrdering]:
    expected = []
    for flat in batch.solutions("cpp", "flat"):
        for case in CASES:
            rivals = [Cell(name, strategy, case) for name in batch.solutions("java") for strategy in POOLING_STRATEGIES]
            best = batch.cheapest(rivals)
            if best is not None:
                expected.append(ordering(batch, best, Cell(flat, "pool", case)))
    return expected


def _zgc_is_best_java_when_overloaded(batch: Batch) -> list[CellOrdering]:
    expected = []
    for layout in ("heap", "native"):
        best = batch.cheapest(Cell(name, "alloc", "C") for name in batch.solutions("java", layout, ["ZGC"]))
        if best is not None:
            expected += [
                ordering(batch, Cell(name, "alloc", "C"), best)
                for name in batch.solutions("java", layout, ["CMS", "G1"])
            ]
    return expected


def _others_collapse_when_overloaded(batch: Batch) -> list[CellOrdering]:
    def rise(name: str) -> tuple[Cell, Cell]:
        return Cell(name, "alloc", "C"), Cell(name, "alloc", "B")

    return [
        ratio_of_ratios(batch, rise(other), rise(zgc))
        for zgc in batch.solutions("java", "heap", ["ZGC"])
        for other in batch.solutions("java", "heap", ["CMS", "G1"])
    ]


def _cpp_pool_beats_new(batch: Batch) -> list[CellOrdering]:
    return [
        ordering(batch, Cell(name, "alloc", case), Cell(name, "pool", case))
        for name in batch.solutions("cpp")
        for case in CASES
    ]


def _flat_beats_allocating(batch: Batch) -> list[CellOrdering]:
    return [
        ordering(batch, Cell(slow, strategy, case), Cell(fast, strategy, case))
        for slow in batch.solutions("cpp", "allocating")
        for fast in batch.solutions("cpp", "flat")
        for strategy in POOLING_STRATEGIES
        for case in CASES
    ]


def shape_distance(batch: Batch, solution: str, layout: str = "heap") -> pd.Series:
    """How far one solution's figures lie from the published "CMS" rows in shape, per block.

    The root mean square of log(measured / published) over strategies but ``dummy`` and cases, after taking
    out its mean, which is the machine's speed. 0 is the same shape; 0.69 is typically a factor of two off.
    Blocks that miss a cell are left out, so that distances are over the same cells.
    """
    published = published_batch()
    target = published[
        (published["family"] == "CMS") & (published["layout"] == layout) & (published["strategy"] != "dummy")
    ]
    columns = [
        np.log(batch.values(Cell(solution, row.strategy, row.case)).groupby(level=0).mean() / row.published_ns)
        for row in records(target)
    ]
    logs = pd.concat(columns, axis=1).dropna()
    distance = np.sqrt(logs.sub(logs.mean(axis=1), axis=0).pow(2).mean(axis=1))
    return pd.Series(distance).clip(lower=_SAME_SHAPE)


def _distances(batch: Batch) -> Evidence:
    """How far Parallel and CMS lie from the published "CMS" rows: one comparison, of which each row is a part."""
    rows = [
        {
            "solution": name,
            "collector": batch.facts.loc[name, "collector"],
            "block": block,
            "distance": distance,
        }
        for name in batch.solutions("java", "heap", ["CMS"])
        for block, distance in shape_distance(batch, name).items()
    ]
    evidence = pd.DataFrame(rows, columns=["solution", "collector", "block", "distance"])
    sides = _both_sides(evidence)
    if sides.empty:
        solutions = {name: batch.solutions("java", "heap", collector=name) for name in ("cms", "parallel")}
        why = "not every strategy and case has a figure in one block"
        missing = [Missing(name, why if solutions[name] else NOT_PART.word) for name in solutions]
        return Evidence(evidence.assign(shown=NOT_MEASURED), tuple(missing))
    return Evidence(evidence.assign(shown=SHOWN[-_cms_over_parallel(sides).direction]))


def _both_sides(distances: pd.DataFrame) -> pd.DataFrame:
    """Mean distance by block (rows) of CMS and Parallel (columns), where both have one."""
    sides = distances.groupby(["collector", "block"])["distance"].mean().unstack("collector")
    return sides.reindex(columns=["cms", "parallel"]).dropna()


def _cms_over_parallel(sides: pd.DataFrame) -> stats.Comparison:
    return stats.compare(sides["cms"], sides["parallel"], stats.NoiseBand(1.0, 0))


def _nearer(evidence: Evidence) -> str:
    sides = _both_sides(evidence.rows)
    if sides.empty:
        return "Parallel and CMS were not both measured in every strategy and case."
    compared = _cms_over_parallel(sides)
    means = {name: stats.significant(float(sides[name].mean()), 2) for name in ("cms", "parallel")}
    nearer = {1: "Parallel", -1: "CMS", 0: "neither"}[compared.direction]
    spread = compared.ratio.describe() if compared.ratio else ""
    return (
        f"Once the machine's speed is taken out, the measured figures lie {means['parallel']} (Parallel) and "
        f'{means["cms"]} (CMS) from the published "CMS" rows in log-ratio. Shown to be nearer: {nearer}; '
        f"CMS / Parallel distance: {compared.text()}, {spread}."
    )


def implied_case_a_size(gc: pd.DataFrame, cases: pd.DataFrame) -> pd.DataFrame:
    """The queue and store size that the published live-object counts of case A imply, per strategy and
    collector.

    A queued packet is 3 objects and a stored one 8 (5 of them its parse result), so with pool size P and n
    packets both queued and stored, live = 3 max(P, 2n) + 5 n + base. ``base``, the JVM's own objects, is
    the median remainder of case B, whose size is not in doubt; case A is then solved for n. Columns:
    collector, strategy, objects, implied_size. ``gc`` and ``cases`` are the published tables.
    """
    sizes = cases.set_index("parameter").astype(float)
    parsed = _OBJECTS_PER_STORED - _OBJECTS_PER_QUEUED
    pools = {
        "alloc": 0.0,
        "mix": float(sizes["case_a"]["mix_pool_size"]),
        "pool": float(sizes["case_a"]["pool_size"]),
    }
    size_b = float(sizes["case_b"]["stored_count"])

    def floor(strategy: str, size: float) -> float:
        return _OBJECTS_PER_QUEUED * max(pools[strategy], 2 * size) + parsed * size

    objects = gc.assign(objects=gc["live_objects_millions"] * 1e6)
    in_b = objects[objects["case"] == "B"]
    base = float(np.median([row.objects - floor(row.strategy, size_b) for row in records(in_b)]))
    rows = []
    for row in records(objects[objects["case"] == "A"]):
        pooled = _OBJECTS_PER_QUEUED * pools[row.strategy]
        per_size = parsed if pools[row.strategy] else 2 * _OBJECTS_PER_QUEUED + parsed
        rows.append(
            {
                "collector": row.collector,
                "strategy": row.strategy,
                "objects": row.objects,
                "implied_size": (row.objects - base - pooled) / per_size,
            }
        )
    return pd.DataFrame(rows)


def case_a_evidence(gc: pd.DataFrame, cases: pd.DataFrame) -> Evidence:
    """Which size case A had, by the published object counts: the table's, or the tenth of it that the published code
    has. Each implied size goes to the nearer of the two in log-ratio."""
    rows = implied_case_a_size(gc, cases)
    stated = _stated_size(cases)
    sizes = rows["implied_size"].clip(lower=1.0)
    nearer_small = np.abs(np.log(sizes / (stated / 10))) < np.abs(np.log(sizes / stated))
    return Evidence(rows.assign(shown=np.where(nearer_small, OTHER_WAY, AS_PUBLISHED)))


def _stated_size(cases: pd.DataFrame) -> float:
    return float(cases.set_index("parameter")["case_a"]["stored_count"])


def _case_a_sentence(evidence: Evidence) -> str:
    stated = _stated_size(reference.load("allocate_or_pool_cases"))
    sizes = evidence.rows["implied_size"].clip(lower=1.0)
    return (
        f"The published live-object counts of case A imply a queue and a store of "
        f"{stats.significant(float(sizes.median()), 2)} packets (median of {len(sizes)} figures); "
        f"{len(evidence.against)} of them are nearer to {stated / 10:,.0f} than to {stated:,.0f}."
    )


def _on_either_reading(collector: str, name: str) -> tuple[Claim[Batch], Claim[Batch]]:
    """The two claims about the collector that the article calls "CMS", on one collector that it may have
    been."""
    return (
        ordering_claim(
            f"mix-best-a-{collector}",
            f'In light load (case A), the mixed strategy is the cheapest on "CMS", read as {name}.',
            lambda batch: _mix_is_cheapest_in_light_load(batch, collector),
            ["CMS"],
        ),
        ordering_claim(
            f"big-pool-a-{collector}",
            f'A pool far larger than what is used (case A) costs more over mix on "CMS", read as '
            f"{name}, than on G1 and ZGC: all of it is live and scanned.",
            lambda batch: _a_large_pool_is_scanned(batch, collector),
            FAMILIES,
        ),
    )


WHICH_CMS: Claim[Batch] = Claim(
    "cms-is-cms", 'The rows labelled "CMS" were run on the CMS collector.', ARTICLE, _distances, _nearer
)
CPP_CLAIMS: tuple[Claim[Batch], ...] = (
    ordering_claim(
        "cpp-pool",
        "In C++, pooling beats new and delete in every case, in both layouts.",
        _cpp_pool_beats_new,
    ),
    ordering_claim(
        "cpp-flat",
        "In C++, the flat layout beats the allocating one for every strategy and case.",
        _flat_beats_allocating,
    ),
)
"""Those about C++ alone."""
BATCH_CLAIMS: tuple[Claim[Batch], ...] = (
    ordering_claim(
        "pool-beats-alloc-c",
        "In overload (case C), pooling beats allocation on every collector (heap buffers).",
        _pool_beats_alloc_in_overload,
        FAMILIES,
    ),
    *_on_either_reading("parallel", "Parallel"),
    *_on_either_reading("cms", "CMS"),
    ordering_claim(
        "native-beats-heap",
        "When allocating, native buffers beat heap buffers on every collector, in every case.",
        _native_beats_heap,
        FAMILIES,
    ),
    ordering_claim(
        "zgc-best-c",
        "In overload, ZGC allocates cheapest of all collectors, with heap and with native buffers.",
        _zgc_is_best_java_when_overloaded,
        FAMILIES,
    ),
    ordering_claim(
        "others-collapse-c",
        "From case B to case C, allocation degrades more on the other collectors than on ZGC.",
        _others_collapse_when_overloaded,
        FAMILIES,
    ),
    ordering_claim(
        "flat-pool-best",
        "Flat C++ with a pool beats the best Java solution in every case.",
        _flat_pool_beats_all_java,
    ),
    *CPP_CLAIMS,
    WHICH_CMS,
    Claim(
        "case-a-size",
        "Case A had a queue and a store of 10,000 packets.",
        ARTICLE,
        lambda _batch: case_a_evidence(reference.load("allocate_or_pool_gc"), reference.load("allocate_or_pool_cases")),
        _case_a_sentence,
        refuted_by="all",
    ),
)


def evaluate(trials: pd.DataFrame, some: Iterable[Claim[Batch]] = BATCH_CLAIMS) -> list[Verdict]:
    """Put claims to a campaign's trials (one row per trial, failed ones included)."""
    return claims.evaluate(some, Batch(trials))
