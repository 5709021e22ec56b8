"""What the page on many threads says: every figure of it computed."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import pandas as pd

from allocpool import stats
from allocpool.campaign import profiles
from allocpool.campaign.store import read_tables
from allocpool.campaign.study import Machine
from allocpool.decisions import (
    A_CHEAPER,
    B_CHEAPER,
    EQUIVALENT,
    FEWEST,
    OPEN,
    compare,
    effect_that_matters,
    together,
)
from allocpool.errors import UserError
from allocpool.evidence.claims import Verdict, tally
from allocpool.evidence.trials import finished, records
from allocpool.packets.specs import BUFFER_BYTES
from allocpool.studies.threads.cells import WALL, Campaign, Cell
from allocpool.studies.threads.specs import BESIDE_WORKERS, SIMULATED_TURN
from allocpool.studies.threads.strategies import LABELS, STRATEGIES
from allocpool.studies.threads.study import FIRST_ASKED, STUDY, ThreadsProfile
from allocpool.studies.threads.tables import EVENTS, PLACES

LARGER = (16, 32, 64)
"""Processors of machines that the profile `article` is written for."""
_NOTHING = "Nothing was measured yet."


def sizes(trials: pd.DataFrame, cores: int) -> str:
    """How large a message is, how many are alive, and what heap and threads the collector has."""
    batch = trials[trials["interval_ns"].isna()]
    if batch.empty:
        return ""
    queued, stored = (_each(batch[name]) for name in ("queue_size", "stored_count"))
    java = batch[batch["heap_mb"].notna()]
    by_layout = {str(layout): _each(group["heap_mb"]) for layout, group in java.groupby("layout")}
    heaps = [
        f"{heap} MiB with layout {' or '.join(name for name, its in by_layout.items() if its == heap)}"
        for heap in dict.fromkeys(by_layout.values())
    ]
    collector = (
        f" The Java heap has {' and '.join(heaps)}; the collector has the threads that the JVM itself takes on "
        f"{stats.plural(cores, 'processor')}, for no flag sets them."
    )
    return (
        f"A message is a buffer of {BUFFER_BYTES:,} bytes and what parsing it yields. Alive are {queued} of them in "
        f"queues, at most, and {stored} in stores, once these are full, over all workers."
        + (collector if heaps else "")
    )


def _each(values: pd.Series) -> str:
    return " or ".join(f"{value:,}" for value in sorted(set(values.astype(int))))


def limits(trials: pd.DataFrame, cores: int) -> str:
    """What this machine can't show, said before anything else."""
    done = finished(trials)
    most = int(done["threads"].max()) if len(done) else 0
    crowded = done[(done["threads"] + (done["topology"] == "pipeline")) > cores]
    said = [
        f"This machine has {cores} processors, and the most workers of a trial here are {most}: how a pool scales "
        f"beyond that, across sockets or memory nodes, these figures can't show."
    ]
    if len(crowded):
        said.append(
            f"In {len(crowded)} of {len(done)} trials there were more threads than processors: they take turns, which "
            "makes a lock look better, whose holder is rarely met, and a queue worse, which is waited for."
        )
    if cores < BESIDE_WORKERS + FIRST_ASKED:
        said.append(
            f"Real time with {FIRST_ASKED} workers takes {BESIDE_WORKERS + FIRST_ASKED} processors, one for each, one "
            "for the source of packets, and one for the receiver or the collector: what is lost at which rate, it "
            "can't show."
        )
    return " ".join(said)


def outlook() -> pd.DataFrame:
    """What the profile for larger machines takes on them: trials, hours, and the most memory of one trial."""
    profile = profiles.read(STUDY, "article", {})
    assert isinstance(profile, ThreadsProfile)
    rows = []
    for cores in LARGER:
        planned = STUDY.plan(profile.model_copy(update={"blocks": 1, "cores": cores}), Machine(cores))
        specs = [item.spec for item in planned if item.unavailable is None]
        rows.append({
            "processors": cores, "configurations": len(specs), "repetitions": profile.blocks,
            "hours": round(profile.blocks * sum(spec.expected_seconds() for spec in specs) / 3600, 1),
            "memory of the largest trial, GiB": round(max(spec.needs().most_mb for spec in specs) / 1024, 1),
        })  # fmt: skip
    return pd.DataFrame(rows)


def ladder(trials: pd.DataFrame, topology: str) -> pd.DataFrame:
    """Each strategy at the most threads, the cheapest first: CPU and wall time a packet, its CPU over allocation's."""
    campaign = Campaign(trials)
    rows = []
    for configuration in campaign.configurations:
        threads = campaign.most_threads(configuration, topology)
        plain = Cell(configuration, topology, threads, "alloc")
        mine = [cell for cell in campaign.cells if cell == plain._replace(strategy=cell.strategy)]
        for cell in sorted(mine, key=lambda cell: _mean(campaign.costs(cell)) or math.inf):
            cpu = campaign.costs(cell)
            rows.append({
                "configuration": configuration, "strategy": cell.strategy, "threads": threads,
                "cpu_ns": _mean(cpu), "wall_ns": _mean(campaign.costs(cell, WALL)),
                "over_alloc": "" if cell == plain else campaign.compared(cell, plain).text(),
                "why_not": None if len(cpu) else campaign.why_not(cell),
            })  # fmt: skip
    names = ["configuration", "strategy", "threads", "cpu_ns", "wall_ns", "over_alloc", "why_not"]
    return pd.DataFrame(rows, columns=names)


def _mean(costs: pd.Series) -> float | None:
    return stats.geometric_mean(costs) if len(costs) else None


def shown(table: pd.DataFrame) -> pd.DataFrame:
    """`ladder` for a reader."""
    if table.empty:
        return pd.DataFrame({"what": ["not part of this campaign"]})
    told = table.assign(
        strategy=table["strategy"].map(LABELS),
        cpu_ns=table["cpu_ns"].map(stats.significant, na_action="ignore"),
        wall_ns=table["wall_ns"].map(stats.significant, na_action="ignore"),
    ).rename(columns={"cpu_ns": "CPU, ns a packet", "wall_ns": "wall, ns a packet", "over_alloc": "CPU over alloc's",
                      "why_not": "why not"})  # fmt: skip
    return told if table["why_not"].notna().any() else told.drop(columns="why not")


def remote(trials: pd.DataFrame) -> pd.DataFrame:
    """Allocation where every free is remote over allocation where none is, and the share of remote frees."""
    campaign = Campaign(trials)
    rows = []
    for cell in campaign.cells:
        if cell.topology != "pipeline" or cell.strategy != "alloc":
            continue
        done = campaign.done(cell)
        rows.append({
            "configuration": cell.configuration, "threads": cell.threads,
            "remote frees": f"{done['remote_share'].astype(float).mean():.0%}" if len(done) else "-",
            "CPU over no remote frees": campaign.compared(cell, cell._replace(topology="sharded")).text(),
        })  # fmt: skip
    return pd.DataFrame(rows, columns=["configuration", "threads", "remote frees", "CPU over no remote frees"])


def scaling(trials: pd.DataFrame) -> pd.DataFrame:
    """Wall time a packet with one thread over that with the most: how many times as fast."""
    campaign = Campaign(trials)
    rows = []
    for cell in campaign.at_most_threads():
        one = cell._replace(threads=1)
        if cell.threads == 1 or campaign.started(one).empty:
            continue
        rows.append({
            "configuration": cell.configuration, "topology": cell.topology, "strategy": LABELS[cell.strategy],
            "threads": cell.threads,
            "times as fast as one": campaign.compared(one, cell, WALL).text(),
        })  # fmt: skip
    return pd.DataFrame(rows, columns=["configuration", "topology", "strategy", "threads", "times as fast as one"])


def spacing(trials: pd.DataFrame) -> pd.DataFrame:
    """CPU of pools whose shared cells lie side by side over that of the same two cache lines apart: an experiment."""
    batch = trials[trials["interval_ns"].isna() & ~trials["counted"]]
    apart = Campaign(batch)
    close = Campaign(batch[~batch["padded"]].assign(padded=True))
    rows = [
        {
            "configuration": cell.configuration, "topology": cell.topology, "threads": cell.threads,
            "strategy": LABELS[cell.strategy],
            "side by side over apart": compare(close.costs(cell), apart.costs(cell)).text(),
        }
        for cell in close.cells
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=["configuration", "topology", "threads", "strategy", "side by side over apart"])


def events(trials: pd.DataFrame) -> pd.DataFrame:
    """What the processor counted of a packet, cells apart and side by side: medians of trials."""
    done = finished(trials[trials["counted"]])
    keys = ["configuration", "topology", "threads", "strategy", "padded"]
    rows = []
    for (configuration, topology, threads, strategy, padded), group in done.groupby(keys, sort=False):
        medians = {event: group[f"{event}_per_packet"].dropna().astype(float) for event in EVENTS}
        rows.append({
            "configuration": configuration, "topology": topology, "threads": threads, "strategy": LABELS[str(strategy)],
            "cells": "apart" if padded else "side by side",
            **{event: stats.significant(float(of.median())) if len(of) else "-" for event, of in medians.items()},
        })  # fmt: skip
    return pd.DataFrame(rows, columns=["configuration", "topology", "threads", "strategy", "cells", *EVENTS])


def uncounted(trials: pd.DataFrame, reason: str | None) -> str:
    """Whether false sharing was counted; ``reason`` why this machine's counters can't be read."""
    if finished(trials[trials["counted"]]).empty:
        why = f"its counters can't be read: {reason}" if reason else "no trial of this campaign counted"
        return f"What the processor could tell of it is missing here: {why}."
    return "A line that another core wrote to is a miss of the cache nearest to the core: `l1d_misses`."


_KEYS = ["configuration", "topology", "threads", "strategy", "padded"]
_MISSES = {
    "misses a packet": "coherence_misses_per_packet",
    "true sharing": "true_sharing_per_packet",
    "false sharing": "false_sharing_per_packet",
}


def _shared(sharing: pd.DataFrame) -> pd.DataFrame:
    """One row for each cell before the simulated cache: misses a packet in all, and where most false sharing is."""
    rows = []
    usual = sharing[sharing["turn"] == SIMULATED_TURN]
    for key, group in finished(usual).groupby(_KEYS, sort=False):
        false = {place: float(group[f"{place}_false_sharing_per_packet"].astype(float).mean()) for place in PLACES}
        means = {name: float(group[column].astype(float).mean()) for name, column in _MISSES.items()}
        rows.append(dict(zip(_KEYS, key, strict=True)) | means | {"place": max(false, key=lambda place: false[place])})
    return pd.DataFrame(rows, columns=[*_KEYS, *_MISSES, "place"])


def sharing(table: pd.DataFrame) -> pd.DataFrame:
    """Misses that sharing caused before the simulated cache, for a reader."""
    told = _shared(table)
    figures = {name: told[name].map(stats.significant) for name in _MISSES}
    cells = told.pop("padded").map({True: "apart", False: "side by side"})
    told["strategy"] = told["strategy"].map(LABELS)
    return told.assign(**figures).rename(columns={"place": "most false sharing in"}).assign(cells=cells)


def realtime(trials: pd.DataFrame) -> pd.DataFrame:
    """Real time: of each cell and interval, in how many trials nothing was lost, most lost, and the delay."""
    paced = finished(trials[trials["interval_ns"].notna()])
    keys = ["configuration", "topology", "threads", "strategy", "interval_ns", "source_yields"]
    rows = []
    for (configuration, topology, threads, strategy, interval_ns, yields), group in paced.groupby(keys, sort=False):
        rows.append({
            "configuration": configuration, "topology": topology, "threads": threads, "strategy": LABELS[str(strategy)],
            "interval, ns": stats.significant(float(str(interval_ns))), "trials": len(group),
            "without loss": int((group["loss_ratio"] == 0).sum()),
            "most lost": f"{float(group['loss_ratio'].max()):.2%}",
            "p99 of the delay, µs": stats.significant(float(group["delay_p99_us"].median())),
            "remark": "source slept: no finding" if yields else "",
        })  # fmt: skip
    names = ["configuration", "topology", "threads", "strategy", "interval, ns", "trials", "without loss", "most lost",
             "p99 of the delay, µs", "remark"]  # fmt: skip
    return pd.DataFrame(rows, columns=names)


def searched(searches: pd.DataFrame) -> pd.DataFrame:
    """Of each cell its searches: the largest interval that loses something and the smallest that loses nothing."""
    rows = []
    for (configuration, topology, threads, strategy), group in finished(searches).groupby(
        ["configuration", "topology", "threads", "strategy"], sort=False
    ):
        ends = {name: group[f"ndr_{name}_ns"].dropna().astype(float) for name in ("fails", "passes")}
        told = {name: stats.significant(float(of.median())) if len(of) else "none tried" for name, of in ends.items()}
        rows.append({
            "configuration": configuration, "topology": topology, "threads": threads, "strategy": LABELS[str(strategy)],
            "searches": len(group), "loses at, ns": told["fails"], "loses nothing at, ns": told["passes"],
            "remark": "source slept: no finding" if group["source_yields"].any() else "",
        })  # fmt: skip
    names = ["configuration", "topology", "threads", "strategy", "searches", "loses at, ns", "loses nothing at, ns",
             "remark"]  # fmt: skip
    return pd.DataFrame(rows, columns=names)


_BOOKS = {
    "remote share": "remote_share", "imbalance": "imbalance", "blow-up": "blow_up",
    "longest pause, ms": "gc_pause_max_ms", "way to a safepoint, ms": "reaching_max_ms",
    "GC's share of CPU": "gc_cpu_share",
}  # fmt: skip


def books(trials: pd.DataFrame) -> pd.DataFrame:
    """Remote frees, imbalance of rings, blow-up of pools, pauses, times to safepoint: medians, at the most threads."""
    campaign = Campaign(trials)
    rows = []
    for cell in campaign.at_most_threads():
        medians = {name: campaign.done(cell)[column].dropna().astype(float) for name, column in _BOOKS.items()}
        rows.append({
            "configuration": cell.configuration, "topology, workers": f"{cell.topology}, {cell.threads}",
            "strategy": LABELS[cell.strategy],
            **{name: stats.significant(float(of.median())) if len(of) else "-" for name, of in medians.items()},
        })  # fmt: skip
    return pd.DataFrame(rows, columns=["configuration", "topology, workers", "strategy", *_BOOKS])


_BUFFERS = ("on the Java heap", "off it", "in C++")
_TOPOLOGIES = {
    "sharded": "Where each thread frees what it obtained",
    "pipeline": "Where another thread frees it",
    "virtual": "On virtual threads",
}
_LEADS = {A_CHEAPER: "pool", B_CHEAPER: "allocate", EQUIVALENT: "either", OPEN: "open"}
_NO_POOL = "copy_on_keep"
"""Uses its messages again, and has no pool: of it the advice tells apart."""
_WRITTEN_FIRST = "locked"
_JUDGED = ["topology", "buffers", "configuration", "strategy", "threads", "verdict", "ratio", "low", "high", "n"]


def _buffers(trials: pd.DataFrame) -> dict[str, str]:
    """Where the buffers of each configuration are, in words."""
    return {
        row.configuration: _BUFFERS[2]
        if row.language == "cpp"
        else _BUFFERS[0]
        if row.layout == "heap"
        else _BUFFERS[1]
        for row in records(trials.drop_duplicates("configuration"))
    }


def judged(trials: pd.DataFrame) -> pd.DataFrame:
    """Every strategy that uses messages again against allocating them, at the most threads: ``ratio`` of its CPU over
    allocation's, the interval, and the verdict, a word of `_LEADS`.

    All of a topology and a kind of buffers are decided together, so that one that is named was not chosen by the trials
    that speak for it alone. What has too few trials for a verdict is left out.
    """
    campaign = Campaign(trials)
    enough = [cell for cell in campaign.at_most_threads() if len(campaign.costs(cell)) >= FEWEST]
    families: dict[tuple[str, str], list[tuple[Cell, Cell]]] = {}
    buffers_of = _buffers(trials)
    for cell in enough:
        alloc = cell._replace(strategy="alloc")
        if STRATEGIES[cell.strategy].is_pool and alloc in enough:
            families.setdefault((cell.topology, buffers_of[cell.configuration]), []).append((cell, alloc))
    effect = effect_that_matters()
    rows = []
    for (topology, buffers), pairs in families.items():
        compared = together([
            partial(compare, campaign.costs(cell), campaign.costs(alloc), effect) for cell, alloc in pairs
        ])  # fmt: skip
        for (cell, _), comparison in zip(pairs, compared, strict=True):
            of = comparison.decision
            rows.append({
                "topology": topology, "buffers": buffers, "configuration": cell.configuration,
                "strategy": cell.strategy,
                "threads": cell.threads, "verdict": _LEADS[comparison.verdict], "ratio": of.ratio, "low": of.low,
                "high": of.high, "n": of.n,
            })  # fmt: skip
    return pd.DataFrame(rows, columns=_JUDGED)


_STRENGTH = {"allocate": 0, "open": 1, "either": 2, "pool": 3}
"""Of the pools of a configuration the strongest speaks for it: whatever is open is no reason to allocate."""


def _best_of_each(pools: pd.DataFrame) -> pd.DataFrame:
    """Of each configuration the pool that speaks for it, in the order of the campaign."""
    keys = ["topology", "buffers", "configuration"]
    order = pools.groupby(keys, sort=False).ngroup()
    ranked = pools.assign(order=order, strength=pools["verdict"].map(_STRENGTH))
    ranked = ranked.sort_values(["order", "strength", "ratio"], ascending=[True, False, True])
    return ranked.groupby("order").head(1).drop(columns=["order", "strength"])


def _counts(verdicts: pd.Series) -> str:
    """``**open** on 4 of 5 configurations, pool on 1``: the most frequent first, and of equals what is decided."""
    counts = verdicts.value_counts()
    names = sorted(counts.index, key=lambda name: (-int(counts[name]), name == "open"))
    first, *rest = names
    if len(verdicts) == 1:
        return f"**{first}**"
    of = stats.plural(len(verdicts), "configuration")
    return ", ".join((f"**{first}** on {counts[first]} of {of}", *(f"{name} on {counts[name]}" for name in rest)))


def _by(row: Any) -> str:
    """How many times less, or more, than allocating, and where."""
    turned = row.verdict == "pool"
    ratio, low, high = (1 / row.ratio, 1 / row.high, 1 / row.low) if turned else (row.ratio, row.low, row.high)
    return f"by {stats.significant(ratio)} ({stats.ends(low, high)}) on {row.configuration}, n = {row.n}"


def _of_buffers(best: pd.DataFrame, figures: bool) -> str:
    """Allocate or pool with one kind of buffers, by its configurations; the first pool that is cheaper with its
    figures."""
    (buffers,) = best["buffers"].unique()
    told = f"{buffers} {_counts(best['verdict'])}"
    decided = best[best["verdict"] == "pool"].head(int(figures))
    return told + "".join(f" ({LABELS[row.strategy]} is cheaper {_by(row)})" for row in records(decided))


def _everywhere(rows: pd.DataFrame, figures: bool) -> str:
    """One strategy, over all configurations and topologies: how often it is cheaper, and dearer, than allocating."""
    cheaper, dearer = (rows[rows["verdict"] == name] for name in ("pool", "allocate"))
    least, most = (
        "".join(f" (at most {_by(row)}, {row.topology})" for row in records(of))
        for of in (cheaper.nsmallest(int(figures), "ratio"), dearer.nlargest(int(figures), "ratio"))
    )
    every = stats.plural(len(rows), "comparison")
    return (
        f"is cheaper than allocating in {len(cheaper)} of {every}{least}, and dearer in {len(dearer) or 'none'}{most}."
    )


def _sentences(trials: pd.DataFrame, figures: bool) -> list[str]:
    """Allocate or pool in each topology, and two strategies that readers ask for; ``figures``: by how much."""
    rows = judged(trials)
    buffers_of = _buffers(trials)
    ran = {(cell.topology, buffers_of[cell.configuration]) for cell in Campaign(trials).at_most_threads()}
    best = _best_of_each(rows[rows["strategy"] != _NO_POOL])
    sentences = []
    for topology, where in _TOPOLOGIES.items():
        told = []
        for buffers in _BUFFERS:
            mine = best[(best["topology"] == topology) & (best["buffers"] == buffers)]
            if len(mine):
                told.append(_of_buffers(mine, figures))
            elif (topology, buffers) in ran:
                told.append(f"{buffers} nothing has the trials that a verdict takes")
        sentences.append(f"{where}: {'; '.join(told) or 'not part of this campaign'}.")
    for strategy, named in (
        (_WRITTEN_FIRST, "The pool that is written first, one stack under a lock,"),
        (_NO_POOL, "No pool at all, where the ring is the memory and only what is kept is copied,"),
    ):
        mine = rows[rows["strategy"] == strategy]
        if len(mine):
            sentences.append(f"{named} {_everywhere(mine, figures)}")
    return sentences


def advice(trials: pd.DataFrame) -> str:
    """The answer with its figures, as a list."""
    return "\n".join(f"{place}. {sentence}" for place, sentence in enumerate(_sentences(trials, True), 1))


def judged_words(rows: pd.DataFrame) -> str:
    """What the figure of `judged` counts and how, for its caption."""
    trials = f"n = {_each(rows['n'])}" if len(rows) else "no"
    return (
        f"Ratios of geometric means at the most workers, {trials} trials a side. Decided: the interval leaves out 1, "
        "at 5% for all of a topology and a kind of buffers together."
    )


def of_collectors(trials: pd.DataFrame) -> pd.DataFrame:
    """Of each Java configuration the pool that speaks for it: what it and allocating cost, what of that the collector's
    own threads take, and the verdict on the rest; ``rest`` is a word of `_LEADS`."""
    campaign = Campaign(trials)
    rows = judged(trials)
    best = _best_of_each(rows[(rows["strategy"] != _NO_POOL) & (rows["buffers"] != _BUFFERS[2])])
    pairs = []
    for row in records(best):
        pool = Cell(row.configuration, row.topology, row.threads, row.strategy)
        pairs.append((pool, pool._replace(strategy="alloc")))
    effect = effect_that_matters()
    rests = together([
        partial(compare, campaign.without_collector(pool), campaign.without_collector(alloc), effect)
        for pool, alloc in pairs
    ])  # fmt: skip
    told = []
    for row, (pool, alloc), rest in zip(records(best), pairs, rests, strict=True):
        share = {cell: float(campaign.done(cell)["gc_cpu_share"].astype(float).mean()) for cell in (alloc, pool)}
        told.append({
            "topology": row.topology, "buffers": row.buffers, "configuration": row.configuration,
            "pool": LABELS[row.strategy],
            "verdict": row.verdict,
            "alloc_ns": _mean(campaign.costs(alloc)), "alloc_share": share[alloc],
            "pool_ns": _mean(campaign.costs(pool)), "pool_share": share[pool],
            "rest": _LEADS[rest.verdict], "rest_over_alloc": rest.text(),
        })  # fmt: skip
    names = ["topology", "buffers", "configuration", "pool", "verdict", "alloc_ns", "alloc_share", "pool_ns",
    "pool_share",
             "rest", "rest_over_alloc"]  # fmt: skip
    return pd.DataFrame(told, columns=names)


def of_collectors_shown(split: pd.DataFrame) -> pd.DataFrame:
    """`of_collectors` for a reader."""
    return pd.DataFrame({
        "configuration": split["configuration"], "topology": split["topology"], "pool": split["pool"],
        "allocating, ns a packet": split["alloc_ns"].map(stats.significant),
        "the collector's, allocating": split["alloc_share"].map("{:.0%}".format),
        "pool, ns a packet": split["pool_ns"].map(stats.significant),
        "the collector's, pool": split["pool_share"].map("{:.0%}".format),
        "the rest, pool over allocating": split["rest_over_alloc"],
    })  # fmt: skip


_LANGUAGES = {"java": "Java", "cpp": "C++"}


def planned(plan: pd.DataFrame) -> pd.DataFrame:
    """What the profile runs of each strategy and language, with how many workers, and why it leaves out the rest."""
    rows = []
    for (language, strategy), group in plan.groupby(["language", "strategy"], sort=False):
        runs, rest = group[group["planned"].astype(bool)], group[~group["planned"].astype(bool)]
        gaps = [f"{', '.join(of['topology'])}: {why}" for why, of in rest.groupby("left_out_because", sort=False)]
        rows.append({
            "strategy": LABELS[str(strategy)], "in": _LANGUAGES[str(language)], "means": group["means"].iloc[0],
            "runs with workers": "; ".join(f"{row.topology}: {row.threads}" for row in records(runs)) or None,
            "left out": "; ".join(gaps) or None,
        })  # fmt: skip
    return pd.DataFrame(rows, columns=["strategy", "in", "means", "runs with workers", "left out"])


def verdict(trials: pd.DataFrame, verdicts: list[Verdict]) -> str:
    """The answer of the page."""
    if finished(trials).empty:
        return _NOTHING
    return f"{advice(trials)}\n\n{tally(verdicts, 'claim')}"


def take_home(profile: str) -> str:
    """The advice on what is stored under a profile, without its figures."""
    try:
        return " ".join(_sentences(read_tables("threads", profile)[0]["trials"], False))
    except UserError:
        return _NOTHING
