"""Tables: what a schema promises, what a table holds, and that the dictionary says the same."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy as copy_of
from pathlib import Path
from typing import Any

import pandas as pd
import pandera.errors
import pytest

from allocpool import home
from allocpool.campaign import campaign, dictionary, store, tidy
from allocpool.campaign.registry import STUDY_NAMES, study_named
from allocpool.errors import UserError
from allocpool.evidence import reference
from allocpool.packets.columns import COUNTS, ITERATIONS, TRIALS
from allocpool.trial.record import unavailable_record

CHOSEN = {"configurations": ["cpp/flat", "java/heap/serial/17"], "strategies": ["pool"], "cases": ["A"], "blocks": 1}


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[campaign.Campaign]:
    """A campaign of one C++ and one Java trial that ran."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ALLOCPOOL_DATA", str(tmp_path_factory.mktemp("data")))
        opened = campaign.open_study("batch", "smoke", CHOSEN)
        opened.run()
        yield opened


@pytest.mark.parametrize("study", STUDY_NAMES)
def test_a_table_of_no_rows_is_what_its_schema_makes_of_none(study: str) -> None:
    for schema in study_named(study).schemas.values():
        checked = schema.remove_columns([name for name in (tidy.STUDY, tidy.PACE) if name in schema.columns])
        nothing = pd.DataFrame({name: pd.Series([], dtype=object) for name in checked.columns})
        tidy.without_rows(schema).insert(0, "more", [])
        pd.testing.assert_frame_equal(tidy.without_rows(schema), checked.validate(nothing))


def test_every_trial_and_iteration_becomes_a_row(opened: campaign.Campaign) -> None:
    tables = opened.tables()
    trials, iterations = tables["trials"], tables["iterations"]
    assert list(trials["status"]) == ["ok", "ok"]
    assert set(trials["configuration"]) == {"C++ flat", "heap / Serial / 17"}
    assert (trials["allocated"] == trials["freed"] + trials["live"]).all()
    measured = iterations[iterations["phase"] == "measured"].groupby("trial_id")["packets"].sum()
    trials = trials.set_index("trial_id").sort_index()  # as the sums by group are sorted
    assert (trials["packets"] == measured).all()
    spent_ns = iterations["end_ns"] - iterations["start_ns"]
    in_window = iterations.assign(spent_ns=spent_ns)[iterations["phase"] == "measured"].groupby("trial_id")
    by_hand = in_window["spent_ns"].sum() / in_window["packets"].sum()
    assert trials["ns_per_packet"].astype(float).sub(by_hand).abs().max() < 1e-9


def test_tables_and_provenance_are_stored_and_read_back(opened: campaign.Campaign) -> None:
    tables = opened.tables()
    stored, provenance = store.read_tables("batch", opened.profile.profile)
    pd.testing.assert_frame_equal(stored["trials"], tables["trials"], check_dtype=False)
    assert provenance["statuses"] == {"ok": 2}
    assert provenance["host"]["cpu_model"] == opened.host.cpu_model
    assert TRIALS.validate(stored["trials"]) is not None


@pytest.mark.parametrize("name", ["trials.parquet", "provenance.json"])
@pytest.mark.parametrize("content", [b"", b"PAR1", b"{"], ids=["empty", "cut", "other"])
def test_a_stored_file_that_is_damaged_is_named_with_the_remedy(
    opened: campaign.Campaign, name: str, content: bytes
) -> None:
    opened.tables()
    path = opened.tidy_folder / name
    whole = path.read_bytes()
    path.write_bytes(content)
    try:
        for read in (store.read_tables, store.stored):
            with pytest.raises(UserError, match=rf"{name} can't be read .*makes it anew"):
                read(opened.study.name, opened.profile.profile)
    finally:
        path.write_bytes(whole)


def test_a_trial_that_cannot_run_here_is_a_row_that_says_why(opened: campaign.Campaign) -> None:
    refused = unavailable_record(opened.planned[0].spec, "no such runtime", opened.host)
    row = tidy.tables_of(opened.study, [refused])["trials"]
    assert row.loc[0, "status"] == "unavailable"
    assert row.loc[0, "reason"] == "no such runtime"
    assert row["ns_per_packet"].isna().all()


def _without(measurement: dict[str, Any], *path: str) -> dict[str, Any]:
    """A deep copy without the key at the end of the path."""
    copy = copy_of(measurement)
    inner = copy
    for key in path[:-1]:
        inner = inner[key]
    del inner[path[-1]]
    return copy


@pytest.mark.parametrize("path", [("checksum",), ("iterations", "measured"), ("cpu", "process_ns")])
def test_a_trial_without_what_it_must_have_measured_counts_as_not_run(
    opened: campaign.Campaign, capsys: pytest.CaptureFixture[str], path: tuple[str, ...]
) -> None:
    whole, other = opened.records()
    assert whole.measurement is not None
    broken = whole.model_copy(update={"measurement": _without(whole.measurement, *path)})
    capsys.readouterr()
    tables = tidy.tables_of(opened.study, [broken, other])
    assert {id for table in tables.values() for id in table["trial_id"]} == {other.trial_id}
    (line,) = capsys.readouterr().err.splitlines()
    assert broken.trial_id in line and ".".join(("measurement", *path)) in line


@pytest.mark.parametrize(
    ("column", "value"), [("status", "fine"), ("ns_per_packet", -1.0), ("strategy", "lake"), ("live", -1)]
)
def test_a_schema_refuses_what_can_not_be(opened: campaign.Campaign, column: str, value: str | float) -> None:
    trials = opened.tables()["trials"].assign(**{column: value})
    with pytest.raises((pandera.errors.SchemaError, pandera.errors.SchemaErrors)):
        TRIALS.validate(trials)


def test_every_column_is_described() -> None:
    for schema in (TRIALS, ITERATIONS):
        assert all(column.description for column in schema.columns.values())
    assert set(COUNTS) <= set(TRIALS.columns)


def test_the_dictionary_and_the_data_package_are_those_of_the_schemas() -> None:
    for path, text in dictionary.files().items():
        assert path.read_text(encoding="utf-8") == text, "run `python -m allocpool.campaign.dictionary`"


SHIPPED = sorted(path.parent for path in home.shipped_dir().rglob("provenance.json"))


@pytest.mark.parametrize("folder", SHIPPED, ids=lambda path: str(path.relative_to(home.shipped_dir())))
def test_every_shipped_table_fits_its_schema_as_it_is_read(data: Path, folder: Path) -> None:
    """A table that the campaign did not have has no rows."""
    tables, _ = store.read_folder(study_named(folder.name), folder, "it is shipped")
    files = {path.stem for path in folder.glob("*.parquet")}
    assert files <= set(tables) and not any(len(tables[name]) for name in set(tables) - files)
    for name, table in tables.items():
        schema = {**study_named(folder.name).schemas, "questions": store.QUESTIONS}[name]
        assert list(table.columns) == list(schema.columns)
        schema.validate(table)


def test_reference_figures_are_listed_in_the_data_package_and_agree() -> None:
    live = reference.load("allocate_or_pool_gc").query("collector == 'G1'").set_index(["strategy", "case"])
    more = 1e6 / 99_000 * live["live_objects_millions"].groupby("strategy").diff()
    packet, parse = reference.load("allocate_or_pool_objects").query("layout == 'heap'")["published_objects"]
    assert (more["pool", "B"], more["alloc", "B"]) == pytest.approx((parse, 2 * packet + parse), rel=0.01)
    text = (home.home() / "data" / "datapackage.json").read_text(encoding="utf-8")
    for path in home.reference_dir().glob("*.csv"):
        assert f"reference/{path.name}" in text
