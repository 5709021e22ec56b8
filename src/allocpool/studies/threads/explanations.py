"""Why claims on many threads fail here: one thing is changed about a comparison that is the other way round, or about
what counts of it. All trials are those of the campaign."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd

from allocpool.evidence.ablation import Ablation, Asked, Changed, Sides, ablations, failed
from allocpool.evidence.claims import OTHER_WAY, Verdict
from allocpool.evidence.declared import Cell, Cells, Selection
from allocpool.runtimes.collectors import collector_named
from allocpool.studies.threads.claims import CLAIMS, PROGRAM, THREADS, cells_of, on_set_up


def of_claims(trials: pd.DataFrame, verdicts: Sequence[Verdict]) -> list[Ablation]:
    """Judge every change of every comparison that is the other way round, of the claims that these verdicts refute."""
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
