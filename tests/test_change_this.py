"""Every study's page has a cell that a reader changes: few lines of pandas, one call of seaborn, on rows that load."""

from __future__ import annotations

import ast
from typing import Any

import matplotlib.pyplot as plt
import nbformat
import numpy as np
import pandas as pd
import pytest
import seaborn as sns
from matplotlib.figure import Figure

import allocpool
from allocpool import home
from allocpool.campaign.registry import STUDY_NAMES, study_named

MARK = "# Change this"
_TABLE = {"pauses": "pauses"}
"""The rows of most pages are trials."""


def cell_of(study: str) -> str:
    """The cell of a study's notebook that readers change."""
    notebook = nbformat.read(home.home() / "notebooks" / f"{study_named(study).notebook}.ipynb", as_version=4)
    (found,) = [cell.source for cell in notebook.cells if cell.source.startswith(MARK)]
    return str(found)


def drawn(code: str, rows: pd.DataFrame) -> Figure:
    """The figure that a cell makes of these rows."""
    figures: list[Figure] = []

    class Page:
        """What the cell needs of `allocpool.notebook`."""

        @staticmethod
        def figure(figure: Figure, _caption: str) -> None:
            figures.append(figure)

    exec(code, {"sns": sns, "allocpool": allocpool, "notebook": Page, "rows": rows, "trials": rows})
    if rows.empty:
        assert not figures
        return Figure()
    (figure,) = figures
    return figure


def marks(figure: Figure) -> int:
    """How many points, lines and boxes stand in a figure."""
    return sum(
        len(axis.lines) + sum(len(np.asarray(part.get_offsets())) for part in axis.collections) for axis in figure.axes
    )


def points(figure: Figure) -> list[Any]:
    """Where they stand."""
    lines = [np.asarray(line.get_xydata()).tolist() for axis in figure.axes for line in axis.lines]
    return lines + [np.asarray(part.get_offsets()).tolist() for axis in figure.axes for part in axis.collections]


@pytest.mark.parametrize("study", STUDY_NAMES)
def test_a_few_lines_of_pandas_and_one_of_seaborn_draw_the_rows(study: str) -> None:
    code = cell_of(study)
    calls = [ast.unparse(node.func) for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call)]
    assert len([call for call in calls if call.startswith("sns.")]) == 1
    assert sum(isinstance(line, ast.Assign) for line in ast.parse(code).body) <= 4, "three of pandas, one of seaborn"
    rows: Any = allocpool.load(study, "standard", *([_TABLE[study]] if study in _TABLE else []))
    if study in _TABLE:
        facts = ["trial_id", "mode", "configuration", "layout", "runtime", "strategy", "alive", "block"]
        rows = rows.merge(allocpool.load(study, "standard")[facts], on="trial_id")
    figure = drawn(code, rows)
    assert all(axis.get_xlabel() or axis.get_ylabel() or axis.get_title() for axis in figure.axes)
    shown = "C++ flat" if study == "native" else rows["configuration"].mode()[0]  # that page draws C++ alone
    fewer = drawn(code, rows[rows["configuration"] == shown])
    assert marks(fewer) > 0 and points(fewer) != points(figure), "other rows, another figure"
    drawn(code, rows.iloc[:0])
    plt.close("all")
