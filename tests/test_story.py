"""The whole way on a small scale: real trials, notebooks through papermill, then the site. Of one study with two
notebooks, and in the second tier of every study."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from compilers import leave_out_the_second
from listening import watched

from allocpool import home
from allocpool.campaign import campaign, single, store
from allocpool.campaign.registry import every_study, modes
from allocpool.packets import by_size
from allocpool.site import render, require_whole
from allocpool.trial.spec import TrialSpec

RAN: set[str] = set()
"""The modes of the trials that ran, and what listened during them."""
LISTENED: dict[str, str] = {}
MEASURED: dict[str, int] = {}
"""The records that there were before any notebook ran, with when each was written."""
NOT_IN_SMOKE = (
    "mode=jmh technique=byte_array runtime=25 collector=g1 bytes=1024 seconds=0.1",
    "mode=threads_sharing topology=pipeline threads=1 strategy=owner packets=2000",
)


def further_of_its_kind() -> Callable[[TrialSpec], bool]:
    """Whether a trial is not the first of its mode, runtime and collector that was asked about."""
    first: dict[tuple[object, ...], TrialSpec] = {}

    def asked(spec: TrialSpec) -> bool:
        kind = tuple(getattr(spec, name, None) for name in ("mode", "runtime", "collector"))
        return first.setdefault(kind, spec) != spec

    return asked


@pytest.fixture(scope="module")
def smoke(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the smoke campaign's data, executed notebooks and site."""
    root = tmp_path_factory.mktemp("story")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ALLOCPOOL_DATA", str(root / "data"))
        leave_out_the_second(patch, further_of_its_kind())
        with watched() as seen:
            for opened in campaign.all_of_profile("smoke"):
                opened.run()
                RAN.update(str(record.spec["mode"]) for record in opened.records())
            for words in NOT_IN_SMOKE:
                RAN.add(str(single.run_single(single.parse_spec(words.split())).spec["mode"]))
        LISTENED.update(seen)
        MEASURED.update(results(root))
        render("smoke", root, jobs=2)
    return root


def papermill(root: Path, notebook: str, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "papermill", f"notebooks/{notebook}.ipynb", str(root / f"{notebook}-again.ipynb")]
    config = f"papermill-configs/smoke/{notebook}.yaml"
    environment = {**os.environ, "ALLOCPOOL_DATA": str(root / "data")}
    return subprocess.run(
        [*command, "-f", config, *options],
        cwd=home.home(), env=environment, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip


def page(root: Path, name: str) -> BeautifulSoup:
    return BeautifulSoup((root / "site" / "smoke" / f"{name}.html").read_text(encoding="utf-8"), "html.parser")


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same of the study of batches and the findings alone."""
    root = tmp_path_factory.mktemp("one")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ALLOCPOOL_DATA", str(root / "data"))
        leave_out_the_second(patch)
        campaign.open_study("batch", "smoke").run()
        render("smoke", root, jobs=2, show_only=True)
    return root


def results(root: Path) -> dict[str, int]:
    return {path.parent.name: path.stat().st_mtime_ns for path in (root / "data" / "raw").glob("*/result.json")}


def test_two_notebooks_of_one_study_reach_their_end_and_show_its_trials(
    one: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    require_whole(one / "executed" / "smoke")
    assert page(one, "02_batch").select_one(".campaign-banner.failed, .campaign-banner.partial") is None
    monkeypatch.setenv("ALLOCPOOL_DATA", str(one / "data"))
    trials = store.read_tables("batch", "smoke")[0]["trials"]
    assert set(trials["status"]) == {"ok"} and (trials["ns_per_packet"] > 0).all()
    table = page(one, "02_batch").select_one("table.gt_table")
    assert table is not None
    assert set(by_size.rungs(trials)["configuration"]) <= {cell.get_text() for cell in table.select("tbody tr > *")}
    assert page(one, "02_batch").select("article figure.drawn")


def test_a_misspelt_parameter_ends_the_notebook_in_one_line(one: Path) -> None:
    done = papermill(one, "02_batch", "-p", "stratgies", "alloc")
    assert done.returncode != 0
    last = done.stderr.strip().splitlines()[-1]
    assert "stratgies" in last and "strategies" in last


@pytest.mark.long
def test_no_trial_of_any_mode_listens_but_on_loopback(smoke: Path) -> None:
    assert set(modes()) == RAN
    assert LISTENED.pop("loopback"), "servers were not seen"
    assert LISTENED == {}


@pytest.mark.long
@pytest.mark.parametrize("name", ["index", *(study.notebook for study in every_study())])
def test_every_notebook_reaches_its_end(smoke: Path, name: str) -> None:
    found = page(smoke, name).select_one(".campaign-banner.failed, .campaign-banner.partial")
    assert found is None, found.get_text() if found else ""


@pytest.mark.long
def test_a_finished_campaign_is_shown_again_without_trials(smoke: Path) -> None:
    """By no notebook: each runs its own campaign, which the fixture had finished."""
    assert MEASURED
    assert results(smoke) == MEASURED
