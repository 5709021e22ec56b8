"""Campaigns on several hosts, each a block: this machine's, and those that a fleet or an archive brought.

Comparisons are made within each host and then combined; trials of several hosts are never pooled.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from pandera.errors import SchemaError, SchemaErrors

from allocpool import home
from allocpool.campaign.registry import every_study, study_named
from allocpool.campaign.store import QUESTIONS, read_folder
from allocpool.decisions import Decision, combine, together
from allocpool.errors import UserError, warn_once
from allocpool.strangers import inert

_KEY = ["study", "question"]
_PROVENANCE = "provenance.json"


@dataclass(frozen=True)
class OfHost:
    """Where one study is stored that ran on one host under one profile."""

    host_id: str
    label: str
    folder: Path


def called(name: str, host_id: str) -> str:
    """Return what pages call a host: its name or its processor's, and the start of its id, without markup."""
    return f"{inert(name)} ({inert(host_id[:4])})"


def of_hosts(study: str, profile: str) -> Iterator[OfHost]:
    """Yield where a study of each host is stored, this one's first; what can't be read is named on stderr."""
    seen = set()
    shipped = home.shipped_dir()
    others = (*sorted(home.hosts_dir().glob("*/")), shipped, *sorted((shipped / "hosts").glob("*/")))
    for root in (home.tidy_dir(), *others):
        folder = root / profile / study
        if not (folder / _PROVENANCE).is_file():
            continue
        try:
            found = json.loads((folder / _PROVENANCE).read_text(encoding="utf-8"))
            host_id = str(found["host_id"])
            label = called(found["host"].get("name") or found["host"]["cpu_model"], host_id)
        except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
            _left_out(folder, error)
            continue
        if host_id not in seen:
            seen.add(host_id)
            yield OfHost(host_id, label, folder)


def _inert(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table of another host with `inert` texts; the texts of this package have no markup."""
    texts = table.select_dtypes(["object", "string", "category"])
    plain = {str(name): text.map(inert, na_action="ignore").astype(text.dtype) for name, text in texts.items()}
    return table.assign(**plain)


def _left_out(folder: Path, error: Exception) -> None:
    warn_once(f"{folder} is left out, it can't be read ({str(error)[:200]}): `allocpool doctor --data` says what to do")


def tables_of_hosts(study: str, profile: str, host_id: str | None = None) -> dict[str, pd.DataFrame]:
    """Return the tables of a study on all hosts, or one, one below the other, with the host in every row, first; what
    can't be read is named in a line on stderr."""
    parts: dict[str, list[pd.DataFrame]] = {}
    for one in of_hosts(study, profile):
        if host_id not in (None, one.host_id):
            continue
        try:
            tables, _ = read_folder(study_named(study), one.folder, "it is left out")
        except UserError as error:
            _left_out(one.folder, error)
            continue
        stranger = home.hosts_dir() in one.folder.parents
        for name, table in tables.items():
            own = (_inert(table) if stranger else table).drop(columns="host_id", errors="ignore")
            own.insert(0, "host_id", one.host_id)
            parts.setdefault(name, []).append(own)
    return {name: pd.concat(tables, ignore_index=True) for name, tables in parts.items()}


def label(host_id: str, profile: str) -> str:
    """Return a host's label (`OfHost`), as any study of a profile has it; the start of its id where none has."""
    every = (one for study in every_study() for one in of_hosts(study.name, profile))
    return next((one.label for one in every if one.host_id == host_id), host_id[:4])


def questions_of_hosts(profile: str) -> pd.DataFrame:
    """Return one row per question of any study and host that has figures of it, with study and host."""
    names = ["study", "host_id", "host", *QUESTIONS.columns]
    parts = [pd.DataFrame(columns=names)]
    for study in every_study():
        for one in of_hosts(study.name, profile):
            path = one.folder / "questions.parquet"
            if not path.is_file():
                continue
            try:
                asked = _inert(QUESTIONS.validate(pd.read_parquet(path)))
            except (OSError, ValueError, SchemaError, SchemaErrors) as error:
                _left_out(one.folder, error)
                continue
            # A boundary of too few trials has no figure, however many there are.
            asked = asked[(asked["n"] > 0) & asked["ratio"].notna()]
            if len(asked):
                parts.append(asked.assign(study=study.name, host_id=one.host_id, host=one.label)[names])
    return pd.concat(parts[1:] or parts, ignore_index=True)


def combined(questions: pd.DataFrame) -> pd.DataFrame:
    """Return one row per question that several hosts have figures of: its names and the fields of
    `allocpool.decisions.Combined`; all decided together, by the smallest equivalence margin of the hosts."""
    known = questions.astype(dict.fromkeys(("ratio", "low", "high", "level"), float))
    groups = [group for _, group in known.groupby(_KEY, sort=False) if group["host_id"].nunique() > 1]
    decide = []
    for group in groups:
        rows: Iterable[Any] = group.itertuples()
        within = [
            Decision(row.ratio, row.low, row.high, row.n, row.n, row.verdict, None, row.level, row.ratio, "")
            for row in rows
        ]
        decide.append(functools.partial(combine, within, float(group["effect"].min())))
    names = [*_KEY, "a", "b", "primary"]
    found = [
        {**group.iloc[0][names].to_dict(), **vars(one)} for group, one in zip(groups, together(decide), strict=True)
    ]
    fields = ["ratio", "low", "high", "hosts", "spread", "next_low", "next_high", "verdict"]
    return pd.DataFrame(found, columns=[*names, *fields])


def mixed(profile: str) -> str:
    """Return a warning that the studies which pages show are of several hosts; empty where they are of one."""
    hosts: dict[str, list[str]] = {}
    for study in every_study():
        shown = (one for one in of_hosts(study.name, profile) if home.hosts_dir() not in one.folder.parents)
        if (first := next(shown, None)) is not None:
            hosts.setdefault(first.label, []).append(study.name)
    if len(hosts) < 2:
        return ""
    found = "; ".join(f"{', '.join(studies)} of {host}" for host, studies in hosts.items())
    return f"**The studies shown here are of {len(hosts)} machines**: {found}. Costs of one are no costs of another."
