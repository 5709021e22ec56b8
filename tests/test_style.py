"""Figures: one palette by strategy, legible on a dark page, with the tidy rows that they are made of."""

from __future__ import annotations

import re

import pandas as pd
import seaborn as sns
from matplotlib.colors import to_hex

from allocpool.evidence import style
from allocpool.packets.strategies import STRATEGIES
from allocpool.packets.style import COLOURS
from allocpool.studies.threads.strategies import STRATEGIES as OF_THREADS
from allocpool.studies.your_workload import plots as your_workload

ROWS = pd.DataFrame(
    {
        "configuration": ["heap / G1 / 25", "heap / G1 / 25", "C++ flat"], "strategy": ["alloc", "pool", "pool"],
        "ns": [3.0, 2.0, 1.0], "low": [2.0, 1.5, 0.5], "high": [4.0, 2.5, 2.0], "n": [5, 5, 4],
    }
)  # fmt: skip


def test_a_strategy_has_one_colour_in_every_figure() -> None:
    for name in ("alloc", "mix", "pool"):
        assert your_workload._LOOKS[name][0] == STRATEGIES[name].colour == COLOURS[name]
    assert OF_THREADS["alloc"].colour == COLOURS["alloc"]
    assert list(style.PALETTE[:2]) == [COLOURS["alloc"], COLOURS["pool"]]
    grid = sns.catplot(ROWS, x="ns", y="configuration", hue="strategy", kind="strip")
    assert {to_hex(colour) for dots in grid.ax.collections for colour in dots.get_facecolor()} == {
        COLOURS["alloc"], COLOURS["pool"],
    }  # fmt: skip


def test_what_is_drawn_in_ink_takes_the_colour_of_the_page() -> None:
    grid = sns.relplot(ROWS, x="ns", y="n", hue="configuration", palette=["#d55e00", style.colour_of(style.CPP)])
    drawn = style.svg(style.finish(grid, "words"), "key")
    assert style.INK not in drawn and "fill: currentColor" in drawn
    # Matplotlib leaves out the fill of pure black, which a dark page would then swallow.
    marks = re.findall(r"<use [^>]*style=\"([^\"]*)\"", drawn)
    assert marks and all("fill:" in mark for mark in marks)


def test_a_figure_carries_the_rows_that_it_is_made_of() -> None:
    grid = sns.catplot(
        style.stated(ROWS, "ns"), kind="point", x="ns", y="configuration", hue="strategy", **style.STATED
    )
    behind = style.rows_of(style.finish(grid, "words"))
    assert behind is not None
    pd.testing.assert_frame_equal(behind[list(ROWS)].reset_index(drop=True), ROWS, check_dtype=False)
