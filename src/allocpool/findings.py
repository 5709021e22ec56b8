"""The first page: the answer over all studies in a few sentences, how sure it is, what surprises most, and every claim.

Costs are compared at one scale and on one host only: what fits into a cache is another thing at another scale, and on
another machine.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from importlib.util import find_spec
from typing import Any, NamedTuple

import pandas as pd
from matplotlib.figure import Figure

from allocpool import stats, verdict_grid
from allocpool.campaign import campaign, hosts, profiles, sequential, store
from allocpool.campaign.registry import every_study, room, study_named
from allocpool.campaign.study import Machine
from allocpool.decisions import FEWEST_ESTIMATES, Comparison, compare, judged_by, of_estimate
from allocpool.errors import UserError
from allocpool.evidence import claims, style, tables
from allocpool.evidence.claims import (
    AS_PUBLISHED,
    EQUIVALENT,
    NOT_MEASURED,
    OPEN,
    OTHER_WAY,
    Claim,
    Equality,
    Evidence,
    Missing,
    of_orderings,
)
from allocpool.evidence.trials import finished, quiet_or_noisy, records
from allocpool.packets import cells as cell_data
from allocpool.packets.comparisons import (
    PUBLISHED,
    THEN_AND_NOW,
    UNDECIDED,
    Batch,
    Cell,
    decided_in_words,
    headline,
    listed,
    sentence,
)
from allocpool.packets.published import ARTICLE, published_as_trials
from allocpool.packets.specs import BUFFER_BYTES, HEAP_MB, TCP_ONE_IN
from allocpool.packets.tables import comparison_table, primary_table
from allocpool.studies.batch import claims as batch_claims
from allocpool.studies.batch import published_sizes
from allocpool.studies.batch import story as batch_story
from allocpool.studies.pauses import story as pauses_story
from allocpool.studies.realtime import claims as realtime_claims
from allocpool.studies.realtime.cells import realtime_cells
from allocpool.studies.realtime.claims import Realtime

MATCHES = 1.1
"""An interval matches a cost that is no further off than by this factor: it is part of what the claim says, whatever
effect matters to a profile."""


_OF_PACKETS = ("batch", "realtime", "native", "pauses")
"""The studies of packets, in the order in which they speak for all."""
_IN_BATCH = ("batch", "native", "pauses")
"""Those of them that have batch trials."""


@dataclass(frozen=True)
class Measured:
    """What the studies of packets left under one profile; tables without rows where one has not run."""

    profile: str

    def _table(self, study: str, name: str) -> pd.DataFrame:
        return store.stored(study, self.profile)[0][name]

    @cached_property
    def batch(self) -> pd.DataFrame:
        """The trials of the batch study."""
        return self._table("batch", "trials")

    @property
    def shown(self) -> pd.DataFrame:
        """Of these, those of the solutions that a program would choose; case A in one size."""
        return cell_data.one_case_a(cell_data.as_set(self.batch))

    @cached_property
    def every_batch(self) -> pd.DataFrame:
        """Batch trials of all studies, each once; without pools in the order in which they were made, a state that does
        not last, unless the first campaign is an older one and knows no other.

        A cell of a host has the trials of the first study that measured it there: those of another one were made at
        another time, or by other code, and would pass for two speeds.
        """
        told: list[pd.DataFrame] = []
        for place, study in enumerate(_IN_BATCH):
            rows = self._table(study, "trials")
            rows = rows[rows["mode"] == "batch"]
            lasting = rows[rows["pool_order"] != "fresh"] if "pool_order" in rows else rows
            known = any(len(part) for part in told)
            told.append((lasting if known or len(cell_data.with_cost(lasting)) else rows).assign(origin=place))
        rows = pd.concat([part for part in told if len(part)] or told[:1], ignore_index=True)
        rows = cell_data.as_set(rows.drop_duplicates("trial_id"))
        cell = rows.groupby([*cell_data.CONFIGURATION, "scale", "host_id"], observed=True, dropna=False)
        return rows[rows["origin"] == cell["origin"].transform("min")].drop(columns="origin")

    @property
    def of_its_host(self) -> pd.DataFrame:
        """Of every batch trial, those of the host that the page is of."""
        return self.every_batch[self.every_batch["host_id"] == self._own_host(self.every_batch)]

    @cached_property
    def searches(self) -> pd.DataFrame:
        """The searches of the real-time study."""
        return self._table("realtime", "searches")

    @cached_property
    def placed(self) -> pd.DataFrame:
        """Its placed trials."""
        return self._table("realtime", "placed")

    @cached_property
    def realtime(self) -> pd.DataFrame:
        """Its cells."""
        return realtime_cells(self.searches, self.placed)

    @property
    def effect(self) -> float:
        """The smallest ratio of costs that matters, by the profile of the first study of packets that left anything."""
        return store.effect_of(self.profile, *_OF_PACKETS)

    @property
    def realtime_effect(self) -> float:
        """The smallest ratio of intervals that matters: the real-time study may have been asked for another one."""
        return store.effect_of(self.profile, "realtime", *_OF_PACKETS)

    @cached_property
    def mapped(self) -> pd.DataFrame:
        """The trials of its decision map."""
        return self._table("realtime", "map")

    @cached_property
    def compared(self) -> pd.DataFrame:
        """Allocating against pooling in batch, as `comparison_table` has it, with ``scale`` and ``host_id``: of each
        study all that it asks is decided together, as its campaign decides it. A pair is told of by the first study
        that measured it, on whichever host; case A in one size."""
        parts = [comparison_table(self.batch.iloc[:0]).assign(scale=0.0, host_id="")]
        for study in _IN_BATCH:
            trials = self._table(study, "trials")
            trials = trials[(trials["mode"] == "batch") & ~trials["collector"].isin(cell_data.CONTROLS)]
            for _, part in trials.groupby(["scale", "host_id"]):
                facts = {name: part[name].iloc[0] for name in ("scale", "host_id")}
                parts.append(comparison_table(part).assign(**facts))
        every = pd.concat([part for part in parts if len(part)] or parts, ignore_index=True)
        measured_first = every.assign(lacking=every["n"] == 0).sort_values("lacking", kind="stable")
        once = measured_first.drop_duplicates(["solution", "case", "scale"]).sort_index().drop(columns="lacking")
        return cell_data.one_case_a(once[once["solution"].isin(set(self.every_batch["solution"]))])

    def by_scale_and_host(self, rows: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
        """What is `compared`, or trials, at the scale of the batch study first, and of its host before others, with
        words that say which scale it is, and that it is another machine where it is."""
        scales, own = set(self.batch["scale"]), self._own_host(rows)

        def order(group: tuple[Any, pd.DataFrame]) -> tuple[Any, ...]:
            (scale, host_id), _ = group
            return scale not in scales, scale, host_id != own, host_id

        for (scale, host_id), part in sorted(rows.groupby(["scale", "host_id"]), key=order):
            elsewhere = f", on another machine, {hosts.label(str(host_id), self.profile)}" if host_id != own else ""
            yield f"At scale {scale:g}{elsewhere}", part

    def _own_host(self, rows: pd.DataFrame) -> str | None:
        """The host of the first study that left anything."""
        first = self.batch if len(self.batch) else rows
        return str(first["host_id"].iloc[0]) if len(first) else None

    @cached_property
    def grid(self) -> pd.DataFrame:
        """The verdict grid: one row per solution and column (`verdict_grid.COLUMNS`), each solution at the first of the
        scales, and on the first of the hosts, that it was measured at, those of the batch study before others, whose
        rows have a mark and, in ``apart``, what it means."""
        parts: list[pd.DataFrame] = []
        known: set[str] = set()
        for words, compared in self.by_scale_and_host(self.compared):
            part = verdict_grid.costs(compared[~compared["solution"].isin(known)], self.every_batch)
            part = part[part["who"] != verdict_grid.NOT_MEASURED]
            if parts and len(part):
                mark = "†" * len(parts)  # an asterisk would end the caption's emphasis
                part = part.assign(label=part["label"] + mark, apart=f"{mark} {words[0].lower()}{words[1:]}")
            known |= set(part["solution"])
            parts += [part] if len(part) else []
        found = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=verdict_grid.COLUMNS)
        with judged_by(self.realtime_effect):
            return verdict_grid.with_deadline(found, self.every_batch, self.realtime, self.mapped)


def answer(measured: Measured) -> str:
    """The first sentences: for the realistic load on the newest G1, buffers on the heap, then off it, then with a
    deadline, what wins and by how much."""
    found = measured.grid
    if not (found["who"] != verdict_grid.NOT_MEASURED).any():
        return f"**{UNDECIDED}.** Nothing has been measured both allocating and with a pool yet."
    if not (_in_java(found) & found["layout"].isin(("heap", "native"))).any():
        row = found[found["who"] != verdict_grid.NOT_MEASURED].iloc[0]
        alive = verdict_grid.ALIVE.get(row["column"], row["column"]).replace("\n", " ")
        return f"**{row['label']}, {alive}: {_told_ratio(row)} Java was not measured both ways."
    parts = [_told_cell(found, "heap", verdict_grid.REALISTIC, "heap buffers, realistic load")]
    parts.append(_told_cell(found, "native", verdict_grid.REALISTIC, "off the heap"))
    parts.append(_told_cell(found, "heap", verdict_grid.DEADLINE, "with a deadline", measured))
    return " ".join(part for part in parts if part)


_ASKED_FIRST = "g1"
"""The collector that a JVM takes by itself."""


def _told_cell(found: pd.DataFrame, layout: str, column: str, words: str, deadline: Measured | None = None) -> str:
    """One cell of the grid as a sentence: the newest Java with G1, or what there is of this layout; of a ``deadline``
    with what it is where this cell was measured."""
    rows = found[_in_java(found) & (found["layout"] == layout) & (found["column"] == column)]
    first = rows[rows["collector"] == _ASKED_FIRST]
    rows = first if len(first) else rows
    if rows.empty:
        return f"**{sentence(words)}**: not measured."
    row = rows.iloc[int(rows["runtime"].astype(int).to_numpy().argmax())]
    words = _to_spare(deadline, bool(row["by_map"])) if deadline else words
    if column != verdict_grid.DEADLINE and layout == "heap":
        words = f"JDK {int(row['runtime'])}, {verdict_grid.short_collector(row['collector'])}, {words}"
    return f"**{sentence(words)}: {_told_ratio(row)}"


def _in_java(found: pd.DataFrame) -> pd.Series:
    return found["language"] == "java"


def _told_ratio(row: pd.Series) -> str:
    """``pool.** Allocating costs 1.5 times as much (1.3 to 1.8, n = 7).`` and its like."""
    who, ratio = row["who"], row["ratio"]
    if who == verdict_grid.NO_WAY:
        return "neither keeps up.**"
    if who in (verdict_grid.POOL, verdict_grid.ALLOC) and pd.isna(ratio):
        loser = "Allocating" if who == verdict_grid.POOL else "A pool"
        return f"{who}.** {loser} loses packets at every interval that was tried (n = {row['n']})."
    if who == verdict_grid.NOT_MEASURED or pd.isna(ratio):
        return f"{who}.**"
    turned = who == verdict_grid.ALLOC
    low, high = (1 / row["high"], 1 / (row["low"] or math.nan)) if turned else (row["low"], row["high"])
    bounded = math.isfinite(high)
    ends = "" if math.isnan(low) else f"{stats.ends(low, high) if bounded else f'at least {stats.significant(low)}'}, "
    spread = f"({ends}n = {row['n']})"
    side, other = ("a pool", "allocating") if turned else ("allocating", "a pool")
    times = stats.significant(1 / ratio if turned else ratio)
    how = (
        f"{side} needs {times} times the interval between packets that {other} does {spread}"
        if row["column"] == verdict_grid.DEADLINE
        else f"{side} costs {times} times what {other} does {spread}"
    )
    if who == verdict_grid.EITHER:
        return f"either.** No difference that matters: {how}."
    if who == verdict_grid.UNDECIDED:
        return f"open.** As far as it was measured, {how}."
    return f"{who}.** {sentence(how)}."


def _to_spare(measured: Measured, by_map: bool) -> str:
    """What a deadline is here: the time that the input queue spares, of the searches and the placed trials; of the
    map's trials at their longest, and with how much alive."""
    tables_of = [measured.mapped] if by_map else [measured.searches, measured.placed]
    queues = pd.concat([finished(trials)["input_queue_ms"].dropna().astype(float) for trials in tables_of])
    if queues.empty:
        return "with a deadline"
    alive = verdict_grid.live_of_map(measured.every_batch, measured.mapped) if by_map else None
    live = f" and {alive:,} messages alive" if alive else ""
    return f"with {queues.max() if by_map else queues.median():g} ms to spare{live}"


def provenance(measured: Measured) -> dict[str, Any]:
    """Of the batch study, or of the first study of packets that left anything.

    Raises:
        UserError: nothing is measured; names the command that does.
    """
    for study in _OF_PACKETS:
        if found := store.stored(study, measured.profile)[1]:
            return found
    raise UserError(
        f"nothing is measured yet under profile {measured.profile}: `allocpool findings --profile {measured.profile}`"
    )


def certainty(measured: Measured, provenance: Mapping[str, Any]) -> str:
    """How sure the answer is: how many of the primary comparisons are decided, over all scales; and what more takes."""
    if measured.compared.empty:
        return ""
    decided = sentence(decided_in_words(measured.compared))
    machine = Machine(cores=int(provenance["host"]["logical_cores"]))
    return f"{decided} {stats.matters_from(measured.effect)}{_finer(measured.effect, machine)}"


def _finer(effect: float, machine: Machine) -> str:
    """Which profile asks for smaller effects, the first one, and how long that takes; empty where none does."""
    for name in profiles.names():
        with suppress(UserError):  # a reader's own profile may lack this study
            if profiles.read(study_named("batch"), name, {}).effect_that_matters < effect and name != MEANINGLESS:
                planned = (item for each in campaign.all_of_profile(name) for item in each.plan(machine))
                takes = sequential.expected_seconds(item.spec for item in planned if not item.unavailable)
                return (
                    f" Smaller ones take longer: `allocpool findings --profile {name}` plans about "
                    f"{sequential.duration(takes)} on such a machine."
                )
    return ""


def cheapest(measured: Measured) -> str:
    """What costs least whatever the strategy, of all solutions of all studies, by scale and case; then the smallest
    interval of all that were tried in real time. As Markdown."""
    told = [
        f"{words}, cheapest of all {cell_data.with_cost(trials)['solution'].nunique()} solutions, whatever the "
        f"strategy:\n\n{lines}"
        for words, trials in measured.by_scale_and_host(measured.every_batch)
        if (lines := batch_story.cheapest(trials))
    ]
    return "\n\n".join([*told, *_fastest(measured.realtime)])


def _fastest(cells: pd.DataFrame) -> list[str]:
    lines = []
    passing = cells[cells["pdr_ns"].notna() & ~cells["collector"].isin(cell_data.CONTROLS)].sort_values("pdr_ns")
    for case, group in passing.groupby("case"):
        first = {"best overall": group[:1], "best Java": group[group["language"] == "java"][:1]}
        texts = [
            f"{rank}: {row.solution} with {row.strategy}, {stats.significant(row.pdr_ns)} ns"
            for rank, rows in first.items()
            for row in records(rows)
        ]
        lines.append(f"- **Case {case}**, {'; '.join(texts)}.")
    if not lines:
        return []
    tried = cells.loc[cells["n"] > 0, "solution"].nunique()
    of_all = f"Smallest interval that passes, of all {tried} solutions tried in real time"
    return [f"{of_all}, though others may not be shown to be larger:\n\n" + "\n".join(lines)]


def your_own(measured: Measured) -> str:
    """That the answer is of one workload, and the command that asks it of the reader's own: with the values of the
    realistic load that the first sentence is of, to be replaced."""
    rows = measured.batch[
        (measured.batch["case"] == "B") & (measured.batch["layout"] == "heap")
        & (measured.batch["collector"] == _ASKED_FIRST)
    ]  # fmt: skip
    words = f"allocpool advise --collector {_ASKED_FIRST}"
    if len(rows):
        row = records(rows[rows["runtime"] == rows["runtime"].max()])[0]
        kept = f" --kept {1 / TCP_ONE_IN:.4g} --kept-count {int(row.stored_count)}" if row.stored_count else ""
        words += (
            f" --runtime {int(row.runtime)} --heap {int(row.heap_mb)}m --layout heap --bytes {BUFFER_BYTES} "
            f"--in-flight {int(row.queue_size)}{kept}"
        )
    page = f"{study_named('your_workload').notebook}.ipynb"
    return (
        f"**Your program has other sizes, rates and live data.** `{words}` asks the same of it, with your own numbers "
        f"in place of these; `--pcap` and `--jfr` take them from a capture or a recording. [More]({page})."
    )


def small_pool(measured: Measured) -> str:
    """The third way, in batch: what a small pool that allocates where it is empty does against the other two."""
    return batch_story.small_pool(measured.batch)


def as_published(measured: Measured) -> str:
    """What campaigns at the article's own sizes say, where they are stored beside this one of smaller sizes; otherwise
    empty."""
    if published_sizes.have_them(measured.batch):
        return ""
    host_ids = set(measured.batch["host_id"])
    lost = room("realtime", "story").lost_at_published_sizes(host_ids.pop() if len(host_ids) == 1 else None)
    return "\n\n".join(part for part in (_batch_as_published(measured), lost) if part)


def _batch_as_published(measured: Measured) -> str:
    full = published_sizes.stored(measured.batch)
    if full.empty:
        return ""
    rows = batch_story.primary(full)
    ran = [f"Java {release}" for release in sorted(full["runtime"].dropna().astype(int).unique())]
    ran += ["C++"] * bool((full["language"] == "cpp").any())
    elsewhere = published_sizes.of_another_host(measured.batch, full)
    other = " It was measured on another machine." if elsewhere else ""
    return (
        f"**At the article's own sizes, a heap of {HEAP_MB['heap']:,} MB, on {listed(ran)}: "
        f"{headline(rows).lower()}.** {sentence(decided_in_words(rows))}{other}"
    )


def where_and_when(measured: Measured, provenance: Mapping[str, Any]) -> str:
    """On which machine and when, quiet or noisy; and whether the figures mean anything."""
    host = provenance["host"]
    told = (
        f"Measured on {host['cpu_model']}, {host['logical_cores']} hardware threads, "
        f"{round(host['memory_mb'] / 1024)} GiB, {_days(provenance)}. {quiet_or_noisy(measured.of_its_host)}"
    )
    other = store.stored("realtime", measured.profile)[1]
    if other and other["host_id"] != provenance.get("host_id", other["host_id"]):
        told += f" What has a deadline was measured on another machine, {other['host']['cpu_model']}, {_days(other)}."
    if measured.profile == MEANINGLESS:
        return f"**These figures mean nothing**: profile {MEANINGLESS} only tries whether everything runs. {told}"
    return told


def _days(provenance: Mapping[str, Any]) -> str:
    first, last = (str(provenance[key] or "no date yet")[:10] for key in ("first_trial_utc", "last_trial_utc"))
    return first if first == last else f"{first} to {last}"


def decision_map(measured: Measured) -> tuple[Figure, str]:
    """At which rate, with how much alive, which of the two keeps up, and what it shows in words."""
    left, provenance = store.stored("realtime", measured.profile)
    if provenance is None or "map" not in left or left["map"].empty:
        words = "No map of rates and live messages was measured under this profile."
        return style.nothing("not measured under this profile"), words
    story = room("realtime", "map_story")
    with judged_by(measured.realtime_effect):
        words = story.verdict(left)
    return room("realtime", "plots").decision_map(left), f"{words} {story.caption(left)}"


MEANINGLESS = "smoke"
"""The profile whose trials are too short to say anything."""


def primary_tables(measured: Measured) -> list[tables.TableOrWords]:
    """The primary comparisons one by one, a table per scale."""
    return [
        primary_table(compared, f"Allocate or pool, which is cheaper? {words}")
        for words, compared in measured.by_scale_and_host(measured.compared)
    ]


class Surprise(NamedTuple):
    """Something that is shown to be other than its source, or the usual measure, has it: by which factor at least."""

    factor: float
    words: str
    page: str


def surprises(judged: Iterable[tables.Judged], measured: Measured) -> list[Surprise]:
    """What is other than expected, the largest factor first.

    Two kinds: a comparison that is shown the other way round than a claim has it, by the end of its interval that is
    nearer to the claim; and a program that stood longer than its collector's pauses tell, by all stops over pauses.
    """
    found = []
    for part in judged:
        for verdict in part.verdicts:
            for row in records(verdict.evidence[verdict.evidence["shown"] == OTHER_WAY]):
                high = float(getattr(row, "high", math.nan))
                if 0 < high < 1:
                    words = (
                        f"{verdict.claim.source} has it that \u201c{verdict.claim.text}\u201d; but {row.larger} is "
                        f"{stats.significant(row.ratio)} times {row.smaller} "
                        f"({stats.ends(row.low, row.high)}, n = {row.trials})."
                    )
                    found.append(Surprise(1 / high, words, part.page))
    pauses = store.stored("pauses", measured.profile)[0]
    if len(pauses["trials"]) and (case := pauses_story.busiest_case(pauses["trials"])):
        stopped = pauses_story.what_stopped(pauses["trials"], pauses["collections"], case)
        for row in records(stopped[stopped["pauses"] > 0]):
            all_stops = row.safepoints + row.stalls
            alive = verdict_grid.ALIVE[case].replace("\n", " ")
            words = (
                f"{row.solution}, {row.strategy}, {alive}: the collector's log tells "
                f"{stats.significant(row.pauses, 2)} ms of pauses a second, but the program stood for "
                f"{stats.significant(all_stops, 2)}: {stats.significant(row.stalls, 2)} waiting for memory, "
                f"{stats.significant(row.safepoints, 2)} at safepoints (n = {row.n})."
            )
            found.append(Surprise(all_stops / row.pauses, words, study_named("pauses").notebook))
    return sorted(found, key=lambda one: one.factor, reverse=True)


def surprise(judged: Iterable[tables.Judged], measured: Measured) -> str:
    """The one finding that surprises most, and by which rule."""
    found = surprises(judged, measured)
    if not found:
        return "Nothing is shown to be other than its source has it."
    first = found[0]
    where = f" [More]({first.page}.ipynb)." if first.page else ""
    return (
        f"**{first.words}**{where} Of {len(found)} findings that are other than a source, or the pauses in a log, "
        f"would have it, this one is so by the largest factor: {stats.significant(first.factor, 2)}."
    )


@dataclass(frozen=True)
class Both:
    """What a claim about batch and real time is put to."""

    batch: Batch
    realtime: Realtime
    searches: pd.DataFrame
    """Of real time, all of them; a cell's are found by its name."""


def _joined(costs: Evidence, intervals: Evidence) -> Evidence:
    """Orderings of costs and findings on intervals as one."""
    ratios = [
        ["batch", f"{row.larger} over {row.smaller}", stats.significant(row.ratio), *_chances(row), row.shown]
        for row in records(costs.rows)
    ]
    searched = [
        ["real time", row.configuration, row.found, *_chances(row), row.shown] for row in records(intervals.rows)
    ]
    columns = ["in", "configuration", "found", "p", "p_against", "shown"]
    rows = pd.DataFrame([*ratios, *searched], columns=columns)
    return Evidence(rows, tuple(dict.fromkeys([*costs.missing, *intervals.missing])))


def _chances(row: Any) -> tuple[float, float]:
    """Those of a row of evidence; NaN where what it shows is exact."""
    return getattr(row, "p", math.nan), getattr(row, "p_against", math.nan)


def _pool_everywhere(data: Both) -> Evidence:
    return _joined(
        batch_claims.POOL_EVERYWHERE.evidence(data.batch), realtime_claims.POOL_EVERYWHERE.evidence(data.realtime)
    )


def _published_pool_everywhere() -> Evidence:
    costs, intervals = batch_claims.POOL_EVERYWHERE.published, realtime_claims.POOL_EVERYWHERE.published
    return _joined(costs(), intervals()) if costs and intervals else Evidence(pd.DataFrame(columns=["shown"]))


def interval_over_cost(searches: pd.DataFrame, costs: pd.Series) -> Comparison:
    """The smallest interval that passes over the cost in batch, of one cell: searches set against batch trials.

    A search answers with a bracket, so its figure is the geometric middle, and half of the widest bracket is added to
    either side of the interval; the freedom is that of the smaller side.
    """
    passes = searches["pdr_ns"].astype(float).map(math.log)
    half_widths = (passes - searches["pdr_fails_ns"].astype(float).map(math.log)).fillna(0.0) / 2
    middles, logs = passes - half_widths, costs.astype(float).map(math.log)
    n = min(len(middles), len(logs))
    if n < FEWEST_ESTIMATES:
        return compare(middles.map(math.exp), costs, MATCHES)
    error = math.sqrt(middles.var(ddof=1) / len(middles) + logs.var(ddof=1) / len(logs))
    return of_estimate(float(middles.mean() - logs.mean()), error, n, float(half_widths.max()), MATCHES)


def _matches(data: Both) -> Evidence:
    """That the smallest interval equals the cost in batch, allocating in case A."""
    expected = []
    for cell in _allocating_in_a(data):
        in_batch = Cell(cell.solution, "alloc", "A")
        searches, costs = _searches_of(in_batch, data.searches), data.batch.values(in_batch)
        gap = data.realtime.gap(cell)
        if costs.empty:
            gap = gap or "no figure in batch at its scale"
        elif searches.empty:
            gap = gap or "not searched at the scale of its cost"
        elif searches["pdr_ns"].isna().any():
            gap = gap or "no interval passes in every search"
        compared = interval_over_cost(searches.iloc[:0] if gap else searches, costs)
        expected.append(Equality(f"smallest interval of {in_batch}", "its cost in batch", compared, gap or ""))
    return of_orderings(expected, () if expected else [Missing("allocating in case A", "not tried in real time")])


def _allocating_in_a(data: Both) -> list[Any]:
    cells = data.realtime.cells
    return records(cells[(cells["language"] == "java") & (cells["strategy"] == "alloc") & (cells["case"] == "A")])


def _searches_of(cell: Cell, searches: pd.DataFrame) -> pd.DataFrame:
    """The finished searches of a cell at the published heap."""
    done = finished(searches)
    here = (done["solution"] == cell.solution) & (done["strategy"] == cell.strategy) & (done["case"] == cell.case)
    return done[here & (done["heap_factor"].isna() | (done["heap_factor"] == 1))]


def _published_matches() -> Evidence:
    """The published intervals over the published costs: within the margin, or not."""
    data = Both(Batch(published_as_trials(), PUBLISHED), realtime_claims.published(), pd.DataFrame())
    rows = []
    for cell in _allocating_in_a(data):
        costs = data.batch.values(Cell(cell.solution, "alloc", "A"))
        if len(costs) and pd.notna(cell.pdr_ns):
            ratio = cell.pdr_ns / stats.geometric_mean(costs)
            near = 1 / MATCHES <= ratio <= MATCHES
            rows.append([cell.solution, ratio, AS_PUBLISHED if near else OTHER_WAY])
        else:
            rows.append([cell.solution, math.nan, NOT_MEASURED])
    return Evidence(pd.DataFrame(rows, columns=["configuration", "ratio", "shown"]))


def _told(evidence: Evidence) -> str:
    total = len(evidence.rows)
    if not total:
        return "Nothing that it speaks of was measured."
    counted = [
        f"{shown} in {count}"
        for shown in (OTHER_WAY, EQUIVALENT, OPEN, NOT_MEASURED)
        if (count := evidence.count(shown))
    ]  # fmt: skip
    return "; ".join([f"Shown in {evidence.count(AS_PUBLISHED)} of {total}", *counted]) + "."


def _matching_told(evidence: Evidence) -> str:
    ratios = evidence.measured["ratio"] if len(evidence.rows) else pd.Series(dtype=float)
    span = f" The smallest interval is {stats.span(ratios)} times the cost in batch." if len(ratios) else ""
    return f"{_told(evidence)}{span}"


FINDINGS_CLAIMS: tuple[Claim[Both], ...] = (
    Claim(
        "pool-everywhere",
        "In every single test, batch and real time, pooling performs better than allocating.",
        ARTICLE,
        _pool_everywhere,
        _told,
        needs_all=True,
        published=_published_pool_everywhere,
        set_ups=THEN_AND_NOW,
    ),
    Claim(
        "batch-predicts-realtime",
        "The smallest interval without loss matches the cost of a packet in batch (allocating, case A).",
        ARTICLE,
        _matches,
        _matching_told,
        needs_all=True,
        published=_published_matches,
        set_ups=THEN_AND_NOW,
    ),
)
"""Those that batch and real time decide together."""


def judged(measured: Measured) -> list[tables.Judged]:
    """The claims of every study as its own page has them, after those that batch and real time decide together."""
    of_both = {name: store.stored(name, measured.profile)[0] for name in ("batch", "realtime")}
    cells, scales = measured.realtime, measured.searches["scale"].unique()
    # Real time has batch trials of its cells at its own scale; those of the batch study may be of another machine.
    every = pd.concat([measured.batch, of_both["realtime"]["batch"]]).drop_duplicates("trial_id")
    every = every[every["host_id"].isin(set(measured.searches["host_id"]))]
    same_scale = every[every["scale"].isin(scales)] if len(scales) == 1 else every.iloc[:0]
    of_batch = {FINDINGS_CLAIMS[0].id: measured.batch, FINDINGS_CLAIMS[1].id: same_scale}

    def both(claim: Claim[Both], set_up: str) -> Both:
        realtime = Realtime.of(cells, of_both["realtime"]["trials"], set_up)
        return Both(Batch(of_batch[claim.id], set_up), realtime, measured.searches)

    together = [
        verdict for claim in FINDINGS_CLAIMS for verdict in claims.evaluate_apart([claim], partial(both, claim))
    ]
    parts = [tables.Judged(claims.judged_together(together))]
    for study in every_study():
        if find_spec(f"allocpool.studies.{study.name}.claims"):
            left, provenance = store.stored(study.name, measured.profile)
            # Without a campaign nothing is tested, whatever the settings.
            settings = provenance["profile"] if provenance else campaign.open_study(study.name).profile.model_dump()
            with judged_by(store.effect_of(measured.profile, study.name)):
                found = room(study.name, "claims").of_campaign(left, settings)
            parts.append(tables.Judged(found, study.notebook, study.question))
    return parts
