"""Profiles: the settings of a study's campaign, one YAML per study and profile, with what is laid over them."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from allocpool import home
from allocpool.campaign.registry import STUDY_NAMES
from allocpool.campaign.study import Study, StudyProfile
from allocpool.errors import UserError, from_validation, unknown_choice
from allocpool.runtimes.discovery import newest_runtime

_NEWEST = re.compile(r"(?<=/)newest(?=/|$)")


def names() -> tuple[str, ...]:
    """Names of the profiles, one per folder of ``papermill-configs/``, the smallest first."""
    order = ("smoke", "quick", "standard", "article")
    folders = {path.name for path in (home.home() / "papermill-configs").iterdir() if path.is_dir()}
    return (*(name for name in order if name in folders), *sorted(folders - set(order)))


def check(profile: str) -> None:
    """That there is such a profile.

    Raises:
        UserError: there is none; names those that there are.
    """
    if profile not in names():
        raise unknown_choice("profile", profile, names())


FINDINGS = "00_findings"
"""Notebook whose settings name the studies of a profile's findings."""


def studies_of(profile: str) -> tuple[str, ...]:
    """Return the names of the studies that the findings of a profile are made of, in their order; all of them unless
    its ``00_findings.yaml`` names some.

    Raises:
        UserError: no such profile, or its file names an unknown study.
    """
    check(profile)
    file = home.home() / "papermill-configs" / profile / f"{FINDINGS}.yaml"
    named = _read_settings(file).get("studies") if file.is_file() else None
    if named is None:
        return STUDY_NAMES
    wrong = [name for name in named if name not in STUDY_NAMES] if isinstance(named, list) else [named]
    if wrong or not named:
        raise unknown_choice(f"study in {file}", ", ".join(map(str, wrong)), STUDY_NAMES)
    return tuple(name for name in STUDY_NAMES if name in named)


def read(study: Study[Any], profile: str, overrides: Mapping[str, Any]) -> StudyProfile:
    """The profile's YAML with the overrides laid over it, validated.

    An override of None means: as the profile has it. One with a dot changes a key of a part, and leaves the others of
    that part as they are: ``sweeps.blocks``. A campaign with other overrides gets a name of its own.

    Where a solution names its Java release, ``newest`` becomes the number of the newest that this machine has:
    ``java/heap/g1/newest``.

    Raises:
        UserError: no such profile, or a key or a value that is not valid; names the valid ones.
    """
    folder, file = home.home() / "papermill-configs", f"{study.notebook}.yaml"
    valid = [name for name in names() if (folder / name / file).exists()]
    if profile not in valid:
        raise unknown_choice(f"profile of study {study.name}", profile, valid)
    settings = _with_numbers(_read_settings(folder / profile / file))
    whole = _in_parts(settings, _with_numbers(dict(overrides)))
    if "profile" in whole:
        keys = sorted(set(study.profile_model.model_fields) - {"profile"})
        raise UserError(f"unknown key 'profile': a profile is named with --profile (valid keys: {', '.join(keys)})")
    changes = {
        key: value for key, value in whole.items() if value is not None and _plain(value) != _plain(settings.get(key))
    }
    if changes:
        digest = hashlib.sha256(json.dumps(changes, sort_keys=True, default=str).encode()).hexdigest()[:6]
        changes["profile"] = f"{profile}-{digest}"
    try:
        profile_settings: StudyProfile = study.profile_model(**{**settings, **changes})
        return profile_settings
    except ValidationError as error:
        raise from_validation(f"study {study.name}, profile {profile}", error, study.profile_model) from None


def _in_parts(settings: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Overrides without dots: a part that some of its keys were given for is whole, with what ``settings`` has of it.

    Raises:
        UserError: a part is given, and a key of it too.
    """
    whole: dict[str, Any] = {}
    of_parts: dict[str, dict[str, Any]] = {}
    for key, value in overrides.items():
        part, dot, rest = key.partition(".")
        if not dot:
            whole[key] = value
        elif value is not None:
            of_parts.setdefault(part, {})[rest] = value
    for part, inner in of_parts.items():
        if whole.get(part) is not None:
            raise UserError(f"{part} is given whole, and {part}.{next(iter(inner))} too: give one of them")
        stored = settings.get(part)
        kept = stored if isinstance(stored, dict) else {}
        whole[part] = {**kept, **_in_parts(kept, inner)}
    return whole


def _with_numbers(value: Any) -> Any:
    """Settings with a number where a solution's release is ``newest``; a list then holds each solution once.

    Raises:
        UserError: ``newest`` is asked for, and there is no runtime.
    """
    if isinstance(value, str):
        return _NEWEST.sub(lambda _: str(newest_runtime().feature), value)
    if isinstance(value, dict):
        return {key: _with_numbers(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        numbered = [_with_numbers(each) for each in value]
        changed = numbered != list(value)
        return [each for i, each in enumerate(numbered) if not changed or each not in numbered[:i]]
    return value


def told_by(study: Study[Any], provenance: Mapping[str, Any]) -> StudyProfile | None:
    """The settings that stored tables were taken with; None where they are no settings of today."""
    try:
        taken: StudyProfile = study.profile_model(**provenance["profile"])
    except (ValidationError, LookupError, TypeError):
        return None
    return taken


class _UniqueKeys(yaml.SafeLoader):
    """YAML as it is meant: a key that is given twice is an error, where PyYAML takes the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """PyYAML's hook: the keys of a mapping, each once."""
        seen = set()
        for key, _ in node.value:
            if key.value in seen:
                raise yaml.constructor.ConstructorError(None, None, f"{key.value} is given twice", key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)


def _read_settings(path: Path) -> dict[str, Any]:
    """The settings of a profile's file.

    Raises:
        UserError: it can't be read, or holds no settings; says where.
    """
    try:
        settings = yaml.load(path.read_text(encoding="utf-8"), _UniqueKeys)
    except yaml.MarkedYAMLError as error:
        line = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise UserError(f"{path}{line}: {error.problem}") from None
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise UserError(f"{path} can't be read: {' '.join(str(error).split())}") from None
    if not isinstance(settings, dict) or not all(isinstance(key, str) for key in settings):
        raise UserError(f"{path} holds no settings: write KEY: VALUE, a line each, first profile: {path.parent.name}")
    return settings


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


_SHORT_LIST = 4
"""Values that are named one by one; of longer lists the length says enough."""


def other_settings(taken: Mapping[str, Any], asked: Mapping[str, Any], part: str = "") -> list[str]:
    """Each setting that is another one than was asked for, in words: ``blocks 3, not 5``."""
    told = []
    for key in taken:
        one, other = taken[key], asked.get(key)
        if part + key == "profile" or _in_order(one) == _in_order(other):
            continue
        if isinstance(one, dict) and isinstance(other, dict):
            told += other_settings(one, other, f"{part}{key}.")
        else:
            told.append(f"{part}{key} {_in_short(one)}, not {_in_short(other)}")
    return told


def _in_order(value: Any) -> Any:
    """A list in an order of its own: which solutions come first makes no other campaign."""
    return sorted(map(str, value)) if isinstance(value, list) else value


def _in_short(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, dict):
        return f"({', '.join(f'{key} {_in_short(each)}' for key, each in value.items())})"
    if not isinstance(value, list):
        return str(value) if isinstance(value, str | int) else "none"
    if not value:
        return "none"
    return ", ".join(map(_in_short, value)) if len(value) <= _SHORT_LIST else f"{len(value)} of them"
