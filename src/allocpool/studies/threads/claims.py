"""What the claims of ``claims.yaml`` are put to: the published collectors, those of today, and C++, each apart; and why
claims fail here. All trials are those of the campaign."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import pandas as pd

from allocpool import stats
from allocpool.evidence import claims
from allocpool.evidence.ablation import Ablation, Asked, Changed, Sides, ablations, failed
from allocpool.evidence.claims import OTHER_WAY, Verdict
from allocpool.evidence.declared import Cell, Cells, Selection, claims_of
from allocpool.evidence.trials import counted, finished, gap_of
from allocpool.packets.comparisons import IN_CPP, set_up_of
from allocpool.runtimes.collectors import collector_named
from allocpool.studies.threads.strategies import LABELS, STRATEGIES

CPU = "cpu_ns_per_packet"
PROGRAM = "program_ns_per_packet"
"""CPU without that of the collector's own threads."""
KEYS = ["configuration", "topology", "threads", "strategy"]
THREADS = 2
"""Of the claims."""


def batch(trials: pd.DataFrame) -> pd.DataFrame:
    """Return trials that have a cost: not those in real time, nor those whose time goes to reading counters."""
    trials = trials[trials["interval_ns"].isna() & ~trials["counted"]].reset_index(drop=True)
    return trials.assign(**{PROGRAM: trials[CPU] * (1 - trials["gc_cpu_share"])})


def ended(trials: pd.DataFrame) -> pd.DataFrame:
    """Return those that ended well, in order of time."""
    return finished(counted(trials)).sort_values("started_utc")


def cells_of(trials: pd.DataFrame, value: str = CPU) -> Cells:
    """Return the batch cells with what the trials that ended well cost, ns a packet, in order of time; unpadded ones
    are an experiment apart."""
    groups = batch(trials[trials["padded"]]).groupby(KEYS, sort=False, observed=True)
    return Cells([_cell(group, value) for _, group in groups], tuple(KEYS))


def _cell(trials: pd.DataFrame, value: str) -> Cell:
    columns = [*KEYS, "language", "layout", "runtime", "collector", "allocator"]
    facts: dict[str, Any] = {name: trials[name].iloc[0] for name in columns}
    strategy, threads = STRATEGIES[facts["strategy"]], stats.plural(facts["threads"], "thread")
    facts |= {name: getattr(strategy, name) for name in ("shared", "library", "prepares")}
    label = f"{LABELS[strategy.name]} ({facts['configuration']}, {facts['topology']}, {threads})"
    return Cell(facts, label, ended(trials)[value].dropna().astype(float), gap_of(trials).text)


CLAIMS = claims_of("threads", cells_of)


def evaluate(trials: pd.DataFrame) -> list[Verdict]:
    """Judge every claim on each of its set-ups."""
    return claims.evaluate_apart(CLAIMS, partial(on_set_up, trials))


def on_set_up(trials: pd.DataFrame, set_up: str) -> pd.DataFrame:
    """Return the trials that a claim is put to on a set-up."""
    if set_up == IN_CPP:
        return trials[trials["language"] == "cpp"]
    return trials[trials["runtime"].eq(set_up_of(set_up, trials).runtime).fillna(False).astype(bool)]


def of_campaign(tables: Mapping[str, pd.DataFrame], _settings: Mapping[str, Any]) -> list[Verdict]:
    """Judge the claims on what a campaign left."""
    return evaluate(tables["trials"])


def explained(trials: pd.DataFrame, verdicts: Sequence[Verdict]) -> list[Ablation]:
    """Judge one change at a time of every comparison that is the other way round, of the claims that these verdicts
    refute."""
    asked: list[Asked] = []
    for verdict in failed(verdicts):
        here = on_set_up(trials, verdict.set_up)
        cells, of_program = cells_of(here), cells_of(here, PROGRAM)
        expected = CLAIMS.orderings(verdict.claim.id, cells)
        for item, shown in zip(expected, verdict.evidence["shown"], strict=True):
            if shown == OTHER_WAY:
                sides = larger, smaller = item.cells[0][0], item.cells[1][0]
                for words, among, differs in _changes(cells, of_program, *sides):
                    found = [among.other(cell, differs) for cell in sides]
                    after = Changed(*(cell.values if cell else pd.Series(dtype=float) for cell in found))
                    comparison = f"{larger.label} over {smaller.label}"
                    before = Sides(larger.values, smaller.values)
                    asked.append(Asked(verdict.claim.text, verdict.set_up, comparison, words, before, after))
    return ablations(asked)


def _changes(cells: Cells, of_program: Cells, one: Cell, other: Cell) -> Iterator[tuple[str, Cells, Selection]]:
    """Yield what is changed on both sides, in words, and where the changed cells are and what they differ in."""
    if one.facts["language"] == other.facts["language"] == "java":
        # What it makes the program's threads do or wait for stays in.
        yield "the CPU of the collector's own threads is left out", of_program, {}
    if one.facts["threads"] == other.facts["threads"] == THREADS:
        yield "one thread works", cells, {"threads": 1}
    if one.facts["configuration"] == other.facts["configuration"] and one.facts["language"] == "java":
        alike = [cell for cell in cells.cells if cell.has({name: one.facts[name] for name in ("layout", "runtime")})]
        for name, collector in {cell.facts["configuration"]: cell.facts["collector"] for cell in alike}.items():
            if collector != one.facts["collector"]:
                yield f"the collector is {collector_named(collector).label}", cells, {"configuration": name}
