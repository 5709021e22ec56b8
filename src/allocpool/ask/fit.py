"""Make the file of `ask` and its record from the shipped design: ``python -m allocpool.ask.fit``.

The record predicts every workload from models that never saw it: tenths of the workloads are left out in turn, and
everything is fitted anew without them, hyperparameters, residuals and quantiles too.
"""

from __future__ import annotations

import json
import math
import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from allocpool.ask import model as ask
from allocpool.ask.model import FEATURES, OF_CPP, Model, Neighbour, Question
from allocpool.ask.pairs import CONFIGURATIONS, MEASURED, SHIFTED_FROM, configuration_of, pairs, question_of_workload
from allocpool.campaign import hosts, store
from allocpool.decisions import EFFECT
from allocpool.files import write_atomically
from allocpool.studies.your_workload import check, design
from allocpool.studies.your_workload.workload import ALLOC, MIX, POOL, understood

PROFILE, STUDY = "ask", "your_workload"
RECORD = "record.csv"
LEFT_OUT, OTHER_HOST, AT_LENGTH = "left out", "other host", "at length"
"""Kinds of rows of the record: workloads of the design, and what hosts measured that the model never saw."""
COVERED = 0.95
_FOLDS = 10
_FEWEST = 10
"""Workloads that both measured, to compare two hosts or releases."""
_MOST = dict.fromkeys(CONFIGURATIONS, 32.0) | {"direct": 256.0}
"""A ratio counts as this when a process is fitted: one heap that is all but full would bend everything near it. What
direct memory costs to obtain and clear is no such exception: ratios are larger there."""
_RANGES: dict[str, tuple[float, float]] = {
    "bytes": (design.SMALLEST_BYTES, design.LARGEST_BYTES),
    "in_flight": (0, design.MOST_ALIVE),
    "kept_count": (0, design.MOST_ALIVE),
    "kept_share": design.KEPT_SHARES,
    "filled_share": design.TOUCHED_SHARES,
    "read_share": design.TOUCHED_SHARES,
    "temporaries": (0, design.TEMPORARY_BYTES[1] // design.OBJECT_BYTES),
    "live_mb": (0.0, design.LIVE_MB[1]),
    "heap_over_live": design.HEAP_OVER_LIVE,
}


def fit(configuration: str, workloads: list[Neighbour], host_sd: float = 0.0) -> Model:
    """Return the process fitted to these workloads, with its residuals left out one at a time (Rasmussen and Williams
    2006, eq. 5.12)."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

    names, places = _placed(configuration, workloads)
    most = math.log(_MOST[configuration])
    ratios = np.clip(np.log([each.ratio for each in workloads]), -most, most)
    mean, scale = float(ratios.mean()), places.std(axis=0) + 1e-9
    kernel = ConstantKernel(0.2, (1e-3, 1e2)) * Matern(scale * 2, [(s / 5, s * 100) for s in scale], nu=2.5)
    kernel += WhiteKernel(1e-2, (1e-5, 1.0))
    with warnings.catch_warnings():  # a length at its bound: that parameter does not matter
        warnings.simplefilter("ignore", ConvergenceWarning)
        process = GaussianProcessRegressor(kernel, random_state=1).fit(places, ratios - mean)
    found = process.kernel_
    amplitude, lengths = found.k1.k1.constant_value, found.k1.k2.length_scale
    inverse = np.linalg.inv(found(places) + 1e-10 * np.eye(len(places)))
    left_out = inverse @ (ratios - mean) / np.diag(inverse)
    alike = (found.k1(places)) / amplitude
    residuals = np.abs(left_out)
    scores = []
    for i in range(len(workloads)):
        others = np.arange(len(workloads)) != i
        scores.append(residuals[i] / ask.spread(alike[i][others], residuals[others].tolist()))
    quantiles = {}
    for name, holds in ask.GROUPS.items():
        own = [score for score, each in zip(scores, workloads, strict=True) if holds(each.question)] or scores
        at = min(1.0, math.ceil((len(own) + 1) * COVERED) / len(own))
        quantiles[name] = _short(float(np.quantile(own, at, method="higher")))
    return Model(
        label=CONFIGURATIONS[configuration], features=names, lengths=_rounded(lengths), mean=_short(mean),
        weights=_rounded(amplitude * (inverse @ (ratios - mean))), residuals=_rounded(residuals),
        quantiles=quantiles, workloads=tuple(workloads), host_sd=host_sd,
        margin=EFFECT, ranges=_RANGES | {"live_in_mb": (0.0, max(each.question.live_in_mb for each in workloads))},
    )  # fmt: skip


def _placed(configuration: str, workloads: list[Neighbour]) -> tuple[tuple[str, ...], Any]:
    """Return the names of the coordinates, and those of each workload."""
    names = OF_CPP if configuration == "cpp" else tuple(FEATURES)
    return names, np.array([[FEATURES[name](each.question) for name in names] for each in workloads])


def _folds(count: int) -> list[list[int]]:
    """Return which of so many workloads are left out together, ascending."""
    order = np.random.default_rng(1).permutation(count)
    return [sorted(order[fold::_FOLDS].tolist()) for fold in range(_FOLDS)]


def _short(value: float) -> float:
    return float(f"{value:.7g}")


def _rounded(values: Any) -> tuple[float, ...]:
    return tuple(_short(float(value)) for value in np.atleast_1d(values))


def left_out(configuration: str, workloads: list[Neighbour]) -> Iterator[tuple[Neighbour, Model]]:
    """Yield every workload with a model of the other tenths."""
    for held in _folds(len(workloads)):
        model = fit(configuration, [each for i, each in enumerate(workloads) if i not in held])
        yield from ((workloads[i], model) for i in held)


def boosted(configuration: str, workloads: list[Neighbour]) -> float:
    """Return the root mean square error of gradient boosting on the same tenths, to compare the process with."""
    from sklearn.ensemble import GradientBoostingRegressor

    _, places = _placed(configuration, workloads)
    ratios, errors = np.log([each.ratio for each in workloads]), []
    for held in _folds(len(workloads)):
        kept = np.setdiff1d(np.arange(len(workloads)), held)
        trees = GradientBoostingRegressor(n_estimators=300, learning_rate=0.03, max_depth=3, random_state=1)
        errors += (trees.fit(places[kept], ratios[kept]).predict(places[held]) - ratios[held]).tolist()
    return float(np.sqrt(np.mean(np.square(errors))))


def _row(about: dict[str, Any], configuration: str, host: str, found: Neighbour, model: Model) -> dict[str, Any]:
    ratio, low, high = model.predicted(found.question, of_file=about["kind"] == LEFT_OUT)
    outside = "; ".join(model.outside(found.question))
    return {
        **about, "configuration": configuration, "host_id": host, **vars(found.question), "alloc_ns": found.alloc_ns,
        "pool_ns": found.pool_ns, "measured": found.ratio, "expected": ratio, "low": low, "high": high,
        "answer": ask.UNDECIDED if outside else model.side(low, high), "outside": outside,
    }  # fmt: skip


def rows_of(trials: pd.DataFrame) -> list[Any]:
    """Return trials as `pairs` takes them."""
    return trials.astype(object).where(trials.notna(), None).to_dict("records")


def elsewhere(host: str) -> Iterator[tuple[dict[str, Any], str, str, Neighbour]]:
    """Yield what other hosts measured, workloads of profile ``standard`` and of the design, and those of `check` at
    length: the first columns of a row of the record, then configuration, host and workload."""
    for profile in ("standard", PROFILE):
        for configuration, other, pair in pairs(rows_of(hosts.tables_of_hosts(STUDY, profile)["trials"])):
            if other != host:
                yield {"kind": OTHER_HOST}, configuration, other, pair
    for row in check.load().to_dict("records"):
        work = understood(check.WORKLOADS[row["workload"]], anywhere=True)
        name = MEASURED.get((work.layout, work.collector, work.runtime))
        if name and row["host_id"] != host:
            # Of these the ratio alone is stored.
            pair = Neighbour(question_of_workload(work), row["long_ratio"], 1.0, 0.0, 0.0)
            about = {"kind": AT_LENGTH, "workload": row["workload"], "at_length": row["at_length"]}
            yield about, name, row["host_id"], pair


def differing(measured: Iterable[tuple[str, str, Neighbour]], host: str) -> pd.DataFrame:
    """Return by how much the ratio of one workload differs: on other hosts from that of the file, and of a
    configuration from what it is `SHIFTED_FROM`, on one host.
    ``ratio``: of both ratios, the geometric mean over the ``workloads`` that
    both measured, with its 95% interval (Student's t); ``spread``: one workload's standard deviation, as a factor;
    ``contrary``: workloads with sides that contradict, both beyond the equivalence margin."""
    logs: dict[tuple[str, str], dict[Question, float]] = defaultdict(dict)
    for configuration, of, found in measured:
        logs[configuration, of][found.question] = math.log(found.ratio)
    rows = []
    for (configuration, of), own in logs.items():
        over = (SHIFTED_FROM[configuration], of) if configuration in SHIFTED_FROM else (configuration, host)
        both = np.array([(own[each], logs[over][each]) for each in own.keys() & logs.get(over, {}).keys()])
        if over != (configuration, of) and len(both) >= _FEWEST:
            sided = np.sign(both) * (np.abs(both) > math.log(EFFECT))
            rows.append({
                "configuration": configuration, "host_id": of, "over": over[0], "over_host_id": over[1],
                **_mean_of(both[:, 0] - both[:, 1]), "contrary": int((sided[:, 0] * sided[:, 1] < 0).sum()),
            })  # fmt: skip
    return pd.DataFrame(rows)


def _mean_of(logs: Any) -> dict[str, float]:
    """Return the geometric mean of ratios, given as logarithms, one a workload, with its interval and spread."""
    from scipy import stats

    bounds = stats.ttest_1samp(logs, 0.0).confidence_interval(0.95)
    return {
        "workloads": len(logs), "ratio": math.exp(logs.mean()), "low": math.exp(bounds.low),
        "high": math.exp(bounds.high), "spread": math.exp(logs.std(ddof=1)),
    }  # fmt: skip


def small_pool(trials: pd.DataFrame) -> pd.DataFrame:
    """Return CPU a message with a small pool that allocates beyond it (strategy ``mix``), over allocation's and over
    the pool's on the same workloads, by configuration, as in `differing`; where it holds a message at all.
    ``cheaper``: workloads where it is so by more than the equivalence margin; ``cheapest``: cheaper than both."""
    holds = (trials["strategy"] != MIX) | (trials["prepared"] > 0)
    done = trials[(trials["status"] == "ok") & holds]
    named = pd.Series(map(configuration_of, rows_of(done)), done.index)
    done = done.assign(configuration=named, point=done["block"] % design.MOST_POINTS)
    cell = ["configuration", "host_id", "point", "strategy"]
    logs = np.log(done.groupby(cell)["cpu_ns_per_message"].median()).unstack("strategy")
    if not {ALLOC, MIX, POOL} <= set(logs):
        return pd.DataFrame()
    logs, margin, rows = logs.dropna(), math.log(EFFECT), []
    for configuration, own in logs.groupby("configuration"):
        both = {over: own[MIX] - own[over] for over in (ALLOC, POOL)}
        cheapest = int((pd.DataFrame(both).max(axis=1) < -margin).sum())
        rows += [
            {"configuration": configuration, "over": over, **_mean_of(off.to_numpy()),
             "cheaper": int((off < -margin).sum()), "cheapest": cheapest}
            for over, off in both.items()
        ]  # fmt: skip
    return pd.DataFrame(rows)


def of_all_hosts() -> list[tuple[str, str, Neighbour]]:
    """Return the pairs of the design on all hosts."""
    return pairs(rows_of(hosts.tables_of_hosts(STUDY, PROFILE)["trials"]))


def main() -> None:
    tables, about = store.stored(STUDY, PROFILE)
    if about is None:
        raise SystemExit(f"profile {PROFILE} of study {STUDY} has no results")
    rows, models, errors = [], {}, {}
    unseen: dict[tuple[str, Question], Model] = {}
    measured = pairs(rows_of(tables["trials"]))
    host = measured[0][1]
    for configuration in (name for name in CONFIGURATIONS if name not in SHIFTED_FROM):
        workloads = [found for name, _, found in measured if name == configuration]
        for found, model in left_out(configuration, workloads):
            rows.append(_row({"kind": LEFT_OUT}, configuration, host, found, model))
            unseen[configuration, found.question] = model
        models[configuration] = fit(configuration, workloads)
        errors[configuration] = boosted(configuration, workloads)
    differs = differing(of_all_hosts(), host)
    means = np.log(differs["ratio"]).groupby(differs["configuration"]).mean()
    shifts = {name: float(means[name]) for name in SHIFTED_FROM if name in means}
    others = []
    for about_row, name, other, found in elsewhere(host):
        model = unseen.get((SHIFTED_FROM.get(name, name), found.question), models[SHIFTED_FROM.get(name, name)])
        others.append((about_row, name, other, found, _as(name, model, shifts)))
    host_sds = _host_sds(others)
    models |= {name: _as(name, models[of], shifts) for name, of in SHIFTED_FROM.items() if name in shifts}
    models = {name: replace(model, host_sd=host_sds[name]) for name, model in models.items()}
    for about_row, name, other, found, model in others:
        rows.append(_row(about_row, name, other, found, replace(model, host_sd=host_sds[name])))
    folder = ask.path().parent
    folder.mkdir(exist_ok=True)
    pd.DataFrame(rows).to_csv(folder / RECORD, index=False, float_format="%.7g")
    write_atomically(ask.path(), json.dumps(_stored(models, errors, about)) + "\n")


def _as(name: str, model: Model, shifts: Mapping[str, float]) -> Model:
    """Return the model of a configuration, from that which it has it of."""
    if name not in SHIFTED_FROM:
        return model
    label = f"{CONFIGURATIONS[name]}, shifted from {CONFIGURATIONS[SHIFTED_FROM[name]]}"
    return replace(model, label=label, mean=_short(model.mean + shifts[name]))


def _host_sds(others: list[tuple[dict[str, Any], str, str, Neighbour, Model]]) -> dict[str, float]:
    """Return by how much a host is off as a whole, as a logarithm, by configuration: the root mean square over hosts
    and the configurations of its language of the mean error there; 0 without other hosts."""
    errors = pd.DataFrame(
        [(name == "cpp", name, other, math.log(found.ratio) - model.expected(found.question)[0])
         for _, name, other, found, model in others if not any(model.outside(found.question))],
        columns=["in_cpp", "configuration", "host_id", "error"],
    )  # fmt: skip
    means = errors.groupby(["in_cpp", "configuration", "host_id"])["error"].mean()
    sds = (means**2).groupby("in_cpp").mean() ** 0.5
    return {name: _short(float(sds.get(name == "cpp", 0.0))) for name in CONFIGURATIONS}


def _stored(
    models: Mapping[str, Model], boosted_errors: Mapping[str, float], about: Mapping[str, Any]
) -> dict[str, Any]:
    columns = list(Question.__dataclass_fields__)
    plain: dict[str, Any] = {}
    for name, model in models.items():
        if name in SHIFTED_FROM:
            plain[name] = {"as": SHIFTED_FROM[name], "label": model.label, "mean": model.mean}
            continue
        own = {key: getattr(model, key) for key in (
            "label", "features", "lengths", "mean", "weights", "residuals", "quantiles", "host_sd", "ranges",
        )}  # fmt: skip
        own["workloads"] = [
            [*vars(each.question).values(), *(_short(value) for value in (each.alloc_ns, each.pool_ns)),
             each.alloc_gc_share, each.pool_gc_share] for each in model.workloads
        ]  # fmt: skip
        plain[name] = own
    return {
        "host": {key: about["host"][key] for key in ("cpu_model", "logical_cores")},
        "measured_utc": about["last_trial_utc"], "margin": EFFECT, "columns": columns,
        "boosted_rms_error": {name: _short(value) for name, value in boosted_errors.items()}, "configurations": plain,
    }  # fmt: skip


def alternatives(rows: pd.DataFrame, trials: pd.DataFrame) -> pd.DataFrame:
    """Return the root mean square error of the logarithm of the ratio, of workloads left out, by configuration: the
    process's, gradient boosting's, that of the mean, and what repetition of the same trials leaves."""
    boosted_errors = json.loads(ask.path().read_text(encoding="utf-8"))["boosted_rms_error"]
    held, noise = rows[rows["kind"] == LEFT_OUT], of_measuring(trials)
    found = []
    for name, boosted_error in boosted_errors.items():
        own = held[held["configuration"] == name]
        logs, off = np.log(own["measured"]), np.log(own["measured"] / own["expected"])
        rms = {"gaussian process": float(np.sqrt((off**2).mean())), "gradient boosting": boosted_error}
        about = {"the mean alone": float(logs.std()), "measuring alone": noise.get(name, math.nan)}
        found.append({"configuration": CONFIGURATIONS[name], **rms, **about})
    return pd.DataFrame(found)


def of_measuring(trials: pd.DataFrame) -> pd.Series[float]:
    """Return the standard error of the logarithm of a workload's ratio, the mean of its repetitions, by configuration;
    empty where nothing was repeated."""
    done = trials[trials["status"] == "ok"]
    named = [configuration_of(row) or "" for row in rows_of(done)]
    done = done.assign(name=named, point=done["block"] % design.MOST_POINTS)
    costs = done.pivot_table("cpu_ns_per_message", ["name", "point", "block"], "strategy", observed=True)
    each = (costs["alloc"] / costs["pool"]).map(math.log, na_action="ignore").groupby(["name", "point"])
    squares = (each.var() / each.count()).groupby("name").mean()
    return squares.dropna() ** 0.5


if __name__ == "__main__":
    main()
