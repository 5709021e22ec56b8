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
from matplotlib.patches import Rectangle

from allocpool.evidence.style import colour_of
from allocpool.evidence.trials import configuration
from allocpool.packets.style import STRATEGY_STYLE
from allocpool.runtimes.threads import GROUPS
from allocpool.studies.pauses import plots
from allocpool.studies.pauses.attribution import ALL_CAUSES
from allocpool.studies.pauses.plots import CAUSE_STYLE, THREADS_STYLE

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


def bars(axis: Axes) -> list[Rectangle]:
    return [patch for patch in axis.patches if isinstance(patch, Rectangle)]


def legend_of(figure: Figure) -> list[str]:
    (legend,) = figure.legends
    return [text.get_text() for text in legend.get_texts()]


def message(figure: Figure) -> str:
    (axis,) = figure.axes
    return axis.texts[0].get_text()


@pytest.mark.parametrize(("strategy", "case"), [("pool", "C"), ("alloc", "B")])
def test_a_timeline_has_the_pauses_of_one_trial_per_configuration(
    trials: pd.DataFrame, pauses: pd.DataFrame, strategy: str, case: str
) -> None:
    figure = plots.pause_timeline(pauses, trials, strategy, case)
    assert [axis.get_ylabel() for axis in figure.axes] == SHOWN
    assert len({(axis.get_xlim(), axis.get_ylim()) for axis in figure.axes}) == 1, "the same axes in all rows"
    for axis, configuration in zip(figure.axes, SHOWN, strict=True):
        rows = of(pauses, trials, configuration=configuration, strategy=strategy, case=case, block=0)
        (strokes,) = axis.collections
        drawn = [np.asarray(path.vertices)[-1] for path in strokes.get_paths()]
        same(drawn, zip(rows["start_s"], rows["duration_ms"], strict=True))
        collector = trials.loc[trials["configuration"] == configuration, "collector"].iloc[0]
        assert to_hex(np.asarray(strokes.get_edgecolor())[0]) == colour_of(collector)


def test_a_distribution_pools_all_trials_of_a_configuration(trials: pd.DataFrame, pauses: pd.DataFrame) -> None:
    figure = plots.pause_distributions(pauses, trials)
    panels = [(case, strategy) for case in CASES for strategy in ("alloc", "pool")]
    for axis, (case, strategy) in zip(figure.axes, panels, strict=True):
        for step, configuration in zip(reversed(axis.lines), SHOWN, strict=True):
            rows = of(pauses, trials, configuration=configuration, strategy=strategy, case=case)
            lengths = sorted(rows["duration_ms"])
            longer = [1 - (place + 1) / len(lengths) for place in range(len(lengths))]
            same(points(step)[1:], zip(lengths, longer, strict=True))
    assert len(points(figure.axes[3].lines[0])) == 3 + 1, "a trial that failed has no pauses"
    assert legend_of(figure) == READ


def test_options_of_some_configurations_are_named_and_those_of_all_are_not(
    trials: pd.DataFrame, pauses: pd.DataFrame
) -> None:
    every = trials.assign(configuration=trials["configuration"] + " / compact headers")
    assert legend_of(plots.pause_distributions(pauses, every)) == READ


def test_utilisation_is_the_mean_over_trials_with_their_range(trials: pd.DataFrame) -> None:
    rows = pd.DataFrame([
        {"trial_id": trial, "counted": counted, "window_ms": window_ms, "utilisation": least}
        for place, trial in enumerate(trials["trial_id"])
        for shift, counted in ((0.0, "pauses"), (0.002, "all stops"))
        for window_ms, least in ((1.0, 0.1 + place / 1000 - shift), (10.0, 0.5 + place / 1000 - shift))
    ])  # fmt: skip
    figure = plots.utilisation_curves(rows, trials, "B")
    for axis, configuration in zip(figure.axes, SHOWN, strict=True):
        curves = [(strategy, counted) for strategy in ("alloc", "pool") for counted in ("pauses", "all stops")]
        for line, shade, (strategy, counted) in zip(axis.lines, axis.collections, curves, strict=False):
            mine = of(
                rows[rows["counted"] == counted], trials, configuration=configuration, strategy=strategy, case="B"
            )
            by_window = mine.groupby("window_ms")["utilisation"]
            same(points(line), zip(by_window.mean().index, by_window.mean(), strict=True))
            corners = np.asarray(shade.get_paths()[0].vertices)[:, 1]
            assert (corners.min(), corners.max()) == pytest.approx((mine["utilisation"].min(), by_window.max().max()))
            assert (line.get_color(), line.is_dashed()) == (STRATEGY_STYLE[strategy][0], counted != "pauses")


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


def test_processor_time_is_stacked_by_whose_it_was(trials: pd.DataFrame) -> None:
    spent = {group: number + 1 for number, group in enumerate(GROUPS) if group != "source"}
    cpu = pd.DataFrame([
        {"trial_id": trial, "thread_group": group, "cpu_ns": (place + 1) * share * 1_000_000}
        for place, trial in enumerate(trials["trial_id"]) for group, share in spent.items()
    ])  # fmt: skip
    figure = plots.cpu_split(cpu, trials, "C")
    strategies = ("alloc", "mix", "pool")
    assert [axis.get_title() for axis in figure.axes] == list(strategies)
    for axis, strategy in zip(figure.axes, strategies, strict=True):
        drawn = {
            (round(bar.get_y() + bar.get_height() / 2), to_hex(bar.get_facecolor())): bar
            for bar in bars(axis) if bar.get_width()
        }  # fmt: skip
        left = [0.0, 0.0]
        for group in spent:
            colour, hatch = THREADS_STYLE[group]
            for row, configuration in enumerate(SHOWN):
                rows = of(
                    cpu[cpu["thread_group"] == group], trials, configuration=configuration, strategy=strategy, case="C"
                )
                bar, ns = drawn[row, colour], float(rows["cpu_ns"].mean()) / 1_000_000
                assert (bar.get_x(), bar.get_width()) == pytest.approx((left[row], ns))
                assert (bar.get_hatch() or "") == hatch
                left[row] += ns
        assert len(drawn) == len(spent) * len(SHOWN)
    assert len(legend_of(figure)) == len(spent), "what spent nothing is not in the legend"


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


def test_losses_are_shares_by_cause_of_the_trials_of_the_first_block() -> None:
    lost = {
        "alloc": {"other pause": 30.0, "nothing known": 10.0}, "pool": {"source slip": 50.0},
        "stopped": {"stop on purpose": 75.0, "other pause": 25.0}, "again": {"allocation stall": 1e6},
    }  # fmt: skip
    attribution = pd.DataFrame([
        {"trial_id": trial, "burst": burst, "cause": cause, "share": 0.5, "lost": ticks / 2}
        for trial, causes in lost.items() for cause, ticks in causes.items() for burst in (0, 1)
    ])  # fmt: skip
    figure = plots.lost_by_cause(attribution, losses())
    (axis,) = figure.axes
    totals = [40, 50, 100]
    causes = [cause for cause in ALL_CAUSES if any(cause in lost[trial] for trial in ("alloc", "pool", "stopped"))]
    for row, trial in enumerate(("alloc", "pool", "stopped")):
        mine = [bar for bar in bars(axis) if bar.get_width() and round(bar.get_y() + bar.get_height() / 2) == row]
        drawn = {to_hex(bar.get_facecolor()): bar.get_width() for bar in mine}
        assert drawn == pytest.approx(
            {CAUSE_STYLE[cause][0]: 100 * ticks / totals[row] for cause, ticks in lost[trial].items()}
        )
        assert sum(drawn.values()) == pytest.approx(100)
    assert legend_of(figure) == causes


def test_years_compares_runtimes_of_a_collector_in_the_case_that_most_ran() -> None:
    def centre(row: dict[str, object]) -> float:
        return (100.0 if row["runtime"] == 11 else 50.0) * (2.0 if row["strategy"] == "alloc" else 1.0)

    configurations = (*CONFIGURATIONS, ("java", "heap", "g1", 17, None, "heap / G1 / 17"))
    made = synthetic.trials(blocks=2, noise=0.1, centre=centre, configurations=configurations, cases=CASES)
    made = made[(made["case"] == "C") | (made["configuration"] != "heap / G1 / 17")]
    collections = made[["trial_id"]].assign(pause_max_ms=np.arange(len(made)) + 1.0)
    figure = plots.years(made, collections)
    runtimes = [11, 17, 25]
    joined = made.merge(collections, on="trial_id")
    for axis, value in zip(figure.axes, ("ns_per_packet", "pause_max_ms"), strict=True):
        drawn = {
            (to_hex(line.get_color()), line.get_marker(), x): y
            for line in axis.lines if line.get_marker() not in ("None", "")
            for x, y in points(line)
        }  # fmt: skip
        expected = {}
        for collector in ("g1", "parallel"):
            for strategy in ("alloc", "pool"):
                rows = joined[(joined["collector"] == collector) & (joined["strategy"] == strategy)]
                rows = rows[(rows["case"] == "C") & (rows["layout"] == "heap")]
                for runtime, middle in rows.groupby("runtime")[value].median().items():
                    place = float(runtimes.index(int(str(runtime))))
                    expected[colour_of(collector), STRATEGY_STYLE[strategy][1], place] = float(middle)
        assert drawn == pytest.approx(expected)
        joins = [len(points(line)) for line in axis.lines if to_hex(line.get_color()) == colour_of("parallel")
                 and line.get_marker() not in ("None", "")]  # fmt: skip
        assert set(joins) == {1}, "no line across a release that was not measured"
