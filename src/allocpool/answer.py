"""The answer for this machine in sentences that are computed: allocate or pool, by how much, and how
surely."""

from __future__ import annotations

import pandas as pd

from allocpool import cells as cell_data
from allocpool import stats, tables

POOL, ALLOCATE, DEPENDS, UNDECIDED = "Pool", "Allocate", "It depends", "Not decided"


def _count(rows: pd.DataFrame, direction: int) -> int:
    return int((rows["direction"] == direction).sum())


def headline(comparisons: pd.DataFrame) -> str:
    """One word or two from a table of alloc/pool comparisons (`allocpool.tables.comparison_table`)."""
    dearer, cheaper = _count(comparisons, 1), _count(comparisons, -1)
    if dearer and cheaper:
        return DEPENDS
    return POOL if dearer else ALLOCATE if cheaper else UNDECIDED


def _list(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _where(rows: pd.DataFrame) -> str:
    return _list(
        [
            f"{solution} in case {_list(list(group['case']))}"
            for solution, group in rows.groupby("solution", sort=False)
        ]
    )


def _by_case(rows: pd.DataFrame) -> str:
    parts = []
    for case, group in rows.groupby("case"):
        dearer, cheaper, same = _count(group, 1), _count(group, -1), _count(group, 0)
        shown = group[group["direction"] == 1]
        span = (
            ""
            if shown.empty
            else (
                f" (allocation cost {stats.significant(shown['ratio'].min(), 2)} to "
                f"{stats.significant(shown['ratio'].max(), 2)} times as much)"
            )
        )
        parts.append(
            f"**Case {case}**: pool cheaper in {dearer} of {len(group)}{span}, dearer in {cheaper}, "
            f"no difference shown or not measured in {same}."
        )
    return "\n".join(f"- {part}" for part in parts)


def verdict(trials: pd.DataFrame) -> str:
    """The first sentence: whether pooling pays in Java on this machine, and where that was shown."""
    java = trials[trials["language"] == "java"]
    if cell_data.finished(java).empty:
        return f"**{UNDECIDED}.** No Java trial has finished on this machine yet."
    rows = tables.comparison_table(java)
    dearer, cheaper = _count(rows, 1), _count(rows, -1)
    return (
        f"**{headline(rows)}.** In batch on this machine, taking buffers from a pool was shown to cost less "
        f"than allocating them in {dearer} of {len(rows)} Java configurations and more in {cheaper}; in the other "
        f"{len(rows) - dearer - cheaper} no difference was shown or a side is missing."
    )


def details(trials: pd.DataFrame) -> str:
    """The answer by case, where it turns, what the smaller pool does, and the cheapest cells, as Markdown."""
    java = trials[trials["language"] == "java"]
    if cell_data.finished(java).empty:
        return "There is nothing to compare yet."
    rows = tables.comparison_table(java)
    parts = [_by_case(rows)]
    against = rows[rows["direction"] == -1]
    if len(against):
        parts.append(f"Allocating was cheaper on {_where(against)}.")
    mixed = tables.comparison_table(java, "alloc", "mix")
    parts.append(
        f"The smaller pool (mix) cost less than allocating in {_count(mixed, 1)} of {len(mixed)} Java "
        f"configurations and more in {_count(mixed, -1)}."
    )
    parts.append(_cheapest(trials))
    return "\n\n".join(parts)


def _cheapest(trials: pd.DataFrame) -> str:
    cells = cell_data.cells(trials)
    marks = tables.highlights(cells).merge(cells, on=["case", "strategy", "solution"])
    lines = []
    for case, group in marks.groupby("case"):
        named = group.drop_duplicates("rank").set_index("rank")
        texts = [
            f"{rank}: {row['solution']} with {row['strategy']}, {stats.significant(row['ns'])} ns/packet"
            for rank, row in named.iterrows()
            if rank != "second-best Java"
        ]
        lines.append(f"- **Case {case}**, {'; '.join(texts)}.")
    return "Cheapest:\n\n" + "\n".join(lines)


def certainty(trials: pd.DataFrame) -> str:
    """How sure all this is: trials per configuration, how a spread is told, the instrument's own A/A
    noise."""
    good = cell_data.finished(trials)
    if good.empty:
        return "No trial has finished: nothing is certain."
    noise = stats.noise_band(good, cell_data.CONFIGURATION)
    caption = cell_data.spread_caption(cell_data.cells(trials))
    if not noise.pairs:
        return f"{caption} With one block, no difference can be told from noise, so none is claimed."
    return (
        f"{caption} Two trials of the same configuration stayed within a factor of "
        f"{stats.significant(noise.factor)} of each other in 95% of {noise.pairs} pairs (A/A)."
    )
