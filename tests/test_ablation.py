"""What one change explains of a claim that fails: known causes are found, and others are result apart from them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import synthetic

from allocpool.evidence import ablation
from allocpool.evidence.ablation import (
    FURTHER,
    NOT_THE_CAUSE,
    OUTCOMES,
    PART,
    TURNS,
    Ablation,
    Asked,
    Changed,
    Sides,
)
from allocpool.evidence.claims import NOT_MEASURED
from allocpool.packets.comparisons import NOW
from allocpool.packets.specs import OPTIONS, Configuration
from allocpool.studies.batch import explanations as of_batch
from allocpool.studies.batch.claims import BATCH_CLAIMS, evaluate

CLAIMS = {claim.id: claim for claim in BATCH_CLAIMS}


def costs(centre: float, noise: float = 0.01, n: int = 8, seed: int = 0) -> pd.Series:
    rng = np.random.default_rng(seed + round(1000 * centre))
    return pd.Series(centre * np.exp(rng.normal(0, noise, n)))


def asked(before: tuple[float, float], after: tuple[float, float], noise: float = 0.01) -> Asked:
    """A side of the same centre before and after is left alone."""
    larger, smaller = (costs(centre, noise, seed=side) for side, centre in enumerate(before))
    changed = [
        None if centre == was else costs(centre, noise, seed=2 + side)
        for side, (was, centre) in enumerate(zip(before, after, strict=True))
    ]
    return Asked("a claim", "a set-up", "one over another", "a change", Sides(larger, smaller), Changed(*changed))


def test_a_side_that_is_left_alone_adds_no_noise_to_what_a_change_does() -> None:
    """The other side is as noisy as can be, and the same trials before and after."""
    wild, was, then = costs(1.0, noise=2.0), costs(2.0), costs(1.0, seed=5)
    (judged,) = ablation.ablations([Asked("", "", "", "", Sides(wild, was), Changed(None, then))])
    ratio = judged.effect.ratio
    assert ratio is not None
    assert ratio.high < 1.1 * ratio.low
    assert ratio.low < 2 < ratio.high
    assert judged.outcome == PART


def test_that_nothing_changes_is_seldom_reported_to_turn_a_comparison() -> None:
    """Of comparisons that are reversed in truth, and changed into themselves."""
    rng = np.random.default_rng(7)
    result = []
    for _ in range(200):
        sides = [pd.Series(centre * np.exp(rng.normal(0, 0.1, 6))) for centre in (1.0, 1.3, 1.0, 1.3)]
        (judged,) = ablation.ablations([Asked("", "", "", "", Sides(*sides[:2]), Changed(*sides[2:]))])
        result.append(judged.outcome)
    assert result.count(TURNS) <= 2
    assert sum(result.count(outcome) for outcome in (TURNS, PART, FURTHER)) <= 20


CONFIGURATIONS = tuple(
    ("java", layout, collector, runtime, None, Configuration.parse(f"java/{layout}/{collector}/{runtime}").label)
    for layout in ("heap", "native")
    for collector, runtime in (
        ("serial", 25), ("parallel", 25), ("g1", 25), ("genzgc", 25), ("shenandoah", 25), ("genshenandoah", 25),
        ("epsilon", 25), ("parallel", 11), ("cms", 11), ("g1", 11), ("zgc", 11), ("epsilon", 11),
    )
) + synthetic.CONFIGURATIONS[-2:]  # fmt: skip


def with_option(trials: pd.DataFrame, key: str, **facts: Any) -> pd.DataFrame:
    """Trials of the configuration of a key, as those of its plain one but for these facts of theirs."""
    configuration = Configuration.parse(key)
    plain = configuration.without(*OPTIONS).model_copy(update={"allocator": _plain(configuration)})
    rows = trials[trials["configuration"] == plain.label]
    options = {
        name: getattr(configuration, name) for name in ("pool_order", "payload_touch", "large_pages", "allocator")
    }
    return rows.assign(configuration=configuration.label, **options).assign(**facts)


def _plain(configuration: Configuration) -> str | None:
    return None if configuration.language == "java" else "glibc"


def centre(row: dict[str, Any]) -> float:
    """A pool on Shenandoah of today is dear for its size, one against G1 today whatever is done about it; a packet of
    C++ is cheap to allocate; without a collector Java's is not."""
    cost = {"dummy": 10.0, "alloc": 400.0, "mix": 100.0, "pool": 100.0}[row["strategy"]]
    if (row["strategy"], row["collector"], row["layout"], row["case"]) == ("pool", "shenandoah", "heap", "A"):
        return 1600.0
    if row["strategy"] != "alloc" and (row["collector"], row["runtime"], row["layout"]) == ("g1", 25, "native"):
        return 1600.0 if row["strategy"] == "pool" else 1590.0
    if row["collector"] == "epsilon" and row["strategy"] == "alloc":
        return 300.0
    if row["language"] == "cpp":
        return cost / 2
    return cost


@pytest.fixture(scope="module")
def trials() -> pd.DataFrame:
    plain = synthetic.trials(blocks=6, noise=0.01, centre=centre, configurations=CONFIGURATIONS)
    payload = [
        with_option(plain, f"java/{layout}/epsilon/{runtime}/payload", ns_per_packet=350.0)
        for layout in ("heap", "native")
        for runtime in (11, 25)
    ]
    cache = with_option(plain, "cpp/allocating/glibc_small_cache")
    cache = cache.assign(ns_per_packet=cache["ns_per_packet"] * 9)
    fresh = with_option(plain, "java/native/g1/25/fresh")
    return pd.concat([plain, *payload, cache, fresh], ignore_index=True)


@pytest.fixture(scope="module")
def judged(trials: pd.DataFrame) -> list[Ablation]:
    return of_batch.of_claims(trials, evaluate(trials))


def outcomes(judged: list[Ablation], claim: str, set_up: str, *words: str) -> dict[str, set[str]]:
    """By change: the outcomes over the comparisons with these words."""
    result: dict[str, set[str]] = {}
    for item in judged:
        of_these = item.asked.claim == CLAIMS[claim].text and item.asked.set_up == set_up
        if of_these and all(word in item.asked.comparison for word in words):
            result.setdefault(item.asked.changed, set()).add(item.outcome)
    return result


def test_a_known_cause_turns_a_batch_claim_and_others_do_not(judged: list[Ablation]) -> None:
    shenandoah = outcomes(judged, "pool-everywhere-batch", NOW, "heap / Shenandoah / 25")
    assert shenandoah["the pool is small"] == {TURNS}
    assert shenandoah["the collector has generations"] == {TURNS}
    assert shenandoah["nothing is ever collected (Epsilon)"] == {TURNS}
    g1 = outcomes(judged, "pool-everywhere-batch", NOW, "native / G1 / 25")
    assert g1["the pool is small"] == {NOT_THE_CAUSE}
    assert g1["the pool lies in the order in which it was made"] == {NOT_THE_CAUSE}
    assert g1["the collector is Serial"] == {TURNS}


def test_a_table_has_the_changes_that_have_a_figure(judged: list[Ablation]) -> None:
    table = ablation.table(judged)
    assert set(table["outcome"]) <= set(OUTCOMES) - {NOT_MEASURED}
    assert len(table) == sum(item.outcome != NOT_MEASURED for item in judged)
