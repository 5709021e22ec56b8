"""Stored tables of campaigns and where they come from, the reader's own and the shipped ones."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import pandas as pd
from pandera.pandas import Column, DataFrameSchema

from allocpool import home
from allocpool.campaign import profiles, tidy
from allocpool.campaign.registry import study_named
from allocpool.campaign.study import PROFILE_NAME, Study
from allocpool.decisions import A_CHEAPER, B_CHEAPER, EFFECT, EQUIVALENT, OPEN, Rule
from allocpool.errors import UserError, unknown_choice

QUESTIONS = DataFrameSchema(
    {
        "a": tidy.text("one side"),
        "b": tidy.text("the other one"),
        "primary": Column("bool", description="whether it comes before others"),
        "verdict": tidy.choice((A_CHEAPER, B_CHEAPER, EQUIVALENT, OPEN), "what is decided so far"),
        "ratio": tidy.number("a's cost over b's"),
        "low": tidy.number("where that lies, whenever one looks"),
        "high": tidy.number("where that lies, whenever one looks"),
        "n": Column("int64", tidy.COUNT, description="trials of the smaller side"),
        "blocks_needed": tidy.whole("about how many more trials a side it takes; empty where it is too noisy"),
        "level": tidy.number("share of such intervals that may miss"),
        "effect": tidy.number("the smallest ratio that matters"),
        "question": tidy.text("hash of both sides, the same on every host"),
    },
    strict=True,
    coerce=True,
)
"""Of the table ``questions`` that is stored with those of a study: what it decides, and the verdicts so far."""


def _cant_read(path: Path, error: Exception | str, remake: str) -> UserError:
    return UserError(f"{path} can't be read ({' '.join(str(error).split())}): {remake}")


def read_folder(known: Study[Any], folder: Path, remake: str) -> tuple[dict[str, pd.DataFrame], dict[str, Any]]:
    """Return the tables and the provenance that a campaign left in a folder; UserError, which ends with ``remake``
    (what to do), where a file of theirs can't be read."""
    versions = tuple((path, path.stat().st_mtime_ns) for path in sorted(folder.glob("*.parquet")) if path.exists())
    tables = _tables(known, folder, remake, versions)
    return {name: table.copy() for name, table in tables.items()}, _read_provenance(folder, remake)


def check_folder(known: Study[Any], folder: Path, remake: str) -> tuple[dict[str, pd.DataFrame], dict[str, Any]]:
    """Return what `read_folder` does, each table checked; pandera's errors, or UserError for an unknown table."""
    tables, provenance = read_folder(known, folder, remake)
    schemas = {**known.schemas, "questions": QUESTIONS}
    for name, table in tables.items():
        if name not in schemas:
            raise UserError(f"the study has no table {name}")
        schemas[name].validate(table)
    return tables, provenance


def _read_provenance(folder: Path, remake: str) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads((folder / "provenance.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise _cant_read(folder / "provenance.json", error, remake) from None
    return found


def rule_told_by(provenance: Mapping[str, Any]) -> Rule:
    """Return what a campaign is judged by: its equivalence margin, and the length of its plan where that is fixed."""
    settings = provenance["profile"]
    fixed = settings.get("schedule", "fixed") == "fixed"
    return Rule(float(settings.get("effect_that_matters", EFFECT)), settings.get("blocks") if fixed else None)


def rule_of(profile: str, *studies: str) -> Rule:
    """Return what the first of these studies that is stored under a profile is judged by; the default where none is.
    UserError where its provenance can't be read."""
    for study in studies:
        if folder := stored_folder(study, profile):
            return rule_told_by(_read_provenance(folder, _made_anew(study, profile)))
    return Rule()


@lru_cache(maxsize=64)
def _tables(
    known: Study[Any], folder: Path, remake: str, versions: tuple[tuple[Path, int], ...]
) -> dict[str, pd.DataFrame]:
    """Return the tables of a folder, read once while its files are the same; those that it lacks are empty."""
    empty = {name: tidy.without_rows(schema) for name, schema in known.schemas.items()}
    stored: dict[str, pd.DataFrame] = {}
    for path, _ in versions:
        try:
            table = stored[path.stem] = pd.read_parquet(path)
        except (OSError, ValueError) as error:  # of Arrow's, too
            raise _cant_read(path, error, remake) from None
        needed = [*empty.get(path.stem, table), *([tidy.PACE] if path.stem in known.paced else [])]
        if lacking := [name for name in needed if name not in table]:
            raise _cant_read(path, f"it has no column {lacking[0]}", remake)
    for name, table in empty.items():
        put_in = {"study": pd.Series([], dtype="str"), tidy.PACE: pd.Series([], dtype="float64")}
        empty[name] = table.assign(**put_in)[list(known.schemas[name].columns)]
    return empty | tidy.at_one_pace(known, stored)


def read_tables(study: str, profile: str) -> tuple[dict[str, pd.DataFrame], dict[str, Any]]:
    """Return the stored tables and provenance of a campaign, the reader's own before the shipped ones.

    Raises:
        UserError: a file of theirs can't be read, or there are none.
    """
    known = study_named(study)
    if folder := stored_folder(study, profile):
        return read_folder(known, folder, _made_anew(study, profile))
    raise UserError(
        f"no tables of study {study}, profile {profile}: `allocpool run {study} --profile {profile}` makes them"
    )


def stored_folder(study: str, profile: str) -> Path | None:
    """Return where a campaign is stored, the reader's own first; UserError for what is no profile's name."""
    if not PROFILE_NAME.fullmatch(profile):
        raise unknown_choice("profile", profile, profiles.names())
    folders = (root / profile / study for root in (home.tidy_dir(), home.shipped_dir()))
    return next((folder for folder in folders if (folder / "provenance.json").exists()), None)


def _made_anew(study: str, profile: str) -> str:
    return f"`allocpool run {study} --profile {profile}` makes it anew"


def stored(study: str, profile: str) -> tuple[dict[str, pd.DataFrame], dict[str, Any] | None]:
    """Return what `read_tables` does, or every table of the study without rows, and None, where nothing is stored."""
    if stored_folder(study, profile):
        return read_tables(study, profile)
    return {name: tidy.frame([], schema) for name, schema in study_named(study).schemas.items()}, None
