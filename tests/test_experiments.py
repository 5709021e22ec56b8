"""What the instrument's own trials show: false differences of A/A controls, what goes with speed, iterations."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import synthetic

from allocpool.decisions import A_CHEAPER, B_CHEAPER
from allocpool.packets.specs import Configuration
from allocpool.studies.instrument import proof, story

FLAT = synthetic.CONFIGURATIONS[-1:]


def campaign(word: str, blocks: int = 8, noise: float = 0.05, centre: float = 100.0, seed: int = 2) -> pd.DataFrame:
    """Trials of one configuration, and of the same with an option."""
    usual = synthetic.trials(blocks, 0.05, 1, lambda _row: 100.0, FLAT, ("A",))
    other = synthetic.trials(blocks, noise, seed, lambda _row: centre, FLAT, ("A",))
    label = Configuration.parse(f"cpp/flat/{word}").label
    return pd.concat([usual, other.assign(control=word, configuration=label)], ignore_index=True)


def test_a_configuration_and_its_control_do_not_differ() -> None:
    found = story.controls(campaign("twin"))
    assert found["configuration"].unique().tolist() == ["C++ flat"]
    assert set(found["n"]) == {8}
    assert not set(found["verdict"]) & {A_CHEAPER, B_CHEAPER}


def test_a_judge_that_favours_one_side_of_a_control_is_caught() -> None:
    found = story.controls(campaign("twin", centre=150.0))
    assert set(found["verdict"]) == {B_CHEAPER}


def test_no_machine_on_record_finds_more_false_differences_than_the_stated_rate(data: Path) -> None:
    found = story.controls_of_hosts("standard")
    assert len(found) >= 4 and (found["pairs"] == 20).all()
    assert found["false"].sum() <= found["pairs"].sum() * proof.highest_allowed(found["pairs"].sum())


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
    (row,) = story.iterations_asked(trials, pd.DataFrame(rows)).to_dict("records")
    assert (row["iterations"], row["trials"]) == (25, 40)
    assert row["within"] == pytest.approx(0.10, rel=0.1)
    assert row["between"] == pytest.approx(0.02, rel=0.5)
    assert 12 < row["optimum"] < 50


@pytest.mark.parametrize(("slope", "explains"), [(1.0, True), (0.0, False)])
def test_pace_goes_with_costs_only_where_they_follow_it(slope: float, explains: bool) -> None:
    trials = synthetic.trials(blocks=5, cases=("A",), noise=0.05)
    pace = np.random.default_rng(3).normal(0, 0.1, len(trials))
    trials["compute_before_ns"] = trials["compute_after_ns"] = 2.0 * np.exp(pace)
    trials["ns_per_packet"] *= np.exp(slope * pace)
    found = story.traces(trials).set_index("trace")["p"]
    assert (found["pace of computing"] < 0.05) == explains
    assert story.traces(trials[trials["block"] == 0]).empty
