"""How noisy the machine is: what is recorded around a trial, what marks it, and what becomes of a marked one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from allocpool.campaign import campaign
from allocpool.evidence.trials import counted, disturbed_by, finished
from allocpool.packets.cells import cells
from allocpool.trial import noise
from allocpool.trial.jvm_logs import read_jit_log
from allocpool.trial.noise import Activity, Noise, Pace, PaceMeter, disturbance

LIMIT = 0.1
QUIET: dict[str, Any] = {
    "minor_faults": 0, "major_faults": 0, "voluntary_switches": 0, "involuntary_switches": 0,
    "steal_share": 0.0, "other_cpu_share": 0.0,
}  # fmt: skip
SETTINGS: dict[str, Any] = {
    "blocks": 1, "configurations": ["cpp/flat"], "strategies": ["alloc", "pool"], "cases": ["A"],
    "seconds": 0.05, "warmup_seconds": 0.0, "disturbed_beyond": LIMIT, "repeated_share": 1.0,
}  # fmt: skip


def pace(compute_ns: float) -> Pace:
    return Pace(compute_ns=compute_ns, latency_ns=100.0, bandwidth_gbs=10.0)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, None),
        ({"steal_share": None, "other_cpu_share": None}, None),
        ({"steal_share": 0.1, "other_cpu_share": 0.1}, None),
        ({"steal_share": 0.14}, "the hypervisor took 14% of the CPU time that was wanted"),
        ({"other_cpu_share": 0.5}, "other processes took 50% of the machine"),
        ({"before": pace(2.0), "after": pace(2.3)}, None),
        ({"before": pace(2.0), "after": pace(2.5)}, "the pace of computing changed by 25%"),
        ({"before": pace(2.5), "after": pace(2.0)}, "the pace of computing changed by 25%"),
        ({"before": pace(2.4), "after": pace(2.5), "usual_compute_ns": 2.0}, "computing took 20% longer than usual"),
        ({"before": pace(2.0), "after": pace(2.3), "usual_compute_ns": 2.0}, None),
        (
            {"steal_share": 0.2, "other_cpu_share": 0.3},
            "the hypervisor took 20% of the CPU time that was wanted; other processes took 30% of the machine",
        ),
    ],
)
def test_a_trial_is_disturbed_by_what_took_more_than_the_limit(changes: dict[str, Any], reason: str | None) -> None:
    around = Noise(**{**QUIET, **changes})
    assert disturbance(around, LIMIT) == reason
    assert disturbance(around, None) is None


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A machine whose pace is not told, and whose hypervisor takes, from one reading to the next, these shares in turn;
    nothing where the list is empty."""
    stolen: list[float] = []
    totals = {"total": 0.0, "steal": 0.0, "readings": 0.0}

    def reading() -> Activity:
        totals["readings"] += 1
        if totals["readings"] % 2 == 0:  # the end of a trial
            totals["total"] += 100.0
            totals["steal"] += 100.0 * (stolen.pop(0) if stolen else 0.0)
        return Activity(totals["total"], totals["total"] - totals["steal"], totals["steal"], None, None)

    monkeypatch.setattr(noise, "read_activity", reading)
    # All that is not stolen was the trial's own.
    monkeypatch.setattr(noise, "_other_share", lambda *_: 0.0)
    monkeypatch.setattr("allocpool.trial.launch.Launcher.pace_meter", lambda _self: PaceMeter(None))
    return stolen


def attempts(opened: campaign.Campaign) -> pd.DataFrame:
    trials = opened.tables()["trials"]
    return trials.sort_values(["trial_id"]).reset_index(drop=True)


def test_a_disturbed_trial_is_run_again_once_and_both_are_kept(data: Path, machine: list[float]) -> None:
    machine += [0.5]
    opened = campaign.open_study("batch", "smoke", SETTINGS)
    status = opened.run()
    assert (status.planned, status.finished, status.repeated, status.missing, status.failed) == (2, 2, 1, 0, 0)
    trials = attempts(opened)
    (again,) = trials[trials["attempt"] == 2].to_dict("records")
    (first,) = trials[trials["trial_id"] == again["trial_id"].removesuffix("-2")].to_dict("records")
    assert len(trials) == 3
    assert first["status"] == "disturbed"
    assert first["reason"] == f"{first['disturbed']}; trial {again['trial_id']} stands in for it"
    assert first["ns_per_packet"] > 0, "kept with its figure"
    assert again["status"] == "ok" and pd.isna(again["disturbed"])
    # Figures, failures and what was planned know each trial once.
    assert again["trial_id"] in set(finished(trials)["trial_id"]) and len(finished(trials)) == len(counted(trials)) == 2
    assert (cells(trials)["trials"] == 1).all()
    assert not disturbed_by(counted(trials)) and set(disturbed_by(trials).values()) == {1}
    assert opened.provenance()["statuses"] == {"ok": 2}
    # A second run has nothing left to do.
    before = {path: path.stat().st_mtime_ns for path in (data / "raw").glob("*/result.json")}
    assert campaign.open_study("batch", "smoke", SETTINGS).run().repeated == 1
    assert {path: path.stat().st_mtime_ns for path in (data / "raw").glob("*/result.json")} == before


def test_no_more_trials_are_run_again_than_the_profile_allows(data: Path, machine: list[float]) -> None:
    machine += [0.5] * 4
    opened = campaign.open_study("batch", "smoke", {**SETTINGS, "repeated_share": 0.5})
    assert opened.run().repeated == 1
    assert opened.run().repeated == 1, "a second run adds none"


def test_a_record_tells_what_went_on_around_its_trial(data: Path) -> None:
    settings = {
        **SETTINGS,
        "configurations": ["java/heap/serial/17"],
        "strategies": ["alloc"],
        "disturbed_beyond": None,
    }
    opened = campaign.open_study("batch", "smoke", settings)
    opened.run()
    (row,) = opened.tables()["trials"].to_dict("records")
    for column in ("compute", "latency"):
        assert row[f"{column}_before_ns"] > 0 and row[f"{column}_after_ns"] > 0
    assert row["bandwidth_before_gbs"] > 0 and row["bandwidth_after_gbs"] > 0
    assert row["minor_faults"] > 0 and row["voluntary_switches"] > 0
    assert 0 <= row["other_cpu_share"] <= 1
    assert row["compilations"] >= row["recompilations"] >= 0 and row["deoptimizations"] >= 0


JIT_LOG = """\
[100ns]    1       3       a.B::c (60 bytes)
[200ns]    2   !   4       a.B::c (60 bytes)
[205ns]    3 %     4       a.B::loop @ 12 (60 bytes)
[210ns]    1       3       a.B::c (60 bytes)   made not entrant
[220ns]    4     n 0       a.B::native ()I   (static)
[300ns]    5       4       a.B::c (60 bytes)
[310ns]    2   !   4       a.B::c (60 bytes)   made not entrant: uncommon trap
[400ns]    6       3       a.B::late (1 bytes)
"""


def test_the_log_of_the_compilers_is_counted_in_the_window(tmp_path: Path) -> None:
    log = tmp_path / "jit.log"
    assert read_jit_log(log, 0, 10) == {}
    log.write_text(JIT_LOG, encoding="utf-8")
    assert list(read_jit_log(log, 200, 400).values()) == [3, 1, 2, None]
    assert list(read_jit_log(log, 0, 1000).values()) == [5, 1, 2, None]
