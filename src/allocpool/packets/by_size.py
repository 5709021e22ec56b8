"""Allocate or pool by how much is alive: each number of messages is judged, then one headline is made of all of them.

A headline names a side only with the sizes for which it is shown. Where another size, or another machine on record,
shows the opposite, it says where the answer turns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter

from allocpool import stats
from allocpool.decisions import Comparison
from allocpool.evidence import style
from allocpool.evidence.trials import records
from allocpool.packets import cells as cell_data
from allocpool.packets.labels import names_in
from allocpool.packets.specs import BUFFER_BYTES
from allocpool.packets.style import BY_MARKER, COLOURS, strategy_looks
from allocpool.packets.tables import comparison_table

Verdict = Literal["pool", "allocate", "no difference", "inconclusive", "not measured"]
SIDES: tuple[Verdict, ...] = ("pool", "allocate")
"""Of `rungs`."""
Kind = str
"""A side, or ``no difference``, ``turns``, ``inconclusive``, ``not measured``."""
NO_DIFFERENCE, INCONCLUSIVE, NOT_MEASURED = "no difference", "inconclusive", "not measured"
_USUAL_ALIVE = 200_000
"""The published case B: a ratio is stated for the number of messages that is nearest to it."""
RUNG_COLUMNS = (
    "configuration", "host_id", "scale", "case", "alive", "heap_mb", "pool_size", "ratio", "low", "high", "n",
    "verdict",
)  # fmt: skip


def rungs(trials: pd.DataFrame) -> pd.DataFrame:
    """Return one row per configuration, machine, size and number of messages alive that was measured both ways.

    Columns: `RUNG_COLUMNS`; ``ratio`` is allocating over the pool with its interval, ``n`` trials of the smaller side.
    All comparisons of one machine at one scale are decided together.
    """
    parts = []
    choices = trials[(trials["mode"] == "batch") & ~trials["collector"].isin(cell_data.CONTROLS)]
    for host_id, scale in choices[["host_id", "scale"]].drop_duplicates().itertuples(index=False):
        part = choices[(choices["host_id"] == host_id) & (choices["scale"] == scale)]
        compared = comparison_table(part)
        first = part[part["strategy"] == "pool"].drop_duplicates(["configuration", "case"])
        first = first.assign(alive=first["queue_size"] + first["stored_count"])
        facts = first[["configuration", "case", "alive", "heap_mb", "pool_size"]]
        found = compared.merge(facts, on=["configuration", "case"]).assign(host_id=host_id, scale=scale)
        found["configuration"] = found["configuration"].map(names_in(part))
        parts.append(found.assign(verdict=[verdict_of(row.n, row.direction, row.equivalent) for row in records(found)]))
    every = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=list(RUNG_COLUMNS))
    return every[list(RUNG_COLUMNS)].sort_values(["configuration", "host_id", "scale", "alive"], ignore_index=True)


def verdict_of(n: int, direction: int, equivalent: bool) -> Verdict:
    """Return the verdict on allocating over a pool, by what `allocpool.decisions` shows of the ratio."""
    if n == 0:
        return "not measured"
    if direction:
        return "pool" if direction > 0 else "allocate"
    return "no difference" if equivalent else "inconclusive"


def _shown(rows: pd.DataFrame) -> pd.Series:
    """Where a side is shown to be cheaper."""
    return ~rows["verdict"].isin((NO_DIFFERENCE, INCONCLUSIVE, NOT_MEASURED))


@dataclass(frozen=True)
class Headline:
    """The answer for one configuration.

    Attributes:
        configuration: as `labels.name_of` has it.
        kind: a side only where no size and no machine on record shows the other one.
        text: the sentence.
    """

    configuration: str
    kind: Kind
    text: str

    def _repr_markdown_(self) -> str:
        return self.text


def headlines(own: pd.DataFrame, record: pd.DataFrame) -> list[Headline]:
    """Return the answer for each configuration of ``own``, in its order.

    Args:
        own: `rungs` of one machine; where it has several scales, the largest speaks first.
        record: `rungs` of every machine and size that is stored; may hold ``own``.
    """
    return [
        headline(part, record[record["configuration"] == configuration])
        for configuration, part in own.groupby("configuration", sort=False)
    ]


def headline(own: pd.DataFrame, record: pd.DataFrame) -> Headline:
    """Return the answer for one configuration; arguments as `headlines` has them."""
    name = str(own["configuration"].iloc[0])
    largest = own[own["scale"] == own["scale"].max()].sort_values("alive")
    measured = largest[largest["verdict"] != NOT_MEASURED]
    shown = measured[_shown(measured)]
    if shown.empty:
        return _no_side(name, measured, f" {_alive(measured)}" if len(measured) else "")
    sides = list(dict.fromkeys(shown["verdict"]))
    opposite = _opposite(shown, record) if len(sides) == 1 else shown.iloc[:0]
    if len(sides) == 1 and opposite.empty:
        return Headline(name, sides[0], f"**{name}: {sides[0]}** {_alive(shown)}, {_times(shown)}{_rest(measured)}.")
    turns = "; ".join(f"**{side}** {_alive(part)}, {_times(part)}" for side, part in _stretches(shown))
    elsewhere = f" {_elsewhere(opposite, largest)}" if len(opposite) else ""
    return Headline(name, "turns", f"**{name}:** {turns}{_rest(measured)}.{elsewhere}")


def _no_side(name: str, measured: pd.DataFrame, where: str) -> Headline:
    """The answer where no side is shown; ``where`` in words."""
    lead = f"**{name}:** " if name else ""
    if measured.empty:
        return Headline(name, NOT_MEASURED, f"{lead}not measured both ways.")
    equal = bool((measured["verdict"] == NO_DIFFERENCE).all())
    kind, words = (NO_DIFFERENCE, "no difference that matters") if equal else (INCONCLUSIVE, INCONCLUSIVE)
    return Headline(name, kind, f"**{f'{name}: ' if name else ''}{words}**{where}, {_each(measured)}.")


def tally(name: str, rows: pd.DataFrame) -> Headline:
    """Return the answer of comparisons in no order, such as those of several configurations, by counting them; columns
    ``ratio``, ``n`` and ``verdict`` as of `rungs`."""
    measured = rows[rows["verdict"] != NOT_MEASURED]
    shown = measured[_shown(measured)]
    of = stats.plural(len(measured), "comparison")
    if shown.empty:
        return _no_side(name, measured, f" in all of {of}" if len(measured) else "")
    parts = []
    for side, part in shown.groupby("verdict", sort=True):
        times = part["ratio"].where(part["ratio"] > 1, 1 / part["ratio"])
        parts.append(f"**{side}** in {len(part)}, {stats.ends(times.min(), times.max())} times cheaper")
    parts += [f"{word} in {count}" for word, count in measured[~_shown(measured)]["verdict"].value_counts().items()]
    sides = shown["verdict"].unique()
    lead = f"**{name}:** " if name else ""
    text = f"{lead}of {of}, {'; '.join(parts)}; {_each(measured)}."
    return Headline(name, str(sides[0]) if len(sides) == 1 else "turns", text)


def tally_of(name: str, compared: Iterable[Comparison]) -> str:
    """Return the text of `tally` on comparisons of allocating over a pool."""
    rows = [
        (one.decision.ratio, one.decision.n, verdict_of(one.decision.n, one.direction, one.equivalent))
        for one in compared
    ]
    return tally(name, pd.DataFrame(rows, columns=["ratio", "n", "verdict"])).text


def _stretches(shown: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """The sides from the fewest messages alive to the most, each with its rows."""
    for side, rows in groupby(records(shown), key=lambda row: str(row.verdict)):
        yield side, shown[shown.index.isin([row.Index for row in rows])]


def _opposite(shown: pd.DataFrame, record: pd.DataFrame) -> pd.DataFrame:
    """What is shown of the same configuration at another size or on another machine, and is the other side."""
    other: pd.DataFrame = record[_shown(record) & (record["verdict"] != shown["verdict"].iloc[0])]
    return other


def _alive(rows: pd.DataFrame) -> str:
    low, high = int(rows["alive"].min()), int(rows["alive"].max())
    return f"at {low:,} messages alive" if low == high else f"from {low:,} to {high:,} messages alive"


def _each(rows: pd.DataFrame) -> str:
    low, high = int(rows["n"].min()), int(rows["n"].max())
    return f"n = {low}" if low == high else f"n = {low} to {high}"


def _times(rows: pd.DataFrame) -> str:
    """By how many times the side is cheaper at the number of messages nearest to the usual one."""
    row = min(records(rows), key=lambda each: abs(each.alive - _USUAL_ALIVE))
    ratio, low, high = row.ratio, row.low, row.high
    if row.ratio < 1:
        ratio, low, high = 1 / ratio, 1 / high, 1 / low
    at = "" if len(rows) == 1 else f" at {row.alive:,}"
    return f"{stats.significant(ratio)} times cheaper{at} ({stats.ends(low, high)}, n = {row.n})"


def _rest(measured: pd.DataFrame) -> str:
    """Where no side is shown."""
    rest = measured[~_shown(measured)]
    parts = [
        f"{'no difference that matters' if verdict == 'no difference' else verdict} at "
        f"{', '.join(f'{int(alive):,}' for alive in rest[rest['verdict'] == verdict]['alive'])}"
        for verdict in sorted(set(rest["verdict"].astype(str)))
    ]
    return "".join(f"; {part}" for part in parts)


def _elsewhere(opposite: pd.DataFrame, own: pd.DataFrame) -> str:
    """Where the record shows the other side."""
    here = opposite["host_id"].isin(set(own["host_id"]))
    parts = []
    for mine, rows in ((True, opposite[here]), (False, opposite[~here])):
        heaps = rows["heap_mb"].fillna(0).astype(int)
        for heap in sorted(set(heaps)):
            part, size = rows[heaps == heap], f", heap {heap:,} MB" if heap else ""
            parts.append(f"{_alive(part)}{size}, {'on this machine' if mine else 'on another machine'}")
    return f"The record shows the opposite ({opposite['verdict'].iloc[0]}) {'; '.join(parts)}."


def sizes(own: pd.DataFrame) -> str:
    """Return the sizes that all headlines share, as one sentence."""
    largest = own[own["scale"] == own["scale"].max()]
    heaps = sorted(set(largest["heap_mb"].dropna().astype(int)))
    pools = sorted(set(largest["pool_size"].astype(int)))
    heap = f"heap {' or '.join(f'{each:,}' for each in heaps)} MB, " if heaps else ""
    small = "" if own["scale"].max() >= 1 else f"; these are {own['scale'].max():g} of the published sizes"
    pool = " or ".join(f"{each:,}" for each in pools)
    return f"Messages of {BUFFER_BYTES:,} bytes, {heap}a pool of {pool}{small}."


def curve(trials: pd.DataFrame, cache_mb: float | None = None) -> Figure:
    """Draw ns a message against messages alive, a panel per configuration and a line per strategy, both axes
    logarithmic; intervals are the judge's, and a dashed line marks where live buffers fill the last-level cache.

    Args:
        trials: of one machine and one scale.
        cache_mb: size of the last-level cache, MiB; None: not known.
    """
    cells = cell_data.cells(trials)
    alive = trials.assign(alive=trials["queue_size"] + trials["stored_count"])
    cells = cells.merge(alive[["configuration", "case", "alive"]].drop_duplicates(), on=["configuration", "case"])
    cells = cells[cells["ns"].notna() & cells["strategy"].isin(["alloc", "pool"])]
    several = cells.groupby("configuration")["alive"].nunique()
    cells = cells[cells["configuration"].isin(several[several > 1].index)]
    if cells.empty:
        return style.nothing("fewer than two numbers of messages alive were measured")
    names = names_in(trials)
    order = [names[configuration] for configuration in cell_data.configuration_order(cells)]
    cells = cells.assign(panel=cells["configuration"].map(names))
    grid = sns.relplot(
        style.stated(cells, "ns"), x="alive", y="ns", kind="line", hue="strategy", palette=COLOURS, **BY_MARKER,
        dashes=False, **style.BARS, legend=False, **style.panels("panel", order, 2.4),
    )  # fmt: skip
    style.log_axes(grid, "x", cells["alive"])
    for axis in grid.axes.flat:
        axis.xaxis.set_major_formatter(EngFormatter(sep=""))
    style.log_axes(grid, "y", [*cells["low"], *cells["high"]])
    limit = cache_mb * 2**20 / BUFFER_BYTES if cache_mb else None
    if limit and cells["alive"].min() < limit < cells["alive"].max():
        style.rule(grid, x=limit)
    handles = [style.mark(label, *look, line="-") for label, look in strategy_looks(cells).items()]
    if limit:
        handles.append(style.mark(f"last-level cache, {cache_mb:,.0f} MiB", style.INK, line="--"))
    text = "; ".join(
        f"{name}: " + ", ".join(f"{verdict} {_alive(part)}" for verdict, part in _stretches(mine))
        for name, mine in rungs(trials).groupby("configuration", sort=False)
    )
    return style.finish(
        grid, f"ns a message by messages alive. {text}.", 3, handles=handles, x="messages alive", y="ns a message"
    )


def table(own: pd.DataFrame, alive: Sequence[int] = ()) -> pd.DataFrame:
    """Return one row per configuration and one column per number of messages alive: side and by how many times, in
    brackets where it is not shown."""
    rows = own[own["n"] > 0]
    rows = rows[rows["alive"].isin(alive)] if len(alive) else rows
    texts = []
    for row in records(rows):
        side = "pool" if row.ratio >= 1 else "allocate"
        text = f"{side} {stats.significant(max(row.ratio, 1 / row.ratio), 2)}x"
        texts.append(f"({text})" if row.verdict == INCONCLUSIVE else "equal" if row.verdict == NO_DIFFERENCE else text)
    wide = rows.assign(text=texts).pivot(index="configuration", columns="alive", values="text")
    wide = wide.reindex(list(dict.fromkeys(rows["configuration"]))).fillna("")
    return wide.rename(columns=lambda each: f"{each:,} alive").rename_axis(columns=None).reset_index()
