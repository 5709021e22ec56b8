"""What the article says of pauses and live objects, each as a test that fresh data can fail."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from allocpool import stats
from allocpool.evidence import reference
from allocpool.evidence.claims import INCONCLUSIVE, REFUTED, REPRODUCED, Batch, Claim, Verdict
from allocpool.packets.cells import CONFIGURATION
from allocpool.runtimes.collectors import collectors_that
from allocpool.studies.batch.claims import BATCH_CLAIMS
from allocpool.studies.pauses.gc_table import per_trial

STOP_THE_WORLD = collectors_that(lambda row: row.stop_the_world)
ABOUT_NS = 100.0
ABOUT_FACTOR = 2.0
"""How far a figure may lie off and still be "about" as published."""
TEN_MILLION = 9e6
PUBLISHED_LARGEST = 5.5e6


@dataclass(frozen=True)
class Pauses:
    """What a claim is put to: tables of the study on pauses, and what `scaling` made of them."""

    trials: pd.DataFrame
    collections: pd.DataFrame
    points: pd.DataFrame
    fits: pd.DataFrame


def _about_100_ns(claim: Claim, data: Pauses) -> Verdict:
    found = data.fits[(data.fits["measure"] == "forced full pause") & data.fits["collector"].isin(STOP_THE_WORLD)]
    found = found[found["n"] >= stats.BOOTSTRAP_MIN_TRIALS]  # below, there is no confidence interval
    evidence = found[["solution", "strategy", "low", "high", "ns_per_object"]].reset_index(drop=True)
    if evidence.empty:
        text = f"No collector that stops the world was measured at {stats.BOOTSTRAP_MIN_TRIALS} live sets or more."
        return Verdict(claim, INCONCLUSIVE, text, evidence)
    low, high = ABOUT_NS / ABOUT_FACTOR, ABOUT_NS * ABOUT_FACTOR
    inside = (evidence["low"] >= low) & (evidence["high"] <= high)
    outside = (evidence["high"] < low) | (evidence["low"] > high)
    outcome = REFUTED if outside.any() else REPRODUCED if inside.all() else INCONCLUSIVE
    return Verdict(
        claim, outcome,
        f"A forced full collection costs {stats.span(evidence['ns_per_object'])} ns per live object by fit; "
        f"{int(inside.sum())} of {len(evidence)} intervals lie within a factor of {ABOUT_FACTOR:g} of "
        f"{ABOUT_NS:g} ns, {int(outside.sum())} wholly outside.",
        evidence,
    )  # fmt: skip


def _worse_with_ten_million(claim: Claim, data: Pauses) -> Verdict:
    """The longest stop of ten million objects over that of the largest live set that the article measured."""
    columns = ["solution", "strategy", "ratio"]
    rows = data.points[data.points["collector"].isin(STOP_THE_WORLD) & (data.points["measure"] == "forced full pause")]
    if rows.empty or rows["live_objects"].max() < TEN_MILLION:
        most = "none" if rows.empty else f"{stats.significant(rows['live_objects'].max() / 1e6, 2)} million"
        text = f"Ten million objects were not kept alive in this campaign; most under a full collection: {most}."
        return Verdict(claim, INCONCLUSIVE, text, pd.DataFrame(columns=columns))
    found = []
    for (solution, strategy), group in rows.groupby(["solution", "strategy"], observed=True):
        ten = group[group["live_objects"] >= TEN_MILLION]["cost_ns"]
        less = group[group["live_objects"] <= PUBLISHED_LARGEST]
        if len(ten) and len(less):
            compared = less[less["live_objects"] >= 0.9 * less["live_objects"].max()]["cost_ns"]
            found.append([solution, strategy, float(ten.min() / compared.max())])
    evidence = pd.DataFrame(found, columns=columns)
    if evidence.empty:
        text = "No collector was measured at ten million objects and below."
        return Verdict(claim, INCONCLUSIVE, text, evidence)
    worse = int((evidence["ratio"] > 1).sum())
    outcome = REPRODUCED if worse == len(evidence) else REFUTED if worse == 0 else INCONCLUSIVE
    text = (
        f"A full pause with ten million objects is {stats.span(evidence['ratio'])} times the longest one with "
        f"{stats.significant(PUBLISHED_LARGEST / 1e6, 2)} million or fewer; worse in {worse} of {len(evidence)} "
        "configurations, even taking the shortest of the one against the longest of the other."
    )
    return Verdict(claim, outcome, text, evidence)


def _case_a_is_worst(collector: str, measure: str, words: str) -> Callable[[Claim, Pauses], Verdict]:
    """The anomaly: under pooling, a measure is larger in the least loaded case than in those that keep more alive."""

    def test(claim: Claim, data: Pauses) -> Verdict:
        rows = per_trial(data.trials, data.collections)
        rows = rows[(rows["strategy"] == "pool") & (rows["layout"] == "heap") & (rows["collector"] == collector)]
        rows = rows[rows[measure] > 0]
        noise = stats.noise_band(rows, CONFIGURATION, measure)
        found = []
        directions = []
        for solution, group in rows.groupby("solution", observed=True):
            values = {case: part.set_index("block")[measure] for case, part in group.groupby("case")}
            for other in ("B", "C"):
                if "A" in values and other in values:
                    compared = stats.compare(values["A"], values[other], noise)
                    directions.append(compared.direction)
                    ratio = compared.ratio.estimate if compared.ratio else np.nan
                    found.append([solution, f"{words}, A over {other}", ratio])
        evidence = pd.DataFrame(found, columns=["solution", "comparison", "ratio"])
        if evidence.empty:
            text = "Pooling on it was not measured in case A and in a larger case, with pauses in both."
            return Verdict(claim, INCONCLUSIVE, text, evidence)
        shown, against = directions.count(1), directions.count(-1)
        outcome = REFUTED if against else REPRODUCED if shown == len(directions) else INCONCLUSIVE
        text = (
            f"In case A, the {words} is {stats.span(evidence['ratio'])} times that of a larger case: shown to be "
            f"larger in {shown} of {len(directions)} comparisons, smaller in {against}, neither in the rest. "
            f"The published ratios are {stats.span(_published_anomaly(measure))}."
        )
        return Verdict(claim, outcome, text, evidence)

    return test


def _published_anomaly(measure: str) -> pd.Series:
    table = reference.load("allocate_or_pool_gc")
    pooled = table[(table["collector"] == "CMS") & (table["strategy"] == "pool")].set_index("case")[measure]
    return pd.Series([pooled["A"] / pooled[case] for case in ("B", "C")])


PAUSES_CLAIMS = (
    Claim("ns-per-object", "A collection costs about 100 ns per live object.", reference.ARTICLE, _about_100_ns),
    Claim(
        "ten-million",
        "With ten million live objects, everything would have been worse.",
        reference.ARTICLE,
        _worse_with_ten_million,
    ),
    *(
        Claim(
            f"case-a-{id}-{collector}",
            f'Under pooling on "CMS", read as {name}, the light case A {says}.',
            reference.ARTICLE,
            _case_a_is_worst(collector, measure, words),
        )
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
_DECIDED_IN_BATCH = ("cms-is-cms",)


def evaluate(claims: Iterable[Claim], data: Pauses) -> list[Verdict]:
    """Put these claims, and the batch study's on which collector "CMS" was, to a campaign."""
    batch = Batch(data.trials[data.trials["mode"] == "batch"])
    decided = [claim.test(claim, batch) for claim in BATCH_CLAIMS if claim.id in _DECIDED_IN_BATCH]
    return [*(claim.test(claim, data) for claim in claims), *decided]
