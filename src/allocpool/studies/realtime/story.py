"""The real-time study for a reader: the summary in the article's form, what a search cost, and computed sentences."""

from __future__ import annotations

import html
from typing import Any

import pandas as pd
from great_tables import GT

from allocpool import stats
from allocpool.campaign import campaign
from allocpool.evidence.trials import finished, records
from allocpool.packets.cells import solution_order
from allocpool.packets.published import ARTICLE
from allocpool.packets.specs import CASES
from allocpool.packets.tables import BEST_JAVA, BEST_OVERALL, GAP, Key, key_of, solution_grid
from allocpool.studies.realtime.cells import LOSES, NDR, PDR, realtime_cells
from allocpool.studies.realtime.study import STUDY, RealtimeProfile, estimate_seconds

_SMALL = "font-size:0.78em;color:#555"
_LOSS = "#f7dcd9"


def _number(value: float, digits: int = 3) -> str:
    return stats.significant(float(value), digits)


def _published(row: pd.Series) -> str:
    interval_ns, lost = row["published_interval_ns"], row["published_lost_percent"]
    parts = [] if pd.isna(interval_ns) else [f"{_number(interval_ns)} ns"]
    parts += [] if pd.isna(lost) else [f"lost {_number(lost)}%"]
    larger = row["published_lost_percent_large_heap"]
    parts += [] if pd.isna(larger) else [f"10 GB: {_number(larger)}%"]
    return f"pub. {', '.join(parts)}" if parts else ""


def _loss_interval(row: pd.Series, prefix: str) -> str:
    return f"{_number(row[f'{prefix}lost_low_percent'])}\u2013{_number(row[f'{prefix}lost_high_percent'])}%"


def _measured(row: pd.Series) -> tuple[str, list[str]]:
    """The figure of a cell and the notes below it."""
    if row["answer"] == LOSES:
        notes = [f"at {_number(row['compared_ns'])} ns", _loss_interval(row, "")]
        if pd.notna(row["larger_heap_lost_percent"]):
            notes.append(
                f"heap \u00d7 {_number(row['larger_heap_factor'])}: lost {_number(row['larger_heap_lost_percent'])}%"
            )
            notes.append(_loss_interval(row, "larger_heap_"))
        if pd.notna(row["larger_heap_gap"]):
            notes.append(f"larger heap: {html.escape(str(row['larger_heap_gap']))}")
        return f"lost {_number(row['lost_percent'])}%", notes
    goal = str(row["answer"])
    passes, fails = row[f"{goal}_ns"], row[f"{goal}_fails_ns"]
    notes = ["no smaller one was shown to fail" if pd.isna(fails) else f"fails at {_number(fails)}"]
    if goal == PDR:
        notes.append("few lost")
    elif row["pdr_ns"] < row["ndr_ns"]:
        notes.append(f"few lost at {_number(row['pdr_ns'])}")
    return _number(passes), notes


def _cell_html(row: pd.Series) -> str:
    published = _published(row)
    notes: list[str] = []
    if pd.notna(row["gap"]):
        head = f"<em>{html.escape(str(row['gap']))}</em>"
    else:
        figure, notes = _measured(row)
        head, notes = f"<strong>{figure}</strong>", [*notes, f"n = {row['n']}"]
    small = "<br>".join([*notes, *([published] if published else [])])
    return f'{head}<br><span style="{_SMALL}">{small}</span>'


def best_of(cells: pd.DataFrame) -> dict[Key, str]:
    """The cells with the smallest interval of each case, over all and in Java, with their colours."""
    best: dict[Key, str] = {}
    done = cells[cells["ndr_ns"].notna()]
    for colour, rows in ((BEST_JAVA, done[done["language"] == "java"]), (BEST_OVERALL, done)):
        for _, group in rows.groupby("case"):
            best[key_of(group.nsmallest(1, "ndr_ns").iloc[0])] = colour
    return best


def summary_table(cells: pd.DataFrame, title: str, subtitle: str) -> GT:
    """The article's real-time summary: smallest interval in ns, or what is lost where no interval passes.

    ``cells`` comes from `realtime_cells`.
    """
    colours = {
        key_of(row): GAP if pd.notna(row["gap"]) else _LOSS
        for _, row in cells.iterrows()
        if pd.notna(row["gap"]) or row["answer"] == LOSES
    }
    table = solution_grid(
        cells,
        {key_of(row): _cell_html(row) for _, row in cells.iterrows()},
        (colours | best_of(cells)).items(),
        (title, subtitle),
        "smallest interval, ns",
    ).tab_options(table_font_size="13px", data_row_padding="4px")
    return table.tab_source_note(
        "An interval passes when trials of full length lose nothing; few lost: at most 200 of a million. Where none "
        "passes: loss at another interval with the exact binomial interval of one trial. Green: best overall; amber: "
        f"best Java; red: loses at any rate tried. pub.: {ARTICLE}, on another machine and Java 8 (ZGC: 11)."
    )


def cost_table(searches: pd.DataFrame) -> pd.DataFrame:
    """Per solution: searches, measurements and seconds per search, and what a fixed grid would take. Medians."""
    done = finished(searches)
    rows = []
    for solution in solution_order(done) if len(done) else []:
        group = done[done["solution"] == solution]
        columns = ("probes", "full_trials", "search_seconds", "grid_trials", "grid_seconds")
        median = {name: _number(group[name].astype(float).median()) for name in columns}
        rows.append({
            "solution": solution, "searches": len(group), "measurements": median["probes"],
            "of full length": median["full_trials"], "s": median["search_seconds"],
            "grid points": median["grid_trials"], "grid s": median["grid_seconds"],
        })  # fmt: skip
    return pd.DataFrame(rows, columns=[
        "solution", "searches", "measurements", "of full length", "s", "grid points", "grid s",
    ])  # fmt: skip


def cost_sentence(searches: pd.DataFrame) -> str:
    """What the searches cost, beside a fixed grid of the same resolution."""
    done = finished(searches)
    if done.empty:
        return "No search has finished yet."
    spent, grid = done["search_seconds"].astype(float).sum(), done["grid_seconds"].astype(float).sum()
    capped, full = int(done["caps_reached"].sum()), int(done["full_trials"].sum())
    return (
        f"{len(done)} searches took {_number(spent)} s; a fixed grid of the same resolution would take {_number(grid)} "
        f"s, {_number(grid / spent, 2)} times as long. Of {full} trials of full length, {capped} reached their longest "
        "length before the wanted number of major collections."
    )


def design(profile: RealtimeProfile) -> str:
    """What the campaign consists of, from its profile."""
    cells = len(profile.solutions) * len(profile.strategies) * len(profile.cases)
    sizes = ", ".join(f"{round(CASES[case] * profile.scale):,} in case {case}" for case in profile.cases)
    return (
        f"{len(profile.solutions)} solutions with {', '.join(profile.strategies)} in {len(profile.cases)} case(s) make "
        f"{cells} cells, each searched {profile.blocks} times from {profile.low_ns:g} to {profile.high_ns:g} ns, to "
        f"a resolution of {profile.resolution:.0%}. A probe lasts {profile.probe_seconds:g} s, a trial of full length "
        f"{profile.full_seconds:g} to {profile.cap_seconds:g} s (until {profile.major_collections} major collections). "
        f"Queue and store hold {sizes} packets; the input queue {profile.input_queue_ms:g} ms of ticks. "
        f"Planned for about {estimate_seconds(profile) / 60:.0f} minutes."
    )


def verdict(cells: pd.DataFrame) -> str:
    """Who keeps up where, in sentences."""
    measured = cells[cells["n"] > 0]
    if measured.empty:
        return "**Undecided.** No search has finished on this machine yet."
    lines = []
    for case, group in measured.groupby("case"):
        passing = group[group["answer"] != LOSES]
        java = passing[(passing["language"] == "java")]
        text = f"**Case {case}**: {len(passing)} of {len(group)} cells keep up at some rate tried"
        if passing["ndr_ns"].notna().any():
            best = passing.nsmallest(1, "ndr_ns").iloc[0]
            text += f"; fastest {best['solution']} with {best['strategy']}, {_number(best['ndr_ns'])} ns"
        if java["ndr_ns"].notna().any():
            first = java.nsmallest(1, "ndr_ns").iloc[0]
            text += f"; best Java {first['solution']} with {first['strategy']}, {_number(first['ndr_ns'])} ns"
        lines.append(f"- {text}.")
    return f"{_headline(measured)}\n\n" + "\n".join(lines)


def take_home(profile: str) -> str:
    """The verdict on the searches that a campaign of this profile left; runs nothing."""
    tables, provenance = campaign.stored(STUDY.name, profile)
    if provenance is None:
        return "**Undecided.** Real time was not measured under this profile."
    return verdict(realtime_cells(tables["searches"]))


def _headline(measured: pd.DataFrame) -> str:
    """Pool or allocate, by brackets that do not overlap, over the Java cells that have both."""
    keys = ["solution", "case"]
    java = measured[measured["language"] == "java"]
    both = java[java["strategy"] == "alloc"].merge(java[java["strategy"] == "pool"], on=keys, suffixes=("_a", "_p"))
    if both.empty:
        return "**Undecided.** No Java solution was searched both ways."
    pool = sum(_below(row, "p", "a") for row in records(both))
    alloc = sum(_below(row, "a", "p") for row in records(both))
    word = "Pool" if pool > 2 * alloc else "Allocate" if alloc > 2 * pool else "It depends"
    return (
        f"**In real time: {word.lower()}.** Of {len(both)} Java solutions and cases, pooling keeps up with a smaller "
        f"interval than allocating in {pool}, allocating in {alloc}; brackets overlap in {len(both) - pool - alloc}."
    )


def _below(row: Any, side: str, other: str) -> bool:
    """Whether the bracket on one side lies below that on the other."""
    passes, fails = getattr(row, f"ndr_ns_{side}"), getattr(row, f"ndr_fails_ns_{other}")
    if pd.isna(passes) or pd.isna(fails):
        return False
    return bool(passes <= fails)


def platform(trials: pd.DataFrame, bursts: pd.DataFrame) -> str:
    """What the machine itself did: slips of the source, and what lay beside the bursts."""
    done = finished(trials)
    if done.empty:
        return "No single trial has finished yet."
    share = float(done["slip_total_ms"].sum() / (done["seconds"].sum() * 1e3))
    text = (
        f"The source itself did not run for {_number(100 * share, 2)}% of the time, at most "
        f"{_number(done['slip_max_ms'].max(), 2)} ms at once."
    )
    counts = bursts["beside"].value_counts()
    if not len(bursts):
        return f"{text} No packet was lost."
    words = {
        "pause": "beside a pause of the collector",
        "slip": "beside a slip of the source",
        "none": "beside neither",
    }
    return f"{text} Of {len(bursts)} bursts of losses, " + ", ".join(
        f"{counts.get(name, 0)} lay {word}" for name, word in words.items()
    ) + "."  # fmt: skip


def spread(cells: pd.DataFrame) -> str:
    """The caption of whatever shows smallest intervals."""
    done = cells[(cells["n"] > 0) & (cells["answer"] == NDR)]
    if done.empty:
        return "No interval passes without a loss."
    low, high = int(done["n"].min()), int(done["n"].max())
    n_text = f"n = {low}" if low == high else f"n = {low} to {high}"
    return (
        f"{n_text} searches per mark; bars: bracket, from the largest interval that failed to the smallest that passed."
    )
