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
from allocpool.evidence.claims import MIXED, NOT_TESTED, OPEN, REFUTED, REPRODUCED, Verdict, judge
from allocpool.packets.comparisons import NOW, THEN
from allocpool.studies.pauses import claims, overhead, scaling
from allocpool.studies.pauses.scaling import fit_live_set
from allocpool.studies.pauses.tables import UNKNOWN, attribute, left_mb
from allocpool.trial.stops import read_stops

MS = 1_000_000
GOLDEN = Path(__file__).parent / "golden" / "logs"


def intervals(*pairs_ms: tuple[float, float]) -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.array([(round(a * MS), round(b * MS)) for a, b in pairs_ms], np.int64).reshape(-1, 2)


def test_a_pause_that_filled_the_queue_explains_the_burst() -> None:
    # A queue of 100 ms, a pause from 0 to 150 ms: the queue is full at 100, losses last until 150.
    found = attribute(100 * MS, 150 * MS, 100 * MS, {"other pause": intervals((0, 150))})
    assert found["other pause"] == pytest.approx(1)
    assert sum(found.values()) == pytest.approx(1)


def test_what_overlaps_counts_once_and_for_the_first_cause() -> None:
    events = {
        "full or degenerated collection": intervals((10, 40)),
        "other pause": intervals((10, 40), (50, 60)),
        "time to safepoint": intervals((5, 10)),
        "other safepoint": intervals((5, 60)),
        "allocation stall": intervals((80, 200)),
    }
    shares = attribute(60 * MS, 100 * MS, 60 * MS, events)
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
    assert fit.ns_per_object.value == pytest.approx(70, rel=1e-6)
    assert fit.cost_ns(np.array([0.0, 1e6])) == pytest.approx([2e6, 7.2e7], rel=1e-4)
    assert fit.trials == 6
    assert np.exp(fit.growth(1e7, 1e6).value) == pytest.approx((2e6 + 7e8) / (2e6 + 7e7), rel=1e-6)


def test_a_slope_lies_in_its_interval_as_often_as_it_says() -> None:
    rng = np.random.default_rng(2)
    objects, campaigns = np.array([0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10]) * 1e6, 400
    held, bent, grew = 0, 0, 0
    for noise in np.exp(rng.normal(0, 0.2, (campaigns, 8))):
        fit = fit_live_set(objects, (5e6 + 70 * objects) * noise)
        assert fit is not None
        (low, high), growth = fit.ns_per_object.interval, np.exp(fit.growth(1e7, 3e6).interval)
        held += low <= 70 <= high
        bent += fit.bend <= 0.05
        grew += growth[0] <= (5 + 700) / (5 + 210) <= growth[1]
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
            "layout": "heap", "runtime": 25, "case": "C", "scale": 1.0, "block": 0, "mode": "batch",
        } | row  # fmt: skip
        name = f"{facts['layout']} / {facts['collector']} / {facts['runtime']}"
        trial = {
            "trial_id": str(number), "status": "ok", "language": "java", "packets": 1_000_000,
            "live_objects": 1_000_000, "configuration": name,
        }  # fmt: skip
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
    costs = overhead.by_block(trials, cpu)
    found = overhead.lower_bound_overhead(costs).set_index(["clock", "strategy", "collector"])
    assert found.loc[("wall", "alloc", "a"), "lbo"] == pytest.approx(100 / 60)
    assert found.loc[("wall", "alloc", "b"), "lbo"] == pytest.approx(90 / 60)
    assert found.loc[("CPU", "alloc", "a"), "lbo"] == pytest.approx(100 / 50)
    assert found.loc[("CPU", "alloc", "b"), "lbo"] == pytest.approx(180 / 50)
    assert found.loc[("wall", "pool", "a"), "lbo"] == pytest.approx(30 / 20)
    names, compared = overhead.saved_by_pooling(costs)
    assert list(names["configuration"]) == ["heap / a / 25", "heap / b / 25"]
    expected = [100 / (60 + 30 - 20), 90 / (60 + 25 - 20)]
    assert [one.decision.ratio for one in compared] == pytest.approx(expected)


def test_luck_chooses_no_base() -> None:
    """Six collectors whose remainders are truly the same: their least is too low, the base is not."""
    rng = np.random.default_rng(3)
    least, base = [], []
    for logs in rng.normal(0, 0.2, (400, 5, 6)):
        least.append(logs.mean(axis=0).min())
        remainders = pd.DataFrame(np.exp(logs), columns=list("abcdef"))
        base.append(np.log(overhead.least_remainders(remainders)).mean())
    error = np.std(base) / np.sqrt(len(base))
    assert np.mean(least) < -0.08
    assert abs(np.mean(base)) < 4 * error


def golden(tmp_path: Path, name: str) -> Path:
    log = tmp_path / "gc.log"
    log.write_bytes(gzip.decompress((GOLDEN / f"{name}.log.gz").read_bytes()))
    return log


def test_stops_leave_out_nested_pauses_and_know_full_ones(tmp_path: Path) -> None:
    log = golden(tmp_path, "11-cms-promotion-failure")
    stops, parsed = read_stops(log), gclog.read_gc_log(log)
    assert parsed.pauses["nested"].any()
    assert len(stops.pause_intervals()) == len(parsed.outermost)
    assert 0 < len(stops.full_intervals()) < len(stops.pause_intervals())
    assert stops.unread == 0
    reaching, complete = stops.reaching_intervals(), stops.safepoint_intervals()
    assert (reaching[:, 0] == complete[:, 0]).all() and (reaching[:, 1] <= complete[:, 1]).all()


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
NO_POINTS = pd.DataFrame(columns=[*POINTS, "language", "n", "fit"])
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
    return judge(claim, claims.of_set_up(trials, table, points, fits, set_up))


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
    assert judged("cost-per-object", fits=few).outcome == NOT_TESTED
    assert judged("cost-per-object", THEN, fits=fits).evidence.empty, "25 is not what the article ran"


@pytest.mark.parametrize(("most_ms", "outcome"), [(None, OPEN), (5.0, REPRODUCED), (50.0, MIXED)])
def test_ten_million_buffers_off_the_heap_end_the_claim(most_ms: float | None, outcome: str) -> None:
    row = {"mode": "live_set", "layout": "native", "collector": "parallel", "strategy": "pool", "ns_per_packet": 9.0,
           "gc_pause_total_ms": 1.0}  # fmt: skip
    buffers = np.array([1, 2, 4, 6, 8, 10]) * 1e6
    trials, _ = batch([row | {"pool_size": size, "layout": "native" if most_ms else "heap"} for size in buffers])
    noise = np.array([1.01, 0.99] * 3)
    table = collections(trials).assign(forced_full_ms=noise * np.interp(buffers, (1e6, 1e7), (5.0, most_ms or 5.0)))
    found = judged("ten-million", points=live_sets(60.0, 0.02), trials=trials, table=table)
    assert found.outcome == outcome


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
