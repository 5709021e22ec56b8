"""Is the advice right? Ten varied workloads, each advised in a few minutes and then measured at length, apart.

The long plan knows nothing of the short one: its trials are others, their number is fixed by time alone, and half of
them go as fast as they can, half at the reader's rate. What was found is kept in `FILE`, one row for each workload and
machine, so that ten of them may be checked on different days.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import pandas as pd

from allocpool import home
from allocpool.campaign.sequential import BETWEEN_TRIALS_S
from allocpool.machine.host import Host
from allocpool.studies.your_workload.advice import INTERRUPTED, Advice, Laboratory, advise, progress
from allocpool.studies.your_workload.findings import UNDECIDED, Findings
from allocpool.studies.your_workload.workload import ALLOC, Cell, Workload, understood
from allocpool.trial.launch import Launcher

WORKLOADS: Mapping[str, Mapping[str, str]] = MappingProxyType({
    "ticks": {"bytes": "64", "in_flight": "10", "rate": "1e6"},
    "quotes": {"bytes": "64", "in_flight": "1m", "rate": "5e5", "heap": "1g"},
    "datagrams": {"bytes": "64:0.7,1500:0.3", "in_flight": "1000", "rate": "3e5"},
    "requests": {"bytes": "lognormal:2048:1", "in_flight": "100", "rate": "5e4", "temporaries": "10", "live": "200m"},
    "packets": {"bytes": "1024", "in_flight": "10k", "kept": "6%", "for": "2s", "rate": "1e5", "heap": "1g"},
    "records": {"bytes": "512", "in_flight": "300k", "rate": "2e5", "heap": "1g", "garbage": "50m"},
    "direct": {"bytes": "4096", "in_flight": "1000", "rate": "5e4", "layout": "native"},
    "pages": {"bytes": "65536", "in_flight": "1000", "rate": "1e4", "collector": "genzgc"},
    "images": {"bytes": "1048576", "in_flight": "10", "rate": "500", "heap": "2g"},
    "tiles": {"bytes": "262144", "in_flight": "500", "rate": "1000", "heap": "2g", "collector": "parallel"},
})  # fmt: skip
"""From 64 bytes to a MiB, from ten to a million in flight."""
_APART = 100_000
"""The first block of the long plan."""


FILE = "advice.csv"
MINUTES, LONG_MINUTES = 10.0, 60.0
"""Of an advice and of its long plan, unless asked otherwise."""
AGREE, DISAGREE, OPEN = "agree", "DISAGREE", "inconclusive"
_KEY = ["workload", "host_id"]
_COLUMNS = [
    *_KEY, "processor", "code_hash", "minutes", "advice", "ratio", "low", "high", "n",
    "long_minutes", "at_length", "long_ratio", "long_low", "long_high", "long_n",
]  # fmt: skip


class Checked(NamedTuple):
    """One workload: what the advice says, and what the long plan does, with its ratio of costs, trials a side, and the
    minutes that its trials took."""

    name: str
    advice: Advice
    answer: str
    ratio: float
    low: float
    high: float
    n: int
    minutes: float

    @property
    def outcome(self) -> str:
        """As `outcome_of`."""
        return outcome_of(self.advice.answer, self.answer)


def outcome_of(advice: str, at_length: str) -> str:
    """`AGREE`, `DISAGREE` where both are decided and say different things, or `OPEN` where one is not."""
    if UNDECIDED in (advice, at_length):
        return OPEN
    return AGREE if advice == at_length else DISAGREE


def check(name: str, minutes: float | None, long_minutes: float, laboratory: Laboratory) -> Checked:
    """Advise on a workload of `WORKLOADS`, and measure it at length; what is on record already counts. With None and 0
    nothing is measured.

    Raises:
        KeyboardInterrupt: in the advice too, which answers with what there is, and is none of so many minutes then.
    """
    workload = understood(WORKLOADS[name])
    advice = advise(workload, minutes, laboratory)
    if advice.ended == INTERRUPTED:
        raise KeyboardInterrupt
    found, took_minutes = at_length(workload, long_minutes, laboratory)
    result = found.comparison(found.focus()).decision
    return Checked(
        name, advice, found.answer(found.focus()), result.ratio, result.low, result.high, result.n, took_minutes
    )  # fmt: skip


def at_length(workload: Workload, minutes: float, laboratory: Laboratory) -> tuple[Findings, float]:
    """Both sides in turns, as fast as they go and at the reader's rate, until their trials, those on record included,
    took so many minutes; and the minutes that they took."""
    of = Findings(workload, laboratory.refusal)
    sides = [
        Cell(collector, side, rate)
        for collector in workload.collectors
        for rate in (None, workload.rate_per_s)
        for side in workload.sides
    ]
    spent_s = 0.0
    try:
        with progress("at length", 60 * minutes, quiet=not minutes) as bar:
            for cell in itertools.cycle(sides):
                spec = workload.spec_of(cell, _APART + of.n(cell))
                measured = laboratory.recorded(spec)
                if measured is None:
                    if spent_s >= 60 * minutes:
                        break
                    measured = laboratory.measure(spec)
                of.add(cell, measured)
                spent_s += measured.wall_s + BETWEEN_TRIALS_S
                bar.update(min(spent_s, 60 * minutes) - bar.n)
    finally:
        laboratory.close()
    return of, spent_s / 60


def _path() -> Path:
    return home.home() / "data" / "checked" / FILE


def load() -> pd.DataFrame:
    """What was checked, in the order of `WORKLOADS`: columns as in the file, and ``outcome``; no rows before that."""
    path = _path()
    rows = pd.read_csv(path) if path.exists() else pd.DataFrame(columns=_COLUMNS)
    return rows.assign(
        outcome=[outcome_of(*pair) for pair in zip(rows["advice"], rows["at_length"], strict=True)]
    )  # fmt: skip


def row_of(one: Checked, host: Host) -> dict[Any, Any]:
    """Return a check as a row of `FILE`."""
    found, workload = one.advice.decision, one.advice.workload
    code_hash = Launcher().code_hash(workload.spec_of(Cell(one.advice.collector, ALLOC), 0))
    return {
        "workload": one.name, "host_id": host.fingerprint(), "processor": host.cpu_model, "code_hash": code_hash,
        "minutes": round(one.advice.minutes, 2), "advice": one.advice.answer, "ratio": found.ratio, "low": found.low,
        "high": found.high, "n": found.n, "long_minutes": round(one.minutes, 2), "at_length": one.answer,
        "long_ratio": one.ratio, "long_low": one.low, "long_high": one.high, "long_n": one.n,
    }  # fmt: skip


def keep(one: Checked, host: Host) -> None:
    """Write a row into `FILE`, in the order of `WORKLOADS`, in place of what an earlier check of this workload on this
    machine found."""
    rows = {tuple(each[name] for name in _KEY): each for each in load()[_COLUMNS].to_dict("records")}
    rows[one.name, host.fingerprint()] = row_of(one, host)
    _path().parent.mkdir(parents=True, exist_ok=True)
    order = {name: place for place, name in enumerate(WORKLOADS)}
    kept = pd.DataFrame(list(rows.values()), columns=_COLUMNS).sort_values(
        _KEY, key=lambda column: column.map(order) if column.name == "workload" else column
    )
    kept.to_csv(_path(), index=False, float_format="%.5g")
