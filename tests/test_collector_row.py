"""A collector is one row: what a row must hold, and that a new one is known everywhere without another edit."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import synthetic
from matplotlib.figure import Figure

from allocpool.errors import UserError
from allocpool.evidence import style
from allocpool.packets import cells, published
from allocpool.runtimes import collectors as table
from allocpool.runtimes import flags as runtime_flags
from allocpool.runtimes.collectors import COLLECTORS, FEATURES, OLDEST, Collector, collector_named
from allocpool.runtimes.threads import GC, group_of
from allocpool.studies.batch import plots as batch_plots

TOY = replace(
    COLLECTORS["g1"],
    name="toy",
    label="Toy",
    flags={25: ("-XX:+UseToyGC",)},
    colour="#123456",
    thread_names=("Toy ",),
    log_words=("gc+toy=debug",),
    smallest_heap_mb=99,
    roomy_heap_mb=99,
    heap_is_shared_memory=True,
    published_pause_target_ms={25: 7},
)
UNKNOWN = "unknown collector 'toy': choose one of serial, parallel, cms, g1, zgc"


def drawn() -> Figure:
    """Trials of the toy collector, of G1 and of C++, in a figure whose colours mean collectors."""
    configurations = (
        ("java", "heap", "toy", 25, None, "heap / Toy / 25"),
        ("java", "heap", "g1", 25, None, "heap / G1 / 25"),
        ("cpp", "flat", None, None, "glibc", "C++ flat"),
    )
    results = cells.cells(synthetic.trials(centre=lambda _row: 100.0, configurations=configurations))
    return batch_plots.published_against_measured(results.assign(published_ns=50.0))


@pytest.mark.parametrize("row", COLLECTORS.values(), ids=list(COLLECTORS))
def test_a_row_is_complete(row: Collector) -> None:
    assert COLLECTORS[row.name] is row
    assert row.label
    assert min(row.flags) >= OLDEST and max(row.flags) <= (row.last or max(row.flags))
    assert all(flags and all(flag.startswith("-XX:") for flag in flags) for flags in row.flags.values())
    assert re.fullmatch("#[0-9a-f]{6}", row.colour)
    assert all(0 < len(name) <= 15 for name in row.thread_names)
    assert row.thread_names or not row.concurrent
    assert row.roomy_heap_mb >= row.smallest_heap_mb > 0
    assert not (row.never_frees and (row.stop_the_world or row.concurrent))
    assert row.never_frees == (row.exhausted_exit_status is not None)
    assert all(row.is_on(feature) for feature in row.published_pause_target_ms)
    families = {*published.published_batch()["family"].dropna()}
    assert row.published_family is None or row.published_family in families


def test_rows_can_be_told_apart() -> None:
    rows = list(COLLECTORS.values())
    assert len({row.label for row in rows}) == len(rows)
    assert len({row.colour for row in rows} | {style.colour_of(style.CPP)}) == len(rows) + 1
    for feature in FEATURES:
        here = [row.flags_on(feature) for row in rows if row.is_on(feature)]
        assert len(set(here)) == len(here)


def test_every_published_collector_is_read_as_one_of_its_family() -> None:
    assert set(published.LIKELIEST) == {*published.published_batch()["family"].dropna()}
    assert all(COLLECTORS[collector].published_family == name for name, collector in published.LIKELIEST.items())


@pytest.mark.parametrize(
    "asks",
    [
        lambda: collector_named("toy"),
        lambda: table.never_frees("toy"),
        lambda: runtime_flags.log_flags("toy", Path("gc.log")),
        lambda: runtime_flags.check_huge_pages("toy"),
        lambda: published.family("java", "toy"),
        lambda: style.collector_key("java", "toy"),
        lambda: style.colour_of("toy"),
        drawn,
    ],
    ids=["row", "memory", "log", "huge pages", "family", "key", "colour", "figure"],
)
def test_an_unknown_collector_is_refused_wherever_it_is_asked_about(asks: Callable[[], object]) -> None:
    with pytest.raises(UserError, match=UNKNOWN):
        asks()


SEEN = {
    (11, "parallel"): ("ParGC Thread#0",),
    (11, "cms"): ("CMS Main Thread", "CMS Thread#0"),
    (11, "g1"): ("G1 Conc#0", "G1 Main Marker", "G1 Refine#0", "G1 Young RemSet"),
    (11, "zgc"): ("RuntimeWorker#0", "ZDirector", "ZDriver", "ZStat", "ZWorker#0"),
    (11, "shenandoah"): ("Shenandoah GC T", "ShenandoahContr"),
    (17, "zgc"): ("RuntimeWorker#0", "ZDirector", "ZDriver", "ZStat", "ZUncommitter", "ZUnmapper", "ZWorker#0"),
    (21, "zgc"): ("RuntimeWorker#0", "XDirector", "XDriver", "XStat", "XUncommitter", "XUnmapper", "XWorker#0"),
    (21, "genzgc"): ("RuntimeWorker#0", "ZDirector", "ZDriverMajor", "ZDriverMinor", "ZStat", "ZUncommitter",
                     "ZUnmapper", "ZWorkerOld#0", "ZWorkerYoung#0"),
    (25, "genzgc"): ("RuntimeWorker#0", "ZDirector", "ZDriverMajor", "ZDriverMinor", "ZStat", "ZUncommitter#0",
                     "ZWorkerOld#0", "ZWorkerYoung#0"),
    (25, "g1"): ("G1 Conc#0", "G1 Main Marker", "G1 Refine#0", "G1 Service"),
    (25, "shenandoah"): ("Shenandoah Cont", "Shenandoah GC T"),
    (25, "genshenandoah"): ("Shenandoah Cont", "Shenandoah GC T", "Shenandoah Regu"),
}  # fmt: skip
"""Threads of a JVM's own collector as Linux names them, read from ``/proc/<pid>/task`` of Temurin's runtimes."""


@pytest.mark.parametrize(("feature", "name"), SEEN)
def test_a_row_knows_the_threads_that_its_jvm_was_seen_with(feature: int, name: str) -> None:
    assert COLLECTORS[name].is_on(feature)
    for thread in SEEN[feature, name]:
        assert thread.startswith(COLLECTORS[name].thread_names)
        assert group_of(thread) == GC
