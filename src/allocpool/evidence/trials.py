"""What every table of trials has: how each trial ended, why it failed, and what disturbed it."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import pandas as pd

from allocpool.trial.noise import DISTURBED_BEYOND, REASONS

_FEW = 0.1
"""The share of trials that may be disturbed on a quiet machine."""


def records(rows: pd.DataFrame) -> list[Any]:
    """Return the rows as untyped named tuples."""
    return list(rows.itertuples())


_COLLECTOR = r"((?:gen(?:erational|\.) )?[A-Z]\w*)"
_LABEL = re.compile(rf"([a-z][a-z_ ]*) / {_COLLECTOR} / (\d+)(?: / (.+))?")
"""A configuration of Java in stored tables: layout, collector, release, options."""
_INSIDE = re.compile(rf"\b([a-z][a-z_]*) / {_COLLECTOR} / (\d+)\b")
"""The same within a text, without options."""


def spelled_out(cell: Any) -> Any:
    """Return ``G1, JDK 25`` for ``heap / G1 / 25``, alone or within a text; any other cell as it is."""
    if not isinstance(cell, str):
        return cell
    found = _LABEL.fullmatch(cell)
    return _words(*found.groups()) if found else _INSIDE.sub(lambda label: _words(*label.groups()), cell)


def _words(layout: str, collector: str, release: str, options: str | None = None) -> str:
    words = [collector, f"JDK {release}", "" if layout == "heap" else f"{layout} buffers", options or ""]
    return ", ".join(filter(None, words))


def counted(trials: pd.DataFrame) -> pd.DataFrame:
    """Return each trial once: without those that were disturbed and repeated."""
    return trials[trials["status"] != "disturbed"]


def finished(trials: pd.DataFrame) -> pd.DataFrame:
    """Return the trials that ended well."""
    return trials[trials["status"] == "ok"]


def newest_release(trials: pd.DataFrame, after: int, otherwise: int) -> int:
    """Return the newest feature release of Java that ``trials`` ran on, if newer than ``after``, else ``otherwise``."""
    newest = max(trials["runtime"].dropna().astype(int), default=0)
    return newest if newest > after else otherwise


class Gap(NamedTuple):
    """Why there is no figure: the outcome in a word or two, and the recorded reason, if any."""

    word: str
    reason: str | None = None

    @property
    def text(self) -> str:
        """``out of memory: Java heap space``, or the word alone."""
        return f"{self.word}: {self.reason}" if self.reason else self.word


NOT_RUN = Gap("not run yet")
NOT_PART = Gap("not part of this campaign")


def gap_of(group: pd.DataFrame) -> Gap:
    """Return why a group of trials has no figure: the commonest failure with the first reason recorded for it."""
    # Column by column: there are some hundred, and thousands of groups.
    ends = group["status"]
    failed = ends[~ends.isin(("ok", "disturbed"))]
    if failed.empty:
        return Gap("no figure") if (ends == "ok").any() else NOT_PART
    status = str(failed.mode().iloc[0])
    reasons = group["reason"][(ends == status).to_numpy()].dropna()
    return Gap(status.replace("_", " "), str(reasons.iloc[0]) if len(reasons) else None)


def failures(*tables: pd.DataFrame) -> str:
    """Return in words how the trials of these tables failed."""
    ends = pd.concat([counted(trials)["status"] for trials in tables])
    counts = ends[ends != "ok"].value_counts()
    if counts.empty:
        return "Every trial that was started ended well." if len(ends) else "No trial was started."
    return "Not ended well: " + ", ".join(f"{n} {str(name).replace('_', ' ')}" for name, n in counts.items()) + "."


def quiet_or_noisy(trials: pd.DataFrame) -> str:
    """Return in one sentence whether the machine was quiet or noisy while these trials ran.

    Noisy: in more than a tenth of them, others or the hypervisor took more than `DISTURBED_BEYOND` of the machine, or
    its pace changed by twice that.
    """
    trials = counted(trials)
    shares = trials[["steal_share", "other_cpu_share"]].astype(float)
    paces = trials[["compute_before_ns", "compute_after_ns"]].astype(float)
    known = shares.notna().any(axis=1) | paces.notna().all(axis=1)
    if not known.any():
        return "Whether the machine was quiet or noisy is not recorded."
    changed = paces.max(axis=1) / paces.min(axis=1) - 1
    taken = (shares > DISTURBED_BEYOND).any(axis=1)
    disturbed = int((taken | (changed > 2 * DISTURBED_BEYOND)).sum())
    word = "noisy" if disturbed > _FEW * known.sum() else "quiet"
    return (
        f"The machine was **{word}**: {disturbed} of {int(known.sum())} trials saw others or the hypervisor "
        f"take more than {DISTURBED_BEYOND:.0%} of it, or its pace change by more than {2 * DISTURBED_BEYOND:.0%}."
    )


def disturbed_by(trials: pd.DataFrame) -> dict[str, int]:
    """Return how many of these trials each reason disturbed beyond the profile's limit; a trial may have several."""
    reasons = trials["disturbed"].dropna().astype(str).str.split("; ").explode()
    counts = {word: int(reasons.str.startswith(begins).sum()) for begins, word in REASONS.items()}
    return {word: count for word, count in counts.items() if count}
