"""A real-time cell is one configuration, strategy and case: its minimum sustainable inter-arrival time, or what it lost
where it has none.

It is fitted to the cell's adaptive trials (`allocpool.studies.realtime.adaptive`). Some stored ones are the trials of
full length of a search (mode ``search``), which lie minutes apart and decide nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from allocpool import stats
from allocpool.campaign import hosts
from allocpool.evidence import reference
from allocpool.evidence.trials import finished, records
from allocpool.packets.cells import CONFIGURATION, CONFIGURATION_FACTS, cells_of
from allocpool.packets.published import LIKELIEST, in_our_words, with_published
from allocpool.studies.realtime.adaptive import READS, AdaptiveTrials, outcomes_of, seen_of
from allocpool.studies.realtime.specs import COMPARISON_INTERVAL_NS, PDR_LOSS_RATIO
from allocpool.studies.realtime.tables import ABOUT_ONE

NDR, PDR, LOSES = "ndr", "pdr", "loses"
_ENDS = ("", "low_", "high_")
_NUMBERS = (
    *(f"{goal}_{end}ns" for goal in (NDR, PDR) for end in _ENDS), *(f"lost_{end}percent" for end in _ENDS),
    "queue_factor", "compared_ns",
)  # fmt: skip
_FIGURES = ("answer", *_NUMBERS, "decides_long_pauses", "every_pdr", "every_lost")


def bound(ns: float) -> str:
    """Return an end of an interval in words; an end of 0 or at infinity bounds nothing."""
    return stats.significant(float(ns)) if 0 < ns < math.inf else "no bound"


def with_ends(value: float, low: float, high: float, unit: str = "") -> str:
    """Return a figure with its interval in words, as far as they are known."""
    if pd.isna(value):
        return "none found"
    found = f"{stats.significant(float(value))}{unit}"
    return found if pd.isna(low) else f"{found} ({bound(low)} to {bound(high)})"


def usual_heap(rows: pd.DataFrame) -> pd.Series:
    """Return whether each row has the published heap at its scale, rounded to MB, or none, as C++ has."""
    return rows["heap_factor"].isna() | rows["heap_factor"].between(*ABOUT_ONE)


def placed_of(done: pd.DataFrame, goal: str) -> AdaptiveTrials:
    seen = [seen_of(row) for row in records(done[READS])]
    found = outcomes_of(seen, PDR_LOSS_RATIO if goal == PDR else 0.0)
    highest_ns = max((interval_ns for interval_ns, _ in found), default=math.nan)
    return AdaptiveTrials(found, len(seen) - len(found), highest_ns, bool((done["mode"] == "search").any()))


def _answer(_group: pd.DataFrame, done: pd.DataFrame) -> dict[str, Any]:
    done = done.sort_values("block", kind="stable")
    every_pdr = placed_of(done, PDR)
    answer: dict[str, Any] = {"answer": LOSES, "every_pdr": every_pdr, "n": every_pdr.n or len(done)}
    for goal, found in ((PDR, every_pdr), (NDR, placed_of(done, NDR))):
        if found.passes:
            answer["answer"] = goal
            answer |= {f"{goal}_{end}ns": ns for end, ns in zip(_ENDS, found.interval_ns(), strict=True)}
    # What an interval that passes rests on; where none does, all.
    passing = done[done["lost_ppm"].astype(float) <= 1e6 * PDR_LOSS_RATIO] if every_pdr.passes else done
    decides, queues = passing["decides_long_pauses"].dropna(), done["queue_factor"].astype(float).unique()
    answer["decides_long_pauses"] = all(decides) if len(decides) else None
    answer["queue_factor"] = queues[0] if len(queues) == 1 else math.nan
    compared = done[np.isclose(done["interval_ns"].astype(float), COMPARISON_INTERVAL_NS)]
    every = compared["lost_ppm"].astype(float) / 1e4
    if answer["answer"] != LOSES or every.empty:
        return answer
    spread = stats.geometric_interval(every.clip(lower=1e-4))  # a trial that lost nothing: one in a million
    ends = (math.nan, math.nan) if len(every) == 1 else (spread.low, min(100.0, spread.high))
    lost = {f"lost_{end}percent": value for end, value in zip(_ENDS, (spread.estimate, *ends), strict=True)}
    return answer | lost | {"compared_ns": COMPARISON_INTERVAL_NS, "every_lost": tuple(every)}


def realtime_cells(
    tables: Mapping[str, pd.DataFrame], plan: pd.DataFrame | None = None, pairs: Iterable[tuple[str, str]] = ()
) -> pd.DataFrame:
    """Return one row per configuration, strategy and case of the adaptive trials, with the published figures.

    ``answer`` is ``ndr`` (nothing is lost from ``ndr_ns`` on), ``pdr`` (few are, 200 of a million at most) or ``loses``
    (no interval passes), or None where there is a ``gap``, as `cells_of` makes it. ``ndr_ns`` is the boundary with its
    interval ``ndr_low_ns`` to ``ndr_high_ns`` (95%, whenever one looks); so for ``pdr``, with ``every_pdr``, the
    `AdaptiveTrials`. Where none passes, ``lost_percent`` at ``compared_ns`` is the geometric mean over trials with
    Student's interval and ``every_lost``. ``n`` counts trials that decide. ``decides_long_pauses`` (all) is of the
    trials that the answer rests on.
    """
    frame = cells_of(tables["adaptive"], _FIGURES, finished, _answer, plan, pairs)
    types = {**dict.fromkeys(_NUMBERS, "float64"), "decides_long_pauses": "boolean"}
    return with_published(frame.astype(types), published_realtime())


def published_realtime() -> pd.DataFrame:
    """Return the article's real-time table: language, layout, family (None for C++), published_configuration, strategy,
    case, published_interval_ns (minimum sustainable inter-arrival time without or with few losses),
    published_lost_percent (at that interval, or at 1000 ns where there is none) and published_lost_percent_large_heap
    (at 1000 ns with a heap of 10 GB)."""
    table = reference.load("allocate_or_pool_realtime")
    return in_our_words(table).assign(
        published_interval_ns=table["min_interval_ns"].astype(float),
        published_lost_percent=table["lost_percent_at_1000ns"].astype(float),
        published_lost_percent_large_heap=table["lost_percent_at_1000ns_10g_heap"].astype(float),
    )


def published_cells() -> pd.DataFrame:
    """Return the published table in the form of measured cells, so that a claim can be put to it as well.

    "CMS" rows appear as Parallel, which is what they most likely ran. An interval with a loss next to it is a PDR one
    where that loss is at most 200 ppm; where it is more, no interval passes.
    """
    table = published_realtime()
    lost, found_ns = table["published_lost_percent"], table["published_interval_ns"]
    loses, nothing_lost = found_ns.isna() | (lost > 0.02), lost.isna()
    cells = table.rename(columns={"published_configuration": "configuration"}).assign(
        collector=table["family"].map(LIKELIEST), runtime=None, trials=1, n=1, queue_factor=1.0,
        answer=np.select([loses, nothing_lost], [LOSES, NDR], PDR),
        ndr_ns=found_ns.where(~loses & nothing_lost), pdr_ns=found_ns.where(~loses),
        every_pdr=pd.Series([AdaptiveTrials((), 0, math.nan)] * len(table), dtype="object"),
        compared_ns=COMPARISON_INTERVAL_NS, lost_percent=lost,
        larger_heap_lost_percent=table["published_lost_percent_large_heap"],
    )  # fmt: skip
    columns = [*CONFIGURATION, *CONFIGURATION_FACTS, "trials", "n", *_FIGURES, "larger_heap_lost_percent", "gap"]
    return cells.reindex(columns=columns)


def sweep_trials(trials: pd.DataFrame, scale: float, interval_ns: float) -> pd.DataFrame:
    """Return the single trials of the sweeps: those at the profile's scale and at one interval."""
    at = np.isclose(trials["scale"].astype(float), scale) & np.isclose(trials["interval_ns"].astype(float), interval_ns)
    return trials[at]


def at_published_sizes(profile: str) -> pd.DataFrame:
    """Return single trials of a profile at the published sizes and interval, of every host; empty where there are
    none."""
    every = hosts.tables_of_hosts("realtime", profile).get("trials")
    return pd.DataFrame() if every is None else sweep_trials(every, 1.0, COMPARISON_INTERVAL_NS)
