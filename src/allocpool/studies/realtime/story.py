"""The real-time study for a reader: the summary in the article's form, who keeps up with more, published losses."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping
from typing import Any

import pandas as pd
from great_tables import GT
from scipy import stats as scipy_stats

from allocpool import stats
from allocpool.campaign import hosts, store
from allocpool.decisions import ALPHA, FEWEST
from allocpool.evidence.trials import finished, records, spelled_out
from allocpool.packets.published import ARTICLE, with_published
from allocpool.packets.tables import BEST_JAVA, BEST_OVERALL, GAP, Key, configuration_grid, key_of
from allocpool.stats import significant
from allocpool.studies.realtime import map_story
from allocpool.studies.realtime.adaptive import p_smaller, times_apart
from allocpool.studies.realtime.cells import (
    LOSES,
    PDR,
    bound,
    published_realtime,
    realtime_cells,
    usual_heap,
)
from allocpool.studies.realtime.specs import COMPARISON_INTERVAL_NS
from allocpool.studies.realtime.study import STUDY

_SMALL = "font-size:0.78em;color:#555"
_LOSS = "#f7dcd9"


def _published(row: pd.Series) -> str:
    interval_ns, lost = row["published_interval_ns"], row["published_lost_percent"]
    parts = [] if pd.isna(interval_ns) else [f"{significant(interval_ns)} ns"]
    parts += [] if pd.isna(lost) else [f"lost {significant(lost)}%"]
    larger = row["published_lost_percent_large_heap"]
    parts += [] if pd.isna(larger) else [f"10 GB: {significant(larger)}%"]
    return f"pub. {', '.join(parts)}" if parts else ""


def _measured(row: pd.Series) -> tuple[str, list[str]]:
    """The figure of a cell and the notes below it."""
    if row["answer"] == LOSES:
        if pd.isna(row["lost_percent"]):
            return "loses", []
        notes = [f"at {significant(row['compared_ns'])} ns"]
        if pd.notna(low := row["lost_low_percent"]):
            notes.append(f"{significant(low)}\u2013{significant(row['lost_high_percent'])}%")
        return f"lost {significant(row['lost_percent'])}%", notes
    goal = str(row["answer"])
    low, high = row[f"{goal}_low_ns"], row[f"{goal}_high_ns"]
    notes = ["too few trials" if pd.isna(low) else f"{bound(low)}\u2013{bound(high)}"]
    if goal == PDR:
        notes.append("few lost")
    elif row["pdr_ns"] < row["ndr_ns"]:
        notes.append(f"few lost at {significant(row['pdr_ns'])}")
    return significant(row[f"{goal}_ns"]), notes


def _cell_html(row: pd.Series) -> str:
    if pd.notna(row["gap"]):
        head, notes = f"<em>{html.escape(str(row['gap']))}</em>", list[str]()
    else:
        figure, notes = _measured(row)
        head, notes = f"<strong>{figure}</strong>", [*notes, f"n = {row['n']} trials"]
    small = "<br>".join(filter(None, [*notes, _published(row)]))
    return f'{head}<br><span style="{_SMALL}">{small}</span>'


def best_of(cells: pd.DataFrame) -> dict[Key, str]:
    """The cells with the minimum sustainable inter-arrival time of each case, over all and in Java, with their
    colours."""
    best: dict[Key, str] = {}
    done = cells[cells["ndr_ns"].notna()]
    for colour, rows in ((BEST_JAVA, done[done["language"] == "java"]), (BEST_OVERALL, done)):
        for _, group in rows.groupby("case"):
            best[key_of(group.nsmallest(1, "ndr_ns").iloc[0])] = colour
    return best


def summary_table(cells: pd.DataFrame, title: str, subtitle: str) -> GT:
    """The article's real-time summary: minimum sustainable inter-arrival time in ns, or what is lost where no interval
    passes.

    ``cells`` comes from `realtime_cells`.
    """
    colours = {
        key_of(row): GAP if pd.notna(row["gap"]) else _LOSS
        for _, row in cells.iterrows()
        if pd.notna(row["gap"]) or row["answer"] == LOSES
    }
    table = configuration_grid(
        cells,
        {key_of(row): _cell_html(row) for _, row in cells.iterrows()},
        (colours | best_of(cells)).items(),
        (title, subtitle),
        "minimum sustainable inter-arrival time, ns",
    ).tab_options(table_font_size="13px", data_row_padding="4px")
    return table.tab_source_note(
        "The interval at which every other trial loses, with 95% whenever one looks; few lost: at most 200 of a "
        "million. Where none passes: loss at another interval, geometric mean over trials with 95% (Student). Green: "
        f"smallest overall, amber: of Java; red: loses at any rate tried. pub.: {ARTICLE}, another machine, Java 8 "
        "(ZGC: 11)."
    )


def take_home(profile: str) -> str:
    """The verdict on what a campaign of this profile left; runs nothing."""
    tables, provenance = store.stored(STUDY.name, profile)
    if provenance is None:
        return "**Inconclusive.** Real time was not measured under this profile."
    return conclusion(tables, realtime_cells(tables))


def conclusion(tables: Mapping[str, pd.DataFrame], cells: pd.DataFrame) -> str:
    """The verdict of the cells and of the decision map, as far as a profile has them; what is decided first."""
    found = [verdict(cells)] if (cells["n"] > 0).any() or tables["map"].empty else []
    found += [map_story.verdict(tables)] if len(tables["map"]) else []
    return "\n\n".join(sorted(found, key=lambda words: words.startswith("**Inconclusive.**")))


_DECIDED = POOLING, ALLOCATING, NEITHER, UNSHOWN = "pooling", "allocating", "neither passes", "inconclusive"


def pool_or_allocate(cells: pd.DataFrame) -> pd.DataFrame:
    """Per Java configuration and case with figures of both: which keeps up with a smaller interval; all decided
    together, so that of what is decided one in twenty is false in expectation (Benjamini and Hochberg, JRSS B 57,
    1995).

    Columns: configuration, case, alloc and pool (minimum sustainable inter-arrival times in words), ratio (alloc over
    pool, to three digits; NaN where one of them has none), low and high (between which it lies by adaptive trials; NaN
    by searches), n (searches or adaptive trials of the smaller side), enough (of these for a verdict), decided
    (`POOLING`, `ALLOCATING`, `NEITHER` or `UNSHOWN`).
    """
    java = cells[(cells["language"] == "java") & (cells["n"] > 0)]
    pairs = [
        (pool, alloc)
        for pool in records(java[java["strategy"] == "pool"])
        for alloc in records(java[java["strategy"] == "alloc"])
        if (pool.configuration, pool.case) == (alloc.configuration, alloc.case)
    ]
    chances = [
        p_smaller(one.every_pdr, other.every_pdr) if pool.repeated and alloc.repeated else 1.0
        for pool, alloc in pairs
        for one, other in ((pool, alloc), (alloc, pool))
    ]
    adjusted = scipy_stats.false_discovery_control(chances) if chances else []
    rows = []
    for k, (pool, alloc) in enumerate(pairs):
        none = pool.answer == alloc.answer == LOSES
        for_pool, for_alloc = adjusted[2 * k], adjusted[2 * k + 1]
        decided = POOLING if for_pool <= ALPHA else ALLOCATING if for_alloc <= ALPHA else NEITHER if none else UNSHOWN
        rows.append({
            "configuration": pool.configuration, "case": pool.case, "alloc": _interval(alloc), "pool": _interval(pool),
            "ratio": float(f"{alloc.pdr_ns / pool.pdr_ns:.3g}"),
            **dict(zip(("low", "high"), times_apart(alloc.every_pdr, pool.every_pdr), strict=True)),
            "n": min(pool.n, alloc.n),
            "enough": bool(pool.repeated and alloc.repeated), "decided": decided,
        })  # fmt: skip
    columns = ["configuration", "case", "alloc", "pool", "ratio", "low", "high", "n", "enough", "decided"]
    return pd.DataFrame(rows, columns=columns)


def _interval(row: Any) -> str:
    if row.answer == LOSES:
        return "none passes" if not row.n_passes else f"passes in {row.n_passes} of {row.n}"
    spread = "" if pd.isna(row.pdr_low_ns) else f" ({bound(row.pdr_low_ns)} to {bound(row.pdr_high_ns)})"
    return f"{significant(row.pdr_ns)} ns{spread}"


def verdict(cells: pd.DataFrame) -> str:
    """Pool or allocate, over the Java cells that have both."""
    both = pool_or_allocate(cells)
    if both.empty:
        return "**Inconclusive.** No Java configuration was measured both ways."
    pool, alloc, neither, unshown = (int((both["decided"] == word).sum()) for word in _DECIDED)
    if not pool + alloc:
        few = f"A verdict takes {FEWEST} trials that tell."
        why = "The trials so far do not decide." if both["enough"].any() else few
        return f"**Inconclusive.** {stats.plural(len(both), 'Java configuration and case')}, none is decided. {why}"
    word = "pool" if pool and not alloc else "allocate" if alloc and not pool else "it depends"
    return (
        f"**In real time: {word}.** Of {len(both)} Java configurations and cases, pooling keeps up with a smaller "
        f"interval in {pool}, allocating in {alloc}; none passes either way in {neither}; {unshown} inconclusive."
    )


_SIDES = {"alloc": "allocating", "pool": "with a pool"}


def lost_at_published_sizes(profile: str, host_id: str | None) -> str:
    """Return, as Markdown, what single trials of the article's sizes, heap, queue and interval lost: allocating and
    with a pool, with the published losses. Of this profile where it has such trials, else of profile ``article``; of
    this host where there are such, else of the other one that has most; empty where there are none."""
    tried = (_at_published_sizes(name) for name in dict.fromkeys((profile, "article")))
    done = next((rows for rows in tried if len(rows)), None)
    if done is None:
        return ""
    here = done[done["host_id"] == host_id]
    one = here if len(here) else done[done["host_id"] == done["host_id"].mode().iloc[0]]
    one = with_published(one, published_realtime())
    cells = one.assign(configuration=one["configuration"].map(spelled_out)).groupby(
        ["case", "configuration", "strategy"], observed=True
    )
    found = pd.DataFrame({"lost": {key: _lost(rows) for key, rows in cells}, "n": cells.size()})
    both = pd.DataFrame(found.unstack()).reindex(columns=pd.MultiIndex.from_product([["lost", "n"], _SIDES])).dropna()
    if both.empty:
        return ""
    other = "" if len(here) else hosts.label(str(one["host_id"].iloc[0]), "article")
    elsewhere = f" It was measured on another machine, {other}." if other else ""
    lead = (
        f"**Real time at the published sizes, a packet each {COMPARISON_INTERVAL_NS:,.0f} ns: share lost** (medians, "
        f"least to greatest; {stats.trials_each(int(both['n'].min(axis=None)), int(both['n'].max(axis=None)))}; "
        f"published figures are of collectors up to Java 11).{elsewhere}"
    )
    rows = [f"| {' | '.join([*key, *lost])} |" for key, lost in zip(both.index, both["lost"].to_numpy(), strict=True)]
    return "\n".join(
        [lead, "", f"| case | configuration | {' | '.join(_SIDES.values())} |", "|---|---|---|---|", *rows]
    )


def _at_published_sizes(profile: str) -> pd.DataFrame:
    every = hosts.tables_of_hosts(STUDY.name, profile).get("trials")
    if every is None:
        return pd.DataFrame()
    as_there = (every["scale"] == 1) & usual_heap(every) & (every["queue_factor"] == 1)
    done = finished(every[as_there & every["interval_ns"].between(*_ABOUT) & every["strategy"].isin(list(_SIDES))])
    return done[done["intermediate_queue_ms"] == 0]


_ABOUT = (0.999 * COMPARISON_INTERVAL_NS, 1.001 * COMPARISON_INTERVAL_NS)


def _lost(trials: pd.DataFrame) -> str:
    """``75% (72 to 78; published: 76%)``: the median, the least and the greatest trial where these differ, and what was
    published."""
    row, percent = trials.iloc[0], trials["lost_ppm"].astype(float) / 1e4
    published, kept_up_ns = row["published_lost_percent"], row["published_interval_ns"]
    if pd.notna(kept_up_ns):
        published = 0.0 if kept_up_ns <= COMPARISON_INTERVAL_NS else math.nan
    least, most = (significant(float(end), 2) for end in (percent.min(), percent.max()))
    beside = [f"{least} to {most}"] if least != most else []
    beside += [] if pd.isna(published) else [f"published: {published:g}%"]
    found = f" ({'; '.join(beside)})" if beside else ""
    return f"{significant(float(percent.median()), 2)}%{found}"
