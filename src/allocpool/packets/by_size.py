"""Allocate or pool by messages alive: a verdict for each number of messages, and one headline over all of them.

A headline names a side only with the sizes for which it is shown. Where another size, or another machine on record,
shows the opposite, it states where the answer turns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd
from matplotlib.figure import Figure

from allocpool import stats
from allocpool.decisions import Comparison, compare, compare_together
from allocpool.evidence import style
from allocpool.evidence.trials import records
from allocpool.packets import cells as cell_data
from allocpool.packets.labels import names_in
from allocpool.packets.specs import BUFFER_BYTES, in_case_order
from allocpool.packets.style import lines

SIDES = ("pool", "allocate")
NO_DIFFERENCE, INCONCLUSIVE, NOT_MEASURED = "no difference", "inconclusive", "not measured"
_USUAL_ALIVE = 200_000
"""The published case B: a headline states the ratio at the number of messages nearest to it."""
_FIGURES = ["ratio", "low", "high", "n", "direction", "equivalent", "verdict"]
_RUNG = ["configuration", "host_id", "scale", "case", "alive", "heap_mb", "pool_size", *_FIGURES]


def verdict_of(n: int, direction: int, equivalent: bool) -> str:
    """Return the verdict on allocating over a pool, by what `allocpool.decisions` shows of the ratio."""
    if n == 0:
        return NOT_MEASURED
    if direction:
        return "pool" if direction > 0 else "allocate"
    return NO_DIFFERENCE if equivalent else INCONCLUSIVE


def _figures(found: Comparison) -> tuple[Any, ...]:
    of, shown = found.decision, (found.direction, found.equivalent)
    return of.ratio, of.low, of.high, of.n, *shown, verdict_of(of.n, *shown)


def ratios(keys: Sequence[str], sides: Mapping[Any, tuple[pd.Series, pd.Series] | None]) -> pd.DataFrame:
    """Return the costs of allocating over those of a pool, one row per key; all that can run here are decided together.

    Columns: ``keys``, ``ratio``, ``low``, ``high``, ``n`` (trials of the smaller side; 0 where one has no figure),
    ``direction`` (1, -1, 0: neither is shown), ``equivalent`` (within the margin), ``verdict``.

    Args:
        sides: costs of both by block; None where one can't run here.
    """
    asked = {key: both for key, both in sides.items() if both}
    together = dict(zip(asked, compare_together(list(asked.values())), strict=True))
    rows = [(*key, *_figures(together.get(key) or compare([], []))) for key in sides]
    return pd.DataFrame(rows, columns=[*keys, *_FIGURES])


def comparison_table(trials: pd.DataFrame) -> pd.DataFrame:
    """Return `ratios` per configuration and case that both allocating and a pool were tried of, of all trials of one
    study at one scale: fewer would have other verdicts than `allocpool.campaign.schedule.decisions_of`."""
    runs = trials["status"] != "unavailable"
    can_run = runs.groupby([trials[name] for name in cell_data.CONFIGURATION], observed=True).any().to_dict()
    costs, none = cell_data.costs_by_cell(trials), pd.Series(dtype=float)
    sides: dict[Any, tuple[pd.Series, pd.Series] | None] = {}
    for configuration in cell_data.configuration_order(trials):
        for case in in_case_order(trials["case"]):
            alloc, pool = ((configuration, strategy, case) for strategy in ("alloc", "pool"))
            if alloc in can_run and pool in can_run:
                both = costs.get(alloc, none), costs.get(pool, none)
                sides[configuration, case] = both if can_run[alloc] and can_run[pool] else None
    return ratios(["configuration", "case"], sides)


def rungs(trials: pd.DataFrame) -> pd.DataFrame:
    """Return one row per configuration, machine, size and number of messages alive that was measured both ways: the
    columns `_RUNG`. All comparisons of one machine at one scale are decided together."""
    parts = []
    choices = trials[(trials["mode"] == "batch") & ~trials["collector"].isin(cell_data.CONTROLS)]
    for _, part in choices.groupby(["host_id", "scale"], sort=False):
        pools = part[part["strategy"] == "pool"].drop_duplicates(["configuration", "case"])
        pools = pools.assign(alive=pools["queue_size"] + pools["stored_count"])
        found = pools[[name for name in _RUNG if name in pools]].merge(comparison_table(part))
        parts.append(found.assign(configuration=found["configuration"].map(names_in(part))))
    every = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=_RUNG)
    return every.sort_values(["configuration", "host_id", "scale", "alive"], ignore_index=True)


def ladders(own: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the configurations with most numbers of messages ``alive``: those a page opens with. Of four
    or more one may be missing, such as one that a profile leaves out where it takes long."""
    count = own.groupby("configuration")["alive"].transform("nunique")
    return pd.DataFrame(own[count >= count.max() - (count.max() > 3)])


def _has_side(rows: pd.DataFrame) -> pd.Series:
    return ~rows["verdict"].isin((NO_DIFFERENCE, INCONCLUSIVE, NOT_MEASURED))


class Headline(NamedTuple):
    """The answer for one configuration, named as `labels.name_of` does.

    ``kind``: ``turns``, `NO_DIFFERENCE`, `INCONCLUSIVE`, `NOT_MEASURED`, or a side, where no size and no machine on
    record shows the other one.
    """

    configuration: str
    kind: str
    text: str

    def _repr_markdown_(self) -> str:
        return self.text


def headlines(own: pd.DataFrame, record: pd.DataFrame) -> list[Headline]:
    """Return the `headline` of each configuration of ``own``, in its order."""
    return [
        headline(part, record[record["configuration"] == configuration])
        for configuration, part in own.groupby("configuration", sort=False)
    ]


def headline(own: pd.DataFrame, record: pd.DataFrame) -> Headline:
    """Return the answer for one configuration, of ``own`` `rungs` of one machine (of several scales the largest counts)
    and those on record: of every machine and size that is stored."""
    name = str(own["configuration"].iloc[0])
    largest = own[own["scale"] == own["scale"].max()].sort_values("alive")
    measured = largest[largest["verdict"] != NOT_MEASURED]
    shown, rest = measured[_has_side(measured)], measured[~_has_side(measured)]
    if shown.empty:
        return _no_side(name, measured, f" {_alive(measured)}" if len(measured) else "")
    without = "".join(
        f"; {_WORDS[verdict]} at {', '.join(f'{int(alive):,}' for alive in part['alive'])}"
        for verdict, part in rest.groupby("verdict")
    )
    sides = list(shown["verdict"].unique())
    stored = record[_has_side(record)]
    if len(sides) > 1 and len(stored):  # each size for itself, on other machines
        stored = stored[(stored["scale"] == largest["scale"].iloc[0]) & ~stored["host_id"].isin(own["host_id"])]
        stored = stored[stored["alive"].isin(shown["alive"])]
    here = stored["alive"].map(dict(zip(shown["alive"], shown["verdict"], strict=True))) if len(sides) > 1 else sides[0]
    opposite = stored[stored["verdict"] != here]
    if len(sides) == 1 and opposite.empty:
        return Headline(name, sides[0], f"**{name}: {sides[0]}** {_alive(shown)}, {_times(shown)}{without}.")
    runs = (shown["verdict"] != shown["verdict"].shift()).cumsum()
    turns = "; ".join(
        f"**{part['verdict'].iloc[0]}** {_alive(part)}, {_times(part)}" for _, part in shown.groupby(runs)
    )
    elsewhere = ""
    for side, part in opposite.groupby("verdict"):
        machines = set(part["host_id"]) - set(own["host_id"])
        where = f"on {stats.plural(len(machines), 'other machine')}" if machines else "at another size"
        elsewhere += f" The record shows {side} {_alive(part)} {where}."
    return Headline(name, "turns", f"**{name}:** {turns}{without}.{elsewhere}")


_WORDS = {NO_DIFFERENCE: "practically equivalent", INCONCLUSIVE: INCONCLUSIVE}


def _no_side(name: str, measured: pd.DataFrame, where: str) -> Headline:
    """Return the answer where no side is shown; ``where`` in words."""
    if measured.empty:
        return Headline(name, NOT_MEASURED, f"{f'**{name}:** ' if name else ''}not measured both ways.")
    kind = NO_DIFFERENCE if (measured["verdict"] == NO_DIFFERENCE).all() else INCONCLUSIVE
    return Headline(name, kind, f"**{f'{name}: ' if name else ''}{_WORDS[kind]}**{where}, {_each(measured)}.")


def tally(name: str, rows: pd.DataFrame) -> Headline:
    """Return the answer of comparisons in no order, such as those of several configurations, by counting them; columns
    ``ratio``, ``n`` and ``verdict`` as of `rungs`."""
    measured = rows[rows["verdict"] != NOT_MEASURED]
    has_side = _has_side(measured)
    shown, of = measured[has_side], stats.plural(len(measured), "comparison")
    if shown.empty:
        return _no_side(name, measured, f" in all of {of}" if len(measured) else "")
    parts = []
    for side, part in shown.groupby("verdict", sort=True):
        times = part["ratio"].where(part["ratio"] > 1, 1 / part["ratio"])
        parts.append(f"**{side}** in {len(part)}, {stats.span(times, 3)} times cheaper")
    parts += [f"{word} in {count}" for word, count in measured[~has_side]["verdict"].value_counts().items()]
    sides = shown["verdict"].unique()
    text = f"{f'**{name}:** ' if name else ''}of {of}, {'; '.join(parts)}; {_each(measured)}."
    return Headline(name, str(sides[0]) if len(sides) == 1 else "turns", text)


def tally_of(name: str, compared: Iterable[Comparison]) -> str:
    """Return the text of `tally` on comparisons of allocating over a pool."""
    return tally(name, pd.DataFrame(map(_figures, compared), columns=_FIGURES)).text


def _alive(rows: pd.DataFrame) -> str:
    low, high = int(rows["alive"].min()), int(rows["alive"].max())
    return f"{f'at {low:,}' if low == high else f'from {low:,} to {high:,}'} messages alive"


def _each(rows: pd.DataFrame) -> str:
    return "n = " + " to ".join(str(n) for n in sorted({int(rows["n"].min()), int(rows["n"].max())}))


def _times(rows: pd.DataFrame) -> str:
    """Return by how many times the side is cheaper at the number of messages nearest to the usual one."""
    row = min(records(rows), key=lambda each: abs(each.alive - _USUAL_ALIVE))
    ends = (row.low, row.high) if row.ratio >= 1 else (1 / row.high, 1 / row.low)
    at = "" if len(rows) == 1 else f" at {row.alive:,}"
    return f"{stats.significant(max(row.ratio, 1 / row.ratio))} times cheaper{at} ({stats.ends(*ends)}, n = {row.n})"


def sizes(own: pd.DataFrame) -> str:
    """Return the sizes that all headlines share, as one sentence."""
    scale = own["scale"].max()
    largest = own[own["scale"] == scale]

    def each(column: str) -> str:
        return " or ".join(f"{value:,}" for value in sorted(set(largest[column].dropna().astype(int))))

    heap = f"heap {each('heap_mb')} MB, " if largest["heap_mb"].notna().any() else ""
    small = "" if scale >= 1 else f"; these are {scale:g} of the published sizes"
    return f"Messages of {BUFFER_BYTES:,} bytes, {heap}a pool of {each('pool_size')}{small}."


def curve(trials: pd.DataFrame, cache_mb: float | None = None) -> Figure:
    """Draw ns a message against messages alive, a panel per configuration of `ladders` and a line per strategy, with
    the judge's intervals; a dashed line marks where live buffers fill the last-level cache of ``cache_mb`` MiB. Trials
    are those of one machine and one scale."""
    alive = trials.assign(alive=trials["queue_size"] + trials["stored_count"])[["configuration", "case", "alive"]]
    cells = cell_data.cells(trials).merge(alive.drop_duplicates(), on=["configuration", "case"])
    cells = cells[cells["ns"].notna() & cells["strategy"].isin(["alloc", "pool"])]
    cells = ladders(cells[cells.groupby("configuration")["alive"].transform("nunique") > 1])
    if cells.empty:
        return style.nothing("fewer than two numbers of messages alive were measured")
    names = names_in(trials)
    order = [names[configuration] for configuration in cell_data.configuration_order(cells)]
    grid, handles = lines(cells.assign(panel=cells["configuration"].map(names)), "alive", order)
    limit = cache_mb * 2**20 / BUFFER_BYTES if cache_mb else None
    if limit and cells["alive"].min() < limit < cells["alive"].max():
        style.rule(grid, x=limit)
    if limit:
        handles.append(style.mark(f"last-level cache, {cache_mb:,.0f} MiB", style.INK, line="--"))
    sides = []
    for name, mine in ladders(rungs(trials)).groupby("configuration", sort=False):
        spans = mine.groupby((mine["verdict"] != mine["verdict"].shift()).cumsum())
        sides.append(f"{name}: " + ", ".join(f"{span['verdict'].iloc[0]} {_alive(span)}" for _, span in spans))
    text = f"ns a message by messages alive. {'; '.join(sides)}."
    return style.finish(grid, text, 3, handles=handles, x="messages alive", y="ns a message")


def side_and_times(rows: pd.DataFrame) -> pd.Series:
    """Return of each row the side and by how many times it is cheaper, in brackets where it is not shown; columns
    ``ratio`` (of allocating over the pool) and ``verdict``."""
    times = rows["ratio"].where(rows["ratio"] >= 1, 1 / rows["ratio"]).map(lambda each: stats.significant(each, 2))
    text = (rows["ratio"] >= 1).map({True: "pool ", False: "allocate "}).astype(str) + times.astype(str) + "x"
    text = text.mask(rows["verdict"] == NO_DIFFERENCE, "equal")
    return text.mask(rows["verdict"] == INCONCLUSIVE, "(" + text + ")")


def table(own: pd.DataFrame) -> pd.DataFrame:
    """Return one row per configuration and one column per number of messages alive, with `side_and_times`."""
    rows = own[own["n"] > 0]
    wide = rows.assign(text=side_and_times(rows)).pivot(index="configuration", columns="alive", values="text")
    wide = wide.reindex(rows["configuration"].unique()).fillna("")
    return wide.rename(columns=lambda each: f"{each:,} alive").rename_axis(columns=None).reset_index()
