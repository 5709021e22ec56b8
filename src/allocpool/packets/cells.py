"""A cell is all trials of one configuration, strategy and case: its figure and spread, or why it has none."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pandas as pd

from allocpool import stats
from allocpool.evidence.trials import NOT_RUN, counted, gap_of, records
from allocpool.packets.published import with_published
from allocpool.packets.specs import OPTION_FIELDS, SETTINGS, Configuration
from allocpool.packets.strategies import LAYOUTS
from allocpool.runtimes.collectors import COLLECTORS, collector_named, collectors_that

CONFIGURATION = ("configuration", "strategy", "case")
ORDERED_BY = ("language", "layout", "collector", "runtime")
"""Columns that put configurations into reading order."""
CONFIGURATION_FACTS = (*ORDERED_BY, "allocator", "steps", *OPTION_FIELDS)
CONTROLS = collectors_that(lambda row: row.never_frees)
"""Collectors that are no choice for a program that goes on: they show what a packet costs without collecting."""


def with_cost(trials: pd.DataFrame) -> pd.DataFrame:
    """Return the trials that ended well and carry a cost per packet."""
    return trials[(trials["status"] == "ok") & trials["ns_per_packet"].notna()]


def as_set(trials: pd.DataFrame) -> pd.DataFrame:
    """Return the trials without those that change a setting to show whether it matters."""
    return trials[~trials[list(SETTINGS)].fillna(False).astype(bool).any(axis=1)]


def without_options(trials: pd.DataFrame) -> pd.DataFrame:
    """Return the trials of configurations without options, as published but for collector and runtime."""
    plain = [not Configuration.of(row._asdict()).non_default for row in records(trials)]
    return trials[pd.Series(plain, index=trials.index, dtype=bool)]


def one_case_a(rows: pd.DataFrame) -> pd.DataFrame:
    """Return rows without case A in the size of the article's text, where its other size is among them."""
    return rows[rows["case"] != "A10k"] if (rows["case"] == "A").any() else rows


def present(order: Iterable[str], values: pd.Series) -> list[str]:
    """Return those of ``order`` that are among the values."""
    among = set(values.dropna())
    return [name for name in order if name in among]


def configuration_order(rows: pd.DataFrame) -> list[str]:
    """Return configurations in reading order: Java by layout, collector, runtime; then C++ by layout. UserError for an
    unknown collector."""
    keys = [
        (
            row.language != "java",
            (*LAYOUTS[row.language], row.layout).index(row.layout),
            list(COLLECTORS).index(collector_named(row.collector).name) if row.language == "java" else 0,
            0 if pd.isna(row.runtime) else int(row.runtime),
            row.configuration,
        )
        for row in records(rows.drop_duplicates("configuration"))
    ]
    return [key[-1] for key in sorted(keys)]


def cells_of(
    trials: pd.DataFrame,
    columns: Sequence[str],
    measured: Callable[[pd.DataFrame], pd.DataFrame],
    figures: Callable[[pd.DataFrame, pd.DataFrame], dict[str, Any]],
    plan: pd.DataFrame | None,
    pairs: Iterable[tuple[str, str]],
) -> pd.DataFrame:
    """Return one row per configuration, strategy and case.

    Columns: `CONFIGURATION_FACTS`, ``trials``, ``n`` (those that are ``measured``), and ``columns``, the ``figures`` of
    all its trials and of the measured ones. Where none is measured, ``gap`` is the reason, ``gap_word`` its short form.
    With ``plan`` (a study's plan summary) and the (strategy, case) ``pairs`` that it runs, planned cells that have not
    run yet have a row, too.
    """
    rows: dict[Any, dict[str, Any]] = {}
    for key, group in counted(trials).groupby(list(CONFIGURATION), observed=True):
        done = measured(group)
        row = {**group[list(CONFIGURATION_FACTS)].iloc[0], "trials": len(group), "n": len(done), "gap": None}
        gap = gap_of(group)
        rows[key] = row | (figures(group, done) if len(done) else {"gap": gap.text, "gap_word": gap.word})
    pairs, not_run = list(pairs), {"trials": 0, "n": 0, "gap": NOT_RUN.text, "gap_word": NOT_RUN.word}
    for planned in () if plan is None else records(plan[plan["planned"].astype(bool)]):
        configuration = Configuration.parse(planned.key)
        facts = {name: getattr(configuration, name) for name in CONFIGURATION_FACTS}
        for strategy, case in pairs:
            if configuration.offers(strategy):
                rows.setdefault((planned.configuration, strategy, case), {**facts, **not_run})
    names = [*CONFIGURATION, *CONFIGURATION_FACTS, "trials", "n", *columns, "gap", "gap_word"]
    return pd.DataFrame([dict(zip(CONFIGURATION, key, strict=True)) | row for key, row in rows.items()], columns=names)


_COSTS = ("ns", "low", "high")


def cells(
    trials: pd.DataFrame, plan: pd.DataFrame | None = None, pairs: Iterable[tuple[str, str]] = ()
) -> pd.DataFrame:
    """Return one row per configuration, strategy and case of a batch campaign, as `cells_of` makes them, with ``ns``
    (geometric mean over trials, ns per packet), ``low`` and ``high`` (both at the figure where few trials give no
    useful interval), ``published_ns``."""

    def figures(_group: pd.DataFrame, done: pd.DataFrame) -> dict[str, Any]:
        found = stats.geometric_interval(done["ns_per_packet"].astype(float))
        ends = (found.estimate,) * 2 if found.high > stats.TOO_WIDE * found.low else (found.low, found.high)
        return dict(zip(_COSTS, (found.estimate, *ends), strict=True))

    needed = [*CONFIGURATION, *CONFIGURATION_FACTS, "block", "status", "reason", "ns_per_packet"]
    frame = cells_of(trials[needed], _COSTS, with_cost, figures, plan, pairs)
    return with_published(frame.astype(dict.fromkeys(_COSTS, float)))


def costs_by_cell(trials: pd.DataFrame) -> dict[tuple[str, str, str], pd.Series]:
    """Return ns/packet of every cell that has a figure (configuration, strategy, case), each indexed by block."""
    done = with_cost(trials[[*CONFIGURATION, "block", "status", "ns_per_packet"]])
    costs = done.set_index("block")["ns_per_packet"].astype(float)
    groups: Any = done.groupby(list(CONFIGURATION), observed=True).indices
    return {(str(a), str(b), str(c)): costs.iloc[rows] for (a, b, c), rows in groups.items()}


def by_block(trials: pd.DataFrame, configuration: str, strategy: str, case: str) -> pd.Series:
    """Return ns/packet of one cell, indexed by block; of many see `costs_by_cell`."""
    here = trials[trials["configuration"] == configuration]
    return costs_by_cell(here).get((configuration, strategy, case), pd.Series(dtype=float))


def spread_caption(rows: pd.DataFrame) -> str:
    """Return what the bars of a figure mean and how many trials are behind a dot."""
    n = rows.loc[rows["n"] > 0, "n"]
    if n.empty:
        return "No trial has finished."
    return f"Geometric means with 95% intervals; {stats.trials_each(int(n.min()), int(n.max()))}."
