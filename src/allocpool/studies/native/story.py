"""What the native study shows: gains of optimisation steps. All ratios of one table are decided together."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import pandas as pd

from allocpool import decisions, stats
from allocpool.campaign import store
from allocpool.evidence import tables
from allocpool.evidence.trials import records
from allocpool.packets import by_size
from allocpool.packets import cells as cell_data
from allocpool.packets.specs import CASES, Configuration
from allocpool.packets.strategies import Language
from allocpool.packets.tables import comparison_table
from allocpool.studies.native.specs import EVENTS
from allocpool.studies.native.study import STUDY, NativeProfile, optimisation_steps

POOLED = "pool"
LANGUAGES: dict[Language, str] = {"cpp": "C++", "java": "Java"}


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
    of_first_text (its cost over that of ``separate``); hides (what an average of the gain would hide). All gains and
    all ratios to the first step are decided together. A step without a finished trial has no row; the next one is
    compared with the last that has.
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
    later = table.index[table.duplicated(["language", "case"])]
    return table.assign(
        gain=pd.Series([one.decision.ratio for one in compared[::2]], later, dtype=float),
        gain_text=pd.Series([one.text() for one in compared[::2]], later, dtype=object),
        of_first_text=pd.Series([one.text() for one in compared[1::2]], later, dtype=object),
        hides=pd.Series([one.decision.remark or None for one in compared[::2]], later, dtype=object),
    )


def steps_grid(table: pd.DataFrame) -> pd.DataFrame:
    """Return `steps_table` for a reader."""
    names = {"gain_text": "gain", "of_first_text": "cost over separate", "hides": "an average hides"}
    return table[["language", "case", "step", *names]].rename(columns=names)


def events_grid(counters: pd.DataFrame) -> pd.DataFrame:
    """Return events per packet: one row per configuration, case and way of counting, one column per event counted."""
    grid = counters.dropna(subset=["per_packet"]).pivot_table(
        index=["configuration", "case", "counter"], columns="event", values="per_packet", aggfunc="mean", observed=True
    )
    grid = grid[[event for event in EVENTS if event in grid]].map(stats.significant)
    grid = grid.rename(columns=lambda name: str(name).replace("_", " ")).rename_axis(columns=None)
    return grid.rename_axis(index={"counter": "counted"}).reset_index()


_STEPS = {
    "pooling in place of new and delete in flat C++": ("cpp/flat", "alloc", "cpp/flat"),
    "pooled C++ packets in one region": ("cpp/flat", POOLED, "cpp/slab/glibc/contiguous"),
    "that region laid out for the caches": ("cpp/slab/glibc/contiguous", POOLED, "cpp/slab"),
    "one region over C++ packets that are aligned and fetched ahead as well": (
        "cpp/flat/glibc/inline+one_line+stride+prefetch", POOLED, "cpp/slab",
    ),
    "no objects, one region in Java": ("java/native/g1/25", POOLED, "java/flat/g1/25/contiguous"),
    "Java's region laid out for the caches": ("java/flat/g1/25/contiguous", POOLED, "java/flat/g1/25"),
}  # fmt: skip
"""What costs more, with its strategy, and what costs less, pooled."""


def gains_table(trials: pd.DataFrame) -> pd.DataFrame:
    """Return the steps by case, all decided together: what each is, both costs in ns, the gain, what an average would
    hide, and the verdict."""
    names, pairs = [], []
    for case, (what, (more, strategy, less)) in product(CASES, _STEPS.items()):
        larger, smaller = Configuration.parse(more).label, Configuration.parse(less).label
        top = cell_data.by_block(trials, larger, strategy, case)
        bottom = cell_data.by_block(trials, smaller, POOLED, case)
        if len(top) and len(bottom):
            names.append({"case": case, "step": what, "from": f"{larger}, {strategy}", "to": f"{smaller}, {POOLED}",
                          "from ns": stats.geometric_mean(top), "to ns": stats.geometric_mean(bottom)})  # fmt: skip
            pairs.append((top, bottom))
    compared = decisions.compare_together(pairs)
    return tables.comparisons(names, compared, "gain").assign(
        verdict=[{1: PAYS, -1: COSTS}.get(one.direction, NO_GAIN if one.equivalent else OPEN) for one in compared]
    )


PAYS, COSTS, NO_GAIN, OPEN = "pays", "costs more", "no difference that matters", "inconclusive"


def verdict(trials: pd.DataFrame) -> str:
    """Return how many steps pay in each case, and whether C++ should pool."""
    gains = gains_table(trials)
    found = [
        f"{count} {what} in case {case}"
        for case, rows in (gains.groupby("case", sort=False) if len(gains) else ())
        for what, count in rows["verdict"].value_counts().items()
    ]
    steps = f"**Optimisation steps:** {', '.join(found) or by_size.NOT_MEASURED}."
    cpp = trials[trials["language"] == "cpp"]
    rows = comparison_table(trials)
    rows = rows[rows["configuration"].isin(set(cpp["configuration"]))]
    rows = rows.assign(verdict=[by_size.verdict_of(row.n, row.direction, row.equivalent) for row in records(rows)])
    return f"{by_size.tally('C++', rows).text}  \n{steps}"


def take_home(profile: str) -> str:
    """Return the verdict on what a campaign of this profile left; runs nothing."""
    return verdict(store.stored(STUDY.name, profile)[0]["trials"])
