"""The trials of one configuration as costs in order of time, and what is compared of them."""

from __future__ import annotations

from typing import NamedTuple

import pandas as pd

from allocpool.decisions import Comparison, compare
from allocpool.evidence.claims import Ordering
from allocpool.evidence.trials import counted, finished, gap_of
from allocpool.stats import plural
from allocpool.studies.threads.strategies import LABELS

CPU, WALL = "cpu_ns_per_packet", "ns_per_packet"


class Cell(NamedTuple):
    """One configuration."""

    solution: str
    topology: str
    threads: int
    strategy: str

    @property
    def label(self) -> str:
        """How it is told."""
        return f"{LABELS[self.strategy]} ({self.solution}, {self.topology}, {plural(self.threads, 'thread')})"


class Campaign:
    """The trials of a campaign by configuration, in the order of the table."""

    def __init__(self, trials: pd.DataFrame) -> None:
        # Real time has no cost; unpadded cells are an experiment of their own, and counters take time.
        trials = trials[trials["interval_ns"].isna() & trials["padded"] & ~trials["counted"]]
        keys = ["solution", "topology", "threads", "strategy"]
        groups = trials.groupby(keys, sort=False, observed=True)
        self._trials = {Cell(str(a), str(b), int(str(c)), str(d)): group for (a, b, c, d), group in groups}
        self._done = {cell: finished(counted(group)).sort_values("started_utc") for cell, group in self._trials.items()}
        self._none = trials.iloc[:0]

    @property
    def cells(self) -> list[Cell]:
        """Every configuration, however its trials ended."""
        return list(self._trials)

    @property
    def solutions(self) -> list[str]:
        """Their solutions."""
        return list(dict.fromkeys(cell.solution for cell in self._trials))

    def started(self, cell: Cell) -> pd.DataFrame:
        """Its trials, however they ended."""
        return self._trials.get(cell, self._none)

    def done(self, cell: Cell) -> pd.DataFrame:
        """Those that ended well, in order of time."""
        return self._done.get(cell, self._none)

    def costs(self, cell: Cell, value: str = CPU) -> pd.Series:
        """What they cost, ns a packet."""
        return self.done(cell)[value].dropna().astype(float)

    def compared(self, one: Cell, other: Cell, value: str = CPU) -> Comparison:
        """One cell over another."""
        return compare(self.costs(one, value), self.costs(other, value))

    def ordering(self, larger: Cell, smaller: Cell) -> Ordering:
        """That one costs more CPU than the other."""
        lacking = next((cell for cell in (larger, smaller) if self.costs(cell).empty), larger)
        return Ordering(larger.label, smaller.label, self.compared(larger, smaller), self.why_not(lacking))

    def why_not(self, cell: Cell) -> str:
        """Why a cell has no figure."""
        return gap_of(self.started(cell)).text

    def most_threads(self, solution: str, topology: str) -> int:
        """The most threads that a solution has figures for; 0 where it has none."""
        ran = (cell for cell, group in self._done.items() if len(group))
        return max((cell.threads for cell in ran if (cell.solution, cell.topology) == (solution, topology)), default=0)

    def at_most_threads(self) -> list[Cell]:
        """Of every solution and topology, the cells with the most threads."""
        return [
            cell
            for cell, group in self._done.items()
            if len(group) and cell.threads == self.most_threads(cell.solution, cell.topology)
        ]
