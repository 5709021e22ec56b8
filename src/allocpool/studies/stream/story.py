"""What the trials of a stream campaign show: highest throughput within a latency, and comparisons over trials."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from allocpool import decisions
from allocpool.campaign import store
from allocpool.evidence import tables
from allocpool.evidence.declared import claims_of
from allocpool.stats import Interval
from allocpool.studies.stream import claims

COMPARISONS = claims_of("stream", file="comparisons.yaml")


def comparisons(measured: Mapping[str, pd.DataFrame], target_ms: float) -> pd.DataFrame:
    """Return comparisons of all collectors of a campaign, decided together: compared (the measure and both sides),
    larger, smaller, ratio in words, n."""
    cells = claims.cells_of(measured, target_ms)
    found = [(one.text, item) for one in COMPARISONS for item in COMPARISONS.orderings(one.id, cells)]
    names = [{"compared": text, "larger": item.larger, "smaller": item.smaller} for text, item in found]
    sides = [(item.cells[0][0].values, item.cells[1][0].values) for _, item in found]
    return tables.comparisons(names, decisions.compare_together(sides), "ratio")


def throughput(trials: pd.DataFrame, target_ms: float) -> pd.DataFrame:
    """Return the throughput that holds ``target_ms`` at the tail to the first result of each window, in millions of
    items a second, with its interval; none where no rate held."""
    names = ["configuration", "cooperative_threads", "window_ms", "slide_ms", "tail", "n"]
    ends = {"holds": "throughput", "from": "low", "to": "high"}
    found = claims.highest(trials, target_ms)
    return found[names].assign(**{name: found[column] / 1e6 for name, column in ends.items()})


def commonest_rate(trials: pd.DataFrame) -> pd.DataFrame:
    """Return of the finished plain trials those at the rate, on the windows, that most of them had."""
    rows, of_one = claims.only(trials), ["events_per_second", "keys", "window_ms", "slide_ms", "seconds"]
    return rows.merge(rows[of_one].value_counts().index[:1].to_frame(index=False)) if len(rows) else rows


def rate_text(facts: Mapping[Any, Any] | pd.Series) -> str:
    """Return the rate of a trial."""
    return f"{facts['events_per_second'] / 1e6:g} M events a second, {facts['keys']:,} keys"


def verdict(measured: Mapping[str, pd.DataFrame], target_ms: float) -> str:
    """Return the page's headline: the highest throughput within the target, and two conclusions."""
    every = {item.claim.id: item.outcome for item in claims.of_campaign(measured, {"target_ms": target_ms})}
    return (
        f"{_highest(measured['trials'], target_ms)} That a processor left to the collector shortens latency: "
        f"{every[claims.FOR_THE_COLLECTOR]}. That allocating at every update lengthens it: "
        f"{every[claims.ALLOCATION_COSTS]}."
    )


def _highest(trials: pd.DataFrame, target_ms: float) -> str:
    sides = claims.highest(trials, target_ms).dropna(subset=["throughput"]).sort_values("throughput").to_dict("records")
    if not sides:
        return f"**No configuration held {target_ms:g} ms** at the lowest rate that ran."
    *others, best = sides
    # The trials that chose the one also judge it: it is put to all others, and paid for as often as was chosen.
    chances = [claims.compare_highest(best["every"], other["every"]).p_above() for other in others]
    shown = len(sides) * max(chances, default=1.0) <= decisions.ALPHA
    rate, low, high = (best[name] / 1e6 for name in ("throughput", "low", "high"))
    return (
        f"**Highest throughput within {target_ms:g} ms:** {best['configuration']}, threads: "
        f"{best['cooperative_threads']}, {best['tail']}, {Interval(rate, low, high, best['n'], 'Student').text()} "
        f"million items a second, n = {best['n']}, {'' if shown else 'not '}shown above all others."
    )


def summary(profile: str) -> str:
    """Return the verdict on what a campaign of this profile left; runs nothing."""
    stored, provenance = store.stored("stream", profile)
    if provenance is None:
        return "The streaming engine was not measured under this profile."
    return verdict(stored, float(provenance["profile"]["target_ms"]))
