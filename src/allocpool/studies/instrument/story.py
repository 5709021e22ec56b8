"""The instrument tested by its own data: same work everywhere, the harness baseline, the noise around it, drift."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from allocpool import stats
from allocpool.campaign import store
from allocpool.evidence.trials import finished, records
from allocpool.studies.instrument.study import STUDY

_SAME_WORK = ["case", "seed", "queue_size", "stored_count"]
_SAME_COUNTS = ["received", "parsed", "tcp", "evicted", "live"]


def contract_trials(trials: pd.DataFrame, provenance: Mapping[str, Any] | None) -> pd.DataFrame:
    """Return the instrument's trials of equal work, which must have equal outcomes; none where nothing was measured."""
    case = provenance["profile"]["contract_case"] if provenance else None
    return finished(trials[trials["case"] == case])


def contract_table(trials: pd.DataFrame) -> pd.DataFrame:
    """Return the outcomes of equal work: checksum and counts, and how many trials ended with them where. More than one
    row for the same case, seed and sizes means other work."""
    outcome = [*_SAME_WORK, *_SAME_COUNTS, "checksum"]
    found = trials.groupby(outcome, observed=True).agg(
        trials=("configuration", "size"), configurations=("configuration", "nunique"),
        strategies=("strategy", lambda names: ", ".join(sorted(set(names)))),
    )  # fmt: skip
    return found.reset_index()[["checksum", "trials", "configurations", "strategies", *_SAME_COUNTS]]


def contract_faults(trials: pd.DataFrame) -> list[str]:
    """Return what breaks the contract, one line each: checksums or counts that differ, packets that are lost."""
    faults = []
    for key, group in trials.groupby(_SAME_WORK, observed=True):
        for name in ["checksum", *_SAME_COUNTS]:
            values = group[name].value_counts()
            if len(values) > 1:
                odd = group[group[name] != values.index[0]]
                who = ", ".join(sorted({f"{row.configuration} {row.strategy}" for row in records(odd)}))
                faults.append(f"case {key[0]}: {name} differs on {who}")
    for row in records(trials[trials["allocated"] != trials["freed"] + trials["live"]]):
        faults.append(
            f"{row.configuration} {row.strategy}: {row.allocated} allocated, {row.freed} freed, {row.live} live"
        )
    return faults


def contract_sentence(trials: pd.DataFrame) -> str:
    """Return whether the contract held, in words."""
    if trials.empty:
        return "**No contract trial has finished**, so nothing shows yet that the configurations do the same work."
    faults = contract_faults(trials)
    if faults:
        return f"**The contract is broken** ({len(faults)} faults): {'; '.join(faults)}."
    return (
        f"**The contract holds**: {stats.plural(len(trials), 'trial')} on "
        f"{stats.plural(trials['configuration'].nunique(), 'configuration')} ended with the same "
        "checksum and the same counts, and every packet handed out was given back or is accounted for."
    )


WATCHED = {
    "steal_share": ("stolen by the hypervisor", 100, "%"),
    "other_cpu_share": ("taken by other processes", 100, "%"),
    "compute_before_ns": ("a step of computing, before", 1, "ns"),
    "compute_after_ns": ("a step of computing, after", 1, "ns"),
    "latency_before_ns": ("a read from memory, before", 1, "ns"),
    "latency_after_ns": ("a read from memory, after", 1, "ns"),
    "bandwidth_before_gbs": ("bandwidth of memory, before", 1, "GB/s"),
    "bandwidth_after_gbs": ("bandwidth of memory, after", 1, "GB/s"),
    "frequency_mhz": ("clock frequency", 1, "MHz"),
    "minor_faults": ("page faults without I/O", 1, ""),
    "major_faults": ("page faults with I/O", 1, ""),
    "voluntary_switches": ("context switches by waiting", 1, ""),
    "involuntary_switches": ("context switches by preemption", 1, ""),
    "huge_pages_granted": ("huge pages granted", 1, ""),
    "huge_pages_refused": ("huge pages refused", 1, ""),
    "compilations": ("compilations while measuring", 1, ""),
    "recompilations": ("of these, again at the same level", 1, ""),
    "deoptimizations": ("compiled code given up while measuring", 1, ""),
}
"""What is recorded around a trial: in words, with the factor to its unit."""


def noise_table(trials: pd.DataFrame) -> pd.DataFrame:
    """Return what was recorded around the trials: lowest, median and highest of each; none where it was not."""
    figures = trials[list(WATCHED)].astype(float) * [factor for _, factor, _ in WATCHED.values()]
    table = figures.agg(["count", "min", "median", "max"]).T.reset_index(drop=True)
    table.columns = pd.Index(["trials", "lowest", "median", "highest"])
    rounded = {name: table[name].map(stats.significant, na_action="ignore") for name in table.columns[1:]}
    found = {"around a trial": [what for what, *_ in WATCHED.values()], "unit": [unit for *_, unit in WATCHED.values()]}
    return pd.DataFrame(found).assign(trials=table["trials"].astype(int), **rounded)


def summary(profile: str) -> str:
    """Return whether the contract held in what a campaign of this profile left; runs nothing."""
    tables, provenance = store.stored(STUDY.name, profile)
    return contract_sentence(contract_trials(tables["trials"], provenance))
