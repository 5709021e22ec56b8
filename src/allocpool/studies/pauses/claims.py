"""What the article says of pauses and live objects, each as a test that fresh data can fail; judged on the collectors
that it ran and, apart from them, on today's."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from allocpool import decisions, stats
from allocpool.decisions import FEWEST, effect_that_matters
from allocpool.evidence import claims, reference
from allocpool.evidence.claims import (
    AS_PUBLISHED,
    EQUIVALENT,
    NOT_MEASURED,
    OPEN,
    OTHER_WAY,
    Claim,
    Equality,
    Evidence,
    Missing,
    Ordering,
    Verdict,
    of_orderings,
    shown_by,
)
from allocpool.evidence.figures import as_figures, no_figures
from allocpool.evidence.trials import NOT_PART, records
from allocpool.packets.cells import CONFIGURATION, CONTROLS
from allocpool.packets.comparisons import ON_CMS, SET_UPS, THEN_AND_NOW, Cell, with_families
from allocpool.packets.published import ARTICLE
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
OVERLOAD_PERCENT = {"CMS": 89.0, "G1": 28.0}
RARE_AND_LONG = {
    "gc_per_second": ("collections per second", "alloc", "pool"),
    "mean_pause_ms": ("mean pause", "pool", "alloc"),
    "max_pause_ms": ("longest pause", "pool", "alloc"),
}
"""By measure of `gc_table`: what it is called, and the strategies of which the first is to have more."""
WORST_IN_A = {
    "mean_pause_ms": "mean pause", "max_pause_ms": "longest pause", "gc_fraction_percent": "share of time in pauses",
}  # fmt: skip
LEFT_MB = 20.0
"""What a young collection leaves more on the heap at scale 1, as published; the heap shrinks with the scale."""
_LEAST_LEFT_MB = 0.01
_LEAST_PERCENT = 0.01
"""A smaller share of time, or none, counts as this one: its logarithm is taken."""
_NO_COLLECTION = "no collection in the measured window: longer trials are needed"


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

    @property
    def heap(self) -> pd.DataFrame:
        """The published measures of its finished trials with heap buffers in the published cases."""
        return heap_of(self.trials, self.collections)


def collected(trials: pd.DataFrame, set_up: str) -> pd.DataFrame:
    """The trials of a set-up with their published collector in ``family``, without those that never collect."""
    return with_families(trials[~trials["collector"].isin(CONTROLS)], set_up)


def heap_of(trials: pd.DataFrame, collections: pd.DataFrame) -> pd.DataFrame:
    """Rows of `per_trial` with heap buffers in the published cases."""
    measured = per_trial(trials, collections)
    return measured[(measured["layout"] == "heap") & measured["case"].isin(PUBLISHED_CASES)]


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


def _about_sentence(evidence: Evidence) -> str:
    total = len(evidence.rows)
    if not total:
        return f"No collector that stops the world was measured at {FEWEST} live sets or more."
    return (
        f"A forced full collection costs {stats.span(ABOUT_NS * evidence.rows['ratio'])} ns per live object by fit; "
        f"shown to lie within a factor of {ABOUT_FACTOR:g} of {ABOUT_NS:g} ns in {evidence.count(AS_PUBLISHED)} of "
        f"{total} fits, outside in {evidence.count(OTHER_WAY)}, open in {evidence.count(OPEN)}."
    )


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


def _worse_sentence(evidence: Evidence) -> str:
    if evidence.rows.empty:
        reasons = {item.what: item.why for item in evidence.missing}
        why = reasons.get(_TEN_MILLION_OBJECTS, "not measured together with fewer")
        return f"Ten million objects: {why}."
    return (
        f"A full pause with ten million objects is {stats.span(evidence.rows['ratio'])} times that with "
        f"{stats.significant(ARTICLES_POOL / 1e6, 2)} million, by fit; shown to be at least {A_MULTIPLE:g} times in "
        f"{evidence.count(AS_PUBLISHED)} of {len(evidence.rows)} configurations, not to be longer in "
        f"{evidence.count(OTHER_WAY)}."
    )


def _by_block(rows: pd.DataFrame, measure: str) -> pd.Series:
    """A measure by block, positive. Collections per second are those of half a collection more, so that a trial without
    any counts (Haldane, "The estimation and significance of the logarithm of a ratio of frequencies", Annals of Human
    Genetics 20, 1956); a trial without a pause has no length of one."""
    by_block = rows.set_index("block")
    if measure == "gc_per_second":
        return (by_block["collections"] + 0.5) / by_block["window_s"]
    values = by_block[measure].astype(float)
    return values.clip(lower=_LEAST_PERCENT) if measure == "gc_fraction_percent" else values[values > 0]


class Expected(NamedTuple):
    """That the first of two cells has more of a measure of `gc_table` than the second; ``names`` tell the two."""

    measure: str
    cells: tuple[Cell, Cell]
    names: tuple[str, str]


def by_cell(measured: pd.DataFrame) -> dict[Cell, pd.DataFrame]:
    """Rows of `per_trial` by configuration."""
    groups = measured.groupby(list(CONFIGURATION), observed=True)
    return {Cell(str(a), str(b), str(c)): group for (a, b, c), group in groups}


def sides_of(measure: str, top: pd.DataFrame, bottom: pd.DataFrame) -> tuple[pd.Series, pd.Series]:
    """A measure of two cells by block; nothing of the first where neither always collects: that compares nothing."""
    if not any((rows["collections"] > 0).all() for rows in (top, bottom)):
        top = top.iloc[:0]
    return _by_block(top, measure), _by_block(bottom, measure)


def _ordered(expected: Expected, heap: pd.DataFrame, cells: Mapping[Cell, pd.DataFrame]) -> Ordering:
    """The expected ordering of two cells' trials, ``cells`` being those of ``heap``."""
    top, bottom = (cells.get(cell, heap.iloc[:0]) for cell in expected.cells)
    why = _NO_COLLECTION if len(top) and len(bottom) else NOT_PART.word
    return Ordering(*expected.names, decisions.compare(*sides_of(expected.measure, top, bottom)), why)


def rare_and_long(heap: pd.DataFrame) -> list[Expected]:
    """Collections per second, and mean and longest pause, allocating beside the full pool."""
    either = heap[heap["strategy"].isin(["alloc", "pool"])]
    pairs = [
        (str(configuration), str(case))
        for (configuration, case), _ in either.groupby(["configuration", "case"], observed=True)
    ]
    return [
        Expected(
            measure,
            (Cell(configuration, more, case), Cell(configuration, less, case)),
            (f"{configuration} {more} {case}, {words}", less),
        )
        for measure, (words, more, less) in RARE_AND_LONG.items()
        for configuration, case in pairs
    ]


def _rare_and_long(data: Pauses) -> Evidence:
    heap = data.heap
    cells, there = by_cell(heap), set(heap["family"])
    return of_orderings(
        [_ordered(expected, heap, cells) for expected in rare_and_long(heap)],
        [Missing(name, NOT_PART.word) for name in ("CMS", "G1") if name not in there],
    )


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
    return as_figures(Evidence(pd.DataFrame(rows, columns=["configuration", "comparison", "ratio"])))


def _published_rare_and_long() -> Evidence:
    return _as_ratios([
        (name, words, _ratio(figures[measure], more, less))
        for name, figures in _published_pairs()
        for measure, (words, more, less) in RARE_AND_LONG.items()
    ])  # fmt: skip


def overloaded(heap: pd.DataFrame) -> list[tuple[Cell, float]]:
    """The cells that allocate in case C, with the published share of time in pauses, percent."""
    measured = heap[(heap["strategy"] == "alloc") & (heap["case"] == "C") & heap["family"].isin(OVERLOAD_PERCENT)]
    return [
        (Cell(str(configuration), "alloc", "C"), OVERLOAD_PERCENT[str(family)])
        for (configuration, family), _ in measured.groupby(["configuration", "family"], observed=True)
    ]


def share_of_time(rows: pd.DataFrame) -> pd.Series:
    """The share of time in pauses by block, percent, positive."""
    return _by_block(rows, "gc_fraction_percent")


def told_percent(published: float) -> str:
    """How a claim names a published share of time."""
    return f"the published {published:g}%"


def _overloads(data: Pauses) -> Evidence:
    """The share of time in pauses, allocating in case C: about as published."""
    heap = data.heap
    cells, there = by_cell(heap), set(heap["family"])
    expected, percent = [], []
    for cell, published in overloaded(heap):
        share = share_of_time(cells[cell])
        compared = decisions.compare_with(share, published, ABOUT_FACTOR)
        expected.append(Equality(cell.configuration, told_percent(published), compared))
        percent.append(stats.geometric_mean(share))
    found = of_orderings(expected, [Missing(name, NOT_PART.word) for name in OVERLOAD_PERCENT if name not in there])
    return Evidence(found.rows.assign(percent_of_time=pd.Series(percent, dtype=float)), found.missing)


def _published_overload() -> Evidence:
    table = reference.load("allocate_or_pool_gc")
    share = table[(table["case"] == "C") & (table["strategy"] == "alloc")].set_index("collector")["gc_fraction_percent"]
    shown = [_about(share[[name]], said)[0] for name, said in OVERLOAD_PERCENT.items()]
    return Evidence(pd.DataFrame({"collector": list(OVERLOAD_PERCENT), "percent": share[list(OVERLOAD_PERCENT)].values,
                                  "shown": shown}))  # fmt: skip


def _overload_sentence(evidence: Evidence) -> str:
    if evidence.rows.empty:
        return "Allocating in case C was not measured on these collectors."
    told = [
        f"{stats.significant(row.percent_of_time, 2)}% on {row.larger} ({row.smaller})"
        for row in records(evidence.rows)
    ]
    return (
        f"Allocating in case C, collections take {', '.join(told)} of the time; shown to be within a factor of "
        f"{ABOUT_FACTOR:g} in {evidence.count(AS_PUBLISHED)} of {len(evidence.rows)}, outside in "
        f"{evidence.count(OTHER_WAY)}, open in {evidence.count(OPEN)}."
    )


def _leaves_more(data: Pauses) -> Evidence:
    """What each young collection leaves with a native pool, told at scale 1."""
    measured = per_trial(data.trials, data.collections)
    measured = measured[(measured["layout"] == "native") & (measured["strategy"] == "pool")]
    measured = measured[(measured["family"] == "CMS") & measured["case"].isin(["B", "C"])]
    expected = []
    for (configuration, case), group in measured.groupby(["configuration", "case"], observed=True):
        left = group.set_index("block")["left_mb"].astype(float) / group.set_index("block")["scale"].astype(float)
        compared = decisions.compare_with(left.clip(lower=_LEAST_LEFT_MB), LEFT_MB, ABOUT_FACTOR)
        why = "fewer than two young collections in the measured window: longer trials are needed"
        expected.append(Equality(f"{configuration} pool {case}, MB", f"the published {LEFT_MB:g}", compared, why))
    return of_orderings(expected, [Missing("CMS", NOT_PART.word)] if measured.empty else [])


def _leaves_sentence(evidence: Evidence) -> str:
    measured = evidence.measured
    if measured.empty:
        return "No native pool on it was measured over two young collections."
    return (
        f"At scale 1 a young collection would leave {stats.span(LEFT_MB * measured['ratio'])} MB more; shown to be "
        f"within a factor of {ABOUT_FACTOR:g} of {LEFT_MB:g} MB in {evidence.count(AS_PUBLISHED)} of "
        f"{len(evidence.rows)} comparisons, outside in {evidence.count(OTHER_WAY)}, open in {evidence.count(OPEN)}."
    )


def case_a_is_worst(heap: pd.DataFrame) -> list[Expected]:
    """The anomaly: under pooling, the least loaded case is the worst."""
    pooled = heap[(heap["strategy"] == "pool") & (heap["family"] == "CMS")]
    return [
        Expected(
            measure,
            (Cell(str(configuration), "pool", "A"), Cell(str(configuration), "pool", other)),
            (f"{configuration} pool A, {words}", other),
        )
        for measure, words in WORST_IN_A.items()
        for configuration, _ in pooled.groupby("configuration", observed=True)
        for other in ("B", "C")
    ]


def _case_a_is_worst(data: Pauses) -> Evidence:
    heap = data.heap
    cells, expected = by_cell(heap), case_a_is_worst(heap)
    orderings = [_ordered(each, heap, cells) for each in expected]
    return of_orderings(orderings, [] if expected else [Missing("CMS", NOT_PART.word)])


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
            return "Nothing to compare: no trials of both sides have collections."
        counts = [
            f"{words} in {count}"
            for words in (OTHER_WAY, EQUIVALENT, OPEN, NOT_MEASURED)
            if (count := evidence.count(words))
        ]
        return (
            f"{what} {stats.span(measured['ratio'])}: shown {AS_PUBLISHED} in {evidence.count(AS_PUBLISHED)} of "
            f"{len(evidence.rows)} comparisons{''.join(f', {one}' for one in counts)}."
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
        "native-cms-leaves",
        'With native buffers and the full pool on "CMS", each young collection leaves 20 MB more on the heap.',
        ARTICLE,
        _leaves_more,
        _leaves_sentence,
        needs_all=True,
        published=no_figures,
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
        published=no_figures,
        set_ups=THEN_AND_NOW,
    ),
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
