"""What the trials of a stream campaign show: highest throughput within a latency, and comparisons over trials."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from allocpool import decisions, stats
from allocpool.campaign import store
from allocpool.evidence import tables
from allocpool.evidence.declared import claims_of
from allocpool.evidence.trials import finished
from allocpool.studies.stream.claims import (
    ALLOCATION_COSTS,
    FOR_THE_COLLECTOR,
    compare_brackets,
    held,
    keeping_up,
    on_set_up,
    only,
    verdicts,
)
from allocpool.studies.stream.study import STUDY

COMPARISONS = claims_of("stream", file="comparisons.yaml")


def comparisons(measured: Mapping[str, pd.DataFrame], target_ms: float) -> pd.DataFrame:
    """Return comparisons of all collectors of a campaign, decided together: compared (the measure and both sides),
    larger, smaller, ratio in words, n."""
    cells = on_set_up(measured, target_ms).cells
    found = [(one.text, item) for one in COMPARISONS for item in COMPARISONS.orderings(one.id, cells)]
    names = [{"compared": text, "larger": item.larger, "smaller": item.smaller} for text, item in found]
    sides = [(item.cells[0][0].values, item.cells[1][0].values) for _, item in found]
    return tables.comparisons(names, decisions.compare_together(sides), "ratio")


def brackets(trials: pd.DataFrame, searches: pd.DataFrame, target_ms: float) -> pd.DataFrame:
    """Return the throughput that holds ``target_ms`` at the tail to the first result of each window, in millions of
    items a second: the highest rate that held, the smallest and the largest over n repetitions, and the lowest that did
    not; none where all held."""
    found = held(trials, searches, target_ms)
    ends = [f"{end}_items_per_second" for end in ("holds", "fails")]
    found[ends] = found[ends] / 1e6
    found["found by"] = found["confirmations"].map(lambda probes: "more output" if probes == 1 else "a search")
    keys = ["configuration", "cooperative_threads", "window_ms", "slide_ms", "tail", "found by"]
    return found.fillna({ends[0]: 0.0}).groupby(keys, dropna=False, sort=False).agg(
        **{"holds, least": (ends[0], "min"), "holds, most": (ends[0], "max"), "fails from": (ends[1], "min")},
        n=("block", "size"),
    ).reset_index()  # fmt: skip


def gaps(trials: pd.DataFrame, searches: pd.DataFrame, plan: pd.DataFrame) -> pd.DataFrame:
    """Return what has no latency, and why: trials and searches that failed or fell behind, collectors that the profile
    leaves out."""
    behind = finished(trials)[~keeping_up(finished(trials))].assign(status="fell behind", reason=None)
    bad = pd.concat([each[each["status"] != "ok"] for each in (searches, behind, trials)])
    keys = ["configuration", "status", "reason"]
    counted = bad.groupby(keys, dropna=False, observed=True, sort=False).size().reset_index(name="trials")
    left_out = plan.loc[~plan["planned"].astype(bool), ["configuration", "left_out_because"]]
    left_out = left_out.rename(columns={"left_out_because": "reason"}).assign(status="left out", trials=0)
    return pd.concat([counted, left_out])[["configuration", "trials", "status", "reason"]]


_ONE_RATE = ["events_per_second", "keys", "window_ms", "slide_ms", "seconds"]


def commonest_rate(trials: pd.DataFrame) -> pd.DataFrame:
    """Return of the finished plain trials those at the rate, on the windows, that most of them had."""
    rows = only(trials)
    return rows.merge(rows[_ONE_RATE].value_counts().index[:1].to_frame(index=False)) if len(rows) else rows


def rate_text(facts: Mapping[Any, Any] | pd.Series) -> str:
    """Return the rate of a trial."""
    return f"{facts['events_per_second'] / 1e6:g} M events a second, {facts['keys']:,} keys"


def verdict(measured: Mapping[str, pd.DataFrame], target_ms: float) -> str:
    """Return the page's headline: the highest throughput within the target, and two conclusions."""
    every = {item.claim.id: item.outcome for item in verdicts(measured, target_ms)}
    found = held(measured["trials"], measured["searches"], target_ms)
    return (
        f"{_highest(found, target_ms)} That a processor left to the collector shortens latency: "
        f"{every[FOR_THE_COLLECTOR]}. That allocating at every update lengthens it: {every[ALLOCATION_COSTS]}."
    )


def _highest(found: pd.DataFrame, target_ms: float) -> str:
    of_each = found.groupby(["configuration", "cooperative_threads", "tail"], sort=False)
    sides = {key: rows for key, rows in of_each if rows["holds_items_per_second"].notna().all()}
    if not sides:
        return f"**No configuration held {target_ms:g} ms** in every repetition."
    best = max(sides, key=lambda key: stats.geometric_mean(sides[key]["holds_items_per_second"]))
    # The repetitions that chose the one also judge it: it is put to all others, and paid for as often as was chosen.
    others = [compare_brackets(sides[best], rows).p_above() for key, rows in sides.items() if key != best]
    shown = len(sides) * max(others, default=1.0) <= decisions.ALPHA
    holds = sides[best]["holds_items_per_second"] / 1e6
    configuration, threads, tail = best
    return (
        f"**Highest throughput within {target_ms:g} ms:** {configuration}, threads: {threads}, {tail}, "
        f"{stats.geometric_interval(holds).text()} million items a second, n = {len(holds)}, "
        f"{'' if shown else 'not '}shown above all others."
    )


def summary(profile: str) -> str:
    """Return the verdict on what a campaign of this profile left; runs nothing."""
    stored, provenance = store.stored(STUDY.name, profile)
    if provenance is None:
        return "The streaming engine was not measured under this profile."
    return verdict(stored, float(provenance["profile"]["target_ms"]))
