"""What the instrument's own trials show: false differences between twins, explained spreads, two sides of a trial."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest
import synthetic

from allocpool.decisions import A_CHEAPER, B_CHEAPER, OPEN
from allocpool.errors import UserError
from allocpool.machine import personality
from allocpool.packets.specs import Configuration, PacketsSpec
from allocpool.studies.batch.claims import evaluate
from allocpool.studies.instrument import experiments, speeds, story
from allocpool.studies.instrument.specs import SIDES

FLAT = synthetic.CONFIGURATIONS[-1:]


def campaign(word: str, blocks: int = 8, noise: float = 0.05, centre: float = 100.0, seed: int = 2) -> pd.DataFrame:
    """Trials of one configuration, and of the same with an option."""
    usual = synthetic.trials(blocks, 0.05, 1, lambda _row: 100.0, FLAT, ("A",))
    other = synthetic.trials(blocks, noise, seed, lambda _row: centre, FLAT, ("A",))
    label = Configuration.parse(f"cpp/flat/{word}").label
    return pd.concat([usual, other.assign(control=word, configuration=label)], ignore_index=True)


def test_a_configuration_and_its_twin_are_not_told_apart() -> None:
    found = experiments.twins(campaign("twin"))
    assert found["configuration"].unique().tolist() == ["C++ flat"]
    assert set(found["n"]) == {8}
    assert not set(found["verdict"]) & {A_CHEAPER, B_CHEAPER}


def test_a_judge_that_favours_one_of_two_twins_is_caught() -> None:
    found = experiments.twins(campaign("twin", centre=150.0))
    assert set(found["verdict"]) == {B_CHEAPER}


def test_too_few_twins_decide_nothing() -> None:
    few = experiments.twins(campaign("twin", blocks=2))
    assert set(few["verdict"]) == {OPEN}
    assert "nothing is decided" in experiments.twins_sentence(few)


def test_on_campaigns_in_which_all_cells_are_equal_hardly_a_claim_is_judged() -> None:
    verdicts = evaluate(synthetic.trials(5, 0.15, 1, lambda _row: 100.0, cases=("A", "B")))
    false = [verdict.claim.id for verdict in verdicts if verdict.outcome != OPEN]
    assert len(false) <= 0.05 * len(verdicts), false


def test_a_cause_that_is_held_fixed_and_takes_the_spread_with_it_is_named() -> None:
    trials = campaign("fixed_addresses", blocks=12, noise=0.001)
    table = experiments.causes(trials)
    assert set(table["held"]) == {experiments.CAUSES["fixed_addresses"]}
    assert (table["p"] < 0.05).all()
    assert experiments.causes(experiments.usual(trials)).empty


def test_two_speeds_that_are_gone_with_a_cause_are_told() -> None:
    trials = campaign("fixed_addresses", blocks=12, noise=0.02)
    slow = trials["control"].isna() & (trials["block"] % 3 == 0) & (trials["strategy"] == "alloc")
    trials.loc[slow, "ns_per_packet"] *= 4
    hidden = experiments.hidden(trials)
    assert hidden["remark"].str.startswith("two speeds").tolist() == [True]
    assert (hidden["trimmed_ns"] < hidden["mean_ns"]).all()


def test_neighbours_are_a_cause_like_others() -> None:
    trials = synthetic.trials(12, 0.05, 1, lambda _row: 100.0, FLAT, ("A",))
    rng = np.random.default_rng(1)
    pace = np.exp(0.3 * rng.standard_normal(len(trials)))
    for kind in ("compute_{}_ns", "latency_{}_ns", "bandwidth_{}_gbs"):
        for when in ("before", "after"):
            trials[kind.format(when)] = np.exp(0.1 * rng.standard_normal(len(trials)))
    trials["compute_before_ns"] = trials["compute_after_ns"] = pace
    trials["ns_per_packet"] = trials["ns_per_packet"] * pace
    fit = story.pace_fit(trials)
    assert fit is not None
    assert fit.held < 0.08 < 0.2 < fit.free
    row = experiments.causes(trials, fit).iloc[-1]
    assert (row["cell"], row["held"]) == (experiments.ALL_CELLS, experiments.NEIGHBOURS)


def both_sides(bridge_ns: float = 100.0, called: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    rows = [
        {"status": "ok", "configuration": "heap / G1 / 25", "seed": 1, "side": side, "block": block, "counted": "1 2",
         "checksum": "ab", "ns_per_packet": (bridge_ns if side == "bridge" else 100.0) * math.exp(rng.normal(0, 0.02)),
         "jvm_thread_ms": 50.0 + block, "kernel_thread_ms": 50.0 + block, "jvm_process_ms": 60.0,
         "kernel_process_ms": 61.0, "explicit_collections": called if side == "bridge" else 0, "log_pauses": 9,
         "log_pause_ms": 3.0, "recorder_pauses": 9 if side == "recorded" else None, "recorder_pause_ms": 3.0}
        for block in range(10)
        for side in SIDES
    ]  # fmt: skip
    return pd.DataFrame(rows)


def test_a_bridge_that_costs_something_or_collects_is_caught() -> None:
    dear = experiments.witnesses_sentence(both_sides(150.0, called=1))
    assert "1.5" in dear
    other = both_sides()
    other.loc[0, "checksum"] = "cd"
    assert experiments.witnesses(other).set_index("what").loc["counts and checksum", "found"] == "differ"


def test_iterations_follow_what_varies_and_what_it_costs() -> None:
    """With trials that cost 25 iterations, and differ by a fifth of what iterations do, the best number is 25."""
    trials = synthetic.trials(40, 0.0, 1, lambda _row: 100.0, FLAT, ("A",))
    trials = trials[trials["strategy"] == "alloc"].assign(wall_s=50 * 0.01)
    rng = np.random.default_rng(3)
    rows = []
    for name in trials["trial_id"]:
        centre = rng.normal(0, 0.02)
        for place in range(26):
            ns = 100.0 * math.exp(centre + rng.normal(0, 0.10))
            rows.append({"trial_id": name, "iteration": place, "phase": "measured", "start_ns": place * 10_000_000,
                         "end_ns": (place + 1) * 10_000_000, "ns_per_packet": ns})  # fmt: skip
    (row,) = experiments.iterations_asked(trials, pd.DataFrame(rows)).to_dict("records")
    assert (row["iterations"], row["trials"]) == (25, 40)
    assert row["within"] == pytest.approx(0.10, rel=0.1)
    assert row["between"] == pytest.approx(0.02, rel=0.5)
    assert 12 < row["optimum"] < 50


def test_what_holds_a_cause_fixed_is_a_part_of_the_configuration() -> None:
    def spec(text: str) -> PacketsSpec:
        return PacketsSpec(mode="x", strategy="alloc", **Configuration.parse(text).model_dump(exclude_none=True))

    jvms = {word: spec(f"java/heap/g1/25/{word}").needs().jvm for word in ("twin", "foreground", "c1_only")}
    options = {word: jvm.options for word, jvm in jvms.items() if jvm}
    assert options == {"twin": (), "foreground": ("foreground",), "c1_only": ("c1_only",)}
    assert spec("cpp/flat/fixed_addresses").needs().environment == {personality.FIXED_ADDRESSES: "1"}
    assert spec("cpp/flat/twin").needs() == spec("cpp/flat").needs()
    with pytest.raises(UserError, match="two options of one kind"):
        Configuration.parse("java/heap/g1/25/twin/c1_only")
    with pytest.raises(UserError, match="unknown option"):
        Configuration.parse("cpp/flat/glibc/c1_only")


def test_addresses_are_fixed_where_the_system_lets_them_be() -> None:
    program = (
        "import ctypes, sys; from allocpool.machine.personality import start_again_at_fixed_addresses as again;"
        "again([sys.executable, *sys.orig_argv[1:]]); print(ctypes.addressof(ctypes.c_int.in_dll(ctypes.pythonapi,"
        " 'Py_NoUserSiteDirectory')))"
    )
    environment = {**os.environ, personality.FIXED_ADDRESSES: "1"}
    runs = [
        subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
        for _ in range(2)
    ]
    if personality.addresses_can_be_fixed():
        assert runs[0].returncode == 0, runs[0].stderr
        assert runs[0].stdout == runs[1].stdout
    else:
        pass


def noted(**notes: Sequence[Any]) -> pd.DataFrame:
    """Trials of C++ flat, case A, strategy pool, with what was recorded around them."""
    trials = campaign("twin")
    cell = trials[(trials["strategy"] == "pool") & trials["control"].isna()].sort_values("ns_per_packet")
    return cell.assign(**notes)


def test_what_goes_with_slow_trials_is_named_and_what_does_not_is_not() -> None:
    many = [
        noted(steal_share=list(np.linspace(0, 0.2, 8)), minor_faults=[1, 2, 3, 4, 4, 3, 2, 1]).assign(case=case)
        for case in ("A", "B", "C")
    ]
    table = speeds.traces(pd.concat(many, ignore_index=True)).set_index("trace")
    assert float(table["correlation"]["taken by the hypervisor"]) == pytest.approx(1.0)
    assert float(table["p"]["page faults"]) > 0.05
    assert speeds.traces(many[0]).empty, "of so few trials nothing is told"


@pytest.mark.parametrize(("slow_states", "shared"), [(["b", "c"], 0), (["a", "c"], 1)])
def test_fast_and_slow_trials_are_told_apart_by_the_compilers_logs(slow_states: list[str], shared: int) -> None:
    cell = noted(compiled_state=["a"] * 4 + slow_states * 2, deoptimizations=[0] * 4 + [9] * 4)
    cell["ns_per_packet"] = [100.0, 101, 102, 103, 300, 301, 302, 303]
    table = speeds.fast_against_slow(cell)
    assert table["speed"].tolist() == ["fast", "slow"] and table["n"].tolist() == [4, 4]
    assert table["compiled code given up while measuring"].tolist() == [0, 9]
    assert table["compiled_states"].tolist() == [1, 2]
    assert table["shared_states"].tolist() == [shared] * 2
    cell["ns_per_packet"] = 100.0
