"""The paper: its figures and numbers are those of the shipped results, and its citations are in its bibliography."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat

from allocpool import home
from allocpool.decisions import Rule, judged_by

PAPER = home.home() / "paper"


def test_its_notebook_makes_the_figures_and_numbers_that_are_stored(data: Path, tmp_path: Path) -> None:
    names: dict[str, Any] = {}
    with judged_by(Rule()):
        for cell in nbformat.read(PAPER / "figures.ipynb", as_version=4).cells:
            if cell.cell_type == "code":
                exec(cell.source, names)
            if "parameters" in cell.metadata.get("tags", []):
                names["folder"] = tmp_path
    made = {path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir() if path.is_file()}
    assert set(made) == {"answer.svg", "paper.md", "releases.svg"}
    for name, text in made.items():
        assert text == (PAPER / name).read_text(encoding="utf-8"), "`make paper` makes it anew"


def test_what_it_cites_is_its_bibliography() -> None:
    cited = re.findall(r"@(\w+)", (PAPER / "paper.md").read_text(encoding="utf-8"))
    entries = re.findall(r"^@\w+\{(\w+),", (PAPER / "paper.bib").read_text(encoding="utf-8"), re.MULTILINE)
    assert set(cited) == set(entries) and len(entries) == len(set(entries))
