"""Why trials of one configuration are fast or slow: what was recorded around fast ones against slow ones."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from scipy import stats as scipy_stats

from allocpool import decisions
from allocpool.packets import cells as cell_data
from allocpool.studies.instrument.story import WATCHED

TRACES = {
    **{
        name: WATCHED[name][0]
        for name in (
            "compilations", "recompilations", "deoptimizations", "huge_pages_granted", "huge_pages_refused",
            "minor_faults", "involuntary_switches", "steal_share", "other_cpu_share",
        )
    },
    "compute_ns": "pace of computing", "latency_ns": "pace of memory",
}  # fmt: skip
"""What a trial records that could go with its speed."""
_LEAST_FREEDOM = 8
_LEAST_OF_A_CELL = 3


def _told(trials: pd.DataFrame) -> pd.DataFrame:
    """Trials with a cost, the paces before and after as one."""
    done = cell_data.with_cost(trials)
    paces = {
        name: done.reindex(columns=[f"{name[:-3]}_{when}_ns" for when in ("before", "after")])
        .astype(float)
        .mean(axis=1)
        for name in ("compute_ns", "latency_ns")
    }
    return done.assign(**paces)


def traces(trials: pd.DataFrame) -> pd.DataFrame:
    """What goes with being slow, within configurations: columns trace, cells, n, correlation, p.

    Ranks within each configuration are centred, and correlated over all of them (Spearman's coefficient of blocked
    ranks: Taylor, "Kendall's and Spearman's correlation coefficients in the presence of a blocking variable",
    Biometrics 43, 1987); p by t with the freedom that is left, over all traces by Benjamini and Hochberg. A trace that
    is the same in all trials of a configuration says nothing and takes no part.
    """
    done = _told(trials)
    rows = []
    for name, what in TRACES.items():
        known = done[done[name].notna()] if name in done else done.iloc[:0]
        ranks = []
        for _, group in known.groupby(list(cell_data.CONFIGURATION), observed=True):
            if len(group) < _LEAST_OF_A_CELL or group[name].nunique() < 2:
                continue
            pair = group[["ns_per_packet", name]].astype(float).rank()
            ranks.append(((pair - pair.mean()) / len(group)).to_numpy())
        freedom = sum(map(len, ranks)) - len(ranks) - 1
        if freedom < _LEAST_FREEDOM:
            continue
        both = np.concatenate(ranks)
        r = float((both[:, 0] * both[:, 1]).sum() / math.sqrt((both[:, 0] ** 2).sum() * (both[:, 1] ** 2).sum()))
        t = r * math.sqrt(freedom / max(1 - r * r, 1e-12))
        p = 2 * float(scipy_stats.t.sf(abs(t), freedom))
        rows.append({"trace": what, "cells": len(ranks), "n": len(both), "correlation": r, "p": p})
    table = pd.DataFrame(rows, columns=["trace", "cells", "n", "correlation", "p"])
    if len(table):
        table["p"] = scipy_stats.false_discovery_control(table["p"])
    return table


def fast_against_slow(trials: pd.DataFrame) -> pd.DataFrame:
    """Cells with two speeds: fast trials against slow ones, in the medians of what was recorded.

    Columns: cell, speed (fast or slow), n, ns, compiled_states (different ones), shared_states (of these, those that
    the other speed has, too), and one per trace.
    """
    rows = []
    for (configuration, strategy, case), group in _told(trials).groupby(list(cell_data.CONFIGURATION), observed=True):
        ordered = group.sort_values("ns_per_packet")
        logs = np.log(ordered["ns_per_packet"].to_numpy(dtype=np.float64))
        split = decisions.split_of_speeds(logs)
        if split is None:
            continue
        parts = {"fast": ordered.iloc[:split], "slow": ordered.iloc[split:]}
        states = {speed: set(part["compiled_state"].dropna()) for speed, part in parts.items()}
        for speed, part in parts.items():
            rows.append(
                {"cell": f"{configuration}, {strategy}, {case}", "speed": speed, "n": len(part)}
                | {"ns": float(part["ns_per_packet"].median()), "compiled_states": len(states[speed])}
                | {"shared_states": len(states["fast"] & states["slow"])}
                | {what: part[name].astype(float).median() for name, what in TRACES.items() if name in part}
            )
    return pd.DataFrame(
        rows, columns=["cell", "speed", "n", "ns", "compiled_states", "shared_states", *TRACES.values()]
    )
