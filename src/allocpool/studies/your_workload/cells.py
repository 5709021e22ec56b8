"""The trials of the study's own workloads, by set-up: all that is equal but the strategy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from allocpool.evidence.declared import Cell, Cells
from allocpool.evidence.trials import counted, finished, gap_of
from allocpool.runtimes.collectors import collector_named

_SET_UP = [
    "configuration", "sizes", "filled_share", "read_share", "rate_per_s", "arrivals", "burst_length", "delay_ms",
    "messages_in_flight", "kept_share", "kept_count", "replacement", "temporaries", "temporary_bytes", "live_mb",
    "changed_mb_per_s", "garbage_mb_per_s", "threads", "heap_mb", "direct_mb", "jvm_flags", "trace",
]  # fmt: skip
_WITH_LIVE = ("live_mb", "heap_mb", "changed_mb_per_s")
"""Live data may need a larger heap, or change at a rate: these go with it."""
_LARGE_BYTES = 65_536.0


def set_ups(trials: pd.DataFrame) -> Iterator[tuple[pd.Series, dict[str, pd.DataFrame]]]:
    """Yield each set-up by one of its rows, with its trials by strategy, of pools with power-of-two classes that clear
    nothing."""
    plain = trials[(trials["classes"] == "power_of_two") & ~trials["zeroing"].astype(bool)]
    for _, group in plain.groupby(_SET_UP, sort=False, observed=True, dropna=False):
        yield group.iloc[0], {str(name): rows for name, rows in group.groupby("strategy", sort=False, observed=True)}


def costs(trials: pd.DataFrame) -> pd.Series:
    """Return CPU of the process, ns a message, in order of time."""
    done = finished(counted(trials)).sort_values("started_utc")
    return done["cpu_ns_per_message"].dropna().astype(float)


def pairs(trials: pd.DataFrame, one: str, other: str) -> Iterator[tuple[pd.Series, pd.Series, pd.Series]]:
    """Yield the set-ups in which two strategies have costs, with the costs of both."""
    for facts, by_strategy in set_ups(trials):
        if {one, other} <= set(by_strategy):
            sides = costs(by_strategy[one]), costs(by_strategy[other])
            if all(map(len, sides)):
                yield facts, *sides


def label_of(facts: pd.Series) -> str:
    """Return a set-up as readers see it."""
    size = str(facts["sizes"]).partition(":")[0] if "," not in str(facts["sizes"]) else f"{facts['mean_bytes']:,.0f}"
    shown = [
        str(facts["configuration"]),
        f"{size} bytes{' in the mean' if ',' in str(facts['sizes']) else ''}",
        f"{facts['messages_in_flight']:,} in flight",
        f"{facts['kept_count']:,} kept" if facts["kept_count"] else "",
        f"{facts['live_mb']:,.0f} MiB of other live data" if facts["live_mb"] else "",
        f"{facts['garbage_mb_per_s']:,.0f} MiB/s of other garbage" if facts["garbage_mb_per_s"] else "",
        f"{facts['rate_per_s']:,.0f}/s" if pd.notna(facts["rate_per_s"]) else "",
    ]
    return ", ".join(filter(None, shown))


def cells_of(trials: pd.DataFrame) -> Cells:
    """Return what ``claims.yaml`` is put to: a cell per set-up and strategy."""
    found = []
    for facts, by_strategy in set_ups(trials):
        java = facts["language"] == "java"
        frees = java and not collector_named(str(facts["collector"])).never_frees
        own: dict[str, Any] = {name: facts[name] for name in _WITH_LIVE} | {
            "rest": "|".join(str(facts[name]) for name in _SET_UP if name not in _WITH_LIVE),
            "memory": "collected" if frees else "never freed" if java else "freed",
            "in_flight": bool(facts["messages_in_flight"]), "kept": bool(facts["kept_count"]),
            "live": bool(facts["live_mb"]), "large": bool(facts["mean_bytes"] >= _LARGE_BYTES),
        }  # fmt: skip
        found += [
            Cell({**own, "strategy": name}, f"{name} ({label_of(facts)})", costs(rows), gap_of(rows).text)
            for name, rows in by_strategy.items()
        ]
    return Cells(found, ("rest", *_WITH_LIVE, "strategy"))
