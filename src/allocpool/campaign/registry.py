"""The studies by name. A study is a folder of ``allocpool.studies`` and one word here."""

from __future__ import annotations

import importlib
from functools import cache

from allocpool.campaign.study import Study
from allocpool.errors import unknown_choice

STUDY_NAMES = ("instrument", "batch", "pauses", "realtime", "native", "allocation", "buffered_io", "stream")
"""In the order in which campaigns run them and pages show them."""


@cache
def study_named(name: str) -> Study:
    """The study of that name; UserError that lists the names otherwise."""
    if name not in STUDY_NAMES:
        raise unknown_choice("study", name, STUDY_NAMES)
    study: Study = importlib.import_module(f"allocpool.studies.{name}.study").STUDY
    return study


def every_study() -> list[Study]:
    """All studies, in their order."""
    return [study_named(name) for name in STUDY_NAMES]
