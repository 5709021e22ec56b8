"""Why a claim fails here: one thing about a reversed comparison is changed, and both sides are compared again.

In such an *ablation* (Cohen and Howe, "How evaluation guides AI research", AI Magazine 9(4), 1988) a change that turns
the comparison is the reason, one that moves the ratio less far is a part of it, and one that is shown not to move it
beyond the equivalence margin is not.

Comparisons are chosen because they came out reversed, and trials that choose are further off than others: so whether a
change turns one rests on the changed comparison alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import pandas as pd

from allocpool import decisions, stats
from allocpool.decisions import Comparison
from allocpool.evidence import tables
from allocpool.evidence.claims import MIXED, NOT_MEASURED, OPEN, REFUTED, Verdict

TURNS, PART, NOT_THE_CAUSE, FURTHER = "turns it", "a part of it", "not the reason", "the reverse"
OUTCOMES = (TURNS, PART, NOT_THE_CAUSE, FURTHER, OPEN, NOT_MEASURED)


class Sides(NamedTuple):
    """The costs of the trials of both sides, in the order of blocks; ``larger`` is claimed to be more than ``smaller``,
    or about as much where that is a published figure."""

    larger: pd.Series
    smaller: pd.Series | float


class Changed(NamedTuple):
    """The sides after a change; None: the change leaves that side alone, with its trials from before."""

    larger: pd.Series | None
    smaller: pd.Series | None


@dataclass(frozen=True)
class ChangedComparison:
    """One change of one comparison in words.

    ``within``: the factor that a claim about a published figure allows.
    """

    claim: str
    set_up: str
    comparison: str
    changed: str
    within: float | None = field(default=None, kw_only=True)


@dataclass(frozen=True)
class Asked(ChangedComparison):
    before: Sides
    after: Changed


At = Callable[[float], Comparison]
"""A comparison at a level."""


class Judged(NamedTuple):
    """The comparison before and after the change, and the latter ratio over the former."""

    before: At
    after: At
    effect: At


class Ablation(NamedTuple):
    """What one change does; ``effect``: the ratio after it over that before."""

    asked: ChangedComparison
    before: Comparison
    after: Comparison
    effect: Comparison

    @property
    def outcome(self) -> str:
        if self.after.ratio is None:
            return NOT_MEASURED
        if self.after.equivalent if self.asked.within else self.after.direction > 0:
            return TURNS
        if not self.effect.direction:
            return NOT_THE_CAUSE if self.effect.equivalent else OPEN
        towards = self.effect.direction > 0
        if self.asked.within is not None and self.before.ratio is not None:
            was, now = (abs(math.log(one.estimate)) for one in (self.before.ratio, self.after.ratio))
            towards = now < was
        return PART if towards else FURTHER


def failed(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Return the refuted and mixed verdicts that rest on trials: their evidence has one of two columns."""
    rests = {"larger", "found"}
    return [each for each in verdicts if each.outcome in (REFUTED, MIXED) and not rests.isdisjoint(each.evidence)]


def ablations(asked: Sequence[Asked]) -> list[Ablation]:
    judged = []
    for item in asked:
        sides: list[Any] = [
            then if then is not None else was for was, then in zip(item.before, item.after, strict=True)
        ]
        before, after = (partial(_compared, each, item.within) for each in (item.before, Sides(*sides)))
        judged.append((item, Judged(before, after, partial(_effect, item))))
    return judge(judged)


def judge(changes: Sequence[tuple[ChangedComparison, Judged]]) -> list[Ablation]:
    """Judge changes; all comparisons after them are decided together, and so are all effects."""
    after = decisions.together([by.after for _, by in changes])
    effects = decisions.together([by.effect for _, by in changes])
    return [
        Ablation(found, by.before(decisions.ALPHA), changed, effect)
        for (found, by), changed, effect in zip(changes, after, effects, strict=True)
    ]


def _compared(sides: Sides, within: float | None, alpha: float) -> Comparison:
    if isinstance(sides.smaller, float):
        return decisions.compare_with(sides.larger, sides.smaller, within, alpha)
    return decisions.compare(sides.larger, sides.smaller, within, alpha)


def _effect(item: Asked, alpha: float) -> Comparison:
    """Return the ratio after the change over that before it; a side that is left alone has no part in it."""
    pairs: list[tuple[Any, Any]] = [(item.after.larger, item.before.larger), (item.before.smaller, item.after.smaller)]
    moved = [pair for pair in pairs if not any(side is None or isinstance(side, float) for side in pair)]
    tops, bottoms = [top for top, _ in moved], [bottom for _, bottom in moved]
    return decisions.compare_products(tops, bottoms, alpha=alpha)


def table(judged: Sequence[Ablation]) -> pd.DataFrame:
    """Return a row per change that has a figure, its ratios in words."""
    rows = [
        {"comparison": item.asked.comparison, "changed": item.asked.changed, "outcome": item.outcome,
         "after over before": _ratio(item.effect), "as it is": _ratio(item.before), "after it": _ratio(item.after),
         "claim": item.asked.claim, "judged on": item.asked.set_up}
        for item in judged
        if item.outcome != NOT_MEASURED
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=None if rows else ["outcome", "claim", "judged on"])


def _ratio(comparison: Comparison) -> str | None:
    if (ratio := comparison.ratio) is None:
        return None
    if ratio.low > 0 and math.isfinite(ratio.high):
        return "not bounded" if ratio.high > stats.TOO_WIDE * ratio.low else ratio.text(2)
    if math.isfinite(ratio.high):
        return f"below {stats.significant(ratio.high, 2)}"
    return f"above {stats.significant(ratio.low, 2)}" if ratio.low > 0 else "not bounded"


def for_reader(
    judged: Sequence[Ablation], intervals: str = "Student's intervals", where: str = "here"
) -> tables.TableOrWords:
    """Return `table` for a page, grouped by claim; ``intervals`` names the kind that the ratios have, ``where`` the
    trials that the claims fail in."""
    rows = table(judged)
    judged_on = rows["judged on"].map(lambda set_up: f" ({set_up})" if set_up else "")
    rows = rows.drop(columns="judged on").assign(claim=rows["claim"].str.removesuffix(".") + judged_on)
    note = (
        "Ratios above 1 are as claimed; about a published figure, those within the factor that the claim allows. "
        f"{TURNS.capitalize()}: as claimed after the change. {PART.capitalize()}: moves that way, not as far. "
        f"{NOT_THE_CAUSE.capitalize()}: does not move beyond the equivalence margin. All changes of the table are "
        f"decided together; {intervals}."
    )
    return tables.plain_table(rows, f"Why claims fail {where}: one thing changed", note, under="claim")
