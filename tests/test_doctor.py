"""The doctor reports what runs here, what is missing, and by its exit status whether the essentials are there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from allocpool.doctor import doctor_command
from allocpool.machine.allocators import ALLOCATORS
from allocpool.runtimes.collectors import COLLECTORS, FEATURES
from allocpool.runtimes.discovery import known_releases


@pytest.fixture(autouse=True)
def _a_short_look(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("allocpool.studies.instrument.outlook.LOOK_S", 0.1)


def test_the_diagnosis_holds_every_runtime_with_every_collector() -> None:
    result = CliRunner().invoke(doctor_command, ["--json"])
    assert result.exit_code == 0, result.output
    diagnosis = json.loads(result.output)
    assert diagnosis["ready"] is True
    states = {
        (runtime["feature"], cell["collector"]): cell["state"]
        for runtime in diagnosis["runtimes"]
        for cell in runtime["collectors"]
    }
    assert states == {
        (feature, name): "runs" if COLLECTORS[name].is_on(feature) else "absent"
        for feature in known_releases()
        for name in COLLECTORS
    }
    assert diagnosis["host"]["logical_cores"] >= 1
    assert diagnosis["outlook"]["trials"] >= 1 and diagnosis["outlook"]["cells"] > 0
    assert {part["name"] for part in diagnosis["allocators"]} == {*ALLOCATORS, "boost_pool"}


def test_a_missing_essential_is_reported_and_ends_with_1(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    result = CliRunner().invoke(doctor_command)
    assert result.exit_code == 1
    assert "mvn is missing (3.6 or newer): install maven" in result.output
    assert "its pace is not known before the build" in result.output
    assert "not ready: essentials are missing" in result.output
    assert all(f"install {package}" in result.output for package in ("g++", "cmake"))


def test_a_runtime_that_does_not_work_is_reported_beside_those_that_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALLOCPOOL_JDK_21", str(tmp_path))
    result = CliRunner().invoke(doctor_command, ["--json"])
    assert result.exit_code == 0
    runtimes = {runtime["feature"]: runtime for runtime in json.loads(result.output)["runtimes"]}
    assert "ALLOCPOOL_JDK_21" in runtimes[21]["problem"]
    assert [feature for feature in FEATURES if runtimes[feature]["problem"] is None] == [11, 17, 25]
    assert "is no Java home: there is no bin/java in it" in CliRunner().invoke(doctor_command).output
