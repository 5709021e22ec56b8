"""``python -m allocpool.campaign.dictionary``: describe the data by the schemas that check them.

Writes ``data/datapackage.json`` (Frictionless Data Package, specs.frictionlessdata.io) and ``data/README.md``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from allocpool import home
from allocpool.campaign.registry import every_study

_INTRODUCTION = """# Data

| folder | what | committed |
|---|---|---|
| `raw/` | one folder per trial, named by its id: spec, result, the child's output, logs of the JVM; never edited | no |
| `tidy/PROFILE/STUDY/` | tables of a campaign on this machine, checked against the schemas below | no |
| `hosts/HOST/PROFILE/STUDY/` | the same of other machines, which a fleet or `allocpool import` brought | no |
| `shipped/PROFILE/STUDY/` | the same, of campaigns that the pages of this repository show | yes |
| `shipped/hosts/HOST/PROFILE/STUDY/` | the same of other machines, which pages compare with these | yes |
| `reference/` | published figures, for comparison only; sources and known errors in its own README | yes |
| `simulated/` | error rates of the judge, by simulation: `python -m allocpool.studies.instrument.proof` | yes |
| `ask/` | the model of `ask` and the record of its predictions: `python -m allocpool.ask.fit` | yes |
| `checked/` | advice (`bench advice`), page 09's example (`advise --save`), A/A of `compare`, searches and fits | yes |

`allocpool run STUDY --profile PROFILE` makes raw trials and tidy tables, with `provenance.json` and `questions.parquet`
(what the study decides, and its verdicts so far) in the same folder.
A trial id is the hash of its spec, of the code that it runs and of the machine. A trial that was disturbed is run again
once, with `-2` at the end of its id; the attempt that no figure counts has status `disturbed`. `start_ns` and `end_ns`
are readings of CLOCK_MONOTONIC.

This page and `datapackage.json` are generated from the schemas: `python -m allocpool.campaign.dictionary`.
"""

_OF_CSV = ("reference", "simulated", "ask", "checked")
"""Folders of tables that no schema checks."""
_PARQUET = "application/vnd.apache.parquet"
_TYPES = {"b": "boolean", "i": "integer", "f": "number", "O": "string"}
"""Frictionless Data's word for a column's type, by the kind of its dtype."""


def _resource(name: str, paths: Sequence[Path], media: str, fields: list[dict[str, Any]]) -> dict[str, Any]:
    root = home.home() / "data"
    found = [path.relative_to(root).as_posix() for path in paths]
    return {
        "name": name, "path": found if media == _PARQUET else found[0], "format": paths[0].suffix.removeprefix("."),
        "mediatype": media, "schema": {"fields": fields},
    }  # fmt: skip


def _resources() -> Iterator[dict[str, Any]]:
    for study in every_study():
        for table, schema in study.schemas.items():
            if stored := sorted(home.shipped_dir().glob(f"*/{study.name}/{table}.parquet")):
                fields = [
                    {
                        "name": name, "type": _TYPES[column.dtype.type.kind], "description": column.description or "",
                        "constraints": {"required": not column.nullable, "unique": bool(column.unique)},
                    }
                    for name, column in schema.columns.items()
                ]  # fmt: skip
                yield _resource(f"{study.name}-{table}", stored, _PARQUET, fields)
    for path in [path for folder in _OF_CSV for path in sorted((home.home() / "data" / folder).glob("*.csv"))]:
        columns = pd.read_csv(path).convert_dtypes().dtypes.items()
        fields = [{"name": str(name), "type": _TYPES[dtype.kind]} for name, dtype in columns]
        yield _resource(path.stem.replace("_", "-"), [path], "text/csv", fields)


def datapackage() -> str:
    package = {
        "name": "allocate-or-pool",
        "title": "Allocate or pool? Trials and published figures",
        "licenses": [{"name": "Apache-2.0", "path": "https://www.apache.org/licenses/LICENSE-2.0"}],
        "resources": list(_resources()),
    }
    return json.dumps(package, indent=1) + "\n"


def dictionary() -> str:
    parts = [_INTRODUCTION]
    for study in every_study():
        for table, schema in study.schemas.items():
            parts.append(f"\n## Study `{study.name}`, table `{table}`\n")
            parts.append("| column | type | meaning | may be empty |\n|---|---|---|---|")
            for name, column in schema.columns.items():
                kind, empty = _TYPES[column.dtype.type.kind], "yes" if column.nullable else "no"
                parts.append(f"| `{name}` | {kind} | {column.description} | {empty} |")
    return "\n".join(parts) + "\n"


def files() -> dict[Path, str]:
    """Return what this module writes, by path."""
    root = home.home() / "data"
    return {root / "datapackage.json": datapackage(), root / "README.md": dictionary()}


if __name__ == "__main__":
    for path, text in files().items():
        path.write_text(text, encoding="utf-8")
