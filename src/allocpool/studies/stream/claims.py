"""What the claims on green threads with a concurrent collector (``claims.yaml``) are put to: cells of a campaign.

A cell is what trials have in common that differ in nothing but their block, with one measure. The source's own figures
go through the same tests.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from allocpool.campaign.tidy import frame
from allocpool.decisions import Comparison
from allocpool.evidence import claims, reference
from allocpool.evidence.ablation import Ablation, Asked, Changed, Sides, ablations, failed
from allocpool.evidence.claims import OTHER_WAY, Verdict
from allocpool.evidence.declared import Cell, Cells, Selection, claims_of
from allocpool.evidence.trials import finished
from allocpool.percentiles import TAILS, samples_needed
from allocpool.runtimes.collectors import collector_labelled
from allocpool.studies.realtime import adaptive
from allocpool.studies.realtime.adaptive import AdaptiveTrials
from allocpool.studies.stream.specs import StreamSpec
from allocpool.studies.stream.tables import SWITCH_ROWS, label

CONFIGURATION = (
    "configuration", "cooperative_threads", "aggregate", "processors", "sources", "hiccup_ms", "new_size_mb",
    "asked_parallel_gc_threads", "asked_concurrent_gc_threads", "heap_mb", "pause_target_ms", "window_ms", "slide_ms",
    "seconds",
)  # fmt: skip
"""All that a trial can differ in besides its rate: only trials that agree in it make a curve or a median."""
CELL = (*CONFIGURATION, "events_per_second", "keys")
"""With input, and what sets the output: every key has a result in each slide."""
KEYS = ("measure", *CELL, "items", "cores", "percentile", "way")
PLAIN = MappingProxyType({
    "aggregate": "boxed", "processors": "cooperative", "sources": "parallel", "hiccup_ms": 0, "new_size_mb": None,
    "asked_parallel_gc_threads": None, "asked_concurrent_gc_threads": None, "target_ms": None,
})  # fmt: skip
"""The source's defaults; None is the JVM's own choice. A target is that of adaptive trials."""
FIRST = "first_tail_ms"
"""Latency at the tail to the first result of a window, as published."""
FAR_TAIL = "p99.99"
MEASURES = {
    "latency": FIRST, "far latency": FIRST, "catching up": "catch_up_ms", "CPU of the collector": "cpu_gc",
    "memory allocated": "allocated_mb_per_s",
}  # fmt: skip
WAYS = {
    "empty": "reading the clock twice", "tasklets": "tasklet to tasklet of the engine",
    "virtual": "virtual thread to virtual thread", "platform": "thread to thread",
}  # fmt: skip
SET_UPS: Mapping[str, Mapping[str, tuple[str, int]]] = {
    "": {},
    "G1 / 17, ZGC / 17": {"G1": ("g1", 17), "ZGC": ("zgc", 17)},
    "G1 / 25, generational ZGC / 25": {"G1": ("g1", 25), "ZGC": ("genzgc", 25)},
}
"""Collector and runtime by their name in the source; none: all of a campaign. 15, the source's, is not measured here,
and the engine runs on nothing older than 17."""
_PUBLISHED = {"G1": ("g1", 15), "ZGC": ("zgc", 15)}
_LATE_MS = float(StreamSpec.model_fields["late_ms"].default)
"""A pipeline that fell behind was later than this."""
_MILLION_EVENTS = 1_000_000


def keeping_up(trials: pd.DataFrame) -> pd.Series:
    """Return whether the pipeline of each trial kept up with its input."""
    return trials["kept_up"].fillna(False).astype(bool)


def non_default(trials: pd.DataFrame) -> pd.Series:
    """Return the columns in which each trial is not `PLAIN`, in one word each."""
    differs = pd.DataFrame({
        name: trials[name].notna() if value is None else ~(trials[name] == value).fillna(False)
        for name, value in PLAIN.items()
    })  # fmt: skip
    words = [" ".join(differs.columns[flags]) for flags in differs.to_numpy(dtype=bool)]
    return pd.Series(words, trials.index, dtype=object)


def only(trials: pd.DataFrame, apart_from: str = "") -> pd.DataFrame:
    """Return the finished trials that are `PLAIN` in all columns but this one."""
    rows = finished(trials).reset_index(drop=True)
    return rows[non_default(rows).isin(["", apart_from])]


def _of_campaign(
    trials: pd.DataFrame, switches: pd.DataFrame, target_ms: float, collectors: Mapping[str, tuple[str, int]],
    exact: bool = False,
) -> Cells:  # fmt: skip
    """Return every cell of the collectors that stand for those of the source; ``exact``: of its own figures, of which
    there is one each."""
    cores = int(trials["cores"].max()) if len(trials) else 0
    few = f"this machine has {cores} processors"
    why = dict.fromkeys(("zgc-one-below-theory", "g1-two-thirds-of-many"), few) if cores else {}
    rows = with_facts(_of_collectors(trials, collectors))
    # What is held is held at the target itself, too.
    every = [
        *_of_trials(rows, target_ms * (1 + 1e-8) if exact else target_ms), *_of_rates(rows, target_ms, exact),
        *_of_switches(_of_collectors(switches, collectors)),
    ]  # fmt: skip
    return Cells(every, KEYS, why)


def _of_collectors(table: pd.DataFrame, collectors: Mapping[str, tuple[str, int]]) -> pd.DataFrame:
    named = {pair: name for name, pair in collectors.items()}
    pairs = zip(table["collector"], table["runtime"], strict=True)
    families = pd.Series([named.get(pair) for pair in pairs], table.index, dtype=object)
    table = finished(table.assign(family=families))
    return table[table["family"].notna()] if named else table


def _of_trials(rows: pd.DataFrame, target_ms: float) -> Iterator[Cell]:
    for _, group in rows.groupby(list(CELL), dropna=False, observed=True, sort=False):
        facts = {str(name): None if pd.isna(value) else value for name, value in group.iloc[0].items()}
        facts |= {"percentile": None, "way": None}
        behind = ~keeping_up(group)
        kept = group[~behind].set_index("block")
        name, gap = name_of(facts), f"fell behind in {int(behind.sum())} trials"
        # One that fell behind counts with the least by which it was late.
        answered_ms = group.set_index("block")[FIRST].astype(float).where(~behind.to_numpy(), _LATE_MS).dropna()
        pauses_ms = kept["gc_pause_max_ms"].dropna().astype(float)
        figures = {measure: kept[column].dropna().astype(float).clip(lower=1e-6)
                   for measure, column in MEASURES.items()}  # fmt: skip
        over = {"latency over target": answered_ms / target_ms, "longest pause over target": pauses_ms / target_ms}
        for measure, values in {**figures, **over}.items():
            label = f"{name}, {measure}" if measure in over else name
            weak = _too_few(group) if measure in (*over, "far latency") else ""
            yield Cell({**facts, "measure": measure}, label, values, gap, weak)


def _of_rates(rows: pd.DataFrame, target_ms: float, exact: bool) -> Iterator[Cell]:
    for row in highest(rows, target_ms).to_dict("records"):
        names = ("configuration", "cooperative_threads", "window_ms", "slide_ms", "seconds", "family", "cores",
                 "every_processor", "published_threads")  # fmt: skip
        facts = _facts({name: row[name] for name in names}, measure="throughput", percentile=row["tail"],
                       events_per_second=row["rate"])  # fmt: skip
        label = f"{row['configuration']}, {row['cooperative_threads']} threads, highest throughput, {row['tail']}"
        every, weak = row["every"], _too_few(pd.DataFrame([row]))
        if exact:
            yield Cell(facts, label, pd.Series([row["held"]]), weak=weak)
            continue
        gap = every.gap or ("" if every.passes else "no rate that was tried held")
        values = pd.Series([] if gap else [row["throughput"]], dtype=float)
        yield Highest(facts, label, values, gap, weak, every=every)


def with_facts(trials: pd.DataFrame) -> pd.DataFrame:
    """Return the trials with what claims call them by: non_default, every_processor, published_threads (as many as the
    source would choose: with ZGC one fewer than in theory), theory (processors but those that the collector takes for
    its concurrent work), one_below_theory, two_thirds, published_rate, items, more_input (True, False, or None where no
    other input had as many items), young_100_to_200_mb and young_10_to_20_per_s."""
    rows = trials.assign(non_default=non_default(trials))
    plain = only(trials).groupby("configuration")
    of_each = plain.agg({"cores": "max", "collector": "first"})
    concurrent = plain["concurrent_gc_threads"].median().fillna(1).astype(int)
    of_each["theory"] = (of_each["cores"] - concurrent).clip(lower=1)
    of_each["published"] = (of_each["cores"] - concurrent - of_each.pop("collector").isin(["zgc", "genzgc"])).clip(
        lower=1
    )
    of = of_each.reindex(rows["configuration"]).fillna(0).set_index(rows.index)
    threads, cores = rows["cooperative_threads"].astype(int), of["cores"]
    off = (threads - cores * 2 / 3).abs()
    nearest = off == off.groupby(rows["configuration"]).transform("min")
    offered = rows["offered_items_per_second"].astype(float)
    rows = rows.assign(
        items=offered.round(-3), every_processor=threads == cores, published_threads=threads == of["published"],
        theory=threads == of["theory"], one_below_theory=threads == of["theory"] - 1,
        two_thirds=nearest & (cores >= 64) & (threads < of["theory"]),
        published_rate=(rows["events_per_second"] <= _MILLION_EVENTS) & (offered <= 20e6 / 16 * rows["cores"]),
        young_100_to_200_mb=rows["new_size_mb"].between(100, 200).fillna(False),
    )  # fmt: skip
    inputs = rows.groupby([*CONFIGURATION, "items"], dropna=False, observed=True)["events_per_second"]
    young = rows.groupby(list(CELL), dropna=False, observed=True)["young_per_s"].transform("median").astype(float)
    most, least = (rows["events_per_second"] == inputs.transform(how) for how in ("max", "min"))
    return rows.assign(
        more_input=most.astype(object).where(most != least, None),
        young_10_to_20_per_s=young.between(10, 20).astype(object).where(young.notna(), None),
    )


def _too_few(rows: pd.DataFrame) -> str:
    windows, needed = int((rows["seconds"] * 1000 / rows["slide_ms"]).round().min()), samples_needed(TAILS[FAR_TAIL])
    return f"too few windows: {FAR_TAIL} takes {needed:,}, these trials have {windows:,}" if windows < needed else ""


def name_of(facts: Mapping[str, Any]) -> str:
    """Return a cell's name for a reader."""
    parts = [str(facts["configuration"]), f"{facts['cooperative_threads']} {facts['processors']}", facts["aggregate"]]
    parts += ["one source"] if facts["sources"] == "single" else []
    parts += [f"held for {facts['hiccup_ms']} ms"] if facts["hiccup_ms"] else []
    settings = {
        "MaxNewSize": "new_size_mb", "ParallelGCThreads": "asked_parallel_gc_threads",
        "ConcGCThreads": "asked_concurrent_gc_threads",
    }  # fmt: skip
    parts += [f"{name}={facts[column]}" for name, column in settings.items() if pd.notna(facts[column])]
    return ", ".join([*parts, f"{facts['events_per_second']:,} events/s, {facts['keys']:,} keys"])


def _facts(row: Mapping[str, Any], **more: Any) -> Mapping[str, Any]:
    """Facts of a cell; those that it lacks are None."""
    return defaultdict(lambda: None, {**row, **more, "non_default": ""})


def _of_switches(switches: pd.DataFrame) -> Iterator[Cell]:
    """Medians by block, ns, less what reading the clock takes; of tasklets, in which it may be more than all else, with
    it."""
    for configuration, rows in switches.groupby("configuration", sort=False):
        medians = rows.pivot_table(index="block", columns="way", values="p50_ns", aggfunc="median").astype(float)
        for way in ("platform", "tasklets"):
            if way in medians and (way != "platform" or "empty" in medians):
                values = (medians[way] - (medians["empty"] if way == "platform" else 0.0)).clip(lower=1.0)
                facts = _facts({}, measure="switch", configuration=configuration, way=way)
                yield Cell(facts, f"{configuration}, from {WAYS[way]}", values)


@dataclass(frozen=True, eq=False)
class Highest(Cell):
    """The highest throughput of a configuration, by its trials."""

    every: AdaptiveTrials = field(kw_only=True)

    def over(self, other: Cell, factor: float) -> Comparison:
        assert isinstance(other, Highest)
        return compare_highest(self.every, other.every, factor)


def compare_highest(one: AdaptiveTrials, other: AdaptiveTrials, factor: float = 1.0) -> Comparison:
    """Compare the highest throughput of two sides, the second times ``factor``: the inverse of their times between
    items."""
    sooner = tuple((interval_ns / factor, missed) for interval_ns, missed in other.outcomes)
    return adaptive.over([(replace(other, outcomes=sooner), one)])


def highest(trials: pd.DataFrame, target_ms: float) -> pd.DataFrame:
    """Return the highest throughput within the target by configuration: of adaptive trials, and of trials with several
    outputs at one input, each of which reports whether its rate held.

    Columns: those of the trials; ``rate``, the input where it is one; ``every``, `AdaptiveTrials` over the time between
    items; ``throughput``, items/s, with ``low`` and ``high``, NaN where unknown; ``n``; ``held``, the highest rate up
    to which all held, or the lowest where none did.
    """
    rows = only(trials, "target_ms").sort_values("block", kind="stable")
    placed = rows["target_ms"].notna()
    rows = rows.assign(
        rate=rows["events_per_second"].where(~placed), output=rows["keys"].where(placed),
        missed=~(keeping_up(rows) & (rows[FIRST] <= target_ms).fillna(False).astype(bool)),
        interval_ns=1e9 / rows["offered_items_per_second"].astype(float),
    )  # fmt: skip
    found = []
    for _, group in rows.groupby([*CONFIGURATION, "target_ms", "rate", "output"], dropna=False, sort=False):
        if group["interval_ns"].nunique() == 1:
            continue
        outcomes = tuple(zip(group["interval_ns"], group["missed"], strict=True))
        every = AdaptiveTrials(outcomes, 0, group["interval_ns"].max(), bool((group["mode"] != "stream").any()))
        slower = group.sort_values("interval_ns", ascending=False)
        held_ns = slower["interval_ns"][~slower["missed"].cummax()].min()
        edge_ns, low_ns, high_ns = every.interval_ns()
        found.append({
            **group.iloc[0], "tail": group["tail"].min(), "every": every, "throughput": 1e9 / edge_ns,
            "low": 1e9 / high_ns, "high": 1e9 / low_ns if low_ns else math.inf, "n": every.n,
            "held": 1e9 / (every.highest_ns if np.isnan(held_ns) else held_ns),
        })  # fmt: skip
    names = ("every", "throughput", "low", "high", "n", "held")
    return pd.DataFrame(found, columns=[*rows.columns, *names])


@cache
def published_figures() -> Cells:
    """Return the source's own figures as those of a campaign of one block.

    Read off its charts; of G1 on 16 threads the source only states that it was never under a latency. The least above
    that is taken for it, so that no more is gained than the source reports.
    """
    drawn, stated = reference.load("jet_latency_p9999"), reference.load("jet_latency_stated")
    rows = drawn.rename(columns={"p9999_latency_ms_read_off_chart": FIRST})
    g1 = rows[(rows["collector"] == "G1") & (rows["machine"] == "c5.4xlarge")]
    for _, row in stated[stated["relation"] == "above"].iterrows():
        inside = g1["million_items_per_second"].between(row["from_million"], row["to_million"])
        least_ms = math.nextafter(row["p9999_ms"], math.inf)
        rows = pd.concat([rows, g1[inside].assign(jet_threads=row["jet_threads"], **{FIRST: least_ms})])
    metal = rows["machine"] == "c5.metal"
    events = metal.map({True: 10_000_000, False: _MILLION_EVENTS})
    collectors = rows["collector"].map(lambda label: collector_labelled(str(label)).name)
    trials = rows.assign(
        **PLAIN, mode="stream", collector=collectors, runtime=_PUBLISHED["G1"][1], block=0, status="ok", kept_up=True,
        tail=FAR_TAIL, heap_mb=0, seconds=240.0, slide_ms=10, pause_target_ms=None, events_per_second=events,
        configuration=rows["collector"] + " on " + rows["machine"], cores=metal.map({True: 96, False: 16}),
        cooperative_threads=rows["jet_threads"], window_ms=metal.map({True: 1000, False: 10_000}),
        concurrent_gc_threads=collectors.map({"g1": 3, "zgc": 2}).where(~metal, 16),
        offered_items_per_second=rows["million_items_per_second"] * 1e6,
        keys=((rows["million_items_per_second"] * 1e6 - events) / 100).astype(int),
        **dict.fromkeys(("catch_up_ms", "cpu_gc", "young_per_s", "allocated_mb_per_s", "gc_pause_max_ms"), np.nan),
    ).reset_index(drop=True)  # fmt: skip
    return _of_campaign(trials, frame([], SWITCH_ROWS), 10.0, _PUBLISHED, exact=True)


STREAM_CLAIMS = claims_of("stream", published=published_figures)
FOR_THE_COLLECTOR, WITHIN_TARGET, ALLOCATION_COSTS = (
    "processor-for-the-collector", "g1-within-target", "allocation-costs-latency",
)  # fmt: skip


def cells_of(tables: Mapping[str, pd.DataFrame], target_ms: float, set_up: str = "") -> Cells:
    """Return what a claim is put to on a set-up; without any, the cells of all collectors."""
    return _of_campaign(tables["trials"], tables["switches"], target_ms, SET_UPS[set_up])


def of_campaign(tables: Mapping[str, pd.DataFrame], settings: Mapping[str, Any]) -> list[Verdict]:
    """Return all verdicts on what a campaign left, judged together: on the source's collectors, on today's, and our own
    last."""
    return claims.evaluate_apart(STREAM_CLAIMS, lambda set_up: cells_of(tables, settings["target_ms"], set_up))


def explained(tables: Mapping[str, pd.DataFrame], target_ms: float, verdicts: Sequence[Verdict]) -> list[Ablation]:
    """Judge one change at a time of every rate at which G1 misses the target, of the verdicts that refute that it holds
    it."""
    every = cells_of(tables, target_ms)
    sizes_mb = sorted(tables["trials"]["new_size_mb"].dropna().unique())
    asked: list[Asked] = []
    for verdict in failed(verdicts):
        if verdict.claim.id != WITHIN_TARGET:
            continue
        expected = STREAM_CLAIMS.orderings(WITHIN_TARGET, cells_of(tables, target_ms, verdict.set_up))
        for item, shown in zip(expected, verdict.evidence["shown"], strict=True):
            if shown != OTHER_WAY:
                continue
            ((cell,), _) = item.cells
            about = (verdict.claim.text, verdict.set_up, f"{target_ms:g} ms over {name_of(cell.facts)}")
            for words, to in _changes(cell.facts, label(*SET_UPS[verdict.set_up]["ZGC"]), sizes_mb):
                other = every.other(cell, to)
                after = Changed(1 / other.values if other else pd.Series(dtype=float), None)
                asked.append(Asked(*about, words, Sides(1 / cell.values, 1.0), after))
    return ablations(asked)


def _changes(facts: Mapping[str, Any], zgc: str, sizes_mb: Sequence[int]) -> Iterator[tuple[str, Selection]]:
    # Left out are the engine, the machine, and what a collector takes while it runs concurrently.
    yield "nothing delays but the longest pause", {"measure": "longest pause over target"}
    # A target for pauses is G1's alone.
    yield f"the collector is {zgc}", {"configuration": zgc, "pause_target_ms": None}
    if facts["cores"] > facts["cooperative_threads"]:
        yield "every processor has a thread", {"cooperative_threads": facts["cores"]}
    yield "the aggregate makes no garbage", {"aggregate": "garbage_free"}
    for size_mb in sizes_mb:
        yield f"MaxNewSize is {size_mb} MB", {"new_size_mb": size_mb}
