"""Is the advice right? Ten varied workloads, each advised in a few minutes and then measured at length, apart.

The long plan shares no trial with the advice, and time alone fixes its length. `FILE` keeps a row for each.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from allocpool import home
from allocpool.campaign.hosts import called
from allocpool.machine.host import Host
from allocpool.stats import ends, significant
from allocpool.studies.your_workload.advice import EFFECT, INTERRUPTED, Advice, Machine, advise
from allocpool.studies.your_workload.course import course
from allocpool.studies.your_workload.findings import UNDECIDED, Findings, Place
from allocpool.studies.your_workload.workload import ALLOC, Cell, understood
from allocpool.trial.launch import Launcher

WORKLOADS = {
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
}  # fmt: skip
FILE = "advice.csv"
MINUTES, LONG_MINUTES = 10.0, 60.0
"""Of an advice and of its long plan, unless asked otherwise."""
AGREE, DISAGREE, OPEN = "agree", "DISAGREE", "inconclusive"
_APART = 100_000
"""The first block of the long plan."""
_KEY = ["workload", "host_id"]


def check(name: str, minutes: float | None, long_minutes: float | None, machine: Machine) -> tuple[Advice, Advice]:
    """Advise on a workload of `WORKLOADS`, and measure it at length; None measures nothing. Ctrl-C is raised."""
    workload, advices = understood(WORKLOADS[name]), []
    for limit, plan, block in ((minutes, course, 0), (long_minutes, _in_turns, _APART)):
        advices.append(advise(workload, limit, machine, plan=plan, first_block=block))
        if advices[-1].ended == INTERRUPTED:
            raise KeyboardInterrupt
    return advices[0], advices[1]


def _in_turns(of: Findings) -> Iterator[Cell]:
    """Both sides in turns, as fast as they go and at the reader's rate."""
    places = map(Place, of.workload.collectors)
    return itertools.cycle([cell for place in places for paced in (False, True) for cell in of.cells(place, paced)])


def row_of(name: str, advice: Advice, long: Advice, host: Host) -> dict[str, Any]:
    """Return a check as a row of `FILE`, in the order of its columns."""
    row: dict[str, Any] = {"workload": name, "host_id": host.fingerprint(), "processor": host.cpu_model}
    row["code_hash"] = Launcher().code_hash(advice.workload.spec_of(Cell(advice.collector, ALLOC), 0))
    for prefix, answer, one in (("", "advice", advice), ("long_", "at_length", long)):
        row |= {f"{prefix}minutes": round(one.minutes, 2), answer: one.answer}
        row |= {f"{prefix}{part}": getattr(one.decision, part) for part in EFFECT}
    return row


def _path() -> Path:
    return home.home() / "data" / "checked" / FILE


def load() -> pd.DataFrame:
    return pd.read_csv(_path()) if _path().exists() else pd.DataFrame()


def keep(row: Mapping[str, Any]) -> None:
    """Write a row into `FILE`, in place of an earlier one of this workload on this machine."""
    rows = pd.DataFrame([*load().to_dict("records"), row]).drop_duplicates(_KEY, keep="last")
    order = list(WORKLOADS)
    rows = rows.sort_values(_KEY, key=lambda column: column.map(order.index) if column.name == "workload" else column)
    _path().parent.mkdir(parents=True, exist_ok=True)
    rows.to_csv(_path(), index=False, float_format="%.5g")


def table(rows: pd.DataFrame) -> pd.DataFrame:
    """Return rows of `FILE` for a reader, with their outcome: `DISAGREE` where both are decided and differ."""
    if rows.empty:
        return rows

    def shown(prefix: str) -> list[str]:
        effects = rows[[f"{prefix}{part}" for part in EFFECT]].itertuples(index=False)
        return [f"{significant(ratio)} ({ends(low, high)}), n = {n}" for ratio, low, high, n in effects]

    inconclusive = (rows[["advice", "at_length"]] == UNDECIDED).any(axis=1)
    agree = rows["advice"] == rows["at_length"]
    return pd.DataFrame({
        "workload": rows["workload"], "outcome": np.select([inconclusive, agree], [OPEN, AGREE], DISAGREE),
        "advice": rows["advice"], "alloc over pool": shown(""), "at length": rows["at_length"],
        "at length, alloc over pool": shown("long_"), "minutes": rows["minutes"].round(1),
        "long minutes": rows["long_minutes"].round(1), "machine": map(called, rows["processor"], rows["host_id"]),
    })  # fmt: skip
