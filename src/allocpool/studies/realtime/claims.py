"""The real-time conclusions of "To allocate or to pool?", each as a test that fresh data can fail.

A cell reaches real time or does not (some interval passes, or none does), and one cell's smallest interval lies below
another's, which is shown when their brackets over all searches do not overlap. Remarks on queues and heaps are put to
single trials, and only to those that saw what the remark is about. The published table goes through the same tests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
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
    Frequency,
    Missing,
    Verdict,
)
from allocpool.evidence.trials import NOT_PART, finished, records
from allocpool.packets.cells import CONTROLS
from allocpool.packets.comparisons import (
    IN_CPP,
    ON_CMS,
    POOLING_STRATEGIES,
    PUBLISHED,
    THEN_AND_NOW,
    with_families,
)
from allocpool.packets.published import ARTICLE
from allocpool.packets.specs import PUBLISHED_CASES
from allocpool.studies.realtime.cells import ENOUGH_SEARCHES, LOSES, published_cells, published_sweeps
from allocpool.studies.realtime.specs import INPUT_QUEUE_MS, PDR_LOSS_RATIO

FAMILIES = ("CMS", "G1", "ZGC")
ABOUT = 1.1
"""A figure this much off is still the published one."""
LONG_INTERVAL_NS = 10_000.0
"""The longest that the article tried."""
LONGER_QUEUE = 10.0
"""One second, over the published input queue."""
NOT_SHORTER = 0.9
COMPARED_NS = 1_000.0
RATES_NS = {"A": 50.0, "B": 200.0, "C": 250.0}
"""Flat C++: 20, 5 and 4 million packets a second."""
ZGC_IN_C_NS = 500.0
G1_NATIVE_IN_C_NS = 700.0
RARE_FULL_S = {"B": 1_100.0, "C": 60.0}
_RARE_WITHIN = 2.0


class Wanted(NamedTuple):
    """The cells that a claim speaks of; ``families`` are published collectors."""

    language: str = "java"
    layout: str | None = None
    families: Sequence[str] = ()
    strategies: Sequence[str] = POOLING_STRATEGIES
    cases: Iterable[str] = PUBLISHED_CASES

    def among(self, rows: pd.DataFrame) -> pd.DataFrame:
        """The rows that match every given fact."""
        match = (rows["language"] == self.language) & rows["strategy"].isin(self.strategies)
        match &= rows["case"].isin(list(self.cases))
        if self.layout is not None:
            match &= rows["layout"] == self.layout
        if self.families:
            match &= rows["family"].isin(self.families)
        return rows[match]

    def missing(self, rows: pd.DataFrame) -> list[Missing]:
        """Published collectors that have no row at all."""
        there = set(self.among(rows)["family"])
        return [Missing(name, NOT_PART.word) for name in self.families if name not in there]


@dataclass(frozen=True)
class Realtime:
    """What a claim is put to, of one set-up: the cells of the searches and the single trials of the sweeps.

    ``highest_ns`` is the longest interval that every search tried.
    """

    cells: pd.DataFrame
    sweeps: pd.DataFrame
    highest_ns: float
    set_up: str

    @classmethod
    def of(cls, cells: pd.DataFrame, trials: pd.DataFrame, highest_ns: float, set_up: str) -> Realtime:
        """The cells and trials that belong to a set-up."""
        choices = cells[~cells["collector"].isin(CONTROLS)]
        return cls(with_families(choices, set_up), with_families(finished(trials), set_up), highest_ns, set_up)

    def gap(self, row: Any) -> str | None:
        """Why a cell decides nothing, or None: no figure, or too few searches for a spread."""
        if row.n == 0:
            return str(row.gap)
        if self.set_up == PUBLISHED:
            return None
        if row.n < ENOUGH_SEARCHES:
            return f"fewer than {ENOUGH_SEARCHES} searches: no spread"
        queue = getattr(row, "queue_factor", None)
        if queue is not None and pd.notna(queue) and not 0.95 <= queue <= 1.05:
            return f"its input queue is {queue:.3g} times the published one at this scale: another experiment"
        return None


class Finding(NamedTuple):
    """One row of evidence; ``gaps``: what it lacks where it was not measured."""

    configuration: str
    found: str
    shown: str
    gaps: tuple[Missing, ...] = ()


def _not_measured(configuration: str, why: str) -> Finding:
    return Finding(configuration, "no figure", NOT_MEASURED, (Missing(configuration, why),))


def evidence_of(findings: Sequence[Finding], missing: Iterable[Missing] = ()) -> Evidence:
    """Findings as evidence, with the reasons of those that were not measured."""
    rows = pd.DataFrame(findings, columns=list(Finding._fields)).drop(columns="gaps")
    return Evidence(rows, tuple(dict.fromkeys([*missing, *(gap for item in findings for gap in item.gaps)])))


def _name(row: Any) -> str:
    return f"{row.solution} {row.strategy} {row.case}"


def _outcome(row: Any) -> str:
    return f"loses {_lost(row)}" if row.answer == LOSES else f"{stats.significant(row.pdr_ns)} ns"


def _lost(row: Any) -> str:
    return "some at every interval" if pd.isna(row.lost_percent) else f"{stats.significant(row.lost_percent)}%"


def _reaches(expected: bool, wanted: Wanted) -> Callable[[Realtime], Evidence]:
    """Whether some interval passes in each of these cells, as expected or not."""

    def evidence(data: Realtime) -> Evidence:
        findings = []
        for row in records(wanted.among(data.cells)):
            if gap := data.gap(row):
                findings.append(_not_measured(_name(row), gap))
            else:
                shown = AS_PUBLISHED if (row.answer != LOSES) == expected else OTHER_WAY
                findings.append(Finding(_name(row), _outcome(row), shown))
        return evidence_of(findings, wanted.missing(data.cells))

    return evidence


def _keeps_up(limits_ns: dict[str, float], wanted: Wanted) -> Callable[[Realtime], Evidence]:
    """Whether each of these cells passes at about an interval, by case, or at a smaller one."""

    def evidence(data: Realtime) -> Evidence:
        findings = []
        for row in records(wanted.among(data.cells)):
            limit_ns = ABOUT * limits_ns[row.case]
            name = f"{_name(row)} at {limits_ns[row.case]:g} ns"
            if gap := data.gap(row):
                findings.append(_not_measured(name, gap))
                continue
            low_ns, high_ns = _ends(row)
            shown = AS_PUBLISHED if high_ns <= limit_ns else OTHER_WAY if low_ns >= limit_ns else NO_DIFFERENCE
            findings.append(Finding(name, _outcome(row), shown))
        return evidence_of(findings, wanted.missing(data.cells))

    return evidence


def _ends(row: Any) -> tuple[float, float]:
    """A cell's bracket, [largest that fails, smallest that passes]; an open end is the answer itself, or infinite."""
    high_ns = float("inf") if pd.isna(row.pdr_ns) else float(row.pdr_ns)
    return (high_ns if pd.isna(row.pdr_fails_ns) else float(row.pdr_fails_ns)), high_ns


def _faster(data: Realtime, pairs: Iterable[tuple[Any, Any]]) -> list[Finding]:
    """Whether each cell on the left keeps up with a smaller interval than the one on the right."""
    findings = []
    for left, right in pairs:
        names = f"{_name(left)} below {_name(right)}"
        if gaps := [Missing(_name(row), gap) for row in (left, right) if (gap := data.gap(row))]:
            findings.append(Finding(names, "no figure", NOT_MEASURED, tuple(gaps)))
        else:
            findings.append(Finding(names, f"{_outcome(left)}, {_outcome(right)}", _compared(left, right)))
    return findings


def _compared(left: Any, right: Any) -> str:
    """By brackets; where no interval passes on either side, by what is lost at the same interval."""
    if left.answer == LOSES and right.answer == LOSES:
        (left_low, left_high), (right_low, right_high) = _loss_ends(left), _loss_ends(right)
    else:
        (left_low, left_high), (right_low, right_high) = _ends(left), _ends(right)
    if left_high <= right_low and left_high < right_high:
        return AS_PUBLISHED
    if right_high <= left_low and right_high < left_high:
        return OTHER_WAY
    return NO_DIFFERENCE


def _loss_ends(row: Any) -> tuple[float, float]:
    low = row.lost_percent if pd.isna(row.lost_low_percent) else row.lost_low_percent
    high = row.lost_percent if pd.isna(row.lost_high_percent) else row.lost_high_percent
    return float(low), float(high)


def _matching(left: pd.DataFrame, right: pd.DataFrame, *columns: str) -> Iterator[tuple[Any, Any]]:
    """Pairs of cells that agree in these columns."""
    for one in records(left):
        for other in records(right):
            if all(getattr(one, name) == getattr(other, name) for name in columns):
                yield one, other


def _best(cells: pd.DataFrame, *per: str) -> pd.DataFrame:
    """The cell with the smallest interval of each group; where none passes in a group, its first cell."""
    ordered = cells[cells["n"] > 0].sort_values("pdr_ns", na_position="last")
    return ordered.drop_duplicates(list(per))


def _pool_everywhere(data: Realtime) -> Evidence:
    cells = data.cells
    pairs = _matching(cells[cells["strategy"] == "pool"], cells[cells["strategy"] == "alloc"], "solution", "case")
    known = [(pool, alloc) for pool, alloc in pairs if pool.case in PUBLISHED_CASES]
    return evidence_of(_faster(data, known), Wanted(families=FAMILIES).missing(cells))


def _better_than_cms(data: Realtime) -> Evidence:
    cms, others = (Wanted(families=names).among(data.cells) for names in (["CMS"], ["G1", "ZGC"]))
    pairs = _matching(others, cms, "layout", "strategy", "case")
    return evidence_of(_faster(data, pairs), Wanted(families=FAMILIES).missing(data.cells))


def _native_is_better(data: Realtime) -> Evidence:
    heap, native = (Wanted(layout=layout).among(data.cells) for layout in ("heap", "native"))
    pairs = _matching(native, heap, "collector", "strategy", "case")
    return evidence_of(_faster(data, pairs), Wanted(layout="native", families=FAMILIES).missing(data.cells))


def _only_native_zgc_always_works(data: Realtime) -> Evidence:
    """Native ZGC passes in each cell, every other set-up loses in one at least."""
    zgc = Wanted(layout="native", families=["ZGC"])
    always = _reaches(True, zgc)(data)
    findings = []
    for solution, group in Wanted().among(data.cells).groupby("solution", sort=False, observed=True):
        if (group["family"] == "ZGC").all() and (group["layout"] == "native").all():
            continue
        rows = [row for row in records(group) if data.gap(row) is None]
        losing = [f"{row.strategy} {row.case}" for row in rows if row.answer == LOSES]
        name = f"{solution} loses somewhere"
        if losing:
            findings.append(Finding(name, f"in {', '.join(losing)}", AS_PUBLISHED))
        elif len(rows) == len(POOLING_STRATEGIES) * len(PUBLISHED_CASES):
            findings.append(Finding(name, "passes in every cell", OTHER_WAY))
        else:
            findings.append(_not_measured(name, f"only {len(rows)} of its cells have a figure, none of which loses"))
    others = evidence_of(findings, [item for item in always.missing if item.why == NOT_PART.word])
    return Evidence(pd.concat([always.rows, others.rows], ignore_index=True), (*always.missing, *others.missing))


def _native_zgc_is_best_java(data: Realtime) -> Evidence:
    """Case by case, the best cell of native ZGC below the best of every other Java set-up."""
    best = _best(Wanted().among(data.cells), "solution", "case")
    zgc = (best["family"] == "ZGC") & (best["layout"] == "native")
    missing = Wanted(layout="native", families=["ZGC"]).missing(data.cells)
    return evidence_of(_faster(data, _matching(best[zgc], best[~zgc], "case")), missing)


def _pooling_in_cpp(data: Realtime) -> Evidence:
    pool, alloc = (Wanted("cpp", strategies=[name]).among(data.cells) for name in ("pool", "alloc"))
    return evidence_of(_faster(data, _matching(pool, alloc, "layout", "case")))


def _flat_is_best(data: Realtime) -> Evidence:
    """In each cell, below the best of all other solutions with the same strategy."""
    flat = (data.cells["language"] == "cpp") & (data.cells["layout"] == "flat")
    wanted = data.cells["case"].isin(PUBLISHED_CASES)
    rivals = _best(data.cells[~flat & wanted], "strategy", "case")
    pairs = _matching(data.cells[flat & wanted], rivals, "strategy", "case")
    return evidence_of(_faster(data, pairs), Wanted(families=FAMILIES).missing(data.cells))


def _zgc_beats_flat_allocating(data: Realtime) -> Evidence:
    zgc = Wanted(layout="native", families=["ZGC"], strategies=["alloc"], cases="C")
    flat = Wanted("cpp", "flat", strategies=["alloc"], cases="C").among(data.cells)
    return evidence_of(_faster(data, _matching(zgc.among(data.cells), flat, "case")), zgc.missing(data.cells))


def _cpp_without_allocation(data: Realtime) -> Evidence:
    """Flat C++ with a pool keeps up with more than the best Java, which keeps up with a million packets a second."""
    flat = Wanted("cpp", "flat", strategies=["pool"]).among(data.cells)
    best = _best(Wanted().among(data.cells), "case")
    findings = _faster(data, _matching(flat, best, "case"))
    for row in records(best):
        name = f"best Java in case {row.case}, {_name(row)}, at {COMPARED_NS:g} ns"
        if gap := data.gap(row):
            findings.append(_not_measured(name, gap))
        else:
            findings.append(Finding(name, _outcome(row), AS_PUBLISHED if row.pdr_ns <= COMPARED_NS else OTHER_WAY))
    return evidence_of(findings, Wanted(families=FAMILIES).missing(data.cells))


def _longer_interval_is_no_help(data: Realtime) -> Evidence:
    """A pool on "CMS" passes at no interval up to the article's longest; passing counts only beside its collections."""
    wanted = Wanted(layout="heap", families=["CMS"], strategies=["pool"])
    findings = []
    for row in records(wanted.among(data.cells)):
        if (gap := data.gap(row)) or (row.answer != LOSES and (gap := _saw_too_little(data, row))):
            findings.append(_not_measured(_name(row), gap))
        elif row.answer != LOSES:
            findings.append(Finding(_name(row), _outcome(row), OTHER_WAY))
        elif data.highest_ns < LONG_INTERVAL_NS:
            findings.append(
                _not_measured(_name(row), f"tried up to {data.highest_ns:,.0f} ns, not {LONG_INTERVAL_NS:,.0f}")
            )
        else:
            findings.append(Finding(_name(row), _outcome(row), AS_PUBLISHED))
    return evidence_of(findings, wanted.missing(data.cells))


def _saw_too_little(data: Realtime, row: Any, mark: str = "decides_long_pauses") -> str | None:
    """Why a trial or a cell says nothing of long pauses: no major collection, its cap, or a queue longer than itself.

    An older table does not tell, and is not taken for one that does.
    """
    if data.set_up == PUBLISHED:
        return None
    decides = getattr(row, mark, None)
    if decides is None or pd.isna(decides):
        return "not told whether its trials saw a major collection"
    return None if decides else "its trials saw no major collection, reached their cap, or were shorter than the queue"


def _sweep_pairs(data: Realtime, column: str, usual: float, longer: float, wanted: Wanted) -> Iterator[tuple[Any, Any]]:
    """Trials of one configuration and block at two values of ``column``, the other one as published."""
    rows = wanted.among(data.sweeps)
    if rows.empty:
        return
    rows = rows.assign(queue_factor=rows["input_queue_ms"] / (INPUT_QUEUE_MS * rows["scale"]))
    other = "heap_factor" if column == "queue_factor" else "queue_factor"
    for _, group in rows[_close(rows[other], 1.0)].groupby(["solution", "strategy", "case", "block"], observed=True):
        first, second = (group[_close(group[column], value)] for value in (usual, longer))
        if len(first) and len(second):
            yield records(first)[0], records(second)[0]


def _close(values: pd.Series, value: float) -> pd.Series:
    """Equal but for rounding: a heap is a whole number of MiB."""
    return (values.astype(float) / value).between(0.95, 1.05)


def _longer_queue_helps(data: Realtime) -> Evidence:
    """A queue of one second, in trials that lost with the usual one; and such a queue in front of the usual one."""
    wanted = Wanted(layout="heap", families=["CMS"], strategies=["pool"])
    findings = []
    for usual, longer in _sweep_pairs(data, "queue_factor", 1.0, LONGER_QUEUE, wanted):
        if not usual.lost_ppm > 0:
            continue
        longest_ms = getattr(longer, "gc_pause_max_ms", None)
        too_short = longest_ms is not None and pd.notna(longest_ms) and longest_ms > longer.input_queue_ms
        outcome = f"{_percent(usual.lost_ppm)} lost, with ten times the queue {_percent(longer.lost_ppm)}"
        if gap := _saw_too_little(data, longer):
            findings.append(_not_measured(_name(usual), gap))
        elif too_short:
            why = f"its longest pause, {longest_ms:.0f} ms, is longer than the queue of {longer.input_queue_ms:g} ms"
            findings.append(_not_measured(_name(usual), why))
        else:
            findings.append(Finding(_name(usual), outcome, AS_PUBLISHED if longer.lost_ppm == 0 else OTHER_WAY))
    return evidence_of(findings, [*wanted.missing(data.sweeps), *_intermediate_queue(data, wanted, findings)])


def _intermediate_queue(data: Realtime, wanted: Wanted, findings: list[Finding]) -> list[Missing]:
    """Adds what trials with an intermediate queue in C show: they lose nothing."""
    rows = wanted.among(data.sweeps)
    length = rows["intermediate_queue_ms"] if "intermediate_queue_ms" in rows else pd.Series(0.0, index=rows.index)
    for row in records(rows[length.fillna(0.0).astype(float) > 0]):
        name = f"{_name(row)} with an intermediate queue"
        if gap := _saw_too_little(data, row):
            findings.append(_not_measured(name, gap))
        else:
            shown = AS_PUBLISHED if row.lost_ppm == 0 else OTHER_WAY
            findings.append(Finding(name, f"{_percent(row.lost_ppm)} lost", shown))
    return [] if (length.fillna(0.0) > 0).any() else [Missing("an intermediate queue in C", NOT_PART.word)]


def _larger_heap(data: Realtime) -> Evidence:
    """In the sweeps, and in the cells where no interval passes."""
    wanted = Wanted(layout="heap", families=FAMILIES)
    findings = []
    for usual, larger in _sweep_pairs(data, "heap_factor", 1.0, 5.0, wanted):
        if not usual.lost_ppm > 0:
            continue
        if gap := _saw_too_little(data, larger):
            findings.append(_not_measured(f"{_name(usual)} with five times the heap", gap))
            continue
        findings.append(_less_but_not_cured(_name(usual), usual.lost_ppm, larger.lost_ppm))
        findings += _rarer_not_shorter(usual, larger)
    cells = wanted.among(data.cells)
    for cell in records(cells[cells["larger_heap_lost_percent"].notna()]):
        if gap := data.gap(cell) or _saw_too_little(data, cell, "larger_heap_decides"):
            findings.append(_not_measured(f"{_name(cell)} with five times the heap", gap))
        else:
            losses = (1e4 * cell.lost_percent, 1e4 * cell.larger_heap_lost_percent)
            findings.append(_less_but_not_cured(_name(cell), *losses))
    no_heap = [
        Missing(f"{_name(cell)} with a larger heap", str(cell.larger_heap_gap))
        for cell in records(cells[cells["larger_heap_gap"].notna()])
    ]
    return evidence_of(findings, no_heap)


def _less_but_not_cured(name: str, usual_ppm: float, larger_ppm: float) -> Finding:
    outcome = f"{_percent(usual_ppm)} lost, with five times the heap {_percent(larger_ppm)}"
    return Finding(name, outcome, AS_PUBLISHED if 1e6 * PDR_LOSS_RATIO < larger_ppm < usual_ppm else OTHER_WAY)


def _rarer_not_shorter(usual: Any, larger: Any) -> list[Finding]:
    """Collections with pauses per second, and the longest pause."""
    sides = [(row.gc_pauses, row.gc_pause_max_ms, row.seconds) for row in (usual, larger)]
    if any(pd.isna(value) for side in sides for value in side):
        return []
    (many, usual_ms, usual_s), (few, larger_ms, larger_s) = sides
    rarer, not_shorter = few / larger_s < many / usual_s, larger_ms >= NOT_SHORTER * usual_ms
    return [
        Finding(
            f"{_name(usual)}: rarer", f"{many / usual_s:.3g} pauses a second, with five times the heap "
            f"{few / larger_s:.3g}", AS_PUBLISHED if rarer else OTHER_WAY,
        ),
        Finding(
            f"{_name(usual)}: not shorter", f"longest pause {usual_ms:.3g} ms, with five times the heap "
            f"{larger_ms:.3g} ms", AS_PUBLISHED if not_shorter else OTHER_WAY,
        ),
    ]  # fmt: skip


def _rare_full_collections(data: Realtime) -> Evidence:
    """How seldom a native pool on "CMS" has a full collection, told at scale 1: its old generation shrinks with it."""
    wanted = Wanted(layout="native", families=["CMS"], strategies=["pool"], cases=tuple(RARE_FULL_S))
    findings = []
    for row in records(wanted.among(data.sweeps)):
        expected_s = RARE_FULL_S[row.case]
        name, lasted_s = f"{_name(row)}: a full collection every {expected_s:,.0f} s", row.seconds / row.scale
        if pd.isna(row.majors) or row.majors < 2:
            why = f"lasted {lasted_s:,.0f} s at scale 1 and saw fewer than two full collections"
            findings.append(_not_measured(name, why))
        else:
            every_s = lasted_s / row.majors
            near = 1 / _RARE_WITHIN <= every_s / expected_s <= _RARE_WITHIN
            findings.append(Finding(name, f"every {every_s:,.0f} s", AS_PUBLISHED if near else OTHER_WAY))
    needed = " and ".join(f"{2 * seconds:,.0f} s in {case}" for case, seconds in RARE_FULL_S.items())
    missing = [Missing("what each young collection leaves on the heap, 20 MB", "no table has the heap's occupancy")]
    if all(item.shown == NOT_MEASURED for item in findings):
        missing.append(Missing("native pool", f"no trial is long enough: {needed} times scale"))
    return evidence_of(findings, missing)


def _percent(ppm: float) -> str:
    return f"{stats.significant(ppm / 1e4)}%"


def _sentence(evidence: Evidence) -> str:
    total = len(evidence.rows)
    if not total:
        return "Nothing that it speaks of is part of this campaign."
    parts = []
    if len(against := evidence.against):
        first = against.iloc[0]
        parts.append(
            f"Shown the other way round in {len(against)} of {total}, for example {first['configuration']}: "
            f"{first['found']}"
        )
    shown = f"shown in {evidence.count(AS_PUBLISHED)} of {total}"
    parts.append(shown if parts else shown.capitalize())
    parts += [f"{shown} in {count}" for shown in (NO_DIFFERENCE, NOT_MEASURED) if (count := evidence.count(shown))]
    return "; ".join(parts) + "."


@cache
def published() -> Realtime:
    """The published table as a claim takes it: no sweeps, for its losses with both heaps are in its cells; the article
    tried intervals up to its longest."""
    return Realtime.of(published_cells(), published_sweeps().iloc[:0], LONG_INTERVAL_NS, PUBLISHED)


def _claim(
    id: str,
    text: str,
    evidence: Callable[[Realtime], Evidence],
    set_ups: Sequence[str] = THEN_AND_NOW,
    asks: Frequency = "every",
) -> Claim[Realtime]:
    return Claim(
        id, text, ARTICLE, evidence, _sentence, needs_all=True, published=lambda: evidence(published()), asks=asks,
        set_ups=tuple(set_ups),
    )  # fmt: skip


POOL_EVERYWHERE = _claim(
    "pool-everywhere-realtime",
    "In every single real-time test, pooling performs better than allocating.",
    _pool_everywhere,
)
REALTIME_CLAIMS = (
    POOL_EVERYWHERE,
    _claim(
        "alloc-no-realtime",
        "In most Java real-time tests, allocating does not work at all.",
        _reaches(False, Wanted(families=FAMILIES, strategies=["alloc"])),
        asks="most",
    ),
    _claim(
        "realtime-mix-parallel",
        'With heap buffers, the smaller pool (mix) reaches real time on "CMS" where few buffers are in use (A and B).',
        _reaches(True, Wanted(layout="heap", families=["CMS"], strategies=["mix"], cases="AB")),
        ON_CMS,
    ),
    _claim(
        "realtime-pool-zgc",
        "With heap buffers, pools reach real time on ZGC in every case.",
        _reaches(True, Wanted(layout="heap", families=["ZGC"], strategies=["mix", "pool"])),
    ),
    _claim(
        "realtime-alloc-overload",
        "With heap buffers, allocating loses packets in overload on every collector.",
        _reaches(False, Wanted(layout="heap", families=FAMILIES, strategies=["alloc"], cases="C")),
    ),
    _claim(
        "g1-zgc-realtime-better",
        'G1 and ZGC really improve real time over "CMS": in most cells.',
        _better_than_cms,
        ON_CMS,
        asks="most",
    ),
    _claim(
        "zgc-c-2m",
        "With pools, ZGC handles even case C at about two million packets a second (heap buffers).",
        _keeps_up({"C": ZGC_IN_C_NS}, Wanted(layout="heap", families=["ZGC"], strategies=["mix", "pool"], cases="C")),
    ),
    _claim(
        "zgc-all-native",
        "Native buffers on ZGC are the only set-up of Java in which every strategy works in every case.",
        _only_native_zgc_always_works,
    ),
    _claim(
        "g1-native-c",
        f"With native buffers, G1's pool handles case C, at {G1_NATIVE_IN_C_NS:g} ns.",
        _keeps_up({"C": G1_NATIVE_IN_C_NS}, Wanted(layout="native", families=["G1"], strategies=["pool"], cases="C")),
    ),
    _claim(
        "native-better-realtime",
        "Native buffers improve almost everything in real time.",
        _native_is_better,
        asks="almost every",
    ),
    _claim(
        "native-zgc-best-realtime",
        "Native buffers on ZGC are the best of Java in real time, in every case.",
        _native_zgc_is_best_java,
    ),
    _claim(
        "native-cms-rare-full",
        'A native pool on "CMS" has a full collection every 60 s in case C and every 1,100 s in B, as each young '
        "collection leaves 20 MB more.",
        _rare_full_collections,
        ON_CMS,
    ),
    _claim(
        "larger-heap",
        "A heap five times as large makes collections rarer, not shorter, and losses less, but not 200 in a million.",
        _larger_heap,
    ),
    _claim(
        "longer-interval",
        'A longer interval between packets, up to 10,000 ns, does not help the pool on "CMS" (heap buffers).',
        _longer_interval_is_no_help,
        ON_CMS,
    ),
    _claim(
        "longer-queue",
        'An input queue longer than the longest pause, one second, makes the pool work even on "CMS"; where hardware '
        "has none, an intermediate queue in C does.",
        _longer_queue_helps,
        ON_CMS,
    ),
    _claim(
        "realtime-cpp-pool",
        "In C++, a pool keeps up with smaller intervals than new and delete.",
        _pooling_in_cpp,
        (IN_CPP,),
    ),
    _claim(
        "cpp-flat-best-realtime",
        "Flat C++ is the best in nearly every real-time test: with each strategy, in each case.",
        _flat_is_best,
        asks="almost every",
    ),
    _claim(
        "zgc-beats-flat-alloc-c",
        "The exception: allocating in case C, native buffers on ZGC beat flat C++.",
        _zgc_beats_flat_allocating,
    ),
    _claim(
        "cpp-flat-rates",
        "Flat C++ with a pool keeps up with 20 million packets a second in case A, 5 in B and 4 in C.",
        _keeps_up(RATES_NS, Wanted("cpp", "flat", strategies=["pool"])),
        (IN_CPP,),
    ),
    _claim(
        "avoid-allocation-cpp",
        "A real-time program belongs in C++ without allocation; Java is a reasonable approximation, good for a million "
        "packets a second.",
        _cpp_without_allocation,
    ),
)


def evaluate(cells: pd.DataFrame, trials: pd.DataFrame, searches: pd.DataFrame | None = None) -> list[Verdict]:
    """Put every claim to the cells of a campaign (`realtime_cells`), its single trials and, for the intervals that were
    tried, its searches; each set-up apart."""
    tried = pd.Series(dtype=float) if searches is None else finished(searches)["high_ns"].astype(float)
    highest_ns = float(tried.min()) if len(tried) else 0.0
    return claims.evaluate_apart(REALTIME_CLAIMS, lambda set_up: Realtime.of(cells, trials, highest_ns, set_up))
