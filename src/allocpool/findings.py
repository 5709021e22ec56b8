"""The answer over all studies of packets: every solution measured, in batch and in real time, and every claim of the
article.

Costs are compared at one scale only: what fits into a cache is another thing at another scale.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd
from great_tables import GT

from allocpool import stats
from allocpool.campaign import campaign
from allocpool.decisions import FEWEST_ESTIMATES, Comparison, compare, of_estimate
from allocpool.evidence import claims
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
    Verdict,
    of_orderings,
)
from allocpool.evidence.trials import finished, quiet_or_noisy, records
from allocpool.packets import cells as cell_data
from allocpool.packets.comparisons import PUBLISHED, THEN_AND_NOW, Batch, Cell, decided_in_words, sentence
from allocpool.packets.published import ARTICLE, published_as_trials
from allocpool.packets.tables import primary_table
from allocpool.studies.batch import claims as batch_claims
from allocpool.studies.batch import story as batch_story
from allocpool.studies.native import claims as native_claims
from allocpool.studies.native.story import pooling_in_cpp
from allocpool.studies.pauses import claims as pauses_claims
from allocpool.studies.pauses import scaling
from allocpool.studies.realtime import claims as realtime_claims
from allocpool.studies.realtime.cells import realtime_cells
from allocpool.studies.realtime.claims import Realtime

MATCHES = 1.1
"""An interval matches a cost that is no further off than by this factor."""


@dataclass(frozen=True)
class Measured:
    """What the studies of packets left under one profile; tables without rows where one has not run."""

    profile: str

    def _table(self, study: str, name: str) -> pd.DataFrame:
        return campaign.stored(study, self.profile)[0][name]

    @cached_property
    def batch(self) -> pd.DataFrame:
        """The trials of the batch study."""
        return self._table("batch", "trials")

    @property
    def shown(self) -> pd.DataFrame:
        """Of these, those of the solutions that a program would choose; case A in one size."""
        rows = cell_data.as_set(self.batch)
        return rows[rows["case"] != "A10k"] if (rows["case"] == "A").any() else rows

    @cached_property
    def every_batch(self) -> pd.DataFrame:
        """Batch trials of all studies, each once; without pools in the order in which they were made, a state that does
        not last, unless an older campaign knows no other.

        A cell has the trials of the first study that measured it: those of another one were made at another time, or by
        other code, and would pass for two speeds.
        """
        tables = [self._table(study, "trials") for study in ("batch", "native", "pauses")]
        told = [table.assign(origin=place) for place, table in enumerate(tables) if len(table) or place == 0]
        rows = pd.concat([table for table in told if len(table)] or told, ignore_index=True)
        rows = cell_data.as_set(rows[rows["mode"] == "batch"].drop_duplicates("trial_id"))
        cell = rows.groupby([*cell_data.CONFIGURATION, "scale"], observed=True, dropna=False)
        rows = rows[rows["origin"] == cell["origin"].transform("min")].drop(columns="origin")
        lasting = rows[rows["pool_order"] != "fresh"] if "pool_order" in rows else rows
        return lasting if len(lasting) else rows

    @cached_property
    def searches(self) -> pd.DataFrame:
        """The searches of the real-time study."""
        return self._table("realtime", "searches")

    @cached_property
    def realtime(self) -> pd.DataFrame:
        """Its cells."""
        return realtime_cells(self.searches)

    def by_scale(self) -> Iterator[tuple[str, pd.DataFrame]]:
        """All batch trials, those at the scale of the batch study first, with words that say which scale it is."""
        own = list(self.batch["scale"].unique())
        scales = sorted(self.every_batch["scale"].unique(), key=lambda scale: (scale not in own, scale))
        for scale in scales:
            yield f"At scale {scale:g}", self.every_batch[self.every_batch["scale"] == scale]


def decided(measured: Measured) -> str:
    """How many of the primary comparisons are decided, over all scales, and whether the machine was quiet meanwhile."""
    tables = [batch_story.primary(trials) for _, trials in measured.by_scale()]
    counted = sentence(decided_in_words(pd.concat(tables, ignore_index=True))) if tables else ""
    return f"{counted} {quiet_or_noisy(measured.every_batch)}".strip()


def primary_tables(measured: Measured) -> list[GT]:
    """The primary comparisons one by one, a table per scale."""
    return [
        primary_table(batch_story.primary(trials), f"Allocate or pool, which is cheaper? {words}")
        for words, trials in measured.by_scale()
    ]


def answer(measured: Measured) -> str:
    """The first sentences: whether pooling pays, in Java and in C++, over all that was measured in batch."""
    told = [
        f"{words}: {say(part)}"
        for words, trials in measured.by_scale()
        for language, say in (("java", batch_story.verdict), ("cpp", pooling_in_cpp))
        if _both_ways(part := trials[trials["language"] == language])
    ]
    return "\n\n".join(told) or batch_story.verdict(measured.batch)


def _both_ways(trials: pd.DataFrame) -> bool:
    """Whether any solution was measured both allocating and with a pool."""
    done = cell_data.with_cost(trials)
    ways = [set(done.loc[done["strategy"] == strategy, "solution"]) for strategy in ("alloc", "pool")]
    return bool(ways[0] & ways[1])


def details(measured: Measured) -> str:
    """The answer by case, where it turns, and the cheapest of all solutions, in batch; on real time see its own."""
    parts = [
        f"{words}:\n\n{batch_story.where_it_turns(trials)}"
        for words, trials in measured.by_scale()
        if _both_ways(trials[trials["language"] == "java"])
    ]
    return "\n\n".join([*parts, *cheapest_in_batch(measured)])


def cheapest_in_batch(measured: Measured) -> list[str]:
    """Per scale the cheapest cells by case, over every solution of every study."""
    told = []
    for words, trials in measured.by_scale():
        done = cell_data.with_cost(trials)
        if len(done):
            count = done["solution"].nunique()
            told.append(f"{words}, cheapest of all {count} solutions in batch:\n\n{batch_story.cheapest(trials)}")
    return told


@dataclass(frozen=True)
class Both:
    """What a claim about batch and real time is put to."""

    batch: Batch
    realtime: Realtime
    searches: pd.DataFrame
    """Of real time, all of them; a cell's are found by its name."""


def _joined(costs: Evidence, intervals: Evidence) -> Evidence:
    """Orderings of costs and findings on intervals as one."""
    ratios = [
        ["batch", f"{row.larger} over {row.smaller}", stats.significant(row.ratio), *_chances(row), row.shown]
        for row in records(costs.rows)
    ]
    searched = [
        ["real time", row.configuration, row.found, *_chances(row), row.shown] for row in records(intervals.rows)
    ]
    columns = ["in", "configuration", "found", "p", "p_against", "shown"]
    rows = pd.DataFrame([*ratios, *searched], columns=columns)
    return Evidence(rows, tuple(dict.fromkeys([*costs.missing, *intervals.missing])))


def _chances(row: Any) -> tuple[float, float]:
    """Those of a row of evidence; NaN where what it shows is exact."""
    return getattr(row, "p", math.nan), getattr(row, "p_against", math.nan)


def _pool_everywhere(data: Both) -> Evidence:
    return _joined(
        batch_claims.POOL_EVERYWHERE.evidence(data.batch), realtime_claims.POOL_EVERYWHERE.evidence(data.realtime)
    )


def _published_pool_everywhere() -> Evidence:
    costs, intervals = batch_claims.POOL_EVERYWHERE.published, realtime_claims.POOL_EVERYWHERE.published
    return _joined(costs(), intervals()) if costs and intervals else Evidence(pd.DataFrame(columns=["shown"]))


def interval_over_cost(searches: pd.DataFrame, costs: pd.Series) -> Comparison:
    """The smallest interval that passes over the cost in batch, of one cell: searches set against batch trials.

    A search answers with a bracket, so its figure is the geometric middle, and half of the widest bracket is added to
    either side of the interval; the freedom is that of the smaller side.
    """
    passes = searches["pdr_ns"].astype(float).map(math.log)
    half_widths = (passes - searches["pdr_fails_ns"].astype(float).map(math.log)).fillna(0.0) / 2
    middles, logs = passes - half_widths, costs.astype(float).map(math.log)
    n = min(len(middles), len(logs))
    if n < FEWEST_ESTIMATES:
        return compare(middles.map(math.exp), costs, MATCHES)
    error = math.sqrt(middles.var(ddof=1) / len(middles) + logs.var(ddof=1) / len(logs))
    return of_estimate(float(middles.mean() - logs.mean()), error, n, float(half_widths.max()), MATCHES)


def _matches(data: Both) -> Evidence:
    """That the smallest interval equals the cost in batch, allocating in case A."""
    expected = []
    for cell in _allocating_in_a(data):
        in_batch = Cell(cell.solution, "alloc", "A")
        searches, costs = _searches_of(in_batch, data.searches), data.batch.values(in_batch)
        gap = data.realtime.gap(cell)
        if costs.empty:
            gap = gap or "no figure in batch at its scale"
        elif searches["pdr_ns"].isna().any():
            gap = gap or "no interval passes in every search"
        compared = interval_over_cost(searches.iloc[:0] if gap else searches, costs)
        expected.append(Equality(f"smallest interval of {in_batch}", "its cost in batch", compared, gap or ""))
    return of_orderings(expected, () if expected else [Missing("allocating in case A", "not searched in real time")])


def _allocating_in_a(data: Both) -> list[Any]:
    cells = data.realtime.cells
    return records(cells[(cells["language"] == "java") & (cells["strategy"] == "alloc") & (cells["case"] == "A")])


def _searches_of(cell: Cell, searches: pd.DataFrame) -> pd.DataFrame:
    """The finished searches of a cell at the published heap."""
    done = finished(searches)
    here = (done["solution"] == cell.solution) & (done["strategy"] == cell.strategy) & (done["case"] == cell.case)
    return done[here & (done["heap_factor"].isna() | (done["heap_factor"] == 1))]


def _published_matches() -> Evidence:
    """The published intervals over the published costs: within the margin, or not."""
    data = Both(Batch(published_as_trials(), PUBLISHED), realtime_claims.published(), pd.DataFrame())
    rows = []
    for cell in _allocating_in_a(data):
        costs = data.batch.values(Cell(cell.solution, "alloc", "A"))
        if len(costs) and pd.notna(cell.pdr_ns):
            ratio = cell.pdr_ns / stats.geometric_mean(costs)
            near = 1 / MATCHES <= ratio <= MATCHES
            rows.append([cell.solution, ratio, AS_PUBLISHED if near else OTHER_WAY])
        else:
            rows.append([cell.solution, math.nan, NOT_MEASURED])
    return Evidence(pd.DataFrame(rows, columns=["configuration", "ratio", "shown"]))


def _told(evidence: Evidence) -> str:
    total = len(evidence.rows)
    if not total:
        return "Nothing that it speaks of was measured."
    counted = [
        f"{shown} in {count}"
        for shown in (OTHER_WAY, EQUIVALENT, OPEN, NOT_MEASURED)
        if (count := evidence.count(shown))
    ]  # fmt: skip
    return "; ".join([f"Shown in {evidence.count(AS_PUBLISHED)} of {total}", *counted]) + "."


def _matching_told(evidence: Evidence) -> str:
    ratios = evidence.measured["ratio"] if len(evidence.rows) else pd.Series(dtype=float)
    span = f" The smallest interval is {stats.span(ratios)} times the cost in batch." if len(ratios) else ""
    return f"{_told(evidence)}{span}"


FINDINGS_CLAIMS: tuple[Claim[Both], ...] = (
    Claim(
        "pool-everywhere",
        "In every single test, batch and real time, pooling performs better than allocating.",
        ARTICLE,
        _pool_everywhere,
        _told,
        needs_all=True,
        published=_published_pool_everywhere,
        set_ups=THEN_AND_NOW,
    ),
    Claim(
        "batch-predicts-realtime",
        "The smallest interval without loss matches the cost of a packet in batch (allocating, case A).",
        ARTICLE,
        _matches,
        _matching_told,
        needs_all=True,
        published=_published_matches,
        set_ups=THEN_AND_NOW,
    ),
)
"""Those that batch and real time decide together."""


def verdicts(measured: Measured) -> list[Verdict]:
    """Every claim of the article, put to all that was measured, each set-up apart; all of them judged together."""
    trials, cells = measured.batch, measured.realtime
    realtime = campaign.stored("realtime", measured.profile)[0]
    pauses = campaign.stored("pauses", measured.profile)[0]
    native = campaign.stored("native", measured.profile)[0]
    of_realtime = realtime_claims.evaluate(cells, realtime["trials"], realtime["searches"])
    scales = measured.searches["scale"].unique()
    # Real time has batch trials of its cells at its own scale.
    every = pd.concat([trials, realtime["batch"]]).drop_duplicates("trial_id") if "batch" in realtime else trials
    same_scale = every[every["scale"].isin(scales)] if len(scales) == 1 else trials.iloc[:0]

    def both(set_up: str, of_batch: pd.DataFrame) -> Both:
        return Both(Batch(of_batch, set_up), Realtime.of(cells, realtime["trials"], 0.0, set_up), measured.searches)

    everywhere, predicts = FINDINGS_CLAIMS
    points = scaling.points(pauses["trials"], pauses["collections"], pauses["cpu"])
    of_pauses = pauses_claims.evaluate(pauses["trials"], pauses["collections"], points, scaling.fits(points))
    judged = [
        *claims.evaluate_apart([everywhere], lambda set_up: both(set_up, trials)),
        *batch_claims.evaluate(trials),
        *of_realtime,
        *claims.evaluate_apart([predicts], lambda set_up: both(set_up, same_scale)),
        *of_pauses,
        *claims.evaluate_apart(native_claims.NATIVE_CLAIMS, lambda _set_up: native["counters"]),
    ]
    once = {(verdict.claim.id, verdict.set_up): verdict for verdict in judged[::-1]}
    return claims.judged_together(list(once.values())[::-1])
