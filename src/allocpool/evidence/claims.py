"""One judge of claims: a claim is a conclusion, published or our own, restated as a test that fresh data can fail.

A study says how its data become *evidence*: rows, one for each thing that the claim says, each shown as published,
shown the other way round, not shown to differ, or not measured. One row shown the other way round refutes the claim; it
is reproduced only when every row is shown as published; anything else is inconclusive. What was no part of the
campaign, or has no figure, goes with the verdict, each with its reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, NamedTuple, TypeVar

import numpy as np
import pandas as pd

from allocpool import stats

REPRODUCED, REFUTED, INCONCLUSIVE = "reproduced", "refuted", "inconclusive"
AS_PUBLISHED, NO_DIFFERENCE, OTHER_WAY, NOT_MEASURED = (
    "as published", "no difference shown", "the other way round", "not measured",
)  # fmt: skip
SHOWN = {1: AS_PUBLISHED, 0: NO_DIFFERENCE, -1: OTHER_WAY}
"""What a direction (see `stats.Comparison`) shows of an expected ordering."""

Data = TypeVar("Data")


class Missing(NamedTuple):
    """Something that a claim speaks of and the data lack: ``what``, and the reason ``why``."""

    what: str
    why: str


@dataclass(frozen=True)
class Evidence:
    """What the data have to say to a claim.

    ``rows``: one per thing that it says, with column ``shown`` (`AS_PUBLISHED`, `NO_DIFFERENCE`, `OTHER_WAY` or
    `NOT_MEASURED`); the columns before it say what was found, the last of them being the figure.
    """

    rows: pd.DataFrame
    missing: tuple[Missing, ...] = ()

    def count(self, *shown: str) -> int:
        """How many rows are shown so."""
        return int(self.rows["shown"].isin(shown).sum())

    @property
    def against(self) -> pd.DataFrame:
        """The rows that are shown the other way round."""
        return self.rows[self.rows["shown"] == OTHER_WAY]

    @property
    def measured(self) -> pd.DataFrame:
        """The rows that have a figure."""
        return self.rows[self.rows["shown"] != NOT_MEASURED]


@dataclass(frozen=True)
class Claim(Generic[Data]):
    """One conclusion: ``text`` as a statement, from ``source``.

    ``evidence`` says how a campaign's data become evidence, ``sentence`` tells that evidence in words.
    ``published_ratios``: where the source gives figures, the ratios of the same comparisons there. ``needs_all``:
    whether what the data lack keeps it open, even where every row of the evidence is as published. ``refuted_by``:
    whether one row of the evidence can refute it, or only all of them together.
    """

    id: str
    text: str
    source: str
    evidence: Callable[[Data], Evidence]
    sentence: Callable[[Evidence], str]
    published_ratios: Callable[[], pd.Series] | None = None
    needs_all: bool = False
    refuted_by: Literal["one", "all"] = "one"


@dataclass(frozen=True)
class Verdict:
    """What the data say about a claim: the outcome, a computed sentence, and the rows of evidence behind it.

    ``missing``: what was no part of the campaign or has no figure, each with its reason.
    """

    claim: Claim[Any]
    outcome: str
    sentence: str
    evidence: pd.DataFrame
    missing: tuple[Missing, ...]


def judge(claim: Claim[Data], data: Data) -> Verdict:
    """Put a claim to a campaign's data."""
    evidence = claim.evidence(data)
    sentence = claim.sentence(evidence)
    if len(evidence.rows) and claim.published_ratios is not None:
        sentence += f" The published ratios are {stats.span(claim.published_ratios())}."
    return Verdict(claim, _outcome(claim, evidence), sentence, evidence.rows, evidence.missing)


def _outcome(claim: Claim[Any], evidence: Evidence) -> str:
    total, against = len(evidence.rows), len(evidence.against)
    if against and (claim.refuted_by == "one" or against == total):
        return REFUTED
    complete = 0 < evidence.count(AS_PUBLISHED) == total and not (claim.needs_all and evidence.missing)
    return REPRODUCED if complete else INCONCLUSIVE


def evaluate(claims: Iterable[Claim[Data]], data: Data) -> list[Verdict]:
    """Put every claim to a campaign's data."""
    return [judge(claim, data) for claim in claims]


@dataclass(frozen=True)
class Ordering:
    """One expected ordering: ``larger`` is more than ``smaller``; where no block holds both, ``why_not`` says why."""

    larger: str
    smaller: str
    comparison: stats.Comparison
    why_not: str = "no block has a figure for both"

    @property
    def shown(self) -> str:
        """What its comparison shows."""
        return NOT_MEASURED if self.comparison.ratio is None else SHOWN[self.comparison.direction]


def of_orderings(orderings: Sequence[Ordering], missing: Iterable[Missing] = ()) -> Evidence:
    """Orderings as evidence: one row each with larger, smaller, ratio (of the two), low, high, blocks, shown."""
    rows = []
    for item in orderings:
        ratio = item.comparison.ratio
        figures = (ratio.estimate, ratio.low, ratio.high, ratio.trials) if ratio else (np.nan, np.nan, np.nan, 0)
        rows.append([item.larger, item.smaller, *figures, item.shown])
    lacking = [
        Missing(f"{item.larger} over {item.smaller}", item.why_not) for item in orderings if item.shown == NOT_MEASURED
    ]
    return Evidence(
        pd.DataFrame(rows, columns=["larger", "smaller", "ratio", "low", "high", "blocks", "shown"]),
        (*missing, *lacking),
    )


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
