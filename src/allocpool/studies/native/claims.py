"""What the article states of programs without allocation, put to counted events."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any

import pandas as pd

from allocpool import decisions
from allocpool.evidence import claims
from allocpool.evidence.claims import Claim, Equality, Evidence, Missing, Ordering, Verdict
from allocpool.evidence.declared import sentence
from allocpool.evidence.trials import NOT_PART, counted
from allocpool.packets.comparisons import IN_CPP
from allocpool.packets.published import ARTICLE
from allocpool.packets.specs import PUBLISHED_CASES

SAME_WITHIN = 0.05
"""Work per packet that differs by no more is the same."""
_WORK = ("instructions", "data_accesses")
_MISSES = ("llc_misses", "l2_misses", "l1d_misses")
"""The misses of the outermost cache that was counted are the memory that was touched."""
_NONE = pd.Series(dtype=float)
_FIGURES = ["ratio", "low", "high", "trials", "p", "p_against", "shown"]


def _only_memory_differs(counters: pd.DataFrame) -> Evidence:
    """The same work per packet in every case, and more of it missing the caches than where little is alive.

    What is simulated is exact; what a processor counts is judged over trials, as any measurement. Of the two fuller
    cases only the work is compared: what exceeds the caches in both misses them as often.
    """
    # In these layouts of C++ a pooled packet and its parse results are never made anew.
    where = (counters["language"] == "cpp") & counters["layout"].isin(["flat", "slab"])
    mine = counters[where & counters["per_packet"].notna() & (counters["strategy"] == "pool")]
    rows: list[dict[str, Any]] = []
    missing = [] if len(mine) else [Missing("events of C++ without allocation", "nothing was counted")]
    for (configuration, counter), group in mine.groupby(["configuration", "counter"], observed=True):
        events = {
            (str(case), str(event)): part.set_index("block")["per_packet"].astype(float)
            for (case, event), part in group.groupby(["case", "event"], observed=True)
        }
        lacking = [case for case in PUBLISHED_CASES if case not in {case for case, _ in events}]
        if lacking:
            missing.append(Missing(f"{configuration}, {counter}, case {' and '.join(lacking)}", NOT_PART.word))
        exact_from = 1 / float(group["counted_packets"].max()) if counter == "simulated" else None
        for light, heavy in combinations(PUBLISHED_CASES, 2):
            for event in _compared(events, light, heavy):
                judged = _judged(events[heavy, event], events[light, event], event in _WORK, exact_from)
                name = f"{configuration}, {counter}, {heavy} over {light}"
                rows.append({"configuration": name, "event": event, **judged})
    return Evidence(pd.DataFrame(rows, columns=["configuration", "event", *_FIGURES]), tuple(missing))


def _compared(events: dict[tuple[str, str], pd.Series], light: str, heavy: str) -> list[str]:
    """The events that count work; over little alive also the misses of the outermost cache that the fuller case misses.
    Where the other one misses none, one is taken for it: the ratio is a bound."""
    both = [name for name in (*_WORK, *_MISSES) if (light, name) in events and events.get((heavy, name), _NONE).any()]
    misses = [name for name in both if name in _MISSES][:1] if light == "A" else []
    return [name for name in both if name in _WORK] + misses


def _judged(heavy: pd.Series, light: pd.Series, same: bool, exact_from: float | None) -> dict[str, Any]:
    """The figures of a row; neither interval nor chances of what is exact, from the smallest figure that can be counted
    on."""
    if exact_from is not None:
        ratio = float(heavy.mean() / max(light.mean(), exact_from))
        as_said = abs(ratio - 1) <= SAME_WITHIN if same else ratio > 1 + SAME_WITHIN
        return {"ratio": ratio, "trials": len(heavy), "shown": claims.AS_PUBLISHED if as_said else claims.OTHER_WAY}
    compared = decisions.compare(heavy[heavy > 0], light[light > 0], 1 + SAME_WITHIN)
    expected = (Equality if same else Ordering)("fuller", "emptier", compared)
    return dict(claims.of_orderings([expected]).rows.iloc[0][_FIGURES])


NATIVE_CLAIMS: tuple[Claim[pd.DataFrame], ...] = (
    Claim(
        "cache-only", "Without any allocation, the cases differ only by the memory that is touched.", ARTICLE,
        _only_memory_differs, sentence, needs_all=True, published=claims.no_figures, set_ups=(IN_CPP,),
    ),
)  # fmt: skip


def evaluate(counters: pd.DataFrame) -> list[Verdict]:
    """Judge the claims about events; the others about C++ belong to the study of batch."""
    return claims.evaluate_apart(NATIVE_CLAIMS, lambda _set_up: counters)


def of_campaign(tables: Mapping[str, pd.DataFrame], _settings: Mapping[str, Any]) -> list[Verdict]:
    """Return the verdicts of a campaign, on what it left, as its page and the first page show them."""
    return evaluate(counted(tables["counters"]))
