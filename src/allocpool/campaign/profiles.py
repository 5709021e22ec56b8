"""Profiles: the settings of a study's campaign, one YAML per study and profile, with what is laid over them."""

from __future__ import annotations

import hashlib
import itertools
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from allocpool import home
from allocpool.campaign.registry import STUDY_NAMES
from allocpool.campaign.study import PROFILE_NAME, Study, StudyProfile
from allocpool.errors import UserError, from_validation, unknown_choice
from allocpool.files import read_regular
from allocpool.runtimes.discovery import newest_runtime

_NEWEST = re.compile(r"(?<=/)newest(?=/|$)")


FINDINGS = "00_findings"
"""Notebook whose settings name the studies of a profile's findings."""


def names() -> tuple[str, ...]:
    """Return the names of the profiles of all studies, folders of ``papermill-configs/``, the smallest first. A folder
    without settings of the findings is a profile of single studies."""
    order = ("smoke", "quick", "standard", "article")
    folders = {path.parent.name for path in (home.home() / "papermill-configs").glob(f"*/{FINDINGS}.yaml")}
    return (*(name for name in order if name in folders), *sorted(folders - set(order)))


def check(profile: str) -> None:
    """Check that there is such a profile, of all studies or of single ones; UserError, which names those of all,
    otherwise."""
    if not PROFILE_NAME.fullmatch(profile) or not (home.home() / "papermill-configs" / profile).is_dir():
        raise unknown_choice("profile", profile, names())


def studies_of(profile: str) -> tuple[str, ...]:
    """Return the names of the studies of a profile's findings, in their order: all, unless its ``00_findings.yaml``
    names some. UserError for an unknown profile or study."""
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
    """Return the profile's YAML with the overrides laid over it, validated; with other overrides under another name.

    An override of None changes nothing. One with a dot changes a key of a part: ``sweeps.blocks``. ``newest`` in a
    configuration becomes the newest Java release that this machine has: ``java/heap/g1/newest``.

    Raises:
        UserError: no such profile, or a key or a value that is not valid; names the valid ones.
    """
    folder, file = home.home() / "papermill-configs", f"{study.notebook}.yaml"
    single = sorted(path.parent.name for path in folder.glob(f"*/{file}"))
    valid = [name for name in dict.fromkeys((*names(), *single)) if name in single]
    if profile not in valid:
        raise unknown_choice(f"profile of study {study.name}", profile, valid)
    settings = _with_numbers(_read_settings(folder / profile / file))
    whole = _in_parts(settings, _with_numbers(dict(overrides)))
    if "profile" in whole:
        keys = sorted(set(study.profile_model.model_fields) - {"profile"})
        raise UserError(f"unknown key 'profile': a profile is named with --profile (valid keys: {', '.join(keys)})")
    plain = {key: list(value) if isinstance(value, tuple) else value for key, value in whole.items()}
    changes = {key: value for key, value in plain.items() if value is not None and value != settings.get(key)}
    named = f"study {study.name}, profile {profile}"
    if changes:
        try:
            text = json.dumps(changes, sort_keys=True, default=str)
        except TypeError:  # numbers and words do not sort, as keys from Python may be
            raise UserError(f"{named}: a key is a word") from None
        changes["profile"] = f"{profile}-{hashlib.sha256(text.encode()).hexdigest()[:6]}"
    try:
        profile_settings: StudyProfile = study.profile_model(**{**settings, **changes})
        _check_lists(changes)
        _check_words({**settings, **changes}, profile_settings.model_dump(), "")
    except ValidationError as error:
        raise from_validation(named, error, study.profile_model) from None
    except UserError as error:
        raise UserError(f"{named}: {error}") from None
    return profile_settings


def _in_parts(settings: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Return overrides without dots: a part is complete, with what ``settings`` has of it."""
    whole = {key: value for key, value in overrides.items() if "." not in key}
    dotted = sorted(key for key, value in overrides.items() if "." in key and value is not None)
    for part, keys in itertools.groupby(dotted, lambda key: key.partition(".")[0]):
        inner = {key.partition(".")[2]: overrides[key] for key in keys}
        if whole.get(part) is not None:
            raise UserError(f"{part} is given whole, and {part}.{next(iter(inner))} too: give one of them")
        kept = stored if isinstance(stored := settings.get(part), dict) else {}
        whole[part] = {**kept, **_in_parts(kept, inner)}
    return whole


def _with_numbers(value: Any) -> Any:
    """Return settings with the number of the release in place of ``newest``, each configuration once in a list."""
    if isinstance(value, str):
        return _NEWEST.sub(lambda _: str(newest_runtime().feature), value)
    if isinstance(value, dict):
        return {key: _with_numbers(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        numbered = [_with_numbers(each) for each in value]
        changed = numbered != list(value)
        return [each for i, each in enumerate(numbered) if not changed or each not in numbered[:i]]
    return value


_MOST_BYTES, _MOST_LEVELS = 1 << 18, 16
"""Limits of settings; the profiles of this package have 5 KB and 5 levels."""


class _Core(yaml.SafeLoader):
    """YAML by the core schema of version 1.2 (section 10.3.2): ``yes``, ``1:30`` and dates are text, ``1e6`` is a
    number. Keys are texts, each once; there are no merge keys, tags, anchors and aliases."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key, _ in node.value:
            if key.tag != "tag:yaml.org,2002:str" or key.value == "<<":
                raise yaml.constructor.ConstructorError(None, None, "a key is a word", key.start_mark)
            if key.value in seen:
                raise yaml.constructor.ConstructorError(None, None, f"{key.value} is given twice", key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)

    def whole(self, node: yaml.ScalarNode) -> int:
        """Return a whole number; PyYAML's own would read 010 as 8."""
        text = str(node.value)
        return int(text, 0) if text[:2] in ("0o", "0x") else int(text)


_Core.yaml_implicit_resolvers = {}
for _tag, _pattern, _first in (
    ("bool", re.compile("true|True|TRUE|false|False|FALSE"), "tTfF"),
    ("null", re.compile("null|Null|NULL|~|"), ["n", "N", "~", ""]),
    ("int", re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+"), "-+0123456789"),
    ("float", re.compile(r"[-+]?([.][0-9]+|[0-9]+([.][0-9]*)?)([eE][-+]?[0-9]+)?"), "-+.0123456789"),
    ("float", re.compile(r"[-+]?[.](inf|Inf|INF)|[.](nan|NaN|NAN)"), "-+."),
):
    _Core.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"(?:{_pattern.pattern})\\Z"), list(_first))
_Core.add_constructor("tag:yaml.org,2002:int", _Core.whole)


def parsed(text: str) -> Any:
    """Return the value of a text in YAML; UserError, which names the line, where it is none, or too much."""
    if len(text) > _MOST_BYTES:
        raise UserError(f"longer than {_MOST_BYTES:,} characters")
    try:
        levels = 0
        for event in yaml.parse(text, _Core):
            levels += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            named = isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) or getattr(event, "tag", None)
            if named or levels > _MOST_LEVELS:
                what = "anchors, aliases and tags" if named else f"more than {_MOST_LEVELS} levels"
                place = event.start_mark.line + 1 if event.start_mark else 1
                raise UserError(f"line {place}: settings have no {what}")
        value = yaml.load(text, _Core)
    except yaml.MarkedYAMLError as error:
        line = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
        raise UserError(f"{line}{error.problem}") from None
    except (ValueError, yaml.YAMLError) as error:
        raise UserError(f"can't be read: {' '.join(str(error).split())[:200]}") from None
    _check_lists(value)
    return value


def _check_lists(value: Any) -> None:
    """Check that no list names a thing twice: it would be planned twice."""
    seen = set()
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    for each in inner:
        if repr(each) in seen:
            raise UserError(f"{_in_short(each)} is in a list twice")
        if not isinstance(value, dict):
            seen.add(repr(each))
        _check_lists(each)


def _check_words(given: Any, taken: Any, key: str) -> None:
    """Check that no number was given as true, which pydantic takes as 1, or as 1_0, which it takes as 10."""
    if isinstance(given, bool) and not isinstance(taken, bool):
        raise UserError(f"{key}: a number, not {str(given).lower()}")
    if isinstance(given, str) and "_" in given and isinstance(taken, int | float):
        raise UserError(f"{key}: a number, not {given}")
    if isinstance(given, dict) and isinstance(taken, dict):
        for name in given.keys() & taken.keys():
            _check_words(given[name], taken[name], f"{key}.{name}" if key else str(name))
    elif isinstance(given, list | tuple) and isinstance(taken, list | tuple):
        for place, (one, other) in enumerate(zip(given, taken, strict=False)):
            _check_words(one, other, f"{key}.{place}")


def _read_settings(path: Path) -> dict[str, Any]:
    """Return the settings of a profile's file; UserError, which names the place, where it holds none."""
    try:
        settings = parsed(read_regular(path, _MOST_BYTES).decode())
    except UserError as error:
        raise UserError(f"{path}: {error}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path} can't be read: {' '.join(str(error).split())}") from None
    if not isinstance(settings, dict) or not all(isinstance(key, str) for key in settings):
        raise UserError(f"{path} holds no settings: write KEY: VALUE, a line each, first profile: {path.parent.name}")
    return settings


def other_settings(taken: Mapping[str, Any], asked: Mapping[str, Any], part: str = "") -> list[str]:
    """Return each setting that differs from what was asked for, in words: ``blocks 3, not 5``."""
    found = []
    for key in taken:
        one, other = taken[key], asked.get(key)
        # The order of configurations makes no other campaign.
        in_order = [sorted(map(str, value)) if isinstance(value, list) else value for value in (one, other)]
        if part + key == "profile" or in_order[0] == in_order[1]:
            continue
        if isinstance(one, dict) and isinstance(other, dict):
            found += other_settings(one, other, f"{part}{key}.")
        else:
            found.append(f"{part}{key} {_in_short(one)}, not {_in_short(other)}")
    return found


def _in_short(value: Any) -> str:
    """Return a setting in words; of a long list its length."""
    if isinstance(value, dict):
        return f"({', '.join(f'{key} {_in_short(each)}' for key, each in value.items())})"
    if isinstance(value, list):
        return (", ".join(map(_in_short, value)) if len(value) <= 4 else f"{len(value)} of them") or "none"
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
