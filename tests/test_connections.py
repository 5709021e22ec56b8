"""Slopes, their parts and the published claims about buffered I/O, on figures that are known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats as scipy_stats

from allocpool.campaign import campaign, profiles
from allocpool.campaign.tidy import frame
from allocpool.evidence import claims
from allocpool.evidence.claims import MIXED, NOT_TESTED, REFUTED, REPRODUCED
from allocpool.studies.buffered_io import claims as echo_claims
from allocpool.studies.buffered_io import connections
from allocpool.studies.buffered_io.child import footprint
from allocpool.studies.buffered_io.specs import Variant
from allocpool.studies.buffered_io.tables import PARTS_TABLE, TRIALS

MB = 2**20
PUBLISHED = ("buffered_reader:256", "buffered_reader:512", "buffered_reader:4096", "buffered_reader:8192",
             "buffered_reader:16384", "buffered_stream:512", "buffered_stream:8192", "stream")  # fmt: skip
IDLE_BYTES = 642e6 / 30_000


def trials_of(
    costs: dict[str, tuple[float, float]], blocks: int = 5, noise: float = 0.001, message_bytes: int = 512
) -> pd.DataFrame:
    """Trials of variants given as key: (bytes per connection, CPU microseconds per message), at three numbers.

    A neighbour pays more the more a connection takes; threads that wait take what the source states.
    """
    random = np.random.default_rng(7)
    rows: list[dict[str, Any]] = []
    for key, (each, cpu_us) in costs.items():
        variant = Variant.parse(key)
        for block in range(blocks):
            for number in (1000, 2000, 4000):
                row: dict[str, Any] = dict.fromkeys(TRIALS.columns)
                wobble = 1 + noise * random.standard_normal()
                memory_mb = 80 + number * each * wobble / MB
                idle_mb = 80 + number * IDLE_BYTES * wobble / MB if variant.threads == "platform" else None
                row |= {
                    "trial_id": f"{key}-{block}-{number}", "mode": "echo", "block": block, "status": "ok",
                    "wall_s": 1.0, "cpu_s": 1.0, "load_before": 0.0, "started_utc": "2026-01-01", "code_hash": "c",
                    "host_id": "h", "attempt": 1, "server": variant.server, "io": variant.io,
                    "variant": f"{variant.label} {message_bytes}" if message_bytes != 512 else variant.label,
                    "buffer": variant.buffer, "threads": variant.threads, "runtime": variant.runtime,
                    "connections": number, "rate": float(number), "message_bytes": message_bytes, "seconds": 1.0,
                    "rss_mb": memory_mb, "collected_rss_mb": memory_mb, "cpu_us_per_message": cpu_us * wobble,
                    "messages_per_second": float(number), "due": number, "errors": 0, "behind": 0,
                    "idle_rss_mb": idle_mb, "neighbour_line_ns": (5 + each / 1e4) * wobble,
                    "neighbour_again_ns": 5.0 * wobble,
                    "arrived_p99_us": 50.0, "latency_p50_us": 60.0,
                    "latency_p99_us": 100.0, "latency_max_us": 900.0, "cpu_percent_median": 5.0,
                    "cpu_percent_mean": 5.0,
                }  # fmt: skip
                rows.append(row)
    return frame(rows, TRIALS)


def parts_of(trials: pd.DataFrame, each: dict[str, float]) -> pd.DataFrame:
    """The same bytes per connection and part for every trial."""
    rows = [
        {"trial_id": row["trial_id"], "part": part, "bytes": round(5 * MB + row["connections"] * size)}
        for row in trials.to_dict("records")
        for part, size in each.items()
    ]
    return frame(rows, PARTS_TABLE)


def published_trials() -> pd.DataFrame:
    """Trials whose slopes are the published memory over 30,000 connections, and whose CPU is the published median."""
    table = connections.published().dropna()
    keys = [f"java/{way}/platform/25" for way in PUBLISHED]
    costs = {
        key: (row["memory_mb"] * 1e6 / 30_000, row["median_cpu_percent"])
        for key, row in zip(keys, table.to_dict("records"), strict=True)
    }
    return trials_of({**costs, "cpp/threads": (300e6 / 30_000, 10.0)})


def points(*blocks: dict[int, float]) -> pd.DataFrame:
    """Trials by block: MiB by number of connections."""
    rows = [
        {"variant": "any", "block": block, "connections": number, "rss_mb": memory_mb}
        for block, memory in enumerate(blocks)
        for number, memory_mb in memory.items()
    ]
    return pd.DataFrame(rows)


BLOCKS = (
    {500: 61.0, 1000: 69.0, 2000: 92.0, 4000: 128.0},
    {500: 60.0, 1000: 70.0, 2000: 90.0, 4000: 133.0},
    {500: 62.0, 1000: 68.0, 2000: 91.0, 4000: 125.0},
)


def test_each_block_gives_a_slope_and_students_interval_is_over_blocks() -> None:
    lines = connections.slopes(points(*BLOCKS))
    found = connections.over_blocks(lines).iloc[0]
    fits = [scipy_stats.linregress(list(block), list(block.values())) for block in BLOCKS]
    slopes = np.array([fit.slope * MB for fit in fits])
    low, high = scipy_stats.ttest_1samp(slopes, 0).confidence_interval(0.95)
    assert list(found[["mean", "low", "high", "n"]]) == pytest.approx([slopes.mean(), low, high, 3])
    assert list(lines["fixed_mb"]) == pytest.approx([fit.intercept for fit in fits])


def test_the_interval_of_a_slope_holds_the_truth_where_noise_grows_with_connections() -> None:
    random, held = np.random.default_rng(11), 0
    numbers = np.array([500.0, 1000.0, 2000.0, 4000.0])
    for _ in range(400):
        blocks = [80 + numbers * 0.05 * (1 + 0.1 * random.standard_normal(4)) for _ in range(3)]
        lines = connections.slopes(points(*(dict(zip(numbers, block, strict=True)) for block in blocks)))
        found = connections.over_blocks(lines).iloc[0]
        held += found["low"] <= 0.05 * MB <= found["high"]
    assert held >= 368  # of 400 at 95%: fewer are as unlikely as one in a hundred


@pytest.mark.parametrize(
    ("stack", "noise", "adds_up"),
    [(60_000.0, 0.001, "yes"), (65_000.0, 0.001, "yes"), (30_000.0, 0.001, "no"), (40_000.0, 0.9, "inconclusive")],
)
def test_parts_add_up_to_the_slope_or_it_is_said(stack: float, noise: float, adds_up: str) -> None:
    trials = trials_of({"java/stream/platform/25": (70_000, 20)}, noise=noise)
    found = connections.memory_table(trials, parts_of(trials, {"stack": stack, "socket": 10_000.0}))
    assert list(found["adds up"]) == [adds_up]
    assert found["parts"].iloc[0] == pytest.approx(stack + 10_000, rel=1e-3)


def outcomes(trials: pd.DataFrame, set_up: str = echo_claims.NOW) -> dict[str, str]:
    profiles = trials[(trials["buffer"] == 8192) & (trials["connections"] == 4000)]
    profiles = profiles.assign(samples=1000, in_read=820 + profiles["block"])
    verdicts = echo_claims.of_campaign({"trials": trials, "profiles": profiles})
    return {verdict.claim.id: verdict.outcome for verdict in verdicts if verdict.set_up == set_up}


UNPUBLISHED = ("memory-evicts", "best-size-is-the-messages", "size-observed-beats-fixed")
DENIED = {"default-is-the-dearest": "denied in 1 of 8", "two-byte-chars": "denied in 1 of 1"}


def test_what_the_published_figures_say_of_each_claim_is_reported_and_measured_alike() -> None:
    for claim in echo_claims.ECHO_CLAIMS:
        says = claims.published_says(claim) or ""
        if claim.id in UNPUBLISHED:
            pass
        else:
            assert says == DENIED.get(claim.id) or says.startswith("borne out"), (claim.id, says)
    found = outcomes(published_trials())
    assert {name: outcome for name, outcome in found.items() if outcome in (REFUTED, MIXED)} == {
        "default-is-the-dearest": MIXED, "two-byte-chars": REFUTED,
    }  # fmt: skip
    assert {found.pop(name) for name in UNPUBLISHED[1:]} == {NOT_TESTED}
    assert {outcome for name, outcome in found.items() if name not in DENIED} == {REPRODUCED}
    assert set(outcomes(published_trials(), echo_claims.THEN).values()) == {NOT_TESTED}


@pytest.mark.parametrize("io", ["threads", "stream"])
def test_what_java_costs_is_judged_though_one_way_served_more_connections(io: str) -> None:
    trials = published_trials()
    farther = trials[(trials["io"] == io) & (trials["connections"] == 4000)]
    farther = farther.assign(connections=8000, rss_mb=2 * farther["rss_mb"], trial_id=farther["trial_id"] + "-more")
    of_cpu = ("message-sized-buffer-cheapest-in-cpu", "plain-streams-cost-cpu", "buffered-streams-cost-cpu")
    found = outcomes(pd.concat([trials, farther], ignore_index=True))
    assert {found[name] for name in of_cpu} == {REPRODUCED}


def test_a_size_observed_is_judged_against_fixed_ones_of_both_messages() -> None:
    observed = {"java/observed_reader/platform/25": (60_000.0, 40.0)}
    fixed = {f"java/buffered_reader:{size}/platform/25": (70_000.0, 60.0) for size in (512, 8192)}
    trials = [published_trials(), trials_of(observed), trials_of({**observed, **fixed}, message_bytes=2048)]
    assert outcomes(pd.concat(trials, ignore_index=True))["size-observed-beats-fixed"] == REPRODUCED


def test_a_histogram_is_divided_by_what_its_classes_are_part_of() -> None:
    histogram = """ num     #instances         #bytes  class name (module)
-------------------------------------------------------
   1:          2000       33000000  [C (java.base@25)
   2:          4000       10000000  [B (java.base@25)
   3:          1000        4112000  [Ljava.nio.ByteBuffer; (java.base@25)
   4:          1000          96000  sun.nio.ch.NioSocketImpl (java.base@25)
   5:          1000          48000  sun.nio.cs.StreamDecoder (java.base@25)
   6:          1000          88000  java.lang.Thread (java.base@25)
   7:          1000           1000  [[B (java.base@25)
   8:             9           7000  jdk.internal.vm.StackChunk (java.base@25)
Total         10009       47352000
"""
    found = footprint.heap_by_kind(histogram, "codec")
    assert found == {
        "char_buffer": 33_000_000, "codec": 10_048_000, "socket": 4_208_000, "thread": 88_000, "stack": 7000,
        "byte_buffer": 0, "other": 1000,
    }  # fmt: skip
    assert footprint.heap_by_kind(histogram, "byte_buffer")["byte_buffer"] == 10_000_000


@pytest.mark.parametrize("profile", profiles.names())
def test_every_profile_plans_each_configuration_once_a_block(profile: str) -> None:
    opened = campaign.open_study("buffered_io", profile)
    specs = [item.spec for item in opened.plan()]
    assert len(set(specs)) == len(specs)
    assert opened.plan() == opened.plan()
    assert {spec.block for spec in specs} == set(range(opened.profile.blocks))
