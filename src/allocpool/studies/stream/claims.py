"""The published conclusions on green threads beside a concurrent collector as tests, and one of our own.

Each is put to the published collectors, on the oldest runtime that the engine runs on, and apart from them to today's:
generational ZGC is not the ZGC of the source. The source's own figures go through the same tests. Latencies are those
to the first result, as published; they and highest throughputs are compared over trials, everything but one thing being
equal. What the source says of the 99.99th percentile is put to no lower one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from allocpool import decisions, stats
from allocpool.campaign.tidy import frame
from allocpool.decisions import Comparison
from allocpool.evidence import claims, reference
from allocpool.evidence.claims import (
    NOT_MEASURED,
    SHOWN,
    Claim,
    Evidence,
    Missing,
    Ordering,
    Verdict,
    of_orderings,
    shown_by,
)
from allocpool.evidence.declared import sentence
from allocpool.evidence.figures import no_figures
from allocpool.evidence.trials import NOT_PART, finished
from allocpool.percentiles import TAILS, samples_needed
from allocpool.runtimes.collectors import collector_labelled
from allocpool.studies.stream.specs import StreamSpec
from allocpool.studies.stream.tables import SEARCHES, SWITCH_ROWS, label

SOURCE = "Sub-10 ms Latency in Java: Concurrent GC with Green Threads, Hazelcast, 2020-08-05"
CONFIGURATION = (
    "configuration", "cooperative_threads", "aggregate", "processors", "sources", "hiccup_ms", "new_size_mb",
    "asked_parallel_gc_threads", "asked_concurrent_gc_threads", "heap_mb", "pause_target_ms", "window_ms", "slide_ms",
    "seconds",
)  # fmt: skip
"""All that a trial can differ in beside its rate: only trials that agree in it make a curve or a median."""
RATE = ("events_per_second", "keys")
"""Input, and what sets the output: every key has a result in each slide."""
CELL = (*CONFIGURATION, *RATE)
PLAIN = MappingProxyType({
    "aggregate": "boxed", "processors": "cooperative", "sources": "parallel", "hiccup_ms": 0, "new_size_mb": None,
    "asked_parallel_gc_threads": None, "asked_concurrent_gc_threads": None,
})  # fmt: skip
"""What the source does where it says nothing else; None is the JVM's own choice."""
FIRST, LAST = "first_tail_ms", "tail_ms"
"""Columns of the latency at the tail: to the first result of a window, as published, and to the last."""
FAR_TAIL = "p99.99"
_LATE_MS = float(StreamSpec.model_fields["late_ms"].default)
"""A pipeline that fell behind was later than this."""
_CONFIRMATIONS = 5
"""Probes of a search from which on it counts like several trials: three such searches decide."""
_LATENCY_GAIN = 1 / (1 - 0.40)
_ZGC_GAIN = 10 / 8
_G1_GAIN = 20 / 8
"""Called "a 250% boost" there: 20 million items a second over 8."""
_G1_ITEMS_PER_CORE = 20e6 / 16
_MILLION_EVENTS = 1_000_000
_NEW_SIZE_MB = (100, 200)
_YOUNG_PER_S = (10.0, 20.0)
_SWITCH_NS = (2_000.0, 10_000.0)
_FAR_CHEAPER = 10.0
_MANY_CORES = 64


@dataclass(frozen=True)
class Era:
    """Who stands for the collectors that the source speaks of: collector and runtime by its name there."""

    name: str
    configurations: Mapping[str, tuple[str, int]]

    def of(self, table: pd.DataFrame, *names: str) -> pd.DataFrame:
        """The rows of these collectors, or of all."""
        wanted = [self.configurations[name] for name in names or self.configurations]
        inside = [pair in wanted for pair in zip(table["collector"], table["runtime"], strict=True)]
        return table[pd.Series(inside, index=table.index, dtype=bool)]

    @property
    def text(self) -> str:
        """``G1 / 17, ZGC / 17``."""
        return ", ".join(label(collector, runtime) for collector, runtime in self.configurations.values())


THEN = Era("published collectors", {"G1": ("g1", 17), "ZGC": ("zgc", 17)})
"""On 17: 15, the source's, is not measured here, and the engine runs on nothing older."""
TODAY = Era("today's collectors", {"G1": ("g1", 25), "ZGC": ("genzgc", 25)})
PUBLISHED = Era("published figures", {"G1": ("g1", 15), "ZGC": ("zgc", 15)})


@dataclass(frozen=True)
class Pair(Ordering):
    """One value of two configurations that differ in one thing, at one rate: the first is expected to be larger."""

    configuration: str = field(kw_only=True)
    collector: str = field(kw_only=True)
    compared: str = field(kw_only=True)
    at: str = field(kw_only=True)
    """The rate at which they are compared, or what took its place."""
    not_kept_up: tuple[int, int] = field(kw_only=True)
    """Trials on either side in which the pipeline fell behind, so that they have no value."""
    windows: int = field(kw_only=True, default=0)
    """Of the trial that has the fewest."""
    again: Callable[[float], Comparison] = field(kw_only=True, repr=False, compare=False)
    """Makes the comparison at a level."""
    exact: bool = field(kw_only=True, default=False)
    """Published figures: there is one of each, and no spread to see a difference against."""
    above: float = field(kw_only=True, default=1.0)
    """The ratio that it must be shown to be above."""
    below: float = field(kw_only=True, default_factory=lambda: 1 / decisions.effect_that_matters())
    """The ratio below which it is the other way round."""
    too_few: bool = field(kw_only=True, default=False)
    """Its trials have too few windows for the percentile that it is asked of."""
    chances: tuple[float, float] | None = field(kw_only=True, default=None)
    """For it and against it, where it is the best of several."""
    trials: pd.DataFrame | None = field(kw_only=True, default=None, repr=False, compare=False)
    """Of a pair with a figure that is stated: the trials that are set beside it."""

    @property
    def p(self) -> float:
        if self.too_few or self.comparison.ratio is None:
            return math.nan
        return self.chances[0] if self.chances else self.comparison.p_above(self.above)

    @property
    def p_against(self) -> float:
        if self.too_few or self.comparison.ratio is None:
            return math.nan
        return self.chances[1] if self.chances else self.comparison.p_below(self.below)

    @property
    def equivalent(self) -> bool:
        return self.above == 1 and self.comparison.equivalent

    @property
    def sign(self) -> int:
        """Of an exact figure: 1 where it is as expected, 0 where there is no difference, -1 otherwise."""
        ratio = self.comparison.ratio
        if ratio is None:
            return 0
        if self.above != 1:
            return 1 if ratio.estimate >= self.above * (1 - 1e-9) else -1
        return int(ratio.estimate > 1) - int(ratio.estimate < 1)


def of_pairs(every: Sequence[Pair], missing: Iterable[Missing] = ()) -> Evidence:
    """Pairs as evidence; exact figures without chances."""
    evidence = of_orderings(every, missing)
    if not any(pair.exact for pair in every):
        return evidence
    shown = [NOT_MEASURED if math.isnan(pair.p) else SHOWN[pair.sign] for pair in every]
    return replace(evidence, rows=evidence.rows.drop(columns=["p", "p_against"]).assign(shown=shown))


def far(every: Sequence[Pair]) -> list[Pair]:
    """Those with windows enough for the published percentile; where there are none, all, and they show nothing."""
    needed = samples_needed(TAILS[FAR_TAIL])
    enough = [pair for pair in every if pair.windows >= needed]
    return enough or [
        replace(
            pair,
            too_few=True,
            why_not=f"too few windows: {FAR_TAIL} takes {needed:,}, these trials have {pair.windows:,}",
        )
        for pair in every
    ]


def reaching(every: Iterable[Pair], factor: float) -> list[Pair]:
    """The same, asked whether the ratio is at least so large; the other way round where it is smaller by more than what
    does not matter."""
    return [replace(pair, above=factor, below=factor / pair.comparison.effect) for pair in every]


def unbeaten(every: Iterable[Pair]) -> list[Pair]:
    """The same, asked whether the first side is not smaller by more than what does not matter."""
    return [
        pair if pair.exact else replace(pair, above=1 / pair.comparison.effect, below=1 / pair.comparison.effect)
        for pair in every
    ]


def only(trials: pd.DataFrame, *apart_from: str) -> pd.DataFrame:
    """The finished trials that are `PLAIN` in all but these columns."""
    rows = finished(trials).reset_index(drop=True)
    plain = np.ones(len(rows), dtype=bool)
    for name, value in PLAIN.items():
        if name not in apart_from:
            plain &= _is(rows[name], value).to_numpy(bool)
    return rows[plain]


def _at(group: pd.DataFrame) -> str:
    row = group.iloc[0]
    tails = ", ".join(sorted(set(group["tail"].dropna())))
    items = millions(float(row["offered_items_per_second"]))
    rate = f"{items} M items/s ({row['events_per_second']:,} events/s, {row['keys']:,} keys)"
    return f"{rate}, {tails}" if tails else rate


def _windows(rows: pd.DataFrame) -> int:
    return int((rows["seconds"] * 1000 / rows["slide_ms"]).round().min())


def keeping_up(trials: pd.DataFrame) -> pd.Series:
    """Whether the pipeline of each kept up with its input."""
    return trials["kept_up"].fillna(False).astype(bool)


def _kept_up(side: pd.DataFrame, value: str) -> pd.Series:
    """A column of the trials that kept up, by block."""
    fine = side[keeping_up(side)].dropna(subset=[value])
    return fine.set_index("block")[value].astype(float)


def _compared(larger: pd.Series, smaller: pd.Series) -> Callable[[float], Comparison]:
    return partial(decisions.compare, larger, smaller, decisions.effect_that_matters())


def _pair(sides: Sequence[pd.DataFrame], compared: str, at: str, value: str, exact: bool = False) -> Pair:
    """The two sides as a pair, of the trials that kept up."""
    behind = [int((~keeping_up(side)).sum()) for side in sides]
    configuration = str(sides[0]["configuration"].iloc[0])
    larger, smaller = (_kept_up(side, value) for side in sides)
    again = _compared(larger, smaller)
    return Pair(
        f"{configuration} {compared}",
        at,
        again(decisions.ALPHA),
        f"fell behind in {behind[0]} trials and in {behind[1]}: no figure for both",
        configuration=configuration,
        collector=str(sides[0]["collector"].iloc[0]),
        compared=compared,
        at=at,
        not_kept_up=(behind[0], behind[1]),
        windows=min(map(_windows, sides)),
        again=again,
        exact=exact,
    )


def _is(column: pd.Series, wanted: object) -> pd.Series:
    return column.isna() if wanted is None else (column == wanted).fillna(False)


def pairs(
    rows: pd.DataFrame, axis: str, larger: object, smaller: object, compared: str, value: str, exact: bool = False
) -> list[Pair]:
    """Compare ``larger`` with ``smaller`` on one axis, everything else being equal."""
    others = [name for name in CELL if name != axis]
    every = []
    for _, group in rows.groupby(others, dropna=False, observed=True, sort=False):
        sides = [group[_is(group[axis], wanted)] for wanted in (larger, smaller)]
        if not any(side.empty for side in sides):
            every.append(_pair(sides, compared, _at(group), value, exact))
    return every


def concurrent_threads(rows: pd.DataFrame) -> int:
    """Threads that a collector takes for its concurrent work where it may choose; 1 where nothing is known."""
    chosen = rows.loc[rows["asked_concurrent_gc_threads"].isna(), "concurrent_gc_threads"].dropna()
    return int(chosen.median()) if len(chosen) else 1


def published_threads(rows: pd.DataFrame) -> int:
    """As many cooperative threads as the source would choose here: processors but those of the collector, and with ZGC
    one fewer; at least one."""
    left = concurrent_threads(rows) + (rows["collector"].iloc[0] in ("zgc", "genzgc"))
    return max(1, int(rows["cores"].max()) - left)


def _by_configuration(rows: pd.DataFrame) -> list[pd.DataFrame]:
    return [group for _, group in rows.groupby("configuration", sort=False)]


def left_to_collector(trials: pd.DataFrame, value: str = FIRST, exact: bool = False) -> list[Pair]:
    """A thread for every processor over as many as the source would choose, latency: above one, leaving some pays."""
    every: list[Pair] = []
    for rows in _by_configuration(only(trials)):
        count, fewer = int(rows["cores"].max()), published_threads(rows)
        if fewer < count:
            every += pairs(
                rows, "cooperative_threads", count, fewer, f"{count} threads over {fewer}, latency", value, exact
            )
    return every


def thread_sweep(trials: pd.DataFrame, value: str = FIRST, exact: bool = False) -> list[Pair]:
    """Every other number of cooperative threads over as many as processors but those of the collector, latency."""
    every: list[Pair] = []
    for rows in _by_configuration(only(trials)):
        theory = max(1, int(rows["cores"].max()) - concurrent_threads(rows))
        for other in sorted(set(rows["cooperative_threads"]) - {theory}):
            compared = f"{other} threads over {theory}, latency"
            every += pairs(rows, "cooperative_threads", other, theory, compared, value, exact)
    return every


def held(trials: pd.DataFrame, searches: pd.DataFrame, target_ms: float) -> pd.DataFrame:
    """The highest throughput within the target, a row per block and configuration: from each search, and from trials at
    two outputs or more.

    Columns: ``holds_items_per_second``, the highest that held, and ``fails_items_per_second``, the lowest that did not;
    NaN where none did. ``held_items_per_second`` is the first, or where it is NaN the second: it held less than that.
    ``confirmations``: probes of each rate of a search, 1 for trials. ``windows``: of each probe or trial.
    """
    names = [
        "configuration", "collector", "runtime", "cores", "cooperative_threads", "tail", "seconds", "slide_ms", "block",
    ]  # fmt: skip
    rows = []
    searched = finished(searches)
    for _, row in searched[searched["aggregate"] == PLAIN["aggregate"]].iterrows():
        ends = [row[f"{end}_items_per_second"] for end in ("holds", "fails")]
        rows.append([*row[names], *(np.nan if pd.isna(end) else float(end) for end in ends), row["confirmations"]])
    plain = only(trials)
    fixed = ["events_per_second", *(name for name in CONFIGURATION if name != "cooperative_threads")]
    for _, group in plain.groupby([*fixed, "cooperative_threads", "block"], dropna=False, observed=True, sort=False):
        if group["keys"].nunique() > 1:
            ordered = group.sort_values("offered_items_per_second")
            fine = within(ordered, target_ms).to_numpy(bool)
            first_bad = next((place for place, good in enumerate(fine) if not good), len(fine))
            offered = ordered["offered_items_per_second"].to_numpy(float)
            rows.append([
                *ordered.assign(tail=ordered["tail"].dropna().min()).iloc[0][names],
                offered[first_bad - 1] if first_bad else np.nan,
                offered[first_bad] if first_bad < len(fine) else np.nan, 1,
            ])  # fmt: skip
    ends = ["holds_items_per_second", "fails_items_per_second"]
    found = pd.DataFrame(rows, columns=[*names, *ends, "confirmations"])
    return found.assign(
        held_items_per_second=found[ends[0]].fillna(found[ends[1]]), windows=found["seconds"] * 1000 / found["slide_ms"]
    )


def within(rows: pd.DataFrame, target_ms: float, value: str = FIRST) -> pd.Series:
    """Whether each trial kept up and held the latency."""
    return keeping_up(rows) & (rows[value] <= target_ms).fillna(False).astype(bool)


def more_throughput(found: pd.DataFrame, exact: bool = False) -> list[Pair]:
    """As many threads as the source would choose over one for every processor, highest throughput within the target:
    above one, leaving some pays."""
    every = []
    for _, group in found.groupby(["configuration", "tail"], dropna=False, sort=False):
        count = int(group["cores"].max())
        for fewer in sorted(set(group["cooperative_threads"]) - {count}, reverse=True):
            sides = [group[group["cooperative_threads"] == threads] for threads in (fewer, count)]
            if not any(side.empty for side in sides):
                every.append(_throughput(sides, f"{fewer} threads over {count}, highest throughput", exact))
    return every


def _throughput(sides: Sequence[pd.DataFrame], compared: str, exact: bool) -> Pair:
    """Highest throughputs as a pair. Where no rate failed, or none held, a side has no bracket and shows nothing."""
    both = pd.concat(list(sides))
    tails = sorted(set(both["tail"].dropna()))
    at = ", ".join(("highest rate", *tails))
    one, other = sides
    again: Callable[[float], Comparison] = partial(compare_brackets, one, other)
    if exact:
        again = _compared(*(side.set_index("block")["held_items_per_second"] for side in sides))
    return Pair(
        f"{sides[0]['configuration'].iloc[0]} {compared}",
        at,
        again(decisions.ALPHA),
        "every rate that was tried held, or none did",
        configuration=str(sides[0]["configuration"].iloc[0]), collector=str(sides[0]["collector"].iloc[0]),
        compared=compared,
        at=at, not_kept_up=(0, 0), windows=int(both["windows"].min()), again=again, exact=exact,
    )  # fmt: skip


def compare_brackets(one: pd.DataFrame, other: pd.DataFrame, alpha: float = decisions.ALPHA) -> Comparison:
    """The highest throughput of two sides of `held`, each row a bracket around it: centres of the brackets, which may
    be off by half of their widths. A side is left out whole where a bracket is open: what it lacks is no accident."""
    ends = [
        np.log(side.sort_values("block")[["holds_items_per_second", "fails_items_per_second"]].to_numpy(float))
        for side in (one, other)
    ]
    n = min(map(len, ends))
    if not n or any(np.isnan(side).any() for side in ends):
        return decisions.compare([], [])
    searches = min(int(side["confirmations"].min()) for side in (one, other)) >= _CONFIRMATIONS
    centres = [side.mean(axis=1) for side in ends]
    if n < (3 if searches else decisions.FEWEST):
        larger, smaller = (np.exp(centre).tolist() for centre in centres)
        return decisions.compare(larger, smaller)
    used = n if searches and n < decisions.FEWEST else decisions.look_at(n) or n
    centres = [centre[:used] for centre in centres]
    grain = float(sum((side[:used, 1] - side[:used, 0]).mean() for side in ends)) / 2
    middle = float(centres[0].mean() - centres[1].mean())
    error = math.sqrt(sum(float(centre.var(ddof=1)) / used for centre in centres))
    return decisions.of_estimate(middle, error, used, grain, alpha=alpha)


def allocated(trials: pd.DataFrame) -> list[Pair]:
    """The allocating aggregate over the garbage-free one, memory allocated."""
    return allocating(trials, "allocated_mb_per_s")


def allocating(trials: pd.DataFrame, value: str = FIRST) -> list[Pair]:
    """The allocating aggregate over the garbage-free one, latency."""
    of = "latency" if value in (FIRST, LAST) else "MiB/s"
    return pairs(
        only(trials, "aggregate"), "aggregate", "boxed", "garbage_free", f"boxed over garbage-free, {of}", value
    )


def native_threads(trials: pd.DataFrame, value: str = FIRST) -> list[Pair]:
    """A native thread for each processor over cooperative ones, latency."""
    rows = only(trials, "processors")
    return pairs(rows, "processors", "native", "cooperative", "native over cooperative, latency", value)


def virtual_threads(trials: pd.DataFrame, value: str = FIRST) -> list[Pair]:
    """The window step without an engine, on platform threads over virtual ones, latency."""
    rows = only(trials, "processors")
    return pairs(rows, "processors", "platform", "virtual", "platform over virtual, latency", value)


def single_source(trials: pd.DataFrame, value: str = FIRST) -> list[Pair]:
    """One source over parallel ones, latency of trials without a hiccup."""
    return pairs(only(trials, "sources"), "sources", "single", "parallel", "one source over parallel, latency", value)


def catching_up(trials: pd.DataFrame) -> list[Pair]:
    """One source over parallel ones, time to catch up after a hiccup."""
    held_up = only(trials, "sources", "hiccup_ms")
    return pairs(
        held_up[held_up["hiccup_ms"] > 0], "sources", "single", "parallel", "one source over parallel, catching up",
        "catch_up_ms",
    )  # fmt: skip


def gc_threads(trials: pd.DataFrame, value: str = FIRST) -> list[Pair]:
    """Every other number of the collector's threads over the JVM's own choice, latency."""
    every: list[Pair] = []
    options = {"asked_concurrent_gc_threads": "ConcGCThreads", "asked_parallel_gc_threads": "ParallelGCThreads"}
    for axis, option in options.items():
        rows = only(trials, axis)
        for asked in sorted(rows[axis].dropna().unique()):
            every += pairs(rows, axis, asked, None, f"{option}={asked} over the default, latency", value)
    return every


def young_sizes(trials: pd.DataFrame, value: str = FIRST) -> list[Pair]:
    """The JVM's own choice over every other ``MaxNewSize``, latency."""
    rows = only(trials, "new_size_mb")
    every: list[Pair] = []
    for asked in sorted(rows["new_size_mb"].dropna().unique()):
        every += pairs(rows, "new_size_mb", None, asked, f"the default over MaxNewSize={asked}m, latency", value)
    return every


def input_over_output(trials: pd.DataFrame, value: str = "cpu_gc") -> list[Pair]:
    """More input and less output over the reverse, the same items a second on the same windows: the collector's CPU."""
    rows = only(trials)
    rows = rows.assign(items=rows["offered_items_per_second"].astype(float).round(-3))
    rows[value] = rows[value].astype(float).clip(lower=1e-6)
    every = []
    for _, group in rows.groupby([*CONFIGURATION, "items"], dropna=False, observed=True, sort=False):
        events = sorted(group["events_per_second"].unique())
        if len(events) > 1:
            sides = [group[group["events_per_second"] == rate] for rate in (events[-1], events[0])]
            compared = f"{events[-1]:,} events/s over {events[0]:,}, the collector's CPU"
            every.append(_pair(sides, compared, f"{millions(float(group['items'].iloc[0]))} M items/s", value))
    return every


@dataclass(frozen=True)
class Stream:
    """What a claim is put to: a campaign's trials, searches and switches, the latency that was to be held, and who
    stands for the collectors of the source."""

    trials: pd.DataFrame
    searches: pd.DataFrame
    switches: pd.DataFrame
    target_ms: float
    era: Era = TODAY

    @property
    def exact(self) -> bool:
        """Whether these are the source's own figures, of which there is one each."""
        return self.era is PUBLISHED

    def of(self, *names: str) -> pd.DataFrame:
        """The trials of these collectors, or of all."""
        return self.era.of(self.trials, *names)

    def held(self) -> pd.DataFrame:
        """See `held`; of the era's collectors."""
        return held(self.of(), self.era.of(self.searches), self.target_ms)


@cache
def published_figures() -> Stream:
    """The source's own figures as a campaign of one block.

    Read off its charts; of G1 on 16 threads the source only says that it was never under a latency. The least above
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
        **PLAIN, collector=collectors, runtime=PUBLISHED.configurations["G1"][1], block=0, status="ok", kept_up=True,
        tail=FAR_TAIL, heap_mb=0, seconds=240.0, slide_ms=10, pause_target_ms=None, events_per_second=events,
        configuration=rows["collector"] + " on " + rows["machine"], cores=metal.map({True: 96, False: 16}),
        cooperative_threads=rows["jet_threads"], window_ms=metal.map({True: 1000, False: 10_000}),
        concurrent_gc_threads=collectors.map({"g1": 3, "zgc": 2}).where(~metal, 16),
        offered_items_per_second=rows["million_items_per_second"] * 1e6,
        keys=((rows["million_items_per_second"] * 1e6 - events) / 100).astype(int),
        **dict.fromkeys(("catch_up_ms", "cpu_gc", "young_per_s", LAST), float("nan")),
    ).reset_index(drop=True)  # fmt: skip
    return Stream(trials, frame([], SEARCHES), frame([], SWITCH_ROWS), 10.0, PUBLISHED)


def _claim(
    id: str, text: str, rule: Callable[[Stream], Sequence[Pair]], lacks: str = "both sides of a pair",
    source: str = SOURCE, why: Callable[[Stream], str] = lambda _data: NOT_PART.word,
) -> Claim[Stream]:  # fmt: skip
    """A claim that each of these pairs has the larger value on its first side, or what its rule says instead."""

    def evidence(data: Stream) -> Evidence:
        every = rule(data)
        reason = "no figures there" if data.exact else why(data)
        return of_pairs(every, () if every else [Missing(lacks, reason)])

    @cache
    def published() -> Evidence:
        return evidence(published_figures())

    says = published if source == SOURCE else None
    return Claim(id, text, source, evidence, sentence, needs_all=True, published=says)


def _best(every: Sequence[Pair]) -> list[Pair]:
    """The one with the largest ratio: what is said of some places is not said of all. The trials that choose it also
    judge it, so it is paid for as often as there was a choice (Bonferroni), and all must be the other way round."""
    known = [pair for pair in every if pair.comparison.ratio is not None and not pair.too_few]
    if not known:
        return list(every[:1])
    p, against = min(1.0, len(known) * min(pair.p for pair in known)), max(pair.p_against for pair in known)
    return [replace(max(known, key=lambda pair: pair.comparison.decision.ratio), chances=(p, against))]


def _throughput_gain(data: Stream) -> list[Pair]:
    return reaching(far(_chosen(more_throughput(data.era.of(data.held(), "ZGC"), data.exact), data, "ZGC")), _ZGC_GAIN)


def _chosen(every: Iterable[Pair], data: Stream, name: str) -> list[Pair]:
    """Those on as many threads as the source would choose."""
    rows = data.of(name)
    if rows.empty:
        return []
    return [pair for pair in every if pair.compared.startswith(f"{published_threads(rows)} threads over ")]


def _g1_over_the_best(data: Stream) -> list[Pair]:
    """G1 with processors left to it over each collector on all processors, so over the best, highest throughput."""
    found, rows = data.held(), data.of("G1")
    if found.empty or rows.empty:
        return []
    on = found[found["cores"] == rows["cores"].min()]
    g1 = data.era.of(on, "G1")
    left = g1[g1["cooperative_threads"] == published_threads(rows[rows["cores"] == rows["cores"].min()])]
    every = on[on["cooperative_threads"] == on["cores"]]
    if left.empty or every.empty:
        return []
    compared = [
        _throughput([left, rival], f"with processors left to it over {name} on all, highest throughput", data.exact)
        for name, rival in every.groupby("configuration", sort=False)
    ]
    return reaching(far(compared), _G1_GAIN)


def _one_below_theory(data: Stream) -> list[Pair]:
    every: list[Pair] = []
    for rows in _by_configuration(only(data.of("ZGC"))):
        theory = int(rows["cores"].max()) - concurrent_threads(rows)
        if theory > 1:
            compared = f"{theory} threads over {theory - 1}, latency"
            every += pairs(rows, "cooperative_threads", theory, theory - 1, compared, FIRST, data.exact)
    return every


def _two_thirds(data: Stream) -> list[Pair]:
    every: list[Pair] = []
    for rows in _by_configuration(only(data.of("G1"))):
        cores, counts = int(rows["cores"].max()), sorted(set(rows["cooperative_threads"]))
        theory, fewer = cores - concurrent_threads(rows), min(counts, key=lambda count: abs(count - cores * 2 / 3))
        if cores >= _MANY_CORES and fewer < theory:
            compared = f"{theory} threads over {fewer}, latency"
            every += pairs(rows, "cooperative_threads", theory, fewer, compared, FIRST, data.exact)
    return every


def _few_cores(data: Stream) -> str:
    rows = finished(data.trials)
    return NOT_PART.word if rows.empty else f"this machine has {int(rows['cores'].max())} processors"


def _young_needed(data: Stream) -> list[Pair]:
    rows = only(data.of("G1"), "new_size_mb")
    low, high = _NEW_SIZE_MB
    sized = rows["new_size_mb"].between(low, high).fillna(False)
    compared = f"no MaxNewSize over {low} to {high} MB"
    return _sides(rows[rows["new_size_mb"].isna() | sized], "new_size_mb", ~sized, compared)


def _young_rate(data: Stream) -> list[Pair]:
    rows = only(data.of("G1"), "new_size_mb")
    rows = rows[rows["young_per_s"].notna()]
    typical = rows.groupby(list(CELL), dropna=False)["young_per_s"].transform("median").astype(float)
    low, high = _YOUNG_PER_S
    compared = f"another rate of young collections over {low:g} to {high:g} a second"
    return _sides(rows, "new_size_mb", ~typical.between(low, high), compared)


def _sides(rows: pd.DataFrame, axis: str, first: pd.Series, compared: str) -> list[Pair]:
    """The settings of an axis on the first side over the others, everything else being equal: latency. That one of the
    others is below all of the first is asked, and the reverse (`decisions.p_cheapest`); the ratio is of the lowest on
    each side, its interval as wide as that choice asks for."""
    every = []
    for _, group in rows.groupby([name for name in CELL if name != axis], dropna=False, observed=True, sort=False):
        is_first = first.reindex(group.index)
        sides = [group[is_first], group[~is_first]]
        if not any(side.empty for side in sides):
            every.append(_best_of_sides(sides, axis, compared))
    return every


def _best_of_sides(sides: Sequence[pd.DataFrame], axis: str, compared: str) -> Pair:
    latencies = []
    for side in sides:
        settings = {str(setting): _kept_up(rows, FIRST) for setting, rows in side.groupby(axis, dropna=False)}
        latencies.append({setting: values for setting, values in settings.items() if len(values)})
    pair = _pair(sides, f"{compared}, latency", _at(sides[0]), FIRST)
    if not all(latencies):
        return pair
    larger, smaller = (min(settings.values(), key=stats.geometric_mean) for settings in latencies)
    choices = len(latencies[0]) * len(latencies[1])

    def again(level: float) -> Comparison:
        return _compared(larger, smaller)(level / choices)

    p = decisions.p_cheapest(latencies[1], latencies[0])
    against = decisions.p_cheapest(latencies[0], latencies[1], decisions.effect_that_matters())
    return replace(pair, comparison=again(decisions.ALPHA), again=again, chances=(p, against))


def within_target(data: Stream) -> list[Pair]:
    """The target over the latency of G1 with processors left to it, at the published input and up to as many items for
    a processor as there. A trial that fell behind counts with the least by which it was late."""
    done = only(data.of("G1"))
    if done.empty:
        return []
    rows = done[done["cores"] == done["cores"].min()]
    rows = rows[
        (rows["cooperative_threads"] == published_threads(rows))
        & (rows["events_per_second"] <= _MILLION_EVENTS)
        & (rows["offered_items_per_second"] <= _G1_ITEMS_PER_CORE * rows["cores"])
    ]
    every = []
    for _, group in rows.groupby(list(CELL), dropna=False, observed=True, sort=False):
        effect = decisions.effect_that_matters()
        again = partial(decisions.compare_with, 1 / answered_ms(group), 1 / data.target_ms, effect)
        pair = Pair(
            f"{data.target_ms:g} ms", f"{group['configuration'].iloc[0]} at {_at(group)}", again(decisions.ALPHA),
            configuration=str(group["configuration"].iloc[0]), collector="g1", compared="latency", at=_at(group),
            not_kept_up=(0, int((~keeping_up(group)).sum())), windows=_windows(group), again=again, exact=data.exact,
            trials=group,
        )  # fmt: skip
        # What is held is held at the target itself, too.
        every.append(replace(pair, above=1 - 1e-12) if data.exact else pair)
    return far(every)


def answered_ms(trials: pd.DataFrame) -> pd.Series:
    """The latency of each at the tail, to the first result, by block; where one fell behind, the least by which it was
    late."""
    return trials.set_index("block")[FIRST].astype(float).where(keeping_up(trials).to_numpy(), _LATE_MS).dropna()


def _way(data: Stream, way: str) -> dict[str, pd.Series]:
    """By configuration, medians of this way by block, ns, less what reading the clock takes; of tasklets, in which it
    may be more than all else, with it."""
    found = {}
    for configuration, rows in finished(data.era.of(data.switches)).groupby("configuration", sort=False):
        medians = rows.pivot_table(index="block", columns="way", values="p50_ns", aggfunc="median").astype(float)
        if way in medians and (way != "platform" or "empty" in medians):
            less = medians["empty"] if way == "platform" else 0.0
            found[str(configuration)] = (medians[way] - less).clip(lower=1.0)
    return found


def _switches(data: Stream) -> list[Pair]:
    threads, tasklets = _way(data, "platform"), _way(data, "tasklets")
    compared, at = "from thread to thread over from tasklet to tasklet", "on one processor"
    every = []
    for configuration in (name for name in threads if name in tasklets):
        again = _compared(threads[configuration], tasklets[configuration])
        every.append(
            Pair(
                f"{configuration} {compared}",
                at,
                again(decisions.ALPHA),
                configuration=configuration,
                collector="",
                compared=compared,
                at=at,
                not_kept_up=(0, 0),
                again=again,
            )
        )
    return reaching(every, _FAR_CHEAPER)


def _thread_switch(data: Stream) -> Evidence:
    """Whether a switch takes so long: by two one-sided tests against the ends of the range."""
    columns = ["what", "low", "high", "trials", "p", "p_against", "ns"]
    rows = []
    for configuration, switch_ns in _way(data, "platform").items():
        found, compared = stats.geometric_interval(switch_ns), decisions.compare_with(switch_ns, 1.0)
        low, high, effect = *_SWITCH_NS, decisions.effect_that_matters()
        p = max(compared.p_above(low), compared.p_below(high))
        outside = min(1.0, 2 * min(compared.p_below(low / effect), compared.p_above(high * effect)))
        rows.append([configuration, found.low, found.high, found.trials, p, outside, found.estimate])
    table = pd.DataFrame(rows, columns=columns)
    shown = shown_by(table["p"].to_list(), table["p_against"].to_list())
    return Evidence(table.assign(shown=shown), () if rows else (_NO_SWITCH,))


_NO_SWITCH = Missing("switches", NOT_PART.word)


def millions(value: float) -> str:
    """Items in millions, for a reader."""
    return stats.significant(value / 1e6)


FOR_THE_COLLECTOR = _claim(
    "processor-for-the-collector",
    "As many threads as there are processors but the collector's answer sooner at p99.99 than one for every processor.",
    lambda data: far(left_to_collector(data.of(), exact=data.exact)),
)
WITHIN_TARGET = "g1-within-target"
STREAM_CLAIMS: tuple[Claim[Stream], ...] = (
    FOR_THE_COLLECTOR,
    _claim(
        "g1-latency-40",
        "So the latency of G1 at p99.99 becomes smaller by 40% at places.",
        lambda data: _best(reaching(far(left_to_collector(data.of("G1"), exact=data.exact)), _LATENCY_GAIN)),
    ),
    _claim(
        "zgc-throughput-25",
        "So ZGC holds 10 ms at p99.99 at a throughput larger by 25%.",
        _throughput_gain,
    ),
    _claim(
        "g1-throughput-250",
        "So G1 holds 10 ms at p99.99 at 2.5 times the throughput that was best with a thread for every processor.",
        _g1_over_the_best,
    ),
    _claim(
        WITHIN_TARGET,
        "With processors left to it, G1 holds 10 ms at p99.99 up to 20 million items a second on 16 processors, or as "
        "many for each.",
        within_target,
        "G1 with a processor left to it",
    ),
    _claim(
        "g1-theory-is-best",
        "With G1, no number of threads is better than that of the processors but the collector's.",
        lambda data: unbeaten(thread_sweep(data.of("G1"), exact=data.exact)),
    ),
    _claim(
        "zgc-one-below-theory",
        "With ZGC, one thread less is better than that (13 on 16 processors, not 14).",
        _one_below_theory,
        "two numbers of threads below that of the processors",
        why=_few_cores,
    ),
    _claim(
        "g1-two-thirds-of-many",
        "On 96 processors, 64 threads are better than 80 with G1.",
        _two_thirds,
        f"a machine of {_MANY_CORES} processors or more",
        why=_few_cores,
    ),
    _claim(
        "default-gc-threads",
        "No other number of the collector's threads beats its own choice.",
        lambda data: unbeaten(gc_threads(data.of())),
        "other numbers of the collector's threads",
    ),
    _claim(
        "g1-young-size-needed",
        "G1 answers sooner with MaxNewSize at 100 to 200 MB than without.",
        _young_needed,
        "G1 with MaxNewSize and without",
    ),
    _claim(
        "g1-young-10-to-20",
        "G1 answers soonest where it has 10 to 20 young collections a second.",
        _young_rate,
        "sizes of the young generation with 10 to 20 young collections a second, and with others",
    ),
    _claim(
        "parallel-source-catches-up",
        "Parallel sources catch up sooner after a hiccup than one.",
        lambda data: catching_up(data.of()),
        "trials with a hiccup",
    ),
    _claim(
        "parallel-source-answers-sooner",
        "Parallel sources make the latency a bit smaller.",
        lambda data: single_source(data.of()),
        "trials with one source",
    ),
    _claim(
        "input-weighs-more",
        "At the same items a second, input weighs more on the collector than output.",
        lambda data: input_over_output(data.of()),
        "two inputs with the same items a second",
    ),
    _claim(
        "green-threads-answer-sooner",
        "Cooperative threads answer sooner at the tail than a native thread for each processor.",
        lambda data: native_threads(data.of()),
        "native threads",
    ),
    _claim(
        "tasklets-switch-cheaper",
        "To go from tasklet to tasklet is far cheaper (ten times and more) than from thread to thread.",
        _switches,
        "switches",
    ),
    Claim(
        "thread-switch-2-to-10-us",
        "To go from thread to thread on one processor takes 2 to 10 microseconds.",
        SOURCE,
        _thread_switch,
        sentence,
        published=no_figures,
    ),
)
ALLOCATION_COSTS = _claim(
    "allocation-costs-latency",
    "An aggregate that allocates at every update answers later at the tail than one that does not.",
    lambda data: allocating(data.trials),
    source="this project",
)


def evaluate(tables: Mapping[str, pd.DataFrame], target_ms: float, era: Era = TODAY) -> list[Verdict]:
    """The published conclusions, put to the trials, searches and switches of a campaign."""
    data = Stream(tables["trials"], tables["searches"], tables["switches"], target_ms, era)
    return claims.evaluate(STREAM_CLAIMS, data)


def verdicts(tables: Mapping[str, pd.DataFrame], target_ms: float) -> list[Verdict]:
    """All verdicts of the page, judged together: on the source's collectors, on today's, and our own last."""
    data = Stream(tables["trials"], tables["searches"], tables["switches"], target_ms)
    by_era = [
        replace(verdict, set_up=era.text) for era in (THEN, TODAY) for verdict in evaluate(tables, target_ms, era)
    ]
    return claims.judged_together([*by_era, claims.judge(ALLOCATION_COSTS, data)])


def of_campaign(tables: Mapping[str, pd.DataFrame], settings: Mapping[str, Any]) -> list[Verdict]:
    """The verdicts of a campaign, on what it left, as its page and the first page show them."""
    return verdicts(tables, settings["target_ms"])
