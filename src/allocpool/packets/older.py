"""Tables that an older version wrote, in today's words. Each rule says what was otherwise then."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import pandas as pd

from allocpool.packets.laps import COLLECTIONS, LAPS
from allocpool.packets.layouts import JAVA_LAYOUTS, ladder_of
from allocpool.packets.specs import Solution

_CASE_A_THEN = 10_000


def case_a(table: pd.DataFrame) -> pd.DataFrame:
    """Case A had the size of the article's text, 10,000 at scale 1, before it got that of the published code: such rows
    are of case A10k today."""
    if "case" not in table or "queue_size" not in table:
        return table
    then = (table["scale"] * _CASE_A_THEN).round()
    was_a = (table["case"] == "A") & (table["queue_size"] == then) & (table["stored_count"] == then)
    return table.assign(case=table["case"].mask(was_a.fillna(False).astype(bool), "A10k"))


def settings(table: pd.DataFrame) -> pd.DataFrame:
    """Parallel and CMS of 11 were given the pause target that the article gave to G1 alone, which is an option now;
    the heap was touched and no collection asked for, as by default today."""
    if "pause_target" in table or not {"collector", "runtime"} <= set(table):
        return table
    given = (table["collector"].isin(["parallel", "cms"]) & (table["runtime"] == 11)).fillna(False).astype("boolean")
    none = dict.fromkeys(("lazy_heap", "explicit_gc"), given.where(given.isna()))
    return table.assign(**none, pause_target=given.where(given))


_SOLUTION = (
    "language", "layout", "runtime", "collector", "allocator", "steps", "compact_headers", "large_pages", "lazy_heap",
    "explicit_gc", "pause_target",
)  # fmt: skip


def layouts(table: pd.DataFrame) -> pd.DataFrame:
    """Packets lay in the order in which they were made, nobody touched a payload, parsing in Java made a view of 24
    bytes, and in C++ the buffer was a part of its packet: none of that is as published, and rows are named for it."""
    if "pool_order" in table or not {"layout", "steps", "solution"} <= set(table):
        return table
    names = list(_SOLUTION)
    of_then = table[names].drop_duplicates().astype(object)
    solutions = [_of_then(row) for row in of_then.where(of_then.notna(), None).to_dict("records")]
    added = ["steps", "lean_view", "host_cpu", "pool_order", "payload_touch"]
    of_then = of_then.astype(table[names].dtypes).assign(solution=[solution.label for solution in solutions])
    for name in added:
        of_then[f"{name} now"] = pd.Series([getattr(s, name) for s in solutions], index=of_then.index)
    merged = table.drop(columns="solution").merge(of_then, on=names, how="left").drop(columns="steps")
    return merged.rename(columns={f"{name} now": name for name in added}).set_axis(table.index)


def later_options(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table with the options that came since, which no trial had."""
    none = {"no_refinement": None, "large_young": None, "detached": False}
    since = {name: value for name, value in none.items() if name not in table}
    return table.assign(**since) if since and "pool_order" in table else table


def reuse(table: pd.DataFrame) -> pd.DataFrame:
    """Every pool was last in, first out."""
    return table.assign(pool_reuse="lifo") if "pool_order" in table and "pool_reuse" not in table else table


def laps(table: pd.DataFrame) -> pd.DataFrame:
    """A lap was as many packets as the pool holds, though fewer circulate. A trial that was too short for that is still
    too short if it is by today's lap, or held fewer collections than profiles ask for."""
    if "laps" not in table or "pool_reuse" in table:
        return table
    in_use = table["queue_size"] + table["stored_count"]
    of_then = table["pool_size"].where(table["pool_size"] > in_use, in_use)
    now = table["laps"] * of_then / (in_use + 1)
    few = (table["gc_collections"] < COLLECTIONS).fillna(False) if "gc_collections" in table else False
    return table.assign(laps=now, too_short=table["too_short"] & ((now < LAPS).fillna(False) | few))


def _of_then(words: dict[Hashable, Any]) -> Solution:
    language, layout = words["language"], words["layout"]
    inline = language == "cpp" and layout in ("allocating", "flat")
    now = {
        "steps": "inline" if inline else words["steps"] or ladder_of(language, layout).default,
        "lean_view": language == "java" and JAVA_LAYOUTS[layout].byte_buffers,
    }
    return Solution.model_validate(words | now | {"pool_order": "fresh"})
