"""Same work, or no comparison, in Java: every layout, strategy, runtime and collector, in batch and in real time.

The rows of one runtime and collector share a JVM; one trial of each layout starts a process of its own, as a user's do.
"""

from __future__ import annotations

import itertools
from functools import cache
from pathlib import Path

import pytest
from shared_jvm import records_of
from test_contract import VECTOR, assert_is_the_known_answer, run, sizes_of, vectors
from test_realtime import KNOWN_CASES, assert_is_the_known_realtime_answer, realtime_settings

from allocpool.campaign import single
from allocpool.errors import UserError
from allocpool.evidence import reference
from allocpool.packets.batch import PUBLISHED_LAYOUTS
from allocpool.packets.specs import PacketsSpec
from allocpool.packets.strategies import CHOICES, JAVA_LAYOUTS, LAYOUTS
from allocpool.runtimes.collectors import COLLECTORS, FEATURES, OLDEST, collectors_on
from allocpool.runtimes.discovery import find_runtime
from allocpool.trial.record import TrialRecord

STATED = reference.load("allocate_or_pool_objects").pivot(index="layout", columns="part", values="allocated_bytes")
"""Bytes that page 02 states; what C++ allocates is counted by its own tests."""
Row = tuple[int, str, str, str, str]
"""Runtime, collector, layout, strategy; and the case in real time, or ``batch``."""
BATCH = "batch"
HEAP_MB, UNCOLLECTED_HEAP_MB = 256, 3072
QUARTER = max((row for row in vectors() if int(row["packets"]) <= 50_000), key=lambda row: int(row["evicted"]))
"""A quarter of the packets: for layouts that are not on the Java heap but make an object of each, so take longest; in a
process of its own each does the whole."""

_RUNTIMES = [(feature, name) for feature in FEATURES for name in collectors_on(feature)]
_BATCH: list[Row] = [
    # Every layout with every strategy on every runtime, then every other collector.
    *(
        (runtime, "g1", name, strategy, BATCH)
        for runtime in FEATURES
        for name, layout in JAVA_LAYOUTS.items()
        for strategy in layout.strategies
        if runtime >= layout.oldest and strategy in CHOICES
    ),
    *((runtime, collector, "heap", "mix", BATCH) for runtime, collector in _RUNTIMES if collector != "g1"),
]
_VARIED = itertools.cycle(itertools.product(PUBLISHED_LAYOUTS["java"], CHOICES, KNOWN_CASES))
_REALTIME: list[Row] = [
    # Neighbours differ in all three: 18 combinations of layout, strategy and case, spread over the runtimes.
    *((*runtime, *next(itertools.islice(_VARIED, 6, None))) for runtime in _RUNTIMES),
    # The other layouts, each with its strategies, on the oldest runtime that has it and on the newest.
    *(
        (runtime, "g1", name, strategy, case)
        for name, layout in JAVA_LAYOUTS.items()
        if name not in PUBLISHED_LAYOUTS["java"]
        for runtime in sorted({layout.oldest, FEATURES[-1]})
        for strategy, case in zip(CHOICES, KNOWN_CASES, strict=False)
        if strategy in layout.strategies
    ),
]
ROWS = sorted(dict.fromkeys([*_BATCH, *_REALTIME]))


def vector_of(row: Row) -> dict[str, str]:
    """The known answer of a row in batch."""
    layout = row[2]
    return QUARTER if layout != "heap" and JAVA_LAYOUTS[layout].parse_bytes else VECTOR


def spec_of(row: Row, heap_mb: int, block: int, vector: dict[str, str]) -> PacketsSpec:
    """The trial of a row; the vector is that of one in batch."""
    runtime, collector, layout, strategy, case = row
    settings = [
        "language=java", f"layout={layout}", f"strategy={strategy}", f"runtime={runtime}", f"collector={collector}",
        f"heap_mb={heap_mb}", f"block={block}",
    ]  # fmt: skip
    spec = single.parse_spec([*(sizes_of(vector) if case == BATCH else realtime_settings(case)), *settings])
    assert isinstance(spec, PacketsSpec)
    return spec


@cache
def records(runtime: int, collector: str) -> dict[Row, TrialRecord]:
    """Every row of a runtime and a collector, run in one JVM."""
    # Without collections, the heap must hold all that all trials allocate.
    heap_mb = UNCOLLECTED_HEAP_MB if collector == "epsilon" else HEAP_MB
    rows = [row for row in ROWS if row[:2] == (runtime, collector)]
    # Trials of the first block count the objects of the whole JVM at their end: those of the others have just the work.
    specs = [spec_of(row, heap_mb, block=1, vector=vector_of(row)) for row in rows]
    return dict(zip(rows, records_of(specs, heap_mb), strict=True))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: "-".join(map(str, row)))
def test_java_does_the_known_work(row: Row) -> None:
    runtime, collector, layout, strategy, case = row
    record = records(runtime, collector)[row]
    assert (record.status, record.reason) == ("ok", None)
    summary = single.summary_of(record)
    assert COLLECTORS[collector].label in summary["configuration"]
    if case != BATCH:
        assert_is_the_known_realtime_answer(case, summary)
        return
    assert_is_the_known_answer(summary, vector=vector_of(row))
    if (runtime, collector) == (FEATURES[-1], "g1") and layout in PUBLISHED_LAYOUTS["java"] and strategy != "mix":
        each = STATED["parse"][layout] + (STATED["packet"][layout] if strategy == "alloc" else 0)
        assert summary["allocated_bytes"] / summary["packets"] == pytest.approx(each, rel=0.01)
    elif JAVA_LAYOUTS[layout].parse_bytes:
        assert summary["allocated_bytes"] > 0
    else:
        assert summary["allocated_bytes"] < summary["packets"] / 100, "no object per packet"


@pytest.mark.parametrize("layout", JAVA_LAYOUTS)
def test_a_process_of_its_own_does_the_known_work(data: Path, first_compiler_only: None, layout: str) -> None:
    row = JAVA_LAYOUTS[layout]
    strategy = next(name for name in reversed(row.strategies) if name in CHOICES)
    record = single.run_single(spec_of((row.oldest, "g1", layout, strategy, BATCH), 128, block=0, vector=VECTOR))
    assert (record.status, record.reason) == ("ok", None), record.log_tail
    assert_is_the_known_answer(single.summary_of(record))


def test_the_rows_hold_every_layout_strategy_case_and_collector() -> None:
    for rows in (_BATCH, _REALTIME):
        assert {row[2] for row in rows} == set(LAYOUTS["java"])
        assert {row[3] for row in rows} == set(CHOICES)
        assert {row[:2] for row in rows} == set(_RUNTIMES)
    assert {row[4] for row in _REALTIME} == set(KNOWN_CASES)


@pytest.mark.parametrize(("runtime", "collector"), [(OLDEST, "cms"), (FEATURES[0], "parallel"), (FEATURES[-1], "g1")])
@pytest.mark.parametrize(("layout", "strategy"), [("heap", "pool"), ("native", "alloc")])
def test_a_plain_process_does_the_known_work_or_says_which_java_is_missing(
    data: Path, runtime: int, collector: str, layout: str, strategy: str
) -> None:
    java = [f"runtime={runtime}", f"collector={collector}", f"layout={layout}", "language=java"]
    java += ["control=plain", "fill_packets=1"]
    try:
        find_runtime(runtime)
    except UserError:
        with pytest.raises(UserError, match=f"no Java {runtime} here"):
            run(*java, f"strategy={strategy}")
        return
    summary = run(*java, f"strategy={strategy}")
    assert_is_the_known_answer(summary)
    assert summary["ns_per_packet"] > 0 and summary["cpu_ns_per_packet"] > 0
    assert (summary["gc_collections"] is None) == (runtime < 9), "Java 8 has no log that can be read"
