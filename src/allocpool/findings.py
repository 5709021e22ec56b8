"""The answer over all studies of packets: every solution measured, in batch and in real time, and every claim of the
article.

Costs are compared at one scale only: what fits into a cache is another thing at another scale.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from allocpool import stats
from allocpool.campaign import campaign
from allocpool.evidence import claims
from allocpool.evidence.claims import (
    AS_PUBLISHED,
    NO_DIFFERENCE,
    NOT_MEASURED,
    OTHER_WAY,
    Claim,
    Evidence,
    Missing,
    Verdict,
)
from allocpool.evidence.trials import records
from allocpool.packets import cells as cell_data
from allocpool.packets.comparisons import PUBLISHED, THEN_AND_NOW, Batch, Cell
from allocpool.packets.published import ARTICLE, published_as_trials
from allocpool.packets.specs import CASES
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
        not last."""
        tables = [self._table(study, "trials") for study in ("batch", "native", "pauses")]
        rows = pd.concat([table for table in tables if len(table)] or tables[:1], ignore_index=True)
        rows = cell_data.as_set(rows[rows["mode"] == "batch"].drop_duplicates("trial_id"))
        return rows[rows["pool_order"] != "fresh"] if "pool_order" in rows else rows

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
    """The answer by case, where it turns, and the cheapest of all solutions, in batch and in real time."""
    parts = [
        f"{words}:\n\n{batch_story.where_it_turns(trials)}"
        for words, trials in measured.by_scale()
        if _both_ways(trials[trials["language"] == "java"])
    ]
    return "\n\n".join([*parts, *cheapest_in_batch(measured), fastest_in_realtime(measured)]).strip()


def cheapest_in_batch(measured: Measured) -> list[str]:
    """Per scale the cheapest cells by case, over every solution of every study."""
    told = []
    for words, trials in measured.by_scale():
        done = cell_data.with_cost(trials)
        if len(done):
            count = done["solution"].nunique()
            told.append(f"{words}, cheapest of all {count} solutions in batch:\n\n{batch_story.cheapest(trials)}")
    return told


def fastest_in_realtime(measured: Measured) -> str:
    """Per case the smallest intervals, over every solution that was searched."""
    cells = measured.realtime
    passing = cells[cells["pdr_ns"].notna()]
    if passing.empty:
        return ""
    lines = []
    for case in cell_data.present(CASES, passing["case"]):
        group = passing[passing["case"] == case].sort_values("pdr_ns")
        java = group[group["language"] == "java"]
        named = {"best overall": group[:1], "best Java": java[:1]}
        texts = [
            f"{rank}: {row.solution} with {row.strategy}, {stats.significant(row.pdr_ns)} ns"
            for rank, rows in named.items()
            for row in records(rows)
        ]
        lines.append(f"- **Case {case}**, {'; '.join(texts)}.")
    solutions = cells["solution"].nunique()
    return f"Smallest interval of all {solutions} solutions searched in real time:\n\n" + "\n".join(lines)


@dataclass(frozen=True)
class Both:
    """What a claim about batch and real time is put to."""

    batch: Batch
    realtime: Realtime


def _joined(costs: Evidence, intervals: Evidence) -> Evidence:
    """Orderings of costs and findings on intervals as one."""
    ratios = [
        ["batch", f"{row.larger} over {row.smaller}", stats.significant(row.ratio), row.shown]
        for row in records(costs.rows)
    ]
    searched = [["real time", row.configuration, row.found, row.shown] for row in records(intervals.rows)]
    rows = pd.DataFrame([*ratios, *searched], columns=["in", "configuration", "found", "shown"])
    return Evidence(rows, tuple(dict.fromkeys([*costs.missing, *intervals.missing])))


def _pool_everywhere(data: Both) -> Evidence:
    return _joined(
        batch_claims.POOL_EVERYWHERE.evidence(data.batch), realtime_claims.POOL_EVERYWHERE.evidence(data.realtime)
    )


def _published_pool_everywhere() -> Evidence:
    costs, intervals = batch_claims.POOL_EVERYWHERE.published, realtime_claims.POOL_EVERYWHERE.published
    return _joined(costs(), intervals()) if costs and intervals else Evidence(pd.DataFrame(columns=["shown"]))


def _matches(data: Both) -> Evidence:
    """The smallest interval over the cost in batch, allocating in case A: within the margin, outside, or neither."""
    cells = data.realtime.cells
    cells = cells[(cells["language"] == "java") & (cells["strategy"] == "alloc") & (cells["case"] == "A")]
    rows, missing = [], []
    for cell in records(cells):
        in_batch = Cell(cell.solution, "alloc", "A")
        costs, gap = data.batch.values(in_batch), data.realtime.gap(cell)
        if gap or costs.empty or pd.isna(cell.pdr_ns):
            why = gap or ("no figure in batch at its scale" if costs.empty else "no interval passes")
            rows.append([str(in_batch), np.nan, NOT_MEASURED])
            missing.append(Missing(str(in_batch), why))
            continue
        cost_ns = stats.geometric_mean(costs)
        fails_ns = cell.pdr_ns if pd.isna(cell.pdr_fails_ns) else cell.pdr_fails_ns
        low, high = fails_ns / cost_ns, cell.pdr_ns / cost_ns
        near = low >= 1 / MATCHES and high <= MATCHES
        far = low > MATCHES or high < 1 / MATCHES
        rows.append([str(in_batch), high, AS_PUBLISHED if near else OTHER_WAY if far else NO_DIFFERENCE])
    if cells.empty:
        missing.append(Missing("allocating in case A", "not searched in real time"))
    evidence = pd.DataFrame(rows, columns=["configuration", "interval_over_cost", "shown"])
    return Evidence(evidence, tuple(missing))


def _told(evidence: Evidence) -> str:
    total = len(evidence.rows)
    if not total:
        return "Nothing that it speaks of was measured."
    counted = [
        f"{shown} in {count}"
        for shown in (OTHER_WAY, NO_DIFFERENCE, NOT_MEASURED)
        if (count := evidence.count(shown))
    ]  # fmt: skip
    return "; ".join([f"Shown in {evidence.count(AS_PUBLISHED)} of {total}", *counted]) + "."


def _matching_told(evidence: Evidence) -> str:
    ratios = evidence.measured["interval_over_cost"] if len(evidence.rows) else pd.Series(dtype=float)
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
        published=lambda: _matches(Both(Batch(published_as_trials(), PUBLISHED), realtime_claims.published())),
        set_ups=THEN_AND_NOW,
    ),
)
"""Those that batch and real time decide together."""


def verdicts(measured: Measured) -> list[Verdict]:
    """Every claim of the article, put to all that was measured, each set-up apart."""
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
        return Both(Batch(of_batch, set_up), Realtime.of(cells, realtime["trials"], 0.0, set_up))

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
    return list({(verdict.claim.id, verdict.set_up): verdict for verdict in judged[::-1]}.values())[::-1]
