"""The instrument tested by its own data: same work everywhere, A/A controls, causes of noise held fixed, two records of
the same trial, why trials of one configuration are fast or slow, and how often the judge is wrong."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
import scipy

from allocpool import decisions, stats
from allocpool.campaign import hosts, store
from allocpool.decisions import A_CHEAPER, B_CHEAPER
from allocpool.evidence import claims, tables
from allocpool.evidence.trials import finished, records
from allocpool.packets import cells as cell_data
from allocpool.packets.specs import OPTIONS, Configuration
from allocpool.studies.instrument import proof
from allocpool.studies.instrument.specs import SIDES
from allocpool.studies.instrument.study import STUDY

_SAME_WORK = ["case", "seed", "queue_size", "stored_count"]
_SAME_COUNTS = ["received", "parsed", "tcp", "evicted", "live"]
_SHOWN_SIZES = (2, 3, 4, 5, 8, 10, 15, 30)
CAUSES = {
    "fixed_addresses": "where memory lies",
    "large_pages": "the size of pages",
    "foreground": "when code is compiled",
    "c1_only": "what the optimising compiler decides",
}
"""What trials of a configuration could differ by, by the option that holds it fixed."""
TRACES = {
    "compilations": "compilations while measuring",
    "recompilations": "of these, again at the same level",
    "deoptimizations": "compiled code given up while measuring",
    "huge_pages_granted": "huge pages granted",
    "huge_pages_refused": "huge pages refused",
    "minor_faults": "page faults without I/O",
    "involuntary_switches": "context switches by preemption",
    "steal_share": "stolen by the hypervisor",
    "other_cpu_share": "taken by other processes",
    "compute_ns": "pace of computing",
    "latency_ns": "pace of memory",
}
"""What a trial records that could go with its speed."""
_CELL = list(cell_data.CONFIGURATION)
_FEWEST = 3
"""Trials of a cell that has a pace."""
_RECORDED = (
    "ns_per_packet", "jvm_thread_ms", "kernel_thread_ms", "jvm_process_ms", "kernel_process_ms", "explicit_collections",
    "log_pauses", "recorder_pauses", "log_pause_ms", "recorder_pause_ms",
)  # fmt: skip


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


def usual(trials: pd.DataFrame) -> pd.DataFrame:
    """Return the trials with nothing held fixed, each configuration under its first name."""
    return trials[trials["control"].isna()]


def as_measured(trials: pd.DataFrame) -> pd.DataFrame:
    """Return trials whose costs have the machine's pace in them; see `allocpool.pace`."""
    return trials.assign(ns_per_packet=trials["ns_per_packet"] * trials["pace"].fillna(1.0))


def in_time(trials: pd.DataFrame) -> pd.DataFrame:
    """Return each trial in the order in which they ran: minutes (since the first), cost (as measured, over the
    geometric mean of its cell) and pace; of cells that have a pace."""
    done = as_measured(cell_data.with_cost(trials)).sort_values("started_utc")
    done = done[done.groupby(_CELL, observed=True)["block"].transform("size") >= _FEWEST]
    logs = done["ns_per_packet"].astype(float).map(math.log)
    own = logs - logs.groupby([done[key] for key in _CELL], observed=True).transform("mean")
    started = pd.to_datetime(done["started_utc"])
    minutes = (started - started.min()).dt.total_seconds() / 60
    return pd.DataFrame({"minutes": minutes, "cost": np.exp(own), "pace": done["pace"]}).reset_index(drop=True)


def _with_option(trials: pd.DataFrame, word: str) -> Iterator[tuple[list[str], pd.Series, pd.Series]]:
    """Yield of each cell with an option its keys without it, and its costs by block without it and with it."""
    field, value, _ = OPTIONS[word]
    for key, group in trials[trials[field].astype(str) == str(value)].groupby(_CELL, observed=True):
        label, strategy, case = map(str, key)
        base = [Configuration.of(group.iloc[0]).without(word).label, strategy, case]
        yield base, cell_data.by_block(trials, *base), cell_data.by_block(trials, label, strategy, case)


def controls(trials: pd.DataFrame) -> pd.DataFrame:
    """Compare each configuration that was planned twice with itself (A/A), all decided together: any difference is
    false.

    Columns: configuration, strategy, case, ratio, low, high, n, verdict, remark.
    """
    pairs = list(_with_option(trials, "twin"))
    found = decisions.decide_together([(again, first) for _, first, again in pairs])
    names = ["ratio", "low", "high", "n", "verdict", "remark"]
    rows = [[*key, *(getattr(one, name) for name in names)] for (key, *_), one in zip(pairs, found, strict=True)]
    return pd.DataFrame(rows, columns=[*_CELL, *names])


def controls_of_hosts(profile: str) -> pd.DataFrame:
    """Count the false differences of each host that measured the instrument under a profile, this one's first.

    Columns: host, pairs, false (differences found), largest (ratio of a pair, either way), disturbed (share of trials).
    """
    rows = []
    for one in hosts.of_hosts("instrument", profile):
        trials = hosts.tables_of_hosts("instrument", profile, one.host_id)["trials"]
        pairs = controls(trials)
        false = pairs["verdict"].isin([A_CHEAPER, B_CHEAPER]).sum()
        largest = pairs["ratio"].astype(float).map(lambda ratio: max(ratio, 1 / ratio)).max()
        rows.append([one.label, len(pairs), false, largest, trials["disturbed"].notna().mean()])
    return pd.DataFrame(rows, columns=["host", "pairs", "false", "largest", "disturbed"])


def causes(trials: pd.DataFrame) -> pd.DataFrame:
    """Return what cells vary by, with a cause free and with it held fixed.

    Columns: cell, held (what), sd_free, sd_held (standard deviations of the logarithm), speeds_free, speeds_held (1 or
    2; see `decisions.shape_of`), n_free, n_held, ratio (cost with it held over cost with it free), p (that the spreads
    are equal: Brown and Forsythe, "Robust tests for the equality of variances", JASA 69, 1974; over all rows by
    Benjamini and Hochberg).
    """
    rows = []
    for word, what in CAUSES.items():
        for key, *sides in _with_option(trials, word):
            free, held = (np.log(side.to_numpy(dtype=np.float64)) for side in sides)
            if min(free.size, held.size) >= 2:
                spreads = free.std(ddof=1), held.std(ddof=1)
                speeds = (1 + decisions.shape_of(logs).startswith("two speeds") for logs in (free, held))
                p = float(scipy.stats.levene(free, held, center="median").pvalue)
                ratio = math.exp(held.mean() - free.mean())
                rows.append([", ".join(key), what, *spreads, *speeds, free.size, held.size, ratio, p])
    names = ["cell", "held", "sd_free", "sd_held", "speeds_free", "speeds_held", "n_free", "n_held", "ratio", "p"]
    return _together(pd.DataFrame(rows, columns=names))


def _together(table: pd.DataFrame) -> pd.DataFrame:
    known = table["p"].notna()
    if known.any():
        table.loc[known, "p"] = scipy.stats.false_discovery_control(table.loc[known, "p"])
    return table


def traces(trials: pd.DataFrame) -> pd.DataFrame:
    """Return what goes with being slow, within configurations: trace, cells, n, correlation, p.

    Ranks within each configuration are centred, and correlated over all of them (Spearman's coefficient of blocked
    ranks: Taylor, "Kendall's and Spearman's correlation coefficients in the presence of a blocking variable",
    Biometrics 43, 1987); p by t with the freedom that is left, over all traces by Benjamini and Hochberg. A trace that
    is the same in all trials of a configuration takes no part.
    """
    done = cell_data.with_cost(trials)
    for name in ("compute", "latency"):
        both = done.reindex(columns=[f"{name}_{when}_ns" for when in ("before", "after")])
        done = done.assign(**{f"{name}_ns": both.astype(float).mean(axis=1)})
    rows = []
    for name, what in TRACES.items():
        known = done.reindex(columns=[*_CELL, "ns_per_packet", name]).dropna(subset=[name])
        values = known.groupby(_CELL, observed=True)[name]
        known = known[(values.transform("size") >= 3) & (values.transform("nunique") > 1)]
        cells = known.astype({name: float}).groupby(_CELL, observed=True)
        freedom = len(known) - cells.ngroups - 1
        if freedom >= 8:
            ranks = cells[["ns_per_packet", name]].rank(pct=True)
            middle = ranks.groupby([known[key] for key in _CELL], observed=True).transform("mean")
            r = float(np.corrcoef((ranks - middle).to_numpy(dtype=np.float64), rowvar=False)[0, 1])
            t = r * math.sqrt(freedom / max(1 - r * r, 1e-12))
            rows.append([what, cells.ngroups, len(known), r, 2 * float(scipy.stats.t.sf(abs(t), freedom))])
    return _together(pd.DataFrame(rows, columns=["trace", "cells", "n", "correlation", "p"]))


def witnesses(trials: pd.DataFrame) -> pd.DataFrame:
    """Return what the sides of the same trial record, in medians: configuration, side, n, same_work (whether all sides
    end with the same counts and checksum), same_pauses (share of trials with as many in Flight Recorder as in the log),
    and what was recorded; of table ``witnesses``."""
    done = finished(trials)
    same = done.groupby(["configuration", "seed"], observed=True)[["counted", "checksum"]].transform("nunique")
    equal = (done["log_pauses"] == done["recorder_pauses"]).astype("Float64")
    done = done.assign(same_work=(same == 1).all(axis=1), same_pauses=equal)
    sides = done.groupby(["configuration", "side"], observed=True)
    found = sides.agg(n=("block", "size"), same_work=("same_work", "all"), same_pauses=("same_pauses", "mean"))
    return found.join(sides[[*_RECORDED]].median()).reset_index()


def bridge_over_plain(trials: pd.DataFrame) -> pd.DataFrame:
    """Compare trials behind the bridge with those of a plain ``java`` process, decided together: measured,
    configuration, ratio, n."""
    done = finished(trials)
    names, sides = [], []
    for label, rows in done.groupby("configuration", observed=True):
        by_side = {side: rows[rows["side"] == side].set_index("block") for side in SIDES}
        for what, column in (("time per packet", "ns_per_packet"), ("CPU of the measuring thread", "jvm_thread_ms")):
            names.append({"measured": what, "configuration": label})
            sides.append((by_side["bridge"][column].astype(float), by_side["plain"][column].astype(float)))
    return tables.comparisons(names, decisions.compare_together(sides), "bridge over plain java")


def iterations_asked(trials: pd.DataFrame, iterations: pd.DataFrame) -> pd.DataFrame:
    """Return how many iterations a trial should have: what varies within it against what varies between trials, by what
    each costs.

    Columns: configuration, strategy, case, trials, iterations (a trial has, in the median), within, between (standard
    deviations of the logarithm), optimum (infinite where trials are not shown to differ). Source: Kalibera and Jones,
    "Rigorous benchmarking in reasonable time", ISMM 2013: the root of the ratio of costs times the ratio of variances.
    """
    measured = iterations[iterations["phase"] == "measured"]
    # The last one may be cut short.
    measured = measured[measured["iteration"] < measured.groupby("trial_id")["iteration"].transform("max")]
    each = measured.assign(log=np.log(measured["ns_per_packet"].astype(float))).groupby("trial_id").agg(
        mean=("log", "mean"), variance=("log", "var"), count=("log", "size"), begin=("start_ns", "min"),
        end=("end_ns", "max"),
    )  # fmt: skip
    each = each.assign(measured_s=(each["end"] - each["begin"]) / 1e9)
    joined = cell_data.with_cost(trials).merge(each[each["count"] > 1], left_on="trial_id", right_index=True)
    found = joined.groupby(_CELL, observed=True).agg(
        trials=("wall_s", "size"), iterations=("count", "median"), within=("variance", "mean"),
        between=("mean", "var"), wall_s=("wall_s", "median"), measured_s=("measured_s", "median"),
    ).astype(float)  # fmt: skip
    found = found[found["trials"] > 1]
    between = (found["between"] - found["within"] / found["iterations"]).clip(lower=0.0)
    costs = (found["wall_s"] - found["measured_s"]) / (found["measured_s"] / found["iterations"])
    optimum = np.maximum(1.0, np.ceil(np.sqrt(costs * found["within"] / between)))
    found = found.assign(within=np.sqrt(found["within"]), between=np.sqrt(between), optimum=optimum)
    return found.drop(columns=["wall_s", "measured_s"]).astype({"trials": int}).reset_index()


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
    left, provenance = store.stored(STUDY.name, profile)
    return contract_sentence(contract_trials(left["trials"], provenance))
