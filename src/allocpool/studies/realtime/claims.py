"""The real-time conclusions of "To allocate or to pool?", each as a test that fresh data can fail.

Two kinds: a cell reaches real time or does not (some interval passes, or none does), and one cell's smallest interval
lies below another's, which is shown when their brackets do not overlap. Two remarks of the article that it did not test
are put to the sweeps. What is expected holds in the published table itself, which goes through the same tests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import pandas as pd

from allocpool import stats
from allocpool.evidence import reference
from allocpool.evidence.claims import INCONCLUSIVE, POOLING_STRATEGIES, REFUTED, REPRODUCED, Claim, Verdict
from allocpool.packets.cells import records
from allocpool.packets.specs import CASES
from allocpool.studies.realtime import cells as realtime_cells
from allocpool.studies.realtime.cells import LOSES

AS_PUBLISHED, OTHER_WAY, NOT_SHOWN, NOT_MEASURED = (
    "as published", "the other way round", "no difference shown", "not measured",
)  # fmt: skip


@dataclass(frozen=True)
class Realtime:
    """What a claim is put to: the cells of the searches and the single trials of the sweeps."""

    cells: pd.DataFrame
    sweeps: pd.DataFrame

    def of(
        self,
        language: str = "java",
        layout: str | None = None,
        families: Sequence[str] = (),
        strategies: Sequence[str] = POOLING_STRATEGIES,
        cases: Iterable[str] = CASES,
    ) -> pd.DataFrame:
        """The cells that match every given fact."""
        return _matching(self.cells, language, layout, families, strategies, cases)


def _matching(
    rows: pd.DataFrame,
    language: str,
    layout: str | None,
    families: Sequence[str],
    strategies: Sequence[str],
    cases: Iterable[str],
) -> pd.DataFrame:
    wanted = (rows["language"] == language) & rows["strategy"].isin(strategies) & rows["case"].isin(list(cases))
    if layout is not None:
        wanted &= rows["layout"] == layout
    if families:
        found = [reference.family(*facts) for facts in zip(rows["language"], rows["collector"], strict=True)]
        wanted &= pd.Series(found, index=rows.index).isin(families)
    return rows[wanted]


@dataclass(frozen=True)
class Finding:
    """One row of evidence."""

    configuration: str
    found: str
    shown: str


Rule = Callable[[Realtime], list[Finding]]


def _name(row: object) -> str:
    return f"{row.solution} {row.strategy} {row.case}"  # type: ignore[attr-defined]


def _reaches(rows: pd.DataFrame, expected: bool) -> list[Finding]:
    """Whether some interval passes in each of these cells."""
    findings = []
    for row in records(rows):
        if row.n == 0:
            findings.append(Finding(_name(row), str(row.gap), NOT_MEASURED))
            continue
        passes = row.answer != LOSES
        found = f"{stats.significant(row.pdr_ns)} ns" if passes else f"loses {stats.significant(row.lost_percent)}%"
        findings.append(Finding(_name(row), found, AS_PUBLISHED if passes == expected else OTHER_WAY))
    return findings


def _faster(fast: pd.DataFrame, slow: pd.DataFrame) -> list[Finding]:
    """Whether each of the cells on the left has a smaller interval than every one on the right, case by case."""
    findings = []
    for left in records(fast):
        for right in records(slow[slow["case"] == left.case]):
            names = f"{_name(left)} below {_name(right)}"
            if left.n == 0 or right.n == 0:
                findings.append(Finding(names, "a side is missing", NOT_MEASURED))
                continue
            findings.append(Finding(names, f"{_interval(left)}, {_interval(right)}", _compared(left, right)))
    return findings


def _interval(row: object) -> str:
    passes: float = row.pdr_ns  # type: ignore[attr-defined]
    return "none passes" if pd.isna(passes) else f"{stats.significant(passes)} ns"


def _compared(left: object, right: object) -> str:
    """By brackets, [largest that fails, smallest that passes]; an open end is the answer itself, or infinite."""

    def ends(row: object) -> tuple[float, float]:
        passes: float = row.pdr_ns  # type: ignore[attr-defined]
        fails: float = row.pdr_fails_ns  # type: ignore[attr-defined]
        high = float("inf") if pd.isna(passes) else passes
        return (high if pd.isna(fails) else fails), high

    (left_low, left_high), (right_low, right_high) = ends(left), ends(right)
    if left_high <= right_low and left_high < right_high:
        return AS_PUBLISHED
    if right_high <= left_low and right_high < left_high:
        return OTHER_WAY
    return NOT_SHOWN


def _best_java(data: Realtime) -> pd.DataFrame:
    """The Java cell with the smallest interval of each case."""
    java = data.of("java")
    passing = java[java["pdr_ns"].notna()]
    return passing.sort_values("pdr_ns").drop_duplicates("case")


def _sweep_pairs(data: Realtime, column: str, low: float, high: float, families: Sequence[str]) -> list[pd.DataFrame]:
    """Trials of one configuration at two values of ``column``, in this order."""
    pairs = []
    rows = _matching(data.sweeps, "java", "heap", families, POOLING_STRATEGIES, CASES)
    other = "heap_factor" if column == "input_queue_ms" else "input_queue_ms"
    usual = 1.0 if other == "heap_factor" else 100.0
    for _, group in rows[rows[other] == usual].groupby(["solution", "strategy", "case", "block"], observed=True):
        first, second = group[group[column] == low], group[group[column] == high]
        if len(first) and len(second):
            pairs.append(pd.concat([first.iloc[:1], second.iloc[:1]]))
    return pairs


def _longer_queue_rescues_pooling(data: Realtime) -> list[Finding]:
    findings = []
    for pair in _sweep_pairs(data, "input_queue_ms", 100.0, 1000.0, ["CMS"]):
        usual, longer = records(pair)
        if usual.strategy != "pool" or not usual.lost_ppm > 0:
            continue
        found = f"{_percent(usual.lost_ppm)} lost, with a queue of one second {_percent(longer.lost_ppm)}"
        findings.append(Finding(_name(usual), found, AS_PUBLISHED if longer.lost_ppm == 0 else OTHER_WAY))
    return findings


def _larger_heap_does_not_cure(data: Realtime) -> list[Finding]:
    """In the sweeps, and in the cells where no interval passes."""
    losses = []
    for pair in _sweep_pairs(data, "heap_factor", 1.0, 5.0, ["CMS", "G1", "ZGC"]):
        usual, larger = records(pair)
        losses.append((_name(usual), usual.lost_ppm, larger.lost_ppm))
    cells = data.of(layout="heap", families=["CMS", "G1", "ZGC"])
    for cell in records(cells[cells["larger_heap_lost_percent"].notna()]):
        losses.append((_name(cell), 1e4 * cell.lost_percent, 1e4 * cell.larger_heap_lost_percent))
    findings = []
    for name, usual_ppm, larger_ppm in losses:
        if usual_ppm > 0:
            found = f"{_percent(usual_ppm)} lost, with five times the heap {_percent(larger_ppm)}"
            shown = AS_PUBLISHED if 0 < larger_ppm < usual_ppm else OTHER_WAY
            findings.append(Finding(name, found, shown))
    return findings


def _percent(ppm: float) -> str:
    return f"{stats.significant(ppm / 1e4)}%"


def _judge(claim: Claim, data: Realtime, rule: Rule) -> Verdict:
    findings = rule(data)
    evidence = pd.DataFrame(
        [(item.configuration, item.found, item.shown) for item in findings], columns=["configuration", "found", "shown"]
    )
    counts = evidence["shown"].value_counts()
    against = evidence[evidence["shown"] == OTHER_WAY]
    if len(against):
        worst = against.iloc[0]
        sentence = (
            f"Shown the other way round in {len(against)} of {len(evidence)}, "
            f"for example {worst['configuration']}: {worst['found']}."
        )
        return Verdict(claim, REFUTED, sentence, evidence)
    if not len(evidence):
        return Verdict(claim, INCONCLUSIVE, "Nothing that it speaks of is part of this campaign.", evidence)
    shown = int(counts.get(AS_PUBLISHED, 0))
    parts = [f"Shown in {shown} of {len(evidence)}"]
    parts += [f"{name} in {counts[name]}" for name in (NOT_SHOWN, NOT_MEASURED) if name in counts]
    return Verdict(claim, REPRODUCED if shown == len(evidence) else INCONCLUSIVE, "; ".join(parts) + ".", evidence)


def _claim(name: str, text: str, rule: Rule) -> Claim:
    return Claim(name, text, reference.ARTICLE, lambda claim, data: _judge(claim, data, rule))


REALTIME_CLAIMS = (
    _claim(
        "realtime-pool-parallel",
        "With heap buffers, a pool never reaches real time on CMS (or Parallel): packets are lost in every case.",
        lambda data: _reaches(data.of(layout="heap", families=["CMS"], strategies=["pool"]), False),
    ),
    _claim(
        "realtime-mix-parallel",
        "With heap buffers, the smaller pool (mix) does reach real time on CMS (or Parallel), but for overload.",
        lambda data: _reaches(data.of(layout="heap", families=["CMS"], strategies=["mix"], cases="AB"), True),
    ),
    _claim(
        "realtime-pool-zgc",
        "With heap buffers, pools reach real time on ZGC in every case.",
        lambda data: _reaches(data.of(layout="heap", families=["ZGC"], strategies=["mix", "pool"]), True),
    ),
    _claim(
        "realtime-alloc-overload",
        "With heap buffers, allocating loses packets in overload on every collector.",
        lambda data: _reaches(
            data.of(layout="heap", families=["CMS", "G1", "ZGC"], strategies=["alloc"], cases="C"), False
        ),
    ),
    _claim(
        "realtime-native-pool",
        "With native buffers, a pool reaches real time on G1 and ZGC in every case.",
        lambda data: _reaches(data.of(layout="native", families=["G1", "ZGC"], strategies=["pool"]), True),
    ),
    _claim(
        "realtime-cpp-pool",
        "In C++, a pool keeps up with smaller intervals than new and delete.",
        lambda data: [
            finding
            for layout in ("allocating", "flat")
            for finding in _faster(
                data.of("cpp", layout, strategies=["pool"]), data.of("cpp", layout, strategies=["alloc"])
            )
        ],
    ),
    _claim(
        "realtime-flat-fastest",
        "Flat C++ with a pool keeps up with smaller intervals than the best Java.",
        lambda data: _faster(data.of("cpp", "flat", strategies=["pool"]), _best_java(data)),
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


def evaluate(claims: Iterable[Claim], cells: pd.DataFrame, trials: pd.DataFrame) -> list[Verdict]:
    """Put every claim to the cells of a campaign (`realtime_cells.realtime_cells`) and its single trials."""
    sweeps = realtime_cells.finished(trials)
    return [claim.test(claim, Realtime(cells, sweeps)) for claim in claims]
