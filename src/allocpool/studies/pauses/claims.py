"""What the article's claims on pauses and live objects (``claims.yaml``) are put to, and the two that speak of fits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from allocpool import stats
from allocpool.decisions import FEWEST, effect_that_matters
from allocpool.evidence import claims, declared, reference
from allocpool.evidence.claims import AS_PUBLISHED, OTHER_WAY, Evidence, Missing, Verdict, shown_by
from allocpool.evidence.declared import Cells, claims_of
from allocpool.evidence.figures import no_figures
from allocpool.evidence.trials import NOT_PART, records
from allocpool.packets.cells import CONFIGURATION, CONTROLS
from allocpool.packets.comparisons import POOLING_STRATEGIES, SET_UPS, Cell, with_families
from allocpool.packets.specs import PUBLISHED_CASES
from allocpool.runtimes.collectors import collector_named, collectors_that
from allocpool.studies.pauses import scaling
from allocpool.studies.pauses.gc_table import per_trial
from allocpool.studies.pauses.live_set import fit_live_set

STOP_THE_WORLD = collectors_that(lambda row: row.stop_the_world)
ABOUT_NS = 100.0
A_MULTIPLE = 2.0
"""From so many times on a cost is much worse."""
ABOUT_FACTOR = 2.0
"""How far a figure may lie off and still be "about" as published."""
TEN_MILLION = 1e7
ARTICLES_POOL = 3e6
"""Objects alive with the article's pool of a million buffers."""
_NEARLY = 0.9
"""The live set that stands for ten million has at least this share of them."""
_TEN_MILLION_OBJECTS = "ten million live objects"
METRICS = {
    "gc_per_second": "collections per second", "mean_pause_ms": "mean pause", "max_pause_ms": "longest pause",
    "gc_fraction_percent": "share of time in pauses, %",
}  # fmt: skip
"""Measures of `gc_table`."""
_LEAST_LEFT_MB = 0.01
_LEAST_PERCENT = 0.01
"""A smaller share of time, or none, counts as this one: its logarithm is taken."""
_NO_COLLECTION = "no collection in the measured window: longer trials are needed"
_FEW_YOUNG = "fewer than two young collections in the measured window: longer trials are needed"


@dataclass(frozen=True)
class Pauses:
    """What a claim is put to, of one set-up: tables of the study on pauses, and what `scaling` made of them."""

    trials: pd.DataFrame
    collections: pd.DataFrame
    points: pd.DataFrame
    fits: pd.DataFrame
    set_up: str

    @classmethod
    def of(
        cls, trials: pd.DataFrame, collections: pd.DataFrame, points: pd.DataFrame, fits: pd.DataFrame, set_up: str
    ) -> Pauses:
        """The rows that belong to a set-up, with their published collector."""
        of_points, of_fits = (with_families(table, set_up, trials) for table in (points, fits))
        return cls(collected(trials, set_up), collections, of_points, of_fits, set_up)

    @property
    def stopping(self) -> tuple[str, ...]:
        """The collectors of the set-up that stop the world."""
        return tuple(name for name in SET_UPS[self.set_up].families if name in STOP_THE_WORLD)

    @cached_property
    def cells(self) -> Cells:
        """Its finished trials by configuration and measure."""
        return cells_of(per_trial(self.trials, self.collections))


def collected(trials: pd.DataFrame, set_up: str) -> pd.DataFrame:
    """The trials of a set-up with their published collector in ``family``, without those that never collect."""
    return with_families(trials[~trials["collector"].isin(CONTROLS)], set_up)


def cells_of(measured: pd.DataFrame) -> Cells:
    """Return rows of `per_trial` by configuration and measure: those of `METRICS`, and ``left_mb``, what each young
    collection leaves more on the heap, at scale 1."""
    groups: dict[Any, pd.DataFrame] = dict(iter(measured.groupby(list(CONFIGURATION), observed=True)))
    configurations = measured.drop_duplicates("configuration").set_index("configuration")
    cells = []
    for configuration, strategy, case in _every(groups):
        first = configurations.loc[configuration]
        rows = groups.get((configuration, strategy, case), measured.iloc[:0])
        facts = {"layout": first["layout"], "family": first.get("family")}
        facts |= Cell(configuration, strategy, case)._asdict()
        cells += [_cell(facts, metric, rows) for metric in (*METRICS, "left_mb")]
    return Cells(cells, (*CONFIGURATION, "metric"))


def _every(groups: Mapping[Any, pd.DataFrame]) -> list[Any]:
    """The configurations that there are, and those that one is compared with."""
    beside = {
        (configuration, *pair)
        for configuration, strategy, case in groups
        for pair in (*product(("alloc", "pool"), (case,)), *product((strategy,), PUBLISHED_CASES))
        if strategy in POOLING_STRATEGIES and case in PUBLISHED_CASES
    }
    return [*groups, *sorted(beside - set(groups))]


def _cell(facts: Mapping[str, Any], metric: str, rows: pd.DataFrame) -> declared.Cell:
    """A measure by block, positive. Collections per second are those of half a collection more, so that a trial without
    any counts (Haldane, "The estimation and significance of the logarithm of a ratio of frequencies", Annals of Human
    Genetics 20, 1956); a trial without a pause has no length of one. Two cells that do not always collect compare
    nothing."""
    by_block = rows.set_index("block")
    gap, weak = NOT_PART.word, "" if len(rows) and (rows["collections"] > 0).all() else _NO_COLLECTION
    if len(rows):
        gap = _FEW_YOUNG if metric == "left_mb" else _NO_COLLECTION
    if metric == "gc_per_second":
        values = (by_block["collections"] + 0.5) / by_block["window_s"]
    elif metric == "left_mb":
        left = by_block["left_mb"].astype(float) / by_block["scale"].astype(float)
        values = left.dropna().clip(lower=_LEAST_LEFT_MB)
    else:
        values = by_block[metric].astype(float)
        values = values.clip(lower=_LEAST_PERCENT) if metric == "gc_fraction_percent" else values[values > 0]
    label = f"{Cell(*(facts[name] for name in CONFIGURATION))}, {METRICS.get(metric, 'MB')}"
    return declared.Cell({**facts, "metric": metric}, label, values, gap, weak)


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


def _about_100_ns(data: Pauses) -> Evidence:
    """Each fitted cost of a forced full collection: shown to lie within the margin, to lie outside, or neither."""
    fits = data.fits[(data.fits["measure"] == "forced full pause") & data.fits["collector"].isin(data.stopping)]
    few = fits["n"] < FEWEST
    least, most = ABOUT_NS / ABOUT_FACTOR, ABOUT_NS * ABOUT_FACTOR
    rows, judged = [], []
    for row in records(fits[~few]):
        fit = row.fit
        judged.append((max(fit.p_above(least), fit.p_below(most)), 2 * min(fit.p_above(most), fit.p_below(least))))
        ends = [one / ABOUT_NS for one in (fit.ns_per_object, fit.low, fit.high)]
        rows.append(
            [f"{row.configuration} {row.strategy}, ns per object", f"the published {ABOUT_NS:g}", *ends, fit.trials]
        )
    missing = [Missing(f"{row.configuration} {row.strategy}", f"only {row.n} live sets") for row in records(fits[few])]
    lacking = [collector_named(name).label for name in data.stopping if name not in set(fits["collector"])]
    missing += [Missing(label, NOT_PART.word) for label in lacking]
    return Evidence(_with_chances(rows, judged), tuple(missing))


def _with_chances(rows: list[list[object]], judged: list[tuple[float, float]]) -> pd.DataFrame:
    """Rows of two names, a ratio with its interval and its trials, with ``p``, ``p_against`` and what they show."""
    chances = np.clip(np.array(judged, dtype=np.float64).reshape(-1, 2), 0.0, 1.0)
    table = pd.DataFrame(rows, columns=["larger", "smaller", "ratio", "low", "high", "trials"])
    p, p_against = chances.T
    return table.assign(p=p, p_against=p_against, shown=shown_by(p.tolist(), p_against.tolist()))


def _about(figures: pd.Series, published: float) -> list[str]:
    """Whether single figures lie within the margin of a published one."""
    inside = (figures >= published / ABOUT_FACTOR) & (figures <= published * ABOUT_FACTOR)
    return list(np.where(inside, AS_PUBLISHED, OTHER_WAY))


def _published_ns_per_object() -> Evidence:
    rows = reference.load("allocate_or_pool_gc")[["collector", "strategy", "case", "gc_ns_per_object"]]
    return Evidence(rows.assign(shown=_about(rows["gc_ns_per_object"].astype(float), ABOUT_NS)))


def _worse_with_ten_million(data: Pauses) -> Evidence:
    """The fitted stop of ten million objects over that of the article's pool, of three million; both lie within the
    live sets that were measured.

    Ten million buffers are thirty million objects: what is much worse with ten is so with thirty, too, but what is not
    need not be.
    """
    points = data.points
    full = points[points["collector"].isin(data.stopping) & (points["measure"] == "forced full pause")]
    rows, judged, missing = [], [], []
    for (configuration, strategy), group in full.groupby(["configuration", "strategy"], observed=True):
        fit = fit_live_set(group["live_objects"], group["cost_ns"])
        reached = group["live_objects"].max() >= _NEARLY * TEN_MILLION and group["live_objects"].min() <= ARTICLES_POOL
        if fit is not None and reached and fit.trials >= FEWEST:
            growth = fit.growth(TEN_MILLION, ARTICLES_POOL)
            ratio = growth.ratio
            names = [f"{configuration} {strategy}, ten million objects", "three million"]
            rows.append([*names, ratio.estimate, ratio.low, ratio.high, ratio.trials])
            judged.append((growth.p_above(A_MULTIPLE), growth.p_below(1 / effect_that_matters())))
        else:
            most = stats.significant(group["live_objects"].max() / 1e6, 2)
            why = f"fewer than {FEWEST} trials" if reached else f"not at ten million and below; most: {most} million"
            missing.append(Missing(f"{configuration} {strategy}", why))
    if full.empty or full["live_objects"].max() < _NEARLY * TEN_MILLION:
        most = "none" if full.empty else f"{stats.significant(full['live_objects'].max() / 1e6, 2)} million"
        why = f"not kept alive in this campaign; most under a full collection: {most}"
        missing.append(Missing(_TEN_MILLION_OBJECTS, why))
    missing.append(Missing("as much off the heap, which is said to cure it", "no live set off the heap is measured"))
    return Evidence(_with_chances(rows, judged), tuple(missing))


PAUSES_CLAIMS = claims_of(
    "pauses",
    lambda data: data.cells,
    published_cells,
    {"about_100_ns": (_about_100_ns, _published_ns_per_object), "ten_million": (_worse_with_ten_million, no_figures)},
)


def evaluate(
    trials: pd.DataFrame, collections: pd.DataFrame, points: pd.DataFrame, fits: pd.DataFrame
) -> list[Verdict]:
    """Put these claims to a campaign, each set-up apart."""
    return claims.evaluate_apart(PAUSES_CLAIMS, lambda set_up: Pauses.of(trials, collections, points, fits, set_up))


def of_campaign(tables: Mapping[str, pd.DataFrame], _settings: Mapping[str, Any]) -> list[Verdict]:
    """The verdicts of a campaign, on what it left, as its page and the first page show them."""
    points = scaling.points(tables["trials"], tables["collections"], tables["cpu"])
    return evaluate(tables["trials"], tables["collections"], points, scaling.fits(points))
