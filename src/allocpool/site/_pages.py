"""What a page shows around its notebook: whether it finished, what is missing, and its provenance."""

from __future__ import annotations

import html
import itertools
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
import yaml
from nbformat import NotebookNode

from allocpool.campaign.profiles import FINDINGS
from allocpool.evidence.shown import NOTHING_MIME
from allocpool.findings import machine
from allocpool.notebook import FINISHED_MIME

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
    """Return text from outside as one line of Markdown without markup or HTML."""
    return html.escape(" ".join(text.split()), quote=False).translate(_MARKUP)
