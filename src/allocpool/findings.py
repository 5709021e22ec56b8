"""The first page: the answer over all studies in a few sentences, how sure it is, what surprises most, and every claim.

Costs are compared at one scale and on one host only: what fits into a cache is another thing at another scale, and on
another machine.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from importlib.util import find_spec
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from allocpool import stats
from allocpool.campaign import campaign, hosts, profiles, store
from allocpool.campaign.registry import every_study, room, study_named
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
from allocpool.packets import by_size
from allocpool.packets import cells as cell_data
from allocpool.packets.comparisons import (
    PUBLISHED,
    THEN_AND_NOW,
    Batch,
    Cell,
)
from allocpool.packets.labels import names_in
from allocpool.packets.published import ARTICLE, published_as_trials
from allocpool.packets.specs import BUFFER_BYTES, TCP_ONE_IN
from allocpool.studies.batch import claims as batch_claims
from allocpool.studies.batch import long_windows
from allocpool.studies.realtime import claims as realtime_claims
from allocpool.studies.realtime.cells import realtime_cells
from allocpool.studies.realtime.claims import Realtime

MATCHES = 1.1
"""An interval matches a cost that is no further off than by this factor: it is part of what the claim says, whatever
effect matters to a profile."""


_OF_PACKETS = ("batch", "realtime", "native", "pauses")
"""The studies of packets, in the order in which they speak for all."""


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

    @cached_property
    def rungs(self) -> pd.DataFrame:
        """What the batch study shows, by configuration and messages alive: see `by_size.rungs`."""
        return by_size.rungs(self.batch)

    @property
    def last_level_cache_mb(self) -> float | None:
        """Of the machine of the batch study, MiB; None where it is not known."""
        about = store.stored("batch", self.profile)[1]
        size_mb: float | None = about["host"].get("last_level_cache_mb") if about else None
        return size_mb

    @cached_property
    def on_record(self) -> pd.DataFrame:
        """The same of every machine and every profile that is stored, but the one that means nothing."""
        stored = (hosts.tables_of_hosts("batch", name) for name in profiles.names() if name != MEANINGLESS)
        found = [by_size.rungs(tables["trials"]) for tables in stored if "trials" in tables]
        return pd.concat([self.rungs, *found], ignore_index=True)

    @property
    def shown(self) -> pd.DataFrame:
        """Of these, those of the configurations that a program would choose; case A in one size."""
        return cell_data.one_case_a(cell_data.as_set(self.batch))

    @cached_property
    def searches(self) -> pd.DataFrame:
        """The searches of the real-time study."""
        return self._table("realtime", "searches")

    @cached_property
    def realtime(self) -> pd.DataFrame:
        """Its cells."""
        return realtime_cells(store.stored("realtime", self.profile)[0])

    @property
    def effect(self) -> float:
        """The smallest ratio of costs that matters, by the profile of the first study of packets that left anything."""
        return store.effect_of(self.profile, *_OF_PACKETS)

    @property
    def realtime_effect(self) -> float:
        """The smallest ratio of intervals that matters: the real-time study may have been asked for another one."""
        return store.effect_of(self.profile, "realtime", *_OF_PACKETS)


_ASKED_FIRST = "g1"
"""The collector that a JVM takes by itself."""


_FIRST = ("g1", "genzgc")
"""The collectors that the answer names, on the newest Java that was measured."""


def answered(measured: Measured) -> pd.DataFrame:
    """Return the trials that the answer is about: the newest Java with each of `_FIRST`, buffers on the heap, and flat
    C++, without options."""
    plain = cell_data.without_options(measured.shown)
    heap = plain[plain["layout"] == "heap"]
    newest = heap[(heap["runtime"] == heap["runtime"].max()) & heap["collector"].isin(_FIRST)]
    cpp = plain[(plain["layout"] == "flat") & (plain["allocator"] == "glibc")]
    both: pd.DataFrame = pd.concat([newest, cpp])
    return both


def by_alive(measured: Measured) -> pd.DataFrame:
    """Return the answer as a table: a row per configuration, a column per number of messages alive."""
    names = names_in(answered(measured)).values()
    return by_size.table(measured.rungs[measured.rungs["configuration"].isin(names)])


def by_release(measured: Measured) -> tuple[pd.DataFrame, str]:
    """Return the batch trials whose releases of the JDK are compared, and where they are from: this campaign's, or
    those of profile ``standard`` where this one has fewer than three releases."""
    if measured.batch["runtime"].nunique() > 2:
        return measured.batch, ""
    trials = store.stored("batch", "standard")[0]["trials"]
    hosts_of = sorted(set(trials["host_id"].astype(str)))
    return trials, "".join(f" Of profile standard, on {hosts.label(host, 'standard')}." for host in hosts_of)


def headlines(measured: Measured) -> list[by_size.Headline]:
    """Return the answer for each configuration of `answered`, G1 first, C++ last."""
    trials = answered(measured)
    names, order = names_in(trials), cell_data.configuration_order(trials)
    parts = [measured.rungs[measured.rungs["configuration"] == names[stored]] for stored in order]
    return [found for part in parts for found in by_size.headlines(part, measured.on_record)]


def answer(measured: Measured) -> str:
    """Return the first sentences of the page, as Markdown: a line per headline, then the sizes they are for."""
    found = headlines(measured)
    if not found:
        return "**Not measured.** Nothing has been measured both allocating and with a pool yet."
    long = long_windows.compared(measured.batch, long_windows.of_host(measured.batch))
    doubts = long_windows.doubts(measured.rungs, long)
    return "  \n".join([*(each.text for each in found), *filter(None, [doubts]), by_size.sizes(measured.rungs)])


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


def where_and_when(measured: Measured, provenance: Mapping[str, Any]) -> str:
    """Return on which machine and when, quiet or noisy; and whether the figures mean anything."""
    parts = [f"Measured on {_machine(provenance)}. {quiet_or_noisy(measured.batch)}"]
    other = store.stored("realtime", measured.profile)[1]
    if other and other["host_id"] != provenance.get("host_id", other["host_id"]):
        parts.append(f"With a deadline measured on another machine: {_machine(other)}.")
    if measured.profile == MEANINGLESS:
        parts.insert(0, f"**These figures mean nothing**: profile {MEANINGLESS} only tries whether everything runs.")
    return " ".join(parts)


def _machine(provenance: Mapping[str, Any]) -> str:
    host = provenance["host"]
    days = dict.fromkeys(str(provenance[key] or "no date yet")[:10] for key in ("first_trial_utc", "last_trial_utc"))
    return (
        f"{host['cpu_model']}, {host['logical_cores']} hardware threads, "
        f"{round(host['memory_mb'] / 1024)} GiB, {' to '.join(days)}"
    )


def decision_map(measured: Measured) -> tuple[Figure, str]:
    """At which rate, with how much alive, which of the two keeps up, and what it shows in words."""
    story = room("realtime", "map_story")
    left, elsewhere = story.of_largest_heap(store.stored("realtime", measured.profile)[0])
    if left["map"].empty:
        words = "No map of rates and live messages was measured under this profile."
        return style.nothing("not measured under this profile"), words
    with judged_by(measured.realtime_effect):
        words = story.caption(left, elsewhere)
    return room("realtime", "plots").decision_map(left), words


MEANINGLESS = "smoke"
"""The profile whose trials are too short to say anything."""


@dataclass(frozen=True)
class Both:
    """What a claim about batch and real time is put to."""

    batch: Batch
    realtime: Realtime
    searches: pd.DataFrame
    """Of real time, all of them; a cell's are found by its name."""


def _joined(costs: Evidence, intervals: Evidence) -> Evidence:
    """Orderings of costs and of intervals as one."""
    parts = {"in batch": costs, "in real time": intervals}
    rows = [
        found.rows.assign(larger=found.rows["larger"].map(f"{where}: {{}}".format)) for where, found in parts.items()
    ]
    return Evidence(pd.concat(rows, ignore_index=True), tuple(dict.fromkeys([*costs.missing, *intervals.missing])))


def _pool_everywhere(data: Both) -> Evidence:
    return _joined(
        batch_claims.POOL_EVERYWHERE.evidence(data.batch), realtime_claims.POOL_EVERYWHERE.evidence(data.realtime)
    )


def _published_pool_everywhere() -> Evidence:
    costs, intervals = batch_claims.POOL_EVERYWHERE.published, realtime_claims.POOL_EVERYWHERE.published
    return _joined(costs(), intervals()) if costs and intervals else Evidence(pd.DataFrame(columns=["shown"]))


def interval_over_cost(searches: pd.DataFrame, costs: pd.Series) -> Comparison:
    """The minimum sustainable inter-arrival time that passes over the cost in batch, of one cell: searches set against
    batch trials.

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
    """That the minimum sustainable inter-arrival time equals the cost in batch, allocating in case A."""
    expected = []
    for cell in _allocating_in_a(data):
        in_batch = Cell(cell.configuration, "alloc", "A")
        searches, costs = _searches_of(in_batch, data.searches), data.batch.values(in_batch)
        gap = data.realtime.gap(cell)
        if costs.empty:
            gap = gap or "no figure in batch at its scale"
        elif searches.empty:
            gap = gap or "not searched at the scale of its cost"
        elif searches["pdr_ns"].isna().any():
            gap = gap or "no interval passes in every search"
        compared = interval_over_cost(searches.iloc[:0] if gap else searches, costs)
        expected.append(
            Equality(f"minimum sustainable inter-arrival time of {in_batch}", "its cost in batch", compared, gap or "")
        )
    return of_orderings(expected, () if expected else [Missing("allocating in case A", "not tried in real time")])


def _allocating_in_a(data: Both) -> list[Any]:
    cells = data.realtime.cells
    return records(cells[(cells["language"] == "java") & (cells["strategy"] == "alloc") & (cells["case"] == "A")])


def _searches_of(cell: Cell, searches: pd.DataFrame) -> pd.DataFrame:
    """The finished searches of a cell at the published heap."""
    done = finished(searches)
    here = (
        (done["configuration"] == cell.configuration)
        & (done["strategy"] == cell.strategy)
        & (done["case"] == cell.case)
    )
    return done[here & (done["heap_factor"].isna() | (done["heap_factor"] == 1))]


def _published_matches() -> Evidence:
    """The published intervals over the published costs: within the margin, or not."""
    data = Both(Batch(published_as_trials(), PUBLISHED), realtime_claims.published(), pd.DataFrame())
    rows = []
    for cell in _allocating_in_a(data):
        costs = data.batch.values(Cell(cell.configuration, "alloc", "A"))
        if len(costs) and pd.notna(cell.pdr_ns):
            ratio = cell.pdr_ns / stats.geometric_mean(costs)
            near = 1 / MATCHES <= ratio <= MATCHES
            rows.append([cell.configuration, ratio, AS_PUBLISHED if near else OTHER_WAY])
        else:
            rows.append([cell.configuration, math.nan, NOT_MEASURED])
    return Evidence(pd.DataFrame(rows, columns=["configuration", "ratio", "shown"]))


def _told(evidence: Evidence) -> str:
    if evidence.rows.empty:
        return "Nothing that it speaks of was measured."
    others = {shown: evidence.count(shown) for shown in (OTHER_WAY, EQUIVALENT, OPEN, NOT_MEASURED)}
    counted = "".join(f"; {shown} in {count}" for shown, count in others.items() if count)
    return f"Shown in {evidence.count(AS_PUBLISHED)} of {len(evidence.rows)}{counted}."


def _matching_told(evidence: Evidence) -> str:
    ratios = evidence.measured["ratio"] if len(evidence.rows) else pd.Series(dtype=float)
    span = (
        f" The minimum sustainable inter-arrival time is {stats.span(ratios)} times the cost in batch."
        if len(ratios)
        else ""
    )
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
        "The minimum sustainable inter-arrival time matches the cost of a packet in batch (allocating, case A).",
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
