"""What the article says of pauses and live objects, each as a test that fresh data can fail."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from allocpool import stats
from allocpool.evidence import claims, reference
from allocpool.evidence.claims import (
    AS_PUBLISHED,
    NO_DIFFERENCE,
    OTHER_WAY,
    SHOWN,
    Claim,
    Evidence,
    Missing,
    Verdict,
)
from allocpool.evidence.trials import NOT_PART
from allocpool.packets.cells import CONFIGURATION
from allocpool.packets.comparisons import Batch
from allocpool.packets.published import ARTICLE
from allocpool.runtimes.collectors import collectors_that
from allocpool.studies.batch.claims import WHICH_CMS
from allocpool.studies.pauses.gc_table import per_trial

STOP_THE_WORLD = collectors_that(lambda row: row.stop_the_world)
ABOUT_NS = 100.0
ABOUT_FACTOR = 2.0
"""How far a figure may lie off and still be "about" as published."""
TEN_MILLION = 9e6
_TEN_MILLION_OBJECTS = "ten million live objects"
PUBLISHED_LARGEST = 5.5e6


@dataclass(frozen=True)
class Pauses:
    """What a claim is put to: tables of the study on pauses, and what `scaling` made of them."""

    trials: pd.DataFrame
    collections: pd.DataFrame
    points: pd.DataFrame
    fits: pd.DataFrame


def _about_100_ns(data: Pauses) -> Evidence:
    """Each fitted cost of a forced full collection: its interval within the margin, wholly outside, or neither."""
    fits = data.fits[(data.fits["measure"] == "forced full pause") & data.fits["collector"].isin(STOP_THE_WORLD)]
    few = fits["n"] < stats.BOOTSTRAP_MIN_TRIALS  # below, there is no confidence interval
    rows = fits.loc[~few, ["solution", "strategy", "low", "high", "ns_per_object"]].reset_index(drop=True)
    low, high = ABOUT_NS / ABOUT_FACTOR, ABOUT_NS * ABOUT_FACTOR
    inside = (rows["low"] >= low) & (rows["high"] <= high)
    outside = (rows["high"] < low) | (rows["low"] > high)
    missing = [
        Missing(f"{row['solution']} {row['strategy']}", f"only {row['n']} live sets") for _, row in fits[few].iterrows()
    ]
    absent = [name for name in STOP_THE_WORLD if name not in set(fits["collector"])]
    missing += [Missing(name, NOT_PART.word) for name in absent]
    shown = np.where(inside, AS_PUBLISHED, np.where(outside, OTHER_WAY, NO_DIFFERENCE))
    return Evidence(rows.assign(shown=shown), tuple(missing))


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
    """The shortest stop of ten million objects over the longest of the largest live set that the article measured."""
    points = data.points
    full = points[points["collector"].isin(STOP_THE_WORLD) & (points["measure"] == "forced full pause")]
    rows, missing = [], []
    for (solution, strategy), group in full.groupby(["solution", "strategy"], observed=True):
        ten = group[group["live_objects"] >= TEN_MILLION]["cost_ns"]
        less = group[group["live_objects"] <= PUBLISHED_LARGEST]
        if len(ten) and len(less):
            compared = less[less["live_objects"] >= 0.9 * less["live_objects"].max()]["cost_ns"]
            rows.append([solution, strategy, float(ten.min() / compared.max())])
        else:
            most = stats.significant(group["live_objects"].max() / 1e6, 2)
            missing.append(Missing(f"{solution} {strategy}", f"not at ten million and below; most: {most} million"))
    evidence = pd.DataFrame(rows, columns=["solution", "strategy", "ratio"])
    if full.empty or full["live_objects"].max() < TEN_MILLION:
        most = "none" if full.empty else f"{stats.significant(full['live_objects'].max() / 1e6, 2)} million"
        why = f"Ten million objects were not kept alive in this campaign; most under a full collection: {most}."
        missing.append(Missing(_TEN_MILLION_OBJECTS, why))
    shown = np.where(evidence["ratio"] > 1, AS_PUBLISHED, OTHER_WAY)
    return Evidence(evidence.assign(shown=shown), tuple(missing))


def _worse_sentence(evidence: Evidence) -> str:
    if evidence.rows.empty:
        reasons = {item.what: item.why for item in evidence.missing}
        return reasons.get(_TEN_MILLION_OBJECTS, "No collector was measured at ten million objects and below.")
    return (
        f"A full pause with ten million objects is {stats.span(evidence.rows['ratio'])} times the longest one with "
        f"{stats.significant(PUBLISHED_LARGEST / 1e6, 2)} million or fewer; worse in {evidence.count(AS_PUBLISHED)} of "
        f"{len(evidence.rows)} configurations, even taking the shortest of the one against the longest of the other."
    )


def _case_a_is_worst(collector: str, measure: str, words: str) -> Callable[[Pauses], Evidence]:
    """The anomaly: under pooling, a measure is larger in the least loaded case than in those that keep more alive."""

    def evidence(data: Pauses) -> Evidence:
        pooled = per_trial(data.trials, data.collections)
        pooled = pooled[(pooled["strategy"] == "pool") & (pooled["layout"] == "heap")]
        pooled = pooled[(pooled["collector"] == collector) & (pooled[measure] > 0)]
        noise = stats.noise_band(pooled, CONFIGURATION, measure)
        rows, missing = [], []
        for solution, group in pooled.groupby("solution", observed=True):
            values = {case: part.set_index("block")[measure] for case, part in group.groupby("case")}
            for other in ("B", "C"):
                if "A" in values and other in values:
                    compared = stats.compare(values["A"], values[other], noise)
                    ratio = compared.ratio.estimate if compared.ratio else np.nan
                    rows.append([solution, f"{words}, A over {other}", ratio, SHOWN[compared.direction]])
                else:
                    lacking = " and ".join(case for case in ("A", other) if case not in values)
                    missing.append(Missing(f"{solution}, A over {other}", f"no pauses in case {lacking}"))
        if pooled.empty:
            missing.append(Missing(collector, "pooling on it was not part of this campaign, or had no pauses"))
        return Evidence(pd.DataFrame(rows, columns=["solution", "comparison", "ratio", "shown"]), tuple(missing))

    return evidence


def _case_a_sentence(words: str) -> Callable[[Evidence], str]:
    def sentence(evidence: Evidence) -> str:
        total = len(evidence.rows)
        if not total:
            return "Pooling on it was not measured in case A and in a larger case, with pauses in both."
        return (
            f"In case A, the {words} is {stats.span(evidence.rows['ratio'])} times that of a larger case: shown to be "
            f"larger in {evidence.count(AS_PUBLISHED)} of {total} comparisons, smaller in {evidence.count(OTHER_WAY)}, "
            "neither in the rest."
        )

    return sentence


def _published_anomaly(measure: str) -> pd.Series:
    table = reference.load("allocate_or_pool_gc")
    pooled = table[(table["collector"] == "CMS") & (table["strategy"] == "pool")].set_index("case")[measure]
    return pd.Series([pooled["A"] / pooled[case] for case in ("B", "C")])


def _case_a_claim(id: str, measure: str, words: str, says: str, collector: str, name: str) -> Claim[Pauses]:
    return Claim(
        f"case-a-{id}-{collector}",
        f'Under pooling on "CMS", read as {name}, the light case A {says}.',
        ARTICLE,
        _case_a_is_worst(collector, measure, words),
        _case_a_sentence(words),
        lambda: _published_anomaly(measure),
    )


PAUSES_CLAIMS: tuple[Claim[Pauses], ...] = (
    Claim("ns-per-object", "A collection costs about 100 ns per live object.", ARTICLE, _about_100_ns, _about_sentence),
    Claim(
        "ten-million",
        "With ten million live objects, everything would have been worse.",
        ARTICLE,
        _worse_with_ten_million,
        _worse_sentence,
        refuted_by="all",
    ),
    *(
        _case_a_claim(id, measure, words, says, collector, name)
        for id, measure, words, says in (
            ("longest", "mean_pause_ms", "mean pause", "pauses longest"),
            (
                "share",
                "gc_fraction_percent",
                "share of time in pauses",
                "stands longest, as share of its time",
            ),
        )
        for collector, name in (("parallel", "Parallel"), ("cms", "CMS"))
    ),
)


def evaluate(
    trials: pd.DataFrame, collections: pd.DataFrame, points: pd.DataFrame, fits: pd.DataFrame
) -> list[Verdict]:
    """Put these claims, and the batch study's on which collector "CMS" was, to a campaign."""
    batch = Batch(trials[trials["mode"] == "batch"])
    data = Pauses(trials, collections, points, fits)
    return [*claims.evaluate(PAUSES_CLAIMS, data), claims.judge(WHICH_CMS, batch)]
