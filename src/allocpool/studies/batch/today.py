"""Conclusions of this package on today's Java, each a test that fresh data can fail."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from allocpool.decisions import compare
from allocpool.evidence import claims
from allocpool.evidence.claims import Claim, Evidence, Ordering, Verdict, of_orderings
from allocpool.evidence.declared import sentence
from allocpool.packets.cells import with_cost
from allocpool.studies.batch.long_windows import in_whole_windows

SOURCE = "This package"
_LATER = 21
"""The release from which on a claim on steady state is made."""
_JEP_522 = 26
"""The first release in which G1's barrier no longer synchronises with refinement (JEP 522)."""


def _values(trials: pd.DataFrame, configuration: str, strategy: str, column: str, case: str = "B") -> pd.Series:
    """One figure per trial of a cell, in order of blocks."""
    here = (trials["configuration"] == configuration) & (trials["strategy"] == strategy) & (trials["case"] == case)
    done = with_cost(trials[here]).sort_values("block", kind="stable")
    return done[column].dropna().astype(float)


def _releases(trials: pd.DataFrame, collector: str) -> list[int]:
    rows = trials[(trials["collector"] == collector) & (trials["layout"] == "heap") & (trials["case"] == "B")]
    return sorted(set(rows["runtime"].dropna().astype(int)))


def _ordering(larger: tuple[str, pd.Series], smaller: tuple[str, pd.Series]) -> Ordering:
    return Ordering(larger[0], smaller[0], compare(larger[1], smaller[1]))


def _allocating_is_cheaper(trials: pd.DataFrame) -> Evidence:
    rows = []
    for release in (each for each in _releases(trials, "g1") if each >= _LATER):
        configuration = f"heap / G1 / {release}"
        sides = [(f"{strategy}, G1, JDK {release}", _values(trials, configuration, strategy, "ns_per_packet"))
                 for strategy in ("pool", "alloc")]  # fmt: skip
        rows.append(_ordering(*sides))
    return of_orderings(rows)


def _start_over_steady(trials: pd.DataFrame, release: int) -> tuple[str, pd.Series]:
    configuration = f"heap / G1 / {release}"
    start = _values(trials, configuration, "pool", "start_ns_per_packet")
    return f"start over steady, pool, G1, JDK {release}", start / _values(
        trials, configuration, "pool", "ns_per_packet"
    )


def _the_start_was_dear(trials: pd.DataFrame) -> Evidence:
    releases = _releases(trials, "g1")
    before = [release for release in releases if release < _JEP_522][-1:]
    after = [release for release in releases if release >= _JEP_522]
    return of_orderings(
        [
            _ordering(_start_over_steady(trials, one), _start_over_steady(trials, other))
            for one in before
            for other in after
        ]
    )


def _plain_memory_is_cheaper(trials: pd.DataFrame) -> Evidence:
    flat = trials[(trials["layout"] == "flat") & (trials["language"] == "java")]["configuration"]
    rows = []
    for configuration in dict.fromkeys(flat):
        of_objects = configuration.replace("flat /", "heap /", 1)
        pools = [
            (f"pool, {name}", _values(trials, name, "pool", "ns_per_packet")) for name in (of_objects, configuration)
        ]
        rows.append(_ordering(*pools))
        fresh = (f"alloc, {of_objects}", _values(trials, of_objects, "alloc", "ns_per_packet"))
        rows.append(_ordering(fresh, pools[1]))
    return of_orderings(rows)


CLAIMS: Sequence[Claim[pd.DataFrame]] = (
    Claim(
        "alloc-cheaper-today",
        "In steady state at 200,000 messages alive, allocating is cheaper than the full pool under G1 on every JDK "
        f"from {_LATER} on.",
        SOURCE,
        _allocating_is_cheaper,
        sentence,
    ),
    Claim(
        "jep-522-start",
        "A pool's first half minute under G1 is dearer over its steady state before JEP 522 (JDK 26) than from it on.",
        SOURCE,
        _the_start_was_dear,
        sentence,
    ),
    Claim(
        "plain-memory-pool",
        "A pool of plain memory, whose slots hold no references, is cheaper under G1 than a pool of objects, and than "
        "allocating.",
        SOURCE,
        _plain_memory_is_cheaper,
        sentence,
    ),
)


def evaluate(*trials: pd.DataFrame) -> list[Verdict]:
    """Return the verdicts of these claims on trials of one machine at the published sizes.

    Only trials whose window pays for all that it causes take part (`long_windows.in_whole_windows`).
    """
    return claims.evaluate(CLAIMS, in_whole_windows(pd.concat(trials, ignore_index=True)))
