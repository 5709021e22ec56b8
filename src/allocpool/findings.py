"""The first page: the answer over all studies, how sure it is, and every claim with its verdict."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from typing import Any, NamedTuple

import pandas as pd
from matplotlib.figure import Figure

from allocpool import stats
from allocpool.campaign import campaign, hosts, profiles, store
from allocpool.campaign.registry import every_study, module_of
from allocpool.decisions import Rule, compare, judged_by
from allocpool.errors import UserError
from allocpool.evidence import claims, style, tables
from allocpool.evidence.claims import Claim, Evidence, Verdict
from allocpool.evidence.trials import finished, quiet_or_noisy, records
from allocpool.packets import by_size
from allocpool.packets import cells as cell_data
from allocpool.packets.comparisons import THEN_AND_NOW, Cell, with_families
from allocpool.packets.labels import names_in
from allocpool.packets.published import ARTICLE, published_as_trials
from allocpool.studies.batch import claims as batch_claims
from allocpool.studies.batch import story as batch_story
from allocpool.studies.realtime import claims as realtime_claims
from allocpool.studies.realtime.adaptive import Costs, over
from allocpool.studies.realtime.cells import realtime_cells
from allocpool.studies.realtime.claims import Realtime

MATCHES = 1.1
"""An interval matches a cost that is at most so many times as large or as small: a part of the claim, so it does not
follow the equivalence margin of a profile."""
MEANINGLESS = "smoke"
"""The profile whose trials are too short to mean anything."""
_OF_PACKETS = ("batch", "realtime", "native", "pauses")
"""The studies of packets: the first of them that has results supplies provenance and margin."""
_COLLECTORS = ("g1", "genzgc")
"""Those that the answer names, on the newest Java that was measured."""


@dataclass(frozen=True)
class Measured:
    """What the studies of packets measured under one profile; tables without rows where one has not run."""

    profile: str

    @cached_property
    def batch(self) -> pd.DataFrame:
        return store.stored("batch", self.profile)[0]["trials"]

    @cached_property
    def rungs(self) -> pd.DataFrame:
        return by_size.rungs(self.batch)

    @property
    def last_level_cache_mb(self) -> float | None:
        """Of the machine of the batch study, MiB; None where unknown."""
        about = store.stored("batch", self.profile)[1]
        size_mb: float | None = about["host"].get("last_level_cache_mb") if about else None
        return size_mb

    @cached_property
    def on_record(self) -> pd.DataFrame:
        """`rungs` of every stored machine and profile but `MEANINGLESS`."""
        stored = (hosts.tables_of_hosts("batch", name) for name in profiles.names() if name != MEANINGLESS)
        found = [by_size.rungs(tables["trials"]) for tables in stored if "trials" in tables]
        return pd.concat([self.rungs, *found], ignore_index=True)

    @property
    def shown(self) -> pd.DataFrame:
        """Batch trials of the configurations that a program would choose; case A in one size."""
        return cell_data.one_case_a(cell_data.as_set(self.batch))

    @cached_property
    def realtime(self) -> pd.DataFrame:
        return realtime_cells(store.stored("realtime", self.profile)[0])

    @property
    def rule(self) -> Rule:
        return store.rule_of(self.profile, *_OF_PACKETS)

    @property
    def realtime_rule(self) -> Rule:
        """What inter-arrival times are judged by, which may be another margin."""
        return store.rule_of(self.profile, "realtime", *_OF_PACKETS)


def answered(measured: Measured) -> pd.DataFrame:
    """Return the trials of the answer: the newest Java with each of `_COLLECTORS` on the heap, and flat C++."""
    plain = cell_data.without_options(measured.shown)
    heap = plain[plain["layout"] == "heap"]
    newest = heap[(heap["runtime"] == heap["runtime"].max()) & heap["collector"].isin(_COLLECTORS)]
    cpp = plain[(plain["layout"] == "flat") & (plain["allocator"] == "glibc")]
    both: pd.DataFrame = pd.concat([newest, cpp])
    return both


def by_alive(measured: Measured) -> pd.DataFrame:
    """Return the answer as a table: a row per configuration, a column per number of messages alive."""
    names = names_in(answered(measured)).values()
    return by_size.table(measured.rungs[measured.rungs["configuration"].isin(names)])


def by_release(measured: Measured) -> tuple[pd.DataFrame, str]:
    """Return the batch trials whose releases of the JDK are compared, with those of Java 8 on the same machine, and
    where they are from: this campaign's, or those of profile ``standard`` where this one has fewer than three."""
    trials, where = measured.batch, ""
    if trials["runtime"].nunique() <= 2:
        trials = store.stored("batch", "standard")[0]["trials"]
        for host in sorted(set(trials["host_id"].astype(str))):
            where += f" Of profile standard, on {hosts.label(host, 'standard')}."
    with_8 = batch_claims.of_java_8(trials)
    return with_8, where + (" JDK 8 is of profile java8, on the same machine." if len(with_8) > len(trials) else "")


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
    long = batch_story.compared_with_minutes(measured.batch, batch_claims.minutes_of_host(measured.batch))
    doubts = batch_story.doubts(measured.rungs, long)
    return "  \n".join(
        [*(each.text for each in found), *filter(None, [doubts]), by_size.sizes(by_size.ladders(measured.rungs))]
    )


def provenance(measured: Measured) -> dict[str, Any]:
    """Return the provenance of the first of `_OF_PACKETS` that has results; UserError where none has."""
    for study in _OF_PACKETS:
        if found := store.stored(study, measured.profile)[1]:
            return found
    raise UserError(
        f"nothing is measured yet under profile {measured.profile}: `allocpool findings --profile {measured.profile}`"
    )


def where_and_when(measured: Measured, provenance: Mapping[str, Any]) -> str:
    """Return on which machine and when, quiet or noisy; and whether the figures mean anything."""
    parts = [f"Measured on {machine(provenance)}. {quiet_or_noisy(measured.batch)}"]
    other = store.stored("realtime", measured.profile)[1]
    if other and other["host_id"] != provenance.get("host_id", other["host_id"]):
        parts.append(f"With a deadline measured on another machine: {machine(other)}.")
    if measured.profile == MEANINGLESS:
        parts.insert(0, f"**These figures mean nothing**: profile {MEANINGLESS} only tries whether everything runs.")
    return " ".join(parts)


def machine(provenance: Mapping[str, Any]) -> str:
    """Return the machine of a campaign and its dates, on one line."""
    host = provenance["host"]
    days = dict.fromkeys(str(provenance[key])[:10] for key in ("first_trial_utc", "last_trial_utc") if provenance[key])
    return (
        f"{host['cpu_model']}, {host['logical_cores']} hardware threads, "
        f"{round(host['memory_mb'] / 1024)} GiB, {' to '.join(days) or 'no date yet'}"
    )


def decision_map(measured: Measured) -> tuple[Figure, str]:
    """Draw which side keeps up by rate and messages alive; returns the figure and its caption."""
    story = module_of("realtime", "story")
    left, elsewhere = story.of_largest_heap(store.stored("realtime", measured.profile)[0])
    if left["map"].empty:
        words = "No map of rates and live messages was measured under this profile."
        return style.nothing("not measured under this profile"), words
    with judged_by(measured.realtime_rule):
        words = story.map_caption(left, elsewhere)
    return story.decision_map(left), words


class Both(NamedTuple):
    """What claims about batch and real time are tested on, for one set-up."""

    verdicts: Sequence[Verdict]
    batch: Mapping[tuple[str, str, str], pd.Series]
    realtime: Realtime


def _joined(costs: Evidence, intervals: Evidence) -> Evidence:
    """Orderings of costs and of intervals as one."""
    parts = {"in batch": costs, "in real time": intervals}
    rows = [
        found.rows.assign(larger=found.rows["larger"].map(f"{where}: {{}}".format)) for where, found in parts.items()
    ]
    return Evidence(pd.concat(rows, ignore_index=True), tuple(dict.fromkeys([*costs.missing, *intervals.missing])))


def _pool_everywhere(data: Both) -> Evidence:
    parts = {verdict.claim.id: Evidence(verdict.evidence, verdict.missing) for verdict in data.verdicts}
    return _joined(parts["pool-everywhere-batch"], parts["pool-everywhere-realtime"])


def _published_pool_everywhere() -> Evidence:
    costs, intervals = batch_claims.POOL_EVERYWHERE.published, realtime_claims.POOL_EVERYWHERE.published
    return _joined(costs(), intervals()) if costs and intervals else claims.no_figures()


def _matches(data: Both) -> Evidence:
    expected = []
    for cell in _allocating_in_a(data.realtime):
        in_batch = Cell(cell.configuration, "alloc", "A")
        costs = Costs(tuple(data.batch.get(in_batch, ())))
        gap = data.realtime.gap(cell) or ("" if costs.every_ns else "no figure in batch at its scale")
        compared = compare([], []) if gap else over([(cell.every_pdr, costs)], effect=MATCHES)
        left = f"minimum sustainable inter-arrival time of {in_batch}"
        expected.append(claims.Equality(left, "its cost in batch", compared, gap))
    missing = claims.Missing("allocating in case A", "not tried in real time")
    return claims.of_orderings(expected, () if expected else [missing])


def _allocating_in_a(data: Realtime) -> list[Any]:
    cells = data.cells
    return records(cells[(cells["language"] == "java") & (cells["strategy"] == "alloc") & (cells["case"] == "A")])


def _published_matches() -> Evidence:
    batch, rows = cell_data.costs_by_cell(published_as_trials()), []
    for cell in _allocating_in_a(realtime_claims.published()):
        costs = batch.get((cell.configuration, "alloc", "A"))
        ratio = math.nan if costs is None else cell.pdr_ns / stats.geometric_mean(costs)
        near = claims.AS_PUBLISHED if 1 / MATCHES <= ratio <= MATCHES else claims.OTHER_WAY
        rows.append([cell.configuration, ratio, claims.NOT_MEASURED if math.isnan(ratio) else near])
    return Evidence(pd.DataFrame(rows, columns=["configuration", "ratio", "shown"]))


FINDINGS_CLAIMS: tuple[Claim[Both], ...] = (
    Claim(
        "pool-everywhere",
        "In every single test, batch and real time, pooling performs better than allocating.",
        ARTICLE, _pool_everywhere, needs_all=True, published=_published_pool_everywhere,
        set_ups=THEN_AND_NOW,
    ),
    Claim(
        "batch-predicts-realtime",
        "The minimum sustainable inter-arrival time matches the cost of a packet in batch (allocating, case A).",
        ARTICLE, _matches, needs_all=True, published=_published_matches, set_ups=THEN_AND_NOW,
    ),
)  # fmt: skip
"""Those that batch and real time decide together."""


def judged(measured: Measured) -> list[tables.Judged]:
    """Return the verdicts of `FINDINGS_CLAIMS`, then those of each study as on its own page."""
    parts = {}
    for study in every_study():
        if find_spec(f"allocpool.studies.{study.name}.claims"):
            left, provenance = store.stored(study.name, measured.profile)
            # Without a campaign nothing is tested, whatever the settings.
            settings = provenance["profile"] if provenance else campaign.open_study(study.name).profile.model_dump()
            with judged_by(store.rule_of(measured.profile, study.name)):
                found = module_of(study.name, "claims").of_campaign(left, settings)
            parts[study.name] = tables.Judged(found, study.notebook, study.question)
    realtime = store.stored("realtime", measured.profile)[0]
    adaptive = finished(realtime["adaptive"])
    scales = adaptive["scale"].unique()
    # Real time has batch trials of its cells at its own scale; those of the batch study may be of another machine.
    every = pd.concat([measured.batch, realtime["batch"]]).drop_duplicates("trial_id")
    every = every[every["host_id"].isin(set(adaptive["host_id"]))]
    same_scale = every[every["scale"].isin(scales)] if len(scales) == 1 else every.iloc[:0]

    def both(set_up: str) -> Both:
        of_both = [each for name in ("batch", "realtime") for each in parts[name].verdicts if each.set_up == set_up]
        of_realtime = Realtime.of(measured.realtime, realtime["trials"], set_up)
        return Both(of_both, cell_data.costs_by_cell(with_families(same_scale, set_up)), of_realtime)

    return [tables.Judged(claims.evaluate_apart(FINDINGS_CLAIMS, both)), *parts.values()]
