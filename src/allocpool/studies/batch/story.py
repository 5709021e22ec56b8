"""The answer for this machine in sentences that are computed: allocate or pool, by how much, and how
surely."""

from __future__ import annotations

import pandas as pd

from allocpool import stats
from allocpool.evidence import tables
from allocpool.packets import cells as cell_data
from allocpool.packets.specs import CASES, HEAP_MB
from allocpool.packets.strategies import MIX_POOL_SIZE, POOL_SIZE, STRATEGIES
from allocpool.studies.batch.study import BatchProfile
from allocpool.studies.native.study import NativeProfile

POOL, ALLOCATE, DEPENDS, UNDECIDED = "Pool", "Allocate", "It depends", "Mostly undecided"
_EXCEPTIONS = 4  # so many times more often the one than the other: the other is an exception


def _count(rows: pd.DataFrame, direction: int) -> int:
    return int((rows["direction"] == direction).sum())


def headline(comparisons: pd.DataFrame) -> str:
    """The answer in a few words, from a table of alloc/pool comparisons (`allocpool.evidence.tables.comparison_table`).

    Undecided unless differences are shown in at least half of the configurations; then the side that is cheaper, with
    exceptions where the other side is, too, but at least four times less often.
    """
    dearer, cheaper = _count(comparisons, 1), _count(comparisons, -1)
    if not comparisons.size or 2 * (dearer + cheaper) < len(comparisons):
        return UNDECIDED
    if dearer >= _EXCEPTIONS * cheaper:
        return f"{POOL}, with exceptions" if cheaper else POOL
    if cheaper >= _EXCEPTIONS * dearer:
        return f"{ALLOCATE}, with exceptions" if dearer else ALLOCATE
    return DEPENDS


def _choices(trials: pd.DataFrame) -> pd.DataFrame:
    """The Java trials on collectors that a program can be run with."""
    return trials[(trials["language"] == "java") & ~trials["collector"].isin(cell_data.CONTROLS)]


def _list(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _where(rows: pd.DataFrame) -> str:
    return _list(
        [f"{solution} in case {_list(list(group['case']))}" for solution, group in rows.groupby("solution", sort=False)]
    )


def _by_case(rows: pd.DataFrame) -> str:
    parts = []
    for case, group in rows.groupby("case"):
        dearer, cheaper, same = _count(group, 1), _count(group, -1), _count(group, 0)
        shown = group[group["direction"] == 1]
        span = f" (allocation cost {stats.span(shown['ratio'])} times as much)" if len(shown) else ""
        parts.append(
            f"**Case {case}**: pool cheaper in {dearer} of {len(group)}{span}, dearer in {cheaper}, "
            f"no difference shown or not measured in {same}."
        )
    return "\n".join(f"- {part}" for part in parts)


def verdict(trials: pd.DataFrame) -> str:
    """The first sentence: whether pooling pays in Java on this machine, and where that was shown."""
    java = _choices(trials)
    if cell_data.finished(java).empty:
        return f"**{UNDECIDED}.** No Java trial has finished on this machine yet."
    rows = tables.comparison_table(java)
    dearer, cheaper = _count(rows, 1), _count(rows, -1)
    return (
        f"**{headline(rows)}.** In batch on this machine, taking buffers from a pool was shown to cost less "
        f"than allocating them in {dearer} of {len(rows)} Java configurations and more in {cheaper}; in the other "
        f"{len(rows) - dearer - cheaper} no difference was shown or a side is missing."
    )


def details(trials: pd.DataFrame) -> str:
    """The answer by case, where it turns, what the smaller pool does, and the cheapest cells, as Markdown."""
    java = _choices(trials)
    if cell_data.finished(java).empty:
        return "There is nothing to compare yet."
    rows = tables.comparison_table(java)
    parts = [_by_case(rows)]
    against = rows[rows["direction"] == -1]
    if len(against):
        parts.append(f"Allocating was cheaper on {_where(against)}.")
    mixed = tables.comparison_table(java, "alloc", "mix")
    parts.append(
        f"The smaller pool (mix) cost less than allocating in {_count(mixed, 1)} of {len(mixed)} Java "
        f"configurations and more in {_count(mixed, -1)}."
    )
    parts.append(_cheapest(trials))
    return "\n\n".join(parts)


def _cheapest(trials: pd.DataFrame) -> str:
    cells = cell_data.cells(trials)
    marks = tables.highlights(cells).merge(cells, on=["case", "strategy", "solution"])
    lines = []
    for case, group in marks.groupby("case"):
        named = group.drop_duplicates("rank").set_index("rank")
        texts = [
            f"{rank}: {row['solution']} with {row['strategy']}, {stats.significant(row['ns'])} ns/packet"
            for rank, row in named.iterrows()
            if rank != "second-best Java"
        ]
        lines.append(f"- **Case {case}**, {'; '.join(texts)}.")
    return "Cheapest:\n\n" + "\n".join(lines)


def certainty(trials: pd.DataFrame) -> str:
    """How sure all this is: trials per configuration, how a spread is told, the instrument's own A/A
    noise."""
    good = cell_data.finished(trials)
    if good.empty:
        return "No trial has finished: nothing is certain."
    noise = stats.noise_band(good, cell_data.CONFIGURATION)
    caption = cell_data.spread_caption(cell_data.cells(trials))
    if not noise.pairs:
        return f"{caption} With one block, no difference can be told from noise, so none is claimed."
    return (
        f"{caption} Two trials of the same configuration stayed within a factor of "
        f"{stats.significant(noise.factor)} of each other in 95% of {noise.pairs} pairs (A/A)."
    )


def design(profile: BatchProfile) -> str:
    """What the campaign consists of, from its profile: configurations, blocks, sizes, durations."""
    cells = len(profile.solutions) * len(profile.strategies) * len(profile.cases)
    sizes = _list([f"{round(CASES[case] * profile.scale):,} (case {case})" for case in profile.cases])
    return (
        f"{len(profile.solutions)} solutions with {_list(list(profile.strategies))} in {len(profile.cases)} cases make "
        f"{cells} configurations; each runs once in each of {profile.blocks} blocks, in random order inside a block: "
        f"{cells * profile.blocks} trials, each a fresh process that warms up for {profile.warmup_seconds:g} s and "
        f"measures for {profile.seconds:g} s. Sizes are {profile.scale:g} of the article's: queue and store each hold "
        f"{sizes} packets, the pool {round(POOL_SIZE * profile.scale):,}, the mixed pool "
        f"{round(MIX_POOL_SIZE * profile.scale):,}; a heap for heap buffers has "
        f"{round(HEAP_MB['heap'] * profile.scale):,} MB."
    )


def native_design(profile: NativeProfile) -> str:
    """What a native campaign consists of, from its profile: groups, blocks, sizes, durations."""
    groups = [
        f"{name} ({len(group.solutions)} solutions with {_list(list(group.strategies))} in {_list(list(group.cases))})"
        for name, group in profile.groups.items()
    ]
    return (
        f"Groups: {_list(groups)}. Each configuration runs once in each of {profile.blocks} blocks, in random order "
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
        f"{len(asked.simulated)} by simulation, with {_list(list(asked.strategies))} in {_list(list(asked.cases))}."
    )


def failures(trials: pd.DataFrame) -> str:
    """How trials that did not end well ended, in words."""
    bad = trials[~trials["status"].isin(["ok"])]
    if bad.empty:
        return "Every trial that was started ended well."
    counts = bad["status"].value_counts()
    return "Not ended well: " + ", ".join(f"{n} {str(name).replace('_', ' ')}" for name, n in counts.items()) + "."


def processor_cost(trials: pd.DataFrame) -> str:
    """How much processor time Java spends beside wall time, where allocation hides its cost on other cores."""
    good = cell_data.finished(trials).dropna(subset=["cpu_ns_per_packet"])
    if good.empty:
        return "No trial has recorded processor time yet."
    cores = (good["cpu_ns_per_packet"] / good["ns_per_packet"]).astype(float)
    by_strategy = cores.groupby(good["strategy"]).median()
    texts = [f"{stats.significant(by_strategy[name], 2)} with {name}" for name in STRATEGIES if name in by_strategy]
    most = good.assign(cores=cores).nlargest(1, "cores").iloc[0]
    return (
        f"Processor time over wall time, in cores kept busy, median of trials: {_list(texts)}. Most: "
        f"{stats.significant(most['cores'], 2)} cores on {most['solution']} with {most['strategy']} in case "
        f"{most['case']}."
    )


def native_verdict(trials: pd.DataFrame) -> str:
    """What C++ pays for new and delete, in one sentence."""
    cpp = trials[trials["language"] == "cpp"]
    if cell_data.finished(cpp).empty:
        return f"**{UNDECIDED}.** No C++ trial has finished on this machine yet."
    rows = tables.comparison_table(cpp)
    rows = rows[rows["n"] > 0]
    if rows.empty:
        return f"**{UNDECIDED}.** No C++ configuration was measured with both alloc and pool."
    dearer, cheaper = _count(rows, 1), _count(rows, -1)
    shown = rows[rows["direction"] == 1]["ratio"]
    span = f" ({stats.span(shown)} times)" if dearer else ""
    return (
        f"**In C++: {headline(rows).lower()}.** Packets made with new and delete were shown to cost more than pooled "
        f"ones in {dearer} of {len(rows)} C++ configurations{span} and less in {cheaper}."
    )
