"""What the figures of the stream study draw, and from which rows: every mark is looked up in the tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
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
EVENTS = 1_000_000
KEYS = (10_000, 20_000, 40_000)
ANSWERS = {"first": "first_tail_ms", "last": "tail_ms"}
SHARED: dict[str, Any] = {
    "mode": "stream", "status": "ok", "reason": None, "wall_s": 1.0, "cpu_s": 1.0, "load_before": 0.0,
    "started_utc": "", "git_commit": None, "code_hash": "", "host_id": "", "attempt": 1,
    "runtime": 25, "heap_mb": 1024, "cores": 2,
    "window_ms": 100, "slide_ms": 10, "seconds": 1.0, "aggregate": "boxed", "processors": "cooperative",
    "sources": "parallel", "hiccup_ms": 0,
}  # fmt: skip


def trial(collector: str, threads: int, keys: int, tail_ms: float | None, block: int, **changes: Any) -> dict[str, Any]:
    """A trial; without a latency at the tail it fell behind. The last result comes a quarter of a millisecond later."""
    return {
        **SHARED, "trial_id": f"{collector} {threads} {keys} {block} {changes}", "block": block,
        "collector": collector, "configuration": f"{collector_named(collector).label} / 25",
        "cooperative_threads": threads,
        "events_per_second": EVENTS, "keys": keys, "offered_items_per_second": float(EVENTS + 100 * keys),
        "kept_up": tail_ms is not None, "first_tail_ms": tail_ms,
        "tail_ms": None if tail_ms is None else tail_ms + 0.25, "tail": None if tail_ms is None else "p99", **changes,
    }  # fmt: skip


def rows() -> list[dict[str, Any]]:
    """Two collectors by two numbers of threads at three outputs, three blocks each, of latencies that no two share."""
    made = []
    for place, (collector, threads) in enumerate(
        (("g1", 1), ("g1", 2), ("genzgc", 1), ("genzgc", 2)),
    ):
        for number, keys in enumerate(KEYS):
            for block in range(3):
                tail_ms = 1.0 + place + 5 * number + (0.1, 0.4, 0.2)[block]
                made.append(trial(collector, threads, keys, tail_ms, block))
    return made


ASIDE = 9
"""The block of trials that no line is made of."""
BESIDE = (
    {"aggregate": "garbage_free"}, {"processors": "native"}, {"new_size_mb": 64}, {"status": "failed"},
    {"asked_concurrent_gc_threads": 2}, {"asked_parallel_gc_threads": 1}, {"sources": "single"}, {"hiccup_ms": 20},
)  # fmt: skip


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    """The most output of generational ZGC on two threads: one trial fell behind; of G1 on two: all did."""
    made = rows()
    for row in made:
        of_g1 = row["collector"] == "g1"
        if row["keys"] == KEYS[-1] and row["cooperative_threads"] == 2 and (of_g1 or row["block"] == 1):
            row.update(kept_up=False, tail_ms=None, first_tail_ms=None, tail=None)
    made += [trial("g1", 1, KEYS[0], 90.0, ASIDE, **changes) for changes in BESIDE]
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
    """The trials of a line: not those that differ in anything else."""
    own = table[(table["collector"] == collector) & (table["cooperative_threads"] == threads)]
    return own[own["block"] != ASIDE]


LINES = [("g1", 1), ("g1", 2), ("genzgc", 1), ("genzgc", 2)]


def panels(figure: Figure) -> dict[str, Axes]:
    """The measured panels: left the latency to the first result, right to the last; then the published charts."""
    left, right, *_ = figure.axes
    return {"first": left, "last": right}


@pytest.mark.parametrize("answer", ANSWERS)
def test_a_line_is_a_collector_on_so_many_threads(figure: Figure, table: pd.DataFrame, answer: str) -> None:
    panel = panels(figure)[answer]
    assert len(curves(panel)) == len(LINES)
    for line, (collector, threads) in zip(curves(panel), LINES, strict=True):
        tails = chosen(table, collector, threads).groupby("offered_items_per_second")[ANSWERS[answer]]
        expected = tails.median().astype(float).dropna()
        np.testing.assert_allclose(
            np.asarray(xy(line)), np.array([expected.index.to_numpy(float) / 1e6, expected.to_numpy(float)])
        )
        assert to_hex(line.get_color()) == colour_of(collector)
    markers = {threads: {line.get_marker() for line, key in zip(curves(panel), LINES, strict=True) if key[1] == threads}
               for threads in (1, 2)}  # fmt: skip
    assert all(len(shapes) == 1 for shapes in markers.values()) and markers[1] != markers[2]


@pytest.mark.parametrize("answer", ANSWERS)
def test_bars_reach_from_the_smallest_to_the_largest_trial(figure: Figure, table: pd.DataFrame, answer: str) -> None:
    bars = [found for found in panels(figure)[answer].collections if isinstance(found, LineCollection)]
    for bar, (collector, threads) in zip(bars, LINES, strict=True):
        tails = chosen(table, collector, threads).groupby("offered_items_per_second")[ANSWERS[answer]]
        ends = np.array([np.asarray(segment)[:, 1] for segment in bar.get_segments() if len(segment)])
        expected = pd.DataFrame({"low": tails.min(), "high": tails.max()}).dropna().to_numpy(dtype=float)
        np.testing.assert_allclose(ends[~np.isnan(ends).any(axis=1)], expected)


@pytest.mark.parametrize(("machine", "place", "window"), [("c5.4xlarge", 2, "10,000"), ("c5.metal", 3, "1,000")])
def test_the_published_charts_are_drawn_line_by_line(figure: Figure, machine: str, place: int, window: str) -> None:
    """Each in a panel of its own, as their windows are not of one length."""
    right, rows = figure.axes[place], published()
    groups = list(rows[rows["machine"] == machine].groupby(["jdk", "collector", "jet_threads"]))
    assert len(curves(right)) == len(groups)
    for line, ((_jdk, collector, _threads), group) in zip(curves(right), groups, strict=True):
        ordered = group.sort_values("million_items_per_second")
        assert xy(line) == [ordered["million_items_per_second"].to_list(), ordered["p9999_ms"].to_list()]
        assert to_hex(line.get_color()) == collector_labelled(str(collector)).colour


SETTINGS = ("new_size_mb", "asked_concurrent_gc_threads", "asked_parallel_gc_threads")
