"""The decision map for a reader: what it consists of, what it shows here and elsewhere, how far to trust it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pandas as pd

from allocpool.campaign import hosts
from allocpool.decisions import A_CHEAPER, B_CHEAPER, EQUIVALENT, OPEN
from allocpool.evidence.trials import finished, records
from allocpool.packets.comparisons import UNDECIDED
from allocpool.stats import plural, significant
from allocpool.studies.realtime import decision_map as maps
from allocpool.studies.realtime import proof
from allocpool.studies.realtime.cells import with_ends
from allocpool.studies.realtime.study import STUDY, MapPart


def design(part: MapPart) -> str:
    """What the decision map consists of, from its profile."""
    if not part.configurations:
        return "This profile has no decision map."
    lives = ", ".join(f"{live:,}" for live in part.live_messages)
    searches = f", and {part.blocks} searches at each live set" if part.blocks else ""
    return (
        f"{plural(len(part.configurations), 'collector')}, allocating and pooling, with {lives} messages alive in a "
        f"heap of {part.heap_mb} MiB: {part.trials} trials for each boundary at first{searches}. Each trial lasts "
        f"{part.seconds:g} s after its warm-up, whatever its interval, between {part.low_ns:,.0f} and "
        f"{part.high_ns:,.0f} ns."
    )


def verdict(tables: Mapping[str, pd.DataFrame], point: tuple[float, float] | None = None) -> str:
    """What the decision map shows, and in which region the reader's own point (messages alive, messages a second)
    lies."""
    trials = tables["map"]
    found = maps.boundaries(trials)
    if not found["edge_ns"].notna().any():
        return "**Open.** No trials show yet where allocating or pooling begins to lose messages."
    told = maps.comparisons(trials)
    deadline_ms = found["deadline_ms"].max()
    counts = told["verdict"].value_counts()
    pool, alloc, equal = (int(counts.get(way, 0)) for way in (B_CHEAPER, A_CHEAPER, EQUIVALENT))
    text = (
        f"{_headline(pool, alloc, equal, len(told))} Highest rate without a loss within {deadline_ms:g} ms, "
        f"{plural(len(told), 'comparison')} of allocating with pooling "
        f"({told['configuration'].nunique()} collectors, {told['live_messages'].nunique()} live sets), decided "
        f"together: pooling keeps up with a higher rate in {pool}, allocating in {alloc}, no difference that matters "
        f"in {equal}, {len(told) - pool - alloc - equal} open"
    )
    decided = told[told["verdict"].isin([A_CHEAPER, B_CHEAPER])]
    if len(decided):
        most = records(decided.loc[[decided["ratio"].map(math.log).abs().idxmax()]])[0]
        one, other = ("pooling", "allocating") if most.verdict == B_CHEAPER else ("allocating", "pooling")
        ends = (most.ratio, most.low, most.high) if most.ratio > 1 else (1 / most.ratio, 1 / most.high, 1 / most.low)
        text += (
            f"; the farthest apart by {with_ends(*ends)} times, {one} over {other}, {most.configuration} with "
            f"{most.live_messages:,} messages alive"
        )
    text += "."
    if point is not None:
        regions = ", ".join(
            f"{configuration}: {maps.region_of_point(found, configuration, deadline_ms, point)}"
            for configuration in found["configuration"].unique()
        )
        text += f" With {point[0]:,.0f} messages alive and {point[1]:,.0f} a second: {regions}."
    return text


def elsewhere(profile: str, tables: Mapping[str, pd.DataFrame]) -> str:
    """What the decision maps of other hosts show, each by itself; empty where there is none."""
    labels = {host.host_id: host.label for host in hosts.of_hosts(STUDY.name, profile)}
    every = hosts.tables_of_hosts(STUDY.name, profile).get("map", tables["map"])
    theirs = every[~every["host_id"].isin(set(tables["map"]["host_id"]))]
    told = [
        f"**On another host**, {labels[str(host_id)]}: {verdict({'map': rows})}"
        for host_id, rows in theirs.groupby("host_id")
    ]
    return "\n\n".join(told)


def _headline(pool: int, alloc: int, equal: int, asked: int) -> str:
    """Who keeps up with more, in a few words, from how many boundaries are shown to lie which way round."""
    decided = pool + alloc + equal
    if decided < _LEAST_DECIDED or 2 * decided < asked:
        return f"**{UNDECIDED}.**"
    word = (
        "no difference that matters" if 2 * equal > decided
        else "pool" if not alloc else "allocate" if not pool else "it depends"
    )  # fmt: skip
    return f"**With a deadline: {word}.**"


_LEAST_DECIDED = 2
"""Boundaries, and half of those that were asked: fewer have no answer in common."""


def caption(tables: Mapping[str, pd.DataFrame]) -> str:
    """How the map is read, and on how many trials it rests; which boundaries it lacks stands in `table`."""
    trials = tables["map"]
    found = maps.boundaries(trials)
    known = found[found["edge_ns"].notna()]
    if known.empty:
        return "No boundary is known yet."
    seconds = significant(finished(trials)["seconds"].astype(float).median(), 2)
    return (
        f"Boundaries are where every other trial of {seconds} s loses, each fitted to "
        f"{plural(int(known['trials'].min()), 'trial')} or more; a longer trial sees more losses. Bands: 95%, whenever "
        "one looks."
    )


def table(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Both boundaries of each collector, live set and deadline in words, and whose is smaller."""
    found = maps.boundaries(tables["map"])
    tried = maps.tried_without_loss_ns(tables["map"])
    rows = []
    for deadline_ms in sorted(found["deadline_ms"].unique()):
        told = {(row.configuration, row.live_messages): row
                for row in records(maps.comparisons(tables["map"], deadline_ms))}  # fmt: skip
        at = found[found["deadline_ms"] == deadline_ms]
        for (configuration, live), group in at.groupby(["configuration", "live_messages"], sort=False, observed=True):
            sides = {row.strategy: row for row in records(group)}
            compared = told.get((configuration, live))
            rows.append({
                "configuration": configuration, "deadline, ms": f"{deadline_ms:g}", "messages alive": f"{live:,}",
                **{f"{name}, ns": _boundary(sides.get(name), tried.get((configuration, name, deadline_ms, live)))
                   for name in maps.STRATEGIES},
                "alloc / pool": "-" if compared is None else with_ends(compared.ratio, compared.low, compared.high),
                "verdict": "-" if compared is None else _WORDS[compared.verdict],
            })  # fmt: skip
    columns = ["configuration", "deadline, ms", "messages alive", "alloc, ns", "pool, ns", "alloc / pool", "verdict"]
    return pd.DataFrame(rows, columns=columns)


_WORDS = {A_CHEAPER: "allocate", B_CHEAPER: "pool", EQUIVALENT: "no difference that matters", OPEN: "open"}


def _boundary(row: Any, tried_ns: float | None) -> str:
    """``tried_ns``: the shortest interval that was tried, where no trial lost: of a rate beyond it nothing is known."""
    if row is None:
        return "-"
    if tried_ns is not None and pd.notna(row.edge_ns) and row.edge_ns < tried_ns:
        rate = significant(1e9 / tried_ns)
        return f"at most {significant(tried_ns)}, none shorter was tried: at least {rate} a second"
    return str(row.gap) if pd.isna(row.edge_ns) else with_ends(row.edge_ns, row.edge_low_ns, row.edge_high_ns)


def agreement(tables: Mapping[str, pd.DataFrame]) -> str:
    """Whether the fitted boundaries and the searches at the same live sets agree."""
    both = maps.against_searches(tables["map"], tables["map_searches"])
    known = both[both["agrees"].notna()]
    if known.empty:
        return "Nothing was searched at the live sets of the map, or not often enough to be set against the fit."
    apart = known[~known["agrees"].astype(bool)]
    if apart.empty:
        times = int(known["searches"].min())
        return f"At all {len(known)} points that were searched {times} times or more the searches and the fit agree."
    worst = records(apart)[0]
    return (
        f"**At {len(apart)} of {len(known)} points the searches and the fit do not agree**, for example "
        f"{worst.configuration} with {worst.strategy} and {worst.live_messages:,} messages alive: "
        f"{with_ends(worst.searches_ns, worst.searches_low_ns, worst.searches_high_ns)} ns against "
        f"{with_ends(worst.edge_ns, worst.edge_low_ns, worst.edge_high_ns)}."
    )


def errors() -> pd.DataFrame:
    """How often boundaries, verdicts and regions of the map are wrong, as simulated last."""
    rows = [
        {
            "truth": row.truth, "soft edge": f"{row.width:.0%}", "trials": row.n, "maps": row.repetitions,
            "bands that hold": f"{row.holds:.1%}", "high over low, median": significant(row.factor, 2),
            "verdicts, false": f"{row.false:.1%}", "decided": f"{row.decided:.0%}",
            "regions, wrong name": f"{row.misnamed:.1%}", "named": f"{row.named:.0%}",
        }
        for row in records(proof.load())
    ]  # fmt: skip
    return pd.DataFrame(rows)
