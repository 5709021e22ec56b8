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
from allocpool.decisions import ALPHA
from allocpool.evidence.trials import finished, records, spelled_out
from allocpool.packets.published import ARTICLE, with_published
from allocpool.packets.tables import BEST_JAVA, BEST_OVERALL, GAP, configuration_grid, key_of
from allocpool.stats import significant
from allocpool.studies.realtime import cells as cell_data
from allocpool.studies.realtime import map_story
from allocpool.studies.realtime.adaptive import over, p_smaller
from allocpool.studies.realtime.cells import LOSES, PDR, realtime_cells
from allocpool.studies.realtime.specs import COMPARISON_INTERVAL_NS

_SMALL = "font-size:0.78em;color:#555"
_LOSS = "#f7dcd9"


def _published(row: pd.Series) -> str:
    words = {
        "published_interval_ns": "{} ns", "published_lost_percent": "lost {}%",
        "published_lost_percent_large_heap": "10 GB: {}%",
    }  # fmt: skip
    parts = [text.format(significant(row[name])) for name, text in words.items() if pd.notna(row[name])]
    return f"pub. {', '.join(parts)}" if parts else ""


def _measured(row: pd.Series) -> tuple[str, list[str]]:
    """Return the figure of a cell and the notes below it."""
    if row["answer"] == LOSES:
        if pd.isna(row["lost_percent"]):
            return "loses", []
        notes = [f"at {significant(row['compared_ns'])} ns"]
        if pd.notna(low := row["lost_low_percent"]):
            notes.append(f"{significant(low)}\u2013{significant(row['lost_high_percent'])}%")
        return f"lost {significant(row['lost_percent'])}%", notes
    goal = str(row["answer"])
    low, high = row[f"{goal}_low_ns"], row[f"{goal}_high_ns"]
    notes = ["too few trials" if pd.isna(low) else f"{cell_data.bound(low)}\u2013{cell_data.bound(high)}"]
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


def summary_table(cells: pd.DataFrame, title: str, subtitle: str) -> GT:
    """Return the article's real-time summary of `realtime_cells`: minimum sustainable inter-arrival time in ns, or what
    is lost where no interval passes."""
    coloured = [(GAP, cells[cells["gap"].notna()]), (_LOSS, cells[cells["answer"] == LOSES])]
    done = cells[cells["ndr_ns"].notna()]
    for colour, rows in ((BEST_JAVA, done[done["language"] == "java"]), (BEST_OVERALL, done)):
        coloured.append((colour, rows.sort_values("ndr_ns", kind="stable").drop_duplicates("case")))
    table = configuration_grid(
        cells,
        {key_of(row): _cell_html(row) for _, row in cells.iterrows()},
        {key_of(row): colour for colour, rows in coloured for _, row in rows.iterrows()}.items(),
        (title, subtitle),
        "minimum sustainable inter-arrival time, ns",
    ).tab_options(table_font_size="13px", data_row_padding="4px")
    return table.tab_source_note(
        "The interval at which every other trial loses, with 95% whenever one looks; few lost: at most 200 of a "
        "million. Where none passes: loss at another interval, geometric mean over trials with 95% (Student). Green: "
        f"smallest overall, amber: of Java; red: loses at any rate tried. pub.: {ARTICLE}, another machine, Java 8 "
        "(ZGC: 11)."
    )


def summary(profile: str) -> str:
    """Return the verdict on what a campaign of this profile left; run nothing."""
    tables, provenance = store.stored("realtime", profile)
    if provenance is None:
        return "**Inconclusive.** Real time was not measured under this profile."
    return conclusion(tables, realtime_cells(tables))


def conclusion(tables: Mapping[str, pd.DataFrame], cells: pd.DataFrame) -> str:
    """Return the verdict of the cells and of the decision map, as far as there are any; what is decided first. Of a
    map from elsewhere its caption has the verdict."""
    has_map = len(tables["map"]) > 0 and not map_story.of_largest_heap(tables)[1]
    found = [verdict(cells)] if (cells["n"] > 0).any() or not has_map else []
    found += [map_story.verdict(tables)] if has_map else []
    return "\n\n".join(sorted(found, key=lambda words: words.startswith("**Inconclusive.**")))


_DECIDED = POOLING, ALLOCATING, NEITHER, UNSHOWN = "pooling", "allocating", "neither passes", "inconclusive"


def pool_or_allocate(cells: pd.DataFrame) -> pd.DataFrame:
    """Return, per Java configuration and case with figures of both, which keeps up with a smaller interval; all decided
    together, so that of what is decided one in twenty is false in expectation (Benjamini and Hochberg, JRSS B 57,
    1995).

    Columns: configuration, case, alloc and pool (minimum sustainable inter-arrival times in words), ratio (alloc over
    pool; NaN where one of them has none), low and high (between which it lies, 95%), n (trials of the smaller side),
    decided (`POOLING`, `ALLOCATING`, `NEITHER` or `UNSHOWN`).
    """
    java = cells[(cells["language"] == "java") & (cells["n"] > 0)]
    of = {(row.configuration, row.case, row.strategy): row for row in records(java)}
    pairs = [(row, of[(*key[:2], "alloc")]) for key, row in of.items()
             if key[2] == "pool" and (*key[:2], "alloc") in of]  # fmt: skip
    chances = [p_smaller(one.every_pdr, other.every_pdr) for pair in pairs for one, other in (pair, reversed(pair))]
    adjusted = iter(scipy_stats.false_discovery_control(chances) if chances else [])
    rows = []
    for (pool, alloc), for_pool, for_alloc in zip(pairs, adjusted, adjusted, strict=True):
        none = pool.answer == alloc.answer == LOSES
        decided = POOLING if for_pool <= ALPHA else ALLOCATING if for_alloc <= ALPHA else NEITHER if none else UNSHOWN
        ratio = over([(alloc.every_pdr, pool.every_pdr)]).decision
        rows.append([
            pool.configuration, pool.case, _interval(alloc), _interval(pool),
            float(f"{alloc.pdr_ns / pool.pdr_ns:.3g}"), ratio.low, ratio.high, min(pool.n, alloc.n), decided,
        ])  # fmt: skip
    columns = ["configuration", "case", "alloc", "pool", "ratio", "low", "high", "n", "decided"]
    return pd.DataFrame(rows, columns=columns)


def _interval(row: Any) -> str:
    if row.answer == LOSES:
        return "none passes"
    return cell_data.with_ends(row.pdr_ns, row.pdr_low_ns, row.pdr_high_ns, " ns")


def verdict(cells: pd.DataFrame) -> str:
    """Return pool or allocate, over the Java cells that have both."""
    both = pool_or_allocate(cells)
    if both.empty:
        return "**Inconclusive.** No Java configuration was measured both ways."
    pool, alloc, neither, unshown = (int((both["decided"] == word).sum()) for word in _DECIDED)
    if not pool + alloc:
        return f"**Inconclusive.** {stats.plural(len(both), 'Java configuration and case')}, none is decided."
    return (
        f"**In real time: {map_story.word(pool, alloc)}.** Of {len(both)} Java configurations and cases, pooling keeps "
        f"up with a smaller interval in {pool}, allocating in {alloc}; none passes either way in {neither}; {unshown} "
        "inconclusive."
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
    is_here = (done["host_id"] == host_id).any()
    one = done[done["host_id"] == (host_id if is_here else done["host_id"].mode().iloc[0])]
    one = with_published(one, cell_data.published_realtime())
    one["configuration"] = one["configuration"].map(spelled_out)
    cells = one.groupby(["case", "configuration", "strategy"], observed=True)
    both = pd.Series({key: _lost(rows) for key, rows in cells}).unstack().reindex(columns=list(_SIDES)).dropna()
    if both.empty:
        return ""
    other = "" if is_here else f" Measured on another machine, {hosts.label(str(one['host_id'].iloc[0]), 'article')}."
    sizes = cells.size()
    rows = [[*key, *lost] for key, lost in zip(both.index, both.to_numpy(), strict=True)]
    head = ["case", "configuration", *_SIDES.values()]
    table = "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows))
    return (
        f"**Real time at the published sizes, a packet each {COMPARISON_INTERVAL_NS:,.0f} ns: share lost** (medians, "
        f"least to greatest; {stats.trials_each(int(sizes.min()), int(sizes.max()))}; published figures are of "
        f"collectors up to Java 11).{other}\n\n{table}"
    )


def _at_published_sizes(profile: str) -> pd.DataFrame:
    every = hosts.tables_of_hosts("realtime", profile).get("trials")
    if every is None:
        return pd.DataFrame()
    as_there = (every["scale"] == 1) & cell_data.usual_heap(every) & (every["queue_factor"] == 1)
    about = every["interval_ns"].between(0.999 * COMPARISON_INTERVAL_NS, 1.001 * COMPARISON_INTERVAL_NS)
    done = finished(every[as_there & about & every["strategy"].isin(list(_SIDES))])
    return done[done["intermediate_queue_ms"] == 0]


def _lost(trials: pd.DataFrame) -> str:
    """Return ``75% (72 to 78; published: 76%)``: the median, the least and the greatest trial where these differ, and
    what was published."""
    row, percent = trials.iloc[0], trials["lost_ppm"].astype(float) / 1e4
    published, kept_up_ns = row["published_lost_percent"], row["published_interval_ns"]
    if pd.notna(kept_up_ns):
        published = 0.0 if kept_up_ns <= COMPARISON_INTERVAL_NS else math.nan
    least, middle, most = (significant(float(end), 2) for end in percent.quantile([0, 0.5, 1]))
    notes = [f"{least} to {most}"] if least != most else []
    notes += [] if pd.isna(published) else [f"published: {published:g}%"]
    return f"{middle}% ({'; '.join(notes)})" if notes else f"{middle}%"
