"""The published conclusions on green threads beside a concurrent collector as tests, and one of our own.

Latencies at the tail, and highest throughputs, are compared within blocks, everything but one thing being equal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import pandas as pd

from allocpool import stats
from allocpool.evidence import claims
from allocpool.evidence.claims import (
    AS_PUBLISHED,
    NOT_MEASURED,
    OTHER_WAY,
    Claim,
    Evidence,
    Missing,
    Ordering,
    Verdict,
    of_orderings,
)
from allocpool.evidence.trials import NOT_PART, finished
from allocpool.runtimes.collectors import collector_named

SOURCE = "Sub-10 ms Latency in Java: Concurrent GC with Green Threads, Hazelcast, 2020-08-05"
CONFIGURATION = (
    "solution", "cooperative_threads", "aggregate", "processors", "new_size_mb", "keys", "window_ms", "slide_ms",
)  # fmt: skip
"""What a curve of latency against throughput is drawn for."""
CELL = (*CONFIGURATION, "events_per_second")
_FAR_TAIL = "p99.99"


@dataclass(frozen=True)
class Pair(Ordering):
    """One value of two configurations that differ in one thing, at one rate: the first is expected to be larger."""

    solution: str = field(kw_only=True)
    collector: str = field(kw_only=True)
    compared: str = field(kw_only=True)
    at: str = field(kw_only=True)
    """The rate at which they are compared, or what took its place."""
    not_kept_up: tuple[int, int] = field(kw_only=True)
    """Trials on either side in which the pipeline fell behind, so that they have no value."""


def pairs(
    trials: pd.DataFrame, axis: str, larger: object, smaller: object, compared: str, value: str = "tail_ms"
) -> list[Pair]:
    """Compare ``larger`` with ``smaller`` on one axis, everything else and the block being equal."""
    done = finished(trials)
    noise = stats.noise_band(done.assign(**{value: done[value].astype(float)}), list(CELL), value)
    others = [name for name in CELL if name != axis]
    every = []
    for key, group in done.groupby(others, dropna=False, observed=True, sort=False):
        sides = [group[group[axis] == wanted] for wanted in (larger, smaller)]
        if any(side.empty for side in sides):
            continue
        named = dict(zip(others, key, strict=True))
        values = [side.set_index("block")[value].dropna().astype(float) for side in sides]
        behind = [int((~side["kept_up"].fillna(False).astype(bool)).sum()) for side in sides]
        solution = str(named["solution"])
        at = f"{named['events_per_second']:,} events/s" if named["events_per_second"] else "highest rate"
        every.append(
            Pair(
                f"{solution} {compared}",
                at,
                stats.compare(values[0], values[1], noise),
                f"fell behind in {behind[0]} trials and in {behind[1]}: no block has a value for both",
                solution=solution,
                collector=str(group["collector"].iloc[0]),
                compared=compared,
                at=at,
                not_kept_up=(behind[0], behind[1]),
            )
        )
    return every


def left_to_collector(trials: pd.DataFrame) -> list[Pair]:
    """All processors over all but one for cooperative threads, latency at the tail: above one, leaving one pays."""
    if trials.empty:
        return []
    count = int(trials["cores"].max())
    compared = f"{count} threads over {count - 1}, latency at the tail"
    return pairs(trials, "cooperative_threads", count, count - 1, compared)


def highest_with_one_left(searches: pd.DataFrame) -> list[Pair]:
    """All processors but one for cooperative threads over all, highest throughput within the target by search: above
    one, leaving one pays."""
    if searches.empty:
        return []
    count = int(searches["cores"].max())
    held = searches.assign(events_per_second=0, kept_up=searches["holds_items_per_second"].notna())
    compared = f"{count - 1} threads over {count}, highest throughput"
    return pairs(held, "cooperative_threads", count - 1, count, compared, "holds_items_per_second")


def allocated(trials: pd.DataFrame) -> list[Pair]:
    """The allocating aggregate over the garbage-free one, memory allocated."""
    return pairs(trials, "aggregate", "boxed", "garbage_free", "boxed over garbage-free, MiB/s", "allocated_mb_per_s")


def allocating(trials: pd.DataFrame) -> list[Pair]:
    """The allocating aggregate over the garbage-free one, latency at the tail."""
    return pairs(trials, "aggregate", "boxed", "garbage_free", "boxed over garbage-free, latency at the tail")


def native_threads(trials: pd.DataFrame) -> list[Pair]:
    """A native thread for each processor over cooperative ones, latency at the tail."""
    return pairs(trials, "processors", "native", "cooperative", "native over cooperative, latency at the tail")


def virtual_threads(trials: pd.DataFrame) -> list[Pair]:
    """The window step without an engine, on platform threads over virtual ones, latency at the tail."""
    return pairs(trials, "processors", "platform", "virtual", "platform over virtual, latency at the tail")


@dataclass(frozen=True)
class Stream:
    """What a claim is put to: a campaign's trials and searches, and the latency that its searches held."""

    trials: pd.DataFrame
    searches: pd.DataFrame
    target_ms: float


def _concurrent(every: Iterable[Pair]) -> list[Pair]:
    return [pair for pair in every if collector_named(pair.collector).concurrent]


def _claim(id: str, text: str, rule: Callable[[Stream], Sequence[Pair]], source: str = SOURCE) -> Claim[Stream]:
    """A claim that each of these pairs has the larger value on its first side."""

    def evidence(data: Stream) -> Evidence:
        every = rule(data)
        return of_orderings(every, () if every else [Missing("both sides of a pair", NOT_PART.word)])

    return Claim(id, text, source, evidence, _sentence)


def _sentence(evidence: Evidence) -> str:
    measured = evidence.measured
    if measured.empty:
        return "Nothing to compare: no pair of trials that both kept up."
    counts = ", ".join(f"{shown} in {count}" for shown, count in measured["shown"].value_counts().items())
    return f"Of {len(evidence.rows)} comparisons: {counts}; ratios {stats.span(measured['ratio'])}."


def _within_target(data: Stream) -> Evidence:
    """Each trial of G1 in which its pipeline kept up, with a processor left to it: whether it held the target."""
    done = finished(data.trials)
    count = int(done["cores"].max()) if len(done) else 0
    left = done[(done["collector"] == "g1") & (done["cooperative_threads"] == count - 1)]
    kept_up = left["kept_up"].fillna(False).astype(bool)
    rows = left.loc[kept_up, ["solution", "events_per_second", "items_per_second", "tail", "tail_ms"]]
    rows = rows.astype({"items_per_second": float, "tail_ms": float})
    rows.insert(0, "target_ms", data.target_ms)
    far = not rows.empty and set(rows["tail"].dropna()) == {_FAR_TAIL}
    held = (rows["tail_ms"] <= data.target_ms).map({True: AS_PUBLISHED, False: OTHER_WAY})
    missing = []
    if left.empty:
        missing.append(Missing("G1 with a processor left to it", NOT_PART.word))
    elif not kept_up.all():
        missing.append(Missing("G1 with a processor left to it", f"fell behind in {int((~kept_up).sum())} trials"))
    if len(rows) and not far:
        missing.append(Missing(_FAR_TAIL, "too few windows"))
    return Evidence(rows.assign(shown=held if far else NOT_MEASURED), tuple(missing))


def _within_sentence(evidence: Evidence) -> str:
    rows = evidence.rows
    if rows.empty:
        return "No trial of G1 with a processor left to it kept up."
    target_ms = float(rows["target_ms"].iloc[0])
    within = int((rows["tail_ms"] <= target_ms).sum())
    held = (
        f"{within} of {len(rows)} trials of G1 that kept up, up to {millions(rows['items_per_second'].max())} million "
        f"items a second, held {target_ms:g} ms at {', '.join(sorted(set(rows['tail'].dropna())))}."
    )
    return f"{held} Too few windows for {_FAR_TAIL}." if evidence.count(NOT_MEASURED) else held


def millions(value: float) -> str:
    """Items in millions, for a reader."""
    return stats.significant(value / 1e6)


FOR_THE_COLLECTOR = _claim(
    "processor-for-the-collector",
    "Cooperative threads that leave a processor to a concurrent collector answer sooner at the tail.",
    lambda data: _concurrent(left_to_collector(data.trials)),
)
STREAM_CLAIMS: tuple[Claim[Stream], ...] = (
    FOR_THE_COLLECTOR,
    Claim(
        "g1-within-target",
        "G1 with a 5 ms pause target and a processor of its own holds 99.99% of results within 10 ms.",
        SOURCE,
        _within_target,
        _within_sentence,
    ),
    _claim(
        "more-throughput-within-target",
        "A processor left to a concurrent collector lets the engine hold the latency at more throughput.",
        lambda data: _concurrent(highest_with_one_left(data.searches)),
    ),
    _claim(
        "green-threads-answer-sooner",
        "Cooperative threads answer sooner at the tail than a native thread for each processor.",
        lambda data: native_threads(data.trials),
    ),
)
ALLOCATION_COSTS = _claim(
    "allocation-costs-latency",
    "An aggregate that allocates at every update answers later at the tail than one that does not.",
    lambda data: allocating(data.trials),
    "this project",
)


def evaluate(trials: pd.DataFrame, searches: pd.DataFrame, target_ms: float) -> list[Verdict]:
    """The published conclusions, put to this campaign's trials and searches."""
    return claims.evaluate(STREAM_CLAIMS, Stream(trials, searches, target_ms))
