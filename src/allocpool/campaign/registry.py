"""The studies by name, and the modes of their trials. A study is a folder of ``studies/`` and one word here."""

from __future__ import annotations

import importlib
from functools import cache
from types import ModuleType
from typing import Any

from allocpool.campaign.study import Mode, Study
from allocpool.errors import unknown_choice

STUDY_NAMES = (
    "instrument", "batch", "pauses", "realtime", "native", "allocation", "buffered_io", "stream", "your_workload",
    "threads",
)  # fmt: skip
"""In the order in which campaigns run them and pages show them."""


@cache
def study_named(name: str) -> Study[Any]:
    if name not in STUDY_NAMES:
        raise unknown_choice("study", name, STUDY_NAMES)
    study: Study[Any] = module_of(name, "study").STUDY
    return study


def module_of(study: str, part: str) -> ModuleType:
    """Return a module of the study's folder by name, such as ``story``."""
    return importlib.import_module(f"allocpool.studies.{study}.{part}")


def every_study() -> list[Study[Any]]:
    return [study_named(name) for name in STUDY_NAMES]


@cache
def modes() -> dict[str, Mode]:
    return {mode.name: mode for study in every_study() for mode in study.modes}


def mode_named(name: object) -> Mode:
    known = modes()
    if not isinstance(name, str) or name not in known:
        raise unknown_choice("mode", name, known)
    return known[name]
