"""Figures of sums."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from allocpool.evidence.style import new_figure


def times(trials: pd.DataFrame) -> Figure:
    """Time over terms."""
    figure, (axis,) = new_figure(1, 1, 4, 3)
    axis.plot(trials["terms"], trials["sum_us"].astype(float), "o")
    axis.set_xlabel("terms")
    axis.set_ylabel("time, us")
    return figure
