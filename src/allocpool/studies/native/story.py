"""What the native study shows: what each optimisation step buys. All ratios of one table are decided together."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import pandas as pd
from matplotlib.figure import Figure

from allocpool import decisions, stats
from allocpool.campaign import store
from allocpool.evidence.style import GREY, GRID, INK, by_panel, finish, log_axes, nothing
from allocpool.evidence.trials import records
from allocpool.packets import by_size
from allocpool.packets import cells as cell_data
from allocpool.packets.specs import CASES, Configuration, options_on
from allocpool.packets.strategies import Language
from allocpool.packets.style import STRATEGY_STYLE, points
from allocpool.studies.native.study import STUDY, NativeProfile, optimisation_steps

POOLED = "pool"
_USUAL_CASE = "B"
LANGUAGES: dict[Language, str] = {"cpp": "C++", "java": "Java"}
PAYS, COSTS, NO_GAIN, OPEN = "pays", "costs more", "no difference that matters", "inconclusive"


def in_groups(
    rows: pd.DataFrame, profile: NativeProfile, groups: Sequence[str], others: Sequence[str] = ()
) -> pd.DataFrame:
    """Return the rows (with configuration and strategy) of these groups of the profile, none of a group that it lacks;
    for comparison those of the ``others`` (configurations as keys) that pool."""
    wanted = {(key, POOLED) for key in others}
    for group in (profile.groups[name] for name in groups if name in profile.groups):
        wanted |= set(product(group.configurations, group.strategies))
    labels = [(Configuration.parse(key).label, strategy) for key, strategy in wanted]
    return rows[pd.MultiIndex.from_frame(rows[["configuration", "strategy"]]).isin(labels)]


def steps_table(trials: pd.DataFrame) -> pd.DataFrame:
    """Return the optimisation steps of each language and case, pooled.

    Columns: language, case, step, ns, low, high, n; gain (cost of the step before over its own) and gain_text;
    of_first_text (its cost over that of ``separate``); hides (what an average of the gain would hide); verdict. All
    gains and all ratios to the first step are decided together. A step without a finished trial has no row; the next
    one is compared with the last that has.
    """
    rows: list[tuple[object, ...]] = []
    pairs: list[tuple[pd.Series, pd.Series]] = []
    costs, later = cell_data.costs_by_cell(trials), []
    for language, case in product(LANGUAGES, CASES):
        before: list[pd.Series] = []
        for step, key in optimisation_steps(language).items():
            own = costs.get((Configuration.parse(key).label, POOLED, case))
            if own is None:
                continue
            if before:
                later.append(len(rows))
                pairs += [(before[-1], own), (own, before[0])]
            cost = stats.geometric_interval(own)
            words = (LANGUAGES[language], case, step.replace("_", " "))
            rows.append((*words, cost.estimate, cost.low, cost.high, cost.trials))
            before.append(own)
    table = pd.DataFrame(rows, columns=["language", "case", "step", "ns", "low", "high", "n"])
    compared = decisions.compare_together(pairs)
    facts = [
        (gain.decision.ratio, gain.text(), of_first.text(), gain.decision.remark or None,
         {1: PAYS, -1: COSTS}.get(gain.direction, NO_GAIN if gain.equivalent else OPEN))
        for gain, of_first in zip(compared[::2], compared[1::2], strict=True)
    ]  # fmt: skip
    return table.join(pd.DataFrame(facts, later, ["gain", "gain_text", "of_first_text", "hides", "verdict"]))


def step_gains(table: pd.DataFrame) -> Figure:
    """Draw the cost of each optimisation step in ns/packet, a panel for each case and language, with its gain; of
    `steps_table`."""
    if table.empty:
        return nothing("no optimisation step has been measured yet")
    rows = table.assign(panel=table["language"] + ", case " + table["case"], strategy="pool")
    order = cell_data.present((name.replace("_", " ") for name in optimisation_steps("cpp")), table["step"])
    shown = list(rows.sort_values(["case", "language"])["panel"].unique())
    grid = points(
        rows, "ns", order, {"pool": STRATEGY_STYLE["pool"]},
        "ns per packet (log scale); after ÷ the gain of the step (grey: inconclusive)", y="step", col="panel",
        col_order=shown, columns=2,
    )  # fmt: skip
    for _, axis, mine in by_panel(grid, rows):
        axis.plot(mine["ns"], mine["step"].map(order.index), color=GRID, linewidth=1.2, zorder=1)
        for row in records(mine):
            gain = "" if pd.isna(row.gain) else f" \u00f7 {stats.significant(row.gain, 2)}"
            colour = GREY if str(row.gain_text).startswith("inconclusive") else INK
            axis.annotate(f"{stats.significant(row.ns)}{gain}", (1, order.index(row.step)), xytext=(4, 0), va="center",
                          color=colour, xycoords=axis.get_yaxis_transform(), textcoords="offset points")  # fmt: skip
    log_axes(grid, "x", table["ns"], 2, most=1)
    return finish(grid, f"Cost of a pooled packet by optimisation step: {'; '.join(shown)}.")


def by_build(trials: pd.DataFrame, *words: str) -> pd.DataFrame:
    """Return allocating over a pool in C++ as it is built for every trial, and with these options of its compiler.

    One row per option, configuration (without it) and case. Columns: ratio, n and verdict, each also with ``_with``,
    and ``same_side``: yes, no, or inconclusive where one of both verdicts is.
    """
    compared = by_size.comparison_table(trials)[["configuration", "case", "ratio", "n", "verdict"]]
    changed = [
        (word, row.configuration, Configuration.of(row._asdict()).without(word).label)
        for row in records(trials.drop_duplicates("configuration"))
        for word in options_on(row)
        if word in words
    ]
    with_it = pd.DataFrame(changed, columns=["option", "configuration", "without"], dtype=object).merge(compared)
    with_it = with_it.drop(columns="configuration").rename(columns={"without": "configuration"})
    both = compared.merge(with_it, on=["configuration", "case"], suffixes=("", "_with"))
    unknown = both[["verdict", "verdict_with"]].isin([by_size.INCONCLUSIVE, by_size.NOT_MEASURED]).any(axis=1)
    same = (both["verdict"] == both["verdict_with"]).map({True: "yes", False: "no"})
    both["same_side"] = same.mask(unknown, by_size.INCONCLUSIVE)
    figures = [name + end for name in ("ratio", "n", "verdict") for end in ("", "_with")]
    return both[["option", "configuration", "case", *figures, "same_side"]]


def verdict(trials: pd.DataFrame) -> str:
    """Return what all optimisation steps make of a pooled packet's cost, and whether C++ should pool."""
    own = trials[trials["case"] == _USUAL_CASE]
    alive = (own["queue_size"] + own["stored_count"]).max()
    found, steps = [], steps_table(trials)
    for language, rows in steps[steps["case"] == _USUAL_CASE].groupby("language"):
        if len(rows) > 1:
            first, last = rows.iloc[0], rows.iloc[-1]
            found.append(
                f"**{language}, {alive:,.0f} messages alive:** a pooled packet costs "
                f"{stats.significant(first['ns'])} ns with {first['step']} buffers, {stats.significant(last['ns'])} ns "
                f"after the step {last['step']}: {last['of_first_text']}."
            )
    rows = by_size.comparison_table(trials)
    rows = rows[rows["configuration"].isin(set(trials.loc[trials["language"] == "cpp", "configuration"]))]
    return "  \n".join([*found, by_size.tally("C++", rows).text])


def summary(profile: str) -> str:
    """Return the verdict on what a campaign of this profile left; runs nothing."""
    return verdict(store.stored(STUDY.name, profile)[0]["trials"])
