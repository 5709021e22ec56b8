"""Cells, tables and figures from made-up campaigns: numbers where there are some, reasons where not."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
import pytest
import synthetic
from matplotlib.figure import Figure

from allocpool.evidence.style import rows_of
from allocpool.evidence.trials import spelled_out
from allocpool.packets import by_size, cells
from allocpool.packets import plots as packets_plots
from allocpool.studies.batch import plots as batch_plots

PAIRS = [(strategy, case) for strategy in synthetic.STRATEGIES for case in synthetic.CASES]


@pytest.fixture(scope="module")
def trials() -> pd.DataFrame:
    return synthetic.fail(synthetic.trials(blocks=2), "heap / G1 / 25", "alloc", "C")


@pytest.fixture(scope="module")
def results(trials: pd.DataFrame) -> pd.DataFrame:
    return cells.cells(trials, synthetic.plan(), PAIRS)


def one(results: pd.DataFrame, configuration: str, strategy: str, case: str) -> pd.Series:
    hit = (results["configuration"] == configuration) & (results["strategy"] == strategy) & (results["case"] == case)
    assert hit.sum() == 1
    return results[hit].iloc[0]


def test_a_cell_carries_its_trials_its_spread_and_the_published_figure(
    trials: pd.DataFrame, results: pd.DataFrame
) -> None:
    cell = one(results, "C++ flat", "pool", "B")
    values = cells.by_block(trials, "C++ flat", "pool", "B")
    assert (cell["n"], cell["published_ns"]) == (2, 148.0)
    assert cell["low"] < values.min() < cell["ns"] < values.max() < cell["high"]


def test_a_failed_cell_says_why(results: pd.DataFrame) -> None:
    cell = one(results, "heap / G1 / 25", "alloc", "C")
    assert (cell["n"], cell["trials"], cell["gap"]) == (0, 2, "out of memory: Java heap space")
    assert cell["gap_word"] == "out of memory"
    assert pd.isna(cell["ns"])


@pytest.mark.parametrize(("pool_ns", "direction"), [(50.0, 1), (200.0, -1), (100.0, 0)])
def test_a_comparison_has_its_interval_and_its_trials(pool_ns: float, direction: int) -> None:
    def centre(row: dict[str, object]) -> float:
        return pool_ns if row["strategy"] == "pool" else 100.0

    table = by_size.comparison_table(synthetic.trials(blocks=5, noise=0.01, centre=centre, cases=("B",)))
    assert table["ratio"].tolist() == pytest.approx([100 / pool_ns] * len(table), rel=0.03)
    assert ((table["low"] < table["ratio"]) & (table["ratio"] < table["high"]) & (table["n"] == 5)).all()
    assert (table["direction"] == direction).all() and (table["equivalent"] == (direction == 0)).all()


def test_what_failed_is_no_comparison() -> None:
    alike = synthetic.trials(blocks=5, noise=0.2, centre=lambda _row: 100.0, cases=("B",))
    empty = by_size.comparison_table(synthetic.fail(alike, "C++ flat", "pool", "B")).set_index("configuration")
    assert empty.loc["C++ flat", "n"] == 0


FIGURES: dict[str, Callable[[pd.DataFrame, pd.DataFrame], Figure]] = {
    "costs": batch_plots.strategy_costs,
    "published": lambda results, _: batch_plots.published_against_measured(results),
    "warm-up": lambda _, trials: packets_plots.warm_up_curves(synthetic.iterations(trials), trials, "B"),
    "stability": lambda _, trials: packets_plots.stability(trials),
}


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_carries_its_rows(name: str, results: pd.DataFrame, trials: pd.DataFrame) -> None:
    rows = rows_of(FIGURES[name](results, trials))
    assert rows is not None and set(synthetic.STRATEGIES) == set(rows["strategy"])


@pytest.mark.parametrize(
    ("stored", "shown"),
    [
        ("heap / G1 / 25", "G1, JDK 25"),
        ("native / generational ZGC / 27", "generational ZGC, JDK 27, native buffers"),
        ("heap / G1 / 25 / fresh", "G1, JDK 25, fresh"),
        ("C++ flat", "C++ flat"),
        ("12 / 25", "12 / 25"),
        (25, 25),
        (None, None),
    ],
)
def test_a_configuration_is_shown_as_a_stranger_reads_it(stored: object, shown: object) -> None:
    assert spelled_out(stored) == shown
