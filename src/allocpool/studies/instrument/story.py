"""The instrument tested by its own data: same work everywhere, noise around it, and how often its judge is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from allocpool import decisions, stats
from allocpool.campaign import store
from allocpool.evidence import claims, tables
from allocpool.evidence.trials import finished, records
from allocpool.studies.instrument import proof
from allocpool.studies.instrument.study import STUDY

_SAME_WORK = ["case", "seed", "queue_size", "stored_count"]
_SAME_COUNTS = ["received", "parsed", "tcp", "evicted", "live"]
_SHOWN_SIZES = (2, 3, 4, 5, 8, 10, 15, 30)


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
            odd = group[group[name] != group[name].mode()[0]]
            if len(odd):
                who = ", ".join(sorted(set(odd["configuration"].astype(str) + " " + odd["strategy"].astype(str))))
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


def _shares(rates: pd.DataFrame, keys: list[str], names: dict[str, str]) -> pd.DataFrame:
    shares = rates[[*names]].map(lambda value: "" if pd.isna(value) else f"{value:.1%}")
    return pd.concat([rates[keys], shares.rename(columns=names)], axis=1)


def coverage_table() -> pd.DataFrame:
    """Return by interval and noise, and by n, the share of intervals that hold the truth; a star where it is below its
    rate by more than chance."""
    rates = proof.load("coverage")
    least = [
        stats.CONFIDENCE if pd.isna(repetitions) else 1 - proof.highest_allowed(repetitions)
        for repetitions in rates["repetitions"]
    ]
    rates["text"] = rates["holds"].map("{:.0%}".format) + np.where(rates["holds"] < least, "*", "")
    grid = rates.pivot(index=["interval", "noise"], columns="n", values="text").fillna("")
    return grid.rename(columns="n = {}".format).rename_axis(columns=None).reset_index()


def power_table() -> pd.DataFrame:
    """Return the smallest ratio that is found, by n and kind of cell."""
    grid = proof.load("power").pivot(index="n", columns="third", values="ours")[list(proof.THIRDS)]
    return grid.map(lambda ratio: f"{ratio:.2f}" if np.isfinite(ratio) else "none").reset_index()


def error_rates() -> list[tables.TableOrWords]:
    """Return every table of simulated error rates: is the judge wrong, do its intervals hold, what does it see."""
    wrong, found, outcomes, paces = map(proof.load, ("false_verdicts", "found", "claim_errors", "paces"))
    cells = {third: f"{third} cells ({sigma:.0%})" for third, sigma in proof.THIRDS.items()}
    names = {
        "found": "true differences found", "of_verdicts": "false, of verdicts",
        "equivalent": "equal ones shown not to matter", "open": "inconclusive",
    }  # fmt: skip
    wrong = wrong[wrong["n"].isin(_SHOWN_SIZES)].rename(columns={"disturbance": "noise besides", "n": "up to n ="})
    occurring = {name: name for name in claims.OUTCOMES if outcomes[name].any()}
    found = found.rename(columns={"ratio": "true ratio"})
    return [
        tables.plain_table(
            _shares(wrong, ["noise besides", "up to n ="], cells | {"page": "of a page's verdicts"}),
            "Differences found where there is none, share",
            f"Looked at after every block, and stopped whenever one likes; stated: {decisions.ALPHA:.0%}.",
        ),
        tables.plain_table(
            coverage_table(), "How often intervals hold the truth",
            "A star: too low by more than chance. Verdicts rest on those at every look, or at the end of a fixed plan.",
        ),
        tables.plain_table(
            _shares(paces, ["machine", "comparisons", "n", "width"], {
                "missed_raw": "intervals that miss, as measured", "missed": "adjusted for the pace",
            }).round({"width": 2}),
            "Costs adjusted for the machine's pace by the trials before and after",
            "Width: of the adjusted interval over that of costs as measured.",
        ),
        tables.plain_table(
            power_table(), "Smallest true ratio found with a chance of 80%",
            f"Below {decisions.FEWEST} trials a side nothing is decided.",
        ),
        tables.plain_table(
            _shares(found, ["true ratio", "rule", "trials"], names), "What a campaign finds in the same time",
            f"{proof.COMPARISONS} comparisons, half of them of equal configurations, in {proof.MINUTES} minutes.",
        ),
        tables.plain_table(
            _shares(outcomes, ["orderings", "truth", "n"], occurring),
            "What becomes of a claim", f"Orderings that are so are {proof.FACTOR:g} apart.",
        ),
    ]  # fmt: skip


def of_which_judge() -> str:
    """Return whether the simulated error rates are about the judge as it is now."""
    command = "python -m allocpool.studies.instrument.proof"
    if proof.of_this_judge():
        return f"Simulated with the judge that made this page's verdicts: `{command}`."
    return f"**Simulated with an earlier version of the judge**: `{command}` makes the tables anew."


def summary(profile: str) -> str:
    """Return whether the contract held in what a campaign of this profile left; runs nothing."""
    tables, provenance = store.stored(STUDY.name, profile)
    return contract_sentence(contract_trials(tables["trials"], provenance))
