"""The verdict grid of the first page: who wins, allocating or a pool, by buffers, collector and Java, and by how much
of the heap is alive; beside it, at which rate with a deadline."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from allocpool import stats
from allocpool.decisions import A_CHEAPER, B_CHEAPER, EQUIVALENT
from allocpool.evidence import style
from allocpool.evidence.trials import records
from allocpool.packets import cells as cell_data
from allocpool.packets.specs import CASES
from allocpool.runtimes.collectors import collector_named
from allocpool.studies.realtime.decision_map import comparisons
from allocpool.studies.realtime.story import ALLOCATING, NEITHER, POOLING, pool_or_allocate

ALIVE = {"A": "little\nalive", "A10k": "little\nalive", "B": "realistic", "C": "half the\nheap alive"}
"""The cases in words."""
DEADLINE = "rate with\na deadline"
REALISTIC = "B"
POOL, ALLOC, EITHER, UNDECIDED, NO_WAY, NOT_MEASURED = "pool", "allocate", "either", "open", "neither", "not measured"
COLUMNS = ["solution", *cell_data.ORDERED_BY, "label", "column", "who", "ratio", "low", "high", "n"]
_MOST = 4.0
"""A ratio of so much has the full colour."""
_COLOURS = LinearSegmentedColormap.from_list("who wins", [style.BLUE, "#f6f6f6", style.VERMILION])
_NO_MATTER = "#c4c4c4"
_HATCH = "#9a9a9a"
_ON_COLOUR = "#1a1a1a"
"""Ink on a coloured field, which stays light on a dark page."""


def label_of(row: Any) -> str:
    """Buffers, collector and Java of a solution, or C++ with its layout."""
    if row.language == "cpp":
        return f"C++, {row.layout}"
    return f"{row.layout}, {short_collector(row.collector)}, {int(row.runtime)}"


def short_collector(name: str) -> str:
    """A collector's label where there is little room."""
    return collector_named(name).label.replace("generational", "gen.")


def costs(compared: pd.DataFrame, trials: pd.DataFrame) -> pd.DataFrame:
    """One row per solution and case measured both ways, with who is cheaper and by how much (`COLUMNS`).

    ``compared`` is of `allocpool.packets.tables.comparison_table`, whose verdicts these are; ``trials`` tell what its
    solutions are.
    """
    facts = _facts(trials)
    told = compared.assign(column=compared["case"], who=[_who(row) for row in records(compared)])
    return _told_apart(_with(told, facts), facts["rest"])[COLUMNS]


def _facts(*tables: pd.DataFrame) -> pd.DataFrame:
    """What the solutions of these trials or cells are, by their names: `cells.ORDERED_BY`, ``label``, and the ``rest``
    of what tells solutions of one label apart."""
    columns = ["solution", *cell_data.SOLUTION_FACTS]
    first = pd.concat([table[columns] for table in tables]).drop_duplicates("solution").set_index("solution")
    named = [(label_of(row), cell_data.solution_of(row)) for row in records(first)]
    return first[list(cell_data.ORDERED_BY)].assign(
        label=pd.Series([label for label, _ in named], index=first.index, dtype=object),
        rest=pd.Series([solution.beside_layout for _, solution in named], index=first.index, dtype=object),
    )


def _with(rows: pd.DataFrame, facts: pd.DataFrame) -> pd.DataFrame:
    """The rows with the facts of their solutions."""
    return rows.assign(**{name: rows["solution"].map(facts[name]) for name in (*cell_data.ORDERED_BY, "label")})


def _who(row: Any) -> str:
    if row.n == 0:
        return NOT_MEASURED
    return {1: POOL, -1: ALLOC}.get(row.direction, EITHER if row.equivalent else UNDECIDED)


def _told_apart(table: pd.DataFrame, rest: pd.Series) -> pd.DataFrame:
    """Labels of several solutions get what tells them apart."""
    names = table.drop_duplicates("solution").groupby("label")["solution"].nunique()
    more = table["solution"].map(rest)
    several = table["label"].isin(names[names > 1].index) & (more != "")
    return table.assign(label=table["label"].where(~several, table["label"] + ", " + more))


def with_deadline(
    table: pd.DataFrame, trials: pd.DataFrame, cells: pd.DataFrame, mapped: pd.DataFrame, case: str = REALISTIC
) -> pd.DataFrame:
    """The grid with a column for real time: which way keeps up with the higher rate in this case; in reading order.

    ``trials`` are those of the grid, ``cells`` those of real time, and ``mapped`` the trials of the decision map, which
    tells, at `live_of_map`, of solutions that are not among the cells, or whose cells do not show who is ahead where it
    does: its deadline is another one. ``by_map`` says whose a row is.
    """
    named = table.drop_duplicates("solution").set_index("solution")["label"]
    facts = _facts(cells, mapped)
    facts = facts.assign(label=named.reindex(facts.index).fillna(facts["label"]))
    found, boundaries = pool_or_allocate(cells), comparisons(mapped)
    found = found[found["case"] == case]
    found = found.assign(who=found["decided"].map(_KEEPS_UP), by_map=False)
    boundaries = boundaries[boundaries["live_messages"] == live_of_map(trials, mapped, case)]
    boundaries = boundaries.assign(who=boundaries["verdict"].map(_KEEPS_UP), by_map=True)
    shown = found["who"].isin(_SHOWN)
    better = boundaries["who"].isin(_SHOWN) & ~boundaries["solution"].isin(found.loc[shown, "solution"])
    boundaries = boundaries[better | ~boundaries["solution"].isin(found["solution"])]
    added = pd.concat([found[~found["solution"].isin(boundaries["solution"])], boundaries])
    added = _with(added, facts).assign(column=DEADLINE, who=added["who"].fillna(UNDECIDED))
    both = pd.concat([table, added[[*COLUMNS, "by_map"]]], ignore_index=True) if len(added) else table
    order = cell_data.solution_order(pd.concat([trials, cells, mapped])) if len(both) else []
    return both.sort_values("solution", key=lambda names: names.map(order.index), kind="stable", ignore_index=True)


_SHOWN = (POOL, ALLOC, EITHER)
_KEEPS_UP = {
    POOLING: POOL, ALLOCATING: ALLOC, NEITHER: NO_WAY, A_CHEAPER: ALLOC, B_CHEAPER: POOL, EQUIVALENT: EITHER,
}  # fmt: skip


def live_of_map(trials: pd.DataFrame, mapped: pd.DataFrame, case: str = REALISTIC) -> int | None:
    """That of the map's live sets that fills its heap most nearly as this case of the batch trials fills theirs; None
    where either is missing."""
    alike = trials[(trials["case"] == case) & trials["heap_mb"].notna()]
    if alike.empty or mapped.empty:
        return None
    wanted, tried = (
        (rows["queue_size"] + rows["stored_count"]) / rows["heap_mb"].astype(float) for rows in (alike, mapped)
    )
    nearest = int(np.abs(np.log(tried.to_numpy() / float(wanted.median()))).argmin())
    row = mapped.iloc[nearest]
    return int(row["queue_size"] + row["stored_count"])


def figure(table: pd.DataFrame) -> Figure:
    """The grid as a heatmap. A cell says who wins and by how many times; hatched: not shown; grey: no difference that
    matters; empty: not measured."""
    shown = table[table["who"] != NOT_MEASURED]
    if shown.empty:
        return style.nothing("nothing was measured both allocating and with a pool")
    known = [case for case in CASES if case in set(shown["column"])]
    columns: list[str] = [*known, *sorted(set(shown["column"]) - set(known))]
    labels = list(dict.fromkeys(shown["label"]))
    cells = shown.drop_duplicates(["label", "column"], keep="last")
    cells = cells.assign(strength=cells.apply(_strength, axis=1), word=cells.apply(in_short, axis=1))
    strength, words = (
        cells.pivot(index="label", columns="column", values=name).reindex(index=labels, columns=columns)
        for name in ("strength", "word")
    )
    drawing, (axis,) = style.new_figure(1, 1, style.WIDTH, 1.1 + 0.3 * len(labels))
    sns.heatmap(
        strength, annot=words.fillna(""), fmt="", cmap=_COLOURS, vmin=-1, vmax=1, cbar=False, linewidths=1.5, ax=axis,
        annot_kws={"fontsize": style.TEXT}, linecolor="#ffffff",
    )  # fmt: skip
    for _, row in shown.iterrows():
        place = columns.index(row["column"]), labels.index(row["label"])
        if row["who"] in (EITHER, NO_WAY):
            axis.add_patch(Rectangle(place, 1, 1, facecolor=_NO_MATTER, edgecolor="#ffffff", linewidth=1.5, zorder=1.5))
        if row["who"] == UNDECIDED:
            axis.add_patch(Rectangle(place, 1, 1, fill=False, hatch="///", edgecolor=_HATCH, linewidth=0, zorder=2))
    for text in axis.texts:
        text.set(color=_ON_COLOUR, zorder=4)
    axis.set_xticklabels([ALIVE.get(column, column) for column in columns])
    axis.xaxis.tick_top()
    axis.tick_params(length=0, labelrotation=0)
    axis.set(xlabel="", ylabel="")
    axis.grid(False)
    keys = [
        Patch(facecolor=_COLOURS(0.95), label="a pool wins"),
        Patch(facecolor=_COLOURS(0.1), label="allocating wins"),
        Patch(facecolor=_NO_MATTER, label="no difference matters"),
        Patch(facecolor="#f6f6f6", edgecolor=_HATCH, hatch="///", label="not shown"),
    ]
    drawing.legend(handles=keys, loc="outside lower center", ncols=2, frameon=False)
    return style.describe(drawing, sentence(table))


def _strength(row: pd.Series) -> float:
    """From -1, allocating wins by far, to 1, a pool does; faint where it is not shown."""
    if pd.isna(row["ratio"]):
        return {POOL: 1.0, ALLOC: -1.0}.get(row["who"], 0.0)
    part = max(-1.0, min(1.0, math.log(row["ratio"]) / math.log(_MOST)))
    return part if row["who"] in (POOL, ALLOC) else part / 4


def in_short(row: pd.Series) -> str:
    """``pool 2.1``, ``alloc 1.3``; of what is not shown the side that looks better; else a word."""
    who, ratio = row["who"], row["ratio"]
    if who in (EITHER, NO_WAY):
        return str(who)
    if pd.isna(ratio):
        return str(who) if who != UNDECIDED else "?"
    if who == UNDECIDED:
        who = POOL if ratio >= 1 else ALLOC
    return f"{'alloc' if who == ALLOC else who} {stats.significant(max(ratio, 1 / ratio), 2)}"


def caption(table: pd.DataFrame) -> str:
    """How to read the grid, and how often who wins."""
    mapped = int(table["by_map"].eq(True).sum()) if "by_map" in table else 0
    searched = (table["column"] == DEADLINE).sum() - mapped
    of_map = (
        f" Of those with a deadline {mapped} are the decision map's, whose deadline is another one, where nothing else "
        "shows who is ahead."
        if mapped and searched
        else ""
    )
    marks = ", ".join(table["apart"].dropna().unique()) if "apart" in table else ""
    return (
        f"{sentence(table)} Hatched: not shown, with the side that looks better; grey: no difference that matters; "
        "empty: not measured. Darker: by more. Fields of one study are decided together, as `allocpool status` decides "
        f"them, those with a deadline apart from the others.{of_map}{f' {marks}.' if marks else ''}"
    )


def sentence(table: pd.DataFrame) -> str:
    """What the grid shows, in words: how often who wins."""
    counts = table["who"].value_counts().drop(NOT_MEASURED, errors="ignore")
    measured = int(counts.sum())
    if not measured:
        return "Nothing was measured both allocating and with a pool."
    told = ", ".join(f"{words} in {counts[who]}" for who, words in _WHO.items() if who in counts)
    by_far = table[table["who"].isin([POOL, ALLOC])].dropna(subset=["ratio"])
    most = ""
    if len(by_far):
        row = by_far.iloc[int(np.abs(np.log(by_far["ratio"].to_numpy(float))).argmax())]
        words = ALIVE.get(row["column"], row["column"]).replace("\n", " ")
        most = f" Most: {row['label']}, {words}: {in_short(row)}."
    pairs = "pair" if measured == 1 else "pairs"
    return f"Of {measured} {pairs} of allocating and pooling, {told}.{most}"


_WHO = {
    POOL: "a pool wins", ALLOC: "allocating wins", EITHER: "no difference matters", NO_WAY: "neither keeps up",
    UNDECIDED: "it is open",
}  # fmt: skip
