"""Stage the executed notebooks and let Sphinx make the site."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import nbformat

from allocpool import home
from allocpool.errors import UserError
from allocpool.findings import machine
from allocpool.site import _pages, _taken

_HERE = Path(__file__).parent
_SPHINX = "import allocpool; from sphinx.cmd.build import main; raise SystemExit(main())"
"""``python -m sphinx`` without the slow import that this package prevents."""
_MARK = ".allocpool-site"
"""A file in every folder with a site: only such a folder is ever replaced."""


def build_site(executed_dir: Path, output_dir: Path, notebooks: Iterable[Path]) -> Path:
    """Build the site of these notebooks from their executed copies; returns its first page.

    A notebook without an executed copy or without the end mark gets a page with the reason. ``output_dir`` is replaced
    where an earlier site is in it; sites in one folder link to each other.

    Raises:
        UserError: there are no notebooks; ``output_dir`` holds something else; or Sphinx fails, and where its log is.
    """
    sources = sorted(notebooks, key=lambda path: path.name)
    if not sources:
        raise UserError("no notebooks: nothing to make a site of")
    pages = [_pages.read_page(source, executed_dir / source.name) for source in sources]
    with tempfile.TemporaryDirectory(prefix="allocpool-site-") as scratch:
        staging = Path(scratch)
        _stage(staging, pages, executed_dir)
        try:
            _run_sphinx(staging, output_dir)
            for page in output_dir.glob("*.html"):
                page.write_text(_pages.with_names(page.read_text(encoding="utf-8")), encoding="utf-8")
            (output_dir / _MARK).write_text(json.dumps(_about(pages, output_dir)), encoding="utf-8")
            _list_campaigns(output_dir.parent)
        except OSError as error:  # a full disk names no file
            error.filename = error.filename or str(output_dir)
            raise
    return output_dir / "index.html"


def _stage(staging: Path, pages: list[_pages.Page], executed_dir: Path) -> None:
    shutil.copy(_HERE / "conf.py", staging / "conf.py")
    shutil.copytree(_HERE / "templates", staging / "_templates")
    shutil.copytree(_HERE / "static", staging / "_static")
    taken = staging / "_taken"
    (taken / _taken.FOLDER).mkdir(parents=True)
    found = {}
    for page in pages:
        shown = _pages.gap_page(page) if page.notebook is None else _pages.prepared(page.notebook)
        notebook = trials = ""
        if page.notebook is not None:
            _taken.with_downloads(shown, page.address, taken)
            notebook = f"{_taken.FOLDER}/{page.name}.ipynb"
            trials = _taken.of_campaign(page.provenance, page.address, taken)
            shutil.copy(executed_dir / f"{page.name}.ipynb", taken / notebook)
        if page.address == "index":
            shown.cells.append(_pages.list_of_pages(pages))
        nbformat.write(shown, staging / f"{page.address}.ipynb")
        found[page.address] = {
            "banner": _pages.banner(page), "provenance": _pages.provenance_box(page.provenance), "notebook": notebook,
            "trials": trials,
        }  # fmt: skip
    if "index" not in found:
        first = nbformat.v4.new_notebook(cells=[_pages.list_of_pages(pages)])
        nbformat.write(first, staging / "index.ipynb")
    for name in _pages.DOCS:
        shutil.copy(home.home() / "docs" / f"{name}.md", staging)
    (staging / "pages.json").write_text(json.dumps(found), encoding="utf-8")


def _about(pages: list[_pages.Page], output_dir: Path) -> dict[str, Any]:
    """Return what other sites show of this one: its folder, a label (campaign, machine, dates) and its pages."""
    of = next((machine(page.provenance) for page in pages if page.provenance), "")
    names = [f"{page.address}.html" for page in pages]
    return {"folder": output_dir.name, "label": ", ".join(filter(None, (output_dir.name, of))), "pages": names}


def _list_campaigns(folder: Path) -> None:
    """Write the list that the campaign switch of every site in a folder reads."""
    found = []
    for mark in sorted(folder.glob(f"*/{_MARK}")):
        with suppress(ValueError):  # of a build that was interrupted
            found.append(json.loads(mark.read_text(encoding="utf-8")))
    (folder / "campaigns.js").write_text(f"window.allocpoolCampaigns = {json.dumps(found)};\n", encoding="utf-8")


def _run_sphinx(staging: Path, output_dir: Path) -> None:
    if output_dir.exists() and not (output_dir / _MARK).is_file() and any(output_dir.iterdir()):
        raise UserError(
            f"{output_dir} holds something that is no site of this package: empty it, or name another folder"
        )
    if output_dir.exists():
        shutil.rmtree(output_dir)
    output_dir.mkdir(parents=True)
    (output_dir / _MARK).touch()
    log = output_dir.with_name(f"{output_dir.name}.log")
    command = [sys.executable, "-c", _SPHINX, "-b", "html", "-d", str(staging / ".doctrees")]
    done = subprocess.run(
        [*command, str(staging), str(output_dir)], check=False, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    log.write_text(done.stdout + done.stderr, encoding="utf-8")
    if done.returncode:
        lines = (done.stderr.strip() or done.stdout.strip()).splitlines()
        raise UserError(f"Sphinx failed: {lines[-1] if lines else 'no output'}; its log is {log}")
