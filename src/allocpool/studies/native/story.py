"""What the native study shows: the ladder's gains, the spread over collectors, what options change, and the sentence to
take home. Everything is a ratio paired within blocks, set against the noise of two trials of one configuration.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import pandas as pd

from allocpool import stats
from allocpool.campaign import campaign
from allocpool.evidence.trials import records
from allocpool.packets import cells as cell_data
from allocpool.packets.comparisons import UNDECIDED, decided_in_words, headline, listed, sentence
from allocpool.packets.specs import CASES, Solution
from allocpool.packets.strategies import CHOICES, Language
from allocpool.packets.tables import comparison_table, options_table
from allocpool.studies.native.specs import EVENTS
from allocpool.studies.native.study import STUDY, NativeProfile, ladder

POOLED = "pool"
LANGUAGES: dict[Language, str] = {"cpp": "C++", "java": "Java"}
_REALISTIC = "B"
PAYLOAD_BYTES = (50, 113)
"""The shortest and the longest payload of a published packet, as the generators of both languages draw it."""


class _Step(NamedTuple):
    """A comparison that is one step of an argument: what costs more, and what costs less."""

    larger: str
    larger_strategy: str
    smaller: str
    smaller_strategy: str = POOLED


def design(profile: NativeProfile) -> str:
    """What the campaign consists of, from its profile: groups, blocks, sizes, durations."""
    groups = [
        f"{name} ({len(group.solutions)} solutions with {listed(group.strategies)} in {listed(group.cases)})"
        for name, group in profile.groups.items()
    ]
    return (
        f"Groups: {listed(groups)}. Each configuration runs once in each of {profile.blocks} blocks, in random order "
        f"inside a block, as a fresh process that warms up for {profile.warmup_seconds:g} s and measures for "
        f"{profile.seconds:g} s. Sizes are {profile.scale:g} of the article's; a resource that never frees has "
        f"{profile.monotonic_mb:,} MB, Epsilon {profile.epsilon_heap_mb:,} MB.{_counting(profile)}"
    )


def _counting(profile: NativeProfile) -> str:
    asked = profile.counters
    if asked is None:
        return ""
    return (
        f" Events are counted once, over {asked.packets:,} packets: {len(asked.hardware)} solutions by the processor, "
        f"{len(asked.simulated)} by simulation, with {listed(asked.strategies)} in {listed(asked.cases)}."
    )


def in_groups(rows: pd.DataFrame, profile: NativeProfile, *groups: str) -> pd.DataFrame:
    """The rows (with solution and strategy) that belong to these groups of the profile; a group it lacks has none."""
    wanted = {
        (Solution.parse(key).label, strategy)
        for name in groups
        if name in profile.groups
        for key in profile.groups[name].solutions
        for strategy in profile.groups[name].strategies
    }
    pairs = zip(rows["solution"], rows["strategy"], strict=True)
    return rows[[pair in wanted for pair in pairs]]


def with_solutions(
    rows: pd.DataFrame, chosen: pd.DataFrame, keys: Sequence[str], strategy: str = POOLED
) -> pd.DataFrame:
    """``chosen`` and, for comparison, the rows of these solutions with one strategy."""
    labels = [Solution.parse(key).label for key in keys]
    added = rows[rows["solution"].isin(labels) & (rows["strategy"] == strategy)]
    return pd.concat([chosen, added]).drop_duplicates(["solution", "strategy", "case", *_trial_id(rows)])


def _trial_id(rows: pd.DataFrame) -> list[str]:
    return ["trial_id"] if "trial_id" in rows else []


def ladder_table(trials: pd.DataFrame) -> pd.DataFrame:
    """Per language, case and rung, pooled: language, case, rung, ns, low, high, n, method; gain (cost of the rung
    before over its own), gain_low, gain_high, gain_text; of_foot (its cost over that of ``separate``) and of_foot_text.

    A rung without a finished trial has no row; the next one is compared with the last that has.
    """
    noise = stats.noise_band(cell_data.with_cost(trials), cell_data.CONFIGURATION)
    rows = []
    for language, case in product(LANGUAGES, CASES):
        before: pd.Series | None = None
        first: pd.Series | None = None
        for step, key in ladder(language).items():
            own = cell_data.by_block(trials, Solution.parse(key).label, POOLED, case)
            if own.empty:
                continue
            cost = stats.geometric_interval(own)
            row: dict[str, object] = {
                "language": LANGUAGES[language], "case": case, "rung": step.replace("_", " "), "ns": cost.estimate,
                "low": cost.low, "high": cost.high, "n": cost.trials, "method": cost.method, "gain_text": "-",
                "of_foot_text": "-",
            }  # fmt: skip
            if before is not None and first is not None:
                gain, whole = stats.compare(before, own, noise), stats.compare(own, first, noise)
                row |= {"gain_text": gain.text(), "of_foot_text": whole.text()}
                if gain.ratio and whole.ratio:
                    row |= {
                        "gain": gain.ratio.estimate, "gain_low": gain.ratio.low, "gain_high": gain.ratio.high,
                        "of_foot": whole.ratio.estimate,
                    }  # fmt: skip
            rows.append(row)
            before, first = own, own if first is None else first
    names = ["language", "case", "rung", "ns", "low", "high", "n", "method", "gain", "gain_low", "gain_high"]
    return pd.DataFrame(rows, columns=[*names, "gain_text", "of_foot", "of_foot_text"])


def ladder_grid(table: pd.DataFrame) -> pd.DataFrame:
    """`ladder_table` for a reader: both languages side by side, a row for each case and step."""
    grid = table.pivot(index=["case", "rung"], columns="language", values=["gain_text", "of_foot_text"])
    order = [
        (case, step.replace("_", " "))
        for case in CASES
        for step in ladder("cpp")
        if (case, step.replace("_", " ")) in grid.index
    ]
    names = {"gain_text": "gain", "of_foot_text": "cost over separate"}
    grid = grid.reindex(order).fillna("")
    present = [language for language in LANGUAGES.values() if language in set(table["language"])]
    shown = {f"{language}: {names[value]}": grid[value, language] for language in present for value in names}
    return pd.DataFrame(shown).reset_index()


def age_sentence(trials: pd.DataFrame) -> str:
    """What age costs: the range of aged over fresh, in words."""
    table = options_table(trials, "fresh")
    both = table.dropna(subset=["with_ns", "without_ns"])
    if both.empty:
        return "No solution has finished with its packets aged and fresh: what age costs is unknown."
    cost = both["without_ns"] / both["with_ns"]
    (most,) = records(both.assign(cost=cost).nlargest(1, "cost"))
    return (
        f"Packets that lie in the order of long use cost {stats.span(cost)} times what fresh ones do, over {len(both)} "
        f"cells; most under {most.solution} with {most.strategy} in case {most.case}. A fresh pool hands out "
        "neighbours one after the other, which caches and page tables reward; a program that has run for long has none."
        " A Java heap gives out memory by moving a pointer, whatever its age: with layout heap only the pool ages."
    )


def placement_sentence(trials: pd.DataFrame) -> str:
    """What the place of the buffer changes, and the test of why: the thread cache of glibc."""
    noise = stats.noise_band(cell_data.with_cost(trials), cell_data.CONFIGURATION)
    told, borne_out = [], []
    for strategy, case in product(CHOICES, CASES):
        usual, uncached = (_inside_over_apart(trials, name, strategy, case, noise) for name in _CACHES)
        parts = [
            f"{words} {compared.text()}"
            for compared, words in zip((usual, uncached), _CACHES.values(), strict=True)
            if compared.ratio is not None
        ]
        if parts:
            told.append(f"{strategy} in case {case}, glibc {', '.join(parts)}")
        if strategy == "alloc" and usual.ratio and uncached.ratio:
            borne_out.append(usual.direction == 1 and uncached.ratio.estimate < usual.ratio.low)
    if not told:
        return "No pair of a buffer apart and a buffer inside has finished: what its place changes is unknown."
    tested = f" It is so in {sum(borne_out)} of {len(borne_out)} cases." if borne_out else ""
    return (
        f"Cost of a packet with its buffer inside over one with the buffer apart, layout flat: {'; '.join(told)}. "
        "The explanation to be tested: the thread cache of glibc holds blocks of at most 1,032 bytes. A buffer of 1,024"
        " that is allocated by itself fits, a packet that contains one does not, and searches bins and joins neighbours"
        " whose lines are in no cache, each time. One allocation less is then more work. A tunable can lower the limit,"
        " not raise it, so the test goes the other way round: a buffer inside must cost more, and lose "
        f"less or nothing where the cache takes no buffer at all.{tested} Pooled, nothing is allocated, and a packet"
        " in one piece has one pointer less to follow and one line less to fetch."
    )


_CACHES = {"glibc": "as it is", "glibc_small_cache": "told to cache no buffer"}


def _inside_over_apart(
    trials: pd.DataFrame, allocator: str, strategy: str, case: str, noise: stats.NoiseBand
) -> stats.Comparison:
    keys = (f"cpp/flat/{allocator}/inline", f"cpp/flat/{allocator}")
    inside, apart = (cell_data.by_block(trials, Solution.parse(key).label, strategy, case) for key in keys)
    return stats.compare(inside, apart, noise)


def collector_spread(trials: pd.DataFrame, layout: str = "flat") -> str:
    """How far apart collectors are under a Java layout, pooled, by case, beside the noise; and what is allocated."""
    done = cell_data.with_cost(trials)
    newest = done[(done["language"] == "java") & (done["strategy"] == POOLED)]
    newest = newest[newest["runtime"] == newest["runtime"].max()]
    plain = newest["solution"] == [Solution.of(row).plain.label for _, row in newest.iterrows()]
    rows = newest[(newest["layout"] == layout) & plain]
    if rows["collector"].nunique() < 2:
        return f"Fewer than two collectors have finished under layout {layout}: their spread is unknown."
    noise = stats.noise_band(done, cell_data.CONFIGURATION)
    parts = []
    for case, group in rows.groupby("case"):
        costs = group.groupby("solution")["ns_per_packet"].apply(stats.geometric_mean).sort_values()
        parts.append(
            f"in case {case} from {stats.significant(costs.iloc[0])} ns ({costs.index[0]}) to "
            f"{stats.significant(costs.iloc[-1])} ns ({costs.index[-1]}), a factor of "
            f"{stats.significant(costs.iloc[-1] / costs.iloc[0])}"
        )
    band = f" Two trials of one configuration stay within {stats.significant(noise.factor)}." if noise.pairs else ""
    allocated = rows["allocated_bytes"].dropna()
    most = f"{int(allocated.max()):,} bytes" if len(allocated) else "an unknown number of bytes"
    return (
        f"Layout {layout} under {rows['collector'].nunique()} collectors: {'; '.join(parts)}.{band} "
        f"In its measured windows the working thread allocated at most {most} on the Java heap ({len(rows)} trials)."
    )


def events_grid(counters: pd.DataFrame) -> pd.DataFrame:
    """Events per packet: one row per solution, case and way of counting, one column per event that was counted."""
    counted = counters[counters["per_packet"].notna()]
    if counted.empty:
        return pd.DataFrame(columns=["solution", "case", "counted"])
    grid = counted.pivot_table(
        index=["solution", "case", "counter"], columns="event", values="per_packet", aggfunc="mean", observed=True
    )
    grid = grid[[event for event in EVENTS if event in grid]].map(stats.significant)
    grid.columns = [str(name).replace("_", " ") for name in grid.columns]
    return grid.reset_index().rename(columns={"counter": "counted"})


def how_counted(counters: pd.DataFrame) -> str:
    """What counted, for a caption, and why the rest was not counted."""
    how = sorted(set(counters.loc[counters["per_packet"].notna(), "how"].dropna()))
    why = sorted(set(counters.loc[counters["status"] != "ok", "reason"].dropna()))
    by_whom = f"Counted by {'; '.join(how)}. " if how else "Nothing was counted. "
    simulated = (counters["counter"] == "simulated") & counters["per_packet"].notna()
    model = "Simulated caches are a model that knows neither prefetching nor pages. " if simulated.any() else ""
    return by_whom + model + (f"Not counted: {'; '.join(why)}." if why else "")


_ARGUMENT = {
    "pooling in place of new and delete in flat C++": _Step("cpp/flat", "alloc", "cpp/flat"),
    "laying pooled C++ packets out in one region": _Step("cpp/flat", POOLED, "cpp/slab/glibc/contiguous"),
    "laying that region out for the caches": _Step("cpp/slab/glibc/contiguous", POOLED, "cpp/slab"),
    "what one region has over C++ packets that are aligned and fetched ahead as well": _Step(
        "cpp/flat/glibc/inline+one_line+stride+prefetch", POOLED, "cpp/slab"
    ),
    "giving up objects for one region in Java": _Step("java/native/g1/25", POOLED, "java/flat/g1/25/contiguous"),
    "laying Java's region out for the caches": _Step("java/flat/g1/25/contiguous", POOLED, "java/flat/g1/25"),
}


def gains_table(trials: pd.DataFrame) -> pd.DataFrame:
    """The steps of the argument by case: what it is, from and to in ns, and the gain in words; direction as in
    `stats.Comparison`."""
    noise = stats.noise_band(cell_data.with_cost(trials), cell_data.CONFIGURATION)
    rows = []
    for case in CASES:
        for what, step in _ARGUMENT.items():
            larger, smaller = Solution.parse(step.larger).label, Solution.parse(step.smaller).label
            top = cell_data.by_block(trials, larger, step.larger_strategy, case)
            bottom = cell_data.by_block(trials, smaller, step.smaller_strategy, case)
            compared = stats.compare(top, bottom, noise)
            if compared.ratio is not None:
                rows.append({
                    "case": case, "step": what, "from": f"{larger}, {step.larger_strategy}",
                    "to": f"{smaller}, {step.smaller_strategy}", "from ns": stats.geometric_mean(top),
                    "to ns": stats.geometric_mean(bottom), "gain": compared.text(), "direction": compared.direction,
                })  # fmt: skip
    return pd.DataFrame(rows, columns=["case", "step", "from", "to", "from ns", "to ns", "gain", "direction"])


def gains_grid(trials: pd.DataFrame) -> pd.DataFrame:
    """`gains_table` for a reader."""
    rows = gains_table(trials).drop(columns="direction")
    return rows.assign(**{name: rows[name].map(stats.significant) for name in ("from ns", "to ns")})


def best_library(trials: pd.DataFrame, case: str) -> str:
    """How the cheapest library pool stands beside our own flat layout, in words; empty when none has finished."""
    done = cell_data.with_cost(trials)
    pools = done[done["layout"].isin(LIBRARY_LAYOUTS) & (done["case"] == case) & (done["language"] == "java")]
    own = cell_data.by_block(trials, Solution.parse("java/flat/g1/25").label, POOLED, case)
    if pools.empty or own.empty:
        return ""
    costs = pools.groupby("solution")["ns_per_packet"].apply(stats.geometric_mean).sort_values()
    return (
        f"Of the library pools and buffers, {costs.index[0]} costs least ({stats.significant(costs.iloc[0])} ns) and "
        f"{costs.index[-1]} most ({stats.significant(costs.iloc[-1])} ns), beside "
        f"{stats.significant(stats.geometric_mean(own))} ns of our own flat layout."
    )


LIBRARY_LAYOUTS = ("netty_pooled", "netty_unpooled", "netty_adaptive", "commons_pool", "agrona")


def verdict(trials: pd.DataFrame) -> str:
    """What a practitioner takes home, in the realistic case or else the first that was measured."""
    rows = gains_table(trials)
    if rows.empty:
        return "**Undecided.** None of the steps has been measured on both of its sides yet."
    cases = list(dict.fromkeys(rows["case"]))
    case = _REALISTIC if _REALISTIC in cases else cases[0]
    here = rows[rows["case"] == case].sort_values("to ns")
    shown = here[here["direction"] == 1]
    head = (
        "Where packets lie pays on top of who keeps them"
        if len(shown) == len(here)
        else "Not every step pays here"
        if len(shown)
        else "No step is shown to pay here"
    )
    steps = "; ".join(f"{row['step']}, {row['gain']}" for _, row in here.iterrows())
    gains = f"**{head}.** What a packet cost before over what it costs after, in case {case}: {steps}."
    return f"{gains} {best_library(trials, case)}".rstrip()


def take_home(profile: str) -> str:
    """The verdict on what a campaign of this profile left; runs nothing."""
    tables, _ = campaign.stored(STUDY.name, profile)
    return verdict(tables["trials"])


def pooling_in_cpp(trials: pd.DataFrame) -> str:
    """What C++ pays for new and delete, in one sentence."""
    cpp = trials[trials["language"] == "cpp"]
    if cell_data.with_cost(cpp).empty:
        return f"**{UNDECIDED}.** No C++ trial has finished on this machine yet."
    rows = comparison_table(cpp)
    rows = rows[rows["n"] > 0]
    if rows.empty:
        return f"**{UNDECIDED}.** No C++ configuration was measured with both alloc and pool."
    return f"**In C++: {headline(rows).lower()}.** {sentence(decided_in_words(rows))}"
