"""The batch trials of each configuration, in order of time."""

from __future__ import annotations

from typing import Any, NamedTuple

import pandas as pd

from allocpool.evidence.trials import counted, finished, gap_of, records
from allocpool.stats import plural
from allocpool.studies.threads.strategies import LABELS

CPU, WALL = "cpu_ns_per_packet", "ns_per_packet"
PROGRAM = "program_ns_per_packet"
"""CPU without that of the collector's own threads."""


class Cell(NamedTuple):
    """One configuration."""

    configuration: str
    topology: str
    threads: int
    strategy: str

    @property
    def label(self) -> str:
        return f"{LABELS[self.strategy]} ({self.configuration}, {self.topology}, {plural(self.threads, 'thread')})"


KEYS = list(Cell._fields)


def batch(trials: pd.DataFrame) -> pd.DataFrame:
    """Return trials that have a cost: not those in real time, nor those whose time goes to reading counters."""
    trials = trials[trials["interval_ns"].isna() & ~trials["counted"]].reset_index(drop=True)
    return trials.assign(**{PROGRAM: trials[CPU] * (1 - trials["gc_cpu_share"])})


def ended(trials: pd.DataFrame) -> pd.DataFrame:
    """Return those that ended well, in order of time."""
    return finished(counted(trials)).sort_values("started_utc")


class Campaign:
    """The trials of a campaign by cell, in the order of the table; unpadded cells are an experiment apart."""

    def __init__(self, trials: pd.DataFrame) -> None:
        trials = batch(trials[trials["padded"]])
        self.facts: dict[str, Any] = {
            row.configuration: row for row in records(trials.drop_duplicates("configuration"))
        }
        """The first trial of each configuration."""
        self.started = _by_cell(trials)
        """However they ended."""
        self._done = _by_cell(ended(trials))

    def costs(self, cell: Cell, value: str = CPU) -> pd.Series:
        """Return what the trials of a cell that ended well cost, ns a packet, in order of time."""
        rows = self._done.get(cell)
        return pd.Series(dtype=float) if rows is None else rows[value].dropna().astype(float)

    def why_not(self, cell: Cell) -> str:
        """Return why a cell has no figure."""
        return gap_of(self.started[cell]).text


def _by_cell(trials: pd.DataFrame) -> dict[Cell, pd.DataFrame]:
    groups = trials.groupby(KEYS, sort=False, observed=True)
    return {Cell(str(a), str(b), int(str(c)), str(d)): group for (a, b, c, d), group in groups}
