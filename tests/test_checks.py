"""The instrument's examination of itself: it must see what is wrong, and see nothing where nothing is."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
import synthetic

from allocpool.errors import UserError
from allocpool.studies.instrument import story as checks
from allocpool.studies.instrument.study import InstrumentProfile

PROVENANCE = {"profile": {"contract_case": "B"}}


@pytest.fixture
def contract() -> pd.DataFrame:
    trials = synthetic.trials(blocks=1, cases=("A", "B"))
    return checks.contract_trials(trials[trials["strategy"] != "dummy"], PROVENANCE)


def test_equal_work_has_one_outcome(contract: pd.DataFrame) -> None:
    assert checks.contract_faults(contract) == []
    table = checks.contract_table(contract)
    assert table["trials"].to_list() == [len(contract)]


@pytest.mark.parametrize(
    ("column", "value"), [("checksum", "ffffffffffffffff"), ("received", 5), ("tcp", 1), ("evicted", 7)]
)
def test_other_work_is_found_and_named(contract: pd.DataFrame, column: str, value: Any) -> None:
    odd = contract.index[contract["configuration"] == "C++ flat"][0]
    contract.loc[odd, column] = value
    (_fault,) = checks.contract_faults(contract)
    assert len(checks.contract_table(contract)) == 2
    assert "broken" in checks.contract_sentence(contract)


def instrument(**settings: Any) -> InstrumentProfile:
    given: dict[str, Any] = {
        "profile": "test", "blocks": 3, "scale": 0.01, "seconds": 0.1, "warmup_seconds": 0.1,
        "contract_packets": 100_000, "configurations": ["java/heap/g1/25", "java/heap/epsilon/25", "cpp/flat"],
    }  # fmt: skip
    return InstrumentProfile(**{**given, **settings})


@pytest.mark.parametrize(
    ("settings", "words"),
    [({"contract_packets": 100}, "never fill the store"), ({"contract_case": "A"}, "among the timed cases")],
)
def test_a_contract_that_shows_nothing_is_refused(settings: dict[str, object], words: str) -> None:
    with pytest.raises((ValueError, UserError), match=words):
        instrument(**settings)
