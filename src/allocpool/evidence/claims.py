"""One judge of claims: a claim is a conclusion, published or our own, restated as a test that fresh data can fail.

A study turns its data into *evidence*: a row per comparison with p values, ``p`` for the claim, ``p_against`` for the
reverse beyond the equivalence margin, and ``p_equal`` for a difference within it, of a claim that there is one. A row
is shown as published, the other way round, equivalent or inconclusive.

A claim about every row is *reproduced* when each is as published (intersection-union: Berger, "Multiparameter
hypothesis testing and acceptance sampling", Technometrics 24, 1982), and *refuted* when at least one is reversed,
adjusted for the number of rows (Holm, Scandinavian Journal of Statistics 6, 1979). A claim about most rows uses the
partial conjunction of both (Benjamini and Heller, "Screening for partial conjunction hypotheses", Biometrics 64, 2008).
Where every row, of a claim about most of them every second one, is equivalent or reversed, it is *refuted: no
difference that matters*. Refuted with some rows as published is *mixed*. Without any figure a claim is *not tested*, or
can't be on this machine; anything else is *inconclusive*. Of the verdicts of a page at most one in twenty is false in
expectation (Benjamini and Hochberg, JRSS B 57, 1995).

A claim keeps the words of its source even where the source's own figures deny it: these go through the same rows. A
claim on several *set-ups* has a verdict on each.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Generic, Literal, NamedTuple, TypeVar

import numpy as np
import pandas as pd
import scipy

from allocpool import stats
from allocpool.decisions import ALPHA, Comparison, Decision

OPEN = "inconclusive"
REPRODUCED, REFUTED, MIXED = "reproduced", "refuted", "mixed"
NO_DIFFERENCE = "refuted: no difference that matters"
NOT_TESTED, CANNOT = "not tested", "this machine can't"
OUTCOMES = (REPRODUCED, REFUTED, NO_DIFFERENCE, MIXED, OPEN, NOT_TESTED, CANNOT)
AS_PUBLISHED, EQUIVALENT, OTHER_WAY, NOT_MEASURED = (
    "as published", "no difference that matters", "the other way round", "not measured",
)  # fmt: skip
SHOWN = {1: AS_PUBLISHED, 0: EQUIVALENT, -1: OTHER_WAY}
"""What an exact figure shows of an expected ordering, by its sign."""

Frequency = Literal["every", "almost every", "most"]
RefutedBy = Literal["one", "all"]
_LEAST_ROWS: dict[Frequency, Callable[[int], int]] = {
    "every": lambda rows: rows,
    "almost every": lambda rows: math.ceil(0.9 * rows),
    "most": lambda rows: rows // 2 + 1,
}
_MISSING_SHOWN = 2

Data = TypeVar("Data")


class Missing(NamedTuple):
    """Something that a claim is about and the data lack."""

    what: str
    why: str


@dataclass(frozen=True)
class Evidence:
    """What data show of a claim.

    ``rows``: one per comparison, with ``shown`` (`AS_PUBLISHED`, `EQUIVALENT`, `OTHER_WAY`, `OPEN` or `NOT_MEASURED`),
    and with ``p`` and ``p_against`` where it rests on trials: else it is exact. The last other column is the figure.
    """

    rows: pd.DataFrame
    missing: tuple[Missing, ...] = ()

    def count(self, *shown: str) -> int:
        """Return how many rows are shown so."""
        return int(self.rows["shown"].isin(shown).sum())

    @property
    def against(self) -> pd.DataFrame:
        """The rows that are shown the other way round."""
        return self.rows[self.rows["shown"] == OTHER_WAY]

    @property
    def measured(self) -> pd.DataFrame:
        """The rows that have a figure."""
        return self.rows[self.rows["shown"] != NOT_MEASURED]


def no_figures() -> Evidence:
    """Return the evidence of a source without figures."""
    return Evidence(pd.DataFrame(columns=["shown"]))


def sentence(evidence: Evidence) -> str:
    """Count the comparisons by what they show, with the range of their ratios and the worst one against the claim."""
    if evidence.rows.empty:
        return "Nothing to compare: not part of this campaign."
    counts = [f"{word} in {count}" for word, count in evidence.rows["shown"].value_counts().items()]
    found = f"Of {stats.plural(len(evidence.rows), 'comparison')}: {', '.join(counts)}"
    if "ratio" in evidence.rows and evidence.rows["ratio"].notna().any():
        found += f"; {stats.ratios(evidence.measured['ratio'].dropna())}"
        if (against := evidence.against)["ratio"].notna().any() and "larger" in against:
            worst = against.iloc[int(against["ratio"].astype(float).argmin())]
            found += f"; most against it: {worst['larger']} over {worst['smaller']}"
    return f"{found}."


@dataclass(frozen=True)
class Claim(Generic[Data]):
    """One conclusion: ``text`` as a statement, from ``source``.

    Attributes:
        evidence: turns a campaign's data into evidence.
        sentence: sums that evidence up.
        needs_all: what the data lack keeps it inconclusive, even where every row is as published.
        refuted_by: whether one reversed row refutes a claim about every row, or only all of them together.
        published: the source's own figures as evidence, where it has some.
        asks: how many rows must be as published; it is refuted when too few of them can be.
        set_ups: names, one verdict each.
    """

    id: str
    text: str
    source: str
    evidence: Callable[[Data], Evidence]
    sentence: Callable[[Evidence], str] = sentence
    needs_all: bool = False
    refuted_by: RefutedBy = "one"
    published: Callable[[], Evidence] | None = None
    asks: Frequency = "every"
    set_ups: tuple[str, ...] = ("",)


@dataclass(frozen=True)
class Verdict:
    """The outcome of a claim on one set-up (empty where there is but one), with the rows of evidence behind it, what
    the data lack, and the adjusted p values of the claim, of its reverse, and of no difference that matters."""

    claim: Claim[Any]
    outcome: str
    sentence: str
    evidence: pd.DataFrame
    missing: tuple[Missing, ...]
    set_up: str = ""
    p: float = 1.0
    p_against: float = 1.0
    p_equal: float = 1.0


def judge(claim: Claim[Data], data: Data, set_up: str = "") -> Verdict:
    """Test one claim on a campaign's data."""
    return _judged_together([(claim, claim.evidence(data), set_up)])[0]


def evaluate(claims: Iterable[Claim[Data]], data: Data) -> list[Verdict]:
    """Test every claim on a campaign's data."""
    return _judged_together([(claim, claim.evidence(data), "") for claim in claims])


def evaluate_apart(claims: Iterable[Claim[Data]], data_of: Callable[[str], Data]) -> list[Verdict]:
    """Test every claim on each of its set-ups, whose data ``data_of`` returns by name."""
    of_set_up = cache(data_of)
    return _judged_together([
        (claim, claim.evidence(of_set_up(name)), name) for claim in claims for name in claim.set_ups
    ])  # fmt: skip


def judged_together(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Return verdicts of several calls as those of one page, adjusted together."""
    return _judged_together([(v.claim, Evidence(v.evidence, v.missing), v.set_up) for v in verdicts])


def _judged_together(asked: Sequence[tuple[Claim[Any], Evidence, str]]) -> list[Verdict]:
    every = adjusted([_chances(claim, evidence) for claim, evidence, _ in asked])
    verdicts = []
    for (claim, evidence, set_up), chances in zip(asked, every, strict=True):
        lacking = claim.needs_all and bool(evidence.missing)
        outcome = outcome_of(chances, evidence.count(AS_PUBLISHED), lacking)
        if outcome == OPEN and evidence.measured.empty:
            here = [item.why.startswith("this machine") for item in evidence.missing]
            outcome = CANNOT if here and all(here) else NOT_TESTED
        verdicts.append(
            Verdict(claim, outcome, claim.sentence(evidence), evidence.rows, evidence.missing, set_up, *chances)
        )
    return verdicts


def _chances(claim: Claim[Any], evidence: Evidence) -> tuple[float, ...]:
    p, p_against = _column(evidence, "p", AS_PUBLISHED), _column(evidence, "p_against", OTHER_WAY)
    chances = chances_of(p, p_against, claim.asks, claim.refuted_by)
    if "p_equal" not in evidence.rows or evidence.rows["p_equal"].isna().all():
        return chances
    equal = evidence.rows["p_equal"].astype(float).fillna(1.0)
    either = [min(1.0, 2 * min(pair)) for pair in zip(p_against, equal, strict=True)]
    enough = len(p) - _LEAST_ROWS["most"](len(p)) + 1 if claim.asks == "most" else len(p)
    return *chances, partial_conjunction(either, enough)


def chances_of(
    p: Sequence[float], p_against: Sequence[float], asks: Frequency = "every", refuted_by: RefutedBy = "one"
) -> tuple[float, float]:
    """Return the p values of a claim and of its reverse, from those of its rows."""
    least = _LEAST_ROWS[asks](len(p))
    too_many = len(p) if refuted_by == "all" else len(p) - least + 1
    return partial_conjunction(p, least), partial_conjunction(p_against, too_many)


def _column(evidence: Evidence, name: str, shown: str) -> list[float]:
    """Return a column of p values; of exact evidence, 0 where it is shown so and 1 elsewhere."""
    exact = (evidence.rows["shown"] != shown).astype(float)
    if name not in evidence.rows:
        return exact.tolist()
    return evidence.rows[name].astype(float).fillna(exact).tolist()


def partial_conjunction(chances: Sequence[float], least: int) -> float:
    """Return the p value of at least ``least`` of several hypotheses; 1 where there are fewer.

    Source: Benjamini and Heller 2008, by Bonferroni, valid under any dependence: with ``least`` = all it is
    intersection-union, with 1 Holm's first step.
    """
    if not 0 < least <= len(chances):
        return 1.0
    return min(1.0, (len(chances) - least + 1) * sorted(chances)[least - 1])


def adjusted(chances: Sequence[tuple[float, ...]]) -> list[tuple[float, ...]]:
    """Adjust the p values of each claim of a page together, by Benjamini and Hochberg."""
    if not chances:
        return []
    values = np.clip(np.array(list(itertools.chain(*chances)), dtype=float), 0.0, 1.0)
    together = iter(scipy.stats.false_discovery_control(values).tolist())
    return [tuple(itertools.islice(together, len(each))) for each in chances]


def outcome_of(chances: Sequence[float], as_published: int, lacking: bool = False) -> str:
    """Return the outcome by the adjusted p values of the claim, of its reverse and perhaps of no difference that
    matters, the number of rows as published, and whether needed data are lacking."""
    p, p_against, *p_equal = chances
    if p_against <= ALPHA:
        return MIXED if as_published else REFUTED
    if p <= ALPHA:
        return OPEN if lacking else REPRODUCED
    return NO_DIFFERENCE if min(p_equal, default=1.0) <= ALPHA else OPEN


def shown_by(p: Sequence[float], p_against: Sequence[float], equivalent: Sequence[bool] | None = None) -> list[str]:
    """Return what each row of a claim shows: as published at one-sided 5% each, the other way round at 5% over all of
    them (Holm 1979); NaN: not measured."""
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
    """Return in words how many rows of the source's own figures bear a claim out; None where there are none."""
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
    """One expected ordering: ``larger`` is more than ``smaller``.

    Attributes:
        why_not, gaps: where a side has no figure, why, or what of it is missing.
        cells: the cells of `declared` that take part on either side.
        factor: ``larger`` is more than so many times ``smaller``; of an equality, how far they may differ.
        chances: `p` and `p_against`, where they are not those of the comparison.
    """

    larger: str
    smaller: str
    comparison: Comparison
    why_not: str = "no figure for both"
    gaps: tuple[Missing, ...] = ()
    cells: tuple[tuple[Any, ...], tuple[Any, ...]] = field(default=((), ()), kw_only=True)
    factor: float = field(default=1.0, kw_only=True)
    chances: tuple[float, float] | None = field(default=None, kw_only=True)

    @property
    def p(self) -> float:
        """The p value of the ordering; NaN where a side has no figure."""
        if self.chances:
            return self.chances[0]
        return math.nan if self.comparison.ratio is None else self.comparison.p_above()

    @property
    def p_against(self) -> float:
        """The p value of the reverse beyond the equivalence margin; NaN where a side has no figure."""
        if self.chances:
            return self.chances[1]
        return math.nan if self.comparison.ratio is None else self.comparison.p_below(1 / self.comparison.effect)

    @property
    def p_equal(self) -> float:
        """The p value of no difference that matters, where a difference was expected; else NaN."""
        known = self.chances is None and self.factor == 1.0 and self.comparison.ratio is not None
        return self.comparison.p_equal if known else math.nan

    @property
    def equivalent(self) -> bool:
        """Whether the two are shown to be equivalent, where a difference was expected."""
        return self.comparison.equivalent


@dataclass(frozen=True)
class Equality(Ordering):
    """One expected equality: the two are equivalent (two one-sided tests)."""

    @property
    def p(self) -> float:
        return math.nan if self.comparison.ratio is None else self.comparison.p_equal

    @property
    def p_against(self) -> float:
        return math.nan if self.comparison.ratio is None else self.comparison.p_unequal

    @property
    def p_equal(self) -> float:
        return math.nan

    @property
    def equivalent(self) -> bool:
        return False


def of_orderings(orderings: Sequence[Ordering], missing: Iterable[Missing] = ()) -> Evidence:
    """Return orderings as evidence: a row each with larger, smaller, ratio (of the two), low, high, trials, remark
    (what an average hides, with the trimmed ratio), p, p_against, p_equal, shown."""
    p, p_against = [item.p for item in orderings], [item.p_against for item in orderings]
    shown = shown_by(p, p_against, [item.equivalent for item in orderings])
    rows = []
    for item, *chances, word in zip(orderings, p, p_against, shown, strict=True):
        ratio = item.comparison.ratio
        figures = (ratio.estimate, ratio.low, ratio.high, ratio.trials) if ratio else (np.nan, np.nan, np.nan, 0)
        chances.append(item.p_equal)
        rows.append([item.larger, item.smaller, *figures, _remark(item.comparison.decision), *chances, word])
    lacking = [
        gap
        for item, word in zip(orderings, shown, strict=True)
        if word == NOT_MEASURED
        for gap in item.gaps or (Missing(f"{item.larger} over {item.smaller}", item.why_not),)
    ]
    columns = ["larger", "smaller", "ratio", "low", "high", "trials", "remark", "p", "p_against", "p_equal", "shown"]
    return Evidence(pd.DataFrame(rows, columns=columns), tuple(dict.fromkeys([*missing, *lacking])))


def _remark(decision: Decision) -> str:
    if not decision.remark:
        return ""
    words = decision.remark.replace("a: ", "the former: ").replace("b: ", "the latter: ")
    return f"{words}; trimmed {stats.significant(decision.trimmed_ratio)}"


def missing_in_words(missing: Sequence[Missing]) -> str:
    """Return what is missing in short: by reason, the first few of each."""
    by_reason: dict[str, list[str]] = {}
    for item in missing:
        by_reason.setdefault(item.why, []).append(item.what)
    return _first([f"{_first(whats, '; ')}: {why}" for why, whats in by_reason.items()], ". ")


def _first(items: Sequence[str], between: str) -> str:
    more = len(items) - _MISSING_SHOWN
    return between.join(items[:_MISSING_SHOWN]) + (f"{between}{more} more" if more > 0 else "")


def tally(verdicts: Sequence[Verdict], called: str = "published claim") -> str:
    """Return a sentence that counts the outcomes; ``called`` is what one claim is."""
    counts = [f"{n} {name}" for name in OUTCOMES if (n := sum(v.outcome == name for v in verdicts))]
    claims = len({v.claim.id for v in verdicts})
    alone = claims == len(verdicts)
    of = stats.plural(claims, called if alone else "claim")
    of = of if alone else f"{stats.plural(len(verdicts), 'verdict')} on {of}"
    return f"Of {of}: {', '.join(counts) or 'none'}."
