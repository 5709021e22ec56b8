"""What a campaign can decide on a noisy machine."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from allocpool.campaign import campaign
from allocpool.campaign.registry import every_study
from allocpool.decisions import B_CHEAPER, FEWEST, decide
from allocpool.studies.instrument import outlook as module
from allocpool.studies.instrument.outlook import Outlook, outlook, smallest_effect
from allocpool.trial.noise import Calm

QUIET = Calm(spread={"compute_ns": 0.01}, steal_share=0.0, other_cpu_share=0.02, disturbed=None, seconds=2.0)


def of(calm: Calm = QUIET, effect: float | None = 0.15) -> Outlook:
    return Outlook(
        calm=calm, profile="quick", minutes=20.0, trials=6, spread=0.08, cells=40, smallest_effect=effect,
        effect_that_matters=1.25,
    )  # fmt: skip


def test_smaller_effects_take_more_trials_and_less_noise() -> None:
    assert smallest_effect(0.1, FEWEST - 1) is None
    effects = [smallest_effect(0.1, trials) or 0.0 for trials in (5, 6, 10, 50)]
    assert effects == sorted(effects, reverse=True)
    assert smallest_effect(0.1, 7) == smallest_effect(0.1, 6), "trials after the latest look wait for the next one"
    assert (smallest_effect(0.2, 17) or 0.0) > (smallest_effect(0.1, 17) or 0.0)


def test_an_effect_that_is_called_smallest_is_decided_in_about_80_percent() -> None:
    rng = np.random.default_rng(3)
    larger = 1 + (smallest_effect(0.1, 8) or 0.0)
    sides = np.exp(0.1 * rng.standard_normal((2, 300, 8)))
    shown = sum(decide(larger * a, b, effect=1.001).verdict == B_CHEAPER for a, b in zip(*sides, strict=True))
    assert 0.7 * 300 < shown < 0.9 * 300


@pytest.mark.long
def test_the_outlook_follows_from_plans_and_from_what_was_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "look", lambda _meter, _seconds: QUIET)
    planned = outlook("standard")
    part = outlook("standard", 0.6 * planned.minutes)
    assert planned.trials == 5, "as many as the profile has blocks"
    assert part.trials == 3 and part.smallest_effect is None
    assert planned.cells > 0 and planned.spread is not None and (planned.smallest_effect or 0.0) > 0


@pytest.mark.parametrize("profile", ["standard", "article"])
@pytest.mark.parametrize("study", [study.name for study in every_study()])
def test_a_long_profile_takes_the_trials_that_a_verdict_needs(study: str, profile: str) -> None:
    opened = campaign.open_study(study, profile)
    anywhere = {"block": 0, "interval_ns": None}  # adaptive trials are placed at other intervals
    planned = Counter(spec.model_copy(update=anywhere) for spec in opened.first_round_specs())
    cells = {(cell.model_copy(update=anywhere), q.fewest) for q in opened.questions if q.primary for cell in q.cells}
    short = {cell for cell, fewest in cells if planned[cell] < fewest}
    assert opened.is_sequential or short == set()
