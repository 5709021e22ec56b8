"""A cell is all trials of one solution, strategy and case: its figure, its spread, or the reason why it is
empty.

Figures and tables are drawn from cells, so that a gap reaches the reader through the same door as a number.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from allocpool import stats
from allocpool.evidence import reference
from allocpool.packets.layouts import LAYOUTS
from allocpool.packets.specs import Solution
from allocpool.runtimes.collectors import COLLECTORS, collector_named, collectors_that

CONFIGURATION = ("solution", "strategy", "case")
SOLUTION_FACTS = ("language", "layout", "collector", "runtime")
_SUMMARY_COLUMNS = ("trials", "n", "ns", "low", "high", "method", "cv", "unstable", "gap", "partial")
_Row = dict[str, Any]
CONTROLS = collectors_that(lambda row: row.is_control)
"""Collectors that are no choice for a program that goes on: they show what a packet costs without collecting."""


def records(rows: pd.DataFrame) -> list[Any]:
    """The rows as named tuples, untyped: a column's type is the table's business."""
    return list(rows.itertuples())


def finished(trials: pd.DataFrame) -> pd.DataFrame:
    """The trials that ended well and carry a figure."""
    return trials[(trials["status"] == "ok") & trials["ns_per_packet"].notna()]


def solution_order(rows: pd.DataFrame) -> list[str]:
    """Solutions as a reader expects them: Java by layout, collector, runtime; then C++ by layout.

    Raises:
        UserError: an unknown collector; names the known ones.
    """
    facts = rows.drop_duplicates("solution")

    def rank(order: Sequence[str], value: object) -> int:
        return order.index(str(value)) if str(value) in order else len(order)

    keys = [
        (
            row.language != "java",
            rank(LAYOUTS[row.language], row.layout),
            tuple(COLLECTORS).index(collector_named(row.collector).name) if row.language == "java" else 0,
            0 if pd.isna(row.runtime) else int(row.runtime),
            row.solution,
        )
        for row in records(facts)
    ]
    return [key[-1] for key in sorted(keys)]


def gap_of(group: pd.DataFrame) -> str:
    """Why a cell with trials but without a figure is empty: the commonest failure, with its reason."""
    failure = group.loc[group["status"] != "ok"]
    if failure.empty:
        return "no figure"
    status = str(failure["status"].mode().iloc[0])
    reasons = failure.loc[failure["status"] == status, "reason"].dropna()
    return status.replace("_", " ") + (f": {reasons.iloc[0]}" if len(reasons) else "")


def _summary(group: pd.DataFrame, value: str) -> _Row:
    good = finished(group)
    row: _Row = {
        "trials": len(group),
        "n": len(good),
        "ns": np.nan,
        "low": np.nan,
        "high": np.nan,
        "method": None,
        "cv": np.nan,
        "unstable": None,
        "gap": None,
        "partial": None,
    }
    if good.empty:
        return row | {"gap": gap_of(group)}
    interval = stats.geometric_interval(good[value])
    steadiness = stats.stability(good[value])
    partial = f"{len(group) - len(good)} of {len(group)} trials: {gap_of(group)}" if len(good) < len(group) else None
    return row | {
        "ns": interval.estimate,
        "low": interval.low,
        "high": interval.high,
        "method": interval.method,
        "cv": steadiness.coefficient_of_variation,
        "unstable": steadiness.reason,
        "partial": partial,
    }


def _not_run(plan: pd.DataFrame, present: set[tuple[str, ...]], pairs: Iterable[tuple[str, str]]) -> list[_Row]:
    """Empty rows for the planned cells without a single trial."""
    rows = []
    for row in records(plan[plan["planned"].astype(bool)]):
        solution = Solution.parse(row.key)
        facts = {name: getattr(solution, name) for name in SOLUTION_FACTS}
        for strategy, case in pairs:
            if (row.solution, strategy, case) not in present:
                names = {"solution": row.solution, "strategy": strategy, "case": case}
                rows.append({**names, **facts, "trials": 0, "n": 0, "gap": "not run yet"})
    return rows


def cells(
    trials: pd.DataFrame,
    plan: pd.DataFrame | None = None,
    pairs: Iterable[tuple[str, str]] = (),
    value: str = "ns_per_packet",
) -> pd.DataFrame:
    """One row per solution, strategy and case.

    Columns: the solution's facts, ``trials``, ``n`` (trials with a figure), ``ns`` (geometric mean of
    ``value`` over trials), ``low``, ``high``, ``method`` (see `stats.Interval`), ``cv``, ``unstable``
    (reason or None), ``gap`` (why there is no figure, or None), ``partial`` (what failed beside the figure,
    or None), ``published_ns``. With ``plan`` (a study's plan summary) and the (strategy, case) ``pairs``
    that it runs, the planned cells that have not run yet get their row as well.
    """
    rows: list[_Row] = []
    for key, group in trials.groupby(list(CONFIGURATION), observed=True):
        facts = {fact: group[fact].iloc[0] for fact in SOLUTION_FACTS}
        rows.append({**dict(zip(CONFIGURATION, key, strict=True)), **facts, **_summary(group, value)})
    if plan is not None:
        present = {tuple(str(row[name]) for name in CONFIGURATION) for row in rows}
        rows += _not_run(plan, present, list(pairs))
    frame = pd.DataFrame(rows, columns=[*CONFIGURATION, *SOLUTION_FACTS, *_SUMMARY_COLUMNS])
    for name in ("ns", "low", "high", "cv"):
        frame[name] = frame[name].astype(float)
    return reference.with_published(frame)


def by_block(trials: pd.DataFrame, solution: str, strategy: str, case: str, value: str = "ns_per_packet") -> pd.Series:
    """The figures of one cell, indexed by block: what paired comparisons are made of."""
    good = finished(trials)
    rows = good[(good["solution"] == solution) & (good["strategy"] == strategy) & (good["case"] == case)]
    return rows.set_index("block")[value].astype(float)


def spread_caption(rows: pd.DataFrame) -> str:
    """What the bars of a figure mean and how many trials are behind a dot, computed from the cells drawn."""
    drawn = rows[rows["n"] > 0]
    if drawn.empty:
        return "No trial has finished."
    n_low, n_high = int(drawn["n"].min()), int(drawn["n"].max())
    n_text = f"n = {n_low}" if n_low == n_high else f"n = {n_low} to {n_high}"
    kinds = [stats.describe_method(str(method), int(group["n"].min())) for method, group in drawn.groupby("method")]
    return f"{n_text} trials each, every trial a fresh process; spread: {'; '.join(sorted(kinds))}."
