"""What the instrument's own trials show of it: A/A controls, causes held fixed, two sides of the same trial."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from scipy import stats as scipy_stats

from allocpool import decisions
from allocpool.evidence.trials import finished
from allocpool.packets import cells as cell_data
from allocpool.packets.specs import OPTIONS, Configuration
from allocpool.studies.instrument.specs import SIDES
from allocpool.studies.instrument.story import PaceFit

CAUSES = {
    "fixed_addresses": "where memory lies",
    "large_pages": "the size of pages",
    "foreground": "when code is compiled",
    "c1_only": "what the optimising compiler decides",
}
"""What trials of a configuration could differ by, by the option that holds it fixed."""
ALL_CELLS, NEIGHBOURS = "all cells", "neighbours (the pace as covariate)"


def usual(trials: pd.DataFrame) -> pd.DataFrame:
    """The trials with nothing held fixed, each configuration under its first name."""
    return trials[trials["control"].isna()]


def twins(trials: pd.DataFrame) -> pd.DataFrame:
    """A/A: each configuration that was planned twice, decided together as if the two were different things.

    Columns: configuration, strategy, case, ratio, low, high, n, verdict, remark. A difference here is one that does not
    exist.
    """
    pairs = _beside(trials, "twin")
    sides = [(_costs(trials, second, *cell), _costs(trials, first, *cell)) for first, second, *cell in pairs]
    rows = [
        {"configuration": first, "strategy": strategy, "case": case, "ratio": found.ratio, "low": found.low,
         "high": found.high, "n": found.n, "verdict": found.verdict, "remark": found.remark}
        for (first, _, strategy, case), found in zip(pairs, decisions.decide_together(sides), strict=True)
    ]  # fmt: skip
    names = ["configuration", "strategy", "case", "ratio", "low", "high", "n", "verdict", "remark"]
    return pd.DataFrame(rows, columns=names)


def _beside(trials: pd.DataFrame, word: str) -> list[tuple[str, str, str, str]]:
    """Configurations with an option: label without it, label with it, strategy, case."""
    field, value, _ = OPTIONS[word]
    chosen = trials[trials[field].astype(str) == str(value)]
    return [
        (Configuration.of(group.iloc[0]).without(word).label, str(label), str(strategy), str(case))
        for (label, strategy, case), group in chosen.groupby(list(cell_data.CONFIGURATION), observed=True)
    ]


def _costs(trials: pd.DataFrame, configuration: str, strategy: str, case: str) -> pd.Series:
    return cell_data.by_block(trials, configuration, strategy, case)


def causes(trials: pd.DataFrame, pace: PaceFit | None = None) -> pd.DataFrame:
    """What cells vary by, with a cause free and with it held fixed.

    Columns: cell, held (what), sd_free, sd_held (standard deviations of the logarithm), speeds_free, speeds_held (1 or
    2; see `decisions.shape_of`), n_free, n_held, ratio (cost with it held over cost with it free), p (that the spreads
    are equal: Brown and Forsythe, "Robust tests for the equality of variances", JASA 69, 1974; over all rows by
    Benjamini and Hochberg). With ``pace`` the last row is of the neighbours, by their trace in the machine's pace, over
    all cells; its p is that of the pace.
    """
    rows: list[dict[str, object]] = []
    for word, what in CAUSES.items():
        for base, held, strategy, case in _beside(trials, word):
            free_logs, held_logs = (
                np.log(_costs(trials, label, strategy, case).to_numpy(dtype=np.float64)) for label in (base, held)
            )
            if min(free_logs.size, held_logs.size) < 2:
                continue
            test = scipy_stats.levene(free_logs, held_logs, center="median")
            rows.append(
                {"cell": f"{base}, {strategy}, {case}", "held": what, "sd_free": free_logs.std(ddof=1),
                 "sd_held": held_logs.std(ddof=1), "speeds_free": _speeds(free_logs), "speeds_held": _speeds(held_logs),
                 "n_free": free_logs.size, "n_held": held_logs.size,
                 "ratio": math.exp(held_logs.mean() - free_logs.mean()), "p": float(test.pvalue)}
            )  # fmt: skip
    names = ["cell", "held", "sd_free", "sd_held", "speeds_free", "speeds_held", "n_free", "n_held", "ratio", "p"]
    table = pd.DataFrame(rows, columns=names)
    known = table["p"].notna()
    if known.any():
        table.loc[known, "p"] = scipy_stats.false_discovery_control(table.loc[known, "p"])
    if pace:
        table.loc[len(table)] = [
            ALL_CELLS, NEIGHBOURS, pace.free, pace.held, None, None, pace.trials, pace.trials, None, pace.chance,
        ]  # fmt: skip
    return table.astype({"speeds_free": "Int64", "speeds_held": "Int64"})


def _speeds(logs: np.typing.NDArray[np.float64]) -> int:
    return 2 if decisions.shape_of(logs).startswith("two speeds") else 1


def hidden(trials: pd.DataFrame) -> pd.DataFrame:
    """The cells of which an average hides something: what it is, with the mean and the trimmed mean, ns.

    Columns: configuration, strategy, case, n, remark, mean_ns, trimmed_ns.
    """
    rows = []
    for key, group in cell_data.with_cost(trials).groupby(list(cell_data.CONFIGURATION), observed=True):
        logs = np.log(group["ns_per_packet"].to_numpy(dtype=np.float64))
        if remark := decisions.shape_of(logs):
            rows.append(
                dict(zip(cell_data.CONFIGURATION, key, strict=True))
                | {"n": logs.size, "remark": remark, "mean_ns": math.exp(logs.mean())}
                | {"trimmed_ns": math.exp(decisions.trimmed_mean(logs))}
            )
    return pd.DataFrame(rows, columns=[*cell_data.CONFIGURATION, "n", "remark", "mean_ns", "trimmed_ns"])


def witnesses(trials: pd.DataFrame) -> pd.DataFrame:
    """What two sides say of the same trial: columns what, one, other, found, n.

    ``trials`` is table ``witnesses`` of the study. Ratios are those of `decisions.compare`; where both sides tell of
    one and the same trial, the median of the trials' ratios with their range.
    """
    done = finished(trials)
    by_side = {side: done[done["side"] == side] for side in SIDES}
    bridge, plain, recorded = (by_side[side] for side in SIDES)
    rows: list[tuple[str, str, str, str, int]] = []
    for label, _ in done.groupby("configuration", observed=True):
        one, other = (side[side["configuration"] == label].set_index("block") for side in (bridge, plain))
        for what, column in (("time per packet", "ns_per_packet"), ("CPU of the measuring thread", "jvm_thread_ms")):
            compared = decisions.compare(one[column].astype(float), other[column].astype(float))
            rows.append((f"{what}, {_named(label)}", "bridge", "plain java", compared.text(), compared.decision.n))
    same = done.groupby(["configuration", "seed"], observed=True)[["counted", "checksum"]].nunique()
    alike = "the same" if len(same) and (same == 1).all().all() else "differ"
    rows.append(("counts and checksum", "bridge", "plain java", alike, len(done)))
    for name, side in (("bridge", bridge), ("plain java", plain)):
        called = int(side["explicit_collections"].fillna(0).sum())
        rows.append(("collections that somebody called for", name, "its log", f"{called}", len(side)))
    equal = int((recorded["log_pauses"] == recorded["recorder_pauses"]).sum())
    rows.append(("number of pauses", "log", "Flight Recorder", f"equal in {equal} trials", len(recorded)))
    for what, one_side, other_side, rows_of, top, bottom in (
        ("total of pauses", "log", "Flight Recorder", recorded, "log_pause_ms", "recorder_pause_ms"),
        (
            "CPU of the measuring thread",
            "the JVM's counters",
            "the kernel's",
            bridge,
            "jvm_thread_ms",
            "kernel_thread_ms",
        ),
        ("CPU of the process", "the JVM's counters", "the kernel's", bridge, "jvm_process_ms", "kernel_process_ms"),
    ):
        both = rows_of[[top, bottom]].dropna().astype(float)
        both = both[both[bottom] > 0]
        rows.append((what, one_side, other_side, _spread(both[top] / both[bottom]), len(both)))
    return pd.DataFrame(rows, columns=["what", "one side", "the other", "found", "n"])


def _named(label: object) -> str:
    """A configuration of mode ``bridge`` without the word that all of them have."""
    return str(label).removesuffix(" / explicit gc")


def _spread(ratios: pd.Series) -> str:
    if ratios.empty:
        return "not measured"
    return f"{ratios.median():.3f} ({ratios.min():.3f} to {ratios.max():.3f})"


def iterations_asked(trials: pd.DataFrame, iterations: pd.DataFrame) -> pd.DataFrame:
    """How many iterations a trial should have: what varies within it against what varies between trials, by what each
    costs.

    Columns: configuration, strategy, case, trials, iterations (a trial has, in the median), within, between (standard
    deviations of the logarithm), optimum (infinite where trials are not shown to differ). Source: Kalibera and Jones,
    "Rigorous benchmarking in reasonable time", ISMM 2013: the root of the ratio of costs times the ratio of variances.
    """
    done = cell_data.with_cost(trials)
    measured = iterations[iterations["phase"] == "measured"]
    # The last one may be cut short.
    measured = measured[measured["iteration"] < measured.groupby("trial_id")["iteration"].transform("max")]
    logs = measured.assign(log=np.log(measured["ns_per_packet"].astype(float)))
    each = logs.groupby("trial_id").agg(
        mean=("log", "mean"), variance=("log", "var"), count=("log", "size"), begin=("start_ns", "min"),
        end=("end_ns", "max"),
    )  # fmt: skip
    joined = done.merge(each[each["count"] > 1], left_on="trial_id", right_index=True)
    rows = []
    for key, group in joined.groupby(list(cell_data.CONFIGURATION), observed=True):
        if len(group) < 2:
            continue
        within, count = float(group["variance"].mean()), float(group["count"].median())
        between = max(0.0, float(group["mean"].var(ddof=1)) - within / count)
        measured_s = float(((group["end"] - group["begin"]) / 1e9).median())
        costs = (float(group["wall_s"].median()) - measured_s) / (measured_s / count)
        optimum = math.ceil(math.sqrt(costs * within / between)) if between > 0 else math.inf
        rows.append(
            dict(zip(cell_data.CONFIGURATION, key, strict=True))
            | {"trials": len(group), "iterations": count, "within": math.sqrt(within)}
            | {"between": math.sqrt(between), "optimum": max(1.0, optimum)}
        )
    names = [*cell_data.CONFIGURATION, "trials", "iterations", "within", "between", "optimum"]
    return pd.DataFrame(rows, columns=names)
