"""What the article's claims on real time (``claims.yaml``) are put to: cells by the likelihood of their trials, and the
single trials of the sweeps, which remarks on queues and heaps speak of. The published table goes through the same
tests."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import product
from typing import Any

import pandas as pd
import scipy

from allocpool import decisions, stats
from allocpool.campaign import hosts
from allocpool.decisions import FEWEST, Comparison, effect_that_matters
from allocpool.evidence import claims, declared, reference
from allocpool.evidence.claims import AS_PUBLISHED, OTHER_WAY, Evidence, Missing, Verdict, of_orderings
from allocpool.evidence.declared import Cells, Judged, Test, claims_of
from allocpool.evidence.trials import NOT_PART, finished, records
from allocpool.packets.cells import CONFIGURATION, CONTROLS
from allocpool.packets.comparisons import POOLING_STRATEGIES, PUBLISHED, with_families
from allocpool.packets.specs import PUBLISHED_CASES
from allocpool.studies.realtime.adaptive import Side, over, p_smaller
from allocpool.studies.realtime.cells import LOSES, at_published_sizes, published_cells, realtime_cells, sweep_trials
from allocpool.studies.realtime.specs import (
    INPUT_QUEUE_MS,
    LONGEST_INTERVAL_NS,
    PDR_LOSS_RATIO,
)  # fmt: skip
from allocpool.studies.realtime.tables import ABOUT_ONE, is_about_one

LONGER_QUEUE = 10.0
"""One second, over the published input queue; one that is longer still does, where a pause is."""
LARGER_HEAP = 5.0
_NEARLY = 0.99
_NOT_SHORTER = 0.9
_RARE_FULL_S = {"B": 1_100.0, "C": 60.0}
_RARE_LOST_PPM = 300.0
"""What is lost in that time in case B."""
_RARE_WITHIN = 2.0
_LEAST_LOST_PPM = 1.0
"""What a trial that lost nothing counts as where losses are compared by their ratio."""
_SAW_NONE = "its trials saw no major collection, reached their cap, or were shorter than the queue"
_EVERY: Mapping[str, Sequence[str]] = {"strategy": POOLING_STRATEGIES, "case": PUBLISHED_CASES}
_NOTHING = decisions.compare([], [])
_USUAL = {"heap_factor": 1.0, "queue_factor": 1.0, "intermediate_factor": 0.0}
_LOW_LATENCY = ("zgc", "genzgc", "shenandoah", "genshenandoah")
_NO_CARD = "this machine runs no such driver: it takes two network ports bound to vfio-pci, and a machine that sends"

Chances = tuple[float, float]
"""Of so much evidence for a statement, and for its reverse beyond the equivalence margin, were it not so."""


@dataclass(frozen=True, eq=False)
class _Cell(declared.Cell):
    """A cell with its row of `realtime_cells`."""

    row: Any = None


@dataclass(frozen=True)
class Realtime:
    """What a claim is put to, of one set-up: the cells, the single trials of the sweeps, and those of other campaigns,
    a frame each, whose configurations say where they ran."""

    cells: pd.DataFrame
    sweeps: pd.DataFrame
    set_up: str
    elsewhere: tuple[pd.DataFrame, ...] = ()

    @classmethod
    def of(
        cls, cells: pd.DataFrame, trials: pd.DataFrame, set_up: str, elsewhere: Iterable[pd.DataFrame] = ()
    ) -> Realtime:
        sweeps, *others = (with_families(finished(each), set_up, cells) for each in (trials, *elsewhere))
        choices = cells[~cells["collector"].isin(CONTROLS)]
        named = (rows.assign(configuration=rows["configuration"] + rows["where"]) for rows in others)
        return cls(with_families(choices, set_up, cells), sweeps, set_up, tuple(named))

    @cached_property
    def declared(self) -> Cells:
        """The cells as tests of ``claims.yaml`` select them."""
        keys = ("configuration", "layout", "collector", "strategy", "case")
        rows = self.cells["strategy"].isin(POOLING_STRATEGIES) & self.cells["case"].isin(PUBLISHED_CASES)
        cells = []
        for row in records(self.cells[rows]):
            facts = {name: getattr(row, name) for name in ("language", "family", *keys)}
            facts = {name: None if pd.isna(value) else value for name, value in facts.items()}
            label, found = f"{row.configuration} {row.strategy} {row.case}", [row.pdr_ns] * bool(row.n)
            cells.append(_Cell(facts, label, pd.Series(found, dtype=float), self.gap(row) or "", row=row))
        why = {"kernel-bypass-driver": _NO_CARD} if len(self.cells) + len(self.sweeps) else {}
        return Cells(cells, keys, why, judge=self._judge)

    def gap(self, row: Any) -> str | None:
        """Return why a cell decides nothing, or None."""
        if row.n == 0:
            return str(row.gap)
        if self.set_up == PUBLISHED:
            return None
        if row.every_pdr.gap is not None:
            return str(row.every_pdr.gap)
        if pd.notna(row.queue_factor) and not is_about_one(row.queue_factor):
            return f"its input queue is {row.queue_factor:.3g} times that of this scale: another experiment"
        return None

    def _judge(self, test: Test, larger: Sequence[Any], smaller: Sequence[Any]) -> Judged:
        """Whether one of the smaller cells is below all of the larger ones. The trials that choose the one also judge
        it, so each is put to all, and the choice is paid for, as `allocpool.decisions.p_cheapest` does."""
        if not smaller:
            return self._alone(test, larger)
        rivals = [cell for cell in larger if cell not in smaller]
        one, other = (min(side, key=_edge_ns) for side in (smaller, rivals))
        gaps = tuple(Missing(cell.label, cell.gap) for cell in (*smaller, *rivals) if cell.gap)
        cells = tuple(rivals), tuple(smaller)
        if gaps:
            return Judged(other.label, one.label, _NOTHING, gaps=gaps, cells=cells)
        p, p_against = (
            min(1.0, len(few) * min(max(self._p_smaller(cell.row, rival.row, by) for rival in others) for cell in few))
            for few, others, by in ((smaller, rivals, 1.0), (rivals, smaller, effect_that_matters()))
        )
        compared = _NOTHING  # published figures are exact and need no likelihood
        if self.set_up != PUBLISHED:
            by_losses = self._by_losses(one.row, other.row)
            compared = _lost_more(other.row, one.row) if by_losses else over([(other.row.every_pdr, one.row.every_pdr)])
        return Judged(other.label, one.label, compared, chances=(p, p_against), cells=cells)

    def _alone(self, test: Test, cells: Sequence[Any]) -> Judged:
        """Whether some cell of these keeps up with about an interval or a smaller one (any that was tried, where none
        is given), or loses at every interval that was tried; several are paid for."""
        keeps_up = test.compare == "keeps_up"
        # What one cell does it does about so; that some cell does is put to the figure as it stands.
        about = 1.0 if test.cheapest else effect_that_matters()
        limit_ns = about * test.value if keeps_up and test.value else None
        gaps = [cell.gap or self._too_little(test, cell.row) for cell in cells]
        usable = [cell for cell, gap in zip(cells, gaps, strict=True) if not gap]
        every = math.prod(len(_EVERY[name]) for name in test.cheapest if name in _EVERY)
        complete = len(usable) == len(cells) >= every
        best = (min if keeps_up else max)(usable or cells, key=_edge_ns)
        as_claimed = best in usable and (_edge_ns(best) <= (limit_ns or LONGEST_INTERVAL_NS)) == keeps_up
        of_limit = f"{test.value:g} ns" if limit_ns else "the longest interval tried"
        larger, smaller = (of_limit, best.label) if keeps_up else (best.label, of_limit)
        if not usable or not (complete or as_claimed):
            why = [Missing(cell.label, gap) for cell, gap in zip(cells, gaps, strict=True) if gap]
            missing = why or [Missing(best.facts["configuration"], f"only {len(usable)} of its cells have a figure")]
            return Judged(larger, smaller, _NOTHING, gaps=tuple(missing), cells=(tuple(cells), ()))
        chances = [self._below(cell.row, limit_ns) for cell in usable]
        sides = [(below, above) if keeps_up else (above, below) for below, above in chances]
        p = min(1.0, len(usable) * min(for_it for for_it, _ in sides))
        p_against = max(against for _, against in sides) if complete else 1.0
        ends: list[Side] = [limit_ns or best.row.every_pdr.highest_ns, best.row.every_pdr]
        one, other = ends if keeps_up else ends[::-1]
        compared = _NOTHING if self.set_up == PUBLISHED else over([(one, other)])
        return Judged(larger, smaller, compared, chances=(p, p_against), cells=(tuple(cells), ()))

    def _too_little(self, test: Test, row: Any) -> str | None:
        """Return why a cell shows nothing of losses up to an interval: no longer one was tried, or where it passes, no
        long pause was seen."""
        if self.set_up == PUBLISHED or test.compare != "loses" or not test.value:
            return None
        if row.answer != LOSES:
            return None if pd.notna(row.decides_long_pauses) and row.decides_long_pauses else _SAW_NONE
        highest_ns = row.every_pdr.highest_ns
        return None if highest_ns >= _NEARLY * test.value else f"tried up to {highest_ns:,.0f} ns"

    def _below(self, row: Any, limit_ns: float | None) -> Chances:
        """That a minimum sustainable inter-arrival time lies below a limit, or below the longest interval tried, and
        that it lies above."""
        if self.set_up == PUBLISHED:
            return _exact(row.answer != LOSES and (limit_ns is None or row.pdr_ns <= limit_ns))
        limit_ns = limit_ns or row.every_pdr.highest_ns
        return row.every_pdr.p_below(limit_ns), row.every_pdr.p_above(limit_ns)

    def _by_losses(self, left: Any, right: Any) -> bool:
        """Whether two cells are compared by what they lose at one interval, as none passes in either."""
        return bool(left.answer == right.answer == LOSES and left.compared_ns == right.compared_ns)

    def _p_smaller(self, left: Any, right: Any, by: float) -> float:
        """That ``left`` keeps up with a smaller interval by a factor above ``by``, or loses so much less."""
        if self.set_up == PUBLISHED:
            left_, right_ = (
                row.lost_percent if self._by_losses(left, right) else row.pdr_ns if row.answer != LOSES else math.inf
                for row in (left, right)
            )
            return float(not left_ < right_)
        if self._by_losses(left, right):
            return _lost_more(right, left).p_above(by)
        return p_smaller(left.every_pdr, right.every_pdr, by)


def _edge_ns(cell: Any) -> float:
    return float(cell.row.pdr_ns) if cell.row.answer != LOSES else math.inf


def _exact(is_so: bool) -> Chances:
    """Return the chances of a published figure, which is exact."""
    return (0.0, 1.0) if is_so else (1.0, 0.0)


def _lost_more(one: Any, other: Any) -> Comparison:
    left, right = ([max(1e4 * lost, _LEAST_LOST_PPM) for lost in row.every_lost] for row in (one, other))
    return decisions.compare(left, right)


def _percent(ppm: float) -> str:
    return f"{stats.significant(ppm / 1e4)}%"


def _swept(data: Realtime, **wanted: Sequence[str]) -> pd.DataFrame:
    """Return the single trials of Java in the published cases that have these values, with queues over the published
    input queue of their scale: those of the campaign where they decide anything, else of the other one that has
    most."""
    every = [data.sweeps, *data.elsewhere]
    for name, values in {"language": ["java"], "case": PUBLISHED_CASES, **wanted}.items():
        every = [rows[rows[name].isin(list(values))] for rows in every]
    own = every[0]
    enough = [rows for rows in every if len(rows) and rows["block"].nunique() >= FEWEST]
    rows = own if any(rows is own for rows in enough) else max(enough, key=len, default=own)
    if rows.empty:
        return rows
    usual_ms = INPUT_QUEUE_MS * rows["scale"]
    between_ms = rows["intermediate_queue_ms"].astype(float).fillna(0.0)
    return rows.assign(queue_factor=rows["input_queue_ms"] / usual_ms, intermediate_factor=between_ms / usual_ms)


def _sides(rows: pd.DataFrame, column: str, other: float) -> Iterator[tuple[str, pd.DataFrame, pd.DataFrame]]:
    """Yield name, usual trials that lose, and those with ``other`` in ``column``, all else as published."""
    if rows.empty:
        return
    for name, value in _USUAL.items():
        if name != column:
            rows = rows[_close(rows[name], value)]
    for key, group in rows.groupby(list(CONFIGURATION), observed=True):
        usual, changed = (group[_close(group[column], value)].sort_values("block") for value in (_USUAL[column], other))
        if len(changed) and (usual["lost_ppm"].astype(float) > 0).any():
            yield " ".join(map(str, key)), usual, changed


def _close(values: pd.Series, value: float) -> pd.Series:
    """Equal but for rounding: a heap is rounded to MiB."""
    low, high = ABOUT_ONE
    return values.astype(float).between(low * value, high * value)


def _saw(trials: pd.DataFrame) -> pd.Series:
    return trials["decides_long_pauses"].astype("boolean").fillna(False).astype(bool)


def _lacking(name: str, why: str) -> Judged:
    return Judged(name, "", _NOTHING, gaps=(Missing(name, why),))


def _ordered(larger: str, smaller: str, found: Comparison, by: float = 1.0) -> Judged:
    return Judged(larger, smaller, found, chances=(found.p_above(), found.p_below(by)))


_FEW = f"fewer than {FEWEST} trials"
_SAFE, _EDGE = 0.05, 0.5
"""Chances of a loss: at an interval that one would choose; where every other trial loses."""


def _longer_queue(data: Realtime) -> Evidence:
    """A queue of one second or more, where trials lose with the usual one; and such a queue in front of the usual
    one."""
    rows = _swept(data, layout=["heap"], family=["CMS"], strategy=["pool"])
    expected = []
    ways = {"queue_factor": "{:g} times the queue", "intermediate_factor": "an intermediate queue {:g} times as long"}
    for column, words in ways.items():
        tried = max([LONGER_QUEUE, *rows[column]]) if len(rows) else LONGER_QUEUE
        for cell, _, longer in _sides(rows, column, tried):
            name = f"{cell} with {words.format(tried)}"
            longest_ms = longer["gc_pause_max_ms"].astype(float)
            length_ms = longer["input_queue_ms"] + longer["intermediate_queue_ms"].astype(float)
            trials = longer[_saw(longer) & (longest_ms <= length_ms)]
            if len(trials) < FEWEST:
                shorter = f"its longest pause, {longest_ms.max():.0f} ms, is longer than {length_ms.max():g} ms"
                expected.append(_lacking(name, _SAW_NONE if not _saw(longer).all() else
                                         shorter if len(trials) < len(longer) else _FEW))  # fmt: skip
                continue
            losing = int((trials["lost_ppm"].astype(float) > 0).sum())
            binom = scipy.stats.binom
            works, fails = binom.cdf(losing, len(trials), _EDGE), binom.sf(losing - 1, len(trials), _SAFE)
            found = f"{name}, {losing} of {len(trials)} trials lose"
            expected.append(Judged("a loss in every other trial", found, _NOTHING, chances=(works, fails)))
    missing = [] if len(rows) else [Missing("CMS", NOT_PART.word)]
    if rows.empty or not (rows["intermediate_factor"] > 0).any():
        missing.append(Missing("an intermediate queue in C", NOT_PART.word))
    return of_orderings(expected, missing)


def _larger_heap(data: Realtime) -> Evidence:
    """Losses and collections with both heaps, in the sweeps; of published figures in the cells where none passes."""
    expected = []
    rows = _swept(data, layout=["heap"], family=["CMS", "G1", "ZGC"])
    for cell, usual, larger in _sides(rows, "heap_factor", LARGER_HEAP):
        sides = [side[_saw(side)] for side in (usual, larger)]
        if min(map(len, sides)) >= FEWEST:
            expected += _less_but_not_cured(data, cell, *(side["lost_ppm"].astype(float) for side in sides))
            expected += _rarer_not_shorter(cell, *sides)
            continue
        saw = _saw(usual).all() and _saw(larger).all()
        expected.append(_lacking(f"{cell} with five times the heap", _FEW if saw else _SAW_NONE))
        if len(larger) >= FEWEST:  # what is lost before any such collection is the least that will be
            expected.append(_not_cured(cell, larger["lost_ppm"].astype(float), at_least=True))
    if data.set_up == PUBLISHED:
        published_so = data.cells["larger_heap_lost_percent"].notna() & (data.cells["layout"] == "heap")
        for row in records(data.cells[published_so]):
            lost = ([1e4 * percent] for percent in (row.lost_percent, row.larger_heap_lost_percent))
            expected += _less_but_not_cured(data, f"{row.configuration} {row.strategy} {row.case}", *lost)
    return of_orderings(expected)


def _less_but_not_cured(
    data: Realtime, cell: str, usual_ppm: Iterable[float], larger_ppm: Iterable[float]
) -> list[Judged]:
    usual, larger = ([max(ppm, _LEAST_LOST_PPM) for ppm in side] for side in (usual_ppm, larger_ppm))
    less = decisions.compare(usual, larger)
    found = [
        _ordered(f"loss of {cell}", "that with five times the heap", less, 1 / effect_that_matters()),
        _not_cured(cell, larger),
    ]
    if data.set_up != PUBLISHED:
        return found
    exact = _exact(larger < usual), _exact(larger[0] > 1e6 * PDR_LOSS_RATIO)
    return [replace(one, chances=chances) for one, chances in zip(found, exact, strict=True)]


def _not_cured(cell: str, lost_ppm: Iterable[float], at_least: bool = False) -> Judged:
    """Whether a larger heap still loses; ``at_least``: this or more, so it can't show the reverse."""
    limit_ppm = 1e6 * PDR_LOSS_RATIO
    lost = [max(ppm, _LEAST_LOST_PPM) for ppm in lost_ppm]
    found = decisions.compare(lost, [limit_ppm] * len(lost))
    judged = _ordered(f"loss of {cell} with five times the heap", _percent(limit_ppm), found)
    return replace(judged, chances=(found.p_above(), 1.0)) if at_least else judged


def _rarer_not_shorter(cell: str, usual: pd.DataFrame, larger: pd.DataFrame) -> list[Judged]:
    """Collections with pauses per second, and the longest pause of each trial."""
    sides = [side.dropna(subset=["gc_pauses", "gc_pause_max_ms", "seconds"]) for side in (usual, larger)]
    sides = [side[(side["gc_pauses"] > 0) & (side["gc_pause_max_ms"] > 0)] for side in sides]
    if min(map(len, sides)) < FEWEST:
        return []
    many, few = ((side["gc_pauses"].astype(float) / side["seconds"]).tolist() for side in sides)
    usual_ms, larger_ms = (side["gc_pause_max_ms"].astype(float) for side in sides)
    rarer, longer = decisions.compare(many, few), decisions.compare(larger_ms, _NOT_SHORTER * usual_ms)
    name, limit = f"longest pause of {cell} with five times the heap", f"{_NOT_SHORTER:g} times the usual one"
    beyond = 1 / effect_that_matters()
    return [
        _ordered(f"pauses a second of {cell}", "those with five times the heap", rarer, beyond),
        _ordered(name, limit, longer),
    ]


def _rare_full_collections(data: Realtime) -> Evidence:
    """How seldom a native pool on "CMS" has a full collection, at scale 1: its old generation shrinks with it."""
    rows = _swept(data, layout=["native"], family=["CMS"], strategy=["pool"], case=list(_RARE_FULL_S))
    expected = []
    for key, group in rows.groupby(list(CONFIGURATION), observed=True) if len(rows) else ():
        said_s, name = _RARE_FULL_S[str(key[-1])], " ".join(map(str, key))
        least_s, most_s = _between_majors_s(group)
        seen, why = most_s.notna(), ""
        if not (seen | (least_s > _RARE_WITHIN * said_s)).all():
            lasted_s = (group["seconds"].astype(float) / group["scale"].astype(float)).min()
            why = f"lasted {lasted_s:,.0f} s at scale 1 and saw fewer than two full collections"
        if why or len(group) < FEWEST:
            expected.append(_lacking(name, why or _FEW))
            continue
        least = decisions.compare_with(least_s.tolist(), said_s)
        chances = 1.0, least.p_above(_RARE_WITHIN)
        if seen.all():
            most = decisions.compare_with(most_s.tolist(), said_s)
            chances = (
                max(least.p_above(1 / _RARE_WITHIN), most.p_below(_RARE_WITHIN)),
                min(1.0, 2 * min(least.p_above(_RARE_WITHIN), most.p_below(1 / _RARE_WITHIN))),
            )
        expected.append(Judged(f"least time between full collections, {name}", f"{said_s:g} s", least, chances=chances))
        if key[-1] == "B":
            lost_ppm = group["lost_ppm"].astype(float).clip(lower=_LEAST_LOST_PPM)
            lost = decisions.compare_with(lost_ppm.tolist(), _RARE_LOST_PPM, _RARE_WITHIN)
            chances = lost.p_equal, lost.p_unequal
            expected.append(Judged(f"loss of {name}", _percent(_RARE_LOST_PPM), lost, chances=chances))
    missing = [Missing("what each young collection leaves on the heap, 20 MB", "shown by the study on pauses")]
    if all(math.isnan(item.p) for item in expected):
        needed = " and ".join(f"{2 * seconds:,.0f} s in {case}" for case, seconds in _RARE_FULL_S.items())
        missing.append(Missing("native pool", f"no trial is long enough: {needed} times scale"))
    return of_orderings(expected, missing)


def _delays_at_the_tail(data: Realtime) -> Evidence:
    """Compare delays at p99.99 in the sweeps, usual queue and heap, to those with ZGC or Shenandoah. What is lost has
    none."""
    rows, expected = _swept(data), []
    for name, value in _USUAL.items() if len(rows) else ():
        rows = rows[_close(rows[name], value)]
    for (_, strategy, case), group in rows.groupby(["layout", "strategy", "case"], observed=True):
        late_us = {key: part["delay_p99_99_us"].dropna().astype(float)
                   for key, part in group.groupby(["collector", "configuration"], observed=True)}  # fmt: skip
        expected += [
            _ordered(f"{one[1]} {strategy} {case}", f"{low[1]} {strategy} {case}",
                     decisions.compare(late_us[one], late_us[low]), 1 / effect_that_matters())
            for one, low in product(late_us, late_us) if one[0] not in _LOW_LATENCY and low[0] in _LOW_LATENCY
        ]  # fmt: skip
    return of_orderings(expected)


def _published_delays() -> Evidence:
    late_us = reference.load("ixy_java_latency_us").set_index("collector")["p9999_us"].astype(float)
    pairs = list(product(("CMS", "Serial", "Parallel", "G1"), ("ZGC", "Shenandoah")))
    rows = pd.DataFrame(
        [(*pair, late_us[pair[0]] / late_us[pair[1]]) for pair in pairs], columns=["one", "low", "ratio"]
    )
    return Evidence(rows.assign(shown=(rows["ratio"] > 1).map({True: AS_PUBLISHED, False: OTHER_WAY})))


def _between_majors_s(trials: pd.DataFrame) -> tuple[pd.Series, pd.Series]:
    """Return what lies between two major collections at the least and at the most, s at scale 1, where all come after
    the same time; nobody knows how long before a trial the last one was. One that ends with its k-th lasts k - 1 such
    times and a part of one; one that its cap ends a part more. Where fewer than two were seen there is no most."""
    lasted_s = trials["seconds"].astype(float) / trials["scale"].astype(float)
    majors = trials["majors"].astype(float).fillna(0)
    ended_by_one = (majors > 0) & ~trials["cap_reached"].astype("boolean").fillna(True).astype(bool)
    return lasted_s / (majors + 1 - ended_by_one), (lasted_s / (majors - 1)).where(majors >= 2)


@cache
def published() -> Realtime:
    """Return the published table as a claim takes it: no sweeps, for its losses with both heaps are in its cells."""
    cells = published_cells()
    return Realtime.of(cells, cells.iloc[:0].assign(status=""), PUBLISHED)


def _odd(function: Callable[[Realtime], Evidence]) -> declared.Odd:
    return function, lambda: function(published())


REALTIME_CLAIMS = claims_of(
    "realtime",
    lambda data: data.declared,
    lambda: published().declared,
    {
        "rare_full_collections": _odd(_rare_full_collections), "larger_heap": _odd(_larger_heap),
        "longer_queue": _odd(_longer_queue), "delays_at_the_tail": (_delays_at_the_tail, _published_delays),
    },
)  # fmt: skip
POOL_EVERYWHERE = REALTIME_CLAIMS[0]


def evaluate(cells: pd.DataFrame, trials: pd.DataFrame) -> list[Verdict]:
    """Put every claim to the cells of a campaign (`realtime_cells`) and its single trials or, where these decide
    nothing, those that are stored at the published sizes; each set-up apart. Without a campaign nothing is tested."""
    elsewhere = _elsewhere() if (cells["n"] > 0).any() or len(trials) else []
    return claims.evaluate_apart(REALTIME_CLAIMS, lambda set_up: Realtime.of(cells, trials, set_up, elsewhere))


def _elsewhere() -> list[pd.DataFrame]:
    """Return the single trials of profile ``article`` by machine, which ``where`` names."""
    found = at_published_sizes("article")
    if found.empty:
        return []
    return [rows.assign(where=f" at scale 1 on {hosts.label(str(host_id), 'article')},")
            for host_id, rows in found.astype({"configuration": str}).groupby("host_id")]  # fmt: skip


def of_campaign(tables: Mapping[str, pd.DataFrame], settings: Mapping[str, Any]) -> list[Verdict]:
    swept = settings.get("sweeps")
    trials = sweep_trials(tables["trials"], settings["scale"], swept["interval_ns"]) if swept else tables["trials"]
    return evaluate(realtime_cells(tables), trials)
