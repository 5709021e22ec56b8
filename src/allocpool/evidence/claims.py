"""A claim is one published conclusion restated as a test on data: reproduced, refuted or inconclusive.

Most claims are sets of expected orderings ("this cell costs more than that one"), each a ratio paired
within blocks. One ordering shown the other way round refutes the claim; it is reproduced only when every
ordering is shown and every published collector took part; anything else is inconclusive, and the sentence
says what was missing. The published figures go through the very same tests, as one block, so what is
expected is computed from them as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from allocpool import stats
from allocpool.evidence import reference
from allocpool.packets import cells as cell_data

REPRODUCED, REFUTED, INCONCLUSIVE = "reproduced", "refuted", "inconclusive"
POOLING_STRATEGIES = ("alloc", "mix", "pool")


class Cell(NamedTuple):
    """One configuration of a batch campaign."""

    solution: str
    strategy: str
    case: str

    def __str__(self) -> str:
        return f"{self.solution} {self.strategy} {self.case}"


class Batch:
    """The finished trials of a batch campaign, controls apart, looked up by cell and by published family."""

    def __init__(self, trials: pd.DataFrame) -> None:
        trials = trials[~trials["collector"].isin(cell_data.CONTROLS)]
        self.trials = cell_data.finished(trials)
        facts = trials.drop_duplicates("solution").copy()
        facts["family"] = [
            reference.family(str(language), collector)
            for language, collector in zip(facts["language"], facts["collector"], strict=True)
        ]
        self.facts = facts.set_index("solution")

    @cached_property
    def noise(self) -> stats.NoiseBand:
        return stats.noise_band(self.trials, cell_data.CONFIGURATION)

    @cached_property
    def _values(self) -> dict[tuple[str, str, str], pd.Series]:
        return {
            (str(s), str(t), str(c)): group.set_index("block")["ns_per_packet"].astype(float)
            for (s, t, c), group in self.trials.groupby(list(cell_data.CONFIGURATION), observed=True)
        }

    def values(self, cell: Cell) -> pd.Series:
        """ns/packet indexed by block; empty when no trial of the cell finished."""
        return self._values.get((cell.solution, cell.strategy, cell.case), pd.Series(dtype=float))

    def cost(self, cell: Cell) -> float:
        """Geometric mean in ns/packet, infinite for an empty cell: it never is the cheapest."""
        values = self.values(cell)
        return stats.geometric_mean(values) if len(values) else float("inf")

    def compare(self, larger: Cell, smaller: Cell) -> stats.Comparison:
        return stats.compare(self.values(larger), self.values(smaller), self.noise)

    def solutions(
        self,
        language: str | None = None,
        layout: str | None = None,
        families: Sequence[str] = (),
        collector: str | None = None,
    ) -> list[str]:
        """The solutions of the campaign that match every given fact, in reading order."""
        facts = self.facts
        if language is not None:
            facts = facts[facts["language"] == language]
        if layout is not None:
            facts = facts[facts["layout"] == layout]
        if collector is not None:
            facts = facts[facts["collector"] == collector]
        if families:
            facts = facts[facts["family"].isin(families)]
        return cell_data.solution_order(facts.reset_index()) if len(facts) else []

    def families(self, *cells: Cell) -> frozenset[str]:
        """The published collectors among the solutions of ``cells``."""
        return frozenset(str(name) for name in self.facts.loc[[cell.solution for cell in cells], "family"].dropna())

    def cheapest(self, cells: Iterable[Cell]) -> Cell | None:
        """The cheapest cell that has a figure, or None."""
        ranked = sorted(cells, key=self.cost)
        return ranked[0] if ranked and np.isfinite(self.cost(ranked[0])) else None


@dataclass(frozen=True)
class Ordering:
    """One expected ordering: ``larger`` costs more than ``smaller``. ``comparison.direction`` says what was
    shown.

    ``families`` are the published collectors of the solutions on both sides.
    """

    larger: str
    smaller: str
    comparison: stats.Comparison
    families: frozenset[str]


@dataclass(frozen=True)
class Verdict:
    """What the data say about a claim, in a computed sentence, with one row of ``evidence`` per number
    behind it."""

    claim: Claim
    outcome: str
    sentence: str
    evidence: pd.DataFrame


@dataclass(frozen=True)
class Claim:
    """One published conclusion: ``text`` as a statement, ``source``, and the ``test`` that judges it on a
    campaign."""

    id: str
    text: str
    source: str
    test: Callable[[Claim, Any], Verdict]


OrderingRule = Callable[[Batch], list[Ordering]]
EVIDENCE_COLUMNS = ["larger", "smaller", "ratio", "low", "high", "blocks", "shown"]
_SHOWN = {1: "as published", 0: "no difference shown", -1: "the other way round"}


def ordering_evidence(orderings: Sequence[Ordering]) -> pd.DataFrame:
    """The numbers behind a set of orderings: one row each, ratio = larger / smaller as the article has it."""
    rows = []
    for item in orderings:
        ratio = item.comparison.ratio
        shown = _SHOWN[item.comparison.direction] if ratio else "not measured"
        rows.append(
            [
                item.larger,
                item.smaller,
                *((ratio.estimate, ratio.low, ratio.high, ratio.trials) if ratio else (np.nan, np.nan, np.nan, 0)),
                shown,
            ]
        )
    return pd.DataFrame(rows, columns=EVIDENCE_COLUMNS)


def _judge_orderings(claim: Claim, batch: Batch, rule: OrderingRule, families: Sequence[str]) -> Verdict:
    found = rule(batch)
    evidence = ordering_evidence(found)
    published = ordering_evidence(rule(Batch(reference.published_as_trials())))
    present = frozenset[str]().union(*(item.families for item in found))
    missing = [name for name in families if name not in present]
    shown = evidence["shown"].value_counts()
    against = evidence[evidence["shown"] == "the other way round"]
    total = len(evidence)
    if not total:
        return Verdict(
            claim, INCONCLUSIVE, "Nothing to compare: the solutions that it is about were not run.", evidence
        )
    expected = f"The published ratios are {stats.span(published['ratio'])}."
    if len(against):
        worst = against.nsmallest(1, "ratio").iloc[0]
        sentence = (
            f"Shown the other way round in {len(against)} of {total} comparisons, most of all "
            f"{worst['larger']} at {stats.significant(worst['ratio'], 2)} times {worst['smaller']}."
        )
        return Verdict(claim, REFUTED, f"{sentence} {expected}", evidence)
    measured = evidence[evidence["ratio"].notna()]
    parts = [
        f"Shown in {shown.get('as published', 0)} of {total} comparisons"
        + (f", ratios {stats.span(measured['ratio'])}" if len(measured) else "")
    ]
    parts += [f"{name} in {shown[name]}" for name in ("no difference shown", "not measured") if name in shown]
    parts += [f"not part of this campaign: {', '.join(missing)}"] if missing else []
    complete = shown.get("as published", 0) == total and not missing
    return Verdict(claim, REPRODUCED if complete else INCONCLUSIVE, f"{'; '.join(parts)}. {expected}", evidence)


def orderings(rule: OrderingRule, families: Sequence[str] = ()) -> Callable[[Claim, Batch], Verdict]:
    """A claim's test made of a rule that lists expected orderings; all ``families`` must have taken part."""
    return lambda claim, batch: _judge_orderings(claim, batch, rule, families)


def ordering(batch: Batch, larger: Cell, smaller: Cell) -> Ordering:
    """The expected ordering of two cells."""
    return Ordering(str(larger), str(smaller), batch.compare(larger, smaller), batch.families(larger, smaller))


def ratio_of_ratios(batch: Batch, larger: tuple[Cell, Cell], smaller: tuple[Cell, Cell]) -> Ordering:
    """The expected ordering of two ratios, each of one cell over another within blocks."""
    ratios = [stats.block_ratios(batch.values(top), batch.values(bottom)) for top, bottom in (larger, smaller)]
    names = [f"{top} / {bottom.strategy} {bottom.case}" for top, bottom in (larger, smaller)]
    return Ordering(
        names[0],
        names[1],
        stats.compare(ratios[0], ratios[1], batch.noise),
        batch.families(*larger, *smaller),
    )


def evaluate(claims: Iterable[Claim], trials: pd.DataFrame) -> list[Verdict]:
    """Put every claim to a campaign's trials (one row per trial, failed ones included)."""
    batch = Batch(trials)
    return [claim.test(claim, batch) for claim in claims]


def verdict_table(verdicts: Sequence[Verdict]) -> pd.DataFrame:
    """One row per claim: claim, verdict, what was found."""
    return pd.DataFrame(
        [{"claim": v.claim.text, "verdict": v.outcome, "found": v.sentence} for v in verdicts],
        columns=["claim", "verdict", "found"],
    )


def tally(verdicts: Sequence[Verdict]) -> str:
    """A sentence counting the outcomes."""
    counts = {name: sum(v.outcome == name for v in verdicts) for name in (REPRODUCED, REFUTED, INCONCLUSIVE)}
    return f"Of {len(verdicts)} published claims, " + ", ".join(f"{n} {name}" for name, n in counts.items()) + "."


__all__ = [
    "Batch",
    "Cell",
    "Claim",
    "Ordering",
    "Verdict",
    "evaluate",
    "ordering",
    "orderings",
    "ratio_of_ratios",
    "tally",
    "verdict_table",
]
