"""The measures against hand-made cases with a known answer."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from allocpool import gclog
from allocpool.evidence.claims import OPEN, REFUTED, REPRODUCED, Verdict, judge
from allocpool.packets.comparisons import NOW, THEN
from allocpool.studies.pauses import claims, overhead, scaling
from allocpool.studies.pauses.attribution import UNKNOWN, attribute
from allocpool.studies.pauses.live_set import fit_live_set
from allocpool.studies.pauses.tables import left_mb
from allocpool.trial.stops import read_stops

MS = 1_000_000
GOLDEN = Path(__file__).parent / "golden" / "logs"


def intervals(*pairs_ms: tuple[float, float]) -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.array([(round(a * MS), round(b * MS)) for a, b in pairs_ms], np.int64).reshape(-1, 2)


def test_a_pause_that_filled_the_queue_explains_the_burst() -> None:
    # A queue of 100 ms, a pause from 0 to 150 ms: the queue is full at 100, losses last until 150.
    found = attribute(100 * MS, 150 * MS, 100 * MS, {"other pause": intervals((0, 150))})
    assert found.window_ns == (0, 150 * MS)
    assert found.shares["other pause"] == pytest.approx(1)


def test_what_overlaps_counts_once_and_for_the_first_cause() -> None:
    events = {
        "full or degenerated collection": intervals((10, 40)),
        "other pause": intervals((10, 40), (50, 60)),
        "time to safepoint": intervals((5, 10)),
        "other safepoint": intervals((5, 60)),
        "allocation stall": intervals((80, 200)),
    }
    shares = attribute(60 * MS, 100 * MS, 60 * MS, events).shares
    assert shares["full or degenerated collection"] == pytest.approx(0.30)
    assert shares["other pause"] == pytest.approx(0.10)
    assert shares["other safepoint"] == pytest.approx(0.15)
    assert shares["time to safepoint"] == 0
    assert shares["allocation stall"] == pytest.approx(0.20)
    assert shares[UNKNOWN] == pytest.approx(0.25)


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ((0, 1, 1, {"pause": intervals((0, 1))}), "unknown cause pause: choose of stop on purpose"),
        ((0, 1, 0, {}), "the queue needs a positive length"),
        ((2, 1, 1, {}), "must not end before it starts"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: Any, names: str) -> None:
    with pytest.raises(ValueError, match=names):
        attribute(*arguments)


def test_a_line_is_found_with_its_slope() -> None:
    objects = np.array([0.05, 0.1, 0.5, 1, 5, 10]) * 1e6
    fit = fit_live_set(objects, 2e6 + 70 * objects)
    assert fit is not None
    assert fit.ns_per_object == pytest.approx(70, rel=1e-6)
    assert fit.base_ns == pytest.approx(2e6, rel=1e-4)
    assert fit.trials == 6
    assert fit.worst_factor == pytest.approx(1, abs=1e-6)
    assert fit.growth(1e7, 1e6).ratio.estimate == pytest.approx((2e6 + 7e8) / (2e6 + 7e7), rel=1e-6)


def test_a_slope_lies_in_its_interval_as_often_as_it_says() -> None:
    rng = np.random.default_rng(2)
    objects, campaigns = np.array([0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10]) * 1e6, 400
    held, bent, grew = 0, 0, 0
    for noise in np.exp(rng.normal(0, 0.2, (campaigns, 8))):
        fit = fit_live_set(objects, (5e6 + 70 * objects) * noise)
        assert fit is not None
        growth = fit.growth(1e7, 3e6).ratio
        held += fit.low <= 70 <= fit.high
        bent += fit.bend <= 0.05
        grew += growth.low <= (5 + 700) / (5 + 210) <= growth.high
    least, most = (binom.ppf(q, campaigns, 0.95) for q in (0.001, 0.999))
    assert least <= held <= most and least <= grew <= most, "eight points hold it in 95% of campaigns"
    assert bent <= campaigns - least


@pytest.mark.parametrize(
    ("objects", "costs"), [([1e5, 1e6], [1, 2]), ([1e6, 1e6, 1.1e6], [1, 2, 3]), ([1e5, 1e6, 1e7], [0, np.nan, 3])]
)
def test_too_little_gives_no_fit(objects: list[float], costs: list[float]) -> None:
    assert fit_live_set(objects, costs) is None


def batch(rows: list[dict[str, Any]]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Tables ``trials`` and ``cpu`` of made-up Java trials of a million packets in a second."""
    trials, cpu = [], []
    for number, row in enumerate(rows):
        facts: dict[str, Any] = {
            "layout": "heap",
            "runtime": 25,
            "case": "C",
            "scale": 1.0,
            "block": 0,
            "mode": "batch",
        } | row
        name = f"{facts['layout']} / {facts['collector']} / {facts['runtime']}"
        trial = {
            "trial_id": str(number),
            "status": "ok",
            "language": "java",
            "packets": 1_000_000,
            "configuration": name,
        }
        trials.append(trial | facts | {"cpu_ns_per_packet": facts["ns_per_packet"] * facts.get("cpu", 1.0)})
        cpu.append({"trial_id": str(number), "thread_group": "gc", "cpu_ns": facts.get("gc_cpu_ns", 0)})
    return pd.DataFrame(trials), pd.DataFrame(cpu)


def test_the_bound_is_over_the_least_remainder_of_the_same_strategy() -> None:
    # a: 100 ns, of it 40 in pauses; b: 90 ns, none in pauses but 60 in its threads. Pool: another program.
    trials, cpu = batch([
        {"collector": "a", "strategy": "alloc", "ns_per_packet": 100.0, "gc_pause_total_ms": 40.0, "gc_cpu_ns": 50e6},
        {"collector": "b", "strategy": "alloc", "ns_per_packet": 90.0, "gc_pause_total_ms": 0.0, "cpu": 2.0,
         "gc_cpu_ns": 60e6},
        {"collector": "a", "strategy": "pool", "ns_per_packet": 30.0, "gc_pause_total_ms": 10.0, "gc_cpu_ns": 12e6},
        {"collector": "b", "strategy": "pool", "ns_per_packet": 25.0, "gc_pause_total_ms": 0.0, "gc_cpu_ns": 5e6},
    ])  # fmt: skip
    found = overhead.lower_bound_overhead(trials, cpu).set_index(["clock", "strategy", "collector"])
    assert found.loc[("wall", "alloc", "a"), "lbo"] == pytest.approx(100 / 60)
    assert found.loc[("wall", "alloc", "b"), "lbo"] == pytest.approx(90 / 60)
    assert found.loc[("wall", "alloc", "b"), "base_configuration"] == "heap / a / 25"
    assert found.loc[("CPU", "alloc", "a"), "lbo"] == pytest.approx(100 / 50)
    assert found.loc[("CPU", "alloc", "b"), "lbo"] == pytest.approx(180 / 50)
    assert found.loc[("wall", "pool", "a"), "lbo"] == pytest.approx(30 / 20)
    saved = overhead.saved_by_pooling(found.reset_index()).set_index("collector")
    assert saved.loc["a", "saved_ns"] == pytest.approx((100 - 60) - (30 - 20))
    assert saved.loc["b", "saved_ns"] == pytest.approx((90 - 60) - (25 - 20))


def test_luck_chooses_no_base() -> None:
    """Six collectors whose remainders are truly the same: their least is too low, the base is not."""
    rng = np.random.default_rng(3)
    least, base = [], []
    for logs in rng.normal(0, 0.2, (400, 5, 6)):
        remainders = {str(number): pd.Series(np.exp(logs[:, number])) for number in range(6)}
        name, ns = overhead.least_remainder(remainders)
        assert name == str(logs.mean(axis=0).argmin())
        least.append(logs.mean(axis=0).min())
        base.append(np.log(ns))
    error = np.std(base) / np.sqrt(len(base))
    assert np.mean(least) < -0.08
    assert abs(np.mean(base)) < 4 * error


def golden(tmp_path: Path, name: str) -> Path:
    log = tmp_path / "gc.log"
    log.write_bytes(gzip.decompress((GOLDEN / f"{name}.log.gz").read_bytes()))
    return log


def test_stops_leave_out_nested_pauses_and_know_full_ones(tmp_path: Path) -> None:
    log = golden(tmp_path, "11-cms-promotion-failure")
    stops, told = read_stops(log), gclog.read_gc_log(log)
    assert told.pauses["nested"].any()
    assert len(stops.pause_intervals()) == len(told.outermost)
    assert 0 < len(stops.full_intervals()) < len(stops.pause_intervals())
    assert stops.unread == 0
    reaching, whole = stops.reaching_intervals(), stops.safepoint_intervals()
    assert (reaching[:, 0] == whole[:, 0]).all() and (reaching[:, 1] <= whole[:, 1]).all()


def test_what_young_collections_leave_is_read_from_the_log(tmp_path: Path) -> None:
    steady = read_stops(golden(tmp_path, "11-parallel-steady")).pauses
    assert [pause.heap_after_mb for pause in steady[-2:]] == [119, 128]
    assert left_mb(steady[-2:]) == 9
    full = steady[-1]._replace(kind="Full", heap_after_mb=20.0)
    grown = steady[-1]._replace(heap_after_mb=131.0)
    assert left_mb([*steady[-2:], full, steady[-1], grown]) == (9 + 3) / 2, "a full collection starts anew"
    assert left_mb(steady[-1:]) is None


def collections(trials: pd.DataFrame, **columns: Any) -> pd.DataFrame:
    defaults = {
        "window_s": 2.0, "collections": 4, "pauses": 5, "pause_total_ms": 100.0, "pause_mean_ms": 20.0,
        "pause_max_ms": 50.0, "safepoints": 6, "safepoint_total_ms": 110.0, "time_to_safepoint_total_ms": 4.0,
        "time_to_safepoint_max_ms": 1.0, "stalls": 0, "stall_total_ms": 0.0, "forced_full_ms": 60.0,
        "unread_lines": 0, "violations": 0, "left_mb": 4.0,
    }  # fmt: skip
    return pd.DataFrame([{"trial_id": trial, **defaults, **columns} for trial in trials["trial_id"]])


POINTS = ["configuration", "collector", "strategy", "measure", "live_objects", "cost_ns"]
NO_POINTS = pd.DataFrame(columns=[*POINTS, "language", "ns_per_object", "low", "high", "n", "fit"])
PARALLEL = {"configuration": "heap / Parallel / 25", "collector": "parallel", "strategy": "pool"}


def judged(
    id: str,
    set_up: str = NOW,
    points: pd.DataFrame = NO_POINTS,
    fits: pd.DataFrame = NO_POINTS,
    trials: pd.DataFrame | None = None,
    table: pd.DataFrame | None = None,
) -> Verdict:
    """One claim put to made-up trials, fits and points."""
    (claim,) = [claim for claim in claims.PAUSES_CLAIMS if claim.id == id]
    if trials is None:
        trials, _ = batch([{"collector": "g1", "strategy": "pool", "ns_per_packet": 9.0, "gc_pause_total_ms": 1.0}])
    table = collections(trials) if table is None else table
    return judge(claim, claims.Pauses.of(trials, table, points, fits, set_up))


@pytest.mark.parametrize(
    ("ns", "noise", "outcome"),
    [(100.0, 0.02, REPRODUCED), (20.0, 0.02, REFUTED), (400.0, 0.02, REFUTED), (-30.0, 0.02, REFUTED),
     (60.0, 0.5, OPEN), (210.0, 0.05, OPEN)],
)  # fmt: skip
def test_about_100_ns(ns: float, noise: float, outcome: str) -> None:
    fits = scaling.fits(live_sets(ns, noise))
    found = judged("cost-per-object", fits=fits)
    assert found.outcome == outcome
    assert found.evidence[["p", "p_against"]].notna().all().all()
    few = scaling.fits(live_sets(ns, noise).head(4))
    assert judged("cost-per-object", fits=few).outcome == OPEN
    assert judged("cost-per-object", THEN, fits=fits).evidence.empty, "25 is not what the article ran"


def live_sets(ns: float, noise: float) -> pd.DataFrame:
    """Forced full pauses of Parallel at eight live sets: so many ns an object above, or down from, a base."""
    rng = np.random.default_rng(6)
    objects = np.array([0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10]) * 1e6
    costs = (max(1e6, -1.2e7 * ns) if ns < 50 else 1e6) + (2e8 if 0 < ns < 50 else 0.0) + ns * objects
    facts = PARALLEL | {"measure": "forced full pause", "language": "java", "layout": "heap", "runtime": 25}
    return pd.DataFrame([
        facts | {"live_objects": alive, "cost_ns": cost * factor}
        for alive, cost, factor in zip(objects, costs, np.exp(rng.normal(0, noise, 8)), strict=True)
    ])  # fmt: skip


def of_cases(values: dict[tuple[str, str], float], measure: str, blocks: int = 5) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Trials of Parallel and G1 of 25 by strategy and case, and a table of collections in which they have a value."""
    trials, _ = batch([
        {"collector": collector, "strategy": strategy, "case": case, "block": block, "ns_per_packet": 50.0,
         "gc_pause_total_ms": 1.0, "live_objects": 1_000_000, "configuration": SET_UPS[NOW].label("heap", collector)}
        for collector in ("parallel", "g1") for strategy, case in values for block in range(blocks)
    ])  # fmt: skip
    keys = zip(trials["strategy"], trials["case"], trials["block"], strict=True)
    table = collections(trials)
    table[measure] = [values[strategy, case] * (1 + 0.001 * block) for strategy, case, block in keys]
    return trials, table


@pytest.mark.parametrize(
    ("mean_ms", "shown"),
    [
        ({"A": 800.0, "B": 700.0, "C": 400.0}, {"as published"}),
        ({"A": 80.0, "B": 700.0, "C": 400.0}, {"the other way round"}),
        ({"A": 80.0}, {"not measured"}),
    ],
)
def test_case_a_has_the_worst_pauses(mean_ms: dict[str, float], shown: set[str]) -> None:
    trials, table = of_cases({("pool", case): value for case, value in mean_ms.items()}, "pause_mean_ms")
    found = judged("pool-a-worst-pauses", trials=trials, table=table)
    of_mean = found.evidence[found.evidence["larger"].str.endswith("mean pause")]
    assert set(of_mean["shown"]) == shown
    assert found.outcome == (REFUTED if "the other way round" in shown else OPEN), "the longest are equal"


@pytest.mark.parametrize(("pool_ms", "outcome"), [(200.0, OPEN), (2.0, REFUTED)])
def test_pooling_makes_collections_rarer_and_longer(pool_ms: float, outcome: str) -> None:
    trials, table = of_cases({("alloc", "B"): 20.0, ("pool", "B"): pool_ms}, "pause_mean_ms")
    found = judged("pool-rare-long", trials=trials, table=table)
    assert found.outcome == outcome, "as many collections, as long at most"
    rarer = table.assign(collections=trials["strategy"].map({"alloc": 40, "pool": 0}))
    rare = judged("pool-rare-long", trials=trials, table=rarer).evidence
    assert set(rare.loc[rare["larger"].str.endswith("collections per second"), "shown"]) == {"as published"}
    none = judged("pool-rare-long", trials=trials, table=table.assign(collections=0))
    assert set(none.evidence["shown"]) == {"not measured"} and "longer trials" in none.missing[0].why
    both = rarer.assign(pause_max_ms=lambda rows: rows["pause_mean_ms"] * 3)
    assert judged("pool-rare-long", trials=trials, table=both).outcome == (REPRODUCED if pool_ms > 20 else MIXED)
    few = trials["block"] < 4
    assert judged("pool-rare-long", trials=trials[few], table=both[few]).outcome == OPEN, "four trials decide nothing"


MS_BY_CELL = {
    ("g1", "alloc", "A"): (60.0, 60.0), ("g1", "pool", "A"): (31.0, 31.0),
    ("g1", "alloc", "C"): (60.0, 10.0), ("g1", "pool", "C"): (30.0, 30.0),
    ("parallel", "alloc", "A"): (20.0, 20.0), ("parallel", "pool", "A"): (60.0, 60.0),
    ("parallel", "alloc", "C"): (20.0, 20.0), ("parallel", "pool", "C"): (60.0, 60.0),
}  # fmt: skip
"""Mean pauses of all collections, and of young ones: in case C, what is long beside G1 is a full collection."""


def test_what_turns_a_claim_on_pauses_is_found() -> None:
    trials, _ = batch([
        Configuration.parse(f"java/heap/{collector}/25").model_dump()
        | {"collector": collector, "strategy": strategy, "case": case, "block": block, "ns_per_packet": 50.0,
           "gc_pause_total_ms": 1.0, "live_objects": 1_000_000, "configuration": SET_UPS[NOW].label("heap", collector)}
        for collector, strategy, case in MS_BY_CELL for block in range(6)
    ])  # fmt: skip
    cells = list(zip(trials["collector"], trials["strategy"], trials["case"], strict=True))
    noise = 1 + 0.002 * trials["block"]
    table = collections(trials).assign(pause_mean_ms=noise * [MS_BY_CELL[cell][0] for cell in cells])
    young = noise * [MS_BY_CELL[cell][1] for cell in cells]
    kinds = pd.DataFrame({"trial_id": trials["trial_id"], "kind": "Young (Normal)", "duration_ms": young})
    pauses = pd.concat([kinds, kinds.assign(kind="Full", duration_ms=500.0), kinds.assign(kind="Remark")])
    verdicts = claims.evaluate(trials, table, NO_POINTS, NO_POINTS)
    told = {
        (item.asked.comparison, item.asked.changed): item.outcome
        for item in explanations.of_claims(trials, table, pauses, verdicts)
        if "rarer" in item.asked.claim
    }
    longer = "heap / G1 / 25 pool {0}, mean pause over heap / G1 / 25 alloc {0}, mean pause"
    assert told == {
        (longer.format("A"), explanations.YOUNG): NOT_THE_CAUSE,
        (longer.format("A"), "the collector is Parallel"): TURNS,
        (longer.format("C"), explanations.YOUNG): TURNS,
        (longer.format("C"), "as few packets are alive as in case A"): NOT_THE_CAUSE,
        (longer.format("C"), "the collector is Parallel"): TURNS,
    }


@pytest.mark.parametrize(("young_ms", "outcome"), [(600.0, TURNS), (1300.0, PART), (1590.0, NOT_THE_CAUSE)])
def test_full_collections_explain_a_share_of_time_as_far_as_they_take_it(young_ms: float, outcome: str) -> None:
    """Of two seconds, 1.6 are spent in pauses; beside Parallel that is about as published, beside G1 far more."""
    trials, table = of_cases({("alloc", "C"): 1600.0, ("alloc", "B"): 1600.0}, "pause_total_ms")
    plain = Configuration.parse("java/heap/g1/25").model_dump()
    trials = trials.assign(**{name: value for name, value in plain.items() if name not in trials})
    noise = 1 + 0.01 * trials["block"]
    young = pd.DataFrame({"trial_id": trials["trial_id"], "kind": "Young (Normal)", "duration_ms": young_ms * noise})
    verdicts = claims.evaluate(trials, table, NO_POINTS, NO_POINTS)
    judged = explanations.of_claims(trials, table, pd.concat([young, young.assign(kind="Full")]), verdicts)
    told = {(item.asked.comparison, item.asked.changed): item.outcome for item in judged}
    cell = "heap / G1 / 25 alloc C, share of time in pauses, % over the published 28"
    assert told == {
        (cell, explanations.YOUNG): outcome,
        (cell, "as few packets are alive as in case B"): NOT_THE_CAUSE,
        (cell, "the buffers are off the heap"): NOT_MEASURED,
    }
    assert "those within 2 times it" in ablation.caption(judged)


def test_nothing_measured_leaves_nothing_to_explain() -> None:
    empty = {name: without_rows(schema) for name, schema in SCHEMAS.items()}
    verdicts = claims.evaluate(empty["trials"], empty["collections"], NO_POINTS, NO_POINTS)
    assert explanations.of_claims(empty["trials"], empty["collections"], empty["pauses"], verdicts) == []


def test_every_explanation_of_pauses_is_of_a_claim() -> None:
    assert set(explanations.EXPLANATIONS) <= {claim.id for claim in claims.PAUSES_CLAIMS}


@pytest.mark.parametrize(
    ("percent", "shown"),
    [(60.0, ["as published", "the other way round"]), (30.0, ["the other way round", "as published"]),
     (5.0, ["the other way round"] * 2)],
)  # fmt: skip
def test_allocating_overloads_the_collector(percent: float, shown: list[str]) -> None:
    trials, table = of_cases({("alloc", "C"): 20.0 * percent}, "pause_total_ms")
    found = judged("alloc-overload", trials=trials, table=table)
    assert found.evidence["larger"].str.contains("Parallel").to_list() == [True, False]
    assert found.evidence["shown"].to_list() == shown
    assert found.outcome == (MIXED if "as published" in shown else REFUTED)
    assert judged("alloc-overload", trials=trials[trials["block"] < 4], table=table).outcome == OPEN


@pytest.mark.parametrize(
    ("left_mb", "blocks", "outcome"), [(4.2, 5, REPRODUCED), (0.3, 5, REFUTED), (-1.0, 5, REFUTED), (4.2, 4, OPEN)]
)
def test_what_young_collections_leave_is_told_at_scale_one(left_mb: float, blocks: int, outcome: str) -> None:
    trials, _ = batch([
        {"collector": "parallel", "layout": "native", "strategy": "pool", "case": case, "block": block, "scale": 0.2,
         "ns_per_packet": 50.0, "gc_pause_total_ms": 1.0, "live_objects": 1_000,
         "configuration": SET_UPS[NOW].label("native", "parallel")}
        for case in ("B", "C") for block in range(blocks)
    ])  # fmt: skip
    table = collections(trials, left_mb=left_mb)
    assert judged("native-cms-leaves", trials=trials, table=table).outcome == outcome
    none = judged("native-cms-leaves", trials=trials, table=table.assign(left_mb=np.nan))
    assert none.outcome == OPEN and "longer trials" in none.missing[0].why


def test_every_claim_has_its_own_name_and_a_source() -> None:
    assert len({claim.id for claim in claims.PAUSES_CLAIMS}) == len(claims.PAUSES_CLAIMS)
    assert all(isinstance(claim, Claim) and claim.source == ARTICLE for claim in claims.PAUSES_CLAIMS)


def test_lines_that_were_not_understood_are_told() -> None:
    trials, _ = batch([{"collector": "g1", "strategy": "pool", "ns_per_packet": 9.0, "gc_pause_total_ms": 1.0}])
    text = story.unread(collections(trials, unread_lines=3, violations=1), pd.DataFrame({"unread_lines": [2, pd.NA]}))
    assert text.startswith("**5 stop-the-world lines were not understood** in 2 logs; 1 lines")


def test_whose_cpu_time_it_was_in_real_time_sums_to_the_whole() -> None:
    facts = {"language": "java", "layout": "heap", "collector": "g1", "runtime": 25, "strategy": "pool", "case": "B"}
    ordinary = {"trial_id": "a", "configuration": "heap / G1 / 25", "disturbance": None, "seconds": 1.0, **facts}
    losses = pd.DataFrame([ordinary, ordinary | {"trial_id": "b"}, ordinary | {"trial_id": "c", "disturbance": "stop"}])
    spent = {"application": 30, "source": 50, "gc": 10, "jit": 5, "other": 5}
    cpu = pd.DataFrame([
        {"trial_id": trial, "thread_group": group, "cpu_ns": ns * times}
        for trial, times in (("a", 1), ("b", 7), ("c", 1000))
        for group, ns in spent.items()
    ])  # fmt: skip
    (row,) = story.realtime_cpu(cpu, losses).to_dict("records")
    assert row["n"] == 2, "what was stopped on purpose is left out"
    assert {name: float(row[name]) for name in spent} == spent


def test_what_was_done_on_purpose_is_set_beside_what_was_found() -> None:
    losses = pd.DataFrame([
        {"trial_id": "a", "configuration": "s", "disturbance": "stop", "disturbed_at_s": 1.0, "disturbed_ms": 100.0},
        {"trial_id": "b", "configuration": "s", "disturbance": None, "disturbed_at_s": None, "disturbed_ms": None},
    ])  # fmt: skip
    bursts = pd.DataFrame({
        "trial_id": ["a", "a", "b"], "burst": [0, 1, 0], "start_s": [0.2, 1.05, 1.05], "end_s": [0.3, 1.1, 1.1],
    })  # fmt: skip
    shares = pd.DataFrame({
        "trial_id": ["a", "a", "a", "b"], "burst": [0, 1, 1, 0], "lost": [500.0, 90.0, 10.0, 70.0],
        "cause": ["source slip", "stop on purpose", UNKNOWN, "other pause"],
    })  # fmt: skip
    (row,) = story.beside_disturbances(losses, bursts, shares).to_dict("records")
    assert row["lost beside it"] == "100"
    assert row["found"] == "stop on purpose 90%, nothing known 10%"


def test_a_campaign_that_never_ran_is_undecided(data: Path) -> None:
    assert story.take_home("smoke").startswith("**Undecided.**")


@pytest.mark.parametrize(
    ("alloc_ms", "pool_ms", "headline"),
    [
        (90.0, 10.0, "Pooling shortens the longest pause."),
        (10.0, 90.0, "Pooling lengthens the longest pause."),
        (50.0, 50.0, "Mostly no difference that matters in the longest pause."),
    ],
)
def test_the_verdict_counts_what_is_shown(alloc_ms: float, pool_ms: float, headline: str) -> None:
    trials, cpu = batch([
        {"collector": collector, "strategy": strategy, "ns_per_packet": 50.0, "gc_pause_total_ms": 1.0, "block": block,
         "live_objects": 1_000_000, "gc_cpu_ns": 1e6}
        for collector in ("g1", "parallel") for strategy in ("alloc", "pool") for block in range(5)
    ])  # fmt: skip
    table = collections(trials)
    longest = trials["strategy"].map({"alloc": alloc_ms, "pool": pool_ms})
    table["pause_max_ms"] = longest * (1 + 0.01 * trials["block"])
    overheads = overhead.lower_bound_overhead(trials, cpu)
    assert story.verdict(trials, table, overheads).startswith(f"**{headline}** Of 2 configurations and cases")
