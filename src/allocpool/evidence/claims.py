"""One judge of claims: a claim is a conclusion, published or our own, restated as a test that fresh data can fail.

A study says how its data become *evidence*: rows, one for each thing that the claim says, each shown as published,
shown the other way round, not shown to differ, or not measured. One row shown the other way round refutes the claim; it
is reproduced only when every row is shown as published; anything else is inconclusive. A claim that says "most" or
"almost every" asks for so many rows and no more. What was no part of the campaign, or has no figure, goes with the
verdict, each with its reason.

A claim says what its source says, even where the source's own figures deny it: these go through the same rows, and what
they say stands beside the verdict. It can be put to several *set-ups*, each with a verdict of its own.
"""

from __future__ import annotations

import math
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

Frequency = Literal["every", "almost every", "most"]
_LEAST_ROWS: dict[Frequency, Callable[[int], int]] = {
    "every": lambda rows: rows,
    "almost every": lambda rows: math.ceil(0.9 * rows),
    "most": lambda rows: rows // 2 + 1,
}
"""So many of its rows a claim needs as published: all of them, nine in ten, more than half."""
_MISSING_TOLD = 2

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
    ``published_ratios``: where the source gives figures, the ratios of the same comparisons there. ``published``: those
    figures as evidence. ``asks``: how many of its rows must be as published; so many the other way round that these
    can't be reached any more refute it. ``needs_all``: whether what the data lack keeps it open, even where every row
    of the evidence is as published. ``refuted_by``: of a claim that asks for every row, whether one can refute it, or
    only all of them together. ``set_ups``: names of those that it is put to, one verdict each.
    """

    id: str
    text: str
    source: str
    evidence: Callable[[Data], Evidence]
    sentence: Callable[[Evidence], str]
    published_ratios: Callable[[], pd.Series] | None = None
    needs_all: bool = False
    refuted_by: Literal["one", "all"] = "one"
    published: Callable[[], Evidence] | None = None
    asks: Frequency = "every"
    set_ups: tuple[str, ...] = ("",)


@dataclass(frozen=True)
class Verdict:
    """What the data say about a claim: the outcome, a computed sentence, and the rows of evidence behind it.

    ``missing``: what was no part of the campaign or has no figure, each with its reason. ``set_up``: the one that the
    claim was put to, empty where there is but one.
    """

    claim: Claim[Any]
    outcome: str
    sentence: str
    evidence: pd.DataFrame
    missing: tuple[Missing, ...]
    set_up: str = ""


def judge(claim: Claim[Data], data: Data, set_up: str = "") -> Verdict:
    """Put a claim to a campaign's data."""
    evidence = claim.evidence(data)
    sentence = claim.sentence(evidence)
    ratios = claim.published_ratios() if len(evidence.rows) and claim.published_ratios else ()
    if len(ratios):
        sentence += f" The published ratios are {stats.span(pd.Series(ratios))}."
    return Verdict(claim, _outcome(claim, evidence), sentence, evidence.rows, evidence.missing, set_up)


def _outcome(claim: Claim[Any], evidence: Evidence) -> str:
    total, against = len(evidence.rows), len(evidence.against)
    least = _LEAST_ROWS[claim.asks](total)
    if against > max(0, total - least) and (claim.refuted_by == "one" or against == total):
        return REFUTED
    complete = 0 < least <= evidence.count(AS_PUBLISHED) and not (claim.needs_all and evidence.missing)
    return REPRODUCED if complete else INCONCLUSIVE


def evaluate(claims: Iterable[Claim[Data]], data: Data) -> list[Verdict]:
    """Put every claim to a campaign's data."""
    return [judge(claim, data) for claim in claims]


def evaluate_apart(claims: Iterable[Claim[Data]], data_of: Callable[[str], Data]) -> list[Verdict]:
    """Put every claim to each of its set-ups, whose data ``data_of`` gives by name."""
    known: dict[str, Data] = {}
    verdicts = []
    for claim in claims:
        for name in claim.set_ups:
            if name not in known:
                known[name] = data_of(name)
            verdicts.append(judge(claim, known[name], name))
    return verdicts


def published_says(claim: Claim[Any]) -> str | None:
    """What the source's own figures say of a claim, counted by rows of evidence; None where they are not asked."""
    if claim.published is None:
        return None
    evidence = claim.published()
    total, against = len(evidence.measured), len(evidence.against)
    if not total:
        return "no figure"
    borne_out = evidence.count(AS_PUBLISHED)
    if borne_out >= _LEAST_ROWS[claim.asks](total):
        return f"borne out, {borne_out} of {total}"
    return f"denied in {against} of {total}" if against else f"left open, {borne_out} of {total}"


@dataclass(frozen=True)
class Ordering:
    """One expected ordering: ``larger`` is more than ``smaller``; where no block holds both, ``why_not`` says why, or
    ``gaps`` what of it is missing."""

    larger: str
    smaller: str
    comparison: stats.Comparison
    why_not: str = "no block has a figure for both"
    gaps: tuple[Missing, ...] = ()

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
        gap
        for item in orderings
        if item.shown == NOT_MEASURED
        for gap in item.gaps or (Missing(f"{item.larger} over {item.smaller}", item.why_not),)
    ]
    return Evidence(
        pd.DataFrame(rows, columns=["larger", "smaller", "ratio", "low", "high", "blocks", "shown"]),
        tuple(dict.fromkeys([*missing, *lacking])),
    )


def verdict_table(verdicts: Sequence[Verdict]) -> pd.DataFrame:
    """One row per verdict: claim, verdict, what was found; where any has it, also set-up, what the published figures
    say, and what is missing."""
    rows = pd.DataFrame(
        [
            {
                "claim": v.claim.text, "set-up": v.set_up, "verdict": v.outcome, "found": v.sentence,
                "published figures": published_says(v.claim), "missing": told_missing(v.missing),
            }
            for v in verdicts
        ],
        columns=["claim", "set-up", "verdict", "found", "published figures", "missing"],
    )  # fmt: skip
    optional = ("set-up", "published figures", "missing")
    return rows.drop(columns=[name for name in optional if not rows[name].fillna("").astype(bool).any()])


def told_missing(missing: Sequence[Missing]) -> str:
    """What is missing, in short: by reason, the first few of each."""
    by_reason: dict[str, list[str]] = {}
    for item in missing:
        by_reason.setdefault(item.why, []).append(item.what)
    told = [f"{_first(whats, '; ')}: {why}" for why, whats in by_reason.items()]
    return _first(told, ". ")


def _first(items: Sequence[str], between: str) -> str:
    more = len(items) - _MISSING_TOLD
    return between.join(items[:_MISSING_TOLD]) + (f"{between}{more} more" if more > 0 else "")


def tally(verdicts: Sequence[Verdict]) -> str:
    """A sentence counting the outcomes."""
    counts = {name: sum(v.outcome == name for v in verdicts) for name in (REPRODUCED, REFUTED, INCONCLUSIVE)}
    claims = len({v.claim.id for v in verdicts})
    judged = f"{claims} published claims" if claims == len(verdicts) else f"{len(verdicts)} verdicts on {claims} claims"
    return f"Of {judged}, " + ", ".join(f"{n} {name}" for name, n in counts.items()) + "."
