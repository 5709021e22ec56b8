"""A real-time cell is all searches of one solution, strategy and case: its smallest intervals, or what it lost instead.

An interval passes for a cell when it passes in every repetition, so a cell's answer is the largest of its repetitions'
answers, and its bracket reaches from the smallest interval that ever was the largest to fail. What every repetition
answered, and their median and range, lie beside: a bracket says how finely a search looked, not how far the next one
may lie.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pandas as pd

from allocpool.evidence import reference
from allocpool.evidence.trials import finished, records
from allocpool.packets.cells import CONFIGURATION, SOLUTION_FACTS, cells_of, solution_order
from allocpool.packets.cells import cells as batch_cells
from allocpool.packets.published import LIKELIEST, in_our_words, with_published

NDR, PDR, LOSES = "ndr", "pdr", "loses"
ENOUGH_SEARCHES = 3
"""A cell with fewer has no spread, and decides nothing."""
_SPREAD = tuple(f"{goal}_{what}_ns" for goal in (NDR, PDR) for what in ("median", "smallest", "largest"))
_NUMBERS = (
    *_SPREAD,
    "queue_factor", "pdr_loss_ratio",
    "ndr_ns", "ndr_fails_ns", "pdr_ns", "pdr_fails_ns", "compared_ns", "lost_percent", "lost_low_percent",
    "lost_high_percent", "larger_heap_factor", "larger_heap_lost_percent", "larger_heap_lost_low_percent",
    "larger_heap_lost_high_percent",
)  # fmt: skip
_COUNTS = ("n_passes", "n_ndr", "majors_seen", "larger_heap_majors_seen")
_MARKS = ("repeated", "hit_cap", "decides_long_pauses", "larger_heap_hit_cap", "larger_heap_decides")
_EVERY = ("every_ndr_ns", "every_pdr_ns")
_FIGURES = ("answer", *_NUMBERS, *_COUNTS, *_MARKS, *_EVERY, "larger_heap_gap")


def _lost(prefix: str, searches: pd.DataFrame, name: str) -> dict[str, float]:
    return {
        f"{prefix}lost_percent": float(searches[f"{name}_lost_ppm"].mean()) / 1e4,
        f"{prefix}lost_low_percent": float(searches[f"{name}_lost_low_ppm"].min()) / 1e4,
        f"{prefix}lost_high_percent": float(searches[f"{name}_lost_high_ppm"].max()) / 1e4,
    }


def _spread(goal: str, passes: pd.Series) -> dict[str, Any]:
    """Every repetition's answer, in the order of the blocks, with NaN where no interval passes; and their median and
    range, where no interval is the largest there is."""
    ordered = np.sort(passes.fillna(np.inf).to_numpy(dtype=float))
    median, smallest, largest = float(np.median(ordered)), float(ordered[0]), float(ordered[-1])
    told = {"median": median, "smallest": smallest, "largest": largest}
    return {
        f"every_{goal}_ns": tuple(passes.to_numpy(dtype=float)),
        **{f"{goal}_{what}_ns": value if np.isfinite(value) else np.nan for what, value in told.items()},
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
    answer: dict[str, Any] = {}
    for goal in (NDR, PDR):
        passes = done[f"{goal}_ns"].astype(float)
        answer[f"{goal}_ns"] = passes.max() if passes.notna().all() else np.nan
        answer[f"{goal}_fails_ns"] = done[f"{goal}_fails_ns"].astype(float).min()
        answer |= _spread(goal, passes)
    answer |= {
        "n_ndr": int(done["ndr_ns"].notna().sum()),
        "n_passes": int(done["pdr_ns"].notna().sum()),
        "repeated": len(done) >= ENOUGH_SEARCHES,
        "queue_factor": _one_of(done, "queue_factor"),
        "pdr_loss_ratio": _one_of(done, "pdr_loss_ratio"),
        **{name: _over(done, name, min) for name in ("majors_seen", "larger_heap_majors_seen")},
        **{name: _over(done, name, any) for name in ("hit_cap", "larger_heap_hit_cap")},
        **{name: _over(done, name, all) for name in ("decides_long_pauses", "larger_heap_decides")},
    }
    compared = done[done["compared_ns"].notna()]
    if len(compared):
        answer |= {
            "compared_ns": float(compared["compared_ns"].iloc[0]),
            **_lost("", compared, "compared"),
        }
    answer["larger_heap_gap"] = next(iter(done["larger_heap_gap"].dropna()), None)
    larger = done[done["larger_heap_factor"].notna()]
    if len(larger):
        answer |= {
            "larger_heap_factor": float(larger["larger_heap_factor"].iloc[0]),
            **_lost("larger_heap_", larger, "larger_heap"),
        }
    answer["answer"] = next((goal for goal in (NDR, PDR) if pd.notna(answer[f"{goal}_ns"])), LOSES)
    return answer


def realtime_cells(
    searches: pd.DataFrame, plan: pd.DataFrame | None = None, pairs: Iterable[tuple[str, str]] = ()
) -> pd.DataFrame:
    """One row per solution, strategy and case of the searches at the published heap.

    ``answer`` is ``ndr`` (nothing was lost at ``ndr_ns``, with ``ndr_fails_ns`` below it), ``pdr`` (the same with
    ``pdr_loss_ratio``), ``loses`` (no interval passes; ``lost_percent`` at ``compared_ns`` with its exact binomial
    interval, and ``larger_heap_lost_percent`` with a heap ``larger_heap_factor`` times the published one), or None
    where there is a ``gap``, as `cells_of` makes it. Published figures lie beside.

    ``every_ndr_ns`` holds each repetition's answer and ``ndr_median_ns``, ``ndr_smallest_ns``, ``ndr_largest_ns`` their
    spread (NaN where that is a repetition in which no interval passes), ``n_ndr`` how many have one; so for ``pdr``,
    with ``n_passes``. ``repeated`` says that there are at least three. ``majors_seen``, ``hit_cap``,
    ``decides_long_pauses`` and those of the larger heap are what the searches say, put together: fewest, any, all.
    """
    base = searches[searches["heap_factor"].isna() | (searches["heap_factor"] == 1)]
    frame = cells_of(base, _FIGURES, finished, _answer, plan, pairs)
    types = {
        **dict.fromkeys(_NUMBERS, "float64"),
        **dict.fromkeys(_COUNTS, "Int64"),
        **dict.fromkeys(_MARKS, "boolean"),
    }
    return with_published(frame.astype(types), published_realtime())


def published_realtime() -> pd.DataFrame:
    """The article's real-time table: language, layout, family (None for C++), published_solution, strategy, case,
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
            "solution": row.published_solution, "strategy": row.strategy, "case": row.case, "language": row.language,
            "layout": row.layout, "collector": LIKELIEST.get(row.family),
            "runtime": None, "trials": 1, "n": 1, "answer": answer, "queue_factor": 1.0, "repeated": False,
            "ndr_ns": row.published_interval_ns if answer == NDR else np.nan,
            "pdr_ns": row.published_interval_ns if answer != LOSES else np.nan,
            "compared_ns": 1000.0, "lost_percent": lost, "larger_heap_factor": 5.0,
            "larger_heap_lost_percent": row.published_lost_percent_large_heap,
        })  # fmt: skip
    return pd.DataFrame(rows, columns=[*CONFIGURATION, *SOLUTION_FACTS, "trials", "n", *_FIGURES, "gap"])


def published_sweeps() -> pd.DataFrame:
    """The published losses at 1000 ns with both heaps, in the form of measured trials of a sweep."""
    rows = []
    for row in records(published_realtime()):
        for factor, lost in ((1.0, row.published_lost_percent), (5.0, row.published_lost_percent_large_heap)):
            if pd.notna(row.published_lost_percent_large_heap):
                rows.append({
                    "solution": row.published_solution, "strategy": row.strategy, "case": row.case,
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
    done = done[(done["heap_factor"].isna() | done["heap_factor"].between(0.95, 1.05)) & (done["stall_ms"] == 0)]
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


def against_batch(cells: pd.DataFrame, batch: pd.DataFrame) -> pd.DataFrame:
    """The cells that have both a smallest interval (PDR) and a cost in batch: ``pdr_median_ns`` with its range, ``ns``
    with ``low`` and ``high`` (`allocpool.packets.cells.cells`), and ``ratio``, interval over cost."""
    cost = batch_cells(batch)
    cost = cost[cost["ns"].notna()][[*CONFIGURATION, "ns", "low", "high"]]
    both = cells[cells["pdr_median_ns"].notna()].merge(cost, on=list(CONFIGURATION))
    return both.assign(ratio=both["pdr_median_ns"] / both["ns"])


def coverage(cells: pd.DataFrame) -> pd.DataFrame:
    """Per solution and strategy, for each case: the packets per second it keeps up with, or what it does instead."""
    rows = []
    cases = sorted(cells["case"].dropna().unique())
    for solution in solution_order(cells):
        of_solution = cells[cells["solution"] == solution]
        for strategy, group in of_solution.groupby("strategy", sort=False):
            by_case = {row.case: row for row in records(group)}
            texts = {f"case {case}": _covers(by_case[case]) if case in by_case else "-" for case in cases}
            rows.append({"solution": solution, "strategy": strategy, **texts})
    return pd.DataFrame(rows)


def _covers(row: Any) -> str:
    if pd.notna(row.gap):
        return str(row.gap_word)
    if row.answer == LOSES:
        return "loses at any rate tried"
    interval_ns = row.ndr_ns if row.answer == NDR else row.pdr_ns
    beside = "" if row.answer == NDR else ", few lost"
    return f"{1e3 / interval_ns:.2g} million/s{beside}"
