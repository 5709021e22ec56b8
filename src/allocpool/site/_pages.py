"""What a page says about itself: whether its notebook finished, what is missing, and where its numbers come
from."""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from allocpool.notebook import FINISHED_MIME

FINDINGS = "00_findings"
ERROR_SUFFIX = ".error.txt"


@dataclass(frozen=True)
class Page:
    """One notebook as the site shows it.

    ``notebook`` is None when it was not executed; ``mark`` is its end mark, None unless it ran to its end;
    ``problem`` is one line that says what went wrong, None when nothing did.
    """

    name: str
    title: str
    notebook: NotebookNode | None
    mark: Mapping[str, Any] | None
    problem: str | None

    @property
    def provenance(self) -> Mapping[str, Any] | None:
        return self.mark["provenance"] if self.mark else None

    @property
    def state(self) -> str:
        """The page's state in one line, for the list of pages."""
        if self.mark is None:
            return self.problem or "not run"
        return str(self.mark["progress"]["sentence"])


def read_page(source: Path, executed: Path) -> Page:
    """The page of one notebook: ``source`` as stored, ``executed`` where its executed copy is or should
    be."""
    title = _title(_read(source)) or source.stem
    reason = executed.with_suffix(ERROR_SUFFIX)
    failure = reason.read_text(encoding="utf-8").strip() if reason.is_file() else None
    if not executed.is_file():
        return Page(source.stem, title, None, None, failure or "this notebook was not run")
    notebook = _read(executed)
    mark = _end_mark(notebook)
    if mark is None or failure:
        return Page(source.stem, title, notebook, None, failure or _last_error(notebook))
    return Page(source.stem, title, notebook, mark, None)


def _read(path: Path) -> NotebookNode:
    notebook: NotebookNode = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    return notebook


def _title(notebook: NotebookNode) -> str | None:
    for cell in notebook.cells:
        if cell.cell_type == "markdown" and cell.source.startswith("# "):
            return str(cell.source.splitlines()[0].removeprefix("# ").strip())
    return None


def _outputs(notebook: NotebookNode) -> list[NotebookNode]:
    return [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.get("outputs", [])]


def _end_mark(notebook: NotebookNode) -> Mapping[str, Any] | None:
    for output in reversed(_outputs(notebook)):
        if FINISHED_MIME in output.get("data", {}):
            mark: Mapping[str, Any] = output["data"][FINISHED_MIME]
            return mark
    return None


def _last_error(notebook: NotebookNode) -> str:
    """The last line of the last error in a notebook that did not reach its end."""
    errors = [output for output in _outputs(notebook) if output.output_type == "error"]
    if not errors:
        return "the notebook stopped before its end without an error: its kernel died or was stopped"
    last = f"{errors[-1].ename}: {errors[-1].evalue}".strip().splitlines()
    return last[-1]


def provenance_box(provenance: Mapping[str, Any] | None) -> str:
    """The HTML box on every page: one line always in sight, every recorded fact when opened."""
    if provenance is None:
        return '<div class="provenance"><p>No provenance: nothing on this page was measured.</p></div>'
    rows = "".join(
        f"<tr><th>{html.escape(name)}</th><td>{html.escape(value)}</td></tr>" for name, value in flattened(provenance)
    )
    return (
        f'<details class="provenance"><summary>{html.escape(summary_line(provenance))}</summary>'
        f"<table>{rows}</table></details>"
    )


def summary_line(provenance: Mapping[str, Any]) -> str:
    """Host, date, commit, profile and number of trials in one line; what was not recorded is called
    unknown."""
    host = provenance["host"]
    memory_gib = round(host["memory_mb"] / 1024)
    first, last = (str(provenance[key] or "")[:10] for key in ("first_trial_utc", "last_trial_utc"))
    date = first if first == last else f"{first} to {last}"
    commits = ", ".join(
        commit[:10] + ("-dirty" if commit.endswith("-dirty") else "") for commit in provenance["git_commits"]
    )
    trials = provenance["statuses"].get("ok", 0)
    return (
        f"Measured on {host['cpu_model']} ({host['logical_cores']} hardware threads, {memory_gib} GiB), "
        f"{date or 'no date yet'}, commit {commits or 'unknown'}, profile {provenance['profile']['profile']}, "
        f"n = {trials} trials"
    )


def flattened(facts: Mapping[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    """Nested facts as (name, text) rows, names joined by dots."""
    rows: list[tuple[str, str]] = []
    for name, value in facts.items():
        if isinstance(value, Mapping) and value:
            rows += flattened(value, f"{prefix}{name}.")
        elif isinstance(value, list | tuple):
            rows.append((f"{prefix}{name}", ", ".join(str(item) for item in value) or "none"))
        else:
            rows.append((f"{prefix}{name}", "none" if value in (None, {}) else str(value)))
    return rows


def banner(page: Page) -> str:
    """A banner for a page whose notebook or campaign is not whole; empty when nothing is missing."""
    if page.mark is None:
        heading = "This notebook failed" if page.notebook is not None else "This page is a gap"
        return _banner("failed", heading, page.problem or "")
    progress = page.mark["progress"]
    if not progress["complete"]:
        return _banner("failed", "Incomplete campaign", progress["sentence"])
    if progress["unavailable"]:
        return _banner("partial", "Not everything runs on this machine", progress["sentence"])
    return ""


def _banner(kind: str, heading: str, text: str) -> str:
    return f'<div class="campaign-banner {kind}" role="alert"><strong>{heading}.</strong> {html.escape(text)}</div>'


def prepared(executed: NotebookNode) -> NotebookNode:
    """An executed notebook as the site shows it: code folded, the end mark's code left out."""
    notebook: NotebookNode = nbformat.from_dict(executed)  # type: ignore[no-untyped-call]
    for cell in notebook.cells:
        if cell.cell_type == "code":
            ends = any(FINISHED_MIME in output.get("data", {}) for output in cell.get("outputs", []))
            tags = cell.metadata.setdefault("tags", [])
            tags.append("remove-input" if ends else "hide-input")
    return notebook


def gap_page(page: Page) -> NotebookNode:
    """The page of a notebook that has no executed copy: a notebook too, so that links to it stay good."""
    text = f"# {page.title}\n\nThere is nothing to see here: {_one_line(page.problem or '')}."
    cell = nbformat.v4.new_markdown_cell(text)  # type: ignore[no-untyped-call]
    gap: NotebookNode = nbformat.v4.new_notebook(cells=[cell])  # type: ignore[no-untyped-call]
    return gap


def readme_introduction(readme: Path) -> str:
    """README's text between its title and its first section, without images and links out of the page."""
    if not readme.is_file():
        return ""
    lines = []
    for line in readme.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            break
        if not line.startswith("# "):
            lines.append(line)
    return "\n".join(lines).strip()


def index_text(pages: list[Page], introduction: str) -> str:
    """The first page: the answer as the findings computed it, the question, and every page with its state."""
    findings = next((page for page in pages if page.name == FINDINGS), None)
    answer = str(findings.mark["answer"]) if findings and findings.mark else ""
    if not answer:
        answer = f"No answer yet: {findings.state if findings else 'the findings were not run'}."
    listed = "\n".join(f"| [{page.title}]({page.name}) | {_one_line(page.state)} |" for page in pages)
    contents = "\n".join(page.name for page in pages)
    return (
        f"# The answer\n\n{answer}\n\n## The question\n\n{introduction}\n\n"
        f"## Pages\n\n| page | state |\n| --- | --- |\n{listed}\n\n"
        f"```{{toctree}}\n:hidden:\n:maxdepth: 1\n\n{contents}\n```\n"
    )


_MARKUP = str.maketrans({mark: f"\\{mark}" for mark in "\\`*_{}[]<>#$|"})


def _one_line(text: str) -> str:
    """Text from outside as one line of Markdown that says just that: no markup, no HTML."""
    return html.escape(" ".join(text.split()), quote=False).translate(_MARKUP)
