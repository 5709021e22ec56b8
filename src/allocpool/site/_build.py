"""Make pages of executed notebooks: whether each finished, what is missing, its provenance and its downloads; then let
Sphinx make the site."""

from __future__ import annotations

import base64
import hashlib
import html
import io
import itertools
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
import pandas as pd
import yaml
from nbformat import NotebookNode

from allocpool import home
from allocpool.campaign import store
from allocpool.campaign.profiles import FINDINGS
from allocpool.campaign.registry import STUDY_NAMES
from allocpool.errors import UserError
from allocpool.evidence.tables import NOTHING_MIME, ROWS_MIME
from allocpool.findings import machine
from allocpool.notebook import FINISHED_MIME

_HERE = Path(__file__).parent
_MARK = ".allocpool-site"
"""A file in every folder with a site: only such a folder is ever replaced."""
_DOWNLOADS = "taken"
"""The folder of the downloads, next to the pages."""
_PICTURE = re.compile(r'src="data:image/(\w+);base64,([^"]*)"')
_FIGURE = '<figure class="drawn"'
DOCS = ("compare", "glossary")
"""Pages of ``docs/`` on the site."""
ERROR_SUFFIX = ".error.txt"


@dataclass(frozen=True)
class Page:
    """One notebook as the site shows it.

    ``notebook``: None where it was not executed; ``mark``: its end mark, None unless it ran to its end; ``problem``:
    what went wrong, in one line.
    """

    name: str
    title: str
    notebook: NotebookNode | None
    mark: Mapping[str, Any] | None
    problem: str | None

    @property
    def address(self) -> str:
        """Its name on the site; the findings are the first page."""
        return "index" if self.name == FINDINGS else self.name

    @property
    def provenance(self) -> Mapping[str, Any] | None:
        return self.mark["provenance"] if self.mark else None


def read_page(source: Path, executed: Path) -> Page:
    """Return the page of one notebook: ``source`` as stored, ``executed`` where its executed copy is or should be."""
    headings = (cell.source for cell in _read(source).cells if cell.cell_type == "markdown")
    first = next((text for text in headings if text.startswith("# ")), f"# {source.stem}")
    title = first.splitlines()[0].removeprefix("# ").strip()
    reason = executed.with_suffix(ERROR_SUFFIX)
    failure = reason.read_text(encoding="utf-8").strip() if reason.is_file() else None
    if not executed.is_file():
        return Page(source.stem, title, None, None, failure or "this notebook was not run")
    notebook = _read(executed)
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.get("outputs", [])]
    marks = [output["data"][FINISHED_MIME] for output in outputs if FINISHED_MIME in output.get("data", {})]
    if marks and not failure:
        return Page(source.stem, title, notebook, marks[-1], None)
    errors = [f"{output.ename}: {output.evalue}" for output in outputs if output.output_type == "error"]
    last = errors[-1].strip().splitlines()[-1] if errors else _DIED
    return Page(source.stem, title, notebook, None, failure or last)


_DIED = "the notebook stopped before its end without an error: its kernel died or was stopped"


def _read(path: Path) -> NotebookNode:
    notebook: NotebookNode = nbformat.read(path, as_version=4)
    return notebook


def provenance_box(provenance: Mapping[str, Any] | None) -> str:
    """Return the HTML box on every page: one line in sight, every recorded fact as YAML when opened."""
    if provenance is None:
        return '<div class="provenance"><p>No provenance: nothing on this page was measured.</p></div>'
    commits = (each[:10] + ("-dirty" if each.endswith("-dirty") else "") for each in provenance["git_commits"])
    summary = (
        f"Measured on {machine(provenance)}, commit {', '.join(commits) or 'unknown'}, "
        f"profile {provenance['profile']['profile']}, n = {provenance['statuses'].get('ok', 0)} trials"
    )
    plain = json.loads(json.dumps(provenance))  # without the classes of nbformat
    facts = yaml.safe_dump(plain, sort_keys=False, allow_unicode=True, width=100)
    return (
        f'<details class="provenance"><summary>{html.escape(summary)}</summary>'
        '<div class="provenance-facts" tabindex="0" role="region" aria-label="Provenance">'
        f"<pre>{html.escape(facts)}</pre></div></details>"
    )


def banner(page: Page) -> str:
    """Return a banner where the notebook failed or the campaign is incomplete; else an empty text."""
    if page.mark is None:
        heading = "This notebook failed" if page.notebook is not None else "This page is a gap"
        return _banner("failed", heading, page.problem or "")
    progress = page.mark["progress"]
    if not progress["complete"]:
        return _banner("partial", "Incomplete campaign", progress["sentence"])
    if progress["unavailable"]:
        return _banner("note", "Not everything runs on this machine", progress["sentence"])
    return ""


def _banner(kind: str, heading: str, text: str) -> str:
    role = "alert" if kind == "failed" else "status"
    return f'<div class="campaign-banner {kind}" role="{role}"><strong>{heading}.</strong> {html.escape(text)}</div>'


_STYLE = re.compile(r"(?s)<style>.*?</style>")
_PAGE_LINK = re.compile(rf"\b{FINDINGS}\.ipynb")
_HREF = re.compile(r'href="([\w-]+)\.ipynb')
_FENCE = re.compile(r"(?m)(?<=^)[ \t>*+-]*(?:`{3,}|~{3,}|:{3,})(?=[ \t]*\{)")
"""The start of a directive: cells make none, so one is text from elsewhere that would have Sphinx read files."""
_TO_LAST_HEADING = re.compile(r"(?s)(?:.*\n)?##+ [^\n]*")
_UNSHOWN = {"application/vnd.jupyter.widget-view+json", FINISHED_MIME}


def prepared(executed: NotebookNode) -> NotebookNode:
    """Return an executed notebook as the site shows it: tables in the site's style, links between pages, no progress
    bars, no end mark, no text about what was not measured."""
    notebook: NotebookNode = nbformat.from_dict(executed)
    notebook.metadata.pop("widgets", None)
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = _PAGE_LINK.sub("index.ipynb", cell.source)
            continue
        cell.outputs = [each for each in cell.outputs if not _UNSHOWN & each.get("data", {}).keys()]
        for output in cell.outputs:
            for mime, text in output.get("data", {}).items():
                if mime == "text/markdown":
                    output.data[mime] = _FENCE.sub("", _PAGE_LINK.sub("index.ipynb", text))
                elif mime == "text/html":
                    output.data[mime] = _HREF.sub(r'href="\1.html', text).replace(f"{FINDINGS}.html", "index.html")
            if "gt_table" in (table := output.get("data", {}).get("text/html", "")):
                output.data["text/html"] = _STYLE.sub("", table)
    # Of a section whose code had nothing to show, only the heading is left, for links.
    texts = [place for place, cell in enumerate(notebook.cells) if cell.cell_type == "markdown"]
    for here, after in itertools.pairwise((*texts, len(notebook.cells))):
        outputs = [output for cell in notebook.cells[here + 1 : after] for output in cell.outputs]
        to_heading = _TO_LAST_HEADING.match(notebook.cells[here].source)
        if to_heading and outputs and all(NOTHING_MIME in output.get("data", {}) for output in outputs):
            notebook.cells[here].source = to_heading[0]
    return notebook


def gap_page(page: Page) -> NotebookNode:
    """Return the page of a notebook that has no executed copy, so that links to it work."""
    text = f"# {page.title}\n\nThere is nothing to see here: {_one_line(page.problem or '')}."
    gap: NotebookNode = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(text)])
    return gap


def list_of_pages(pages: list[Page]) -> NotebookNode:
    """Return the end of the first page: every page with its state."""
    others = [page for page in pages if page.name != FINDINGS]
    states = [str(page.mark["progress"]["sentence"]) if page.mark else page.problem or "not run" for page in others]
    listed = "\n".join(
        f"| [{page.title}]({page.name}) | {_one_line(state)} |" for page, state in zip(others, states, strict=True)
    )
    contents = "\n".join([*(page.name for page in others), *DOCS])
    cell: NotebookNode = nbformat.v4.new_markdown_cell(
        f"## Pages\n\n| page | state |\n| --- | --- |\n{listed}\n\n"
        f"```{{toctree}}\n:hidden:\n:maxdepth: 1\n\n{contents}\n```\n"
    )
    return cell


def with_names(page: str) -> str:
    """Return a page whose two asides have names for screen readers."""
    for kind, name in (("sidebar", "Pages"), ("toc", "On this page")):
        aside = f'class="{kind}-drawer'
        page = page.replace(f"<aside {aside}", f'<aside aria-label="{name}" {aside}')
    return page


_MARKUP = str.maketrans({mark: f"\\{mark}" for mark in "\\`*_{}[]<>#$|"})


def _one_line(text: str) -> str:
    return html.escape(" ".join(text.split()), quote=False).translate(_MARKUP)


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
    pages = [read_page(source, executed_dir / source.name) for source in sources]
    with tempfile.TemporaryDirectory(prefix="allocpool-site-") as scratch:
        staging = Path(scratch)
        _stage(staging, pages, executed_dir)
        try:
            _run_sphinx(staging, output_dir)
            for page in output_dir.glob("*.html"):
                page.write_text(with_names(page.read_text(encoding="utf-8")), encoding="utf-8")
            _link_to_others(pages, output_dir)
        except OSError as error:  # a full disk names no file
            error.filename = error.filename or str(output_dir)
            raise
    return output_dir / "index.html"


def _stage(staging: Path, pages: list[Page], executed_dir: Path) -> None:
    shutil.copy(_HERE / "conf.py", staging / "conf.py")
    shutil.copytree(_HERE / "templates", staging / "_templates")
    shutil.copytree(_HERE / "static", staging / "_static")
    extra = staging / "_taken"
    found = {}
    for page in pages:
        notebook = trials = ""
        if page.notebook is None:
            shown = gap_page(page)
        else:
            shown = prepared(page.notebook)
            own = extra / _DOWNLOADS / page.address
            own.mkdir(parents=True)
            _add_downloads(shown, own)
            notebook = f"{_DOWNLOADS}/{page.name}.ipynb"
            shutil.copy(executed_dir / f"{page.name}.ipynb", extra / notebook)
            trials = write_trials(page.provenance, own)
        if page.address == "index":
            shown.cells.append(list_of_pages(pages))
        nbformat.write(shown, staging / f"{page.address}.ipynb")
        found[page.address] = {
            "banner": banner(page), "provenance": provenance_box(page.provenance), "notebook": notebook,
            "trials": trials,
        }  # fmt: skip
    if "index" not in found:
        first = nbformat.v4.new_notebook(cells=[list_of_pages(pages)])
        nbformat.write(first, staging / "index.ipynb")
    for name in DOCS:
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
    """Write the trials that a page shows; returns their address, empty where others are stored today."""
    if provenance is None or provenance.get("study") not in STUDY_NAMES:
        return ""
    profile = provenance["profile"]["profile"]
    # A campaign with settings of its own ships under the name of the profile that it changed.
    for name in (profile, re.sub("-[0-9a-f]{6}$", "", profile)):
        left, own = store.stored(provenance["study"], name)
        if own and all(own.get(key) == provenance.get(key) for key in ("host_id", "last_trial_utc")):
            _write_both(left["trials"], folder / "trials")
            return _address(folder / "trials")
    return ""


def _link_to_others(pages: list[Page], output_dir: Path) -> None:
    """Mark the site with what others show of it, and list all sites in its parent folder, for the campaign switch."""
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
