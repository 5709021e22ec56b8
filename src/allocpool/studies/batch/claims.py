"""The data that the batch conclusions of the article (``claims.yaml``) are put to, and two that no ordering of cells
expresses; and our own conclusions on today's Java (``today.yaml``).

Each of the article's is judged on the collectors that it ran and, apart from them, on today's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from allocpool.campaign import hosts
from allocpool.decisions import compare
from allocpool.evidence import claims, reference
from allocpool.evidence.claims import AS_PUBLISHED, OTHER_WAY, Claim, Evidence, Missing, Ordering, Verdict
from allocpool.evidence.declared import Cell, Cells, claims_of
from allocpool.evidence.trials import NOT_PART, counted, records
from allocpool.packets.cells import with_cost
from allocpool.packets.comparisons import IN_CPP, PUBLISHED, SET_UPS, THEN, batch_cells, with_families
from allocpool.packets.labels import names_in
from allocpool.packets.published import published_as_trials, published_batch
from allocpool.packets.specs import options_on
from allocpool.runtimes.collectors import OLDEST

PROFILE, OF_JAVA_8 = "article", "java8"
"""The profile whose trials have the published sizes and collectors; the one of the published release of Java."""


def judged_on(trials: pd.DataFrame, set_up: str = THEN) -> pd.DataFrame:
    """Return the trials that the published claims of a set-up are judged on, of one machine: these, unless they lack
    what stands for "CMS" (in C++: what allocates) and a campaign at the published sizes is stored that has it."""
    if trials.empty or set_up == PUBLISHED or _has(trials, set_up):
        return trials
    for profile in (OF_JAVA_8,) if SET_UPS[set_up].plain else (PROFILE, "standard"):
        every = hosts.tables_of_hosts("batch", profile).get("trials", trials.iloc[:0])
        every = every[every["scale"] == 1]
        having = [rows for _, rows in every.groupby("host_id") if _has(rows, set_up)]
        mine = (rows for rows in having if set(rows["host_id"]) <= set(trials["host_id"]))
        if having:
            return next(mine, max(having, key=len))
    return trials


def _has(trials: pd.DataFrame, set_up: str) -> bool:
    done = trials[trials["status"] == "ok"]
    if set_up == IN_CPP:
        small = done[(done["language"] == "cpp") & (done["strategy"] == "mix")]
        return {"allocating", "flat"} <= set(small["layout"])
    return bool((with_families(done, set_up)["family"] == "CMS").any())


def of_java_8(trials: pd.DataFrame) -> pd.DataFrame:
    """Return the trials with those of Java 8 on the same machine, where they are stored, as if without option plain:
    that release has no other."""
    every = hosts.tables_of_hosts("batch", OF_JAVA_8).get("trials", trials.iloc[:0])
    mine = every[every["host_id"].isin(set(trials["host_id"])) & (every["runtime"] == OLDEST)]
    if mine.empty:
        return trials
    both = pd.concat([trials, mine], ignore_index=True).drop_duplicates("trial_id", ignore_index=True)
    return both.assign(control=both["control"].mask((both["runtime"] == OLDEST).fillna(False).astype(bool)))


def _shape_distance(cells: Cells, collector: str) -> pd.Series:
    """Return how far one collector's figures lie from the published "CMS" rows in shape, per block.

    The root mean square of log(measured / published) over strategies but ``dummy`` and cases, without its mean, which
    is the machine's speed. 0 is the same shape; 0.69 is typically a factor of two off. Blocks that miss a cell are left
    out. What trials of a cell differ by adds its square: with the usual tenth, a distance of a half reads a fiftieth
    too far.
    """
    table = published_batch()
    target = table[(table["family"] == "CMS") & (table["layout"] == "heap") & (table["strategy"] != "dummy")]
    logs = []
    for row in records(target):
        cell = cells.by_key.get(("heap", collector, row.strategy, row.case))
        if cell is None:
            return pd.Series(dtype=float)
        logs.append(np.log(cell.values.groupby(level=0).mean() / row.published_ns))
    every = pd.concat(logs, axis=1).dropna()
    distance = np.sqrt(every.sub(every.mean(axis=1), axis=0).pow(2).mean(axis=1))
    # Below any measurement's rounding, so that ratios of distances stay defined.
    return pd.Series(distance).clip(lower=1e-6)


def _cms_is_nearer(cells: Cells) -> Evidence:
    """Return evidence that Parallel lies further from the published "CMS" rows than CMS does."""
    parallel, cms = (_shape_distance(cells, name) for name in ("parallel", "cms"))
    if len(parallel) and len(cms):
        expected = Ordering("distance of Parallel", "that of CMS", compare(parallel, cms))
        return claims.of_orderings([expected])
    on_heap = {cell.facts["collector"] for cell in cells.cells if cell.facts["layout"] == "heap"}
    why = "not every strategy and case has a figure in one block"
    missing = [Missing(name, why if name in on_heap else NOT_PART.word) for name in ("cms", "parallel")]
    return claims.of_orderings([], missing)


def _case_a(_cells: Cells | None = None) -> Evidence:
    """Return which size case A had, by the published object counts: the table's, or the tenth of it that the published
    code has.

    A queued packet is 3 objects and a stored one 8 (5 of them its parse result), so with pool size P and n
    packets both queued and stored, live = 3 max(P, 2n) + 5 n + base. ``base``, the JVM's own objects, is
    the median remainder of case B, whose size is not in doubt; case A is then solved for n. Each implied size goes to
    the nearer of the two in log-ratio.
    """
    sizes = reference.load("allocate_or_pool_cases").set_index("parameter").astype(float)
    in_a, size_b = sizes["case_a"], sizes["case_b"]["stored_count"]
    of_pool = {"alloc": 0.0, "mix": in_a["mix_pool_size"], "pool": in_a["pool_size"]}
    gc = reference.load("allocate_or_pool_gc")
    gc = gc.assign(objects=gc["live_objects_millions"] * 1e6, pool=gc["strategy"].map(of_pool))
    of_b, of_a = (gc[gc["case"] == case] for case in "BA")
    base = (of_b["objects"] - 3 * of_b["pool"].clip(lower=2 * size_b) - 5 * size_b).median()
    implied = (of_a["objects"] - base - 3 * of_a["pool"]) / (of_a["pool"] > 0).map({True: 5, False: 11})
    is_stated = implied.clip(lower=1.0) >= in_a["stored_count"] / 10**0.5
    rows = of_a[["collector", "strategy", "objects"]].assign(implied_size=implied)
    return Evidence(rows.assign(shown=is_stated.map({True: AS_PUBLISHED, False: OTHER_WAY})).reset_index(drop=True))


@cache
def published_cells() -> Cells:
    """Return the article's own table, as one block."""
    return batch_cells(published_as_trials(), PUBLISHED)


BATCH_CLAIMS = claims_of(
    "batch",
    lambda cells: cells,
    published_cells,
    {"cms_is_nearer": (_cms_is_nearer, claims.no_figures), "case_a": (_case_a, _case_a)},
)
POOL_EVERYWHERE = BATCH_CLAIMS[0]


def evaluate_stored(trials: pd.DataFrame) -> list[Verdict]:
    """Put the published claims to what `judged_on` gives each set-up."""
    return claims.evaluate_apart(BATCH_CLAIMS, lambda set_up: batch_cells(judged_on(trials, set_up), set_up))


def evaluate(trials: pd.DataFrame, some: Iterable[Claim[Cells]] = BATCH_CLAIMS) -> list[Verdict]:
    """Put claims to a campaign's trials (one row per trial, failed ones included), each set-up apart."""
    return claims.evaluate_apart(some, lambda set_up: batch_cells(trials, set_up))


_SINCE = (11, 21, 26)


def _today_cells(trials: pd.DataFrame) -> Cells:
    """Return the Java cells of case B by two metrics: ns a packet in steady state (``steady``), and the first half
    minute over it."""
    done = with_cost(trials[(trials["case"] == "B") & (trials["language"] == "java")])
    done = done[np.array([not options_on(row) for row in records(done)], dtype=bool)]
    done = done.assign(steady=done["ns_per_packet"], runtime=done["runtime"].astype(int))
    done["start over steady"] = done["start_ns_per_packet"] / done["steady"]
    g1 = done.loc[(done["collector"] == "g1") & (done["layout"] == "heap"), "runtime"]
    before = g1[g1 < _SINCE[-1]].max()
    names, cells = names_in(done), []
    for (configuration, strategy), group in done.groupby(["configuration", "strategy"], observed=True):
        row: Any = group.iloc[0]
        facts = {name: row[name] for name in ("layout", "collector", "runtime", "strategy")}
        facts["last_before_26"] = row["runtime"] == before
        facts["since"] = max(since for since in _SINCE if since <= row["runtime"])
        for metric in ("steady", "start over steady"):
            # In the order of the table: what another plan measured of a cell comes last.
            values = group[metric].dropna().astype(float)
            label = f"{strategy}, {names[str(configuration)]}"
            cells.append(Cell({**facts, "metric": metric}, label, values, "no figure"))
    return Cells(cells, ("layout", "collector", "runtime", "strategy", "metric"))


TODAY = claims_of("batch", _today_cells, file="today.yaml")


def of_today(*trials: pd.DataFrame) -> list[Verdict]:
    """Return the verdicts of our own claims on trials of one machine at the published sizes, whose window pays for all
    that it causes: it holds a complete cycle of the old generation, or the program allocates nothing."""
    every = pd.concat(trials, ignore_index=True)
    nothing = every["allocated_bytes"] < every["packets"]
    return claims.evaluate(TODAY, every[((every["window"] == "whole") | nothing).fillna(False)])


def of_today_stored(trials: pd.DataFrame) -> list[Verdict]:
    """Return `of_today` of the machine of ``trials``, or of the one with most such long windows where it has none."""
    long = minutes_of_host(trials)
    if long.empty and len(trials):
        elsewhere = _minutes()
        for host in elsewhere["host_id"].value_counts().index[:1]:
            long = elsewhere[elsewhere["host_id"] == host]
            trials = hosts.tables_of_hosts("batch", "standard", host).get("trials", trials.iloc[:0])
    return of_today(trials, long)


def _minutes() -> pd.DataFrame:
    stored = hosts.tables_of_hosts("batch", PROFILE).get("trials")
    if stored is None:
        return pd.DataFrame(columns=["host_id"])
    found = counted(stored)
    return found[found["warm_up"].notna() & (found["scale"] == 1)]


def minutes_of_host(trials: pd.DataFrame) -> pd.DataFrame:
    """Return the steady trials of profile ``article`` at the published sizes, of the machine of ``trials``."""
    found = _minutes()
    return found[found["host_id"].isin(set(trials["host_id"]))]


def of_campaign(tables: Mapping[str, pd.DataFrame], _settings: Mapping[str, Any]) -> list[Verdict]:
    """Return the verdicts of a campaign as its page and the first page show them: published claims, each set-up on a
    campaign that has its collectors, then our own."""
    trials = tables["trials"]
    return [*evaluate_stored(trials), *of_today_stored(trials)]
