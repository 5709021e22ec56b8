"""A real-time cell is one configuration, strategy and case: its smallest interval, or what it lost instead; by its
searches, or by its placed trials where these do not decide.

The figure of a search is the geometric middle of its bracket, that of a cell their geometric mean, with an interval
that narrows as searches are added and holds the brackets' own width. An interval counts as found where most searches
found one. What is lost elsewhere is told over trials, one of each search.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pandas as pd

from allocpool import stats
from allocpool.evidence import reference
from allocpool.evidence.trials import finished, records
from allocpool.packets.cells import CONFIGURATION, CONFIGURATION_FACTS, cells_of, configuration_order
from allocpool.packets.cells import cells as batch_cells
from allocpool.packets.published import LIKELIEST, in_our_words, with_published
from allocpool.studies.realtime.contrasts import Searches, share_lost
from allocpool.studies.realtime.loss_boundary import EDGE, SAFE, LossBoundary
from allocpool.studies.realtime.placed import PlacedTrials, seen_of, told_by
from allocpool.studies.realtime.specs import COMPARISON_INTERVAL_NS, HIGHEST_INTERVAL_NS, PDR_LOSS_RATIO
from allocpool.studies.realtime.tables import ABOUT_ONE

SEARCHES, PLACED = "searches", "placed trials"
"""What a cell's figure rests on."""
NDR, PDR, LOSES = "ndr", "pdr", "loses"
_LEAST_LOST_PERCENT = 1e-4
"""One in a million: what a trial that lost nothing counts as in a geometric mean of losses."""
_LOST = ("lost", "larger_heap_lost")
_NUMBERS = (
    *(f"{goal}_{end}ns" for goal in (NDR, PDR) for end in ("", "low_", "high_")),
    *(f"{lost}_{end}percent" for lost in _LOST for end in ("", "low_", "high_", "mean_", "mean_low_", "mean_high_")),
    "queue_factor", "pdr_loss_ratio", "compared_ns", "larger_heap_factor", "highest_ns",
)  # fmt: skip
_COUNTS = ("n_passes", "n_ndr", "confirmations", "majors_seen", "larger_heap_majors_seen")
_MARKS = ("repeated", "hit_cap", "decides_long_pauses", "larger_heap_hit_cap", "larger_heap_decides")
_EVERY = ("every_ndr", "every_pdr", "every_lost", "every_larger_heap_lost")
_NEEDED = [
    *CONFIGURATION, *CONFIGURATION_FACTS, "block", "status", "reason", "confirmations", "high_ns", "intervals_tried",
    *(f"{goal}_{end}ns" for goal in (NDR, PDR) for end in ("", "fails_")), "highest_trials", "highest_losing",
    "queue_factor", "pdr_loss_ratio", "compared_ns", "compared_lost_ppm", "larger_heap_factor", "larger_heap_lost_ppm",
    "larger_heap_gap", "majors_seen", "larger_heap_majors_seen", "hit_cap", "larger_heap_hit_cap",
    "decides_long_pauses", "larger_heap_decides",
]  # fmt: skip
"""Of a hundred columns: each step of each cell would go through all of them."""
_NEEDED_PLACED = [
    *CONFIGURATION, *CONFIGURATION_FACTS, "block", "status", "reason", "interval_ns", "input_queue_ms", "slip_max_ms",
    "lost", "lost_ppm", "delay_max_us", "queue_size", "stored_count", "queue_factor", "majors", "decides_long_pauses",
]  # fmt: skip
_FIGURES = ("answer", "by", *_NUMBERS, *_COUNTS, *_MARKS, *_EVERY, "larger_heap_gap")


def bound(ns: float) -> str:
    """An end of an interval in words; an end of 0 or at infinity bounds nothing."""
    return stats.significant(float(ns)) if 0 < ns < math.inf else "no bound"


def with_ends(ns: float, low_ns: float, high_ns: float) -> str:
    """A figure with its interval in words, as far as they are known."""
    if pd.isna(ns):
        return "none found"
    told = stats.significant(float(ns))
    return told if pd.isna(low_ns) else f"{told} ({bound(low_ns)} to {bound(high_ns)})"


def usual_heap(rows: pd.DataFrame) -> pd.Series:
    """Whether each row has the published heap at its scale, in whole MB, or none, as C++ has."""
    return rows["heap_factor"].isna() | rows["heap_factor"].between(*ABOUT_ONE)


def searches_of(done: pd.DataFrame, goal: str) -> Searches:
    """The searches of one cell, for one goal."""
    passes = done[f"{goal}_ns"].astype(float).fillna(math.inf)
    without = ~np.isfinite(passes)
    return Searches(
        tuple(zip(done[f"{goal}_fails_ns"].astype(float), passes, strict=True)),
        confirmations=int(done["confirmations"].min()),
        highest_ns=float(done["high_ns"].min()),
        tried=int(done["intervals_tried"].fillna(1).max()),
        highest_trials=int(done["highest_trials"][without].fillna(0).sum()),
        highest_losing=int(done["highest_losing"][without].fillna(0).sum()),
    )


def _lost(name: str, done: pd.DataFrame, column: str) -> dict[str, Any]:
    """What the trials of all searches lost at one interval: geometric mean with Student's interval, their mean with
    that of shares resampled over trials, and each."""
    every = done[column].dropna().astype(float) / 1e4
    if every.empty:
        return {}
    spread = stats.geometric_interval(every.clip(lower=_LEAST_LOST_PERCENT))
    alone = spread.method == "one trial"
    resampled = share_lost(list(every))
    return {
        f"{name}_percent": spread.estimate,
        f"{name}_low_percent": math.nan if alone else spread.low,
        f"{name}_high_percent": math.nan if alone else min(100.0, spread.high),
        f"{name}_mean_percent": resampled.mean,
        f"{name}_mean_low_percent": resampled.low,
        f"{name}_mean_high_percent": resampled.high,
        f"every_{name}": tuple(every),
    }


def _one_of(done: pd.DataFrame, name: str) -> float:
    """What all searches of a cell have in common; NaN where they differ."""
    values = done[name].astype(float).unique() if name in done else np.array([])
    return float(values[0]) if len(values) == 1 else np.nan


def _over(done: pd.DataFrame, name: str, fold: Callable[[Iterable[Any]], Any]) -> Any:
    """A mark of a cell out of those of its searches; None where none of them has it."""
    values = list(done[name].dropna()) if name in done else []
    return fold(values) if values else None


def _answer(_group: pd.DataFrame, done: pd.DataFrame) -> dict[str, Any]:
    """By searches where there are enough of them or nothing else, or else by placed trials."""
    done = done.sort_values("block", kind="stable")
    if _BY not in done:
        return _by_searches(done)
    searches, placed = (done[done[_BY] == by] for by in (SEARCHES, PLACED))
    if placed.empty or (len(searches) and searches_of(searches, PDR).decides):
        return _by_searches(searches) | {"n": len(searches)}
    return _by_placed(placed)


_BY = "by"


def placed_of(done: pd.DataFrame, goal: str) -> PlacedTrials:
    """The placed trials of one cell, for one goal."""
    seen = [seen_of(row) for row in records(done)]
    told = told_by(seen, PDR_LOSS_RATIO if goal == PDR else 0.0)
    highest_ns = max((interval_ns for interval_ns, _ in told), default=math.nan)
    return PlacedTrials(told, len(seen) - len(told), highest_ns)


def _by_placed(done: pd.DataFrame) -> dict[str, Any]:
    answer: dict[str, Any] = {"answer": LOSES, "by": PLACED}
    for goal in (PDR, NDR):
        found = placed_of(done, goal)
        answer[f"every_{goal}"] = found
        answer["n_ndr" if goal == NDR else "n_passes"] = found.n if found.passes else 0
        if found.passes:
            answer["answer"] = goal
            ends = ("", "low_", "high_")
            answer |= {f"{goal}_{end}ns": ns for end, ns in zip(ends, found.interval_ns(), strict=True)}
    of_all: PlacedTrials = answer[f"every_{PDR}"]
    answer["n"] = of_all.n or len(done)
    # What an interval that passes rests on; where none does, all.
    passing = done[done["lost_ppm"].astype(float) <= 1e6 * PDR_LOSS_RATIO] if of_all.passes else done
    answer |= {
        "repeated": of_all.decides, "highest_ns": of_all.highest_ns, "queue_factor": _one_of(done, "queue_factor"),
        "pdr_loss_ratio": PDR_LOSS_RATIO, "majors_seen": _over(passing, "majors", min),
        "decides_long_pauses": _over(passing, "decides_long_pauses", all),
    }  # fmt: skip
    compared = done[np.isclose(done["interval_ns"].astype(float), COMPARISON_INTERVAL_NS)]
    if answer["answer"] != LOSES or compared.empty:
        return answer
    return answer | {"compared_ns": COMPARISON_INTERVAL_NS, **_lost("lost", compared, "lost_ppm")}


def _by_searches(done: pd.DataFrame) -> dict[str, Any]:
    answer: dict[str, Any] = {"answer": LOSES, "by": SEARCHES}
    for goal in (PDR, NDR):
        found = searches_of(done, goal)
        answer[f"every_{goal}"] = found
        answer["n_ndr" if goal == NDR else "n_passes"] = found.passing
        if 2 * found.passing > found.n:
            answer["answer"] = goal
            ends = ("", "low_", "high_")
            answer |= {f"{goal}_{end}ns": ns for end, ns in zip(ends, found.interval_ns(), strict=True)}
    compared = done[done["compared_ns"].notna()]
    larger = done[done["larger_heap_factor"].notna()]
    return answer | {
        "repeated": answer[f"every_{PDR}"].decides,
        "confirmations": answer[f"every_{PDR}"].confirmations,
        "highest_ns": answer[f"every_{PDR}"].highest_ns,
        "queue_factor": _one_of(done, "queue_factor"),
        "pdr_loss_ratio": _one_of(done, "pdr_loss_ratio"),
        **{name: _over(done, name, min) for name in ("majors_seen", "larger_heap_majors_seen")},
        **{name: _over(done, name, any) for name in ("hit_cap", "larger_heap_hit_cap")},
        **{name: _over(done, name, all) for name in ("decides_long_pauses", "larger_heap_decides")},
        "larger_heap_gap": next(iter(done["larger_heap_gap"].dropna()), None),
        "compared_ns": _one_of(compared, "compared_ns"),
        **_lost("lost", compared, "compared_lost_ppm"),
        "larger_heap_factor": _one_of(larger, "larger_heap_factor"),
        **_lost("larger_heap_lost", larger, "larger_heap_lost_ppm"),
    }


def realtime_cells(
    searches: pd.DataFrame,
    placed: pd.DataFrame | None = None,
    plan: pd.DataFrame | None = None,
    pairs: Iterable[tuple[str, str]] = (),
) -> pd.DataFrame:
    """One row per configuration, strategy and case of the searches at the published heap and of the placed trials;
    ``by`` tells which of them its figure rests on.

    ``answer`` is ``ndr`` (nothing was lost from ``ndr_ns`` on), ``pdr`` (few were, ``pdr_loss_ratio`` at most) or
    ``loses`` (most searches found no interval), or None where there is a ``gap``, as `cells_of` makes it. ``ndr_ns`` is
    the geometric mean of the searches' figures with ``ndr_low_ns`` and ``ndr_high_ns`` around it (95%, see
    `Searches.interval_ns`), ``every_ndr`` the searches themselves, ``n_ndr`` those that found one; so for ``pdr``, with
    ``n_passes``. Where searches found none, ``lost_percent`` at ``compared_ns`` is the geometric mean over trials, one
    of each search, with Student's interval and ``every_lost``; ``lost_mean_percent`` their mean with the interval of
    shares resampled over trials; ``larger_heap_lost_percent`` the same with a heap
    ``larger_heap_factor`` times the published one. ``repeated`` says that there are searches and confirmations enough.
    ``majors_seen``, ``hit_cap``, ``decides_long_pauses`` and those of the larger heap are what the searches say, put
    together: fewest, any, all. Published figures lie beside.

    By placed trials ``ndr_ns`` is the boundary with its interval, ``every_ndr`` a `PlacedTrials`, and ``n`` counts
    trials; what is lost is told of those at the interval of the published losses, and no larger heap was tried.
    """
    base = searches[usual_heap(searches)].filter(items=_NEEDED)
    if placed is not None and len(placed):
        others = placed.filter(items=_NEEDED_PLACED).assign(**{_BY: PLACED})
        base = pd.concat([base.assign(**{_BY: SEARCHES}), others], ignore_index=True) if len(base) else others
    frame = cells_of(base, _FIGURES, finished, _answer, plan, pairs)
    types = {
        **dict.fromkeys(_NUMBERS, "float64"),
        **dict.fromkeys(_COUNTS, "Int64"),
        **dict.fromkeys(_MARKS, "boolean"),
    }
    return with_published(frame.astype(types), published_realtime())


def published_realtime() -> pd.DataFrame:
    """The article's real-time table: language, layout, family (None for C++), published_configuration, strategy, case,
    published_interval_ns (smallest interval without or with few losses), published_lost_percent (at that interval, or
    at 1000 ns where there is none) and published_lost_percent_large_heap (at 1000 ns with a heap of 10 GB)."""
    table = reference.load("allocate_or_pool_realtime")
    return in_our_words(table).assign(
        published_interval_ns=table["min_interval_ns"].astype(float),
        published_lost_percent=table["lost_percent_at_1000ns"].astype(float),
        published_lost_percent_large_heap=table["lost_percent_at_1000ns_10g_heap"].astype(float),
    )


def published_cells() -> pd.DataFrame:
    """The published table in the form of measured cells, so that a claim can be put to it as well.

    "CMS" rows appear as Parallel, which is what they most likely ran. An interval with a loss beside it is a PDR one
    where that loss is at most 200 ppm; where it is more, no interval passes.
    """
    rows = []
    for row in records(published_realtime()):
        lost = row.published_lost_percent
        passes = pd.notna(row.published_interval_ns) and not lost > 0.02
        answer = (NDR if pd.isna(lost) else PDR) if passes else LOSES
        rows.append({
            "configuration": row.published_configuration, "strategy": row.strategy, "case": row.case,
            "language": row.language,
            "layout": row.layout, "collector": LIKELIEST.get(row.family),
            "runtime": None, "trials": 1, "n": 1, "answer": answer, "queue_factor": 1.0, "repeated": False,
            "ndr_ns": row.published_interval_ns if answer == NDR else np.nan,
            "pdr_ns": row.published_interval_ns if answer != LOSES else np.nan,
            "every_pdr": _published_search(math.inf if answer == LOSES else row.published_interval_ns),
            "compared_ns": 1000.0, "lost_percent": lost, "larger_heap_factor": 5.0,
            "larger_heap_lost_percent": row.published_lost_percent_large_heap,
        })  # fmt: skip
    return pd.DataFrame(rows, columns=[*CONFIGURATION, *CONFIGURATION_FACTS, "trials", "n", *_FIGURES, "gap"])


def _published_search(passes_ns: float) -> Searches:
    """A published figure is one search: what fails below it, and how often that was tried, is not told."""
    return Searches(((math.nan, passes_ns),), confirmations=1, highest_ns=HIGHEST_INTERVAL_NS, tried=1)


def published_sweeps() -> pd.DataFrame:
    """The published losses at 1000 ns with both heaps, in the form of measured trials of a sweep."""
    rows = []
    for row in records(published_realtime()):
        for factor, lost in ((1.0, row.published_lost_percent), (5.0, row.published_lost_percent_large_heap)):
            if pd.notna(row.published_lost_percent_large_heap):
                rows.append({
                    "configuration": row.published_configuration, "strategy": row.strategy, "case": row.case,
                    "language": row.language, "layout": row.layout, "block": 0, "status": "ok",
                    "collector": LIKELIEST.get(row.family),
                    "heap_factor": factor, "input_queue_ms": 100.0, "queue_factor": 1.0,
                    "interval_ns": 1000.0, "lost_ppm": lost * 1e4,
                })  # fmt: skip
    return pd.DataFrame(rows)


def sweep_trials(trials: pd.DataFrame, scale: float, interval_ns: float) -> pd.DataFrame:
    """The single trials of the sweeps: those at the searches' scale and at one interval. The others are there for
    `similar`."""
    at = np.isclose(trials["scale"].astype(float), scale) & np.isclose(trials["interval_ns"].astype(float), interval_ns)
    return trials[at]


QUEUE, HEAP = "input queue at this scale", "heap"
_ENOUGH = 3
"""Points that make a line; fewer are a table."""


def curves(trials: pd.DataFrame) -> pd.DataFrame:
    """The single trials of each cell whose queue was varied at the usual heap, and those whose heap was varied at one
    queue, where there are points enough for a line: once more with ``panel`` (`QUEUE` or `HEAP`) and ``factor``, times
    the published one."""
    done = finished(trials)
    done = done[done["intermediate_queue_ms"] == 0]
    queues, heaps = done["queue_factor"].astype(float), done["heap_factor"].astype(float)
    larger = heaps > _LARGER  # heaps were varied with the queue of the trials with a larger one
    usual = (queues[larger] if larger.any() else queues).mode()
    by_heap = done[heaps.notna() & queues.isin(usual.iloc[:1])]
    long = pd.concat([
        done[usual_heap(done)].assign(panel=QUEUE, factor=queues), by_heap.assign(panel=HEAP, factor=heaps),
    ])  # fmt: skip
    return long[long.groupby(["panel", *CONFIGURATION], observed=True)["factor"].transform("nunique") >= _ENOUGH]


_LARGER = 1.05


def by_length(trials: pd.DataFrame, usual_s: float) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Trials that last about as long as searches let theirs at most, s, and those that waited for rare collections much
    longer, which would leave the others a corner of an axis that they share."""
    longer = trials["seconds"].astype(float) > _MUCH_LONGER * usual_s
    return trials[~longer], trials[longer]


_MUCH_LONGER = 1.5
FOLLOWS, UNSCALED = "queue follows the scale", "queue of scale 1 at every scale"


def similar(trials: pd.DataFrame) -> pd.DataFrame:
    """What the same cell loses at several scales: one row per cell, interval, scale and rule for the queue.

    Columns: ``cell``, ``scale``, ``interval_ns``, ``over_cost`` (the interval over what a packet of the cell takes by
    the batch path at that scale, the median of all its trials: the unit in which intervals of different scales can be
    compared, because a smaller pool fits better into the caches), ``queue`` (`FOLLOWS` or `UNSCALED`), ``lost_percent``
    with ``lost_low_percent`` and ``lost_high_percent`` (median and range of its trials), ``n``. Where the scale is 1,
    both rules are the same trials.
    """
    columns = [
        "cell", "scale", "interval_ns", "over_cost", "queue", "lost_percent", "lost_low_percent", "lost_high_percent",
        "n",
    ]  # fmt: skip
    done = finished(trials)
    done = done[usual_heap(done) & (done["stall_ms"] == 0)]
    rows = []
    for key, cell in done.groupby(list(CONFIGURATION), observed=True):
        for scale in cell["scale"].astype(float).unique():
            at_scale = cell[cell["scale"] == scale]
            cost_ns = at_scale["prologue_ns_per_packet"].astype(float).median()
            for interval_ns in at_scale["interval_ns"].astype(float).unique():
                at_interval = at_scale[at_scale["interval_ns"] == interval_ns]
                for rule, factor in ((FOLLOWS, 1.0), (UNSCALED, 1.0 / scale)):
                    group = at_interval[np.isclose(at_interval["queue_factor"].astype(float), factor)]
                    lost = group["lost_ppm"].astype(float) / 1e4
                    if len(group):
                        rows.append((
                            " ".join(str(part) for part in key), scale, interval_ns,
                            interval_ns / cost_ns, rule, lost.median(), lost.min(), lost.max(), len(group),
                        ))  # fmt: skip
    table = pd.DataFrame(rows, columns=columns)
    scales = table.groupby(["cell", "interval_ns", "queue"])["scale"].transform("nunique")
    return table[scales > 1].reset_index(drop=True)


def against_batch(cells: pd.DataFrame, batch: pd.DataFrame, placed: pd.DataFrame | None = None) -> pd.DataFrame:
    """The cells that have both a smallest interval (PDR) and a cost in batch: ``pdr_ns`` with its interval, ``ns``
    with ``low`` and ``high`` (`allocpool.packets.cells.cells`), and ``ratio``, interval over cost.

    The cost of cells by placed trials is what a packet takes by the batch path of these very trials, before the source
    starts: it is of their scale, as trials in batch need not be.
    """
    trials = {SEARCHES: batch}
    if placed is not None:
        trials[PLACED] = placed.assign(ns_per_packet=placed["prologue_ns_per_packet"])
    costs = pd.concat([batch_cells(rows).assign(**{_BY: by}) for by, rows in trials.items()], ignore_index=True)
    costs = costs[costs["ns"].notna()][[*CONFIGURATION, _BY, "ns", "low", "high"]]
    both = cells[cells["pdr_ns"].notna()].merge(costs, on=[*CONFIGURATION, _BY])
    return both.assign(ratio=both["pdr_ns"] / both["ns"])


WORK, PAUSES, OTHERS = "the work", "pauses", "what else takes the cores"
AMPLE = 2.0


def limits(cells: pd.DataFrame, placed: pd.DataFrame) -> pd.DataFrame:
    """What keeps each placed cell from smaller intervals, by the trials that lose although there is time for the work.

    The work is what a packet takes by the batch path of the same processes, before the source starts; there is time for
    it where an interval is `AMPLE` times as long. Such a trial loses by a pause if its longest one takes
    half of the input queue; or else because something beside the consumer ran on the cores: the collector's own
    threads, the source, the system.

    Columns: configuration, strategy, case, ``edge_ns`` (NaN where no interval passes), ``work_ns`` (median over
    trials), ``with_time`` (losing trials that had time for the work), ``by_pauses`` (of these, those beside such a
    pause), ``pause_ms`` (their longest pause, median; NaN without any), ``limit`` (`WORK` where no trial with time for
    it loses, `PAUSES` where most of these lose by a pause, or else `OTHERS`).
    """
    done = finished(placed)
    of_cell = dict(list(done.groupby(list(CONFIGURATION), observed=True)))
    rows = []
    for cell in records(cells[(cells["by"] == PLACED) & (cells["n"] > 0)]):
        trials = of_cell[cell.configuration, cell.strategy, cell.case]
        work_ns = float(trials["prologue_ns_per_packet"].astype(float).median())
        told = trials[trials["slip_max_ms"] < trials["input_queue_ms"] / 2]
        losing = told[told["lost_ppm"].astype(float) > 1e6 * PDR_LOSS_RATIO]
        with_time = losing[losing["interval_ns"] >= AMPLE * work_ns]
        pause_ms = with_time["gc_pause_max_ms"].astype(float)
        by_pauses = int((pause_ms >= with_time["input_queue_ms"] / 2).sum())
        limit = WORK if with_time.empty else PAUSES if 2 * by_pauses > len(with_time) else OTHERS
        rows.append([
            cell.configuration, cell.strategy, cell.case, cell.pdr_ns, work_ns, len(with_time), by_pauses,
            pause_ms.median(),
            limit,
        ])  # fmt: skip
    columns = [*CONFIGURATION, "edge_ns", "work_ns", "with_time", "by_pauses", "pause_ms", "limit"]
    return pd.DataFrame(rows, columns=columns)


def boundaries(cells: pd.DataFrame, searches: pd.DataFrame, probes: pd.DataFrame) -> pd.DataFrame:
    """Where the chance that a trial loses is a half (``edge_ns``) and one in twenty (``safe_ns``), fitted to all trials
    of full length of a cell's searches, with the searches' own interval beside.

    Only trials of full length in a process of their own count, those whose loss is told elsewhere (``compared_ns``)
    among them: a probe is shorter, sees fewer collections and follows another one in its process. Those of one search
    are a cluster, where there are several. Trials in which the source itself stood still for as long as half of the
    queue are left out, whether they lost or not. A trial loses
    that loses anything, or where the answer is ``pdr`` more than that.

    Columns: configuration, strategy, case, ``trials``, ``losing``, ``edge_ns``, ``edge_low_ns``, ``edge_high_ns``,
    ``safe_ns``, ``safe_low_ns``, ``safe_high_ns``, ``searches_ns``, ``searches_low_ns``, ``searches_high_ns`` (of the
    cell), ``agrees`` (the intervals of edge and searches overlap; None where either has none). Cells whose trials show
    no edge have no row.
    """
    ends = ("", "low_", "high_")
    told = [f"{what}_{end}ns" for what in ("edge", "safe", "searches") for end in ends]
    columns = [*CONFIGURATION, "trials", "losing", *told, "agrees"]
    facts = finished(searches)[["trial_id", *CONFIGURATION, "input_queue_ms", "heap_factor", "pdr_loss_ratio"]]
    full = probes[probes["kind"].isin(["full", "compared"])].merge(facts, on="trial_id")
    full = full[usual_heap(full)]
    full = full[(full["slip_max_ms"] < full["input_queue_ms"] / 2) & (full["generated"] > 0)]
    trials_of = dict(list(full.groupby(list(CONFIGURATION), observed=True)))
    rows = []
    for cell in records(cells[cells["n"] > 0]):
        trials = trials_of.get((cell.configuration, cell.strategy, cell.case))
        if trials is None:
            continue
        allowed_ppm = 0.0 if cell.answer != PDR else 1e6 * cell.pdr_loss_ratio
        lost = trials["lost_ppm"].astype(float) > allowed_ppm
        several = trials["trial_id"].nunique() > 1
        fitted = LossBoundary(trials["interval_ns"].astype(float), lost, list(trials["trial_id"]) if several else None)
        points = [fitted.point(chance) for chance in (EDGE, SAFE)]
        edge, safe = points
        if edge is None or safe is None:
            continue
        goal = PDR if cell.answer == PDR else NDR
        of_searches = [getattr(cell, f"{goal}_{end}ns") for end in ends]
        agrees = None if pd.isna(of_searches[1]) else bool(of_searches[1] <= edge.high and edge.low <= of_searches[2])
        fits = [ns for point in (edge, safe) for ns in (point.estimate, point.low, point.high)]
        rows.append([
            cell.configuration, cell.strategy, cell.case, edge.trials, edge.losing, *fits, *of_searches, agrees,
        ])  # fmt: skip
    return pd.DataFrame(rows, columns=columns).astype({"agrees": "boolean"})


def coverage(cells: pd.DataFrame) -> pd.DataFrame:
    """Per configuration and strategy, for each case: the packets per second it keeps up with, or what it does
    instead."""
    rows = []
    cases = sorted(cells["case"].dropna().unique())
    for configuration in configuration_order(cells):
        of_configuration = cells[cells["configuration"] == configuration]
        for strategy, group in of_configuration.groupby("strategy", sort=False):
            by_case = {row.case: row for row in records(group)}
            texts = {f"case {case}": _covers(by_case[case]) if case in by_case else "-" for case in cases}
            rows.append({"configuration": configuration, "strategy": strategy, **texts})
    return pd.DataFrame(rows)


def _covers(row: Any) -> str:
    if pd.notna(row.gap):
        return str(row.gap_word)
    if row.answer == LOSES:
        return "loses at any rate tried"
    interval_ns = getattr(row, f"{row.answer}_ns")
    beside = "" if row.answer == NDR else ", few lost"
    return f"{1e3 / interval_ns:.2g} million/s{beside}"
