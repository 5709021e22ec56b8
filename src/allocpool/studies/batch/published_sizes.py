"""The trials that published claims are judged on: of a campaign that has the published collectors at their sizes."""

from __future__ import annotations

import pandas as pd

from allocpool.campaign import hosts
from allocpool.studies.batch.study import STUDY

PROFILE = "article"
"""The profile whose trials have the published sizes."""


def judged_on(trials: pd.DataFrame) -> pd.DataFrame:
    """Return the trials that published claims are judged on: these, unless they lack every published collector of Java
    11 and a campaign of profile ``article`` is stored."""
    full = trials.iloc[:0] if trials.empty or _published(trials).any() else _of_article(trials)
    return full if len(full) else trials


def _published(trials: pd.DataFrame) -> pd.Series:
    return (trials["runtime"] == 11) & trials["collector"].isin(["parallel", "cms"])


def _of_article(trials: pd.DataFrame) -> pd.DataFrame:
    every = hosts.tables_of_hosts(STUDY.name, PROFILE).get("trials", trials.iloc[:0])
    every = every[(every["scale"] == 1) & every["host_id"].isin(set(every.loc[_published(every), "host_id"]))]
    here = every[every["host_id"].isin(set(trials["host_id"]))]
    return here if len(here) or every.empty else every[every["host_id"] == every["host_id"].value_counts().idxmax()]
