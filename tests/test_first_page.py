"""The first page on made campaigns: the words turn with the data, the grid can be read, claims have addresses."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
import synthetic

from allocpool import findings
from allocpool.decisions import EFFECT
from allocpool.errors import UserError, unknown_choice
from allocpool.evidence import claims, tables
from allocpool.evidence.claims import AS_PUBLISHED, NOT_MEASURED, OPEN, OTHER_WAY, Claim, Evidence, Missing, evaluate

Configurations = tuple[tuple[object, ...], ...]
CONFIGURATIONS: Configurations = (
    ("java", "heap", "g1", 17, None, "heap / G1 / 17"),
    ("java", "heap", "g1", 25, None, "heap / G1 / 25"),
    ("java", "native", "g1", 25, None, "native / G1 / 25"),
    ("cpp", "flat", None, None, "glibc", "C++ flat"),
)


def measured(
    factor: float, monkeypatch: pytest.MonkeyPatch, noise: float = 0.01, configurations: Configurations = CONFIGURATIONS
) -> findings.Measured:
    """A campaign in which allocating costs so many times what a pool does, and nothing else was measured."""

    def centre(row: dict[str, object]) -> float:
        return 100.0 * (factor if row["strategy"] == "alloc" else 1.0)

    trials = synthetic.trials(blocks=9, noise=noise, centre=centre, configurations=configurations)
    found = findings.Measured("made-up")
    monkeypatch.setitem(vars(found), "batch", trials)
    return found


@pytest.mark.parametrize(
    ("batch", "realtime", "effects"),
    [
        ({"effect_that_matters": 1.25}, None, (1.25, 1.25)),
        ({"effect_that_matters": 1.25}, {"effect_that_matters": 1.5}, (1.25, 1.5)),
        ({}, {"effect_that_matters": 1.5}, (EFFECT, 1.5)),  # a campaign of before
        (None, None, (EFFECT, EFFECT)),
    ],
)
def test_each_study_is_judged_by_the_effect_of_its_own_campaign(
    batch: dict[str, float] | None, realtime: dict[str, float] | None, effects: tuple[float, float], data: Path
) -> None:
    for study, profile in (("batch", batch), ("realtime", realtime)):
        if profile is not None:
            folder = data / "tidy" / "made-up" / study
            folder.mkdir(parents=True)
            (folder / "provenance.json").write_text(json.dumps({"profile": profile}), encoding="utf-8")
    found = findings.Measured("made-up")
    assert (found.rule.effect, found.realtime_rule.effect) == effects


def claim(name: str, shown: str, ratio: float = 2.0) -> Claim[float]:
    """One whose only comparison is shown so."""
    ends = {"ratio": ratio, "low": ratio / 1.1, "high": ratio * 1.1, "trials": 5, "remark": ""}
    chances = {AS_PUBLISHED: (0.0, 1.0), OTHER_WAY: (1.0, 0.0)}.get(shown, (1.0, 1.0))
    row = {"larger": "alloc", "smaller": "pool", **ends, "p": chances[0], "p_against": chances[1], "shown": shown}
    return Claim(
        name, f"Text of {name}.", "a source", lambda _data: Evidence(pd.DataFrame([row])), lambda _rows: "Told."
    )


def test_claims_have_addresses_and_not_tested_is_not_open() -> None:
    some = [claim("d", NOT_MEASURED), claim("a", AS_PUBLISHED), claim("c", OPEN), claim("b", OTHER_WAY, 0.5)]
    part = tables.Judged(evaluate(some, 0.0), "02_batch", "Batch?")
    rows = tables.claim_rows([part])
    assert rows["verdict"].tolist() == [claims.NOT_TESTED, "reproduced", "inconclusive", "refuted"]
    assert rows["effect"].tolist()[1::2] == [2.0, 0.5]
    first_page = tables.claims_table([part], "Claims", whole=False).html
    own_page = tables.verdicts_table(part.verdicts).html
    for page, order in ((first_page, "abcd"), (own_page, "dacb")):  # what is decided first, or as the source tells
        assert re.findall(r'<tr id="claim-([^"]*)"', page) == list(order)
    assert 'href="02_batch.ipynb#claim-b"' in first_page and "<details>" not in first_page


@pytest.mark.parametrize(
    ("reasons", "word"),
    [
        (["this machine has 2 processors"], claims.CANNOT), ([], claims.NOT_TESTED),
        (["this machine has 2 processors", "not part of this campaign"], claims.NOT_TESTED),
    ],
)  # fmt: skip
def test_a_claim_that_the_machine_can_not_test_is_reported_from_one_that_the_campaign_left_out(
    reasons: list[str], word: str
) -> None:
    missing = tuple(Missing("a machine of many processors", why) for why in reasons)
    found = Evidence(pd.DataFrame({"shown": [NOT_MEASURED]}), missing)
    assert claims.judge(replace(claim("a", NOT_MEASURED), evidence=lambda _: found), 0.0).outcome == word


def test_a_refusal_renders_itself_in_one_line() -> None:
    error: UserError = unknown_choice("profile", "enormous", ["smoke", "quick"])
    assert error._render_traceback_() == ["UserError: unknown profile 'enormous': choose one of smoke, quick"]
