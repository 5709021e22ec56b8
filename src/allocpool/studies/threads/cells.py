"""The trials of one configuration as costs in order of time, and what is compared of them."""

from __future__ import annotations

from typing import NamedTuple

import pandas as pd

from allocpool.decisions import Comparison, compare
from allocpool.evidence.claims import Ordering
from allocpool.evidence.trials import counted, finished, gap_of

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
        return f"{self.strategy} ({self.solution}, {self.topology}, {self.threads} threads)"

    def among(self, trials: pd.DataFrame) -> pd.DataFrame:
        """Its trials, however they ended."""
        same = (trials["solution"] == self.solution) & (trials["topology"] == self.topology)
        return trials[same & (trials["threads"] == self.threads) & (trials["strategy"] == self.strategy)]


def costs(trials: pd.DataFrame, cell: Cell, value: str = CPU) -> pd.Series:
    """The costs of a cell's trials that ended well, ns a packet, in order of time."""
    done = finished(counted(cell.among(trials))).sort_values("started_utc")
    return done[value].dropna().astype(float)


def compared(trials: pd.DataFrame, one: Cell, other: Cell, value: str = CPU) -> Comparison:
    """One cell over another."""
    return compare(costs(trials, one, value), costs(trials, other, value))


def ordering(trials: pd.DataFrame, larger: Cell, smaller: Cell, value: str = CPU) -> Ordering:
    """That one costs more than the other."""
    lacking = next((cell for cell in (larger, smaller) if costs(trials, cell, value).empty), larger)
    return Ordering(
        larger.label, smaller.label, compared(trials, larger, smaller, value), gap_of(lacking.among(trials)).text
    )


def cells_of(trials: pd.DataFrame) -> list[Cell]:
    """Every configuration, in the order of the table."""
    rows = trials[["solution", "topology", "threads", "strategy"]].drop_duplicates()
    return [Cell(str(a), str(b), int(c), str(d)) for a, b, c, d in rows.itertuples(index=False)]


def most_threads(trials: pd.DataFrame, solution: str, topology: str) -> int:
    """The most threads that a solution ran with; 0 where it ran with none."""
    rows = trials[(trials["solution"] == solution) & (trials["topology"] == topology)]
    return int(rows["threads"].max()) if len(rows) else 0
