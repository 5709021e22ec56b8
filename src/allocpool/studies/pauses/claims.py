"""What the article says of pauses and live objects, each as a test that fresh data can fail; judged on the collectors
that it ran and, apart from them, on today's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from allocpool import stats
from allocpool.evidence import claims, reference
from allocpool.evidence.claims import (
    AS_PUBLISHED,
    NO_DIFFERENCE,
    NOT_MEASURED,
    OTHER_WAY,
    SHOWN,
    Claim,
    Evidence,
    Missing,
    Verdict,
)
from allocpool.evidence.trials import NOT_PART, records
from allocpool.packets.cells import CONFIGURATION, CONTROLS
from allocpool.packets.comparisons import ON_CMS, SET_UPS, THEN_AND_NOW, Batch, with_families
from allocpool.packets.published import ARTICLE
from allocpool.packets.specs import PUBLISHED_CASES
from allocpool.runtimes.collectors import collectors_that
from allocpool.studies.batch.claims import A_MULTIPLE, WHICH_CMS
from allocpool.studies.pauses.gc_table import per_trial

STOP_THE_WORLD = collectors_that(lambda row: row.stop_the_world)
ABOUT_NS = 100.0
ABOUT_FACTOR = 2.0
"""How far a figure may lie off and still be "about" as published."""
TEN_MILLION = 9e6
ARTICLES_POOL = 3.5e6
"""Objects alive with the article's pool of a million buffers, at most."""
_TEN_MILLION_OBJECTS = "ten million live objects"
OVERLOAD_PERCENT = {"CMS": 89.0, "G1": 28.0}
RARE_AND_LONG = {
    "gc_per_second": ("collections per second, alloc over pool", "alloc", "pool"),
    "mean_pause_ms": ("mean pause, pool over alloc", "pool", "alloc"),
    "max_pause_ms": ("longest pause, pool over alloc", "pool", "alloc"),
}
"""By measure of `gc_table`: what it is called, and the strategies of which the first is to have more."""
WORST_IN_A = {
    "mean_pause_ms": "mean pause", "max_pause_ms": "longest pause", "gc_fraction_percent": "share of time in pauses",
}  # fmt: skip
_COMPARED = ["configuration", "comparison", "ratio", "shown"]


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
        collected = trials[~trials["collector"].isin(CONTROLS)]
        of_trials, of_points, of_fits = (with_families(table, set_up) for table in (collected, points, fits))
        return cls(of_trials, collections, of_points, of_fits, set_up)

    @property
    def stopping(self) -> tuple[str, ...]:
        """The collectors of the set-up that stop the world."""
        return tuple(name for name in SET_UPS[self.set_up].families if name in STOP_THE_WORLD)

    def heap(self, *strategies: str) -> pd.DataFrame:
        """The published measures of its finished trials with heap buffers in the published cases."""
        measured = per_trial(self.trials, self.collections)
        measured = measured[(measured["layout"] == "heap") & measured["case"].isin(PUBLISHED_CASES)]
        return measured[measured["strategy"].isin(strategies)]


def _about_100_ns(data: Pauses) -> Evidence:
    """Each fitted cost of a forced full collection: its interval within the margin, wholly outside, or neither."""
    fits = data.fits[(data.fits["measure"] == "forced full pause") & data.fits["collector"].isin(data.stopping)]
    few = fits["n"] < stats.BOOTSTRAP_MIN_TRIALS  # below, there is no confidence interval
    rows = fits.loc[~few, ["solution", "strategy", "low", "high", "ns_per_object"]].reset_index(drop=True)
    missing = [
        Missing(f"{row['solution']} {row['strategy']}", f"only {row['n']} live sets") for _, row in fits[few].iterrows()
    ]
    missing += [Missing(name, NOT_PART.word) for name in data.stopping if name not in set(fits["collector"])]
    return Evidence(rows.assign(shown=_about(rows["low"], rows["high"], ABOUT_NS)), tuple(missing))


def _about(low: pd.Series, high: pd.Series, published: float) -> list[str]:
    """Whether intervals lie within the margin of a published figure, wholly outside, or neither."""
    least, most = published / ABOUT_FACTOR, published * ABOUT_FACTOR
    inside, outside = (low >= least) & (high <= most), (high < least) | (low > most)
    return list(np.where(inside, AS_PUBLISHED, np.where(outside, OTHER_WAY, NO_DIFFERENCE)))


def _published_ns_per_object() -> Evidence:
    rows = reference.load("allocate_or_pool_gc")[["collector", "strategy", "case", "gc_ns_per_object"]]
    ns = rows["gc_ns_per_object"].astype(float)
    return Evidence(rows.assign(shown=_about(ns, ns, ABOUT_NS)))


def _about_sentence(evidence: Evidence) -> str:
    total = len(evidence.rows)
    if not total:
        return f"No collector that stops the world was measured at {stats.BOOTSTRAP_MIN_TRIALS} live sets or more."
    return (
        f"A forced full collection costs {stats.span(evidence.rows['ns_per_object'])} ns per live object by fit; "
        f"{evidence.count(AS_PUBLISHED)} of {total} intervals lie within a factor of {ABOUT_FACTOR:g} of "
        f"{ABOUT_NS:g} ns, {evidence.count(OTHER_WAY)} wholly outside."
    )


def _worse_with_ten_million(data: Pauses) -> Evidence:
    """The shortest stop of ten million objects over the longest of the article's pool, of three million.

    Ten million buffers are thirty million objects: what is much worse with ten is so with thirty, too, but what is not
    need not be.
    """
    points = data.points
    full = points[points["collector"].isin(data.stopping) & (points["measure"] == "forced full pause")]
    rows, missing = [], []
    for (solution, strategy), group in full.groupby(["solution", "strategy"], observed=True):
        ten = group[group["live_objects"] >= TEN_MILLION]["cost_ns"]
        less = group[group["live_objects"] <= ARTICLES_POOL]
        if len(ten) and len(less):
            compared = less[less["live_objects"] >= 0.9 * less["live_objects"].max()]["cost_ns"]
            rows.append([solution, strategy, float(ten.min() / compared.max())])
        else:
            most = stats.significant(group["live_objects"].max() / 1e6, 2)
            missing.append(Missing(f"{solution} {strategy}", f"not at ten million and below; most: {most} million"))
    evidence = pd.DataFrame(rows, columns=["solution", "strategy", "ratio"])
    if full.empty or full["live_objects"].max() < TEN_MILLION:
        most = "none" if full.empty else f"{stats.significant(full['live_objects'].max() / 1e6, 2)} million"
        why = f"not kept alive in this campaign; most under a full collection: {most}"
        missing.append(Missing(_TEN_MILLION_OBJECTS, why))
    missing.append(Missing("as much off the heap, which is said to cure it", "no live set off the heap is measured"))
    ratio = evidence["ratio"].astype(float)
    shown = np.where(ratio >= A_MULTIPLE, AS_PUBLISHED, np.where(ratio <= 1, OTHER_WAY, NO_DIFFERENCE))
    return Evidence(evidence.assign(shown=shown), tuple(missing))


def _worse_sentence(evidence: Evidence) -> str:
    if evidence.rows.empty:
        reasons = {item.what: item.why for item in evidence.missing}
        why = reasons.get(_TEN_MILLION_OBJECTS, "not measured together with fewer")
        return f"Ten million objects: {why}."
    return (
        f"A full pause with ten million objects is {stats.span(evidence.rows['ratio'])} times the longest one with "
        f"{stats.significant(ARTICLES_POOL / 1e6, 2)} million or fewer; at least {A_MULTIPLE:g} times in "
        f"{evidence.count(AS_PUBLISHED)} of {len(evidence.rows)} configurations, even taking the shortest of the one "
        "against the longest of the other."
    )


def _by_block(rows: pd.DataFrame, measure: str) -> pd.Series:
    """A measure by block; what is 0, as where nothing was collected, has no ratio."""
    values = rows.set_index("block")[measure].astype(float)
    return values[values > 0]


def _compared(
    top: pd.Series, bottom: pd.Series, noise: stats.NoiseBand, configuration: str, comparison: str
) -> tuple[list[object], Missing | None]:
    """One row of evidence, and what it lacks."""
    compared = stats.compare(top, bottom, noise)
    if compared.ratio is None:
        why = "no block has a collection in the measured window of both: longer trials are needed"
        return [configuration, comparison, np.nan, NOT_MEASURED], Missing(f"{configuration}, {comparison}", why)
    return [configuration, comparison, compared.ratio.estimate, SHOWN[compared.direction]], None


def _rare_and_long(data: Pauses) -> Evidence:
    """Collections per second, and mean and longest pause, allocating beside the full pool."""
    measured = data.heap("alloc", "pool")
    rows, missing = [], []
    for measure, (words, more, less) in RARE_AND_LONG.items():
        noise = stats.noise_band(measured[measured[measure] > 0], CONFIGURATION, measure)
        for (solution, case), group in measured.groupby(["solution", "case"], observed=True):
            top, bottom = (_by_block(group[group["strategy"] == name], measure) for name in (more, less))
            row, lacking = _compared(top, bottom, noise, f"{solution} {case}", words)
            rows.append(row)
            missing += [lacking] if lacking else []
    there = set(measured["family"])
    missing += [Missing(name, NOT_PART.word) for name in ("CMS", "G1") if name not in there]
    return Evidence(pd.DataFrame(rows, columns=_COMPARED), tuple(missing))


def _published_pairs() -> Iterator[tuple[str, pd.DataFrame]]:
    """The published table by collector and case, by strategy."""
    table = reference.load("allocate_or_pool_gc")
    for (collector, case), group in table.groupby(["collector", "case"]):
        yield f"{collector} {case}", group.set_index("strategy")


def _ratio(figures: pd.Series, top: str, bottom: str) -> float:
    values = figures.astype(float).to_dict()
    return float(values[top] / values[bottom])


def _as_ratios(rows: list[tuple[str, str, float]]) -> Evidence:
    """Single published figures: the larger one is larger."""
    shown = [SHOWN[int(np.sign(ratio - 1))] for *_, ratio in rows]
    return Evidence(pd.DataFrame(rows, columns=_COMPARED[:-1]).assign(shown=shown))


def _published_rare_and_long() -> Evidence:
    return _as_ratios([
        (name, words, _ratio(figures[measure], more, less))
        for name, figures in _published_pairs()
        for measure, (words, more, less) in RARE_AND_LONG.items()
    ])  # fmt: skip


def _overloads(data: Pauses) -> Evidence:
    """The share of time in pauses, allocating in case C: the range of its trials about as published."""
    measured = data.heap("alloc")
    measured = measured[(measured["case"] == "C") & measured["family"].isin(OVERLOAD_PERCENT)]
    rows, missing = [], []
    for (solution, family), group in measured.groupby(["solution", "family"], observed=True):
        share = group["gc_fraction_percent"].astype(float)
        (shown,) = _about(pd.Series([share.min()]), pd.Series([share.max()]), OVERLOAD_PERCENT[str(family)])
        rows.append([solution, OVERLOAD_PERCENT[str(family)], share.mean(), shown])
    there = set(measured["family"])
    missing = [Missing(name, NOT_PART.word) for name in OVERLOAD_PERCENT if name not in there]
    columns = ["configuration", "published_percent", "percent_of_time", "shown"]
    return Evidence(pd.DataFrame(rows, columns=columns), tuple(missing))


def _published_overload() -> Evidence:
    table = reference.load("allocate_or_pool_gc")
    share = table[(table["case"] == "C") & (table["strategy"] == "alloc")].set_index("collector")["gc_fraction_percent"]
    shown = [_about(share[[name]], share[[name]], said)[0] for name, said in OVERLOAD_PERCENT.items()]
    return Evidence(pd.DataFrame({"collector": list(OVERLOAD_PERCENT), "percent": share[list(OVERLOAD_PERCENT)].values,
                                  "shown": shown}))  # fmt: skip


def _overload_sentence(evidence: Evidence) -> str:
    if evidence.rows.empty:
        return "Allocating in case C was not measured on these collectors."
    told = [
        f"{stats.significant(row.percent_of_time, 2)}% on {row.configuration} (published: {row.published_percent:g}%)"
        for row in records(evidence.rows)
    ]
    return (
        f"Allocating in case C, collections take {', '.join(told)} of the time; within a factor of {ABOUT_FACTOR:g} in "
        f"{evidence.count(AS_PUBLISHED)} of {len(evidence.rows)}."
    )


def _case_a_is_worst(data: Pauses) -> Evidence:
    """The anomaly: under pooling, the least loaded case is the worst."""
    pooled = data.heap("pool")
    pooled = pooled[pooled["family"] == "CMS"]
    rows, missing = [], []
    for measure, words in WORST_IN_A.items():
        noise = stats.noise_band(pooled[pooled[measure] > 0], CONFIGURATION, measure)
        for solution, group in pooled.groupby("solution", observed=True):
            of_case = {case: _by_block(group[group["case"] == case], measure) for case in PUBLISHED_CASES}
            for other in ("B", "C"):
                row, lacking = _compared(of_case["A"], of_case[other], noise, str(solution), f"{words}, A over {other}")
                rows.append(row)
                missing += [lacking] if lacking else []
    if pooled.empty:
        missing.append(Missing("CMS", NOT_PART.word))
    return Evidence(pd.DataFrame(rows, columns=_COMPARED), tuple(missing))


def _published_worst_in_a() -> Evidence:
    table = reference.load("allocate_or_pool_gc")
    pooled = table[(table["collector"] == "CMS") & (table["strategy"] == "pool")].set_index("case")
    return _as_ratios([
        ("CMS", f"{words}, A over {other}", _ratio(pooled[measure], "A", other))
        for measure, words in WORST_IN_A.items()
        for other in ("B", "C")
    ])  # fmt: skip


def _ratios_sentence(what: str) -> Callable[[Evidence], str]:
    def sentence(evidence: Evidence) -> str:
        measured = evidence.measured
        if measured.empty:
            return "Nothing to compare: no block has collections on both sides."
        return (
            f"{what} {stats.span(measured['ratio'])}: shown as published in {evidence.count(AS_PUBLISHED)} of "
            f"{len(evidence.rows)} comparisons, the other way round in {evidence.count(OTHER_WAY)}, not measured in "
            f"{evidence.count(NOT_MEASURED)}."
        )

    return sentence


PAUSES_CLAIMS: tuple[Claim[Pauses], ...] = (
    Claim(
        "pool-rare-long",
        "Pooling makes collections rarer and longer (heap buffers).",
        ARTICLE,
        _rare_and_long,
        _ratios_sentence("Ratios are"),
        needs_all=True,
        published=_published_rare_and_long,
        set_ups=THEN_AND_NOW,
    ),
    Claim(
        "alloc-overload",
        'Allocating overloads the collector: in case C it spends 89% of the time collecting on "CMS", 28% on G1.',
        ARTICLE,
        _overloads,
        _overload_sentence,
        needs_all=True,
        published=_published_overload,
        set_ups=ON_CMS,
    ),
    Claim(
        "pool-a-worst-pauses",
        'With the full pool on "CMS", case A, the lightest, has the longest pauses and the largest share of time.',
        ARTICLE,
        _case_a_is_worst,
        _ratios_sentence("Case A over the others is"),
        needs_all=True,
        published=_published_worst_in_a,
        set_ups=ON_CMS,
    ),
    Claim(
        "cost-per-object",
        "A collection costs about 100 ns per live object: a million of them 100 ms.",
        ARTICLE,
        _about_100_ns,
        _about_sentence,
        published=_published_ns_per_object,
        set_ups=THEN_AND_NOW,
    ),
    Claim(
        "ten-million",
        "With ten million buffers, or as much other data, everything would be much worse; off the heap it would not.",
        ARTICLE,
        _worse_with_ten_million,
        _worse_sentence,
        needs_all=True,
        refuted_by="all",
        set_ups=THEN_AND_NOW,
    ),
)


def evaluate(
    trials: pd.DataFrame, collections: pd.DataFrame, points: pd.DataFrame, fits: pd.DataFrame
) -> list[Verdict]:
    """Put these claims, and the batch study's on which collector "CMS" was, to a campaign, each set-up apart."""
    batch = trials[trials["mode"] == "batch"]
    judged = claims.evaluate_apart(PAUSES_CLAIMS, lambda set_up: Pauses.of(trials, collections, points, fits, set_up))
    return [*judged, *claims.evaluate_apart([WHICH_CMS], lambda set_up: Batch(batch, set_up))]
