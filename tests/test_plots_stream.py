"""What the figure of the stream study draws, and from which rows: every mark is looked up in the tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from allocpool.campaign.tidy import frame
from allocpool.evidence.style import colour_of
from allocpool.runtimes.collectors import collector_labelled, collector_named
from allocpool.studies.stream.plots import latency_against_throughput
from allocpool.studies.stream.story import published
from allocpool.studies.stream.tables import TRIALS

TARGET_MS = 10.0
RATES = (1_000_000, 2_000_000, 4_000_000)
SHARED: dict[str, Any] = {
    "mode": "stream", "status": "ok", "reason": None, "wall_s": 1.0, "cpu_s": 1.0, "load_before": 0.0,
    "started_utc": "", "git_commit": None, "code_hash": "", "host_id": "", "runtime": 25, "heap_mb": 1024, "cores": 2,
    "keys": 10, "window_ms": 100, "slide_ms": 10, "seconds": 1.0, "aggregate": "boxed", "processors": "cooperative",
}  # fmt: skip


def trial(collector: str, threads: int, rate: int, tail_ms: float | None, block: int, **changes: Any) -> dict[str, Any]:
    """A trial; without a latency at the tail it fell behind."""
    return {
        **SHARED, "trial_id": f"{collector} {threads} {rate} {block} {changes}", "block": block,
        "collector": collector, "solution": f"{collector_named(collector).label} / 25", "cooperative_threads": threads,
        "events_per_second": rate, "offered_items_per_second": 2.0 * rate, "kept_up": tail_ms is not None,
        "tail_ms": tail_ms, "tail": None if tail_ms is None else "p99", **changes,
    }  # fmt: skip


def rows() -> list[dict[str, Any]]:
    """Two collectors by two numbers of threads at three rates, three blocks each, of latencies that no two share."""
    made = []
    for place, (collector, threads) in enumerate(
        (("g1", 1), ("g1", 2), ("genzgc", 1), ("genzgc", 2)),
    ):
        for number, rate in enumerate(RATES):
            for block in range(3):
                tail_ms = 1.0 + place + 5 * number + (0.1, 0.4, 0.2)[block]
                made.append(trial(collector, threads, rate, tail_ms, block))
    return made


BESIDE = (
    {"aggregate": "garbage_free"}, {"processors": "native"}, {"new_size_mb": 64}, {"status": "failed"},
)  # fmt: skip


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    """The highest rate of generational ZGC on two threads: one trial fell behind; of G1 on two: all did."""
    made = rows()
    for row in made:
        of_g1 = row["collector"] == "g1"
        if row["events_per_second"] == RATES[-1] and row["cooperative_threads"] == 2 and (of_g1 or row["block"] == 1):
            row.update(kept_up=False, tail_ms=None, tail=None)
    made += [trial("g1", 1, RATES[0], 90.0, 9, **changes) for changes in BESIDE]
    return frame(made, TRIALS)


@pytest.fixture(scope="module")
def figure(table: pd.DataFrame) -> Figure:
    return latency_against_throughput(table, TARGET_MS)


def curves(axis: Axes) -> list[Line2D]:
    """Lines of data: neither the target nor the caps of the bars."""
    return [line for line in axis.lines if line.get_marker() not in ("_", "None", None)]


def xy(line: Line2D) -> list[list[float]]:
    return [np.asarray(line.get_xdata(), float).tolist(), np.asarray(line.get_ydata(), float).tolist()]


def chosen(table: pd.DataFrame, collector: str, threads: int) -> pd.DataFrame:
    """The finished trials of a line: the allocating aggregate on cooperative threads, young generation as it comes."""
    own = table[(table["collector"] == collector) & (table["cooperative_threads"] == threads)]
    own = own[(own["status"] == "ok") & (own["aggregate"] == "boxed") & (own["processors"] == "cooperative")]
    return own[own["new_size_mb"].isna()]


LINES = [("g1", 1), ("g1", 2), ("genzgc", 1), ("genzgc", 2)]


def test_a_line_is_a_collector_on_so_many_threads(figure: Figure, table: pd.DataFrame) -> None:
    left, _ = figure.axes
    assert len(curves(left)) == len(LINES)
    for line, (collector, threads) in zip(curves(left), LINES, strict=True):
        tails = chosen(table, collector, threads).groupby("offered_items_per_second")["tail_ms"]
        x, y = xy(line)
        assert x == [2 * rate / 1e6 for rate in RATES]
        np.testing.assert_allclose(y, tails.median().astype(float).to_numpy(dtype=float, na_value=np.nan))
        assert to_hex(line.get_color()) == colour_of(collector)
    markers = {threads: {line.get_marker() for line, key in zip(curves(left), LINES, strict=True) if key[1] == threads}
               for threads in (1, 2)}  # fmt: skip
    assert all(len(shapes) == 1 for shapes in markers.values()) and markers[1] != markers[2]


def test_bars_reach_from_the_smallest_to_the_largest_trial(figure: Figure, table: pd.DataFrame) -> None:
    left, _ = figure.axes
    bars = [found for found in left.collections if isinstance(found, LineCollection)]
    for bar, (collector, threads) in zip(bars, LINES, strict=True):
        tails = chosen(table, collector, threads).groupby("offered_items_per_second")["tail_ms"]
        ends = np.array([np.asarray(segment)[:, 1] for segment in bar.get_segments() if len(segment)])
        expected = pd.DataFrame({"low": tails.min(), "high": tails.max()}).dropna().to_numpy(dtype=float)
        np.testing.assert_allclose(ends[~np.isnan(ends).any(axis=1)], expected)


def test_a_rate_at_which_a_trial_fell_behind_has_an_open_mark_at_the_top(figure: Figure) -> None:
    left, _ = figure.axes
    marks = [found for found in left.collections if isinstance(found, PathCollection)]
    open_marks = {
        key: np.asarray(mark.get_offsets(), float).tolist() for mark, key in zip(marks, LINES, strict=True)
    }  # fmt: skip
    top = [[2 * RATES[-1] / 1e6, 100.0]]
    assert open_marks == {("g1", 1): [], ("g1", 2): top, ("genzgc", 1): [], ("genzgc", 2): top}
    assert all(len(mark.get_facecolor()) == 0 for mark in marks)


def test_the_target_is_a_line_in_both_panels(figure: Figure) -> None:
    for axis in figure.axes:
        (target,) = [line for line in axis.lines if line.get_linestyle() == "--"]
        assert set(xy(target)[1]) == {TARGET_MS}


def test_the_published_chart_is_drawn_line_by_line(figure: Figure) -> None:
    _, right = figure.axes
    groups = list(published().groupby(["jdk", "collector", "jet_threads"]))
    assert len(curves(right)) == len(groups)
    for line, ((jdk, collector, threads), group) in zip(curves(right), groups, strict=True):
        ordered = group.sort_values("million_items_per_second")
        assert xy(line) == [ordered["million_items_per_second"].to_list(), ordered["p9999_ms"].to_list()]
        assert line.get_label() == f"{collector}, JDK {jdk}, {threads} threads"
        assert to_hex(line.get_color()) == collector_labelled(str(collector)).colour


def test_the_legend_names_solutions_and_threads(figure: Figure) -> None:
    (legend,) = figure.legends
    texts = [text.get_text() for text in legend.get_texts()]
    assert texts == ["G1 / 25", "generational ZGC / 25", "threads: 1", "threads: 2"]


def test_a_collector_keeps_its_colour_whatever_its_solution_is_called(table: pd.DataFrame) -> None:
    renamed = table[table["collector"] == "genzgc"].assign(solution="G1 / 25")
    left, _ = latency_against_throughput(renamed, TARGET_MS).axes
    assert {to_hex(line.get_color()) for line in curves(left)} == {colour_of("genzgc")}


@pytest.mark.parametrize("changes", [*BESIDE, {"kept_up": False, "tail_ms": None}])
def test_where_nothing_is_left_it_says_so(table: pd.DataFrame, changes: dict[str, Any]) -> None:
    left: list[dict[str, Any]] = [
        {str(name): value for name, value in row.items()} for row in table.assign(**changes).to_dict("records")
    ]
    (axis,) = latency_against_throughput(frame(left, TRIALS), TARGET_MS).axes
    assert axis.texts[0].get_text() == "No trial that kept up"
