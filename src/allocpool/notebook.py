"""What every notebook does around its story: check parameters, state the campaign's progress, mark the end.

The end mark is an output of its own kind. Papermill reports a dead kernel as a finished run, so only a notebook that
carries the mark counts as finished, and the site takes the page's provenance and progress from it.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Protocol

import pandas as pd
from IPython.display import HTML, Markdown, display

from allocpool import cells as cell_data
from allocpool.errors import UserError

FINISHED_MIME = "application/vnd.allocpool.finished+json"
_IPYTHON_NAMES = {"In", "Out", "get_ipython", "exit", "quit", "open"}


class Study(Protocol):
    """What a notebook needs of an opened study (see `allocpool.campaign`)."""

    def tables(self) -> dict[str, pd.DataFrame]: ...

    def plan_summary(self) -> pd.DataFrame: ...

    def provenance(self) -> Any: ...


def overrides(namespace: Mapping[str, Any], *known: str) -> dict[str, Any]:
    """The parameters that are set (not None), without ``profile``; UserError for a variable that is no parameter.

    Call it with ``globals()`` right after the parameters cell. Papermill injects whatever it is given and only warns,
    so a misspelt parameter would otherwise leave its default in force without a word.
    """
    given = {
        name
        for name, value in namespace.items()
        if not name.startswith("_")
        and name not in _IPYTHON_NAMES
        and not isinstance(value, types.ModuleType | types.FunctionType | type)
        and not callable(value)
        and not hasattr(value, "compiler_flag")
    }
    unknown = sorted(given - set(known))
    if unknown:
        names = ", ".join(repr(name) for name in unknown)
        raise UserError(f"unknown parameter {names}: choose from {', '.join(known)}")
    return {name: namespace[name] for name in known if name != "profile" and namespace.get(name) is not None}


@dataclass(frozen=True)
class Progress:
    """How far a campaign got, in trials: those planned, and of them the ones ended well, badly, or not at all."""

    planned: int
    ok: int
    failed: int
    unavailable: int
    missing: int

    @property
    def complete(self) -> bool:
        """Whether every planned trial ended well or was named as impossible on this machine."""
        return self.failed == 0 and self.missing == 0

    def sentence(self) -> str:
        """The progress in words, gaps named."""
        if self.complete and not self.unavailable:
            return f"All {self.planned} planned trials finished."
        parts = [f"{self.ok} of {self.planned} planned trials finished"]
        for count, word in ((self.failed, "failed"), (self.unavailable, "are not possible on this machine")):
            parts += [f"{count} {word}"] if count else []
        parts += [f"{self.missing} have not run"] if self.missing else []
        return "; ".join(parts) + "."


def progress(trials: pd.DataFrame, plan: pd.DataFrame, blocks: int) -> Progress:
    """Count a campaign's trials against its plan: each planned configuration once in each of ``blocks`` blocks."""
    planned = int(plan["planned"].sum()) * blocks
    status = trials["status"].value_counts() if len(trials) else pd.Series(dtype=int)
    ok, unavailable = int(status.get("ok", 0)), int(status.get("unavailable", 0))
    failed = int(status.sum()) - ok - unavailable
    return Progress(planned, ok, failed, unavailable, max(0, planned - ok - unavailable - failed))


def facts(provenance: Any) -> dict[str, Any]:
    """A study's provenance as plain JSON data, whether it is a model or a mapping."""
    dump = getattr(provenance, "model_dump", None)
    return dict(dump(mode="json") if dump else provenance)


def study_progress(study: Study) -> Progress:
    """The progress of an opened study from what is on disk, without running anything."""
    trials = study.tables()["trials"]
    blocks = facts(study.provenance()).get("blocks") or (trials["block"].nunique() if len(trials) else 1)
    return progress(trials, study.plan_summary(), int(blocks))


def say(*sentences: str) -> Markdown:
    """Computed prose as one Markdown paragraph."""
    return Markdown(" ".join(sentence for sentence in sentences if sentence))


def figure(drawing: Any, caption: str) -> None:
    """Show a figure inline with its caption below it."""
    display(drawing)  # type: ignore[no-untyped-call]
    display(Markdown(f"*{caption}*"))  # type: ignore[no-untyped-call]


def status_banner(study: Study) -> HTML:
    """The campaign's progress as a coloured line: green when nothing is missing, red when something is."""
    found = study_progress(study)
    colour = "#1b7f3b" if found.complete and not found.unavailable else "#b00020"
    return HTML(
        f'<p style="border-left:5px solid {colour};padding:0.4em 0.8em;margin:0.5em 0">{found.sentence()}</p>'
    )


def finished(name: str, study: Study, answer: str = "") -> None:
    """End a notebook: display the mark with the study's provenance and progress, and the page's one-line answer.

    ``answer`` is Markdown; the site's first page quotes the one of the findings.
    """
    found = study_progress(study)
    trials = cell_data.finished(study.tables()["trials"])
    mark = {
        "notebook": name,
        "answer": answer,
        "progress": asdict(found) | {"complete": found.complete, "sentence": found.sentence()},
        "provenance": facts(study.provenance()),
        "trials": len(trials),
    }
    bundle = {FINISHED_MIME: mark, "text/markdown": f"Finished. {found.sentence()}"}
    display(bundle, raw=True)  # type: ignore[no-untyped-call]
