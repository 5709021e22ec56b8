"""What the instrument's own trials show of it: A/A controls, causes held fixed, two records of the same trial, and why
trials of one configuration are fast or slow."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pandas as pd
from scipy import stats as scipy_stats

from allocpool import decisions
from allocpool.evidence import tables
from allocpool.evidence.trials import finished
from allocpool.packets import cells as cell_data
from allocpool.packets.specs import OPTIONS, Configuration
from allocpool.studies.instrument.specs import SIDES

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


def usual(trials: pd.DataFrame) -> pd.DataFrame:
    """Return the trials with nothing held fixed, each configuration under its first name."""
    return trials[trials["control"].isna()]


def as_measured(trials: pd.DataFrame) -> pd.DataFrame:
    """Return trials whose costs have the machine's pace in them; see `allocpool.pace`."""
    return trials.assign(ns_per_packet=trials["ns_per_packet"] * trials["pace"].fillna(1.0))


def in_time(trials: pd.DataFrame) -> pd.DataFrame:
    """Return each trial in the order in which they ran: minutes (since the first), cost (as measured, over the
    geometric mean of its cell) and pace."""
    done = as_measured(cell_data.with_cost(trials)).sort_values("started_utc")
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
                p = float(scipy_stats.levene(free, held, center="median").pvalue)
                ratio = math.exp(held.mean() - free.mean())
                rows.append([", ".join(key), what, *spreads, *speeds, free.size, held.size, ratio, p])
    names = ["cell", "held", "sd_free", "sd_held", "speeds_free", "speeds_held", "n_free", "n_held", "ratio", "p"]
    return _together(pd.DataFrame(rows, columns=names))


def _together(table: pd.DataFrame) -> pd.DataFrame:
    known = table["p"].notna()
    if known.any():
        table.loc[known, "p"] = scipy_stats.false_discovery_control(table.loc[known, "p"])
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
            rows.append([what, cells.ngroups, len(known), r, 2 * float(scipy_stats.t.sf(abs(t), freedom))])
    return _together(pd.DataFrame(rows, columns=["trace", "cells", "n", "correlation", "p"]))


_RECORDED = (
    "ns_per_packet", "jvm_thread_ms", "kernel_thread_ms", "jvm_process_ms", "kernel_process_ms", "explicit_collections",
    "log_pauses", "recorder_pauses", "log_pause_ms", "recorder_pause_ms",
)  # fmt: skip


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
