"""What the article's claims on pauses and live objects (``claims.yaml``) are put to, and the two that speak of fits."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from allocpool import stats
from allocpool.decisions import FEWEST, effect_that_matters
from allocpool.evidence import claims, declared, reference
from allocpool.evidence.ablation import Ablation, Asked, Changed, Sides, ablations, failed
from allocpool.evidence.claims import AS_PUBLISHED, OTHER_WAY, Evidence, Missing, Verdict, no_figures, shown_by
from allocpool.evidence.declared import CellOrdering, Cells, claims_of
from allocpool.evidence.trials import NOT_PART, records
from allocpool.packets.cells import CONFIGURATION, CONTROLS
from allocpool.packets.comparisons import (
    POOLING_STRATEGIES,
    SET_UPS,
    Cell,
    Change,
    facts_of,
    on_both,
    set_up_of,
    with_families,
)
from allocpool.packets.specs import PUBLISHED_CASES
from allocpool.runtimes.collectors import collector_named, collectors_that
from allocpool.studies.pauses import scaling
from allocpool.studies.pauses.story import per_trial

STOP_THE_WORLD = collectors_that(lambda row: row.stop_the_world)
ABOUT_NS = 100.0
A_MULTIPLE = 2.0
"""From so many times on a cost is much worse."""
ABOUT_FACTOR = 2.0
"""How far a figure may lie off and still be "about" as published."""
TEN_MILLION = 1e7
ARTICLES_BUFFERS, ARTICLES_POOL = 1e6, 3e6
"""Buffers of the article's pool, and objects alive with it on the heap."""
_NEARLY = 0.9
"""The live set that stands for ten million has at least this share of them."""
METRICS = {
    "gc_per_second": "collections per second", "mean_pause_ms": "mean pause", "max_pause_ms": "longest pause",
    "gc_fraction_percent": "share of time in pauses, %",
}  # fmt: skip
"""Measures of `story.per_trial`."""
_LEFT = "left_mb"
_LEAST = {_LEFT: 0.01, "gc_fraction_percent": 0.01}
"""A smaller figure, or none, counts as this one: its logarithm is taken."""
_NO_COLLECTION = "no collection in the measured window: longer trials are needed"
_FEW_YOUNG = "fewer than two young collections in the measured window: longer trials are needed"
YOUNG = "only young collections count"
"""Full ones, and the pauses of a concurrent marking, are of another length; so a mean hangs on how many there were."""
_OF_YOUNG = ("mean_pause_ms", "max_pause_ms")
EXPLANATIONS: Mapping[str, tuple[Change, ...]] = {
    "pool-rare-long": (
        on_both("as few packets are alive as in case A", case="A"),
        on_both("the collector is Parallel", collector="parallel"),
    ),
    "pool-a-worst-pauses": (
        on_both("the collector is Serial", collector="serial"),
        on_both("the pool is small", strategy="mix"),
    ),
    "alloc-overload": (
        on_both("as few packets are alive as in case B", case="B"),
        on_both("the buffers are off the heap", layout="native"),
    ),
}
"""By claim: what is changed about its comparisons that are the other way round."""
_NONE = pd.Series(dtype=float)


class Pauses(NamedTuple):
    """What a claim is put to, of one set-up: its finished trials by configuration and measure; its forced full
    collections, one a row, and the fits through them, of collectors that stop the world; these collectors; and forced
    full collections of theirs with buffers off the heap."""

    cells: Cells
    points: pd.DataFrame
    fits: pd.DataFrame
    stopping: list[str]
    off_heap: pd.DataFrame


def of_set_up(
    trials: pd.DataFrame, collections: pd.DataFrame, points: pd.DataFrame, fits: pd.DataFrame, set_up: str
) -> Pauses:
    """Return what belongs to a set-up, of tables of the study and what `scaling` made of them."""
    of_points, of_fits = (
        with_families(table[(table["measure"] == scaling.FORCED) & table["collector"].isin(STOP_THE_WORLD)],
                      set_up, trials)
        for table in (points, fits)
    )  # fmt: skip
    stopping = [name for name in SET_UPS[set_up].families if name in STOP_THE_WORLD]
    off_heap = scaling.off_heap(trials, collections)
    belongs = (off_heap["runtime"] == set_up_of(set_up, trials).runtime) & off_heap["collector"].isin(stopping)
    cells = cells_of(per_trial(collected(trials, set_up), collections))
    return Pauses(cells, of_points, of_fits, stopping, off_heap[belongs])


def collected(trials: pd.DataFrame, set_up: str) -> pd.DataFrame:
    """Return the trials of a set-up with their published collector in ``family``, without those that never collect."""
    return with_families(trials[~trials["collector"].isin(CONTROLS)], set_up)


def cells_of(measured: pd.DataFrame) -> Cells:
    """Return rows of `per_trial` by configuration and measure: those of `METRICS`, and what each young collection
    leaves more on the heap, MB at scale 1; all positive.

    Collections per second are those of half a collection more, so that a trial without any counts (Haldane, "The
    estimation and significance of the logarithm of a ratio of frequencies", Annals of Human Genetics 20, 1956); a trial
    without a pause has no length of one. Two cells that do not always collect compare nothing.
    """
    figures = measured.assign(
        gc_per_second=(measured["collections"] + 0.5) / measured["window_s"],
        left_mb=measured[_LEFT].astype(float) / measured["scale"].astype(float),
    ).set_index("block")
    values: dict[Any, pd.Series] = {}
    weak: dict[Any, str] = {}
    for key, rows in figures.groupby(list(CONFIGURATION), observed=True):
        weak[key] = "" if (rows["collections"] > 0).all() else _NO_COLLECTION
        for metric in (*METRICS, _LEFT):
            known = rows[metric].dropna().astype(float).clip(lower=_LEAST.get(metric))
            values[key, metric] = known[known > 0]
    facts = measured.drop_duplicates("configuration").set_index("configuration")
    cells = []
    for key, metric in product(_with_counterparts(list(weak)), (*METRICS, _LEFT)):
        cell, first = Cell(*key), facts.loc[key[0]]
        gap = NOT_PART.word if key not in weak else _FEW_YOUNG if metric == _LEFT else _NO_COLLECTION
        cells.append(
            declared.Cell(
                {"layout": first["layout"], "family": first.get("family"), **cell._asdict(), "metric": metric},
                f"{cell}, {METRICS.get(metric, 'MB')}", values.get((key, metric), pd.Series(dtype=float)), gap,
                weak.get(key, _NO_COLLECTION),
            )
        )  # fmt: skip
    return Cells(cells, (*CONFIGURATION, "metric"))


def _with_counterparts(keys: list[Any]) -> list[Any]:
    """The configurations that there are, and those that one is compared with."""
    others = {
        (configuration, *pair)
        for configuration, strategy, case in keys
        for pair in (*product(("alloc", "pool"), (case,)), *product((strategy,), PUBLISHED_CASES))
        if strategy in POOLING_STRATEGIES and case in PUBLISHED_CASES
    }
    return [*keys, *sorted(others - set(keys))]


@cache
def published_cells() -> Cells:
    """Return the article's table of collections, as one block."""
    return Cells(
        [
            declared.Cell(
                {"layout": "heap", "family": row["collector"], "configuration": row["collector"], "metric": metric,
                 "strategy": row["strategy"], "case": row["case"]},
                f"{row['collector']} {row['strategy']} {row['case']}, {words}", pd.Series([float(row[metric])]),
            )
            for row in reference.load("allocate_or_pool_gc").to_dict("records")
            for metric, words in METRICS.items()
        ],
        (*CONFIGURATION, "metric"),
    )  # fmt: skip


def _evidence(rows: list[tuple[Any, ...]], missing: list[Missing]) -> Evidence:
    """Rows of larger, smaller, ratio, low, high, trials, p, p_against."""
    table = pd.DataFrame(
        rows, columns=["larger", "smaller", "ratio", "low", "high", "trials", "p", "p_against"]
    ).astype({"p": float, "p_against": float})
    table = table.assign(p_against=table["p_against"].clip(upper=1.0))
    return Evidence(table.assign(shown=shown_by(list(table["p"]), list(table["p_against"]))), tuple(missing))


def _about_100_ns(data: Pauses) -> Evidence:
    """Each fitted cost of a forced full collection: shown to lie within the margin, to lie outside, or neither."""
    least, most = ABOUT_NS / ABOUT_FACTOR, ABOUT_NS * ABOUT_FACTOR
    rows, missing = [], []
    for row in records(data.fits):
        name, slope = f"{row.configuration} {row.strategy}", row.fit.ns_per_object if row.n >= FEWEST else None
        if slope is None:
            missing.append(Missing(name, f"only {row.n} live sets"))
            continue
        ratios = (one / ABOUT_NS for one in (slope.value, *slope.interval))
        p = max(slope.p_above(least), slope.p_below(most))
        p_against = 2 * min(slope.p_above(most), slope.p_below(least))
        rows.append((f"{name}, ns per object", f"the published {ABOUT_NS:g}", *ratios, slope.trials, p, p_against))
    lacking = [collector_named(name).label for name in data.stopping if name not in set(data.fits["collector"])]
    return _evidence(rows, [*missing, *(Missing(label, NOT_PART.word) for label in lacking)])


def _published_ns_per_object() -> Evidence:
    rows = reference.load("allocate_or_pool_gc")[["collector", "strategy", "case", "gc_ns_per_object"]]
    inside = rows["gc_ns_per_object"].astype(float).between(ABOUT_NS / ABOUT_FACTOR, ABOUT_NS * ABOUT_FACTOR)
    return Evidence(rows.assign(shown=np.where(inside, AS_PUBLISHED, OTHER_WAY)))


def _worse_with_ten_million(data: Pauses) -> Evidence:
    """The fitted stop of ten million objects over that of the article's pool, of three million; both lie within the
    live sets that were measured. Off the heap that of ten million buffers over that of one million.

    Ten million buffers are thirty million objects: what is much worse with ten is so with thirty, too, but what is not
    need not be.
    """
    rows, missing = [], []
    for key, group in data.points.groupby(["configuration", "strategy"], observed=True):
        name, fit = " ".join(map(str, key)), scaling.fit_live_set(group["live_objects"], group["cost_ns"])
        most = group["live_objects"].max()
        reached = most >= _NEARLY * TEN_MILLION and group["live_objects"].min() <= ARTICLES_POOL
        if fit is not None and reached and fit.trials >= FEWEST:
            growth = fit.growth(TEN_MILLION, ARTICLES_POOL)
            p = growth.p_above(math.log(A_MULTIPLE)), growth.p_below(-math.log(effect_that_matters()))
            ratios = map(math.exp, (growth.value, *growth.interval))
            rows.append((f"{name}, ten million objects", "three million", *ratios, growth.trials, *p))
        else:
            few, far = f"fewer than {FEWEST} trials", f"not at ten million and below; most: {_millions(most)}"
            missing.append(Missing(name, few if reached else far))
    most = data.points["live_objects"].max()
    if not most >= _NEARLY * TEN_MILLION:
        why = f"not kept alive in this campaign; most under a full collection: {_millions(most)}"
        missing.append(Missing("ten million live objects", why))
    # Off the heap the same is said not to be so, by buffers: the fewest that a trial has are the article's million.
    for label, group in data.off_heap.groupby("configuration", observed=True):
        name, fit = f"{label}, ten million buffers", scaling.fit_live_set(group["pool_size"], group["cost_ns"])
        least, most = fit.objects if fit else (0.0, 0.0)
        if fit is None or fit.trials < FEWEST or least > ARTICLES_BUFFERS or most < _NEARLY * TEN_MILLION:
            missing.append(Missing(name, f"fewer than {FEWEST} trials of one to ten million"))
            continue
        growth = fit.growth(TEN_MILLION, ARTICLES_BUFFERS)
        p = growth.p_below(math.log(A_MULTIPLE)), growth.p_above(math.log(A_MULTIPLE))
        ratios = map(math.exp, (growth.value, *growth.interval))
        rows.append((name, "a million", *ratios, growth.trials, *p))
    if data.off_heap.empty:
        missing.append(
            Missing("as much off the heap, which is said to cure it", "no live set off the heap is measured")
        )
    return _evidence(rows, missing)


def _millions(objects: float) -> str:
    return "none" if math.isnan(objects) else f"{stats.significant(objects / 1e6, 2)} million"


PAUSES_CLAIMS = claims_of(
    "pauses",
    lambda data: data.cells,
    published_cells,
    {"about_100_ns": (_about_100_ns, _published_ns_per_object), "ten_million": (_worse_with_ten_million, no_figures)},
)


def of_campaign(tables: Mapping[str, pd.DataFrame], _settings: Mapping[str, Any] | None = None) -> list[Verdict]:
    """Return the verdicts of a campaign, set-up by set-up, as its page and the first page show them."""
    trials, collections = tables["trials"], tables["collections"]
    points = scaling.points(trials, collections, tables["cpu"])
    fits = scaling.fits(points)
    return claims.evaluate_apart(PAUSES_CLAIMS, lambda set_up: of_set_up(trials, collections, points, fits, set_up))


def explained(
    trials: pd.DataFrame, collections: pd.DataFrame, pauses: pd.DataFrame, verdicts: Sequence[Verdict]
) -> list[Ablation]:
    """Judge one change at a time of every comparison that is the other way round, of the claims that these verdicts
    refute."""
    facts, every = facts_of(trials), cells_of(per_trial(trials, collections))
    young = cells_of(per_trial(trials, only_young(collections, pauses)))
    asked: list[Asked] = []
    for verdict in failed(verdicts):
        if verdict.claim.id not in EXPLANATIONS:
            continue
        cells = cells_of(per_trial(collected(trials, verdict.set_up), collections))
        expected = PAUSES_CLAIMS.orderings(verdict.claim.id, cells)
        for item, shown in zip(expected, verdict.evidence["shown"], strict=True):
            if shown == OTHER_WAY:
                asked += _of_ordering(verdict, item, facts, every, young)
    return ablations(asked)


def _of_ordering(
    verdict: Verdict, item: CellOrdering, facts: Mapping[str, Any], every: Cells, young: Cells
) -> Iterator[Asked]:
    words = (verdict.claim.text, verdict.set_up, f"{item.larger} over {item.smaller}")
    cells = [Cell(*cell.at(CONFIGURATION)) for side in item.cells for cell in side]
    pair, metric = (cells[0], cells[-1]), str(item.cells[0][0].facts["metric"])
    published = None if item.cells[1] else float(item.smaller.rpartition(" ")[2])
    larger, smaller = _sides(metric, pair, every)
    before, within = Sides(larger, published or smaller), item.factor if published else None
    if published or metric in _OF_YOUNG:
        larger, smaller = _sides(metric, pair, young)
        yield Asked(*words, YOUNG, before, Changed(larger, None if published else smaller), within=within)
    for change in EXPLANATIONS[verdict.claim.id]:
        if (to := change.cells(pair, facts)) is not None:
            larger, smaller = _sides(metric, to, every)
            same = None if published or to[1] == pair[1] else smaller
            after = Changed(None if to[0] == pair[0] else larger, same)
            yield Asked(*words, change.words, before, after, within=within)


def _sides(metric: str, pair: tuple[Cell, Cell], cells: Cells) -> tuple[pd.Series, pd.Series]:
    """A measure of two cells by block; nothing of the first where neither always collects: that compares nothing."""
    top, bottom = (cells.by_key.get((*cell, metric)) for cell in pair)
    if top is None or bottom is None:
        return _NONE, _NONE
    return _NONE if top is not bottom and top.weak and bottom.weak else top.values, bottom.values


def only_young(collections: pd.DataFrame, pauses: pd.DataFrame) -> pd.DataFrame:
    """Return both tables of the study as ``collections`` would be, had only its young collections paused."""
    young = pauses[pauses["kind"].str.startswith("Young")].groupby("trial_id", observed=True)["duration_ms"]
    found = collections["trial_id"].to_frame().join(young.agg(["size", "sum", "mean", "max"]), on="trial_id")
    counts = found["size"].fillna(0.0).astype("int64")
    return collections.assign(
        collections=counts, pauses=counts, pause_total_ms=found["sum"].fillna(0.0), pause_mean_ms=found["mean"],
        pause_max_ms=found["max"].fillna(0.0),
    )  # fmt: skip
