"""What the figures of the study on pauses draw, and from which rows: every mark is looked up in the tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest
import synthetic
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from allocpool.evidence.style import colour_of
from allocpool.evidence.trials import configuration
from allocpool.packets.style import STRATEGY_STYLE
from allocpool.studies.pauses import plots

G1, PARALLEL = "heap / G1 / 25", "heap / Parallel / 25"
CONFIGURATIONS = (
    ("java", "heap", "parallel", 11, None, "heap / Parallel / 11"),
    ("java", "heap", "parallel", 25, None, PARALLEL),
    ("java", "heap", "g1", 25, None, G1),
    ("java", "heap", "epsilon", 25, None, "heap / Epsilon / 25"),
    ("java", "native", "g1", 25, None, "native / G1 / 25"),
    ("cpp", "flat", None, None, "glibc", "C++ flat"),
)
SHOWN = [PARALLEL, G1]
READ = [spelled_out(name) for name in SHOWN]
CASES = ("B", "C")


@pytest.fixture(scope="module")
def trials() -> pd.DataFrame:
    """Two blocks; one configuration has failed in the second."""
    made = synthetic.trials(blocks=2, centre=lambda _row: 100.0, configurations=CONFIGURATIONS, cases=CASES)
    failed = (made["configuration"] == G1) & (made["strategy"] == "pool") & (made["case"] == "C") & (made["block"] == 1)
    made.loc[failed, ["status", "reason"]] = ["crashed", "signal 11"]
    return made[made["configuration"] != "heap / Parallel / 11"]


@pytest.fixture(scope="module")
def pauses(trials: pd.DataFrame) -> pd.DataFrame:
    """Three pauses of every trial, of lengths that no other trial has."""
    return pd.DataFrame([
        {"trial_id": trial, "start_s": 0.5 * number, "duration_ms": 1.0 + place + number / 8, "kind": "", "cause": ""}
        for place, trial in enumerate(trials["trial_id"]) for number in range(3)
    ])  # fmt: skip


def of(table: pd.DataFrame, trials: pd.DataFrame, **facts: Any) -> pd.DataFrame:
    """The rows of a table that belong to finished trials with these facts."""
    chosen = trials[trials["status"] == "ok"]
    for name, value in facts.items():
        chosen = chosen[chosen[name] == value]
    assert len(chosen), facts
    return table[table["trial_id"].isin(chosen["trial_id"])]


def points(*lines: Line2D) -> list[tuple[float, float]]:
    """(x, y) of every point of these lines."""
    return [
        (float(x), float(y))
        for line in lines
        for x, y in zip(np.asarray(line.get_xdata()), np.asarray(line.get_ydata()), strict=True)
    ]


def same(drawn: Iterable[Sequence[float]], expected: Iterable[Sequence[float]]) -> None:
    np.testing.assert_allclose(np.array(list(drawn), float), np.array(list(expected), float))


def with_marker(axis: Axes, marker: str) -> list[Line2D]:
    return [line for line in axis.lines if line.get_marker() == marker]


def legend_of(figure: Figure) -> list[str]:
    (legend,) = figure.legends
    return [text.get_text() for text in legend.get_texts()]


def message(figure: Figure) -> str:
    (axis,) = figure.axes
    return axis.texts[0].get_text()


def overheads() -> pd.DataFrame:
    """Bounds that no two cells share; a control and another layout among them."""
    configurations = [
        ("heap", "parallel", PARALLEL), ("heap", "g1", G1), ("heap", "epsilon", "heap / Epsilon / 25"),
        ("native", "g1", "native / G1 / 25"),
    ]  # fmt: skip
    rows = [
        {"configuration": configuration, "layout": layout, "collector": collector, "runtime": 25, "strategy": strategy,
         "case": case, "clock": clock}
        for layout, collector, configuration in configurations
        for strategy in synthetic.STRATEGIES for case in CASES for clock in ("wall", "CPU")
    ]  # fmt: skip
    table = pd.DataFrame(rows)
    bounds = 1.1 + 0.01 * np.arange(len(table))
    return table.assign(lbo=bounds, low=bounds - 0.003, high=bounds + 0.004)


def test_overhead_has_a_mark_and_an_interval_per_choice() -> None:
    table = overheads()
    figure = plots.overhead_by_strategy(table)
    panels = [(clock, case) for clock in ("wall", "CPU") for case in CASES]
    for axis, (clock, case) in zip(figure.axes, panels, strict=True):
        here = table[(table["clock"] == clock) & (table["case"] == case) & table["configuration"].isin(SHOWN)]
        marks = 0
        for strategy in ("alloc", "mix", "pool"):
            colour, marker = STRATEGY_STYLE[strategy]
            rows = here[here["strategy"] == strategy].set_index("configuration").loc[SHOWN]
            (drawn,) = with_marker(axis, marker)
            assert [x for x, _ in points(drawn)] == pytest.approx(list(rows["lbo"]))
            assert [round(y) for _, y in points(drawn)] == [0, 1], "in the row of its configuration"
            ends = [
                (points(line)[0][0], points(line)[1][0])
                for line in with_marker(axis, "None")
                if line.get_color() == colour
            ]
            same(ends, zip(rows["low"], rows["high"], strict=True))
            marks += len(points(drawn))
        assert marks == len(SHOWN) * 3, "neither the control nor another layout"
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == READ


def test_live_sets_are_drawn_by_measure_with_their_fits() -> None:
    rows = pd.DataFrame([
        {"measure": measure, "configuration": f"heap / {collector} / 25", "language": "java", "layout": "heap",
         "collector": collector, "runtime": 25, "strategy": strategy, "live_objects": objects,
         "cost_ns": (number + 1) * objects}
        for number, (measure, collector, strategy) in enumerate(
            [("forced full pause", "serial", "pool"), ("forced full pause", "g1", "alloc"),
             ("mean pause", "g1", "pool")]
        )
        for objects in (1e5, 1e6, 1e7)
    ])  # fmt: skip
    fits = pd.DataFrame([
        {"measure": "forced full pause", "collector": "serial", "strategy": "pool", "ns_per_object": 70.0,
         "base_ms": 2.0},
        {"measure": "mean pause", "collector": "g1", "strategy": "alloc", "ns_per_object": 30.0, "base_ms": 1.0},
    ])  # fmt: skip
    figure = plots.live_set_scaling(rows, fits)
    for axis, (_, fit) in zip(figure.axes, fits.iterrows(), strict=True):
        here = rows[rows["measure"] == axis.get_title()]
        (marks,) = axis.collections
        same(np.asarray(marks.get_offsets()), zip(here["live_objects"] / 1e6, here["cost_ns"] / 1e6, strict=True))
        assert [to_hex(colour) for colour in np.asarray(marks.get_facecolor())] == [
            colour_of(one) for one in here["collector"]
        ]
        (line,) = [
            line for line in with_marker(axis, "None") if line.get_linestyle() != ":"
        ]  # beside the published figure
        assert (line.get_color(), line.get_linestyle()) == (
            colour_of(fit["collector"]), "-" if fit["strategy"] == "pool" else "--",
        )  # fmt: skip
        at, cost = points(line)[-1]
        assert cost == pytest.approx(fit["base_ms"] + fit["ns_per_object"] * at)


def losses() -> pd.DataFrame:
    facts = {"configuration": G1, "case": "B", "input_queue_ms": 10.0, "heap_mb": 204}
    return pd.DataFrame([
        {**facts, "trial_id": "pool", "strategy": "pool", "block": 0, "disturbance": None},
        {**facts, "trial_id": "alloc", "strategy": "alloc", "block": 0, "disturbance": None},
        {**facts, "trial_id": "stopped", "strategy": "pool", "block": 0, "disturbance": "stop_the_world"},
        {**facts, "trial_id": "again", "strategy": "pool", "block": 1, "disturbance": None},
        {**facts, "trial_id": "lost nothing", "strategy": "mix", "block": 0, "disturbance": None},
    ])  # fmt: skip
