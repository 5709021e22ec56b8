"""What the article says of programs without allocation, put to counted events; and its claims about C++, to trials."""

from __future__ import annotations

from collections.abc import Hashable

import pandas as pd

from allocpool import stats
from allocpool.evidence import claims
from allocpool.evidence.claims import AS_PUBLISHED, NOT_MEASURED, OTHER_WAY, Claim, Evidence, Missing, Verdict
from allocpool.evidence.trials import NOT_PART
from allocpool.packets.comparisons import IN_CPP
from allocpool.packets.published import ARTICLE
from allocpool.packets.specs import PUBLISHED_CASES
from allocpool.studies.batch import claims as batch

WITHOUT_ALLOCATION = ("flat", "slab")
"""Layouts of C++ in which a pooled packet and its parse results are never made anew."""
SAME_WITHIN = 0.05
"""Work per packet that differs by no more is the same."""
_WORK = ("instructions", "data_accesses")
_MISSES = ("llc_misses", "l2_misses", "l1d_misses")
"""The outermost cache that was counted says what memory was touched."""


def _only_memory_differs(counters: pd.DataFrame) -> Evidence:
    """The same work per packet in every case, and more of it missing the caches where more is alive."""
    counted = counters[counters["per_packet"].notna() & (counters["language"] == "cpp")]
    counted = counted[counted["layout"].isin(WITHOUT_ALLOCATION) & (counted["strategy"] == "pool")]
    rows, missing = [], []
    for (solution, counter), group in counted.groupby(["solution", "counter"], observed=True):
        events = group.pivot_table(index="case", columns="event", values="per_packet", observed=True)
        lacking = [case for case in PUBLISHED_CASES if case not in events.index]
        if lacking:
            missing.append(Missing(f"{solution}, {counter}, case {' and '.join(lacking)}", NOT_PART.word))
        for light, heavy in (("A", "B"), ("A", "C"), ("B", "C")):
            if light in events.index and heavy in events.index:
                name = f"{solution}, {counter}, {heavy} over {light}"
                rows += _compared(name, events.xs(light).to_dict(), events.xs(heavy).to_dict())
    if counted.empty:
        missing.append(Missing("events of C++ without allocation", "nothing was counted"))
    return Evidence(pd.DataFrame(rows, columns=["configuration", "event", "ratio", "shown"]), tuple(missing))


def _compared(name: str, light: dict[Hashable, float], heavy: dict[Hashable, float]) -> list[list[object]]:
    rows: list[list[object]] = []
    for event in _WORK:
        if event in light and light[event] > 0:
            ratio = float(heavy[event] / light[event])
            rows.append([name, event, ratio, AS_PUBLISHED if abs(ratio - 1) <= SAME_WITHIN else OTHER_WAY])
    for event in [event for event in _MISSES if event in light and light[event] > 0][:1]:
        ratio = float(heavy[event] / light[event])
        rows.append([name, event, ratio, AS_PUBLISHED if ratio > 1 + SAME_WITHIN else OTHER_WAY])
    return rows


def _sentence(evidence: Evidence) -> str:
    if evidence.rows.empty:
        return "No events were counted in two cases of C++ without allocation."
    work = evidence.rows[evidence.rows["event"].isin(_WORK)]["ratio"]
    misses = evidence.rows[evidence.rows["event"].isin(_MISSES)]["ratio"]
    told = [f"a packet of the fuller case takes {stats.span(work)} times the work"] if len(work) else []
    told += [f"it misses the caches {stats.span(misses)} times as often"] if len(misses) else []
    return (
        f"By counted events, {' and '.join(told)}: as published in {evidence.count(AS_PUBLISHED)} of "
        f"{len(evidence.rows)} comparisons, not measured in {evidence.count(NOT_MEASURED)}."
    )


NATIVE_CLAIMS: tuple[Claim[pd.DataFrame], ...] = (
    Claim(
        "cache-only",
        "Without any allocation, the cases differ only by the memory that is touched.",
        ARTICLE,
        _only_memory_differs,
        _sentence,
        needs_all=True,
        set_ups=(IN_CPP,),
    ),
)


def evaluate(trials: pd.DataFrame, counters: pd.DataFrame) -> list[Verdict]:
    """Put the claims about C++ to trials, and those about events to what was counted."""
    of_events = claims.evaluate_apart(NATIVE_CLAIMS, lambda _set_up: counters)
    return [*batch.evaluate(trials, batch.CPP_CLAIMS), *of_events]
