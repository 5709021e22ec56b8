"""Conclusions of this package on today's Java: the cells that ``today.yaml`` is put to."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from allocpool.evidence import claims
from allocpool.evidence.claims import Verdict
from allocpool.evidence.declared import Cell, Cells, claims_of
from allocpool.evidence.trials import records
from allocpool.packets.cells import with_cost
from allocpool.packets.labels import names_in
from allocpool.packets.specs import options_on
from allocpool.studies.batch.long_windows import in_whole_windows

_SINCE = (11, 21, 26)


def cells_of(trials: pd.DataFrame) -> Cells:
    """Return the Java cells of case B by two metrics: ns a packet in steady state (``steady``), and the first half
    minute over it."""
    done = with_cost(trials[(trials["case"] == "B") & (trials["language"] == "java")])
    done = done[np.array([not options_on(row) for row in records(done)], dtype=bool)]
    done = done.assign(steady=done["ns_per_packet"], runtime=done["runtime"].astype(int))
    done["start over steady"] = done["start_ns_per_packet"] / done["steady"]
    g1 = done.loc[(done["collector"] == "g1") & (done["layout"] == "heap"), "runtime"]
    before = g1[g1 < _SINCE[-1]].max()
    names, cells = names_in(done), []
    for (configuration, strategy), group in done.groupby(["configuration", "strategy"], observed=True):
        row: Any = group.iloc[0]
        facts = {name: row[name] for name in ("layout", "collector", "runtime", "strategy")}
        facts |= {
            "last_before_26": facts["runtime"] == before,
            "since": max(s for s in _SINCE if s <= facts["runtime"]),
        }
        for metric in ("steady", "start over steady"):
            # In the order of the table: what another plan measured of a cell comes last.
            values = group[metric].dropna().astype(float)
            cells.append(
                Cell({**facts, "metric": metric}, f"{strategy}, {names[str(configuration)]}", values, "no figure")
            )
    return Cells(cells, ("layout", "collector", "runtime", "strategy", "metric"))


CLAIMS = claims_of("batch", cells_of, file="today.yaml")


def evaluate(*trials: pd.DataFrame) -> list[Verdict]:
    """Return the verdicts of these claims on trials of one machine at the published sizes.

    Only trials whose window pays for all that it causes take part (`long_windows.in_whole_windows`).
    """
    return claims.evaluate(CLAIMS, in_whole_windows(pd.concat(trials, ignore_index=True)))
