"""Adjust costs for the pace of the machine, by the trials that ran just before and after.

A virtual machine is faster in one minute than in the next. What a trial shares with its neighbours in time, trials of
other cells, is the machine's and not its own. It is taken off as agronomists take off the fertility of a field by the
plots around one: nearest-neighbour adjustment (Papadakis, "Méthode statistique pour des expériences sur champ",
Bull. Inst. Amélior. Plantes Salonique 23, 1937; Bartlett, "Nearest neighbour models in the analysis of field
experiments", JRSS B 40, 1978).

Trials of a round run in random order, so neighbours say nothing of the side that a trial is of. One slope is estimated
from all trials of a campaign, and shrunk to zero: where neighbours have nothing in common, nothing is taken off.
`allocpool.studies.instrument.proof.paces` simulates coverage and width.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

Array = npt.NDArray[np.float64]

REACH = 8
"""Neighbours on either side; each counts by the inverse of its distance."""
_FEWEST = 3
"""Trials of a cell below which their residuals say nothing of the machine."""
_FARTHEST = 2.0
"""Standard deviations that a residual counts for at most: an outlier is of its own trial."""
_SHRUNK_BY = 10.0
"""Trials without anything in common that the slope is estimated with."""


def paces(costs: Sequence[float] | Array, cells: Sequence[Hashable]) -> Array:
    """Return by what factor the machine's pace has raised each cost; ``cost / pace`` is adjusted.

    Args:
        costs: one a trial, above 0, in the order in which they ran.
        cells: the configuration of each, equal for trials of the same one.
    """
    logs = np.log(np.asarray(costs, dtype=np.float64))
    cell = pd.factorize(pd.Series(list(cells), dtype=object))[0]
    n = np.bincount(cell)
    residuals = logs - (np.bincount(cell, logs) / n)[cell]
    widths = np.sqrt(np.bincount(cell, residuals**2) / np.maximum(n - 1, 1))[cell]
    known = (n[cell] >= _FEWEST) & (widths > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        scaled = np.where(known, np.clip(residuals / widths, -_FARTHEST, _FARTHEST), 0.0)
    around = _neighbours(scaled, known, cell)
    if not known.any():
        return np.ones_like(logs)
    own, near = scaled[known], around[known]
    slope = max(0.0, float(own @ near) / (float(near @ near) + _SHRUNK_BY * float(near.var()) + 1e-12))
    return np.asarray(np.exp(slope * widths * around))


def _neighbours(values: Array, known: npt.NDArray[np.bool_], cell: npt.NDArray[np.int_]) -> Array:
    """Return the weighted mean of the known values around each place, those of its own cell left out; 0 without any."""
    sums, weights = np.zeros_like(values), np.zeros_like(values)
    for distance in range(1, min(REACH, values.size - 1) + 1):
        before, after = slice(None, -distance), slice(distance, None)
        other = cell[before] != cell[after]
        for here, there in ((before, after), (after, before)):
            weight = (other & known[there]) / distance
            sums[here] += weight * values[there]
            weights[here] += weight
    return np.where(weights > 0, sums / np.where(weights > 0, weights, 1.0), 0.0)
