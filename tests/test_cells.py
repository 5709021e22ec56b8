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


def test_an_older_record_is_named_for_what_it_did_and_has_no_published_figure() -> None:
    keys = ["cpp/flat", "cpp/allocating", "java/heap/g1/11", "java/flat/g1/25", "cpp/flat/jemalloc"]
    then = [Configuration.parse(key).model_dump(include=set(_COLUMNS_THEN)) for key in keys]
    older = pd.DataFrame(then).assign(configuration="of then", strategy="alloc", case="B", ns_per_packet=range(5))
    older["steps"] = older["steps"].where(older["language"] == "java", None)
    older["runtime"] = older["runtime"].astype("Int64")
    older.loc[3, "steps"] = None
    older[["lazy_heap", "explicit_gc", "pause_target", "control"]] = pd.NA
    now = columns.in_todays_words({"trials": older})["trials"]
    assert now["configuration"].tolist() == [
        "C++ flat / inline / fresh", "C++ allocating / inline / fresh", "heap / G1 / 11 / lean view / fresh",
        "flat / G1 / 25 / fresh", "C++ flat / jemalloc / inline / fresh",
    ]  # fmt: skip
    assert now["ns_per_packet"].tolist() == list(range(5))
    assert now["steps"].fillna("").tolist() == ["inline", "inline", "", "contiguous,one_line,stride,prefetch", "inline"]
    assert now["lean_view"].tolist() == [False, False, True, False, False]
    assert not now["detached"].any() and now[["no_refinement", "large_young"]].isna().all(axis=None)
    assert published.with_published(now)["published_ns"].isna().all()
    assert columns.in_todays_words({"trials": now})["trials"] is now
    assert columns.in_todays_words({"cpu": older[["case"]]})["cpu"].columns.tolist() == ["case"]


def test_highlights_are_the_cheapest_cells(results: pd.DataFrame) -> None:
    marks = tables.highlights(results)
    for case, group in results[results["strategy"] != "dummy"].groupby("case"):
        best = group.nsmallest(1, "ns").iloc[0]
        mark = marks[(marks["case"] == case) & (marks["rank"] == "best overall")].iloc[0]
        assert (mark["configuration"], mark["strategy"]) == (best["configuration"], best["strategy"])
        java = marks[(marks["case"] == case) & marks["rank"].str.contains("Java")]["configuration"]
        assert java.nunique() == 2
        assert not java.str.startswith("C++").any()


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


def test_a_mean_that_hides_something_says_so_with_a_trimmed_one_beside() -> None:
    trials = synthetic.trials(blocks=6, noise=0.01, centre=lambda _row: 100.0, cases=("B",))
    slow = (trials["configuration"] == "C++ flat") & (trials["strategy"] == "pool") & trials["block"].isin([1, 3, 4])
    trials.loc[slow, "ns_per_packet"] *= 4
    far = (trials["configuration"] == "C++ allocating") & (trials["strategy"] == "mix") & (trials["block"] == 2)
    trials.loc[far, "ns_per_packet"] *= 3
    told = cells.cells(trials)
    assert one(told, "C++ flat", "pool", "B")["remark"].startswith("two speeds")
    swayed = one(told, "C++ allocating", "mix", "B")
    assert swayed["trimmed_ns"] == pytest.approx(100, rel=0.02)
    assert swayed["ns"] > 110
    assert "trimmed" in summary_html(told)


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
    told = tables.comparison_table(alike)
    left = told[told["more_trials"] > 0]
    assert len(left) > len(told) / 2
    row = left.iloc[0]
    assert row["text"].startswith("open, ")
    assert row["more_minutes"] == pytest.approx(row["more_trials"] * 2 * 4.0 / 60), "a trial takes 4 s"
    few = tables.comparison_table(alike[alike["block"] < 2])
    assert few["text"].str.contains("at least 3 more trials each").all()


def test_an_interval_that_says_nothing_is_not_told() -> None:
    trials = synthetic.trials(blocks=2, noise=0.01, cases=("B",))
    hit = (trials["configuration"] == "C++ flat") & (trials["strategy"] == "pool") & (trials["block"] == 0)
    trials.loc[hit, "ns_per_packet"] *= 8
    cell = one(cells.cells(trials), "C++ flat", "pool", "B")
    assert (cell["method"], cell["low"], cell["high"]) == ("spread unknown", cell["ns"], cell["ns"])


def test_summary_table_has_figures_intervals_published_figures_and_reasons(results: pd.DataFrame) -> None:
    page = BeautifulSoup(summary_html(results), "html.parser")
    rows = {row.th.get_text(): row for row in page.select("tbody tr") if row.th}
    assert list(rows) == cells.configuration_order(results)
    flat = rows["C++ flat"].find_all("td")
    assert len(flat) == len(PAIRS)
    # Columns run by case, then by strategy: dummy, alloc, mix, pool of case A come first.
    assert tables.BEST_OVERALL in str(flat[3]["style"]).lower()


def test_gaps_table_folds_and_adds_what_is_left_out(results: pd.DataFrame) -> None:
    rows = tables.gaps_table(results, synthetic.plan()).set_index("configuration")
    assert rows.loc["heap / Serial / 25", "reason"] == "profile quick leaves it out"
    assert rows.loc["heap / Serial / 25", "cells"] == "all"
    many = tables.gaps_table(results, synthetic.plan(("java/heap/serial/25", "java/heap/serial/21")))
    assert many["configuration"].tolist()[-1] == "2 more configurations", "one sentence, not one row each"


def test_an_idle_pool_is_drawn_with_what_its_buffers_take(trials: pd.DataFrame) -> None:
    figure = packets_plots.memory_price(trials)
    crosses = [line for axis in figure.axes for line in axis.lines if line.get_marker() == "x"]
    assert {float(x) for line in crosses for x in np.asarray(line.get_xdata())} == {100_000 * 1024 / 2**20}


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
    assert smallest_text_px(figure) >= 9, "on a telephone"
    assert alt(figure)


def test_costs_figure_draws_every_trial_and_names_gaps(results: pd.DataFrame, trials: pd.DataFrame) -> None:
    figure = batch_plots.strategy_costs(results, trials)
    strokes = sum(len(np.asarray(found.get_offsets())) for axis in figure.axes for found in axis.collections)
    assert strokes == len(cells.with_cost(trials))


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
