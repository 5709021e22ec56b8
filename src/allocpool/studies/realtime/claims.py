"""The real-time conclusions of "To allocate or to pool?", each as a test that fresh data can fail.

Two kinds: a cell reaches real time or does not (some interval passes, or none does), and one cell's smallest interval
lies below another's, which is shown when their brackets do not overlap. Two remarks of the article that it did not test
are put to the sweeps. What is expected holds in the published table itself, which goes through the same tests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pandas as pd

from allocpool import stats
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
from allocpool.evidence.trials import NOT_PART, finished, records
from allocpool.packets.comparisons import POOLING_STRATEGIES
from allocpool.packets.published import ARTICLE, family
from allocpool.packets.specs import CASES
from allocpool.studies.realtime.cells import LOSES


class Wanted(NamedTuple):
    """The cells that a claim speaks of; ``families`` are published collectors."""

    language: str = "java"
    layout: str | None = None
    families: Sequence[str] = ()
    strategies: Sequence[str] = POOLING_STRATEGIES
    cases: Iterable[str] = tuple(CASES)

    def among(self, rows: pd.DataFrame) -> pd.DataFrame:
        """The rows that match every given fact."""
        match = (rows["language"] == self.language) & rows["strategy"].isin(self.strategies)
        match &= rows["case"].isin(list(self.cases))
        if self.layout is not None:
            match &= rows["layout"] == self.layout
        if self.families:
            match &= _families(rows).isin(self.families)
        return rows[match]

    def missing(self, rows: pd.DataFrame) -> list[Missing]:
        """Published collectors that have no row at all."""
        there = set(_families(self.among(rows)))
        return [Missing(name, NOT_PART.word) for name in self.families if name not in there]


def _families(rows: pd.DataFrame) -> pd.Series:
    names = [
        family(language, collector) for language, collector in zip(rows["language"], rows["collector"], strict=True)
    ]
    return pd.Series(names, index=rows.index, dtype="object")


@dataclass(frozen=True)
class Realtime:
    """What a claim is put to: the cells of the searches and the single trials of the sweeps."""

    cells: pd.DataFrame
    sweeps: pd.DataFrame


class Finding(NamedTuple):
    """One row of evidence; ``why_not`` where it was not measured."""

    configuration: str
    found: str
    shown: str
    why_not: str = ""


def _evidence(findings: Sequence[Finding], missing: Iterable[Missing] = ()) -> Evidence:
    rows = pd.DataFrame(findings, columns=list(Finding._fields)).drop(columns="why_not")
    lacking = [Missing(item.configuration, item.why_not) for item in findings if item.shown == NOT_MEASURED]
    return Evidence(rows, (*missing, *lacking))


def _name(row: Any) -> str:
    return f"{row.solution} {row.strategy} {row.case}"


def _reaches(expected: bool, wanted: Wanted) -> Callable[[Realtime], Evidence]:
    """Whether some interval passes in each of these cells, as expected or not."""

    def finding(row: Any) -> Finding:
        if row.n == 0:
            return Finding(_name(row), str(row.gap), NOT_MEASURED, str(row.gap))
        passes = row.answer != LOSES
        outcome = f"{stats.significant(row.pdr_ns)} ns" if passes else f"loses {stats.significant(row.lost_percent)}%"
        return Finding(_name(row), outcome, AS_PUBLISHED if passes == expected else OTHER_WAY)

    return lambda data: _evidence(
        [finding(row) for row in records(wanted.among(data.cells))], wanted.missing(data.cells)
    )


def _faster(fast: pd.DataFrame, slow: pd.DataFrame) -> list[Finding]:
    """Whether each of the cells on the left has a smaller interval than every one on the right, case by case."""
    findings = []
    for left in records(fast):
        for right in records(slow[slow["case"] == left.case]):
            names = f"{_name(left)} below {_name(right)}"
            if gaps := [f"{_name(row)}: {row.gap}" for row in (left, right) if row.n == 0]:
                findings.append(Finding(names, "a side is missing", NOT_MEASURED, "; ".join(gaps)))
                continue
            findings.append(Finding(names, f"{_interval(left)}, {_interval(right)}", _compared(left, right)))
    return findings


def _interval(row: Any) -> str:
    return "none passes" if pd.isna(row.pdr_ns) else f"{stats.significant(row.pdr_ns)} ns"


def _compared(left: Any, right: Any) -> str:
    """By brackets, [largest that fails, smallest that passes]; an open end is the answer itself, or infinite."""

    def ends(row: Any) -> tuple[float, float]:
        high = float("inf") if pd.isna(row.pdr_ns) else row.pdr_ns
        return (high if pd.isna(row.pdr_fails_ns) else row.pdr_fails_ns), high

    (left_low, left_high), (right_low, right_high) = ends(left), ends(right)
    if left_high <= right_low and left_high < right_high:
        return AS_PUBLISHED
    if right_high <= left_low and right_high < left_high:
        return OTHER_WAY
    return NO_DIFFERENCE


def _pooling_in_cpp(data: Realtime) -> Evidence:
    return _evidence([
        finding
        for layout in ("allocating", "flat")
        for finding in _faster(
            Wanted("cpp", layout, strategies=["pool"]).among(data.cells),
            Wanted("cpp", layout, strategies=["alloc"]).among(data.cells),
        )
    ])  # fmt: skip


def _flat_against_java(data: Realtime) -> Evidence:
    """The flat pool against the Java cell with the smallest interval of each case."""
    java = Wanted("java").among(data.cells)
    best = java[java["pdr_ns"].notna()].sort_values("pdr_ns").drop_duplicates("case")
    return _evidence(_faster(Wanted("cpp", "flat", strategies=["pool"]).among(data.cells), best))


def _sweep_pairs(
    data: Realtime, column: str, low: float, high: float, families: Sequence[str]
) -> list[tuple[Any, Any]]:
    """Trials of one configuration at two values of ``column``, in this order."""
    pairs = []
    rows = Wanted(layout="heap", families=families).among(data.sweeps)
    other, usual = ("heap_factor", 1.0) if column == "input_queue_ms" else ("input_queue_ms", 100.0)
    for _, group in rows[rows[other] == usual].groupby(["solution", "strategy", "case", "block"], observed=True):
        first, second = group[group[column] == low], group[group[column] == high]
        if len(first) and len(second):
            pairs.append((records(first)[0], records(second)[0]))
    return pairs


def _longer_queue_rescues_pooling(data: Realtime) -> Evidence:
    findings = []
    for usual, longer in _sweep_pairs(data, "input_queue_ms", 100.0, 1000.0, ["CMS"]):
        if usual.strategy != "pool" or not usual.lost_ppm > 0:
            continue
        outcome = f"{_percent(usual.lost_ppm)} lost, with a queue of one second {_percent(longer.lost_ppm)}"
        findings.append(Finding(_name(usual), outcome, AS_PUBLISHED if longer.lost_ppm == 0 else OTHER_WAY))
    return _evidence(findings)


def _larger_heap_does_not_cure(data: Realtime) -> Evidence:
    """In the sweeps, and in the cells where no interval passes."""
    families = ["CMS", "G1", "ZGC"]
    losses = [
        (_name(usual), usual.lost_ppm, larger.lost_ppm)
        for usual, larger in _sweep_pairs(data, "heap_factor", 1.0, 5.0, families)
    ]
    cells = Wanted(layout="heap", families=families).among(data.cells)
    for cell in records(cells[cells["larger_heap_lost_percent"].notna()]):
        losses.append((_name(cell), 1e4 * cell.lost_percent, 1e4 * cell.larger_heap_lost_percent))
    findings = []
    for name, usual_ppm, larger_ppm in losses:
        if usual_ppm > 0:
            outcome = f"{_percent(usual_ppm)} lost, with five times the heap {_percent(larger_ppm)}"
            shown = AS_PUBLISHED if 0 < larger_ppm < usual_ppm else OTHER_WAY
            findings.append(Finding(name, outcome, shown))
    no_heap = [
        Missing(f"{_name(cell)} with a larger heap", str(cell.larger_heap_gap))
        for cell in records(cells[cells["larger_heap_gap"].notna()])
    ]
    return _evidence(findings, no_heap)


def _percent(ppm: float) -> str:
    return f"{stats.significant(ppm / 1e4)}%"


def _sentence(evidence: Evidence) -> str:
    total = len(evidence.rows)
    if not total:
        return "Nothing that it speaks of is part of this campaign."
    if len(against := evidence.against):
        first = against.iloc[0]
        return (
            f"Shown the other way round in {len(against)} of {total}, "
            f"for example {first['configuration']}: {first['found']}."
        )
    parts = [f"Shown in {evidence.count(AS_PUBLISHED)} of {total}"]
    parts += [f"{shown} in {count}" for shown in (NO_DIFFERENCE, NOT_MEASURED) if (count := evidence.count(shown))]
    return "; ".join(parts) + "."


def _claim(id: str, text: str, evidence: Callable[[Realtime], Evidence]) -> Claim[Realtime]:
    return Claim(id, text, ARTICLE, evidence, _sentence)


REALTIME_CLAIMS = (
    _claim(
        "realtime-pool-parallel",
        "With heap buffers, a pool never reaches real time on CMS (or Parallel): packets are lost in every case.",
        _reaches(False, Wanted(layout="heap", families=["CMS"], strategies=["pool"])),
    ),
    _claim(
        "realtime-mix-parallel",
        "With heap buffers, the smaller pool (mix) does reach real time on CMS (or Parallel), but for overload.",
        _reaches(True, Wanted(layout="heap", families=["CMS"], strategies=["mix"], cases="AB")),
    ),
    _claim(
        "realtime-pool-zgc",
        "With heap buffers, pools reach real time on ZGC in every case.",
        _reaches(True, Wanted(layout="heap", families=["ZGC"], strategies=["mix", "pool"])),
    ),
    _claim(
        "realtime-alloc-overload",
        "With heap buffers, allocating loses packets in overload on every collector.",
        _reaches(False, Wanted(layout="heap", families=["CMS", "G1", "ZGC"], strategies=["alloc"], cases="C")),
    ),
    _claim(
        "realtime-native-pool",
        "With native buffers, a pool reaches real time on G1 and ZGC in every case.",
        _reaches(True, Wanted(layout="native", families=["G1", "ZGC"], strategies=["pool"])),
    ),
    _claim(
        "realtime-cpp-pool",
        "In C++, a pool keeps up with smaller intervals than new and delete.",
        _pooling_in_cpp,
    ),
    _claim(
        "realtime-flat-fastest",
        "Flat C++ with a pool keeps up with smaller intervals than the best Java.",
        _flat_against_java,
    ),
    _claim(
        "realtime-long-queue",
        "A source queue of one second rescues pooling on CMS (or Parallel).",
        _longer_queue_rescues_pooling,
    ),
    _claim(
        "realtime-large-heap",
        "A heap five times as large reduces losses but does not cure them.",
        _larger_heap_does_not_cure,
    ),
)


def evaluate(cells: pd.DataFrame, trials: pd.DataFrame) -> list[Verdict]:
    """Put every claim to the cells of a campaign (`realtime_cells`) and its single trials."""
    return claims.evaluate(REALTIME_CLAIMS, Realtime(cells, finished(trials)))
