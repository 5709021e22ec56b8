"""One judge of claims: a claim is a conclusion, published or our own, restated as a test that fresh data can fail.

A study says how its data become *evidence*: rows, one for each thing that the claim says, each with two chances: of so
much evidence for it, were it not so (``p``), and of so much evidence for the reverse beyond what matters, were that not
so (``p_against``). By these each row is shown as published, the other way round, of no difference that matters, or
open.

A claim that every row must be so is *reproduced* when each is (intersection-union: Berger, "Multiparameter hypothesis
testing and acceptance sampling", Technometrics 24, 1982), and *refuted* when at least one is reversed beyond what
matters, paid for by the number of rows (Holm, Scandinavian Journal of Statistics 6, 1979); one that asks for most of
its rows by the partial conjunction of both (Benjamini and Heller, "Screening for partial conjunction hypotheses",
Biometrics 64, 2008). Refuted with some rows as published it is *mixed*. Anything else is *open*. All verdicts of a page
together are false in one of twenty in expectation (Benjamini and Hochberg, JRSS B 57, 1995). What was no part of the
campaign, or has no figure, goes with the verdict, each with its reason.

A claim says what its source says, even where the source's own figures deny it: these go through the same rows, and what
they say stands beside the verdict. It can be put to several *set-ups*, each with a verdict of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Generic, Literal, NamedTuple, TypeVar

import numpy as np
import pandas as pd
from scipy import stats as scipy_stats

from allocpool import stats
from allocpool.decisions import ALPHA, Comparison, Decision

OPEN = "inconclusive"
"""Of a verdict and of a row: the trials do not decide it."""
REPRODUCED, REFUTED, MIXED = "reproduced", "refuted", "mixed"
OUTCOMES = (REPRODUCED, REFUTED, MIXED, OPEN)
AS_PUBLISHED, EQUIVALENT, OTHER_WAY, NOT_MEASURED = (
    "as published", "no difference that matters", "the other way round", "not measured",
)  # fmt: skip
SHOWN = {1: AS_PUBLISHED, 0: EQUIVALENT, -1: OTHER_WAY}
"""What the sign of an exact figure shows of an expected ordering."""

Frequency = Literal["every", "almost every", "most"]
RefutedBy = Literal["one", "all"]
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

    ``rows``: one per thing that it says, with column ``shown`` (`AS_PUBLISHED`, `EQUIVALENT`, `OTHER_WAY`, `OPEN` or
    `NOT_MEASURED`), and ``p`` and ``p_against`` where it rests on trials; without these what is shown is exact. The
    other columns say what was found, the last of them being the figure.
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
    refuted_by: RefutedBy = "one"
    published: Callable[[], Evidence] | None = None
    asks: Frequency = "every"
    set_ups: tuple[str, ...] = ("",)


@dataclass(frozen=True)
class Verdict:
    """What the data say about a claim: the outcome, a computed sentence, and the rows of evidence behind it.

    ``missing``: what was no part of the campaign or has no figure, each with its reason. ``set_up``: the one that the
    claim was put to, empty where there is but one. ``p`` and ``p_against``: the chances of so much evidence for the
    claim as a whole, and against it, were it not so.
    """

    claim: Claim[Any]
    outcome: str
    sentence: str
    evidence: pd.DataFrame
    missing: tuple[Missing, ...]
    set_up: str = ""
    p: float = 1.0
    p_against: float = 1.0


def judge(claim: Claim[Data], data: Data, set_up: str = "") -> Verdict:
    """Put one claim alone to a campaign's data."""
    return _judged_together([(claim, claim.evidence(data), set_up)])[0]


def evaluate(claims: Iterable[Claim[Data]], data: Data) -> list[Verdict]:
    """Put every claim to a campaign's data."""
    return _judged_together([(claim, claim.evidence(data), "") for claim in claims])


def evaluate_apart(claims: Iterable[Claim[Data]], data_of: Callable[[str], Data]) -> list[Verdict]:
    """Put every claim to each of its set-ups, whose data ``data_of`` gives by name."""
    known: dict[str, Data] = {}
    asked = []
    for claim in claims:
        for name in claim.set_ups:
            if name not in known:
                known[name] = data_of(name)
            asked.append((claim, claim.evidence(known[name]), name))
    return _judged_together(asked)


def judged_together(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Verdicts of several calls as those of one page: false in one of twenty in expectation over all of them."""
    return _judged_together([(v.claim, Evidence(v.evidence, v.missing), v.set_up) for v in verdicts])


def _judged_together(asked: Sequence[tuple[Claim[Any], Evidence, str]]) -> list[Verdict]:
    chances = adjusted([_chances(claim, evidence) for claim, evidence, _ in asked])
    verdicts = []
    for (claim, evidence, set_up), (p, p_against) in zip(asked, chances, strict=True):
        sentence = claim.sentence(evidence)
        ratios = claim.published_ratios() if len(evidence.rows) and claim.published_ratios else ()
        if len(ratios):
            told = stats.span(pd.Series(ratios))
            sentence += f" The published {'ratios are' if ' to ' in told else 'ratio is'} {told}."
        outcome = _outcome(claim, evidence, p, p_against)
        verdicts.append(Verdict(claim, outcome, sentence, evidence.rows, evidence.missing, set_up, p, p_against))
    return verdicts


def _chances(claim: Claim[Any], evidence: Evidence) -> tuple[float, float]:
    rows = (_column(evidence, "p", AS_PUBLISHED), _column(evidence, "p_against", OTHER_WAY))
    return chances_of(*rows, claim.asks, claim.refuted_by)


def chances_of(
    p: Sequence[float], p_against: Sequence[float], asks: Frequency = "every", refuted_by: RefutedBy = "one"
) -> tuple[float, float]:
    """Of so much evidence for a claim as a whole, and against it, were it not so; out of those of its rows."""
    least = _LEAST_ROWS[asks](len(p))
    too_many = len(p) if refuted_by == "all" else len(p) - least + 1
    return partial_conjunction(p, least), partial_conjunction(p_against, too_many)


def _column(evidence: Evidence, name: str, shown: str) -> list[float]:
    """A column of chances; of evidence that is exact, 0 where it is shown so."""
    exact = [0.0 if is_so else 1.0 for is_so in evidence.rows["shown"] == shown]
    if name not in evidence.rows:
        return exact
    return [
        value if math.isnan(p) else float(p) for p, value in zip(evidence.rows[name].astype(float), exact, strict=True)
    ]


def partial_conjunction(chances: Sequence[float], least: int) -> float:
    """The chance that at least ``least`` of several things look so true, were fewer of them; 1 where there are fewer.

    Source: Benjamini and Heller 2008, by Bonferroni, valid whatever depends on what: with ``least`` = all it is
    intersection-union, with 1 Holm's first step.
    """
    if not 0 < least <= len(chances):
        return 1.0
    return min(1.0, (len(chances) - least + 1) * sorted(chances)[least - 1])


def adjusted(chances: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Both chances of each claim of a page, adjusted by Benjamini and Hochberg: of those below q, the share q is false
    in expectation."""
    if not chances:
        return []
    values = np.clip(np.array(chances, dtype=float), 0.0, 1.0)
    together = scipy_stats.false_discovery_control(values, axis=None).reshape(values.shape)
    return [(float(p), float(against)) for p, against in together]


def _outcome(claim: Claim[Any], evidence: Evidence, p: float, p_against: float) -> str:
    return outcome_of(p, p_against, evidence.count(AS_PUBLISHED), claim.needs_all and bool(evidence.missing))


def outcome_of(p: float, p_against: float, as_published: int, lacking: bool = False) -> str:
    """The outcome by the adjusted chances of a claim, by how many of its rows are as published, and by whether
    something is lacking that it needs."""
    if p_against <= ALPHA:
        return MIXED if as_published else REFUTED
    return REPRODUCED if p <= ALPHA and not lacking else OPEN


def shown_by(p: Sequence[float], p_against: Sequence[float], equivalent: Sequence[bool] | None = None) -> list[str]:
    """What each row of a claim shows: as published at one-sided 5% each; the other way round at 5% over all of them
    (Holm 1979); NaN was not measured."""
    against = _holm(p_against)
    equal = equivalent or [False] * len(against)
    return [
        NOT_MEASURED if math.isnan(for_it) else OTHER_WAY if reverse <= ALPHA else EQUIVALENT if same
        else AS_PUBLISHED if for_it <= ALPHA else OPEN
        for for_it, reverse, same in zip(p, against, equal, strict=True)
    ]  # fmt: skip


def _holm(chances: Sequence[float]) -> list[float]:
    values = np.array([1.0 if math.isnan(p) else p for p in chances])
    order = np.argsort(values, kind="stable")
    steps = np.maximum.accumulate(values[order] * np.arange(values.size, 0, -1))
    adjusted = np.empty_like(values)
    adjusted[order] = np.minimum(steps, 1.0)
    return [float(p) for p in adjusted]


@cache
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
    return f"denied in {against} of {total}" if against else f"inconclusive, {borne_out} of {total}"


@dataclass(frozen=True)
class Ordering:
    """One expected ordering: ``larger`` is more than ``smaller``; where a side has no figure, ``why_not`` says why, or
    ``gaps`` what of it is missing."""

    larger: str
    smaller: str
    comparison: Comparison
    why_not: str = "no figure for both"
    gaps: tuple[Missing, ...] = ()

    @property
    def p(self) -> float:
        """Of so much evidence that ``larger`` is more, were it not; NaN where a side has no figure."""
        return math.nan if self.comparison.ratio is None else self.comparison.p_above()

    @property
    def p_against(self) -> float:
        """Of so much evidence that it is less, by more than what does not matter; NaN where a side has no figure."""
        return math.nan if self.comparison.ratio is None else self.comparison.p_below(1 / self.comparison.effect)

    @property
    def equivalent(self) -> bool:
        """Whether it is shown that no difference matters, where a difference was expected."""
        return self.comparison.equivalent


@dataclass(frozen=True)
class Equality(Ordering):
    """One expected equality: the two do not differ by more than what does not matter (two one-sided tests)."""

    @property
    def p(self) -> float:
        """Of so much evidence that they are the same, were they not."""
        return math.nan if self.comparison.ratio is None else self.comparison.p_equal

    @property
    def p_against(self) -> float:
        """Of so much evidence that they differ by more than what does not matter."""
        return math.nan if self.comparison.ratio is None else self.comparison.p_unequal

    @property
    def equivalent(self) -> bool:
        """That is what was expected: `p` tells it."""
        return False


def of_orderings(orderings: Sequence[Ordering], missing: Iterable[Missing] = ()) -> Evidence:
    """Orderings as evidence: one row each with larger, smaller, ratio (of the two), low, high, trials, remark (what an
    average hides, with the trimmed ratio), p, p_against, shown."""
    chances = [(item.p, item.p_against) for item in orderings]
    shown = shown_by(
        [p for p, _ in chances],
        [p for _, p in chances],
        [item.equivalent for item in orderings],
    )
    rows = []
    for item, pair, word in zip(orderings, chances, shown, strict=True):
        ratio = item.comparison.ratio
        figures = (ratio.estimate, ratio.low, ratio.high, ratio.trials) if ratio else (np.nan, np.nan, np.nan, 0)
        rows.append([item.larger, item.smaller, *figures, _remark(item.comparison.decision), *pair, word])
    lacking = [
        gap
        for item, word in zip(orderings, shown, strict=True)
        if word == NOT_MEASURED
        for gap in item.gaps or (Missing(f"{item.larger} over {item.smaller}", item.why_not),)
    ]
    columns = ["larger", "smaller", "ratio", "low", "high", "trials", "remark", "p", "p_against", "shown"]
    return Evidence(pd.DataFrame(rows, columns=columns), tuple(dict.fromkeys([*missing, *lacking])))


def _remark(told: Decision) -> str:
    if not told.remark:
        return ""
    words = told.remark.replace("a: ", "the former: ").replace("b: ", "the latter: ")
    return f"{words}; trimmed {stats.significant(told.trimmed_ratio)}"


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


def tally(verdicts: Sequence[Verdict], called: str = "published claim") -> str:
    """A sentence counting the outcomes that there are; ``called`` is what one claim is."""
    counts = {name: n for name in OUTCOMES if (n := sum(v.outcome == name for v in verdicts))}
    claims = len({v.claim.id for v in verdicts})
    alone = claims == len(verdicts)
    judged = stats.plural(claims, called if alone else "claim")
    judged = judged if alone else f"{stats.plural(len(verdicts), 'verdict')} on {judged}"
    if set(counts) <= {OPEN}:
        return f"Of {judged}, none is decided."
    return f"Of {judged}, " + ", ".join(f"{n} {name}" for name, n in counts.items()) + "."
