"""The studies, by name. A new study is one module here, one child module and one notebook."""

from __future__ import annotations

from allocpool.errors import unknown_choice
from allocpool.studies.allocation import ALLOCATION
from allocpool.studies.base import Planned, Study, StudyProfile
from allocpool.studies.batch import BATCH
from allocpool.studies.buffered_io import BUFFERED_IO
from allocpool.studies.instrument import INSTRUMENT
from allocpool.studies.native import NATIVE
from allocpool.studies.pauses import PAUSES
from allocpool.studies.realtime import REALTIME
from allocpool.studies.stream import STREAM

STUDIES: dict[str, Study] = {
    study.name: study for study in (INSTRUMENT, BATCH, PAUSES, REALTIME, NATIVE, ALLOCATION, BUFFERED_IO, STREAM)
}

__all__ = ["STUDIES", "Planned", "Study", "StudyProfile", "study_named"]


def study_named(name: str) -> Study:
    """The study of that name; UserError that lists the names otherwise."""
    if name not in STUDIES:
        raise unknown_choice("study", name, STUDIES)
    return STUDIES[name]
