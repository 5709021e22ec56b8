"""What a page says about itself: whether its notebook finished, what is missing, and where its numbers come
from."""

from __future__ import annotations

import html
import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import NoneType
from typing import Any, get_args

import nbformat
from nbformat import NotebookNode

from allocpool.campaign.registry import STUDY_NAMES, study_named
from allocpool.evidence.shown import NOTHING_MIME
from allocpool.notebook import FINISHED_MIME

FINDINGS = "00_findings"
DOCS = ("compare", "glossary")
"""Pages of ``docs/`` that the site has too."""
ERROR_SUFFIX = ".error.txt"


@dataclass(frozen=True)
class Page:
    """One notebook as the site shows it.

    ``notebook`` is None when it was not executed; ``mark`` is its end mark, None unless it ran to its end;
    ``problem`` is in one line what went wrong, None when nothing did.
    """

    name: str
    title: str
    notebook: NotebookNode | None
    mark: Mapping[str, Any] | None
    problem: str | None

    @property
    def address(self) -> str:
        """Its name on the site: the findings are the first page."""
        return "index" if self.name == FINDINGS else self.name

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
    """Return the page of one notebook: ``source`` as stored, ``executed`` where its executed copy is or should be."""
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
    notebook: NotebookNode = nbformat.read(path, as_version=4)
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
    """Return the last line of the last error in a notebook that did not reach its end."""
    errors = [output for output in _outputs(notebook) if output.output_type == "error"]
    if not errors:
        return "the notebook stopped before its end without an error: its kernel died or was stopped"
    last = f"{errors[-1].ename}: {errors[-1].evalue}".strip().splitlines()
    return last[-1]


_GROUPS = {
    "trials": ("Trials", ("first_trial_utc", "last_trial_utc", "planned", "statuses", "unavailable", "missing",
                          "repeated", "measured_seconds")),
    "host": ("Machine", ("host", "host_id")),
    "code": ("Code", ("git_commits", "code_hashes", "runtimes", "compilers")),
    "profile": ("Settings of the campaign", ("study", "profile")),
}  # fmt: skip


def provenance_box(provenance: Mapping[str, Any] | None) -> str:
    """Return the HTML box on every page: one line always in sight, every recorded fact when opened, by what it is
    about."""
    if provenance is None:
        return '<div class="provenance"><p>No provenance: nothing on this page was measured.</p></div>'
    known = {name for _, names in _GROUPS.values() for name in names}
    other = ("Besides", tuple(name for name in provenance if name not in known))
    parts = []
    for heading, names in (*_GROUPS.values(), other):
        facts = {name: provenance[name] for name in names if name in provenance}
        rows = "".join(
            _setting(name, value, str(provenance.get("study"))) if heading == _GROUPS["profile"][0]
            else f'<tr><th scope="row">{html.escape(in_words(name))}</th><td>{html.escape(value)}</td></tr>'
            for name, value in flattened(facts)
        )  # fmt: skip
        parts += [f"<h2>{heading}</h2><table>{rows}</table>"] if rows else []
    return (
        f'<details class="provenance"><summary>{html.escape(summary_line(provenance))}</summary>'
        f'<div class="provenance-facts" tabindex="0" role="region" aria-label="Provenance">{"".join(parts)}</div>'
        "</details>"
    )


def _setting(name: str, value: str, study: str) -> str:
    """Return a row of the settings: in words, as one types it, and its description in the profile's model."""
    keys = name.removeprefix("profile.").split(".")
    return (
        f'<tr><th scope="row">{html.escape(in_words(name))}</th><td><code>{html.escape(value)}</code> '
        f"{html.escape(_meaning(keys, study))}</td></tr>"
    )


def _meaning(keys: list[str], study: str) -> str:
    """Return the description of a profile's key, inside the models in it; empty where there is none, or no such key
    today."""
    model: Any = study_named(study).profile_model if study in STUDY_NAMES else None
    found = ""
    for key in keys:
        field = getattr(model, "model_fields", {}).get(key)
        found, model = (field.description or "", field.annotation) if field else ("", _item_of(model))
        if NoneType in get_args(model):
            model = _item_of(model)
    return found


def _item_of(model: Any) -> Any:
    """Return what a mapping or a list of a profile holds, each item under its name or its place."""
    return next((one for one in get_args(model) if get_args(one) or hasattr(one, "model_fields")), None)


_UNITS = {"mb": "in MB", "seconds": "in s", "ns": "in ns", "ms": "in ms", "utc": "(UTC)", "s": "in s"}


def in_words(name: str) -> str:
    """Return a recorded name as a reader reads it: ``host.memory_mb`` is ``memory, in MB``."""
    *words, last = name.removeprefix("host.").removeprefix("profile.").replace(".", ": ").split("_")
    unit = _UNITS.get(last) if words else None
    found = " ".join(words) if unit else " ".join((*words, last))
    return f"{found}, {unit}" if unit and not unit.startswith("(") else f"{found} {unit}" if unit else found


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
        elif isinstance(value, list | tuple) and any(isinstance(item, Mapping) for item in value):
            rows += flattened({str(place): item for place, item in enumerate(value, 1)}, f"{prefix}{name}.")
        elif isinstance(value, list | tuple):
            rows.append((f"{prefix}{name}", ", ".join(str(item) for item in value) or "none"))
        else:
            rows.append((f"{prefix}{name}", "none" if value in (None, {}) else str(value)))
    return rows


def banner(page: Page) -> str:
    """Return a banner for a page whose notebook or campaign is not whole; empty when nothing is missing."""
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
"""The start of a directive: cells compute none, so one is text from elsewhere that would have Sphinx read files."""
_TO_LAST_HEADING = re.compile(r"(?s)(?:.*\n)?##+ [^\n]*")
_UNSHOWN = {"application/vnd.jupyter.widget-view+json", FINISHED_MIME}


def prepared(executed: NotebookNode) -> NotebookNode:
    """Return an executed notebook as the site shows it: tables in the site's dress, links to the first page, no bars of
    progress, no end mark, nothing said on the way to what was not measured."""
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
    _shorten_empty_sections(notebook)
    return notebook


def _shorten_empty_sections(notebook: NotebookNode) -> None:
    """Leaves of a section whose code showed nothing but that there is nothing its heading, which links lead to."""
    texts = [place for place, cell in enumerate(notebook.cells) if cell.cell_type == "markdown"]
    for here, after in itertools.pairwise((*texts, len(notebook.cells))):
        outputs = [output for cell in notebook.cells[here + 1 : after] for output in cell.outputs]
        to_heading = _TO_LAST_HEADING.match(notebook.cells[here].source)
        if to_heading and outputs and all(NOTHING_MIME in output.get("data", {}) for output in outputs):
            notebook.cells[here].source = to_heading[0]


def gap_page(page: Page) -> NotebookNode:
    """Return the page of a notebook that has no executed copy: a notebook too, so that links to it stay good."""
    text = f"# {page.title}\n\nThere is nothing to see here: {_one_line(page.problem or '')}."
    cell = nbformat.v4.new_markdown_cell(text)
    gap: NotebookNode = nbformat.v4.new_notebook(cells=[cell])
    return gap


def list_of_pages(pages: list[Page]) -> NotebookNode:
    """Return the end of the first page: every page with its state."""
    others = [page for page in pages if page.name != FINDINGS]
    listed = "\n".join(f"| [{page.title}]({page.name}) | {_one_line(page.state)} |" for page in others)
    contents = "\n".join([*(page.name for page in others), *DOCS])
    cell: NotebookNode = nbformat.v4.new_markdown_cell(
        f"## Pages\n\n| page | state |\n| --- | --- |\n{listed}\n\n"
        f"```{{toctree}}\n:hidden:\n:maxdepth: 1\n\n{contents}\n```\n"
    )
    return cell


_LANDMARKS = {'<aside class="sidebar-drawer': "Pages", '<aside class="toc-drawer': "On this page"}


def with_names(page: str) -> str:
    """Return a page whose two asides have names, by which who can't see them distinguishes them."""
    for aside, name in _LANDMARKS.items():
        page = page.replace(aside, aside.replace("<aside ", f'<aside aria-label="{name}" '))
    return page


_MARKUP = str.maketrans({mark: f"\\{mark}" for mark in "\\`*_{}[]<>#$|"})


def _one_line(text: str) -> str:
    """Text from outside as one line of Markdown that says just that: no markup, no HTML."""
    return html.escape(" ".join(text.split()), quote=False).translate(_MARKUP)
