"""What a section of the page shows: this campaign's, or where it has none of it what another host left, by name.

A campaign need not hold every part of its profile. A section is whole and of one host: rows of two are never in one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import cast

import pandas as pd

from allocpool.campaign import hosts, profiles
from allocpool.evidence.trials import finished
from allocpool.studies.realtime import cells
from allocpool.studies.realtime.study import STUDY, RealtimeProfile


@dataclass(frozen=True)
class Section:
    """One host's tables, and the settings that they were taken with.

    ``whose`` says which other host's they are, in words that a caption begins with; empty of this campaign.
    """

    tables: Mapping[str, pd.DataFrame]
    taken: RealtimeProfile
    whose: str = ""

    def led(self, caption: str) -> str:
        """A caption or title that begins with whose its rows are."""
        return f"{self.whose}{caption}"

    @property
    def events(self) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
        """Bursts of losses, pauses of the collector and slips of the source."""
        return self.tables["bursts"], self.tables["pauses"], self.tables["slips"]


def with_any(profile: str, here: Section, of: Callable[[Section], pd.DataFrame]) -> Section:
    """The section in which ``of`` finds rows: this campaign's, or where it has none the newest of another host that has
    any; this campaign's where none has."""
    if len(of(here)):
        return here
    own = {host_id for table in here.tables.values() if "host_id" in table for host_id in table["host_id"].dropna()}
    others = (one for one in hosts.of_hosts(STUDY.name, profile) if one.host_id not in own)
    for left in sorted(hosts.left_on(STUDY.name, others), key=_ended, reverse=True):
        taken = profiles.told_by(STUDY, left.provenance)
        if taken is None:  # settings of an older version, which its trials can't be told apart by
            continue
        taken = cast(RealtimeProfile, taken)
        scale = f"; scale {taken.scale:g}" if taken.scale != here.taken.scale else ""
        whose = f"On another host, {left.host.label}, {_ended(left)[:10]}{scale}: "
        if len(of(section := Section(left.tables, taken, whose))):
            return section
    return here


def _ended(left: hosts.Left) -> str:
    return str(left.provenance.get("last_trial_utc") or "")


def searches(section: Section) -> pd.DataFrame:
    """Searches that ended well."""
    return finished(section.tables["searches"])


def sweeps(section: Section) -> pd.DataFrame:
    """Single trials at the searches' scale and one interval (`cells.sweep_trials`)."""
    return cells.sweep_trials(section.tables["trials"], section.taken.scale, section.taken.sweeps.interval_ns)


def curves(section: Section) -> pd.DataFrame:
    """What can be drawn of them over queue and heap (`cells.curves`)."""
    return cells.curves(sweeps(section))


def similar(section: Section) -> pd.DataFrame:
    """The same cells at several scales (`cells.similar`)."""
    return cells.similar(section.tables["trials"])


def longer(section: Section) -> pd.DataFrame:
    """Trials that waited for rare collections (`cells.by_length`)."""
    return cells.by_length(sweeps(section), section.taken.cap_seconds)[1]
