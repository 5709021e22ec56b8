"""Real-time claims: by cells with enough trials, by trials that saw what a remark is about, each set-up apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import pytest
from test_realtime_story import NOTHING, placed

from allocpool.evidence.ablation import FURTHER, TURNS
from allocpool.evidence.claims import (
    CANNOT,
    MIXED,
    NOT_MEASURED,
    NOT_TESTED,
    OPEN,
    REFUTED,
    REPRODUCED,
    Verdict,
    judge,
)  # fmt: skip
from allocpool.packets.comparisons import AS_PARALLEL, NOW, THEN
from allocpool.packets.specs import SETTINGS, Configuration
from allocpool.studies.realtime import explanations
from allocpool.studies.realtime.cells import realtime_cells
from allocpool.studies.realtime.claims import REALTIME_CLAIMS, Realtime

PARALLEL, ZGC, GEN_ZGC = "java/heap/parallel/11", "java/heap/zgc/11", "java/heap/genzgc/25"


def facts(key: str) -> dict[str, Any]:
    configuration = Configuration.parse(key)
    none: dict[str, Any] = dict.fromkeys(("allocator", "steps", "compact_headers", "large_pages", *SETTINGS))
    return (
        none
        | configuration.model_dump()
        | {"configuration": configuration.label, "scale": 0.1, "status": "ok", "reason": None}
    )


def cell(key: str, strategy: str = "pool", case: str = "A", ns: float | None = 300.0, **changes: Any) -> pd.DataFrame:
    """The adaptive trials of a cell; one that loses has no interval."""
    return pd.DataFrame(placed(ns, **{**facts(key), "strategy": strategy, "case": case, "scale": 0.1, **changes}))


def sweep(key: str = PARALLEL, lost_ppm: float = 5e4, **changes: Any) -> dict[str, Any]:
    return {
        **facts(key), "trial_id": str(changes), "strategy": "pool", "case": "C", "block": 0, "heap_factor": 1.0,
        "input_queue_ms": 10.0, "interval_ns": 1000.0, "lost_ppm": lost_ppm, "seconds": 1.0, "majors": 3,
        "intermediate_queue_ms": 0.0,
        "gc_pauses": 10, "gc_pause_max_ms": 50.0, "decides_long_pauses": True, **changes,
    }  # fmt: skip


def often(*rows: dict[str, Any]) -> pd.DataFrame:
    """Each trial several times, no two of them quite the same."""
    small = {
        name: [1.0, 1.02, 0.98, 1.01, 0.99, 1.03, 0.97, 1.0] for name in ("lost_ppm", "gc_pause_max_ms", "seconds")
    }
    return pd.DataFrame([
        row | {"block": block} | {name: row[name] * by[block] for name, by in small.items()}
        for row in rows for block in range(8)
    ])  # fmt: skip


NO_TRIALS = pd.DataFrame([sweep()]).iloc[:0]


class Judged:
    """Verdicts by claim and set-up, each alone, when it is asked for."""

    def __init__(self, cells: pd.DataFrame, trials: pd.DataFrame, *elsewhere: pd.DataFrame) -> None:
        self._data, self._elsewhere = (cells, trials), elsewhere

    def __getitem__(self, key: tuple[str, str]) -> Verdict:
        (claim,) = (one for one in REALTIME_CLAIMS if one.id == key[0])
        assert key[1] in claim.set_ups
        return judge(claim, Realtime.of(*self._data, key[1], self._elsewhere), key[1])


def judged(*cells: pd.DataFrame, trials: pd.DataFrame = NO_TRIALS, elsewhere: Sequence[pd.DataFrame] = ()) -> Judged:
    rows = pd.concat([cell(PARALLEL, "mix", "B"), *cells], ignore_index=True)
    return Judged(realtime_cells({**NOTHING, "adaptive": rows}), trials, *elsewhere)


def every_cell(key: str, **intervals_ns: float | None) -> list[pd.DataFrame]:
    return [cell(key, strategy, case, ns) for strategy, ns in intervals_ns.items() for case in "ABC"]


def test_a_pool_below_allocating_is_shown_then_and_now_apart() -> None:
    found = judged(*every_cell(ZGC, pool=100.0, alloc=400.0), *every_cell(GEN_ZGC, pool=400.0, alloc=100.0))
    then, now = (found["pool-everywhere-realtime", name] for name in (THEN, NOW))
    assert (then.outcome, now.outcome) == (OPEN, REFUTED)
    lacking = {
        f"{family} {strategy} {case}" for family in ("CMS", "G1") for strategy in ("alloc", "pool") for case in "ABC"
    }
    assert {item.what for item in then.missing} == lacking, "of CMS only the small pool has a cell"


def test_a_known_cause_turns_a_claim_and_what_makes_it_worse_does_not() -> None:
    usual = every_cell(GEN_ZGC, pool=400.0, alloc=100.0)
    roomy = [rows.assign(heap_factor=5.0) for rows in every_cell(GEN_ZGC, pool=1_600.0, alloc=100.0)]
    changed = pd.concat([*roomy, *every_cell(f"{GEN_ZGC}/fresh", pool=50.0)])
    tables = {**NOTHING, "adaptive": pd.concat(usual), "changed": changed}
    verdict = judged(*usual)["pool-everywhere-realtime", NOW]
    found = explanations.of_claims(tables, realtime_cells(tables), [verdict])
    expected = (explanations.SEQUENTIAL, TURNS), (explanations.ROOMY, FURTHER), (explanations.SMALL, NOT_MEASURED)
    for change, outcome in expected:
        assert [item.outcome for item in found if item.asked.changed == change.words] == [outcome] * 3, change


def test_too_few_trials_decide_nothing() -> None:
    once = [cell(ZGC, "pool", case)[:4] for case in "ABC"] + [cell(ZGC, "mix", case) for case in "ABC"]
    found = judged(*once)["realtime-pool-zgc", THEN]
    assert found.outcome == OPEN
    assert {item.why for item in found.missing} == {"fewer than 5 trials with an outcome"}
    assert judged(*every_cell(ZGC, pool=300.0, mix=300.0))["realtime-pool-zgc", THEN].outcome == REPRODUCED
    assert judged(*every_cell(ZGC, pool=None, mix=300.0))["realtime-pool-zgc", THEN].outcome == MIXED


@pytest.mark.parametrize(
    ("longer", "outcome"),
    [
        ({"lost_ppm": 50.0}, REFUTED),
        ({"lost_ppm": 50.0, "decides_long_pauses": False}, NOT_TESTED),
        ({"lost_ppm": 50.0, "gc_pause_max_ms": 200.0}, NOT_TESTED),
        ({"lost_ppm": 0.0}, OPEN),
        ({"lost_ppm": 0.0, "intermediate": True}, REPRODUCED),
    ],
)
def test_a_longer_queue_needs_a_trial_that_saw_a_pause_and_the_queue_in_front(
    longer: dict[str, Any], outcome: str
) -> None:
    rows = [
        sweep(),
        sweep(input_queue_ms=100.0, **{key: value for key, value in longer.items() if key != "intermediate"}),
    ]
    if longer.get("intermediate"):
        rows.append(sweep(lost_ppm=0.0, intermediate_queue_ms=100.0))
    found = judged(trials=often(*rows))["longer-queue", AS_PARALLEL]
    assert found.outcome == outcome, found.sentence
    assert ("an intermediate queue in C" in {item.what for item in found.missing}) != bool(longer.get("intermediate"))


def test_single_trials_of_another_campaign_decide_only_where_those_of_ones_own_are_few() -> None:
    queues: tuple[dict[str, Any], ...] = {"input_queue_ms": 200.0}, {"intermediate_queue_ms": 200.0}
    lost, kept = ([sweep(), *(sweep(lost_ppm=ppm, **longer) for longer in queues)] for ppm in (50.0, 0.0))
    for own, outcome in ((pd.DataFrame(lost), REPRODUCED), (often(*lost), REFUTED), (NO_TRIALS, REPRODUCED)):
        found = judged(trials=own, elsewhere=[rows.assign(where="") for rows in (pd.DataFrame(lost), often(*kept))])
        assert found["longer-queue", AS_PARALLEL].outcome == outcome


@pytest.mark.parametrize(
    ("larger", "against"),
    [
        ({"lost_ppm": 5e3, "gc_pauses": 2}, 0),
        ({"lost_ppm": 0.0, "gc_pauses": 2}, 1),
        ({"lost_ppm": 100.0, "gc_pauses": 2}, 1),
        ({"lost_ppm": 5e3, "gc_pauses": 20}, 1),
        ({"lost_ppm": 5e3, "gc_pauses": 2, "gc_pause_max_ms": 5.0}, 1),
    ],
)
def test_a_larger_heap_makes_collections_rarer_not_shorter_and_losses_less(
    larger: dict[str, Any], against: int
) -> None:
    found = judged(trials=often(sweep(), sweep(heap_factor=5.0, **larger)))["larger-heap", THEN]
    assert (found.outcome, int((found.evidence["shown"] == "the other way round").sum())) == (
        MIXED if against else REPRODUCED, against,
    )  # fmt: skip
    for usual_decides, larger_decides in ((True, False), (False, True)):
        usual = sweep(decides_long_pauses=usual_decides)
        unseen = judged(trials=often(usual, sweep(heap_factor=5.0, decides_long_pauses=larger_decides, **larger)))
        found = unseen["larger-heap", THEN]
        assert found.outcome == OPEN, "what a trial lost is the least that it would have lost"
        assert (found.evidence["shown"] == "as published").sum() == (larger["lost_ppm"] > 200)
        assert "saw no major collection" in found.missing[0].why
    once = judged(trials=pd.DataFrame([sweep(), sweep(heap_factor=5.0, **larger)]))["larger-heap", THEN]
    assert once.outcome == NOT_TESTED and {item.why for item in once.missing} == {"fewer than 5 trials"}


def test_delays_at_the_tail_are_of_the_usual_heap_and_no_driver_is_measured() -> None:
    for late_us, outcome in ((1e4, REPRODUCED), (1e2, REFUTED)):
        rows = [
            sweep(key, block=block, delay_p99_99_us=us * (1 + block / 100), heap_factor=heap) for block in range(8)
            for key, us, heap in ((PARALLEL, late_us, 1.0), (ZGC, 1e3, 1.0), (ZGC, 5e2, 5.0))
        ]  # fmt: skip
        found = judged(cell(GEN_ZGC), trials=pd.DataFrame(rows))
        assert found["low-latency-collectors", THEN].outcome == outcome
        assert found["kernel-bypass-driver", NOW].outcome == CANNOT
