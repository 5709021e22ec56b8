"""The real-time study for a reader: the summary in the article's form, what a search cost, and computed sentences."""

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
from allocpool.evidence import hosts as by_host
from allocpool.evidence.trials import finished, records
from allocpool.packets.cells import CONFIGURATION, configuration_of, configuration_order, departures_of
from allocpool.packets.comparisons import listed
from allocpool.packets.published import ARTICLE, with_published
from allocpool.packets.tables import BEST_JAVA, BEST_OVERALL, GAP, Key, configuration_grid, key_of
from allocpool.studies.realtime import map_story, proof
from allocpool.studies.realtime.cells import (
    AMPLE,
    LOSES,
    NDR,
    PDR,
    PLACED,
    SEARCHES,
    against_batch,
    bound,
    published_realtime,
    realtime_cells,
    usual_heap,
    with_ends,
)
from allocpool.studies.realtime.claims import LARGER_HEAP
from allocpool.studies.realtime.contrasts import CONFIRMATIONS, ENOUGH_SEARCHES, most_loss_chance
from allocpool.studies.realtime.placed import p_smaller, times_apart
from allocpool.studies.realtime.specs import COMPARISON_INTERVAL_NS
from allocpool.studies.realtime.study import (
    STUDY,
    RealtimeProfile,
)
from allocpool.studies.realtime.tables import ABOUT_ONE

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


def _loss_interval(row: pd.Series, prefix: str) -> list[str]:
    """Over trials: Student's interval, and that of shares resampled, or what trials without a loss bound."""
    low, high = row[f"{prefix}lost_low_percent"], row[f"{prefix}lost_high_percent"]
    told = [] if pd.isna(low) else [f"{_number(low)}\u2013{_number(high)}%"]
    mean, low, high = (row[f"{prefix}lost_mean_{end}percent"] for end in ("", "low_", "high_"))
    every = row[f"every_{prefix}lost"]
    if pd.notna(low):
        told.append(f"resampled: {_number(mean)}%, {_number(low)}\u2013{_number(high)}%")
    elif isinstance(every, tuple) and not any(every):
        told.append(f"none of {len(every)} loses: chance below {most_loss_chance(len(every)):.0%}")
    return told


def _measured(row: pd.Series) -> tuple[str, list[str]]:
    """The figure of a cell and the notes below it."""
    if row["answer"] == LOSES:
        some = [f"passes in {row['n_passes']} of {row['n']}"] if row["n_passes"] else []
        if pd.isna(row["lost_percent"]):
            return "loses", [*some, *_marks_of(row)]
        notes = [*some, f"at {_number(row['compared_ns'])} ns", *_loss_interval(row, "")]
        if pd.notna(row["larger_heap_lost_percent"]):
            notes.append(
                f"heap \u00d7 {_number(row['larger_heap_factor'])}: lost {_number(row['larger_heap_lost_percent'])}%"
            )
            notes += _loss_interval(row, "larger_heap_")
        if pd.notna(row["larger_heap_gap"]):
            notes.append(f"larger heap: {html.escape(str(row['larger_heap_gap']))}")
        return f"lost {_number(row['lost_percent'])}%", [*notes, *_marks_of(row)]
    goal = str(row["answer"])
    low, high, found = row[f"{goal}_low_ns"], row[f"{goal}_high_ns"], row["n_ndr" if goal == NDR else "n_passes"]
    alone = "too few trials" if row["by"] == PLACED else "one search, spread unknown"
    notes = [alone if pd.isna(low) else f"{bound(low)}\u2013{bound(high)}"]
    if found < row["n"] and row["by"] != PLACED:
        notes.append(f"passes in {found} of {row['n']}")
    if goal == PDR:
        notes.append("few lost")
    elif row["pdr_ns"] < row["ndr_ns"]:
        notes.append(f"few lost at {_number(row['pdr_ns'])}")
    return _number(row[f"{goal}_ns"]), [*notes, *_marks_of(row)]


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
        unit = " trials" if row["by"] == PLACED else ""
        head, notes = f"<strong>{figure}</strong>", [*notes, f"n = {row['n']}{unit}"]
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
    table = configuration_grid(
        cells,
        {key_of(row): _cell_html(row) for _, row in cells.iterrows()},
        (colours | best_of(cells)).items(),
        (title, subtitle),
        "smallest interval, ns",
    ).tab_options(table_font_size="13px", data_row_padding="4px")
    few = cells["pdr_loss_ratio"].dropna()
    few_lost = f"; few lost: at most {_number(1e6 * few.iloc[0])} of a million" if len(few) else ""
    return table.tab_source_note(
        "Of searches their geometric mean, each the middle of its bracket, with 95% (Student, the brackets' own half "
        f"width added); an interval passes when trials of full length lose nothing{few_lost}. Of placed trials the "
        "interval at which every other one loses, with 95% whenever one looks. Where none is found: loss at another "
        "interval, geometric mean with 95% (Student) over trials; resampled: their mean with 95% of the bootstrap over "
        "trials. cap: a trial that the figure "
        "rests on reached its longest length before its major collections. Green: smallest overall, amber: of Java, "
        f"though others may not be shown to be larger; red: loses at any rate tried. pub.: {ARTICLE}, on another "
        "machine and Java 8 (ZGC: 11)."
    )


def cost_table(searches: pd.DataFrame) -> pd.DataFrame:
    """Per configuration: searches, measurements and seconds per search, and what a fixed grid would take. Medians."""
    done = finished(searches)
    rows = []
    for configuration in configuration_order(done) if len(done) else []:
        group = done[done["configuration"] == configuration]
        columns = ("probes", "full_trials", "search_seconds", "grid_trials", "grid_seconds")
        median = {name: _number(group[name].astype(float).median()) for name in columns}
        rows.append({
            "configuration": configuration, "searches": len(group), "measurements": median["probes"],
            "of full length": median["full_trials"], "s": median["search_seconds"],
            "grid points": median["grid_trials"], "grid s": median["grid_seconds"],
        })  # fmt: skip
    return pd.DataFrame(rows, columns=[
        "configuration", "searches", "measurements", "of full length", "s", "grid points", "grid s",
    ])  # fmt: skip


def sizes(profile: RealtimeProfile) -> str:
    """A profile and the scales of its cells, in a few words."""
    scales = [f"searches at scale {profile.scale:g}"] if profile.configurations else []
    scales += [f"placed trials at scale {profile.placed.scale:g}"] if profile.placed.configurations else []
    return ", ".join([f"profile {profile.profile}", *scales])


def verdict(cells: pd.DataFrame) -> str:
    """Who keeps up where, in sentences."""
    measured = cells[cells["n"] > 0]
    if measured.empty:
        return "**Open.** No cell was measured on this machine yet."
    lines = []
    for case, group in measured.groupby("case"):
        passing = group[group["answer"] != LOSES]
        text = f"**Case {case}**: in {len(passing)} of {len(group)} cells some interval passes"
        for who, rows in (("smallest", group), ("of Java", group[group["language"] == "java"])):
            if rows["ndr_ns"].notna().any():
                best = rows.nsmallest(1, "ndr_ns").iloc[0]
                text += (
                    f"; {who} {best['configuration']} with {best['strategy']}, {_searched(best)}{_rivals(best, rows)}"
                )
        lines.append(f"- {text}.")
    return f"{_headline(measured)}\n\n" + "\n".join(lines)


def _searched(row: pd.Series) -> str:
    """A cell's smallest interval with its spread."""
    ns, low, high = (bound(row[f"ndr_{end}ns"]) for end in ("", "low_", "high_"))
    if row["by"] == PLACED:
        return f"{ns} ns ({low} to {high}, {row['n_ndr']} placed trials)"
    return f"{ns} ns in its only search" if row["n_ndr"] == 1 else f"{ns} ns ({low} to {high}, {row['n_ndr']} searches)"


def _rivals(best: pd.Series, rows: pd.DataFrame) -> str:
    """How many of the others are not shown to have a larger interval."""
    others = [row for row in records(rows) if key_of(pd.Series(row._asdict())) != key_of(best)]
    left = sum(
        not (row.repeated and best["repeated"]) or p_smaller(best["every_ndr"], row.every_ndr) > ALPHA for row in others
    )
    return f", though {left} of {len(others)} others are not shown to have a larger one" if left else ""


def take_home(profile: str) -> str:
    """The verdict on the searches that a campaign of this profile left; runs nothing."""
    tables, provenance = store.stored(STUDY.name, profile)
    if provenance is None:
        return "**Open.** Real time was not measured under this profile."
    similar = not_similar(tables["searches"], tables["trials"])
    return f"{conclusion(tables, realtime_cells(tables['searches'], tables['placed']))}\n\n{similar}"


def conclusion(tables: Mapping[str, pd.DataFrame], cells: pd.DataFrame) -> str:
    """The verdict of the searches and of the decision map, as far as a profile has them; what is decided first."""
    told = [verdict(cells)] if (cells["n"] > 0).any() or tables["map"].empty else []
    told += [map_story.verdict(tables)] if len(tables["map"]) else []
    return "\n\n".join(sorted(told, key=lambda words: words.startswith("**Open.**")))


POOLING, ALLOCATING, NEITHER, UNSHOWN = "pooling", "allocating", "neither passes", "open"


def pool_or_allocate(cells: pd.DataFrame) -> pd.DataFrame:
    """Per Java configuration and case with figures of both: which keeps up with a smaller interval; all decided
    together, so that of what is decided one in twenty is false in expectation (Benjamini and Hochberg, JRSS B 57,
    1995).

    Columns: configuration, case, alloc and pool (smallest intervals in words), ratio (alloc over pool, to three digits;
    NaN where one of them has none), low and high (between which it lies by placed trials; NaN by searches), n (searches
    or placed trials of the smaller side), enough (of these for a verdict), decided (`POOLING`, `ALLOCATING`, `NEITHER`
    or `UNSHOWN`).
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


def pool_or_allocate_table(both: pd.DataFrame) -> pd.DataFrame:
    """`pool_or_allocate` for a reader."""
    ratios = [with_ends(row.ratio, row.low, row.high) if pd.notna(row.ratio) else "-" for row in records(both)]
    return both.assign(ratio=ratios).drop(columns=["low", "high"]).rename(columns={"ratio": "alloc / pool"})


def _interval(row: Any) -> str:
    if row.answer == LOSES:
        return "none passes" if not row.n_passes else f"passes in {row.n_passes} of {row.n}"
    spread = "" if pd.isna(row.pdr_low_ns) else f" ({bound(row.pdr_low_ns)} to {bound(row.pdr_high_ns)})"
    return f"{_number(row.pdr_ns)} ns{spread}"


def _headline(measured: pd.DataFrame) -> str:
    """Pool or allocate, over the Java cells that have both."""
    both = pool_or_allocate(measured)
    if both.empty:
        return "**Open.** No Java configuration was tried both ways."
    counts = {word: int((both["decided"] == word).sum()) for word in (POOLING, ALLOCATING, NEITHER, UNSHOWN)}
    pool, alloc = counts[POOLING], counts[ALLOCATING]
    if not pool + alloc:
        why = (
            f"A verdict takes {ENOUGH_SEARCHES} searches a side, whose ends {CONFIRMATIONS} trials each confirm, or "
            f"{FEWEST} placed trials that tell."
            if not both["enough"].any()
            else "The trials so far do not decide."
        )
        neither = f" In {counts[NEITHER]} no interval passes either way." if counts[NEITHER] else ""
        none = (
            f"Of {len(both)} Java configurations and cases that were tried both ways none is decided."
            if len(both) > 1
            else "The one Java configuration and case that was tried both ways is not decided."
        )
        return f"**Open.** {none} {why}{neither}"
    word = "pool" if pool and not alloc else "allocate" if alloc and not pool else "it depends"
    return (
        f"**In real time: {word}.** Of {len(both)} Java configurations and cases, pooling keeps up with a smaller "
        f"interval than allocating in {pool}, allocating in {alloc}; in {counts[NEITHER]} no interval passes either "
        f"way, and {counts[UNSHOWN]} are open."
    )


def boundary_table(fitted: pd.DataFrame) -> pd.DataFrame:
    """Where losses begin (`allocpool.studies.realtime.cells.boundaries`) in words, for a reader."""
    rows = [
        {
            "configuration": row.configuration, "strategy": row.strategy, "case": row.case, "trials": row.trials,
            "losing": row.losing,
            "half of the trials lose, ns": with_ends(row.edge_ns, row.edge_low_ns, row.edge_high_ns),
            "one in twenty loses, ns": with_ends(row.safe_ns, row.safe_low_ns, row.safe_high_ns),
            "by the searches, ns": with_ends(row.searches_ns, row.searches_low_ns, row.searches_high_ns),
        }
        for row in records(fitted)
    ]  # fmt: skip
    columns = [
        "configuration", "strategy", "case", "trials", "losing", "half of the trials lose, ns",
        "one in twenty loses, ns", "by the searches, ns",
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=columns)


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
    told = []
    for by, rows in done.groupby("by", sort=False):
        low, high = int(rows["n"].min()), int(rows["n"].max())
        told.append(f"n = {low} {by} per cell" if low == high else f"n = {low} to {high} {by} per cell")
    text = f"{' or '.join(told)}."
    if (done["by"] == SEARCHES).any():
        text += (
            " Large mark: geometric mean of the searches; small ones: each search; bars: 95% (Student), with the "
            "brackets' own half width."
        )
    if (done["by"] == PLACED).any():
        text += " Of placed trials the mark is where every other one loses; bars: 95%, whenever one looks."
    return text


def not_similar(searches: pd.DataFrame, trials: pd.DataFrame) -> str:
    """Which rows are of another experiment than the published one, because their queue did not follow the scale.

    Sweeps vary the queue on purpose, so of the single trials only those without any similar one are told.
    """
    done = finished(searches)
    parts = []
    if len(other := done[~done["queue_factor"].between(*ABOUT_ONE)]):
        queue_ms, scale = other["input_queue_ms"].median(), other["scale"].median()
        parts.append(
            f"**Not similar to the published experiment:** in {len(other)} of {len(done)} searches the input queue did "
            f"not follow the scale: it holds {_number(queue_ms)} ms at scale {_number(scale, 2)}, "
            f"{_number(other['queue_factor'].median(), 2)} times what it must. Pauses shrink with the scale and then "
            "fit into it, so these rows pass, or lose less, where a similar trial would not, and can't show that a "
            "published loss is not there."
        )
    single = finished(trials)
    if len(single) and not single["queue_factor"].between(*ABOUT_ONE).any():
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
    told = []
    if len(undecided):
        told.append(
            f"In {len(undecided)} of {stats.plural(len(measured), 'cell')} the figure rests on trials that reached "
            f"their longest length before the major collections they waited for, in {unseen} on one without any."
        )
    if len(alone):
        told.append(
            f"Of {stats.plural(len(single), 'single trial')} {len(alone)} saw no major collection, reached their "
            "longest length or were shorter than their queue."
        )
    if told:
        told.append("None of these decides a claim about long queues or large heaps.")
    if short:
        told.append(f"{stats.plural(short, 'single trial')} did not last through the laps of pool or queue.")
    return " ".join(told)


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


def loss_caption(tables: Mapping[str, pd.DataFrame]) -> str:
    """How losses against intervals are read, and which placed trials tell nothing."""
    text = "One mark per measurement. Lowest: nothing lost."
    done = finished(tables["placed"])
    if done.empty:
        return text
    silent = int((done["slip_max_ms"] >= done["input_queue_ms"] / 2).sum())
    return (
        f"{text} In {silent} of {stats.plural(len(done), 'placed trial')} the source itself stood still for half of "
        "the input queue or longer: these tell nothing and are asked again."
    )


def limits_table(limits: pd.DataFrame) -> pd.DataFrame:
    """`allocpool.studies.realtime.cells.limits` in words, for a reader."""
    return pd.DataFrame({
        "configuration": limits["configuration"], "strategy": limits["strategy"], "case": limits["case"],
        "smallest interval, ns": [_number(ns) if pd.notna(ns) else "none passes" for ns in limits["edge_ns"]],
        "the work takes, ns": limits["work_ns"].map(_number),
        f"lose with {AMPLE:g} times that or more": limits["with_time"],
        "of these beside a long pause": limits["by_pauses"],
        "their longest pause, ms": [_number(ms) if pd.notna(ms) else "-" for ms in limits["pause_ms"]],
        "limited by": limits["limit"],
    })  # fmt: skip


def placed_errors() -> pd.DataFrame:
    """How often placed cells are wrong, as simulated last."""
    rows = [
        {
            "truth": "the same" if row.ratio == 1 else f"{row.ratio:g} times apart", "soft edge": f"{row.width:.0%}",
            "trials": row.n, "pairs": row.repetitions, "bands that hold": f"{row.holds:.1%}",
            "high over low, median": _number(row.factor, 2), "verdicts, false": f"{row.false:.1%}",
            "decided": f"{row.decided:.0%}", "claims, false": f"{row.false_claims:.1%}",
            "losing shown where none passes": f"{row.loses:.0%}", "and where some do": f"{row.false_loses:.1%}",
        }
        for row in records(proof.load(proof.CELLS_FILE))
    ]  # fmt: skip
    return pd.DataFrame(rows)


def sweep_table(trials: pd.DataFrame) -> pd.DataFrame:
    """Losses of the single trials by cell, queue and heap, in times of the published ones: configuration, strategy,
    case, n, of a million the median with the least and the greatest trial, and, where the article published a loss at
    that interval, that loss and the name of its configuration."""
    done = finished(trials)
    done = done[done["intermediate_queue_ms"] == 0].astype({"queue_factor": float, "heap_factor": float})
    done = with_published(done, published_realtime())
    rows = [
        {
            "configuration": configuration, "strategy": strategy, "case": case, "queue, times": f"{queue:g}",
            "heap, times": f"{heap:g}".replace("nan", "-"), "n": len(group),
            "lost of a million": f"{_number(lost.median())} ({_number(lost.min())} to {_number(lost.max())})",
            _PUBLISHED_LOSS: _published_loss(group.iloc[0]),
        }
        for (configuration, strategy, case, queue, heap), group in done.groupby(
            [*CONFIGURATION, "queue_factor", "heap_factor"], observed=True, dropna=False
        )
        for lost in [group["lost_ppm"].astype(float)]
    ]  # fmt: skip
    names = [
        "configuration",
        "strategy",
        "case",
        "queue, times",
        "heap, times",
        "n",
        "lost of a million",
        _PUBLISHED_LOSS,
    ]
    table = pd.DataFrame(rows, columns=names)
    return table if any(table[_PUBLISHED_LOSS]) else table.drop(columns=_PUBLISHED_LOSS)


_PUBLISHED_LOSS = "published, of a million"


def _published_loss(row: pd.Series) -> str:
    """What the article lost of the same with that heap, its queue and the interval of its losses; empty where it says
    nothing."""
    if row["queue_factor"] != 1 or not math.isclose(float(row["interval_ns"]), COMPARISON_INTERVAL_NS):
        return ""
    if row["heap_factor"] == LARGER_HEAP:
        lost = row["published_lost_percent_large_heap"]
    else:
        usual = row["heap_factor"] == 1 and pd.isna(row["published_interval_ns"])
        lost = row["published_lost_percent"] if usual else None
    return "" if pd.isna(lost) else f"{_number(lost * 1e4)} ({row['published_configuration']})"


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
    done = with_published(one, published_realtime())
    rows, counts = [], []
    for (case, configuration), of in done.groupby(["case", "configuration"], observed=True):
        sides = [of[of["strategy"] == strategy] for strategy in _SIDES]
        if all(map(len, sides)):
            rows.append(f"| {case} | {configuration} | {' | '.join(map(_lost, sides))} |")
            counts += list(map(len, sides))
    if not rows:
        return ""
    other = "" if len(here) else hosts.label(str(one["host_id"].iloc[0]), "article")
    elsewhere = f" It was measured on another machine, {other}." if other else ""
    lead = (
        f"**Real time at the published sizes, a packet each {COMPARISON_INTERVAL_NS:,.0f} ns: share lost** (medians, "
        f"least to greatest; {stats.trials_each(min(counts), max(counts))}; published figures are of collectors up to "
        f"Java 11).{elsewhere}"
    )
    heading = ("case", "configuration", *_SIDES.values())
    return "\n".join([lead, "", f"| {' | '.join(heading)} |", "|---" * len(heading) + "|", *rows])


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
    least, most = (_number(float(end), 2) for end in (percent.min(), percent.max()))
    beside = [f"{least} to {most}"] if least != most else []
    beside += [] if pd.isna(published) else [f"published: {published:g}%"]
    told = f" ({'; '.join(beside)})" if beside else ""
    return f"{_number(float(percent.median()), 2)}%{told}"


def beside_batch_study(cells: pd.DataFrame, searches: pd.DataFrame, batch: pd.DataFrame) -> pd.DataFrame:
    """The cells that this study searched and the batch study measured: smallest interval and cost, each with its scale,
    and the interval over the cost; the smallest ratio first."""
    searched = cells[cells["by"] == SEARCHES]
    both = against_batch(searched, batch).merge(
        finished(searches)[[*CONFIGURATION, "scale"]].drop_duplicates(list(CONFIGURATION)), on=list(CONFIGURATION)
    )
    scales = finished(batch)[[*CONFIGURATION, "scale"]].drop_duplicates(list(CONFIGURATION))
    both = both.merge(scales, on=list(CONFIGURATION), suffixes=("", "_batch")).sort_values("ratio")
    return pd.DataFrame({
        "configuration": both["configuration"], "strategy": both["strategy"], "case": both["case"],
        "smallest interval, ns": [f"{_number(ns)}" for ns in both["pdr_ns"]],
        "its scale": both["scale"].map("{:g}".format), "batch study, ns": [f"{_number(ns)}" for ns in both["ns"]],
        "batch scale": both["scale_batch"].map("{:g}".format),
        "interval over cost": both["ratio"].astype(float).round(2),
    }).reset_index(drop=True)  # fmt: skip


"""A smallest interval below so much of the cost in batch is more than what two trials of one cell differ by."""


def elsewhere(
    profile: str, searches: pd.DataFrame, cells: pd.DataFrame, placed: pd.DataFrame | None = None
) -> tuple[pd.DataFrame, str]:
    """Smallest intervals of this campaign and of those of other hosts at the same scale, cell by cell and never mixed;
    and in words how they compare.

    Columns: configuration, strategy, case, here, and one with the name of each other host; empty without another one.
    """
    stored = hosts.tables_of_hosts(STUDY.name, profile)
    labels = {host.host_id: host.label for host in hosts.of_hosts(STUDY.name, profile)}
    ours = {"searches": searches, "placed": searches.iloc[:0] if placed is None else placed}
    own = {host_id for rows in ours.values() for host_id in rows["host_id"]}
    theirs = {}
    for name, rows in ours.items():
        every = stored.get(name, rows)
        theirs[name] = every[~every["host_id"].isin(own) & every["scale"].isin(set(rows["scale"]))]
    here = cells[cells["n"] > 0]
    table, facts, told = _smallest(here, "here"), [here], []
    for host_id in sorted({host_id for rows in theirs.values() for host_id in rows["host_id"]}):
        of_host = [rows[rows["host_id"] == host_id] for rows in theirs.values()]
        every_cell = realtime_cells(*of_host)
        there = every_cell[every_cell["n"] > 0]
        # Settings of two hosts' campaigns may differ, and are told.
        plain = [configuration_of(row).as_published.label for row in records(there)]
        there = there.assign(configuration=plain).drop_duplicates(list(CONFIGURATION))
        label = labels[str(host_id)]
        table = table.merge(_smallest(there, label), on=list(CONFIGURATION), how="outer")
        facts.append(there)
        told.append(_beside(here, there, label, next(rows for rows in of_host if len(rows))))
    if not told:
        others = sorted(label for host_id, label in labels.items() if host_id not in own)
        if not others:
            return table.iloc[:0], by_host.ONE_HOST
        return table.iloc[:0], (
            f"Also measured on {listed(others)}, at another scale or other cells: no smallest interval there can be "
            "set beside one here."
        )
    place = {configuration: k for k, configuration in enumerate(configuration_order(pd.concat(facts)))}
    order = table.assign(place=table["configuration"].map(place)).sort_values(["place", "case", "strategy"]).index
    return table.loc[order].reset_index(drop=True), "\n\n".join(told)


def _smallest(cells: pd.DataFrame, column: str) -> pd.DataFrame:
    rows = [
        {
            "configuration": row.configuration,
            "strategy": row.strategy,
            "case": row.case,
            column: f"{_interval(row)}, n = {row.n}",
        }
        for row in records(cells)
    ]
    return pd.DataFrame(rows, columns=[*CONFIGURATION, column])


def _beside(here: pd.DataFrame, there: pd.DataFrame, host: str, trials: pd.DataFrame) -> str:
    """How the smallest intervals of another host compare with those of this one, and on which side a pool is."""
    both = here.merge(there, on=list(CONFIGURATION), suffixes=("", "_there"))
    queues = both.loc[both["queue_factor"] != both["queue_factor_there"], "queue_factor_there"].dropna()
    queue = f"with an input queue of {stats.span(queues)} times the published one" if len(queues) else ""
    settings = sorted({word for row in records(there) for word in departures_of(row)})
    other = f"other settings there: {listed(settings)}" if settings else ""
    text = f"{by_host.on_another(host, trials, queue, other)}: {stats.plural(len(both), 'cell')} tried on both"
    found = both[both["pdr_ns"].notna() & both["pdr_ns_there"].notna()]
    if found.empty:
        return f"{text}, none with an interval that passes on both."
    apart = (found["pdr_ns_there"] / found["pdr_ns"]).astype(float)
    of_several = f" in the median ({_number(apart.min())} to {_number(apart.max())})" if len(found) > 1 else ""
    text += (
        f", {len(found)} with an interval that passes on both: there the smallest is {_number(apart.median())} times "
        f"that here{of_several}."
    )
    cells = {key_of(pd.Series(row._asdict())): row for row in records(found)}
    pairs = [
        (row, cells[row.configuration, "pool", row.case])
        for row in cells.values()
        if row.strategy == "alloc" and (row.configuration, "pool", row.case) in cells
    ]
    against = [
        f"{alloc.configuration} in case {alloc.case}"
        for alloc, pool in pairs
        if (alloc.pdr_ns < pool.pdr_ns) != (alloc.pdr_ns_there < pool.pdr_ns_there)
    ]
    if pairs:
        named = f", not in {listed(against)}" if against else ""
        text += (
            f" Of {stats.plural(len(pairs), 'pair')} of pool and allocate, the same side has the smaller figure on "
            f"both hosts in {len(pairs) - len(against)}{named}."
        )
    if not there["repeated"].fillna(False).any():
        text += f" So few searches there, at most {int(there['n'].max())} of a cell, decide nothing by themselves."
    return text
