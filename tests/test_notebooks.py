"""The notebooks as they are stored: one story each, no machinery, no outputs, no figures typed into prose."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import nbformat
import pandas as pd
import pytest
import yaml

from allocpool import home, notebook
from allocpool.campaign import campaign, profiles, store
from allocpool.campaign.registry import STUDY_NAMES, every_study, study_named
from allocpool.decisions import EFFECT, Rule, effect_that_matters, judged_by
from allocpool.errors import UserError

NOTEBOOKS = sorted((home.home() / "notebooks").glob("*.ipynb"))


def read(path: Path) -> Any:
    return nbformat.read(path, as_version=4)


def source(path: Path, kind: str) -> list[str]:
    return [cell.source for cell in read(path).cells if cell.cell_type == kind]


def parameters_cell(path: Path) -> dict[str, Any]:
    (cell,) = [cell for cell in read(path).cells if "parameters" in cell.metadata.get("tags", [])]
    names: dict[str, Any] = {}
    exec(cell.source, {}, names)
    return names


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def path(request: pytest.FixtureRequest) -> Path:
    found: Path = request.param
    return found


def test_parameters_are_checked_right_after_their_cell(path: Path) -> None:
    cells = [cell for cell in read(path).cells if cell.cell_type == "code"]
    tagged = [index for index, cell in enumerate(cells) if "parameters" in cell.metadata.get("tags", [])]
    assert tagged == [0]
    assert "notebook.parameters(globals()" in cells[1].source


def test_it_has_as_many_cells_as_one_reads(path: Path) -> None:
    assert 12 <= len(read(path).cells) <= 18


def test_it_is_stored_without_outputs_and_with_cell_ids(path: Path) -> None:
    stored = read(path)
    assert stored.metadata["kernelspec"]["name"] == "python3"
    code = [cell for cell in stored.cells if cell.cell_type == "code"]
    assert not [cell for cell in code if cell.outputs or cell.execution_count]
    ids = [cell["id"] for cell in stored.cells]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("profile", profiles.names())
def test_profiles_and_notebooks_have_settings_of_the_study_alone(path: Path, profile: str) -> None:
    file = home.home() / "papermill-configs" / profile / f"{path.stem}.yaml"
    given = yaml.safe_load(file.read_text(encoding="utf-8"))
    assert given["profile"] == profile
    studies = [study for study in every_study() if study.notebook == path.stem]
    known = set(studies[0].profile_model.model_fields) if studies else {"profile", "studies"}
    assert set(given) <= known | set(parameters_cell(path))


@pytest.mark.parametrize("study", STUDY_NAMES)
def test_default_parameters_open_the_quick_profile(study: str) -> None:
    (path,) = [path for path in NOTEBOOKS if path.stem == study_named(study).notebook]
    opened = campaign.open_study(study, **notebook.parameters(parameters_cell(path)))
    assert opened.profile.profile == "quick"


@pytest.mark.parametrize("profile", profiles.names())
def test_all_studies_of_a_profile_ask_for_the_same_effect(profile: str) -> None:
    asked = {each.profile.effect_that_matters for each in campaign.all_of_profile(profile)}
    assert asked == {EFFECT}


def test_a_page_judges_by_the_effect_that_matters_to_what_it_shows(path: Path) -> None:
    code = source(path, "code")
    assert "notebook.judged(" in code[1], "before anything is compared"
    with judged_by(Rule()):
        notebook.judged(campaign.open_study("batch", "quick", {"effect_that_matters": 1.5}))
        assert effect_that_matters() == 1.5 != EFFECT


def test_settings_that_differ_from_the_profiles_are_named() -> None:
    taken = {"blocks": 3, "sweeps": {"blocks": 2}, "cases": ["A"], "scale": 0.2}
    now = {"blocks": 5, "sweeps": {"blocks": 8}, "cases": ["A", "B"], "scale": 0.2}
    assert {line.partition(" ")[0] for line in profiles.other_settings(taken, now)} == {
        "blocks",
        "sweeps.blocks",
        "cases",
    }


def test_another_effect_is_another_judgement_of_the_same_trials() -> None:
    usual, finer = (campaign.open_study("batch", "quick", {"effect_that_matters": effect}) for effect in (None, 1.05))
    assert [item.spec for item in usual.plan()] == [item.spec for item in finer.plan()]
    assert {question.effect for question in finer.questions} == {1.05}


@pytest.mark.parametrize("value", [1, 0.9, -2, "much"])
def test_an_effect_that_is_none_is_refused_in_one_line(value: object) -> None:
    with pytest.raises(UserError, match=r"^[^\n]*effect_that_matters[^\n]*$"):
        campaign.open_study("batch", "quick", {"effect_that_matters": value})


def test_a_misspelt_parameter_is_refused_without_a_study() -> None:
    with pytest.raises(UserError, match=r"'porfile'.*profile"):
        notebook.parameters({"profile": "smoke", "porfile": "quick"}, known=["profile"])


@pytest.mark.parametrize(
    ("statuses", "unavailable", "missing", "complete", "words"),
    [
        ({"ok": 4}, {}, 0, True, "All 4 planned trials finished."),
        ({"ok": 3, "crashed": 1}, {}, 0, False, "3 of 4 planned trials finished; 1 failed."),
        ({"ok": 3}, {"no Java 25": 1}, 0, True, "3 of 4 planned trials finished; 1 are not possible on this machine."),
        ({"ok": 1}, {}, 3, False, "1 of 4 planned trials finished; 3 have not run."),
    ],
)
def test_progress_names_what_is_missing(
    statuses: dict[str, int], unavailable: dict[str, int], missing: int, complete: bool, words: str
) -> None:
    found = notebook.progress({"planned": 4, "statuses": statuses, "unavailable": unavailable, "missing": missing})
    assert (found["complete"], found["sentence"]) == (complete, words)


def test_a_campaign_that_never_ran_leaves_an_empty_table(data: Path) -> None:
    tables, provenance = store.stored("batch", "smoke")
    assert provenance is None
    assert tables["trials"].empty
    assert "ns_per_packet" in tables["trials"]


def every_row(table: pd.DataFrame) -> pd.DataFrame:
    return table


def first_row(table: pd.DataFrame) -> pd.DataFrame:
    return table.head(1)


def one_side(table: pd.DataFrame) -> pd.DataFrame:
    return table[table["strategy"] == "alloc"] if "strategy" in table else table


def one_case(table: pd.DataFrame) -> pd.DataFrame:
    return table[table["case"] == "A"] if "case" in table else table


@pytest.mark.long
@pytest.mark.parametrize(
    ("stem", "kept"),
    [
        *((path.stem, every_row) for path in NOTEBOOKS),
        ("02_batch", first_row), ("02_batch", one_side), ("02_batch", one_case), ("04_realtime", first_row),
    ],
)  # fmt: skip
def test_a_page_is_shown_of_much_and_of_little(
    stem: str, kept: Callable[[pd.DataFrame], pd.DataFrame], data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every cell runs on what is left of the shipped campaign, and the mark of the end is told."""

    def little(study: str, profile: str) -> tuple[dict[str, pd.DataFrame], dict[str, Any] | None]:
        tables, provenance = whole(study, profile)
        return {name: kept(table).reset_index(drop=True) for name, table in tables.items()}, provenance

    whole = store.stored
    monkeypatch.setattr(store, "stored", little)
    monkeypatch.setenv(campaign.SHOW_ONLY, "1")
    shown: list[dict[str, Any]] = []
    monkeypatch.setattr(notebook, "finished", lambda name, provenance, _answer: shown.append({name: provenance}))
    (path,) = [path for path in NOTEBOOKS if path.stem == stem]
    namespace: dict[str, Any] = {"display": lambda *_shown: None}
    with judged_by(Rule()):  # a page judges on, until its process ends
        for code in source(path, "code"):
            exec(code.replace('profile = "quick"', 'profile = "standard"'), namespace)
    plt.close("all")
    assert [list(each) for each in shown] == [[stem]]


def test_a_cell_that_is_run_again_takes_no_variable_of_later_cells_for_a_parameter() -> None:
    """As in JupyterLab: change a parameter, run its cell and the next one again."""
    namespace: dict[str, Any] = {"In": ["", 'profile = "quick"\nblocks = None'], "profile": "quick", "blocks": None}
    assert notebook.parameters(namespace) == {"profile": "quick", "overrides": {"blocks": None}}
    namespace |= {"answer": "pool", "blocks": 3, "blcks": 2}
    assert notebook.parameters(namespace) == {"profile": "quick", "overrides": {"blocks": 3}}
    namespace["In"] += ["answer = 1", 'profile = "quick"\nblocks = 3\nblcks = 2']
    assert notebook.parameters(namespace)["overrides"] == {"blocks": 3, "blcks": 2}
