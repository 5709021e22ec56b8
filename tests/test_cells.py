"""Cells, tables and figures from made-up campaigns: numbers where there are some, reasons where not."""

from __future__ import annotations

import io
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
import synthetic
from matplotlib.figure import Figure
from matplotlib.text import Text

from allocpool.evidence.trials import configuration, records
from allocpool.packets import cells, tables
from allocpool.packets import plots as packets_plots
from allocpool.packets.specs import Configuration
from allocpool.studies.batch import plots as batch_plots

PAIRS = [(strategy, case) for strategy in synthetic.STRATEGIES for case in synthetic.CASES]


@pytest.fixture(scope="module")
def trials() -> pd.DataFrame:
    return synthetic.fail(synthetic.trials(blocks=2), "heap / G1 / 25", "alloc", "C")


@pytest.fixture(scope="module")
def results(trials: pd.DataFrame) -> pd.DataFrame:
    return cells.cells(trials, synthetic.plan(), PAIRS)


def smallest_text_px(figure: Figure, screen_px: float = PHONE_PX) -> float:
    """Height of the smallest text in px where the figure is shown ``screen_px`` wide."""
    texts = [text for text in figure.findobj(Text) if isinstance(text, Text) and text.get_text().strip()]
    return min(float(text.get_fontsize()) for text in texts) * screen_px / (72 * figure.get_figwidth())


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
    assert cell["spread"] == pytest.approx(np.log(values).std())


def test_a_failed_cell_says_why(results: pd.DataFrame) -> None:
    cell = one(results, "heap / G1 / 25", "alloc", "C")
    assert (cell["n"], cell["trials"], cell["gap"]) == (0, 2, "out of memory: Java heap space")
    assert cell["gap_word"] == "out of memory"
    assert pd.isna(cell["ns"])


def test_a_best_cell_says_how_many_others_may_be_as_cheap() -> None:
    def centre(row: dict[str, object]) -> float:
        first = row["configuration"] == "C++ flat" and row["strategy"] == "pool"
        return 50.0 if first and row["case"] != "C" else 100.0

    told = cells.cells(synthetic.trials(blocks=5, centre=centre, noise=0.02, cases=("B", "C")))
    marks = tables.highlights(told)
    best = {row.case: row for row in records(marks[marks["rank"] == tables.BEST])}
    sure, unsure = best["B"], best["C"]
    assert (sure.configuration, sure.not_dearer) == ("C++ flat", 0)
    assert unsure.not_dearer > unsure.of / 2


@pytest.mark.parametrize(
    ("pool_ns", "begins"),
    [(50.0, "pool cheaper by "), (200.0, "alloc cheaper by "), (100.0, "no difference that matters, ")],
)
def test_a_comparison_is_told_with_its_interval_and_its_trials(pool_ns: float, begins: str) -> None:
    def centre(row: dict[str, object]) -> float:
        return pool_ns if row["strategy"] == "pool" else 100.0

    told = tables.comparison_table(synthetic.trials(blocks=5, noise=0.01, centre=centre, cases=("B",)))
    figures = told["text"].str.removeprefix(begins).str.extract(r"^([0-9.]+) \(([0-9.]+) to ([0-9.]+)\), n = 5$")
    ratio, low, high = (figures[column].astype(float) for column in figures)
    assert ratio.tolist() == pytest.approx([1.0 if pool_ns == 100.0 else 2.0] * len(told), rel=0.03)
    assert ((low < ratio) & (ratio < high)).all()
    assert (told["more_trials"] == 0).all()


def test_an_open_comparison_says_what_it_would_take() -> None:
    alike = synthetic.trials(blocks=5, noise=0.2, centre=lambda _row: 100.0, cases=("B",))
    empty = tables.comparison_table(synthetic.fail(alike, "C++ flat", "pool", "B")).set_index("configuration")
    assert empty.loc["C++ flat", "n"] == 0


def test_an_interval_that_says_nothing_is_not_told() -> None:
    trials = synthetic.trials(blocks=2, noise=0.01, cases=("B",))
    hit = (trials["configuration"] == "C++ flat") & (trials["strategy"] == "pool") & (trials["block"] == 0)
    trials.loc[hit, "ns_per_packet"] *= 8
    cell = one(cells.cells(trials), "C++ flat", "pool", "B")
    assert (cell["low"], cell["high"]) == (cell["ns"], cell["ns"])


def test_every_cost_has_its_interval_and_the_published_figure(results: pd.DataFrame) -> None:
    table = tables.costs_table(results).astype(object).set_index(["case", "configuration"])
    own = one(results, "C++ flat", "pool", "A")
    text = str(table.loc[("A", "C++ flat"), "pool"])
    assert text.startswith(stats.significant(own["ns"])) and text.endswith("n = 2 [34.0]")
    assert ("C", "heap / G1 / 25") not in table["alloc"].dropna().index, "out of memory"


def test_gaps_table_folds_and_adds_what_is_left_out(results: pd.DataFrame) -> None:
    rows = tables.gaps_table(results, synthetic.plan()).set_index("configuration")
    assert rows.loc["heap / G1 / 25", "cells"] == "C: alloc"
    assert rows.loc["heap / Serial / 25", "reason"] == "profile quick leaves it out"
    assert rows.loc["heap / Serial / 25", "cells"] == "all"
    many = tables.gaps_table(results, synthetic.plan(("java/heap/serial/25", "java/heap/serial/21")))
    assert many["configuration"].tolist()[-1] == "2 more configurations", "one sentence, not one row each"


def test_an_idle_pool_is_drawn_with_what_its_buffers_take(trials: pd.DataFrame) -> None:
    figure = packets_plots.memory_price(trials)
    crosses = [line for axis in figure.axes for line in axis.lines if line.get_marker() == "x"]
    assert {float(x) for line in crosses for x in np.asarray(line.get_xdata())} == {100_000 * 1024 / 2**20}
    assert "an idle pool holds at least 97.7 MiB" in alt(figure)


def texts(figure: Figure) -> list[str]:
    figure.savefig(io.BytesIO(), format="png", dpi=40)
    return [text.get_text() for text in figure.findobj(Text)]


def drawn(name: str, results: pd.DataFrame, trials: pd.DataFrame) -> Figure:
    figures: dict[str, Callable[[], Figure]] = {
        "costs": lambda: batch_plots.strategy_costs(results, trials),
        "published": lambda: batch_plots.published_against_measured(results),
        "cpu": lambda: packets_plots.wall_against_cpu(trials),
        "warm-up": lambda: packets_plots.warm_up_curves(synthetic.iterations(trials), trials, "B"),
        "stability": lambda: packets_plots.stability(trials),
        "memory": lambda: packets_plots.memory_price(trials.assign(peak_rss_mb=trials["ns_per_packet"])),
    }
    return figures[name]()


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
