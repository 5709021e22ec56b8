"""The same comparisons and claims at the article's own sizes: what a campaign of profile ``article`` left, beside those
of a page whose sizes are smaller. Does it matter that they are?"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from allocpool import stats
from allocpool.campaign import hosts
from allocpool.evidence.claims import Verdict
from allocpool.packets.cells import CONFIGURATION
from allocpool.packets.comparisons import listed
from allocpool.packets.specs import HEAP_MB
from allocpool.studies.batch.claims import evaluate
from allocpool.studies.batch.story import agreement, of_both
from allocpool.studies.batch.study import STUDY

PROFILE = "article"
"""The profile whose trials have the published sizes."""
_FULL = 1.0


def stored(trials: pd.DataFrame) -> pd.DataFrame:
    """The trials at the published sizes that are stored, of the host of these trials where there are such, else of one
    other host; none where these have the published sizes themselves."""
    none = trials.iloc[:0]
    if have_them(trials):
        return none
    every = hosts.tables_of_hosts(STUDY.name, PROFILE).get("trials", none)
    every = every[every["scale"] == _FULL]
    here = every[every["host_id"].isin(set(trials["host_id"]))]
    return here if len(here) else every[every["host_id"] == every["host_id"].min()]


def have_them(trials: pd.DataFrame) -> bool:
    """Whether these trials have the published sizes themselves."""
    return bool((trials["scale"] == _FULL).all()) and not trials.empty


def of_another_host(trials: pd.DataFrame, full: pd.DataFrame) -> bool:
    """Whether the trials at the published sizes are not of the host of these."""
    return not set(full["host_id"]) <= set(trials["host_id"])


def verdicts_beside(verdicts: Sequence[Verdict], full: pd.DataFrame) -> pd.DataFrame:
    """One row per verdict that both campaigns have figures for: claim, set-up, the outcome at the sizes of the page,
    and that at the published ones."""
    theirs = evaluate(full) if len(full) else []
    there = {(each.claim.id, each.set_up): each.outcome for each in theirs if _measured(each)}
    rows = [
        [each.claim.text, each.set_up, each.outcome, there[each.claim.id, each.set_up]]
        for each in verdicts
        if _measured(each) and (each.claim.id, each.set_up) in there
    ]
    return pd.DataFrame(rows, columns=["claim", "judged on", "at these sizes", "at the published sizes"])


def _measured(verdict: Verdict) -> bool:
    return "ratio" in verdict.evidence and bool(verdict.evidence["ratio"].notna().any())


def sentence(trials: pd.DataFrame, compared: pd.DataFrame, full: pd.DataFrame, beside: pd.DataFrame) -> str:
    """Whether the comparisons of allocating with pooling, and the claims, end at the published sizes as they do here.

    ``compared``: the primary comparisons of ``trials``; ``beside``: what `verdicts_beside` makes of ``full``.
    """
    if have_them(trials):
        return "These trials have the published sizes."
    if full.empty:
        return (
            f"No campaign at the published sizes is stored: `allocpool run {STUDY.name} --profile {PROFILE}` takes it, "
            "overnight."
        )
    same = int((beside["at these sizes"] == beside["at the published sizes"]).sum())
    elsewhere = " They are of another host." if of_another_host(trials, full) else ""
    scales = listed([f"{scale:g}" for scale in sorted(set(trials["scale"].astype(float)))])
    return (
        f"**At the published sizes**, heaps of {HEAP_MB['heap']:,} MB, where those of this page are {scales} of them "
        f"({_figures(full)}): {agreement(of_both(compared, trials, full))} Of {stats.plural(len(beside), 'verdict')} "
        f"on claims that both give, {same} {'is' if same == 1 else 'are'} the same.{elsewhere}"
    )


def _figures(full: pd.DataFrame) -> str:
    blocks = full.groupby(list(CONFIGURATION), observed=True)["block"].nunique()
    seconds = stats.significant(float(full["seconds"].median()), 2)
    return f"{stats.trials_each(int(blocks.min()), int(blocks.max()))}, {seconds} s in the median"
