"""A collector is one row: what a row must hold, and that a new one is known everywhere without another edit."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import synthetic
from matplotlib.collections import PathCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from allocpool.campaign import campaign
from allocpool.errors import UserError
from allocpool.evidence import style
from allocpool.packets import cells, published
from allocpool.packets.batch import BatchSpec
from allocpool.packets.specs import PacketsSpec
from allocpool.runtimes import COLLECTORS, FEATURES, Collector, collector_named, collectors_on, jvm_flags
from allocpool.runtimes import collectors as table
from allocpool.runtimes import flags as runtime_flags
from allocpool.runtimes.threads import GC, OTHER, group_of
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


@pytest.fixture
def with_row(monkeypatch: pytest.MonkeyPatch) -> Callable[[Collector], None]:
    """Adds a row for the length of a test."""
    return lambda row: monkeypatch.setitem(table._ROWS, row.name, row)


@pytest.fixture
def toy(with_row: Callable[[Collector], None]) -> None:
    with_row(TOY)


def drawn() -> Figure:
    """Trials of the toy collector, of G1 and of C++, in a figure whose colours mean collectors."""
    configurations = (
        ("java", "heap", "toy", 25, None, "heap / Toy / 25"),
        ("java", "heap", "g1", 25, None, "heap / G1 / 25"),
        ("cpp", "flat", None, None, "glibc", "C++ flat"),
    )
    results = cells.cells(synthetic.trials(centre=lambda _row: 100.0, configurations=configurations))
    return batch_plots.published_against_measured(results.assign(published_ns=50.0))


def colours_in(figure: Figure) -> set[str]:
    marks = [found for axis in figure.axes for found in axis.collections if isinstance(found, PathCollection)]
    return {to_hex(colour) for found in marks for colour in np.asarray(found.get_facecolor())}


def legend_of(figure: Figure) -> list[str]:
    (legend,) = figure.legends
    return [text.get_text() for text in legend.get_texts()]


@pytest.mark.parametrize("row", COLLECTORS.values(), ids=list(COLLECTORS))
def test_a_row_is_complete(row: Collector) -> None:
    assert COLLECTORS[row.name] is row
    assert row.label and row.releases
    assert all(flags and all(flag.startswith("-XX:") for flag in flags) for flags in row.flags.values())
    assert re.fullmatch("#[0-9a-f]{6}", row.colour)
    assert all(0 < len(name) <= 15 for name in row.thread_names)
    assert row.thread_names or not row.concurrent
    assert row.roomy_heap_mb >= row.smallest_heap_mb > 0
    assert not (row.never_frees and (row.stop_the_world or row.concurrent))
    assert row.is_control == row.never_frees == (row.exhausted_exit_status is not None)
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
    assert set(published.READ_AS) == {*published.published_batch()["family"].dropna()}
    for name, readings in published.READ_AS.items():
        assert {COLLECTORS[reading].published_family for reading in readings} == {name}


@pytest.mark.parametrize("features", [(), (10,), (11, 28)])
def test_a_row_with_flags_for_a_release_without_it_is_refused(features: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="collector toy: flags from"):
        replace(TOY, flags=dict.fromkeys(features, ("-XX:+UseToyGC",)), last=27)


def test_a_row_whose_roomy_heap_is_too_small_to_start_is_refused() -> None:
    with pytest.raises(ValueError, match="collector toy: roomy_heap_mb 98 is below smallest_heap_mb 99"):
        replace(TOY, roomy_heap_mb=98)


def test_traits_are_those_that_the_studies_were_made_with() -> None:
    assert table.collectors_that(lambda row: row.stop_the_world) == ("serial", "parallel", "cms")
    assert table.collectors_that(lambda row: row.is_control) == ("epsilon",)
    assert table.collectors_that(lambda row: row.has_sized_young and row.is_on(25)) == ("serial", "parallel", "g1")
    assert table.collectors_that(lambda row: row.heap_is_shared_memory) == ("zgc", "genzgc")
    assert table.collectors_that(lambda row: not row.concurrent) == ("serial", "parallel", "epsilon")
    assert {row.name: row.smallest_heap_mb for row in COLLECTORS.values() if row.smallest_heap_mb != 16} == {"zgc": 48}
    assert {row.name: row.roomy_heap_mb for row in COLLECTORS.values() if row.roomy_heap_mb != 16} == {"zgc": 160}
    targets_ms = {row.name: row.published_pause_target_ms for row in COLLECTORS.values()}
    assert {name: target for name, target in targets_ms.items() if target} == {"g1": {11: 80}}


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


def test_an_unknown_label_names_the_known_ones() -> None:
    assert table.collector_labelled("generational ZGC").name == "genzgc"
    with pytest.raises(UserError, match="unknown collector 'genzgc': choose one of Serial, Parallel, CMS, G1, ZGC"):
        table.collector_labelled("genzgc")


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


@pytest.mark.parametrize("thread", ["VM Thread", "GC Thread#0", "StrDedup", "StringDedupProc", "StringDedupThre"])
def test_threads_of_several_collectors_are_in_no_row(thread: str) -> None:
    assert group_of(thread) == GC
    assert not any(thread.startswith(row.thread_names) for row in COLLECTORS.values())


@pytest.mark.parametrize("thread", ["VM Periodic Tas", "Signal Dispatch", "Reference Handl", "Monitor Deflati", "java"])
def test_threads_of_the_jvm_itself_are_not_the_collectors(thread: str) -> None:
    assert group_of(thread) == OTHER


def test_its_threads_are_nobodys_without_a_row() -> None:
    assert group_of("Toy Worker#0") == OTHER


@pytest.mark.usefixtures("toy")
class TestAToyCollector:
    def test_has_flags_where_it_exists(self) -> None:
        assert collectors_on(25)[-1] == "toy" and "toy" not in collectors_on(21)
        made = jvm_flags("toy", 25, heap_mb=128, gc_log=Path("gc.log"))
        assert made[0] == "-XX:+UseToyGC"
        (log,) = (flag for flag in made if "gc.log" in flag)
        assert log.startswith("-Xlog:gc*=info,gc+toy=debug,safepoint=info:file=")
        with pytest.raises(UserError, match=r"on 21 choose serial, .*; toy runs on 25"):
            jvm_flags("toy", 21, heap_mb=128)

    def test_is_told_which_pages_its_heap_is_granted(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "enabled").write_text("always [madvise] never\n")
        (tmp_path / "shmem_enabled").write_text("always within_size advise [never] deny force\n")
        monkeypatch.setattr(runtime_flags, "_HUGE_PAGES", tmp_path)
        with pytest.raises(UserError, match=r"not granted to toy here, write advise to .*shmem_enabled"):
            runtime_flags.check_huge_pages("toy")

    def test_has_threads(self) -> None:
        assert group_of("Toy Worker#0") == GC

    def test_has_specs(self) -> None:
        asked = {"mode": "batch", "layout": "heap", "collector": "toy", "strategy": "pool", "scale": 0.001}
        spec = PacketsSpec.model_validate(asked)
        assert (spec.runtime, spec.heap_mb, spec.pause_target_ms) == (25, 99, 7)
        assert (spec.configuration.key, spec.configuration.label) == ("java/heap/toy/25", "heap / Toy / 25")

    def test_is_planned_and_listed_by_the_batch_study(self) -> None:
        opened = campaign.open_study("batch", "smoke", {"configurations": ["java/heap/toy/25"]})
        planned = opened.plan()
        assert {item.spec.collector for item in planned if isinstance(item.spec, BatchSpec)} == {"toy"}
        listed = opened.study.catalogue(opened.profile, planned).set_index("key")
        assert listed.loc["java/heap/toy/25", "configuration"] == "heap / Toy / 25"
        assert listed["planned"].sum() == 1 and "java/native/toy/25" in listed.index

    def test_is_drawn_in_its_colour_before_cpp(self) -> None:
        figure = drawn()
        assert {TOY.colour, COLLECTORS["g1"].colour, style.colour_of(style.CPP)} <= colours_in(figure)
        assert legend_of(figure)[:3] == ["G1", "Toy", "C++"]

    def test_is_last_of_the_collectors_in_tables(self) -> None:
        trials = synthetic.trials(
            blocks=1, cases=("A",), centre=lambda _row: 100.0,
            configurations=(
                ("cpp", "flat", None, None, "glibc", "C++ flat"),
                ("java", "heap", "toy", 25, None, "heap / Toy / 25"),
                ("java", "heap", "epsilon", 25, None, "heap / Epsilon / 25"),
            ),
        )  # fmt: skip
        assert cells.configuration_order(trials) == ["heap / Epsilon / 25", "heap / Toy / 25", "C++ flat"]

    def test_is_set_beside_its_published_family(self) -> None:
        assert published.family("java", "toy") == "G1"
        assert "toy" not in set(published.published_as_trials()["collector"])


def test_a_collector_that_never_frees_is_bounded_by_its_heap(with_row: Callable[[Collector], None]) -> None:
    with_row(replace(TOY, concurrent=False, never_frees=True, published_pause_target_ms={}))
    overrides = {"configurations": ["java/heap/toy/25"], "cases": ["A", "C"], "epsilon_heap_mb": 64}
    opened = campaign.open_study("batch", "smoke", overrides)
    planned = opened.plan()
    assert all(isinstance(item.spec, BatchSpec) and item.spec.packets for item in planned)
    assert any(str(item.unavailable).startswith("Toy never frees: filling this case takes") for item in planned)
    streams = campaign.open_study("realtime", "smoke", {"configurations": ["java/heap/toy/25"]}).plan()
    reasons = {item.unavailable for item in streams if getattr(item.spec, "collector", None) == "toy"}
    assert reasons == {"Toy never frees: a stream without an end has no place in any heap"}
