"""The real-time conclusions of "To allocate or to pool?", each as a test that fresh data can fail.

A cell reaches real time or does not, and one cell's minimum sustainable inter-arrival time lies below another's: both
by their trials (`allocpool.studies.realtime.adaptive`). Remarks on queues and heaps are put to single trials that saw
what they are about. The published table goes through the same tests.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import pandas as pd
import scipy

from allocpool import decisions, stats
from allocpool.decisions import FEWEST, effect_that_matters
from allocpool.evidence import claims
from allocpool.evidence.claims import (
    AS_PUBLISHED,
    NOT_MEASURED,
    OPEN,
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
from allocpool.studies.realtime.adaptive import p_smaller
from allocpool.studies.realtime.cells import (
    LOSES,
    bound,
    published_cells,
    realtime_cells,
    sweep_trials,
)
from allocpool.studies.realtime.specs import INPUT_QUEUE_MS, PDR_LOSS_RATIO
from allocpool.studies.realtime.tables import ABOUT_ONE, is_about_one

FAMILIES = ("CMS", "G1", "ZGC")
LONG_INTERVAL_NS = 10_000.0
"""The longest that the article tried."""
_NEARLY = 0.99
LONGER_QUEUE = 10.0
"""One second, over the published input queue."""
NOT_SHORTER = 0.9
COMPARED_NS = 1_000.0
RATES_NS = {"A": 50.0, "B": 200.0, "C": 250.0}
"""Flat C++: 20, 5 and 4 million packets a second."""
ZGC_IN_C_NS = 500.0
G1_NATIVE_IN_C_NS = 700.0
CPP = "C++"
RARE_FULL_S = {"B": 1_100.0, "C": 60.0}
RARE_LOST_PPM = {"B": 300.0}
"""What is lost in that time."""
_FEWEST_FULL = 2
"""Full collections from which on a trial reports how often they come."""
_RARE_WITHIN = 2.0
LARGER_HEAP = 5.0
_LEAST_LOST_PPM = 1.0
"""What a trial that lost nothing counts as where losses are compared by their ratio."""


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
        """Published collectors, or C++, that have no row at all, and of those that have any, strategies and cases
        without one."""
        of = self.among(rows)
        names = of["family"] if self.families else pd.Series(CPP, index=of.index)
        there = set(zip(names, of["strategy"], of["case"], strict=True))
        asked = list(itertools.product(self.strategies, self.cases))
        gaps = []
        for name in self.families or (CPP,):
            lacking = [f"{name} {strategy} {case}" for strategy, case in asked if (name, strategy, case) not in there]
            gaps += lacking if len(lacking) < len(asked) else [name]
        return [Missing(what, NOT_PART.word) for what in gaps]

    def missing_collectors(self, rows: pd.DataFrame) -> list[Missing]:
        """Published collectors that have no row at all."""
        there = set(self.among(rows)["family"])
        return [Missing(name, NOT_PART.word) for name in self.families if name not in there]


ZGC_POOLS_IN_C = Wanted(layout="heap", families=["ZGC"], strategies=["mix", "pool"], cases="C")
G1_NATIVE_POOL_IN_C = Wanted(layout="native", families=["G1"], strategies=["pool"], cases="C")


@dataclass(frozen=True)
class Realtime:
    """What a claim is put to, of one set-up: the cells and the single trials of the sweeps."""

    cells: pd.DataFrame
    sweeps: pd.DataFrame
    set_up: str

    @classmethod
    def of(cls, cells: pd.DataFrame, trials: pd.DataFrame, set_up: str) -> Realtime:
        """The cells and trials that belong to a set-up."""
        choices = cells[~cells["collector"].isin(CONTROLS)]
        return cls(with_families(choices, set_up, cells), with_families(finished(trials), set_up, cells), set_up)

    def gap(self, row: Any) -> str | None:
        """Why a cell decides nothing, or None."""
        if row.n == 0:
            return str(row.gap)
        if self.set_up == PUBLISHED:
            return None
        if row.every_pdr.gap is not None:
            return str(row.every_pdr.gap)
        if pd.notna(row.queue_factor) and not is_about_one(row.queue_factor):
            return f"its input queue is {row.queue_factor:.3g} times that of this scale: another experiment"
        return None


Chances = tuple[float, float]
"""Of so much for a finding, and for its reverse beyond the equivalence margin, were it not so."""


class Finding(NamedTuple):
    """One row of evidence; NaN chances where it was not measured, and then ``gaps`` is what it lacks."""

    configuration: str
    found: str
    chances: Chances
    gaps: tuple[Missing, ...] = ()


def _exact(sign: float) -> Chances:
    """Of a published figure: it says what it says."""
    return float(not sign > 0), float(not sign < 0)


def _not_measured(configuration: str, *gaps: Missing | str) -> Finding:
    missing = tuple(gap if isinstance(gap, Missing) else Missing(configuration, gap) for gap in gaps)
    return Finding(configuration, "no figure", (math.nan, math.nan), missing)


def evidence_of(findings: Sequence[Finding], missing: Iterable[Missing] = ()) -> Evidence:
    """Findings as evidence, with the reasons of those that were not measured."""
    p, p_against = ([item.chances[side] for item in findings] for side in (0, 1))
    rows = pd.DataFrame({
        "configuration": [item.configuration for item in findings], "found": [item.found for item in findings],
        "shown": pd.Series(claims.shown_by(p, p_against), dtype="object"), "p": p, "p_against": p_against,
    })  # fmt: skip
    return Evidence(rows, tuple(dict.fromkeys([*missing, *(gap for item in findings for gap in item.gaps)])))


def _name(row: Any) -> str:
    return f"{row.configuration} {row.strategy} {row.case}"


def _outcome(row: Any) -> str:
    if row.answer == LOSES:
        return f"loses {_lost(row)}"
    spread = "" if pd.isna(getattr(row, "pdr_low_ns", math.nan)) else (
        f" ({bound(row.pdr_low_ns)} to {bound(row.pdr_high_ns)})"
    )  # fmt: skip
    return f"{stats.significant(row.pdr_ns)} ns{spread}"


def _lost(row: Any) -> str:
    return "some at every interval" if pd.isna(row.lost_percent) else f"{stats.significant(row.lost_percent)}%"


def _works(data: Realtime, row: Any) -> Chances:
    """That some interval passes in a cell, and that none does."""
    if data.set_up == PUBLISHED:
        return _exact(1 if row.answer != LOSES else -1)
    return _within(data, row, row.every_pdr.highest_ns)


def _within(data: Realtime, row: Any, limit_ns: float) -> Chances:
    """That a cell's minimum sustainable inter-arrival time lies below a limit, and that it lies above."""
    if data.set_up == PUBLISHED:
        return _exact(1 if row.answer != LOSES and row.pdr_ns <= limit_ns else -1)
    return row.every_pdr.p_below(limit_ns), row.every_pdr.p_above(limit_ns)


def _p_smaller(data: Realtime, left: Any, right: Any, by: float = 1.0) -> float:
    """The chance of so much evidence that one cell keeps up with a smaller interval than another by a factor above
    ``by``, did it not; where no interval passes on either side, that it loses so much less at the same one."""
    both_lose = left.answer == LOSES and right.answer == LOSES
    if data.set_up == PUBLISHED:
        figures = [row.lost_percent if both_lose else row.pdr_ns if row.answer != LOSES else math.inf
                   for row in (left, right)]  # fmt: skip
        return float(not figures[0] < figures[1])
    if not (both_lose and left.compared_ns == right.compared_ns):
        return p_smaller(left.every_pdr, right.every_pdr, by)
    return _p_less_lost([1e4 * lost for lost in left.every_lost], [1e4 * lost for lost in right.every_lost], by)


def _p_less_lost(less_ppm: Iterable[float], more_ppm: Iterable[float], by: float = 1.0) -> float:
    less, more = ([max(ppm, _LEAST_LOST_PPM) for ppm in side] for side in (less_ppm, more_ppm))
    return decisions.compare(more, less).p_above(by)


def _gaps(data: Realtime, *rows: Any) -> list[Missing]:
    return [Missing(_name(row), gap) for row in rows if (gap := data.gap(row))]


def _of_cells(
    data: Realtime, wanted: Wanted, chances: Callable[[Any], Chances], name: Callable[[Any], str] = _name
) -> Evidence:
    """These chances of each cell that decides something."""
    findings = [
        _not_measured(name(row), gap) if (gap := data.gap(row)) else Finding(name(row), _outcome(row), chances(row))
        for row in records(wanted.among(data.cells))
    ]
    return evidence_of(findings, wanted.missing(data.cells))


def _reaches(expected: bool, wanted: Wanted) -> Callable[[Realtime], Evidence]:
    """Whether some interval passes in each of these cells, as expected or not."""

    def chances(data: Realtime, row: Any) -> Chances:
        works, fails = _works(data, row)
        return (works, fails) if expected else (fails, works)

    return lambda data: _of_cells(data, wanted, lambda row: chances(data, row))


def _keeps_up(limits_ns: dict[str, float], wanted: Wanted) -> Callable[[Realtime], Evidence]:
    """Whether each of these cells passes at about an interval, by case, or at a smaller one."""
    return lambda data: _of_cells(
        data,
        wanted,
        lambda row: _within(data, row, effect_that_matters() * limits_ns[row.case]),
        lambda row: f"{_name(row)} at {limits_ns[row.case]:g} ns",
    )


Pairs = list[tuple[Any, Any]]
"""Rows of two cells, of which the left one is said to keep up with the smaller interval."""


def _faster(data: Realtime, pairs: Pairs) -> list[Finding]:
    """Whether each cell on the left keeps up with a smaller interval than the one on the right."""

    def finding(left: Any, right: Any) -> Finding:
        names = f"{_name(left)} below {_name(right)}"
        if gaps := _gaps(data, left, right):
            return _not_measured(names, *gaps)
        chances = _p_smaller(data, left, right), _p_smaller(data, right, left, effect_that_matters())
        return Finding(names, f"{_outcome(left)}, {_outcome(right)}", chances)

    return [finding(left, right) for left, right in pairs]


def _fastest(data: Realtime, ones: Sequence[Any], rivals: Sequence[Any], names: str) -> Finding:
    """Whether one of some cells is below all its rivals: the searches that choose the one also judge it, so each is put
    to all, and the choice is paid for, as `allocpool.decisions.p_cheapest` does."""
    if gaps := _gaps(data, *ones, *rivals):
        return _not_measured(names, *gaps)
    if not ones or not rivals:
        return _not_measured(names, NOT_PART.word)
    best = [min(side, key=lambda row: row.pdr_ns if row.answer != LOSES else math.inf) for side in (ones, rivals)]
    sides = ((ones, rivals, 1.0), (rivals, ones, effect_that_matters()))
    p, p_against = (
        min(1.0, len(few) * min(max(_p_smaller(data, one, rival, by) for rival in others) for one in few))
        for few, others, by in sides
    )
    found = "; ".join(f"{_name(row)} {_outcome(row)}" for row in best)
    return Finding(names, found, (p, p_against))


def _matching(left: pd.DataFrame, right: pd.DataFrame, *columns: str) -> Pairs:
    """Pairs of cells that agree in these columns."""
    return [
        (one, other) for one, other in itertools.product(records(left), records(right))
        if all(getattr(one, name) == getattr(other, name) for name in columns)
    ]  # fmt: skip


def pools_beside_allocating(data: Realtime) -> Pairs:
    """Each configuration's pool and its allocating, case by case."""
    cells = data.cells[data.cells["case"].isin(PUBLISHED_CASES)]
    return _matching(cells[cells["strategy"] == "pool"], cells[cells["strategy"] == "alloc"], "configuration", "case")


def _below(
    pairs: Callable[[Realtime], Pairs] | tuple[Wanted, Wanted, tuple[str, ...]], *speaks_of: Wanted
) -> Callable[[Realtime], Evidence]:
    """Whether one cell of each pair is below the other; pairs may be given as cells that agree in some columns."""

    def evidence(data: Realtime) -> Evidence:
        if isinstance(pairs, tuple):
            left, right, columns = pairs
            found = _matching(left.among(data.cells), right.among(data.cells), *columns)
        else:
            found = pairs(data)
        return evidence_of(_faster(data, found), [gap for one in speaks_of for gap in one.missing(data.cells)])

    return evidence


def _only_native_zgc_always_works(data: Realtime) -> Evidence:
    """Native ZGC passes in each cell, every other set-up loses in one at least."""
    zgc = Wanted(layout="native", families=["ZGC"])
    always = _reaches(True, zgc)(data)
    findings = []
    for configuration, group in Wanted().among(data.cells).groupby("configuration", sort=False, observed=True):
        if (group["family"] == "ZGC").all() and (group["layout"] == "native").all():
            continue
        rows = [row for row in records(group) if data.gap(row) is None]
        name = f"{configuration} loses somewhere"
        if not rows:
            findings.append(_not_measured(name, "none of its cells has a figure"))
            continue
        chances = [_works(data, row) for row in rows]
        complete = len(rows) == len(POOLING_STRATEGIES) * len(PUBLISHED_CASES)
        p = min(1.0, len(rows) * min(fails for _, fails in chances))
        losing = [f"{row.strategy} {row.case}" for row in rows if row.answer == LOSES]
        if not complete and not losing:
            findings.append(_not_measured(name, f"only {len(rows)} of its cells have a figure, none of which loses"))
            continue
        found = f"in {', '.join(losing)}" if losing else "passes in every cell"
        findings.append(Finding(name, found, (p, max(works for works, _ in chances) if complete else 1.0)))
    others = evidence_of(findings, [item for item in always.missing if item.why == NOT_PART.word])
    return Evidence(pd.concat([always.rows, others.rows], ignore_index=True), (*always.missing, *others.missing))


def _native_zgc_is_best_java(data: Realtime) -> Evidence:
    """Case by case, a cell of native ZGC below every cell of each other Java set-up."""
    java = Wanted().among(data.cells)
    is_zgc = (java["family"] == "ZGC") & (java["layout"] == "native")
    findings = []
    for case in sorted(java.loc[is_zgc, "case"].unique()):
        here = java[(java["case"] == case) & (java["n"] > 0)]
        ones, others = (here[is_zgc.reindex(here.index) == side] for side in (True, False))
        for configuration, rivals in others.groupby("configuration", sort=False, observed=True):
            name = f"native ZGC in case {case}, below {configuration}"
            findings.append(_fastest(data, records(ones), records(rivals), name))
    missing = Wanted(layout="native", families=["ZGC"]).missing(data.cells)
    return evidence_of(findings, missing)


def _flat_is_best(data: Realtime) -> Evidence:
    """In each cell, below all other configurations with the same strategy."""
    is_flat = (data.cells["language"] == "cpp") & (data.cells["layout"] == "flat")
    known = data.cells[data.cells["case"].isin(PUBLISHED_CASES) & (data.cells["n"] > 0)]
    flat, others = (known[is_flat.reindex(known.index) == side] for side in (True, False))
    findings = []
    for row in records(flat):
        rivals = records(others[(others["strategy"] == row.strategy) & (others["case"] == row.case)])
        if rivals:
            findings.append(_fastest(data, [row], rivals, f"{_name(row)} below all others"))
    wanted = Wanted(families=FAMILIES), Wanted("cpp", "flat")
    return evidence_of(findings, [gap for one in wanted for gap in one.missing(data.cells)])


_NATIVE_ZGC_IN_C = Wanted(layout="native", families=["ZGC"], strategies=["alloc"], cases="C")


def native_zgc_beside_flat(data: Realtime) -> Pairs:
    """Native ZGC and flat C++, both allocating in case C."""
    flat = Wanted("cpp", "flat", strategies=["alloc"], cases="C").among(data.cells)
    return _matching(_NATIVE_ZGC_IN_C.among(data.cells), flat, "case")


def _cpp_without_allocation(data: Realtime) -> Evidence:
    """Flat C++ with a pool keeps up with more than any Java, some of which keeps up with a million packets a second."""
    flat = Wanted("cpp", "flat", strategies=["pool"]).among(data.cells)
    java = Wanted().among(data.cells)
    findings = []
    for case in sorted(java["case"].unique()):
        here = java[(java["case"] == case) & (java["n"] > 0)]
        ones, rivals = records(flat[flat["case"] == case]), records(here)
        if ones and rivals:
            findings.append(_fastest(data, ones, rivals, f"flat C++ with a pool in case {case}, below all Java"))
        name = f"some Java in case {case} at {COMPARED_NS:g} ns"
        if gaps := _gaps(data, *rivals):
            findings.append(_not_measured(name, *gaps))
        elif rivals:
            chances = [_within(data, row, COMPARED_NS) for row in rivals]
            p = min(1.0, len(chances) * min(below for below, _ in chances))
            best = min(rivals, key=lambda row: row.pdr_ns if row.answer != LOSES else math.inf)
            found = f"{_name(best)} {_outcome(best)}"
            findings.append(Finding(name, found, (p, max(above for _, above in chances))))
    return evidence_of(findings, Wanted(families=FAMILIES).missing(data.cells))


def _longer_interval_is_no_help(data: Realtime) -> Evidence:
    """A pool on "CMS" passes at no interval up to the article's longest; passing counts only beside its collections."""
    wanted = Wanted(layout="heap", families=["CMS"], strategies=["pool"])
    findings = []
    for row in records(wanted.among(data.cells)):
        if (gap := data.gap(row)) or (row.answer != LOSES and (gap := _saw_too_little(data, row))):
            findings.append(_not_measured(_name(row), gap))
        elif row.answer == LOSES and row.highest_ns < _NEARLY * LONG_INTERVAL_NS:
            findings.append(
                _not_measured(_name(row), f"tried up to {row.highest_ns:,.0f} ns, not {LONG_INTERVAL_NS:,.0f}")
            )
        else:
            works, fails = _works(data, row)
            findings.append(Finding(_name(row), _outcome(row), (fails, works)))
    return evidence_of(findings, wanted.missing(data.cells))


def _saw_too_little(data: Realtime, row: Any) -> str | None:
    """Why a cell says nothing of long pauses: no major collection, its cap, or a queue longer than itself."""
    if data.set_up == PUBLISHED:
        return None
    if pd.isna(row.decides_long_pauses):
        return _NOT_TOLD
    return None if row.decides_long_pauses else _SAW_NONE


_NOT_TOLD = "not reported whether its trials saw a major collection"
_SAW_NONE = "its trials saw no major collection, reached their cap, or were shorter than the queue"


def _saw(trials: pd.DataFrame) -> pd.Series:
    """Whether each trial saw what can decide of long pauses; NA where it is not reported."""
    return trials.get("decides_long_pauses", pd.Series(pd.NA, trials.index)).astype("boolean")


def _why_unseen(*sides: pd.DataFrame) -> str | None:
    """Why the first trial that can't decide of long pauses does not."""
    saw = pd.concat([_saw(side) for side in sides])
    unseen = saw[~saw.fillna(False).astype(bool)]
    return None if unseen.empty else _NOT_TOLD if pd.isna(unseen.iloc[0]) else _SAW_NONE


class _Sides(NamedTuple):
    """Trials of one configuration with two values of a setting, one trial of each side in each block."""

    name: str
    usual: pd.DataFrame
    other: pd.DataFrame


def _sweep_sides(data: Realtime, column: str, usual: float, other: float, wanted: Wanted) -> Iterator[_Sides]:
    """The configurations of the sweeps with two values of ``column``, all else as published."""
    rows = wanted.among(data.sweeps)
    if rows.empty:
        return
    rows = rows.assign(
        queue_factor=rows["input_queue_ms"] / (INPUT_QUEUE_MS * rows["scale"]), intermediate_factor=_intermediate(rows)
    )
    kept = {"heap_factor": 1.0, "queue_factor": 1.0, "intermediate_factor": 0.0}
    for name, value in kept.items():
        if name != column:
            rows = rows[_close(rows[name], value)]
    for key, group in rows.groupby(["configuration", "strategy", "case"], observed=True):
        sides = [group[_close(group[column], value)].sort_values("block") for value in (usual, other)]
        if all(len(side) for side in sides):
            yield _Sides(" ".join(str(part) for part in key), *sides)


def _intermediate(rows: pd.DataFrame) -> pd.Series:
    """Length of the intermediate queue over the published input queue at that scale; 0 where there is none."""
    if "intermediate_queue_ms" not in rows:
        return pd.Series(0.0, index=rows.index)
    return rows["intermediate_queue_ms"].astype(float).fillna(0.0) / (INPUT_QUEUE_MS * rows["scale"])


def _close(values: pd.Series, value: float) -> pd.Series:
    """Equal but for rounding: a heap is a whole number of MiB."""
    low, high = ABOUT_ONE
    return values.astype(float).between(low * value, high * value)


SAFE, EDGE = 0.05, 0.5
"""Chances of a loss: at an interval that one would choose; where every other trial loses."""


def p_works(losing: int, trials: int) -> float:
    """The chance that so few of the trials lose, did at least every other one."""
    return float(scipy.stats.binom.cdf(losing, trials, EDGE)) if trials else 1.0


def p_fails(losing: int, trials: int) -> float:
    """The chance that so many of them lose, did at most one in twenty."""
    return float(scipy.stats.binom.sf(losing - 1, trials, SAFE)) if trials else 1.0


def most_loss_chance(trials: int, confidence: float = 0.95) -> float:
    """Trials that lost nothing bound the chance that one does: it is below this (exact binomial, over trials)."""
    return float(1 - (1 - confidence) ** (1 / trials))


def _too_few(trials: int) -> str | None:
    return f"fewer than {FEWEST} trials" if trials < FEWEST else None


def _loses_nothing(name: str, trials: pd.DataFrame) -> Finding:
    """Whether trials lose nothing: how many of them do."""
    if gap := _too_few(len(trials)):
        return _not_measured(name, gap)
    losing = int((trials["lost_ppm"].astype(float) > 0).sum())
    lost = f"{losing} of {len(trials)} trials lose"
    bound = _percent(1e6 * most_loss_chance(len(trials)))
    found = lost if losing else f"none of {len(trials)} trials loses: the chance of a loss is below {bound}"
    return Finding(name, found, (p_works(losing, len(trials)), p_fails(losing, len(trials))))


def _longer_queue_helps(data: Realtime) -> Evidence:
    """A queue of one second, where trials lose with the usual one; and such a queue in front of the usual one."""
    wanted = Wanted(layout="heap", families=["CMS"], strategies=["pool"])
    findings = []
    for column, word, usual in (
        ("queue_factor", "ten times the queue", 1.0),
        ("intermediate_factor", "an intermediate queue", 0.0),
    ):
        for sides in _sweep_sides(data, column, usual, LONGER_QUEUE, wanted):
            if not (sides.usual["lost_ppm"].astype(float) > 0).any():
                continue
            other, name = sides.other, f"{sides.name} with {word}"
            longest_ms = other.get("gc_pause_max_ms", pd.Series(0.0, other.index)).astype(float)
            length_ms = other["input_queue_ms"] + _intermediate(other) * INPUT_QUEUE_MS * other["scale"]
            saw = _saw(other).fillna(False).astype(bool)
            trials = other[saw & (longest_ms <= length_ms)]
            if len(trials) < FEWEST and (why := _why_unseen(other)):
                findings.append(_not_measured(name, why))
            elif len(trials) < FEWEST and len(trials) < saw.sum():
                why = (
                    f"its longest pause, {longest_ms.max():.0f} ms, is longer than the queue of {length_ms.max():g} ms"
                )
                findings.append(_not_measured(name, why))
            else:
                findings.append(_loses_nothing(name, trials))
    rows = wanted.among(data.sweeps)
    none = [] if (_intermediate(rows) > 0).any() else [Missing("an intermediate queue in C", NOT_PART.word)]
    return evidence_of(findings, [*wanted.missing_collectors(data.sweeps), *none])


def _larger_heap(data: Realtime) -> Evidence:
    """In the sweeps; of published figures in the cells where no interval passes."""
    wanted = Wanted(layout="heap", families=FAMILIES)
    findings = []
    for sides in _sweep_sides(data, "heap_factor", 1.0, LARGER_HEAP, wanted):
        if not (sides.usual["lost_ppm"].astype(float) > 0).any():
            continue
        name = f"{sides.name} with five times the heap"
        seen, larger = (side[_saw(side).fillna(False).astype(bool)] for side in sides[1:])
        if gap := _too_few(min(len(seen), len(larger))):
            findings.append(_not_measured(name, _why_unseen(sides.other, sides.usual) or gap))
        else:
            findings += _less_but_not_cured(data, name, list(seen["lost_ppm"]), list(larger["lost_ppm"]))
            findings += _rarer_not_shorter(sides.name, seen, larger)
    if data.set_up == PUBLISHED:
        cells = wanted.among(data.cells)
        for cell in records(cells[cells["larger_heap_lost_percent"].notna()]):
            lost = [1e4 * cell.lost_percent], [1e4 * cell.larger_heap_lost_percent]
            findings += _less_but_not_cured(data, f"{_name(cell)} with five times the heap", *lost)
    return evidence_of(findings)


def _less_but_not_cured(
    data: Realtime, name: str, usual_ppm: Sequence[float], larger_ppm: Sequence[float]
) -> list[Finding]:
    limit_ppm = 1e6 * PDR_LOSS_RATIO
    usual, larger = ([max(float(ppm), _LEAST_LOST_PPM) for ppm in side] for side in (usual_ppm, larger_ppm))
    means = stats.geometric_mean(usual), stats.geometric_mean(larger)
    less = f"{_percent(means[0])} lost, with it {_percent(means[1])}"
    if data.set_up == PUBLISHED:
        chances = _exact(means[0] - means[1]), _exact(means[1] - limit_ppm)
    else:
        limit = [limit_ppm] * len(larger)
        chances = (
            (_p_less_lost(larger, usual), _p_less_lost(usual, larger, effect_that_matters())),
            (_p_less_lost(limit, larger), _p_less_lost(larger, limit)),
        )
    return [
        Finding(f"{name}: less lost", less, chances[0]),
        Finding(f"{name}: not cured", f"{_percent(means[1])} lost", chances[1]),
    ]


def _rarer_not_shorter(name: str, usual: pd.DataFrame, larger: pd.DataFrame) -> list[Finding]:
    """Collections with pauses per second, and the longest pause of each trial."""
    sides = [side.dropna(subset=["gc_pauses", "gc_pause_max_ms", "seconds"]) for side in (usual, larger)]
    sides = [side[(side["gc_pauses"] > 0) & (side["gc_pause_max_ms"] > 0)] for side in sides]
    if min(len(side) for side in sides) < FEWEST:
        return []
    many, few = (side["gc_pauses"].astype(float) / side["seconds"] for side in sides)
    usual_ms, larger_ms = (side["gc_pause_max_ms"].astype(float) for side in sides)
    rarer = decisions.compare(many.tolist(), few.tolist())
    not_shorter = decisions.compare(larger_ms.tolist(), (NOT_SHORTER * usual_ms).tolist())
    return [
        Finding(
            f"{name}: rarer",
            f"{stats.geometric_mean(many):.3g} pauses a second, with five times the heap "
            f"{stats.geometric_mean(few):.3g}",
            (rarer.p_above(), rarer.p_below(1 / effect_that_matters())),
        ),
        Finding(
            f"{name}: not shorter",
            f"longest pause {stats.geometric_mean(usual_ms):.3g} ms, with five times the heap "
            f"{stats.geometric_mean(larger_ms):.3g} ms",
            (not_shorter.p_above(), not_shorter.p_below()),
        ),
    ]


def _rare_full_collections(data: Realtime) -> Evidence:
    """How seldom a native pool on "CMS" has a full collection, told at scale 1: its old generation shrinks with it."""
    wanted = Wanted(layout="native", families=["CMS"], strategies=["pool"], cases=tuple(RARE_FULL_S))
    rows = wanted.among(data.sweeps)
    findings = []
    for key, group in rows.groupby(["configuration", "strategy", "case"], observed=True):
        expected_s = RARE_FULL_S[str(key[-1])]
        name = f"{' '.join(str(part) for part in key)}: a full collection every {expected_s:,.0f} s"
        lasted_s = group["seconds"].astype(float) / group["scale"].astype(float)
        least_s, most_s = _between_majors_s(group)
        seen = most_s.notna()
        if not (seen | (least_s > _RARE_WITHIN * expected_s)).all():
            why = f"lasted {lasted_s.min():,.0f} s at scale 1 and saw fewer than two full collections"
            findings.append(_not_measured(name, why))
        elif gap := _too_few(len(group)):
            findings.append(_not_measured(name, gap))
        else:
            least = decisions.compare_with(least_s.tolist(), expected_s)
            chances, result = (1.0, least.p_above(_RARE_WITHIN)), "s or less often"
            if seen.all():
                most = decisions.compare_with(most_s.tolist(), expected_s)
                chances = (
                    max(least.p_above(1 / _RARE_WITHIN), most.p_below(_RARE_WITHIN)),
                    min(1.0, 2 * min(least.p_above(_RARE_WITHIN), most.p_below(1 / _RARE_WITHIN))),
                )
                result = f"to {stats.geometric_mean(most_s):,.0f} s"
            findings.append(Finding(name, f"every {stats.geometric_mean(least_s):,.0f} {result}", chances))
            if said_ppm := RARE_LOST_PPM.get(str(key[-1])):
                lost_ppm = group["lost_ppm"].astype(float).clip(lower=_LEAST_LOST_PPM)
                found = decisions.compare_with(lost_ppm.tolist(), said_ppm, _RARE_WITHIN)
                result = f"{_percent(stats.geometric_mean(lost_ppm))} lost"
                chances = found.p_equal, found.p_unequal
                findings.append(Finding(f"{' '.join(map(str, key))}: {_percent(said_ppm)} lost", result, chances))
    needed = " and ".join(f"{2 * seconds:,.0f} s in {case}" for case, seconds in RARE_FULL_S.items())
    missing = [
        Missing("what each young collection leaves on the heap, 20 MB", "told by the study on pauses, from its logs")
    ]
    if all(math.isnan(item.chances[0]) for item in findings):
        missing.append(Missing("native pool", f"no trial is long enough: {needed} times scale"))
    return evidence_of(findings, missing)


def _between_majors_s(trials: pd.DataFrame) -> tuple[pd.Series, pd.Series]:
    """What lies between two major collections at the least and at the most, s at scale 1, where all come after the same
    time; nobody knows how long before a trial the last one was. One that ends with its k-th lasts k - 1 such times and
    a part of one; one that its cap ends a part more. Where fewer than two were seen there is no most."""
    lasted_s = trials["seconds"].astype(float) / trials["scale"].astype(float)
    majors = trials["majors"].astype(float).fillna(0)
    ended_by_one = (majors > 0) & ~trials["cap_reached"].astype("boolean").fillna(True).astype(bool)
    return lasted_s / (majors + 1 - ended_by_one), (lasted_s / (majors - 1)).where(majors >= _FEWEST_FULL)


def _percent(ppm: float) -> str:
    return f"{stats.significant(ppm / 1e4)}%"


def _sentence(evidence: Evidence) -> str:
    total = len(evidence.rows)
    if not total:
        return "Nothing that it speaks of is part of this campaign."
    parts = [f"{way} in {count} of {total}" for way in (AS_PUBLISHED, OTHER_WAY, OPEN, NOT_MEASURED)
             if (count := evidence.count(way))]  # fmt: skip
    return f"{'; '.join(parts).capitalize()}."


@cache
def published() -> Realtime:
    """The published table as a claim takes it: no sweeps, for its losses with both heaps are in its cells."""
    cells = published_cells()
    return Realtime.of(cells, cells.iloc[:0].assign(status=""), PUBLISHED)


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
    _below(pools_beside_allocating, Wanted(families=FAMILIES, strategies=["alloc", "pool"])),
)
REALTIME_CLAIMS = (
    POOL_EVERYWHERE,
    _claim("alloc-no-realtime",
        "In most Java real-time tests, allocating does not work at all.",
        _reaches(False, Wanted(families=FAMILIES, strategies=["alloc"])), asks="most"),
    _claim("realtime-mix-parallel",
        'With heap buffers, the smaller pool (mix) reaches real time on "CMS" where few buffers are in use (A and B).',
        _reaches(True, Wanted(layout="heap", families=["CMS"], strategies=["mix"], cases="AB")), ON_CMS),
    _claim("realtime-pool-zgc",
        "With heap buffers, pools reach real time on ZGC in every case.",
        _reaches(True, Wanted(layout="heap", families=["ZGC"], strategies=["mix", "pool"]))),
    _claim("realtime-alloc-overload",
        "With heap buffers, allocating loses packets in overload on every collector.",
        _reaches(False, Wanted(layout="heap", families=FAMILIES, strategies=["alloc"], cases="C"))),
    _claim("g1-zgc-realtime-better",
        'G1 and ZGC really improve real time over "CMS": in most cells.',
        _below((Wanted(families=["G1", "ZGC"]), Wanted(families=["CMS"]), ("layout", "strategy", "case")),
               Wanted(families=FAMILIES)),
        ON_CMS, asks="most"),
    _claim("zgc-c-2m",
        "With pools, ZGC handles even case C at about two million packets a second (heap buffers).",
        _keeps_up({"C": ZGC_IN_C_NS}, ZGC_POOLS_IN_C)),
    _claim("zgc-all-native",
        "Native buffers on ZGC are the only set-up of Java in which every strategy works in every case.",
        _only_native_zgc_always_works),
    _claim("g1-native-c",
        f"With native buffers, G1's pool handles case C, at {G1_NATIVE_IN_C_NS:g} ns.",
        _keeps_up({"C": G1_NATIVE_IN_C_NS}, G1_NATIVE_POOL_IN_C)),
    _claim("native-better-realtime",
        "Native buffers improve almost everything in real time.",
        _below((Wanted(layout="native"), Wanted(layout="heap"), ("collector", "strategy", "case")),
               Wanted(layout="native", families=FAMILIES)),
        asks="almost every"),
    _claim("native-zgc-best-realtime",
        "Native buffers on ZGC are the best of Java in real time, in every case.",
        _native_zgc_is_best_java),
    _claim("native-cms-rare-full",
        'A native pool on "CMS" has a full collection every 60 s in case C and every 1,100 s in B, as each young '
        "collection leaves 20 MB more; so little is lost, 0.03% in B.",
        _rare_full_collections, ON_CMS),
    _claim("larger-heap",
        "A heap five times as large makes collections rarer, not shorter, and losses less, but not 200 in a million.",
        _larger_heap),
    _claim("longer-interval",
        'A longer interval between packets, up to 10,000 ns, does not help the pool on "CMS" (heap buffers).',
        _longer_interval_is_no_help, ON_CMS),
    _claim("longer-queue",
        'An input queue longer than the longest pause, one second, makes the pool work even on "CMS"; where hardware '
        "has none, an intermediate queue in C does.",
        _longer_queue_helps, ON_CMS),
    _claim("realtime-cpp-pool",
        "In C++, a pool keeps up with smaller intervals than new and delete.",
        _below((Wanted("cpp", strategies=["pool"]), Wanted("cpp", strategies=["alloc"]), ("layout", "case"))),
        [IN_CPP]),
    _claim("cpp-flat-best-realtime",
        "Flat C++ is the best in nearly every real-time test: with each strategy, in each case.",
        _flat_is_best, asks="almost every"),
    _claim("zgc-beats-flat-alloc-c",
        "The exception: allocating in case C, native buffers on ZGC beat flat C++.",
        _below(native_zgc_beside_flat, _NATIVE_ZGC_IN_C)),
    _claim("cpp-flat-rates",
        "Flat C++ with a pool keeps up with 20 million packets a second in case A, 5 in B and 4 in C.",
        _keeps_up(RATES_NS, Wanted("cpp", "flat", strategies=["pool"])), [IN_CPP]),
    _claim("avoid-allocation-cpp",
        "A real-time program belongs in C++ without allocation; Java is a reasonable approximation, good for a million "
        "packets a second.",
        _cpp_without_allocation),
)  # fmt: skip


def evaluate(cells: pd.DataFrame, trials: pd.DataFrame) -> list[Verdict]:
    """Put every claim to the cells of a campaign (`realtime_cells`) and its single trials; each set-up apart."""
    return claims.evaluate_apart(REALTIME_CLAIMS, lambda set_up: Realtime.of(cells, trials, set_up))


def of_campaign(tables: Mapping[str, pd.DataFrame], settings: Mapping[str, Any]) -> list[Verdict]:
    """The verdicts of a campaign, on what it left, as its page and the first page show them."""
    swept = settings.get("sweeps")
    trials = sweep_trials(tables["trials"], settings["scale"], swept["interval_ns"]) if swept else tables["trials"]
    return evaluate(realtime_cells(tables), trials)
