"""What every notebook does around its story: check parameters, state the campaign's progress, mark the end.

The end mark is an output of its own kind. Papermill reports a dead kernel as a finished run, so only a
notebook that carries the mark counts as finished, and the site takes the page's provenance and progress
from it.
"""

from __future__ import annotations

import ast
import base64
import hashlib
import html
import io
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol, TypeVar, cast

import pandas as pd
from great_tables import GT
from IPython.core.getipython import get_ipython
from IPython.display import HTML, Markdown, display
from matplotlib.figure import Figure

from allocpool import stats
from allocpool.api import command as command
from allocpool.api import source as source
from allocpool.campaign import hosts, profiles, store
from allocpool.campaign.registry import STUDY_NAMES, every_study, room
from allocpool.campaign.study import Study
from allocpool.decisions import effect_that_matters, judge_by, judged_by
from allocpool.errors import unknown_choice
from allocpool.evidence import hosts as by_host
from allocpool.evidence import style
from allocpool.evidence.drawn import drawn
from allocpool.evidence.shown import ROWS_MIME, Nothing, Shown, packed, region

FINISHED_MIME = "application/vnd.allocpool.finished+json"
_PLAIN = (str, int, float, list, dict, type(None))  # what YAML can say, so what papermill can inject
_SCREEN_PX = 760
"""How wide a figure becomes where there is room."""
_HEAVY = 150_000
"""Of more characters than this a figure of thousands of marks is drawn in pixels instead."""
_IPYTHON_NAMES = {"In", "Out", "get_ipython", "exit", "quit", "open"}


def parameters(namespace: Mapping[str, Any], known: Iterable[str] | None = None) -> dict[str, Any]:
    """The notebook's parameters in the form ``open_study`` takes: ``{"profile": ..., "overrides": {...}}``.

    Call it with ``globals()`` right after the parameters cell. Papermill injects whatever it is given and
    only warns of a name that is no parameter, so a misspelt one would leave its default in force without a
    word. Here every variable that is no import counts as a parameter: ``open_study`` refuses the names that
    its profile does not have, and a notebook without a study names what it takes in ``known``. When the cell is run
    again, variables that later cells have made are none: only those of its first run count, and those that the latest
    parameters cell assigns.
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


class _HasEffect(Protocol):
    """What is judged by the effect that matters to its profile."""

    @property
    def effect(self) -> float: ...


_Judged = TypeVar("_Judged", bound=_HasEffect)


def judged(of: _Judged) -> _Judged:
    """The study of a page, or what the first page is about: from here on the page judges by the effect that matters to
    its profile."""
    judge_by(of.effect)
    return of


def stored(study: str, profile: str) -> tuple[pd.DataFrame, dict[str, Any] | None]:
    """The trials and the provenance that a campaign left, without a run; no rows and None if it left none."""
    tables, provenance = store.stored(study, profile)
    return tables["trials"], provenance


def answers(profile: str) -> Iterator[tuple[Study[Any], str]]:
    """What to take home from every study that the profile has or that ran under it, in a paragraph; each judged by the
    effect that matters to it."""
    asked = profiles.studies_of(profile) if profile in profiles.names() else STUDY_NAMES
    for study in every_study():
        if study.name not in asked and store.stored(study.name, profile)[1] is None:
            continue
        with judged_by(store.effect_of(profile, study.name)):
            found = room(study.name, "story").take_home(profile)
        yield study, " ".join(found.split("\n\n")[0].split())


def take_homes(profile: str) -> Markdown:
    """The `answers`, each after its question, which leads to its page."""
    return say("\n".join(f"- [{study.question}]({study.notebook}.ipynb) {found}" for study, found in answers(profile)))


def elsewhere(profile: str) -> None:
    """What holds on other hosts too, as far as a fleet or an archive has brought some: in words, and host by host."""
    questions = hosts.questions_of_hosts(profile)
    together = hosts.combined(questions)
    show(say(by_host.agreement(questions, together), hosts.mixed(profile)))
    if len(by_host.furthest_apart(together)):
        figure(by_host.forest(questions, together), by_host.forest_caption(together))


@dataclass(frozen=True)
class Progress:
    """How far a campaign got, in trials: those planned, and of them the ones ended well, badly, or not at
    all."""

    planned: int
    ok: int
    failed: int
    unavailable: int
    missing: int
    repeated: int = 0
    """Of those that ended, the ones that had been disturbed and were run again."""

    @property
    def complete(self) -> bool:
        """Whether every planned trial ended well or was named as impossible on this machine."""
        return self.failed == 0 and self.missing == 0

    def sentence(self) -> str:
        """The progress in words, gaps named."""
        again = f" {self.repeated} had been disturbed and ran again." if self.repeated else ""
        if self.complete and not self.unavailable:
            return f"All {self.planned} planned trials finished.{again}"
        parts = [f"{self.ok} of {self.planned} planned trials finished"]
        for count, word in ((self.failed, "failed"), (self.unavailable, "are not possible on this machine")):
            parts += [f"{count} {word}"] if count else []
        parts += [f"{self.missing} have not run"] if self.missing else []
        return "; ".join(parts) + f".{again}"


def progress(provenance: Mapping[str, Any]) -> Progress:
    """The progress that a study's provenance reports."""
    statuses = dict(provenance["statuses"])
    ok = int(statuses.pop("ok", 0))
    unavailable = sum(provenance["unavailable"].values())
    return Progress(
        provenance["planned"],
        ok,
        sum(statuses.values()),
        unavailable,
        provenance["missing"],
        provenance.get("repeated", 0),
    )


def say(*sentences: str) -> Markdown:
    """Computed prose as one Markdown paragraph."""
    return Markdown(" ".join(sentence for sentence in sentences if sentence))


def figure(drawing: Figure, caption: str) -> None:
    """Show a figure inline with its caption; who can't see it gets the words that it carries, in JupyterLab as well.

    The rows that it shows go with it. Of an empty figure there is a sentence in its place.
    """
    if because := style.why_nothing(drawing):
        show(Nothing(because=(because,)))
        return
    words = style.alt(drawing) or style.alt(style.describe(drawing, caption))
    key = "f" + hashlib.sha256(f"{words}{caption}".encode()).hexdigest()[:8]
    picture = style.svg(drawing, key)
    if len(picture) > _HEAVY:
        picture = _pixels(drawing, words)
    picture = f'<figure class="drawn" style="margin:0;max-width:{_SCREEN_PX}px">{picture}</figure>'
    behind = style.rows_of(drawing)
    rows = packed(caption.partition(". ")[0], drawn(drawing) if behind is None else behind)
    display({"text/html": picture, "text/plain": words, ROWS_MIME: rows}, raw=True)
    display(Markdown(f"*{caption}*"))


_TABLE_NUMBERS = itertools.count(1)


def _pixels(drawing: Figure, words: str) -> str:
    """The figure as a picture, dense enough for screens of today; with its size, or a page that fetches it late would
    move what is below."""
    drawn_webp = io.BytesIO()
    density = 1.5 * _SCREEN_PX / drawing.get_figwidth()
    drawing.savefig(
        drawn_webp, format="webp", dpi=density, facecolor="white", pil_kwargs={"quality": 80}, **style.whole(drawing)
    )
    data = base64.b64encode(drawn_webp.getvalue()).decode()
    height_px = round(_SCREEN_PX * drawing.get_figheight() / drawing.get_figwidth())
    return (
        f'<img src="data:image/webp;base64,{data}" width="{_SCREEN_PX}" height="{height_px}" '
        f'style="max-width:100%;height:auto" alt="{html.escape(words, quote=True)}">'
    )


def _table_bundle(table: GT, **_asked: Any) -> dict[str, Any]:
    """A table as JupyterLab and pages show it: no id twice on a page, a region that scrolls, its rows beside it."""
    title = str(table._heading.title or "Table")
    inner = table.with_id(f"table{next(_TABLE_NUMBERS)}").as_raw_html()
    rows = packed(title, pd.DataFrame(table._tbl_data))
    return {"text/html": region(inner, title), "text/plain": title, ROWS_MIME: rows}


def _frame_bundle(frame: pd.DataFrame, **_asked: Any) -> dict[str, Any]:
    """A frame as JupyterLab and pages show it: in a region that scrolls, where it brings none."""
    plain, own = type(frame) is pd.DataFrame, cast(Any, frame)  # a comparison brings its own
    # An empty header cell is none to a screen reader.
    inner = (
        frame.to_html(max_rows=10, max_cols=12).replace("<th></th>", "<td></td>") if plain else str(own._repr_html_())
    )
    label = f"Rows: {', '.join(map(str, frame.columns[:3]))}"
    return {"text/html": region(inner, label) if plain else inner, "text/plain": repr(frame)}


def show(*shown: GT | Markdown | HTML | Shown | Nothing) -> None:
    """Tables, sentences and banners, one below the other; of a cell's own expressions, Jupyter shows the last alone.

    A paragraph of nothing is left out: it would be shown as the name of its class. What there is nothing of is listed
    in one sentence, at the end.
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
    """The campaign's progress as a coloured line: green when nothing is missing, red when trials failed, else amber;
    with what settings, where these are not the profile's; and from where on a difference matters."""
    campaign_progress = progress(provenance)
    whole = campaign_progress.complete and not campaign_progress.unavailable
    colour = "#1b7f3b" if whole else "#b00020" if campaign_progress.failed else "#c98a00"
    style = f"border-left:5px solid {colour};padding:0.4em 0.8em;margin:0.5em 0"
    found = f"{campaign_progress.sentence()} {stats.matters_from(effect_that_matters())}"
    return HTML(f'<div style="{style}">{found}{_other_settings(provenance.get("other_settings") or ())}</div>')


def _other_settings(others: Sequence[str]) -> str:
    """The settings of a campaign that are not its profile's, folded: there can be dozens."""
    if not others:
        return ""
    items = "".join(f"<li>{html.escape(each)}</li>" for each in others)
    summary = f"This campaign has {stats.plural(len(others), 'setting')} of its own, not the profile's"
    return f"<details><summary>{summary}</summary><ul>{items}</ul></details>"


def finished(name: str, provenance: Mapping[str, Any], answer: str = "") -> None:
    """End a notebook: display the mark with the study's provenance and progress, and the page's own answer.

    ``answer`` is Markdown; the site's first page quotes the one of the findings.
    """
    campaign_progress = progress(provenance)
    mark = {
        "notebook": name,
        "answer": answer,
        "progress": asdict(campaign_progress)
        | {"complete": campaign_progress.complete, "sentence": campaign_progress.sentence()},
        "provenance": dict(provenance),
    }
    bundle = {FINISHED_MIME: mark, "text/markdown": f"Finished. {campaign_progress.sentence()}"}
    display(bundle, raw=True)
