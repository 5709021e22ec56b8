"""Why a conclusion does not hold here: one thing is changed about a comparison that came out the other way round.

That a comparison is reversed explains nothing. An *ablation* (Cohen and Howe, "How evaluation guides AI research", AI
Magazine 9(4), 1988) sets the same two sides against each other once more, with one thing changed on one side or on
both. Where that comes out as published, the reason lies in what was changed; where the ratio moves and not as far, it
is a part of the reason; where it is shown not to move by what matters, the reason is another one.

Comparisons are chosen here because they came out reversed, and trials that choose are further off than others would be:
so that a change turns one rests on the changed comparison alone, and on no comparison with what it was before.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import pandas as pd

from allocpool import decisions, stats
from allocpool.decisions import Comparison
from allocpool.evidence import tables
from allocpool.evidence.claims import MIXED, NOT_MEASURED, OPEN, REFUTED, Verdict

TURNS, PART, NOT_THE_CAUSE, FURTHER = "turns it", "a part of it", "not the reason", "the reverse"
OUTCOMES = (TURNS, PART, NOT_THE_CAUSE, FURTHER, OPEN, NOT_MEASURED)
"""As published once it is changed; towards that, not as far; not moved by what matters; moved away from it; the trials
do not tell; a side has no figure."""


class Sides(NamedTuple):
    """The costs of the trials of both sides, in the order of blocks; the claim says that ``larger`` is more, or that it
    is about a published figure, which ``smaller`` is then."""

    larger: pd.Series
    smaller: pd.Series | float


class Changed(NamedTuple):
    """The sides after a change; None: the change leaves that side alone, and its trials are those from before."""

    larger: pd.Series | None
    smaller: pd.Series | None


@dataclass(frozen=True)
class Told:
    """One change of one comparison in words: of which claim on which set-up, the comparison, what is changed.

    ``within``: of a claim that says that a figure is about as published, the factor that this allows.
    """

    claim: str
    set_up: str
    comparison: str
    changed: str
    within: float | None = field(default=None, kw_only=True)


@dataclass(frozen=True)
class Asked(Told):
    """The same with the costs of both sides before and after the change."""

    before: Sides
    after: Changed


At = Callable[[float], Comparison]
"""A comparison at a level."""


class Judged(NamedTuple):
    """How a change is judged: the comparison as it was, as it is after the change, and the latter ratio over the
    former."""

    before: At
    after: At
    effect: At


@dataclass(frozen=True)
class Ablation:
    """What one change does: the comparison as it was, as it is after it, and the latter ratio over the former."""

    asked: Told
    before: Comparison
    after: Comparison
    effect: Comparison

    @property
    def outcome(self) -> str:
        """One of `OUTCOMES`."""
        if self.after.ratio is None:
            return NOT_MEASURED
        if self.after.equivalent if self.asked.within else self.after.direction > 0:
            return TURNS
        if not self.effect.direction:
            return NOT_THE_CAUSE if self.effect.equivalent else OPEN
        return PART if self._towards else FURTHER

    @property
    def _towards(self) -> bool:
        """Whether a change that is shown moves the ratio towards what is claimed."""
        if self.asked.within is None or self.before.ratio is None or self.after.ratio is None:
            return self.effect.direction > 0
        was, now = (abs(math.log(one.estimate)) for one in (self.before.ratio, self.after.ratio))
        return now < was


def failed(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Those refuted or mixed, of which something was compared: by trials, not by what a source says of itself."""
    return [each for each in verdicts if each.outcome in (REFUTED, MIXED) and not _COMPARED.isdisjoint(each.evidence)]


_COMPARED = {"larger", "found"}
"""Columns of evidence by trials, one or the other."""


def ablations(asked: Sequence[Asked]) -> list[Ablation]:
    """Judge changes by the costs of trials."""
    return judge([
        (item, Judged(partial(_compared, item.before, item.within), partial(_compared, _after(item), item.within),
                      partial(_effect, item)))
        for item in asked
    ])  # fmt: skip


def judge(changes: Sequence[tuple[Told, Judged]]) -> list[Ablation]:
    """Judge changes: what they lead to is decided together, and so is what they do."""
    after = decisions.together([by.after for _, by in changes])
    effects = decisions.together([by.effect for _, by in changes])
    return [
        Ablation(found, by.before(decisions.ALPHA), changed, effect)
        for (found, by), changed, effect in zip(changes, after, effects, strict=True)
    ]


def _after(item: Asked) -> Sides:
    was, now = item.before, item.after
    larger = was.larger if now.larger is None else now.larger
    return Sides(larger, was.smaller if now.smaller is None else now.smaller)


def _compared(sides: Sides, within: float | None, alpha: float = decisions.ALPHA) -> Comparison:
    if isinstance(sides.smaller, float):
        return decisions.compare_with(sides.larger, sides.smaller, within, alpha)
    return decisions.compare(sides.larger, sides.smaller, within, alpha)


def _effect(item: Asked, alpha: float) -> Comparison:
    """The ratio after the change over that before it; a side that is left alone has no part in it."""
    tops, bottoms = [], []
    if item.after.larger is not None:
        tops.append(item.after.larger)
        bottoms.append(item.before.larger)
    if item.after.smaller is not None and not isinstance(item.before.smaller, float):
        tops.append(item.before.smaller)
        bottoms.append(item.after.smaller)
    return decisions.compare_products(tops, bottoms, alpha=alpha)


def table(judged: Sequence[Ablation]) -> pd.DataFrame:
    """One row per change that has a figure: comparison, what is changed, the outcome, the ratio as it is and after it,
    how many times the former the latter is, the claim and the set-up that it was judged on."""
    rows = [
        (item.asked.comparison, item.asked.changed, item.outcome, _ratio(item.before), _ratio(item.after),
         _ratio(item.effect), item.asked.claim, item.asked.set_up)
        for item in judged
        if item.outcome != NOT_MEASURED
    ]  # fmt: skip
    columns = ["comparison", "changed", "outcome", "as it is", "after it", "after over before", "claim", "judged on"]
    return pd.DataFrame(rows, columns=columns)


def _ratio(comparison: Comparison) -> str | None:
    if (ratio := comparison.ratio) is None:
        return None
    bounded = ratio.low > 0, math.isfinite(ratio.high)
    if bounded == (False, True):
        return f"below {stats.significant(ratio.high, 2)}"
    if bounded == (True, False):
        return f"above {stats.significant(ratio.low, 2)}"
    if bounded == (False, False) or ratio.high > stats.TOO_WIDE * ratio.low:
        return "not bounded"
    return ratio.text(2)


STUDENT = "Student's intervals"


def for_reader(judged: Sequence[Ablation], intervals: str = STUDENT) -> tables.TableOrWords:
    """`table` as a page shows it: a claim and what it was judged on stand once, above their comparisons. ``intervals``
    says by what those of the ratios are made."""
    rows = table(judged)
    judged_on = rows["judged on"].map(lambda set_up: f" ({set_up})" if set_up else "")
    rows = rows.drop(columns="judged on").assign(claim=rows["claim"].str.removesuffix(".") + judged_on)
    return tables.plain_table(
        rows, "Why claims fail here: one thing changed", caption(judged, intervals), under="claim"
    )


def caption(judged: Sequence[Ablation], intervals: str = STUDENT) -> str:
    """Return what the columns of `table` mean."""
    about = sorted({item.asked.within for item in judged if item.asked.within})
    within = "".join(f", over a published figure those within {one:g} times it" for one in about)
    return (
        f"Ratios above 1 are as claimed{within}. {TURNS.capitalize()}: shown to be as claimed after the change; "
        f"{PART}: shown to move that way, not as far; {NOT_THE_CAUSE}: shown not to move "
        f"beyond the equivalence margin. All changes of the table are decided together; {intervals}."
    )
