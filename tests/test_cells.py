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

from allocpool import stats
from allocpool.errors import UserError
from allocpool.evidence import reference
from allocpool.evidence.style import alt, smallest_text_px
from allocpool.evidence.trials import spelled_out
from allocpool.packets import cells, published, tables
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


def one(results: pd.DataFrame, configuration: str, strategy: str, case: str) -> pd.Series:
    hit = (results["configuration"] == configuration) & (results["strategy"] == strategy) & (results["case"] == case)
    assert hit.sum() == 1
    return results[hit].iloc[0]


def test_a_cell_carries_its_trials_its_spread_and_the_published_figure(
    trials: pd.DataFrame, results: pd.DataFrame
) -> None:
    cell = one(results, "C++ flat", "pool", "B")
    values = cells.by_block(trials, "C++ flat", "pool", "B")
    assert (cell["n"], cell["method"], cell["published_ns"]) == (2, "Student", 148.0)
    assert cell["low"] < values.min() < cell["ns"] < values.max() < cell["high"]


def test_a_failed_cell_says_why(results: pd.DataFrame) -> None:
    cell = one(results, "heap / G1 / 25", "alloc", "C")
    assert (cell["n"], cell["trials"], cell["gap"]) == (0, 2, "out of memory: Java heap space")
    assert cell["gap_word"] == "out of memory"
    assert pd.isna(cell["ns"])


def test_a_planned_cell_without_trials_is_there(trials: pd.DataFrame) -> None:
    started = trials[trials["configuration"] != "C++ flat"]
    results = cells.cells(started, synthetic.plan(), PAIRS)
    missing = results[results["configuration"] == "C++ flat"]
    assert len(missing) == len(PAIRS)
    assert set(missing["gap"]) == {"not run yet"}
    assert set(missing["layout"]) == {"flat"}


@pytest.mark.parametrize(
    ("collector", "family"), [("parallel", "CMS"), ("cms", "CMS"), ("zgc", "ZGC"), ("genzgc", None), ("serial", None)]
)
def test_published_families(collector: str, family: str | None) -> None:
    assert published.family("java", collector) == family
    assert published.family("cpp", None) is None


def test_an_unknown_published_table_names_the_known_ones() -> None:
    with pytest.raises(UserError, match="allocate_or_pool_batch"):
        reference.load("nonsense")


def test_every_published_figure_is_found_by_a_measured_row(results: pd.DataFrame) -> None:
    table = published.published_batch()
    assert len(table) == len(reference.load("allocate_or_pool_batch"))
    assert not table.duplicated(["language", "layout", "family", "strategy", "case"]).any()
    assert results["published_ns"].notna().all()


def test_what_the_article_did_not_vary_has_no_published_figure() -> None:
    keys = [
        "cpp/flat", "cpp/flat/jemalloc", "java/heap/g1/25", "java/heap/g1/25/compact_headers", "cpp/flat/glibc/inline",
        "java/native/g1/25/fresh", "java/heap/g1/25/lean_view", "cpp/allocating/payload", "cpp/flat/host_cpu",
    ]  # fmt: skip
    rows = pd.DataFrame([
        {**configuration.model_dump(), "configuration": configuration.label, "strategy": "alloc", "case": "B"}
        for configuration in map(Configuration.parse, keys)
    ])  # fmt: skip
    found = published.with_published(rows)
    assert found["published_ns"].notna().tolist() == [True, False, True, *[False] * 6]
    assert found["published_configuration"].notna().tolist() == [True, False, True, *[False] * 6]


def test_configurations_are_ordered_java_first(results: pd.DataFrame) -> None:
    order = cells.configuration_order(results)
    assert order[0] == "heap / Parallel / 11"
    assert order[-2:] == ["C++ allocating", "C++ flat"]


def test_a_mean_that_hides_something_says_so_with_a_trimmed_one_beside() -> None:
    trials = synthetic.trials(blocks=6, noise=0.01, centre=lambda _row: 100.0, cases=("B",))
    slow = (trials["configuration"] == "C++ flat") & (trials["strategy"] == "pool") & trials["block"].isin([1, 3, 4])
    trials.loc[slow, "ns_per_packet"] *= 4
    far = (trials["configuration"] == "C++ allocating") & (trials["strategy"] == "mix") & (trials["block"] == 2)
    trials.loc[far, "ns_per_packet"] *= 3
    compared = tables.comparison_table(trials).set_index("configuration")
    assert str(compared.loc["C++ flat", "remark"]).startswith("pool: two speeds")


@pytest.mark.parametrize(("pool_ns", "direction"), [(50.0, 1), (200.0, -1), (100.0, 0)])
def test_a_comparison_has_its_interval_and_its_trials(pool_ns: float, direction: int) -> None:
    def centre(row: dict[str, object]) -> float:
        return pool_ns if row["strategy"] == "pool" else 100.0

    told = tables.comparison_table(synthetic.trials(blocks=5, noise=0.01, centre=centre, cases=("B",)))
    assert told["ratio"].tolist() == pytest.approx([100 / pool_ns] * len(told), rel=0.03)
    assert ((told["low"] < told["ratio"]) & (told["ratio"] < told["high"]) & (told["n"] == 5)).all()
    assert (told["direction"] == direction).all() and (told["equivalent"] == (direction == 0)).all()


def test_what_failed_is_no_comparison() -> None:
    alike = synthetic.trials(blocks=5, noise=0.2, centre=lambda _row: 100.0, cases=("B",))
    empty = tables.comparison_table(synthetic.fail(alike, "C++ flat", "pool", "B")).set_index("configuration")
    assert empty.loc["C++ flat", "n"] == 0


def test_an_interval_that_says_nothing_is_not_told() -> None:
    trials = synthetic.trials(blocks=2, noise=0.01, cases=("B",))
    hit = (trials["configuration"] == "C++ flat") & (trials["strategy"] == "pool") & (trials["block"] == 0)
    trials.loc[hit, "ns_per_packet"] *= 8
    cell = one(cells.cells(trials), "C++ flat", "pool", "B")
    assert (cell["method"], cell["low"], cell["high"]) == ("spread unknown", cell["ns"], cell["ns"])


def test_every_cost_has_its_interval_and_the_published_figure(results: pd.DataFrame) -> None:
    table = tables.costs_table(results).set_index(["case", "configuration"])
    own = one(results, "C++ flat", "pool", "A")
    text = str(table.loc[("A", "C++ flat"), "pool"])
    assert text.startswith(stats.significant(own["ns"])) and text.endswith("n = 2 [34.0]")
    assert pd.isna(table.loc[("C", "heap / G1 / 25"), "alloc"]), "out of memory"


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
    ("name", "label"),
    [
        ("costs", "ns per packet (log scale)"),
        ("published", "published, ns a message"),
        ("cpu", "processors kept busy: CPU time over wall time"),
        ("warm-up", "seconds"),
        ("stability", "two trials of one configuration: dearer over cheaper"),
        ("memory", "resident memory, MiB (log scale)"),
    ],
)
def test_every_figure_names_its_units(results: pd.DataFrame, trials: pd.DataFrame, name: str, label: str) -> None:
    figure = drawn(name, results, trials)
    assert label in [text.partition("\n")[0] for text in texts(figure)]
    assert smallest_text_px(figure) >= 9, "on a telephone"
    assert alt(figure)


def test_costs_figure_draws_every_trial_and_names_gaps(results: pd.DataFrame, trials: pd.DataFrame) -> None:
    figure = batch_plots.strategy_costs(results, trials)
    strokes = sum(len(np.asarray(found.get_offsets())) for axis in figure.axes for found in axis.collections)
    assert strokes == len(cells.with_cost(trials))
    assert "out of memory" in texts(figure)


@pytest.mark.parametrize("name", ["costs", "published", "cpu", "warm-up", "stability", "memory"])
def test_figures_of_an_empty_campaign_say_so(results: pd.DataFrame, trials: pd.DataFrame, name: str) -> None:
    nothing = trials.assign(status="failed", reason="nothing works", ns_per_packet=float("nan"))
    empty = drawn(name, cells.cells(nothing), nothing)
    assert any(text.startswith("no ") for text in texts(empty))


def test_caption_counts_trials(results: pd.DataFrame) -> None:
    assert "n = 2 trials each" in cells.spread_caption(results)
    assert cells.spread_caption(results[results["n"] == 0]) == "No trial has finished."


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
