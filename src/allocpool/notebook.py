"""What every notebook does: check parameters, show figures and tables, report the campaign's progress, mark the end.

Papermill reports a dead kernel as a finished run, so only a notebook with the end mark counts as finished. The site
takes the page's provenance and progress from it.
"""

from __future__ import annotations

import ast
import base64
import hashlib
import html
import io
import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd
from great_tables import GT
from IPython.core.getipython import get_ipython
from IPython.display import HTML, Markdown, display
from matplotlib.figure import Figure

from allocpool import stats
from allocpool.api import command as command
from allocpool.api import source as source
from allocpool.campaign import hosts, profiles, store
from allocpool.campaign.registry import STUDY_NAMES, every_study, module_of
from allocpool.decisions import effect_that_matters, judge_by, judged_by
from allocpool.errors import unknown_choice
from allocpool.evidence import hosts as by_host
from allocpool.evidence import style
from allocpool.evidence.tables import ROWS_MIME, Nothing, Shown, packed, plain_table, region

FINISHED_MIME = "application/vnd.allocpool.finished+json"
_PLAIN = (str, int, float, list, dict, type(None))  # the types of YAML, which papermill can inject
_SCREEN_PX = 760
"""The greatest width of a figure."""
_HEAVY = 150_000
"""A figure of more characters of SVG than this is drawn in pixels instead."""
_IPYTHON_NAMES = {"In", "Out", "get_ipython", "exit", "quit", "open"}


def parameters(namespace: Mapping[str, Any], known: Iterable[str] | None = None) -> dict[str, Any]:
    """Return the notebook's parameters as ``open_study`` takes them: ``{"profile": ..., "overrides": {...}}``.

    Call it with ``globals()`` right after the parameters cell. Papermill injects misspelt names without an error, so
    every variable that is no import counts as a parameter: ``open_study`` refuses those that its profile does not have,
    and a notebook without a study lists its own in ``known``. When the cell is run again, only the variables of its
    first run count and those that the latest parameters cell assigns.

    Raises:
        UserError: a name that is not ``known``.
    """
    shell = get_ipython()
    if shell is not None and shell.display_formatter is not None:
        shell.display_formatter.mimebundle_formatter.for_type(GT, _table_bundle)
        shell.display_formatter.mimebundle_formatter.for_type(pd.DataFrame, _frame_bundle)
    settings = {
        name: value
        for name, value in namespace.items()
        if not name.startswith("_") and name not in _IPYTHON_NAMES and isinstance(value, _PLAIN)
    }
    if isinstance(namespace.get("In"), list):
        first = _FIRST_RUNS.setdefault(id(namespace), frozenset(settings))
        settings = {name: settings[name] for name in settings if name in first | _assigned(namespace["In"])}
    unknown = sorted(set(settings) - set(known)) if known is not None else []
    if known is not None and unknown:
        raise unknown_choice("parameter", ", ".join(unknown), known)
    profile = settings.pop("profile")
    return {"profile": profile, "overrides": settings}


_FIRST_RUNS: dict[int, frozenset[str]] = {}


def _assigned(cells: Sequence[str]) -> set[str]:
    """The names that the latest executed cell which assigns ``profile`` assigns."""
    for text in reversed(cells):
        try:
            statements = ast.parse(text).body
        except SyntaxError:  # a magic of IPython
            continue
        targets = (each for found in statements if isinstance(found, ast.Assign) for each in found.targets)
        if "profile" in (names := {each.id for each in targets if isinstance(each, ast.Name)}):
            return names
    return set()


def judged(of: Any) -> Any:
    """Set the page's rule to that of its study, or of the first page's results; returns its argument."""
    judge_by(of.rule)
    return of


def summaries(profile: str) -> Markdown:
    """List each study of the profile with its question, a link to its page, and its summary."""
    asked = profiles.studies_of(profile) if profile in profiles.names() else STUDY_NAMES
    lines = []
    for study in every_study():
        if study.name in asked or store.stored_folder(study.name, profile):
            with judged_by(store.rule_of(profile, study.name)):
                summary = module_of(study.name, "story").summary(profile)
            summary = " ".join(summary.split("\n\n")[0].split())
            lines.append(f"- [{study.question}]({study.notebook}.ipynb) {summary}")
    return Markdown("\n".join(lines))


def elsewhere(profile: str) -> None:
    """Show what several hosts agree on, where a fleet or an archive brought results of others."""
    questions = hosts.questions_of_hosts(profile)
    together = hosts.combined(questions)
    if together.empty:
        show(say(by_host.ONE_HOST, hosts.mixed(profile)))
        return
    counts = by_host.agreement(questions, together)
    show(plain_table(counts, f"{questions['host_id'].nunique()} hosts"), say(hosts.mixed(profile)))
    if together["primary"].astype(bool).any():
        note = (
            "Intervals hold at any look; that of the mean over hosts is Student's, each host counting the same, and is "
            "cut at the ends of the axis."
        )
        figure(by_host.forest(questions, together), f"Comparisons on which hosts differ most. {note}")


def progress(provenance: Mapping[str, Any]) -> dict[str, Any]:
    """Return how far a campaign is, in trials (``repeated``: of those that were disturbed), whether it is complete (all
    ended well or are impossible on this machine), and that in a sentence."""
    failed = sum(count for status, count in provenance["statuses"].items() if status != "ok")
    counts = {
        "planned": provenance["planned"], "ok": provenance["statuses"].get("ok", 0), "failed": failed,
        "unavailable": sum(provenance["unavailable"].values()), "missing": provenance["missing"],
        "repeated": provenance.get("repeated", 0),
    }  # fmt: skip
    words = {"failed": "failed", "unavailable": "are not possible on this machine", "missing": "have not run"}
    lacking = [f"{counts[name]} {word}" for name, word in words.items() if counts[name]]
    done = f"{counts['ok']} of {counts['planned']}" if lacking else f"All {counts['planned']}"
    sentence = "; ".join([f"{done} planned trials finished", *lacking])
    again = f" {counts['repeated']} had been disturbed and ran again." if counts["repeated"] else ""
    return {**counts, "complete": not failed and not counts["missing"], "sentence": f"{sentence}.{again}"}


def say(*sentences: str) -> Markdown:
    return Markdown(" ".join(sentence for sentence in sentences if sentence))


def figure(drawing: Figure, caption: str) -> None:
    """Show a figure with its caption, text alternative and rows; of an empty figure, a sentence."""
    if because := style.why_nothing(drawing):
        show(Nothing(because=(because,)))
        return
    style.readable(drawing)
    words = str(drawing.get_label() or style.describe(drawing, caption).get_label())
    key = "f" + hashlib.sha256(f"{words}{caption}".encode()).hexdigest()[:8]
    picture = style.svg(drawing, key)
    if len(picture) > _HEAVY:
        picture = _pixels(drawing, words)
    picture = f'<figure class="drawn" style="margin:0;max-width:{_SCREEN_PX}px">{picture}</figure>'
    rows = style.rows_of(drawing)
    behind = {} if rows is None else {ROWS_MIME: packed(caption.partition(". ")[0], rows)}
    display({"text/html": picture, "text/plain": words, **behind}, raw=True)
    display(Markdown(f"*{caption}*"))


_TABLE_NUMBERS = itertools.count(1)


def _pixels(drawing: Figure, words: str) -> str:
    """Return the figure as a picture with its size: without, a page that fetches it late would move what is below."""
    drawn_webp = io.BytesIO()
    density = 1.5 * _SCREEN_PX / drawing.get_figwidth()
    drawing.savefig(drawn_webp, format="webp", dpi=density, facecolor="white", pil_kwargs={"quality": 80})
    data = base64.b64encode(drawn_webp.getvalue()).decode()
    height_px = round(_SCREEN_PX * drawing.get_figheight() / drawing.get_figwidth())
    return (
        f'<img src="data:image/webp;base64,{data}" width="{_SCREEN_PX}" height="{height_px}" '
        f'style="max-width:100%;height:auto" alt="{html.escape(words, quote=True)}">'
    )


def _table_bundle(table: GT, **_asked: Any) -> dict[str, Any]:
    """Return a table with a unique id, in a region that scrolls, with its rows."""
    title = str(table._heading.title or "Table")
    inner = table.with_id(f"table{next(_TABLE_NUMBERS)}").as_raw_html()
    rows = packed(title, pd.DataFrame(table._tbl_data))
    return {"text/html": region(inner, title), "text/plain": title, ROWS_MIME: rows}


def _frame_bundle(frame: pd.DataFrame, **_asked: Any) -> dict[str, Any]:
    """Return a frame in a region that scrolls; the first and last rows, but of a comparison all."""
    most = None if "margin" in frame.attrs else 10
    inner = frame.to_html(max_rows=most, max_cols=12, float_format=stats.significant, na_rep="-")
    inner = inner.replace("<th></th>", "<td></td>")  # an empty header cell is none to a screen reader
    return {"text/html": region(inner, f"Rows: {', '.join(map(str, frame.columns[:3]))}"), "text/plain": repr(frame)}


def show(*shown: GT | Markdown | HTML | Shown | Nothing) -> None:
    """Show tables, sentences and banners, one below the other; Jupyter shows only the last expression of a cell.

    Empty paragraphs are left out. What there is nothing of is listed in one sentence, at the end.
    """
    absent = Nothing()
    for part in shown:
        if isinstance(part, Nothing):
            absent += part
        elif not isinstance(part, Markdown) or part.data.strip():
            display(part)
    if absent.data:
        display(absent)


def status_banner(provenance: Mapping[str, Any]) -> HTML:
    """Return the campaign's progress as a coloured line (green: nothing missing, red: trials failed, else amber), with
    its equivalence margin and the settings that are not the profile's."""
    found = progress(provenance)
    whole = found["complete"] and not found["unavailable"]
    colour = "#1b7f3b" if whole else "#b00020" if found["failed"] else "#c98a00"
    style = f"border-left:5px solid {colour};padding:0.4em 0.8em;margin:0.5em 0"
    words = f"{found['sentence']} {stats.matters_from(effect_that_matters())}"
    if (boots := provenance.get("boots", 1)) > 1:
        words += f" The machine was started {boots} times: costs are over its pace around each trial."
    if others := provenance.get("other_settings"):
        items = "".join(f"<li>{html.escape(each)}</li>" for each in others)
        summary = f"{stats.plural(len(others), 'setting')} of this campaign changed from the profile's"
        words += f"<details><summary>{summary}</summary><ul>{items}</ul></details>"
    return HTML(f'<div style="{style}">{words}</div>')


def finished(name: str, provenance: Mapping[str, Any], answer: str = "") -> None:
    """End a notebook: display the mark with the study's provenance and progress, and the page's answer, Markdown."""
    found = progress(provenance)
    mark = {"notebook": name, "answer": answer, "progress": found, "provenance": dict(provenance)}
    display({FINISHED_MIME: mark, "text/markdown": f"Finished. {found['sentence']}"}, raw=True)
