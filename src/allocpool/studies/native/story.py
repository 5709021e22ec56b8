"""What the native study shows: gains of optimisation steps. All ratios of one table are decided together."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import pandas as pd

from allocpool import decisions, stats
from allocpool.campaign import store
from allocpool.evidence.trials import records
from allocpool.packets import by_size
from allocpool.packets import cells as cell_data
from allocpool.packets.specs import CASES, Configuration
from allocpool.packets.strategies import Language
from allocpool.studies.native.study import STUDY, NativeProfile, optimisation_steps

POOLED = "pool"
LANGUAGES: dict[Language, str] = {"cpp": "C++", "java": "Java"}
PAYS, COSTS, NO_GAIN, OPEN = "pays", "costs more", "no difference that matters", "inconclusive"


def in_groups(
    rows: pd.DataFrame, profile: NativeProfile, groups: Sequence[str], others: Sequence[str] = ()
) -> pd.DataFrame:
    """Return the rows (with configuration and strategy) of these groups of the profile, none of a group that it lacks;
    for comparison those of the ``others`` (configurations as keys) that pool."""
    chosen = [profile.groups[name] for name in groups if name in profile.groups]
    wanted = [pair for group in chosen for pair in product(group.configurations, group.strategies)]
    labels = [(Configuration.parse(key).label, strategy) for key, strategy in [*wanted, *product(others, [POOLED])]]
    pairs = pd.MultiIndex.from_frame(rows[["configuration", "strategy"]])
    return rows[pairs.isin(labels)]


def steps_table(trials: pd.DataFrame) -> pd.DataFrame:
    """Return the optimisation steps of each language and case, pooled.

    Columns: language, case, step, ns, low, high, n; gain (cost of the step before over its own) and gain_text;
    of_first_text (its cost over that of ``separate``); hides (what an average of the gain would hide); verdict. All
    gains and all ratios to the first step are decided together. A step without a finished trial has no row; the next
    one is compared with the last that has.
    """
    rows: list[dict[str, object]] = []
    pairs: list[tuple[pd.Series, pd.Series]] = []
    for language, case in product(LANGUAGES, CASES):
        before: list[pd.Series] = []
        for step, key in optimisation_steps(language).items():
            own = cell_data.by_block(trials, Configuration.parse(key).label, POOLED, case)
            if own.empty:
                continue
            cost = stats.geometric_interval(own)
            rows.append({
                "language": LANGUAGES[language], "case": case, "step": step.replace("_", " "), "ns": cost.estimate,
                "low": cost.low, "high": cost.high, "n": cost.trials,
            })  # fmt: skip
            pairs += [(before[-1], own), (own, before[0])] if before else []
            before.append(own)
    table = pd.DataFrame(rows, columns=["language", "case", "step", "ns", "low", "high", "n"])
    compared = decisions.compare_together(pairs)
    facts = [
        {"gain": gain.decision.ratio, "gain_text": gain.text(), "of_first_text": of_first.text(),
         "hides": gain.decision.remark or None,
         "verdict": {1: PAYS, -1: COSTS}.get(gain.direction, NO_GAIN if gain.equivalent else OPEN)}
        for gain, of_first in zip(compared[::2], compared[1::2], strict=True)
    ]  # fmt: skip
    later = table.index[table.duplicated(["language", "case"])]
    return table.join(pd.DataFrame(facts, later, ["gain", "gain_text", "of_first_text", "hides", "verdict"]))


def verdict(trials: pd.DataFrame) -> str:
    """Return how many steps pay in each case, and whether C++ should pool."""
    counts = steps_table(trials)[["case", "verdict"]].value_counts(sort=False).reset_index()
    found = [f"{row.count} {row.verdict} in case {row.case}" for row in records(counts)]
    steps = f"**Optimisation steps:** {', '.join(found) or by_size.NOT_MEASURED}."
    rows = by_size.comparison_table(trials)
    rows = rows[rows["configuration"].isin(set(trials.loc[trials["language"] == "cpp", "configuration"]))]
    return f"{by_size.tally('C++', rows).text}  \n{steps}"


def summary(profile: str) -> str:
    """Return the verdict on what a campaign of this profile left; runs nothing."""
    return verdict(store.stored(STUDY.name, profile)[0]["trials"])
