"""The records of other machines, kept here: campaigns on them without them, and tables of many at once.

One after the other, the tables of a hundred hosts would wait for one core: each is made in one of several processes.
"""

from __future__ import annotations

import gc
import multiprocessing
from collections.abc import Mapping
from concurrent.futures import Executor, ProcessPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import Any

from allocpool import home
from allocpool.campaign.campaign import Campaign, CampaignStatus
from allocpool.campaign.registry import study_named
from allocpool.campaign.study import Machine, Study, StudyProfile
from allocpool.machine.host import Host, usable_cores
from allocpool.trial.launch import Launcher, cell_of
from allocpool.trial.spec import TrialSpec

Answer = tuple[str | None, str]
"""Of a spec: why a machine can't run it, or None; and the hash of the code that it runs there, empty if it can't."""


class AnsweredLauncher(Launcher):
    """What a machine has answered to specs; repetitions have one answer."""

    def __init__(self, answers: Mapping[TrialSpec, Answer]) -> None:
        self.answers = dict(answers)

    def answer(self, spec: TrialSpec) -> Answer:
        """Its answer; KeyError where it was never asked."""
        return self.answers[cell_of(spec)]

    def refusal(self, spec: TrialSpec) -> str | None:
        return self.answer(spec)[0]

    def code_hash(self, spec: TrialSpec) -> str:
        return self.answer(spec)[1]


class StoredCampaign(Campaign):
    """One study under one profile on another machine, as far as its records are here."""

    def __init__(
        self, study: Study[Any], profile: StudyProfile, host: Host, cores: int, launcher: AnsweredLauncher
    ) -> None:
        super().__init__(study, profile)
        self._launcher = self.launcher = launcher
        self._host = host
        self.cores = cores

    @cached_property
    def host(self) -> Host:
        """The machine that measures."""
        return self._host

    def machine(self) -> Machine:
        return Machine(cores=self.cores)

    @property
    def tidy_folder(self) -> Path:
        return home.hosts_dir() / self.host.fingerprint() / self.profile.profile / self.study.name


def make_tables(
    study: str, profile: StudyProfile, host: Host, cores: int, answers: Mapping[TrialSpec, Answer]
) -> CampaignStatus:
    """Make and write the tables of one study on one host; how far it is."""
    campaign = StoredCampaign(study_named(study), profile, host, cores, AnsweredLauncher(answers))
    campaign.tables()
    return campaign.status()


def table_makers() -> Executor:
    """Return the processes that make tables: as many as there are processors, each started when it is needed."""
    return ProcessPoolExecutor(usable_cores(), multiprocessing.get_context("spawn"), initializer=_keep_all)


def _keep_all() -> None:
    gc.disable()  # records and rows are kept until they are written: looking for garbage in them takes as long again
