"""The trials of one configuration as costs in order of time, and what is compared of them."""

from __future__ import annotations

from typing import Any, NamedTuple

import pandas as pd

from allocpool.decisions import Comparison, compare
from allocpool.evidence.trials import counted, finished, gap_of, records
from allocpool.stats import plural
from allocpool.studies.threads.strategies import LABELS

CPU, WALL = "cpu_ns_per_packet", "ns_per_packet"


class Cell(NamedTuple):
    """One configuration."""

    configuration: str
    topology: str
    threads: int
    strategy: str

    @property
    def label(self) -> str:
        """How it is reported."""
        return f"{LABELS[self.strategy]} ({self.configuration}, {self.topology}, {plural(self.threads, 'thread')})"


def _by_cell(trials: pd.DataFrame) -> tuple[pd.DataFrame, dict[Cell, list[int]]]:
    """The trials, and which of their rows are of each configuration, in the order of the table."""
    trials = trials.reset_index(drop=True)
    groups = trials[list(Cell._fields)].groupby(list(Cell._fields), sort=False, observed=True)
    return trials, {Cell(str(a), str(b), int(str(c)), str(d)): list(group.index) for (a, b, c, d), group in groups}


class Campaign:
    """The trials of a campaign by configuration, in the order of the table."""

    def __init__(self, trials: pd.DataFrame) -> None:
        # Real time has no cost; unpadded cells are an experiment of their own, and counters take time.
        trials = trials[trials["interval_ns"].isna() & trials["padded"] & ~trials["counted"]]
        self.facts: dict[str, Any] = {
            row.configuration: row for row in records(trials.drop_duplicates("configuration"))
        }
        """The first trial of each configuration, which reports what that is."""
        self._trials, self._rows = _by_cell(trials)
        self._finished, self._ended = _by_cell(finished(counted(trials)).sort_values("started_utc"))

    @property
    def cells(self) -> list[Cell]:
        """Every configuration, however its trials ended."""
        return list(self._rows)

    @property
    def configurations(self) -> list[str]:
        """Their configurations."""
        return list(self.facts)

    def started(self, cell: Cell) -> pd.DataFrame:
        """Its trials, however they ended."""
        return self._trials.iloc[self._rows.get(cell, [])]

    def done(self, cell: Cell) -> pd.DataFrame:
        """Those that ended well, in order of time."""
        return self._finished.iloc[self._ended.get(cell, [])]

    def costs(self, cell: Cell, value: str = CPU) -> pd.Series:
        """What they cost, ns a packet."""
        return self._finished[value].iloc[self._ended.get(cell, [])].dropna().astype(float)

    def without_collector(self, cell: Cell) -> pd.Series:
        """Their CPU without that of the collector's own threads, ns a packet."""
        done = self.done(cell)
        return (done[CPU].astype(float) * (1 - done["gc_cpu_share"].astype(float))).dropna()

    def compared(self, one: Cell, other: Cell, value: str = CPU) -> Comparison:
        """One cell over another."""
        return compare(self.costs(one, value), self.costs(other, value))

    def why_not(self, cell: Cell) -> str:
        """Why a cell has no figure."""
        return gap_of(self.started(cell)).text

    def most_threads(self, configuration: str, topology: str) -> int:
        """The most threads that a configuration has figures for; 0 where it has none."""
        return max(
            (cell.threads for cell in self._ended if (cell.configuration, cell.topology) == (configuration, topology)),
            default=0,
        )

    def at_most_threads(self) -> list[Cell]:
        """Of every configuration and topology, the cells with the most threads."""
        return [
            cell
            for cell in self._rows
            if cell in self._ended and cell.threads == self.most_threads(cell.configuration, cell.topology)
        ]
