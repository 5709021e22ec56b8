"""A profile may ask for the newest release of Java that the machine has."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_runtimes import fake_jdk

from allocpool.campaign import campaign
from allocpool.runtimes.discovery import newest_runtime


@pytest.fixture(autouse=True)
def _a_newer_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALLOCPOOL_JDKS", str(fake_jdk(tmp_path / "jdk", 28)))


def configurations(*asked: str) -> list[str]:
    opened = campaign.open_study("batch", "smoke", {"configurations": list(asked)})
    return list(opened.profile.model_dump()["configurations"])


def test_it_is_the_number_of_the_newest_release_that_is_here() -> None:
    assert newest_runtime().feature == 28
    assert configurations("java/heap/g1/newest", "java/heap/g1/newest/compact_headers") == [
        "java/heap/g1/28",
        "java/heap/g1/28/compact_headers",
    ]


def test_what_it_comes_to_is_asked_for_once() -> None:
    assert configurations("java/heap/g1/28", "java/heap/g1/newest", "java/heap/g1/25") == [
        "java/heap/g1/28",
        "java/heap/g1/25",
    ]


def test_a_study_whose_configurations_are_a_collector_and_a_release_takes_it_too() -> None:
    opened = campaign.open_study("stream", "smoke", {})
    groups = opened.profile.model_dump()["groups"]
    name = next(iter(groups))
    asked = campaign.open_study("stream", "smoke", {f"groups.{name}.configurations": ["genzgc/newest"]})
    assert list(asked.profile.model_dump()["groups"][name]["configurations"]) == ["genzgc/28"]


def test_a_plan_has_trials_on_it() -> None:
    opened = campaign.open_study("batch", "smoke", {"configurations": ["java/heap/g1/newest"]})
    assert {item.spec.model_dump().get("runtime") for item in opened.plan()} >= {28}
