"""The batch conclusions of "To allocate or to pool?", each as a test that fresh data can fail.

A claim says what the article says, even where the article's own table denies it; what that table says is counted by the
same rule. Each is judged on the collectors that the article ran and, apart from them, on today's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from allocpool import stats
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
    of_orderings,
)
from allocpool.evidence.figures import no_figures
from allocpool.evidence.trials import NOT_PART, records
from allocpool.packets.comparisons import (
    IN_CPP,
    ON_CMS,
    POOLING_STRATEGIES,
    PUBLISHED,
    THEN,
    Batch,
    Cell,
    CellOrdering,
    best_ordering,
    ordering,
    ordering_claim,
    ratio_of_ratios,
)
from allocpool.packets.published import ARTICLE, published_batch
from allocpool.packets.specs import PUBLISHED_CASES, Configuration
from allocpool.runtimes.collectors import collectors_on
from allocpool.studies.batch import published_sizes, today

FAMILIES = ("CMS", "G1", "ZGC")
A_MULTIPLE = 2.0
"""From so many times on a cost is a multiple of another, or much more."""
WORSE_FROM = 1.1
"""The least difference that the article tells of G1 and ZGC beside "CMS": ten percent, whatever effect matters to a
profile."""
_OBJECTS_PER_QUEUED = 3
_SAME_SHAPE = 1e-6  # below any measurement's rounding, so that ratios of distances stay defined
_OBJECTS_PER_STORED = 8


def pool_everywhere(batch: Batch) -> list[CellOrdering]:
    """Allocating over pooling, configuration by configuration and case by case."""
    return [
        ordering(batch, Cell(name, "alloc", case), Cell(name, "pool", case))
        for name in batch.configurations()
        for case in PUBLISHED_CASES
    ]


def _allocating_is_awful(batch: Batch) -> list[CellOrdering]:
    """Against the cheaper of the two pools: what a program could have instead."""
    return _best_orderings(
        best_ordering(batch, [Cell(name, "alloc", case)], _cells([name], case, ("pool", "mix")), A_MULTIPLE)
        for name in batch.configurations("java")
        for case in PUBLISHED_CASES
    )


def _mix_is_best_at_low_use(batch: Batch) -> list[CellOrdering]:
    return [
        ordering(batch, Cell(name, other, case), Cell(name, "mix", case))
        for name in batch.configurations("java", "heap", ["CMS"])
        for case in ("A", "B")
        for other in ("alloc", "pool")
    ]


def _a_full_pool_is_better_at_high_use(batch: Batch) -> list[CellOrdering]:
    return [ordering(batch, Cell(name, "mix", "C"), Cell(name, "pool", "C")) for name in batch.configurations("java")]


def _a_large_pool_is_scanned(batch: Batch) -> list[CellOrdering]:
    def penalty(name: str) -> tuple[Cell, Cell]:
        return Cell(name, "pool", "A"), Cell(name, "mix", "A")

    return [
        ratio_of_ratios(batch, penalty(scanning), penalty(other))
        for scanning in batch.configurations("java", "heap", ["CMS"])
        for other in batch.configurations("java", "heap", ["G1", "ZGC"])
    ]


def _worse_than_cms(batch: Batch) -> list[CellOrdering]:
    return [
        ordering(batch, Cell(other, strategy, case), Cell(cms, strategy, case), WORSE_FROM)
        for layout in ("heap", "native")
        for cms in batch.configurations("java", layout, ["CMS"])
        for other in batch.configurations("java", layout, ["G1", "ZGC"])
        for strategy in POOLING_STRATEGIES
        for case in PUBLISHED_CASES
    ]


def _the_pool_is_g1s_exception(batch: Batch) -> list[CellOrdering]:
    return [
        ordering(batch, Cell(cms, "pool", case), Cell(g1, "pool", case))
        for cms in batch.configurations("java", "heap", ["CMS"])
        for g1 in batch.configurations("java", "heap", ["G1"])
        for case in ("A", "B")
    ]


def _heap_and_native(batch: Batch) -> Iterator[tuple[str, str]]:
    """The two layouts of every collector that has both."""
    collectors = batch.facts["collector"].astype(str).to_dict()
    for heap in batch.configurations("java", "heap"):
        for native in batch.configurations("java", "native"):
            if collectors[native] == collectors[heap]:
                yield heap, native


def _native_is_better(batch: Batch) -> list[CellOrdering]:
    return [
        ordering(batch, Cell(heap, strategy, case), Cell(native, strategy, case))
        for heap, native in _heap_and_native(batch)
        for strategy in POOLING_STRATEGIES
        for case in PUBLISHED_CASES
    ]


def _native_helps_allocation_most(batch: Batch) -> list[CellOrdering]:
    def gain(heap: str, native: str, strategy: str, case: str) -> tuple[Cell, Cell]:
        return Cell(heap, strategy, case), Cell(native, strategy, case)

    return [
        ratio_of_ratios(batch, gain(heap, native, "alloc", case), gain(heap, native, other, case))
        for heap, native in _heap_and_native(batch)
        for other in ("mix", "pool")
        for case in PUBLISHED_CASES
    ]


def _cells(names: Iterable[str], case: str, strategies: Iterable[str] = POOLING_STRATEGIES) -> list[Cell]:
    return [Cell(name, strategy, case) for name in names for strategy in strategies]


def _best_orderings(orderings: Iterable[CellOrdering | None]) -> list[CellOrdering]:
    return [item for item in orderings if item is not None]


def _native_cms_is_best_java(batch: Batch) -> list[CellOrdering]:
    """The cheapest cell of each other Java configuration over the cheapest of native "CMS"."""
    return _best_orderings(
        best_ordering(batch, _cells([name], case), _cells([cms], case))
        for cms in batch.configurations("java", "native", ["CMS"])
        for name in batch.configurations("java")
        if name != cms
        for case in PUBLISHED_CASES
    )


def zgc_is_best_java_when_overloaded(batch: Batch) -> list[CellOrdering]:
    """Allocating in case C: every other collector over ZGC, with buffers on the heap and beside it."""
    return [
        ordering(batch, Cell(name, "alloc", "C"), Cell(zgc, "alloc", "C"))
        for layout in ("heap", "native")
        for zgc in batch.configurations("java", layout, ["ZGC"])
        for name in batch.configurations("java", layout)
        if name != zgc
    ]


def _others_collapse_when_overloaded(batch: Batch) -> list[CellOrdering]:
    def rise(name: str) -> tuple[Cell, Cell]:
        return Cell(name, "alloc", "C"), Cell(name, "alloc", "B")

    return [
        ratio_of_ratios(batch, rise(other), rise(zgc))
        for zgc in batch.configurations("java", "heap", ["ZGC"])
        for other in batch.configurations("java", "heap", ["CMS", "G1"])
    ]


def _flat_is_best(batch: Batch) -> list[CellOrdering]:
    """In each cell, against the cheapest of all other configurations with the same strategy."""
    return _best_orderings(
        best_ordering(
            batch,
            _measured(batch, [name for name in batch.configurations() if name != flat], case, strategy),
            [Cell(flat, strategy, case)],
        )
        for flat in batch.configurations("cpp", "flat")
        for strategy in POOLING_STRATEGIES
        for case in PUBLISHED_CASES
    )


def _measured(batch: Batch, names: Iterable[str], case: str, strategy: str) -> list[Cell]:
    """Those of the cells that have a figure; where none has, all, so that it is told what is missing."""
    cells = _cells(names, case, [strategy])
    return [cell for cell in cells if not batch.values(cell).empty] or cells


def allocation_is_dear_in_cpp(batch: Batch) -> list[CellOrdering]:
    """Beside a collector that never collects. The article had none, so its table says nothing here."""
    if batch.runs_on is None:
        return []
    without = [batch.runs_on.label(layout, "epsilon") for layout in ("heap", "native")]
    return [
        ordering(batch, Cell(cpp, "alloc", case), Cell(java, "alloc", case), A_MULTIPLE)
        for cpp in batch.configurations("cpp", "allocating")
        for java in without
        for case in PUBLISHED_CASES
    ]


def _the_java_design_is_no_better_in_cpp(batch: Batch) -> list[CellOrdering]:
    """Cell by cell, beside the cheapest native Java with the same strategy."""
    return _best_orderings(
        best_ordering(
            batch,
            [Cell(cpp, strategy, case)],
            _measured(batch, batch.configurations("java", "native"), case, strategy),
        )
        for cpp in batch.configurations("cpp", "allocating")
        for strategy in POOLING_STRATEGIES
        for case in PUBLISHED_CASES
    )


def _cpp_pool_beats_new(batch: Batch) -> list[CellOrdering]:
    return [
        ordering(batch, Cell(name, "alloc", case), Cell(name, "pool", case))
        for name in batch.configurations("cpp")
        for case in PUBLISHED_CASES
    ]


def _flat_beats_allocating(batch: Batch) -> list[CellOrdering]:
    return [
        ordering(batch, Cell(slow, strategy, case), Cell(fast, strategy, case))
        for slow in batch.configurations("cpp", "allocating")
        for fast in batch.configurations("cpp", "flat")
        for strategy in POOLING_STRATEGIES
        for case in PUBLISHED_CASES
    ]


def shape_distance(batch: Batch, configuration: str, layout: str = "heap") -> pd.Series:
    """How far one configuration's figures lie from the published "CMS" rows in shape, per block.

    The root mean square of log(measured / published) over strategies but ``dummy`` and cases, after taking
    out its mean, which is the machine's speed. 0 is the same shape; 0.69 is typically a factor of two off.
    Blocks that miss a cell are left out, so that distances are over the same cells. What trials of a cell differ by
    adds its square: with the usual tenth, a distance of a half reads a fiftieth too far.
    """
    published = published_batch()
    target = published[
        (published["family"] == "CMS") & (published["layout"] == layout) & (published["strategy"] != "dummy")
    ]
    columns = [
        np.log(batch.values(Cell(configuration, row.strategy, row.case)).groupby(level=0).mean() / row.published_ns)
        for row in records(target)
    ]
    logs = pd.concat(columns, axis=1).dropna()
    distance = np.sqrt(logs.sub(logs.mean(axis=1), axis=0).pow(2).mean(axis=1))
    return pd.Series(distance).clip(lower=_SAME_SHAPE)


def distances(batch: Batch, option: str = "") -> list[tuple[int, dict[str, pd.Series]]]:
    """Per release that has both: how far Parallel and CMS (keys) lie from the published "CMS" rows, per block; with an
    option of their configurations, or without one."""
    releases = []
    both = ("parallel", "cms")
    for runtime in sorted(batch.facts["runtime"].dropna().unique()):
        if not set(both) <= set(collectors_on(int(runtime))):
            continue
        labels = {name: f"java/heap/{name}/{runtime}{option}" for name in both}
        found = {name: shape_distance(batch, Configuration.parse(key).label) for name, key in labels.items()}
        if all(len(distance) for distance in found.values()):
            releases.append((int(runtime), found))
    return releases


def _cms_is_nearer(batch: Batch) -> Evidence:
    """That Parallel lies further from the published "CMS" rows than CMS does, each by its own blocks, apart for each
    release that has both."""
    expected = [
        Ordering(f"distance of Parallel {runtime}", f"that of CMS {runtime}", compare(found["parallel"], found["cms"]))
        for runtime, found in distances(batch)
    ]
    if expected:
        return of_orderings(expected)
    configurations = {name: batch.configurations("java", "heap", collector=name) for name in ("cms", "parallel")}
    why = "not every strategy and case has a figure in one block"
    return of_orderings([], [Missing(name, why if configurations[name] else NOT_PART.word) for name in configurations])


def _nearer(evidence: Evidence) -> str:
    if evidence.rows.empty:
        return "Parallel and CMS were not both measured in every strategy and case."
    told = []
    for row in records(evidence.rows):
        nearer = {AS_PUBLISHED: "CMS", OTHER_WAY: "Parallel"}.get(row.shown, "neither")
        told.append(
            f"the {row.larger} over {row.smaller} is {stats.significant(row.ratio, 2)} "
            f"({stats.ends(row.low, row.high, 2)}, n = {row.trials}); "
            f"shown to be nearer: {nearer}"
        )
    return (
        'Distance in shape from the published "CMS" rows, once the speed of the machine is taken out: '
        f"{'. '.join(told)}."
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


def _published_case_a() -> Evidence:
    return case_a_evidence(reference.load("allocate_or_pool_gc"), reference.load("allocate_or_pool_cases"))


def _case_a_sentence(evidence: Evidence) -> str:
    stated = _stated_size(reference.load("allocate_or_pool_cases"))
    sizes = evidence.rows["implied_size"].clip(lower=1.0)
    return (
        f"The published live-object counts of case A imply a queue and a store of "
        f"{stats.significant(float(sizes.median()), 2)} packets (median of {len(sizes)} figures); "
        f"{len(evidence.against)} of them are nearer to {stated / 10:,.0f} than to {stated:,.0f}."
    )


POOL_EVERYWHERE = ordering_claim(
    "pool-everywhere-batch",
    "In every single batch test, pooling performs better than allocating.",
    pool_everywhere,
    FAMILIES,
)
WHICH_CMS: Claim[Batch] = Claim(
    "cms-is-cms",
    'The rows labelled "CMS" were run on the CMS collector.',
    ARTICLE,
    _cms_is_nearer,
    _nearer,
    published=no_figures,
    set_ups=(THEN,),
)
CPP_CLAIMS: tuple[Claim[Batch], ...] = (
    ordering_claim(
        "cpp-pool",
        "In C++, pooling beats new and delete in every case, in both layouts.",
        _cpp_pool_beats_new,
        set_ups=(IN_CPP,),
    ),
    ordering_claim(
        "cpp-flat",
        "In C++, the flat layout beats the allocating one for every strategy and case.",
        _flat_beats_allocating,
        set_ups=(IN_CPP,),
    ),
)
"""Those about C++ alone."""
BATCH_CLAIMS: tuple[Claim[Batch], ...] = (
    POOL_EVERYWHERE,
    ordering_claim(
        "alloc-awful-batch",
        f"In most Java batch tests, allocating does very badly: {A_MULTIPLE:g} times the cost of pooling or more.",
        _allocating_is_awful,
        FAMILIES,
        asks="most",
    ),
    ordering_claim(
        "mix-low-use",
        'Where few buffers are in use (cases A and B), a small pool is the best on "CMS" (heap buffers).',
        _mix_is_best_at_low_use,
        ["CMS"],
        ON_CMS,
    ),
    ordering_claim(
        "mix-high-use",
        "Once the use grows (case C), a full pool is better than the small one.",
        _a_full_pool_is_better_at_high_use,
        FAMILIES,
    ),
    ordering_claim(
        "big-pool-a",
        'A pool far larger than what is used (case A) costs more over mix on "CMS" than on G1 and ZGC: all of it is '
        "live and scanned.",
        _a_large_pool_is_scanned,
        FAMILIES,
        ON_CMS,
    ),
    ordering_claim(
        "g1-zgc-batch-worse",
        'G1 and ZGC often do worse than "CMS" in batch, by ten percent or more.',
        _worse_than_cms,
        FAMILIES,
        ON_CMS,
        asks="most",
    ),
    ordering_claim(
        "g1-pool-exception",
        'Pooling in cases A and B is the exception: there G1 does better than "CMS" (heap buffers).',
        _the_pool_is_g1s_exception,
        ["CMS", "G1"],
        ON_CMS,
    ),
    ordering_claim(
        "native-better",
        "Native buffers improve almost everything in batch.",
        _native_is_better,
        FAMILIES,
        asks="almost every",
    ),
    ordering_claim(
        "native-alloc-most",
        "Native buffers improve allocation most: by a larger factor than either pool.",
        _native_helps_allocation_most,
        FAMILIES,
    ),
    ordering_claim(
        "native-cms-best-batch",
        'Native buffers on "CMS" are the best of Java in batch, in every case.',
        _native_cms_is_best_java,
        FAMILIES,
        ON_CMS,
    ),
    ordering_claim(
        "zgc-best-c",
        "In overload, ZGC allocates cheapest of all collectors, with heap and with native buffers.",
        zgc_is_best_java_when_overloaded,
        FAMILIES,
    ),
    ordering_claim(
        "others-collapse-c",
        "From case B to case C, allocation degrades more on the other collectors than on ZGC.",
        _others_collapse_when_overloaded,
        FAMILIES,
    ),
    ordering_claim(
        "cpp-alloc-dear",
        f"Allocation in C++ costs much more than in Java without its collector: {A_MULTIPLE:g} times or more.",
        allocation_is_dear_in_cpp,
    ),
    ordering_claim(
        "cpp-no-better",
        "C++ with the design of the Java program is no better than Java with native buffers.",
        _the_java_design_is_no_better_in_cpp,
        FAMILIES,
    ),
    ordering_claim(
        "cpp-flat-best",
        "Flat C++ is the best in every batch test: with each strategy, in each case.",
        _flat_is_best,
    ),
    *CPP_CLAIMS,
    WHICH_CMS,
    Claim(
        "case-a-size",
        "Case A had a queue and a store of 10,000 packets.",
        ARTICLE,
        lambda _batch: _published_case_a(),
        _case_a_sentence,
        refuted_by="all",
        published=_published_case_a,
        set_ups=(PUBLISHED,),
    ),
)


def evaluate(trials: pd.DataFrame, some: Iterable[Claim[Batch]] = BATCH_CLAIMS) -> list[Verdict]:
    """Put claims to a campaign's trials (one row per trial, failed ones included), each set-up apart."""
    return claims.evaluate_apart(some, lambda set_up: Batch(trials, set_up))


def of_campaign(tables: Mapping[str, pd.DataFrame], _settings: Mapping[str, Any]) -> list[Verdict]:
    """The verdicts of a campaign, on what it left, as its page and the first page show them: published claims on a
    campaign that has the published collectors, then our own."""
    trials = tables["trials"]
    return [*evaluate(published_sizes.judged_on(trials)), *today.evaluate(trials)]
