"""The answer for this machine in sentences that are computed: allocate or pool, by how much, and how
surely."""

from __future__ import annotations

import math

import pandas as pd

from allocpool import stats
from allocpool.campaign import hosts, store
from allocpool.evidence import hosts as by_host
from allocpool.evidence.trials import records
from allocpool.packets import by_size
from allocpool.packets import cells as cell_data
from allocpool.packets.batch import BatchSpec
from allocpool.packets.comparisons import (
    PUBLISHED,
    UNDECIDED,
    Batch,
    count,
    decided_in_words,
    headline,
    listed,
    sentence,
    verdicts_in_words,
)
from allocpool.packets.published import share_of_sizes
from allocpool.packets.specs import CASES, HEAP_MB, SETTINGS, Solution
from allocpool.packets.strategies import MIX_POOL_SIZE, POOL_SIZE
from allocpool.packets.tables import SECOND_IN_JAVA, comparison_table, highlights, options_grid, options_table
from allocpool.runtimes.flags import reason_of
from allocpool.studies.batch.claims import distances
from allocpool.studies.batch.study import STUDY, BatchProfile
from allocpool.trial.launch import flags_of

_NAMED = 3
"""So many comparisons are named in a sentence."""


def _choices(trials: pd.DataFrame) -> pd.DataFrame:
    """The Java trials on collectors that a program can be run with, with the settings of all."""
    java = (trials["language"] == "java") & ~trials["collector"].isin(cell_data.CONTROLS)
    return cell_data.as_set(trials[java])


def _where(rows: pd.DataFrame) -> str:
    return listed(
        [
            f"{solution} in case {listed(list(group['case']))}"
            for solution, group in rows.groupby("solution", sort=False)
        ]
    )


def _by_case(rows: pd.DataFrame) -> str:
    parts = [f"- **Case {case}**: {verdicts_in_words(group)}." for case, group in rows.groupby("case")]
    return "\n".join(parts)


def decided(compared: pd.DataFrame) -> str:
    """How many of the `primary` comparisons are decided; Java and C++, controls apart."""
    return sentence(decided_in_words(compared))


def primary(trials: pd.DataFrame, shown: pd.DataFrame | None = None) -> pd.DataFrame:
    """The primary comparisons, those of allocating with a pool by solution and case, as
    `allocpool.packets.tables.comparison_table` has them: decided together over all that the campaign asked, and told of
    the cells in ``shown``, else of those with the settings of all and case A in one size."""
    rows = comparison_table(trials[~trials["collector"].isin(cell_data.CONTROLS)])
    cells = cell_data.one_case_a(cell_data.as_set(trials)) if shown is None else shown
    return rows.merge(cells[["solution", "case"]].drop_duplicates())


def _in_java(trials: pd.DataFrame, compared: pd.DataFrame | None) -> pd.DataFrame:
    rows = primary(trials) if compared is None else compared
    return rows[rows["solution"].isin(set(_choices(trials)["solution"]))]


def verdict(trials: pd.DataFrame, compared: pd.DataFrame | None = None) -> str:
    """The first sentence: whether pooling pays in Java on this machine, and where that was shown.

    ``compared``, here and below: the `primary` comparisons of these trials, where a page has them already.
    """
    java = _choices(trials)
    if cell_data.with_cost(java).empty:
        return f"**{UNDECIDED}.** No Java trial has finished on this machine yet."
    rows = _in_java(trials, compared)
    return f"**{headline(rows)}.** In batch on this machine, with Java: {decided_in_words(rows)}"


def details(trials: pd.DataFrame, compared: pd.DataFrame | None = None) -> str:
    """The answer by case, where it turns, what the smaller pool does, and the cheapest cells, as Markdown."""
    turns = where_it_turns(trials, compared)
    return f"{turns}\n\nCheapest:\n\n{cheapest(trials)}" if turns else "There is nothing to compare yet."


def where_it_turns(trials: pd.DataFrame, compared: pd.DataFrame | None = None) -> str:
    """The answer by case, where it turns, and what the smaller pool does, as Markdown; empty without a figure."""
    java = _choices(trials)
    if cell_data.with_cost(java).empty:
        return ""
    rows = _in_java(trials, compared)
    parts = [_by_case(rows)]
    against = rows[rows["direction"] == -1]
    if len(against):
        parts.append(f"Allocating was cheaper on {_where(against)}.")
    odd = rows[rows["remark"] != ""]
    if len(odd):
        parts.append(f"{_odd(odd)}.")
    parts.append(small_pool(trials))
    return "\n\n".join(part for part in parts if part)


def small_pool(trials: pd.DataFrame) -> str:
    """What a small pool that allocates where it is empty does in Java against either of the others; empty where it was
    not measured."""
    java, told = _choices(trials), []
    if cell_data.with_cost(java).empty:
        return ""
    for side, words in (("alloc", "allocating"), ("pool", "the full pool")):
        rows = comparison_table(java, side, "mix")
        rows = rows[rows["n"] > 0]
        if len(rows):
            dearer, cheaper, same = count(rows, -1), count(rows, 1), int(rows["equivalent"].sum())
            counts = {"dearer": dearer, "no different": same, "open": len(rows) - dearer - cheaper - same}
            others = "".join(f", {word} in {number}" for word, number in counts.items() if number)
            told.append(f"cheaper than {words} in {cheaper} of {len(rows)} comparisons{others}")
    small = "**A small pool that allocates where it is empty (mix)**, in batch with Java"
    return f"{small}: {'; '.join(told)}." if told else ""


def _odd(rows: pd.DataFrame) -> str:
    """Comparisons of which a side has two speeds or trials far off, with the ratio that these sway least; those that it
    sways most."""
    swayed = (rows["trimmed_ratio"] / rows["ratio"]).map(lambda ratio: abs(math.log(ratio)))
    told = [
        f"{row.solution} in case {row.case} ({row.remark}): {stats.significant(row.ratio)}, trimmed "
        f"{stats.significant(row.trimmed_ratio)}"
        for row in records(rows.loc[swayed.sort_values(ascending=False).index].head(_NAMED))
    ]
    return (
        f"In {len(rows)} of these comparisons a side has two speeds or trials far off; cost of alloc over pool where "
        f"that matters most: {'; '.join(told)}"
    )


def cheapest(trials: pd.DataFrame) -> str:
    """The cheapest cells by case, over all solutions but controls, as a list; whether each is shown to be."""
    cells = cell_data.cells(cell_data.one_case_a(cell_data.as_set(trials)))
    marks = highlights(cells).merge(cells, on=["case", "strategy", "solution"])
    lines = []
    for case, group in marks[marks["rank"] != SECOND_IN_JAVA].groupby("case"):
        texts = [
            f"{row.rank}: {row.solution} with {row.strategy}, {stats.significant(row.ns)} ns/packet"
            + (f" ({row.not_dearer} of {row.of - 1} others may be as cheap)" if row.not_dearer else "")
            for row in records(group)
        ]
        lines.append(f"- **Case {case}**, {'; '.join(texts)}.")
    return "\n".join(lines)


def elsewhere(profile: str, trials: pd.DataFrame, compared: pd.DataFrame) -> str:
    """What campaigns of other hosts say of the same pairs, each beside this one and never mixed with it: how many
    verdicts agree, and which contradict; with the settings in which their packets differ from these."""
    every = hosts.tables_of_hosts(STUDY.name, profile).get("trials", trials)
    labels = {host.host_id: host.label for host in hosts.of_hosts(STUDY.name, profile)}
    lines = []
    for host_id, theirs in every[~every["host_id"].isin(set(trials["host_id"]))].groupby("host_id"):
        both = of_both(compared, trials, theirs)
        settings = sorted({word for row in records(both) for word in set(row.departs) ^ set(row.departs_there)})
        different = f"other settings there: {listed(settings)}" if settings else ""
        lines.append(f"{by_host.on_another(labels[str(host_id)], theirs, different)}: {agreement(both)}")
    return "\n\n".join(lines) or by_host.ONE_HOST


_PLAIN = ("language", "layout", "collector", "runtime", "allocator")


def _in_plain(compared: pd.DataFrame, trials: pd.DataFrame) -> pd.DataFrame:
    """Measured comparisons by solution without its settings, and case; the first of several."""
    first = trials.drop_duplicates("solution").set_index("solution")
    departs = pd.Series([cell_data.departures_of(row) for row in records(first)], index=first.index, dtype=object)
    facts = first[list(_PLAIN)].astype(object).fillna("").assign(departs=departs)
    rows = compared[compared["n"] > 0].join(facts, on="solution")
    return rows.assign(decided=(rows["direction"] != 0) | rows["equivalent"]).drop_duplicates([*_PLAIN, "case"])


def of_both(compared: pd.DataFrame, trials: pd.DataFrame, theirs: pd.DataFrame) -> pd.DataFrame:
    """The comparisons of these trials and those of another campaign's, by solution without its settings, and case."""
    there = comparison_table(theirs[~theirs["collector"].isin(cell_data.CONTROLS)])
    plain = _in_plain(compared, trials), _in_plain(there, theirs)
    return plain[0].merge(plain[1], on=[*_PLAIN, "case"], suffixes=("", "_there"))


def agreement(both: pd.DataFrame) -> str:
    """On how many of the comparisons that two campaigns have they agree, and on which they do not."""
    decided = both[both["decided"] & both["decided_there"]]
    against = decided[decided["direction"] != decided["direction_there"]]
    contradict = f": {_where(against)}" if len(against) else ""
    here_only, there_only = (int(both[side].sum()) - len(decided) for side in ("decided", "decided_there"))
    return (
        f"of {stats.plural(len(both), 'comparison')} that both campaigns "
        f"have, {len(decided) - len(against)} are decided the same way, {len(against)} otherwise{contradict}; "
        f"{here_only} are decided here alone, {there_only} there alone, and "
        f"{len(both) - len(decided) - here_only - there_only} on neither."
    )


def case_a_table(trials: pd.DataFrame) -> pd.DataFrame:
    """Case A as the published code has it beside the same as the article's text has it, where both were measured."""
    cells = cell_data.cells(cell_data.as_set(trials))
    keys = ["solution", "strategy"]
    code, text = (cells[(cells["case"] == case) & cells["ns"].notna()] for case in ("A", "A10k"))
    both = code.merge(text, on=keys, suffixes=("", "_text"))
    rows = [
        {
            "solution": row.solution, "strategy": row.strategy, "A, ns": stats.significant(row.ns),
            "A10k, ns": stats.significant(row.ns_text), "A10k over A": stats.significant(row.ns_text / row.ns),
            "published, ns": None if pd.isna(row.published_ns) else stats.significant(row.published_ns),
        }
        for row in records(both)
    ]  # fmt: skip
    columns = [*keys, "A, ns", "A10k, ns", "A10k over A", "published, ns"]
    return pd.DataFrame(rows, columns=columns)


def settings_table(trials: pd.DataFrame) -> pd.DataFrame:
    """What a cell costs without a setting of ours, or with the pause target of G1, over what it costs as it is."""
    rows = options_table(trials, *SETTINGS)
    return options_grid(rows, "with", "without").assign(setting=rows["option"])


def flags_table(profile: BatchProfile) -> pd.DataFrame:
    """The flags of the profile's JVMs from the code that makes them: flag, whose it is, why, and who is given it."""
    given: dict[str, list[str]] = {}
    asked = [key for part in (profile, *profile.beside.values()) for key in part.solutions]
    solutions = [solution for solution in map(Solution.parse, dict.fromkeys(asked)) if solution.language == "java"]
    for solution in solutions:
        settings = solution.model_dump(exclude_none=True)
        spec = BatchSpec(**settings, strategy="pool", case="B", scale=profile.scale, packets=1)
        jvm = spec.needs().jvm
        flags = flags_of(jvm) if jvm else ()
        for flag in dict.fromkeys("-Xlog:..." if flag.startswith("-Xlog:") else flag for flag in flags):
            given.setdefault(flag, []).append(solution.label)
    everyone = [solution.label for solution in solutions]
    rows = [
        {
            "flag": flag, "whose": reason_of(flag).whose, "why": reason_of(flag).why,
            "given to": _whom(labels, everyone),
        }
        for flag, labels in given.items()
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=["flag", "whose", "why", "given to"]).sort_values("whose", kind="stable")


def _whom(labels: list[str], everyone: list[str]) -> str:
    """Some of all, or all but the others, whichever is the shorter list."""
    others = [label for label in everyone if label not in labels]
    if not others:
        return "all"
    return f"all but {'; '.join(others)}" if len(others) < len(labels) else "; ".join(labels)


def which_cms(trials: pd.DataFrame) -> str:
    """How far Parallel and CMS of 11 lie from the published "CMS" in shape: as set now, and with the pause target of
    G1, which an earlier version of this package gave to both."""
    everything = cell_data.with_cost(trials[trials["collector"].isin(["parallel", "cms"])])
    if everything.empty:
        return "Neither Parallel nor CMS has been measured."
    batch = Batch(everything, PUBLISHED)
    told = {"with the article's flags": "", "with the pause target of G1 as well": "/pause_target"}
    parts = []
    for words, option in told.items():
        for _, found in distances(batch, option):
            shown = {name: stats.geometric_interval(distance).text(2) for name, distance in found.items()}
            parts.append(f"{words}, Parallel lies {shown['parallel']} and CMS {shown['cms']} from it")
    told_in_full = "; ".join(parts)
    return (
        f'Distance in shape from the published "CMS" rows (log-ratio): {told_in_full}.'
        if parts
        else 'Neither was measured in every cell that the published "CMS" rows have.'
    )


def windows(trials: pd.DataFrame) -> pd.DataFrame:
    """Return how many trials ended their warm-up how, and what their windows hold, by configuration and strategy."""
    done = cell_data.with_cost(trials)
    return (
        done.fillna({"window": "no collector", "warm_up": "by time"})
        .groupby(["solution", "strategy", "window", "warm_up"], observed=True)
        .size()
        .rename("trials")
        .reset_index()
    )


def design(profile: BatchProfile) -> str:
    """What the campaign consists of, from its profile: configurations, blocks, sizes, durations."""
    cells = len(profile.solutions) * len(profile.strategies) * len(profile.cases)
    sizes = listed([f"{round(CASES[case] * profile.scale):,} (case {case})" for case in profile.cases])
    return (
        f"{stats.plural(len(profile.solutions), 'solution')} with {listed(profile.strategies)} in "
        f"{stats.plural(len(profile.cases), 'case')} make "
        f"{cells} configurations; each runs once in each of {stats.plural(profile.blocks, 'block')}, in random "
        f"order inside a block: {cells * profile.blocks} trials, each a fresh process that warms up for "
        f"{profile.warmup_seconds:g} s and "
        f"measures for {profile.seconds:g} s. Sizes are {share_of_sizes(profile.scale)}: queue and store each hold "
        f"{sizes} packets, the pool {round(POOL_SIZE * profile.scale):,}, the mixed pool "
        f"{round(MIX_POOL_SIZE * profile.scale):,}; a heap for heap buffers has "
        f"{round(HEAP_MB['heap'] * profile.scale):,} MB."
    )


def take_home(profile: str) -> str:
    """The answer on what a campaign of this profile left, and its details; runs nothing."""
    everything = store.stored(STUDY.name, profile)[0]["trials"]
    rungs = by_size.rungs(everything)
    if len(rungs):
        return " ".join(each.text for each in by_size.headlines(rungs, rungs))
    trials, compared = cell_data.one_case_a(everything), primary(everything)
    return f"{verdict(trials, compared)}\n\n{details(trials, compared)}"
