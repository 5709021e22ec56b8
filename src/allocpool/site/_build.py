"""Stage the executed notebooks with the downloads of their pages, and let Sphinx make the site."""

from __future__ import annotations

import base64
import hashlib
import html
import io
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import nbformat
import pandas as pd
from nbformat import NotebookNode

from allocpool import home
from allocpool.campaign import store
from allocpool.campaign.registry import STUDY_NAMES
from allocpool.errors import UserError
from allocpool.evidence.shown import ROWS_MIME
from allocpool.findings import machine
from allocpool.site import _pages

_HERE = Path(__file__).parent
_MARK = ".allocpool-site"
"""A file in every folder with a site: only such a folder is ever replaced."""
_DOWNLOADS = "taken"
"""The folder of the downloads, next to the pages."""
_PICTURE = re.compile(r'src="data:image/(\w+);base64,([^"]*)"')
_FIGURE = '<figure class="drawn"'


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
            _link_to_others(pages, output_dir)
        except OSError as error:  # a full disk names no file
            error.filename = error.filename or str(output_dir)
            raise
    return output_dir / "index.html"


def _stage(staging: Path, pages: list[_pages.Page], executed_dir: Path) -> None:
    shutil.copy(_HERE / "conf.py", staging / "conf.py")
    shutil.copytree(_HERE / "templates", staging / "_templates")
    shutil.copytree(_HERE / "static", staging / "_static")
    extra = staging / "_taken"
    found = {}
    for page in pages:
        notebook = trials = ""
        if page.notebook is None:
            shown = _pages.gap_page(page)
        else:
            shown = _pages.prepared(page.notebook)
            own = extra / _DOWNLOADS / page.address
            own.mkdir(parents=True)
            _add_downloads(shown, own)
            notebook = f"{_DOWNLOADS}/{page.name}.ipynb"
            shutil.copy(executed_dir / f"{page.name}.ipynb", extra / notebook)
            trials = write_trials(page.provenance, own)
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


def _add_downloads(notebook: NotebookNode, folder: Path) -> None:
    """Write the rows of a page's outputs to ``folder``, and link to them below each; of a figure, below its caption. A
    figure in pixels becomes a file, which browsers load lazily."""
    names = {"trials"}  # of the page's campaign: `write_trials`
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        shown: list[NotebookNode] = []
        waiting: list[NotebookNode] = []
        for output in cell.outputs:
            text = output.get("data", {}).get("text/html", "")
            is_figure = text.startswith(_FIGURE)
            if is_figure and (found := _PICTURE.search(text)):
                content = base64.b64decode(found[2])
                picture = folder / f"{hashlib.sha256(content).hexdigest()[:12]}.{found[1]}"
                picture.write_bytes(content)
                output.data["text/html"] = text.replace(found[0], f'src="{_address(picture)}" loading="lazy"')
            shown += [output, *waiting]
            waiting = []
            if rows := output.get("data", {}).pop(ROWS_MIME, None):
                (waiting if is_figure else shown).append(_links(rows, folder, names))
        cell.outputs = [*shown, *waiting]


def _address(file: Path) -> str:
    return f"{_DOWNLOADS}/{file.parent.name}/{file.name}"


def _links(rows: Mapping[str, str], folder: Path, names: set[str]) -> NotebookNode:
    """Write the rows as two files, whose name is none of ``names``, and return links to them."""
    stem = re.sub(r"[^a-z0-9]+", "-", rows["title"].lower()).strip("-")[:60].strip("-") or "rows"
    name = next(each for each in (stem, *(f"{stem}-{n}" for n in range(2, len(names) + 3))) if each not in names)
    names.add(name)
    _write_both(pd.read_parquet(io.BytesIO(base64.b64decode(rows["parquet"]))), folder / name)
    of = html.escape(rows["title"], quote=True)
    files = ", ".join(
        f'<a href="{_address(folder / name)}.{end}" download aria-label="{kind} of {of}">{kind}</a>'
        for kind, end in (("CSV", "csv"), ("Parquet", "parquet"))
    )
    links: NotebookNode = nbformat.v4.new_output("display_data", {"text/html": f'<p class="taken">Rows: {files}</p>'})
    return links


def _write_both(table: pd.DataFrame, path: Path) -> None:
    table.to_parquet(f"{path}.parquet", compression="zstd", index=False)
    table.to_csv(f"{path}.csv", index=False)


def write_trials(provenance: Mapping[str, Any] | None, folder: Path) -> str:
    """Write the trials of the campaign that a page shows; returns their address without its ending, empty where no
    campaign or another one is stored today."""
    if provenance is None or provenance.get("study") not in STUDY_NAMES:
        return ""
    left, own = store.stored(provenance["study"], provenance["profile"]["profile"])
    if own is None or any(own.get(name) != provenance.get(name) for name in ("host_id", "last_trial_utc")):
        return ""
    _write_both(left["trials"], folder / "trials")
    return _address(folder / "trials")


def _link_to_others(pages: list[_pages.Page], output_dir: Path) -> None:
    """Mark the site with what others show of it (folder, label, pages), and write the list of all sites in its parent
    folder, which the campaign switch reads."""
    of = next((machine(page.provenance) for page in pages if page.provenance), "")
    names = [f"{page.address}.html" for page in pages]
    own = {"folder": output_dir.name, "label": ", ".join(filter(None, (output_dir.name, of))), "pages": names}
    (output_dir / _MARK).write_text(json.dumps(own), encoding="utf-8")
    found = []
    for mark in sorted(output_dir.parent.glob(f"*/{_MARK}")):
        with suppress(ValueError):  # of a build that was interrupted
            found.append(json.loads(mark.read_text(encoding="utf-8")))
    text = f"window.allocpoolCampaigns = {json.dumps(found)};\n"
    (output_dir.parent / "campaigns.js").write_text(text, encoding="utf-8")


def _run_sphinx(staging: Path, output_dir: Path) -> None:
    if output_dir.exists():
        if not (output_dir / _MARK).is_file() and any(output_dir.iterdir()):
            raise UserError(
                f"{output_dir} holds something that is no site of this package: empty it, or name another folder"
            )
        shutil.rmtree(output_dir)
    output_dir.mkdir(parents=True)
    (output_dir / _MARK).touch()
    log = output_dir.with_name(f"{output_dir.name}.log")
    command = [sys.executable, "-m", "sphinx", "-b", "html", "-d", str(staging / ".doctrees")]
    done = subprocess.run(
        [*command, str(staging), str(output_dir)], check=False, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    log.write_text(done.stdout + done.stderr, encoding="utf-8")
    if done.returncode:
        lines = (done.stderr.strip() or done.stdout.strip()).splitlines()
        raise UserError(f"Sphinx failed: {lines[-1] if lines else 'no output'}; its log is {log}")
