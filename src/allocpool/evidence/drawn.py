"""What a figure shows as rows: every mark of every panel, in the units of its axes, to be taken from the page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PathCollection, QuadMesh
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

COLUMNS = ("panel", "mark", "series", "x", "y", "value")
_Row = tuple[str, str, str, float, float, float]


def drawn(figure: Figure) -> pd.DataFrame:
    """One row per point, end of a stroke, bar or field: panel (title or number), mark, series (its label, where it has
    one), x, y, value (of a field of a map). What stands beside the axes, as in a legend, is no row."""
    rows = [
        row
        for number, axis in enumerate(figure.axes, 1)
        for row in _marks(axis, axis.get_title() or f"{number}")
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _marks(axis: Axes, panel: str) -> Iterator[_Row]:
    for artist in axis.get_children():
        label = str(getattr(artist, "get_label", str)())
        series = "" if label.startswith("_") else label
        if isinstance(artist, Line2D) and artist.get_transform().contains_branch(axis.transData):
            yield from _points(panel, "line", series, np.column_stack(artist.get_data(orig=False)))
        elif isinstance(artist, PathCollection):
            yield from _points(panel, "point", series, artist.get_offsets())
        elif isinstance(artist, LineCollection):
            for segment in artist.get_segments():
                yield from _points(panel, "stroke", series, segment)
        elif isinstance(artist, QuadMesh):
            values: np.ndarray[Any, Any] = np.ma.filled(np.ma.asarray(artist.get_array(), dtype=float), np.nan)
            for (y, x), value in np.ndenumerate(np.atleast_2d(values)):
                yield panel, "field", series, float(x), float(y), float(value)
        elif isinstance(artist, Rectangle) and artist is not axis.patch:
            yield panel, "bar", series, artist.get_x(), artist.get_y() + artist.get_height(), artist.get_height()


def _points(panel: str, mark: str, series: str, points: object) -> Iterator[_Row]:
    for x, y in np.asarray(points, dtype=float):
        yield panel, mark, series, float(x), float(y), float("nan")
