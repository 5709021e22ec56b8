"""The real-time study for a reader: the summary in the article's form, what a search cost, and computed sentences."""

from __future__ import annotations

import html
from collections.abc import Mapping
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
from allocpool.studies.realtime.cells import ENOUGH_SEARCHES, FOLLOWS, LOSES, NDR, PDR, UNSCALED, realtime_cells
from allocpool.studies.realtime.specs import INPUT_QUEUE_MS
from allocpool.studies.realtime.study import STUDY, RealtimeProfile, estimate_seconds, searched_cells

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
        some = [f"passes in {row['n_passes']} of {row['n']}"] if row["n_passes"] else []
        notes = [*some, f"at {_number(row['compared_ns'])} ns", _loss_interval(row, "")]
        if pd.notna(row["larger_heap_lost_percent"]):
            notes.append(
                f"heap \u00d7 {_number(row['larger_heap_factor'])}: lost {_number(row['larger_heap_lost_percent'])}%"
            )
            notes.append(_loss_interval(row, "larger_heap_"))
        if pd.notna(row["larger_heap_gap"]):
            notes.append(f"larger heap: {html.escape(str(row['larger_heap_gap']))}")
        notes += _marks_of(row)
        return f"lost {_number(row['lost_percent'])}%", notes
    goal = str(row["answer"])
    fails = row[f"{goal}_fails_ns"]
    notes = ["no smaller one was shown to fail" if pd.isna(fails) else f"fails at {_number(fails)}"]
    if row["n"] > 1:
        notes.insert(0, f"{_number(row[f'{goal}_smallest_ns'])}\u2013{_number(row[f'{goal}_largest_ns'])}")
    if goal == PDR:
        notes.append("few lost")
    elif row["pdr_median_ns"] < row["ndr_median_ns"]:
        notes.append(f"few lost at {_number(row['pdr_median_ns'])}")
    return _number(row[f"{goal}_median_ns"]), [*notes, *_marks_of(row)]


def _marks_of(row: pd.Series) -> list[str]:
    """What makes a figure weaker than it looks."""
    if pd.isna(row["hit_cap"]):
        return []
    # Without any to see there are none to miss.
    unseen = ["no major collection"] if row["hit_cap"] and row["majors_seen"] == 0 else []
    return [*unseen, *(["cap"] if row["hit_cap"] else [])]


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
            best[key_of(group.nsmallest(1, "ndr_median_ns").iloc[0])] = colour
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
    few = cells["pdr_loss_ratio"].dropna()
    few_lost = f"; few lost: at most {_number(1e6 * few.iloc[0])} of a million" if len(few) else ""
    return table.tab_source_note(
        "Median of the searches, with their range; an interval passes when trials of full length lose nothing"
        f"{few_lost}. Where none passes in some search: loss at another interval with the exact binomial interval of "
        "one trial. cap: a trial that the figure rests on reached its longest length before its major collections. "
        f"Green: best overall; amber: best Java; red: loses at any rate tried. pub.: {ARTICLE}, on another machine and "
        "Java 8 (ZGC: 11)."
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
    cells = len(searched_cells(profile))
    sizes = ", ".join(f"{round(CASES[case] * profile.scale):,} in case {case}" for case in profile.cases)
    return (
        f"{len(profile.solutions)} solutions with {', '.join(profile.strategies)} in {len(profile.cases)} case(s) make "
        f"{cells} cells, each searched {profile.blocks} times from {profile.low_ns:g} to {profile.high_ns:g} ns, to "
        f"a resolution of {profile.resolution:.0%}. At scale {profile.scale:g} a probe lasts {profile.probe_seconds:g} "
        f"s, a trial of full length {profile.full_seconds:g} to {profile.cap_seconds:g} s (until "
        f"{profile.major_collections} major collections). Queue and store hold {sizes} packets; the input queue "
        f"{profile.input_queue_ms:g} ms of ticks, {profile.input_queue_ms / (INPUT_QUEUE_MS * profile.scale):g} times "
        f"the published {INPUT_QUEUE_MS:g} ms at this scale. "
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
            best = passing.nsmallest(1, "ndr_median_ns").iloc[0]
            text += f"; fastest {best['solution']} with {best['strategy']}, {_searched(best)}"
        if java["ndr_ns"].notna().any():
            first = java.nsmallest(1, "ndr_median_ns").iloc[0]
            text += f"; best Java {first['solution']} with {first['strategy']}, {_searched(first)}"
        lines.append(f"- {text}.")
    return f"{_headline(measured)}\n\n" + "\n".join(lines)


def _searched(row: pd.Series) -> str:
    """A cell's smallest interval with the range of its searches."""
    if row["n"] == 1:
        return f"{_number(row['ndr_median_ns'])} ns in its only search"
    low, high = _number(row["ndr_smallest_ns"]), _number(row["ndr_largest_ns"])
    return f"{_number(row['ndr_median_ns'])} ns ({low}\u2013{high} in {row['n']} searches)"


def take_home(profile: str) -> str:
    """The verdict on the searches that a campaign of this profile left; runs nothing."""
    tables, provenance = campaign.stored(STUDY.name, profile)
    if provenance is None:
        return "**Undecided.** Real time was not measured under this profile."
    similar = not_similar(tables["searches"], tables["trials"])
    return f"{verdict(realtime_cells(tables['searches']))}\n\n{similar}"


def _headline(measured: pd.DataFrame) -> str:
    """Pool or allocate, by brackets that do not overlap, over the Java cells that have both."""
    keys = ["solution", "case"]
    java = measured[measured["language"] == "java"]
    both = java[java["strategy"] == "alloc"].merge(java[java["strategy"] == "pool"], on=keys, suffixes=("_a", "_p"))
    if both.empty:
        return "**Undecided.** No Java solution was searched both ways."
    searched_once = len(both)
    both = both[both["repeated_a"] & both["repeated_p"]]
    if both.empty:
        return (
            f"**Undecided.** None of the {searched_once} Java solutions and cases that were searched both ways has "
            f"{ENOUGH_SEARCHES} searches on each side: without a spread there is no verdict."
        )
    pool = sum(_below(row, "p", "a") for row in records(both))
    alloc = sum(_below(row, "a", "p") for row in records(both))
    word = "Pool" if pool > 2 * alloc else "Allocate" if alloc > 2 * pool else "It depends"
    return (
        f"**In real time: {word.lower()}.** Of {len(both)} Java solutions and cases with {ENOUGH_SEARCHES} searches or "
        f"more on each side, pooling keeps up with a smaller interval than allocating in {pool}, allocating in "
        f"{alloc}; brackets over all searches overlap in {len(both) - pool - alloc}."
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
        f"{n_text} searches per cell. Large mark: their median; small ones: each search; bars: from the largest "
        "interval that failed to the smallest that passed in all of them."
    )


def not_similar(searches: pd.DataFrame, trials: pd.DataFrame) -> str:
    """Which rows are of another experiment than the published one, because their queue did not follow the scale.

    Sweeps vary the queue on purpose, so of the single trials only those without any similar one are told.
    """
    done = finished(searches)
    parts = []
    if len(other := done[~done["queue_factor"].between(0.95, 1.05)]):
        queue_ms, scale = other["input_queue_ms"].median(), other["scale"].median()
        parts.append(
            f"**Not similar to the published experiment:** in {len(other)} of {len(done)} searches the input queue did "
            f"not follow the scale: it holds {_number(queue_ms)} ms at scale {_number(scale, 2)}, "
            f"{_number(other['queue_factor'].median(), 2)} times what it must. Pauses shrink with the scale and then "
            "fit into it, so these rows pass, or lose less, where a similar trial would not, and can't show that a "
            "published loss is not there."
        )
    single = finished(trials)
    if len(single) and not single["queue_factor"].between(0.95, 1.05).any():
        parts.append("No single trial has a queue that follows its scale.")
    if not parts:
        return "" if done.empty else "In every search the input queue follows the scale."
    return " ".join(parts)


def marks(cells: pd.DataFrame, trials: pd.DataFrame) -> str:
    """How many figures rest on trials that saw too little to decide a claim about long queues or large heaps."""
    measured = cells[cells["hit_cap"].notna()]
    single = finished(trials)
    single = single[single["decides_long_pauses"].notna()]
    undecided = measured[~measured["decides_long_pauses"].astype(bool)]
    alone = single[~single["decides_long_pauses"].astype(bool)]
    unseen = int((undecided["majors_seen"] == 0).sum())
    short = int(single["too_short"].fillna(False).sum())
    return (
        f"Of {len(measured)} cells, {len(undecided)} rest on trials that reached their longest length before the major "
        f"collections they waited for, {unseen} of them on one without any; of {len(single)} single trials, "
        f"{len(alone)} saw no major collection, reached their longest length or were shorter than their queue. None of "
        f"these decides a claim about long queues or large heaps. {short} single trials did not last their laps."
    )


def similarity(rows: pd.DataFrame) -> str:
    """Whether the same cell loses the same at every scale, when the queue follows it and when not."""
    if rows.empty:
        return "No cell was tried at several scales."
    scales = sorted(rows["scale"].unique())
    apart = {
        rule: group.groupby(["cell", "interval_ns"])["lost_percent"].agg(lambda lost: lost.max() - lost.min())
        for rule, group in rows.groupby("queue")
    }
    told = [
        f"{rule}: {_number(values.median(), 2)} points apart, at most {_number(values.max(), 2)}"
        for rule in (FOLLOWS, UNSCALED)
        if (values := apart.get(rule)) is not None
    ]
    text = (
        f"Losses of {rows['cell'].nunique()} cells at scales {', '.join(f'{scale:g}' for scale in scales)}, in "
        f"percentage points between the largest and the smallest at one interval, median over cells and intervals: "
        f"{'; '.join(told)}."
    )
    if set(apart) != {FOLLOWS, UNSCALED}:
        return text
    noise = (rows["lost_high_percent"] - rows["lost_low_percent"])[rows["n"] > 1]
    if noise.empty:
        return f"{text} With one trial per point, scales can't be told from noise."
    usual = float(noise.median())
    holds = apart[FOLLOWS].median() <= max(2 * usual, apart[UNSCALED].median() / 2)
    return f"{text} Trials of one point differ by {_number(usual, 2)} points. " + (
        "The scales agree where the queue follows." if holds else "The scales do not agree even so."
    )


def batch_match(both: pd.DataFrame, cells: pd.DataFrame) -> str:
    """Whether the smallest interval is the cost in batch, over the cells that have both."""
    losing = int((cells["answer"] == LOSES).sum())
    if both.empty:
        return f"No cell has both a smallest interval and a cost in batch; {losing} lose at every interval tried."
    near = both["ratio"].between(1 / 1.25, 1.25)
    above = int((both["ratio"] > 1.25).sum())
    most = both.nlargest(1, "ratio").iloc[0]
    text = (
        f"The smallest interval is {_number(both['ratio'].median(), 2)} times the cost in batch in the median of "
        f"{len(both)} cells, within a quarter of it in {int(near.sum())} and above in {above}; most in "
        f"{most['solution']} with {most['strategy']} in case {most['case']}, {_number(most['ratio'], 2)} times. "
        f"{losing} cells have no smallest interval: what they cost in batch says nothing of it."
    )
    alone = both[~both["repeated"].astype(bool)]
    return (
        f"{text} {len(alone)} of the {len(both)} rest on fewer than {ENOUGH_SEARCHES} searches." if len(alone) else text
    )


def cores(provenance: Mapping[str, Any], trials: pd.DataFrame) -> str:
    """What source and consumer leave to concurrent collectors on the machine of a campaign."""
    host = provenance["host"]
    threads = int(host["logical_cores"])
    physical = int(host["physical_cores"] or threads)
    left = max(0, physical - 2)
    taken = ", which take their time from the consumer, and from the source, whose slips are recorded."
    text = (
        f"This machine has {threads} hardware threads on {physical} cores. The source spins on one, the consumer works "
        f"on another: {left} are left to concurrent collectors{'.' if left else taken}"
    )
    done = finished(trials)
    seen = done[done["pinned"].notna()]
    if seen.empty:
        return f"{text} These records do not tell where the two ran."
    tied, shared = int(seen["pinned"].sum()), int(seen["shared_core"].fillna(False).sum())
    moved = int(((seen["source_moves"] > 0) | seen["consumer_moved"]).sum())
    return (
        f"{text} In {tied} of {len(seen)} single trials both were tied to cores of their own; in {moved} one of them "
        f"was seen on another processor than before; in {shared} they were last on hardware threads of one core. The "
        f"system took its processor from the consumer {_number(seen['consumer_preempted'].astype(float).median(), 2)} "
        "times in the median trial."
    )
