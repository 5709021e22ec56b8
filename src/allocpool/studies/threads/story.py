"""What the page on many threads says: every figure of it computed."""

from __future__ import annotations

import pandas as pd

from allocpool import stats
from allocpool.campaign.campaign import read_tables
from allocpool.decisions import in_words
from allocpool.errors import UserError
from allocpool.evidence.claims import Verdict
from allocpool.evidence.trials import counted, disturbances, failures, finished, gap_of
from allocpool.studies.threads.cells import WALL, Cell, cells_of, compared, costs, most_threads
from allocpool.studies.threads.strategies import STRATEGIES
from allocpool.studies.threads.study import ThreadsProfile

_NOTHING = "Nothing was measured yet."


def design(profile: ThreadsProfile) -> str:
    """Sizes of the campaign."""
    return (
        f"Each trial runs at scale {profile.scale:g} and measures {profile.seconds:g} s after "
        f"{profile.warmup_seconds:g} s of warm-up, in {profile.blocks} repetition{'s' if profile.blocks > 1 else ''}."
    )


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
    return " ".join(said)


def machine(trials: pd.DataFrame, limit: float | None) -> str:
    """How trials ended, and what disturbed them."""
    return f"{failures(trials)} {disturbances(trials, limit)}" if len(trials) else _NOTHING


def ladder(trials: pd.DataFrame, topology: str) -> pd.DataFrame:
    """Each strategy at the most threads: CPU and wall time a packet, and its CPU over that of allocation."""
    rows = []
    for solution in trials["solution"].unique():
        threads = most_threads(finished(trials), str(solution), topology)
        plain = Cell(str(solution), topology, threads, "alloc")
        for strategy in STRATEGIES:
            cell = Cell(str(solution), topology, threads, strategy)
            if not threads or cell.among(trials).empty:
                continue
            cpu, wall = costs(trials, cell), costs(trials, cell, WALL)
            rows.append({
                "solution": solution, "strategy": strategy, "threads": threads,
                "cpu_ns": stats.geometric_mean(cpu) if len(cpu) else float("nan"),
                "wall_ns": stats.geometric_mean(wall) if len(wall) else float("nan"),
                "over_alloc": "" if strategy == "alloc" else compared(trials, cell, plain).text(),
                "why_not": None if len(cpu) else gap_of(cell.among(trials)).text,
            })  # fmt: skip
    names = ["solution", "strategy", "threads", "cpu_ns", "wall_ns", "over_alloc", "why_not"]
    table = pd.DataFrame(rows, columns=names)
    order = {name: place for place, name in enumerate(trials["solution"].unique())}
    return table.sort_values(
        ["solution", "cpu_ns"], key=lambda column: column.map(order) if column.name == "solution" else column
    )


def shown(table: pd.DataFrame) -> pd.DataFrame:
    """`ladder` for a reader."""
    if table.empty:
        return pd.DataFrame({"what": ["not part of this campaign"]})
    told = table.assign(
        cpu_ns=table["cpu_ns"].map(stats.significant), wall_ns=table["wall_ns"].map(stats.significant)
    ).rename(columns={"cpu_ns": "CPU, ns a packet", "wall_ns": "wall, ns a packet", "over_alloc": "CPU over alloc's",
                      "why_not": "why not"})  # fmt: skip
    return told if table["why_not"].notna().any() else told.drop(columns="why not")


def remote(trials: pd.DataFrame) -> pd.DataFrame:
    """Allocation where every free is remote over allocation where none is, and the share of remote frees."""
    rows = []
    for cell in cells_of(trials):
        if cell.topology != "pipeline" or cell.strategy != "alloc":
            continue
        local = cell._replace(topology="sharded")
        done = finished(cell.among(trials))
        rows.append({
            "solution": cell.solution, "threads": cell.threads,
            "remote frees": f"{done['remote_share'].astype(float).mean():.0%}" if len(done) else "-",
            "CPU over no remote frees": compared(trials, cell, local).text(),
        })  # fmt: skip
    return pd.DataFrame(rows, columns=["solution", "threads", "remote frees", "CPU over no remote frees"])


def scaling(trials: pd.DataFrame) -> pd.DataFrame:
    """Wall time a packet with one thread over that with the most: how many times as fast."""
    rows = []
    for cell in cells_of(trials):
        one = cell._replace(threads=1)
        if cell.threads != most_threads(finished(trials), cell.solution, cell.topology) or cell.threads == 1:
            continue
        if one.among(trials).empty:
            continue
        rows.append({
            "solution": cell.solution, "topology": cell.topology, "strategy": cell.strategy, "threads": cell.threads,
            "times as fast as one": compared(trials, one, cell, WALL).text(),
        })  # fmt: skip
    return pd.DataFrame(rows, columns=["solution", "topology", "strategy", "threads", "times as fast as one"])


def books(trials: pd.DataFrame) -> pd.DataFrame:
    """Remote frees, imbalance of rings, blow-up of pools, pauses and times to safepoint: medians, by configuration."""
    done = finished(counted(trials))
    rows = []
    for cell in cells_of(done):
        mine = cell.among(done)
        if cell.threads != most_threads(done, cell.solution, cell.topology):
            continue

        def median(name: str, of: pd.DataFrame = mine) -> str:
            values = of[name].dropna().astype(float)
            return stats.significant(float(values.median())) if len(values) else "-"

        rows.append({
            "solution": cell.solution, "topology": cell.topology, "strategy": cell.strategy, "threads": cell.threads,
            "remote share": median("remote_share"), "imbalance": median("imbalance"), "blow-up": median("blow_up"),
            "longest pause, ms": median("gc_pause_max_ms"), "longest way to a safepoint, ms": median("reaching_max_ms"),
            "CPU of the collector, share": median("gc_cpu_share"),
        })  # fmt: skip
    return pd.DataFrame(rows)


def _best(trials: pd.DataFrame, topology: str, part: str = "") -> str | None:
    """The cheapest strategy of each topology against allocation, in words."""
    done = finished(counted(trials))
    found = [
        (stats.geometric_mean(costs(trials, cell)), cell)
        for cell in cells_of(done)
        if cell.topology == topology
        and part in cell.solution
        and cell.threads == most_threads(done, cell.solution, topology)
        and len(costs(trials, cell))
    ]
    if not found:
        return None
    _, best = min(found, key=lambda pair: pair[0])
    if best.strategy == "alloc":
        pools = [pair for pair in found if pair[1].solution == best.solution and pair[1].strategy != "alloc"]
        if not pools:
            return f"only allocation was measured on {best.solution}"
        rival = min(pools, key=lambda pair: pair[0])[1]
    else:
        rival = best._replace(strategy="alloc")
        if costs(trials, rival).empty:
            return f"{best.label} costs least, and allocation was not measured beside it"
    told = compared(trials, best, rival)
    return (
        f"{best.label} costs least; against {rival.strategy}: {in_words(told.decision, best.strategy, rival.strategy)}"
    )


def advice(trials: pd.DataFrame) -> str:
    """Three sentences, each of them computed."""
    sentences = []
    for topology, where in (
        ("sharded", "Where each thread frees what it obtained"),
        ("pipeline", "Where another thread frees it"),
        ("virtual", "On virtual threads"),
    ):
        best = _best(trials, topology)
        sentences.append(f"{where}, {best}." if best else f"{where}: not part of this campaign.")
    return "\n".join(f"{place}. {sentence}" for place, sentence in enumerate(sentences, 1))


def verdict(trials: pd.DataFrame, verdicts: list[Verdict]) -> str:
    """The answer of the page."""
    if finished(trials).empty:
        return _NOTHING
    outcomes = ", ".join(
        f"{sum(v.outcome == word for v in verdicts)} {word}" for word in dict.fromkeys(v.outcome for v in verdicts)
    )
    return f"{advice(trials)}\n\nOf {len(verdicts)} claims: {outcomes}."


def take_home(profile: str) -> str:
    """The advice on what is stored under a profile."""
    try:
        return advice(read_tables("threads", profile)[0]["trials"])
    except UserError:
        return _NOTHING
